"""Comparison of a sentence with the sources that it cites: which of its words, names and numbers they have.

A retelling has words of its own, but the names and numbers of its source. So a sentence is not found if a name or
number is missing, or if its sources have few of its rare words and are not near it in meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.pack.check.answer import Sentence
from excerpt.pack.check.lookup import VaultLookup
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS, detect_language, script_characters
from excerpt.text.words import QueryWord

MIN_FOUND = 0.36
"""Least share of a sentence's words, by weight, that its sources have, with what its similarity to them adds."""
MEANING_WEIGHT = 0.75
"""What the similarity of a sentence to a source counts beside the share of its words.

Both constants were chosen by `python -m benchmarks.cited_sentences`; see docs/design/citations.md.
"""
_MIN_WORDS, _MIN_WORDS_BESIDE_QUOTATION = 2, 5
"""Least number of important words of a sentence that is compared by them: "So it is" has one.

Fewer words beside a quotation may only introduce it: "The documentation recommends this with the words".
"""


class SourceWords(Struct, frozen=True):
    """The words of a source: `terms` of the analyzer, `joined` neighbouring words, and the values of its numbers.

    `text` is the source's text, `language` the language of it, "" if unknown.
    """

    text: str
    terms: frozenset[str]
    joined: frozenset[str]
    numbers: frozenset[str]
    language: str


class ComparedSentence(Struct, frozen=True):
    """The important words of a sentence, the words that no source has, and whether these are so few that it holds."""

    words: tuple[str, ...]
    missing: tuple[str, ...]
    holds: bool


def read_source_words(heading: str, text: str, lookup: VaultLookup) -> SourceWords:
    """Return the words of a source with the text `text` and, in the `heading`, the names that it is known by."""
    whole = f"{heading}\n\n{text}"
    runs = _RUN.findall(fold(whole))
    joined = {"".join(runs[at : at + size]) for at in range(len(runs)) for size in range(1, _MAX_JOINED + 1)}
    numbers = {value for number in _NUMBER.findall(whole) for value in _number_values(number)}
    numbers |= {_NUMBER_WORDS[run] for run in runs if run in _NUMBER_WORDS}
    terms = lookup.analyze_terms(whole)
    return SourceWords(text, terms, frozenset(joined), frozenset(numbers), detect_language(text))


def compare_sentence(sentence: Sentence, sources: Sequence[SourceWords], lookup: VaultLookup) -> ComparedSentence:
    """Compare the words of a sentence, without its quotations, with those of the sources that it cites.

    Names and numbers that are common in the vault, and words of another language than the sources', do not count.
    """
    languages = {source.language for source in sources} - {""}
    language = detect_language(sentence.unquoted)
    names = [
        name
        for name in dict.fromkeys(find_names(sentence.unquoted, language or min(languages, default="")))
        if not any(_has_name(source, name, lookup) for source in sources) and lookup.select_important_words(name)
    ]
    words = lookup.select_important_words(sentence.unquoted)
    missing = [word for word in words if not any(_has_word(source, word) for source in sources)]
    wholes = [
        (match.start(), match.end()) for name in names for match in re.finditer(re.escape(name), sentence.unquoted)
    ]
    wholes += [(word.start, word.end) for word in missing if word.is_compound]
    # The parts of a compound are words too; only the whole is named.
    parts = {word.surface for word in missing if any(_is_part(word, *whole) for whole in wholes)}
    surfaces = [word.surface for word in missing if word.surface not in parts]
    return ComparedSentence(
        tuple(word.surface for word in words if word.surface not in parts),
        tuple(dict.fromkeys((*names, *(surface for surface in surfaces if surface not in names)))),
        not names
        and (
            len(words) < (_MIN_WORDS_BESIDE_QUOTATION if sentence.quotes else _MIN_WORDS)
            or bool(language and languages and language not in languages)
            or _has_enough_words(sentence.text, words, missing, sources, lookup)
        ),
    )


def _is_part(word: QueryWord, start: int, end: int) -> bool:
    """Return whether a word is a proper part of the characters `start` to `end` (exclusive) of the sentence."""
    return start <= word.start and word.end <= end and (word.start, word.end) != (start, end)


def _has_enough_words(
    sentence: str,
    words: Sequence[QueryWord],
    missing: Sequence[QueryWord],
    sources: Sequence[SourceWords],
    lookup: VaultLookup,
) -> bool:
    total = sum(map(lookup.weigh_word, words))
    share = 1 - sum(map(lookup.weigh_word, missing)) / total
    if share >= MIN_FOUND:
        return True
    similarity = max(lookup.compare_meaning(sentence, source.text) for source in sources)
    return share + MEANING_WEIGHT * similarity >= MIN_FOUND


def _has_word(source: SourceWords, word: QueryWord) -> bool:
    return not source.terms.isdisjoint(word.terms) or _NUMBER_WORDS.get(fold(word.surface)) in source.numbers


def _has_name(source: SourceWords, name: str, lookup: VaultLookup) -> bool:
    """Return whether a source has a number of the same value, or a name that may be spelled as several words."""
    if _NUMBER.fullmatch(name):
        return not source.numbers.isdisjoint(_number_values(name))
    runs = _RUN.findall(fold(name))
    if len(runs) > 1 or _IDENTIFIER.match(name):
        runs[-1] = runs[-1].removesuffix("s")  # APIs
        return _has_words_in_sequence(source, runs) or _has_words_in_sequence(source, [*runs[:-1], f"{runs[-1]}s"])
    return not source.terms.isdisjoint(lookup.analyze_terms(name))


def _has_words_in_sequence(source: SourceWords, runs: Sequence[str]) -> bool:
    spans = range(max(len(runs) - _MAX_JOINED, 0) + 1)
    return all("".join(runs[at : at + _MAX_JOINED]) in source.joined for at in spans)


# --- names ------------------------------------------------------------------------------------------------------------

_WORD_CHARACTER = rf"[^\W_{WIDE_CHARACTERS}]"
_RUN = lazy_pattern(f"{_WORD_CHARACTER}+")
_MAX_JOINED = 5  # words of a source that are compared with one name: "VS Code" with "VSCode"
_TOKEN = lazy_pattern(rf"{_WORD_CHARACTER}(?:[^\W{WIDE_CHARACTERS}]|[-.,'’/\\@:+‐‑](?={_WORD_CHARACTER}))*(?:\+\+|#)?")
_HYPHEN = lazy_pattern("[-‐‑]")
_POSSESSIVE = lazy_pattern(r"['’]s$")
_IDENTIFIER = lazy_pattern(r"(?=.*[^\W\d_])(?:.*\d|.*[_./\\@:+#]|.*[^\W\d_][A-Z]|[A-Z].*[-‐‑])")
_NEW_SENTENCE = lazy_pattern(r"[.!?:;…\n]")
_CAPITALISED_NOUNS = frozenset(("de", "lb"))  # languages in which a capital does not make a name
_MAX_CAPITALISED = 0.5  # share of the words of a sentence above which it is a title


def find_names(sentence: str, language: str) -> Iterator[str]:
    """Yield the names and numbers of a sentence in a language (ISO 639-1 code, or "" if unknown), in order.

    A name is an identifier (`Get-Item`, `one.two`, macOS), code of one word, a word with a capital within the sentence,
    or a word in Latin letters in another script.
    """
    tokens = list(_TOKEN.finditer(sentence))
    ends = [0, *(token.end() for token in tokens)]
    is_first = [
        not end or _NEW_SENTENCE.search(sentence, end, token.start()) is not None
        for end, token in zip(ends, tokens, strict=False)
    ]
    capitals = sum(token[0][0].isupper() for token, first in zip(tokens, is_first, strict=True) if not first)
    are_capitals_names = language not in _CAPITALISED_NOUNS and capitals <= _MAX_CAPITALISED * len(tokens)
    for token, first in zip(tokens, is_first, strict=True):
        is_code = sentence[token.start() - 1 : token.start()] == sentence[token.end() : token.end() + 1] == "`"
        written = _POSSESSIVE.sub("", token[0])
        parts = _HYPHEN.split(written)
        is_compound = len(parts) > 1 and not is_code and not (are_capitals_names and all(map(_is_capitalised, parts)))
        for part in parts if is_compound else [written]:
            if (
                is_code
                or _NUMBER.fullmatch(part)
                or _IDENTIFIER.match(part)
                or (len(part) > 1 and part.isascii() and language and not _has_latin_letters(language))
                or (len(part) > 1 and _is_capitalised(part) and not first and are_capitals_names)
            ):
                yield part


def _is_capitalised(word: str) -> bool:
    return word[:1].isupper()


@cache
def _has_latin_letters(language: str) -> bool:
    return re.match(f"[{script_characters(language)}]", "a") is not None


# --- numbers ----------------------------------------------------------------------------------------------------------

_NUMBER = lazy_pattern(r"\d+(?:[.,'’]\d+)*")
_GROUPED = lazy_pattern(r"\d{1,3}(?:([.,'’])\d{3})(?:\1\d{3})*")
_NUMBER_WORDS = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "null ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
        "zero un deux trois quatre cinq six sept huit neuf dix onze douze",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    )
    for number, word in enumerate(words.split())
}


def _number_values(number: str) -> Iterator[str]:
    """Yield the values that a number may have, as digits with a point: 1.500 is 1500 or 1.5."""
    whole, _, fraction = number.replace(",", ".").rpartition(".")
    if _GROUPED.fullmatch(number) or number.isdigit():
        yield _format_number(number, "")
    if whole and (whole.isdigit() or _GROUPED.fullmatch(number[: len(whole)])):
        yield _format_number(number[: len(whole)], fraction)
    elif whole:
        yield number  # such as a version


def _format_number(whole: str, fraction: str) -> str:
    digits, decimals = (
        "".join(str(unicodedata.decimal(each)) for each in part if each.isdecimal()) for part in (whole, fraction)
    )
    digits, decimals = digits.lstrip("0") or "0", decimals.rstrip("0")
    return f"{digits}.{decimals}" if decimals else digits
