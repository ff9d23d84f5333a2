"""Vectors of an embedder, saved in parts: embedding a vault takes minutes, and an interrupted run continues."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from excerpt.encoders.interface import Floats, PassageEmbedder

PART_TEXTS = 512
"""Texts of one file."""


def embed_passages(embedder: PassageEmbedder, texts: Sequence[str], folder: Path) -> Floats:
    """Return the vectors of passages, shape (texts, dimensions), from files in `folder` where they were saved."""
    parts = list(iterate_parts(embedder, texts, folder))
    return np.concatenate(parts) if parts else np.zeros((0, embedder.dimensions), np.float32)


def iterate_parts(embedder: PassageEmbedder, texts: Sequence[str], folder: Path) -> Iterator[Floats]:
    """Yield the vectors of PART_TEXTS passages at a time, and save those that were not saved."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(texts), PART_TEXTS):
        part = texts[start : start + PART_TEXTS]
        file = folder / f"{_digest(embedder.id, part)}.npy"
        if not file.is_file():
            unfinished = folder / "unfinished.npy"
            np.save(unfinished, embedder.embed_passages(part))
            unfinished.replace(file)
        yield np.load(file)


def _digest(model: str, texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join((model, *texts)).encode("utf-8", "replace")).hexdigest()[:32]
