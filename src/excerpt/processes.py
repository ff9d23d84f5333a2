"""Commands of the processes that excerpt starts, none of which comes from the working directory.

That directory is often a vault, or a project that somebody cloned: a Python file or a program in it is not to be run.
`python -m` and `python -c` put it first on the import path, and Windows looks for programs there first.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from excerpt.errors import ExcerptError

# --- Python -----------------------------------------------------------------------------------------------------------


def python_command(*arguments: str) -> list[str]:
    """Return the command that runs this Python without the working directory on the import path (`-P`)."""
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
    """Return the arguments of a Python that calls `main()` of one of our modules with this process's import path.

    `arguments` are in `sys.argv[3:]` there.
    """
    return ["-c", _START, json.dumps(import_path()), module, *arguments]


_START = """
import sys
from importlib import import_module
from json import loads
sys.path[:] = loads(sys.argv[1])
import_module(sys.argv[2]).main()
"""


def import_path() -> list[str]:
    """Return this process's import path without relative entries, which mean the working directory."""
    entries = [entry for entry in sys.path if Path(entry).is_absolute()]
    own = str(Path(__file__).parents[1])
    return entries if own in entries else [*entries, own]


# --- other programs ---------------------------------------------------------------------------------------------------

_BATCH = (".bat", ".cmd")
_OF_CMD = re.compile(r'[&|<>^%!"\x00-\x1f]')
"""What cmd.exe, which runs batch files, takes for a command of its own, also between quotation marks."""


def find_program(
    name: str, *, environment: Mapping[str, str] | None = None, platform: str = sys.platform
) -> str | None:
    """Return the absolute path of a program, as `shutil.which` finds it, but in the absolute folders of PATH alone.

    Windows, and an empty or relative entry of PATH, would have it found in the working directory. A name with a folder
    is what the user wrote, and stays.
    """
    if os.path.dirname(name):  # noqa: PTH120 - "./vi" has a folder, which Path forgets
        return shutil.which(name)
    environment = os.environ if environment is None else environment
    for entry in environment.get("PATH", os.defpath).split(";" if platform == "win32" else ":"):
        if Path(entry).is_absolute():
            for file_name in _file_names(name, environment, platform):
                file = Path(entry, file_name)
                if file.is_file() and os.access(file, os.X_OK):
                    return str(file)
    return None


def _file_names(name: str, environment: Mapping[str, str], platform: str) -> Iterator[str]:
    """Yield the names that the file of a program may have: Windows adds the endings of PATHEXT."""
    if platform != "win32":
        yield name
        return
    endings = [ending for ending in environment.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";") if ending]
    if name.lower().endswith(tuple(ending.lower() for ending in endings)):
        yield name
    yield from (name + ending for ending in endings)


def program_command(argv: Sequence[str], *, platform: str = sys.platform) -> list[str]:
    """Return `argv` with the program's path in place of its name, so that the system does not search for it.

    Raises FileNotFoundError if there is no such program, ExcerptError for an argument that a batch file would run.
    """
    program = find_program(argv[0], platform=platform)
    if program is None:
        raise FileNotFoundError(2, "No such program on PATH", argv[0])
    if platform == "win32" and program.lower().endswith(_BATCH):
        for argument in argv[1:]:
            if sign := _OF_CMD.search(argument):
                raise ExcerptError(
                    f"{argv[0]} is a batch file, and {argument!r} has a {sign[0]!r}, which it could run as a command.",
                    "Name the program's .exe instead.",
                )
    return [program, *argv[1:]]
