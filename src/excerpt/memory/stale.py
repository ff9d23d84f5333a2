"""Comparison of a memory with its source."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from rapidfuzz import fuzz, process

from excerpt.base.errors import MemoryUnusableError
from excerpt.base.model import Memory, Source
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import Corpus
from excerpt.memory.joined_store import JoinedMemoryStore
from excerpt.memory.memory_file import replace_shown_text, without_comments
from excerpt.memory.results import SourceCheck, SourceStatus
from excerpt.text.display import format_count
from excerpt.text.fragments import count_words, digest_of_text
from excerpt.text.relocate import clamp_lines, find_replacement, locate_lines

# Whether the source of a memory is unchanged, moved, changed, or gone.
#
# The result is a value that a screen can show. The functions for the user's decisions (`update_source_location`,
# `replace_text_with_source`, `confirm_text`) change only what was decided in the memory's current file.

_MIN_SEARCHED_WORDS = 3
"""The least number of words of a memory's text for which other notes are searched."""
_MAX_SEARCHED_FRAGMENTS = 50
_MIN_LINE_SIMILARITY = 50.0
"""The least similarity (rapidfuzz ratio, percent) of a line and its changed form.

Two unrelated lines of one note have 25 to 40 percent.
"""


def check_source(memory: Memory, snapshot: Corpus, *, elsewhere: bool = True) -> SourceCheck:
    """Return the state of the source of `memory` according to `snapshot`, the index of the vault.

    The source's note is looked up by its path and by the path to which it was moved. With `elsewhere`, other notes with
    the same text are searched too, which reads all texts once (some 50 ms for 100,000 fragments).
    """
    source = memory.source
    if source is None:
        return SourceCheck(SourceStatus.NONE, memory)
    path, note = _load_note(source.path, snapshot)
    if path is not None and (new_span := _find_source_lines(memory, source, path, note)):
        return _describe_found_source(memory, snapshot, path, note, new_span)
    if elsewhere and _is_verbatim(memory, source) and count_words(memory.text) >= _MIN_SEARCHED_WORDS:
        for path_with_text in _find_notes_with(memory.text, snapshot):
            _, text = _load_note(path_with_text, snapshot)
            if new_span := _find_source_lines(memory, source, path_with_text, text):
                return _describe_found_source(memory, snapshot, path_with_text, text, new_span)
    span = _find_replacement_lines(memory, source, note) if path is not None else None
    if path is None or span is None:
        return SourceCheck(SourceStatus.GONE, memory, is_seen=not source.digest)
    return SourceCheck(
        SourceStatus.CHANGED, memory, _build_found_source(snapshot, path, note, span), _join_lines(note, span)
    )


def update_source_location(store: JoinedMemoryStore, check: SourceCheck) -> Memory:
    """Record the present location of the memory's moved source, and return the memory; its text stays.

    Does nothing unless `check` has found the source moved. Raises MemoryUnusableError if the memory is gone or has
    changed since `check`.
    """
    if check.kind is not SourceStatus.MOVED:
        return store.get(check.memory.id)
    return _apply_decision(store, check, lambda memory: replace(memory, source=check.source))


def replace_text_with_source(store: JoinedMemoryStore, check: SourceCheck) -> Memory:
    """Replace the memory's text by the present text of its changed source, and return the memory.

    Comments in the memory's text are kept below the new text. Does nothing unless `check` has found the source changed.
    Raises MemoryUnusableError if the memory is gone or has changed since `check`.
    """
    if check.kind is not SourceStatus.CHANGED:
        return store.get(check.memory.id)
    return _apply_decision(
        store, check, lambda memory: replace(replace_shown_text(memory, check.now), source=check.source)
    )


def confirm_text(store: JoinedMemoryStore, check: SourceCheck) -> Memory:
    """Keep the memory's text although its source changed or is gone, and return the memory.

    The present state of the source is recorded, so that the memory is stale again only after another change. For a
    source that is gone, the digest is removed. Raises MemoryUnusableError if the memory is gone or has changed since
    `check`.
    """
    if check.kind not in (SourceStatus.CHANGED, SourceStatus.GONE):
        return store.get(check.memory.id)
    return _apply_decision(
        store, check, lambda memory: replace(memory, source=check.source or _without_digest(memory.source))
    )


def _apply_decision(store: JoinedMemoryStore, check: SourceCheck, decision: Callable[[Memory], Memory]) -> Memory:
    def apply_if_unchanged(memory: Memory) -> Memory:
        before, now = without_comments(check.memory), without_comments(memory)
        if (now.source, now.text) != (before.source, before.text):
            raise MemoryUnusableError(f"Memory {memory.id} was changed in the meantime.", "Check its source again.")
        return decision(memory)

    return store.change(check.memory.id, apply_if_unchanged)


def _without_digest(source: Source | None) -> Source | None:
    return source and replace(source, digest="")


def _load_note(path: str, snapshot: Corpus) -> tuple[str | None, list[str]]:
    """Return the present path and the lines of the note that was at `path`; None and [] if it is gone."""
    for name in (path, snapshot.current_path(path)):
        try:
            if name is not None:
                return name, snapshot.note_text(name).split("\n")
        except KeyError:
            continue
    return None, []


def _is_verbatim(memory: Memory, source: Source) -> bool:
    return not source.digest or digest_of_text(memory.text) == source.digest


def _find_source_lines(memory: Memory, source: Source, path: str, note: Sequence[str]) -> tuple[int, int] | None:
    """Return the first and last line (1-based) of the source's text in `note`, the lines of the note at `path`.

    If the note has the text several times, the lines nearest to the source's former lines are returned; None if the
    note does not have the text.
    """
    count = max(source.line_end - source.line_start + 1, 1)
    if _is_verbatim(memory, source):
        lines = memory.text.split("\n")
        if at := locate_lines(lines, note, source.line_start):
            return at, at + len(lines) - 1
        # A source set by hand has a path and no text: it is fresh as long as the note exists.
        return None if source.digest or path != source.path else clamp_lines(count, note, source.line_start)
    starts = sorted(range(len(note) - count + 1), key=lambda at: abs(at + 1 - source.line_start))
    same = (at for at in starts if digest_of_text("\n".join(note[at : at + count])) == source.digest)
    span = next(same, None)
    return None if span is None else (span + 1, span + count)


def _find_notes_with(text: str, snapshot: Corpus) -> list[str]:
    longest = max(text.split("\n"), key=len)
    keys = [key for key, _ in snapshot.facets.find_texts_with(longest)][:_MAX_SEARCHED_FRAGMENTS]
    return sorted({fragment.path for fragment in snapshot.fragments(keys)})


def _find_replacement_lines(memory: Memory, source: Source, note: Sequence[str]) -> tuple[int, int] | None:
    """Return the first and last line (1-based) of `note` that replaced the source's lines; None if none did.

    If the memory's text is the user's own and not the source's, it cannot be searched for; then the source's former
    line numbers are returned.
    """
    if not _is_verbatim(memory, source):
        return clamp_lines(source.line_end - source.line_start + 1, note, source.line_start)
    lines = memory.text.split("\n")
    if span := find_replacement(lines, note, source.line_start):
        return span
    at = max(range(len(lines)), key=lambda number: len(lines[number]))
    like = process.extractOne(lines[at], note, scorer=fuzz.ratio, score_cutoff=_MIN_LINE_SIMILARITY)
    return clamp_lines(len(lines), note, like[2] + 1 - at) if like else None


def _describe_found_source(
    memory: Memory, snapshot: Corpus, path: str, note: Sequence[str], span: tuple[int, int]
) -> SourceCheck:
    """Return the state, fresh or moved, of a memory whose source's text is now at lines `span` of the note `path`."""
    source = memory.source
    assert source is not None
    is_there = (path, *span) == (source.path, source.line_start, source.line_end) or not source.line_start
    # A page stays the same, even if the text of earlier pages has more or fewer lines.
    if is_there or (path == source.path and source.place and snapshot.place(path, *span) == source.place):
        return SourceCheck(SourceStatus.FRESH, memory, source, _join_lines(note, span))
    return SourceCheck(
        SourceStatus.MOVED, memory, _build_found_source(snapshot, path, note, span), _join_lines(note, span)
    )


def _build_found_source(snapshot: Corpus, path: str, note: Sequence[str], span: tuple[int, int]) -> Source:
    return build_source(snapshot, path, *span, _join_lines(note, span))


def _join_lines(note: Sequence[str], span: tuple[int, int]) -> str:
    return "\n".join(note[span[0] - 1 : span[1]])


def build_source(snapshot: Corpus, path: str, line_start: int, line_end: int, text: str) -> Source:
    """Return the source to record in a memory for lines of the note `path`; `text` is the text of these lines."""
    under = [section for section in snapshot.sections(path) if section.line_start <= line_start]
    headings, location = under[-1].heading_path if under else (), snapshot.place(path, line_start, line_end)
    return Source(path, line_start, line_end, digest_of_text(text), headings, location)


_NOTE_AND_LINES = lazy_pattern(r"(?P<note>.+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)


def source_from_fragment(snapshot: Corpus, fragment_id: str) -> tuple[Source, str]:
    """Return the source and text of the fragment with this id. Raises MemoryUnusableError if there is none."""
    fragment = snapshot.fragment(fragment_id)
    if fragment is None:
        hint = "Take an id (fragment_id) from `excerpt search --json`. Changed text gets a new id."
        raise MemoryUnusableError(f"There is no fragment {fragment_id or repr(fragment_id)}.", hint)
    source = Source(
        fragment.path, fragment.line_start, fragment.line_end, fragment.digest, fragment.heading_path, fragment.place
    )
    return source, fragment.text


def source_from_lines(snapshot: Corpus, location: str) -> tuple[Source, str]:
    """Return the source and text of `location`: `NOTE:A-B`, `NOTE:A` or, for the whole note, `NOTE`.

    NOTE is a path, title or alias. The text is taken from the index, not from the file. Raises MemoryUnusableError if
    there is no such note or the note has no such lines.
    """
    path, first, last = _find_note(snapshot, location), 1, None
    if path is None and (match := _NOTE_AND_LINES.fullmatch(location)):
        path, first, last = (
            _find_note(snapshot, match["note"]),
            int(match["first"]),
            int(match["last"] or match["first"]),
        )
    if path is None:
        raise MemoryUnusableError(
            f"There is no note {location or repr(location)}.",
            "Name the note by its path, title or alias, as in NOTE:12-18.",
        )
    lines = snapshot.note_text(path).rstrip("\n").split("\n")
    last = len(lines) if last is None else min(last, len(lines))
    if not 1 <= first <= last:
        raise MemoryUnusableError(f"{location} is outside of the note: {path} has {format_count(len(lines), 'line')}.")
    text = "\n".join(lines[first - 1 : last])
    return build_source(snapshot, path, first, last, text), text


def _find_note(snapshot: Corpus, name: str) -> str | None:
    named = snapshot.facets.find_targets(name.strip()).tolist() or snapshot.notes_named(name)
    if len(named) > 1:
        paths = ", ".join(snapshot.table.paths[number] for number in named[:5])
        raise MemoryUnusableError(f"Several notes are called {name}: {paths}.", "Name one of these notes by its path.")
    return snapshot.table.paths[named[0]] if named else None
