"""Tests of which vault a command uses when none, one or several are given."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from excerpt.cli.main import COMMANDS, program
from excerpt.cli.vaults import find_last_vault, resolve_vault
from excerpt.errors import VaultError
from excerpt.known_vaults import DEMO, add_recent_vault
from excerpt.settings import Paths, refuse_folders_in_vault, user_paths
from tests.cli.conftest import Excerpt

WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("search", "pack", "overview", "map", "read", "peek", "related", "remember", "forget"), ("x",)),
    **dict.fromkeys(("recall", "learned", "index", "embedding", "watch", "status", "doctor", "news"), ()),
    "edit": ("x", "--why", "y"),
    "check": ("x", "--pack", "y"),
}
"""The further arguments that each command with a vault needs."""

pytestmark = pytest.mark.usefixtures("home")


def test_the_vault_opened_last_is_the_one_meant(vault: Path, tmp_path: Path) -> None:
    add_recent_vault(user_paths(), tmp_path)
    add_recent_vault(user_paths(), vault)
    assert find_last_vault() == vault


def test_the_environment_goes_before_the_last_vault(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_recent_vault(user_paths(), tmp_path)
    monkeypatch.setenv("EXCERPT_VAULT", str(vault))
    assert find_last_vault() == vault


def test_a_vault_that_is_named_goes_before_all(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(tmp_path / "elsewhere"))
    assert resolve_vault(vault) == vault.resolve()


def test_no_vault_at_all_is_an_error() -> None:
    with pytest.raises(VaultError):
        resolve_vault(None)


def test_a_state_folder_that_cannot_be_written_does_not_stop_the_app(home: Path, vault: Path) -> None:
    home.write_text("a file where the folder should be")
    add_recent_vault(user_paths(), vault)


@pytest.mark.parametrize("command", [("search", "x"), ("pack", "x"), ("index",), ("status",), ("recall",)])
class TestEveryCommand:
    def test_tells_a_missing_vault(self, excerpt: Excerpt, tmp_path: Path, command: tuple[str, ...]) -> None:
        answer = excerpt(*command, "--vault", tmp_path / "nowhere")
        assert answer.code == 3
        assert answer.out == ""
        assert str(tmp_path / "nowhere") in answer.err

    def test_tells_a_file(self, excerpt: Excerpt, vault: Path, command: tuple[str, ...]) -> None:
        answer = excerpt(*command, "--vault", vault / "Sync.md")
        assert answer.code == 3
        assert str(vault / "Sync.md") in answer.err


def test_the_demo_vault_ships_with_the_program(excerpt: Excerpt) -> None:
    answer = excerpt("demo", "--path")
    assert answer.out == f"{DEMO}\n"
    assert (DEMO / "Start here.md").is_file()


@pytest.mark.parametrize(
    "command",
    [("{}",), ("index", "--vault", "{}"), ("search", "x", "--vault", "{}"), ("mcp", "{}"), ("serve", "{}")],
)
def test_a_home_folder_is_not_indexed_unasked(
    excerpt: Excerpt, vault: Path, home: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HOME", str(vault))
    answer = excerpt(*(word.format(vault) for word in command))
    assert (answer.code, answer.out, home.exists()) == (3, "", False)
    assert str(vault) in answer.err
    assert "home folder" in answer.err
    assert "--accept-all" in answer.err


def test_who_insists_has_the_home_folder_indexed_and_is_not_asked_again(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(vault))
    assert excerpt("index", "--vault", vault, "--accept-all").code == 0
    assert excerpt("search", "lentils", "--vault", vault).code == 0


@pytest.mark.parametrize("command", [("search", "soup"), ("index",), ("remember", "hi"), ("doctor",), ("watch",)])
def test_folders_of_ours_inside_the_vault_are_refused(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    before = sorted(vault.rglob("*"))
    monkeypatch.setenv("EXCERPT_HOME", str(vault / "of ours"))
    answer = excerpt(*command, "--vault", vault)
    assert (answer.code, answer.out) == (3, "")
    assert f"the vault {vault}" in answer.err
    assert "EXCERPT_HOME" in answer.err
    assert sorted(vault.rglob("*")) == before


def test_the_app_does_not_open_a_vault_that_holds_folders_of_ours(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(vault))
    answer = excerpt(vault)
    assert answer.code == 3
    assert f"the vault {vault}" in answer.err


def test_memories_may_be_in_the_vault_where_the_user_puts_them(vault: Path, tmp_path: Path) -> None:
    refuse_folders_in_vault(
        vault, Paths(tmp_path / "config", tmp_path / "cache", vault / "memories", tmp_path / "state")
    )


def test_a_home_folder_holds_them_by_itself(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(vault))
    monkeypatch.setenv("USERPROFILE", str(vault))
    refuse_folders_in_vault(vault, Paths(*(vault / ".local" / name for name in ("config", "cache", "data", "state"))))


@pytest.mark.parametrize("name", ["", "  "])
@pytest.mark.parametrize(
    "command",
    [
        *(("{}",), ("--plain", "{}"), ("config", "--vault", "{}")),
        *((name, "--vault", "{}", *argv) for name, argv in sorted(WORDS.items())),
        *(("mcp", "{}"), ("serve", "{}")),
    ],
    ids=lambda command: command[0],
)
def test_a_name_that_is_empty_is_wrong_usage_and_not_the_working_directory(
    excerpt: Excerpt, home: Path, command: tuple[str, ...], name: str
) -> None:
    answer = excerpt(*(word.format(name) for word in command))
    assert (answer.code, answer.out, home.exists()) == (2, "", False)
    assert "empty" in answer.err


@pytest.mark.parametrize("command", [(), ("status",), ("search", "x"), ("doctor", "--quick")])
def test_a_variable_that_is_set_and_empty_is_wrong_usage(
    excerpt: Excerpt, home: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", " ")
    answer = excerpt(*command)
    assert (answer.code, answer.out, home.exists()) == (2, "", False)
    assert "$EXCERPT_VAULT" in answer.err


def test_an_empty_variable_does_not_matter_where_a_vault_is_named(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", "")
    assert excerpt("status", "--vault", vault).code == 0


def test_every_command_that_takes_a_vault_is_tried_without_its_name() -> None:
    commands = {name: program.get_command(click.Context(program), name) for name in COMMANDS}
    takers = {
        name for name, command in commands.items() if command and {"vault", "vaults"} & {p.name for p in command.params}
    }
    assert takers == {*WORDS, "config", "editor", "mcp", "pick", "push", "serve"}
