"""`excerpt forget`: move a memory to the trash folder, or restore it."""

from __future__ import annotations

from pathlib import Path

import click

from excerpt.cli.printing import print_json, print_line, print_message
from excerpt.cli.vaults import load_vault, vault_option
from excerpt.text.display import visible_line


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--undo", is_flag=True, help="Restore the memory ID, which was forgotten or replaced.")
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
def forget_command(*, memory_id: str, vault: Path | None, undo: bool, as_json: bool) -> None:
    """Forget the memory ID: move its file to the trash folder, from where --undo restores it.

    Memories that it replaced are recalled again. Other memories with the same text are kept and listed.
    """
    with load_vault(vault) as opened_vault:
        memories = opened_vault.memories
        copies = {copied.id for copied in memories.all().copies if copied.of == memory_id}
        memory = memories.restore(memory_id) if undo else memories.forget(memory_id)
        others = () if undo else memories.all().memories
        forgot = f"Forgot {memory.id}."
        forgot += " The store keeps it for --undo." if memory.is_shared else f" Its file is now in {memories.trash}."
        message = f"Restored {memory.id}." if undo else forgot
    if as_json:
        print_json(memory.to_dict())
    else:
        print_line(visible_line(message))
    for other in others:
        if other.id in copies or other.text == memory.text:
            relation = f"is a copy of {memory.id}" if other.id in copies else f"has the same text as {memory.id}"
            print_message(f"{other.id} {relation} and is kept.")
