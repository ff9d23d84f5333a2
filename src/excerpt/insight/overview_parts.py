"""The parts of an overview. Each has its note's path and lines (1-based, inclusive).

Fragments "about the topic" are those that `excerpt.insight.topic` chooses; all counts and shares refer to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from excerpt.json_forms import attributes_to_json, dataclass_to_json
from excerpt.kinds import Confidence


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A location in a note. `title` is the note's; `fragment_id` is empty if the lines are not those of a fragment.

    `kind` and `place` are those of an attachment, see Fragment.
    """

    path: str
    title: str
    line_start: int
    line_end: int
    heading_path: tuple[str, ...] = ()
    fragment_id: str = ""
    kind: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class MainNote:
    """A note that is mainly about the topic.

    `place` is its best fragment, `fragments` the number of its fragments about the topic and `share` their share of all
    such fragments, 0 to 1; `of` is the number of all its fragments. `worth` is its value for the topic, 1 for the first
    note.
    """

    place: SourceLocation
    fragments: int
    of: int
    share: float
    worth: float


@dataclass(frozen=True, slots=True)
class KeySection:
    """A section about the topic, or a hit of a search for it that is in no section.

    It has its lines, the number of its fragments that are about the topic or among the first hits, and its tokens.
    """

    place: SourceLocation
    fragments: int
    tokens: int
    worth: float


@dataclass(frozen=True, slots=True)
class LinkedNote:
    """A note linked with main notes that is not itself a main note.

    `links_to` and `linked_from` are the main notes it links to and is linked from, as paths; `fragments` is the number
    of its own fragments about the topic.
    """

    place: SourceLocation
    links_to: tuple[str, ...]
    linked_from: tuple[str, ...]
    fragments: int


class LabelKind(StrEnum):
    """The kind of a distinctive label."""

    TAG = "tag"
    PROPERTY = "property"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class Standout:
    """A tag, property value or folder that is more frequent among notes about the topic than among the others.

    `here` of `here_of` notes about the topic have it (if they are very many, the best are counted), and `overall` of
    `overall_of` notes of the vault. `g2` is the log-likelihood ratio (Dunning, 1993) of these counts. `name` is the
    property's, else empty; `filter` is the query's filter for those notes; `place` is the best fragment of the best
    note that has it.
    """

    kind: LabelKind
    name: str
    value: str
    here: int
    here_of: int
    overall: int
    overall_of: int
    g2: float
    filter: str
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class LinkedName:
    """A person or thing that passages about the topic link to by name, whose note is not about the topic.

    `notes` is the number of notes that link to it there, `overall` the number in the whole vault; `path` is None if it
    has no note. `place` is its first link in the best of those notes.
    """

    name: str
    path: str | None
    notes: int
    overall: int
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Theme:
    """Similar fragments about the topic, and the words that distinguish them from the others.

    `place` is the central fragment, `share` their share of all grouped fragments, 0 to 1.
    """

    words: tuple[str, ...]
    fragments: int
    notes: int
    share: float
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Month:
    """The number of notes about the topic in a month (`2025-03`); `place` is the best fragment of the best of them."""

    month: str
    notes: int
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Timeline:
    """The notes about the topic by month, ascending; months without notes are left out.

    `date` names the date used: `created`, `modified`, or a property; "" if the vault has none, and then there are no
    months. `undated` counts the notes about the topic without it.
    """

    date: str
    months: tuple[Month, ...]
    undated: int


@dataclass(frozen=True, slots=True)
class KeyPassage:
    """A quotation about the topic: consecutive sentences of a fragment, without markup, on one line.

    A text that is too long is cut and ends in "…". `cut_before` and `cut_after` tell whether the fragment has more
    sentences there.
    """

    place: SourceLocation
    text: str
    cut_before: bool
    cut_after: bool
    score: float
    confidence: Confidence | None


@dataclass(frozen=True, slots=True)
class Overview:
    """An overview of a vault's content on a topic, each part best first.

    `fragments` and `notes` count those about the topic; `matched` is the number of fragments that a search for it
    counts; `vault_fragments` and `vault_notes` count all. `budget` is the limit of its Markdown in tokens of
    `tokenizer`. All parts are empty if nothing in the vault is about the topic.
    """

    topic: str
    budget: int
    tokenizer: str
    generation: int
    confidence: Confidence | None
    matched: int
    fragments: int
    notes: int
    vault_fragments: int
    vault_notes: int
    main_notes: tuple[MainNote, ...] = ()
    sections: tuple[KeySection, ...] = ()
    passages: tuple[KeyPassage, ...] = ()
    themes: tuple[Theme, ...] = ()
    standouts: tuple[Standout, ...] = ()
    related: tuple[LinkedNote, ...] = ()
    names: tuple[LinkedName, ...] = ()
    timeline: Timeline = Timeline("", (), 0)

    @property
    def found(self) -> bool:
        """Whether anything in the vault is about the topic."""
        return bool(self.main_notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt overview`, without the budget.

        The fields of each part's location are among the part's own.
        """
        data = dataclass_to_json(self)
        del data["budget"], data["tokenizer"]
        timeline = data["timeline"]
        months = [_with_location(month) for month in timeline["months"]]
        return {
            **data,
            **{name: [_with_location(part) for part in data[name]] for name in _WITH_LOCATION},
            # The `path` of a linked name is that of its own note, not of the note that links to it.
            "names": [
                {
                    **attributes_to_json(name, "name"),
                    "note": name.path,
                    **attributes_to_json(name, "notes", "overall"),
                    **dataclass_to_json(name.place),
                }
                for name in self.names
            ],
            "timeline": {"date": timeline["date"], "undated": timeline["undated"], "months": months},
        }


_WITH_LOCATION = ("main_notes", "sections", "passages", "themes", "standouts", "related")


def _with_location(part: dict[str, Any]) -> dict[str, Any]:
    return {**part.pop("place"), **part}
