"""Tests of how the query bar shows a parsed query: its filters and its warnings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from excerpt.base.kinds import Confidence
from excerpt.base.settings import Settings
from excerpt.index.snapshot import Snapshot
from excerpt.search.bm25 import Flags, TermMatches
from excerpt.search.engine import Engine
from excerpt.search.interpretation import describe_missing_words, interpret_query
from excerpt.search.query import MAX_ALTERNATIVES, find_conditions, find_unpaired_quotation_mark, parse_alternatives
from tests.search.library import MODIFIED, NOTES, TODAY, open_vault


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    snapshot = open_vault(tmp_path_factory.mktemp("reading"), NOTES, MODIFIED)
    yield snapshot
    snapshot.close()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("!p sync tag:howto -draft", ["tag:howto", "-draft"]),
        ('a -"two words" | #b path:"x y"', ['-"two words"', "#b", 'path:"x y"']),
        ("-match and -replace operators", []),
        ("what is it that keeps a #tag in place", []),
        ('"a phrase" word', []),
    ],
)
def test_filters_and_exclusions_are_given_with_their_positions(query: str, found: list[str]) -> None:
    assert [query[one.start : one.end] for one in find_conditions(query)] == found


def test_an_unpaired_quotation_mark_is_found_and_an_inch_sign_is_not() -> None:
    assert find_unpaired_quotation_mark('sync "two devices') == 5
    assert find_unpaired_quotation_mark('sync "two devices"') == -1
    assert find_unpaired_quotation_mark('a 19" screen') == -1


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("plan tag:project status:done", []),
        ('plan "two lines', ["a quotation mark is not closed"]),
        ("tag: plan", ["tag: needs a tag"]),
        ("modified:soon plan", ["“soon” is not a time: 7d, 2025-03"]),
        ("created: plan", ["created: needs a time: 7d, 2025-03"]),
        ("tag:nowhere plan", ["no note is tagged “nowhere”"]),
        ('path:"not there/" plan', ["no path contains “not there/”"]),
        ("in:Nowhere plan", ["no folder with notes is named “Nowhere”"]),
        ("before:soon plan", ["“soon” is not a time: 7d, 2025-03"]),
        ("after:2030 plan", ["no note has after:2030"]),
        ("status:unheard plan", ["no note has status:unheard"]),
        ("statsu:done plan", ["`statsu:` is not a filter; did you mean `status:`?"]),
        ("!x plan", ["!x is not a strategy: !a !p !s !h"]),
        ("see http://example.org and std::vector 12:30 remark:this", []),
        ("-tag:nowhere plan", []),
        (" | ".join("abcdefghij"), ["at most 8 queries run at once"]),
    ],
)
def test_only_parts_without_their_apparent_effect_are_reported(library: Snapshot, query: str, said: list[str]) -> None:
    assert [warning.message for warning in interpret_query(library, query, TODAY).warnings] == said


TYPED = st.lists(
    st.sampled_from(
        ['"', " ", "-", "|", "#a", "tag:", "path:x", "modified:7d", "word", "!p ", "!x ", "status:done", "同", ":"]
    ),
    max_size=12,
).map("".join)


@given(TYPED)
@example('tag:"!p ')
def test_conditions_are_the_filters_of_the_search_with_their_positions(query: str) -> None:
    found = find_conditions(query, {"status"}, None)
    asked = [filter_ for one in parse_alternatives(query, {"status"}, None) for filter_ in one.filters]
    assert {one.filter for one in found if one.filter} == set(asked) or query.count("|") >= MAX_ALTERNATIVES
    assert all(query[one.start : one.end].strip() == query[one.start : one.end] for one in found)


@given(TYPED)
def test_any_query_can_be_interpreted(library: Snapshot, query: str) -> None:
    for warning in interpret_query(library, query, TODAY).warnings:
        assert 0 <= warning.start < warning.end <= len(query)


VAULT = {
    "Sync.md": "# Sync\n\nTwo devices share a vault, and the newer file wins.\n",
    "Bread.md": "# Bread\n\nSalt, water, flour; the oven is hot.\n",
    **{f"{n}.md": f"# Day {n}\n\nRain fell on the garden, and the {n}th bean came up.\n" for n in range(20)},
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with closing(open_vault(tmp_path_factory.mktemp("missing"), VAULT)) as snapshot:
        yield Engine(snapshot, Settings())


@pytest.mark.parametrize(
    ("query", "lack"),
    [
        ("why is the rainbow label hot", "No passage has “rainbow”, “label”"),
        ("how do devices share the oven", "No passage has “devices”, “share”, “oven” together"),
        ("the garden", "No passage is sure to answer"),
        ("hot path:Sync", "No passage has “hot”"),
        ("rainbow | oven zebra", "No passage has “rainbow”, “zebra”"),
    ],
)
def test_words_that_no_passage_has_are_named(small: Engine, query: str, lack: str) -> None:
    evidences = [small.find_candidates(parsed)[0] for parsed in small.parse(query)]
    assert describe_missing_words(evidences, small.snapshot.languages) == lack


@pytest.mark.parametrize(
    ("query", "not_found"),
    [
        ("How do devices share a vault, and where is the zebra kept?", ("zebra kept",)),
        ("salt, water, flour and yeast", ("yeast",)),
        ("Is the oven hot? Who feeds the yak? Where is rain on the garden?", ("feeds the yak",)),
        ("two devices share a vault and the oven is hot", ()),
        ("rain on the garden and rain on the bean", ()),
        ("the zebra and the yak", ()),
        ("zebra", ()),
        ("hot oven and zebra | garden", ()),
        ("Hello! Is the oven hot, please? Many thanks in advance.", ()),
        ("Hallo, is the oven hot, bitte? Danke", ()),
        ("Is the oven hot? Merci beaucoup", ()),
        ("Please find the zebra of the yellow farm. Is the oven hot?", ("find the zebra of the yellow farm",)),
        ("the oven is hot and/or rain on the garden", ()),
        ("the oven is hot and/or feeds the yak", ("feeds the yak",)),
        ("the oven is hot, e.g. rain on the garden", ()),
        ("the oven is hot, z. B. rain on the garden", ()),
        ("hot oven vs. garden rain", ()),
        ("Is the oven hot? Where does Dr. Zebra live?", ("Zebra live",)),
        ("Is the oven hot? And who is X?", ()),
    ],
)
def test_the_part_of_a_question_that_no_passage_covers_is_named(
    small: Engine, query: str, not_found: tuple[str, ...]
) -> None:
    assert small.search(query).not_found == not_found


def test_a_part_in_other_words_is_not_named_if_a_passage_is_near_to_it_in_meaning(small: Engine) -> None:
    assert small.search("Do devices share a vault, and how do I bake salted dough?").not_found == ()
    filtered = small.search("Do devices share a vault, and how do I bake salted dough? path:Sync")
    assert filtered.not_found == ("bake salted dough",)


def test_a_passage_without_the_filter_of_a_query_covers_no_part(small: Engine) -> None:
    assert small.search("hot oven and newer file").not_found == ()
    result = small.search("hot oven and newer file path:Bread")
    assert (result.not_found, result.notice) == (("newer file",), "Not found: “newer file”.")


def test_a_question_with_one_part_that_is_found_is_unsure_however_much_the_other_part_weighs(small: Engine) -> None:
    result = small.search("rain, and what does a zebra cost at the airport of Ouagadougou?")
    assert (result.confidence, result.not_found) == (
        Confidence.UNSURE,
        ("zebra cost at the airport of Ouagadougou",),
    )


def test_whether_any_note_has_a_date_is_given(library: Snapshot, small: Engine) -> None:
    assert not interpret_query(small.snapshot, "plan", TODAY).has_dates
    assert interpret_query(library, "plan", TODAY).has_dates


def test_if_many_words_are_missing_three_of_them_are_named(small: Engine) -> None:
    evidences = [small.find_candidates(parsed)[0] for parsed in small.parse("zebra yak yeti yawl")]
    assert describe_missing_words(evidences, small.snapshot.languages).endswith(" and 1 more")


def test_if_many_parts_are_missing_three_of_them_are_named(small: Engine) -> None:
    result = small.search("Is the oven hot? Salt and water, flour and yeast, zebra, lynx and puma")
    assert result.not_found == ("yeast", "zebra", "lynx", "puma")
    assert result.notice == "Not found: “yeast”, “zebra”, “lynx” and 1 more."


def test_to_find_missing_words_all_fragments_are_searched_for_one_word_at_most(
    small: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence, _ = small.find_candidates(small.parse("the rain on a bean in the garden oven")[0])
    marked: list[TermMatches] = []
    mark = TermMatches.mark

    def count_marks(matches: TermMatches, flags: Flags) -> None:
        marked.append(matches)
        mark(matches, flags)

    monkeypatch.setattr(TermMatches, "mark", count_marks)
    assert "“rain”, “bean”, “oven” and 1 more together" in describe_missing_words([evidence], ["en"])
    assert len(marked) <= 1


def test_words_of_a_date_in_the_query_do_not_count_as_missing(small: Engine) -> None:
    evidences = [small.find_candidates(parsed)[0] for parsed in small.parse("rainbow last week")]
    assert describe_missing_words(evidences, ["en"]) == "No passage has “rainbow”"


def test_long_words_with_control_characters_are_named_in_one_line(small: Engine) -> None:
    evidences = [small.find_candidates(parsed)[0] for parsed in small.parse(f"{'x' * 5000} \u202erainbow")]
    lack = describe_missing_words(evidences, ["en"])
    assert len(lack) < 150
    assert lack.isprintable()
