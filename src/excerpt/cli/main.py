"""The `excerpt` command: run a subcommand, print every error as a sentence, and exit with a code.

Exit codes: 0 success, 1 nothing found, 2 wrong usage or settings, 3 failure (of a vault or an index, for example), 130
interrupted, 141 stdout is a pipe whose reader has ended.
"""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import shlex
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from excerpt import __version__
from excerpt.base.entry_points import find_entry_points
from excerpt.base.errors import ExcerptError
from excerpt.base.state_files import make_shared_folders_private, set_private_umask
from excerpt.cli.printing import make_output_error, print_line, print_message, write_stderr
from excerpt.text.display import visible
from excerpt.tui.startup import configure_interpreter

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SUCCESS, NOTHING_FOUND, USAGE, FAILURE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141

COMMANDS = (
    "demo",
    "pick",
    "search",
    "pack",
    "check",
    "overview",
    "related",
    "map",
    "read",
    "peek",
    "remember",
    "recall",
    "edit",
    "forget",
    "news",
    "gold",
    "learned",
    "index",
    "embedding",
    "watch",
    "mcp",
    "serve",
    "editor",
    "agents",
    "status",
    "config",
    "completion",
    "doctor",
)
"""Commands. The function NAME_command is in the module `excerpt.cli.NAME`, which is imported on demand."""

COMMAND_GROUP = "excerpt.commands"
"""Entry points of the commands that other packages add, by name: each is a click command."""

COMPLETION_VARIABLE = "_EXCERPT_COMPLETE"
"""Name of the variable by which the script of a shell asks for completions; its value is the shell."""


def _find_added_commands() -> dict[str, str]:
    """Return the commands that other packages add, as `module:name`, by name; not those of a removed package."""
    from importlib.util import find_spec

    return {
        name: target
        for name, target in find_entry_points(COMMAND_GROUP).items()
        if name not in COMMANDS and find_spec(target.partition(".")[0]) is not None
    }


class VaultOrCommand(click.Group):
    """A group that treats its first word as a command if one has that name, and as a vault otherwise."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of all commands, those of other packages last."""
        return [*COMMANDS, *_find_added_commands()]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, importing its module; None if there is no such command."""
        target = f"excerpt.cli.{cmd_name}:{cmd_name}_command"
        if cmd_name not in COMMANDS:
            target = _find_added_commands().get(cmd_name, "")
            if not target:
                return None
        module, _, name = target.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return the options or commands that begin with `incomplete`, without importing a command, and folders."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        names = [CompletionItem(name) for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, "dir")]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, command and arguments: of the command in args[0], or else of the command that opens a vault.

        Raises a usage error if args[0] is not a folder but resembles the name of a command.
        """
        word = args[0]
        if Path(word).name == word:
            if word in COMMANDS or word.startswith("-") or word in (commands := self.list_commands(ctx)):
                return super().resolve_command(ctx, args)
            import difflib

            near = difflib.get_close_matches(word, commands, n=1, cutoff=0.7)
            if near and not Path(word).expanduser().exists():
                raise click.UsageError(f"There is no command and no folder called {word}. Did you mean {near[0]}?", ctx)
        from excerpt.cli.app import open_vault_in_app

        return "", open_vault_in_app, args


@click.group(
    cls=VaultOrCommand,
    invoke_without_command=True,
    subcommand_metavar="[VAULT... | COMMAND [ARGS]...]",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="To open a vault whose name is that of a command, write it as a path: excerpt ./index",
)
@click.version_option(__version__, message="excerpt %(version)s")
@click.option("--plain", is_flag=True, help="Draw the app with ASCII characters only, without animation.")
@click.pass_context
def program(ctx: click.Context, plain: bool) -> int:
    """Find the few passages in a Markdown vault that answer a question, and pack them for an LLM prompt.

    With a VAULT (a folder of notes), opens the vault in the app; several are searched as one. Without arguments, opens
    the vault that was opened last, or asks for one. If the output is a pipe, enter prints the pack there and leaves. To
    open a home folder or a whole disk, add --accept-all at the end.
    """
    ctx.obj = plain
    if ctx.invoked_subcommand != "doctor":  # doctor reports open permissions and closes them with --fix
        from excerpt.base.settings import user_paths

        with suppress(RuntimeError):  # no home folder; commands that need one report it
            make_shared_folders_private(user_paths().folders)
    if ctx.invoked_subcommand is None:
        configure_interpreter()
        from excerpt.cli.app import open_last_vault_in_app

        return open_last_vault_in_app(plain)
    return SUCCESS


def main(argv: list[str] | None = None) -> None:
    """Run the command line with the arguments `argv` (default: those of the process) and exit with its exit code."""
    set_private_umask()
    if not sys.warnoptions:
        # They are for who maintains a library, and some are false: OpenBLAS sets a processor's flag for an invalid
        # product now and then where every number is finite (numpy issue 24067).
        warnings.simplefilter("ignore")
    code = run(sys.argv[1:] if argv is None else argv)
    gc.freeze()  # skips the collection at exit, which takes .04 s
    sys.exit(code)


def run(argv: list[str]) -> int:
    """Run the command line and return its exit code. Errors are printed as sentences on stderr."""
    _replace_closed_streams()
    _set_encoding(sys.stdout)
    _set_encoding(sys.stderr)
    try:
        if shell := os.environ.get(COMPLETION_VARIABLE):
            from excerpt.cli.completing import complete_command_line

            print_line(complete_command_line(program, shell), end="")
            return SUCCESS
        return _run_and_report_errors(argv)
    finally:
        for stream in (sys.stdout, sys.stderr):
            _silence_if_broken(stream)


def _run_and_report_errors(argv: list[str]) -> int:
    """Run the command line, print any error as a sentence on stderr, and return the exit code."""
    code = SUCCESS
    try:
        with program.make_context("excerpt", list(argv)) as context:
            answer = program.invoke(context)
        code = answer if isinstance(answer, int) else SUCCESS
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        write_stderr(visible(_format_error(error, argv)))
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        code = PIPE_CLOSED
    except ExcerptError as error:
        print_message(str(error))
        code = error.exit_code
    except BaseException as error:  # a bug in excerpt: the user gets a sentence, not a traceback
        if not isinstance(error, Exception) and not _is_rust_panic(error):
            raise
        if isinstance(error, OSError) and _was_raised_in_click(error):
            print_message(str(make_output_error(error)))
        elif _is_out_of_memory(error):
            print_message(_OUT_OF_MEMORY_MESSAGE)
        else:
            from excerpt.cli.crash import log_crash

            print_message(log_crash(error, argv))
        code = FAILURE
    return code


_OUT_OF_MEMORY_MESSAGE = (
    "There is not enough memory. Close other programs, or raise the memory limit (`ulimit -v`, or the limit of the "
    "container). The index keeps the notes that were already saved."
)


_RUST_OUT_OF_MEMORY_TEXTS = ("ThreadPoolBuildError", "PyObject pointer is null")
"""Parts of the messages of Rust panics that occur if there is no memory for a thread or a Python object."""


def _is_rust_panic(error: BaseException) -> bool:
    """Return whether the error is a panic of a library in Rust, pyo3's PanicException, which is not an Exception."""
    return type(error).__module__ == "pyo3_runtime"


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error or one of its causes means that the system has no memory or thread left."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        if _is_rust_panic(error) and any(sign in str(error) for sign in _RUST_OUT_OF_MEMORY_TEXTS):
            return True
        error = error.__cause__ or error.__context__
    return False


def _format_error(error: click.ClickException, argv: list[str]) -> str:
    """Return click's message about a wrong command line, with a hint if the right command line can be guessed."""
    buffer = io.StringIO()
    error.show(buffer)
    hint = _format_vault_hint(error, argv) if isinstance(error, click.UsageError) else ""
    if not hint and isinstance(error, click.NoSuchOption) and not error.possibilities and error.ctx is not None:
        hint = _format_double_dash_hint(error.option_name, error.ctx, argv)
    return f"{buffer.getvalue().rstrip()}{hint}\n"


def _format_vault_hint(error: click.UsageError, argv: list[str]) -> str:
    """Return a hint that the command takes the vault as an option, if it was given as an argument; else ""."""
    _, is_unexpected, arguments = error.message.removesuffix(")").partition("Got unexpected extra argument")
    if not is_unexpected or error.ctx is None or not error.ctx.info_name:
        return ""
    names = {parameter.name for parameter in error.ctx.command.params}
    if "named" in names or not names & {"vault", "vaults"}:  # `named`: the vault as an argument
        return ""
    words = f" {arguments.partition('(')[2]} "
    folder = next((word for word in argv if f" {word} " in words and Path(word).expanduser().is_dir()), None)
    command = f"excerpt {error.ctx.info_name}"
    return f". Name the vault with an option: {command} --vault {shlex.quote(folder)}" if folder is not None else ""


def _format_double_dash_hint(option: str, ctx: click.Context, argv: list[str]) -> str:
    """Return a sentence on how to pass a text that begins with "-" as an argument, after `--`.

    `option` is the unknown option. Returns "" if the command has no arguments.
    """
    arguments = [
        parameter
        for parameter in ctx.command.params
        if isinstance(parameter, click.Argument) and parameter.name != "named"  # a vault, which is no text
    ]
    typed = next((word for word in argv if word.startswith(option)), None)
    if not (arguments and ctx.info_name) or typed is None:  # without a name it is the command that opens a vault
        return ""
    return f" Put text that begins with '-' after '--': excerpt {ctx.info_name} -- {shlex.quote(typed)}"


def _replace_closed_streams() -> None:
    """Reopen stdin, stdout and stderr if they are closed, so that no other file gets their descriptors.

    Reading the reopened stdin and printing to the reopened stdout fail; output to the reopened stderr is lost.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _set_encoding(stream: TextIO) -> None:
    """Set the encoding of an output stream: UTF-8 for pipes and files, the locale's encoding for a terminal.

    Text that cannot be encoded, such as a file name that is not UTF-8, is escaped with backslashes, as in JSON.
    """
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    if stream.isatty():
        reconfigure(errors="backslashreplace")
    else:
        reconfigure(encoding="utf-8", errors="backslashreplace")


def _was_raised_in_click(error: OSError) -> bool:
    """Return whether the error was raised in click's output functions, which print the help and the version."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and frame.tb_frame.f_globals["__name__"] == "click.utils"


def _silence_if_broken(stream: TextIO) -> None:
    """Redirect a stream to the null device if it cannot be flushed, so that the flush at exit does not fail."""
    try:
        stream.flush()
    except OSError:
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), stream.fileno())
