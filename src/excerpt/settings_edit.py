"""Changing a settings file without touching what else stands in it: comments, order and spelling stay the user's.

Only what a program changes comes through here; the files are read by `settings`.
"""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec

from excerpt.errors import SettingsError
from excerpt.settings import Places, Settings, check_settings
from excerpt.settings_schema import MEANINGS, SCHEMA_NAME, Actions, keys, write_schema

_FOR_ALL = "# Settings for all vaults; saved changes hold at once. A vault's own: `excerpt config --vault V --edit`"
_FOR_ONE = "# Settings of one vault, over those for all: only what differs.\n# The vault: {vault}"

Value = bool | int | float | str | list[str]


def begin_with(places: Places, vault: Path | None, actions: Actions) -> str:
    """Return what a new settings file begins with: of all vaults, with every setting as a comment, or of one. The
    schema is named for the language servers of TOML (taplo, tombi), and written beside excerpt.toml where that can be
    done, with the `actions` that keys can be given to."""
    with suppress(OSError):
        write_schema(places.config, actions)
    if vault is None:
        return f"#:schema ./{SCHEMA_NAME}\n{_FOR_ALL}\n{_defaults()}"
    # Without what ends a line, or is not allowed in TOML.
    shown = json.dumps(os.fsencode(vault).decode("utf-8", "replace"), ensure_ascii=True)
    return f"#:schema ../{SCHEMA_NAME}\n{_FOR_ONE.format(vault=shown)}\n"


def _defaults() -> str:
    """Return every setting with its meaning and default, commented out, below the head of its table."""
    told = []
    for table, values in msgspec.to_builtins(Settings()).items():
        told.append(f"\n[{table}]")
        for key in keys():
            if key.startswith(f"{table}.") and key != "screen.keys":
                name = key.removeprefix(f"{table}.")
                value = reduce(lambda within, part: within[part], name.split("."), values)
                told += [f"# {MEANINGS[key]}", f"# {name} = {json.dumps(value)}"]
    return "\n".join((*told, "\n[screen.keys]", f"# {MEANINGS['screen.keys']}", '# "strategy" = "ctrl+s"', ""))


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
        _write(file, changed)
    except OSError as error:
        raise SettingsError(
            f"{file} cannot be written: {error.strerror or error}.", "Check the permissions of it and its folder."
        ) from error


def with_setting(text: str, key: str, value: Value | None, file: Path) -> str:
    """The text of a settings file with `value` under the dotted `key`; `file` is for the errors. Raises SettingsError
    if the text is not valid before or after."""
    import tomlkit

    wanted = parsed(text, file)
    _put(wanted, key.split("."), value)
    check_settings(wanted, file)
    document = tomlkit.parse(text)
    _put(document, key.split("."), value)
    changed = tomlkit.dumps(document)
    if _said(parsed(changed, file)) != _said(wanted):
        raise SettingsError(f"{file}: {key} cannot be changed without touching the rest.", "Change it in the file.")
    return changed


def parsed(text: str, file: Path) -> dict[str, Any]:
    """A settings file's values. Raises SettingsError if it is not TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.", "Mend it first.") from error


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without tables in which nothing stands."""
    told = {key: _said(value) if isinstance(value, Mapping) else value for key, value in values.items()}
    return {key: value for key, value in told.items() if value != {}}


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
    behind = body[end:]
    del body[end:]
    values[key] = value
    body.extend(behind)


def _new_table(values: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if type(values) is dict:
        return {}
    import tomlkit

    return tomlkit.table()


def _read(file: Path) -> str | None:
    """The text with its line ends as they are, without a byte order mark; None if there is no file."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None


def _write(file: Path, text: str) -> None:
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(text.encode("utf-8"))
            opened.flush()
            os.fsync(opened.fileno())
        with suppress(OSError):
            written.chmod(target.stat().st_mode & 0o777)
        written.replace(target)
    except BaseException:
        written.unlink(missing_ok=True)
        raise
