"""The parts of a source's label that all pack formats share: headings, lines, digest and links.

Headings and paths come from the vault, so control characters in them are made visible and they stay on one line.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from msgspec import Struct

from excerpt.base.locations import format_kind
from excerpt.base.model import Pack, PackResult
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.text.display import format_source_location, line_range, title_and_headings, visible_line
from excerpt.vault.known_vaults import VaultFolders

UNKNOWN_DATE = "unknown"
"""What stands in place of the day of a note's last change, if its file was copied and the note gives none."""
_SHOWN_DIGEST_CHARACTERS = 6  # of 16: enough for a reader to compare


def format_headings(pack: Pack) -> str:
    """Return a pack's title and heading path on one line."""
    return visible_line(title_and_headings(pack.title, pack.heading_path))


def format_mark(pack: Pack) -> str:
    """Return the mark of a pack of a replaced note on one line, such as "replaced by Pricing 2026.md"; else ""."""
    return visible_line(pack.replaced.mark) if pack.replaced is not None else ""


def format_pack_lines(pack: Pack) -> str:
    """Return a pack's lines, such as `12-14`, or `12` for one line."""
    return line_range(pack.line_start, pack.line_end)


def format_pack_location(pack: Pack) -> str:
    """Return a pack's path with its lines, such as `Sync.md:8-12`.

    An attachment has its place and kind instead of lines: `paper.pdf#page=12 (PDF, page 12)`.
    """
    location_text = format_source_location(pack.path, pack.line_start, pack.line_end, pack.place)
    return f"{location_text} ({format_kind(pack.kind, pack.place)})" if pack.kind else location_text


def shorten_digest(pack: Pack) -> str:
    """Return the beginning of a pack's digest, as it is shown."""
    return pack.digest[:_SHOWN_DIGEST_CHARACTERS]


def join_lines(question: str) -> str:
    """Return a question on one line, with control characters made visible."""
    return visible_line(" ".join(question.split()))


class PackLinks(Struct, frozen=True):
    """Formats links from packs to their notes; `folders` has the absolute paths of the vaults."""

    folders: VaultFolders

    def format_obsidian_link(self, pack: Pack) -> str:
        """Return the `obsidian://` address of a pack's note; "" for a memory, which is not a note.

        Obsidian finds the vault by the name of its folder.
        """
        if memory_id_of(pack.path) is not None:
            return ""
        at = _quote_for_url(f"#{pack.place}") if pack.place else ""
        folder, path = self.folders.locate(pack.path)
        return f"obsidian://open?vault={_quote_for_url(folder.name)}&file={_quote_for_url(path)}{at}"

    def add_links(self, result: PackResult) -> PackResult:
        """Return the result with the `obsidian://` address of each pack's note in its field `link`."""
        return replace(
            result, passages=tuple(replace(pack, link=self.format_obsidian_link(pack)) for pack in result.passages)
        )

    def format_file_location(self, pack: Pack) -> str:
        """Return the absolute path of a pack's note with its line, as editors accept it: `/notes/Sync.md:8`.

        An attachment has its place instead of a line: `/notes/paper.pdf#page=12`. A memory has its name in packs.
        """
        if memory_id_of(pack.path) is not None:
            return pack.path
        folder, path = self.folders.locate(pack.path)
        if pack.kind:
            return f"{folder / path}{f'#{pack.place}' if pack.place else ''}"
        return f"{folder / path}:{pack.line_start}"


def _quote_for_url(text: str) -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe="")
