"""Fixtures: a small vault and its memories, with real files and indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from excerpt.base.settings import Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.memory.recall import Recaller
from excerpt.memory.store import FolderMemoryStore

NOTES = {
    "Guides/Sync.md": (
        "# Sync\n\nNotes are synchronised between devices.\n\n## Conflicts\n\n"
        "A conflict arises when two devices change one note.\nThe newer version wins.\n"
        "The older one is kept beside it.\n\n"
        "## Devices\n\nEach device keeps its own history of changes.\n"
    ),
    "Soup.md": "# Lentil soup\n\nSimmer red lentils with cumin until they are soft.\n",
}


class Vault:
    """A vault whose notes can be written, moved and indexed."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder, self.cache = folder, cache
        self.snapshots: list[Snapshot] = []

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def snapshot(self) -> Snapshot:
        """Index the current vault and return a snapshot."""
        build(self.folder, self.cache, Settings())
        self.snapshots.append(Snapshot.open(self.cache, Settings()))
        return self.snapshots[-1]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path / "vault", tmp_path / "vault-index")
    for path, text in NOTES.items():
        made.write(path, text)
    yield made
    for snapshot in made.snapshots:
        snapshot.close()


@pytest.fixture
def recaller_in(tmp_path: Path) -> Iterator[Callable[[], Recaller]]:
    """Return a function that makes recallers of one memory folder, as several processes would."""
    made: list[Recaller] = []

    def another() -> Recaller:
        made.append(Recaller(FolderMemoryStore(tmp_path / "memories"), tmp_path / "memory-index", Settings()))
        return made[-1]

    yield another
    for recaller in made:
        recaller.close()


@pytest.fixture
def recaller(recaller_in: Callable[[], Recaller]) -> Recaller:
    return recaller_in()
