from __future__ import annotations

from excerpt.search.proximity import find_word_sequence
from tests.search.tiny import TinyReader, asked


def found(reader: TinyReader, phrase: str) -> list[int]:
    return [int(row) for row in find_word_sequence(reader, asked(phrase))]


def test_words_in_order_without_a_gap() -> None:
    reader = TinyReader("two devices", "devices two", "two old devices", "on two devices again", "two")
    assert found(reader, "two devices") == [0, 3]


def test_one_word() -> None:
    assert found(TinyReader("two devices", "one"), "devices") == [0]


def test_a_phrase_may_stand_in_any_one_field() -> None:
    reader = TinyReader({"heading": "two devices"}, {"title": "two", "text": "devices"}, {"alias": "two devices"})
    assert found(reader, "two devices") == [0, 2]


def test_a_compound_is_found_however_it_is_joined() -> None:
    reader = TinyReader("end-to-end encryption", "end to end encryption", "encryption from end to end")
    assert found(reader, "end-to-end encryption") == [0, 1]


def test_a_phrase_without_spaces() -> None:
    reader = TinyReader("新しい保管庫を作成", "保管庫は新しい")
    assert found(reader, "新しい保管庫") == [0]


def test_a_phrase_that_stands_nowhere() -> None:
    assert found(TinyReader("two devices"), "three devices") == []


def test_forms_of_a_word_are_that_word() -> None:
    assert found(TinyReader("settled conflicts"), "settling conflict") == [0]
