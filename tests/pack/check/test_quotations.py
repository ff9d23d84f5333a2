"""Tests of locating a quotation in a text, and of the differences that are ignored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.pack.check.quotations import QuotationDifference, find_most_similar, find_quotation

NOTE = """\
## Conflicts

- A **sync conflict** arises when *two devices* change one note
- before they meet, see [[Guides/Sync|Sync]] and [the docs](https://x.org "t").

> It isn't able to merge "both" — yet…
| a | b |
Use `excerpt pack` at 1.5 GB of snake_case, non-empty. ^id-1
"""


def difference_of(quotation: str) -> tuple[str, list[str]] | None:
    passage = find_quotation(quotation, NOTE)
    if passage is None:
        return None
    return NOTE[passage.start : passage.end], [each.value for each in passage.differences]


def test_a_literal_quotation_has_no_difference() -> None:
    assert difference_of("arises when *two devices* change") == ("arises when *two devices* change", [])


@pytest.mark.parametrize(
    ("quotation", "differences"),
    [
        ("change one note before they meet", ["white space", "markup"]),
        ("A sync conflict arises", ["markup"]),
        ("a SYNC conflict arises", ["markup", "capitals"]),
        ("[t]wo devices", ["markup"]),
        ("see Sync and the docs.", ["markup"]),
        ("It isn’t able to merge “both” – yet", ["signs"]),
        ("yet...", ["signs"]),
        ("Use `excerpt  pack` at", ["white space"]),
        ("Use excerpt pack at", ["markup"]),
        ("before they meet.", ["sign at the end"]),
        ("a b", ["white space", "markup"]),
        ("A sync conflict … one note", ["markup", "words left out"]),
        ("sync conflict** […] before they meet", ["words left out"]),
        ("…before they meet…", []),
    ],
)
def test_a_similar_quotation_names_its_differences(quotation: str, differences: list[str]) -> None:
    passage = difference_of(quotation)
    assert passage is not None
    assert passage[1] == differences


@pytest.mark.parametrize(
    "quotation",
    [
        "two devises change",
        "devices two change",
        "A conflict arises",
        "able to merge “one”",
        "one note … A sync conflict",  # in reverse order
        "sync … note … meet",  # single words occur in any text
        "snakecase",
        "",
        "  ",
        "***",
    ],
)
def test_a_quotation_of_unrelated_words_is_not_found(quotation: str) -> None:
    assert difference_of(quotation) is None


@pytest.mark.parametrize(
    ("quotation", "text", "turned_by"),
    [
        ("You must […] delete the key.", "You must not delete the key.", ("not",)),
        ("You can … delete the key", "You can see why you shouldn't delete the key", ("shouldn't",)),
        ("Delete the key … you read this", "Delete the key only if you read this", ("only",)),
        ("It is … ever done", "It is hardly ever done", ("hardly",)),
        ("Start it … and stop it", "Start it. Only then wait. Now sleep and stop it", ()),
        ("Start it … and stop it", "Start it. Never wait. Now sleep and stop it", ("Never",)),
        ("Sie müssen […] den Schlüssel löschen", "Sie müssen keinesfalls den Schlüssel löschen", ("keinesfalls",)),
        ("vous devez … supprimer la clé", "vous devez donc ne jamais supprimer la clé", ("ne", "jamais")),
        ("вы должны … удалить этот ключ", "вы должны никогда не удалить этот ключ", ("никогда", "не")),
        ("你必须[…]删除密钥", "你必须不要删除密钥", ("不",)),
        ("今後は […] 鍵を消して", "今後はいけませんので鍵を消して", ("ません",)),
        ("no deve […] apagar a chave", "no deve no computador da casa apagar a chave que não é de um dos", ()),
        ("You must … delete the key", "You must not delete the key. You must now delete the key.", ()),
    ],
)
def test_an_ellipsis_that_omits_a_negation_names_it(quotation: str, text: str, turned_by: tuple[str, ...]) -> None:
    passage = find_quotation(quotation, text)
    assert passage is not None
    assert passage.turned_by == turned_by


def test_nested_quotation_marks_may_differ_but_feet_are_not_inches() -> None:
    assert find_quotation("It isn't able to merge 'both'", NOTE) is not None
    assert find_quotation("It is 5' wide", 'It is 5" wide') is None


@pytest.mark.parametrize("quotation", ["ync conflict", "two device", "It isn", "5 GB of", "at 1", "empty", "t able to"])
def test_a_quotation_does_not_match_a_part_of_a_word(quotation: str) -> None:
    """Check word boundaries: "able to" does not match in "unable to", nor "5 GB" in "1.5 GB"."""
    assert difference_of(quotation) is None


def test_scripts_without_spaces_match_at_any_character() -> None:
    assert find_quotation("步冲突", "同步冲突会发生。") is not None


def test_an_accent_matches_whether_it_is_composed_or_a_combining_mark() -> None:
    passage = find_quotation("un café crème", "un cafe\u0301 cre\u0300me chaud")
    assert passage is not None
    assert passage.differences == (QuotationDifference.SIGNS,)


def test_a_letter_with_another_accent_is_another_letter() -> None:
    assert find_quotation("un cafe creme", "un café crème") is None


_WORDS = st.lists(
    st.sampled_from(["sync", "Note", "naïve", "Straße", "**b**", "`c`", "[[d|e]]", "x.", "1,5"]), min_size=1
)


@given(_WORDS, st.data(), st.sampled_from([" ", "\n", "\n\n"]))
def test_whole_words_cut_from_a_text_are_found_in_it(words: list[str], data: st.DataObject, apart: str) -> None:
    text = apart.join(words)
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    assert find_quotation(apart.join(words[first : last + 1]), text) is not None
    assert find_quotation(" ".join(words[first : last + 1]), text) is not None


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared(quotation: str, text: str) -> None:
    passage, like = find_quotation(quotation, text), find_most_similar(quotation, text)
    for place in (passage, like):
        assert place is None or 0 <= place.start < place.end <= len(text)
    assert like is None or 0 <= like.similarity <= 100


def test_the_most_similar_passage_has_whole_words() -> None:
    like = find_most_similar("A sync conflict arises when three devices change", NOTE)
    assert like is not None
    assert NOTE[like.start : like.end] == "A **sync conflict** arises when *two devices* change"
    assert like.similarity > 90


def test_a_quotation_longer_than_the_text_is_not_found() -> None:
    like = find_most_similar("sync conflict and a great deal more that nobody wrote", "sync conflict")
    assert like is not None
    assert like.similarity < 50


@pytest.mark.parametrize(
    ("quotation", "text"),
    [
        ("the wheel spins fast", "So the wheel[^1] spins fast today."),
        ("das Rad dreht sich", "Heute dreht das Rad[^2] sich; das Rad[^lang] dreht sich."),
        ("the red barn door", "See the [red barn](https://x.example/a_(b)?c=d) door."),
        ("an unbelievable story", "It is an un**believ**able story."),
    ],
)
def test_a_quotation_is_compared_with_the_text_without_markdown_marks(quotation: str, text: str) -> None:
    passage = find_quotation(quotation, text)
    assert passage is not None
    assert [each.value for each in passage.differences] == ["markup"]
