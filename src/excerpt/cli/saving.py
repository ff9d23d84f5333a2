"""Writing a command's output to a file that the user names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click

from excerpt.errors import ExcerptError
from excerpt.state_files import users_umask


def checked_output(file: Path, vaults: Iterable[Path]) -> Path:
    """The file that `file` means, all links followed. Raises a usage error if it is in one of `vaults`, which excerpt
    never writes to, or is a folder."""
    try:
        real = file.expanduser().resolve()
        for vault in vaults:
            if real.is_relative_to(vault):
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
    fresh = file.with_name(f".{file.name[:200]}.{os.getpid()}")
    try:
        if file.exists() and not file.is_file():
            file.write_bytes(data)
            return len(data)
        fresh.write_bytes(data)
        if file.exists():
            fresh.chmod(file.stat().st_mode & 0o7777)
        elif (umask := users_umask()) >= 0:
            fresh.chmod(0o666 & ~umask)
        fresh.replace(file)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        raise ExcerptError(
            f"{file} cannot be written: {error.strerror or error}.",
            "Check that its folder is there and may be written to.",
        ) from error
    return len(data)
