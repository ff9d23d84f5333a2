"""A word of any script -> the form it is indexed under: folded, and stemmed by the language of its script.

Stemming comes before the marks go, since stemmers of French, Russian or Swedish read them; what is left is stripped,
so that "Café", "café" and "cafe" are one. ä becomes a (not ae): that is what a search typed without umlauts says, and
what the German stemmer leaves; it reads "ae" as "ä" itself, so "Haeuser" finds "Häuser" in a German note.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import Stemmer

MAX_TERM = 64
"""Characters of the longest term; longer words (encoded data, mostly) are indexed by their beginning."""

_ALGORITHMS = {
    "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
_SCRIPTS = (
    ("el", "\u0370", "\u03ff"), ("ru", "\u0400", "\u052f"), ("hy", "\u0530", "\u058f"),
    ("ar", "\u0600", "\u06ff"), ("hi", "\u0900", "\u097f"), ("ta", "\u0b80", "\u0bff"),
)  # fmt: skip
_SCRIPT_OF = {
    "el": "el", "ru": "ru", "uk": "ru", "bg": "ru", "sr": "ru", "hy": "hy", "ar": "ar", "fa": "ar", "hi": "hi",
    "ne": "hi", "ta": "ta", "zh": "", "ja": "", "ko": "", "th": "", "lo": "", "my": "", "km": "", "he": "",
}  # fmt: skip

# Joiners, soft hyphens and direction marks are no part of a word.
_IGNORED = re.compile("[\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\u0640]")
# Marks that a reader may leave out: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel signs. Those of
# Indic scripts are letters in all but name.
_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0]"
)
# Letters whose stroke or ligature Unicode does not take apart; dotless i; Arabic and Persian letters written alike.
_ALIKE = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i", "ĸ": "k"}
    | {"ى": "ي", "ی": "ي", "ة": "ه", "ک": "ك", "ٱ": "ا"}
)


def fold(text: str) -> str:
    """`text` without what a reader may leave out: case, marks, width, letter variants. Not stemmed."""
    return text.lower() if text.isascii() else _strip(_lower(text))


def stem(word: str, language: str) -> str:
    """The term of one word, without any separator in it, in a note of `language`.

    A word is stemmed by the note's language if it is in that language's script, else by the commonest language of its
    own script. A note of unknown language counts as English: it is mostly names, code and headings.
    """
    lowered = word.lower() if word.isascii() else _lower(word)
    lowered = lowered[:MAX_TERM]
    if lowered.isalpha():
        script = _script(lowered[0])
        if script == "ar" and language != "fa":
            return _stem_arabic(_strip(lowered))
        own = language if language and _SCRIPT_OF.get(language, "latin") == script else _default(script)
        # Bulgarian and Ukrainian have no stemmer of their own; the Russian one knows many of their endings.
        algorithm = _ALGORITHMS.get("ru" if script == "ru" and own not in _ALGORITHMS else own)
        if algorithm:
            lowered = _stemmer(algorithm).stemWord(lowered) or lowered
    return lowered if lowered.isascii() else _strip(lowered)


def _lower(text: str) -> str:
    return _IGNORED.sub("", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()))


def _strip(lowered: str) -> str:
    bare = _MARKS.sub("", unicodedata.normalize("NFD", lowered))
    return unicodedata.normalize("NFC", bare).translate(_ALIKE)


def _script(letter: str) -> str:
    """The name of a letter's script: that of its commonest language, "latin" or "" (no stemmer)."""
    if letter < "\u0250" or "\u1e00" <= letter <= "\u1eff":
        return "latin"
    for script, first, last in _SCRIPTS:
        if first <= letter <= last:
            return script
    return ""


def _default(script: str) -> str:
    return "en" if script == "latin" else script


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm, 0)  # without its own cache: words.py keeps terms


# Light10 (Larkey, Ballesteros and Connell, 2007), the stemmer that Arabic retrieval has not improved upon: it takes
# off "and", the article with its prepositions, and endings, and leaves the broken plurals alone.
_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")
_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")


def _stem_arabic(word: str) -> str:
    if len(word) > 3 and word[0] == "و":
        word = word[1:]
    for article in _ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + 2:
            word = word[len(article) :]
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + 2:
            word = word[: -len(ending)]
    return word
