"""The data model of excerpt: plain values. Imports only `kinds` and the JSON conversion from excerpt.

Lines are 1-based and inclusive everywhere; a note's lines are its text split at CRLF, LF or CR (never at the other
separators of `str.splitlines`, which editors do not count). Tokens are counted by the tokenizer named in the settings.
Paths are relative to the vault, with "/".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from excerpt.base.json_forms import attributes_to_json, dataclass_to_json
from excerpt.base.kinds import BlockKind, Confidence, Dialect, Format, LinkKind, Scope, StopReason, Strategy
from excerpt.base.locations import file_location_to_dict


class Block(Struct, frozen=True):
    """A Markdown block: consecutive lines of a note that form a paragraph, list, table or other unit.

    `block_id` is Obsidian's `^id` at the end of the block, without the caret. `cuts` are numbers of lines: a block that
    is too large for one fragment is best divided before one of these lines, where a list item or a quoted block begins.
    """

    kind: BlockKind
    line_start: int
    line_end: int
    block_id: str | None = None
    cuts: tuple[int, ...] = ()


class Section(Struct, frozen=True):
    """A heading and its content, up to the next heading of its level or higher.

    `ordinal` counts the sections of the note. Section 0 holds the text before the first heading: its level is 0, its
    heading and heading path are empty. `line_start` is the heading's line; `line_end` includes the subsections;
    `blocks` are the blocks directly under the heading, without the blocks of subsections. In a file without lines (a
    PDF), `place` is what follows "#" in a link to the section (`page=12`), and the heading has no line.
    """

    ordinal: int
    level: int
    heading: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    blocks: tuple[Block, ...]
    place: str = ""


class Link(Struct, frozen=True):
    """A link in a note to a note or attachment.

    `target` is the address as written but percent-decoded, without the part after "#"; "" for a link within the note.
    `line` is the link's line. `heading` or `block_id` is the part after "#". `text` is the label; each is None if the
    link has none.
    """

    kind: LinkKind
    target: str
    line: int
    heading: str | None = None
    block_id: str | None = None
    text: str | None = None


class CommentLine(NamedTuple):
    """The part of a comment that is on one line.

    `line` is the number of the line (from 1). `text` belongs before the character at `column` of what is left of the
    line. `begins` says whether the comment begins here, and not on a line above.
    """

    line: int
    column: int
    begins: bool
    text: str


class Note(Struct, frozen=True):
    """A parsed file of the vault: a Markdown note, or an attachment with its extracted text.

    `text` has LF line ends and no BOM. `properties` are the frontmatter's values as strings (lists flattened), without
    title, aliases and tags. `language` is an ISO 639-1 code or "" if unknown. `unread` is the number of images in the
    file that OCR could read but has not read. `comments` are the lines of comments, which are not in `text`.
    """

    path: str
    title: str
    text: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    properties: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    language: str = ""
    sections: tuple[Section, ...] = ()
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = ()
    unread: int = 0
    comments: tuple[CommentLine, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The lines of `text`; for a note, they are numbered as in its file."""
        return self.text.split("\n")


_EPOCH = date(1970, 1, 1)
_NS_PER_DAY = 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class NoteInfo:
    """The data of a note other than its text.

    `properties` are the frontmatter's values by name, as in Note. `size` (bytes) and `mtime_ns` (modification time, ns
    since 1970) are those of the file when it was indexed; `kind` is the kind of an attachment, "" for a note.
    """

    path: str
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    properties: Mapping[str, tuple[str, ...]] = field(hash=False)
    language: str
    size: int
    mtime_ns: int
    tokens: int
    kind: str

    @property
    def modified(self) -> str:
        """The day of the file's last change, ISO 8601, UTC."""
        return day_of_ns(self.mtime_ns)


UNREAD_NOTE = NoteInfo("", "", (), (), {}, "", 0, 0, 0, "")
"""The note of a hit whose note has not been read."""


def day_of_ns(mtime_ns: int) -> str:
    """Return the day of a time in nanoseconds since 1970, ISO 8601, UTC."""
    return (_EPOCH + timedelta(mtime_ns // _NS_PER_DAY)).isoformat()  # fromtimestamp fails before 1970 on Windows


@dataclass(frozen=True, slots=True, repr=False)
class Fragment:
    """A passage of a note: consecutive blocks of one section, which are indexed, ranked and shown as one.

    `text` is exactly lines `line_start` to `line_end` of the note, `tokens` its size and `digest` its hash. `ordinal`
    counts the fragments of the note from 0; `section` is the ordinal of the section. `id` changes only with the path or
    the text. `key` is the fragment's row in the catalog (the index's SQLite database), 0 before it is stored; keys are
    never reused. `kind` is the kind of an attachment ("pdf"), "" for a note. In an attachment, lines count in the
    extracted text, and `place` is what follows "#" in a link to the section (`page=12`).
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

    def __repr__(self) -> str:
        return f"Fragment({self.path!r}, lines {self.line_start}-{self.line_end}, tokens {self.tokens})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return dataclass_to_json(self)


class FragmentInfo(Struct, frozen=True):
    """A fragment without its text: its position in the note, its heading and its size in tokens.

    `level` and `heading` are of the section's heading; 0 and "" before the first heading. The other fields are those of
    Fragment.
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


class Signal(NamedTuple):
    """One summand of a fragment's score: `part`, which is `value` times `weight`.

    A tuple, because every search creates six hundred signals, and a dataclass takes three times as long to create.
    """

    name: str
    value: float
    weight: float
    part: float


def signals_to_dict(signals: Sequence[Signal]) -> dict[str, Any]:
    """Return the signals as JSON objects, by name: the JSON encoder would write the tuples as lists."""
    return {signal.name: attributes_to_json(signal, "value", "weight", "part") for signal in signals}


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters in a fragment, title or heading; `end` is exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PastUse:
    """A past use of a hit's note by the user for a similar question.

    `kind` is "opened", "marked" or "copied", `query` the query of that time, `time` in seconds since 1970, `fragment`
    the id of the fragment used.
    """

    kind: str
    query: str
    time: float
    fragment: str = ""


@dataclass(frozen=True, slots=True)
class HitRerank:
    """The result of reranking a hit: its score, from 0 (the lowest of the first hits) to 1, and its rank before.

    The rank before counts from 1.
    """

    score: float
    moved_from: int


PLACES_BY_MEANING = 25
"""Number of places that meaning gives in a list where the words of the query fail: every second one of the first 50."""


@dataclass(frozen=True, slots=True)
class HitOrders:
    """The ranks of a hit by score and by meaning, from which a list is mixed if the query's words find nothing good.

    Ranks count from 1. `words` is the rank by score, in which words and meaning count together. `meaning` is the rank
    by meaning alone, 0 for a hit that is not near the query in meaning.
    """

    words: int
    meaning: int

    @property
    def is_raised(self) -> bool:
        """Whether the hit stands at its rank in the list because of its meaning, not of its score."""
        return 0 < self.meaning <= PLACES_BY_MEANING and self.meaning < self.words


_STATUS_WORDS = ("superseded", "deprecated", "obsolete", "archived", "retracted", "resolved")


@dataclass(frozen=True, slots=True)
class Replaced:
    """What replaces a note: the path and title of the other note, the day, and the words in the vault that say so.

    `by` and `title` are None if the note only says that it is out of date, or its link leads nowhere. `date` is ISO
    8601, None if it is unknown.
    """

    by: str | None
    title: str | None
    date: str | None
    words: str

    @property
    def mark(self) -> str:
        """The mark of the note: "replaced on 2026-03-01 by Pricing 2026.md", "marked as superseded"."""
        day = f" on {self.date}" if self.date else ""
        return f"{self.short_mark}{day} by {self.by}" if self.by else f"marked as {self.short_mark}{day}"

    @property
    def short_mark(self) -> str:
        """The mark in one word, such as "replaced"; without another note, the status that the words name."""
        if self.by:
            return "replaced"
        return next((word for word in _STATUS_WORDS if word in self.words.lower()), _STATUS_WORDS[0])


@dataclass(frozen=True, slots=True)
class LinkSource:
    """The note of the first hit, from which a link leads to a hit that answers the rest of the question.

    `is_named` is true if the first hit has no link there, but the name of the hit's note in its text.
    """

    path: str
    title: str
    is_named: bool

    @property
    def phrase(self) -> str:
        """The reason for the hit in words, before the title of the first hit's note: "linked from" or "named in"."""
        return "named in" if self.is_named else "linked from"


@dataclass(frozen=True, slots=True, repr=False)
class Hit:
    """A search hit: a fragment with its score, the signals that add up to it, and the matched spans.

    Each key of `to_dict` is an attribute too: `hit.fragment_id` is the same in Python and in JSON. `note` has the data
    of its note, which `Vault.search` reads; the app's own searches do not.
    `spans` are the matches in the fragment's text. `named` holds one tuple of matches for the note's title, then one
    for each heading of the heading path. `confidence` is None for a query, or an alternative (`a | b`), of filters
    alone: there is nothing to be sure of. `created` is the day that the note itself gives as its date, in a property
    or its file name; None if it gives none. `date` is the day that the fragment is about, ISO 8601, "" if it has none,
    or if the query neither names a period nor has `sort:`. `past_uses` are the user's uses of the note for similar
    words (signal `reopened`), newest first, or the one for a question similar in meaning (`asked_before`). `rerank` is
    what a reranker said of it (signal `rerank`), None if none read it. `orders` are its places by score and by meaning
    if every second place of the list is by meaning, else None. `linked_from` is set if the hit is second because the
    first one links to its note or names it, and it is near the rest of the question. A hit that was moved up, or held
    back among the first ten for others of its note, has the score of its place (signal `place`). `more_of_note` says
    that it is after the first ten hits and its note has `search.per_note` hits above it. `replaced` is what replaces
    its note, None if the note is not replaced.
    """

    fragment: Fragment
    score: float
    signals: tuple[Signal, ...] = ()
    spans: tuple[Span, ...] = ()
    confidence: Confidence | None = None
    named: tuple[tuple[Span, ...], ...] = ()
    created: date | None = None
    date: str = ""
    past_uses: tuple[PastUse, ...] = ()
    note: NoteInfo = UNREAD_NOTE
    rerank: HitRerank | None = None
    orders: HitOrders | None = None
    more_of_note: bool = False
    replaced: Replaced | None = None
    linked_from: LinkSource | None = None

    def __repr__(self) -> str:
        return f"Hit({self.fragment!r}, score {self.score:.3f}, {self.confidence or 'not ranked'})"

    @property
    def path(self) -> str:
        """Path of the note, relative to the vault."""
        return self.fragment.path

    @property
    def title(self) -> str:
        """Title of the note."""
        return self.fragment.title

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of the note, as they are written, without "#"."""
        return self.note.tags

    @property
    def properties(self) -> Mapping[str, tuple[str, ...]]:
        """Values of the note's frontmatter by name, without title, aliases and tags."""
        return self.note.properties

    @property
    def heading_path(self) -> tuple[str, ...]:
        """Headings above the fragment, the topmost first."""
        return self.fragment.heading_path

    @property
    def line_start(self) -> int:
        """First line of the fragment in the note."""
        return self.fragment.line_start

    @property
    def line_end(self) -> int:
        """Last line of the fragment in the note."""
        return self.fragment.line_end

    @property
    def tokens(self) -> int:
        """Size of the text in tokens."""
        return self.fragment.tokens

    @property
    def fragment_id(self) -> str:
        """Id of the fragment, which changes only with the path or the text."""
        return self.fragment.id

    @property
    def text(self) -> str:
        """Text of the fragment."""
        return self.fragment.text

    @property
    def asked_before(self) -> str:
        """The last similar question for which the user used this hit, so that it ranks higher; "" for none."""
        return self.past_uses[0].query if self.past_uses else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `excerpt search` writes for a hit, with fields of its fragment."""
        return {
            **attributes_to_json(self, "path", "title", "heading_path", "line_start", "line_end"),
            **file_location_to_dict(self.fragment),
            **({"date": self.date} if self.date else {}),
            **attributes_to_json(self, "score", "confidence"),
            "signals": signals_to_dict(self.signals),
            **(attributes_to_json(self, "rerank") if self.rerank is not None else {}),
            **(attributes_to_json(self, "orders") if self.orders is not None else {}),
            **({"more_of_note": True} if self.more_of_note else {}),
            **(attributes_to_json(self, "replaced") if self.replaced is not None else {}),
            **(attributes_to_json(self, "linked_from") if self.linked_from is not None else {}),
            **attributes_to_json(self, *(["asked_before"] if self.asked_before else [])),
            **attributes_to_json(self, "tokens", "fragment_id", "text"),
        }


class QuestionWord(Struct, frozen=True):
    """A content word of a query: no word such as "how", and none that names a period.

    `weight` is its rarity in the vault, `terms` are the stems that match it. `is_found` says whether any fragment that
    passes the query's filters has it.
    """

    text: str
    weight: float
    terms: frozenset[str]
    is_found: bool


@dataclass(frozen=True, slots=True)
class QueryHint:
    """A suggestion for a word in a query that looks like the key of a filter (`tags:`) but is not one.

    The word spans characters `start` to `end` (exclusive, with the colon) of the query; `written` is the word,
    `instead` the key that may be meant.
    """

    start: int
    end: int
    written: str
    instead: str

    @property
    def message(self) -> str:
        """The suggestion as a sentence for the user."""
        return f"`{self.written}` is not a filter; did you mean `{self.instead}`?"


@dataclass(frozen=True, slots=True)
class QueryPeriod:
    """A period of time that a query names with the words `text`; notes dated in this period rank higher.

    `first` and `last` are the days that bound it, ISO 8601; None for no bound. `filter` is the filter for the same
    period.
    """

    text: str
    first: str | None
    last: str | None
    filter: str


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The result of a search: its hits, best first.

    `requested_strategy` may be `auto`; `strategy` is the strategy that ranked the hits. `matched` counts all fragments
    that match any alternative of the query, whatever the limit on hits. With filters there may be more hits than
    `matched`, because the list continues with the fragments nearest in meaning. `elapsed_ms` is the time of the search
    alone, in milliseconds; that of a process's first search includes what it reads of the index. `generation` is the
    index's (a number that each commit raises). `hints` are suggestions about the query and do not change the result.
    `periods` are those that the query names. `sort` is the order that the query chooses, "date" (oldest first) or
    "-date"; "" for the best first. `warnings` say that only the first words of a long query were searched, or that a
    model of the user's own did not answer: in a short sentence what the hits lack, then why.
    `is_without_meaning`: the embedding model has not answered (yet), so the hits are ranked by words.
    `confidence` is that of the whole result; if it is `unsure`, `notice` is a sentence that names the missing words,
    and `lack` its clause on them. `not_found` are the parts of the query that no passage covers, which `notice` names
    in any other result. `words` are the content words of the query, of all its alternatives.
    """

    query: str
    requested_strategy: Strategy
    strategy: Strategy
    hits: tuple[Hit, ...]
    matched: int
    elapsed_ms: float
    generation: int
    hints: tuple[QueryHint, ...] = ()
    confidence: Confidence | None = None
    periods: tuple[QueryPeriod, ...] = ()
    sort: str = ""
    warnings: tuple[str, ...] = ()
    is_without_meaning: bool = False
    notice: str = ""
    lack: str = ""
    words: tuple[QuestionWord, ...] = ()
    not_found: tuple[str, ...] = ()

    @property
    def best_first(self) -> tuple[Hit, ...]:
        """The hits in order of score, also where the query orders them by date."""
        is_by_date = self.sort and self.confidence is not None
        return tuple(sorted(self.hits, key=lambda hit: -hit.score)) if is_by_date else self.hits

    @property
    def is_reranked(self) -> bool:
        """Whether a reranker has scored the first hits, so that their order may have changed."""
        return any(hit.rerank is not None for hit in self.hits)

    @property
    def has_nothing_sure(self) -> bool:
        """Whether no hit surely answers the query: the result is unsure, or nothing near the query was found."""
        return self.confidence in (Confidence.UNSURE, Confidence.NOTHING)

    @property
    def is_joined(self) -> bool:
        """Whether every second hit is ranked by meaning alone, because the words of the query find nothing good."""
        return any(hit.orders is not None for hit in self.hits)

    @property
    def reranked_hits(self) -> tuple[Hit, ...]:
        """The first hits, up to the last one that a reranker has scored; () if it has scored no hit."""
        count = max((place for place, hit in enumerate(self.hits, 1) if hit.rerank is not None), default=0)
        return self.hits[:count]

    def __repr__(self) -> str:
        return f"Result({self.query!r}, hits {len(self.hits)}, {self.confidence or 'not ranked'})"

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `excerpt search` writes."""
        return {
            **attributes_to_json(self, "query", "strategy", "confidence"),
            "elapsed_ms": round(self.elapsed_ms, 3),
            **attributes_to_json(self, "matched", "generation", "periods", "notice", "not_found"),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
            "hits": [hit.to_dict() for hit in self.hits],
        }


@dataclass(frozen=True, slots=True)
class EntryHit:
    """The search hit around which a passage of a pack was built.

    `order` is the ordinal of the hit's fragment in its note, from 0.
    """

    fragment_id: str
    order: int
    score: float
    heading_path: tuple[str, ...]


CUT_MARK = "[…]"
"""The mark in place of text that a passage leaves out."""


@dataclass(frozen=True, slots=True)
class TableHeader:
    """The header row and the separator row of a table, for a passage that begins at a later row of it."""

    line_start: int
    line_end: int
    text: str

    def render_above(self, line: int) -> str:
        """Return the lines above a passage that begins at `line`: the header, and CUT_MARK for omitted rows."""
        return f"{self.text}\n{CUT_MARK}\n" if self.line_end + 1 < line else f"{self.text}\n"


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack: consecutive lines of one note around one or more hits, for use in a prompt.

    `id` is `<note id>:o:<first>-<last>` (ordinals of fragments) or `<note id>:s:<section ordinal>`. `entry` is the best
    hit in the pack. `tokens` counts `text` alone. `cut_above` and `cut_below` are true if the fragment, section or note
    continues there but did not fit; then `text` may begin or end within a line. `modified` is the day of the note's
    last change, ISO 8601, "" if unknown. `link` is the address that opens the note in Obsidian; "" for a memory, and
    if not requested. `kind` and `place` locate the text in an attachment, as in Fragment; over several pages the place
    is `page=12-13`. If the text begins below the header of a table, `table_header` is rendered above it.
    `replaced` is what replaces the note, None if it is not replaced.
    """

    id: str
    path: str
    title: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    scope: Scope
    entry: EntryHit
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
    table_header: TableHeader | None = None
    replaced: Replaced | None = None

    @property
    def rendered_header(self) -> str:
        """The lines rendered above the text: the header of its table, or ""."""
        return self.table_header.render_above(self.line_start) if self.table_header is not None else ""

    @property
    def rendered_text(self) -> str:
        """The text as it is rendered, below the header of its table, if it has one."""
        return f"{self.rendered_header}{self.text}"

    def to_dict(self, number: int) -> dict[str, Any]:
        """Return the JSON object that `excerpt pack` writes for the pack with this number (counted from 1)."""
        return {
            **attributes_to_json(self, "id", "path", "heading_path", "line_start", "line_end"),
            **file_location_to_dict(self),
            **attributes_to_json(self, "scope", "entry", "fragment_ids"),
            **attributes_to_json(self, "tokens", "text", "title", "modified", "digest", "cut_above", "cut_below"),
            "number": number,
            **({"link": self.link} if self.link else {}),
            **(attributes_to_json(self, "table_header") if self.table_header is not None else {}),
            **(attributes_to_json(self, "replaced") if self.replaced is not None else {}),
        }


DROPPED_REASON = "dropped by hand"
"""The `reason` of an omitted hit that the user dropped from the pack."""
TOO_LARGE = "too large"
"""The `reason` of an omitted hit that is larger than the whole budget."""


@dataclass(frozen=True, slots=True)
class OmittedHit:
    """A hit that is in no pack; `reason` says why, `tokens` is its size."""

    path: str
    line_start: int
    line_end: int
    tokens: int
    reason: str


_VALUE_DIGITS = 6
"""Decimal places of `PackResult.value` in JSON; the value of context around hits is smaller."""


@dataclass(frozen=True, slots=True)
class PackResult:
    """The result of packing: passages that fit into a budget of tokens, and their rendered text.

    `confidence` is that of the search: how sure it is that its hits answer; None for marked fragments and filters
    alone. `tokens` is the size of the whole `text`, never above `budget`. `value` is what the passages are worth; a
    larger budget never gives less. `source_tokens` is the size of the notes that the passages are taken from. `format`
    is the requested format; for JSON, `text` is the Markdown that `tokens` counts. `stopped` says why there are no more
    passages. `costs` holds the tokens of each passage with the markup around its text; the costs add up to `tokens`.
    `needs` holds, for each hit that did not fit (they are the last ones in `left_out`), the tokens that it would take
    as a passage of its own. `left_out_comments` is the number of comments of the notes' author in the lines of the
    passages, which are not in their text. `notice` is the first line of a text with passages: the words that were not
    found, if the pack is `unsure`, or else the parts of the query in `not_found`, which no passage of the vault
    covers; "" for another pack.
    """

    query: str
    strategy: Strategy
    budget: int
    tokenizer: str
    passages: tuple[Pack, ...]
    left_out: tuple[OmittedHit, ...]
    text: str
    tokens: int
    value: float
    source_tokens: int
    format: Format = Format.MARKDOWN
    stopped: StopReason = StopReason.END
    costs: tuple[int, ...] = ()
    needs: tuple[int, ...] = ()
    confidence: Confidence | None = None
    left_out_comments: int = 0
    notice: str = ""
    not_found: tuple[str, ...] = ()

    @property
    def saved(self) -> float:
        """Share of the source notes' tokens that the passages leave out, 0 to 1."""
        return 1 - self.tokens / self.source_tokens if self.source_tokens > self.tokens else 0.0

    @property
    def over_budget(self) -> tuple[OmittedHit, ...]:
        """The hits that did not fit into the budget."""
        return self.left_out[len(self.left_out) - len(self.needs) :]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `excerpt pack` writes; its `tokens` is the size of the text in Markdown."""
        return {
            **attributes_to_json(self, "query", "strategy", "confidence", "budget", "tokenizer", "tokens"),
            "value": round(self.value, _VALUE_DIGITS),
            "passages": [pack.to_dict(number) for number, pack in enumerate(self.passages, start=1)],
            **attributes_to_json(
                self, "left_out", "source_tokens", "stopped", "left_out_comments", "notice", "not_found"
            ),
        }


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A problem with a file of the vault; `reason` is one sentence.

    Either the file was not indexed, or (as an item of `warnings`) it was indexed with the problem.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an index build, reported after each batch of files and at least every 100 ms.

    `phase` is the kind of work, `current` the path of the file that is being read. `generation` is the number of the
    last commit, `skipped` the number of skipped files. `seconds` is how long the build has worked, without pauses;
    `current_seconds` is how long `current` has been read.
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


class EmbeddingProgress(Struct, frozen=True):
    """The progress of an embedder that works in the background.

    `model` is the embedder's name. `done` of `total` different texts have a vector; embedding the other texts takes
    about `seconds_left`, None until that can be estimated.
    """

    model: str
    done: int
    total: int
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Summary of an index build.

    `added`, `changed`, `removed` and `unchanged` count files; `attachments` counts the indexed files that are not
    notes. `fragments` is the number of fragments in the index, `embedded` the number of texts embedded by this build.
    `generation` is the number of the build's last commit. `rebuilt` is the reason why the whole index was rebuilt, ""
    if it was not.
    """

    generation: int
    added: int
    changed: int
    removed: int
    unchanged: int
    fragments: int
    embedded: int
    skipped: tuple[FileProblem, ...]
    warnings: tuple[FileProblem, ...]
    seconds: float
    rebuilt: str = ""
    attachments: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return dataclass_to_json(self)


def sum_reports(reports: Mapping[str, BuildReport], generation: int) -> BuildReport:
    """Return the sums of the reports of several vaults; the paths in them begin with the names of the vaults."""

    def prefixed(problems: Callable[[BuildReport], tuple[FileProblem, ...]]) -> tuple[FileProblem, ...]:
        return tuple(
            replace(problem, path=f"{name}/{problem.path}")
            for name, report in reports.items()
            for problem in problems(report)
        )

    each = tuple(reports.values())
    return BuildReport(
        generation,
        added=sum(report.added for report in each),
        changed=sum(report.changed for report in each),
        removed=sum(report.removed for report in each),
        unchanged=sum(report.unchanged for report in each),
        fragments=sum(report.fragments for report in each),
        embedded=sum(report.embedded for report in each),
        skipped=prefixed(lambda report: report.skipped),
        warnings=prefixed(lambda report: report.warnings),
        seconds=sum(report.seconds for report in each),
        rebuilt=" ".join(f"{name}: {report.rebuilt}" for name, report in reports.items() if report.rebuilt),
        attachments=sum(report.attachments for report in each),
    )


class FolderRights(Struct, frozen=True):
    """Who may read a folder of a vault in a store (a shared database).

    `folder` is "" for the notes that are in no folder with rights of its own. `roles` are the database roles that may
    read the folder, besides the writers. `notes` is the number of notes in the folder.
    """

    folder: str
    roles: tuple[str, ...]
    notes: int


class PushReport(Struct, frozen=True):
    """Summary of a push of a vault's index to a store (a shared database).

    `added`, `changed`, `removed` and `unchanged` count notes. `kept` counts notes of which the store's version was kept
    although the pushed version differs; `conflicts` are the paths of notes that were changed on both sides. `fragments`
    is the number of fragments in the store. `position` is the database's log position after the push: a replica that
    has reached it has the whole push.
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


OCR_COMMAND = "excerpt index --ocr"
"""The action of unread files that are read with OCR switched on."""


@dataclass(frozen=True, slots=True)
class UnreadFiles:
    """Files that were not (completely) read: a program is missing, an option is off, or no reader supports them.

    `files` is their number, `what` a short description ("3 pdf"), `action` the command that makes them readable, "" if
    only a reader of another package could (the guide, Attachments).
    """

    files: int
    what: str
    action: str

    @property
    def advice(self) -> str:
        """What the user can do, as a phrase: run the command, or read the page of the guide."""
        return self.action or "see Attachments in the guide"


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a vault's index.

    `generation` is the number of the last commit, `updated` its time (ISO 8601). `model` and `tokenizer` are names.
    `attachments` counts indexed attachments by kind ("pdf"). `dialect` is the program whose notes they are, as the
    vault's folder shows, "markdown" for none.
    """

    vault: str
    generation: int
    notes: int
    fragments: int
    skipped: tuple[FileProblem, ...]
    warnings: tuple[FileProblem, ...]
    model: str
    tokenizer: str
    updated: str
    attachments: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[UnreadFiles, ...] = ()
    dialect: Dialect = Dialect.MARKDOWN

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return dataclass_to_json(self)


@dataclass(frozen=True, slots=True)
class Source:
    """The passage that a memory was taken from.

    `digest` is the hash of its lines when the memory was saved. In an attachment, lines count in the extracted text,
    and `place` is what follows "#" in a link to the passage (`page=12`).
    """

    path: str
    line_start: int
    line_end: int
    digest: str
    heading_path: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory: a finding that the user saved, with the reason (`why`) and the query that led to it.

    `created` and `updated` are times, ISO 8601, UTC. `replaced_by` is the id of the memory that replaces this one, and
    `replaced_at` is when it was replaced; both are "" for a current memory. `author` is the role that saved a shared
    memory, which a store keeps; "" for the user's own.
    """

    id: str
    text: str
    tags: tuple[str, ...]
    why: str
    created: str
    updated: str
    source: Source | None = None
    query: str = ""
    replaced_by: str = ""
    replaced_at: str = ""
    author: str = ""

    @property
    def is_shared(self) -> bool:
        """Whether a store keeps the memory, for all who may read its source."""
        return bool(self.author)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types; `author` and `shared` only of a shared memory."""
        fields = dataclass_to_json(self)
        author = fields.pop("author")
        return fields | ({"author": author, "shared": True} if author else {})
