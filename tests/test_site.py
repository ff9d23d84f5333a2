"""Tests of the guide as a site: vault syntax becomes MkDocs syntax, and every note is in the navigation.

Named after `tools/site`, whose module has the name that MkDocs wants.
"""

from __future__ import annotations

import importlib.util
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import excerpt
from excerpt.vault.known_vaults import DEMO

ROOT = Path(__file__).parents[1]
NOTES = ["Start here.md", "The screen.md", "How to/Use it.md"]


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "tools/site/hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        ("Start here.md", "See [[The screen]].", "See [The screen](The%20screen.md)."),
        ("Start here.md", "| [[The screen\\|window]] |", "| [window](The%20screen.md) |"),
        ("Start here.md", "[[The screen#The query bar|bar]]", "[bar](The%20screen.md#the-query-bar)"),
        ("Start here.md", "[[Use it]]", "[Use it](How%20to/Use%20it.md)"),
        ("How to/Use it.md", "[[Start here]]", "[Start here](../Start%20here.md)"),
        ("The screen.md", "[[#The list]]", "[The list](#the-list)"),
        ("The screen.md", "[[The screen#^rule|the rule]]", "[the rule](#rule)"),
        ("The screen.md", "`[[The list]]` and ``a ` [[b]]``", "`[[The list]]` and ``a ` [[b]]``"),
        ("The screen.md", "It is so. ^the-rule", "It is so.\n{: #the-rule }"),
        ("The screen.md", "> [!tip] Try `it`", '!!! tip "Try `it`"\n'),
        ("The screen.md", "> [!warning]- Folded", '??? warning "Folded"\n'),
        ("The screen.md", "> only quoted", "> only quoted"),
    ],
)
def test_links_and_callouts_of_notes_become_those_of_the_site(
    hooks: ModuleType, path: str, line: str, expected: str
) -> None:
    assert "\n".join(hooks.converted([line], path, NOTES)) == expected


def test_a_callout_ends_with_its_lines_and_code_is_unchanged(hooks: ModuleType) -> None:
    note = ["> [!note] One", "> two [[Use it]]", ">", "> three", "", "```md", "> [!tip] [[x]] ^y", "```"]
    assert list(hooks.converted(note, "The screen.md", NOTES)) == [
        '!!! note "One"',
        "",
        "    two [Use it](How%20to/Use%20it.md)",
        "    ",
        "    three",
        "",
        *note[5:],
    ]


def test_the_reference_of_the_python_api_has_every_public_name(hooks: ModuleType) -> None:
    assert {f"::: excerpt.{name}" for name in excerpt.__all__} == set(hooks.reference().split("\n\n")[1:])


def test_every_note_of_the_guide_is_in_the_navigation() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    parts = [[part] if isinstance(part, str) else next(iter(part.values())) for part in settings["nav"]]
    notes = [note.relative_to(DEMO).as_posix() for note in DEMO.rglob("*.md")]
    assert sorted(chain(*parts)) == sorted([*notes, "Python reference.md"])
    assert settings["docs_dir"] == DEMO.relative_to(ROOT).as_posix()
