"""Tests of reranking: what a reranker reads, which hits it may move and where to, and what happens if it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from excerpt.base.errors import ModelError
from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Hit, HitRerank, Result, Signal
from excerpt.base.settings import RerankSettings, SearchSettings, Settings
from excerpt.search.engine import Engine
from excerpt.search.explain import explain_hits
from excerpt.search.explain_note import explain_fragment, explain_note
from excerpt.search.rerank import (
    PASSAGE_TOKENS,
    ResultReranker,
    build_passage,
    build_rerank_request,
    can_rerank,
)
from excerpt.search.results import RerankScores, apply_scores
from tests.pack.vaults import Vault
from tests.search.scripted_models import ScriptedReranker

QUERY = "how do I keep sync conflicts apart on phones"


def settings(weight: float = 0.5, seconds: float = 5.0, per_note: int = 0) -> Settings:
    return Settings(rerank=RerankSettings("plugin:scripted", weight, seconds), search=SearchSettings(per_note=per_note))


def reranker(model: ScriptedReranker, chosen: Settings | None = None) -> ResultReranker:
    return ResultReranker(chosen or settings(), lambda _settings: model)


def by_mention(word: str) -> ScriptedReranker:
    return ScriptedReranker(lambda _query, passage: float(word in passage.lower()))


# --- what is read -----------------------------------------------------------------------------------------------------


def test_a_passage_has_title_and_headings_before_the_text_around_the_match(engine: Engine) -> None:
    hit = engine.search("where is the other version saved as a copy").hits[0]
    first, text = build_passage(hit, hit.spans).split("\n")
    assert first == "Conflicts › Settling one"
    assert text.startswith("Choose which version")


def test_a_long_passage_starts_with_its_best_sentence_and_is_cut_after_a_word() -> None:
    sentences = [f"Sentence {number} speaks of nothing." for number in range(40)]
    sentences[20] = "Here the lighthouse keeper wrote."
    hit = Vault({"Log.md": "# Log\n\n" + " ".join(sentences)}).hit("lighthouse")
    first, text = build_passage(hit, hit.spans).split("\n")
    assert (first, text[:19]) == ("Log", "Here the lighthouse")
    assert PASSAGE_TOKENS * 3 < len(text) < PASSAGE_TOKENS * 4
    assert f"{text} " in hit.text


def test_a_passage_in_a_script_without_spaces_is_cut_at_the_same_number_of_tokens() -> None:
    vault = Vault({"日本語.md": "# 保管庫\n\n" + "ノートを同期します。" * 40})
    hit = Hit(vault.fragments[0], 1.0)
    assert len(build_passage(hit, ())) <= PASSAGE_TOKENS + 2


def test_the_reranker_gets_the_query_without_filters(engine: Engine) -> None:
    model = by_mention("phones")
    reranker(model).rerank(engine, engine.search(f"path:Sync {QUERY}"))
    ((query, passages),) = model.calls
    assert query == QUERY
    assert 1 < len(passages) <= 20


def test_hits_of_an_exact_name_or_phrase_are_not_reranked(engine: Engine) -> None:
    named = engine.search("conflicts")
    assert any(signal.name == "name" and signal.value for signal in named.hits[0].signals)
    request = build_rerank_request(engine, replace(named, confidence=Confidence.LIKELY))
    assert request is None or named.hits[0].fragment_id not in request.passages
    assert build_rerank_request(engine, engine.search('"the note" copy')) is None
    mixed = replace(engine.search('"keep both" | water the plants'), confidence=Confidence.LIKELY)
    request = build_rerank_request(engine, mixed)
    assert request is not None
    phrase = next(hit for hit in mixed.hits if "keep both" in hit.text)
    assert phrase.fragment_id not in request.passages


@pytest.mark.parametrize(
    "change",
    [
        {"confidence": Confidence.STRONG},
        {"confidence": None},
        {"sort": "date"},
        {"hits": ()},
        {"generation": -1},
    ],
)
def test_a_sure_answer_or_a_list_by_date_is_not_reranked(engine: Engine, change: dict[str, object]) -> None:
    result = engine.search(QUERY)
    assert build_rerank_request(engine, result) is not None
    assert build_rerank_request(engine, replace(result, **change)) is None  # type: ignore[arg-type]


# --- mixing -----------------------------------------------------------------------------------------------------------


def make_result(scores: Sequence[float], names: Sequence[str] = ()) -> Result:
    """Return a result with a hit of each score, each of a note of its own unless `names` are the notes."""
    paths = names or [f"{number:02}" for number in range(len(scores))]
    notes: dict[str, str] = {}
    for number, name in enumerate(paths):
        notes[f"{name}.md"] = notes.get(f"{name}.md", "") + f"# Heading {number}\n\nThe text of hit {number}.\n\n"
    vault = Vault(notes)
    hits = tuple(
        Hit(vault.holding(f"hit {number}."), score, (Signal("words", score, 1.0, score),), confidence=Confidence.LIKELY)
        for number, score in enumerate(scores)
    )
    return Result("text", Strategy.AUTO, Strategy.HYBRID, hits, len(hits), 1.0, 1, confidence=Confidence.LIKELY)


def scores_of(result: Result, scores: Sequence[float | None]) -> RerankScores:
    pairs = zip(result.hits, scores, strict=False)
    return RerankScores({hit.fragment_id: score for hit, score in pairs if score is not None})


def fragment_order(result: Result) -> list[int]:
    """Return the numbers of the hits in their order."""
    return [int(hit.text.split("hit ")[1].split(".")[0]) for hit in result.hits]


@pytest.mark.parametrize(
    ("weight", "expected"), [(0.0, [0, 1, 2, 3]), (0.4, [0, 1, 3, 2]), (0.6, [3, 0, 1, 2]), (1.0, [3, 1, 2, 0])]
)
def test_the_rerankers_score_and_the_score_of_the_list_are_mixed_by_the_weight_of_the_settings(
    weight: float, expected: list[int]
) -> None:
    result = make_result([4.0, 3.0, 2.0, 1.0])  # shares of 1, 2/3, 1/3 and 0
    mixed = apply_scores(result, scores_of(result, [0.0, 0.2, 0.1, 1.0]), settings(weight))
    assert fragment_order(mixed) == expected


def test_the_parts_of_a_reranked_score_sum_up_and_the_list_is_sorted_by_it() -> None:
    result = make_result([4.0, 3.0, 2.0, 1.0])
    mixed = apply_scores(result, scores_of(result, [0.0, 0.2, 0.1, 1.0]), settings(0.6))
    for hit in mixed.hits:
        assert hit.score == pytest.approx(sum(signal.part for signal in hit.signals))
        assert hit.signals[-1].name == "rerank"
        assert hit.signals[-1].part == pytest.approx(hit.signals[-1].value * 0.6)
    scores = [hit.score for hit in mixed.hits]
    assert scores == sorted(scores, reverse=True)
    assert mixed.hits[0].rerank == HitRerank(1.0, moved_from=4)


def test_hits_with_equal_scores_of_the_reranker_keep_their_order() -> None:
    result = make_result([2.0, 2.0, 2.0, 1.0])
    assert fragment_order(apply_scores(result, scores_of(result, [0.5, 0.5, 0.5, 0.5]), settings())) == [0, 1, 2, 3]


def test_pinned_hits_keep_their_ranks() -> None:
    result = make_result([9.0, 4.0, 3.0, 2.0, 1.0])
    mixed = apply_scores(result, scores_of(result, [None, 0.0, None, 0.5, 1.0]), settings(1.0))
    assert fragment_order(mixed) == [0, 4, 2, 3, 1]
    assert [hit.rerank is None for hit in mixed.hits] == [True, False, True, False, False]


def test_hits_after_the_first_twenty_keep_their_ranks() -> None:
    result = make_result([float(30 - number) for number in range(25)])
    mixed = apply_scores(result, scores_of(result, [number / 19 for number in range(20)]), settings(1.0))
    assert fragment_order(mixed) == [*reversed(range(20)), *range(20, 25)]


def test_reranking_keeps_the_limit_of_hits_per_note() -> None:
    names = ["A"] * 4 + [f"n{number}" for number in range(9)]
    result = make_result([13.0 - number for number in range(13)], names)
    reversed_scores = [1.0, 0.9, 0.8, 0.7, *(0.0 for _ in range(9))]
    mixed = apply_scores(result, scores_of(result, reversed_scores), settings(1.0, per_note=2))
    assert [hit.path for hit in mixed.hits[:10]].count("A.md") == 2
    assert sorted(fragment_order(mixed)) == list(range(13))


def test_scores_of_a_list_that_changed_meanwhile_are_not_used() -> None:
    result = make_result([3.0, 2.0, 1.0])
    scores = scores_of(result, [0.0, 0.5, 1.0])
    assert apply_scores(replace(result, hits=result.hits[1:]), scores, settings()).hits == result.hits[1:]


# --- with an engine ---------------------------------------------------------------------------------------------------


def test_reranking_is_deterministic(engine: Engine) -> None:
    result = engine.search(QUERY)
    first, second = (reranker(by_mention("phones")).rerank(engine, result) for _ in range(2))
    assert first.hits == second.hits
    assert "Phones sync" in first.hits[0].text
    assert {hit.fragment_id for hit in first.hits} == {hit.fragment_id for hit in result.hits}
    assert not can_rerank(first)


@pytest.mark.parametrize(
    ("break_model", "warning"),
    [
        (lambda model: setattr(model, "failure", "The server hangs up."), "Not reranked. The server hangs up."),
        (lambda model: model.is_open.clear(), "Not reranked. The reranker took longer than 0.05 seconds."),
        (lambda model: setattr(model, "_score", lambda _query, _passage: float("nan")), "a number for each passage"),
        (lambda model: setattr(model, "_score", lambda _query, _passage: 1 / 0), "ZeroDivisionError"),
    ],
)
def test_a_late_or_failing_reranker_keeps_the_first_order_with_a_sentence(
    engine: Engine, break_model: Callable[[ScriptedReranker], object], warning: str
) -> None:
    model, result = by_mention("phones"), engine.search(QUERY)
    break_model(model)
    kept = reranker(model, settings(seconds=0.05)).rerank(engine, result)
    model.is_open.set()
    assert kept.hits == result.hits
    assert warning in kept.warnings[0]


def test_a_reranker_that_cannot_be_opened_is_not_opened_for_every_query(engine: Engine) -> None:
    opened: list[Settings] = []

    def fail(chosen: Settings) -> ScriptedReranker:
        opened.append(chosen)
        raise ModelError("There is no reranker at /models/none.")

    each = ResultReranker(settings(), fail)
    for query in (QUERY, f"{QUERY} again"):
        assert each.rerank(engine, engine.search(query)).warnings == (
            "Not reranked. There is no reranker at /models/none.",
        )
    assert len(opened) == 1


def open_slowly(model: ScriptedReranker) -> Callable[[Settings], ScriptedReranker]:
    def open_model(_settings: Settings) -> ScriptedReranker:
        time.sleep(0.3)
        return model

    return open_model


def test_a_model_opened_in_advance_uses_no_time_of_the_first_query(engine: Engine) -> None:
    result = engine.search(QUERY)
    late, ahead = (ResultReranker(settings(seconds=0.1), open_slowly(by_mention("phones"))) for _ in range(2))
    ahead.open()
    assert not ahead.rerank(engine, result).warnings
    assert late.rerank(engine, result).warnings


def test_a_failure_to_open_a_model_in_advance_is_reported_by_the_first_query(engine: Engine) -> None:
    opened: list[Settings] = []

    def fail(chosen: Settings) -> ScriptedReranker:
        opened.append(chosen)
        raise ModelError("There is no reranker at /models/none.")

    each = ResultReranker(settings(), fail)
    each.open()
    each.open()
    result = each.rerank(engine, engine.search(QUERY))
    assert result.warnings == ("Not reranked. There is no reranker at /models/none.",)
    assert len(opened) == 1


# --- why --------------------------------------------------------------------------------------------------------------


def test_the_explanation_of_a_reranked_hit_names_its_rank_before(engine: Engine) -> None:
    result = reranker(by_mention("phones"), settings(1.0)).rerank(engine, engine.search(QUERY))
    first = result.hits[0]
    assert first.rerank is not None
    assert first.rerank.moved_from > 1
    note = f"reranked: {first.rerank.moved_from} → 1 (1.00)"
    assert explain_hits(engine, result)[0].rerank_note == note
    explanation = explain_fragment(engine, QUERY, first.fragment, Strategy.AUTO, result.reranked_hits)
    assert note[1:] in explanation.reason
    assert explanation.explanation is not None
    assert (explanation.explanation.rank, explanation.explanation.hit) == (1, replace(first, spans=first.spans))


def test_why_not_compares_with_the_hits_above_in_the_new_order(engine: Engine) -> None:
    before = engine.search(QUERY)
    result = reranker(by_mention("phones"), settings(1.0)).rerank(engine, before)
    former = before.hits[0]
    explanation = explain_note(engine, QUERY, former.path, Strategy.AUTO, result.reranked_hits)
    assert explanation.explanation is not None
    rank = next(at for at, hit in enumerate(result.hits, 1) if hit.path == former.path)
    assert explanation.explanation.rank == rank
    assert explanation.compared == min(rank - 1, 10)
    if rank > 1:
        assert sum(gap.cost for gap in explanation.signal_gaps) == pytest.approx(
            sum(hit.score for hit in result.hits[: rank - 1]) / (rank - 1) - result.hits[rank - 1].score, abs=1e-5
        )
