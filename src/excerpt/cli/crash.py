"""Log a bug in excerpt: write the traceback to a file and return a sentence for the user."""

from __future__ import annotations

import datetime
import platform
import shlex
import traceback
from collections.abc import Sequence

from excerpt import __version__
from excerpt.base.errors import ExcerptError
from excerpt.base.settings import user_paths
from excerpt.base.state_files import open_nonblocking


def log_crash(error: BaseException, argv: Sequence[str]) -> str:
    """Write the traceback of a bug to errors.log in the state folder, and return a sentence that names the file.

    `argv` are the arguments of the command line, for the log.
    """
    message = f"something went wrong inside excerpt ({type(error).__name__}: {str(error) or 'no message'})."
    try:
        log = user_paths().state / "errors.log"
    except ExcerptError as folder_error:
        return f"{message} {folder_error}"
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    heading = f"{now} excerpt {__version__}, Python {platform.python_version()}, {platform.system()}"
    trace = "".join(traceback.format_exception(error))
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "a", encoding="utf-8", errors="backslashreplace", opener=open_nonblocking) as file:
            file.write(f"{heading}\nexcerpt {shlex.join(argv)}\n{trace}\n")
    except OSError as write_error:
        return f"{message} The details could not be written to {log}: {write_error.strerror}."
    return f"{message} The details are in {log}."
