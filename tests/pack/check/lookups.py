"""An in-memory vault lookup for checks: every note is a candidate, and no word counts as common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from excerpt.pack.check.lookup import NoteExtract, select_distinctive_words
from excerpt.text.display import visible_line
from excerpt.text.words import QueryWord, query_terms, terms_of
from tests.pack.vaults import Vault


class Notes:
    """A lookup over notes given by path."""

    def __init__(self, notes: Mapping[str, str]) -> None:
        self.vault = Vault(notes)
        self.asked: list[str] = []

    def find_path(self, shown: str) -> str | None:
        self.asked.append(shown)
        return next((path for path in self.vault.notes if visible_line(path) == visible_line(shown)), None)

    def read_note(self, path: str) -> str:
        return self.vault.note_text(path)

    def find_location(self, path: str, line_start: int, line_end: int) -> str:
        return ""

    def find_line(self, path: str, place: str) -> int:
        return 1

    def find_notes_with_line(self, line: str) -> Iterable[str]:
        return list(self.vault.notes)

    def find_lines_with(self, quotation: str) -> Iterable[NoteExtract]:
        return [NoteExtract(path, 1, note.text) for path, note in self.vault.notes.items()]

    def find_similar_lines(self, quotation: str) -> Iterable[NoteExtract]:
        return [NoteExtract(each.path, each.line_start, each.text) for each in self.vault.fragments]

    def select_important_words(self, sentence: str) -> Sequence[QueryWord]:
        return select_distinctive_words(query_terms(sentence, ["en"]), lambda _: False, ["en"])

    def weigh_word(self, word: QueryWord) -> float:
        return 1.0

    def compare_meaning(self, sentence: str, text: str) -> float:
        return 0.0

    def analyze_terms(self, text: str) -> frozenset[str]:
        return frozenset(terms_of(text, "en")[0])
