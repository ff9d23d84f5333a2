"""Obsidian's vaults and the addresses of their notes.

The format of the addresses: https://obsidian.md/help/uri. Corpus, screen and commands use them, so they import none of
these.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from excerpt.base.patterns import lazy_pattern
from excerpt.text.display import visible_line

_HEADING_SEPARATORS = lazy_pattern(r"[#^|:%\[\]\\]+")
"""Characters that Obsidian replaces by a space in a link to a heading."""


def find_obsidian_vault(folder: Path) -> Path | None:
    """Return the folder of the Obsidian vault that is `folder` or contains it; None if there is none."""
    return next((each for each in (folder, *folder.parents) if (each / ".obsidian").is_dir()), None)


def make_obsidian_link(root: Path, note: Path, headings: Sequence[str]) -> str:
    """Return the obsidian:// link to a note in the Obsidian vault `root`, at the section under `headings`."""
    file = note.relative_to(root).as_posix()
    if file.lower().endswith(".md"):
        file = file[:-3]
    anchor = "".join(f"#{heading}" for heading in map(clean_heading, headings) if heading)
    return f"obsidian://open?vault={percent_encode(root.name)}&file={percent_encode(file + anchor)}"


def clean_heading(heading: str) -> str:
    """Return a heading as it is written in a link: on one line, with spaces in place of characters with a meaning."""
    return " ".join(_HEADING_SEPARATORS.sub(" ", visible_line(heading)).split())


def percent_encode(text: str, safe: str = "") -> str:
    """Return `text` with all reserved characters but `safe` percent-encoded: a slash is %2F, a space %20.

    Invalid UTF-8 of a file name is encoded as its bytes.
    """
    return quote(text.encode("utf-8", "surrogateescape"), safe=safe)
