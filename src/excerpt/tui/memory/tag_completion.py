"""Tags completed while they are typed, from those in use: the most used one that goes on like that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual.suggester import Suggester

_BEGUN = re.compile(r"(?:^|[\s,#])([^\s,#]+)$")
_BEGUN_WITH_HASH = re.compile(r"(?:^|\s)#([^\s,#]+)$")


def completed(written: str, tags: Sequence[str], *, with_hash: bool = False) -> str | None:
    """`written` with its last tag completed by the first of `tags` that is not there yet; None where there is none.
    `with_hash` takes only what follows a # for a tag, as in a filter of words and tags."""
    begun = (_BEGUN_WITH_HASH if with_hash else _BEGUN).search(written)
    if begun is None:
        return None
    there = set(re.split(r"[\s,#]+", written[: begun.start(1)].casefold()))
    start = begun[1].casefold()
    found = next((tag for tag in tags if tag.startswith(start) and tag != start and tag not in there), None)
    return None if found is None else written + found[len(start) :]


class TagSuggester(Suggester):
    """Completes tags in an `Input`; `tags` are those in use, most used first."""

    def __init__(self, *, with_hash: bool = False) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.tags: Sequence[str] = ()
        self._with_hash = with_hash

    async def get_suggestion(self, value: str) -> str | None:
        return completed(value, self.tags, with_hash=self._with_hash)
