"""`excerpt config`: show, check and edit the settings."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from excerpt.cli.printing import for_stdout, print_line
from excerpt.cli.vaults import VaultFolder, chosen_vault
from excerpt.errors import ExcerptError, SettingsError
from excerpt.processes import find_program, program_command
from excerpt.settings import Settings, load_settings, user_paths
from excerpt.settings_file import begin_with, schema_text
from excerpt.state_files import users_umask
from excerpt.text.display import visible_line
from excerpt.tui.keymap import bindable_actions, validate_keymap

_BARE = re.compile("[A-Za-z0-9_-]+")  # TOML's keys that need no quotation marks


@click.command()
@click.option(
    "--vault",
    type=VaultFolder(),
    help="Use the settings of this vault, which override those for all vaults.",
)
@click.option("--path", is_flag=True, help="Print the path of the settings file.")
@click.option("--check", is_flag=True, help="Check the settings file and list its errors.")
@click.option(
    "--edit", is_flag=True, help="Open the settings file in your editor, creating it if needed, and check it."
)
@click.option("--schema", is_flag=True, help="Print the JSON schema of the settings file, for editors that support it.")
def config_command(vault: Path | None, path: bool, check: bool, edit: bool, schema: bool) -> None:
    """Show the settings in effect.

    The output is TOML that you can save as excerpt.toml. --vault shows the settings in effect in that vault. Its own
    file, which overrides excerpt.toml, is beside it, not in the vault.
    """
    if schema:
        print_line(schema_text(bindable_actions()))
        return
    paths = user_paths()
    chosen = None if vault is None else chosen_vault(vault)
    file = paths.settings_file if chosen is None else paths.vault_settings_file(chosen)
    if path:
        print_line(for_stdout(str(file)))  # alone, for a script
        return
    if edit:
        _edit(file, begin_with(paths, chosen, bindable_actions()))
    settings = load_settings(file) if chosen is None else load_settings(paths.settings_file, file)
    if check or edit:
        _check_patterns(settings, file)
        _check_keys(settings, file)
        state = f"{file} is valid." if file.exists() else f"{file} does not exist: {_fallback_text(chosen)}."
        print_line(visible_line(state))
        return
    for table, values in msgspec.to_builtins(settings).items():
        print_line(f"[{table}]")
        for line in _lines_of(values):
            print_line(line)
        print_line("")


def _fallback_text(vault: Path | None) -> str:
    return "every setting has its default" if vault is None else "the settings for all vaults apply"


def _check_patterns(settings: Settings, file: Path) -> None:
    """Check the ignore patterns; the settings' own validation does not. Raises SettingsError that names the file."""
    from excerpt.vault.scan import patterns_of

    try:
        patterns_of(settings.vault)
    except SettingsError as error:
        raise SettingsError(f"{file}: {error.message}") from error


def _check_keys(settings: Settings, file: Path) -> None:
    """Raise SettingsError for invalid keys, which the app only warns about while it keeps the default keys."""
    _, problems = validate_keymap(settings.screen.keys)
    if problems:
        raise SettingsError(
            f"{file}: screen.keys is not valid: {' '.join(problems)}", "F1 in the app lists every name."
        )


def _edit(file: Path, beginning: str) -> None:
    """Run the user's editor on the file. Raises ExcerptError if there is none or the file cannot be made."""
    from excerpt.tui.programs import editor_command

    try:
        setting = load_settings(user_paths().settings_file).screen.editor
    except SettingsError:
        setting = ""  # the invalid file is opened to be corrected
    editor = editor_command(setting, os.environ, find_program, file, 1)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text(beginning, encoding="utf-8")
        code = subprocess.run(program_command(editor.argv), check=False, umask=users_umask()).returncode
    except OSError as error:
        raise ExcerptError(f"{file} cannot be edited: {error.strerror or error}.", "Check its permissions.") from error
    if code:
        raise ExcerptError(f"The editor {editor.argv[0]} ended with code {code}.", "Set $EDITOR, or screen.editor.")


def _lines_of(values: dict[str, Any]) -> Iterator[str]:
    """Yield the values as TOML lines; TOML writes strings, numbers and arrays as JSON does."""
    for key, value in values.items():
        if isinstance(value, dict):
            for name, inner in value.items():
                part = name if _BARE.fullmatch(name) else json.dumps(name)
                yield f"{key}.{part} = {json.dumps(inner, ensure_ascii=False)}"
        else:
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
