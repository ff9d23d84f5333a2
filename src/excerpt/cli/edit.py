"""`excerpt edit`: change a memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.input import read_input
from excerpt.cli.memories import memory_as_json, shown
from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.model import Memory
from excerpt.settings import places, settings_of

if TYPE_CHECKING:
    from excerpt.memory.store import MemoryStore

_DECISIONS = {
    "follow": "Of a source that has moved: let the link follow.",
    "update": "Of a source that has changed: take the text that is there now.",
    "keep": "Of a source that has changed or gone: leave the memory as it is, and do not call it stale.",
}


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--text", help="The new text; - reads it from stdin.")
@click.option("--tag", "tags", multiple=True, help="Add a tag; may be given several times.")
@click.option("--untag", "untags", multiple=True, help="Take a tag off; may be given several times.")
@click.option("--why", help="Why it matters.")
@click.option("--merge", "other", metavar="OTHER", help="Take in the memory OTHER, which is then forgotten.")
@click.option("--follow", "decision", flag_value="follow", help=_DECISIONS["follow"])
@click.option("--update", "decision", flag_value="update", help=_DECISIONS["update"])
@click.option("--keep", "decision", flag_value="keep", help=_DECISIONS["keep"])
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
@refresh_option
def command(
    *,
    memory_id: str,
    vault: Path | None,
    text: str | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    why: str | None,
    other: str | None,
    decision: str | None,
    as_json: bool,
    no_refresh: bool,
) -> None:
    """Change the memory ID: what it says, its tags, why it matters, or what becomes of it now that its source has
    changed. What it was goes to the trash folder."""
    from excerpt.memory.store import MemoryStore

    new_text = read_input("-", "text") if text == "-" else text
    if new_text is not None and not new_text.strip():
        raise click.UsageError("There is no text; to be rid of a memory, forget it.")
    if new_text is None and why is None and not (tags or untags or other or decision):
        raise click.UsageError(
            "Say what to change: --text, --tag, --untag, --why, --merge, --follow, --update, --keep."
        )
    if other == memory_id:
        raise click.UsageError("A memory cannot be merged with itself.")
    chosen = chosen_vault(vault)
    store = MemoryStore(places().memory_folder(chosen))
    if decision is not None:
        _decide(store, chosen, memory_id, decision, refresh=not no_refresh)
    if other is not None:
        _take_in(store, memory_id, other)
    memory = store.change(memory_id, _edited(new_text, tags, untags, why))
    if as_json:
        print_json(memory_as_json(memory))
    else:
        put(shown(memory))


def _edited(
    text: str | None, tags: tuple[str, ...], untags: tuple[str, ...], why: str | None
) -> Callable[[Memory], Memory]:
    from excerpt.memory.files import normalise_tags

    off = set(normalise_tags(untags))

    def edited(memory: Memory) -> Memory:
        return replace(
            memory,
            text=memory.text if text is None else text,
            tags=tuple(tag for tag in normalise_tags((*memory.tags, *tags)) if tag not in off),
            why=memory.why if why is None else why,
        )

    return edited


def _take_in(store: MemoryStore, memory_id: str, other: str) -> None:
    from excerpt.memory.offers import merged

    taken = store.get(other)
    store.change(memory_id, lambda memory: merged(memory, taken.text, taken.tags, taken.why, taken.source))
    store.forget(other)


def _decide(store: MemoryStore, vault: Path, memory_id: str, decision: str, *, refresh: bool) -> None:
    """Look at the source in the vault, and do what was decided of it."""
    from excerpt.memory import stale

    where = places()
    memory = store.get(memory_id)
    with snapshot_of(vault, settings_of(vault, where), where, refresh=refresh) as snapshot:
        found = stale.standing(memory, snapshot)
    decide = {"follow": stale.follow, "update": stale.update, "keep": stale.keep}
    decide[decision](store, found)
