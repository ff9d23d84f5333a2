"""How near other notes are to one note, or to one of its fragments: a number from 0 to 1 for each signal.

What could be near is put forward by words, meaning, names and links, from arrays over the whole vault; only what was
put forward is compared passage by passage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from excerpt.index.fields import FIELDS
from excerpt.index.note_facts import NoteInfo
from excerpt.index.snapshot import Snapshot
from excerpt.insight.mentions import MOST_READ, Named, Names, without_addresses
from excerpt.insight.ties import Links, by_place, by_tags, links_of
from excerpt.model import Fragment
from excerpt.search.lexical import Rows
from excerpt.text.languages import is_function_word
from excerpt.text.words import analyze, terms_of

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

# Measured (docs/design/insight.md): flat around these values on every vault.
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

MOST_TERMS = 96
"""Words of a note that others are looked for by, those that say most."""
POOL = 150
"""Notes that each kind of evidence puts forward, to be compared passage by passage."""
MOST_LETTERS = 400_000
"""Letters of one note that are read, which takes a second and a half: more than a novel of 200 pages has."""
MOST_PASSAGES = 48
"""Passages of one note that are compared, spread evenly over all of it."""
IN_A_NAME = 3
"""What a word counts in a note's title or alias, beside the text's 1."""
PIVOT = 0.2
"""The share of the mean in what counts as a note's length (pivoted: Singhal, Buckley and Mitra, 1996). Without it,
stubs of a few words are nearest to everything."""
NAMED = 0.7
"""How much of all there could be it is to be named on one side, by a name that stands nowhere else."""
COMMON_FROM, COMMON_SHARE = 1000, 0.25
"""Words of so many fragments, and of such a share of them, are not looked up: they tell no note from another."""

_TEXT, _TITLE, _ALIAS = (FIELDS.index(field) for field in ("text", "title", "alias"))


@dataclass(frozen=True)
class Origin:
    """What is asked about: a note, by its number in the snapshot's table, and those of its fragments that count, with
    their rows."""

    note: int
    info: NoteInfo
    fragments: tuple[Fragment, ...]
    rows: Rows

    @cached_property
    def read(self) -> tuple[Fragment, ...]:
        """The fragments with as much of their text as is read for words and names: of each the same share."""
        lengths = [min(len(fragment.text), MOST_READ) for fragment in self.fragments]
        letters = max(sum(lengths), MOST_LETTERS)
        parts = zip(self.fragments, (length * MOST_LETTERS // letters for length in lengths), strict=True)
        return tuple(replace(fragment, text=fragment.text[:most]) for fragment, most in parts)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of what is asked about: how it is spelled there ("" where only a name has it), what it says there (how
    often, by the logarithm, times `rarity`), its rarity among the notes of the vault times how telling it is, and
    that: how much it says in general language, 0 to 1. `notes` have it, ascending."""

    term: str
    spelled: str
    weight: float
    rarity: float
    telling: float
    notes: Ints


@dataclass(frozen=True, slots=True)
class Near:
    """Notes put forward, by number, ascending, with their signals (notes x SIGNALS) and scores; and what that was made
    of: the words asked for, who names whom, and the note's links."""

    notes: Ints
    signals: Floats
    scores: Floats
    terms: tuple[Term, ...]
    named: tuple[Named, ...]
    links: Links


def origin_of(snapshot: Snapshot, path: str, line: int | None) -> Origin:
    """The note, or its fragment that holds `line`, else the next (a heading may stand above its fragment), else the
    last. Raises KeyError for a note that the index does not have."""
    note = snapshot.facets.numbers[path]
    fragments = snapshot.note_fragments(path)
    if line is not None and fragments:
        fragments = [fragment for fragment in fragments if fragment.line_end >= line][:1] or fragments[-1:]
    rows = np.searchsorted(snapshot.table.keys, [fragment.key for fragment in fragments]).astype(np.int32)
    return Origin(note, snapshot.note_info(path), tuple(fragments), rows)


def nearest(snapshot: Snapshot, origin: Origin) -> Near:
    """The notes that anything connects with what is asked about, weighed."""
    paths = snapshot.table.paths
    terms = telling_terms(snapshot, origin)
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
        "place": by_place(paths, origin.info.path, notes),
        "tags": by_tags(snapshot, origin.info.tags)[notes],
    }
    # Rounded, so that notes of the same words are of one score and their order is that of their paths.
    signals = np.round(np.stack([values[name] for name in SIGNALS], axis=1), 6).astype(np.float32)
    return Near(notes, signals, signals @ np.array([*WEIGHTS.values()], np.float32), terms, named, links)


def _top(values: Floats) -> Ints:
    """The notes of the POOL highest values above 0."""
    order = np.argsort(-values, kind="stable")[:POOL]
    return order[values[order] > 0].astype(np.int32)


# --- words ------------------------------------------------------------------------------------------------------------


def telling_terms(snapshot: Snapshot, origin: Origin) -> tuple[Term, ...]:
    """The words that say most about the note: often there, rare in the vault, and telling in general language."""
    info, lexical = origin.info, snapshot.lexical
    counts: Counter[str] = Counter()
    for fragment in origin.read:
        counts.update(terms_of(without_addresses(fragment.text), info.language)[0])
    if len(origin.fragments) == 1:
        # Of a whole note, the text has them.
        for heading in origin.fragments[0].heading_path:
            counts.update(terms_of(heading, info.language)[0])
    for name in (info.title, *info.aliases):
        counts.update(terms_of(name, info.language)[0] * IN_A_NAME)
    every = lexical.doc_count
    likely: list[tuple[float, str]] = []
    for term, count in counts.items():
        spread = min(lexical.count(term), every)
        common = spread > max(COMMON_FROM, COMMON_SHARE * every)
        if spread and not common and not is_function_word(term, snapshot.languages):
            likely.append((float(np.log1p(count) * np.log1p((every - spread + 0.5) / (spread + 0.5))), term))
    # Twice as many, of which those go that general language makes light of.
    likely = sorted(likely, key=lambda one: (-one[0], one[1]))[: 2 * MOST_TERMS]
    spelled = _spelled(origin, {term for _, term in likely})
    telling = _telling(snapshot, [spelled.get(term, term).lower() for _, term in likely])
    weighed = [(weight * share, term, share) for (weight, term), share in zip(likely, telling, strict=True)]
    best = sorted(weighed, key=lambda one: (-one[0], one[1]))[:MOST_TERMS]
    return tuple(_term(snapshot, term, spelled.get(term, ""), counts[term], share) for _, term, share in best)


def _spelled(origin: Origin, terms: set[str]) -> dict[str, str]:
    """Words as they are first spelled in the passages that are compared."""
    found: dict[str, str] = {}
    shown = set(spread(origin.rows).tolist())
    for row, fragment in zip(origin.rows.tolist(), origin.read, strict=True):
        if row in shown:
            read = analyze(without_addresses(fragment.text), origin.info.language)
            for term, start, end in zip(read.terms, read.starts, read.ends, strict=True):
                if term in terms and term not in found:
                    found[term] = fragment.text[start:end]
    return found


def _telling(snapshot: Snapshot, words: Sequence[str]) -> list[float]:
    """How much each word says in general language, 0 to 1; 1 where the model does not know."""
    plain = [word for word in words if word.isascii() and word.isalpha()]
    known = dict(zip(plain, snapshot.embedder.telling(plain).tolist(), strict=True))
    return [known.get(word, 1.0) for word in words]


def _term(snapshot: Snapshot, term: str, spelled: str, count: int, telling: float) -> Term:
    every = len(snapshot.table.paths)
    having = np.zeros(every, np.bool_)
    having[snapshot.table.notes[snapshot.lexical.entries(term).rows]] = True
    notes = np.flatnonzero(having).astype(np.int32)
    rarity = telling * float(np.log1p((every - len(notes) + 0.5) / (len(notes) + 0.5)))
    return Term(term, spelled, float(np.log1p(count)) * rarity, rarity, telling, notes)


def by_words(snapshot: Snapshot, terms: Sequence[Term], info: NoteInfo) -> tuple[Floats, Floats]:
    """For each note, the product of its words' weights with those of `terms`, over the root of its pivoted length; and
    how much of its title is among them, and of this note's title (`info`) in its text."""
    notes, count, lexical = snapshot.table.notes, len(snapshot.table.paths), snapshot.lexical
    total, titles, text_has = (np.zeros(count, np.float32) for _ in range(3))
    in_title = set(terms_of(info.title, info.language)[0])
    most, of_title = float(np.log1p(count + 0.5)), 0.0
    for term in terms:
        entries = lexical.entries(term.term)
        there = notes[entries.rows]
        of_text, of_name = entries.fields == _TEXT, entries.fields == _TITLE
        often = np.bincount(there[of_text], entries.tf[of_text], count)
        if term.term in in_title:
            text_has[often > 0] += term.rarity
            of_title += term.rarity
        named = np.zeros(count, np.bool_)
        named[there[of_name]] = True
        titles[named] += term.rarity / most
        named[there[entries.fields == _ALIAS]] = True
        total += np.float32(term.weight * term.rarity) * np.log1p(often + IN_A_NAME * named).astype(np.float32)
    lengths = np.bincount(notes, lexical.lengths("text"), count)
    total /= np.sqrt(PIVOT + (1 - PIVOT) * lengths / max(float(lengths.mean()), 1e-9)).astype(np.float32)
    words_in_titles = np.ones(count, np.float32)
    words_in_titles[notes] = np.maximum(lexical.lengths("title"), 1)
    titles = titles / words_in_titles + text_has / np.float32(max(of_title, 1e-9))
    return total, np.float32(0.5) * titles


# --- names ------------------------------------------------------------------------------------------------------------


def _by_names(snapshot: Snapshot, origin: Origin) -> tuple[Floats, tuple[Named, ...]]:
    """For each note, how rarely named it is where it is named here, or this note there; and where."""
    names = Names(snapshot)
    named = (*names.named_by(origin.note, origin.read), *names.naming(origin.note))
    here, there = (np.zeros(len(snapshot.table.paths), np.float32) for _ in range(2))
    for one in named:
        by, other = (here, one.of) if one.within == origin.note else (there, one.within)
        by[other] = 1 - (1 - by[other]) * (1 - NAMED * one.rarity)
    return 1 - (1 - here) * (1 - there), named


# --- meaning ----------------------------------------------------------------------------------------------------------


def _proposed_by_meaning(snapshot: Snapshot, origin: Origin) -> Floats:
    """For each note, the mean similarity of its passages with what is asked about, above what is ordinary here."""
    notes, count, vectors = snapshot.table.notes, len(snapshot.table.paths), snapshot.vectors
    if not len(origin.rows):
        return np.zeros(count, np.float32)
    centre = (vectors.of(spread(origin.rows)) - vectors.mean).mean(axis=0).astype(np.float32)
    similar = vectors.similarities(centre) - np.float32(vectors.mean @ centre)
    return (np.bincount(notes, similar, count) / np.maximum(np.bincount(notes, minlength=count), 1)).astype(np.float32)


def by_meaning(snapshot: Snapshot, origin: Origin, notes: Ints) -> Floats:
    """For each of `notes`, how well each passage here is matched by the nearest there, and the other way round: the
    mean of both."""
    rows, places = rows_of(snapshot, notes)
    value = np.zeros(len(notes), np.float32)
    if not len(rows) or not len(origin.rows):
        return value
    similar = centred(snapshot, rows) @ centred(snapshot, spread(origin.rows)).T
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    here = np.maximum.reduceat(similar, starts, axis=0).mean(axis=1)
    there = np.add.reduceat(similar.max(axis=1), starts) / np.diff(starts, append=len(places))
    value[places[starts]] = np.clip((here + there) / 2, 0, 1)
    return value


def centred(snapshot: Snapshot, rows: Rows) -> Floats:
    """The vectors of rows as seen from the middle of the vault's, of length 1: as they are, all lie close together."""
    found = snapshot.vectors.of(rows) - snapshot.vectors.mean
    lengths: Floats = np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    return found / lengths


def rows_of(snapshot: Snapshot, notes: Ints) -> tuple[Rows, Ints]:
    """The rows of `notes`, at most MOST_PASSAGES of each, and of each row the place in `notes`, ascending."""
    table = snapshot.table.notes
    place = np.full(len(snapshot.table.paths), -1, np.int32)
    place[notes] = np.arange(len(notes), dtype=np.int32)
    rows = np.flatnonzero(place[table] >= 0).astype(np.int32)
    rows = rows[np.argsort(place[table[rows]], kind="stable")]
    starts = np.flatnonzero(np.diff(place[table[rows]], prepend=-1))
    parts = [spread(part) for part in np.split(rows, starts[1:])]
    rows = np.concatenate(parts)
    return rows, place[table[rows]]


def spread(rows: Rows) -> Rows:
    """At most MOST_PASSAGES of `rows`, evenly."""
    if len(rows) <= MOST_PASSAGES:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MOST_PASSAGES).round().astype(np.int64)]
