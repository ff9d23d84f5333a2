"""Tests of spreadsheets and CSV files: ranges of rows that begin with the table's header."""

from __future__ import annotations

import datetime
from io import BytesIO
from zipfile import ZipFile

import pytest
import xlsxwriter

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.text.comments import restore_comments
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.sheet import MAX_TEXT, CsvReader, SheetReader

ENGLISH = ReadOptions(language="en")


def workbook(**sheets: list[list[object]]) -> bytes:
    """Return an .xlsx file as bytes; None leaves a cell out."""
    data = BytesIO()
    with xlsxwriter.Workbook(data) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for row, values in enumerate(rows):
                for column, value in enumerate(values):
                    if isinstance(value, datetime.date):
                        sheet.write_datetime(row, column, value, day)
                    elif value is not None:
                        sheet.write(row, column, value)
    return data.getvalue()


def locations_of(note: Note) -> list[tuple[str, str]]:
    return [(section.place, section.heading) for section in note.sections[1:]]


def first_lines(note: Note) -> list[str]:
    lines = note.text.split("\n")
    return [lines[section.line_start - 1] for section in note.sections[1:]]


def table_of_rows(rows: int) -> list[list[object]]:
    return [["Name", "Paid"], *([f"member {number}", number * 1.5] for number in range(1, rows))]


def test_a_sheet_is_read_in_ranges_of_forty_rows_each_with_the_header() -> None:
    note = SheetReader().read(workbook(Sales=table_of_rows(90)), "sales.xlsx", ENGLISH)
    ranges = ["A1:B40", "A41:B80", "A81:B90"]
    assert locations_of(note) == [(f"Sales!{cells}", f"Sales {cells}") for cells in ranges]
    assert first_lines(note) == ["Name | Paid"] * 3
    assert "member 41 | 61.5" in note.text


def test_the_cell_range_of_a_table_starts_at_its_first_value() -> None:
    rows: list[list[object]] = [[], [], *([None, *row] for row in table_of_rows(4))]
    note = SheetReader().read(workbook(Sales=rows), "sales.xlsx", ENGLISH)
    assert locations_of(note) == [("Sales!B3:C6", "Sales B3:C6")]


def test_blank_columns_are_removed_and_blank_cells_kept() -> None:
    rows: list[list[object]] = [["a", None, "b", "c"], [1, None, None, 3]]
    assert SheetReader().read(workbook(S=rows), "s.xlsx", ENGLISH).text == "a | b | c\n1 |  | 3"


def test_a_table_of_numbers_has_no_header() -> None:
    rows: list[list[object]] = [[number, number] for number in range(50)]
    assert first_lines(SheetReader().read(workbook(S=rows), "s.xlsx", ENGLISH)) == ["0 | 0", "40 | 40"]


def test_values_are_written_as_people_search_for_them() -> None:
    rows: list[list[object]] = [[3.0, 0.1, True, datetime.date(2026, 5, 4), "two\nlines"]]
    text = SheetReader().read(workbook(S=rows), "s.xlsx", ENGLISH).text
    assert text == "3 | 0.1 | TRUE | 2026-05-04 | two lines"


def test_every_sheet_of_a_workbook_is_read() -> None:
    note = SheetReader().read(workbook(One=table_of_rows(3), Two=table_of_rows(3)), "s.xlsx", ENGLISH)
    assert [place for place, _ in locations_of(note)] == ["One!A1:B3", "Two!A1:B3"]


def test_values_beyond_the_limit_are_dropped_with_a_warning() -> None:
    note = SheetReader().read(workbook(S=[[number] for number in range(5_100)]), "s.xlsx", ENGLISH)
    assert note.warnings == ("Only the first 5,000 rows of the file are read; 100 are left out.",)
    wide = SheetReader().read(workbook(S=[list(range(60))]), "s.xlsx", ENGLISH)
    assert wide.warnings == ("Only 50 columns of the file are read; 10 are left out.",)


def test_a_large_table_ends_at_its_text_limit() -> None:
    note = CsvReader().read(b"word,number\n" + (b"x" * 300 + b",1\n") * 2_000, "a.csv", ENGLISH)
    assert MAX_TEXT * 0.9 < len(note.text) < MAX_TEXT * 1.1
    assert "are left out" in note.warnings[0]


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        (CsvReader(), b"name,said\nann," + b"word " * 60_000 + b"\n"),
        (SheetReader(), workbook(S=[["word " * 6_000, number] for number in range(60)])),
    ],
    ids=["csv", "xlsx"],
)
def test_text_that_is_cut_within_a_range_of_rows_causes_a_warning(reader: SheetReader | CsvReader, data: bytes) -> None:
    note = reader.read(data, "a", ENGLISH)
    assert len(note.text) <= MAX_TEXT
    assert "Only the first 200,000 characters of the file are read." in note.warnings


def test_a_table_far_from_the_first_cell_has_its_true_location() -> None:
    data = BytesIO()
    with xlsxwriter.Workbook(data) as opened:
        opened.add_worksheet("S").write(1_000_000, 2_000, "far")
    note = SheetReader().read(data.getvalue(), "s.xlsx", ENGLISH)
    assert locations_of(note) == [("S!BXY1000001:BXY1000001", "S BXY1000001:BXY1000001")]


def test_an_open_document_spreadsheet_is_read() -> None:
    cells = "".join(
        f"<table:table-cell office:value-type='string'><text:p>{word}</text:p></table:table-cell>"
        for word in ("goat", "milk")
    )
    namespaces = " ".join(
        f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for name in ("office", "table", "text")
    )
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "META-INF/manifest.xml",
            "<manifest:manifest xmlns:manifest='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'/>",
        )
        archive.writestr(
            "content.xml",
            f"<office:document-content {namespaces}><office:body><office:spreadsheet><table:table table:name='Farm'>"
            f"<table:table-row>{cells}</table:table-row></table:table></office:spreadsheet></office:body>"
            "</office:document-content>",
        )
    note = SheetReader().read(data.getvalue(), "farm.ods", ENGLISH)
    assert (note.text, locations_of(note)) == ("goat | milk", [("Farm!A1:B1", "Farm A1:B1")])


# --- tables in text ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_csv_file_is_the_one_that_divides_most_lines_equally(delimiter: str) -> None:
    text = "\n".join(delimiter.join(row) for row in (["name", "note"], ["ann", '"a, b; c"'], ["bob", "d"]))
    assert CsvReader().read(text.encode(), "a.csv", ENGLISH).text == "name | note\nann | a, b; c\nbob | d"


def test_decimal_commas_do_not_separate_values() -> None:
    assert CsvReader().read(b"1,5;2,5\n3,5;4,0\n", "a.csv", ENGLISH).text == "1,5 | 2,5\n3,5 | 4,0"


def test_rows_of_a_table_include_its_header() -> None:
    text = "name,age\n" + "\n".join(f"member{number},{number}" for number in range(2, 91))
    note = CsvReader().read(text.encode(), "a.csv", ENGLISH)
    assert locations_of(note) == [("row=2-41", "Rows 2-41"), ("row=42-81", "Rows 42-81"), ("row=82-90", "Rows 82-90")]
    assert first_lines(note) == ["name | age"] * 3
    assert "member42" in note.text.split("\n")[note.sections[2].line_start]


def test_an_unclosed_quotation_mark_hides_nothing() -> None:
    text = 'name,said\nann,"hello\n' + "bob,hi\n" * 30_000
    assert "bob" in CsvReader().read(text.encode(), "a.csv", ENGLISH).text


def test_another_encoding_is_read_with_a_warning() -> None:
    note = CsvReader().read("name,town\nJörg,Köln\n".encode("utf-16"), "a.csv", ENGLISH)
    assert "Jörg | Köln" in note.text
    assert note.warnings


@pytest.mark.parametrize("data", [b"", b"\n\n", b",,\n,,\n"])
def test_a_table_without_values_is_reported(data: bytes) -> None:
    with pytest.raises(ReadError, match="The file has no text"):
        CsvReader().read(data, "a.csv", ENGLISH)


def as_written(note: Note) -> list[str]:
    return restore_comments(note.text.split("\n"), 1, note.comments)


def test_comments_of_cells_are_restored_where_they_were() -> None:
    note = CsvReader().read(b"Name,Note\nAda,%%secret%%\nBo %%shy%%,\n%%a%%,%%b%%\n", "a.csv", ENGLISH)
    assert note.text.split("\n") == ["Name | Note", "Ada | ", "Bo ", ""]
    assert as_written(note) == ["Name | Note", "Ada | %%secret%%", "Bo %%shy%%", "%%a%%%%b%%"]


def test_cells_beside_comments_are_clean() -> None:
    data = b"Name,Note\nA\0da,%%secret%%\nB\0o,tall\n" + b"Cid,short\n" * 30
    note = CsvReader().read(data, "a.csv", ENGLISH)
    assert note.text.split("\n")[:4] == ["Name | Note", "Ada | ", "Bo | tall", "Cid | short"]
