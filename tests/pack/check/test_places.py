"""Tests of places that an answer cites in its text, as numbered sources of a check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import excerpt
from excerpt.base.errors import NotFoundError
from excerpt.pack.check.places import number_places
from excerpt.pack.formats.pack_format import PackSource

NOTES = {
    "Sync.md": "# Sync\n\nConflicts are kept in two files.\n\nThe newer one wins.\n",
    "Big plans/Next year.md": "# Next year\n\nMove to the coast.\n",
}


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[excerpt.Vault]:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    for path, text in NOTES.items():
        (tmp_path / "notes" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / path).write_text(text, encoding="utf-8")
    with excerpt.open(tmp_path / "notes") as opened:
        yield opened


@pytest.mark.parametrize(
    "place",
    [
        "(Sync.md:3)",
        "[Sync.md:3]",
        "`Sync.md:3`",
        "[`Sync.md:3`]",
        "Sync.md:3",
        "(Sync.md:3–5)",
        "(Sync.md:1; Sync.md:3)",
        "[Sync.md:1, Sync.md:3]",
        "(see Sync.md:3)",
    ],
)
def test_a_location_beside_a_quotation_is_its_source(vault: excerpt.Vault, place: str) -> None:
    check, missing = vault.check_places(f'It says "kept in two files" {place}.')
    assert not missing
    assert [each.verdict for each in check.quotations] == [excerpt.Verdict.TRUE]
    assert check.quotations[0].quotation.cited
    assert check.holds


def test_a_path_with_spaces_is_found_in_prose(vault: excerpt.Vault) -> None:
    check, missing = vault.check_places('As in Big plans/Next year.md:3, "move to the coast".')
    assert not missing
    assert [source.path for source in check.pack.sources] == ["Big plans/Next year.md"]


def test_a_quotation_of_another_note_is_misattributed(vault: excerpt.Vault) -> None:
    check, _ = vault.check_places('It says "kept in two files" (Big plans/Next year.md:3).')
    assert [each.verdict for each in check.quotations] == [excerpt.Verdict.MISATTRIBUTED]


def test_a_citation_number_refers_to_the_given_sources_and_not_to_a_location_in_the_text(vault: excerpt.Vault) -> None:
    answer = 'First "move to the coast" [1]. Then "kept in two files" Sync.md:3. Last [2].'
    check, _ = vault.check_places(answer, ["Big plans/Next year.md:3"])
    assert [(each.number, each.path) for each in check.pack.sources] == [(1, "Big plans/Next year.md"), (3, "Sync.md")]
    assert [each.number for each in check.citations if not each.holds] == [2]


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("See Gone.md:4.", "Gone.md:4", "No note is called Gone.md."),
        ("See [Sync.md:70].", "Sync.md:70", "Sync.md has no line 70: it has 5 lines."),
    ],
)
def test_a_location_that_the_vault_lacks_is_missing(vault: excerpt.Vault, text: str, place: str, reason: str) -> None:
    _, missing = vault.check_places(f"A line.\n{text}")
    assert missing == (excerpt.MissingPlace(2, place, reason),)


@pytest.mark.parametrize("text", ["At 12:30 we met.", "Open http://example.org:8080.", "std::vector:3", "ratio 3:1"])
def test_text_with_a_colon_that_names_no_file_is_not_a_location(vault: excerpt.Vault, text: str) -> None:
    check, missing = vault.check_places(text)
    assert not missing
    assert not check.pack.sources


def test_a_path_may_begin_with_the_name_of_the_vault(vault: excerpt.Vault) -> None:
    check, missing = vault.check_places('It says "kept in two files" (notes/Sync.md:3).', prefix="notes/")
    assert not missing
    assert check.holds


# --- work -------------------------------------------------------------------------------------------------------------


def count_read_and_missing_places(answer: str, text: str = "Text.") -> tuple[int, int]:
    """Return how many places of an answer are read, and how many are missing; notes with an A have `text`."""
    read: list[str] = []

    def read_source(place: str) -> PackSource:
        read.append(place)
        if place[0] != "A":
            raise NotFoundError(f"No note is called {place}.")
        return PackSource(0, place, "", 1, 1, text)

    _, _, missing = number_places(answer, (), {"A.md"}, read_source)
    return len(read), len(missing)


def test_a_location_is_read_once_however_often_it_is_cited() -> None:
    assert count_read_and_missing_places("(A.md:1) " * 500) == (1, 0)
    assert count_read_and_missing_places("(B.md:1) " * 500) == (1, 500)


def test_at_most_a_hundred_missing_locations_are_searched() -> None:
    assert count_read_and_missing_places(" ".join(f"(B.md:{line})" for line in range(1, 501))) == (100, 500)


def test_locations_are_read_up_to_a_total_length() -> None:
    answer = " ".join(f"(A.md:{line})" for line in range(1, 101))
    assert count_read_and_missing_places(answer, "word " * 100_000) == (4, 96)
