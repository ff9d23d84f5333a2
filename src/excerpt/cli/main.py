"""The `excerpt` command: which command was meant, and how each way to end becomes a sentence and an exit code.

Exit codes: 0 found or done, 1 nothing found, 2 wrong usage or settings, 3 cannot (vault, index), 130 interrupted,
141 the reader of our output went away.
"""

from __future__ import annotations

import difflib
import importlib
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import click

from excerpt import __version__
from excerpt.errors import ExcerptError
from excerpt.settings import places
from excerpt.state_files import close_if_open, keep_to_owner
from excerpt.text.visible import visible
from excerpt.tui.interpreter import prefer_the_screen

FOUND, NOTHING_FOUND, USAGE, CANNOT, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141

# Each is `command` in the module of cli/ that is named; imported when asked for, so that one command does not pay
# for another.
COMMANDS = {
    "demo": "demo",
    "search": "search",
    "pack": "pack",
    "check": "check",
    "overview": "overview",
    "related": "related",
    "map": "map",
    "read": "read",
    "peek": "peek",
    "remember": "remember",
    "recall": "recall",
    "edit": "edit",
    "forget": "forget",
    "learned": "learned",
    "index": "index",
    "watch": "watch",
    "status": "status",
    "config": "config",
    "doctor": "doctor",
}


class VaultOrCommand(click.Group):
    """A group whose first word is a command if it is the name of one, and a vault otherwise."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = importlib.import_module(f"excerpt.cli.{COMMANDS[cmd_name]}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word in COMMANDS or word.startswith("-"):
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(word, COMMANDS, n=1, cutoff=0.7)
        if near and not Path(word).expanduser().exists():
            raise click.UsageError(f"There is no command and no folder called {word}. Did you mean {near[0]}?", ctx)
        return "", open_vault_in_app, args


@click.group(
    cls=VaultOrCommand,
    invoke_without_command=True,
    subcommand_metavar="[VAULT | COMMAND [ARGS]...]",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A vault named like a command opens as a path: excerpt ./index",
)
@click.version_option(__version__, message="excerpt %(version)s")
@click.option("--plain", is_flag=True, help="Draw the app in ASCII signs, without lines, blocks and motion.")
@click.pass_context
def program(ctx: click.Context, plain: bool) -> None:
    """Find the few passages in a Markdown vault that answer a question, and pack them for an LLM prompt.

    With a VAULT (a folder of notes), opens it in the app; with nothing, opens the last one, or asks for one. A home
    folder or a whole disk is opened as a VAULT only with --accept-all behind it.
    """
    ctx.obj = plain
    if ctx.invoked_subcommand != "doctor":  # which tells what is open, and closes it when it is asked to
        with suppress(RuntimeError):  # no home folder is known: who needs one says so
            close_if_open(places().folders)
    if ctx.invoked_subcommand is None:
        prefer_the_screen()
        from excerpt.cli.app import start_last

        start_last(plain)


@click.command(add_help_option=False)
@click.argument("vault", type=click.Path(path_type=Path))
@click.option("--plain", is_flag=True)
@click.option("--accept-all", is_flag=True)
@click.pass_obj
def open_vault_in_app(is_plain: bool, vault: Path, plain: bool, accept_all: bool) -> None:
    """Open a vault in the app."""
    prefer_the_screen()
    from excerpt.cli.app import start_app

    start_app(vault, plain=is_plain or plain, accept_all=accept_all)


def main(argv: list[str] | None = None) -> None:
    """Run the command line on `argv` (default: the process's) and exit with its code."""
    keep_to_owner()
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: list[str]) -> int:
    """Run the command line and return its exit code, having told every error in a sentence on stderr."""
    _prepare(sys.stdout)
    _prepare(sys.stderr)
    code = FOUND
    try:
        with program.make_context("excerpt", list(argv)) as context:
            answer = program.invoke(context)
        sys.stdout.flush()
        code = answer if isinstance(answer, int) else FOUND
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        click.echo(visible(_shown(error)), err=True, nl=False)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        _silence(sys.stdout)
        code = PIPE_CLOSED
    except ExcerptError as error:
        click.echo(f"excerpt: {visible(str(error))}", err=True)
        code = error.exit_code
    except Exception as error:  # a defect of ours: whatever it is, the user gets a sentence, not a traceback
        from excerpt.cli.crash import report

        click.echo(f"excerpt: {visible(report(error, argv))}", err=True)
        code = CANNOT
    return code


def _shown(error: click.ClickException) -> str:
    """What click says of a wrong command, which quotes what was typed."""
    said = io.StringIO()
    error.show(said)
    return said.getvalue()


def _prepare(stream: TextIO) -> None:
    """Pipes carry UTF-8 whatever the locale; what no encoding can carry (a file name that is not UTF-8) is escaped,
    in a form that JSON reads as well."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    if stream.isatty():
        reconfigure(errors="backslashreplace")
    else:
        reconfigure(encoding="utf-8", errors="backslashreplace")


def _silence(stream: TextIO) -> None:
    """Point a stream whose reader is gone at nothing, so that the flush at exit does not complain."""
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), stream.fileno())
