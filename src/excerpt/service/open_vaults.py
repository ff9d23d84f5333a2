"""Open vaults: the generation of each that is in use, the newest one in its place, and several vaults as one.

A generation is a committed state of an index; each commit raises its number. The Python API and the engine of the
screen open vaults here. Nothing here has a thread or a lock: both belong to those who ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from excerpt.base.errors import ExcerptError, IndexUnusableError, VaultEmptiedError
from excerpt.base.state_files import make_private, users_umask
from excerpt.text.display import local_time
from excerpt.vault.known_vaults import refuse_broad_folder

if TYPE_CHECKING:
    from excerpt.base.model import BuildReport, Progress
    from excerpt.base.settings import Paths, Settings
    from excerpt.corpus.interface import Corpus
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine
    from excerpt.service.stores import StoreAddress

OnNotice = Callable[[str], None]

_LOCK_WAIT_SECONDS = 1.0  # wait for another process that writes the index, before the existing index is used


def _ignore_notice(_sentence: str) -> None:
    """Do nothing."""


class OpenIndex:
    """The index of a vault in a folder. `corpus` is the generation in use, None while none is open."""

    def __init__(
        self,
        vault: Path,
        index_folder: Path,
        settings: Settings,
        paths: Paths,
        *,
        refresh: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_notice: OnNotice = _ignore_notice,
        for_author: bool = False,
    ) -> None:
        """Open nothing yet. With `refresh`, the index is updated before it is opened for the first time.

        With `for_author`, the comments in the notes are found and shown, unless the settings hide them.
        """
        self._vault = vault
        self._index_folder = index_folder
        self._paths = paths
        self._refresh = refresh
        self._on_progress = on_progress
        self._on_notice = on_notice
        self._for_author = for_author
        self.settings = settings
        self.corpus: Corpus | None = None

    @property
    def has_newer(self) -> bool:
        """Whether a process has committed a newer generation than the one in use. Takes less than a millisecond."""
        from excerpt.index.snapshot import Snapshot

        if self.corpus is None:
            return True
        return Snapshot.current_generation(self._index_folder) not in (0, self.corpus.generation)

    def open_newest(self) -> Corpus:
        """Open the newest generation, which shares data with the one in use. Raises IndexUnusableError."""
        from excerpt.index.snapshot import Snapshot

        before = self.corpus if isinstance(self.corpus, Snapshot) else None
        return Snapshot.open(self._index_folder, self.settings, before=before, for_author=self._for_author)

    def open_first(self) -> Corpus:
        """Open the newest generation, after an update if that is asked for and files have changed.

        If the update fails, the existing index is opened, and a notice says so. Raises IndexUnusableError, VaultError.
        """
        if not self._refresh:
            return self.open_newest()
        return self._open_if_up_to_date() or self._build_and_open()

    def build(self, on_progress: Callable[[Progress], None] | None) -> BuildReport:
        """Update the index from the vault's files; the generation in use stays. Raises as `index.build.build`."""
        from excerpt.index.build import build

        refuse_broad_folder(self._vault, self._paths)
        make_folders_private(self._paths)
        report = build(self._vault, self._index_folder, self.settings, on_progress, wait=_LOCK_WAIT_SECONDS)
        if report.rebuilt:
            self._on_notice(f"Rebuilt {report.rebuilt}")
        return report

    def _open_if_up_to_date(self) -> Snapshot | None:
        """Open the index if no file has changed, by sizes and times of files; return None if a build is needed."""
        from excerpt.index.snapshot import Snapshot

        with suppress(IndexUnusableError), ExitStack() as opened:
            snapshot = Snapshot.open(self._index_folder, self.settings, for_author=self._for_author)
            opened.callback(snapshot.close)
            if snapshot.is_up_to_date(self._vault):
                opened.pop_all()
                return snapshot
        return None

    def _build_and_open(self) -> Corpus:
        build_error = ""
        try:
            self.build(self._on_progress)
        except IndexUnusableError as unusable:
            build_error = unusable.message
        except VaultEmptiedError as emptied:
            build_error = str(emptied)
        try:
            corpus = self.open_newest()
        except IndexUnusableError:
            self.build(self._on_progress)  # opening has detected the damage, building repairs it
            corpus = self.open_newest()
        if build_error:
            self._on_notice(f"{build_error} Answering from the index of {local_time(corpus.status().updated)}.")
        return corpus


class OpenStore:
    """A vault in a store. `corpus` is the connection in use, whose engine reads what was pushed; None while closed."""

    def __init__(self, address: StoreAddress, settings: Settings) -> None:
        """Open nothing yet."""
        self._address = address
        self.settings = settings
        self.corpus: Corpus | None = None

    @property
    def has_newer(self) -> bool:
        """Whether there is no connection yet; the engine of an open connection reads the newest revision by itself."""
        return self.corpus is None

    def open_newest(self) -> Corpus:
        """Connect to the store. Raises StoreUnusableError."""
        return self._address.open_corpus(self.settings)

    open_first = open_newest


OpenVault: TypeAlias = OpenIndex | OpenStore


class Generation(Struct, frozen=True):
    """A state of each vault that could be opened, by the vault's name, and `corpus`, which is all of them as one.

    `opened` are the vaults' corpora that are not in use yet. `left_out` has the error of each vault that is not in
    `corpus`.
    """

    corpora: Mapping[str, Corpus]
    corpus: Corpus
    opened: tuple[Corpus, ...]
    left_out: Mapping[str, ExcerptError]

    def close(self) -> None:
        """Close the corpora that were opened for this generation, because it will not be used."""
        for corpus in self.opened:
            corpus.close()


class OpenVaults:
    """A vault, or several as one, with the search engine that answers from the generation in use.

    Of several vaults, one whose index cannot be read is left out, and one whose embedding model cannot be loaded too,
    as long as another one answers. Use it from one thread at a time; `open_newest` may run in a second thread, if
    nothing else is opened or closed meanwhile.
    """

    def __init__(
        self,
        vaults: Mapping[str, OpenVault],
        create_engine: Callable[[Corpus], Engine],
        on_left_out: Callable[[str, ExcerptError], object],
    ) -> None:
        """Open no vault yet. If there is only one, its name is "", and it is never left out.

        Other objects may use the same vaults. `on_left_out` is called with the name of a vault that is left out and the
        reason, once for each reason.
        """
        self.vaults = vaults
        self._create_engine = create_engine
        self._on_left_out = on_left_out
        self._in_use: Generation | None = None
        self._reported: Mapping[str, str] = {}
        self.engine_in_use: Engine | None = None
        """The engine that answers from the generation in use; None while none is open."""

    @property
    def engine(self) -> Engine:
        """The engine of the generation in use. Opens every vault that is not open."""

        def open_once(vault: OpenVault) -> Corpus:
            if vault.corpus is None:
                vault.corpus = vault.open_first()
            return vault.corpus

        corpora, failures = self._open_each(open_once)
        if self.engine_in_use is None or self._in_use is None or self._in_use.corpora != corpora:
            self.use(self._join(corpora, failures, ()))
        assert self.engine_in_use is not None
        return self.engine_in_use

    @property
    def left_out(self) -> Mapping[str, ExcerptError]:
        """Why vaults are left out of the generation in use, by their names."""
        return {} if self._in_use is None else self._in_use.left_out

    def open_newest(self, *, newer_only: bool = False) -> Generation:
        """Open the newest generation of each vault, to be passed to `use`; until then, the generation in use answers.

        With `newer_only`, vaults without a newer generation keep the one in use. Raises the error of the first vault if
        none can be opened.
        """
        opened: list[Corpus] = []
        with ExitStack() as close_on_failure:

            def open_newest(vault: OpenVault) -> Corpus:
                if newer_only and vault.corpus is not None and not vault.has_newer:
                    return vault.corpus
                corpus = vault.open_newest()
                close_on_failure.callback(corpus.close)
                opened.append(corpus)
                return corpus

            generation = self._join(*self._open_each(open_newest), tuple(opened))
            close_on_failure.pop_all()
            return generation

    def use(self, generation: Generation, engine: Engine | None = None) -> None:
        """Answer from `generation` from now on, by `engine` or a new one, and close what was in use before."""
        try:
            engine = engine or self._create_engine(generation.corpus)
        except BaseException:
            generation.close()
            raise
        for name, vault in self.vaults.items():
            before, vault.corpus = vault.corpus, generation.corpora.get(name)
            if before is not None and before is not vault.corpus:
                before.close()
        self._in_use, self.engine_in_use = generation, engine
        self._report_left_out(generation)

    def reload(self) -> bool:
        """Use the newest generation, or what was pushed to a store; return whether it differs from the one before.

        Opens what was not open. Reads no files of the vaults.
        """
        before = None if self.engine_in_use is None else self.engine_in_use.snapshot.edition
        if before is None or self.left_out or any(vault.has_newer for vault in self.vaults.values()):
            self.use(self.open_newest(newer_only=True))
        assert self.engine_in_use is not None
        return self.engine_in_use.refresh_snapshot().edition != before

    def close(self) -> None:
        """Close all vaults. They open again when they are next asked."""
        self._in_use, self.engine_in_use = None, None
        for vault in self.vaults.values():
            corpus, vault.corpus = vault.corpus, None
            if corpus is not None:
                corpus.close()

    def _open_each(
        self, open_vault: Callable[[OpenVault], Corpus]
    ) -> tuple[dict[str, Corpus], dict[str, ExcerptError]]:
        """Return what `open_vault` returns for each vault, and the errors of those that cannot be opened.

        Raises IndexUnusableError if none can, and any other error of a vault.
        """
        corpora: dict[str, Corpus] = {}
        failures: dict[str, ExcerptError] = {}
        for name, vault in self.vaults.items():
            try:
                corpora[name] = open_vault(vault)
            except IndexUnusableError as error:
                failures[name] = error
        if not corpora:
            raise next(iter(failures.values()))
        return corpora, failures

    def _join(
        self, corpora: Mapping[str, Corpus], failures: Mapping[str, ExcerptError], opened: tuple[Corpus, ...]
    ) -> Generation:
        if "" in self.vaults:
            return Generation(corpora, corpora[""], opened, failures)
        from excerpt.corpus.union import UnionCorpus, find_model_failures

        without_model = find_model_failures(corpora)
        joined = UnionCorpus((name, corpus) for name, corpus in corpora.items() if name not in without_model)
        return Generation(corpora, joined, opened, {**failures, **without_model})

    def _report_left_out(self, generation: Generation) -> None:
        reported, self._reported = self._reported, {name: str(error) for name, error in generation.left_out.items()}
        for name, error in generation.left_out.items():
            if reported.get(name) != str(error):
                self._on_left_out(name, error)


def make_folders_private(paths: Paths) -> None:
    """Make the folders that excerpt writes to private if the program that imports excerpt controls the umask."""
    if users_umask() < 0:
        make_private((paths.cache, paths.data, paths.state))


def newest_generation(index_folders: Iterable[Path]) -> int:
    """Return the sum of the newest generation numbers of some index folders; an unreadable index counts as 0.

    This imports the modules of the index: call it in a thread.
    """
    from excerpt.index.snapshot import Snapshot

    total = 0
    for folder in index_folders:
        with suppress(ExcerptError):
            total += Snapshot.current_generation(folder)
    return total
