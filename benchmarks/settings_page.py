"""Rewrite the tables of the guide's page on settings: they are generated from `Settings`, the other text is kept."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

from excerpt.base.settings_file import Setting, all_settings

PAGE = Path(__file__).parents[1] / "src/excerpt/demo/Settings.md"

_SEE = {
    "vault.language": "Languages#One language for all notes",
    "embedding.model": "Embedding model",
    "rerank.model": "Embedding model#A reranker",
    "search.strategy": "Strategies",
    "pack.budget": "Token budget",
    "pack.scope": "Packs#Scope",
    "pack.format": "Packs#What it looks like",
    "pack.template": "Packs#Your own format",
    "memory.in_search": "Memories#In the search",
    "screen.theme": "Themes",
    "screen.editor": "How to/Open a note elsewhere#In your editor",
    "screen.plain": "Themes#Without lines and motion",
    "screen.keys": "Keys#Your own keys",
}
"""The guide page with more about a setting."""

_TABLE = re.compile(r"^(## (\S+)\n(?:(?!## ).*\n)*?)\| key .*\n(?:\|.*\n)+", re.M)


def rewritten(page: str) -> str:
    """Return the page with current tables, each below the heading that is its name in a settings file."""
    tables = {
        table: "| key | default | meaning |\n|---|---|---|\n" + "".join(map(_row, settings))
        for table, settings in groupby(all_settings(), lambda one: one.key.rpartition(".")[0])
    }
    return _TABLE.sub(lambda found: found[1] + tables[found[2]], page)


def _row(setting: Setting) -> str:
    default = json.dumps(setting.default, ensure_ascii=False)
    return f"| `{setting.key.rpartition('.')[2]}` | `{default}` | {_meaning(setting)} |\n"


def _meaning(setting: Setting) -> str:
    """Return the meaning of a setting, its choices unless the meaning names each, and a link to more about it."""
    meaning = setting.meaning
    if all(re.search(rf"\b{choice}\b", meaning) for choice in setting.choices):
        meaning = re.sub(rf"\b({'|'.join(setting.choices) or '(?!)'})\b", r"`\1`", meaning)
    else:
        *others, last = (f"`{choice}`" for choice in setting.choices)
        meaning += f" One of {', '.join(others)} and {last}."
    return f"{meaning} See [[{_SEE[setting.key]}]]." if setting.key in _SEE else meaning


def main() -> None:
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
