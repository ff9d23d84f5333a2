"""`excerpt remember`, `recall`, `forget` and `edit`: manage the memories of a vault."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.completing import complete_notes, complete_tags
from excerpt.cli.printing import escape_for_stdout, print_json, print_line, print_message, read_input
from excerpt.cli.vaults import add_vaults, load_vault, refresh_option, vault_option, vaults_option
from excerpt.errors import ExcerptError
from excerpt.model import Memory, Source
from excerpt.settings import MAX_COUNT
from excerpt.text.dates import parse_period
from excerpt.text.display import format_source_location, local_time, visible_line

if TYPE_CHECKING:
    from excerpt import SourceCheck, Vault


# --- output -----------------------------------------------------------------------------------------------------------
# Print memories as text.

_MAX_BEGINNING_CHARACTERS = 60  # of a memory, where it is named in a message
_MAX_NAMED = 3  # memories that answer a search or a pack


def _print_unreadable_files(vault: Vault) -> None:
    """Print on stderr which memory files cannot be read, and which are copies of another."""
    loaded = vault.memories.all()
    for skipped in loaded.unreadable:
        print_message(f"The memory {skipped.path} cannot be read: {skipped.reason}")
    for copied in loaded.copies:
        print_message(f"The memory {copied.path} is a copy of {copied.of}. The copy has the id {copied.id}.")


def format_beginning(memory: Memory) -> str:
    """Return the first words of a memory, on one line."""
    line = " ".join(memory.text.split())
    return line if len(line) <= _MAX_BEGINNING_CHARACTERS else f"{line[:_MAX_BEGINNING_CHARACTERS].rstrip()}…"


def print_answering_memories(vault: Vault, queries: Iterable[str]) -> None:
    """Name on stderr the memories that answer any of `queries`; none if they cannot be read, which `recall` reports."""
    with suppress(ExcerptError):
        if not vault.memories.all().memories:
            return  # a recall would import what builds an index
        answering = {each.memory.id: each for query in queries for each in vault.memories.recall_answers(query)}
        for each in list(answering.values())[:_MAX_NAMED]:
            check = each.source_check
            stale = f" (source {check.kind})" if check is not None and check.is_stale else ""
            prefix = f"{each.vault}/" if each.vault else ""
            name = f"{prefix}{each.memory.id}{stale}"
            print_message(f"Memory {name} answers the query: {format_beginning(each.memory)}")


def format_memory(memory: Memory, source_check: SourceCheck | None = None, vault: str = "") -> str:
    """Return a memory as printed text: id, date, tags, source, reason and text.

    With `source_check`, the text also has the status of the source, if it has moved, changed or is gone. `vault` is the
    name of its vault, if several are open.
    """
    head = [*filter(None, [vault]), memory.id, local_time(memory.created), *(f"#{tag}" for tag in memory.tags)]
    lines = [visible_line(" · ".join(head))]
    if memory.source:
        lines.append(visible_line(f"from {_format_source(memory.source)}"))
    if source_check is not None:
        lines += _format_source_status(source_check)
    if memory.why:
        lines.append(visible_line(f"why: {memory.why}"))
    return "\n".join((*lines, escape_for_stdout(memory.text)))


def _format_source_status(source_check: SourceCheck) -> list[str]:
    """Return the status of a memory's source as lines of text; none if the source is unchanged.

    If the source has changed, the differing lines follow, with `-` for the remembered lines and `+` for the new lines.
    """
    from excerpt import SourceStatus

    source = source_check.source
    if source_check.kind is SourceStatus.GONE:
        return ["gone: the source of this memory is no longer in the vault"]
    if source is None or source_check.kind is SourceStatus.FRESH:
        return []
    if source_check.kind is SourceStatus.MOVED:
        return [visible_line(f"moved: the source is now at {_format_source(source)}")]
    rows = source_check.changed_lines
    before = [f"- {row.before}" for row in rows if row.before is not None]
    after = [f"+ {row.after}" for row in rows if row.after is not None]
    return [visible_line(line) for line in (f"changed: the source is at {_format_source(source)}", *before, *after)]


def _format_source(source: Source) -> str:
    """Return the location of a memory's source, such as `Sync.md:8-12`."""
    if not source.line_start:
        return source.path
    return format_source_location(source.path, source.line_start, source.line_end, source.place)


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
    as_json: bool,
    no_refresh: bool,
) -> None:
    """Save TEXT (- is stdin) as a memory of the vault.

    With --fragment or --source, TEXT may be left out: the memory then gets the text of the source. Lists memories with
    similar text, which you can merge with `excerpt edit ID --merge OTHER`.
    """
    if fragment is not None and source is not None:
        raise click.UsageError("--fragment and --source cannot be combined. Use only one.")
    if text is None and fragment is None and source is None:
        raise click.UsageError("There is nothing to remember. Give a TEXT, or its source with --fragment or --source.")
    content = read_input("-", "text") if text == "-" else text
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        _print_unreadable_files(opened_vault)
        remembered = opened_vault.memories.remember(
            content,
            tags=tags,
            why=why,
            fragment=fragment,
            source=source,
            query=query,
            into=into,
        )
    if as_json:
        print_json(remembered.to_dict())
        return
    memory, similar = remembered.memory, remembered.similar
    print_line(visible_line(f"Remembered as {memory.id}."))
    for offer in similar:
        reason = "is about the same lines" if offer.is_same_source else "has similar text"
        print_message(f"{offer.memory.id} {reason}: {format_beginning(offer.memory)}")
    if similar:
        print_message(f"To merge them, run: excerpt edit {similar[0].memory.id} --merge {memory.id}")


# --- recall -----------------------------------------------------------------------------------------------------------
# `excerpt recall`: find memories.


def _validate_since(_ctx: click.Context, _param: click.Parameter, since: str) -> str:
    """Return the value of --since; raises a usage error if it is not a date or an age."""
    if since and parse_period(f">={since}", date.today()) is None:
        raise click.BadParameter(
            f"{since!r} is not a date. Give a day or month, such as 2025-03-01 or 2025-03, or an age, such as 7d or 2w."
        )
    return since


@click.command()
@click.argument("words", nargs=-1)
@vaults_option
@click.option(
    "--tag",
    "tags",
    multiple=True,
    shell_complete=complete_tags,
    help="List only memories with this tag; given several times, with all these tags.",
)
@click.option(
    "--source",
    default="",
    metavar="PATH",
    shell_complete=complete_notes,
    help="List only memories from this note or folder.",
)
@click.option(
    "--since",
    default="",
    metavar="DATE",
    callback=_validate_since,
    help="List only memories made since DATE: a day, a month or an age, such as 2025-03-01, 2025-03, 7d or 2w.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_COUNT),
    help="The maximum number of memories.  [default: the setting search.limit; without WORDS, all]",
)
@click.option("--sources", is_flag=True, help="Check whether the sources of the memories are still in the vault.")
@click.option("--stale", is_flag=True, help="List only memories whose source has changed or is gone.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def recall_command(
    *,
    words: tuple[str, ...],
    vaults: tuple[Path, ...],
    tags: tuple[str, ...],
    source: str,
    since: str,
    limit: int | None,
    sources: bool,
    stale: bool,
    as_json: bool,
    no_refresh: bool,
) -> int:
    """Find memories by words, meaning, tags, source and date.

    WORDS are a query as for `excerpt search`. Lists the memories that answer it, best first. Without WORDS, lists all
    memories, newest first.
    """
    with load_vault(vaults, refresh=not no_refresh, suggest_moves=True) as notes:
        _print_unreadable_files(notes)
        recalled = notes.memories.recall(
            " ".join(words),
            tags=tags,
            source=source,
            since=since,
            limit=limit,
            check_sources=sources,
            stale=True if stale else None,
        )
    if as_json:
        print_json(add_vaults(notes, {"memories": [each.to_dict() for each in recalled]}))
    elif recalled:
        if not any(each.answers for each in recalled):
            print_message(NO_ANSWER)
        print_line("\n\n".join(format_memory(each.memory, each.source_check, each.vault) for each in recalled))
    else:
        print_message(_explain_no_memories(has_query=bool(words or tags or source or since), stale=stale))
    return 0 if recalled else 1


NO_ANSWER = "No memory answers the query. The memories below share a word with the query."
"""Printed above memories of which none is likely to answer the query."""


def _explain_no_memories(*, has_query: bool, stale: bool) -> str:
    """Return why no memory is listed: `has_query` for words or filters, `stale` for the option --stale."""
    if stale:
        return "There is no memory whose source has changed or is gone."
    return "No memory matches." if has_query else "This vault has no memories yet."


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--undo", is_flag=True, help="Restore the forgotten memory ID.")
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
def forget_command(*, memory_id: str, vault: Path | None, undo: bool, as_json: bool) -> None:
    """Forget the memory ID: move its file to the trash folder, from where --undo restores it.

    Other memories with the same text are kept and listed.
    """
    with load_vault(vault) as opened_vault:
        memories = opened_vault.memories
        copies = {copied.id for copied in memories.all().copies if copied.of == memory_id}
        memory = memories.restore(memory_id) if undo else memories.forget(memory_id)
        others = () if undo else memories.all().memories
        message = f"Restored {memory.id}." if undo else f"Forgot {memory.id}. Its file is now in {memories.trash}."
    if as_json:
        print_json(memory.to_dict())
    else:
        print_line(visible_line(message))
    for other in others:
        if other.id in copies or other.text == memory.text:
            relation = f"is a copy of {memory.id}" if other.id in copies else f"has the same text as {memory.id}"
            print_message(f"{other.id} {relation} and is kept.")


# --- edit -------------------------------------------------------------------------------------------------------------
# `excerpt edit`: change a memory.

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
    if new_text is None and why is None and not (tags or untags or other or decision):
        raise click.UsageError(
            "There is nothing to change. Give --text, --tag, --untag, --why, --merge, --follow, --update or --keep."
        )
    if other == memory_id:
        raise click.UsageError("A memory cannot be merged with itself.")
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        memories = opened_vault.memories
        if decision is not None:
            {"follow": memories.follow, "update": memories.update, "keep": memories.keep}[decision](memory_id)
        memory = memories.edit(memory_id, text=new_text, tags=tags, untags=untags, why=why, merge=other or "")
    if as_json:
        print_json(memory.to_dict())
    else:
        print_line(format_memory(memory))
