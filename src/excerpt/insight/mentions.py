"""Mentions: names of notes that stand in the text of other notes without a link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import numpy as np
from msgspec import Struct

from excerpt.base.model import Fragment
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import Corpus
from excerpt.insight.note_links import rarity_score
from excerpt.search.bm25 import Rows
from excerpt.search.evidence import analyze_text
from excerpt.text.folding import fold
from excerpt.text.mentions import (
    MAX_NAMESAKES,
    MAX_PASSAGE_LETTERS,
    NameSpan,
    blank_markup,
    find_names,
    is_note_meant,
)
from excerpt.text.words import QueryWord

MAX_NAME_FRAGMENTS = 200
"""The most fragments that may have all words of a name; a more frequent name is the vault's subject and ignored."""
_PARAGRAPH = lazy_pattern(r"\S(?:[^\n]|\n(?![^\S\n]*\n))*")


class NameMention(Struct, frozen=True):
    """A mention: the text of note `in_note` has the name of note `named_note` without linking to it.

    Both are note numbers. The name is spelled `text`, on `line` of the note, in the fragment with key `fragment_key`.
    `rarity` is 1 for a name that only one fragment has, 0 for a name that all fragments have.
    """

    named_note: int
    in_note: int
    fragment_key: int
    line: int
    text: str
    rarity: float


class MentionFinder:
    """Finds mentions between the notes of one snapshot of the index; caches the notes' names."""

    def __init__(self, snapshot: Corpus) -> None:
        self._snapshot = snapshot
        self._notes_by_name = snapshot.facets.names
        self._languages = snapshot.languages[:1]
        self._note_names: dict[int, tuple[str, ...]] = {}
        self._name_rarities: dict[str, float] = {}

    def find_mentions_in_note(self, note: int, fragments: Sequence[Fragment]) -> list[NameMention]:
        """Return the mentions of other notes in `fragments`, which belong to the note with number `note`."""
        named: list[NameMention] = []
        for fragment in fragments:
            text = blank_markup(fragment.text)
            for span in find_names(text, self._notes_by_name):
                candidates = self._notes_by_name[span.key].tolist()
                if note in candidates or len(candidates) > MAX_NAMESAKES:
                    continue
                rarity = self._name_rarity(span.key)
                targets = (of for of in candidates if rarity > 0 and self._is_mention_of(text, span, of))
                named += [_build_mention(of, note, fragment, span, rarity) for of in targets]
        return named

    def find_mentions_of_note(self, note: int) -> list[NameMention]:
        """Return the mentions of the note with number `note` in the text of other notes."""
        named: list[NameMention] = []
        snapshot, table = self._snapshot, self._snapshot.table
        for name in dict.fromkeys(map(fold, self._load_note_names(note))):
            rows = self._find_rows_with_words(name)
            rows = rows[table.notes[rows] != note]
            if not 0 < len(rows) <= MAX_NAME_FRAGMENTS or len(self._notes_by_name.get(name, ())) > MAX_NAMESAKES:
                continue
            fragments = snapshot.fragments(table.keys[rows].tolist())
            rare = rarity_score(len(rows), snapshot.lexical.corpus_size)
            for within, fragment in zip(table.notes[rows].tolist(), fragments, strict=True):
                named += [
                    _build_mention(note, within, fragment, span, rare)
                    for span in self._find_name_spans(name, fragment, note)
                ]
        return named

    def list_name_terms(self, note: int) -> list[tuple[tuple[str, ...], ...]]:
        """Return, for each name of a note, a tuple of its words, each word as a tuple of alternative index terms.

        A text with the name has at least one term of each word.
        """
        names = dict.fromkeys(map(fold, self._load_note_names(note)))
        return [tuple(word.terms for word in words) for name in names if (words := self._analyze_name(name))]

    def _analyze_name(self, name: str) -> list[QueryWord]:
        return [word for word in analyze_text(name, self._snapshot) if not word.is_compound]

    def _find_rows_with_words(self, name: str) -> Rows:
        """Return the ascending rows of fragments whose text has all words of `name`; no rows if it has no words."""
        lexical = self._snapshot.lexical
        words = self._analyze_name(name)
        words.sort(key=lambda word: sum(map(lexical.count, word.terms)))
        rows: Rows | None = None
        for word in words:
            word_rows = np.concatenate([lexical.postings("text", term).rows for term in word.terms])
            rows = np.unique(word_rows) if rows is None else rows[np.isin(rows, word_rows)]
            if not len(rows):
                break
        return np.zeros(0, np.int32) if rows is None else rows

    def _find_name_spans(self, name: str, fragment: Fragment, note: int) -> Iterator[NameSpan]:
        """Yield where a fragment mentions the note with number `note` by `name`, but not inside a longer name.

        An occurrence does not cross a blank line.
        """
        spaced = " ".join(name.split())
        # Most fragments with all words of the name do not have the name itself; the rest takes ten times as long.
        passage = fragment.text[:MAX_PASSAGE_LETTERS]
        if spaced not in _normalise_spaces(passage):
            return
        text = blank_markup(passage)
        for paragraph in _PARAGRAPH.finditer(text):
            if spaced in _normalise_spaces(paragraph[0]):
                for span in find_names(text[: paragraph.end()], self._notes_by_name, paragraph.start()):
                    if span.key == name and self._is_mention_of(text, span, note):
                        yield span

    def _is_mention_of(self, text: str, span: NameSpan, target: int) -> bool:
        """Return whether the name at `span` of `text` can mean the note `target`, and not just an ordinary word."""
        return is_note_meant(text, span, lambda: self._load_note_names(target), self._languages)

    def _load_note_names(self, note: int) -> tuple[str, ...]:
        """Return the title, file name and aliases of the note with number `note`."""
        if note not in self._note_names:
            info = self._snapshot.note_info(self._snapshot.table.paths[note])
            self._note_names[note] = (info.title, PurePosixPath(info.path).stem, *info.aliases)
        return self._note_names[note]

    def _name_rarity(self, name: str) -> float:
        """Return the rarity, 0 to 1, of the rarest word of `name`: the name itself is at least as rare."""
        if name not in self._name_rarities:
            lexical = self._snapshot.lexical
            words = analyze_text(name, self._snapshot)
            fragment_count = min((sum(map(lexical.count, word.terms)) for word in words), default=0)
            self._name_rarities[name] = (
                rarity_score(min(fragment_count, lexical.corpus_size), lexical.corpus_size) if fragment_count else 0.0
            )
        return self._name_rarities[name]


def _normalise_spaces(text: str) -> str:
    """Return `text` case-folded, with each run of white space as one space."""
    return " ".join(fold(text).split())


def _build_mention(named_note: int, in_note: int, fragment: Fragment, span: NameSpan, rarity: float) -> NameMention:
    line = fragment.line_start + fragment.text.count("\n", 0, span.start)
    return NameMention(named_note, in_note, fragment.key, line, fragment.text[span.start : span.end], rarity)
