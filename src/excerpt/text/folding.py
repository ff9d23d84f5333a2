"""Folding and stemming: the forms in which a word is indexed and searched.

A word of any script is indexed in one form: folded, and stemmed by the language of its script.

Stemming precedes the removal of marks, since stemmers of French, Russian or Swedish use them; then the stem is
stripped, so that "Café", "café" and "cafe" are one term. ä becomes a (not ae), as in a query typed without umlauts
and as the German stemmer does; that stemmer reads "ae" as "ä", so "Haeuser" finds "Häuser" in a German note.

Where a stemmer reads accents, a word has another stem without them: "klientów" is klient, "klientow" klientow. Such a
word has a second term at its position, the stem of the word without accents, ended by UNACCENTED_MARK. A query word
without accents asks for both terms, one with accents for its stem and for that of the unaccented spelling. So every
occurrence counts once, and the mark tells counts and lengths what is no word of its own.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import Stemmer

from excerpt.base.patterns import lazy_pattern

MAX_TERM_CHARACTERS = 64
"""Maximum number of characters of a term; of longer words (encoded data) the beginning is indexed."""

_ALGORITHMS = {
    "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
_SCRIPT_RANGES = (
    ("el", "\u0370", "\u03ff"), ("ru", "\u0400", "\u052f"), ("hy", "\u0530", "\u058f"),
    ("ar", "\u0600", "\u06ff"), ("hi", "\u0900", "\u097f"), ("ta", "\u0b80", "\u0bff"),
)  # fmt: skip
_SCRIPT_BY_LANGUAGE = {
    "el": "el", "ru": "ru", "uk": "ru", "bg": "ru", "sr": "ru", "hy": "hy", "ar": "ar", "fa": "ar", "hi": "hi",
    "ne": "hi", "ta": "ta", "zh": "", "ja": "", "ko": "", "th": "", "lo": "", "my": "", "km": "", "he": "",
}  # fmt: skip

# Joiners, soft hyphens and direction marks are not part of a word.
_IGNORED = lazy_pattern("[\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\u0640]")
# Marks that a reader may leave out: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel signs. Marks of
# Indic scripts are kept, as they spell vowels.
_MARKS = lazy_pattern(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0]"
)
# Letters with a stroke or ligature that Unicode does not decompose; dotless i; similar Arabic and Persian letters.
_LETTER_VARIANTS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i", "ĸ": "k"}
    | {"ى": "ي", "ی": "ي", "ة": "ه", "ک": "ك", "ٱ": "ا"}
)


def fold(text: str) -> str:
    """Return `text` in lower case, without accents, with "o" for "ø" and the like. It is not stemmed."""
    return text.lower() if text.isascii() else _strip_marks(_normalise(text))


UNACCENTED_MARK = "\u0301"
"""Last character of the second term of a word with accents; no other term ends with it, as accents are removed."""


def stem(word: str, language: str) -> str:
    """Return the index term of `word` (without separators) in a note in `language`: folded and stemmed.

    The word is stemmed as one of the note's language if it is in that language's script, else as one of the most common
    language in its own script. A note of unknown language ("") counts as English: it is mostly names, code and
    headings.
    """
    return _stem_lowered(_lower(word), language)


def indexed_terms(word: str, language: str) -> tuple[str, ...]:
    """Return the terms under which `word` is indexed in a note in `language`: its stem, and the term without accents.

    The second is left out where the word has the same stem without its accents.
    """
    if word.isascii():
        return (_stem_lowered(word.lower()[:MAX_TERM_CHARACTERS], language),)
    lowered = _lower(word)
    own = _stem_lowered(lowered, language)
    if lowered.isascii() or (plain := remove_accents(lowered)) == lowered:
        return (own,)
    unaccented = _stem_lowered(plain, language)
    return (own,) if unaccented == own else (own, unaccented + UNACCENTED_MARK)


def searched_terms(word: str, language: str) -> tuple[str, ...]:
    """Return the terms for which a query word is searched in notes in `language`, its stem first."""
    lowered = _lower(word)
    own = _stem_lowered(lowered, language)
    if lowered.isascii() or (plain := remove_accents(lowered)) == lowered:
        return (own, own + UNACCENTED_MARK) if lowered.isalpha() else (own,)
    return own, _stem_lowered(plain, language)


def remove_accents(lowered: str) -> str:
    """Return a word in lower case as it is typed without accents.

    In Cyrillic, only stress marks are removed, and ё becomes е; й and ї are letters that nobody leaves out.
    """
    if any("\u0400" <= character <= "\u052f" for character in lowered):
        return _STRESS.sub("", unicodedata.normalize("NFC", lowered)).replace("ё", "е")
    return _strip_marks(lowered)


_STRESS = lazy_pattern("[\u0300\u0301]")


def _lower(word: str) -> str:
    return (word.lower() if word.isascii() else _normalise(word))[:MAX_TERM_CHARACTERS]


def _stem_lowered(lowered: str, language: str) -> str:
    if lowered.isalpha():
        script = _script_of_letter(lowered[0])
        if script == "ar" and language != "fa":
            return _stem_arabic(_strip_marks(lowered))
        own = (
            language if language and _SCRIPT_BY_LANGUAGE.get(language, "latin") == script else _default_language(script)
        )
        # Bulgarian and Ukrainian have no stemmer of their own; the Russian one knows many of their endings.
        algorithm = _ALGORITHMS.get("ru" if script == "ru" and own not in _ALGORITHMS else own)
        if algorithm:
            lowered = _stemmer(algorithm).stemWord(lowered) or lowered
    return lowered if lowered.isascii() else _strip_marks(lowered)


def _normalise(text: str) -> str:
    return _IGNORED.sub("", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()))


def _strip_marks(lowered: str) -> str:
    bare = _MARKS.sub("", unicodedata.normalize("NFD", lowered))
    return unicodedata.normalize("NFC", bare).translate(_LETTER_VARIANTS)


def _script_of_letter(letter: str) -> str:
    """Return the script of a letter: "latin", the code of its main language ("ru"), or "" (no stemmer)."""
    if letter < "\u0250" or "\u1e00" <= letter <= "\u1eff":
        return "latin"
    for script, first, last in _SCRIPT_RANGES:
        if first <= letter <= last:
            return script
    return ""


def _default_language(script: str) -> str:
    return "en" if script == "latin" else script


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm, 0)  # 0: without its own cache, because terms are cached here


# Light10 (Larkey, Ballesteros and Connell, 2007), still the best stemmer for Arabic retrieval: it removes "and", the
# article with its prepositions, and endings, and keeps broken plurals.
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
