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
from excerpt.errors import ExcerptError, IndexUnusableError, VaultError
from excerpt.known_vaults import names_apart
from excerpt.settings import places
from excerpt.text.display import visible_line
from excerpt.vault.watched import is_watched

Told = TypeVar("Told")
Report = Callable[[int, int, str], Awaitable[None]]

PATIENCE = 4.0
"""Seconds that a call waits for an answer; agents give up after 60, and users before."""
_LOOK = 0.1
_RENEW_EVERY = 2.0  # seconds, while the first index is built: each of its batches is a generation
_END = 0.5


class NotYetError(ExcerptError):
    """There is nothing to answer from yet; it says how far that is."""

    title = "The vault is being indexed"


class IndexingProcess:
    """`excerpt watch` on one vault, as a child that ends with its stdin: by `end`, or where this process is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.notes: tuple[int, int] | None = None
        """How many notes of how many a build has read; None while none runs."""
        self.failed = ""
        """The sentence of what went wrong last."""
        self.looked = threading.Event()
        """Set once it has looked at the whole vault, or could not."""

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
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
            self.looked.set()
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
                self._take(json.loads(line))
        self.notes = None
        self.looked.set()

    def _take(self, said: Mapping[str, object]) -> None:
        match said["event"]:
            case "progress":
                self.notes = int(str(said["notes_done"])), int(str(said["notes_total"]))
            case "done" | "watching":
                self.notes, self.failed = None, ""
                self.looked.set()
            case "error" | "emptied":
                self.notes, self.failed = None, f"{said['message']} {said.get('hint', '')}".strip()
                self.looked.set()


class ServedVault:
    """One vault: its `Vault` is used in a thread of its own alone."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.vault = excerpt.open(folder, refresh=False, on_notice=_to_stderr)
        self._indexing = IndexingProcess(self.vault.folder)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vault")
        self._has_index = False
        self._renewed = 0.0

    def start(self) -> None:
        """Begin to index and to load what the first answers need, and wait for neither."""
        if not is_watched(places().watch_folder(self.vault.folder)):
            self._indexing.start()
        self._thread.submit(self._prepare)

    def end(self) -> None:
        self._indexing.end()

    @property
    def freshness(self) -> str:
        """How far the index is behind the vault, in a few words."""
        if self._indexing.notes is not None:
            done, total = self._indexing.notes
            return f"indexing, {done:,} of {total:,} notes"
        if self._indexing.failed:
            return f"NOT up to date: {visible_line(self._indexing.failed)}"
        return "up to date" if self._is_watched() else "as last indexed"

    async def ask(self, question: Callable[[excerpt.Vault], Told], report: Report | None = None) -> Told:
        """Answer from the newest generation there is. Raises NotYetError after PATIENCE where there is none, or the
        thread has not come to it; what the question raises is raised."""
        until = time.monotonic() + PATIENCE
        self._watch()
        loop = asyncio.get_running_loop()
        while True:
            answer = loop.run_in_executor(self._thread, self._answer, question)
            try:
                return await asyncio.wait_for(asyncio.shield(answer), max(until - time.monotonic(), 0.05))
            except TimeoutError:
                raise NotYetError(f"{self.name} is being loaded.", "Ask again in a few seconds.") from None
            except IndexUnusableError as error:
                if time.monotonic() > until or not self._is_building():
                    raise self._not_yet(error) from None
            if report is not None and self._indexing.notes is not None:
                await report(*self._indexing.notes, f"indexing {self.name}")
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

    def _watch(self) -> None:
        """Watch the vault where the other process that did so has ended, or ours was killed."""
        if not self._is_watched():
            self._indexing = IndexingProcess(self.vault.folder)
            self._indexing.start()

    def _is_watched(self) -> bool:
        return self._indexing.is_alive or is_watched(places().watch_folder(self.vault.folder))

    def _is_building(self) -> bool:
        return self._indexing.notes is not None or (self._indexing.is_alive and not self._indexing.looked.is_set())

    def _not_yet(self, error: IndexUnusableError) -> ExcerptError:
        if self._indexing.notes is not None:
            done, total = self._indexing.notes
            said = f"{self.name} is being indexed for the first time: {done:,} of {total:,} notes so far."
            return NotYetError(said, "Ask again in a few seconds.")
        if self._is_building():
            return NotYetError(f"{self.name} is being looked at for the first time.", "Ask again in a few seconds.")
        return IndexUnusableError(self._indexing.failed or error.message, error.hint)


class ServedVaults:
    """All of them, by name; the first is the default."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Raises VaultError, SettingsError."""
        resolved = {folder.expanduser().resolve(): folder for folder in folders}
        names = names_apart(resolved)
        self.all = tuple(ServedVault(folder, names[folder]) for folder in resolved)

    def start(self) -> None:
        for each in self.all:
            each.start()

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
