"""Tests of the passage view's controller without a screen: loading, following links, going back."""

from __future__ import annotations

from dataclasses import dataclass, field

from excerpt.kinds import LinkKind
from excerpt.model import Hit
from excerpt.service.note_questions import Location, ResolvedLink
from excerpt.tui.common.line_drawing import WrittenLink
from excerpt.tui.note.window import draw_window
from excerpt.tui.search.passage_controller import PassageController
from tests.tui.driver import ManualEngine
from tests.tui.examples import make_hit

A, B, C = make_hit("a"), make_hit("b"), make_hit("c")


@dataclass
class Bench:
    engine: ManualEngine = field(default_factory=ManualEngine)
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.passages = PassageController(
            self.engine, line_at_top=lambda: 3, on_change=lambda: self.changes.append(self.shown)
        )

    @property
    def shown(self) -> str:
        return self.passages.window.fragment.id if self.passages.window is not None else ""

    def look(self, *hits: Hit) -> None:
        """View these hits one after the other."""
        for each in hits:
            self.passages.show_fragment(Location.from_hit(each), "sync")
            self.answer(each)

    def go(self, there: Hit) -> None:
        """Go to a hit as by a link."""
        self.passages.go_to(Location.from_hit(there))
        self.answer(there)

    def answer(self, shown: Hit) -> None:
        fragment = shown.fragment
        self.engine.answer("window", draw_window(fragment.text, fragment, ()))


def test_a_fragment_is_asked_for_and_shown_when_it_has_come() -> None:
    bench = Bench()
    bench.passages.show_fragment(Location.from_hit(A), "sync")
    asked = bench.engine.questions["window"]
    assert (asked.location.fragment_id, asked.query, asked.view.whole) == ("a", "sync", False)
    assert bench.passages.window is None
    bench.answer(A)
    assert bench.changes == ["", "a"]


def test_a_note_is_shown_whole_until_another_note_is() -> None:
    bench = Bench()
    bench.look(A)
    assert bench.passages.toggle_whole()
    assert bench.engine.questions["window"].view.whole
    bench.answer(A)
    bench.passages.toggle_whole()
    assert not bench.engine.questions["window"].view.whole
    bench.passages.toggle_whole()
    bench.passages.show_fragment(Location.from_hit(B), "sync")
    assert not bench.engine.questions["window"].view.whole


def test_a_memory_is_no_note_to_read_on_in() -> None:
    bench = Bench()
    bench.look(A)
    bench.passages.show_memory(draw_window("thought", A.fragment, ()))
    assert bench.passages.location is None
    assert not bench.passages.toggle_whole()


def test_links_lead_away_from_what_is_selected_and_one_comes_back_to_where_it_was_scrolled() -> None:
    bench = Bench()
    bench.look(A)
    after: list[ResolvedLink] = []
    bench.passages.ask_link_target(WrittenLink(LinkKind.WIKILINK, "b"), after.append)
    assert bench.engine.questions["link"].source == "a.md"
    bench.go(B)
    bench.go(C)
    assert (bench.shown, bench.passages.is_linked_passage) == ("c", True)
    assert bench.passages.go_back()
    bench.answer(B)
    assert (bench.shown, bench.passages.is_linked_passage) == ("b", True)
    assert bench.passages.go_back()
    assert bench.engine.questions["window"].view.line == 3
    bench.answer(A)
    assert (bench.shown, bench.passages.is_linked_passage) == ("a", False)
    assert not bench.passages.go_back()


def test_another_hit_that_is_looked_at_leaves_no_way_back() -> None:
    bench = Bench()
    bench.look(A)
    bench.go(B)
    bench.look(C)
    assert not bench.passages.is_linked_passage
    assert not bench.passages.go_back()


def test_an_edited_fragment_is_known_by_its_new_id() -> None:
    bench = Bench()
    bench.passages.show_fragment(Location.from_hit(A), "sync")
    bench.answer(make_hit("edited", 4))
    assert bench.passages.location is not None
    assert (bench.passages.location.fragment_id, bench.passages.location.line) == ("edited", 4)
