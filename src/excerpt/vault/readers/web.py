"""Readers of web pages and EPUB books: a section for each heading, located by its anchor or its chapter."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from msgspec import Struct

from excerpt.base.errors import ReadError
from excerpt.base.kinds import LinkKind
from excerpt.base.model import Link, Note
from excerpt.base.patterns import lazy_pattern
from excerpt.vault.readers import (
    PagedText,
    ReadOptions,
    convert_damage_errors,
    open_safe_zip,
    paged_note,
    require_library,
)
from excerpt.vault.readers.markdown import decode

if TYPE_CHECKING:
    from zipfile import ZipFile

    from selectolax.lexbor import LexborNode

MAX_TEXT = 5_000_000
"""Maximum number of characters read of one file."""
_HIDDEN_TAGS = frozenset(
    {"script", "style", "template", "nav", "head", "noscript", "svg", "iframe", "object", "select"}
)
_BLOCK_TAGS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl"),
    *("dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr"),
    *("legend", "li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead"),
    *("tr", "ul"),
}
_LONG_CELL_CHARACTERS = 300
"""Number of characters from which a table cell is a block of text: old pages use tables for layout."""
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CHARSET = lazy_pattern(
    rb"""(?i)<(?:meta[^>]{1,200}?charset\s*=\s*["']?|\?xml[^>]{1,60}?encoding=["'])([\w.:-]{1,40})"""
)
_TAG = lazy_pattern(r"(?i)<(?:!doctype|html|head|body|title|meta|[a-z][a-z0-9]{0,10}[\s>/])")
_SELF_CLOSED = lazy_pattern(r"(?i)<(title|script|style|iframe|textarea|a|div|span|p)\b([^<>]{0,300})/>")
_CHAPTER_TYPES = ("application/xhtml+xml", "text/html")


class HtmlReader(Struct, frozen=True):
    """The reader of web pages."""

    kind: str = "html"
    version: str = "2"
    extensions: tuple[str, ...] = (".html", ".htm", ".xhtml")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note from a web page; see Reader.read. Text that is hidden by styles is included."""
        text, warning = _decode_page(data)
        if not _TAG.search(text):
            raise ReadError("The file is not HTML, despite its name.")
        with require_library("Web pages"), convert_damage_errors("HTML"):
            page = _read_page(_close_self_closed_tags(text) if _is_xml(text, path) else text)
        parts = [PagedText(part.anchor, part.headings, part.text) for part in page.parts]
        if not parts:
            raise ReadError("The file has no text.")
        warnings = [sentence for sentence in (warning, _TOO_LONG if page.is_cut else "") if sentence]
        return paged_note(path, parts, options, title=page.title, links=page.links, warnings=warnings)


class EpubReader(Struct, frozen=True):
    """The reader of EPUB books."""

    kind: str = "epub"
    version: str = "1"
    extensions: tuple[str, ...] = (".epub",)

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note from a book; see Reader.read. Chapters are its files in reading order, counted from 1."""
        with open_safe_zip(data) as archive, require_library("Books"), convert_damage_errors("EPUB"):
            if "META-INF/container.xml" not in archive.namelist():
                raise ReadError("The file is not an EPUB, despite its name.")
            book = _open_book(archive)
            if _has_drm(archive, book):
                raise ReadError("The book is encrypted (DRM). Only its seller's programs can read it.")
            parts, is_cut = _read_chapters(archive, book)
        if not parts:
            raise ReadError("The file has no text.")
        return paged_note(path, parts, options, title=book.title, warnings=[_TOO_LONG] if is_cut else [])


_TOO_LONG = f"Only the first {MAX_TEXT:,} characters of the file are read."


def _decode_page(data: bytes) -> tuple[str, str]:
    """Decode a page as UTF-8 or by the encoding that it declares; return its text and a warning or ""."""
    with suppress(UnicodeDecodeError):
        return decode(data) if data.count(0) else (data.decode("utf-8-sig"), "")
    named = _CHARSET.search(data[:4096])
    with suppress(LookupError):
        if named and (encoding := named[1].decode()).lower() not in ("utf-8", "utf8"):
            return data.decode("cp1252" if encoding.lower() == "iso-8859-1" else encoding, "replace"), ""
    return decode(data)


def _is_xml(text: str, path: str) -> bool:
    return path.lower().endswith(".xhtml") or text[:100].lstrip().startswith("<?xml")


def _close_self_closed_tags(text: str) -> str:
    """Return XHTML with self-closed tags as pairs: an HTML parser reads `<script/>` as unclosed."""
    return _SELF_CLOSED.sub(r"<\1\2></\1>", text)


# --- a page -----------------------------------------------------------------------------------------------------------


class _PageSection(Struct, frozen=True):
    """The text under a heading of a page; `anchor` is the heading's id, "" if it has none."""

    anchor: str
    headings: tuple[str, ...]
    text: str


class _WebPage(Struct, frozen=True):
    """A parsed page; `is_cut` is true if only its beginning was read."""

    title: str
    parts: Sequence[_PageSection]
    links: Sequence[Link]
    is_cut: bool


def _read_page(text: str) -> _WebPage:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    title = tree.css_first("title")
    reading = _PageCollector()
    if tree.body is not None:
        for node, entered in _visible_nodes(tree.body):
            if entered:
                reading.enter(node)
            else:
                reading.leave(node)
            if reading.size > MAX_TEXT:
                break
    reading.end_section(0)
    name = " ".join((title.text() or "").split())[:200] if title is not None else ""
    return _WebPage(name, reading.parts, reading.links, reading.size > MAX_TEXT)


def _visible_nodes(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield (node, True) at the start and (node, False) at the end of each visible node, in document order.

    Not recursive, because pages may be nested to any depth.
    """
    node = root
    while True:
        dropped = _is_hidden(node)
        if not dropped:
            yield node, True
            if (child := node.child) is not None:
                node = child
                continue
            yield node, False
        while (following := node.next) is None or node.mem_id == root.mem_id:
            parent = node.parent
            if node.mem_id == root.mem_id or parent is None:
                return
            node = parent
            yield node, False
        node = following


def _is_hidden(node: LexborNode) -> bool:
    tag = node.tag or ""
    if tag in _HIDDEN_TAGS or tag in ("-comment", "!--", "-doctype", "_comment"):
        return True
    if tag == "-text":
        return False
    attributes = node.attributes
    if attributes.get("role") == "navigation":
        return True
    return tag == "a" and "headerlink" in (attributes.get("class") or "")


class _PageCollector:
    """Collects the sections and links of a page while its nodes are visited in document order."""

    def __init__(self) -> None:
        self.parts: list[_PageSection] = []
        self.links: list[Link] = []
        self.size = 0
        self._stack: list[tuple[int, str]] = []
        self._anchor = ""  # of the heading above the text
        self._pending = ""  # of the last element that began after the last text
        self._pieces: list[tuple[str, str]] = []  # the tag of each block of text, and the text
        self._inline: list[str] = []
        self._in_heading = self._in_pre = self._in_cell = self._in_item = 0

    def enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._add_text(node.text_content or "")
            return
        attributes = node.attributes
        if anchor := attributes.get("id") or (attributes.get("name") if tag == "a" else ""):
            self._pending = self._pending if self._in_heading and self._pending else anchor
        if tag in _HEADINGS:
            self._in_cell = 0
        if tag in _BLOCK_TAGS and tag not in ("td", "th"):
            self._end_block()
        if tag in _HEADINGS:
            self._in_heading += 1
            self._pending = attributes.get("id") or self._pending
        self._in_pre += tag == "pre"
        self._in_item += tag == "li"
        if tag in ("td", "th"):
            if "".join(self._inline).strip():
                self._inline.append(" | ")
            self._in_cell += 1
        elif tag == "br":
            self._inline.append("\n" if self._in_pre else " ")
        elif tag == "img":
            self._inline.append(f" {attributes.get('alt') or ''} ")
            self._add_link(LinkKind.EMBED, attributes.get("src"), attributes.get("alt") or "")
        elif tag == "a":
            self._add_link(LinkKind.MARKDOWN, attributes.get("href"), " ".join(node.text().split())[:200])

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _HEADINGS and self._in_heading:
            self._in_heading -= 1
            self._begin_section(_HEADINGS[tag])
        elif tag in ("td", "th"):
            self._in_cell = max(0, self._in_cell - 1)
        elif tag == "tr":
            self._end_block(tag)
        elif tag in _BLOCK_TAGS:
            self._end_block()
        self._in_pre -= tag == "pre"
        self._in_item -= tag == "li"

    def _add_text(self, text: str) -> None:
        room = MAX_TEXT - self.size
        self.size += len(text)
        text = text[:room]
        self._inline.append(text)
        if not self._in_heading and text.strip():
            self._pending = ""

    def _end_block(self, tag: str = "") -> None:
        """End a block of text; within a heading or a short table cell, add a space instead."""
        raw = "".join(self._inline)
        if self._in_heading or (self._in_cell and tag != "tr" and len(raw) < _LONG_CELL_CHARACTERS):
            self._inline[:] = [raw, " "]
            return
        self._inline.clear()
        if self._in_pre:
            text, tag = raw.strip("\n"), "pre"
        else:
            text = " ".join(raw.split())
            tag = tag or ("li" if self._in_item else "p")
        if text.strip():
            self._pieces.append((tag, f"- {text}" if tag == "li" else text))

    def _begin_section(self, level: int) -> None:
        name = " ".join("".join(self._inline).split())
        self._inline.clear()
        if not name:
            return
        self.end_section(level)
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        self._stack.append((level, name))
        self._anchor, self._pending = self._pending, ""

    def end_section(self, next_level: int) -> None:
        """End the current section, because a heading of `next_level` (0: the end of the page) follows.

        The text of a section without text is its heading, unless a subsection follows.
        """
        self._in_cell = 0
        self._end_block()
        text, before = "", ""
        for tag, piece in self._pieces:
            text = f"{text}\n{piece}" if tag == before and tag in ("li", "tr") else f"{text}\n\n{piece}"
            before = tag
        self._pieces.clear()
        if not text and self._stack and self._stack[-1][0] >= next_level:
            text = self._stack[-1][1]
        if text:
            self.parts.append(_PageSection(self._anchor, tuple(name for _, name in self._stack), text.strip("\n")))

    def _add_link(self, kind: LinkKind, address: str | None, text: str) -> None:
        """Add a link if its `address` is a relative path, which may lead to another file of the vault."""
        try:
            parts = urlsplit((address or "").strip())
        except ValueError:
            return
        if parts.path and not parts.scheme and not parts.netloc and not parts.path.startswith("/"):
            heading = unquote(parts.fragment) or None
            self.links.append(Link(kind, unquote(parts.path), len(self.parts) + 1, heading=heading, text=text or None))


# --- a book -----------------------------------------------------------------------------------------------------------


class _Book(Struct, frozen=True):
    """An EPUB book.

    `chapters` are the names of its text files in reading order; `names` are their titles in the table of contents.
    """

    title: str
    chapters: Sequence[str]
    names: Mapping[str, str]


def _open_book(archive: ZipFile) -> _Book:
    container = _parse_xml(archive, "META-INF/container.xml")
    root = next(node.get("full-path", "") for node in container.iter() if _local_name(node) == "rootfile")
    package = _parse_xml(archive, root)
    folder = posixpath.dirname(root)
    items = {node.get("id", ""): node for node in package.iter() if _local_name(node) == "item"}
    spine = [
        items[ref] for node in package.iter() if _local_name(node) == "itemref" and (ref := node.get("idref")) in items
    ]
    chapters = [_member_name(folder, node.get("href", "")) for node in spine if _is_chapter(node)]
    title = next((node.text or "" for node in package.iter() if _local_name(node) == "title"), "")
    names: dict[str, str] = {}
    for node in items.values():
        member = _member_name(folder, node.get("href", ""))
        with suppress(KeyError, ElementTree.ParseError):
            if "nav" in node.get("properties", "").split():
                names = {**names, **_epub3_contents(archive, member)}
            elif node.get("media-type") == "application/x-dtbncx+xml":
                names = {**_epub2_contents(archive, member), **names}
    return _Book(" ".join(title.split())[:200], chapters, names)


def _is_chapter(item: ElementTree.Element) -> bool:
    is_page = item.get("media-type") in _CHAPTER_TYPES or item.get("href", "").endswith((".xhtml", ".html", ".htm"))
    return is_page and "nav" not in item.get("properties", "").split()


def _read_chapters(archive: ZipFile, book: _Book) -> tuple[list[PagedText], bool]:
    parts: list[PagedText] = []
    size = 0
    for number, member in enumerate(book.chapters, start=1):
        try:
            data = archive.read(member)
        except KeyError:
            continue
        page = _read_page(_close_self_closed_tags(_decode_page(data)[0]))
        first = next((part.headings[0] for part in page.parts if part.headings), "")
        name = book.names.get(member, "")
        if not name or first.endswith(name):  # with a number before the name
            name = first or f"Chapter {number}"
        for part in page.parts:
            below = part.headings[1:] if part.headings[:1] == (name,) else part.headings
            parts.append(PagedText(f"chapter={number}", (name, *below), part.text))
            size += len(part.text)
        if page.is_cut or size > MAX_TEXT:
            return parts, True
    return parts, False


def _epub3_contents(archive: ZipFile, member: str) -> dict[str, str]:
    """Return the titles in the table of contents of an EPUB 3 book, by file name; `member` is its file."""
    from selectolax.lexbor import LexborHTMLParser

    names: dict[str, str] = {}
    for link in LexborHTMLParser(_decode_page(archive.read(member))[0]).css("nav a"):
        if address := link.attributes.get("href"):
            names.setdefault(_member_name(posixpath.dirname(member), address), " ".join(link.text().split()))
    return {file: name for file, name in names.items() if name}


def _epub2_contents(archive: ZipFile, member: str) -> dict[str, str]:
    """Return the titles in the table of contents of an EPUB 2 book, by file name; `member` is its file."""
    names: dict[str, str] = {}
    for point in _parse_xml(archive, member).iter():
        if _local_name(point) == "navPoint":
            label = next((node.text or "" for node in point.iter() if _local_name(node) == "text"), "")
            target = next((node.get("src", "") for node in point.iter() if _local_name(node) == "content"), "")
            names.setdefault(_member_name(posixpath.dirname(member), target), " ".join(label.split()))
    return {file: name for file, name in names.items() if name}


def _has_drm(archive: ZipFile, book: _Book) -> bool:
    """Return whether a chapter of the book is encrypted (DRM); encrypted fonts do not matter."""
    if "META-INF/encryption.xml" not in archive.namelist():
        return False
    uris = (unquote(node.get("URI", "")) for node in _parse_xml(archive, "META-INF/encryption.xml").iter())
    return not set(uris).isdisjoint(book.chapters)


def _parse_xml(archive: ZipFile, member: str) -> ElementTree.Element:
    """Parse an XML file of a book. Raises ReadError for custom entities, because they may expand without end."""
    data = archive.read(member)
    if b"<!ENTITY" in data:
        raise ReadError("The file is damaged and cannot be read as EPUB.", "Restore it from another copy.")
    return ElementTree.fromstring(data)


def _local_name(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]


def _member_name(folder: str, address: str) -> str:
    """Return the name in the archive of the file at `address`, which is relative to `folder`."""
    return posixpath.normpath(posixpath.join(folder, unquote(address.partition("#")[0])))
