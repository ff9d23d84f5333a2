"""Output and input of commands: results on stdout, messages on stderr, and files that the user names."""

from __future__ import annotations

import codecs
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

import click

from excerpt.base.errors import ExcerptError, StreamError
from excerpt.base.json_forms import to_json_value
from excerpt.base.state_files import swap_file, users_umask
from excerpt.text.display import (
    count_notes,
    format_count,
    format_duration,
    format_names,
    visible,
    visible_json,
    visible_line,
)

if TYPE_CHECKING:
    from excerpt.base.model import EmbeddingProgress, Progress


# --- printing ---------------------------------------------------------------------------------------------------------

MAX_COLUMNS = 120  # used of a wider terminal


def output_columns() -> int:
    """Return the maximum width of the output in columns: the terminal's, at most MAX_COLUMNS."""
    return min(shutil.get_terminal_size((MAX_COLUMNS, 24)).columns, MAX_COLUMNS)


def print_line(text: str, end: str = "\n") -> None:
    """Write text to stdout unchanged, and flush it; click.echo would strip escape sequences in a pipe.

    Raises StreamError if stdout cannot be written, BrokenPipeError if the reader of the pipe has ended.
    """
    ProgressLine.clear()
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()  # the reader may show progress, or may be gone already
    except BrokenPipeError:
        raise
    except OSError as error:
        raise make_output_error(error) from error


def make_output_error(error: OSError) -> StreamError:
    """Return the error to raise if writing to stdout failed with `error`."""
    return StreamError("The output cannot be written to stdout", error)


def print_json(value: Any) -> None:
    """Print a value (converted by `to_json_value`) as one line of JSON with control characters escaped.

    The guide's note on JSON forms describes the output of each command.
    """
    print_line(visible_json(json.dumps(to_json_value(value), ensure_ascii=False)))


def escape_for_stdout(text: str) -> str:
    """Return text of the vault for printing: control characters are made visible if stdout is a terminal.

    Use `visible_line` instead for titles, paths and other text within a line of output. In such text, a line feed would
    forge another line, in a pipe too.
    """
    return visible(text) if sys.stdout.isatty() else text


def print_message(sentence: str) -> None:
    """Print a message for the user on stderr, as one line that begins with "excerpt: "."""
    write_stderr(f"excerpt: {visible_line(sentence)}\n")


def write_stderr(text: str) -> None:
    """Write text to stderr, ignoring errors."""
    ProgressLine.clear()
    with suppress(OSError):
        click.echo(text, err=True, nl=False)


class ProgressLine:
    """Shows the progress of an index update on one terminal line, overwritten in place; silent without a terminal.

    Call it with each progress report. All other output clears the line first.
    """

    visible_instance: ClassVar[ProgressLine | None] = None
    """The instance whose line is on the terminal, if any."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, progress: Progress) -> None:
        files = f"{progress.notes_done:,} of {format_count(progress.notes_total, 'file')}"
        self._show(f"{progress.phase} · {files} · {progress.seconds:.0f} s · {progress.current}")

    def show_embedding(self, progress: EmbeddingProgress) -> None:
        """Show how many passages an embedder has embedded."""
        left = f" · {format_duration(progress.seconds_left)} left" if progress.seconds_left is not None else ""
        self._show(f"embedding · {progress.done:,} of {format_count(progress.total, 'passage')}{left}")

    def _show(self, text: str) -> None:
        if not self._is_terminal:
            return
        line = visible_line(text)
        width = shutil.get_terminal_size().columns
        self._stream.write(f"\r\x1b[K{line[: width - 1]}")
        self._stream.flush()
        ProgressLine.visible_instance = self

    @classmethod
    def clear(cls) -> None:
        """Clear the progress line from the terminal, if there is one."""
        line, cls.visible_instance = cls.visible_instance, None
        if line is not None:
            with suppress(OSError):
                line._stream.write("\r\x1b[K")
                line._stream.flush()


# --- files that the user names ----------------------------------------------------------------------------------------
# Read a command's input from a file that the user names, or from stdin.

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_input(file: str | Path, label: str, max_bytes: int = 64 << 20) -> str:
    """Return the text of `file`, or of stdin for "-", with line feeds as line ends.

    `label` names the input in errors, such as "answer". The text may be UTF-8, or UTF-16 with a byte order mark, as
    PowerShell writes it; the mark is removed. Raises a usage error for undecodable text, an unreadable file, or more
    than `max_bytes` bytes, and StreamError if stdin cannot be read.
    """
    name = f"The {label} {'on stdin' if str(file) == '-' else file}"
    content = (
        _read_stdin_bytes(max_bytes + 1, name)
        if str(file) == "-"
        else _read_file_bytes(Path(file), max_bytes + 1, name)
    )
    if len(content) > max_bytes:
        raise click.UsageError(f"{name} is larger than {max_bytes >> 20} MB.")
    try:
        text = content.decode("utf-16" if content.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        encoding = error.encoding.upper()
        raise click.UsageError(f"{name} is not {encoding}: {error.reason} at byte {error.start:,}.") from error
    return io.StringIO(text, newline=None).read()


def _read_stdin_bytes(size: int, name: str) -> bytes:
    try:
        return sys.stdin.buffer.read(size)
    except OSError as error:
        raise StreamError(f"{name} cannot be read", error) from error


def _read_file_bytes(file: Path, size: int, name: str) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(size)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise click.UsageError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


# --- output into a file -----------------------------------------------------------------------------------------------
# Write a command's output to a file that the user names.


def resolve_output_file(file: Path, find_vault_of_file: Callable[[Path], Path | None]) -> Path:
    """Return `file` with all links resolved.

    `find_vault_of_file` returns the vault that contains a file, if any. Raises a usage error if `file` is a folder, or
    is in a vault, because excerpt never writes to vaults.
    """
    try:
        real = file.expanduser().resolve()
        if vault := find_vault_of_file(real):
            raise click.UsageError(
                f"{file} is inside the vault {vault}, where excerpt never writes. Choose a file elsewhere."
            )
        if real.is_dir():
            raise click.UsageError(f"{file} is a folder. Name a file in the folder.")
    except (OSError, RuntimeError, ValueError) as error:
        raise click.UsageError(f"{file} is not a valid file name: {error}.") from error
    return real


def save_output(file: Path, text: str) -> int:
    """Write `text` to `file` atomically and return the number of bytes.

    A pipe or a device is written directly. Raises ExcerptError if the file cannot be written.
    """
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
            "Check that its folder exists and is writable.",
        ) from error
    return len(data)


def conflict_sentence(conflicts: Sequence[str]) -> str:
    """Return sentences that say that these notes were not pushed, as both sides have changed them, and what to do."""
    return (
        f"{count_notes(conflicts)} changed in this copy and in the store, and not pushed: {format_names(conflicts, 5)}."
        " To see the store's version, run `excerpt read NOTE --vault ADDRESS`."
        " To push this copy's version, use --overwrite NOTE."
    )
