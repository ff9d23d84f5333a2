"""The checks of a vault: a folder of notes and data of former ones, or a vault in a store."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from excerpt.base.errors import ExcerptError, SettingsError, VaultError
from excerpt.base.settings import Paths, Settings, open_vault, vault_slug
from excerpt.service.findings import Finding, megabytes, ok, problem, warning
from excerpt.service.stores import is_address, parse_address
from excerpt.text.display import format_count, format_names
from excerpt.vault import known_vaults
from excerpt.vault.mounts import lacks_change_events
from excerpt.vault.readers.registry import describe_unread_files, kind_of_file
from excerpt.vault.scan import IGNORE_FILES, Scan, scan

# --- folder -----------------------------------------------------------------------------------------------------------
# A folder of notes: whether it is readable, which files are left out, problematic names, how changes are detected.

_WATCH_LIMIT_FILE = Path("/proc/sys/fs/inotify/max_user_watches")
_MAX_WALKED_FILES = 100_000


class VaultCheck(Struct, frozen=True):
    """The findings about a vault, with its resolved folder and the result of scanning it.

    `vault` and `scan` are None if the vault cannot be read.
    """

    findings: tuple[Finding, ...]
    vault: Path | None = None
    scan: Scan | None = None


def check_vault(folder: Path, settings: Settings, watches: int | None) -> VaultCheck:
    """Scan the vault at `folder` and check its files; `watches` is the result of `watch_limit`."""
    try:
        vault = open_vault(folder)
        scan_result = scan(vault, settings.vault)
    except (VaultError, SettingsError) as error:
        return VaultCheck((problem(error.message, error.hint),))
    findings = [
        _check_notes(vault, scan_result, settings),
        *_check_skipped_files(scan_result),
        *_check_unread_files(scan_result),
        *_check_similar_names([file.path for file in scan_result.files]),
        _check_watching(vault, len(scan_result.folders), watches),
    ]
    return VaultCheck(tuple(findings), vault, scan_result)


def orphaned_vaults(paths: Paths, vault: Path | None) -> Iterator[Finding]:
    """Yield a finding about each missing folder of notes that has memories, with the command that transfers them.

    `vault` is the vault that is checked, to which the memories may belong.
    """
    recent = (each.path for each in known_vaults.recent_vaults(paths))
    in_stores = {vault_slug(parse_address(path).folder) for path in recent if is_address(path)}
    for former in known_vaults.orphaned_vaults(paths, vault):
        if former.slug in in_stores or is_address(former.path):
            continue
        command = known_vaults.adopt_command(former, None)
        if former.path:
            yield warning(
                f"excerpt has data of the vault {former.path}, which no longer exists: {former.user_data}.",
                f"If that vault has moved, run: {command}",
            )
        else:
            text = f"excerpt has data of an unknown vault, in the folder {former.slug}: {former.user_data}."
            yield warning(text, f"If you know where that vault is now, run: {command}")


def watch_limit() -> int | None:
    """Return the maximum number of folders that Linux watches for one user; None if unknown or not on Linux."""
    try:
        return int(_WATCH_LIMIT_FILE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _check_notes(vault: Path, scan_result: Scan, settings: Settings) -> Finding:
    if scan_result.files:
        size = megabytes(sum(file.size for file in scan_result.files))
        folders = format_count(len(scan_result.folders), "folder")
        attachments = sum(bool(kind_of_file(file.path, settings.vault)) for file in scan_result.files)
        counts = format_count(len(scan_result.files) - attachments, "note")
        if attachments:
            counts += f" and {format_count(attachments, 'attachment')}"
        return ok(f"{counts} ({size}) in {folders}: {vault}")
    suffixes = tuple(extension.lower() for extension in settings.vault.extensions)
    left_out = sum(1 for _ in _find_note_files(vault, suffixes))
    if not left_out:
        kinds = ", ".join(settings.vault.extensions)
        return warning(
            f"There is no note in {vault}: no file name ends in {kinds}.",
            "If notes have another ending, set vault.extensions.",
        )
    rules = ", ".join((*IGNORE_FILES, "and vault.include and vault.exclude in the settings"))
    return problem(
        f"All notes of {vault} are excluded by patterns: {format_count(left_out, 'file')}.", f"Check {rules}."
    )


def _find_note_files(vault: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of files with one of `suffixes`, also of ignored ones; stop after about `_MAX_WALKED_FILES`."""
    entry_count = 0
    for _, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        entry_count += len(files)
        yield from (name for name in files if name.lower().endswith(suffixes) and not name.startswith("."))
        if entry_count > _MAX_WALKED_FILES:
            return


def _check_skipped_files(scan_result: Scan) -> Iterator[Finding]:
    """Yield a finding for each reason for which files were skipped that would otherwise be notes."""
    by_reason: dict[str, list[str]] = {}
    for skipped in scan_result.skipped:
        by_reason.setdefault(skipped.reason, []).append(skipped.path)
    for reason, paths in sorted(by_reason.items()):
        text = f"Skipped: {format_names(paths)}. {reason}"
        if "out of the vault" in reason:
            yield warning(
                text, "Links out of a vault are never followed. To read the target, open its folder as a vault."
            )
        elif "not valid UTF-8" in reason:
            yield warning(text, "To have the file read, rename the file with a tool such as convmv.")
        elif "within the vault" in reason:
            yield ok(text)
        elif all(PurePosixPath(path).name in IGNORE_FILES for path in paths):
            yield warning(
                f"Patterns are used in part: {format_names(paths)}. {reason}",
                "The other patterns are used. Shorten the long ones.",
            )
        elif "link to a missing file" in reason:
            yield warning(text, "Correct the link, or remove it.")
        else:
            yield warning(text, "Check its permissions.")


def _check_unread_files(scan_result: Scan) -> Iterator[Finding]:
    """Yield a finding about the files that no reader knows, by kind."""
    for unread in describe_unread_files(scan_result.unread, (0, 0)):
        if not unread.action:
            files = format_count(unread.files, "file is", "files are")
            yield ok(f"{files} not read, as no reader knows them: {unread.what}; {unread.advice}.")


def _check_similar_names(paths: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding about paths that differ only in case or Unicode composition, so some systems merge them."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(unicodedata.normalize("NFC", path).casefold(), []).append(path)
    pairs = [" and ".join(same) for same in by_name.values() if len(same) > 1]
    if pairs:
        yield warning(
            f"Some file names differ only in case or accents: {format_names(pairs)}.",
            "Rename one of them: on Windows, macOS and many synchronised drives, one file replaces the other.",
        )


def _check_watching(vault: Path, folders: int, watches: int | None) -> Finding:
    """Check how changes in a vault are detected; `folders` is the number of its folders."""
    scanned = "so excerpt scans the vault every few seconds, or less often if a scan takes long"
    if lacks_change_events(vault):
        return warning(
            f"The vault's drive does not report changes, {scanned}.", "Changes are shown a little later than usual."
        )
    if sys.platform.startswith("linux") and watches is not None and folders >= watches:
        return warning(
            f"The vault has {format_count(folders, 'folder')}, but the system allows only {watches:,} watches per user,"
            f" {scanned}.",
            f"Raise the limit now: `sudo sysctl fs.inotify.max_user_watches={2 * folders}`. To keep it, put"
            f" `fs.inotify.max_user_watches={2 * folders}` into a file in /etc/sysctl.d/.",
        )
    return ok(
        "Changes in the vault are noticed at once"
        + (f"; this takes {folders:,} of {watches:,} watches" if watches is not None and folders else "")
    )


# --- store ------------------------------------------------------------------------------------------------------------
# A vault in a store: whatever the package of the store checks.


def check_store(address: str, settings: Settings) -> Iterator[Finding]:
    """Check the vault at the address of a store, with the rights of the user who connects."""
    try:
        store = parse_address(address)
    except ExcerptError as error:
        yield problem(error.message, error.hint)
        return
    yield from store.check(settings)
