"""Open the terminal app on a vault, or on the demo vault that ships with excerpt."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from excerpt.cli.printing import print_line
from excerpt.cli.vaults import VaultParameter, find_last_vault
from excerpt.errors import VaultError
from excerpt.known_vaults import DEMO, add_recent_vault, detect_move, recent_vaults, refuse_broad_folder
from excerpt.settings import load_settings, load_vault_settings, open_vault, refuse_folders_in_vault, user_paths
from excerpt.store.address import is_address, parse_address
from excerpt.tui.startup import configure_interpreter

# --- app --------------------------------------------------------------------------------------------------------------


@click.command(add_help_option=False)
@click.argument("vault", type=VaultParameter())
@click.option("--plain", is_flag=True)
@click.option("--accept-all", is_flag=True)
@click.pass_obj
def open_vault_in_app(is_program_plain: bool, vault: Path, plain: bool, accept_all: bool) -> None:
    """Open a vault in the app."""
    configure_interpreter()
    start_app(vault, plain=is_program_plain or plain, accept_all=accept_all)


def open_last_vault_in_app(plain: bool = False) -> None:
    """Open the vault in $EXCERPT_VAULT in the app, or else the vault that was opened last.

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
        open_app_without_vault(str(error) if recent_vaults(user_paths()) else "", plain)
    else:
        start_app(path, plain=plain)


def has_terminal() -> bool:
    """Return whether both stdin and stdout are terminals."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def open_app_without_vault(message: str, plain: bool = False) -> None:
    """Open the app, which asks for a vault; `message` says why the last vault was not opened, "" if there was none."""
    paths = user_paths()
    settings = load_settings(paths.settings_file)
    if plain:
        settings = replace(settings, screen=replace(settings.screen, plain=True))
    from excerpt.tui.app import run_app

    run_app(None, settings, paths, message)


def start_app(path: Path, keep_as_last: bool = True, plain: bool = False, accept_all: bool = False) -> None:
    """Open the vault at `path`, a folder or the address of a store, in the app.

        With `keep_as_last`, the vault is opened again by `excerpt` without arguments. `plain` sets the setting
    screen.plain (ASCII characters only). `accept_all` allows a home folder or a whole disk. Raises VaultError,
    SettingsError, or ExcerptError if the app cannot be drawn.
    """
    paths, store, message = user_paths(), None, ""
    if is_address(str(path)):
        store = parse_address(str(path))
        vault = store.folder
    else:
        path = vault = open_vault(path)
        refuse_folders_in_vault(vault, paths)
        if not accept_all:
            refuse_broad_folder(vault, paths)
        message = " ".join(detect_move(paths, vault))
    settings = load_vault_settings(vault, paths)
    if plain:
        settings = replace(settings, screen=replace(settings.screen, plain=True))
    if keep_as_last:
        add_recent_vault(paths, path)
    from excerpt.tui.app import run_app

    run_app(vault, settings, paths, message, store)


@click.command()
@click.option("--path", is_flag=True, help="Print the path of the demo vault instead of opening it.")
@click.pass_obj
def demo_command(plain: bool, path: bool) -> None:
    """Open the demo vault, which is also the user guide."""
    if path:
        print_line(str(DEMO))
    else:
        configure_interpreter()
        start_app(DEMO, keep_as_last=False, plain=plain)
