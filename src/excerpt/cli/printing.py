"""What commands print and read: data on stdout, narration on stderr, and files that the user names."""

from __future__ import annotations

import codecs
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

import click

from excerpt.errors import ExcerptError, StreamError
from excerpt.json_forms import as_data
from excerpt.state_files import swap_file, users_umask
from excerpt.text.display import counted, visible, visible_json, visible_line

if TYPE_CHECKING:
    from excerpt.model import Progress


# --- printing ---------------------------------------------------------------------------------------------------------


def put(text: str, end: str = "\n") -> None:
    """Data to stdout, byte for byte (click.echo takes escape sequences out where stdout is a pipe). Raises StreamError,
    and BrokenPipeError where the reader is gone."""
    ProgressLine.clear()
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()  # who reads us shows progress, or has had enough and is gone
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritten(error) from error


def unwritten(error: OSError) -> StreamError:
    return StreamError("The output cannot be written to stdout", error)


def print_json(value: Any) -> None:
    """A value, as `as_data` has it, on one line of stdout, where nothing is left that a terminal would obey. What
    each command prints is described in the guide's note on JSON forms."""
    put(visible_json(json.dumps(as_data(value), ensure_ascii=False)))


def for_stdout(text: str) -> str:
    """Text of the vault as stdout may have it: a terminal gets its controls shown, a pipe gets it as it is.

    Titles, paths and the like, which have a line among ours, go through `visible_line` instead, in a pipe too: there a
    line feed would forge another line.
    """
    return visible(text) if sys.stdout.isatty() else text


def narrate(sentence: str) -> None:
    """One line of narration on stderr."""
    say(f"excerpt: {visible_line(sentence)}\n")


def say(text: str) -> None:
    """Text to stderr. Where it cannot be written, the command goes on all the same."""
    ProgressLine.clear()
    with suppress(OSError):
        click.echo(text, err=True, nl=False)


class ProgressLine:
    """A build's progress on one line of a terminal, written over again and again, and gone when anything else is
    printed; silent where there is no terminal."""

    drawn: ClassVar[ProgressLine | None] = None
    """The one that the terminal shows."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, progress: Progress) -> None:
        if not self._shown:
            return
        files = f"{progress.notes_done:,} of {counted(progress.notes_total, 'file')}"
        line = visible_line(f"{progress.phase} · {files} · {progress.seconds:.0f} s · {progress.current}")
        width = shutil.get_terminal_size().columns
        self._stream.write(f"\r\x1b[K{line[: width - 1]}")
        self._stream.flush()
        ProgressLine.drawn = self

    @classmethod
    def clear(cls) -> None:
        """Clear the line, if there is one."""
        line, cls.drawn = cls.drawn, None
        if line is not None:
            with suppress(OSError):
                line._stream.write("\r\x1b[K")
                line._stream.flush()


# --- files that the user names ----------------------------------------------------------------------------------------
# What a command reads beside the vault: a file that the user names, or stdin.

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_input(file: str | Path, what: str, most: int = 64 << 20) -> str:
    """The text of `file`, or of stdin where it is "-", its lines ended by line feeds; `what` is what it is to be.

    It may be UTF-8, or UTF-16 that says so, as PowerShell writes it; a byte order mark is left out. Raises a usage
    error if it is no text, a file that cannot be read, or more than `most` bytes; StreamError if stdin cannot be read.
    """
    name = f"The {what} {'on stdin' if str(file) == '-' else file}"
    content = _bytes_of_stdin(most + 1, name) if str(file) == "-" else _bytes_of(Path(file), most + 1, name)
    if len(content) > most:
        raise click.UsageError(f"{name} is larger than {most >> 20} MB.")
    try:
        text = content.decode("utf-16" if content.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        encoding = error.encoding.upper()
        raise click.UsageError(f"{name} is not {encoding}: {error.reason} at byte {error.start:,}.") from error
    return io.StringIO(text, newline=None).read()


def _bytes_of_stdin(size: int, name: str) -> bytes:
    try:
        return sys.stdin.buffer.read(size)
    except OSError as error:
        raise StreamError(f"{name} cannot be read", error) from error


def _bytes_of(file: Path, size: int, name: str) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(size)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise click.UsageError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


# --- output into a file -----------------------------------------------------------------------------------------------
# Writing a command's output to a file that the user names.


def checked_output(file: Path, vault_around: Callable[[Path], Path | None]) -> Path:
    """Return the file that `file` means, all links followed. Raises a usage error if it is a folder, or in a vault,
    which excerpt never writes to."""
    try:
        real = file.expanduser().resolve()
        if vault := vault_around(real):
            raise click.UsageError(
                f"{file} is inside the vault {vault}, where excerpt never writes: choose a file elsewhere."
            )
        if real.is_dir():
            raise click.UsageError(f"{file} is a folder: name a file in it.")
    except (OSError, RuntimeError, ValueError) as error:
        raise click.UsageError(f"{file} cannot be a file: {error}.") from error
    return real


def save(file: Path, text: str) -> int:
    """Write `text` to `file`, all of it or nothing; returns its bytes. What is no regular file, such as a pipe, is
    written to as it is. Raises ExcerptError."""
    data = text.encode("utf-8", "backslashreplace")  # as on stdout
    try:
        if not file.exists():
            umask = users_umask()
            swap_file(file, data, mode=0o666 & ~umask if umask >= 0 else None)
        elif file.is_file():
            swap_file(file, data, mode=file.stat().st_mode & 0o7777)
        else:
            file.write_bytes(data)
    except OSError as error:
        raise ExcerptError(
            f"{file} cannot be written: {error.strerror or error}.",
            "Check that its folder is there and may be written to.",
        ) from error
    return len(data)
