"""Notes named in the text of other notes, by title, file name or alias, where no link stands.

A name is what the text spells as the note spells it, whatever the case, in whole words; the longest wins, so that
"Obsidian Sync" does not name the note Sync. Names inside links, code, HTML and addresses are not read as text. A name
of one ordinary word says little, as the word is mostly meant as such: it counts only with the capital that the note's
own name has, and not where any word would have it, at the beginning of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from excerpt.index.snapshot import Snapshot
from excerpt.insight.ties import rarity
from excerpt.model import Fragment
from excerpt.search.evidence import asked_words
from excerpt.search.lexical import Rows
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS, is_function_word

MOST_NAMED = 200
"""Fragments that have all words of a name: what more have is no name but what the vault is about."""
MOST_CALLED = 3
"""Notes of one name; what more are called (index, README) names none."""
MOST_WORDS = 12
"""Words, or characters of scripts without spaces, of the longest name that is looked for."""
SHORTEST = 3
"""Letters of the shortest name, of scripts with spaces; of others two characters."""
MOST_READ = 100_000
"""Letters of one passage that are read; only a line without end has more."""
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e\u200c\u200d"
_WORD = re.compile(rf"[{WIDE_CHARACTERS}]|[^\W_{WIDE_CHARACTERS}][^\W_{WIDE_CHARACTERS}{_MARKS}]*(?:\+\+|#(?!\w))?")
_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")
_NOT_TEXT = re.compile(
    r"^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)"
    r"|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    r"|!?\[\[[^\[\]\n]*\]\]"
    r"|!?\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\[\]\n]*\])"
    r"|^\[[^\[\]\n]+\]:.*$"
    r"|</?[A-Za-z][^<>\n]*>|<!--.*?-->"
    r"|[A-Za-z][A-Za-z0-9+.-]*://\S+|\bwww\.\S+|\S+@\S+\.\w+"
    r"|(?<!\S)#[^\s#]+",
    re.MULTILINE | re.DOTALL,
)
_ADDRESS = re.compile(
    r"!\[\[[^\[\]\n]*\]\]"
    r"|(?<=\])\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
    r"|^\[[^\[\]\n]+\]:.*$"
    r"|</?[A-Za-z][^<>\n]*>|<!--.*?-->"
    r"|[A-Za-z][A-Za-z0-9+.-]*://[^\s|)\]]+|\bwww\.[^\s|)\]]+|\S+@\S+\.\w+",
    re.MULTILINE | re.DOTALL,
)
_BEGINS_SENTENCE = re.compile(r"(?:\A|\n|[.!?:;…]\s|\|)[\s>*+_\-\"'“‘«(\[\d.)=#|]*\Z")
_PARAGRAPH = re.compile(r"\S(?:[^\n]|\n(?![^\S\n]*\n))*")
_GAP = "\0"


@dataclass(frozen=True, slots=True)
class Named:
    """The note numbered `of` is named in the fragment with the key `fragment`, of the note numbered `within`, on
    `line`, as `text`. `rarity` is 1 for a name that stands in one fragment only, 0 for one that stands everywhere."""

    of: int
    within: int
    fragment: int
    line: int
    text: str
    rarity: float


@dataclass(frozen=True, slots=True)
class Found:
    """A name in a text: characters `start` to `end` (exclusive), folded as `key`."""

    start: int
    end: int
    key: str


def text_alone(text: str) -> str:
    """`text` with what is not read as text (links, code, HTML, addresses, tags) blanked out, of the same length."""
    return _NOT_TEXT.sub(_blank, text)


def without_addresses(text: str) -> str:
    """`text` with what no reader reads as words blanked out (where links lead, what is embedded, HTML, addresses), of
    the same length."""
    return _ADDRESS.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", _GAP, found[0])


def names_in(text: str, names: Mapping[str, object], start: int = 0) -> Iterator[Found]:
    """The folded `names` that stand in `text` from `start` on, the longest at each place, none inside another."""
    words = [(found.start(), found.end(), fold(found[0])) for found in _WORD.finditer(text, start)]
    at = 0
    while at < len(words):
        longest = 0
        key, last = "", words[at][0]
        for count, (begin, end, word) in enumerate(words[at : at + MOST_WORDS], 1):
            between = text[last:begin]
            if len(between) > 3 or _GAP in between or "\n\n" in between:
                break
            key += (" " if between.isspace() else between) + word
            last = end
            if key in names:
                longest, found = count, Found(words[at][0], end, key)
        if longest:
            yield found
        at += max(longest, 1)


def may_name(name: str, languages: Sequence[str]) -> bool:
    """Whether `name`, as a text spells it, is long enough to name anything, and no number or filling word."""
    if _WIDE.search(name):
        return len(name) > 1
    return len(name) >= SHORTEST and any(map(str.isalpha, name)) and not is_function_word(fold(name), languages)


def _ordinary(name: str) -> bool:
    """Whether a name is spelled as any word may be: one word, no capital but the first letter's, no digit or sign."""
    return name.isalpha() and (name.islower() or name[1:].islower()) and not _WIDE.search(name)


def _begins_sentence(text: str, found: Found) -> bool:
    """Whether what was found has a capital that any word would have there."""
    before = text[max(0, found.start - 40) : found.start]
    return _BEGINS_SENTENCE.search(before) is not None


class Names:
    """Who names whom in the vault of one snapshot. Keeps what notes are called while it is asked."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._names = snapshot.facets.names
        self._languages = snapshot.languages[:1]
        self._spelled: dict[int, tuple[str, ...]] = {}
        self._rarities: dict[str, float] = {}

    def named_by(self, note: int, fragments: Sequence[Fragment]) -> list[Named]:
        """The notes that the text of a note's `fragments` names."""
        named: list[Named] = []
        for fragment in fragments:
            text = text_alone(fragment.text)
            for found in names_in(text, self._names):
                called = self._names[found.key].tolist()
                if note in called or len(called) > MOST_CALLED:
                    continue
                rarity = self._rarity(found.key)
                meant = (of for of in called if rarity > 0 and self._says(text, found, of))
                named += [_named(of, note, fragment, found, rarity) for of in meant]
        return named

    def naming(self, note: int) -> list[Named]:
        """Where the text of other notes names this one."""
        named: list[Named] = []
        snapshot, table = self._snapshot, self._snapshot.table
        for name in dict.fromkeys(map(fold, self._spelled_of(note))):
            rows = self._with_words_of(name)
            rows = rows[table.notes[rows] != note]
            if not 0 < len(rows) <= MOST_NAMED or len(self._names.get(name, ())) > MOST_CALLED:
                continue
            fragments = snapshot.fragments(table.keys[rows].tolist())
            rare = rarity(len(rows), snapshot.lexical.doc_count)
            for within, fragment in zip(table.notes[rows].tolist(), fragments, strict=True):
                named += [_named(note, within, fragment, found, rare) for found in self._named_as(name, fragment, note)]
        return named

    def _with_words_of(self, name: str) -> Rows:
        """Rows, ascending, that have all words of a name in their text; of a name without words none."""
        lexical = self._snapshot.lexical
        words = [word for word in asked_words(name, self._snapshot) if not word.whole]
        words.sort(key=lambda word: sum(map(lexical.count, word.terms)))
        rows: Rows | None = None
        for word in words:
            having = np.concatenate([lexical.postings("text", term).rows for term in word.terms])
            rows = np.unique(having) if rows is None else rows[np.isin(rows, having)]
            if not len(rows):
                break
        return np.zeros(0, np.int32) if rows is None else rows

    def _named_as(self, name: str, fragment: Fragment, note: int) -> Iterator[Found]:
        """Where one fragment has `name`, and not in a longer one. No name reaches over a blank line."""
        spaced = " ".join(name.split())
        # Most fragments that have all of its words do not have the name; what follows is ten times as slow.
        passage = fragment.text[:MOST_READ]
        if spaced not in _spaced(passage):
            return
        text = text_alone(passage)
        for paragraph in _PARAGRAPH.finditer(text):
            if spaced in _spaced(paragraph[0]):
                for found in names_in(text[: paragraph.end()], self._names, paragraph.start()):
                    if found.key == name and self._says(text, found, note):
                        yield found

    def _says(self, text: str, found: Found, of: int) -> bool:
        """Whether a name found in `text` is meant as that of the note `of`."""
        name = text[found.start : found.end]
        if not may_name(name, self._languages):
            return False
        if not _ordinary(name):
            return True
        return name[0].isupper() and name in self._spelled_of(of) and not _begins_sentence(text, found)

    def _spelled_of(self, note: int) -> tuple[str, ...]:
        """What a note is called, as it is spelled."""
        if note not in self._spelled:
            info = self._snapshot.note_info(self._snapshot.table.paths[note])
            self._spelled[note] = (info.title, PurePosixPath(info.path).stem, *info.aliases)
        return self._spelled[note]

    def _rarity(self, name: str) -> float:
        """That of the rarest word of a name: at least as rare is the name."""
        if name not in self._rarities:
            lexical = self._snapshot.lexical
            words = asked_words(name, self._snapshot)
            spread = min((sum(map(lexical.count, word.terms)) for word in words), default=0)
            self._rarities[name] = rarity(min(spread, lexical.doc_count), lexical.doc_count) if spread else 0.0
        return self._rarities[name]


def _spaced(text: str) -> str:
    """`text` folded, with one space where there is any."""
    return " ".join(fold(text).split())


def _named(of: int, within: int, fragment: Fragment, found: Found, rarity: float) -> Named:
    line = fragment.line_start + fragment.text.count("\n", 0, found.start)
    return Named(of, within, fragment.key, line, fragment.text[found.start : found.end], rarity)
