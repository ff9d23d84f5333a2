"""The public Python API: `excerpt.open` returns a `Vault`, which answers as the commands do.

The commands that answer from an index and the MCP server use it and nothing of the engine below it. Heavy modules are
imported when they are first needed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import date
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from excerpt.errors import (
    IndexUnusableError,
    NotFoundError,
    SettingsError,
    StoreUnusableError,
    VaultEmptiedError,
)
from excerpt.kinds import Format, Scope, Strategy
from excerpt.known_vaults import check_breadth, detect_move, save_fingerprint
from excerpt.model import BuildReport, Fragment, Hit, Memory, PackResult, Progress, Result, Source, Status, VaultHit
from excerpt.settings import PackSettings, Paths, Settings, check_not_in_vault, open_vault, settings_of, user_paths
from excerpt.state_files import make_private, users_umask
from excerpt.store.address import Address, is_address, read_address
from excerpt.text.display import local_time

if TYPE_CHECKING:
    from excerpt.check.verdicts import Check
    from excerpt.corpus.interface import Corpus
    from excerpt.index.snapshot import Snapshot
    from excerpt.insight.facet_map import VaultMap
    from excerpt.insight.notes import NoteLines, Peek
    from excerpt.insight.overview_parts import Overview
    from excerpt.insight.related import RelatedNotes
    from excerpt.memory.recall import RecalledMemory, Recaller, SavedMemory
    from excerpt.memory.stale import SourceCheck
    from excerpt.memory.store import LoadedMemories, MemoryStore
    from excerpt.pack.memories import Moving
    from excerpt.pack.selection import SavedMarks
    from excerpt.search.engine import Engine
    from excerpt.search.explain import Explanation
    from excerpt.search.explain_note import NoteExplanation

OnProgress = Callable[[Progress], None]
OnNotice = Callable[[str], None]

_LOCK_SECONDS = 1.0  # seconds to wait for another process that writes the index, before the existing index is used

Choice = TypeVar("Choice", Strategy, Scope, Format)
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def open(  # noqa: A001 - read as `excerpt.open`
    path: str | Path,
    *,
    refresh: bool = True,
    on_progress: OnProgress | None = None,
    on_notice: OnNotice | None = None,
    offer: bool = False,
) -> Vault:
    """Open the vault at `path` with the user's settings for it.

    `path` is a folder of Markdown notes, or the address of a store (postgresql://user@host/database?vault=name). The
    index is opened on first use (`Vault.load`); with `refresh` it is updated first, and `on_progress` gets the
    progress. `on_notice` gets sentences for the user, such as that a damaged index was rebuilt; without it they are
    logged as warnings of "excerpt". With `offer`, memories of a vault that may have moved here are reported each time,
    not only the first.

    Raises VaultError if there is no such folder, SettingsError if the settings are not valid, StoreUnusableError for an
    address with a password.
    """
    notice = on_notice or logging.getLogger("excerpt").warning
    if is_address(str(path)):
        return StoredVault(read_address(str(path)), user_paths(), on_notice=notice)
    vault, paths = open_vault(path), user_paths()
    check_not_in_vault(vault, paths)
    for sentence in detect_move(paths, vault, offer=offer):
        notice(sentence)
    save_fingerprint(paths, vault)
    return Vault(vault, settings_of(vault, paths), paths, refresh=refresh, on_progress=on_progress, on_notice=notice)


def fused(results: Mapping[str, Result], limit: int) -> tuple[VaultHit, ...]:
    """Merge the results of one query in several vaults, by vault name: the best `limit` hits by score.

    Ties keep the order of the vaults. Each signal of a score is a share of the best in its own vault, so of two vaults
    with a good answer neither always comes first; a hit's confidence says how good it is.
    """
    hits = [VaultHit(name, hit) for name, result in results.items() for hit in result.hits]
    return tuple(sorted(hits, key=lambda each: -each.hit.score)[:limit])


class Vault:
    """A vault and its index: a context manager, created by `excerpt.open` and used from one thread at a time.

    Notes are named by path, the end of a path, file name, title or alias. Arguments that are left out have the values
    of the settings. Methods raise ExcerptError: IndexUnusableError if there is no index to answer from, NotFoundError
    for an unknown note.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        paths: Paths,
        *,
        refresh: bool,
        on_progress: OnProgress | None,
        on_notice: OnNotice,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self._paths = paths
        self._refresh = refresh
        self._on_progress = on_progress
        self._notice = on_notice
        self._engine: Engine | None = None
        self._searched_index: Snapshot | None = None
        self._memories: Memories | None = None

    @property
    def address(self) -> str:
        """Address of the store that holds the vault; "" for a folder."""
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the index. The next query opens it again."""
        engine, self._engine, self._searched_index = self._engine, None, None
        if engine is not None:
            engine.snapshot.close()
        memories, self._memories = self._memories, None
        if memories is not None:
            memories.close()

    # --- the index ----------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Open the index now instead of at the first query.

        While another excerpt process indexes the vault, what it has committed so far is used. If no note is left in the
        vault, or the index cannot be written, the existing index is used. Raises IndexUnusableError if there is no
        index to read, VaultError for a home folder or a disk that has never been indexed.
        """
        self._loaded()

    def warm(self) -> None:
        """Load what the first searches would otherwise have to load."""
        self._loaded().warm()

    def renew(self) -> bool:
        """Use the newest generation of the index; return whether another process has committed one.

        Opens the index if it was not open, without an update.
        """
        from excerpt.index.snapshot import Snapshot

        before = self._searched_index
        if before is None:
            self._searched_index = Snapshot.open(self._index, self.settings)
            self._engine = self._engine_on(self._searched_index)
            return True
        if Snapshot.current_generation(self._index) in (0, before.generation):
            return False
        self._searched_index = Snapshot.open(self._index, self.settings, before=before)
        self._engine = self._engine_on(self._searched_index)
        before.close()
        return True

    def refresh(self, on_progress: OnProgress | None = None) -> BuildReport:
        """Bring the index up to date with the vault's files, in this process.

        Raises VaultError, IndexUnusableError, and IndexBusyError while another process writes the index.
        """
        report = self._build(on_progress)
        self.renew()
        return report

    @property
    def generation(self) -> int:
        """Generation of the index that answers."""
        return self._snapshot.generation

    @property
    def is_unfinished(self) -> bool:
        """Whether that generation is partial: the build that committed it had files left to read."""
        return self._snapshot.is_unfinished

    def in_one_snapshot(self, answer: Callable[[], Answer]) -> Answer:
        """Return what `answer` computes from this vault by several queries, all answered from one snapshot.

        It may be called twice if the connection to a store is lost meanwhile.
        """
        return answer()

    def status(self) -> Status:
        """Return what is indexed, and which files were skipped."""
        return self._snapshot.status()

    def tokens(self, text: str) -> int:
        """Count the tokens of `text` by the tokenizer of the index."""
        from excerpt.text.tokens import open_tokenizer

        return open_tokenizer(self._snapshot.tokenizer).count(text)

    @property
    def _index(self) -> Path:
        return self._paths.index_folder(self.folder)

    @property
    def _snapshot(self) -> Corpus:
        return self._loaded().snapshot

    def _loaded(self) -> Engine:
        if self._engine is None:
            self._engine = self._engine_on(self._opened())
        return self._engine

    def _engine_on(self, snapshot: Corpus) -> Engine:
        from excerpt.search.engine import Engine
        from excerpt.search.usage import UseLog

        return Engine(snapshot, self.settings, UseLog(self._paths.use_file(self.folder)))

    def _opened(self) -> Corpus:
        from excerpt.index.snapshot import Snapshot

        if self._refresh:
            self._searched_index = self._up_to_date() or self._built()
        else:
            self._searched_index = Snapshot.open(self._index, self.settings)
        return self._searched_index

    def _up_to_date(self) -> Snapshot | None:
        """Return the index if nothing has to be built; only sizes and times of files are compared."""
        from excerpt.index.snapshot import Snapshot

        with suppress(IndexUnusableError), ExitStack() as opened:
            snapshot = Snapshot.open(self._index, self.settings)
            opened.callback(snapshot.close)
            if snapshot.is_up_to_date(self.folder):
                opened.pop_all()
                return snapshot
        return None

    def _built(self) -> Snapshot:
        from excerpt.index.snapshot import Snapshot

        as_it_is = ""
        try:
            self._build(self._on_progress)
        except IndexUnusableError as unusable:
            as_it_is = unusable.message
        except VaultEmptiedError as emptied:
            as_it_is = str(emptied)
        try:
            snapshot = Snapshot.open(self._index, self.settings)
        except IndexUnusableError:
            self._build(self._on_progress)  # opening has detected the damage, building repairs it
            snapshot = Snapshot.open(self._index, self.settings)
        if as_it_is:
            self._notice(f"{as_it_is} Answering from the index of {local_time(snapshot.status().updated)}.")
        return snapshot

    def _build(self, on_progress: OnProgress | None) -> BuildReport:
        from excerpt.index.build import build

        check_breadth(self.folder, self._paths)
        self._keep_to_owner()
        report = build(self.folder, self._index, self.settings, on_progress, wait=_LOCK_SECONDS)
        if report.rebuilt:
            self._notice(f"rebuilt: {report.rebuilt}")
        return report

    def _keep_to_owner(self) -> None:
        """Make the folders that we write to private, in a process whose umask is not ours to set."""
        if users_umask() < 0:
            make_private((self._paths.cache, self._paths.data, self._paths.state))

    # --- search -------------------------------------------------------------------------------------------------------

    def search(
        self, query: str, *, strategy: Strategy | str | None = None, limit: int | None = None, spans: bool = True
    ) -> Result:
        """Find the fragments that answer `query`, best first.

        Without `spans`, hits do not say what matched in them, which takes half of the time.
        """
        chosen = _chosen(Strategy, strategy, self.settings.search.strategy)
        return self._loaded().search(query, chosen, limit, marked=None if spans else 0)

    def search_for_pack(self, query: str, *, strategy: Strategy | str | None = None) -> Result:
        """Find the hits that `pack` would use for `query`; only those that may go into a pack have spans."""
        from excerpt.pack.build import HITS_PER_PACKED

        chosen = _chosen(Strategy, strategy, self.settings.search.strategy)
        limit = max(self.settings.pack.limit, self.settings.search.limit)
        return self._loaded().search(query, chosen, limit, marked=self.settings.pack.limit * HITS_PER_PACKED)

    def explain(self, result: Result) -> tuple[Explanation, ...]:
        """Explain the score of each hit of a result, by signal and by word."""
        from excerpt.search.explain import explain_hits

        return explain_hits(self._loaded(), result)

    def why_not(self, query: str, note: str, *, strategy: Strategy | str | None = None) -> NoteExplanation:
        """Explain why `note` is not ranked higher for `query`, or is not found at all."""
        from excerpt.search.explain_note import explain_note

        chosen = _chosen(Strategy, strategy, self.settings.search.strategy)
        return explain_note(self._loaded(), query, note, chosen)

    def fragment(self, fragment_id: str) -> Fragment | None:
        """Return the fragment with this id, None if it is not in the index."""
        return self._snapshot.fragment(fragment_id)

    def fragments(self, note: str) -> tuple[Fragment, ...]:
        """Return the fragments of a note, in the order of the note."""
        from excerpt.insight.notes import find_note

        return tuple(self._snapshot.note_fragments(find_note(self._snapshot, note)))

    # --- pack ---------------------------------------------------------------------------------------------------------

    def pack(
        self,
        *queries: str,
        budget: int | None = None,
        scope: Scope | str | None = None,
        neighbors: int | None = None,
        limit: int | None = None,
        strategy: Strategy | str | None = None,
        ranked: bool = True,
        format: Format | str | None = None,  # noqa: A002 - as the option and the setting are called
        template: str | Path | None = None,
        tokenizer: str | None = None,
        question: bool | None = None,
        ids: Sequence[str] = (),
        marks: bool = False,
        result: Result | None = None,
    ) -> PackResult:
        """Pack the passages that answer the queries for a prompt, within `budget` tokens: `PackResult.text`.

        With several queries a passage counts for the one that it answers best. `ids` packs those fragments, and `marks`
        those marked in the app, in that order, whatever the queries find. `limit` is the number of best hits to use.
        Without `ranked`, passages are in the order of the vault. A `template` selects its format. `result` is packed
        without another search. Raises SettingsError for an unknown format or tokenizer, NotFoundError if nothing is
        marked.
        """
        overridden = {
            "budget": budget,
            "scope": None if scope is None else _chosen(Scope, scope, Scope.NONE),
            "neighbors": neighbors,
            "limit": limit,
            "format": _chosen_format(format, template),
            "template": None if template is None else _absolute(template),
            "tokenizer": tokenizer,
            "question": question,
        }
        changes: dict[str, Any] = {name: value for name, value in overridden.items() if value is not None}
        settings = replace(self.settings.pack, **changes)
        chosen = _chosen(Strategy, strategy, self.settings.search.strategy)
        return self._packed(queries, settings, chosen, ranked=ranked, ids=ids, marks=marks, result=result)

    def count_saved(self, packed: PackResult) -> None:
        """Add a pack that was used to the savings that `excerpt status` shows."""
        from excerpt.pack.savings import SavingsFile

        with suppress(OSError):  # if it cannot be saved, the pack is still valid
            SavingsFile(self._paths.savings_file(self.folder)).add(packed, date.today())

    def check(self, answer: str, pack: str) -> Check:
        """Check the citations and quotations of an LLM's `answer` against its `pack` and the current vault.

        The pack may have any format except a template's. Raises PackUnreadableError.
        """
        from excerpt.check.answer import read_answer
        from excerpt.check.checker import check_answer
        from excerpt.check.lookup import LookupWithMemories
        from excerpt.memory.store import MemoryStore
        from excerpt.pack.formats.registry import read_pack

        file = read_pack(pack)
        memories = MemoryStore(self._paths.memory_folder(self.folder)).all().memories
        return check_answer(read_answer(answer), file, LookupWithMemories(self._snapshot, memories))

    def _packed(
        self,
        queries: Sequence[str],
        settings: PackSettings,
        strategy: Strategy,
        *,
        ranked: bool,
        ids: Sequence[str],
        marks: bool,
        result: Result | None,
    ) -> PackResult:
        from excerpt.pack.build import build_pack, search_all
        from excerpt.pack.formats.registry import renderer_for
        from excerpt.pack.formats.source_label import Links
        from excerpt.pack.selection import NO_MARKS
        from excerpt.text.tokens import open_tokenizer

        saved = self._marks() if marks else NO_MARKS
        source = self._with_memories(saved)
        all_queries = tuple(queries) or ((saved.query,) if saved.query else ())
        links = Links(self.folder)
        renderer = renderer_for(settings, all_queries, links, self._paths.config)
        tokenizer = open_tokenizer(settings.tokenizer)
        used_strategy, hits = strategy, _hits_of(saved, source)
        if all_queries and not saved.marks:
            if result is None:
                search_limit = max(settings.limit, self.settings.search.limit)
                result = search_all(self._loaded(), all_queries, strategy, search_limit)
            used_strategy, hits = result.strategy, result.hits
        packed = build_pack(
            source,
            hits,
            query=" | ".join(all_queries),
            strategy=used_strategy,
            settings=settings,
            tokenizer=tokenizer,
            renderer=renderer,
            marked=[*(mark.fragment for mark in saved.marks), *ids],
            overrides=saved.overrides,
            ranked=ranked,
        )
        return links.with_link(packed)

    def _marks(self) -> SavedMarks:
        from excerpt.pack.memories import follow_moves
        from excerpt.pack.selection import read_marks

        saved = follow_moves(read_marks(self._paths.marks_file(self.folder)), self._snapshot)
        if not saved.marks:
            raise NotFoundError("no fragment is marked in this vault. Mark some in the app with the tab key.")
        return saved

    def _with_memories(self, saved: SavedMarks) -> Moving:
        """Return the snapshot, with the marked memories as further notes."""
        from excerpt.pack.memory_fragment import memory_id_of

        ids = [memory_id for mark in saved.marks if (memory_id := memory_id_of(mark.fragment)) is not None]
        if not ids:
            return self._snapshot
        from excerpt.memory.store import MemoryStore
        from excerpt.pack.memories import WithMemories

        memory_by_id = {
            memory.id: memory for memory in MemoryStore(self._paths.memory_folder(self.folder)).all().memories
        }
        source = WithMemories(self._snapshot, self.tokens)
        source.add(memory_by_id[each] for each in ids if each in memory_by_id)
        return source

    # --- notes and topics ---------------------------------------------------------------------------------------------

    def read(self, note: str, *, lines: tuple[int, int] | None = None) -> NoteLines:
        """Return a note, or some of its lines: by `lines`, as `NOTE:A-B`, or the section `NOTE#Heading`."""
        from excerpt.insight.notes import find_note, read

        if lines is not None:
            note = f"{find_note(self._snapshot, note)}:{lines[0]}-{lines[1]}"
        return read(self._snapshot, note)

    def peek(self, note: str, *, first_lines: int = 8) -> Peek:
        """Return a summary of a note without its text: size, tags, links, first lines, outline."""
        from excerpt.insight.notes import peek

        return peek(self._snapshot, note, first_lines)

    def related(self, note: str, *, limit: int | None = None) -> RelatedNotes:
        """Find the notes most related to a note or to the passage at `NOTE:LINE` or `NOTE#Heading`, with reasons.

        Returns at most `limit` notes, by default ten.
        """
        from excerpt.insight.notes import find_lines, find_section
        from excerpt.insight.related import DEFAULT_LIMIT, related

        place = find_lines(self._snapshot, note)
        line = place.first if place.last is not None or place.first > 1 else None
        if place.heading:
            line = find_section(self._snapshot, place.path, place.heading).line_start
        return related(self._loaded(), place.path, line, DEFAULT_LIMIT if limit is None else limit)

    def overview(self, topic: str, *, budget: int | None = None) -> Overview:
        """Return an overview of what the vault holds about `topic`, which is parsed as a query.

        As Markdown it has at most `budget` tokens, by default 800.
        """
        from excerpt.insight.overview import DEFAULT_BUDGET_TOKENS, overview

        return overview(self._loaded(), topic, DEFAULT_BUDGET_TOKENS if budget is None else budget)

    def as_markdown(self, overview: Overview) -> str:
        """Return an overview as Markdown within its budget; "" if nothing was found or nothing fits."""
        from excerpt.insight.render import render_markdown

        return render_markdown(overview)

    def map(self, query: str = "", *, limit: int | None = None) -> VaultMap:
        """Count the matches of a query by folder, tag, property and month; without a query, all fragments.

        `limit` limits the values listed per property.
        """
        from excerpt.insight.facet_map import MATCH_ALL_QUERY, build_vault_map

        return build_vault_map(self._loaded(), query or MATCH_ALL_QUERY, limit)

    @property
    def memories(self) -> Memories:
        """The memories of this vault."""
        if self._memories is None:
            paths = self._paths
            self._keep_to_owner()
            folder, cache = paths.memory_folder(self.folder), paths.memory_index_folder(self.folder)
            self._memories = Memories(folder, cache, self.settings, lambda: self._snapshot, self._notice)
        return self._memories


def _in_read_transaction(
    ask: Callable[Concatenate[Vault, Asked], Answer],
) -> Callable[Concatenate[StoredVault, Asked], Answer]:
    """Return a function that calls `ask` in one read transaction, so that a push meanwhile changes no answer."""

    @wraps(ask)
    def wrapper(vault: StoredVault, /, *args: Asked.args, **options: Asked.kwargs) -> Answer:
        def answer() -> Answer:
            vault.renew()
            return ask(vault, *args, **options)

        return vault._loaded().snapshot.read_transaction(answer)

    return wrapper


class StoredVault(Vault):
    """A vault in a store, returned by `excerpt.open` for an address.

    A push updates it; each search answers from the current content. Memories, marks and settings belong to the reader.
    """

    def __init__(self, address: Address, paths: Paths, *, on_notice: OnNotice) -> None:
        super().__init__(
            address.folder,
            settings_of(address.folder, paths),
            paths,
            refresh=False,
            on_progress=None,
            on_notice=on_notice,
        )
        self._address = address

    @property
    def address(self) -> str:
        """Address of the store, without a password."""
        return self._address.shown

    def renew(self) -> bool:
        """Use what was pushed since the last query; return whether anything was."""
        engine = self._loaded()
        before = engine.snapshot.generation
        return engine.renew().generation != before

    def in_one_snapshot(self, answer: Callable[[], Answer]) -> Answer:
        """Return what `answer` computes by several queries, all answered from the newest pushed snapshot."""

        def renewed() -> Answer:
            self.renew()
            return answer()

        return self._loaded().snapshot.read_transaction(renewed)

    def refresh(self, on_progress: OnProgress | None = None) -> BuildReport:  # noqa: ARG002 - as of a folder
        """Raise StoreUnusableError: only a push updates a store."""
        raise StoreUnusableError(
            f"{self._address.shown} is updated where its notes are.",
            "There: `excerpt push VAULT --to ADDRESS`.",
        )

    status = _in_read_transaction(Vault.status)
    search = _in_read_transaction(Vault.search)
    explain = _in_read_transaction(Vault.explain)
    why_not = _in_read_transaction(Vault.why_not)
    fragment = _in_read_transaction(Vault.fragment)
    fragments = _in_read_transaction(Vault.fragments)
    pack = _in_read_transaction(Vault.pack)
    check = _in_read_transaction(Vault.check)
    read = _in_read_transaction(Vault.read)
    peek = _in_read_transaction(Vault.peek)
    related = _in_read_transaction(Vault.related)
    overview = _in_read_transaction(Vault.overview)
    map = _in_read_transaction(Vault.map)

    def _opened(self) -> Corpus:
        from excerpt.store.snapshot import StoreSnapshot

        return StoreSnapshot.open(self._address, self.settings)


class Memories:
    """The memories of a vault, from `Vault.memories`.

    Methods raise MemoryUnusableError for an unknown id, and where memories cannot be read or written.
    """

    def __init__(
        self, folder: Path, cache: Path, settings: Settings, snapshot: Callable[[], Corpus], notice: OnNotice
    ) -> None:
        """Create the memories of `folder`, with their index in `cache`.

        `snapshot` returns the snapshot of the vault's index.
        """
        self._folder, self._cache, self._settings = folder, cache, settings
        self._snapshot = snapshot
        self._notice = notice
        self._recaller: Recaller | None = None

    def close(self) -> None:
        """Close the index of the memories."""
        recaller, self._recaller = self._recaller, None
        if recaller is not None:
            recaller.close()

    @property
    def trash(self) -> Path:
        """Folder of the forgotten memories."""
        from excerpt.memory.store import TRASH

        return self._folder / TRASH

    def all(self) -> LoadedMemories:
        """Return every memory, newest first, and every unreadable file with the reason."""
        return self._store.all()

    def remember(
        self,
        text: str | None = None,
        *,
        tags: Sequence[str] = (),
        why: str = "",
        fragment: str | None = None,
        source: str | None = None,
        query: str = "",
        into: str | None = None,
    ) -> SavedMemory:
        """Save `text` as a memory, and return it with the memories that say nearly the same.

        Its source is the `fragment` with this id, or the lines that `source` names (NOTE:A-B); without `text`, the text
        of these lines is saved. With `into`, the text replaces that of the memory with this id.
        """
        from excerpt.memory.recall import SavedMemory, find_similar_memories, merge_memory
        from excerpt.memory.stale import source_from_fragment, source_from_lines

        origin: Source | None = None
        if fragment is not None or source is not None:
            snapshot = self._snapshot()
            origin, source_text = (
                source_from_lines(snapshot, source or "")
                if fragment is None
                else source_from_fragment(snapshot, fragment)
            )
            text = source_text if text is None else text
        content = text or ""
        recaller = self._recalling()
        if into is not None:
            stored = recaller.store.change(into, lambda memory: merge_memory(memory, content, tags, why, origin))
            return SavedMemory(stored)
        similar = tuple(find_similar_memories(content, origin, recaller))
        return SavedMemory(recaller.store.remember(content, tags, why, origin, query=query), similar)

    def recall(
        self,
        words: str = "",
        *,
        tags: Sequence[str] = (),
        source: str = "",
        since: str = "",
        limit: int | None = None,
        check_sources: bool = False,
        stale: bool | None = None,
    ) -> tuple[RecalledMemory, ...]:
        """Find memories by words and meaning, best first; without words all, newest first.

        `tags` must all be present, `source` is a note or folder, `since` a day (2025-03-01) or an age (7d). With
        `check_sources` each has the status of its source; `stale` keeps only those whose source has changed or is gone,
        or with False only the others.
        """
        from excerpt.memory.stale import check_source
        from excerpt.memory.words import split_stale_filter

        query, stale_in_query = split_stale_filter(words)
        stale = stale_in_query if stale is None else stale
        recaller = self._recalling()
        recalled = recaller.recall(query, tags, source, since, limit if stale is None else None)
        for hint in recaller.hints:
            self._notice(hint.message)
        if recaller.unranked:
            self._notice(f"memories were searched by words only: {recaller.unranked}")
        if not (check_sources or stale is not None) or not recalled:
            return tuple(recalled)
        snapshot = self._snapshot()
        checks = [(each, check_source(each.memory, snapshot)) for each in recalled]
        matching = [replace(each, source_check=stands) for each, stands in checks if stale in (None, stands.is_stale)]
        return tuple(matching if stale is None else matching[:limit])

    def get(self, memory_id: str) -> Memory:
        """Return the memory of this id."""
        return self._store.get(memory_id)

    def edit(
        self,
        memory_id: str,
        *,
        text: str | None = None,
        tags: Sequence[str] = (),
        untags: Sequence[str] = (),
        why: str | None = None,
        merge: str = "",
    ) -> Memory:
        """Change a memory: its text, tags, and why it matters. The old version goes to the trash folder.

        `merge` adds the memory with that id to this one and forgets it.
        """
        from excerpt.memory.memory_file import normalise_tags
        from excerpt.memory.recall import merge_memory

        store = self._store
        if merge:
            merged_memory = store.get(merge)
            store.change(
                memory_id,
                lambda memory: merge_memory(
                    memory, merged_memory.text, merged_memory.tags, merged_memory.why, merged_memory.source
                ),
            )
            store.forget(merge)
        off = set(normalise_tags(untags))
        return store.change(
            memory_id,
            lambda memory: replace(
                memory,
                text=memory.text if text is None else text,
                tags=tuple(tag for tag in normalise_tags((*memory.tags, *tags)) if tag not in off),
                why=memory.why if why is None else why,
            ),
        )

    def check_source(self, memory_id: str) -> SourceCheck:
        """Return whether the source of a memory is unchanged in the vault."""
        from excerpt.memory.stale import check_source

        return check_source(self._store.get(memory_id), self._snapshot())

    def follow(self, memory_id: str) -> Memory:
        """Update the link of a memory whose source has moved."""
        from excerpt.memory.stale import update_source_location

        return update_source_location(self._store, self.check_source(memory_id))

    def update(self, memory_id: str) -> Memory:
        """Replace the text of a memory whose source has changed by the current text of the source."""
        from excerpt.memory.stale import replace_text_with_source

        return replace_text_with_source(self._store, self.check_source(memory_id))

    def keep(self, memory_id: str) -> Memory:
        """Keep a memory whose source has changed or gone as it is, and no longer report it as stale."""
        from excerpt.memory.stale import confirm_text

        return confirm_text(self._store, self.check_source(memory_id))

    def forget(self, memory_id: str) -> Memory:
        """Move a memory to the trash folder, and return it."""
        return self._store.forget(memory_id)

    def restore(self, memory_id: str) -> Memory:
        """Restore the memory that was last forgotten under this id."""
        return self._store.restore(memory_id)

    @property
    def _store(self) -> MemoryStore:
        """The recaller's store of the memories; before the first recall, a store that needs no engine."""
        from excerpt.memory.store import MemoryStore

        return MemoryStore(self._folder) if self._recaller is None else self._recaller.store

    def _recalling(self) -> Recaller:
        from excerpt.memory.recall import Recaller

        if self._recaller is None:
            self._recaller = Recaller(self._folder, self._cache, self._settings)
        return self._recaller


def _chosen_format(format: Format | str | None, template: str | Path | None) -> Format | None:  # noqa: A002
    """Return the requested format, None if none was requested. A template implies the format `template`."""
    if template is not None:
        return Format.TEMPLATE
    return None if format is None else _chosen(Format, format, Format.MARKDOWN)


def _chosen(kind: type[Choice], value: Choice | str | None, default: Choice) -> Choice:
    if value is None:
        return default
    try:
        return kind(value)
    except ValueError:
        name = kind.__name__.lower()
        raise SettingsError(f"There is no {name} {value or repr(value)}.", f"There are: {', '.join(kind)}.") from None


def _absolute(template: str | Path) -> str:
    """Return the absolute path of a template; in the settings a relative one counts from their folder."""
    if not str(template):
        raise SettingsError("The template has no name.", "Name the file.")
    try:
        return str(Path(template).expanduser().absolute())
    except (OSError, RuntimeError) as error:  # a missing working directory, or an unknown user after ~
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"The template {template} cannot be found: {reason}.") from error


def _hits_of(saved: SavedMarks, source: Moving) -> Sequence[Hit]:
    """Return the marks as hits, with the spans that matched when the marks were set."""
    fragments = ((source.fragment(mark.fragment), mark.spans) for mark in saved.marks)
    return [Hit(fragment, 1.0, spans=spans) for fragment, spans in fragments if fragment is not None]
