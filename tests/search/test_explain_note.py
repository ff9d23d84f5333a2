"""Tests of "why not higher": the rank is that of a search, and the missing points are those of other notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from excerpt.base.kinds import Strategy
from excerpt.base.model import Hit
from excerpt.base.settings import Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.evidence import POOL_SIZE
from excerpt.search.explain_note import MAX_COMPARED_HITS, explain_fragment, explain_note
from excerpt.search.rank_reasons import AbsenceKind, NoteExplanation, StrategyRank


def explain(engine: Engine, query: str, note: str, strategy: Strategy = Strategy.AUTO) -> NoteExplanation:
    return explain_note(engine, query, note, strategy)


def absence(told: NoteExplanation) -> tuple[AbsenceKind | None, str]:
    return (told.absence.kind, told.absence.reason) if told.absence else (None, "")


def rank_in(hits: tuple[Hit, ...], path: str) -> int | None:
    return next((rank for rank, hit in enumerate(hits, 1) if hit.fragment.path == path), None)


def rank_under(told: NoteExplanation, strategy: str) -> StrategyRank:
    return next(one for one in told.ranks if one.strategy == strategy)


@pytest.mark.parametrize("name", ["Sync/Conflicts.md", "conflicts", "CONFLICTS.MD", "Merge trouble", "Sync/Conflicts"])
def test_a_note_is_found_by_path_file_name_title_and_alias(engine: Engine, name: str) -> None:
    assert explain(engine, "bread", name).path == "Sync/Conflicts.md"


@pytest.mark.parametrize(
    "query", ["sync conflict", "what is baked with steam at night", "lighthouse", "bread | lighthouse", "sync -phones"]
)
@pytest.mark.parametrize("path", ["Sync/Devices.md", "Cooking/Bread.md", "Long.md", "Other.md"])
def test_rank_and_score_equal_those_of_a_search_under_every_strategy(engine: Engine, query: str, path: str) -> None:
    told = explain(engine, query, path)
    for strategy in Strategy:
        result = engine.search(query, strategy, 1000)
        rank = rank_in(result.hits, path)
        found = rank_under(told, strategy)
        assert (found.rank, found.ranked_by) == (rank, result.strategy)
        if rank is not None:
            hit = result.hits[rank - 1]
            assert (found.score, found.line) == (hit.score, hit.fragment.line_start)
    assert rank_under(told, "rrf").ranked_by == "rrf"


def test_the_best_fragment_of_the_note_is_explained_like_a_hit(engine: Engine) -> None:
    result = engine.search("sync conflict")
    told = explain(engine, "sync conflict", "Sync/Devices.md").explanation
    assert told is not None
    assert told.hit == result.hits[told.rank - 1]
    assert told.share == told.hit.score / result.hits[0].score
    assert [part.word for part in told.words] == ["sync", "conflict"]


def test_a_fragment_has_its_own_rank_not_that_of_its_note(engine: Engine) -> None:
    hits = engine.search("lighthouse").hits
    rank, hit = next((rank, hit) for rank, hit in enumerate(hits, 1) if hit.fragment.ordinal == 5)
    told = explain_fragment(engine, "lighthouse", hit.fragment, Strategy.AUTO)
    assert told.explanation is not None
    assert (told.explanation.rank, told.explanation.hit) == (rank, hit)
    assert rank_under(told, "auto").line == hit.fragment.line_start


def test_a_missing_fragment_is_reported(engine: Engine) -> None:
    fragment = replace(engine.search("lighthouse").hits[0].fragment, id="none")
    told = explain_fragment(engine, "lighthouse", fragment, Strategy.AUTO)
    assert absence(told) == (AbsenceKind.UNKNOWN, f"{fragment.path} has changed since the search. Search again.")


def test_a_strategy_forced_in_the_query_is_the_requested_one(engine: Engine) -> None:
    told = explain(engine, "!s sync conflict", "Sync/Devices.md")
    assert told.requested_strategy is Strategy.SEMANTIC
    assert told.explanation is not None
    assert told.explanation.rank == rank_under(told, "semantic").rank


def test_the_explanation_of_the_first_hit_compares_it_with_no_other(engine: Engine) -> None:
    told = explain(engine, "sourdough", "Cooking/Bread.md")
    assert told.explanation is not None
    assert told.explanation.rank == 1
    assert (told.signal_gaps, told.compared, told.from_limit) == ((), 0, 1)


def test_the_lost_points_sum_to_the_distance_from_the_hits_above(engine: Engine) -> None:
    result = engine.search("sync conflict")
    told = explain(engine, "sync conflict", "Sync/Encryption.md")
    assert told.explanation is not None
    above = result.hits[: min(told.explanation.rank - 1, MAX_COMPARED_HITS)]
    assert told.compared == len(above) > 0
    behind = sum(hit.score for hit in above) / len(above) - told.explanation.hit.score
    assert sum(gap.cost for gap in told.signal_gaps) == pytest.approx(behind, abs=1e-5)
    assert [gap.cost for gap in told.signal_gaps] == sorted((gap.cost for gap in told.signal_gaps), reverse=True)


def test_an_unknown_note_name_is_reported_with_similar_names(engine: Engine) -> None:
    assert absence(explain(engine, "sync", "Encription")) == (
        AbsenceKind.UNKNOWN,
        "No note is called Encription. Did you mean Sync/Encryption.md?",
    )
    missing = explain(engine, "sync", "Encription").absence
    assert missing is not None
    assert missing.near == ("Sync/Encryption.md",)
    assert absence(explain(engine, "sync", "zqxzqx")) == (AbsenceKind.UNKNOWN, "No note is called zqxzqx.")
    assert absence(explain(engine, "sync", " "))[0] is AbsenceKind.UNKNOWN


def test_if_a_phrase_excludes_the_note_the_reason_names_the_phrase(engine: Engine) -> None:
    assert absence(explain(engine, '"sync conflict"', "Cooking/Bread.md")) == (
        AbsenceKind.EXCLUDED,
        'Cooking/Bread.md is excluded by "sync conflict".',
    )


def test_the_filter_that_excludes_the_note_is_named(engine: Engine) -> None:
    assert absence(explain(engine, "water -yeast tag:sync", "Cooking/Soup.md")) == (
        AbsenceKind.EXCLUDED,
        "Cooking/Soup.md is excluded by tag:sync.",
    )


def test_all_conditions_that_no_single_fragment_meets_are_named(engine: Engine) -> None:
    assert absence(explain(engine, 'water heading:sourdough "flour, water, salt"', "Cooking/Bread.md")) == (
        AbsenceKind.EXCLUDED,
        'Cooking/Bread.md is excluded by heading:sourdough and "flour, water, salt".',
    )


def test_every_reason_is_given_if_no_alternative_matches(engine: Engine) -> None:
    assert absence(explain(engine, "salt tag:sync | bread -salt", "Cooking/Soup.md")) == (
        AbsenceKind.EXCLUDED,
        "Cooking/Soup.md is excluded by tag:sync. Cooking/Soup.md is excluded by -salt.",
    )


def test_the_rank_under_filters_alone_equals_that_of_a_search(engine: Engine) -> None:
    result = engine.search("path:garden/")
    told = explain(engine, "path:garden/", "Garden/Vergleich.md")
    assert told.explanation is not None
    assert told.explanation.rank == rank_in(result.hits, "Garden/Vergleich.md")
    assert told.explanation.words == ()


def test_the_explanation_says_that_a_note_has_no_word_of_the_query_and_no_similar_meaning(engine: Engine) -> None:
    kind, reason = absence(explain(engine, "!a tablet", "Cooking/Soup.md"))
    assert kind is AbsenceKind.UNMATCHED
    assert reason.startswith("“tablet” is in no passage of Cooking/Soup.md, and ")
    _, reason = absence(explain(engine, "!a tablet phones", "Cooking/Soup.md"))
    assert reason.startswith("None of “tablet”, “phones” is in a passage of Cooking/Soup.md, and ")


@pytest.fixture(scope="module")
def engine_with_many_notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Index more matching fragments than the candidate pool holds, an unreadable file and an empty one."""
    root = tmp_path_factory.mktemp("many")
    (root / "vault").mkdir()
    for number in range(POOL_SIZE * 2):
        text = "harbour " * (1 + number % 7) + "stone " * (number // 7)
        (root / "vault" / f"N{number:03}.md").write_text(f"{text}\n", encoding="utf-8")
    (root / "vault" / "Nothing.excalidraw").write_text("", encoding="utf-8")
    (root / "vault" / "Scan.md").write_bytes(b"\0" * 2000)
    build(root / "vault", root / "index", Settings())
    snapshot = Snapshot.open(root / "index", Settings())
    yield Engine(snapshot, Settings())
    snapshot.close()


@pytest.mark.programs
def test_a_note_beyond_the_limit_has_its_rank_and_the_limit_to_list_it(engine_with_many_notes: Engine) -> None:
    last = engine_with_many_notes.search("!a harbour", limit=POOL_SIZE * 2).hits[-1].fragment.path
    told = explain(engine_with_many_notes, "!a harbour", last)
    assert told.explanation is not None
    assert told.from_limit is not None
    assert told.from_limit > POOL_SIZE
    listed = engine_with_many_notes.search("!a harbour", limit=told.from_limit).hits
    assert listed[told.explanation.rank - 1].fragment.path == last
    shorter = engine_with_many_notes.search("!a harbour", limit=told.from_limit - 1).hits
    assert last not in {hit.fragment.path for hit in shorter}


def test_for_a_skipped_file_the_explanation_is_why_it_was_skipped(engine_with_many_notes: Engine) -> None:
    kind, reason = absence(explain(engine_with_many_notes, "harbour", "scan"))
    assert kind is AbsenceKind.SKIPPED
    assert reason.startswith("Scan.md is not in the index: ")
    assert engine_with_many_notes.snapshot.skipped[0].reason in reason


def test_the_explanation_says_that_a_note_has_no_text(engine_with_many_notes: Engine) -> None:
    assert absence(explain(engine_with_many_notes, "harbour", "Nothing.excalidraw")) == (
        AbsenceKind.EMPTY,
        "Nothing.excalidraw has no text to search.",
    )
