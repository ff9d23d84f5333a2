"""`excerpt pick`: pick passages in the app, and print them."""

from __future__ import annotations

from pathlib import Path

import click

from excerpt.base.kinds import LinkForm
from excerpt.cli.app import start_app
from excerpt.cli.vaults import find_last_vault, vaults_parameter
from excerpt.tui.picking import PickOptions
from excerpt.tui.startup import configure_interpreter
from excerpt.vault.obsidian import find_obsidian_vault


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
@click.pass_obj
def pick_command(plain: bool, vaults: tuple[Path, ...], query: str, form: str) -> int:
    """Pick passages in the app, and print them: those marked, or else the selected one.

    The app is drawn on the terminal, also if the output is a pipe. Enter prints and leaves. Exits with 130 if you leave
    otherwise, by ctrl+c or escape. Without VAULT, opens the vault in $EXCERPT_VAULT, or else the one opened last.
    """
    chosen, opened = None if form == "pack" else LinkForm(form), vaults or (find_last_vault(),)
    other = next((each for each in opened if find_obsidian_vault(each.absolute()) is None), None)
    if chosen is LinkForm.OBSIDIAN and other is not None:
        raise click.UsageError(f"{other} has no folder .obsidian. Open it in Obsidian once; Obsidian creates it.")
    configure_interpreter()
    return start_app(*opened, plain=plain, pick=PickOptions(chosen, query))
