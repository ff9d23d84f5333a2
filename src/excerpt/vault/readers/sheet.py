"""Readers of spreadsheets and CSV files: a section for each range of rows, with the table's header."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from io import BytesIO, StringIO
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.errors import ReadError
from excerpt.base.model import CommentLine, Note
from excerpt.text.comments import may_have_comments, take_out_comments
from excerpt.vault.readers import (
    PagedText,
    ReadOptions,
    clean_text,
    convert_damage_errors,
    open_safe_zip,
    paged_note,
    require_library,
)
from excerpt.vault.readers.markdown import decode

MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 5_000, 50, 200_000
"""Maximum number of rows of a file, of columns of each sheet, and of characters read: more is data."""
_SECTION_ROWS = 40
"""Number of rows in a section."""
_MAX_READ_COLUMNS = 1_000
"""Number of columns of a sheet that are examined; MAX_COLUMNS of these that are not blank are read."""
_DELIMITERS = "\t;|,"
"""The delimiters to try; the comma is last, because prose and numbers contain it too."""
_SAMPLE_LINES = 50
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BIFF = (b"\x09\x08", b"\x09\x04", b"\x09\x02", b"\x09\x00")

NumberedRow = tuple[int, list[str]]
"""A row that is not blank: its number, counted from 1, and the texts of its cells."""


class SheetReader(Struct, frozen=True):
    """The reader of spreadsheets."""

    kind: str = "sheet"
    version: str = "3"
    extensions: tuple[str, ...] = (".xlsx", ".xlsm", ".xls", ".ods")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note from the values of cells (not the formulas); see Reader.read."""
        if data.startswith(_ZIP):
            open_safe_zip(data).close()
        elif not data.startswith((_OLE, *_BIFF)):
            raise ReadError("The file is not a spreadsheet, despite its name.")
        with require_library("Spreadsheets"):
            import python_calamine
        with convert_damage_errors("a spreadsheet"):
            try:
                workbook = python_calamine.CalamineWorkbook.from_filelike(BytesIO(data))
                return _workbook_note(workbook, path, options)
            except python_calamine.PasswordError:
                raise ReadError("The file is protected by a password.", "Save it without a password.") from None


class CsvReader(Struct, frozen=True):
    """The reader of CSV and TSV files."""

    kind: str = "sheet"
    version: str = "3"
    extensions: tuple[str, ...] = (".csv", ".tsv")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note; see Reader.read. Rows are numbered as in RFC 7111: the header is row 1."""
        text, warning = decode(data)
        delimiter = "\t" if PurePosixPath(path).suffix.lower() == ".tsv" else _detect_delimiter(text)
        sheet_rows = _SheetParts()
        rows = [(number, [" ".join(value.split()) for value in row]) for number, row in _csv_rows(text, delimiter)]
        header = _find_header(rows, is_text=lambda value: not _is_number(value))
        data_rows = rows[1:] if header and len(rows) > 1 else rows
        sheet_rows.add(data_rows, rows[0][1] if header and len(rows) > 1 else [], _name_row_range)
        note = sheet_rows.note(path, options)
        return replace(note, warnings=(warning, *note.warnings)) if warning else note


# --- ranges -----------------------------------------------------------------------------------------------------------


class _SheetParts:
    """The parts of a sheet file that have been read so far, within the limits.

    `rows` and `size` (in characters) are what was read; `rows_left` and `columns_left` count what exceeds the limits;
    `is_cut` is true if text was cut off.
    """

    def __init__(self) -> None:
        self.parts: list[PagedText] = []
        self.rows = self.size = 0
        self.rows_left = self.columns_left = 0
        self.is_cut = False

    def add(
        self,
        rows: Sequence[NumberedRow],
        header: Sequence[str],
        locate: Callable[[NumberedRow, NumberedRow, int, int], Sequence[str]],
    ) -> None:
        """Add the rows of a table, in parts of `_SECTION_ROWS` rows.

        `locate` returns the location and heading of a part from its first row, last row, first column and last column.
        """
        used = sorted({column for _, values in (*rows, (0, header)) for column, value in enumerate(values) if value})
        columns = used[:MAX_COLUMNS]
        self.columns_left = max(self.columns_left, len(used) - len(columns))
        for start in range(0, len(rows), _SECTION_ROWS):
            chunk = rows[start : start + min(_SECTION_ROWS, MAX_ROWS - self.rows)]
            if not chunk or self.size >= MAX_TEXT:
                self.rows_left += len(rows) - start
                return
            read_rows = [_read_row(values, columns) for _, values in chunk]
            if header and chunk[0][1] != list(header):
                read_rows.insert(0, _read_row(header, columns))
            read_rows = [(line, comments) for line, comments in read_rows if line or comments]
            whole = "\n".join(line for line, _ in read_rows)
            text = whole[: MAX_TEXT - self.size]
            self.is_cut = len(text) < len(whole)
            location, heading = locate(chunk[0], chunk[-1], columns[0], columns[-1])
            whole_rows = enumerate(read_rows[: text.count("\n") + (not self.is_cut)], start=1)
            comments = tuple(each._replace(line=number) for number, (_, own) in whole_rows for each in own)
            self.parts.append(PagedText(location, (heading,), text, comments))
            self.rows += len(chunk)
            self.size += len(text)
            if len(chunk) < len(rows[start : start + _SECTION_ROWS]):
                self.rows_left += len(rows) - start - len(chunk)
                return

    def note(self, path: str, options: ReadOptions) -> Note:
        if not self.parts:
            raise ReadError("The file has no text.")
        left = []
        if self.rows_left:
            left.append(f"Only the first {self.rows:,} rows of the file are read; {self.rows_left:,} are left out.")
        if self.is_cut:
            left.append(f"Only the first {MAX_TEXT:,} characters of the file are read.")
        if self.columns_left:
            left.append(f"Only {MAX_COLUMNS} columns of the file are read; {self.columns_left:,} are left out.")
        return paged_note(path, self.parts, options, warnings=left)


def _read_row(values: Sequence[str], columns: Iterable[int]) -> tuple[str, list[CommentLine]]:
    """Return the cells of `columns` in a row as clean text, and the comments in the cells.

    Empty cells at the end of the row are left out, except those before a comment.
    """
    cells = [values[column] if column < len(values) else "" for column in columns]
    if not any(map(may_have_comments, cells)):
        return clean_text(" | ".join(cells)).rstrip(" |"), []
    comments: list[CommentLine] = []
    at = 0
    for number, cell in enumerate(cells):
        cells[number], own = take_out_comments(clean_text(cell), 0, ())
        comments += (comment._replace(column=comment.column + at) for comment in own)
        at += len(cells[number]) + len(" | ")
    line = " | ".join(cells)
    last = comments[-1].column if comments and any(cells) else 0
    return line[:last] + line[last:].rstrip(" |"), comments


def _find_header(rows: Sequence[NumberedRow], is_text: Callable[[str], bool]) -> list[str]:
    """Return the first row if it is a header (two cells or more, each of them text by `is_text`), else []."""
    if not rows:
        return []
    values = [value for value in rows[0][1] if value]
    widest = max(sum(map(bool, row)) for _, row in rows[:_SECTION_ROWS])
    return rows[0][1] if len(values) > max(1, widest // 2) and all(map(is_text, values)) else []


def _is_number(value: str) -> bool:
    return not any(map(str.isalpha, value))


# --- workbooks --------------------------------------------------------------------------------------------------------


def _workbook_note(workbook: object, path: str, options: ReadOptions) -> Note:
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    assert isinstance(workbook, CalamineWorkbook)
    sheet_rows = _SheetParts()
    for sheet in workbook.sheets_metadata:
        if sheet.typ != SheetTypeEnum.WorkSheet:
            continue
        cells = workbook.get_sheet_by_name(sheet.name)
        if cells.start is None:
            continue
        first_row, first_column = cells.start
        rows: list[NumberedRow] = []
        is_named = False
        for number, values in enumerate(cells.to_python(nrows=MAX_ROWS + 1), start=first_row + 1):
            shown = [_cell_text(value) for value in values[:_MAX_READ_COLUMNS]]
            if any(shown):
                is_named = is_named or (
                    not rows and all(isinstance(value, str) for value in values[:_MAX_READ_COLUMNS])
                )
                rows.append((number, shown))
        header = _find_header(rows, bool) if is_named else []
        sheet_rows.add(rows, header, _make_cell_locator(sheet.name, first_column))
        sheet_rows.rows_left += max(0, cells.height - MAX_ROWS - 1)
        sheet_rows.columns_left += max(0, cells.width - _MAX_READ_COLUMNS)
    return sheet_rows.note(path, options)


def _cell_text(value: int | float | str | bool | time | date | datetime | timedelta) -> str:
    """Return a cell's value as a user would search for it: dates in ISO format, short numbers."""
    match value:
        case bool():
            return str(value).upper()
        case float():
            return f"{value:.10g}" if abs(value) < 1e10 else f"{value:.0f}" if value.is_integer() else repr(value)
        case datetime():
            return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
        case str():
            return " ".join(value.split())
        case _:
            return str(value)


def _make_cell_locator(sheet: str, first_column: int) -> Callable[[NumberedRow, NumberedRow, int, int], Sequence[str]]:
    def named(first: NumberedRow, last: NumberedRow, left: int, right: int) -> Sequence[str]:
        cells = f"{_column_letters(first_column + left)}{first[0]}:{_column_letters(first_column + right)}{last[0]}"
        return f"{sheet}!{cells}", f"{sheet} {cells}"

    return named


def _column_letters(column: int) -> str:
    """Return the letters that name a column, which is counted from 0: A, B, … Z, AA."""
    name = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


# --- tables in text ---------------------------------------------------------------------------------------------------


def _name_row_range(first: NumberedRow, last: NumberedRow, left: int, right: int) -> Sequence[str]:  # noqa: ARG001 - columns have no place
    if first[0] == last[0]:
        return f"row={first[0]}", f"Row {first[0]}"
    return f"row={first[0]}-{last[0]}", f"Rows {first[0]}-{last[0]}"


def _detect_delimiter(text: str) -> str:
    """Return the delimiter that occurs the same number of times in most of the first lines."""
    lines = [line for line in text[:100_000].splitlines()[:_SAMPLE_LINES] if line.strip()]

    def agreement(delimiter: str) -> int:
        counts = Counter(line.count(delimiter) for line in lines)
        del counts[0]
        return max(counts.values(), default=0)

    return max(_DELIMITERS, key=agreement)


def _csv_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-blank rows of a CSV file with their numbers, counted from 1.

    If the file cannot be parsed (an unclosed quotation mark), quotation marks have no meaning.
    """
    try:
        rows = list(csv.reader(StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        rows = [line.split(delimiter) for line in text.splitlines()]
    for number, row in enumerate(rows, start=1):
        if any(map(str.strip, row)):
            yield number, row
