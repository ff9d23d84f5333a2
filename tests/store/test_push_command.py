"""Tests of the command `excerpt push`, as far as it needs no server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from benchmarks import reference_pages
from excerpt.cli.main import program
from excerpt.vault.known_vaults import DEMO
from tests.cli import conftest as cli
from tests.cli.conftest import Excerpt

excerpt, home, vault = cli.excerpt, cli.home, cli.vault


def test_the_command_is_added_by_its_entry_point(excerpt: Excerpt) -> None:
    assert "\n  push " in excerpt("--help").out
    command = program.get_command(click.Context(program), "push")
    assert command is not None
    assert all(not isinstance(option, click.Option) or option.help for option in command.params)


def test_a_store_must_be_named(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("push", vault)
    assert answer.code == 2
    assert "'--to'" in answer.err


def test_what_others_changed_is_either_kept_or_overwritten(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("push", vault, "--to", "postgresql://localhost/x", "--merge", "--mirror")
    assert answer.code == 2
    assert "Use only one" in answer.err


def test_an_address_that_names_no_database_is_refused(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("push", vault, "--to", "nowhere")
    assert answer.code == 3
    assert "does not name a database" in answer.err


def test_without_the_driver_an_address_is_answered_by_one_sentence(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for words in (
        ("search", "x", "--vault", "postgresql:///db?vault=v"),
        ("push", vault, "--to", "postgresql:///db?vault=v"),
    ):
        answer = excerpt(*words)
        assert answer.code == 3
        assert "psycopg" in answer.err
        assert answer.err.rstrip("\n").count("\n") == 0


def test_reading_a_store_imports_nothing_that_writes_one() -> None:
    run = [sys.executable, "-c", "import sys, excerpt_postgres.snapshot\nprint(*sys.modules)"]
    names = set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())
    assert not names & {"excerpt_postgres.push", "excerpt_postgres.rights", "excerpt_postgres.compare"}


@pytest.mark.parametrize("path", reference_pages.COMMAND_PAGES)
def test_the_guides_page_has_the_help_of_the_command(path: str) -> None:
    page = (DEMO / path).read_text(encoding="utf-8")
    assert page == reference_pages.rewritten(path, page), "`make reference` writes it anew"
