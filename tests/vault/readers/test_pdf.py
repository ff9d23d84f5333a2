"""Tests of PDFs printed by a browser from known text."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.base.settings import Ocr, Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.pdf import PdfReader
from tests.images import DARWIN, recall, text_image
from tests.vault.readers.printed_pages import ANIMALS, FILLER, SENTENCES, at_their_places, printed, words_found

STYLE = """
<style>
@page { size: A5; margin: 15mm }
body { font: 11pt serif; hyphens: manual }
.page { break-after: page }
.head { font-size: 8pt }
</style>
"""


def paper_as_html(pages: list[str], title: str = "On rivers") -> str:
    shown = "".join(
        f"<div class=page><p class=head>A walk by the river {number}</p>{body}</div>"
        for number, body in enumerate(pages, 1)
    )
    return f"<html lang=en><head><meta charset=utf-8><title>{title}</title>{STYLE}</head><body>{shown}</body></html>"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    pages = [
        f"<h2>Part {'again ' * (number % 7)}</h2><p>{FILLER}</p><p>{sentence}</p><p>{FILLER}</p>"
        for number, sentence in enumerate(SENTENCES)
    ]
    pages[2] += "<p>The efficient office finds affluent flight. Moreover the under&shy;standing grows.</p>"
    broken = "A con&shy;sid&shy;er&shy;able in&shy;ter&shy;na&shy;tion&shy;al hap&shy;pen&shy;ing of 漢字 and مرحبا"
    pages[3] += f"<p style='width:6em'>{broken}</p><p dir=rtl>تعيش الفقمة في المياه وتأكل الأسماك</p>"
    return printed(tmp_path_factory.mktemp("paper"), paper_as_html(pages))


@pytest.fixture(scope="module")
def note(data: bytes) -> Note:
    return read(data)


def read(data: bytes, **options: object) -> Note:
    return PdfReader().read(data, "Papers/rivers.pdf", ReadOptions(**options))  # type: ignore[arg-type]


def text_of_page(note: Note, number: int) -> str:
    (section,) = [one for one in note.sections if one.place == f"page={number}"]
    return "\n".join(note.lines[section.line_start - 1 : section.line_end])


@pytest.mark.programs
def test_the_words_of_a_printed_page_are_found(note: Note) -> None:
    whole = "\n".join(f"Part {FILLER} {sentence} {FILLER}" for sentence in SENTENCES)
    assert words_found(whole, note) >= 0.98


def test_each_sentence_is_on_its_page(note: Note) -> None:
    assert at_their_places(SENTENCES, note, "page={}") == 1.0


def test_a_page_is_a_section_named_by_its_number(note: Note) -> None:
    assert [one.heading for one in note.sections[1:4]] == ["Page 1", "Page 2", "Page 3"]
    assert note.title == "On rivers"
    assert note.language == "en"


def test_headers_repeated_on_most_pages_are_removed(note: Note) -> None:
    assert "A walk by the river" not in note.text


def test_paragraphs_are_joined_and_separated(note: Note) -> None:
    assert text_of_page(note, 2).split("\n\n") == ["Part again", FILLER, SENTENCES[1], FILLER]


def test_words_hyphenated_at_line_ends_are_joined(note: Note) -> None:
    assert "considerable international happening" in text_of_page(note, 4)
    assert "the understanding grows" in text_of_page(note, 3)


def written_by_hand(*lines: str) -> bytes:
    """Return a PDF with these lines, in whose font "=" stands for U+2010."""
    text = "".join(f"({line}) Tj 0 -14 Td " for line in lines)
    stream = f"BT /F 12 Tf 50 700 Td {text}ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 800]/Contents 5 0 R/Resources<</Font<</F 4 0 R>>>>>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Type/Encoding/Differences[61/hyphentwo]>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
    ]
    body = "%PDF-1.4\n"
    for number, each in enumerate(objects, 1):
        body += f"{number} 0 obj\n{each}\nendobj\n"
    return f"{body}trailer\n<</Size 6/Root 1 0 R>>\n%%EOF\n".encode()


def test_words_hyphenated_with_the_unicode_hyphen_are_joined() -> None:
    note = read(written_by_hand("A consider=", "able inter=", "national bridge is well=", "known, a well=known one."))
    assert text_of_page(note, 1) == "A considerable international bridge is well-known, a well\u2010known one."


def test_code_listings_and_table_rows_keep_their_lines() -> None:
    prose = [
        "The river carries sand and gravel from the hills down",
        "to the sea, and each spring it leaves a new bank of it",
    ]
    listing = ["def main", "x is 1", "return x plus two", "print main"]
    note = read(written_by_hand(*prose, *prose, prose[0] + ".", *listing, "Name Price", "Apple juice 12", "Pear 3"))
    assert " ".join(prose) in text_of_page(note, 1)
    assert "\n".join((*listing, "Name Price", "Apple juice 12", "Pear 3")) in text_of_page(note, 1)


@pytest.mark.needs("Chinese font")
def test_lines_of_chinese_are_joined_without_a_blank(tmp_path: Path) -> None:
    text = "新的保管库在设备之间同步，用户可以在多个设备上打开同一个保管库，而不需要网络连接。" * 3
    assert text in text_of_page(
        read(printed(tmp_path, f"<html><body style='width:300px'><p>{text}</p></body></html>")), 1
    )


def test_ligatures_are_letters(note: Note) -> None:
    assert "The efficient office finds affluent flight." in text_of_page(note, 3)


@pytest.mark.needs("Chinese font")
def test_text_in_other_scripts_than_latin_is_read(note: Note) -> None:
    assert "漢字" in text_of_page(note, 4)
    assert "مرحبا" in text_of_page(note, 4)
    assert "تعيش الفقمة في المياه وتأكل الأسماك" in text_of_page(note, 4)


def test_pages_beyond_the_limit_are_reported(data: bytes) -> None:
    note = read(data, max_pages=5)
    assert [one.place for one in note.sections[1:]] == [f"page={number}" for number in range(1, 6)]
    assert note.warnings == (f"Only the first 5 of {len(SENTENCES)} pages are read.",)


@pytest.mark.programs
def test_a_title_that_is_a_file_name_is_ignored(tmp_path: Path) -> None:
    assert read(printed(tmp_path, paper_as_html([f"<p>{FILLER}</p>"], "draft-3.docx"))).title == "rivers"


@pytest.mark.programs
def test_a_question_about_a_page_finds_that_page_first(data: bytes, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "rivers.pdf").write_bytes(data)
    (vault / "Rivers.md").write_text("# Rivers\n\nA river has two banks, and animals on both.\n", encoding="utf-8")
    build(vault, tmp_path / "index", Settings())
    with closing(Snapshot.open(tmp_path / "index", Settings())) as snapshot:
        engine = Engine(snapshot, Settings())
        asked = [f"where does the {animal} keep its winter stores?" for animal in ANIMALS.split()]
        found = [engine.search(question).hits[0].fragment.place for question in asked]
    right = sum(place == f"page={number}" for number, place in enumerate(found, 1))
    assert right >= 0.95 * len(asked)


# --- PDFs without text ------------------------------------------------------------------------------------------------


def scanned_pdf(*texts: str) -> bytes:
    pages = [text_image(text, letter=30, width=1100) for text in texts]
    file = io.BytesIO()
    pages[0].save(file, "PDF", save_all=True, append_images=pages[1:], resolution=150)
    return file.getvalue()


def test_scanned_pages_are_counted_as_unread() -> None:
    note = read(scanned_pdf("One page.", "And another."))
    assert (note.unread, note.text) == (2, "")


@pytest.mark.programs
@pytest.mark.needs("tesseract")
def test_scanned_pages_are_read_by_ocr_with_a_warning() -> None:
    first, second = DARWIN.split("\n\n")
    note = read(scanned_pdf(first, second), ocr=Ocr.TESSERACT, language="en")
    assert note.unread == 0
    assert [one.heading for one in note.sections[1:]] == ["Page 1 (OCR)", "Page 2 (OCR)"]
    assert recall(first, text_of_page(note, 1)) >= 0.95
    assert recall(second, text_of_page(note, 2)) >= 0.95


def test_a_page_with_text_is_not_read_by_ocr(data: bytes) -> None:
    assert read(data, ocr=Ocr.TESSERACT).text == read(data).text


@pytest.mark.programs
@pytest.mark.needs("tesseract")
def test_a_huge_page_is_read_within_limits() -> None:
    image = Image.new("L", (50, 50), 255)
    file = io.BytesIO()
    image.save(file, "PDF", resolution=0.1)
    with pytest.raises(ReadError, match="no text"):
        read(file.getvalue(), ocr=Ocr.TESSERACT)


LOCKED = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\n"
    b"4 0 obj<</Filter/Standard/V 1/R 2/O<" + b"41" * 32 + b">/U<" + b"42" * 32 + b">/P -4>>endobj\n"
    b"trailer<</Root 1 0 R/Encrypt 4 0 R/ID[<00><00>]>>\n%%EOF\n"
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "The file is not a PDF"),
        (b"PK\x03\x04 and so on", "The file is not a PDF"),
        (b"%PDF-1.7\nnothing of it", "The file is damaged"),
        (LOCKED, "The file is protected by a password"),
    ],
    ids=["empty", "another kind", "damaged", "locked"],
)
def test_an_unreadable_file_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        read(data)


@pytest.mark.programs
def test_a_document_without_text_is_refused() -> None:
    import pypdfium2

    file = io.BytesIO()
    document = pypdfium2.PdfDocument.new()
    for _ in range(10_000):
        document.new_page(100, 100).close()
    document.save(file)
    with pytest.raises(ReadError, match="The file has no text"):
        read(file.getvalue())


DAMAGES = """
import random, sys
from pathlib import Path
from excerpt.base.errors import ReadError
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.pdf import PdfReader
whole = Path(sys.argv[1]).read_bytes()
for seed in range(200):
    chance = random.Random(seed)
    data = bytearray(whole)
    if seed % 4 == 0:
        del data[chance.randrange(len(data)) :]
    for _ in range(chance.randrange(1, 60)):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    print(seed, flush=True)
    try:
        PdfReader().read(bytes(data), "a.pdf", ReadOptions())
    except ReadError:
        pass
"""


@pytest.mark.programs
def test_two_hundred_damaged_copies_are_read_or_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "whole.pdf").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", DAMAGES, tmp_path / "whole.pdf"],
        capture_output=True,
        text=True,
        timeout=360,
        check=False,
    )
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["199"]), done.stderr[-2000:]
