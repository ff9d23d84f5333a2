"""Tests of recall, of badges of fragments, and of existing memories that are offered when a similar one is made."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from excerpt.base.errors import MemoryUnusableError
from excerpt.base.kinds import Confidence
from excerpt.base.model import Memory, Source
from excerpt.memory.memory_file import make_memory
from excerpt.memory.recall import (
    MAX_RECALL_WORDS,
    MAX_SHOWN_ANSWERS,
    MemoriesByLocation,
    Recaller,
    find_memories_at,
    find_similar_memories,
    merge_memory,
    select_answers,
)
from excerpt.memory.results import MemoryRelation
from excerpt.memory.stale import source_from_lines
from tests.memory.conftest import NOTES, Vault

Others = Callable[[], Recaller]


def texts(recaller: Recaller, query: str = "", **asked: object) -> list[str]:
    return [found.memory.text for found in recaller.recall(query, **asked)]  # type: ignore[arg-type]


def write(recaller: Recaller, name: str, text: str) -> Path:
    file = recaller.store.folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def three_memories(recaller: Recaller) -> Recaller:
    write(recaller, "1.md", "---\ncreated: 2024-01-01\ntags: [sync, work]\n---\nConflicts are resolved by hand\n")
    write(
        recaller,
        "2.md",
        "---\ncreated: 2024-01-03\ntags: [sync]\nwhy: the ticket of Ada\nquery: cipher\n---\nEnd-to-end encryption\n",
    )
    write(recaller, "3.md", "---\ncreated: 2024-01-02\nsource: {path: Recipes/Brot.md, lines: 3}\n---\nBake it hot\n")
    return recaller


def test_without_words_all_memories_are_listed_newest_first(three_memories: Recaller) -> None:
    assert texts(three_memories) == ["End-to-end encryption", "Bake it hot", "Conflicts are resolved by hand"]
    assert texts(three_memories, limit=2) == ["End-to-end encryption", "Bake it hot"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("conflict", ["Conflicts are resolved by hand"]),
        ("HAND conflicting", ["Conflicts are resolved by hand"]),
        ("encr", ["End-to-end encryption"]),
        ("end-to-end", ["End-to-end encryption"]),
        ("ada", ["End-to-end encryption"]),
        ("cipher", ["End-to-end encryption"]),
        ("brot", ["Bake it hot"]),
        ("#work", ["Conflicts are resolved by hand"]),
        ("tag:sync -hand", ["End-to-end encryption"]),
        ("created:2024-01-02..", ["End-to-end encryption", "Bake it hot"]),
        ('"resolved by"', ["Conflicts are resolved by hand"]),
        ("xyzzy plugh", []),
    ],
)
def test_memories_are_found_by_words_inflections_names_and_filters(
    three_memories: Recaller, query: str, found: list[str]
) -> None:
    assert texts(three_memories, query) == found


def test_a_memory_similar_in_meaning_is_found_without_shared_words(recaller: Recaller) -> None:
    recaller.store.remember(make_memory("The cat sleeps on the sofa all day"))
    recaller.store.remember(make_memory("Interest rates rose again"))
    (found,) = recaller.recall("kitten couch")
    assert found.memory.text == "The cat sleeps on the sofa all day"
    assert found.answers


def test_a_memory_that_shares_only_stop_words_is_not_an_answer(recaller: Recaller) -> None:
    recaller.store.remember(make_memory("The printer on the second floor needs the old driver"))
    recaller.store.remember(make_memory("The bread rises best in the cellar"))
    assert recaller.recall("what is the capital of the moon") == []
    assert texts(recaller, "what does the bread need") == ["The bread rises best in the cellar"]
    assert len(recaller.recall("the")) == 2  # all of it that was asked


QUESTIONS = json.loads((Path(__file__).parent / "answered_questions.json").read_text(encoding="utf-8"))


@pytest.mark.programs
def test_of_forty_questions_only_one_is_shown_a_wrong_memory(
    recaller: Recaller,
) -> None:
    memories: list[str] = QUESTIONS["memories"]
    for text in memories:
        recaller.store.remember(make_memory(text))
    shown = {
        (each["question"], found.text)
        for each in QUESTIONS["questions"]
        for found in select_answers(recaller.recall(each["question"], limit=MAX_SHOWN_ANSWERS))
    }
    answers = {
        (each["question"], memories[each["memory"]]) for each in QUESTIONS["questions"] if each["memory"] is not None
    }
    assert (len(memories), len(QUESTIONS["questions"]), len(answers)) == (20, 40, 15)
    assert answers <= shown
    assert len(shown - answers) <= 1


def test_the_best_answer_comes_first_with_its_confidence(recaller: Recaller) -> None:
    recaller.store.remember(
        make_memory("Backups of the database run at night, and the database is copied to a second disk")
    )
    recaller.store.remember(make_memory("The database has a backup"))
    found = recaller.recall("when do backups of the database run")
    assert found[0].memory.text.startswith("Backups")
    assert found[0].score > found[-1].score
    assert found[0].confidence is not Confidence.NOTHING


def test_if_no_memory_answers_memories_that_share_a_word_are_listed_and_flagged_as_no_answer(
    recaller: Recaller,
) -> None:
    # Fixed names: a name made of the current time would affect the similarity.
    for name, text in (
        ("2026-03-01-0930-a1.md", "Sync keeps versions for 12 months"),
        ("2026-03-01-0930-b2.md", "The history shows versions of a note"),
        ("2026-03-01-0930-c3.md", "Bake it hot"),
    ):
        write(recaller, name, text)
    found = recaller.recall("how long are versions kept")
    assert {one.memory.text for one in found} == {
        "Sync keeps versions for 12 months",
        "The history shows versions of a note",
    }
    assert not any(one.answers for one in found)


def test_spans_mark_the_words_in_the_text_of_the_memory(recaller: Recaller) -> None:
    recaller.store.remember(make_memory("First line\n\n## Heading\n\nthe conflict is here"))
    (found,) = recaller.recall("conflict")
    assert [found.memory.text[span.start : span.end] for span in found.spans] == ["conflict"]


def test_tags_source_and_date_can_be_combined_with_words(three_memories: Recaller) -> None:
    assert texts(three_memories, tags=["#Sync"]) == ["End-to-end encryption", "Conflicts are resolved by hand"]
    assert texts(three_memories, "resolved", tags=["sync"]) == ["Conflicts are resolved by hand"]
    assert texts(three_memories, "resolved", tags=["other"]) == []
    for place in ("Recipes/Brot.md", "recipes", "./Recipes/", "Brot", "brot.md", "Recipes/Brot"):
        assert texts(three_memories, source=place) == ["Bake it hot"], place
    assert texts(three_memories, source="Rec") == []
    assert texts(three_memories, since="2024-01-03") == ["End-to-end encryption"]
    assert texts(three_memories, "bake", since="2024-01-02") == ["Bake it hot"]
    assert texts(three_memories, "bake", since="2024-01-03") == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        # Path filters use the path of the source; date filters use the days of creation and change.
        ("path:recipes/", ["Bake it hot"]),
        ("folder:recipes ", ["Bake it hot"]),
        ("-in:Recipes ", ["End-to-end encryption", "Conflicts are resolved by hand"]),
        ("file:brot ", ["Bake it hot"]),
        ("source:Brot ", ["Bake it hot"]),
        ("source:recipes bake", ["Bake it hot"]),
        ("source:Rec ", []),
        ("source:Rec", ["Bake it hot"]),
        ("date:2024-01-02 ", ["Bake it hot"]),
        ("since:2024-01-02 ", ["End-to-end encryption", "Bake it hot"]),
        ("after:2024-01-02 ", ["End-to-end encryption"]),
        ("before:2024-01-02 ", ["Conflicts are resolved by hand"]),
        ("modified:2024-01-03 ", ["End-to-end encryption"]),
        ("before:2024-01-02 | folder:Recipes ", ["Bake it hot", "Conflicts are resolved by hand"]),
        ("tag:sync -before:2024-01-02 ", ["End-to-end encryption"]),
        ("#wor", ["Conflicts are resolved by hand"]),
    ],
)
@pytest.mark.parametrize("has_index", [True, False])
def test_filters_have_the_same_meaning_for_memories_as_for_notes(
    three_memories: Recaller, tmp_path: Path, query: str, found: list[str], has_index: bool
) -> None:
    if not has_index:
        (tmp_path / "memory-index").write_text("a file where the folder should be")
    assert texts(three_memories, query) == found
    assert bool(three_memories.unranked) is not has_index


def test_filters_alone_find_every_matching_memory(recaller: Recaller) -> None:
    for number in range(150):
        write(recaller, f"{number}.md", f"---\ntags: [many]\n---\nThe thought of number {number}\n")
    assert len(texts(recaller, "#many")) == 150
    assert len(texts(recaller, "thought #many")) < 150


def test_the_day_of_a_memory_is_in_local_time(recaller: Recaller, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(time, "tzset"):
        pytest.skip("the time zone of this system cannot be set for a process")
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    write(recaller, "1.md", "---\ncreated: 2025-03-02T01:30:00Z\n---\nIn the evening\n")
    write(recaller, "2.md", "---\ncreated: 2025-03-02\n---\nBy hand\n")
    try:
        assert texts(recaller, "created:2025-03-01 ") == ["In the evening"]
        assert texts(recaller, "date:2025-03-02 ") == ["By hand"]
        assert texts(recaller, since="2025-03-02") == ["By hand"]
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31T23:59:59Z"])
def test_memories_with_times_out_of_the_clocks_range_are_found_by_their_day(recaller: Recaller, day: str) -> None:
    write(recaller, "1.md", f"---\ncreated: {day}\nupdated: {day}\n---\nLong ago, or far ahead\n")
    assert texts(recaller, f"created:{day[:4]} ") == ["Long ago, or far ahead"]
    assert texts(recaller, "-modified:7d ") == ["Long ago, or far ahead"]


@pytest.mark.parametrize(("query", "instead"), [("hand soruce:Recipes", ["source:"]), ("hand outcome:Recipes", [])])
def test_a_misspelt_filter_is_reported_and_changes_nothing(
    three_memories: Recaller, query: str, instead: list[str]
) -> None:
    assert set(texts(three_memories, query)) == {"Conflicts are resolved by hand", "Bake it hot"}
    assert [hint.instead for hint in three_memories.hints] == instead


def test_an_invalid_date_is_reported(three_memories: Recaller) -> None:
    with pytest.raises(MemoryUnusableError, match="'soonish' is not a date"):
        three_memories.recall(since="soonish")


def test_changes_by_this_program_appear_at_the_next_recall(recaller: Recaller) -> None:
    memory = recaller.store.remember(make_memory("the conflict of versions"))
    assert texts(recaller, "conflict") == ["the conflict of versions"]
    second = recaller.store.remember(make_memory("another conflict"))
    assert set(texts(recaller, "conflict")) == {"the conflict of versions", "another conflict"}
    recaller.store.forget(memory.id)
    assert texts(recaller, "conflict") == ["another conflict"]
    recaller.store.forget(second.id)
    assert texts(recaller, "conflict") == []
    recaller.store.restore(memory.id)
    assert texts(recaller, "conflict") == ["the conflict of versions"]


def test_an_edit_that_keeps_the_size_appears_at_the_next_recall(recaller: Recaller) -> None:
    file = write(recaller, "a.md", "the conflict\n")
    assert texts(recaller, "conflict") == ["the conflict"]
    before = file.stat()
    with file.open("r+b") as opened:
        opened.write(b"the sandwich")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert texts(recaller, "sandwich") == ["the sandwich"]
    assert texts(recaller, "conflict") == []


def test_two_recallers_of_one_folder_see_each_others_changes(recaller_in: Others) -> None:
    first, second = recaller_in(), recaller_in()
    first.store.remember(make_memory("the conflict of versions"))
    assert texts(second, "conflict") == texts(first, "conflict") == ["the conflict of versions"]
    second.store.remember(make_memory("a second conflict"))
    assert texts(second, "second") == texts(first, "second") == ["a second conflict"]


def test_a_deleted_index_is_built_again(recaller_in: Others, tmp_path: Path) -> None:
    first = recaller_in()
    first.store.remember(make_memory("the conflict of versions"))
    assert first.recall("conflict")
    first.close()
    for file in sorted((tmp_path / "memory-index").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    assert texts(recaller_in(), "conflict") == ["the conflict of versions"]


def test_if_the_index_cannot_be_used_memories_are_found_by_words_with_a_warning(
    recaller_in: Others, tmp_path: Path
) -> None:
    (tmp_path / "memory-index").write_text("a file where the folder should be")
    recaller = recaller_in()
    recaller.store.remember(make_memory("the conflict of versions"))
    assert texts(recaller, "conflicts") == ["the conflict of versions"]
    assert "memory-index" in recaller.unranked


def test_memories_that_the_index_would_ignore_are_still_found(recaller: Recaller) -> None:
    write(recaller, ".gitignore", "ignored.md\n")
    write(recaller, "ignored.md", "the conflict\n")
    assert texts(recaller, "conflict") == ["the conflict"]


def test_a_memory_with_properties_only_is_found_by_them(recaller: Recaller) -> None:
    write(recaller, "a.md", "---\nwhy: the conflict\n---\n")
    assert [found.memory.why for found in recaller.recall("conflict")] == ["the conflict"]


def test_forgotten_memories_and_broken_files_are_not_recalled(recaller: Recaller) -> None:
    memory = recaller.store.remember(make_memory("the conflict of versions"))
    recaller.store.forget(memory.id)
    write(recaller, "broken.md", "---\nwhy: [\n---\nthe conflict\n")
    recaller.store.remember(make_memory("something else"))
    assert texts(recaller, "conflict") == []


def test_the_requested_number_of_nearest_memories_is_given_in_order(recaller: Recaller) -> None:
    recaller.store.remember(make_memory("Soup on Friday", source=Source("a.md", 1, 1, "")))
    recaller.store.remember(make_memory("We ship the release on the 12th of March"))
    recaller.store.remember(make_memory("The release ships on the 12th of March, as agreed"))
    found = recaller.find_similar("We ship the release on the 12th of March", 0.8)
    assert [memory.text[:6] for memory, _ in found] == ["We shi", "The re"]
    assert found[0][1] == pytest.approx(1, abs=0.001)


def test_only_the_first_words_of_a_long_question_are_compared(recaller: Recaller) -> None:
    recaller.store.remember(make_memory("The keeper of the lighthouse writes a log."))
    words = " ".join(f"w{number}" for number in range(MAX_RECALL_WORDS))
    assert recaller.recall(f"lighthouse keeper {words}")
    assert recaller.is_query_cut
    assert recaller.recall(f"{words} lighthouse keeper") == []
    recaller.recall("lighthouse keeper")
    assert not recaller.is_query_cut


SYNC = "Guides/Sync.md"


def memory_of(source: Source | None, text: str = "text") -> Memory:
    return Memory("m1", text, (), "", "", "", source)


def test_a_memory_is_found_at_passages_that_share_lines_with_its_source() -> None:
    one = memory_of(Source("a.md", 5, 8, ""))
    assert find_memories_at([one, memory_of(None)], "a.md", 8, 9) == (one,)
    assert find_memories_at([one], "a.md", 5, 5) == (one,)
    assert find_memories_at([one], "a.md", 9, 12) == ()
    assert find_memories_at([one], "a.md", 1, 4) == ()
    assert find_memories_at([one], "b.md", 5, 8) == ()


def test_a_source_without_lines_is_the_whole_note() -> None:
    one = memory_of(Source("a.md", 0, 0, ""))
    assert find_memories_at([one], "a.md", 8, 9) == (one,)


def test_a_memory_is_found_at_the_moved_lines_of_its_source(vault: Vault) -> None:
    source, text = source_from_lines(vault.snapshot(), f"{SYNC}:13")
    one = memory_of(source, text)
    assert MemoriesByLocation([one], vault.snapshot()).find_at(SYNC, 11, 13) == (one,)
    vault.write(SYNC, NOTES[SYNC].replace("# Sync\n", "# Sync\n\nOne.\n\nTwo.\n\nThree.\n"))
    badges = MemoriesByLocation([one], vault.snapshot())
    assert badges.find_at(SYNC, 13, 13) == ()
    assert badges.find_at(SYNC, 19, 19) == (one,)
    (vault.folder / SYNC).rename(vault.folder / "Renamed.md")
    badges = MemoriesByLocation([one], vault.snapshot())
    assert badges.find_at("Renamed.md", 19, 19) == (one,)
    assert badges.find_at(SYNC, 19, 19) == ()


def test_a_memory_whose_source_is_gone_is_found_at_no_passage(vault: Vault) -> None:
    source, text = source_from_lines(vault.snapshot(), f"{SYNC}:13")
    (vault.folder / SYNC).unlink()
    assert MemoriesByLocation([memory_of(source, text)], vault.snapshot()).find_at(SYNC, 13, 13) == ()


HERE = Source("Guides/Sync.md", 7, 9, "d")


def memory(text: str, source: Source | None = None, why: str = "", tags: tuple[str, ...] = ()) -> Memory:
    return Memory("m1", text, tags, why, "c", "u", source)


def test_a_memory_of_the_same_lines_is_offered_for_merging_before_a_similar_memory(recaller: Recaller) -> None:
    alike = recaller.store.remember(make_memory("The release ships on the 12th of March, we agreed"))
    same = recaller.store.remember(make_memory("something else entirely", source=HERE))
    recaller.store.remember(make_memory("Soup on Friday", source=Source("Guides/Sync.md", 11, 12, "e")))
    found = find_similar_memories(
        "We agreed: the release ships on the 12th of March", Source("Guides/Sync.md", 9, 10, "f"), recaller
    )
    assert [(offer.memory, offer.is_same_source) for offer in found] == [(same, True), (alike, False)]
    assert found[0].likeness == 0
    assert found[1].likeness > 0.85


def test_memories_below_the_same_heading_or_with_the_same_why_and_tags_are_offered(recaller: Recaller) -> None:
    conflicts = ("Sync", "Conflicts")
    below = recaller.store.remember(
        make_memory("something else", source=Source("Guides/Sync.md", 7, 7, "d", conflicts))
    )
    purpose = recaller.store.remember(make_memory("Simmer lentils", ("price", "storage"), why="Budget"))
    recaller.store.remember(make_memory("Bread on Friday", ("price",), why="Budget"))
    source = Source("Guides/Sync.md", 9, 9, "e", conflicts)
    found = find_similar_memories("6 euros", source, recaller, tags=("storage", "#Price"), why="budget")
    assert [(offer.memory, offer.relation) for offer in found] == [
        (below, MemoryRelation.HEADING),
        (purpose, MemoryRelation.WHY),
    ]


def test_memories_without_tags_are_not_offered_for_the_same_why(recaller: Recaller) -> None:
    recaller.store.remember(make_memory("Simmer lentils", why="Budget"))
    assert find_similar_memories("6 euros", None, recaller, why="Budget") == []


def test_a_replaced_memory_is_recalled_and_offered_only_if_asked_for(recaller: Recaller) -> None:
    old = recaller.store.remember(make_memory("Storage costs 4 euros a month", ("price",)))
    new = recaller.store.remember(make_memory("Storage costs 6 euros a month", ("price",)), replaces=[old.id])

    def recall(query: str, *, replaced: bool = False) -> list[str]:
        return [each.memory.id for each in recaller.recall(query, replaced=replaced)]

    for query in ("", "what does storage cost", "tag:price", "4 euros"):
        assert recall(query) == [new.id]
        assert recall(query, replaced=True) == [old.id]
    assert [each.memory.id for each in find_similar_memories(old.text, None, recaller)] == [new.id]
    recaller.store.forget(new.id)
    assert recall("what does storage cost") == [old.id]


def test_a_memory_that_says_something_else_is_not_offered_for_merging(recaller: Recaller) -> None:
    recaller.store.remember(make_memory("The release ships on the 12th of March"))
    assert find_similar_memories("Simmer red lentils with cumin", None, recaller) == []


def test_a_memory_of_lines_that_have_moved_is_offered_for_merging_at_the_new_lines(
    recaller: Recaller, vault: Vault
) -> None:
    source, _ = source_from_lines(vault.snapshot(), "Sync:13")
    kept = recaller.store.remember(make_memory("Each device keeps its own history of changes.", source=source))
    vault.write("Guides/Sync.md", NOTES["Guides/Sync.md"].replace("# Sync\n", "# Sync\n\nOne.\n\nTwo.\n"))
    badges = MemoriesByLocation([kept], vault.snapshot())
    now, _ = source_from_lines(vault.snapshot(), "Sync:17")
    assert [offer.memory for offer in find_similar_memories("histories", now, recaller, badges)] == [kept]


def test_merging_joins_texts_tags_and_reasons() -> None:
    one = merge_memory(memory("One.", HERE, "first", ("a",)), "Two.", ("b", "#A"), "second", HERE)
    assert one == memory("One.\n\nTwo.", HERE, "first; second", ("a", "b"))


def test_merging_does_not_repeat_a_text_that_the_other_memory_contains() -> None:
    assert merge_memory(memory("One. Two."), "Two.").text == "One. Two."
    there = Source("a.md", 1, 2, "d")
    assert merge_memory(memory("Two.", HERE), "One. Two.", source=there) == memory("One. Two.", there)


def test_a_second_source_is_named_below_its_text() -> None:
    one = merge_memory(memory("One.", HERE), "Two.", source=Source("a.md", 3, 4, "d"))
    assert one == memory("One.\n\nTwo.\n\n(a.md, lines 3-4)", HERE)


def test_a_memory_without_a_source_takes_the_source_of_the_memory_merged_into_it() -> None:
    assert merge_memory(memory("One."), "Two.", source=HERE).source == HERE
