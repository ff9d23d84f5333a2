"""Small in-memory vaults of parsed notes for pack tests, and hypothesis strategies for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from excerpt.base.model import CommentLine, Fragment, FragmentInfo, Hit, Replaced, Section, Span
from excerpt.pack.formats.source_label import PackLinks
from excerpt.pack.formats.template_format import TemplateRenderer
from excerpt.text.fragments import fragments_of
from excerpt.text.markdown import parse_note
from excerpt.text.tokens import Tokenizer, open_tokenizer


def patient_renderer(template: str, links: PackLinks, questions: tuple[str, ...]) -> TemplateRenderer:
    """Return a renderer whose time does not run out on a busy machine; that of the processor still may."""
    renderer = TemplateRenderer("own.j2", template, links, 3000, questions)
    renderer._remaining_time.clock_seconds = 600.0
    return renderer


class Vault:
    """Notes by path, as a source of packs."""

    def __init__(self, notes: Mapping[str, str], tokenizer: str = "chars/4") -> None:
        self.tokenizer = tokenizer
        self.count = open_tokenizer(tokenizer).count
        self.notes = {path: parse_note(path, text) for path, text in sorted(notes.items())}
        self.fragments_by_path = {path: fragments_of(note, self.count) for path, note in self.notes.items()}

    @property
    def fragments(self) -> list[Fragment]:
        return [fragment for fragments in self.fragments_by_path.values() for fragment in fragments]

    def holding(self, words: str) -> Fragment:
        """Return the only fragment that contains `words`."""
        (found,) = (fragment for fragment in self.fragments if words in fragment.text)
        return found

    def hit(self, words: str, score: float = 1.0) -> Hit:
        """Return the only fragment that contains `words` as a hit that matched them."""
        fragment = self.holding(words)
        start = fragment.text.index(words)
        return Hit(fragment, score, spans=(Span(start, start + len(words)),))

    # The interface that packs need.

    def fragment(self, fragment_id: str) -> Fragment | None:
        return next((fragment for fragment in self.fragments if fragment.id == fragment_id), None)

    def fragment_infos(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        return [
            [part for part in self._parts(path) if first <= part.ordinal and (last is None or part.ordinal <= last)]
            for path, first, last in ranges
        ]

    def _parts(self, path: str) -> Iterator[FragmentInfo]:
        for one in self.fragments_by_path.get(path, ()):
            section = self.notes[path].sections[one.section]
            yield FragmentInfo(
                key=one.key,
                id=one.id,
                ordinal=one.ordinal,
                section=one.section,
                level=section.level,
                heading=section.heading,
                line_start=one.line_start,
                line_end=one.line_end,
                tokens=one.tokens,
                digest=one.digest,
            )

    def sections(self, path: str) -> Sequence[Section]:
        return self.notes[path].sections if path in self.notes else ()

    def current_path(self, path: str) -> str | None:
        return None

    def note_text(self, path: str) -> str:
        return self.notes[path].text

    def comments(self, path: str) -> Sequence[CommentLine]:
        return self.notes[path].comments

    def note_tokens(self, path: str) -> int:
        return self.count(self.notes[path].text)

    def note_modified(self, path: str) -> str:
        return "2025-03-01" if path in self.notes else ""

    def note_replaced(self, path: str) -> Replaced | None:
        return None


@dataclass(frozen=True)
class Case:
    """A vault with the hits of a search, best first."""

    vault: Vault
    hits: tuple[Hit, ...]


def sentence(word: str, count: int) -> str:
    """Return a sentence of `count` different words made of `word` and a number."""
    return " ".join(f"{word}{number}" for number in range(count)) + "."


def long_table(word: str, rows: int, header: str = "| Article | Price |") -> str:
    """Return a table of two columns, too long for one fragment if it has more than some eighty rows."""
    return "\n".join([header, "|---|---|", *(f"| {word}{row} | {row * 7} euro |" for row in range(rows))])


_PARAGRAPH = st.builds(
    sentence, st.sampled_from(["sync", "naïve", "同步", "x", "Straße"]), st.sampled_from([1, 3, 40, 120, 200, 240])
)
_TABLE = st.builds(
    long_table,
    st.sampled_from(["nail", "釘", "Nägel"]),
    st.sampled_from([2, 90, 200]),
    st.sampled_from(["| Article | Price |", "| 品名 | 価格 |", f"| {'wide ' * 40}| Price |"]),
)
_BLOCK = st.one_of(
    _PARAGRAPH,
    _PARAGRAPH,
    _TABLE,
    st.sampled_from(
        [
            "```python\nprint(1)\n# not a heading\n```",
            "````\n```\ninner\n```\n````",
            "~~~\n``````\n~~~",
            "```\nnever closed",
            "- one\n- two\n  - three",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "> quote\n> more",
            "---",
            "    indented code",
            "<!-- a comment -->",
            "line\twith\ttabs  \nand a break",
        ]
    ),
)
_HEADING = st.sampled_from(["# One", "## Two", "### Three", "## Two `x`", "Setext\n---", "#"])
_PARTS = st.lists(st.one_of(_BLOCK, _BLOCK, _HEADING), max_size=12)
_FRONTMATTER = st.sampled_from(["", "", "---\ntitle: A [title]\ntags: [a]\n---\n"])
_GAP = st.sampled_from(["\n\n", "\n\n\n"])
_NOTE = st.builds(lambda front, gap, parts: front + gap.join(parts), _FRONTMATTER, _GAP, _PARTS)
_EMPTY = st.sampled_from(["", "\n\n", "---\n---\n"])
_PATHS = ["a.md", "b/c.md", "b/ü d.md", "e```f.md"]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    vault = Vault({path: draw(st.one_of(_NOTE, _NOTE, _NOTE, _EMPTY)) for path in _PATHS})
    fragments = vault.fragments
    if not fragments:
        return Case(vault, ())
    chosen = draw(st.lists(st.sampled_from(fragments), unique_by=lambda fragment: fragment.id, max_size=10))
    scores = draw(st.lists(st.floats(0, 1), min_size=len(chosen), max_size=len(chosen)))
    places = draw(st.lists(st.floats(0, 1), min_size=len(chosen), max_size=len(chosen)))
    hits = [
        Hit(fragment, score, spans=_word_at(fragment.text, place))
        for fragment, score, place in zip(chosen, scores, places, strict=True)
    ]
    return Case(vault, tuple(sorted(hits, key=lambda hit: (-hit.score, hit.fragment.path, hit.fragment.line_start))))


def _word_at(text: str, place: float) -> tuple[Span, ...]:
    """Return the span of the word at that share (0 to 1) of a text, as a match; none at 0."""
    words = [found.span() for found in re.finditer(r"\w+", text)]
    return (Span(*words[int(place * (len(words) - 1))]),) if words and place else ()


SWELLING = Tokenizer("swelling", lambda text: int((len(text) / 4) ** 1.2))
"""A tokenizer of whose counts that of a whole is larger than those of its parts together."""


def tokenizers() -> st.SearchStrategy[Tokenizer]:
    """Return a strategy of the supported tokenizers, and one whose token counts do not add up."""
    return st.one_of(st.sampled_from(["o200k", "cl100k", "chars/4"]).map(open_tokenizer), st.just(SWELLING))
