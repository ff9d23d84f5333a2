"""The data model of excerpt: plain values. Imports only `kinds` and the JSON conversion from excerpt.

Lines are 1-based and inclusive everywhere; a note's lines are its text split at CRLF, LF or CR (never at the other
separators of `str.splitlines`, which editors do not count). Tokens are those of the tokenizer named in the settings.
Paths are relative to the vault, with "/".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from excerpt.json_forms import attributes_to_json, dataclass_to_json
from excerpt.kinds import BlockKind, Confidence, Format, LinkKind, Scope, Stopped, Strategy
from excerpt.locations import file_location_to_dict

# --- a note and its parts ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines of one kind.

    `block_id` is Obsidian's `^id` without the caret. `cuts` are the lines before which a block over the maximum is best
    cut: the first of each item or quoted block.
    """

    kind: BlockKind
    line_start: int
    line_end: int
    block_id: str | None = None
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its content, up to the next heading of its level or higher.

    Ordinal 0 is the opening section (level 0, no heading, empty heading path): the text before the first heading.
    `line_start` is the heading's line; `line_end` includes the subsections; `blocks` are those directly under the
    heading, without the subsections'. In a file without lines, `place` is what follows "#" in a link to the section
    (`page=12`), and the heading has no line.
    """

    ordinal: int
    level: int
    heading: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    blocks: tuple[Block, ...]
    place: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A link out of a note. `target` is as written, without anchor, decoded; empty for a link within the note."""

    kind: LinkKind
    target: str
    line: int
    heading: str | None = None
    block_id: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """One parsed file of the vault.

    `text` has LF line ends and no BOM, so that `lines` are the file's. `properties` are the frontmatter's values as
    strings (lists flattened), without title, aliases and tags. `language` is an ISO 639-1 code or "" if unknown.
    `unread` counts the images in it that OCR would read.
    """

    path: str
    title: str
    text: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    language: str = ""
    sections: tuple[Section, ...] = ()
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = ()
    unread: int = 0

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")


@dataclass(frozen=True, slots=True)
class Fragment:
    """Whole consecutive blocks of one section: the unit that is indexed, ranked and shown.

    `text` is exactly lines `line_start`..`line_end` of the note. `ordinal` counts the fragments of the note from 0,
    `section` is the section's ordinal. `id` is stable across builds: it changes only with the path or the text.
    `key` is the row of the catalog that holds it, 0 before it is stored; keys are never used twice. `kind` is an
    attachment's ("pdf"), "" for a note; its lines are then those of the text that was read from it, and `place` is
    what follows "#" in a link to the section (`page=12`).
    """

    id: str
    path: str
    title: str
    heading_path: tuple[str, ...]
    ordinal: int
    section: int
    line_start: int
    line_end: int
    text: str
    tokens: int
    digest: str
    key: int = 0
    kind: str = ""
    place: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return dataclass_to_json(self)


@dataclass(frozen=True, slots=True)
class Part:
    """A fragment without its text: its position, the heading of its section, and its size in tokens.

    The level is 0 and the heading empty before the first heading.
    """

    key: int
    id: str
    ordinal: int
    section: int
    level: int
    heading: str
    line_start: int
    line_end: int
    tokens: int
    digest: str


# --- search -----------------------------------------------------------------------------------------------------------


class Signal(NamedTuple):
    """One addend of a score; `part` is what it adds to the score, `value` times `weight`.

    A tuple, because every search creates six hundred of them, and a dataclass takes three times as long.
    """

    name: str
    value: float
    weight: float
    part: float


def signals_to_dict(signals: Sequence[Signal]) -> dict[str, Any]:
    """Return the signals as JSON objects by name: as tuples they would become lists."""
    return {signal.name: attributes_to_json(signal, "value", "weight", "part") for signal in signals}


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters in a fragment, title or heading; `end` is exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A fragment with its score, the signals that make it up and the spans that matched.

    `confidence` is None for a query of filters alone. `named` are the spans that matched in the title, then in each
    heading of the path. `modified` is the time of the last change of the note's file, in seconds since 1970, 0 if
    unknown.
    """

    fragment: Fragment
    score: float
    signals: tuple[Signal, ...] = ()
    spans: tuple[Span, ...] = ()
    confidence: Confidence | None = None
    named: tuple[tuple[Span, ...], ...] = ()
    modified: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt search`: the hit's fields with its fragment's."""
        fragment = self.fragment
        return {
            **attributes_to_json(fragment, "path", "title", "heading_path", "line_start", "line_end"),
            **file_location_to_dict(fragment),
            **attributes_to_json(self, "score", "confidence"),
            "signals": signals_to_dict(self.signals),
            "tokens": fragment.tokens,
            "fragment_id": fragment.id,
            "text": fragment.text,
        }


@dataclass(frozen=True, slots=True)
class Hint:
    """A word in a query that looks like the key of a filter but is none.

    It spans `start` to `end` (exclusive, with its colon); `written` is its text, `instead` the key that may be meant.
    """

    start: int
    end: int
    written: str
    instead: str

    @property
    def message(self) -> str:
        return f"`{self.written}` is not a filter; did you mean `{self.instead}`?"


@dataclass(frozen=True, slots=True)
class Result:
    """The hits of a search, best first.

    `requested_strategy` is the requested strategy, `strategy` the one that answered. `matched` counts all fragments
    that match (`Evidence.matching`) any alternative, whatever the limit; with filters there may be more hits, because
    the list continues with the nearest in meaning. `elapsed_ms` is the time of the search alone. `generation` is that
    of the index. `hints` are about the query and do not change the result. `confidence` is the highest of the first
    five hits, whatever the limit; None for a query of filters alone.
    """

    query: str
    requested_strategy: Strategy
    strategy: Strategy
    hits: tuple[Hit, ...]
    matched: int
    elapsed_ms: float
    generation: int
    hints: tuple[Hint, ...] = ()
    confidence: Confidence | None = Confidence.NOTHING

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt search`."""
        return {
            **attributes_to_json(self, "query", "strategy", "confidence"),
            "elapsed_ms": round(self.elapsed_ms, 3),
            **attributes_to_json(self, "matched", "generation"),
            "hits": [hit.to_dict() for hit in self.hits],
        }


@dataclass(frozen=True, slots=True)
class VaultHit:
    """A hit of a search in several vaults; `vault` is the name of its vault."""

    vault: str
    hit: Hit

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt search`, with the vault's name."""
        return {"vault": self.vault, **self.hit.to_dict()}


# --- pack -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """A hit that a pack was built from. `order` is the fragment's ordinal in its note."""

    fragment_id: str
    order: int
    score: float
    heading_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pack:
    """Consecutive lines of one note around one or more hits.

    `id` is `<note>:o:<start>-<end>` (fragment ordinals) or `<note>:s:<section ordinal>`. `tokens` are those of `text`
    alone. `cut_above` and `cut_below` are true if its fragment, section or note continues there but did not fit; then
    `text` may begin or end within a line. `modified` is the day of the file's last change, ISO 8601, UTC. `link` is the
    address that opens the note in Obsidian; "" for a memory, and if not requested. `kind` and `place` are those of an
    attachment, see Fragment; over several pages the place is `page=12-13`.
    """

    id: str
    path: str
    title: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    scope: Scope
    entry: Entry
    fragment_ids: tuple[str, ...]
    text: str
    tokens: int
    digest: str
    cut_above: bool = False
    cut_below: bool = False
    modified: str = ""
    link: str = ""
    kind: str = ""
    place: str = ""

    def to_dict(self, number: int) -> dict[str, Any]:
        """Return the JSON form of `excerpt pack`; `number` counts from 1."""
        return {
            **attributes_to_json(self, "id", "path", "heading_path", "line_start", "line_end"),
            **file_location_to_dict(self),
            **attributes_to_json(self, "scope", "entry", "fragment_ids"),
            **attributes_to_json(self, "tokens", "text", "title", "modified", "digest", "cut_above", "cut_below"),
            "number": number,
            **({"link": self.link} if self.link else {}),
        }


TOO_LARGE = "too large"
"""Why a hit was left out that is larger than the whole budget."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A hit that is in no pack, and the reason."""

    path: str
    line_start: int
    line_end: int
    tokens: int
    reason: str


_VALUE_DIGITS = 6
"""Digits of the maximised value that are shown; the value of context is smaller."""


@dataclass(frozen=True, slots=True)
class PackResult:
    """Packs within a budget, and their rendered text.

    `tokens` are those of the whole `text`, never above `budget`. `value` is the sum of values that the selection
    maximised. `source_tokens` are those of the whole notes of the packs. `format` is the requested one; for JSON,
    `text` is the Markdown that `tokens` counts. `costs` are the tokens of each pack with its frame and add up to
    `tokens`. `needs` are the tokens of each hit that did not fit, the last of `left_out`, as a passage of its own.
    """

    query: str
    strategy: Strategy
    budget: int
    tokenizer: str
    packs: tuple[Pack, ...]
    left_out: tuple[LeftOut, ...]
    text: str
    tokens: int
    value: float
    source_tokens: int
    format: Format = Format.MARKDOWN
    stopped: Stopped = Stopped.END
    costs: tuple[int, ...] = ()
    needs: tuple[int, ...] = ()

    @property
    def saved(self) -> float:
        """Share of the source notes' tokens that the packs leave out, 0 to 1."""
        return 1 - self.tokens / self.source_tokens if self.source_tokens > self.tokens else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt pack`; `tokens` are those of the text in Markdown."""
        return {
            **attributes_to_json(self, "query", "strategy", "budget", "tokenizer", "tokens"),
            "value": round(self.value, _VALUE_DIGITS),
            "packs": [pack.to_dict(number) for number, pack in enumerate(self.packs, start=1)],
            **attributes_to_json(self, "left_out", "source_tokens"),
        }


# --- index ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that could not be indexed, and the reason in one sentence."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a build. Sent after each batch and at least every 100 ms; `generation` is the last committed one.

    `seconds` is how long the build has worked, without its pauses; `current_seconds` how long `current` has been in
    work.
    """

    phase: str
    notes_done: int
    notes_total: int
    bytes_done: int
    bytes_total: int
    current: str
    generation: int
    skipped: int
    seconds: float
    current_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Summary of a build. `attachments` counts those of the files that are not notes."""

    generation: int
    added: int
    changed: int
    removed: int
    unchanged: int
    fragments: int
    embedded: int
    skipped: tuple[Skipped, ...]
    warnings: tuple[Skipped, ...]
    seconds: float
    rebuilt: str = ""
    attachments: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return dataclass_to_json(self)


@dataclass(frozen=True, slots=True)
class FolderRights:
    """A folder of a vault in a store with rights of its own; "" is the rest of the vault.

    It has the roles that may read it, besides the writers, and the number of its notes.
    """

    folder: str
    roles: tuple[str, ...]
    notes: int


@dataclass(frozen=True, slots=True)
class PushReport:
    """Summary of a push to a store: notes, the number of fragments there, and who may read which folder.

    A reader of a replica at `position` has all of it. `kept` counts notes that stay as the store has them although the
    pushing copy differs; `conflicts` counts those of them that were changed on both sides.
    """

    added: int
    changed: int
    removed: int
    unchanged: int
    kept: int
    conflicts: tuple[str, ...]
    fragments: int
    seconds: float
    rights: tuple[FolderRights, ...]
    position: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return dataclass_to_json(self)


@dataclass(frozen=True, slots=True)
class Unread:
    """Files that were not read, or not completely, because something is not installed or enabled.

    The fields are their number, a short description, and what would make them readable.
    """

    files: int
    what: str
    action: str


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a vault's index. `attachments` counts indexed attachments by kind; notes are not among them."""

    vault: str
    generation: int
    notes: int
    fragments: int
    skipped: tuple[Skipped, ...]
    warnings: tuple[Skipped, ...]
    model: str
    tokenizer: str
    updated: str
    attachments: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return dataclass_to_json(self)


# --- memory -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a memory.

    `digest` is that of the lines when it was saved; `place` is that of an attachment, whose lines are those of the text
    extracted from it.
    """

    path: str
    line_start: int
    line_end: int
    digest: str
    heading_path: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """A finding the user keeps. Times are ISO 8601, UTC."""

    id: str
    text: str
    tags: tuple[str, ...]
    why: str
    created: str
    updated: str
    source: Source | None = None
    query: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return dataclass_to_json(self)
