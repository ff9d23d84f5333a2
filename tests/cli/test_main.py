"""Tests of choosing the command, and of the exit codes and messages."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from excerpt import __version__
from excerpt.cli import app
from excerpt.cli.main import COMMANDS, program
from excerpt.known_vaults import add_recent_vault
from excerpt.settings import MAX_COUNT, user_paths
from tests.cli.conftest import Excerpt


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return a list that collects the vaults that the app is started with."""
    vaults: list[Path] = []

    def note(path: Path, keep_as_last: bool = True, plain: bool = False, accept_all: bool = False) -> None:
        vaults.append(path)

    monkeypatch.setattr(app, "start_app", note)
    return vaults


def test_version(excerpt: Excerpt) -> None:
    answer = excerpt("--version")
    assert (answer.code, answer.out) == (0, f"excerpt {__version__}\n")


def test_help_names_every_command(excerpt: Excerpt) -> None:
    answer = excerpt("--help")
    assert answer.code == 0
    assert all(f"\n  {name} " in answer.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_its_options(excerpt: Excerpt, name: str) -> None:
    answer = excerpt(name, "--help")
    assert answer.code == 0
    assert f"Usage: excerpt {name}" in answer.out
    command = program.get_command(click.Context(program), name)
    assert command is not None
    assert all(not isinstance(option, click.Option) or option.help for option in command.params)


NUMBERS = [
    (name, option.opts[0])
    for name in COMMANDS
    if (command := program.get_command(click.Context(program), name)) is not None
    for option in command.params
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType) and name != "mcp"  # no end
]


@pytest.mark.parametrize(("name", "option"), NUMBERS)
def test_a_number_beyond_all_bounds_is_wrong_usage(excerpt: Excerpt, vault: Path, name: str, option: str) -> None:
    answer = excerpt(name, "Sync.md", option, "9" * 20, "--vault", vault)
    assert answer.code == 2
    assert f"'{option}'" in answer.err


@pytest.mark.parametrize(("name", "option"), NUMBERS)
def test_the_largest_number_is_as_good_as_any(excerpt: Excerpt, vault: Path, name: str, option: str) -> None:
    answer = excerpt(name, "Sync.md", option, MAX_COUNT, "--vault", vault)
    assert answer.code in (0, 1), answer.err


def test_a_first_word_that_is_no_command_is_the_vault(excerpt: Excerpt, opened: list[Path], vault: Path) -> None:
    assert excerpt(vault).code == 0
    assert opened == [vault]


@pytest.mark.parametrize("argv", [("--plain", "VAULT"), ("VAULT", "--plain"), ("--plain", "demo")])
def test_the_app_opens_plainly_where_the_option_stands_before_or_after_the_vault(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, str]
) -> None:
    opened: list[bool] = []
    monkeypatch.setattr("excerpt.tui.app.run_app", lambda _, settings, *__, **___: opened.append(settings.screen.plain))
    assert excerpt(*(str(vault) if word == "VAULT" else word for word in argv)).code == 0
    assert opened == [True]


def test_a_vault_named_like_a_command_opens_as_a_path(
    excerpt: Excerpt, opened: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index").mkdir()
    monkeypatch.chdir(tmp_path)
    assert excerpt("./index").code == 0
    assert opened == [Path("./index")]


def test_a_misspelt_command_is_guessed(excerpt: Excerpt) -> None:
    answer = excerpt("serach", "words")
    assert answer.code == 2
    assert "search?" in answer.err


def test_a_folder_with_a_name_like_a_command_is_opened(
    excerpt: Excerpt, opened: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "indexes").mkdir()
    monkeypatch.chdir(tmp_path)
    assert excerpt("indexes").code == 0
    assert opened == [Path("indexes")]


def test_two_vaults_at_once_are_wrong_usage(excerpt: Excerpt, opened: list[Path], vault: Path) -> None:
    assert excerpt(vault, vault).code == 2
    assert opened == []


def test_nothing_opens_the_vault_of_the_environment(
    excerpt: Excerpt, opened: list[Path], vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(vault))
    assert excerpt().code == 0
    assert opened == [vault]


def test_nothing_where_no_vault_was_ever_opened_says_what_to_do(excerpt: Excerpt) -> None:
    answer = excerpt()
    assert answer.code == 3
    assert answer.err.count("\n") == 1
    assert "excerpt demo" in answer.err


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects the reasons given to the vault chooser, on a fake terminal."""
    reasons: list[str] = []

    def note(said: str, plain: bool = False) -> None:
        reasons.append(said)

    monkeypatch.setattr(app, "open_app_without_vault", note)
    monkeypatch.setattr(app, "has_terminal", lambda: True)
    return reasons


def test_at_a_terminal_who_has_opened_none_is_asked_for_a_vault(excerpt: Excerpt, asked: list[str]) -> None:
    assert excerpt().code == 0
    assert asked == [""]


def test_at_a_terminal_a_last_vault_that_is_gone_is_said_and_another_asked_for(
    excerpt: Excerpt, asked: list[str], tmp_path: Path
) -> None:
    add_recent_vault(user_paths(), tmp_path / "gone")
    assert excerpt().code == 0
    (said,) = asked
    assert str(tmp_path / "gone") in said


def test_a_vault_of_the_environment_that_is_not_there_is_told_and_no_other_asked_for(
    excerpt: Excerpt, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(tmp_path / "gone"))
    answer = excerpt()
    assert (answer.code, asked) == (3, [])
    assert str(tmp_path / "gone") in answer.err


def test_the_app_without_a_terminal_says_what_to_use_instead(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt(vault)
    assert answer.code == 3
    assert "terminal" in answer.err
    assert "excerpt search" in answer.err


def test_a_defect_of_ours_is_a_sentence_and_a_log(
    excerpt: Excerpt, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(app, "start_app", fail)
    answer = excerpt(vault)
    log = home / "state" / "errors.log"
    assert answer.code == 3
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err
    assert str(log) in answer.err
    assert "Traceback" in log.read_text(encoding="utf-8")
    assert "RuntimeError: boom" in log.read_text(encoding="utf-8")


def test_a_log_that_cannot_be_written_is_said_too(
    excerpt: Excerpt, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(app, "start_app", fail)
    home.write_text("a file where the folder should be")
    answer = excerpt(vault)
    assert answer.code == 3
    assert str(home / "state") in answer.err


def test_an_interrupt_ends_quietly(excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "start_app", interrupt)
    answer = excerpt(vault)
    assert (answer.code, answer.out, answer.err) == (130, "", "")


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (("search", "-rust and go"), "excerpt search -- '-rust and go'"),
        (("pack", "sync", "-phone"), "excerpt pack -- -phone"),
        (("peek", "--zeppelin"), "excerpt peek -- --zeppelin"),
    ],
)
def test_a_word_that_begins_with_a_dash_is_told_where_it_goes(
    excerpt: Excerpt, argv: tuple[str, ...], hint: str
) -> None:
    answer = excerpt(*argv)
    assert answer.code == 2
    assert answer.err.endswith(f": {hint}\n")


@pytest.mark.parametrize("argv", [("search", "x", "--limt", "3"), ("status", "-x"), ("-x",), ("./notes", "-x")])
def test_a_misspelt_option_and_one_of_a_command_without_words_get_no_such_hint(
    excerpt: Excerpt, argv: tuple[str, ...]
) -> None:
    answer = excerpt(*argv)
    assert answer.code == 2
    assert "No such option" in answer.err
    assert " -- " not in answer.err
