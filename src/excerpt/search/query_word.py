"""Find the word at the cursor in a query, and replace that word by a completion."""

from __future__ import annotations

import re

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern

_TOKEN = lazy_pattern(r'-?[^\s":]+:"[^"]*"?|-?"[^"]*"?|\S+')
_FILTER = lazy_pattern(r'([^\s":]{1,100}):(?![:/\\\s])"?(.*)', re.DOTALL)


class CursorToken(Struct, frozen=True):
    """The word of a query at the cursor, from `start` to `end` (exclusive).

    `operator` is the part of a filter before the colon, or "#"; "" for a plain word. `value` is the text to complete:
    the rest of the word up to the cursor. `negated` says that the word begins with a minus sign.
    """

    start: int
    end: int
    operator: str
    value: str
    negated: bool = False


def token_at(text: str, cursor: int) -> CursorToken | None:
    """Return the word of the query `text` that contains character `cursor`; None inside a quoted phrase.

    A cursor outside of words gives an empty word.
    """
    match = next((token for token in _TOKEN.finditer(text) if token.start() < cursor <= token.end()), None)
    if match is None:
        return CursorToken(cursor, cursor, "", "")
    typed = text[match.start() : cursor]
    negated = typed.startswith("-")
    bare = typed[1:] if negated else typed
    if bare.startswith('"') or (bare.count('"') == 2 and bare.endswith('"')):
        return None
    if bare.startswith("#"):
        return CursorToken(match.start(), match.end(), "#", bare[1:], negated)
    if filter_match := _FILTER.fullmatch(bare):
        return CursorToken(match.start(), match.end(), filter_match[1], filter_match[2], negated)
    return CursorToken(match.start(), match.end(), "", bare, negated)


def apply_completion(text: str, token: CursorToken, completion: str) -> tuple[str, int]:
    """Return the query `text` with the word `token` replaced by `completion`, and the new cursor position.

    The new word ends with a space, so that the next word can be typed, unless the word ends with a colon.
    """
    inserted = f"{'-' if token.negated else ''}{completion}{'' if completion.endswith(':') else ' '}"
    return f"{text[: token.start]}{inserted}{text[token.end :].lstrip()}", token.start + len(inserted)


def is_one_letter_edit(old: str, new: str) -> bool:
    """Return whether the user typed or deleted one letter to change `old` to `new`, and did not paste a text."""
    if len(new) == 1:
        return True
    if abs(len(new) - len(old)) != 1:
        return False
    longer, shorter = (new, old) if len(new) > len(old) else (old, new)
    index = next((index for index, letter in enumerate(shorter) if letter != longer[index]), len(shorter))
    return longer[index + 1 :] == shorter[index:]


def filter_period(text: str, start: int, end: int, filter_text: str) -> tuple[str, int]:
    """Return the query `text` with the words of a time, `start` to `end`, replaced by a filter, and the new cursor.

    A space follows the filter, because without it the filter would count as still being typed.
    """
    head = f"{text[:start]}{filter_text} "
    return f"{head}{text[end:].lstrip()}", len(head)


def ignore_period(text: str, start: int, end: int) -> tuple[str, int]:
    """Return the query `text` with the words of a time, `start` to `end`, marked as plain words, and the new cursor."""
    from excerpt.text.periods import PLAIN_MARK

    return f"{text[:start]}{PLAIN_MARK}{text[start:]}", end + len(PLAIN_MARK)


def include_word(text: str, start: int, end: int) -> tuple[str, int]:
    """Return the query `text` with the excluded word at `start` to `end` searched instead, and the new cursor."""
    return f"{text[:start]}{text[start + 1 :]}", end - 1


def remove_span(text: str, start: int, end: int) -> tuple[str, int]:
    """Return the query `text` without the span `start` to `end` (exclusive), and the new cursor position."""
    head, tail = text[:start].rstrip(), text[end:].lstrip()
    if head and tail:
        return f"{head} {tail}", len(head) + 1
    return (f"{head} " if head else tail), len(head) + 1 if head else 0
