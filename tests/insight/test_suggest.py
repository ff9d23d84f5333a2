"""Tests of completions, corrections, and of narrower and wider queries, from the vault's terms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from excerpt.base.settings import Settings
from excerpt.index.snapshot import Snapshot
from excerpt.insight.completions import complete
from excerpt.insight.corrections import correct, find_nearest_words
from excerpt.insight.results import Direction, Suggestion
from excerpt.insight.suggest import suggest_first_queries, suggest_queries
from excerpt.search.engine import Engine
from tests.search.conftest import NOTES as SYNC_NOTES
from tests.search.library import MODIFIED, NOTES, TODAY, notes_allowed, open_vault


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    notes = {
        **NOTES,
        "Twice.md": "---\nstatus: seen twice\nStatus: seen twice\n---\nIt has one property in two spellings.\n",
    }
    snapshot = open_vault(tmp_path_factory.mktemp("completions"), notes, {**MODIFIED, "Twice.md": date(2024, 1, 2)})
    yield snapshot
    snapshot.close()


def completions_of(library: Snapshot, operator: str, begun: str) -> list[tuple[str, int]]:
    return [(one.text, one.count) for one in complete(library, operator, begun, TODAY)]


@pytest.mark.parametrize(
    ("operator", "begun", "expected"),
    [
        (
            "tag",
            "proj",
            [("tag:project", 2), ("tag:project/active", 1), ("tag:project/closed", 1), ("tag:projection", 1)],
        ),
        ("#", "PROJECT/", [("#project/active", 1), ("#project/closed", 1)]),
        ("tag", "clos", [("tag:project/closed", 1)]),
        ("tag", "uber", [("tag:Überblick", 1)]),
        ("path", "", [("path:/Projects/", 3), ("path:/Diary/", 2), ("path:/日记/", 1)]),
        ("path", "/di", [("path:/Diary/", 2)]),
        ("folder", "", [("folder:/Projects/", 3), ("folder:/Diary/", 2), ("folder:/日记/", 1)]),
        ("in", "/di", [("in:/Diary/", 2)]),
        ("sort", "", [("sort:-date", 0), ("sort:date", 0)]),
        ("before", "2025", [("before:2025", 4)]),
        ("file", "2024", [('file:"20240101 New year"', 0)]),
        ("title", "résu", [('title:"Résumé of Alpha"', 0)]),
        ("heading", "questions", [('heading:"Open questions"', 0), ('heading:"Settled questions"', 0)]),
        (
            "status",
            "",
            [("status:=done", 1), ('status:"=in progress"', 1), ('status:"=not done"', 1), ('status:"=seen twice"', 1)],
        ),
        ("Status", "pro", [('status:"=in progress"', 1)]),
        ("modified", "this", [("modified:this-week", 2), ("modified:this-month", 2), ("modified:this-year", 4)]),
        ("http", "", []),
        ("nothing", "x", []),
    ],
)
def test_completions_have_their_note_counts(
    library: Snapshot, operator: str, begun: str, expected: list[tuple[str, int]]
) -> None:
    assert completions_of(library, operator, begun) == expected


@pytest.mark.parametrize(
    "operator", ["tag", "#", "path", "in", "status", "rating", "people.lead", "created", "date", "after"]
)
def test_every_offered_filter_finds_as_many_notes_as_stated(library: Snapshot, operator: str) -> None:
    found = complete(library, operator, "", TODAY)
    assert found
    for one in found:
        assert len(notes_allowed(library, f"{one.text} ")) == one.count


def test_words_are_offered_in_their_spelling_before_filters_and_properties(library: Snapshot) -> None:
    assert completions_of(library, "", "quest") == [("questions", 2)]
    assert ("status:", 4) in completions_of(library, "", "sta")
    assert ("tag:", 0) in completions_of(library, "", "ta")
    assert {("folder:", 0), ("in:", 0), ("date:", 0), ("after:", 0), ("before:", 0)} <= set(
        completions_of(library, "", "")
    )
    assert ("people.lead:", 1) in completions_of(library, "", "")


@pytest.fixture(scope="module")
def library_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    snapshot = open_vault(tmp_path_factory.mktemp("corrections"), NOTES)
    yield Engine(snapshot, Settings())
    snapshot.close()


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("fireworsk", "fireworks"),
        ('"firewrks over the harbour"', '"fireworks over the harbour"'),
        ("tag:projct", "tag:project"),
        ("-tag:projct harbour", ""),
        ("folder:Dairy harbour", "folder:/Diary/ harbour"),
        ("status:domne", "status:=done"),
        ("tga:project", "tag:project"),
        ("harbour", ""),
        ("fire", ""),
        ("xyzzyqwv", ""),
        ("同部", ""),
        ("", ""),
    ],
)
def test_an_unknown_word_is_corrected_to_a_known_one(library_engine: Engine, query: str, meant: str) -> None:
    assert correct(library_engine, query) == meant


def test_a_name_with_signs_is_not_offered_for_a_word(tmp_path: Path) -> None:
    with closing(open_vault(tmp_path, {"a.md": "The results of foo-bar are in.\n"}, {})) as snapshot:
        assert correct(Engine(snapshot, Settings()), "football") == ""


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("laptop", ""),  # a word of general language
        ("zaptop", ""),  # too far
        ("fiveworks", "fireworks"),
        ("freworks", "fireworks"),
        ("ireworks", "fireworks"),
        ("ifreworks", "fireworks"),
        ("fireeworkss", "fireworks"),
        ("cireworks", ""),  # another first letter
        ("prats", "parts"),
        ("hour fireplace", ""),
        ("harbuor fireworsk", "harbour fireworks"),
    ],
)
def test_only_a_plausible_misspelling_is_corrected(tmp_path: Path, query: str, meant: str) -> None:
    with closing(
        open_vault(tmp_path, {"a.md": "The fireworks over the harbour, atop the four parts of a story.\n"}, {})
    ) as snapshot:
        assert correct(Engine(snapshot, Settings()), query) == meant


def test_a_word_that_the_english_model_knows_is_a_misspelling_in_a_vault_of_another_language(tmp_path: Path) -> None:
    text = "Der Lohn wird am Ende des Monats gezahlt, und die Steuer wird vorher abgezogen.\n"
    with closing(open_vault(tmp_path, {"a.md": text * 3}, {})) as snapshot:
        assert correct(Engine(snapshot, Settings()), "steer") == "steuer"


def test_a_correction_without_matches_is_not_offered(library_engine: Engine) -> None:
    assert correct(library_engine, '"fireworks over the meetng"') == ""


MORE = {
    f"Sync/Case {number}.md": f"---\ntags: [case]\n---\nA sync conflict of phone {number}: {cause}.\n"
    for number, cause in enumerate(["clock", "clock", "rename", "rename", "network", "network"])
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    snapshot = open_vault(tmp_path_factory.mktemp("suggestions"), {**SYNC_NOTES, **MORE})
    yield Engine(snapshot, Settings())
    snapshot.close()


QUERIES = [
    "conflict",
    "sync conflict",
    '"sync conflict" device',
    "water tag:sync/help",
    "device path:/Sync/ -encryption",
    "conflict | bread",
    "!p sync conflict",
    "what is it that a device does when it has a conflict",
    "xyzzy nothing",
    "",
]


@pytest.mark.parametrize("query", QUERIES)
def test_each_suggested_query_has_as_many_matches_as_stated_and_fewer_or_more_than_the_query(
    engine: Engine, query: str
) -> None:
    hits = engine.search(query or "path:/").matched
    found = suggest_queries(engine, query)
    for one in found:
        assert engine.search(one.query).matched == one.hits, one
        assert one.hits < hits if one.way is Direction.NARROWER else one.hits > hits
    assert len({one.query for one in found}) == len(found)


def by_label(engine: Engine, query: str) -> dict[str, Suggestion]:
    return {one.label: one for one in suggest_queries(engine, query)}


def test_narrower_queries_add_a_filter_or_add_a_word_or_quote_the_query_as_a_phrase(engine: Engine) -> None:
    found = by_label(engine, "sync conflict")
    assert found['"sync conflict"'].query == '"sync conflict"'
    assert [one for one in found if one.startswith(("path:", "tag:"))]


def test_wider_queries_drop_a_filter_or_replace_a_phrase_by_its_words(engine: Engine) -> None:
    found = by_label(engine, "lighthouse path:/Long.md")
    assert found["without path:/Long.md"].query == "lighthouse"
    assert by_label(engine, 'tag:sync/help "sync conflict"')["its phrase as words"].query == (
        "tag:sync/help sync conflict"
    )


def test_for_an_empty_query_filters_for_parts_of_the_vault_are_suggested(engine: Engine) -> None:
    assert all(one.query == f"{one.label} " for one in suggest_queries(engine, ""))


@pytest.fixture
def drinks(tmp_path: Path) -> Iterator[Engine]:
    notes = {
        "Café.md": "# Café\n\nThe machine warms the cup.\n\n## Release2 of the Grinder\n\nIt is quieter.\n",
        **{f"Garden {name}.md": f"# {name}\n\nRain fell on the beds of the garden.\n" for name in ("Bean", "Rose")},
    }
    with closing(open_vault(tmp_path, notes)) as snapshot:
        yield Engine(snapshot, Settings())


def test_the_nearest_words_are_written_as_in_the_notes_and_have_no_digits(drinks: Engine) -> None:
    names = find_nearest_words(drinks, drinks.search("a machine for espresso"), 10)
    assert names == ("grinder", "café")


def test_the_nearest_words_do_not_depend_on_filters(drinks: Engine) -> None:
    without = find_nearest_words(drinks, drinks.search("a machine for espresso"), 10)
    assert find_nearest_words(drinks, drinks.search("a machine for espresso -rose -path:x"), 10)[0] == without[0]


def test_no_words_are_called_nearest_in_a_language_that_the_model_does_not_read(tmp_path: Path) -> None:
    notes = {
        f"{name}.md": f"# {name}\n\nDer Regen fiel gestern auf die Beete und den Garten, und wir blieben im Haus.\n"
        for name in ("Garten", "Küche", "Werkstatt")
    }
    with closing(open_vault(tmp_path, notes)) as snapshot:
        engine = Engine(snapshot, Settings())
        assert snapshot.languages[0] == "de"
        assert find_nearest_words(engine, engine.search("wie backe ich ein Brot im Regen"), 5) == ()


# --- headings as first queries ----------------------------------------------------------------------------------------


def first_queries(folder: Path, *headings: str) -> tuple[str, ...]:
    notes = {f"{number}.md": f"# {heading}\n\nText.\n" for number, heading in enumerate(headings)}
    with closing(open_vault(folder, notes, {})) as snapshot:
        return suggest_first_queries(snapshot, 2)


PLAIN_HEADINGS = ("Settle a sync conflict", "Sync conflict of two devices", "Bake bread with rye")


def test_headings_that_are_questions_are_first_queries(tmp_path: Path) -> None:
    questions = "How do I sync my notes?", "How to bake bread"
    assert set(first_queries(tmp_path, *PLAIN_HEADINGS, *questions)) == set(questions)


def test_of_headings_with_the_same_words_one_is_a_first_query(tmp_path: Path) -> None:
    first, second = first_queries(tmp_path, *PLAIN_HEADINGS)
    assert "sync" in first.casefold()
    assert second == "Bake bread with rye"


def test_headings_with_signs_numbers_or_few_words_and_repeated_ones_are_no_first_queries(tmp_path: Path) -> None:
    repeated = "See also these notes"
    others = "Sync", "Example 6 receives all results", "tag:sync and more of it"
    assert first_queries(tmp_path, repeated, repeated, *others) == ()
