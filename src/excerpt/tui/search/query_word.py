"""Find the word of a query that the cursor is in, and put a completion in its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r'-?[^\s":]+:"[^"]*"?|-?"[^"]*"?|\S+')
_KEYED = re.compile(r'([^\s":]{1,100}):(?![:/\\\s])"?(.*)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class CursorToken:
    """The word of a query at the cursor, from `start` to `end` (exclusive).

    `operator` is the part of a filter before the colon, or "#"; "" for a plain word. `value` is the rest of the word up
    to the cursor, the text to complete.
    """

    start: int
    end: int
    operator: str
    value: str
    negated: bool = False


def token_at(text: str, cursor: int) -> CursorToken | None:
    """Return the word at the cursor, to complete it; None within a phrase."""
    found = next((token for token in _TOKEN.finditer(text) if token.start() < cursor <= token.end()), None)
    if found is None:
        return CursorToken(cursor, cursor, "", "")
    typed = text[found.start() : cursor]
    negated = typed.startswith("-")
    bare = typed[1:] if negated else typed
    if bare.startswith('"') or (bare.count('"') == 2 and bare.endswith('"')):
        return None
    if bare.startswith("#"):
        return CursorToken(found.start(), found.end(), "#", bare[1:], negated)
    if keyed := _KEYED.fullmatch(bare):
        return CursorToken(found.start(), found.end(), keyed[1], keyed[2], negated)
    return CursorToken(found.start(), found.end(), "", bare, negated)


def completed(text: str, begun: CursorToken, by: str) -> tuple[str, int]:
    """Return the query with the word `begun` replaced by `by`, and the new cursor position.

    A space follows the word, so that the next word can be typed, unless `by` ends in a colon: then a value follows.
    """
    put = f"{'-' if begun.negated else ''}{by}{'' if by.endswith(':') else ' '}"
    return f"{text[: begun.start]}{put}{text[begun.end :].lstrip()}", begun.start + len(put)


def is_typed(before: str, after: str) -> bool:
    """Return whether two texts differ by one typed or deleted letter, which is not so after a paste or a recall."""
    if len(after) == 1:
        return True
    if abs(len(after) - len(before)) != 1:
        return False
    longer, shorter = (after, before) if len(after) > len(before) else (before, after)
    at = next((at for at, letter in enumerate(shorter) if letter != longer[at]), len(shorter))
    return longer[at + 1 :] == shorter[at:]


def without(text: str, start: int, end: int) -> tuple[str, int]:
    """Return the query without the span from `start` to `end` (exclusive), and the new cursor position."""
    before, after = text[:start].rstrip(), text[end:].lstrip()
    if before and after:
        return f"{before} {after}", len(before) + 1
    return (f"{before} " if before else after), len(before) + 1 if before else 0
