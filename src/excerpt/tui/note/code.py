"""Highlight the syntax of code with Pygments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from excerpt.tui.common.line_drawing import Ink

if TYPE_CHECKING:
    from pygments.lexer import Lexer


MAX = 30_000
"""Most characters of code highlighted in one window; Pygments takes about 1.2 us for each."""

Inked = tuple[int, int, Ink]


def code_inks(lines: Sequence[str], language: str) -> list[list[Inked]]:
    """Return for each line of code its styled ranges as (start column, end column, style).

    All lists are empty if Pygments does not know the language.
    """
    found: list[list[Inked]] = [[] for _ in lines]
    lexer = _lexer(language)
    if lexer is None:
        return found
    kinds = _kinds()
    row, column = 0, 0
    for _, kind, text in lexer.get_tokens_unprocessed("\n".join(lines)):
        ink = next((ink for of, ink in kinds if kind in of), None)
        for part, piece in enumerate(text.split("\n")):
            if part:
                row, column = row + 1, 0
            if ink is not None and piece.strip():
                found[row].append((column, column + len(piece), ink))
            column += len(piece)
    return found


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if not language:
        return None
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@lru_cache(maxsize=1)
def _kinds() -> tuple[tuple[Any, Ink], ...]:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    return (
        (Comment, Ink.COMMENT),
        (String, Ink.STRING),
        (Number, Ink.NUMBER),
        (Keyword, Ink.KEYWORD),
        (Operator.Word, Ink.KEYWORD),
        (Name.Tag, Ink.KEYWORD),
        (Name.Function, Ink.NAME),
        (Name.Class, Ink.NAME),
        (Name.Builtin, Ink.NAME),
        (Name.Decorator, Ink.NAME),
        (Name.Attribute, Ink.NAME),
    )
