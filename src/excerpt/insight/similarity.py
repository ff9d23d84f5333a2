"""Similarity of other notes to one note, or to one of its fragments, by meaning, words, links, tags and names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import FIELDS, NoteInfo
from excerpt.model import Fragment
from excerpt.search.bm25 import Rows
from excerpt.search.evidence import analyze_text
from excerpt.text.words import WIDE_CHARACTERS, QueryWord, analyze, fold, is_function_word, terms_of

# --- links, tags and folders ------------------------------------------------------------------------------------------
# Connections of notes other than their text: links, tags and folders. Each is a number from 0 to 1 for each note.

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

HALF = 1.5
"""Links in common at which the signal is half of its maximum.

These are about three by way of notes with few links, ten by way of notes with many.
"""
_DIVIDES = re.compile(r"[/.]")
_BEHIND_ALL = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class NoteLinks:
    """The notes that one note links to and those that link to it (numbers, ascending).

    `common` is, for every note, the weighted number of these links that it shares.
    """

    to: Ints
    back: Ints
    common: Floats

    @property
    def direct(self) -> Floats:
        """For every note, 1 if both link to each other, half of it if one does."""
        strengths = np.zeros(len(self.common), np.float32)
        strengths[self.to] += 0.5
        strengths[self.back] += 0.5
        return strengths


def links_of(snapshot: Corpus, note: int) -> NoteLinks:
    """Return the links of a note, and the weighted number of them that each other note shares.

    A third note that both link to, or that links to both, counts less the more links it has (Adamic and Adar, 2003):
    two notes on the same index page have little in common.
    """
    count = len(snapshot.table.paths)
    sources, targets = snapshot.facets.links
    to, back = targets[sources == note], sources[targets == note]
    linked_from, links_to = np.bincount(targets, minlength=count), np.bincount(sources, minlength=count)
    alike, beside = np.isin(targets, to), np.isin(sources, back)
    common = np.zeros(count)
    common += np.bincount(sources[alike], 1 / np.log(2 + linked_from[targets[alike]]), count)
    common += np.bincount(targets[beside], 1 / np.log(2 + links_to[sources[beside]]), count)
    common[note] = 0
    return NoteLinks(np.sort(to), np.sort(back), (common / (common + HALF)).astype(np.float32))


def in_common(snapshot: Corpus, links: NoteLinks, other: int) -> tuple[list[int], list[int]]:
    """Return the third notes that both link to, and those that link to both, with the fewest links first."""
    sources, targets = snapshot.facets.links
    both = np.intersect1d(links.to, targets[sources == other])
    back = np.intersect1d(links.back, sources[targets == other])
    return (
        sorted(both.tolist(), key=lambda note: (int(np.count_nonzero(targets == note)), note)),
        sorted(back.tolist(), key=lambda note: (int(np.count_nonzero(sources == note)), note)),
    )


def by_tags(snapshot: Corpus, tags: Iterable[str]) -> Floats:
    """Return, for each note, the rarity of those of `tags` that it has, as a share of the rarity of all `tags`."""
    count = len(snapshot.table.paths)
    value = np.zeros(count, np.float32)
    every = 0.0
    for tag in sorted({fold(tag).strip("/") for tag in tags}):
        notes = snapshot.facets.tags.get(tag)
        if notes is not None and len(notes) > 1:
            value[notes] += rarity(len(notes), count)
            every += rarity(len(notes), count)
    return value / np.float32(max(every, 1e-9))


def shared_folder(paths: Sequence[str], path: str, other: str) -> str:
    """Return the smallest folder or dotted name prefix that two notes share; "" for the whole vault.

    In some vaults, `project.alpha.plan` is below `project.alpha`.
    """
    shared = ""
    for folder in _folders_of(path):
        if not other.startswith(folder):
            break
        shared = folder
    return shared if shared and _count_in(paths, shared) < len(paths) else ""


def folder_closeness(paths: Sequence[str], path: str, notes: Ints) -> Floats:
    """Return, for each of `notes`, the rarity of the smallest folder that it shares with `path`; 1 for the smallest.

    `paths` are those of the vault, sorted.
    """
    sizes = {folder: rarity(_count_in(paths, folder), len(paths)) for folder in _folders_of(path)}
    shared = (shared_folder(paths, path, paths[note]) for note in notes.tolist())
    return np.array([sizes.get(folder, 0.0) for folder in shared], np.float32)


def _folders_of(path: str) -> list[str]:
    """Return the folders of a note and the prefixes of its name, the largest first."""
    name = path.rpartition(".")[0]
    return [path[: match.end()] for match in _DIVIDES.finditer(name)]


def _count_in(paths: Sequence[str], folder: str) -> int:
    return bisect_left(paths, folder + _BEHIND_ALL) - bisect_left(paths, folder)


def rarity(some: int, every: int) -> float:
    """Return 1 if only one of `every` has something, 0 if all have it, on a logarithmic scale."""
    return float(1 - np.log(max(some, 1)) / np.log(every)) if every > 1 else 0.0


# --- mentions ---------------------------------------------------------------------------------------------------------
# Names of notes in the text of other notes (title, file name or alias) that are not links.
#
# A name occurs in whole words, as the note spells it except for case; the longest name wins, so that "Obsidian Sync"
# does not name the note Sync. Links, code, HTML and addresses are not searched. A name that is one ordinary word is
# mostly meant as the word: it counts only with the capital letter of the note's own name, and not at the beginning of a
# sentence, where any word has one.

MAX_NAMED = 200
"""The most fragments that may have all words of a name; more show that it is the vault's subject and no name."""
MAX_NAMESAKES = 3
"""The most notes of one name; a more frequent one (index, README) counts as no name."""
MAX_WORDS = 12
"""The most words, or characters of scripts without spaces, of a name."""
SHORTEST = 3
"""The fewest letters of a name in scripts with spaces; in others two characters are enough."""
MAX_READ = 100_000
"""The most letters of one passage that are read; only a text of one huge line has more."""
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
class NameMention:
    """A mention: note `of` is named as `text` on `line` of the fragment with key `fragment` in note `within`.

    Notes are numbers. `rarity` is 1 for a name in only one fragment, 0 for one in all.
    """

    of: int
    within: int
    fragment: int
    line: int
    text: str
    rarity: float


@dataclass(frozen=True, slots=True)
class NameSpan:
    """A name in a text: characters `start` to `end` (exclusive), folded as `key`."""

    start: int
    end: int
    key: str


def text_without_markup(text: str) -> str:
    """Return `text` of the same length with links, code, HTML, addresses and tags blanked."""
    return _NOT_TEXT.sub(_blank, text)


def without_addresses(text: str) -> str:
    """Return `text` of the same length with link targets, embeds, HTML and addresses blanked."""
    return _ADDRESS.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", _GAP, match[0])


def names_in(text: str, names: Mapping[str, object], start: int = 0) -> Iterator[NameSpan]:
    """Yield the folded `names` found in `text` from `start` on, the longest at each position, none inside another."""
    words = [(match.start(), match.end(), fold(match[0])) for match in _WORD.finditer(text, start)]
    at = 0
    while at < len(words):
        longest = 0
        key, last = "", words[at][0]
        for count, (begin, end, word) in enumerate(words[at : at + MAX_WORDS], 1):
            between = text[last:begin]
            if len(between) > 3 or _GAP in between or "\n\n" in between:
                break
            key += (" " if between.isspace() else between) + word
            last = end
            if key in names:
                longest, match = count, NameSpan(words[at][0], end, key)
        if longest:
            yield match
        at += max(longest, 1)


def may_name(name: str, languages: Sequence[str]) -> bool:
    """Return whether `name`, as spelled in a text, is long enough for a name, and no number or function word."""
    if _WIDE.search(name):
        return len(name) > 1
    return len(name) >= SHORTEST and any(map(str.isalpha, name)) and not is_function_word(fold(name), languages)


def _is_ordinary(name: str) -> bool:
    """Return whether a name is spelled like any word: one word, at most its first letter a capital, only letters."""
    return name.isalpha() and (name.islower() or name[1:].islower()) and not _WIDE.search(name)


def _begins_sentence(text: str, span: NameSpan) -> bool:
    """Return whether the name begins a sentence, where any word has a capital."""
    before = text[max(0, span.start - 40) : span.start]
    return _BEGINS_SENTENCE.search(before) is not None


class NameMentions:
    """The mentions between the notes of one snapshot, with a cache of the notes' names."""

    def __init__(self, snapshot: Corpus) -> None:
        self._snapshot = snapshot
        self._names = snapshot.facets.names
        self._languages = snapshot.languages[:1]
        self._spelled: dict[int, tuple[str, ...]] = {}
        self._rarities: dict[str, float] = {}

    def mentions_in(self, note: int, fragments: Sequence[Fragment]) -> list[NameMention]:
        """Return the mentions of other notes in the text of a note's `fragments`."""
        named: list[NameMention] = []
        for fragment in fragments:
            text = text_without_markup(fragment.text)
            for span in names_in(text, self._names):
                candidates = self._names[span.key].tolist()
                if note in candidates or len(candidates) > MAX_NAMESAKES:
                    continue
                rarity = self._rarity(span.key)
                targets = (of for of in candidates if rarity > 0 and self._is_meant(text, span, of))
                named += [_mention_of(of, note, fragment, span, rarity) for of in targets]
        return named

    def mentions_of(self, note: int) -> list[NameMention]:
        """Return the mentions of a note in the text of other notes."""
        named: list[NameMention] = []
        snapshot, table = self._snapshot, self._snapshot.table
        for name in dict.fromkeys(map(fold, self._spelled_of(note))):
            rows = self._rows_with_words(name)
            rows = rows[table.notes[rows] != note]
            if not 0 < len(rows) <= MAX_NAMED or len(self._names.get(name, ())) > MAX_NAMESAKES:
                continue
            fragments = snapshot.fragments(table.keys[rows].tolist())
            rare = rarity(len(rows), snapshot.lexical.corpus_size)
            for within, fragment in zip(table.notes[rows].tolist(), fragments, strict=True):
                named += [
                    _mention_of(note, within, fragment, span, rare) for span in self._find_name(name, fragment, note)
                ]
        return named

    def words_of_names(self, note: int) -> list[tuple[tuple[str, ...], ...]]:
        """Return, for each name of a note, the alternative terms of each of its words.

        A text with the name has one of the terms of each word.
        """
        names = dict.fromkeys(map(fold, self._spelled_of(note)))
        return [tuple(word.terms for word in words) for name in names if (words := self._words_of(name))]

    def _words_of(self, name: str) -> list[QueryWord]:
        return [word for word in analyze_text(name, self._snapshot) if not word.is_compound]

    def _rows_with_words(self, name: str) -> Rows:
        """Return the rows, ascending, that have all words of a name in their text; none for a name without words."""
        lexical = self._snapshot.lexical
        words = self._words_of(name)
        words.sort(key=lambda word: sum(map(lexical.count, word.terms)))
        rows: Rows | None = None
        for word in words:
            word_rows = np.concatenate([lexical.postings("text", term).rows for term in word.terms])
            rows = np.unique(word_rows) if rows is None else rows[np.isin(rows, word_rows)]
            if not len(rows):
                break
        return np.zeros(0, np.int32) if rows is None else rows

    def _find_name(self, name: str, fragment: Fragment, note: int) -> Iterator[NameSpan]:
        """Yield the occurrences of `name` in a fragment that are not part of a longer name; none spans a blank line."""
        spaced = " ".join(name.split())
        # Most fragments with all words of the name do not have the name itself; the rest takes ten times as long.
        passage = fragment.text[:MAX_READ]
        if spaced not in _normalise_spaces(passage):
            return
        text = text_without_markup(passage)
        for paragraph in _PARAGRAPH.finditer(text):
            if spaced in _normalise_spaces(paragraph[0]):
                for span in names_in(text[: paragraph.end()], self._names, paragraph.start()):
                    if span.key == name and self._is_meant(text, span, note):
                        yield span

    def _is_meant(self, text: str, span: NameSpan, target: int) -> bool:
        """Return whether a name found in `text` can mean the note `of`, and not just an ordinary word."""
        name = text[span.start : span.end]
        if not may_name(name, self._languages):
            return False
        if not _is_ordinary(name):
            return True
        return name[0].isupper() and name in self._spelled_of(target) and not _begins_sentence(text, span)

    def _spelled_of(self, note: int) -> tuple[str, ...]:
        """Return the names of a note as spelled."""
        if note not in self._spelled:
            info = self._snapshot.note_info(self._snapshot.table.paths[note])
            self._spelled[note] = (info.title, PurePosixPath(info.path).stem, *info.aliases)
        return self._spelled[note]

    def _rarity(self, name: str) -> float:
        """Return the rarity of a name's rarest word: the name is at least as rare."""
        if name not in self._rarities:
            lexical = self._snapshot.lexical
            words = analyze_text(name, self._snapshot)
            spread = min((sum(map(lexical.count, word.terms)) for word in words), default=0)
            self._rarities[name] = rarity(min(spread, lexical.corpus_size), lexical.corpus_size) if spread else 0.0
        return self._rarities[name]


def _normalise_spaces(text: str) -> str:
    """Return `text` folded, with each white space as one space."""
    return " ".join(fold(text).split())


def _mention_of(of: int, within: int, fragment: Fragment, span: NameSpan, rarity: float) -> NameMention:
    line = fragment.line_start + fragment.text.count("\n", 0, span.start)
    return NameMention(of, within, fragment.key, line, fragment.text[span.start : span.end], rarity)


# --- similarity -------------------------------------------------------------------------------------------------------
# Similarity of other notes to one note, or to one of its fragments: a number from 0 to 1 for each signal.
#
# Words, meaning, names and links find candidates, from arrays over the whole vault; only the candidates are compared
# passage by passage.

# Measured (docs/design/insight.md): results change little around these values on every vault.
WEIGHTS: Mapping[str, float] = {
    "words": 0.32,
    "meaning": 0.22,
    "title": 0.10,
    "names": 0.13,
    "common links": 0.12,
    "links": 0.03,
    "place": 0.07,
    "tags": 0.01,
}
SIGNALS = tuple(WEIGHTS)

MAX_TERMS = 96
"""The number of important words of a note by which others are found."""
POOL = 150
"""The number of candidates for each signal, which are compared passage by passage."""
MAX_LETTERS = 400_000
"""The most letters of one note that are read, which takes a second and a half; a novel of 200 pages has fewer."""
MAX_PASSAGES = 48
"""The most passages of one note that are compared, spread evenly over all of it."""
IN_A_NAME = 3
"""The weight of a word in a note's title or alias, relative to one in the text."""
PIVOT = 0.2
"""The share of the mean in the length of a note that is used (pivoted: Singhal, Buckley and Mitra, 1996).

Without it, stubs of a few words would be nearest to everything.
"""
NAMED = 0.7
"""The weight of a mention on one side, by a name that occurs nowhere else."""
COMMON_FROM, COMMON_SHARE = 1000, 0.25
"""Words in more fragments than this, and in more than this share of them, are ignored: they distinguish no notes."""

_TEXT, _TITLE, _ALIAS = (FIELDS.index(field) for field in ("text", "title", "alias"))


@dataclass(frozen=True)
class Origin:
    """The note to compare: its number in the snapshot's table, its relevant fragments, and their rows."""

    note: int
    info: NoteInfo
    fragments: tuple[Fragment, ...]
    rows: Rows

    @cached_property
    def read(self) -> tuple[Fragment, ...]:
        """The fragments with the part of their text that is read for words and names; the same share of each."""
        lengths = [min(len(fragment.text), MAX_READ) for fragment in self.fragments]
        letters = max(sum(lengths), MAX_LETTERS)
        parts = zip(self.fragments, (length * MAX_LETTERS // letters for length in lengths), strict=True)
        return tuple(replace(fragment, text=fragment.text[:size]) for fragment, size in parts)


@dataclass(frozen=True, slots=True)
class NoteTerm:
    """A word of the compared note. `spelled` is its spelling there ("" if only a name has it).

    `weight` is the logarithm of its frequency there times `rarity`. `rarity` is its rarity among the notes of the vault
    times `language_weight`, its weight in general language (0 to 1). `notes` is the number of notes that have it.
    """

    term: str
    spelled: str
    weight: float
    rarity: float
    language_weight: float
    notes: int


@dataclass(frozen=True, slots=True)
class Near:
    """Candidate notes by number, ascending, with their signals (notes x SIGNALS) and scores.

    It also holds the inputs: the words used, the mentions, and the note's links.
    """

    notes: Ints
    signals: Floats
    scores: Floats
    terms: tuple[NoteTerm, ...]
    named: tuple[NameMention, ...]
    links: NoteLinks


def origin_of(snapshot: Corpus, path: str, line: int | None) -> Origin:
    """Return the note, or its fragment with `line`, else the next one, else the last.

    The heading of a fragment may be above its first line. Raises KeyError for an unknown note.
    """
    note = snapshot.facets.numbers[path]
    fragments = snapshot.note_fragments(path)
    if line is not None and fragments:
        fragments = [fragment for fragment in fragments if fragment.line_end >= line][:1] or fragments[-1:]
    rows = np.searchsorted(snapshot.table.keys, [fragment.key for fragment in fragments]).astype(np.int32)
    return Origin(note, snapshot.note_info(path), tuple(fragments), rows)


def nearest(snapshot: Corpus, origin: Origin) -> Near:
    """Return the notes with any connection to the origin, scored."""
    paths = snapshot.table.paths
    terms = important_terms(snapshot, origin)
    words, titles = by_words(snapshot, terms, origin.info)
    names, named = _by_names(snapshot, origin)
    links = links_of(snapshot, origin.note)
    proposed = (words, _proposed_by_meaning(snapshot, origin), names, links.common, links.direct)
    notes = np.unique(np.concatenate([_top(values) for values in proposed]))
    notes = notes[notes != origin.note]
    own = max(float(words[origin.note]), 1e-9)
    values = {
        "words": np.minimum(words[notes] / own, 1),
        "meaning": by_meaning(snapshot, origin, notes),
        "title": titles[notes],
        "names": names[notes],
        "common links": links.common[notes],
        "links": links.direct[notes],
        "place": folder_closeness(paths, origin.info.path, notes),
        "tags": by_tags(snapshot, origin.info.tags)[notes],
    }
    # Rounded, so that notes with the same words have the same score and are ordered by path.
    signals = np.round(np.stack([values[name] for name in SIGNALS], axis=1), 6).astype(np.float32)
    return Near(notes, signals, signals @ np.array([*WEIGHTS.values()], np.float32), terms, named, links)


def _top(values: Floats) -> Ints:
    """Return the notes of the POOL highest positive values."""
    order = np.argsort(-values, kind="stable")[:POOL]
    return order[values[order] > 0].astype(np.int32)


# --- words ------------------------------------------------------------------------------------------------------------


def important_terms(snapshot: Corpus, origin: Origin) -> tuple[NoteTerm, ...]:
    """Return the most important words of the note: frequent there, rare in the vault, specific in general language."""
    info, lexical = origin.info, snapshot.lexical
    counts: Counter[str] = Counter()
    for fragment in origin.read:
        counts.update(terms_of(without_addresses(fragment.text), info.language)[0])
    if len(origin.fragments) == 1:
        # For a whole note, the text contains them.
        for heading in origin.fragments[0].heading_path:
            counts.update(terms_of(heading, info.language)[0])
    for name in (info.title, *info.aliases):
        counts.update(terms_of(name, info.language)[0] * IN_A_NAME)
    every = lexical.corpus_size
    lexical.prefetch_counts(list(counts))
    likely: list[tuple[float, str]] = []
    for term, count in counts.items():
        spread = min(lexical.count(term), every)
        common = spread > max(COMMON_FROM, COMMON_SHARE * every)
        if spread and not common and not is_function_word(term, snapshot.languages):
            likely.append((float(np.log1p(count) * np.log1p((every - spread + 0.5) / (spread + 0.5))), term))
    # Twice as many, because general language gives some of them a low weight.
    likely = sorted(likely, key=lambda item: (-item[0], item[1]))[: 2 * MAX_TERMS]
    spelled = _spellings_of(origin, {term for _, term in likely})
    weights = _language_weights(snapshot, [spelled.get(term, term).lower() for _, term in likely])
    weighed = [(weight * share, term, share) for (weight, term), share in zip(likely, weights, strict=True)]
    best = sorted(weighed, key=lambda item: (-item[0], item[1]))[:MAX_TERMS]
    return tuple(_term(snapshot, term, spelled.get(term, ""), counts[term], share) for _, term, share in best)


def _spellings_of(origin: Origin, terms: set[str]) -> dict[str, str]:
    """Return the terms' first spellings in the passages that are compared."""
    spellings: dict[str, str] = {}
    shown_rows = set(spread(origin.rows).tolist())
    for row, fragment in zip(origin.rows.tolist(), origin.read, strict=True):
        if row in shown_rows:
            read = analyze(without_addresses(fragment.text), origin.info.language)
            for term, start, end in zip(read.terms, read.starts, read.ends, strict=True):
                if term in terms and term not in spellings:
                    spellings[term] = fragment.text[start:end]
    return spellings


def _language_weights(snapshot: Corpus, words: Sequence[str]) -> list[float]:
    """Return the weight of each word in general language, 0 to 1; 1 for unknown words."""
    plain = [word for word in words if word.isascii() and word.isalpha()]
    weights = dict(zip(plain, snapshot.embedder.word_weights(plain).tolist(), strict=True))
    return [weights.get(word, 1.0) for word in words]


def _term(snapshot: Corpus, term: str, spelled: str, count: int, language_weight: float) -> NoteTerm:
    every, notes = len(snapshot.table.paths), snapshot.count_notes([term])
    rarity = language_weight * float(np.log1p((every - notes + 0.5) / (notes + 0.5)))
    return NoteTerm(term, spelled, float(np.log1p(count)) * rarity, rarity, language_weight, notes)


def by_words(snapshot: Corpus, terms: Sequence[NoteTerm], info: NoteInfo) -> tuple[Floats, Floats]:
    """Return, for each note, its similarity by words, and by titles.

    The first is the product of its words' weights with those of `terms`, over the root of its pivoted length. The
    second is the share of its title's words among `terms`, and of the words of this note's title (`info`) in its text.
    """
    notes, count, lexical = snapshot.table.notes, len(snapshot.table.paths), snapshot.lexical
    total, titles, text_has = (np.zeros(count, np.float32) for _ in range(3))
    in_title = set(terms_of(info.title, info.language)[0])
    tf, of_title = float(np.log1p(count + 0.5)), 0.0
    for term in terms:
        entries = lexical.entries(term.term)
        note_of_entry = notes[entries.rows]
        of_text, of_name = entries.fields == _TEXT, entries.fields == _TITLE
        often = np.bincount(note_of_entry[of_text], entries.tf[of_text], count)
        if term.term in in_title:
            text_has[often > 0] += term.rarity
            of_title += term.rarity
        named = np.zeros(count, np.bool_)
        named[note_of_entry[of_name]] = True
        titles[named] += term.rarity / tf
        named[note_of_entry[entries.fields == _ALIAS]] = True
        total += np.float32(term.weight * term.rarity) * np.log1p(often + IN_A_NAME * named).astype(np.float32)
    lengths = np.bincount(notes, lexical.lengths("text"), count)
    of_fragment = lexical.mean_length("text")
    mean = float(lengths.mean()) if of_fragment is None else of_fragment * lexical.corpus_size / count
    total /= np.sqrt(PIVOT + (1 - PIVOT) * lengths / max(mean, 1e-9)).astype(np.float32)
    words_in_titles = np.ones(count, np.float32)
    words_in_titles[notes] = np.maximum(lexical.lengths("title"), 1)
    titles = titles / words_in_titles + text_has / np.float32(max(of_title, 1e-9))
    return total, np.float32(0.5) * titles


# --- names ------------------------------------------------------------------------------------------------------------


def _by_names(snapshot: Corpus, origin: Origin) -> tuple[Floats, tuple[NameMention, ...]]:
    """Return, for each note, the strength of mentions between it and the origin, and all mentions."""
    names = NameMentions(snapshot)
    named = (*names.mentions_in(origin.note, origin.read), *names.mentions_of(origin.note))
    naming, named_back = (np.zeros(len(snapshot.table.paths), np.float32) for _ in range(2))
    for mention in named:
        by, other = (naming, mention.of) if mention.within == origin.note else (named_back, mention.within)
        by[other] = 1 - (1 - by[other]) * (1 - NAMED * mention.rarity)
    return 1 - (1 - naming) * (1 - named_back), named


# --- meaning ----------------------------------------------------------------------------------------------------------


def _proposed_by_meaning(snapshot: Corpus, origin: Origin) -> Floats:
    """Return, for each note, the mean similarity of its passages to the origin, relative to the vault's mean."""
    notes, count, vectors = snapshot.table.notes, len(snapshot.table.paths), snapshot.vectors
    if not len(origin.rows):
        return np.zeros(count, np.float32)
    centre = centre_of(snapshot, origin)
    similar = vectors.similarities(centre) - np.float32(vectors.mean @ centre)
    return (np.bincount(notes, similar, count) / np.maximum(np.bincount(notes, minlength=count), 1)).astype(np.float32)


def centre_of(snapshot: Corpus, origin: Origin) -> Floats:
    """Return the mean of the passages' vectors, relative to the vault's mean; the origin must have a passage."""
    vectors = snapshot.vectors
    centre: Floats = (vectors.rows(spread(origin.rows)) - vectors.mean).mean(axis=0).astype(np.float32)
    return centre


def by_meaning(snapshot: Corpus, origin: Origin, notes: Ints) -> Floats:
    """Return, for each of `notes`, the mean similarity of its passages and the origin's to their nearest counterparts.

    It is the mean of both directions.
    """
    rows, owners = rows_of(snapshot, notes)
    value = np.zeros(len(notes), np.float32)
    if not len(rows) or not len(origin.rows):
        return value
    similar = centred_vectors(snapshot, rows) @ centred_vectors(snapshot, spread(origin.rows)).T
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    own_means = np.maximum.reduceat(similar, starts, axis=0).mean(axis=1)
    their_means = np.add.reduceat(similar.max(axis=1), starts) / np.diff(starts, append=len(owners))
    value[owners[starts]] = np.clip((own_means + their_means) / 2, 0, 1)
    return value


def centred_vectors(snapshot: Corpus, rows: Rows) -> Floats:
    """Return the vectors of rows relative to the vault's mean, of length 1.

    The mean is subtracted because unchanged vectors are all close together.
    """
    vectors = snapshot.vectors.rows(rows) - snapshot.vectors.mean
    lengths: Floats = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return vectors / lengths


def rows_of(snapshot: Corpus, notes: Ints) -> tuple[Rows, Ints]:
    """Return the rows of `notes`, at most MAX_PASSAGES of each, ascending, and the position in `notes` of each."""
    table = snapshot.table.notes
    position = np.full(len(snapshot.table.paths), -1, np.int32)
    position[notes] = np.arange(len(notes), dtype=np.int32)
    rows = np.flatnonzero(position[table] >= 0).astype(np.int32)
    rows = rows[np.argsort(position[table[rows]], kind="stable")]
    starts = np.flatnonzero(np.diff(position[table[rows]], prepend=-1))
    parts = [spread(part) for part in np.split(rows, starts[1:])]
    rows = np.concatenate(parts)
    return rows, position[table[rows]]


def spread(rows: Rows, limit: int = MAX_PASSAGES) -> Rows:
    """Return at most `limit` of `rows`, evenly spaced."""
    if len(rows) <= limit:
        return rows
    return rows[np.linspace(0, len(rows) - 1, limit).round().astype(np.int64)]
