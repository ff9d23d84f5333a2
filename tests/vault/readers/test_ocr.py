"""Tests of OCR: tesseract on pages and screenshots of known text, and joining its lines into prose."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from excerpt.base.errors import OcrMissingError, ReadError
from excerpt.base.installation import extra_command
from excerpt.base.settings import Ocr
from excerpt.vault.readers import ocr
from excerpt.vault.readers.ocr import (
    ImageLine,
    RecognisedText,
    group_lines,
    join_blocks,
    languages_for,
    ocr_warning,
    recognise_text,
)
from tests.images import DARWIN, image_bytes, recall, text_image

with_tesseract = pytest.mark.needs("tesseract")


# --- pages and screens ------------------------------------------------------------------------------------------------


@pytest.mark.programs
@with_tesseract
def test_a_page_is_read_with_nearly_all_of_its_words() -> None:
    found = recognise_text(image_bytes(text_image(DARWIN)), Ocr.TESSERACT, "en")
    assert recall(DARWIN, found.text) >= 0.95
    assert found.confidence > 80


@pytest.mark.programs
@with_tesseract
def test_paragraphs_of_a_page_are_those_of_its_text() -> None:
    found = recognise_text(image_bytes(text_image(DARWIN)), Ocr.TESSERACT, "en")
    assert [each[:5] for each in found.text.split("\n\n")] == ["When ", "There"]


@pytest.mark.programs
@with_tesseract
@pytest.mark.parametrize("ink, paper", [("#222", "#eee"), ("#ddd", "#1e1e2e")], ids=["light", "dark"])
def test_a_screenshot_is_read_whatever_its_colours(ink: str, paper: str) -> None:
    found = recognise_text(image_bytes(text_image(DARWIN, letter=16, ink=ink, paper=paper)), Ocr.TESSERACT, "en")
    assert recall(DARWIN, found.text) >= 0.95


@with_tesseract
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
def test_each_format_is_read(kind: str) -> None:
    assert (
        recognise_text(image_bytes(text_image("Turn the compost heap"), kind), Ocr.AUTO, "").text
        == "Turn the compost heap"
    )


# --- missing or failing program ---------------------------------------------------------------------------------------


def test_a_missing_program_is_reported_with_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    with pytest.raises(OcrMissingError, match="neither tesseract nor rapidocr") as raised:
        recognise_text(image_bytes(text_image("a")), Ocr.AUTO, "")
    assert "apt install tesseract-ocr" in raised.value.hint
    assert extra_command("ocr") in raised.value.hint


Program = Callable[[str], None]


@pytest.fixture
def ocr_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return a function that replaces tesseract by a shell script.

    The script lists English as a language, and then runs the given commands.
    """

    def put(script: str) -> None:
        file = tmp_path / "tesseract"
        file.write_text(f'#!/bin/sh\n[ "$1" = --list-langs ] && printf "Languages:\\neng\\nosd\\n" && exit\n{script}\n')
        file.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return put


def test_a_failing_program_is_reported_with_its_reason(ocr_program: Program) -> None:
    ocr_program("echo Estimating >&2; echo Image too large >&2; exit 1")
    with pytest.raises(ReadError, match="Image too large"):
        recognise_text(image_bytes(text_image("a")), Ocr.AUTO, "")


@pytest.mark.programs
def test_an_endless_program_is_ended(ocr_program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "MAX_CPU_SECONDS", 1)
    ocr_program("while :; do :; done")
    with pytest.raises(ReadError, match="longer than 1 s"):
        recognise_text(image_bytes(text_image("a")), Ocr.AUTO, "")


def test_a_list_of_files_in_place_of_an_image_never_reaches_the_program(ocr_program: Program, tmp_path: Path) -> None:
    ocr_program(f"touch {tmp_path}/reached")
    (tmp_path / "secret.png").write_bytes(image_bytes(text_image("Secret")))
    with pytest.raises(ReadError, match="not an image that can be read"):
        recognise_text(f"{tmp_path}/secret.png\n".encode(), Ocr.AUTO, "")
    assert not (tmp_path / "reached").exists()


# --- languages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "language, installed, wanted",
    [
        ("de", ("deu", "eng", "fra", "osd"), ("deu", "eng")),
        ("de", ("eng", "osd"), ("eng",)),
        ("en", ("deu", "eng"), ("eng",)),
        ("zh", ("chi_sim", "eng"), ("chi_sim", "eng")),
        ("", ("deu", "eng", "osd"), ("eng", "deu")),
        ("", ("deu",), ("deu",)),
        ("", ("ara", "deu", "eng", "fra", "jpn"), ("eng",)),
        ("de", ("osd",), ()),
    ],
)
def test_images_are_read_in_the_languages_of_the_vault_that_are_installed(
    language: str, installed: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    assert languages_for(language, installed) == wanted


# --- lines to prose ---------------------------------------------------------------------------------------------------


def image_lines(*texts: str) -> list[ImageLine]:
    """Return lines in letters of 10 by 20 pixels."""
    return [
        ImageLine(tuple(text.split()), 0, 10 * len(text), 30 * number, 30 * number + 20)
        for number, text in enumerate(texts)
    ]


def test_the_lines_of_a_paragraph_are_joined() -> None:
    assert (
        join_blocks([image_lines("a sync conflict", "arises when two", "meet")])
        == "a sync conflict arises when two meet"
    )


def test_a_hyphenated_word_is_joined() -> None:
    assert join_blocks([image_lines("it was synchro-", "nised")]) == "it was synchronised"
    assert join_blocks([image_lines("the state-of-the-", "art of it")]) == "the state-of-the-art of it"
    assert (
        join_blocks([image_lines("from 1914 to 19-", "20 - by Smith-", "Jones")])
        == "from 1914 to 19- 20 - by Smith- Jones"
    )


def test_a_line_break_is_kept_if_the_next_word_would_have_fitted() -> None:
    assert join_blocks([image_lines("Shopping", "spruce boards, wood glue", "sandpaper")]) == (
        "Shopping\nspruce boards, wood glue sandpaper"
    )


def test_list_items_are_lines() -> None:
    assert (
        join_blocks([image_lines("• seven boards", "• glue", "2. sandpaper")]) == "• seven boards\n• glue\n2. sandpaper"
    )


def test_chinese_and_japanese_lines_are_joined_without_spaces() -> None:
    assert (
        join_blocks([[ImageLine(("同", "步"), 0, 40, 0, 20), ImageLine(("笔记", "in", "Git"), 0, 40, 30, 50)]])
        == "同步笔记 in Git"
    )


def test_a_paragraph_starts_after_a_larger_gap() -> None:
    end = ImageLine(("The", "end"), 0, 70, 150, 170)
    assert join_blocks([[*image_lines("a sync conflict", "arises when two", "meet"), end]]) == (
        "a sync conflict arises when two meet\n\nThe end"
    )


def test_an_indented_line_starts_a_new_paragraph() -> None:
    first, second, third, fourth = image_lines("a sync conflict", "arises", "Then one of them", "is kept")
    assert join_blocks([[first, second, replace(third, left=20), fourth]]) == (
        "a sync conflict arises\n\nThen one of them is kept"
    )


def test_columns_are_read_one_after_the_other() -> None:
    left, right = (
        image_lines("one two", "three"),
        [replace(line, left=400, right=500) for line in image_lines("four", "five")],
    )
    assert group_lines([right[0], left[1], right[1], left[0]]) == [left, right]
    apart = [ImageLine(("end",), 0, 30, 200, 220)]
    assert group_lines([*left, *apart]) == [left, apart]


def test_uncertain_recognition_is_a_warning() -> None:
    assert ocr_warning(RecognisedText("clear", 91.0)) == ()
    assert ocr_warning(RecognisedText("", 0.0)) == ()
    assert ocr_warning(RecognisedText("cl3ar", 43.2)) == (
        "The text recognised by OCR may be wrong: the confidence is 43 %.",
    )
