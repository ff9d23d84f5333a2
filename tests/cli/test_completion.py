"""Tests of the scripts that complete commands in a shell, and of what they list."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Excerpt


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_installing_shell_completion_prints_the_file_and_a_second_time_changes_nothing(
    excerpt: Excerpt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    for name in ("XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    start = tmp_path / f".{shell}rc"
    start.write_text("alias ll='ls -l'")
    first = excerpt("completion", "install")
    (script,) = [line for line in first.out.splitlines() if line.startswith("Wrote ")]
    written = Path(script.removeprefix("Wrote ").removesuffix("."))
    assert written.read_text() == excerpt("completion", "print").out
    before = start.read_text()
    again = excerpt("completion", "install")
    assert (again.code, start.read_text()) == (0, before)
    assert f"{written} is up to date." in again.out
    lines = before.splitlines()
    assert lines[0] == "alias ll='ls -l'"
    assert [str(written) in line for line in lines[1:]] == ([] if shell == "fish" else [True])


def test_an_unsupported_shell_is_refused_with_the_supported_ones(
    excerpt: Excerpt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    answer = excerpt("completion", "install")
    assert answer.code == 2
    assert "bash, zsh and fish" in answer.err


def test_shell_completion_builds_no_index_and_ignores_a_damaged_one(
    excerpt: Excerpt, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(vault))
    line = {"COMP_WORDS": "excerpt\nread\nCol", "COMP_CWORD": "2", "_EXCERPT_COMPLETE": "bash"}

    def complete() -> str:
        with monkeypatch.context() as patch:
            for name, value in line.items():
                patch.setenv(name, value)
            return excerpt().out

    assert complete() == ""
    assert not (home / "cache").exists()
    excerpt("index")
    assert complete() == "file\tColour.md\n"
    next((home / "cache").rglob("catalog.sqlite")).write_bytes(b"no database")
    assert complete() == ""
