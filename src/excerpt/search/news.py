"""What is new in the answers to saved queries: passages that the user has not seen, or that have changed since.

Which passages were seen is in a file of its own, so that older versions can write the saved queries. The file holds
ids and digests but no text, and may be deleted: the next look then counts from that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from excerpt.base.errors import SavedQueriesError
from excerpt.base.kinds import Confidence
from excerpt.base.model import Fragment, Hit
from excerpt.base.state_files import exclusive_lock, read_value, write_value
from excerpt.corpus.interface import Corpus
from excerpt.search.engine import Engine
from excerpt.search.results import QueryNews
from excerpt.search.saved_queries import SavedQuery

NEWS_HITS = 50
"""The first hits among which new passages are reported."""
SEEN_HITS = 150
"""The first hits that count as seen: more than are reported, so that a hit that rises a little is no news."""


class SeenPassage(Struct, frozen=True):
    """A fragment that the user has seen: its id, a digest of its text, and a digest of its path and headings."""

    id: str
    digest: str
    place: str


class SeenHits(Struct, frozen=True):
    """The passages that a query had found when the user looked last, at `time` (ISO 8601, UTC)."""

    query: str
    time: str
    passages: tuple[SeenPassage, ...]


class _SeenFile(Struct, frozen=True):
    queries: tuple[SeenHits, ...] = ()


def find_news(engine: Engine, saved: SavedQuery, file: Path) -> QueryNews:
    """Return the new and changed passages in the answer to a saved query; `file` has the passages that were seen."""
    return _find_new_hits(
        engine.snapshot, saved, engine.find_hits(saved.query, SEEN_HITS), _read_seen(file).get(saved.query)
    )


def mark_seen(engine: Engine, query: str, file: Path) -> None:
    """Record the hits of a query in `file` as seen. Raises SavedQueriesError if it cannot be written."""
    _write_seen(file, [_record_seen_hits(query, engine.find_hits(query, SEEN_HITS))])


def collect_news(engine: Engine, saved: Sequence[SavedQuery], file: Path, *, seen: bool) -> tuple[QueryNews, ...]:
    """Return the new and changed passages in the answers to saved queries.

    With `seen`, all hits are then recorded in `file` as seen; otherwise only the hits of queries without a record are
    recorded, so that their news count from now on. Raises SavedQueriesError if `file` cannot be written.
    """
    before = _read_seen(file)
    news: list[QueryNews] = []
    marked: list[SeenHits] = []
    for each in saved:
        hits = engine.find_hits(each.query, SEEN_HITS)
        news.append(_find_new_hits(engine.snapshot, each, hits, before.get(each.query)))
        if seen or each.query not in before:
            marked.append(_record_seen_hits(each.query, hits))
    if marked:
        _write_seen(file, marked)
    return tuple(news)


def _find_new_hits(corpus: Corpus, saved: SavedQuery, hits: Sequence[Hit], seen: SeenHits | None) -> QueryNews:
    if seen is None:
        return QueryNews(saved.name, saved.query)
    ids = {passage.id for passage in seen.passages}
    new: list[Hit] = []
    changed: list[Hit] = []
    for hit in hits[:NEWS_HITS]:
        fragment, place = hit.fragment, _place_digest(hit.fragment)
        if fragment.id in ids or hit.confidence is Confidence.NOTHING:
            continue
        gone = [
            passage
            for passage in seen.passages
            if (passage.place == place or passage.digest == fragment.digest) and corpus.fragment(passage.id) is None
        ]
        if any(passage.digest == fragment.digest for passage in gone):
            continue  # the text has only moved
        (changed if gone else new).append(hit)
    return QueryNews(saved.name, saved.query, seen.time, tuple(new), tuple(changed))


def _record_seen_hits(query: str, hits: Sequence[Hit]) -> SeenHits:
    time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    fragments = (hit.fragment for hit in hits)
    return SeenHits(query, time, tuple(SeenPassage(each.id, each.digest, _place_digest(each)) for each in fragments))


def _place_digest(fragment: Fragment) -> str:
    """Return a digest of where a fragment is: its path, its headings, and its place in an attachment."""
    place = "\0".join((fragment.path, *fragment.heading_path, fragment.place))
    return blake2b(place.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _read_seen(file: Path) -> dict[str, SeenHits]:
    return {each.query: each for each in read_value(file, _SeenFile, _SeenFile()).queries}


def _write_seen(file: Path, marked: Sequence[SeenHits]) -> None:
    try:
        with exclusive_lock(file):
            write_value(file, _SeenFile(tuple((_read_seen(file) | {each.query: each for each in marked}).values())))
    except OSError as error:
        raise SavedQueriesError(
            f"{file} cannot be written: {error.strerror or error}.", "The passages are still listed as new."
        ) from error
