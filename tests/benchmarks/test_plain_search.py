"""Tests of plain search, which packs are measured beside."""

from __future__ import annotations

from pathlib import Path

from benchmarks.plain_search import PlainIndex, cut_passages

NOTE = "one two three\n\nfour five\nsix seven eight nine\n"


def _index(folder: Path) -> PlainIndex:
    (folder / "bees.md").write_text("bees make honey\nbees sleep\n", encoding="utf-8")
    (folder / "owls.md").write_text("the owl hunts\n", encoding="utf-8")
    return PlainIndex(folder, 3, count_tokens=len)


def test_passages_are_whole_lines_of_at_most_so_many_words() -> None:
    assert list(cut_passages(NOTE, 5)) == [(1, 3, "one two three\n\nfour five"), (4, 5, "six seven eight nine\n")]


def test_a_line_that_is_too_long_is_a_passage_of_its_own() -> None:
    assert [(first, last) for first, last, _ in cut_passages(NOTE, 2)] == [(1, 1), (2, 3), (4, 4)]


def test_stop_words_are_left_out_unless_a_question_has_no_others(tmp_path: Path) -> None:
    index = _index(tmp_path)
    assert "owls.md" in {hit.place.path for hit in index.search("the bees", 9, keeps_stop_words=True)}
    assert {hit.place.path for hit in index.search("the bees", 9, keeps_stop_words=False)} == {"bees.md"}
    assert [hit.place.path for hit in index.search("the?", 9, keeps_stop_words=False)] == ["owls.md"]
    assert index.search("?!", 9, keeps_stop_words=True) == []


def test_a_pack_skips_what_does_not_fit_and_ends_at_its_cut(tmp_path: Path) -> None:
    index = _index(tmp_path)
    hits = index.search("bees honey owl", 9, keeps_stop_words=True)
    tokens, packed = index.pack(hits, 1_000)
    assert tokens == sum(len(hit.source_text) for hit in packed)
    assert len(packed) == len(hits) == 3
    assert len(index.pack(hits, len(hits[0].source_text))[1]) == 1
    assert len(index.pack(hits, 1_000, cut=0.99)[1]) == 2
