"""`excerpt config`: the settings in effect, and where they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from excerpt.cli.printing import put
from excerpt.settings import load_settings, places

_BARE = re.compile("[A-Za-z0-9_-]+")  # TOML's keys that need no quotation marks


@click.command()
@click.option("--path", is_flag=True, help="Print where the settings file is looked for.")
@click.option("--check", is_flag=True, help="Say whether the settings file is valid, and what is wrong with it.")
def command(path: bool, check: bool) -> None:
    """Show the settings in effect.

    They are printed as TOML that can be kept as excerpt.toml.
    """
    file = places().settings_file
    if path:
        put(str(file))
        return
    settings = load_settings(file)
    if check:
        put(f"{file} is valid." if file.exists() else f"{file} does not exist: every setting has its default.")
        return
    for table, values in msgspec.to_builtins(settings).items():
        put(f"[{table}]")
        for line in _lines_of(values):
            put(line)
        put("")


def _lines_of(values: dict[str, Any]) -> Iterator[str]:
    """TOML's strings, numbers and arrays are written as JSON's are."""
    for key, value in values.items():
        if isinstance(value, dict):
            for name, inner in value.items():
                part = name if _BARE.fullmatch(name) else json.dumps(name)
                yield f"{key}.{part} = {json.dumps(inner, ensure_ascii=False)}"
        else:
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
