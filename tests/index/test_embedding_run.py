"""Tests of embedding runs, also killed at any moment: what was embedded stays, and the next run continues."""

from __future__ import annotations

import os
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as configure
from hypothesis import strategies as st
from msgspec import structs

from excerpt.base.errors import IndexBusyError, ModelError
from excerpt.base.model import EmbeddingProgress
from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings, load_vault_settings, user_paths
from excerpt.corpus.union import UnionCorpus
from excerpt.index.build import Updater, build
from excerpt.index.catalog import Catalog
from excerpt.index.embedding_run import BATCH_TEXTS, EmbeddingRun, count_embedded
from excerpt.index.embedding_schedule import EmbeddingThread
from excerpt.index.encoder_vectors import (
    RECORD_KEY,
    SearchVectorsRecord,
    TextVectors,
    TextVectorsWriter,
    vectors_file,
)
from excerpt.index.snapshot import Snapshot
from excerpt.index.vectors import QuantisedVectors, quantise
from excerpt.search.engine import Engine
from excerpt.service.index_update import has_vectors_pending
from tests.conftest import THOROUGH
from tests.encoders import server as replies
from tests.encoders.server import ModelTestServer, delayed, embeddings, running_server
from tests.index.conftest import WriteNote

NOTES = {
    f"{number}.md": f"garden soil {word} {number}\n" for number, word in enumerate(("rose", "tea", "leaf", "brew"))
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelTestServer]:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("excerpt.encoders.model_server.RETRY_WAITS", ())
    with running_server(embeddings) as running:
        yield running


@pytest.fixture
def settings(server: ModelTestServer) -> Settings:
    return Settings(
        embedding=EmbeddingSettings(f"openai:{server.url}/v1#letters"), pack=PackSettings(tokenizer="chars/4")
    )


@pytest.fixture
def notes(write: WriteNote) -> None:
    for path, text in NOTES.items():
        write(path, text)


def embedded_passages(server: ModelTestServer) -> list[str]:
    """Return the texts of notes that the server was asked for, without samples and queries."""
    texts = [text for request in server.requests for text in request.body["input"]]
    return [text for text in texts if "\n" in text]


class Vault:
    """A vault with its index, as a process that watches it updates both."""

    def __init__(self, vault: Path, index: Path, settings: Settings) -> None:
        self.vault, self.index, self.settings = vault, index, settings
        self.progress: list[EmbeddingProgress] = []

    def update(self, *, rebuild: bool = False) -> None:
        build(self.vault, self.index, self.settings, rebuild=rebuild)

    def embed(self, wait: Callable[[], bool] = lambda: True) -> SearchVectorsRecord | None:
        record = EmbeddingRun(self.index, self.settings, self.progress.append, wait).run()
        if record is not None:
            with closing(Updater(self.vault, self.index, self.settings)) as updater:
                updater.use_search_vectors(record)
        return record

    def open(self, before: Snapshot | None = None) -> Snapshot:
        return Snapshot.open(self.index, self.settings, before=before)

    @property
    def model_in_use(self) -> str:
        """The beginning of the status line that names the model whose vectors searches use."""
        with closing(self.open()) as snapshot:
            is_static = snapshot.search_vectors is snapshot.vectors
            assert is_static == ("ships with excerpt" in snapshot.status().model.partition(", until")[0])
            return "static" if is_static else snapshot.status().model.partition(" at ")[0]

    def ranking(self, query: str) -> list[tuple[str, float]]:
        with closing(self.open()) as snapshot:
            hits = Engine(snapshot, self.settings).search(query, limit=20).hits
            return [(hit.fragment.path, hit.score) for hit in hits]


@pytest.fixture
def opened(vault: Path, index: Path, settings: Settings, notes: None) -> Vault:
    opened = Vault(vault, index, settings)
    opened.update()
    return opened


# --- when vectors are used --------------------------------------------------------------------------------------------


def test_the_static_model_answers_until_everything_is_embedded(opened: Vault) -> None:
    assert opened.model_in_use == "static"
    assert has_vectors_pending(opened.index, opened.settings)
    opened.embed()
    assert opened.model_in_use == "letters"
    assert not has_vectors_pending(opened.index, opened.settings)


def test_the_stored_vectors_equal_the_vectors_that_the_embedder_returned(opened: Vault) -> None:
    opened.embed()
    with closing(opened.open()) as snapshot:
        query = snapshot.query_embedder.embed_query("tea")
        expected = np.array(replies.count_letters("1\ngarden soil tea 1"), np.float32)
        row = int(np.flatnonzero(snapshot.table.notes == snapshot.table.paths.index("1.md"))[0])
        cosine = snapshot.search_vectors.similarities(query)[row]
        assert cosine == pytest.approx(float(expected @ query) / np.linalg.norm(expected), abs=0.01)


def test_each_text_is_embedded_once_and_equal_texts_share_a_vector(
    opened: Vault, server: ModelTestServer, write: WriteNote
) -> None:
    write("more/3.md", NOTES["3.md"])
    opened.update()
    opened.embed()
    opened.embed()
    assert sorted(embedded_passages(server)) == sorted(f"{path[0]}\n{text.strip()}" for path, text in NOTES.items())


def test_progress_counts_different_texts(opened: Vault) -> None:
    opened.embed()
    assert [(each.done, each.total) for each in opened.progress] == [(0, 4), (4, 4)]


def test_a_stopped_run_keeps_its_batches_and_the_next_continues(
    opened: Vault, server: ModelTestServer, write: WriteNote
) -> None:
    for number in range(2 * BATCH_TEXTS):
        write(f"many/{number}.md", f"soil number {number}\n")
    opened.update()
    turns = iter([True, False])
    assert opened.embed(lambda: next(turns)) is None
    assert opened.model_in_use == "static"
    opened.embed()
    assert opened.model_in_use == "letters"
    assert len(embedded_passages(server)) == len(set(embedded_passages(server))) == 2 * BATCH_TEXTS + 4


def test_a_new_note_is_found_by_words_until_it_is_embedded(opened: Vault, write: WriteNote) -> None:
    for number in range(30):
        write(f"many/{number}.md", f"soil number {number}\n")
    opened.update()
    opened.embed()
    with closing(opened.open()) as before:
        assert before.search_vectors is not before.vectors
        write("new.md", "compost kettle\n")
        opened.update()
        with closing(opened.open(before)) as snapshot:
            assert snapshot.search_vectors is not snapshot.vectors
            assert not snapshot.search_vectors.rows(np.array([len(snapshot.search_vectors.keys) - 1])).any()
            assert opened.ranking("compost kettle")[0][0] == "new.md"
            opened.embed()
            with closing(opened.open(snapshot)) as after:
                assert after.search_vectors.rows(np.array([len(after.search_vectors.keys) - 1])).any()


def test_texts_without_a_vector_do_not_change_the_mean(opened: Vault, write: WriteNote) -> None:
    for number in range(30):
        write(f"many/{number}.md", f"soil number {number}\n")
    opened.update()
    opened.embed()
    with closing(opened.open()) as snapshot:
        mean = snapshot.search_vectors.mean
    write("new.md", "compost kettle\n")
    opened.update()
    with closing(opened.open()) as snapshot:
        assert snapshot.search_vectors.mean == pytest.approx(mean, abs=1e-6)


def test_while_many_new_notes_are_not_embedded_the_static_model_answers(opened: Vault, write: WriteNote) -> None:
    opened.embed()
    for number in range(10):
        write(f"many/{number}.md", f"soil number {number}\n")
    opened.update()
    assert opened.model_in_use == "static"
    opened.embed()
    assert opened.model_in_use == "letters"


def test_a_rebuild_keeps_the_vectors(opened: Vault, server: ModelTestServer) -> None:
    opened.embed()
    asked = len(embedded_passages(server))
    opened.update(rebuild=True)
    assert opened.model_in_use == "letters"
    (opened.index / "catalog.sqlite").unlink()
    opened.update()
    opened.embed()
    assert (opened.model_in_use, len(embedded_passages(server))) == ("letters", asked)


def test_hits_after_several_updates_equal_the_hits_of_one_whole_run(
    opened: Vault, write: WriteNote, tmp_path: Path
) -> None:
    opened.embed()
    write("2.md", "kettle and winter\n")
    write("5.md", "sugar and water\n")
    opened.update()
    opened.embed()
    fresh = Vault(opened.vault, tmp_path / "fresh", opened.settings)
    fresh.update()
    fresh.embed()
    for query in ("tea", "what is in winter", "sugar water"):
        assert opened.ranking(query) == fresh.ranking(query)


# --- another model ----------------------------------------------------------------------------------------------------


def test_the_previous_embedder_answers_until_the_next_is_done_and_going_back_embeds_nothing(
    opened: Vault, server: ModelTestServer
) -> None:
    first = opened.settings
    opened.embed()
    opened.settings = replace(first, embedding=EmbeddingSettings(f"openai:{server.url}/v1#other"))
    opened.update()
    assert opened.model_in_use == "letters"
    opened.embed()
    assert opened.model_in_use == "other"
    asked = len(embedded_passages(server))
    opened.settings = first
    opened.embed()
    assert (opened.model_in_use, len(embedded_passages(server))) == ("letters", asked)


# --- an address with a key --------------------------------------------------------------------------------------------


def with_key(settings: Settings, key: str) -> Settings:
    model = settings.embedding.model.replace("#", f"?key={key}#")
    return replace(settings, embedding=EmbeddingSettings(model))


def test_the_index_stores_no_key_of_an_address_and_recognises_its_embedder(
    opened: Vault, server: ModelTestServer
) -> None:
    opened.settings = with_key(opened.settings, "secret")
    opened.embed()
    assert not [file for file in opened.index.rglob("*") if file.is_file() and b"secret" in file.read_bytes()]
    assert (opened.model_in_use, opened.ranking("tea")[0][0]) == ("letters", "1.md")
    assert server.requests[-1].path == "/v1/embeddings?key=secret"
    opened.settings = with_key(opened.settings, "rotated")
    assert not has_vectors_pending(opened.index, opened.settings)
    opened.ranking("leaf")
    assert server.requests[-1].path.endswith("rotated")


def test_an_index_with_a_stored_key_recognises_its_embedder_and_drops_the_key(opened: Vault) -> None:
    opened.settings = with_key(opened.settings, "secret")
    record = opened.embed()
    assert record is not None
    model = opened.settings.embedding.model
    with closing(Catalog.open_to_write(opened.index)) as catalog, catalog.transaction():
        catalog.set_meta(RECORD_KEY, structs.replace(record, model=model, source=model).to_json())
    assert opened.model_in_use == "letters"
    opened.embed()
    assert not [file for file in opened.index.rglob("*") if file.is_file() and b"secret" in file.read_bytes()]


def test_a_previous_server_with_a_key_is_not_contacted(opened: Vault, server: ModelTestServer) -> None:
    opened.settings = with_key(opened.settings, "secret")
    opened.embed()
    opened.settings = replace(opened.settings, embedding=EmbeddingSettings(f"openai:{server.url}/v1#other"))
    assert opened.model_in_use == "static"


def test_once_the_setting_is_removed_the_static_model_answers(opened: Vault) -> None:
    opened.embed()
    chosen, opened.settings = opened.settings, replace(opened.settings, embedding=EmbeddingSettings())
    assert opened.model_in_use == "static"
    opened.settings = chosen
    assert opened.model_in_use == "letters"


def test_another_model_at_the_same_address_is_detected(opened: Vault, server: ModelTestServer) -> None:
    opened.embed()
    server.reply = replies.answer_vectors(lambda texts: [[float(len(text)), 1.0, *range(24)] for text in texts])
    with closing(opened.open()) as snapshot, pytest.raises(ModelError, match="not the one that embedded the notes"):
        Engine(snapshot, opened.settings)
        from excerpt.index.encoder_vectors import ChosenEmbedder

        record = snapshot._search_record
        assert record is not None
        ChosenEmbedder(opened.settings, record).embed_query("tea")
    opened.embed()
    assert count_embedded(opened.index, EmbeddingRun(opened.index, opened.settings, print).open_embedder()) == (4, 4)


def test_two_processes_do_not_embed_the_same_vault_at_once(opened: Vault) -> None:
    def wait() -> bool:
        with pytest.raises(IndexBusyError):
            opened.embed()
        return True

    assert opened.embed(wait) is not None


def test_embedding_waits_while_the_user_is_active(
    opened: Vault, server: ModelTestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, checks, records = threading.Event(), queue.Queue[None](), queue.Queue[SearchVectorsRecord]()

    def is_busy() -> bool:
        checks.put(None)
        return False

    monkeypatch.setattr("excerpt.index.embedding_schedule._YIELD_SECONDS", 3600.0)
    monkeypatch.setattr("excerpt.index.embedding_schedule._BUSY_CHECK_SECONDS", 0.01)
    thread = EmbeddingThread(
        opened.index, opened.settings, stop, is_busy=is_busy, on_record=records.put, report=print, log_crash=str
    )
    try:
        thread.hold()
        thread.start()
        for _ in range(5):
            checks.get(timeout=60)
        assert embedded_passages(server) == []
        monkeypatch.setattr("excerpt.index.embedding_schedule._YIELD_SECONDS", 0.0)
        thread.hold()
        records.get(timeout=60)
        assert len(embedded_passages(server)) == len(NOTES)
    finally:
        stop.set()
        thread.end()


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (replies.close_connection, "broke off"),
        (replies.status_answer(429), "status 429"),
        (replies.status_answer(500), "status 500"),
        (replies.answer_vectors(lambda texts: [[1.0, 2.0]] * len(texts)), "2 dimensions instead of 26"),
        (replies.answer_vectors(lambda texts: [[float("nan")] * 26] * len(texts)), "not a number"),
        (replies.answer_vectors(lambda texts: [[1.0] * 26] * (len(texts) - 1)), "3 vectors for 4 texts"),
        (replies.too_large, "sent more than"),
    ],
    ids=["drops", "429", "500", "dimensions", "nan", "too few", "100 MB"],
)
def test_a_failing_server_is_reported_in_one_sentence_and_searches_continue(
    opened: Vault, server: ModelTestServer, reply: replies.Reply, message: str
) -> None:
    server.replies = [embeddings, reply]  # the sample is answered
    with pytest.raises(ModelError, match=message) as failure:
        opened.embed()
    assert "\n" not in str(failure.value)
    assert opened.ranking("rose")[0][0] == "0.md"
    opened.embed()
    assert opened.model_in_use == "letters"


@pytest.mark.parametrize("damage", ["cut short", "altered", "lost", "not a file of vectors"])
def test_only_the_damaged_part_of_a_file_is_embedded_again(
    opened: Vault, write: WriteNote, server: ModelTestServer, damage: str
) -> None:
    for number in range(2 * BATCH_TEXTS):
        write(f"many/{number}.md", f"soil number {number}\n")
    opened.update()
    record = opened.embed()
    assert record is not None
    before = opened.ranking("soil number 7")
    file = vectors_file(opened.index, record.id)
    content = file.read_bytes()
    match damage:
        case "cut short":
            file.write_bytes(content[:-5])
        case "altered":
            file.write_bytes(content[:200] + b"\xff" * 8 + content[208:])
        case "lost":
            file.unlink()
        case _:
            file.write_bytes(b"something else")
    assert opened.ranking("rose")[0][0] == "0.md"
    asked = len(embedded_passages(server))
    opened.embed()
    again = len(embedded_passages(server)) - asked
    assert again == (2 * BATCH_TEXTS + 4 if damage in ("lost", "not a file of vectors") else pytest.approx(18, abs=14))
    assert opened.ranking("soil number 7") == before


def test_vectors_of_deleted_texts_are_dropped_when_they_are_many(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt.index.encoder_vectors._LEAST_UNUSED", 2)
    record = opened.embed()
    assert record is not None
    for path in ("0.md", "1.md", "2.md"):
        (opened.vault / path).unlink()
    opened.update()
    record = opened.embed()
    assert record is not None
    with closing(TextVectors(vectors_file(opened.index, record.id), 26)) as vectors:
        vectors.read_to()
        assert len(vectors.digests) in (1, 4)
    assert opened.model_in_use == "letters"


# --- the file ---------------------------------------------------------------------------------------------------------

DIGESTS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30, unique=True)


@pytest.mark.programs
@given(digests=DIGESTS, sizes=st.lists(st.integers(1, 7), min_size=1, max_size=8), cut=st.floats(0, 1))
@configure(max_examples=60)
def test_a_truncated_file_keeps_the_vectors_of_its_complete_blocks(
    tmp_path_factory: pytest.TempPathFactory, digests: list[int], sizes: list[int], cut: float
) -> None:
    file = tmp_path_factory.mktemp("vectors") / "of.vectors"
    keys = np.array(digests, np.int64)
    vectors = quantise(np.random.default_rng(len(digests)).normal(size=(len(digests), 5)).astype(np.float32))
    ends, start = [], 0
    with closing(TextVectorsWriter(file, 5, keys)) as writer:
        for size in (*sizes, len(digests)):
            part = slice(start, start + size)
            if len(keys[part]):
                writer.append(keys[part], QuantisedVectors(vectors.scales[part], vectors.rows[part]))
                ends.append((writer.size, min(start + size, len(digests))))
            start += size
    length = int(cut * file.stat().st_size)
    file.write_bytes(file.read_bytes()[:length])
    whole = max((count for end, count in ends if end <= length), default=0)
    with closing(TextVectors(file, 5)) as read:
        read.read_to()
        assert read.has(keys).tolist() == [number < whole for number in range(len(keys))]
        found = read.rows(keys)
        assert (found.rows[:whole] == vectors.rows[:whole]).all()
        assert (found.scales[:whole] == vectors.scales[:whole]).all()
        assert not found.scales[whole:].any()
    with closing(TextVectorsWriter(file, 5, keys)) as writer:
        assert writer.digests == set(digests[:whole])


# --- several vaults ---------------------------------------------------------------------------------------------------


def test_several_vaults_use_an_embedder_that_has_embedded_all_of_them(opened: Vault, tmp_path: Path) -> None:
    other = Vault(tmp_path / "other", tmp_path / "other-index", opened.settings)
    other.vault.mkdir()
    (other.vault / "Sugar.md").write_text("sugar and tea\n", encoding="utf-8")
    other.update()
    opened.embed()

    def join() -> tuple[bool, list[str]]:
        with closing(opened.open()) as first, closing(other.open()) as second:
            union = UnionCorpus([("first", first), ("second", second)])
            hits = Engine(union, opened.settings).search("tea").hits
            assert (union.query_embedder is union.embedder) is (union.search_vectors is union.vectors)
            return union.search_vectors is not union.vectors, [hit.fragment.path for hit in hits]

    assert join()[0] is False
    other.embed()
    is_chosen, paths = join()
    assert is_chosen
    assert {"first/1.md", "second/Sugar.md"} <= set(paths)


KILLS = 20 if THOROUGH else 4
TEXTS = 80 * KILLS
QUERIES = ("soil number 7", "which garden", "number 99", "winter tea")


def paths_and_scores(index: Path, settings: Settings) -> list[list[tuple[str, float]]]:
    with closing(Snapshot.open(index, settings)) as snapshot:
        assert snapshot.search_vectors is not snapshot.vectors
        engine = Engine(snapshot, settings)
        return [[(hit.fragment.path, hit.score) for hit in engine.search(query).hits] for query in QUERIES]


@pytest.mark.programs
@pytest.mark.hypothesis  # its moments are random, so `make properties` runs it with twenty kills
def test_killed_runs_embed_each_text_once_except_the_current_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(TEXTS):
        (vault / f"{number}.md").write_text(f"The garden has soil, number {number}.\n", encoding="utf-8")
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    paths = user_paths()
    moments = random.Random(1)
    with running_server(delayed(0.05, embeddings)) as server:
        paths.settings_file.parent.mkdir(parents=True)
        paths.settings_file.write_text(f'[embedding]\nmodel = "openai:{server.url}/v1#letters"\n')
        build(vault, paths.index_folder(vault), load_vault_settings(vault, paths))
        command = [sys.executable, "-m", "excerpt", "embedding", "--run", "--vault", str(vault)]

        def embedded() -> list[str]:
            return [text for request in server.requests for text in request.body["input"] if "\n" in text]

        for _ in range(KILLS):
            before = len(embedded())
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while len(embedded()) == before and process.poll() is None:
                time.sleep(0.005)  # until it embeds: kills before that lose nothing
            time.sleep(moments.uniform(0, 0.06))
            process.kill()
            process.wait()
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
        assert done.returncode == 0, done.stderr
        texts = embedded()
        assert len(set(texts)) == TEXTS
        assert len(texts) <= TEXTS + KILLS * BATCH_TEXTS

        settings = load_vault_settings(vault, paths)
        fresh = tmp_path / "fresh"
        build(vault, fresh, settings)
        record = EmbeddingRun(fresh, settings, print).run()
        assert record is not None
        with closing(Updater(vault, fresh, settings)) as updater:
            updater.use_search_vectors(record)
        assert paths_and_scores(paths.index_folder(vault), settings) == paths_and_scores(fresh, settings)
