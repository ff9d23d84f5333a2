"""Tests that a store answers as a folder does: the interface of a corpus, hits, scores, packs, overviews, checks."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np
import psycopg
import pytest
from mcp import Client

import excerpt
from excerpt import Hit, Result, Span, Vault
from excerpt.base.errors import NotFoundError
from excerpt.base.kinds import Confidence
from excerpt.base.settings import Settings
from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.corpus.tables import FIELDS
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.insight.completions import complete
from excerpt.insight.corrections import correct
from excerpt.insight.suggest import suggest_queries
from excerpt.search.engine import Engine
from excerpt.search.prefetch import build_note_query
from excerpt.servers.mcp.server import build_server
from excerpt.servers.served_vaults import ServedVaults
from excerpt.vault.known_vaults import DEMO
from excerpt_postgres.address import parse_address
from excerpt_postgres.push import push
from excerpt_postgres.snapshot import StoreSnapshot
from tests.search.test_linked_passages import NOTES as LINKED_NOTES
from tests.search.test_linked_passages import QUESTION, index_notes
from tests.servers.mcp.conftest import failure_text, tool_caller
from tests.store.conftest import index_of, records_of, temporary_database
from tests.store.server import Servers

QUERIES = (
    "pack",
    "token budget",
    "how do I copy passages into a prompt",
    "resolve conflicts in sync",
    "budgte",  # similar spelling
    "memor",  # prefix
    '"token budget"',
    "budget -token",
    "search OR memory",
    "#guide",
    "title:search",
    "heading:keys ranking",
    "path:Search",
    "modified:>1980-01-01 pack",
    "strategy:semantic passages for a language model",
    "zzzz",
    "",
)


ROUNDING = 0.01
"""Most by which a score may differ: the store has vectors of 16 bits. Hits as close as that may change places."""


def matches_by_place(result: Result) -> dict[tuple[str, int], tuple[str, Sequence[Span]]]:
    """Return confidence and spans of the hits by path and first line."""
    return {(hit.fragment.path, hit.fragment.line_start): (str(hit.confidence), hit.spans) for hit in result.hits}


def scores(result: Result) -> list[float]:
    return [hit.score for hit in result.hits[:10]]


@pytest.mark.store
@pytest.mark.parametrize("query", QUERIES)
def test_a_store_finds_the_same_hits_as_the_index(folder_and_store: tuple[Vault, Vault], query: str) -> None:
    folder, stored = folder_and_store
    expected, found = folder.search(query, limit=20), stored.search(query, limit=20)
    assert scores(found) == pytest.approx(scores(expected), abs=ROUNDING)
    assert found.strategy == expected.strategy
    last = expected.hits[-1].score if len(expected.hits) == 20 else -1.0
    surely = [hit for hit in expected.hits[:10] if hit.score > last + ROUNDING]
    there = matches_by_place(found)
    for hit in surely:
        place = (hit.fragment.path, hit.fragment.line_start)
        assert there[place] == (str(hit.confidence), hit.spans)
    if not any(scores(expected)):
        assert [*there][:10] == [*matches_by_place(expected)][:10]


@pytest.mark.store
def test_a_pack_from_a_store_has_the_same_bytes_as_from_the_index(folder_and_store: tuple[Vault, Vault]) -> None:
    folder, stored = folder_and_store
    assert stored.pack("token budget", budget=800).text == folder.pack("token budget", budget=800).text


@pytest.mark.store
def test_notes_are_read_from_the_store(folder_and_store: tuple[Vault, Vault]) -> None:
    folder, stored = folder_and_store
    note = folder.search("pack").hits[0].fragment.path
    assert stored.read(note) == folder.read(note)


@pytest.mark.store
def test_status_counts_the_stored_notes(folder_and_store: tuple[Vault, Vault]) -> None:
    folder, stored = folder_and_store
    expected, found = folder.status(), stored.status()
    assert (found.notes, found.fragments, found.tokenizer) == (expected.notes, expected.fragments, expected.tokenizer)


@pytest.mark.store
def test_a_store_explains_a_score_as_the_index_does(folder_and_store: tuple[Vault, Vault]) -> None:
    folder, stored = folder_and_store
    query = "token budget"
    expected, found = folder.explain(folder.search(query, limit=3)), stored.explain(stored.search(query, limit=3))
    assert [one.words for one in found] == [one.words for one in expected]


@pytest.mark.store
def test_a_search_on_a_store_imports_nothing_that_writes_one(store: str) -> None:
    asked = "import sys, excerpt\nprint(len(excerpt.open(sys.argv[1]).search('token budget').hits), *sys.modules)"
    run = subprocess.run([sys.executable, "-c", asked, store], capture_output=True, text=True, check=True)
    hits, *names = run.stdout.split()
    assert int(hits) > 0
    assert "excerpt_postgres.snapshot" in names
    assert not {"excerpt_postgres.push", "excerpt_postgres.rights", "excerpt_postgres.compare", "whoosh"} & set(names)


@pytest.mark.store
def test_a_push_is_found_by_a_reader_that_has_the_store_open(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "Bees.md").write_text("# Bees\n\nA colony winters around its honey.\n", encoding="utf-8")
    address = parse_address(f"{database}?vault=notes")
    with excerpt.open(notes) as vault:
        vault.load()
        push(index_of(vault), address, records_of(vault))
        with excerpt.open(f"{database}?vault=notes") as stored:
            assert not [hit for hit in stored.search("mead").hits if "Mead" in hit.fragment.path]
            (notes / "Mead.md").write_text("# Mead\n\nHoney and water, fermented.\n", encoding="utf-8")
            vault.refresh()
            push(index_of(vault), address, records_of(vault))
            assert stored.search("mead").hits[0].fragment.path == "Mead.md"
            (notes / "Bees.md").unlink()
            vault.refresh()
            push(index_of(vault), address, records_of(vault))
            assert {hit.fragment.path for hit in stored.search("colony honey").hits} == {"Mead.md"}


@pytest.mark.store
def test_a_push_is_seen_by_a_question_that_fails_without_it(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Bees.md").write_text("# Bees\n\nA colony winters.\n", encoding="utf-8")
    address = f"{database}?vault=notes"
    with excerpt.open(tmp_path / "notes") as vault, excerpt.open(address) as stored:
        vault.load()
        push(index_of(vault), parse_address(address), records_of(vault))
        assert stored.read("Bees").path == "Bees.md"
        with pytest.raises(NotFoundError):
            stored.read("Mead")
        (tmp_path / "notes" / "Mead.md").write_text("# Mead\n\nFermented.\n", encoding="utf-8")
        vault.refresh()
        push(index_of(vault), parse_address(address), records_of(vault))
        assert stored.read("Mead").path == "Mead.md"


# --- round trips ------------------------------------------------------------------------------------------------------


def trace_round_trips(vault: Vault, question: Callable[[], object]) -> list[list[str]]:
    """Return the statements of each batch that was sent for a question and waited for, by libpq's own trace."""
    snapshot = vault._snapshot
    assert isinstance(snapshot, StoreSnapshot)
    server = snapshot._connection._connection.pgconn
    with tempfile.TemporaryFile("w+b") as trace:
        server.trace(trace.fileno())
        server.set_trace_flags(psycopg.pq.Trace.SUPPRESS_TIMESTAMPS)
        question()
        server.untrace()
        trace.seek(0)
        lines = trace.read().decode(errors="replace").splitlines()
    batches: list[list[str]] = []
    sent: list[str] = []
    is_sent = False
    for line in lines:
        sender, _, message, *values = [*line.split("\t", 3), "", ""]
        if sender == "F" and message in {"Parse", "Query"}:
            sent.append(values[0])
        if sender == "F" and message in {"Sync", "Query"}:
            is_sent = True
        if sender == "B" and message == "ReadyForQuery" and is_sent:
            batches.append(sent)
            sent, is_sent = [], False
    return batches


@pytest.mark.store
@pytest.mark.parametrize("query", ["token budget", "how do I copy passages into a prompt", "where are my settings"])
def test_a_search_waits_for_the_server_twice(folder_and_store: tuple[Vault, Vault], query: str) -> None:
    _, stored = folder_and_store
    stored.search("firts")
    batches = trace_round_trips(stored, lambda: stored.search(query, limit=10))
    assert len(batches) == 2, "\n\n".join("\n".join(batch) for batch in batches)


@pytest.mark.store
def test_a_search_by_filters_waits_for_the_server_four_times(folder_and_store: tuple[Vault, Vault]) -> None:
    _, stored = folder_and_store
    stored.search("#guide")
    batches = trace_round_trips(stored, lambda: stored.search("#guide budget", limit=10))
    assert len(batches) <= 4, "\n\n".join("\n".join(batch) for batch in batches)


@pytest.mark.store
def test_no_transaction_is_open_after_a_search(folder_and_store: tuple[Vault, Vault]) -> None:
    _, stored = folder_and_store
    stored.search("token budget")
    snapshot = stored._snapshot
    assert isinstance(snapshot, StoreSnapshot)
    answered = snapshot._connection._idle_connection
    assert answered.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


@pytest.mark.store
def test_loaded_fragments_are_freed_with_their_snapshot(store: str) -> None:
    with closing(StoreSnapshot.open(parse_address(store), Settings())) as snapshot:
        loaded = snapshot.prefetch(lambda base: [build_note_query(base, ["Packs.md"])])
        lexical = weakref.ref(loaded.lexical)
        gc.disable()
        try:
            del loaded
            assert lexical() is None
        finally:
            gc.enable()


# --- agents -----------------------------------------------------------------------------------------------------------


@pytest.mark.store
async def test_agents_search_a_store_like_a_folder(store: str) -> None:
    served = ServedVaults([Path(store)])
    try:
        async with Client(build_server(served, failure_text)) as client:
            ask = tool_caller(client)
            found = await ask("search", query="token budget")
            packed = await ask("pack", query="token budget", budget=500)
            lines = await ask("read", source="Token budget:1-3")
            overview = await ask("overview", topic="packs")
    finally:
        served.end()
    assert "Token budget" in found.text
    assert "as last pushed" in found.text
    assert "[1]" in packed.text
    assert "Token budget.md:1-3" in lines.text
    assert "# Overview: packs" in overview.text


@pytest.mark.store
@pytest.mark.parametrize("note", ["Packs", "Themes", "Token budget", "no such note"])
@pytest.mark.parametrize("query", ["token budget", '"token budget"', "path:Search budget", "budget -token"])
def test_a_store_explains_why_a_note_is_not_ranked_higher_as_the_index_does(
    folder_and_store: tuple[Vault, Vault], query: str, note: str
) -> None:
    expected, found = (vault.why_not(query, note) for vault in folder_and_store)
    assert found.path == expected.path
    assert found.absence == expected.absence
    assert [one.strategy for one in found.ranks] == [one.strategy for one in expected.ranks]
    for one, other in zip(found.ranks, expected.ranks, strict=True):
        assert one.rank == other.rank or abs((one.rank or 0) - (other.rank or 0)) == 1  # vectors of 16 bits are rounded


@pytest.mark.store
@pytest.mark.parametrize("answer", ["exact", "altered", "made up"])
def test_a_store_checks_citations_and_quotations_as_the_index_does(
    folder_and_store: tuple[Vault, Vault], answer: str
) -> None:
    folder, stored = folder_and_store
    pack = folder.pack("token budget", budget=600)
    quoted = {
        "exact": "a pack never goes over its budget",
        "altered": "passages are expanded around what was found while there is any room left",
        "made up": "Zebras winter in the northern warehouse beside purple engines",
    }[answer]
    said = f'It says "{quoted}" [1].'
    expected, found = (vault.check(said, pack.text) for vault in (folder, stored))
    assert found == expected


@pytest.mark.store
@pytest.mark.parametrize("topic", ["token budget", "sync", "modified:>1980-01-01 pack", "zzzz"])
def test_an_overview_from_a_store_equals_the_one_from_the_index(
    folder_and_store: tuple[Vault, Vault], topic: str
) -> None:
    expected, found = (vault.overview(topic) for vault in folder_and_store)
    assert found.matched == pytest.approx(expected.matched, rel=0.02)  # vectors of 16 bits are rounded
    for part in ("confidence", "fragments", "notes", "vault_fragments", "standouts", "names"):
        assert getattr(found, part) == getattr(expected, part), part
    related = [[(one.place.path, one.fragments) for one in overview.related] for overview in (found, expected)]
    assert sorted(related[0]) == sorted(related[1])  # of two with nearly equal score, either may be first
    main = [[(one.place.path, one.fragments, one.of) for one in overview.main_notes] for overview in (found, expected)]
    assert sorted(main[0]) == sorted(main[1])
    wanted, there = ([(one.place, one.text) for one in overview.passages] for overview in (expected, found))
    assert there[:1] == wanted[:1]
    assert len(set(there) & set(wanted)) >= 0.8 * len(wanted)  # of two with equal value, either may be chosen


@pytest.mark.store
@pytest.mark.parametrize("note", ["Packs", "Token budget", "Themes", "Searching:20"])
def test_related_notes_from_a_store_equal_the_ones_from_the_index(
    folder_and_store: tuple[Vault, Vault], note: str
) -> None:
    expected, found = (vault.related(note) for vault in folder_and_store)
    there = {one.path: one for one in found.notes}
    surely = [one for one in expected.notes if one.score > expected.notes[-1].score + 0.03]
    assert surely
    for other in surely:
        one = there[other.path]
        assert one.score == pytest.approx(other.score, abs=0.03)
        assert (one.linked, one.common, one.tags, one.mentions) == (
            other.linked,
            other.common,
            other.tags,
            other.mentions,
        )
        counts = {word.word: word.notes for word in other.words}
        assert all(counts.get(word.word, word.notes) == word.notes for word in one.words)


@pytest.mark.store
@pytest.mark.parametrize("query", ["", "token budget", "#guide", '"token budget"', "title:search", "search OR memory"])
def test_a_map_from_a_store_equals_the_one_from_the_index(folder_and_store: tuple[Vault, Vault], query: str) -> None:
    expected, found = (vault.map(query).to_dict() | {"generation": 0} for vault in folder_and_store)
    assert found == expected


@pytest.mark.store
@pytest.mark.parametrize(
    ("operator", "begun"), [("", "pack"), ("", "sc"), ("#", ""), ("path", "H"), ("title", "s"), ("modified", "")]
)
def test_completions_from_a_store_equal_the_ones_from_the_index(
    folder_and_store: tuple[Vault, Vault], operator: str, begun: str
) -> None:
    expected, found = (
        complete(vault._load_engine().snapshot, operator, begun, date(2026, 1, 1)) for vault in folder_and_store
    )
    assert found == expected


@pytest.mark.store
@pytest.mark.parametrize("query", ["pakcing", "tag:giude budget", "token budget"])
def test_corrections_from_a_store_equal_the_ones_from_the_index(
    folder_and_store: tuple[Vault, Vault], query: str
) -> None:
    expected, found = (correct(vault._load_engine(), query) for vault in folder_and_store)
    assert found == expected


@pytest.mark.store
@pytest.mark.parametrize("query", ["token budget", "#guide memory", ""])
def test_suggested_queries_find_as_many_matches_as_stated(folder_and_store: tuple[Vault, Vault], query: str) -> None:
    folder, stored = folder_and_store
    found = suggest_queries(stored._load_engine(), query)
    assert found
    assert [one.hits for one in found] == [stored.search(one.query, limit=1).matched for one in found]
    # The store's vectors are of 16 bits, so another fragment may be the last of those that are near in meaning.
    assert all(abs(folder.search(one.query, limit=1).matched - one.hits) <= 1 for one in found)


@pytest.mark.store
@pytest.mark.parametrize("query", ["token budget", "copy a pack"])
def test_confidence_and_highlights_from_a_store_equal_the_ones_from_the_index(
    folder_and_store: tuple[Vault, Vault], query: str
) -> None:
    expected, found = (vault.search(query, limit=10) for vault in folder_and_store)
    assert [(hit.confidence, hit.spans, hit.named) for hit in found.hits] == [
        (hit.confidence, hit.spans, hit.named) for hit in expected.hits
    ]


NOTES = {
    "Bees.md": "---\ntags: [animals/insects]\naliases: [Honey bees]\nstatus: draft\n---\n"
    "# Bees\n\nA colony winters around its honey.\n\n## Queen\n\nThe queen lays eggs. See [[Honey|the store]].\n",
    "food/Honey.md": "---\ntags: [food]\nstatus: done\n---\n# Honey\n\nHoney keeps for 50 % longer than jam_y syrup.\n",
    "food/Mead.md": "# Mead\n\nFermented of [honey](Honey.md) and water.\n",
}


@pytest.fixture(scope="module", params=["folder", pytest.param("store", marks=pytest.mark.store)])
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    home = tmp_path_factory.mktemp("corpus")
    for name, text in NOTES.items():
        (home / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "notes" / name).write_text(text, encoding="utf-8")
    build(home / "notes", home / "index", Settings())
    with closing(Snapshot.open(home / "index", Settings())) as snapshot:
        if request.param == "folder":
            yield snapshot
            return
        running: Servers = request.getfixturevalue("running")
        with temporary_database(running, f"excerpt_corpus_{os.getpid()}") as database:
            address = parse_address(f"{database}?vault=notes")
            push(snapshot, address, Path(home / "records"))
            with closing(StoreSnapshot.open(address, Settings())) as stored:
                yield stored


@pytest.fixture
def whole(corpus: Corpus) -> Corpus:
    """Return the corpus with all fragments loaded."""
    return corpus.prefetch(lambda base: [build_note_query(base, base.note_paths(), 100)])


def paths_of(corpus: Corpus, rows: list[int]) -> list[str]:
    return [corpus.table.paths[corpus.table.notes[row]] for row in rows]


def test_a_corpus_states_whether_it_holds_everything_in_memory(corpus: Corpus) -> None:
    assert corpus.is_complete == (corpus.partial is None)
    assert corpus.generation > 0
    assert corpus.reopen().edition == corpus.edition


def test_prefetched_fragments_are_in_memory(whole: Corpus) -> None:
    assert whole.lexical.doc_count == whole.lexical.corpus_size == 4
    assert whole.is_possible_result is None or whole.is_possible_result.all()
    assert sorted(paths_of(whole, list(range(4)))) == ["Bees.md", "Bees.md", "food/Honey.md", "food/Mead.md"]


def test_candidates_contain_a_term_of_each_required_group(corpus: Corpus) -> None:
    found = corpus.prefetch(lambda _: [CandidateQuery(must=(("ferment",), ("water",)), limit=10)])
    rows = found.lexical.entries("ferment").rows.tolist()
    assert paths_of(found, rows) == ["food/Mead.md"]


def test_filters_on_a_store_find_the_same_notes_as_on_the_index(corpus: Corpus) -> None:
    engine = Engine(corpus, Settings(), today=lambda: date(2026, 1, 1))
    assert {hit.fragment.path for hit in engine.search("honey path:food").hits} == {"food/Honey.md", "food/Mead.md"}
    assert [hit.fragment.path for hit in engine.search('"keeps for 50 %"').hits] == ["food/Honey.md"]
    assert engine.count_matches_by_note("#food").tolist() == [0, 1, 0]


def test_terms_are_counted_over_the_vault(corpus: Corpus) -> None:
    assert corpus.count_fragments(["queen"]) == 1
    assert corpus.count_fragments(["nowher"]) == 0
    assert corpus.count_notes(["ferment", "water"]) == 1
    assert corpus.lexical.completions("ferm", 2) == ["ferment"]
    assert "honey" in corpus.lexical.lexicon("text")


def test_the_stored_occurrences_of_terms_equal_the_ones_in_the_text(whole: Corpus) -> None:
    queen = whole.lexical.postings("text", "queen")
    assert paths_of(whole, queen.rows.tolist()) == ["Bees.md"]
    assert queen.tf.tolist() == [1]
    places = whole.lexical.occurrences("queen", queen.rows)
    in_text = places.fields == FIELDS.index("text")
    assert places.positions[in_text].tolist() == whole.lexical.positions("text", "queen").values.tolist() == [1]
    assert np.count_nonzero(places.fields == FIELDS.index("heading")) == 1


def test_loaded_vectors_have_length_one_and_their_mean_is_the_stored_mean(whole: Corpus) -> None:
    rows = whole.vectors.rows(np.arange(4))
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(4), abs=0.01)
    assert whole.vectors.mean == pytest.approx(rows.mean(axis=0), abs=0.01)
    query = whole.embedder.embed(["fermented honey"])[0]
    assert whole.vectors.similarities(query) == pytest.approx(rows @ query, abs=0.01)


def test_notes_are_read_as_they_were_indexed(corpus: Corpus) -> None:
    assert corpus.note_paths() == tuple(sorted(NOTES))
    assert corpus.note_text("food/Mead.md") == NOTES["food/Mead.md"]
    info = corpus.note_info("Bees.md")
    assert (info.title, info.aliases, info.tags, info.tokens) == (
        *("Bees", ("Honey bees",), ("animals/insects",)),
        corpus.note_tokens("Bees.md"),
    )
    assert [section.heading for section in corpus.sections("Bees.md")] == ["", "Bees", "Queen"]
    assert corpus.current_path("Bees.md") is None


def test_fragments_are_read_by_key_id_and_note(whole: Corpus) -> None:
    keys = whole.table.keys[::-1].tolist()
    found = whole.fragments(keys)
    assert [one.key for one in found] == keys
    assert whole.fragment(found[0].id) == found[0]
    assert [one.heading_path for one in whole.note_fragments("Bees.md", 1)] == [("Bees", "Queen")]
    (parts,) = whole.fragment_infos([("Bees.md", 0, None)])
    assert [part.ordinal for part in parts] == [0, 1]
    assert whole.fragment_counts(np.array([0, 1, 2])).tolist() == [2, 1, 1]


def test_unknown_notes_and_fragments_are_missing(corpus: Corpus) -> None:
    for ask in (corpus.note_text, corpus.note_tokens, corpus.note_modified, corpus.note_info):
        with pytest.raises(KeyError):
            ask("None.md")
    assert corpus.fragment("nothing") is None
    assert corpus.note_fragments("None.md") == []
    with pytest.raises(KeyError):
        corpus.fragments([12345678901])


def test_names_are_compared_without_case(corpus: Corpus) -> None:
    assert corpus.notes_named("HONEY BEES") == (0,)
    assert corpus.notes_named("honey") == (1,)
    assert [names.own > 0 for names in corpus.name_terms([0])] == [True]


def test_facets_have_the_notes_of_each_value(corpus: Corpus) -> None:
    facets = corpus.facets
    assert {tag: notes.tolist() for tag, notes in facets.tags.items()} == {
        **{"animals": [0], "animals/insects": [0]},
        **{"food": [1]},
    }
    assert {value: notes.tolist() for value, notes in facets.properties["status"].items()} == {
        "draft": [0],
        "done": [1],
    }
    assert {kind: notes.tolist() for kind, notes in facets.kinds.items()} == {"note": [0, 1, 2]}
    assert [side.tolist() for side in facets.links] == [[0, 2], [1, 1]]
    links = facets.written_links(np.array([0, 2], np.int32))
    assert [(link.note, link.target, link.text) for link in links] == [
        (0, "Honey", "the store"),
        (2, "Honey.md", "honey"),
    ]
    assert sorted(facets.titles_as_written()) == [("Bees", 0), ("Honey", 1), ("Honey bees", 0), ("Mead", 2)]
    assert dict(facets.headings_as_written()) == {"Bees": 1, "Queen": 1, "Honey": 1, "Mead": 1}
    assert dict(facets.property_names_as_written()) == {"status": 2}
    labels = facets.tags_and_properties(np.array([0, 1], np.int32))
    assert sorted((label.note, label.is_tag, label.value) for label in labels) == [
        *((0, False, "draft"), (0, True, "animals/insects")),
        *((1, False, "done"), (1, True, "food")),
    ]
    assert facets.creation_dates([0]) == [None]


@pytest.mark.parametrize(("parts", "there"), [(["HONEY", "jam"], 1), (["50 %"], 1), (["jamxy"], 0)])
def test_texts_are_found_by_parts_ignoring_case(corpus: Corpus, parts: list[str], there: int) -> None:
    assert len(corpus.facets.find_texts_ignoring_case(parts)) == there


def test_texts_are_found_exactly_as_written(whole: Corpus) -> None:
    (key, text) = whole.facets.find_texts_with("Fermented")[0]
    assert text.startswith("Fermented of")
    assert whole.facets.find_texts_with("fermented") == []
    assert whole.facets.find_texts_with("Fermented", [key]) == [(key, text)]
    assert whole.facets.find_texts_with("Fermented", []) == []


def test_a_read_transaction_returns_its_answer(corpus: Corpus) -> None:
    assert corpus.read_transaction(lambda: corpus.note_text("Bees.md")) == NOTES["Bees.md"]


def test_the_status_of_a_store_counts_its_notes_and_fragments(corpus: Corpus) -> None:
    status = corpus.status()
    assert (status.notes, status.fragments, corpus.skipped) == (3, 4, ())
    assert corpus.languages == ("en",)
    assert corpus.tokenizer == status.tokenizer


# --- a store beside a folder ------------------------------------------------------------------------------------------


@pytest.fixture
def joined_folders_and_joined_store(store: str, tmp_path: Path) -> Iterator[tuple[Vault, Vault]]:
    """Return the demo vault and a small folder as one, the demo vault from its folder and from the store."""
    small = tmp_path / "small"
    small.mkdir()
    (small / "Budget.md").write_text("# Budget\n\nThe token budget of a pack is set by hand.\n", encoding="utf-8")
    (small / "Tea.md").write_text("# Tea\n\nTea in a pack is loose. See [[Budget]].\n", encoding="utf-8")
    with excerpt.open([DEMO, small]) as folders, excerpt.open([store, small]) as joined:
        yield folders, joined


@pytest.mark.store
@pytest.mark.parametrize("query", [*QUERIES, "tea in a pack", "path:small", "path:demo budget"])
def test_a_store_and_a_folder_have_the_hits_of_two_folders(
    joined_folders_and_joined_store: tuple[Vault, Vault], query: str
) -> None:
    folders, joined = (vault.search(query, limit=10) for vault in joined_folders_and_joined_store)
    order = [*Confidence, None]
    assert abs(order.index(joined.confidence) - order.index(folders.confidence)) <= 1  # of a query at a limit
    assert [hit.score for hit in joined] == pytest.approx([hit.score for hit in folders], abs=ROUNDING)
    assert len({hit.fragment_id for hit in joined} & {hit.fragment_id for hit in folders}) >= 0.8 * len(folders.hits)


@pytest.mark.store
def test_every_question_can_be_asked_of_a_store_and_a_folder(
    joined_folders_and_joined_store: tuple[Vault, Vault],
) -> None:
    _, joined = joined_folders_and_joined_store
    packed = joined.pack("token budget of a pack", fill="budget")
    assert {pack.path.partition("/")[0] for pack in packed.passages} == {"small", "demo"}
    assert joined.read("small/Tea").text
    assert joined.related("small/Budget").notes
    assert joined.related("demo/Packs").notes
    assert {branch.label for branch in joined.map("budget").folders} >= {"small", "demo"}
    assert joined.overview("budget").found
    assert joined.explain(joined.search("budget"))
    assert joined.why_not("budget", "Tea").note


GRAPH = {
    "logseq/config.edn": "{}",
    "pages/Book___Tea.md": "alias:: Teebuch\n\n- Okakura wrote it\n",
    "pages/Größe.md": "",
    "pages/a.md": "- see [[Book/Tea]], [[Teebuch]] and [[Größe]]\n- and [[May 1st, 2024]]\n",
    "journals/2024_05_01.md": "- day\n",
}


@pytest.mark.store
def test_a_graph_of_logseq_has_its_links_and_its_empty_pages(running: Servers, tmp_path: Path) -> None:
    for path, text in GRAPH.items():
        (tmp_path / "graph" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "graph" / path).write_text(text, encoding="utf-8")
    build(tmp_path / "graph", tmp_path / "index", Settings())
    name = f"excerpt_graph_{os.getpid()}"
    with (
        temporary_database(running, name) as database,
        closing(Snapshot.open(tmp_path / "index", Settings())) as snapshot,
    ):
        address = parse_address(f"{database}?vault=graph")
        push(snapshot, address, tmp_path / "records")
        with closing(StoreSnapshot.open(address, Settings())) as stored:
            links = [facets.links_from(np.arange(4, dtype=np.int32)) for facets in (snapshot.facets, stored.facets)]
            assert [list(map(list, zip(*each, strict=True))) for each in links] == [[[3, 0], [3, 1], [3, 2]]] * 2
            found = stored.prefetch(lambda base: [build_note_query(base, base.note_paths(), 100)])
            assert Engine(found, Settings()).search("groesse").hits[0].path == "pages/Größe.md"


@pytest.mark.store
def test_a_store_marks_the_same_notes_as_replaced(running: Servers, tmp_path: Path) -> None:
    vault = tmp_path / "prices"
    vault.mkdir()
    (vault / "Now.md").write_text("# Now\n\nThe storage plan costs six euros.\n", encoding="utf-8")
    (vault / "Then.md").write_text("Replaced by [[Now]].\n\nThe storage plan costs four euros.\n", encoding="utf-8")
    build(vault, tmp_path / "index", Settings())
    with (
        temporary_database(running, f"excerpt_prices_{os.getpid()}") as database,
        closing(Snapshot.open(tmp_path / "index", Settings())) as snapshot,
    ):
        address = parse_address(f"{database}?vault=prices")
        push(snapshot, address, tmp_path / "records")
        with closing(StoreSnapshot.open(address, Settings())) as stored:
            replaced = stored.note_replaced("Then.md")
            assert replaced is not None
            assert replaced == snapshot.note_replaced("Then.md")
            found = stored.prefetch(lambda base: [build_note_query(base, base.note_paths(), 100)])
            hits = Engine(found, Settings()).search("what does the storage plan cost").hits
            assert [(hit.fragment.path, hit.replaced is not None) for hit in hits] == [
                ("Now.md", False),
                ("Then.md", True),
            ]


@pytest.mark.store
def test_a_passage_with_two_stems_of_a_word_counts_once(running: Servers, tmp_path: Path) -> None:
    vault = tmp_path / "cats"
    vault.mkdir()
    for number in range(4):
        (vault / f"Katze {number}.md").write_text("Die Katzen und der Hund schlafen auf dem Sofa.\n", encoding="utf-8")
        (vault / f"Cat {number}.md").write_text("The katz is with the katzen and the dogs.\n", encoding="utf-8")
        (vault / f"Dog {number}.md").write_text("The dogs are asleep in the shade.\n", encoding="utf-8")
        (vault / f"Bird {number}.md").write_text("The birds are in the garden.\n", encoding="utf-8")
    build(vault, tmp_path / "index", Settings())
    with (
        temporary_database(running, f"excerpt_cats_{os.getpid()}") as database,
        closing(Snapshot.open(tmp_path / "index", Settings())) as snapshot,
    ):
        address = parse_address(f"{database}?vault=cats")
        push(snapshot, address, tmp_path / "records")
        with closing(StoreSnapshot.open(address, Settings())) as stored:
            own, in_store = (Engine(corpus, Settings()).search("katzen dogs").hits for corpus in (snapshot, stored))
            assert [_coverage(hit) for hit in in_store] == [_coverage(hit) for hit in own]


def _coverage(hit: Hit) -> float:
    return next(signal.value for signal in hit.signals if signal.name == "coverage")


@pytest.mark.store
@pytest.mark.parametrize("link", ["Maharashtra", "[[Maharashtra|its region]]"])
def test_a_note_that_the_first_hit_links_to_or_names_is_second_in_a_store_too(
    running: Servers, tmp_path: Path, link: str
) -> None:
    snapshot = index_notes(
        tmp_path, {**LINKED_NOTES, "Shringarpur.md": f"# Shringarpur\n\nA village of {link}, in the Konkan.\n"}
    )
    with temporary_database(running, f"excerpt_linked_{os.getpid()}") as database, closing(snapshot):
        address = parse_address(f"{database}?vault=linked")
        push(snapshot, address, tmp_path / "records")
        with closing(StoreSnapshot.open(address, Settings())) as stored:
            own, in_store = (Engine(corpus, Settings()).search(QUESTION).hits for corpus in (snapshot, stored))
            assert in_store[1].path == "Maharashtra.md"
            assert in_store[1].linked_from == own[1].linked_from is not None
            assert [hit.path for hit in in_store[:5]] == [hit.path for hit in own[:5]]
