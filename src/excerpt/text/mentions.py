"""Names of notes in a text: where they occur, and whether such a name means the note.

A name occurs in whole words, as the note spells it except for case; the longest name wins, so that "Obsidian Sync"
does not name the note Sync. Links, code, HTML and addresses are not searched. A name that is one ordinary word is
mostly meant as the word: it counts only with the capital letter of the note's own name, and not at the beginning of a
sentence, where any word has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS, is_function_word

MAX_NAMESAKES = 3
"""The most notes that may share a name. A name of more notes (index, README) is ignored."""
MAX_NAME_WORDS = 12
"""The most words of a name; in a script without spaces, each character counts as a word."""
MIN_NAME_LETTERS = 3
"""The fewest letters of a name; in a script without spaces, two characters are enough."""
MAX_PASSAGE_LETTERS = 100_000
"""The most characters of one passage that are read; only a text of one huge line has more."""
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e\u200c\u200d"
_WORD = lazy_pattern(rf"[{WIDE_CHARACTERS}]|[^\W_{WIDE_CHARACTERS}][^\W_{WIDE_CHARACTERS}{_MARKS}]*(?:\+\+|#(?!\w))?")
_WIDE = lazy_pattern(f"[{WIDE_CHARACTERS}]")
_MARKUP = lazy_pattern(
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
_ADDRESS = lazy_pattern(
    r"!\[\[[^\[\]\n]*\]\]"
    r"|(?<=\])\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
    r"|^\[[^\[\]\n]+\]:.*$"
    r"|</?[A-Za-z][^<>\n]*>|<!--.*?-->"
    r"|[A-Za-z][A-Za-z0-9+.-]*://[^\s|)\]]+|\bwww\.[^\s|)\]]+|\S+@\S+\.\w+",
    re.MULTILINE | re.DOTALL,
)
_BEGINS_SENTENCE = lazy_pattern(r"(?:\A|\n|[.!?:;…]\s|\|)[\s>*+_\-\"'“‘«(\[\d.)=#|]*\Z")
_BLANK = "\0"


class NameSpan(Struct, frozen=True):
    """A name in a text, at characters `start` to `end` (exclusive); `key` is the name case-folded."""

    start: int
    end: int
    key: str


def blank_markup(text: str) -> str:
    """Return `text` with links, code, HTML, addresses and tags replaced by null characters; its length stays."""
    return _MARKUP.sub(_blank_match, text)


def blank_addresses(text: str) -> str:
    """Return `text` with link targets, embeds, HTML and addresses replaced by null characters; its length stays."""
    return _ADDRESS.sub(_blank_match, text)


def _blank_match(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", _BLANK, match[0])


def find_names(text: str, names: Mapping[str, object], start: int = 0) -> Iterator[NameSpan]:
    """Yield where `names` occur in `text` from character `start` on; the keys of `names` are case-folded.

    At each position only the longest name is found, and no name inside another.
    """
    words = [(match.start(), match.end(), fold(match[0])) for match in _WORD.finditer(text, start)]
    at = 0
    while at < len(words):
        longest = 0
        key, last = "", words[at][0]
        for count, (begin, end, word) in enumerate(words[at : at + MAX_NAME_WORDS], 1):
            between = text[last:begin]
            if len(between) > 3 or _BLANK in between or "\n\n" in between:
                break
            key += (" " if between.isspace() else between) + word
            last = end
            if key in names:
                longest, match = count, NameSpan(words[at][0], end, key)
        if longest:
            yield match
        at += max(longest, 1)


def can_be_name(name: str, languages: Sequence[str]) -> bool:
    """Return whether `name` can stand for a note in a text: long enough, and neither a number nor a function word."""
    if _WIDE.search(name):
        return len(name) > 1
    return len(name) >= MIN_NAME_LETTERS and any(map(str.isalpha, name)) and not is_function_word(fold(name), languages)


def _is_ordinary_word(name: str) -> bool:
    """Return whether `name` is spelled like an ordinary word: only letters, and no capital after the first letter."""
    return name.isalpha() and (name.islower() or name[1:].islower()) and not _WIDE.search(name)


def _begins_sentence(text: str, span: NameSpan) -> bool:
    """Return whether the name at `span` begins a sentence of `text`; a capital there is no sign of a name."""
    before = text[max(0, span.start - 40) : span.start]
    return _BEGINS_SENTENCE.search(before) is not None


def is_note_meant(
    text: str, span: NameSpan, load_names: Callable[[], Collection[str]], languages: Sequence[str]
) -> bool:
    """Return whether the name at `span` of `text` can mean a note, and not just an ordinary word.

    `load_names` returns the names of the note as written; it is called for an ordinary word only.
    """
    name = text[span.start : span.end]
    if not can_be_name(name, languages):
        return False
    if not _is_ordinary_word(name):
        return True
    return name[0].isupper() and name in load_names() and not _begins_sentence(text, span)
