"""A pack as it was written to a file -> its sources: the way back of render.py.

A pack file comes from outside and may be hostile. What is read of it is text and numbers: whether a path is that of a
note is for the index to say, and nothing is opened by it.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from excerpt.errors import ExcerptError
from excerpt.pack.render import CUT
from excerpt.text.fragments import digest_of_text
from excerpt.text.markdown import normalise_newlines


class PackUnreadableError(ExcerptError):
    """What was given as a pack is none that excerpt wrote."""

    title = "The pack cannot be read"
    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(message, "Make one with `excerpt pack QUERY > PACK.md`, or with --format json.")


@dataclass(frozen=True, slots=True)
class Source:
    """What a pack gives under `[number]`. `path` is as it was shown: controls in it may stand as signs. `digest` is
    what the pack says of the text, in as many digits as it shows; "" where it says nothing. `cut_above` and `cut_below`
    say that it may begin or end within a line."""

    number: int
    path: str
    heading: str
    line_start: int
    line_end: int
    text: str
    digest: str = ""
    cut_above: bool = False
    cut_below: bool = False

    @property
    def intact(self) -> bool:
        """Whether the text is the one that its digest was made of."""
        return digest_of_text(self.text).startswith(self.digest)


@dataclass(frozen=True, slots=True)
class PackFile:
    """The sources of a pack, in their order, and the question that it was made for, if it holds one."""

    sources: tuple[Source, ...]
    question: str = ""

    def source(self, number: int) -> Source | None:
        return next((source for source in self.sources if source.number == number), None)


def read_pack(text: str) -> PackFile:
    """The pack in `text`, as Markdown, plain text, XML or JSON. Raises PackUnreadableError."""
    text = normalise_newlines(text.removeprefix("\ufeff"))
    begin = text.lstrip()[:1]
    pack = _from_json(text) if begin == "{" else _from_xml(text) if begin == "<" else _from_lines(text.split("\n"))
    if not pack.sources:
        raise PackUnreadableError("There is no source in the pack that could be checked.")
    twice = [number for number, count in Counter(source.number for source in pack.sources).items() if count > 1]
    if twice:
        raise PackUnreadableError(f"The pack has two sources [{twice[0]}].")
    return pack


# --- JSON -------------------------------------------------------------------------------------------------------------

_Positive = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class _JsonPack:
    path: str
    line_start: _Positive
    line_end: _Positive
    text: str
    title: str = ""
    heading_path: tuple[str, ...] = ()
    digest: str = ""
    cut_above: bool = False
    cut_below: bool = False


@dataclass(frozen=True, slots=True)
class _JsonFile:
    packs: tuple[_JsonPack, ...]
    query: str = ""


def _from_json(text: str) -> PackFile:
    try:
        read = msgspec.convert(json.loads(text), _JsonFile)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise PackUnreadableError(f"The pack looks like JSON but is no pack: {error}.") from error
    sources = (
        Source(
            number=number,
            path=pack.path,
            heading=" › ".join(pack.heading_path if pack.heading_path[:1] == (pack.title,) else _titles(pack)),
            line_start=pack.line_start,
            line_end=pack.line_end,
            text=pack.text,
            digest=pack.digest,
            cut_above=pack.cut_above,
            cut_below=pack.cut_below,
        )
        for number, pack in enumerate(read.packs, 1)
    )
    return PackFile(tuple(sources), read.query)


def _titles(pack: _JsonPack) -> Iterator[str]:
    return filter(None, (pack.title, *pack.heading_path))


# --- Markdown and plain text ------------------------------------------------------------------------------------------

_HEAD = re.compile(r"(?:## )?\[(\d{1,6})\] (.*)")
# A path may look like any of this; what follows it does not, so the longest path that leaves the rest is the one.
_PLACE = re.compile(r"From (.*):(\d{1,9})(?:-(\d{1,9}))?(?:, modified [\d-]{1,10})?, digest ([0-9a-f]{1,16})")
_BORDER = re.compile(r"(?:`{3,}|={5,})")
_QUESTION = "Question: "
_LINES_BETWEEN = 4  # at most, from the place to the border: blank ones, and the sign that something was cut


def _from_lines(lines: Sequence[str]) -> PackFile:
    """The sources between their borders. What stands between two borders is text, whatever it looks like."""
    sources: list[Source] = []
    questions: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        head = _HEAD.fullmatch(line)
        place = _PLACE.fullmatch(lines[at + 1]) if head and at + 1 < len(lines) else None
        at += 1
        if head and place:
            number, heading = int(head[1]), head[2]
            above = at + 1
            first, last, at = _text_lines(lines, above, number)
            begin = int(place[2])
            text = "\n".join(lines[first:last])
            cut = CUT in lines[above:first], CUT in lines[at : at + 2]
            sources.append(Source(number, place[1], heading, begin, int(place[3] or begin), text, place[4], *cut))
        elif line.startswith(_QUESTION):
            questions.append(line.removeprefix(_QUESTION))
    return PackFile(tuple(sources), "\n".join(questions))


def _text_lines(lines: Sequence[str], at: int, number: int) -> tuple[int, int, int]:
    """Where the text of a source begins and ends, and where to read on."""
    for opened in range(at, min(at + _LINES_BETWEEN, len(lines))):
        if _BORDER.fullmatch(lines[opened]):
            for closed in range(opened + 1, len(lines)):
                if lines[closed] == lines[opened]:
                    return opened + 1, closed, closed + 1
            raise PackUnreadableError(f"The text of source [{number}] does not end: the pack is cut off.")
    raise PackUnreadableError(f"The text of source [{number}] is missing.")


# --- XML --------------------------------------------------------------------------------------------------------------


def _from_xml(text: str) -> PackFile:
    # A document type is the door for entities that grow or that name files; a pack has none.
    if "<!" in text:
        raise PackUnreadableError("The pack looks like XML but has declarations, which no pack has.")
    try:
        root = ET.fromstring(text)
        sources = tuple(map(_xml_source, root.iter("document")))
    except (ET.ParseError, ValueError) as error:
        raise PackUnreadableError(f"The pack looks like XML but is no pack: {error}.") from error
    return PackFile(sources, "\n".join(map(_xml_text, root.iter("question"))))


def _xml_source(document: ET.Element) -> Source:
    part = {child.tag: child for child in document}
    if missing := {"source", "lines", "document_content"} - set(part):
        raise ValueError(f"a document without {min(missing)}")
    first, _, last = _xml_text(part["lines"]).partition("-")
    cut = part["document_content"].get("cut", "").split()
    return Source(
        number=int(document.get("index", "")),
        path=_xml_text(part["source"]),
        heading=_xml_text(part["heading_path"]) if "heading_path" in part else "",
        line_start=int(first),
        line_end=int(last or first),
        text=_xml_text(part["document_content"]),
        digest=_xml_text(part["digest"]) if "digest" in part else "",
        cut_above="above" in cut,
        cut_below="below" in cut,
    )


def _xml_text(element: ET.Element) -> str:
    """The text in an element; a `char` stands for what XML cannot write."""
    parts = [element.text or ""]
    for child in element:
        parts += [chr(int(child.get("code", ""), 16)) if child.tag == "char" else "", child.tail or ""]
    return "".join(parts)
