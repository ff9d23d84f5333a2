"""A window of a note around a fragment, or all of it, for the preview, and where a link of it leads.

Properties, tables and code are drawn over several lines, line-true: what is drawn of a line is of that line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len

from excerpt.errors import ModelError
from excerpt.kinds import LinkKind
from excerpt.model import Fragment, Link, Section, Span
from excerpt.places import number_of
from excerpt.text.display import visible
from excerpt.tui.common.line_drawing import (
    LONGEST,
    PLAIN,
    TABLE_RULE,
    Around,
    Columns,
    Context,
    DrawnLine,
    Ink,
    InkedLine,
    LinkTo,
    contexts_of,
    draw_line,
    ink_line,
    lay_over,
    with_rest,
)
from excerpt.tui.messages import Location
from excerpt.tui.request_thread import Priority

if TYPE_CHECKING:
    from pygments.lexer import Lexer

    from excerpt.corpus.interface import Corpus
    from excerpt.search.engine import Engine

_WIDEST_NAME = 20
"""Cells up to which names make a column; a longer one has its value right behind it."""
_RULE = "─" * 12

_NAMED = re.compile(r"^([\w][\w .-]*?)(:)(?:[ \t]+|$)")
_ITEM = re.compile(r"^[ \t]*(-)(?:[ \t]+|$)")
_LIST = re.compile(r"^(\[)(.*)(\])\s*$")
_WIKILINK = re.compile(r"\[\[([^\[\]|]+?)(?:\|([^\[\]]*))?\]\]")
_URL = re.compile(r"https?://[^\s<>|\])\"',]+")
_TAGS = frozenset({"tags", "tag", "keywords"})
_BOXES = {"true": "☑", "false": "☐"}


def property_lines(texts: Sequence[str]) -> list[tuple[InkedLine, int]]:
    """The lines of a note's frontmatter, its `---` with them, each with the hang of its continuation.

    Anything but simple names, values and lists stays as it is written.
    """
    named = [_NAMED.match(text) for text in texts]
    widths = [cell_len(visible(found[1])) for found in named if found]
    column = max((width for width in widths if width <= _WIDEST_NAME), default=0) + 2
    lines: list[tuple[InkedLine, int]] = []
    name = ""
    for row, (text, found) in enumerate(zip(texts, named, strict=True)):
        line = InkedLine(text)
        lines.append((line, column))
        if text.rstrip() in ("---", "...") and row in (0, len(texts) - 1):
            line.replace(0, len(text), f"{_RULE} properties" if row == 0 else _RULE)
            line.ink(0, len(text), Ink.FAINT)
        elif found:
            name = found[1].casefold()
            line.ink(0, found.end(1), Ink.PROPERTY)
            gap = " " * max(1, column - cell_len(visible(found[1])))
            line.replace(found.start(2), max(found.end(), found.end(2)), gap)
            _draw_value(line, found.end(), name)
        elif item := _ITEM.match(text):
            line.replace(0, item.end(), " " * column + "• ")
            _draw_value(line, item.end(), name)
    return lines


def _draw_value(line: InkedLine, start: int, name: str) -> None:
    """Draw the value that begins at `start`: without quotation marks and brackets, with links and tags inked."""
    text = line.text
    value = text[start:].rstrip()
    if name in _TAGS:
        line.ink(start, len(text), Ink.TAG)
    if value in _BOXES:
        line.replace(start, start + len(value), _BOXES[value])
        return
    listed = None if value.startswith("[[") and value.count("[[") == 1 else _LIST.match(value)
    if listed:
        line.hide(start, start + 1)
        line.hide(start + listed.start(3), start + listed.end(3))
    quoted = [(start + at.start(), start + at.end()) for at in re.finditer(r"(?<![\w])[\"']|[\"'](?!\w)", value)]
    if len(quoted) % 2 == 0:
        for span in quoted:
            line.hide(*span)
    for link in _WIKILINK.finditer(text, start):
        shown = link.span(2) if link[2] else link.span(1)
        line.hide(link.start(), shown[0])
        line.hide(shown[1], link.end())
        line.link(*link.span(), LinkTo(LinkKind.WIKILINK, link[1]))
    for url in _URL.finditer(text, start):
        line.link(*url.span(), LinkTo(LinkKind.MARKDOWN, url[0]))


_BAR = re.compile(r"(?<!\\)\|")
_IN_CODE = re.compile(r"`[^`\n]*`")
_WIDEST_TABLE = 200
"""Cells of a table from which on its columns are not aligned: no window shows them side by side."""


def align(rows: Sequence[InkedLine], rule: int) -> bool:
    """Make the columns of drawn `rows` as wide as the widest cell, and a line of the row `rule`; whether it was done.

    A bar in code is no border here, as the parser has it otherwise only where the code is broken by it.
    """
    bars = [_bars(row.text) for row in rows]
    cells = [[_cell(row, *edges) for edges in _edges(row.text, at)] for row, at in zip(rows, bars, strict=True)]
    count = max((len(one) for at, one in enumerate(cells) if at != rule), default=0)
    widths = [
        max((cell_len(one[column]) for at, one in enumerate(cells) if at != rule and column < len(one)), default=0)
        for column in range(count)
    ]
    if not count or sum(widths) + 3 * count > _WIDEST_TABLE:
        return False
    for at, row in enumerate(rows):
        _pad(row, bars[at], cells[at], widths, is_rule=at == rule)
    return True


def _bars(text: str) -> list[int]:
    code = {at for found in _IN_CODE.finditer(text) for at in range(*found.span())}
    return [found.start() for found in _BAR.finditer(text) if found.start() not in code]


def _edges(text: str, bars: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where the cells between bars begin and end; what stands outside of the first and last is one if there is any."""
    starts = [0, *(bar + 1 for bar in bars)]
    ends = [*bars, len(text)]
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if 0 < at < len(bars) or text[start:end].strip():
            yield start, end


def _cell(row: InkedLine, start: int, end: int) -> str:
    return row.drawn(start, end).strip()


def _pad(row: InkedLine, bars: Sequence[int], cells: Sequence[str], widths: Sequence[int], *, is_rule: bool) -> None:
    """Let the bars carry all blanks: each is shown with those that fill the cell before it."""
    text = row.text
    edges = list(_edges(text, bars))[: len(widths)]
    ending = {end: column for column, (_, end) in enumerate(edges)}
    beginning = {start for start, _ in edges}
    blank = "─" if is_rule else " "
    for column, (start, end) in enumerate(edges):
        if is_rule:
            row.replace(start, end, "─" * widths[column])
            continue
        held = text[start:end]
        row.hide(start, end - len(held.lstrip()))
        row.hide(max(start, start + len(held.rstrip())), end)
    for bar in bars:
        before = ""
        if bar in ending:
            column = ending[bar]
            before = blank * ((0 if is_rule else widths[column] - cell_len(cells[column])) + 1)
        inner = bar in ending and bar + 1 in beginning
        sign = "│" if not is_rule else "┼" if inner else "├" if bar + 1 in beginning else "┤"
        row.replace(bar, bar + 1, before + sign + (blank if bar + 1 in beginning else ""))


MOST = 30_000
"""Characters of code that are coloured in one context; Pygments takes about 1.2 us for each."""

Inked = tuple[int, int, Ink]


def code_inks(lines: Sequence[str], language: str) -> list[list[Inked]]:
    """For each line of a piece of code the columns and inks of what has one; nothing for an unknown language."""
    found: list[list[Inked]] = [[] for _ in lines]
    lexer = _lexer(language)
    if lexer is None:
        return found
    kinds = _kinds()
    row, column = 0, 0
    for _, kind, text in lexer.get_tokens_unprocessed("\n".join(lines)):
        ink = next((ink for of, ink in kinds if kind in of), None)
        for part, piece in enumerate(text.split("\n")):
            if part:
                row, column = row + 1, 0
            if ink is not None and piece.strip():
                found[row].append((column, column + len(piece), ink))
            column += len(piece)
    return found


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if not language:
        return None
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@lru_cache(maxsize=1)
def _kinds() -> tuple[tuple[Any, Ink], ...]:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    return (
        (Comment, Ink.COMMENT),
        (String, Ink.STRING),
        (Number, Ink.NUMBER),
        (Keyword, Ink.KEYWORD),
        (Operator.Word, Ink.KEYWORD),
        (Name.Tag, Ink.KEYWORD),
        (Name.Function, Ink.NAME),
        (Name.Class, Ink.NAME),
        (Name.Builtin, Ink.NAME),
        (Name.Decorator, Ink.NAME),
        (Name.Attribute, Ink.NAME),
    )


REACH = 80
"""Lines shown before and after the fragment: four screens, drawn in a few ms."""
WHOLE_REACH = 2_500
"""The same of a note that is shown whole: 5,000 lines take 0.1 s of the engine's thread and 8 ms of the screen's."""


_IN_MARKDOWN = ("", "canvas", "drawing", "notebook")
"""Kinds whose text is Markdown; "" is a note."""


@dataclass(frozen=True, slots=True)
class NoteView:
    """How to look at a note: what of the fragment is `near` in meaning (spans of its text), whether the note is wanted
    whole, and around which line if not around the fragment."""

    near: tuple[Span, ...] = ()
    whole: bool = False
    line: int | None = None


AS_FOUND = NoteView()


@dataclass(frozen=True, slots=True)
class NoteWindow:
    """Lines `lines[0].number`..`lines[-1].number` of a note of `line_count` lines, around `fragment`; `source` are the
    same lines as they stand in the note. `line` is the one that was asked for, if it is not the fragment's first."""

    fragment: Fragment
    lines: tuple[DrawnLine, ...]
    line_count: int
    source: tuple[str, ...] = ()
    headings: tuple[Section, ...] = ()
    whole: bool = False
    line: int | None = None

    @property
    def above(self) -> int:
        """Lines of the note before the window."""
        return self.lines[0].number - 1 if self.lines else 0

    @property
    def below(self) -> int:
        """Lines of the note after the window."""
        return self.line_count - self.lines[-1].number if self.lines else 0

    def numbered(self, number: int) -> str:
        """What stands beside a line: its number, or in an attachment that of the page, slide or chapter it begins."""
        if not self.fragment.kind:
            return str(number)
        begun = next((one for one in self.headings if one.place and one.line_start == number), None)
        return str(number_of(begun.place) or "") if begun is not None else ""

    def holds(self, number: int) -> bool:
        return self.above < number <= self.line_count - self.below

    def text(self, first: int, last: int) -> str:
        """Lines of the window as they stand in the note."""
        return "\n".join(self.source[max(first - self.above - 1, 0) : last - self.above])


def window_around(
    note_text: str,
    fragment: Fragment,
    spans: Iterable[Span],
    view: NoteView = AS_FOUND,
    *,
    headings: Sequence[Section] = (),
    elsewhere: Iterable[tuple[int, Columns]] = (),
) -> NoteWindow:
    """The window of the note around the fragment, with the spans of the fragment's text marked as matches.

    `elsewhere` are matches outside of it, by line. `headings` are the note's.
    """
    lines = note_text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    matches = spans_by_line(fragment, spans)
    for number, columns in elsewhere:
        if not fragment.line_start <= number <= fragment.line_end:
            matches.setdefault(number, []).append(columns)
    first, last = reach_of(fragment, len(lines), view)
    contexts = contexts_of(lines[:last]) if fragment.kind in _IN_MARKDOWN else [PLAIN] * last
    shown = _ShownLines(lines, contexts, first, matches, spans_by_line(fragment, view.near))
    drawn = tuple(_drawn(shown))
    return NoteWindow(
        fragment, drawn, len(lines), tuple(lines[first - 1 : last]), tuple(headings), view.whole, view.line
    )


def reach_of(fragment: Fragment, line_count: int, view: NoteView) -> tuple[int, int]:
    """The first and last line that a view shows."""
    reach = WHOLE_REACH if view.whole else REACH
    middle = view.line
    if middle is None or (fragment.line_start - reach <= middle <= fragment.line_end + reach and not view.whole):
        return max(1, fragment.line_start - reach), min(line_count, fragment.line_end + reach)
    return max(1, middle - reach), min(line_count, middle + reach)


def spans_by_line(fragment: Fragment, spans: Iterable[Span]) -> dict[int, list[Columns]]:
    """Spans into a fragment's text as columns of the note's lines; one over a line end is split."""
    return {fragment.line_start + row: columns for row, columns in columns_by_row(fragment.text, spans).items()}


def columns_by_row(text: str, spans: Iterable[Span]) -> dict[int, list[Columns]]:
    """Spans of a text as columns of its lines, counted from 0; one over a line end is split."""
    found: dict[int, list[Columns]] = {}
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    row = 0
    for span in sorted(spans, key=lambda span: span.start):
        while row + 1 < len(starts) and starts[row + 1] <= span.start:
            row += 1
        for at in range(row, len(starts) - 1):
            if starts[at] >= span.end:
                break
            left, right = max(span.start, starts[at]), min(span.end, starts[at + 1] - 1)
            if left < right:
                found.setdefault(at, []).append((left - starts[at], right - starts[at]))
    return found


@dataclass(frozen=True, slots=True)
class _ShownLines:
    """What is to be drawn: of a note's `lines` those from `first` (1-based) to the last that has a context. `matches`
    and `near` are columns by line."""

    lines: Sequence[str]
    contexts: Sequence[Around]
    first: int
    matches: Mapping[int, list[Columns]]
    near: Mapping[int, list[Columns]]

    def lay_over(self, line: InkedLine, number: int) -> None:
        lay_over(line, self.matches.get(number, ()), self.near.get(number, ()))


def _drawn(shown: _ShownLines) -> Iterator[DrawnLine]:
    aligned = dict(_aligned(shown))
    properties = _properties(shown)
    code = _code(shown)
    yield from properties
    for row in range(shown.first - 1 + len(properties), len(shown.contexts)):
        number = row + 1
        marked, near = shown.matches.get(number, ()), shown.near.get(number, ())
        line = draw_line(number, shown.lines[row], shown.contexts[row], marked, near=near, code=code.get(row, ()))
        columns = aligned.get(row)
        yield line if columns is None else DrawnLine(number, line.runs, line.hang, columns.runs())


def _properties(shown: _ShownLines) -> list[DrawnLine]:
    """The lines of the frontmatter in the window, which are its first if there are any."""
    contexts = shown.contexts
    end = next((row for row, one in enumerate(contexts) if one.context is not Context.PROPERTIES), len(contexts))
    if shown.first > end:
        return []
    drawn: list[DrawnLine] = []
    for row, (line, hang) in enumerate(property_lines([text[:LONGEST] for text in shown.lines[:end]])):
        shown.lay_over(line, row + 1)
        drawn.append(DrawnLine(row + 1, with_rest(line.runs(), len(shown.lines[row]) - LONGEST), hang))
    return drawn[shown.first - 1 :]


def _code(shown: _ShownLines) -> dict[int, list[Inked]]:
    """The inks of the code in the window, by row, as long as there is not too much of it."""
    contexts = shown.contexts
    fences = Counter(one.block for one in contexts[shown.first - 1 :] if one.context is Context.CODE and one.language)
    found: dict[int, list[Inked]] = {}
    left = MOST
    for block in fences:
        end = block + 1
        while end < len(contexts) and contexts[end] == contexts[block]._replace(context=Context.CODE):
            end += 1
        texts = [line[:LONGEST] for line in shown.lines[block + 1 : end]]
        left -= sum(map(len, texts)) + len(texts)
        if left < 0:
            break
        found.update(enumerate(code_inks(texts, contexts[block].language), block + 1))
    return found


def _aligned(shown: _ShownLines) -> Iterator[tuple[int, InkedLine]]:
    """Each row of a table with its columns aligned, for the tables that begin in the window."""
    row = shown.first - 1
    while row + 1 < len(shown.contexts):
        if not (_is_table(shown, row) and TABLE_RULE.match(shown.lines[row + 1]) and "|" in shown.lines[row + 1]):
            row += 1
            continue
        begin = row
        while row < len(shown.contexts) and _is_table(shown, row):
            row += 1
        table = [InkedLine(shown.lines[at][:LONGEST]) for at in range(begin, row)]
        for at, line in enumerate(table, begin):
            ink_line(line, shown.contexts[at])
            shown.lay_over(line, at + 1)
        table[0].ink(0, len(table[0].text), Ink.BOLD)
        if align(table, 1):
            yield from enumerate(table, begin)


def _is_table(shown: _ShownLines, row: int) -> bool:
    return shown.contexts[row].context is Context.PROSE and "|" in shown.lines[row]


@dataclass(frozen=True, slots=True)
class LinkFound:
    """Where a link leads: a location in the vault, or an address outside of it, or neither, and then what to say."""

    location: Location | None = None
    address: str = ""
    told: str = ""


@dataclass(frozen=True, slots=True)
class AskWindow:
    """The note around a location, or all of it; None where it is gone. With the `query` that found it, its words are
    marked in the neighbours as well, and where it was found by its meaning the sentences nearest to it."""

    kind: ClassVar[str] = "window"
    priority: ClassVar[Priority] = Priority.PASSAGE
    location: Location
    query: str = ""
    view: NoteView = AS_FOUND

    def answer(self, engine: Engine) -> NoteWindow | None:
        snapshot = engine.snapshot
        fragment = snapshot.fragment(self.location.fragment_id)
        if fragment is None:
            fragment = _fragment_at(snapshot, self.location.path, self.location.line)
        if fragment is None:
            return None
        view = replace(self.view, near=self._near(engine, fragment))
        text, language = snapshot.note_text(fragment.path), snapshot.note_info(fragment.path).language
        found = self.location.spans
        if not found and self.query:
            found = engine.spans(fragment.text, self.query, language)
        spans = set_off(fragment.text, found, self.query, language)
        elsewhere = _elsewhere(engine, self.query, text, fragment, view) if self.query else ()
        headings = snapshot.sections(fragment.path)
        return window_around(text, fragment, spans, view, headings=headings, elsewhere=elsewhere)

    def _near(self, engine: Engine, fragment: Fragment) -> tuple[Span, ...]:
        from excerpt.search.nearest_sentences import nearest_sentences

        if not self.location.by_meaning or not self.query:
            return ()
        try:
            return nearest_sentences(engine, self.query, fragment.text)
        except ModelError:
            return ()


def set_off(text: str, spans: Iterable[Span], query: str, language: str) -> list[Span]:
    """Return what is set off of the text that `query` matched: no stop words, where the query has other words."""
    from excerpt.text.words import stop_words_among

    stop_words = stop_words_among(re.findall(r"\w+", query.casefold()), ("en", language))
    return [span for span in spans if text[span.start : span.end].casefold() not in stop_words]


def _fragment_at(snapshot: Corpus, path: str, line: int) -> Fragment | None:
    """The fragment of a note that holds a line or comes next, else its last; None for a note without any."""
    there = snapshot.note_fragments(path)
    return next((one for one in there if line <= one.line_end), there[-1] if there else None)


def _elsewhere(
    engine: Engine, query: str, text: str, fragment: Fragment, view: NoteView
) -> Iterator[tuple[int, Columns]]:
    """Where the query's words stand in the rest of what is shown, by line."""
    lines = text.split("\n")
    first, last = reach_of(fragment, len(lines), view)
    marks = engine.marks(query)
    if not marks.terms:
        return
    language = engine.snapshot.note_info(fragment.path).language
    for begin, end in ((first, fragment.line_start - 1), (fragment.line_end + 1, last)):
        part = "\n".join(lines[begin - 1 : end])
        spans = set_off(part, engine.spans(part, query, language), query, language)
        for row, columns in columns_by_row(part, spans).items():
            for one in columns:
                yield begin + row, one


# --- links ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskLink:
    """Where a link leads that stands in the note `source`."""

    kind: ClassVar[str] = "link"
    priority: ClassVar[Priority] = Priority.PANEL
    source: str
    to: LinkTo

    def answer(self, engine: Engine) -> LinkFound:
        from excerpt.text.links import read_address

        snapshot = engine.snapshot
        link = read_address(self.to.kind, self.to.address)
        if link is None:
            return LinkFound(address=self.to.address)
        path = snapshot.facets.targets.resolve(link.target, self.source)
        if path is None:
            return LinkFound(told=_leads_nowhere(link))
        wanted = line_of(snapshot.note_text(path), snapshot.sections(path), link)
        fragment = _fragment_at(snapshot, path, wanted or 1)
        if fragment is None:
            return LinkFound(told=f"{path} has no text to show.")
        missing = "" if wanted is not None else f"{path} has no part called {link.heading or link.block_id}."
        return LinkFound(Location(fragment.id, path, wanted or fragment.line_start), told=missing)


def _leads_nowhere(link: Link) -> str:
    from excerpt.corpus.links import names_other_file

    if names_other_file(link.target):
        return f"{link.target} is no note: open this one in Obsidian to see it."
    if link.kind is LinkKind.MARKDOWN:
        return f"{link.target} is not in the vault, or is no note."
    return f"There is no note {link.target} in the vault yet."


def line_of(text: str, sections: Sequence[Section], link: Link) -> int | None:
    """The line (1-based) of a note that a link means: of its heading or block, the first one without; None where the
    note has none of that name. A heading may be written as a path of headings, or as an address spells it."""
    if link.block_id:
        block = re.compile(rf"(?:^|\s)\^{re.escape(link.block_id)}\s*$", re.IGNORECASE)
        return next((number for number, line in enumerate(text.split("\n"), 1) if block.search(line)), None)
    if not link.heading:
        return 1
    wanted = [_bare(part) for part in link.heading.split("#")]
    named = [one for one in sections if one.level]
    for one in named:
        path = [_bare(title) for title in one.heading_path]
        if path and path[-1] == wanted[-1] and _holds(path, wanted):
            return one.line_start
    return next((one.line_start for one in named if _bare(one.heading) == wanted[-1]), None)


def _bare(title: str) -> str:
    return "".join(character for character in title.casefold() if character.isalnum())


def _holds(path: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether `wanted` stands in `path` in this order, whatever stands between."""
    rest = iter(path)
    return all(part in rest for part in wanted)
