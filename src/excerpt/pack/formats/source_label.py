"""The label of a pack's source, the same in every format: headings, lines, digest and links back.

All of it is vault text, so it is kept to one line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from excerpt.locations import format_kind
from excerpt.model import Pack, PackResult
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.text.display import format_source_location, line_range, title_and_headings, visible_line

_DIGEST_CHARACTERS = 6  # of 16 characters: enough for a reader's check


def headings_of(pack: Pack) -> str:
    """Return title and heading path on one line."""
    return visible_line(title_and_headings(pack.title, pack.heading_path))


def lines_of(pack: Pack) -> str:
    """Return a range of lines such as `12-14`, or `12` for one line."""
    return line_range(pack.line_start, pack.line_end)


def location_of_pack(pack: Pack) -> str:
    """Return the path with lines, or for an attachment its location and kind: `paper.pdf#page=12 (PDF, page 12)`."""
    location_text = format_source_location(pack.path, pack.line_start, pack.line_end, pack.place)
    return f"{location_text} ({format_kind(pack.kind, pack.place)})" if pack.kind else location_text


def digest_of_bytes(pack: Pack) -> str:
    return pack.digest[:_DIGEST_CHARACTERS]


def on_one_line(question: str) -> str:
    return visible_line(" ".join(question.split()))


@dataclass(frozen=True, slots=True)
class Links:
    """Links from a pack to its vault, whose folder is `folder` (absolute)."""

    folder: Path

    def obsidian(self, pack: Pack) -> str:
        """Return the address that opens the note in Obsidian, by the name of the vault's folder; "" for a memory."""
        if memory_id_of(pack.path) is not None:
            return ""
        at = _encode(f"#{pack.place}") if pack.place else ""
        return f"obsidian://open?vault={_encode(self.folder.name)}&file={_encode(pack.path)}{at}"

    def with_link(self, result: PackResult) -> PackResult:
        """Return the result with each pack's address in Obsidian."""
        return replace(result, packs=tuple(replace(pack, link=self.obsidian(pack)) for pack in result.packs))

    def file(self, pack: Pack) -> str:
        """Return `file:line`, which editors and terminals accept, or `file#place`; for a memory its name in packs."""
        if memory_id_of(pack.path) is not None:
            return pack.path
        if pack.kind:
            return f"{self.folder / pack.path}{f'#{pack.place}' if pack.place else ''}"
        return f"{self.folder / pack.path}:{pack.line_start}"


def _encode(text: str) -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe="")
