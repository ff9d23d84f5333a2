"""The passage one link further: what the first hit links to or names, for the part of a question that it leaves open.

"Where was the singer of Hello Love born?" finds the note on the song, which names the singer; the note on the singer
has no word of the question. So the notes that the first passage links to, or names in its text, are compared with the
question and with its open part, and the nearest passage is listed second.
"""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath

import numpy as np
from msgspec import Struct

from excerpt.base.model import Fragment
from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.search.bm25 import Rows
from excerpt.search.evidence import Evidence, QuerySimilarities
from excerpt.search.interpretation import iterate_content_words
from excerpt.search.ranking import ScoredFragments

MIN_WORDS = 4
"""The fewest content words of a question that may have a part which its first hit leaves open."""
MIN_OPEN_SHARE = 0.1
"""The least share of the words' weight that the first hit must lack."""
MAX_RIVAL_SHARE = 0.7
"""The share of the first score above which the second hit is a rival: then the first is not what the question names.

Questions of several steps gain as much with .9 (docs/design/ranking.md), but from .8 on, a linked passage stands before
answers to plain questions.
"""
MIN_NEARNESS = 0.1
"""The least nearness of a linked passage: by how much its cosines to the question and to the open part, together,
exceed the vault's means."""


MAX_LINKED = 200
"""Number of fragments nearest to the question, and to its open part, of linked notes that have over 2,000 of them."""


class LinkedRow(Struct, frozen=True):
    """A passage (a row) of a note that the first hit, `source_row`, links to, or only names (`is_named`)."""

    row: int
    source_row: int
    is_named: bool


class LinkedFragment(Struct, frozen=True):
    """A linked passage of a store that is not loaded yet: its key, its note's path, and the key of the first hit."""

    key: int
    path: str
    source_key: int
    is_named: bool


class _OpenQuestion(Struct, frozen=True):
    """A question of which the first fragment leaves a part open: its row, the second's note, the open words."""

    source_row: int
    second_note: int
    open_part: str


class LinkedPassageFinder:
    """Finder of linked passages in one snapshot."""

    def __init__(self, snapshot: Corpus) -> None:
        self._snapshot = snapshot

    def warm(self) -> None:
        """Load what the first question with an open part would otherwise have to load."""
        if self._snapshot.partial is None:
            _ = self._snapshot.facets.names, self._snapshot.facets.targets

    def find(self, scored: ScoredFragments, evidence: Evidence) -> LinkedRow | None:
        """Return the best passage one link from the first of `scored`; None if the question has no open part.

        None, too, if the second fragment is a rival of the first, or if the best linked note has that second fragment;
        and in a store, where `find_in_store` looks.
        """
        if self._snapshot.partial is not None or (question := self._find_open_part(scored, evidence)) is None:
            return None
        table, is_named = self._snapshot.table, self._list_linked_notes(question.source_row)
        linked = np.flatnonzero(np.isin(table.notes, list(is_named))).astype(np.int32)
        if evidence.is_allowed is not None:
            linked = linked[evidence.is_allowed[linked]]
        row = self._find_nearest(self._snapshot, linked, question, evidence.static_similarities)
        return None if row is None else LinkedRow(row, question.source_row, is_named[int(table.notes[row])])

    def find_in_store(self, scored: ScoredFragments, evidence: Evidence) -> LinkedFragment | None:
        """Return the passage that `find` returns for an index, of a store that has few notes loaded.

        The fragments of the linked notes are loaded into another snapshot. None for a question with filters.
        """
        partial_corpus, whole = self._snapshot.partial, evidence.static_similarities
        if partial_corpus is None or evidence.is_allowed is not None or not len(whole.query):
            return None
        if (question := self._find_open_part(scored, evidence)) is None:
            return None
        is_named = self._list_linked_notes(question.source_row)
        if not is_named:
            return None
        notes = np.array(sorted(is_named), np.int32)
        vectors = whole.query, self._snapshot.embedder.embed_query(question.open_part)
        view = partial_corpus.prefetch(
            lambda _: [CandidateQuery(notes=notes, vector=vector, vector_limit=MAX_LINKED) for vector in vectors]
        )
        if view.edition != self._snapshot.edition:
            return None
        table = view.table
        linked = np.flatnonzero(np.isin(table.notes, notes)).astype(np.int32)
        row = self._find_nearest(view, linked, question, QuerySimilarities(whole.query, view.vectors, view))
        if row is None:
            return None
        note, source_key = int(table.notes[row]), int(self._snapshot.table.keys[question.source_row])
        return LinkedFragment(int(table.keys[row]), table.paths[note], source_key, is_named[note])

    def _find_open_part(self, scored: ScoredFragments, evidence: Evidence) -> _OpenQuestion | None:
        """Return what the first of `scored` leaves open of the question; None if nothing, or if it has a rival."""
        table = self._snapshot.table
        words = list(iterate_content_words(evidence, self._snapshot.languages))
        if len(words) < MIN_WORDS or len(scored.rows) < 2:
            return None
        scores, rows = scored.scores, scored.rows
        first, second = np.lexsort((table.lines[rows], table.notes[rows], -scores))[:2].tolist()
        if scores[second] > MAX_RIVAL_SHARE * scores[first]:
            return None
        source = int(rows[first])
        at = np.array([source], np.int32)
        is_open = np.array([not match.count or match.scores_at(at)[0] <= 0 for _, match in words])
        weights = np.array([match.idf for _, match in words])
        if weights[is_open].sum() < MIN_OPEN_SHARE * weights.sum():
            return None
        open_part = " ".join(word.surface for (word, _), lacks in zip(words, is_open.tolist(), strict=True) if lacks)
        return _OpenQuestion(source, int(table.notes[rows[second]]), open_part)

    def _find_nearest(
        self, corpus: Corpus, rows: Rows, question: _OpenQuestion, whole: QuerySimilarities
    ) -> int | None:
        """Return the one of `rows` of `corpus` that is nearest to the question and its open part.

        None if none is near, or if it is in the note of the second fragment.
        """
        rows = rows[whole.cosines_at(rows) > whole.mean]
        if not len(rows):
            return None
        vector = corpus.embedder.embed_query(question.open_part)
        part = QuerySimilarities(vector, corpus.vectors, corpus, selects_rows=False)
        nearness = whole.cosines_at(rows) - whole.mean + part.cosines_at(rows) - part.mean
        best = int(np.argmax(nearness))
        is_near = nearness[best] >= MIN_NEARNESS and corpus.table.notes[rows[best]] != question.second_note
        return int(rows[best]) if is_near else None

    def _list_linked_notes(self, row: int) -> dict[int, bool]:
        """Return the numbers of the notes that a passage links to or names, and for each whether it only names it."""
        table, facets = self._snapshot.table, self._snapshot.facets
        note, fragment = int(table.notes[row]), self._snapshot.fragments([int(table.keys[row])])[0]
        is_named = dict.fromkeys(self._list_named_notes(fragment), True)
        for link in facets.written_links(np.array([note], np.int32)):
            if fragment.line_start <= link.line <= fragment.line_end:
                target = facets.resolve_link(link)
                if target is not None:
                    is_named[target] = False
        is_named.pop(note, None)
        return is_named

    def _list_named_notes(self, fragment: Fragment) -> list[int]:
        # Its patterns of letters take time to compile, and few questions need them.
        from excerpt.text.mentions import MAX_NAMESAKES, MAX_PASSAGE_LETTERS, blank_markup, find_names, is_note_meant

        notes_by_name, languages = self._snapshot.facets.names, self._snapshot.languages[:1]
        text = blank_markup(fragment.text[:MAX_PASSAGE_LETTERS])
        named: list[int] = []
        for span in find_names(text, notes_by_name):
            notes = notes_by_name[span.key].tolist()
            if len(notes) <= MAX_NAMESAKES:
                named += [
                    note for note in notes if is_note_meant(text, span, partial(self._load_names, note), languages)
                ]
        return named

    def _load_names(self, note: int) -> tuple[str, ...]:
        info = self._snapshot.note_info(self._snapshot.table.paths[note])
        return info.title, PurePosixPath(info.path).stem, *info.aliases
