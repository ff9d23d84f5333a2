"""Tests of `excerpt index` and `excerpt status`: counts, and skipped files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from excerpt.errors import VaultError
from excerpt.settings import user_paths
from tests.cli.conftest import NOTES, Excerpt


def test_a_reader_is_told_what_was_done(excerpt: Excerpt, vault: Path) -> None:
    first = excerpt("index", "--vault", vault)
    assert first.code == 0
    assert first.out.startswith(f"{len(NOTES)} notes, ")
    assert f"{len(NOTES)} added, 0 changed, 0 removed" in first.out
    assert "0 added, 0 changed, 0 removed" in excerpt("index", "--vault", vault).out


def test_a_program_gets_the_report(excerpt: Excerpt, vault: Path) -> None:
    report = excerpt("index", "--vault", vault, "--json").json
    assert (report["added"], report["changed"], report["removed"], report["unchanged"]) == (3, 0, 0, 0)
    (vault / "Colour.md").write_text("The colour of a pear tells little.\n", encoding="utf-8")
    (vault / "Sync.md").unlink()
    report = excerpt("index", "--vault", vault, "--json").json
    assert (report["added"], report["changed"], report["removed"], report["unchanged"]) == (0, 1, 1, 1)


def test_rebuild_reads_everything_again(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    assert excerpt("index", "--vault", vault, "--rebuild", "--json").json["added"] == 3


def test_progress_is_json_lines_that_end_with_the_report(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("index", "--vault", vault, "--progress")
    events = [json.loads(line) for line in answer.out.splitlines()]
    assert answer.code == 0
    assert {event["event"] for event in events[:-1]} == {"progress"}
    assert events[-1]["event"] == "done"
    assert events[-1]["added"] == 3
    assert events[-2]["notes_done"] == events[-2]["notes_total"] == 3


def test_progress_ends_with_the_error_where_there_is_one(excerpt: Excerpt, tmp_path: Path) -> None:
    answer = excerpt("index", "--vault", tmp_path / "nowhere", "--progress")
    assert answer.code == 3
    assert answer.json["event"] == "error"
    assert answer.json["title"] == VaultError.title
    assert str(tmp_path / "nowhere") in answer.json["message"]
    assert answer.json["hint"]


def test_a_skipped_file_is_named_with_its_reason(excerpt: Excerpt, vault: Path) -> None:
    (vault / "zeros.md").write_bytes(bytes(10_000))
    answer = excerpt("index", "--vault", vault)
    assert answer.code == 0
    assert "1 skipped:\n  zeros.md: " in answer.out
    status = excerpt("status", "--vault", vault, "--json").json
    assert [skipped["path"] for skipped in status["skipped"]] == ["zeros.md"]
    assert status["skipped"][0]["reason"]


def test_status_says_what_is_indexed(excerpt: Excerpt, vault: Path) -> None:
    status = excerpt("status", "--vault", vault, "--json").json
    assert status["vault"] == str(vault.resolve())
    assert status["notes"] == 3
    assert status["fragments"] >= 5
    assert status["tokenizer"] == "o200k"
    assert {"generation", "model", "updated", "skipped", "warnings"} <= set(status)
    assert status["watched"] is False
    shown = excerpt("status", "--vault", vault).out
    assert "watched    no: " in shown
    assert "notes      3\n" in shown
    assert "skipped    0\n" in shown


def test_an_empty_vault_has_a_status(excerpt: Excerpt, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    status = excerpt("status", "--vault", tmp_path / "empty", "--json")
    assert status.code == 0
    assert (status.json["notes"], status.json["fragments"]) == (0, 0)


def test_a_vault_that_lost_all_notes_is_not_indexed_as_empty_before_the_user_agrees(
    excerpt: Excerpt, vault: Path
) -> None:
    excerpt("index", "--vault", vault)
    shutil.rmtree(vault)
    vault.mkdir()
    refused = excerpt("index", "--vault", vault)
    assert (refused.code, refused.out) == (3, "")
    assert "--accept-empty" in refused.err
    assert excerpt("status", "--vault", vault, "--no-refresh", "--json").json["notes"] == 3
    assert excerpt("index", "--vault", vault, "--accept-empty").code == 0
    assert excerpt("status", "--vault", vault, "--json").json["notes"] == 0


def test_a_search_in_a_vault_that_lost_all_notes_says_so_and_uses_the_index_as_it_is(
    excerpt: Excerpt, vault: Path
) -> None:
    excerpt("index", "--vault", vault)
    shutil.rmtree(vault)
    vault.mkdir()
    answer = excerpt("search", "lentils", "--vault", vault, "--json")
    assert answer.code == 0
    assert answer.json["hits"][0]["path"] == "Cooking/Lentil soup.md"
    assert str(vault) in answer.err
    assert "--accept-empty" in answer.err


def test_a_damaged_index_is_mended_by_the_next_search_which_says_so(excerpt: Excerpt, vault: Path) -> None:
    asked = ("search", "sync conflict", "--vault", vault)
    before = excerpt(*asked)
    postings = next(user_paths().index_folder(vault).glob("words/*.pst"))
    postings.write_bytes(postings.read_bytes() + b"more")
    refused = excerpt(*asked, "--no-refresh")
    assert (refused.code, refused.out) == (3, "")
    assert "`excerpt index`" in refused.err
    mended = excerpt(*asked)
    assert (mended.code, mended.out) == (0, before.out)
    assert f"words/{postings.name}" in mended.err
    assert "words/" not in excerpt(*asked).err
