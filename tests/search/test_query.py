"""Tests of parsing queries: any text is a query, operators of the guide are operators, and long queries are limited."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from functools import partialmethod
from importlib.resources import files
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from excerpt.base.kinds import FilterKind, Strategy
from excerpt.search.bm25 import MAX_FUZZY_WORDS, WordIndex
from excerpt.search.engine import Engine
from excerpt.search.proximity import flatten_positions
from excerpt.search.query import (
    FILTER_KINDS,
    MAX_ALTERNATIVES,
    MAX_CONDITIONS,
    MAX_KEYWORDS,
    MAX_QUERY_WORDS,
    MEMORY_FILTER_KINDS,
    KnownNames,
    Query,
    format_filter,
    literal_query,
    parse_alternatives,
    remove_unfinished_filter,
    suggest_filters,
)
from excerpt.search.results import Filter
from excerpt.text.dates import is_period
from tests.growth import grows_about_linearly

PROPERTIES = frozenset({"status", "ms.date", "date-created", "std"})
TAGS = frozenset({"project", "project/active", "überblick", "uberblick"})


def parse_one(typed: str) -> Query:
    (query,) = parse_alternatives(typed, PROPERTIES, TAGS)
    return query


def filters(typed: str) -> list[tuple[str, str]]:
    return [(("-" if f.negated else "") + (f.name or f.kind), f.value) for f in parse_one(typed).filters]


# --- words ------------------------------------------------------------------------------------------------------------


def test_a_query_of_plain_words_has_no_operators() -> None:
    assert parse_one("sync conflict ") == Query("sync conflict ")


@pytest.mark.parametrize(
    "typed",
    [
        *("state-of-the-art", "R&D", "1.0.21", "C++", "don't", "std::vector", "a-b", "--flag", "-5", "-3.5", "- 5"),
        *("12:30", "http://example.org/a?b=c#d", "https://example.org", "C:\\notes\\x", "file:///home/x", "a:b"),
        *("src/index.ts", "snake_case", "C#", "#", "#5", "#include", "std::project", "note: this", "x|y", "||"),
        *("git -m", "-split operator", "-match and -replace operators", "switch with -regex option", "\N{MINUS SIGN}x"),
        *("!x sync", "!sync", "sync !a", "! a", "tag", "path", "*", "?", "a=b", "<tag:", ">=", "(tag:x)", "5' 3"),
    ],
)
def test_text_that_resembles_an_operator_is_searched_as_words(typed: str) -> None:
    assert parse_one(typed).words == typed
    assert not parse_one(typed).is_filter_only
    assert parse_one(typed) == Query(typed, open_word=typed[-1].isalnum())


@pytest.mark.parametrize(
    "typed",
    [
        *("tag:", "-tag:", "path:", "path:*", "title:", "title:...", "status:", "status:>", "link:", "#", "-#"),
        *(
            "in:",
            "folder:/",
            "folder:*",
            "after:",
            "before:2",
            "date:soon",
            "after:>2025",
            "before:=2025",
        ),
        *("modified:", "modified:2", "modified:20", "modified:202", "modified:>", "modified:>2", "modified:..", "-"),
        *("modified:2025-13", "modified:yest", "modified:7", "-modified:20", "tag: x", "unknown:x", "created:soon"),
    ],
)
def test_an_incomplete_operator_is_searched_as_words(typed: str) -> None:
    assert parse_one(typed).words == typed
    assert parse_one(f"sync {typed}").words == f"sync {typed}"


@pytest.mark.parametrize(("typed", "is_open"), [("syn", True), ("syn ", False), ('"syn"', False), ("C++", False)])
def test_the_last_word_may_be_incomplete_until_a_space_follows(typed: str, is_open: bool) -> None:
    assert parse_one(typed).open_word is is_open


@pytest.mark.parametrize("typed", ["sync tag:project", "sync -phone", "sync modified:7d"])
def test_an_operator_after_a_word_completes_the_word(typed: str) -> None:
    assert not parse_one(typed).open_word


def test_a_last_word_after_a_filter_may_be_incomplete() -> None:
    assert parse_one("tag:project syn").open_word


# --- phrases ----------------------------------------------------------------------------------------------------------


def test_a_quoted_phrase_is_required_and_its_words_are_searched() -> None:
    query = parse_one('sync "two devices" now')
    assert query.phrases == ("two devices",)
    assert query.words.split() == ["sync", "two", "devices", "now"]


def test_an_operator_inside_quotation_marks_is_part_of_the_phrase() -> None:
    query = parse_one('"a | b tag:x -c #project"')
    assert query.phrases == ("a | b tag:x -c #project",)
    assert not query.filters


@pytest.mark.parametrize("typed", ['sync "two dev', 'sync "', '"', 'sync -"two dev'])
def test_a_phrase_that_is_not_closed_yet_is_searched_as_words(typed: str) -> None:
    query = parse_one(typed)
    assert query.phrases == query.excluded_phrases == ()
    assert query.words.split() == typed.replace('"', " ").split()


def test_an_empty_phrase_requires_nothing() -> None:
    query = parse_one('"" sync " "')
    assert query.phrases == ()
    assert query.words.split() == ["sync"]


def test_a_quotation_mark_after_a_digit_or_letter_starts_no_phrase() -> None:
    assert parse_one('5" disk or 3" drive').phrases == ()


def test_in_a_script_without_spaces_a_phrase_may_start_anywhere() -> None:
    assert parse_one('什么是"双向链接"').phrases == ("双向链接",)


@pytest.mark.parametrize(
    "typed",
    [
        'what does the manual mean by "conflict" of devices',
        'the "conflict" that -quite often- arises when two -devices meet',
        'which #project needs the "conflict" of two devices -phone',
        'เหตุใดนักเรียนกลุ่มนี้จึงถูกเรียกว่า "พวกเมธอดิสต์"',
    ],
)
def test_punctuation_of_a_whole_sentence_is_not_an_operator(typed: str) -> None:
    query = parse_one(typed)
    assert query == Query(typed.replace('"', " "), open_word=typed[-1].isalnum())


def test_filters_work_in_a_whole_sentence_and_are_not_counted_as_words() -> None:
    query = parse_one('two devices and the "sync conflict" tag:project path:a path:b')
    assert query.phrases == ("sync conflict",)
    assert filters("why do two devices have a conflict tag:project") == [("tag", "project")]


# --- exclusions -------------------------------------------------------------------------------------------------------


def test_a_dash_before_a_word_after_other_words_excludes_it() -> None:
    query = parse_one('sync -phone -"two devices" -R&D')
    assert query.words.split() == ["sync"]
    assert query.excluded == ("phone", "R&D")
    assert query.excluded_phrases == ("two devices",)


def test_an_excluded_phrase_may_precede_the_words() -> None:
    query = parse_one('-"two devices" sync')
    assert query.words.split() == ["sync"]
    assert query.excluded_phrases == ("two devices",)


def test_a_query_of_exclusions_lists_all_other_notes() -> None:
    assert parse_one("-phone").is_filter_only
    assert parse_one('-"two devices" ').is_filter_only


# --- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("tag:project", [("tag", "project")]),
        ("tag:#project", [("tag", "#project")]),
        ("TAG:Project", [("tag", "Project")]),
        ("tags:project", [("tag", "project")]),
        ("#project/active", [("tag", "project/active")]),
        ("#Überblick", [("tag", "Überblick")]),
        ("-#project", [("-tag", "project")]),
        ("tag:unheard-of", [("tag", "unheard-of")]),
        ("path:a/b", [("path", "a/b")]),
        ('path:"a b/"', [("path", "a b/")]),
        ('-path:"a b/"', [("-path", "a b/")]),
        ("file:x", [("file", "x")]),
        ("title:x", [("title", "x")]),
        ("alias:x", [("title", "x")]),
        ("aliases:x", [("title", "x")]),
        ("heading:x", [("heading", "x")]),
        ("link:[[x]]", [("link", "[[x]]")]),
        ("from:x", [("from", "x")]),
        ("status:done", [("status", "done")]),
        ("Status:done", [("status", "done")]),
        ("status:>=3", [("status", ">=3")]),
        ("ms.date:2024", [("ms.date", "2024")]),
        ("date-created:2024", [("date-created", "2024")]),
        ("modified:7d", [("modified", "7d")]),
        ("modified:>2025-01-01", [("modified", ">2025-01-01")]),
        ("modified:2024..2025", [("modified", "2024..2025")]),
        ("modified:this-week", [("modified", "this-week")]),
        ("-created:yesterday", [("-created", "yesterday")]),
        ("folder:a/b", [("folder", "a/b")]),
        ('-in:"a b"', [("-folder", "a b")]),
        ("date:2025-03", [("date", "2025-03")]),
        ("after:2025-03", [("date", ">2025-03")]),
        ("-before:2w", [("-date", "<2w")]),
        ("since:2025-03-01", [("date", ">=2025-03-01")]),
        ("tag:project tag:project -tag:x", [("tag", "project"), ("-tag", "x")]),
    ],
)
def test_filters_are_parsed(typed: str, found: list[tuple[str, str]]) -> None:
    assert filters(typed) == found
    assert parse_one(typed).is_filter_only


def test_a_filter_may_be_anywhere_and_is_removed_from_the_words() -> None:
    query = parse_one("sync tag:project conflict -path:a of two")
    assert query.words.split() == ["sync", "conflict", "of", "two"]
    assert [f.value for f in query.filters] == ["project", "a"]
    assert not query.is_filter_only


def test_a_key_is_a_filter_only_if_notes_have_it() -> None:
    assert parse_alternatives("status:done", frozenset())[0].words == "status:done"


def test_a_hash_begins_a_tag_only_if_notes_have_the_tag_or_one_that_it_begins() -> None:
    assert filters("#proj") == [("tag", "proj")]
    assert filters("#proj ") == []
    assert filters("#proj x") == []


@pytest.mark.parametrize(
    ("typed", "is_open"),
    [("tag:proj", True), ("tag:proj ", False), ('tag:"a b', True), ('tag:"a b"', False), ("tag:proj sync", False)],
)
def test_the_filter_typed_last_may_be_incomplete(typed: str, is_open: bool) -> None:
    assert [f.open for f in parse_one(typed).filters] == [is_open]


def test_a_quoted_value_being_typed_extends_to_the_end() -> None:
    assert parse_one('sync tag:"two wor').filters == (Filter(FilterKind.TAG, "two wor", open=True),)


# --- alternatives and strategies --------------------------------------------------------------------------------------


def test_a_bar_separates_two_queries() -> None:
    first, second = parse_alternatives('sync tag:project | "two devices" -x1', PROPERTIES, TAGS)
    assert first.words.split() == ["sync"]
    assert [f.value for f in first.filters] == ["project"]
    assert second.phrases == ("two devices",)
    assert second.excluded == ("x1",)


@pytest.mark.parametrize(("typed", "words"), [("sync |", "sync "), ("| sync", "sync"), ("| sync |", "sync ")])
def test_an_or_operator_with_an_empty_side_counts_as_unfinished(typed: str, words: str) -> None:
    assert parse_one(typed).words == words


@pytest.mark.parametrize("typed", ["|", "| |", "", " ", '"', '""', "!a", "-"])
def test_parsing_any_text_gives_at_least_one_query(typed: str) -> None:
    assert parse_one(typed).words.split() == typed.replace('"', "").replace("!a", "").split()


def test_only_the_last_alternative_may_end_with_an_incomplete_word() -> None:
    assert [query.open_word for query in parse_alternatives("syn | confl")] == [False, True]


def test_the_number_of_alternatives_is_limited() -> None:
    queries = parse_alternatives(" | ".join(f"w{n}" for n in range(20)))
    assert len(queries) == MAX_ALTERNATIVES
    assert "w19" in queries[-1].words.split()


@pytest.mark.parametrize(
    ("typed", "strategy"),
    [
        ("!a", Strategy.ADAPTIVE),
        ("!p", Strategy.PROXIMITY),
        ("!s", Strategy.SEMANTIC),
        ("!h", Strategy.HYBRID),
        ("!H", Strategy.HYBRID),
    ],
)
def test_a_strategy_prefix_applies_to_all_alternatives(typed: str, strategy: Strategy) -> None:
    queries = parse_alternatives(f"  {typed} sync | devices")
    assert [(query.words.strip(), query.strategy) for query in queries] == [("sync", strategy), ("devices", strategy)]


# --- unusual names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ('path:"a ""b"" c/" ', [("path", 'a "b" c/')]),
        ('tag:"🔥" ', [("tag", "🔥")]),
        ('"status":done ', [("status", "done")]),
        ('-"Status":"in progress" ', [("-status", "in progress")]),
        ('status:"=>" ', [("status", "=>")]),
    ],
)
def test_quotation_marks_allow_any_name_and_value(typed: str, found: list[tuple[str, str]]) -> None:
    assert filters(typed) == found


def test_a_quoted_name_is_a_property_even_if_a_filter_has_it() -> None:
    (query,) = parse_alternatives('"path":x ', frozenset({"path"}), TAGS)
    assert query.filters == (Filter(FilterKind.PROPERTY, "x", "path"),)


@pytest.mark.parametrize("typed", ['"sync": done', '"unknown":x', '"path":x'])
def test_a_phrase_before_a_colon_is_a_phrase(typed: str) -> None:
    assert parse_one(typed).phrases
    assert not parse_one(typed).filters


def test_a_value_that_is_not_a_time_filters_the_property_of_that_name() -> None:
    named = frozenset({"date", "before"})
    (query,) = parse_alternatives('date:* before:"the flood" date:2025 after:ever ', named, TAGS)
    assert query.filters == (
        Filter(FilterKind.PROPERTY, "*", "date"),
        Filter(FilterKind.PROPERTY, "the flood", "before"),
        Filter(FilterKind.DATE, "2025"),
    )
    assert query.words.split() == ["after:ever"]
    assert remove_unfinished_filter("sync date:*") == "sync date:*"


def test_memories_have_their_own_filters() -> None:
    typed = "source:Sync since:7d is:stale "
    (query,) = parse_alternatives(typed, kinds=MEMORY_FILTER_KINDS)
    assert [one.kind for one in query.filters] == [FilterKind.SOURCE, FilterKind.CREATED, FilterKind.IS]
    assert parse_one(typed).words.split() == ["source:Sync", "is:stale"]
    assert parse_alternatives("is:fresh", kinds=MEMORY_FILTER_KINDS)[0].words == "is:fresh"


# --- near misses of filters -------------------------------------------------------------------------------------------


def hints_for(typed: str) -> list[str]:
    return [
        f"{typed[: hint.start]}{hint.instead}{typed[hint.end :]}"
        for hint in suggest_filters(typed, KnownNames(PROPERTIES, TAGS, FILTER_KINDS))
    ]


@pytest.mark.parametrize(
    ("typed", "instead"),
    [
        ("sync tga:project", "sync tag:project"),
        ("-tga:project sync", "-tag:project sync"),
        ("Paht:a", "path:a"),
        ('fodler:"a b"', 'folder:"a b"'),
        ("befroe:2025 x", "before:2025 x"),
        ("modifeid:7d", "modified:7d"),
        ("statsu:done", "status:done"),
        ("date-craeted:2024", "date-created:2024"),
        ("tga:a tga:b", "tag:a tga:b"),
    ],
)
def test_a_misspelt_key_is_offered_in_its_correct_form(typed: str, instead: str) -> None:
    assert hints_for(typed) == [instead]


@pytest.mark.parametrize(
    "typed",
    [
        *("std::vector", "tga::x", "12:30", "http://example.org", "ftp://x", "C:\\x", "C:/x", "tga:/x", "tga:\\x"),
        *("Note: this", "tga:", "tga: x", "data:image/png;base64,AAAA", "mailto:a@b.org", "urn:isbn:1", "localhost:80"),
        *('"tga:x"', "remark:this", "state:x", "to:x", "i:n", "x2g:y", "tag:x", "status:x", "befroe:soon", "int:5"),
    ],
)
def test_words_that_resemble_no_filter_get_no_hint(typed: str) -> None:
    assert hints_for(typed) == []


def test_the_number_of_hints_is_limited() -> None:
    assert len(hints_for("tga:x pth:x fiel:x titel:x headign:x lnik:x")) == 3


# --- while typing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", ["tag:", "-tag:", "#", 'path:"', "file:", "modified:", "modified:2", "created:>"])
def test_an_incomplete_filter_is_removed_from_the_end_of_the_text(begun: str) -> None:
    assert remove_unfinished_filter(f"sync conflict {begun}") == "sync conflict"
    assert remove_unfinished_filter(begun) == begun


@pytest.mark.parametrize(
    "typed", ["sync tag:p", "sync modified:7d", "tag: sync", "sync http:", "sync C#", "say: no", ""]
)
def test_only_an_unfinished_filter_is_removed_from_the_query(typed: str) -> None:
    assert remove_unfinished_filter(typed) == typed


ONE_PROPERTY = frozenset({"status"})
ONE_TAG = frozenset({"project"})

ANY_TEXT = st.text(alphabet=st.characters(), max_size=200) | st.lists(
    st.sampled_from(
        [
            *'"-|#:<>=*.! \t\n\x00\ud800',
            "tag:",
            "tga:",
            "befroe:",
            "in:",
            "after:",
            "modified:",
            "2025-",
            "7d",
            "path:",
            "status:",
            "#project",
            " | ",
            "ab",
            "猫",
        ]
    )
).map("".join)


@given(ANY_TEXT)
@example("\ud800:\udfff")
@example('tag:"\x00')
def test_any_text_can_be_parsed_as_a_query(typed: str) -> None:
    queries = parse_alternatives(typed, ONE_PROPERTY, ONE_TAG)
    assert 1 <= len(queries) <= MAX_ALTERNATIVES
    for query in queries:
        assert '"' not in query.words
        assert all(phrase.strip() for phrase in (*query.phrases, *query.excluded_phrases))
        assert all(query.excluded)
        assert all(one.value.strip() for one in query.filters)
        assert not (query.open_word and not query.words[-1].isalnum())


@given(ANY_TEXT)
def test_every_letter_of_the_input_is_in_a_parsed_query(typed: str) -> None:
    """Check that every letter of the input, except an operator's own, is somewhere in some query."""
    if typed.lstrip()[:2].lower() in ("!a", "!p", "!s", "!h"):
        return
    kept = "".join(
        part
        for query in parse_alternatives(typed, ONE_PROPERTY, ONE_TAG)
        for part in (
            query.words,
            *query.excluded,
            *query.excluded_phrases,
            *(f"{f.kind}{f.name}{f.value}" for f in query.filters),
        )
    )
    assert {c for c in typed if c.isalnum()} <= set(kept) | set("tagsaliasinafter")


@given(ANY_TEXT, st.sampled_from([FILTER_KINDS, MEMORY_FILTER_KINDS]))
@example("tga:x", FILTER_KINDS)
@example("-statsu:*", FILTER_KINDS)
def test_a_hint_is_given_for_a_word_that_becomes_a_filter_when_corrected(
    typed: str, kinds: Mapping[str, FilterKind]
) -> None:
    queries = parse_alternatives(typed, ONE_PROPERTY, ONE_TAG, kinds)
    for hint in suggest_filters(typed, KnownNames(ONE_PROPERTY, ONE_TAG, kinds)):
        assert typed[hint.start : hint.end] == hint.written
        assert any(hint.written in word for query in queries for word in (query.words, *query.excluded))
        offered = parse_alternatives(f"{hint.instead}{typed[hint.end :]}", ONE_PROPERTY, ONE_TAG, kinds)
        assert offered[0].filters


@given(ANY_TEXT, st.sampled_from(["tag:project", "-path:a", "modified:7d", "status:x", "-#project", "file:a"]))
def test_a_filter_before_the_query_does_not_change_how_the_rest_is_parsed(typed: str, one: str) -> None:
    if typed.lstrip().startswith("!") or any(c in typed for c in '|"'):
        return
    before, after = (
        parse_alternatives(typed, ONE_PROPERTY, ONE_TAG),
        parse_alternatives(f"{one} {typed}", ONE_PROPERTY, ONE_TAG),
    )
    assert len(before) == len(after) == 1
    if one == "-#project" and len(before[0].words.split()) > MAX_KEYWORDS:
        return  # in prose, a sign before a word is part of the text
    assert after[0].words.split() == before[0].words.split()
    assert after[0].excluded == before[0].excluded
    assert set(after[0].filters) >= set(before[0].filters)
    assert after[0].filters


@pytest.mark.programs
@pytest.mark.parametrize(
    "unit",
    [
        *("a", " ", "a ", '"', '" ', '"a" ', "-", "-a ", "-ab ", "#", "#project ", "tag:", "tag:x ", 'tag:"', "path:*"),
        *(
            "modified:",
            "modified:7d ",
            "| ",
            "a | ",
            ":",
            "::",
            "a:",
            "\x00",
            "\ud800",
            "猫",
            '猫"',
            "e\u0301",
            "\\",
            "<>=",
        ),
        *("tga:x ", 'tga:"x" ', 'tga:"', "tga:x;", "in:* "),
        *("status:>", "2025-", "\u200b", "\U0001f600 ", "!a ", "\n"),
    ],
)
def test_the_work_of_parsing_grows_with_the_length(unit: str) -> None:
    assert parse_alternatives((unit * 10_000)[:10_000], ONE_PROPERTY, ONE_TAG)
    assert grows_about_linearly(lambda size: _read((unit * size)[:size]), 10_000)


def _read(typed: str) -> None:
    parse_alternatives(typed, ONE_PROPERTY, ONE_TAG)
    suggest_filters(typed, KnownNames(ONE_PROPERTY, ONE_TAG, FILTER_KINDS))


@given(st.text(alphabet='ab -#:!|"\\\\/12.p', max_size=14))
def test_a_literal_query_has_no_operators_or_filters(text: str) -> None:
    (query,) = parse_alternatives(literal_query(text), {"a", "b", "p", "ab"})
    assert query == Query(query.words, open_word=query.open_word)


@given(st.sampled_from(["tag", "-path", "status", "-my key"]), st.text(alphabet='ab "<>=/', min_size=1, max_size=8))
def test_a_formatted_filter_is_parsed_as_the_same_filter(name: str, value: str) -> None:
    conditions = parse_alternatives(format_filter(name, value), {"status", "my key"})[0].filters
    for condition in conditions:
        assert condition.value == value.strip()
        assert condition.negated == name.startswith("-")


PAGE, MEMORIES = (
    files("excerpt").joinpath("demo", name).read_text(encoding="utf-8") for name in ("Query language.md", "Memories.md")
)
GUIDE_PROPERTIES = frozenset({"status", "rating", "due", "date-created", "people.lead", "level"})


def code(heading: str, page: str = PAGE) -> list[str]:
    """Return the code spans at the start of each item of the list under a heading."""
    under = page.split(f"## {heading}\n")[1].split("\n## ", maxsplit=1)[0]
    items = re.findall(r"^- ((?:`[^`]+`(?:, | )?)+)(?: …)?:", under, re.MULTILINE)
    return [found for item in items for found in re.findall("`([^`]+)`", item)]


def code_in(sentence: str) -> list[str]:
    """Return the code spans after the bold start of a sentence, up to the end of its line."""
    return re.findall("`([^`]+)`", PAGE.split(f"**{sentence}**")[1].split("\n")[0])


def is_operator(query: Query) -> bool:
    asked = (query.filters, query.phrases, query.excluded, query.excluded_phrases, query.strategy, query.sort)
    return any(asked)


@pytest.mark.parametrize("typed", code("All of it on one page")[1:])
def test_each_operator_in_the_guide_is_parsed_as_an_operator(typed: str) -> None:
    queries = parse_alternatives(typed, GUIDE_PROPERTIES)
    assert len(queries) == 2 if "|" in typed else is_operator(queries[0])


@pytest.mark.parametrize("typed", code("Recall", MEMORIES))
def test_each_memory_filter_in_the_guide_is_parsed_as_a_filter(typed: str) -> None:
    assert parse_alternatives(typed, kinds=MEMORY_FILTER_KINDS)[0].is_filter_only


def test_hints_in_the_guide_are_given_as_described() -> None:
    wrong, right, words = (
        code_in("A filter with a typing error is a word, and excerpt suggests the filter")[at : at + 3]
        for at in (0, 3, 6)
    )
    told = [
        suggest_filters(typed, KnownNames(GUIDE_PROPERTIES, frozenset(), FILTER_KINDS)) for typed in (*wrong, *words)
    ]
    assert [tuple(hint.instead for hint in one) for one in told] == [*((name,) for name in right), (), (), ()]


@pytest.mark.parametrize("value", code("Times"))
def test_each_time_in_the_guide_is_parsed_as_a_time(value: str) -> None:
    assert is_period(value)


@pytest.mark.parametrize(
    "typed", [*code_in("Words with signs find themselves"), "-split operator", "git commit -m", "-5"]
)
def test_each_example_of_plain_words_in_the_guide_is_parsed_as_words(typed: str) -> None:
    assert f"`{typed}`" in PAGE
    assert parse_alternatives(typed, GUIDE_PROPERTIES, frozenset())[0].words == typed


UNKNOWN = ["q" + "".join(letters) for letters in product(string.ascii_lowercase, repeat=3)][:1_000]


class Counter:
    """Counts the calls of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls += 1
        return self.function(*args, **options)


@pytest.fixture
def positions_read(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Count how often the positions of a word are read."""
    counter = Counter(flatten_positions)
    monkeypatch.setattr("excerpt.search.candidates.flatten_positions", counter)
    return counter


def test_positions_of_a_repeated_word_are_read_once(engine: Engine, positions_read: Counter) -> None:
    engine.search("lighthouse keeper " * 50)
    assert positions_read.calls == 2


@pytest.mark.parametrize(
    ("query", "words"), [("wiki-link lighthouse wiki", 4), ("wiki-link wiki-link", 2), ("wiki wiki-link wiki", 3)]
)
def test_a_repeated_compound_is_a_repeated_word_and_its_parts_are_not(
    engine: Engine, positions_read: Counter, query: str, words: int
) -> None:
    engine.search(query)
    assert positions_read.calls == words


def test_a_repeated_word_is_near_the_word_after_its_first_occurrence(engine: Engine) -> None:
    hits = [engine.search(query).hits[0] for query in ("!p flour water salt", "!p flour water salt flour water")]
    once, repeated = ({signal.name: signal.value for signal in hit.signals}["proximity"] for hit in hits)
    assert repeated == once > 0


def test_only_the_first_words_of_a_page_are_searched_with_a_warning(engine: Engine) -> None:
    padding = " ".join(UNKNOWN[:MAX_QUERY_WORDS])
    found = engine.search(f"lighthouse keeper {padding}")
    assert found.hits[0].fragment.path == "Long.md"
    assert f"first {MAX_QUERY_WORDS} words" in found.warnings[0]
    assert sum(len(query.words.split()) for query in engine.parse(f"{padding} lighthouse keeper")) == MAX_QUERY_WORDS


def test_a_question_of_two_hundred_words_is_searched_completely(engine: Engine) -> None:
    assert engine.search(" ".join(UNKNOWN[:MAX_QUERY_WORDS])).warnings == ()


def test_the_alternatives_of_a_query_share_one_limit_of_words(engine: Engine) -> None:
    half = " ".join(UNKNOWN[: MAX_QUERY_WORDS // 2 + 1])
    parsed = engine.parse(f"{half} | {half} | bread")
    assert [len(query.words.split()) for query in parsed] == [MAX_QUERY_WORDS // 2 + 1, MAX_QUERY_WORDS // 2 - 1]


def test_filters_phrases_and_exclusions_are_limited_in_number(engine: Engine) -> None:
    found = engine.search(" ".join(f'-path:{word} "{word}" -{word}' for word in UNKNOWN[:100]))
    assert f"{MAX_CONDITIONS} filters" in found.warnings[0]
    (query,) = engine.parse(" ".join(f"-path:{word}" for word in UNKNOWN[:100]))
    assert len(query.filters) == MAX_CONDITIONS


def test_only_a_few_unknown_words_are_matched_fuzzily(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(WordIndex._similar_terms)
    monkeypatch.setattr(WordIndex, "_similar_terms", partialmethod(counter))
    engine.search(" ".join(UNKNOWN[:100]))
    assert counter.calls == MAX_FUZZY_WORDS
