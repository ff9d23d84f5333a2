"""Tests that commands load no Python module and run no program from the working directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from excerpt.base import processes
from excerpt.base.errors import ExcerptError
from excerpt.base.processes import (
    find_program,
    import_path,
    program_command,
    python_command,
    start_in_thread,
    watch_command,
)


def program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_python_is_started_without_the_working_directory_on_the_import_path(tmp_path: Path) -> None:
    asked = "import json, sys; print(json.dumps([sys.path, sys.flags.safe_path]))"
    done = subprocess.run(python_command("-c", asked), cwd=tmp_path, capture_output=True, check=True)
    entries, is_safe = json.loads(done.stdout)
    assert is_safe
    assert not {"", ".", str(tmp_path)} & set(entries)


@pytest.mark.parametrize("option", ["-E", "-s", "-X utf8"])
def test_pythons_isolation_flags_are_passed_on_to_child_processes(option: str) -> None:
    asked = "from excerpt.base.processes import python_command; print(' '.join(python_command()))"
    words = [sys.executable, *option.split(), "-c", asked]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2] / "src")
    assert f" {option}" in done.stdout


def test_the_passed_import_path_has_no_relative_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", ".", "lib", *sys.path])
    assert all(Path(entry).is_absolute() for entry in import_path())


def test_a_package_on_a_relative_path_can_still_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [""])
    assert [Path(entry, "excerpt").is_dir() for entry in import_path()] == [True]


def test_the_indexing_process_gets_its_vault_and_the_progress_option() -> None:
    assert watch_command(Path("/notes"))[-6:] == ["-m", "excerpt", "watch", "--vault", "/notes", "--progress"]


# --- programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="programs are marked as such")
def test_a_program_is_found_only_in_absolute_folders_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path, "tesseract")
    program(tmp_path / "bin", "xclip")
    real = program(tmp_path / "real", "tesseract")
    relative = {"PATH": ":.:bin:../" + tmp_path.name}
    assert [find_program(name, environment=relative) for name in ("tesseract", "xclip")] == [None, None]
    assert find_program("tesseract", environment={"PATH": f":.:bin:{real.parent}"}) == str(real)


def test_without_a_path_no_program_is_found_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path, "no-such-program")
    assert find_program("no-such-program", environment={}) is None


def test_a_program_named_with_its_folder_is_not_searched_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path, "my-editor")
    assert find_program("./my-editor") == "./my-editor"
    assert find_program(str(tmp_path / "my-editor")) == str(tmp_path / "my-editor")


@pytest.mark.parametrize("name", ["code", "code.cmd", "CODE.CMD"])
def test_on_windows_suffixes_of_pathext_are_tried_but_not_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("code.EXE", "code.CMD", "code.cmd", "CODE.CMD"):
        program(tmp_path, file)
    for file in ("code.CMD", "code.cmd", "CODE.CMD"):
        real = program(tmp_path / "real", file)
    windows = {"PATH": f";.;{real.parent}", "PATHEXT": ".EXE;.CMD"}
    found = find_program(name, environment=windows, platform="win32")
    assert found is not None
    assert Path(found).parent == real.parent


def test_a_program_is_started_by_its_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = program(tmp_path, "viewer.exe")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_command(["viewer.exe", "a & b.pdf"]) == [str(real), "a & b.pdf"]
    with pytest.raises(FileNotFoundError):
        program_command(["no-such-program"])


@pytest.mark.parametrize("name", ["a&calc.md", "%PATH%.md", 'a".md', "a^b.md", "a|b.md", "a\nb.md"])
def test_a_batch_file_is_not_started_with_an_argument_that_cmd_would_execute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program(tmp_path, "code.CMD")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PATHEXT", ".CMD")
    assert program_command(["code", "a b.md"], platform="win32")[1:] == ["a b.md"]
    with pytest.raises(ExcerptError, match="batch file"):
        program_command(["code", name], platform="win32")


@pytest.mark.parametrize(("cores", "is_second_thread"), [(1, False), (2, True)])
def test_a_second_thread_computes_only_where_there_is_a_second_core(
    monkeypatch: pytest.MonkeyPatch, cores: int, is_second_thread: bool
) -> None:
    monkeypatch.setattr(processes, "count_cores", lambda: cores)
    wait = start_in_thread(threading.current_thread)
    assert (wait() is not threading.main_thread()) is is_second_thread


def test_an_error_of_a_second_thread_is_raised_where_its_result_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "count_cores", lambda: 2)
    wait = start_in_thread(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        wait()


def test_where_no_thread_can_be_started_the_caller_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError

    monkeypatch.setattr(processes, "count_cores", lambda: 2)
    monkeypatch.setattr(threading.Thread, "start", fail)
    assert start_in_thread(threading.current_thread)() is threading.current_thread()
