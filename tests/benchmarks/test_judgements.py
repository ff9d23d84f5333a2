"""Tests of judgements: the sets are parsed and the hits scored as by the external scorer."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from benchmarks.judgements import (
    Outside,
    Place,
    QuerySet,
    Question,
    Worth,
    mean_of,
    ndcg,
    reciprocal_rank,
    summary,
    worth,
)

ANSWER = Question("how to sync", {"Sync.md": 1}, (Place("Sync.md", 10, 20),), frozenset({"Origin.md"}))


def query_set(name: str, collection: Path | None = None) -> QuerySet:
    return QuerySet(name, Path("vault"), Path("queries.jsonl"), collection)


def hit(path: str, start: int = 1, end: int = 5) -> Place:
    return Place(path, start, end)


def test_question_sets_are_found_with_their_vaults(tmp_path: Path) -> None:
    queries = tmp_path / "data" / "queries"
    queries.mkdir(parents=True)
    (queries / "obsidian-help-de.jsonl").touch()
    (queries / "cpp-docs.dev.jsonl").touch()
    (tmp_path / "data" / "collections" / "cacm").mkdir(parents=True)
    (tmp_path / "data" / "collections" / "cacm" / "qrels.tsv").touch()
    found = Outside(tmp_path).sets()
    assert [s.name for s in found] == ["cacm", "obsidian-help-de", "cpp-docs.dev"]
    assert [s.vault.name for s in found] == ["cacm", "de", "cpp-docs"]


@pytest.mark.parametrize(
    ("name", "language", "family"),
    [
        ("obsidian-help-de", "de", "obsidian-help"),
        ("obsidian-help-en.dev", "en", "obsidian-help"),
        ("xquad-zh", "zh", "xquad"),
        ("dendron-site.dev", "en", "dendron-site"),
        ("cacm", "en", "cacm"),
    ],
)
def test_the_name_of_a_set_gives_its_language_and_the_set_it_translates(name: str, language: str, family: str) -> None:
    assert query_set(name).language == language
    assert query_set(name).family == family


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_known_item_has_its_note_its_lines_and_its_source_notes(tmp_path: Path) -> None:
    target = {"path": "A.md", "heading": "Two", "line_start": 3, "line_end": 9}
    row = {"id": "1", "query": "words", "relevant": [target], "exclude": ["B.md", "A.md"], "difficulty": "gap"}
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps(row) + "\n\n", encoding="utf-8")
    expected = Question("words", {"A.md": 1}, (Place("A.md", 3, 9),), frozenset({"B.md"}), gap=True)
    assert QuerySet("set", tmp_path, file, None).questions() == [expected]


def test_a_whole_note_has_no_target_lines(tmp_path: Path) -> None:
    target = {"path": "A.md", "heading": None, "line_start": 1, "line_end": 9}
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps({"id": "1", "query": "words", "relevant": [target]}), encoding="utf-8")
    assert QuerySet("set", tmp_path, file, None).questions() == [Question("words", {"A.md": 1})]


def test_a_judged_question_has_the_grades_of_its_documents(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "one"}\n{"_id": "2", "text": "two"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta/b\t2\n1\tc\t0\n2\tc\t0\n")
    questions = QuerySet("set", tmp_path, tmp_path / "queries.jsonl", tmp_path).questions()
    assert questions == [Question("one", {"a%2Fb.md": 2})]


# --- scores -----------------------------------------------------------------------------------------------------------


def test_the_rank_of_a_query_is_the_rank_of_its_first_relevant_note() -> None:
    assert reciprocal_rank(["A.md", "B.md"], {"B.md": 1, "A.md": 1}) == 1
    assert reciprocal_rank(["A.md", "B.md"], {"B.md": 1}) == 0.5
    assert reciprocal_rank(["A.md"], {"B.md": 1}) == 0


def test_gain_is_discounted_by_rank_and_divided_by_the_ideal_order() -> None:
    assert ndcg(["A.md", "B.md"], {"A.md": 2, "B.md": 1}) == 1
    assert ndcg(["B.md", "A.md"], {"A.md": 2, "B.md": 1}) == pytest.approx(
        (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    )


def test_a_note_has_the_rank_of_its_best_fragment() -> None:
    hits = [hit("A.md"), hit("A.md", 6, 9), hit("Sync.md")]
    assert worth(ANSWER, hits, judged=False).value == 0.5


def test_only_the_first_ten_notes_count() -> None:
    hits = [hit(f"{n}.md") for n in range(10)]
    assert worth(ANSWER, [*hits, hit("Sync.md")], judged=False).value == 0
    assert worth(ANSWER, [*hits[1:], hit("Sync.md")], judged=False).value == 0.1


def test_a_source_note_of_the_question_does_not_count_as_a_rank() -> None:
    assert worth(ANSWER, [hit("Origin.md"), hit("Sync.md")], judged=False).value == 1


def test_a_section_is_found_by_a_hit_on_any_of_its_lines() -> None:
    assert worth(ANSWER, [hit("Sync.md", 5, 10)], judged=False).section == 1
    assert worth(ANSWER, [hit("Sync.md", 20, 30)], judged=False).section == 1
    assert worth(ANSWER, [hit("Sync.md", 1, 9)], judged=False).section == 0
    assert worth(ANSWER, [hit("Other.md", 5, 10)], judged=False).section == 0


def test_a_section_is_searched_among_ten_hits_not_ten_notes() -> None:
    before = [hit("A.md", n, n) for n in range(10)]
    assert worth(ANSWER, [*before, hit("Sync.md", 10, 20)], judged=False) == Worth(0.5, 0.0, gap=False, recall=1.0)


def test_means_of_sections_and_gaps_include_only_questions_that_have_them() -> None:
    found = summary([Worth(1.0, None, gap=False, recall=1.0), Worth(0.5, 1.0, gap=True, recall=1.0)])
    assert (found.value, found.section, found.gap) == (0.75, 1.0, 0.5)
    assert mean_of([None]) is None


def test_questions_from_link_texts_have_their_own_means() -> None:
    other, of_link = Worth(1.0, None, gap=False, recall=1.0), Worth(0.5, None, gap=False, recall=0.0, of_link=True)
    found = summary([other, of_link])
    assert (found.of_links, found.others, found.recall) == (0.5, 1.0, 0.5)
    assert summary([other]).others is None


def test_recall_is_binary_for_known_items_and_a_share_for_judged_questions() -> None:
    two = Question("two", {"A.md": 1, "B.md": 1})
    assert worth(two, [hit("A.md")], judged=False).recall == 1
    assert worth(two, [hit("A.md")], judged=True).recall == 0.5
