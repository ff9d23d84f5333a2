"""Tests of `excerpt gold` and `excerpt news`: exit codes and what they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from excerpt.base.settings import user_paths
from excerpt.search.saved_queries import change_saved
from tests.cli.conftest import Excerpt, Piped

QUESTION = ("two devices change one note", "Sync#Conflicts")


def test_a_question_is_added_listed_and_removed(excerpt: Excerpt, vault: Path) -> None:
    added = excerpt("gold", "add", *QUESTION, "--vault", vault, "--json").json
    listed = excerpt("gold", "list", "--vault", vault, "--json").json
    assert listed == {"questions": [added]}
    assert added["relevant"] == [{"path": "Sync.md", "heading": "Conflicts"}]
    assert excerpt("gold", "remove", added["id"], "--vault", vault).code == 0
    assert excerpt("gold", "list", "--vault", vault).code == 1


@pytest.mark.parametrize("words", [("add", "sync", "Nowhere"), ("add", "sync", "Sync#Nothing"), ("remove", "sync")])
def test_removing_an_unknown_question_of_the_gold_set_is_an_error(
    excerpt: Excerpt, vault: Path, words: tuple[str, ...]
) -> None:
    assert excerpt("gold", *words, "--vault", vault).code == 1


def test_an_exported_gold_set_can_be_searched_as_a_batch_and_imported(
    excerpt: Excerpt, vault: Path, tmp_path: Path
) -> None:
    excerpt("gold", "add", *QUESTION, "--vault", vault)
    file = tmp_path / "gold.jsonl"
    file.write_text(excerpt("gold", "export", "--vault", vault).out, encoding="utf-8")
    assert excerpt("search", "--batch", file, "--json", "--vault", vault).json["query"] == QUESTION[0]
    excerpt("gold", "remove", QUESTION[0], "--vault", vault)
    assert excerpt("gold", "import", file, "--vault", vault).code == 0
    assert excerpt("gold", "export", "--vault", vault).out == file.read_text(encoding="utf-8")


def test_invalid_lines_of_an_import_are_named_and_skipped(excerpt: Excerpt, vault: Path, piped: Piped) -> None:
    piped(b'no JSON\n{"query": "lentils", "relevant": [{"path": "Cooking/Lentil soup.md"}]}\n')
    answer = excerpt("gold", "import", "-", "--vault", vault)
    assert (answer.code, "Line 1 " in answer.err) == (0, True)
    piped(b"{}\n")
    assert excerpt("gold", "import", "-", "--vault", vault).code == 1


def test_a_run_without_questions_exits_with_1(excerpt: Excerpt, vault: Path) -> None:
    assert excerpt("gold", "run", "--vault", vault).code == 1


def test_a_run_reports_changes_and_exits_with_1_if_results_got_worse(excerpt: Excerpt, vault: Path) -> None:
    excerpt("gold", "add", *QUESTION, "--vault", vault)
    assert excerpt("gold", "run", "--vault", vault).code == 0
    (vault / "Two devices change one note.md").write_text("Two devices change one note.\n", encoding="utf-8")
    fallen = excerpt("gold", "run", "--vault", vault)
    assert fallen.code == 1
    assert "worse   1 → 2    two devices change one note" in fallen.out
    assert excerpt("gold", "run", "--vault", vault).code == 0


def test_adding_a_gold_question_with_a_target_that_the_vault_lacks_is_an_error(excerpt: Excerpt, vault: Path) -> None:
    excerpt("gold", "add", *QUESTION, "Colour", "--vault", vault)
    (vault / "Colour.md").unlink()
    answer = excerpt("gold", "run", "--vault", vault, "--json")
    assert answer.code == 1
    assert [missing["target"] for missing in answer.json["missing"]] == ["Colour.md"]
    assert "Colour.md is not in the vault" in answer.err


def test_two_settings_are_compared_side_by_side(excerpt: Excerpt, vault: Path) -> None:
    excerpt("gold", "add", *QUESTION, "--vault", vault)
    words = ("--strategy", "semantic", "--set", "search.boosts.links=false", "--set", "search.fusion=rrf")
    report = excerpt("gold", "run", *words, "--vault", vault, "--json").json
    assert (report["compared_with"], report["strategy"]) == ("your settings", "semantic")
    assert report["settings"] == ["search.boosts.links=false", 'search.fusion="rrf"']


@pytest.mark.parametrize("text", ["search.per_note", "=1", "pack.budget=1", "search.per_note=-1", "search.limits=3"])
def test_a_setting_that_cannot_be_compared_is_wrong_usage(excerpt: Excerpt, vault: Path, text: str) -> None:
    assert excerpt("gold", "run", "--set", text, "--vault", vault).code == 2


# --- news -------------------------------------------------------------------------------------------------------------


def test_news_are_listed_until_they_are_marked_as_seen(excerpt: Excerpt, vault: Path) -> None:
    change_saved(user_paths().saved_queries_file(vault), lambda saved: saved.with_query("Conflicts", "conflict"))
    assert excerpt("news", "--vault", vault).code == 1
    (vault / "Merge.md").write_text("Every conflict has two sides.\n", encoding="utf-8")
    (query,) = excerpt("news", "--vault", vault, "--json").json["queries"]
    assert [hit["path"] for hit in query["new"]] == ["Merge.md"]
    seen = excerpt("news", "--seen", "--vault", vault)
    assert (seen.code, "1 new" in seen.out, "Merge.md:1" in seen.out) == (0, True, True)
    assert excerpt("news", "--vault", vault).code == 1


def test_without_saved_queries_there_is_no_news(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("news", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")


def test_unreadable_saved_queries_are_an_error(excerpt: Excerpt, vault: Path) -> None:
    file = user_paths().saved_queries_file(vault)
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"queries": 3}), encoding="utf-8")
    assert excerpt("news", "--vault", vault).code == 3
