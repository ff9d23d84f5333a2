"""`excerpt demo`: the vault that ships with excerpt, which is also its guide."""

from __future__ import annotations

import click

from excerpt.cli.app import start_app
from excerpt.cli.printing import put
from excerpt.known_vaults import DEMO
from excerpt.tui.startup import prefer_the_screen


@click.command()
@click.option("--path", is_flag=True, help="Print where the demo vault lies, and do not open it.")
@click.pass_obj
def command(plain: bool, path: bool) -> None:
    """Open the demo vault, which is also the user guide."""
    if path:
        put(str(DEMO))
    else:
        prefer_the_screen()
        start_app(DEMO, keep_as_last=False, plain=plain)
