"""`excerpt agents`: install excerpt in the configuration of agents, and the hook that adds passages to prompts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.settings import user_paths
from excerpt.cli.printing import print_json, print_line, print_message, write_stderr
from excerpt.cli.vaults import VaultParameter, find_last_vault
from excerpt.text.display import format_count, visible

if TYPE_CHECKING:
    from excerpt.servers.agents.hook import HookState
    from excerpt.servers.agents.install import FileEdit

_AGENTS = ("claude", "codex", "cursor", "vscode")

_agent_argument = click.argument("agent", type=click.Choice(_AGENTS))
_project_option = click.option("--project", is_flag=True, help="Only for the project in the working directory.")
_yes_option = click.option("--yes", is_flag=True, help="Write without asking.")


@click.group()
def agents_command() -> None:
    """Install excerpt in Claude Code, Codex, Cursor or VS Code.

    Shows each change before it writes it. `uninstall` restores the files.
    """


@agents_command.command("install")
@_agent_argument
@click.option(
    "--vault",
    "vaults",
    multiple=True,
    type=VaultParameter(),
    help="A vault to serve beside those that are installed; may be given several times.  [default: those, else "
    "$EXCERPT_VAULT, else the vault last opened]",
)
@_project_option
@click.option("--hook", is_flag=True, help="Also install the prompt hook, which adds passages to prompts.")
@_yes_option
def install_command(agent: str, *, vaults: tuple[Path, ...], project: bool, hook: bool, yes: bool) -> None:
    """Install the MCP server and a skill for an agent; with --hook, the prompt hook too."""
    from excerpt.cli.mcp import format_absolute_vault
    from excerpt.servers.agents.install import install, plan_install, read_installation

    folder, paths = _resolve_project_folder(project), user_paths()
    addresses: Sequence[str] = [format_absolute_vault(vault) for vault in vaults]
    addresses = (
        addresses or read_installation(agent, folder, paths).vaults or [format_absolute_vault(find_last_vault())]
    )
    edits = plan_install(agent, addresses, folder, paths, hook=hook)
    if not edits:
        print_message(f"excerpt is installed for {agent} like this already: {_describe_installation(agent, folder)}.")
    elif _confirm(edits, yes=yes):
        install(edits, paths)
        print_message(
            f"Installed for {agent}: {_describe_installation(agent, folder)}. Restart it. "
            f"To undo this: excerpt agents uninstall {agent}{' --project' if project else ''}"
        )


@agents_command.command("uninstall")
@_agent_argument
@_project_option
@_yes_option
def uninstall_command(agent: str, *, project: bool, yes: bool) -> None:
    """Remove everything that `install` has added for an agent."""
    from excerpt.servers.agents.install import plan_uninstall, read_installation, uninstall

    edits = plan_uninstall(agent, _resolve_project_folder(project), user_paths())
    if not edits:
        print_message(f"excerpt is not installed for {agent}.")
    elif _confirm(edits, yes=yes):
        uninstall(edits, user_paths())
        print_message(f"Removed from {agent}.")
    if left := read_installation(agent, _resolve_project_folder(project), user_paths()).problem:
        print_message(f"Not changed: {left}")


@agents_command.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status_command(*, as_json: bool) -> int:
    """List what is installed for you, and in the working directory. Exits with 1 if nothing is."""
    from excerpt.servers.agents.hook import read_state
    from excerpt.servers.agents.install import read_installation

    found = [read_installation(agent, project, user_paths()) for agent in _AGENTS for project in (None, Path.cwd())]
    hook = read_state(
        user_paths().hook_folder, list(dict.fromkeys(vault for each in found for vault in each.hook_vaults))
    )
    if as_json:
        print_json({"agents": found, "hook": hook})
    for each in () if as_json else found:
        if each.has_any_part or each.problem:
            print_line(
                f"{each.agent} ({each.scope}): {visible(' '.join(filter(None, (each.describe(), each.problem))))}"
            )
    if any(each.hook for each in found) and not as_json:
        _print_hook(hook)
    if not any(each.has_any_part for each in found):
        print_message("excerpt is installed for no agent. See: excerpt agents install --help")
    return 0 if any(each.has_any_part for each in found) else 1


def _print_hook(hook: HookState) -> None:
    """Print which servers answer the prompt hook, and how often the hook reached its time limit."""
    if not hook.sockets:
        print_line("hook: this system has no Unix sockets, so each prompt starts a search, which takes about .4 s")
    for vault in hook.served:
        print_line(visible(f"hook: a running server answers for {vault}"))
    for vault in hook.unserved if hook.sockets else ():
        print_line(visible(f"hook: no server runs for {vault}; a prompt starts a search, which takes about .4 s"))
    if hook.timeouts:
        times = format_count(hook.timeouts, "time")
        print_line(
            f"hook: gave up {times} in the last 7 days, last on {visible(hook.last_timeout.replace('T', ' at '))}"
        )


def _resolve_project_folder(chosen: bool) -> Path | None:
    return Path.cwd() if chosen else None


def _describe_installation(agent: str, project: Path | None) -> str:
    """Return in words what is installed for an agent, read from its files after a change."""
    from excerpt.servers.agents.install import read_installation

    return visible(read_installation(agent, project, user_paths()).describe())


def _confirm(edits: Sequence[FileEdit], *, yes: bool) -> bool:
    """Show changes on stderr and ask whether to write them; raise a usage error if nobody can answer."""
    for edit in edits:
        write_stderr(visible(edit.diff))
    if yes:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask you at. Add --yes to write the changes shown above.")
    return click.confirm("Write these changes?", err=True)


@agents_command.command("hook", hidden=True)
@_agent_argument
@click.argument("vaults", nargs=-1, required=True)
def hook_command(agent: str, vaults: tuple[str, ...]) -> None:
    """Add passages to a prompt: read an agent's event from stdin, print JSON. Agents run this command themselves."""
    from excerpt.servers.agents.hook import run_hook

    run_hook(agent, vaults)


@agents_command.command("log")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def log_command(as_json: bool) -> int:
    """List the passages that prompts got from the hook, and when it gave up. Prompts are not kept."""
    from excerpt.servers.agents.hook import read_records

    records = read_records(user_paths().hook_folder)
    if as_json:
        print_json({"prompts": records})
    for record in () if as_json else records:
        what = format_count(record.tokens, "token")
        if record.outcome == "timeout":
            what = f"gave up after {record.elapsed_ms / 1000:.1f} s, asking the {record.asked or 'agent'}"
        print_line(visible(f"{record.time.replace('T', ' ')}  {record.agent}  {record.vault}  {what}"))
        for source in record.sources:
            print_line(visible(f"    {source}"))
    if not records:
        print_message("No prompt got passages from the hook so far.")
    return 0 if records else 1
