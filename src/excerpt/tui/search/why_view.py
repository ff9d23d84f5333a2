"""Why a fragment stands where it stands, as tables for the eye. Vault text in it is never markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from excerpt.model import Hit, Signal
from excerpt.search.explain import Explanation, WordPart, lacking
from excerpt.search.standing import NoteExplanation, Standing
from excerpt.text.counted import percent
from excerpt.text.line_range import lines_named
from excerpt.text.visible import visible_line
from excerpt.tui.common.row_names import path_below
from excerpt.tui.waterfall import Step, steps_of

Colours = Mapping[str, str]
"""The theme's variables."""


def hit_sum(hit: Hit, rank: int, share: float, colours: Colours) -> RenderableType:
    """A hit's place and its signals, as a table that adds up to its score; `rank` counts from 1."""
    fragment = hit.fragment
    soft = colours["text-soft"]
    head = Text(f"{rank}. {visible_line(fragment.title)}\n", f"bold {colours['foreground']}")
    path = path_below(fragment.title, fragment.heading_path)
    head.append(f"{path}\n" if path else "", f"not bold {soft}")
    lines = lines_named(fragment.line_start, fragment.line_end, "–")
    head.append(f"{visible_line(fragment.path)}, {lines}\n", f"not bold {soft}")
    sure = f" · {hit.confidence}" if hit.confidence else ""
    return Group(head, *_signals(hit.signals, hit.score, f"{percent(share)} of the first{sure}", colours))


def _signals(signals: Sequence[Signal], score: float, beside: str, colours: Colours) -> Iterator[RenderableType]:
    soft = colours["text-soft"]
    table = _table(("signal", 11), ("value", -6), ("× weight", -9), ("= part", -8), ("", 0), colours=colours)
    given = [signal for signal in sorted(signals, key=lambda signal: -signal.part) if signal.part]
    for signal, step in zip(given, steps_of([signal.part for signal in given], _inks(colours)), strict=True):
        figures = (f"{signal.value:.3f}", f"{signal.weight:.3f}", f"{signal.part:.3f}")
        table.add_row(visible_line(signal.name), *figures, step)
    strong = f"bold {colours['foreground']}"
    table.add_row(Text("score", strong), "", "", Text(f"{score:.3f}", strong), Step(0.0, 1.0, colours["accent"]))
    yield table
    yield Text(beside, soft)
    if silent := [signal.name for signal in signals if signal.weight and not signal.part]:
        yield Text(f"nothing by {', '.join(silent)}", soft)


def explained(told: NoteExplanation, colours: Colours) -> RenderableType:
    """All there is to say of a fragment or note."""
    parts: list[RenderableType] = []
    explanation = told.explanation
    if told.absence is not None:
        parts.append(Text(visible_line(told.absence.reason), colours["foreground"]))
    if explanation is not None:
        parts.append(hit_sum(explanation.hit, explanation.rank, explanation.share, colours))
        if explanation.words:
            parts += [Text(), _words(explanation, colours)]
    if told.gaps:
        parts += [Text(), _gaps(told, colours)]
    if explanation is not None and (missing := lacking(explanation.words)):
        parts += [Text(), Text(f"It lacks {', '.join(visible_line(word.word) for word in missing)}.")]
    if any(standing.rank is not None for standing in told.standings):
        parts += [Text(), _standings(told.standings, colours)]
    return Group(*parts)


def _words(explanation: Explanation, colours: Colours) -> Table:
    columns = (("word", 14), ("fragments", -9), ("rarity", -7), ("adds", -6), ("where", 0))
    table = _table(*columns, colours=colours)
    for word in explanation.words:
        rarity = f"{word.idf * word.telling:.2f}" if word.fragments else "–"
        table.add_row(
            Text(visible_line(word.word), no_wrap=True, overflow="ellipsis"),
            f"{word.fragments:,}",
            rarity,
            f"{word.part:.3f}",
            _where(word, colours["text-soft"]),
        )
    return table


def _where(word: WordPart, soft: str) -> Text:
    places = ", ".join(word.where)
    text = Text(places, soft if word.is_missing else "")
    for remark in word.remarks:
        text.append(f"\n{visible_line(remark)}", soft)
    return text


def _gaps(told: NoteExplanation, colours: Colours) -> RenderableType:
    above = "the hit above it" if told.compared == 1 else f"the mean of the {told.compared} best above it"
    table = _table(("signal", 11), ("here", -6), ("above", -9), ("costs", -8), ("", 0), colours=colours)
    gaps = [gap for gap in told.gaps if round(gap.cost, 3)]
    inks = (colours["warning"], colours["success"])
    for gap, step in zip(gaps, steps_of([gap.cost for gap in gaps], inks), strict=True):
        figures = (f"{gap.value:.3f}", f"{gap.above:.3f}", f"{gap.cost:+.3f}")
        table.add_row(visible_line(gap.signal), *figures, step)
    strong = f"bold {colours['foreground']}"
    table.add_row(Text("behind by", strong), "", "", Text(f"{sum(gap.cost for gap in gaps):.3f}", strong))
    return Group(Text(f"Why not higher, beside {above}:"), table)


def _standings(standings: Sequence[Standing], colours: Colours) -> Text:
    text = Text("Rank by strategy: ", colours["text-soft"])
    for number, standing in enumerate(standings):
        text.append(" · " if number else "")
        rank = "–" if standing.rank is None else f"{standing.rank:,}"
        text.append(f"{standing.strategy} ")
        text.append(rank, colours["foreground"])
    return text


def _table(*columns: tuple[str, int], colours: Colours) -> Table:
    """A table of these headings and widths: below 0 for figures, at the right; 0 for what room is left."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style=f"not bold {colours['text-soft']}")
    for heading, width in columns:
        if width:
            table.add_column(heading, width=abs(width), justify="right" if width < 0 else "left", no_wrap=True)
        else:
            table.add_column(heading)
    return table


def _inks(colours: Colours) -> tuple[str, str]:
    """Of what adds, and of what takes away."""
    return colours["primary"], colours["warning"]
