"""Small real vaults and two small real models, as a change of model is tested too."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings
from excerpt.vault import scan

WriteNote = Callable[[str, str], Path]

MEMORY = Path("/dev/shm")

WORDS = (
    "garden",
    "soil",
    "water",
    "rose",
    "prune",
    "winter",
    "seed",
    "compost",
    "tea",
    "kettle",
    "leaf",
    "brew",
    "sugar",
)


def make_model(folder: Path, dimensions: int, seed: int) -> Path:
    """Write a model2vec folder with a vocabulary of a few words."""
    folder.mkdir()
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(["[UNK]", *WORDS])}, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(seed).normal(size=(len(WORDS) + 1, dimensions)).astype(np.float32)
    save_file({"embeddings": table}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"normalize": True, "max_length": None}))
    return folder


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return two models of different dimensions."""
    folder = tmp_path_factory.mktemp("models")
    return make_model(folder / "one", 16, 1), make_model(folder / "two", 24, 2)


@pytest.fixture
def settings(models: tuple[Path, Path]) -> Settings:
    """Return settings that make a build of a small vault take milliseconds."""
    return Settings(embedding=EmbeddingSettings(str(models[0])), pack=PackSettings(tokenizer="chars/4"))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Path:
    # A cache folder may have any name; these characters are special in URIs, globs or SQL.
    return tmp_path / "cache of [it's] 100%?#é" / "index"


@pytest.fixture
def write(vault: Path) -> WriteNote:
    """Return a function that writes a note into the vault."""

    def write_note(path: str, text: str) -> Path:
        file = vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return write_note


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder in /dev/shm where possible: it survives a killed process as on a disk, and syncs cost nothing."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def without_ctime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a system without a change time (ctime) for files."""
    monkeypatch.setattr(scan, "_HAS_CHANGE_TIME", False)


def flip_byte(file: Path) -> None:
    """Damage a file in its middle."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


@contextmanager
def full_disk(room: int = 16) -> Iterator[None]:
    """Limit the size of every file this process writes to `room` bytes (POSIX; the errno differs from a full disk)."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
