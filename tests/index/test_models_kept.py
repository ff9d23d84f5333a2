"""The loaded model is kept for the thread that asked for it, and goes to another when that one has ended."""

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


def test_a_folder_is_loaded_as_the_library_loads_it_and_asks_no_hub() -> None:
    folder = str(resources.files("excerpt") / "embedding")
    loaded = embed.open_embedder(folder)
    assert loaded.id == embed.Embedder(StaticModel.from_pretrained(folder, force_download=False)).id
    script = "import sys; from excerpt.index.embed import open_embedder; open_embedder(''); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"huggingface_hub", "httpx", "requests"} & set(modules)
