"""Tests of what a model costs and of silent servers; runs and trials are tested by `excerpt embedding`."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from excerpt.base.errors import ModelError
from excerpt.base.settings import Paths, Settings
from excerpt.encoders.model_server import PASSAGES_SECONDS
from excerpt.service import embedding_models
from excerpt.service.embedding_models import ModelFigures, ModelStatus, SilenceReporter, measure_model, try_model

SERVER = "openai:http://127.0.0.1:9/v1#letters"


def refuse_call(*_: object) -> None:
    pytest.fail("Nothing is to be reported.")


def test_a_static_model_has_embedded_every_passage_of_the_index(indexed: tuple[Path, Paths]) -> None:
    vault, paths = indexed
    status = measure_model(paths.index_folder(vault), Settings(), refuse_call)
    assert (status.figures.dimensions, status.seconds_left) == (256, 0.0)
    assert status.embedded == status.passages > 0


def test_the_time_left_follows_from_the_speed_and_the_passages_left() -> None:
    figures = ModelFigures("letters", "1", ("*",), 26, passages_per_second=20.0, query_ms=1.0)
    assert ModelStatus(figures, embedded=100, passages=300, in_use="letters").seconds_left == 10.0


def test_a_static_model_is_refused_for_a_trial(indexed: tuple[Path, Paths]) -> None:
    vault, paths = indexed
    with pytest.raises(ModelError, match="is a static model"):
        try_model(vault, Settings(), paths, "", on_progress=refuse_call, on_silence=refuse_call)


def test_a_silent_server_is_reported_with_the_longest_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_models, "_SILENT_SECONDS", 0.001)
    reports: list[tuple[str, float]] = []
    has_reported = threading.Event()

    def record(label: str, seconds: float) -> None:
        reports.append((label, seconds))
        has_reported.set()

    with SilenceReporter(SERVER, record):
        assert has_reported.wait(60)
    assert set(reports) == {("letters at http://127.0.0.1:9/v1", PASSAGES_SECONDS)}
