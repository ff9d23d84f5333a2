"""Tests of the Python API, which programs, the commands and the MCP server use."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import excerpt
import excerpt.aio
from excerpt.known_vaults import DEMO
from excerpt.settings import PackSettings, user_paths
from tests.cli.conftest import Excerpt
from tests.cli.conftest import excerpt as run_excerpt
from tests.cli.conftest import home as excerpt_home
from tests.cli.conftest import vault as small_vault

command, home, vault = run_excerpt, excerpt_home, small_vault  # fixtures
EXAMPLES = Path(__file__).parents[1] / "docs/examples"


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
    assert {pack.path for pack in opened.pack("notes", where={"path": one}).packs} == {one}
    assert opened.search("a notes | b notes", where={"path": [one, one]}).hits


def test_a_hit_and_a_result_print_in_a_line(opened: excerpt.Vault) -> None:
    result = opened.search("notes")
    hit = result.hits[0]
    assert (hit.path, hit.text) == (hit.fragment.path, hit.fragment.text)
    assert re.fullmatch(r"Hit\(Fragment\('.*\.md', lines \d+-\d+, tokens \d+\), score \d\.\d+, \w+\)", repr(hit))
    assert repr(result).startswith("Result('notes', ")


def test_a_filter_that_there_is_not_is_refused(opened: excerpt.Vault) -> None:
    with pytest.raises(ValueError, match="'colour' with 'red' is no filter"):
        opened.search("notes", where={"colour": "red"})


def test_a_literal_question_has_no_filters(opened: excerpt.Vault) -> None:
    question = "what does -notes path:Nowhere/ do"
    assert not opened.search(question).matched
    assert opened.search(question, literal=True).matched
    assert opened.pack(question, literal=True, fill="budget").packs


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": -1}, {"budget": -1}, {"neighbors": -1}])
def test_a_number_out_of_range_is_refused(opened: excerpt.Vault, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        opened.pack("notes", **options)  # type: ignore[arg-type]  # by name


def test_settings_and_the_folder_of_the_index_can_be_given(home: Path, vault: Path, tmp_path: Path) -> None:
    settings = excerpt.Settings(pack=PackSettings(budget=100))
    with excerpt.open(vault, settings=settings, index=tmp_path / "index") as opened:
        assert opened.pack("notes").budget == 100
    assert (tmp_path / "index").is_dir()
    assert not user_paths().index_folder(vault).exists()
    with pytest.raises(excerpt.VaultError, match="is inside the vault"):
        excerpt.open(vault, index=vault / "index")


# --- asyncio ----------------------------------------------------------------------------------------------------------


async def test_methods_can_be_awaited_by_several_tasks(home: Path, vault: Path) -> None:
    async with excerpt.aio.open(vault) as opened:
        results = await asyncio.gather(*(opened.search("notes", limit=3) for _ in range(8)))
        packed = await opened.pack("notes", budget=300)
        memories = await opened.run(lambda vault: vault.memories.all().memories)
    with excerpt.open(vault) as twin:
        assert {result.hits for result in results} == {twin.search("notes", limit=3).hits}
        assert packed.text == twin.pack("notes", budget=300).text
    assert memories == ()


async def test_the_event_loop_goes_on_while_a_vault_is_asked(home: Path, vault: Path) -> None:
    async with excerpt.aio.open(vault) as opened:
        ticks = 0
        asked = asyncio.create_task(opened.run(lambda _: time.sleep(0.2)))
        while not asked.done():
            ticks += 1
            await asyncio.sleep(0.01)
    assert ticks > 5


async def test_an_error_is_that_of_the_vault(home: Path, tmp_path: Path) -> None:
    with pytest.raises(excerpt.VaultError):
        async with excerpt.aio.open(tmp_path / "missing"):
            pass


# --- the module -------------------------------------------------------------------------------------------------------


def in_new_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_importing_it_imports_nothing_heavy() -> None:
    loaded = in_new_python("import excerpt, sys; print(*sys.modules)").split()
    assert not {"numpy", "sqlite3", "msgspec", "click", "textual", "excerpt.api"} & set(loaded)


def test_every_public_name_is_where_type_checkers_are_told_it_is() -> None:
    source = Path(str(excerpt.__file__)).read_text(encoding="utf-8")
    typed = {
        (str(node.module), alias.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("excerpt.")
        for alias in node.names
    }
    assert {name for _, name in typed} == set(excerpt.__all__)
    for module, name in typed:
        assert getattr(excerpt, name) is getattr(importlib.import_module(module), name)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Engine'"):
        _ = excerpt.Engine


# --- the index --------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_told_when_it_is_opened(home: Path, tmp_path: Path) -> None:
    with pytest.raises(excerpt.VaultError, match=re.escape(str(tmp_path / "none"))):
        excerpt.open(tmp_path / "none")


def test_the_first_question_indexes_the_vault_and_tells_how_far_it_is(home: Path, vault: Path) -> None:
    told: list[excerpt.Progress] = []
    with excerpt.open(vault, on_progress=told.append) as found:
        assert not told
        assert found.search("lentil soup").hits[0].fragment.path == "Cooking/Lentil soup.md"
    assert told[-1].notes_total == 3


def test_without_refresh_there_has_to_be_an_index(home: Path, vault: Path) -> None:
    with excerpt.open(vault, refresh=False) as found, pytest.raises(excerpt.IndexUnusableError):
        found.search("lentil soup")


def test_what_another_process_has_indexed_is_taken_up_when_asked_to(opened: excerpt.Vault, vault: Path) -> None:
    opened.load()
    (vault / "Quartz.md").write_text("A clock runs on quartz.\n", encoding="utf-8")
    with excerpt.open(vault) as other:
        other.load()
    assert opened.search("quartz").confidence is excerpt.Confidence.NOTHING
    assert opened.renew()
    assert opened.search("quartz").hits[0].fragment.path == "Quartz.md"
    assert not opened.renew()


def test_refresh_takes_in_changes(opened: excerpt.Vault, vault: Path) -> None:
    opened.load()
    (vault / "Quartz.md").write_text("A clock runs on quartz.\n", encoding="utf-8")
    assert opened.refresh().added == 1
    assert opened.search("quartz").hits[0].fragment.path == "Quartz.md"


def test_a_damaged_index_is_made_anew_and_told(home: Path, vault: Path) -> None:
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


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
def test_a_program_s_files_of_excerpt_are_private_whatever_its_umask(tmp_path: Path, vault: Path) -> None:
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
def test_to_dict_is_what_the_command_prints(
    command: Excerpt, vault: Path, words: tuple[str, ...], ask: Callable[[excerpt.Vault], Any]
) -> None:
    command("remember", "Meet before you change.", "--vault", vault)
    printed = command(*words, "--json", "--vault", vault).json
    with excerpt.open(vault) as opened:
        asked = ask(opened)
    for form in (printed, asked):
        form.pop("elapsed_ms", None)
    assert asked == printed


def test_a_pack_is_the_text_of_the_command(command: Excerpt, vault: Path) -> None:
    printed = command("pack", "sync conflict", "--vault", vault).out
    with excerpt.open(vault) as opened:
        assert opened.pack("sync conflict").text == printed


def test_a_strategy_that_there_is_not_is_told_with_those_there_are(opened: excerpt.Vault) -> None:
    with pytest.raises(excerpt.ExcerptError, match=r"best.*auto, adaptive"):
        opened.search("sync", strategy="best")


def test_a_fragment_is_found_by_its_id_and_among_those_of_its_note(opened: excerpt.Vault) -> None:
    fragment = opened.search("devices meet").hits[0].fragment
    assert opened.fragment(fragment.id) == fragment
    assert fragment in opened.fragments("Sync")
    assert opened.fragment("none") is None


def test_the_word_at_the_cursor_is_completed(opened: excerpt.Vault) -> None:
    found = opened.complete("history -file:Syn lentils", cursor=len("history -file:Syn"))
    (completion, *_) = found
    assert ("history -file:Syn lentils"[found.start : found.end], completion.text) == ("-file:Syn", "-file:Sync")
    assert opened.complete("dev").completions[0].text == "devices"


def test_tokens_are_those_of_the_index(opened: excerpt.Vault) -> None:
    packed = opened.pack("sync conflict")
    assert opened.tokens(packed.text) == packed.tokens


def test_an_answer_is_checked_against_its_pack(opened: excerpt.Vault) -> None:
    packed = opened.pack("sync conflict")
    assert opened.check("Each device “keeps its own history of changes” [1].", packed.text).holds
    assert not opened.check("Each device “keeps no history of its own changes” [1].", packed.text).holds


def test_a_memory_is_kept_found_changed_and_forgotten(opened: excerpt.Vault) -> None:
    kept = opened.memories.remember(source="Sync:9", tags=["sync"]).memory
    assert kept.text.startswith("A sync conflict arises")
    found = opened.memories.recall("conflict", check_sources=True)
    assert [(each.memory.id, each.source_check and each.source_check.kind) for each in found] == [(kept.id, "fresh")]
    assert opened.memories.edit(kept.id, why="asked").why == "asked"
    opened.memories.forget(kept.id)
    assert not opened.memories.recall()
    assert opened.memories.restore(kept.id).id == kept.id


def test_hits_of_several_vaults_are_fused_by_score(opened: excerpt.Vault, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "Soup.md").write_text("# Soup\n\nA soup of lentils.\n", encoding="utf-8")
    with excerpt.open(other) as second:
        found = {"mine": opened.search("lentil soup"), "other": second.search("lentil soup")}
    hits = excerpt.fuse_results(found, 2)
    assert {each.vault for each in hits} == {"mine", "other"}
    assert [each.hit.score for each in hits] == sorted((each.hit.score for each in hits), reverse=True)


def test_hits_of_several_vaults_are_in_order_of_date_if_the_query_says_so(tmp_path: Path, home: Path) -> None:
    results = {}
    for name, days in (("a", ("2024-05-01", "2024-07-01")), ("b", ("2024-06-01", "undated"))):
        (tmp_path / name).mkdir()
        for day in days:
            (tmp_path / name / f"{day}.md").write_text("A soup of lentils.\n", encoding="utf-8")
        with excerpt.open(tmp_path / name) as vault:
            results[name] = vault.search("lentil soup sort:-date")
    dates = [each.hit.date for each in excerpt.fuse_results(results, 10)]
    assert dates == ["2024-07-01", "2024-06-01", "2024-05-01", ""]


def test_the_command_searches_several_vaults_at_once(command: Excerpt, vault: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "Soup.md").write_text("# Soup\n\nA soup of lentils.\n", encoding="utf-8")
    asked = ("search", "lentil soup", "--vault", vault, "--vault", other)
    answer = command(*asked, "--json").json
    assert {hit["vault"] for hit in answer["hits"]} == {"vault", "other"}
    assert answer["vaults"]["other"]["matched"] == 1
    assert "vault: Lentil soup" in command(*asked).out


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


def test_what_the_guide_shows_runs_as_it_stands(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_the_example_prints_hits_and_a_pack(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert example("find_and_pack").main("~/notes", "token budget") == 0
    out = capsys.readouterr().out
    assert out.startswith("Token budget.md:")


def test_a_vault_is_a_retriever_of_other_libraries(notes: Path) -> None:
    retriever = example("retriever").VaultRetriever("~/notes", dict)
    found = retriever.invoke("token budget")
    assert found[0]["metadata"]["path"] == "Token budget.md"
    assert found[0]["page_content"] in (notes / "Token budget.md").read_text(encoding="utf-8")


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
def test_an_empty_choice_of_a_pack_is_an_error_that_names_it(
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
