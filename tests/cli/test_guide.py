"""Tests of the guide: its links resolve, and the keys, settings and options it documents exist.

Named after `demo/`, which is the guide and has no module.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
import yaml

import excerpt
from benchmarks import key_page, reference_pages, settings_page
from excerpt.base.model import Note
from excerpt.base.settings import Settings
from excerpt.base.settings_file import all_settings
from excerpt.cli.main import COMMANDS, program
from excerpt.memory.store import FolderMemoryStore
from excerpt.search.ranking import BOOST_WEIGHTS, SIGNALS
from excerpt.text.markdown import parse_note
from excerpt.text.tokens import TOKENIZERS
from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.keymap import validate_keymap
from excerpt.tui.search.why_view import SIGNAL_LEGEND
from excerpt.vault.known_vaults import DEMO
from tests.commands import parameters_of

NOTES = sorted(path.relative_to(DEMO).as_posix() for path in DEMO.rglob("*.md"))


def read_page(path: str) -> Note:
    return parse_note(path, (DEMO / path).read_text(encoding="utf-8"))


def rows(path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a note's tables, each with its heading; cells without `code` marks."""
    heading = ""
    for line in (DEMO / path).read_text(encoding="utf-8").split("\n"):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|") and not line.startswith("|--"):
            yield heading, [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]


def listed_names(path: str) -> list[str]:
    """Return the code-marked start of each list item of a note."""
    return re.findall(r"^- `([^`]+)`", (DEMO / path).read_text(encoding="utf-8"), re.M)


def test_the_guide_is_a_small_vault() -> None:
    assert 15 <= len(NOTES) <= 45


@pytest.mark.parametrize("path", NOTES)
def test_every_page_has_tags_and_aliases_and_no_warning(path: str) -> None:
    note = read_page(path)
    assert not note.warnings
    assert note.tags
    assert note.aliases


def test_note_names_are_unique() -> None:
    names = [name.lower() for path in NOTES for name in (Path(path).stem, *read_page(path).aliases)]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("path", NOTES)
def test_every_link_leads_to_an_existing_note_and_heading(path: str) -> None:
    by_name = {name: other for other in NOTES for name in (Path(other).stem, other.removesuffix(".md"))}
    for link in read_page(path).links:
        if link.target.startswith("https://"):
            continue
        if link.target.endswith(".svg"):
            assert (DEMO / link.target).is_file(), link
            continue
        target = read_page(by_name[link.target] if link.target else path)
        if link.heading:
            assert link.heading in {section.heading for section in target.sections}, link


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[excerpt.Vault]:
    with excerpt.open(DEMO, index=tmp_path_factory.mktemp("index")) as vault:
        vault.load()
        yield vault


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("how do I put notes into a prompt", "How to/Ask an LLM about your notes.md"),
        ("how do I get started", "First steps.md"),
        ("how do I open my own notes", "First steps.md"),
        ("how do I copy text to the clipboard", "Copying.md"),
        ("how can I save something for later", "Memories.md"),
        ("how do I change the colours", "Themes.md"),
        ("what are the keyboard shortcuts", "Keys.md"),
        ("is my data sent anywhere", "Privacy and safety.md"),
        ("why can't it find my note", "Troubleshooting.md"),
        ("how do I use this with Claude", "Agents.md"),
    ],
)
def test_a_newcomers_question_finds_first_the_page_that_answers_it(
    question: str, path: str, guide: excerpt.Vault
) -> None:
    assert guide.search(question, limit=5).hits[0].path == path


def test_every_note_is_linked_from_another() -> None:
    linked = {link.target for path in NOTES for link in read_page(path).links}
    assert [path for path in NOTES if not {Path(path).stem, path.removesuffix(".md")} & linked] == ["Start here.md"]


@pytest.mark.parametrize("path", ["Memories.md", "Overviews.md", "Related notes.md", "Maps.md"])
def test_pages_about_parts_of_the_screen_have_a_picture(path: str) -> None:
    assert any(link.target.endswith(".svg") for link in read_page(path).links)


def test_the_pictures_of_the_guide_are_used_and_current() -> None:
    shown = {link.target for path in NOTES for link in read_page(path).links if link.target.endswith(".svg")}
    assert {f"Pictures/{file.name}" for file in (DEMO / "Pictures").iterdir()} == shown
    newest = Path(__file__).parents[2] / "screenshots"
    for target in shown:
        assert (DEMO / target).read_bytes() == (newest / Path(target).name).read_bytes()


def test_the_guides_table_of_keys_equals_the_keys_of_the_app() -> None:
    page = (DEMO / "Keys.md").read_text(encoding="utf-8")
    assert page == key_page.rewritten(page), "`make keys` writes it anew"
    assert len(page.split()) < 900


@pytest.mark.parametrize("path", [path for path in NOTES if path != "Keys.md"])
def test_every_key_named_in_a_note_is_bound(path: str) -> None:
    text = (DEMO / path).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:ctrl|alt|shift)\+[^`\s]+|[fF]\d+)`", text))
    keys = {key for place in CONTEXTS.values() for binding in place for key in binding.keys.split(",")}
    assert {key.lower() for key in named} <= keys


def test_the_guides_tables_of_settings_equal_the_settings_of_the_program() -> None:
    page = (DEMO / "Settings.md").read_text(encoding="utf-8")
    assert page == settings_page.rewritten(page), "`make settings` writes it anew"
    written = {f"{heading}.{cells[0].strip('`')}" for heading, cells in rows("Settings.md") if cells[0] != "key"}
    assert written == {setting.key for setting in all_settings()}


@pytest.mark.parametrize("path", sorted(reference_pages.GENERATED.keys() - reference_pages.COMMAND_PAGES.keys()))
def test_what_the_guide_repeats_of_the_program_is_current(path: str) -> None:
    page = (DEMO / path).read_text(encoding="utf-8")
    assert page == reference_pages.rewritten(path, page), "`make reference` writes it anew"


def test_the_guide_has_at_most_15000_words_written_by_hand() -> None:
    pages = {path: (DEMO / path).read_text(encoding="utf-8") for path in NOTES}
    assert sum(reference_pages.handwritten_words(*each) for each in pages.items()) <= 15_000


def test_the_legend_describes_every_signal_of_a_score() -> None:
    assert {*SIGNAL_LEGEND} == {
        *SIGNALS,
        *BOOST_WEIGHTS,
        *("reopened", "accents", "attachment", "name", "place", "rerank", "listed"),
    }


def test_every_toml_example_is_a_valid_settings_file() -> None:
    for path in NOTES:
        for example in re.findall(r"^```toml\n(.*?)^```", (DEMO / path).read_text(encoding="utf-8"), re.M | re.S):
            settings = msgspec.convert(tomllib.loads(example), Settings)
            assert validate_keymap(settings.screen.keys)[1] == []


def test_every_json_example_is_valid() -> None:
    for path in NOTES:
        for example in re.findall(r"^```json\n(.*?)^```", (DEMO / path).read_text(encoding="utf-8"), re.M | re.S):
            decoder = json.JSONDecoder()
            rest = example.strip()
            while rest:
                _, end = decoder.raw_decode(rest)
                rest = rest[end:].strip()


@pytest.mark.parametrize("path", NOTES)
def test_every_command_shown_can_be_parsed(path: str) -> None:
    """Check that the options of commands in shell examples and in running text exist."""
    text = (DEMO / path).read_text(encoding="utf-8")
    for name, rest in re.findall(r"\bexcerpt ([a-z]+)\b([^\n`|]*)", "\n".join(_code(text))):
        if name not in COMMANDS:
            continue
        command = program.get_command(click.Context(program), name)
        assert command is not None
        known = {"--help"} | {option for parameter in parameters_of(command) for option in parameter.opts}
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= known, f"{name} {rest}"


def _code(text: str) -> Iterator[str]:
    yield from re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    yield from re.findall(r"(?<!`)`(excerpt [^`\n]+)`", text)


def test_keys_commands_and_files_named_in_the_readme_exist() -> None:
    root = Path(__file__).parents[2]
    text = (root / "README.md").read_text(encoding="utf-8")
    keys = {key for place in CONTEXTS.values() for binding in place for key in binding.keys.split(",")}
    written = re.findall(r"^\| (`[^|]+`) \|", text.partition("## Keys that matter")[2].partition("![")[0], re.M)
    assert {key.lower() for cell in written for key in re.findall(r"`([^`]+)`", cell)} <= keys
    assert set(re.findall(r"`excerpt ([a-z]+)\b", text)) <= set(COMMANDS)
    targets = [target.replace("%20", " ") for target in re.findall(r"\]\(([^)]+)\)", text)]
    assert [target for target in targets if not (root / target).exists()] == []


def test_the_guide_lists_exactly_the_tokenizers_that_ship() -> None:
    assert sorted(listed_names("Token budget.md")) == sorted({*TOKENIZERS} - {"chars/4"})


def test_the_memory_file_shown_in_the_guide_can_be_parsed(tmp_path: Path) -> None:
    example = re.search(r"^```markdown\n(.*?)^```", (DEMO / "Memories.md").read_text(encoding="utf-8"), re.M | re.S)
    assert example
    (tmp_path / "shown.md").write_text(example[1], encoding="utf-8")
    memories = FolderMemoryStore(tmp_path).all()
    assert not memories.unreadable
    (memory,) = memories.memories
    shown = yaml.safe_load(example[1].split("---")[1])
    assert memory.id == shown["id"]
    assert memory.source is not None
    assert f"{memory.source.line_start}-{memory.source.line_end}" == shown["source"]["lines"]
