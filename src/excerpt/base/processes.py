"""Commands that start other processes without ever running code from the working directory; the cores of this one.

The working directory is often a vault or a cloned project, whose Python files and programs must not be run. But
`python -m` and `python -c` put this directory first on the import path, and Windows searches it first for programs.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from excerpt.base.errors import ExcerptError
from excerpt.base.patterns import lazy_pattern

T = TypeVar("T")

# --- Python -----------------------------------------------------------------------------------------------------------


def python_command(*arguments: str) -> list[str]:
    """Return the command that runs this Python with `arguments`, without the working directory on the import path."""
    flags = sys.flags
    options = ["-P"]
    options += ["-E"] if flags.ignore_environment else []
    options += ["-s"] if flags.no_user_site else []
    options += ["-X", "utf8"] if flags.utf8_mode else []
    return [sys.executable, *options, *arguments]


def excerpt_command(*arguments: str | Path) -> list[str]:
    """Return the command that runs excerpt itself with these arguments."""
    return python_command("-m", "excerpt", *map(str, arguments))


def watch_command(vault: Path) -> list[str]:
    """Return the command that builds and watches the index of `vault`, and reports it as lines of JSON."""
    return excerpt_command("watch", "--vault", vault, "--progress")


def start_arguments(module: str, *arguments: str) -> list[str]:
    """Return arguments for Python that call `main()` of an excerpt module, with the import path of this process.

    The module finds `arguments` in `sys.argv[3:]`.
    """
    return ["-c", _START_SCRIPT, json.dumps(import_path()), module, *arguments]


_START_SCRIPT = """
import sys
from importlib import import_module
from json import loads
sys.path[:] = loads(sys.argv[1])
import_module(sys.argv[2]).main()
"""


def import_path() -> list[str]:
    """Return this process's import path without relative entries, which mean the working directory."""
    entries = [entry for entry in sys.path if Path(entry).is_absolute()]
    own = str(Path(__file__).parents[2])
    return entries if own in entries else [*entries, own]


# --- other programs ---------------------------------------------------------------------------------------------------

_BATCH_SUFFIXES = (".bat", ".cmd")
_CMD_SPECIAL = lazy_pattern(r'[&|<>^%!"\x00-\x1f]')
"""Characters in an argument that cmd.exe, which runs batch files, may interpret, even between quotation marks."""


def find_program(
    name: str, *, environment: Mapping[str, str] | None = None, platform: str = sys.platform
) -> str | None:
    """Return the absolute path of a program, searched only in the absolute folders of PATH; None if there is none.

    Unlike `shutil.which`, this never finds a program in the working directory, as Windows and relative entries of PATH
    would. A `name` with a folder in it is a path that the user wrote, and is looked up unchanged.
    """
    if os.path.dirname(name):  # noqa: PTH120 - "./vi" has a folder, which Path forgets
        return shutil.which(name)
    environment = os.environ if environment is None else environment
    for entry in environment.get("PATH", os.defpath).split(";" if platform == "win32" else ":"):
        if Path(entry).is_absolute():
            for file_name in _candidate_file_names(name, environment, platform):
                file = Path(entry, file_name)
                if file.is_file() and os.access(file, os.X_OK):
                    return str(file)
    return None


def _candidate_file_names(name: str, environment: Mapping[str, str], platform: str) -> Iterator[str]:
    """Yield the file names that the program `name` may have: on Windows with each suffix of PATHEXT."""
    if platform != "win32":
        yield name
        return
    endings = [ending for ending in environment.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";") if ending]
    if name.lower().endswith(tuple(ending.lower() for ending in endings)):
        yield name
    yield from (name + ending for ending in endings)


def program_command(argv: Sequence[str], *, platform: str = sys.platform) -> list[str]:
    """Return `argv` with the program's absolute path in place of its name, so that the system need not search it.

    Raises FileNotFoundError if there is no such program. Raises ExcerptError if the program is a batch file and an
    argument has a character that cmd.exe could run as a command.
    """
    program = find_program(argv[0], platform=platform)
    if program is None:
        raise FileNotFoundError(2, "No such program on PATH", argv[0])
    if platform == "win32" and program.lower().endswith(_BATCH_SUFFIXES):
        for argument in argv[1:]:
            if sign := _CMD_SPECIAL.search(argument):
                raise ExcerptError(
                    f"{argv[0]} is a batch file, and {sign[0]!r} in its argument {argument!r} could run a command.",
                    "Name the program's .exe file instead.",
                )
    return [program, *argv[1:]]


# --- cores and threads ------------------------------------------------------------------------------------------------


def count_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_in_thread(compute: Callable[[], T]) -> Callable[[], T]:
    """Start `compute` in a second thread, and return a function that returns its result, or raises what it raised.

    With a single core, or if no thread can be started, the returned function computes.
    """
    if count_cores() < 2:
        return compute
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(compute())
        except BaseException as error:  # raised where the result is needed
            errors.append(error)

    thread = threading.Thread(target=run, name="compute", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the system has no thread left, or Python is about to end
        return compute

    def wait() -> T:
        thread.join()
        if errors:
            raise errors[0]
        return results[0]

    return wait
