"""Tests of images: with OCR they are found by their text, otherwise they are counted as unread."""

from __future__ import annotations

import struct
import sys
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from excerpt.base.errors import ReadError
from excerpt.base.settings import AttachmentSettings, Ocr, Settings, VaultSettings
from excerpt.index.build import build
from excerpt.index.catalog import Catalog
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.image import ImageReader
from excerpt.vault.readers.image_size import count_tiff_pages, image_size
from tests.images import DARWIN, image_bytes, text_image

SHOPPING = "Things to buy for the trellis: seven spruce boards, wood glue and sandpaper."
OFF, ON = (Settings(vault=VaultSettings(attachments=AttachmentSettings(ocr=ocr))) for ocr in (Ocr.OFF, Ocr.AUTO))


def header_of_png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
def test_the_size_is_read_from_the_header_of_each_format(kind: str) -> None:
    assert image_size(image_bytes(Image.new("RGB", (321, 123), "white"), kind)) == (321, 123)


def test_a_jpeg_may_have_long_metadata_before_its_size() -> None:
    image = Image.new("RGB", (321, 123), "white")
    assert image_size(
        image_bytes(image, "JPEG", progressive=True, comment=b"x" * 60_000, icc_profile=b"y" * 90_000)
    ) == (
        321,
        123,
    )


def test_the_size_of_a_webp_is_read_if_it_is_lossless_or_has_extra_chunks() -> None:
    image = Image.new("RGB", (321, 123), "white")
    assert image_size(image_bytes(image, "WEBP", lossless=True)) == (321, 123)
    assert image_size(image_bytes(image, "WEBP", icc_profile=b"y" * 100)) == (321, 123)


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_size_of_a_tiff_image_is_read_in_either_byte_order(order: str) -> None:
    entries = struct.pack(f"{order}HHIHH HHII", 256, 3, 1, 321, 0, 257, 4, 1, 123)
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}IH", 8, 2)
    assert image_size(head + entries) == (321, 123)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"/etc/hostname\n",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0\0\x10JF",
        b"BM",
        b"II*\0\xff\xff\xff\xff",
        b"P5\nx",
    ],
)
def test_a_file_that_is_not_an_image_is_skipped(data: bytes) -> None:
    with pytest.raises(ReadError, match="not an image that can be read"):
        ImageReader().read(data, "a.png", ReadOptions())


@pytest.mark.parametrize(
    "width, height, reason", [(31, 400, "too small"), (100_000, 50_000, "more than the 50 million")]
)
def test_an_image_too_small_or_too_large_is_skipped_unopened(width: int, height: int, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        ImageReader().read(header_of_png(width, height), "a.png", ReadOptions(ocr=Ocr.AUTO))


def test_pages_of_a_damaged_tiff_are_counted_as_far_as_possible() -> None:
    data = image_bytes(Image.new("L", (40, 40)), "TIFF", save_all=True, append_images=[Image.new("L", (40, 40))] * 2)
    assert [count_tiff_pages(data[:end]) for end in (len(data), 100)] == [3, 1]
    assert count_tiff_pages(struct.pack("<4sIHI", b"II*\0", 8, 0, 8)) == 1
    assert count_tiff_pages(image_bytes(Image.new("L", (40, 40)))) == 1


# --- one image --------------------------------------------------------------------------------------------------------


def test_without_ocr_an_image_is_a_note_without_text_with_a_warning() -> None:
    note = ImageReader().read(image_bytes(text_image(SHOPPING)), "shots/list.png", ReadOptions())
    assert (note.title, note.text, note.unread) == ("list", "", 1)


@pytest.mark.needs("tesseract")
def test_with_ocr_the_text_of_an_image_is_one_section_that_names_ocr_as_its_origin() -> None:
    note = ImageReader().read(image_bytes(text_image(SHOPPING)), "shots/list.png", ReadOptions(ocr=Ocr.AUTO))
    assert (note.text, note.unread, note.warnings) == (SHOPPING, 0, ())
    assert [one.heading_path for one in note.sections] == [(), ("Text in the image (OCR)",)]


@pytest.mark.needs("tesseract")
def test_an_image_in_which_ocr_finds_no_text_counts_as_read() -> None:
    note = ImageReader().read(image_bytes(Image.new("RGB", (400, 300), "white")), "a.png", ReadOptions(ocr=Ocr.AUTO))
    assert (note.text, note.unread, note.warnings) == ("", 0, ())


@pytest.mark.needs("tesseract")
def test_the_first_page_of_a_tiff_is_read_and_the_others_reported() -> None:
    pages = [text_image("Minutes of May"), text_image("Minutes of June"), text_image("Minutes of July")]
    data = image_bytes(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    note = ImageReader().read(data, "minutes.tif", ReadOptions(ocr=Ocr.AUTO))
    assert note.text == "Minutes of May"
    assert ["Only the first of the image's 3 pages" in one for one in note.warnings] == [True]


# --- in a vault -------------------------------------------------------------------------------------------------------


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Trellis.md").write_text("# Trellis\n\nIt stands by the south wall: ![[list.png]]\n", encoding="utf-8")
    (folder / "list.png").write_bytes(image_bytes(text_image(SHOPPING)))
    return folder


@pytest.mark.programs
@pytest.mark.needs("tesseract")
def test_a_screenshot_is_found_by_its_text(vault: Path, tmp_path: Path) -> None:
    report = build(vault, tmp_path / "index", ON)
    assert (report.skipped, report.warnings) == ((), ())
    with closing(Snapshot.open(tmp_path / "index", ON)) as snapshot:
        hit = Engine(snapshot, ON).search("spruce boards").hits[0]
    assert (hit.fragment.path, hit.fragment.kind) == ("list.png", "image")
    assert hit.fragment.heading_path[-1] == "Text in the image (OCR)"


def test_without_ocr_images_are_only_counted(vault: Path, tmp_path: Path) -> None:
    report = build(vault, tmp_path / "index", OFF)
    assert (report.added, report.skipped, report.warnings) == (1, (), ())
    with closing(Catalog.open_to_read(tmp_path / "index")) as catalog:
        assert list(catalog.known_notes()) == ["Trellis.md"]
        assert dict(catalog.unread_files()) == {".png": 1}


@pytest.mark.programs
def test_an_image_whose_ocr_failed_is_listed_and_tried_again_after_a_change(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    program = tmp_path / "bin" / "tesseract"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --list-langs ] && printf "Languages:\\neng\\n" && exit\necho one >> "{calls}"\n'
        "echo Out of luck >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    for _ in range(2):
        report = build(vault, tmp_path / "index", ON)
        assert [(one.path, "Out of luck" in one.reason) for one in report.skipped] == [("list.png", True)]
        assert report.added + report.unchanged == 2
    assert calls.read_text().split() == ["one"]
    (vault / "list.png").write_bytes(image_bytes(text_image(f"{SHOPPING} And screws.")))
    build(vault, tmp_path / "index", ON)
    assert calls.read_text().split() == ["one", "one"]


@pytest.mark.programs
@pytest.mark.needs("tesseract")
def test_a_scanned_pdf_is_found_by_page(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    pages = [text_image(text, width=1100) for text in (*DARWIN.split("\n\n"), SHOPPING)]
    (vault / "scan.pdf").write_bytes(
        image_bytes(pages[0], "PDF", save_all=True, append_images=pages[1:], resolution=120)
    )
    build(vault, tmp_path / "index", OFF)
    with closing(Catalog.open_to_read(tmp_path / "index")) as catalog:
        assert catalog.known_notes()["scan.pdf"].unread == 3
    build(vault, tmp_path / "index", ON)
    with closing(Snapshot.open(tmp_path / "index", ON)) as snapshot:
        engine = Engine(snapshot, ON)
        found = [engine.search(query).hits[0].fragment for query in ("excess of food", "domestic productions", "glue")]
    assert [fragment.place for fragment in found] == ["page=2", "page=1", "page=3"]
    assert found[2].heading_path[-1] == "Page 3 (OCR)"


@pytest.mark.programs
@pytest.mark.needs("tesseract")
def test_images_are_read_once_the_program_is_installed(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path))
        without.setitem(sys.modules, "rapidocr", None)
        report = build(vault, tmp_path / "index", ON)
        assert (report.added, report.skipped) == (2, ())
    assert build(vault, tmp_path / "index", ON).changed == 1
