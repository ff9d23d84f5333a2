"""Answers as text for a model: what was found, within so many tokens, and what to ask next.

The first line is ours and says how sure the answer is, how much of it is shown, how many tokens it has and of which
vault it is; the last line says what was left out and how to go on. Between them stands text of the vault: on one line
in an entry, or in a fence that nothing in it closes, so that a note cannot pose as either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from excerpt.text.columns import cut, snippet
from excerpt.text.display import counted, line_range, location, longer, title_and_headings, visible_line
from excerpt.text.tokens import open_tokenizer

if TYPE_CHECKING:  # they bring the engine with them, which is loaded while the client still talks
    from excerpt import Fragment, Hit, NoteLines, PackResult, Peek, Recalled, RelatedNote, Source, SourceCheck, Span

TOKENIZER = "o200k"
"""What limits count by, whatever the vault's packs do: agents do not tell theirs, and this one is near most."""
MIN = 200
"""Tokens of an answer that can be asked for at least: the first and the last line and one entry fit."""

_FENCE = "```"
_CUT = "[…]"
_LONGEST_NAME = 200  # columns of headings, as of a hit; a path is never cut, as it is to be read by
_LONGEST_MEMORY = 4_000  # characters
_CLOSE = 20
"""Turns in which the number of tokens that an answer says of itself comes to what it has."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What is to be said: `facts` of the first line, `parts` best first, each shown whole or not at all, and what to
    ask next (`hint`). `what` counts the parts, of which there are `total`, "" where they are not to be counted; `more`
    says how to get those left out, where so many are shown. `above` stands before the parts and is always shown."""

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


def written(answer: ToolAnswer, limit: int) -> str:
    """The answer with as many of its parts as `limit` tokens hold, which are those of the whole text."""
    least, most = 0, len(answer.parts)
    text = _whole(answer, most, limit)
    if tokens_of(text) <= limit:
        return text
    while most - least > 1:
        middle = (least + most) // 2
        if tokens_of(_whole(answer, middle, limit)) <= limit:
            least = middle
        else:
            most = middle
    text, longest = _whole(answer, least, limit), limit
    while tokens_of(text) > limit:  # names as long as a path may be are told of as far as they fit
        longest //= 2
        text = _whole(_shortened(answer, longest), 0, limit)
    return text


def _shortened(answer: ToolAnswer, longest: int) -> ToolAnswer:
    facts = tuple(cut(fact, longest) for fact in answer.facts)
    vault, freshness = cut(answer.vault, longest), cut(answer.freshness, longest)
    return replace(answer, facts=facts, vault=vault, freshness=freshness, hint=cut(answer.hint, longest), more="")


def _whole(answer: ToolAnswer, shown: int, limit: int) -> str:
    left = max(len(answer.parts) - shown, 0)
    more = answer.more if isinstance(answer.more, str) else answer.more(shown) if left else ""
    hints = [f"{left:,} left out here: {more}." if left and more else "", answer.hint]
    one = "memory" if answer.what == "memories" else answer.what.removesuffix("s")
    tally = f"{shown:,} of {counted(answer.total, one, answer.what)}" if answer.what else ""
    parts = answer.parts[:shown]
    between = "\n\n" if any("\n" in part for part in parts) else "\n"
    body = [each for each in (answer.above, between.join(parts)) if each]
    said, text = limit, ""
    for _ in range(_CLOSE):
        facts = (
            *answer.facts,
            tally,
            f"{said:,} of {counted(limit, 'token')}",
            f"vault {visible_line(answer.vault)}",
            answer.freshness,
        )
        text = "\n\n".join((" · ".join(filter(None, facts)), *body, "Next: " + " ".join(filter(None, hints))))
        has = tokens_of(text)
        if has == said:
            break
        said = has
    return text


# --- what parts are made of -------------------------------------------------------------------------------------------


def place(path: str, first: int, last: int, within: str = "") -> str:
    """`path:first-last`, or `path#page=12` in an attachment, as `read` takes it."""
    return location(path, first, last, within)


def source_place(source: Source) -> str:
    """What a memory is from, as `read` takes it: a note, or lines of it."""
    if not source.line_start:
        return visible_line(source.path)
    return place(source.path, source.line_start, source.line_end, source.place)


def headings(fragment: Fragment) -> str:
    """Return title and headings on one line, which is cut where it is too long."""
    return cut(visible_line(title_and_headings(fragment.title, fragment.heading_path)), _LONGEST_NAME)


def hit_part(number: int, hit: Hit, characters: int, vault: str = "") -> str:
    """A hit on two lines: where it stands and how sure it is, and as much of it as was asked for."""
    fragment = hit.fragment
    whose = f"vault {visible_line(vault)} · " if vault else ""
    sure = f" · {hit.confidence}" if hit.confidence is not None else ""
    where = place(fragment.path, fragment.line_start, fragment.line_end, fragment.place)
    head = f"{number}. {whose}{where} · {headings(fragment)}{sure} · {counted(fragment.tokens, 'token')}"
    return f"{head}\n   {quoted(fragment.text, hit.spans, characters)}" if characters else head


def quoted(text: str, spans: Sequence[Span], characters: int) -> str:
    """About so many characters of a text on one line in quotation marks, from where the most matches stand."""
    shown, _ = snippet(text, spans, characters)
    return f'"{visible_line(shown)}"'


def passage_part(path: str, first: int, last: int, under: str, text: str) -> str:
    """Lines of a note in a fence."""
    fence = longer(_FENCE, text)
    named = f" · {under}" if under else ""
    return f"{place(path, first, last)}{named}\n{fence}\n{text}\n{fence}"


@dataclass(frozen=True, slots=True)
class LinesPart:
    """Consecutive lines of a note that are shown together; `is_cut` where it is one line that goes on."""

    path: str
    first: int
    last: int
    text: str
    is_cut: bool = False

    @property
    def shown(self) -> str:
        return passage_part(self.path, self.first, self.last, "", self.text)


def fragment_part(fragment: Fragment, most: int) -> str:
    """A fragment in a fence, or its first lines where it has more than `most` tokens."""
    whole = LinesPart(fragment.path, fragment.line_start, fragment.line_end, fragment.text)
    first = next(iter(_parts_of(whole, most)), whole)
    return passage_part(first.path, first.first, first.last, headings(fragment), first.text)


def note_parts(found: NoteLines, fragments: Iterable[Fragment], most: int) -> tuple[LinesPart, ...]:
    """Lines of a note in parts: cut where its fragments end, and within those that have more than `most` tokens at a
    line."""
    ends = [each.line_end for each in fragments if found.line_start <= each.line_end < found.line_end]
    whole = LinesPart(found.path, found.line_start, found.line_end, found.text)
    lines, first, parts = found.text.split("\n"), found.line_start, []
    for last in (*ends, found.line_end):
        held = "\n".join(lines[first - found.line_start : last - found.line_start + 1])
        parts += _parts_of(replace(whole, first=first, last=last, text=held), most)
        first = last + 1
    return tuple(parts)


def _parts_of(part: LinesPart, most: int) -> list[LinesPart]:
    """A part without blank lines at either end, in halves of halves where it has more than `most` tokens."""
    lines = part.text.split("\n")
    begin, end = 0, len(lines)
    while begin < end and not lines[begin].strip():
        begin += 1
    while end > begin and not lines[end - 1].strip():
        end -= 1
    if begin == end:
        return []
    kept = replace(part, first=part.first + begin, last=part.first + end - 1, text="\n".join(lines[begin:end]))
    if tokens_of(kept.text) <= most:
        return [kept]
    if kept.first == kept.last:
        return [replace(kept, text=_beginning(kept.text, most), is_cut=True)]
    middle = (begin + end) // 2
    above = replace(kept, last=part.first + middle - 1, text="\n".join(lines[begin:middle]))
    below = replace(kept, first=part.first + middle, text="\n".join(lines[middle:end]))
    return _parts_of(above, most) + _parts_of(below, most)


def _beginning(line: str, most: int) -> str:
    """As much of a line as so many tokens hold, with the sign that it goes on."""
    kept = line[: most * 8]
    while (over := tokens_of(kept) + 4 - most) > 0:
        kept = kept[:-over]
    return f"{kept} {_CUT}"


def outline(found: Peek) -> str:
    """A note's size and headings, each with its lines and tokens."""
    head = f"{visible_line(found.path)} · {counted(found.tokens, 'token')} · {counted(found.lines, 'line')}"
    rows = [
        f"{'  ' * max(entry.level - 1, 0)}{visible_line(entry.heading) or '(before the first heading)'} "
        f":{line_range(entry.line_start, entry.line_end)} · {entry.tokens:,}"
        for entry in found.outline
    ]
    return "\n".join((head, *rows))


def related_part(note: RelatedNote) -> str:
    """A related note and why it is, on a line or two."""
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
    title, reasons = cut(visible_line(note.title), _LONGEST_NAME), cut(visible_line("; ".join(why)), 2 * _LONGEST_NAME)
    head = f"{visible_line(f'{note.path}:{note.line}')} · {title} · {note.score:.2f}"
    said = [f"{head} · {reasons}" if reasons else head]
    for match in note.matches[:1]:
        there = match.there
        said.append(f"   {quoted(there.fragment.text, there.spans, 160)}")
    return "\n".join(said)


def memory_part(found: Recalled) -> str:
    """A memory in a fence, with what is known of its source."""
    memory = found.memory
    tags = "".join(f" #{tag}" for tag in memory.tags)
    head = f"{memory.id} · {memory.created[:10]}{visible_line(tags)}"
    if memory.source is not None:
        head += f" · from {source_place(memory.source)}{_standing(found.standing)}"
    why = f"\nwhy: {cut(visible_line(memory.why), _LONGEST_NAME)}" if memory.why else ""
    text = memory.text if len(memory.text) <= _LONGEST_MEMORY else f"{memory.text[:_LONGEST_MEMORY]} {_CUT}"
    fence = longer(_FENCE, text)
    return f"{head}{why}\n{fence}\n{text}\n{fence}"


def _standing(standing: SourceCheck | None) -> str:
    """Return what became of the source of a memory; "" where there is nothing to decide."""
    if standing is None:
        return ""
    now = f" {source_place(standing.source)}" if standing.source is not None else ""
    if standing.kind == "moved":
        return f" · its source has moved: now at{now}"
    if not standing.is_stale:
        return ""
    return " · STALE: its source is gone" if standing.kind == "gone" else f" · STALE: its source has changed, see{now}"


def packed_within(
    pack: Callable[[int], PackResult], answer: Callable[[PackResult], ToolAnswer], limit: int
) -> tuple[str, PackResult]:
    """A pack with the first and last line around it, in `limit` tokens: the pack gets what these leave."""
    room = limit - tokens_of(written(replace(answer(pack(0)), parts=()), limit))
    while True:
        packed = pack(max(room, 0))
        text = _whole(replace(answer(packed), parts=(packed.text.strip("\n"),) if packed.packs else ()), 1, limit)
        over = tokens_of(text) - limit
        if over <= 0:
            return text, packed
        if not packed.packs:
            return written(replace(answer(packed), parts=()), limit), packed
        room = min(room, packed.tokens) - over
