"""The plugin of `llm`, run by the real program with a model that answers what it was asked."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from llm.cli import cli

from excerpt.servers.agents.llm_plugin import parse_argument

NOTES = {
    "Swarms.md": "# Swarms\n\n## Catch a swarm\n\nA swarm is caught in a skep before noon.\n",
    **{f"Diary {n}.md": f"# Diary {n}\n\nRain in the morning, the queen was seen on frame {n}.\n" for n in range(30)},
}


@pytest.fixture
def bees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.setenv("EXCERPT_VAULT", str(tmp_path / "bees"))
    (tmp_path / "bees").mkdir()
    for name, text in NOTES.items():
        (tmp_path / "bees" / name).write_text(text, encoding="utf-8")
    return tmp_path / "bees"


def run_llm(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["-m", "echo", *arguments])


@pytest.mark.parametrize("vault", ["", "{bees}?query="])
def test_a_fragment_for_llm_holds_the_passages_that_answer_the_question(bees: Path, vault: str) -> None:
    answer = run_llm("-f", f"excerpt:{vault.format(bees=bees)}how do I catch a swarm", "Summarise")
    prompt = json.loads(answer.output)["prompt"]
    assert "A swarm is caught in a skep before noon." in prompt
    assert prompt.count("Confidence that the notes answer: strong") == 1


def test_a_passage_that_begins_within_a_table_has_the_tables_header_above(bees: Path) -> None:
    rows = [f"| frame{n} | {n * 7} grams of honey |\n" for n in range(90)]
    rows[77] = "| frame77 | propolis |\n"
    (bees / "Frames.md").write_text(f"# Frames\n\n| Frame | Harvest |\n|---|---|\n{''.join(rows)}", encoding="utf-8")
    prompt = json.loads(run_llm("-f", f"excerpt:{bees}?query=propolis frame77&scope=none").output)["prompt"]
    assert "```\n| Frame | Harvest |\n|---|---|\n[…]\n| frame" in prompt
    assert "| frame77 | propolis |" in prompt


def test_the_log_of_the_program_llm_has_the_source_of_a_passage(bees: Path) -> None:
    run_llm("-f", "excerpt:how do I catch a swarm", "Summarise")
    fragments = CliRunner().invoke(cli, ["fragments", "list"])
    assert "source: Swarms.md:5" in fragments.output


def test_a_question_without_an_answer_is_an_error(bees: Path) -> None:
    answer = run_llm("-f", "excerpt:quantum chromodynamics of bagpipes", "Summarise")
    assert answer.exit_code == 1
    assert "do not answer" in answer.output


def test_the_tool_searches_the_notes(bees: Path) -> None:
    call = {"name": "excerpt_search", "arguments": {"question": "how do I catch a swarm"}}
    answer = run_llm("-T", "excerpt_search", json.dumps({"tool_calls": [call], "prompt": "go"}))
    assert "caught in a skep" in answer.output
    assert "Confidence that the notes answer: strong" in answer.output


@pytest.mark.parametrize(
    ("argument", "parsed"),
    [
        ("how are keys rotated?", ("", ("how are keys rotated?",), {})),
        ("~/notes?query=key+rotation&budget=2000", ("~/notes", ("key rotation",), {"budget": 2000})),
        ("~/notes?budget=5&query=a%26b&scope=note", ("~/notes", ("a&b",), {"budget": 5, "scope": "note"})),
        ("~/notes?query=x&budget=1.5k", ("~/notes", ("x",), {"budget": 1_500})),
        ("~/notes?query=x&query=y+z", ("~/notes", ("x", "y z"), {})),
        ("what is this? a budget=5", ("", ("what is this? a budget=5",), {})),
    ],
)
def test_an_argument_is_a_question_or_a_vault_with_options(
    argument: str, parsed: tuple[str, tuple[str, ...], dict[str, object]]
) -> None:
    assert parse_argument(argument) == parsed


@pytest.mark.parametrize("argument", ["v?query=x&budget=many", "v?query=x&colour=red"])
def test_an_invalid_option_is_refused(argument: str) -> None:
    with pytest.raises(ValueError, match=r"budget|colour"):
        parse_argument(argument)
