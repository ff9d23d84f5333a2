"""Write the pages of `man excerpt` and of each command into man/, from the help of the commands: `make man`.

click-man draws a page. It is handed what the program's own commands know, since they are imported on demand, which
click-man's walk through the attribute `commands` does not find.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
from click_man.man import ManPage

from excerpt.cli.main import program

FOLDER = Path(__file__).parents[1] / "man"


def man_pages() -> dict[str, str]:
    """Return the text of each page by its file's name."""
    return dict(_pages(program, click.Context(program, info_name="excerpt")))


def _pages(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    page = ManPage(context.command_path)
    page.date, page.version = "", "excerpt"  # neither a day nor a version: a page changes if its command does
    page.short_help = _first_sentence(command)
    page.synopsis = " ".join(command.collect_usage_pieces(context))
    page.description = escape("\n\n".join(filter(None, (_clean(command.help), _clean(command.epilog)))))
    page.options = [_escaped(record) for each in command.params if (record := _help_record(each, context))]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            assert part is not None
            page.commands.append((name, escape(_first_sentence(part))))
            yield from _pages(part, click.Context(part, info_name=name, parent=context))
    file = context.command_path.replace(" ", "-")
    text = str(page).replace(f"\\fB{context.command_path}-", f"\\fB{file}-")  # in "See excerpt-agents-log(1)"
    yield f"{file}.1", re.sub(r"\n{2,}", "\n", text).rstrip() + "\n"


def _help_record(parameter: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    return parameter.get_help_record(context) if isinstance(parameter, click.Option) else None


def _clean(text: str | None) -> str:
    return inspect.cleandoc(text or "").replace("\b\n", "").partition("\f")[0]


def _first_sentence(command: click.Command) -> str:
    return re.split(r"(?<=\.)\s|\n\n", _clean(command.help))[0].replace("\n", " ").rstrip(".")


def _escaped(record: tuple[str, str]) -> tuple[str, str]:
    return record[0], escape(record[1])


def escape(text: str) -> str:
    r"""Return `text` so that man shows it unchanged: there, `\` begins a command, and so do `.` and `'` in front."""
    return re.sub(r"^(?=[.'])", r"\\&", text.replace("\\", "\\e"), flags=re.MULTILINE)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    pages = man_pages()
    for path in FOLDER.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
