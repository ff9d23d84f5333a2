"""Tests of remember, recall and forget from the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Excerpt, Piped


def test_memories_are_recalled_by_words_and_tags(excerpt: Excerpt, vault: Path) -> None:
    kept = excerpt("remember", "We ship in March", "--tag", "release", "--why", "settled", "--vault", vault, "--json")
    assert kept.code == 0
    excerpt("remember", "Soup on Friday", "--vault", vault)
    for asked in (("ship",), ("--tag", "release"), ("march", "--tag", "release")):
        answer = excerpt("recall", *asked, "--vault", vault, "--json")
        assert answer.code == 0
        (found,) = answer.json["memories"]
        assert {key: found[key] for key in found if key not in ("score", "confidence", "answers")} == {
            key: kept.json[key] for key in kept.json if key not in ("similar", "replaces")
        }
    assert kept.json["text"] == "We ship in March"
    assert kept.json["tags"] == ["release"]
    assert kept.json["why"] == "settled"


def test_recall_without_words_lists_all_newest_first(excerpt: Excerpt, vault: Path) -> None:
    excerpt("remember", "first thought", "--vault", vault)
    excerpt("remember", "second thought", "--vault", vault)
    answer = excerpt("recall", "--vault", vault)
    assert answer.code == 0
    assert answer.out.index("second thought") < answer.out.index("first thought")


def test_nothing_recalled_exits_with_1(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("recall", "anything", "--vault", vault, "--json")
    assert answer.code == 1
    assert answer.json == {"memories": []}


def test_a_forgotten_memory_is_not_listed_and_its_file_is_kept(excerpt: Excerpt, home: Path, vault: Path) -> None:
    kept = excerpt("remember", "a passing thought", "--vault", vault, "--json").json
    answer = excerpt("forget", kept["id"], "--vault", vault)
    assert answer.code == 0
    assert excerpt("recall", "--vault", vault).code == 1
    assert any("a passing thought" in file.read_text(encoding="utf-8") for file in home.rglob("trash/*.md"))


def test_forgetting_an_unknown_memory_is_reported(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("forget", "m0000000000", "--vault", vault)
    assert answer.code == 3
    assert "m0000000000" in answer.err


@pytest.mark.parametrize("data", ["from a pipe\né".encode(), "from a pipe\r\né".encode("utf-16")])
def test_text_is_read_from_a_pipe(excerpt: Excerpt, vault: Path, piped: Piped, data: bytes) -> None:
    piped(data)
    assert excerpt("remember", "-", "--vault", vault, "--json").json["text"] == "from a pipe\né"


def test_a_broken_memory_file_is_named_and_the_others_are_listed(excerpt: Excerpt, home: Path, vault: Path) -> None:
    excerpt("remember", "whole", "--vault", vault)
    folder = next(home.rglob("*.md")).parent
    (folder / "broken.md").write_bytes(b"---\nid: [\n---\n\x00\xff")
    answer = excerpt("recall", "--vault", vault)
    assert answer.code == 0
    assert "whole" in answer.out
    assert "broken.md" in answer.err


def remember_sentence(excerpt: Excerpt, vault: Path, *more: str) -> dict[str, Any]:
    """Remember a line of the vault and return the memory as JSON."""
    kept = excerpt("remember", "--source", "Colour.md:1", *more, "--vault", vault, "--json")
    assert kept.code == 0
    found: dict[str, Any] = kept.json
    return found


def test_recall_takes_a_query_and_shows_its_confidence(excerpt: Excerpt, vault: Path) -> None:
    excerpt("remember", "Two devices change one note", "--tag", "sync", "--vault", vault)
    (found,) = excerpt("recall", "device", "changing", "tag:sync", "--vault", vault, "--json").json["memories"]
    assert found["score"] > 0
    assert found["confidence"] in ("strong", "likely", "weak")


def test_recall_without_an_answer_lists_memories_that_share_a_word(excerpt: Excerpt, vault: Path) -> None:
    for text in ("Sync keeps versions for 12 months", "The history shows versions of a note"):
        excerpt("remember", text, "--vault", vault)
    answer = excerpt("recall", "which", "python", "versions", "run", "--vault", vault)
    assert answer.code == 0
    assert "No memory" in answer.err
    assert "12 months" in answer.out


def test_recall_can_be_restricted_by_source_and_date(excerpt: Excerpt, vault: Path) -> None:
    excerpt("remember", "A thought", "--vault", vault)
    memory = remember_sentence(excerpt, vault)
    found = excerpt("recall", "--source", "Colour", "--vault", vault, "--json").json["memories"]
    assert [each["id"] for each in found] == [memory["id"]]
    assert excerpt("recall", "--since", "1d", "--limit", "1", "--vault", vault, "--json").code == 0
    assert excerpt("recall", "--since", "2999", "--vault", vault).code == 1
    refused = excerpt("recall", "--since", "soon", "--vault", vault)
    assert (refused.code, refused.out) == (2, "")
    assert "'soon'" in refused.err


def test_recall_accepts_the_filters_of_the_memory_tab(excerpt: Excerpt, vault: Path) -> None:
    excerpt("remember", "A thought", "--vault", vault)
    memory = remember_sentence(excerpt, vault)
    for query in ("source:Colour", "path:colour", "since:1d is:stale", "banana -is:stale"):
        if "is:stale" in query.split():
            (vault / "Colour.md").write_text("The colour of an apple tells how ripe it is.\n", encoding="utf-8")
        found = excerpt("recall", query, "--vault", vault, "--json").json["memories"]
        assert [each["id"] for each in found] == ([memory["id"]] if "-is" not in query else []), query
    answer = excerpt("recall", "thought", "soruce:Colour", "--vault", vault)
    assert "`soruce:`" in answer.err
    assert "`source:`" in answer.err


def test_lines_of_a_note_are_remembered_with_their_location(excerpt: Excerpt, vault: Path) -> None:
    memory = remember_sentence(excerpt, vault, "--query", "banana")
    assert memory["text"] == "The colour of a banana tells how ripe it is."
    assert memory["query"] == "banana"
    assert memory["source"]["path"] == "Colour.md"
    assert (memory["source"]["line_start"], memory["source"]["line_end"]) == (1, 1)


def test_a_fragment_is_remembered_by_its_id_from_a_search(excerpt: Excerpt, vault: Path) -> None:
    hit = excerpt("search", "banana", "--vault", vault, "--json").json["hits"][0]
    memory = excerpt("remember", "--fragment", hit["fragment_id"], "--vault", vault, "--json").json
    assert (memory["text"], memory["source"]["path"]) == (hit["text"], hit["path"])
    own = excerpt("remember", "my words", "--fragment", hit["fragment_id"], "--vault", vault, "--json").json
    assert (own["text"], own["source"]) == ("my words", memory["source"])


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        ((), 2, "TEXT"),
        (("--fragment", "a", "--source", "b"), 2, "--source"),
        (("--fragment", "nosuch"), 3, "nosuch"),
        (("--source", "Nowhere:3"), 3, "Nowhere:3"),
        (("--source", "Colour:7-9"), 3, "1 line"),
        (("text", "--merge", "mnone"), 3, "mnone"),
        (("text", "--replace", "mnone"), 3, "mnone"),
        (("text", "--merge", "a", "--replace", "b"), 2, "--replace"),
        ((" ",), 3, "no text"),
    ],
)
def test_invalid_memories_are_refused(
    excerpt: Excerpt, vault: Path, asked: tuple[str, ...], code: int, said: str
) -> None:
    answer = excerpt("remember", *asked, "--vault", vault)
    assert answer.code == code
    assert said in answer.err


def test_a_duplicate_memory_is_reported_and_can_be_merged(excerpt: Excerpt, vault: Path) -> None:
    first = excerpt("remember", "The release ships on the 12th of March", "--tag", "a", "--vault", vault, "--json").json
    assert first["similar"] == []
    told = excerpt("remember", "On the 12th of March the release ships", "--tag", "b", "--vault", vault)
    assert first["id"] in told.err
    second = excerpt("recall", "--tag", "b", "--vault", vault, "--json").json["memories"][0]
    merged = excerpt("edit", first["id"], "--merge", second["id"], "--vault", vault, "--json").json
    assert merged["tags"] == ["a", "b"]
    assert "On the 12th" in merged["text"]
    assert [each["id"] for each in excerpt("recall", "--vault", vault, "--json").json["memories"]] == [first["id"]]


def test_a_memory_replaces_another_which_is_recalled_only_when_asked_for(excerpt: Excerpt, vault: Path) -> None:
    old = excerpt("remember", "Storage costs 4 euros", "--vault", vault, "--json").json
    new = excerpt("remember", "Storage costs 6 euros", "--replace", old["id"], "--vault", vault, "--json").json
    assert new["replaces"] == [{"id": old["id"], "text": old["text"]}]

    def recalled(*asked: str) -> list[str]:
        return [each["id"] for each in excerpt("recall", *asked, "--vault", vault, "--json").json["memories"]]

    assert recalled("storage") == recalled() == [new["id"]]
    assert recalled("storage", "--replaced") == recalled("is:replaced") == [old["id"]]
    assert recalled("storage -is:replaced") == [new["id"]]
    assert f"by {new['id']}" in excerpt("recall", "--replaced", "--vault", vault).out


def test_forgetting_the_newer_memory_recalls_the_older_one_again(excerpt: Excerpt, vault: Path) -> None:
    old = excerpt("remember", "Storage costs 4 euros", "--vault", vault, "--json").json
    new = excerpt("remember", "Bread on Friday", "--vault", vault, "--json").json
    assert excerpt("edit", new["id"], "--replace", old["id"], "--vault", vault).code == 0
    excerpt("forget", new["id"], "--vault", vault)
    (again,) = excerpt("recall", "--vault", vault, "--json").json["memories"]
    assert (again["id"], again["replaced_by"]) == (old["id"], "")


def test_a_replaced_memory_is_restored_by_its_id(excerpt: Excerpt, vault: Path) -> None:
    old = excerpt("remember", "Storage costs 4 euros", "--vault", vault, "--json").json
    excerpt("remember", "Bread on Friday", "--replace", old["id"], "--vault", vault)
    assert excerpt("forget", old["id"], "--undo", "--vault", vault).code == 0
    assert len(excerpt("recall", "--vault", vault, "--json").json["memories"]) == 2


def test_what_a_merged_memory_replaced_stays_replaced(excerpt: Excerpt, vault: Path) -> None:
    old = excerpt("remember", "Storage costs 4 euros", "--vault", vault, "--json").json
    new = excerpt("remember", "It costs 6", "--replace", old["id"], "--vault", vault, "--json").json
    other = excerpt("remember", "Bread on Friday", "--vault", vault, "--json").json
    excerpt("edit", other["id"], "--merge", new["id"], "--vault", vault)
    (replaced,) = excerpt("recall", "--replaced", "--vault", vault, "--json").json["memories"]
    assert (replaced["id"], replaced["replaced_by"]) == (old["id"], other["id"])


def test_a_refused_replacement_merges_nothing(excerpt: Excerpt, vault: Path) -> None:
    first = excerpt("remember", "One.", "--vault", vault, "--json").json
    second = excerpt("remember", "Two.", "--vault", vault, "--json").json
    answer = excerpt("edit", first["id"], "--merge", second["id"], "--replace", "mnone", "--vault", vault)
    assert answer.code == 3
    memories = excerpt("recall", "--vault", vault, "--json").json["memories"]
    assert sorted(each["text"] for each in memories) == ["One.", "Two."]


def test_merging_a_text_into_a_memory_creates_no_new_memory(excerpt: Excerpt, vault: Path) -> None:
    first = excerpt("remember", "One.", "--vault", vault, "--json").json
    into = excerpt("remember", "Two.", "--merge", first["id"], "--vault", vault, "--json").json
    assert (into["id"], into["text"]) == (first["id"], "One.\n\nTwo.")


def test_a_memory_is_edited(excerpt: Excerpt, vault: Path, piped: Piped) -> None:
    memory = excerpt("remember", "old", "--tag", "a", "--tag", "b", "--vault", vault, "--json").json
    piped(b"new\n")
    answer = excerpt(
        *("edit", memory["id"], "--text", "-", "--tag", "C", "--untag", "#a", "--why", "w", "--vault", vault, "--json")
    )
    assert answer.code == 0
    assert (answer.json["text"], answer.json["tags"], answer.json["why"]) == ("new\n", ["b", "c"], "w")
    assert answer.json["id"] == memory["id"]


@pytest.mark.parametrize(
    ("asked", "code"), [((), 2), (("--text", " "), 2), (("--merge", "ID"), 2), (("--merge", "mnone"), 3)]
)
def test_an_edit_without_changes_is_reported(excerpt: Excerpt, vault: Path, asked: tuple[str, ...], code: int) -> None:
    memory = excerpt("remember", "old", "--vault", vault, "--json").json
    answer = excerpt(
        "edit", memory["id"], *(memory["id"] if word == "ID" else word for word in asked), "--vault", vault
    )
    assert answer.code == code
    assert excerpt("recall", "--vault", vault, "--json").json["memories"][0]["text"] == "old"


def test_a_forgotten_memory_can_be_restored(excerpt: Excerpt, vault: Path) -> None:
    memory = excerpt("remember", "a thought", "--vault", vault, "--json").json
    excerpt("forget", memory["id"], "--vault", vault)
    assert excerpt("forget", "--undo", memory["id"], "--vault", vault).code == 0
    assert "a thought" in excerpt("recall", "--vault", vault).out
    assert excerpt("forget", "--undo", memory["id"], "--vault", vault).code == 3


def test_a_changed_source_is_shown_and_updated(excerpt: Excerpt, vault: Path) -> None:
    memory = remember_sentence(excerpt, vault)
    assert excerpt("recall", "--stale", "--vault", vault).code == 1
    (vault / "Colour.md").write_text("The colour of an apple tells how ripe it is.\n", encoding="utf-8")
    shown = excerpt("recall", "--stale", "--vault", vault)
    assert shown.code == 0
    assert "- The colour of a banana tells" in shown.out
    assert "+ The colour of an apple tells" in shown.out
    comparison = excerpt("recall", "--stale", "--vault", vault, "--json").json["memories"][0]["source_check"]
    assert (comparison["kind"], comparison["stale"]) == ("changed", True)
    assert comparison["now"] == "The colour of an apple tells how ripe it is."
    updated = excerpt("edit", memory["id"], "--update", "--vault", vault, "--json").json
    assert updated["text"] == comparison["now"]
    assert excerpt("recall", "--stale", "--vault", vault).code == 1


def test_a_memory_can_follow_its_moved_source_or_be_kept_if_its_source_is_missing(
    excerpt: Excerpt, vault: Path
) -> None:
    memory = remember_sentence(excerpt, vault)
    (vault / "Colour.md").rename(vault / "Fruit.md")
    assert "moved: the source is now at Fruit.md:1" in excerpt("recall", "--sources", "--vault", vault).out
    followed = excerpt("edit", memory["id"], "--follow", "--vault", vault, "--json").json
    assert followed["source"]["path"] == "Fruit.md"
    (vault / "Fruit.md").unlink()
    assert "gone" in excerpt("recall", "--stale", "--vault", vault).out
    excerpt("edit", memory["id"], "--keep", "--vault", vault)
    assert excerpt("recall", "--stale", "--vault", vault).code == 1
    assert "banana" in excerpt("recall", "--vault", vault).out


def test_control_characters_are_not_sent_to_a_terminal(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    excerpt("remember", "red \x1b[31m text", "--why", "b\x1b]0;x\x07", "--vault", vault)
    assert "\x1b" not in excerpt("recall", "--vault", vault).out


def test_a_copy_of_a_memory_is_reported_and_kept_when_the_memory_is_forgotten(
    excerpt: Excerpt, home: Path, vault: Path
) -> None:
    memory = excerpt("remember", "Lentils keep well.", "--vault", vault, "--json").json["id"]
    (file,) = (home / "data" / "memories").rglob("*.md")
    file.with_name("copy.md").write_bytes(file.read_bytes())
    recalled = excerpt("recall", "--vault", vault, "--json")
    (copied,) = {each["id"] for each in recalled.json["memories"]} - {memory}
    assert recalled.err.count("\n") == 1
    assert all(name in recalled.err for name in ("copy.md", memory, copied))
    forgotten = excerpt("forget", memory, "--vault", vault)
    assert forgotten.err.count("\n") == 1
    assert copied in forgotten.err
    assert "copy" in forgotten.err
    assert [each["id"] for each in excerpt("recall", "--vault", vault, "--json").json["memories"]] == [copied]
    assert excerpt("forget", "--undo", memory, "--vault", vault).code == 0
    forgotten = excerpt("forget", memory, "--vault", vault)
    assert forgotten.err.count("\n") == 1
    assert copied in forgotten.err
    assert "same text" in forgotten.err


def test_a_symbolic_link_among_the_memory_files_is_reported_and_not_read(
    excerpt: Excerpt, home: Path, vault: Path, tmp_path: Path
) -> None:
    excerpt("remember", "Lentils keep well.", "--vault", vault)
    (file,) = (home / "data" / "memories").rglob("*.md")
    (tmp_path / "secret").write_text("root:x:0:0")
    file.with_name("passwd.md").symlink_to(tmp_path / "secret")
    recalled = excerpt("recall", "--vault", vault)
    assert "root" not in recalled.out
    assert "passwd.md" in recalled.err
    assert "link" in recalled.err


@pytest.mark.parametrize("command", [("search",), ("search", "--json"), ("search", "--lines"), ("pack",)])
def test_search_and_pack_name_matching_memories(excerpt: Excerpt, vault: Path, command: tuple[str, ...]) -> None:
    before = excerpt(*command, "when do we ship the release", "--vault", vault)
    kept = excerpt("remember", "We ship the release in March", "--vault", vault, "--json").json
    excerpt("remember", "Soup on Friday, if the lentils are soft", "--vault", vault)
    answer = excerpt(*command, "when do we ship the release", "--vault", vault)
    assert f"Memory {kept['id']} answers the query: We ship the release in March" in answer.err
    assert answer.err.count("excerpt: Memory ") == 1
    if command == ("pack",):
        assert answer.out == before.out
    unrelated = excerpt(*command, "sync conflict", "--vault", vault)
    assert "excerpt: Memory " not in unrelated.err
