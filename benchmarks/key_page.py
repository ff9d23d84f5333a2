"""Rewrite the guide's page on keys: its tables are generated from the app's key table, its other text is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from excerpt.tui.key_table import CONTEXTS, FIELD_KEYS, KeyBinding
from excerpt.tui.keymap import binding_keys, format_keys, is_typed

PAGE = Path(__file__).parents[1] / "src/excerpt/demo/Keys.md"

_TYPING = ("Search", "Everywhere", "Always")
_TABS = ("Search", "Overview", "Memory")
_LINKS = {
    "strategy": "Strategies",
    "remember": "Memories",
    "related notes": "Related notes",
    "scope": "Packs#Scope",
    "budget": "Token budget",
    "format": "Packs#What it looks like",
    "in the pack": "The screen#The pack panel",
}
"""Words that become a link where they first occur."""

_TABLE = re.compile(r"^\| key .*\n(?:\|.*\n)+", re.M)


def rewritten(page: str) -> str:
    """Return the page with current tables: while typing, in lists, in fields."""
    linked: set[str] = set()
    tables = iter((_table(_of_typing(), linked), _table(_of_lists(), linked), _table(_of_each(FIELD_KEYS), linked)))
    return _TABLE.sub(lambda _: next(tables), page)


def _of_each(keys: Sequence[KeyBinding]) -> Iterator[tuple[str, str]]:
    return ((_written(key.keys), _begun_small(key.what)) for key in keys)


def _of_typing() -> Iterator[tuple[str, str]]:
    for key in (key for place in _TYPING for key in CONTEXTS[place] if key.has_priority):
        if keys := _keys(key, characters=False):
            yield _written(keys), _begun_small(key.what)


def _keys(key: KeyBinding, *, characters: bool) -> str:
    """Return the keys of a row that a field would take as characters, or the others."""
    return ",".join(each for each in binding_keys(key, {}) if is_typed(each) is characters)


def _of_lists() -> Iterator[tuple[str, str]]:
    """Yield each key of a list once with its action, by list if it is not the same in all."""
    told: dict[str, dict[str, str]] = {}
    for place, rows in CONTEXTS.items():
        if place.startswith(_TABS):
            for key in rows:
                if keys := _keys(key, characters=True) if place in _TABS else key.keys:
                    told.setdefault(keys, {}).setdefault(key.label, _begun_small(key.what))
    for keys_of_row, by_label in told.items():
        yield _written(keys_of_row), "; ".join(by_label.values())


def _written(keys: str) -> str:
    return " ".join(f"`{shown}`" for shown in format_keys(keys.split(",")).split(" "))


def _begun_small(what: str) -> str:
    return what[:1].lower() + what[1:]


def _table(rows: Iterator[tuple[str, str]], linked: set[str]) -> str:
    return "| key | does |\n|---|---|\n" + "".join(f"| {keys} | {_with_link(what, linked)} |\n" for keys, what in rows)


def _with_link(what: str, linked: set[str]) -> str:
    for words, target in _LINKS.items():
        found = re.search(rf"\b{words}\b", what)
        if found and words not in linked:
            linked.add(words)
            return f"{what[: found.start()]}[[{target}\\|{found[0]}]]{what[found.end() :]}"
    return what


def main() -> None:
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
