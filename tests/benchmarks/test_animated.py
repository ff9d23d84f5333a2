"""Tests of animated SVGs: no duplicate frames, each frame shown for its time, the last one without animation."""

from __future__ import annotations

import re
from io import StringIO
from xml.etree import ElementTree

from benchmarks.animated import Frame, animated
from rich.console import Console


def picture(*lines: str) -> str:
    """Return an SVG such as the app exports."""
    console = Console(record=True, width=20, file=StringIO(), force_terminal=True)
    for line in lines:
        console.print(line)
    return re.sub(r"terminal-\d+-", "terminal-", console.export_svg(title="x"))


FRAMES = [
    Frame(picture("[red]same[/]", "one"), 1, "", "first <b>"),
    Frame(picture("[red]same[/]", "[blue]two[/]"), 3, "^y", "then"),
]


def test_constant_elements_appear_once_and_changing_ones_at_their_time() -> None:
    svg = animated(FRAMES)
    assert [svg.count(f">{word}<") for word in ("same", "one", "two")] == [1, 1, 1]
    (first,) = re.findall(r'<g class="(s\d+)">(?:(?!</g>).)*>one<', svg)
    (second,) = re.findall(r'<g class="(s\d+)">(?:(?!</g>).)*>two<', svg)
    assert f"@keyframes {first} {{ 0.00% {{ visibility: visible }} 25.00% {{ visibility: hidden }} }}" in svg
    assert f"@keyframes {second} {{ 0.00% {{ visibility: hidden }} 25.00% {{ visibility: visible }} }}" in svg
    assert f".{first} {{ visibility: hidden; animation: {first} 4s step-end infinite }}" in svg
    assert f".{second} {{ visibility: visible; animation: {second} 4s step-end infinite }}" in svg


def test_the_picture_is_well_formed_and_has_no_script_or_external_resource() -> None:
    svg = animated(FRAMES)
    ElementTree.fromstring(svg)
    assert "url(http" not in svg.replace('"', "")
    assert "<script" not in svg
    assert "first &lt;b&gt;" in svg


def test_a_style_keeps_its_colour_in_every_frame() -> None:
    svg = animated(FRAMES)
    for word, colour in (("same", "#cc555a"), ("two", "#608ab1")):
        (name,) = re.findall(rf'class="(c\d+)"[^>]*>{word}<', svg)
        assert f".{name} {{ fill: {colour} }}" in svg
