"""Write the trained table as the model folder that ships: 256 dimensions, int8, readable by model2vec."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from distil import mean_embeddings
from tokens import TokenLists, write_student_tokenizer

DIMENSIONS = 256
CLIP = 0.9999
"""Share of values in the range of int8: including the few larger ones would cost all others precision."""

CONFIG = {
    "model_type": "model2vec",
    "architectures": ["StaticModel"],
    "hidden_dim": DIMENSIONS,
    "seq_length": 1_000_000,
    "max_length": None,  # without it, model2vec truncates texts to 512 pieces
    "normalize": True,
    "embedding_dtype": "int8",
}


def reduce_dimensions(table: NDArray[np.float32], texts: TokenLists, size: int = DIMENSIONS) -> NDArray[np.float32]:
    """Return the table projected on the principal directions of text embeddings, largest variance first.

    Not centred: cosine is measured from the origin, so the mean direction must be kept.
    """
    embeddings = mean_embeddings(table, texts)
    _, axes = np.linalg.eigh(embeddings.T @ embeddings)
    return np.asarray(table @ axes[:, ::-1][:, :size], dtype=np.float32)


def to_int8(table: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return the table scaled so that the CLIP quantile of magnitudes becomes 127.

    One scale for all values, so that cosines are preserved.
    """
    scale = 127 / float(np.quantile(np.abs(table), CLIP))
    return np.asarray(np.clip(np.rint(table * scale), -127, 127), dtype=np.int8)


def write_model(table: NDArray[np.int8], teacher_tokenizer: Path, out: Path) -> None:
    """Write the three files that model2vec reads, readable by all users."""
    out.mkdir(parents=True, exist_ok=True)
    save_file({"embeddings": np.ascontiguousarray(table)}, out / "model.safetensors")
    (out / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n", encoding="utf-8")
    write_student_tokenizer(teacher_tokenizer, out / "tokenizer.json")
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        (out / name).chmod(0o644)
