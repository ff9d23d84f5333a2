"""`excerpt remember`, `recall`, `forget` and `edit`: manage the memories of a vault."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.printing import for_stdout, narrate, print_json, print_line, read_input
from excerpt.cli.vaults import load_vault, refresh_option, vault_option
from excerpt.model import Memory, Source
from excerpt.settings import MAX
from excerpt.text.dates import parse_period
from excerpt.text.display import format_source_location, visible_line

if TYPE_CHECKING:
    from excerpt import SourceCheck, Vault


# --- printed ----------------------------------------------------------------------------------------------------------
# Print memories as text and as data.

_BEGINNING = 60


def _show_unreadable_files(vault: Vault) -> None:
    """Print on stderr which memory files cannot be read and which are copies."""
    loaded = vault.memories.all()
    for skipped in loaded.unreadable:
        narrate(f"the memory {skipped.path} cannot be read: {skipped.reason}")
    for copied in loaded.copies:
        narrate(f"the memory {copied.path} is a copy of {copied.of}; its id is {copied.id}.")


def beginning_of(memory: Memory) -> str:
    """Return the first words of a memory, on one line."""
    line = " ".join(memory.text.split())
    return line if len(line) <= _BEGINNING else f"{line[:_BEGINNING].rstrip()}…"


def format_memory(memory: Memory, source_check: SourceCheck | None = None) -> str:
    """Return a memory as text, with the status of its source if `source_check` is given."""
    head = [memory.id, memory.created, *(f"#{tag}" for tag in memory.tags)]
    lines = [visible_line(" · ".join(head))]
    if memory.source:
        lines.append(visible_line(f"from {_format_source(memory.source)}"))
    if source_check is not None:
        lines += _status_lines(source_check)
    if memory.why:
        lines.append(visible_line(f"why: {memory.why}"))
    return "\n".join((*lines, for_stdout(memory.text)))


def _status_lines(source_check: SourceCheck) -> list[str]:
    """Return the status of a memory's source in one line, followed by the lines that differ if it has changed."""
    from excerpt import SourceStatus

    source = source_check.source
    if source_check.kind is SourceStatus.GONE:
        return ["gone: its source is no longer in the vault"]
    if source is None or source_check.kind is SourceStatus.FRESH:
        return []
    if source_check.kind is SourceStatus.MOVED:
        return [visible_line(f"moved: now at {_format_source(source)}")]
    rows = source_check.changed_lines
    before = [f"- {row.before}" for row in rows if row.before is not None]
    after = [f"+ {row.after}" for row in rows if row.after is not None]
    return [visible_line(line) for line in (f"changed: see {_format_source(source)}", *before, *after)]


def _format_source(source: Source) -> str:
    if not source.line_start:
        return source.path
    return format_source_location(source.path, source.line_start, source.line_end, source.place)


@click.command()
@click.argument("text", required=False)
@vault_option
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.option("--why", default="", help="Why it matters.")
@click.option("--fragment", metavar="ID", help="The fragment it is from: `fragment_id` of a search.")
@click.option("--source", metavar="NOTE:A-B", help="The lines it is from; NOTE is a path, title or alias.")
@click.option("--query", default="", help="The query that found it.")
@click.option("--merge", "into", metavar="ID", help="Add it to this memory instead of making a new one.")
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
    """Save TEXT (- reads it from stdin) as a memory of the vault.

    With --fragment or --source, TEXT may be left out: the memory then takes the text of the source. Lists memories with
    similar text, so that you can merge them: `excerpt edit ID --merge OTHER`.
    """
    if fragment is not None and source is not None:
        raise click.UsageError("Give either --fragment or --source.")
    if text is None and fragment is None and source is None:
        raise click.UsageError("Give a TEXT, or its source: --fragment or --source.")
    content = read_input("-", "text") if text == "-" else text
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        _show_unreadable_files(opened_vault)
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
        narrate(f"{offer.memory.id} {reason}: {beginning_of(offer.memory)}")
    if similar:
        narrate(f"To merge the two: excerpt edit {similar[0].memory.id} --merge {memory.id}")


# --- recall -----------------------------------------------------------------------------------------------------------
# `excerpt recall`: find memories.


def _checked_since(_ctx: click.Context, _param: click.Parameter, since: str) -> str:
    if since and parse_period(f">={since}", date.today()) is None:
        raise click.BadParameter(
            f"{since!r} is not a date: give a day as 2025-03-01 or 2025-03, or how long ago as 7d, 2w."
        )
    return since


@click.command()
@click.argument("words", nargs=-1)
@vault_option
@click.option(
    "--tag", "tags", multiple=True, help="Only memories with this tag; given several times, with all of them."
)
@click.option("--source", default="", metavar="PATH", help="Only those from this note or folder.")
@click.option(
    "--since",
    default="",
    metavar="DATE",
    callback=_checked_since,
    help="Only those remembered since: 2025-03-01, 2025-03, 7d, 2w.",
)
@click.option(
    "--limit", type=click.IntRange(1, MAX), help="The most memories.  [default: search.limit; without WORDS, all]"
)
@click.option("--sources", is_flag=True, help="Check whether their sources are still in the vault.")
@click.option("--stale", is_flag=True, help="Only those whose source has changed or is gone.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def recall_command(
    *,
    words: tuple[str, ...],
    vault: Path | None,
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
    with load_vault(vault, refresh=not no_refresh, offer=True) as notes:
        _show_unreadable_files(notes)
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
        print_json({"memories": [each.to_dict() for each in recalled]})
    elif recalled:
        if not any(each.answers for each in recalled):
            narrate(NO_ANSWER)
        print_line("\n\n".join(format_memory(each.memory, each.source_check) for each in recalled))
    else:
        narrate(_empty_text(has_query=bool(words or tags or source or since), stale=stale))
    return 0 if recalled else 1


NO_ANSWER = "no memory answers this; these share a word with it."


def _empty_text(*, has_query: bool, stale: bool) -> str:
    if stale:
        return "no source of a memory has changed or is gone."
    return "no memory matches." if has_query else "nothing has been remembered in this vault yet."


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--undo", is_flag=True, help="Restore the forgotten memory ID.")
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
def forget_command(*, memory_id: str, vault: Path | None, undo: bool, as_json: bool) -> None:
    """Forget the memory ID. Moves its file to the trash folder; --undo restores it.

    Keeps other memories with the same text, and lists them.
    """
    with load_vault(vault) as opened_vault:
        memories = opened_vault.memories
        copies = {copied.id for copied in memories.all().copies if copied.of == memory_id}
        memory = memories.restore(memory_id) if undo else memories.forget(memory_id)
        others = () if undo else memories.all().memories
        message = f"Restored {memory.id}." if undo else f"Forgot {memory.id}; its file is in {memories.trash}."
    if as_json:
        print_json(memory.to_dict())
    else:
        print_line(visible_line(message))
    for other in others:
        if other.id in copies or other.text == memory.text:
            narrate(f"{other.id}, {'a copy of it' if other.id in copies else 'of the same text'}, is kept.")


# --- edit -------------------------------------------------------------------------------------------------------------
# `excerpt edit`: change a memory.

_DECISIONS = {
    "follow": "If its source has moved: update the link.",
    "update": "If its source has changed: take the new text.",
    "keep": "If its source has changed or is gone: keep the memory as it is, no longer as stale.",
}


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--text", help="The new text; - reads it from stdin.")
@click.option("--tag", "tags", multiple=True, help="Add a tag; may be given several times.")
@click.option("--untag", "untags", multiple=True, help="Remove a tag; may be given several times.")
@click.option("--why", help="Why it matters.")
@click.option("--merge", "other", metavar="OTHER", help="Merge the memory OTHER into this one, and forget OTHER.")
@click.option("--follow", "decision", flag_value="follow", help=_DECISIONS["follow"])
@click.option("--update", "decision", flag_value="update", help=_DECISIONS["update"])
@click.option("--keep", "decision", flag_value="keep", help=_DECISIONS["keep"])
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

    Keeps the former version in the trash folder.
    """
    new_text = read_input("-", "text") if text == "-" else text
    if new_text is not None and not new_text.strip():
        raise click.UsageError("There is no text. To remove a memory: excerpt forget ID.")
    if new_text is None and why is None and not (tags or untags or other or decision):
        raise click.UsageError(
            "Say what to change: --text, --tag, --untag, --why, --merge, --follow, --update, --keep."
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
