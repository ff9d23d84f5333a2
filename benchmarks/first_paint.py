"""Measure the time from process start to the first frame on the terminal, as a ratio to a bare Textual app.

The two are started alternately, so that the machine's other load affects both.
"""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import statistics
import struct
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Data, environment, index, table

REPEATS, WARM_UPS = 15, 1
"""Starts of each that are measured, and starts before them that warm the disk cache."""
GOAL = 1.5
BARE = (sys.executable, "-m", "benchmarks.bare_app"), b"painted"
PAINTED = b"Search"  # the name of the tab that is open at the start
SIZES = ((80, 24), (140, 45))


def measure(data: Data) -> None:
    print("\n## First paint\n")
    from excerpt.vault.known_vaults import DEMO

    named = [("demo", DEMO), *((name, vault) for name in ("cpp-docs",) if (vault := data.vault(name)) is not None)]
    rows: list[Sequence[str]] = []
    for name, vault in named:
        index(vault)
        for columns, lines in SIZES:
            ours = ((sys.executable, "-m", "excerpt", str(vault)), PAINTED)
            bare, mine = _interleaved(ours, columns, lines)
            ratio = f"{mine / bare:.2f}"
            rows.append((f"{name} {columns}x{lines}", f"{bare:.0f}", f"{mine:.0f}", ratio, f"{GOAL}"))
    table(("vault and size", "bare ms", "excerpt ms", "ratio", "goal"), rows)


Started = tuple[Sequence[str], bytes]


def _interleaved(ours: Started, columns: int, lines: int) -> tuple[float, float]:
    """Return the median milliseconds of the bare app and of excerpt."""
    spent: dict[Started, list[float]] = {BARE: [], ours: []}
    for repeat in range(WARM_UPS + REPEATS):
        for started, times in spent.items():
            took = time_to_output(*started, columns=columns, lines=lines)
            if repeat >= WARM_UPS:
                times.append(took)
    return statistics.median(spent[BARE]), statistics.median(spent[ours])


def time_to_output(
    command: Sequence[str], wanted: bytes, columns: int, lines: int, folder: Path | None = None
) -> float:
    """Return milliseconds until `command`, in a pseudo-terminal, has printed `wanted`; it is killed then."""
    began = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.chdir(folder or Path.cwd())
            os.execvpe(command[0], list(command), environment())
        finally:
            os._exit(127)
    output = b""
    try:
        while wanted not in output:
            output += os.read(terminal, 65536)
    except OSError as error:
        raise RuntimeError(f"{command} ended before it printed {wanted!r}: {output[-500:]!r}") from error
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    return (time.perf_counter() - began) * 1e3
