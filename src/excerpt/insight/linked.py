"""What links join to a topic: notes around its main notes, and people and things that its passages name."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from excerpt.index.facets import WrittenLink
from excerpt.index.links import names_other_file
from excerpt.insight.overview_parts import LinkedName, MainNote, Place, RelatedNote
from excerpt.insight.topic import Topic, place_of
from excerpt.search.lexical import Rows

RELATED = 8
NAMES = 8
LOOKED_INTO = 120
"""Notes whose links are read for names, the best ones."""
LEAST_NAMED = 2
"""Notes that must name a thing for it to be one of the topic's; in a topic of few notes, one is enough."""
FEW_NOTES = 4


def related_notes(topic: Topic, main: Sequence[MainNote]) -> tuple[RelatedNote, ...]:
    """Notes that the main notes link to or are linked from, best first.

    Each main note that a note is joined to counts, twice if both link; a note that says something on the topic itself
    goes before one that does not. What has many links says little by one of them (Adamic and Adar, 2003): a count is
    divided by the logarithm of all links that a note has.
    """
    facets, table = topic.snapshot.facets, topic.snapshot.table
    sources, targets = facets.links
    numbers = [facets.numbers[note.place.path] for note in main]
    degrees = np.bincount(sources, minlength=len(table.paths)) + np.bincount(targets, minlength=len(table.paths))
    joined: dict[int, tuple[list[int], list[int]]] = {}
    for number in numbers:
        for other in targets[sources == number].tolist():
            joined.setdefault(other, ([], []))[1].append(number)
        for other in sources[targets == number].tolist():
            joined.setdefault(other, ([], []))[0].append(number)
    for number in numbers:
        joined.pop(number, None)

    def worth(other: int) -> float:
        links = sum(map(len, joined[other])) / np.log2(2 + degrees[other])
        return float(links + topic.note_worths.get(other, 0.0))

    chosen = sorted(joined, key=lambda other: (-worth(other), other))[:RELATED]
    found: list[RelatedNote] = []
    for other in chosen:
        to, by = ([table.paths[number] for number in some] for some in joined[other])
        found.append(RelatedNote(_place_of_note(topic, other), tuple(to), tuple(by), int(topic.counts[other])))
    return tuple(found)


def _place_of_note(topic: Topic, note: int) -> Place:
    """The best fragment of a note about the topic; of another, its first."""
    if note in topic.best_row:
        return topic.note_place(note)
    path = topic.snapshot.table.paths[note]
    first = topic.snapshot.note_fragments(path, 0, 0)
    return place_of(first[0]) if first else Place(path, topic.snapshot.note_info(path).title, 1, 1)


# --- names ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Named:
    """A name as it is written, the note it is of (None: none), and the notes that name it in passages about the topic,
    best first, with the first line in each."""

    written: Counter[str]
    note: int | None
    where: dict[int, int]


def linked_names(topic: Topic, without: Sequence[Place]) -> tuple[LinkedName, ...]:
    """What passages about a topic link to by name, the most named first, but for the notes `without` and what is about
    the topic itself: people, places and things that it has to do with."""
    facets = topic.snapshot.facets
    looked_into = topic.note_order[:LOOKED_INTO]
    named = _named(topic, looked_into)
    left_out = {facets.numbers[place.path] for place in without}
    least = LEAST_NAMED if len(looked_into) >= FEW_NOTES else 1
    overall = _overall(topic, named)
    chosen = [
        (one, overall[key])
        for key, one in named.items()
        if len(one.where) >= least and one.note not in left_out and (one.note is None or not topic.counts[one.note])
    ]

    def worth(one: _Named, everywhere: int) -> float:
        # As often here as anywhere is worth most; of equals, what is named more often.
        return len(one.where) * len(one.where) / max(everywhere, len(one.where))

    chosen.sort(key=lambda pair: (-worth(*pair), min(pair[0].written)))
    return tuple(
        LinkedName(
            name=_name(topic, one),
            path=None if one.note is None else topic.snapshot.table.paths[one.note],
            notes=len(one.where),
            overall=max(everywhere, len(one.where)),
            place=_place_of_line(topic, *next(iter(one.where.items()))),
        )
        for one, everywhere in chosen[:NAMES]
    )


def _named(topic: Topic, notes: Sequence[int]) -> dict[int | str, _Named]:
    """By the note that is meant or, without one, by the folded name."""
    facets = topic.snapshot.facets
    titles: dict[int | str, Counter[str]] = {}
    where: dict[int | str, dict[int, int]] = {}
    links: dict[int, list[WrittenLink]] = {}
    # Which note is meant depends on the folder alone, and most links are written many times.
    known: dict[tuple[str, str], int | None] = {}
    paths = topic.snapshot.table.paths
    for link in facets.written_links(np.array(notes, np.int32)):
        links.setdefault(link.note, []).append(link)
    spans = _spans(topic, notes)
    for note in notes:
        for link in links.get(note, ()):
            if not _is_in(link.line, spans[note]):
                continue
            meant = (posixpath.dirname(paths[note]), link.target)
            if meant not in known:
                known[meant] = facets.target_of(link)
            target = known[meant]
            if target == note or (target is None and not _is_name(link.target)):
                continue
            key: int | str = _bare(link.target).casefold() if target is None else target
            titles.setdefault(key, Counter())[_bare(link.target)] += 1
            where.setdefault(key, {}).setdefault(note, link.line)
    return {key: _Named(titles[key], key if isinstance(key, int) else None, where[key]) for key in where}


def _name(topic: Topic, one: _Named) -> str:
    """The title of the note that is named, or else the name as it is written most often."""
    if one.note is not None:
        return topic.snapshot.note_info(topic.snapshot.table.paths[one.note]).title
    return min(one.written, key=lambda name: (-one.written[name], name))


def _overall(topic: Topic, named: dict[int | str, _Named]) -> dict[int | str, int]:
    """How many notes of the vault link to each note; of a name without one, those that name it here."""
    _, targets = topic.snapshot.facets.links
    counts = np.bincount(targets, minlength=len(topic.snapshot.table.paths))
    return {key: len(one.where) if one.note is None else int(counts[one.note]) for key, one in named.items()}


def _spans(topic: Topic, notes: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """For each of the notes, ascending, the first line of each fragment about the topic and the first behind it."""
    lines, of_note = topic.snapshot.table.lines, topic.snapshot.table.notes
    spans: dict[int, list[tuple[int, int]]] = {}
    for row in topic.rows[np.isin(topic.notes, notes)].tolist():
        spans.setdefault(int(of_note[row]), []).append((int(lines[row]), _next_line(row, lines, of_note)))
    return spans


def _next_line(row: int, lines: Rows, notes: Rows) -> int:
    """The first line of the fragment behind the one in `row`; where it is the note's last, a line behind all."""
    after = row + 1
    return int(lines[after]) if after < len(lines) and notes[after] == notes[row] else 1 << 31


def _is_in(line: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a line is in one of the spans, which ascend."""
    at = bisect_right(spans, line, key=itemgetter(0)) - 1
    return at >= 0 and line < spans[at][1]


def _place_of_line(topic: Topic, note: int, line: int) -> Place:
    path = topic.snapshot.table.paths[note]
    return Place(path, topic.snapshot.note_info(path).title, line, line)


def _bare(target: str) -> str:
    """A target without folder and suffix, as one would say it."""
    return posixpath.basename(target.rstrip("/")).removesuffix(".md")


def _is_name(target: str) -> bool:
    """Whether a target that is no note may be the name of something: not a picture, and no path to a missing file."""
    return "/" not in target and not names_other_file(target)
