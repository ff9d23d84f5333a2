"""`excerpt serve`: answer requests of editors and scripts, one JSON object a line."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from excerpt.cli.crash import log_crash
from excerpt.cli.printing import print_message
from excerpt.cli.vaults import VaultParameter, find_last_vault
from excerpt.known_vaults import refuse_broad_folder
from excerpt.settings import open_vault, user_paths
from excerpt.store.address import is_address


@click.command()
@click.argument("vaults", nargs=-1, type=VaultParameter(), metavar="[VAULT]...")
def serve_command(*, vaults: tuple[Path, ...]) -> None:
    """Answer requests of an editor or a script on stdin, one JSON object a line, on stdout.

    The index stays open and follows the files of the vault, so that an answer takes milliseconds. Ends when stdin is
    closed. Without VAULT, serves the vault in $EXCERPT_VAULT, or else the vault opened last.
    """
    folders = vaults or (find_last_vault(),)
    for folder in folders:
        if not is_address(str(folder)):
            refuse_broad_folder(open_vault(folder), user_paths())
    from excerpt.mcp.served_vaults import ServedVaults
    from excerpt.serve.server import serve_stdio

    served = ServedVaults(folders)
    served.watch()
    if sys.stdin.isatty():
        print_message("Waiting for requests on stdin, one JSON object a line. Press Ctrl+D to stop.")
    serve_stdio(served, lambda error: log_crash(error, sys.argv[1:]))
