"""Processes of one excerpt home, found in Linux's /proc, whoever started them."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

PATIENCE_SECONDS = 240.0
"""Longer than any process takes to end, also beside other work."""


def processes_of(home: Path) -> dict[int, str]:
    """Return the command line of each process whose EXCERPT_HOME is this folder, by process id."""
    wanted = f"EXCERPT_HOME={home}".encode()
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found[int(process.name)] = (
                    (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
        except OSError:  # ended, or another user's
            continue
    return found


def wait_for_end(home: Path) -> dict[int, str]:
    """Wait until all processes of a home have ended, at most PATIENCE_SECONDS; return those still running."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (left := processes_of(home)) and (remaining := deadline - time.monotonic()) > 0:
        try:
            watched = os.pidfd_open(next(iter(left)))
        except ProcessLookupError:
            continue
        try:
            select.select([watched], [], [], remaining)
        finally:
            os.close(watched)
    return left


def resident_memory(process: int) -> int:
    """Return the resident memory of a process, in bytes."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024
