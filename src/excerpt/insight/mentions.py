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

from excerpt.index.snapshot import Snapshot
from excerpt.insight.ties import rarity
from excerpt.model import Fragment
from excerpt.search.evidence import asked_words
from excerpt.search.phrases import rows_with
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS, is_function_word

MOST_NAMED = 200
"""Fragments that have the words of a name: what more have is no name but a word of the vault."""
MOST_CALLED = 3
"""Notes of one name; what more are called (index, README) names none."""
MOST_WORDS = 12
"""Words, or characters of scripts without spaces, of the longest name that is looked for."""
SHORTEST = 3
"""Letters of the shortest name, of scripts with spaces; of others two characters."""
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
_BEGINS_SENTENCE = re.compile(r"(?:\A|\n|[.!?:;…]\s|\|)[\s>*+_\-\"'“‘«(\[\d.)=#|]*\Z")
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
    return _NOT_TEXT.sub(lambda found: re.sub(r"[^\n]", _GAP, found[0]), text)


def names_in(text: str, names: Mapping[str, object]) -> Iterator[Found]:
    """The folded `names` that stand in `text`, the longest at each place, none inside another."""
    words = [(found.start(), found.end(), fold(found[0])) for found in _WORD.finditer(text)]
    at = 0
    while at < len(words):
        longest = 0
        key, last = "", words[at][0]
        for count, (start, end, word) in enumerate(words[at : at + MOST_WORDS], 1):
            between = text[last:start]
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
    return text[found.start].isupper() and _BEGINS_SENTENCE.search(before) is not None


def named_here(snapshot: Snapshot, note: int, fragments: Sequence[Fragment]) -> list[Named]:
    """The notes that the text of a note's `fragments` names."""
    named: list[Named] = []
    names = snapshot.facets.names
    for fragment in fragments:
        text = text_alone(fragment.text)
        for found in names_in(text, names):
            called = names[found.key].tolist()
            if note in called or len(called) > MOST_CALLED:
                continue
            meant = [of for of in called if _says(snapshot, text, found, of)]
            rarity = _rarity(snapshot, _most_spread(snapshot, found.key)) if meant else 0.0
            named += [_named(of, note, fragment, found, rarity) for of in meant if rarity > 0]
    return named


def named_there(snapshot: Snapshot, note: int) -> list[Named]:
    """Where the text of other notes names this one."""
    named: list[Named] = []
    names, table = snapshot.facets.names, snapshot.table
    for name in dict.fromkeys(map(fold, _spelled(snapshot, note))):
        words = asked_words(name, snapshot)
        if not words or len(names.get(name, ())) > MOST_CALLED or _most_spread(snapshot, name) == 0:
            continue
        rows = rows_with(snapshot.lexical, words, ("text",))
        rows = rows[table.notes[rows] != note]
        if not 0 < len(rows) <= MOST_NAMED:
            continue
        rarity = _rarity(snapshot, len(rows))
        for within, fragment in zip(
            table.notes[rows].tolist(), snapshot.fragments(table.keys[rows].tolist()), strict=True
        ):
            text = text_alone(fragment.text)
            named += [
                _named(note, within, fragment, found, rarity)
                for found in names_in(text, names)
                if found.key == name and _says(snapshot, text, found, note)
            ]
    return named


def _named(of: int, within: int, fragment: Fragment, found: Found, rarity: float) -> Named:
    line = fragment.line_start + fragment.text.count("\n", 0, found.start)
    return Named(of, within, fragment.key, line, fragment.text[found.start : found.end], rarity)


def _spelled(snapshot: Snapshot, note: int) -> tuple[str, ...]:
    """What a note is called, as it is spelled."""
    info = snapshot.note_info(snapshot.table.paths[note])
    return (info.title, PurePosixPath(info.path).stem, *info.aliases)


def _says(snapshot: Snapshot, text: str, found: Found, of: int) -> bool:
    """Whether a name found in `text` is meant as that of the note `of`."""
    name = text[found.start : found.end]
    if not may_name(name, snapshot.languages[:1]):
        return False
    return not _ordinary(name) or (not _begins_sentence(text, found) and name in _spelled(snapshot, of))


def _most_spread(snapshot: Snapshot, name: str) -> int:
    """In how many fragments a name may stand: those of its rarest word."""
    words = asked_words(name, snapshot)
    return min((sum(map(snapshot.lexical.count, word.terms)) for word in words), default=0)


def _rarity(snapshot: Snapshot, fragments: int) -> float:
    """1 for what stands in one fragment, 0 for what stands in all."""
    return rarity(fragments, snapshot.lexical.doc_count) if fragments <= snapshot.lexical.doc_count else 0.0
