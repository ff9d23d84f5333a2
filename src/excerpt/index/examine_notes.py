"""A stored note held against its own text: line ranges, and all that taking it apart once more gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from excerpt.errors import SettingsError
from excerpt.index.health import Fault, Health, Part, Stale
from excerpt.index.prepare import Recipe, Task, rows_of
from excerpt.index.stored import StoredNote, lines_of
from excerpt.settings import Settings
from excerpt.text.fragments import FRAGMENTS_VERSION
from excerpt.text.markdown import parse_note
from excerpt.text.tokens import open_tokenizer

_ESTIMATE = "chars/4"


class NoteCheck:
    """Looks at one note after the other; what is wrong goes to the faults of `health`, at most one a note."""

    def __init__(self, settings: Settings, health: Health, *, quick: bool) -> None:
        """`quick` looks at the line ranges alone."""
        self._health, self._quick = health, quick
        self._cut = Recipe(Path(), "", 0, settings.vault.language).cut
        self._counted = True
        if settings.pack.tokenizer != health.tokenizer:
            health.behind.append("the token counts, which are another tokenizer's")
        try:
            open_tokenizer(health.tokenizer)
            self._tokenizer = health.tokenizer
        except SettingsError:  # counts cannot be compared; whoever looks at the settings says so
            self._tokenizer, self._counted = _ESTIMATE, False

    def check(self, note: StoredNote) -> None:
        if note.cut != self._cut:
            self._health.stale.append((note.path, Stale.CUT))
        what = next(self._wrong(note), None)
        if what:
            self._health.faults.append(Fault(note.path, what, Part.NOTE))

    def _wrong(self, note: StoredNote) -> Iterator[str]:
        if note.text is None:
            yield "Its text in the catalog is lost or damaged."
            return
        yield from _wrong_ranges(note)
        if not self._quick and note.cut.partition("/")[0] == str(FRAGMENTS_VERSION):
            yield from self._wrong_rows(note, note.text)

    def _wrong_rows(self, note: StoredNote, text: str) -> Iterator[str]:
        # One mark of byte order is taken away by whoever parses; another that stands in the text is to stay.
        parsed = parse_note(note.path, f"\ufeff{text}", note.cut.partition("/")[2])
        recipe = Recipe(Path(), self._tokenizer, 0)
        made, _ = rows_of(recipe, parsed, Task(note.path, note.size, note.mtime_ns, note.ctime_ns), note.digest)
        places = [row[3:5] for row in note.fragments]
        if missing := [row[3:5] for row in made.fragments if row[3:5] not in places]:
            yield f"Lines {_range(missing[0])} are in no fragment of their own."
        counted = slice(None) if self._counted else slice(0)
        pairs: tuple[tuple[str, Any, Any], ...] = (
            ("sections", note.sections, made.sections),
            ("fragments", _without_tokens(note.fragments), _without_tokens(made.fragments)),
            ("token counts", [row[5] for row in note.fragments][counted], [row[5] for row in made.fragments][counted]),
            ("token count", (note.tokens,)[counted], (made.tokens,)[counted]),
            ("links", note.links, made.links),
            ("tags, aliases and properties", note.labels, made.labels),
            ("names", note.names, made.names),
            ("title or language", (note.title, note.language), (made.title, made.language)),
        )
        yield from (f"Its {name} in the catalog are not those of its text." for name, kept, new in pairs if kept != new)


def _wrong_ranges(note: StoredNote) -> Iterator[str]:
    """Fragments whose lines are not theirs, or another's too; and lines of text in no fragment are found by cutting
    the note once more."""
    lines = lines_of(note)
    before = 0
    for _, _, _, first, last, _, _, _, text in note.fragments:
        if not 1 <= first <= last <= len(lines):
            yield f"A fragment is said to stand in lines {first}-{last}; the note has {len(lines):,}."
        elif "\n".join(lines[first - 1 : last]) != text:
            yield f"The fragment of lines {_range((first, last))} holds another text than they do."
        elif first <= before:
            yield f"Two fragments hold line {first}."
        before = last


def _range(lines: Sequence[int]) -> str:
    first, last = lines
    return f"{first}-{last}"


def _without_tokens(fragments: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return [(*row[:5], *row[6:]) for row in fragments]
