"""`excerpt edit`: change a memory, or decide about its changed source."""

from __future__ import annotations

from pathlib import Path

import click

from excerpt.cli.completing import complete_tags
from excerpt.cli.memories import format_memory
from excerpt.cli.printing import print_json, print_line, read_input
from excerpt.cli.vaults import load_vault, refresh_option, vault_option

_DECISION_HELP = {
    "follow": "If the source has moved: link the memory to the new location.",
    "update": "If the source has changed: replace the text of the memory with the new text.",
    "keep": "If the source has changed or is gone: keep the memory as it is, and no longer list it as stale.",
}
"""The help of the options that decide what happens to a memory whose source has changed."""


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--text", help="The new text of the memory; - reads the text from stdin.")
@click.option(
    "--tag", "tags", multiple=True, shell_complete=complete_tags, help="Add a tag; may be given several times."
)
@click.option("--untag", "untags", multiple=True, help="Remove a tag; may be given several times.")
@click.option("--why", help="Why the memory matters.")
@click.option("--merge", "other", metavar="OTHER", help="Merge the memory OTHER into the memory ID, and forget OTHER.")
@click.option(
    "--replace",
    "replaces",
    metavar="OTHER",
    multiple=True,
    help="Replace the memory OTHER by the memory ID. OTHER is kept but no longer recalled; may be given several times.",
)
@click.option("--follow", "decision", flag_value="follow", help=_DECISION_HELP["follow"])
@click.option("--update", "decision", flag_value="update", help=_DECISION_HELP["update"])
@click.option("--keep", "decision", flag_value="keep", help=_DECISION_HELP["keep"])
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
@refresh_option
def edit_command(
    *,
    memory_id: str,
    vault: Path | None,
    text: str | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    why: str | None,
    other: str | None,
    replaces: tuple[str, ...],
    decision: str | None,
    as_json: bool,
    no_refresh: bool,
) -> None:
    """Change the text, tags or reason of the memory ID, or decide about a changed source.

    The former version of the memory is kept in the trash folder.
    """
    new_text = read_input("-", "text") if text == "-" else text
    if new_text is not None and not new_text.strip():
        raise click.UsageError("The new text is empty. To remove a memory, use `excerpt forget ID`.")
    if new_text is None and why is None and not (tags or untags or other or replaces or decision):
        raise click.UsageError(
            "There is nothing to change. "
            "Give --text, --tag, --untag, --why, --merge, --replace, --follow, --update or --keep."
        )
    if other == memory_id:
        raise click.UsageError("A memory cannot be merged with itself.")
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        memories = opened_vault.memories
        if decision is not None:
            {"follow": memories.follow, "update": memories.update, "keep": memories.keep}[decision](memory_id)
        memory = memories.edit(
            memory_id, text=new_text, tags=tags, untags=untags, why=why, merge=other or "", replaces=replaces
        )
    if as_json:
        print_json(memory.to_dict())
    else:
        print_line(format_memory(memory))
