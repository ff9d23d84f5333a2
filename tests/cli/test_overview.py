"""Tests of `excerpt overview` as text and as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from excerpt.text.tokens import open_tokenizer
from tests.cli.conftest import Excerpt
from tests.cli.json_forms import documented_fields, mismatches


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for n in range(12):
        tagged = f"---\ntags: [lamps]\ncreated: 2024-0{n % 3 + 1}-11\n---\n"
        said = (
            f"A lantern of kind {n}, as [[Ada]] made it. Also [[{(n + 1) % 12}]].\n\n## Oil\n\nOil for the lantern.\n"
        )
        (folder / f"{n}.md").write_text(tagged + said, encoding="utf-8")
    for n in range(40):
        (folder / f"Other {n}.md").write_text("A stove.\n", encoding="utf-8")
    (folder / "Hub.md").write_text("".join(f"[[{n}]]\n" for n in range(12)), encoding="utf-8")
    return folder


def test_an_overview_is_printed_as_markdown_and_its_token_count_on_stderr(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("overview", "lantern", "--vault", vault)
    assert answer.code == 0
    heading, counts, first = answer.out.split("\n")[:5:2]
    assert heading.endswith(": lantern")
    assert re.findall(r"\d+ of \d+ \w+", counts) == ["24 of 65 passages", "12 of 53 notes"]
    assert first.startswith("## ")
    tokens = open_tokenizer("o200k").count(answer.out)
    assert "12 notes" in answer.err
    assert f"{tokens} of 800 tokens" in answer.err


def test_the_overview_keeps_its_budget(excerpt: Excerpt, vault: Path) -> None:
    text = excerpt("overview", "lantern", "--vault", vault, "--budget", "120").out
    assert 60 < open_tokenizer("o200k").count(text) <= 120


def test_several_words_on_the_command_line_are_one_topic(excerpt: Excerpt, vault: Path) -> None:
    assert excerpt("overview", "oil", "lantern", "--vault", vault, "--json").json["topic"] == "oil lantern"


def test_the_json_has_the_documented_fields(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("overview", "lantern", "--vault", vault, "--json")
    assert answer.code == 0
    assert list(mismatches(answer.json, documented_fields("overview"))) == []


def test_nothing_found_exits_with_1_and_a_sentence(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("overview", "zxqvb wkkjr", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")
    assert "'zxqvb wkkjr'" in answer.err


def test_nothing_found_is_still_printed_as_json(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("overview", "zxqvb wkkjr", "--vault", vault, "--json")
    assert (answer.code, answer.json["main_notes"], answer.json["timeline"]["months"]) == (1, [], [])


def test_a_topic_is_required(excerpt: Excerpt, vault: Path) -> None:
    assert excerpt("overview", "--vault", vault).code == 2
