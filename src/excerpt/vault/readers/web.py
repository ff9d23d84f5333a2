"""Web pages and EPUB books: a section for each heading, at its anchor or in its chapter."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from excerpt.errors import ReadError
from excerpt.kinds import LinkKind
from excerpt.model import Link, Note
from excerpt.vault.readers import PagedText, ReadOptions, library, paged_note, report_damage, safe_zip
from excerpt.vault.readers.markdown import decode

if TYPE_CHECKING:
    from zipfile import ZipFile

    from selectolax.lexbor import LexborNode

MAX_TEXT = 5_000_000
"""Maximum number of characters read of one file."""
_DROPPED = frozenset({"script", "style", "template", "nav", "head", "noscript", "svg", "iframe", "object", "select"})
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl"),
    *("dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr"),
    *("legend", "li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead"),
    *("tr", "ul"),
}
_LONG_CELL = 300
"""Number of characters above which a table cell is text, not a value: tables were used for page layout."""
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CHARSET = re.compile(rb"""(?i)<(?:meta[^>]{1,200}?charset\s*=\s*["']?|\?xml[^>]{1,60}?encoding=["'])([\w.:-]{1,40})""")
_TAG = re.compile(r"(?i)<(?:!doctype|html|head|body|title|meta|[a-z][a-z0-9]{0,10}[\s>/])")
_SELF_CLOSED = re.compile(r"(?i)<(title|script|style|iframe|textarea|a|div|span|p)\b([^<>]{0,300})/>")
_CHAPTER_TYPES = ("application/xhtml+xml", "text/html")


@dataclass(frozen=True, slots=True)
class HtmlReader:
    kind: str = "html"
    version: str = "2"
    extensions: tuple[str, ...] = (".html", ".htm", ".xhtml")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Return the note, as Reader.read does. Text hidden by styles is included."""
        text, warning = _decoded(data)
        if not _TAG.search(text):
            raise ReadError("It is not HTML, despite its name.")
        with library("Web pages"), report_damage("HTML"):
            page = _read_page(_as_html(text) if _is_xml(text, path) else text)
        parts = [PagedText(part.anchor, part.headings, part.text) for part in page.parts]
        if not parts:
            raise ReadError("There is no text in it.")
        warnings = [sentence for sentence in (warning, _TOO_LONG if page.is_cut else "") if sentence]
        return paged_note(path, parts, options, title=page.title, links=page.links, warnings=warnings)


@dataclass(frozen=True, slots=True)
class EpubReader:
    kind: str = "epub"
    version: str = "1"
    extensions: tuple[str, ...] = (".epub",)

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Return the note, as Reader.read does. Chapters are the files of the book in reading order, counted from 1."""
        with safe_zip(data) as archive, library("Books"), report_damage("EPUB"):
            if "META-INF/container.xml" not in archive.namelist():
                raise ReadError("It is not an EPUB, despite its name.")
            book = _opened(archive)
            if _is_protected(archive, book):
                raise ReadError("It is encrypted (DRM): only its seller's programs can read it.")
            parts, is_cut = _chapters(archive, book)
        if not parts:
            raise ReadError("There is no text in it.")
        return paged_note(path, parts, options, title=book.title, warnings=[_TOO_LONG] if is_cut else [])


_TOO_LONG = f"Only the first {MAX_TEXT:,} characters of it are read."


def _decoded(data: bytes) -> tuple[str, str]:
    """Return a page's text in the encoding that it names, unless it is UTF-8, and a warning."""
    with suppress(UnicodeDecodeError):
        return decode(data) if data.count(0) else (data.decode("utf-8-sig"), "")
    named = _CHARSET.search(data[:4096])
    with suppress(LookupError):
        if named and (encoding := named[1].decode()).lower() not in ("utf-8", "utf8"):
            return data.decode("cp1252" if encoding.lower() == "iso-8859-1" else encoding, "replace"), ""
    return decode(data)


def _is_xml(text: str, path: str) -> bool:
    return path.lower().endswith(".xhtml") or text[:100].lstrip().startswith("<?xml")


def _as_html(text: str) -> str:
    """Return XHTML changed for an HTML parser, for which `<script/>` would continue to the end of the page."""
    return _SELF_CLOSED.sub(r"<\1\2></\1>", text)


# --- a page -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Headed:
    """The text under a heading, and the heading's anchor, "" if it has none."""

    anchor: str
    headings: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _WebPage:
    title: str
    parts: Sequence[_Headed]
    links: Sequence[Link]
    is_cut: bool


def _read_page(text: str) -> _WebPage:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    title = tree.css_first("title")
    reading = _PageWalk()
    if tree.body is not None:
        for node, entered in _walk(tree.body):
            if entered:
                reading.enter(node)
            else:
                reading.leave(node)
            if reading.size > MAX_TEXT:
                break
    reading.finish(0)
    name = " ".join((title.text() or "").split())[:200] if title is not None else ""
    return _WebPage(name, reading.parts, reading.links, reading.size > MAX_TEXT)


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield each visible node at its start and its end, in document order.

    Without recursion, because pages may be nested to any depth.
    """
    node = root
    while True:
        dropped = _is_dropped(node)
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


def _is_dropped(node: LexborNode) -> bool:
    tag = node.tag or ""
    if tag in _DROPPED or tag in ("-comment", "!--", "-doctype", "_comment"):
        return True
    if tag == "-text":
        return False
    attributes = node.attributes
    if attributes.get("role") == "navigation":
        return True
    return tag == "a" and "headerlink" in (attributes.get("class") or "")


class _PageWalk:
    """State of the walk over a page."""

    def __init__(self) -> None:
        self.parts: list[_Headed] = []
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
            self._take(node.text_content or "")
            return
        attributes = node.attributes
        if anchor := attributes.get("id") or (attributes.get("name") if tag == "a" else ""):
            self._pending = self._pending if self._in_heading and self._pending else anchor
        if tag in _HEADINGS:
            self._in_cell = 0
        if tag in _BLOCKS and tag not in ("td", "th"):
            self._break()
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
            self._link(LinkKind.EMBED, attributes.get("src"), attributes.get("alt") or "")
        elif tag == "a":
            self._link(LinkKind.MARKDOWN, attributes.get("href"), " ".join(node.text().split())[:200])

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _HEADINGS and self._in_heading:
            self._in_heading -= 1
            self._begin(_HEADINGS[tag])
        elif tag in ("td", "th"):
            self._in_cell = max(0, self._in_cell - 1)
        elif tag == "tr":
            self._break(tag)
        elif tag in _BLOCKS:
            self._break()
        self._in_pre -= tag == "pre"
        self._in_item -= tag == "li"

    def _take(self, text: str) -> None:
        room = MAX_TEXT - self.size
        self.size += len(text)
        text = text[:room]
        self._inline.append(text)
        if not self._in_heading and text.strip():
            self._pending = ""

    def _break(self, tag: str = "") -> None:
        """End a block of text; within a heading or a short table cell this is only a space."""
        raw = "".join(self._inline)
        if self._in_heading or (self._in_cell and tag != "tr" and len(raw) < _LONG_CELL):
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

    def _begin(self, level: int) -> None:
        name = " ".join("".join(self._inline).split())
        self._inline.clear()
        if not name:
            return
        self.finish(level)
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        self._stack.append((level, name))
        self._anchor, self._pending = self._pending, ""

    def finish(self, next_level: int) -> None:
        """End the text under a heading; a heading without text below it is its own text."""
        self._in_cell = 0
        self._break()
        text, before = "", ""
        for tag, piece in self._pieces:
            text = f"{text}\n{piece}" if tag == before and tag in ("li", "tr") else f"{text}\n\n{piece}"
            before = tag
        self._pieces.clear()
        if not text and self._stack and self._stack[-1][0] >= next_level:
            text = self._stack[-1][1]
        if text:
            self.parts.append(_Headed(self._anchor, tuple(name for _, name in self._stack), text.strip("\n")))

    def _link(self, kind: LinkKind, address: str | None, text: str) -> None:
        """Add a link to another file of the vault."""
        try:
            parts = urlsplit((address or "").strip())
        except ValueError:
            return
        if parts.path and not parts.scheme and not parts.netloc and not parts.path.startswith("/"):
            heading = unquote(parts.fragment) or None
            self.links.append(Link(kind, unquote(parts.path), len(self.parts) + 1, heading=heading, text=text or None))


# --- a book -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Book:
    """An EPUB book: `chapters` are the names of its files in order, `names` their titles in the table of contents."""

    title: str
    chapters: Sequence[str]
    names: Mapping[str, str]


def _opened(archive: ZipFile) -> _Book:
    container = _xml(archive, "META-INF/container.xml")
    root = next(node.get("full-path", "") for node in container.iter() if _name(node) == "rootfile")
    package = _xml(archive, root)
    folder = posixpath.dirname(root)
    items = {node.get("id", ""): node for node in package.iter() if _name(node) == "item"}
    spine = [items[ref] for node in package.iter() if _name(node) == "itemref" and (ref := node.get("idref")) in items]
    chapters = [_within(folder, node.get("href", "")) for node in spine if _is_chapter(node)]
    title = next((node.text or "" for node in package.iter() if _name(node) == "title"), "")
    names: dict[str, str] = {}
    for node in items.values():
        member = _within(folder, node.get("href", ""))
        with suppress(KeyError, ElementTree.ParseError):
            if "nav" in node.get("properties", "").split():
                names = {**names, **_contents(archive, member)}
            elif node.get("media-type") == "application/x-dtbncx+xml":
                names = {**_old_contents(archive, member), **names}
    return _Book(" ".join(title.split())[:200], chapters, names)


def _is_chapter(item: ElementTree.Element) -> bool:
    is_page = item.get("media-type") in _CHAPTER_TYPES or item.get("href", "").endswith((".xhtml", ".html", ".htm"))
    return is_page and "nav" not in item.get("properties", "").split()


def _chapters(archive: ZipFile, book: _Book) -> tuple[list[PagedText], bool]:
    parts: list[PagedText] = []
    size = 0
    for number, member in enumerate(book.chapters, start=1):
        try:
            data = archive.read(member)
        except KeyError:
            continue
        page = _read_page(_as_html(_decoded(data)[0]))
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


def _contents(archive: ZipFile, member: str) -> dict[str, str]:
    """Return the titles of files in the table of contents of EPUB 3."""
    from selectolax.lexbor import LexborHTMLParser

    names: dict[str, str] = {}
    for link in LexborHTMLParser(_decoded(archive.read(member))[0]).css("nav a"):
        if address := link.attributes.get("href"):
            names.setdefault(_within(posixpath.dirname(member), address), " ".join(link.text().split()))
    return {file: name for file, name in names.items() if name}


def _old_contents(archive: ZipFile, member: str) -> dict[str, str]:
    """Return the titles of files in the table of contents of EPUB 2."""
    names: dict[str, str] = {}
    for point in _xml(archive, member).iter():
        if _name(point) == "navPoint":
            label = next((node.text or "" for node in point.iter() if _name(node) == "text"), "")
            target = next((node.get("src", "") for node in point.iter() if _name(node) == "content"), "")
            names.setdefault(_within(posixpath.dirname(member), target), " ".join(label.split()))
    return {file: name for file, name in names.items() if name}


def _is_protected(archive: ZipFile, book: _Book) -> bool:
    """Return whether more than the fonts is encrypted."""
    if "META-INF/encryption.xml" not in archive.namelist():
        return False
    uris = (unquote(node.get("URI", "")) for node in _xml(archive, "META-INF/encryption.xml").iter())
    return not set(uris).isdisjoint(book.chapters)


def _xml(archive: ZipFile, member: str) -> ElementTree.Element:
    """Parse an XML part of a book. Custom entities are refused, because they may expand without end."""
    data = archive.read(member)
    if b"<!ENTITY" in data:
        raise ReadError("It is damaged: it cannot be read as EPUB.", "Restore it from another copy.")
    return ElementTree.fromstring(data)


def _name(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]


def _within(folder: str, address: str) -> str:
    """Return the name of a book's file from an address relative to `folder`."""
    return posixpath.normpath(posixpath.join(folder, unquote(address.partition("#")[0])))
