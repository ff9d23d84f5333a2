"""Values that insights are made of: related and similar notes, maps of matches, completions, suggestions, dated notes.

They import nothing that computes them. Those of overviews are in `overview_parts.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from msgspec import Struct

from excerpt.base.json_forms import attributes_to_json, dataclass_to_json
from excerpt.base.model import Fragment, Signal, Span, signals_to_dict
from excerpt.text.display import code_span, format_count, visible_line
from excerpt.text.snippet import snippet

MAX_LISTED = 5
"""The most titles, words or tags in a reason of `RelatedNote.text`."""


MAX_QUOTED_CHARACTERS = 160
"""The most characters of the quotation in `RelatedNote.text`."""


class LinkDirection(StrEnum):
    """The direction of links between two notes: TO the related note, FROM the related note, BOTH, or NO link."""

    TO = "to"
    FROM = "from"
    BOTH = "both"
    NO = "no"

    @property
    def sentence(self) -> str:
        """The direction as a phrase, such as "this links to it"; "" for notes without a link."""
        return {"to": "this links to it", "from": "it links to this", "both": "they link to each other"}.get(self, "")


@dataclass(frozen=True, slots=True)
class MatchedFragment:
    """One of two matching fragments; `spans` are the character ranges of the words that both fragments have."""

    fragment: Fragment
    spans: tuple[Span, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            **attributes_to_json(self.fragment, "path", "heading_path", "line_start", "line_end"),
            "fragment_id": self.fragment.id,
            "text": self.fragment.text,
            "spans": [[span.start, span.end] for span in self.spans],
        }


@dataclass(frozen=True, slots=True)
class PassageMatch:
    """Two matching passages: `passage` of the compared note, `related_passage` of the related note.

    `similarity` is their cosine in meaning, 0 (unrelated) to 1. `words` are the words that both have, the rarest first,
    as the compared note spells them.
    """

    passage: MatchedFragment
    related_passage: MatchedFragment
    similarity: float
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedWord:
    """A word that the compared note and a related note share, as the compared note spells it.

    `notes` is the number of notes of the vault that have the word; `line` is its first line in the related note.
    """

    word: str
    notes: int
    line: int


@dataclass(frozen=True, slots=True)
class CommonLink:
    """A note that connects two other notes: both link to this note, or, if `links_to_both`, this note links to both."""

    path: str
    title: str
    links_to_both: bool


@dataclass(frozen=True, slots=True)
class Mention:
    """A line of the note `path` that names the note `of` (a path) by title, file name or alias, without a link.

    `text` is the name as that line spells it.
    """

    path: str
    line: int
    text: str
    of: str


@dataclass(frozen=True, slots=True)
class RelatedNote:
    """A related note and the reasons for its score, 0 to 1; the weighted `signals` add up to `score`.

    `common` are the notes that connect the two notes by links, and `tags` are the tags that both notes have. `place` is
    the smallest folder with both notes, or the longest prefix up to a dot that their names share; "" if that is the
    whole vault.
    """

    path: str
    title: str
    score: float
    signals: tuple[Signal, ...]
    matches: tuple[PassageMatch, ...] = ()
    words: tuple[SharedWord, ...] = ()
    linked: LinkDirection = LinkDirection.NO
    common: tuple[CommonLink, ...] = ()
    tags: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    place: str = ""

    @property
    def missing_link(self) -> bool:
        """Whether the compared note or the related note names the other one, without any link between them."""
        return self.linked is LinkDirection.NO and bool(self.mentions)

    @property
    def line(self) -> int:
        """The line at which to open the related note: where its best passage begins, or 1."""
        return self.matches[0].related_passage.fragment.line_start if self.matches else 1

    @property
    def text(self) -> str:
        """The note and the reasons as a list item of Markdown, with a quotation of its best passage."""
        why = [self.linked.sentence] if self.linked.sentence else []
        if self.missing_link:
            why.append("one names the other without a link")
        if self.common:
            titles = list(dict.fromkeys(link.title for link in self.common))
            why.append(f"linked with both: {', '.join(titles[:MAX_LISTED])}")
        if self.words:
            why.append(f"rare words in common: {', '.join(word.word for word in self.words[:MAX_LISTED])}")
        if self.tags:
            why.append(f"tags in common: {', '.join(self.tags[:MAX_LISTED])}")
        reasons = f": {visible_line('; '.join(why))}" if why else ""
        lines = [f"- {visible_line(self.title)} {code_span(f'{self.path}:{self.line}')}{reasons}"]
        for match in self.matches[:1]:
            passage = match.related_passage
            lines.append(f"  > {snippet(passage.fragment.text, passage.spans, MAX_QUOTED_CHARACTERS)[0]}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            **attributes_to_json(self, "path", "title", "line", "score"),
            "signals": signals_to_dict(self.signals),
            **attributes_to_json(self, "linked", "missing_link", "mentions", "common", "words", "tags", "place"),
            "matches": [
                {
                    "passage": match.passage.to_dict(),
                    "related_passage": match.related_passage.to_dict(),
                    **attributes_to_json(match, "similarity", "words"),
                }
                for match in self.matches
            ],
        }


@dataclass(frozen=True, slots=True)
class RelatedNotes:
    """The notes most similar to the note `path`, or to its `fragment` if a line was given, best first.

    Ties are in the order of paths. `generation` is a number that each commit to the index raises. `hidden` is the
    number of related notes that were left out because a link connects them with the compared note.
    """

    path: str
    title: str
    line: int | None
    fragment: Fragment | None
    notes: tuple[RelatedNote, ...]
    elapsed_ms: float
    generation: int
    hidden: int = 0

    @property
    def text(self) -> str:
        """The notes as Markdown, each with the reasons; "" if no note is related."""
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        head = f"# Related to {visible_line(self.title)} {code_span(place)}\n\n"
        return head + "".join(f"{note.text}\n" for note in self.notes) if self.notes else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt related`."""
        return {
            **attributes_to_json(self, "path", "title", "line"),
            "fragment_id": self.fragment.id if self.fragment else None,
            "generation": self.generation,
            "elapsed_ms": round(self.elapsed_ms, 3),
            "notes": [note.to_dict() for note in self.notes],
        }


@dataclass(frozen=True, slots=True)
class SimilarNote:
    """A note and its similarity in meaning to another: the cosine of their mean vectors, less the vault's mean.

    1 is the same text, 0 unrelated.
    """

    path: str
    title: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Branch:
    """A folder, tag, property, value, year or month, with the number of matching fragments and of their notes.

    `label` is shown beside the count: a folder's own name, the last part of a tag, a property's name or value, `2025`
    or `2025-03`, in the spelling of most notes. Spellings that filters treat as equal are one branch. `filter` narrows
    a query to the branch, such as `path:/Projects/`. `branches` are the child branches with
    matches; `unlisted` is the number of child branches with matches that are left out.
    """

    label: str
    filter: str
    fragments: int
    notes: int
    branches: tuple[Branch, ...] = ()
    unlisted: int = 0


@dataclass(frozen=True, slots=True)
class VaultMap:
    """The matches of a query, per folder (any depth), tag (nested), property (with its values) and month (in years).

    `fragments` and `notes` are the numbers of all matches; a note may have several tags and values or none, so branches
    need not add up to them. `created` omits notes without a date of creation; months are in local time, oldest first.
    All other branches are ordered by count, then by label. `generation` is a number that each commit to the index
    raises.
    """

    query: str
    fragments: int
    notes: int
    folders: tuple[Branch, ...]
    tags: tuple[Branch, ...]
    properties: tuple[Branch, ...]
    modified: tuple[Branch, ...]
    created: tuple[Branch, ...]
    generation: int

    @property
    def text(self) -> str:
        """The map as Markdown lists, two levels and eight branches each, with filters; "" if nothing matches."""
        if not self.fragments:
            return ""
        lines = [f"# Where: {visible_line(self.query)}", "", _format_counts(self.fragments, self.notes)]
        for name in ("folders", "tags", "properties", "modified", "created"):
            branches: tuple[Branch, ...] = getattr(self, name)
            if branches:
                lines += ["", f"## {name.capitalize()}", "", *_list_branches(branches, 0)]
        return "".join(f"{line}\n" for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt map`."""
        return dataclass_to_json(self)


_TEXT_LEVELS, _TEXT_BRANCHES = 2, 8  # of `VaultMap.text`, as `excerpt map` prints


def _list_branches(branches: Sequence[Branch], unlisted: int, level: int = 0) -> Iterator[str]:
    """Yield the lines of `VaultMap.text` for some branches, and a last line with the number of branches left out."""
    indent = "  " * level
    for branch in branches[:_TEXT_BRANCHES]:
        counts = _format_counts(branch.fragments, branch.notes)
        yield f"{indent}- {visible_line(branch.label)} {code_span(branch.filter)}: {counts}"
        if level + 1 < _TEXT_LEVELS:
            yield from _list_branches(branch.branches, branch.unlisted, level + 1)
    if left_out := len(branches[_TEXT_BRANCHES:]) + unlisted:
        yield f"{indent}- and {left_out:,} more"


def _format_counts(fragments: int, notes: int) -> str:
    return f"{format_count(fragments, 'passage')} in {format_count(notes, 'note')}"


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion: `text` goes into the query, `label` is shown beside `count`, the number of matches.

    Matches are counted in `unit`: "note", or "fragment" for a word. `count` is 0 if unknown. A `text` that ends in a
    colon needs a value after it.
    """

    text: str
    label: str
    count: int = 0
    unit: str = "note"


@dataclass(frozen=True, slots=True)
class Completions:
    """The completions of a word of a query, the likeliest first; `text` of each replaces characters `start` to `end`.

    `end` is exclusive.
    """

    start: int
    end: int
    completions: tuple[Completion, ...]

    def __iter__(self) -> Iterator[Completion]:
        return iter(self.completions)

    def __len__(self) -> int:
        return len(self.completions)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return dataclass_to_json(self)


class Direction(StrEnum):
    """Whether a suggested query has fewer matches (NARROWER) or more (WIDER)."""

    NARROWER = "narrower"
    WIDER = "wider"


class Suggestion(Struct, frozen=True):
    """A suggested query with its number of matches, `hits`.

    `way` is narrower or wider; `label` names the part that was added to the user's query or removed from it.
    """

    way: Direction
    label: str
    query: str
    hits: int


class DatedNote(Struct, frozen=True):
    """A note with its `day`: the date that it gives itself, else the day of its file's last change, in local time."""

    path: str
    title: str
    day: date
