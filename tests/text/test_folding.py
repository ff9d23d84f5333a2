import pytest

from excerpt.text.words import MAX_TERM_CHARACTERS, fold, stem


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("Café", "cafe", "fr"),
        ("naïve", "NAIVE", "en"),
        ("Häuser", "haus", "de"),
        ("Haeuser", "Häuser", "de"),
        ("Straße", "STRASSE", "de"),
        ("İstanbul", "istanbul", "tr"),
        ("ılık", "ilik", "tr"),
        ("Ærø", "aero", "da"),
        ("Łódź", "lodz", "pl"),
        ("ﬁle", "file", "en"),
        ("ＡＢＣ", "abc", ""),
        ("ещё", "еще", "ru"),
        ("синхронизация", "синхронизации", "ru"),
        ("σύγχρονος", "ΣΥΓΧΡΟΝΟΣ", "el"),
        ("أحمد", "احمد", "ar"),
        ("يُمْكِنُ", "يمكن", "ar"),
        ("كتـــاب", "كتاب", "ar"),
        ("المزامنة", "مزامنه", "ar"),
        ("والكتاب", "كتاب", "ar"),
        ("notifications", "notification", ""),
        ("co\u00adoperate", "cooperate", "en"),
        ("e\u0301te\u0301", "été", "fr"),
    ],
)
def test_written_differently_but_one_word(one: str, other: str, language: str) -> None:
    assert stem(one, language) == stem(other, language)


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [("кот", "код", "ru"), ("schon", "schein", "de"), ("की", "का", "hi"), ("が", "か", "ja")],
)
def test_different_words_stay_different(one: str, other: str, language: str) -> None:
    assert stem(one, language) != stem(other, language)


def test_a_word_in_another_script_is_stemmed_by_that_script() -> None:
    assert stem("notifications", "ja") == stem("notification", "ja")
    assert stem("синхронизации", "en") == stem("синхронизация", "en")


def test_words_of_one_and_two_letters_are_kept() -> None:
    assert [stem(word, "en") for word in ("AI", "Go", "R", "as", "is")] == ["ai", "go", "r", "as", "is"]


def test_a_very_long_word_is_known_by_its_beginning() -> None:
    assert stem("x1" * 1000, "") == "x1" * (MAX_TERM_CHARACTERS // 2)


def test_folding_keeps_the_word_whole() -> None:
    assert fold("Crème Brûlée, Straße 5") == "creme brulee, strasse 5"
