"""Tests of a check against a real index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from excerpt.check.answer import parse_answer
from excerpt.check.checker import check_answer
from excerpt.check.lookup import SnapshotLookup
from excerpt.check.verdicts import CheckedQuotation, Verdict
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.pack.formats.pack_format import PackFile, PackSource
from excerpt.settings import Settings
from tests.pack.vaults import sentence

NOTES = {
    "long.md": f"# Long\n\n{sentence('alpha', 200)}\n\n{sentence('beta', 200)}\n\nThe end comes late.\n",
    "sync.md": "# Sync\n\nA sync conflict arises when two devices change one note before they meet.\n",
    "b/c\x1b.md": "Signals of a strange kind are here.\n",
    **{f"filler/{number}.md": f"The filler number {number} fills and fills.\n" for number in range(20)},
}


@pytest.fixture(scope="module")
def lookup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnapshotLookup]:
    root = tmp_path_factory.mktemp("check")
    for path, text in NOTES.items():
        file = root / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (root / "secret.md").write_text("A secret that is no note.", encoding="utf-8")
    build(root / "vault", root / "index", Settings())
    snapshot = Snapshot.open(root / "index", Settings())
    yield SnapshotLookup(snapshot)
    snapshot.close()


def quotation(text: str, lookup: SnapshotLookup) -> CheckedQuotation:
    pack = PackFile((PackSource(1, "gone.md", "Gone", 1, 1, "Nothing of it."),))
    (found,) = check_answer(parse_answer(f"It says “{text}”."), pack, lookup).quotations
    return found


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a sync conflict arises when two devices", "sync.md", 3),
        ("A sync conflict arises […] before they meet", "sync.md", 3),
        ("alpha198 alpha199. beta0 beta1", "long.md", 3),
        ("alpha193 alpha194 … alpha198 alpha199. beta0 beta1 beta2", "long.md", 3),
        ("Signals of a strange", "b/c\x1b.md", 1),
    ],
)
def test_a_quotation_is_found_wherever_it_stands(lookup: SnapshotLookup, text: str, path: str, line: int) -> None:
    found = quotation(text, lookup)
    assert found.verdict is Verdict.TRUE
    assert found.place is not None
    assert (found.place.path, found.place.line_start) == (path, line)


def test_what_was_altered_is_found_by_its_telling_words(lookup: SnapshotLookup) -> None:
    found = quotation("A sync conflict arises when four gadgets change one note", lookup)
    assert found.verdict is Verdict.ALTERED
    assert found.place is not None
    assert found.place.passage.startswith("A sync conflict arises when two devices")


@pytest.mark.parametrize("text", ["quantum unicorns of the moon", "…", "\x00 a b c", "%_% _ %", "「」『』 x y"])
def test_what_is_nowhere_is_not_found(lookup: SnapshotLookup, text: str) -> None:
    pack = PackFile((PackSource(1, "gone.md", "Gone", 1, 1, "Nothing of it."),))
    found = check_answer(parse_answer(f"It says “{text}” [1]."), pack, lookup).quotations
    assert all(each.verdict is not Verdict.TRUE for each in found)


@pytest.mark.parametrize("path", ["../secret.md", "secret.md", "/etc/passwd", "sync.md/", "SYNC.md", "\ud800", ""])
def test_only_the_paths_of_notes_are_paths(lookup: SnapshotLookup, path: str) -> None:
    assert lookup.find_path(path) is None


def test_a_path_is_known_as_it_is_shown(lookup: SnapshotLookup) -> None:
    assert lookup.find_path("b/c␛.md") == lookup.find_path("b/c\x1b.md") == "b/c\x1b.md"


def test_notes_with_a_line_are_named(lookup: SnapshotLookup) -> None:
    assert list(lookup.find_notes_with_line("The end comes late.")) == ["long.md"]


def test_words_that_all_notes_have_tell_nothing(lookup: SnapshotLookup) -> None:
    words = lookup.select_important_words("The filler fills the devices with wiki-links, and unicorns.")
    assert [word.surface for word in words] == ["devices", "wiki", "links", "unicorns"]
