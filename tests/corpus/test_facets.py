"""Tests of the values that filters use, as read from the catalog."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from excerpt.base.settings import Settings
from excerpt.corpus.facets import UNKNOWN_DAY, Facets, Ints, property_name
from excerpt.corpus.links import LinkResolver
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot

NOTES = {
    "a/One.md": (
        "---\naliases: [Erste]\ntags: [Area/Café, plain]\nStatus: Done\nDate Created: 2024-01-02\ndate: 2023-01-01\n"
        "list: [x, y, x]\n---\n[[Two]] [[two#There]] [x](Two.md) [self](One.md) [[One]] [[Three]] ![](picture.png)\n"
    ),
    "a/Two.md": (
        "---\nstatus: done\ntags: area\n---\n[up](../Two.md) [out](https://example.org/One.md) [[nowhere]] #area/x\n"
    ),
    "Two.md": "---\nstatus: Dønë\ndate: sometime\n---\n[[a/One|one]] [abs](/a/Two)\n",
    "b/2022-05-06 Three.md": "No properties. [[2022-05-06 Three]]\n",
}
ONE, DEEP_TWO, TWO, THREE = "a/One.md", "a/Two.md", "Two.md", "b/2022-05-06 Three.md"


@pytest.fixture
def snapshot(tmp_path: Path, settings: Settings) -> Iterator[Snapshot]:
    for number, (path, text) in enumerate(NOTES.items()):
        file = tmp_path / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, ns=(0, 1_700_000_000_000_000_000 + number))
    build(tmp_path / "vault", tmp_path / "index", settings)
    opened = Snapshot.open(tmp_path / "index", settings)
    yield opened
    opened.close()


def paths_of(snapshot: Snapshot, notes: Ints) -> list[str]:
    assert notes.tolist() == sorted(set(notes.tolist()))
    return sorted(snapshot.table.paths[number] for number in notes)


def test_tags_are_folded_and_include_nested_ones(snapshot: Snapshot) -> None:
    found = {tag: paths_of(snapshot, notes) for tag, notes in snapshot.facets.tags.items()}
    assert found == {"area": [ONE, DEEP_TWO], "area/cafe": [ONE], "area/x": [DEEP_TWO], "plain": [ONE]}


def test_property_names_and_values_are_folded(snapshot: Snapshot) -> None:
    properties = snapshot.facets.properties
    assert sorted(properties) == ["date", "date-created", "list", "status"]
    assert {value: paths_of(snapshot, notes) for value, notes in properties["status"].items()} == {
        "done": [TWO, ONE, DEEP_TWO]
    }
    assert {value: paths_of(snapshot, notes) for value, notes in properties["list"].items()} == {"x": [ONE], "y": [ONE]}


def test_an_unknown_property_has_no_notes(snapshot: Snapshot) -> None:
    assert "colour" not in snapshot.facets.properties
    with pytest.raises(KeyError):
        snapshot.facets.properties["colour"]


@pytest.mark.parametrize(
    ("name", "asked"), [("Date Created", "date-created"), ("Größe", "grosse"), ("ms.date", "ms.date")]
)
def test_property_names_are_normalised(name: str, asked: str) -> None:
    assert property_name(name) == asked


def test_file_times_are_exact_to_the_nanosecond(snapshot: Snapshot) -> None:
    found = dict(zip(snapshot.table.paths, snapshot.facets.modified.tolist(), strict=True))
    assert found == {path: 1_700_000_000_000_000_000 + number for number, path in enumerate(NOTES)}


def test_the_creation_day_is_read_from_a_property_or_the_file_name_else_unknown(snapshot: Snapshot) -> None:
    found = dict(zip(snapshot.table.paths, snapshot.facets.created.tolist(), strict=True))
    epoch = date(1970, 1, 1)
    assert found == {
        ONE: (date(2024, 1, 2) - epoch).days,
        DEEP_TWO: UNKNOWN_DAY,
        TWO: UNKNOWN_DAY,
        THREE: (date(2022, 5, 6) - epoch).days,
    }


def test_the_dates_of_some_notes_equal_these_notes_dates_read_with_all_notes(snapshot: Snapshot) -> None:
    facets = snapshot.facets
    numbers = [facets.numbers[path] for path in (THREE, ONE, TWO)]
    dates = facets.creation_dates(numbers)
    assert dates == [date(2022, 5, 6), date(2024, 1, 2), None]
    assert "created" not in vars(facets)
    assert len(facets.created) == len(NOTES)
    assert facets.creation_dates(numbers) == dates


def test_the_last_change_of_a_note_is_the_same_whether_all_notes_are_read_or_this_one(snapshot: Snapshot) -> None:
    facets = snapshot.facets
    alone = [facets.change_day(number) for number in range(len(NOTES))]
    assert "change_days" not in vars(facets)
    assert alone == facets.change_days.tolist()
    assert [facets.change_day(number) for number in range(len(NOTES))] == alone


def test_names_are_titles_file_names_and_aliases(snapshot: Snapshot) -> None:
    names = snapshot.facets.names
    assert paths_of(snapshot, names["erste"]) == [ONE]
    assert paths_of(snapshot, names["two"]) == [TWO, DEEP_TWO]


def test_links_are_unique_pairs_of_different_notes(snapshot: Snapshot) -> None:
    sources, targets = snapshot.facets.links
    found = [(snapshot.table.paths[a], snapshot.table.paths[b]) for a, b in zip(sources, targets, strict=True)]
    assert sorted(found) == [(TWO, ONE), (TWO, DEEP_TWO), (ONE, TWO), (ONE, DEEP_TWO), (DEEP_TWO, TWO)]
    assert len(set(found)) == len(found)


def test_links_between_notes_are_the_ones_that_the_link_resolver_finds(snapshot: Snapshot) -> None:
    targets = LinkResolver(snapshot.table.paths)
    written = [*((ONE, link) for link in ("Two", "two", "Two.md", "One", "Three")), (TWO, "a/One"), (TWO, "/a/Two")]
    meant = {(path, to) for path, link in written if (to := targets.resolve(link, path))}
    found = {(snapshot.table.paths[a], snapshot.table.paths[b]) for a, b in zip(*snapshot.facets.links, strict=True)}
    assert {pair for pair in meant if pair[0] != pair[1]} <= found


def test_an_empty_vault_has_no_facets(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "vault").mkdir()
    build(tmp_path / "vault", tmp_path / "index", settings)
    snapshot = Snapshot.open(tmp_path / "index", settings)
    facets: Facets = snapshot.facets
    assert not facets.tags
    assert not list(facets.properties)
    assert not len(facets.modified)
    assert not len(facets.created)
    assert [len(part) for part in facets.links] == [0, 0]
    assert facets.links[0].dtype == np.int32
    snapshot.close()


LOGSEQ = {
    "logseq/config.edn": "{}",
    "pages/Book___2023___Tea.md": "alias:: TB\n\n- Okakura\n  id:: 64f1b2c3-1111-2222-3333-abcdefabcdef\n",
    "pages/Old%2FWay.md": "title:: The old way\n\n- Text\n",
    "journals/2024_05_01.md": "- Text\n",
}


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("[[Book/2023/Tea]]", "pages/Book___2023___Tea.md"),
        ("[[book/2023/tea]]", "pages/Book___2023___Tea.md"),
        ("[[TB]]", "pages/Book___2023___Tea.md"),
        ("((64f1b2c3-1111-2222-3333-abcdefabcdef))", "pages/Book___2023___Tea.md"),
        ("{{embed ((64F1B2C3-1111-2222-3333-abcdefabcdef))}}", "pages/Book___2023___Tea.md"),
        ("[[Old/Way]]", "pages/Old%2FWay.md"),
        ("[[The old way]]", "pages/Old%2FWay.md"),
        ("[[May 1st, 2024]]", "journals/2024_05_01.md"),
        ("[[2024-05-01]]", "journals/2024_05_01.md"),
        ("[[Wednesday, 01.05.2024]]", "journals/2024_05_01.md"),
        ("[[Meeting of the board 2024-05-01]]", None),
        ("((64f1b2c3-1111-2222-3333-abcdefabcde0))", None),
    ],
)
def test_links_of_a_logseq_vault_lead_to_page_names(
    tmp_path: Path, settings: Settings, written: str, path: str | None
) -> None:
    for name, text in {**LOGSEQ, "pages/a.md": f"- See {written}\n"}.items():
        file = tmp_path / "vault" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    build(tmp_path / "vault", tmp_path / "index", settings)
    opened = Snapshot.open(tmp_path / "index", settings)
    sources, targets = opened.facets.links
    found = [
        opened.table.paths[to]
        for at, to in zip(sources, targets, strict=True)
        if opened.table.paths[at] == "pages/a.md"
    ]
    assert found == ([path] if path else [])
    opened.close()


def test_a_vault_that_becomes_a_logseq_graph_is_read_again(tmp_path: Path, settings: Settings) -> None:
    vault = tmp_path / "vault"
    (vault / "pages").mkdir(parents=True)
    (vault / "pages/A___B.md").write_text("- Text\n  collapsed:: true\n", encoding="utf-8")
    build(vault, tmp_path / "index", settings)
    (vault / "logseq").mkdir()
    report = build(vault, tmp_path / "index", settings)
    assert report.changed == 1
    opened = Snapshot.open(tmp_path / "index", settings)
    assert (opened.note_info("pages/A___B.md").title, opened.note_text("pages/A___B.md")) == ("A/B", "- Text\n\n")
    opened.close()
    assert build(vault, tmp_path / "index", settings).changed == 0


NOON = 1_740_830_400  # 2025-03-01, 12:00 UTC


def opened_with_times(tmp_path: Path, settings: Settings, notes: dict[str, str], seconds: list[int]) -> Snapshot:
    for (path, text), time in zip(notes.items(), seconds, strict=True):
        file = tmp_path / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (time, time))
    build(tmp_path / "vault", tmp_path / "index", settings)
    return Snapshot.open(tmp_path / "index", settings)


DATED = {
    "property.md": "---\nupdated: 2024-05-01\ncreated: 2020-01-01\n---\nText.\n",
    "millis.md": "---\nupdated: 1714564800000\n---\nText.\n",
    "date.md": "---\ndate: May 1st, 2024\n---\nText.\n",
    "2024-05-01 name.md": "Text.\n",
    "log.md": "# 2024-04-30\n\nText.\n\n# Wednesday, 1 May 2024\n\nText.\n\n# 2024-04-29\n\nText.\n",
}


@pytest.mark.parametrize("days_apart", [0, 3])
def test_the_change_date_written_in_a_note_takes_precedence(
    tmp_path: Path, settings: Settings, days_apart: int
) -> None:
    times = [NOON + 86_400 * days_apart * number for number in range(len(DATED))]
    snapshot = opened_with_times(tmp_path, settings, DATED, times)
    assert {path: snapshot.note_modified(path) for path in DATED} == dict.fromkeys(DATED, "2024-05-01")
    snapshot.close()


PLANS = {
    "2031-05-01 plan.md": "Text.\n",
    "due.md": "---\ndate: 2031-05-01\n---\nText.\n",
    "war.md": "# The end in May 1945\n\nText.\n\n# 1945-05-08\n\nText.\n",
    "created.md": "---\ncreated: 2020-01-01\n---\nText.\n",
    "plain.md": "Text.\n",
}


def test_a_planned_or_distant_day_is_not_the_change_date(tmp_path: Path, settings: Settings) -> None:
    snapshot = opened_with_times(tmp_path, settings, PLANS, [NOON + 7200 * number for number in range(len(PLANS))])
    assert {path: snapshot.note_modified(path) for path in PLANS} == dict.fromkeys(PLANS, "2025-03-01")
    snapshot.close()


def test_file_times_set_by_a_copy_do_not_date_a_note(tmp_path: Path, settings: Settings) -> None:
    snapshot = opened_with_times(tmp_path, settings, PLANS, [NOON] * len(PLANS))
    assert snapshot.facets.is_copied.all()
    unknown = {**dict.fromkeys(PLANS, ""), "created.md": "2020-01-01"}
    assert {path: snapshot.note_modified(path) for path in PLANS} == unknown
    snapshot.close()


def test_a_note_changed_after_the_copy_has_the_time_of_its_file(tmp_path: Path, settings: Settings) -> None:
    notes = {f"{number}.md": "Text.\n" for number in range(30)}
    snapshot = opened_with_times(tmp_path, settings, notes, [NOON] * 29 + [NOON + 90_000])
    assert [path for path in notes if snapshot.note_modified(path)] == ["29.md"]
    snapshot.close()


SESSION = {f"Note {number}.md": "Text.\n" for number in range(12)}


@pytest.mark.parametrize(
    ("notes", "gap"),
    [
        pytest.param(dict(list(SESSION.items())[:3]), 0, id="a few notes made by a program"),
        pytest.param(dict(list(SESSION.items())[:3]), 600, id="a few notes written within an hour"),
        pytest.param(SESSION, 240, id="many notes written within an hour"),
        pytest.param({**dict(list(SESSION.items())[:3]), "2025-03-01.md": "Text.\n"}, 1, id="a note of the same day"),
        pytest.param({"Old.md": "---\ncreated: 2020-01-01\n---\n", "New.md": "Text.\n"}, 900, id="an older note"),
    ],
)
def test_in_a_new_vault_notes_have_the_times_of_their_files(
    tmp_path: Path, settings: Settings, notes: dict[str, str], gap: int
) -> None:
    snapshot = opened_with_times(tmp_path, settings, notes, [NOON + gap * number for number in range(len(notes))])
    assert {snapshot.note_modified(path) for path in notes} == {"2025-03-01"}
    snapshot.close()


@pytest.mark.parametrize(
    ("notes", "gap"),
    [
        pytest.param(SESSION, 0, id="a fast copy"),
        pytest.param(SESSION, 4, id="a slow copy"),
        pytest.param(
            {"Old.md": "---\ncreated: 2020-01-01\n---\n", "New.md": "Text.\n"}, 1, id="a few, one with its date"
        ),
        pytest.param({"2019-05-04.md": "Text.\n", "New.md": "Text.\n"}, 1, id="a few, one named by its day"),
        pytest.param(
            {"Old.md": "---\nupdated: 2019-01-01\n---\n", "New.md": "Text.\n"}, 1, id="a few, one updated before"
        ),
    ],
)
def test_in_a_copied_vault_no_note_has_a_file_time(
    tmp_path: Path, settings: Settings, notes: dict[str, str], gap: int
) -> None:
    snapshot = opened_with_times(tmp_path, settings, notes, [NOON + gap * number for number in range(len(notes))])
    assert snapshot.facets.is_copied.all()
    snapshot.close()
