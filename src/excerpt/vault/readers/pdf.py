"""The reader of PDFs: a section for each page, with the lines joined into paragraphs.

PDFium returns a page's text in the order of the file, line by line. Paragraphs are detected by the positions of the
lines; text at the top or bottom of most pages is left out. Since PDFium is not thread-safe, a process reads one
document at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from excerpt.base.errors import OcrMissingError, ReadError
from excerpt.base.model import Note
from excerpt.base.patterns import lazy_pattern
from excerpt.base.settings import Ocr
from excerpt.vault.readers import PagedText, ReadOptions, convert_damage_errors, paged_note, require_library

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

    from excerpt.vault.readers.ocr import RecognisedText

MAX_TEXT = 5_000_000
"""Maximum number of characters read of one file."""
MAX_SCANNED_LETTERS = 25
"""A page with fewer letters, and an image over more than half of it, counts as scanned.

As in paperless, OCR does not read a page that has text.
"""
_MIN_IMAGE_SHARE = 0.5
_MAX_PIXELS = 20_000_000
_PIXELS_PER_POINT = 200 / 72

_MAX_HEADER_LINES = 2
_EDGE_SHARE = 0.12
"""Share of a page's height, at its top and bottom, where repeated lines are headers or footers."""
_MAX_PAGES_SHARE = 0.6
_MIN_PAGES = 4

# How a new paragraph is detected: by a gap (in usual gaps between baselines), by an indent (in line heights), or by a
# ratio of line heights.
_PARAGRAPH_GAP = 1.35
_MIN_INDENT = 0.8
_HEIGHT_RATIO = 1.15
_LONG_PARAGRAPH_WORDS = 120
"""Number of words above which a paragraph is split into lines of whole sentences, where a fragment may end."""
_LINE_WORDS = 60

# How a line is told that ends before the edge of its column: by the mean width of its characters (in usual widths), by
# the lines that begin within some heights of it, and by the space left (in widths of its longest line) if no positions
# are known.
_ROW_RATIO = 1.6
_NEAR_HEIGHTS = 6
_UNKNOWN_SLACK = 0.2
# Characters of scripts that are written without spaces, except Korean; a line of them may end early by this many.
_WIDE = lazy_pattern(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]"
)
_WIDE_WORD = 3

_UNTITLED = lazy_pattern(r"(?i)untitled|microsoft word|.*\.(?:docx?|pptx?|tex|dvi|indd|qxd|pdf|html?|md|odt)|[\W\d_]*")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_DIGITS = lazy_pattern(r"\d+|\b[ivxlc]+\b")
_BULLET = lazy_pattern(r"(?:[•‣▪●○◦*–-]|\(?[\da-z]{1,3}[.)])\s")
_SENTENCE_END = lazy_pattern(r"(?<=[.!?:;])[\"'”’)]*\s+")
_HYPHENATED = lazy_pattern("(\\w*)[\ufffe\x02](\\w*)|(\\w+)\u00ad(\\w*)")
_HYPHENED = lazy_pattern("(\\w+)[-\u2010]$")


class PdfReader(Struct, frozen=True):
    """The reader of PDFs."""

    kind: str = "pdf"
    version: str = "3"
    extensions: tuple[str, ...] = (".pdf",)

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note with a section for each page; see Reader.read.

        Without OCR, scanned pages count as `unread`. Pages over the limit are a warning of the note.
        """
        with require_library("PDFs"):
            import pypdfium2
        if b"%PDF-" not in data[:1024]:
            raise ReadError("The file is not a PDF, despite its name.")
        with convert_damage_errors("PDF"):
            try:
                document = pypdfium2.PdfDocument(data)
            except pypdfium2.PdfiumError as error:
                if "password" in str(error).lower():
                    raise ReadError("The file is protected by a password.", "Save it without a password.") from None
                raise
            return _read_document(document, path, options)


def _read_document(document: PdfDocument, path: str, options: ReadOptions) -> Note:
    pages, scanned, left = _read_pages(document, options)
    unread = scanned if options.ocr is Ocr.OFF else 0
    bodies = _remove_headers_and_footers(pages)
    texts = (line.text.replace("\u2010", "-") for lines in bodies for line in lines)
    word_counts = Counter(word for text in texts for word in re.findall(r"\w+(?:-\w+)*", text))
    above = _read_outline_titles(document)
    parts = []
    for page, lines in zip(pages, bodies, strict=True):
        text = page.recognised or "\n\n".join(_join_paragraphs(lines, word_counts))
        headings = (*above.get(page.number, ()), f"{page.label}{' (OCR)' if page.recognised else ''}")
        parts.append(PagedText(f"page={page.number}", headings, text))
    if not unread and not any(part.text.strip() for part in parts):
        raise ReadError("The file has no text.")
    return paged_note(path, parts, options, title=_read_title(document), warnings=left, unread=unread)


# --- pages ------------------------------------------------------------------------------------------------------------


class _TextLine(Struct, frozen=True):
    """A line of text and its position, in points from the page's lower left; all 0 if unknown."""

    text: str
    left: float = 0.0
    bottom: float = 0.0
    height: float = 0.0
    right: float = 0.0


class _PdfPage(Struct, frozen=True):
    """A page. `number` counts from 1, `label` is the page's heading, and `recognised` is the text found by OCR."""

    number: int
    label: str
    lines: Sequence[_TextLine]
    height: float
    recognised: str = ""


def _read_pages(document: PdfDocument, options: ReadOptions) -> tuple[list[_PdfPage], int, list[str]]:
    """Return the pages, the number of scanned pages, and warnings about pages that were not or badly read."""
    pages: list[_PdfPage] = []
    warnings: list[str] = []
    scanned = size = 0
    ocr_pages: list[RecognisedText] = []
    failed = ""
    for index in range(min(len(document), options.max_pages)):
        page = document[index]
        text_page, height = page.get_textpage(), page.get_height()
        try:
            lines = _read_lines(text_page)
            recognised = ""
            if sum(map(str.isalpha, "".join(line.text for line in lines))) < MAX_SCANNED_LETTERS and _is_scanned(page):
                scanned += 1
                if options.ocr is not Ocr.OFF:
                    try:
                        ocr_pages.append(_recognise_page(page, options))
                        recognised = ocr_pages[-1].text
                    except OcrMissingError:
                        raise
                    except ReadError as error:
                        failed = f"Page {index + 1} is not read by OCR: {error.message}"
        finally:
            text_page.close()
            page.close()
        pages.append(_PdfPage(index + 1, _page_heading(document, index), lines, height, recognised))
        size += len(recognised) + sum(len(line.text) + 1 for line in lines)
        if size > MAX_TEXT:
            break
    if left := len(document) - len(pages):
        warnings.append(f"Only the first {len(pages):,} of {len(pages) + left:,} pages are read.")
    if ocr_pages:
        from excerpt.vault.readers.ocr import ocr_warning

        warnings += ocr_warning(min(ocr_pages, key=lambda each: each.confidence if each.text else 100.0))
    return pages, scanned, [*warnings, *([failed] if failed else [])]


def _page_heading(document: PdfDocument, index: int) -> str:
    """Return the heading of the page at `index` (from 0): its number, and its printed label if that differs."""
    label = document.get_page_label(index)
    number = str(index + 1)
    return f"Page {number}" if label in ("", number) or len(label) > 20 else f"Page {number} ({label})"


def _read_lines(page: PdfTextPage) -> list[_TextLine]:
    """Return the lines of a page with their positions.

    PDFium is asked for two positions per line: asking for each letter's takes ten times as long as all else.
    """
    raw = page.get_text_range()
    is_aligned = len(raw) == page.count_chars()
    lines: list[_TextLine] = []
    at = 0
    for text in raw.split("\r\n"):
        logical = _in_reading_order(page, text, at) if is_aligned and _RTL.search(text) else text
        shown = " ".join(logical.translate(_LIGATURES).split())
        if shown:
            if is_aligned:
                begin = at + len(text) - len(text.lstrip())
                left, bottom, _, top = page.get_charbox(begin, loose=True)
                right = page.get_charbox(at + len(text.rstrip()) - 1, loose=True)[2]
                lines.append(_TextLine(shown, left, bottom, top - bottom, right))
            else:
                lines.append(_TextLine(shown))
        at += len(text) + 2
    return lines


_RTL = lazy_pattern(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+")
_RTL_RUN = lazy_pattern(rf"{_RTL.pattern}(?:[ \u200c\u200d]{_RTL.pattern})*")


def _in_reading_order(page: PdfTextPage, text: str, offset: int) -> str:
    """Return a line's `text` with right-to-left words in reading order.

    Some files store letters and words of such scripts from left to right, as they are on the page. `offset` is the
    index of the line's first character in the text of the page.
    """

    def is_visual(first: int, last: int) -> bool:
        left, right = (page.get_charbox(offset + each, loose=True)[0] for each in (first, last))
        return bool(left < right)

    def ordered(run: re.Match[str]) -> str:
        words = list(_RTL.finditer(text, run.start(), run.end()))
        shown = [word[0][::-1] if is_visual(word.start(), word.end() - 1) else word[0] for word in words]
        return " ".join(reversed(shown) if is_visual(words[0].start(), words[-1].start()) else shown)

    return _RTL_RUN.sub(ordered, text)


def _is_scanned(page: PdfPage) -> bool:
    """Return whether an image covers more than half of the page."""
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    whole = page.get_width() * page.get_height() or 1.0
    for image in page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=3):
        left, bottom, right, top = image.get_bounds()
        if (right - left) * (top - bottom) > _MIN_IMAGE_SHARE * whole:
            return True
    return False


def _recognise_page(page: PdfPage, options: ReadOptions) -> RecognisedText:
    """Return the text that OCR recognises in a scanned page. Raises ReadError."""
    from excerpt.vault.readers.ocr import recognise_text

    pixels = page.get_width() * page.get_height() * _PIXELS_PER_POINT**2
    scale = _PIXELS_PER_POINT * min(1.0, (_MAX_PIXELS / max(pixels, 1.0)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True)
    shades = bitmap.to_numpy()
    image = b"P5\n%d %d\n255\n" % (bitmap.width, bitmap.height) + shades.reshape(bitmap.height, -1).tobytes()
    return recognise_text(image, options.ocr, options.language)


def _read_outline_titles(document: PdfDocument) -> dict[int, tuple[str, ...]]:
    """Return the path of outline titles that each page belongs to, by page number; {} without an outline."""
    chapters: dict[int, tuple[str, ...]] = {}
    path: list[str] = []
    for entry in document.get_toc(max_depth=6):
        del path[entry.level :]
        path.append(" ".join(entry.get_title().split()))
        target = entry.get_dest()
        index = target.get_index() if target is not None else None
        if index is not None:
            chapters.setdefault(index + 1, tuple(filter(None, path)))
    outline: dict[int, tuple[str, ...]] = {}
    headings: tuple[str, ...] = ()
    for number in range(1, len(document) + 1 if chapters else 1):
        headings = chapters.get(number, headings)
        outline[number] = headings
    return outline


def _read_title(document: PdfDocument) -> str:
    """Return the title in the file's metadata, or "" if it is a default such as "Untitled"."""
    title = " ".join(document.get_metadata_value("Title").split())
    return "" if _UNTITLED.fullmatch(title) or title.lower().startswith("microsoft word") else title[:200]


# --- from lines to paragraphs -----------------------------------------------------------------------------------------


def _remove_headers_and_footers(pages: Sequence[_PdfPage]) -> list[Sequence[_TextLine]]:
    """Return the lines of each page without headers and footers, also if these contain page numbers."""
    if len(pages) < _MIN_PAGES:
        return [page.lines for page in pages]
    edges = [
        {_header_key(line) for line in (*page.lines[:_MAX_HEADER_LINES], *page.lines[-_MAX_HEADER_LINES:])}
        for page in pages
    ]
    counts = Counter(key for keys in edges for key in keys)
    often = {key for key, count in counts.items() if count > _MAX_PAGES_SHARE * len(pages)}

    def is_head(page: _PdfPage, at: int) -> bool:
        line = page.lines[at]
        is_outside = not _EDGE_SHARE * page.height < line.bottom < (1 - _EDGE_SHARE) * page.height
        return is_outside and _header_key(line) in often

    bodies = []
    for page in pages:
        first, last = 0, len(page.lines)
        while first < min(_MAX_HEADER_LINES, last) and is_head(page, first):
            first += 1
        while last > max(len(page.lines) - _MAX_HEADER_LINES, first) and is_head(page, last - 1):
            last -= 1
        bodies.append(page.lines[first:last])
    return bodies


def _header_key(line: _TextLine) -> str:
    return _DIGITS.sub("#", line.text.casefold())


def _join_paragraphs(lines: Sequence[_TextLine], word_counts: Counter[str]) -> Iterator[str]:
    """Yield the paragraphs of a page, each on one line, or on several if it is long."""
    line_gaps = [above.bottom - below.bottom for above, below in pairwise(lines)]
    # With short paragraphs, half of the line distances are those between paragraphs.
    ascending = sorted(each for each in line_gaps if each > 0) or [0.0]
    usual_gap = ascending[len(ascending) // 4]
    right = max((line.right for line in lines), default=0.0)
    columns = _Columns(lines)
    gathered: list[_TextLine] = []
    for line in lines:
        if gathered and _begins_paragraph(gathered, line, usual_gap, right):
            yield from _join_lines(gathered, word_counts, columns)
            gathered = []
        gathered.append(line)
    if gathered:
        yield from _join_lines(gathered, word_counts, columns)


def _begins_paragraph(above: Sequence[_TextLine], line: _TextLine, usual_gap: float, right: float) -> bool:
    """Return whether a new paragraph begins with `line`.

    `above` are the paragraph's lines so far, `usual_gap` is the usual distance of baselines on the page, and `right`
    the right edge of the page's text, in points.
    """
    before = above[-1]
    if not line.height or not before.height:
        return False
    if not 1 / _HEIGHT_RATIO < line.height / before.height < _HEIGHT_RATIO or _BULLET.match(line.text):
        return True
    gap = before.bottom - line.bottom
    ends = before.text[-1:] in ".!?:"
    if gap < 0:  # a column ends
        return ends
    if gap > _PARAGRAPH_GAP * usual_gap > 0:
        return True
    indent = line.left - above[0].left if len(above) == 1 else line.left - before.left
    is_short = before.right < right - 8 * line.height
    return ends and (is_short or indent > _MIN_INDENT * line.height)


class _Columns:
    """The widths of a page's lines, to distinguish line breaks of the author from those for lack of space."""

    def __init__(self, lines: Sequence[_TextLine]) -> None:
        self._edges = [(line.left, _right_end(line)) for line in lines]
        units = sorted(_mean_cell_width(line) for line in lines)
        self._usual_unit = units[len(units) // 2] if units else 1.0

    def find_line_breaks(self, lines: Sequence[_TextLine]) -> set[int]:
        """Return the indexes of the lines of a paragraph that begin on a line of their own, as in a listing or table.

        Such a line follows one that ends before the edge of its column although the next word would have fitted. A
        paragraph in a narrow box has no such lines: its lines are also compared with each other.
        """
        own_edge = max(map(_right_end, lines))
        pairs = [(at, above, below) for at, (above, below) in enumerate(pairwise(lines), 1)]
        rows = {at for at, *pair in pairs if max(map(_mean_cell_width, pair)) > _ROW_RATIO * self._usual_unit}
        if not any(_ends_early(above, below, own_edge) for _, above, below in pairs):
            return rows
        return rows | {at for at, above, below in pairs if _ends_early(above, below, self._column_edge(above))}

    def _column_edge(self, line: _TextLine) -> float:
        """Return the right edge of the column of a line.

        It is the right edge of the third-longest of the lines that begin near it, so that a wide title does not count.
        """
        near = _NEAR_HEIGHTS * line.height
        ends = sorted((end for left, end in self._edges if abs(left - line.left) <= near), reverse=True)
        return ends[min(2, len(ends) - 1)]


def _ends_early(above: _TextLine, below: _TextLine, edge: float) -> bool:
    """Return whether the first word of the line `below` would have fitted in the line `above` of a column."""
    if _HYPHENED.search(above.text) or above.text[-1:] in "\ufffe\x02\u00ad":
        return False
    word = below.text[:_WIDE_WORD] if _WIDE.match(below.text) else below.text.split(" ", 1)[0]
    slack = 2 * _mean_cell_width(above) if above.height else _UNKNOWN_SLACK * edge
    return _right_end(above) + _mean_cell_width(above) * _count_cells(word) + slack < edge


def _right_end(line: _TextLine) -> float:
    """Return the right edge of a line, in cells if its position is unknown."""
    return line.right if line.height else float(_count_cells(line.text))


def _mean_cell_width(line: _TextLine) -> float:
    """Return the mean width of the cells of a line; 1 if its position is unknown."""
    return max(line.right - line.left, 0.0) / max(_count_cells(line.text), 1) if line.height else 1.0


def _count_cells(text: str) -> int:
    """Return the width of a text if Chinese and Japanese characters are twice as wide as others."""
    return len(text) + sum(map("\u2e80".__le__, text))


def _join_lines(lines: Sequence[_TextLine], word_counts: Counter[str], columns: _Columns) -> Iterator[str]:
    text = ""
    breaks = columns.find_line_breaks(lines)
    for at, line in enumerate(lines):
        hyphened = _HYPHENED.search(text)
        if at in breaks:
            text = f"{text}\n{line.text}"
        elif hyphened and line.text[:1].islower():
            rest = re.match(r"\w*", line.text)
            word = _join_divided_word(hyphened[1], rest[0] if rest else "", word_counts)
            text = f"{text[: hyphened.start()]}{word}{line.text[rest.end() if rest else 0 :]}"
        elif _WIDE.match(text[-1:]) and _WIDE.match(line.text):
            text += line.text
        else:
            text = f"{text} {line.text}" if text else line.text
    text = _HYPHENATED.sub(
        lambda match: _join_divided_word(match[1] or match[3] or "", match[2] or match[4] or "", word_counts), text
    )
    words = len(text.split())
    if words > _LONG_PARAGRAPH_WORDS:
        text = "\n".join(line for written in text.split("\n") for line in _sentence_lines(written))
    yield text


def _join_divided_word(first: str, second: str, word_counts: Counter[str]) -> str:
    """Join the two parts of a word that was divided at a line end.

    The hyphen is kept if `word_counts`, the file's words, has the word with a hyphen more often.
    """
    plain, hyphened = first + second, f"{first}-{second}"
    return hyphened if word_counts[hyphened] > word_counts[plain] or first.isdigit() or second[:1].isupper() else plain


def _sentence_lines(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, joined to lines of `_LINE_WORDS` words or more."""
    line: list[str] = []
    words = 0
    for sentence in _SENTENCE_END.split(text):
        line.append(sentence)
        words += len(sentence.split())
        if words >= _LINE_WORDS:
            yield " ".join(line)
            line, words = [], 0
    if line:
        yield " ".join(line)
