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
from msgspec import Struct

from excerpt.base.model import Fragment, NoteInfo
from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import FIELDS
from excerpt.insight.results import SimilarNote
from excerpt.search.bm25 import Rows
from excerpt.search.evidence import analyze_text, top_k
from excerpt.text.words import WIDE_CHARACTERS, QueryWord, analyze, fold, is_function_word, words_of

# --- links, tags and folders ------------------------------------------------------------------------------------------
# Connections of notes other than their text: links, tags and folders. Each is a number from 0 to 1 for each note.

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

HALF_SIGNAL_LINKS = 1.5
"""The rarity-weighted number of shared links at which the shared-links score is 0.5.

It takes about three shared notes that have few links, or ten that have many.
"""
_FOLDER_SEPARATOR = re.compile(r"[/.]")
_LAST_CHARACTER = "\U0010ffff"


class NoteLinks(Struct, frozen=True):
    """The links of one note: `linked_notes` it links to, `linking_notes` that link to it (note numbers, ascending).

    `shared_links` holds, for every note of the vault, a score of 0 to 1 for the links that it shares with this note.
    """

    linked_notes: Ints
    linking_notes: Ints
    shared_links: Floats

    @property
    def direct_links(self) -> Floats:
        """For every note of the vault: 1 if the two notes link to each other, 0.5 if only one links, else 0."""
        strengths = np.zeros(len(self.shared_links), np.float32)
        strengths[self.linked_notes] += 0.5
        strengths[self.linking_notes] += 0.5
        return strengths


def load_note_links(snapshot: Corpus, note: int) -> NoteLinks:
    """Return the links of the note with number `note`, with a shared-links score for every other note.

    Two notes share a link if both link to a third note, or if a third note links to both. The third note counts less
    the more links it has (Adamic and Adar, 2003): two notes on the same index page have little in common.
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
    return NoteLinks(np.sort(to), np.sort(back), (common / (common + HALF_SIGNAL_LINKS)).astype(np.float32))


def find_connecting_notes(snapshot: Corpus, links: NoteLinks, other: int) -> tuple[list[int], list[int]]:
    """Return the notes that two notes both link to, and the notes that link to both of them.

    `links` are those of the first note; `other` is the number of the second. Notes with the fewest links come first.
    """
    sources, targets = snapshot.facets.links
    both = np.intersect1d(links.linked_notes, targets[sources == other])
    back = np.intersect1d(links.linking_notes, sources[targets == other])
    return (
        sorted(both.tolist(), key=lambda note: (int(np.count_nonzero(targets == note)), note)),
        sorted(back.tolist(), key=lambda note: (int(np.count_nonzero(sources == note)), note)),
    )


def score_shared_tags(snapshot: Corpus, tags: Iterable[str]) -> Floats:
    """Return, for each note of the vault, which share of `tags` it has, 0 to 1, each tag weighted by its rarity."""
    count = len(snapshot.table.paths)
    value = np.zeros(count, np.float32)
    every = 0.0
    for tag in sorted({fold(tag).strip("/") for tag in tags}):
        notes = snapshot.facets.tags.get(tag)
        if notes is not None and len(notes) > 1:
            value[notes] += rarity_score(len(notes), count)
            every += rarity_score(len(notes), count)
    return value / np.float32(max(every, 1e-9))


def find_shared_folder(paths: Sequence[str], path: str, other: str) -> str:
    """Return the smallest folder that the notes `path` and `other` share; "" if that is the whole vault.

    Dots in names count as folders too: in some vaults, `project.alpha.plan` is below `project.alpha`. `paths` are all
    paths of the vault, sorted.
    """
    shared = ""
    for folder in _list_enclosing_folders(path):
        if not other.startswith(folder):
            break
        shared = folder
    return shared if shared and _count_notes_below(paths, shared) < len(paths) else ""


def score_shared_folders(paths: Sequence[str], path: str, notes: Ints) -> Floats:
    """Return, for each of `notes`, a score of 0 to 1 for the smallest folder that it shares with the note `path`.

    The score is 0 if that folder holds the whole vault, and higher the fewer notes the folder holds (`rarity_score`).
    `paths` are all paths of the vault, sorted.
    """
    note_sizes = {
        folder: rarity_score(_count_notes_below(paths, folder), len(paths)) for folder in _list_enclosing_folders(path)
    }
    shared = (find_shared_folder(paths, path, paths[note]) for note in notes.tolist())
    return np.array([note_sizes.get(folder, 0.0) for folder in shared], np.float32)


def _list_enclosing_folders(path: str) -> list[str]:
    """Return the folders above the note `path`, and the prefixes of its name up to each dot, the outermost first."""
    name = path.rpartition(".")[0]
    return [path[: match.end()] for match in _FOLDER_SEPARATOR.finditer(name)]


def _count_notes_below(paths: Sequence[str], folder: str) -> int:
    return bisect_left(paths, folder + _LAST_CHARACTER) - bisect_left(paths, folder)


def rarity_score(count: int, total: int) -> float:
    """Return how rare a feature is that `count` of `total` items have: 1 for one item, 0 for all, logarithmic."""
    return float(1 - np.log(max(count, 1)) / np.log(total)) if total > 1 else 0.0


# --- mentions ---------------------------------------------------------------------------------------------------------
# Names of notes in the text of other notes (title, file name or alias) that are not links.
#
# A name occurs in whole words, as the note spells it except for case; the longest name wins, so that "Obsidian Sync"
# does not name the note Sync. Links, code, HTML and addresses are not searched. A name that is one ordinary word is
# mostly meant as the word: it counts only with the capital letter of the note's own name, and not at the beginning of a
# sentence, where any word has one.

MAX_NAME_FRAGMENTS = 200
"""The most fragments that may have all words of a name; a more frequent name is the vault's subject and ignored."""
MAX_NAMESAKES = 3
"""The most notes that may share a name. A name of more notes (index, README) is ignored."""
MAX_NAME_WORDS = 12
"""The most words of a name; in a script without spaces, each character counts as a word."""
MIN_NAME_LETTERS = 3
"""The fewest letters of a name; in a script without spaces, two characters are enough."""
MAX_PASSAGE_LETTERS = 100_000
"""The most characters of one passage that are read; only a text of one huge line has more."""
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e\u200c\u200d"
_WORD = re.compile(rf"[{WIDE_CHARACTERS}]|[^\W_{WIDE_CHARACTERS}][^\W_{WIDE_CHARACTERS}{_MARKS}]*(?:\+\+|#(?!\w))?")
_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")
_MARKUP = re.compile(
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
_BLANK = "\0"


class NameMention(Struct, frozen=True):
    """A mention: the text of note `in_note` has the name of note `named_note` without linking to it.

    Both are note numbers. The name is spelled `text`, on `line` of the note, in the fragment with key `fragment_key`.
    `rarity` is 1 for a name that only one fragment has, 0 for a name that all have.
    """

    named_note: int
    in_note: int
    fragment_key: int
    line: int
    text: str
    rarity: float


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
    """Return whether `name` is long enough to be a note's name, and neither a number nor a function word."""
    if _WIDE.search(name):
        return len(name) > 1
    return len(name) >= MIN_NAME_LETTERS and any(map(str.isalpha, name)) and not is_function_word(fold(name), languages)


def _is_ordinary_word(name: str) -> bool:
    """Return whether `name` is spelled like an ordinary word: only letters, and no capital after the first letter."""
    return name.isalpha() and (name.islower() or name[1:].islower()) and not _WIDE.search(name)


def _begins_sentence(text: str, span: NameSpan) -> bool:
    """Return whether the name at `span` begins a sentence of `text`, where any word has a capital."""
    before = text[max(0, span.start - 40) : span.start]
    return _BEGINS_SENTENCE.search(before) is not None


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
        """Return the rows of the fragments whose text has all words of `name`, ascending; none without words."""
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
        name = text[span.start : span.end]
        if not can_be_name(name, self._languages):
            return False
        if not _is_ordinary_word(name):
            return True
        return name[0].isupper() and name in self._load_note_names(target) and not _begins_sentence(text, span)

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
"""The number of a note's most important words by which similar notes are found."""
CANDIDATES_PER_SIGNAL = 150
"""The number of notes with the highest values of each signal that are compared passage by passage."""
MAX_NOTE_LETTERS = 400_000
"""The most characters of one note that are read, which takes 1.5 seconds; a novel of 200 pages has fewer."""
MAX_NOTE_PASSAGES = 48
"""The most passages of one note that are compared, spread evenly over all of it."""
NAME_WORD_WEIGHT = 3
"""The weight of a word in a note's title or alias, relative to one in the text."""
LENGTH_PIVOT = 0.2
"""The share of the mean note length in pivoted length normalisation (Singhal, Buckley and Mitra, 1996).

Without a pivot, stubs of a few words would be nearest to everything.
"""
MENTION_WEIGHT = 0.7
"""The value of one mention by a name that occurs in only one fragment; more frequent names count less."""
_NOTES_AT_ONCE, _ROWS_AT_ONCE = 200, 50_000
"""Notes compared, and vectors added, at the same time: 80 and 50 MB for a vault of 100,000 notes."""
COMMON_WORD_FRAGMENTS, COMMON_WORD_SHARE = 1000, 0.25
"""A word that more fragments have than the first value, and also than the second as a share of all, is ignored."""

_TEXT, _TITLE, _ALIAS = (FIELDS.index(field) for field in ("text", "title", "alias"))


@dataclass(frozen=True)
class ReferenceNote:
    """The note that others are compared with: its number, its compared fragments, and their rows in the index."""

    note: int
    info: NoteInfo
    fragments: tuple[Fragment, ...]
    rows: Rows

    @cached_property
    def truncated_fragments(self) -> tuple[Fragment, ...]:
        """The fragments, each cut to the same share of its text, so that all have at most MAX_NOTE_LETTERS."""
        lengths = [min(len(fragment.text), MAX_PASSAGE_LETTERS) for fragment in self.fragments]
        letters = max(sum(lengths), MAX_NOTE_LETTERS)
        parts = zip(self.fragments, (length * MAX_NOTE_LETTERS // letters for length in lengths), strict=True)
        return tuple(replace(fragment, text=fragment.text[:size]) for fragment, size in parts)


class NoteTerm(Struct, frozen=True):
    """A word of the reference note: its index term, and its spelling in the text ("" if only a name has the word).

    `notes` is the number of notes that have the word. `language_weight` is 0 for a common word of the language, 1 for a
    specific one. `rarity` is the word's rarity among the notes of the vault times `language_weight`. `weight` is
    `rarity` times the logarithm of the word's frequency in the reference note.
    """

    term: str
    spelled: str
    weight: float
    rarity: float
    language_weight: float
    notes: int


class ScoredNotes(Struct, frozen=True):
    """Notes similar to the reference note: their numbers, ascending, signals (notes x SIGNALS) and scores.

    `terms`, `mentions` and `links` are the reference note's important words, its mentions, and its links.
    """

    notes: Ints
    signals: Floats
    scores: Floats
    terms: tuple[NoteTerm, ...]
    mentions: tuple[NameMention, ...]
    links: NoteLinks


def load_reference_note(snapshot: Corpus, path: str, line: int | None) -> ReferenceNote:
    """Return the note `path` with all its fragments, or with only the fragment at `line` (1-based).

    If no fragment has `line`, the next fragment is used, or else the last: a fragment's heading may be above its first
    line. Raises KeyError for an unknown note.
    """
    note = snapshot.facets.numbers[path]
    fragments = snapshot.note_fragments(path)
    if line is not None and fragments:
        fragments = [fragment for fragment in fragments if fragment.line_end >= line][:1] or fragments[-1:]
    rows = np.searchsorted(snapshot.table.keys, [fragment.key for fragment in fragments]).astype(np.int32)
    return ReferenceNote(note, snapshot.note_info(path), tuple(fragments), rows)


def score_related_notes(snapshot: Corpus, reference: ReferenceNote) -> ScoredNotes:
    """Return the candidates that are similar to the reference note or connected with it, with scores.

    The candidates are the best CANDIDATES_PER_SIGNAL notes by each of words, meaning, names and links.
    """
    paths = snapshot.table.paths
    terms = select_important_terms(snapshot, reference)
    words, titles = score_words_and_titles(snapshot, terms, reference.info)
    names, mentions = _score_mentions(snapshot, reference)
    links = load_note_links(snapshot, reference.note)
    proposed = (words, _score_mean_similarity(snapshot, reference), names, links.shared_links, links.direct_links)
    notes = np.unique(np.concatenate([_select_top_notes(values) for values in proposed]))
    notes = notes[notes != reference.note]
    own = max(float(words[reference.note]), 1e-9)
    values = {
        "words": np.minimum(words[notes] / own, 1),
        "meaning": score_meaning(snapshot, reference, notes),
        "title": titles[notes],
        "names": names[notes],
        "common links": links.shared_links[notes],
        "links": links.direct_links[notes],
        "place": score_shared_folders(paths, reference.info.path, notes),
        "tags": score_shared_tags(snapshot, reference.info.tags)[notes],
    }
    # Rounded, so that notes with the same words have the same score and are ordered by path.
    signals = np.round(np.stack([values[name] for name in SIGNALS], axis=1), 6).astype(np.float32)
    return ScoredNotes(notes, signals, signals @ np.array([*WEIGHTS.values()], np.float32), terms, mentions, links)


def _select_top_notes(values: Floats) -> Ints:
    """Return the numbers of the notes with the highest positive values, at most CANDIDATES_PER_SIGNAL, best first."""
    order = np.argsort(-values, kind="stable")[:CANDIDATES_PER_SIGNAL]
    return order[values[order] > 0].astype(np.int32)


# --- words ------------------------------------------------------------------------------------------------------------


def select_important_terms(snapshot: Corpus, reference: ReferenceNote) -> tuple[NoteTerm, ...]:
    """Return the most important words of the note, best first: frequent in it, rare in the vault, and specific."""
    info, lexical = reference.info, snapshot.lexical
    counts: Counter[str] = Counter()
    for fragment in reference.truncated_fragments:
        counts.update(words_of(blank_addresses(fragment.text), info.language))
    if len(reference.fragments) == 1:
        # The text of a whole note contains its headings.
        for heading in reference.fragments[0].heading_path:
            counts.update(words_of(heading, info.language))
    for name in (info.title, *info.aliases):
        counts.update(words_of(name, info.language) * NAME_WORD_WEIGHT)
    every = lexical.corpus_size
    lexical.prefetch_counts(list(counts))
    likely: list[tuple[float, str]] = []
    for term, count in counts.items():
        with_term = min(lexical.count(term), every)
        is_common = with_term > max(COMMON_WORD_FRAGMENTS, COMMON_WORD_SHARE * every)
        if with_term and not is_common and not is_function_word(term, snapshot.languages):
            likely.append((float(np.log1p(count) * np.log1p((every - with_term + 0.5) / (with_term + 0.5))), term))
    # Twice as many, because general language gives some of them a low weight.
    likely = sorted(likely, key=lambda item: (-item[0], item[1]))[: 2 * MAX_TERMS]
    spelled = _find_spellings(reference, {term for _, term in likely})
    weights = _word_specificities(snapshot, [spelled.get(term, term).lower() for _, term in likely])
    weighed = [(weight * share, term, share) for (weight, term), share in zip(likely, weights, strict=True)]
    best = sorted(weighed, key=lambda item: (-item[0], item[1]))[:MAX_TERMS]
    return tuple(
        _build_note_term(snapshot, term, spelled.get(term, ""), counts[term], share) for _, term, share in best
    )


def _find_spellings(reference: ReferenceNote, terms: set[str]) -> dict[str, str]:
    """Return the first spelling of each of `terms` in the passages of the note that are compared."""
    spellings: dict[str, str] = {}
    shown_rows = set(sample_evenly(reference.rows).tolist())
    for row, fragment in zip(reference.rows.tolist(), reference.truncated_fragments, strict=True):
        if row in shown_rows:
            analysis = analyze(blank_addresses(fragment.text), reference.info.language)
            for term, start, end in zip(analysis.terms, analysis.starts, analysis.ends, strict=True):
                if term in terms and term not in spellings:
                    spellings[term] = fragment.text[start:end]
    return spellings


def _word_specificities(snapshot: Corpus, words: Sequence[str]) -> list[float]:
    """Return the weight of each word by general language: 0 for common words, 1 for specific or unknown ones."""
    plain = [word for word in words if word.isascii() and word.isalpha()]
    weights = dict(zip(plain, snapshot.embedder.word_weights(plain).tolist(), strict=True))
    return [weights.get(word, 1.0) for word in words]


def _build_note_term(snapshot: Corpus, term: str, spelled: str, count: int, language_weight: float) -> NoteTerm:
    every, notes = len(snapshot.table.paths), snapshot.count_notes([term])
    rarity = language_weight * float(np.log1p((every - notes + 0.5) / (notes + 0.5)))
    return NoteTerm(term, spelled, float(np.log1p(count)) * rarity, rarity, language_weight, notes)


def score_words_and_titles(snapshot: Corpus, terms: Sequence[NoteTerm], info: NoteInfo) -> tuple[Floats, Floats]:
    """Return, for each note of the vault, its similarity to the reference note by words, and its similarity by titles.

    The similarity by words is the dot product of its word weights with `terms`, divided by the root of its pivoted
    length. The similarity by titles is the mean of two shares: of its title's words that are among `terms`, and of the
    words of the reference note's title (in `info`) that are in its text.
    """
    notes, count, lexical = snapshot.table.notes, len(snapshot.table.paths), snapshot.lexical
    total, titles, text_has = (np.zeros(count, np.float32) for _ in range(3))
    in_title = set(words_of(info.title, info.language))
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
        total += np.float32(term.weight * term.rarity) * np.log1p(often + NAME_WORD_WEIGHT * named).astype(np.float32)
    lengths = np.bincount(notes, lexical.lengths("text"), count)
    of_fragment = lexical.mean_length("text")
    mean = float(lengths.mean()) if of_fragment is None else of_fragment * lexical.corpus_size / count
    total /= np.sqrt(LENGTH_PIVOT + (1 - LENGTH_PIVOT) * lengths / max(mean, 1e-9)).astype(np.float32)
    words_in_titles = np.ones(count, np.float32)
    words_in_titles[notes] = np.maximum(lexical.lengths("title"), 1)
    titles = titles / words_in_titles + text_has / np.float32(max(of_title, 1e-9))
    return total, np.float32(0.5) * titles


# --- names ------------------------------------------------------------------------------------------------------------


def _score_mentions(snapshot: Corpus, reference: ReferenceNote) -> tuple[Floats, tuple[NameMention, ...]]:
    """Return, for each note, the strength of mentions between the note and the reference note, and all mentions."""
    finder = MentionFinder(snapshot)
    mentions = (
        *finder.find_mentions_in_note(reference.note, reference.truncated_fragments),
        *finder.find_mentions_of_note(reference.note),
    )
    naming, named_back = (np.zeros(len(snapshot.table.paths), np.float32) for _ in range(2))
    for mention in mentions:
        by, other = (naming, mention.named_note) if mention.in_note == reference.note else (named_back, mention.in_note)
        by[other] = 1 - (1 - by[other]) * (1 - MENTION_WEIGHT * mention.rarity)
    return 1 - (1 - naming) * (1 - named_back), mentions


# --- meaning ----------------------------------------------------------------------------------------------------------


def _score_mean_similarity(snapshot: Corpus, reference: ReferenceNote) -> Floats:
    """Return, for each note, the mean similarity of its passages to the reference note, above the vault's mean."""
    notes, count, vectors = snapshot.table.notes, len(snapshot.table.paths), snapshot.vectors
    if not len(reference.rows):
        return np.zeros(count, np.float32)
    centre = compute_mean_vector(snapshot, reference)
    similar = vectors.similarities(centre) - np.float32(vectors.mean @ centre)
    return (np.bincount(notes, similar, count) / np.maximum(np.bincount(notes, minlength=count), 1)).astype(np.float32)


def compute_mean_vector(snapshot: Corpus, reference: ReferenceNote) -> Floats:
    """Return the mean vector of the reference note's passages, minus the vault's mean; it must have a passage."""
    vectors = snapshot.vectors
    centre: Floats = (vectors.rows(sample_evenly(reference.rows)) - vectors.mean).mean(axis=0).astype(np.float32)
    return centre


def score_meaning(snapshot: Corpus, reference: ReferenceNote, notes: Ints) -> Floats:
    """Return, for each of `notes`, its similarity in meaning to the reference note, 0 to 1.

    Each passage of one note is compared with the nearest passage of the other. The result is the mean over the
    reference note's passages and the mean over the other note's passages, averaged.
    """
    rows, owners = sample_note_rows(snapshot, notes)
    value = np.zeros(len(notes), np.float32)
    if not len(rows) or not len(reference.rows):
        return value
    similar = load_centred_vectors(snapshot, rows) @ load_centred_vectors(snapshot, sample_evenly(reference.rows)).T
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    own_means = np.maximum.reduceat(similar, starts, axis=0).mean(axis=1)
    their_means = np.add.reduceat(similar.max(axis=1), starts) / np.diff(starts, append=len(owners))
    value[owners[starts]] = np.clip((own_means + their_means) / 2, 0, 1)
    return value


def find_similar_notes(snapshot: Corpus, notes: Sequence[int], limit: int) -> list[tuple[SimilarNote, ...]]:
    """Return for each of `notes`, given by their numbers, the `limit` notes nearest in meaning, best first.

    A note's vector is the mean of its passages'. Ties are in the order of paths; notes without text are near to none.
    """
    means = _compute_note_vectors(snapshot)
    found: list[tuple[SimilarNote, ...]] = []
    for first in range(0, len(notes), _NOTES_AT_ONCE):
        chosen = np.asarray(notes[first : first + _NOTES_AT_ONCE], np.int64)
        cosines = means[chosen] @ means.T
        cosines[np.arange(len(chosen)), chosen] = 0
        for row in cosines:
            near = top_k(row, limit, 0.0)
            near = near[np.argsort(-row[near], kind="stable")]
            infos = snapshot.note_infos([snapshot.table.paths[note] for note in near.tolist()])
            values = row[near].tolist()
            found.append(
                tuple(SimilarNote(info.path, info.title, value) for info, value in zip(infos, values, strict=True))
            )
    return found


def _compute_note_vectors(snapshot: Corpus) -> Floats:
    """Return for each note the mean of its passages' vectors, less the vault's mean, of length 1; 0 without any."""
    notes, vectors = snapshot.table.notes, snapshot.vectors
    sums = np.zeros((len(snapshot.table.paths), len(vectors.mean)), np.float32)
    for first in range(0, len(notes), _ROWS_AT_ONCE):
        rows = np.arange(first, min(first + _ROWS_AT_ONCE, len(notes)))
        starts = np.flatnonzero(np.diff(notes[rows], prepend=-1))
        np.add.at(sums, notes[rows][starts], np.add.reduceat(vectors.rows(rows) - vectors.mean, starts, axis=0))
    result: Floats = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return result


def load_centred_vectors(snapshot: Corpus, rows: Rows) -> Floats:
    """Return the vectors of `rows` minus the vault's mean vector, scaled to length 1.

    Without the subtraction, all vectors are close together.
    """
    vectors = snapshot.vectors.rows(rows) - snapshot.vectors.mean
    lengths: Floats = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return vectors / lengths


def sample_note_rows(snapshot: Corpus, notes: Ints) -> tuple[Rows, Ints]:
    """Return rows of `notes`, at most MAX_NOTE_PASSAGES per note, and for each row its note's position in `notes`.

    The rows are grouped by note, in the order of `notes`.
    """
    table = snapshot.table.notes
    position = np.full(len(snapshot.table.paths), -1, np.int32)
    position[notes] = np.arange(len(notes), dtype=np.int32)
    rows = np.flatnonzero(position[table] >= 0).astype(np.int32)
    rows = rows[np.argsort(position[table[rows]], kind="stable")]
    starts = np.flatnonzero(np.diff(position[table[rows]], prepend=-1))
    parts = [sample_evenly(part) for part in np.split(rows, starts[1:])]
    rows = np.concatenate(parts)
    return rows, position[table[rows]]


def sample_evenly(rows: Rows, limit: int = MAX_NOTE_PASSAGES) -> Rows:
    """Return at most `limit` of `rows`, evenly spaced over all of them."""
    if len(rows) <= limit:
        return rows
    return rows[np.linspace(0, len(rows) - 1, limit).round().astype(np.int64)]
