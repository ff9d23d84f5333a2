"""End-to-end tests of the query language with `excerpt search`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Excerpt

NOTES = {
    "Projects/Alpha.md": "---\ntags: [project/active]\nstatus: open\n---\nSync of alpha, 5 → 7. See [[Beta]].\n",
    "Projects/Beta.md": "---\ntags: [project]\nstatus: done\n---\nSync of beta is state-of-the-art.\n",
    "Diary/2024-05-06.md": "Sync was hard today. We used C++ and `#include`.\n",
}
DAY = 86_400


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Write three notes, changed today, a week ago and a year ago."""
    for age, (path, text) in zip((0, 7, 365), NOTES.items(), strict=True):
        file = tmp_path / "library" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        changed = time.time() - age * DAY
        os.utime(file, (changed, changed))
    return tmp_path / "library"


ALPHA, BETA, DIARY = NOTES


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        # Filters alone: the newest note first.
        ("path:/", [ALPHA, BETA, DIARY]),
        ("-tag:draft", [ALPHA, BETA, DIARY]),
        ("tag:project", [ALPHA, BETA]),
        ("#project/active ", [ALPHA]),
        ("status:done", [BETA]),
        ("modified:2d", [ALPHA]),
        ("modified:<30d", [DIARY]),
        ("created:2024-05", [DIARY]),
        ("link:beta", [ALPHA]),
        ("from:alpha", [BETA]),
        ("-sync", []),
        ("tag:nowhere ", []),
        # Words with filters: only hits that pass the filters.
        ("sync tag:project -status:done", [ALPHA]),
        ("sync path:diary", [DIARY]),
        ("sync -state-of-the-art -hard", [ALPHA]),
        ('sync -"hard today" -title:alpha', [BETA]),
        # Phrases, and # signs that start no tag.
        ('"sync of beta"', [BETA]),
        ('"nc of be"', [BETA]),
        ('"5 → 7"', [ALPHA]),
        ('"→"', [ALPHA]),
        ('"." -tag:project', [DIARY]),
        ("#include", [DIARY]),
    ],
)
def test_a_query_is_answered_from_what_its_filters_let_through(
    excerpt: Excerpt, library: Path, query: str, paths: list[str]
) -> None:
    answer = excerpt("search", "--vault", library, "--json", "--", query)
    assert [hit["path"] for hit in answer.json["hits"]] == paths
    assert answer.code == (0 if paths else 1)


def test_each_alternative_has_its_own_filters(excerpt: Excerpt, library: Path) -> None:
    answer = excerpt("search", "--vault", library, "--json", "hard path:diary | tag:project/active ")
    assert sorted(hit["path"] for hit in answer.json["hits"]) == [DIARY, ALPHA]
