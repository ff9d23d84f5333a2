"""Tests of the comparison of two texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from excerpt.memory.results import side_by_side

TEXTS = st.lists(st.sampled_from(["a b c", "a x c", "", "long line here", "z"]), max_size=6).map("\n".join)


def test_old_and_new_text_of_a_memory_are_compared_line_by_line_side_by_side() -> None:
    rows = side_by_side("same\nThe newer wins.\nlast", "same\nThe longer wins.\nadded\nlast")
    assert [(row.before, row.after) for row in rows] == [
        ("same", "same"),
        ("The newer wins.", "The longer wins."),
        (None, "added"),
        ("last", "last"),
    ]
    changed = rows[1]
    assert [changed.before[span.start : span.end] for span in changed.before_spans if changed.before] == ["newer"]
    assert [changed.after[span.start : span.end] for span in changed.after_spans if changed.after] == ["longer"]


@given(TEXTS, TEXTS)
def test_each_column_of_a_comparison_contains_the_whole_text_of_its_side(before: str, after: str) -> None:
    rows = side_by_side(before, after)
    assert "\n".join(row.before for row in rows if row.before is not None) == before
    assert "\n".join(row.after for row in rows if row.after is not None) == after
    assert all(row.is_same or row.before_spans or row.after_spans or not (row.before and row.after) for row in rows)
