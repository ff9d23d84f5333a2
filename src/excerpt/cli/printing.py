"""What commands print: data on stdout, narration on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

import click

from excerpt.errors import StreamError
from excerpt.text.visible import visible, visible_json, visible_line

if TYPE_CHECKING:
    from excerpt.model import Progress


def put(text: str, end: str = "\n") -> None:
    """Data to stdout, byte for byte (click.echo takes escape sequences out where stdout is a pipe). Raises StreamError,
    and BrokenPipeError where the reader is gone."""
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
    """One JSON value on one line of stdout, where nothing is left that a terminal would obey."""
    put(visible_json(json.dumps(value, ensure_ascii=False)))


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
    with suppress(OSError):
        click.echo(text, err=True, nl=False)


class ProgressLine:
    """A build's progress on one line of a terminal, written over again and again; silent where there is none."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, progress: Progress) -> None:
        if not self._shown:
            return
        counted = f"{progress.notes_done:,} of {progress.notes_total:,} notes"
        line = visible_line(f"{progress.phase} · {counted} · {progress.seconds:.0f} s · {progress.current}")
        width = shutil.get_terminal_size().columns
        self._stream.write(f"\r\x1b[K{line[: width - 1]}")
        self._stream.flush()

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
