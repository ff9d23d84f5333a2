"""What an examination of the index found, in sentences; and who is writing it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from excerpt.doctor.finding import Finding, megabytes, named, ok, problem, warning
from excerpt.index.health import Fault, Health, Part, Stale
from excerpt.index.writer import LOCK
from excerpt.state_files import LOCK_MODE
from excerpt.text.counted import counted

_NAMED = 5
_FIX = "Run `excerpt doctor --fix`"
_HOW = {
    Part.CATALOG: f"{_FIX}: all is made anew from the vault.",
    Part.NOTE: f"{_FIX}: the note is read again.",
    Part.WORDS: f"{_FIX}: the words are made anew from the catalog.",
    Part.VECTORS: f"{_FIX}: the vectors are made anew from the catalog.",
}


def findings_of(health: Health, *, quick: bool) -> Iterator[Finding]:
    """The lines about an index that is there."""
    if health.generation:
        held = f"{counted(health.notes, 'note')}, {counted(health.fragments, 'fragment')}"
        yield ok(f"Generation {health.generation}: {held}, {megabytes(health.size)}")
    yield from _stale(health)
    for part in Part:
        yield from _faults([fault for fault in health.faults if fault.part is part])
    if health.generation and not any(fault.part is Part.CATALOG for fault in health.faults):
        yield from _agreements(health, quick=quick)
    for what in health.behind:
        yield warning(f"Not brought up yet: {what}.", "The next `excerpt index` does it.")
    yield from _left(health)
    for reason, number in health.skipped.most_common():
        yield ok(f"{counted(number, 'file')} skipped: {reason} (`excerpt status` names them)")


def _stale(health: Health) -> Iterator[Finding]:
    for why in Stale:
        paths = [path for path, reason in health.stale if reason is why]
        if paths:
            said = f"Not indexed yet, {why}: {counted(len(paths), 'note')} ({named(paths)})"
            yield warning(f"{said}.", "Run `excerpt index`, or leave it to the next search.")


def _faults(faults: list[Fault]) -> Iterator[Finding]:
    for fault in faults[:_NAMED]:
        yield problem(f"{fault.where}: {fault.what}", _HOW[fault.part])
    if len(faults) > _NAMED:
        yield problem(f"And {len(faults) - _NAMED:,} more of this kind.", _HOW[faults[0].part])


def _agreements(health: Health, *, quick: bool) -> Iterator[Finding]:
    """What was held against its source and agrees."""
    wrong = {fault.part for fault in health.faults}
    if Part.NOTE not in wrong:
        more = "" if quick else ", and what they were cut into is what their text gives"
        yield ok(f"The line ranges of {counted(health.fragments, 'fragment')} hold their text{more}")
    if Part.WORDS not in wrong and health.postings:
        yield ok(f"{counted(health.postings, 'posting')} and all lengths are those of the text, counted once more")
    if Part.VECTORS not in wrong and health.vectors:
        more = "" if quick or health.behind else ", as the model makes them"
        yield ok(f"{counted(health.vectors, 'vector')} in the catalog and the same in the matrix{more}")
    if quick:
        yield ok("Words, vectors and unchanged files were not made or read once more (--quick)")


def _left(health: Health) -> Iterator[Finding]:
    before = [(name, size) for name, size, newer in health.left if not newer]
    if before:
        total = megabytes(sum(size for _, size in before))
        yield ok(f"{counted(len(before), 'file')} ({total}) of the generation before, which the next build removes")
    newer = [name for name, _, newer in health.left if newer]
    if newer:
        yield warning(
            f"Left by a build that did not end, or not of the index: {named(newer)}.",
            f"{_FIX}, if no build is running.",
        )


def lock(folder: Path) -> Finding:
    """Who is writing the index. The lock is the system's and ends with its holder."""
    try:
        with FileLock(folder / LOCK, timeout=0, mode=LOCK_MODE):
            return ok("Nobody is writing it")
    except Timeout:
        holder = _holder(folder / LOCK)
        return ok(f"It is being written by {holder or 'another process'}")
    except OSError as error:
        return problem(f"Its lock cannot be taken: {error.strerror or error}.", "Give permission in the index folder.")


def _holder(file: Path) -> str:
    """The process that holds a lock on `file`, as Linux tells; "" if that is not known."""
    with suppress(OSError, ValueError):
        status = file.stat()
        wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if len(fields) > 5 and fields[5] == wanted and "->" not in fields:
                command = Path(f"/proc/{int(fields[4])}/cmdline").read_bytes().decode("utf-8", "replace")
                return f"process {fields[4]} ({' '.join(command.split(chr(0))).strip()})"
    return ""
