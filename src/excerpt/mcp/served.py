"""The vaults that a server answers from: each with a thread for its engine, and a process that builds and watches its
index, so that no answer waits for either."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import excerpt
from excerpt.errors import ExcerptError, IndexBusyError, IndexUnusableError, NotThereError, VaultError
from excerpt.known_vaults import names_apart
from excerpt.settings import places
from excerpt.store.address import is_address, read_address
from excerpt.text.display import visible_line
from excerpt.vault.watched import is_watched

Told = TypeVar("Told")
Report = Callable[[int, int, str], Awaitable[None]]

PATIENCE = 4.0
"""Seconds that a call waits for an answer; agents give up after 60, and users before."""
_LOOK = 0.1
_RENEW_EVERY = 2.0  # seconds, while the first index is built: each of its batches is a generation
_AGAIN = 10.0  # seconds, until an indexing process that has ended is started again
_END = 0.5
_FEW = 20  # notes that a build may have to read without an answer being poorer for it
_AGAIN_SOON = "Ask again in a few seconds."


class NotYetError(ExcerptError):
    """There is nothing to answer from yet; it says how far that is."""

    title = "The vault is being indexed"


class IndexingProcess:
    """`excerpt watch` on one vault, as a child that ends with its stdin: by `end`, or where this process is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = -_AGAIN
        self.notes: tuple[int, int] | None = None
        """How many notes of how many a build has read; None while none runs."""
        self.failed = ""
        """The sentence of what went wrong last; "" once the index is up to date again."""
        self.looked = False
        """Whether it has looked at the whole vault, or could not."""

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, or start it again; not at every call where it ends at once."""
        if self.is_alive or time.monotonic() - self._begun < _AGAIN:
            return
        self._begun, self.looked = time.monotonic(), False
        command = [sys.executable, "-m", "excerpt", "watch", "--vault", str(self._folder), "--progress"]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl+C is for the server, which ends it
            )
        except OSError as error:
            self.failed = f"The indexing process cannot be started: {error.strerror or error}."
            self.looked = True
            return
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def end(self) -> None:
        """End it; what it has committed stays."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_END)
        except subprocess.TimeoutExpired:
            process.kill()  # nothing is lost: the last generation still opens
            process.wait()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with suppress(ValueError, KeyError, TypeError):
                self.take(json.loads(line))
        self.notes, self.looked = None, True
        self.failed = self.failed or "The indexing process has ended."

    def take(self, said: Mapping[str, object]) -> None:
        """Take in an event that it tells of."""
        match said["event"]:
            case "progress":
                self.notes = int(str(said["notes_done"])), int(str(said["notes_total"]))
            case "done" | "watching":
                self.notes, self.failed, self.looked = None, "", True
            case "error" if said["title"] == IndexBusyError.title:  # who writes it brings it up to date
                self.notes = None
            case "error" | "emptied":
                self.notes, self.looked = None, True
                self.failed = f"{said['message']} {said.get('hint', '')}".strip()


class ServedVault:
    """One vault: its `Vault` is used in a thread of its own alone."""

    def __init__(self, folder: Path, name: str, *, watched: bool) -> None:
        self.name = name
        self._to_watch = watched
        self.vault = excerpt.open(folder, refresh=False, on_notice=_to_stderr)
        self.indexing = IndexingProcess(self.vault.folder)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vault")
        self._has_index = False
        self._renewed = 0.0

    def watch(self) -> None:
        """Have the vault watched, where no other process does so, or the one that did has ended."""
        if self._to_watch and not self._is_watched():
            self.indexing.start()

    def prepare(self) -> None:
        """Begin to load what the first answers need, and do not wait for it."""
        self._thread.submit(self._prepare)

    def end(self) -> None:
        self.indexing.end()

    @property
    def freshness(self) -> str:
        """How far the index is behind the vault, in a few words."""
        if self.indexing.notes is not None:
            done, total = self.indexing.notes
            return f"indexing, {done:,} of {total:,} files"
        if self.indexing.failed:
            return f"NOT up to date: {visible_line(self.indexing.failed)}"
        if self.indexing.is_alive and not self.indexing.looked:
            return "looking for changes"
        if self.vault.address:
            return "as last pushed"
        return "up to date" if self._is_watched() else "as last indexed"

    @property
    def is_partial(self) -> bool:
        """Whether there may be much in the vault that the index has not yet."""
        return self.indexing.notes is not None and self.indexing.notes[1] > _FEW

    async def ask(self, question: Callable[[excerpt.Vault], Told], report: Report | None = None) -> Told:
        """Answer from the newest generation there is. Raises NotYetError after PATIENCE where there is none, or the
        thread has not come to it; what the question raises is raised."""
        until = time.monotonic() + PATIENCE
        self.watch()
        while True:
            answer = asyncio.wrap_future(self._thread.submit(self._answer, question))
            try:  # one that is not begun by then never will be
                return await asyncio.wait_for(answer, max(until - time.monotonic(), 0.05))
            except TimeoutError:
                raise NotYetError(f"{self.name} is being loaded.", _AGAIN_SOON) from None
            except IndexUnusableError as error:
                if time.monotonic() > until or not self._is_building():
                    raise self._not_yet(error) from None
            except NotThereError as error:
                if self.is_partial:
                    raise NotThereError(error.message, f"{error.hint} The vault is {self.freshness}.".strip()) from None
                raise
            if report is not None and self.indexing.notes is not None:
                await report(*self.indexing.notes, f"indexing {self.name}")
            await asyncio.sleep(_LOOK)

    def _answer(self, question: Callable[[excerpt.Vault], Told]) -> Told:
        self._renew()
        return question(self.vault)

    def _renew(self) -> None:
        if self._has_index and self._is_building() and time.monotonic() - self._renewed < _RENEW_EVERY:
            return
        self.vault.renew()
        self._has_index, self._renewed = True, time.monotonic()

    def _prepare(self) -> None:
        with suppress(ExcerptError):
            self._renew()
            self.vault.warm()

    def _is_watched(self) -> bool:
        return self.indexing.is_alive or is_watched(places().watch_folder(self.vault.folder))

    def _is_building(self) -> bool:
        """Whether there may be a newer generation soon: by our process, or by the one that watches the vault."""
        ours = self.indexing
        return ours.notes is not None or (not ours.looked if ours.is_alive else self._is_watched())

    def _not_yet(self, error: IndexUnusableError) -> ExcerptError:
        if self.indexing.notes is not None:
            done, total = self.indexing.notes
            said = f"{self.name} is being indexed for the first time: {done:,} of {total:,} files so far."
            return NotYetError(said, _AGAIN_SOON)
        if self._is_building():
            return NotYetError(f"{self.name} is being looked at for the first time.", _AGAIN_SOON)
        return IndexUnusableError(self.indexing.failed or error.message, error.hint)


class ServedVaults:
    """All of them, by name; the first is the default."""

    def __init__(self, folders: Sequence[Path], *, watched: bool = True) -> None:
        """Not `watched`, they are served as they were indexed last. Raises VaultError, SettingsError."""
        addresses = {read_address(str(folder)).folder: folder for folder in folders if is_address(str(folder))}
        resolved = {folder.expanduser().resolve(): folder for folder in folders if not is_address(str(folder))}
        names = names_apart([*resolved, *addresses])
        self.all = (
            *(ServedVault(folder, names[folder], watched=watched) for folder in resolved),
            *(ServedVault(address, names[at], watched=False) for at, address in addresses.items()),
        )

    def watch(self) -> None:
        """Have all of them watched, and indexed where they are not."""
        for each in self.all:
            each.watch()

    def prepare(self) -> None:
        """Begin to load what the first answers need."""
        for each in self.all:
            each.prepare()

    def end(self) -> None:
        enders = [threading.Thread(target=each.end) for each in self.all]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def named(self, name: str) -> tuple[ServedVault, ...]:
        """The vault of that name, the default for "", all for "*". Raises VaultError that names those there are."""
        if name in ("", "*"):
            return self.all if name else self.all[:1]
        found = tuple(each for each in self.all if name in (each.name, str(each.vault.folder)))
        if not found:
            there = ", ".join(each.name for each in self.all)
            raise VaultError(f"There is no vault {name} here.", f'There are: {there}; "*" is all of them.')
        return found


def _to_stderr(sentence: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"excerpt: {visible_line(sentence)}\n")
