"""The resolved links of an index in a file beside it, so that a command need not read and resolve all of them.

A reader writes the file after it has resolved links. A file that is missing, damaged or of another index is not used;
of an older generation, the links of changed notes are resolved again.
"""

from __future__ import annotations

import hashlib
import zlib
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from excerpt.base.state_files import read_limited, swap_file
from excerpt.corpus.facets import CachedLinks, NumberedNotes
from excerpt.corpus.links import LINKS_VERSION

LINKS_FILE = "links"
_MAX_BYTES = 1 << 30
_CRC_BYTES = 4


class _Content(Struct, frozen=True, array_like=True):
    """The content of the file after its checksum: what it belongs to, and arrays of little-endian integers."""

    version: int
    generation: int
    segments: frozenset[str]
    paths: bytes
    depends_on_contents: bool
    catalog_numbers: bytes
    first_fragment_keys: bytes
    sources: bytes
    targets: bytes


class LinkFile(Struct, frozen=True):
    """The file of links in the folder `index`, for a generation with these segments of words."""

    index: Path
    generation: int
    segments: frozenset[str]

    def load(self, notes: NumberedNotes) -> CachedLinks | None:
        """Return the stored links, as those of `notes` if the generation is the same.

        Returns None if nothing usable is stored, or if notes were added, removed or renamed since.
        """
        try:
            data = read_limited(self.index / LINKS_FILE, _MAX_BYTES)
            if zlib.crc32(data[_CRC_BYTES:]) != int.from_bytes(data[:_CRC_BYTES], "little"):
                return None
            content = msgspec.msgpack.decode(data[_CRC_BYTES:], type=_Content)
        except (OSError, msgspec.DecodeError):
            return None
        # Without a common segment the index was rebuilt, and a key may mean another fragment.
        is_of_index = content.version == LINKS_VERSION and not self.segments.isdisjoint(content.segments)
        if not is_of_index or content.paths != _digest_paths(notes):
            return None
        stored_notes = NumberedNotes(
            notes.paths,
            np.frombuffer(content.catalog_numbers, "<i8"),
            np.frombuffer(content.first_fragment_keys, "<i8"),
        )
        links = np.frombuffer(content.sources, "<i4"), np.frombuffer(content.targets, "<i4")
        is_current = content.generation == self.generation
        return CachedLinks(notes if is_current else stored_notes, links, content.depends_on_contents)

    def save(self, links: CachedLinks) -> None:
        """Replace the stored links. Does nothing if the folder cannot be written to."""
        sources, targets = links.links
        content = _Content(
            LINKS_VERSION,
            self.generation,
            self.segments,
            _digest_paths(links.notes),
            links.depends_on_contents,
            links.notes.catalog_numbers.astype("<i8").tobytes(),
            links.notes.first_fragment_keys.astype("<i8").tobytes(),
            sources.astype("<i4").tobytes(),
            targets.astype("<i4").tobytes(),
        )
        data = msgspec.msgpack.encode(content)
        with suppress(OSError):
            swap_file(self.index / LINKS_FILE, zlib.crc32(data).to_bytes(_CRC_BYTES, "little") + data)


def _digest_paths(notes: NumberedNotes) -> bytes:
    return hashlib.blake2b("\0".join(notes.paths).encode("utf-8", "surrogatepass"), digest_size=16).digest()
