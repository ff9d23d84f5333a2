"""Markdown as a reader takes it in: prose without what is written for the program that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

_LONGEST = 20_000
_FENCE = re.compile(r"^[ \t>]*(```+|~~~+)[^\n]*\n.*?(?:^[ \t>]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_MATHS = re.compile(r"\$\$.*?\$\$", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->|%%.*?%%", re.DOTALL)
_INCLUDE = re.compile(r"\[![\w-]+[ \t]*\[[^\[\]\n]*\]\([^()\n]*\)\]")
_IMAGE = re.compile(r"!\[\[[^\[\]\n]*\]\]|!\[[^\[\]\n]*\]\([^()\n]*\)")
_WIKILINK = re.compile(r"\[\[([^\[\]|\n]*)(?:\\?\|([^\[\]\n]*))?\]\]")
_LINK = re.compile(r"\[([^\[\]\n]*)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\[\]\n]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>|<https?://[^<>\s]*>")
_URL = re.compile(r"\b(?:https?|mailto):\S+|\bwww\.\S+")
_BLOCK_ID = re.compile(r"[ \t]\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
_EMPHASIS = re.compile(
    r"(\*{1,3}|~~|==)(?=\S)([^\n]{1,500}?)(?<=\S)\1|(?<!\w)(_{1,3})(?=\S)([^\n]{1,500}?)(?<=\S)\3(?!\w)"
)
_LITERAL = re.compile(r"\\([\\`*_{}\[\]()#+.!<>~$&=^-])|(?<!`)(`+)(?!`)([^\n]{0,2000}?[^`\n])\2(?!`)")
# Stands for code spans and escaped characters while marks are taken off; no text that a reader sees has them.
_HELD = re.compile("\ue000(\\d{1,6})\ue001")
_ENTITY = re.compile(r"&#?\w{1,32};")

_DRESS = re.compile(
    r"^[ \t]*(?:>[ \t]?)*(?:\[![^\]\n]*\][+-]?[ \t]*)?(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?:\[.\][ \t]+)?"
)
_HEADING = re.compile(r"^[ \t]*(?:>[ \t]?)*#{1,6}(?:[ \t]|$)")
_TABLE = re.compile(r"^[ \t]*(?:>[ \t]?)*\|")
_RULE = re.compile(r"^[ \t>]*[-*_=:|+ \t]{3,}$")
# A full stop, not one of an abbreviation, a number or an initial; in Chinese and Japanese no space follows.
_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?…])[\"'”’)\]]*\s+(?=[^a-z\s])")
_ENDS = re.compile(r"[.!?。！？…][\"'”’)\]]*\s*$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or an item of a list, on one line, as it reads; `line` counts from 0 in the text. It is `whole` if it
    ends as sentences do."""

    text: str
    line: int
    begins_line: bool
    whole: bool


def prose_of(text: str) -> str:
    """`text` line by line without code blocks, maths, comments, pictures, addresses and marks. Of one so long that it
    must be data, the first 20,000 characters."""
    text = text[:_LONGEST]
    for pattern in (_FENCE, _MATHS, _COMMENT):
        text = pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(found[1] or found[3].strip())
        return f"\ue000{len(held) - 1}\ue001"

    text = _LITERAL.sub(hold, text.replace("\ue000", "").replace("\ue001", ""))
    text = _WIKILINK.sub(_shown, _IMAGE.sub("", _INCLUDE.sub("", text))).replace("\\|", "|")
    text = _URL.sub("", _TAG.sub("", _LINK.sub(r"\1", text)))
    text = _EMPHASIS.sub(_without_marks, _EMPHASIS.sub(_without_marks, _BLOCK_ID.sub("", text)))
    text = _ENTITY.sub(lambda found: " ".join(unescape(found[0]).split("\n")), text)
    return _HELD.sub(lambda found: held[int(found[1])], text)


def _without_marks(found: re.Match[str]) -> str:
    return found[2] or found[4] or ""


def _shown(found: re.Match[str]) -> str:
    """What a wikilink reads as: its text, or else the note's name without its folder, and the heading."""
    if found[2]:
        return found[2]
    name, _, heading = found[1].rstrip("\\").partition("#")
    name = name.rstrip("/").rpartition("/")[2]
    return " > ".join(part for part in (name.strip(), heading.strip()) if part)


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of a fragment's text, in order; no headings, tables or code."""
    for number, line in enumerate(prose_of(text).split("\n")):
        if _HEADING.match(line) or _TABLE.match(line) or _RULE.match(line):
            continue
        bare = " ".join(_DRESS.sub("", line, count=1).split())
        for place, sentence in enumerate(part for part in _SENTENCE_END.split(bare) if part.strip()):
            whole = _ENDS.search(sentence) is not None
            yield Sentence(sentence.strip(), number, place == 0, whole)
