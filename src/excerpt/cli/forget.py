"""`excerpt forget`: put a memory into the trash folder, or take it back."""

from __future__ import annotations

from pathlib import Path

import click

from excerpt.cli.memories import memory_as_json
from excerpt.cli.printing import narrate, print_json, put
from excerpt.cli.vaults import chosen_vault, vault_option
from excerpt.settings import places
from excerpt.text.visible import visible_line


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--undo", is_flag=True, help="Take the forgotten memory ID back.")
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
def command(*, memory_id: str, vault: Path | None, undo: bool, as_json: bool) -> None:
    """Forget the memory ID. Its file goes to the trash folder, from which --undo takes it back.

    Other memories of the same text are kept, and named.
    """
    from excerpt.memory.store import TRASH, MemoryStore

    store = MemoryStore(places().memory_folder(chosen_vault(vault)))
    copies = {copied.id for copied in store.all().copies if copied.of == memory_id}
    memory = store.restore(memory_id) if undo else store.forget(memory_id)
    told = f"Took back {memory.id}." if undo else f"Forgot {memory.id}; its file is in {store.folder / TRASH}."
    if as_json:
        print_json(memory_as_json(memory))
    else:
        put(visible_line(told))
    for other in () if undo else store.all().memories:
        if other.id in copies or other.text == memory.text:
            narrate(f"{other.id}, {'a copy of it' if other.id in copies else 'of the same text'}, is kept.")
