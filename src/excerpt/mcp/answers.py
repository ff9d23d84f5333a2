"""Format answers as text for a model: the findings, within a number of tokens, and what to call next.

The first line is written by excerpt and gives the confidence, how much of the answer is shown, its tokens and its
vault; the last line says what was left out and how to continue. Between them is text of the vault: on one line in an
entry, or in a fence that nothing in it closes, so that a note cannot forge either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
    from excerpt import Fragment, Hit, NoteLines, PackResult, Peek, Recalled, RelatedNote, Source, SourceCheck, Span

TOKENIZER = "o200k"
"""The tokenizer that limits are counted with, whatever the vault's packs use.

Agents do not report theirs, and this one is close to most.
"""
MIN = 200
"""The smallest limit of tokens for an answer: the first line, the last line and one entry fit."""

_FENCE = "```"
_CUT = "[…]"
_LONGEST_NAME = 200  # columns, of headings for example; a path is never cut, as `read` needs it
_LONGEST_MEMORY = 4_000  # characters
_CLOSE = 20
"""Attempts to make the token count stated in an answer equal to its actual count."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The content of an answer, before it is cut to a number of tokens.

    `facts` go into the first line; `above` is always shown; `parts` follow, best first, each whole or not at all;
    `hint` says what to call next. `what` is the plural noun for the parts, of which there are `total`, or "" to omit
    the count. `more` says how to get the parts left out, given how many are shown.
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


def tokens_of(text: str) -> int:
    return open_tokenizer(TOKENIZER).count(text)


def fit_answer(answer: ToolAnswer, limit: int) -> str:
    """Return the answer as text with as many of its parts as fit into `limit` tokens, first and last line included."""
    fitting, too_many = 0, len(answer.parts)
    text = _render(answer, too_many, limit)
    if tokens_of(text) <= limit:
        return text
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        if tokens_of(_render(answer, middle, limit)) <= limit:
            fitting = middle
        else:
            too_many = middle
    text, longest = _render(answer, fitting, limit), limit
    while tokens_of(text) > limit:  # very long names are cut to fit
        longest //= 2
        text = _render(_shorten(answer, longest), 0, limit)
    return text


def _shorten(answer: ToolAnswer, longest: int) -> ToolAnswer:
    facts = tuple(truncate(fact, longest) for fact in answer.facts)
    vault, freshness = truncate(answer.vault, longest), truncate(answer.freshness, longest)
    return replace(answer, facts=facts, vault=vault, freshness=freshness, hint=truncate(answer.hint, longest), more="")


def _render(answer: ToolAnswer, shown: int, limit: int) -> str:
    left = max(len(answer.parts) - shown, 0)
    more = answer.more if isinstance(answer.more, str) else answer.more(shown) if left else ""
    hints = [f"{left:,} left out here: {more}." if left and more else "", answer.hint]
    singular = "memory" if answer.what == "memories" else answer.what.removesuffix("s")
    tally = f"{shown:,} of {format_count(answer.total, singular, answer.what)}" if answer.what else ""
    parts = answer.parts[:shown]
    between = "\n\n" if any("\n" in part for part in parts) else "\n"
    body = [each for each in (answer.above, between.join(parts)) if each]
    token_count, text = limit, ""
    for _ in range(_CLOSE):
        facts = (
            *answer.facts,
            tally,
            f"{token_count:,} of {format_count(limit, 'token')}",
            f"vault {visible_line(answer.vault)}",
            answer.freshness,
        )
        text = "\n\n".join((" · ".join(filter(None, facts)), *body, "Next: " + " ".join(filter(None, hints))))
        actual = tokens_of(text)
        if actual == token_count:
            break
        token_count = actual
    return text


# --- what parts are made of -------------------------------------------------------------------------------------------


def source_reference(path: str, first: int, last: int, within: str = "") -> str:
    """Return `path:first-last`, or `path#page=12` for an attachment, in the form that `read` accepts."""
    return format_source_location(path, first, last, within)


def memory_source_reference(source: Source) -> str:
    """Return the source of a memory in the form that `read` accepts: a note, or lines of it."""
    if not source.line_start:
        return visible_line(source.path)
    return source_reference(source.path, source.line_start, source.line_end, source.place)


def headings(fragment: Fragment) -> str:
    """Return title and headings on one line, cut to `_LONGEST_NAME` columns."""
    return truncate(visible_line(title_and_headings(fragment.title, fragment.heading_path)), _LONGEST_NAME)


def hit_part(number: int, hit: Hit, characters: int, vault: str = "") -> str:
    """Return a hit on two lines: location and confidence, then a snippet of `characters` characters (0: none)."""
    fragment = hit.fragment
    vault_text = f"vault {visible_line(vault)} · " if vault else ""
    sure = f" · {hit.confidence}" if hit.confidence is not None else ""
    reference = source_reference(fragment.path, fragment.line_start, fragment.line_end, fragment.place)
    head = f"{number}. {vault_text}{reference} · {headings(fragment)}{sure} · {format_count(fragment.tokens, 'token')}"
    return f"{head}\n   {quote(fragment.text, hit.spans, characters)}" if characters else head


def quote(text: str, spans: Sequence[Span], characters: int) -> str:
    """Return a snippet of about `characters` characters in quotation marks on one line, around the most matches."""
    shown, _ = snippet(text, spans, characters)
    return f'"{truncate(shown, characters)}"'


def passage_part(path: str, first: int, last: int, headings_text: str, text: str) -> str:
    """Return lines of a note in a fence, below a line with their location."""
    fence = extend_fence(_FENCE, text)
    named = f" · {headings_text}" if headings_text else ""
    return f"{source_reference(path, first, last)}{named}\n{fence}\n{text}\n{fence}"


@dataclass(frozen=True, slots=True)
class LinesPart:
    """Consecutive lines of a note that are shown together; `is_cut` for a single line cut to fit."""

    path: str
    first: int
    last: int
    text: str
    is_cut: bool = False

    @property
    def shown(self) -> str:
        return passage_part(self.path, self.first, self.last, "", self.text)


def fragment_part(fragment: Fragment, max_tokens: int) -> str:
    """Return a fragment in a fence, or only its first lines if it has more than `max_tokens` tokens."""
    whole = LinesPart(fragment.path, fragment.line_start, fragment.line_end, fragment.text)
    first = next(iter(_parts_of(whole, max_tokens)), whole)
    return passage_part(first.path, first.first, first.last, headings(fragment), first.text)


def note_parts(note: NoteLines, fragments: Iterable[Fragment], max_tokens: int) -> tuple[LinesPart, ...]:
    """Return lines of a note as parts that end where its fragments end.

    Parts of more than `max_tokens` tokens are split at lines.
    """
    ends = [each.line_end for each in fragments if note.line_start <= each.line_end < note.line_end]
    whole = LinesPart(note.path, note.line_start, note.line_end, note.text)
    lines, first, parts = note.text.split("\n"), note.line_start, []
    for last in (*ends, note.line_end):
        part_text = "\n".join(lines[first - note.line_start : last - note.line_start + 1])
        parts += _parts_of(replace(whole, first=first, last=last, text=part_text), max_tokens)
        first = last + 1
    return tuple(parts)


def _parts_of(part: LinesPart, max_tokens: int) -> list[LinesPart]:
    """Return a part without leading and trailing blank lines, halved until each has at most `max_tokens`."""
    lines = part.text.split("\n")
    begin, end = 0, len(lines)
    while begin < end and not lines[begin].strip():
        begin += 1
    while end > begin and not lines[end - 1].strip():
        end -= 1
    if begin == end:
        return []
    trimmed = replace(part, first=part.first + begin, last=part.first + end - 1, text="\n".join(lines[begin:end]))
    if tokens_of(trimmed.text) <= max_tokens:
        return [trimmed]
    if trimmed.first == trimmed.last:
        return [replace(trimmed, text=_beginning(trimmed.text, max_tokens), is_cut=True)]
    middle = (begin + end) // 2
    above = replace(trimmed, last=part.first + middle - 1, text="\n".join(lines[begin:middle]))
    below = replace(trimmed, first=part.first + middle, text="\n".join(lines[middle:end]))
    return _parts_of(above, max_tokens) + _parts_of(below, max_tokens)


def _beginning(line: str, max_tokens: int) -> str:
    """Return the beginning of a line in at most `max_tokens` tokens, with a mark that it is cut."""
    shortened = line[: max_tokens * 8]
    while (excess := tokens_of(shortened) + 4 - max_tokens) > 0:
        shortened = shortened[:-excess]
    return f"{shortened} {_CUT}"


def outline(peek: Peek) -> str:
    """Return a note's size and headings, each with its lines and tokens."""
    head = f"{visible_line(peek.path)} · {format_count(peek.tokens, 'token')} · {format_count(peek.lines, 'line')}"
    rows = [
        f"{'  ' * max(entry.level - 1, 0)}{visible_line(entry.heading) or '(before the first heading)'} "
        f":{line_range(entry.line_start, entry.line_end)} · {entry.tokens:,}"
        for entry in peek.outline
    ]
    return "\n".join((head, *rows))


def related_part(note: RelatedNote) -> str:
    """Return a related note and the reasons for it, on one or two lines."""
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
        truncate(visible_line(note.title), _LONGEST_NAME),
        truncate(visible_line("; ".join(why)), 2 * _LONGEST_NAME),
    )
    head = f"{visible_line(f'{note.path}:{note.line}')} · {title} · {note.score:.2f}"
    reasons_lines = [f"{head} · {reasons}" if reasons else head]
    for match in note.matches[:1]:
        theirs = match.there
        reasons_lines.append(f"   {quote(theirs.fragment.text, theirs.spans, 160)}")
    return "\n".join(reasons_lines)


def memory_part(recalled: Recalled) -> str:
    """Return a memory in a fence, with the status of its source."""
    memory = recalled.memory
    tags = "".join(f" #{tag}" for tag in memory.tags)
    head = f"{memory.id} · {memory.created[:10]}{visible_line(tags)}"
    if memory.source is not None:
        head += f" · from {memory_source_reference(memory.source)}{_source_status(recalled.source_check)}"
    why = f"\nwhy: {truncate(visible_line(memory.why), _LONGEST_NAME)}" if memory.why else ""
    text = memory.text if len(memory.text) <= _LONGEST_MEMORY else f"{memory.text[:_LONGEST_MEMORY]} {_CUT}"
    fence = extend_fence(_FENCE, text)
    return f"{head}{why}\n{fence}\n{text}\n{fence}"


def _source_status(source_check: SourceCheck | None) -> str:
    """Return the status of a memory's source if it moved, changed or is gone, else ""."""
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


def fit_pack(
    pack: Callable[[int], PackResult], answer: Callable[[PackResult], ToolAnswer], limit: int
) -> tuple[str, PackResult]:
    """Return a pack between the first and the last line of an answer, in `limit` tokens, and the pack itself.

    The pack gets the tokens that the two lines leave.
    """
    room = limit - tokens_of(fit_answer(replace(answer(pack(0)), parts=()), limit))
    while True:
        packed = pack(max(room, 0))
        text = _render(replace(answer(packed), parts=(packed.text.strip("\n"),) if packed.packs else ()), 1, limit)
        excess = tokens_of(text) - limit
        if excess <= 0:
            return text, packed
        if not packed.packs:
            return fit_answer(replace(answer(packed), parts=()), limit), packed
        room = min(room, packed.tokens) - excess
