"""Readers of canvases (Obsidian), Excalidraw drawings and Jupyter notebooks, which are JSON files.

Only the texts of cards, text elements and cells are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.errors import ReadError
from excerpt.base.kinds import LinkKind
from excerpt.base.model import CommentLine, Link, Note
from excerpt.text.comments import may_have_comments
from excerpt.vault.readers import PagedText, ReadOptions, clean_text, convert_damage_errors, paged_note
from excerpt.vault.readers.markdown import decode

_LONGEST_HEADING = 80
_MAX_OUTPUT = 2_000
"""Maximum number of characters of a cell's output that is read: more is data."""


def _read_json(data: bytes, format_name: str) -> Any:
    text, _ = decode(data)
    if not text.strip():
        return {}  # as Obsidian makes a new canvas
    with convert_damage_errors(format_name):
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ReadError(f"The file is not a valid {format_name}, despite its name.")
    return content


def _list_dicts(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text_or_empty(value: object) -> str:
    """Return `value` if it is a string, the joined lines if it is a list, "" for anything else."""
    if isinstance(value, list):
        return "".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""


def _format_heading(text: str) -> str:
    """Return the heading of a card's or cell's `text`: its first line if that is short, else ""."""
    first = text.strip().partition("\n")[0].lstrip("# ").strip()
    return first if len(first) <= _LONGEST_HEADING else ""


# --- canvas -----------------------------------------------------------------------------------------------------------


class CanvasReader(Struct, frozen=True):
    """The reader of canvases (JSON Canvas 1.0, jsoncanvas.org).

    Each card is a section, under the label of the card's group. A card that shows a file becomes a link to it. The
    label of an arrow is added to the card where the arrow begins. Comments in a card are for its author, as in a note.
    """

    kind: str = "canvas"
    version: str = "2"
    extensions: tuple[str, ...] = (".canvas",)

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note with a section for each card; see Reader.read."""
        board = _read_json(data, "canvas")
        nodes = _list_dicts(board.get("nodes"))
        groups = [node for node in nodes if node.get("type") == "group" and _text_or_empty(node.get("label")).strip()]
        cards = [_split_card(node) for node in nodes]
        names = {
            _text_or_empty(node.get("id")): _format_heading(text) for node, (text, _) in zip(nodes, cards, strict=True)
        }
        arrows = _list_arrow_labels(_list_dicts(board.get("edges")), names)
        parts: list[PagedText] = []
        links: list[Link] = []
        for node, (card, comments) in zip(nodes, cards, strict=True):
            own, at = _text_or_empty(node.get("id")), len(parts) + 1
            # The lines of comments count from the card's first one, even if nothing else is in it.
            text = "\n\n".join((*([card] if card or comments else ()), *arrows.get(own, ())))
            if node.get("type") == "file" and _text_or_empty(node.get("file")):
                heading = _text_or_empty(node.get("subpath")).removeprefix("#") or None
                links.append(Link(LinkKind.EMBED, _text_or_empty(node.get("file")), at, heading))
            links += _find_links(text, at)
            if text.strip() or comments or (links and links[-1].line == at):
                above = (_text_or_empty(group["label"]).strip() for group in groups if _contains(group, node))
                headings = (*above, _format_heading(card))
                parts.append(PagedText(f"node={own}" if own else "", tuple(filter(None, headings)), text, comments))
        return paged_note(path, parts, options, links=links, can_be_empty=True)


def _split_card(node: Mapping[str, Any]) -> tuple[str, tuple[CommentLine, ...]]:
    """Return the text or web address of a card without its comments, and the comments; "" for other cards."""
    kind = node.get("type")
    if kind != "text":
        return (_text_or_empty(node.get("url")) if kind == "link" else ""), ()
    text = _text_or_empty(node.get("text"))
    if not may_have_comments(text):
        return text, ()
    from excerpt.text.markdown import split_comments

    return split_comments(clean_text(text))


def _list_arrow_labels(edges: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the labels of arrows ("label → target"), by the id of the card where the arrow begins.

    `names` are the headings of cards by id.
    """
    targets: dict[str, list[str]] = {}
    for edge in edges:
        if label := _text_or_empty(edge.get("label")).strip():
            to = names.get(_text_or_empty(edge.get("toNode")), "")
            text = clean_text(f"{label} → {to}" if to else label)
            targets.setdefault(_text_or_empty(edge.get("fromNode")), []).append(text)
    return targets


def _contains(group: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    if group is node:
        return False
    try:
        x, y = node["x"] + node["width"] / 2, node["y"] + node["height"] / 2
        return bool(0 <= x - group["x"] <= group["width"] and 0 <= y - group["y"] <= group["height"])
    except (KeyError, TypeError):
        return False


def _find_links(text: str, line: int) -> Iterator[Link]:
    from excerpt.text.links import may_have_links, parse_links_and_tags

    if may_have_links(text):
        yield from (replace(link, line=line) for link in parse_links_and_tags(text, line, {}).links)


# --- drawings ---------------------------------------------------------------------------------------------------------


class DrawingReader(Struct, frozen=True):
    """The reader of Excalidraw drawings, which are JSON files or notes of Obsidian's Excalidraw plugin."""

    kind: str = "drawing"
    version: str = "2"
    extensions: tuple[str, ...] = (".excalidraw.md", ".excalidraw")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note with the texts of the drawing; see Reader.read."""
        text, _ = decode(data)
        if path.lower().endswith(".md"):
            from excerpt.text.dialects import without_drawing
            from excerpt.text.markdown import normalise_newlines, parse_note

            return parse_note(path, without_drawing(normalise_newlines(text)).rstrip() + "\n", options.language)
        elements = _list_dicts(_read_json(data, "drawing").get("elements"))
        written = [
            _text_or_empty(each.get("originalText") or each.get("text"))
            for each in elements
            if not each.get("isDeleted")
        ]
        return paged_note(path, [PagedText("", (), "\n\n".join(filter(None, written)))], options)


# --- notebooks --------------------------------------------------------------------------------------------------------


class NotebookReader(Struct, frozen=True):
    """The reader of Jupyter notebooks (nbformat 4, and cells of 3).

    Each cell is a section, numbered from 1, under the headings of the Markdown cells before it.
    """

    kind: str = "notebook"
    version: str = "1"
    extensions: tuple[str, ...] = (".ipynb",)

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note with a section for each cell; see Reader.read."""
        book = _read_json(data, "notebook")
        cells = _list_dicts(book.get("cells")) or [
            cell for sheet in _list_dicts(book.get("worksheets")) for cell in _list_dicts(sheet.get("cells"))
        ]
        parts: list[PagedText] = []
        links: list[Link] = []
        open_headings: list[tuple[int, str]] = []
        for number, cell in enumerate(cells, start=1):
            source = _text_or_empty(cell.get("source") or cell.get("input"))
            text = "\n\n".join(filter(None, (source.strip("\n"), *_short_outputs(_list_dicts(cell.get("outputs"))))))
            if cell.get("cell_type") in ("markdown", "heading"):
                for level, heading in _list_headings(source):
                    open_headings = [item for item in open_headings if item[0] < level] + [(level, heading)]
                links += _find_links(source, len(parts) + 1)
            headings = (*(heading for _, heading in open_headings), f"Cell {number}")
            parts.append(PagedText(f"cell={number}", headings, text))
        return paged_note(path, parts, options, links=links)


def _list_headings(source: str) -> list[tuple[int, str]]:
    return [(len(mark), text.strip()) for mark, text in re.findall(r"^(#{1,6})[ \t]+(.+)$", source, re.M)]


def _short_outputs(outputs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the text outputs of a cell that are short."""
    for output in outputs:
        shown = output.get("data")
        text = _text_or_empty(output.get("text")) or _text_or_empty(
            shown.get("text/plain") if isinstance(shown, dict) else ""
        )
        if 0 < len(text.strip()) <= _MAX_OUTPUT:
            yield text.strip("\n")
