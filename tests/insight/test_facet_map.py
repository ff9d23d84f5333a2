"""Tests of the map of a query's matches: its counts are compared with the parsed files and with searches."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excerpt.base.settings import Settings
from excerpt.corpus.facets import property_name
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.insight.facet_map import build_vault_map
from excerpt.insight.results import Branch, VaultMap
from excerpt.search.engine import Engine
from excerpt.text.folding import fold
from excerpt.text.markdown import parse_note
from tests.conftest import scaled_examples
from tests.search.library import MODIFIED, NOTES, TODAY, open_vault

Counted = dict[tuple[str, ...], tuple[int, int]]
"""Fragments and notes, by the folded labels of the path to a branch."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    snapshot = open_vault(tmp_path_factory.mktemp("library"), NOTES, MODIFIED)
    yield Engine(snapshot, Settings(), today=lambda: TODAY)
    snapshot.close()


def branch_rows(branches: Sequence[Branch]) -> list[tuple[str, str, int, int]]:
    """Return every branch in depth-first order."""
    return [one for b in branches for one in ((b.label, b.filter, b.fragments, b.notes), *branch_rows(b.branches))]


def branches_in(found: VaultMap) -> Iterator[Branch]:
    """Yield every branch that has a filter."""
    pending = [*found.folders, *found.tags, *found.properties, *found.modified, *found.created]
    while pending:
        branch = pending.pop()
        pending += branch.branches
        if branch.filter:
            yield branch


# --- a vault that can be counted by hand ------------------------------------------------------------------------------


def test_folders_are_sorted_by_count(engine: Engine) -> None:
    assert branch_rows(build_vault_map(engine, "path:/").folders) == [
        ("Projects", "path:/Projects/", 5, 3),
        ("Diary", "path:/Diary/", 2, 2),
        ("日记", "path:/日记/", 1, 1),
    ]


def test_tags_are_nested(engine: Engine) -> None:
    assert branch_rows(build_vault_map(engine, "path:/").tags) == [
        ("project", "tag:project", 4, 2),
        ("active", "tag:project/active", 2, 1),
        ("closed", "tag:project/closed", 2, 1),
        ("Überblick", "tag:Überblick", 2, 1),
        ("projection", "tag:projection", 1, 1),
        ("笔记", "tag:笔记", 1, 1),
        ("同步", "tag:笔记/同步", 1, 1),
    ]


def test_property_values_are_counted(engine: Engine) -> None:
    properties = {branch.label: branch for branch in build_vault_map(engine, "path:/").properties}
    assert branch_rows([properties["status"]]) == [
        ("status", "status:*", 5, 3),
        ("done", "status:=done", 2, 1),
        ("in progress", 'status:"=in progress"', 2, 1),
        ("not done", 'status:"=not done"', 1, 1),
    ]


def test_months_are_in_order_of_time(engine: Engine) -> None:
    found = build_vault_map(engine, "path:/")
    assert branch_rows(found.modified) == [
        ("2024", "modified:2024", 3, 2),
        ("2024-01", "modified:2024-01", 1, 1),
        ("2024-03", "modified:2024-03", 2, 1),
        ("2025", "modified:2025", 5, 4),
        ("2025-02", "modified:2025-02", 2, 2),
        ("2025-03", "modified:2025-03", 3, 2),
    ]
    assert [label for label, *_ in branch_rows(found.created)] == [
        *("2024", "2024-01", "2024-03", "2024-06"),
        *("2025", "2025-02"),
    ]


def test_only_matches_are_counted(engine: Engine) -> None:
    found = build_vault_map(engine, '"beta is" | "a map"')
    assert (found.fragments, found.notes) == (2, 2)
    assert branch_rows(found.folders) == [("Projects", "path:/Projects/", 2, 2)]


def test_the_total_equals_the_number_of_matches_of_a_search(engine: Engine) -> None:
    for query in ("beta", "what does the beta need?", "同步", "tag:project questions", "!s plan | map", "qqxx", ""):
        assert build_vault_map(engine, query).fragments == engine.search(query).matched, query


def test_a_branch_that_no_filter_can_express_has_an_empty_filter(tmp_path: Path) -> None:
    long = "x" * 101
    snapshot = open_vault(tmp_path, {"a.md": f'---\ntags: ["a /c"]\n{long}: y\nz: "\u200b"\n---\nText.\n'})
    found = build_vault_map(Engine(snapshot, Settings()), "text")
    unnamed = [label for label, asked, *_ in (*branch_rows(found.tags), *branch_rows(found.properties)) if not asked]
    assert unnamed == ["a ", long, "y", "\u200b"]
    snapshot.close()


def test_without_matches_there_are_no_branches(engine: Engine) -> None:
    found = build_vault_map(engine, '"nowhere at all"')
    assert found.fragments == found.notes == 0
    assert list(branches_in(found)) == []


def test_the_most_frequent_values_are_listed_and_the_others_counted(engine: Engine) -> None:
    status = next(
        branch for branch in build_vault_map(engine, "path:/", values=2).properties if branch.label == "status"
    )
    assert [branch.label for branch in status.branches] == ["done", "in progress"]
    assert status.unlisted == 1


@pytest.mark.parametrize("query", ["beta", "what does the beta need", "tag:project | map", "!s 同步", "path:/ -beta"])
def test_searching_with_the_filter_of_a_branch_finds_its_count(engine: Engine, query: str) -> None:
    for branch in branches_in(build_vault_map(engine, query)):
        assert engine.search(engine.add_condition(query, branch.filter)).matched == branch.fragments, branch


# --- any vault --------------------------------------------------------------------------------------------------------

FOLDERS = st.lists(
    st.sampled_from(
        [
            *(
                "Projects",
                "projects",
                "Café",
                "cafe",
                "a*b",
                "axb",
                "a.b",
                'q"t',
                "x y",
                "=s",
                "-d",
                "!a",
                "#h",
                "日记",
            ),
            *("a:b", "ｆｕｌｌ", "full", "2024", "🔥", "\u200b", "a ", "_", "'", "[x]"),
        ]
    ),
    max_size=4,
)
TAGS = st.lists(
    st.sampled_from(
        [
            *("x", "X", "x/y", "x/y/z", "xy", "a b/c", "a /c", "🔥", "2024", "ä/ö", "a//b", 'q"t', "-x", "_", "t:x"),
            *("ｘ／ｙ", "日/记", "\u200b"),
        ]
    ),
    max_size=3,
)
PROPERTIES = st.dictionaries(
    st.sampled_from(["status", "Status", "due date", "path", "a:b", 'q"q', "-n", "#t", "状态", "x" * 101, "p.q", "_"]),
    st.lists(
        st.sampled_from(
            [
                *("done", "Done", "in progress", "in  progress", ">5", "=", "<=>", "*", 'say "hi"', "2024-01-02"),
                *("a | b", "-no", "日", "1..2", "🔥", "tag:x", "=done", "\u200b", "''", "line\nbreak", "99"),
            ]
        ),
        min_size=1,
        max_size=3,
    ),
    max_size=4,
)
TIMES = st.sampled_from(
    [
        *(datetime(1960, 5, 1), datetime(1970, 1, 1, 12), datetime(1970, 2, 1), datetime(2024, 12, 31, 23, 59, 59)),
        *(datetime(2025, 1, 1), datetime(2025, 1, 31, 12), datetime(2025, 2, 1), datetime(2199, 12, 31, 23, 59)),
        *(datetime(2200, 1, 1), datetime(2210, 7, 1)),
    ]
)
NAMES = st.sampled_from(["a", "B", "2023-05-06", "ｃ／ｄ", 'n"'])
WORDS = st.lists(st.sampled_from(["zebra", "lion", "zebra lion"]), min_size=1, max_size=4)
QUERIES: Mapping[str, Callable[[str, str], bool]] = {
    "path:/": lambda path, text: True,
    '"zebra"': lambda path, text: "zebra" in text,
    '"lion" -"zebra"': lambda path, text: "lion" in text and "zebra" not in text,
    '"zebra" | "lion"': lambda path, text: "zebra" in text or "lion" in text,
    '"lion" path:/Projects/': lambda path, text: "lion" in text and fold(path).startswith("projects/"),
    '-path:/Projects/ "zebra"': lambda path, text: "zebra" in text and not fold(path).startswith("projects/"),
}


def as_yaml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Written:
    folders: list[str]
    name: str
    tags: list[str]
    properties: dict[str, list[str]]
    changed: datetime
    words: list[str]

    @property
    def path(self) -> str:
        return "/".join([*self.folders, f"{self.name}.md"])

    @property
    def text(self) -> str:
        matter = {"tags": self.tags, **self.properties}
        lines = [f"{as_yaml(key)}: {as_yaml(of)}" for key, of in matter.items()]
        sections = [f"## Part {number}\n\nHere is a {words}." for number, words in enumerate(self.words)]
        return "\n".join(["---", *lines, "---", *sections, ""])


VAULTS = st.lists(
    st.builds(Written, FOLDERS, NAMES, TAGS, PROPERTIES, TIMES, WORDS),
    min_size=1,
    max_size=6,
    unique_by=lambda n: n.path,
)


@pytest.mark.programs
@given(VAULTS, st.sampled_from(sorted(QUERIES)), st.sampled_from(["zebra lion", "!s zebra", '" lion | zebra']))
@settings(max_examples=scaled_examples(10))
def test_the_counts_of_a_map_equal_counts_in_the_files_and_searches_with_its_filters(
    vault: list[Written], query: str, words: str
) -> None:
    with TemporaryDirectory() as folder:
        snapshot = written_vault(Path(folder), vault)
        try:
            engine = Engine(snapshot, Settings(), today=lambda: date(2025, 3, 14))
            found = build_vault_map(engine, query, values=None)
            assert counted(found) == counted_by_hand(Path(folder) / "vault", vault, snapshot, query)
            for one in (found, build_vault_map(engine, words, values=None)):
                assert one.fragments == engine.search(one.query).matched
                for branch in branches_in(one):
                    narrowed = engine.add_condition(one.query, branch.filter)
                    assert np.count_nonzero(engine.find_matching_rows(narrowed)) == branch.fragments, narrowed
        finally:
            snapshot.close()


def written_vault(folder: Path, vault: list[Written]) -> Snapshot:
    for note in vault:
        file = folder / "vault" / note.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(note.text, encoding="utf-8")
        os.utime(file, (note.changed.timestamp(),) * 2)
    build(folder / "vault", folder / "index", Settings())
    return Snapshot.open(folder / "index", Settings())


def counted(found: VaultMap) -> dict[str, Counted]:
    return {
        "": {(): (found.fragments, found.notes)} if found.fragments else {},
        "folders": _counted(found.folders, fold),
        "tags": _counted(found.tags, fold),
        "properties": _counted(found.properties, property_name),
        "modified": _counted(found.modified, str),
        "created": _counted(found.created, str),
    }


def _counted(branches: Sequence[Branch], folded: Callable[[str], str], above: tuple[str, ...] = ()) -> Counted:
    found: Counted = {}
    for branch in branches:
        place = (*above, folded(branch.label))
        assert place not in found, "what filters hold for one is one branch"
        found[place] = branch.fragments, branch.notes
        found |= _counted(branch.branches, folded, place)
    return found


def counted_by_hand(root: Path, vault: list[Written], snapshot: Snapshot, query: str) -> dict[str, Counted]:
    found: dict[str, dict[tuple[str, ...], list[int]]] = {
        kind: defaultdict(lambda: [0, 0]) for kind in ("", "folders", "tags", "properties", "modified", "created")
    }
    for written in vault:
        texts = [fragment.text for fragment in snapshot.note_fragments(written.path)]
        matching = sum(QUERIES[query](written.path, text) for text in texts)
        if matching:
            for kind, place in set(places_of(root, written, vault)):
                found[kind][place][0] += matching
                found[kind][place][1] += 1
    return {kind: {place: (n, notes) for place, (n, notes) in of.items()} for kind, of in found.items()}


def change_of(written: Written, vault: Sequence[Written]) -> datetime | None:
    """Return when a note was changed: by its name, if that is no plan, else by its file, if the vault is no copy.

    Of so few notes a copy has files of one time, and a note with an earlier date of its own.
    """
    times = [note.changed for note in vault]
    is_dated = "2023-05-06" in {note.name for note in vault} and date(2023, 5, 6) < min(times).date() - timedelta(1)
    are_copies = len(times) > 1 and max(times) - min(times) <= timedelta(seconds=5) * (len(times) - 1) and is_dated
    latest = max(*times, datetime(1970, 1, 1)) if are_copies else written.changed
    if written.name == "2023-05-06" and date(2023, 5, 6) <= latest.date() + timedelta(1):
        return datetime(2023, 5, 6)
    return None if are_copies else min(max(written.changed, datetime(1970, 1, 1)), datetime(2200, 1, 1))


def places_of(root: Path, written: Written, vault: Sequence[Written]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield every branch that a note belongs to, according to its file."""
    note = parse_note(written.path, (root / written.path).read_text(encoding="utf-8"))
    yield "", ()
    yield from (("folders", place) for place in beginnings(fold(f"/{note.path}").split("/")[1:-1]))
    for tag in note.tags:
        yield from (("tags", place) for place in beginnings(fold(tag).strip("/").split("/")))
    for name, values in note.properties.items():
        yield "properties", (property_name(name),)
        yield from (("properties", (property_name(name), property_name(value))) for value in values)
    if changed := change_of(written, vault):
        yield from (("modified", place) for place in ((f"{changed:%Y}",), (f"{changed:%Y}", f"{changed:%Y-%m}")))
    if written.name == "2023-05-06":
        yield from (("created", place) for place in (("2023",), ("2023", "2023-05")))


def beginnings(parts: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the prefixes `a`, `a` `b` and so on; an empty part adds a "/" to the next one."""
    place: tuple[str, ...] = ()
    passed = ""
    for part in parts:
        if part:
            place = (*place, passed + part)
            passed = ""
            yield place
        else:
            passed += "/"
