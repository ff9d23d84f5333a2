"""Regular expressions of modules, compiled when they are first used: a command uses a third of those it imports."""

from __future__ import annotations

import re
from typing import AnyStr, Generic, cast

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _LazyPattern(Generic[AnyStr]):
    """A pattern that is compiled when an attribute of it is first read, and then has the compiled pattern's methods."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._source: tuple[AnyStr, int] = pattern, flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(*self._source)
        if name in _METHODS:
            self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` does, compiled at its first use; the functions of `re` do not take it as a pattern."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
