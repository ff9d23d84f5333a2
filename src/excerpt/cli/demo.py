"""`excerpt demo`: open the demo vault, which is also the user guide."""

from __future__ import annotations

import click

from excerpt.cli.app import start_app
from excerpt.cli.printing import print_line
from excerpt.tui.startup import configure_interpreter
from excerpt.vault.known_vaults import DEMO


@click.command()
@click.option("--path", is_flag=True, help="Print the path of the demo vault instead of opening it.")
@click.pass_obj
def demo_command(plain: bool, path: bool) -> int:
    """Open the demo vault, which is also the user guide."""
    if path:
        print_line(str(DEMO))
        return 0
    configure_interpreter()
    return start_app(DEMO, keep_as_last=False, plain=plain)
