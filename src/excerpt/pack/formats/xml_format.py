"""Packs as XML: `<documents>`, the format that Anthropic's guides recommend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from excerpt.base.locations import format_kind
from excerpt.base.model import Pack, TableHeader
from excerpt.base.patterns import lazy_pattern
from excerpt.pack.formats.pack_format import PackFile, PackFormat, PackSource, UnreadablePackError
from excerpt.pack.formats.source_label import (
    UNKNOWN_DATE,
    format_headings,
    format_mark,
    format_pack_lines,
    join_lines,
    shorten_digest,
)
from excerpt.text.display import line_range, visible_line

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


# --- written ----------------------------------------------------------------------------------------------------------


class XmlRenderer(Struct, frozen=True):
    """Renders packs as XML; the content of each `document_content` element is exactly the text of the note.

    A character that XML does not allow is written as `<char code="1b"/>`, with its code in hexadecimal.
    """

    questions: tuple[str, ...] = ()
    notice: str = ""

    def render(self, packs: Sequence[Pack]) -> str:
        sources = []
        for number, pack in enumerate(packs, start=1):
            above, below = _render_document_tags(number, pack)
            sources.append(f"{above}{escape_xml(pack.text)}{below}")
        above, below = self._render_root_tags()
        return f"{above}{''.join(sources)}{below}" if packs else ""

    def render_frame(self, number: int, pack: Pack) -> Sequence[str]:
        return (*_render_document_tags(number, pack), *(self._render_root_tags() if number == 1 else ()))

    def escape(self, text: str) -> str:
        return escape_xml(text)

    def _render_root_tags(self) -> tuple[str, str]:
        questions = "".join(f"<question>{escape_xml(join_lines(question))}</question>\n" for question in self.questions)
        notice = f"<notice>{escape_xml(self.notice)}</notice>\n" if self.notice else ""
        return f"<documents>\n{notice}", f"{questions}</documents>\n"


def _render_document_tags(number: int, pack: Pack) -> tuple[str, str]:
    modified = f"<modified>{pack.modified or UNKNOWN_DATE}</modified>\n"
    location = (
        f'<place at="{_escape_attribute(pack.place)}">{format_kind(pack.kind, pack.place)}</place>\n'
        if pack.kind
        else ""
    )
    mark = f"<status>{escape_xml(format_mark(pack))}</status>\n" if pack.replaced else ""
    cut = " ".join(side for side, is_cut in (("above", pack.cut_above), ("below", pack.cut_below)) if is_cut)
    above = (
        f'<document index="{number}">\n'
        f"<source>{escape_xml(visible_line(pack.path))}</source>\n"
        f"<heading_path>{escape_xml(format_headings(pack))}</heading_path>\n"
        f"<lines>{format_pack_lines(pack)}</lines>\n{location}{modified}{mark}<digest>{shorten_digest(pack)}</digest>\n"
    )
    header = pack.table_header
    if header is not None:
        lines = line_range(header.line_start, header.line_end)
        above += f'<table_header lines="{lines}">{escape_xml(header.text)}</table_header>\n'
    opening = f'<document_content cut="{cut}">' if cut else "<document_content>"
    return f"{above}{opening}", "</document_content>\n</document>\n"


def _escape_attribute(text: str) -> str:
    return _INVALID_XML_CHARACTER.sub(
        "\N{REPLACEMENT CHARACTER}", text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    )


_INVALID_XML_CHARACTER = lazy_pattern("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape_xml(text: str) -> str:
    """Return `text` escaped as the content of an XML element; `read` restores the original text."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;").replace("\r", "&#13;")
    return _INVALID_XML_CHARACTER.sub(lambda match: f'<char code="{ord(match[0]):x}"/>', escaped)


# --- read -------------------------------------------------------------------------------------------------------------


def read(text: str) -> PackFile:
    """Parse a pack file in XML. Raises UnreadablePackError."""
    import xml.etree.ElementTree as ET

    # A document type could declare entities that expand without end or read files; a pack has none.
    if "<!" in text:
        raise UnreadablePackError("The pack looks like XML but has declarations, which a pack never has.")
    try:
        root = ET.fromstring(text)
        sources = tuple(map(_parse_source, root.iter("document")))
    except (ET.ParseError, ValueError) as error:
        raise UnreadablePackError(f"The pack looks like XML but is not a pack: {error}.") from error
    return PackFile(sources, "\n".join(map(_read_element_text, root.iter("question"))))


def _parse_source(document: Element) -> PackSource:
    """Parse a `document` element. Raises ValueError if a required part is missing or invalid."""
    part = {child.tag: child for child in document}
    if missing := {"source", "lines", "document_content"} - set(part):
        raise ValueError(f"a document has no {min(missing)}")
    first, _, last = _read_element_text(part["lines"]).partition("-")
    cut = part["document_content"].get("cut", "").split()
    return PackSource(
        number=int(document.get("index", "")),
        path=_read_element_text(part["source"]),
        heading=_read_element_text(part["heading_path"]) if "heading_path" in part else "",
        line_start=int(first),
        line_end=int(last or first),
        text=_read_element_text(part["document_content"]),
        digest=_read_element_text(part["digest"]) if "digest" in part else "",
        cut_above="above" in cut,
        cut_below="below" in cut,
        place=part["place"].get("at", "") if "place" in part else "",
        table_header=_parse_table_header(part["table_header"]) if "table_header" in part else None,
    )


def _parse_table_header(element: Element) -> TableHeader:
    """Parse a `table_header` element. Raises ValueError if its lines are invalid."""
    first, _, last = element.get("lines", "").partition("-")
    return TableHeader(int(first), int(last or first), _read_element_text(element))


def _read_element_text(element: Element) -> str:
    """Return the text of an element, with each `<char code="…"/>` replaced by its character."""
    parts = [element.text or ""]
    for child in element:
        parts += [chr(int(child.get("code", ""), 16)) if child.tag == "char" else "", child.tail or ""]
    return "".join(parts)


FORMAT = PackFormat(XmlRenderer, read, file_prefix="<")
