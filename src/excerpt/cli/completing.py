"""Completions of a command line, which the scripts of `excerpt completion` ask for.

Each line of the answer is a kind and a value, with a tab between: a
`word`, a `file` name to be quoted, or `files` and `folders` for those that the shell lists itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.errors import ExcerptError, VaultError
from excerpt.base.settings import open_vault, user_paths
from excerpt.cli.vaults import find_last_vault
from excerpt.service.stores import is_address
from excerpt.text.display import visible_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_KINDS = {"plain": "word", "note": "file", "file": "files", "dir": "folders"}


def complete_command_line(program: click.Command, shell: str) -> str:
    """Return the completions of the command line in the environment of a `shell`, "" for an incomplete command."""
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    if complete is None:
        return ""
    completer = complete(program, {}, "excerpt", "")
    try:
        items = completer.get_completions(*completer.get_completion_args())
    except (click.ClickException, ExcerptError, KeyError, ValueError):  # a wrong command, or no variables
        return ""
    # A name with a control character would be another line.
    return "".join(f"{_KINDS[item.type]}\t{item.value}\n" for item in items if visible_line(item.value) == item.value)


def complete_notes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the paths of notes that begin with `incomplete`, and file names that only one note has."""
    from click.shell_completion import CompletionItem

    from excerpt.service.note_listing import list_note_paths

    paths = list_note_paths(user_paths().index_folder(_find_typed_vault(ctx)))
    names = Counter(path.rpartition("/")[2] for path in paths) if incomplete and "/" not in incomplete else {}
    unique = (name for name, count in names.items() if count == 1)
    return [CompletionItem(each, "note") for each in _filter_by_beginning(dict.fromkeys((*paths, *unique)), incomplete)]


def complete_tags(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the tags of the vault that begin with `incomplete`."""
    from click.shell_completion import CompletionItem

    from excerpt.service.note_listing import list_tags

    tags = list_tags(user_paths().index_folder(_find_typed_vault(ctx)))
    return [CompletionItem(tag) for tag in _filter_by_beginning(tags, incomplete)]


def _filter_by_beginning(values: Iterable[str], beginning: str) -> list[str]:
    return [value for value in values if value.startswith(beginning)]


def _find_typed_vault(ctx: click.Context) -> Path:
    """Return the folder of the vault that a command line names, or else of the last one. Raises VaultError."""
    named = ctx.params.get("vault") or next(iter(ctx.params.get("vaults") or ()), None)
    vault = Path(named) if named else find_last_vault()
    if is_address(str(vault)):
        raise VaultError("The notes of a store are not completed.")
    return open_vault(vault)
