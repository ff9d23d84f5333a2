"""Tests of the graph signals: links from matching notes and modification times, scaled per note."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from excerpt.search.ranking import DAY_NS, SECOND_NS, score_backlinks, score_recency

NOW = 20_000 * DAY_NS


def linked(
    links: list[tuple[int, int]], strength_of_rows: dict[int, float] | list[tuple[int, float]], notes: int = 4
) -> npt.NDArray[np.float32]:
    """Return the backlink strengths for these links between notes and rows of (note, strength)."""
    sources, targets = (np.array([link[end] for link in links], np.int32) for end in (0, 1))
    rows = list(strength_of_rows.items()) if isinstance(strength_of_rows, dict) else strength_of_rows
    numbers = np.array([note for note, _ in rows], np.int32)
    return score_backlinks(sources, targets, numbers, np.array([value for _, value in rows], np.float32), notes)


def test_the_note_that_most_matching_notes_link_to_has_one_and_others_a_share() -> None:
    found = linked([(0, 3), (1, 3), (0, 2)], {0: 1.0, 1: 1.0})
    assert found[3] == 1
    assert 0 < found[2] < 1
    assert found[0] == found[1] == 0


def test_a_note_that_does_not_match_has_no_vote() -> None:
    assert linked([(0, 3), (1, 2)], {0: 1.0})[2] == 0


def test_a_stronger_match_says_more() -> None:
    found = linked([(0, 2), (1, 3)], {0: 1.0, 1: 0.2})
    assert found[2] > found[3] > 0


def test_a_note_votes_as_strongly_as_its_best_fragment_however_many_it_has() -> None:
    assert np.array_equal(
        linked([(0, 2), (1, 3)], [(0, 0.5), (1, 0.1), (1, 0.5), (1, 0.2)])[2:], np.ones(2, np.float32)
    )


def test_the_tenth_vote_says_less_than_the_first() -> None:
    found = linked([(note, 10) for note in range(10)] + [(0, 11)], dict.fromkeys(range(10), 1.0), notes=12)
    assert found[11] > found[10] / 10


def test_a_note_never_votes_for_itself() -> None:
    assert not linked([(0, 0)], {0: 1.0}).any()


def test_without_links_or_matches_nothing_is_lifted() -> None:
    assert not linked([], {0: 1.0}).any()
    assert not linked([(0, 1)], {}).any()
    assert not linked([(0, 1)], {0: 0.0}).any()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30),
    st.lists(st.tuples(st.integers(0, 5), st.floats(0, 3, width=32)), max_size=20),
)
def test_shares_lie_between_none_and_all(links: list[tuple[int, int]], rows: list[tuple[int, float]]) -> None:
    found = linked(sorted(set(links)), rows, notes=6)
    assert found.dtype == np.float32
    assert ((found >= 0) & (found <= 1)).all()


def times(*days_ago: float) -> npt.NDArray[np.int64]:
    return np.array([NOW - int(days * DAY_NS) for days in days_ago], np.int64)


def test_a_modification_counts_half_after_a_half_life() -> None:
    assert np.allclose(score_recency(times(0, 10, 20, 400), NOW, half_life_days=10), [1, 0.5, 0.25, 0], atol=1e-6)


def test_a_time_to_come_counts_as_now() -> None:
    assert score_recency(times(-5, 30), NOW)[0] == 1


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), st.integers(-(2**63), 2**63 - 1))
def test_however_far_apart_times_are_recency_lies_between_none_and_all(modified: list[int], now: int) -> None:
    found = score_recency(np.array(modified, np.int64), now)
    assert ((found >= 0) & (found <= 1)).all()


def test_the_oldest_of_times_that_are_further_apart_than_64_bits_count_is_not_recent() -> None:
    assert score_recency(np.array([-9 * 10**18, 9 * 10**18], np.int64), 9 * 10**18).tolist() == [0, 1]


def test_times_that_a_checkout_wrote_say_nothing() -> None:
    written_together = NOW + np.arange(100, dtype=np.int64) * SECOND_NS
    assert not score_recency(written_together, NOW).any()
    written_together[:5] -= 300 * DAY_NS
    assert not score_recency(written_together, NOW).any()


def test_after_a_checkout_times_count_once_more_than_a_tenth_was_changed() -> None:
    modified = np.full(100, NOW - 60 * DAY_NS)
    modified[:15] = times(*range(15))
    found = score_recency(modified, NOW)
    assert found[0] > found[14] > found[50] > 0


def test_an_empty_vault_and_one_note_say_nothing() -> None:
    assert len(score_recency(times(), NOW)) == 0
    assert not score_recency(times(3), NOW).any()
