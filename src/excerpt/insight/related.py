"""The notes nearest to a note or to one of its fragments, each with why: the passages that match, the rare words and
links in common, who names whom, and what of that the score is made of."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from excerpt.index.snapshot import Snapshot
from excerpt.insight.nearness import WEIGHTS, Near, Origin, nearest, origin_of
from excerpt.insight.shared import Comparison
from excerpt.insight.ties import in_common, shared_place
from excerpt.model import Fragment, Signal, Span
from excerpt.search.engine import Engine
from excerpt.text.folding import fold

LIMIT = 10
"""Notes that are told of unless more are asked for: what one looks through."""
LEAST = 0.05
"""The score below which a note is not told of: two notes of one vault that have nothing to do with each other have
about as much in common."""
MOST_COMMON = 6
"""Notes that connect two, told of one."""
MOST_MENTIONS = 3
"""Places where one of two notes names the other, told of one."""


class Linked(StrEnum):
    """Whether two notes link to each other: this one to the related one, that one to this, both, or neither."""

    TO = "to"
    FROM = "from"
    BOTH = "both"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Passage:
    """One side of a match: a fragment, and where in its text the words stand that the other side has too."""

    fragment: Fragment
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class PassageMatch:
    """A passage of this note and one of the related note that say alike.

    `similarity` is that of meaning, 0 (as near as any two passages of the vault) to 1; `words` are the words that both
    have, the rarest first.
    """

    here: Passage
    there: Passage
    similarity: float
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedWord:
    """A word that both notes have, as this one spells it, and how many notes of the vault have it; `line` is where it
    first stands in the related note."""

    word: str
    notes: int
    line: int


@dataclass(frozen=True, slots=True)
class CommonLink:
    """A third note by which two are connected: both link to it (`links_to_both` False), or it links to both."""

    path: str
    title: str
    links_to_both: bool


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in the text of the note `path` where the note `of` is named, by title, file name or alias, and not in a
    link. `text` is the name as it stands there."""

    path: str
    line: int
    text: str
    of: str


@dataclass(frozen=True, slots=True)
class RelatedNote:
    """A related note and why it is. The parts of `signals` add up to `score`, 0 to 1.

    `tags` are those that both have, `place` the smallest folder (or the beginning of a name, up to a dot) that both are
    in, "" where that is the whole vault.
    """

    path: str
    title: str
    score: float
    signals: tuple[Signal, ...]
    matches: tuple[PassageMatch, ...] = ()
    words: tuple[SharedWord, ...] = ()
    linked: Linked = Linked.NO
    common: tuple[CommonLink, ...] = ()
    tags: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    place: str = ""

    @property
    def missing_link(self) -> bool:
        """Whether one of the two notes names the other, and neither links to the other."""
        return self.linked is Linked.NO and bool(self.mentions)

    @property
    def line(self) -> int:
        """Where to look first in the related note: where its best passage begins."""
        return self.matches[0].there.fragment.line_start if self.matches else 1


@dataclass(frozen=True, slots=True)
class Related:
    """The notes nearest to the note `path`, or to its `fragment` where a line was given, best first, ties by path."""

    path: str
    title: str
    line: int | None
    fragment: Fragment | None
    notes: tuple[RelatedNote, ...]
    elapsed_ms: float
    generation: int


def related(engine: Engine, path: str, line: int | None = None, limit: int = LIMIT) -> Related:
    """The notes nearest to the note `path`, or to the fragment of it that holds `line` (1-based; else the next one).

    Raises KeyError for a note that the index does not have.
    """
    begun = time.perf_counter()
    snapshot = engine.snapshot
    origin = origin_of(snapshot, path, line)
    near = nearest(snapshot, origin)
    order = np.lexsort((near.notes, -near.scores))
    order = order[near.scores[order] >= LEAST][:limit]
    compared = Comparison(snapshot, origin, near.terms, np.sort(near.notes[order]))
    notes = tuple(_why(snapshot, origin, near, compared, at) for at in order.tolist())
    return Related(
        path=path,
        title=origin.info.title,
        line=line,
        fragment=origin.fragments[0] if line is not None and origin.fragments else None,
        notes=notes,
        elapsed_ms=(time.perf_counter() - begun) * 1e3,
        generation=snapshot.generation,
    )


def _why(snapshot: Snapshot, origin: Origin, near: Near, compared: Comparison, at: int) -> RelatedNote:
    """All that is told of the note at a place of `near`."""
    note = int(near.notes[at])
    info = snapshot.note_info(snapshot.table.paths[note])
    values = near.signals[at].tolist()
    signals = tuple(
        Signal(name, value, weight, value * weight)
        for (name, weight), value in zip(WEIGHTS.items(), values, strict=True)
    )
    tags = {fold(tag) for tag in info.tags}
    return RelatedNote(
        path=info.path,
        title=info.title,
        score=sum(signal.part for signal in signals),
        signals=signals,
        matches=tuple(
            PassageMatch(
                Passage(pair.here, pair.spans_here), Passage(pair.there, pair.spans_there), pair.similarity, pair.words
            )
            for pair in compared.pairs(note)
        ),
        words=tuple(SharedWord(word.word, word.notes, word.line) for word in compared.words(note)),
        linked=_linked(note in near.links.to, note in near.links.back),
        common=_common(snapshot, near, note),
        tags=tuple(tag for tag in origin.info.tags if fold(tag) in tags),
        mentions=_mentions(snapshot, near, note),
        place=shared_place(snapshot.table.paths, origin.info.path, info.path),
    )


def _linked(to: bool, back: bool) -> Linked:
    if to:
        return Linked.BOTH if back else Linked.TO
    return Linked.FROM if back else Linked.NO


def _common(snapshot: Snapshot, near: Near, note: int) -> tuple[CommonLink, ...]:
    """The third notes that connect two, those with the fewest links first."""
    both_link_to, link_to_both = in_common(snapshot, near.links, note)
    found = [(other, False) for other in both_link_to] + [(other, True) for other in link_to_both]
    shown = [(snapshot.note_info(snapshot.table.paths[other]), back) for other, back in found[:MOST_COMMON]]
    return tuple(CommonLink(info.path, info.title, back) for info, back in shown)


def _mentions(snapshot: Snapshot, near: Near, note: int) -> tuple[Mention, ...]:
    """Where one of two notes names the other, each line once."""
    paths = snapshot.table.paths
    found = [
        Mention(paths[one.within], one.line, one.text, paths[one.of])
        for one in near.named
        if note in (one.of, one.within)
    ]
    lines = {(mention.path, mention.line): mention for mention in reversed(found)}
    return tuple(mention for _, mention in sorted(lines.items())[:MOST_MENTIONS])
