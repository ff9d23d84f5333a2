"""Tests of signals and weights: which strategy leads, notes about the query, links from matching notes, recency."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from excerpt.base.kinds import Strategy
from excerpt.base.model import Hit
from excerpt.base.settings import Settings
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.ranking import (
    DAY_NS,
    NOTE_SIGNALS,
    SECOND_NS,
    SIGNALS,
    STRATEGY_WEIGHTS,
    active_strategy,
    primary_strategy,
    score_backlinks,
    score_recency,
    weights_for,
)
from tests.search.library import open_vault

NOW = 20_000 * DAY_NS


def backlink_scores(
    links: list[tuple[int, int]], strength_of_rows: dict[int, float] | list[tuple[int, float]], notes: int = 4
) -> npt.NDArray[np.float32]:
    """Return the backlink strengths for these links between notes and rows of (note, strength)."""
    sources, targets = (np.array([link[end] for link in links], np.int32) for end in (0, 1))
    rows = list(strength_of_rows.items()) if isinstance(strength_of_rows, dict) else strength_of_rows
    numbers = np.array([note for note, _ in rows], np.int32)
    return score_backlinks(sources, targets, numbers, np.array([value for _, value in rows], np.float32), notes)


def test_the_note_with_most_links_from_matches_scores_one_and_others_a_share() -> None:
    found = backlink_scores([(0, 3), (1, 3), (0, 2)], {0: 1.0, 1: 1.0})
    assert found[3] == 1
    assert 0 < found[2] < 1
    assert found[0] == found[1] == 0


def test_links_from_a_note_that_does_not_match_the_query_do_not_count() -> None:
    assert backlink_scores([(0, 3), (1, 2)], {0: 1.0})[2] == 0


def test_a_link_of_a_better_match_counts_more() -> None:
    found = backlink_scores([(0, 2), (1, 3)], {0: 1.0, 1: 0.2})
    assert found[2] > found[3] > 0


def test_for_backlinks_a_linking_note_counts_once_with_its_best_fragment() -> None:
    assert np.array_equal(
        backlink_scores([(0, 2), (1, 3)], [(0, 0.5), (1, 0.1), (1, 0.5), (1, 0.2)])[2:], np.ones(2, np.float32)
    )


def test_each_further_link_to_a_note_counts_less() -> None:
    found = backlink_scores([(note, 10) for note in range(10)] + [(0, 11)], dict.fromkeys(range(10), 1.0), notes=12)
    assert found[11] > found[10] / 10


def test_a_note_does_not_count_its_own_links() -> None:
    assert not backlink_scores([(0, 0)], {0: 1.0}).any()


def test_without_links_between_matches_no_note_gets_a_backlink_score() -> None:
    assert not backlink_scores([], {0: 1.0}).any()
    assert not backlink_scores([(0, 1)], {}).any()
    assert not backlink_scores([(0, 1)], {0: 0.0}).any()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30),
    st.lists(st.tuples(st.integers(0, 5), st.floats(0, 3, width=32)), max_size=20),
)
def test_backlink_scores_are_between_zero_and_one(links: list[tuple[int, int]], rows: list[tuple[int, float]]) -> None:
    found = backlink_scores(sorted(set(links)), rows, notes=6)
    assert found.dtype == np.float32
    assert ((found >= 0) & (found <= 1)).all()


def file_times(*days_ago: float) -> npt.NDArray[np.int64]:
    return np.array([NOW - int(days * DAY_NS) for days in days_ago], np.int64)


def test_a_modification_counts_half_after_a_half_life() -> None:
    assert np.allclose(score_recency(file_times(0, 10, 20, 400), NOW, half_life_days=10), [1, 0.5, 0.25, 0], atol=1e-6)


def test_a_modification_time_in_the_future_counts_as_now() -> None:
    assert score_recency(file_times(-5, 30), NOW)[0] == 1


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), st.integers(-(2**63), 2**63 - 1))
def test_recency_scores_are_between_zero_and_one_for_any_times(modified: list[int], now: int) -> None:
    found = score_recency(np.array(modified, np.int64), now)
    assert ((found >= 0) & (found <= 1)).all()


def test_times_too_far_apart_for_64_bits_have_correct_recency() -> None:
    assert score_recency(np.array([-9 * 10**18, 9 * 10**18], np.int64), 9 * 10**18).tolist() == [0, 1]


def test_file_times_of_a_checkout_are_ignored() -> None:
    written_together = NOW + np.arange(100, dtype=np.int64) * SECOND_NS
    assert not score_recency(written_together, NOW).any()
    written_together[:5] -= 300 * DAY_NS
    assert not score_recency(written_together, NOW).any()


def test_file_times_count_again_after_a_tenth_of_the_files_changed() -> None:
    modified = np.full(100, NOW - 60 * DAY_NS)
    modified[:15] = file_times(*range(15))
    found = score_recency(modified, NOW)
    assert found[0] > found[14] > found[50] > 0


def test_an_empty_vault_and_a_vault_of_one_note_have_no_recency_scores() -> None:
    assert len(score_recency(file_times(), NOW)) == 0
    assert not score_recency(file_times(3), NOW).any()


@pytest.mark.parametrize(
    ("words", "leader"),
    [
        (1, Strategy.ADAPTIVE),
        (2, Strategy.ADAPTIVE),
        (3, Strategy.PROXIMITY),
        (5, Strategy.PROXIMITY),
        (6, Strategy.SEMANTIC),
        (40, Strategy.SEMANTIC),
    ],
)
def test_the_number_of_words_chooses_the_primary_strategy(words: int, leader: Strategy) -> None:
    assert primary_strategy(words) is leader


@pytest.mark.parametrize(
    ("leader", "own"),
    [(Strategy.ADAPTIVE, "words"), (Strategy.PROXIMITY, "proximity"), (Strategy.SEMANTIC, "meaning")],
)
def test_under_auto_the_signal_of_the_primary_strategy_has_a_higher_weight(leader: Strategy, own: str) -> None:
    hybrid, primary = asdict(STRATEGY_WEIGHTS[Strategy.HYBRID]), asdict(weights_for(leader))
    assert all(primary.values())
    assert {name for name in primary if primary[name] > hybrid[name]} == {own}
    assert {name for name in primary if primary[name] == hybrid[name]} == set(SIGNALS) - {own}


def test_a_strategy_without_hits_is_replaced_by_the_next() -> None:
    assert active_strategy(Strategy.ADAPTIVE, words_found=False, meaning_found=True) is Strategy.SEMANTIC
    assert active_strategy(Strategy.PROXIMITY, words_found=False, meaning_found=True) is Strategy.SEMANTIC
    assert active_strategy(Strategy.SEMANTIC, words_found=True, meaning_found=False) is Strategy.PROXIMITY


@pytest.mark.parametrize("strategy", list(STRATEGY_WEIGHTS))
def test_the_requested_strategy_is_used_if_it_has_hits(strategy: Strategy) -> None:
    assert active_strategy(strategy, words_found=True, meaning_found=True) is strategy


@pytest.mark.parametrize("strategy", list(STRATEGY_WEIGHTS))
def test_without_any_hits_the_requested_strategy_is_reported(strategy: Strategy) -> None:
    assert active_strategy(strategy, words_found=False, meaning_found=False) is strategy


def test_every_weight_belongs_to_a_signal() -> None:
    assert all(len(weights.array) == len(SIGNALS) for weights in STRATEGY_WEIGHTS.values())


LIGHTHOUSES = {
    "About.md": "A lighthouse warns ships of rocks.\n\n## Keepers\n\nThe keeper of a lighthouse lights the lamp.\n",
    "Diary.md": "Nothing happened today.\n\n## Evening\n\nWe saw a lighthouse and its keeper, and a lamp.\n",
    "Bread.md": "Mix flour, water, salt and yeast, and let the dough rest.\n",
    "Taxes.md": "The form is due in May.\n",
}
TRAVELS = {
    "p17.md": "# Crossing the strait\n\nFerries leave at noon, and the crossing takes an hour.\n",
    "p18.md": "# Weather\n\nThe strait is windy. See [[p17|timetable of ferries]] and [[p18|wind chart]].\n",
    "p19.md": "# Ferries\n\nA timetable of ferries hangs at every pier of the strait.\n",
}


def hits(folder: Path, notes: Mapping[str, str], query: str, strategy: Strategy = Strategy.AUTO) -> list[Hit]:
    snapshot: Snapshot = open_vault(folder, notes)
    try:
        return list(Engine(snapshot, Settings()).search(query, strategy).hits)
    finally:
        snapshot.close()


def signal_value(hit: Hit, name: str) -> float:
    return next(signal.value for signal in hit.signals if signal.name == name)


# --- intro ------------------------------------------------------------------------------------------------------------


def test_a_note_that_begins_with_the_query_ranks_above_one_that_mentions_it(tmp_path: Path) -> None:
    found = hits(tmp_path, LIGHTHOUSES, "lighthouse")
    openings = {hit.fragment.path: signal_value(hit, "intro_words") for hit in reversed(found)}
    assert openings["About.md"] == 1
    assert openings["Diary.md"] == 0


@pytest.mark.parametrize("signal", NOTE_SIGNALS)
def test_only_the_best_fragment_of_a_note_gets_the_intro_signals(tmp_path: Path, signal: str) -> None:
    found = [hit for hit in hits(tmp_path, LIGHTHOUSES, "keeper of a lighthouse") if hit.fragment.path == "About.md"]
    assert [signal_value(hit, signal) > 0 for hit in found] == [True, False]
    assert found[0].fragment.ordinal == 1, "the opening is not the best fragment itself"


def test_the_first_fragment_of_a_note_has_no_intro_score_if_a_filter_excludes_it(tmp_path: Path) -> None:
    found = hits(tmp_path, LIGHTHOUSES, 'lighthouse "lights the lamp"')
    assert [hit.fragment.path for hit in found] == ["About.md"]
    assert signal_value(found[0], "intro_words") == signal_value(found[0], "intro_meaning") == 0


def test_intro_signals_add_no_fragment_that_does_not_match(tmp_path: Path) -> None:
    for hit in hits(tmp_path, LIGHTHOUSES, "rocks", Strategy.ADAPTIVE):
        assert sum(signal.part for signal in hit.signals if signal.name not in NOTE_SIGNALS) > 0


# --- other names ------------------------------------------------------------------------------------------------------


def test_the_first_level_one_heading_is_a_name(tmp_path: Path) -> None:
    named = {hit.fragment.path: signal_value(hit, "title") for hit in hits(tmp_path, TRAVELS, "crossing the strait")}
    assert named["p17.md"] == 1
    assert named["p18.md"] == 0


def test_a_later_level_one_heading_is_not_a_name(tmp_path: Path) -> None:
    notes = {"p1.md": "# Harbours\n\nOne is old.\n\n# Bridges\n\nOne is new.\n"}
    assert all(signal_value(hit, "title") == 0 for hit in hits(tmp_path, notes, "bridges"))


def test_the_text_of_a_link_from_a_match_is_a_name_of_its_target(tmp_path: Path) -> None:
    called = {hit.fragment.path: signal_value(hit, "anchor") for hit in hits(tmp_path, TRAVELS, "timetable of ferries")}
    assert called["p17.md"] == 1
    assert called["p18.md"] == 0, "the note that has the link is not called so"
    assert called["p19.md"] == 0


def test_the_text_of_a_link_from_a_note_to_itself_does_not_count_as_its_name(tmp_path: Path) -> None:
    assert all(signal_value(hit, "anchor") == 0 for hit in hits(tmp_path, TRAVELS, "wind chart"))


def test_a_link_text_counts_only_if_it_matches_better_than_the_names_of_the_note(tmp_path: Path) -> None:
    notes = {
        "Ferry timetable.md": "Boats leave at noon.\n",
        "Pier.md": "See the [[Ferry timetable|ferry timetable]] and the [[Ferry timetable|list of all departures]].\n",
    }
    same = {hit.fragment.path: signal_value(hit, "anchor") for hit in hits(tmp_path / "a", notes, "ferry timetable")}
    other = {hit.fragment.path: signal_value(hit, "anchor") for hit in hits(tmp_path / "b", notes, "boats departures")}
    assert same["Ferry timetable.md"] == 0
    assert 0 < other["Ferry timetable.md"] < 1
