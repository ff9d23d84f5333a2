"""The user's state in a vault, kept between sessions: tab, query, selection, pack options.

One file per vault in the state folder, which may be deleted at any time. It leaves out what was not changed by hand, so
that a change of the settings applies at the next start. Marks have a file of their own (pack/selection.py), because
commands read them too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import msgspec

from excerpt.kinds import Format, Scope, Strategy
from excerpt.settings import Paths, Settings
from excerpt.state_files import read_value, write_value
from excerpt.tui.common.split import DEFAULT_LIST_SHARE

if TYPE_CHECKING:
    from excerpt.model import Hit

Value = TypeVar("Value")

_BATCH_SECONDS = 0.2
"""Seconds to wait for further changes before writing, since a query changes with each key."""


class StateKeeper(Generic[Value]):
    """A file of state: reads it once, and writes the newest value. `on_failure` is called once, with the reason."""

    def __init__(
        self,
        file: Path,
        read: Callable[[Path], Value],
        write: Callable[[Path, Value], None],
        on_failure: Callable[[str], None],
    ) -> None:
        """Prepare to read and write `file`; `read` and `write` are called in threads, and `write` raises OSError."""
        self._file = file
        self._read_file = read
        self._write_file = write
        self._on_failure = on_failure
        self._has_reported = False
        self._newest: Value | None = None
        self._written: Value | None = None
        self._task: asyncio.Task[None] | None = None
        self._end_event = asyncio.Event()

    async def read(self) -> Value:
        """Return what an earlier session saved. Nothing is written before this."""
        value = await asyncio.to_thread(self._read_file, self._file)
        self.set_stored(value)
        return value

    def set_stored(self, value: Value) -> None:
        """Set what the file holds."""
        self._newest = self._written = value

    @property
    def is_known(self) -> bool:
        """Whether the content of the file is known, so that something may be written."""
        return self._written is not None

    def keep(self, value: Value) -> None:
        """Write a value soon; an earlier value that is not written yet is dropped."""
        if not self.is_known:
            return
        self._newest = value
        if self._newest != self._written and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._write())

    async def end(self) -> None:
        """Write what is not written yet."""
        self._end_event.set()
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        while self._newest is not None and self._newest != self._written:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._end_event.wait(), _BATCH_SECONDS)
            value = self._written = self._newest
            try:
                await asyncio.to_thread(self._write_file, self._file, value)
            except OSError as error:
                if not self._has_reported:
                    self._has_reported = True
                    self._on_failure(error.strerror or str(error))


_MAX_QUERY_CHARS = 10_000
"""Maximum characters of a query that is restored."""

_Budget = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class SelectedPosition:
    """The selected fragment: its id, and its line, by which it is found again after an edit."""

    fragment: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Session:
    """The saved state. None means the value of the settings. `budget` is in tokens, `share` the list's part, 0 to 1."""

    tab: str = "search"
    query: str = ""
    place: SelectedPosition | None = None
    strategy: Strategy | None = None
    scope: Scope | None = None
    budget: _Budget | None = None
    form: Format | None = None
    share: float | None = None


NEW_SESSION = Session()


def read_session(file: Path) -> Session:
    """Return the saved session; a new one if there is no valid file."""
    session = read_value(file, Session, NEW_SESSION)
    return session if len(session.query) <= _MAX_QUERY_CHARS else NEW_SESSION


def session_of(vault: Path, settings: Settings, user_paths: Paths) -> Session:
    """Return the saved session of a vault, or a new one if the settings do not restore sessions."""
    return read_session(user_paths.session_file(vault)) if settings.screen.restore else NEW_SESSION


def write_session(file: Path, session: Session) -> None:
    """Replace the saved session atomically. Raises OSError."""
    write_value(file, session)


def row_of(position: SelectedPosition, hits: Sequence[Hit]) -> int | None:
    """Return the row of the selected fragment, else of the nearest one in its note; None if there is none.

    `hits` answer the same query.
    """
    of_note = []
    for row, hit in enumerate(hits):
        if hit.fragment.id == position.fragment:
            return row
        if hit.fragment.path == position.path:
            of_note.append((abs(hit.fragment.line_start - position.line), row))
    return min(of_note)[1] if of_note else None


def user_overrides(session: Session, settings: Settings) -> Session:
    """Return a session without the values that equal the settings."""
    return replace(
        session,
        place=session.place if session.query else None,
        strategy=session.strategy if session.strategy is not settings.search.strategy else None,
        scope=session.scope if session.scope is not settings.pack.scope else None,
        budget=session.budget if session.budget != settings.pack.budget else None,
        form=session.form if session.form is not settings.pack.format else None,
        share=session.share if session.share != DEFAULT_LIST_SHARE else None,
    )


class SessionController:
    """The previous session until it is restored, and the file of the current one.

    `on_failure` is called once, with the reason, if the file cannot be written.
    """

    def __init__(self, file: Path, previous: Session, on_failure: Callable[[str], None]) -> None:
        self.previous = previous
        self.position_to_restore = previous.place if previous.query else None
        """The previously selected fragment, until its query is answered."""
        self._file = StateKeeper(file, read_session, write_session, on_failure)

    def begin(self) -> None:
        """Start to write what `keep` is given."""
        self._file.set_stored(self.previous)

    @property
    def is_kept(self) -> bool:
        """Whether `keep` writes."""
        return self._file.is_known

    def keep(self, session: Session) -> None:
        """Write a session soon."""
        self._file.keep(session)

    async def end(self) -> None:
        """Write what is not written yet."""
        await self._file.end()

    def row_to_select(self, query: str, hits: Sequence[Hit]) -> int | None:
        """Return the row of the previously selected fragment in the first answer to its query; else None."""
        position, self.position_to_restore = self.position_to_restore, None
        if position is None or query != self.previous.query.strip():
            return None
        return row_of(position, hits)


class UseRecorder:
    """Writer of the log of use in `file`; does nothing unless `is_enabled`.

    `on_failure` is called once, with the reason, if something could not be written.
    """

    def __init__(self, file: Path, on_failure: Callable[[str], None], *, is_enabled: bool) -> None:
        self._file = file
        self._on_failure = on_failure
        self._is_enabled = is_enabled
        self._has_reported = False

    async def record(self, kind: str, notes: Sequence[tuple[str, str]]) -> None:
        """Log an act of `kind`, a value of `search.usage.UseKind`, on these notes (path, fragment id)."""
        if not self._is_enabled or not notes:
            return
        try:
            await asyncio.to_thread(_append, self._file, kind, notes, time.time())
        except OSError as error:
            if not self._has_reported:
                self._has_reported = True
                self._on_failure(error.strerror or str(error))


def _append(file: Path, kind: str, notes: Sequence[tuple[str, str]], seconds: float) -> None:
    from excerpt.search.usage import UseKind, UseLog

    UseLog(file).record(UseKind(kind), notes, seconds)
