"""The notes nearest to a note or to one of its fragments, each with the reasons."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from excerpt.base.model import Fragment, Signal
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import FIELDS
from excerpt.insight.neighbours import prefetch_neighbours
from excerpt.insight.note_links import find_connecting_notes, find_shared_folder
from excerpt.insight.results import (
    CommonLink,
    LinkDirection,
    MatchedFragment,
    Mention,
    PassageMatch,
    RelatedNote,
    RelatedNotes,
    SharedWord,
)
from excerpt.insight.similarity import (
    WEIGHTS,
    NoteTerm,
    ReferenceNote,
    ScoredNotes,
    load_centred_vectors,
    load_reference_note,
    sample_evenly,
    sample_note_rows,
    score_related_notes,
)
from excerpt.search.bm25 import Rows
from excerpt.search.engine import Engine
from excerpt.search.highlight import TermSpanFinder
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS
from excerpt.text.mentions import MAX_PASSAGE_LETTERS, blank_markup
from excerpt.text.words import terms_of

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

MAX_SHOWN_PAIRS = 2
"""The most pairs of passages that are shown for one note."""
MAX_EXAMINED_PAIRS = 8
"""The most pairs that are examined; pairs of lists of links are skipped, because all of these are similar."""
MIN_PROSE_LETTERS = 40
"""A passage with fewer letters than this outside its links counts as a list of links or a heading."""
MIN_SHARE_OF_BEST_PAIR = 0.6
"""The least score of a shown pair, as a share of the best pair's score."""
MIN_SIMILARITY = 0.2
"""The least mean of similarity in meaning and in words, each 0 to 1, for two passages to match."""
MAX_SHARED_WORDS = 6
"""The most words that are listed for a note."""
MAX_RARE_WORD_SHARE = 0.15
"""A word is rare if at most this share of the vault's notes have it, or at most three notes."""
MIN_LANGUAGE_WEIGHT = 0.7
"""The least weight in general language, 0 to 1, of a listed word: "bandwidth" and "motion", not "since"."""
MAX_WIDE_WORD_CHARS = 8
"""The most characters of a listed word in a script without spaces, where words have no visible end."""
MIN_WORD_LETTERS = 3
"""The fewest letters of a listed word that consists only of ASCII letters."""

_WIDE_WORD = lazy_pattern(f"[{WIDE_CHARACTERS}]+")
_TEXT = FIELDS.index("text")


class NoteComparison:
    """Finds the passages and words that the reference note shares with each of some other notes."""

    def __init__(self, snapshot: Corpus, reference: ReferenceNote, terms: Sequence[NoteTerm], notes: Ints) -> None:
        """Prepare the comparison with `notes` (ascending); `terms` are the reference note's important words."""
        self._snapshot = snapshot
        self._reference = reference
        self._terms = terms
        self._finder = TermSpanFinder()
        self._own_rows = sample_evenly(reference.rows)
        self._other_rows, owners = sample_note_rows(snapshot, notes)
        self._owners = notes[owners] if len(owners) else owners
        rows = np.union1d(self._own_rows, self._other_rows).astype(np.int32)
        self._rows = rows
        self._has_term_by_row = np.array([_find_rows_with_term(snapshot, term.term, rows) for term in terms], np.bool_)
        self._vectors = (
            load_centred_vectors(snapshot, self._own_rows) if len(self._own_rows) else np.zeros((0, 0), np.float32)
        )

    def match_passages(self, note: int) -> tuple[PassageMatch, ...]:
        """Return pairs of similar passages of the reference note and `note`, best first, each passage at most once."""
        their_rows = self._other_rows[self._owners == note]
        if not len(their_rows) or not len(self._own_rows):
            return ()
        similar = np.clip(self._vectors @ load_centred_vectors(self._snapshot, their_rows).T, 0, 1)
        scores = (similar + self._word_cosines(their_rows)) / 2
        keys = self._snapshot.table.keys
        matches: list[PassageMatch] = []
        best = float(scores.max())
        for _ in range(MAX_EXAMINED_PAIRS):
            own_index, other_index = divmod(int(scores.argmax()), scores.shape[1])
            if len(matches) == MAX_SHOWN_PAIRS or scores[own_index, other_index] < max(
                MIN_SIMILARITY, MIN_SHARE_OF_BEST_PAIR * best
            ):
                break
            own, other = self._snapshot.fragments(
                [int(keys[self._own_rows[own_index]]), int(keys[their_rows[other_index]])]
            )
            if _has_prose(own.text) and _has_prose(other.text):
                matches.append(
                    self._build_match(
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

    def find_shared_words(self, note: int) -> tuple[SharedWord, ...]:
        """Return the rare words that the reference note and `note` share, the most important first."""
        max_notes = max(3.0, MAX_RARE_WORD_SHARE * len(self._snapshot.table.paths))
        their_rows = self._other_rows[self._owners == note]
        columns = np.searchsorted(self._rows, their_rows)
        shared: list[SharedWord] = []
        for number, term in enumerate(self._terms):
            if len(shared) == MAX_SHARED_WORDS or not len(their_rows):
                break
            if (
                term.notes > max_notes
                or number not in self._displayable_terms
                or not self._has_term_by_row[number, columns].any()
            ):
                continue
            fragment, line = self._locate_term(number, int(their_rows[self._has_term_by_row[number, columns]][0]))
            word = self._extend_wide_word(term.spelled, fragment.text)
            if not _overlaps_word(word, [other.word for other in shared]):
                notes = term.notes if word == term.spelled else self._count_notes_with(word)
                shared.append(SharedWord(word, notes, line))
        return tuple(shared)

    def _word_cosines(self, their_rows: Rows) -> Floats:
        """Return the cosines of important words: own passages as rows, the passages `their_rows` as columns."""
        rarity = np.array([term.rarity for term in self._terms], np.float32)
        own_terms = self._has_term_by_row[:, np.searchsorted(self._rows, self._own_rows)] * rarity[:, None]
        their_terms = self._has_term_by_row[:, np.searchsorted(self._rows, their_rows)] * rarity[:, None]
        lengths = np.linalg.norm(own_terms, axis=0)[:, None] * np.linalg.norm(their_terms, axis=0)[None, :]
        cosines: Floats = (own_terms.T @ their_terms) / np.maximum(lengths, 1e-9)
        return cosines

    def _build_match(
        self, own: Fragment, other: Fragment, own_row: int, other_row: int, similarity: float
    ) -> PassageMatch:
        own_index, other_index = np.searchsorted(self._rows, [own_row, other_row])
        both = [
            number
            for number in sorted(self._displayable_terms)
            if self._has_term_by_row[number, own_index] and self._has_term_by_row[number, other_index]
        ]
        both.sort(key=lambda number: (-self._terms[number].rarity, self._terms[number].term))
        terms = frozenset(self._terms[number].term for number in both)
        on_each = (self._match_fragment(own, terms), self._match_fragment(other, terms))
        words: list[str] = []
        for spelled in (self._terms[number].spelled for number in both):
            word = _extend_word(spelled, own.text, other.text)
            if not _overlaps_word(word, words):
                words.append(word)
        return PassageMatch(*on_each, similarity, tuple(words))

    def _match_fragment(self, fragment: Fragment, terms: frozenset[str]) -> MatchedFragment:
        spans = self._finder.find(fragment.text[:MAX_PASSAGE_LETTERS], terms, self._language(fragment.path))
        return MatchedFragment(fragment, spans)

    @cached_property
    def _displayable_terms(self) -> frozenset[int]:
        """The positions in `_terms` of words that may be shown: they occur in the text and are specific."""
        return frozenset(
            number
            for number, term in enumerate(self._terms)
            if term.language_weight >= MIN_LANGUAGE_WEIGHT and _is_displayable_word(term.spelled)
        )

    def _extend_wide_word(self, spelled: str, other_text: str) -> str:
        text = next((fragment.text for fragment in self._reference.fragments if spelled in fragment.text), "")
        return _extend_word(spelled, text, other_text)

    def _count_notes_with(self, word: str) -> int:
        """Return the number of notes with a fragment that has all pairs of adjacent characters of `word`."""
        pairs = {term for term in terms_of(word, self._reference.info.language)[0] if len(term) > 1}
        return self._snapshot.count_notes(sorted(pairs)) if pairs else 0

    def _locate_term(self, number: int, row: int) -> tuple[Fragment, int]:
        """Return the fragment of `row`, and the first line of its note that has term `number` of the list."""
        fragment = self._snapshot.fragments([int(self._snapshot.table.keys[row])])[0]
        term = frozenset([self._terms[number].term])
        spans = self._finder.find(fragment.text[:MAX_PASSAGE_LETTERS], term, self._language(fragment.path))
        return fragment, fragment.line_start + (fragment.text.count("\n", 0, spans[0].start) if spans else 0)

    def _language(self, path: str) -> str:
        return self._snapshot.table.languages[self._snapshot.facets.numbers[path]]


def _has_prose(text: str) -> bool:
    return sum(map(str.isalpha, blank_markup(text[:MAX_PASSAGE_LETTERS]))) >= MIN_PROSE_LETTERS


def _extend_word(spelled: str, text: str, other: str) -> str:
    """Return the word `spelled`, extended by the characters around it that `text` and `other` share.

    Only words in a script without spaces are extended.
    """
    start = text.find(spelled)
    if start < 0 or spelled not in other or not _WIDE_WORD.fullmatch(spelled):
        return spelled
    end = start + len(spelled)
    while (
        end < len(text)
        and end - start < MAX_WIDE_WORD_CHARS
        and _WIDE_WORD.match(text[end])
        and text[start : end + 1] in other
    ):
        end += 1
    while (
        start
        and end - start < MAX_WIDE_WORD_CHARS
        and _WIDE_WORD.match(text[start - 1])
        and text[start - 1 : end] in other
    ):
        start -= 1
    return text[start:end]


def _overlaps_word(word: str, words: Sequence[str]) -> bool:
    """Return whether `word` contains one of `words` or is contained in one."""
    lower = word.lower()
    return any(lower in other.lower() or other.lower() in lower for other in words)


def _is_displayable_word(word: str) -> bool:
    """Return whether `word` has a letter and is long enough: two characters, or MIN_WORD_LETTERS of ASCII letters."""
    return (
        any(map(str.isalpha, word))
        and len(word) > 1
        and not (word.isascii() and word.isalpha() and len(word) < MIN_WORD_LETTERS)
    )


def _find_rows_with_term(snapshot: Corpus, term: str, rows: Rows) -> npt.NDArray[np.bool_]:
    """Return, for each of the ascending `rows`, whether the fragment's text has the index term `term`."""
    entries = snapshot.lexical.entries(term)
    text_rows = entries.rows[entries.fields == _TEXT]
    if not len(text_rows):
        return np.zeros(len(rows), np.bool_)
    at = np.minimum(np.searchsorted(text_rows, rows), len(text_rows) - 1)
    has_term: npt.NDArray[np.bool_] = text_rows[at] == rows
    return has_term


# The notes nearest to a note or to one of its fragments, each with the reasons: the matching passages, the rare words
# and links in common, mentions, and the parts of the score.

DEFAULT_LIMIT = 10
"""The default number of related notes that are listed."""
MIN_SCORE = 0.05
"""The least score, 0 to 1, of a listed note: two unrelated notes of one vault have about this score."""
MAX_CONNECTING_NOTES = 6
"""The most connecting notes (that two notes both link to, or that link to both) listed for a related note."""
MAX_MENTIONS = 3
"""The most mentions listed between two notes."""


def find_related_notes(
    engine: Engine, path: str, line: int | None = None, limit: int = DEFAULT_LIMIT, *, unlinked: bool = False
) -> RelatedNotes:
    """Return the notes most similar to the note `path`, or to only its fragment at `line` (1-based), best first.

    If no fragment has `line`, the next one is compared. `unlinked` leaves out notes that link to the note or that it
    links to. Raises KeyError for an unknown note.
    """
    started = time.perf_counter()
    prefetch_neighbours(engine, path, line)
    snapshot = engine.snapshot
    reference = load_reference_note(snapshot, path, line)
    scored = score_related_notes(snapshot, reference)
    order = np.lexsort((scored.notes, -scored.scores))
    order = order[scored.scores[order] >= MIN_SCORE]
    is_hidden = (scored.links.direct_links[scored.notes[order]] > 0) & unlinked
    order = order[~is_hidden][:limit]
    comparison = NoteComparison(snapshot, reference, scored.terms, np.sort(scored.notes[order]))
    notes = tuple(_explain_note(snapshot, reference, scored, comparison, position) for position in order.tolist())
    return RelatedNotes(
        path=path,
        title=reference.info.title,
        line=line,
        fragment=reference.fragments[0] if line is not None and reference.fragments else None,
        notes=notes,
        elapsed_ms=(time.perf_counter() - started) * 1e3,
        generation=snapshot.generation,
        hidden=int(is_hidden.sum()),
    )


def _explain_note(
    snapshot: Corpus, reference: ReferenceNote, scored: ScoredNotes, comparison: NoteComparison, position: int
) -> RelatedNote:
    """Return the related note at `position` in the arrays of `scored`, with the reasons for its score."""
    note = int(scored.notes[position])
    info = snapshot.note_info(snapshot.table.paths[note])
    values = scored.signals[position].tolist()
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
        matches=comparison.match_passages(note),
        words=comparison.find_shared_words(note),
        linked=_link_direction(note in scored.links.linked_notes, note in scored.links.linking_notes),
        common=_common_links(snapshot, scored, note),
        tags=tuple(tag for tag in reference.info.tags if fold(tag) in tags),
        mentions=_mentions(snapshot, scored, note),
        place=find_shared_folder(snapshot.table.paths, reference.info.path, info.path),
    )


def _link_direction(to: bool, back: bool) -> LinkDirection:
    if to:
        return LinkDirection.BOTH if back else LinkDirection.TO
    return LinkDirection.FROM if back else LinkDirection.NO


def _common_links(snapshot: Corpus, scored: ScoredNotes, note: int) -> tuple[CommonLink, ...]:
    """Return the notes that connect `note` with the reference note by links, those with the fewest links first."""
    both_link_to, link_to_both = find_connecting_notes(snapshot, scored.links, note)
    connecting = [(other, False) for other in both_link_to] + [(other, True) for other in link_to_both]
    connected = [
        (snapshot.note_info(snapshot.table.paths[other]), back) for other, back in connecting[:MAX_CONNECTING_NOTES]
    ]
    return tuple(CommonLink(info.path, info.title, back) for info, back in connected)


def _mentions(snapshot: Corpus, scored: ScoredNotes, note: int) -> tuple[Mention, ...]:
    """Return the mentions between the reference note and `note`, at most one per line."""
    paths = snapshot.table.paths
    mentions = [
        Mention(paths[each.in_note], each.line, each.text, paths[each.named_note])
        for each in scored.mentions
        if note in (each.named_note, each.in_note)
    ]
    lines = {(mention.path, mention.line): mention for mention in reversed(mentions)}
    return tuple(mention for _, mention in sorted(lines.items())[:MAX_MENTIONS])
