"""The Markdown parser of notes: blocks, sections with line numbers, links, tags and properties.

markdown-it decides what is a block. Lines that none of its blocks covers (CommonMark parsers drop link reference
definitions) become separate blocks, so that every non-blank line belongs to a heading, the frontmatter or a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import PurePosixPath

from markdown_it.token import Token
from markdown_it.utils import EnvType
from msgspec import Struct, field
from msgspec.structs import replace

from excerpt.base.kinds import BlockKind, Dialect
from excerpt.base.model import Block, CommentLine, Link, Note, Section
from excerpt.base.patterns import lazy_pattern
from excerpt.text.block_parser import TooComplexError, parse_blocks
from excerpt.text.comments import may_have_comments, take_out_comments
from excerpt.text.dialects import read_data
from excerpt.text.frontmatter import Frontmatter, read_frontmatter
from excerpt.text.languages import detect_language
from excerpt.text.links import find_block_id, may_have_links, parse_links_and_tags, plain_heading, property_links
from excerpt.text.properties import inline_properties, merge_properties

MAX_INLINE_TOTAL = 1_000_000
"""Maximum number of characters of a note that are parsed for links; see links.MAX_INLINE."""

_KINDS = {
    "paragraph_open": BlockKind.PARAGRAPH,
    "bullet_list_open": BlockKind.LIST,
    "ordered_list_open": BlockKind.LIST,
    "table_open": BlockKind.TABLE,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "blockquote_open": BlockKind.QUOTE,
    "html_block": BlockKind.HTML,
}
_DIVISIBLE = (BlockKind.LIST, BlockKind.QUOTE, BlockKind.CALLOUT)
_CALLOUT = lazy_pattern(r"\[!\w[^\]\n]*\]")


def normalise_newlines(text: str) -> str:
    """Return `text` with CRLF and CR replaced by LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def parse_note(path: str, text: str, language: str = "", dialect: Dialect = Dialect.MARKDOWN) -> Note:
    """Parse the `text` of the note at `path`. Never raises: problems become warnings of the note.

    `language` is an ISO 639-1 code, or "" to detect it. The title is the file name if the frontmatter has none. Lines
    of data of another program are blank in the text of the note, and comments are not in it.
    """
    data = read_data(normalise_newlines(text.removeprefix("\ufeff")), path, dialect)
    front = read_frontmatter(data.text)
    text, comments = split_comments(data.text, front.lines)
    lines = text.split("\n")
    warnings = list(front.warnings)
    body = _parse_body(lines, front.lines, warnings)
    links = [link for number in range(front.lines) for link in property_links(lines[number], number + 1)]
    body.parts = [*_make_unread_blocks(front.unread_lines), *body.parts] or [_block_of_empty_note(front)]
    return Note(
        path=path,
        title=front.title or data.title or PurePosixPath(path).stem,
        text=text,
        aliases=tuple(dict.fromkeys((*front.aliases, *data.aliases))),
        tags=tuple(dict.fromkeys((*front.tags, *data.tags, *body.tags))),
        properties=merge_properties(front.properties, (*data.properties, *body.properties)),
        language=language or detect_language("\n".join(lines[front.lines : front.lines + _LANGUAGE_LINES])),
        sections=_build_sections(body, lines, front),
        links=(*links, *data.links, *body.links),
        warnings=tuple(warnings),
        comments=comments,
    )


def split_comments(text: str, skipped: int = 0) -> tuple[str, tuple[CommentLine, ...]]:
    """Return a Markdown text without its comments, and the comments; the first `skipped` lines are frontmatter."""
    if not may_have_comments(text):
        return text, ()
    lines = text.split("\n")
    tokens: list[Token] = []
    with suppress(Exception):  # a note that cannot be parsed has no code
        tokens = parse_blocks("\n".join(lines[skipped:]), {})
    code = [
        (token.map[0] + skipped, token.map[1] + skipped)
        for token in tokens
        if token.map and (token.type in ("fence", "code_block") or token.markup == "$$")
    ]
    return take_out_comments(text, skipped, code)


_LIST_ITEM = lazy_pattern(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")


def find_block(path: str, text: str, block_id: str) -> tuple[int, int] | None:
    """Return the first and last line of the block that ends with `^block_id` in a note; None if no block has that id.

    For an id in a list, the block is the item with the id and the items under it, unless the id stands on a line of its
    own below the list. For an id of a heading, it is the heading's section.
    """
    named = re.compile(rf"(?:^|[ \t])\^{re.escape(block_id)}[ \t]*$", re.IGNORECASE)
    lines = text.split("\n")
    # Without the line, no block has the id: most notes need not be parsed.
    candidates = [number for number, line in enumerate(lines, 1) if named.search(line)]
    if not block_id or not candidates:
        return None
    sections = parse_note(path, text).sections
    blocks = [block for section in sections for block in section.blocks]
    for number in candidates:
        index = next((i for i, block in enumerate(blocks) if block.line_start <= number <= block.line_end), None)
        if index is None:
            section = next((each for each in sections if each.level and each.line_start == number), None)
            if section is not None:
                return section.line_start, section.line_end
        elif blocks[index].kind is not BlockKind.CODE:
            block = blocks[index]
            is_alone = lines[number - 1].strip().startswith("^")
            if is_alone and block.line_start == number and index:
                return blocks[index - 1].line_start, number  # the parser joins only the first id to a block
            in_item = block.kind is BlockKind.LIST and not is_alone
            return _find_item_lines(lines, number, block) if in_item else (block.line_start, block.line_end)
    return None


def _find_item_lines(lines: Sequence[str], number: int, block: Block) -> tuple[int, int]:
    """Return the first and last line of the list item with line `number` of a list, including the items under it."""
    first = number
    while first > block.line_start and not _LIST_ITEM.match(lines[first - 1]):
        first -= 1
    match = _LIST_ITEM.match(lines[first - 1])
    indent = len(match["indent"].expandtabs(4)) if match else 0
    last = first
    for line_number in range(first + 1, block.line_end + 1):
        line = lines[line_number - 1].expandtabs(4)
        if line.strip():
            if line_number > number and len(line) - len(line.lstrip()) <= indent:
                break
            last = line_number
    return first, last


_LANGUAGE_LINES = 400  # more than detect_language examines in nearly all notes


class _Heading(Struct):
    """A heading on the 1-based lines `first` to `last`; an underlined (setext) heading has two lines or more."""

    level: int
    text: str
    first: int
    last: int


class _Body(Struct):
    """The content of a note after its frontmatter, in the order of the lines."""

    parts: list[_Heading | Block] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    properties: list[tuple[str, str]] = field(default_factory=list)


def _parse_body(lines: Sequence[str], frontmatter_lines: int, warnings: list[str]) -> _Body:
    env: EnvType = {}
    source = "\n".join(lines[frontmatter_lines:])
    try:
        tokens = parse_blocks(source, env)
    except TooComplexError:
        warnings.append("The note is too complex to parse. It was read as plain paragraphs.")
        tokens = []
    except Exception:  # a defect of the parser must not cost more than one note's structure
        warnings.append("The note could not be parsed. It was read as plain paragraphs.")
        tokens = []
    body = _Body()
    _add_blocks(tokens, frontmatter_lines, env, body)
    if warning := _add_inline_parts(tokens, lines, frontmatter_lines, env, body):
        warnings.append(warning)
    body.parts = list(_fill_gaps(body.parts, lines, frontmatter_lines))
    return body


def _add_blocks(tokens: list[Token], frontmatter_lines: int, env: EnvType, body: _Body) -> None:
    outer = [i for i, token in enumerate(tokens) if not token.level]
    for position, i in enumerate(outer):
        token = tokens[i]
        if token.nesting < 0 or not token.map:
            continue
        first, last = token.map[0] + 1 + frontmatter_lines, token.map[1] + frontmatter_lines
        if token.type == "heading_open":
            text = plain_heading(tokens[i + 1].content, env)
            body.parts.append(_Heading(int(token.tag[1]), text, first, last))
            continue
        kind = _KINDS.get(token.type, BlockKind.OTHER)
        # An opening token of the outermost level is followed, on that level, by its closing token.
        inner = tokens[i + 1 : outer[position + 1]] if token.nesting else []
        if kind is BlockKind.PARAGRAPH and (identifier := find_block_id(inner[0].content)):
            alone = inner[0].content.strip() == f"^{identifier}"
            previous = body.parts[-1] if body.parts else None
            if alone and isinstance(previous, Block) and not previous.block_id:
                # An id on a line of its own names the list, table or quote above it.
                body.parts[-1] = replace(previous, line_end=last, block_id=identifier)
                continue
            body.parts.append(Block(kind, first, last, identifier))
            continue
        if kind is BlockKind.QUOTE and inner and _CALLOUT.match(next((t.content for t in inner if t.content), "")):
            kind = BlockKind.CALLOUT
        ids = (
            identifier
            for t in inner
            if "^" in t.content and t.type == "inline" and (identifier := find_block_id(t.content))
        )
        cuts: tuple[int, ...] = ()
        if kind in _DIVISIBLE:
            cuts = tuple(t.map[0] + 1 + frontmatter_lines for t in inner if t.level == 1 and t.nesting >= 0 and t.map)[
                1:
            ]
        body.parts.append(Block(kind, first, last, next(ids, None), cuts))


_LABELLED_WIKILINK = lazy_pattern(r"\[\[[^\[\]|\\]+\|[^\[\]]+\]\]")


def _add_inline_parts(
    tokens: list[Token], lines: Sequence[str], frontmatter_lines: int, env: EnvType, body: _Body
) -> str:
    """Add the links, tags and inline properties of paragraphs and cells to `body`; return a warning, "" for none."""
    budget = MAX_INLINE_TOTAL
    in_table, row_line = False, 0
    for token in tokens:
        if token.type in ("table_open", "table_close"):
            in_table = token.nesting > 0
        if token.type != "inline" or not token.map:
            continue
        if "::" in token.content:
            body.properties += inline_properties(token.content)
        if not may_have_links(token.content):
            continue
        number = token.map[0] + 1 + frontmatter_lines
        content = token.content
        if in_table and _LABELLED_WIKILINK.search(lines[number - 1]):
            # The bar of `[[note|label]]` divides cells for the parser, so the whole row is read, once.
            content = "" if row_line == number else lines[number - 1]
            row_line = number
        budget -= len(content)
        if budget < 0:
            return "The note is too large. Links and tags near its end were not read."
        inline = parse_links_and_tags(content, number, env)
        body.links += inline.links
        body.tags += inline.tags
    return ""


def _fill_gaps(
    parts: list[_Heading | Block], lines: Sequence[str], frontmatter_lines: int
) -> Iterator[_Heading | Block]:
    """Yield `parts` without blank edges and overlaps, and a block for each run of lines between them."""
    at = frontmatter_lines + 1
    for part in parts:
        if isinstance(part, _Heading):
            yield from _make_uncovered_blocks(lines, at, part.first - 1)
            yield part
            at = part.last + 1
            continue
        first, last = max(part.line_start, at), part.line_end
        while last >= first and not lines[last - 1].strip():
            last -= 1
        while first <= last and not lines[first - 1].strip():
            first += 1
        if first <= last:
            yield from _make_uncovered_blocks(lines, at, first - 1)
            yield replace(part, line_start=first, line_end=last)
            at = last + 1
    yield from _make_uncovered_blocks(lines, at, len(lines))


def _block_of_empty_note(front: Frontmatter) -> Block:
    """Return the only block of a note without text, so that the note can be found: its frontmatter or first line."""
    if front.title or front.aliases or front.tags or front.properties:
        return Block(BlockKind.OTHER, 2, front.lines - 1)
    return Block(BlockKind.OTHER, 1, max(front.lines, 1))


def _make_unread_blocks(lines: Sequence[int]) -> Iterator[Block]:
    """Yield a block for each run of adjacent `lines`, which ascend."""
    for _, run in groupby(enumerate(lines), lambda numbered: numbered[1] - numbered[0]):
        numbers = [number for _, number in run]
        yield Block(BlockKind.OTHER, numbers[0], numbers[-1])


def _make_uncovered_blocks(lines: Sequence[str], first: int, last: int) -> Iterator[Block]:
    """Yield a block for each run of non-blank lines among `first`..`last`."""
    start = None
    for number in range(first, last + 2):
        blank = number > last or not lines[number - 1].strip()
        if blank and start is not None:
            yield Block(BlockKind.OTHER, start, number - 1)
            start = None
        elif not blank and start is None:
            start = number


def _build_sections(body: _Body, lines: Sequence[str], front: Frontmatter) -> tuple[Section, ...]:
    """Return the sections of a note: the text before the first heading (always), and one section per heading."""
    last = len(lines)
    while last > 1 and not lines[last - 1].strip():
        last -= 1
    headings: list[_Heading | None] = [None]
    blocks: list[list[Block]] = [[]]
    for part in body.parts:
        if isinstance(part, _Heading):
            headings.append(part)
            blocks.append([])
        else:
            blocks[-1].append(part)
    ends = _find_section_ends([h for h in headings if h], lines, last)
    path: list[tuple[int, str]] = []
    start = blocks[0][0].line_start if blocks[0] else min(front.lines + 1, len(lines))
    opening_end = blocks[0][-1].line_end if blocks[0] else start
    sections = [Section(0, 0, "", (), start, opening_end, tuple(blocks[0]))]
    for ordinal, heading in enumerate(headings):
        if heading is None:
            continue
        while path and path[-1][0] >= heading.level:
            path.pop()
        path.append((heading.level, heading.text))
        titles = tuple(text for _, text in path if text)
        end = max(ends[ordinal - 1], heading.last)
        own = tuple(blocks[ordinal])
        sections.append(Section(ordinal, heading.level, heading.text, titles, heading.first, end, own))
    return tuple(sections)


def _find_section_ends(headings: list[_Heading], lines: Sequence[str], last: int) -> list[int]:
    """Return, for each heading, the last non-blank line before the next heading of its level or higher."""
    ends = [last] * len(headings)
    following: list[tuple[int, int]] = []  # (level, last line before it) of the headings below, nearest last
    for i in range(len(headings) - 1, -1, -1):
        heading = headings[i]
        while following and following[-1][0] > heading.level:
            following.pop()
        if following:
            ends[i] = following[-1][1]
        before = heading.first - 1
        while before > 0 and not lines[before - 1].strip():
            before -= 1
        following.append((heading.level, before))
    return ends
