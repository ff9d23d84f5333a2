"""Tests of embedders and cross-encoders in folders."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from excerpt.base.errors import ModelError
from excerpt.base.installation import extra_hint
from excerpt.base.settings import EmbeddingSettings, RerankSettings, Settings
from excerpt.encoders.choice import open_embedder, open_reranker
from excerpt.encoders.interface import PassageEmbedder, Reranker
from excerpt.encoders.model_names import is_static_model
from tests.encoders.models import DIMENSIONS, VOCABULARY, token_vectors, write_cross_encoder, write_embedder


def embedder_in(folder: Path) -> PassageEmbedder:
    return open_embedder(Settings(embedding=EmbeddingSettings(model=str(folder))))


def reranker_in(folder: Path) -> Reranker:
    reranker = open_reranker(Settings(rerank=RerankSettings(model=str(folder))))
    assert reranker is not None
    return reranker


def vectors_of(words: str) -> NDArray[np.float32]:
    """Return the vectors of a text's tokens, shape (tokens, dimensions)."""
    return token_vectors()[[VOCABULARY[word] for word in ("[CLS]", *words.split(), "[SEP]")]]


def unit_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


# --- embedders --------------------------------------------------------------------------------------------------------


def test_a_vector_is_the_normalised_mean_of_the_tokens(tmp_path: Path) -> None:
    embedder = embedder_in(write_embedder(tmp_path))
    (vector,) = embedder.embed_passages(["Sync conflict"])
    assert vector == pytest.approx(unit_vector(vectors_of("sync conflict").mean(axis=0)), abs=1e-6)
    assert embedder.dimensions == DIMENSIONS
    assert vector.dtype == np.float32


def test_vectors_do_not_depend_on_the_other_texts_of_a_batch(tmp_path: Path) -> None:
    embedder = embedder_in(write_embedder(tmp_path))
    texts = ["storm", "a b c " * 100, "", "sync conflict " * 7, "lighthouse keeper"] * 9
    together = embedder.embed_passages(texts)
    alone = np.array([embedder.embed_query(text) for text in texts])
    assert together == pytest.approx(alone, abs=1e-6)
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-6)


def test_no_texts_give_no_vectors(tmp_path: Path) -> None:
    assert embedder_in(write_embedder(tmp_path)).embed_passages([]).shape == (0, DIMENSIONS)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, vectors_of("a b c")[0]),
        ({"pooling_mode_max_tokens": True}, vectors_of("a b c").max(axis=0)),
        ({"pooling_mode_lasttoken": True}, vectors_of("a b c")[-1]),
        ({"pooling_mode_weightedmean_tokens": True}, np.arange(1, 6) @ vectors_of("a b c")),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, vectors_of("a b c").sum(axis=0)),
        ({"pooling_mode": "cls"}, vectors_of("a b c")[0]),
        (
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
            np.concatenate([vectors_of("a b c")[0], vectors_of("a b c").mean(axis=0)]),
        ),
    ],
)
def test_token_vectors_are_pooled_as_the_model_folder_says(
    tmp_path: Path, pooling: dict[str, object], expected: NDArray[np.float32]
) -> None:
    embedder = embedder_in(write_embedder(tmp_path, pooling=pooling))
    vectors = embedder.embed_passages(["a b c", "a b c sync conflict storm"])  # the first is padded
    assert vectors[0] == pytest.approx(unit_vector(expected), abs=1e-6)


def test_an_unknown_pooling_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="pooling attention"):
        embedder_in(write_embedder(tmp_path, pooling={"pooling_mode": "attention"}))


@pytest.mark.parametrize("key", ["document", "passage"])
def test_prompts_precede_queries_and_passages(tmp_path: Path, key: str) -> None:
    files = {"config_sentence_transformers.json": {"prompts": {"query": "query : ", key: "passage : "}}}
    plain = embedder_in(write_embedder(tmp_path / "plain"))
    prompted = embedder_in(write_embedder(tmp_path / "prompted", files=files))
    assert prompted.embed_query("storm") == pytest.approx(plain.embed_query("query : storm"))
    assert prompted.embed_passages(["storm"])[0] == pytest.approx(plain.embed_query("passage : storm"))


def test_the_default_prompt_is_used_if_no_other_is_named(tmp_path: Path) -> None:
    config = {"prompts": {"query": "query : ", "clustering": "text : "}, "default_prompt_name": "clustering"}
    plain = embedder_in(write_embedder(tmp_path / "plain"))
    prompted = embedder_in(write_embedder(tmp_path / "b", files={"config_sentence_transformers.json": config}))
    assert prompted.embed_passages(["storm"])[0] == pytest.approx(plain.embed_query("text : storm"))


def test_a_text_is_truncated_to_the_tokens_that_the_model_reads(tmp_path: Path) -> None:
    embedder = embedder_in(write_embedder(tmp_path, files={"sentence_bert_config.json": {"max_seq_length": 8}}))
    assert embedder.embed_query("a b c a b c storm west") == pytest.approx(embedder.embed_query("a b c a b c"))


def test_a_text_with_invalid_unicode_is_embedded(tmp_path: Path) -> None:
    assert np.isfinite(embedder_in(write_embedder(tmp_path)).embed_query("storm \udcff")).all()


@pytest.mark.parametrize(
    ("card", "languages"),
    [
        ("---\nlanguage: en\n---\n", ("en",)),
        ("---\nlanguage:\n- de\n- zh-CN\n- no\n---\n# Model\n", ("de", "zh", "no")),
        ("---\nlanguage: multilingual\n---\n", ("*",)),
        ("---\nlicense: mit\n---\n", ("en",)),
        ("# no front matter\n", ("en",)),
        ("---\nlanguage: [unclosed\n---\n", ("en",)),
    ],
)
def test_languages_are_those_of_the_model_card(tmp_path: Path, card: str, languages: tuple[str, ...]) -> None:
    assert embedder_in(write_embedder(tmp_path, files={"README.md": card})).languages == languages


def test_a_copy_of_a_model_has_the_same_id_and_a_model_with_other_weights_or_options_has_another(
    tmp_path: Path,
) -> None:
    original = embedder_in(write_embedder(tmp_path / "original"))
    copy = embedder_in(write_embedder(tmp_path / "copy"))
    other = embedder_in(write_embedder(tmp_path / "other", vectors=token_vectors() + 1))
    pooled = embedder_in(write_embedder(tmp_path / "pooled", pooling={"pooling_mode": "cls"}))
    assert original.id == copy.id
    assert len({original.id, other.id, pooled.id}) == 3


def test_the_exact_network_is_preferred_to_a_quantised_one(tmp_path: Path) -> None:
    exact = embedder_in(write_embedder(tmp_path / "exact"))
    write_embedder(tmp_path / "both", network="onnx/model_quantized.onnx", vectors=token_vectors() + 1)
    assert embedder_in(tmp_path / "both").id != exact.id
    assert embedder_in(write_embedder(tmp_path / "both")).id == exact.id


def test_a_network_file_outside_of_onnx_may_return_one_vector_per_text(tmp_path: Path) -> None:
    embedder = embedder_in(write_embedder(tmp_path, network="model.onnx", output="token_embeddings"))
    assert embedder.embed_query("storm") == pytest.approx(unit_vector(vectors_of("storm").mean(axis=0)), abs=1e-6)


# --- what is no embedder ----------------------------------------------------------------------------------------------


def test_missing_files_are_named(tmp_path: Path) -> None:
    write_embedder(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"Missing files: tokenizer.json"):
        embedder_in(tmp_path)
    (tmp_path / "onnx" / "model.onnx").unlink()
    with pytest.raises(ModelError, match=r"Missing files: onnx/model.onnx, tokenizer.json"):
        embedder_in(tmp_path)


@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json", "config.json", "1_Pooling/config.json"])
def test_a_damaged_file_is_reported_in_one_sentence(tmp_path: Path, name: str) -> None:
    write_embedder(tmp_path, pooling={})
    (tmp_path / name).write_bytes(b"{not JSON, and no network\n")
    with pytest.raises(ModelError) as caught:
        embedder_in(tmp_path)
    assert str(tmp_path) in caught.value.message
    assert "\n" not in caught.value.message


def test_a_vector_that_is_not_a_number_is_an_error(tmp_path: Path) -> None:
    vectors = token_vectors()
    vectors[VOCABULARY["storm"]] = np.nan
    embedder = embedder_in(write_embedder(tmp_path, vectors=vectors))
    with pytest.raises(ModelError, match="not a number"):
        embedder.embed_passages(["sync", "storm"])


def test_too_many_dimensions_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="4,097 dimensions"):
        embedder_in(write_embedder(tmp_path, vectors=token_vectors(4097)))


def test_a_cross_encoder_is_not_an_embedder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="logits"):
        embedder_in(write_cross_encoder(tmp_path))


def test_a_model_with_an_extra_layer_that_its_network_file_lacks_is_refused(tmp_path: Path) -> None:
    kinds = ("Transformer", "Pooling", "Dense", "Normalize")
    modules = [{"type": f"sentence_transformers.models.{kind}"} for kind in kinds]
    with pytest.raises(ModelError, match="Dense"):
        embedder_in(write_embedder(tmp_path, files={"modules.json": modules}))


def test_a_missing_package_is_reported_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelError) as caught:
        embedder_in(write_embedder(tmp_path))
    assert caught.value.hint == extra_hint("onnx")


def test_a_folder_is_static_unless_it_holds_a_transformer(tmp_path: Path) -> None:
    static = write_embedder(tmp_path / "static", files={"config.json": {"model_type": "model2vec"}})
    assert is_static_model(str(static))  # a static model on the hub has an ONNX file too
    assert not is_static_model(str(write_embedder(tmp_path / "onnx")))
    assert is_static_model("")
    assert is_static_model("minishlab/potion-base-8M")
    assert is_static_model(str(tmp_path / "missing"))
    without = write_embedder(tmp_path / "without")
    (without / "onnx" / "model.onnx").unlink()
    assert not is_static_model(str(without))


# --- rerankers --------------------------------------------------------------------------------------------------------


def test_a_cross_encoder_scores_each_passage_as_its_network_does(tmp_path: Path) -> None:
    reranker = reranker_in(write_cross_encoder(tmp_path))
    query = vectors_of("sync").sum(axis=0)
    passage = token_vectors()[[VOCABULARY["storm"], VOCABULARY["west"], VOCABULARY["[SEP]"]]].sum(axis=0)
    assert reranker.score("sync", ["storm west"], 5) == pytest.approx([query @ passage], rel=1e-5)


def test_a_cross_encoder_with_two_classes_scores_by_their_difference(tmp_path: Path) -> None:
    passages = ["storm west", "sync conflict", "a"]
    one = reranker_in(write_cross_encoder(tmp_path / "one"))
    two = reranker_in(write_cross_encoder(tmp_path / "two", classes=2))
    assert two.score("sync", passages, 5) == pytest.approx(one.score("sync", passages, 5), rel=1e-5)


def test_scores_are_deterministic_and_independent_of_the_order(tmp_path: Path) -> None:
    reranker = reranker_in(write_cross_encoder(tmp_path))
    passages = ["storm west", "sync " * 50, "a", "lighthouse keeper conflict"]
    scores = reranker.score("sync conflict", passages, 5)
    assert reranker.score("sync conflict", passages, 5) == scores
    assert reranker.score("sync conflict", passages[::-1], 5) == pytest.approx(scores[::-1], rel=1e-6)


def test_a_long_passage_is_truncated_and_the_query_is_not(tmp_path: Path) -> None:
    files = {"sentence_bert_config.json": {"max_seq_length": 8}}
    reranker = reranker_in(write_cross_encoder(tmp_path, files=files))
    long, short = reranker.score("a b", ["storm west sync conflict", "storm west sync"], 5)
    assert long == pytest.approx(short)


def test_a_reranker_spends_at_most_half_of_its_tokens_on_the_query(tmp_path: Path) -> None:
    files = {"sentence_bert_config.json": {"max_seq_length": 8}}
    reranker = reranker_in(write_cross_encoder(tmp_path, files=files))
    assert reranker.score("a b c sync storm", ["west"], 5) == pytest.approx(reranker.score("a b", ["west"], 5))


def test_scoring_ends_at_its_time_limit(tmp_path: Path) -> None:
    reranker = reranker_in(write_cross_encoder(tmp_path))
    with pytest.raises(ModelError, match="longer than"):
        reranker.score("sync", ["storm"] * 3, 0.0)


def test_an_embedder_reranks_by_cosine(tmp_path: Path) -> None:
    folder = write_embedder(tmp_path)
    embedder = embedder_in(folder)
    expected = embedder.embed_passages(["storm", "sync conflict"]) @ embedder.embed_query("sync")
    assert reranker_in(folder).score("sync", ["storm", "sync conflict"], 5) == pytest.approx(expected, abs=1e-6)


def test_no_reranker_is_opened_unless_one_is_named() -> None:
    assert open_reranker(replace(Settings(), rerank=RerankSettings())) is None


def test_a_missing_reranker_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no reranker at"):
        reranker_in(tmp_path / "missing")
