"""Tests of the query controller without a screen: parsing, history, completion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from excerpt.search.results import QueryInterpretation, QueryWarning
from excerpt.tui.search.query_controller import QueryController
from excerpt.tui.search.query_history import QueryHistory, QueryStore
from tests.tui.driver import ManualClock, ManualEngine


@dataclass
class Bench:
    text: str = ""
    engine: ManualEngine = field(default_factory=ManualEngine)
    clock: ManualClock = field(default_factory=ManualClock)
    heard: list[object] = field(default_factory=list)
    stood: int = 0

    def __post_init__(self) -> None:
        self.queries = QueryController(self.engine, self.clock.after, lambda: self.text)

    def read(self, is_shown: Callable[[], bool] = lambda: False) -> None:
        def stood() -> None:
            self.stood += 1

        self.queries.ask_interpretation(self.heard.append, is_shown, stood)


WARNED = QueryInterpretation((), (QueryWarning(0, 4, "needs a tag"),))
READ = QueryInterpretation()


def test_a_query_is_interpreted_once_and_its_warnings_are_shown_after_a_pause() -> None:
    bench = Bench("tag:")
    bench.read()
    bench.engine.answer("reading", WARNED)
    assert bench.heard == [READ]
    bench.clock.pass_time(0.9)
    assert bench.heard == [READ, WARNED]
    assert "reading" not in bench.engine.questions
    bench.clock.pass_time(2.0)
    assert bench.stood == 1


def test_an_interpretation_after_the_pause_shows_its_warnings_at_once() -> None:
    bench = Bench("tag:")
    bench.read()
    bench.clock.pass_time(0.9)
    bench.engine.answer("reading", WARNED)
    assert bench.heard == [WARNED]


def test_a_menu_with_instructions_delays_the_warnings() -> None:
    bench = Bench("tag:")
    bench.read(lambda: True)
    bench.engine.answer("reading", WARNED)
    bench.clock.pass_time(0.9)
    assert bench.heard == [READ]


def test_the_interpretation_of_an_earlier_query_is_dropped() -> None:
    bench = Bench("tag:work")
    bench.read()
    bench.text = "tag:play"
    bench.engine.answer("reading", QueryInterpretation((), ()))
    assert bench.heard == []


def test_up_goes_back_through_the_history_only_from_an_empty_bar() -> None:
    bench = Bench("typed")
    bench.queries.history = QueryHistory(("newest", "oldest"))
    assert bench.queries.step_history(-1, is_selected=False) == (None, False)
    bench.text = ""
    for wanted in ("newest", "oldest"):
        query, taken = bench.queries.step_history(-1, is_selected=True)
        assert (query, taken) == (wanted, True)
        bench.text = wanted
    assert bench.queries.step_history(-1, is_selected=True) == (None, True)
    assert bench.queries.step_history(1, is_selected=True) == ("newest", True)


def test_after_the_newest_query_arrows_move_in_the_list_again() -> None:
    bench = Bench()
    bench.queries.history = QueryHistory(("newest",))
    bench.queries.step_history(-1, is_selected=True)
    bench.text = "newest"
    assert bench.queries.step_history(1, is_selected=True) == (None, False)
    assert not bench.queries.is_in_history


async def test_a_query_is_added_to_the_history_once(tmp_path: Path) -> None:
    bench = Bench("sync")
    await bench.queries.open_store(
        QueryStore(tmp_path / "history", tmp_path / "saved", tmp_path / "seen", bench.heard.append)
    )
    write = bench.queries.add_query_to_history()
    assert write is not None
    await write()
    assert bench.queries.add_query_to_history() is None
    await bench.queries.reload_history()
    assert bench.queries.history.queries == ("sync",)


def test_completion_starts_after_a_filter_and_not_again_where_it_was_closed() -> None:
    bench = Bench("tag:w")
    assert bench.queries.complete_while_typing(5, bench.heard.append, is_menu_open=False)
    assert (bench.engine.questions["complete"].operator, bench.engine.questions["complete"].value) == ("tag", "w")
    bench.queries.dismiss_completions()
    bench.text = "tag:wo"
    assert not bench.queries.complete_while_typing(6, bench.heard.append, is_menu_open=False)
    bench.text = "tag:wo path:x"
    assert bench.queries.complete_while_typing(13, bench.heard.append, is_menu_open=False)


def test_a_plain_word_is_completed_only_on_request() -> None:
    bench = Bench("wor")
    assert not bench.queries.complete_while_typing(3, bench.heard.append, is_menu_open=False)
    bench.queries.ask_completions_at(3, bench.heard.append)
    assert bench.queries.complete_while_typing(3, bench.heard.append, is_menu_open=True)
