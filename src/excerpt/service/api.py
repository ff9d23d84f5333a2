"""The public Python API: `excerpt.open` returns a `Vault`, which answers as the commands do.

The MCP server and the commands that need an index use this API, and nothing of the engine below the API. Heavy modules
are imported when they are first needed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import date, datetime
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, Self, TypeVar

from excerpt.base.errors import ExcerptError, InputError, NotFoundError, SettingsError, StoreUnusableError, VaultError
from excerpt.base.kinds import Fill, Format, LinkForm, Scope, Strategy
from excerpt.base.model import (
    BuildReport,
    Fragment,
    Hit,
    Memory,
    NoteInfo,
    Pack,
    PackResult,
    Progress,
    Result,
    Source,
    Status,
    sum_reports,
)
from excerpt.base.settings import (
    MAX_HITS,
    MAX_PACKED,
    MAX_TOKENS,
    MemoryLocation,
    PackSettings,
    Paths,
    Settings,
    change_settings,
    find_changes,
    find_retired_settings,
    load_vault_settings,
    open_vault,
    refuse_folders_in_vault,
    user_paths,
)
from excerpt.service.inputs import MAX_LENGTHS, MAX_MEMORY_LENGTH, check_count, check_input
from excerpt.service.memory_decisions import (
    Decision,
    MemoryDraft,
    make_follow_decision,
    make_keep_decision,
    make_merge_decision,
    make_remember_decision,
    make_update_decision,
)
from excerpt.service.open_memories import MemoryFolders, OpenMemories
from excerpt.service.open_vaults import (
    OnNotice,
    OpenIndex,
    OpenStore,
    OpenVault,
    OpenVaults,
    make_folders_private,
)
from excerpt.service.stores import StoreAddress, is_address, parse_address
from excerpt.vault.known_vaults import VaultFolders, save_store_address, save_vault_path, suggest_adoption

if TYPE_CHECKING:
    from excerpt.corpus.interface import Corpus
    from excerpt.insight.notes import NoteLines, Peek
    from excerpt.insight.overview_parts import Overview
    from excerpt.insight.results import Completions, RelatedNotes, SimilarNote, VaultMap
    from excerpt.memory.joined_store import JoinedMemoryStore
    from excerpt.memory.results import RecalledMemory, SavedMemory, SourceCheck
    from excerpt.memory.store import LoadedMemories
    from excerpt.pack.check.places import MissingPlace
    from excerpt.pack.check.verdicts import AnswerCheck
    from excerpt.pack.formats.pack_format import PackSource
    from excerpt.pack.selection import SavedMarks
    from excerpt.search.engine import Engine
    from excerpt.search.query_vectors import QueryVectors
    from excerpt.search.rank_reasons import NoteExplanation
    from excerpt.search.rerank import ResultReranker
    from excerpt.search.results import Explanation, QueryNews
    from excerpt.search.usage import UseLog
    from excerpt.service.gold.questions import GoldQuestion, GoldSet
    from excerpt.service.gold.run import GoldReport
    from excerpt.service.packer import Packer

OnProgress = Callable[[Progress], None]
VaultPaths = str | Path | Sequence[str | Path]
"""A folder of notes or the address of a store, or several folders."""
Where = Mapping[str, str | date | Sequence[str | date]]
"""Filters by name: the value of each, or several values that must all match. A date or datetime is its day."""
SettingsChoice = Settings | Mapping[str, object]
"""Values by their keys, such as `{"search.per_note": 0}`, that change the user's settings; or settings instead."""

_COUNT_RANGES: Mapping[str, tuple[int, int]] = {
    "limit": (1, MAX_HITS),
    "first_lines": (0, MAX_HITS),
    "neighbors": (0, MAX_PACKED),
    "budget": (0, MAX_TOKENS),
}
"""The least and the greatest value of each parameter that is a number."""

Choice = TypeVar("Choice", Strategy, Scope, Format, Fill, LinkForm)
MethodParams = ParamSpec("MethodParams")
Answer = TypeVar("Answer")


class _HasLock(Protocol):
    _lock: AbstractContextManager[object]


class _JoinedLock:
    """The locks of several vaults as one, which acquires them in the order of the vaults."""

    def __init__(self, locks: Sequence[AbstractContextManager[object]]) -> None:
        self._locks = locks

    def __enter__(self) -> None:
        for lock in self._locks:
            lock.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lock in reversed(self._locks):
            lock.__exit__(kind, error, trace)


Locked = TypeVar("Locked", bound=_HasLock)


def open(  # noqa: A001 - read as `excerpt.open`
    path: VaultPaths,
    *,
    refresh: bool = True,
    on_progress: OnProgress | None = None,
    on_notice: OnNotice | None = None,
    suggest_moves: bool = False,
    settings: SettingsChoice | None = None,
    index: str | Path | None = None,
    comments: Literal["author", "everybody"] = "everybody",
    learn: bool = False,
) -> Vault:
    """Open the vault at `path` with the user's settings for it.

    `settings` has values that change them, such as `{"search.limit": 5}`; a `Settings` replaces them.
    `path` is a folder of Markdown notes, or the address of a store (a database, by a package that adds its scheme).
    Several vaults are opened as one, a `VaultUnion`, with the settings of the first. The index is opened on first use
    (`Vault.load`). With `refresh`, the index is updated before it is opened, and
    `on_progress` gets the progress. `on_notice` gets sentences for the user, such as that a damaged index was rebuilt;
    by default they are logged as warnings of "excerpt". With `suggest_moves`, every call reports the memories of
    vaults that are gone, one of which may have moved to `path`; otherwise only the first call for a vault without
    memories does. `index` is the folder of the index, outside of the vault; by default one in the user's cache. A store
    has no such folder. With `comments="author"`, comments in the notes are found and shown, as to the author in the
    app; a pack has none. With `learn`, what the user opened for similar questions comes higher, as in the app, and
    `Vault.record_use` adds to it; several vaults as one learn nothing.

    Raises VaultError if there is no such folder, or the folder of the index is in it, SettingsError if the settings are
    not valid, StoreUnusableError for an address with a password, ValueError for `index` with several
    vaults and for an unknown value of `comments`.
    """
    if comments not in ("author", "everybody"):
        raise ValueError(f'comments must be "author" or "everybody", not {comments!r}')
    if not isinstance(path, str | Path):
        if not path or index is not None:
            raise ValueError("index is the folder of one index" if path else "no vault is given")
        vaults = [
            open(
                each,
                refresh=refresh,
                on_progress=on_progress,
                on_notice=on_notice,
                suggest_moves=suggest_moves,
                settings=settings,
                comments=comments,
                learn=learn,
            )
            for each in path
        ]
        by_folder = {each.folder: each for each in vaults}
        return vaults[0] if len(by_folder) == 1 else VaultUnion(tuple(by_folder.values()))
    notice = on_notice or logging.getLogger("excerpt").warning
    if is_address(str(path)):
        address, paths = parse_address(str(path)), user_paths()
        save_store_address(paths, address.folder, address.display_text)
        chosen = _choose_settings(address.folder, paths, settings, notice)
        return StoredVault(address, paths, chosen, on_notice=notice, learns=learn)
    vault, paths = open_vault(path), user_paths()
    refuse_folders_in_vault(vault, paths)
    for sentence in suggest_adoption(paths, vault, suggest_moves=suggest_moves):
        notice(sentence)
    save_vault_path(paths, vault)
    index_folder = paths.index_folder(vault) if index is None else Path(index).expanduser().resolve()
    if index_folder.is_relative_to(vault):
        raise VaultError(f"{index_folder} is inside the vault {vault}, which excerpt never writes to.")
    chosen = _choose_settings(vault, paths, settings, notice)
    opened = OpenIndex(
        *(vault, index_folder, chosen, paths),
        refresh=refresh,
        on_progress=on_progress,
        on_notice=notice,
        for_author=comments == "author",
    )
    return Vault(vault, chosen, paths, {"": opened}, notice, for_author=comments == "author", learns=learn)


def _choose_settings(vault: Path, paths: Paths, settings: SettingsChoice | None, notice: OnNotice) -> Settings:
    """Return the settings to open a vault with; `notice` is told which of the files' have no effect any more.

    Raises SettingsError.
    """
    if isinstance(settings, Settings):
        return settings
    chosen = change_settings(load_vault_settings(vault, paths), settings or {})
    for sentence in find_retired_settings(paths.settings_file, paths.vault_settings_file(vault)):
        notice(sentence)
    return chosen


def _format_day(day: date) -> str:
    """Return a day as a filter writes it; for a time with a time zone, the day in the zone of this system."""
    if isinstance(day, datetime):
        day = (day.astimezone() if day.tzinfo is not None else day).date()
    return day.isoformat()


def describe_missing_parts(result: Result) -> str:
    """Return a sentence that names the parts of a question that the notes do not cover; "" without any."""
    from excerpt.search.interpretation import format_missing_parts

    return format_missing_parts(result.not_found)


def _one_at_a_time(
    method: Callable[Concatenate[Locked, MethodParams], Answer],
) -> Callable[Concatenate[Locked, MethodParams], Answer]:
    """Return a method that waits until no other thread is in a method of the same vault.

    Raises InputError for an argument that is too long, or a number out of its range.
    """
    parameters = [*signature(method).parameters.values()][1:]
    names = [each.name for each in parameters if each.kind is not Parameter.KEYWORD_ONLY]

    @wraps(method)
    def wrapper(each: Locked, /, *args: MethodParams.args, **options: MethodParams.kwargs) -> Answer:
        given = {**dict(zip(names, args, strict=False)), **options}
        if len(args) > len(names):
            given[names[-1]] = args[len(names) - 1 :]
        for name, value in given.items():
            if name in MAX_LENGTHS:
                check_input(name, value)
            elif name in _COUNT_RANGES and value is not None:
                check_count(name, value, *_COUNT_RANGES[name])
        with each._lock:
            return method(each, *args, **options)

    return wrapper


def _run_as_query(
    method: Callable[Concatenate[Vault, MethodParams], Answer],
) -> Callable[Concatenate[Vault, MethodParams], Answer]:
    """Return a method as `_one_at_a_time` does, which reads one state of the vault."""

    @wraps(method)
    def wrapper(vault: Vault, /, *args: MethodParams.args, **options: MethodParams.kwargs) -> Answer:
        return vault.run_in_one_snapshot(lambda: method(vault, *args, **options))

    return _one_at_a_time(wrapper)


class Vault:
    """A vault and its index: a context manager, created by `excerpt.open`.

    Several threads may use it: their calls run one after another, and only `refresh` lets others run meanwhile.

    A parameter `note` takes a path, the end of a path, a file name, a title or an alias. Arguments that are left out
    have the values of the settings. Methods raise ExcerptError: IndexUnusableError if there is no index to answer from,
    NotFoundError for an unknown note, InputError, which is a ValueError too, for a text that is too long (a query has
    at most 10,000 characters) and for a number out of its range: `limit` is at most 10,000, of a pack
    500, and `budget` at most 10,000,000 tokens.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        paths: Paths,
        vaults: Mapping[str, OpenVault],
        on_notice: OnNotice,
        *,
        for_author: bool = False,
        learns: bool = False,
    ) -> None:
        self._for_author = for_author
        self._use_log: UseLog | None = None
        if learns and settings.search.learn:
            from excerpt.search.usage import UseLog

            self._use_log = UseLog(paths.use_file(folder))
        self.folder = folder
        self.settings = settings
        self._paths = paths
        self._notice = on_notice
        self._open_vaults = OpenVaults(vaults, self._create_engine, self._notify_of_left_out)
        self._reranker: ResultReranker | None = None
        self._query_vectors: QueryVectors | None = None
        self._memories: dict[bool, Memories] = {}
        self._packer: Packer | None = None
        self._lock: AbstractContextManager[object] = threading.RLock()
        self._refresh_lock = threading.RLock()

    @property
    def address(self) -> str:
        """Address of the store that holds the vault; "" for a folder."""
        return ""

    @property
    def has_files(self) -> bool:
        """Whether all notes are files in `folders`: those of a store are not."""
        return not self.address

    @property
    def folders(self) -> VaultFolders:
        """The folder of this vault, or, by name, those of several that were opened as one."""
        return VaultFolders.of([self.folder])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @_one_at_a_time
    def close(self) -> None:
        """Close the index. The next query opens it again."""
        self._open_vaults.close()
        for memories in self._memories.values():
            memories.close()

    @_one_at_a_time
    def load(self) -> None:
        """Open the index and load the model now, so that the first query is as fast as the later ones.

        While another excerpt process writes the index, the vault answers from what that process has committed. If the
        vault has no notes any more, or the index cannot be written, the existing index is used. Raises
        IndexUnusableError if there is no index to read, VaultError for a home folder or a disk that has never been
        indexed.
        """
        self._load_engine().warm()

    @_one_at_a_time
    def reload(self) -> bool:
        """Switch to the newest state of the index that any process has committed; return whether it is a newer one.

        Reads no files of the vault. Opens the index if it was not open.
        """
        return self._open_vaults.reload()

    def refresh(self, on_progress: OnProgress | None = None) -> BuildReport:
        """Update the index from the vault's files, in this process, and switch to it. Other threads search meanwhile.

        Raises VaultError, IndexUnusableError, and IndexBusyError while another process writes the index.
        """
        with self._refresh_lock:
            report = self._build(on_progress)
            self.reload()
        return report

    def _build(self, on_progress: OnProgress | None) -> BuildReport:
        index = self._open_vaults.vaults[""]
        assert isinstance(index, OpenIndex)
        return index.build(on_progress)

    @property
    @_one_at_a_time
    def generation(self) -> int:
        """Generation of the open index: a number that grows with each commit."""
        return self._snapshot.generation

    @property
    @_one_at_a_time
    def is_unfinished(self) -> bool:
        """Whether the open generation is partial: the build that committed it still had files to read."""
        return self._snapshot.is_unfinished

    @property
    @_one_at_a_time
    def left_out(self) -> Mapping[str, str]:
        """Reasons why some vaults are not searched, by name: the index cannot be read, or the model not loaded.

        `reload` tries them again.
        """
        self._load_engine()
        return {name: str(error) for name, error in self._open_vaults.left_out.items()}

    def run_in_one_snapshot(self, compute: Callable[[], Answer]) -> Answer:
        """Call `compute` and return its result; all queries that it makes see the same state of the vault.

        `compute` may be called twice if the connection to a store is lost meanwhile.
        """
        with self._lock:
            return compute()

    def _run_in_transaction(self, compute: Callable[[], Answer]) -> Answer:
        """Return the result of `compute`, whose queries see one state, the newest that was pushed to a store."""

        def reload_and_compute() -> Answer:
            self.reload()
            return compute()

        return self._load_engine().snapshot.read_transaction(reload_and_compute)

    @_run_as_query
    def status(self) -> Status:
        """Return the counts and the model of the index, and the files that were skipped."""
        return self._snapshot.status()

    @_one_at_a_time
    def tokens(self, text: str) -> int:
        """Count the tokens of `text` by the tokenizer of the index."""
        from excerpt.text.tokens import open_tokenizer

        return open_tokenizer(self._snapshot.tokenizer).count(text)

    @property
    def _snapshot(self) -> Corpus:
        return self._load_engine().snapshot

    def _load_engine(self) -> Engine:
        return self._open_vaults.engine if self._for_author else self._load_engine_without_comments()

    def _load_engine_without_comments(self) -> Engine:
        """Return an engine that reads no comments, for results that are passed on: packs, memories and checks."""
        return self._open_vaults.engine.without_comments

    @contextmanager
    def without_comments(self) -> Iterator[None]:
        """Answer without comments in a `with` block, although the vault was opened for the author of its notes."""
        with self._lock:
            before, self._for_author = self._for_author, False
            try:
                yield
            finally:
                self._for_author = before

    def _create_engine(self, snapshot: Corpus, settings: Settings | None = None) -> Engine:
        from excerpt.search.engine import Engine
        from excerpt.search.query_vectors import QueryVectors

        self._query_vectors = self._query_vectors or QueryVectors()
        return Engine(snapshot, settings or self.settings, self._use_log, query_vectors=self._query_vectors)

    def _notify_of_left_out(self, name: str, error: ExcerptError) -> None:
        self._notice(f"The vault {name} is left out: {error}")

    @_run_as_query
    def search(
        self,
        query: str,
        *wordings: str,
        where: Where | None = None,
        literal: bool = False,
        strategy: Strategy | str | None = None,
        limit: int | None = None,
        spans: bool = True,
        rerank: bool | None = None,
    ) -> Result:
        """Find the fragments that answer `query`, best first.

        `wordings` ask the same in other words: a fragment has the score for the one that it answers best.

        `where` has filters by name, such as `{"tag": "work", "-path": "Archive/"}`; a list of values must all match.
        With `literal`, the words of `query` are searched for and no filter in it is one, as for a question that
        somebody else typed. Without `spans`, hits have no positions of the matched words, which halves the time.
        `rerank` says whether the model of `rerank.model` changes the order of the first hits; by default it does if it
        is set. Raises ValueError for an unknown filter, and for `rerank` without a model.
        """
        chosen = _to_choice(Strategy, strategy, self.settings.search.strategy)
        text = [self._build_query(each, where, literal=literal) for each in (query, *wordings)]
        limit = self.settings.search.limit if limit is None else limit
        engine, highlighted = self._load_engine(), None if spans else 0
        read = self._search_limit(limit, rerank=rerank)
        result = engine.search(text, chosen, read, highlight_count=highlighted)
        if result.sort and read > limit:  # the best ones by date, not the first ones by date
            result = engine.search(text, chosen, limit, highlight_count=highlighted)
        result = self._rerank(engine, result, rerank=rerank)
        return self._add_notes(replace(result, hits=result.hits[:limit]))

    def _search_limit(self, limit: int, *, rerank: bool | None) -> int:
        """Return how many hits to search for, to return `limit`: a reranker always reads the same first hits."""
        if not self.settings.rerank.model or rerank is False:
            return limit
        from excerpt.search.results import WINDOW_HITS

        return max(limit, WINDOW_HITS)

    def _rerank(self, engine: Engine, result: Result, *, rerank: bool | None) -> Result:
        """Return `result` in the order of the reranker, if `rerank` or by default the settings ask for that."""
        model = self.settings.rerank.model
        if rerank and not model:
            raise ValueError("no reranker is set: rerank.model is empty")
        if not model or rerank is False:
            return result
        if self._reranker is None:
            from excerpt.search.rerank import ResultReranker

            self._reranker = ResultReranker(self.settings)
        return self._reranker.rerank(engine, result)

    def _add_notes(self, result: Result) -> Result:
        """Return `result` with the notes of its hits."""
        paths = list(dict.fromkeys(hit.path for hit in result.hits))
        notes = dict(zip(paths, self._snapshot.note_infos(paths), strict=True))
        return replace(result, hits=tuple(replace(hit, note=notes[hit.path]) for hit in result.hits))

    @_one_at_a_time
    def record_use(self, result: Result, hit: Hit, *, earlier: Sequence[str] = ()) -> bool:
        """Record that the user opened `hit` of `result`, so that it comes higher for similar questions.

        `earlier` are the questions before that found nothing sure: they are kept with the passage too. Return whether
        the use was recorded. It is not if the vault was opened without `learn`, if the setting search.learn is off, or
        if the query is longer than 200 characters. Raises OSError if the record cannot be written.
        """
        from excerpt.search.usage import UseKind, find_used_hit

        used = find_used_hit(result.query, result.best_first, hit.fragment_id, earlier)
        if self._use_log is None or used is None:
            return False
        self._use_log.record(UseKind.OPENED, [used], time.time())
        return True

    def search_many(
        self,
        queries: Iterable[str],
        *,
        where: Where | None = None,
        literal: bool = False,
        strategy: Strategy | str | None = None,
        limit: int | None = None,
        spans: bool = True,
        rerank: bool | None = None,
    ) -> tuple[Result, ...]:
        """Return the result of each query, in the order of `queries`; all are of one state of the vault.

        The other arguments are as for `search`.
        """
        queries = tuple(queries)
        return self.run_in_one_snapshot(
            lambda: tuple(
                self.search(
                    query, where=where, literal=literal, strategy=strategy, limit=limit, spans=spans, rerank=rerank
                )
                for query in queries
            )
        )

    def _build_query(self, query: str, where: Where | None, *, literal: bool) -> str:
        """Return the text of a query with the filters `where`; with `literal`, without those in its text."""
        if not (where or literal):
            return query
        from excerpt.search.query import MAX_CONDITIONS, format_filter, literal_query

        text, engine = literal_query(query) if literal else query, self._load_engine()
        for name, value in (where or {}).items():
            values = (value,) if isinstance(value, str | date) else value
            if len(values) > MAX_CONDITIONS:
                raise InputError(f"where has more than {MAX_CONDITIONS} values of {name}.", "Give fewer.")
            for each in values:
                condition = format_filter(name, _format_day(each) if isinstance(each, date) else each)
                if not engine.parse(condition)[0].filters:
                    raise ValueError(f"{name!r} with {each!r} is no filter of this vault")
                text = engine.add_condition(text, condition) if text.strip() else condition
        return text

    @_run_as_query
    def search_for_pack(self, query: str, *wordings: str, strategy: Strategy | str | None = None) -> Result:
        """Find the hits that `pack` would use for `query` and other `wordings` of it.

        Only hits that are ranked high enough for a pack have spans, the positions of the matched words.
        """
        from excerpt.pack.build import EXAMINED_HITS

        chosen = _to_choice(Strategy, strategy, self.settings.search.strategy)
        limit = self._search_limit(max(EXAMINED_HITS, self.settings.search.limit), rerank=None)
        engine = self._load_engine_without_comments()
        result = engine.search((query, *wordings), chosen, limit, highlight_count=EXAMINED_HITS)
        return self._add_notes(self._rerank(engine, result, rerank=None))

    @_run_as_query
    def explain(self, result: Result) -> tuple[Explanation, ...]:
        """Explain the score of each hit of a result, by signal and by word."""
        from excerpt.search.explain import explain_hits

        return explain_hits(self._load_engine(), result)

    @_run_as_query
    def why_not(
        self, query: str, note: str, *, strategy: Strategy | str | None = None, rerank: bool | None = None
    ) -> NoteExplanation:
        """Explain why `query` ranks `note` no higher, or does not find it. `rerank` is as for `search`."""
        from excerpt.search.explain_note import explain_note

        chosen = _to_choice(Strategy, strategy, self.settings.search.strategy)
        engine = self._load_engine()
        reranked: tuple[Hit, ...] = ()
        if rerank or (rerank is None and self.settings.rerank.model):
            limit = self._search_limit(self.settings.search.limit, rerank=rerank)
            result = self._rerank(engine, engine.search(query, chosen, limit, highlight_count=0), rerank=rerank)
            reranked = result.reranked_hits
        return explain_note(engine, query, note, chosen, reranked)

    @_run_as_query
    def notes(self, *, where: Where | None = None) -> tuple[NoteInfo, ...]:
        """Return the data of all notes, or of those with text that pass the filters `where`, ordered by path."""
        paths: Sequence[str] = self._snapshot.note_paths()
        if where:
            counts = self._load_engine().count_matches_by_note(self._build_query("", where, literal=False))
            paths = [path for path, count in zip(self._snapshot.table.paths, counts.tolist(), strict=True) if count]
        return tuple(self._snapshot.note_infos(paths))

    @_run_as_query
    def complete(self, query: str, cursor: int | None = None) -> Completions:
        """Return completions of the word of `query` at the character `cursor`, by default at its end.

        They are tags, folders, names, headings, properties and their values, periods, and words of the vault.
        """
        from excerpt.insight.completions import complete_at

        at = len(query) if cursor is None else min(cursor, len(query))
        return complete_at(self._snapshot, query, at, date.today())

    @_run_as_query
    def nearest_words(self, result: Result, count: int = 5) -> tuple[str, ...]:
        """Return words of the vault that are nearest in meaning to the query of a result, to ask again with them."""
        from excerpt.insight.corrections import find_nearest_words

        return find_nearest_words(self._load_engine(), result, count)

    @_run_as_query
    def fragment(self, fragment_id: str) -> Fragment | None:
        """Return the fragment with this id, None if it is not in the index."""
        return self._snapshot.fragment(fragment_id)

    @_run_as_query
    def fragments(self, note: str) -> tuple[Fragment, ...]:
        """Return the fragments of the note at a path, or with a title or alias, in the order of the note.

        Raises NotFoundError if there is no such note.
        """
        from excerpt.insight.notes import find_note

        return tuple(self._snapshot.note_fragments(find_note(self._snapshot, note)))

    @_run_as_query
    def link(self, passage: Hit | Fragment | Pack | Source, form: LinkForm | str = LinkForm.WIKILINK) -> str:
        """Return a link to a passage, with paths relative to the vault: by default a wikilink, `[[Note#Heading]]`.

        Raises VaultError for an Obsidian link if the folder is in no vault of Obsidian, which has a folder .obsidian.
        """
        from excerpt.corpus.passage_links import link_passage

        located = passage.fragment if isinstance(passage, Hit) else passage
        chosen = _to_choice(LinkForm, form, LinkForm.WIKILINK)
        links = link_passage(self._snapshot, located, self.folders if self.has_files else None)
        if chosen not in links:
            raise VaultError(
                f"{self.folder.name} is not an Obsidian vault: it has no .obsidian folder.",
                "Open the folder in Obsidian once; Obsidian creates it.",
            )
        return links[chosen]

    @_run_as_query
    def news(self, *, seen: bool = False) -> tuple[QueryNews, ...]:
        """Return the new and changed passages in the answers to the queries that were saved in the app.

        A passage is new or changed since the query was last run in the app, or since its news were marked as seen here;
        `seen` marks all news as seen. Raises SavedQueriesError if the saved queries cannot be read, or the mark cannot
        be written.
        """
        from excerpt.search.news import collect_news
        from excerpt.search.saved_queries import read_saved

        queries = read_saved(self._paths.saved_queries_file(self.folder)).queries
        return collect_news(self._load_engine(), queries, self._paths.seen_hits_file(self.folder), seen=seen)

    @property
    @_one_at_a_time
    def gold(self) -> Gold:
        """The gold set of this vault: questions with the places that answer them."""
        make_folders_private(self._paths)
        return Gold(self._paths.gold_file(self.folder), lambda: self._snapshot, self._lock)

    @_run_as_query
    def run_gold(self, *, strategy: Strategy | str | None = None, settings: SettingsChoice | None = None) -> GoldReport:
        """Ask the questions of the gold set, and report the ranks of their targets.

        Without arguments, the run is compared with the last such run and replaces it. With `strategy`, or `settings` as
        for `open`, it is compared with a run under the settings of this vault. Raises SettingsError for a setting that
        does not change a search, and GoldUnusableError.
        """
        from excerpt.base.state_files import read_value, write_value
        from excerpt.service.gold.questions import read_gold
        from excerpt.service.gold.run import SEARCH_SETTINGS, GoldReport, GoldRun, compare_runs, run_questions

        changes = find_changes(self.settings, settings) if isinstance(settings, Settings) else dict(settings or {})
        for key in changes:
            if not key.startswith(SEARCH_SETTINGS):
                raise SettingsError(
                    f"{key} does not change what a search of this index finds.",
                    "Use a key of [search], vault.attachments.weight or embedding.languages.",
                )
        changed = change_settings(self.settings, changes)
        chosen = _to_choice(Strategy, strategy, changed.search.strategy)
        questions = read_gold(self._paths.gold_file(self.folder)).questions
        engine = self._load_engine()
        is_variant = strategy is not None or bool(changes)
        if is_variant:
            before: GoldRun | None = run_questions(engine, questions, self.settings.search.strategy)
            run = run_questions(self._create_engine(engine.snapshot, changed), questions, chosen)
        else:
            file = self._paths.gold_run_file(self.folder)
            before, run = read_value(file, GoldRun, None), run_questions(engine, questions, chosen)
            with suppress(OSError):  # the next run is compared with an earlier one then
                write_value(file, run)
        return GoldReport(run, chosen, changes, is_variant, None if before is None else compare_runs(before, run))

    @_run_as_query
    def pack(
        self,
        *queries: str,
        where: Where | None = None,
        literal: bool = False,
        budget: int | None = None,
        scope: Scope | str | None = None,
        neighbors: int | None = None,
        fill: Fill | str | None = None,
        strategy: Strategy | str | None = None,
        ranked: bool = True,
        format: Format | str | None = None,  # noqa: A002 - as the option and the setting are called
        template: str | Path | None = None,
        tokenizer: str | None = None,
        question: bool | None = None,
        ids: Sequence[str] = (),
        marks: bool = False,
        rerank: bool | None = None,
        result: Result | None = None,
    ) -> PackResult:
        """Pack the passages that answer the queries into a text for a prompt, within `budget` tokens.

        With several queries, a passage has the score for the query that it answers best.

        `scope` and `neighbors` say how far a hit is extended. With `fill` `enough`, hits that score far below the first
        are left out, and all if no hit is likely to answer; with `budget`, hits are packed as long as they fit. Several
        queries fill the budget, unless `fill` is `enough` here: then they are wordings of one question. `ids` are
        fragments to pack, whatever the queries find; with `marks`, the fragments marked in the app are packed before
        them. Without `ranked`, passages are in the order of the vault. `template` is a template file; it replaces
        `format`. With `question`, the query stands below the passages. `result` is an earlier result of the queries,
        used instead of a new search unless the vault shows comments, which no pack has. `where`, `literal` and `rerank`
        are as for `search`. Raises SettingsError for an unknown format or tokenizer, NotFoundError for `marks` if no
        fragment is marked.
        """
        overridden = {
            "budget": budget,
            "scope": None if scope is None else _to_choice(Scope, scope, Scope.NONE),
            "neighbors": neighbors,
            "fill": None if fill is None else _to_choice(Fill, fill, Fill.ENOUGH),
            "format": _requested_format(format, template),
            "template": None if template is None else _absolute_template_path(template),
            "tokenizer": tokenizer,
            "question": question,
        }
        changes: dict[str, Any] = {name: value for name, value in overridden.items() if value is not None}
        settings = replace(self.settings.pack, **changes)
        chosen = _to_choice(Strategy, strategy, self.settings.search.strategy)
        queries = tuple(self._build_query(query, where, literal=literal) for query in queries)
        return self._build_pack(
            queries,
            settings,
            chosen,
            ranked=ranked,
            ids=ids,
            marks=marks,
            rerank=rerank,
            result=result,
            are_wordings=fill is not None,
        )

    @_one_at_a_time
    def count_saved(self, packed: PackResult) -> None:
        """Add the tokens that a used pack has saved to the total that `excerpt status` shows."""
        from excerpt.pack.savings import SavingsFile

        with suppress(OSError):  # if it cannot be saved, the pack is still valid
            SavingsFile(self._paths.token_savings_file(self.folder)).add(packed, date.today())

    @_run_as_query
    def check(self, answer: str, pack: str) -> AnswerCheck:
        """Check citations, quotations and citing sentences of an LLM's `answer` against its `pack` and the vault now.

        `pack` is the text of a pack in any format except `template`. Raises UnreadablePackError for another text.
        """
        from excerpt.pack.check.answer import parse_answer
        from excerpt.pack.check.checker import check_answer
        from excerpt.pack.check.lookup import LookupWithMemories
        from excerpt.pack.formats.registry import read_pack

        file = read_pack(pack)
        loaded = self.memories.all()
        snapshot = self._load_engine_without_comments().snapshot
        return check_answer(
            parse_answer(answer), file, LookupWithMemories(snapshot, (*loaded.memories, *loaded.replaced))
        )

    @_run_as_query
    def check_places(
        self, answer: str, sources: Sequence[str] = (), *, prefix: str = ""
    ) -> tuple[AnswerCheck, tuple[MissingPlace, ...]]:
        """Check citations, quotations and citing sentences of an `answer` that cites places, against the vault now.

        `sources` are the places (NOTE:A-B) that it cites as [1], [2] and so on; it may also cite a place in its text,
        as `Sync.md:8-12`. Paths may begin with `prefix`, such as the vault's name. Returns the check, and the places
        that the vault does not have.
        """
        from excerpt.pack.check.answer import parse_answer
        from excerpt.pack.check.checker import check_answer
        from excerpt.pack.check.lookup import LookupWithMemories
        from excerpt.pack.check.places import number_places

        snapshot = self._load_engine_without_comments().snapshot
        paths = snapshot.facets.numbers
        numbered, pack, missing = number_places(answer, sources, paths, self._read_pack_source, prefix)
        memories = self._read_memories_without_comments().memories
        lookup = LookupWithMemories(snapshot, memories)
        return check_answer(parse_answer(numbered), pack, lookup), missing

    def _read_pack_source(self, place: str) -> PackSource:
        """Return the lines NOTE:A-B as a source of a pack. Raises NotFoundError."""
        from excerpt.insight.notes import read
        from excerpt.pack.formats.pack_format import PackSource
        from excerpt.text.display import title_and_headings, visible_line

        note = read(self._load_engine_without_comments().snapshot, place)
        heading = title_and_headings(note.title, note.heading_path)
        return PackSource(
            0, visible_line(note.path), heading, note.line_start, note.line_end, note.text, place=note.place
        )

    def _build_pack(
        self,
        queries: Sequence[str],
        settings: PackSettings,
        strategy: Strategy,
        *,
        ranked: bool,
        ids: Sequence[str],
        marks: bool,
        rerank: bool | None,
        result: Result | None,
        are_wordings: bool,
    ) -> PackResult:
        from excerpt.pack.build import EXAMINED_HITS
        from excerpt.pack.selection import NO_MARKS
        from excerpt.service.packer import PackRequest, with_fill

        saved = self._read_marks() if marks else NO_MARKS
        all_queries = tuple(queries) or ((saved.query,) if saved.query else ())
        used_strategy = strategy
        hits: tuple[Hit, ...] = ()
        engine = self._load_engine_without_comments()
        if all_queries and not saved.marks:
            if result is None or engine is not self._load_engine():
                search_limit = self._search_limit(max(EXAMINED_HITS, self.settings.search.limit), rerank=rerank)
                result = engine.search(all_queries, strategy, search_limit)
                result = self._rerank(engine, result, rerank=rerank)
                for warning in result.warnings:
                    self._notice(warning)
            used_strategy, hits = result.strategy, result.hits
        request = PackRequest(
            all_queries,
            used_strategy,
            hits,
            saved.marks,
            settings,
            saved.overrides,
            ranked=ranked,
            memories=self._marked_memories(saved),
            ids=tuple(ids),
            confidence=result.confidence if result is not None else None,
            notice=result.notice if result is not None else "",
            words=result.words if result is not None else (),
            not_found=result.not_found if result is not None else (),
            are_wordings=are_wordings,
        )
        packer = self._open_packer()
        return packer.links.add_links(packer.build_result(engine.snapshot, with_fill(request, engine)))

    def _open_packer(self) -> Packer:
        from excerpt.service.packer import Packer

        self._packer = self._packer or Packer(self.folders, self._paths.config)
        return self._packer

    def _read_marks(self) -> SavedMarks:
        from excerpt.pack.selection import read_marks

        saved = read_marks(self._paths.marks_file(self.folder))
        if not saved.marks:
            raise NotFoundError("no fragment is marked in this vault. Mark some in the app with the tab key.")
        return saved

    def _marked_memories(self, saved: SavedMarks) -> tuple[Memory, ...]:
        """Return the memories among the marks."""
        from excerpt.pack.memory_fragment import memory_id_of

        ids = {memory_id for mark in saved.marks if (memory_id := memory_id_of(mark.fragment_id)) is not None}
        if not ids:
            return ()
        loaded = self._read_memories_without_comments()
        return tuple(memory for memory in (*loaded.memories, *loaded.replaced) if memory.id in ids)

    def _read_memories_without_comments(self) -> LoadedMemories:
        """Return the memories without comments, for packs and checks, which other people may read."""
        memories = OpenMemories(self._memory_folders())
        try:
            return memories.store.all()
        finally:
            memories.close()

    @_run_as_query
    def read(self, note: str, *, lines: tuple[int, int] | None = None) -> NoteLines:
        """Return a note or some of its lines.

        `note` may also be `NOTE:A-B` (lines), `NOTE#Heading` (a section) or `NOTE#^id` (a block with an id).
        `lines` are the first and the last line, counted from 1.
        """
        from excerpt.insight.notes import find_note, read

        if lines is not None:
            note = f"{find_note(self._snapshot, note)}:{lines[0]}-{lines[1]}"
        return read(self._snapshot, note)

    @_run_as_query
    def peek(self, note: str, *, first_lines: int = 8) -> Peek:
        """Return a summary of a note without its text: size, tags, links, first lines, outline."""
        from excerpt.insight.notes import peek

        return peek(self._snapshot, note, first_lines)

    @_run_as_query
    def related(self, note: str, *, limit: int | None = None, unlinked: bool = False) -> RelatedNotes:
        """Find the notes most related to a note or to the passage at `NOTE:LINE` or `NOTE#Heading`, with reasons.

        `note` may have one of these forms. Returns at most `limit` notes, by default ten. `unlinked` leaves out notes
        that link to the note or that it links to; the answer's `hidden` is their number.
        """
        from excerpt.insight.notes import find_lines, find_section
        from excerpt.insight.related import DEFAULT_LIMIT, find_related_notes

        place = find_lines(self._snapshot, note)
        line = place.first if place.last is not None or place.first > 1 else None
        if place.heading:
            line = find_section(self._snapshot, place.path, place.heading).line_start
        max_notes = DEFAULT_LIMIT if limit is None else limit
        return find_related_notes(self._load_engine(), place.path, line, max_notes, unlinked=unlinked)

    @_run_as_query
    def related_many(
        self, notes: Iterable[str] | None = None, *, limit: int | None = None
    ) -> dict[str, tuple[SimilarNote, ...]]:
        """Find for each of `notes`, by default all, the notes nearest in meaning, such as near duplicates.

        One product of matrices compares all notes; `related` compares one by words, links and names too, with reasons.
        Returns, by path, at most `limit` notes for each (by default ten). Raises StoreUnusableError for a store.
        """
        from excerpt.insight.notes import find_note
        from excerpt.insight.related import DEFAULT_LIMIT
        from excerpt.insight.similarity import find_similar_notes

        snapshot = self._snapshot
        if not snapshot.is_complete:
            raise StoreUnusableError(
                "A store does not send all vectors.", "Ask the store for the related notes of one note."
            )
        paths = snapshot.table.paths if notes is None else [find_note(snapshot, note) for note in notes]
        numbers = [snapshot.facets.numbers[path] for path in paths]
        similar = find_similar_notes(snapshot, numbers, DEFAULT_LIMIT if limit is None else limit)
        return dict(zip(paths, similar, strict=True))

    @_run_as_query
    def overview(self, topic: str, *, budget: int | None = None) -> Overview:
        """Return an overview of the notes about `topic`, which is parsed as a query.

        Its `text` has at most `budget` tokens, by default 800.
        """
        from excerpt.insight.overview import DEFAULT_BUDGET_TOKENS, build_overview

        return build_overview(self._load_engine(), topic, DEFAULT_BUDGET_TOKENS if budget is None else budget)

    @_run_as_query
    def map(self, query: str = "", *wordings: str, limit: int | None = None) -> VaultMap:
        """Count the matches of a query by folder, tag, property and month; without a query, count all fragments.

        `wordings` ask the same in other words: what matches one of them counts.
        `limit` is the maximum number of values listed per property.
        """
        from excerpt.insight.facet_map import MATCH_ALL_QUERY, build_vault_map

        return build_vault_map(self._load_engine(), query or MATCH_ALL_QUERY, limit, wordings=wordings)

    @property
    @_one_at_a_time
    def memories(self) -> Memories:
        """The memories of this vault."""
        if self._for_author not in self._memories:
            make_folders_private(self._paths)
            self._memories[self._for_author] = Memories(
                OpenMemories(self._memory_folders(), for_author=self._for_author),
                self.settings,
                lambda: self._load_engine_without_comments().snapshot,
                self._notice,
                self._lock,
            )
        return self._memories[self._for_author]

    def _memory_folders(self) -> Mapping[str, MemoryFolders]:
        """Return the folders of the memories, by the names of the vaults; "" for a single vault."""
        return {"": MemoryFolders.of(self.folder, self._paths, self.settings)}


class StoredVault(Vault):
    """A vault in a store (a shared database), returned by `excerpt.open` for the store's address.

    `excerpt push` updates the vault, and each search answers from its current content. Marks, settings, and memories
    that are not shared, are not in the store: they are the files of the user who searches.
    """

    def __init__(
        self, address: StoreAddress, paths: Paths, settings: Settings, *, on_notice: OnNotice, learns: bool = False
    ) -> None:
        opened = {"": OpenStore(address, settings)}
        super().__init__(address.folder, settings, paths, opened, on_notice, learns=learns)
        self._address = address

    @property
    def address(self) -> str:
        """Address of the store, without a password."""
        return self._address.display_text

    def _memory_folders(self) -> Mapping[str, MemoryFolders]:
        return {"": MemoryFolders.of(self.folder, self._paths, self.settings, self._address)}

    def run_in_one_snapshot(self, compute: Callable[[], Answer]) -> Answer:
        """Call `compute` and return its result; all queries that it makes see the newest pushed state."""
        with self._lock:
            return self._run_in_transaction(compute)

    def refresh(self, on_progress: OnProgress | None = None) -> BuildReport:  # noqa: ARG002 - as of a folder
        """Raise StoreUnusableError: only a push updates a store."""
        raise StoreUnusableError(
            f"{self._address.display_text} cannot be updated from here: only a push changes a vault in a store.",
            "Run `excerpt push VAULT --to ADDRESS` on a machine that has its notes.",
        )


class VaultUnion(Vault):
    """Several vaults as one, returned by `excerpt.open` for several folders or addresses of stores.

    Hits of all vaults are ranked together. The path of a note begins with the name of its vault (`work/Sync.md`), and
    `folders` has the folder of each. The settings are those of the first vault, which also counts what packs save;
    marks, saved queries and the gold set belong to single vaults, which `vaults` has by name. A vault whose index
    or store cannot be read or whose embedding model cannot be loaded is left out, with a notice; `left_out` names it.
    """

    def __init__(self, vaults: Sequence[Vault], folders: VaultFolders | None = None) -> None:
        """Join open vaults, with the names that `folders` gives them.

        Each can still be used alone, from other threads too.
        """
        first = vaults[0]
        self._folders = folders or VaultFolders.of(vault.folder for vault in vaults)
        by_folder = {vault.folder: vault for vault in vaults}
        self.vaults: Mapping[str, Vault] = {name: by_folder[folder] for name, folder in self._folders.by_name.items()}
        opened = {name: vault._open_vaults.vaults[""] for name, vault in self.vaults.items()}
        for_author = all(vault._for_author for vault in vaults)
        super().__init__(first.folder, first.settings, first._paths, opened, first._notice, for_author=for_author)
        self._lock = _JoinedLock([vault._lock for vault in vaults])

    @property
    def folders(self) -> VaultFolders:
        """The folder of each vault, by name; finds the file of a path."""
        return self._folders

    @property
    def has_files(self) -> bool:
        """Whether all notes are files in `folders`: those of a store are not."""
        return all(vault.has_files for vault in self.vaults.values())

    def run_in_one_snapshot(self, compute: Callable[[], Answer]) -> Answer:
        """Call `compute` and return its result; all queries that it makes see one state of each vault.

        A store whose connection is lost meanwhile is left out, and `compute` is called again.
        """
        with self._lock:
            if self.has_files:
                return compute()
            try:
                return self._run_in_transaction(compute)
            except StoreUnusableError:
                self._open_vaults.close()
                return self._run_in_transaction(compute)

    @_one_at_a_time
    def close(self) -> None:
        """Close the indexes. The next query opens them again."""
        super().close()
        for vault in self.vaults.values():
            vault.close()

    def refresh(self, on_progress: OnProgress | None = None) -> BuildReport:
        """Bring the index of each folder up to date, and return the sums of the reports."""
        folders = {name: vault for name, vault in self.vaults.items() if vault.has_files}
        reports = {name: vault.refresh(on_progress) for name, vault in (folders or self.vaults).items()}
        return sum_reports(reports, self.generation)

    def news(self, *, seen: bool = False) -> tuple[QueryNews, ...]:  # noqa: ARG002 - as of a single vault
        """Raise VaultError: saved queries belong to single vaults."""
        raise self._single_vault_error("saved queries")

    @property
    def gold(self) -> Gold:
        """Raise VaultError: a gold set belongs to a single vault."""
        raise self._single_vault_error("gold set")

    def run_gold(
        self,
        *,
        strategy: Strategy | str | None = None,  # noqa: ARG002 - as of a single vault
        settings: SettingsChoice | None = None,  # noqa: ARG002
    ) -> GoldReport:
        """Raise VaultError: a gold set belongs to a single vault."""
        raise self._single_vault_error("gold set")

    def _memory_folders(self) -> Mapping[str, MemoryFolders]:
        return {name: vault._memory_folders()[""] for name, vault in self.vaults.items()}

    def _read_marks(self) -> SavedMarks:
        raise self._single_vault_error("marks")

    def _single_vault_error(self, what: str) -> VaultError:
        return VaultError(
            f"Several vaults are open, and each has its own {what}.", f"Open one of them: {', '.join(self.vaults)}."
        )


class Memories:
    """The memories of a vault, from `Vault.memories`.

    Methods raise MemoryUnusableError for an unknown id, and where memories cannot be read or written.
    """

    def __init__(
        self,
        memories: OpenMemories,
        settings: Settings,
        snapshot: Callable[[], Corpus],
        notice: OnNotice,
        lock: AbstractContextManager[object],
    ) -> None:
        """Use these open memories.

        `snapshot` returns the open index of the vault, from which the sources of memories are read. `lock` is the lock
        of the vault, so that one thread at a time uses the vault and its memories.
        """
        self._memories = memories
        self._settings = settings
        self._snapshot = snapshot
        self._notice = notice
        self._lock = lock

    @_one_at_a_time
    def close(self) -> None:
        """Close the index of the memories."""
        self._memories.close()

    @property
    def trash(self) -> Path:
        """Folder of the forgotten memories; for several vaults, the folder of the first."""
        from excerpt.memory.store import TRASH

        return self._store.folder / TRASH

    @property
    def has_files(self) -> bool:
        """Whether there is a folder of memories, or a shared memory; if not, `all` is empty."""
        return self._memories.has_files

    @_one_at_a_time
    def all(self) -> LoadedMemories:
        """Return every memory, newest first, the replaced ones apart, and every unreadable file with the reason."""
        return self._store.all()

    @_one_at_a_time
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
        replaces: Sequence[str] = (),
        shared: bool | None = None,
    ) -> SavedMemory:
        """Save `text` as a memory; return the memory, and the existing memories that it may replace.

        The source of the memory is the fragment with the id `fragment`, or the lines `source` (NOTE:A-B); without
        `text`, the text of the source is saved. `why` says why it matters, `query` which search led to it. `replaces`
        are the ids of memories that it replaces: they are kept, and recalled only if asked for. With `into`, no memory
        is added: the text is merged into the memory with this id. With `shared`, the memory is saved in the vault's
        store for all who may read its source; None means the setting `memory.location`.
        """
        from excerpt.memory.results import SavedMemory
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
        check_input("text", content, MAX_MEMORY_LENGTH)
        if shared is None:
            shared = self._settings.memory.location is MemoryLocation.STORE and self._store.can_share(origin)
        draft = MemoryDraft(content, tuple(tags), why, replaces=tuple(dict.fromkeys(replaces)), shared=shared)
        if into is not None:
            return SavedMemory(self._decide(make_merge_decision(into, draft, origin)))
        replaced = tuple(map(self.get, draft.replaces))
        similar = self._memories.find_similar(content, origin, tags, why, shared=shared)
        return SavedMemory(
            self._decide(make_remember_decision(draft, origin, query)),
            tuple(each for each in similar if each.memory.id not in draft.replaces),
            replaced,
        )

    @_one_at_a_time
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
        replaced: bool = False,
    ) -> tuple[RecalledMemory, ...]:
        """Find memories by words and meaning, best first; without words, return all, newest first.

        A memory must have all `tags`, a source in the note or folder `source`, and be no older than `since`, a day
        (2025-03-01) or an age (7d). With `check_sources`, each result has the status of its source. `stale=True`
        returns only memories whose source has changed or is gone, `stale=False` only the others. `replaced=True`
        returns the memories that others replace, in place of the current ones.
        """
        from excerpt.memory.stale import check_source
        from excerpt.memory.words import split_state_filters

        states = split_state_filters(words)
        stale = states.stale if stale is None else stale
        recalled = self._find(
            states.query,
            tags,
            source,
            since,
            limit if stale is None else None,
            replaced=replaced or states.replaced,
        )
        self._notify_of_recall()
        if not (check_sources or stale is not None) or not recalled:
            return tuple(recalled)
        snapshot = self._snapshot()
        checks = [(each, check_source(each.memory, snapshot)) for each in recalled]
        matching = [replace(each, source_check=stands) for each, stands in checks if stale in (None, stands.is_stale)]
        return tuple(matching if stale is None else matching[:limit])

    def _find(
        self, query: str, tags: Sequence[str], source: str, since: str, limit: int | None, *, replaced: bool
    ) -> Sequence[RecalledMemory]:
        """Return the memories that `recall` finds, without the status of their sources."""
        found = self._memories.recall(query, tags, source, since, limit, replaced=replaced)
        is_ranked = any(each.score for each in found)
        return found[: self._settings.search.limit] if limit is None and is_ranked else found

    def _notify_of_recall(self) -> None:
        """Send the notices of the last `_find`: about filters in the query, its length, and a search by words only."""
        from excerpt.memory.recall import MAX_RECALL_WORDS

        for hint in self._memories.hints:
            self._notice(hint)
        if self._memories.unranked:
            self._notice(f"Memories were searched by words only: {self._memories.unranked}")
        if self._memories.is_query_cut:
            self._notice(f"Memories were searched by the first {MAX_RECALL_WORDS} words of the query.")

    @_one_at_a_time
    def recall_answers(self, query: str) -> tuple[RecalledMemory, ...]:
        """Return the memories that answer `query`, at most three, each with the status of its source.

        The app and the MCP server show them with the hits of the query.
        """
        from excerpt.memory.stale import check_source

        recalled = self._memories.recall_answers(query)
        if not recalled:
            return ()
        snapshot = self._snapshot()
        return tuple(replace(each, source_check=check_source(each.memory, snapshot)) for each in recalled)

    @_one_at_a_time
    def get(self, memory_id: str) -> Memory:
        """Return the memory with this id."""
        return self._store.as_shown(self._store.get(memory_id))

    @_one_at_a_time
    def edit(
        self,
        memory_id: str,
        *,
        text: str | None = None,
        tags: Sequence[str] = (),
        untags: Sequence[str] = (),
        why: str | None = None,
        merge: str = "",
        replaces: Sequence[str] = (),
    ) -> Memory:
        """Change a memory's text, tags or reason, and return it. The old version goes to the trash folder.

        Comments that are not shown are kept, below a new text. `tags` are added and `untags` removed. `why` is the
        reason to remember it. With `merge`, the id of another memory, the content of that memory is added and that
        memory is forgotten. `replaces` are the ids of memories that this one replaces.
        """
        from excerpt.memory.memory_file import normalise_tags
        from excerpt.memory.recall import merge_memory

        check_input("text", text, MAX_MEMORY_LENGTH)
        store = self._store
        merged_memory = store.get(merge) if merge else None
        if replaces:  # before anything is written, since it may be refused
            store.replace_others(memory_id, tuple(dict.fromkeys(replaces)))
        if merged_memory is not None:
            store.change(
                memory_id,
                lambda memory: merge_memory(
                    memory, merged_memory.text, merged_memory.tags, merged_memory.why, merged_memory.source
                ),
            )
            store.forget(merge, merged_into=memory_id)
        off = set(normalise_tags(untags))
        changed = store.change(
            memory_id,
            lambda memory: replace(
                memory if text is None else store.replace_text(memory, text),
                tags=tuple(tag for tag in normalise_tags((*memory.tags, *tags)) if tag not in off),
                why=memory.why if why is None else why,
            ),
        )
        return store.as_shown(changed)

    @_one_at_a_time
    def check_source(self, memory_id: str) -> SourceCheck:
        """Compare the source of a memory with the vault: it may be unchanged, moved, changed or gone."""
        from excerpt.memory.stale import check_source

        return check_source(self.get(memory_id), self._snapshot())

    @_one_at_a_time
    def follow(self, memory_id: str) -> Memory:
        """Update the source location of a memory whose source has moved, and return the memory."""
        return self._decide(make_follow_decision(self.check_source(memory_id)))

    @_one_at_a_time
    def update(self, memory_id: str) -> Memory:
        """Replace the text of a memory by the current text of its source, which has changed; return the memory."""
        return self._decide(make_update_decision(self.check_source(memory_id)))

    @_one_at_a_time
    def keep(self, memory_id: str) -> Memory:
        """Keep the text of a memory whose source has changed or is gone, and no longer report it as stale."""
        return self._decide(make_keep_decision(self.check_source(memory_id)))

    @_one_at_a_time
    def forget(self, memory_id: str) -> Memory:
        """Move a memory to the trash folder, and return it. Those that it replaced are current again."""
        return self._store.as_shown(self._store.forget(memory_id))

    @_one_at_a_time
    def restore(self, memory_id: str) -> Memory:
        """Restore the most recently forgotten memory with this id from the trash folder, and return it.

        A replaced memory becomes current again.
        """
        return self._store.as_shown(self._store.restore(memory_id))

    def _decide(self, decision: Decision) -> Memory:
        """Execute a decision, and return the changed memory as shown."""
        return self._store.as_shown(decision(self._store).memory)

    @property
    def _store(self) -> JoinedMemoryStore:
        return self._memories.store


class Gold:
    """The gold set of a vault, from `Vault.gold`: questions of the user with the places that answer them.

    A `target` is written `NOTE` or `NOTE#Heading`, as for `Vault.read`. Methods raise GoldUnusableError if the file of
    the set cannot be read or written.
    """

    def __init__(self, file: Path, snapshot: Callable[[], Corpus], lock: AbstractContextManager[object]) -> None:
        """Use the gold set in `file`. `snapshot` returns the open index, in which targets are looked up.

        `lock` is the lock of the vault, as for its memories.
        """
        self._file = file
        self._lock = lock
        self._snapshot = snapshot

    @_one_at_a_time
    def all(self) -> GoldSet:
        """Return all questions, and the lines of the file that cannot be read."""
        from excerpt.service.gold.questions import read_gold

        return read_gold(self._file)

    @_one_at_a_time
    def add(self, query: str, *targets: str) -> GoldQuestion:
        """Add a question, or further targets to it, and return it. Raises NotFoundError for an unknown target."""
        from excerpt.service.gold.questions import add_questions, find_question, make_question, read_gold
        from excerpt.service.gold.run import parse_target

        question = make_question(query, [parse_target(self._snapshot(), target) for target in targets])
        add_questions(self._file, [question])
        return find_question(read_gold(self._file).questions, question.query)

    @_one_at_a_time
    def remove(self, question: str, target: str = "") -> GoldQuestion:
        """Remove the question with this id or query, or only one of its targets, and return it as it was.

        Raises NotFoundError if there is no such question or target.
        """
        from excerpt.service.gold.questions import remove_question

        return remove_question(self._file, question, target)

    @_one_at_a_time
    def add_lines(self, text: str) -> GoldSet:
        """Add the questions in `text`, which has one JSON object per line, and return them with its unreadable lines.

        Targets that the vault does not have are added as they are written.
        """
        from excerpt.service.gold.questions import add_questions
        from excerpt.service.gold.run import parse_gold_set

        read = parse_gold_set(self._snapshot(), text)
        add_questions(self._file, read.questions)
        return read


def _requested_format(format: Format | str | None, template: str | Path | None) -> Format | None:  # noqa: A002
    """Return the requested format, None if none was requested. A template implies the format `template`."""
    if template is not None:
        return Format.TEMPLATE
    return None if format is None else _to_choice(Format, format, Format.MARKDOWN)


def _to_choice(enum: type[Choice], value: Choice | str | None, default: Choice) -> Choice:
    """Return the enum member for `value`, `default` for None. Raises SettingsError for an unknown value."""
    if value is None:
        return default
    try:
        return enum(value)
    except ValueError:
        name = enum.__name__.lower()
        raise SettingsError(
            f"There is no {name} {value or repr(value)}.", f"Choose one of: {', '.join(enum)}."
        ) from None


def _absolute_template_path(template: str | Path) -> str:
    """Return the absolute path of a template, relative to the working directory. Raises SettingsError.

    The path has to be absolute because PackSettings resolves a relative one against the folder of the settings.
    """
    if not str(template):
        raise SettingsError("The name of the template is empty.", "Name a template file.")
    try:
        return str(Path(template).expanduser().absolute())
    except (OSError, RuntimeError) as error:  # a missing working directory, or an unknown user after ~
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"The template {template} cannot be found: {reason}.") from error
