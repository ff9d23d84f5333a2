"""Tests of `excerpt related`: the nearest notes with reasons, as text and as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Excerpt
from tests.cli.json_forms import documented_fields, mismatches
from tests.insight.garden_notes import NOTES


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    for path, text in NOTES.items():
        file = tmp_path / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path / "vault"


def test_the_text_lists_the_nearest_notes_with_path_score_and_reasons(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("related", "Tomatoes", "--vault", vault)
    assert answer.code == 0
    lines = answer.out.split("\n")
    assert lines[0] == "  1  Potatoes · no link yet"
    assert re.fullmatch(r" {5}Garden/Potatoes\.md:\d+ · 0\.\d\d = .*meaning 0\.\d\d.*", lines[1])
    assert any(line.startswith("     named  “Tomatoes”") and "Garden/Potatoes.md:10" in line for line in lines)
    assert any(line.startswith("     links  ") and line.endswith(" Index") for line in lines)
    assert any(line.startswith("     words  ") and "Bordeaux (2 notes)" in line for line in lines)
    assert "     tags   #garden" in lines
    assert "     place  both in Garden/" in lines
    here = next(at for at, line in enumerate(lines) if line.startswith("     here "))
    assert "Late blight turns the leaves of tomatoes" in lines[here]
    assert "Late blight turns the leaves of potatoes" in lines[here + 1]
    assert "notes similar to Tomatoes" in answer.err


def test_lines_fit_the_width_of_the_terminal(excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    out = excerpt("related", "Tomatoes", "--vault", vault).out.split("\n")
    assert any(line.startswith("     here ") for line in out)
    assert all(len(line) <= 70 for line in out if line.startswith(("     here", "     there", "     words")))


def test_the_json_has_the_documented_fields(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("related", "Garden/Tomatoes.md", "--vault", vault, "--json")
    assert answer.code == 0
    assert list(mismatches(answer.json, documented_fields("related"))) == []


def test_related_with_a_line_number_compares_only_the_passage_at_that_line(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("related", "Tomatoes:11", "--vault", vault, "--json").json
    assert (answer["path"], answer["line"]) == ("Garden/Tomatoes.md", 11)
    assert answer["fragment_id"] == answer["notes"][0]["matches"][0]["passage"]["fragment_id"]
    assert (
        excerpt("related", "Tomatoes#Blight", "--vault", vault, "--json").json["fragment_id"] == answer["fragment_id"]
    )
    assert excerpt("related", "Tomatoes:1", "--vault", vault, "--json").json["line"] == 1
    assert excerpt("related", "Tomatoes", "--vault", vault, "--json").json["line"] is None


def test_a_limit_gives_the_first_notes_of_the_longer_list(excerpt: Excerpt, vault: Path) -> None:
    many = excerpt("related", "Tomatoes", "--vault", vault, "--json").json["notes"]
    two = excerpt("related", "Tomatoes", "--vault", vault, "--json", "--limit", "2").json["notes"]
    assert len(many) > 2
    assert [note["path"] for note in two] == [note["path"] for note in many[:2]]


def test_unlinked_hides_linked_notes_and_says_how_many(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("related", "Tomatoes", "--unlinked", "--vault", vault)
    assert "linked notes hidden" in answer.err
    assert "     links  this links to it" not in answer.out
    notes = excerpt("related", "Tomatoes", "--unlinked", "--vault", vault, "--json").json["notes"]
    assert notes
    assert {note["linked"] for note in notes} == {"no"}


def test_an_unknown_note_exits_with_1_and_a_sentence(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("related", "Tomatos", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")
    assert "Tomatos." in answer.err
    assert "Tomatoes.md" in answer.err


def test_if_no_note_is_related_a_sentence_says_so_and_the_exit_code_is_1(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("related", "Empty", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")
    assert "Empty" in answer.err
    assert excerpt("related", "Empty", "--vault", vault, "--json").json["notes"] == []
