"""Tests of typing letter by letter: between two letters with results, the list is never empty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from textual.dom import DOMNode

from excerpt.base.model import Hit
from excerpt.search.query import remove_unfinished_filter
from excerpt.service.request_queue import Request, RequestQueue
from excerpt.tui.app import ExcerptApp
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from tests.tui.driver import (
    AppPilot,
    hit_list_of,
    pane_of,
    post_keys,
    preview_of,
    search,
    settle,
    until,
    until_index,
    until_result,
)

pytestmark = pytest.mark.programs

SENTENCES = [
    "how do two devices merge one note",
    "what keeps a tag:howto conflict -soup",
    "simmer red lentils | sync conflict",
]


@dataclass
class Seen:
    """The visible states of the list in order, each as (query answered, visible rows)."""

    states: list[tuple[str, int]] = field(default_factory=list)

    def flickers(self) -> list[str]:
        """Return the queries at which the list was empty though it had rows before and after."""
        filled = [at for at, (_, rows) in enumerate(self.states) if rows]
        return [query for query, rows in self.states[filled[0] : filled[-1]] if not rows] if filled else []


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """Record the states of the list at every change of it or its pane, not at every frame."""
    kept = Seen()
    show_result, show_hits = SearchPane._show_result, HitList.show

    def note(pane: SearchPane) -> None:
        rows = pane.query_one(HitList)
        query = pane.result.query if pane.result is not None else ""
        kept.states.append((query, rows.row_count if rows.display else 0))

    def shown(pane: SearchPane) -> None:
        show_result(pane)
        if pane.query(HitList):
            note(pane)

    def changed(rows: HitList, hits: tuple[Hit, ...], query: str, **options: Any) -> None:
        show_hits(rows, hits, query, **options)
        note(rows.query_ancestor(SearchPane))

    monkeypatch.setattr(SearchPane, "_show_result", shown)
    monkeypatch.setattr(HitList, "show", changed)
    yield kept


async def type_letters(pilot: AppPilot, sentence: str, *, wait: bool) -> None:
    """Type a sentence, optionally wait for the answer after each letter, and always for the last."""
    await until_index(pilot)
    for end, letter in enumerate(sentence, 1):
        await pilot.press("space" if letter == " " else letter)
        if wait or end == len(sentence):
            await until_result(pilot, remove_unfinished_filter(sentence[:end].strip()))


@pytest.mark.parametrize("wait", [True, False], ids=["slowly", "fast"])
@pytest.mark.parametrize("sentence", SENTENCES)
async def test_the_list_is_never_empty_between_letters(app: ExcerptApp, seen: Seen, sentence: str, wait: bool) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await type_letters(pilot, sentence, wait=wait)
        rows = hit_list_of(app)
        assert rows.row_count > 0
        assert rows.display
    answered = {query for query, _ in seen.states if query}
    assert answered >= (
        {remove_unfinished_filter(sentence[:end].strip()) for end in range(1, len(sentence) + 1)}
        if wait
        else {sentence}
    )
    assert seen.flickers() == []


async def test_the_list_is_never_empty_while_letters_are_deleted(app: ExcerptApp, seen: Seen) -> None:
    sentence = "sync conflict of notes"
    async with app.run_test(size=(100, 30)) as pilot:
        await type_letters(pilot, sentence, wait=False)
        for end in range(len(sentence) - 1, 3, -1):
            await pilot.press("backspace")
            await until_result(pilot, remove_unfinished_filter(sentence[:end].strip()))
    assert seen.flickers() == []


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record every query of the DOM by its method."""
    made: list[str] = []
    for name in ("query", "query_one", "query_exactly_one", "query_ancestor", "query_children"):
        method = getattr(DOMNode, name)

        def record(node: DOMNode, *arguments: Any, _name: str = name, _method: Any = method, **options: Any) -> Any:
            made.append(_name)
            return _method(node, *arguments, **options)

        monkeypatch.setattr(DOMNode, name, record)
    yield made


async def test_a_letter_queries_the_dom_at_most_twenty_times(app: ExcerptApp, lookups: list[str]) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "sync conf")
        await settle(pilot)
        pane, rows, preview = pane_of(app), hit_list_of(app), preview_of(app)

        def is_answered() -> bool:
            is_current = pane.result is not None and pane.result.query == "sync confl" and pane.is_up_to_date
            return is_current and rows.selected is not None and preview.window is not None

        lookups.clear()
        post_keys(app, "l")
        await until(pilot, is_answered, "the answers to the letter")
        assert len(lookups) <= 20


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record the kind of every request to a thread."""
    kinds: list[str] = []
    ask = RequestQueue.ask

    def record(queue: RequestQueue, request: Request[Any]) -> None:
        kinds.append(request.kind)
        ask(queue, request)

    monkeypatch.setattr(RequestQueue, "ask", record)
    yield kinds


async def test_a_letter_asks_at_most_five_questions(app: ExcerptApp, asked: list[str]) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "sync confl")
        await settle(pilot)
        asked.clear()
        await pilot.press("i")
        await until_result(pilot, "sync confli")
        await settle(pilot)
        pane = pane_of(app)
        await until(pilot, lambda: not pane.query_bar.queries._warning_timer.is_pending, "the pause")
        await settle(pilot)
        assert sorted(asked) == ["find", "pack", "reading", "search", "window"]
