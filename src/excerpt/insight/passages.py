"""Three to five key passages: what a vault says on a topic, in its own words, and no two that say the same.

Which fragments: maximal marginal relevance (Carbonell and Goldstein, 1998), the next being the one that says much on
the topic and is little like those already there. Which lines of them: the sentences that have most of the topic, from
the first of these on, as much as fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from excerpt.insight.overview_parts import KeyPassage, Place
from excerpt.insight.plain import Sentence, sentences_of
from excerpt.insight.topic import Topic, place_of
from excerpt.model import Fragment
from excerpt.text.words import terms_of

PASSAGES = 5
TOKENS = 60
"""Tokens of a passage, about two sentences; more only where the first one alone has more, and then it is cut."""
CONSIDERED = 40
"""Fragments that are looked into, the best ones."""
RELEVANCE = 0.65
"""What relevance counts beside difference from the passages already chosen (the lambda of MMR)."""
SAID = 0.4
"""What counts of relevance that the sentences have the topic, beside the rank of their fragment."""
SAME_NOTE = 0.5
"""How alike passages of one note are taken to be at least."""
EARLY = 0.15
"""What it counts that a sentence opens its fragment, where one says what a thing is."""
SHORT, LONG = 5, 60
"""Words of sentences below and above which they rarely say something by themselves."""

Floats = npt.NDArray[np.float32]
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class _Passage:
    """What a fragment has to say: its best sentences, `first` and `last` line in the note, how much of the topic is in
    the best of them (0 to 1)."""

    text: str
    first: int
    last: int
    cut_before: bool
    cut_after: bool
    said: float


def key_passages(topic: Topic, count: Count) -> tuple[KeyPassage, ...]:
    """The key passages of a topic, best first; `count` counts tokens."""
    rows = topic.best[:CONSIDERED]
    fragments = topic.fragments(rows.tolist())
    languages = topic.snapshot.table.languages
    told = [
        _told(fragment, topic, languages[note], count)
        for fragment, note in zip(fragments, topic.best_notes.tolist(), strict=False)
    ]
    places = [place for place, one in enumerate(told) if one is not None]
    if not places:
        return ()
    said = np.array([one.said for one in told if one is not None], np.float32)
    relevance = (1 - SAID) * topic.scores[places] + SAID * said
    chosen = _diverse(relevance, _likeness(topic, rows[places]), [fragments[place].text for place in places])
    return tuple(_passage(topic, places[at], fragments[places[at]], told[places[at]]) for at in chosen)


def _passage(topic: Topic, place: int, fragment: Fragment, told: _Passage | None) -> KeyPassage:
    assert told is not None
    whole = place_of(fragment)
    return KeyPassage(
        place=Place(whole.path, whole.title, told.first, told.last, whole.heading_path, whole.fragment_id),
        text=told.text,
        cut_before=told.cut_before,
        cut_after=told.cut_after,
        score=float(topic.scores[place]),
        confidence=topic.confidences[place],
    )


# --- which fragments --------------------------------------------------------------------------------------------------


def _likeness(topic: Topic, rows: npt.NDArray[np.int32]) -> Floats:
    """How alike fragments are, 0 to 1: cosines above the vault's mean, of which those of a static model have much."""
    vectors = topic.snapshot.vectors.rows(rows) - topic.snapshot.vectors.mean
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    notes = topic.snapshot.table.notes[rows]
    alike = np.clip(vectors @ vectors.T, 0, 1)
    found: Floats = np.where(notes[:, None] == notes, np.maximum(alike, SAME_NOTE), alike).astype(np.float32)
    return found


def _diverse(relevance: Floats, likeness: Floats, texts: Sequence[str]) -> list[int]:
    """Places in the order of maximal marginal relevance; rounded, so that they do not hang on the last bit."""
    chosen: list[int] = []
    nearest = np.zeros(len(relevance), np.float32)
    left = np.ones(len(relevance), np.bool_)
    while len(chosen) < PASSAGES and left.any():
        worth = np.round(RELEVANCE * relevance - (1 - RELEVANCE) * nearest, 5)
        at = int(np.argmax(np.where(left, worth, -np.inf)))
        chosen.append(at)
        nearest = np.maximum(nearest, likeness[at])
        left &= np.array([text != texts[at] for text in texts], np.bool_)
    return chosen


# --- which sentences --------------------------------------------------------------------------------------------------


def _told(fragment: Fragment, topic: Topic, language: str, count: Count) -> _Passage | None:
    """The passage of a fragment; None where it has no prose."""
    sentences = list(sentences_of(fragment.text))
    if not sentences:
        return None
    said = [topic.said(terms_of(sentence.text, language)[0]) for sentence in sentences]
    worth = [value + (EARLY if place == 0 else 0) + _form(sentences[place]) for place, value in enumerate(said)]
    first = max(range(len(sentences)), key=lambda place: (round(worth[place], 6), -place))
    last, text = first, _shortened(sentences[first].text, count)
    for place in range(first + 1, len(sentences)):
        longer = f"{text} {sentences[place].text}"
        if text.endswith("…") or count(longer) > TOKENS:
            break
        last, text = place, longer
    return _Passage(
        text=text.removesuffix("…"),
        first=fragment.line_start + sentences[first].line,
        last=fragment.line_start + sentences[last].line,
        cut_before=first > 0,
        cut_after=last < len(sentences) - 1 or text.endswith("…"),
        said=said[first],
    )


def _form(sentence: Sentence) -> float:
    """What a sentence loses by its form: too short or long to be quoted, or the opening of a list."""
    words = len(sentence.text.split())
    odd = words < SHORT and len(sentence.text) < 4 * SHORT
    return -0.3 * (odd or words > LONG) - 0.3 * sentence.text.endswith((":", "：")) - 0.1 * (not sentence.begins_line)


def _shortened(text: str, count: Count) -> str:
    """`text`, or as many of its words as fit, with an ellipsis."""
    if count(text) <= TOKENS:
        return text
    words = text.split(" ")
    if len(words) > 8:
        low, high = 1, len(words)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if count(" ".join(words[:middle])) <= TOKENS else (low, middle - 1)
        text = " ".join(words[:low])
    while text and count(text) > TOKENS:
        text = text[: max(len(text) * TOKENS // count(text) - 1, 0)]
    return f"{text.rstrip(' ,;')}…"
