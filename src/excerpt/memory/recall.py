"""Search of memories by words, meaning, tags, source and date, ranked by the engine that ranks fragments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from excerpt.corpus.facets import UNKNOWN_DAY, Facets, NumberedNotes
from excerpt.corpus.interface import Corpus
from excerpt.errors import ExcerptError, MemoryUnusableError
from excerpt.index.build import Updater
from excerpt.index.queries import CatalogQueries
from excerpt.index.snapshot import Snapshot
from excerpt.json_forms import select_fields
from excerpt.kinds import Confidence
from excerpt.memory.memory_file import normalise_tags
from excerpt.memory.stale import SourceCheck, check_source
from excerpt.memory.store import TRASH, Contents, MemoryStore
from excerpt.model import Hit, Memory, QueryHint, Source, Span
from excerpt.search.engine import Engine, Ranking
from excerpt.search.evidence import POOL
from excerpt.search.filters import FIELDS, is_from, notes_allowed
from excerpt.search.query import MEMORY_KINDS, KnownNames, Query, alternatives, hints
from excerpt.search.ranking import SIGNALS
from excerpt.settings import BoostSettings, Settings, VaultSettings
from excerpt.text.dates import parse_period
from excerpt.text.display import format_lines
from excerpt.text.words import fold
from excerpt.vault.scan import MAX_FILE_TIME_SECONDS

# --- memories of hits -------------------------------------------------------------------------------------------------
# The memories about the fragments that are shown.


def remembered_at(memories: Iterable[Memory], path: str, line_start: int, line_end: int) -> tuple[Memory, ...]:
    """Return the `memories` whose recorded source overlaps these lines of a note."""
    return tuple(memory for memory in memories if _is_about(memory.source, path, line_start, line_end))


def _is_about(source: Source | None, path: str, line_start: int, line_end: int) -> bool:
    if source is None or source.path != path:
        return False
    return not source.line_start or (source.line_start <= line_end and line_start <= source.line_end)


class Badges:
    """The memories of a vault by the present locations of their sources.

    Used from one thread, that of the snapshot. A note is compared with its memories on first use (some 0.2 ms each), so
    that moved lines keep their badges and the lines that replaced them have none. Another snapshot or other memories
    need another object.
    """

    def __init__(self, memories: Iterable[Memory], snapshot: Corpus) -> None:
        self._snapshot = snapshot
        self._of_note: dict[str, list[Memory]] = {}
        self._placed: dict[str, tuple[tuple[Source | None, Memory], ...]] = {}
        notes = frozenset(snapshot.table.paths)
        for memory in memories:
            if memory.source is not None:
                path = memory.source.path
                today = path if path in notes else snapshot.current_path(path)
                if today is not None:
                    self._of_note.setdefault(today, []).append(memory)

    def at(self, path: str, line_start: int, line_end: int) -> tuple[Memory, ...]:
        """Return the memories whose source now overlaps these lines, newest first."""
        if path not in self._of_note:
            return ()
        if path not in self._placed:
            checks = [check_source(memory, self._snapshot, elsewhere=False) for memory in self._of_note[path]]
            self._placed[path] = tuple((each.source, each.memory) for each in checks)
        return tuple(memory for source, memory in self._placed[path] if _is_about(source, path, line_start, line_end))


# --- recall -----------------------------------------------------------------------------------------------------------
# The folder of memories is indexed in the cache as a small vault, with a note per memory. The files are authoritative:
# they are checked before each recall, changes are indexed first, and memories that are not in the index for whatever
# reason are found by their words.

NEAR_IN_MEANING = 0.45
"""Least cosine of a recalled memory without the words of the query (docs/design/memory.md)."""

_BUILD_WAIT_SECONDS = (
    1.0  # seconds to wait for another process that indexes the memories, before words alone are looked for
)
_MAX_COMPARED_ROWS = 20
_EPOCH = date(1970, 1, 1).toordinal()
_MAX_NEAREST = 5  # memories listed if none answers


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that was found.

    `spans` are the matches in its text; `confidence` is None for a query without words and where only words were
    compared. If no memory `answers`, those with a word of the query are listed. `source_check` is set if sources were
    checked.
    """

    memory: Memory
    score: float = 0.0
    confidence: Confidence | None = None
    spans: tuple[Span, ...] = ()
    answers: bool = True
    source_check: SourceCheck | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt recall`: the memory's fields with those of the match."""
        return {
            **self.memory.to_dict(),
            "score": round(self.score, 6),
            **select_fields(self, "confidence", "answers"),
            **({} if self.source_check is None else {"source_check": self.source_check.to_dict()}),
        }


@dataclass(frozen=True, slots=True)
class _Index:
    """The engine on an index of the memories, and the memory of each indexed note, None if it is no memory."""

    engine: Engine
    snapshot: Snapshot
    files: Mapping[str, Any]
    notes: tuple[Memory | None, ...]
    indexed_ids: frozenset[str]


class Recaller:
    """Recalls the memories in `folder` with an index in `cache`. Usable from one thread at a time."""

    def __init__(self, folder: Path, cache: Path, settings: Settings, today: Callable[[], date] = date.today) -> None:
        self.store = MemoryStore(folder)
        self.unranked = ""
        """Why the last recall used words alone; "" if it did not."""
        self.hints: tuple[QueryHint, ...] = ()
        """Parts of the last recall's query that look like a filter but are none."""
        self._cache = cache
        self._settings = settings_for(settings)
        self._today = today
        self._updater = Updater(folder, cache, self._settings)
        self._index: _Index | None = None
        self._all: tuple[Contents, list[Recalled]] | None = None

    def close(self) -> None:
        """Close the index."""
        self._updater.close()
        index, self._index = self._index, None
        if index is not None:
            index.engine.snapshot.close()

    def recall(
        self, query: str = "", tags: Sequence[str] = (), source: str = "", since: str = "", limit: int | None = None
    ) -> list[Recalled]:
        """Return the memories that answer `query`, best first, or without a query all of them, newest first.

        Only those with all `tags`, from the note or folder `source`, and saved `since` a day (in the form of
        `created:`). `limit` defaults to the settings' for a query, and else to no limit. Raises MemoryUnusableError if
        the folder cannot be read or `since` is not a date.
        """
        self.unranked, self.hints = "", ()
        contents = self.store.contents()
        memories = contents.loaded.memories
        if tags or source or since:
            memories = tuple(filter(self._memory_filter(tags, source, since), memories))
        if not query.strip():
            return (
                self._recall_all(contents)[:limit]
                if memories is contents.loaded.memories
                else _as_recalled(memories[:limit])
            )
        if not memories:
            return []
        try:
            index = self._update_index(contents)
            facets = index.engine.snapshot.facets
            queries = self._read(query, facets.properties, facets.tags)
            among = None if len(memories) == len(contents.loaded.memories) else {memory.id for memory in memories}
            max_memories = self._limit_for(queries, limit)
            ranked, indexed_ids = _rank(index, queries, self._settings, among, max_memories), index.indexed_ids
        except ExcerptError as error:
            self.unranked = str(error)
            queries = self._read(query)
            ranked, indexed_ids = [], frozenset()
        unknown = (
            [memory for memory in memories if memory.id not in indexed_ids]
            if len(indexed_ids) < len(contents.ids)
            else []
        )
        by_words = _by_words(queries, unknown, contents, self._today()) if unknown else []
        return (ranked + by_words)[: self._limit_for(queries, limit)]

    def _read(
        self, query: str, properties: Collection[str] = (), tags: Collection[str] | None = None
    ) -> tuple[Query, ...]:
        self.hints = hints(query, KnownNames(properties, tags, MEMORY_KINDS))
        return alternatives(query, properties, tags, MEMORY_KINDS)

    def _limit_for(self, queries: Sequence[Query], limit: int | None) -> int | None:
        if limit is None and not all(query.is_filter_only for query in queries):
            return self._settings.search.limit
        return limit

    def near(self, text: str, min_similarity: float, limit: int = 3) -> list[tuple[Memory, float]]:
        """Return the memories nearest to `text` in meaning, with cosines of at least `min_similarity`.

        Returns none if the model cannot be used; `unranked` then says why.
        """
        self.unranked = ""
        contents = self.store.contents()
        if not text.strip() or not contents.ids:
            return []
        try:
            return _nearest(self._update_index(contents), text, min_similarity)[:limit]
        except ExcerptError as error:
            self.unranked = str(error)
            return []

    def _recall_all(self, contents: Contents) -> list[Recalled]:
        """Return all memories; created once, because ten thousand new objects trigger a full garbage collection."""
        if self._all is None or self._all[0] is not contents:
            self._all = contents, _as_recalled(contents.loaded.memories)
        return self._all[1]

    def _memory_filter(self, tags: Sequence[str], source: str, since: str) -> Callable[[Memory], bool]:
        wanted_tags, folder = set(normalise_tags(tags)), fold(source.strip().removeprefix("./").rstrip("/"))
        begin = _first_day(since, self._today()) if since else date.min
        return lambda memory: (
            wanted_tags <= set(memory.tags)
            and (not since or _day(memory.created) >= begin)
            and (not folder or (memory.source is not None and is_from(fold(memory.source.path), folder)))
        )

    # --- the index ----------------------------------------------------------------------------------------------------

    def _update_index(self, contents: Contents) -> _Index:
        """Return the index after bringing it up to date with the folder. Raises ExcerptError if that fails."""
        index = self._index
        if index is not None and index.files is contents.files:
            return index
        indexed_files = {} if index is None else index.files
        changed = [name for name, loaded in contents.files.items() if indexed_files.get(name) is not loaded]
        changed += [name for name in indexed_files if name not in contents.files]
        self._updater.update(None if index is None else changed, accept_empty=True, wait=_BUILD_WAIT_SECONDS)
        self._index = index = self._open_index(contents)
        return index

    def _open_index(self, contents: Contents) -> _Index:
        before = self._index
        if before is not None and Snapshot.current_generation(self._cache) == before.snapshot.generation:
            engine, snapshot = before.engine, before.snapshot
        else:
            self._index = None
            snapshot = Snapshot.open(self._cache, self._settings, before=before.snapshot if before else None)
            if before is not None:
                before.snapshot.close()
            engine = Engine(snapshot, self._settings, today=self._today)
        table = snapshot.table
        notes = tuple(map(contents.by_name.get, table.paths))
        has_text = (table.first_keys >= 0).tolist()
        indexed_ids = frozenset(memory.id for memory, has in zip(notes, has_text, strict=True) if memory and has)
        _set_facets(snapshot.facets, notes)
        return _Index(engine, snapshot, contents.files, notes, indexed_ids)


def settings_for(settings: Settings) -> Settings:
    """Return the settings for indexing and searching memories.

    A note is then any file that the store loads as a memory, and only the query decides the order.
    """
    return replace(
        settings,
        vault=VaultSettings(extensions=(".md",), exclude=("!*", f"/{TRASH}/"), language=settings.vault.language),
        search=replace(settings.search, per_note=0, boosts=BoostSettings(links=False, recency=False, use=False)),
    )


# --- what is found ----------------------------------------------------------------------------------------------------


def _as_recalled(memories: Sequence[Memory]) -> list[Recalled]:
    return [Recalled(memory) for memory in memories]


def _rank(
    index: _Index, queries: Sequence[Query], settings: Settings, among: Collection[str] | None, limit: int | None
) -> list[Recalled]:
    """Return the memories that answer, each by its best fragment; the newest first if there are only filters."""
    engine = index.engine
    table = engine.snapshot.table
    strategy = queries[0].strategy or settings.search.strategy
    # Ranked memories are cut to `among` afterwards, and listed ones are sorted in another order: both need all.
    pool = len(table.keys) if among is not None or limit is None else max(POOL, limit)
    ranking = engine.ranking([engine.answer(query, strategy, pool) for query in queries])
    chosen: list[int] = []
    memories: list[Memory] = []
    nearest: list[tuple[int, Memory]] = []
    seen_notes: set[int] = set()
    listed = all(answer.judgement is None for answer in ranking.answers)
    for at, note in enumerate(table.notes[ranking.rows].tolist()):
        memory = index.notes[note]
        if note in seen_notes or memory is None or (among is not None and memory.id not in among):
            continue
        seen_notes.add(note)
        if _answers(ranking, at):
            chosen.append(at)
            memories.append(memory)
            if len(chosen) == limit and not listed:
                break
        elif len(nearest) < _MAX_NEAREST and _has_a_word(ranking, at):
            nearest.append((at, memory))
    answered = bool(chosen)
    if not answered:
        chosen, memories = [at for at, _ in nearest], [memory for _, memory in nearest]
    if listed:
        newest = sorted(memories, key=lambda memory: memory.created, reverse=True)[:limit]
        return [Recalled(memory) for memory in newest]
    hits = engine.hits(_part(ranking, np.array(chosen, np.intp)), 0, len(chosen))
    return [
        Recalled(memory, hit.score, hit.confidence, _spans_in(memory.text, hit), answered)
        for memory, hit in zip(memories, hits, strict=True)
    ]


def _answers(ranking: Ranking, index: int) -> bool:
    """Return whether a fragment answers the query by words or by meaning.

    The engine also lists fragments that are only a little nearer than the rest.
    """
    answer, row = ranking.answers[ranking.answer_indices[index]], int(ranking.positions[index])
    if answer.judgement is None or answer.judgement.word(row) is not Confidence.NOTHING:
        return True
    return float(answer.evidence.similarities.at(ranking.rows[index : index + 1])[0]) >= NEAR_IN_MEANING


def _has_a_word(ranking: Ranking, index: int) -> bool:
    answer, row = ranking.answers[ranking.answer_indices[index]], int(ranking.positions[index])
    return bool(answer.scored.values[row, SIGNALS.index("words")] > 0)


def _part(ranking: Ranking, indices: npt.NDArray[np.intp]) -> Ranking:
    return Ranking(
        ranking.answers,
        ranking.rows[indices],
        ranking.scores[indices],
        ranking.answer_indices[indices],
        ranking.positions[indices],
    )


def _spans_in(text: str, hit: Hit) -> tuple[Span, ...]:
    """Return the hit's spans as offsets in the memory's text, which contains the fragment."""
    begin = text.find(hit.fragment.text)
    return tuple(Span(span.start + begin, span.end + begin) for span in hit.spans) if begin >= 0 else ()


def _nearest(index: _Index, text: str, min_similarity: float) -> list[tuple[Memory, float]]:
    snapshot = index.engine.snapshot
    embedder = snapshot.embedder
    similarities = snapshot.vectors.similarities(embedder.embed([text])[0])
    # The index has vectors of parts, with the name of the file: they show which to compare, not how near they are.
    best = np.argsort(-similarities, kind="stable")[:_MAX_COMPARED_ROWS]
    notes = dict.fromkeys(snapshot.table.notes[best].tolist())
    memories = [memory for note in notes if (memory := index.notes[note]) is not None]
    vectors = embedder.embed([text, *(memory.text for memory in memories)])
    cosines = (vectors[1:] @ vectors[0]).tolist()
    similar = [(memory, cosine) for memory, cosine in zip(memories, cosines, strict=True) if cosine >= min_similarity]
    return sorted(similar, key=lambda pair: -pair[1])


# --- what is asked beside words ---------------------------------------------------------------------------------------


def _first_day(since: str, today: date) -> date:
    """Return the first day of a period."""
    period = parse_period(f">={since}", today)
    if period is None:
        hint = "Give a day as 2025-03-01 or 2025-03, or how long ago as 7d, 2w, 3m, 1y."
        raise MemoryUnusableError(f"{since!r} is not a date.", hint)
    return period[0]


def _day(snapshot_time: str) -> date:
    """Return the local day of a memory's time; a time at midnight UTC was written as a date, and keeps its day."""
    saved_time = datetime.fromisoformat(snapshot_time)
    if saved_time.time() == time.min:
        return saved_time.date()
    with suppress(OverflowError, OSError, ValueError):  # a time that this system's clock does not support
        return saved_time.astimezone().date()
    return saved_time.date()


def _set_facets(facets: Facets, memories: Sequence[Memory | None]) -> None:
    """Set the data of memories for filters: the path of the source, the day of saving, and the last change."""
    days = [UNKNOWN_DAY if memory is None else _day(memory.created).toordinal() - _EPOCH for memory in memories]
    changed = [0 if memory is None else _nanoseconds(memory.updated) for memory in memories]
    sources = [None if memory is None else memory.source for memory in memories]
    facets.created, facets.modified = np.array(days, np.int64), np.array(changed, np.int64)
    facets.paths = tuple("" if source is None else fold(f"/{source.path}") for source in sources)


def _nanoseconds(snapshot_time: str) -> int:
    seconds = int(datetime.fromisoformat(snapshot_time).timestamp())
    return max(-MAX_FILE_TIME_SECONDS, min(seconds, MAX_FILE_TIME_SECONDS)) * 1_000_000_000


class _NoRows:
    """The rows of a catalog without notes."""

    def __call__(self, *_: object) -> list[tuple[object, ...]]:
        return []

    def check(self, *_: object) -> None:
        """Do nothing."""


def _by_words(queries: Sequence[Query], memories: Sequence[Memory], contents: Contents, today: date) -> list[Recalled]:
    """Return those of `memories` that have all words of a query and satisfy its filters, without an index."""
    nothing = np.array([], np.int64)
    facets = Facets(CatalogQueries(_NoRows()), NumberedNotes((), nothing, nothing))
    _set_facets(facets, memories)
    tags: dict[str, list[int]] = {}
    for at, memory in enumerate(memories):
        for tag in map(fold, memory.tags):
            for end in (*(end for end, sign in enumerate(tag) if sign == "/"), len(tag)):
                tags.setdefault(tag[:end], []).append(at)
    facets.tags = {tag: np.array(numbers, np.int32) for tag, numbers in tags.items()}
    matched_ids: set[str] = set()
    for query in queries:
        if any(condition.kind in FIELDS for condition in query.filters):
            continue
        flags = notes_allowed(query.filters, facets, len(memories), today).tolist()
        allowed = [memory for memory, is_allowed in zip(memories, flags, strict=True) if is_allowed]
        with_words = contents.with_words(query.words, allowed)
        excluded_matches = (
            contents.with_words(words, with_words) for words in (*query.excluded, *query.excluded_phrases)
        )
        excluded = {memory.id for each in excluded_matches for memory in each}
        matched_ids |= {memory.id for memory in with_words} - excluded
    return _as_recalled([memory for memory in memories if memory.id in matched_ids])


# --- remembered already -----------------------------------------------------------------------------------------------
# Memories that say the same as a new one, so that they can be merged.

MIN_SIMILARITY = 0.85
"""Cosine from which two texts count as saying the same (docs/design/memory.md)."""
MAX = 3


@dataclass(frozen=True, slots=True)
class Offer:
    """A memory that may say the same as a new one.

    `is_same_source` is true if it is about the same lines; otherwise it is near in meaning. `likeness` is the cosine of
    the texts, 0 if it is below ALIKE or unknown.
    """

    memory: Memory
    is_same_source: bool
    likeness: float

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt remember`, with only the id and text of the memory."""
        return {
            **select_fields(self.memory, "id", "text"),
            "same_source": self.is_same_source,
            "likeness": round(self.likeness, 3),
        }


@dataclass(frozen=True, slots=True)
class Remembered:
    """A saved memory, and those that it could be merged with."""

    memory: Memory
    similar: tuple[Offer, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt remember`."""
        return {**self.memory.to_dict(), "similar": [offer.to_dict() for offer in self.similar]}


def offers(text: str, source: Source | None, recaller: Recaller, badges: Badges | None = None) -> list[Offer]:
    """Return memories that a new one could be merged with, at most MOST: same lines first, then the nearest in meaning.

    With `badges`, a source that has moved in the vault still counts as the same.
    """
    near = {memory.id: (memory, cosine) for memory, cosine in recaller.near(text, MIN_SIMILARITY, MAX)}
    same: Sequence[Memory] = ()
    if source is not None:
        location = source.path, source.line_start, source.line_end
        same = badges.at(*location) if badges is not None else remembered_at(recaller.store.all().memories, *location)
    offered = [Offer(memory, True, near[memory.id][1] if memory.id in near else 0.0) for memory in same]
    offered_ids = {offer.memory.id for offer in offered}
    offered += [Offer(memory, False, cosine) for memory, cosine in near.values() if memory.id not in offered_ids]
    return offered[:MAX]


def merge_memory(
    memory: Memory, text: str, tags: Sequence[str] = (), why: str = "", source: Source | None = None
) -> Memory:
    """Return `memory` merged with another finding, for `MemoryStore.change`.

    The texts are joined unless one contains the other, tags are united and reasons joined. `memory` keeps its source;
    another source is named below its text.
    """
    if text.strip() in memory.text:
        merged_text, merged_source = memory.text, memory.source or source
    elif memory.text.strip() in text:
        merged_text, merged_source = text, source or memory.source
    else:
        merged_text, merged_source = f"{memory.text.rstrip()}\n\n{text.strip()}", memory.source or source
        if source is not None and memory.source is not None and not remembered_at([memory], *_source_key(source)):
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


def _source_key(source: Source) -> tuple[str, int, int]:
    return source.path, source.line_start, source.line_end
