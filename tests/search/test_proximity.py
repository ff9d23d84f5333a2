from __future__ import annotations

import numpy as np
import pytest

from excerpt.search.proximity import FIELD_STARTS, ROW_STRIDE, flatten_positions, score_closeness
from tests.search.tiny import TinyReader, rows_of


def close(query: str, *texts: str) -> list[float]:
    """Return the proximity score of the words of `query`, all equally rare, in each text."""
    reader = TinyReader(*texts)
    rows = np.arange(len(texts), dtype=np.int32)
    words = query.split()
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows) for word in words]
    return [float(c) for c in score_closeness(lines, [1.0] * len(words), list(range(len(words))), len(texts))]


def test_words_side_by_side_in_order_are_as_close_as_can_be() -> None:
    assert close("red fox", "a red fox ran") == [1.0]


def test_the_farther_apart_the_less() -> None:
    found = close("red fox", "red fox", "red big fox", "red big old fox", "fox")
    assert found == sorted(found, reverse=True)
    assert found[2] > found[3] == 0


def test_the_wrong_way_round_counts_half() -> None:
    assert close("red fox", "fox red") == [0.5]


def test_the_nearest_occurrence_counts() -> None:
    assert close("red fox", "red hat and coat and shoes on a fox beside a red fox") == [1.0]


def test_all_words_are_never_required() -> None:
    whole, part = close("red fox ran", "red fox ran", "red fox sat")
    assert whole == 1.0
    assert part == pytest.approx(0.5)


def test_a_rare_pair_weighs_more() -> None:
    reader = TinyReader("red fox", "fox ran")
    rows = rows_of(0, 1)
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows) for word in ("red", "fox", "ran")]
    first, second = score_closeness(lines, [5.0, 5.0, 1.0], [0, 1, 2], 2)
    assert first > second > 0


def test_a_gap_in_the_query_is_a_gap_in_the_text() -> None:
    reader = TinyReader("end of line", "end line")
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows_of(0, 1)) for word in ("end", "line")]
    assert score_closeness(lines, [1.0, 1.0], [0, 2], 2).tolist() == [1.0, 0.5]


def test_words_of_different_fragments_are_not_close() -> None:
    assert close("red fox", "red", "fox") == [0.0, 0.0]


def test_words_of_different_fields_are_not_close() -> None:
    reader = TinyReader({"title": "red", "text": "fox"})
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows_of(0)) for word in ("red", "fox")]
    assert score_closeness(lines, [1.0, 1.0], [0, 1], 1)[0] < 0.01


def test_a_heading_counts_like_the_text() -> None:
    reader = TinyReader({"heading": "red fox", "text": "it ran"})
    lines = [flatten_positions(reader, FIELD_STARTS, [word], rows_of(0)) for word in ("red", "fox")]
    assert score_closeness(lines, [1.0, 1.0], [0, 1], 1).tolist() == [1.0]


def test_a_line_holds_only_the_rows_asked_for() -> None:
    reader = TinyReader("fox fox", "fox", "red fox")
    begin = FIELD_STARTS["text"]
    assert flatten_positions(reader, FIELD_STARTS, ["fox"], rows_of(0, 2)).tolist() == [
        begin,
        begin + 1,
        ROW_STRIDE + begin + 1,
    ]


def test_words_that_stand_nowhere_have_no_line() -> None:
    assert flatten_positions(TinyReader("fox"), FIELD_STARTS, ["hen"], rows_of(0)).tolist() == []
    assert flatten_positions(TinyReader("fox"), FIELD_STARTS, [], rows_of(0)).tolist() == []
