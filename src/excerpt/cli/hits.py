"""Print the hits of a search as text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import click

from excerpt.base.kinds import Confidence
from excerpt.base.locations import format_kind
from excerpt.base.model import Fragment, Hit
from excerpt.cli.printing import MAX_COLUMNS, output_columns, print_line
from excerpt.text.columns import GAIN_CHARACTER, LOSS_CHARACTER, truncate, wrap
from excerpt.text.display import (
    file_address,
    format_count,
    format_percent,
    format_source_location,
    knows_links,
    link_sequence,
    title_and_headings,
    visible_line,
)
from excerpt.tui.picking import path_for_shell
from excerpt.vault.known_vaults import VaultFolders

INDENT = " " * 5
"""Indent of the lines below a hit's first line."""
_SNIPPET_LINES = 2  # below each hit


def confidence_label(hit: Hit) -> str:
    """Return the word for a hit's confidence (how likely the hit answers the query); "" if unknown or nothing.

    That nothing answers is said of the whole list, where it may be unsure.
    """
    return "" if hit.confidence in (None, Confidence.NOTHING) else str(hit.confidence)


def print_hits(
    hits: Sequence[Hit], folders: VaultFolders | None = None, explain: Callable[[int], None] | None = None
) -> None:
    """Print hits, each with its rank, title, location, tokens, score, confidence and a snippet around its matches.

    `folders` are the vaults, None for stores. `explain` is called with the index of each hit, to print more below it.
    """
    from excerpt.text.snippet import snippet

    width = output_columns() - len(INDENT)
    for rank, hit in enumerate(hits, 1):
        fragment = hit.fragment
        if rank > 1:
            print_line("")
        name = _format_name(fragment)
        print_line(f"{style_text(f'{rank:>3}', fg='cyan')}  {style_text(visible_line(name), bold=True)}")
        lines = format_source_location(fragment.path, fragment.line_start, fragment.line_end, fragment.place)
        sure = f" · {label}" if (label := confidence_label(hit)) else ""
        kind = f" · {format_kind(fragment.kind, fragment.place)}" if fragment.kind else ""
        size = format_count(fragment.tokens, "token")
        day = f" · {hit.date}" if hit.date else ""
        print_line(
            f"{INDENT}{style_path(lines, fragment.path, folders)}{kind}{day} · {size} · score {hit.score:.3f}{sure}"
        )
        if hit.replaced is not None:
            print_line(f"{INDENT}{style_text(visible_line(hit.replaced.mark), fg='yellow')}")
        if (source := hit.linked_from) is not None:
            print_line(f"{INDENT}{truncate(visible_line(f'{source.phrase} “{source.title}”'), width)}")
        room = width * _SNIPPET_LINES - 10
        text, matches = snippet(fragment.text, hit.spans, room)
        text = truncate(text, room)
        for start, end in wrap(text, width):
            print_line(f"{INDENT}{_highlight(text, start, end, matches)}")
        if explain is not None:
            explain(rank - 1)


def _format_name(fragment: Fragment) -> str:
    """Return the title and headings of a fragment; before a title of one word stands its file or folder name."""
    name = title_and_headings(fragment.title, fragment.heading_path)
    if len(name.split()) > 1:
        return name
    file = PurePosixPath(fragment.path)
    above = file.parent.name if file.stem.casefold() == name.casefold() else file.stem
    return title_and_headings(above, (name,)) if above else name


def print_hit_lines(hits: Sequence[Hit], folders: VaultFolders | None) -> None:
    """Print one line for each hit, as grep does: path, line, and the headings with a snippet, separated by colons.

    With the `folders` of the vaults, the path is a file's whole path; `folders` is None for a store.
    """
    from excerpt.text.snippet import snippet

    for hit in hits:
        fragment = hit.fragment
        path = fragment.path if folders is None else path_for_shell(*folders.locate(fragment.path))
        names = title_and_headings(fragment.title, fragment.heading_path)
        text, _ = snippet(fragment.text, hit.spans, MAX_COLUMNS)
        print_line(visible_line(f"{path}:{fragment.line_start}:{names} · {truncate(text, MAX_COLUMNS)}"))


def format_bar(part: float, maximum: float, columns: int) -> str:
    """Return a bar of block characters for `part`; a part of `maximum` fills `columns`.

    A negative part is drawn with lighter characters.
    """
    return (
        (LOSS_CHARACTER if part < 0 else GAIN_CHARACTER) * round(abs(part) / maximum * columns) if maximum > 0 else ""
    )


def format_share(value: float) -> str:
    """Return a share as a percentage: 0.363 as "36 %"."""
    return format_percent(value)


def style_text(text: str, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
    """Return `text` with terminal styles (`fg` is a colour); unchanged if stdout is no terminal or NO_COLOR is set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, fg=fg, bold=bold, dim=dim)


def style_path(text: str, path: str, folders: VaultFolders | None) -> str:
    """Return `text`, which names the note at `path`, in green, and as a link to its file if the terminal knows links.

    `folders` are the vaults; None for a store, which has no files.
    """
    shown = style_text(text, fg="green")
    if folders is None or not sys.stdout.isatty() or not knows_links(os.environ):
        return shown
    return f"{link_sequence(file_address(Path(*folders.locate(path))))}{shown}{link_sequence('')}"


def _highlight(text: str, start: int, end: int, matches: Sequence[tuple[int, int]]) -> str:
    """Return `text[start:end]` with the matches in it highlighted; matches are (start, end) in `text`."""
    out, offset = [], start
    for match_start, match_end in matches:
        first, last = max(match_start, offset), min(match_end, end)
        if first < last:
            out += [text[offset:first], style_text(text[first:last], fg="yellow", bold=True)]
            offset = last
    return "".join((*out, text[offset:end]))
