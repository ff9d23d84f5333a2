"""Tests of the newest notes: by their own date, else by the file's time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.insight.notes import list_newest_notes
from excerpt.settings import Settings

TODAY = date(2026, 3, 10)
OWN = "---\ncreated: {}\n---\n# Note\n\nText.\n"


def newest(folder: Path, notes: Mapping[str, tuple[str, str]], limit: int = 9) -> list[tuple[str, str]]:
    """Return the paths and days of the newest of `notes`, which have a text and the day of their file's change."""
    for path, (text, changed) in notes.items():
        (folder / "vault").mkdir(exist_ok=True)
        (folder / "vault" / path).write_text(text, encoding="utf-8")
        seconds = datetime.fromisoformat(f"{changed}T12:00:00").replace(tzinfo=UTC).timestamp()
        os.utime(folder / "vault" / path, (seconds, seconds))
    build(folder / "vault", folder / "index", Settings())
    snapshot = Snapshot.open(folder / "index", Settings())
    try:
        return [(note.path, note.day.isoformat()) for note in list_newest_notes(snapshot, limit, TODAY)]
    finally:
        snapshot.close()


def test_a_notes_own_date_counts_before_the_time_of_its_file(tmp_path: Path) -> None:
    notes = {
        "old.md": (OWN.format("2020-05-06"), "2026-03-09"),
        "2026-03-07.md": ("# A day\n", "2025-01-01"),
        "plain.md": ("# Plain\n", "2026-03-08"),
    }
    assert newest(tmp_path, notes) == [
        ("plain.md", "2026-03-08"),
        ("2026-03-07.md", "2026-03-07"),
        ("old.md", "2020-05-06"),
    ]
    assert newest(tmp_path, notes, limit=1) == [("plain.md", "2026-03-08")]


def test_a_note_dated_in_the_future_has_the_day_of_its_file(tmp_path: Path) -> None:
    notes = {"plan.md": (OWN.format("2027-01-01"), "2026-01-02"), "plain.md": ("# Plain\n", "2026-03-08")}
    assert newest(tmp_path, notes) == [("plain.md", "2026-03-08"), ("plan.md", "2026-01-02")]


def test_in_a_copied_vault_only_dated_notes_are_listed(tmp_path: Path) -> None:
    notes = {"dated.md": (OWN.format("2025-05-06"), "2026-03-08"), "plain.md": ("# Plain\n", "2026-03-08")}
    assert newest(tmp_path, notes) == [("dated.md", "2025-05-06")]


def test_an_empty_vault_has_none(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    assert newest(tmp_path, {}) == []
