"""Print the result of a citation check as a table.

Answer, pack and vault are all untrusted here, so every line of the table has its control characters made visible, on a
terminal and in a pipe alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from itertools import groupby

from excerpt import (
    Check,
    CheckedCitation,
    CheckedQuotation,
    CheckedSentence,
    PackSource,
    SourceLines,
    State,
    Verdict,
)
from excerpt.cli.hits import format_share, paint
from excerpt.cli.printing import print_line
from excerpt.text.columns import count_columns, truncate
from excerpt.text.display import format_count, format_source_location, line_range, visible_line

_WIDTH = 100
_VERDICT = 14
_INDENT = " " * (7 + _VERDICT)
_MAX_DIFFERENCES = 6
_MAX_BELOW = 10
_MAX_CITED = 20  # numbers of a quotation
_MAX_LINES = 1_000  # any answer that is read has fewer
_ENDS = " .,;:!?。，"


def print_check(check: Check, uncited: bool = False) -> None:
    """Print the findings of a check by line of the answer; with `uncited`, also sentences without a citation."""
    sources = {source.number: source for source in check.pack.sources}
    rows = [_citation_row(each, sources) for each in check.citations if each.comparison]
    rows += _unknown_rows([each for each in check.citations if not each.comparison], sources)
    rows += map(_quotation_row, check.quotations)
    rows += map(_sentence_row, check.sentences)
    rows += [
        _TableRow(each.line, "unchecked", _one_line(each.text), (each.reason,), "yellow") for each in check.unchecked
    ]
    rows += [_TableRow(each.line, "uncited", _one_line(each.text)) for each in check.uncited if uncited]
    lines = _limit_rows(sorted(_merge_rows(rows), key=lambda row: row.line))
    for row in lines:
        print_line(f"{row.line:>5}  {paint(f'{row.verdict:<{_VERDICT}}', fg=row.colour)}{_line(row.text)}")
        times = [f"{row.times:,} times" + ("" if row.holds else ", here first")] if row.times > 1 else []
        for below in [*times, *row.below[:_MAX_BELOW]]:
            print_line(f"{_INDENT}{paint(_line(below), dim=True)}")
    untold = check.cited.total() - sum(each.times for each in check.citations)
    if more := sum(row.times for row in rows) - sum(row.times for row in lines) + untold:
        print_line(f"       and {more:,} more")


def _limit_rows(rows: Sequence[_TableRow]) -> Sequence[_TableRow]:
    """Return at most `_MOST_LINES` rows in their order; failed checks are preferred when rows must be dropped."""
    if len(rows) <= _MAX_LINES:
        return rows
    first = sorted(range(len(rows)), key=lambda number: rows[number].holds)[:_MAX_LINES]
    return [rows[number] for number in sorted(first)]


@dataclass(frozen=True, slots=True)
class _TableRow:
    """One row of the table: a line of the answer, its verdict, and detail lines `below` it."""

    line: int
    verdict: str
    text: str
    below: tuple[str, ...] = ()
    colour: str | None = None
    times: int = 1

    @property
    def holds(self) -> bool:
        return self.colour not in ("red", "yellow")


def _merge_rows(rows: Iterable[_TableRow]) -> Iterator[_TableRow]:
    """Merge equal rows and count them: failures across the whole answer, other rows only within one line."""
    same: dict[_TableRow, list[_TableRow]] = {}
    for row in rows:
        same.setdefault(replace(row, line=row.line if row.holds else 0, times=1), []).append(row)
    return (replace(each[0], times=sum(row.times for row in each)) for each in same.values())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _line(text: str) -> str:
    return truncate(visible_line(text), _WIDTH - count_columns(_INDENT))


def _unknown_rows(citations: Sequence[CheckedCitation], sources: Iterable[int]) -> Iterator[_TableRow]:
    """Yield a row for each run of consecutive numbers that a citation names but the pack does not have."""
    have = ", ".join(f"[{number}]" for number in sources)
    runs = groupby(enumerate(citations), lambda each: (each[1].citation, each[1].times, each[1].number - each[0]))
    for (citation, times, _), run in runs:
        numbers = [checked.number for _, checked in run]
        named = f"[{line_range(numbers[0], numbers[-1])}] {'is' if len(numbers) == 1 else 'are'}"
        text = f"{named} not in the pack, which has {have}"
        yield _TableRow(citation.line, State.UNKNOWN.value, text, colour="red", times=times)


def _citation_row(checked: CheckedCitation, sources: dict[int, PackSource]) -> _TableRow:
    line, state, comparison = checked.citation.line, checked.state.value, checked.comparison
    colour = "green" if checked.holds else "red"
    assert comparison
    source = sources[checked.number]
    text = f"[{checked.number}] {format_source_location(source.path, source.line_start, source.line_end, source.place)}"
    below = [] if source.intact else ["the text in the pack does not match its digest"]
    location_text = format_source_location(
        comparison.path, comparison.line_start, comparison.line_end, comparison.place
    )
    if comparison.state is State.MOVED:
        below.append(f"now {location_text}")
    elif comparison.state is State.CHANGED:
        below.append(f"now at {location_text}:")
        below += _differences(source.text, comparison.text)
    elif comparison.state is State.GONE:
        below.append("neither the note nor the text is in the vault")
    return _TableRow(line, state, text, tuple(below), colour, checked.times)


def _quotation_row(checked: CheckedQuotation) -> _TableRow:
    colour = None if checked.verdict is Verdict.SHORT else "green" if checked.holds else "red"
    text = f"“{_one_line(checked.quotation.text)}”"
    return _TableRow(checked.quotation.line, checked.verdict.value, text, tuple(_below_quotation(checked)), colour)


def _sentence_row(checked: CheckedSentence) -> _TableRow:
    missing = (f"missing: {', '.join(checked.missing)}",) if checked.missing else ()
    text = _one_line(checked.sentence.text)
    return _TableRow(checked.sentence.line, f"words {checked.found}/{len(checked.words)}", text, missing)


def _differences(before: str, now: str) -> list[str]:
    """Return the removed (-) and added (+) lines, at most `_MOST_DIFFERENCES` and the number of the others."""
    changed = list(unified_diff(before.split("\n"), now.split("\n"), n=0, lineterm=""))[2:]
    lines = [line for line in changed if not line.startswith("@@") and line[1:].strip()]
    more = len(lines) - _MAX_DIFFERENCES
    return [*lines[:_MAX_DIFFERENCES], *([f"… and {format_count(more, 'line')} more"] if more > 0 else [])]


def _below_quotation(checked: CheckedQuotation) -> Iterator[str]:
    lines, verdict = checked.place, checked.verdict
    cited = ", ".join(f"[{number}]" for number in checked.quotation.cited[:_MAX_CITED])
    if verdict is Verdict.SHORT:
        yield "not found, but too short to count as a quotation"
    elif lines is None:
        yield "found in the question" if verdict is Verdict.TRUE else "nothing like it in the pack or the vault"
    elif verdict is Verdict.INVENTED:
        yield f"the nearest is {format_share(checked.similarity)} like it: {_format_lines(lines)}"
    elif checked.turned_by:
        words = ", ".join(f"“{word}”" for word in checked.turned_by)
        yield f"leaves out {words}, which changes the meaning of {_format_lines(lines)}"
        yield f"“{_one_line(lines.passage)}”"
    elif verdict is Verdict.ALTERED:
        yield f"{format_share(checked.similarity)} like {_format_lines(lines)}"
        yield f"“{_one_line(lines.passage)}”"
        yield from _swapped_lines(checked.quotation.text, lines.passage)
    else:
        but = f", not in {cited}" if verdict is Verdict.MISATTRIBUTED else ""
        absence = ", but no longer in the vault" if verdict is Verdict.CHANGED else ""
        yield f"found in {_format_lines(lines)}{but}{absence}"
        yield from _confirmation_lines(checked, lines)


def _swapped_lines(quoted: str, source: str) -> Iterator[str]:
    """Yield a line for each run of words in which `quoted` differs from the text `source`."""
    ours, theirs = quoted.rstrip(_ENDS).split(), source.rstrip(_ENDS).split()
    for kind, a, b, c, d in SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if kind != "equal":
            yield f"“{' '.join(ours[c:d])}” for “{' '.join(theirs[a:b])}”"


def _confirmation_lines(checked: CheckedQuotation, lines: SourceLines) -> Iterator[str]:
    """Yield how a quotation that was found differs from the text at `lines`, and where that text is now."""
    now = checked.now
    if now and (now.path, now.line_start) != (lines.path, lines.line_start):
        yield f"now {format_source_location(now.path, now.line_start, now.line_end, now.place)}"
    if checked.differences:
        yield f"differs in: {', '.join(each.value for each in checked.differences)}"
        yield f"“{_one_line(lines.passage)}”"


def _format_lines(lines: SourceLines) -> str:
    number = "" if lines.source is None else f"[{lines.source}] "
    return f"{number}{format_source_location(lines.path, lines.line_start, lines.line_end, lines.place)}"


# --- a sentence -------------------------------------------------------------------------------------------------------


def summary_of(check: Check) -> str:
    """Return a one-line summary of a check."""
    states: Counter[str] = Counter()
    state_by_number = {each.number: each.state.value for each in check.citations}
    for number, times in check.cited.items():
        states[state_by_number[number]] += times
    parts = [
        _with_kinds(check.cited.total(), "citation", states),
        _with_kinds(len(check.quotations), "quotation", Counter(each.verdict.value for each in check.quotations)),
        f"{format_count(len(check.uncited), 'sentence')} without either",
        *([f"{len(check.unchecked):,} unchecked"] if check.unchecked else []),
    ]
    return " · ".join(parts)


def _with_kinds(count: int, noun: str, kinds: Counter[str]) -> str:
    listed = ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common())
    return f"{format_count(count, noun)}{f' ({listed})' if listed else ''}"
