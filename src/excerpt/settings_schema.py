"""What each setting means, in a sentence, and the JSON schema of excerpt.toml that is made from it and `Settings`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from excerpt.settings import LANGUAGES, Settings

SCHEMA_NAME = "excerpt.schema.json"
"""The file beside excerpt.toml that tells an editor what can be set."""

Actions = Mapping[str, tuple[str, str]]
"""What keys can be given to, by its name: what it does, and the keys that it has of its own. The screen knows them, so
whoever asks for a schema says them."""

MEANINGS: Mapping[str, str] = {
    "vault.extensions": "Endings of the files that are notes.",
    "vault.include": "Patterns, as in a .gitignore, of what to read; where there are any, nothing else is read.",
    "vault.exclude": 'Patterns, as in a .gitignore, of what not to read; "!" in front reads it after all.',
    "vault.max_bytes": "Larger files are skipped, in bytes.",
    "vault.language": 'The language of all notes, as "de"; empty finds it for each note.',
    "embedding.model": "A folder or a name of a model2vec model; empty is the one that ships with excerpt.",
    "embedding.multilingual": "The model reads other languages as well as English.",
    "search.strategy": "How fragments are scored; auto chooses who leads by the query.",
    "search.limit": "How many hits a search lists; on the screen as many more come at the end of the list.",
    "search.fuzzy_threshold": "How like another a word must be to count as a misspelling of it, 0 to 1.",
    "search.fusion": "How signals become one score: weighted adds them up, rrf counts ranks only.",
    "search.per_note": "The most fragments of one note among the first ten hits; 0 is no limit.",
    "search.boosts.links": "Notes that many matching notes link to are lifted a little.",
    "search.boosts.recency": "Notes that were changed lately are lifted a little.",
    "search.boosts.use": "Notes that you opened or copied are lifted a little; off, nothing of it is recorded.",
    "pack.budget": "The most tokens a pack may hold, sources included.",
    "pack.tokenizer": "Whose tokens are counted; also the path of a tokenizer.json.",
    "pack.scope": "How far the pack grows around a hit: not at all, to its neighbors, its section, its note.",
    "pack.neighbors": "How many fragments on each side of a hit come with it in the scope neighbors.",
    "pack.limit": "From how many of the best hits a pack is built when none is marked.",
    "pack.format": "How a pack is written.",
    "pack.question": "The query stands below the passages of a pack.",
    "pack.template": "The file that the format template renders by; a relative path counts from the settings' folder.",
    "memory.in_search": "Memories that answer a query stand among the hits; what you remembered has a badge.",
    "memory.recall_first": "Memories that answer a query stand before the hits.",
    "screen.theme": "The colours: one of excerpt's themes, or a file in themes/ beside the settings.",
    "screen.editor": "The command that enter runs, as nvim or code -w; empty is $VISUAL, then $EDITOR.",
    "screen.restore": "Query, selection, tab and panes come back at the next start; off, nothing of that is kept.",
    "screen.plain": "No lines, no blocks, no motion: only letters and ASCII signs.",
    "screen.motion": "Off, nothing moves by itself.",
    "screen.keys": "Other keys for actions, by the action's name.",
}
"""A sentence for each key of `Settings`, for a new settings file and for who edits one with a schema."""


def keys(shape: type[Any] = Settings, above: str = "") -> Iterator[str]:
    """Every dotted key of a settings file, in the order in which they are written."""
    hints = get_type_hints(shape)
    for one in fields(shape):
        if is_dataclass(hints[one.name]):
            yield from keys(hints[one.name], f"{above}{one.name}.")
        else:
            yield f"{above}{one.name}"


def schema(actions: Actions) -> dict[str, Any]:
    """The JSON schema of excerpt.toml: types, ranges, defaults and meanings. A key it does not name is an error, as
    it is to excerpt."""
    made = msgspec.json.schema(Settings)
    shapes = made["$defs"]
    _describe(shapes, Settings, "")
    shapes["VaultSettings"]["properties"]["language"]["enum"] = ["", *LANGUAGES]
    shapes["ScreenSettings"]["properties"]["keys"] |= {
        "properties": {
            name: {"type": "string", "description": what, "default": own} for name, (what, own) in actions.items()
        },
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "excerpt.toml",
        "description": "The settings of excerpt, for all vaults or for one.",
        **made,
    }


def schema_text(actions: Actions) -> str:
    """The schema as the text of a file, without a last line end."""
    return json.dumps(schema(actions), ensure_ascii=False, indent=2)


def write_schema(folder: Path, actions: Actions) -> None:
    """Put the schema into the folder of the settings, unless it is there. Raises OSError."""
    file, text = folder / SCHEMA_NAME, f"{schema_text(actions)}\n"
    with suppress(FileNotFoundError, UnicodeDecodeError):
        if file.read_text(encoding="utf-8") == text:
            return
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _describe(shapes: dict[str, Any], shape: type[Any], above: str) -> None:
    described = shapes[shape.__name__]
    described["additionalProperties"] = False
    described.pop("description", None)
    hints = get_type_hints(shape)
    for name, value in described["properties"].items():
        if is_dataclass(hints[name]):
            _describe(shapes, hints[name], f"{above}{name}.")
        else:
            # Beside a $ref nothing else is read by the older drafts that TOML's language servers know.
            if "$ref" in value:
                value["allOf"] = [{"$ref": value.pop("$ref")}]
            value["description"] = MEANINGS[f"{above}{name}"]
