"""excerpt.toml as text: descriptions, the JSON schema, and changes that keep the rest of the file."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, cast, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from excerpt.base.errors import SettingsError
from excerpt.base.settings import MAX_SETTINGS_BYTES, MEANING, Paths, Settings, check_settings
from excerpt.base.state_files import read_limited, replace_file

# --- settings schema --------------------------------------------------------------------------------------------------
# The descriptions of all settings, and the JSON schema of excerpt.toml, both generated from `Settings`.

SCHEMA_NAME = "excerpt.schema.json"
"""Name of the JSON schema beside excerpt.toml, from which an editor completes and checks settings."""

Actions = Mapping[str, tuple[str, str]]
"""The description and the default keys of each action that a key can be assigned to, by the name of the action.

The package of the screen defines the actions, so callers of this module pass them.
"""


class Setting(Struct, frozen=True):
    """One setting, as declared by its field in `Settings`."""

    key: str
    """Dotted name with its table, such as "pack.budget"."""

    meaning: str
    """Description in one sentence."""

    default: Any
    """Default, as a value of JSON types."""

    choices: tuple[str, ...]
    """All possible values of an enumeration, in the order of its definition; empty for other settings."""


def all_settings(shape: type[Any] = Settings, above: str = "") -> Iterator[Setting]:
    """Yield every setting in the order of `Settings`, the order in a new settings file.

    `shape` is the dataclass of a table, and `above` the prefix of its keys, such as "vault.".
    """
    hints = get_type_hints(shape)
    defaults = msgspec.to_builtins(shape())
    for field in fields(shape):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield from all_settings(cast("type[Any]", hint), f"{above}{field.name}.")
        else:
            choices = tuple(hint) if issubclass(get_origin(hint) or hint, StrEnum) else ()
            yield Setting(f"{above}{field.name}", field.metadata[MEANING], defaults[field.name], choices)


def settings_schema(actions: Actions) -> dict[str, Any]:
    """Return the JSON schema of excerpt.toml: types, ranges, defaults and descriptions; it forbids unknown keys."""
    schema_data = msgspec.json.schema(Settings)
    definitions = schema_data["$defs"]
    _add_descriptions(definitions, Settings)
    definitions["ScreenSettings"]["properties"]["keys"] |= {
        "properties": {
            name: {"type": "string", "description": description, "default": own}
            for name, (description, own) in actions.items()
        },
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "excerpt.toml",
        "description": "The settings of excerpt, for all vaults or for one.",
        **schema_data,
    }


def schema_text(actions: Actions) -> str:
    """Return the JSON schema of excerpt.toml as indented JSON, without a final line feed."""
    return json.dumps(settings_schema(actions), ensure_ascii=False, indent=2)


def write_schema(folder: Path, actions: Actions) -> None:
    """Write the JSON schema into the settings `folder` if it is missing or outdated. Raises OSError."""
    file, text = folder / SCHEMA_NAME, f"{schema_text(actions)}\n"
    with suppress(OSError, UnicodeDecodeError):
        if _read_text(file) == text:
            return
    replace_file(file, text.encode("utf-8"))


def _add_descriptions(definitions: dict[str, Any], shape: type[Any]) -> None:
    described = definitions[shape.__name__]
    described["additionalProperties"] = False
    described.pop("description", None)
    hints = get_type_hints(shape)
    for field in fields(shape):
        value = described["properties"][field.name]
        if is_dataclass(hints[field.name]):
            _add_descriptions(definitions, hints[field.name])
        else:
            # Beside a $ref nothing else is read by the older drafts that TOML's language servers know.
            if "$ref" in value:
                value["allOf"] = [{"$ref": value.pop("$ref")}]
            value["description"] = field.metadata[MEANING]
            if "enum" in value:
                value["enum"] = value.pop("enum")


# --- settings edit ----------------------------------------------------------------------------------------------------
# Changes to a settings file that keep the rest of it: the user's comments, order and spelling.
#
# The module `settings` reads the files; this one only changes them.

_GENERAL_COMMENT = (
    "# Settings for all vaults; saved changes apply at once. For one vault: `excerpt config --vault V --edit`"
)
_VAULT_COMMENT = "# Settings of one vault, which override those for all vaults.\n# The vault: {vault}"

SettingValue = bool | int | float | str | list[str]


def new_settings_text(user_paths: Paths, vault: Path | None, actions: Actions) -> str:
    """Return the text of a new settings file, and write the JSON schema to the settings folder if possible.

    The file for all vaults (`vault` is None) lists every setting as a comment; the file for one vault has only a
    heading. The first line names the schema for TOML language servers (taplo, tombi). `actions` go into the schema.
    """
    with suppress(OSError):
        write_schema(user_paths.config, actions)
    if vault is None:
        return f"#:schema ./{SCHEMA_NAME}\n{_GENERAL_COMMENT}\n{_commented_defaults()}"
    # Without what ends a line, or is not allowed in TOML.
    vault_json = json.dumps(os.fsencode(vault).decode("utf-8", "replace"), ensure_ascii=True)
    return f"#:schema ../{SCHEMA_NAME}\n{_VAULT_COMMENT.format(vault=vault_json)}\n"


def _commented_defaults() -> str:
    """Return every setting as a comment with its description and default, below the header of its table."""
    lines: list[str] = []
    for table, settings in groupby(all_settings(), lambda setting: setting.key.partition(".")[0]):
        lines.append(f"\n[{table}]")
        for setting in settings:
            if setting.key == "screen.keys":
                lines += ["\n[screen.keys]", f"# {setting.meaning}", '# "strategy" = "ctrl+s"']
            else:
                lines += [
                    f"# {setting.meaning}",
                    f"# {setting.key.removeprefix(f'{table}.')} = {json.dumps(setting.default)}",
                ]
    return "\n".join((*lines, ""))


def change_setting(file: Path, key: str, value: SettingValue | None, initial_text: str = "") -> None:
    """Set the dotted `key` of a settings file to `value`; None removes the key.

    A missing file is created with `initial_text`. The file is replaced atomically, and a symbolic link to it stays a
    link. Raises SettingsError if the file cannot be read or written, or is not valid before or after the change.
    """
    try:
        text = _read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}.") from error
    if text is None:
        if value is None:
            return
        text = initial_text
    changed = edit_settings_text(text, key, value, file)
    if changed == text:
        return
    try:
        target = file.resolve()
        replace_file(target, changed.encode("utf-8"), lasting=True, mode=_read_permissions(target))
    except OSError as error:
        raise SettingsError(
            f"{file} cannot be written: {error.strerror or error}.", "Check the permissions of the file and its folder."
        ) from error


def edit_settings_text(text: str, key: str, value: SettingValue | None, file: Path) -> str:
    """Return the text of a settings file with `value` at the dotted `key`, or without the key for None.

    Raises SettingsError, which names `file`, if the text is not valid before or after.
    """
    import tomlkit

    expected = parse_settings(text, file)
    _set_nested_key(expected, key.split("."), value)
    check_settings(expected, file)
    document = tomlkit.parse(text)
    _set_nested_key(document, key.split("."), value)
    changed = tomlkit.dumps(document)
    if _without_empty_tables(parse_settings(changed, file)) != _without_empty_tables(expected):
        raise SettingsError(
            f"{file}: excerpt cannot change {key} without changing other lines.",
            "Edit the file: `excerpt config --edit`.",
        )
    return changed


def parse_settings(text: str, file: Path) -> dict[str, Any]:
    """Return the values in the text of a settings file. Raises SettingsError, which names `file`, for invalid TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.", "Correct the file, then try again.") from error


def _without_empty_tables(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a settings file without empty tables, so that files can be compared."""
    values_by_key = {
        key: _without_empty_tables(value) if isinstance(value, Mapping) else value for key, value in values.items()
    }
    return {key: value for key, value in values_by_key.items() if value != {}}


def _set_nested_key(values: MutableMapping[str, Any], parts: list[str], value: SettingValue | None) -> None:
    """Set the value at the keys `parts`, from the outermost table inward; None removes it.

    `values` is a plain dict or a document of tomlkit.
    """
    first, *rest = parts
    if not rest:
        if value is None:
            values.pop(first, None)
        else:
            _set_key(values, first, value)
        return
    if not isinstance(values.get(first), MutableMapping):
        if value is None:
            return
        values[first] = _new_table(values)
    _set_nested_key(values[first], rest, value)


def _set_key(values: MutableMapping[str, Any], key: str, value: SettingValue) -> None:
    from tomlkit.items import Table

    if not isinstance(values, Table) or key in values:
        values[key] = value
        return
    # The comment above the next table is, to tomlkit, the end of this one: what is added goes before it.
    body = values.value.body
    end = next((at for at in range(len(body), 0, -1) if body[at - 1][0] is not None), 0)
    after = body[end:]
    del body[end:]
    values[key] = value
    body.extend(after)


def _new_table(values: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if type(values) is dict:
        return {}
    import tomlkit

    return tomlkit.table()


def _read_text(file: Path) -> str | None:
    """Return the text of a file with unchanged line ends and no byte order mark; None if the file is missing."""
    try:
        return read_limited(file, MAX_SETTINGS_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return None


def _read_permissions(file: Path) -> int | None:
    try:
        return file.stat().st_mode & 0o777
    except OSError:
        return None
