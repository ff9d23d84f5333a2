"""Tests of the export of a BERT model: its graph computes what the weights say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import minilm
from excerpt.encoders.model_folder import read_model_folder
from excerpt.encoders.onnx_folder import OnnxEmbedder, OnnxModel
from tests.benchmarks.small_bert import CONFIG, HEADS, LAYERS, WIDTH, Floats, random_weights, write_wheel

TEXTS = ("sync conflict", "the keeper of the west lighthouse in a storm : a b c")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnnxModel:
    monkeypatch.setattr(minilm, "WORK", tmp_path)
    write_wheel(tmp_path)
    return OnnxModel(read_model_folder(minilm.export(tmp_path / "model")), 1)


def test_the_exported_graph_computes_bert(model: OnnxModel) -> None:
    encoding = model.tokenizer.encode(TEXTS[1])
    computed, _ = model.run([encoding], "last_hidden_state")
    np.testing.assert_allclose(computed[0], _compute_bert(encoding.ids), atol=1e-4)


def test_padding_changes_no_vector(model: OnnxModel) -> None:
    encodings = [model.tokenizer.encode(text) for text in TEXTS]
    together, _ = model.run(encodings, "last_hidden_state")
    alone, _ = model.run(encodings[:1], "last_hidden_state")
    np.testing.assert_allclose(together[0, : alone.shape[1]], alone[0], atol=1e-4)


def test_an_embedder_can_be_opened_from_the_exported_folder(model: OnnxModel) -> None:
    vectors = OnnxEmbedder(model).embed_passages(TEXTS)
    assert vectors.shape == (2, WIDTH)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_an_existing_model_is_not_exported_again(model: OnnxModel) -> None:
    (minilm.WORK / "tiny.whl").unlink()
    assert minilm.export(model.files.folder) == model.files.folder


# --- BERT without a graph ---------------------------------------------------------------------------------------------


def _compute_bert(ids: list[int]) -> Floats:
    """Return the vectors of the tokens, as in the paper (Devlin et al., 2019)."""
    weights = random_weights()
    hidden = weights["embeddings.word_embeddings.weight"][ids]
    hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
    hidden = hidden + weights["embeddings.position_embeddings.weight"][: len(ids)]
    hidden = _normalise(hidden, "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        query, key, value = (_linear(hidden, f"{layer}.attention.self.{part}") for part in ("query", "key", "value"))
        size = WIDTH // HEADS
        heads = []
        for head in (slice(start, start + size) for start in range(0, WIDTH, size)):
            powers = np.exp(query[:, head] @ key[:, head].T / math.sqrt(size))
            heads.append(powers / powers.sum(axis=1, keepdims=True) @ value[:, head])
        attended = _linear(np.concatenate(heads, axis=1), f"{layer}.attention.output.dense")
        hidden = _normalise(hidden + attended, f"{layer}.attention.output.LayerNorm")
        inner = _linear(hidden, f"{layer}.intermediate.dense")
        inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        hidden = _normalise(hidden + _linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return np.asarray(hidden, np.float32)


def _linear(value: Floats, name: str) -> Floats:
    weights = random_weights()
    return np.asarray(value @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])


def _normalise(value: Floats, name: str) -> Floats:
    weights = random_weights()
    centred = value - value.mean(axis=1, keepdims=True)
    deviation = np.sqrt(value.var(axis=1, keepdims=True) + CONFIG["layer_norm_eps"])
    return np.asarray(centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"])
