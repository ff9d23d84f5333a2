"""The command line run in this process, for tests that are not about processes."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import click

from excerpt.cli.main import run


def parameters_of(command: click.Command | None) -> list[click.Parameter]:
    """Return the parameters of a command and of its subcommands."""
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return [] if command is None else [*command.params, *(each for one in below for each in one.params)]


def printed(*words: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command that must succeed, and return what it prints to a pipe."""
    data = io.BytesIO()
    with (
        io.TextIOWrapper(data, encoding="utf-8", newline="") as pipe,
        redirect_stdout(pipe),
        patch.dict(os.environ, environment or {}),
    ):
        code = run([str(word) for word in words])
        pipe.flush()
        assert code == 0, f"excerpt {words} ended with {code}"
        return data.getvalue().decode()
