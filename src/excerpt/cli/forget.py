"""`excerpt forget`: put a memory into the trash folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from excerpt.cli.printing import line_for_stdout, print_json, put
from excerpt.cli.vaults import chosen_vault, vault_option
from excerpt.settings import places


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Print the forgotten memory as JSON.")
def command(*, memory_id: str, vault: Path | None, as_json: bool) -> None:
    """Forget the memory ID. Its file goes to the trash folder, from which it can be taken back."""
    from excerpt.memory.store import TRASH, MemoryStore

    store = MemoryStore(places().memory_folder(chosen_vault(vault)))
    memory = store.forget(memory_id)
    if as_json:
        print_json(asdict(memory))
    else:
        put(line_for_stdout(f"Forgot {memory.id}; its file is in {store.folder / TRASH}."))
