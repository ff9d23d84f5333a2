"""Search of memories by words, meaning, tags, source and date, ranked like fragments of a vault."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from excerpt.base.errors import ExcerptError, MemoryUnusableError
from excerpt.base.kinds import Confidence
from excerpt.base.model import Hit, Memory, QueryHint, Source, Span
from excerpt.base.settings import BoostSettings, Settings, VaultSettings
from excerpt.corpus.facets import EPOCH_ORDINAL, UNKNOWN_DAY, Facets, NumberedNotes
from excerpt.corpus.interface import Corpus
from excerpt.index.build import Updater
from excerpt.index.queries import CatalogQueries
from excerpt.index.snapshot import Snapshot
from excerpt.memory.memory_file import normalise_tags
from excerpt.memory.results import MemoryRelation, RecalledMemory, SimilarMemory
from excerpt.memory.stale import check_source
from excerpt.memory.store import TRASH, FolderContents, MemoryStore
from excerpt.search.engine import Engine, Ranking
from excerpt.search.evidence import POOL_SIZE, Evidence
from excerpt.search.filters import FILTER_FIELDS, flag_allowed_notes, is_source_path
from excerpt.search.query import (
    MEMORY_FILTER_KINDS,
    KnownNames,
    Query,
    limit_queries,
    parse_alternatives,
    suggest_filters,
)
from excerpt.text.dates import parse_period
from excerpt.text.display import format_lines
from excerpt.text.folding import fold
from excerpt.text.languages import select_stop_words
from excerpt.text.words import query_terms
from excerpt.vault.scan import MAX_FILE_TIME_SECONDS


def find_memories_at(memories: Iterable[Memory], path: str, line_start: int, line_end: int) -> tuple[Memory, ...]:
    """Return those of `memories` whose recorded source overlaps lines `line_start` to `line_end` of the note `path`."""
    return tuple(memory for memory in memories if _is_in_lines(memory.source, path, line_start, line_end))


def _is_in_lines(source: Source | None, path: str, line_start: int, line_end: int) -> bool:
    if source is None or source.path != path:
        return False
    return not source.line_start or (source.line_start <= line_end and line_start <= source.line_end)


class MemoriesByLocation:
    """Finds the memories of a vault by the present locations of their sources.

    The sources of a note's memories are checked on first use of the note (some 0.2 ms per memory): so a memory is found
    at its moved lines, and not at lines that replaced them. Use an object only in the thread of its snapshot, and make
    a new object for another snapshot or changed memories.
    """

    def __init__(self, memories: Iterable[Memory], snapshot: Corpus) -> None:
        self._snapshot = snapshot
        self._memories_by_note: dict[str, list[Memory]] = {}
        self._located_by_note: dict[str, tuple[tuple[Source | None, Memory], ...]] = {}
        notes = frozenset(snapshot.table.paths)
        for memory in memories:
            if memory.source is not None:
                path = memory.source.path
                today = path if path in notes else snapshot.current_path(path)
                if today is not None:
                    self._memories_by_note.setdefault(today, []).append(memory)

    def find_at(self, path: str, line_start: int, line_end: int) -> tuple[Memory, ...]:
        """Return the memories whose source now overlaps these lines of the note `path`, in the given order."""
        if path not in self._memories_by_note:
            return ()
        if path not in self._located_by_note:
            checks = [check_source(memory, self._snapshot, elsewhere=False) for memory in self._memories_by_note[path]]
            self._located_by_note[path] = tuple((each.source, each.memory) for each in checks)
        return tuple(
            memory for source, memory in self._located_by_note[path] if _is_in_lines(source, path, line_start, line_end)
        )


MIN_RECALL_COSINE = 0.45
"""The least cosine with the query of a memory that has none of its words (docs/design/memory.md)."""

_BUILD_WAIT_SECONDS = (
    1.0  # to wait for another process that indexes the memories; then memories are searched by words only
)
MAX_RECALL_WORDS = 100
"""Maximum number of words of a query that are compared with memories, the first ones."""
_MAX_COMPARED_ROWS = 20
MAX_SHOWN_ANSWERS = 3  # memories that are shown with the hits of a query
MIN_SHOWN_LIKELIHOOD = 0.65
"""The least likelihood of a memory that is called likely, more than that of a note's fragment.

Among few memories each word is rare, and the first one far ahead (docs/design/memory.md).
"""
_SHOWN_CONFIDENCES = (Confidence.STRONG, Confidence.LIKELY)  # of the memories that are shown with hits
_MAX_NEAR_MISSES = 5  # the most memories with a word of the query that are listed if no memory answers it


class _MemoryIndex(Struct, frozen=True):
    """An open index of the memories, in which each memory is a note.

    `files` are the memory files that were indexed. `notes` holds the memory of each note (None if the file is no longer
    one), and `indexed_ids` the ids of all memories with text in the index.
    """

    engine: Engine
    snapshot: Snapshot
    files: Mapping[str, Any]
    notes: tuple[Memory | None, ...]
    indexed_ids: frozenset[str]


class Recaller:
    """Searches the memories of `store` with an index of their files in `cache`. Use it from one thread at a time.

    The folder is indexed as a small vault, with a note per memory. The files are authoritative: they are checked before
    each recall, changes are indexed first, and memories that are not in the index for whatever reason are found by
    their words.
    """

    def __init__(
        self, store: MemoryStore, cache: Path, settings: Settings, today: Callable[[], date] = date.today
    ) -> None:
        self.store = store
        self.unranked = ""
        """Why the last search of memories was by words only, a sentence; "" if it was not."""
        self.hints: tuple[QueryHint, ...] = ()
        """Hints on parts of the last query that look like a filter but are none."""
        self.is_query_cut = False
        """Whether the last query had more than MAX_RECALL_WORDS words."""
        self._cache = cache
        self._settings = adapt_settings(settings)
        self._today = today
        self._updater = Updater(store.folder, cache, self._settings)
        self._index: _MemoryIndex | None = None
        self._recalled_cache: tuple[FolderContents, list[RecalledMemory]] | None = None

    def close(self) -> None:
        """Close the index."""
        self._updater.close()
        index, self._index = self._index, None
        if index is not None:
            index.engine.snapshot.close()

    def recall(
        self,
        query: str = "",
        tags: Sequence[str] = (),
        source: str = "",
        since: str = "",
        limit: int | None = None,
        *,
        replaced: bool = False,
    ) -> list[RecalledMemory]:
        """Return the memories that answer `query`, best first; for an empty query, all memories, newest first.

        Only memories are returned that have all `tags`, come from the note or folder `source`, and were saved on or
        after the day `since` (written as for `created:`). `replaced` returns the replaced memories in place of the
        current ones. `limit` None means the limit in the settings for a query with words, and no limit otherwise. Only
        the first MAX_RECALL_WORDS words of `query` count. Raises
        MemoryUnusableError if the folder cannot be read or `since` is not a date.
        """
        self.unranked, self.hints, self.is_query_cut = "", (), False
        contents = self.store.contents()
        memories = contents.loaded.replaced if replaced else contents.loaded.memories
        if tags or source or since:
            memories = tuple(filter(self._memory_filter(tags, source, since), memories))
        if not query.strip():
            return (
                self._recall_all(contents)[:limit]
                if memories is contents.loaded.memories
                else _to_recalled(memories[:limit])
            )
        if not memories:
            return []
        try:
            index = self._update_index(contents)
            facets = index.engine.snapshot.facets
            queries = self._parse_query(query, index.snapshot.languages, facets.properties, facets.tags)
            allowed_ids = None if len(memories) == len(contents.files_by_id) else {memory.id for memory in memories}
            max_memories = self._limit_for(queries, limit)
            ranked, indexed_ids = _rank(index, queries, self._settings, allowed_ids, max_memories), index.indexed_ids
        except ExcerptError as error:
            self.unranked = str(error)
            queries = self._parse_query(query, ())
            ranked, indexed_ids = [], frozenset()
        unknown = (
            [memory for memory in memories if memory.id not in indexed_ids]
            if len(indexed_ids) < len(contents.files_by_id)
            else []
        )
        by_words = _match_words(queries, unknown, contents, self._today()) if unknown else []
        return (ranked + by_words)[: self._limit_for(queries, limit)]

    def _parse_query(
        self,
        query: str,
        languages: Sequence[str],
        properties: Collection[str] = (),
        tags: Collection[str] | None = None,
    ) -> tuple[Query, ...]:
        self.hints = suggest_filters(query, KnownNames(properties, tags, MEMORY_FILTER_KINDS))
        whole = parse_alternatives(query, properties, tags, MEMORY_FILTER_KINDS)
        queries = limit_queries(whole, lambda text: query_terms(text, languages), MAX_RECALL_WORDS)
        self.is_query_cut = queries != whole
        return queries

    def _limit_for(self, queries: Sequence[Query], limit: int | None) -> int | None:
        if limit is None and not all(query.is_filter_only for query in queries):
            return self._settings.search.limit
        return limit

    def find_similar(self, text: str, min_similarity: float, limit: int = 3) -> list[tuple[Memory, float]]:
        """Return the memories nearest to `text` in meaning with their cosines, which are at least `min_similarity`.

        Returns [] if the model or index cannot be used; then `unranked` is the reason.
        """
        self.unranked = ""
        contents = self.store.contents()
        if not text.strip() or not contents.loaded.memories:
            return []
        try:
            index = self._update_index(contents)
            return _rank_by_meaning(index, text, min_similarity, contents.replaced_ids)[:limit]
        except ExcerptError as error:
            self.unranked = str(error)
            return []

    def _recall_all(self, contents: FolderContents) -> list[RecalledMemory]:
        """Return all memories. The list is cached, because 10,000 new objects trigger a full garbage collection."""
        if self._recalled_cache is None or self._recalled_cache[0] is not contents:
            self._recalled_cache = contents, _to_recalled(contents.loaded.memories)
        return self._recalled_cache[1]

    def _memory_filter(self, tags: Sequence[str], source: str, since: str) -> Callable[[Memory], bool]:
        wanted_tags, folder = set(normalise_tags(tags)), fold(source.strip().removeprefix("./").rstrip("/"))
        begin = _first_day(since, self._today()) if since else date.min
        return lambda memory: (
            wanted_tags <= set(memory.tags)
            and (not since or _local_day(memory.created) >= begin)
            and (not folder or (memory.source is not None and is_source_path(fold(memory.source.path), folder)))
        )

    def _update_index(self, contents: FolderContents) -> _MemoryIndex:
        """Update the index to the folder's present content, and return it. Raises ExcerptError if that fails."""
        index = self._index
        if index is not None and index.files is contents.files:
            return index
        indexed_files = {} if index is None else index.files
        changed = [name for name, loaded in contents.files.items() if indexed_files.get(name) is not loaded]
        changed += [name for name in indexed_files if name not in contents.files]
        self._updater.update(None if index is None else changed, accept_empty=True, wait=_BUILD_WAIT_SECONDS)
        self._index = index = self._open_index(contents)
        return index

    def _open_index(self, contents: FolderContents) -> _MemoryIndex:
        before = self._index
        if before is not None and Snapshot.current_generation(self._cache) == before.snapshot.generation:
            engine, snapshot = before.engine, before.snapshot
        else:
            self._index = None
            snapshot = Snapshot.open(
                self._cache,
                self._settings,
                before=before.snapshot if before else None,
                for_author=self.store.shows_comments,
            )
            if before is not None:
                before.snapshot.close()
            engine = Engine(snapshot, self._settings, today=self._today)
        table = snapshot.table
        notes = tuple(map(contents.memories_by_file.get, table.paths))
        has_text = (table.first_fragment_keys >= 0).tolist()
        indexed_ids = frozenset(memory.id for memory, has in zip(notes, has_text, strict=True) if memory and has)
        _set_facets(snapshot.facets, notes)
        return _MemoryIndex(engine, snapshot, contents.files, notes, indexed_ids)


def adapt_settings(settings: Settings) -> Settings:
    """Return `settings` changed for indexing and searching memories.

    Every file that the store loads as a memory is indexed as a note. Boosts by links and age are off, so that only
    the query decides the order.
    """
    return replace(
        settings,
        vault=VaultSettings(extensions=(".md",), exclude=("!*", f"/{TRASH}/"), language=settings.vault.language),
        search=replace(settings.search, per_note=0, boosts=BoostSettings(links=False, recency=False)),
    )


def select_answers(recalled: Iterable[RecalledMemory]) -> list[RecalledMemory]:
    """Return the memories to show with the hits of a query: of the recalled memories, the strong and likely ones."""
    return [each for each in recalled if each.confidence in _SHOWN_CONFIDENCES]


def merge_recalled(recalled: Mapping[str, Sequence[RecalledMemory]], limit: int | None) -> tuple[RecalledMemory, ...]:
    """Return the best `limit` memories of several vaults; `recalled` has the results of one query by vault name.

    A query without words gives memories without scores; these are in the order of their dates, newest first. If a
    memory answers the query, memories that only have a word of it are left out.
    """
    every = [replace(each, vault=name) for name, results in recalled.items() for each in results]
    every.sort(key=lambda each: each.memory.created, reverse=True)
    every.sort(key=lambda each: -each.score)
    answers = [each for each in every if each.answers] or every
    return tuple(answers[:limit])


def _to_recalled(memories: Sequence[Memory]) -> list[RecalledMemory]:
    return [RecalledMemory(memory) for memory in memories]


def _rank(
    index: _MemoryIndex,
    queries: Sequence[Query],
    settings: Settings,
    allowed_ids: Collection[str] | None,
    limit: int | None,
) -> list[RecalledMemory]:
    """Return the memories that answer any of `queries`, ranked by their best fragments.

    If no memory answers, memories with a word of a query are returned. If the queries have only filters, the newest
    memory comes first. Only memories with an id in `allowed_ids` are returned; None allows all.
    """
    engine = index.engine
    table = engine.snapshot.table
    strategy = queries[0].strategy or settings.search.strategy
    # Ranked memories are cut to `allowed_ids` afterwards, and listed ones are sorted in another order: both need all.
    pool = len(table.keys) if allowed_ids is not None or limit is None else max(POOL_SIZE, limit)
    ranking = engine.merge_ranking([engine.score_query(query, strategy, pool) for query in queries])
    ranking = ranking.judged or ranking  # whether a memory is near in meaning is decided below, for each
    chosen: list[int] = []
    memories: list[Memory] = []
    near_misses: list[tuple[int, Memory]] = []
    seen_notes: set[int] = set()
    listed = all(answer.confidences is None for answer in ranking.scored_queries)
    with_words = [
        _flag_rows_with_words(answer.evidence, index.snapshot.languages, len(table.keys))
        for answer in ranking.scored_queries
    ]
    for at, note in enumerate(table.notes[ranking.rows].tolist()):
        memory = index.notes[note]
        if note in seen_notes or memory is None or (allowed_ids is not None and memory.id not in allowed_ids):
            continue
        seen_notes.add(note)
        has_word = bool(with_words[ranking.scored_query_indices[at]][ranking.rows[at]])
        if _is_answer(ranking, at, has_word):
            chosen.append(at)
            memories.append(memory)
            if len(chosen) == limit and not listed:
                break
        elif len(near_misses) < _MAX_NEAR_MISSES and has_word:
            near_misses.append((at, memory))
    answered = bool(chosen)
    if not answered:
        chosen, memories = [at for at, _ in near_misses], [memory for _, memory in near_misses]
    if listed:
        newest = sorted(memories, key=lambda memory: memory.created, reverse=True)[:limit]
        return [RecalledMemory(memory) for memory in newest]
    hits = engine.load_hits(ranking.select(np.array(chosen, np.intp)), 0, len(chosen))
    return [
        RecalledMemory(memory, hit.score, _limit_confidence(ranking, at, hit), _shift_spans(memory.text, hit), answered)
        for memory, hit, at in zip(memories, hits, chosen, strict=True)
    ]


def _is_answer(ranking: Ranking, index: int, has_word: bool) -> bool:
    """Return whether the fragment at position `index` of `ranking` answers the query by words or by meaning.

    `has_word` says whether the fragment has a word of the query that is no stop word. The engine also lists fragments
    that share only a stop word such as "the", or are only a little more similar than the rest.
    """
    answer, row = ranking.scored_queries[ranking.scored_query_indices[index]], int(ranking.positions[index])
    if answer.confidences is None:
        return True
    if answer.confidences.label_at(row) is not Confidence.NOTHING and has_word:
        return True
    return float(answer.evidence.similarities.cosines_at(ranking.rows[index : index + 1])[0]) >= MIN_RECALL_COSINE


def _flag_rows_with_words(evidence: Evidence, languages: Sequence[str], row_count: int) -> npt.NDArray[np.bool_]:
    """Return flags of the rows that have a word (no stop word) or a phrase of a query, or its words as their name."""
    flags = np.zeros(row_count, bool) if evidence.has_exact_words is None else evidence.has_exact_words.copy()
    flags[evidence.named_rows] = True
    surfaces = [fold(word.surface) for word in evidence.words]
    stop_words = select_stop_words(surfaces, ("en", *languages))
    for surface, match in zip(surfaces, evidence.matches, strict=True):
        if surface not in stop_words:
            match.term_matches.mark(flags)
    return flags


def _limit_confidence(ranking: Ranking, index: int, hit: Hit) -> Confidence | None:
    """Return the confidence of a hit; a likely hit below MIN_SHOWN_LIKELIHOOD without exact words is only weak."""
    answer, row = ranking.scored_queries[ranking.scored_query_indices[index]], int(ranking.positions[index])
    exact = answer.evidence.has_exact_words
    if (
        hit.confidence is not Confidence.LIKELY
        or answer.confidences is None
        or answer.confidences.likelihoods[row] >= MIN_SHOWN_LIKELIHOOD
        or (exact is not None and exact[ranking.rows[index]])
    ):
        return hit.confidence
    return Confidence.WEAK


def _shift_spans(text: str, hit: Hit) -> tuple[Span, ...]:
    """Return the spans of `hit` as offsets in the memory's text, which contains the hit's fragment."""
    begin = text.find(hit.fragment.text)
    return tuple(Span(span.start + begin, span.end + begin) for span in hit.spans) if begin >= 0 else ()


def _rank_by_meaning(
    index: _MemoryIndex, text: str, min_similarity: float, replaced_ids: Collection[str]
) -> list[tuple[Memory, float]]:
    snapshot = index.engine.snapshot
    embedder = snapshot.embedder
    similarities = snapshot.vectors.similarities(embedder.embed([text])[0])
    if replaced_ids:
        is_replaced = np.array([memory is not None and memory.id in replaced_ids for memory in index.notes], np.bool_)
        similarities = np.where(is_replaced[snapshot.table.notes], -1.0, similarities)
    # The vectors in the index are of fragments, with the file's name: they only select the memories to compare.
    best = np.argsort(-similarities, kind="stable")[:_MAX_COMPARED_ROWS]
    notes = dict.fromkeys(snapshot.table.notes[best].tolist())
    found = (memory for note in notes if (memory := index.notes[note]) is not None)
    memories = [memory for memory in found if memory.id not in replaced_ids]
    vectors = embedder.embed([text, *(memory.text for memory in memories)])
    cosines = (vectors[1:] @ vectors[0]).tolist()
    similar = [(memory, cosine) for memory, cosine in zip(memories, cosines, strict=True) if cosine >= min_similarity]
    return sorted(similar, key=lambda pair: -pair[1])


def _first_day(since: str, today: date) -> date:
    """Return the first day of the period `since`, such as "2025-03" or "7d". Raises MemoryUnusableError."""
    period = parse_period(f">={since}", today)
    if period is None:
        hint = "Give a day as 2025-03-01 or 2025-03, or how long ago as 7d, 2w, 3m, 1y."
        raise MemoryUnusableError(f"{since!r} is not a date.", hint)
    return period[0]


def _local_day(iso_time: str) -> date:
    """Return the local day of a memory's time; midnight UTC stands for a date without a time and keeps its day."""
    saved_time = datetime.fromisoformat(iso_time)
    if saved_time.time() == time.min:
        return saved_time.date()
    with suppress(OverflowError, OSError, ValueError):  # a time that this system's clock does not support
        return saved_time.astimezone().date()
    return saved_time.date()


def _set_facets(facets: Facets, memories: Sequence[Memory | None]) -> None:
    """Set the filter data of memories in `facets`: path of the source, day of saving, time of the last change."""
    days = [
        UNKNOWN_DAY if memory is None else _local_day(memory.created).toordinal() - EPOCH_ORDINAL for memory in memories
    ]
    changed = [0 if memory is None else _nanoseconds(memory.updated) for memory in memories]
    sources = [None if memory is None else memory.source for memory in memories]
    facets.created, facets.modified = np.array(days, np.int64), np.array(changed, np.int64)
    facets.dates = facets.last_day_by_note = facets.created
    facets.change_days = np.full(len(memories), UNKNOWN_DAY, np.int64)
    facets.is_copied = np.zeros(len(memories), np.bool_)
    facets.paths = tuple("" if source is None else fold(f"/{source.path}") for source in sources)


def _nanoseconds(iso_time: str) -> int:
    seconds = int(datetime.fromisoformat(iso_time).timestamp())
    return max(-MAX_FILE_TIME_SECONDS, min(seconds, MAX_FILE_TIME_SECONDS)) * 1_000_000_000


class _EmptyCatalog:
    """A catalog (database of notes) without notes: every query returns no rows."""

    def __call__(self, *_: object) -> list[tuple[object, ...]]:
        return []

    def check(self, *_: object) -> None:
        """Do nothing."""


def _match_words(
    queries: Sequence[Query], memories: Sequence[Memory], contents: FolderContents, today: date
) -> list[RecalledMemory]:
    """Return those of `memories` that have all words of one of `queries` and match its filters, without an index."""
    nothing = np.array([], np.int64)
    facets = Facets(CatalogQueries(_EmptyCatalog()), NumberedNotes((), nothing, nothing))
    _set_facets(facets, memories)
    tags: dict[str, list[int]] = {}
    for at, memory in enumerate(memories):
        for tag in map(fold, memory.tags):
            for end in (*(end for end, sign in enumerate(tag) if sign == "/"), len(tag)):
                tags.setdefault(tag[:end], []).append(at)
    facets.tags = {tag: np.array(numbers, np.int32) for tag, numbers in tags.items()}
    matched_ids: set[str] = set()
    for query in queries:
        if any(condition.kind in FILTER_FIELDS for condition in query.filters):
            continue
        flags = flag_allowed_notes(query.filters, facets, len(memories), today).tolist()
        allowed = [memory for memory, is_allowed in zip(memories, flags, strict=True) if is_allowed]
        with_words = contents.with_words(query.words, allowed)
        excluded_matches = (
            contents.with_words(words, with_words) for words in (*query.excluded, *query.excluded_phrases)
        )
        excluded = {memory.id for each in excluded_matches for memory in each}
        matched_ids |= {memory.id for memory in with_words} - excluded
    return _to_recalled([memory for memory in memories if memory.id in matched_ids])


MIN_MERGE_COSINE = 0.85
"""The least cosine of two texts that may say the same (docs/design/memory.md)."""
MAX_SIMILAR_MEMORIES = 3


def find_similar_memories(
    text: str,
    source: Source | None,
    recaller: Recaller,
    located_memories: MemoriesByLocation | None = None,
    *,
    tags: Sequence[str] = (),
    why: str = "",
) -> list[SimilarMemory]:
    """Return at most MAX_SIMILAR_MEMORIES that a new memory may replace, or be merged with.

    First come memories about the same lines, then those below the same heading, those with the same `why` and `tags`,
    and the nearest to `text` in meaning. With `located_memories`, a memory whose source has moved in the vault is
    compared by its present lines.
    """
    near = {
        memory.id: (memory, cosine)
        for memory, cosine in recaller.find_similar(text, MIN_MERGE_COSINE, MAX_SIMILAR_MEMORIES)
    }
    memories = recaller.store.all().memories
    relations: dict[str, tuple[Memory, MemoryRelation]] = {}

    def add(found: Iterable[Memory], relation: MemoryRelation) -> None:
        for memory in found:
            relations.setdefault(memory.id, (memory, relation))

    if source is not None:
        location = source.path, source.line_start, source.line_end
        if located_memories is not None:
            add(located_memories.find_at(*location), MemoryRelation.LINES)
        else:
            add(find_memories_at(memories, *location), MemoryRelation.LINES)
        heading = source.path, source.heading_path
        if source.heading_path:
            below = (one for one in memories if one.source and (one.source.path, one.source.heading_path) == heading)
            add(below, MemoryRelation.HEADING)
    purpose = fold(why.strip()), frozenset(normalise_tags(tags))
    if all(purpose):
        add((one for one in memories if (fold(one.why.strip()), frozenset(one.tags)) == purpose), MemoryRelation.WHY)
    add((memory for memory, _ in near.values()), MemoryRelation.TEXT)
    offers = (
        SimilarMemory(memory, relation, near[memory.id][1] if memory.id in near else 0.0)
        for memory, relation in relations.values()
    )
    return list(islice(offers, MAX_SIMILAR_MEMORIES))


def merge_memory(
    memory: Memory, text: str, tags: Sequence[str] = (), why: str = "", source: Source | None = None
) -> Memory:
    """Return `memory` merged with a new text and its tags, reason `why` and source; nothing is saved.

    The texts are joined unless one contains the other, and so are the tags and the reasons. `memory` keeps its source,
    and another source is named below the text; if `text` contains the memory's text, its source replaces the memory's.
    """
    if text.strip() in memory.text:
        merged_text, merged_source = memory.text, memory.source or source
    elif memory.text.strip() in text:
        merged_text, merged_source = text, source or memory.source
    else:
        merged_text, merged_source = f"{memory.text.rstrip()}\n\n{text.strip()}", memory.source or source
        if (
            source is not None
            and memory.source is not None
            and not find_memories_at([memory], *_source_location(source))
        ):
            lines = format_lines(source.line_start, source.line_end)
            merged_text = f"{merged_text}\n\n({source.path}{f'#{source.place}' if source.place else f', {lines}'})"
    reasons = dict.fromkeys(reason for reason in (memory.why, why) if reason.strip())
    return replace(
        memory,
        text=merged_text,
        tags=normalise_tags((*memory.tags, *tags)),
        why="; ".join(reasons),
        source=merged_source,
    )


def _source_location(source: Source) -> tuple[str, int, int]:
    return source.path, source.line_start, source.line_end
