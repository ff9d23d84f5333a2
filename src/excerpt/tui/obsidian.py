"""A note opened in Obsidian, by a link of its own kind and whatever the system opens links with.

https://obsidian.md/help/uri says what such a link is made of. It names a heading, not a line.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from excerpt.errors import ExcerptError
from excerpt.state_files import users_umask

_PATIENCE = 3.0
"""Seconds in which a link that nothing can open is reported; some programs stay as long as what they opened."""

_NOT_IN_A_HEADING = re.compile(r"[#^|:%\[\]\\]+")
"""What Obsidian puts a space for when it makes a link to a heading."""


def obsidian_vault(vault: Path) -> Path:
    """The vault of Obsidian that `vault` is, or is a folder of. Raises ExcerptError where there is none."""
    for folder in (vault, *vault.parents):
        if (folder / ".obsidian").is_dir():
            return folder
    raise ExcerptError(
        f"{vault.name} is no vault of Obsidian's: it has no .obsidian folder.", "Open the folder in Obsidian once."
    )


def note_link(root: Path, note: Path, headings: Sequence[str]) -> str:
    """The link to `note` in the Obsidian vault `root`, at the section that `headings` lead to."""
    file = note.relative_to(root).as_posix()
    if file.lower().endswith(".md"):
        file = file[:-3]
    named = (" ".join(_NOT_IN_A_HEADING.sub(" ", heading).split()) for heading in headings)
    place = "".join(f"#{heading}" for heading in named if heading)
    return f"obsidian://open?vault={_encoded(root.name)}&file={_encoded(file + place)}"


def _encoded(text: str) -> str:
    """Every reserved character too: a slash is %2F, a space %20. A name that is not UTF-8 goes as its bytes."""
    return quote(os.fsencode(text) if not _is_utf8(text) else text, safe="")


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def link_opener(
    environment: Mapping[str, str], which: Callable[[str], str | None], platform: str
) -> tuple[str, ...] | None:
    """The program that opens a link, on `platform` (as `sys.platform`); None where there is none, and over ssh, where
    it would open on the machine at the other end. None is a shell, since a link has an & in it."""
    if "SSH_CONNECTION" in environment or "SSH_TTY" in environment:
        return None
    candidates: list[tuple[str, ...]] = []
    if platform == "darwin":
        candidates.append(("open",))
    if environment.get("WSL_DISTRO_NAME"):
        candidates.append(("wslview",))
    if platform == "win32" or environment.get("WSL_DISTRO_NAME"):
        candidates.append(("rundll32.exe", "url.dll,FileProtocolHandler"))
    elif platform != "darwin" and (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        candidates.append(("xdg-open",))
    return next((argv for argv in candidates if which(argv[0])), None)


def open_link(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether the program took the link, as far as it says so within a moment. Waits, so it is for a thread."""
    try:
        opened = subprocess.Popen(
            argv,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            umask=users_umask(),
        )
    except OSError:
        return False
    with suppress(subprocess.TimeoutExpired):
        return opened.wait(_PATIENCE) == 0
    return True
