"""Readers of org, reStructuredText and AsciiDoc: titles, headings, tags, properties and links.

They read line by line, so that every line keeps its number, and run no directive: of the parsers in packages, docutils
includes files and is not typed, and none for AsciiDoc is maintained.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec import Struct, field

from excerpt.base.kinds import BlockKind, LinkKind
from excerpt.base.model import Block, Link, Note, Section
from excerpt.base.patterns import lazy_pattern
from excerpt.text.languages import detect_language
from excerpt.text.links import SCHEME
from excerpt.text.markdown import normalise_newlines
from excerpt.text.properties import MAX_PROPERTIES, merge_properties
from excerpt.vault.readers import LANGUAGE_LETTERS, ReadOptions, paragraph_blocks
from excerpt.vault.readers.markdown import decode

_MAX_LINKS = 20_000
_MAX_LINE = 5_000
"""Maximum number of characters of a line that is examined for a heading or links."""


_MAX_DEPTH = 12
"""Levels of headings that are told apart; a deeper one counts as of this level."""


class _Document(Struct):
    """A document being read. `headings` are (level, text, first line, last line); `lines` may be blanked."""

    lines: list[str]
    title: str = ""
    headings: list[tuple[int, str, int, int]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    properties: list[tuple[str, str]] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)

    def add_link(self, target: str, number: int, label: str = "", *, is_embed: bool = False) -> None:
        """Add the link on line `number`, unless it leads out of the vault; `id:` is the scheme of ids in org."""
        path, _, anchor = target.strip().partition("#")
        if len(self.links) < _MAX_LINKS and path and (path.startswith("id:") or not SCHEME.match(path)):
            kind = LinkKind.EMBED if is_embed else LinkKind.MARKDOWN
            self.links.append(Link(kind, path, number, heading=anchor or None, text=" ".join(label.split()) or None))

    def add_tags(self, text: str, separator: str) -> None:
        """Add the tags in `text`, which are divided by a pattern."""
        self.tags += [tag for tag in (part.strip().lstrip("#") for part in re.split(separator, text)) if tag]


class _MarkupReader(Struct, frozen=True):
    """Base class of the readers of markup with headings."""

    kind: str = "text"
    version: str = "2"

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Return the text as a note with its sections; see Reader.read. A guessed encoding is a warning of the note."""
        text, warning = decode(data)
        document = _Document(normalise_newlines(text.replace("\0", "")).split("\n"))
        self._parse(document)
        text = "\n".join(document.lines)
        return Note(
            path=path,
            title=document.title or PurePosixPath(path).stem,
            text=text,
            tags=tuple(dict.fromkeys(document.tags)),
            properties=merge_properties({}, document.properties[:MAX_PROPERTIES]),
            language=options.language or detect_language(text[:LANGUAGE_LETTERS]),
            sections=_build_sections(document),
            links=tuple(document.links),
            warnings=(warning,) if warning else (),
        )

    def _parse(self, document: _Document) -> None:
        """Find the title, headings, tags, properties and links of a document, and blank its lines of data."""
        raise NotImplementedError


def _build_sections(document: _Document) -> tuple[Section, ...]:
    lines, headings = document.lines, document.headings
    last = len(lines)
    while last > 1 and not lines[last - 1].strip():
        last -= 1
    begins = [first for _, _, first, _ in headings]
    blocks = tuple(paragraph_blocks(lines, 1, begins[0] - 1 if begins else last))
    if not blocks and not begins:
        blocks = (Block(BlockKind.OTHER, 1, 1),)  # so that a file without text can be found
    sections = [Section(0, 0, "", (), 1, blocks[-1].line_end if blocks else 1, blocks)]
    path: list[tuple[int, str]] = []
    ends = _section_ends(headings, last)
    for at, (level, heading, first, heading_end) in enumerate(headings):
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, heading))
        end = ends[at]
        while end > heading_end and not lines[end - 1].strip():
            end -= 1
        own_end = begins[at + 1] - 1 if at + 1 < len(begins) else last
        own = tuple(paragraph_blocks(lines, heading_end + 1, own_end))
        titles = tuple(title for _, title in path if title)
        sections.append(Section(len(sections), min(level, 6), heading, titles, first, max(end, heading_end), own))
    return tuple(sections)


def _section_ends(headings: Sequence[tuple[int, str, int, int]], last: int) -> list[int]:
    """Return, for each heading, the last line of its section: before the next heading of its level or a higher one."""
    ends = [last] * len(headings)
    following: list[tuple[int, int]] = []  # (level, first line) of the headings below, the nearest last
    for at in range(len(headings) - 1, -1, -1):
        level, _, first, _ = headings[at]
        while following and following[-1][0] > level:
            following.pop()
        if following:
            ends[at] = following[-1][1] - 1
        following.append((level, first))
    return ends


# --- org --------------------------------------------------------------------------------------------------------------

_ORG_STATES = "TODO|DONE|NEXT|WAITING|HOLD|CANCELLED|DOING|LATER|NOW"
_ORG_HEADING = lazy_pattern(
    rf"(\*+)[ \t]+(?:(?:{_ORG_STATES})[ \t]+)?(?:\[#\w\][ \t]*)?(.*?)(?:[ \t]+:([\w@#%:]+):)?[ \t]*"
)
_ORG_KEYWORD = lazy_pattern(r"#\+(\w+):[ \t]*(.*)", re.IGNORECASE)
_ORG_DRAWER = lazy_pattern(r"[ \t]*:([\w-]+):(?:[ \t]+(.*))?")
_ORG_LINK = lazy_pattern(r"\[\[([^\[\]]+)\](?:\[([^\[\]]*)\])?\]")
_ORG_BLOCK = lazy_pattern(r"[ \t]*#\+(begin|end)_(\w+)", re.IGNORECASE)
_ORG_DATA_DRAWERS = ("properties", "logbook", "clock")


class OrgReader(_MarkupReader, frozen=True):
    """The reader of Emacs's org files.

    Drawers with properties or clock times are data: their lines are blank in the note's text.
    """

    extensions: tuple[str, ...] = (".org",)

    def _parse(self, document: _Document) -> None:
        drawer, code = "", ""
        for number, line in enumerate(document.lines, 1):
            if len(line) > _MAX_LINE:
                continue
            if drawer and _ORG_HEADING.fullmatch(line):
                drawer = ""  # a drawer without an end ends before the next heading
            match = _ORG_BLOCK.match(line)
            if match and match[1].lower() == "begin":
                code = code or match[2].lower()
            elif match and match[2].lower() == code:
                code = ""
            elif code in ("src", "example"):
                continue
            elif drawer or (name := _data_drawer_name(line)):
                drawer = self._read_drawer_line(document, drawer or name, number)
            elif match := _ORG_KEYWORD.fullmatch(line):
                self._read_keyword(document, match[1].lower(), match[2].strip())
            else:
                if match := _ORG_HEADING.fullmatch(line):
                    level = min(len(match[1]), _MAX_DEPTH)
                    document.headings.append((level, _without_org_links(match[2]), number, number))
                    document.add_tags(match[3] or "", ":")
                self._read_links(document, line, number)

    def _read_drawer_line(self, document: _Document, drawer: str, number: int) -> str:
        """Read and blank a line of a drawer, and return the drawer that is open after it."""
        match = _ORG_DRAWER.fullmatch(document.lines[number - 1])
        document.lines[number - 1] = ""
        if match and match[1].lower() == "end":
            return ""
        if match and drawer == "properties" and match[2]:
            document.properties.append((match[1].lower(), match[2].strip()))
        return drawer

    def _read_keyword(self, document: _Document, name: str, value: str) -> None:
        if name == "title":
            document.title = document.title or value
        elif name in ("filetags", "tags"):
            document.add_tags(value, r"[:\s]+")
        elif name in ("date", "author", "category", "created", "updated", "description") and value:
            document.properties.append((name, value.strip("<>[]")))

    def _read_links(self, document: _Document, line: str, number: int) -> None:
        for match in _ORG_LINK.finditer(line) if "[[" in line else ():
            target = match[1].removeprefix("file:")
            if not target.startswith(("*", "#")):
                document.add_link(target.replace("::", "#", 1).replace("#*", "#", 1), number, match[2] or "")


def _data_drawer_name(line: str) -> str:
    """Return the name of the drawer of data that begins on a line; "" if no such drawer begins there."""
    match = _ORG_DRAWER.fullmatch(line)
    return match[1].lower() if match and match[1].lower() in _ORG_DATA_DRAWERS and not match[2] else ""


def _without_org_links(text: str) -> str:
    return _ORG_LINK.sub(lambda match: match[2] or match[1], text).strip() if "[[" in text else text.strip()


# --- reStructuredText -------------------------------------------------------------------------------------------------

_RST_ADORNMENT = lazy_pattern(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_RST_FIELD = lazy_pattern(r":([^:\s][^:]{0,40}):(?:[ \t]+(.*))?")
_RST_ROLE = lazy_pattern(r":(?:doc|download):`(?:([^`<]*)<([^`<>]+)>|([^`<>]+))`")
_RST_LINK = lazy_pattern(r"`([^`<]*)<([^`<>]+)>`_")
_RST_PICTURE = lazy_pattern(r"[ \t]*\.\. (?:\|[^|]+\| )?(?:image|figure|include|literalinclude):: +(\S.*)")


class RstReader(_MarkupReader, frozen=True):
    """The reader of reStructuredText.

    A heading is underlined by a line of one repeated sign, and may have such a line above it too.
    """

    extensions: tuple[str, ...] = (".rst",)

    def _parse(self, document: _Document) -> None:
        lines, levels = document.lines, list[tuple[str, bool]]()
        has_text = False
        for number in range(1, len(lines) + 1):
            line = lines[number - 1]
            if len(line) > _MAX_LINE:
                continue
            if heading := self._find_heading_at(lines, number):
                sign, is_over, last = heading
                if (sign, is_over) not in levels:
                    levels.append((sign, is_over))
                text = line.strip()
                document.headings.append(
                    (min(levels.index((sign, is_over)) + 1, _MAX_DEPTH), text, number - is_over, last)
                )
            elif not has_text and (match := _RST_FIELD.fullmatch(line)):
                self._read_field(document, match[1].lower(), (match[2] or "").strip())
                continue
            elif line.strip() and not _RST_ADORNMENT.fullmatch(line):
                has_text = True
            self._read_links(document, line, number)
        first = document.headings[:1]
        # As in docutils, the only heading of the first level, at the beginning, is the title.
        if (
            first
            and sum(level == 1 for level, *_ in document.headings) == 1
            and not "".join(lines[: first[0][2] - 1]).strip()
        ):
            document.title = first[0][1]

    def _find_heading_at(self, lines: Sequence[str], number: int) -> tuple[str, bool, int] | None:
        """Return the sign of the heading with text on line `number`, whether it has a line above, and its last line."""
        text = lines[number - 1]
        below = lines[number] if number < len(lines) else ""
        match = _RST_ADORNMENT.fullmatch(below[:_MAX_LINE])
        if match is None or not text.strip() or _RST_ADORNMENT.fullmatch(text):
            return None
        above = lines[number - 2] if number > 1 else ""
        is_over = above.rstrip() == below.rstrip()
        width = len(below.rstrip())
        is_wide = width >= len(text.rstrip()) or width >= 4
        if not is_wide or (not is_over and (text[0].isspace() or above.strip())):
            return None
        return match[1], is_over, number + 1

    def _read_field(self, document: _Document, name: str, value: str) -> None:
        if name in ("tags", "keywords", "tag"):
            document.add_tags(value, r",")
        elif value:
            document.properties.append((name, value))

    def _read_links(self, document: _Document, line: str, number: int) -> None:
        if match := _RST_PICTURE.fullmatch(line):
            document.add_link(match[1], number, is_embed=True)
        if "`" in line:
            for match in _RST_ROLE.finditer(line):
                document.add_link(match[2] or match[3], number, match[1] or "")
            for match in _RST_LINK.finditer(line):
                document.add_link(match[2], number, match[1])


# --- AsciiDoc ---------------------------------------------------------------------------------------------------------

_ADOC_HEADING = lazy_pattern(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_ADOC_ATTRIBUTE = lazy_pattern(r":([\w-]+):(?:[ \t]+(.*))?")
_ADOC_DELIMITER = lazy_pattern(r"(-{4,}+|\.{4,}|\+{4,}|/{4,}|`{3,})[\w-]*[ \t]*")
_ADOC_LINK = lazy_pattern(r"(xref|link|include|image)::?([^\[\]\s]+)\[([^\[\]]*)\]")
_ADOC_REFERENCE = lazy_pattern(r"<<([^<>,]+)(?:,([^<>]*))?>>")


class AsciiDocReader(_MarkupReader, frozen=True):
    """The reader of AsciiDoc, by its headings and its document attributes."""

    extensions: tuple[str, ...] = (".adoc", ".asciidoc")

    def _parse(self, document: _Document) -> None:
        delimiter = ""
        in_header = True
        for number, line in enumerate(document.lines, 1):
            if len(line) > _MAX_LINE:
                continue
            if (match := _ADOC_DELIMITER.fullmatch(line)) and (not delimiter or line.rstrip() == delimiter):
                delimiter = "" if delimiter else match[1]
                in_header = False
            elif delimiter:
                continue
            elif in_header and (match := _ADOC_ATTRIBUTE.fullmatch(line)):
                self._read_attribute(document, match[1].lower(), (match[2] or "").strip())
            elif match := _ADOC_HEADING.fullmatch(line):
                heading = _without_closing_signs(match[2], match[1])
                document.headings.append((len(match[1]), heading, number, number))
                if len(match[1]) == 1 and not document.title and len(document.headings) == 1:
                    document.title = heading
                else:
                    in_header = False
                self._read_links(document, line, number)
            else:
                in_header = (in_header and bool(line.strip())) or (in_header and not document.headings)
                self._read_links(document, line, number)

    def _read_attribute(self, document: _Document, name: str, value: str) -> None:
        if name in ("tags", "keywords", "page-tags"):
            document.add_tags(value, r",")
        elif name in ("author", "date", "revdate", "description", "created", "updated", "category") and value:
            document.properties.append((name, value))

    def _read_links(self, document: _Document, line: str, number: int) -> None:
        for match in _ADOC_LINK.finditer(line) if "[" in line else ():
            label = "" if match[1] in ("include", "image") else match[3]
            document.add_link(match[2], number, label, is_embed=match[1] in ("include", "image"))
        for match in _ADOC_REFERENCE.finditer(line) if "<<" in line else ():
            if "." in match[1]:
                document.add_link(match[1], number, match[2] or "")


def _without_closing_signs(heading: str, signs: str) -> str:
    """Return the text of a heading without closing signs: `== Title ==` has them at both ends."""
    text = heading.rstrip(" \t")
    before = text.removesuffix(signs)
    return before.rstrip(" \t") if before[-1:] in (" ", "\t") and before != text else text
