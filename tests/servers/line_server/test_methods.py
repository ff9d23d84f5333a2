"""Tests of what the methods answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import excerpt
from excerpt.base.settings import user_paths
from excerpt.search.usage import UseLog
from excerpt.servers.line_server.server import LineServer
from tests.servers.line_server.conftest import Talk, failure_text, talk_with
from tests.servers.mcp.conftest import indexed_vaults, write_vault


async def test_search_returns_locations_with_highlighted_snippets(talk: Talk) -> None:
    found = await talk.ask("search", query="swarm queen", limit=1)
    (hit,) = found["hits"]
    assert (hit["path"], hit["heading_path"]) == ("Swarms.md", ["Swarms"])
    words = [hit["snippet"]["text"][first:last] for first, last in hit["snippet"]["spans"]]
    assert {"swarm", "queen"} <= set(words)
    assert "signals" not in hit


async def test_other_wordings_of_a_query_are_asked_with_it(talk: Talk) -> None:
    asked = {"query": "quantum chromodynamics", "wordings": ["swarm queen"]}
    found, packed = await talk.ask("search", **asked, limit=1), await talk.ask("pack", **asked)
    assert [hit["path"] for hit in found["hits"]] == ["Swarms.md"]
    assert packed["stopped"] == "enough"
    assert packed["passages"][0]["path"] == "Swarms.md"


async def test_a_short_snippet_highlights_only_what_it_shows(talk: Talk) -> None:
    hit = (await talk.ask("search", query="degrees two minutes", limit=1, snippet=12))["hits"][0]
    assert len(hit["snippet"]["text"]) <= 12
    assert all(last <= len(hit["snippet"]["text"]) for _, last in hit["snippet"]["spans"])


async def test_hits_can_be_requested_without_their_texts(talk: Talk) -> None:
    hit = (await talk.ask("search", query="swarm", limit=1, text=False, snippet=0))["hits"][0]
    assert "text" not in hit
    assert "snippet" not in hit


async def test_filters_can_be_given_as_data_with_a_literal_question(talk: Talk) -> None:
    found = await talk.ask("search", query="what is path:Swarms hive", literal=True, where={"path": "kitchen/"})
    assert {hit["path"] for hit in found["hits"]} == {"kitchen/Tea.md"}


async def test_pack_renders_the_passages_that_answer(talk: Talk) -> None:
    packed = await talk.ask("pack", query="how long is green tea steeped?", budget=300)
    assert "two minutes" in packed["rendered"]
    assert packed["tokens"] <= 300
    assert packed["confidence"] == "strong"


async def test_pack_of_fragments_keeps_their_order(talk: Talk) -> None:
    tea, swarm = [
        (await talk.ask("search", query=query, limit=1))["hits"][0]["fragment_id"] for query in ("green tea", "swarm")
    ]
    packed = await talk.ask("pack", query="hive", fragments=[tea, swarm], scope="none", format="xml")
    assert [passage["path"] for passage in packed["passages"]] == ["kitchen/Tea.md", "Swarms.md"]


@pytest.mark.parametrize("source", ["Hives.md", "Hives", "Bee houses", "[[Hives|the hives]]"])
async def test_read_finds_a_note_by_path_title_alias_and_link(talk: Talk, vault: Path, source: str) -> None:
    note = await talk.ask("read", source=source)
    assert note["file"] == str(vault.resolve() / "Hives.md")


async def test_read_of_a_fragment_adds_surrounding_lines(talk: Talk) -> None:
    hit = (await talk.ask("search", query="green tea steeped", limit=1))["hits"][0]
    note = await talk.ask("read", source=hit["fragment_id"], context=2)
    assert (note["line_start"], note["line_end"]) == (hit["line_start"] - 2, hit["line_end"])
    assert note["text"].split("\n")[2] == hit["text"].split("\n")[0]


async def test_a_passage_read_with_context_or_after_a_pack_is_not_saved_with_the_question(
    talk: Talk, vault: Path
) -> None:
    log = UseLog(user_paths().use_file(vault))
    await talk.ask("search", query="why do the insects fly away in spring")
    await talk.ask("read", source="Swarms.md", context=1)
    assert log.events() == ()
    await talk.ask("pack", query="green tea")
    await talk.ask("read", source="Swarms.md")
    assert log.events() == ()
    await talk.ask("search", query="why do the insects fly away in spring")
    await talk.ask("read", source="Swarms.md")
    assert [event.path for event in log.events()] == ["Swarms.md"]


async def test_why_explains_the_score_of_a_hit(talk: Talk) -> None:
    hit = (await talk.ask("search", query="swarm queen", limit=1))["hits"][0]
    why = await talk.ask("why", query="swarm queen", fragment_id=hit["fragment_id"])
    assert sum(signal["part"] for signal in why["signals"].values()) == pytest.approx(hit["score"], abs=1e-4)
    assert {word["word"] for word in why["explanation"]["words"]} == {"swarm", "queen"}


async def test_complete_returns_the_characters_to_replace(talk: Talk) -> None:
    text = "leaves -path:kit"
    found = await talk.ask("complete", text=text, cursor=len(text))
    (completion, *_) = found["completions"]
    assert text[: found["start"]] + completion["text"] == "leaves -path:/kitchen/"


async def test_complete_offers_nothing_inside_a_phrase(talk: Talk) -> None:
    assert (await talk.ask("complete", text='"swa', cursor=4))["completions"] == []


async def test_a_memory_is_saved_and_recalled(talk: Talk) -> None:
    kept = await talk.ask("remember", text="Hives face south", tags=["garden"], source="Hives.md:4-6")
    (found,) = (await talk.ask("recall", query="where do hives face?"))["memories"]
    assert (found["id"], found["tags"]) == (kept["id"], ["garden"])
    assert found["source_check"]["kind"] == "fresh"


async def test_a_memory_replaces_another_which_is_recalled_by_a_filter(talk: Talk) -> None:
    old = await talk.ask("remember", text="Honey costs 4 euros")
    new = await talk.ask("remember", text="Honey costs 6 euros", replaces=[old["id"]])
    assert new["replaces"] == [{"id": old["id"], "text": old["text"]}]
    (found,) = (await talk.ask("recall", query="honey"))["memories"]
    (replaced,) = (await talk.ask("recall", query="honey is:replaced"))["memories"]
    assert (found["id"], replaced["id"], replaced["replaced_by"]) == (new["id"], old["id"], new["id"])


async def test_passages_for_a_prompt_leave_out_fragments_that_the_session_got_before(home: Path, vault: Path) -> None:
    del home
    for number in range(30):  # in a vault of a few notes, no word is rare enough to be sure
        (vault / f"Diary {number}.md").write_text(f"Rain in the morning, frame {number}.\n", encoding="utf-8")
    (vault / "Mites.md").write_text("# Mites\n\n## Count varroa mites\n\nPowder bees with sugar.\n", encoding="utf-8")
    vaults = indexed_vaults(vault)
    async with talk_with(LineServer(vaults, failure_text)) as talk:
        prompt = "Please help me: how do I count varroa mites? Then write the test."
        passages = (await talk.ask("passages", prompt=prompt))["passages"]
        assert passages["sources"][0] == "Mites.md:5"
        again = await talk.ask("passages", prompt=prompt, shown_before=passages["fragment_ids"])
        assert again["passages"] is None
        assert (await talk.ask("passages", prompt="Fix the failing test."))["passages"] is None
    vaults.end()


async def test_status_names_the_protocol_and_the_clients(talk: Talk) -> None:
    status = await talk.ask("status")
    assert (status["protocol"], status["clients"], status["notes"], status["watching"]) == (1, 1, 4, False)


@pytest.mark.parametrize(
    ("method", "params", "kind", "part"),
    [
        ("serch", {}, "unknown_method", "Did you mean search?"),
        ("search", {}, "invalid_params", "search needs the parameter query."),
        ("search", {"qery": "a"}, "invalid_params", "Did you mean query?"),
        ("search", {"query": "a", "limit": 0}, "invalid_params", "limit must be from 1 to 200."),
        ("search", {"query": 1}, "invalid_params", "query must be a text of at most 10,000 characters."),
        ("search", {"query": "a", "strategy": "best"}, "invalid_params", "strategy must be one of adaptive, auto"),
        ("search", {"query": "a", "where": {"tag": 1}}, "invalid_params", "where must be an object"),
        ("search", {"query": "a", "where": {"unheard": "of"}}, "invalid_params", "no filter of this vault"),
        ("search", {"query": "a", "text": "yes"}, "invalid_params", "text must be true or false."),
        ("search", {"query": "a", "vault": "other"}, "unusable", "There is no vault other."),
        ("search", {"query": "a", "vault": "*"}, "invalid_params", "one vault"),
        ("pack", {}, "invalid_params", "pack needs a query or fragments."),
        ("pack", {"fragments": ["x"], "wordings": ["swarm"]}, "invalid_params", "wordings need a query."),
        ("search", {"query": "", "wordings": ["swarm"]}, "invalid_params", "wordings need a query."),
        ("pack", {"query": "a", "format": "json"}, "invalid_params", "format must be one of markdown, plain, xml."),
        ("pack", {"fragments": [1]}, "invalid_params", "fragments must be a list, each a text."),
        ("read", {"source": "Nowhere.md"}, "not_found", "Nowhere.md"),
        ("read", {"source": ""}, "invalid_params", "source must be a text"),
        ("why", {"query": "a", "fragment_id": "none"}, "not_found", "not among the first 200 hits"),
        ("remember", {"text": " "}, "invalid_params", "remember needs a text or a source."),
        ("remember", {"source": "Nowhere.md:1-2"}, "unusable", "Nowhere.md"),
    ],
)
async def test_an_error_has_a_clear_message(
    talk: Talk, method: str, params: dict[str, object], kind: str, part: str
) -> None:
    error = await talk.fail(method, **params)
    assert error["data"]["kind"] == kind
    assert part in error["message"]


# --- several vaults ---------------------------------------------------------------------------------------------------


@pytest.fixture
def wasp_vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "wasps", {"Nests.md": "# Nests\n\nThe grey nest of a swarm of wasps.\n"})


@pytest.fixture
async def talk_with_two_vaults(home: Path, vault: Path, wasp_vault: Path) -> AsyncIterator[Talk]:
    """Yield a client of a server with the vaults bees and wasps."""
    vaults = indexed_vaults(vault, wasp_vault)
    async with talk_with(LineServer(vaults, failure_text)) as talk:
        yield talk
    vaults.end()


async def test_several_vaults_return_the_list_and_pack_of_the_python_api(
    talk_with_two_vaults: Talk, vault: Path, wasp_vault: Path
) -> None:
    query = "grey nest of a swarm"
    found = await talk_with_two_vaults.ask("search", query=query, vaults=["wasps", "bees"])
    packed = await talk_with_two_vaults.ask("pack", query=query, vaults=["*"], scope="neighbors")
    with excerpt.open([vault, wasp_vault]) as union:
        result = union.search(query, limit=20)
        rendered = union.pack(query, scope="neighbors", format="markdown").text
    assert [hit["path"] for hit in found["hits"]] == [hit.path for hit in result]
    assert found["confidence"] == result.confidence
    assert packed["rendered"] == rendered


async def test_a_note_of_several_vaults_is_read_by_its_path_in_them(
    talk_with_two_vaults: Talk, wasp_vault: Path
) -> None:
    note = await talk_with_two_vaults.ask("read", source="wasps/Nests.md", vaults=["bees", "wasps"])
    assert note["file"] == str(wasp_vault.resolve() / "Nests.md")


async def test_one_vault_in_a_list_answers_with_its_own_paths(talk_with_two_vaults: Talk) -> None:
    found = await talk_with_two_vaults.ask("search", query="swarm", vaults=["wasps"])
    assert {hit["path"] for hit in found["hits"]} == {"Nests.md"}
