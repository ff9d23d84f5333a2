"""`excerpt serve`: answer requests of editors and scripts, one JSON object a line."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import click

from excerpt.base.errors import VaultError
from excerpt.base.settings import open_vault, user_paths
from excerpt.cli.crash import log_crash
from excerpt.cli.printing import print_line, print_message
from excerpt.cli.vaults import find_last_vault, vaults_parameter
from excerpt.service.stores import is_address
from excerpt.vault.known_vaults import refuse_broad_folder


@click.command()
@vaults_parameter
@click.option("--socket", "at_socket", is_flag=True, help="Serve several clients at a Unix socket instead of stdin.")
@click.option(
    "--socket-path", type=click.Path(path_type=Path), metavar="FILE", help="The socket to listen at; implies --socket."
)
@click.option("--schema", is_flag=True, help="Print the JSON schema of all messages.")
def serve_command(*, vaults: tuple[Path, ...], at_socket: bool, socket_path: Path | None, schema: bool) -> None:
    """Answer requests of an editor or a script on stdin, one JSON object a line, on stdout.

    The index stays open and follows the files of the vault, so that an answer takes milliseconds. Ends when stdin is
    closed. Without VAULT, serves the vault in $EXCERPT_VAULT, or else the vault opened last.
    """
    if schema:
        from excerpt.servers.line_server.schema import build_schema

        print_line(json.dumps(build_schema(), indent=2, ensure_ascii=False))
        return
    at_socket = at_socket or socket_path is not None
    if at_socket and not hasattr(socket, "AF_UNIX"):
        raise click.UsageError("Windows has no Unix sockets for Python programs. Use stdin and stdout.")
    folders = vaults or (find_last_vault(),)
    for folder in folders:
        if not is_address(str(folder)):
            refuse_broad_folder(open_vault(folder), user_paths())
    from excerpt.servers.line_server.client import socket_file
    from excerpt.servers.line_server.server import serve_socket, serve_stdio
    from excerpt.servers.served_vaults import ServedVaults

    served = ServedVaults(folders, comments="author")  # for those of its clients that ask for it
    if at_socket:
        first = served.all[0].vault
        file = (socket_path or socket_file(first.address or first.folder)).expanduser().absolute()
        for each in served.all:
            if file.resolve().is_relative_to(each.vault.folder):
                raise VaultError(f"{file} is inside the vault {each.vault.folder}, which excerpt never writes to.")
        serve_socket(served, _log_crash, file)
    if sys.stdin.isatty():
        print_message("Waiting for requests on stdin, one JSON object a line. Press Ctrl+C to stop.")
    serve_stdio(served, _log_crash)


def _log_crash(error: BaseException) -> str:
    """Write the traceback to errors.log and return the sentence to show."""
    return log_crash(error, sys.argv[1:])
