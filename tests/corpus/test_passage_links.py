"""Tests of links to passages: wikilinks, Markdown links, addresses for Obsidian, and `path:line`."""

from __future__ import annotations

from pathlib import Path

import pytest

import excerpt
from tests.cli.conftest import home as excerpt_home

home = excerpt_home  # a fixture

GUIDE = "# Guide\n\nIntro.\n\n## Install\n\n### Linux\n\napt.\n\n### Extra\n\nMore.\n\n## Use\n\n### Linux\n\nRun.\n"


def links(folder: Path, note: str, line: int) -> dict[str, str]:
    """Return the links to the passage of a note that has a line, by form; those of Obsidian if it knows the folder."""
    with excerpt.open(folder) as vault:
        passage = next(each for each in vault.fragments(note) if each.line_start <= line <= each.line_end)
        forms = [form for form in excerpt.LinkForm if form != "obsidian" or (folder / ".obsidian").is_dir()]
        return {str(form): vault.link(passage, form) for form in forms}


def write(folder: Path, **notes: str) -> Path:
    for name, text in notes.items():
        file = folder / f"{name.replace('__', '/')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture
def folder(home: Path, tmp_path: Path) -> Path:
    return write(tmp_path / "My notes", Guide=GUIDE, a__Other="# Other\n\nText.\n")


def test_a_link_has_the_name_of_the_note_and_its_heading(folder: Path) -> None:
    assert links(folder, "Guide.md", 13) == {
        "link": "[[Guide#Extra]]",
        "markdown": "[Guide › Extra](Guide.md#Extra)",
        "lines": "Guide.md:13",
        "path": "Guide.md",
    }


def test_a_passage_below_the_title_is_linked_to_the_note_alone(folder: Path) -> None:
    assert links(folder, "Guide.md", 3)["link"] == "[[Guide]]"
    assert links(folder, "Other.md", 3)["link"] == "[[Other]]"


def test_a_repeated_heading_is_linked_with_the_headings_above_it(folder: Path) -> None:
    assert links(folder, "Guide.md", 9)["link"] == "[[Guide#Guide#Install#Linux]]"
    assert links(folder, "Guide.md", 19)["markdown"] == "[Guide › Linux](Guide.md#Guide#Use#Linux)"


def test_an_ambiguous_note_name_is_linked_by_its_path(folder: Path) -> None:
    write(folder, b__other="Text.\n")
    assert links(folder, "a/Other.md", 3)["link"] == "[[a/Other]]"


def test_an_obsidian_link_names_the_vault_that_obsidian_knows(folder: Path) -> None:
    (folder / ".obsidian").mkdir()
    assert links(folder, "Guide.md", 13)["obsidian"] == "obsidian://open?vault=My%20notes&file=Guide%23Extra"


def test_a_folder_unknown_to_obsidian_has_no_obsidian_link(folder: Path) -> None:
    with excerpt.open(folder) as vault, pytest.raises(excerpt.VaultError, match=r"no \.obsidian folder"):
        vault.link(vault.fragments("Guide.md")[0], "obsidian")


def test_link_syntax_is_replaced_in_headings_and_encoded_in_names(folder: Path) -> None:
    write(folder, **{"C#_[1]": "# C\n\n## About [[x|y]]: `a|b`^2\n\nText.\n"})
    found = links(folder, "C#_[1].md", 5)
    assert found["link"] == found["markdown"] == r"[C#_\[1\] › About y a b 2](C%23_%5B1%5D.md#About%20y%20a%20b%202)"


@pytest.mark.parametrize("name", ["two\nlines", "escape\x1b[31m", "]] [[evil"])
def test_no_character_of_a_note_name_ends_its_link_early(folder: Path, name: str) -> None:
    found = links(write(folder, **{name: "Text.\n"}), f"{name}.md", 1)
    assert all(link.isprintable() for link in found.values())
    assert "[[" not in found["link"]


@pytest.mark.programs
def test_a_passage_of_an_attachment_is_linked_by_page(folder: Path) -> None:
    book = '{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "# Plan\\n\\nText."}]}'
    (folder / "Plan.ipynb").write_text(book)
    assert links(folder, "Plan.ipynb", 1) == {
        "link": "[[Plan.ipynb#cell=1]]",
        "markdown": "[Plan › cell=1](Plan.ipynb#cell=1)",
        "lines": "Plan.ipynb#cell=1",
        "path": "Plan.ipynb",
    }


def test_a_range_of_pages_is_linked_by_its_first_page(folder: Path) -> None:
    with excerpt.open(write(folder, Paper="Text.\n")) as vault:
        passage = excerpt.Source("Paper.md", 1, 1, "", (), "page=3-5")
        assert vault.link(passage) == "[[Paper#page=3]]"
