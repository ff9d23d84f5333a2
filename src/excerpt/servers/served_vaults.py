"""The vaults that a server answers from: the MCP server, or the line server.

For each vault, queries run in a thread of its own, and another process watches the files and updates the index. So no
vault waits for another one, and no answer waits for indexing. All servers of a vault share that process: the first one
starts it, and when it ends, another server starts one.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

import excerpt
from excerpt.base.cancellation import CancelToken, cancelled_by
from excerpt.base.errors import (
    ExcerptError,
    IndexBusyError,
    IndexUnusableError,
    NotFoundError,
    SettingsError,
    VaultError,
)
from excerpt.base.model import BuildReport, Progress
from excerpt.base.settings import load_vault_settings, user_paths
from excerpt.index.events import IndexingFailed, VaultEmptied, VaultWatched
from excerpt.search.usage import REWORDING_SECONDS, UnsureQuestions
from excerpt.service.indexing_process import IndexingEnded, IndexingProcess, ProcessEvent
from excerpt.service.stores import is_address, parse_address
from excerpt.text.display import format_count, visible_line
from excerpt.vault.known_vaults import VaultFolders, unique_names
from excerpt.vault.watched import WatchClaim, is_watched

Answer = TypeVar("Answer")
ReportProgress = Callable[[int, int, str], Awaitable[None]]

ANSWER_SECONDS = 4.0
"""Seconds after which a call ends without an answer; agents give up after 60, and users before that."""
_POLL_SECONDS = 0.1
_WATCH_SECONDS = 2.0  # between two looks whether a vault is still watched by another process
_RENEW_SECONDS = 2.0  # between two looks for a newer generation of an index that is being built
_RESTART_SECONDS = 10.0  # between two starts of an indexing process that ends by itself
_MAX_UNREAD_FILES = 20  # files that a build has to read, up to which the index does not count as partial
_RETRY_HINT = "Ask again in a few seconds."
_MAX_CLIENTS = 100  # whose questions are kept, those that asked last

CLIENT: ContextVar[object] = ContextVar("CLIENT", default="")
"""The client whose request is answered: anything hashable; None if that is unknown, so that no question is kept."""


class NotIndexedYetError(ExcerptError):
    """Raised if there is no index to answer from yet; the message gives the progress."""

    title = "The vault is being indexed"


class VaultBusyError(ExcerptError):
    """Raised if a vault has not answered in time; the message says with what it is busy."""

    title = "The vault is busy"


class IndexingState(Struct, frozen=True):
    """What the indexing process of a vault has reported so far.

    `files` are the numbers of files that the running build has read and has to read, None if no build runs. `failed` is
    the last error, "" once the index is up to date again. `has_scanned` says that the process has scanned the whole
    vault, or failed. `generation` is the number of the index state that the last build committed.
    """

    files: tuple[int, int] | None = None
    failed: str = ""
    has_scanned: bool = False
    generation: int = 0

    @property
    def progress(self) -> str:
        """Progress of the build, such as "indexing, 5 of 20 files"; "" if no build runs or the total is unknown."""
        if self.files is None or not self.files[1]:
            return ""
        return f"indexing, {self.files[0]:,} of {format_count(self.files[1], 'file')}"


class VaultIndexing:
    """The indexing process of one vault, and what the process has reported.

    It runs only while this process has the claim to watch the vault.
    """

    def __init__(self, folder: Path) -> None:
        self._process = IndexingProcess(folder, self.handle_event)
        self._claim = WatchClaim(user_paths().watch_folder(folder))
        self._start_lock = threading.Lock()
        self._start_time = -_RESTART_SECONDS
        self.state = IndexingState()
        """The thread that reads reports replaces this object as a whole, so its values always belong together."""

    @property
    def is_running(self) -> bool:
        """Whether the indexing process runs."""
        return self._process.is_running

    def start(self) -> None:
        """Start the process, unless the vault is watched or it was started in the last `_RESTART_SECONDS`."""
        with self._start_lock:
            if self.is_running or time.monotonic() - self._start_time < _RESTART_SECONDS or not self._claim.acquire():
                return
            self._start_time, self.state = time.monotonic(), replace(self.state, has_scanned=False)
            self._process.start()

    def end(self) -> None:
        """End the process. The generations that it has committed stay in the index."""
        self._process.end()
        self._claim.release()

    def handle_event(self, event: ProcessEvent) -> None:
        """Update `state` from an event of the process."""
        match event:
            case Progress():
                self.state = replace(self.state, files=(event.notes_done, event.notes_total))
            case BuildReport():
                self.state = IndexingState(has_scanned=True, generation=event.generation)
            case VaultWatched():
                self.state = replace(self.state, files=None, failed="", has_scanned=True)
            case IndexingFailed(title=IndexBusyError.title):  # the process that holds the lock updates the index
                self.state = replace(self.state, files=None, has_scanned=False)
            case IndexingFailed() | VaultEmptied():
                failed = f"{event.message} {event.hint}".strip()
                self.state = replace(self.state, files=None, failed=failed, has_scanned=True)
            case IndexingEnded():
                self._claim.release()
                failed = self.state.failed or "The indexing process has ended."
                if event.code is None:
                    failed = f"The indexing process cannot be started: {event.text}."
                self.state = replace(self.state, files=None, failed=failed, has_scanned=True)


class AskedQuestions:
    """The questions that one client of a server asked of one vault.

    A question that found nothing sure is saved together with the passage that the client opens next, for this question
    or for a rewording of it.
    """

    def __init__(self, vault: excerpt.Vault) -> None:
        self._vault = vault
        self._unsure = UnsureQuestions()
        self._result: excerpt.Result | None = None
        self._since = 0.0
        self._log_id: tuple[int, int] | None = None

    def ask(self, result: excerpt.Result, min_seconds: float = 0.0) -> None:
        """Note the question of a result that a client sees; `min_seconds` are as for `UnsureQuestions.ask`."""
        self._drop_if_forgotten()
        self._result, self._since = result, time.monotonic()
        self._unsure.ask(result.query, is_unsure=result.has_nothing_sure, now=self._since, min_seconds=min_seconds)

    def leave(self) -> None:
        """Note that the client asked another vault, so that what it opens next is not for its last question here."""
        self._result = None

    def open(self, path: str, first: int, last: int) -> bool:
        """Note that a client opened lines of a note; return whether a question was saved with these lines."""
        self._drop_if_forgotten()
        now = time.monotonic()
        if now - self._since > REWORDING_SECONDS:
            self.leave()
        hits = self._result.best_first if self._result is not None else ()
        inside = (hit for hit in hits if hit.path == path and hit.line_start <= last and first <= hit.line_end)
        hit = next(inside, None)
        if self._result is None or hit is None:
            return False
        earlier = self._unsure.reworded(now)
        if not (earlier or self._result.has_nothing_sure) or not self._is_learning():
            return False
        with suppress(OSError):  # the lines are read all the same
            if self._vault.record_use(self._result, hit, earlier=earlier):
                self._unsure.use(now)
                return True
        return False

    def _drop_if_forgotten(self) -> None:
        """Drop the questions if a process has deleted or rewritten the log, so that no deleted one is saved again."""
        before, self._log_id = self._log_id, None
        with suppress(OSError):
            status = user_paths().use_file(self._vault.folder).stat()
            self._log_id = status.st_dev, status.st_ino
        if before is not None and self._log_id != before:
            self._result, self._unsure = None, UnsureQuestions()

    def _is_learning(self) -> bool:
        """Return whether the settings allow learning now; they may have changed since the server was started."""
        try:
            return load_vault_settings(self._vault.folder, user_paths()).search.learn
        except SettingsError:
            return False


class ServedSnapshot(Struct, frozen=True):
    """The state of a vault while one question is answered.

    `freshness` says in a few words whether the open index is up to date. `is_partial` means that much of the vault may
    be missing from the index. `notices` are the vault's messages since the question was asked. `questions` are the
    client's earlier questions to the vault; None for several vaults as one, or an unknown client.
    """

    vault: excerpt.Vault
    name: str
    freshness: str
    is_partial: bool
    notices: list[str] = field(default_factory=list)
    questions: AskedQuestions | None = None


class ServedVault:
    """One vault of the server, with its indexing process and the thread that answers from it."""

    def __init__(
        self, folder: Path, name: str, *, watched: bool, comments: Literal["author", "everybody"] = "everybody"
    ) -> None:
        self.name = name
        self._is_watch_requested = watched
        self._notices: list[str] = []
        self.vault = excerpt.open(folder, refresh=False, on_notice=self._add_notice, comments=comments, learn=True)
        self._questions: dict[object, AskedQuestions] = {}
        self.indexing = VaultIndexing(self.vault.folder)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vault")
        self._is_loading = False
        self._has_index = False
        self._renew_time = 0.0

    def watch(self) -> None:
        """Start the indexing process unless another process watches the vault."""
        if self._is_watch_requested:
            self.indexing.start()

    def prepare(self) -> None:
        """Start to load the index in the vault's thread, so that the first answer is fast; does not wait."""
        self._thread.submit(self._prepare)

    def end(self) -> None:
        """End the indexing process."""
        self.indexing.end()

    @property
    def is_watched(self) -> bool:
        """Whether a process keeps the index up to date: the server's own, or another one."""
        return self._is_watched()

    @property
    def has_index(self) -> bool:
        """Whether the vault has answered from an index."""
        return self._has_index

    def explain_no_answer(self) -> str:
        """Return in a few words why the vault does not answer."""
        state = self.indexing.state
        if state.progress or not state.failed:
            return state.progress or ("busy" if self._has_index else "not indexed yet")
        return f"NOT indexed: {visible_line(state.failed)}"

    async def open_newest(self) -> int:
        """Switch to the newest generation in the vault's thread and return its number, 0 if there is none yet."""

        def renew() -> int:
            with suppress(ExcerptError):
                self._use_newest_generation(is_busy=self._is_building(self.indexing.state))
                return self.vault.generation
            return 0

        return await asyncio.wrap_future(self._thread.submit(renew))

    async def ask(
        self,
        question: Callable[[ServedSnapshot], Answer],
        report: ReportProgress | None = None,
        *,
        writes: bool = False,
    ) -> Answer:
        """Call `question` in the vault's thread with the newest state of the index, and return its result.

        `report` gets the progress of indexing while there is no index yet. After a lost connection, `question` is
        called again, unless it `writes`. Raises NotIndexedYetError if there is no index after ANSWER_SECONDS,
        VaultBusyError if there is no answer by then, and any error of the question. A question that nobody waits for
        any more is dropped, or ends at its next check, unless it `writes`.
        """
        token = CancelToken()
        try:
            return await self._ask_until_answered(question, token, report, writes=writes)
        finally:
            if not writes:
                token.cancel()

    async def _ask_until_answered(
        self,
        question: Callable[[ServedSnapshot], Answer],
        token: CancelToken,
        report: ReportProgress | None,
        *,
        writes: bool,
    ) -> Answer:
        deadline = time.monotonic() + ANSWER_SECONDS
        self.watch()
        while True:
            turn = self._thread.submit(self._answer, question, token, CLIENT.get(), writes=writes)
            try:  # a timeout cancels a question that has not started
                # `asyncio.wait_for` of Python 3.11 ignores a cancellation that comes together with the answer.
                async with asyncio.timeout(max(deadline - time.monotonic(), 0.05)):
                    return await asyncio.wrap_future(turn)
            except TimeoutError:
                raise self._explain_waiting(has_started=not turn.cancelled(), writes=writes) from None
            except IndexUnusableError as error:
                if time.monotonic() > deadline or not self._may_be_repaired_soon(self.indexing.state):
                    raise self._explain_missing_index(error) from None
            if report is not None and (files := self.indexing.state.files) is not None:
                await report(*files, f"indexing {self.name}")
            await asyncio.sleep(_POLL_SECONDS)

    def _explain_waiting(self, *, has_started: bool, writes: bool) -> VaultBusyError:
        """Return the error for a question not answered in time, which says whether it was running or waiting."""
        if has_started:
            hint = "The change may still be made: check before you repeat it." if writes else "Ask a shorter question."
            return VaultBusyError(f"The vault {self.name} has not answered within {ANSWER_SECONDS:.0f} s.", hint)
        if self._is_loading:
            return VaultBusyError(f"The vault {self.name} is still loading.", _RETRY_HINT)
        return VaultBusyError(f"The vault {self.name} is busy with another question.", _RETRY_HINT)

    def _answer(
        self, question: Callable[[ServedSnapshot], Answer], token: CancelToken, client: object, *, writes: bool
    ) -> Answer:
        state = self.indexing.state  # read before the index is opened: later reports are about later generations
        is_busy = self._is_building(state)
        self._use_newest_generation(is_busy=is_busy)
        self._notices.clear()
        snapshot = self._snapshot(state, client)
        try:
            with cancelled_by(token):
                return question(snapshot) if writes else self.vault.run_in_one_snapshot(lambda: question(snapshot))
        except NotFoundError as error:
            if not snapshot.is_partial:
                raise
            raise NotFoundError(error.message, f"{error.hint} The vault is {snapshot.freshness}.".strip()) from None
        except IndexUnusableError:
            self.vault.close()  # the next question opens it again, repaired
            raise

    def _snapshot(self, state: IndexingState, client: object) -> ServedSnapshot:
        """Return the vault with its freshness; `state` was reported before the index was opened."""
        is_behind = self.vault.is_unfinished or self.vault.generation < state.generation
        is_partial = is_behind or (state.files is not None and state.files[1] > _MAX_UNREAD_FILES)
        return ServedSnapshot(
            self.vault,
            self.name,
            self._describe_freshness(state, is_behind=is_behind),
            is_partial,
            self._notices,
            self._questions_of(client),
        )

    def _questions_of(self, client: object) -> AskedQuestions | None:
        if client is None:
            return None
        known = client in self._questions
        self._questions[client] = self._questions.pop(client) if known else AskedQuestions(self.vault)
        if len(self._questions) > _MAX_CLIENTS:
            del self._questions[next(iter(self._questions))]
        return self._questions[client]

    def _describe_freshness(self, state: IndexingState, *, is_behind: bool) -> str:
        """Return in a few words whether the index is up to date, such as "looking for changes"."""
        if state.progress:
            return state.progress
        if state.failed:
            return f"NOT up to date: {visible_line(state.failed)}"
        if self.vault.address:
            return "as last pushed"
        is_watched = self._is_watched()
        if is_behind:
            return "indexing" if is_watched else "partly indexed"
        if state.files is not None or (self.indexing.is_running and not state.has_scanned):
            return "looking for changes"
        return "up to date" if is_watched else "as last indexed"

    def _use_newest_generation(self, *, is_busy: bool) -> None:
        """Switch to the newest generation; while indexing is busy, at most every `_RENEW_SECONDS`."""
        if self._has_index and is_busy and time.monotonic() - self._renew_time < _RENEW_SECONDS:
            return
        self.vault.reload()
        self._has_index, self._renew_time = True, time.monotonic()

    def _prepare(self) -> None:
        self._is_loading = True
        try:
            with suppress(ExcerptError):
                self._use_newest_generation(is_busy=self._is_building(self.indexing.state))
                self.vault.load()
        finally:
            self._is_loading = False

    def _add_notice(self, sentence: str) -> None:
        self._notices.append(sentence)
        with suppress(OSError):
            sys.stderr.write(f"excerpt: {visible_line(sentence)}\n")

    def _is_watched(self) -> bool:
        return self.indexing.is_running or is_watched(user_paths().watch_folder(self.vault.folder))

    def _is_building(self, state: IndexingState) -> bool:
        """Return whether a process is indexing the vault now: the server's own, or another one that watches it."""
        return state.files is not None or (not state.has_scanned if self.indexing.is_running else self._is_watched())

    def _may_be_repaired_soon(self, state: IndexingState) -> bool:
        """Return whether a readable index may appear soon: the process that watches the vault builds or repairs it."""
        return self._is_building(state) or (self._is_watched() and not state.failed)

    def _explain_missing_index(self, error: IndexUnusableError) -> ExcerptError:
        """Return the error to raise instead of `error`: NotIndexedYetError with the progress if the index is built."""
        state = self.indexing.state
        if state.files is not None:
            done, total = state.files
            message = (
                f"The vault {self.name} is being indexed for the first time:"
                f" {done:,} of {format_count(total, 'file')} so far."
            )
            return NotIndexedYetError(message, _RETRY_HINT)
        if self._is_building(state):
            return NotIndexedYetError(f"The vault {self.name} is being scanned for the first time.", _RETRY_HINT)
        return IndexUnusableError(state.failed or error.message, error.hint)


class ServedVaults:
    """All vaults of the server; the first is the default."""

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        watched: bool = True,
        comments: Literal["author", "everybody"] = "everybody",
    ) -> None:
        """Open the vaults at `folders`, which may be addresses of stores. Raises VaultError, SettingsError.

        Without `watched`, their indexes are not updated. `comments` is as for `excerpt.open`.
        """
        addresses = {parse_address(str(folder)).folder: folder for folder in folders if is_address(str(folder))}
        resolved = {folder.expanduser().resolve(): folder for folder in folders if not is_address(str(folder))}
        self._unique_names = unique_names([*resolved, *addresses])
        joined = VaultFolders.of([*resolved, *addresses])
        names = {folder: name for name, folder in joined.named} if joined.is_joined else self._unique_names
        self.all = (
            *(ServedVault(folder, names[folder], watched=watched, comments=comments) for folder in resolved),
            *(ServedVault(address, names[at], watched=False) for at, address in addresses.items()),
        )
        self._is_ended = threading.Event()
        self._union_thread = ThreadPoolExecutor(1, thread_name_prefix="union")
        self._union: tuple[Sequence[ServedVault], excerpt.VaultUnion] | None = None

    def watch(self) -> None:
        """Start indexing processes for the vaults that no other process watches, now and whenever such a process ends.

        Does not wait.
        """
        threading.Thread(target=self._keep_watched, name="watch", daemon=True).start()

    def _keep_watched(self) -> None:
        while not self._is_ended.is_set():
            for each in self.all:
                each.watch()
            self._is_ended.wait(_WATCH_SECONDS)

    def prepare(self) -> None:
        """Start to load the index of each vault, so that the first answers are fast; does not wait."""
        for each in self.all:
            each.prepare()

    def end(self) -> None:
        """End the indexing processes of all vaults, and wait until they have ended."""
        self._is_ended.set()
        enders = [threading.Thread(target=each.end) for each in self.all]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    async def ask_union(
        self,
        served: Sequence[ServedVault],
        ready: Mapping[ServedVault, ServedSnapshot],
        question: Callable[[ServedSnapshot], Answer],
    ) -> Answer:
        """Call `question` with several vaults as one, and return its result.

        `ready` are the vaults of `served` that have an index; the freshness names the other vaults, and vaults whose
        embedding model cannot be loaded. Raises NotIndexedYetError if the vaults are busy for ANSWER_SECONDS, and any
        error of the question.
        """
        union, token = self._join(tuple(ready)), CancelToken()
        for snapshot in ready.values():
            if snapshot.questions is not None:
                snapshot.questions.leave()

        def respond() -> Answer:
            left_out = union.left_out
            is_partial = len(ready) < len(served) or any(snapshot.is_partial for snapshot in ready.values())
            return question(ServedSnapshot(union, "*", describe_freshness(served, ready, left_out), is_partial))

        def ask() -> Answer:
            with cancelled_by(token):
                return union.run_in_one_snapshot(respond)

        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.wrap_future(self._union_thread.submit(ask))
        except TimeoutError:
            raise VaultBusyError("The vaults are busy.", _RETRY_HINT) from None
        finally:
            token.cancel()

    def _join(self, served: Sequence[ServedVault]) -> excerpt.VaultUnion:
        """Return the vaults as one union, which is cached for the next question."""
        if self._union is None or self._union[0] != served:
            folders = VaultFolders(tuple((vault.name, vault.vault.folder) for vault in served))
            self._union = served, excerpt.VaultUnion([vault.vault for vault in served], folders)
        return self._union[1]

    def find_several(self, names: Sequence[str]) -> tuple[ServedVault, ...]:
        """Return the vaults with these names, each once, in the order of the server. Raises VaultError."""
        named = {vault for name in names for vault in self.find_vaults(name)}
        return tuple(vault for vault in self.all if vault in named)

    def find_vaults(self, name: str) -> tuple[ServedVault, ...]:
        """Return the vault called `name` in a tuple; for "" the default vault, for "*" all vaults.

        The last folders of a vault's path are a name too, if no other vault's path ends in them. Raises VaultError,
        which lists the vaults, for an unknown name.
        """
        if name in ("", "*"):
            return self.all if name else self.all[:1]
        matching = tuple(
            each
            for each in self.all
            if name in (each.name, self._unique_names[each.vault.folder], str(each.vault.folder), each.vault.address)
        )
        if not matching:
            names = ", ".join(each.name for each in self.all)
            raise VaultError(f"There is no vault {name}.", f'Name one of these vaults: {names}; "*" means all.')
        return matching


async def ask_each(
    served: Sequence[ServedVault], question: Callable[[ServedSnapshot], Answer], report: ReportProgress | None = None
) -> dict[ServedVault, Answer]:
    """Ask all vaults concurrently and return their answers, without vaults that are busy or have no readable index.

    Raises the first error of another kind; if no vault has answered, it raises the first error of any kind.
    """
    requests = (vault.ask(question, report) for vault in served)
    results = dict(zip(served, await asyncio.gather(*requests, return_exceptions=True), strict=True))
    errors = [each for each in results.values() if isinstance(each, BaseException)]
    answered = {vault: each for vault, each in results.items() if not isinstance(each, BaseException)}
    left_out = (NotIndexedYetError, VaultBusyError, IndexUnusableError) if answered else ()
    failure = next((error for error in errors if not isinstance(error, left_out)), None)
    if failure is not None:
        raise failure
    return answered


def describe_freshness(
    served: Sequence[ServedVault],
    answered: Mapping[ServedVault, ServedSnapshot],
    left_out: Mapping[str, str] | None = None,
) -> str:
    """Return whether the index that answered is up to date, in a few words for the first line of an answer.

    `served` are the vaults that were asked, `answered` the snapshots of those that have answered, except those in
    `left_out`, which has the reasons by name. Of several vaults, only those that are not up to date are listed.
    """
    if len(served) == 1:
        return answered[served[0]].freshness
    states = {
        vault.name: answered[vault].freshness if vault in answered else vault.explain_no_answer() for vault in served
    }
    states |= {name: f"left out: {visible_line(reason)}" for name, reason in (left_out or {}).items()}
    late = (name for name, freshness in states.items() if freshness not in ("up to date", "as last indexed"))
    return ", ".join(f"{visible_line(name)}: {states[name]}" for name in late)
