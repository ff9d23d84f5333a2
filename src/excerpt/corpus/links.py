"""Links to notes, resolved by Obsidian's rule: the path as written, or else the file of that name nearest the root.

Aliases are not link targets. Case and Unicode composition do not matter, as on most users' file systems.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable

NOTE_SUFFIXES = (".md", ".markdown")

_OTHER_SUFFIX = re.compile(r"\.(?!(?:md|markdown)$)[a-z][a-z0-9]{1,4}$", re.IGNORECASE)


def has_other_suffix(target: str) -> bool:
    """Return whether the suffix of a link's target is that of a picture or another file, and not of a note."""
    return _OTHER_SUFFIX.search(target) is not None


class LinkResolver:
    """Finds the note of a vault that the target of a link means."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            name = path[path.rfind("/") + 1 :]
            # Most names are so spelled, and a first query waits for all.
            plain = name.endswith(".md") and name.isascii()
            name = name[:-3].lower() if plain else _fold(_without_suffix(name))
            self._by_name.setdefault(name, []).append(path)
        for paths_of_name in self._by_name.values():
            if len(paths_of_name) > 1:
                paths_of_name.sort(key=lambda path: (path.count("/"), path))

    def resolve(self, target: str, source: str) -> str | None:
        """Return the path of the note that a link with `target` in the note `source` leads to; None if there is none.

        An empty target means `source` itself. A relative path is looked up from the folder of `source` first, then
        from the vault's root, and last as the end of any note's path.
        """
        if not target:
            return source
        name = _fold(_without_suffix(target.strip().replace("\\", "/")))
        relative = posixpath.normpath(posixpath.join(posixpath.dirname(_fold(source)), name))
        from_root = posixpath.normpath(name).lstrip("/")
        paths = self._by_name.get(posixpath.basename(from_root), [])
        for candidate in (from_root,) if name.startswith("/") else (relative, from_root):
            for path in paths:
                if _fold(_without_suffix(path)) == candidate:
                    return path
        ends = f"/{from_root}"
        return next((path for path in paths if _fold(_without_suffix(f"/{path}")).endswith(ends)), None)

    def shortest_target(self, path: str) -> str:
        """Return the shortest target by which Obsidian finds the note at `path` from any note, without `.md`.

        That is the file name if no other note has it, else the path from the vault's root.
        """
        name = path[path.rfind("/") + 1 :]
        same_name = self._by_name.get(_fold(_without_suffix(name)), ())
        target = path if len(same_name) > 1 else name
        return target[:-3] if target.lower().endswith(".md") else target


def target_file_name(target: str) -> str:
    """Return the file name in a link's target, case-folded and without the suffix of a note.

    Every note that the link can mean has this file name.
    """
    name = _fold(_without_suffix(target.strip().replace("\\", "/")))
    return posixpath.basename(posixpath.normpath(name)).strip()


def _without_suffix(path: str) -> str:
    lower = path.lower()
    for suffix in NOTE_SUFFIXES:
        if lower.endswith(suffix):
            return path[: -len(suffix)]
    return path


def _fold(path: str) -> str:
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()
