"""Print explanations of a hit's score, or of a note's rank, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from excerpt.base.model import Signal
from excerpt.cli.hits import INDENT, confidence_label, format_bar, format_share, style_path, style_text
from excerpt.cli.printing import print_line
from excerpt.text.columns import count_columns, truncate, wrap
from excerpt.text.display import format_source_location, title_and_headings, visible_line

if TYPE_CHECKING:
    from excerpt import Explanation, NoteExplanation, StrategyRank, WordContribution
    from excerpt.vault.known_vaults import VaultFolders

_TABLE_COLUMNS = 80  # width of a table
_WORD_COLUMNS = 15  # for a query word
_NAME_COLUMNS = 14  # for a signal: the longest name, intro_meaning, and a space
_BAR_COLUMNS = 24  # for the largest bar
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


# --- a hit ------------------------------------------------------------------------------------------------------------


def print_explanation(explanation: Explanation, indent: str = INDENT) -> None:
    """Print a hit's score as a sum of its signals, and what each query word contributes to the score.

    Prints nothing if the hit has no signals, as for a query with only filters.
    """
    if not explanation.hit.signals:
        return
    print_line("")
    print_line(_dim_text(f"{indent}{'signal':<{_NAME_COLUMNS}}{'value':>7} ×{'weight':>7} ={'points':>7}"))
    for line in _format_signal_lines(explanation.hit.signals, _TABLE_COLUMNS - len(indent)):
        print_line(f"{indent}{line}")
    score = f"{'score':<{_NAME_COLUMNS}}{'':>17}{explanation.hit.score:>8.3f}"
    rest = " · ".join(
        note
        for note in (
            f"{format_share(explanation.share)} of the first hit",
            confidence_label(explanation.hit),
            explanation.rerank_note,
        )
        if note
    )
    print_line(f"{indent}{style_text(score, bold=True)}  {rest}")
    if explanation.words:
        print_line("")
        print_line(_dim_text(f"{indent}{'word':<{_WORD_COLUMNS}}{'fragments':>9}{'rarity':>8}{'adds':>8}  where"))
    for word in explanation.words:
        for line in _format_word_lines(word, _TABLE_COLUMNS - len(indent)):
            print_line(f"{indent}{line}")


def _format_signal_lines(signals: Sequence[Signal], width: int) -> Iterator[str]:
    """Yield a line for each signal that changes the score, the largest first, and a line with the other signals."""
    max_part = max(abs(signal.part) for signal in signals)
    for signal in sorted(signals, key=lambda signal: -signal.part):
        if signal.part:
            figures = f"{signal.value:>7.3f} ×{signal.weight:>7.3f} ={signal.part:>7.3f}"
            yield f"{signal.name:<{_NAME_COLUMNS}}{figures}  {_format_signed_bar(signal.part, max_part)}".rstrip()
    if silent := [signal.name for signal in signals if signal.weight and not signal.part]:
        text = f"no points for {', '.join(silent)}"
        yield from (_dim_text(text[start:end]) for start, end in wrap(text, width))


def _format_signed_bar(part: float, max_part: float) -> str:
    """Return the bar for an addend `part` of a score, relative to the largest addend; yellow if it is negative."""
    return style_text(format_bar(part, max_part, _BAR_COLUMNS), fg="yellow" if part < 0 else "cyan")


def _format_word_lines(word: WordContribution, width: int) -> Iterator[str]:
    """Yield the lines about what a query word contributes to the score, at most `width` columns wide."""
    name = truncate(visible_line(word.word), _WORD_COLUMNS - 1)
    name += " " * (_WORD_COLUMNS - count_columns(name))
    rarity = f"{word.idf * word.term_weight:.2f}" if word.fragments else "–"
    prefix = f"{name}{word.fragments:>9,}{rarity:>8}{word.part:>8.3f}  "
    locations = ", ".join(location.replace(" ", _NO_BREAK_SPACE) for location in word.where)
    room = width - count_columns(prefix)
    for number, (start, end) in enumerate(wrap(locations, room)):
        margin = prefix if number == 0 else " " * count_columns(prefix)
        yield f"{margin}{locations[start:end].replace(_NO_BREAK_SPACE, ' ')}"
    for remark in word.remarks:
        yield _dim_text(truncate(f"  {visible_line(remark)}", width))


# --- a note -----------------------------------------------------------------------------------------------------------


def print_note_explanation(explanation: NoteExplanation, folders: VaultFolders | None, usual_limit: int) -> None:
    """Print why a note is not ranked higher, or is not found.

    Prints its rank and location, its rank under each strategy, the signals in which the hits above it score more, and
    its own score as a sum. `folders` are the vaults, None for a store. `usual_limit` is the number of hits that a
    search lists by default.
    """
    explained = explanation.explanation
    if explanation.absence is not None:
        print_line(visible_line(explanation.absence.reason))
    if explained is not None:
        fragment = explained.hit.fragment
        named = visible_line(title_and_headings(fragment.title, fragment.heading_path))
        print_line(f"{style_text(f'{explained.rank:>3}', fg='cyan')}  {style_text(named, bold=True)}")
        lines = format_source_location(fragment.path, fragment.line_start, fragment.line_end, fragment.place)
        print_line(f"{INDENT}{style_path(lines, fragment.path, folders)}")
        verdict = visible_line(explanation.reason)
        for start, end in wrap(verdict, _TABLE_COLUMNS - len(INDENT)):
            print_line(f"{INDENT}{verdict[start:end]}")
    if any(rank.rank is not None for rank in explanation.ranks):
        print_line("")
        print_line(_dim_text(f"{INDENT}{'strategy':<{_NAME_COLUMNS}}{'rank':>7}{'score':>9}{'line':>8}"))
        for rank in explanation.ranks:
            print_line(f"{INDENT}{_format_rank_line(rank)}")
    if explained is None:
        return
    if explanation.signal_gaps:
        print_line("")
        print_line(f"{INDENT}Why it ranks below {_describe_compared_hits(explanation.compared)}:")
        for line in _format_gap_lines(explanation):
            print_line(f"{INDENT}{line}")
    if sentences := list(_format_closing_sentences(explanation, explained, usual_limit)):
        print_line("")
    for sentence in sentences:
        print_line(f"{INDENT}{sentence}")
    print_explanation(explained)


def _format_rank_line(rank: StrategyRank) -> str:
    """Return the line with a note's rank and score under one strategy, with dashes if the strategy did not find it."""
    empty = f"{'–':>7}{'–':>9}{'–':>8}"
    figures = empty if rank.rank is None else f"{rank.rank:>7,}{rank.score:>9.3f}{rank.line:>8,}"
    used = "" if rank.ranked_by == rank.strategy else f"  ranked by {rank.ranked_by}"
    return f"{rank.strategy:<{_NAME_COLUMNS}}{figures}{used}"


def _describe_compared_hits(compared: int) -> str:
    """Return a phrase for the hits that a note is compared with, the `compared` best hits above the note."""
    return "the hit above it" if compared == 1 else f"the {compared} best hits above it (their mean)"


def _format_gap_lines(explanation: NoteExplanation) -> Iterator[str]:
    """Yield the table of the signals in which the hits above the note score more, and what each costs the note."""
    yield _dim_text(f"{'signal':<{_NAME_COLUMNS}}{'here':>7}{'above':>9}{'costs':>8}")
    max_cost = max(abs(gap.cost) for gap in explanation.signal_gaps)
    for gap in explanation.signal_gaps:
        if round(gap.cost, 3):
            figures = f"{gap.value:>7.3f}{gap.above:>9.3f}{gap.cost:>8.3f}"
            yield f"{gap.signal:<{_NAME_COLUMNS}}{figures}  {_format_signed_bar(-gap.cost, max_cost)}".rstrip()
    yield f"{'behind by':<{_NAME_COLUMNS}}{'':>16}{sum(gap.cost for gap in explanation.signal_gaps):>8.3f}"


def _format_closing_sentences(
    note_explanation: NoteExplanation, explained: Explanation, usual_limit: int
) -> Iterator[str]:
    """Yield the sentences below the table: the missing words, and the limit with which a search lists the note."""
    missing = [visible_line(word.word) for word in explained.missing_words]
    if missing:
        yield f"The note lacks {', '.join(missing)}."
    if note_explanation.from_limit is not None and note_explanation.from_limit > usual_limit:
        yield f"A search lists the note with --limit {note_explanation.from_limit} or more."


def _dim_text(text: str) -> str:
    return style_text(text, dim=True)
