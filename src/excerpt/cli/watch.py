"""`excerpt watch`: keep a vault's index up to date while notes change."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.crash import report as crash_report
from excerpt.cli.printing import ProgressLine, narrate, print_json, print_line
from excerpt.cli.push import Pushing
from excerpt.cli.vaults import chosen_vault, vault_option
from excerpt.errors import ExcerptError, StreamError
from excerpt.known_vaults import refuse_broad_folder
from excerpt.model import Progress
from excerpt.settings import load_vault_settings, user_paths
from excerpt.store.address import StoreAddress, parse_address
from excerpt.store.compare import PushRules, conflict_sentence
from excerpt.text.display import visible_line
from excerpt.vault.watched import mark_watched

if TYPE_CHECKING:
    from excerpt.cli.watching import Report, Watching


@click.command()
@vault_option
@click.option("--poll", is_flag=True, help="Look at the vault every few seconds instead of waiting for its changes.")
@click.option("--progress", is_flag=True, help="Print events as JSON lines and read commands from stdin.")
@click.option("--to", "address", metavar="ADDRESS", help="Push changes to a store, as `excerpt push` does.")
@click.option("--merge", is_flag=True, help="Keep what others changed in the store; push the rest.")
def watch_command(vault: Path | None, poll: bool, progress: bool, address: str | None, merge: bool) -> int:
    """Keep the index up to date while notes change.

    Updates it, then prints a line for every update, until Ctrl+C. The app does this by itself while it is open.
    """
    if merge and address is None:
        raise click.UsageError("--merge needs a store: name it with --to.")
    to = None if address is None else (parse_address(address), PushRules(merge=merge))
    if not progress:
        chosen = chosen_vault(vault)
        refuse_broad_folder(chosen, user_paths())
        with _pushing(chosen, to, _Lines(chosen)) as report, mark_watched(user_paths().watch_folder(chosen)):
            _watching(chosen, report).run(poll=poll)
        return 0
    out = _EventLines()
    # Unbuffered: a thread blocked in a buffered stream holds a lock that Python needs at exit.
    commands = open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)  # noqa: SIM115
    try:
        chosen = chosen_vault(vault)
        with _pushing(chosen, to, out) as report, mark_watched(user_paths().watch_folder(chosen)):
            watching = _watching(chosen, report)
            out.gone = watching.end
            threading.Thread(target=_run_commands, args=(commands, watching, out), daemon=True).start()
            watching.run(poll=poll)
    except ExcerptError as error:
        out("error", {"title": error.title, "message": error.message, "hint": error.hint})
        return error.exit_code
    if out.failed is not None:
        raise out.failed
    return 0


@contextlib.contextmanager
def _pushing(vault: Path, to: tuple[StoreAddress, PushRules] | None, report: Report) -> Iterator[Report]:
    """Yield the event handler: one that also pushes changes to the store `to`, or `report` itself without a store."""
    if to is None:
        yield report
        return
    address, rules = to
    pushing = Pushing(vault, address, report, _crash, rules)
    try:
        yield pushing
    finally:
        pushing.end()


def _crash(error: Exception) -> str:
    return crash_report(error, sys.argv[1:])


def _watching(vault: Path, report: Report) -> Watching:
    from excerpt.cli.watching import Watching

    paths = user_paths()
    watching = Watching(
        vault,
        paths.index_folder(vault),
        load_vault_settings(vault, paths),
        report,
        _crash,
    )
    signal.signal(signal.SIGTERM, lambda *_: watching.end())
    return watching


class _EventLines:
    """Prints events as JSON lines, one at a time.

    If they cannot be written any more, `gone` is called; `failed` then has the error, unless the reader is just gone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.gone: Callable[[], None] = _nothing
        self.failed: StreamError | None = None

    def __call__(self, event: str, fields: dict[str, Any]) -> None:
        try:
            with self._lock:
                print_json({"event": event, **fields})
        except BrokenPipeError:
            self.gone()
        except StreamError as error:
            self.failed = error
            self.gone()


def _nothing() -> None:
    """Do nothing; the default of `_EventLines.gone`."""


def _run_commands(lines: Iterable[bytes], watching: Watching, report: Report) -> None:
    """Run the command in each line; end watching when the lines end or cannot be read."""
    with contextlib.suppress(OSError):
        for line in lines:
            command = None
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                command = json.loads(line)["do"]
            if not (isinstance(command, str) and watching.do(command)):
                command_name = line.decode("utf-8", "replace").strip()
                message = f"The command failed: {command_name[:200]}"
                report("error", {"title": "Unknown command", "message": message, "hint": ""})
    watching.end()


class _Lines:
    """Prints events as text: updates on stdout, the rest on stderr."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._line = ProgressLine(sys.stderr)
        self._first = True
        self._conflicts: list[str] = []

    def __call__(self, event: str, fields: dict[str, Any]) -> None:
        if event == "progress":
            self._line(Progress(**fields))
            return
        ProgressLine.clear()
        if event == "done":
            self._put_update(fields)
        elif event == "pushed":
            self._put_push(fields)
        elif event == "watching":
            narrate(f"watching {self._vault}; Ctrl+C ends it.")
            if fields["polling"]:
                narrate("The system reports no changes there, so excerpt checks it every few seconds.")
        elif "message" in fields:
            narrate(f"{fields['message']} {fields['hint']}".strip())

    def _put_push(self, report: dict[str, Any]) -> None:
        changed, added, removed = report["changed"], report["added"], report["removed"]
        if changed or added or removed:
            print_line(
                f"{time.strftime('%H:%M:%S')}  pushed: {changed:,} changed, {added:,} added, {removed:,} removed · "
                f"{report['seconds']:.1f} s"
            )
        if report["conflicts"] and report["conflicts"] != self._conflicts:
            narrate(conflict_sentence(report["conflicts"]))
        self._conflicts = report["conflicts"]

    def _put_update(self, report: dict[str, Any]) -> None:
        changed, added, removed = report["changed"], report["added"], report["removed"]
        if report["rebuilt"]:
            print_line(visible_line(f"{time.strftime('%H:%M:%S')}  rebuilt: {report['rebuilt']}"))
        if self._first or changed or added or removed:
            print_line(
                f"{time.strftime('%H:%M:%S')}  {changed:,} changed, {added:,} added, {removed:,} removed · "
                f"generation {report['generation']} · {report['seconds']:.1f} s"
            )
        self._first = False
