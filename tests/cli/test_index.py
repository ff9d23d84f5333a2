"""Tests of `excerpt index`: OCR, an index that cannot be written, file times outside the usual range."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from excerpt.base.errors import VaultError
from excerpt.base.settings import Ocr, load_vault_settings, user_paths
from excerpt.index import build as building
from excerpt.index.catalog import CATALOG_FILE
from tests.cli.conftest import NOTES, Excerpt
from tests.images import image_bytes, text_image
from tests.index.conftest import MEMORY, full_disk


def test_text_output_summarises_the_build(excerpt: Excerpt, vault: Path) -> None:
    first = excerpt("index", "--vault", vault)
    assert first.code == 0
    assert first.out.startswith(f"{len(NOTES)} notes, ")
    assert f"{len(NOTES)} added, 0 changed, 0 removed" in first.out
    assert "0 added, 0 changed, 0 removed" in excerpt("index", "--vault", vault).out


def test_json_output_is_the_report(excerpt: Excerpt, vault: Path) -> None:
    report = excerpt("index", "--vault", vault, "--json").json
    assert (report["added"], report["changed"], report["removed"], report["unchanged"]) == (3, 0, 0, 0)
    (vault / "Colour.md").write_text("The colour of a pear tells little.\n", encoding="utf-8")
    (vault / "Sync.md").unlink()
    report = excerpt("index", "--vault", vault, "--json").json
    assert (report["added"], report["changed"], report["removed"], report["unchanged"]) == (0, 1, 1, 1)


def test_index_rebuild_reads_every_note_again(excerpt: Excerpt, vault: Path) -> None:
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


def test_progress_ends_with_the_error_if_there_is_one(excerpt: Excerpt, tmp_path: Path) -> None:
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


def test_status_counts_what_is_indexed(excerpt: Excerpt, vault: Path) -> None:
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


def test_a_vault_that_lost_all_notes_keeps_its_index_until_the_user_confirms(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    shutil.rmtree(vault)
    vault.mkdir()
    refused = excerpt("index", "--vault", vault)
    assert (refused.code, refused.out) == (3, "")
    assert "--accept-empty" in refused.err
    assert excerpt("status", "--vault", vault, "--no-refresh", "--json").json["notes"] == 3
    assert excerpt("index", "--vault", vault, "--accept-empty").code == 0
    assert excerpt("status", "--vault", vault, "--json").json["notes"] == 0


def test_a_search_in_a_vault_that_lost_all_notes_warns_and_uses_the_old_index(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    shutil.rmtree(vault)
    vault.mkdir()
    answer = excerpt("search", "lentils", "--vault", vault, "--json")
    assert answer.code == 0
    assert answer.json["hits"][0]["path"] == "Cooking/Lentil soup.md"
    assert str(vault) in answer.err
    assert "--accept-empty" in answer.err


def test_a_damaged_index_is_repaired_by_the_next_search_which_reports_it(excerpt: Excerpt, vault: Path) -> None:
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


@pytest.fixture
def with_image(vault: Path) -> Path:
    (vault / "list.png").write_bytes(image_bytes(text_image("Buy seven spruce boards for the trellis.")))
    return vault


def ocr_of(vault: Path) -> Ocr:
    return load_vault_settings(vault, user_paths()).vault.attachments.ocr


@pytest.mark.programs
@pytest.mark.needs("tesseract")
def test_ocr_reads_images_when_requested_and_stays_on(excerpt: Excerpt, with_image: Path) -> None:
    assert "list.png" not in excerpt("search", "spruce", "--vault", with_image).out
    answer = excerpt("index", "--ocr", "--vault", with_image)
    assert answer.code == 0
    assert 'vault.attachments.ocr = "auto"' in answer.err
    excerpt("index", "--vault", with_image)
    assert excerpt("search", "spruce", "--vault", with_image, "--json").json["hits"][0]["path"] == "list.png"


@pytest.mark.programs
@pytest.mark.needs("tesseract")
def test_the_option_ocr_changes_no_settings_if_ocr_is_on_already(excerpt: Excerpt, with_image: Path) -> None:
    file = user_paths().vault_settings_file(with_image)
    file.parent.mkdir(parents=True)
    file.write_text('[vault.attachments]\nocr = "tesseract" # as installed\n', encoding="utf-8")
    answer = excerpt("index", "--ocr", "--vault", with_image)
    assert (answer.code, answer.err) == (0, "")
    assert file.read_text(encoding="utf-8") == '[vault.attachments]\nocr = "tesseract" # as installed\n'


@pytest.mark.programs
@pytest.mark.needs("tesseract")
def test_ocr_can_be_requested_together_with_progress(excerpt: Excerpt, with_image: Path) -> None:
    answer = excerpt("index", "--ocr", "--progress", "--vault", with_image)
    assert json.loads(answer.out.splitlines()[-1])["event"] == "done"
    assert ocr_of(with_image) is Ocr.AUTO


@pytest.mark.programs
def test_the_option_ocr_changes_nothing_if_no_ocr_program_is_installed(
    excerpt: Excerpt, with_image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    answer = excerpt("index", "--ocr", "--vault", with_image)
    assert (answer.code, answer.out) == (3, "")
    assert "OCR" in answer.err
    assert "tesseract-ocr" in answer.err
    assert ocr_of(with_image) is Ocr.OFF


@pytest.mark.programs
def test_ocr_is_refused_if_attachments_are_not_read(excerpt: Excerpt, with_image: Path) -> None:
    file = user_paths().vault_settings_file(with_image)
    file.parent.mkdir(parents=True)
    file.write_text("[vault.attachments]\nread = false\n", encoding="utf-8")
    answer = excerpt("index", "--ocr", "--vault", with_image)
    assert (answer.code, answer.out) == (2, "")
    assert "vault.attachments.read" in answer.err


class ReadOnlyLock:
    """A lock that fails as on a read-only file system."""

    def __init__(self, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def make_unwritable(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "file_lock", ReadOnlyLock)
    folder = user_paths().index_folder(vault)
    if folder.exists():
        sqlite3.connect(folder / CATALOG_FILE).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
        (folder / "catalog.sqlite-shm").mkdir()  # so that SQLite cannot create the file


def test_an_unwritable_index_is_searched_with_a_warning(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = excerpt("search", "sync conflict", "--vault", vault)
    make_unwritable(vault, monkeypatch)
    (vault / "New.md").write_text("# New\n\nA sync conflict that the index does not know.\n")
    for command in (("search", "sync conflict"), ("pack", "sync conflict"), ("status",)):
        answer = excerpt(*command, "--vault", vault)
        assert answer.code == 0
        assert "Read-only file system" in answer.err
        assert "the index of 20" in answer.err
    assert excerpt("search", "sync conflict", "--vault", vault).out == before.out


def test_without_an_index_an_unwritable_folder_is_an_error_with_a_hint(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_unwritable(vault, monkeypatch)
    for command in (("search", "sync"), ("index",)):
        answer = excerpt(*command, "--vault", vault)
        assert (answer.code, answer.out) == (3, "")
        assert "Read-only file system" in answer.err
        assert "EXCERPT_HOME" in answer.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read every folder")
@pytest.mark.parametrize("command", [("search", "soup"), ("status",), ("learned",), ("index",), ("pack", "soup")])
@pytest.mark.parametrize("which", ["", ".."])
def test_an_index_folder_without_permission_is_reported_in_one_sentence(
    excerpt: Excerpt, vault: Path, command: tuple[str, ...], which: str
) -> None:
    excerpt("index", "--vault", vault)
    folder = (user_paths().index_folder(vault) / which).resolve()
    folder.chmod(0)
    try:
        answer = excerpt(*command, "--vault", vault)
    finally:
        folder.chmod(0o700)
    assert answer.code == (1 if command == ("learned",) else 3)
    assert "inside excerpt" not in answer.err


@pytest.mark.skipif(os.name == "nt", reason="the limit of a file's size is of POSIX")
def test_on_a_full_disk_the_last_index_answers_with_one_warning(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    (vault / "New.md").write_text("# New\n\nA sync conflict that the index does not know.\n")
    asked = [(command, "sync conflict", "--vault", vault, "--no-refresh") for command in ("search", "pack")]
    before = [excerpt(*argv).out for argv in asked]
    with full_disk():
        as_it_is = [excerpt(*argv) for argv in asked]
        refused = [excerpt(*argv[:-1]) for argv in asked]
    assert [answer.out for answer in as_it_is] == [answer.out for answer in refused] == before
    assert [answer.code for answer in (*as_it_is, *refused)] == [0] * 4
    assert not any("full" in answer.err for answer in as_it_is)
    for answer in refused:
        assert "disk is full" in answer.err
        assert "the index of 20" in answer.err
    assert "New.md" in excerpt("search", "sync conflict", "--vault", vault).out


TIMES = {
    "year 1": -62_135_596_800,
    "before int64": -9_300_000_000,
    "before unsigned": -2_200_000_000,
    "before 1970": -1,
    "1970": 0,
    "now": 1_750_000_000,
    "filter's last": 7_258_118_400,
    "int64": 9_223_372_036,
    "after int64": 9_223_372_037,
    "2300": 10_413_792_000,
    "year 10000": 253_402_300_800,
    "far": 2**55,
}
"""Seconds since 1970; not every file system can store each of them."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder in /dev/shm where possible, since Linux stores any time there."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=MEMORY) as inside:
        yield Path(inside)


def set_time(file: Path, seconds: int) -> None:
    try:
        os.utime(file, (seconds, seconds))
    except (OSError, OverflowError):
        os.utime(file, (2**31 - 1, 2**31 - 1))  # the latest time that every system accepts


@pytest.fixture
def vault_of_odd_times(folder: Path) -> Path:
    vault_of_odd_times = folder / "vault"
    vault_of_odd_times.mkdir()
    for number, (name, seconds) in enumerate(TIMES.items()):
        (vault_of_odd_times / f"{name}.md").write_text(f"# Zeppelin {number}\n\nIt flies, as number{number} does.\n")
        (vault_of_odd_times / f"{name}.csv").write_text(f"zeppelin,number\nflies,{number}\n")
        set_time(vault_of_odd_times / f"{name}.md", seconds)
        set_time(vault_of_odd_times / f"{name}.csv", seconds)
    return vault_of_odd_times


@pytest.mark.programs
def test_files_with_unusual_times_are_indexed_and_found(excerpt: Excerpt, vault_of_odd_times: Path) -> None:
    assert excerpt("index", "--vault", vault_of_odd_times).code == 0
    hits = excerpt("search", "zeppelin", "--vault", vault_of_odd_times, "--json", "--limit", "50").json["hits"]
    assert {hit["path"] for hit in hits} == {f"{name}.{kind}" for name in TIMES for kind in ("md", "csv")}


PERIODS = {
    "<1970-01-01": {"year 1", "before int64", "before unsigned"},
    "2199..": {"filter's last", "int64", "after int64", "2300", "year 10000", "far"},
    "2025": {"now"},
    "0001..9999": set(TIMES),
}


@pytest.mark.programs
def test_a_time_filter_accepts_times_outside_the_calendar(excerpt: Excerpt, vault_of_odd_times: Path) -> None:
    for period, found in PERIODS.items():
        answer = excerpt(
            "search", f"modified:{period} kind:note", "--vault", vault_of_odd_times, "--json", "--limit", "50"
        )
        assert {hit["path"].removesuffix(".md") for hit in answer.json["hits"]} - {"before 1970", "1970"} == (
            found - {"before 1970", "1970"}
        )


@pytest.mark.programs
def test_a_filter_by_an_impossible_date_is_reported_in_a_sentence(excerpt: Excerpt, vault_of_odd_times: Path) -> None:
    for value in ("99999-01-01", ">9999-12-31", "<0001-01-01", "0000", "99999d", "1..99999"):
        answer = excerpt("search", f"zeppelin modified:{value}", "--vault", vault_of_odd_times)
        assert answer.code in (0, 1), value
        assert "went wrong" not in answer.err, value


COMMANDS = (
    *(("search", "zeppelin", "--json"), ("pack", "zeppelin"), ("map",), ("map", "--json"), ("status", "--json")),
    *(("overview", "zeppelin"), ("overview", "zeppelin", "--json"), ("related", "far.md"), ("read", "far.md")),
    *(("peek", "year 1.md"), ("peek", "far.md", "--json"), ("doctor",)),
)


@pytest.mark.programs
def test_every_command_accepts_unusual_file_times(excerpt: Excerpt, vault_of_odd_times: Path, home: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "excerpt.toml").write_text("[search.boosts]\nrecency = true\n")
    answers = {command: excerpt(*command, "--vault", vault_of_odd_times) for command in COMMANDS}
    assert {command: answer.err for command, answer in answers.items() if answer.code} == {}


@pytest.mark.programs
def test_an_index_of_unusual_file_times_is_up_to_date_after_a_build(excerpt: Excerpt, vault_of_odd_times: Path) -> None:
    excerpt("index", "--vault", vault_of_odd_times)
    again = excerpt("index", "--vault", vault_of_odd_times, "--json").json
    assert (again["added"], again["changed"], again["removed"]) == (0, 0, 0)


DATES = ("99999-01-01", "0001-01-01", "9999-12-31T23:59:59-12:00", "2300-02-30", "-5", "1e999", "[2020]", "~")


def test_a_memory_with_unusual_times_is_recalled(
    excerpt: Excerpt, vault_of_odd_times: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(folder / "home"))
    excerpt("remember", "Zeppelins are slow.", "--vault", vault_of_odd_times)
    (remembered,) = (folder / "home").rglob("*zeppelins*.md")
    for name, seconds in TIMES.items():
        (remembered.parent / f"{name}.md").write_text(f"A zeppelin of {name}.\n")
        set_time(remembered.parent / f"{name}.md", seconds)
    for number, value in enumerate(DATES):
        text = f"---\ncreated: {value}\nupdated: {value}\n---\nA zeppelin of date {number}.\n"
        (remembered.parent / f"date {number}.md").write_text(text)
    for words in (("zeppelin",), (), ("zeppelin created:2020..",), ("modified:<1970",), ("--since", "2000")):
        answer = excerpt("recall", *words, "--vault", vault_of_odd_times)
        assert answer.code in (0, 1), (words, answer.err)
        assert "went wrong" not in answer.err, words
    everything = excerpt("recall", "--limit", "100", "--vault", vault_of_odd_times, "--json").json["memories"]
    # `2300-02-30` is no date in YAML: that file is reported as unreadable.
    assert len(everything) == 1 + len(TIMES) + len(DATES) - 1


def test_ocr_is_not_turned_on_for_a_vault_that_is_refused(
    excerpt: Excerpt, vault: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(vault))
    assert excerpt("index", "--vault", vault, "--ocr").code == 3
    assert not list(home.rglob("*.toml"))
