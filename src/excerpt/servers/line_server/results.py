"""The shapes of results and events, from which the JSON schema is made; the guide's JSON forms describe the fields."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from excerpt import MemoryRelation, WordContribution
from excerpt.base.kinds import Confidence, StopReason, Strategy
from excerpt.base.model import (
    EntryHit,
    FileProblem,
    HitOrders,
    HitRerank,
    LinkSource,
    OmittedHit,
    QueryPeriod,
    Replaced,
    TableHeader,
    UnreadFiles,
)

FilePlace = dict[str, str | int]
"""The place in an attachment: its `kind`, such as "page", and the ends of its range, `from` and `to`."""


class NoteLocation(TypedDict):
    """Lines of a note; in an attachment also its kind and a place, such as a page."""

    path: str
    line_start: int
    line_end: int
    kind: NotRequired[str]
    place: NotRequired[FilePlace]


class LocatedText(NoteLocation):
    """Lines of a note with the title of the note and the headings above them."""

    title: str
    heading_path: list[str]


class SnippetForm(TypedDict):
    """One line of a hit, without Markdown; `spans` are the matches, first character and end."""

    text: str
    spans: list[tuple[int, int]]


class HitForm(LocatedText):
    """A hit. `confidence` is null if the query, or the alternative that found it, has only filters.

    `date` is that of the passage, if the query names a time or sorts by date. `more_of_note` is true for a hit after
    the tenth whose note has enough hits above. `replaced` is what replaces its note. `asked_before` is a past question
    that found nothing sure, and that this passage answered. `linked_from` is the note of the first hit, if that links
    to this hit's note or names it.
    """

    fragment_id: str
    score: float
    confidence: Confidence | None
    tokens: int
    date: NotRequired[str]
    rerank: NotRequired[HitRerank]
    orders: NotRequired[HitOrders]
    more_of_note: NotRequired[bool]
    replaced: NotRequired[Replaced]
    linked_from: NotRequired[LinkSource]
    asked_before: NotRequired[str]
    text: NotRequired[str]
    snippet: NotRequired[SnippetForm]


class SearchResult(TypedDict):
    """The result of `search`. `confidence` is that of the first five hits, null if the query has only filters.

    `strategy` is the one that ranked the hits, never auto. `elapsed_ms` is the time of the search alone. `matched` is
    the number of matching fragments, whatever the limit. `notice` says what was not found, "" if the answer is sure;
    `not_found` are the parts of the question that no passage covers. `warnings` say what hits lack because a model did
    not answer.
    """

    query: str
    strategy: Strategy
    confidence: Confidence | None
    elapsed_ms: float
    matched: int
    generation: int
    periods: list[QueryPeriod]
    notice: str
    not_found: list[str]
    warnings: NotRequired[list[str]]
    hits: list[HitForm]
    freshness: str


class SignalForm(TypedDict):
    """A summand of a hit's score: a signal with its value and its part of the score."""

    value: float
    weight: float
    part: float


class ExplanationForm(TypedDict):
    """The rank of a hit, its share of the highest score, and what each word of the query adds."""

    rank: int
    share: float
    words: list[WordContribution]


class WhyResult(LocatedText):
    """The result of `why`: a hit with its explanation; `confidence` is null if the query has only filters."""

    fragment_id: str
    score: float
    confidence: Confidence | None
    tokens: int
    date: NotRequired[str]
    text: str
    signals: dict[str, SignalForm]
    rerank: NotRequired[HitRerank]
    orders: NotRequired[HitOrders]
    more_of_note: NotRequired[bool]
    replaced: NotRequired[Replaced]
    linked_from: NotRequired[LinkSource]
    asked_before: NotRequired[str]
    explanation: ExplanationForm


class CompletionForm(TypedDict):
    """A completion of a word."""

    text: str
    label: str
    count: int
    unit: str


class CompleteResult(TypedDict):
    """The result of `complete`: each text replaces the characters `start` to `end`; a count of 0 is unknown."""

    start: int
    end: int
    completions: list[CompletionForm]


class PassageForm(LocatedText):
    """A passage of a pack. `tokens` are those of `text` alone, `digest` is that of `text`.

    `cut_above` and `cut_below` are true if text there had no room. `modified` is the day of the note's last change, ""
    if unknown. `link` is an address in Obsidian.
    """

    id: str
    scope: str
    entry: EntryHit
    fragment_ids: list[str]
    tokens: int
    text: str
    modified: str
    digest: str
    cut_above: bool
    cut_below: bool
    number: int
    link: NotRequired[str]
    table_header: NotRequired[TableHeader]
    replaced: NotRequired[Replaced]


class PackAnswer(TypedDict):
    """The result of `pack`. `rendered` is the text for a prompt.

    `tokens` are those of the pack as Markdown, `source_tokens` those of the whole notes. `value` is that of the
    passages: a larger budget never gives less. `stopped` says why there are no more passages. `left_out_comments` is
    the number of comments that are not in their texts.
    """

    query: str
    strategy: Strategy
    confidence: Confidence | None
    budget: int
    tokenizer: str
    tokens: int
    value: float
    passages: list[PassageForm]
    left_out: list[OmittedHit]
    source_tokens: int
    stopped: StopReason
    left_out_comments: int
    notice: str
    not_found: list[str]
    rendered: str
    freshness: str


class ReadResult(LocatedText):
    """The result of `read`; `file` is the absolute path of the note."""

    lines: int
    tokens: int
    note_tokens: int
    text: str
    file: str


class MemorySourceForm(NoteLocation):
    """The source of a memory."""

    digest: str
    heading_path: list[str]


class MemoryForm(TypedDict):
    """A memory."""

    id: str
    text: str
    tags: list[str]
    why: str
    created: str
    updated: str
    source: MemorySourceForm | None
    query: str
    replaced_by: str
    replaced_at: str
    author: NotRequired[str]
    shared: NotRequired[bool]


class MemoryTextForm(TypedDict):
    """The id and the text of a memory."""

    id: str
    text: str


class SimilarMemoryForm(MemoryTextForm):
    """A memory that the one just saved may replace, or be merged with."""

    relation: MemoryRelation
    same_source: bool
    likeness: float


class RememberResult(MemoryForm):
    """The result of `remember`: the memory, similar ones, and those that it replaces."""

    similar: list[SimilarMemoryForm]
    replaces: list[MemoryTextForm]


class SourceCheckForm(TypedDict):
    """The state of the source of a memory: unchanged, moved, changed or gone."""

    kind: str
    stale: bool
    source: MemorySourceForm | None
    now: str


class RecalledForm(MemoryForm):
    """A memory that was found; `confidence` is null if the query has only filters, or none was given."""

    score: float
    confidence: Confidence | None
    answers: bool
    source_check: SourceCheckForm


class RecallResult(TypedDict):
    """The result of `recall`."""

    memories: list[RecalledForm]


class PassagesForm(TypedDict):
    """Text to add to a prompt, with the ids and sources (`path:lines`) of its fragments, and their tokens."""

    text: str
    vault: str
    fragment_ids: list[str]
    sources: list[str]
    confidence: str
    tokens: int


class PassagesResult(TypedDict):
    """The result of `passages`; None if the vault does not surely answer the prompt."""

    passages: PassagesForm | None


class StatusResult(TypedDict):
    """The result of `status`; `watching` says that the index follows the files."""

    vault: str
    generation: int
    notes: int
    fragments: int
    skipped: list[FileProblem]
    warnings: list[FileProblem]
    model: str
    tokenizer: str
    updated: str
    attachments: dict[str, int]
    unread: list[UnreadFiles]
    dialect: str
    freshness: str
    protocol: int
    watching: bool
    clients: int


class CancelResult(TypedDict):
    """The result of `cancel`: whether the request was not answered before."""

    cancelled: bool


class HelloResult(TypedDict):
    """The result of `hello`: for whom the client reads comments."""

    comments: Literal["author", "everybody"]


class ServedVaultForm(TypedDict):
    """A vault of the server; `folder` may be the address of a store."""

    name: str
    folder: str


class ReadyEvent(TypedDict):
    """Parameters of the event `ready`, the first message; `generation` is 0 before the vault's first indexing."""

    protocol: int
    version: str
    vaults: list[ServedVaultForm]
    generation: int


class ProgressEvent(TypedDict):
    """Parameters of the event `progress`: the numbers of files that were read, and that are to be read."""

    vault: str
    done: int
    total: int


class ChangedEvent(TypedDict):
    """Parameters of the event `changed`: a newer generation of the index answers now."""

    vault: str
    generation: int
    notes: int


EVENTS = {"ready": ReadyEvent, "progress": ProgressEvent, "changed": ChangedEvent}
