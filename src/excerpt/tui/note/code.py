"""Highlight the syntax of code in notes with Pygments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from excerpt.tui.common.line_drawing import TextStyle

if TYPE_CHECKING:
    from pygments.lexer import Lexer


MAX_CODE_CHARS = 30_000
"""Maximum characters of code highlighted in one window; Pygments takes about 1.2 us for each character."""

StyledRange = tuple[int, int, TextStyle]
"""A start column, an end column (exclusive) and the style of the characters between."""


def highlight_code(lines: Sequence[str], language: str) -> list[list[StyledRange]]:
    """Return the styled ranges of each line of code, in the order of `lines`.

    `language` is the name after the fence, such as "python". All lists are empty if Pygments does not know that name.
    """
    ranges: list[list[StyledRange]] = [[] for _ in lines]
    lexer = _lexer(language)
    if lexer is None:
        return ranges
    kinds = _token_styles()
    row, column = 0, 0
    for _, kind, text in lexer.get_tokens_unprocessed("\n".join(lines)):
        text_style = next((text_style for token_type, text_style in kinds if kind in token_type), None)
        for part, piece in enumerate(text.split("\n")):
            if part:
                row, column = row + 1, 0
            if text_style is not None and piece.strip():
                ranges[row].append((column, column + len(piece), text_style))
            column += len(piece)
    return ranges


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
def _token_styles() -> tuple[tuple[Any, TextStyle], ...]:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    return (
        (Comment, TextStyle.COMMENT),
        (String, TextStyle.STRING),
        (Number, TextStyle.NUMBER),
        (Keyword, TextStyle.KEYWORD),
        (Operator.Word, TextStyle.KEYWORD),
        (Name.Tag, TextStyle.KEYWORD),
        (Name.Function, TextStyle.NAME),
        (Name.Class, TextStyle.NAME),
        (Name.Builtin, TextStyle.NAME),
        (Name.Decorator, TextStyle.NAME),
        (Name.Attribute, TextStyle.NAME),
    )
