"""Tests of embedding texts: a loaded model belongs to a thread, and tokens are those of the whole text."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Metaspace

from excerpt.encoders import static_model
from excerpt.encoders.static_model import SHIPPED_ID, SHIPPED_MEDIAN_LENGTH, WordPieceCache, open_embedder
from excerpt.vault.known_vaults import DEMO

# What the tokenizer treats specially: its own tokens, punctuation, control characters, spaces, scripts, case.
PARTS = [
    *("[PAD]", "[UNK]", "[pad]", "don't", "R&D", "std::vector<int>", "café", "cafe\u0301", "=\u0338", "≠", "“so”", "›"),
    *(
        "\u00a0",
        "\u200b",
        "\u00ad",
        "\x00",
        "\x01",
        "\x0b",
        "\x0c",
        "\x7f",
        "\ufffd",
        "\t",
        "\r\n",
        "\u2028",
        "İ",
        "ΣΑΣ",
    ),
    *("汉字 kana かな", "한국어", "ไทย", "नमस्ते", "שָׁלוֹם", "x" * 101, "é" * 120, "🙂", "a_b-c", "²³", "ǅ", "\ue000"),
]


@cache
def model() -> StaticModel:
    return StaticModel.from_pretrained(str(resources.files("excerpt") / "embedding"), force_download=False)


def pieces() -> WordPieceCache:
    return WordPieceCache(model().tokenize, model().tokenizer)


@given(st.lists(st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=6)), max_size=8).map("".join), max_size=4))
def test_tokens_of_words_tokenized_one_by_one_equal_the_tokens_of_the_whole_text(texts: list[str]) -> None:
    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    assert [ids.tolist() for ids in pieces().ids(clean)] == model().tokenize(clean)


def test_a_word_is_tokenized_once() -> None:
    asked: list[str] = []

    def tokenize(texts: Sequence[str]) -> list[list[int]]:
        asked.extend(texts)
        return model().tokenize(texts)

    words = WordPieceCache(tokenize, model().tokenizer)
    words.ids(["one two, one", "two"])
    words.ids(["two one three"])
    assert sorted(asked) == [",", "one", "three", "two"]


def test_a_tokenizer_that_joins_words_gets_whole_texts() -> None:
    asked: list[str] = []

    def tokenize(texts: Sequence[str]) -> list[list[int]]:
        asked.extend(texts)
        return [[len(text)] for text in texts]

    across = Tokenizer(WordLevel({"[UNK]": 0}, "[UNK]"))
    across.pre_tokenizer = Metaspace()
    words = WordPieceCache(tokenize, across)
    assert [ids.tolist() for ids in words.ids(["one two", "three"])] == [[7], [5]]
    assert sorted(asked) == ["one two", "three"]


@pytest.mark.parametrize(
    "text", ["", "the", "How to lend out a range of references, in C++ (and not in C)?", "汉字" * 50]
)
def test_a_vector_equals_the_one_of_the_library_model2vec(text: str) -> None:
    assert_as_the_library_makes_them([text, "another"])


@given(st.lists(st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=6)), max_size=8).map("".join), max_size=4))
def test_vectors_of_unusual_texts_equal_the_ones_of_model2vec(texts: list[str]) -> None:
    assert_as_the_library_makes_them([text.encode("utf-8", "replace").decode() for text in texts])


@pytest.mark.programs
def test_vectors_of_the_guide_equal_the_ones_of_model2vec() -> None:
    notes = [note.read_text(encoding="utf-8") for note in sorted(DEMO.rglob("*.md"))]
    lines = sorted({line for note in notes for line in note.splitlines()})
    assert len(lines) > 1000
    assert_as_the_library_makes_them([*notes, *lines])


def assert_as_the_library_makes_them(texts: Sequence[str]) -> None:
    """Compare vectors with those of the model2vec library, bit for bit."""
    theirs = [model().encode([text], max_length=None, normalize=True)[0].tobytes() for text in texts]
    assert [vector.tobytes() for vector in open_embedder("").embed(texts)] == theirs


def test_the_digest_of_the_shipped_model_is_that_of_its_files() -> None:
    assert open_embedder("").measured_id() == SHIPPED_ID


def test_the_recorded_median_length_of_word_vectors_is_right_for_the_shipped_model() -> None:
    assert open_embedder("").measured_median_length() == SHIPPED_MEDIAN_LENGTH


def test_only_the_beginning_of_an_oversized_text_is_embedded() -> None:
    embedder = open_embedder("")
    beginning = ("tea and kettles " * 10_000)[:100_000]
    short, longer = embedder.embed([beginning, beginning + " rose" * 200_000])
    assert (short == longer).all()


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_model, "_loaded", {})


@pytest.mark.usefixtures("nothing_loaded")
def test_a_thread_that_asks_again_gets_the_same_model() -> None:
    assert open_embedder("") is open_embedder("")


@pytest.mark.usefixtures("nothing_loaded")
def test_two_running_threads_do_not_share_a_loaded_model() -> None:
    with ThreadPoolExecutor(1) as other:
        assert other.submit(open_embedder, "").result() is not open_embedder("")


@pytest.mark.usefixtures("nothing_loaded")
def test_a_thread_takes_over_the_model_of_an_ended_one() -> None:
    with ThreadPoolExecutor(1) as ended:
        loaded = ended.submit(open_embedder, "").result()
    with ThreadPoolExecutor(1) as begun:
        assert begun.submit(open_embedder, "").result() is loaded


WORDS_FOLDER = str(resources.files("excerpt") / "embedding")


def imported_by(model: str) -> set[str]:
    """Return the modules that a fresh interpreter has imported after loading a model."""
    code = "import sys; from excerpt.encoders.static_model import open_embedder"
    script = f"{code}; open_embedder({model!r}); print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.programs
@pytest.mark.parametrize("model", ["", WORDS_FOLDER])
def test_a_loaded_model_equals_the_model_as_model2vec_loads_it(model: str) -> None:
    loaded = static_model.open_embedder(model)
    assert loaded.id == static_model.Embedder(StaticModel.from_pretrained(WORDS_FOLDER, force_download=False)).id


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.programs
def test_a_folder_is_loaded_without_network_access() -> None:
    assert not {"huggingface_hub", "httpx", "requests"} & imported_by(WORDS_FOLDER)


@pytest.mark.usefixtures("nothing_loaded")
def test_the_shipped_model_is_loaded_without_importing_model2vec() -> None:
    assert not {"model2vec", "joblib", "tqdm"} & imported_by("")
