"""Memories found by words, meaning, tags, source and date, ranked by the engine that ranks fragments.

The folder of memories is indexed as a small vault of its own, in the cache; a memory is a note of it. The files stay
the truth: they are looked at before each recall, what changed is indexed first, and a memory that the index does not
have, for whatever reason, is found by its words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from excerpt.errors import ExcerptError, MemoryUnusableError
from excerpt.index.build import Updater
from excerpt.index.snapshot import Snapshot
from excerpt.kinds import Confidence
from excerpt.memory.files import normalise_tags
from excerpt.memory.store import TRASH, Contents, MemoryStore
from excerpt.model import Hit, Memory, Span
from excerpt.search.engine import Engine, Ranking
from excerpt.search.evidence import POOL
from excerpt.search.fusion import SIGNALS
from excerpt.settings import BoostSettings, Settings, VaultSettings
from excerpt.text.dates import period_of
from excerpt.text.folding import fold

NEAR_IN_MEANING = 0.45
"""The cosine from which a memory without the words that were asked for is recalled all the same
(docs/design/memory.md)."""

_PATIENCE = 1.0  # seconds to wait for another process that indexes the memories, before words alone are looked for
_MOST_COMPARED = 20
_NEAREST = 5  # memories told of where none answers


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that was found. `spans` are what matched, in its text; `confidence` is None where nothing was asked that
    could be answered, and where words alone were looked for. Where no memory `answers`, those that have a word of the
    query are told of."""

    memory: Memory
    score: float = 0.0
    confidence: Confidence | None = None
    spans: tuple[Span, ...] = ()
    answers: bool = True


@dataclass(frozen=True, slots=True)
class _Index:
    """The engine on an index of the memories, and the memory of each of its notes, None where it is none."""

    engine: Engine
    files: Mapping[str, Any]
    notes: tuple[Memory | None, ...]
    known: frozenset[str]


class Recaller:
    """Recalls the memories in `folder` with an index in `cache`. Usable from one thread at a time."""

    def __init__(self, folder: Path, cache: Path, settings: Settings, today: Callable[[], date] = date.today) -> None:
        self.store = MemoryStore(folder)
        self.unranked = ""
        """Why the last recall was by words alone; "" if it was not."""
        self._cache = cache
        self._settings = settings_for(settings)
        self._today = today
        self._updater = Updater(folder, cache, self._settings)
        self._index: _Index | None = None
        self._all: tuple[Contents, list[Recalled]] | None = None

    def close(self) -> None:
        """Let go of the index."""
        self._updater.close()
        index, self._index = self._index, None
        if index is not None:
            index.engine.snapshot.close()

    def recall(
        self, query: str = "", tags: Sequence[str] = (), source: str = "", since: str = "", limit: int | None = None
    ) -> list[Recalled]:
        """Memories that answer `query`, best first, or without one all of them, newest first; of those, the ones with
        all `tags`, from the note or folder `source`, and remembered `since` a day (as `created:` takes it).

        `limit` defaults to the settings' where there is a query, and to no limit where there is none. Raises
        MemoryUnusableError if the folder cannot be read or `since` is no date.
        """
        self.unranked = ""
        contents = self.store.contents()
        memories = contents.found.memories
        if tags or source or since:
            memories = tuple(filter(self._wanted(tags, source, since), memories))
        if not query.strip():
            return self._listed(contents)[:limit] if memories is contents.found.memories else _listed(memories[:limit])
        if not memories:
            return []
        limit = self._settings.search.limit if limit is None else limit
        try:
            index = self._caught_up(contents)
            among = None if len(memories) == len(contents.found.memories) else {memory.id for memory in memories}
            found, known = _ranked(index, query, self._settings, among, limit), index.known
        except ExcerptError as error:
            self.unranked = str(error)
            found, known = [], frozenset()
        unknown = [memory for memory in memories if memory.id not in known] if len(known) < len(contents.ids) else []
        by_words = _listed(contents.with_words(query, unknown)) if unknown else []
        return (found + by_words)[:limit]

    def near(self, text: str, least: float, most: int = 3) -> list[tuple[Memory, float]]:
        """The memories whose text is nearest to `text` in meaning, from a cosine of `least` on, with that; none where
        meaning cannot be asked (`unranked` then says why)."""
        self.unranked = ""
        contents = self.store.contents()
        if not text.strip() or not contents.ids:
            return []
        try:
            return _nearest(self._caught_up(contents), text, least)[:most]
        except ExcerptError as error:
            self.unranked = str(error)
            return []

    def _listed(self, contents: Contents) -> list[Recalled]:
        """All memories; made once, as ten thousand new objects make Python look for garbage among all there are."""
        if self._all is None or self._all[0] is not contents:
            self._all = contents, _listed(contents.found.memories)
        return self._all[1]

    def _wanted(self, tags: Sequence[str], source: str, since: str) -> Callable[[Memory], bool]:
        asked, place = set(normalise_tags(tags)), fold(source.strip().removeprefix("./").rstrip("/"))
        begin = _first_moment(since, self._today()) if since else ""
        return lambda memory: (
            asked <= set(memory.tags)
            and memory.created >= begin
            and (not place or (memory.source is not None and _is_from(fold(memory.source.path), place)))
        )

    # --- the index ----------------------------------------------------------------------------------------------------

    def _caught_up(self, contents: Contents) -> _Index:
        """The index with all that the folder has. Raises ExcerptError where that cannot be."""
        index = self._index
        if index is not None and index.files is contents.files:
            return index
        known = {} if index is None else index.files
        changed = [name for name, kept in contents.files.items() if known.get(name) is not kept]
        changed += [name for name in known if name not in contents.files]
        self._updater.update(None if index is None else changed, accept_empty=True, wait=_PATIENCE)
        self._index = index = self._opened(contents)
        return index

    def _opened(self, contents: Contents) -> _Index:
        before = self._index.engine if self._index is not None else None
        if before is not None and Snapshot.current_generation(self._cache) == before.snapshot.generation:
            engine = before
        else:
            self._index = None
            newest = Snapshot.open(self._cache, self._settings, before=before.snapshot if before else None)
            if before is not None:
                before.snapshot.close()
            engine = Engine(newest, self._settings, today=self._today)
        table = engine.snapshot.table
        notes = tuple(map(contents.named.get, table.paths))
        has_text = (table.first_keys >= 0).tolist()
        known = frozenset(memory.id for memory, has in zip(notes, has_text, strict=True) if memory and has)
        return _Index(engine, contents.files, notes, known)


def settings_for(settings: Settings) -> Settings:
    """The settings that memories are indexed and searched with: a note of theirs is a file that the store takes for a
    memory, and nothing but the query says which is first."""
    return replace(
        settings,
        vault=VaultSettings(extensions=(".md",), exclude=("!*", f"/{TRASH}/"), language=settings.vault.language),
        search=replace(settings.search, per_note=0, boosts=BoostSettings(links=False, recency=False, use=False)),
    )


# --- what is found ----------------------------------------------------------------------------------------------------


def _listed(memories: Sequence[Memory]) -> list[Recalled]:
    return [Recalled(memory) for memory in memories]


def _ranked(index: _Index, query: str, settings: Settings, among: Collection[str] | None, limit: int) -> list[Recalled]:
    """The memories that answer, each by its best fragment; of filters alone, the newest first."""
    engine = index.engine
    table = engine.snapshot.table
    queries = engine.parse(query)
    wanted = queries[0].strategy or settings.search.strategy
    # What is ranked is cut to `among` afterwards: then all has to be ranked.
    pool = max(POOL, limit) if among is None else len(table.keys)
    ranking = engine.ranking([engine.answer(one, wanted, pool) for one in queries])
    chosen: list[int] = []
    memories: list[Memory] = []
    nearest: list[tuple[int, Memory]] = []
    seen: set[int] = set()
    listed = all(answer.judgement is None for answer in ranking.answers)
    for at, note in enumerate(table.notes[ranking.rows].tolist()):
        memory = index.notes[note]
        if note in seen or memory is None or (among is not None and memory.id not in among):
            continue
        seen.add(note)
        if _answers(ranking, at):
            chosen.append(at)
            memories.append(memory)
            if len(chosen) == limit and not listed:
                break
        elif len(nearest) < _NEAREST and _has_a_word(ranking, at):
            nearest.append((at, memory))
    answered = bool(chosen)
    if not answered:
        chosen, memories = [at for at, _ in nearest], [memory for _, memory in nearest]
    if listed:
        newest = sorted(memories, key=lambda memory: memory.created, reverse=True)[:limit]
        return [Recalled(memory) for memory in newest]
    hits = engine.hits(_part(ranking, np.array(chosen, np.intp)), 0, limit)
    return [
        Recalled(memory, hit.score, hit.confidence, _spans_in(memory.text, hit), answered)
        for memory, hit in zip(memories, hits, strict=True)
    ]


def _answers(ranking: Ranking, at: int) -> bool:
    """Whether a fragment says something of what was asked, by its words or by its meaning: the engine puts forward all
    that is a little nearer than the rest."""
    answer, place = ranking.answers[ranking.which[at]], int(ranking.places[at])
    if answer.judgement is None or answer.judgement.word(place) is not Confidence.NOTHING:
        return True
    return float(answer.evidence.similarities[ranking.rows[at]]) >= NEAR_IN_MEANING


def _has_a_word(ranking: Ranking, at: int) -> bool:
    answer, place = ranking.answers[ranking.which[at]], int(ranking.places[at])
    return bool(answer.scored.values[place, SIGNALS.index("words")] > 0)


def _part(ranking: Ranking, at: npt.NDArray[np.intp]) -> Ranking:
    return Ranking(ranking.answers, ranking.rows[at], ranking.scores[at], ranking.which[at], ranking.places[at])


def _spans_in(text: str, hit: Hit) -> tuple[Span, ...]:
    """The hit's spans as they stand in the memory's text, which the fragment is a part of."""
    begin = text.find(hit.fragment.text)
    return tuple(Span(span.start + begin, span.end + begin) for span in hit.spans) if begin >= 0 else ()


def _nearest(index: _Index, text: str, least: float) -> list[tuple[Memory, float]]:
    snapshot = index.engine.snapshot
    embedder = snapshot.embedder
    similarities = snapshot.vectors.similarities(embedder.embed([text])[0])
    # The vectors of the index are of parts, under the name of a file: they say whom to compare, not how near.
    best = np.argsort(-similarities, kind="stable")[:_MOST_COMPARED]
    notes = dict.fromkeys(snapshot.table.notes[best].tolist())
    memories = [memory for note in notes if (memory := index.notes[note]) is not None]
    vectors = embedder.embed([text, *(memory.text for memory in memories)])
    cosines = (vectors[1:] @ vectors[0]).tolist()
    found = [(memory, cosine) for memory, cosine in zip(memories, cosines, strict=True) if cosine >= least]
    return sorted(found, key=lambda pair: -pair[1])


# --- what is asked beside words ---------------------------------------------------------------------------------------


def _first_moment(since: str, today: date) -> str:
    """When a day or period begins for the reader, as memories write it."""
    period = period_of(f">={since}", today)
    if period is None:
        hint = "Give a day as 2025-03-01 or 2025-03, or how long ago as 7d, 2w, 3m, 1y."
        raise MemoryUnusableError(f"{since!r} is no date.", hint)
    with suppress(OverflowError, OSError, ValueError):  # before what this system's clock knows
        return datetime.combine(period[0], time.min).astimezone(UTC).isoformat(timespec="milliseconds")[:-6]
    return ""


def _is_from(path: str, place: str) -> bool:
    """Whether a folded path is that of a note, called as links call it, or lies in a folder."""
    return path.startswith(f"{place}/") or place in (
        path,
        path.rpartition(".")[0],
        PurePosixPath(path).name,
        PurePosixPath(path).stem,
    )
