"""`excerpt watch`: keep a vault's index up to date while notes change."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.errors import ExcerptError, StreamError
from excerpt.base.model import BuildReport, EmbeddingProgress, Progress, PushReport
from excerpt.base.settings import load_vault_settings, user_paths
from excerpt.cli.crash import log_crash
from excerpt.cli.printing import ProgressLine, conflict_sentence, print_json, print_line, print_message
from excerpt.cli.vaults import resolve_vault, vault_parameter
from excerpt.index.events import (
    EmbeddingCompleted,
    EmbeddingFailed,
    EventHandler,
    IndexingEvent,
    IndexingFailed,
    VaultEmptied,
    VaultWatched,
    event_to_json,
    parse_command,
)
from excerpt.service.stores import StoreAddress, parse_address
from excerpt.text.display import visible_line
from excerpt.vault.known_vaults import refuse_broad_folder
from excerpt.vault.watched import mark_watched

if TYPE_CHECKING:
    from excerpt.service.index_watcher import IndexWatcher


@click.command()
@vault_parameter
@click.option(
    "--poll", is_flag=True, help="Scan the vault every few seconds instead of waiting for the system to report changes."
)
@click.option("--progress", is_flag=True, help="Print events as JSON lines and read commands from stdin.")
@click.option(
    "--to", "address", metavar="ADDRESS", help="Push changes to the store at ADDRESS, as `excerpt push` does."
)
@click.option("--merge", is_flag=True, help="Keep the notes that others changed in the store, and push the rest.")
def watch_command(vault: Path | None, poll: bool, progress: bool, address: str | None, merge: bool) -> int:
    """Keep the index up to date while notes change.

    Updates the index, then prints a line for every update, until Ctrl+C. The app updates the index by itself while it
    is open.
    """
    if merge and address is None:
        raise click.UsageError("--merge needs a store. Add --to ADDRESS.")
    to = None if address is None else parse_address(address)
    if not progress:
        chosen = resolve_vault(vault)
        refuse_broad_folder(chosen, user_paths())
        with (
            _push_changes(chosen, to, _TextEventPrinter(chosen), merge=merge) as report,
            mark_watched(user_paths().watch_folder(chosen)),
        ):
            _make_watcher(chosen, report).run(poll=poll)
        return 0
    out = _JsonEventPrinter()
    # Unbuffered: a thread blocked in a buffered stream holds a lock that Python needs at exit.
    commands = open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)  # noqa: SIM115
    try:
        chosen = resolve_vault(vault)
        with _push_changes(chosen, to, out, merge=merge) as report, mark_watched(user_paths().watch_folder(chosen)):
            watcher = _make_watcher(chosen, report)
            out.on_stdout_lost = watcher.stop
            threading.Thread(target=_run_commands, args=(commands, watcher, out), daemon=True).start()
            watcher.run(poll=poll)
    except ExcerptError as error:
        out(IndexingFailed.from_error(error))
        return error.exit_code
    if out.write_error is not None:
        raise out.write_error
    return 0


@contextlib.contextmanager
def _push_changes(vault: Path, to: StoreAddress | None, report: EventHandler, *, merge: bool) -> Iterator[EventHandler]:
    """Yield an event handler that pushes changes to the store `to` and passes events on to `report`.

    If `to` is None, yield `report` itself.
    """
    if to is None:
        yield report
        return
    pusher = to.push_changes(vault, report, _log_crash, merge=merge)
    try:
        yield pusher
    finally:
        pusher.stop()


def _log_crash(error: Exception) -> str:
    """Write the traceback to errors.log and return the sentence to show."""
    return log_crash(error, sys.argv[1:])


def _make_watcher(vault: Path, report: EventHandler) -> IndexWatcher:
    """Return the watcher of the vault, which stops on SIGTERM."""
    from excerpt.service.index_watcher import IndexWatcher

    paths = user_paths()
    watcher = IndexWatcher(
        vault,
        paths.index_folder(vault),
        load_vault_settings(vault, paths),
        report,
        _log_crash,
    )
    signal.signal(signal.SIGTERM, lambda *_: watcher.stop())
    return watcher


class _JsonEventPrinter:
    """Prints events as JSON lines, one at a time.

    If stdout cannot be written any more, it calls `on_stdout_lost`. `write_error` is then the error, or None if the
    reader of a pipe has ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.on_stdout_lost: Callable[[], None] = _do_nothing
        self.write_error: StreamError | None = None

    def __call__(self, event: IndexingEvent) -> None:
        try:
            with self._lock:
                print_json(event_to_json(event))
        except BrokenPipeError:
            self.on_stdout_lost()
        except StreamError as error:
            self.write_error = error
            self.on_stdout_lost()


def _do_nothing() -> None:
    """Do nothing; the default of `_JsonEventPrinter.on_stdout_lost`."""


def _run_commands(lines: Iterable[bytes], watcher: IndexWatcher, report: EventHandler) -> None:
    """Run the command in each JSON line, and stop the watcher when the lines end or cannot be read."""
    with contextlib.suppress(OSError):
        for line in lines:
            command = parse_command(line)
            if command is not None:
                watcher.run_command(command)
            else:
                command_name = line.decode("utf-8", "replace").strip()
                report(IndexingFailed("Unknown command", f"There is no such command: {command_name[:200]}", ""))
    watcher.stop()


class _TextEventPrinter:
    """Prints events as text: updates and pushes on stdout, everything else on stderr."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._progress_line = ProgressLine(sys.stderr)
        self._is_first_update = True
        self._reported_conflicts: tuple[str, ...] = ()

    def __call__(self, event: IndexingEvent) -> None:
        if isinstance(event, Progress):
            self._progress_line(event)
            return
        if isinstance(event, EmbeddingProgress):
            self._progress_line.show_embedding(event)
            return
        ProgressLine.clear()
        match event:
            case BuildReport():
                self._print_update(event)
            case EmbeddingCompleted(is_first=True):
                print_line(f"{time.strftime('%H:%M:%S')}  all notes are embedded; searches use the embedding model now")
            case PushReport():
                self._print_push(event)
            case VaultWatched():
                print_message(f"Watching {self._vault} for changes. Press Ctrl+C to stop.")
                if event.polling:
                    print_message(
                        "The system reports no changes in this folder, so excerpt scans it every few seconds."
                    )
            case IndexingFailed() | VaultEmptied() | EmbeddingFailed():
                print_message(f"{event.message} {event.hint}".strip())

    def _print_push(self, report: PushReport) -> None:
        if report.changed or report.added or report.removed:
            print_line(
                f"{time.strftime('%H:%M:%S')}  pushed: {report.changed:,} changed, {report.added:,} added,"
                f" {report.removed:,} removed · {report.seconds:.1f} s"
            )
        if report.conflicts and report.conflicts != self._reported_conflicts:
            print_message(conflict_sentence(report.conflicts))
        self._reported_conflicts = report.conflicts

    def _print_update(self, report: BuildReport) -> None:
        if report.rebuilt:
            print_line(visible_line(f"{time.strftime('%H:%M:%S')}  rebuilt: {report.rebuilt}"))
        if self._is_first_update or report.changed or report.added or report.removed:
            print_line(
                f"{time.strftime('%H:%M:%S')}  {report.changed:,} changed, {report.added:,} added,"
                f" {report.removed:,} removed · generation {report.generation} · {report.seconds:.1f} s"
            )
        self._is_first_update = False
