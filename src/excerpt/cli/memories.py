"""Print memories as text: those of a command, and those that answer a search or a pack."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from excerpt.base.errors import ExcerptError
from excerpt.base.model import Memory, Source
from excerpt.cli.printing import escape_for_stdout, print_message
from excerpt.text.display import format_source_location, local_time, visible_line

if TYPE_CHECKING:
    from excerpt import SourceCheck, Vault

_MAX_BEGINNING_CHARACTERS = 60  # of a memory, where it is named in a message
_MAX_NAMED = 3  # memories that answer a search or a pack


def print_unreadable_files(vault: Vault) -> None:
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
    """Name on stderr the memories that answer any of `queries`; print nothing if memories cannot be read."""
    with suppress(ExcerptError):
        # Reading memories imports a parser of YAML, for 20 ms of CPU, and a recall what builds an index.
        if not (vault.memories.has_files and vault.memories.all().memories):
            return
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
    by = f"by {memory.author}" if memory.is_shared else ""
    head = [*filter(None, [vault]), memory.id, local_time(memory.created), *filter(None, [by])]
    head += [f"#{tag}" for tag in memory.tags]
    lines = [visible_line(" · ".join(head))]
    if memory.replaced_by:
        day = f"on {local_time(memory.replaced_at)[:10]} " if memory.replaced_at else ""
        lines.append(visible_line(f"replaced {day}by {memory.replaced_by}"))
    if memory.source:
        lines.append(visible_line(f"from {_format_source(memory.source)}"))
    if source_check is not None:
        lines += _format_source_status(source_check)
    if memory.why:
        lines.append(visible_line(f"why: {memory.why}"))
    return "\n".join((*lines, escape_for_stdout(memory.text)))


def _format_source_status(source_check: SourceCheck) -> list[str]:
    """Return the status of a memory's source as lines of text; [] if the source is unchanged.

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
