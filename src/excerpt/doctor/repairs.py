"""Repair what needs no question (`--fix`): update the index and restrict permissions.

The content of settings, memories and the vault is never changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from excerpt.doctor.checks import named
from excerpt.doctor.look import Diagnosis
from excerpt.errors import ExcerptError
from excerpt.model import BuildReport, Progress
from excerpt.settings import Paths
from excerpt.state_files import close_to_others, open_to_others
from excerpt.text.display import counted


@dataclass(frozen=True, slots=True)
class Mended:
    """What was repaired, and what was left as it is, one sentence each."""

    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def mend(diagnosis: Diagnosis, where: Paths, progress: Callable[[Progress], None]) -> Mended:
    """Remove the access of other users, update the index and rebuild damaged parts of it.

    The content of settings, memories and the vault is not changed.
    """
    private, index = _close(where.folders), _mend_index(diagnosis, progress)
    return Mended((*private.done, *index.done), (*private.left, *index.left))


def _close(folders: Iterable[Path]) -> Mended:
    open_paths = {path for folder in folders for path in open_to_others(folder)}
    for folder in folders:
        close_to_others(folder)
    unclosed = [path for folder in folders for path in open_to_others(folder)]
    closed = len(open_paths) - len(unclosed)
    done = (f"Closed to other users: {counted(closed, 'file or folder', 'files and folders')}.",)
    left = (
        f"Still open to other users: {named(list(map(str, unclosed)))}. Its disk or owner does not allow closing them.",
    )
    return Mended(done if closed else (), left if unclosed else ())


def _mend_index(diagnosis: Diagnosis, progress: Callable[[Progress], None]) -> Mended:
    if not _needs_build(diagnosis):
        return Mended()
    assert diagnosis.folder is not None
    if diagnosis.vault is None:
        return Mended(left=("The index is unchanged: the vault cannot be read.",))
    if not diagnosis.settings_valid:
        return Mended(left=("The index is unchanged: the settings are not valid.",))
    from excerpt.index.build import build
    from excerpt.index.verify import schedule_repair

    try:
        if diagnosis.health is not None and diagnosis.health.faults:
            schedule_repair(diagnosis.folder, diagnosis.health.faults)
        report = build(diagnosis.vault, diagnosis.folder, diagnosis.settings, progress)
    except ExcerptError as error:
        return Mended(left=(f"The index is unchanged: {error}",))
    except (OSError, sqlite3.Error) as error:
        return Mended(left=(f"The index is unchanged: it cannot be written ({error}).",))
    return Mended(done=tuple(_done(diagnosis, report)))


def _needs_build(diagnosis: Diagnosis) -> bool:
    health = diagnosis.health
    if health is None:
        return diagnosis.folder is not None and diagnosis.vault is not None
    orphaned_vaults = any(newer for _, _, newer in health.left)
    return bool(health.faults or health.stale or health.behind or orphaned_vaults)


def _done(diagnosis: Diagnosis, report: BuildReport) -> Iterator[str]:
    if report.rebuilt:
        yield f"Rebuilt: {report.rebuilt.rstrip('.')}."
    changes = {"added": report.added, "read again": report.changed, "removed": report.removed}
    if any(changes.values()):
        summary = ", ".join(f"{number:,} {action}" for action, number in changes.items() if number)
        yield f"Brought up to date: {summary}; {counted(report.added + report.changed + report.unchanged, 'note')} now."
    left = diagnosis.health.left if diagnosis.health is not None else []
    removed = sum(not (diagnosis.folder / name).exists() for name, _, _ in left) if diagnosis.folder is not None else 0
    if removed:
        yield f"Removed {counted(removed, 'file')} not in use."
