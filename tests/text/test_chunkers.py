"""Division of the lines of notes into units."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from excerpt.base.errors import SettingsError
from excerpt.text import chunkers
from excerpt.text.chunkers import choose_chunker

PARTS = Path(__file__).parents[2] / "docs/examples/parts"


def units(text: str) -> list[str]:
    """Return the first line of each unit of a note."""
    lines = text.split("\n")
    return [lines[start] for start in choose_chunker(lines).unit_starts(lines)]


@pytest.mark.parametrize(
    ("text", "firsts"),
    [
        ("One\nmore.\n\nTwo", ["One", "Two"]),
        ("# Head\n\nOne\n\nTwo", ["# Head", "Two"]),
        ("Tools:\n- one\n  more\n  - inner\n- two", ["Tools:", "- one", "- two"]),
        ("```python\na = 1\n\nb = 2\n```\n\nText", ["```python", "Text"]),
        ("| a |\n|---|\n| 1 |\n| 2 |\n| 3 |", ["| a |", "| 2 |", "| 3 |"]),
        ("# Head\n\n\n- one\n- two", ["# Head", "- two"]),
        ("- one\n\n  more\n- two", ["- one", "- two"]),
        ("````md\n```\na\n\nb\n```\n````\n\nText", ["````md", "Text"]),
        ("", []),
    ],
)
def test_paragraphs_items_rows_and_whole_code_are_units(text: str, firsts: list[str]) -> None:
    assert units(text) == firsts


def test_a_message_is_a_unit_and_a_long_one_is_cut_at_its_paragraphs() -> None:
    long = "\n\n".join(["An answer " * 20] * 4)
    talk = f"Ann: Why?\n\nReally?\n\nBo: So.\n\nAnn: And?\n\nBo: {long}"
    assert [first[:9] for first in units(talk)] == [
        "Ann: Why?",
        "Bo: So.",
        "Ann: And?",
        "Bo: An an",
        *["An answer"] * 3,
    ]


def test_a_name_in_the_code_of_a_message_begins_no_unit() -> None:
    code = "```yaml\nname: x\nsteps: y\n```"
    talk = f"**User:** How?\n\n**Assistant:** So:\n{code}\n\n**User:** And?\n\n**Assistant:** Done."
    assert units(talk) == ["**User:** How?", "**Assistant:** So:", "**User:** And?", "**Assistant:** Done."]


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Yield the entry points of installed chunkers, to be set by a test."""
    targets: dict[str, str] = {}
    monkeypatch.syspath_prepend(str(PARTS))
    monkeypatch.setattr(chunkers, "find_entry_points", lambda _group: targets)
    chunkers._plugin_chunkers.cache_clear()
    yield targets
    chunkers._plugin_chunkers.cache_clear()


def test_the_chunker_of_another_package_cuts_the_notes_that_it_recognises(plugins: dict[str, str]) -> None:
    plugins["scenes"] = "example_parts.scenes:SceneChunker"
    assert units("INT. KITCHEN\n\nAnn cooks.\n\nEXT. GARDEN\n\nBo waits.") == ["INT. KITCHEN", "EXT. GARDEN"]
    assert units("One\n\nTwo") == ["One", "Two"]


def test_a_chunker_that_fails_is_named(plugins: dict[str, str]) -> None:
    plugins["odd"] = "not_there:Chunker"
    with pytest.raises(SettingsError, match="The chunker odd, not_there:Chunker, failed"):
        units("One")
