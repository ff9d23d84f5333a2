"""The parts of an overview. Each part has a location: a note's path and lines (1-based, inclusive).

`excerpt.insight.topic` chooses the fragments "about the topic"; all counts and shares refer to these fragments.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from excerpt.json_forms import attributes_to_json, dataclass_to_json
from excerpt.kinds import Confidence


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Lines of a note. `title` is the note's title; `fragment_id` is "" if the lines are not exactly one fragment.

    For an attachment, `kind` is the file's kind ("pdf") and `place` the page, slide or cells; else both are "".
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

    `place` is the location of its best fragment. `fragments` of its `of` fragments are about the topic, and `share` is
    their share of all fragments about the topic, 0 to 1. `value` is its value for the topic, 1 for the best note.
    """

    place: SourceLocation
    fragments: int
    of: int
    share: float
    value: float


@dataclass(frozen=True, slots=True)
class KeySection:
    """A section about the topic, or a hit of a search for it that is in no section.

    `fragments` is the number of its fragments that are about the topic or among the first hits, and `tokens` is its
    length. `value` is its value for the topic, 1 for the best section.
    """

    place: SourceLocation
    fragments: int
    tokens: int
    value: float


@dataclass(frozen=True, slots=True)
class LinkedNote:
    """A note that links to main notes or is linked from them, without being a main note.

    `links_to` are the paths of the main notes that this note links to, `linked_from` those of the main notes that link
    to this note. `fragments` is the number of its own fragments about the topic.
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
class DistinctiveLabel:
    """A tag, property value or folder that is more frequent among notes about the topic than among other notes.

    `in_topic` of `topic_size` notes about the topic have the label (of very many notes, only the best are counted), and
    `overall` of `overall_of` notes of the vault. `g2` is the log-likelihood ratio (Dunning, 1993) of these counts.
    `name` is the property's name, "" for a tag or folder. `filter` is the query filter for the notes with the label.
    `place` is the best fragment of the best note with the label.
    """

    kind: LabelKind
    name: str
    value: str
    in_topic: int
    topic_size: int
    overall: int
    overall_of: int
    g2: float
    filter: str
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class LinkedName:
    """A person or thing that passages about the topic link to by name; its own note is not about the topic.

    `path` is the path of its own note, None if the note is missing. `notes` is the number of notes with passages about
    the topic that link to the name, and `overall` the number of all notes that link to it. `place` is the first link in
    the best of these notes.
    """

    name: str
    path: str | None
    notes: int
    overall: int
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Theme:
    """Similar fragments about the topic, and the words that distinguish them from the others.

    `fragments` and `notes` count the theme's fragments and their notes; `share` is the theme's share of all grouped
    fragments, 0 to 1. `place` is the theme's central fragment.
    """

    words: tuple[str, ...]
    fragments: int
    notes: int
    share: float
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Month:
    """The number of notes about the topic in a month (`2025-03`); `place` is the best fragment of the best note."""

    month: str
    notes: int
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Timeline:
    """The notes about the topic by month, ascending; months without notes are left out.

    `date` names the kind of date used: `created`, `modified`, or a property; "" if the notes have no dates, and then
    there are no months. `undated` is the number of notes about the topic without this date.
    """

    date: str
    months: tuple[Month, ...]
    undated: int


@dataclass(frozen=True, slots=True)
class KeyPassage:
    """A quotation about the topic: consecutive sentences of a fragment, without markup, on one line.

    A text that is too long is cut and ends in "…". `cut_before` and `cut_after` are true if the fragment has more
    sentences before or after the quotation. `score` is that of the fragment, 1 for the best fragment.
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

    `fragments` and `notes` are the numbers of fragments and notes about the topic; `matched` is the number of matches
    of a search for the topic; `vault_fragments` and `vault_notes` are the vault's numbers. `budget` is the limit of the
    overview's Markdown, in tokens of `tokenizer`. `generation` is a number that each commit to the index raises. All
    parts are empty if nothing in the vault is about the topic.
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
    standouts: tuple[DistinctiveLabel, ...] = ()
    related: tuple[LinkedNote, ...] = ()
    names: tuple[LinkedName, ...] = ()
    timeline: Timeline = Timeline("", (), 0)

    @property
    def found(self) -> bool:
        """Whether anything in the vault is about the topic."""
        return bool(self.main_notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt overview`, without the budget and the tokenizer.

        The fields of a part's `place` (its location) become fields of the part itself.
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
