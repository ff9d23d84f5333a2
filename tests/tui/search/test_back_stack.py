"""The way back through places that were looked at."""

from __future__ import annotations

from excerpt.tui.search.reading_controller import BackStack, Location

A, B, C = (Location(name, f"{name}.md", 1) for name in "abc")


def walked(*spots: Location) -> BackStack:
    trail = BackStack()
    for spot in spots:
        trail = trail.visiting(spot)
    return trail


def test_one_goes_back_and_forward_as_far_as_there_is_a_way() -> None:
    trail = walked(A, B, C)
    assert [trail.going(-by).here for by in range(4)] == [C, B, A, A]
    assert trail.going(-2).going(1).here == B
    assert BackStack().going(-1).here is None


def test_going_on_from_within_leaves_behind_what_was_ahead() -> None:
    assert walked(A, B).going(-1).visiting(C).locations == (A, C)


def test_the_same_place_is_not_visited_twice_in_a_row_but_remembers_how_it_was_scrolled() -> None:
    scrolled = Location("a", "a.md", 1, top=9)
    assert walked(A, scrolled).locations == (scrolled,)


def test_a_long_way_loses_its_beginning_alone() -> None:
    trail = walked(*(Location(str(number), "n.md", number) for number in range(300)))
    assert len(trail.locations) == 100
    assert trail.here == Location("299", "n.md", 299)
