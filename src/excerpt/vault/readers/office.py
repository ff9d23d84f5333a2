"""Slides (.pptx) and documents (.docx): a section for each slide, or for each heading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.base.patterns import lazy_pattern
from excerpt.vault.readers import (
    PagedText,
    ReadOptions,
    convert_damage_errors,
    open_safe_zip,
    paged_note,
    require_library,
)

if TYPE_CHECKING:
    from docx.document import Document
    from pptx.presentation import Presentation
    from pptx.slide import Slide

OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of files in the old formats (.doc), and of password-protected files in the new ones."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_UNTITLED = lazy_pattern(r"(?i)|untitled.*|powerpoint presentation|presentation\d*|document\d*|word document")
_HEADING = lazy_pattern(r"(?i)heading (\d)")
_CONTENTS = lazy_pattern(r"(?i)toc(?: \d| heading)")

_WORD_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DRAWING_NAMESPACE = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_PARAGRAPH, _TABLE, _ROW, _CELL = (f"{_WORD_NAMESPACE}{name}" for name in ("p", "tbl", "tr", "tc"))
_TEXT, _TAB, _HYPHEN = (f"{_WORD_NAMESPACE}{name}" for name in ("t", "tab", "noBreakHyphen"))
_BREAKS = (_TAB, f"{_WORD_NAMESPACE}br", f"{_WORD_NAMESPACE}cr", _PARAGRAPH)
_ALTERNATIVE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"


class SlidesReader(Struct, frozen=True):
    """The reader of slides (.pptx)."""

    kind: str = "slides"
    version: str = "1"
    extensions: tuple[str, ...] = (".pptx", ".ppt")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note with a section for each slide, which ends with the speaker notes; see Reader.read."""
        _check_format(data, path, ".pptx", "ppt/")
        with require_library("Slides"):
            import pptx
        with convert_damage_errors("slides"):
            presentation = pptx.Presentation(BytesIO(data))
            parts = [_slide_text(number, slide) for number, slide in _numbered_slides(presentation, options.max_pages)]
            left = len(presentation.slides) - len(parts)
            title = _title_unless_default(presentation.core_properties.title)
        if not any(part.text.strip() for part in parts):
            raise ReadError("The file has no text.")
        warnings = [f"Only the first {len(parts):,} of {len(parts) + left:,} slides are read."] if left else []
        return paged_note(path, parts, options, title=title, warnings=warnings)


class DocumentReader(Struct, frozen=True):
    """The reader of documents (.docx)."""

    kind: str = "document"
    version: str = "2"
    extensions: tuple[str, ...] = (".docx", ".doc")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note with a section for each heading; see Reader.read.

        Sections have no locations: a document has no pages until it is printed.
        """
        _check_format(data, path, ".docx", "word/")
        with require_library("Documents"):
            import docx
        with convert_damage_errors("a document"):
            document = docx.Document(BytesIO(data))
            parts = _document_parts(document)
            title = _title_unless_default(document.core_properties.title) or _styled_title(document)
        if not parts:
            raise ReadError("The file has no text.")
        return paged_note(path, parts, options, title=title)


def _check_format(data: bytes, path: str, suffix: str, folder: str) -> None:
    """Raise ReadError if a file is not in the Office Open XML format of `suffix` (".docx").

    The parts of such a file are in `folder` of a ZIP archive.
    """
    old = suffix[:-1]
    if data.startswith(OLE_SIGNATURE) and _ENCRYPTED in data:
        raise ReadError("The file is protected by a password.", "Save it without a password.")
    if data.startswith(OLE_SIGNATURE) or PurePosixPath(path).suffix.lower() == old:
        raise ReadError(f"Old {old} files are not read.", f"Save it as {suffix}.")
    with open_safe_zip(data) as archive:
        if not any(name.startswith(folder) for name in archive.namelist()):
            raise ReadError(f"The file is not a {suffix} file, despite its name.")


def _title_unless_default(title: str) -> str:
    """Return the `title` from a file's metadata, or "" if it is a default such as "Document1"."""
    title = " ".join(title.split())
    return "" if _UNTITLED.fullmatch(title) else title[:200]


# --- slides -----------------------------------------------------------------------------------------------------------


def _numbered_slides(presentation: Presentation, limit: int) -> Iterator[tuple[int, Slide]]:
    for number, slide in enumerate(presentation.slides, start=1):
        if number > limit:
            return
        yield number, slide


def _slide_text(number: int, slide: Slide) -> PagedText:
    heading = slide.shapes.title
    name = " ".join(heading.text_frame.text.split()) if heading is not None else ""
    pieces = [name]
    for shape in _flat_shapes(slide.shapes):
        if heading is None or shape.shape_id != heading.shape_id:
            pieces += _shape_texts(shape)
    pieces += _diagram_texts(slide)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
        pieces += [f"Notes: {notes}" for notes in ["\n".join(_text_lines(frame.text))] if notes]
    text = "\n\n".join(filter(None, pieces))
    return PagedText(f"slide={number}", (f"Slide {number}: {name}" if name else f"Slide {number}",), text)


def _flat_shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield all shapes; each group of shapes is replaced by its shapes."""
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
    """Yield the text of a shape: its text frame, its table, or its chart's text and its description."""
    if shape.has_text_frame:
        yield "\n".join(_text_lines(shape.text_frame.text))
    elif getattr(shape, "has_table", False):
        rows = ([" ".join(cell.text_frame.text.split()) for cell in row.cells] for row in shape.table.rows)
        yield "\n".join(" | ".join(filter(None, row)) for row in rows if any(row))
    else:
        if getattr(shape, "has_chart", False):
            chart = shape.chart.element
            yield "\n".join(_text_lines("\n".join(node.text or "" for node in chart.iter(f"{_DRAWING_NAMESPACE}t"))))
        described = shape.element.xpath(".//p:cNvPr/@descr")
        yield " ".join(chain.from_iterable(each.split() for each in described))


def _diagram_texts(slide: Slide) -> Iterator[str]:
    """Yield the text of a slide's diagrams (SmartArt), which is in separate parts of the file."""
    from lxml import etree

    for relation in slide.part.rels.values():
        if relation.reltype.endswith("/diagramData") and not relation.is_external:
            safe = etree.XMLParser(resolve_entities=False, no_network=True)
            diagram = etree.fromstring(relation.target_part.blob, safe)
            texts = (
                "".join(node.text or "" for node in each.iter(f"{_DRAWING_NAMESPACE}t"))
                for each in diagram.iter(f"{_DRAWING_NAMESPACE}p")
            )
            yield "\n".join(filter(None, texts))


def _text_lines(text: str) -> Iterator[str]:
    """Yield the non-empty paragraphs of a text frame's `text`; a line break within a paragraph becomes a space."""
    for line in text.split("\n"):
        if shown := " ".join(line.split()):
            yield shown


# --- documents --------------------------------------------------------------------------------------------------------


def _document_parts(document: Document) -> list[PagedText]:
    """Return the text under each heading; for a heading without text below it, the heading itself."""
    body = document.element.body
    for node in list(body.iter(_ALTERNATIVE)):
        node.getparent().remove(node)
    names, levels = _read_styles(document)
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

    for node in chain(_iterate_elements(body, _PARAGRAPH, _TABLE), _iterate_footnotes(document)):
        if node.tag == _TABLE:
            rows = map(_cell_texts, _iterate_elements(node, _ROW))
            pieces.append((False, "\n".join(" | ".join(row) for row in rows if row)))
            continue
        style = node.pPr.pStyle.val if node.pPr is not None and node.pPr.pStyle is not None else ""
        paragraph = _paragraph_text(node)
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


def _styled_title(document: Document) -> str:
    """Return the first paragraph with the style "Title" at the top of a document; "" if there is none."""
    first = next((each for each in document.paragraphs[:20] if each.style and each.style.name == "Title"), None)
    return _title_unless_default(first.text) if first is not None else ""


def _join_paragraphs(pieces: Iterable[tuple[bool, str]]) -> str:
    """Join (is a list item, text) pairs to a text.

    Paragraphs have blank lines between them; items of a list are on consecutive lines.
    """
    text, before = "", False
    for in_list, paragraph in pieces:
        text = f"{text}\n{paragraph}" if in_list and before else f"{text}\n\n{paragraph}"
        before = in_list
    return text.strip()


def _read_styles(document: Document) -> tuple[Mapping[str, str], Mapping[str, int]]:
    """Return the names of all styles, and the heading levels of heading styles, each by the id of the style."""
    names: dict[str, str] = {}
    levels: dict[str, int] = {}
    bases: dict[str, str] = {}
    for style in document.styles:
        names[style.style_id] = style.name or ""
        if match := _HEADING.fullmatch(style.name or ""):
            levels[style.style_id] = int(match[1])
        elif (style.name or "").lower() == "title":
            levels[style.style_id] = 1
        based = style.element.find(f"{_WORD_NAMESPACE}basedOn")
        if based is not None:
            bases[style.style_id] = based.get(f"{_WORD_NAMESPACE}val", "")
    for style_id in names:
        base, visited = bases.get(style_id, ""), {style_id}
        while style_id not in levels and base and base not in visited:
            visited.add(base)
            if base in levels:
                levels[style_id] = levels[base]
            base = bases.get(base, "")
    return names, levels


def _iterate_elements(parent: Any, *tags: str) -> Iterator[Any]:
    """Yield the XML elements below `parent` that have one of `tags`, in order, without elements nested in them.

    Elements in content controls and tracked changes are included.
    """
    waiting = [iter(parent)]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
        elif node.tag in tags:
            yield node
        elif isinstance(node.tag, str) and node.tag.startswith(_WORD_NAMESPACE):
            waiting.append(iter(node))


def _iterate_footnotes(document: Document) -> Iterator[Any]:
    """Yield the paragraphs of footnotes and endnotes, which are in separate parts of the file."""
    from docx.oxml import parse_xml

    for relation in document.part.rels.values():
        if relation.reltype.endswith(("/footnotes", "/endnotes")) and not relation.is_external:
            yield from parse_xml(relation.target_part.blob).iter(_PARAGRAPH)


def _paragraph_text(node: Any) -> str:
    """Return the text of a paragraph, of the text boxes in it, and the descriptions of its pictures."""
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


def _cell_texts(row: Any) -> list[str]:
    return [text for text in map(_paragraph_text, _iterate_elements(row, _CELL)) if text]
