"""Tests of the file of a gold set: questions of the user, never lost."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from excerpt.base.errors import GoldUnusableError, NotFoundError
from excerpt.service.gold.questions import (
    GoldTarget,
    add_questions,
    find_question,
    make_question,
    read_gold,
    remove_question,
)

CONFLICTS = GoldTarget("Sync.md", "Conflicts")
SYNC = make_question("how do conflicts end?", [CONFLICTS])
SOUP = make_question("lentils", [GoldTarget("Cooking/Lentil soup.md")])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gold" / "notes.jsonl"


def test_a_missing_gold_set_file_means_no_questions(file: Path) -> None:
    assert read_gold(file).questions == ()


def test_added_questions_are_read_back_in_order(file: Path) -> None:
    odd = make_question("半 \udc80", [GoldTarget('a "quoted".md')])
    add_questions(file, [SYNC, SOUP])
    add_questions(file, [odd])
    assert read_gold(file).questions == (SYNC, SOUP, odd)


def test_a_line_of_a_gold_set_has_the_format_of_known_item_sets(file: Path) -> None:
    add_questions(file, [SYNC, SOUP])
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["query"] for line in lines] == ["how do conflicts end?", "lentils"]
    assert [line["relevant"] for line in lines] == [
        [{"path": "Sync.md", "heading": "Conflicts"}],
        [{"path": "Cooking/Lentil soup.md", "heading": None}],
    ]


def test_adding_a_question_again_adds_the_new_targets(file: Path) -> None:
    add_questions(file, [SYNC, SOUP])
    devices = GoldTarget("Sync.md", "Devices")
    add_questions(file, [make_question(" how do  conflicts end?", [CONFLICTS, devices])])
    assert [question.targets for question in read_gold(file).questions] == [(CONFLICTS, devices), SOUP.targets]


def test_an_unreadable_line_is_named_and_kept(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b'{"query": "a", "relevant": []}\nno JSON \xff\n{"query": "b", "relevant": [{"path": "B.md"}]}\n')
    assert [line.number for line in read_gold(file).unreadable] == [1, 2]
    add_questions(file, [SOUP])
    assert file.read_bytes().startswith(b'{"query": "a", "relevant": []}\nno JSON \xff\n{"query": "b"')
    assert [question.query for question in read_gold(file).questions] == ["b", "lentils"]


def test_unknown_keys_of_a_line_are_kept_when_it_changes(file: Path) -> None:
    file.parent.mkdir()
    line = {"query": "lentils", "relevant": [{"path": "A.md", "line_start": 3}], "id": 7, "kind": "alias"}
    file.write_text(json.dumps(line), encoding="utf-8")
    add_questions(file, [SOUP])
    (changed,) = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert changed["kind"] == "alias"
    assert changed["id"] == "7"
    assert [place["path"] for place in changed["relevant"]] == ["A.md", "Cooking/Lentil soup.md"]


def test_unchanged_lines_keep_their_bytes(file: Path) -> None:
    file.parent.mkdir()
    written = '{ "relevant": [{"path": "B.md"}],  "query": "b" }\n'
    file.write_text(written, encoding="utf-8")
    add_questions(file, [SYNC])
    remove_question(file, SYNC.id)
    assert file.read_text(encoding="utf-8") == written


def test_a_question_is_removed_by_its_id_or_query(file: Path) -> None:
    add_questions(file, [SYNC, SOUP])
    assert remove_question(file, "lentils") == SOUP
    assert remove_question(file, SYNC.id) == SYNC
    assert read_gold(file).questions == ()


def test_removing_the_last_target_removes_the_question(file: Path) -> None:
    add_questions(file, [make_question("lentils", [*SOUP.targets, CONFLICTS])])
    remove_question(file, "lentils", "Sync.md#Conflicts")
    assert find_question(read_gold(file).questions, "lentils").targets == SOUP.targets
    remove_question(file, "lentils", "Cooking/Lentil soup.md")
    assert read_gold(file).questions == ()


@pytest.mark.parametrize("words", [("nothing",), ("lentils", "Nowhere.md")])
def test_removing_an_unknown_question_is_an_error_and_changes_nothing(file: Path, words: tuple[str, ...]) -> None:
    add_questions(file, [SOUP])
    with pytest.raises(NotFoundError):
        remove_question(file, *words)
    assert read_gold(file).questions == (SOUP,)


def test_a_failed_write_keeps_the_questions(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_questions(file, [SYNC])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("excerpt.base.state_files.os.fsync", full)
    with pytest.raises(GoldUnusableError, match="No space left"):
        add_questions(file, [SOUP])
    monkeypatch.undo()
    assert read_gold(file).questions == (SYNC,)


def _add_many(file: Path, name: str) -> None:
    for number in range(20):
        add_questions(file, [make_question(f"{name} {number}", [GoldTarget("A.md")])])


@pytest.mark.programs
def test_two_processes_lose_no_question(file: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_add_many, args=(file, name)) for name in ("one", "two")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(read_gold(file).questions) == 40
