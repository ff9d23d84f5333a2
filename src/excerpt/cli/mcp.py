"""`excerpt mcp`: serve vaults to agents over the Model Context Protocol."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from excerpt.cli.crash import log_crash
from excerpt.cli.printing import print_line, print_message
from excerpt.cli.vaults import VaultParameter, find_last_vault
from excerpt.errors import ExcerptError
from excerpt.known_vaults import check_breadth
from excerpt.processes import excerpt_command, find_program
from excerpt.settings import open_vault, user_paths
from excerpt.store.address import is_address, read_address

_PORT = 8765
_CLIENTS = ("claude", "cursor", "vscode", "codex")


@click.command()
@click.argument("vaults", nargs=-1, type=VaultParameter(), metavar="[VAULT]...")
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP, one process for all clients.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; another needs --token-file.")
@click.option("--port", type=click.IntRange(0, 65_535), default=_PORT, show_default=True, help="0 takes a free one.")
@click.option("--token-file", type=click.Path(path_type=Path), help="The file with the token that clients send.")
@click.option("--allow-host", "names", multiple=True, help="A host name that clients may use.")
@click.option("--no-memory", is_flag=True, help="Offer no tool that writes memories.")
@click.option("--print-config", "client", type=click.Choice(_CLIENTS), help="Print the settings for a client.")
def mcp_command(
    *,
    vaults: tuple[Path, ...],
    over_http: bool,
    host: str,
    port: int,
    token_file: Path | None,
    names: tuple[str, ...],
    no_memory: bool,
    client: str | None,
) -> None:
    """Serve vaults to agents: tools to pack, search, read and remember.

    Over stdin and stdout, for the client that started it, or with --http for all. Builds the index and keeps it up to
    date. Without VAULT, serves the vault in $EXCERPT_VAULT or the last one.
    """
    folders = vaults or (find_last_vault(),)
    if client is not None:
        _print_config(client, folders, no_memory=no_memory)
        return
    if importlib.util.find_spec("mcp") is None:
        raise _make_sdk_error("is not installed")
    for folder in folders:
        if not is_address(str(folder)):
            check_breadth(open_vault(folder), user_paths())
    from excerpt.mcp.http import HttpAddress, is_loopback, open_listener
    from excerpt.mcp.served_vaults import ServedVaults

    http_address = None
    if over_http:
        if not is_loopback(host) and token_file is None:
            raise click.UsageError(f"To listen at {host}, give a --token-file with a secret of your own.")
        http_address = open_listener(HttpAddress(host, port, token_file or user_paths().token_file, names))
    served = ServedVaults(folders)
    served.watch()  # the watchers start while the SDK loads, which takes most of a second
    try:
        from excerpt.mcp.server import serve_http, serve_stdio
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "excerpt":
            raise
        served.end()
        raise _make_sdk_error(f"cannot be used: {error}") from error
    if http_address is None:
        if sys.stdin.isatty():
            print_message("waiting for a client on stdin. Agents start it: see --print-config. Ctrl+C ends it.")
        serve_stdio(served, _log_crash, with_memory=not no_memory)
    else:
        serve_http(served, http_address, _log_crash, with_memory=not no_memory)


def _make_sdk_error(why: str) -> ExcerptError:
    return ExcerptError(f"The MCP SDK, which serves agents, {why}.", "Install it with: pip install 'excerpt[mcp]'")


def _log_crash(error: Exception) -> str:
    return log_crash(error, sys.argv[1:])


def _format_absolute_vault(vault: Path) -> str:
    """Return the vault's absolute path or address, so that a client can start anywhere."""
    return read_address(str(vault)).shown if is_address(str(vault)) else str(vault.expanduser().absolute())


def _print_config(client: str, folders: Sequence[Path], *, no_memory: bool) -> None:
    """Print a client's MCP configuration on stdout, and where it belongs on stderr."""
    program = find_program("excerpt")
    command = [program] if program else excerpt_command()
    options = ["--no-memory"] if no_memory else []
    arguments = [*command[1:], "mcp", *options, *map(_format_absolute_vault, folders)]
    started = {"command": command[0], "args": arguments}
    match client:
        case "claude":
            print_message(f"or run: claude mcp add excerpt -- {shlex.join([command[0], *arguments])}")
            print_line(json.dumps({"mcpServers": {"excerpt": started}}, indent=2, ensure_ascii=False))
        case "cursor":
            print_message("put it into ~/.cursor/mcp.json, or .cursor/mcp.json of a project.")
            print_line(json.dumps({"mcpServers": {"excerpt": started}}, indent=2, ensure_ascii=False))
        case "vscode":
            print_message("put it into .vscode/mcp.json, or the user's by `MCP: Open User Configuration`.")
            print_line(json.dumps({"servers": {"excerpt": {"type": "stdio", **started}}}, indent=2, ensure_ascii=False))
        case _:
            print_message("put it into ~/.codex/config.toml.")
            print_line("[mcp_servers.excerpt]")
            print_line(f"command = {json.dumps(command[0])}")  # a TOML string is written as one of JSON
            print_line(f"args = {json.dumps(arguments)}")
