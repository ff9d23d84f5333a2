"""The settings in effect, and what is wrong with the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.settings import PackSettings, ScreenSettings, Settings, load_settings
from tests.cli.conftest import Excerpt


@pytest.fixture
def settings_file(home: Path) -> Path:
    file = home / "config" / "excerpt.toml"
    file.parent.mkdir(parents=True)
    return file


def test_path_is_printed_whether_the_file_exists_or_not(excerpt: Excerpt, home: Path) -> None:
    assert excerpt("config", "--path").out == f"{home / 'config' / 'excerpt.toml'}\n"


def test_what_is_printed_is_a_settings_file_that_says_the_same(excerpt: Excerpt, settings_file: Path) -> None:
    settings_file.write_text(
        '[pack]\nbudget = 123\n[screen]\neditor = "code \\"x\\" --goto {file}"\nkeys = {"pack.copy" = "f5"}\n',
        encoding="utf-8",
    )
    printed = excerpt("config").out
    settings_file.write_text(printed, encoding="utf-8")
    assert load_settings(settings_file) == Settings(
        pack=PackSettings(budget=123),
        screen=ScreenSettings(editor='code "x" --goto {file}', keys={"pack.copy": "f5"}),
    )


def test_check_says_that_a_file_is_valid(excerpt: Excerpt, settings_file: Path) -> None:
    settings_file.write_text("[pack]\nbudget = 123\n", encoding="utf-8")
    answer = excerpt("config", "--check")
    assert answer.code == 0
    assert answer.out == f"{settings_file} is valid.\n"


def test_check_says_that_there_is_no_file(excerpt: Excerpt, home: Path) -> None:
    answer = excerpt("config", "--check")
    assert answer.code == 0
    assert "does not exist" in answer.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[pack]\nbugdet = 5\n", "Did you mean pack.budget?"),
        ("[pack]\nbudget = -5\n", "pack.budget is not valid"),
        ('[search]\nstrategy = "fast"\n', "search.strategy is not valid"),
        ("[pack\n", "is not valid TOML"),
    ],
)
def test_a_broken_file_is_told_by_key_and_exit_code_2(
    excerpt: Excerpt, settings_file: Path, vault: Path, text: str, said: str
) -> None:
    settings_file.write_text(text, encoding="utf-8")
    for command in (("config", "--check"), ("search", "x", "--vault", str(vault)), (str(vault),)):
        answer = excerpt(*command)
        assert answer.code == 2
        assert said in answer.err
        assert str(settings_file) in answer.err
        assert answer.err.count("\n") == 1
