"""Tests of `excerpt embedding --run` killed at any moment: what was embedded stays, and the next run continues."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from excerpt.index.build import Updater, build
from excerpt.index.embedding_run import BATCH_TEXTS, EmbeddingRun
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.settings import Settings, load_vault_settings, user_paths
from tests.conftest import THOROUGH
from tests.encoders.server import embeddings, running_server, slow

KILLS = 20 if THOROUGH else 4
TEXTS = 80 * KILLS
QUERIES = ("soil number 7", "which garden", "number 99", "winter tea")


def answers(index: Path, settings: Settings) -> list[list[tuple[str, float]]]:
    with closing(Snapshot.open(index, settings)) as snapshot:
        assert snapshot.search_vectors is not snapshot.vectors
        engine = Engine(snapshot, settings)
        return [[(hit.fragment.path, hit.score) for hit in engine.search(query).hits] for query in QUERIES]


@pytest.mark.programs
@pytest.mark.hypothesis  # its moments are random, so `make properties` runs it with twenty kills
def test_after_kills_each_text_was_embedded_once_but_for_the_batch_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(TEXTS):
        (vault / f"{number}.md").write_text(f"The garden has soil, number {number}.\n", encoding="utf-8")
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    paths = user_paths()
    moments = random.Random(1)
    with running_server(slow(0.05, embeddings)) as server:
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
        assert answers(paths.index_folder(vault), settings) == answers(fresh, settings)
