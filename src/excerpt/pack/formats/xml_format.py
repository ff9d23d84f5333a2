"""Packs as XML: `<documents>`, the format that Anthropic's guides recommend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from excerpt.locations import format_kind
from excerpt.model import Pack
from excerpt.pack.formats.pack_format import PackFile, PackFormat, PackSource, PackUnreadableError
from excerpt.pack.formats.source_label import digest_of_bytes, headings_of, lines_of, on_one_line
from excerpt.text.display import visible_line

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


# --- written ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class XmlRenderer:
    """Renders sources as XML; the content of a `document_content` is exactly the note's text.

    A character that XML cannot express is written as `<char code="1b"/>` (hexadecimal).
    """

    questions: tuple[str, ...] = ()

    def render(self, packs: Sequence[Pack]) -> str:
        sources = []
        for number, pack in enumerate(packs, start=1):
            above, below = _document_tags(number, pack)
            sources.append(f"{above}{xml_text(pack.text)}{below}")
        above, below = self._root_tags()
        return f"{above}{''.join(sources)}{below}" if packs else ""

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        return (*_document_tags(number, pack), *(self._root_tags() if number == 1 else ()))

    def escape(self, text: str) -> str:
        return xml_text(text)

    def _root_tags(self) -> tuple[str, str]:
        questions = "".join(f"<question>{xml_text(on_one_line(question))}</question>\n" for question in self.questions)
        return "<documents>\n", f"{questions}</documents>\n"


def _document_tags(number: int, pack: Pack) -> tuple[str, str]:
    modified = f"<modified>{pack.modified}</modified>\n" if pack.modified else ""
    location = (
        f'<place at="{_attribute(pack.place)}">{format_kind(pack.kind, pack.place)}</place>\n' if pack.kind else ""
    )
    cut = " ".join(side for side, is_cut in (("above", pack.cut_above), ("below", pack.cut_below)) if is_cut)
    above = (
        f'<document index="{number}">\n'
        f"<source>{xml_text(visible_line(pack.path))}</source>\n"
        f"<heading_path>{xml_text(headings_of(pack))}</heading_path>\n"
        f"<lines>{lines_of(pack)}</lines>\n{location}{modified}<digest>{digest_of_bytes(pack)}</digest>\n"
    )
    opening = f'<document_content cut="{cut}">' if cut else "<document_content>"
    return f"{above}{opening}", "</document_content>\n</document>\n"


def _attribute(text: str) -> str:
    return _NOT_XML.sub(
        "\N{REPLACEMENT CHARACTER}", text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    )


_NOT_XML = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Return `text` escaped as the content of an element, so that a parser returns it unchanged."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;").replace("\r", "&#13;")
    return _NOT_XML.sub(lambda match: f'<char code="{ord(match[0]):x}"/>', escaped)


# --- read -------------------------------------------------------------------------------------------------------------


def read(text: str) -> PackFile:
    import xml.etree.ElementTree as ET

    # A document type could declare entities that expand without end or read files; a pack has none.
    if "<!" in text:
        raise PackUnreadableError("The pack looks like XML but has declarations, which a pack never has.")
    try:
        root = ET.fromstring(text)
        sources = tuple(map(_source, root.iter("document")))
    except (ET.ParseError, ValueError) as error:
        raise PackUnreadableError(f"The pack looks like XML but is not a pack: {error}.") from error
    return PackFile(sources, "\n".join(map(_text_in, root.iter("question"))))


def _source(document: Element) -> PackSource:
    part = {child.tag: child for child in document}
    if missing := {"source", "lines", "document_content"} - set(part):
        raise ValueError(f"a document without {min(missing)}")
    first, _, last = _text_in(part["lines"]).partition("-")
    cut = part["document_content"].get("cut", "").split()
    return PackSource(
        number=int(document.get("index", "")),
        path=_text_in(part["source"]),
        heading=_text_in(part["heading_path"]) if "heading_path" in part else "",
        line_start=int(first),
        line_end=int(last or first),
        text=_text_in(part["document_content"]),
        digest=_text_in(part["digest"]) if "digest" in part else "",
        cut_above="above" in cut,
        cut_below="below" in cut,
        place=part["place"].get("at", "") if "place" in part else "",
    )


def _text_in(element: Element) -> str:
    """Return the text in an element; a `char` represents what XML cannot express."""
    parts = [element.text or ""]
    for child in element:
        parts += [chr(int(child.get("code", ""), 16)) if child.tag == "char" else "", child.tail or ""]
    return "".join(parts)


FORMAT = PackFormat(XmlRenderer, read, beginning="<")
