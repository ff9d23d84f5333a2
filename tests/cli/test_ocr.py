"""Tests of `index --ocr`: it turns on OCR for the vault as a setting and reports it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from excerpt.settings import Ocr, load_vault_settings, user_paths
from tests.cli.conftest import Excerpt
from tests.drawn import drawn, saved

pytestmark = pytest.mark.programs


@pytest.fixture
def with_image(vault: Path) -> Path:
    (vault / "list.png").write_bytes(saved(drawn("Buy seven spruce boards for the trellis.")))
    return vault


def ocr_of(vault: Path) -> Ocr:
    return load_vault_settings(vault, user_paths()).vault.attachments.ocr


@pytest.mark.needs("tesseract")
def test_images_are_read_once_it_is_asked_for_and_stay_read(excerpt: Excerpt, with_image: Path) -> None:
    assert "list.png" not in excerpt("search", "spruce", "--vault", with_image).out
    answer = excerpt("index", "--ocr", "--vault", with_image)
    assert answer.code == 0
    assert 'vault.attachments.ocr = "auto"' in answer.err
    excerpt("index", "--vault", with_image)
    assert excerpt("search", "spruce", "--vault", with_image, "--json").json["hits"][0]["path"] == "list.png"


@pytest.mark.needs("tesseract")
def test_a_setting_that_is_on_already_stays_as_it_is(excerpt: Excerpt, with_image: Path) -> None:
    file = user_paths().vault_settings_file(with_image)
    file.parent.mkdir(parents=True)
    file.write_text('[vault.attachments]\nocr = "tesseract" # as installed\n', encoding="utf-8")
    answer = excerpt("index", "--ocr", "--vault", with_image)
    assert (answer.code, answer.err) == (0, "")
    assert file.read_text(encoding="utf-8") == '[vault.attachments]\nocr = "tesseract" # as installed\n'


@pytest.mark.needs("tesseract")
def test_a_program_that_follows_the_index_can_ask_for_it_too(excerpt: Excerpt, with_image: Path) -> None:
    answer = excerpt("index", "--ocr", "--progress", "--vault", with_image)
    assert json.loads(answer.out.splitlines()[-1])["event"] == "done"
    assert ocr_of(with_image) is Ocr.AUTO


def test_without_a_program_nothing_is_changed(
    excerpt: Excerpt, with_image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    answer = excerpt("index", "--ocr", "--vault", with_image)
    assert (answer.code, answer.out) == (3, "")
    assert "OCR" in answer.err
    assert "tesseract-ocr" in answer.err
    assert ocr_of(with_image) is Ocr.OFF


def test_it_is_refused_where_nothing_beside_notes_is_read(excerpt: Excerpt, with_image: Path) -> None:
    file = user_paths().vault_settings_file(with_image)
    file.parent.mkdir(parents=True)
    file.write_text("[vault.attachments]\nread = false\n", encoding="utf-8")
    answer = excerpt("index", "--ocr", "--vault", with_image)
    assert (answer.code, answer.out) == (2, "")
    assert "vault.attachments.read" in answer.err
