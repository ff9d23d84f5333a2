"""Tests of what is new in the answers to saved queries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import excerpt
from excerpt import QueryNews, Vault
from excerpt.base.settings import user_paths
from excerpt.search.saved_queries import change_saved, read_saved
from tests.cli.conftest import home as excerpt_home
from tests.cli.conftest import vault as small_vault

home, notes = excerpt_home, small_vault  # fixtures


@pytest.fixture
def opened(home: Path, notes: Path) -> Iterator[Vault]:
    change_saved(user_paths().saved_queries_file(notes), lambda saved: saved.with_query("Conflicts", "conflict"))
    with excerpt.open(notes) as vault:
        vault.news()  # news count from now on
        yield vault


def news_of(vault: Vault, *, seen: bool = False) -> QueryNews:
    vault.refresh()
    (news,) = vault.news(seen=seen)
    return news


def replace_in_note(notes: Path, old: str, new: str) -> None:
    note = notes / "Sync.md"
    note.write_text(note.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_the_first_check_of_a_saved_query_reports_no_news(home: Path, notes: Path) -> None:
    change_saved(user_paths().saved_queries_file(notes), lambda saved: saved.with_query("Conflicts", "conflict"))
    with excerpt.open(notes) as vault:
        assert vault.news() == (QueryNews("Conflicts", "conflict"),)
        news = news_of(vault)
    assert news.since is not None
    assert news.count_text == ""


def test_without_saved_queries_there_is_no_news(home: Path, notes: Path) -> None:
    with excerpt.open(notes) as vault:
        assert vault.news() == ()


def test_a_passage_of_a_new_note_is_new(opened: Vault, notes: Path) -> None:
    (notes / "Merge.md").write_text("Every conflict has two sides.\n", encoding="utf-8")
    news = news_of(opened)
    assert [hit.fragment.path for hit in news.new] == ["Merge.md"]
    assert (news.changed, news.count_text) == ((), "1 new")


def test_a_changed_passage_under_the_same_heading_is_reported_as_changed(opened: Vault, notes: Path) -> None:
    replace_in_note(notes, "two devices change", "three devices change")
    news = news_of(opened)
    assert (len(news.new), [hit.fragment.heading_path for hit in news.changed]) == (0, [("Conflicts",)])
    assert news.count_text == "1 changed"


def test_a_moved_text_is_not_news(opened: Vault, notes: Path) -> None:
    (notes / "Sync.md").rename(notes / "Synchronising.md")
    assert news_of(opened).count_text == ""


def test_a_note_that_does_not_match_is_not_news(opened: Vault, notes: Path) -> None:
    (notes / "Bread.md").write_text("Let the dough rest overnight.\n", encoding="utf-8")
    assert news_of(opened).count_text == ""


def test_news_stay_until_they_are_seen(opened: Vault, notes: Path) -> None:
    (notes / "Merge.md").write_text("Every conflict has two sides.\n", encoding="utf-8")
    assert [news_of(opened, seen=seen).count_text for seen in (False, True, False)] == ["1 new", "1 new", ""]


def test_the_file_has_ids_and_digests_without_text_and_may_be_deleted(opened: Vault) -> None:
    file = user_paths().seen_hits_file(opened.folder)
    (query,) = json.loads(file.read_text(encoding="utf-8"))["queries"]
    assert {key for passage in query["passages"] for key in passage} == {"id", "digest", "place"}
    assert "Sync" not in file.read_text(encoding="utf-8")
    file.write_text("{", encoding="utf-8")
    assert news_of(opened).since is None


def test_saved_queries_keep_the_format_of_older_versions(opened: Vault) -> None:
    file = user_paths().saved_queries_file(opened.folder)
    assert json.loads(file.read_text(encoding="utf-8")) == {"queries": [{"name": "Conflicts", "query": "conflict"}]}
    assert [query.query for query in read_saved(file).queries] == ["conflict"]
