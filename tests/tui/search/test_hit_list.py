"""What is selected when the same query is answered anew, since the vault has changed."""

from __future__ import annotations

from excerpt.model import Fragment, Hit
from excerpt.tui.search.hit_list import place_of


def hit(path: str, line: int, text: str) -> Hit:
    fragment = Fragment(
        id=f"{path}:{text}",
        path=path,
        title=path,
        heading_path=(),
        ordinal=0,
        section=0,
        line_start=line,
        line_end=line,
        text=text,
        tokens=1,
        digest=text,
    )
    return Hit(fragment, 1.0, (), ())


def test_the_same_fragment_stays_selected_wherever_it_ranks_now() -> None:
    assert place_of(hit("a.md", 3, "old"), 0, [hit("new.md", 1, "x"), hit("a.md", 3, "old")]) == 1


def test_an_edited_fragment_is_followed_to_the_nearest_one_of_its_note() -> None:
    now = [hit("a.md", 90, "far"), hit("b.md", 3, "x"), hit("a.md", 4, "edited")]
    assert place_of(hit("a.md", 3, "old"), 1, now) == 2


def test_where_its_note_is_gone_the_row_stays() -> None:
    assert place_of(hit("a.md", 3, "old"), 1, [hit("b.md", 1, "x"), hit("c.md", 1, "x")]) == 1


def test_without_a_selection_the_best_is_taken() -> None:
    assert place_of(None, 0, [hit("b.md", 1, "x")]) == 0
