"""Links to notes, resolved by Obsidian's rule: the path as written, the own folder, or else the shortest path.

Aliases are not link targets. Case and Unicode composition do not matter, as on most users' file systems. A target that
is only the id of a Zettelkasten (`[[202012091130]]`) means the file whose name begins with it, and what Dendron writes
as `[[label|target]]` is read in its order if the first part names no note.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property
from urllib.parse import unquote

from excerpt.base.patterns import lazy_pattern
from excerpt.text.dates import parse_date_name

LINKS_VERSION = 1
"""Version of how links are resolved; a change makes each index resolve its links again."""
ID_SCHEME = "id:"
"""Begins the target of a link of org to an id."""
NOTE_SUFFIXES = (".md", ".markdown", ".mdx", ".qmd")

_ID = lazy_pattern(r"\d{8,}(?![^\W_])")
"""An id at the beginning of a file name: a date with or without a time, as the tools of a Zettelkasten write it."""
_OTHER_SUFFIX = lazy_pattern(r"\.(?!(?:md|markdown|mdx|qmd)$)[a-z][a-z0-9]{1,4}$", re.IGNORECASE)


def has_other_suffix(target: str) -> bool:
    """Return whether the suffix of a link's target is that of a picture or another file, and not of a note."""
    return _OTHER_SUFFIX.search(target) is not None


def target_in_label(label: str) -> str:
    """Return the link target in the label of a wikilink, as in Dendron's `[[label|target]]`; "" if there is none."""
    if any(character.isspace() for character in label):
        return ""
    return label.partition("#")[0]


class LinkResolver:
    """Finds the note of a vault that the target of a link means."""

    def __init__(
        self,
        paths: Iterable[str],
        page_names: Iterable[tuple[str, str]] = (),
        identifiers: Callable[[], Iterable[tuple[str, str]]] = tuple,
    ) -> None:
        """Read the paths of all notes, and the (name, path) pairs of pages if links name pages, as in Logseq.

        `identifiers` returns the ids in notes with the notes' paths; it is called when a link to an id first needs it.
        """
        self._identifiers = identifiers
        self._path_by_page: dict[str, str] = {}
        for page, path in page_names:
            self._path_by_page.setdefault(_fold(page.strip()), path)
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            name = path[path.rfind("/") + 1 :]
            # Most names are so spelled, and a first query waits for all.
            plain = name.endswith(".md") and name.isascii()
            name = name[:-3].lower() if plain else _fold(_without_suffix(name))
            self._by_name.setdefault(name, []).append(path)
        self._sorted_names: set[str] = set()

    def resolve(self, target: str, source: str, label: str = "") -> str | None:
        """Return the path of the note that a link with `target` in the note `source` leads to; None if no note matches.

        An empty target means `source` itself. A target is looked up as a path from the vault's root, then from the
        folder of `source`, then as the end of a note's path (the shortest path if several match). A relative path, as
        in Markdown links, is looked up in the folder first. If there is no such note, the `label` of a wikilink is
        looked up instead.
        """
        if not target:
            return source
        if target.startswith(ID_SCHEME):
            return self._path_by_identifier.get(target.removeprefix(ID_SCHEME).casefold())
        path = self._find_page(target) if self._path_by_page else None
        path = path or self._find(target, source)
        if path is None and (other := target_in_label(label)):
            path = self._find(other, source)
        return path

    def _find_page(self, name: str) -> str | None:
        """Return the path of the page called `name`, or of the journal page for that day; None if no page matches."""
        path = self._path_by_page.get(_fold(name.strip()))
        if path is None and (day := parse_date_name(name)) is not None:
            path = self._path_by_page.get(day.isoformat())
        return path

    def _find(self, target: str, source: str) -> str | None:
        written = target.strip().replace("\\", "/")
        bare = _without_suffix(written)
        name = _fold(bare)
        relative = posixpath.normpath(posixpath.join(posixpath.dirname(_fold(source)), name))
        from_root = posixpath.normpath(name).lstrip("/")
        paths = self._list_shortest_first(posixpath.basename(from_root))
        is_relative = bare != written or name.startswith(("./", "../"))
        for candidate in (relative, from_root) if is_relative else (from_root, relative):
            for path in paths:
                if _fold(_without_suffix(path)) == candidate:
                    return path
        ends = f"/{from_root}"
        nested = next((path for path in paths if _fold(_without_suffix(f"/{path}")).endswith(ends)), None)
        return self._paths_by_id.get(from_root) if nested is None and _ID.fullmatch(from_root) else nested

    def _list_shortest_first(self, name: str) -> list[str]:
        """Return the paths of the notes with a folded file name; they are sorted when a link first needs them."""
        paths = self._by_name.get(name, [])
        if len(paths) > 1 and name not in self._sorted_names:
            paths.sort(key=lambda path: (len(path), path))
            self._sorted_names.add(name)
        return paths

    @cached_property
    def _path_by_identifier(self) -> dict[str, str]:
        """For each id of an org heading or file, the path of its note; if an id occurs twice, the first note counts."""
        paths: dict[str, str] = {}
        for identifier, path in self._identifiers():
            paths.setdefault(identifier.strip().casefold(), path)
        return paths

    @cached_property
    def _paths_by_id(self) -> dict[str, str]:
        """For each id, the shortest path of a file whose name begins with it; computed when a link first needs it."""
        paths = sorted(
            ((path, match[0]) for name, paths in self._by_name.items() if (match := _ID.match(name)) for path in paths),
            key=lambda item: (len(item[0]), item[0]),
            reverse=True,
        )
        return {identifier: path for path, identifier in paths}

    def shortest_target(self, path: str) -> str:
        """Return the shortest target by which Obsidian finds the note at `path` from any note, without `.md`.

        The shortest target is the file name if no other note has that name, else the path from the vault's root.
        """
        name = path[path.rfind("/") + 1 :]
        same_name = self._by_name.get(_fold(_without_suffix(name)), ())
        target = path if len(same_name) > 1 else name
        return target[:-3] if target.lower().endswith(".md") else target


def target_file_name(target: str) -> str:
    """Return the file name in a link's target, case-folded, without a note's suffix and any text after an id.

    Every note that the link can mean has this file name.
    """
    # Logseq writes the slash of a page's name in this way in the name of its file.
    name = _fold(_without_suffix(unquote(target.strip()).replace("\\", "/").replace("___", "/")))
    name = posixpath.basename(posixpath.normpath(name)).strip()
    match = _ID.match(name)
    return match[0] if match else name


def _without_suffix(path: str) -> str:
    lower = path.lower()
    for suffix in NOTE_SUFFIXES:
        if lower.endswith(suffix):
            return path[: -len(suffix)]
    return path


def _fold(path: str) -> str:
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()
