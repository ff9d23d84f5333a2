"""What the preview shows, without a screen: asked for, visited, gone back to."""

from __future__ import annotations

from dataclasses import dataclass, field

from excerpt.kinds import LinkKind
from excerpt.model import Hit
from excerpt.tui.common.inked_line import LinkTo
from excerpt.tui.note_window import window_around
from excerpt.tui.reading import LinkFound
from excerpt.tui.search.reading_controller import Location, ReadingController
from tests.tui.asked import HeldClock, HeldEngine, hit

A, B, C = hit("a"), hit("b"), hit("c")


@dataclass
class Bench:
    engine: HeldEngine = field(default_factory=HeldEngine)
    clock: HeldClock = field(default_factory=HeldClock)
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reading = ReadingController(
            self.engine, self.clock.after, line_at_top=lambda: 3, changed=lambda: self.changes.append(self.shown)
        )

    @property
    def shown(self) -> str:
        return self.reading.window.fragment.id if self.reading.window is not None else ""

    def look(self, *hits: Hit, stay: float = 1.0) -> None:
        """Look at one after the other, for so many seconds."""
        for each in hits:
            self.reading.look_at(Location.of(each), "sync")
            self.answer(each)
            self.clock.pass_time(stay)

    def answer(self, shown: Hit) -> None:
        fragment = shown.fragment
        self.engine.answer("window", window_around(fragment.text, fragment, ()))


def test_a_fragment_is_asked_for_and_shown_when_it_has_come() -> None:
    bench = Bench()
    bench.reading.look_at(Location.of(A), "sync")
    asked = bench.engine.asked["window"]
    assert (asked.location.fragment_id, asked.query, asked.view.whole) == ("a", "sync", False)
    assert bench.reading.window is None
    bench.answer(A)
    assert bench.changes == ["", "a"]


def test_a_note_is_shown_whole_until_another_note_is() -> None:
    bench = Bench()
    bench.look(A)
    assert bench.reading.toggle_whole(seen=True)
    assert bench.engine.asked["window"].view.whole
    bench.answer(A)
    bench.reading.toggle_whole(seen=True)
    assert not bench.engine.asked["window"].view.whole
    bench.reading.toggle_whole(seen=False)
    bench.reading.look_at(Location.of(B), "sync")
    assert not bench.engine.asked["window"].view.whole


def test_a_memory_is_no_note_to_read_on_in() -> None:
    bench = Bench()
    bench.look(A)
    bench.reading.show(window_around("thought", A.fragment, ()))
    assert bench.reading.location is None
    assert not bench.reading.toggle_whole(seen=True)


def test_what_was_looked_at_for_a_second_is_gone_back_to_where_it_was_scrolled() -> None:
    bench = Bench()
    bench.look(A, B)
    assert bench.reading.go_visited(-1, B, "sync")
    location = bench.reading.location
    assert location is not None
    assert (location.fragment_id, location.top, bench.reading.is_away) == ("a", 3, True)
    bench.answer(A)
    assert bench.reading.go_visited(1, B, "sync")
    assert bench.reading.is_away is False
    assert not bench.reading.go_visited(1, B, "sync")


def test_what_was_passed_by_is_not_gone_back_to() -> None:
    bench = Bench()
    bench.look(A)
    bench.look(B, stay=0.1)
    bench.look(C)
    bench.reading.go_visited(-1, C, "sync")
    assert bench.reading.location is not None
    assert bench.reading.location.fragment_id == "a"


def test_a_link_leads_away_from_what_is_selected_and_leaves_a_way_back() -> None:
    bench = Bench()
    bench.look(A, stay=0.1)
    heard: list[LinkFound] = []
    bench.reading.ask_link(LinkTo(LinkKind.WIKILINK, "b"), heard.append)
    assert bench.engine.asked["link"].source == "a.md"
    bench.reading.go_to(Location.of(B), "sync")
    bench.answer(B)
    assert (bench.shown, bench.reading.is_away) == ("b", True)
    assert bench.reading.go_visited(-1, A, "sync")
    assert bench.reading.is_away is False


def test_an_edited_fragment_is_known_by_its_new_id() -> None:
    bench = Bench()
    bench.reading.look_at(Location.of(A), "sync")
    bench.answer(hit("edited", 4))
    assert bench.reading.location is not None
    assert (bench.reading.location.fragment_id, bench.reading.location.line) == ("edited", 4)
