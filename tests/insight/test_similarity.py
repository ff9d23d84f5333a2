"""Tests of what counts as a mention of a note in the text of another."""

from __future__ import annotations

import pytest

from excerpt.text.mentions import blank_addresses, blank_markup, can_be_name, find_names

NAMES = dict.fromkeys(["sync", "obsidian sync", "import notes", "wiki-link", "c++", "同步设置", "同步"])


def names_in(text: str) -> list[str]:
    return [text[name.start : name.end] for name in find_names(blank_markup(text), NAMES)]


def test_a_name_is_found_ignoring_case_and_line_breaks() -> None:
    assert names_in("How to IMPORT\nnotes, all of them.") == ["IMPORT\nnotes"]


def test_only_whole_words_are_names() -> None:
    assert names_in("Synchronous, async, resync.") == []


def test_a_name_inside_a_longer_name_is_not_found() -> None:
    assert names_in("Obsidian Sync and sync alone") == ["Obsidian Sync", "sync"]
    assert names_in("在同步设置中同步") == ["同步设置", "同步"]


def test_a_name_does_not_cross_paragraphs() -> None:
    assert names_in("We import\n\nnotes of all kinds.") == []


def test_punctuation_is_part_of_a_name() -> None:
    assert names_in("C++ is not C.") == ["C++"]
    assert names_in("A wiki-link, not a wiki link.") == ["wiki-link"]


@pytest.mark.parametrize(
    "text",
    [
        "[[Sync]]",
        "[[Other|the Sync]]",
        "![[Sync]]",
        "[Sync](other.md)",
        "[Sync (beta)](a(b).md)",
        "[Sync][there]",
        "`Sync`",
        "```py\nSync\n```",
        "~~~\nSync\n~~~\n",
        "https://example.org/Sync/",
        "<!-- Sync -->",
        "<a title=Sync>",
        "me@Sync.org",
        "#Sync",
    ],
)
def test_code_and_markup_contain_no_names(text: str) -> None:
    assert names_in(f"See {text}\n" if not text.startswith(("```", "~~~")) else f"See\n{text}") == []


def test_names_after_a_code_block_are_found() -> None:
    assert names_in("```\ncode\n```\nThen sync.") == ["sync"]


@pytest.mark.parametrize("text", ["a [[Sync]] b", "`x`\n```\nfoo\n```\n<b>c</b>", "[a](b) é 同步 https://x.y"])
def test_blanked_text_keeps_its_length_and_lines(text: str) -> None:
    for blank in (blank_markup(text), blank_addresses(text)):
        assert len(blank) == len(text)
        assert blank.count("\n") == text.count("\n")


def test_web_addresses_contain_no_names_but_link_texts_do() -> None:
    left = blank_addresses(
        "[the shown](path/to.md) ![[picture.png]] https://host.example/a <img src='x'> [[Target]] word"
    )
    assert "the shown" in left
    assert "Target" in left
    assert "word" in left
    assert not any(part in left for part in ("path", "picture", "host", "img"))


@pytest.mark.parametrize(
    ("name", "may"),
    [("It", False), ("the", False), ("2024", False), ("Go", False), ("Tomatoes", True), ("同步", True), ("步", False)],
)
def test_short_names_numbers_and_stop_words_are_not_names(name: str, may: bool) -> None:
    assert can_be_name(name, ("en",)) is may
