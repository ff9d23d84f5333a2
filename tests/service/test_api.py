"""Tests of the Python API, which programs, the commands and the MCP server use."""

from __future__ import annotations

import ast
import asyncio
import csv
import importlib.util
import inspect
import io
import json
import os
import pkgutil
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

import excerpt
import excerpt.aio
import excerpt.service.public
from excerpt.base.settings import PackSettings, user_paths
from excerpt.search.saved_queries import change_saved
from excerpt.vault.known_vaults import DEMO
from tests.cli.conftest import Excerpt
from tests.cli.conftest import excerpt as run_excerpt
from tests.cli.conftest import home as excerpt_home
from tests.cli.conftest import vault as small_vault
from tests.conftest import scaled_examples

command, home, vault = run_excerpt, excerpt_home, small_vault  # fixtures
FRONT_ENDS = ("cli", "servers", "tui")
BELOW = [
    "base",
    "corpus",
    "encoders",
    "index",
    "insight",
    "memory",
    "pack",
    "search",
    "service",
    "text",
    "vault",
]
EXAMPLES = Path(__file__).parents[2] / "docs/examples"


@pytest.fixture
def opened(home: Path, vault: Path) -> Iterator[excerpt.Vault]:
    with excerpt.open(vault) as found:
        yield found


# --- questions --------------------------------------------------------------------------------------------------------


def test_filters_can_be_given_as_data(opened: excerpt.Vault) -> None:
    everything = opened.search("notes", limit=50)
    paths = {hit.fragment.path for hit in everything}
    assert len(everything) == len(everything.hits) > 1
    one = sorted(paths)[0]
    assert {hit.fragment.path for hit in opened.search("notes", where={"path": one}, limit=50)} == {one}
    assert {hit.fragment.path for hit in opened.search("notes", where={"-path": one}, limit=50)} == paths - {one}
    assert {pack.path for pack in opened.pack("notes", where={"path": one}).passages} == {one}
    assert opened.search("a notes | b notes", where={"path": [one, one]}).hits


def test_a_hit_and_a_result_print_on_one_line(opened: excerpt.Vault) -> None:
    result = opened.search("notes")
    hit = result.hits[0]
    assert (hit.path, hit.text) == (hit.fragment.path, hit.fragment.text)
    assert re.fullmatch(r"Hit\(Fragment\('.*\.md', lines \d+-\d+, tokens \d+\), score \d\.\d+, \w+\)", repr(hit))
    assert repr(result).startswith("Result('notes', ")


def test_a_hit_has_the_tags_and_properties_of_its_note(opened: excerpt.Vault, vault: Path) -> None:
    text = "---\ntags: [clock, a/b]\naliases: [Watch]\nstatus: [draft, old]\n---\nA clock runs on quartz.\n"
    (vault / "Quartz.md").write_text(text, encoding="utf-8")
    os.utime(vault / "Quartz.md", (0, 0))
    (hit,) = (hit for hit in opened.search("quartz") if hit.path == "Quartz.md")
    assert (hit.tags, hit.properties) == (("clock", "a/b"), {"status": ("draft", "old")})
    assert (hit.note.title, hit.note.aliases, hit.note.modified) == ("Quartz", ("Watch",), "1970-01-01")
    assert opened.search_for_pack("quartz").hits[0].note == hit.note
    opened.close()
    assert hit.tags  # read with the result


def test_every_json_field_of_a_hit_is_an_attribute(opened: excerpt.Vault) -> None:
    hit = opened.search("sync conflict").hits[0]
    form = hit.to_dict()
    signals = {signal.name: signal.value for signal in hit.signals}
    assert {name: values["value"] for name, values in form.pop("signals").items()} == signals
    assert {name: getattr(hit, name) for name in form} == {**form, "heading_path": tuple(form["heading_path"])}


def test_the_notes_of_a_vault_are_listed_with_their_data(opened: excerpt.Vault) -> None:
    notes = {note.path: note.tags for note in opened.notes()}
    assert notes == {"Colour.md": (), "Cooking/Lentil soup.md": (), "Sync.md": ("howto",)}
    assert [note.title for note in opened.notes(where={"tag": "howto"})] == ["Sync"]
    assert opened.notes(where={"-path": ["Cooking/", "Sync"]})[0].path == "Colour.md"


@pytest.mark.parametrize(
    "day", [date(2025, 5, 1), datetime(2025, 5, 1, 23, 30), [date(2025, 5, 1)]], ids=["day", "time", "list"]
)
def test_the_value_of_a_filter_may_be_a_date_object(opened: excerpt.Vault, vault: Path, day: date | list[date]) -> None:
    (vault / "Diary.md").write_text("---\ndate: 2025-05-01\n---\nTea with Ada.\n")
    opened.refresh()
    assert [hit.path for hit in opened.search("tea", where={"date": day})] == ["Diary.md"]
    assert "Diary.md" not in [hit.path for hit in opened.search("tea", where={"-date": day})]


def test_a_file_without_text_is_found_by_name_and_filter_and_packed_by_its_name(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    texts = {"Ada Lovelace.md": "", "Jürgen Größe.md": "\n\n", "山田太郎.md": "", "Лев.org": "#+TITLE: Лев Толстой\n"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "Notes.md").write_text("A letter to [[山田太郎]] about [[Ada Lovelace]].\n", encoding="utf-8")
    with excerpt.open(folder) as people:
        queries = {
            "ada lovelace": "Ada Lovelace.md",
            "groesse": "Jürgen Größe.md",
            "山田": "山田太郎.md",
            "толстой": "Лев.org",
        }
        assert {query: people.search(query).hits[0].path for query in queries} == queries
        listed = {hit.path for query in ("file:ada", "from:Notes") for hit in people.search(query).hits}
        assert listed == {"Ada Lovelace.md", "山田太郎.md"}
        assert people.search("ada lovelace").confidence == "strong"
        assert people.pack("ada lovelace", scope="note").text.startswith(
            "## [1] Ada Lovelace\nFrom Ada Lovelace.md:1, "
        )
        assert people.read("Ada Lovelace").text == ""
        assert people.peek("Ada Lovelace").linked_from == 1


def test_an_unknown_filter_is_refused(opened: excerpt.Vault) -> None:
    with pytest.raises(ValueError, match="'colour' with 'red' is no filter"):
        opened.search("notes", where={"colour": "red"})


def test_a_literal_question_has_no_filters(opened: excerpt.Vault) -> None:
    question = "what does -notes path:Nowhere/ do"
    assert not opened.search(question).matched
    assert opened.search(question, literal=True).matched
    assert opened.pack(question, literal=True, fill="budget").passages


def test_a_passage_has_the_score_for_the_wording_that_it_answers_best(opened: excerpt.Vault) -> None:
    wordings = ("sync conflict", "red lentils")
    scores = [{hit.fragment_id: hit.score for hit in opened.search(each, limit=99)} for each in wordings]
    assert {hit.fragment_id: hit.score for hit in opened.search(*wordings, limit=99)} == {
        each: max(one.get(each, 0.0) for one in scores) for each in scores[0] | scores[1]
    }
    assert opened.search_for_pack(*wordings).query == "sync conflict | red lentils"
    with pytest.raises(TypeError, match="query"):
        opened.search_for_pack()  # type: ignore[call-arg]


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": -1}, {"budget": -1}, {"neighbors": -1}])
def test_a_number_out_of_range_is_refused(opened: excerpt.Vault, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        opened.pack("notes", **options)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    "ask",
    [
        lambda vault: vault.search("notes", limit=10_001),
        lambda vault: vault.search_many(["notes"], limit=10_001),
        lambda vault: vault.pack("notes", neighbors=501),
        lambda vault: vault.pack("notes", budget=10_000_001),
        lambda vault: vault.overview("notes", budget=10_000_001),
        lambda vault: vault.related("Sync.md", limit=10_001),
        lambda vault: vault.related_many(limit=10_001),
        lambda vault: vault.map(limit=10_001),
        lambda vault: vault.peek("Sync.md", first_lines=10_001),
        lambda vault: vault.memories.recall("notes", limit=10_001),
    ],
)
def test_every_number_has_a_maximum(opened: excerpt.Vault, ask: Callable[[excerpt.Vault], object]) -> None:
    with pytest.raises(excerpt.InputError, match=r"must be at most (500|10,000|10,000,000), not"):
        ask(opened)


@pytest.mark.parametrize("key", ["search.limit", "pack.neighbors", "pack.budget"])
def test_a_setting_cannot_exceed_the_maximum_of_an_argument(home: Path, vault: Path, key: str) -> None:
    with pytest.raises(excerpt.SettingsError, match=key.partition(".")[2]):
        excerpt.open(vault, settings={key: 10_000_001})


def test_settings_and_an_index_folder_can_be_given_to_open(home: Path, vault: Path, tmp_path: Path) -> None:
    settings = excerpt.Settings(pack=PackSettings(budget=100))
    with excerpt.open(vault, settings=settings, index=tmp_path / "index") as opened:
        assert opened.pack("notes").budget == 100
    assert (tmp_path / "index").is_dir()
    assert not user_paths().index_folder(vault).exists()
    with pytest.raises(excerpt.VaultError, match="is inside the vault"):
        excerpt.open(vault, index=vault / "index")


def test_settings_given_to_open_override_the_users_settings(home: Path, vault: Path) -> None:
    file = user_paths().settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[pack]\nbudget = 90\nneighbors = 3\n", encoding="utf-8")
    with excerpt.open(vault, settings={"pack.budget": 100}) as opened:
        assert (opened.settings.pack.budget, opened.settings.pack.neighbors) == (100, 3)
    with pytest.raises(excerpt.SettingsError, match=r"pack\.bugdet"):
        excerpt.open(vault, settings={"pack.bugdet": 100})


def test_a_setting_of_an_older_version_is_named_when_a_vault_is_opened(home: Path, vault: Path) -> None:
    file = user_paths().settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[pack]\nlimit = 3\n", encoding="utf-8")
    told: list[str] = []
    with excerpt.open(vault, on_notice=told.append):
        assert [sentence for sentence in told if "pack.limit" in sentence] == [
            f"{file}: pack.limit has no effect any more: packs end by pack.fill and pack.budget."
        ]


def test_a_gold_run_takes_the_same_settings_as_opening_a_vault(opened: excerpt.Vault) -> None:
    opened.gold.add("sync conflict", "Sync.md")
    whole = replace(opened.settings, search=replace(opened.settings.search, per_note=1))
    reports = [opened.run_gold(settings=settings) for settings in ({"search.per_note": 1}, whole)]
    assert [report.settings for report in reports] == [{"search.per_note": 1}] * 2


def test_many_queries_are_answered_in_order_like_single_ones(opened: excerpt.Vault) -> None:
    queries = ["lentil soup", "sync conflict", "lentil soup"]
    results = opened.search_many(iter(queries), limit=1)
    assert [result.query for result in results] == queries
    assert [result.hits for result in results] == [opened.search(query, limit=1).hits for query in queries]


# --- threads ----------------------------------------------------------------------------------------------------------

THREADS = 8


def mixed_calls(vault: excerpt.Vault) -> list[Callable[[], object]]:
    """Return calls of every kind, whose answers are the same whenever they are made."""
    queries = ["sync conflict", "lentil soup", '"two devices"', "tag:howto | banana", "!s how ripe"]
    asks: list[Callable[[str], object]] = [
        lambda query: vault.search(query).hits,
        lambda query: vault.pack(query, budget=200),
        lambda query: [result.hits for result in vault.search_many([query, f"{query} note"])],
        lambda query: vault.explain(vault.search(query)),
        vault.map,
        lambda query: vault.overview(query).sections,
        vault.memories.recall,
        lambda query: vault.why_not(query, "Sync"),
    ]
    notes: list[Callable[[], object]] = [lambda: vault.read("Sync"), lambda: vault.peek("Sync"), vault.status]
    return [*(partial(ask, query) for ask in asks for query in queries), *notes]


def answer_in_threads(calls: Sequence[Callable[[], object]], chosen: Sequence[int]) -> list[object]:
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(lambda number: calls[number](), chosen))


@pytest.mark.programs
@pytest.mark.hypothesis  # its moments are random, so `make properties` runs it
def test_threads_get_the_same_answers_as_one_thread(opened: excerpt.Vault) -> None:
    opened.memories.remember("Two devices changed one note.")
    calls = mixed_calls(opened)
    serial = [call() for call in calls]
    chosen = random.Random(7).choices(range(len(calls)), k=scaled_examples(300))
    assert answer_in_threads(calls, chosen) == [serial[number] for number in chosen]


@pytest.mark.programs
@pytest.mark.hypothesis
def test_threads_get_answers_while_the_vault_is_updated_and_closed(opened: excerpt.Vault) -> None:
    opened.memories.remember("Two devices changed one note.")
    calls = mixed_calls(opened)
    serial = [call() for call in calls]
    chosen = random.Random(8).choices(range(len(calls)), k=scaled_examples(150))
    with ThreadPoolExecutor(1) as other:
        changes = [opened.close, opened.reload, opened.refresh, opened.load]
        changed = other.map(lambda number: changes[number % len(changes)](), range(40))
        assert answer_in_threads(calls, chosen) == [serial[number] for number in chosen]
        assert len(list(changed)) == 40


@pytest.mark.programs
def test_threads_can_save_memories(opened: excerpt.Vault) -> None:
    texts = [f"Memory {number} of {name}." for number in range(10) for name in ("bees", "tea", "honey")]
    kept = answer_in_threads([partial(opened.memories.remember, text) for text in texts], range(len(texts)))
    assert [each.text for each in kept] == texts  # type: ignore[attr-defined]
    assert sorted(each.text for each in opened.memories.all().memories) == sorted(texts)


def test_a_search_does_not_wait_for_an_update(opened: excerpt.Vault, vault: Path) -> None:
    opened.load()
    (vault / "Quartz.md").write_text("A clock runs on quartz.\n", encoding="utf-8")
    found: list[excerpt.Result] = []

    def search_in_a_thread(_: excerpt.Progress) -> None:
        searching = threading.Thread(target=lambda: found.append(opened.search("lentil soup")))
        searching.start()
        searching.join(timeout=60)

    opened.refresh(search_in_a_thread)
    assert found[0].hits


@pytest.mark.programs
def test_a_vault_opened_in_one_thread_can_be_used_by_other_threads(opened: excerpt.Vault, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "Soup.md").write_text("A soup of lentils.\n", encoding="utf-8")
    with excerpt.open(tmp_path / "other") as other:
        both = [partial(vault.search, f"soup {number}") for number in range(50) for vault in (opened, other)]
        serial = [call().hits for call in both]
        assert [result.hits for result in answer_in_threads(both, range(len(both)))] == serial  # type: ignore[attr-defined]


# --- texts ------------------------------------------------------------------------------------------------------------


def test_the_text_of_a_result_names_the_notes_in_it(opened: excerpt.Vault, vault: Path) -> None:
    opened.memories.remember("Two devices changed one note.")
    (vault / "Devices.md").write_text("Devices keep a history of changes, as [[Sync]] says.\n", encoding="utf-8")
    related = opened.related("Sync").text
    assert related.startswith("# Related to Sync `Sync.md`\n\n- Devices `Devices.md:1`: it links to this")
    assert "`tag:howto`: 2 passages in 1 note\n" in opened.map("note").text
    peek = opened.peek("Sync").text
    assert "\n- tag: howto\n" in peek
    assert "\n  - Conflicts `7-9`: " in peek
    assert opened.read("Sync", lines=(7, 7)).text == "## Conflicts"
    assert opened.memories.recall("devices")[0].text == "Two devices changed one note."


def test_the_text_of_an_empty_result_is_empty(opened: excerpt.Vault) -> None:
    assert [opened.overview("zxqvb wkkjr").text, opened.map('"zxqvb wkkjr"').text] == ["", ""]


def test_a_note_name_never_starts_a_line_of_a_text(opened: excerpt.Vault, vault: Path) -> None:
    text = '---\ntitle: "Sync\\n# Trap"\ntags: [howto]\n---\nNotes of devices are synchronised. See [[Sync]].\n'
    (vault / "Trap.md").write_text(text, encoding="utf-8")
    for text in (opened.related("Sync.md").text, opened.peek("Trap.md").text, opened.map("devices").text):
        assert "Trap" in text or "howto" in text
        assert "\n# Trap" not in text


def test_every_answer_comes_from_one_state_of_the_vault(opened: excerpt.Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    run, snapshots = excerpt.Vault.run_in_one_snapshot, list[object]()

    def count_snapshot(vault: excerpt.Vault, compute: Callable[[], Any]) -> Any:
        snapshots.append(compute)
        return run(vault, compute)

    monkeypatch.setattr(excerpt.Vault, "run_in_one_snapshot", count_snapshot)
    hit = opened.search("notes").hits[0]
    opened.search_for_pack("notes")
    opened.pack("notes")
    opened.link(hit)
    opened.check_places("A claim [1].", ["Sync.md:1-2"])
    opened.related("Sync.md")
    assert len(snapshots) == 6


# --- asyncio ----------------------------------------------------------------------------------------------------------


async def test_several_asyncio_tasks_can_await_methods_of_one_vault(home: Path, vault: Path) -> None:
    async with excerpt.aio.open(vault) as opened:
        results = await asyncio.gather(*(opened.search("notes", limit=3) for _ in range(8)))
        packed = await opened.pack("notes", budget=300)
        memories = await opened.run(lambda vault: vault.memories.all().memories)
    with excerpt.open(vault) as twin:
        assert {result.hits for result in results} == {twin.search("notes", limit=3).hits}
        assert packed.text == twin.pack("notes", budget=300).text
    assert memories == ()


def test_all_results_of_a_vault_can_be_awaited() -> None:
    methods = {name for name, member in vars(excerpt.Vault).items() if inspect.isfunction(member) and name[0] != "_"}
    assert methods - set(dir(excerpt.aio.AsyncVault)) == {"close", "run_in_one_snapshot", "without_comments"}


async def test_the_event_loop_continues_while_a_vault_is_searched(home: Path, vault: Path) -> None:
    async with excerpt.aio.open(vault) as opened:
        ticks = 0
        asked = asyncio.create_task(opened.run(lambda _: time.sleep(0.2)))
        while not asked.done():
            ticks += 1
            await asyncio.sleep(0.01)
    assert ticks > 5


async def test_an_awaited_method_raises_the_same_errors_as_the_plain_method(home: Path, tmp_path: Path) -> None:
    with pytest.raises(excerpt.VaultError):
        async with excerpt.aio.open(tmp_path / "missing"):
            pass


# --- the module -------------------------------------------------------------------------------------------------------


def in_new_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_importing_the_package_imports_no_large_module() -> None:
    loaded = in_new_python("import excerpt, sys; print(*sys.modules)").split()
    assert not {"numpy", "sqlite3", "msgspec", "click", "textual", "excerpt.service.api"} & set(loaded)


def test_every_public_name_is_where_type_checkers_expect_it() -> None:
    public = {name: value for name, value in vars(excerpt.service.public).items() if not name.startswith("__")}
    assert sorted(public) == excerpt.__all__
    assert {name: getattr(excerpt, name) for name in public} == public


def imports_for_types(module: ModuleType) -> dict[str, object]:
    """Return what a module imports for type checkers alone, by name."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: getattr(importlib.import_module(str(node.module)), alias.name)
        for node in imports
        for alias in node.names
    }


def classes_in(hint: Any) -> set[type]:
    """Return excerpt's classes in a type hint, also those in its arguments."""
    parts = hint if isinstance(hint, list) else get_args(hint)
    own = {hint} if isinstance(hint, type) and hint.__module__.startswith("excerpt") else set()
    return own.union(*map(classes_in, parts))


def classes_of_members(owner: type | ModuleType) -> set[type]:
    """Return the classes in the annotations of the public fields, properties and functions of a class or module."""
    names = imports_for_types(sys.modules[owner.__module__] if isinstance(owner, type) else owner)
    members = {name: member for name, member in vars(owner).items() if not name.startswith("_")}
    functions = [each.fget if isinstance(each, property) else each for each in members.values()]
    annotated = [each for each in functions if inspect.isfunction(each)]
    if isinstance(owner, type):
        annotated.append(owner)  # type: ignore[arg-type]  # its fields
    hints = [hint for each in annotated for hint in get_type_hints(each, localns=names).items()]
    return set().union(*(classes_in(hint) for name, hint in hints if not name.startswith("_")))


@pytest.mark.programs
def test_every_parameter_and_return_type_is_public() -> None:
    public = {getattr(excerpt, name) for name in excerpt.__all__}
    found, new = set[type](), {excerpt.Vault, excerpt.Memories, excerpt.Gold}
    new |= classes_in(list(get_type_hints(excerpt.open).values()))
    while new:
        found |= new
        new = set().union(*map(classes_of_members, new)) - found
    assert {each.__name__ for each in found - public} == set()


def test_every_error_of_the_engine_is_public_or_a_subclass_of_a_public_one() -> None:
    for folder in (
        "base",
        "corpus",
        "encoders",
        "index",
        "insight",
        "memory",
        "pack",
        "search",
        "service",
        "text",
        "vault",
    ):
        package = importlib.import_module(f"excerpt.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    errors = [excerpt.ExcerptError]
    for error in errors:
        errors += [
            each
            for each in error.__subclasses__()
            if each.__module__.startswith("excerpt.") and each.__module__.split(".")[1] not in FRONT_ENDS
        ]
    public = {getattr(excerpt, name) for name in excerpt.__all__} - {excerpt.ExcerptError}
    others = {error.__name__ for error in errors[1:] if not public.intersection(error.__mro__)}
    caught_below = {"ReadError", "FileOpenError", "OcrMissingError"}
    assert others - caught_below == {"StreamError"}  # of commands alone


def test_a_value_is_a_dataclass_if_it_is_public_and_else_a_struct() -> None:
    sources = Path(excerpt.__file__).parent.rglob("*.py")
    dataclasses = {
        name
        for source in sources
        for name in re.findall(r"^@dataclass\(.*slots=True.*\)\nclass (\w+)", source.read_text("utf-8"), re.MULTILINE)
    }
    without_msgspec = {"InputLine", "HookEvent", "HookRecord", "HookState"}  # of the prompt hook
    hidden_from_rich = {"ServerKey"}
    assert dataclasses - without_msgspec - hidden_from_rich <= set(excerpt.__all__)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Engine'"):
        _ = excerpt.Engine  # type: ignore[attr-defined]


# --- the index --------------------------------------------------------------------------------------------------------


def test_a_missing_folder_is_an_error_when_it_is_opened(home: Path, tmp_path: Path) -> None:
    with pytest.raises(excerpt.VaultError, match=re.escape(str(tmp_path / "none"))):
        excerpt.open(tmp_path / "none")


def test_the_first_question_indexes_the_vault_and_reports_progress(home: Path, vault: Path) -> None:
    told: list[excerpt.Progress] = []
    with excerpt.open(vault, on_progress=told.append) as found:
        assert not told
        assert found.search("lentil soup").hits[0].fragment.path == "Cooking/Lentil soup.md"
    assert told[-1].notes_total == 3


def test_without_refresh_an_index_is_required(home: Path, vault: Path) -> None:
    with excerpt.open(vault, refresh=False) as found, pytest.raises(excerpt.IndexUnusableError):
        found.search("lentil soup")


def test_reload_switches_to_an_index_that_another_process_has_committed(opened: excerpt.Vault, vault: Path) -> None:
    opened.load()
    (vault / "Quartz.md").write_text("A clock runs on quartz.\n", encoding="utf-8")
    with excerpt.open(vault) as other:
        other.load()
    assert opened.search("quartz").confidence is excerpt.Confidence.NOTHING
    assert opened.reload()
    assert opened.search("quartz").hits[0].fragment.path == "Quartz.md"
    assert not opened.reload()


def test_refresh_indexes_changes(opened: excerpt.Vault, vault: Path) -> None:
    opened.load()
    (vault / "Quartz.md").write_text("A clock runs on quartz.\n", encoding="utf-8")
    assert opened.refresh().added == 1
    assert opened.search("quartz").hits[0].fragment.path == "Quartz.md"


def test_a_damaged_index_is_rebuilt_and_reported(home: Path, vault: Path) -> None:
    with excerpt.open(vault) as found:
        found.load()
    (user_paths().index_folder(vault) / "catalog.sqlite").write_bytes(b"no database")
    told: list[str] = []
    with excerpt.open(vault, on_notice=told.append) as found:
        assert found.search("lentil soup").hits
    assert any("catalog" in sentence for sentence in told)


def test_a_closed_vault_opens_again_with_the_next_question(opened: excerpt.Vault) -> None:
    opened.close()
    assert opened.search("lentil soup").hits


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
def test_files_made_by_a_program_are_private_for_any_umask(tmp_path: Path, vault: Path) -> None:
    code = (
        "import os, excerpt; os.umask(0o022)\n"
        f"with excerpt.open({str(vault)!r}) as v: v.memories.remember('kept'); v.load()\n"
        f"open({str(tmp_path / 'own')!r}, 'w')"
    )
    in_new_python(code, EXCERPT_HOME=str(tmp_path / "home"))
    for folder in ("cache", "data", "state"):
        assert (tmp_path / "home" / folder).stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o644


# --- the commands' results --------------------------------------------------------------------------------------------

ASKED: Sequence[tuple[tuple[str, ...], Callable[[excerpt.Vault], Any]]] = (
    (("search", "sync conflict"), lambda v: v.search("sync conflict").to_dict()),
    (("search", "sync", "--why", "Colour"), lambda v: v.why_not("sync", "Colour").to_dict()),
    (("pack", "sync conflict"), lambda v: v.pack("sync conflict").to_dict()),
    (("pack", "sync", "soup", "--budget", "90"), lambda v: v.pack("sync", "soup", budget=90).to_dict()),
    (("read", "Sync:5-9"), lambda v: v.read("Sync", lines=(5, 9)).to_dict()),
    (("peek", "Sync"), lambda v: v.peek("Sync").to_dict()),
    (("related", "Sync"), lambda v: v.related("Sync").to_dict()),
    (("overview", "sync"), lambda v: v.overview("sync").to_dict()),
    (("map", "sync"), lambda v: v.map("sync").to_dict()),
    (("status",), lambda v: {**v.status().to_dict(), "watched": False, "savings": None}),
    (("recall",), lambda v: {"memories": [found.to_dict() for found in v.memories.recall()]}),
)


@pytest.mark.parametrize(("words", "ask"), ASKED, ids=[" ".join(words) for words, _ in ASKED])
def test_to_dict_equals_the_json_of_the_command(
    command: Excerpt, vault: Path, words: tuple[str, ...], ask: Callable[[excerpt.Vault], Any]
) -> None:
    command("remember", "Meet before you change.", "--vault", vault)
    printed = command(*words, "--json", "--vault", vault).json
    with excerpt.open(vault) as opened:
        asked = ask(opened)
    for form in (printed, asked):
        form.pop("elapsed_ms", None)
    assert asked == printed


def test_a_pack_equals_the_text_of_the_command(command: Excerpt, vault: Path) -> None:
    printed = command("pack", "sync conflict", "--vault", vault).out
    with excerpt.open(vault) as opened:
        assert opened.pack("sync conflict").text == printed


def test_an_unknown_strategy_is_reported_with_the_known_ones(opened: excerpt.Vault) -> None:
    with pytest.raises(excerpt.ExcerptError, match=r"best.*auto, adaptive"):
        opened.search("sync", strategy="best")


def test_a_fragment_is_found_by_its_id_and_in_its_note(opened: excerpt.Vault) -> None:
    fragment = opened.search("devices meet").hits[0].fragment
    assert opened.fragment(fragment.id) == fragment
    assert fragment in opened.fragments("Sync")
    assert opened.fragment("none") is None


def test_the_word_at_the_cursor_is_completed(opened: excerpt.Vault) -> None:
    found = opened.complete("history -file:Syn lentils", cursor=len("history -file:Syn"))
    (completion, *_) = found
    assert ("history -file:Syn lentils"[found.start : found.end], completion.text) == ("-file:Syn", "-file:Sync")
    assert opened.complete("dev").completions[0].text == "devices"


def test_tokens_are_counted_by_the_tokenizer_of_the_index(opened: excerpt.Vault) -> None:
    packed = opened.pack("sync conflict")
    assert opened.tokens(packed.text) == packed.tokens


def test_an_answer_is_checked_against_its_pack(opened: excerpt.Vault) -> None:
    packed = opened.pack("sync conflict")
    assert opened.check("Each device “keeps its own history of changes” [1].", packed.text).holds
    assert not opened.check("Each device “keeps no history of its own changes” [1].", packed.text).holds


def test_a_memory_is_saved_found_changed_and_forgotten(opened: excerpt.Vault) -> None:
    kept = opened.memories.remember(source="Sync:9", tags=["sync"]).memory
    assert kept.text.startswith("A sync conflict arises")
    found = opened.memories.recall("conflict", check_sources=True)
    assert [(each.memory.id, each.source_check and each.source_check.kind) for each in found] == [(kept.id, "fresh")]
    assert opened.memories.edit(kept.id, why="asked").why == "asked"
    opened.memories.forget(kept.id)
    assert not opened.memories.recall()
    assert opened.memories.restore(kept.id).id == kept.id


def test_the_notes_nearest_to_several_notes_are_found_at_once(opened: excerpt.Vault) -> None:
    found = opened.related_many(["Sync"], limit=2)
    ((path, similar),) = found.items()
    assert path.endswith("Sync.md")
    assert len(similar) <= 2
    assert opened.related_many(limit=2)[path] == similar
    with pytest.raises(excerpt.NotFoundError):
        opened.related_many(["Nowhere"])


# --- examples ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def notes(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the guide to ~/notes, with a small vault at ~/work."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "Sync.md").write_text("A sync conflict is solved by hand.\n", encoding="utf-8")
    for note in DEMO.glob("*.md"):
        (tmp_path / "notes").mkdir(exist_ok=True)
        (tmp_path / "notes" / note.name).write_bytes(note.read_bytes())
    return tmp_path / "notes"


@pytest.mark.programs
def test_examples_of_the_guide_run_unchanged(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (DEMO / "Use excerpt from Python.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S):
        exec(compile(block, "guide", "exec"), names)
    assert names["check"].holds
    assert "No such note." in capsys.readouterr().out


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.programs
def test_the_example_asks_an_llm_with_a_pack_and_checks_its_answer(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = example("ask")
    with model_server("The budget “is the most tokens a pack may hold” [1].") as (url, requests):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert ask.main("~/notes", "what is the token budget?") == 0
    assert "## [1] Token budget" in requests[0]["messages"][1]["content"]
    with model_server("The budget “is a soft limit of letters” [1].") as (url, _):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert ask.main("~/notes", "what is the token budget?") == 1
    assert "Not in the sources: is a soft limit of letters" in capsys.readouterr().err


@contextmanager
def model_server(answer: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve OpenAI's API, with one `answer` to everything; yield its address and the requests it gets."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"choices": [{"message": {"content": answer}}]}).encode())

        def log_message(self, *_: object) -> None:
            """Write no log."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()
        thread.join()


def test_the_example_answers_questions_as_a_table(notes: Path) -> None:
    out = io.StringIO(newline="")
    example("questions_to_csv").write_answers("~/notes", ["token budget\n", "\n", "what does tag:recipe do?\n"], out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert [row["question"] for row in rows] == ["token budget"] * 3 + ["what does tag:recipe do?"] * 3
    assert (rows[0]["path"], rows[0]["tags"]) == ("Token budget.md", "guide packs llm")


@pytest.mark.programs
async def test_the_example_of_a_web_endpoint_requires_its_token(notes: Path) -> None:
    port = unused_port()
    serving = asyncio.create_task(example("web_endpoint").serve("~/notes", "secret", port))
    head, body = await get(port, "/?q=token+budget", "secret")
    assert "200" in head
    assert json.loads(body)["hits"][0]["path"] == "Token budget.md"
    assert "401" in (await get(port, "/?q=token+budget", "wrong"))[0]
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving


def unused_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


async def get(port: int, path: str, token: str) -> list[str]:
    """Return the head and the body of an HTTP answer, once something listens at `port`."""
    for _ in range(200):
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            answer = (await reader.read()).decode()
            writer.close()
            return answer.split("\r\n\r\n", 1)
        await asyncio.sleep(0.05)
    raise AssertionError("nothing listens")


@pytest.mark.programs
def test_the_example_that_reports_news_reports_each_passage_once(notes: Path) -> None:
    report = example("nightly_news").report
    file = user_paths().saved_queries_file(notes)
    change_saved(file, lambda saved: saved.with_query("Budgets", "token budget"))
    assert report("~/notes") == ""
    (notes / "New.md").write_text("# New\n\nThe token budget of a pack was doubled.\n", encoding="utf-8")
    assert report("~/notes").startswith("## Budgets: 1 new\n\n- New (New.md:")
    assert report("~/notes") == ""


@pytest.mark.programs
def test_the_example_checks_an_answer_in_a_pipeline(
    notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with excerpt.open(notes) as vault:
        (tmp_path / "pack.md").write_text(vault.pack("token budget").text, encoding="utf-8")
    check = partial(example("check_answer").main, "~/notes", str(tmp_path / "answer.md"), str(tmp_path / "pack.md"))
    (tmp_path / "answer.md").write_text("It “is the most tokens a pack may hold” [1].", encoding="utf-8")
    assert check() == 0
    (tmp_path / "answer.md").write_text("It “is a soft limit of letters” [77].", encoding="utf-8")
    assert check() == 1
    assert "[77], line 1: unknown\n" in capsys.readouterr().out


@pytest.mark.programs
def test_the_example_lists_missing_links_as_pairs_of_notes(notes: Path) -> None:
    for name, text in (("Bees", "A bee colony winters as a cluster."), ("Hives", "The cluster of a bee colony.")):
        (notes / f"{name}.md").write_text(f"{text}\n", encoding="utf-8")
    with excerpt.open(notes) as vault:
        pairs = example("missing_links").unlinked_pairs(vault)
    unlinked = {(first, second) for _, first, second in pairs}
    assert ("Bees.md", "Hives.md") in unlinked
    assert ("Packs.md", "Token budget.md") not in unlinked


def test_every_example_is_tested() -> None:
    named = set(re.findall(r'example\("(\w+)"\)', Path(__file__).read_text(encoding="utf-8")))
    assert named == {file.stem for file in EXAMPLES.glob("*.py")}


# --- empty arguments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        ({"format": ""}, "format ''"),
        ({"scope": ""}, "scope ''"),
        ({"strategy": ""}, "strategy ''"),
        ({"tokenizer": ""}, "tokenizer ''"),
        ({"template": ""}, "template"),
    ],
)
def test_an_empty_format_or_scope_or_strategy_of_a_pack_raises_a_clear_error(
    opened: excerpt.Vault, given: dict[str, Any], fact: str
) -> None:
    with pytest.raises(excerpt.SettingsError) as error:
        opened.pack("sync", **given)
    assert fact in error.value.message


@pytest.mark.parametrize("ask", ["read", "peek", "related", "fragments"])
def test_an_empty_name_of_a_note_is_an_error(opened: excerpt.Vault, ask: str) -> None:
    with pytest.raises(excerpt.NotFoundError, match="''"):
        getattr(opened, ask)("")


@pytest.mark.parametrize("ask", ["edit", "check_source", "follow", "update", "keep", "forget", "restore"])
def test_an_empty_id_of_a_memory_is_an_error(opened: excerpt.Vault, ask: str) -> None:
    with pytest.raises(excerpt.MemoryUnusableError, match="''"):
        getattr(opened.memories, ask)("")


# --- long arguments ---------------------------------------------------------------------------------------------------

LONG = "x " * 500_000


@pytest.mark.parametrize(
    "question",
    [
        lambda vault: vault.search(LONG),
        lambda vault: vault.search(LONG, literal=True),
        lambda vault: vault.search("x", where={"tag": LONG}),
        lambda vault: vault.search("x", where={"tag": ["x"] * 51}),
        lambda vault: vault.search_many(["x", LONG]),
        lambda vault: vault.search_for_pack(LONG),
        lambda vault: vault.pack("x", LONG),
        lambda vault: vault.pack("x", ids=["x"] * 1_001),
        lambda vault: vault.why_not(LONG, "x"),
        lambda vault: vault.complete(LONG),
        lambda vault: vault.map(LONG),
        lambda vault: vault.overview(LONG),
        lambda vault: vault.read(LONG),
        lambda vault: vault.related(LONG),
        lambda vault: vault.check(LONG, ""),
        lambda vault: vault.memories.recall(LONG),
        lambda vault: vault.memories.recall_answers(LONG),
        lambda vault: vault.memories.remember(LONG),
        lambda vault: vault.memories.remember("x", tags=[LONG]),
        lambda vault: vault.memories.edit("x", text=LONG),
    ],
)
def test_an_argument_of_a_megabyte_is_refused(
    opened: excerpt.Vault, question: Callable[[excerpt.Vault], object]
) -> None:
    with pytest.raises(ValueError, match=r"are allowed|more than"):
        question(opened)
