"""An in-memory vault lookup for checks: every note is a candidate, and no word counts as common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from excerpt.check.lookup import Lines, distinctive_words
from excerpt.text.display import visible_line
from excerpt.text.words import QueryWord, query_terms, terms_of
from tests.pack.vaults import Vault


class Notes:
    """A lookup over notes given by path."""

    def __init__(self, notes: Mapping[str, str]) -> None:
        self.vault = Vault(notes)
        self.asked: list[str] = []

    def path(self, shown: str) -> str | None:
        self.asked.append(shown)
        return next((path for path in self.vault.notes if visible_line(path) == visible_line(shown)), None)

    def text(self, path: str) -> str:
        return self.vault.note_text(path)

    def location(self, path: str, line_start: int, line_end: int) -> str:
        return ""

    def line_at(self, path: str, place: str) -> int:
        return 1

    def notes_with_line(self, line: str) -> Iterable[str]:
        return list(self.vault.notes)

    def lines_with(self, quotation: str) -> Iterable[Lines]:
        return [Lines(path, 1, note.text) for path, note in self.vault.notes.items()]

    def lines_like(self, quotation: str) -> Iterable[Lines]:
        return [Lines(each.path, each.line_start, each.text) for each in self.vault.fragments]

    def important_words(self, sentence: str) -> Sequence[QueryWord]:
        return distinctive_words(query_terms(sentence, ["en"]), lambda _: False, ["en"])

    def terms(self, text: str) -> frozenset[str]:
        return frozenset(terms_of(text, "en")[0])
