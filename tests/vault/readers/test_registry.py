"""Tests of reading files of a vault: which reader, encodings, damaged files and files of the wrong type."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import docx
import pptx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.base.settings import AttachmentSettings, Ocr, VaultSettings
from excerpt.vault.readers import ReadOptions, load_bytes
from excerpt.vault.readers.markdown import MarkdownReader, decode
from excerpt.vault.readers.registry import describe_unread_files, kind_of_file, read_suffixes, reader_for
from tests.images import DARWIN
from tests.vault.readers.test_office import file_bytes
from tests.vault.readers.test_sheet import table_of_rows, workbook
from tests.vault.readers.test_web import NAVIGATION, PAGE, epub_bytes

LIMIT = 1024 * 1024
GERMAN = "# Übung\n\nDie Suche findet jede Stelle, auch wenn man die Wörter vergaß: schöne Grüße über Straßen.\n"
RUSSIAN = "# Поиск\n\nПоиск находит любой отрывок заметки, даже если вы не помните точных слов.\n"
CHINESE = "# 搜索\n\n搜索可以找到笔记中的任何片段，即使你不记得确切的词语。\n"
JAPANESE = "# 検索\n\n検索は正確な言葉を覚えていなくても、ノートのどの部分でも見つけます。\n"
KOREAN = "# 검색\n\n검색은 정확한 단어를 기억하지 못해도 노트의 모든 부분을 찾습니다.\n"


def read(data: bytes) -> Note:
    return MarkdownReader().read(data, "note.md", ReadOptions())


def load(folder: Path, data: bytes, max_bytes: int = LIMIT) -> bytes:
    (folder / "note.md").write_bytes(data)
    return load_bytes(folder, "note.md", max_bytes)


def test_a_reader_is_chosen_by_extension() -> None:
    settings = VaultSettings()
    assert isinstance(reader_for("a/b.md", settings), MarkdownReader)
    assert isinstance(reader_for("A.MARKDOWN", settings), MarkdownReader)
    for name in ("a.xyz", "md", ".pdf"):
        with pytest.raises(ReadError):
            reader_for(name, settings)


def test_the_kind_of_a_file_is_that_of_its_longest_known_suffix() -> None:
    settings = VaultSettings()
    kinds = {path: kind_of_file(path, settings) for path in ("a.md", "a.pdf.md", "A.b.PDF", "x/plan.excalidraw.md")}
    assert kinds == {"a.md": "", "a.pdf.md": "", "A.b.PDF": "pdf", "x/plan.excalidraw.md": "drawing"}


def test_a_suffix_configured_as_a_note_is_not_an_attachment() -> None:
    assert kind_of_file("a.txt", VaultSettings()) == "text"
    assert kind_of_file("a.txt", VaultSettings(extensions=(".md", ".txt"))) == ""


def test_images_are_read_if_ocr_is_on() -> None:
    assert ".png" not in read_suffixes(VaultSettings())
    assert ".png" in read_suffixes(VaultSettings(attachments=AttachmentSettings(ocr=Ocr.AUTO)))


def test_attachments_can_be_disabled() -> None:
    settings = VaultSettings(attachments=AttachmentSettings(read=False))
    assert read_suffixes(settings) == (".md", ".markdown", ".mdx", ".qmd")


def test_a_note_is_titled_by_its_file_name_and_has_lf_line_ends() -> None:
    note = MarkdownReader().read(b"# One\r\n", "x/a.md", ReadOptions())
    assert (note.path, note.title, note.text) == ("x/a.md", "a", "# One\n")


@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig"])
def test_utf8_needs_no_warning(mark: str) -> None:
    note = read(GERMAN.encode(mark))
    assert (note.text, note.warnings) == (GERMAN, ())


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        (GERMAN, "utf-16", "UTF-16"),
        (GERMAN, "utf-32", "UTF-32"),
        (GERMAN, "utf-16-le", "UTF-16"),
        (GERMAN, "utf-16-be", "UTF-16"),
        (GERMAN, "latin-1", "cp125"),
        (GERMAN * 20 + "x" * 20_000, "cp1252", "Windows-1252"),
        ("It’s a “note” about cafés, and nothing more than that, really; most of it is ASCII." * 3, "cp1252", "cp125"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8-r", "koi8_r"),
        (CHINESE, "gb18030", "gb18030"),
        (JAPANESE, "shift-jis", "cp932"),
        (JAPANESE, "euc-jp", "euc_jp"),
        (KOREAN, "euc-kr", "cp949"),
    ],
)
def test_other_encodings_are_decoded_with_a_warning(text: str, encoding: str, named: str) -> None:
    data = text.encode(encoding)
    if encoding in ("utf-16", "utf-32"):
        assert data[:2] in (b"\xff\xfe", b"\xfe\xff")
    note = read(data)
    assert note.text == text
    assert named in note.warnings[0]


def test_slightly_damaged_utf8_loses_little() -> None:
    data = CHINESE.encode()
    note = read(data[:31] + b"\xff" + data[34:])
    assert note.text.count("\ufffd") == 1
    assert "1 broken character" in note.warnings[0]


def test_two_encodings_in_one_file_are_both_read() -> None:
    words = "plain words " * 30
    note = read(words.encode() + "café ".encode() + words.encode() + "naïve façade".encode("cp1252"))
    assert note.text.endswith("naïve façade")
    assert "café" in note.text


@pytest.mark.parametrize("after", [b"", b" and", b" and more" * 20])
def test_a_few_null_bytes_are_text(after: bytes) -> None:
    note = read(b"some text\x00" + after)
    assert note.text.startswith("some text")
    assert note.warnings == ()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00" * 100, "zero bytes"),
        (b"%PDF-1.4 and so on", "not text"),
        (b"\x89PNG\r\n\x1a\n", "not text"),
        (b"\x00\x01\x02\x00\x00\x00\x05\x00\x00\x00\x00\x00" * 50, "not text"),
    ],
)
def test_a_file_that_is_not_a_note_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        read(data)


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b" \t\r\n", b"x" * LIMIT])
def test_the_smallest_and_largest_allowed_notes_are_read(data: bytes) -> None:
    assert read(data).warnings == ()


def test_a_file_over_the_limit_is_refused_with_the_limit(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="larger than 1 MB"):
        load(tmp_path, b"x" * (LIMIT + 1))


def test_a_file_that_disappeared_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="deleted"):
        load_bytes(tmp_path, "gone.md", LIMIT)


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("secret")
    (tmp_path / "link.md").symlink_to(tmp_path / "target")
    with pytest.raises(ReadError):
        load_bytes(tmp_path, "link.md", LIMIT)


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(ReadError, match="pipe"):
        load_bytes(tmp_path, "pipe.md", LIMIT)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    file.chmod(0)
    with pytest.raises(ReadError, match="cannot be read"):
        load_bytes(tmp_path, file.name, LIMIT)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_as_text_or_refused(data: bytes) -> None:
    try:
        text, _ = decode(data)
    except ReadError:
        return
    text.encode("utf-8")


ENDINGS = ["pdf", "pptx", "docx", "xlsx", "xls", "ods", "csv", "html", "epub", "canvas", "excalidraw", "ipynb", "txt"]
PACKED = ["pptx", "docx", "xlsx", "ods", "epub"]
DAMAGES = 200
SECONDS = 360

# One process for each kind: a crash in C may kill the process, and the last line then names the damage.
_CHILD = """
import resource, sys
from pathlib import Path
from excerpt.base.errors import ReadError
from excerpt.base.settings import VaultSettings
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.registry import reader_for
from tests.vault.readers.test_registry import DAMAGES, damaged

resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
file = Path(sys.argv[1])
reader = reader_for(file.name, VaultSettings())
for seed in range(DAMAGES):
    print(seed, flush=True)
    try:
        reader.read(damaged(file.read_bytes(), seed), file.name, ReadOptions(language="en"))
    except ReadError:
        pass
"""


def damaged(data: bytes, seed: int) -> bytes:
    """Return a copy with some bytes changed or its end cut.

    Of an archive, every second damage is inside one of its parts.
    """
    chance = random.Random(seed)
    if seed % 2 and data.startswith(b"PK"):
        return _damaged_within(data, chance)
    if seed % 4 == 0:
        return data[: chance.randrange(len(data))]
    copy = bytearray(data)
    for _ in range(chance.choice((1, 4, 40))):
        copy[chance.randrange(len(copy))] = chance.randrange(256)
    return bytes(copy)


def _damaged_within(data: bytes, chance: random.Random) -> bytes:
    copy = BytesIO()
    with ZipFile(BytesIO(data)) as whole, ZipFile(copy, "w") as archive:
        chosen = chance.choice([name for name in whole.namelist() if whole.getinfo(name).file_size])
        for name in whole.namelist():
            part = bytearray(whole.read(name))
            for _ in range(chance.choice((1, 4, 40)) if name == chosen else 0):
                part[chance.randrange(len(part))] = chance.randrange(256)
            archive.writestr(name, bytes(part))
    return copy.getvalue()


def real_files() -> Iterator[tuple[str, bytes]]:
    talk = pptx.Presentation()
    slide = talk.slides.add_slide(talk.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Pigeons", DARWIN
    yield "a.pptx", file_bytes(talk)
    paper = docx.Document()
    paper.add_heading("Pigeons", 1)
    paper.add_paragraph(DARWIN)
    yield "a.docx", file_bytes(paper)
    yield "a.xlsx", workbook(Sales=table_of_rows(60))
    yield "a.html", PAGE.encode()
    yield "a.epub", epub_bytes(**{"OPS_nav.xhtml": NAVIGATION})
    yield "a.csv", b"name,age\n" + b"ann,1\n" * 50
    nodes = [{"id": "a", "type": "text", "text": DARWIN}, {"id": "b", "type": "file", "file": "x.md"}]
    yield "a.canvas", json.dumps({"nodes": nodes, "edges": [{"id": "e", "fromNode": "a", "toNode": "b"}]}).encode()
    cells = [{"cell_type": "markdown", "source": ["# A\n", "b"], "metadata": {}}]
    yield "a.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def error_or_end(data: bytes, ending: str) -> str:
    """Return the error message of reading a file, "" if it was read."""
    try:
        reader_for(f"a.{ending}", VaultSettings()).read(data, f"a.{ending}", ReadOptions(language="en"))
    except ReadError as error:
        return error.message
    return ""


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_file_is_an_empty_note(ending: str) -> None:
    assert ending in ("txt", "ipynb", "canvas", "excalidraw") or error_or_end(b"", ending)


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if ending not in ("txt", "csv")])
def test_random_bytes_are_refused(ending: str) -> None:
    assert error_or_end(random.Random(1).randbytes(5_000), ending)


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if ending != "html"])
def test_an_image_with_another_suffix_is_refused(ending: str) -> None:
    assert error_or_end(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(200), ending)


@pytest.mark.parametrize("ending", PACKED)
def test_an_archive_bomb_is_refused(ending: str) -> None:
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.xml", b" " * 10_000_000)
    assert error_or_end(data.getvalue(), ending) == "The unpacked file is larger than the limit for attachments."


@pytest.mark.parametrize("ending", PACKED)
def test_a_zip_archive_that_is_not_the_expected_format_is_refused(ending: str) -> None:
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        archive.writestr("photo.jpg", b"x")
    assert error_or_end(data.getvalue(), ending)


@pytest.mark.programs
@pytest.mark.parametrize(("name", "data"), [pytest.param(*file, id=file[0]) for file in real_files()])
def test_two_hundred_damaged_copies_are_read_or_refused(name: str, data: bytes, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", ".", os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", _CHILD, str(file)]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS, env=environment)
    assert child.returncode == 0, f"damage {child.stdout.split()[-1:]}: {child.stderr[-2000:]}"
    assert child.stdout.split()[-1] == str(DAMAGES - 1)


def test_unread_files_are_listed_by_kind_the_commonest_first() -> None:
    counts = [(".eml", 9), (".enex", 3), *((f".x{number}", 1) for number in range(5))]
    (unread,) = describe_unread_files(counts, (0, 0))
    assert (unread.files, unread.what, unread.action) == (
        17,
        "9 .eml, 3 .enex, 1 .x0, 1 .x1, 1 .x2 and 2 of other kinds",
        "",
    )
    assert unread.advice == "see Attachments in the guide"


@pytest.mark.parametrize("name", ["a.mdx", "a.qmd"])
def test_mdx_and_quarto_are_notes(name: str) -> None:
    settings = VaultSettings()
    assert name.endswith(read_suffixes(settings))
    assert reader_for(name, settings).kind == ""
