"""`excerpt config`: show, check and edit the settings."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from excerpt.base.errors import ExcerptError, SettingsError
from excerpt.base.patterns import lazy_pattern
from excerpt.base.processes import find_program, program_command
from excerpt.base.settings import Settings, find_retired_settings, load_settings, user_paths
from excerpt.base.settings_file import new_settings_text, schema_text
from excerpt.base.state_files import users_umask
from excerpt.cli.printing import escape_for_stdout, print_line, print_message
from excerpt.cli.vaults import VaultParameter, resolve_vault
from excerpt.encoders.model_names import hide_secrets
from excerpt.service.index_update import check_settings_file
from excerpt.text.display import visible_line
from excerpt.tui.keymap import bindable_actions, validate_keymap

_BARE_TOML_KEY = lazy_pattern("[A-Za-z0-9_-]+")  # a TOML key that needs no quotation marks


@click.command()
@click.option(
    "--vault",
    type=VaultParameter(),
    help="Use the settings of this vault, which override the settings for all vaults.",
)
@click.option("--path", is_flag=True, help="Print the path of the settings file.")
@click.option("--check", is_flag=True, help="Check the settings file and list its errors.")
@click.option(
    "--edit", is_flag=True, help="Open the settings file in your editor, creating the file if needed, and check it."
)
@click.option("--schema", is_flag=True, help="Print the JSON schema of the settings file, for editors that support it.")
def config_command(vault: Path | None, path: bool, check: bool, edit: bool, schema: bool) -> None:
    """Show the settings in effect.

    The output is TOML that you can save as excerpt.toml; what may be a key in an address is hidden. With --vault, shows
    the settings in effect in that vault. A vault's own settings file overrides excerpt.toml. It is below the folder of
    excerpt.toml, not in the vault.
    """
    if schema:
        print_line(schema_text(bindable_actions()))
        return
    paths = user_paths()
    chosen = None if vault is None else resolve_vault(vault)
    file = paths.settings_file if chosen is None else paths.vault_settings_file(chosen)
    if path:
        print_line(escape_for_stdout(str(file)))  # nothing else, for scripts
        return
    if edit:
        _edit_settings_file(file, new_settings_text(paths, chosen, bindable_actions()))
    files = (file,) if chosen is None else (paths.settings_file, file)
    settings = load_settings(*files)
    if check or edit:
        for each in files:
            check_settings_file(each)
        for sentence in find_retired_settings(*files):
            print_message(sentence)
        _check_keymap(settings, file)
        state = f"{file} is valid." if file.exists() else f"{file} does not exist: {_describe_fallback(chosen)}."
        print_line(visible_line(state))
        return
    tables = msgspec.to_builtins(settings)
    for name in ("embedding", "rerank"):
        model = tables[name]["model"]
        tables[name]["model"] = hide_secrets(model)
        if tables[name]["model"] != model:
            print_message(f"The part of the address in {name}.model that may be a key is hidden.")
    for table, values in tables.items():
        print_line(f"[{table}]")
        for line in _format_toml_lines(values):
            print_line(line)
        print_line("")


def _describe_fallback(vault: Path | None) -> str:
    """Return which settings apply without a settings file (of `vault`, if given)."""
    return "every setting has its default" if vault is None else "the settings for all vaults apply"


def _check_keymap(settings: Settings, file: Path) -> None:
    """Raise SettingsError, with the name of the file, if screen.keys is invalid.

    The app only warns about invalid keys, and uses the default keys instead.
    """
    _, problems = validate_keymap(settings.screen.keys)
    if problems:
        raise SettingsError(
            f"{file}: screen.keys is not valid: {' '.join(problems)}", "Press F1 in the app for a list of all names."
        )


def _edit_settings_file(file: Path, default_text: str) -> None:
    """Open the settings file in the user's editor and wait until that ends; a new file begins with `default_text`.

    Raises ExcerptError if there is no editor, it fails, or the file cannot be created.
    """
    from excerpt.tui.programs import editor_command

    try:
        setting = load_settings(user_paths().settings_file).screen.editor
    except SettingsError:
        setting = ""  # the invalid file is opened to be corrected
    editor = editor_command(setting, os.environ, find_program, file, 1)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text(default_text, encoding="utf-8")
        code = subprocess.run(program_command(editor.argv), check=False, umask=users_umask()).returncode
    except OSError as error:
        raise ExcerptError(f"{file} cannot be edited: {error.strerror or error}.", "Check its permissions.") from error
    if code:
        raise ExcerptError(
            f"The editor {editor.argv[0]} failed with exit code {code}.",
            "To use another editor, set $EDITOR or the setting screen.editor.",
        )


def _format_toml_lines(values: dict[str, Any]) -> Iterator[str]:
    """Yield the settings of one table as lines of TOML, which writes strings, numbers and arrays as JSON does."""
    for key, value in values.items():
        if isinstance(value, dict):
            for name, inner in value.items():
                part = name if _BARE_TOML_KEY.fullmatch(name) else json.dumps(name)
                yield f"{key}.{part} = {json.dumps(inner, ensure_ascii=False)}"
        else:
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
