"""Tests of several vaults joined to one corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from excerpt.base.kinds import Strategy
from excerpt.base.model import Hit
from excerpt.base.settings import PackSettings, Settings
from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.corpus.tables import TermTier
from excerpt.corpus.union import UnionCorpus
from excerpt.index.snapshot import Snapshot
from excerpt.insight.facet_map import build_vault_map
from excerpt.insight.notes import find_note
from excerpt.insight.overview import build_overview
from excerpt.insight.related import find_related_notes
from excerpt.pack.build import build_pack
from excerpt.pack.formats.registry import renderer_for
from excerpt.pack.formats.source_label import PackLinks
from excerpt.search.engine import Engine
from excerpt.search.explain import explain_hits
from excerpt.text.tokens import open_tokenizer
from excerpt.vault.known_vaults import VaultFolders
from tests.search.conftest import NOTES as COOKING
from tests.search.library import NOTES as LIBRARY
from tests.search.library import open_vault
from tests.search.scripted_models import FloatVectors, WordEmbedder

WORK = {
    "Index.md": "---\ncreated: 2024-05-01\n---\n# Start\n\nSee [[Alpha]], [[Projects/Beta|the second]] and [[Soup]].\n",
    "Projects/Alpha.md": "---\ntags: [project]\n---\n# Alpha\n\nAlpha is the first project. It needs [[Beta]].\n",
    "Projects/Beta.md": "---\nstatus: done\n---\n# Beta\n\n[Up](../Index.md), [out](../../home/Alpha.md).\n",
}
HOME = {
    "Alpha.md": "---\ntags: [letter]\n---\n# Alpha\n\nAlpha is a letter. [[Soup]] has it not. [[Beta]] is another.\n",
    "Kitchen/Soup.md": "# Soup\n\nRoast the vegetables. The letters are of pasta, as [[Alpha]] says.\n",
    "2024/05/06.md": "We ate soup.\n",
}
QUERIES = (
    *("alpha", "the first project", "soup of letters", "sync conflict", "bread dough", "what does the beta need"),
    *(
        "path:Projects alpha",
        "tag:project",
        "folder:Projects",
        "link:Alpha",
        "from:Alpha",
        "status:done",
        '"the first"',
    ),
    *("alpha | soup", "date:2024", "modified:2025", "-alpha", "file:Alpha", "!s letters", "!w soup", "quest", "nothin"),
)
WORK_ALPHA = "work/Projects/Alpha.md"
TODAY = date(2025, 3, 14)


@pytest.fixture(scope="module")
def vaults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Snapshot]]:
    root = tmp_path_factory.mktemp("union")
    notes = {"work": WORK, "home": HOME, "library": LIBRARY, "cooking": COOKING, "copy": COOKING, "empty": {}}
    for name in notes:
        (root / name / "vault").mkdir(parents=True)
    opened = {name: open_vault(root / name, texts) for name, texts in notes.items()}
    yield opened
    for snapshot in opened.values():
        snapshot.close()


@pytest.fixture(scope="module")
def two_vaults(vaults: Mapping[str, Snapshot]) -> Corpus:
    return join_vaults(vaults, "work", "home")


def join_vaults(vaults: Mapping[str, Snapshot], *names: str) -> Corpus:
    return UnionCorpus((name, vaults[name]) for name in names)


def search(corpus: Corpus, query: str, limit: int = 50) -> tuple[Hit, ...]:
    return Engine(corpus, Settings(), today=lambda: TODAY).search(query, limit=limit).hits


def link_paths(corpus: Corpus) -> set[tuple[str, str]]:
    sources, targets = corpus.facets.links
    paths = corpus.table.paths
    return {(paths[a], paths[b]) for a, b in zip(sources.tolist(), targets.tolist(), strict=True)}


# --- the vault of a path ----------------------------------------------------------------------------------------------


def test_a_path_begins_with_the_name_of_its_vault(two_vaults: Corpus) -> None:
    assert (
        two_vaults.note_paths()
        == two_vaults.table.paths
        == (
            *("home/2024/05/06.md", "home/Alpha.md", "home/Kitchen/Soup.md"),
            *("work/Index.md", "work/Projects/Alpha.md", "work/Projects/Beta.md"),
        )
    )
    hits = search(two_vaults, "alpha")
    assert {hit.path for hit in hits} >= {"home/Alpha.md", "work/Projects/Alpha.md"}
    for hit in hits:
        assert hit.text in two_vaults.note_text(hit.path)
        assert two_vaults.fragment(hit.fragment.id) == hit.fragment
        assert two_vaults.note_fragments(hit.path)[hit.fragment.ordinal] == hit.fragment
        assert two_vaults.note_info(hit.path).path == hit.path


def test_data_of_several_notes_is_read_in_the_requested_order(two_vaults: Corpus) -> None:
    paths = ["work/Projects/Beta.md", "home/Alpha.md", "work/Projects/Alpha.md", "home/Alpha.md"]
    infos = two_vaults.note_infos(paths)
    assert [info.path for info in infos] == paths
    assert [info.tags for info in infos] == [(), ("letter",), ("project",), ("letter",)]


def test_paths_are_sorted_for_any_vault_names(vaults: Mapping[str, Snapshot]) -> None:
    names = ["a b", "a", "a-b", "ä", "a!", "A"]
    union = UnionCorpus((name, vaults["home"]) for name in names)
    assert list(union.table.paths) == sorted(union.table.paths)
    assert len(union.table.paths) == len(names) * len(HOME)


def test_an_unknown_note_raises_the_same_error_as_in_a_single_vault(two_vaults: Corpus) -> None:
    for path in ("Alpha.md", "nowhere/Alpha.md", "home", "home/", "", "/home/Alpha.md"):
        assert not two_vaults.note_fragments(path)
        assert not two_vaults.sections(path)
        with pytest.raises(KeyError):
            two_vaults.note_text(path)
    assert two_vaults.fragment_infos([("nowhere/a.md", 0, None), ("home/Alpha.md", 0, None)])[0] == []
    assert two_vaults.fragment("0123456789ab@home") is two_vaults.fragment("") is None


def test_a_note_is_also_found_by_its_path_within_its_vault(two_vaults: Corpus) -> None:
    assert find_note(two_vaults, "Projects/Alpha") == "work/Projects/Alpha.md"
    assert find_note(two_vaults, "work/Projects/Alpha.md") == "work/Projects/Alpha.md"
    assert find_note(two_vaults, "Kitchen/Soup") == "home/Kitchen/Soup.md"


# --- links ------------------------------------------------------------------------------------------------------------


def test_a_link_leads_to_a_note_of_its_own_vault(two_vaults: Corpus) -> None:
    links = link_paths(two_vaults)
    assert ("work/Index.md", "work/Projects/Alpha.md") in links
    assert ("home/Kitchen/Soup.md", "home/Alpha.md") in links
    assert {source.split("/")[0] == target.split("/")[0] for source, target in links} == {True}


def test_a_link_resolves_as_in_its_vault_alone(vaults: Mapping[str, Snapshot], two_vaults: Corpus) -> None:
    alone = {(f"{name}/{a}", f"{name}/{b}") for name in ("work", "home") for a, b in link_paths(vaults[name])}
    assert link_paths(two_vaults) == alone
    facets = two_vaults.facets
    notes = np.arange(len(two_vaults.table.paths), dtype=np.int32)
    resolved = {(link.note, facets.resolve_link(link)) for link in facets.written_links(notes)}
    resolved |= {(link.note, facets.resolve_target(link.target, link.note)) for link in facets.written_links(notes)}
    paths = two_vaults.table.paths
    assert {(paths[a], paths[b]) for a, b in resolved if b not in (None, -1) and a != b} == alone


def test_a_filter_for_links_to_a_note_name_finds_links_in_every_vault(two_vaults: Corpus) -> None:
    assert {hit.path for hit in search(two_vaults, "link:Alpha")} == {"work/Index.md", "home/Kitchen/Soup.md"}
    assert {hit.path for hit in search(two_vaults, "link:home/Alpha")} == {"home/Kitchen/Soup.md"}


def test_a_date_in_the_name_of_a_vault_is_not_a_date_of_its_notes(vaults: Mapping[str, Snapshot]) -> None:
    union = UnionCorpus([("2023-01-01", vaults["work"]), ("home", vaults["home"])])
    assert not search(union, "date:2023-01-01")
    assert union.facets.dates.tolist()[-3:] == vaults["home"].facets.dates.tolist()


# --- searches ---------------------------------------------------------------------------------------------------------


@pytest.mark.programs
@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("name", ["library", "cooking", "home"])
def test_a_union_of_one_vault_gives_the_same_results(
    vaults: Mapping[str, Snapshot], name: str, strategy: Strategy
) -> None:
    alone = Engine(vaults[name], Settings(), today=lambda: TODAY)
    union = Engine(join_vaults(vaults, name), Settings(), today=lambda: TODAY)
    for query in QUERIES:
        one, other = alone.search(query, strategy, 50), union.search(query, strategy, 50)
        assert (one.matched, one.confidence, one.strategy) == (other.matched, other.confidence, other.strategy)
        assert [hit_without_vault(hit) for hit in other.hits] == list(one.hits), query
        assert [each.words for each in explain_hits(alone, one)] == [each.words for each in explain_hits(union, other)]


@pytest.mark.programs
@given(st.lists(st.sampled_from(["alpha", "soup", "of", "letters", "the", "sync", "salt", "-alpha", "|"]), max_size=5))
def test_a_union_of_one_vault_gives_the_same_results_for_any_words(
    vaults: Mapping[str, Snapshot], words: list[str]
) -> None:
    query = " ".join(words)
    assert [hit_without_vault(hit) for hit in search(join_vaults(vaults, "cooking"), query)] == list(
        search(vaults["cooking"], query)
    )


def hit_without_vault(hit: Hit) -> Hit:
    """Return a hit of the first vault of a union as a search of that vault alone has it."""
    fragment = hit.fragment
    own_id, own_path = fragment.id.split("@")[0], fragment.path.split("/", 1)[1]
    return replace(hit, fragment=replace(fragment, id=own_id, path=own_path))


@pytest.mark.parametrize(
    "query",
    [
        *("path:Projects", "path:Kitchen soup", "folder:2024/", "tag:letter", "tag:project alpha", "link:Alpha"),
        *("link:Beta", "from:Alpha", "file:Alpha", "status:done", "date:2024", "created:2024-05", "kind:note"),
        *("-alpha", '"the first"'),
    ],
)
def test_a_filter_finds_the_same_notes_as_in_each_vault_alone(
    vaults: Mapping[str, Snapshot], two_vaults: Corpus, query: str
) -> None:
    def matching(corpus: Corpus) -> set[str]:
        engine = Engine(corpus, Settings(), today=lambda: TODAY)
        rows = np.flatnonzero(engine.find_matching_rows(query))
        return {corpus.table.paths[note] for note in corpus.table.notes[rows].tolist()}

    known = [name for name in ("home", "work") if query != "status:done" or name == "work"]  # else these are words
    assert matching(two_vaults) == {f"{name}/{path}" for name in known for path in matching(vaults[name])} != set()


@pytest.mark.parametrize(("query", "path"), [("pasta", "home/Kitchen/Soup.md"), ("first project", WORK_ALPHA)])
def test_the_union_finds_what_each_vault_finds(two_vaults: Corpus, query: str, path: str) -> None:
    assert search(two_vaults, query)[0].path == path


def test_two_copies_of_a_vault_have_different_ids(vaults: Mapping[str, Snapshot]) -> None:
    union = join_vaults(vaults, "cooking", "copy")
    for query in ("bread dough", "sync conflict", "tag:sync/help", "lighthouse"):
        hits = search(union, query)
        assert len({hit.fragment.id for hit in hits}) == len(hits) > 0
        paths = [hit.path for hit in hits]
        twins = {path.split("/", 1)[1] for path in paths}
        assert set(paths) == {f"{name}/{path}" for name in ("cooking", "copy") for path in twins}


def test_a_vault_without_notes_changes_no_result(vaults: Mapping[str, Snapshot]) -> None:
    for query in QUERIES:
        assert search(join_vaults(vaults, "cooking", "empty"), query) == search(join_vaults(vaults, "cooking"), query)
    assert not search(join_vaults(vaults, "empty"), "soup")


def test_paths_in_packs_and_overviews_and_maps_and_related_notes_begin_with_the_vault_name(two_vaults: Corpus) -> None:
    engine = Engine(two_vaults, Settings())
    settings = PackSettings(budget=500)
    packed = build_pack(
        two_vaults,
        engine.search("alpha").hits,
        query="alpha",
        strategy=Strategy.AUTO,
        settings=settings,
        tokenizer=open_tokenizer(settings.tokenizer),
        renderer=renderer_for(settings, ("alpha",), PackLinks(VaultFolders.of([Path("/vault")])), Path()),
    )
    assert {pack.path.split("/")[0] for pack in packed.passages} == {"home", "work"}
    assert {note.place.path.split("/")[0] for note in build_overview(engine, "alpha", 500).main_notes} == {
        "home",
        "work",
    }
    assert all(
        note.path in two_vaults.table.paths for note in find_related_notes(engine, "home/Alpha.md", None, 10).notes
    )
    assert {branch.label for branch in build_vault_map(engine, "alpha", None).folders} == {"home", "work"}


# --- what is joined ---------------------------------------------------------------------------------------------------


def test_the_edition_of_a_union_changes_when_any_of_its_vaults_changes(vaults: Mapping[str, Snapshot]) -> None:
    editions = {
        join_vaults(vaults, *names).edition for names in (("work",), ("home",), ("work", "home"), ("home", "work"))
    }
    assert len(editions) == 3


def test_counts_are_sums_over_all_vaults(vaults: Mapping[str, Snapshot], two_vaults: Corpus) -> None:
    each = [vaults["home"].status(), vaults["work"].status()]
    status = two_vaults.status()
    assert (status.notes, status.fragments) == (sum(s.notes for s in each), sum(s.fragments for s in each))
    assert two_vaults.count_fragments(["alpha"]) == sum(
        vaults[name].count_fragments(["alpha"]) for name in ("home", "work")
    )
    counts = two_vaults.fragment_counts(np.arange(len(two_vaults.table.paths)))
    assert counts.sum() == status.fragments == two_vaults.lexical.doc_count == len(two_vaults.lexical.keys)


def test_in_a_union_the_similarities_and_their_mean_agree_with_its_vectors(vaults: Mapping[str, Snapshot]) -> None:
    union = join_vaults(vaults, "cooking", "home")
    query = union.embedder.embed(["soup"])[0]
    every = union.vectors.similarities(query)
    rows = np.array([len(every) - 1, 0, 3])
    assert np.array_equal(union.vectors.similarities_at(query, rows), every[rows])
    assert np.allclose(union.vectors.rows(rows) @ query, every[rows], atol=1e-3)
    rough, error = union.vectors.approximate_similarities(query)
    assert np.abs(rough - every).max() <= error
    assert np.allclose(union.vectors.mean, union.vectors.rows(np.arange(len(every))).mean(axis=0), atol=1e-5)
    assert union.vectors.mean_similarity(query) == pytest.approx(float(every.mean()), abs=1e-5)


def test_vaults_with_different_embedders_each_use_their_own(
    vaults: Mapping[str, Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    cooking, home = vaults["cooking"], vaults["home"]
    chosen = {cooking: WordEmbedder({"loaf": "bread"}), home: WordEmbedder({"loaf": "soup"})}
    vectors = {
        corpus: FloatVectors(
            embedder.embed_passages([each.text for each in corpus.fragments(corpus.table.keys.tolist())])
        )
        for corpus, embedder in chosen.items()
    }
    monkeypatch.setattr(Snapshot, "search_vectors", property(vectors.__getitem__))
    monkeypatch.setattr(Snapshot, "query_embedder", property(chosen.__getitem__))
    first, again = join_vaults(vaults, "cooking", "home"), join_vaults(vaults, "cooking", "home")
    found = Engine(first, Settings()).search("!s loaf", limit=2).hits
    assert all(embedder.queries == ["loaf"] for embedder in chosen.values())
    alone = [search(join_vaults(vaults, name), "!s loaf", 1)[0].path for name in ("cooking", "home")]
    assert {hit.path for hit in found} == set(alone)
    assert alone[1] == "home/2024/05/06.md"  # the note about soup, which only this model takes a loaf for
    assert first.query_embedder == again.query_embedder  # so the vectors of queries stay cached


def test_tokens_of_another_tokenizer_are_counted_again_by_that_of_the_first_vault(
    vaults: Mapping[str, Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vaults["home"].__dict__, "tokenizer", "chars/4")
    union = join_vaults(vaults, "work", "home")
    count = open_tokenizer("chars/4").count
    for path in (each for each in union.note_paths() if each.startswith("work/")):
        fragments, (infos,) = union.note_fragments(path), union.fragment_infos([(path, 0, None)])
        assert [each.tokens for each in fragments] == [count(each.text) for each in fragments]
        assert [each.tokens for each in infos] == [each.tokens for each in fragments]
        assert union.note_tokens(path) == union.note_info(path).tokens == count(union.note_text(path))


# --- a store among the vaults -----------------------------------------------------------------------------------------


class LoadedOnDemand:
    """A corpus as a store has it, of the fragments of an index; `asked` are the queries that it was loaded for."""

    is_complete = False

    def __init__(self, index: Snapshot, asked: Sequence[CandidateQuery] = ()) -> None:
        self._index = index
        self.asked = asked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    @property
    def partial(self) -> LoadedOnDemand:
        return self

    @property
    def without_comments(self) -> LoadedOnDemand:
        return self

    def reopen(self) -> LoadedOnDemand:
        return self

    def prefetch(self, requests: Callable[[Corpus], Sequence[CandidateQuery]]) -> LoadedOnDemand:
        return LoadedOnDemand(self._index, requests(cast("Corpus", self)))

    def matching_by_note(self, queries: Sequence[CandidateQuery]) -> NDArray[np.int64]:
        return np.full(len(self._index.table.paths), 7 * len(queries))


def join_store(vaults: Mapping[str, Snapshot], store: str, *names: str) -> UnionCorpus:
    stored = cast("Corpus", LoadedOnDemand(vaults[store]))
    return UnionCorpus([(store, stored), *((name, vaults[name]) for name in names)])


@pytest.mark.parametrize("query", QUERIES)
def test_a_store_in_a_union_is_ranked_as_an_index(vaults: Mapping[str, Snapshot], query: str) -> None:
    of_indexes = search(join_vaults(vaults, "home", "work"), query, 10)
    with_store = search(join_store(vaults, "home", "work"), query, 10)
    assert [hit.path for hit in with_store] == [hit.path for hit in of_indexes]
    assert [hit.score for hit in with_store] == pytest.approx([hit.score for hit in of_indexes], abs=0.02)


def test_a_store_is_asked_for_its_own_notes_alone(vaults: Mapping[str, Snapshot]) -> None:
    corpus = join_store(vaults, "work", "home")
    engine = Engine(corpus, Settings(), today=lambda: TODAY)

    def asked(query: str) -> Sequence[CandidateQuery]:
        engine.search(query)
        union = engine.snapshot
        assert isinstance(union, UnionCorpus)
        (store,) = (part.corpus for part in union.vaults if part.name == "work")
        assert isinstance(store, LoadedOnDemand)
        return store.asked

    (query,) = asked("tag:project alpha")
    assert (query.notes is not None and query.notes.tolist(), query.whole_notes) == ([1], (1,))
    assert asked("path:Kitchen soup") == []
    (query,) = asked("alpha")
    assert query.notes is None
    assert query.whole_notes == (1,)


def test_matches_are_counted_by_the_store_and_in_the_index(vaults: Mapping[str, Snapshot]) -> None:
    union = join_store(vaults, "home", "work")
    query = CandidateQuery(words=((TermTier(("alpha", "beta"), 1.0),),), must_not=("first",))
    assert union.matching_by_note([query]).tolist() == [7, 7, 7, 1, 0, 1]


def test_what_does_not_depend_on_loaded_fragments_is_kept(vaults: Mapping[str, Snapshot]) -> None:
    union = join_store(vaults, "home", "work")
    view = union.prefetch(lambda _: [CandidateQuery(words=((TermTier(("alpha",), 1.0),),), limit=5)])
    assert view is not union
    assert view.facets is union.facets
    assert view.table.paths is union.table.paths
    assert union.reopen() is union
