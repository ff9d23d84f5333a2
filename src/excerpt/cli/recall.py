"""`excerpt recall`: find what was remembered."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from excerpt.cli.printing import for_stdout, line_for_stdout, narrate, print_json, put
from excerpt.cli.vaults import chosen_vault, vault_option
from excerpt.model import Memory
from excerpt.settings import places


@click.command()
@click.argument("words", nargs=-1)
@vault_option
@click.option("--tag", "tags", multiple=True, help="Only memories with this tag; several must all be there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, words: tuple[str, ...], vault: Path | None, tags: tuple[str, ...], as_json: bool) -> int:
    """Find memories by words and tags.

    Those that hold all WORDS (the last may be the beginning of one); without WORDS, all of them. Newest first.
    """
    from excerpt.memory.store import MemoryStore

    store = MemoryStore(places().memory_folder(chosen_vault(vault)))
    for broken in store.all().broken:
        narrate(f"the memory {broken.path} cannot be read: {broken.reason}")
    memories = store.recall(" ".join(words), tags)
    if as_json:
        print_json({"memories": [asdict(memory) for memory in memories]})
    elif memories:
        put("\n\n".join(_shown(memory) for memory in memories))
    else:
        narrate("no memory matches." if words or tags else "nothing has been remembered in this vault yet.")
    return 0 if memories else 1


def _shown(memory: Memory) -> str:
    head = [memory.id, memory.created, *(f"#{tag}" for tag in memory.tags)]
    lines = [line_for_stdout(" · ".join(head))]
    if memory.source:
        source = memory.source
        lines.append(line_for_stdout(f"from {source.path}:{source.line_start}-{source.line_end}"))
    if memory.why:
        lines.append(line_for_stdout(f"why: {memory.why}"))
    return "\n".join((*lines, for_stdout(memory.text)))
