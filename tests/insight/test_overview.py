"""Tests of the overview of a topic: every number is counted independently, every source is looked up."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.kinds import Confidence
from excerpt.base.model import Fragment
from excerpt.base.settings import SearchSettings, Settings
from excerpt.index.snapshot import Snapshot
from excerpt.insight.overview import build_overview
from excerpt.insight.overview_parts import LabelKind, Overview, SourceLocation
from excerpt.insight.significant import log_likelihood
from excerpt.insight.topic import INCLUDED_HITS, MAX_COUNTED_NOTES, combine_values, find_topic
from excerpt.search.engine import Engine
from excerpt.text.tokens import open_tokenizer
from tests.insight.bee_notes import NOTES
from tests.search.library import open_vault


def stems(paths: list[str]) -> list[str]:
    return [posixpath.basename(path).removesuffix(".md") for path in paths]


def fragments_of(snapshot: Snapshot) -> list[Fragment]:
    return [fragment for path in snapshot.note_paths() for fragment in snapshot.note_fragments(path)]


def says_hive(fragment: Fragment, snapshot: Snapshot) -> bool:
    """Return whether "hive" is in a fragment's text, title, headings or aliases."""
    names = (fragment.title, *fragment.heading_path, *snapshot.note_info(fragment.path).aliases)
    return re.search(r"\bhives?\b", " ".join((fragment.text, *names)).lower()) is not None


def places_of(found: Overview) -> Iterator[SourceLocation]:
    for part in (found.main_notes, found.sections, found.passages, found.themes, found.standouts):
        yield from (one.place for one in part)
    for others in (found.related, found.names, found.timeline.months):
        yield from (one.place for one in others)


def overview_of_vault(
    root: Path, notes: dict[str, str], topic: str, modified: dict[str, date] | None = None
) -> Overview:
    snapshot = open_vault(root, notes, modified)
    try:
        return build_overview(Engine(snapshot, Settings()), topic)
    finally:
        snapshot.close()


# --- matching notes ---------------------------------------------------------------------------------------------------


def test_fragments_about_a_word_have_it_in_their_text_or_names(hive_overview: Overview, bee_snapshot: Snapshot) -> None:
    about = [fragment for fragment in fragments_of(bee_snapshot) if says_hive(fragment, bee_snapshot)]
    assert hive_overview.fragments == len(about)
    assert hive_overview.notes == len({fragment.path for fragment in about})
    assert (hive_overview.vault_fragments, hive_overview.vault_notes) == (len(fragments_of(bee_snapshot)), len(NOTES))


def test_one_of_two_words_is_not_enough_for_the_topic(bee_engine: Engine, bee_snapshot: Snapshot) -> None:
    found = build_overview(bee_engine, "queen cells")
    both = [one for one in fragments_of(bee_snapshot) if "queen" in one.text.lower() and "cells" in one.text]
    assert found.fragments == len(both)
    assert found.matched > found.fragments


def test_a_topic_that_the_vault_lacks_has_an_empty_overview(bee_engine: Engine) -> None:
    found = build_overview(bee_engine, "zxqvb wkkjr")
    assert not found.found
    assert (found.fragments, found.notes) == (0, 0)
    assert found.confidence is Confidence.NOTHING
    assert not list(places_of(found))


@pytest.mark.parametrize("topic", ["hive", "queen cells", "which boxes do insects live in", "path:/Garden/"])
def test_an_overview_has_the_confidence_of_a_search_for_its_topic(bee_engine: Engine, topic: str) -> None:
    assert build_overview(bee_engine, topic).confidence is bee_engine.search(topic).confidence


def test_an_overview_is_unsure_where_the_words_of_its_topic_fail(bee_engine: Engine) -> None:
    assert build_overview(bee_engine, "which boxes do insects live in").confidence is Confidence.UNSURE


@pytest.mark.parametrize("topic", ["", "   ", '"', "-", "!s", "?", "|"])
def test_an_empty_topic_is_an_error(bee_engine: Engine, topic: str) -> None:
    assert not build_overview(bee_engine, topic).found


def test_filters_alone_give_an_overview_of_their_notes(bee_engine: Engine) -> None:
    found = build_overview(bee_engine, "path:/Garden/")
    assert found.notes == 7
    assert found.confidence is None
    assert all(place.path.startswith("Garden/") for place in (one.place for one in found.main_notes))


def test_a_filter_narrows_a_topic(bee_engine: Engine) -> None:
    found = build_overview(bee_engine, "hive path:/Diary/")
    about = [one.place.path for part in (found.main_notes, found.passages, found.timeline.months) for one in part]
    assert {path.split("/")[0] for path in about} == {"Diary"}
    assert found.notes == 4


def test_every_alternative_is_part_of_the_topic(bee_engine: Engine) -> None:
    paths = [note.place.path for note in build_overview(bee_engine, "lentils | varroa").main_notes]
    assert sorted(paths) == ["Bees/Winter.md", "Cooking/Cooking 2.md"]


def test_the_limit_of_hits_per_note_changes_no_score_of_an_overview(tmp_path: Path) -> None:
    sections = "\n\n".join(f"## Winter {year}\n\nCold hands again, no heating at the office." for year in range(9))
    notes = {"Hands.md": sections, "Desk.md": "A cold desk at the office.", "Tax.md": "Pay the tax office by May."}
    with closing(open_vault(tmp_path, notes)) as snapshot:
        limited, unlimited = (
            find_topic(Engine(snapshot, Settings(search=SearchSettings(per_note=per_note))), "cold hands office")
            for per_note in (3, 0)
        )
    assert limited.best.tolist() == unlimited.best.tolist()
    assert limited.scores.tolist() == unlimited.scores.tolist()


# --- parts ------------------------------------------------------------------------------------------------------------


def test_main_notes_are_those_mostly_about_the_topic(hive_overview: Overview) -> None:
    paths = [note.place.path for note in hive_overview.main_notes]
    assert paths[0] == "Bees/Hives.md"
    assert set(stems(paths[:4])) == {"Hives", "Swarms", "Winter", "Harvest"}


def test_a_main_note_states_its_share_of_the_topic_and_the_share_of_the_note_about_the_topic(
    hive_overview: Overview, bee_snapshot: Snapshot
) -> None:
    for note in hive_overview.main_notes:
        fragments = bee_snapshot.note_fragments(note.place.path)
        about = [fragment for fragment in fragments if says_hive(fragment, bee_snapshot)]
        assert (note.fragments, note.of) == (len(about), len(fragments))
        assert note.share == pytest.approx(len(about) / hive_overview.fragments)


def test_key_sections_have_their_own_lines_and_tokens(hive_overview: Overview, bee_snapshot: Snapshot) -> None:
    assert hive_overview.sections
    for section in hive_overview.sections:
        place = section.place
        (own,) = [one for one in bee_snapshot.sections(place.path) if one.heading_path == place.heading_path]
        assert (place.line_start, place.line_end) == (own.line_start, own.line_end)
        inside = [
            one for one in bee_snapshot.note_fragments(place.path) if own.line_start <= one.line_start <= own.line_end
        ]
        assert section.tokens == sum(one.tokens for one in inside)
        assert 0 < section.fragments <= len(inside)


@pytest.mark.parametrize("question", ["how do I keep the mites of varroa away in December", "queen cells in winter"])
def test_the_first_hits_are_quoted_or_in_a_key_section(bee_engine: Engine, question: str) -> None:
    found = build_overview(bee_engine, question)
    held = [one.place for part in (found.sections, found.passages) for one in part]
    for hit in bee_engine.search(question).hits[:INCLUDED_HITS]:
        begins = hit.fragment.line_start
        assert any(
            p.path == hit.fragment.path and begins <= p.line_end and p.line_start <= hit.fragment.line_end for p in held
        )


def test_the_section_of_the_first_hit_comes_first(bee_engine: Engine) -> None:
    question = "what is to be done in December against varroa mites"
    first = bee_engine.search(question).hits[0].fragment
    assert build_overview(bee_engine, question).sections[0].place.heading_path == first.heading_path == ("Mites",)


def test_related_notes_are_linked_with_main_notes_in_either_direction(hive_overview: Overview) -> None:
    related = {posixpath.basename(one.place.path): one for one in hive_overview.related}
    plants, ada = related["Plants for bees.md"], related["Ada Lovelace.md"]
    assert (plants.links_to, plants.linked_from, plants.fragments) == (("Bees/Winter.md",), (), 0)
    assert ada.links_to == ()
    main = [note.place.path for note in hive_overview.main_notes]
    assert ada.linked_from == tuple(path for path in main if "[[Ada Lovelace]]" in NOTES[path])
    assert "Bees/Swarms.md" in ada.linked_from
    assert not {one.place.path for one in hive_overview.related} & {
        note.place.path for note in hive_overview.main_notes
    }


def test_linked_names_without_a_note_are_listed(hive_overview: Overview) -> None:
    (tom,) = [one for one in hive_overview.names if one.name == "Uncle Tom"]
    assert (tom.path, tom.notes, tom.overall) == (None, 3, 3)
    line = NOTES[tom.place.path].split("\n")[tom.place.line_start - 1]
    assert "[[Uncle Tom]]" in line


def test_a_name_that_only_other_passages_link_to_is_not_listed(tmp_path: Path) -> None:
    far = "## Other things\n\nNothing of that kind. See [[Somebody Else]].\n"
    notes = {f"{n}.md": f"Of lanterns, as [[Ada]] made them.\n\n{far}" for n in range(5)}
    assert [one.name for one in overview_of_vault(tmp_path, notes, "lanterns").names] == ["Ada"]


def test_images_and_missing_files_are_not_names(tmp_path: Path) -> None:
    notes = {f"{n}.md": f"A lantern {n}: ![[lantern.png]] [x](../gone/away.md) and [[Ada]].\n" for n in range(5)}
    assert [one.name for one in overview_of_vault(tmp_path, notes, "lantern").names] == ["Ada"]


def test_themes_are_described_by_distinctive_words(hive_overview: Overview) -> None:
    words = [" ".join(theme.words) for theme in hive_overview.themes]
    assert len(words) == 3
    for told in ("syrup", "queen cells", "honey"):
        assert sum(told in one for one in words) == 1, words
    assert not any(word == "hive" for theme in hive_overview.themes for word in theme.words)


def test_a_theme_counts_its_fragments_and_notes(hive_overview: Overview) -> None:
    assert sum(theme.fragments for theme in hive_overview.themes) <= hive_overview.fragments
    for theme in hive_overview.themes:
        assert 1 <= theme.notes <= theme.fragments
        assert theme.share == pytest.approx(theme.fragments / hive_overview.fragments)


def test_few_fragments_have_no_themes(bee_engine: Engine) -> None:
    assert not build_overview(bee_engine, "varroa").themes


def test_key_passages_are_in_their_notes_and_unique(hive_overview: Overview) -> None:
    assert 3 <= len(hive_overview.passages) <= 5
    assert len({passage.text for passage in hive_overview.passages}) == len(hive_overview.passages)
    for passage in hive_overview.passages:
        lines = NOTES[passage.place.path].split("\n")[passage.place.line_start - 1 : passage.place.line_end]
        assert passage.text in " ".join(lines).replace("[[", "").replace("]]", "")


def test_key_passages_are_from_several_notes(hive_overview: Overview) -> None:
    assert len({passage.place.path for passage in hive_overview.passages}) >= 4


def test_text_that_is_not_prose_is_not_a_key_passage(tmp_path: Path) -> None:
    code = "# Lanterns\n\n```\nlantern = lantern + lantern\n```\n\n| lantern | lantern |\n|---|---|\n| a | b |\n"
    found = overview_of_vault(
        tmp_path, {"Code.md": code, "Said.md": "A lantern gives light where there is none.\n"}, "lantern"
    )
    assert [passage.place.path for passage in found.passages] == ["Said.md"]
    assert len(found.main_notes) == 2


def test_a_long_passage_is_cut(tmp_path: Path) -> None:
    found = overview_of_vault(tmp_path, {"Long.md": "A lantern " + "and another one, " * 200 + "end.\n"}, "lantern")
    (passage,) = found.passages
    assert passage.text.endswith("…")
    assert len(passage.text) < 400


# --- standouts --------------------------------------------------------------------------------------------------------


def test_g2_equals_the_value_of_the_paper() -> None:
    """Compare with Dunning (1993), table 2: "the swiss" in a text of 31,777 bigrams."""
    assert log_likelihood(110, 2552, 221, 31777) == pytest.approx(270.72, abs=0.01)


def test_a_word_rarer_than_elsewhere_has_a_negative_g2() -> None:
    assert log_likelihood(1, 100, 50, 200) < 0
    assert log_likelihood(25, 100, 50, 200) == pytest.approx(0)


def test_distinctive_labels_have_correct_counts_and_filters(tmp_path: Path) -> None:
    tagged = "---\ntags: [bees/wild, all]\nplace: %s\n---\n"
    notes = {f"{n}.md": f"{tagged % ('The roof' if n < 6 else 'shed')}A hive, the {n}th.\n" for n in range(8)}
    notes |= {f"Other {n}.md": f"---\ntags: [all]\nplace: cellar\n---\nA stove, the {n}th.\n" for n in range(30)}
    notes["Bees too.md"] = f"{tagged % 'cellar'}Something else.\n"
    snapshot = open_vault(tmp_path, notes)
    engine = Engine(snapshot, Settings())
    found = build_overview(engine, "hive")
    assert [(one.kind, one.name, one.value) for one in found.standouts] == [
        (LabelKind.TAG, "", "bees"),
        (LabelKind.PROPERTY, "place", "The roof"),
    ]
    for one in found.standouts:
        rows = np.flatnonzero(engine.find_matching_rows(one.filter))
        assert len(np.unique(snapshot.table.notes[rows])) == one.overall
        assert build_overview(engine, f"hive {one.filter}").notes == one.in_topic
        assert (one.topic_size, one.overall_of) == (8, 39)
        assert one.g2 == pytest.approx(log_likelihood(one.in_topic, 8, one.overall, 39), abs=1e-3)
    snapshot.close()


def test_labels_of_the_same_notes_are_listed_once(tmp_path: Path) -> None:
    notes = {f"Bees/{n}.md": f"---\ntags: [bees]\nkind: insect\n---\nA hive, the {n}th.\n" for n in range(8)}
    notes |= {f"Other/{n}.md": f"A stove, the {n}th.\n" for n in range(30)}
    assert len(overview_of_vault(tmp_path, notes, "hive").standouts) == 1


# --- dates ------------------------------------------------------------------------------------------------------------


def test_notes_of_a_diary_are_dated_by_their_names(hive_overview: Overview) -> None:
    assert hive_overview.timeline.date == "created"
    assert [(month.month, month.notes) for month in hive_overview.timeline.months] == [
        ("2024-05", 2),
        ("2024-07", 1),
        ("2024-09", 1),
    ]
    assert hive_overview.timeline.undated == 5


def test_notes_are_dated_by_a_property_with_a_date(tmp_path: Path) -> None:
    notes = {f"{n}.md": f"---\nreviewed: 0{n}/15/2023\ncode: 12-34\n---\nA hive.\n" for n in range(1, 4)}
    timeline = overview_of_vault(tmp_path, notes, "hive").timeline
    assert timeline.date == "reviewed"
    assert [month.month for month in timeline.months] == ["2023-01", "2023-02", "2023-03"]


@pytest.mark.programs
def test_every_note_is_dated_however_many_there_are(tmp_path: Path) -> None:
    notes = {f"{n}.md": f"---\nreviewed: 2023-0{n % 4 + 1}-15\n---\nA hive.\n" for n in range(MAX_COUNTED_NOTES + 20)}
    timeline = overview_of_vault(tmp_path, notes, "hive").timeline
    assert sum(month.notes for month in timeline.months) == len(notes)
    assert timeline.undated == 0


def test_notes_without_dates_are_dated_by_file_times_if_these_differ(tmp_path: Path) -> None:
    modified = {f"{n}.md": date(2023, n, 15) for n in range(1, 4)}
    timeline = overview_of_vault(tmp_path, dict.fromkeys(modified, "A hive.\n"), "hive", modified).timeline
    assert (timeline.date, [month.month for month in timeline.months]) == (
        "modified",
        ["2023-01", "2023-02", "2023-03"],
    )


def test_file_times_written_by_a_copy_are_ignored(tmp_path: Path) -> None:
    modified = {f"{n}.md": date(2023, 5, 15) for n in range(1, 13)}
    timeline = overview_of_vault(tmp_path, dict.fromkeys(modified, "A hive.\n"), "hive", modified).timeline
    assert (timeline.date, timeline.months, timeline.undated) == ("", (), 12)


# --- the whole overview -----------------------------------------------------------------------------------------------


def test_every_location_in_an_overview_exists_in_the_vault(hive_overview: Overview, bee_snapshot: Snapshot) -> None:
    places = list(places_of(hive_overview))
    assert len(places) > 20
    for place in places:
        assert 1 <= place.line_start <= place.line_end <= NOTES[place.path].count("\n") + 1
        assert bee_snapshot.note_info(place.path).title == place.title
        if place.fragment_id:
            fragment = bee_snapshot.fragment(place.fragment_id)
            assert fragment is not None
            assert fragment.line_start <= place.line_start <= place.line_end <= fragment.line_end


def test_the_same_vault_gives_the_same_overview(hive_overview: Overview, tmp_path: Path) -> None:
    again = overview_of_vault(tmp_path, dict(sorted(NOTES.items(), reverse=True)), "hive")
    assert replace(again, generation=hive_overview.generation) == hive_overview


def test_an_empty_note_causes_no_error(tmp_path: Path) -> None:
    notes = {"Empty.md": "", "A.md": "A hive. See [[Empty]].\n", "B.md": "Another hive. See [[Empty]] too.\n"}
    found = overview_of_vault(tmp_path, notes, "hive")
    assert [one.place.path for one in found.related] == ["Empty.md"]


def test_themes_of_a_chinese_vault_are_named_by_words(tmp_path: Path) -> None:
    said = [
        "同步的密码不可丢失,请保存密码。加密的笔记很安全。",
        "同步与冲突:两台设备修改了一个文件,于是有冲突。",
        "同步的费用:订阅的价格在账单上,订阅可以取消。",
    ]
    notes = {f"{n}.md": f"第{n}次。{said[n % 3]}\n" for n in range(18)}
    found = overview_of_vault(tmp_path, notes, "同步")
    assert found.notes == 18
    assert len(found.passages) >= 3
    words = [set(theme.words) for theme in found.themes]
    assert len(words) == 3
    for told in ("加密", "冲突", "订阅"):
        assert sum(told in one for one in words) == 1, words


def test_each_further_score_of_a_note_counts_half_of_the_one_before() -> None:
    assert combine_values(["a", "b", "b", "b"], [1.0, 0.8, 0.8, 0.4]) == pytest.approx({"b": 1.0, "a": 1 / 1.3})


HEADINGS = ["Main notes", "Key passages", "Sections that matter", "Themes", "Stands out here", "Related notes"]
LARGE = 100_000


def headings_of(text: str) -> list[str]:
    return re.findall(r"^## (.+)$", text, re.M)


def lines_of(text: str) -> list[str]:
    return [line for line in text.split("\n")[3:] if line and not line.startswith("## ")]


@given(st.integers(0, 900), st.sampled_from(["o200k", "cl100k", "chars/4"]))
def test_no_overview_is_above_its_budget(hive_overview: Overview, budget: int, tokenizer: str) -> None:
    text = replace(hive_overview, budget=budget, tokenizer=tokenizer).text
    assert open_tokenizer(tokenizer).count(text) <= budget


@given(st.integers(60, 900))
def test_every_line_of_an_overview_names_a_note_and_lines_that_exist(hive_overview: Overview, budget: int) -> None:
    for line in lines_of(replace(hive_overview, budget=budget).text):
        named = re.findall(r"`([^`]+\.md)(?::(\d+)(?:-(\d+))?)?`", line)
        assert named, line
        for path, first, last in named:
            assert path in NOTES
            assert int(last or first or 1) <= NOTES[path].count("\n") + 1


def test_with_a_large_budget_an_overview_has_every_part_in_order(hive_overview: Overview) -> None:
    found = headings_of(replace(hive_overview, budget=LARGE).text)
    assert found == [*HEADINGS, "When (created; 5 notes without)", "Also named"]


def test_with_a_large_budget_an_overview_has_every_item(hive_overview: Overview) -> None:
    text = replace(hive_overview, budget=LARGE).text
    parts = (
        hive_overview.main_notes,
        hive_overview.passages,
        hive_overview.sections,
        hive_overview.themes,
        hive_overview.standouts,
        hive_overview.related,
        hive_overview.names,
    )
    assert len(lines_of(text)) == sum(map(len, parts)) + 2


def test_a_smaller_budget_drops_items_from_the_end_of_each_part(hive_overview: Overview) -> None:
    everything = headings_of(replace(hive_overview, budget=LARGE).text)
    kept = [headings_of(replace(hive_overview, budget=budget).text) for budget in range(0, 500, 10)]
    assert all(found == [one for one in everything if one in found] for found in kept)
    first_with = {name: next(at for at, found in enumerate(kept) if name in found) for name in everything[:4]}
    assert sorted(first_with, key=lambda name: first_with[name]) == everything[:4]


def test_without_budget_the_text_is_empty(hive_overview: Overview) -> None:
    assert replace(hive_overview, budget=10).text == ""


def test_an_overview_that_finds_nothing_has_an_empty_text(bee_engine: Engine) -> None:
    assert build_overview(bee_engine, "zxqvb wkkjr").text == ""


@pytest.mark.parametrize("name", ["a`b", "`", "[x](y)", "# c", "d\u202e", "e\x1b[31m"])
def test_note_names_with_unusual_characters_do_not_break_their_line(tmp_path: Path, name: str) -> None:
    snapshot = open_vault(tmp_path, {f"{name}.md": f"---\ntitle: '{name.strip(chr(27))}\n\n  ## x'\n---\nA hive.\n"})
    text = build_overview(Engine(snapshot, Settings()), "hive").text
    snapshot.close()
    assert set(headings_of(text)) == {"Main notes", "Key passages", "When (modified)"}
    assert len(lines_of(text)) == 4
    assert "\x1b" not in text
    assert "\u202e" not in text
