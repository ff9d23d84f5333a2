"""Notes and names that the notes of a topic link to."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter

import numpy as np
from msgspec import Struct

from excerpt.corpus.facets import NoteLink
from excerpt.corpus.links import has_other_suffix, target_in_label
from excerpt.insight.overview_parts import (
    LinkedName,
    LinkedNote,
    MainNote,
    SourceLocation,
)
from excerpt.insight.topic import Topic, locate_fragment
from excerpt.search.bm25 import Rows

MAX_RELATED_NOTES = 8
MAX_LINKED_NAMES = 8
NOTES_READ_FOR_LINKS = 120
"""The number of best notes about the topic whose links are read for linked names."""
MIN_LINKING_NOTES = 2
"""The least number of notes that must link to a listed name; one is enough in a small topic."""
SMALL_TOPIC_NOTES = 4
"""A topic with fewer notes than this is small."""


def find_linked_notes(topic: Topic, main: Sequence[MainNote]) -> tuple[LinkedNote, ...]:
    """Return the notes that link to the main notes or are linked from them, best first, without the main notes.

    A note's score is its number of links with main notes, in both directions, divided by the logarithm of the number of
    all its links: one of many links is weak evidence (Adamic and Adar, 2003). A note about the topic gets its value for
    the topic (0 to 1) in addition.
    """
    facets, table = topic.snapshot.facets, topic.snapshot.table
    sources, targets = facets.links
    numbers = [facets.numbers[note.place.path] for note in main]
    degrees = np.bincount(sources, minlength=len(table.paths)) + np.bincount(targets, minlength=len(table.paths))
    links_by_note: dict[int, tuple[list[int], list[int]]] = {}
    for number in numbers:
        for other in targets[sources == number].tolist():
            links_by_note.setdefault(other, ([], []))[1].append(number)
        for other in sources[targets == number].tolist():
            links_by_note.setdefault(other, ([], []))[0].append(number)
    for number in numbers:
        links_by_note.pop(number, None)

    def score(other: int) -> float:
        links = sum(map(len, links_by_note[other])) / np.log2(2 + degrees[other])
        return float(links + topic.note_values.get(other, 0.0))

    chosen = sorted(links_by_note, key=lambda other: (-score(other), other))[:MAX_RELATED_NOTES]
    linked: list[LinkedNote] = []
    for other in chosen:
        link_targets, backlinks = ([table.paths[number] for number in some] for some in links_by_note[other])
        linked.append(
            LinkedNote(_locate_note(topic, other), tuple(link_targets), tuple(backlinks), int(topic.counts[other]))
        )
    return tuple(linked)


def _locate_note(topic: Topic, note: int) -> SourceLocation:
    """Return the location of the note's best fragment about the topic, or else of its first fragment."""
    if note in topic.best_row:
        return topic.locate_note(note)
    path = topic.snapshot.table.paths[note]
    first = topic.snapshot.note_fragments(path, 0, 0)
    return locate_fragment(first[0]) if first else SourceLocation(path, topic.snapshot.note_info(path).title, 1, 1)


class _LinkTarget(Struct, frozen=True):
    """A link target in passages about the topic: its spellings, and the number of its note (None for a missing note).

    `lines_by_note` maps the notes that link to it, best first, to the line of the first link.
    """

    spellings: Counter[str]
    note: int | None
    lines_by_note: dict[int, int]


def find_linked_names(topic: Topic, excluded: Sequence[SourceLocation]) -> tuple[LinkedName, ...]:
    """Return the names that passages about a topic link to, the most frequent first.

    Notes about the topic and the notes at the `excluded` locations are left out. What remains are related people,
    places and things.
    """
    facets = topic.snapshot.facets
    notes_read = topic.ranked_notes[:NOTES_READ_FOR_LINKS]
    link_targets_by_key = _collect_link_targets(topic, notes_read)
    left_out = {facets.numbers[location.path] for location in excluded}
    min_notes = MIN_LINKING_NOTES if len(notes_read) >= SMALL_TOPIC_NOTES else 1
    overall = _count_linking_notes(topic, link_targets_by_key)
    chosen = [
        (entry, overall[key])
        for key, entry in link_targets_by_key.items()
        if len(entry.lines_by_note) >= min_notes
        and entry.note not in left_out
        and (entry.note is None or not topic.counts[entry.note])
    ]

    def score(entry: _LinkTarget, everywhere: int) -> float:
        # The number of topic notes that link to the name, times their share of all notes that link to the name.
        return len(entry.lines_by_note) * len(entry.lines_by_note) / max(everywhere, len(entry.lines_by_note))

    chosen.sort(key=lambda pair: (-score(*pair), min(pair[0].spellings)))
    return tuple(
        LinkedName(
            name=_choose_display_name(topic, entry),
            path=None if entry.note is None else topic.snapshot.table.paths[entry.note],
            notes=len(entry.lines_by_note),
            overall=max(everywhere, len(entry.lines_by_note)),
            place=_locate_line(topic, *next(iter(entry.lines_by_note.items()))),
        )
        for entry, everywhere in chosen[:MAX_LINKED_NAMES]
    )


def _collect_link_targets(topic: Topic, notes: Sequence[int]) -> dict[int | str, _LinkTarget]:
    """Return the link targets in passages about the topic in `notes`.

    The key is the number of the target's note or, if the note is missing, the case-folded name.
    """
    facets = topic.snapshot.facets
    titles: dict[int | str, Counter[str]] = {}
    lines_by_note: dict[int | str, dict[int, int]] = {}
    links: dict[int, list[NoteLink]] = {}
    # The target of a link depends only on the folder and the text, and most links occur many times.
    resolved_links: dict[tuple[str, str, str], int | None] = {}
    paths = topic.snapshot.table.paths
    for link in facets.written_links(np.array(notes, np.int32)):
        links.setdefault(link.note, []).append(link)
    spans = _list_topic_line_ranges(topic, notes)
    for note in notes:
        for link in links.get(note, ()):
            if not _is_in_line_ranges(link.line, spans[note]):
                continue
            link_key = (posixpath.dirname(paths[note]), link.target, target_in_label(link.text))
            if link_key not in resolved_links:
                resolved_links[link_key] = facets.resolve_link(link)
            target = resolved_links[link_key]
            if target == note or (target is None and not _can_be_name(link.target)):
                continue
            key: int | str = _strip_folder_and_suffix(link.target).casefold() if target is None else target
            titles.setdefault(key, Counter())[_strip_folder_and_suffix(link.target)] += 1
            lines_by_note.setdefault(key, {}).setdefault(note, link.line)
    return {
        key: _LinkTarget(titles[key], key if isinstance(key, int) else None, lines_by_note[key])
        for key in lines_by_note
    }


def _choose_display_name(topic: Topic, entry: _LinkTarget) -> str:
    """Return the title of the target's note or, if the note is missing, the commonest spelling of the name."""
    if entry.note is not None:
        return topic.snapshot.note_info(topic.snapshot.table.paths[entry.note]).title
    return min(entry.spellings, key=lambda name: (-entry.spellings[name], name))


def _count_linking_notes(topic: Topic, link_targets_by_key: dict[int | str, _LinkTarget]) -> dict[int | str, int]:
    """Return, for each link target, the number of notes of the vault that link to its note.

    If the note is missing, only notes about the topic are counted.
    """
    _, targets = topic.snapshot.facets.links
    counts = np.bincount(targets, minlength=len(topic.snapshot.table.paths))
    return {
        key: len(entry.lines_by_note) if entry.note is None else int(counts[entry.note])
        for key, entry in link_targets_by_key.items()
    }


def _list_topic_line_ranges(topic: Topic, notes: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Return, for each of `notes`, the line ranges (end exclusive) of its fragments about the topic, ascending."""
    lines, of_note = topic.snapshot.table.lines, topic.snapshot.table.notes
    spans: dict[int, list[tuple[int, int]]] = {}
    for row in topic.rows[np.isin(topic.notes, notes)].tolist():
        spans.setdefault(int(of_note[row]), []).append((int(lines[row]), _find_next_line(row, lines, of_note)))
    return spans


def _find_next_line(row: int, lines: Rows, notes: Rows) -> int:
    """Return the first line of the note's next fragment after `row`; for the last fragment, 2³¹."""
    after = row + 1
    return int(lines[after]) if after < len(lines) and notes[after] == notes[row] else 1 << 31


def _is_in_line_ranges(line: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether `line` is in one of `spans`, which are line ranges (end exclusive), ascending."""
    at = bisect_right(spans, line, key=itemgetter(0)) - 1
    return at >= 0 and line < spans[at][1]


def _locate_line(topic: Topic, note: int, line: int) -> SourceLocation:
    path = topic.snapshot.table.paths[note]
    return SourceLocation(path, topic.snapshot.note_info(path).title, line, line)


def _strip_folder_and_suffix(target: str) -> str:
    """Return the link target `target` without its folder and the suffix .md."""
    return posixpath.basename(target.rstrip("/")).removesuffix(".md")


def _can_be_name(target: str) -> bool:
    """Return whether the target of an unresolved link can be a name: not a file such as a picture, and no path."""
    return "/" not in target and not has_other_suffix(target)
