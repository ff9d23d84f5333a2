"""What a command reads beside the vault: a file that the user names, or stdin."""

from __future__ import annotations

import codecs
import io
import sys
from pathlib import Path

import click

from excerpt.errors import StreamError

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_input(file: str | Path, what: str, most: int | None = None) -> str:
    """The text of `file`, or of stdin where it is "-", its lines ended by line feeds; `what` is what it is to be.

    It may be UTF-8, or UTF-16 that says so, as PowerShell writes it; a byte order mark is left out. Raises a usage
    error if it is no text, a file that cannot be read, or more than `most` bytes; StreamError if stdin cannot be read.
    """
    name = f"The {what} {'on stdin' if str(file) == '-' else file}"
    size = -1 if most is None else most + 1
    content = _bytes_of_stdin(size, name) if str(file) == "-" else _bytes_of(Path(file), size, name)
    if most is not None and len(content) > most:
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
