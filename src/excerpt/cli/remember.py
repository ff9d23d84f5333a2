"""`excerpt remember`: save a text, or lines of a note, as a memory."""

from __future__ import annotations

from pathlib import Path

import click

from excerpt.cli.completing import complete_notes, complete_tags
from excerpt.cli.memories import format_beginning, print_unreadable_files
from excerpt.cli.printing import print_json, print_line, print_message, read_input
from excerpt.cli.vaults import load_vault, refresh_option, vault_option
from excerpt.text.display import visible_line

_RELATIONS = {
    "lines": "is about the same lines",
    "heading": "is about text below the same heading",
    "why": "has the same reason and tags",
    "text": "has similar text",
}


@click.command()
@click.argument("text", required=False)
@vault_option
@click.option(
    "--tag",
    "tags",
    multiple=True,
    shell_complete=complete_tags,
    help="A tag for the memory; may be given several times.",
)
@click.option("--why", default="", help="Why the memory matters.")
@click.option(
    "--fragment", metavar="ID", help="The fragment that the text is from: `fragment_id` of `excerpt search --json`."
)
@click.option(
    "--source",
    metavar="NOTE:A-B",
    shell_complete=complete_notes,
    help="The lines that the text is from; NOTE is a path, title or alias.",
)
@click.option("--query", default="", help="The query that found the text.")
@click.option("--merge", "into", metavar="ID", help="Add the text to the memory ID instead of making a new memory.")
@click.option(
    "--replace",
    "replaces",
    metavar="ID",
    multiple=True,
    help="Replace the memory ID, which is kept but no longer recalled; may be given several times.",
)
@click.option(
    "--shared/--own",
    default=None,
    help="Share the memory in the vault's store, with all who may read its source, or save it for you alone."
    "  [default: the setting memory.location]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
@refresh_option
def remember_command(
    *,
    text: str | None,
    vault: Path | None,
    tags: tuple[str, ...],
    why: str,
    fragment: str | None,
    source: str | None,
    query: str,
    into: str | None,
    replaces: tuple[str, ...],
    shared: bool | None,
    as_json: bool,
    no_refresh: bool,
) -> None:
    """Save TEXT (- is stdin) as a memory of the vault.

    With --fragment or --source, TEXT may be left out: the memory then gets the text of the source. Lists memories with
    similar text, about the same lines or heading, or with the same --why and tags: merge these with `excerpt edit ID
    --merge OTHER`, or replace them with `excerpt edit ID --replace OTHER`.
    """
    if into is not None and replaces:
        raise click.UsageError("--merge and --replace cannot be combined. Use only one.")
    if fragment is not None and source is not None:
        raise click.UsageError("--fragment and --source cannot be combined. Use only one.")
    if text is None and fragment is None and source is None:
        raise click.UsageError("There is nothing to remember. Give a TEXT, or its source with --fragment or --source.")
    content = read_input("-", "text") if text == "-" else text
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        print_unreadable_files(opened_vault)
        remembered = opened_vault.memories.remember(
            content,
            tags=tags,
            why=why,
            fragment=fragment,
            source=source,
            query=query,
            into=into,
            replaces=replaces,
            shared=shared,
        )
    if as_json:
        print_json(remembered.to_dict())
        return
    memory, similar = remembered.memory, remembered.similar
    shared_note = " All who may read its source, or the store if it has none, can read it." if memory.is_shared else ""
    print_line(visible_line(f"Remembered as {memory.id}.{shared_note}"))
    for old in remembered.replaces:
        print_line(visible_line(f"It replaces {old.id}: {format_beginning(old)}"))
    for offer in similar:
        print_message(f"{offer.memory.id} {_RELATIONS[offer.relation]}: {format_beginning(offer.memory)}")
    if similar:
        print_message(f"To merge them, run: excerpt edit {similar[0].memory.id} --merge {memory.id}")
        print_message(f"To replace the older one: excerpt edit {memory.id} --replace {similar[0].memory.id}")
