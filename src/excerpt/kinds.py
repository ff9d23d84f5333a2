"""The closed sets of the model: each a word, as settings, options and files write it. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar


class BlockKind(StrEnum):
    """What a block is; none is cut between two fragments unless it alone is over the maximum."""

    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    CODE = "code"
    QUOTE = "quote"
    CALLOUT = "callout"
    HTML = "html"
    OTHER = "other"


class LinkKind(StrEnum):
    """How a link was written."""

    WIKILINK = "wikilink"
    EMBED = "embed"
    MARKDOWN = "markdown"


class Strategy(StrEnum):
    """How fragments are scored; `auto` chooses by the query."""

    AUTO = "auto"
    ADAPTIVE = "adaptive"
    PROXIMITY = "proximity"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"


class Confidence(StrEnum):
    """How likely a fragment answers the query, calibrated on queries with and without an answer."""

    STRONG = "strong"
    LIKELY = "likely"
    WEAK = "weak"
    NOTHING = "nothing"


class Scope(StrEnum):
    """What a hit is grown to in a pack."""

    NONE = "none"
    NEIGHBORS = "neighbors"
    SECTION = "section"
    NOTE = "note"


class Format(StrEnum):
    """How packs are written: for a prompt, or as data."""

    MARKDOWN = "markdown"
    XML = "xml"
    JSON = "json"
    PLAIN = "plain"
    TEMPLATE = "template"


class Stopped(StrEnum):
    """Why there is no more in a pack: the budget, the number of hits looked at, or there is nothing more."""

    BUDGET = "budget"
    LIMIT = "limit"
    END = "end"


Kind = TypeVar("Kind")


def next_of(order: Sequence[Kind], now: Kind) -> Kind:
    """Return the one after `now`; after the last the first."""
    return order[(order.index(now) + 1) % len(order)]
