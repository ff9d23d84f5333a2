"""`excerpt remember`: keep a finding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.input import read_input
from excerpt.cli.memories import beginning_of, memory_as_json, offer_as_json, recaller_of
from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import narrate, print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.model import Memory, Source
from excerpt.settings import Places, Settings, places, settings_of
from excerpt.text.visible import visible_line

if TYPE_CHECKING:
    from excerpt.memory.offers import Offer


@click.command()
@click.argument("text", required=False)
@vault_option
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.option("--why", default="", help="Why it matters.")
@click.option("--fragment", metavar="ID", help="The fragment it is from: `fragment_id` of a search.")
@click.option("--source", metavar="NOTE:A-B", help="The lines it is from; NOTE is a path, title or alias.")
@click.option("--query", default="", help="The query that found it.")
@click.option("--merge", "into", metavar="ID", help="Put it into this memory instead of making a new one.")
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
@refresh_option
def command(
    *,
    text: str | None,
    vault: Path | None,
    tags: tuple[str, ...],
    why: str,
    fragment: str | None,
    source: str | None,
    query: str,
    into: str | None,
    as_json: bool,
    no_refresh: bool,
) -> None:
    """Keep TEXT (- reads it from stdin) as a memory of the vault.

    With --fragment or --source, TEXT may be left out: then the text is what stands there. Memories that say much the
    same already are named, to be merged: `excerpt edit ID --merge OTHER`.
    """
    if fragment is not None and source is not None:
        raise click.UsageError("Give either --fragment or --source.")
    if text is None and fragment is None and source is None:
        raise click.UsageError("Give a TEXT, or where it is to be taken from: --fragment or --source.")
    said = read_input("-", "text") if text == "-" else text
    where, chosen = places(), chosen_vault(vault)
    settings = settings_of(chosen, where)
    origin: Source | None = None
    if fragment is not None or source is not None:
        origin, there = _taken(chosen, settings, where, fragment, source, refresh=not no_refresh)
        said = there if said is None else said
    assert said is not None
    memory, similar = _kept(chosen, settings, where, Memory("", said, tags, why, "", "", origin, query), into)
    if as_json:
        print_json({**memory_as_json(memory), "similar": [offer_as_json(offer) for offer in similar]})
        return
    put(visible_line(f"Remembered as {memory.id}."))
    for offer in similar:
        reason = "is about the same lines" if offer.is_same_source else "says much the same"
        narrate(f"{offer.memory.id} {reason}: {beginning_of(offer.memory)}")
    if similar:
        narrate(f"To make one of two: excerpt edit {similar[0].memory.id} --merge {memory.id}")


def _taken(
    vault: Path, settings: Settings, where: Places, fragment: str | None, source: str | None, *, refresh: bool
) -> tuple[Source, str]:
    from excerpt.memory.sources import from_fragment, from_lines

    with snapshot_of(vault, settings, where, refresh=refresh) as snapshot:
        return from_lines(snapshot, source or "") if fragment is None else from_fragment(snapshot, fragment)


def _kept(
    vault: Path, settings: Settings, where: Places, wanted: Memory, into: str | None
) -> tuple[Memory, Sequence[Offer]]:
    """The memory as it was kept, and what is much like it."""
    from excerpt.memory.offers import merged, offers

    found = wanted.text, wanted.tags, wanted.why, wanted.source
    with recaller_of(vault, settings, where) as recaller:
        if into is not None:
            return recaller.store.change(into, lambda memory: merged(memory, *found)), ()
        similar = offers(wanted.text, wanted.source, recaller)
        return recaller.store.remember(*found, query=wanted.query), similar
