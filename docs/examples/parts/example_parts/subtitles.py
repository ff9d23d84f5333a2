"""A reader of subtitles: each caption is a place in the film."""

import re

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.vault.readers import PagedText, ReadOptions, paged_note

CAPTION = re.compile(r"(\d+)\n(\d\d:\d\d:\d\d),\d+ --> .*\n((?:.+\n?)+)")


class SubtitleReader:
    kind = "srt"
    version = "1"  # raised when it reads the same file in another way
    extensions = (".srt",)

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        captions = CAPTION.findall(data.decode("utf-8", "replace"))
        if not captions:
            raise ReadError("There are no captions in it.")
        parts = [PagedText(f"t={time}", (time,), text) for _, time, text in captions]
        return paged_note(path, parts, options)
