"""Tests of the order of hits where models take their time: without a screen, then in the app with doubles of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Hit, Result
from excerpt.base.settings import PackSettings, Paths, RerankSettings, Settings
from excerpt.index.snapshot import Snapshot
from excerpt.search import rerank
from excerpt.search.results import RerankRequest, RerankScores
from excerpt.tui.app import ExcerptApp
from excerpt.tui.search.order_controller import PAUSE_SECONDS, OrderController
from excerpt.tui.search.query_bar import QueryStatus
from tests.pack.vaults import Vault
from tests.search.scripted_models import FloatVectors, ScriptedReranker, WordEmbedder
from tests.tui.driver import (
    AppPilot,
    ManualClock,
    ManualEngine,
    drawn_text,
    hit_list_of,
    listed_titles,
    notices_of,
    pane_of,
    press,
    screen_of,
    search,
    type_text,
    until,
    until_answered,
    until_index,
    until_result,
)

RERANKING = Settings(rerank=RerankSettings("plugin:scripted", weight=1.0, seconds=60.0))


# --- without a screen -------------------------------------------------------------------------------------------------


class ManualReranker(ManualEngine):
    """A manual engine with a reranker: `scores` answers its newest request."""

    def rerank(self, request: RerankRequest, on_answer: Callable[[RerankScores], object]) -> None:
        self.questions["scores"], self._on_answer["scores"] = request, on_answer

    def build_request(self) -> None:
        """Answer the question for what the reranker has to read: every hit."""
        hits = self.questions["rerank"].result.hits
        self.answer("rerank", RerankRequest("text", {hit.fragment.id: hit.text for hit in hits}))


def make_result(query: str = "text", *, is_without_meaning: bool = False) -> Result:
    vault = Vault({f"{name}.md": f"The text of {name}.\n" for name in "abc"})
    hits = tuple(
        Hit(fragment, 3.0 - number, confidence=Confidence.LIKELY) for number, fragment in enumerate(vault.fragments)
    )
    result = Result(query, Strategy.AUTO, Strategy.HYBRID, hits, 3, 1.0, 1, confidence=Confidence.LIKELY)
    return replace(result, is_without_meaning=is_without_meaning)


def prefer_last(result: Result) -> RerankScores:
    return RerankScores({hit.fragment.id: number / 2 for number, hit in enumerate(result.hits)})


def names_in_order(result: Result | None) -> str:
    return "".join(hit.path[0] for hit in result.hits) if result is not None else ""


@dataclass
class Bench:
    """The controller with what it would move in the app; `moves` has the orders that were shown instead."""

    settings: Settings = RERANKING
    can_move: bool = True
    engine: ManualReranker = field(default_factory=ManualReranker)
    clock: ManualClock = field(default_factory=ManualClock)
    shown: Result | None = None
    moves: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        engine: Any = self.engine
        self.orders = OrderController(
            engine,
            self.clock.after,
            self.settings,
            shown=lambda: self.shown,
            can_move=lambda: self.can_move,
            on_order=self.show_order,
            on_offer=lambda: None,
        )

    def show_order(self, result: Result) -> None:
        self.moves.append(names_in_order(result))
        self.shown = result
        self.orders.handle_shown(result)

    def answer_search(self, result: Result) -> None:
        if not self.orders.offer_full_order(result):
            self.shown = self.orders.arrange(result)
            self.orders.handle_shown(self.shown)

    def rerank(self) -> None:
        """Let the pause pass and the reranker answer."""
        self.clock.pass_time(PAUSE_SECONDS)
        self.engine.build_request()
        assert self.shown is not None
        self.engine.answer("scores", prefer_last(self.shown))


def test_the_order_changes_once_after_a_pause() -> None:
    bench = Bench()
    bench.answer_search(make_result())
    assert "rerank" not in bench.engine.questions
    bench.rerank()
    assert bench.moves == ["cba"]
    bench.clock.pass_time(10)
    assert not bench.engine.questions


def test_nothing_is_reranked_while_keys_are_typed_or_without_a_reranker() -> None:
    typing, without = Bench(), Bench(Settings())
    typing.answer_search(make_result())
    typing.orders.stop()
    without.answer_search(make_result())
    for bench in (typing, without):
        bench.clock.pass_time(10)
        assert not bench.engine.questions


def test_after_a_move_or_mark_the_new_order_is_only_offered() -> None:
    bench = Bench(can_move=False)
    bench.answer_search(make_result())
    bench.rerank()
    assert bench.orders.has_offer
    assert not bench.moves
    bench.orders.use_offer()
    assert bench.moves == ["cba"]


def test_an_order_delayed_by_opening_the_model_is_only_offered() -> None:
    bench = Bench()
    bench.answer_search(make_result())
    bench.clock.pass_time(PAUSE_SECONDS)
    bench.engine.build_request()
    bench.clock.pass_time(RERANKING.rerank.seconds)
    assert bench.shown is not None
    bench.engine.answer("scores", prefer_last(bench.shown))
    assert (bench.moves, bench.orders.has_offer) == ([], True)


def test_an_unchanged_order_is_not_offered() -> None:
    bench = Bench(can_move=False)
    bench.answer_search(make_result())
    bench.clock.pass_time(PAUSE_SECONDS)
    bench.engine.build_request()
    assert bench.shown is not None
    bench.engine.answer("scores", RerankScores({hit.fragment.id: 1.0 for hit in bench.shown.hits}))
    assert (bench.moves, bench.orders.has_offer) == (["abc"], False)


def test_more_hits_and_highlights_follow_the_order_shown() -> None:
    bench = Bench()
    result = make_result()
    bench.answer_search(result)
    bench.rerank()
    assert names_in_order(bench.orders.arrange(result)) == "cba"
    bench.answer_search(result)
    bench.clock.pass_time(10)
    assert not bench.engine.questions


def test_scores_for_an_earlier_query_are_dropped() -> None:
    bench = Bench()
    bench.answer_search(make_result())
    bench.clock.pass_time(PAUSE_SECONDS)
    bench.engine.build_request()
    earlier = bench.shown
    assert earlier is not None
    bench.answer_search(make_result("text again"))
    bench.engine.answer("scores", prefer_last(earlier))
    assert not bench.moves


def test_a_warning_is_shown_with_the_first_order() -> None:
    bench = Bench(can_move=False)
    bench.answer_search(make_result())
    bench.clock.pass_time(PAUSE_SECONDS)
    bench.engine.build_request()
    bench.engine.answer("scores", RerankScores({}, "Not reranked. Late."))
    assert bench.shown is not None
    assert (names_in_order(bench.shown), bench.shown.warnings) == ("abc", ("Not reranked. Late.",))


def test_hits_ranked_by_words_alone_are_not_reranked_before_the_full_order() -> None:
    bench = Bench()
    bench.answer_search(make_result(is_without_meaning=True))
    bench.clock.pass_time(10)
    assert not bench.engine.questions
    bench.answer_search(make_result())
    bench.rerank()
    assert bench.moves == ["cba"]


def test_after_a_move_the_full_order_is_only_offered_and_does_not_change_again() -> None:
    bench = Bench(can_move=False)
    bench.answer_search(make_result(is_without_meaning=True))
    bench.answer_search(make_result())
    assert bench.orders.has_offer
    bench.orders.use_offer()
    assert bench.moves == ["abc"]
    bench.clock.pass_time(10)
    assert not bench.engine.questions


# --- in the app -------------------------------------------------------------------------------------------------------

QUERY = "how are two devices and a phone kept"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedReranker:
    """Return the reranker of the app, which prefers merging."""
    model = ScriptedReranker(lambda _query, passage: float("side by side" in passage))
    monkeypatch.setattr(rerank, "open_reranker", lambda _settings: model)
    return model


@pytest.fixture
def app_with_reranker(vault: Path, user_paths: Paths, model: ScriptedReranker) -> ExcerptApp:
    settings = replace(RERANKING, pack=PackSettings(budget=2000))
    return ExcerptApp(vault, settings, user_paths)


async def until_read(pilot: AppPilot, model: ScriptedReranker) -> None:
    await until(pilot, lambda: bool(model.calls), "the reranker")


@pytest.mark.programs
async def test_list_and_pack_change_to_the_order_of_the_reranker(
    app_with_reranker: ExcerptApp, model: ScriptedReranker
) -> None:
    model.is_open.clear()
    async with app_with_reranker.run_test(size=(110, 32)) as pilot:
        await search(pilot, QUERY)
        assert listed_titles(app_with_reranker)[0] == "Sync"
        model.is_open.set()
        await until(pilot, lambda: listed_titles(app_with_reranker)[0] == "Merging", "the new order")
        await until_answered(pilot)
        pane = pane_of(app_with_reranker)
        assert pane.result is not None
        assert pane.result.is_reranked
        selected, packed = hit_list_of(app_with_reranker).selected, pane.pack.newest_pack
        assert selected is not None
        assert (selected.title, hit_list_of(app_with_reranker).cursor) == ("Merging", 0)
        assert packed is not None
        assert packed.result.passages[0].path == "Merging.md"


@pytest.mark.programs
async def test_the_reranker_is_opened_before_the_first_query(
    app_with_reranker: ExcerptApp, model: ScriptedReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Settings] = []

    def open_model(settings: Settings) -> ScriptedReranker:
        opened.append(settings)
        return model

    monkeypatch.setattr(rerank, "open_reranker", open_model)
    async with app_with_reranker.run_test(size=(110, 32)) as pilot:
        await until(pilot, lambda: bool(opened), "the reranker")
        await search(pilot, QUERY)
        await until(pilot, lambda: listed_titles(app_with_reranker)[0] == "Merging", "the new order")
        assert len(opened) == 1


@pytest.mark.programs
async def test_the_explanation_names_the_ranks_before_and_after_reranking(app_with_reranker: ExcerptApp) -> None:
    async with app_with_reranker.run_test(size=(120, 40)) as pilot:
        await search(pilot, QUERY)
        await until(pilot, lambda: listed_titles(app_with_reranker)[0] == "Merging", "the new order")
        await press(pilot, "ctrl+t")
        await until(pilot, lambda: "eranked: " in drawn_text(app_with_reranker), "the explanation")
        assert "→ 1 (1.00)" in drawn_text(app_with_reranker)


@pytest.mark.programs
@pytest.mark.parametrize("key", ["down", "tab"])
async def test_after_a_move_or_mark_the_order_is_applied_by_a_click_or_the_palette(
    app_with_reranker: ExcerptApp, model: ScriptedReranker, key: str
) -> None:
    model.is_open.clear()
    async with app_with_reranker.run_test(size=(120, 32)) as pilot:
        await search(pilot, QUERY, key)
        first, pane = listed_titles(app_with_reranker), pane_of(app_with_reranker)
        await until_read(pilot, model)
        model.is_open.set()
        await until(pilot, lambda: pane.orders.has_offer, "the offer")
        await until_answered(pilot)
        assert listed_titles(app_with_reranker) == first
        assert "new order" in str(screen_of(app_with_reranker).query_one(QueryStatus).render())
        assert not pane.disabled_reason("use_order", ())
        await pane.run_action("use_order")
        await until_answered(pilot)
        assert listed_titles(app_with_reranker)[0] == "Merging"
        assert pane.disabled_reason("use_order", ())


@pytest.mark.programs
async def test_a_late_reranker_keeps_the_first_order_and_is_reported(
    vault: Path, user_paths: Paths, model: ScriptedReranker
) -> None:
    model.is_open.clear()
    app = ExcerptApp(vault, Settings(rerank=RerankSettings("plugin:scripted", seconds=0.05)), user_paths)
    async with app.run_test(size=(120, 32)) as pilot:
        await search(pilot, QUERY)
        first = listed_titles(app)
        warning = "Not reranked. The reranker took longer than 0.05 seconds."
        await until(pilot, lambda: warning in notices_of(app), "the warning")
        model.is_open.set()
        assert " · not reranked · " in drawn_text(app)
        assert listed_titles(app) == first


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> Iterator[WordEmbedder]:
    """Let a double embed the vault's fragments and queries, which thinks that a quarrel is a conflict."""
    embedder = WordEmbedder({"quarrel": "conflict"})

    def search_vectors(snapshot: Snapshot) -> FloatVectors:
        fragments = snapshot.fragments(snapshot.table.keys.tolist())
        return FloatVectors(embedder.embed_passages([fragment.text for fragment in fragments]))

    chosen = cached_property(search_vectors)
    chosen.__set_name__(Snapshot, "search_vectors")
    monkeypatch.setattr(Snapshot, "search_vectors", chosen)
    monkeypatch.setattr(Snapshot, "query_embedder", embedder)
    yield embedder
    embedder.is_open.set()


@pytest.mark.programs
async def test_typing_shows_the_list_by_words_before_the_full_order(app: ExcerptApp, embedder: WordEmbedder) -> None:
    async with app.run_test(size=(110, 32)) as pilot:
        await until_index(pilot)
        embedder.is_open.clear()
        await type_text(pilot, "quarrel notes")
        await until_result(pilot, "quarrel notes")
        result = pane_of(app).result
        assert result is not None
        assert (result.is_without_meaning, result.warnings) == (True, ())
        assert listed_titles(app)
        embedder.is_open.set()
        await until(pilot, lambda: not getattr(pane_of(app).result, "is_without_meaning", True), "the full order")
        await until_answered(pilot)
        signals = {signal.name: signal.value for hit in hit_list_of(app).hits for signal in hit.signals}
        assert "meaning" in signals


@pytest.mark.programs
async def test_a_failed_embedder_keeps_the_list_by_words_and_is_reported(
    app: ExcerptApp, embedder: WordEmbedder
) -> None:
    embedder.failure = "The server at 127.0.0.1:1 refuses the connection."
    async with app.run_test(size=(120, 32)) as pilot:
        await search(pilot, "sync conflict")
        await until(pilot, lambda: bool(notices_of(app)), "the warning")
        assert notices_of(app) == [f"Ranked by words alone. {embedder.failure}"]
        await until(pilot, lambda: "ranked by words alone" in drawn_text(app), "the title")
        assert listed_titles(app)
