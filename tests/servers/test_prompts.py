"""Which clauses of a prompt are asked, and when a vault answers it."""

from pathlib import Path

import pytest
from benchmarks.prompts import WRAPPINGS, read_unrelated
from hypothesis import given
from hypothesis import strategies as st

import excerpt
from excerpt.servers.prompts import MAX_TOKENS, answer_prompt, count_content_words, find_passages, split_clauses

NOTES = {
    "Hives.md": "# Hives\n\n## Feed a weak hive\n\nA weak hive gets sugar syrup in September, never honey.\n",
    "Swarms.md": "# Swarms\n\n## Catch a swarm\n\nA swarm is caught in a skep before noon.\n",
    "Tea.md": "# Tea\n\nGreen tea is steeped at eighty degrees. An error is soon made.\n",
    **{f"Diary {n}.md": f"# Diary {n}\n\nRain in the morning, the queen was seen on frame {n}.\n" for n in range(30)},
}
QUESTION = "how to catch a swarm"


@pytest.fixture(scope="module")
def bees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompts") / "bees"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def vault(bees: Path, monkeypatch: pytest.MonkeyPatch) -> excerpt.Vault:
    monkeypatch.setenv("EXCERPT_HOME", str(bees.parent / "home"))
    return excerpt.open(bees)


@pytest.mark.parametrize("wrap", [wrap for _, wrap, _ in WRAPPINGS])
def test_a_question_inside_a_prompt_is_answered(vault: excerpt.Vault, wrap: object) -> None:
    assert callable(wrap)
    answer = answer_prompt(vault, wrap(QUESTION))
    assert answer is not None
    assert "catch a swarm" in answer.clause
    assert answer.hits[0].path == "Swarms.md"


def test_a_passage_that_begins_within_a_table_has_the_tables_header_above(
    bees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(bees.parent / "home"))
    rows = "".join(f"| frame{n} | {n * 7} grams of honey |\n" for n in range(90))
    folder = bees.parent / "harvest"
    folder.mkdir()
    table = f"# Honey of frame77\n\n| Frame | Harvest |\n|---|---|\n{rows}"
    for name, text in {**NOTES, "Honey of frame77.md": table}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with excerpt.open(folder) as vault:
        passages = find_passages(vault, "What was the honey of frame77?")
        assert passages is not None
        assert ", table header 3-4 · Honey of frame77\n\n| Frame | Harvest |\n|---|---|\n[…]\n| frame" in passages.text
        assert "| frame77 | 539 grams of honey |" in passages.text
        assert passages.tokens <= MAX_TOKENS


def test_a_prompt_that_the_vault_does_not_answer_gets_nothing(vault: excerpt.Vault) -> None:
    assert answer_prompt(vault, "Add a retry to the HTTP client, and write a test for it.") is None


def test_a_single_word_is_not_a_question(vault: excerpt.Vault) -> None:
    assert answer_prompt(vault, "Tea") is None
    assert answer_prompt(vault, "error") is None


@pytest.mark.programs
def test_prompts_on_other_subjects_get_no_passage_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path))
    prompts = read_unrelated()
    assert len(prompts) >= 400
    with excerpt.open(Path(excerpt.__file__).parent / "demo") as guide:
        answered = [prompt for prompt in prompts[::4] if answer_prompt(guide, prompt) is not None]
    assert len(answered) <= len(prompts[::4]) / 100


def test_clauses_end_at_punctuation_and_conjunctions() -> None:
    clauses = split_clauses("I am stuck: the hive is weak, because wasps rob it. Tell me how a weak hive is fed")
    assert {"the hive is weak", "wasps rob it", "how a weak hive is fed"} <= set(clauses)


def test_clauses_with_most_content_words_come_first() -> None:
    assert split_clauses("Weak hive. Feed the weak hive sugar syrup in September.")[0].startswith("Feed the weak hive")


def test_code_blocks_are_ignored() -> None:
    assert split_clauses("```\nfeed weak hives\n```\nWhy does the weak hive starve?") == (
        "Why does the weak hive starve",
    )


def test_the_middle_of_a_long_prompt_is_ignored() -> None:
    filler = "x" * 40_000
    assert split_clauses(f"{filler}. Feed weak hives. {filler}. Catch a swarm early.") == ("Catch a swarm early",)


def test_content_words_are_counted_without_function_words() -> None:
    assert count_content_words("how is the weak hive in the garden", ("en",)) == 3
    assert count_content_words("wie ist der Bienenstock", ("de",)) == 1
    assert count_content_words("ミツバチの群れ", ("ja",)) >= 2


@given(st.text(max_size=400))
def test_every_clause_of_a_prompt_occurs_in_the_prompt(prompt: str) -> None:
    clauses = split_clauses(prompt)
    assert len(clauses) <= 16
    assert all(clause in prompt for clause in clauses)


def test_a_long_run_of_spaces_ends_no_clause_and_counts_as_one() -> None:
    blanks = " " * 5_000
    assert split_clauses(f"how do{blanks}conflicts arise") == split_clauses("how do conflicts arise")
    assert split_clauses(blanks + "\n" * 5_000) == ()
