from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from excerpt.base.settings import Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine

NOTES = {
    "Sync/Conflicts.md": """---
aliases: [merge trouble, Streit]
tags: [sync/help]
---
# Conflicts

## What a sync conflict is

A sync conflict arises when one note was changed on two devices before either had a connection.

## Settling one

Choose which version of the note to keep, or keep both: the other one is saved as a copy beside it.
""",
    "Sync/Devices.md": """# Devices

Every device has its own sync settings. A conflict of settings is rare.

Phones sync when the app is open. A tablet does the same.
""",
    "Sync/Encryption.md": """# Encryption

Notes are protected by end-to-end encryption. Nobody but you can read them, neither on the way nor on the server.
""",
    "Cooking/Bread.md": """# Bread

Mix flour, water, salt and yeast. Let the dough rest overnight, then bake it hot with steam.

## Sourdough

A starter of flour and water ferments by itself within a week.
""",
    "Cooking/Soup.md": """# Soup

Roast the vegetables, add broth, and simmer until soft. Season with salt.
""",
    "Garden/Tomatoes.md": """# Tomatoes

Water tomatoes in the morning. Pinch out side shoots, and tie the plants to a pole.
""",
    "Garden/Vergleich.md": """# Vergleich

Die Gärten der Nachbarn sind größer, und die Häuser sind nicht so alt wie die Bäume, unter denen sie stehen.
""",
    "日本語.md": """# 保管庫

新しいリモート保管庫を作成して、ノートを同期します。ファイルはすべて暗号化されます。
""",
    "Code.md": """# Code

Version 1.0.21 of the tool is written in C++ and shows state-of-the-art R&D. Call `open_file` to begin.
""",
    "Long.md": "# Long\n\n"
    + "\n\n".join(f"## Part {n}\n\nThe lighthouse keeper wrote entry {n} in the log." for n in range(1, 9)),
    "Other.md": "# Other\n\nA lighthouse stands on the cliff.\n",
}


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    """Index a small vault with the shipped model and return its snapshot."""
    root = tmp_path_factory.mktemp("search")
    for path, text in NOTES.items():
        file = root / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    build(root / "vault", root / "index", Settings())
    opened = Snapshot.open(root / "index", Settings())
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def engine(snapshot: Snapshot) -> Engine:
    return Engine(snapshot, Settings())


@pytest.fixture(scope="session")
def vault(snapshot: Snapshot) -> Path:
    return Path(snapshot.status().vault)
