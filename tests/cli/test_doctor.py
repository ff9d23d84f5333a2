"""Tests of `excerpt doctor`: its output, exit codes and repairs, and what it leaves unchanged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Excerpt
from tests.index.conftest import flip_byte

Files = dict[str, bytes]

GROUPS = ["vault", "index", "settings", "model", "terminal", "keys", "editor", "clipboard", "folders", "versions"]


@pytest.fixture
def indexed(excerpt: Excerpt, vault: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Index the vault, set an editor that exists, and return the index folder."""
    monkeypatch.setenv("EDITOR", sys.executable)
    monkeypatch.delenv("VISUAL", raising=False)
    assert excerpt("index", "--vault", vault).code == 0
    (folder,) = (home / "cache" / "index").iterdir()
    return folder


def finding_lines(answer: Answer, level: str) -> list[str]:
    return [line[11:] for line in answer.out.splitlines() if line.startswith(f"  {level:<8} ")]


def file_states(*folders: Path) -> Files:
    return {str(file): file.read_bytes() for folder in folders for file in folder.rglob("*") if file.is_file()}


@pytest.mark.usefixtures("indexed")
def test_a_healthy_index_lists_the_checks_and_exits_with_0(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("doctor", "--vault", vault)
    assert (answer.code, answer.err) == (0, "")
    assert finding_lines(answer, "problem") == []
    said = finding_lines(answer, "ok")
    assert any(line.startswith(f"3 notes (0 kB) in 2 folders: {vault}") for line in said)
    for fact in ("rows of all notes and fragments", "The word index is unaltered", "5 vectors"):
        assert any(fact in line for line in said), fact
    for group in GROUPS:
        assert f"\n{group}\n" in f"\n{answer.out}"
    assert answer.out.splitlines()[-1].startswith("0 problems, ")


@pytest.mark.usefixtures("indexed")
def test_doctor_quick_names_the_checks_that_it_leaves_out(excerpt: Excerpt, vault: Path) -> None:
    said = finding_lines(excerpt("doctor", "--vault", vault, "--quick"), "ok")
    assert any("(--quick)" in line for line in said)


def set_terminal(patch: pytest.MonkeyPatch, columns: int) -> None:
    """Let stdout pass for a terminal."""
    patch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    patch.setenv("COLUMNS", str(columns))
    patch.setenv("NO_COLOR", "1")


@pytest.mark.usefixtures("indexed")
def test_sentences_are_wrapped_at_the_width_of_the_terminal(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_terminal(monkeypatch, 80)
    lines = excerpt("doctor", "--vault", vault, "--quick").out.splitlines()
    assert any(line.startswith(" " * 11) for line in lines)
    assert [line for line in lines if len(line) > 80 and " " in line[11:]] == []  # only a path may be longer


def test_a_command_in_the_doctors_advice_stays_on_one_line(
    excerpt: Excerpt, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    excerpt("remember", "Lentils keep well.", "--vault", vault)
    renamed = vault.rename(tmp_path / "renamed")
    set_terminal(monkeypatch, 80)
    answer = excerpt("doctor", "--vault", renamed, "--quick")
    assert f"\n{' ' * 11}excerpt doctor --vault ITS-FOLDER-NOW --adopt {vault}\n" in answer.out


def test_the_doctor_names_a_damaged_file_and_with_fix_repairs_it(excerpt: Excerpt, vault: Path, indexed: Path) -> None:
    file = next((indexed / "words").glob("*.pst"))
    flip_byte(file)
    found = excerpt("doctor", "--vault", vault)
    assert found.code == 3
    (problem,) = finding_lines(found, "problem")
    assert problem.startswith(f"words/{file.name}: ")
    assert "`excerpt doctor --fix`" in problem
    mended = excerpt("doctor", "--vault", vault, "--fix")
    assert mended.code == 0
    (done,) = finding_lines(mended, "done")
    assert f"words/{file.name}" in done
    again = excerpt("doctor", "--vault", vault, "--fix")
    assert (
        again.code,
        finding_lines(again, "problem"),
        finding_lines(again, "done"),
        finding_lines(again, "left"),
    ) == (0, [], [], [])


def test_a_catalog_that_is_not_a_database_is_rebuilt_from_the_vault(
    excerpt: Excerpt, vault: Path, indexed: Path
) -> None:
    (indexed / "catalog.sqlite").write_bytes(b"garbage" * 1000)
    found = excerpt("doctor", "--vault", vault)
    assert found.code == 3
    assert finding_lines(found, "problem")[0].startswith("catalog.sqlite: ")
    assert "not a database" in finding_lines(found, "problem")[0]
    assert excerpt("doctor", "--vault", vault, "--fix").code == 0


@pytest.mark.usefixtures("indexed")
def test_notes_that_are_not_indexed_yet_are_a_warning_and_fix_indexes_them(excerpt: Excerpt, vault: Path) -> None:
    (vault / "Colour.md").rename(vault / "Hue.md")
    found = excerpt("doctor", "--vault", vault)
    assert found.code == 0
    assert any("1 note is new (Hue.md)" in line for line in finding_lines(found, "warning"))
    assert any("1 note is gone (Colour.md)" in line for line in finding_lines(found, "warning"))
    mended = excerpt("doctor", "--vault", vault, "--fix")
    (done,) = finding_lines(mended, "done")
    assert re.findall(r"\d+ \w+", done) == ["1 added", "1 removed", "3 notes"]
    assert not any("Hue.md" in line or "Colour.md" in line for line in finding_lines(mended, "warning"))


def test_doctor_fix_removes_files_that_a_killed_build_left(excerpt: Excerpt, vault: Path, indexed: Path) -> None:
    leftover = indexed / "words" / "words_leftover.pst"
    leftover.write_bytes(b"half")
    os.utime(leftover, ns=(leftover.stat().st_mtime_ns + 10**11,) * 2)
    assert any(
        "words/words_leftover.pst" in line for line in finding_lines(excerpt("doctor", "--vault", vault), "warning")
    )
    mended = excerpt("doctor", "--vault", vault, "--fix")
    assert any(line.startswith("Removed ") for line in finding_lines(mended, "done"))
    assert not leftover.exists()


def test_fix_changes_neither_vault_nor_settings_nor_memories(
    excerpt: Excerpt, vault: Path, home: Path, indexed: Path
) -> None:
    excerpt("remember", "Lentils keep well.", "--vault", vault)
    (home / "config").mkdir()
    (home / "config" / "excerpt.toml").write_text("[search]\nlimit = 9\n")
    before = file_states(vault, home / "config", home / "data")
    flip_byte(next(indexed.glob("vectors-*")))
    assert excerpt("doctor", "--vault", vault, "--fix").code == 0
    assert file_states(vault, home / "config", home / "data") == before


def test_a_broken_settings_file_is_a_problem_and_fix_does_not_rebuild_with_defaults(
    excerpt: Excerpt, vault: Path, home: Path, indexed: Path
) -> None:
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "excerpt.toml").write_text("[vault\n")
    (vault / "New.md").write_text("New.\n")
    before = file_states(indexed / "words")
    answer = excerpt("doctor", "--vault", vault, "--fix")
    assert answer.code == 3
    assert any("excerpt.toml" in line and "TOML" in line for line in finding_lines(answer, "problem"))
    (left,) = finding_lines(answer, "left")
    assert "settings" in left
    assert file_states(indexed / "words") == before


@pytest.mark.usefixtures("indexed")
def test_a_missing_vault_is_a_problem_and_its_index_is_kept(excerpt: Excerpt, vault: Path) -> None:
    vault.rename(vault.with_name("elsewhere"))
    answer = excerpt("doctor", "--vault", vault, "--fix")
    assert answer.code == 3
    assert any(str(vault) in line for line in finding_lines(answer, "problem"))
    assert any("5 fragments" in line for line in finding_lines(answer, "ok"))


@pytest.mark.usefixtures("indexed")
def test_a_vault_that_lost_all_notes_keeps_its_index(excerpt: Excerpt, vault: Path) -> None:
    for file in vault.rglob("*.md"):
        file.unlink()
    answer = excerpt("doctor", "--vault", vault, "--fix")
    (left,) = finding_lines(answer, "left")
    assert str(vault) in left
    assert "--accept-empty" in left
    assert any("3 notes, 5 fragments" in line for line in finding_lines(answer, "ok"))


def test_if_there_is_no_vault_the_doctor_runs_the_other_checks(excerpt: Excerpt) -> None:
    answer = excerpt("doctor")
    assert any("`excerpt doctor --vault" in line for line in finding_lines(answer, "warning"))
    assert "\nversions\n" in answer.out


def test_a_missing_index_is_reported_and_built_by_fix(excerpt: Excerpt, vault: Path) -> None:
    assert any("no index" in line for line in finding_lines(excerpt("doctor", "--vault", vault), "warning"))
    mended = excerpt("doctor", "--vault", vault, "--fix")
    (done,) = finding_lines(mended, "done")
    assert re.findall(r"\d+ \w+", done) == ["3 added", "3 notes"]


def test_an_unknown_home_folder_is_reported_in_one_sentence(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", "~no-such-user-here/x")
    answer = excerpt("doctor", "--vault", vault)
    assert (answer.code, answer.out) == (3, "")
    assert "EXCERPT_HOME" in answer.err


def test_a_file_in_place_of_the_index_folders_is_a_problem_that_fix_does_not_change(
    excerpt: Excerpt, vault: Path, home: Path
) -> None:
    home.mkdir()
    (home / "cache").write_text("")
    answer = excerpt("doctor", "--vault", vault, "--fix")
    assert answer.code == 3
    assert any(f"{home / 'cache'} is a file" in line for line in finding_lines(answer, "problem"))
    assert "index" in finding_lines(answer, "left")[0]


def test_the_json_has_every_finding_with_level_and_advice(excerpt: Excerpt, vault: Path, indexed: Path) -> None:
    flip_byte(next(indexed.glob("vectors-*")))
    answer = excerpt("doctor", "--vault", vault, "--json", "--quick")
    assert answer.code == 3
    found = answer.json
    assert list(found) == ["vault", "problems", "warnings", "groups", "done", "left", "seconds"]
    assert (found["vault"], found["problems"]) == (str(vault), 1)
    of_index = next(group["findings"] for group in found["groups"] if group["name"] == "index")
    (wrong,) = [finding for finding in of_index if finding["level"] == "problem"]
    assert wrong["what"].startswith("vectors-")
    assert "`excerpt doctor --fix`" in wrong["todo"]


def test_control_characters_in_names_do_not_reach_the_terminal(excerpt: Excerpt, tmp_path: Path) -> None:
    vault = tmp_path / "va\x1b[31mult"
    vault.mkdir()
    (vault / "no\x1b]0;te\x07.md").write_text("x")
    answer = excerpt("doctor", "--vault", vault, "--quick")
    assert "\x1b" not in answer.out
    assert "␛" in answer.out


HOLD = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a lock")
def test_the_process_that_writes_the_index_is_named(excerpt: Excerpt, vault: Path, indexed: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(indexed / "write.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        answer = excerpt("doctor", "--vault", vault, "--quick")
        holder.communicate()
    assert any(f"process {holder.pid} (" in line for line in finding_lines(answer, "ok"))


def test_an_unknown_option_is_wrong_usage(excerpt: Excerpt) -> None:
    assert excerpt("doctor", "--mend").code == 2
