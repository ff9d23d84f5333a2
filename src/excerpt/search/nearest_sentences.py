"""The sentences of a fragment nearest in meaning to the query, for fragments found by meaning."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from excerpt.base.model import Span
from excerpt.base.patterns import lazy_pattern
from excerpt.search.engine import Engine
from excerpt.text.inline import readable_text
from excerpt.text.languages import WIDE_CHARACTERS

MAX_SENTENCES = 3
"""Maximum number of sentences to mark in a fragment."""
MIN_RELATIVE_SIMILARITY = 0.8
"""Least similarity of a further marked sentence, as a share of the most similar sentence's.

Similarity is the cosine minus the vault's mean. In 105 fragments that 35 questions to the Obsidian help find, 1.4 of
5.9 sentences are marked.
"""
MIN_SIMILARITY = 0.15
"""Least cosine to the query, minus the vault's mean cosine, of a sentence that counts as near in meaning."""
_MIN_WORDS = 3
_MIN_WIDE = 5

_FENCE = lazy_pattern(r"^\s*(?:>\s?)*(?:`{3,}|~{3,})")
_NO_PROSE = lazy_pattern(r"^\s*(?:#{1,6}\s|\||[-*_=\s]*$|>\s*\[!)")
_START = lazy_pattern(r"^\s*(?:(?:>|[-*+]|\d+[.)])\s+)*(?:\[.\]\s+)?")
_END = lazy_pattern(r"[.!?…]+[\"'”’)*_\]]*(?=\s)|[。！？]+[」』”]?")
_WIDE = lazy_pattern(f"[{WIDE_CHARACTERS}]")


def find_nearest_sentences(engine: Engine, query: str, text: str) -> tuple[Span, ...]:
    """Return the spans of the sentences of `text` that are nearest in meaning to `query`, ascending.

    At most MAX_SENTENCES spans are returned; none if no sentence is near, or if the text has only one sentence.

    Raises ModelError if the model cannot be loaded.
    """
    query_texts = [query_part.words for query_part in engine.parse(query) if query_part.words.strip()]
    spans = list(split_sentences(text))
    if not query_texts or len(spans) < 2:
        return ()
    plain_sentences = [" ".join(readable_text(text[span.start : span.end]).split()) for span in spans]
    vectors = engine.snapshot.embedder.embed([*query_texts, *plain_sentences])
    questions, answers = vectors[: len(query_texts)], vectors[len(query_texts) :]
    above = (questions @ answers.T - (questions @ engine.snapshot.vectors.mean)[:, None]).max(axis=0)
    best = float(above.max())
    if best < MIN_SIMILARITY:
        return ()
    order = np.argsort(-above, kind="stable")[:MAX_SENTENCES]
    return tuple(spans[at] for at in sorted(order.tolist()) if above[at] >= MIN_RELATIVE_SIMILARITY * best)


def split_sentences(text: str) -> Iterator[Span]:
    """Yield the spans of the sentences in the paragraphs and list items of a Markdown text.

    Very short sentences, code, tables and headings are left out.
    """
    for start, end in _find_prose_ranges(text):
        at = start
        for sentence_end in [*(match.end() for match in _END.finditer(text, start, end)), end]:
            piece = text[at:sentence_end]
            begin, stop = at + len(piece) - len(piece.lstrip()), at + len(piece.rstrip())
            if _has_words(text[begin:stop]):
                yield Span(begin, stop)
            at = sentence_end


def _find_prose_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each paragraph and list item of a Markdown text, without the item's marker."""
    start: int | None = None
    at = end = 0
    fenced = False
    for line in text.split("\n"):
        edge = _FENCE.match(line) is not None
        prose = not (edge or fenced or _NO_PROSE.match(line))
        marker = _START.match(line)
        indent = marker.end() if marker else 0
        if start is not None and (not prose or line[:indent].strip()):
            yield start, end
            start = None
        if prose:
            start = at + indent if start is None else start
            end = at + len(line)
        fenced = fenced != edge
        at += len(line) + 1
    if start is not None:
        yield start, end


def _has_words(sentence: str) -> bool:
    """Return whether a sentence is long enough to be compared in meaning."""
    return len(sentence.split()) >= _MIN_WORDS or len(_WIDE.findall(sentence)) >= _MIN_WIDE
