"""Tests that the JSON of every command has exactly the fields that the guide's "JSON forms" describes.

Their order is kept in golden/. To rewrite it, run with EXCERPT_WRITE_GOLDEN=1 (see tests/golden.py).
"""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import click
import pytest

import excerpt
from excerpt.base.settings import user_paths
from excerpt.cli.main import COMMANDS, program, run
from excerpt.search import rerank
from excerpt.search.saved_queries import change_saved
from excerpt.search.usage import UsedHit, UseKind, UseLog
from excerpt.servers.agents.hook import HookRecord, append_record
from tests.cli.json_forms import documented_fields, field_paths, mismatches, printed_paths
from tests.commands import parameters_of
from tests.encoders.server import embeddings, running_server
from tests.golden import read_golden
from tests.insight.bee_notes import NOTES
from tests.search.scripted_models import ScriptedReranker

ORDER = Path(__file__).with_name("golden") / "json_order.txt"
_NAMED_BY_VAULT = ("signals", "properties", "attachments")
"""Objects whose keys are names of signals or of a note's own properties."""


def key_orders(value: Any, at: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the keys of every object in order, with the path to it."""
    if isinstance(value, list):
        for element in value:
            yield from key_orders(element, f"{at}[]")
    elif isinstance(value, dict) and not at.endswith(_NAMED_BY_VAULT):
        yield at, list(value)
        for key, inner in value.items():
            yield from key_orders(inner, f"{at}.{key}")


@pytest.fixture(scope="module")
def printed_forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Any]]:
    """Return what the commands print about one vault, by the name of the form."""
    root = tmp_path_factory.mktemp("forms")
    vault = root / "vault"
    for path, text in NOTES.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    rows = "".join(f"| frame{number} | {number * 7} grams |\n" for number in range(90))
    (vault / "Frames.md").write_text(f"| Frame | Wax |\n|---|---|\n{rows}| last | propolis |\n", encoding="utf-8")
    (vault / "Combs.md").write_text("What is on the combs is told where Swarms are.\n", encoding="utf-8")
    (vault / "Scan.md").write_bytes(b"\0\0")
    (vault / "Boat.txt").write_text("Keel, mast and rudder.\n", encoding="utf-8")
    (vault / "Swarm.png").write_bytes(b"")
    (vault / "Bad.md").write_text("---\ntags: [a\n---\nNothing.\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXCERPT_HOME", str(root / "home"))
        yield dict(_printed(vault, root))


def _printed(vault: Path, root: Path) -> Iterator[tuple[str, Any]]:
    def told(*words: str | Path) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            run([*map(str, words), "--vault", str(vault)])
        return out.getvalue()

    asked = set()

    def ask(*words: str | Path) -> Any:
        asked.add(words[0])
        return json.loads(told(*words, "--json"))

    progress = [json.loads(line) for line in told("index", "--progress").splitlines()]
    yield "progress", progress[0]
    yield "done", progress[-1]
    yield "index", ask("index", "--rebuild")
    found = ask("search", "swarm queen cells in May 2024", "--explain")
    yield "search", found
    hit = found["hits"][0]  # of the diary, so that it has a date
    yield "hit", hit
    yield "why", ask("search", "swarm queen cells", "--why", "Winter")
    yield "absent", ask("search", "swarm queen cells -varroa", "--why", "Wintr")
    queries = root / "queries.jsonl"
    queries.write_text('{"id": "a", "query": "swarm in May 2024"}\n', encoding="utf-8")
    yield "batch", ask("search", "--batch", queries)
    yield from _of_reranker(ask, queries)
    yield "pack", ask("pack", "swarm queen cells", "--budget", "100")
    yield "packed rows", ask("pack", "propolis", "--expand", "none")
    pack, answer = root / "pack.md", root / "answer.md"
    told("pack", "swarm queen cells", "-o", pack)
    answer.write_text(
        "“the hive will swarm in a week” [1]. Shake it well twice [1].\n\nNo bee says so.\n\n“No bee.\n",
        encoding="utf-8",
    )
    yield "overview", ask("overview", "hive")
    yield "related", ask("related", "Swarms")
    yield "map", ask("map", "hive")
    yield "read", ask("read", "Swarms#Signs")
    yield "peek", ask("peek", "Swarms")
    yield from _of_memories(vault, ask)
    yield "check", ask("check", answer, "--pack", pack, "--uncited")  # whose source has changed since
    yield "status", ask("status")
    yield "embedding", ask("embedding")
    yield from _of_trial(vault, ask)
    yield "doctor", ask("doctor", "--quick")
    UseLog(user_paths().use_file(vault)).record(UseKind.OPENED, [UsedHit("hive", "Bees/Swarms.md", "", 1)], time.time())
    yield "learned", ask("learned")
    yield from _of_gold(vault, root, ask)
    yield from _print_agents_json(root)
    yield from _of_order(vault, ask)
    yield "commands", asked | {"agents"}


def _of_reranker(ask: Callable[..., Any], queries: Path) -> Iterator[tuple[str, Any]]:
    settings = user_paths().settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[rerank]\nmodel = "plugin:length"\n', encoding="utf-8")
    model = ScriptedReranker(lambda _query, passage: float(len(passage)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rerank, "open_reranker", lambda _settings: model)
        hits = ask("search", "hive swarm comb")["hits"]
        yield "reranked hit", next(hit for hit in hits if "rerank" in hit)
        model.failure = "The server hangs up."
        queries.write_text('{"id": "a", "query": "hive swarm comb"}\n', encoding="utf-8")
        yield "not reranked", ask("search", "hive swarm comb")
        yield "not reranked batch", ask("search", "--batch", queries)
    settings.unlink()


def _of_trial(vault: Path, ask: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    use_file = user_paths().use_file(vault)
    UseLog(use_file).record(UseKind.OPENED, [UsedHit("hive", "Bees/Swarms.md", "", 1)], time.time())
    with running_server(embeddings) as server:
        yield "trial", ask("embedding", "--try", f"openai:{server.url}/v1#letters")
    use_file.unlink()


def _of_memories(vault: Path, ask: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    first = ask("remember", "--source", "Swarms:9", "--tag", "a", "--query", "signs")
    again = ask("remember", "--source", "Swarms:9")
    newest = ask("remember", "The queen leaves", "--replace", again["id"])
    yield "similar", {"similar": again.pop("similar"), "replaces": newest["replaces"]}
    again.pop("replaces")
    yield "remembered", again
    yield "edited", ask("edit", first["id"], "--why", "it says when")
    note = vault / "Bees/Swarms.md"
    note.write_text(note.read_text(encoding="utf-8").replace("a week", "ten days"), encoding="utf-8")
    (stale, *_) = ask("recall", "queen cells", "--stale")["memories"]
    yield (
        "recalled",
        {"memories": [{key: value for key, value in stale.items() if key not in documented_fields("Memories")}]},
    )
    yield "forgotten", ask("forget", first["id"])


def _of_gold(vault: Path, root: Path, ask: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    questions = root / "gold.jsonl"
    winter = '{"query": "winter", "relevant": [{"path": "Nowhere.md"}], "exclude": ["Combs.md"]}'
    questions.write_text(f"{winter}\n", encoding="utf-8")
    yield "gold add", ask("gold", "add", "swarm queen cells", "Swarms#Signs")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run(["gold", "import", str(questions), "--vault", str(vault)])
    yield "gold list", ask("gold", "list")
    yield "gold question", ask("gold", "list")["questions"][1]
    ask("gold", "run")
    change_saved(user_paths().saved_queries_file(vault), lambda saved: saved.with_query("Cells", "queen cells"))
    ask("news")
    (vault / "Swarm queen cells.md").write_text("# Swarm queen cells\n\nSwarm queen cells.\n", encoding="utf-8")
    note = vault / "Bees/Swarms.md"
    note.write_text(note.read_text(encoding="utf-8").replace("ten days", "two weeks"), encoding="utf-8")
    yield "news", ask("news")
    yield "gold run", ask("gold", "run")


def _print_agents_json(root: Path) -> Iterator[tuple[str, Any]]:
    def told(*words: str) -> Any:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            run([*words, "--json"])
        return json.loads(out.getvalue())

    append_record(
        user_paths().hook_folder,
        HookRecord("2026-11-25T10:00:00", "claude", "bees", ("Swarms.md:9",), "strong", 40, 9.5),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root))
        patch.chdir(root)
        yield "agents status", told("agents", "status")
        yield "agents log", told("agents", "log")


def _of_order(vault: Path, ask: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    days = "\n\n".join(f"## Day {day}\n\nA drone was seen." for day in range(14))
    (vault / "Drones.md").write_text(days, encoding="utf-8")
    yield "joined hit", ask("search", "what do I do against numb fingers?")["hits"][0]
    (vault / "Old hives.md").write_text("---\nsuperseded_by: Drones\n---\nHives were of straw.\n", encoding="utf-8")
    yield "replaced hit", ask("search", "straw hives")["hits"][0]
    yield "replaced pack", ask("pack", "straw hives")
    yield "further hit", next(hit for hit in ask("search", "a drone was seen")["hits"] if "more_of_note" in hit)
    (vault / "Skep.md").write_text("# Skep\n\nA skep is woven in Lüneburg from straw of rye.\n", encoding="utf-8")
    town = "# Lüneburg\n\nA town of merchants. Trains stop twice a day at the station.\n"
    (vault / "Lüneburg.md").write_text(town, encoding="utf-8")
    yield "linked hit", ask("search", "which railway goes where a skep is woven from rye straw")["hits"][1]
    with excerpt.open(vault, learn=True) as opened:
        result = opened.search("what do I do against numb fingers")
        opened.record_use(result, result.hits[-1])
        opened.search("drone")
        yield "hit asked before", next(hit for hit in opened.search(result.query) if hit.asked_before).to_dict()


FORMS = {
    "hit": "A hit",
    "joined hit": "A hit",
    "further hit": "A hit",
    "replaced hit": "A hit",
    "replaced pack": "pack",
    "linked hit": "A hit",
    "hit asked before": "A hit",
    "search": "search",
    "why": "search --why",
    "absent": "search --why",
    "batch": "A batch",
    "reranked hit": "A hit",
    "not reranked": "search",
    "not reranked batch": "A batch",
    "pack": "pack",
    "packed rows": "pack",
    "check": "check",
    "overview": "overview",
    "related": "related",
    "map": "map",
    "read": "read",
    "peek": "peek",
    "remembered": "Memories",
    "edited": "Memories",
    "forgotten": "Memories",
    "similar": "remember",
    "recalled": "recall",
    "index": "index",
    "progress": "index --progress",
    "status": "status",
    "embedding": "embedding",
    "trial": "embedding --try",
    "doctor": "doctor",
    "learned": "learned",
    "gold add": "A gold question",
    "gold question": "A gold question",
    "gold list": "gold list",
    "gold run": "gold run",
    "news": "news",
    "agents status": "agents status",
    "agents log": "agents log",
}


_FIELDS_OF_STORES = ("author", "shared")
"""Fields of a memory that a store shares: tests/store/test_memories.py has them."""


@pytest.mark.programs
@pytest.mark.parametrize("name", FORMS)
def test_every_printed_field_is_described(name: str, printed_forms: Mapping[str, Any]) -> None:
    assert list(mismatches(printed_forms[name], documented_fields(FORMS[name]))) == []


@pytest.mark.parametrize("heading", sorted({*FORMS.values()}))
def test_every_described_field_is_printed(heading: str, printed_forms: Mapping[str, Any]) -> None:
    """Check that every described field is printed, also in lists and objects that may be empty."""
    fields = {name: kind for name, kind in documented_fields(heading).items() if name not in _FIELDS_OF_STORES}
    all_printed = (printed_paths(printed_forms[name], fields) for name in FORMS if FORMS[name] == heading)
    assert set(field_paths(fields)) == set(chain(*all_printed))


def test_keys_are_printed_in_the_recorded_order(printed_forms: Mapping[str, Any]) -> None:
    now = {f"{name}{at}": keys for name in FORMS for at, keys in key_orders(printed_forms[name])}
    text = "".join(f"{at}: {' '.join(keys)}\n" for at, keys in now.items())
    assert text == read_golden(ORDER, text)


def test_every_command_with_json_is_tested(printed_forms: Mapping[str, Any]) -> None:
    commands = {name: program.get_command(click.Context(program), name) for name in COMMANDS}
    with_json = {name for name, one in commands.items() if any("--json" in each.opts for each in parameters_of(one))}
    assert printed_forms["commands"] == with_json


def test_the_last_line_of_progress_is_the_report(printed_forms: Mapping[str, Any]) -> None:
    assert set(printed_forms["done"]) == {"event", *documented_fields("index")}
