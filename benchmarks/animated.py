"""Write an animated SVG from several screenshots of the app.

What stays the same from picture to picture is stored once, so that eight pictures take the space of three. Only CSS
animates it: no script, which the sites that render a README remove, and nothing is fetched. If motion is disabled or
not supported, the last picture is shown.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_STYLE = re.compile(r"\.terminal-(r\d+) \{ (.*?) \}")
_SHAPE = re.compile(r'<rect [^>]*shape-rendering="crispEdges"[^>]*/>')
_TEXT = re.compile(r"<text class=\"terminal-r\d+\"[^>]*>.*?</text>", re.S)
_CLASS = re.compile(r'class="terminal-(r\d+)"')
_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_SCREEN = re.compile(r'<g transform="[^"]*" clip-path="url\(#terminal-clip-terminal\)">')
_FONTS = re.compile(r"@font-face \{.*?\n    \}", re.S)
_ROOM = 64
"""Height in SVG units below the pictures, for the captions."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One exported screenshot, the seconds it is shown, and its caption: keys, then words."""

    svg: str
    seconds: float
    keys: str
    words: str


def animated(frames: Sequence[Frame]) -> str:
    """Return one SVG that shows the frames, all of the same size, in a loop."""
    classes: dict[str, str] = {}
    shapes, texts, told = Pieces(), Pieces(), Pieces()
    for number, frame in enumerate(frames):
        styles = dict(_STYLE.findall(frame.svg))
        for pieces, pattern in ((shapes, _SHAPE), (texts, _TEXT)):
            for piece in pattern.findall(frame.svg):
                pieces.add(_restyled(piece, styles, classes), number)
        told.add(_told(frame), number)
    names = {seen: f"s{at}" for at, seen in enumerate(sorted({*shapes.seen(), *texts.seen(), *told.seen()}))}
    rules = (f".{name} {{ {rule} }}" for rule, name in classes.items())
    style = "\n".join((*rules, *_moves(frames, names), _TOLD))
    return "".join(
        (
            _head(frames[0].svg).replace("</style>", f"{style}\n</style>", 1),
            *shapes.groups(names),
            '<g class="terminal-matrix">',
            *texts.groups(names),
            "</g></g>",
            *told.groups(names),
            "</svg>\n",
        )
    )


class Pieces:
    """Pieces of the pictures, each with the numbers of the pictures that contain it."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = {}

    def add(self, piece: str, number: int) -> None:
        numbers = self._numbers.setdefault(piece, [])
        if number not in numbers:
            numbers.append(number)

    def seen(self) -> set[tuple[int, ...]]:
        return {tuple(numbers) for numbers in self._numbers.values()}

    def groups(self, names: Mapping[tuple[int, ...], str]) -> Iterator[str]:
        """Yield one SVG group for each set of pictures, with the pieces that are visible in exactly these."""
        for seen, name in names.items():
            same = [piece for piece, numbers in self._numbers.items() if tuple(numbers) == seen]
            if same:
                yield f'<g class="{name}">{"".join(same)}</g>\n'


_TOLD = ".key { fill: #f1c14e; font: bold 26px monospace } .told { fill: #dfe3ea; font: 26px sans-serif }"


def _restyled(piece: str, styles: Mapping[str, str], classes: dict[str, str]) -> str:
    """Return a piece with its CSS classes renamed, so that a class means the same in all pictures."""

    def renamed(found: re.Match[str]) -> str:
        rule = styles[found[1]].rstrip("; ")
        return f'class="{classes.setdefault(rule, f"c{len(classes)}")}"'

    return _CLASS.sub(renamed, piece)


def _told(frame: Frame) -> str:
    width, height = _size(frame.svg)
    keys = f'<tspan class="key">{html.escape(frame.keys)}</tspan>  ' if frame.keys else ""
    place = f'x="{width / 2:g}" y="{height + _ROOM - 22:g}" text-anchor="middle" xml:space="preserve"'
    return f'<text {place}>{keys}<tspan class="told">{html.escape(frame.words)}</tspan></text>'


def _size(svg: str) -> tuple[float, float]:
    found = _BOX.search(svg)
    assert found is not None
    return float(found[1]), float(found[2])


def _head(svg: str) -> str:
    """Return the SVG before the pieces of a picture, with a background and space for captions below."""
    width, height = _size(svg)
    begin = _SCREEN.search(svg)
    assert begin is not None
    head = _FONTS.sub("", _STYLE.sub("", svg[: begin.end()]))
    ground = '<rect width="100%" height="100%" rx="8" fill="#13151a"/>'
    return _BOX.sub(f'viewBox="0 0 {width:g} {height + _ROOM:g}"', head).replace("</defs>", f"</defs>{ground}", 1)


def _moves(frames: Sequence[Frame], names: Mapping[tuple[int, ...], str]) -> Iterator[str]:
    """Yield the CSS animations that show and hide the groups that are not in all pictures."""
    whole, last = sum(frame.seconds for frame in frames), len(frames) - 1
    for seen, name in names.items():
        if len(seen) == len(frames):
            continue
        at, steps = 0.0, []
        for number, frame in enumerate(frames):
            if number == 0 or (number in seen) != (number - 1 in seen):
                steps.append(f"{at / whole:.2%} {{ visibility: {_visibility(number in seen)} }}")
            at += frame.seconds
        yield f"@keyframes {name} {{ {' '.join(steps)} }}"
        moving = f"animation: {name} {whole:g}s step-end infinite"
        yield f".{name} {{ visibility: {_visibility(last in seen)}; {moving} }}"
    yield "@media (prefers-reduced-motion: reduce) { g { animation: none !important } }"


def _visibility(shown: bool) -> str:
    return "visible" if shown else "hidden"
