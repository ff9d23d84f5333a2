"""The enumerations of the model; each value is the word in settings, options and files.

Imports no other module of excerpt.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar


class BlockKind(StrEnum):
    """The kind of a Markdown block. A fragment holds whole blocks, unless one alone is too large."""

    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    CODE = "code"
    QUOTE = "quote"
    CALLOUT = "callout"
    HTML = "html"
    OTHER = "other"


class LinkKind(StrEnum):
    """The syntax of a link: `[[note]]`, `![[note]]` or `[text](note.md)`."""

    WIKILINK = "wikilink"
    EMBED = "embed"
    MARKDOWN = "markdown"


class Dialect(StrEnum):
    """The program whose Markdown syntax a vault uses, detected from its folder; `markdown` if unknown.

    The whole files of Logseq and Joplin are read by other rules. The syntax of the other dialects is recognised in each
    note or link.
    """

    MARKDOWN = "markdown"
    OBSIDIAN = "obsidian"
    LOGSEQ = "logseq"
    DENDRON = "dendron"
    FOAM = "foam"
    JOPLIN = "joplin"


class Strategy(StrEnum):
    """How a search scores fragments; `auto` scores as hybrid, weighted by the query's length."""

    AUTO = "auto"
    ADAPTIVE = "adaptive"
    PROXIMITY = "proximity"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"


class LinkForm(StrEnum):
    """How a link to a passage is written: `[[Note#Heading]]`, `[Note](Note.md#Heading)`, `obsidian://…`, `Note.md:12`.

    The form `path` is the note's path without a line.
    """

    WIKILINK = "link"
    MARKDOWN = "markdown"
    OBSIDIAN = "obsidian"
    LINES = "lines"
    PATH = "path"


class Confidence(StrEnum):
    """How likely a fragment answers the query, calibrated on queries with and without an answer.

    Only a whole result can be `unsure`, never a hit: its first hits are near the query, but none is likely to answer
    it.
    """

    STRONG = "strong"
    LIKELY = "likely"
    WEAK = "weak"
    UNSURE = "unsure"
    NOTHING = "nothing"


class Scope(StrEnum):
    """How much text around a hit a pack includes: none, neighbouring fragments, the section, the note."""

    NONE = "none"
    NEIGHBORS = "neighbors"
    SECTION = "section"
    NOTE = "note"


class Format(StrEnum):
    """The output format of packs."""

    MARKDOWN = "markdown"
    XML = "xml"
    JSON = "json"
    PLAIN = "plain"
    TEMPLATE = "template"


class Fill(StrEnum):
    """How far a pack is filled: until it probably holds the answer, or until the budget or the end of the hits."""

    ENOUGH = "enough"
    BUDGET = "budget"


class StopReason(StrEnum):
    """Why packing stopped.

    `budget`: the next hit did not fit. `limit`: no more hits are considered. `end`: there were no more hits.
    `enough`: the next hit scores too far below the best one. `unsure`: the result is unsure, so that only its first
    hits are packed. `no_answer`: nothing near to the query was found.
    """

    BUDGET = "budget"
    LIMIT = "limit"
    END = "end"
    ENOUGH = "enough"
    UNSURE = "unsure"
    NO_ANSWER = "no_answer"


class FilterKind(StrEnum):
    """The kind of a filter: what it tests in a fragment or its note."""

    TAG = "tag"
    PATH = "path"
    FOLDER = "folder"
    FILE = "file"
    TITLE = "title"
    HEADING = "heading"
    PROPERTY = "property"
    MODIFIED = "modified"
    CREATED = "created"
    DATE = "date"
    LINK = "link"
    FROM = "from"
    KIND = "kind"
    PAGE = "page"
    SORT = "sort"
    SOURCE = "source"
    IS = "is"


Item = TypeVar("Item")


def next_in_cycle(items: Sequence[Item], current: Item) -> Item:
    """Return the item after `current`; after the last item, the first."""
    return items[(items.index(current) + 1) % len(items)]
