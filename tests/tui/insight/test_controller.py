"""Tests of related notes and the map of matches without a screen: queries, following, filters."""

from __future__ import annotations

from dataclasses import dataclass, field

from excerpt.service.note_questions import Location
from excerpt.tui.insight.controller import InsightController
from tests.tui.driver import ManualClock, ManualEngine
from tests.tui.examples import make_hit

A, MEMORY = make_hit("a", 4), make_hit("memory:20260301-120000-abcd")


@dataclass
class Bench:
    query: str = "sync"
    engine: ManualEngine = field(default_factory=ManualEngine)
    clock: ManualClock = field(default_factory=ManualClock)
    turns: list[Location | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.insight = InsightController(
            self.engine,
            self.clock.after,
            get_query=lambda: self.query,
            set_query=lambda query: setattr(self, "query", query),
            on_change=lambda: self.turns.append(self.insight.trail_end),
        )

    def related_to(self) -> tuple[str, int | None]:
        assert self.insight.ask_related(A, print, print)
        asked = self.engine.questions["related"]
        return asked.path, asked.line


def test_related_notes_are_requested_for_the_selected_fragment_or_its_note() -> None:
    bench = Bench()
    assert bench.related_to() == ("a.md", 4)
    bench.insight.toggle_whole_note()
    assert bench.related_to() == ("a.md", None)


def test_related_notes_are_requested_for_a_followed_note_until_the_user_returns() -> None:
    bench = Bench()
    there = Location("b", "b.md", 9)
    bench.insight.add_to_trail(there)
    assert bench.related_to() == ("b.md", 9)
    assert bench.insight.go_back()
    assert bench.related_to() == ("a.md", 4)
    assert not bench.insight.go_back()
    assert bench.turns == [there, None]


def test_a_memory_or_an_empty_selection_has_no_related_notes() -> None:
    bench = Bench()
    assert not bench.insight.ask_related(MEMORY, print, print)
    assert not bench.insight.ask_related(None, print, print)
    assert bench.insight.is_answered


def test_a_panel_is_updated_once_the_selection_has_not_changed_for_a_moment() -> None:
    bench = Bench()
    asked: list[str] = []
    bench.insight.schedule_request(lambda: asked.append("first"))
    bench.insight.schedule_request(lambda: asked.append("second"))
    assert not bench.insight.is_answered
    bench.clock.pass_time(0.2)
    assert (asked, bench.insight.is_answered) == (["second"], True)


def test_a_filter_is_inserted_and_removed() -> None:
    bench = Bench()
    bench.insight.toggle_filter("tag:work")
    bench.engine.answer("narrow", "tag:work sync")
    assert (bench.query, bench.insight.has_map_filter) == ("tag:work sync", True)
    bench.insight.toggle_filter("tag:work")
    assert (bench.query, bench.insight.has_map_filter) == ("sync", False)


def test_a_filter_is_not_inserted_into_another_query() -> None:
    bench = Bench()
    bench.insight.toggle_filter("tag:work")
    bench.query = "sync conflict"
    bench.engine.answer("narrow", "tag:work sync")
    assert bench.query == "sync conflict"


def test_the_last_inserted_filter_is_removed_first() -> None:
    bench = Bench()
    for condition in ("tag:work", "tag:home"):
        bench.insight.toggle_filter(condition)
        bench.engine.answer("narrow", f"{condition} {bench.query}")
    bench.query = "tag:work sync"
    assert bench.insight.pop_filter()
    assert bench.query == "sync"
    assert not bench.insight.pop_filter()
