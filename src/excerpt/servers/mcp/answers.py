"""Format answers as text for a model: the results, within a limit of tokens, and what to call next.

The first line is written by excerpt and gives the confidence, how much of the answer is shown, its tokens and its
vault; the last line says what was left out and how to continue. Between them is text of the vault. It is put on one
line, or in a code fence longer than any fence in it, so that a note cannot imitate the first or the last line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from excerpt.text.columns import truncate
from excerpt.text.display import (
    extend_fence,
    format_count,
    format_source_location,
    line_range,
    title_and_headings,
    visible_line,
)
from excerpt.text.snippet import snippet
from excerpt.text.tokens import open_tokenizer

if TYPE_CHECKING:  # they import the engine, which is loaded later, while the client connects
    from excerpt import (
        Fragment,
        Hit,
        NoteLines,
        PackResult,
        Peek,
        RecalledMemory,
        RelatedNote,
        Source,
        SourceCheck,
        Span,
    )

TOKENIZER = "o200k"
"""Name of the tokenizer that counts the tokens of answers, independent of the settings for packs.

Agents do not report their tokenizer, and this one counts about as most do.
"""
MIN_LIMIT = 200
"""The smallest token limit for an answer: the first line, the last line and one part fit."""

_FENCE = "```"
_CUT_MARK = "[…]"
_MAX_NAME_COLUMNS = 200  # of headings for example; a path is never cut, as `read` needs the whole path
_MAX_MEMORY_LENGTH = 4_000  # characters
_NAMED_STATUSES = ("changed", "gone", "moved")  # of the sources of memories, beside their ids
_MAX_COUNT_ATTEMPTS = 20
"""Attempts to make the token count stated in an answer equal to its actual count."""


class ToolAnswer(Struct, frozen=True):
    """The content of an answer, before it is cut to a limit of tokens.

    `facts` go into the first line, with the name of the `vault` and its `freshness`, whether it is up to date. The line
    `notice` and the text `above` are always shown. `parts` follow, best first, each whole or not at all. `hint` says
    what to call next.
    `what` is the plural noun for the parts, such as "notes", or "" to omit their count; `total` counts all parts that
    exist. `more` says how to get the parts that are left out: a text, or a function of the number of parts shown.
    """

    facts: tuple[str, ...]
    vault: str
    freshness: str
    hint: str
    what: str = ""
    parts: tuple[str, ...] = ()
    total: int = 0
    more: str | Callable[[int], str] = ""
    above: str = ""
    notice: str = ""


def count_tokens(text: str) -> int:
    """Return the number of tokens of `text`, counted by TOKENIZER."""
    return open_tokenizer(TOKENIZER).count(text)


def fit_answer(answer: ToolAnswer, limit: int) -> str:
    """Return an answer as text of at most `limit` tokens, with as many of its parts as fit."""
    fitting, too_many = 0, len(answer.parts)
    text = _render(answer, too_many, limit)
    if count_tokens(text) <= limit:
        return text
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        if count_tokens(_render(answer, middle, limit)) <= limit:
            fitting = middle
        else:
            too_many = middle
    text, max_columns = _render(answer, fitting, limit), limit
    while count_tokens(text) > limit:  # very long names are cut to fit
        max_columns //= 2
        text = _render(_shorten_fields(answer, max_columns), 0, limit)
    return text


def _shorten_fields(answer: ToolAnswer, max_columns: int) -> ToolAnswer:
    facts = tuple(truncate(fact, max_columns) for fact in answer.facts)
    vault, freshness = truncate(answer.vault, max_columns), truncate(answer.freshness, max_columns)
    return replace(
        answer, facts=facts, vault=vault, freshness=freshness, hint=truncate(answer.hint, max_columns), more=""
    )


def _render(answer: ToolAnswer, shown: int, limit: int) -> str:
    """Return an answer as text with its first `shown` parts; the first line names `limit`, which is not applied."""
    left = max(len(answer.parts) - shown, 0)
    more = answer.more if isinstance(answer.more, str) else answer.more(shown) if left else ""
    hints = [f"{left:,} left out here: {more}." if left and more else "", answer.hint]
    singular = "memory" if answer.what == "memories" else answer.what.removesuffix("s")
    tally = f"{shown:,} of {format_count(answer.total, singular, answer.what)}" if answer.what else ""
    parts = answer.parts[:shown]
    between = "\n\n" if any("\n" in part for part in parts) else "\n"
    body = [each for each in (answer.above, between.join(parts)) if each]
    token_count, text = limit, ""
    for _ in range(_MAX_COUNT_ATTEMPTS):
        facts = (
            *answer.facts,
            tally,
            f"{token_count:,} of {format_count(limit, 'token')}",
            f"vault {visible_line(answer.vault)}",
            answer.freshness,
        )
        head = "\n".join(filter(None, (" · ".join(filter(None, facts)), answer.notice)))
        text = "\n\n".join((head, *body, "Next: " + " ".join(filter(None, hints))))
        actual = count_tokens(text)
        if actual == token_count:
            break
        token_count = actual
    return text


# --- the parts of answers ---------------------------------------------------------------------------------------------


def source_reference(path: str, first: int, last: int, within: str = "") -> str:
    """Return the format_source_location of lines as `path:first-last`, a form that the tool `read` accepts.

    For lines of an attachment, `within` is their page or cell range, and the form is `path#page=12`.
    """
    return format_source_location(path, first, last, within)


def memory_source_reference(source: Source) -> str:
    """Return the location of a memory's source, a note or lines of it, in a form that the tool `read` accepts."""
    if not source.line_start:
        return visible_line(source.path)
    return source_reference(source.path, source.line_start, source.line_end, source.place)


def format_headings(fragment: Fragment) -> str:
    """Return the title of a fragment's note and its headings on one line, cut to `_MAX_NAME_COLUMNS` columns."""
    return truncate(visible_line(title_and_headings(fragment.title, fragment.heading_path)), _MAX_NAME_COLUMNS)


def format_hit(number: int, hit: Hit, characters: int, query: str = "") -> str:
    """Return a hit on two lines: location and confidence, then a snippet of `characters` characters (0: no snippet).

    `number` is the hit's rank, from 1. The question that a past answer was kept with is named unless it is `query`.
    """
    fragment = hit.fragment
    sure = f" · {hit.confidence}" if hit.confidence is not None else ""
    reference = source_reference(fragment.path, fragment.line_start, fragment.line_end, fragment.place)
    tokens = format_count(fragment.tokens, "token")
    day = f" · {hit.date}" if hit.date else ""
    before = f" · you once asked this as “{visible_line(hit.asked_before)}”" if _is_reworded(hit, query) else ""
    mark = f" · {visible_line(hit.replaced.mark)}" if hit.replaced is not None else ""
    source = hit.linked_from
    link = f" · {source.phrase} “{truncate(visible_line(source.title), _MAX_NAME_COLUMNS)}”" if source else ""
    head = f"{number}. {reference} · {format_headings(fragment)}{day}{mark}{sure} · {tokens}{link}{before}"
    return f"{head}\n   {quote_snippet(fragment.text, hit.spans, characters)}" if characters else head


def _is_reworded(hit: Hit, query: str) -> bool:
    """Return whether a hit answered a question before that `query` asks in other words."""
    from excerpt.search.rank_reasons import is_past_answer
    from excerpt.search.usage import normalize_query

    return is_past_answer(hit) and normalize_query(hit.asked_before) != normalize_query(query)


def quote_snippet(text: str, spans: Sequence[Span], characters: int) -> str:
    """Return the part of `text` with the most matches (`spans`), in quotation marks on one line.

    The returned part has about `characters` characters.
    """
    shown, _ = snippet(text, spans, characters)
    return f'"{truncate(shown, characters)}"'


def enclose_in_fence(text: str) -> str:
    """Return text of a note in a code fence that the text cannot close."""
    fence = extend_fence(_FENCE, text)
    return f"{fence}\n{text}\n{fence}"


class NoteLinesPart(Struct, frozen=True):
    """Consecutive lines of a note; `is_cut` means that it is one line, which was cut to fit."""

    path: str
    first: int
    last: int
    text: str
    is_cut: bool = False


def format_fragment(fragment: Fragment, max_tokens: int, prefix: str = "") -> str:
    """Return a fragment in a code fence below its location, which begins with `prefix`, and headings.

    If it has more than `max_tokens` tokens, only its first lines are shown.
    """
    whole = NoteLinesPart(fragment.path, fragment.line_start, fragment.line_end, fragment.text)
    first = next(iter(_split_to_fit(whole, max_tokens)), whole)
    place = source_reference(f"{prefix}{fragment.path}", first.first, first.last)
    return f"From {place} · {format_headings(fragment)}\n{enclose_in_fence(first.text)}"


def split_note(note: NoteLines, fragments: Iterable[Fragment], max_tokens: int) -> tuple[NoteLinesPart, ...]:
    """Split a note into parts that end where its `fragments` end; parts of more than `max_tokens` are split further.

    Every part ends at the end of a line.
    """
    ends = [each.line_end for each in fragments if note.line_start <= each.line_end < note.line_end]
    whole = NoteLinesPart(note.path, note.line_start, note.line_end, note.text)
    lines, first, parts = note.text.split("\n"), note.line_start, []
    for last in (*ends, note.line_end):
        part_text = "\n".join(lines[first - note.line_start : last - note.line_start + 1])
        parts += _split_to_fit(replace(whole, first=first, last=last, text=part_text), max_tokens)
        first = last + 1
    return tuple(parts)


def _split_to_fit(part: NoteLinesPart, max_tokens: int) -> list[NoteLinesPart]:
    """Halve a part at line ends until each piece has at most `max_tokens` tokens; drop blank lines at both ends.

    A single line with more tokens is cut.
    """
    lines = part.text.split("\n")
    begin, end = 0, len(lines)
    while begin < end and not lines[begin].strip():
        begin += 1
    while end > begin and not lines[end - 1].strip():
        end -= 1
    if begin == end:
        return []
    trimmed = replace(part, first=part.first + begin, last=part.first + end - 1, text="\n".join(lines[begin:end]))
    if count_tokens(trimmed.text) <= max_tokens:
        return [trimmed]
    if trimmed.first == trimmed.last:
        return [replace(trimmed, text=_cut_line(trimmed.text, max_tokens), is_cut=True)]
    middle = (begin + end) // 2
    above = replace(trimmed, last=part.first + middle - 1, text="\n".join(lines[begin:middle]))
    below = replace(trimmed, first=part.first + middle, text="\n".join(lines[middle:end]))
    return _split_to_fit(above, max_tokens) + _split_to_fit(below, max_tokens)


def _cut_line(line: str, max_tokens: int) -> str:
    """Return the beginning of a line and a mark that it is cut, together at most `max_tokens` tokens.

    If not even the mark fits, as beside a very long name, the mark is returned alone.
    """
    shortened = line[: max(max_tokens, 0) * 8]
    while shortened and (excess := count_tokens(shortened) + 4 - max_tokens) > 0:
        shortened = shortened[:-excess]
    return f"{shortened} {_CUT_MARK}"


def format_outline(peek: Peek) -> list[str]:
    """Return a row for each heading of a note, with its lines and tokens."""
    return [
        f"{'  ' * max(entry.level - 1, 0)}- {visible_line(entry.heading) or '(before the first heading)'} "
        f":{line_range(entry.line_start, entry.line_end)} · {entry.tokens:,}"
        for entry in peek.outline
    ]


def format_related_note(note: RelatedNote, prefix: str = "") -> str:
    """Return a related note and the reasons for it, on one or two lines; `prefix` comes before its path."""
    why = []
    if note.linked.sentence:
        why.append(note.linked.sentence)
    if note.common:
        why.append(f"linked with both: {', '.join(link.title for link in note.common[:3])}")
    if note.words:
        why.append(f"rare words in common: {', '.join(word.word for word in note.words[:5])}")
    if note.tags:
        why.append(f"tags: {', '.join(note.tags[:5])}")
    if note.missing_link:
        why.append("one names the other without a link")
    title, reasons = (
        truncate(visible_line(note.title), _MAX_NAME_COLUMNS),
        truncate(visible_line("; ".join(why)), 2 * _MAX_NAME_COLUMNS),
    )
    head = f"{visible_line(f'{prefix}{note.path}:{note.line}')} · {title} · {note.score:.2f}"
    reasons_lines = [f"{head} · {reasons}" if reasons else head]
    for match in note.matches[:1]:
        theirs = match.related_passage
        reasons_lines.append(f"   {quote_snippet(theirs.fragment.text, theirs.spans, 160)}")
    return "\n".join(reasons_lines)


def format_answering_memories(recalled: Sequence[RecalledMemory], today: date) -> str:
    """Return a line that names the memories that answer a query, with their ages; "" if there are none."""
    if not recalled:
        return ""
    names = ", ".join(f"{each.memory.id} ({_describe_memory(each, today)})" for each in recalled)
    count = format_count(len(recalled), "memory answers", "memories answer")
    return f"{count}: {names}; `recall` {'it' if len(recalled) == 1 else 'them'} with this query."


def _describe_memory(recalled: RecalledMemory, today: date) -> str:
    days = (today - date.fromisoformat(recalled.memory.created[:10])).days
    age = f"{format_count(days, 'day')} old" if days > 0 else "of today"
    check = recalled.source_check
    return f"{age}, source {check.kind}" if check is not None and check.kind in _NAMED_STATUSES else age


def format_memory(recalled: RecalledMemory) -> str:
    """Return a memory's text in a code fence, below a line with its id, date, tags and the status of its source."""
    memory = recalled.memory
    tags = "".join(f" #{tag}" for tag in memory.tags)
    author = f" · by {visible_line(memory.author)}" if memory.is_shared else ""
    head = f"{memory.id} · {memory.created[:10]}{author}{visible_line(tags)}"
    if memory.replaced_by:
        head += visible_line(f" · replaced {memory.replaced_at[:10]} by {memory.replaced_by}")
    if memory.source is not None:
        head += f" · from {memory_source_reference(memory.source)}{_format_source_status(recalled.source_check)}"
    why = f"\nwhy: {truncate(visible_line(memory.why), _MAX_NAME_COLUMNS)}" if memory.why else ""
    text = memory.text if len(memory.text) <= _MAX_MEMORY_LENGTH else f"{memory.text[:_MAX_MEMORY_LENGTH]} {_CUT_MARK}"
    fence = extend_fence(_FENCE, text)
    return f"{head}{why}\n{fence}\n{text}\n{fence}"


def _format_source_status(source_check: SourceCheck | None) -> str:
    """Return a text that says that a memory's source has moved, changed or is gone; "" if it is unchanged."""
    if source_check is None:
        return ""
    now = f" {memory_source_reference(source_check.source)}" if source_check.source is not None else ""
    if source_check.kind == "moved":
        return f" · its source has moved: now at{now}"
    if not source_check.is_stale:
        return ""
    return (
        " · STALE: its source is gone" if source_check.kind == "gone" else f" · STALE: its source has changed, see{now}"
    )


def render(answer: ToolAnswer, limit: int) -> str:
    """Return an answer with all of its parts as text, which may have more tokens than `limit`."""
    return _render(answer, len(answer.parts), limit)


def fit_pack(
    pack: Callable[[int], PackResult], answer: Callable[[PackResult], ToolAnswer], limit: int
) -> tuple[str, PackResult]:
    """Return an answer of at most `limit` tokens that contains a pack, and the pack itself.

    `pack` builds a pack for a budget: the tokens that are left beside the first and the last line. `answer` returns the
    answer for a pack, without the text of the pack.
    """
    room = limit - count_tokens(fit_answer(replace(answer(pack(0)), parts=()), limit))
    while True:
        packed = pack(max(room, 0))
        text = _render(replace(answer(packed), parts=(packed.text.strip("\n"),) if packed.passages else ()), 1, limit)
        excess = count_tokens(text) - limit
        if excess <= 0:
            return text, packed
        if not packed.passages:
            return fit_answer(replace(answer(packed), parts=()), limit), packed
        room = min(room, packed.tokens) - excess
