"""The notes nearest to a note or to one of its fragments, each with the reasons."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import FIELDS
from excerpt.insight.neighbours import prefetch_neighbours
from excerpt.insight.similarity import (
    MAX_READ,
    WEIGHTS,
    Near,
    NoteTerm,
    Origin,
    centred_vectors,
    in_common,
    nearest,
    origin_of,
    rows_of,
    shared_folder,
    spread,
    text_without_markup,
)
from excerpt.json_forms import attributes_to_json
from excerpt.model import Fragment, Signal, Span, signals_to_dict
from excerpt.search.bm25 import Rows
from excerpt.search.engine import Engine
from excerpt.search.highlight import TermSpanFinder
from excerpt.text.words import WIDE_CHARACTERS, fold, terms_of

# --- in common --------------------------------------------------------------------------------------------------------
# The content that two notes share, for display: similar passages and rare words.

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

MAX_PAIRS = 2
"""The most pairs of passages that are shown for one note."""
MAX_COMPARED = 8
"""The most pairs that are examined: lists of links are similar everywhere and say nothing."""
MIN_PROSE = 40
"""Letters of a passage outside its links, below which it counts as a list of links or a heading."""
MIN_SHARE_OF_BEST = 0.6
"""The least value of a second pair, as a share of the first's."""
MIN_SIMILARITY = 0.2
"""The least mean of similarity in meaning and in words, each 0 to 1, for two passages to match."""
MAX_WORDS = 6
"""The most words that are listed for a note."""
RARE = 0.15
"""The largest share of the vault's notes that may have a rare word; a word of three notes is always rare."""
MIN_LANGUAGE_WEIGHT = 0.7
"""The least weight in general language, 0 to 1, of a listed word: "bandwidth" and "motion", not "since"."""
LONGEST_WIDE = 8
"""The most characters of a listed word of a script without spaces, which extends as far as both texts agree."""
SHORTEST = 3
"""The fewest letters of a listed word that consists only of ASCII letters."""

_WIDE_WORD = re.compile(f"[{WIDE_CHARACTERS}]+")
_TEXT = FIELDS.index("text")


class Comparison:
    """The passages and words that one note, or a fragment of it, shares with some others."""

    def __init__(self, snapshot: Corpus, origin: Origin, terms: Sequence[NoteTerm], notes: Ints) -> None:
        """Compare the origin with `notes` (ascending); `terms` are the origin's most important words."""
        self._snapshot = snapshot
        self._origin = origin
        self._terms = terms
        self._finder = TermSpanFinder()
        self._own_rows = spread(origin.rows)
        self._other_rows, owners = rows_of(snapshot, notes)
        self._owners = notes[owners] if len(owners) else owners
        rows = np.union1d(self._own_rows, self._other_rows).astype(np.int32)
        self._rows = rows
        self._has = np.array([_has_term(snapshot, term.term, rows) for term in terms], np.bool_)
        self._vectors = (
            centred_vectors(snapshot, self._own_rows) if len(self._own_rows) else np.zeros((0, 0), np.float32)
        )

    def pairs(self, note: int) -> tuple[PassageMatch, ...]:
        """Return the matching passages of this note and of `note`, the nearest first, each at most once."""
        their_rows = self._other_rows[self._owners == note]
        if not len(their_rows) or not len(self._own_rows):
            return ()
        similar = np.clip(self._vectors @ centred_vectors(self._snapshot, their_rows).T, 0, 1)
        scores = (similar + self._by_words(their_rows)) / 2
        keys = self._snapshot.table.keys
        matches: list[PassageMatch] = []
        best = float(scores.max())
        for _ in range(MAX_COMPARED):
            own_index, other_index = divmod(int(scores.argmax()), scores.shape[1])
            if len(matches) == MAX_PAIRS or scores[own_index, other_index] < max(
                MIN_SIMILARITY, MIN_SHARE_OF_BEST * best
            ):
                break
            own, other = self._snapshot.fragments(
                [int(keys[self._own_rows[own_index]]), int(keys[their_rows[other_index]])]
            )
            if _has_prose(own.text) and _has_prose(other.text):
                matches.append(
                    self._pair(
                        own,
                        other,
                        int(self._own_rows[own_index]),
                        int(their_rows[other_index]),
                        float(similar[own_index, other_index]),
                    )
                )
                scores[own_index], scores[:, other_index] = 0, 0
            else:
                scores[own_index, other_index] = 0
        return tuple(matches)

    def words(self, note: int) -> tuple[SharedWord, ...]:
        """Return the rare words that both notes have, the most important for this note first."""
        max_notes = max(3.0, RARE * len(self._snapshot.table.paths))
        their_rows = self._other_rows[self._owners == note]
        columns = np.searchsorted(self._rows, their_rows)
        shared: list[SharedWord] = []
        for number, term in enumerate(self._terms):
            if len(shared) == MAX_WORDS or not len(their_rows):
                break
            if term.notes > max_notes or number not in self._distinctive or not self._has[number, columns].any():
                continue
            fragment, line = self._first(number, int(their_rows[self._has[number, columns]][0]))
            word = self._extend(term.spelled, fragment.text)
            if not _is_part(word, [other.word for other in shared]):
                notes = term.notes if word == term.spelled else self._notes_with(word)
                shared.append(SharedWord(word, notes, line))
        return tuple(shared)

    # --- one pair -----------------------------------------------------------------------------------------------------

    def _by_words(self, their_rows: Rows) -> Floats:
        """Return the cosine of the important words of each passage here and each of `their_rows`."""
        rarity = np.array([term.rarity for term in self._terms], np.float32)
        own_terms = self._has[:, np.searchsorted(self._rows, self._own_rows)] * rarity[:, None]
        their_terms = self._has[:, np.searchsorted(self._rows, their_rows)] * rarity[:, None]
        lengths = np.linalg.norm(own_terms, axis=0)[:, None] * np.linalg.norm(their_terms, axis=0)[None, :]
        cosines: Floats = (own_terms.T @ their_terms) / np.maximum(lengths, 1e-9)
        return cosines

    def _pair(self, own: Fragment, other: Fragment, own_row: int, other_row: int, similarity: float) -> PassageMatch:
        own_index, other_index = np.searchsorted(self._rows, [own_row, other_row])
        both = [
            number
            for number in sorted(self._distinctive)
            if self._has[number, own_index] and self._has[number, other_index]
        ]
        both.sort(key=lambda number: (-self._terms[number].rarity, self._terms[number].term))
        terms = frozenset(self._terms[number].term for number in both)
        on_each = (self._match_fragment(own, terms), self._match_fragment(other, terms))
        words: list[str] = []
        for spelled in (self._terms[number].spelled for number in both):
            word = _extend_word(spelled, own.text, other.text)
            if not _is_part(word, words):
                words.append(word)
        return PassageMatch(*on_each, similarity, tuple(words))

    def _match_fragment(self, fragment: Fragment, terms: frozenset[str]) -> MatchedFragment:
        spans = self._finder.find(fragment.text[:MAX_READ], terms, self._language(fragment.path))
        return MatchedFragment(fragment, spans)

    # --- words as they are spelled ------------------------------------------------------------------------------------

    @cached_property
    def _distinctive(self) -> frozenset[int]:
        """The numbers of the terms that may be shown to a reader, because they occur in the text and are specific."""
        return frozenset(
            number
            for number, term in enumerate(self._terms)
            if term.language_weight >= MIN_LANGUAGE_WEIGHT and _is_word(term.spelled)
        )

    def _extend(self, spelled: str, other_text: str) -> str:
        text = next((fragment.text for fragment in self._origin.fragments if spelled in fragment.text), "")
        return _extend_word(spelled, text, other_text)

    def _notes_with(self, word: str) -> int:
        """Return the number of notes that have all pairs of characters of a word in one fragment."""
        pairs = {term for term in terms_of(word, self._origin.info.language)[0] if len(term) > 1}
        return self._snapshot.count_notes(sorted(pairs)) if pairs else 0

    def _first(self, number: int, row: int) -> tuple[Fragment, int]:
        """Return the fragment of `row`, and the line on which a term first occurs in it."""
        fragment = self._snapshot.fragments([int(self._snapshot.table.keys[row])])[0]
        term = frozenset([self._terms[number].term])
        spans = self._finder.find(fragment.text[:MAX_READ], term, self._language(fragment.path))
        return fragment, fragment.line_start + (fragment.text.count("\n", 0, spans[0].start) if spans else 0)

    def _language(self, path: str) -> str:
        return self._snapshot.table.languages[self._snapshot.facets.numbers[path]]


def _has_prose(text: str) -> bool:
    return sum(map(str.isalpha, text_without_markup(text[:MAX_READ]))) >= MIN_PROSE


def _extend_word(spelled: str, text: str, other: str) -> str:
    """Return a word as spelled.

    In a script without spaces, it is extended by the characters around it that both texts share.
    """
    start = text.find(spelled)
    if start < 0 or spelled not in other or not _WIDE_WORD.fullmatch(spelled):
        return spelled
    end = start + len(spelled)
    while (
        end < len(text)
        and end - start < LONGEST_WIDE
        and _WIDE_WORD.match(text[end])
        and text[start : end + 1] in other
    ):
        end += 1
    while start and end - start < LONGEST_WIDE and _WIDE_WORD.match(text[start - 1]) and text[start - 1 : end] in other:
        start -= 1
    return text[start:end]


def _is_part(word: str, words: Sequence[str]) -> bool:
    """Return whether `word` contains one of `words` or is contained in one."""
    lower = word.lower()
    return any(lower in other.lower() or other.lower() in lower for other in words)


def _is_word(word: str) -> bool:
    """Return whether a word has a letter and is not too short: one character, or two ASCII letters."""
    return (
        any(map(str.isalpha, word))
        and len(word) > 1
        and not (word.isascii() and word.isalpha() and len(word) < SHORTEST)
    )


def _has_term(snapshot: Corpus, term: str, rows: Rows) -> npt.NDArray[np.bool_]:
    """Return, for each of the ascending `rows`, whether its text has a term."""
    entries = snapshot.lexical.entries(term)
    text_rows = entries.rows[entries.fields == _TEXT]
    if not len(text_rows):
        return np.zeros(len(rows), np.bool_)
    at = np.minimum(np.searchsorted(text_rows, rows), len(text_rows) - 1)
    has_term: npt.NDArray[np.bool_] = text_rows[at] == rows
    return has_term


# --- related ----------------------------------------------------------------------------------------------------------
# The notes nearest to a note or to one of its fragments, each with the reasons: the matching passages, the rare words
# and links in common, mentions, and the parts of the score.

LIMIT = 10
"""The default number of listed notes."""
MIN = 0.05
"""The least score of a listed note: two unrelated notes of one vault have about this score."""
MAX_COMMON = 6
"""The most notes listed that connect two notes."""
MAX_MENTIONS = 3
"""The most mentions listed between two notes."""


class Linked(StrEnum):
    """The direction of links between two notes: from this one to the related one, back, both, or none."""

    TO = "to"
    FROM = "from"
    BOTH = "both"
    NO = "no"

    @property
    def sentence(self) -> str:
        """The link as a phrase, such as "this links to it"; "" without one."""
        return {"to": "this links to it", "from": "it links to this", "both": "they link to each other"}.get(self, "")


@dataclass(frozen=True, slots=True)
class MatchedFragment:
    """One side of a match: a fragment, and the ranges of the words that the other side also has."""

    fragment: Fragment
    spans: tuple[Span, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            **attributes_to_json(self.fragment, "path", "heading_path", "line_start", "line_end"),
            "fragment_id": self.fragment.id,
            "text": self.fragment.text,
            "spans": [[span.start, span.end] for span in self.spans],
        }


@dataclass(frozen=True, slots=True)
class PassageMatch:
    """Two matching passages, one of this note and one of the related note.

    `similarity` is in meaning, 0 (as between any two passages of the vault) to 1; `words` are those that both have, as
    spelled here, the rarest first.
    """

    here: MatchedFragment
    there: MatchedFragment
    similarity: float
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedWord:
    """A word that both notes have, as spelled here, and the number of notes of the vault that have it.

    `line` is its first line in the related note.
    """

    word: str
    notes: int
    line: int


@dataclass(frozen=True, slots=True)
class CommonLink:
    """A third note that connects two notes: both link to it, or, if `links_to_both`, it links to both."""

    path: str
    title: str
    links_to_both: bool


@dataclass(frozen=True, slots=True)
class Mention:
    """A line in the text of the note `path` that names the note `of` without a link, by title, file name or alias.

    `text` is the name as written there.
    """

    path: str
    line: int
    text: str
    of: str


@dataclass(frozen=True, slots=True)
class RelatedNote:
    """A related note and the reasons. The parts of `signals` add up to `score`, 0 to 1.

    `tags` are those that both have, `place` the smallest folder (or prefix of a name, up to a dot) that both are in, ""
    if that is the whole vault.
    """

    path: str
    title: str
    score: float
    signals: tuple[Signal, ...]
    matches: tuple[PassageMatch, ...] = ()
    words: tuple[SharedWord, ...] = ()
    linked: Linked = Linked.NO
    common: tuple[CommonLink, ...] = ()
    tags: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    place: str = ""

    @property
    def missing_link(self) -> bool:
        """Whether one of the two notes names the other, and neither links to the other."""
        return self.linked is Linked.NO and bool(self.mentions)

    @property
    def line(self) -> int:
        """The line at which to open the related note: the beginning of its best passage."""
        return self.matches[0].there.fragment.line_start if self.matches else 1

    def to_dict(self) -> dict[str, Any]:
        return {
            **attributes_to_json(self, "path", "title", "line", "score"),
            "signals": signals_to_dict(self.signals),
            **attributes_to_json(self, "linked", "missing_link", "mentions", "common", "words", "tags", "place"),
            "matches": [
                {
                    "here": match.here.to_dict(),
                    "there": match.there.to_dict(),
                    **attributes_to_json(match, "similarity", "words"),
                }
                for match in self.matches
            ],
        }


@dataclass(frozen=True, slots=True)
class Related:
    """The notes nearest to the note `path`, or to its `fragment` if a line was given, best first, ties by path."""

    path: str
    title: str
    line: int | None
    fragment: Fragment | None
    notes: tuple[RelatedNote, ...]
    elapsed_ms: float
    generation: int

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt related`."""
        return {
            **attributes_to_json(self, "path", "title", "line"),
            "fragment_id": self.fragment.id if self.fragment else None,
            "generation": self.generation,
            "elapsed_ms": round(self.elapsed_ms, 3),
            "notes": [note.to_dict() for note in self.notes],
        }


def related(engine: Engine, path: str, line: int | None = None, limit: int = LIMIT) -> Related:
    """Return the notes nearest to the note `path`, or to its fragment with `line` (1-based; else the next one).

    Raises KeyError for an unknown note.
    """
    started = time.perf_counter()
    prefetch_neighbours(engine, path, line)
    snapshot = engine.snapshot
    origin = origin_of(snapshot, path, line)
    near = nearest(snapshot, origin)
    order = np.lexsort((near.notes, -near.scores))
    order = order[near.scores[order] >= MIN][:limit]
    compared = Comparison(snapshot, origin, near.terms, np.sort(near.notes[order]))
    notes = tuple(_explain_note(snapshot, origin, near, compared, position) for position in order.tolist())
    return Related(
        path=path,
        title=origin.info.title,
        line=line,
        fragment=origin.fragments[0] if line is not None and origin.fragments else None,
        notes=notes,
        elapsed_ms=(time.perf_counter() - started) * 1e3,
        generation=snapshot.generation,
    )


def _explain_note(snapshot: Corpus, origin: Origin, near: Near, compared: Comparison, position: int) -> RelatedNote:
    """Return the related note at a position of `near`, with the reasons."""
    note = int(near.notes[position])
    info = snapshot.note_info(snapshot.table.paths[note])
    values = near.signals[position].tolist()
    signals = tuple(
        Signal(name, value, weight, value * weight)
        for (name, weight), value in zip(WEIGHTS.items(), values, strict=True)
    )
    tags = {fold(tag) for tag in info.tags}
    return RelatedNote(
        path=info.path,
        title=info.title,
        score=sum(signal.part for signal in signals),
        signals=signals,
        matches=compared.pairs(note),
        words=compared.words(note),
        linked=_link_direction(note in near.links.to, note in near.links.back),
        common=_common_links(snapshot, near, note),
        tags=tuple(tag for tag in origin.info.tags if fold(tag) in tags),
        mentions=_mentions(snapshot, near, note),
        place=shared_folder(snapshot.table.paths, origin.info.path, info.path),
    )


def _link_direction(to: bool, back: bool) -> Linked:
    if to:
        return Linked.BOTH if back else Linked.TO
    return Linked.FROM if back else Linked.NO


def _common_links(snapshot: Corpus, near: Near, note: int) -> tuple[CommonLink, ...]:
    """Return the third notes that connect two notes, those with the fewest links first."""
    both_link_to, link_to_both = in_common(snapshot, near.links, note)
    connecting = [(other, False) for other in both_link_to] + [(other, True) for other in link_to_both]
    connected = [(snapshot.note_info(snapshot.table.paths[other]), back) for other, back in connecting[:MAX_COMMON]]
    return tuple(CommonLink(info.path, info.title, back) for info, back in connected)


def _mentions(snapshot: Corpus, near: Near, note: int) -> tuple[Mention, ...]:
    """Return the mentions between two notes, at most one for each line."""
    paths = snapshot.table.paths
    mentions = [
        Mention(paths[each.within], each.line, each.text, paths[each.of])
        for each in near.named
        if note in (each.of, each.within)
    ]
    lines = {(mention.path, mention.line): mention for mention in reversed(mentions)}
    return tuple(mention for _, mention in sorted(lines.items())[:MAX_MENTIONS])
