"""What every command prints with --json has exactly the keys that the guide's note on JSON forms describes."""

from __future__ import annotations

import contextlib
import io
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from excerpt.cli.main import COMMANDS, program, run
from excerpt.known_vaults import DEMO
from excerpt.search.usage import UseKind, UseLog
from excerpt.settings import places
from tests.insight.bees import NOTES

_NAMED_BY_VAULT = ("signals", "properties")
"""Objects whose keys are names of signals or of a note's own properties."""


def documented(heading: str, number: int = 0) -> Any:
    """An example of the note on JSON forms: the section's first, counted from 0."""
    section = re.split(r"^## ", (DEMO / "JSON forms.md").read_text(encoding="utf-8"), flags=re.M)
    text = next(part for part in section if part.startswith(f"{heading}\n"))
    return json.loads(re.findall(r"^```json\n(.*?)^```", text, re.M | re.S)[number])


def keys(value: Any, at: str = "") -> Iterator[str]:
    """Every key with the keys around it, `[]` for those of a list's elements."""
    if isinstance(value, list):
        for element in value:
            yield from keys(element, f"{at}[]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            name = f"{at}.{'*' if at.endswith(_NAMED_BY_VAULT) else key}"
            yield name
            yield from keys(inner, name)


def orders(value: Any, at: str = "") -> Iterator[tuple[str, list[str]]]:
    """The keys of every object, in their order, with the keys around it."""
    if isinstance(value, list):
        for element in value:
            yield from orders(element, f"{at}[]")
    elif isinstance(value, dict) and not at.endswith(_NAMED_BY_VAULT):
        yield at, list(value)
        for key, inner in value.items():
            yield from orders(inner, f"{at}.{key}")


def left_open(value: Any, at: str = "") -> Iterator[str]:
    """Where an example is empty or null, so that it says nothing of what may stand there."""
    if not value and value not in (0, "") and at:
        yield at
    elif isinstance(value, list):
        for element in value:
            yield from left_open(element, f"{at}[]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from left_open(inner, f"{at}.{'*' if at.endswith(_NAMED_BY_VAULT) else key}")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Any]]:
    """What the commands print about one vault, by the name of the form."""
    root = tmp_path_factory.mktemp("forms")
    vault = root / "vault"
    for path, text in NOTES.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    (vault / "Combs.md").write_text("What is on the combs is told where Swarms are.\n", encoding="utf-8")
    (vault / "Scan.md").write_bytes(b"\0\0")
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
    found = ask("search", "swarm queen cells", "--explain")
    yield "search", found
    hit = found["hits"][0]
    yield "hit", {key: value for key, value in hit.items() if key != "explanation"}
    yield "explanation", hit["explanation"]
    yield "why", ask("search", "swarm queen cells", "--why", "Winter")
    queries = root / "queries.jsonl"
    queries.write_text('{"id": "a", "query": "swarm"}\n', encoding="utf-8")
    yield "batch", ask("search", "--batch", queries)
    yield "pack", ask("pack", "swarm queen cells", "--budget", "150")
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
    yield "check", ask("check", answer, "--pack", pack, "--uncited")  # of a source that has changed since
    yield "status", ask("status")
    yield "doctor", ask("doctor", "--quick")
    UseLog(places().use_file(vault)).record(UseKind.OPEN, [("Bees/Swarms.md", "")], time.time())
    yield "learned", ask("learned")
    yield "commands", asked


def _of_memories(vault: Path, ask: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    first = ask("remember", "--source", "Swarms:9", "--tag", "a", "--query", "signs")
    again = ask("remember", "--source", "Swarms:9")
    yield "similar", {"similar": again.pop("similar")}
    yield "remembered", again
    yield "edited", ask("edit", first["id"], "--why", "it says when")
    note = vault / "Bees/Swarms.md"
    note.write_text(note.read_text(encoding="utf-8").replace("a week", "ten days"), encoding="utf-8")
    (stale, *_) = ask("recall", "queen cells", "--stale")["memories"]
    yield "standing", {"standing": stale["standing"]}
    yield "recalled", {key: value for key, value in stale.items() if key != "standing"}
    yield "forgotten", ask("forget", first["id"])


FORMS = {
    "hit": ("A hit", 0),
    "explanation": ("A hit", 1),
    "search": ("search", 0),
    "why": ("search", 1),
    "batch": ("A batch", 0),
    "pack": ("pack", 0),
    "check": ("check", 0),
    "overview": ("overview", 0),
    "related": ("related", 0),
    "map": ("map", 0),
    "read": ("read", 0),
    "peek": ("peek", 0),
    "remembered": ("Memories", 0),
    "edited": ("Memories", 0),
    "forgotten": ("Memories", 0),
    "similar": ("Memories", 1),
    "standing": ("Memories", 2),
    "index": ("index", 0),
    "progress": ("index", 1),
    "status": ("status", 0),
    "doctor": ("doctor", 0),
    "learned": ("learned", 0),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_keys_that_are_printed_are_those_that_are_described(name: str, printed: Mapping[str, Any]) -> None:
    example = documented(*FORMS[name])
    unsaid = tuple(f"{at}{inner}" for at in left_open(example) for inner in (".", "["))
    assert {key for key in keys(printed[name]) if not key.startswith(unsaid)} == set(keys(example))


@pytest.mark.parametrize("name", FORMS)
def test_the_keys_are_printed_in_the_order_that_is_described(name: str, printed: Mapping[str, Any]) -> None:
    described = dict(orders(documented(*FORMS[name])))
    for at, found in orders(printed[name]):
        if at in described:
            ordered = [key for key in described[at] if key in found]
            assert [key for key in found if key in ordered] == ordered, at


def test_no_command_is_left_out(printed: Mapping[str, Any]) -> None:
    commands = {name: program.get_command(click.Context(program), name) for name in COMMANDS}
    with_json = {name for name, one in commands.items() if one and any("--json" in each.opts for each in one.params)}
    assert printed["commands"] == with_json


def test_the_last_line_of_progress_is_the_report(printed: Mapping[str, Any]) -> None:
    assert set(printed["done"]) == {"event", *documented("index")}


def test_a_memory_that_is_recalled_has_three_keys_more(printed: Mapping[str, Any]) -> None:
    assert set(printed["recalled"]) == {*documented("Memories"), "score", "confidence", "answers"}
