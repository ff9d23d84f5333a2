"""Formatting of text, numbers, lines and times for display.

Characters that a terminal would interpret are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import cache
from pathlib import Path

from excerpt.base.kinds import Confidence

# Characters that a terminal would interpret are made visible, so that text of a vault can be printed.
#
# Each is replaced by one character, so that spans into the text stay valid. Zero-width joiners are kept: Persian and
# emoji need them, and they neither move the cursor nor reorder text.

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_C0_REPLACEMENTS = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\N{SYMBOL FOR DELETE}"}
_OTHER_CONTROL_CODES = (
    range(0x80, 0xA0),  # C1: CSI, OSC and others as single characters
    (0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x2060, 0xFEFF),  # marks of direction and width, line separators
    range(0x202A, 0x202F),  # bidi embeddings and overrides
    range(0x2066, 0x2070),  # bidi isolates, deprecated format characters
    range(0xD800, 0xE000),  # lone surrogates: file names that are not UTF-8
    range(0xFFF9, 0xFFFC),  # interlinear annotation
    range(0xE0000, 0xE0080),  # tags
)
_LINE_TRANSLATION = _C0_REPLACEMENTS | {code: _REPLACEMENT for codes in _OTHER_CONTROL_CODES for code in codes}
_TEXT_TRANSLATION = {code: shown for code, shown in _LINE_TRANSLATION.items() if code not in (0x09, 0x0A)}


def visible(text: str) -> str:
    """Return `text` with control characters, except tab and line feed, replaced by visible ones."""
    return text if text.isascii() and text.isprintable() else text.translate(_TEXT_TRANSLATION)


def format_confidence(confidence: Confidence) -> str:
    """Return the word for how likely a result answers its query, as screen and commands print it."""
    return "no answer" if confidence is Confidence.NOTHING else confidence.value


def visible_line(text: str) -> str:
    """Return `text` with all control characters, also tab and line feed, replaced by visible ones."""
    return text if text.isascii() and text.isprintable() else text.translate(_LINE_TRANSLATION)


def control_character_set() -> str:
    """Return the characters above ASCII, and DEL, that `visible_line` replaces, as the inside of a regex set."""
    return "\x7f" + "".join(f"{chr(codes[0])}-{chr(codes[-1])}" for codes in _replaced_ranges())


def visible_json(text: str) -> str:
    """Return JSON equal to the JSON in `text`, with all characters that `visible_line` replaces escaped."""
    return _json_escape_pattern().sub(_escape_character, text)


@cache
def _json_escape_pattern() -> re.Pattern[str]:
    """Return the regular expression for characters to escape; JSON itself escapes those below a space."""
    return re.compile(f"[{control_character_set()}]")


def _replaced_ranges() -> Iterator[Sequence[int]]:
    for codes in _OTHER_CONTROL_CODES:
        yield from [codes] if isinstance(codes, range) else ([code] for code in codes)


def _escape_character(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def code_span(text: str) -> str:
    """Return `text` on one line as a code span of Markdown, with as many backticks as needed."""
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{space}{visible_line(text)}{space}{marks}"


def extend_fence(fence: str, text: str) -> str:
    """Return `fence` (a repeated character such as "```"), made longer than any such run in `text`."""
    if fence not in text:
        return fence
    return fence[0] * max(len(run) + 1 for run in re.findall(f"{fence}+", text))


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun, `1 note` or `2,000 notes`; `plural` defaults to the singular with "s"."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def count_notes(paths: Sequence[str], verb: str = "were") -> str:
    """Return the number of `paths` with a verb, "were" or "are": "1 note was" or "2 notes were"."""
    singular = {"were": "was", "are": "is"}
    return f"{format_count(len(paths), 'note')} {singular[verb] if len(paths) == 1 else verb}"


def format_names(names: Sequence[str], limit: int = 3) -> str:
    """Return the first `limit` names in one line, and how many more there are: `a, b, c and 2 more`."""
    more = len(names) - limit
    return ", ".join(map(visible_line, names[:limit])) + (f" and {more:,} more" if more > 0 else "")


def format_percent(share: float, separator: str = " ") -> str:
    """Return a share (0 to 1) as `36 %`; `0 %` and `100 %` only for exactly 0 and 1, else `<1 %` and `99 %`.

    `separator` is written between the number and the sign.
    """
    rounded = f"{min(share, 0.99) if share < 1 else share:.0%}"
    return ("<1%" if rounded == "0%" and share else rounded).replace("%", f"{separator}%")


def line_range(first: int, last: int, dash: str = "-") -> str:
    """Return a range of lines (1-based, inclusive) as `8-12`, or `8` for one line; `dash` joins its ends."""
    return str(first) if first == last else f"{first}{dash}{last}"


def format_lines(first: int, last: int, dash: str = "-") -> str:
    """Return a range of lines as words: `lines 8-12`, or `line 8`."""
    return f"line{'' if first == last else 's'} {line_range(first, last, dash)}"


def format_source_location(path: str, first: int, last: int, place: str = "") -> str:
    """Return the location of a passage: `note.md:8-12`, or `book.pdf#page=12` if it has a `place`."""
    return visible_line(f"{path}#{place}" if place else f"{path}:{line_range(first, last)}")


def name_locations(locations: Sequence[tuple[str, int, int]]) -> str:
    """Return the first locations (path, first and last line) and how many more there are: `a.md:3-4 and 2 more`."""
    return format_names([format_source_location(*each) for each in locations])


# --- links of terminals -----------------------------------------------------------------------------------------------

_TERMINALS_WITHOUT_LINKS = frozenset({"dumb", "linux"})


def knows_links(environment: Mapping[str, str]) -> bool:
    """Return whether links may be written to the user's terminal: most that do not know them ignore them."""
    return not environment.get("NO_COLOR") and environment.get("TERM") not in _TERMINALS_WITHOUT_LINKS


def file_address(file: Path) -> str:
    """Return the address of a file for a link: ASCII without control characters, whatever the name of the file is."""
    return file.absolute().as_uri()


def link_sequence(address: str) -> str:
    """Return the sequence (OSC 8) after which a terminal takes text for a link to `address`, with "" for no link."""
    return f"\x1b]8;;{address}\x1b\\"


# --- times ------------------------------------------------------------------------------------------------------------


def local_time(stamp: str) -> str:
    """Return an ISO 8601 time as `2026-03-01 14:05` in local time; other text is returned unchanged."""
    try:
        local = datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    with suppress(OverflowError, OSError, ValueError):  # a year outside the range of this system
        local = local.astimezone()
    return local.replace(tzinfo=None).isoformat(" ", "minutes")


def local_day(stamp: str) -> str:
    """Return the day of an ISO 8601 time, in local time, as `2026-03-01`."""
    return local_time(stamp)[:10]


def format_age(timestamp: float, now: float) -> str:
    """Return the age of `timestamp` in at most four characters: `now`, `7h`, `9d`, `6w`, `14mo`, `3y`.

    `now` means under an hour. `timestamp` and `now` are in seconds since 1970.
    """
    hours = max(0, int(now - timestamp)) // 3600
    if hours < 1:
        return "now"
    return f"{hours}h" if hours < 48 else format_days(hours // 24)


def format_days(days: int) -> str:
    """Return a number of days in at most four characters: `9d`, `6w`, `14mo`, `3y`."""
    if days < 14:
        return f"{days}d"
    if days < 63:
        return f"{days // 7}w"
    if days < 730:
        return f"{days // 30}mo"
    return f"{min(days // 365, 999)}y"


def format_day_span(first: date, last: date, today: date) -> str:
    """Return a span of days, such as `16–22 Nov`, with the year unless that is the year of `today`.

    `date.min` and `date.max` mean no bound.
    """
    year = "" if first.year == last.year == today.year else f" {last.year}"
    if first == date.min or last == date.max:
        bound, word = (last, "until") if first == date.min else (first, "since")
        return f"{word} {bound.day} {bound:%b}{'' if bound.year == today.year else f' {bound.year}'}"
    end = f"{last.day} {last:%b}{year}"
    if first == last:
        return end
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{end}"
    return f"{first.day} {first:%b}{'' if first.year == last.year else f' {first.year}'} – {end}"


def format_duration(seconds: float) -> str:
    """Return an estimated duration in rounded words, such as `about 20 s`."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {round(seconds / 5) * 5} s"
    if seconds < 100 * 60:
        return f"about {max(1, round(seconds / 60)):,} min"
    return f"about {round(seconds / 3600):,} hours"


def title_and_headings(title: str, heading_path: Sequence[str]) -> str:
    """Return `Title › Heading › Subheading`, without a first heading that repeats the title."""
    return " › ".join((title, *headings_below(title, heading_path)))


def headings_below(title: str, heading_path: Sequence[str]) -> Sequence[str]:
    """Return `heading_path` without its first heading if that repeats the title."""
    return heading_path[1:] if heading_path and heading_path[0] == title else heading_path
