"""The vaults that the server answers from.

Each has a thread for its engine, and a process that builds and watches its index, so that no answer waits for either.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import excerpt
from excerpt.errors import ExcerptError, IndexBusyError, IndexUnusableError, NotFoundError, VaultError
from excerpt.indexing_process import IndexingProcess
from excerpt.known_vaults import unique_names
from excerpt.settings import user_paths
from excerpt.store.address import is_address, read_address
from excerpt.text.display import format_count, visible_line
from excerpt.vault.watched import is_watched

Answered = TypeVar("Answered")
Report = Callable[[int, int, str], Awaitable[None]]

ANSWER_SECONDS = 4.0
"""Seconds that a call waits for an answer; agents give up after 60, and users before that."""
_POLL_SECONDS = 0.1
_RENEW_EVERY = 2.0  # seconds; while the first index is built, each batch is a generation
_RESTART_SECONDS = 10.0  # between two starts of an indexing process that ends by itself
_MAX_UNREAD_FILES = 20  # notes that a build may have to read without an answer being poorer for it
_RETRY_HINT = "Ask again in a few seconds."


class NotYetError(ExcerptError):
    """There is no index to answer from yet; the message gives the progress."""

    title = "The vault is being indexed"


@dataclass(frozen=True, slots=True)
class IndexingState:
    """What the indexing process has reported so far.

    `files` is how many files the build has read of how many, None while no build runs; `failed` the last error, "" once
    the index is up to date again; `has_looked` whether it has scanned the whole vault or cannot; `generation` the
    generation that its last build committed.
    """

    files: tuple[int, int] | None = None
    failed: str = ""
    has_looked: bool = False
    generation: int = 0

    @property
    def progress(self) -> str:
        """Progress of the build in words; "" while none runs, or before it knows how much there is to read."""
        if self.files is None or not self.files[1]:
            return ""
        return f"indexing, {self.files[0]:,} of {format_count(self.files[1], 'file')}"


class VaultIndexing:
    """The indexing process of one vault and what it has reported; started again, but not at once, when it has ended."""

    def __init__(self, folder: Path) -> None:
        self._process = IndexingProcess(folder, self._handle_line, self._handle_exit)
        self._started = -_RESTART_SECONDS
        self.state = IndexingState()
        """Replaced as a whole by the thread that listens, so that a reader gets values that belong together."""

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._process.is_running

    def start(self) -> None:
        """Start the process unless it runs or was started within the last seconds."""
        if self.is_running or time.monotonic() - self._started < _RESTART_SECONDS:
            return
        self._started, self.state = time.monotonic(), replace(self.state, has_looked=False)
        self._process.start()

    def end(self) -> None:
        """End the process; what it has committed stays."""
        self._process.end()

    def _handle_line(self, line: bytes) -> None:
        with suppress(ValueError, KeyError, TypeError):
            self.handle_event(json.loads(line))

    def _handle_exit(self, code: int | None, text: str) -> None:
        failed = self.state.failed or "The indexing process has ended."
        if code is None:
            failed = f"The indexing process cannot be started: {text}."
        self.state = replace(self.state, files=None, failed=failed, has_looked=True)

    def handle_event(self, event: Mapping[str, object]) -> None:
        """Update the state from an event that the process has reported."""
        match event["event"]:
            case "progress":
                self.state = replace(self.state, files=(int(str(event["notes_done"])), int(str(event["notes_total"]))))
            case "done":
                self.state = IndexingState(has_looked=True, generation=int(str(event["generation"])))
            case "watching":
                self.state = replace(self.state, files=None, failed="", has_looked=True)
            case "error" if event["title"] == IndexBusyError.title:  # the process that holds the lock updates the index
                self.state = replace(self.state, files=None, has_looked=False)
            case "error" | "emptied":
                failed = f"{event['message']} {event.get('hint', '')}".strip()
                self.state = replace(self.state, files=None, failed=failed, has_looked=True)


@dataclass(frozen=True, slots=True)
class ServedSnapshot:
    """A vault in the state that one question is answered from.

    `freshness` says in a few words how far the generation in use is behind the vault; `is_partial` that much of the
    vault may be missing from it; `notices` are the vault's messages since the question was asked.
    """

    vault: excerpt.Vault
    name: str
    freshness: str
    is_partial: bool
    notices: list[str] = field(default_factory=list)


class ServedVault:
    """One vault; its `Vault` is used only in a thread of its own."""

    def __init__(self, folder: Path, name: str, *, watched: bool) -> None:
        self.name = name
        self._to_watch = watched
        self._notices: list[str] = []
        self.vault = excerpt.open(folder, refresh=False, on_notice=self._notice)
        self.indexing = VaultIndexing(self.vault.folder)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vault")
        self._has_index = False
        self._renewed = 0.0

    def watch(self) -> None:
        """Start the indexing process unless another process watches the vault."""
        if self._to_watch and not self._is_watched():
            self.indexing.start()

    def prepare(self) -> None:
        """Start to load what the first answers need, without waiting for it."""
        self._thread.submit(self._prepare)

    def end(self) -> None:
        self.indexing.end()

    async def ask(
        self, question: Callable[[ServedSnapshot], Answered], report: Report | None = None, *, writes: bool = False
    ) -> Answered:
        """Answer from the newest generation.

        Raises NotYetError if after ANSWER_SECONDS there is no index or the thread is still busy, and whatever the
        question raises. A question that `writes` is never asked twice.
        """
        deadline = time.monotonic() + ANSWER_SECONDS
        self.watch()
        while True:
            answer = asyncio.wrap_future(self._thread.submit(self._answer, question, writes=writes))
            try:  # a timeout cancels a question that has not started
                return await asyncio.wait_for(answer, max(deadline - time.monotonic(), 0.05))
            except TimeoutError:
                raise NotYetError(f"{self.name} is loading.", _RETRY_HINT) from None
            except IndexUnusableError as error:
                if time.monotonic() > deadline or not self._is_mended(self.indexing.state):
                    raise self._not_yet(error) from None
            if report is not None and (files := self.indexing.state.files) is not None:
                await report(*files, f"indexing {self.name}")
            await asyncio.sleep(_POLL_SECONDS)

    def _answer(self, question: Callable[[ServedSnapshot], Answered], *, writes: bool) -> Answered:
        state = self.indexing.state  # read before the index is opened: later reports are about later generations
        is_busy = self._is_building(state)
        self._renew(is_busy=is_busy)
        self._notices.clear()
        snapshot = self._snapshot(state)
        try:
            return question(snapshot) if writes else self.vault.run_in_one_snapshot(lambda: question(snapshot))
        except NotFoundError as error:
            if not snapshot.is_partial:
                raise
            raise NotFoundError(error.message, f"{error.hint} The vault is {snapshot.freshness}.".strip()) from None
        except IndexUnusableError:
            self.vault.close()  # the next question opens it again, repaired
            raise

    def _snapshot(self, state: IndexingState) -> ServedSnapshot:
        """Return the vault's current snapshot; `state` was reported before its index was opened."""
        is_behind = self.vault.is_unfinished or self.vault.generation < state.generation
        is_partial = is_behind or (state.files is not None and state.files[1] > _MAX_UNREAD_FILES)
        return ServedSnapshot(
            self.vault, self.name, self._freshness(state, is_behind=is_behind), is_partial, self._notices
        )

    def _freshness(self, state: IndexingState, *, is_behind: bool) -> str:
        if state.progress:
            return state.progress
        if state.failed:
            return f"NOT up to date: {visible_line(state.failed)}"
        if self.vault.address:
            return "as last pushed"
        is_watched = self._is_watched()
        if is_behind:
            return "indexing" if is_watched else "partly indexed"
        if state.files is not None or (self.indexing.is_running and not state.has_looked):
            return "looking for changes"
        return "up to date" if is_watched else "as last indexed"

    def _renew(self, *, is_busy: bool) -> None:
        if self._has_index and is_busy and time.monotonic() - self._renewed < _RENEW_EVERY:
            return
        self.vault.renew()
        self._has_index, self._renewed = True, time.monotonic()

    def _prepare(self) -> None:
        with suppress(ExcerptError):
            self._renew(is_busy=self._is_building(self.indexing.state))
            self.vault.warm()

    def _notice(self, sentence: str) -> None:
        self._notices.append(sentence)
        with suppress(OSError):
            sys.stderr.write(f"excerpt: {visible_line(sentence)}\n")

    def _is_watched(self) -> bool:
        return self.indexing.is_running or is_watched(user_paths().watch_folder(self.vault.folder))

    def _is_building(self, state: IndexingState) -> bool:
        """Return whether a newer generation may appear soon, from our process or another one that watches the vault."""
        return state.files is not None or (not state.has_looked if self.indexing.is_running else self._is_watched())

    def _is_mended(self, state: IndexingState) -> bool:
        """Return whether another attempt may find a readable index.

        The process that watches the vault repairs a damaged one.
        """
        return self._is_building(state) or (self._is_watched() and not state.failed)

    def _not_yet(self, error: IndexUnusableError) -> ExcerptError:
        state = self.indexing.state
        if state.files is not None:
            done, total = state.files
            message = (
                f"{self.name} is being indexed for the first time: {done:,} of {format_count(total, 'file')} so far."
            )
            return NotYetError(message, _RETRY_HINT)
        if self._is_building(state):
            return NotYetError(f"{self.name} is being scanned for the first time.", _RETRY_HINT)
        return IndexUnusableError(state.failed or error.message, error.hint)


class ServedVaults:
    """All served vaults, by name; the first is the default."""

    def __init__(self, folders: Sequence[Path], *, watched: bool = True) -> None:
        """Open the vaults; unless `watched`, they are served as last indexed. Raises VaultError, SettingsError."""
        addresses = {read_address(str(folder)).folder: folder for folder in folders if is_address(str(folder))}
        resolved = {folder.expanduser().resolve(): folder for folder in folders if not is_address(str(folder))}
        names = unique_names([*resolved, *addresses])
        self.all = (
            *(ServedVault(folder, names[folder], watched=watched) for folder in resolved),
            *(ServedVault(address, names[at], watched=False) for at, address in addresses.items()),
        )

    def watch(self) -> None:
        """Start indexing processes for the vaults that no other process watches."""
        for each in self.all:
            each.watch()

    def prepare(self) -> None:
        """Start to load what the first answers need."""
        for each in self.all:
            each.prepare()

    def end(self) -> None:
        enders = [threading.Thread(target=each.end) for each in self.all]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def vaults_named(self, name: str) -> tuple[ServedVault, ...]:
        """Return the vault of that name, the default one for "", all for "*".

        Raises VaultError that lists the existing names.
        """
        if name in ("", "*"):
            return self.all if name else self.all[:1]
        matching = tuple(each for each in self.all if name in (each.name, str(each.vault.folder)))
        if not matching:
            names = ", ".join(each.name for each in self.all)
            raise VaultError(f"There is no vault {name}.", f'Vaults: {names}; "*" means all.')
        return matching
