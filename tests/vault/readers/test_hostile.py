"""Tests of damaged files and files of the wrong type: each gives a note or an error message."""

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

from excerpt.errors import ReadError
from excerpt.settings import VaultSettings
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.registry import reader_for
from tests.drawn import DARWIN
from tests.vault.readers.test_office import saved
from tests.vault.readers.test_sheet import table, workbook
from tests.vault.readers.test_web import NAVIGATION, PAGE, book

ENDINGS = ["pdf", "pptx", "docx", "xlsx", "xls", "ods", "csv", "html", "epub", "canvas", "excalidraw", "ipynb", "txt"]
PACKED = ["pptx", "docx", "xlsx", "ods", "epub"]
DAMAGES = 200
SECONDS = 120

# One process for each kind: a crash in C may kill the process, and the last line then names the damage.
_CHILD = """
import resource, sys
from pathlib import Path
from excerpt.errors import ReadError
from excerpt.settings import VaultSettings
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.registry import reader_for
from tests.vault.readers.test_hostile import DAMAGES, damaged

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
    yield "a.pptx", saved(talk)
    paper = docx.Document()
    paper.add_heading("Pigeons", 1)
    paper.add_paragraph(DARWIN)
    yield "a.docx", saved(paper)
    yield "a.xlsx", workbook(Sales=table(60))
    yield "a.html", PAGE.encode()
    yield "a.epub", book(**{"OPS_nav.xhtml": NAVIGATION})
    yield "a.csv", b"name,age\n" + b"ann,1\n" * 50
    nodes = [{"id": "a", "type": "text", "text": DARWIN}, {"id": "b", "type": "file", "file": "x.md"}]
    yield "a.canvas", json.dumps({"nodes": nodes, "edges": [{"id": "e", "fromNode": "a", "toNode": "b"}]}).encode()
    cells = [{"cell_type": "markdown", "source": ["# A\n", "b"], "metadata": {}}]
    yield "a.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def ends(data: bytes, ending: str) -> str:
    """Return the error message of reading a file, "" if it was read."""
    try:
        reader_for(f"a.{ending}", VaultSettings()).read(data, f"a.{ending}", ReadOptions(language="en"))
    except ReadError as error:
        return error.message
    return ""


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_file_is_no_failure(ending: str) -> None:
    assert ending in ("txt", "ipynb", "canvas", "excalidraw") or ends(b"", ending)


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if ending not in ("txt", "csv")])
def test_random_bytes_are_refused(ending: str) -> None:
    assert ends(random.Random(1).randbytes(5_000), ending)


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if ending != "html"])
def test_an_image_under_another_name_is_refused(ending: str) -> None:
    assert ends(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(200), ending)


@pytest.mark.parametrize("ending", PACKED)
def test_an_archive_that_would_fill_the_memory_is_refused(ending: str) -> None:
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.xml", b" " * 10_000_000)
    assert ends(data.getvalue(), ending) == "The unpacked file is larger than the limit for attachments."


@pytest.mark.parametrize("ending", PACKED)
def test_an_archive_of_something_else_is_refused(ending: str) -> None:
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        archive.writestr("photo.jpg", b"x")
    assert ends(data.getvalue(), ending)


@pytest.mark.programs
@pytest.mark.parametrize(("name", "data"), [pytest.param(*file, id=file[0]) for file in real_files()])
def test_200_damaged_copies_are_read_or_refused(name: str, data: bytes, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", ".", os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", _CHILD, str(file)]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS, env=environment)
    assert child.returncode == 0, f"damage {child.stdout.split()[-1:]}: {child.stderr[-2000:]}"
    assert child.stdout.split()[-1] == str(DAMAGES - 1)
