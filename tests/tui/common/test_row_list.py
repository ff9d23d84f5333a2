"""Tests of fitting a row's title and headings into a width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from excerpt.base.model import Fragment, Hit, Span
from excerpt.tui.common.row_list import (
    NAME_SEPARATOR,
    Name,
    distinguishing_folders,
    list_names,
    name_parts,
    shorten_headings,
    shorten_names,
)
from excerpt.tui.common.strips import truncate_parts


def named(*texts: str) -> list[Name]:
    return [(text, ()) for text in texts]


def shown_names(names: list[Name], cells: int) -> str:
    return NAME_SEPARATOR.join(text for text, _ in shorten_names(names, cells))


def test_a_name_that_fits_is_shown_whole() -> None:
    assert shown_names(named("Sync", "Conflicts", "Resolve"), 26) == "Sync › Conflicts › Resolve"


def test_if_headings_do_not_fit_the_middle_ones_are_omitted_first() -> None:
    assert shown_names(named("Sync", "Conflicts", "By hand", "Resolve"), 30) == "Sync › … › By hand › Resolve"
    assert shown_names(named("Sync", "Conflicts", "By hand", "Resolve"), 20) == "Sync › … › Resolve"


def test_the_mark_of_omitted_headings_is_dropped_if_the_name_is_long() -> None:
    assert shown_names(named("Sync", "Conflicts", "Resolve by hand"), 20) == "Sync › Resolve by h…"


def test_a_long_title_is_truncated_for_the_last_heading() -> None:
    assert shown_names(named("A title that goes on and on", "Resolve"), 24) == "A title that… › Resolve"


def test_a_short_heading_takes_only_its_width_from_a_long_title() -> None:
    assert shown_names(named("A title of twenty ch", "Do"), 20) == "A title of twe… › Do"


def test_headings_are_cut_from_the_left_and_the_last_is_kept() -> None:
    def shown_headings(cells: int) -> list[str]:
        return [text for text, _ in shorten_headings(named("Conflicts", "By hand", "Resolve"), cells)]

    assert shown_headings(29) == ["Conflicts", "By hand", "Resolve"]
    assert shown_headings(28) == ["…", "By hand", "Resolve"]
    assert shown_headings(12) == ["…", "Resolve"]
    assert shown_headings(10) == ["Resolve"]
    assert shown_headings(5) == ["Reso…"]


def test_a_heading_that_repeats_the_title_is_omitted() -> None:
    fragment = Fragment("i", "a.md", "Sync", ("Sync", "Devices"), 0, 0, 1, 1, "x", 1, "d")
    hit = Hit(fragment, 1.0, named=((Span(0, 4),), (Span(0, 4),), ()))
    assert list_names(hit) == [("Sync", (Span(0, 4),)), ("Devices", ())]


def test_matches_are_highlighted_as_far_as_they_are_shown() -> None:
    plain, faint, match = Style(bold=True), Style(dim=True), Style(reverse=True)
    title = ("Merging two versions of a note", (Span(0, 7), Span(12, 20), Span(26, 30)))
    names: list[Name] = [title, ("How", (Span(0, 3),))]
    parts = name_parts(shorten_names(names, 22), plain, faint, match)
    assert [text for text, style in parts if style is match] == ["Merging", "ver", "How"]


@given(st.lists(st.text(max_size=12), min_size=1, max_size=5), st.integers(0, 40))
def test_a_line_of_names_is_never_too_wide(texts: list[str], cells: int) -> None:
    none = Style.null()
    parts = truncate_parts(name_parts(shorten_names(named(*texts), cells), none, none, none), cells)
    assert sum(cell_len(text) for text, _ in parts) <= max(cells, 0)


def test_notes_with_the_same_title_are_told_apart_by_their_folders() -> None:
    titles = {"guide/Sync.md": "Sync", "work/old/Sync.md": "sync", "Merging.md": "Merging"}
    assert distinguishing_folders(titles) == {"guide/Sync.md": "guide", "work/old/Sync.md": "work/old"}


def test_notes_with_the_same_title_in_one_folder_are_told_apart_by_their_files() -> None:
    titles = dict.fromkeys(("guide/a.md", "guide/b.md", "work/c.md"), "Sync")
    assert distinguishing_folders(titles) == {"guide/a.md": "a.md", "guide/b.md": "b.md", "work/c.md": "work"}


def test_the_distinguishing_path_starts_where_the_paths_differ() -> None:
    versions = dict.fromkeys((f"docs/7.{minor}/Sync/a.md" for minor in (5, 6)), "Sync")
    assert list(distinguishing_folders(versions).values()) == ["…7.5/Sync", "…7.6/Sync"]
    topics = dict.fromkeys((f"notes/topic.{name}.sync.md" for name in ("web", "app")), "Sync")
    assert list(distinguishing_folders(topics).values()) == ["…web.sync.md", "…app.sync.md"]
