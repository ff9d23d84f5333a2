"""Tests of the `Corpus` interface, for the index of a folder and (marker `store`) a vault in a store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.corpus.tables import FIELDS
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.prefetch import build_note_query
from excerpt.settings import Settings
from excerpt.store.address import parse_address
from excerpt.store.push import push
from excerpt.store.snapshot import StoreSnapshot
from tests.store.conftest import made_database
from tests.store.server import Servers

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
        with made_database(running, f"excerpt_corpus_{os.getpid()}") as database:
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


def test_a_corpus_that_has_not_all_at_hand_says_so(corpus: Corpus) -> None:
    assert corpus.is_complete == (corpus.partial is None)
    assert corpus.generation > 0
    assert corpus.reopen().edition == corpus.edition


def test_what_is_prefetched_is_at_hand(whole: Corpus) -> None:
    assert whole.lexical.doc_count == whole.lexical.corpus_size == 4
    assert whole.is_possible_result is None or whole.is_possible_result.all()
    assert sorted(paths_of(whole, list(range(4)))) == ["Bees.md", "Bees.md", "food/Honey.md", "food/Mead.md"]


def test_candidates_have_one_term_of_each_that_they_must_have(corpus: Corpus) -> None:
    found = corpus.prefetch(lambda _: [CandidateQuery(must=(("ferment",), ("water",)), limit=10)])
    rows = found.lexical.entries("ferment").rows.tolist()
    assert paths_of(found, rows) == ["food/Mead.md"]


def test_a_filter_of_the_engine_leaves_the_same(corpus: Corpus) -> None:
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


def test_occurrences_are_those_of_the_text(whole: Corpus) -> None:
    queen = whole.lexical.postings("text", "queen")
    assert paths_of(whole, queen.rows.tolist()) == ["Bees.md"]
    assert queen.tf.tolist() == [1]
    places = whole.lexical.occurrences("queen", queen.rows)
    in_text = places.fields == FIELDS.index("text")
    assert places.positions[in_text].tolist() == whole.lexical.positions("text", "queen").values.tolist() == [1]
    assert np.count_nonzero(places.fields == FIELDS.index("heading")) == 1


def test_vectors_are_of_length_one_and_the_mean_is_theirs(whole: Corpus) -> None:
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


def test_fragments_come_by_key_by_id_and_by_note(whole: Corpus) -> None:
    keys = whole.table.keys[::-1].tolist()
    found = whole.fragments(keys)
    assert [one.key for one in found] == keys
    assert whole.fragment(found[0].id) == found[0]
    assert [one.heading_path for one in whole.note_fragments("Bees.md", 1)] == [("Bees", "Queen")]
    (parts,) = whole.parts([("Bees.md", 0, None)])
    assert [part.ordinal for part in parts] == [0, 1]
    assert whole.fragment_counts(np.array([0, 1, 2])).tolist() == [2, 1, 1]


def test_what_is_not_there_is_no_note_and_no_fragment(corpus: Corpus) -> None:
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


def test_facets_say_which_notes_have_what(corpus: Corpus) -> None:
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
def test_texts_are_found_by_parts_whatever_the_case(corpus: Corpus, parts: list[str], there: int) -> None:
    assert len(corpus.facets.texts_like(parts)) == there


def test_texts_are_found_as_they_are_written(whole: Corpus) -> None:
    (key, text) = whole.facets.texts_with("Fermented")[0]
    assert text.startswith("Fermented of")
    assert whole.facets.texts_with("fermented") == []
    assert whole.facets.texts_with("Fermented", [key]) == [(key, text)]
    assert whole.facets.texts_with("Fermented", []) == []


def test_a_read_transaction_gives_its_answer(corpus: Corpus) -> None:
    assert corpus.read_transaction(lambda: corpus.note_text("Bees.md")) == NOTES["Bees.md"]


def test_what_is_indexed_is_told(corpus: Corpus) -> None:
    status = corpus.status()
    assert (status.notes, status.fragments, corpus.skipped) == (3, 4, ())
    assert corpus.languages == ("en",)
    assert corpus.tokenizer == status.tokenizer
