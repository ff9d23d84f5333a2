"""The session: the user's state in a vault, saved until the next start: tab, query, selection and pack options.

There is one file per vault in the state folder; it may be deleted at any time. Values that equal the settings are not
saved, so that a later change of the settings applies at the next start. Marks have their own file (pack/selection.py),
because commands read them too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.kinds import Fill, Format, LinkForm, Scope, Strategy
from excerpt.base.settings import Paths, Settings
from excerpt.base.state_files import read_value, write_value
from excerpt.tui.common.split import DEFAULT_LIST_SHARE

if TYPE_CHECKING:
    from excerpt.base.model import Hit
    from excerpt.search.usage import UsedHit

Value = TypeVar("Value")

_LOG_TIME_STEP = 0.001
"""Seconds by which the time of an event in the usage log may be rounded down."""
_BATCH_SECONDS = 0.2
"""Seconds to collect changes before a file is written, since the query changes with each key."""


class StateFile(Generic[Value]):
    """A file that holds one value of the user's state. It is read once, then written when the value changes."""

    def __init__(
        self,
        file: Path,
        read: Callable[[Path], Value],
        write: Callable[[Path, Value], None],
        on_failure: Callable[[str], None],
    ) -> None:
        """Prepare to read and write `file`.

        `read` and `write` are called in threads; `write` may raise OSError. `on_failure` is called with the reason at
        the first failure to write.
        """
        self._file = file
        self._read_file = read
        self._write_file = write
        self._on_failure = on_failure
        self._has_reported_failure = False
        self._newest: Value | None = None
        self._written: Value | None = None
        self._task: asyncio.Task[None] | None = None
        self._end_event = asyncio.Event()

    async def read(self) -> Value:
        """Read the file and return its value. Before this call, `save_soon` writes nothing."""
        value = await asyncio.to_thread(self._read_file, self._file)
        self.set_saved_value(value)
        return value

    def set_saved_value(self, value: Value) -> None:
        """Set the value that the file is known to hold, so that it need not be read."""
        self._newest = self._written = value

    @property
    def is_loaded(self) -> bool:
        """Whether the value in the file is known, so that a new value may be written."""
        return self._written is not None

    def save_soon(self, value: Value) -> None:
        """Write `value` after `_BATCH_SECONDS`, or a newer value that was given until then."""
        if not self.is_loaded:
            return
        self._newest = value
        if self._newest != self._written and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._write())

    async def write_pending(self) -> None:
        """Write the newest value now if it is not written yet."""
        self._end_event.set()
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        while self._newest is not None and self._newest != self._written:
            with suppress(TimeoutError):
                async with asyncio.timeout(_BATCH_SECONDS):
                    await self._end_event.wait()
            value = self._written = self._newest
            try:
                await asyncio.to_thread(self._write_file, self._file, value)
            except OSError as error:
                if not self._has_reported_failure:
                    self._has_reported_failure = True
                    self._on_failure(error.strerror or str(error))


_MAX_QUERY_CHARS = 10_000
"""Maximum characters of a query that is restored."""

_Budget = Annotated[int, msgspec.Meta(ge=1)]


class SelectedPosition(Struct, frozen=True):
    """The selected fragment, by its id. If the id is gone after an edit, it is found by path and first line."""

    fragment: str
    path: str
    line: int


class Session(Struct, frozen=True):
    """The saved state of a vault's screen. None stands for the value in the settings.

    `place` is the position of the selected fragment, `form` the format of the pack, `link` the form of the last link
    that was copied. `budget` is in tokens. `share` is the part of the window that the list takes, 0 to 1. `unlinked`
    says that related notes with a link are hidden.
    """

    tab: str = "search"
    query: str = ""
    place: SelectedPosition | None = None
    strategy: Strategy | None = None
    scope: Scope | None = None
    budget: _Budget | None = None
    form: Format | None = None
    share: float | None = None
    fill: Fill | None = None
    unlinked: bool = False
    link: LinkForm | None = None


NEW_SESSION = Session()


def read_session(file: Path) -> Session:
    """Return the session saved in `file`, or a new one if the file is missing or invalid."""
    session = read_value(file, Session, NEW_SESSION)
    return session if len(session.query) <= _MAX_QUERY_CHARS else NEW_SESSION


def load_session(vault: Path, settings: Settings, user_paths: Paths) -> Session:
    """Return the saved session of a vault, or a new one if the settings do not restore sessions."""
    return read_session(user_paths.session_file(vault)) if settings.screen.restore else NEW_SESSION


def write_session(file: Path, session: Session) -> None:
    """Replace the session saved in `file` atomically. Raises OSError."""
    write_value(file, session)


def find_row(position: SelectedPosition, hits: Sequence[Hit]) -> int | None:
    """Return the index in `hits` of the fragment at `position`.

    If the fragment is not among the hits, the index is the one of the nearest fragment of the same note; None if no hit
    is of that note.
    """
    of_note = []
    for row, hit in enumerate(hits):
        if hit.fragment.id == position.fragment:
            return row
        if hit.fragment.path == position.path:
            of_note.append((abs(hit.fragment.line_start - position.line), row))
    return min(of_note)[1] if of_note else None


def drop_default_values(session: Session, settings: Settings) -> Session:
    """Return the session with None for each value that equals the settings."""
    return replace(
        session,
        place=session.place if session.query else None,
        strategy=session.strategy if session.strategy is not settings.search.strategy else None,
        scope=session.scope if session.scope is not settings.pack.scope else None,
        budget=session.budget if session.budget != settings.pack.budget else None,
        form=session.form if session.form is not settings.pack.format else None,
        share=session.share if session.share != DEFAULT_LIST_SHARE else None,
        fill=session.fill if session.fill is not settings.pack.fill else None,
        link=session.link if session.link is not LinkForm.WIKILINK else None,
    )


class SessionController:
    """Keeps the previous session until it is restored, and saves the current one.

    `on_failure` is called with the reason at the first failure to write the file.
    """

    def __init__(self, file: Path, previous: Session, on_failure: Callable[[str], None]) -> None:
        self.previous = previous
        self.position_to_restore = previous.place if previous.query else None
        """Position of the fragment selected in the previous session; None after the first answer."""
        self._file = StateFile(file, read_session, write_session, on_failure)

    def start_saving(self) -> None:
        """Allow `save_soon` to write. Until then the file keeps the previous session."""
        self._file.set_saved_value(self.previous)

    @property
    def is_saving(self) -> bool:
        """Whether `save_soon` writes the session."""
        return self._file.is_loaded

    def save_soon(self, session: Session) -> None:
        """Write the session within a fraction of a second."""
        self._file.save_soon(session)

    async def write_pending(self) -> None:
        """Write the newest session now if it is not written yet."""
        await self._file.write_pending()

    def take_row_to_select(self, query: str, hits: Sequence[Hit]) -> int | None:
        """Return the index in `hits` of the fragment selected in the previous session, at the first call only.

        It is None at later calls, and if `query` is not the query of the previous session.
        """
        position, self.position_to_restore = self.position_to_restore, None
        if position is None or query != self.previous.query.strip():
            return None
        return find_row(position, hits)


class UsageRecorder:
    """Writes which hits the user opens, marks and copies to the usage log `file`.

    `on_failure` is called with the reason at the first failure to write.
    """

    def __init__(self, file: Path, on_failure: Callable[[str], None]) -> None:
        self._file = file
        self._on_failure = on_failure
        self._has_reported_failure = False
        self._recorded_since: dict[str, float] = {}
        """The time of the first record of each fragment, by its id."""
        self._lock = asyncio.Lock()

    async def record(self, kind: str, hits: Sequence[UsedHit]) -> None:
        """Log what the user did with `hits` in one action; `kind` is a value of `search.usage.UseKind`."""
        if hits:
            now = time.time()
            for hit in hits:
                self._recorded_since.setdefault(hit.fragment, now)
            await self._change_log(partial(_append_to_usage_log, self._file, kind, hits, now))

    async def take_back(self, fragments: Collection[str]) -> None:
        """Delete from the log that these fragments, given by their ids, were marked since this program was started."""
        since = {fragment: first for fragment, first in self._recorded_since.items() if fragment in fragments}
        if since:
            await self._change_log(partial(_forget_marked, self._file, since))

    async def _change_log(self, change: Callable[[], object]) -> None:
        try:
            async with self._lock:
                await asyncio.to_thread(change)
        except OSError as error:
            if not self._has_reported_failure:
                self._has_reported_failure = True
                self._on_failure(error.strerror or str(error))


def _append_to_usage_log(file: Path, kind: str, hits: Sequence[UsedHit], seconds: float) -> None:
    from excerpt.search.usage import UseKind, UseLog

    UseLog(file).record(UseKind(kind), hits, seconds)


def _forget_marked(file: Path, since: Mapping[str, float]) -> None:
    from excerpt.search.usage import UseKind, UseLog

    UseLog(file).forget(
        lambda event: event.kind is UseKind.MARKED and event.time >= since.get(event.fragment, inf) - _LOG_TIME_STEP
    )
