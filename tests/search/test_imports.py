"""Tests of what the engine imports in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

import pytest


def imported_by(statement: str) -> set[str]:
    """Return the names of the modules that are imported once a statement has run."""
    run = [sys.executable, "-c", f"import sys\n{statement}\nprint(*sys.modules)"]
    return set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())


ANSWERING = ("search.engine", "insight.related", "insight.suggest", "pack.build", "check.checker")


@pytest.mark.programs
def test_what_answers_imports_neither_an_index_nor_a_store() -> None:
    modules = [f"excerpt.{name}" for name in ANSWERING]
    names = imported_by(f"import {', '.join(modules)}")
    assert names.issuperset(modules)
    packages = {".".join(name.split(".")[:2]) for name in names if name.startswith("excerpt.")}
    assert not packages & {"excerpt.index", "excerpt.store"}
    assert not names & {"psycopg", "pgvector", "whoosh", "sqlite3"}


def test_what_reads_a_store_imports_nothing_that_writes_one() -> None:
    names = imported_by("import excerpt.store.snapshot")
    assert not names & {"excerpt.store.push", "excerpt.store.rights", "excerpt.store.compare"}
