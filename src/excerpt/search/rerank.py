"""Reranking: a second model reads the first hits of a search again, and changes their order.

Its scores are mixed with those of the first order, both scaled to 0 to 1 among the hits that may move. Hits of exact
names and of quoted phrases keep their places.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TypeVar

from excerpt.base.errors import ModelError
from excerpt.base.kinds import Confidence
from excerpt.base.model import Hit, Result, Span
from excerpt.base.settings import Settings
from excerpt.encoders.choice import open_reranker
from excerpt.encoders.interface import Reranker
from excerpt.search.engine import Engine
from excerpt.search.evidence import POOL_SIZE
from excerpt.search.model_thread import ModelThread
from excerpt.search.results import WINDOW_HITS, RerankRequest, RerankScores, apply_scores
from excerpt.text.display import title_and_headings
from excerpt.text.snippet import snippet

PASSAGE_TOKENS = 96
"""Maximum tokens of the passage of a hit, its title and headings included, by `_token_cost`."""
MAX_NAME_TOKENS = 32
"""Maximum tokens of the title and headings in a passage."""
RETRY_SECONDS = 10.0
"""Seconds after a failure of the reranker in which it is not asked again."""


def can_rerank(result: Result) -> bool:
    """Return whether a reranker may change a result: not if a first hit surely answers or dates order the list."""
    return (
        len(result.hits) > 1
        and not result.sort
        and not result.is_reranked
        and result.confidence not in (None, Confidence.STRONG)
    )


def build_rerank_request(engine: Engine, result: Result) -> RerankRequest | None:
    """Return the request to rerank a result of `engine`; None if no hit may move."""
    if not can_rerank(result) or result.generation != engine.snapshot.generation:
        return None
    words = " ".join(query.words.strip() for query in engine.parse(result.query) if query.words.strip())
    window = result.hits[:WINDOW_HITS]
    pinned = _find_phrase_hits(engine, result, window)
    movable = [hit for hit in window if hit.fragment.id not in pinned and not _is_named(hit)]
    if not words or len(movable) < 2:
        return None
    languages = engine.snapshot.table.languages
    numbers = engine.snapshot.facets.numbers
    return RerankRequest(
        words,
        {
            hit.fragment.id: build_passage(
                hit, hit.spans or engine.find_spans(hit.text, result.query, languages[numbers[hit.path]])
            )
            for hit in movable
        },
    )


def build_passage(hit: Hit, spans: Sequence[Span]) -> str:
    """Return the text of a hit for a reranker: title and headings, then the text from the best matching sentence on.

    `spans` are the matches in its text. The passage has at most about PASSAGE_TOKENS tokens.
    """
    names = _shorten_to_tokens(title_and_headings(hit.title, hit.heading_path), MAX_NAME_TOKENS)
    room = PASSAGE_TOKENS - _count_tokens(names)
    text, _ = snippet(hit.text, spans, int(room / _token_cost("a")))
    return f"{names}\n{_shorten_to_tokens(text, room)}"


def _is_named(hit: Hit) -> bool:
    """Return whether the query is the title, file name or alias of the hit's note."""
    return any(signal.name == "name" and signal.value for signal in hit.signals)


def _find_phrase_hits(engine: Engine, result: Result, hits: Sequence[Hit]) -> frozenset[str]:
    """Return the ids of the hits that an alternative with a quoted phrase found."""
    queries = engine.parse(result.query)
    if not any(query.phrases for query in queries):
        return frozenset()
    if all(query.phrases for query in queries):
        return frozenset(hit.fragment.id for hit in hits)
    pool = max(POOL_SIZE, len(result.hits))
    ranking = engine.merge_ranking([engine.score_query(query, result.requested_strategy, pool) for query in queries])
    first = engine.load_hits(ranking, 0, WINDOW_HITS, highlight_count=0)
    indices = ranking.scored_query_indices[:WINDOW_HITS].tolist()
    return frozenset(hit.fragment.id for hit, index in zip(first, indices, strict=True) if queries[index].phrases)


# --- tokens -----------------------------------------------------------------------------------------------------------


def _token_cost(character: str) -> float:
    """Return the estimated tokens of a character: English words have about four letters per token, other text fewer."""
    if character < "\x80":
        return 0.25
    return 0.5 if character < "\u0e00" else 1.0


def _count_tokens(text: str) -> float:
    return sum(map(_token_cost, text))


def _shorten_to_tokens(text: str, tokens: float) -> str:
    """Return the beginning of `text` that has at most about `tokens` tokens, without a part of a word at its end."""
    totals = accumulate(map(_token_cost, text))
    end = next((at for at, total in enumerate(totals) if total > tokens), None)
    if end is None:
        return text
    return text[: text.rfind(" ", 0, end + 1)].rstrip() if " " in text[:end] else text[:end]


# --- the model --------------------------------------------------------------------------------------------------------


OpenModel = Callable[[Settings], Reranker | None]
Answer = TypeVar("Answer")


class ResultReranker:
    """Reranks results with the model that the settings name. The model runs in a thread of its own.

    It is opened by `open`, else on first use. `open_model` opens it, by default as the settings say. Methods are called
    from one thread at a time.
    """

    def __init__(self, settings: Settings, open_model: OpenModel | None = None) -> None:
        self._settings = settings
        self._open_model = open_model or open_reranker
        self._thread = ModelThread("reranker")
        self._model: Reranker | None = None
        self._failure = ""
        self._failure_time = 0.0

    def rerank(self, engine: Engine, result: Result) -> Result:
        """Return a result of `engine` in the new order; after `rerank.seconds`, return it unchanged with a warning."""
        request = build_rerank_request(engine, result)
        if request is None:
            return result
        started = time.perf_counter()
        reranked = apply_scores(result, self.score(request), self._settings)
        return replace(reranked, elapsed_ms=result.elapsed_ms + (time.perf_counter() - started) * 1e3)

    def open(self) -> None:
        """Open the model, however long that takes, so that no query has to wait for it. `score` reports a failure."""
        if self._model is None:
            self._call(self._load, None)

    def score(self, request: RerankRequest) -> RerankScores:
        """Return the scores for a request, after at most `rerank.seconds`."""
        seconds = self._settings.rerank.seconds
        scores = self._call(partial(self._ask, request, seconds), seconds)
        if isinstance(scores, str):
            return RerankScores({}, scores)
        return RerankScores(dict(zip(request.passages, _scale_to_one(scores), strict=True)))

    def _call(self, call: Callable[[], Answer], seconds: float | None) -> Answer | str:
        """Return the answer of a call in the model's thread; after `seconds` or an error, return a sentence about that.

        The sentence is empty if a newer call replaced this one. For a while after a failure, the model is not called.
        """
        if self._failure and time.monotonic() < self._failure_time + RETRY_SECONDS:
            return self._failure
        self._failure = ""
        future = self._thread.submit(call)
        try:
            return future.result(seconds)
        except CancelledError:
            return ""
        except FutureTimeoutError:
            return f"Not reranked. The reranker took longer than {seconds:g} seconds."
        except ModelError as error:
            self._failure = f"Not reranked. {error.message}"
        except Exception as error:
            self._failure = f"Not reranked. The reranker failed: {type(error).__name__}."
        self._failure_time = time.monotonic()
        return self._failure

    def _load(self) -> Reranker:
        """Return the model, opened if it is not open yet. Raises ModelError."""
        if self._model is None:
            self._model = self._open_model(self._settings)
        if self._model is None:
            raise ModelError("There is no reranker.", "Set rerank.model.")
        return self._model

    def _ask(self, request: RerankRequest, seconds: float) -> Sequence[float]:
        model = self._load()
        scores = [float(score) for score in model.score(request.query, list(request.passages.values()), seconds)]
        if len(scores) != len(request.passages) or not all(map(math.isfinite, scores)):
            raise ModelError("The reranker did not return a number for each passage.")
        return scores


def _scale_to_one(scores: Sequence[float]) -> list[float]:
    """Scale scores linearly: the lowest becomes 0, the highest 1; all become 0 if they are equal."""
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 0.0 for score in scores]
