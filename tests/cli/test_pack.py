"""pack: the text for a prompt, and the same as data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from excerpt.text.tokens import open_tokenizer
from tests.cli.conftest import Excerpt


def test_the_pack_goes_to_stdout_and_a_line_about_it_to_stderr(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "sync conflict", "--vault", vault)
    assert answer.code == 0
    assert "A sync conflict arises when two devices change one note before they meet." in answer.out
    assert " of Sync.md, " in answer.out
    assert re.match(r"excerpt: \d+ packs.* of 4,000 tokens \(o200k\)", answer.err)


def test_the_same_question_gives_the_same_bytes(excerpt: Excerpt, vault: Path) -> None:
    one = excerpt("pack", "devices", "--vault", vault)
    excerpt("index", "--vault", vault, "--rebuild")
    assert excerpt("pack", "devices", "--vault", vault).out == one.out


@pytest.mark.parametrize("budget", [0, 1, 60, 100, 4000])
@pytest.mark.parametrize("tokenizer", ["o200k", "chars/4"])
def test_the_text_is_never_above_the_budget(excerpt: Excerpt, vault: Path, budget: int, tokenizer: str) -> None:
    answer = excerpt("pack", "sync conflict", "--vault", vault, "--budget", str(budget), "--tokenizer", tokenizer)
    assert open_tokenizer(tokenizer).count(answer.out) <= budget
    assert answer.code == (0 if answer.out else 1)


def test_as_data_it_has_the_keys_of_the_reference(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "sync conflict", "--vault", vault, "--format", "json")
    data = answer.json
    assert list(data)[:8] == ["query", "strategy", "budget", "tokenizer", "tokens", "value", "packs", "left_out"]
    assert list(data["packs"][0])[:10] == [
        "id",
        "path",
        "heading_path",
        "line_start",
        "line_end",
        "scope",
        "entry",
        "fragment_ids",
        "tokens",
        "text",
    ]
    assert data["tokens"] == open_tokenizer("o200k").count(excerpt("pack", "sync conflict", "--vault", vault).out)


def test_the_scope_can_be_chosen(excerpt: Excerpt, vault: Path) -> None:
    def texts(*options: str) -> list[str]:
        asked = ("pack", "sync conflict", "--limit", "1", "--vault", str(vault), "--format", "json", *options)
        return [pack["text"] for pack in excerpt(*asked).json["packs"]]

    hit = "A sync conflict arises when two devices change one note before they meet."
    assert texts("--expand", "none") == [hit]
    assert texts("--expand", "section") == [f"## Conflicts\n\n{hit}"] or texts("--expand", "section") == [hit]
    assert "keeps its own history" in texts("--expand", "neighbors")[0]
    assert texts("--neighbors", "0") == [hit]
    assert "Notes are synchronised" in texts("--expand", "note")[0]


def test_an_unknown_tokenizer_is_wrong_usage_that_names_the_known_ones(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "sync", "--vault", vault, "--tokenizer", "o100k")
    assert answer.code == 2
    assert "o200k" in answer.err
    assert answer.out == ""


def test_nothing_found_is_exit_code_1(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", '"zzqqxx"', "--vault", vault)
    assert answer.code == 1
    assert answer.out == ""
