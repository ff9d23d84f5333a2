"""Tests of slides and documents written by common libraries."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import docx
import pptx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.office import OLE_SIGNATURE, DocumentReader, SlidesReader
from tests.images import DARWIN, recall

ENGLISH = ReadOptions(language="en")


def file_bytes(file: Any) -> bytes:
    data = BytesIO()
    file.save(data)
    return data.getvalue()


def text_at(note: Note, number: int) -> str:
    section = note.sections[number]
    return "\n".join(note.text.split("\n")[section.line_start - 1 : section.line_end])


@pytest.fixture(scope="module")
def slides() -> Note:
    """Return the note of a talk of three slides: bullets and notes, a table, and grouped boxes without a title."""
    talk = pptx.Presentation()
    talk.core_properties.title = "PowerPoint Presentation"
    first = talk.slides.add_slide(talk.slide_layouts[1])
    first.shapes.title.text = "Variation under\vdomestication"
    first.placeholders[1].text = DARWIN.replace("\n\n", "\v").replace("\n", " ")
    first.notes_slide.notes_text_frame.text = "Ask who keeps pigeons."
    second = talk.slides.add_slide(talk.slide_layouts[5])
    second.shapes.title.text = "计划 2026"
    table = second.shapes.add_table(2, 2, 0, 0, 1_000_000, 1_000_000).table
    for at, value in enumerate(("Month", "Cost", "May", "320 €")):
        table.cell(at // 2, at % 2).text = value
    third = talk.slides.add_slide(talk.slide_layouts[6])
    group = third.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 100, 100).text_frame.text = "A box within a group"
    return SlidesReader().read(file_bytes(talk), "talks/pigeons.pptx", ENGLISH)


@pytest.fixture(scope="module")
def document() -> Note:
    paper = docx.Document()
    paper.core_properties.title = ""
    paper.add_heading("On pigeons", 0)
    paper.add_heading("Methods", 1)
    for paragraph in DARWIN.split("\n\n"):
        paper.add_paragraph(paragraph.replace("\n", " "))
    paper.add_heading("Breeds", 2)
    paper.add_paragraph("Pouter", style="List Bullet")
    paper.add_paragraph("Fantail", style="List Bullet")
    table = paper.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Pouter", "12"
    paper.add_heading("Still to be written", 2)
    paper.add_heading("Results", 1)
    paper.add_paragraph("None yet.")
    return DocumentReader().read(file_bytes(paper), "papers/pigeons.docx", ENGLISH)


def test_each_slide_is_a_section_with_its_location(slides: Note) -> None:
    assert [section.place for section in slides.sections[1:]] == ["slide=1", "slide=2", "slide=3"]
    headings = [section.heading_path for section in slides.sections[1:]]
    assert headings == [("Slide 1: Variation under domestication",), ("Slide 2: 计划 2026",), ("Slide 3",)]


def test_the_words_of_slides_are_found(slides: Note) -> None:
    assert recall(DARWIN, text_at(slides, 1)) >= 0.98


def test_speaker_notes_and_tables_and_grouped_shapes_are_part_of_their_slide(slides: Note) -> None:
    assert text_at(slides, 1).endswith("Notes: Ask who keeps pigeons.")
    assert "Month | Cost\nMay | 320 €" in text_at(slides, 2)
    assert text_at(slides, 3) == "A box within a group"


def test_a_title_that_names_the_program_is_ignored(slides: Note) -> None:
    assert slides.title == "pigeons"


def test_headings_of_a_document_make_sections_without_a_location(document: Note) -> None:
    paths = [section.heading_path for section in document.sections[1:]]
    assert ("Methods",) in paths
    assert ("Methods", "Breeds") in paths
    assert {section.place for section in document.sections} == {""}


def test_the_words_of_a_document_are_found(document: Note) -> None:
    assert recall(DARWIN, document.text) >= 0.98


def test_lists_and_tables_stay_in_their_order(document: Note) -> None:
    assert "- Pouter\n- Fantail\n\nPouter | 12" in document.text


def test_a_heading_with_nothing_below_it_is_still_found(document: Note) -> None:
    assert "Still to be written" in document.text


def test_the_title_of_a_document_is_its_paragraph_of_the_style_title(document: Note) -> None:
    assert document.title == "On pigeons"


def test_text_in_tracked_insertions_and_content_controls_is_read() -> None:
    paper = docx.Document()
    paper.add_paragraph("kept")
    body = paper.element.body
    body.insert(
        0,
        parse_xml(
            f"<w:sdt {nsdecls('w')}><w:sdtContent><w:p><w:r><w:t>chosen</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        ),
    )
    body.insert(1, parse_xml(f'<w:p {nsdecls("w")}><w:ins w:id="1"><w:r><w:t>inserted</w:t></w:r></w:ins></w:p>'))
    note = DocumentReader().read(file_bytes(paper), "a.docx", ENGLISH)
    assert note.text == "chosen\n\ninserted\n\nkept"


def test_a_table_within_a_cell_is_read_once() -> None:
    paper = docx.Document()
    cell = paper.add_table(1, 2).cell(0, 0)
    cell.text = "outer"
    cell.add_table(1, 1).cell(0, 0).text = "inner"
    assert DocumentReader().read(file_bytes(paper), "a.docx", ENGLISH).text == "outer inner"


def test_cells_in_content_controls_are_read() -> None:
    paper = docx.Document()
    table = paper.add_table(1, 2)
    table.cell(0, 0).text = "Month"
    cell = table.cell(0, 1)._tc
    said = "<w:tc><w:p><w:r><w:t>May</w:t></w:r></w:p></w:tc>"
    chosen = parse_xml(f"<w:sdt {nsdecls('w')}><w:sdtContent>{said}</w:sdtContent></w:sdt>")
    cell.getparent().replace(cell, chosen)
    assert DocumentReader().read(file_bytes(paper), "a.docx", ENGLISH).text == "Month | May"


@pytest.mark.parametrize(("reader", "old"), [(SlidesReader(), "a.ppt"), (DocumentReader(), "a.doc")])
def test_files_of_the_old_formats_are_reported_with_what_to_do(reader: SlidesReader | DocumentReader, old: str) -> None:
    with pytest.raises(ReadError) as caught:
        reader.read(OLE_SIGNATURE + b"\0" * 600, old, ENGLISH)
    assert str(caught.value) == f"Old {old[1:]} files are not read. Save it as {old[1:]}x."


def test_a_file_with_a_password_is_reported() -> None:
    data = OLE_SIGNATURE + b"\0" * 512 + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(ReadError, match=r"The file is protected by a password\."):
        DocumentReader().read(data, "a.docx", ENGLISH)


def test_slides_named_like_a_document_are_refused() -> None:
    with pytest.raises(ReadError, match="despite its name"):
        DocumentReader().read(file_bytes(pptx.Presentation()), "a.docx", ENGLISH)


def test_a_file_without_text_is_reported() -> None:
    with pytest.raises(ReadError, match="The file has no text"):
        SlidesReader().read(file_bytes(pptx.Presentation()), "a.pptx", ENGLISH)


def test_an_archive_bomb_is_not_unpacked() -> None:
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 30_000_000)
    with pytest.raises(ReadError, match="larger than the limit"):
        DocumentReader().read(data.getvalue(), "bomb.docx", ENGLISH)
