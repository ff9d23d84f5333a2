"""Overrides of private parts of Textual: what each gains, which change breaks it, and which makes it needless.

The version of Textual is pinned. Overrides for a single widget are in the widget's module (`LineView`, `Field`,
`Palette`). See docs/design/screen.md.

- `DirtyRegionCompositor` renders only the lines that are drawn: a key takes the event loop 44 ms of CPU instead of 55
  on a busy machine, its frames 22 instead of 35. It also redraws where a widget has come, gone or moved, which Textual
  sometimes forgets. Breaks with `Compositor._render_chops`; a test compares it with Textual's drawing.
  Needless if Textual renders only dirty parts; `full_map`, with tools/textual/map-read-before-layout.patch.
- `ChangedCellsUpdate` writes only what the terminal does not show yet: 19 kB a letter instead of 56 at 140x45. Breaks
  with the shape of `ChopsUpdate`, `LayoutUpdate` and `InlineUpdate`; the same test reads what is written through a
  terminal. Needless if Textual writes only what differs from the frame before.
- `LowLatencyScreen` draws after 8 ms instead of 17, and computes styles once before the first frame instead of thrice.
  Breaks with `Screen._update_timer`, `_compose` and `_on_screen_resume`: slower, not wrong.
  Needless if the frame interval is a setting, and styles are computed once.
- `limit_colours` chooses the nearest of 256 colours. rich draws a dark slate as navy, and in the shipped themes brings
  48 pairs of text and background below a contrast of 4.5, this 8. A colour takes 0.08 ms, once. Needless
  if rich compares colours by lightness too.
- `patch_parser` reads an escape and a character as alt with that character, and the terminal's report of its background
  colour, which Textual would type into the focused field. Breaks with `XTermParser._sequence_to_key_events` and
  `constants.ESCAPE_DELAY`; tests feed such keys and reports. Needless if Textual reads both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import cast
from weakref import WeakKeyDictionary

from rich.color import Color, ColorSystem, ColorType
from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from textual import constants, events
from textual._compositor import ChopsUpdate, Compositor, CompositorMap, CompositorUpdate, InlineUpdate, LayoutUpdate
from textual._xterm_parser import XTermParser
from textual.color import Color as TextualColor
from textual.color import Lab, rgb_to_lab
from textual.geometry import Region
from textual.keys import Keys
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer

from excerpt.base.patterns import lazy_pattern
from excerpt.text.display import link_sequence

FRAME_SECONDS = 1 / 120
"""Minimum seconds between two frames."""
_NULL_STYLE = Style.null()


class DirtyRegionCompositor(Compositor):
    """A compositor that renders only areas that must be redrawn and are not covered by another widget.

    Textual's compositor renders all lines of every widget: at 140x45, ten containers of forty lines for one letter.
    """

    _dirty_columns: dict[int, list[tuple[int, int]]] | None = None
    """Spans of columns to redraw (start, end exclusive), by line; None to redraw the whole screen."""

    @property
    def full_map(self) -> CompositorMap:
        """Position of every widget. Those that have come, gone or moved are marked to be redrawn.

        Textual computes the map again when it is read, also between a change and the layout after it. The layout then
        sees no difference, and a notice that has ended would stay on the screen.
        """
        before, after = self._full_map, super().full_map
        if after is not before:
            changed = (geometry for _, geometry in before.items() ^ after.items())
            self._dirty_regions.update(filter(None, (each.clip.intersection(each.region) for each in changed)))
        return after

    def render_partial_update(self) -> ChopsUpdate | None:
        self._dirty_columns = {}
        for y, start, end in self._regions_to_spans(self._dirty_regions):
            self._dirty_columns.setdefault(y, []).append((start, end))
        try:
            return super().render_partial_update()
        finally:
            self._dirty_columns = None

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        cuts = self.cuts
        chops: list[dict[int, Strip | None]] = [dict.fromkeys(line[:-1]) for line in cuts]
        missing = {y: self._missing_columns(y) for y in crop.line_range if is_rendered_line(y)}
        for widget, (region, clip) in self.visible_widgets.items():
            if not missing:
                break
            visible_region = region.intersection(clip)
            left, right = visible_region.column_span
            missing_lines = [y for y in visible_region.line_range if any(left <= x < right for x in missing.get(y, ()))]
            for first, last in _consecutive_runs(missing_lines):
                lines = Region(left - region.x, first - region.y, visible_region.width, last - first + 1)
                for y, strip in enumerate(widget.render_lines(lines), first):
                    inside = [x for x in cuts[y] if left <= x <= right]
                    for x, part in zip(inside, _divide_strip(strip, [x - left for x in inside[1:]]), strict=False):
                        if x in missing[y]:
                            chops[y][x] = part
                            missing[y].discard(x)
                    if not missing[y]:
                        del missing[y]
        return cast("Sequence[Mapping[int, Strip]]", chops)

    def _missing_columns(self, y: int) -> set[int]:
        """Return the columns at which the parts of line `y` begin that must be redrawn."""
        cuts = self.cuts[y]
        if self._dirty_columns is None:
            return set(cuts[:-1])
        spans = self._dirty_columns.get(y, ())
        return {x for x, end in pairwise(cuts) if any(x < span_end and end > start for start, span_end in spans)}


def _divide_strip(strip: Strip, cuts: Sequence[int]) -> Sequence[Strip]:
    """Return the parts of a strip that end at the columns `cuts`.

    A strip that is a single part is returned as it is. Textual's `divide` would store it in its own cache, a reference
    cycle that only the garbage collector frees: some 35,000 objects in 35 keys, collected while a frame waits.
    """
    return (strip,) if cuts[0] == strip.cell_length else strip.divide(cuts)


def _consecutive_runs(lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each run of consecutive line numbers."""
    first = 0
    for at, line in enumerate(lines, 1):
        if at == len(lines) or lines[at] != line + 1:
            yield lines[first], line
            first = at


class LowLatencyScreen(Screen[None]):
    """A screen that draws sooner than Textual's: with a shorter frame interval and `DirtyRegionCompositor`."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = DirtyRegionCompositor()
        self._frame_timer: Timer | None = None
        self._has_resumed = False

    @property
    def _update_timer(self) -> Timer:
        if self._frame_timer is None:
            self._frame_timer = self.set_interval(FRAME_SECONDS, self._on_timer_update, name="frames", pause=True)
        return self._frame_timer

    async def _compose(self) -> None:
        """Set the CSS classes for the window's size before styles are computed, so that they are computed once."""
        size = self.app.size
        across, down = self.app.HORIZONTAL_BREAKPOINTS or [], self.app.VERTICAL_BREAKPOINTS or []
        classes = self._get_breakpoint_classes(size.width, across) | self._get_breakpoint_classes(size.height, down)
        self.update_classes({name: name in classes for _, name in (*across, *down)}, update=False)
        await super()._compose()

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        """Update only the styles around the focused widget, instead of all styles, before the first frame.

        The other styles were computed when the widgets were mounted, and do not depend on the focus.
        """
        if not self._has_resumed:
            self._has_resumed = True
            event.refresh_styles = False
            if self.focused is not None and self.focused.parent is not None:
                self.app.stylesheet.update(self.focused.parent)


class TerminalContent:
    """What the terminal shows: the strips written to it, by line and first column."""

    def __init__(self) -> None:
        self._lines: dict[int, dict[int, Strip]] = {}

    def record_part(self, y: int, x: int, part: Strip) -> Strip | None:
        """Record that line `y` shows `part` from column `x` on.

        Return the previous part if it covered exactly the same cells, else None.
        """
        line = self._lines.setdefault(y, {})
        previous = line.get(x)
        if previous is None or previous.cell_length != part.cell_length:
            previous = None
            for column in [at for at, one in line.items() if at < x + part.cell_length and x < at + one.cell_length]:
                del line[column]
        line[x] = part
        return previous


class ChangedCellsUpdate(CompositorUpdate):
    """A screen update that writes only the cells and colours of a frame that the terminal does not show yet."""

    def __init__(self, frame: ChopsUpdate | LayoutUpdate | InlineUpdate, terminal_content: TerminalContent) -> None:
        self._frame = frame
        self._terminal_content = terminal_content

    def render_segments(self, console: Console) -> str:
        """Return the text to write to the terminal.

        Only cells that differ from the frame written before are included, except in a full frame, which has every
        cell, because the terminal may then show something else than the frame before. A frame of an app that has only
        some rows of the terminal begins and ends with the cursor in its first cell.
        """
        colours = console._color_system or ColorSystem.TRUECOLOR
        written: list[str] = []
        style = _NULL_STYLE
        row = 0
        for y, x, part in self._parts():
            previous = self._terminal_content.record_part(y, x, part)
            if previous is not None and not isinstance(self._frame, LayoutUpdate):
                skipped_cells, segments = _changed_segments(previous, part)
            else:
                skipped_cells, segments = 0, list(part)
            if segments and isinstance(self._frame, InlineUpdate):
                written.append(f"\r{Control.move(x + skipped_cells, y - row).segment.text}")
                row = y
            elif segments:
                written.append(Control.move_to(x + skipped_cells, y).segment.text)
            for segment in segments:
                last_style, style = style, segment.style or _NULL_STYLE
                if style is not last_style:
                    written.append(_style_change_sequence(last_style, style, colours))
                written.append(segment.text)
        written.append(_style_change_sequence(style, _NULL_STYLE, colours))
        if isinstance(self._frame, InlineUpdate) and written != [""]:
            written.append(f"\r{Control.move(0, -row).segment.text}")
        return "".join(written)

    def _parts(self) -> Iterator[tuple[int, int, Strip]]:
        """Yield line, first column and content of each part of the frame."""
        frame = self._frame
        if isinstance(frame, ChopsUpdate):
            for y, start, end in frame.spans:
                for x, part in frame.chops[y].items():
                    if part is not None and x < end and x + part.cell_length > start:
                        yield y, x, part
        elif isinstance(frame, InlineUpdate):
            yield from ((y, 0, strip) for y, strip in enumerate(frame.strips))
        else:
            for y, line in enumerate(frame.strips, frame.region.y):
                x = frame.region.x
                for part in line:
                    yield y, x, part
                    x += part.cell_length


def _changed_segments(old_part: Strip, new_part: Strip) -> tuple[int, Sequence[Segment]]:
    """Return the number of unchanged cells at the start of a part, and its segments from there to the last change.

    A part with characters wider or narrower than one cell is returned whole, because terminals disagree on widths.
    """
    if old_part is new_part:
        return 0, ()
    old, new = list(old_part), list(new_part)
    if old == new:
        return 0, ()
    if any(len(part.text) != part.cell_length for part in (old_part, new_part)):
        return 0, new
    equal_start = _count_equal(old, new)
    equal_end = _count_equal(old[equal_start:][::-1], new[equal_start:][::-1])
    return sum(len(segment.text) for segment in new[:equal_start]), new[equal_start : len(new) - equal_end]


def _count_equal(old: Sequence[Segment], new: Sequence[Segment]) -> int:
    """Return the number of equal leading segments."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


@lru_cache(maxsize=16384)
def _style_change_sequence(old_style: Style, new_style: Style, colours: ColorSystem) -> str:
    """Return the escape sequence that changes the terminal's style from `old_style` to `new_style`.

    If only colours differ, it sets these colours, else the whole style. It is "" if both styles look the same, for
    example if they differ only in their `meta` data. A link of the style to a file is a link of the terminal.
    """
    if old_style.link != new_style.link:
        link = link_sequence(new_style.link or "")
        return link + _style_change_sequence(old_style.update_link(new_style.link), new_style, colours)
    old_style, new_style = limit_colours(old_style, colours), limit_colours(new_style, colours)
    if old_style == new_style:
        return ""
    if not new_style or old_style.without_color != new_style.without_color:
        return f"\x1b[0;{ansi}m" if (ansi := Strip.render_ansi(new_style, colours)) else "\x1b[0m"
    codes: list[str] = []
    for old, new, is_text in ((old_style.color, new_style.color, True), (old_style.bgcolor, new_style.bgcolor, False)):
        if old != new:
            codes += new.downgrade(colours).get_ansi_codes(is_text) if new else ("39" if is_text else "49",)
    return f"\x1b[{';'.join(codes)}m" if codes else ""  # without codes it would be a reset


def limit_colours(style: Style, colours: ColorSystem) -> Style:
    """Return the style in the nearest of 256 colours if the terminal has no more, else unchanged."""
    if colours is not ColorSystem.EIGHT_BIT:
        return style
    color, background = (
        _nearest_fixed_colour(colour) if colour is not None and colour.type is ColorType.TRUECOLOR else None
        for colour in (style.color, style.bgcolor)
    )
    return style + Style.from_color(color, background)


@lru_cache(maxsize=1024)
def _nearest_fixed_colour(colour: Color) -> Color:
    """Return the nearest colour of the cube and the greys of 256 colours; the user may have changed the first 16.

    Lightness counts twice, because the contrast of a text depends on it.
    """
    wanted = _to_lab(colour)
    number = min(
        (
            4 * (each.L - wanted.L) ** 2 + (each.a - wanted.a) ** 2 + (each.b - wanted.b) ** 2,
            number,
        )
        for number, each in _fixed_colours().items()
    )[1]
    return Color.from_ansi(number)


@lru_cache(maxsize=1)
def _fixed_colours() -> Mapping[int, Lab]:
    return {number: _to_lab(Color.from_ansi(number)) for number in range(16, 256)}


def _to_lab(colour: Color) -> Lab:
    return rgb_to_lab(TextualColor(*colour.get_truecolor()))


_ESCAPE = "\x1b"
_SEQUENCE_STARTS = frozenset("[O]P_^X\x1b")
"""Characters which, after an escape character, begin a longer sequence."""

_textual_key_events = XTermParser._sequence_to_key_events


def _parse_sequence(parser: XTermParser, sequence: str, alt: bool = False) -> Iterable[events.Key | BackgroundReported]:
    """Return the tokens of a terminal sequence; escape and a character are the key alt with that character.

    Escape and a control character are two keys, pressed at nearly the same time: `esc` `^t`.
    """
    report = _parse_background_report(parser, sequence)
    if report is not None:
        return report
    keys = list(_textual_key_events(parser, sequence, alt))
    if not keys and len(sequence) == 2 and sequence[0] == _ESCAPE and sequence[1] not in _SEQUENCE_STARTS:
        alt, keys = True, list(_textual_key_events(parser, sequence[1], True))
        if sequence[1] < " " and sequence[1] not in "\t\n\r":
            keys.insert(0, events.Key("escape", _ESCAPE))
    for key in keys:
        if alt and key.is_printable:
            key.character = None
            key.key = key.key if key.key.startswith("alt+") else f"alt+{key.key}"
    return keys


def patch_parser() -> None:
    """Patch Textual's parser for keys with alt, and for reports of the background colour.

    Textual itself waits a tenth of a second for more input after an escape and a character; if the escape of an arrow
    key follows, it types the two as `^c`. It also types the character of an alt key that has no binding.
    """
    setattr(XTermParser, "_sequence_to_key_events", _parse_sequence)  # noqa: B010 - mypy holds a method to be fixed


# --- the background colour of the terminal ----------------------------------------------------------------------------

BACKGROUND_QUESTION = "\x1b]11;?\x1b\\"
"""The sequence (OSC 11) that asks a terminal for its background colour."""
_REPORT_START = "\x1b]11;"
_REPORT_ENDS = frozenset({"\x1b\\", "\\", "\x07"})
"""Ends of a report. The backslash is alone if its escape came so much earlier that it was read as the key."""
_REPORT_PART = lazy_pattern(r"[rgba:/0-9A-Fa-f]{1,25}")
_REPORT = lazy_pattern(r"rgba?:([0-9A-Fa-f]{1,4})/([0-9A-Fa-f]{1,4})/([0-9A-Fa-f]{1,4})(?:/[0-9A-Fa-f]{1,4})?")
_ESCAPE_SECONDS = constants.ESCAPE_DELAY
_REPORT_ESCAPE_SECONDS = max(_ESCAPE_SECONDS, 0.5)
"""Seconds to wait for the rest of a sequence while a report is expected: a slow line may divide it anywhere."""
_open_reports: WeakKeyDictionary[XTermParser, str] = WeakKeyDictionary()
"""The part of a report after its start that each parser has read so far."""


class BackgroundReported(Message):
    """Posted when the terminal has reported its background colour."""

    key = ""
    """Not a key: Textual's parser asks every token for its key, to ignore some."""

    def __init__(self, colour: TextualColor) -> None:
        super().__init__()
        self.colour = colour


def expect_background_report(*, is_expected: bool) -> None:
    """Make parsers wait longer after an escape while a report is expected, for the rest of a divided sequence."""
    seconds = _REPORT_ESCAPE_SECONDS if is_expected else _ESCAPE_SECONDS
    setattr(constants, "ESCAPE_DELAY", seconds)  # noqa: B010 - a Final for mypy


def _parse_background_report(parser: XTermParser, sequence: str) -> Sequence[events.Key | BackgroundReported] | None:
    """Return the tokens of a part of a report of the background colour; None if `sequence` is no part of a report.

    A report is read character by character, so that it may come late and divided at any place.
    """
    if sequence == _REPORT_START:
        _open_reports[parser] = ""
        expect_background_report(is_expected=True)
        return (events.Key(Keys.Ignore, sequence),)
    text = _open_reports.pop(parser, None)
    if text is None:
        return None
    if _REPORT_PART.fullmatch(text + sequence):
        _open_reports[parser] = text + sequence
        return ()
    expect_background_report(is_expected=False)
    if sequence in _REPORT_ENDS:
        match = _REPORT.fullmatch(text)
        return (BackgroundReported(_parse_colour(match)) if match else events.Key(Keys.Ignore, sequence),)
    return None


def _parse_colour(match: re.Match[str]) -> TextualColor:
    """Return the colour of a report, whose parts have one to four hexadecimal digits."""
    return TextualColor(*(round(255 * int(part, 16) / (16 ** len(part) - 1)) for part in match.groups()))
