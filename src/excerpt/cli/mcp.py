"""`excerpt mcp`: serve vaults to agents over the Model Context Protocol (MCP)."""

from __future__ import annotations

import importlib.util
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from excerpt.base.errors import ExcerptError
from excerpt.base.installation import extra_hint
from excerpt.base.settings import open_vault, user_paths
from excerpt.cli.crash import log_crash
from excerpt.cli.printing import print_line, print_message
from excerpt.cli.vaults import find_last_vault, vaults_parameter
from excerpt.service.stores import is_address, parse_address
from excerpt.vault.known_vaults import refuse_broad_folder

_PORT = 8765
_CLIENTS = ("claude", "cursor", "vscode", "codex")


@click.command()
@vaults_parameter
@click.option(
    "--http",
    "over_http",
    is_flag=True,
    help="Serve all clients with one process over HTTP, instead of one client over stdin.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen at. An address that other machines can reach needs --token-file.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=_PORT,
    show_default=True,
    help="The port to listen at; 0 chooses a free port.",
)
@click.option(
    "--token-file", type=click.Path(path_type=Path), help="The file with the secret token that clients must send."
)
@click.option(
    "--allow-host", "names", multiple=True, help="Accept requests that name this host; may be given several times."
)
@click.option("--no-memory", is_flag=True, help="Do not offer the tools that write memories.")
@click.option("--print-config", "client", type=click.Choice(_CLIENTS), help="Print the configuration for this client.")
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

    Serves the client that started the process over stdin and stdout, or with --http all clients. Builds the index and
    keeps it up to date. Without VAULT, serves the vault in $EXCERPT_VAULT, or else the vault opened last.
    """
    folders = vaults or (find_last_vault(),)
    if client is not None:
        _print_config(client, folders, no_memory=no_memory)
        return
    if importlib.util.find_spec("mcp") is None:
        raise _make_sdk_error("is not installed")
    for folder in folders:
        if not is_address(str(folder)):
            refuse_broad_folder(open_vault(folder), user_paths())
    from excerpt.servers.line_server.prompt_socket import serve_prompts
    from excerpt.servers.mcp.http import HttpAddress, is_loopback, open_listener
    from excerpt.servers.served_vaults import ServedVaults

    http_address = None
    if over_http:
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it serves others than the terminal in which it was started
        if not is_loopback(host) and token_file is None:
            raise click.UsageError(f"To listen at {host}, give a --token-file with a secret token that you chose.")
        http_address = open_listener(HttpAddress(host, port, token_file or user_paths().token_file, names))
    served = ServedVaults(folders)
    served.watch()  # the watchers start while the SDK loads, which takes most of a second
    try:
        from excerpt.servers.mcp.server import serve_http, serve_stdio
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "excerpt":
            raise
        served.end()
        raise _make_sdk_error(f"cannot be used: {error}") from error
    serve_hook = partial(serve_prompts, served, _log_crash)
    if http_address is None:
        if sys.stdin.isatty():
            print_message(
                "Waiting for a client on stdin. Agents start this command themselves: see --print-config. "
                "Press Ctrl+C to stop."
            )
        serve_stdio(served, _log_crash, serve_hook, with_memory=not no_memory)
    else:
        serve_http(served, http_address, _log_crash, serve_hook, with_memory=not no_memory)


def _make_sdk_error(problem: str) -> ExcerptError:
    """Return the error for an MCP SDK that has a problem, such as "is not installed"."""
    return ExcerptError(f"The MCP SDK, which serves agents, {problem}.", extra_hint("mcp"))


def _log_crash(error: BaseException) -> str:
    """Write the traceback to errors.log and return the sentence to show."""
    return log_crash(error, sys.argv[1:])


def format_absolute_vault(vault: Path) -> str:
    """Return the vault's absolute path, or the address of its store, so that a client can start in any folder."""
    return parse_address(str(vault)).display_text if is_address(str(vault)) else str(vault.expanduser().absolute())


def _print_config(client: str, folders: Sequence[Path], *, no_memory: bool) -> None:
    """Print a client's MCP configuration on stdout, and on stderr the file it belongs in."""
    from excerpt.servers.agents.install import server_command, server_entry, server_table

    launch = server_command([*map(format_absolute_vault, folders)], no_memory=no_memory)
    match client:
        case "claude":
            print_message(f"Add this to .mcp.json of a project, or run: claude mcp add excerpt -- {shlex.join(launch)}")
        case "cursor":
            print_message("Add this to ~/.cursor/mcp.json, or to .cursor/mcp.json of a project.")
        case "vscode":
            print_message(
                "Add this to .vscode/mcp.json of a project, or to the file that `MCP: Open User Configuration` opens."
            )
        case _:
            print_message("Add this to ~/.codex/config.toml.")
            print_line(server_table(launch).rstrip("\n"))
            return
    key = "servers" if client == "vscode" else "mcpServers"
    print_line(json.dumps({key: {"excerpt": server_entry(client, launch)}}, indent=2, ensure_ascii=False))
