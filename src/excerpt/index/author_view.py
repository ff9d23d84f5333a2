"""The author's view of an index: comments are found and shown. Everybody else reads the index as it is stored.

Comments are in a table of their own, and neither in the stored texts nor in the index of words. The author's view
restores them in the texts of fragments and notes, and adds their words to the words of the fragments.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from excerpt.base.model import CommentLine, Fragment, FragmentInfo
from excerpt.corpus.tables import FIELDS, Positions, TermEntries, run_offsets
from excerpt.index.lexical import LexicalReader
from excerpt.index.postings import invert
from excerpt.index.queries import CatalogQueries, CheckedRows
from excerpt.index.terms import Term
from excerpt.text.comments import restore_comments
from excerpt.text.folding import UNACCENTED_MARK
from excerpt.text.numbers import thread_term_encoder

_TEXT = FIELDS.index("text")
_FIRST_POSITION = 1 << 19
"""Position of the first word in the comments of a fragment: above those of its text, so that no phrase spans both."""
_MAX_CACHED_TERMS = 500

_COMMENTS_SQL = (
    "SELECT n.path, n.language, f.key, c.line, c.at, c.begins, c.text FROM comments c JOIN notes n ON n.id = c.note"
    " LEFT JOIN fragments f ON f.note = c.note AND f.ordinal = c.fragment ORDER BY c.note, c.number"
)


class CatalogComments:
    """All comments of a catalog: by the path of their note, and by the key of the fragment that has them."""

    def __init__(self, rows: CheckedRows) -> None:
        """Read the comments. Raises DamagedRowError."""
        self.by_path: dict[str, list[CommentLine]] = {}
        self.by_key: dict[int, list[CommentLine]] = {}
        self.languages: dict[int, str] = {}
        """Language of the note with each fragment that has comments, by the fragment's key."""
        rows.check("comments")
        for path, language, key, line, at, begins, text in rows(_COMMENTS_SQL):
            comment = CommentLine(line, at, bool(begins), text)
            self.by_path.setdefault(path, []).append(comment)
            if key is not None:
                self.by_key.setdefault(key, []).append(comment)
                self.languages[key] = language


# --- texts ------------------------------------------------------------------------------------------------------------


class AuthorQueries(CatalogQueries):
    """The queries on a catalog for a reader who is the notes' author: the texts include the comments."""

    def __init__(self, rows: CheckedRows, comments: CatalogComments, count_tokens: Callable[[str], int]) -> None:
        super().__init__(rows)
        self._comments = comments
        self._count_tokens = count_tokens

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        return list(map(self._restore, super().fragments(keys)))

    def fragments_with_id(self, fragment_id: str) -> list[Fragment]:
        return list(map(self._restore, super().fragments_with_id(fragment_id)))

    def note_fragments(self, path: str, first: int, last: int | None) -> list[Fragment]:
        return list(map(self._restore, super().note_fragments(path, first, last)))

    def fragment_infos(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        return [list(map(self._restore_info, infos)) for infos in super().fragment_infos(ranges)]

    def note_text(self, path: str) -> str | None:
        text = super().note_text(path)
        comments = self._comments.by_path.get(path)
        return text if text is None or not comments else "\n".join(restore_comments(text.split("\n"), 1, comments))

    def comments(self, path: str) -> list[CommentLine]:  # noqa: ARG002 - none is left out
        return []

    def find_texts_ignoring_case(self, parts: Sequence[str], keys: Sequence[int] | None) -> list[tuple[int, str]]:
        lowered = [part.lower() for part in parts]
        return self._with_commented(
            super().find_texts_ignoring_case(parts, keys),
            keys,
            lambda text: all(part in text.lower() for part in lowered),
        )

    def find_texts_with(self, part: str, keys: Sequence[int] | None) -> list[tuple[int, str]]:
        return self._with_commented(super().find_texts_with(part, keys), keys, lambda text: part in text)

    def _with_commented(
        self, texts: list[tuple[int, str]], keys: Sequence[int] | None, is_match: Callable[[str], bool]
    ) -> list[tuple[int, str]]:
        """Return (key, text) of fragments; the text of a fragment with comments includes them."""
        comments_of = self._comments.by_key
        commented = comments_of.keys() if keys is None else comments_of.keys() & set(keys)
        stored = super().fragments(sorted(commented))
        restored = [(each.key, self._restore_text(each, comments_of[each.key])[2]) for each in stored]
        return [
            *(each for each in texts if each[0] not in commented),
            *((key, text) for key, text in restored if is_match(text)),
        ]

    def _restore(self, fragment: Fragment) -> Fragment:
        """Return a fragment with its comments; its lines are extended to comments above and below it."""
        own = self._comments.by_key.get(fragment.key)
        if own is None:
            return fragment
        first, last, text = self._restore_text(fragment, own)
        return replace(fragment, line_start=first, line_end=last, text=text, tokens=self._count_tokens(text))

    def _restore_text(self, fragment: Fragment, own: Sequence[CommentLine]) -> tuple[int, int, str]:
        """Return the first and last line of a fragment with its `own` comments, and its text."""
        first, last = min(fragment.line_start, own[0].line), max(fragment.line_end, own[-1].line)
        if (first, last) == (fragment.line_start, fragment.line_end):
            lines = fragment.text.split("\n")
        else:
            lines = (super().note_text(fragment.path) or "").split("\n")[first - 1 : last]
        comments = self._comments.by_path[fragment.path]
        inside = comments[bisect_left(comments, (first,)) : bisect_left(comments, (last + 1,))]
        return first, last, "\n".join(restore_comments(lines, first, inside))

    def _restore_info(self, info: FragmentInfo) -> FragmentInfo:
        if info.key not in self._comments.by_key:
            return info
        (fragment,) = self.fragments([info.key])
        return structs.replace(info, line_start=fragment.line_start, line_end=fragment.line_end, tokens=fragment.tokens)


# --- words ------------------------------------------------------------------------------------------------------------


class _CommentPostings(Struct, frozen=True):
    """The postings of a term in comments: ascending rows, the count in each row, and all positions in order."""

    rows: NDArray[np.int32]
    tf: NDArray[np.int32]
    positions: NDArray[np.int32]


class AuthorTerms(LexicalReader):
    """The terms of the fragments and of their comments; the words of a comment count as words of the text.

    A text's length is counted without its comments, so that comments change only the scores of their own words.
    """

    def __init__(self, words: LexicalReader, comments: CatalogComments) -> None:
        """Read `words`, which stays open, with the comments."""
        self._words = words
        self._comments = comments
        self._author_terms: dict[str, Term] = {}
        self.files, self.keys, self.notes, self.lines = words.files, words.keys, words.notes, words.lines
        self._index = words._index

    def lengths(self, field: str) -> NDArray[np.float32]:
        return self._words.lengths(field)

    def count(self, term: str) -> int:
        added = self._postings.get(term)
        return self._words.count(term) + (0 if added is None else len(added.rows))

    def completions(self, prefix: str, limit: int) -> list[str]:
        own = (term for term in self._postings if term.startswith(prefix))
        terms = {*self._words.completions(prefix, limit), *own}
        return sorted(terms, key=lambda term: (len(term), term))[:limit]

    def terms(self, field: str, prefix: str) -> list[str]:
        own = (term for term in self._postings if field == "text" and term.startswith(prefix))
        return sorted({*self._words.terms(field, prefix), *own})

    def lexicon(self, field: str) -> list[str]:
        return self._text_lexicon if field == "text" else self._words.lexicon(field)

    def release_terms(self) -> None:
        self._words.release_terms()
        self._author_terms.clear()

    def close(self) -> None:
        self._words.close()
        self._author_terms.clear()

    @cached_property
    def _text_lexicon(self) -> list[str]:
        words = self._words.lexicon("text")
        own = {term.removesuffix(UNACCENTED_MARK) for term in self._postings}
        return sorted([*words, *own.difference(words)])

    @cached_property
    def _postings(self) -> Mapping[str, _CommentPostings]:
        """The postings of the comments' words, by term."""
        keys = sorted(self._comments.by_key)
        encoder = thread_term_encoder()
        texts = ("\n".join(comment.text for comment in self._comments.by_key[key]) for key in keys)
        codes = [encoder.encode(text, self._comments.languages[key]) for key, text in zip(keys, texts, strict=True)]
        inverted = invert(encoder.decode(codes), encoder.lexicon.names)
        rows = np.searchsorted(self.keys, np.array(keys, np.int64)).astype(np.int32)
        offsets = run_offsets(inverted.tf)
        spans = zip(inverted.terms, inverted.starts[:-1].tolist(), inverted.starts[1:].tolist(), strict=True)
        return {
            term.decode(): _CommentPostings(
                rows[inverted.docs[first:last]],
                inverted.tf[first:last],
                inverted.positions[offsets[first] : offsets[last]] + np.int32(_FIRST_POSITION),
            )
            for term, first, last in spans
        }

    def _read_term(self, term: str) -> Term:
        known = self._words._read_term(term)
        added = self._postings.get(term)
        if added is None:
            return known
        if term not in self._author_terms:
            if len(self._author_terms) >= _MAX_CACHED_TERMS:
                self._author_terms.clear()
            self._author_terms[term] = _CommentedTerm(known, added)
        return self._author_terms[term]


class _CommentedTerm(Term):
    """The postings of a term in all segments and in comments; positions are read on first use."""

    def __init__(self, term: Term, added: _CommentPostings) -> None:
        entries = term.entries
        order = entries.rows.astype(np.int64) * len(FIELDS) + entries.fields
        added_order = added.rows.astype(np.int64) * len(FIELDS) + _TEXT
        self._at = np.searchsorted(order, added_order)
        self._is_known = np.isin(added_order, order)
        tf = entries.tf.copy()
        tf[self._at[self._is_known]] += added.tf[self._is_known]
        new = self._at[~self._is_known]
        self.entries = TermEntries(
            np.insert(entries.rows, new, added.rows[~self._is_known]),
            np.insert(entries.fields, new, np.uint8(_TEXT)),
            np.insert(tf, new, added.tf[~self._is_known]),
        )
        self.nbytes = term.nbytes + 21 * len(added.rows)
        self._term, self._added = term, added
        self._positions: Positions | None = None

    def positions(self) -> Positions:
        if self._positions is None:
            known = self._term.positions()
            # After the positions in the text of the same fragment, if it has the term.
            at = np.repeat(known.offsets[self._at + self._is_known], self._added.tf)
            self._positions = Positions(
                run_offsets(self.entries.tf), np.insert(known.values, at, self._added.positions)
            )
        return self._positions
