"""excerpt.toml as text: descriptions, the JSON schema, and changes that keep the rest of the file."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, cast, get_origin, get_type_hints

import msgspec

from excerpt.errors import SettingsError
from excerpt.settings import MAX_SETTINGS_BYTES, MEANING, Paths, Settings, check_settings
from excerpt.state_files import read_limited, replace_file

# --- settings schema --------------------------------------------------------------------------------------------------
# What each setting means, in a sentence, and the JSON schema of excerpt.toml that is made from it and `Settings`.

SCHEMA_NAME = "excerpt.schema.json"
"""The file beside excerpt.toml that describes the settings to an editor."""

Actions = Mapping[str, tuple[str, str]]
"""Actions that keys can be assigned to, by name: description and default keys.

The screen knows them, so the caller of the schema passes them.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as declared by its field in `Settings`."""

    key: str
    """Dotted, as in excerpt.toml."""

    meaning: str
    default: Any
    """As TOML and JSON know it."""

    choices: tuple[str, ...]
    """The values it may have, in their order; none where they cannot be counted."""


def all_settings(shape: type[Any] = Settings, above: str = "") -> Iterator[Setting]:
    """Yield every setting, in the order in which they are written."""
    hints = get_type_hints(shape)
    defaults = msgspec.to_builtins(shape())
    for field in fields(shape):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield from all_settings(cast("type[Any]", hint), f"{above}{field.name}.")
        else:
            choices = tuple(hint) if issubclass(get_origin(hint) or hint, StrEnum) else ()
            yield Setting(f"{above}{field.name}", field.metadata[MEANING], defaults[field.name], choices)


def schema(actions: Actions) -> dict[str, Any]:
    """Return the JSON schema of excerpt.toml: types, ranges, defaults and meanings. Unknown keys are errors."""
    schema_data = msgspec.json.schema(Settings)
    shapes = schema_data["$defs"]
    _describe(shapes, Settings)
    shapes["ScreenSettings"]["properties"]["keys"] |= {
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
    """Return the schema as the text of a file, without a final line feed."""
    return json.dumps(schema(actions), ensure_ascii=False, indent=2)


def write_schema(folder: Path, actions: Actions) -> None:
    """Put the schema into the folder of the settings, unless it is there. Raises OSError."""
    file, text = folder / SCHEMA_NAME, f"{schema_text(actions)}\n"
    with suppress(FileNotFoundError, UnicodeDecodeError):
        if file.read_text(encoding="utf-8") == text:
            return
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _describe(shapes: dict[str, Any], shape: type[Any]) -> None:
    described = shapes[shape.__name__]
    described["additionalProperties"] = False
    described.pop("description", None)
    hints = get_type_hints(shape)
    for field in fields(shape):
        value = described["properties"][field.name]
        if is_dataclass(hints[field.name]):
            _describe(shapes, hints[field.name])
        else:
            # Beside a $ref nothing else is read by the older drafts that TOML's language servers know.
            if "$ref" in value:
                value["allOf"] = [{"$ref": value.pop("$ref")}]
            value["description"] = field.metadata[MEANING]
            if "enum" in value:
                value["enum"] = value.pop("enum")


# --- settings edit ----------------------------------------------------------------------------------------------------
# Changing a settings file without touching what else stands in it: comments, order and spelling stay the user's.
#
# Only what a program changes comes through here; the files are read by `settings`.

_FOR_ALL = "# Settings for all vaults; saved changes apply at once. A vault's own: `excerpt config --vault V --edit`"
_FOR_ONE = "# Settings of one vault, which override those for all vaults.\n# The vault: {vault}"

Value = bool | int | float | str | list[str]


def begin_with(user_paths: Paths, vault: Path | None, actions: Actions) -> str:
    """Return the text of a new settings file: with every setting as a comment, or for one vault.

    It names the schema for TOML language servers (taplo, tombi); the schema, with the `actions` for keys, is written
    beside excerpt.toml if possible.
    """
    with suppress(OSError):
        write_schema(user_paths.config, actions)
    if vault is None:
        return f"#:schema ./{SCHEMA_NAME}\n{_FOR_ALL}\n{_defaults()}"
    # Without what ends a line, or is not allowed in TOML.
    vault_json = json.dumps(os.fsencode(vault).decode("utf-8", "replace"), ensure_ascii=True)
    return f"#:schema ../{SCHEMA_NAME}\n{_FOR_ONE.format(vault=vault_json)}\n"


def _defaults() -> str:
    """Return every setting with its meaning and default, commented out, below the head of its table."""
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


def change_setting(file: Path, key: str, value: Value | None, beginning: str = "") -> None:
    """Put `value` under the dotted `key` of a settings file, made with `beginning` if need be; None takes it out.

    The whole file is replaced at once, and a link to it stays one. Raises SettingsError where the file cannot be read
    or written, is not valid as it is, or would not be valid.
    """
    try:
        text = _read(file)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}.") from error
    if text is None:
        if value is None:
            return
        text = beginning
    changed = with_setting(text, key, value, file)
    if changed == text:
        return
    try:
        target = file.resolve()
        replace_file(target, changed.encode("utf-8"), lasting=True, mode=_mode_of(target))
    except OSError as error:
        raise SettingsError(
            f"{file} cannot be written: {error.strerror or error}.", "Check the permissions of it and its folder."
        ) from error


def with_setting(text: str, key: str, value: Value | None, file: Path) -> str:
    """Return the text of a settings file with `value` at the dotted `key`; `file` is named in errors.

    Raises SettingsError if the text is not valid before or after.
    """
    import tomlkit

    expected = parse(text, file)
    _put(expected, key.split("."), value)
    check_settings(expected, file)
    document = tomlkit.parse(text)
    _put(document, key.split("."), value)
    changed = tomlkit.dumps(document)
    if _without_empty_tables(parse(changed, file)) != _without_empty_tables(expected):
        raise SettingsError(f"{file}: {key} cannot be changed without touching the rest.", "Change it in the file.")
    return changed


def parse(text: str, file: Path) -> dict[str, Any]:
    """Return the values of a settings file. Raises SettingsError if it is not TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.", "Correct it first.") from error


def _without_empty_tables(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without empty tables."""
    values_by_key = {
        key: _without_empty_tables(value) if isinstance(value, Mapping) else value for key, value in values.items()
    }
    return {key: value for key, value in values_by_key.items() if value != {}}


def _put(values: MutableMapping[str, Any], parts: list[str], value: Value | None) -> None:
    """Set or take out, in plain values and in a document alike."""
    first, *rest = parts
    if not rest:
        if value is None:
            values.pop(first, None)
        else:
            _set(values, first, value)
        return
    if not isinstance(values.get(first), MutableMapping):
        if value is None:
            return
        values[first] = _new_table(values)
    _put(values[first], rest, value)


def _set(values: MutableMapping[str, Any], key: str, value: Value) -> None:
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


def _read(file: Path) -> str | None:
    """Return the text with its own line ends and without a byte order mark; None if there is no file."""
    try:
        return read_limited(file, MAX_SETTINGS_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return None


def _mode_of(file: Path) -> int | None:
    try:
        return file.stat().st_mode & 0o777
    except OSError:
        return None
