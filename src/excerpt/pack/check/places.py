"""Places of the vault that an answer cites in its text, such as `Sync.md:8-12`, as numbered sources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from excerpt.base.errors import NotFoundError
from excerpt.base.patterns import lazy_pattern
from excerpt.pack.formats.pack_format import PackFile, PackSource

MAX_SOURCES = 999
"""The most numbers of sources: a citation has at most three digits."""
_MAX_MISSING = 100  # places that are looked for in vain: each costs a search for similar names
_MAX_CHARACTERS = 2_000_000  # of all sources
_PLACE_END = lazy_pattern(r":(?P<first>\d{1,7})(?:[-–](?P<last>\d{1,7}))?(?!\w)|#(?P<place>[a-z]+=[\w-]+)")
_CITATION = lazy_pattern(r"[\[【［][\s\d,;–-]+[\]】］]")
_NUMBERS = lazy_pattern(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_NAME_START = lazy_pattern(r"(?:^|(?<=[\s\[(`\"'“‘„«*_,;<>]))\S")
_MAX_NAME_LENGTH = 300  # characters that a path may have before its lines
_BRACKETS = {"[": "]", "(": ")", "`": "`", "<": ">", "【": "】"}


@dataclass(frozen=True, slots=True)
class MissingPlace:
    """A location that an answer, or its list of sources, names and that is not in the vault, with the reason.

    `line` is the line of the answer; 0 for a location in the list.
    """

    line: int
    text: str
    reason: str


def number_places(
    answer: str, sources: Sequence[str], paths: Collection[str], read: Callable[[str], PackSource], prefix: str = ""
) -> tuple[str, PackFile, tuple[MissingPlace, ...]]:
    """Return `answer` with numbers such as `[3]` for the locations it cites, the pack of these, and missing locations.

    The first source of the pack is `sources[0]`, which the answer cites as `[1]`, and so on; locations in the text get
    numbers that the answer does not use. `paths` are those of all notes; `read` returns the lines of a place as a
    source, or raises NotFoundError. Paths may begin with `prefix`, as among several vaults.
    """
    numbered: dict[int, PackSource] = {}
    missing: list[MissingPlace] = []
    for number, source in enumerate(sources[:MAX_SOURCES], 1):
        try:
            numbered[number] = replace(read(source.removeprefix(prefix)), number=number)
        except NotFoundError as error:
            missing.append(MissingPlace(0, source, error.message))
    ranges = [match for citation in _CITATION.findall(answer) for match in _NUMBERS.findall(citation)]
    used = {number for first, last in ranges for number in range(int(first), min(int(last or first), MAX_SOURCES) + 1)}
    free = (number for number in range(len(sources) + 1, MAX_SOURCES + 1) if number not in used)
    numbers: dict[str, int] = {}
    reasons: dict[str, str] = {}
    characters = sum(len(source.text) for source in numbered.values())

    def cite(place: str) -> str:
        """Return the citation for a location, such as `[3]`; "" if it is missing, with the reason in `reasons`."""
        nonlocal characters
        if place not in numbers and place not in reasons:
            number = next(free, 0) if len(reasons) < _MAX_MISSING and characters < _MAX_CHARACTERS else 0
            try:
                source = read(place.removeprefix(prefix)) if number else None
            except NotFoundError as error:
                reasons[place] = error.message
            else:
                if source is None:
                    return ""
                characters += len(source.text)
                numbers[place], numbered[number] = number, replace(source, number=number)
        return f"[{numbers[place]}]" if place in numbers else ""

    suffixes = {PurePosixPath(path).suffix for path in paths} - {""}

    def is_path(name: str) -> bool:
        return name.removeprefix(prefix) in paths

    lines = []
    for line_number, line in enumerate(answer.split("\n"), 1):
        parts, end = [], 0
        for start, stop, place in _find_places(line, is_path, suffixes):
            if start < end:
                continue
            citation = cite(place)
            if not citation:
                reason = reasons.get(place, "The answer has too many citations to check this one.")
                missing.append(MissingPlace(line_number, place, reason))
            parts += [line[end:start], citation]
            end = stop
        lines.append("".join((*parts, line[end:])))
    return "\n".join(lines), PackFile(tuple(numbered.values())), tuple(missing)


def _find_places(
    line: str, is_path: Callable[[str], bool], suffixes: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the text of each location (`Sync.md:8-12`) in a line, with brackets around it.

    The name of a place is the longest text before its lines that is the path of a note, else a word that looks like
    one.
    """
    for match in _PLACE_END.finditer(line):
        first = max(match.start() - _MAX_NAME_LENGTH, 0)
        starts = [first + each.start() for each in _NAME_START.finditer(line[first : match.start()])]
        known = next((start for start in starts if is_path(line[start : match.start()])), None)
        if known is None:
            likely = (start for start in reversed(starts) if _is_path_like(line[start : match.start()], suffixes))
            known = next(likely, None)
        if known is None:
            continue
        start, end = known, match.end()
        while start and _BRACKETS.get(line[start - 1], "") == line[end : end + 1] != "":
            start, end = start - 1, end + 1
        yield start, end, line[known : match.end()].replace("–", "-")


def _is_path_like(name: str, suffixes: Collection[str]) -> bool:
    return " " not in name and PurePosixPath(name).suffix in suffixes
