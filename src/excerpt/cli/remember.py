"""`excerpt remember`: keep a finding."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from excerpt.cli.printing import line_for_stdout, print_json, put
from excerpt.cli.vaults import chosen_vault, vault_option
from excerpt.settings import places


@click.command()
@click.argument("text")
@vault_option
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.option("--why", default="", help="Why it matters.")
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
def command(*, text: str, vault: Path | None, tags: tuple[str, ...], why: str, as_json: bool) -> None:
    """Keep TEXT (- reads it from stdin) as a memory of the vault."""
    from excerpt.memory.store import MemoryStore

    store = MemoryStore(places().memory_folder(chosen_vault(vault)))
    memory = store.remember(sys.stdin.read() if text == "-" else text, tags, why)
    if as_json:
        print_json(asdict(memory))
    else:
        put(line_for_stdout(f"Remembered as {memory.id}."))
