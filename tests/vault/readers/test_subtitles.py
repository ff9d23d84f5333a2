"""Tests of the reader of subtitles."""

from __future__ import annotations

import pytest

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.subtitles import SubtitleReader

VTT = """WEBVTT - A talk

NOTE a remark

STYLE
::cue { color: red }

1
00:00.500 --> 00:04.000 align:start
<v Ada>Where do <i>otters</i> live &amp; sleep?</v>

2
00:04.000 --> 00:08.000
By the
river.

01:01:10.000 --> 01:01:12.000
The end.
"""
SRT = (
    "1\n00:00:00,500 --> 00:00:04,000\nWhere do otters live?\n12\n\n"
    + "2\n00:02:04,000 --> 00:02:08,000\n{\\an8}By the river.\n"
)


def read(text: str | bytes) -> Note:
    return SubtitleReader().read(text if isinstance(text, bytes) else text.encode(), "talk.vtt", ReadOptions())


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_spoken_text_is_read_with_its_time(newline: str) -> None:
    note = read(VTT.replace("\n", newline))
    assert note.text == "Ada: Where do otters live & sleep?\nBy the\nriver.\n\nThe end."
    assert [(section.heading, section.place) for section in note.sections[1:]] == [
        ("0:00", "t=0"),
        ("1:01:10", "t=3670"),
    ]


def test_subrip_is_read() -> None:
    note = read("\ufeff" + SRT)
    assert note.text == "Where do otters live?\n12\n\nBy the river."
    assert [section.heading for section in note.sections[1:]] == ["0:00", "2:04"]


def test_lines_repeated_by_scrolling_captions_are_read_once() -> None:
    cues = ["one two", "one two\nthree four", "three four\nfive six"]
    text = "WEBVTT\n\n" + "\n\n".join(f"00:0{n}.000 --> 00:0{n + 1}.000\n{cue}" for n, cue in enumerate(cues))
    assert read(text).text == "one two\nthree four\nfive six"


@pytest.mark.parametrize("text", ["", "WEBVTT\n\nNOTE nothing\n", "Some text.\n", "00:00.000 --> 00:01.000\n\n"])
def test_a_file_without_subtitles_is_refused(text: str) -> None:
    with pytest.raises(ReadError, match="no subtitles"):
        read(text)


def test_a_file_that_is_not_text_is_refused() -> None:
    with pytest.raises(ReadError):
        read(b"\x00" * 1000)


@pytest.mark.parametrize("line", ["<" * 50_000, "<i" * 20_000, "{\\" * 20_000, "&" * 50_000, "a " * 50_000])
def test_hostile_lines_are_read_in_linear_time(line: str) -> None:
    assert read(f"00:00.000 --> 00:01.000\n{line}\n\n00:02.000 --> 00:03.000\nThe end.\n").text.endswith("The end.")


def test_long_hostile_lines_are_read_in_linear_time() -> None:
    cue = "00:00:01.000 --> 00:00:02.000\n"
    note = read(cue + "Hello.\n" + (cue + "<v" + " " * 1_990 + "\n") * 2_000)
    assert note.lines[0] == "Hello."
