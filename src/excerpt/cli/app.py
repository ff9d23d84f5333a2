"""Open the terminal app on a vault, on several, or on the one opened last."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from excerpt.base.errors import StoreUnusableError, VaultError
from excerpt.base.settings import (
    Paths,
    Settings,
    find_retired_settings,
    load_settings,
    load_vault_settings,
    open_vault,
    refuse_folders_in_vault,
    user_paths,
)
from excerpt.cli.printing import escape_for_stdout, print_line
from excerpt.cli.vaults import VaultParameter, find_last_vault
from excerpt.service.stores import StoreAddress, is_address, parse_address
from excerpt.tui.picking import PickOptions, draw_on_terminal, has_terminal
from excerpt.tui.startup import configure_interpreter
from excerpt.vault.known_vaults import add_recent_vault, recent_vaults, refuse_broad_folder, suggest_adoption


@click.command(add_help_option=False)
@click.argument("vaults", metavar="VAULT...", type=VaultParameter(), nargs=-1, required=True)
@click.option("--plain", is_flag=True)
@click.option("--accept-all", is_flag=True)
@click.pass_obj
def open_vault_in_app(is_program_plain: bool, vaults: tuple[Path, ...], plain: bool, accept_all: bool) -> int:
    """Open a vault in the app, or several as one."""
    configure_interpreter()
    return start_app(*vaults, plain=is_program_plain or plain, accept_all=accept_all)


def open_last_vault_in_app(plain: bool = False) -> int:
    """Open the vault in $EXCERPT_VAULT in the app, or else the vault that was opened last. Returns the exit code.

    If there is no such vault, or its folder is missing, the app asks for one. Raises the errors of `start_app`, and
    VaultError if $EXCERPT_VAULT is not a folder or there is no terminal to ask on.
    """
    try:
        path = find_last_vault()
        if not is_address(str(path)):
            open_vault(path)
    except VaultError as error:
        if os.environ.get("EXCERPT_VAULT") or not has_terminal():
            raise
        return open_app_without_vault(str(error) if recent_vaults(user_paths()) else "", plain)
    return start_app(path, plain=plain)


def open_app_without_vault(message: str, plain: bool = False) -> int:
    """Open the app, which asks for a vault, and return the exit code.

    `message` says why the last vault was not opened, "" if there was none.
    """
    paths = user_paths()
    return _run_app((), load_settings(paths.settings_file), paths, message, plain=plain)


def start_app(
    *paths: Path,
    keep_as_last: bool = True,
    plain: bool = False,
    accept_all: bool = False,
    pick: PickOptions | None = None,
) -> int:
    """Open the vault at `paths`, a folder or the address of a store, in the app; several folders are searched as one.

    With `keep_as_last`, the (first) vault is opened again by `excerpt` without arguments. `plain` sets the setting
    screen.plain (ASCII characters only). `accept_all` allows a home folder or a whole disk. With `pick`, what the user
    picks is printed; without, the pack is if stdout is no terminal. Returns the exit code. Raises VaultError,
    SettingsError, StoreUnusableError for a store among several vaults, or ExcerptError if the app cannot be drawn.
    """
    user_folders, store = user_paths(), None
    messages: list[str] = []
    if is_address(str(paths[0])) and len(paths) == 1:
        store = parse_address(str(paths[0]))
        vaults = [store.folder]
    else:
        vaults = list(_open_folders(paths, user_folders, accept_all=accept_all, messages=messages))
    settings = load_vault_settings(vaults[0], user_folders)
    messages += find_retired_settings(user_folders.settings_file, user_folders.vault_settings_file(vaults[0]))
    if keep_as_last:
        for path in reversed(vaults if store is None else paths):
            add_recent_vault(user_folders, path)
    return _run_app(vaults, settings, user_folders, " ".join(messages), store, plain=plain, pick=pick)


def _run_app(
    vaults: Sequence[Path],
    settings: Settings,
    user_folders: Paths,
    message: str,
    store: StoreAddress | None = None,
    *,
    plain: bool,
    pick: PickOptions | None = None,
) -> int:
    """Run the app on the terminal, then print what was picked. Returns the exit code: 130 if nothing was picked."""
    if plain:
        settings = replace(settings, screen=replace(settings.screen, plain=True))
    if pick is None and has_terminal() and not sys.stdout.isatty():
        pick = PickOptions()
    from excerpt.tui.app import run_app

    with draw_on_terminal():
        first, others = (vaults[0], vaults[1:]) if vaults else (None, ())
        text = run_app(first, settings, user_folders, message, store=store, others=others, pick=pick)
    if pick is None:
        return 0
    if text is None:
        return 130
    print_line(escape_for_stdout(text), end="" if text.endswith("\n") else "\n")
    return 0


def _open_folders(
    paths: Sequence[Path], user_folders: Paths, *, accept_all: bool, messages: list[str]
) -> Iterator[Path]:
    """Yield the folders of vaults, and append notices for the user to `messages`.

    If one of several folders is missing, there is only a notice, because the others can be searched. Raises VaultError
    if no folder exists, or StoreUnusableError for the address of a store.
    """
    errors = []
    for path in paths:
        if is_address(str(path)):
            raise StoreUnusableError(
                f"{parse_address(str(path)).display_text} is a store, which cannot be opened with other vaults.",
                "Open it alone.",
            )
        try:
            vault = open_vault(path)
        except VaultError as error:
            errors.append(error)
            if len(errors) == len(paths):
                raise errors[0] from None
            messages.append(str(error))
            yield path.expanduser().absolute()
            continue
        refuse_folders_in_vault(vault, user_folders)
        if not accept_all:
            refuse_broad_folder(vault, user_folders)
        messages.extend(suggest_adoption(user_folders, vault))
        yield vault
