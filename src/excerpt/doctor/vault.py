"""The vault: whether it can be read, what is left out of it, names that make trouble, how its changes are seen."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from excerpt import moved_vaults
from excerpt.doctor.finding import Finding, megabytes, named, ok, problem, warning
from excerpt.errors import SettingsError, VaultError
from excerpt.settings import Places, Settings, open_vault
from excerpt.text.counted import counted
from excerpt.vault.mounts import is_silent
from excerpt.vault.scan import IGNORE_FILES, Scan, scan

_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")
_MOST_WALKED = 100_000


@dataclass(frozen=True, slots=True)
class Seen:
    """A vault as a scan found it; `vault` and `scan` are None where it cannot be read."""

    findings: tuple[Finding, ...]
    vault: Path | None = None
    scan: Scan | None = None


def look(given: Path, settings: Settings, watches: int | None) -> Seen:
    """Look at the vault at `given`. `watches` is how many folders the system watches for a user, None if it has no
    such limit."""
    try:
        vault = open_vault(given)
        found = scan(vault, settings.vault)
    except (VaultError, SettingsError) as error:
        return Seen((problem(error.message, error.hint),))
    findings = [
        _notes(vault, found, settings),
        *_not_read(found),
        *_colliding([file.path for file in found.files]),
        _changes(vault, len(found.folders), watches),
    ]
    return Seen(tuple(findings), vault, found)


def left_behind(where: Places, vault: Path | None) -> Iterator[Finding]:
    """Memories of vaults that are not there any more, with the command that takes them over."""
    for former in moved_vaults.left_behind(where, vault):
        command = moved_vaults.command_for(former, vault if former.is_like else None)
        if former.is_like:
            yield warning(
                f"{former.kept} of {former.path}, which was this vault, it seems.", f"To have them here: {command}"
            )
        elif former.path:
            yield warning(f"{former.kept} of {former.path}, which is gone.", f"If it is elsewhere now: {command}")
        else:
            what = f"{former.kept} of a vault that is not known yet, in the folder {former.slug}."
            yield warning(what, f"If it is elsewhere now: {command}")


def watch_limit() -> int | None:
    """How many folders Linux watches for one user."""
    try:
        return int(_WATCHES.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _notes(vault: Path, found: Scan, settings: Settings) -> Finding:
    if found.files:
        size = megabytes(sum(file.size for file in found.files))
        folders = counted(len(found.folders), "folder")
        return ok(f"{counted(len(found.files), 'note')} ({size}) in {folders}: {vault}")
    suffixes = tuple(extension.lower() for extension in settings.vault.extensions)
    left_out = sum(1 for _ in _walked(vault, suffixes))
    if not left_out:
        kinds = ", ".join(settings.vault.extensions)
        return warning(f"There is no note in {vault}: no file ends in {kinds}.", "Other kinds: vault.extensions.")
    rules = " or ".join((*IGNORE_FILES, "vault.include and vault.exclude of the settings"))
    return problem(
        f"All notes of {vault} are left out: {counted(left_out, 'file')} would be one.", f"Look into {rules}."
    )


def _walked(vault: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Files that would be notes if no rule left them out."""
    seen = 0
    for _, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        seen += len(files)
        yield from (name for name in files if name.lower().endswith(suffixes) and not name.startswith("."))
        if seen > _MOST_WALKED:
            return


def _not_read(found: Scan) -> Iterator[Finding]:
    """What would be notes and is passed over, by reason."""
    by_reason: dict[str, list[str]] = {}
    for one in found.skipped:
        by_reason.setdefault(one.reason, []).append(one.path)
    for reason, paths in sorted(by_reason.items()):
        what = f"Passed over: {named(paths)}. {reason}"
        if "out of the vault" in reason:
            yield warning(what, "Links out of a vault are never followed; to read what is there, open it as a vault.")
        elif "not valid UTF-8" in reason:
            yield warning(what, "Rename it, with a tool such as convmv, to have it read.")
        elif "within the vault" in reason:
            yield ok(what)
        elif all(PurePosixPath(path).name in IGNORE_FILES for path in paths):
            yield warning(f"Left out in part: {named(paths)}. {reason}", "Its other patterns hold; shorten it.")
        elif "link to nothing" in reason:
            yield warning(what, "Make the link anew, or remove it.")
        else:
            yield warning(what, "Look at its permissions.")


def _colliding(paths: Sequence[str]) -> Iterator[Finding]:
    """Names that are one file where case or the composition of letters does not count."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(unicodedata.normalize("NFC", path).casefold(), []).append(path)
    pairs = [" and ".join(same) for same in by_name.values() if len(same) > 1]
    if pairs:
        yield warning(
            f"Names that differ in case or accents alone: {named(pairs)}.",
            "On Windows, macOS and many synchronised drives one of them replaces the other: rename it.",
        )


def _changes(vault: Path, folders: int, watches: int | None) -> Finding:
    every = "is looked through every few seconds, and more seldom if that takes long"
    if is_silent(vault):
        return warning(f"It is on a drive that does not tell of changes: it {every}.", "Changes show a little later.")
    if sys.platform.startswith("linux") and watches is not None and folders >= watches:
        return warning(
            f"It has {counted(folders, 'folder')}; the system watches {watches:,} for a user. So it {every}.",
            f"Raise the limit, for now and for good: `sudo sysctl fs.inotify.max_user_watches={2 * folders}`, and the "
            "same line in /etc/sysctl.d/.",
        )
    return ok(
        "Changes are seen at once"
        + (f": {folders:,} of {watches:,} watches" if watches is not None and folders else "")
    )
