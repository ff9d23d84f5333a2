"""Tests of the model cache: a loaded model belongs to the thread that asked first, until that thread ends."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

import pytest
from model2vec import StaticModel

from excerpt.index import embed
from excerpt.index.embed import open_embedder


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "_loaded", {})


def test_a_thread_that_asks_again_has_the_same() -> None:
    assert open_embedder("") is open_embedder("")


def test_no_two_threads_have_the_same() -> None:
    with ThreadPoolExecutor(1) as other:
        assert other.submit(open_embedder, "").result() is not open_embedder("")


def test_a_thread_takes_over_from_one_that_has_ended() -> None:
    with ThreadPoolExecutor(1) as ended:
        loaded = ended.submit(open_embedder, "").result()
    with ThreadPoolExecutor(1) as begun:
        assert begun.submit(open_embedder, "").result() is loaded


WORDS_FOLDER = str(resources.files("excerpt") / "embedding")


def imported_by(model: str) -> set[str]:
    """Return the modules that a fresh interpreter has imported after loading a model."""
    script = f"import sys; from excerpt.index.embed import open_embedder; open_embedder({model!r}); print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.mark.programs
@pytest.mark.parametrize("model", ["", WORDS_FOLDER])
def test_a_model_is_loaded_as_the_library_loads_it(model: str) -> None:
    loaded = embed.open_embedder(model)
    assert loaded.id == embed.Embedder(StaticModel.from_pretrained(WORDS_FOLDER, force_download=False)).id


@pytest.mark.programs
def test_a_folder_is_loaded_without_asking_a_hub() -> None:
    assert not {"huggingface_hub", "httpx", "requests"} & imported_by(WORDS_FOLDER)


def test_the_shipped_model_is_loaded_without_the_library() -> None:
    assert not {"model2vec", "joblib", "tqdm"} & imported_by("")
