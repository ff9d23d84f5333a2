"""`excerpt pick`: pick passages in the app, and print them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from excerpt.base.kinds import LinkForm
from excerpt.cli.app import start_app
from excerpt.cli.vaults import find_last_vault, vaults_parameter
from excerpt.text.display import format_count
from excerpt.tui.picking import DRAWS_BELOW_CURSOR, MIN_ROWS, Height, PickOptions
from excerpt.tui.startup import configure_interpreter
from excerpt.vault.obsidian import find_obsidian_vault


class HeightParameter(click.ParamType[Height]):
    """The command-line type of a height: a number of rows, or a share of the terminal's such as 40%."""

    name = "rows"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Height:
        if isinstance(value, Height):
            return value
        match = re.fullmatch(r"([0-9]{1,4})(%?)", str(value).strip())
        if match is None or (match[2] and int(match[1]) not in range(1, 101)):
            self.fail("Give a number of rows, such as 15, or a share of the terminal, such as 40%.", param, ctx)
        if not match[2] and int(match[1]) < MIN_ROWS:
            self.fail(f"The app needs at least {format_count(MIN_ROWS, 'row')}.", param, ctx)
        if not DRAWS_BELOW_CURSOR:
            self.fail("On Windows the app is drawn on the whole screen. Leave out --height.", param, ctx)
        return Height(int(match[1]), bool(match[2]))


@click.command()
@vaults_parameter
@click.option("--query", default="", help="The query to begin with.")
@click.option(
    "--print",
    "form",
    type=click.Choice(["lines", "link", "markdown", "obsidian", "path", "pack"]),
    default="lines",
    show_default=True,
    help="What to print: path:line, a link in this form, the path of the note, or the pack.",
)
@click.option(
    "--height",
    type=HeightParameter(),
    metavar="ROWS",
    help="Draw the app on so many rows below the prompt, or on a share of the screen, as in 40%; not on Windows.",
)
@click.pass_obj
def pick_command(plain: bool, vaults: tuple[Path, ...], query: str, form: str, height: Height | None) -> int:
    """Pick passages in the app, and print them: those marked, or else the selected one.

    The app is drawn on the terminal, also if the output is a pipe. Enter prints and leaves. Exits with 130 if you leave
    otherwise, by ctrl+c or escape. Without VAULT, opens the vault in $EXCERPT_VAULT, or else the one opened last.
    """
    chosen, opened = None if form == "pack" else LinkForm(form), vaults or (find_last_vault(),)
    other = next((each for each in opened if find_obsidian_vault(each.absolute()) is None), None)
    if chosen is LinkForm.OBSIDIAN and other is not None:
        raise click.UsageError(f"{other} has no folder .obsidian. Open it in Obsidian once; Obsidian creates it.")
    configure_interpreter()
    return start_app(*opened, plain=plain, pick=PickOptions(chosen, query, height))
