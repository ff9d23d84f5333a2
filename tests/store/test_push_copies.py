"""Tests of several copies and installations that push to one store: none loses the other's changes."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

import excerpt
from excerpt.base.model import PushReport
from excerpt.base.settings import user_paths
from excerpt.index.catalog_rows import decompress_text
from excerpt_postgres.address import parse_address
from excerpt_postgres.compare import NO_RULES, PushRefusedError, PushRules
from excerpt_postgres.push import push
from excerpt_postgres.read_rights import RightsChanges, parse_right
from tests.cli.test_watch import Child
from tests.store.conftest import index_of, records_of
from tests.store.test_push import NOTES, statistics

pytestmark = pytest.mark.store

MERGE, MIRROR = PushRules(merge=True), PushRules(mirror=True)
LIBRARIES = ("pypdfium2", "pptx", "docx", "python_calamine", "selectolax")
"""Libraries of the extra `attachments`."""


@dataclass(frozen=True)
class Copy:
    """A copy of a vault, with its owner's program folders."""

    folder: Path
    home: Path
    address: str

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def push(self, rules: PushRules = NO_RULES, rights: RightsChanges | None = None) -> PushReport:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("EXCERPT_HOME", str(self.home))
            with excerpt.open(self.folder) as vault:
                vault.load()
                return push(index_of(vault), parse_address(self.address), records_of(vault), rules=rules, rights=rights)

    def refused(self, rules: PushRules = NO_RULES) -> str:
        """Push, expect a refusal that leaves the store unchanged, and return its message."""
        before = stored_texts(self.address), revision(self.address)
        with pytest.raises(PushRefusedError) as error:
            self.push(rules)
        assert (stored_texts(self.address), revision(self.address)) == before
        return str(error.value)

    def lose_records(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("EXCERPT_HOME", str(self.home))
            shutil.rmtree(user_paths().push_folder(self.folder))


def stored_texts(address: str) -> dict[str, str]:
    """Return the texts of the notes of a vault in a store."""
    to = parse_address(address)
    with psycopg.connect(to.conninfo) as connection:
        found = connection.execute(
            "SELECT path, text FROM excerpt.notes JOIN excerpt.vaults ON vaults.id = vault WHERE name = %s", (to.vault,)
        ).fetchall()
    return {path: decompress_text(text) for path, text in found}


def revision(address: str) -> int:
    to = parse_address(address)
    with psycopg.connect(to.conninfo) as connection:
        return int(
            connection.execute("SELECT revision FROM excerpt.vaults WHERE name = %s", (to.vault,)).fetchall()[0][0]
        )


@pytest.fixture
def copy_of(tmp_path: Path, database: str) -> Callable[[str], Copy]:
    """Return a function that makes a copy of the same notes with other file times, for another user."""

    def make(name: str, notes: dict[str, str] = NOTES) -> Copy:
        copy = Copy(tmp_path / name, tmp_path / f"{name}-home", f"{database}?vault=notes")
        copy.folder.mkdir()
        for number, (path, text) in enumerate(notes.items()):
            copy.write(path, text)
            os.utime(copy.folder / path, (1_700_000_000 + number, 1_700_000_000 + len(name) + number))
        return copy

    return make


@pytest.fixture
def copies(copy_of: Callable[[str], Copy]) -> tuple[Copy, Copy]:
    """Return two copies of the same notes, both pushed."""
    first, second = copy_of("first"), copy_of("second-copy")
    first.push()
    second.push()
    return first, second


# --- two copies -------------------------------------------------------------------------------------------------------


def test_a_push_of_the_same_notes_from_another_copy_changes_nothing(copy_of: Callable[[str], Copy]) -> None:
    first, second = copy_of("first"), copy_of("second-copy")
    first.push()
    before = revision(first.address)
    report = second.push()
    assert (report.added, report.changed, report.removed, report.unchanged) == (0, 0, 0, len(NOTES))
    assert revision(first.address) == before


def test_a_note_that_differs_only_in_line_ends_is_not_pushed(copies: tuple[Copy, Copy]) -> None:
    _, second = copies
    before = revision(second.address)
    for path, text in NOTES.items():
        (second.folder / path).write_bytes(text.replace("\n", "\r\n").encode())
    assert second.push().unchanged == len(NOTES)
    assert revision(second.address) == before
    (second.folder / "Honey.md").write_bytes(b"# Honey\r\n\r\nSweet.\r\n")
    assert second.push().changed == 1


def test_a_note_keeps_the_time_of_the_copy_that_brought_its_content(copies: tuple[Copy, Copy]) -> None:
    first, second = copies
    os.utime(second.folder / "Honey.md")
    second.push()
    with psycopg.connect(first.address.partition("?")[0]) as connection:
        times: dict[str, int] = dict(connection.execute("SELECT path, mtime_ns FROM excerpt.notes").fetchall())
    assert times == {path: (first.folder / path).stat().st_mtime_ns for path in NOTES}


def test_notes_added_by_another_copy_are_kept(copies: tuple[Copy, Copy]) -> None:
    first, second = copies
    second.write("Mead.md", "# Mead\n\nHoney and water, fermented.\n")
    assert second.push().added == 1
    message = first.refused()
    assert "Mead.md" in message
    assert "--merge" in message
    first.write("Wax.md", "# Wax\n\nBuilt by bees.\n")
    report = first.push(MERGE)
    assert (report.added, report.removed, report.kept) == (1, 0, 1)
    assert {"Mead.md", "Wax.md"} <= stored_texts(first.address).keys()
    assert first.push().kept == 1  # the conflict is recorded now


def test_notes_changed_by_another_copy_are_kept(copies: tuple[Copy, Copy]) -> None:
    first, second = copies
    second.write("Honey.md", "# Honey\n\nThickened nectar.\n")
    assert second.push().changed == 1
    first.write("Bees.md", "# Bees\n\nThey fly.\n")
    assert "1 note was changed in the store: Honey.md." in first.refused()
    assert first.push(MERGE).changed == 1
    texts = stored_texts(first.address)
    assert "nectar" in texts["Honey.md"]
    assert "fly" in texts["Bees.md"]


def test_notes_removed_by_another_copy_stay_removed(copies: tuple[Copy, Copy]) -> None:
    first, second = copies
    (second.folder / "Honey.md").unlink()
    assert second.push().removed == 1
    assert "1 note was removed from the store: Honey.md." in first.refused()
    first.push(MERGE)
    assert "Honey.md" not in stored_texts(first.address)
    assert first.push().added == 0


def test_a_note_changed_by_both_is_named_and_kept_until_the_user_decides(copies: tuple[Copy, Copy]) -> None:
    first, second = copies
    for copy, text in ((second, "Thickened nectar."), (first, "Sweet.")):
        copy.write("Honey.md", f"# Honey\n\n{text}\n")
    second.push()
    assert "1 note was changed in this copy and in the store: Honey.md." in first.refused()
    first.write("Wax.md", "# Wax\n\nBuilt by bees.\n")
    for _ in range(2):
        report = first.push(MERGE)
        assert report.conflicts == ("Honey.md",)
        assert "nectar" in stored_texts(first.address)["Honey.md"]
    assert "Wax.md" in stored_texts(first.address)
    assert first.push(PushRules(overwrite=frozenset({"Honey.md"}))).changed == 1
    assert "Sweet" in stored_texts(first.address)["Honey.md"]


def test_a_note_deleted_here_and_changed_there_is_kept(copies: tuple[Copy, Copy]) -> None:
    first, second = copies
    second.write("Honey.md", "# Honey\n\nThickened nectar.\n")
    second.push()
    (first.folder / "Honey.md").unlink()
    assert first.push(MERGE).conflicts == ("Honey.md",)
    assert "nectar" in stored_texts(first.address)["Honey.md"]


def test_a_mirror_makes_the_store_equal_to_the_copy(copies: tuple[Copy, Copy]) -> None:
    first, second = copies
    second.write("Mead.md", "# Mead\n\nHoney and water, fermented.\n")
    second.push()
    assert first.push(MIRROR).removed == 1
    assert stored_texts(first.address).keys() == NOTES.keys()
    assert statistics(first.address.partition("?")[0]) == content_of_clean_push(first)


def content_of_clean_push(copy: Copy) -> object:
    """Return the statistics of a store after a first push of a copy."""
    database = copy.address.partition("?")[0]
    Copy(copy.folder, copy.home, f"{database}?vault=clean").push()
    return statistics(database, "clean")


def test_a_merge_counts_the_stored_notes(copies: tuple[Copy, Copy]) -> None:
    first, second = copies
    second.write("Mead.md", "# Mead\n\nHoney and water, fermented.\n")
    second.push()
    first.write("Wax.md", "# Wax\n\nBuilt by bees.\n")
    report = first.push(MERGE)
    second.write("Wax.md", "# Wax\n\nBuilt by bees.\n")
    second.push()
    assert statistics(first.address.partition("?")[0]) == content_of_clean_push(second)
    assert report.fragments == second.push().fragments


MANY = {f"{number:02}.md": f"# Hive {number}\n\nHoney of colony {number}.\n" for number in range(60)}


def test_a_push_from_an_empty_folder_removes_nothing(copy_of: Callable[..., Copy]) -> None:
    copy_of("first", MANY).push()
    empty = copy_of("empty", {})
    assert "60 notes are only in the store: 00.md, 01.md" in empty.refused()
    assert "60 of 60 notes would be removed" in empty.refused(MIRROR)
    report = empty.push(MERGE)
    assert (report.removed, report.kept) == (0, 60)


def test_a_push_from_a_wrong_folder_replaces_nothing(copy_of: Callable[..., Copy]) -> None:
    copy_of("first", MANY).push()
    wrong = copy_of("wrong", {"00.md": "# Invoices\n", "Taxes.md": "# Taxes\n"})
    assert "59 notes are only in the store" in wrong.refused()
    assert "59 of 60 notes would be removed" in wrong.refused(MIRROR)
    assert wrong.push(MERGE).conflicts == ("00.md",)
    assert stored_texts(wrong.address).items() >= MANY.items()


def test_removing_most_notes_requires_an_option(copy_of: Callable[..., Copy]) -> None:
    copy = copy_of("first", MANY)
    copy.push()
    for number in range(20):
        (copy.folder / f"{number:02}.md").unlink()
    message = copy.refused()
    assert "20 of 60 notes would be removed: 00.md, 01.md, 02.md, 03.md, 04.md and 15 more." in message
    assert "--accept-removals" in message
    assert copy.push(PushRules(removals=True)).removed == 20


def test_a_copy_without_its_record_removes_nothing(copies: tuple[Copy, Copy]) -> None:
    first, _ = copies
    first.lose_records()
    (first.folder / "Honey.md").unlink()
    assert "Honey.md" in first.refused()
    assert first.push(MERGE).removed == 0
    assert stored_texts(first.address).keys() == NOTES.keys()


def test_an_interrupted_push_is_not_a_change_of_others(
    copy_of: Callable[[str], Copy], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copy_of("first")
    copy.push()
    with monkeypatch.context() as patch:
        patch.setattr("excerpt_postgres.push._Push._write_metadata", _interrupted)
        copy.write("Honey.md", "# Honey\n\nThickened nectar.\n")
        with pytest.raises(KeyboardInterrupt):
            copy.push()
    copy.write("Honey.md", "# Honey\n\nSweet.\n")
    assert copy.push().changed == 1
    assert "Sweet" in stored_texts(copy.address)["Honey.md"]


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_new_database_accepts_a_copy_pushed_elsewhere(copy_of: Callable[[str], Copy], database: str) -> None:
    copy = copy_of("first")
    copy.push()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA excerpt, excerpt_vault CASCADE")
    assert copy.push().added == len(NOTES)


def test_rights_to_a_folder_apply_to_notes_that_the_copy_lacks(copies: tuple[Copy, Copy], database: str) -> None:
    first, second = copies
    second.write("kitchen/Mead.md", "# Mead\n\nHoney and water, fermented with tea.\n\n[[Tea]] #drink\n")
    second.push()
    role = f"cooks_{database.rpartition('_')[2]}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role}")
        try:
            allowed = RightsChanges(allowed=(parse_right(f"{role}=kitchen"),))
            report = first.push(MERGE, allowed)
            assert [(one.folder, one.notes) for one in report.rights] == [("", 3), ("kitchen/", 2)]
            areas = "SELECT path, folder FROM excerpt.notes JOIN excerpt.areas ON areas.id = area"
            found: dict[str, str] = dict(connection.execute(areas).fetchall())
            assert found["kitchen/Mead.md"] == "kitchen/"
            for table in ("fragments", "sections", "links", "labels", "names"):
                rows = connection.execute(
                    f"SELECT path, {table}.area = notes.area FROM excerpt.{table} JOIN excerpt.notes"
                    " ON notes.id = note WHERE path = 'kitchen/Mead.md'"
                ).fetchall()
                assert rows, table
                assert all(is_same for _, is_same in rows), table
            clean_copy = Copy(second.folder, second.home, f"{database}?vault=clean")
            clean_copy.push(rights=allowed)
            assert statistics(database) == statistics(database, "clean")
            fields = (
                "SELECT folder, term, fields FROM excerpt.terms JOIN excerpt.areas ON areas.id = area"
                " JOIN excerpt.vaults ON vaults.id = areas.vault WHERE name = %s ORDER BY 1, 2"
            )
            assert (
                connection.execute(fields, ("notes",)).fetchall() == connection.execute(fields, ("clean",)).fetchall()
            )
            with excerpt.open(first.address) as vault:
                assert vault.search("fermented").hits[0].fragment.path == "kitchen/Mead.md"
        finally:
            connection.execute(f"DROP OWNED BY {role} CASCADE")
            connection.execute(f"DROP ROLE {role}")


# --- any sequence -----------------------------------------------------------------------------------------------------


def test_no_sequence_of_pushes_loses_notes_that_the_pusher_did_not_delete(tmp_path: Path, database: str) -> None:
    """Run the checks of tests/store/test_compare.py with real indexes and a real store."""
    numbers = iter(range(1_000))

    class Team(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            run = next(numbers)
            self.copies = [
                Copy(tmp_path / f"{run}-{name}", tmp_path / f"home-{name}", f"{database}?vault=v{run}")
                for name in ("first", "second")
            ]
            for copy in self.copies:
                copy.write("Same.md", "# Same\n\nThe same in both.\n")
            self.held: list[set[tuple[str, str]]] = [set(), set()]
            self.copies[0].push()
            self.held[0] |= stored_texts(self.copies[0].address).items()

        @rule(number=st.integers(0, 1), path=st.sampled_from(["Same.md", "Other.md"]), text=st.integers(0, 999))
        def edit(self, number: int, path: str, text: int) -> None:
            self.copies[number].write(path, f"# Note\n\nEdited {text} by {number}.\n")

        @rule(number=st.integers(0, 1), path=st.sampled_from(["Same.md", "Other.md"]))
        def delete(self, number: int, path: str) -> None:
            (self.copies[number].folder / path).unlink(missing_ok=True)
            self.copies[number].write("Kept.md", "# Kept\n")  # an empty folder is a separate case

        @rule(number=st.integers(0, 1), merge=st.booleans())
        def push(self, number: int, merge: bool) -> None:
            copy = self.copies[number]
            before = stored_texts(copy.address)
            try:
                copy.push(PushRules(merge=merge))
            except PushRefusedError:
                assert not merge
            after = stored_texts(copy.address)
            assert before.items() - after.items() <= self.held[number]
            own = {(path.name, path.read_text(encoding="utf-8")) for path in copy.folder.iterdir()}
            self.held[number] |= own & after.items()

    run_state_machine_as_test(
        Team, settings=settings(derandomize=True, max_examples=6, stateful_step_count=10, deadline=None)
    )


# --- watch ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def watchers(copies: tuple[Copy, Copy], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Child]]:
    """Return a function that starts `watch --to` for a copy."""
    begun: list[Child] = []

    def start(copy: Copy, *more: str) -> Child:
        monkeypatch.setenv("EXCERPT_HOME", str(copy.home))
        child = Child(copy.folder, "--to", copy.address, *more)
        begun.append(child)
        if "watching" not in child.names_until("pushed"):
            child.until("watching")
        return child

    yield start
    for child in begun:
        assert child.end() == 0


def test_two_watching_and_merging_copies_lose_nothing_of_each_other(
    copies: tuple[Copy, Copy], watchers: Callable[..., Child]
) -> None:
    first, second = copies
    children = [watchers(copy, "--merge") for copy in copies]
    first.write("Wax.md", "# Wax\n\nBuilt by bees.\n")
    assert children[0].until("pushed")["added"] == 1
    second.write("Mead.md", "# Mead\n\nHoney and water, fermented.\n")
    assert children[1].until("pushed")["added"] == 1
    (first.folder / "Honey.md").unlink()
    assert children[0].until("pushed")["removed"] == 1
    second.write("Mead.md", "# Mead\n\nHoney, water and yeast.\n")
    assert children[1].until("pushed")["changed"] == 1
    assert stored_texts(first.address).keys() == {*NOTES, "Wax.md", "Mead.md"} - {"Honey.md"}


def test_a_watch_with_a_refused_push_reports_it_and_continues_after_a_merge(
    copies: tuple[Copy, Copy], watchers: Callable[..., Child]
) -> None:
    first, second = copies
    child = watchers(first)
    second.write("Mead.md", "# Mead\n\nHoney and water, fermented.\n")
    second.push()
    first.write("Wax.md", "# Wax\n\nBuilt by bees.\n")
    told = child.until("error")
    assert told["title"] == "Nothing was pushed"
    assert "Mead.md" in told["message"]
    assert "--merge" in told["hint"]
    assert "Wax.md" not in stored_texts(first.address)
    first.push(MERGE)
    first.write("Wax.md", "# Wax\n\nBuilt by young bees.\n")
    assert child.until("pushed", lambda event: event["changed"] == 1)
    assert {"Mead.md", "Wax.md"} <= stored_texts(first.address).keys()


# --- two installations ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def second_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the program a second time, with other file times, and return its folder."""
    place = tmp_path_factory.mktemp("second")
    package = Path(excerpt.__file__).parent
    shutil.copytree(
        package, place / "excerpt", copy_function=shutil.copyfile, ignore=shutil.ignore_patterns("__pycache__")
    )
    return place


@pytest.fixture(scope="session")
def without_extras(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for PYTHONPATH that hides the libraries of the extra `attachments` from Python."""
    place = tmp_path_factory.mktemp("hidden")
    (place / "sitecustomize.py").write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({LIBRARIES!r}))\n", encoding="utf-8"
    )
    return place


def output_of(copy: Copy, *arguments: str, paths: tuple[Path, ...] = (), code: int = 0) -> str:
    """Return what a command prints in another process, from the first installation in `paths`."""
    done = subprocess.run(
        [sys.executable, "-m", "excerpt", *arguments],
        env={**os.environ, "EXCERPT_HOME": str(copy.home), "PYTHONPATH": os.pathsep.join(map(str, paths))},
        cwd=copy.home.parent,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_a_second_installation_finds_what_the_first_pushed_and_pushes_the_same(
    copy_of: Callable[[str], Copy], second_package: Path
) -> None:
    first, second = copy_of("first"), copy_of("second-copy")
    paths = (second_package,)
    assert output_of(first, "push", str(first.folder), "--to", first.address)
    before = revision(first.address)
    assert "Bees.md" in output_of(second, "search", "how does a colony winter", "--vault", second.address, paths=paths)
    said = output_of(second, "push", str(second.folder), "--to", second.address, paths=paths)
    assert "0 added, 0 changed, 0 removed" in said
    assert revision(first.address) == before
    assert "0 added, 0 changed, 0 removed" in output_of(first, "push", str(first.folder), "--to", first.address)


def test_a_push_by_a_copy_with_another_embedding_model_is_refused(
    copy_of: Callable[[str], Copy], database: str
) -> None:
    copy = copy_of("first")
    copy.push()
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE excerpt.vaults SET model_source = '0123456789abcdef/1'")
    assert "made with another embedding model" in output_of(copy, "search", "honey", "--vault", copy.address, code=3)


def test_an_embedder_is_refused_by_push_and_search(copy_of: Callable[[str], Copy]) -> None:
    copy = copy_of("first")
    copy.push()
    settings = copy.home / "config/excerpt.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[embedding]\nmodel = "openai:http://127.0.0.1:9/v1#letters"\n')
    push, search = ("push", str(copy.folder), "--to", copy.address), ("search", "honey", "--vault", copy.address)
    for command in (push, search):
        said = output_of(copy, *command, code=3)
        assert "keeps the vectors of model2vec models only, not those of letters at http://127.0.0.1:9/v1" in said


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_an_insecure_version_is_neither_read_nor_written(
    copy_of: Callable[[str], Copy], database: str, version: int
) -> None:
    copy = copy_of("first")
    copy.push()
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE excerpt.store SET version = %s", (version,))
    for command in (
        ("search", "how does a colony winter", "--vault", copy.address),
        ("push", str(copy.folder), "--to", copy.address),
    ):
        said = output_of(copy, *command, code=3)
        assert "made by an older excerpt" in said
        assert "DROP SCHEMA excerpt, excerpt_vault CASCADE" in said
    with psycopg.connect(database) as connection:
        connection.execute("DROP SCHEMA excerpt, excerpt_vault CASCADE")
    assert copy.push().added == len(NOTES)


def test_a_push_keeps_attachments_that_this_installation_cannot_read(
    copy_of: Callable[[str], Copy], without_extras: Path
) -> None:
    first, second = copy_of("first"), copy_of("second-copy")
    page = "<html><head><title>Hives</title></head><body><p>A hive is a house of bees.</p></body></html>"
    for copy in (first, second):
        copy.write("Hives.html", page)
    output_of(first, "push", str(first.folder), "--to", first.address)
    paths = (without_extras,)
    (second.folder / "Honey.md").unlink()
    second.write("Bees.md", "# Bees\n\nThey fly.\n")
    for options in (("--mirror",), (), ("--merge",)):
        said = output_of(second, "push", str(second.folder), "--to", second.address, *options, paths=paths)
        assert "1 changed by others and kept" in said
        assert "house of bees" in stored_texts(first.address)["Hives.html"]
    (first.folder / "Hives.html").unlink()
    output_of(first, "push", str(first.folder), "--to", first.address, "--merge")
    assert "Hives.html" not in stored_texts(first.address)


def test_a_push_without_ocr_keeps_text_that_other_copies_have_recognised(
    copy_of: Callable[[str], Copy], database: str
) -> None:
    first, second = copy_of("first"), copy_of("second-copy")
    (first.home / "config").mkdir(parents=True)
    (first.home / "config" / "excerpt.toml").write_text('[vault.attachments]\nocr = "auto"\n', encoding="utf-8")
    for copy in (first, second):
        (copy.folder / "hive.png").write_bytes(white_image())
        copy.write("list.csv", "bee,honey\n1,2\n")
    first.push()
    with psycopg.connect(database) as connection:  # as if OCR had found something in list.csv too
        connection.execute("UPDATE excerpt.notes SET state = replace(state, ' |', '/ocr |') WHERE path = 'list.csv'")
    report = second.push()
    assert (report.added, report.changed, report.removed, report.kept) == (0, 0, 0, 1)
    assert "hive.png" in stored_texts(first.address)


def white_image() -> bytes:
    """Return a white PNG of 200 by 100 pixels."""
    rows = zlib.compress(b"".join(b"\0" + b"\xff" * 200 for _ in range(100)))
    parts = ((b"IHDR", struct.pack(">IIBBBBB", 200, 100, 8, 0, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b""))
    chunks = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


# --- commands ---------------------------------------------------------------------------------------------------------


def test_a_refused_push_names_the_command_to_type(copies: tuple[Copy, Copy]) -> None:
    first, second = copies
    second.write("Mead.md", "# Mead\n\nHoney and water, fermented.\n")
    second.push()
    second.write("Honey.md", "# Honey\n\nThickened nectar.\n")
    second.push()
    first.write("Honey.md", "# Honey\n\nSweet.\n")
    command = ("push", str(first.folder), "--to", first.address)
    said = output_of(first, *command, code=3)
    assert "The push was refused: nothing was written." in said
    assert "--overwrite NOTE" in said
    said = output_of(first, *command, "--merge", code=3)
    assert "1 note was changed in this copy and in the store, and not pushed: Honey.md." in said
    assert "5 notes" in output_of(first, *command, "--overwrite", "Honey.md")
    assert "Use only one" in output_of(first, *command, "--merge", "--mirror", code=2)
