"""Print explanations of scores as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from excerpt.cli.hits import INDENT, bar, confidence_label, format_share, paint
from excerpt.cli.printing import print_line
from excerpt.model import Signal
from excerpt.text.columns import count_columns, truncate, wrap
from excerpt.text.display import format_source_location, title_and_headings, visible_line

if TYPE_CHECKING:
    from excerpt import Explanation, NoteExplanation, StrategyRank, WordPart

_WIDTH = 80
_WORD = 15
_NAME = 14  # the longest signal, intro_meaning, and a space
_BAR = 24
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


# --- a hit ------------------------------------------------------------------------------------------------------------


def print_explanation(explanation: Explanation, indent: str = INDENT) -> None:
    """Print the signals of a hit as a sum, and what each query word contributed; nothing if the hit has no signals."""
    if not explanation.hit.signals:
        return
    print_line("")
    print_line(_faint(f"{indent}{'signal':<{_NAME}}{'value':>7} ×{'weight':>7} ={'part':>7}"))
    for line in _sum_lines(explanation.hit.signals, _WIDTH - len(indent)):
        print_line(f"{indent}{line}")
    score = f"{'score':<{_NAME}}{'':>17}{explanation.hit.score:>8.3f}"
    rest = " · ".join(
        note
        for note in (f"{format_share(explanation.share)} of the first hit", confidence_label(explanation.hit))
        if note
    )
    print_line(f"{indent}{paint(score, bold=True)}  {rest}")
    if explanation.words:
        print_line("")
        print_line(_faint(f"{indent}{'word':<{_WORD}}{'fragments':>9}{'rarity':>8}{'adds':>8}  where"))
    for word in explanation.words:
        for line in _word_lines(word, _WIDTH - len(indent)):
            print_line(f"{indent}{line}")


def _sum_lines(signals: Sequence[Signal], width: int) -> Iterator[str]:
    max_part = max(abs(signal.part) for signal in signals)
    for signal in sorted(signals, key=lambda signal: -signal.part):
        if signal.part:
            figures = f"{signal.value:>7.3f} ×{signal.weight:>7.3f} ={signal.part:>7.3f}"
            yield f"{signal.name:<{_NAME}}{figures}  {_drawn(signal.part, max_part)}".rstrip()
    if silent := [signal.name for signal in signals if signal.weight and not signal.part]:
        text = f"nothing by {', '.join(silent)}"
        yield from (_faint(text[start:end]) for start, end in wrap(text, width))


def _drawn(part: float, max_part: float) -> str:
    """Return the bar for a contribution to a score, yellow if it is negative."""
    return paint(bar(part, max_part, _BAR), fg="yellow" if part < 0 else "cyan")


def _word_lines(word: WordPart, width: int) -> Iterator[str]:
    name = truncate(visible_line(word.word), _WORD - 1)
    name += " " * (_WORD - count_columns(name))
    rarity = f"{word.idf * word.telling:.2f}" if word.fragments else "–"
    prefix = f"{name}{word.fragments:>9,}{rarity:>8}{word.part:>8.3f}  "
    locations = ", ".join(location.replace(" ", _NO_BREAK_SPACE) for location in word.where)
    room = width - count_columns(prefix)
    for number, (start, end) in enumerate(wrap(locations, room)):
        margin = prefix if number == 0 else " " * count_columns(prefix)
        yield f"{margin}{locations[start:end].replace(_NO_BREAK_SPACE, ' ')}"
    for remark in word.remarks:
        yield _faint(truncate(f"  {visible_line(remark)}", width))


# --- a note -----------------------------------------------------------------------------------------------------------


def print_note(explanation: NoteExplanation, usual_limit: int) -> None:
    """Print why a note is not ranked higher.

    Shows its place, its rank under each strategy, what the hits above it have more of, and its own score as a sum.
    """
    explained = explanation.explanation
    if explanation.absence is not None:
        print_line(visible_line(explanation.absence.reason))
    if explained is not None:
        fragment = explained.hit.fragment
        named = visible_line(title_and_headings(fragment.title, fragment.heading_path))
        print_line(f"{paint(f'{explained.rank:>3}', fg='cyan')}  {paint(named, bold=True)}")
        lines = format_source_location(fragment.path, fragment.line_start, fragment.line_end, fragment.place)
        print_line(f"{INDENT}{paint(lines, fg='green')}")
        verdict = visible_line(explanation.verdict)
        for start, end in wrap(verdict, _WIDTH - len(INDENT)):
            print_line(f"{INDENT}{verdict[start:end]}")
    if any(rank.rank is not None for rank in explanation.ranks):
        print_line("")
        print_line(_faint(f"{INDENT}{'strategy':<{_NAME}}{'rank':>7}{'score':>9}{'line':>8}"))
        for rank in explanation.ranks:
            print_line(f"{INDENT}{_rank_line(rank)}")
    if explained is None:
        return
    if explanation.gaps:
        print_line("")
        print_line(f"{INDENT}Why not higher, beside {_compared_text(explanation.compared)}:")
        for line in _gaps(explanation):
            print_line(f"{INDENT}{line}")
    if sentences := list(_sentences(explanation, explained, usual_limit)):
        print_line("")
    for sentence in sentences:
        print_line(f"{INDENT}{sentence}")
    print_explanation(explained)


def _rank_line(rank: StrategyRank) -> str:
    empty = f"{'–':>7}{'–':>9}{'–':>8}"
    figures = empty if rank.rank is None else f"{rank.rank:>7,}{rank.score:>9.3f}{rank.line:>8,}"
    primary = "" if rank.primary == rank.strategy else f"  ▸ {rank.primary}"
    return f"{rank.strategy:<{_NAME}}{figures}{primary}"


def _compared_text(compared: int) -> str:
    return "the hit above it" if compared == 1 else f"the mean of the {compared} best above it"


def _gaps(explanation: NoteExplanation) -> Iterator[str]:
    yield _faint(f"{'signal':<{_NAME}}{'here':>7}{'above':>9}{'costs':>8}")
    max_cost = max(abs(gap.cost) for gap in explanation.gaps)
    for gap in explanation.gaps:
        if round(gap.cost, 3):
            figures = f"{gap.value:>7.3f}{gap.above:>9.3f}{gap.cost:>8.3f}"
            yield f"{gap.signal:<{_NAME}}{figures}  {_drawn(-gap.cost, max_cost)}".rstrip()
    yield f"{'in all':<{_NAME}}{'':>16}{sum(gap.cost for gap in explanation.gaps):>8.3f}"


def _sentences(note_explanation: NoteExplanation, explained: Explanation, usual_limit: int) -> Iterator[str]:
    missing = [visible_line(word.word) for word in explained.missing_words]
    if missing:
        yield f"It lacks {', '.join(missing)}."
    if note_explanation.from_limit is not None and note_explanation.from_limit > usual_limit:
        yield f"A search lists it with --limit {note_explanation.from_limit} or more."


def _faint(text: str) -> str:
    return paint(text, dim=True)
