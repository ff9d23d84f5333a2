"""Tests of what shells and editors use: hits as lines, notes named as files, and the scripts of completion."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Excerpt


def test_a_hit_is_a_line_of_path_number_and_text(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vault.parent)
    answer = excerpt("search", "lentils", "--lines", "--vault", vault)
    path, line, text = answer.out.splitlines()[0].split(":", 2)
    assert (path, line) == (f"{vault.name}/Cooking/Lentil soup.md", "3")
    assert text.startswith("Lentil soup · Simmer red lentils")
    assert (answer.code, answer.err) == (0, "")


def test_elsewhere_the_path_of_a_hit_is_absolute(
    excerpt: Excerpt, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    line = excerpt("search", "lentils", "--lines", "--vault", vault).out.splitlines()[0]
    assert line.startswith(f"{vault}/Cooking/Lentil soup.md:3:")


def test_nothing_found_is_no_line(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", '"no such phrase"', "--lines", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")


def test_hits_of_several_vaults_are_lines_with_their_paths(excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "Dal.md").write_text("Lentils of another vault.\n")
    lines = excerpt("search", "lentils", "--lines", "--vault", vault, "--vault", other).out.splitlines()
    assert {line.partition(":")[0] for line in lines} >= {str(other / "Dal.md"), str(vault / "Cooking/Lentil soup.md")}


@pytest.mark.parametrize("option", ["--json", "--explain"])
def test_lines_are_not_combined_with_other_forms(excerpt: Excerpt, vault: Path, option: str) -> None:
    assert excerpt("search", "lentils", "--lines", option, "--vault", vault).code == 2


@pytest.mark.parametrize("name", ["Lentil soup.md:3", "Lentil soup.md:3-3", "../Cooking/Lentil soup.md:3"])
def test_a_note_may_be_named_as_a_file_with_its_lines(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(vault / "Cooking")
    for each in (name, str(vault / "Cooking" / name)):
        assert excerpt("read", each, "--vault", vault).out.startswith("Simmer red lentils")
        assert excerpt("peek", each.partition(":")[0], "--vault", vault).code == 0


def test_a_file_outside_of_the_vault_is_no_note(excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("Secret.\n")
    answer = excerpt("read", outside, "--vault", vault)
    assert (answer.code, answer.out) == (1, "")


# --- completion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_once_and_says_where(
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


def test_completion_for_another_shell_is_refused_with_those_there_are(
    excerpt: Excerpt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    answer = excerpt("completion", "install")
    assert answer.code == 2
    assert "bash, zsh and fish" in answer.err


def test_completing_makes_no_index_and_reads_none_that_is_damaged(
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
