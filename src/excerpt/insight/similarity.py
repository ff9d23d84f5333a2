"""Similarity of other notes to one note, or to one of its fragments, by meaning, words, links, tags and names.

Words, meaning, names and links find candidates, from arrays over the whole vault; only the candidates are compared
passage by passage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from msgspec import Struct

from excerpt.base.model import Fragment, NoteInfo
from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import FIELDS
from excerpt.insight.mentions import MentionFinder, NameMention
from excerpt.insight.note_links import Floats, Ints, NoteLinks, load_note_links, score_shared_folders, score_shared_tags
from excerpt.insight.results import SimilarNote
from excerpt.search.bm25 import Rows
from excerpt.search.evidence import top_k
from excerpt.text.languages import is_function_word
from excerpt.text.mentions import MAX_PASSAGE_LETTERS, blank_addresses
from excerpt.text.words import analyze, words_of

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
    lexical.prefetch_document_frequencies(list(counts))
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

    A note's vector is the mean of its passages' vectors. Ties are in the order of paths. A note without text is near to
    no other note.
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
    """Return, per note, the mean of its passages' vectors minus the vault's mean, of length 1; 0 without passages."""
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

    Without the subtraction, all vectors would be close together.
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
