"""Tests of invalid notes, indexes and surroundings: one message each, and the command continues."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from excerpt.base.settings import Paths, user_paths
from tests.cli.conftest import Excerpt


def skipped_files(excerpt: Excerpt, vault: Path) -> dict[str, str]:
    status = excerpt("status", "--vault", vault, "--json").json
    return {one["path"]: one["reason"] for one in status["skipped"]}


def first_hit(excerpt: Excerpt, vault: Path, query: str) -> str:
    hits = excerpt("search", query, "--vault", vault, "--json").json["hits"]
    path = hits[0]["path"]
    assert isinstance(path, str)
    return path


@pytest.mark.programs
def test_a_note_of_ten_megabytes_is_found_without_delaying_the_others(excerpt: Excerpt, vault: Path) -> None:
    paragraph = "The quick brown fox jumps over the lazy dog while the marmalade cools.\n\n"
    text = paragraph * (10_000_000 // len(paragraph)) + "At the very end stands a zeppelin.\n"
    (vault / "Large.md").write_text(text, encoding="utf-8")
    assert first_hit(excerpt, vault, '"zeppelin"') == "Large.md"
    assert first_hit(excerpt, vault, "sync conflict") == "Sync.md"


@pytest.mark.programs
def test_a_note_of_one_line_is_found(excerpt: Excerpt, vault: Path) -> None:
    (vault / "Line.md").write_text("word " * 200_000 + "zeppelin", encoding="utf-8")
    assert first_hit(excerpt, vault, '"zeppelin"') == "Line.md"


@pytest.mark.programs
def test_a_note_of_null_bytes_is_skipped_with_its_reason(excerpt: Excerpt, vault: Path) -> None:
    (vault / "Zeros.md").write_bytes(bytes(1_000_000))
    assert list(skipped_files(excerpt, vault)) == ["Zeros.md"]
    assert first_hit(excerpt, vault, "sync conflict") == "Sync.md"


def test_a_note_over_the_size_limit_is_skipped_with_its_reason(excerpt: Excerpt, home: Path, vault: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "excerpt.toml").write_text("[vault]\nmax_bytes = 100\n", encoding="utf-8")
    assert list(skipped_files(excerpt, vault)) == ["Sync.md"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read every file")
def test_a_note_without_read_permission_is_skipped_with_its_reason(excerpt: Excerpt, vault: Path) -> None:
    (vault / "Colour.md").chmod(0)
    assert list(skipped_files(excerpt, vault)) == ["Colour.md"]
    assert first_hit(excerpt, vault, "sync conflict") == "Sync.md"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX special files")
def test_a_folder_or_a_pipe_or_a_link_with_the_name_of_a_note_is_not_a_note(excerpt: Excerpt, vault: Path) -> None:
    os.mkfifo(vault / "Pipe.md")
    (vault / "Folder.md").mkdir()
    (vault / "Dangling.md").symlink_to(vault / "nowhere.md")
    (vault / "Loop.md").symlink_to(vault / "Loop.md")
    assert first_hit(excerpt, vault, "sync conflict") == "Sync.md"
    assert excerpt("status", "--vault", vault, "--json").json["notes"] == 3


@pytest.mark.skipif(os.name != "posix", reason="needs file names of bytes")
def test_a_file_name_that_is_not_utf_8_is_reported_and_the_rest_is_indexed(excerpt: Excerpt, vault: Path) -> None:
    (Path(os.fsdecode(os.fsencode(vault) + b"/caf\xe9.md"))).write_text("Coffee.\n", encoding="utf-8")
    answer = excerpt("index", "--vault", vault)
    assert answer.code == 0
    assert "1 skipped" in answer.out
    assert first_hit(excerpt, vault, "sync conflict") == "Sync.md"


def index_files(home: Path) -> list[Path]:
    return sorted(file for file in (home / "cache" / "index").rglob("*") if file.is_file())


@pytest.mark.parametrize("damage", ["emptied", "cut short", "overwritten", "deleted"])
def test_any_damaged_file_of_the_index_is_repaired_by_the_next_command(
    excerpt: Excerpt, home: Path, vault: Path, damage: str
) -> None:
    excerpt("index", "--vault", vault)
    for name in [file.relative_to(home) for file in index_files(home)]:
        file = home / name
        if not file.exists():
            continue  # already replaced by an earlier repair
        data = file.read_bytes()
        if damage == "deleted":
            file.unlink()
        else:
            file.write_bytes({"emptied": b"", "cut short": data[: len(data) // 2]}.get(damage, b"\xff" * len(data)))
        assert first_hit(excerpt, vault, "sync conflict") == "Sync.md", f"after {name} was {damage}"


def test_a_missing_index_folder_is_built_again(excerpt: Excerpt, home: Path, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    for file in index_files(home):
        file.unlink()
    assert first_hit(excerpt, vault, "sync conflict") == "Sync.md"


def test_a_file_in_place_of_the_index_folder_is_reported(excerpt: Excerpt, home: Path, vault: Path) -> None:
    (home / "cache").mkdir(parents=True)
    (home / "cache" / "index").write_text("in the way", encoding="utf-8")
    answer = excerpt("search", "sync", "--vault", vault)
    assert answer.code == 3
    assert str(home / "cache" / "index") in answer.err
    assert "went wrong inside" not in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.programs
def test_two_concurrent_builds_succeed_and_lose_nothing(home: Path, tmp_path: Path) -> None:
    vault = tmp_path / "many"
    vault.mkdir()
    for number in range(200):
        (vault / f"{number}.md").write_text(f"# Note {number}\n\nIt is about number {number}.\n" * 5, encoding="utf-8")
    environment = {**os.environ, "EXCERPT_HOME": str(home)}
    command = [sys.executable, "-m", "excerpt", "index", "--vault", str(vault), "--json"]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [child.communicate()[0] for child in both]
    reports = [json.loads(answer) for child, answer in zip(both, answers, strict=True) if child.returncode == 0]
    assert {child.returncode for child in both} <= {0, 3}
    assert sum(report["added"] for report in reports) == 200
    shown = subprocess.run([*command[:3], "status", *command[4:]], env=environment, capture_output=True, check=True)
    assert json.loads(shown.stdout)["notes"] == 200


def test_a_missing_model_of_the_settings_is_reported(excerpt: Excerpt, home: Path, vault: Path) -> None:
    (home / "config").mkdir(parents=True)
    missing = home / "no-model"
    (home / "config" / "excerpt.toml").write_text(f'[embedding]\nmodel = "{missing}"\n', encoding="utf-8")
    answer = excerpt("search", "sync", "--vault", vault)
    assert answer.code == 3
    assert str(missing) in answer.err
    assert "went wrong inside" not in answer.err


# --- endless files and little memory ----------------------------------------------------------------------------------

ENDLESS = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
ZERO = Path("/dev/zero")


@ENDLESS
@pytest.mark.parametrize(
    ("argv", "code", "fact"),
    [
        (("pack", "sync", "--template", ZERO), 2, "not a regular file"),
        (("search", "--json", "--batch", ZERO, "--vault", "."), 2, "64 MB"),
        (("check", ZERO, "--pack", ZERO), 2, "4 MB"),
        (("mcp", ".", "--http", "--token-file", ZERO), 2, "token"),
        (("search", "sync", "--vault", ZERO), 3, "is a file"),
    ],
)
def test_an_endless_file_is_not_read_to_its_end(
    excerpt: Excerpt, vault: Path, argv: tuple[str | Path, ...], code: int, fact: str
) -> None:
    answer = excerpt(*argv, *(("--vault", vault) if argv[0] in ("pack", "check") else ()))
    assert (answer.code, answer.out) == (code, "")
    assert str(ZERO) in answer.err
    assert fact in answer.err


@ENDLESS
@pytest.mark.parametrize("argv", [("search", "sync"), ("config", "--check")])
def test_settings_linked_to_an_endless_file_are_reported(
    excerpt: Excerpt, vault: Path, home: Path, argv: tuple[str, ...]
) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "excerpt.toml").symlink_to(ZERO)
    answer = excerpt(*argv, *(() if argv[0] == "config" else ("--vault", vault)))
    assert answer.code == 2
    assert "excerpt.toml" in answer.err
    assert "not a regular file" in answer.err


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Fail a test that waits for a pipe, instead of waiting with it."""

    def fail(*_: object) -> None:
        raise AssertionError("a command waits for a pipe")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


PIPES = pytest.mark.skipif(os.name == "nt", reason="needs pipes and signals")


def state_files(paths: Paths, vault: Path) -> dict[str, Path]:
    """Return the files that excerpt keeps of the user, and of one vault, by the names of their attributes."""
    names = [name for name in dir(paths) if name.endswith("_file")]
    values = {name: getattr(paths, name) for name in names}
    return {name: value(vault) if callable(value) else value for name, value in values.items()}


@PIPES
@pytest.mark.usefixtures("home", "no_waiting")
@pytest.mark.parametrize("replace", [os.mkfifo, Path.mkdir], ids=["pipe", "folder"])
def test_special_files_in_place_of_state_files_block_no_command(
    excerpt: Excerpt, vault: Path, replace: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", sys.executable)  # without an editor, `doctor` reports a problem
    excerpt("search", "sync", "--vault", vault)
    files = state_files(user_paths(), vault)
    assert {"gold_file", "known_path_file", "use_file", "saved_queries_file", "marks_file"} < files.keys()
    for name, file in files.items():
        if not name.endswith("settings_file"):
            file.unlink(missing_ok=True)
            file.parent.mkdir(parents=True, exist_ok=True)
            replace(file)
    for words in (("search", "sync"), ("pack", "sync"), ("status",), ("learned",), ("doctor",)):
        assert excerpt(*words, "--vault", vault).code in (0, 1), words
    unusable = {
        ("gold", "list"): "gold_file",
        ("gold", "run"): "gold_file",
        ("gold", "add", "sync", "Sync.md"): "gold_file",
        ("news",): "saved_queries_file",
    }
    for command, name in unusable.items():
        answer = excerpt(*command, "--vault", vault)
        assert (answer.code, str(files[name]) in answer.err) == (3, True), command
        assert "permissions" not in answer.err


@PIPES
@pytest.mark.parametrize("name", ["settings_file", "vault_settings_file"])
def test_a_pipe_in_place_of_the_settings_is_reported(
    excerpt: Excerpt, vault: Path, home: Path, no_waiting: None, name: str
) -> None:
    file = state_files(user_paths(), vault)[name]
    file.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(file)
    answer = excerpt("search", "sync", "--vault", vault)
    assert (answer.code, str(file) in answer.err) == (2, True)


@pytest.mark.parametrize("model", ["x" * 5000, "a/" + "x" * 5000, "~nobody-here/model", "a\\u0000b"])
def test_an_impossible_model_name_is_reported_in_short(excerpt: Excerpt, vault: Path, home: Path, model: str) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "excerpt.toml").write_text(f'[embedding]\nmodel = "{model}"\n')
    answer = excerpt("search", "sync", "--vault", vault)
    assert answer.code == 3
    assert "embedding model" in answer.err
    assert len(answer.err) < 400


class PanicException(BaseException):
    """A stand-in for the exception that pyo3 raises for a panic in Rust."""

    __module__ = "pyo3_runtime"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        PanicException("The global thread pool has not been initialized.: ThreadPoolBuildError { kind: IOError }"),
    ],
)
def test_too_little_memory_is_reported_as_such(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("excerpt.service.api.Vault.search", fail)
    answer = excerpt("search", "sync", "--vault", vault)
    assert (answer.code, answer.out) == (3, "")
    assert "not enough memory" in answer.err
    assert "inside excerpt" not in answer.err


def test_a_panic_of_a_rust_library_is_reported_in_a_sentence(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setattr("excerpt.service.api.Vault.search", fail)
    answer = excerpt("search", "sync", "--vault", vault)
    assert answer.code == 3
    assert "PanicException: index out of bounds" in answer.err
