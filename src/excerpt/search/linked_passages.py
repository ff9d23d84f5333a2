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
from excerpt.corpus.interface import Corpus
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


class LinkedRow(Struct, frozen=True):
    """A passage (a row) of a note that the first hit, `source_row`, links to, or only names (`is_named`)."""

    row: int
    source_row: int
    is_named: bool


class LinkedPassageFinder:
    """Finder of linked passages in one snapshot. It finds none in a store, which has few notes loaded."""

    def __init__(self, snapshot: Corpus) -> None:
        self._snapshot = snapshot

    def warm(self) -> None:
        """Load what the first question with an open part would otherwise have to load."""
        if self._snapshot.partial is None:
            _ = self._snapshot.facets.names, self._snapshot.facets.targets

    def find(self, scored: ScoredFragments, evidence: Evidence) -> LinkedRow | None:
        """Return the best passage one link from the first of `scored`; None if the question has no open part.

        None, too, if the second fragment is a rival of the first, or if the best linked note has that second fragment.
        """
        table = self._snapshot.table
        words = list(iterate_content_words(evidence, self._snapshot.languages))
        if self._snapshot.partial is not None or len(words) < MIN_WORDS or len(scored.rows) < 2:
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
        is_named = self._list_linked_notes(source)
        linked = np.flatnonzero(np.isin(table.notes, list(is_named))).astype(np.int32)
        if evidence.is_allowed is not None:
            linked = linked[evidence.is_allowed[linked]]
        open_part = " ".join(word.surface for (word, _), lacks in zip(words, is_open.tolist(), strict=True) if lacks)
        row = self._find_nearest(linked, open_part, evidence.static_similarities)
        if row is None or table.notes[row] == table.notes[rows[second]]:
            return None
        return LinkedRow(row, source, is_named[int(table.notes[row])])

    def _find_nearest(self, rows: Rows, open_part: str, whole: QuerySimilarities) -> int | None:
        """Return the one of `rows` that is nearest to the question and its open part; None if none is near."""
        rows = rows[whole.cosines_at(rows) > whole.mean]
        if not len(rows):
            return None
        vector = self._snapshot.embedder.embed_query(open_part)
        part = QuerySimilarities(vector, self._snapshot.vectors, self._snapshot, selects_rows=False)
        nearness = whole.cosines_at(rows) - whole.mean + part.cosines_at(rows) - part.mean
        best = int(np.argmax(nearness))
        return int(rows[best]) if nearness[best] >= MIN_NEARNESS else None

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
