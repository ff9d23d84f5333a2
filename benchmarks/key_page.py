"""Write the guide's page on keys anew: its tables are made from the table of the app, its other text stays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from excerpt.tui.keys import PARTS, PLACES, Key

PAGE = Path(__file__).parents[1] / "src/excerpt/demo/Keys.md"

_HEADINGS = {
    "Search": "The query and the list",
    "Search: the query": "The query",
    "Search: reading on": "Reading on",
    "Search: the pack": "The pack",
    "Search: panes and panels": "Panes and panels",
    "Overview": "The Overview tab",
    "Overview, with the lines focused": "With the lines of an overview focused",
    "Memory": "The Memory tab",
    "Memory, with the list focused": "With the memories focused",
    "Index": "The Index tab",
    "Any dialog": "Dialogs",
    "Settings, with the list focused": "The settings",
    "Themes, with the list focused": "Themes",
    "Outline, with the list focused": "The outline of a note",
    "Saved queries, with the list focused": "Saved queries",
}

_LINKS = {
    "strategy": "Strategies",
    "memory": "Memories",
    "memories": "Memories",
    "related": "Related notes",
    "where the matches are": "Maps",
    "scope": "Packs#Scope",
    "budget": "Token budget",
    "settings": "Settings",
    "format": "Packs#What it looks like",
    "order": "Packs#Order",
    "what is in the pack": "The screen#The pack panel",
}
"""Words that are a link where they come first."""

_LAST = "## Your own keys"
_TABLE = re.compile(r"^\| key .*\n(?:\|.*\n)+", re.M)


def tables() -> Mapping[str, Sequence[Key]]:
    """The keys of each heading of the page."""
    found: dict[str, Sequence[Key]] = {}
    for place, keys in PLACES.items():
        for part, of_part in PARTS.get(place, {place: keys}).items():
            if of_part:
                found[_HEADINGS.get(part, re.sub("^Search, w", "W", part))] = of_part
    return found


def rewritten(page: str) -> str:
    """The page with the tables of today. A heading that is new comes before the last; one without keys goes."""
    wanted, linked = tables(), set[str]()
    before, *sections = re.split(r"^(?=## )", page, flags=re.M)
    by_heading = {section.partition("\n")[0].removeprefix("## "): section for section in sections}
    last = by_heading.pop(_LAST.removeprefix("## "))
    written = [
        _section(by_heading.get(heading, f"## {heading}\n"), "".join(_table(keys, linked)))
        for heading, keys in wanted.items()
    ]
    return "".join((before, *written, last))


def _section(section: str, table: str) -> str:
    if _TABLE.search(section):
        return _TABLE.sub(lambda _: table, section, count=1)
    return f"{section.rstrip()}\n\n{table}\n"


def _table(keys: Sequence[Key], linked: set[str]) -> Iterator[str]:
    yield "| key | does | name |\n|---|---|---|\n"
    for key in keys:
        names = " ".join(f"`{name}`" for name in key.keys.split(","))
        yield f"| {names} | {_with_links(key.what[:1].lower() + key.what[1:], linked)} | `{key.id}` |\n"


def _with_links(what: str, linked: set[str]) -> str:
    for words, target in _LINKS.items():
        found = re.search(rf"\b{words}\b", what)
        if found and words not in linked:
            linked.add(words)
            link = f"[[{target}\\|{found[0]}]]"
            what = what[: found.start()] + link + what[found.end() :]
            break
    return what


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
