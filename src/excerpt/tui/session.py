"""Where the user was in a vault, kept from one time to the next: tab, query, selection, how packs are wanted.

One file a vault in the state folder, which may be deleted at any time. What was not changed by hand is not in it, so
that a change of the settings holds at the next start. Marks have a file of their own (pack/selection.py), as commands
read them too.
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
from excerpt.settings import Places, Settings
from excerpt.state_files import read_value, write_value
from excerpt.tui.common.split import SHARE

if TYPE_CHECKING:
    from excerpt.model import Hit

Value = TypeVar("Value")

_BATCH = 0.2
"""Seconds that are waited for more, since a query changes with each key."""


class StateKeeper(Generic[Value]):
    """Reads `file`, and writes to it what was kept last. `failed` is told the reason when that cannot be done, once."""

    def __init__(
        self,
        file: Path,
        read: Callable[[Path], Value],
        write: Callable[[Path, Value], None],
        failed: Callable[[str], None],
    ) -> None:
        """`read` and `write` are called in threads; `write` raises OSError."""
        self._file = file
        self._read_file = read
        self._write_file = write
        self._failed = failed
        self._told = False
        self._newest: Value | None = None
        self._written: Value | None = None
        self._task: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    async def read(self) -> Value:
        """What an earlier session kept. Nothing is written before that is known."""
        value = await asyncio.to_thread(self._read_file, self._file)
        self.known(value)
        return value

    def known(self, value: Value) -> None:
        """This is what the file holds."""
        self._newest = self._written = value

    @property
    def is_known(self) -> bool:
        """Whether it is known what the file holds, so that something may be kept."""
        return self._written is not None

    def keep(self, value: Value) -> None:
        """Have this written soon; what was to be written before it need not be."""
        if not self.is_known:
            return
        self._newest = value
        if self._newest != self._written and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._write())

    async def end(self) -> None:
        """Write what is not written yet."""
        self._ending.set()
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        while self._newest is not None and self._newest != self._written:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _BATCH)
            value = self._written = self._newest
            try:
                await asyncio.to_thread(self._write_file, self._file, value)
            except OSError as error:
                if not self._told:
                    self._told = True
                    self._failed(error.strerror or str(error))


_LONGEST = 10_000
"""Characters of a query beyond which it is no query that anyone wants back."""

_Budget = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class SelectedPlace:
    """The selected fragment: its id, and where it stood, by which it is found again after an edit."""

    fragment: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Session:
    """None means what the settings say. `budget` is in tokens, `share` the list's part of the body, 0 to 1."""

    tab: str = "search"
    query: str = ""
    place: SelectedPlace | None = None
    strategy: Strategy | None = None
    scope: Scope | None = None
    budget: _Budget | None = None
    form: Format | None = None
    share: float | None = None


NEW = Session()


def read_session(file: Path) -> Session:
    """What was kept; a new session where there is no file, or one that makes no sense."""
    session = read_value(file, Session, NEW)
    return session if len(session.query) <= _LONGEST else NEW


def session_of(vault: Path, settings: Settings, places: Places) -> Session:
    """Return where the user was in a vault the last time, where the settings say that it is taken up again."""
    return read_session(places.session_file(vault)) if settings.screen.restore else NEW


def write_session(file: Path, session: Session) -> None:
    """Keep this in place of what was kept before: all of it or nothing. Raises OSError."""
    write_value(file, session)


def row_of(place: SelectedPlace, hits: Sequence[Hit]) -> int | None:
    """The row of what was selected: that fragment, else the one of its note that begins nearest; None if there is none.

    `hits` are those that answer the same query.
    """
    of_note = []
    for row, hit in enumerate(hits):
        if hit.fragment.id == place.fragment:
            return row
        if hit.fragment.path == place.path:
            of_note.append((abs(hit.fragment.line_start - place.line), row))
    return min(of_note)[1] if of_note else None


def changed_by_hand(session: Session, settings: Settings) -> Session:
    """Return a session without what is as the settings say."""
    return replace(
        session,
        place=session.place if session.query else None,
        strategy=session.strategy if session.strategy is not settings.search.strategy else None,
        scope=session.scope if session.scope is not settings.pack.scope else None,
        budget=session.budget if session.budget != settings.pack.budget else None,
        form=session.form if session.form is not settings.pack.format else None,
        share=session.share if session.share != SHARE else None,
    )


class SessionController:
    """Own the session before, until it is resumed, and the file that this one is kept in.

    `failed` is told the reason when that cannot be written, once.
    """

    def __init__(self, file: Path, before: Session, failed: Callable[[str], None]) -> None:
        self.before = before
        self.awaited = before.place if before.query else None
        """What was selected, until its query is answered."""
        self._file = StateKeeper(file, read_session, write_session, failed)

    def begin(self) -> None:
        """Write from now on what `keep` is given."""
        self._file.known(self.before)

    @property
    def is_kept(self) -> bool:
        """Whether `keep` does something."""
        return self._file.is_known

    def keep(self, session: Session) -> None:
        """Have this written soon."""
        self._file.keep(session)

    async def end(self) -> None:
        """Write what is not written yet."""
        await self._file.end()

    def row_to_select(self, query: str, hits: Sequence[Hit]) -> int | None:
        """Return the row of what was selected, in the first answer to the query that came back; else None."""
        place, self.awaited = self.awaited, None
        if place is None or query != self.before.query.strip():
            return None
        return row_of(place, hits)


class UseRecorder:
    """Appends to the log in `file`; nothing if it is not `on`.

    `failed` is told the reason when something could not be kept, once.
    """

    def __init__(self, file: Path, failed: Callable[[str], None], *, on: bool) -> None:
        self._file = file
        self._failed = failed
        self._on = on
        self._told = False

    async def record(self, kind: str, notes: Sequence[tuple[str, str]]) -> None:
        """Keep an act of `kind`, a value of `search.use.Kind`, with these notes (path, fragment id)."""
        if not self._on or not notes:
            return
        try:
            await asyncio.to_thread(_append, self._file, kind, notes, time.time())
        except OSError as error:
            if not self._told:
                self._told = True
                self._failed(error.strerror or str(error))


def _append(file: Path, kind: str, notes: Sequence[tuple[str, str]], now: float) -> None:
    from excerpt.search.usage import UseKind, UseLog

    UseLog(file).record(UseKind(kind), notes, now)
