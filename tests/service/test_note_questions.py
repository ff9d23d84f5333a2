"""Tests of questions about a note that is shown: where a link leads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from excerpt.base.kinds import LinkKind
from excerpt.base.settings import Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.service.note_questions import AskLink


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Sync.md").write_text("# Sync\n\nNotes are merged.\n", encoding="utf-8")
    build(tmp_path / "vault", tmp_path / "index", Settings())
    with closing(Snapshot.open(tmp_path / "index", Settings())) as snapshot:
        yield Engine(snapshot, Settings())


def test_a_link_whose_label_names_a_note_leads_to_that_note(engine: Engine) -> None:
    found = AskLink("a.md", LinkKind.WIKILINK, "merging", "Sync").answer(engine)
    assert found.location is not None
    assert found.location.path == "Sync.md"


def test_the_message_about_a_link_without_a_target_note_names_its_target(engine: Engine) -> None:
    found = AskLink("a.md", LinkKind.WIKILINK, "Missing", "label").answer(engine)
    assert found.location is None
    assert "Missing" in found.message
