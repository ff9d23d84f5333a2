"""Open the app, on a vault or on the demo that ships with excerpt."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from excerpt.cli.printing import print_line
from excerpt.cli.vaults import VaultFolder, last_vault
from excerpt.errors import VaultError
from excerpt.known_vaults import DEMO, add_recent_vault, detect_move, recent_vaults, refuse_broad_folder
from excerpt.settings import load_settings, load_vault_settings, open_vault, refuse_folders_in_vault, user_paths
from excerpt.store.address import is_address, parse_address
from excerpt.tui.startup import configure_interpreter

# --- app --------------------------------------------------------------------------------------------------------------


@click.command(add_help_option=False)
@click.argument("vault", type=VaultFolder())
@click.option("--plain", is_flag=True)
@click.option("--accept-all", is_flag=True)
@click.pass_obj
def open_vault_in_app(is_plain: bool, vault: Path, plain: bool, accept_all: bool) -> None:
    """Open a vault in the app."""
    configure_interpreter()
    start_app(vault, plain=is_plain or plain, accept_all=accept_all)


def start_last(plain: bool = False) -> None:
    """Open the vault of $EXCERPT_VAULT, or else the last one, in the app.

    If there is no last vault or it no longer exists, the app asks for one. Raises what `start_app` raises, and
    VaultError if there is no terminal to ask on.
    """
    try:
        path = last_vault()
        if not is_address(str(path)):
            open_vault(path)
    except VaultError as error:
        if os.environ.get("EXCERPT_VAULT") or not is_terminal():
            raise
        ask_for_vault(str(error) if recent_vaults(user_paths()) else "", plain)
    else:
        start_app(path, plain=plain)


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask_for_vault(message: str, plain: bool = False) -> None:
    """Open the app without a vault; `message` is the reason to show."""
    paths = user_paths()
    settings = load_settings(paths.settings_file)
    if plain:
        settings = replace(settings, screen=replace(settings.screen, plain=True))
    from excerpt.tui.app import run_app

    run_app(None, settings, paths, message)


def start_app(path: Path, keep_as_last: bool = True, plain: bool = False, accept_all: bool = False) -> None:
    """Open the vault at `path`, a folder or the address of a store, in the app.

    `plain` overrides the setting screen.plain; `accept_all` also allows a home folder or a whole disk
    (`refuse_broad_folder`). Raises VaultError, SettingsError, or ExcerptError if the app cannot be drawn.
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
