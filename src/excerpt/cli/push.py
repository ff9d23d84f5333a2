"""`excerpt push`: write a vault to a store, for a team."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.printing import ProgressLine, narrate, print_json, print_line
from excerpt.cli.vaults import VaultFolder, build_index, chosen_vault
from excerpt.errors import ExcerptError
from excerpt.json_forms import to_json_value
from excerpt.model import Progress
from excerpt.settings import load_vault_settings, user_paths
from excerpt.store.rights import ReadRight, RightsChanges, parse_right
from excerpt.text.display import format_count, visible_line

if TYPE_CHECKING:
    from excerpt.cli.watching import Crash, Report
    from excerpt.store.address import StoreAddress
    from excerpt.store.compare import PushRules

_RETRY_SECONDS = 5.0
"""Seconds until a failed push is tried again."""
_REFUSED_SECONDS = 30.0
"""Seconds until a refused push is tried again without a local change: a push from elsewhere may allow it."""


class _Right(click.ParamType[ReadRight]):
    """The parameter type ROLE=FOLDER."""

    name = "right"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ReadRight:
        """Return the parsed value; fails with a usage error if it is not ROLE=FOLDER."""
        try:
            return value if isinstance(value, ReadRight) else parse_right(value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class Pushing:
    """Pushes a vault to a store whenever its index has changed, in a thread of its own.

    Call it with the events of `Watching`; it passes them on and adds `pushed` after each push. If the store cannot be
    used, or the rules refuse a push, one `error` event is sent and the push is retried every few seconds.
    """

    def __init__(self, vault: Path, address: StoreAddress, report: Report, crash: Crash, rules: PushRules) -> None:
        self._vault, self._address, self._report, self._crash, self._rules = vault, address, report, crash, rules
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="push", daemon=True)
        self._thread.start()

    def __call__(self, event: str, fields: dict[str, Any]) -> None:
        self._report(event, fields)
        if event == "done":
            self._changed.set()

    def end(self) -> None:
        """Stop the thread after the current push."""
        self._ended.set()
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
        while not self._ended.is_set():
            self._changed.wait(seconds)
            if self._ended.is_set():
                break
            self._changed.clear()
            seconds = None
            try:
                before = snapshot
                snapshot = Snapshot.open(paths.index_folder(self._vault), settings, before=before)
                if before is not None:
                    before.close()
                pusher = pusher or Pusher(self._address, paths.push_folder(self._vault))
                self._report("pushed", to_json_value(pusher.push(snapshot, rules=self._rules)))
                last_error = ""
            except ExcerptError as error:
                if error.message != last_error:
                    last_error = error.message
                    self._report("error", {"title": error.title, "message": error.message, "hint": error.hint})
                if isinstance(error, PushRefusedError):
                    seconds = _REFUSED_SECONDS
                    continue
                if pusher is not None:
                    pusher.close()
                    pusher = None
                self._changed.set()
                self._ended.wait(_RETRY_SECONDS)
            except Exception as error:  # a bug in excerpt: nothing else catches it in a thread
                failure = {"title": "The push has stopped", "message": self._crash(error), "hint": "Start it again."}
                self._report("error", failure)
                break
        for resource in (pusher, snapshot):
            if resource is not None:
                resource.close()


@click.command()
@click.argument("vault", required=False, type=VaultFolder())
@click.option(
    "--to", "address", required=True, metavar="ADDRESS", help="postgresql://user@host/database?vault=NAME, no password."
)
@click.option("--roles", is_flag=True, help="Make the roles excerpt_writer and excerpt_reader, for this store.")
@click.option(
    "--allow",
    "allowed",
    type=_Right(),
    multiple=True,
    metavar="ROLE=FOLDER",
    help="Let only allowed roles read a folder; an empty folder is the rest of the vault.",
)
@click.option("--forbid", "forbidden", type=_Right(), multiple=True, metavar="ROLE=FOLDER", help="Revoke such a right.")
@click.option("--merge", is_flag=True, help="Keep what others changed in the store; push the rest.")
@click.option("--mirror", is_flag=True, help="Make the store the same as this copy; overwrite what others changed.")
@click.option(
    "--overwrite",
    multiple=True,
    metavar="NOTE",
    help="Overwrite this note, which others changed too, with this copy's version.",
)
@click.option("--accept-removals", is_flag=True, help="Remove more than a fifth of the notes in the store.")
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

    A push is refused, and writes nothing, if others have changed the store since the last push from here, or if it
    would remove more than a fifth of the notes: it lists them, and the options that allow it.
    """
    from excerpt.index.snapshot import Snapshot
    from excerpt.store.address import parse_address
    from excerpt.store.compare import PushRules, conflict_sentence
    from excerpt.store.push import push

    if merge and mirror:
        raise click.UsageError("--merge keeps what others changed, --mirror does not: give one of them.")
    rules = PushRules(merge, mirror, accept_removals, frozenset(overwrite))
    to = parse_address(address)
    paths = user_paths()
    chosen = chosen_vault(vault)
    settings = load_vault_settings(chosen, paths)
    build_index(chosen, settings, paths)
    snapshot = Snapshot.open(paths.index_folder(chosen), settings)
    line, started = ProgressLine(sys.stderr), time.monotonic()
    try:
        report = push(
            snapshot,
            to,
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
            f"{format_count(notes, 'note')}, {format_count(report.fragments, 'fragment')} in {to.display_text}: "
            f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed"
            f"{kept_note} in {report.seconds:.1f} s"
        )
        if allowed or forbidden:
            for right in report.rights:
                print_line(
                    f"{visible_line(right.folder) or 'the rest'} ({format_count(right.notes, 'note')}):"
                    f" {', '.join(map(visible_line, right.roles)) or 'writers alone'}"
                )
    if report.conflicts:
        narrate(conflict_sentence(report.conflicts))
        return 3
    return 0
