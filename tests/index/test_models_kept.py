"""The loaded model is kept for the thread that asked for it, and goes to another when that one has ended."""

from concurrent.futures import ThreadPoolExecutor

import pytest

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
