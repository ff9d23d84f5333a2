"""Rewrite the parts of the guide that repeat the program; the other text of its pages is kept: `make reference`.

Commands are generated from their help, JSON forms from the types of what is printed (`benchmarks.json_page`), signals
from the legend of the screen, methods of the line server from their parameters, an example package from its files.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import msgspec

from benchmarks.json_page import GENERATED as JSON_GENERATED
from benchmarks.json_page import forms
from excerpt.cli.main import COMMANDS, program
from excerpt.servers.line_server.methods import METHODS
from excerpt.tui.search.why_view import SIGNAL_LEGEND

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "src/excerpt/demo"
PARTS = ROOT / "docs/examples/parts"

_SEE = {
    "pick": "How to/Pick passages in a shell",
    "search": "Searching",
    "pack": "Packs",
    "check": "Checking an answer",
    "overview": "Overviews",
    "related": "Related notes",
    "map": "Maps",
    "remember": "Memories",
    "recall": "Memories#Recall",
    "edit": "Memories#When the source changes",
    "news": "Searching#What is new",
    "gold": "A gold set",
    "learned": "Scores#Found again",
    "index": "The index",
    "embedding": "Embedding model#Cost and progress",
    "mcp": "Agents",
    "serve": "Line server",
    "editor": "Neovim",
    "agents": "Install in agents",
    "config": "Settings",
    "doctor": "Troubleshooting",
}
"""The guide page with more about a command."""

_COMMON = {"--vault", "--no-refresh", "--help"}
"""Options that the page explains once for all commands."""

COMMAND_PAGES = {"For a team.md": ("push", "store")}
"""The pages that end with commands of another package."""

_COMMANDS_AT_END = re.compile(r"(?<=\n## Commands\n\n).*\Z", re.S)
GENERATED = {
    "Command line.md": _COMMANDS_AT_END,
    **dict.fromkeys(COMMAND_PAGES, _COMMANDS_AT_END),
    "Scores.md": re.compile(r"(?<=\n## Signals\n\n).*?(?=\n\n[^-])", re.S),
    "JSON forms.md": JSON_GENERATED,
    "Line server.md": re.compile(r"(?<=\n## Methods\n\n).*?(?=\n\n[^-])", re.S),
    "Parts of your own.md": re.compile(r"^`[^`\n]+\.\w+`:\n\n```\w+\n.*?^```$", re.M | re.S),
}
"""The text of each page that is generated here."""
_TABLES = re.compile(r"^\| key .*\n(?:\|.*\n)+", re.M)
"""The tables that `key_page` and `settings_page` generate."""


def handwritten_words(name: str, page: str) -> int:
    """Return the number of words of a page, without generated text."""
    if name in GENERATED:
        page = GENERATED[name].sub("", page)
    return len((_TABLES.sub("", page) if name in ("Keys.md", "Settings.md") else page).split())


def rewritten(name: str, page: str) -> str:
    """Return the page of the guide called `name` with current generated text."""
    make = {
        "Command line.md": lambda _: "\n".join(_command_lines(COMMANDS)),
        "For a team.md": lambda _: "\n".join(_command_lines(COMMAND_PAGES[name])),
        "Scores.md": lambda _: "\n".join(f"- `{signal}`: {meaning}" for signal, meaning in SIGNAL_LEGEND.items()),
        "JSON forms.md": lambda _: forms(),
        "Line server.md": lambda _: "\n".join(_method_lines()),
        "Parts of your own.md": _example_file,
    }[name]
    return GENERATED[name].sub(make, page)


def _command_lines(names: Iterable[str]) -> Iterator[str]:
    context = click.Context(program, info_name="excerpt")
    for name in names:
        command = program.get_command(context, name)
        assert command is not None
        yield f"### {name}\n"
        yield from _describe(command, click.Context(command, info_name=name, parent=context))
        if name in _SEE:
            yield f"See [[{_SEE[name]}]].\n"


def _describe(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the usage, the help and the options of a command, then those of its subcommands."""
    yield f"`{context.command_path} {' '.join(command.collect_usage_pieces(context))}`\n"
    paragraphs = inspect.cleandoc(command.help or "").partition("\f")[0].split("\n\n")
    yield "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs) + "\n"
    options = [each for each in command.params if isinstance(each, click.Option) and not _COMMON & {*each.opts}]
    records = [record for option in options if (record := option.get_help_record(context))]
    if records:
        yield "\n".join(f"- `{names}`: {' '.join(text.split())}" for names, text in records) + "\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            assert part is not None
            yield from _describe(part, click.Context(part, info_name=name, parent=context))


def _method_lines() -> Iterator[str]:
    for name, method in METHODS.items():
        fields = [each for each in msgspec.structs.fields(method.params) if each.name not in ("vault", "vaults")]
        names = ", ".join(f"`{each.name}{'' if each.required else '?'}`" for each in fields)
        said = " ".join(inspect.cleandoc(method.params.__doc__ or "").split())
        said = re.sub(rf"^Parameters of `{name}`[.:;]? ?", "", said)
        yield f"- `{name}`: {names}{'. ' * bool(names and said)}{said[:1].upper()}{said[1:]}"


def _example_file(shown: re.Match[str]) -> str:
    name, language = re.findall(r"\A`([^`]+)`:\n\n```(\w+)", shown[0])[0]
    return f"`{name}`:\n\n```{language}\n{(PARTS / name).read_text(encoding='utf-8')}```"


def main() -> None:
    for name in GENERATED:
        page = (GUIDE / name).read_text(encoding="utf-8")
        (GUIDE / name).write_text(rewritten(name, page), encoding="utf-8")
        print(GUIDE / name)


if __name__ == "__main__":
    main()
