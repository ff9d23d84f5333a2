"""Tests of embedders and rerankers of other packages, which an entry point announces."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from excerpt.base.entry_points import _read_files, find_entry_points
from excerpt.base.errors import ModelError
from excerpt.base.settings import EmbeddingSettings, RerankSettings, Settings
from excerpt.encoders.choice import open_embedder, open_reranker
from excerpt.encoders.interface import PassageEmbedder
from excerpt.encoders.model_names import is_static_model

CODE = """
import numpy as np

class Letters:
    id, dimensions, languages = "1", 3, ("de",)
    def embed_passages(self, texts):
        return np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float64)
    def embed_query(self, text):
        return self.embed_passages([text])[0]

class Broken(Letters):
    def embed_passages(self, texts):
        if texts == ["raise"]:
            raise ZeroDivisionError("by\\nzero")
        return {"nan": [[float("nan")] * 3], "two": np.ones((2, 3)), "wide": np.ones((1, 4)), "odd": "?"}[texts[0]]

class Longest:
    id = "1"
    def score(self, query, passages, seconds):
        return [len(passage) for passage in passages if query]

def fails():
    raise RuntimeError("no licence")
"""
ENTRY_POINTS = """
[excerpt.embedders]
letters = other_models:Letters
broken = other_models:Broken
absent = not_there:Embedder
fails = other_models:fails
[excerpt.rerankers]
longest = other_models:Longest
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other_models-1.0.dist-info").mkdir()
    (tmp_path / "other_models.py").write_text(CODE)
    (tmp_path / "other_models-1.0.dist-info" / "METADATA").write_text("Name: other-models\nVersion: 1.0\n")
    (tmp_path / "other_models-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "other_models", raising=False)
    find_entry_points.cache_clear()
    _read_files.cache_clear()


def plugin(name: str) -> PassageEmbedder:
    return open_embedder(Settings(embedding=EmbeddingSettings(model=f"plugin:{name}")))


def test_an_embedder_is_opened_by_its_name() -> None:
    embedder = plugin("letters")
    assert (embedder.id, embedder.dimensions, embedder.languages) == ("letters:1", 3, ("de",))
    assert embedder.embed_query("aab") == pytest.approx(np.array([2, 1, 0]) / np.sqrt(5))
    assert embedder.embed_passages(["a", "cc"]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert embedder.embed_passages([]).shape == (0, 3)
    assert not is_static_model("plugin:letters")


def test_a_reranker_is_opened_by_its_name() -> None:
    reranker = open_reranker(Settings(rerank=RerankSettings(model="plugin:longest")))
    assert reranker is not None
    assert reranker.score("query", ["a", "bbb"], 1) == [1.0, 3.0]
    with pytest.raises(ModelError, match="0 scores for 2 passages"):
        reranker.score("", ["a", "bbb"], 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nan", "not a number"),
        ("two", "2 vectors for 1 texts"),
        ("wide", "4 dimensions instead of 3"),
        ("odd", "other than vectors"),
        ("raise", "ZeroDivisionError"),
    ],
)
def test_an_error_of_a_plugin_is_reported_in_one_sentence_with_its_name(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        plugin("broken").embed_passages([text])
    assert caught.value.message.startswith("The embedder broken")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "absent, not_there:Embedder, cannot be loaded"),
        ("fails", "RuntimeError: no licence"),
        ("unknown", "unknown is not installed. Installed are: absent, broken, fails, letters"),
    ],
)
def test_the_error_names_a_plugin_embedder_that_cannot_be_loaded(name: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        plugin(name)
