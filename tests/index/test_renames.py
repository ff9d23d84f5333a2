"""Tests of renamed and moved notes: their old paths still resolve, however and whenever they moved."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from excerpt.base.settings import Settings
from excerpt.index import renames
from excerpt.index.build import Updater, build
from excerpt.index.catalog import Catalog
from excerpt.index.snapshot import Snapshot

ROSES = "# Roses\n\n" + "".join(f"Prune rose {word} above an outward bud in {word}.\n\n" for word in "abcdefghij")
TEA = "# Tea\n\n" + "".join(f"Brew leaf {word} in a warm kettle for {word} minutes.\n\n" for word in "klmnopqrst")


class Vault:
    """A vault that is indexed by one new process after another."""

    def __init__(self, root: Path, index: Path, settings: Settings) -> None:
        self.root, self.index, self.settings = root, index, settings

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def move(self, path: str, to: str) -> None:
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).rename(self.root / to)

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def build(self, *, rebuild: bool = False) -> None:
        build(self.root, self.index, self.settings, rebuild=rebuild, accept_empty=True)

    def current_path(self, path: str) -> str | None:
        with closing(Snapshot.open(self.index, self.settings)) as snapshot:
            return snapshot.current_path(path)


@pytest.fixture
def vault_with_notes(vault: Path, index: Path, settings: Settings) -> Vault:
    """Return an indexed vault of two notes."""
    notes = Vault(vault, index, settings)
    notes.write("garden/Roses.md", ROSES)
    notes.write("Tea.md", TEA)
    notes.build()
    return notes


def test_a_renamed_note_is_found_by_its_old_path(vault_with_notes: Vault) -> None:
    vault_with_notes.move("Tea.md", "Infusions.md")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") == "Infusions.md"
    assert vault_with_notes.current_path("Infusions.md") is None
    assert vault_with_notes.current_path("garden/Roses.md") is None
    assert vault_with_notes.current_path("Never there.md") is None


def test_notes_of_a_renamed_folder_are_found_by_their_old_paths(vault_with_notes: Vault) -> None:
    vault_with_notes.write("garden/deep/Soil.md", "# Soil\n\n" + TEA)
    vault_with_notes.build()
    vault_with_notes.move("garden", "yard")
    vault_with_notes.build()
    assert vault_with_notes.current_path("garden/Roses.md") == "yard/Roses.md"
    assert vault_with_notes.current_path("garden/deep/Soil.md") == "yard/deep/Soil.md"


def test_a_move_is_found_if_the_old_path_disappeared_in_an_earlier_build(
    vault_with_notes: Vault, tmp_path: Path
) -> None:
    (vault_with_notes.root / "Tea.md").rename(tmp_path / "away.md")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") is None
    vault_with_notes.write("Other.md", "# Other\n\nWater and compost.\n")
    vault_with_notes.build()
    (tmp_path / "away.md").rename(vault_with_notes.root / "Infusions.md")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") == "Infusions.md"


def test_a_move_is_found_if_the_new_path_appeared_in_an_earlier_build(vault_with_notes: Vault) -> None:
    shutil.copy(vault_with_notes.root / "Tea.md", vault_with_notes.root / "Infusions.md")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") is None
    vault_with_notes.remove("Tea.md")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") == "Infusions.md"


def test_a_move_is_found_if_only_changed_paths_are_checked(vault_with_notes: Vault) -> None:
    with closing(Updater(vault_with_notes.root, vault_with_notes.index, vault_with_notes.settings)) as updater:
        updater.update()
        vault_with_notes.move("garden", "yard")
        updater.update(["garden"])
        updater.update(["yard"])
    assert vault_with_notes.current_path("garden/Roses.md") == "yard/Roses.md"


def test_a_note_edited_during_its_move_is_found(vault_with_notes: Vault) -> None:
    vault_with_notes.remove("Tea.md")
    vault_with_notes.write(
        "Infusions.md", TEA.replace("# Tea", "# Infusions").replace("leaf m", "herb m") + "Sugar to taste.\n"
    )
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") == "Infusions.md"


def test_an_edited_note_is_found_even_if_it_appears_in_a_later_build(vault_with_notes: Vault) -> None:
    vault_with_notes.remove("Tea.md")
    vault_with_notes.build()
    vault_with_notes.write("Infusions.md", TEA + "Sugar to taste.\n")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") == "Infusions.md"


def test_a_deleted_note_and_a_new_note_of_another_text_are_not_a_move(vault_with_notes: Vault) -> None:
    vault_with_notes.remove("Tea.md")
    vault_with_notes.write("Soil.md", "# Soil\n\nCompost, water and seed: each bed gets its share in winter.\n")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") is None


def test_two_equal_copies_are_ambiguous_and_not_a_move(vault_with_notes: Vault) -> None:
    vault_with_notes.remove("Tea.md")
    vault_with_notes.write("Infusions.md", TEA)
    vault_with_notes.write("Drinks.md", TEA)
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") is None


def test_two_equally_similar_notes_are_ambiguous_and_not_a_move(vault_with_notes: Vault) -> None:
    vault_with_notes.remove("Tea.md")
    vault_with_notes.write("Infusions.md", TEA + "Sugar to taste.\n")
    vault_with_notes.write("Drinks.md", TEA + "Milk to taste.\n")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") is None


def test_copies_are_distinguished_by_their_names_and_folders(vault_with_notes: Vault) -> None:
    for path in ("a/One.md", "a/Two.md", "b/One.md"):
        vault_with_notes.write(path, TEA)
    vault_with_notes.remove("Tea.md")
    vault_with_notes.build()
    vault_with_notes.move("a", "new/a")
    vault_with_notes.move("b", "new/b")
    vault_with_notes.build()
    for path in ("a/One.md", "a/Two.md", "b/One.md"):
        assert vault_with_notes.current_path(path) == f"new/{path}"


def test_a_nearly_empty_note_is_matched_by_its_name_only(vault_with_notes: Vault) -> None:
    vault_with_notes.write("a/Empty.md", "")
    vault_with_notes.write("a/Plan.md", "To do\n")
    vault_with_notes.build()
    vault_with_notes.move("a/Empty.md", "b/Empty.md")
    vault_with_notes.move("a/Plan.md", "b/Later.md")
    vault_with_notes.build()
    assert vault_with_notes.current_path("a/Empty.md") == "b/Empty.md"
    assert vault_with_notes.current_path("a/Plan.md") is None


def test_after_several_moves_the_old_path_leads_to_the_present_one(vault_with_notes: Vault) -> None:
    for path, to in (("Tea.md", "b.md"), ("b.md", "c/d.md"), ("c/d.md", "e.md")):
        vault_with_notes.move(path, to)
        vault_with_notes.build()
    assert [vault_with_notes.current_path(path) for path in ("Tea.md", "b.md", "c/d.md")] == ["e.md"] * 3


def test_a_path_used_again_belongs_to_the_new_note_not_to_the_moved_one(vault_with_notes: Vault) -> None:
    vault_with_notes.move("Tea.md", "Infusions.md")
    vault_with_notes.build()
    vault_with_notes.write("Tea.md", "# Tea\n\nAnother text, of sugar and kettles.\n")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") is None


def test_a_note_moved_back_has_its_path_again(vault_with_notes: Vault) -> None:
    for path, to in (("Tea.md", "b.md"), ("b.md", "Tea.md"), ("Tea.md", "b.md")):
        vault_with_notes.move(path, to)
        vault_with_notes.build()
        assert vault_with_notes.current_path(path) == to
        assert vault_with_notes.current_path(to) is None


def test_two_notes_that_swap_paths_are_changed_notes(vault_with_notes: Vault) -> None:
    vault_with_notes.move("Tea.md", "x")
    vault_with_notes.move("garden/Roses.md", "Tea.md")
    vault_with_notes.move("x", "garden/Roses.md")
    vault_with_notes.build()
    assert (vault_with_notes.current_path("Tea.md"), vault_with_notes.current_path("garden/Roses.md")) == (None, None)


def test_a_moved_and_then_deleted_note_has_no_path(vault_with_notes: Vault) -> None:
    vault_with_notes.move("Tea.md", "Infusions.md")
    vault_with_notes.build()
    vault_with_notes.remove("Infusions.md")
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") is None
    vault_with_notes.write("Drinks.md", TEA)
    vault_with_notes.build()
    assert vault_with_notes.current_path("Tea.md") == "Drinks.md"


def test_moves_are_remembered_after_a_rebuild(vault_with_notes: Vault) -> None:
    vault_with_notes.move("Tea.md", "Infusions.md")
    vault_with_notes.build()
    vault_with_notes.build(rebuild=True)
    assert vault_with_notes.current_path("Tea.md") == "Infusions.md"


def test_a_move_before_a_rebuild_is_found(vault_with_notes: Vault) -> None:
    vault_with_notes.move("Tea.md", "Infusions.md")
    vault_with_notes.build(rebuild=True)
    assert vault_with_notes.current_path("Tea.md") == "Infusions.md"


def test_the_table_of_moves_is_bounded(vault_with_notes: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renames, "MAX_RECORDS", 3)
    for number in range(6):
        vault_with_notes.write(f"gone {number}.md", TEA.replace(" ", f" {number}"))
        vault_with_notes.write(f"moved {number}.md", ROSES.replace(" ", f" {number}"))
        vault_with_notes.build()
        vault_with_notes.remove(f"gone {number}.md")
        vault_with_notes.move(f"moved {number}.md", f"now {number}.md")
        vault_with_notes.build()
    with closing(Catalog.open_to_read(vault_with_notes.index)) as catalog:
        counts = [catalog.rows(f"SELECT count(*) FROM {table}")[0][0] for table in ("gone", "moves", "arrived")]
    assert counts == [3, 3, 0]
    assert vault_with_notes.current_path("moved 5.md") == "now 5.md"
    assert vault_with_notes.current_path("moved 0.md") is None


def test_similar_texts_have_similar_sketches() -> None:
    same = renames.sketch_text(TEA)
    assert len(renames.sketch_text("")) == 0
    assert len(renames.sketch_text("one")) == 1
    assert set(renames.sketch_text(TEA + "Sugar.")) != set(same)
    assert len(set(same.tolist()) & set(renames.sketch_text(TEA + "Sugar.").tolist())) > 50
    assert not set(same.tolist()) & set(renames.sketch_text(ROSES).tolist())


def test_a_snapshot_opened_before_a_move_differs_from_one_opened_after_it(
    vault: Path, index: Path, settings: Settings
) -> None:
    build(vault, index, settings)
    with closing(Snapshot.open(index, settings)) as before:
        with closing(Catalog.open_to_write(index)) as catalog, catalog.transaction():
            catalog.rows("INSERT INTO moves VALUES ('Old.md', 'New.md')")
        with closing(Snapshot.open(index, settings)) as after, closing(Snapshot.open(index, settings)) as again:
            assert after.generation == before.generation
            assert after.edition != before.edition
            assert again.edition == after.edition
