"""Tiny models in the layout of sentence-transformers and optimum, written where a test needs one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper, save_model
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = ("sync", "conflict", "storm", "west", "lighthouse", "keeper", "query", "passage", "text", ":", "a", "b", "c")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
VOCABULARY = {word: number for number, word in enumerate((*SPECIAL, *WORDS))}
DIMENSIONS = 6


def token_vectors(dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
    """Return the random vectors of all tokens of the models below, shape (tokens, dimensions)."""
    return np.random.default_rng(7).normal(size=(len(VOCABULARY), dimensions)).astype(np.float32)


def write_embedder(
    folder: Path,
    *,
    network: str = "onnx/model.onnx",
    output: str = "last_hidden_state",
    pooling: Mapping[str, object] | None = None,
    vectors: NDArray[np.float32] | None = None,
    files: Mapping[str, object] | None = None,
) -> Path:
    """Write an embedder whose token vectors do not depend on their neighbours; `files`: further JSON files by name."""
    table = token_vectors() if vectors is None else vectors
    nodes = [helper.make_node("Gather", ["table", "input_ids"], [output])]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["b", "t", table.shape[1]])]
    _write_network(folder / network, nodes, ("input_ids", "attention_mask"), outputs, {"table": table})
    if pooling is not None:
        files = {**(files or {}), "1_Pooling/config.json": pooling}
    _write_rest(folder, files or {})
    return folder


def write_cross_encoder(folder: Path, *, classes: int = 1, files: Mapping[str, object] | None = None) -> Path:
    """Write a cross-encoder that scores a pair by the product of the mean vectors of its two texts."""
    types = "token_type_ids"
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["vectors"]),
        helper.make_node("Cast", [types], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["mask", "second"], ["first"]),
    ]
    for part in ("first", "second"):
        nodes += [
            helper.make_node("Unsqueeze", [part, "last"], [f"{part}_column"]),
            helper.make_node("Mul", ["vectors", f"{part}_column"], [f"{part}_vectors"]),
            helper.make_node("ReduceSum", [f"{part}_vectors", "tokens"], [f"{part}_sum"], keepdims=0),
        ]
    nodes += [
        helper.make_node("Mul", ["first_sum", "second_sum"], ["products"]),
        helper.make_node("MatMul", ["products", "classifier"], ["logits"]),
    ]
    classifier = np.ones((DIMENSIONS, 1), np.float32)
    if classes == 2:
        classifier = np.concatenate([-classifier / 2, classifier / 2], axis=1)
    tensors: dict[str, NDArray[Any]] = {
        "table": token_vectors(),
        "last": np.array([2], np.int64),
        "tokens": np.array([1], np.int64),
        "classifier": classifier,
    }
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", classes])]
    _write_network(folder / "onnx/model.onnx", nodes, ("input_ids", "attention_mask", types), outputs, tensors)
    _write_rest(folder, files or {})
    return folder


def _write_network(
    file: Path,
    nodes: Sequence[NodeProto],
    inputs: Sequence[str],
    outputs: Sequence[ValueInfoProto],
    tensors: Mapping[str, NDArray[Any]],
) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"]) for name in inputs]
    constants = [numpy_helper.from_array(tensor, name) for name, tensor in tensors.items()]
    graph = helper.make_graph(nodes, "tiny", values, outputs, constants)
    file.parent.mkdir(parents=True, exist_ok=True)
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(file))


def _write_rest(folder: Path, files: Mapping[str, object]) -> None:
    tokenizer = Tokenizer(WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", VOCABULARY["[CLS]"]), ("[SEP]", VOCABULARY["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, value in {"config.json": {"model_type": "bert"}, **files}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
