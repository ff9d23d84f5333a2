"""Fixtures of the CLI tests: a separate home, a small vault, and the command line as a function."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from excerpt.cli.main import run

NOTES = {
    "Sync.md": (
        "---\naliases: [Synchronising]\ntags: [howto]\n---\n"
        "Notes are synchronised between devices.\n\n"
        "## Conflicts\n\nA sync conflict arises when two devices change one note before they meet.\n\n"
        "## Devices\n\nEach device keeps its own history of changes.\n"
    ),
    "Cooking/Lentil soup.md": "# Lentil soup\n\nSimmer red lentils with cumin until they are soft.\n",
    "Colour.md": "The colour of a banana tells how ripe it is.\n",
}


@dataclass(frozen=True)
class Answer:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Excerpt = Callable[..., Answer]
Piped = Callable[[bytes], None]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set EXCERPT_HOME to a new folder, with the umask that `main` sets."""
    folder = tmp_path / "home"
    monkeypatch.setenv("EXCERPT_HOME", str(folder))
    monkeypatch.delenv("EXCERPT_VAULT", raising=False)
    before = os.umask(0o077)
    yield folder
    os.umask(before)


@pytest.fixture
def excerpt(home: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Excerpt]:
    """Return a function that runs the command line in this process."""

    def call(*argv: str | Path) -> Answer:
        code = run([str(word) for word in argv])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    yield call
    gc.enable()  # a command that opens the app disables it until the first frame


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Piped:
    """Return a function that puts bytes on stdin."""

    def put(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))

    return put


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    for path, text in NOTES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder
