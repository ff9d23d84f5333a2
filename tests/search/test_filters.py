"""Tests of filters in a real index: what each lets through, what a condition more does to a query, and properties."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from excerpt.base.kinds import FilterKind
from excerpt.base.settings import Settings
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.evidence import POOL_SIZE
from excerpt.search.filters import Flags, sort_newest_first
from excerpt.search.query import Query, add_condition, parse_alternatives
from excerpt.search.results import Filter
from tests.search.library import MODIFIED, NOTES, TODAY, notes_allowed, open_vault, queries, rows_allowed

ALPHA, BETA, PROJECTION, DIARY, NEW_YEAR, SYNC = (
    *("Alpha", "Beta", "Projection", "2025-02-28", "20240101 New year", "同步"),
)
NEWEST_FIRST = [ALPHA, BETA, SYNC, PROJECTION, DIARY, NEW_YEAR]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    snapshot = open_vault(tmp_path_factory.mktemp("library"), NOTES, MODIFIED)
    yield snapshot
    snapshot.close()


def all_notes_except(*notes: str) -> list[str]:
    return [note for note in NEWEST_FIRST if note not in notes]


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        # A tag matches nested tags; a space ends the value.
        ("tag:project ", [ALPHA, BETA]),
        ("tag:project/active ", [ALPHA]),
        ("tag:Project/ACTIVE ", [ALPHA]),
        ("tag:#project ", [ALPHA, BETA]),
        ("tags:project ", [ALPHA, BETA]),
        ("#project ", [ALPHA, BETA]),
        ("#project/closed ", [BETA]),
        ("tag:uberblick ", [ALPHA]),
        ("tag:笔记 ", [SYNC]),
        ("tag:笔记/同步 ", [SYNC]),
        ("tag:active ", []),
        ('tag:"project/active" ', [ALPHA]),
        # Part of the path or file name.
        ("path:projects/ ", [ALPHA, BETA, PROJECTION]),
        ("path:/diary ", [DIARY, NEW_YEAR]),
        ("path:/2025 ", []),
        ("path:/*/2025 ", [DIARY]),
        ("path:/*/ ", NEWEST_FIRST),
        ("path:=/diary/ ", [DIARY, NEW_YEAR]),
        ("path:=/Projects/alpha.md ", [ALPHA]),
        ("path:=diary/ ", []),
        ("path:=/*/ ", []),
        ("path:diary/*year ", [NEW_YEAR]),
        ("path:year*diary ", []),
        ("path:日记 ", [SYNC]),
        # Folder names at any depth, with their contents.
        ("folder:projects ", [ALPHA, BETA, PROJECTION]),
        ("in:Projects/ ", [ALPHA, BETA, PROJECTION]),
        ("in:project ", []),
        ("in:alpha ", []),
        ("in:/diary ", [DIARY, NEW_YEAR]),
        ("in:*ar* ", [DIARY, NEW_YEAR]),
        ("in:/*ary ", [DIARY, NEW_YEAR]),
        ("in:日记 ", [SYNC]),
        ("file:pro ", [PROJECTION]),
        ("file:20 ", [DIARY, NEW_YEAR]),
        ('file:"new year" ', [NEW_YEAR]),
        ("file:20*.md ", [DIARY, NEW_YEAR]),
        ("file:md ", []),
        # Words of titles and aliases.
        ("title:alpha ", [ALPHA]),
        ('title:"project alpha" ', [ALPHA]),
        ("title:plan ", [ALPHA]),
        ("title:resume ", [ALPHA]),
        ("alias:plan ", [ALPHA]),
        ("title:同步 ", [SYNC]),
        # Links, by file, title or alias.
        ("link:beta ", [ALPHA, DIARY]),
        ("link:Projects/Beta ", [ALPHA, DIARY]),
        ("link:Beta.md ", [ALPHA, DIARY]),
        ("link:[[Beta]] ", [ALPHA, DIARY]),
        ('link:"[[Beta|so called]]" ', [ALPHA, DIARY]),
        ("link:2025-02-28 ", [ALPHA]),
        ("link:alpha ", []),
        ('link:"the alpha project" ', []),
        ("link:missing ", []),
        ("from:alpha ", [BETA, DIARY]),
        ('from:"first plan" ', [BETA, DIARY]),
        ('from:"resume of alpha" ', [BETA, DIARY]),
        ("from:nobody ", []),
    ],
)
def test_filters_select_notes_by_name_and_folder(library: Snapshot, typed: str, notes: list[str]) -> None:
    assert notes_allowed(library, typed) == notes
    assert notes_allowed(library, f"-{typed}") == all_notes_except(*notes)


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        # Text: whole words, case-folded.
        ("status:done ", [BETA, NEW_YEAR]),
        ("Status:DONE ", [BETA, NEW_YEAR]),
        ("status:do ", []),
        ('status:"in progress" ', [ALPHA]),
        ("status:=done ", [BETA]),
        ("status:* ", [ALPHA, BETA, NEW_YEAR]),
        ('"status":done ', [BETA, NEW_YEAR]),
        ('"Status":"=in progress" ', [ALPHA]),
        ("状态:已完成 ", [SYNC]),
        ("状态:完成 ", [SYNC]),
        # Booleans, numbers, numbers in quotation marks.
        ("done:false ", [ALPHA]),
        ("rating:4 ", [ALPHA]),
        ("rating:>4 ", [BETA]),
        ("rating:>=4 ", [ALPHA, BETA]),
        ("rating:<10 ", [ALPHA]),
        ("rating:1..4 ", [ALPHA]),
        ("rating:5.. ", [BETA]),
        ("budget:12.5 ", [ALPHA]),
        ("budget:<=12.5 ", [ALPHA]),
        # Maps and lists.
        ("people.lead:lovelace ", [ALPHA]),
        ("people.crew:turing ", [ALPHA]),
        ('people.crew:"grace hopper" ', [ALPHA]),
        # Block text.
        ('notes:"lines of" ', [ALPHA]),
        # Dates, however they are written.
        ("due:2025-03 ", [ALPHA]),
        ("due:2025-01 ", [BETA]),
        ("due:>2025-02 ", [ALPHA]),
        ("due:2025-01-01..2025-01-31 ", [BETA]),
        ("due:this-month ", [ALPHA]),
        ("updated:2025-02 ", [SYNC]),
        ("updated:>2025 ", []),
    ],
)
def test_filters_select_notes_by_a_property(library: Snapshot, typed: str, notes: list[str]) -> None:
    assert notes_allowed(library, typed) == notes
    assert notes_allowed(library, f"-{typed}") == all_notes_except(*notes)


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        # The property `date`, the file name, the title or the property `created`; the last change of a note without.
        ("date:2024-03 ", [BETA]),
        ("date:2024-06 ", [ALPHA]),
        ("date:2025-02-28 ", [DIARY]),
        ("date:2024-01-01 ", [NEW_YEAR]),
        ("date:2025-03 ", [SYNC, PROJECTION]),
        ('date:"5 march 2024" ', [BETA]),
        ("date:* ", [BETA]),
        ("after:2025-02 ", [SYNC, PROJECTION]),
        ("after:7d ", [SYNC, PROJECTION]),
        ("before:2024-12-31 ", [ALPHA, BETA, NEW_YEAR]),
        ("before:1y ", [BETA, NEW_YEAR]),
        ("since:2025-03-13 ", [SYNC]),
        ("modified:today ", [ALPHA]),
        ("modified:yesterday ", []),
        ("modified:this-week ", [ALPHA, PROJECTION]),
        ("modified:last-month ", [SYNC, DIARY]),
        ("modified:7d ", [ALPHA, PROJECTION]),
        ("modified:1y ", [ALPHA, SYNC, PROJECTION, DIARY]),
        ("modified:<7d ", [BETA, SYNC, DIARY, NEW_YEAR]),
        ("modified:2024 ", [BETA, NEW_YEAR]),
        ("modified:>2024 ", [ALPHA, SYNC, PROJECTION, DIARY]),
        ("modified:2025-03 ", [ALPHA, PROJECTION]),
        ("modified:>=2025-03-13 ", [ALPHA]),
        ("modified:>2025-03-13 ", [ALPHA]),
        ("modified:<=2025-02-28 ", [BETA, SYNC, DIARY, NEW_YEAR]),
        ("modified:2025-02-28..2025-03-10 ", [PROJECTION, DIARY]),
        ("modified:..2024 ", [BETA, NEW_YEAR]),
        ("modified:1500 ", []),
        # From a property, else from the file name; a note without either is in no period.
        ("created:2024-06 ", [ALPHA]),
        ("created:2024-03-05 ", [BETA]),
        ("created:2025-02-28 ", [DIARY]),
        ("created:2024-01-01 ", [NEW_YEAR]),
        ("created:<2100 ", [ALPHA, BETA, DIARY, NEW_YEAR]),
    ],
)
def test_filters_select_notes_by_time(library: Snapshot, typed: str, notes: list[str]) -> None:
    assert notes_allowed(library, typed) == notes
    assert notes_allowed(library, f"-{typed}") == all_notes_except(*notes)


def test_all_filters_must_match(library: Snapshot) -> None:
    assert notes_allowed(library, "path:projects -status:done heading:questions") == [ALPHA]


@pytest.mark.parametrize(
    ("typed", "headings"),
    [
        ("path:projects heading:questions ", ["Open questions", "Settled questions"]),
        ("path:projects heading:question ", ["Open questions", "Settled questions"]),
        ("path:projects heading:ques", ["Open questions", "Settled questions"]),
        ('path:projects heading:"questions settled" ', ["Settled questions"]),
        ("path:projects heading:settled heading:beta ", ["Settled questions"]),
        ("path:projects/beta -heading:questions ", ["Beta"]),
        ("heading:nowhere ", []),
    ],
)
def test_a_heading_filter_matches_the_text_below_it(library: Snapshot, typed: str, headings: list[str]) -> None:
    flags = rows_allowed(library, queries(library, typed)[0])
    assert flags is not None
    fragments = library.fragments(library.table.keys[flags].tolist())
    assert sorted(fragment.heading_path[-1] for fragment in fragments) == headings


def test_words_and_phrases_can_be_excluded(library: Snapshot) -> None:
    assert notes_allowed(library, "path:projects -map") == [ALPHA, BETA]
    assert notes_allowed(library, 'path:projects -"a map"') == [ALPHA, BETA]
    assert notes_allowed(library, "path:projects -questions -map") == [ALPHA, BETA], "their other fragments stay"
    assert notes_allowed(library, "path:日记 -保管") == []
    assert notes_allowed(library, "path:projects -R&D -C++") == [ALPHA, BETA, PROJECTION]


def test_a_query_without_filters_searches_everything(library: Snapshot) -> None:
    assert rows_allowed(library, queries(library, "alpha beta")[0]) is None


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        ("tag:projec", [ALPHA, BETA, PROJECTION]),
        ("#projec", [ALPHA, BETA, PROJECTION]),
        ('tag:"project/a', [ALPHA]),
        ("title:alp", [ALPHA]),
        ('title:"the alp', [ALPHA]),
        ("heading:sett", [BETA]),
        ("status:prog", [ALPHA]),
        ("folder:proj", [ALPHA, BETA, PROJECTION]),
        ("in:/di", [DIARY, NEW_YEAR]),
        ("link:bet", [ALPHA, DIARY]),
        ("from:first", [BETA, DIARY]),
    ],
)
def test_the_filter_being_typed_also_matches_prefixes(library: Snapshot, typed: str, notes: list[str]) -> None:
    assert notes_allowed(library, typed) == notes


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        ("date:2024-05 ", ["2024-05", "2024-Q2", "2024-W18", "2024-W19"]),
        ("date:2024-04-30 ", ["2024-Q2", "2024-W18"]),
        ("date:2024-05-20 ", ["2024-05", "2024-Q2"]),
        ("date:2024-W19 ", ["2024-05", "2024-Q2", "2024-W19"]),
        ("date:<2024-05 ", ["2024-Q2", "2024-W18"]),
        ("created:2024-04 ", ["2024-Q2", "2024-W18"]),
    ],
)
def test_a_note_named_by_a_week_or_month_or_quarter_matches_every_day_of_it(
    tmp_path: Path, typed: str, notes: list[str]
) -> None:
    names = ["2024-W18", "2024-W19", "2024-05", "2024-Q2"]
    snapshot = open_vault(tmp_path, {f"{name}.md": "Text.\n" for name in names})
    assert sorted(notes_allowed(snapshot, typed)) == notes
    snapshot.close()


@pytest.mark.parametrize("typed", ["modified:2025 ", "date:2025 ", "modified:today "])
def test_a_time_that_copied_files_share_matches_no_time_filter(tmp_path: Path, typed: str) -> None:
    texts = {"a.md": "Text.\n", "b.md": "---\ndate: 2024-05-01\n---\nText.\n"}
    snapshot = open_vault(tmp_path, texts, dict.fromkeys(texts, TODAY))
    assert notes_allowed(snapshot, typed) == []
    assert notes_allowed(snapshot, "modified:2024-05 ") == ["b"]
    snapshot.close()


LINKS = {
    "Target.md": "# Target\n\nItself [[Target]].\n",
    "By property.md": "---\nup: [[Target]]\n---\n# First\n\nOne.\n\n# Second\n\nTwo.\n",
    "By text.md": "# First\n\nOne.\n\n# Second\n\nTwo, [[Target|so called]].\n\n# Third\n\nThree.\n",
    "By heading.md": "# First\n\nOne.\n\n# Of [[Target]]\n\nTwo.\n\n# Third\n\nThree.\n",
    "By two.md": "[[target]]\n\n# Second\n\n![[Target#x]]\n\n# Third\n\n[[Other]]\n",
}


@pytest.mark.parametrize("typed", ["link:Target ", "link:targ", 'link:"[[Target]]" '])
def test_a_link_filter_finds_the_passages_with_the_link(tmp_path: Path, typed: str) -> None:
    snapshot = open_vault(tmp_path, LINKS)
    flags = rows_allowed(snapshot, queries(snapshot, typed)[0])
    assert flags is not None
    rows = np.flatnonzero(flags)
    fragments = snapshot.fragments(snapshot.lexical.keys[rows].tolist())
    assert sorted((fragment.path, fragment.line_start) for fragment in fragments) == [
        ("By heading.md", 7), ("By property.md", 6), ("By text.md", 7), ("By two.md", 1), ("By two.md", 5),
    ]  # fmt: skip
    snapshot.close()


def test_a_negated_link_filter_excludes_whole_notes(tmp_path: Path) -> None:
    snapshot = open_vault(tmp_path, LINKS)
    assert notes_allowed(snapshot, "-link:Target ") == ["Target"]
    snapshot.close()


def test_a_filter_value_that_is_an_exact_name_does_not_match_as_a_prefix(library: Snapshot) -> None:
    assert notes_allowed(library, "tag:project") == [ALPHA, BETA]


def test_a_negated_filter_that_is_still_being_typed_excludes_nothing(library: Snapshot) -> None:
    assert notes_allowed(library, "-tag:projec") == NEWEST_FIRST


def test_a_negated_root_folder_excludes_nothing_while_it_is_typed(library: Snapshot) -> None:
    assert notes_allowed(library, "-path:/") == NEWEST_FIRST
    assert notes_allowed(library, "-path:/ ") == []


def test_notes_are_listed_newest_first_with_their_first_fragment(library: Snapshot) -> None:
    flags = rows_allowed(library, queries(library, "path:projects")[0])
    assert flags is not None
    fragments = library.fragments(library.table.keys[sort_newest_first(flags, library)].tolist())
    assert [(fragment.path, fragment.ordinal) for fragment in fragments] == [
        ("Projects/Alpha.md", 0),
        ("Projects/Beta.md", 0),
        ("Projects/Projection.md", 0),
        ("Projects/Alpha.md", 1),
        ("Projects/Beta.md", 1),
    ]


def test_if_no_fragment_passes_the_filters_nothing_is_listed(library: Snapshot) -> None:
    flags = rows_allowed(library, queries(library, "tag:nowhere ")[0])
    assert flags is not None
    assert list(sort_newest_first(flags, library)) == []


VALUES = st.text(alphabet=st.characters(), max_size=40) | st.sampled_from(
    [
        "project",
        "proj",
        "alpha",
        "beta",
        "*",
        "a*b",
        "[[Beta]]",
        "2025",
        ">2024",
        "7d",
        "<=4",
        "..",
        "1..5",
        "=done",
        "日",
        ".",
        "/",
    ]
)
FILTERS = st.builds(
    Filter,
    kind=st.sampled_from(FilterKind),
    value=VALUES,
    name=st.sampled_from(["status", "rating", "due", "nowhere"]),
    negated=st.booleans(),
    open=st.booleans(),
)
WORDS = st.sampled_from(["beta", "questions", "C++", "同步", "R&D", "nobody", "..", "_", "\ud800", "a b"])
QUERIES = st.builds(
    Query,
    words=st.just("alpha"),
    phrases=st.lists(WORDS | VALUES.filter(str.strip), max_size=2).map(tuple),
    excluded=st.lists(WORDS, max_size=2).map(tuple),
    excluded_phrases=st.lists(WORDS | VALUES.filter(str.strip), max_size=2).map(tuple),
    filters=st.lists(FILTERS, max_size=3).map(tuple),
)
TYPED = st.lists(
    st.sampled_from(
        ["alpha", "beta", "-map", '"beta is"', '-"a map"', "tag:project", "#projection", "path:diary", "|"]
    ),
    max_size=6,
).map(" ".join)
MORE = [
    "tag:project",
    "-tag:project",
    "path:projects",
    "status:done",
    "modified:7d",
    "link:beta",
    "-title:alpha",
    "heading:q",
]


def allowed_rows(library: Snapshot, query: Query) -> Flags:
    flags = rows_allowed(library, query)
    return np.ones(library.lexical.doc_count, np.bool_) if flags is None else flags


@given(QUERIES, FILTERS)
def test_a_further_filter_never_adds_a_fragment(library: Snapshot, query: Query, one: Filter) -> None:
    more = Query(
        **{name: getattr(query, name) for name in ("words", "phrases", "excluded", "excluded_phrases")},
        filters=(*query.filters, one),
    )
    assert not (allowed_rows(library, more) & ~allowed_rows(library, query)).any()


@given(TYPED, st.sampled_from(MORE))
def test_a_further_filter_typed_into_the_query_never_adds_a_fragment(library: Snapshot, typed: str, one: str) -> None:
    """Add the filter before each alternative of a query."""
    before = queries(library, typed)
    after = queries(library, " | ".join(f"{one} {part}" for part in typed.split("|") if part.strip()) or one)
    rows = np.any([allowed_rows(library, query) for query in before], axis=0)
    assert not (np.any([allowed_rows(library, query) for query in after], axis=0) & ~rows).any()


@given(FILTERS)
def test_every_fragment_passes_either_a_filter_or_its_negation(library: Snapshot, one: Filter) -> None:
    closed = Filter(one.kind, one.value, one.name)
    negated = Filter(one.kind, one.value, one.name, negated=True)
    first, second = (allowed_rows(library, Query("", filters=(part,))) for part in (closed, negated))
    assert not (first & second).any()
    # A link is one of a passage, its negation one of a note: `-link:x` lists the notes without the link.
    notes = library.table.notes
    all_of_kind = np.isin(notes, notes[first]) if one.kind is FilterKind.LINK else first
    assert (all_of_kind ^ second).all()


@given(QUERIES)
def test_a_query_of_filters_lists_each_fragment_that_passes_once(library: Snapshot, query: Query) -> None:
    flags = allowed_rows(library, query)
    assert sorted(sort_newest_first(flags, library).tolist()) == np.flatnonzero(flags).tolist()


@pytest.mark.parametrize(
    "typed",
    [
        'tag:project/active rating:>=4 path:projects "alpha links" ',
        "#projection ",
        "modified:today -tag:笔记 ",
        "created:2024-06-01 heading:questions ",
        "alpha -map | beta -questions ",
        "link:[[Beta]] -path:diary ",
    ],
)
def test_a_query_typed_letter_by_letter_always_lists_something(library: Snapshot, typed: str) -> None:
    for length in range(1, len(typed) + 1):
        assert any(allowed_rows(library, query).any() for query in queries(library, typed[:length])), typed[:length]


PROPERTIES = frozenset({"status"})
TAGS = frozenset({"project", "a b"})
CONDITIONS = ["tag:project", 'tag:"a b"', "-path:a", 'status:"=in ""progress"""', "modified:2025-03", '"status":x']
QUERY_TEXTS = st.lists(
    st.sampled_from(
        [
            *'"|-: \t\xa0\u2028\u200d\ufeff同',
            '"',
            "|",
            " | ",
            '"a b"',
            "sync",
            "-word",
            '-"not this"',
            "tag:project",
            '"status":"x"',
            '5"',
            "!a ",
            "#project",
        ]
    ),
    max_size=8,
).map("".join)


@pytest.fixture(scope="module")
def engine(library: Snapshot) -> Engine:
    return Engine(library, Settings(), today=lambda: TODAY)


@pytest.mark.parametrize(
    ("typed", "after"),
    [
        ("sync", "tag:x sync"),
        ("!s sync conflict ", "!s tag:x sync conflict "),
        ("a b | c", "tag:x a b | tag:x c"),
        ('sync "half open', "tag:x sync  half open"),
        ("path:dia", "tag:x path:dia"),
        ("| a", "| tag:x a"),
        ("", ""),
    ],
)
def test_a_condition_is_added_to_each_alternative(typed: str, after: str) -> None:
    assert add_condition(typed, "tag:x") == after


@given(QUERY_TEXTS, st.sampled_from(CONDITIONS))
@example('" a | b', 'tag:"a b"')
@example('"" | sync', "tag:project")
@example('|"sync', "tag:project")
@example('-word|"', "tag:project")
@example('"|-word', "tag:project")
@example('-word""|', "tag:project")
@example('-word |"| a', 'tag:"a b"')
@example('tag:"project""| a', 'tag:"a b"')
@example('#project" | \u200d', 'tag:"a b"')
@example("a | " * 8 + '" | b', 'tag:"a b"')
def test_each_alternative_gets_one_more_condition_and_nothing_else(typed: str, condition: str) -> None:
    before = parse_alternatives(typed, PROPERTIES, TAGS)
    if not any(c.isalnum() for one in before for c in one.words) and not before[0].is_filter_only:
        return
    (added,) = parse_alternatives(f"{condition} ", PROPERTIES, TAGS)[0].filters
    after = parse_alternatives(add_condition(typed, condition, PROPERTIES, TAGS), PROPERTIES, TAGS)
    assert [_without_words(one) for one in after] == [
        (*_without_words(one)[:-1], frozenset({*one.filters, added})) for one in before
    ]
    assert [_words(one) for one in after] == [_words(one) for one in before]


def _words(query: Query) -> list[str]:
    return query.words.split()


def _without_words(query: Query) -> tuple[object, ...]:
    parts = (query.strategy, query.open_word, query.phrases, query.excluded, query.excluded_phrases)
    return (*parts, frozenset(query.filters))


@pytest.mark.parametrize(
    "typed",
    [
        *("alpha", "questions", "what does the beta need", "同步", "nobody knows quantum chromodynamics", "path:/"),
        *('"a map"', '"." alpha', "beta | map", "!s beta", "proj", "-alpha", "done:true | nobody"),
    ],
)
@pytest.mark.parametrize("condition", ["tag:project", "path:/Diary/", "status:*", "modified:2025-03", "-path:/*/"])
def test_a_condition_and_its_negation_divide_the_matches(
    engine: Engine, library: Snapshot, typed: str, condition: str
) -> None:
    held = engine.find_matching_rows(f"{condition} ")
    inside, outside = (engine.add_condition(typed, sign + condition) for sign in ("", "-"))
    if condition.startswith("-"):
        outside = engine.add_condition(typed, condition[1:])
    everything = engine.find_matching_rows(typed)
    np.testing.assert_array_equal(engine.find_matching_rows(inside), everything & held)
    np.testing.assert_array_equal(engine.find_matching_rows(outside), everything & ~held)
    assert engine.search(inside).matched == np.count_nonzero(everything & held)


def test_matches_do_not_depend_on_limit_or_strategy(engine: Engine) -> None:
    counts = {engine.search(f"{sign} beta", limit=limit).matched for sign in ("!a", "!s", "!h") for limit in (1, 500)}
    assert len(counts) == 1


def test_a_match_of_several_alternatives_counts_once(engine: Engine) -> None:
    notes = {hit.fragment.path for hit in engine.search('"quite" | "map"', limit=50).hits}
    assert len(notes) == 2
    assert engine.search('"quite" | "map" | "quite"').matched == 2


def test_a_filtered_search_without_matches_lists_the_nearest_of_the_rest(tmp_path: Path) -> None:
    zebras = "\n\n".join(f"## {n}\n\nThe zebra has its stripes, and grazes in herd {n}." for n in range(POOL_SIZE + 1))
    invoices = "\n\n".join(f"## {n}\n\nInvoice {n} was paid by bank transfer in euros." for n in range(4 * POOL_SIZE))
    horse = "Wild horses, giraffes and antelopes graze in herds on the savanna.\n"
    snapshot = open_vault(tmp_path, {"Zebras.md": zebras, "Invoices.md": invoices, "Horse.md": horse})
    found = Engine(snapshot, Settings()).search("path:/Horse.md zebra")
    assert [hit.fragment.path for hit in found.hits] == ["Horse.md"]
    assert found.matched == 0
    snapshot.close()
