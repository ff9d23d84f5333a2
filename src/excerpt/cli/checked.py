"""A check of citations as JSON for programs and as a table for readers.

Answer, pack and vault are all untrusted here, so every line of the table has its controls shown, on a terminal and in
a pipe alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher, unified_diff
from typing import Any

from excerpt.cli.hits import columns_of, cut, paint, share_of
from excerpt.cli.printing import put
from excerpt.pack.check import Check, CheckedCitation, CheckedQuotation, CheckedSentence, Place, Verdict
from excerpt.pack.reading import Source
from excerpt.pack.standing import Standing, State
from excerpt.text.counted import counted
from excerpt.text.line_range import line_range
from excerpt.text.visible import visible_line

_WIDTH = 100
_VERDICT = 14
_INDENT = " " * (7 + _VERDICT)
_MOST_DIFFERENCES = 6
_MOST_BELOW = 10
_ENDS = " .,;:!?。，"
# --- JSON -------------------------------------------------------------------------------------------------------------


def check_as_json(check: Check) -> dict[str, Any]:
    """The form is described in the guide's note on JSON forms."""
    cited = Counter(each.number for each in check.citations)
    return {
        "true": check.holds,
        "sources": [
            _source(source, standing, cited[source.number])
            for source, standing in zip(check.pack.sources, check.standings, strict=True)
        ],
        "citations": [
            {"line": each.citation.line, "text": each.citation.text, "number": each.number, "state": each.state.value}
            for each in check.citations
        ],
        "quotations": [_quotation(each) for each in check.quotations],
        "sentences": [
            {
                "line": each.sentence.line,
                "text": each.sentence.text,
                "cited": list(each.cited),
                "words": len(each.words),
                "found": each.found,
                "missing": list(each.missing),
            }
            for each in check.sentences
        ],
        "uncited": [{"line": each.line, "text": each.text} for each in check.uncited],
    }


def _source(source: Source, standing: Standing, cited: int) -> dict[str, Any]:
    now = None if standing.state is State.GONE else {**asdict(standing)}
    if now is not None:
        del now["state"]
    return {
        "number": source.number,
        "path": source.path,
        "line_start": source.line_start,
        "line_end": source.line_end,
        "cited": cited,
        "state": standing.state.value,
        "intact": source.intact,
        "now": now,
    }


def _quotation(checked: CheckedQuotation) -> dict[str, Any]:
    quotation = checked.quotation
    return {
        "line": quotation.line,
        "kind": quotation.kind.value,
        "text": quotation.text,
        "cited": list(quotation.cited),
        "verdict": checked.verdict.value,
        "differences": [each.value for each in checked.differences],
        "similarity": round(checked.similarity, 3),
        "place": None if checked.place is None else asdict(checked.place),
        "now": None if checked.now is None else asdict(checked.now),
    }


# --- a table ----------------------------------------------------------------------------------------------------------


def print_check(check: Check, uncited: bool = False) -> None:
    """What was found, by the answer's lines; `uncited` sentences too, if they are wanted."""
    sources = {source.number: source for source in check.pack.sources}
    rows = [_citation_row(each, sources) for each in check.citations]
    rows += map(_quotation_row, check.quotations)
    rows += map(_sentence_row, check.sentences)
    rows += [_Row(each.line, "uncited", _one_line(each.text)) for each in check.uncited if uncited]
    for row in sorted(rows, key=lambda row: row.line):
        put(f"{row.line:>5}  {paint(f'{row.verdict:<{_VERDICT}}', fg=row.colour)}{_line(row.said)}")
        for below in row.below[:_MOST_BELOW]:
            put(f"{_INDENT}{paint(_line(below), dim=True)}")


@dataclass(frozen=True, slots=True)
class _Row:
    """What is said of one line of the answer, and what stands below it."""

    line: int
    verdict: str
    said: str
    below: Sequence[str] = ()
    colour: str | None = None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _line(text: str) -> str:
    return cut(visible_line(text), _WIDTH - columns_of(_INDENT))


def _citation_row(checked: CheckedCitation, sources: dict[int, Source]) -> _Row:
    line, state, standing = checked.citation.line, checked.state.value, checked.standing
    colour = "green" if checked.holds else "red"
    if standing is None:
        have = ", ".join(f"[{number}]" for number in sources)
        return _Row(line, state, f"[{checked.number}] is not in the pack, which has {have}", colour=colour)
    source = sources[checked.number]
    said = f"[{checked.number}] {_lines(source.path, source.line_start, source.line_end)}"
    below = [] if source.intact else ["the pack's text is not the one that its digest was made of"]
    if standing.state is State.MOVED:
        below.append(f"now {_lines(standing.path, standing.line_start, standing.line_end)}")
    elif standing.state is State.CHANGED:
        below.append(f"now at {_lines(standing.path, standing.line_start, standing.line_end)}:")
        below += _differences(source.text, standing.text)
    elif standing.state is State.GONE:
        below.append("neither the note nor the text is in the vault")
    return _Row(line, state, said, below, colour)


def _quotation_row(checked: CheckedQuotation) -> _Row:
    colour = None if checked.verdict is Verdict.SHORT else "green" if checked.holds else "red"
    said = f"“{_one_line(checked.quotation.text)}”"
    return _Row(checked.quotation.line, checked.verdict.value, said, list(_below_quotation(checked)), colour)


def _sentence_row(checked: CheckedSentence) -> _Row:
    missing = [f"missing: {', '.join(checked.missing)}"] if checked.missing else []
    said = _one_line(checked.sentence.text)
    return _Row(checked.sentence.line, f"words {checked.found}/{len(checked.words)}", said, missing)


def _differences(before: str, now: str) -> list[str]:
    """The lines that went (-) and came (+), as many as tell what happened."""
    changed = list(unified_diff(before.split("\n"), now.split("\n"), n=0, lineterm=""))[2:]
    lines = [line for line in changed if not line.startswith("@@") and line[1:].strip()]
    more = len(lines) - _MOST_DIFFERENCES
    return [*lines[:_MOST_DIFFERENCES], *([f"… and {more} lines more"] if more > 0 else [])]


def _below_quotation(checked: CheckedQuotation) -> Iterator[str]:
    place, verdict = checked.place, checked.verdict
    cited = ", ".join(f"[{number}]" for number in checked.quotation.cited)
    if verdict is Verdict.SHORT:
        yield "stands nowhere, but is too short to be called a quotation"
    elif place is None:
        yield "stands in the question" if verdict is Verdict.TRUE else "nothing like it in the pack or the vault"
    elif verdict is Verdict.INVENTED:
        yield f"the nearest is {share_of(checked.similarity)} like it: {_at(place)}"
    elif verdict is Verdict.ALTERED:
        yield f"{share_of(checked.similarity)} like {_at(place)}"
        yield f"“{_one_line(place.passage)}”"
        yield from _swapped(checked.quotation.text, place.passage)
    else:
        but = f", not in {cited}" if verdict is Verdict.MISATTRIBUTED else ""
        gone = ", but nowhere in the vault any more" if verdict is Verdict.CHANGED else ""
        yield f"stands in {_at(place)}{but}{gone}"
        yield from _true(checked, place)


def _swapped(said: str, there: str) -> Iterator[str]:
    """The words that were put for others."""
    ours, theirs = said.rstrip(_ENDS).split(), there.rstrip(_ENDS).split()
    for kind, a, b, c, d in SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if kind != "equal":
            yield f"“{' '.join(ours[c:d])}” for “{' '.join(theirs[a:b])}”"


def _true(checked: CheckedQuotation, place: Place) -> Iterator[str]:
    """How a quotation that stands somewhere differs from what stands there, and where that is now."""
    now = checked.now
    if now and (now.path, now.line_start) != (place.path, place.line_start):
        yield f"now {_lines(now.path, now.line_start, now.line_end)}"
    if checked.differences:
        yield f"but for: {', '.join(each.value for each in checked.differences)}"
        yield f"“{_one_line(place.passage)}”"


def _at(place: Place) -> str:
    number = "" if place.source is None else f"[{place.source}] "
    return f"{number}{_lines(place.path, place.line_start, place.line_end)}"


def _lines(path: str, first: int, last: int) -> str:
    return f"{path}:{line_range(first, last)}"


# --- a sentence -------------------------------------------------------------------------------------------------------


def summary_of(check: Check) -> str:
    """What was found, in a line."""
    parts = [
        _with_kinds(len(check.citations), "citation", Counter(each.state.value for each in check.citations)),
        _with_kinds(len(check.quotations), "quotation", Counter(each.verdict.value for each in check.quotations)),
        f"{counted(len(check.uncited), 'sentence')} without either",
    ]
    return " · ".join(parts)


def _with_kinds(count: int, noun: str, kinds: Counter[str]) -> str:
    listed = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    return f"{counted(count, noun)}{f' ({listed})' if listed else ''}"
