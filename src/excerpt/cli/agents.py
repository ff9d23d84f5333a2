"""`excerpt agents`: the prompt hook of agents and its log."""

from __future__ import annotations

from pathlib import Path

import click

from excerpt.cli.printing import print_json, print_line, print_message
from excerpt.settings import user_paths

_AGENTS = ("claude", "codex")


@click.group()
def agents_command() -> None:
    """Set up agents: tools, and passages that nobody has to ask for."""


@agents_command.command("hook", hidden=True)
@click.argument("agent", type=click.Choice(_AGENTS))
@click.argument("vaults", nargs=-1, required=True, type=click.Path(path_type=Path))
def hook_command(agent: str, vaults: tuple[Path, ...]) -> None:
    """Add passages to a prompt: read an agent's event from stdin, print JSON. Agents run this command themselves."""
    from excerpt.agents.hook import run_hook

    run_hook(agent, vaults)


@agents_command.command("log")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def log_command(as_json: bool) -> int:
    """List the passages that prompts got from the hook: time, agent, vault, sources. Prompts are not kept."""
    from excerpt.agents.hook import read_records

    records = read_records(user_paths())
    if as_json:
        print_json({"prompts": records})
    for record in () if as_json else records:
        print_line(f"{record.time.replace('T', ' ')}  {record.agent}  {record.vault}  {record.tokens} tokens")
        for source in record.sources:
            print_line(f"    {source}")
    if not records:
        print_message("No prompt got passages from the hook so far.")
    return 0 if records else 1
