"""The reader of subtitles, WebVTT and SubRip: what is said, by the time at which it begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from msgspec import Struct

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.base.patterns import lazy_pattern
from excerpt.text.markdown import normalise_newlines
from excerpt.vault.readers import PagedText, ReadOptions, paged_note
from excerpt.vault.readers.markdown import decode

_TIME = lazy_pattern(r"[ \t]*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,]\d{1,3}[ \t]*-->")
_VOICE = lazy_pattern(r"<v(?:\.[\w.-]+)?[ \t]([^<>]+)>")
_TAG = lazy_pattern(r"</?(?:[bciuv]|ruby|rt|lang|font|\d)[^<>]{0,100}>|\{\\[^{}]{0,100}\}", re.IGNORECASE)
_SECTION_SECONDS = 60
"""Seconds of speech that make a section, whose heading is the time of its beginning."""
_MAX_TEXT = 5_000_000
_MAX_LINE = 2_000
_MAX_CUE_LINES = 20


class SubtitleReader(Struct, frozen=True):
    """The reader of subtitles. A line that several successive captions show, as in scrolling captions, is read once."""

    kind: str = "subtitles"
    version: str = "1"
    extensions: tuple[str, ...] = (".vtt", ".srt")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note with a section for each minute; see Reader.read."""
        text, warning = decode(data)
        warnings = [warning] if warning else []
        parts: list[PagedText] = []
        said: list[str] = []
        begin = size = 0
        for seconds, line in _cue_lines(text):
            if said and seconds >= begin + _SECTION_SECONDS:
                parts.append(_make_section(begin, said))
                said = []
            if not said:
                begin = seconds
            said.append(line)
            size += len(line)
            if size > _MAX_TEXT:
                warnings.append(f"Only the first {_MAX_TEXT // 1_000_000} MB of its text are read.")
                break
        if said:
            parts.append(_make_section(begin, said))
        if not parts:
            raise ReadError("The file has no subtitles.")
        return paged_note(path, parts, options, warnings=warnings)


def _cue_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each new line of speech, with the second at which its cue begins."""
    seconds, is_in_cue = 0, False
    before: list[str] = []  # the lines of the cue before, of which captions that roll show the last again
    cue: list[str] = []
    for line in normalise_newlines(text).split("\n"):
        if match := _TIME.match(line):
            seconds = int(match[1] or 0) * 3600 + int(match[2]) * 60 + int(match[3])
            before, cue, is_in_cue = cue, [], True
        elif not line.strip():
            is_in_cue = False
        elif is_in_cue:
            said = " ".join(unescape(_TAG.sub("", _VOICE.sub(r"\1: ", line[:_MAX_LINE]))).split())
            if said and said not in before and said not in cue:
                yield seconds, said
            cue = [*cue[-_MAX_CUE_LINES:], said]


def _make_section(begin: int, said: list[str]) -> PagedText:
    hours, rest = divmod(begin, 3600)
    heading = f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
    return PagedText(f"t={begin}", (heading,), "\n".join(said))
