"""Repair problems without asking (`excerpt doctor --fix`): update the index and restrict permissions.

The content of settings, memories and the vault is never changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from excerpt.base.errors import ExcerptError
from excerpt.base.model import BuildReport, Progress
from excerpt.base.settings import Paths
from excerpt.base.state_files import find_shared_paths, remove_others_permissions
from excerpt.index.verify import schedule_repair
from excerpt.service.diagnosis.diagnose import Diagnosis
from excerpt.service.index_update import update_index
from excerpt.text.display import format_count, format_names


class Repairs(Struct, frozen=True):
    """Sentences about what was repaired (`done`), and about what was not (`left`)."""

    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def repair(diagnosis: Diagnosis, paths: Paths, progress: Callable[[Progress], None]) -> Repairs:
    """Make excerpt's folders private to the user, update the index and rebuild its damaged parts.

    The content of settings, memories and the vault is not changed. `progress` is called while the index is built.
    """
    private, index = _restrict_permissions(paths.folders), _repair_index(diagnosis, paths, progress)
    return Repairs((*private.done, *index.done), (*private.left, *index.left))


def _restrict_permissions(folders: Iterable[Path]) -> Repairs:
    readable_paths = {path for folder in folders for path in find_shared_paths(folder)}
    for folder in folders:
        remove_others_permissions(folder)
    still_readable = [path for folder in folders for path in find_shared_paths(folder)]
    closed_count = len(readable_paths) - len(still_readable)
    files = format_count(closed_count, "file or folder", "files and folders")
    done = (f"Other users can no longer read {files}.",)
    names = format_names(list(map(str, still_readable)))
    left = (f"Other users can still read {names}: the disk or the owner does not allow a change.",)
    return Repairs(done if closed_count else (), left if still_readable else ())


def _repair_index(diagnosis: Diagnosis, paths: Paths, progress: Callable[[Progress], None]) -> Repairs:
    if not _needs_build(diagnosis):
        return Repairs()
    assert diagnosis.folder is not None
    if diagnosis.vault is None:
        return Repairs(left=("The index is unchanged: the vault cannot be read.",))
    if not diagnosis.settings_valid:
        return Repairs(left=("The index is unchanged: the settings are not valid.",))
    try:
        if diagnosis.health is not None and diagnosis.health.faults:
            schedule_repair(diagnosis.folder, diagnosis.health.faults)
        report = update_index(diagnosis.vault, diagnosis.settings, paths, progress, accept_all=True)
    except ExcerptError as error:
        return Repairs(left=(f"The index is unchanged: {error}",))
    except (OSError, sqlite3.Error) as error:
        return Repairs(left=(f"The index is unchanged: it cannot be written ({error}).",))
    return Repairs(done=tuple(_describe_repairs(diagnosis, report)))


def _needs_build(diagnosis: Diagnosis) -> bool:
    """Return whether the index is missing, faulty or out of date, or has files left by an interrupted build."""
    health = diagnosis.health
    if health is None:
        return diagnosis.folder is not None and diagnosis.vault is not None
    has_leftovers = any(newer for _, _, newer in health.leftovers)
    return bool(health.faults or health.stale or health.outdated or has_leftovers)


def _describe_repairs(diagnosis: Diagnosis, report: BuildReport) -> Iterator[str]:
    """Yield sentences about what a build has repaired in the index."""
    if report.rebuilt:
        yield f"Rebuilt {report.rebuilt.rstrip('.')}."
    changes = {"added": report.added, "read again": report.changed, "removed": report.removed}
    if any(changes.values()):
        summary = ", ".join(f"{number:,} {action}" for action, number in changes.items() if number)
        notes = format_count(report.added + report.changed + report.unchanged, "note")
        yield f"The index was updated: {summary}. It has {notes} now."
    left = diagnosis.health.leftovers if diagnosis.health is not None else []
    removed = sum(not (diagnosis.folder / name).exists() for name, _, _ in left) if diagnosis.folder is not None else 0
    if removed:
        yield f"Removed {format_count(removed, 'file')} that the index does not use."
