"""Tests of words that stand close together, of words in order, and of quoted phrases in a real index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.index.snapshot import Snapshot
from excerpt.search.evidence import analyze_text
from excerpt.search.proximity import (
    FIELD_STARTS,
    ROW_STRIDE,
    find_phrase_rows,
    find_word_sequence,
    flatten_positions,
    score_closeness,
)
from tests.search.library import open_vault, queries, rows_allowed
from tests.search.tiny_reader import TinyReader, parsed_query, rows_of


def closeness_scores(query: str, *texts: str) -> list[float]:
    """Return the proximity score of the words of `query`, all equally rare, in each text."""
    reader = TinyReader(*texts)
    rows = np.arange(len(texts), dtype=np.int32)
    words = query.split()
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows) for word in words]
    return [float(c) for c in score_closeness(lines, [1.0] * len(words), list(range(len(words))), len(texts))]


def test_adjacent_words_in_order_have_the_highest_score() -> None:
    assert closeness_scores("red fox", "a red fox ran") == [1.0]


def test_the_score_falls_with_the_distance() -> None:
    found = closeness_scores("red fox", "red fox", "red big fox", "red big old fox", "fox")
    assert found == sorted(found, reverse=True)
    assert found[2] > found[3] == 0


def test_reversed_order_counts_half() -> None:
    assert closeness_scores("red fox", "fox red") == [0.5]


def test_of_several_occurrences_the_nearest_to_the_other_word_counts() -> None:
    assert closeness_scores("red fox", "red hat and coat and shoes on a fox beside a red fox") == [1.0]


def test_a_fragment_without_some_of_the_query_words_has_a_proximity_score() -> None:
    whole, part = closeness_scores("red fox ran", "red fox ran", "red fox sat")
    assert whole == 1.0
    assert part == pytest.approx(0.5)


def test_a_rare_pair_has_a_higher_weight() -> None:
    reader = TinyReader("red fox", "fox ran")
    rows = rows_of(0, 1)
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows) for word in ("red", "fox", "ran")]
    first, second = score_closeness(lines, [5.0, 5.0, 1.0], [0, 1, 2], 2)
    assert first > second > 0


def test_words_with_a_gap_between_them_in_the_query_score_highest_with_the_same_gap_in_the_text() -> None:
    reader = TinyReader("end of line", "end line")
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows_of(0, 1)) for word in ("end", "line")]
    assert score_closeness(lines, [1.0, 1.0], [0, 2], 2).tolist() == [1.0, 0.5]


def test_words_of_different_fragments_are_not_close() -> None:
    assert closeness_scores("red fox", "red", "fox") == [0.0, 0.0]


def test_words_of_different_fields_are_not_close() -> None:
    reader = TinyReader({"title": "red", "text": "fox"})
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows_of(0)) for word in ("red", "fox")]
    assert score_closeness(lines, [1.0, 1.0], [0, 1], 1)[0] < 0.01


def test_words_close_together_in_a_heading_count_as_in_the_text() -> None:
    reader = TinyReader({"heading": "red fox", "text": "it ran"})
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows_of(0)) for word in ("red", "fox")]
    assert score_closeness(lines, [1.0, 1.0], [0, 1], 1).tolist() == [1.0]


def test_positions_are_read_only_for_the_requested_rows() -> None:
    reader = TinyReader("fox fox", "fox", "red fox")
    begin = FIELD_STARTS["text"]
    assert flatten_positions(reader, FIELD_STARTS, ["fox"], rows_of(0, 2)).tolist() == [
        begin,
        begin + 1,
        ROW_STRIDE + begin + 1,
    ]


def test_words_without_occurrences_have_no_positions() -> None:
    assert flatten_positions(TinyReader("fox"), FIELD_STARTS, ["hen"], rows_of(0)).tolist() == []
    assert flatten_positions(TinyReader("fox"), FIELD_STARTS, [], rows_of(0)).tolist() == []


def sequence_rows(reader: TinyReader, phrase: str) -> list[int]:
    return [int(row) for row in find_word_sequence(reader, parsed_query(phrase))]


def test_a_phrase_matches_adjacent_words_in_order() -> None:
    reader = TinyReader("two devices", "devices two", "two old devices", "on two devices again", "two")
    assert sequence_rows(reader, "two devices") == [0, 3]


def test_a_phrase_of_one_word_matches_the_word() -> None:
    assert sequence_rows(TinyReader("two devices", "one"), "devices") == [0]


def test_a_phrase_may_be_in_any_single_field() -> None:
    reader = TinyReader({"heading": "two devices"}, {"title": "two", "text": "devices"}, {"alias": "two devices"})
    assert sequence_rows(reader, "two devices") == [0, 2]


def test_a_compound_matches_however_it_is_joined() -> None:
    reader = TinyReader("end-to-end encryption", "end to end encryption", "encryption from end to end")
    assert sequence_rows(reader, "end-to-end encryption") == [0, 1]


def test_a_phrase_without_spaces_matches() -> None:
    reader = TinyReader("新しい保管庫を作成", "保管庫は新しい")
    assert sequence_rows(reader, "新しい保管庫") == [0]


def test_a_phrase_that_does_not_occur_matches_nothing() -> None:
    assert sequence_rows(TinyReader("two devices"), "three devices") == []


def test_inflections_of_a_word_match() -> None:
    assert sequence_rows(TinyReader("settled conflicts"), "settling conflict") == [0]


NOTES = {
    "Forms.md": "# Forms\n\nA settled conflict.\n\n## Other\n\nSettling conflicts takes time.\n",
    "Marks.md": "# Marks\n\nIt is a **very _long_** word;\nbroken here -> and `std::vector<int>` there (a, b).\n",
    "Names.md": "---\naliases: [Third name]\n---\n"
    "# Release notes\n\n## Known problems\n\nNone, says the release note.\n",
    "Signs.md": "# Signs\n\nFrom a → b, 50 % of the time … and a\u00a0hard space. Straße, CAFÉ, ﬁne, naïve.\n\n"
    "> quoted | barred\n",
    "Links.md": "# Links\n\nThe [red barn](https://x.example/a/b?c=d) door and [[Long Name|the mill]] wheel[^1] spin "
    "%%old%% fast, un**believ**able pace.\nDie [rote Scheune](scheune.md) brannte %%alt%% gestern.\n\n"
    "The last words ^part\nof all.\n\n[^1]: n\n",
    "Table.md": "# Table\n\n| one | two |\n|---|---|\n| 1.0.21 | C++ & R&D |\n\n"
    "```sh\ngit commit -m 'x' --amend\n```\n",
    "言語.md": "# 言語\n\n新しい保管庫を作成して、ノートを同期します。ファイルはすべて暗号化されます。\n",
    "Разное.md": "# Разное\n\nСинхронизация заметок между устройствами — дело непростое.\n",
    "مزامنة.md": "# مزامنة\n\nتتم مزامنة الملاحظات بين الأجهزة، والملفات مشفرة.\n",
    "ไทย.md": "# ไทย\n\nซิงค์โน้ตระหว่างอุปกรณ์ทั้งหมดของคุณ\n",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    snapshot = open_vault(tmp_path_factory.mktemp("phrases"), NOTES)
    yield snapshot
    snapshot.close()


def headings_of_matches(notes: Snapshot, phrase: str) -> list[str]:
    rows = find_phrase_rows(notes, phrase, lambda text: analyze_text(text, notes))
    return [" › ".join(f.heading_path) for f in notes.fragments(notes.table.keys[rows].tolist())]


@pytest.mark.parametrize(
    ("phrase", "where"),
    [
        # As it is read: without addresses, targets with a label, footnote marks and comments.
        ("red barn door", ["Links"]),
        ("and the mill wheel", ["Links"]),
        ("wheel spin fast", ["Links"]),
        ("rote scheune brannte gestern", ["Links"]),
        ("fast, unbelievable pace", ["Links"]),
        ("fast, un**believ**able pace", ["Links"]),
        ("the last words of all", ["Links"]),
        ("barn the door", []),
        # Literal matches first, else by word forms.
        ("settled conflict", ["Forms"]),
        ("SETTLED  conflict", ["Forms"]),
        ("settling conflicts", ["Forms › Other"]),
        ("settles conflict", ["Forms", "Forms › Other"]),
        # Markup and line ends are ignored.
        ("very long word", ["Marks"]),
        ("word; broken", ["Marks"]),
        ("word broken", ["Marks"]),
        ("cafe, fine", ["Signs"]),
        # Partial words, symbols.
        ("ery lon", ["Marks"]),
        ("ettled confl", ["Forms"]),
        ("->", ["Marks"]),
        ("→", ["Signs"]),
        ("… and a", ["Signs"]),
        ("% of", ["Signs"]),
        (">(", []),
        # In names.
        ("release notes", ["Release notes › Known problems"]),
        ("known problems", ["Release notes › Known problems"]),
        ("third name", ["Release notes › Known problems"]),
        # Other scripts.
        ("保管庫を作", ["言語"]),
        ("заметок между", ["Разное"]),
        ("инхронизац", ["Разное"]),
        ("nowhere at all", []),
    ],
)
def test_a_phrase_matches_literally_or_by_inflections(notes: Snapshot, phrase: str, where: list[str]) -> None:
    assert headings_of_matches(notes, phrase) == where


def test_a_longer_phrase_never_matches_more(notes: Snapshot) -> None:
    assert set(headings_of_matches(notes, "settled conflict")) <= set(headings_of_matches(notes, "settled"))


@given(st.data())
def test_text_copied_from_a_note_and_quoted_is_found(notes: Snapshot, data: st.DataObject) -> None:
    every = notes.fragments(notes.table.keys.tolist())
    text = data.draw(st.sampled_from([fragment.text for fragment in every]))
    line = data.draw(st.sampled_from([line for line in text.split("\n") if line.strip()]))
    start = data.draw(st.integers(0, len(line) - 1))
    phrase = line[start : data.draw(st.integers(start + 1, len(line)))]
    if not phrase.strip() or '"' in phrase:
        return
    (query,) = queries(notes, f'"{phrase}"')
    flags = rows_allowed(notes, query)
    assert flags is not None
    assert flags.any()
