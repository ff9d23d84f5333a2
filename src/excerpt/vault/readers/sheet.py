"""Spreadsheets and tables of values: a section for each range of rows, which begins with the table's header."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from io import BytesIO, StringIO
from pathlib import PurePosixPath

from excerpt.errors import ReadError
from excerpt.model import Note
from excerpt.vault.readers import PagedText, ReadOptions, library, paged_note, report_damage, safe_zip
from excerpt.vault.readers.markdown import decode

MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 5_000, 50, 200_000
"""Rows of all sheets, columns of each, and characters read of one file: more is data, not text."""
_ROWS = 40
"""Of a section."""
_WIDEST = 1_000
"""Columns looked at, of which some may be blank."""
_DELIMITERS = "\t;|,"
"""The delimiters to try; the comma is last, because it is in prose and numbers too."""
_SAMPLE_LINES = 50
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BIFF = (b"\x09\x08", b"\x09\x04", b"\x09\x02", b"\x09\x00")

Row = tuple[int, list[str]]
"""A row that is not blank, with its number counted from 1."""


@dataclass(frozen=True, slots=True)
class SheetReader:
    kind: str = "sheet"
    version: str = "2"
    extensions: tuple[str, ...] = (".xlsx", ".xlsm", ".xls", ".ods")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """See Reader.read. Values are read, not formulas."""
        if data.startswith(_ZIP):
            safe_zip(data).close()
        elif not data.startswith((_OLE, *_BIFF)):
            raise ReadError("It is not a spreadsheet, despite its name.")
        with library("Spreadsheets"):
            import python_calamine
        with report_damage("a spreadsheet"):
            try:
                workbook = python_calamine.CalamineWorkbook.from_filelike(BytesIO(data))
                return _workbook_note(workbook, path, options)
            except python_calamine.PasswordError:
                raise ReadError(
                    "It is protected by a password.", "Save it without a password to have it read."
                ) from None


@dataclass(frozen=True, slots=True)
class CsvReader:
    kind: str = "sheet"
    version: str = "2"
    extensions: tuple[str, ...] = (".csv", ".tsv")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """See Reader.read. Rows are counted as RFC 7111 does."""
        text, warning = decode(data)
        delimiter = "\t" if PurePosixPath(path).suffix.lower() == ".tsv" else _delimiter(text)
        sheet_rows = _SheetRows()
        rows = [(number, [" ".join(value.split()) for value in row]) for number, row in _records(text, delimiter)]
        header = _header(rows, is_text=lambda value: not _is_number(value))
        data_rows = rows[1:] if header and len(rows) > 1 else rows
        sheet_rows.add(data_rows, rows[0][1] if header and len(rows) > 1 else [], _row_location)
        note = sheet_rows.note(path, options)
        return replace(note, warnings=(warning, *note.warnings)) if warning else note


# --- ranges -----------------------------------------------------------------------------------------------------------


class _SheetRows:
    """What has been read of a file so far, within its bounds."""

    def __init__(self) -> None:
        self.parts: list[PagedText] = []
        self.rows = self.size = 0
        self.rows_left = self.columns_left = 0
        self.is_cut = False

    def add(
        self, rows: Sequence[Row], header: Sequence[str], name: Callable[[Row, Row, int, int], Sequence[str]]
    ) -> None:
        """Take rows; `name` gives place and heading of those from one to another and between two columns."""
        used = sorted({column for _, values in (*rows, (0, header)) for column, value in enumerate(values) if value})
        columns = used[:MAX_COLUMNS]
        self.columns_left = max(self.columns_left, len(used) - len(columns))
        for start in range(0, len(rows), _ROWS):
            chunk = rows[start : start + min(_ROWS, MAX_ROWS - self.rows)]
            if not chunk or self.size >= MAX_TEXT:
                self.rows_left += len(rows) - start
                return
            lines = [_line(values, columns) for _, values in chunk]
            if header and chunk[0][1] != list(header):
                lines.insert(0, _line(header, columns))
            lines = list(filter(None, lines))
            whole = "\n".join(lines)
            text = whole[: MAX_TEXT - self.size]
            self.is_cut = len(text) < len(whole)
            location, heading = name(chunk[0], chunk[-1], columns[0], columns[-1])
            self.parts.append(PagedText(location, (heading,), text))
            self.rows += len(chunk)
            self.size += len(text)
            if len(chunk) < len(rows[start : start + _ROWS]):
                self.rows_left += len(rows) - start - len(chunk)
                return

    def note(self, path: str, options: ReadOptions) -> Note:
        if not self.parts:
            raise ReadError("There is no text in it.")
        left = []
        if self.rows_left:
            left.append(f"Only the first {self.rows:,} rows of it are read; {self.rows_left:,} are left out.")
        if self.is_cut:
            left.append(f"Only the first {MAX_TEXT:,} characters of it are read.")
        if self.columns_left:
            left.append(f"Only {MAX_COLUMNS} columns of it are read; {self.columns_left:,} are left out.")
        return paged_note(path, self.parts, options, warnings=left)


def _line(values: Sequence[str], columns: Iterable[int]) -> str:
    """Return a row as text, without empty cells at its end."""
    return " | ".join(values[column] if column < len(values) else "" for column in columns).rstrip(" |")


def _header(rows: Sequence[Row], is_text: Callable[[str], bool]) -> list[str]:
    """Return the first row if it names the columns: all texts, and more than one."""
    if not rows:
        return []
    values = [value for value in rows[0][1] if value]
    widest = max(sum(map(bool, row)) for _, row in rows[:_ROWS])
    return rows[0][1] if len(values) > max(1, widest // 2) and all(map(is_text, values)) else []


def _is_number(value: str) -> bool:
    return not any(map(str.isalpha, value))


# --- workbooks --------------------------------------------------------------------------------------------------------


def _workbook_note(workbook: object, path: str, options: ReadOptions) -> Note:
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    assert isinstance(workbook, CalamineWorkbook)
    sheet_rows = _SheetRows()
    for sheet in workbook.sheets_metadata:
        if sheet.typ != SheetTypeEnum.WorkSheet:
            continue
        cells = workbook.get_sheet_by_name(sheet.name)
        if cells.start is None:
            continue
        first_row, first_column = cells.start
        rows: list[Row] = []
        is_named = False
        for number, values in enumerate(cells.to_python(nrows=MAX_ROWS + 1), start=first_row + 1):
            shown = [_shown(value) for value in values[:_WIDEST]]
            if any(shown):
                is_named = is_named or (not rows and all(isinstance(value, str) for value in values[:_WIDEST]))
                rows.append((number, shown))
        header = _header(rows, bool) if is_named else []
        sheet_rows.add(rows, header, _cell_location(sheet.name, first_column))
        sheet_rows.rows_left += max(0, cells.height - MAX_ROWS - 1)
        sheet_rows.columns_left += max(0, cells.width - _WIDEST)
    return sheet_rows.note(path, options)


def _shown(value: int | float | str | bool | time | date | datetime | timedelta) -> str:
    """Return a cell's value as one would search for it."""
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


def _cell_location(sheet: str, first_column: int) -> Callable[[Row, Row, int, int], Sequence[str]]:
    def named(first: Row, last: Row, left: int, right: int) -> Sequence[str]:
        cells = f"{_letters(first_column + left)}{first[0]}:{_letters(first_column + right)}{last[0]}"
        return f"{sheet}!{cells}", f"{sheet} {cells}"

    return named


def _letters(column: int) -> str:
    """Return the name of a column counted from 0: A, B, … Z, AA."""
    name = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


# --- tables in text ---------------------------------------------------------------------------------------------------


def _row_location(first: Row, last: Row, left: int, right: int) -> Sequence[str]:  # noqa: ARG001 - columns have no place
    if first[0] == last[0]:
        return f"row={first[0]}", f"Row {first[0]}"
    return f"row={first[0]}-{last[0]}", f"Rows {first[0]}-{last[0]}"


def _delimiter(text: str) -> str:
    """Return the delimiter that most of the first lines have equally often."""
    lines = [line for line in text[:100_000].splitlines()[:_SAMPLE_LINES] if line.strip()]

    def agreement(delimiter: str) -> int:
        counts = Counter(line.count(delimiter) for line in lines)
        del counts[0]
        return max(counts.values(), default=0)

    return max(_DELIMITERS, key=agreement)


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-blank rows with their numbers.

    A field that never ends has an unclosed quotation mark: then such marks are ignored.
    """
    try:
        rows = list(csv.reader(StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        rows = [line.split(delimiter) for line in text.splitlines()]
    for number, row in enumerate(rows, start=1):
        if any(map(str.strip, row)):
            yield number, row
