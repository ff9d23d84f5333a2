"""Tests that the table of a vocabulary counts exactly as the tokenizer does, without loading it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from splintr import AnyTokenizer, Tokenizer

from excerpt.text.token_table import TableCounter

O200K = Tokenizer.from_pretrained("o200k_base")


def load() -> AnyTokenizer:
    return O200K


def refuse() -> AnyTokenizer:
    raise AssertionError("the tokenizer was loaded")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("cache") / "o200k.tokens"
    TableCounter(file, load).count("one")
    return file


@pytest.fixture(scope="module")
def counter(file: Path) -> TableCounter:
    return TableCounter(file, load)


ALPHABETS = (
    st.characters(codec="utf-8"),
    st.characters(min_codepoint=0x80, max_codepoint=0xFFFF, codec="utf-8"),
    st.characters(min_codepoint=0xA0, max_codepoint=0x24F),
    st.characters(min_codepoint=0x2000, max_codepoint=0x206F),
    st.characters(min_codepoint=0x1F300, max_codepoint=0x1FAFF),
    st.characters(min_codepoint=97, max_codepoint=122),
    st.sampled_from("\n\r\t  '’sStTlLrReEvVmMdDſK/.,-_`#[]()|12345\0\x1c\x85"),
)
PARTS = st.one_of([st.text(alphabet, max_size=12) for alphabet in ALPHABETS])


@given(st.lists(PARTS, max_size=8).map("".join))
def test_any_text_has_as_many_tokens_as_by_the_tokenizer(counter: TableCounter, text: str) -> None:
    assert counter.count(text) == len(O200K.encode_ordinary(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "xq zzyqx",
        "## [1] Sync › Conflicts\nFrom Sync/Conflicts.md:12-30, modified 2026-06-01, digest 3fa9c04b7e21\n\n```\n",
        "It's HE'LL we'Ve iPhone HTTPServer snake_case CONSTANT_NAME 1234567 3.14",
        "trailing  \n\n\n   indented\r\n\ttab\u00a0space\u3000wide",
        "日本語の文です。한국어 ภาษาไทย हिन्दी Ελληνικά عربى e\u0301",
        "🍕\n\n👩‍👩‍👧❤️ 𝒳𝓎 \U000105d5 \U000105d5\n\n",
        "<|endoftext|>",
        "a" * 5000,
    ],
)
def test_a_text_has_as_many_tokens_as_by_the_tokenizer(counter: TableCounter, text: str) -> None:
    assert counter.count(text) == len(O200K.encode_ordinary(text))


@pytest.mark.programs
def test_every_character_is_read_as_by_the_tokenizer(counter: TableCounter) -> None:
    characters = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x10000), *range(0x1F000, 0x1FB00))]
    texts = [f"a{one}B 1{one}2{one}\n{one}" for one in characters]
    assert [t for t in texts if counter.count(t) != len(O200K.encode_ordinary(t))] == []


def test_frames_of_packs_are_counted_without_the_tokenizer(file: Path) -> None:
    text = "## [1] Sync › Conflicts\nFrom Sync/Zettelkästen.md:12-30, digest 3fa9c04b7e21\n\n```\nqxzz — “ok” 日本 🍕\n"
    assert TableCounter(file, refuse).count(text) == len(O200K.encode_ordinary(text))


@pytest.mark.programs
@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-1]),
        lambda file: file.write_bytes(file.read_bytes()[:-1] + b"?"),
    ],
    ids=["missing", "empty", "cut", "altered"],
)
def test_a_damaged_table_is_made_again(tmp_path: Path, file: Path, damage: Callable[[Path], object]) -> None:
    copy = tmp_path / file.name
    copy.write_bytes(file.read_bytes())
    damage(copy)
    assert TableCounter(copy, load).count("xq zzyqx") == len(O200K.encode_ordinary("xq zzyqx"))
    assert copy.read_bytes() == file.read_bytes()


def test_without_a_folder_for_the_table_the_tokenizer_counts(tmp_path: Path) -> None:
    assert TableCounter(tmp_path / "none" / "o200k.tokens", load).count("xq") == len(O200K.encode_ordinary("xq"))
    assert list(tmp_path.iterdir()) == []


def test_the_characters_of_a_newer_unicode_are_left_to_the_tokenizer(file: Path) -> None:
    assert unicodedata.category("\u0378") == "Cn"
    with pytest.raises(AssertionError, match="was loaded"):
        TableCounter(file, refuse).count("\u0378")
