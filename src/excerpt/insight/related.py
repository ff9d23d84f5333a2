"""The notes nearest to a note or to one of its fragments, each with why: the passages that match, the rare words and
links in common, who names whom, and what of that the score is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from excerpt.model import Fragment, Signal, Span
from excerpt.search.engine import Engine

LIMIT = 10
"""Notes that are told of unless more are asked for: what one looks through."""


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
    """A related note and why it is. The parts of `signals` add up to `score`."""

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
    """The notes nearest to the note `path`, or to the fragment of it that holds `line` (1-based).

    Raises KeyError for a note that the index does not have.
    """
    raise NotImplementedError
