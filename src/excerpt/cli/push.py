"""`excerpt push`: write a vault to a store, for a team."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.printing import ProgressLine, print_json, print_line, print_message
from excerpt.cli.vaults import VaultParameter, build_index, resolve_vault
from excerpt.errors import ExcerptError
from excerpt.index.events import CrashHandler, EventHandler, IndexingEvent, IndexingFailed
from excerpt.model import BuildReport, Progress
from excerpt.settings import load_vault_settings, user_paths
from excerpt.store.rights import ReadRight, RightsChanges, parse_right
from excerpt.text.display import format_count, visible_line

if TYPE_CHECKING:
    from excerpt.store.address import StoreAddress
    from excerpt.store.compare import PushRules

_RETRY_SECONDS = 5.0
"""Time until a failed push is tried again."""
_REFUSED_SECONDS = 30.0
"""Time until a push that the rules refused is tried again: a push from elsewhere may have made it possible."""


class _RightParameter(click.ParamType[ReadRight]):
    """The command-line type of a right, written ROLE=FOLDER."""

    name = "right"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ReadRight:
        """Parse a right; raises a usage error if the value is not of the form ROLE=FOLDER."""
        try:
            return value if isinstance(value, ReadRight) else parse_right(value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class PushThread:
    """A thread that pushes a vault to a store whenever its index has changed.

    It is an event handler: call it with the events of `IndexWatcher`. It passes them on to `report` and adds a
    PushReport after each push. If a push fails or the rules refuse it, it reports one IndexingFailed and retries every
    few seconds.
    """

    def __init__(
        self, vault: Path, address: StoreAddress, report: EventHandler, log_crash: CrashHandler, rules: PushRules
    ) -> None:
        self._vault, self._address, self._report, self._log_crash, self._rules = (
            vault,
            address,
            report,
            log_crash,
            rules,
        )
        self._changed = threading.Event()
        self._stop_requested = threading.Event()
        self._thread = threading.Thread(target=self._run, name="push", daemon=True)
        self._thread.start()

    def __call__(self, event: IndexingEvent) -> None:
        self._report(event)
        if isinstance(event, BuildReport):
            self._changed.set()

    def stop(self) -> None:
        """Stop the thread after the current push, and wait for its end."""
        self._stop_requested.set()
        self._changed.set()
        self._thread.join()

    def _run(self) -> None:
        from excerpt.index.snapshot import Snapshot
        from excerpt.store.compare import PushRefusedError
        from excerpt.store.push import Pusher

        paths, last_error = user_paths(), ""
        seconds: float | None = None
        settings = load_vault_settings(self._vault, paths)
        pusher: Pusher | None = None
        snapshot: Snapshot | None = None
        while not self._stop_requested.is_set():
            self._changed.wait(seconds)
            if self._stop_requested.is_set():
                break
            self._changed.clear()
            seconds = None
            try:
                before = snapshot
                snapshot = Snapshot.open(paths.index_folder(self._vault), settings, before=before)
                if before is not None:
                    before.close()
                pusher = pusher or Pusher(self._address, paths.push_folder(self._vault))
                self._report(pusher.push(snapshot, rules=self._rules))
                last_error = ""
            except ExcerptError as error:
                if error.message != last_error:
                    last_error = error.message
                    self._report(IndexingFailed.from_error(error))
                if isinstance(error, PushRefusedError):
                    seconds = _REFUSED_SECONDS
                    continue
                if pusher is not None:
                    pusher.close()
                    pusher = None
                self._changed.set()
                self._stop_requested.wait(_RETRY_SECONDS)
            except Exception as error:  # a bug in excerpt: nothing else catches it in a thread
                message = self._log_crash(error)
                self._report(IndexingFailed("The push has stopped", message, "Start excerpt again."))
                break
        for resource in (pusher, snapshot):
            if resource is not None:
                resource.close()


@click.command()
@click.argument("vault", required=False, type=VaultParameter())
@click.option(
    "--to",
    "address",
    required=True,
    metavar="ADDRESS",
    help="The address of the store, without a password: postgresql://user@host/database?vault=NAME.",
)
@click.option(
    "--roles", is_flag=True, help="Create the roles excerpt_writer and excerpt_reader in the store's database."
)
@click.option(
    "--allow",
    "allowed",
    type=_RightParameter(),
    multiple=True,
    metavar="ROLE=FOLDER",
    help="Let only allowed roles read FOLDER. Without a FOLDER, the right is for the rest of the vault.",
)
@click.option(
    "--forbid",
    "forbidden",
    type=_RightParameter(),
    multiple=True,
    metavar="ROLE=FOLDER",
    help="Revoke a right that --allow gave.",
)
@click.option("--merge", is_flag=True, help="Keep the notes that others changed in the store, and push the rest.")
@click.option(
    "--mirror",
    is_flag=True,
    help="Make the store equal to this copy of the vault. Overwrite the notes that others changed.",
)
@click.option(
    "--overwrite",
    multiple=True,
    metavar="NOTE",
    help="Overwrite NOTE in the store with the version of this copy, even if others changed it.",
)
@click.option(
    "--accept-removals", is_flag=True, help="Allow a push that removes more than a fifth of the notes in the store."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def push_command(
    vault: Path | None,
    *,
    address: str,
    roles: bool,
    allowed: tuple[ReadRight, ...],
    forbidden: tuple[ReadRight, ...],
    merge: bool,
    mirror: bool,
    overwrite: tuple[str, ...],
    accept_removals: bool,
    as_json: bool,
) -> int:
    """Write VAULT to a PostgreSQL store, or bring the store up to date.

    Updates the index first, then writes changed notes one by one and deletes the deleted ones. After an interruption,
    the next push continues. Readers use the same ADDRESS as their vault.

    A push is refused, and writes nothing, if others have changed the store since the last push from this copy, or
    if it would remove more than a fifth of the notes. It then lists the notes and the options that allow the push.
    """
    from excerpt.index.snapshot import Snapshot
    from excerpt.store.address import parse_address
    from excerpt.store.compare import PushRules, conflict_sentence
    from excerpt.store.push import push

    if merge and mirror:
        raise click.UsageError("--merge keeps the notes that others changed, --mirror overwrites them. Use only one.")
    rules = PushRules(merge, mirror, accept_removals, frozenset(overwrite))
    store_address = parse_address(address)
    paths = user_paths()
    chosen = resolve_vault(vault)
    settings = load_vault_settings(chosen, paths)
    build_index(chosen, settings, paths)
    snapshot = Snapshot.open(paths.index_folder(chosen), settings)
    line, started = ProgressLine(sys.stderr), time.monotonic()
    try:
        report = push(
            snapshot,
            store_address,
            paths.push_folder(chosen),
            lambda done, total: line(
                Progress("pushing", done, total, 0, 0, "", snapshot.generation, 0, time.monotonic() - started)
            ),
            roles=roles,
            rights=RightsChanges(allowed, forbidden) if allowed or forbidden else None,
            rules=rules,
        )
    finally:
        snapshot.close()
    if as_json:
        print_json(report)
    else:
        notes = report.added + report.changed + report.unchanged + report.kept
        kept_note = f", {report.kept:,} changed by others and kept" if report.kept else ""
        print_line(
            f"{format_count(notes, 'note')}, {format_count(report.fragments, 'fragment')} in "
            f"{store_address.display_text}: {report.added:,} added,"
            f" {report.changed:,} changed, {report.removed:,} removed"
            f"{kept_note} in {report.seconds:.1f} s"
        )
        if allowed or forbidden:
            for right in report.rights:
                print_line(
                    f"{visible_line(right.folder) or 'the rest'} ({format_count(right.notes, 'note')}):"
                    f" {', '.join(map(visible_line, right.roles)) or 'writers alone'}"
                )
    if report.conflicts:
        print_message(conflict_sentence(report.conflicts))
        return 3
    return 0
