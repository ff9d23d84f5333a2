"""Helpers of all benchmarks: the data, an own home folder, figures, and tables on stdout and in files."""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

WORK = Path("build/bench")
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Data:
    """The folder of vaults, queries and the plain baseline, which is not part of this repository."""

    root: Path

    @property
    def there(self) -> bool:
        """Whether the folder of vaults exists; a single vault may still be missing."""
        return (self.root / "data" / "vaults").is_dir()

    def vault(self, name: str) -> Path | None:
        """Return the folder of the vault `name`, or print that it is missing and return None."""
        folder = self.root / "data" / "vaults" / name
        if folder.is_dir():
            return folder
        print(f"  {name} is not at {folder}: left out")
        return None

    def queries(self, name: str) -> list[str]:
        file = self.root / "data" / "queries" / f"{name}.jsonl"
        return [json.loads(line)["query"] for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]

    @property
    def baseline(self) -> Path:
        return self.root / "eval" / "baseline_fts5.py"


@dataclass(frozen=True)
class Run:
    """The result of one child process.

    Its output, wall seconds, the peak of resident memory in bytes (its own or that of its largest child), and the CPU
    seconds of it and its children.
    """

    output: str
    seconds: float
    peak: int
    cpu: float


def environment() -> dict[str, str]:
    """Return the environment of a user with default settings, and EXCERPT_HOME under build/bench."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "SYSTEMROOT") if name in os.environ}
    return {**kept, "EXCERPT_HOME": str((WORK / "home").resolve()), "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def run(command: Sequence[str], home: Mapping[str, str] | None = None, *, silent: bool = False) -> Run:
    """Run a command to its end, in `environment()` or `home`, and measure it.

    `silent` drops its stderr. Raises CalledProcessError if it fails.
    """
    began = time.perf_counter()
    said = subprocess.DEVNULL if silent else None
    with subprocess.Popen(command, env=home or environment(), stdout=subprocess.PIPE, stderr=said, text=True) as child:
        assert child.stdout is not None
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, list(command), output)
    return Run(output, time.perf_counter() - began, _peak(usage), usage.ru_utime + usage.ru_stime)


def _peak(usage: resource.struct_rusage) -> int:
    """Return the peak of resident memory in bytes; Linux reports KiB, macOS bytes."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def index(vault: Path, *options: str) -> Run:
    """Bring excerpt's index of a vault up to date through its command line."""
    return run([sys.executable, "-m", "excerpt", "index", "--vault", str(vault), "--json", *options])


def size_on_disk(path: Path) -> int:
    """Return the bytes of a file, or of all files under a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the values do not exceed (nearest rank, as in the scorer)."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def table(head: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, the first column left-aligned and the figures right-aligned."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    for row in (cells[0], rule, *cells[1:]):
        first, *others = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print(f"| {' | '.join((first, *others))} |", flush=True)


class _Kept(io.StringIO):
    """A text stream that keeps what is written and also passes it on."""

    def __init__(self, onward: TextIO) -> None:
        super().__init__()
        self._onward = onward

    def write(self, text: str) -> int:
        self._onward.write(text)
        return super().write(text)

    def flush(self) -> None:
        self._onward.flush()


def write_option(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the option `--write`, for `result`."""
    parser.add_argument("--write", action="store_true", help=f"write what is printed to {RESULTS.name}/{name}.md too")


@contextmanager
def result(name: str, title: str, *, write: bool) -> Iterator[None]:
    """Print a title; with `write`, save it and everything printed in this context to benchmarks/results/NAME.md.

    Nothing is saved after an error.
    """
    print(f"# {title}\n")
    kept = _Kept(sys.stdout)
    with redirect_stdout(kept):
        yield
    if write:
        RESULTS.mkdir(exist_ok=True)
        text = f"# {title}\n\n`make {name}` writes this file.\n\n{kept.getvalue().strip()}\n"
        (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
