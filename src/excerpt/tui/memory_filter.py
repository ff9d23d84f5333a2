"""What is written into the filter of the Memory tab: a query, and what is asked of memories besides."""

from __future__ import annotations

from dataclasses import dataclass

_SOURCE, _SINCE, _CHANGED = "source:", "since:", "is:stale"


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """`query` is in the query language; of what it finds, the memories with all `tags`, from the note or folder
    `source`, remembered `since` a day; with `stale`, those whose source changed or is gone."""

    query: str = ""
    tags: tuple[str, ...] = ()
    source: str = ""
    since: str = ""
    stale: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.query or self.tags or self.source or self.since)


def read_filter(written: str) -> MemoryFilter:
    """What is asked for by `words #tag source:Note since:7d is:stale`. A word that is begun and says nothing yet, such
    as `#`, asks for nothing."""
    words: list[str] = []
    tags: list[str] = []
    source = since = ""
    stale = False
    for word in written.split():
        if word.startswith("#"):
            tags += [word[1:]] if len(word) > 1 else []
        elif word.startswith(_SOURCE):
            source = word.removeprefix(_SOURCE).strip('"')
        elif word.startswith(_SINCE):
            since = word.removeprefix(_SINCE)
        elif word == _CHANGED:
            stale = True
        else:
            words.append(word)
    return MemoryFilter(" ".join(words), tuple(tags), source, since, stale)


def toggling_stale(written: str) -> str:
    """The filter with `is:stale`, or without where it has it."""
    words = written.split()
    if _CHANGED in words:
        return " ".join(word for word in words if word != _CHANGED)
    return " ".join((*words, _CHANGED))
