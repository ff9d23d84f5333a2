"""What was typed -> Query. Every string is some query; syntax that is not known is words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from excerpt.model import Strategy

_FORCED = {"!a": Strategy.ADAPTIVE, "!p": Strategy.PROXIMITY, "!s": Strategy.SEMANTIC, "!h": Strategy.HYBRID}
_PHRASE = re.compile(r'"([^"]*)"')


_PROSE = 5
"""Words outside the quotation marks above which a query is prose, and they are its writer's, not an operator's: nobody
filters by a phrase in a whole question, and many a question or commit message quotes something."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query taken apart.

    `words` is the text to analyze, quoted or not, without the quotation marks. Each of `phrases` is required. An
    `open_word` is a last word that may still be in the typing, so that its continuations are meant too; a space or a
    closing quotation mark ends it. `strategy` is the one forced by a leading `!a`, `!p`, `!s` or `!h`.
    """

    words: str
    phrases: tuple[str, ...] = ()
    strategy: Strategy | None = None
    open_word: bool = False


def parse(text: str) -> Query:
    """Take `text` apart. Never fails. A quotation mark without its partner is passed over: it is still being typed."""
    strategy, text = _forced(text)
    phrases = tuple(phrase for match in _PHRASE.finditer(text) if (phrase := match[1].strip()))
    if len(_PHRASE.sub(" ", text).split()) > _PROSE:
        phrases = ()
    words = text.replace('"', " ")
    return Query(words, phrases, strategy, open_word=bool(words) and words[-1].isalnum())


def _forced(text: str) -> tuple[Strategy | None, str]:
    first, _, rest = text.lstrip().partition(" ")
    strategy = _FORCED.get(first.lower())
    return (strategy, rest) if strategy else (None, text)
