"""Tests of a run of the gold set: ranks, missing targets, and what two runs show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import excerpt as package
from excerpt import GoldRank, GoldRun, SettingsError, Vault
from excerpt.base.settings import user_paths
from excerpt.service.gold.run import compare_runs, needed_majority, sign_test


@pytest.fixture
def opened_vault(home: Path, vault: Path) -> Iterator[Vault]:
    with package.open(vault) as found:
        yield found


def replace_in_note(vault: Path, path: str, old: str, new: str) -> None:
    text = (vault / path).read_text(encoding="utf-8")
    (vault / path).write_text(text.replace(old, new), encoding="utf-8")


# --- targets ----------------------------------------------------------------------------------------------------------


def test_the_rank_of_a_target_section_is_that_of_the_best_hit_in_it(opened_vault: Vault) -> None:
    opened_vault.gold.add("two devices change one note", "Sync#Conflicts")
    opened_vault.gold.add("two devices change a note", "Colour")
    first, second = opened_vault.run_gold().run.ranks
    assert first.rank == 1
    assert second.rank is None or second.rank > 1


def test_the_rank_of_a_question_with_several_targets_is_that_of_the_first_hit(opened_vault: Vault) -> None:
    opened_vault.gold.add("two devices change one note", "Colour", "Sync#Conflicts")
    assert opened_vault.run_gold().run.ranks[0].rank == 1


@pytest.mark.parametrize("name", ["Sync#Conflicts", "Synchronising#conflicts", "Sync:9"])
def test_a_target_is_saved_by_path_and_heading(opened_vault: Vault, name: str) -> None:
    assert [str(target) for target in opened_vault.gold.add("conflict", name).targets] == ["Sync.md#Conflicts"]


def test_a_section_is_found_after_its_lines_moved(opened_vault: Vault, vault: Path) -> None:
    opened_vault.gold.add("two devices change one note", "Sync#Conflicts")
    replace_in_note(vault, "Sync.md", "## Conflicts", "## New\n\nMore text.\n\n## Conflicts")
    opened_vault.refresh()
    assert opened_vault.run_gold().run.ranks[0].rank == 1


def test_a_deleted_target_is_missing_and_counts_as_not_found(opened_vault: Vault, vault: Path) -> None:
    opened_vault.gold.add("two devices change one note", "Sync#Conflicts")
    replace_in_note(vault, "Sync.md", "## Conflicts", "## Quarrels")
    opened_vault.refresh()
    report = opened_vault.run_gold()
    assert (report.run.ranks[0].rank, report.run.ranks[0].missing) == (None, ("Sync.md#Conflicts",))
    assert report.run.mrr == 0


def test_a_note_is_found_under_its_new_name(opened_vault: Vault, vault: Path) -> None:
    opened_vault.gold.add("red lentils with cumin", "Lentil soup")
    opened_vault.load()
    (vault / "Cooking/Lentil soup.md").rename(vault / "Dal.md")
    opened_vault.refresh()
    rank = opened_vault.run_gold().run.ranks[0]
    assert (rank.rank, rank.missing) == (1, ())


def test_hits_in_excluded_notes_are_not_counted(opened_vault: Vault) -> None:
    line = '{"query": "devices history ripe", "relevant": [{"path": "Colour.md"}], "exclude": ["Sync.md"]}'
    opened_vault.gold.add_lines(line)
    counted = opened_vault.run_gold().run.ranks[0].rank
    hits = [hit.fragment.path for hit in opened_vault.search("devices history ripe").hits]
    assert counted == [path for path in hits if path != "Sync.md"].index("Colour.md") + 1


def test_line_numbers_distinguish_sections_with_the_same_heading(opened_vault: Vault, vault: Path) -> None:
    (vault / "Twice.md").write_text(
        "# One\n\n## Example\n\nFirst.\n\n# Two\n\n## Example\n\nSecond.\n", encoding="utf-8"
    )
    place = '{"path": "Twice.md", "heading": "Example", "line_start": 9}'
    (question,) = opened_vault.gold.add_lines(f'{{"query": "second", "relevant": [{place}]}}').questions
    assert [str(target) for target in question.targets] == ["Twice.md#Two#Example"]


# --- two runs ---------------------------------------------------------------------------------------------------------


def run_of(**ranks: int | None) -> GoldRun:
    return GoldRun("2026-03-01T09:30:00Z", tuple(GoldRank(name, name, ("A.md",), rank) for name, rank in ranks.items()))


def test_the_first_run_has_no_comparison_and_the_next_has(opened_vault: Vault) -> None:
    opened_vault.gold.add("lentils", "Lentil soup")
    assert opened_vault.run_gold().comparison is None
    comparison = opened_vault.run_gold().comparison
    assert comparison is not None
    assert (comparison.changes, comparison.has_fallen) == ((), False)


def test_a_run_with_other_settings_is_compared_with_the_users_settings_and_not_saved(opened_vault: Vault) -> None:
    opened_vault.gold.add("lentils", "Lentil soup")
    opened_vault.run_gold()
    file = user_paths().gold_run_file(opened_vault.folder)
    before = file.read_bytes()
    report = opened_vault.run_gold(strategy="semantic", settings={"search.boosts.links": False})
    assert report.is_variant
    assert report.comparison is not None
    assert report.setting_texts == ("search.boosts.links=false",)
    assert file.read_bytes() == before


@pytest.mark.parametrize("key", ["pack.budget", "vault.language", "search.boosts.link", "nothing"])
def test_a_setting_that_affects_no_search_is_refused(opened_vault: Vault, key: str) -> None:
    with pytest.raises(SettingsError, match=key):
        opened_vault.run_gold(settings={key: 1})


def test_only_questions_with_the_same_targets_are_compared() -> None:
    before = run_of(a=1, b=2)
    after = GoldRun("", (*run_of(a=2, c=1).ranks, GoldRank("b", "b", ("A.md", "B.md"), 1)))
    comparison = compare_runs(before, after)
    assert comparison is not None
    assert (comparison.questions, comparison.mrr, comparison.mrr_now) == (1, 1.0, 0.5)
    assert comparison.has_fallen
    assert compare_runs(run_of(a=1), run_of(c=1)) is None


def test_a_question_whose_target_is_no_longer_found_counts_as_worse() -> None:
    comparison = compare_runs(run_of(a=30, b=None), run_of(a=None, b=40))
    assert comparison is not None
    assert [change.is_better for change in comparison.changes] == [False, True]
    assert (comparison.better, comparison.worse) == (1, 1)


def test_the_signal_named_for_a_changed_rank_is_the_one_whose_margin_changed_most() -> None:
    def run(rank: int, **margins: float) -> GoldRun:
        return GoldRun("", (GoldRank("a", "a", ("A.md",), rank, (), margins),))

    comparison = compare_runs(run(1, title=0.4, links=0.1), run(3, title=0.1, words=0.2))
    assert comparison is not None
    assert comparison.changes[0].signal == "title"
    better = compare_runs(run(3, title=0.1), run(1, title=0.05, words=0.2))
    assert better is not None
    assert better.changes[0].signal == "words"


@pytest.mark.parametrize(("better", "worse", "p"), [(0, 0, 1), (5, 0, 0.0625), (6, 0, 0.03125), (9, 1, 0.021484)])
def test_the_sign_test_is_exact_and_two_sided(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == pytest.approx(p, abs=1e-6)
    assert sign_test(worse, better) == sign_test(better, worse)


@pytest.mark.parametrize(("changed", "needed"), [(0, None), (5, None), (6, 6), (8, 8), (9, 8), (10, 9), (20, 15)])
def test_a_difference_is_significant_only_with_a_minimum_of_changed_questions(changed: int, needed: int | None) -> None:
    assert needed_majority(changed) == needed
