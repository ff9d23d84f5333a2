"""Find the vault that a command works on, update its index and open it."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from excerpt.base.errors import StoreUnusableError
from excerpt.base.patterns import lazy_pattern
from excerpt.base.settings import Paths, Settings, open_vault, user_paths
from excerpt.cli.printing import ProgressLine, print_message
from excerpt.vault import known_vaults

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from excerpt.base.model import BuildReport
    from excerpt.service.api import Vault


# --- vaults -----------------------------------------------------------------------------------------------------------

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])


class VaultParameter(click.Path):
    """The command-line type of a vault: a folder or the address of a store.

    An empty value, such as an unset variable in a script, is an error: Python would take it for the working directory.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's names
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem[str]]:
        """Complete folders, which the shell lists."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, "dir")]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value).strip():
            self.fail("The name of the vault is empty. Give the folder of your notes.", param, ctx)
        return super().convert(value, param, ctx)


def reject_folder_as_query(queries: Sequence[str]) -> None:
    """Raise a usage error if the first or last of several queries is the path of a folder, with a separator or `~`.

    The name of a folder alone may be meant as a query.
    """
    for place, query in (("first", queries[0]), ("last", queries[-1])) if len(queries) > 1 else ():
        # pathlib raises an error for a long text, and for `~` without a home folder.
        folder = os.path.expanduser(query)  # noqa: PTH111
        if ("/" in query or os.sep in query or query.startswith("~")) and os.path.isdir(folder):  # noqa: PTH112
            hint = f"Name the vault with an option: --vault {shlex.quote(folder)}"
            raise click.UsageError(f"The {place} QUERY, {query}, is a folder. {hint}")


def vault_option(command: CommandFunction) -> CommandFunction:
    """Add the option --vault to a command; the value is None if it is not given."""
    return click.option(
        "--vault",
        type=VaultParameter(),
        help="The folder of notes.  [default: $EXCERPT_VAULT, else the vault last opened]",
    )(command)


def vault_parameter(command: CommandFunction) -> CommandFunction:
    """Add a vault to a command without other arguments, as the argument VAULT or by --vault; None if not given."""

    @click.argument("named", required=False, type=VaultParameter(), metavar="[VAULT]")
    @vault_option
    @wraps(command)
    def run(*arguments: Any, named: Path | None, vault: Path | None, **options: Any) -> Any:
        if named is not None and vault is not None:
            raise click.UsageError("The vault is given twice. Give it as an argument, or by --vault.")
        return command(*arguments, vault=vault if named is None else named, **options)

    return cast("CommandFunction", run)


def vaults_parameter(command: CommandFunction) -> CommandFunction:
    """Add vaults to a command without other arguments, as arguments VAULT or by --vault; `vaults` is () without any."""

    @click.argument("named", nargs=-1, type=VaultParameter(), metavar="[VAULT]...")
    @vaults_option
    @wraps(command)
    def run(*arguments: Any, named: tuple[Path, ...], vaults: tuple[Path, ...], **options: Any) -> Any:
        return command(*arguments, vaults=(*named, *vaults), **options)

    return cast("CommandFunction", run)


def vaults_option(command: CommandFunction) -> CommandFunction:
    """Add the option --vault to a command for several vaults; the value `vaults` is () if it is not given."""
    return click.option(
        "--vault",
        "vaults",
        type=VaultParameter(),
        multiple=True,
        help="A folder of notes; may be given several times.  [default: $EXCERPT_VAULT, else the vault last opened]",
    )(command)


def refresh_option(command: CommandFunction) -> CommandFunction:
    """Add the option --no-refresh to a command that reads the index."""
    return click.option(
        "--no-refresh", is_flag=True, help="Use the index as it is, without looking for changed notes."
    )(command)


def rerank_option(command: CommandFunction) -> CommandFunction:
    """Add the option --rerank to a command that searches; the value is None if it is not given."""
    return click.option(
        "--rerank/--no-rerank",
        default=None,
        help="Let the model of rerank.model change the order of the first hits.  [default: if it is set]",
    )(command)


def require_reranker(settings: Settings, *, rerank: bool | None) -> None:
    """Raise a usage error if --rerank is given, and the settings name no reranker."""
    if rerank and not settings.rerank.model:
        raise click.UsageError("No reranker is set. Set rerank.model, or leave out --rerank.")


def resolve_vault(path: Path | None) -> Path:
    """Return the absolute path of the vault to work on: `path`, or else $EXCERPT_VAULT or the vault opened last.

    The first time, a message on stderr names data of a vault that is gone. Raises VaultError if there is no such folder
    or excerpt's own folders are in the vault, and StoreUnusableError for the address of a store.
    """
    from excerpt.base.settings import refuse_folders_in_vault
    from excerpt.vault.known_vaults import save_vault_path, suggest_adoption

    chosen = find_last_vault() if path is None else path
    check_is_folder(chosen)
    vault, paths = open_vault(chosen), user_paths()
    refuse_folders_in_vault(vault, paths)
    for sentence in suggest_adoption(paths, vault):
        print_message(sentence)
    save_vault_path(paths, vault)
    return vault


def check_is_folder(vault: Path) -> None:
    """Raise StoreUnusableError if `vault` is the address of a store; for commands that need a folder."""
    from excerpt.service.stores import is_address

    if is_address(str(vault)):
        raise StoreUnusableError(
            "This command needs a folder of notes, but the vault is a store.",
            "Search a store with `excerpt search --vault ADDRESS QUERY`.",
        )


def find_last_vault() -> Path:
    """Return the vault in $EXCERPT_VAULT, or else the vault that the app opened last: a folder or a store's address.

    Raises VaultError if there is no such vault, and a usage error if the variable is set but empty.
    """
    if os.environ.get("EXCERPT_VAULT", "-").strip():
        return known_vaults.find_last_vault(user_paths(), os.environ)
    raise click.UsageError("$EXCERPT_VAULT is empty. Set it to the folder of your notes, or unset it.")


# --- from a vault to its index ----------------------------------------------------------------------------------------


def build_index(
    vault: Path,
    settings: Settings,
    paths: Paths,
    *,
    rebuild: bool = False,
    accept_empty: bool = False,
    accept_all: bool = False,
) -> BuildReport:
    """Update the vault's index as `update_index` does, with progress on stderr if that is a terminal."""
    from excerpt.service.index_update import update_index

    line = ProgressLine(sys.stderr)
    return update_index(vault, settings, paths, line, rebuild=rebuild, accept_empty=accept_empty, accept_all=accept_all)


def load_vault(folder: Path | Sequence[Path] | None, *, refresh: bool = True, suggest_moves: bool = False) -> Vault:
    """Open the vault in `folder`, or else the vault opened last, with messages and progress on stderr.

    `folder` may be the address of a store, or several of them, which are opened as one vault. With `refresh`, the index
    is updated first. With `suggest_moves`, a message names data of a missing vault, because this vault may be the
    missing one, moved. Comments in notes are found and shown if the answer is printed on a terminal, and so read by
    their author. Raises the errors of `excerpt.open`.
    """
    from excerpt.service.api import open as open_vault_of_api

    path = folder or find_last_vault()
    line = ProgressLine(sys.stderr)
    return open_vault_of_api(
        path,
        refresh=refresh,
        on_progress=line,
        on_notice=print_message,
        suggest_moves=suggest_moves,
        comments="author" if sys.stdout.isatty() else "everybody",
    )


def folders_of_files(vault: Vault) -> known_vaults.VaultFolders | None:
    """Return the folders that have the files of a vault, or of several; None if one is a store, which has no files."""
    return vault.folders if vault.has_files else None


def add_vaults(vault: Vault, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer in JSON with the name and the place of each vault in `vaults`, if several are open."""
    from excerpt.service.api import VaultUnion

    if not isinstance(vault, VaultUnion):
        return dict(answer)
    return {"vaults": {name: each.address or str(each.folder) for name, each in vault.vaults.items()}, **answer}


_NOTE_PART = lazy_pattern(r"(?P<file>.+?)(?P<part>:\d+(?:-\d*)?|#.*)?", re.DOTALL)


def note_in_vault(vault: Vault, note: str) -> str:
    """Return the path in the vault of a note that is given as a file, as shells complete it; else `note` unchanged.

    A part of the note, `:A-B` or `#Heading`, stays behind the path.
    """
    match = _NOTE_PART.fullmatch(note)
    for file, part in ((note, ""), (match["file"], match["part"] or "") if match else (note, "")):
        path = Path(file)
        with suppress(OSError, ValueError):  # ValueError: in no vault, or a NUL in the name
            if path.is_file() and (inside := vault.folders.path_of(path.absolute(), path.resolve())):
                return inside + part
    return note
