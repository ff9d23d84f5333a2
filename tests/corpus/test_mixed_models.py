"""Tests of vaults joined to one corpus though different embedding models made their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from excerpt.base.kinds import Strategy
from excerpt.base.settings import Settings
from excerpt.corpus.interface import Floats
from excerpt.corpus.mixed_models import MixedEmbedder, MixedVectors
from excerpt.corpus.union import UnionCorpus
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from tests.index.conftest import make_model

NOTES: Mapping[str, Mapping[str, str]] = {
    "garden": {
        "Seeds.md": "# Seeds\n\nIn winter the seed waits. Compost feeds it.\n",
        "Prune.md": "# Prune\n\nPrune in winter.\n",
        "Compost.md": "# Compost\n\nCompost of leaf and tea.\n",
    },
    "kitchen": {
        "Tea.md": "# Tea\n\nBrew the tea in a kettle, one leaf is enough.\n",
        "Sugar.md": "# Sugar\n\nSugar for the tea.\n",
    },
    "shed": {"Kettle.md": "# Kettle\n\nThe old kettle is for compost tea.\n"},
}
QUERIES = ("winter seed", "brew tea", "kettle", "what feeds a seed in winter?", "sugar | prune", "zzz")


@pytest.fixture(scope="module")
def vaults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Snapshot]]:
    """Index the three vaults: the first and the last with one model, the second with another."""
    root = tmp_path_factory.mktemp("mixed")
    one, two = make_model(root / "one", 16, 1), make_model(root / "two", 24, 2)
    opened: dict[str, Snapshot] = {}
    for name, notes in NOTES.items():
        (root / name / "vault").mkdir(parents=True)
        for path, text in notes.items():
            (root / name / "vault" / path).write_text(text, encoding="utf-8")
        model = two if name == "kitchen" else one
        settings = replace(Settings(), embedding=replace(Settings().embedding, model=str(model)))
        build(root / name / "vault", root / name / "index", settings)
        opened[name] = Snapshot.open(root / name / "index", settings)
    yield opened
    for snapshot in opened.values():
        snapshot.close()


@pytest.fixture(scope="module")
def union(vaults: Mapping[str, Snapshot]) -> UnionCorpus:
    return UnionCorpus(vaults.items())


def own_cosines(vaults: Mapping[str, Snapshot], name: str, text: str) -> Floats:
    return vaults[name].vectors.similarities(vaults[name].embedder.embed_query(text))


@pytest.mark.parametrize("text", ["winter seed", "brew tea", "kettle", "compost"])
def test_best_and_mean_similarity_are_mapped_to_the_scale_of_the_first_model(
    union: UnionCorpus, vaults: Mapping[str, Snapshot], text: str
) -> None:
    cosines = union.vectors.similarities(union.embedder.embed_query(text))
    first = np.concatenate([own_cosines(vaults, name, text) for name in ("garden", "shed")])
    garden, kitchen, shed = cosines[:3], cosines[3:5], cosines[5:]
    assert np.array_equal(np.concatenate([garden, shed]), first)
    assert kitchen.max() == pytest.approx(first.max(), abs=1e-5)
    assert kitchen.mean() == pytest.approx(first.mean(), abs=1e-5)
    assert np.array_equal(np.argsort(kitchen), np.argsort(own_cosines(vaults, "kitchen", text)))


def test_only_products_with_query_vectors_are_mapped_to_another_scale(union: UnionCorpus) -> None:
    shifted = union.vectors.rows(np.array([0]))[0] - union.vectors.mean
    expected = union.vectors.rows(np.arange(6)) @ shifted
    assert np.allclose(union.vectors.similarities(shifted), expected, atol=1e-3)


def test_a_query_without_a_known_word_is_similar_to_nothing(union: UnionCorpus) -> None:
    assert not union.vectors.similarities(union.embedder.embed_query("zzz")).any()


def test_texts_are_compared_with_each_other_by_the_first_model(
    union: UnionCorpus, vaults: Mapping[str, Snapshot]
) -> None:
    texts = ["winter seed", "brew tea"]
    assert np.allclose(np.linalg.norm(union.embedder.embed(texts), axis=1), 1)
    expected = vaults["garden"].embedder.embed(texts)
    assert np.array_equal(union.embedder.embed(texts)[:, :16], expected)
    words = ["winter", "tea", "zzz"]
    assert np.array_equal(union.embedder.word_weights(words), vaults["garden"].embedder.word_weights(words))


def test_vectors_use_the_dimensions_of_their_model(union: UnionCorpus) -> None:
    vectors = union.vectors.rows(np.array([5, 3, 0]))
    assert vectors.shape == (3, 40)
    assert [(bool(each[:16].any()), bool(each[16:].any())) for each in vectors] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert np.allclose(union.vectors.mean, union.vectors.rows(np.arange(6)).mean(axis=0), atol=1e-3)


def test_similarities_of_selected_rows_equal_the_ones_computed_for_all_rows(union: UnionCorpus) -> None:
    query = union.embedder.embed_query("compost tea")
    every = union.vectors.similarities(query)
    rows = np.array([5, 0, 4])
    assert np.array_equal(union.vectors.similarities_at(query, rows), every[rows])
    rough, error = union.vectors.approximate_similarities(query)
    assert (error, rough.tolist()) == (0.0, every.tolist())
    assert union.vectors.mean_similarity(query) == pytest.approx(float(every.mean()), abs=1e-6)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("query", QUERIES)
def test_a_query_finds_notes_of_vaults_with_different_models(
    union: UnionCorpus, query: str, strategy: Strategy
) -> None:
    result = Engine(union, Settings()).search(query, strategy)
    assert {hit.path.partition("/")[0] for hit in result.hits} <= NOTES.keys()
    if query == "brew tea" and strategy is Strategy.AUTO:
        assert result.hits[0].path == "kitchen/Tea.md"


@pytest.mark.parametrize(
    ("languages", "joined"),
    [((("en",), ("*",)), ("en",)), ((("*",), ("*",)), ("*",)), ((("en", "de"), ("de", "fr")), ("de",))],
)
def test_a_language_counts_only_if_every_model_knows_it(
    languages: tuple[tuple[str, ...], ...], joined: tuple[str, ...]
) -> None:
    assert MixedEmbedder([_Model(each) for each in languages], [16, 24]).languages == joined


class _Model:
    """An embedding model of which only the languages are asked."""

    def __init__(self, languages: tuple[str, ...]) -> None:
        self.languages = languages

    def has_word(self, word: str) -> bool:
        raise NotImplementedError

    def embed_query(self, text: str) -> Floats:
        raise NotImplementedError(text)

    def embed(self, texts: object) -> Floats:
        raise NotImplementedError(texts)

    word_weights = embed


class _Matrix:
    """Vectors of one model, of which all cosines are computed."""

    def __init__(self, vectors: Floats) -> None:
        self._vectors = vectors
        self.mean = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1], np.float32)

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        result: Floats = self._vectors[numbers]
        return result

    def similarities(self, query: Floats) -> Floats:
        result: Floats = self._vectors @ query
        return result

    def similarities_at(self, query: object, numbers: object) -> Floats:
        raise NotImplementedError

    def approximate_similarities(self, query: object) -> tuple[Floats, float]:
        raise NotImplementedError

    def mean_similarity(self, query: object) -> float:
        raise NotImplementedError


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=5), st.integers(0, 9))
def test_fragments_of_one_model_are_in_the_order_of_its_cosines(parts: list[tuple[int, int]], seed: int) -> None:
    models = list(dict.fromkeys(model for _, model in parts))
    numbers = [models.index(model) for _, model in parts]
    random = np.random.default_rng(seed)
    sizes = [size for size, _ in parts]
    shapes = [(size, 3 + model) for size, model in zip(sizes, numbers, strict=True)]
    matrices = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    vectors = MixedVectors([_Matrix(each) for each in matrices], sizes, numbers)
    blocks = [random.normal(size=dimensions).astype(np.float32) for dimensions in vectors.dimensions]
    query = np.concatenate([block / np.linalg.norm(block) for block in blocks])
    cosines, starts = vectors.similarities(query), np.cumsum([0, *vectors.dimensions])
    row = 0
    for matrix, model in zip(matrices, numbers, strict=True):
        own = matrix @ query[starts[model] : starts[model + 1]]
        assert (np.diff(cosines[row : row + len(own)][np.argsort(own)]) >= -1e-5).all()
        row += len(own)
    assert np.isfinite(cosines).all()
