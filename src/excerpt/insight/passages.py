"""Three to five key passages: quotations from the vault about a topic, without repetitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import unescape

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from excerpt.base.model import Fragment
from excerpt.base.patterns import lazy_pattern
from excerpt.insight.overview_parts import KeyPassage, SourceLocation
from excerpt.insight.topic import Topic, locate_fragment
from excerpt.text.words import words_of

_MAX_PROSE_CHARS = 20_000
_FENCE = lazy_pattern(r"^[ \t>]*(```+|~~~+)[^\n]*\n.*?(?:^[ \t>]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_MATHS = lazy_pattern(r"\$\$.*?\$\$", re.DOTALL)
_COMMENT = lazy_pattern(r"<!--.*?-->|%%.*?%%", re.DOTALL)
_INCLUDE = lazy_pattern(r"\[![\w-]+[ \t]*\[[^\[\]\n]*\]\([^()\n]*\)\]")
_IMAGE = lazy_pattern(r"!\[\[[^\[\]\n]*\]\]|!\[[^\[\]\n]*\]\([^()\n]*\)")
_WIKILINK = lazy_pattern(r"\[\[([^\[\]|\n]*)(?:\\?\|([^\[\]\n]*))?\]\]")
_LINK = lazy_pattern(r"\[([^\[\]\n]*)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\[\]\n]*\])")
_TAG = lazy_pattern(r"</?[A-Za-z][^<>\n]{0,200}>|<https?://[^<>\s]*>")
_URL = lazy_pattern(r"\b(?:https?|mailto):\S+|\bwww\.\S+")
_BLOCK_ID = lazy_pattern(r"[ \t]\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
_EMPHASIS = lazy_pattern(
    r"(\*{1,3}|~~|==)(?=\S)([^\n]{1,500}?)(?<=\S)\1|(?<!\w)(_{1,3})(?=\S)([^\n]{1,500}?)(?<=\S)\3(?!\w)"
)
_LITERAL = lazy_pattern(r"\\([\\`*_{}\[\]()#+.!<>~$&=^-])|(?<!`)(`+)(?!`)([^\n]{0,2000}?[^`\n])\2(?!`)")
# Replaces code spans and escaped characters while markup is removed; it does not occur in visible text.
_PROTECTED = lazy_pattern("\ue000(\\d{1,6})\ue001")
_ENTITY = lazy_pattern(r"&#?\w{1,32};")

_DECORATION = lazy_pattern(
    r"^[ \t]*(?:>[ \t]?)*(?:\[![^\]\n]*\][+-]?[ \t]*)?(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?:\[.\][ \t]+)?"
)
_HEADING = lazy_pattern(r"^[ \t]*(?:>[ \t]?)*#{1,6}(?:[ \t]|$)")
_TABLE = lazy_pattern(r"^[ \t]*(?:>[ \t]?)*\|")
_RULE = lazy_pattern(r"^[ \t>]*[-*_=:|+ \t]{3,}$")
# A full stop that does not belong to an abbreviation, a number or an initial; in Chinese and Japanese no space follows.
_SENTENCE_END = lazy_pattern(r"(?<=[。！？])|(?<=[.!?…])[\"'”’)\]]*\s+(?=[^a-z\s])")
_ENDS_SENTENCE = lazy_pattern(r"[.!?。！？…][\"'”’)\]]*\s*$")


class ProseSentence(Struct, frozen=True):
    """A sentence or list item on one line, without markup; `line` is the line of the text, counted from 0.

    `begins_line` is true for the first sentence of its line, `whole` if the text ends like a sentence.
    """

    text: str
    line: int
    begins_line: bool
    whole: bool


def extract_prose(text: str) -> str:
    """Return `text` without code blocks, maths, comments, pictures, addresses and markup; lines keep their numbers.

    Only the first 20,000 characters are read, because a longer text is data, not prose.
    """
    text = text[:_MAX_PROSE_CHARS]
    for pattern in (_FENCE, _MATHS, _COMMENT):
        text = pattern.sub(lambda match: "\n" * match[0].count("\n"), text)
    pending: list[str] = []

    def protect(match: re.Match[str]) -> str:
        pending.append(match[1] or match[3].strip())
        return f"\ue000{len(pending) - 1}\ue001"

    text = _LITERAL.sub(protect, text.replace("\ue000", "").replace("\ue001", ""))
    text = _WIKILINK.sub(_visible_text, _IMAGE.sub("", _INCLUDE.sub("", text))).replace("\\|", "|")
    text = _URL.sub("", _TAG.sub("", _LINK.sub(r"\1", text)))
    text = _EMPHASIS.sub(_emphasized_text, _EMPHASIS.sub(_emphasized_text, _BLOCK_ID.sub("", text)))
    text = _ENTITY.sub(lambda match: " ".join(unescape(match[0]).split("\n")), text)
    return _PROTECTED.sub(lambda match: pending[int(match[1])], text)


def _emphasized_text(match: re.Match[str]) -> str:
    return match[2] or match[4] or ""


def _visible_text(match: re.Match[str]) -> str:
    """Return the visible text of a wikilink: its alias, or else the note's name and the heading, without the folder."""
    if match[2]:
        return match[2]
    name, _, heading = match[1].rstrip("\\").partition("#")
    name = name.rstrip("/").rpartition("/")[2]
    return " > ".join(part for part in (name.strip(), heading.strip()) if part)


def split_sentences(text: str) -> Iterator[ProseSentence]:
    """Yield the sentences of a fragment's text, in order, without headings, tables and code."""
    for number, line in enumerate(extract_prose(text).split("\n")):
        if _HEADING.match(line) or _TABLE.match(line) or _RULE.match(line):
            continue
        bare = " ".join(_DECORATION.sub("", line, count=1).split())
        for position, sentence in enumerate(part for part in _SENTENCE_END.split(bare) if part.strip()):
            whole = _ENDS_SENTENCE.search(sentence) is not None
            yield ProseSentence(sentence.strip(), number, position == 0, whole)


# Fragments are chosen by maximal marginal relevance (Carbonell and Goldstein, 1998): the next one is relevant to the
# topic and differs from those already chosen. In each fragment, the passage starts at the sentence with the largest
# share of the topic and goes on as long as the limit allows.

MAX_PASSAGES = 5
MAX_PASSAGE_TOKENS = 55
"""The most tokens of a passage, about two sentences; a single sentence that is longer is cut."""
MAX_CANDIDATES = 40
"""The number of best fragments that are considered."""
RELEVANCE_WEIGHT = 0.65
"""The weight of relevance against similarity to passages already chosen (lambda of maximal marginal relevance)."""
TOPIC_WEIGHT = 0.4
"""The weight, in a passage's relevance, of the share of the topic's words that its sentences have."""
NOTE_WEIGHT = 0.3
"""The weight, in a passage's relevance, of its note's value for the topic: main notes are the best sources."""
MIN_SIMILARITY_IN_NOTE = 0.75
"""Passages of one note count as at least this similar (0 to 1)."""
OPENING_BONUS = 0.2
"""The bonus of a fragment's first sentence, where things are defined; doubled for a note's first sentence."""
OPENING_NOTES = 8
"""The number of best notes whose first fragments are always considered."""
MIN_GOOD_TOKENS, MAX_GOOD_TOKENS = 13, 90
"""A sentence with fewer or more tokens than these is rarely meaningful by itself."""

Floats = npt.NDArray[np.float32]
TokenCounter = Callable[[str], int]


class _Passage(Struct, frozen=True):
    """The best sentences of a fragment, their `first` and `last` line in the note, and their relevance.

    `cut_before` and `cut_after` are true if the fragment has more sentences before or after them.
    """

    text: str
    first: int
    last: int
    cut_before: bool
    cut_after: bool
    relevance: float


def choose_key_passages(topic: Topic, count: TokenCounter) -> tuple[KeyPassage, ...]:
    """Return the key passages of a topic, best first; `count` returns the number of tokens of a text."""
    considered = _candidate_ranks(topic)
    languages, notes = topic.snapshot.table.languages, topic.best_notes
    scored: list[tuple[int, Fragment, _Passage]] = []
    for rank, fragment in zip(considered, topic.fragments(topic.best[considered].tolist()), strict=True):
        passage = _choose_sentences(fragment, topic, languages[notes[rank]], count)
        if passage is not None:
            scored.append((rank, fragment, passage))
    if not scored:
        return ()
    ranks = [rank for rank, _, _ in scored]
    relevances = np.array([passage.relevance for _, _, passage in scored], np.float32)
    values = np.array([topic.note_values[int(notes[rank])] for rank in ranks], np.float32)
    relevance = (
        (1 - TOPIC_WEIGHT - NOTE_WEIGHT) * topic.scores[ranks] + TOPIC_WEIGHT * relevances + NOTE_WEIGHT * values
    )
    chosen = _select_diverse(
        relevance, _pairwise_similarities(topic, topic.best[ranks]), [fragment.text for _, fragment, _ in scored]
    )
    return tuple(_build_key_passage(topic, *scored[at]) for at in chosen)


def _candidate_ranks(topic: Topic) -> list[int]:
    """Return the positions in `topic.best` of the fragments to consider, ascending.

    These are the best fragments and the first fragments of the best notes.
    """
    openings = {
        note: rank
        for rank in range(len(topic.best) - 1, -1, -1)
        if (note := int(topic.best_notes[rank])) in topic.ranked_notes[:OPENING_NOTES]
        and topic.snapshot.table.keys[topic.best[rank]] == topic.snapshot.table.first_fragment_keys[note]
    }
    return sorted({*range(min(MAX_CANDIDATES, len(topic.best))), *openings.values()})


def _build_key_passage(topic: Topic, rank: int, fragment: Fragment, scored: _Passage) -> KeyPassage:
    whole = locate_fragment(fragment)
    return KeyPassage(
        place=SourceLocation(whole.path, whole.title, scored.first, scored.last, whole.heading_path, whole.fragment_id),
        text=scored.text,
        cut_before=scored.cut_before,
        cut_after=scored.cut_after,
        score=float(topic.scores[rank]),
        confidence=topic.confidences[rank],
    )


def _pairwise_similarities(topic: Topic, rows: npt.NDArray[np.int32]) -> Floats:
    """Return the similarity of each pair of fragments, 0 to 1: the cosine of their vectors minus the vault's mean.

    The mean is subtracted because all vectors of a static embedding model have high cosines.
    """
    vectors = topic.snapshot.vectors.rows(rows) - topic.snapshot.vectors.mean
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    notes = topic.snapshot.table.notes[rows]
    alike = np.clip(vectors @ vectors.T, 0, 1)
    similarity: Floats = np.where(notes[:, None] == notes, np.maximum(alike, MIN_SIMILARITY_IN_NOTE), alike).astype(
        np.float32
    )
    return similarity


def _select_diverse(relevance: Floats, similarities: Floats, texts: Sequence[str]) -> list[int]:
    """Return at most MAX_PASSAGES positions in the order of maximal marginal relevance, without equal texts.

    `relevance` and `texts` are by position, `similarities` by pair of positions. Values are rounded, so that the order
    is the same on any processor.
    """
    chosen: list[int] = []
    nearest = np.zeros(len(relevance), np.float32)
    left = np.ones(len(relevance), np.bool_)
    while len(chosen) < MAX_PASSAGES and left.any():
        marginal = np.round(RELEVANCE_WEIGHT * relevance - (1 - RELEVANCE_WEIGHT) * nearest, 5)
        at = int(np.argmax(np.where(left, marginal, -np.inf)))
        chosen.append(at)
        nearest = np.maximum(nearest, similarities[at])
        left &= np.array([text != texts[at] for text in texts], np.bool_)
    return chosen


def _choose_sentences(fragment: Fragment, topic: Topic, language: str, count: TokenCounter) -> _Passage | None:
    """Return the best consecutive sentences of a fragment; None if the fragment has no prose.

    `language` is that of the note, and `count` returns the number of tokens of a text.
    """
    sentences = list(split_sentences(fragment.text))
    if not sentences:
        return None
    relevances = [topic.covered_share(words_of(sentence.text, language)) for sentence in sentences]
    early = OPENING_BONUS * (2 if fragment.ordinal == 0 else 1)
    values = [value + early * (at == 0) + _form_penalty(sentences[at], count) for at, value in enumerate(relevances)]
    first = max(range(len(sentences)), key=lambda at: (round(values[at], 6), -at))
    last, text = first, _shorten(sentences[first].text, count)
    for at in range(first + 1, len(sentences)):
        longer = f"{text} {sentences[at].text}"
        continues = sentences[last].whole and sentences[at].whole and not text.endswith("…")
        if not continues or count(longer) > MAX_PASSAGE_TOKENS:
            break
        last, text = at, longer
    return _Passage(
        text=text,
        first=fragment.line_start + sentences[first].line,
        last=fragment.line_start + sentences[last].line,
        cut_before=first > 0,
        cut_after=last < len(sentences) - 1,
        relevance=max(values[first], 0.0),
    )


def _form_penalty(sentence: ProseSentence, count: TokenCounter) -> float:
    """Return a penalty, 0 or less, for a sentence that is too short or long, incomplete, or not first on its line."""
    odd = not MIN_GOOD_TOKENS <= count(sentence.text) <= MAX_GOOD_TOKENS
    return -0.3 * odd - 0.3 * (not sentence.whole) - 0.1 * (not sentence.begins_line)


def _shorten(text: str, count: TokenCounter) -> str:
    """Return `text` or, if it is too long, as many words as fit in MAX_PASSAGE_TOKENS, with an ellipsis."""
    if count(text) <= MAX_PASSAGE_TOKENS:
        return text
    words = text.split(" ")
    if len(words) > 8:
        low, high = 1, len(words)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if count(" ".join(words[:middle])) <= MAX_PASSAGE_TOKENS else (low, middle - 1)
        text = " ".join(words[:low])
    while text and count(text) > MAX_PASSAGE_TOKENS:
        text = text[: max(len(text) * MAX_PASSAGE_TOKENS // count(text) - 1, 0)]
    return f"{text.rstrip(' ,;')}…"
