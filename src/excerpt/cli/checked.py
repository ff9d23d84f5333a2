"""Print the result of a citation check (`excerpt check`) as a table.

Answer, pack and vault are untrusted, so control characters in every line of the table are made visible, both on a
terminal and in a pipe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from excerpt import (
    AnswerCheck,
    CheckedCitation,
    CheckedQuotation,
    CheckedSentence,
    PackSource,
    SourceLines,
    SourceState,
    Verdict,
)
from excerpt.cli.hits import format_share, style_text
from excerpt.cli.printing import print_line
from excerpt.text.columns import count_columns, truncate
from excerpt.text.display import format_count, format_source_location, line_range, visible_line

_TABLE_COLUMNS = 100
_VERDICT_COLUMNS = 14
_INDENT = " " * (7 + _VERDICT_COLUMNS)
_MAX_DIFFERENCES = 6  # lines shown for a changed source
_MAX_DETAIL_LINES = 10  # below a row
_MAX_SHOWN_CITATIONS = 20  # source numbers of one quotation
_MAX_TABLE_ROWS = 1_000  # an answer that is meant to be read has fewer
_END_PUNCTUATION = " .,;:!?。，"


def print_check(check: AnswerCheck, uncited: bool = False) -> None:
    """Print the findings of a check, ordered by line of the answer.

    With `uncited`, also print the sentences without a citation or quotation.
    """
    sources = {source.number: source for source in check.pack.sources}
    rows = [_make_citation_row(each, sources) for each in check.citations if each.comparison]
    rows += _make_unknown_citation_rows([each for each in check.citations if not each.comparison], sources)
    rows += map(_make_quotation_row, check.quotations)
    rows += map(_make_sentence_row, check.sentences)
    rows += [
        _TableRow(each.line, "unchecked", _join_lines(each.text), (each.reason,), "yellow") for each in check.unchecked
    ]
    rows += [_TableRow(each.line, "uncited", _join_lines(each.text)) for each in check.uncited if uncited]
    lines = _limit_rows(sorted(_merge_rows(rows), key=lambda row: row.line))
    for row in lines:
        print_line(
            f"{row.line:>5}  {style_text(f'{row.verdict:<{_VERDICT_COLUMNS}}', fg=row.colour)}{_fit_line(row.text)}"
        )
        times = [f"{row.times:,} times" + ("" if row.holds else ", here first")] if row.times > 1 else []
        for detail in [*times, *row.details[:_MAX_DETAIL_LINES]]:
            print_line(f"{_INDENT}{style_text(_fit_line(detail), dim=True)}")
    unlisted = check.cited.total() - sum(each.times for each in check.citations)
    if more := sum(row.times for row in rows) - sum(row.times for row in lines) + unlisted:
        print_line(f"       and {more:,} more")


def _limit_rows(rows: Sequence[_TableRow]) -> Sequence[_TableRow]:
    """Return at most _MAX_TABLE_ROWS rows in their order, dropping rows of passed checks first."""
    if len(rows) <= _MAX_TABLE_ROWS:
        return rows
    first = sorted(range(len(rows)), key=lambda number: rows[number].holds)[:_MAX_TABLE_ROWS]
    return [rows[number] for number in sorted(first)]


class _TableRow(Struct, frozen=True):
    """A row of the table: a checked text in line `line` of the answer, with its verdict and detail lines.

    `times` is the number of equal findings that the row stands for.
    """

    line: int
    verdict: str
    text: str
    details: tuple[str, ...] = ()
    colour: str | None = None
    times: int = 1

    @property
    def holds(self) -> bool:
        """Whether the check passed: red and yellow rows did not."""
        return self.colour not in ("red", "yellow")


def _merge_rows(rows: Iterable[_TableRow]) -> Iterator[_TableRow]:
    """Merge equal rows and count them; failed checks across the whole answer, others within one line only."""
    same: dict[_TableRow, list[_TableRow]] = {}
    for row in rows:
        same.setdefault(replace(row, line=row.line if row.holds else 0, times=1), []).append(row)
    return (replace(each[0], times=sum(row.times for row in each)) for each in same.values())


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _fit_line(text: str) -> str:
    """Return a text as a table cell: control characters made visible, truncated to the width of the table."""
    return truncate(visible_line(text), _TABLE_COLUMNS - count_columns(_INDENT))


def _make_unknown_citation_rows(citations: Sequence[CheckedCitation], sources: Iterable[int]) -> Iterator[_TableRow]:
    """Yield a row for each run of consecutive source numbers that a citation names but the pack does not have.

    `sources` are the numbers that the pack has.
    """
    pack_numbers = ", ".join(f"[{number}]" for number in sources)
    runs = groupby(enumerate(citations), lambda each: (each[1].citation, each[1].times, each[1].number - each[0]))
    for (citation, times, _), run in runs:
        numbers = [checked.number for _, checked in run]
        named = f"[{line_range(numbers[0], numbers[-1])}] {'is' if len(numbers) == 1 else 'are'}"
        text = f"{named} not in the pack, which has {pack_numbers}"
        yield _TableRow(citation.line, SourceState.UNKNOWN.value, text, colour="red", times=times)


def _make_citation_row(checked: CheckedCitation, sources: dict[int, PackSource]) -> _TableRow:
    """Return the row of a citation; `sources` are the pack's sources by number."""
    line, state, comparison = checked.citation.line, checked.state.value, checked.comparison
    colour = "green" if checked.holds else "red"
    assert comparison
    source = sources[checked.number]
    text = f"[{checked.number}] {format_source_location(source.path, source.line_start, source.line_end, source.place)}"
    below = [] if source.is_intact else ["the text in the pack does not match its digest"]
    location_text = format_source_location(
        comparison.path, comparison.line_start, comparison.line_end, comparison.place
    )
    if comparison.state is SourceState.MOVED:
        below.append(f"now {location_text}")
    elif comparison.state is SourceState.CHANGED:
        below.append(f"now at {location_text}:")
        below += _format_changed_lines(source.text, comparison.text)
    elif comparison.state is SourceState.GONE:
        below.append("neither the note nor the text is in the vault")
    return _TableRow(line, state, text, tuple(below), colour, checked.times)


def _make_quotation_row(checked: CheckedQuotation) -> _TableRow:
    colour = None if checked.verdict is Verdict.SHORT else "green" if checked.holds else "red"
    text = f"“{_join_lines(checked.quotation.text)}”"
    return _TableRow(checked.quotation.line, checked.verdict.value, text, tuple(_describe_quotation(checked)), colour)


def _make_sentence_row(checked: CheckedSentence) -> _TableRow:
    missing = (f"missing: {', '.join(checked.missing)}",) if checked.missing else ()
    verdict, colour = (f"words {checked.found}/{len(checked.words)}", None) if checked.holds else ("not found", "red")
    return _TableRow(checked.sentence.line, verdict, _join_lines(checked.sentence.text), missing, colour)


def _format_changed_lines(before: str, now: str) -> list[str]:
    """Return the lines removed (-) and added (+) between two texts, at most _MAX_DIFFERENCES.

    If there are more, the last line says how many.
    """
    changed = list(unified_diff(before.split("\n"), now.split("\n"), n=0, lineterm=""))[2:]
    lines = [line for line in changed if not line.startswith("@@") and line[1:].strip()]
    more = len(lines) - _MAX_DIFFERENCES
    return [*lines[:_MAX_DIFFERENCES], *([f"… and {format_count(more, 'line')} more"] if more > 0 else [])]


def _describe_quotation(checked: CheckedQuotation) -> Iterator[str]:
    """Yield the detail lines of a checked quotation: where its text was found, and how it differs."""
    lines, verdict = checked.place, checked.verdict
    cited = ", ".join(f"[{number}]" for number in checked.quotation.cited[:_MAX_SHOWN_CITATIONS])
    if verdict is Verdict.SHORT:
        yield "not found, but too short to count as a quotation"
    elif lines is None:
        yield "found in the question" if verdict is Verdict.TRUE else "no similar text is in the pack or the vault"
    elif verdict is Verdict.INVENTED:
        yield f"the most similar text ({format_share(checked.similarity)}) is {_format_lines(lines)}"
    elif checked.turned_by:
        words = ", ".join(f"“{word}”" for word in checked.turned_by)
        yield f"the quotation leaves out {words}, which changes the meaning of {_format_lines(lines)}"
        yield f"“{_join_lines(lines.passage)}”"
    elif verdict is Verdict.ALTERED:
        yield f"{format_share(checked.similarity)} similar to {_format_lines(lines)}"
        yield f"“{_join_lines(lines.passage)}”"
        yield from _format_replaced_words(checked.quotation.text, lines.passage)
    else:
        but = f", not in {cited}" if verdict is Verdict.MISATTRIBUTED else ""
        absence = ", but no longer in the vault" if verdict is Verdict.CHANGED else ""
        yield f"found in {_format_lines(lines)}{but}{absence}"
        yield from _describe_found_quotation(checked, lines)


def _format_replaced_words(quoted: str, source: str) -> Iterator[str]:
    """Yield a line such as “new” for “old” for each run of words in which `quoted` differs from `source`."""
    ours, theirs = quoted.rstrip(_END_PUNCTUATION).split(), source.rstrip(_END_PUNCTUATION).split()
    for kind, a, b, c, d in SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if kind != "equal":
            yield f"“{' '.join(ours[c:d])}” for “{' '.join(theirs[a:b])}”"


def _describe_found_quotation(checked: CheckedQuotation, lines: SourceLines) -> Iterator[str]:
    """Yield where the text of a found quotation is now, if it moved, and how the quotation differs from `lines`."""
    now = checked.now
    if now and (now.path, now.line_start) != (lines.path, lines.line_start):
        yield f"now {format_source_location(now.path, now.line_start, now.line_end, now.place)}"
    if checked.differences:
        yield f"differs in: {', '.join(each.value for each in checked.differences)}"
        yield f"“{_join_lines(lines.passage)}”"


def _format_lines(lines: SourceLines) -> str:
    """Return the source number, if any, and the location of lines, such as `[2] Sync.md:8-12`."""
    number = "" if lines.source is None else f"[{lines.source}] "
    return f"{number}{format_source_location(lines.path, lines.line_start, lines.line_end, lines.place)}"


# --- summary ----------------------------------------------------------------------------------------------------------


def summarize_check(check: AnswerCheck) -> str:
    """Return a one-line summary of a check: the numbers of citations, quotations and sentences, by verdict.

    Sentences whose words are not found come first.
    """
    states: Counter[str] = Counter()
    state_by_number = {each.number: each.state.value for each in check.citations}
    for number, times in check.cited.items():
        states[state_by_number[number]] += times
    parts = [
        *([check.describe_not_found()] if check.not_found else []),
        _format_count_by_kind(check.cited.total(), "citation", states),
        _format_count_by_kind(
            len(check.quotations), "quotation", Counter(each.verdict.value for each in check.quotations)
        ),
        f"{format_count(len(check.uncited), 'sentence')} without either",
        *([f"{len(check.unchecked):,} unchecked"] if check.unchecked else []),
    ]
    return " · ".join(parts)


def _format_count_by_kind(count: int, noun: str, kinds: Counter[str]) -> str:
    """Return a count with the counts by kind, such as `3 citations (2 stand, 1 moved)`."""
    plurals = {SourceState.STANDS.value: "stand"}
    listed = ", ".join(
        f"{number:,} {kind if number == 1 else plurals.get(kind, kind)}" for kind, number in kinds.most_common()
    )
    return f"{format_count(count, noun)}{f' ({listed})' if listed else ''}"
