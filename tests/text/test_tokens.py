from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.errors import SettingsError
from excerpt.text.tokens import TOKENIZERS, open_tokenizer


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_tokenizer_counts_without_a_network(name: str) -> None:
    tokenizer = open_tokenizer(name)
    assert tokenizer.name == name
    assert tokenizer.count("") == 0
    assert 0 < tokenizer.count("find a passage") < len("find a passage")


def test_o200k_gives_the_known_counts() -> None:
    count = open_tokenizer("o200k").count
    assert count("hello world") == 2
    assert count("The quick brown fox jumps over the lazy dog.") == 10


def test_a_special_token_in_a_note_is_text() -> None:
    assert open_tokenizer("o200k").count("<|endoftext|>") > 1


def test_the_tokenizer_that_divides_characters_by_four_rounds_up() -> None:
    assert [open_tokenizer("chars/4").count("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


@given(st.text(st.characters(codec=None), max_size=50))
def test_any_text_can_be_counted(text: str) -> None:
    assert open_tokenizer("o200k").count(text) <= 4 * len(text)


def test_an_unknown_name_is_reported_with_the_known_and_nearest_ones() -> None:
    with pytest.raises(SettingsError) as error:
        open_tokenizer("o200")
    assert "Did you mean o200k?" in error.value.hint
    assert "llama3" in error.value.hint


def test_a_file_that_is_not_a_tokenizer_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text("{}")
    with pytest.raises(SettingsError, match=r"tokenizer\.json"):
        open_tokenizer(str(file))


@pytest.mark.parametrize(
    ("other", "name"), [("chars4", "chars/4"), ("characters/4", "chars/4"), ("o200k_base", "o200k")]
)
def test_alternative_names_of_tokenizers_are_accepted(other: str, name: str) -> None:
    assert open_tokenizer(other).name == name


@pytest.mark.parametrize("name", ["", "\0", "~nobody-of-that-name/x", "x" * 5000])
def test_an_impossible_file_name_is_unknown(name: str) -> None:
    with pytest.raises(SettingsError, match="There is no tokenizer"):
        open_tokenizer(name)


def test_a_tokenizer_json_is_opened_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(
        '{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},'
        '"post_processor":null,"decoder":null,"model":{"type":"WordPiece","unk_token":"[UNK]",'
        '"continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{"[UNK]":0,"find":1,"me":2}}}'
    )
    assert open_tokenizer(str(file)).count("find me") == 2
    assert open_tokenizer(str(tmp_path)).count("find me") == 2
