"""Slides (.pptx) and documents (.docx): a section for each slide, or for each heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from excerpt.errors import ReadError
from excerpt.model import Note
from excerpt.vault.readers import PagedText, ReadOptions, library, paged_note, report_damage, safe_zip

if TYPE_CHECKING:
    from docx.document import Document
    from pptx.presentation import Presentation
    from pptx.slide import Slide

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of files of the old formats, and of password-protected files of the new ones."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_UNTITLED = re.compile(r"(?i)|untitled.*|powerpoint presentation|presentation\d*|document\d*|word document")
_HEADING = re.compile(r"(?i)heading (\d)")
_CONTENTS = re.compile(r"(?i)toc(?: \d| heading)")

_WORDS = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_PARAGRAPH, _TABLE, _ROW, _CELL = (f"{_WORDS}{name}" for name in ("p", "tbl", "tr", "tc"))
_TEXT, _TAB, _HYPHEN = (f"{_WORDS}{name}" for name in ("t", "tab", "noBreakHyphen"))
_BREAKS = (_TAB, f"{_WORDS}br", f"{_WORDS}cr", _PARAGRAPH)
_ALTERNATIVE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"


@dataclass(frozen=True, slots=True)
class SlidesReader:
    kind: str = "slides"
    version: str = "1"
    extensions: tuple[str, ...] = (".pptx", ".ppt")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Return the note, as Reader.read does. Speaker notes are below their slide."""
        _open_format(data, path, ".pptx", "ppt/")
        with library("Slides"):
            import pptx
        with report_damage("slides"):
            presentation = pptx.Presentation(BytesIO(data))
            parts = [_slide(number, slide) for number, slide in _slides(presentation, options.most_pages)]
            left = len(presentation.slides) - len(parts)
            title = _title(presentation.core_properties.title)
        if not any(part.text.strip() for part in parts):
            raise ReadError("There is no text in it.")
        warnings = [f"Only the first {len(parts):,} of {len(parts) + left:,} slides are read."] if left else []
        return paged_note(path, parts, options, title=title, warnings=warnings)


@dataclass(frozen=True, slots=True)
class DocumentReader:
    kind: str = "document"
    version: str = "2"
    extensions: tuple[str, ...] = (".docx", ".doc")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Return the note, as Reader.read does, without locations: a document has no pages until it is printed."""
        _open_format(data, path, ".docx", "word/")
        with library("Documents"):
            import docx
        with report_damage("a document"):
            document = docx.Document(BytesIO(data))
            parts = _chapters(document)
            title = _title(document.core_properties.title) or _printed_title(document)
        if not parts:
            raise ReadError("There is no text in it.")
        return paged_note(path, parts, options, title=title)


def _open_format(data: bytes, path: str, suffix: str, folder: str) -> None:
    """Raise ReadError if a file is not in the open format of this suffix, whose parts are in this folder."""
    old = suffix[:-1]
    if data.startswith(OLE) and _ENCRYPTED in data:
        raise ReadError("It is protected by a password.", "Save it without a password to have it read.")
    if data.startswith(OLE) or PurePosixPath(path).suffix.lower() == old:
        raise ReadError(f"Old {old} files are not read.", f"Save it as {suffix}.")
    with safe_zip(data) as archive:
        if not any(name.startswith(folder) for name in archive.namelist()):
            raise ReadError(f"It is not a {suffix} file, despite its name.")


def _title(title: str) -> str:
    """Return the title in a file's metadata, "" if it is not a real title."""
    title = " ".join(title.split())
    return "" if _UNTITLED.fullmatch(title) else title[:200]


# --- slides -----------------------------------------------------------------------------------------------------------


def _slides(presentation: Presentation, limit: int) -> Iterator[tuple[int, Slide]]:
    for number, slide in enumerate(presentation.slides, start=1):
        if number > limit:
            return
        yield number, slide


def _slide(number: int, slide: Slide) -> PagedText:
    heading = slide.shapes.title
    name = " ".join(heading.text_frame.text.split()) if heading is not None else ""
    pieces = [name]
    for shape in _shapes(slide.shapes):
        if heading is None or shape.shape_id != heading.shape_id:
            pieces += _shape_texts(shape)
    pieces += _diagrams(slide)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
        pieces += [f"Notes: {notes}" for notes in ["\n".join(_lines(frame.text))] if notes]
    text = "\n\n".join(filter(None, pieces))
    return PagedText(f"slide={number}", (f"Slide {number}: {name}" if name else f"Slide {number}",), text)


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield all shapes, with the shapes of a group in place of the group."""
    waiting = [iter(shapes)]
    while waiting:
        shape = next(waiting[-1], None)
        if shape is None:
            waiting.pop()
        elif hasattr(shape, "shapes"):
            waiting.append(iter(shape.shapes))
        else:
            yield shape


def _shape_texts(shape: Any) -> Iterator[str]:
    """Yield the text of a shape: its text, its table, or the description of its picture."""
    if shape.has_text_frame:
        yield "\n".join(_lines(shape.text_frame.text))
    elif getattr(shape, "has_table", False):
        rows = ([" ".join(cell.text_frame.text.split()) for cell in row.cells] for row in shape.table.rows)
        yield "\n".join(" | ".join(filter(None, row)) for row in rows if any(row))
    else:
        if getattr(shape, "has_chart", False):
            chart = shape.chart.element
            yield "\n".join(_lines("\n".join(node.text or "" for node in chart.iter(f"{_DRAWN}t"))))
        described = shape.element.xpath(".//p:cNvPr/@descr")
        yield " ".join(chain.from_iterable(each.split() for each in described))


def _diagrams(slide: Slide) -> Iterator[str]:
    """Yield the text of diagrams (SmartArt), which is in separate parts."""
    from lxml import etree

    for relation in slide.part.rels.values():
        if relation.reltype.endswith("/diagramData") and not relation.is_external:
            safe = etree.XMLParser(resolve_entities=False, no_network=True)
            diagram = etree.fromstring(relation.target_part.blob, safe)
            texts = (
                "".join(node.text or "" for node in each.iter(f"{_DRAWN}t")) for each in diagram.iter(f"{_DRAWN}p")
            )
            yield "\n".join(filter(None, texts))


def _lines(text: str) -> Iterator[str]:
    """Yield the paragraphs of a text frame; a break within one is a space."""
    for line in text.split("\n"):
        if shown := " ".join(line.split()):
            yield shown


# --- documents --------------------------------------------------------------------------------------------------------


def _chapters(document: Document) -> list[PagedText]:
    """Return the text under each heading. A heading without text below it is its own text."""
    body = document.element.body
    for node in list(body.iter(_ALTERNATIVE)):
        node.getparent().remove(node)
    names, levels = _styles(document)
    parts: list[PagedText] = []
    stack: list[tuple[int, str]] = []
    pieces: list[tuple[bool, str]] = []

    def finish(next_level: int) -> None:
        text = _join_paragraphs(pieces)
        if not text and stack and stack[-1][0] >= next_level:
            text = stack[-1][1]
        if text:
            parts.append(PagedText("", tuple(name for _, name in stack), text))
        pieces.clear()

    for node in chain(_content(body, _PARAGRAPH, _TABLE), _footnotes(document)):
        if node.tag == _TABLE:
            rows = map(_cells, _content(node, _ROW))
            pieces.append((False, "\n".join(" | ".join(row) for row in rows if row)))
            continue
        style = node.pPr.pStyle.val if node.pPr is not None and node.pPr.pStyle is not None else ""
        paragraph = _paragraph(node)
        if not paragraph or _CONTENTS.fullmatch(names.get(style, "")):
            continue
        if level := levels.get(style, 0):
            finish(level)
            while stack and stack[-1][0] >= level:
                stack.pop()
            stack.append((level, paragraph))
        else:
            in_list = names.get(style, "").startswith("List") or (node.pPr is not None and node.pPr.numPr is not None)
            pieces.append((in_list, f"- {paragraph}" if in_list else paragraph))
    finish(0)
    return parts


def _printed_title(document: Document) -> str:
    """Return the title at the top of a document, found by its style, "" if there is none."""
    first = next((each for each in document.paragraphs[:20] if each.style and each.style.name == "Title"), None)
    return _title(first.text) if first is not None else ""


def _join_paragraphs(pieces: Iterable[tuple[bool, str]]) -> str:
    """Join paragraphs with blank lines between them; items of a list are on consecutive lines."""
    text, before = "", False
    for in_list, paragraph in pieces:
        text = f"{text}\n{paragraph}" if in_list and before else f"{text}\n\n{paragraph}"
        before = in_list
    return text.strip()


def _styles(document: Document) -> tuple[Mapping[str, str], Mapping[str, int]]:
    """Return the names of styles by their ids, and the levels of heading styles."""
    names: dict[str, str] = {}
    levels: dict[str, int] = {}
    bases: dict[str, str] = {}
    for style in document.styles:
        names[style.style_id] = style.name or ""
        if match := _HEADING.fullmatch(style.name or ""):
            levels[style.style_id] = int(match[1])
        elif (style.name or "").lower() == "title":
            levels[style.style_id] = 1
        based = style.element.find(f"{_WORDS}basedOn")
        if based is not None:
            bases[style.style_id] = based.get(f"{_WORDS}val", "")
    for style_id in names:
        base, visited = bases.get(style_id, ""), {style_id}
        while style_id not in levels and base and base not in visited:
            visited.add(base)
            if base in levels:
                levels[style_id] = levels[base]
            base = bases.get(base, "")
    return names, levels


def _content(parent: Any, *tags: str) -> Iterator[Any]:
    """Yield the elements with these tags in order, but not nested ones.

    Content controls and tracked changes are included.
    """
    waiting = [iter(parent)]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
        elif node.tag in tags:
            yield node
        elif isinstance(node.tag, str) and node.tag.startswith(_WORDS):
            waiting.append(iter(node))


def _footnotes(document: Document) -> Iterator[Any]:
    """Yield the paragraphs of footnotes and endnotes, which are in separate parts."""
    from docx.oxml import parse_xml

    for relation in document.part.rels.values():
        if relation.reltype.endswith(("/footnotes", "/endnotes")) and not relation.is_external:
            yield from parse_xml(relation.target_part.blob).iter(_PARAGRAPH)


def _paragraph(node: Any) -> str:
    """Return the text of a paragraph with that of its boxes and the descriptions of its pictures."""
    pieces: list[str] = []
    for part in node.iter(_TEXT, _HYPHEN, _PICTURE, *_BREAKS):
        if part.tag == _TEXT:
            pieces.append(part.text or "")
        elif part.tag == _HYPHEN:
            pieces.append("-")
        elif part.tag == _PICTURE:
            pieces.append(f" {part.get('descr', '')} ")
        else:
            pieces.append(" ")
    return " ".join("".join(pieces).split())


def _cells(row: Any) -> list[str]:
    return [text for text in map(_paragraph, _content(row, _CELL)) if text]
