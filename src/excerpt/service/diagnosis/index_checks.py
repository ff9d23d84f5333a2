"""The checks of a vault's index: whether it agrees with the vault and with itself, and which process writes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from filelock import Timeout

from excerpt.base.settings import Settings
from excerpt.base.state_files import file_lock
from excerpt.index.verify import Fault, IndexHealth, OnExamined, RepairPart, StaleReason, examine
from excerpt.index.writer import LOCK_FILE
from excerpt.service.diagnosis.vault_checks import VaultCheck
from excerpt.service.findings import Finding, megabytes, ok, problem, warning
from excerpt.text.display import format_count, format_names

_MAX_LISTED_FAULTS = 5
_FIX_COMMAND = "Run `excerpt doctor --fix`"
_REPAIR_HINTS = {
    RepairPart.CATALOG: f"{_FIX_COMMAND}: it rebuilds everything from the vault.",
    RepairPart.NOTE: f"{_FIX_COMMAND}: it reads the note again.",
    RepairPart.WORDS: f"{_FIX_COMMAND}: it rebuilds the words from the catalog.",
    RepairPart.VECTORS: f"{_FIX_COMMAND}: it rebuilds the vectors from the catalog.",
}


def check_health(health: IndexHealth, *, quick: bool) -> Iterator[Finding]:
    """Yield findings about an examined index; with `quick`, files that seem unchanged were not read."""
    if health.generation:
        size_text = f"{format_count(health.notes, 'note')}, {format_count(health.fragments, 'fragment')}"
        yield ok(f"The index has generation {health.generation}: {size_text}, {megabytes(health.size)}")
    yield from _stale_findings(health)
    for part in RepairPart:
        yield from _fault_findings([fault for fault in health.faults if fault.part is part])
    if health.generation and not any(fault.part is RepairPart.CATALOG for fault in health.faults):
        yield from _intact_findings(health, quick=quick)
    for stale_part in health.outdated:
        yield warning(f"A part of the index is out of date: {stale_part}.", "Update the index with `excerpt index`.")
    yield from _leftover_findings(health)
    for reason, number in health.skipped.most_common():
        skipped = format_count(number, "file was", "files were")
        yield ok(f"{skipped} skipped: {reason} (`excerpt status` lists the files)")


def _stale_findings(health: IndexHealth) -> Iterator[Finding]:
    for why in StaleReason:
        paths = [path for path, reason in health.stale if reason is why]
        if paths:
            notes = format_count(len(paths), "note is", "notes are")
            yield warning(
                f"The index is not up to date: {notes} {why} ({format_names(paths)}).",
                "Run `excerpt index`. The next search also updates the index.",
            )


def _fault_findings(faults: list[Fault]) -> Iterator[Finding]:
    for fault in faults[:_MAX_LISTED_FAULTS]:
        yield problem(f"{fault.path}: {fault.reason}", _REPAIR_HINTS[fault.part])
    if len(faults) > _MAX_LISTED_FAULTS:
        more = format_count(len(faults) - _MAX_LISTED_FAULTS, "more fault")
        yield problem(f"The index has {more} of this kind.", _REPAIR_HINTS[faults[0].part])


def _intact_findings(health: IndexHealth, *, quick: bool) -> Iterator[Finding]:
    """Yield findings about the parts of the index that are unaltered."""
    faulty_parts = {fault.part for fault in health.faults}
    if RepairPart.NOTE not in faulty_parts:
        yield ok("The rows of all notes and fragments have the checksums with which they were written")
    if RepairPart.WORDS not in faulty_parts:
        yield ok("The word index is unaltered, and has the fragments of the catalog")
    if RepairPart.VECTORS not in faulty_parts and health.vectors:
        verb = "is" if health.vectors == 1 else "are"
        yield ok(f"{format_count(health.vectors, 'vector')} {verb} the same in the catalog and the matrix file")
    if quick:
        yield ok("Files whose size and time are unchanged were not read (--quick)")


def _leftover_findings(health: IndexHealth) -> Iterator[Finding]:
    before = [(name, size) for name, size, newer in health.leftovers if not newer]
    if before:
        total = megabytes(sum(size for _, size in before))
        files = format_count(len(before), "file is", "files are")
        yield ok(f"{files} of the previous generation of the index ({total}), which the next build removes")
    newer = [name for name, _, newer in health.leftovers if newer]
    if newer:
        yield warning(
            f"The index folder has files that are not part of the index: {format_names(newer)}."
            " An interrupted build may have left them.",
            f"{_FIX_COMMAND} when no build is running: it removes them.",
        )


def check_lock(folder: Path) -> Finding:
    """Return a finding that says whether a process is writing the index, and which, by the lock of the index."""
    try:
        with file_lock(folder / LOCK_FILE, 0):
            return ok("No process is writing the index")
    except Timeout:
        holder = _lock_holder(folder / LOCK_FILE)
        return ok(f"The index is being written by {holder or 'another process'}")
    except OSError as error:
        return problem(
            f"The lock file of the index cannot be opened: {error.strerror or error}.",
            f"Permit reading and writing in {folder}.",
        )


def _lock_holder(file: Path) -> str:
    """Return the process that holds the lock on `file`, such as "process 17 (excerpt)"; "" if unknown.

    It is found in Linux's /proc/locks.
    """
    with suppress(OSError, ValueError):
        status = file.stat()
        lock_key = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if len(fields) > 5 and fields[5] == lock_key and "->" not in fields:
                command = Path(f"/proc/{int(fields[4])}/cmdline").read_bytes().decode("utf-8", "replace")
                return f"process {fields[4]} ({' '.join(command.split(chr(0))).strip()})"
    return ""


def check_index(
    folder: Path, vault_check: VaultCheck, settings: Settings, tick: OnExamined, *, quick: bool
) -> tuple[IndexHealth | None, list[Finding]]:
    """Examine the index in `folder`, and return its health (None if there is none) and the findings about it."""
    try:
        health = examine(folder, vault_check.vault, vault_check.scan, settings, tick, quick=quick)
    except FileNotFoundError:
        return None, [
            warning(f"There is no index in {folder} yet.", "Build the index with `excerpt index` or any search.")
        ]
    return health, [*check_health(health, quick=quick), check_lock(folder)]
