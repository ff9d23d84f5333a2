"""Tests of who finds and reads the comments in notes, on every surface.

No module has this name, as all surfaces are compared.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from mcp import Client

import excerpt
from excerpt.base.kinds import Strategy
from excerpt.base.settings import PackSettings, load_vault_settings, user_paths
from excerpt.memory.joined_store import JoinedMemoryStore
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.pack.memory_fragment import memory_name
from excerpt.pack.selection import MarkedFragment
from excerpt.search.engine import Engine
from excerpt.servers.line_server.server import LineServer
from excerpt.servers.mcp.server import build_server
from excerpt.servers.served_vaults import ServedVaults
from excerpt.service.memory_decisions import MemoryDraft, make_edit_decision
from excerpt.service.note_questions import AskSharedFragment
from excerpt.service.open_vaults import OpenIndex
from excerpt.service.packer import AskPack, Packer, PackRequest
from excerpt.tui.pack.labels import stop_label
from excerpt.vault.known_vaults import VaultFolders
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.obsidian import CanvasReader
from tests.cli.conftest import Excerpt
from tests.cli.conftest import excerpt as run_excerpt
from tests.cli.conftest import home as excerpt_home
from tests.commands import printed
from tests.servers.line_server.conftest import Talk, talk_with
from tests.servers.mcp.conftest import failure_text, tool_caller, write_vault

command, home = run_excerpt, excerpt_home  # fixtures

NOTES = {
    "Barn.md": "# Barn\n\nThe red barn %% giraffe inside %% needs a roof.\n\n## Later\n\n%%\nSell the walrus.\n%%\n",
    "Scheune.md": "# Scheune\n\nDie Scheune <!-- Nashorn --> ist rot.\n",
    "谷仓.md": "# 谷仓\n\n谷仓是红色的%%长颈鹿%%。\n",
    "Амбар.md": "# Амбар\n\nКрасный амбар %% жирафы %% стоит у реки.\n",
    "Mill.md": "# Mill\n\nThe mill grinds rye.\n",
}
HIDDEN = ("giraffe", "walrus", "Nashorn", "长颈鹿", "жираф", '"giraffe inside"', "giraf")
OPEN = ("red barn roof", "Scheune rot", "谷仓", "амбар", '"barn needs"')


@pytest.fixture
def vault(home: Path, tmp_path: Path) -> Path:
    return write_vault(tmp_path / "farm", NOTES)


@pytest.fixture
def everybody(vault: Path) -> Iterator[excerpt.Vault]:
    with excerpt.open(vault) as opened:
        yield opened


@pytest.fixture
def author(vault: Path) -> Iterator[excerpt.Vault]:
    with excerpt.open(vault, comments="author") as opened:
        yield opened


def matched(vault: excerpt.Vault, query: str) -> list[str]:
    """Return the texts that a query matched, as they are written."""
    return [hit.text[span.start : span.end] for hit in vault.search(query) for span in hit.spans]


# --- searches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", HIDDEN)
def test_words_of_comments_are_found_by_the_author_alone(
    author: excerpt.Vault, everybody: excerpt.Vault, query: str
) -> None:
    assert matched(everybody, query) == []
    assert matched(author, query)


def test_half_a_word_in_quotation_marks_is_found_in_comments_too(
    author: excerpt.Vault, everybody: excerpt.Vault
) -> None:
    found = [[hit.path for hit in opened.search('"raffe ins"')] for opened in (author, everybody)]
    assert found == [["Barn.md"], []]


@pytest.mark.parametrize("query", OPEN)
def test_comments_change_no_answer_to_readers_other_than_the_author(
    everybody: excerpt.Vault, vault: Path, query: str
) -> None:
    def places(opened: excerpt.Vault) -> list[tuple[str, int, int, float, int]]:
        hits = opened.search(query).hits
        return [(hit.path, hit.line_start, hit.line_end, hit.score, hit.fragment.tokens) for hit in hits]

    without = {
        path: text.replace(" %% giraffe inside %%", "").replace(" <!-- Nashorn -->", "").replace("%%长颈鹿%%", "")
        for path, text in NOTES.items()
    }
    without |= {
        "Barn.md": without["Barn.md"].replace("%%\nSell the walrus.\n%%\n", "\n\n\n"),
        "Амбар.md": NOTES["Амбар.md"].replace(" %% жирафы %%", ""),
    }
    with excerpt.open(write_vault(vault.parent / "without", without)) as same:
        assert places(everybody) == places(same)


@pytest.mark.parametrize("query", [*OPEN, "mill"])
def test_comments_do_not_change_the_order_of_other_hits_for_the_author(
    author: excerpt.Vault, everybody: excerpt.Vault, query: str
) -> None:
    found = [[(hit.path, hit.score) for hit in opened.search(query)] for opened in (author, everybody)]
    assert found[0] == found[1]


def test_no_completion_or_correction_is_a_word_of_a_comment(author: excerpt.Vault, everybody: excerpt.Vault) -> None:
    assert [each.text for each in everybody.complete("giraf")] == []
    assert [each.text for each in author.complete("giraf")] != []
    assert everybody.search("girafe").hits == () or not matched(everybody, "girafe")


def test_the_lines_and_tokens_of_a_hit_are_those_of_its_text(author: excerpt.Vault) -> None:
    for query in ("giraffe", "walrus"):
        hit = author.search(query).hits[0]
        lines = NOTES[hit.path].split("\n")[hit.line_start - 1 : hit.line_end]
        assert hit.text == "\n".join(lines)
        assert hit.fragment.tokens == author.tokens(hit.text)


def test_a_note_of_only_comments_is_an_empty_note_to_other_readers(vault: Path) -> None:
    write_vault(vault, {"Secret plan.md": "%% a zebra for the birthday %%\n"})
    with excerpt.open(vault) as opened:
        assert matched(opened, "zebra") == []
        assert [hit.text for hit in opened.search("secret plan") if hit.path == "Secret plan.md"] == [""]
    with excerpt.open(vault, comments="author") as opened:
        assert matched(opened, "zebra") == ["zebra"]


def test_comments_in_several_vaults_are_found_only_by_the_author(vault: Path, home: Path) -> None:
    other = write_vault(vault.parent / "other", {"Zoo.md": "# Zoo\n\nThe zoo %% walrus pool %% opens at nine.\n"})
    with excerpt.open([vault, other]) as joined:
        assert matched(joined, "walrus") == []
        assert "[comment left out]" in joined.read("other/Zoo.md").text
    with excerpt.open([vault, other], comments="author") as joined:
        assert {hit.path for hit in joined.search("walrus") if hit.spans} == {"farm/Barn.md", "other/Zoo.md"}
        assert "walrus" not in joined.pack("walrus zoo opens", fill="budget").text


@pytest.mark.parametrize(("who", "readers"), [("everybody", (True, True)), ("nobody", (False, False))])
def test_a_setting_says_who_reads_comments(vault: Path, who: str, readers: tuple[bool, bool]) -> None:
    for comments, reads in zip(("everybody", "author"), readers, strict=True):
        with excerpt.open(vault, comments=comments, settings={"text.comments": who}) as opened:  # type: ignore[arg-type]
            assert bool(matched(opened, "giraffe")) == reads
            assert ("giraffe" in opened.pack("red barn roof").text) == reads


def test_an_unknown_reader_is_refused(vault: Path) -> None:
    with pytest.raises(ValueError, match="comments"):
        excerpt.open(vault, comments="all")  # type: ignore[arg-type]


# --- reading and packs ------------------------------------------------------------------------------------------------


def test_reading_a_note_shows_where_a_comment_is_left_out(author: excerpt.Vault, everybody: excerpt.Vault) -> None:
    assert author.read("Barn").text == NOTES["Barn.md"].removesuffix("\n")
    assert everybody.read("Barn").text.split("\n") == [
        *("# Barn", "", "The red barn [comment left out] needs a roof.", "", "## Later", ""),
        *("[comment left out]", "", ""),
    ]
    assert everybody.read("Barn:7-9").text == "[comment left out]\n\n"


@pytest.mark.parametrize("scope", ["none", "neighbors", "section", "note"])
def test_a_pack_has_no_comment_and_says_how_many_are_left_out(author: excerpt.Vault, scope: str) -> None:
    packed = author.pack("red barn roof", scope=scope)
    assert "The red barn needs a roof." in packed.text
    assert not any(word in packed.text for word in ("giraffe", "walrus", "%%"))
    assert packed.left_out_comments == 1
    assert packed.tokens == author.tokens(packed.text)


def test_a_passage_that_only_its_comment_matches_is_not_packed(author: excerpt.Vault) -> None:
    assert author.pack("giraffe walrus").passages == ()


def test_a_memory_of_a_passage_has_no_comment(author: excerpt.Vault) -> None:
    hit = author.search("giraffe").hits[0]
    kept = author.memories.remember(fragment=hit.fragment.id).memory
    assert kept.text == "The red barn needs a roof."
    assert not author.memories.check_source(kept.id).is_stale


@pytest.fixture
def author_engine(vault: Path, author: excerpt.Vault) -> Iterator[Engine]:
    """Yield the engine of the app, which shows the author's comments."""
    author.load()
    settings = load_vault_settings(vault, user_paths())
    index = OpenIndex(vault, user_paths().index_folder(vault), settings, user_paths(), for_author=True)
    with closing(index.open_newest()) as corpus:
        yield Engine(corpus, settings)


def test_the_form_for_a_memory_has_no_comment(author_engine: Engine) -> None:
    hit = author_engine.search("giraffe", Strategy.AUTO, 50).hits[0]
    assert AskSharedFragment(hit.fragment).answer(author_engine).text == "The red barn needs a roof."
    lines = replace(hit.fragment, id="", line_start=2, line_end=9)
    picked = AskSharedFragment(lines).answer(author_engine)
    assert (picked.text, picked.line_start, picked.line_end) == ("The red barn needs a roof.\n\n## Later", 3, 5)


@pytest.mark.parametrize("other", ["", "Seen %% by Ada %%."])
def test_code_with_two_percent_signs_is_whole_in_a_memory(vault: Path, author: excerpt.Vault, other: str) -> None:
    code = "\n".join(f"%% part {number}\nzebra{number} = {number};" for number in range(200))
    (vault / "Code.md").write_text(f"# Code\n\n```matlab\n{code}\n```\n\n{other}\n", encoding="utf-8")
    author.refresh()
    author.load()
    index = OpenIndex(vault, user_paths().index_folder(vault), author.settings, user_paths(), for_author=True)
    with closing(index.open_newest()) as corpus:
        for fragment in corpus.note_fragments("Code.md", 0, None)[:-1]:
            assert AskSharedFragment(fragment).answer(Engine(corpus, author.settings)) == fragment


def test_the_app_finds_comments_but_leaves_them_out_of_packs(vault: Path, author_engine: Engine) -> None:
    settings = PackSettings()

    def pack(query: str) -> excerpt.PackResult:
        result = author_engine.search(query, Strategy.AUTO, 50)
        request = PackRequest((query,), result.strategy, result.hits, (), settings, confidence=result.confidence)
        packer = Packer(VaultFolders.of([vault]), user_paths().config)
        return AskPack(packer, request).answer(author_engine).pack.result

    assert author_engine.search("giraffe", Strategy.AUTO, 50).hits[0].spans
    hidden = pack("giraffe")
    assert (hidden.passages, stop_label(hidden)) == ((), "only comments answer")
    packed = pack("red barn roof")
    assert "The red barn needs a roof." in packed.text
    assert packed.left_out_comments == 1


# --- commands and servers ---------------------------------------------------------------------------------------------


def test_a_command_reads_comments_only_on_a_terminal(
    vault: Path, command: Excerpt, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "giraffe inside" not in printed("search", "giraffe", "--vault", vault, "--json")
    assert "[comment left out]" in printed("read", "Barn", "--vault", vault)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "giraffe" in command("read", "Barn", "--vault", vault).out
    packed = command("pack", "red barn roof", "--vault", vault)
    assert "giraffe" not in packed.out
    assert "1 comment left out" in packed.err


async def test_agents_read_no_comments(everybody: excerpt.Vault, vault: Path) -> None:
    everybody.load()
    vaults = ServedVaults([vault], watched=False)
    async with Client(build_server(vaults, failure_text)) as client:
        ask = tool_caller(client)
        assert "[comment left out]" in (await ask("read", source="Barn.md")).text
        for tool, arguments in {
            "search": {"query": "giraffe walrus"},
            "pack": {"query": "red barn roof"},
            "overview": {"topic": "barn"},
            "related": {"source": "Barn.md"},
        }.items():
            assert "giraffe inside" not in (await ask(tool, **arguments)).text, tool
        assert "1 comment of the author left out" in (await ask("pack", query="red barn roof")).text
    vaults.end()


async def test_a_client_of_the_line_server_that_greets_as_the_author_reads_comments(
    everybody: excerpt.Vault, vault: Path
) -> None:
    everybody.load()
    vaults = ServedVaults([vault], watched=False, comments="author")
    server = LineServer(vaults, failure_text)  # type: ignore[arg-type]

    async def shown(talk: Talk) -> tuple[bool, bool]:
        read = await talk.ask("read", source="Barn.md")
        pack = await talk.ask("pack", query="red barn roof")
        return "giraffe" in read["text"], "giraffe" in pack["rendered"]

    async with talk_with(server) as editor, talk_with(server) as other:
        assert await shown(editor) == (False, False)
        greeting = await editor.answer(editor.send("hello", comments="author"))
        assert greeting["result"] == {"comments": "author"}
        assert await shown(editor) == (True, False)
        assert await shown(other) == (False, False)
        assert (await editor.fail("hello", comments="all"))["data"]["kind"] == "invalid_params"
        assert "giraffe inside" not in json.dumps(await other.ask("search", query="giraffe"))
    vaults.end()


# --- other files ------------------------------------------------------------------------------------------------------


BOARD = {
    "nodes": [
        {
            "id": "a",
            "type": "text",
            "text": "%% giraffe plan %%\nFeed the goats.\n\n%%\nwalrus\n%%\n\n`%% code %%` stays.",
        },
        {"id": "b", "type": "text", "text": "%% only a zebra %%"},
        {"id": "c", "type": "text", "text": "100 %% sure about the donkey"},
    ],
    "edges": [{"id": "e", "fromNode": "c", "toNode": "a", "label": "leads to"}],
}
FILES = {
    "Board.canvas": json.dumps(BOARD),
    "Prices.csv": "animal,price\ngoat %% from the giraffe man %%,5 %%\nsheep,7 %%\n<!-- zebra -->,9\n",
}


@pytest.fixture
def farm_files(home: Path, tmp_path: Path) -> Path:
    return write_vault(tmp_path / "farm", FILES)


def test_comments_in_cards_and_cells_are_for_the_author_alone(farm_files: Path) -> None:
    with excerpt.open(farm_files) as everybody, excerpt.open(farm_files, comments="author") as author:
        for query, files in (
            ("giraffe", {"Board.canvas", "Prices.csv"}),
            ("zebra", set(FILES)),
            ("walrus", {"Board.canvas"}),
        ):
            assert matched(everybody, query) == []
            assert {hit.path for hit in author.search(query) if hit.spans} == files
        for opened in (everybody, author):
            assert matched(opened, "donkey") == ["donkey"]
            assert matched(opened, "code") == ["code"]


def test_cards_and_rows_without_their_comments_keep_their_lines(farm_files: Path) -> None:
    with excerpt.open(farm_files) as opened:
        board, prices = (opened.fragments(name) for name in FILES)
        assert [part.text for part in board] == [
            "Feed the goats.\n\n\n\n\n\n`%% code %%` stays.",
            "100 %% sure about the donkey\n\nleads to → Feed the goats.",
        ]
        assert [part.text for part in prices] == ["animal | price\ngoat  | 5 %%\nsheep | 7 %%\n | 9"]
        assert not any(word in str(part) for part in (*board, *prices) for word in ("giraffe", "zebra", "walrus"))


def test_a_card_of_a_comment_alone_keeps_it_before_the_labels_of_its_arrows(home: Path, tmp_path: Path) -> None:
    nodes = [{"id": "a", "type": "text", "text": "%% zebra %%"}, {"id": "b", "type": "text", "text": "Donkeys"}]
    board = {"nodes": nodes, "edges": [{"fromNode": "a", "toNode": "b", "label": "feed"}]}
    folder = write_vault(tmp_path / "boards", {"Board.canvas": json.dumps(board)})
    with excerpt.open(folder, comments="author") as author:
        assert author.read("Board.canvas").text.startswith("%% zebra %%\n\nfeed → Donkeys\n")


def test_the_label_of_an_arrow_at_a_card_with_comments_has_only_characters_that_can_be_saved() -> None:
    nodes = [
        {"id": "a", "type": "text", "text": "%% giraffe %% Feed the goats."},
        {"id": "b", "type": "text", "text": "Hay\udc00"},
    ]
    edges = [{"fromNode": "a", "toNode": "b", "label": "needs\ud800\u0000"}]
    board = json.dumps({"nodes": nodes, "edges": edges}).encode()
    text = CanvasReader().read(board, "Board.canvas", ReadOptions()).text
    assert "needs" in text.encode().decode()
    assert "\0" not in text


def test_a_file_without_text_is_found_by_its_name(home: Path, tmp_path: Path) -> None:
    files = {"Ideas for spring.txt": "", "Board of ideas.canvas": "", "Mill.md": NOTES["Mill.md"]}
    with excerpt.open(write_vault(tmp_path / "empty", files)) as opened:
        for name in ("Ideas for spring.txt", "Board of ideas.canvas"):
            first = opened.search(name.partition(".")[0]).hits[0]
            assert (first.path, first.text) == (name, "")
            assert opened.pack(f'file:"{name.partition(".")[0]}"').passages[0].path == name


# --- memories ---------------------------------------------------------------------------------------------------------


def test_comments_in_memories_are_for_the_author_alone(author: excerpt.Vault, everybody: excerpt.Vault) -> None:
    text = "Goats need %% the giraffe man sells it %% hay.\n\n%% walrus %%"
    kept = author.memories.remember(text).memory
    assert kept.text == text
    assert everybody.memories.get(kept.id).text == "Goats need hay."
    assert [each.text for each in everybody.memories.recall("goats hay")] == ["Goats need hay."]
    assert [each.text for each in everybody.memories.all().memories] == ["Goats need hay."]
    for word in ("giraffe", "walrus"):
        assert [each.spans for each in everybody.memories.recall(word)] in ([], [()])
        found = author.memories.recall(word)[0]
        assert [found.text[span.start : span.end] for span in found.spans] == [word]
    with author.without_comments():
        assert author.memories.get(kept.id).text == "Goats need hay."


def test_a_change_by_somebody_else_keeps_the_comments_of_a_memory(
    author: excerpt.Vault, everybody: excerpt.Vault
) -> None:
    text = "Goats need %% the giraffe man sells it %% hay."
    kept = author.memories.remember(text).memory
    edited = everybody.memories.edit(kept.id, tags=["farm"])
    assert (edited.text, edited.tags) == ("Goats need hay.", ("farm",))
    assert author.memories.get(kept.id).text == text


def test_no_answer_about_a_changed_memory_has_its_comments(everybody: excerpt.Vault) -> None:
    memories = everybody.memories
    kept = memories.remember("Goats need %% the giraffe man sells it %% hay.").memory
    answers = [
        kept,
        memories.edit(kept.id, why="winter"),
        memories.check_source(kept.id).memory,
        memories.keep(kept.id),
        memories.forget(kept.id),
        memories.restore(kept.id),
        memories.remember("%% walrus %% Goats need hay.", into=kept.id).memory,
    ]
    *others, merged = (each.text for each in answers)
    assert set(others) == {"Goats need hay."}
    assert re.sub(r"\s+", " ", merged) == "Goats need hay. Goats need hay."


def test_a_new_text_by_somebody_else_stands_above_the_comments_of_a_memory(
    author: excerpt.Vault, everybody: excerpt.Vault
) -> None:
    text = "Goats need %% the giraffe man sells it %% hay.\n\n%%\n  walrus\n%%"
    kept = author.memories.remember(text).memory
    assert everybody.memories.edit(kept.id, text="Goats need hay.").text == "Goats need hay."
    assert author.memories.get(kept.id).text == text
    assert everybody.memories.edit(kept.id, text="Goats eat hay.").text == "Goats eat hay."
    comments = "%% the giraffe man sells it %%\n%%\n  walrus\n%%"
    assert author.memories.get(kept.id).text == f"Goats eat hay.\n\n{comments}"
    with pytest.raises(excerpt.MemoryUnusableError, match="comments"):
        everybody.memories.edit(kept.id, text="```\nhay without an end")
    assert author.memories.edit(kept.id, text="Goats").text == "Goats"


def test_merging_two_memories_keeps_the_comments_of_both(author: excerpt.Vault, everybody: excerpt.Vault) -> None:
    kept, merged = (author.memories.remember(text).memory for text in ("Goats eat hay.", "Sheep %% walrus %% too."))
    assert everybody.memories.edit(kept.id, merge=merged.id).text == "Goats eat hay.\n\nSheep too."
    assert author.memories.get(kept.id).text == "Goats eat hay.\n\nSheep %% walrus %% too."


@pytest.mark.parametrize("decision", ["keep", "update", "follow"])
def test_a_decision_about_a_source_keeps_the_comments_of_a_memory(
    vault: Path, everybody: excerpt.Vault, decision: str
) -> None:
    kept = everybody.memories.remember(source="Mill.md:3").memory
    with excerpt.open(vault, comments="author") as author:
        author.memories.edit(kept.id, text=f"{kept.text} %% walrus %%")
    old = NOTES["Mill.md"]
    new = old.replace("# Mill\n", "# Mill\n\nNew.\n") if decision == "follow" else old.replace("rye", "oats")
    write_vault(vault, {"Mill.md": new})
    everybody.refresh()
    decided: excerpt.Memory = getattr(everybody.memories, decision)(kept.id)
    text = "The mill grinds oats." if decision == "update" else "The mill grinds rye."
    assert decided.text.rstrip() == text
    assert not everybody.memories.check_source(kept.id).is_stale
    with excerpt.open(vault, comments="author") as author:
        after = author.memories.get(kept.id).text
    assert re.sub(r"\s+", " ", after) == f"{text} %% walrus %%"


def test_no_pack_of_the_app_has_a_comment_of_a_memory(
    vault: Path, author: excerpt.Vault, author_engine: Engine
) -> None:
    memory = author.memories.remember("Goats need %% the giraffe man sells it %% hay.").memory
    mark = MarkedFragment(memory_name(memory.id), memory_name(memory.id))
    request = PackRequest((), Strategy.AUTO, (), (mark,), PackSettings(), memories=(memory,))
    packer = Packer(VaultFolders.of([vault]), user_paths().config)
    text = AskPack(packer, request).answer(author_engine).pack.result.text
    assert "Goats need hay." in text
    assert "giraffe" not in text


def test_a_decision_of_the_app_and_its_undo_keep_comments_that_nobody_reads(tmp_path: Path) -> None:
    text = "Goats need %% walrus %% hay."
    store = JoinedMemoryStore({"": FolderMemoryStore(tmp_path)})
    kept = store.remember(make_memory(text))
    shown = store.all().memories[0]
    assert shown.text == "Goats need hay."
    decided = make_edit_decision(shown, MemoryDraft(shown.text, ("farm",), ""))(store)
    assert (store.get(kept.id).text, store.get(kept.id).tags) == (text, ("farm",))
    undone = decided.undo(store)
    assert (store.get(kept.id).text, store.get(kept.id).tags) == (text, ())
    undone.undo(store)
    reworded = make_edit_decision(shown, MemoryDraft("Goats eat hay.", (), ""))(store)
    assert store.get(kept.id).text == "Goats eat hay.\n\n%% walrus %%"
    reworded.undo(store)
    assert store.get(kept.id).text == text
    assert store.change(kept.id, lambda memory: replace(memory, why="winter")).text == text
