"""Memories in packs: each is a note of one fragment to them, beside the notes of the vault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from weakref import proxy

from excerpt.index.snapshot import Snapshot
from excerpt.model import Fragment, Memory, Part, Section
from excerpt.pack.lookup import SnapshotLookup
from excerpt.pack.memory_fragment import as_fragment, memory_id_of, name_of
from excerpt.pack.moved_marks import Moving
from excerpt.pack.source import Range


class WithMemories:
    """A source of packs with memories beside its notes. It does not keep `source` alive; `count` gives tokens by the
    tokenizer of that. Like every source it never changes, but for memories that are added."""

    def __init__(self, source: Moving, count: Callable[[str], int]) -> None:
        self._source: Moving = proxy(source)
        self._count = count
        self._memories: dict[str, tuple[Memory, Fragment]] = {}

    def add(self, memories: Iterable[Memory]) -> bool:
        """Have these too; False if one of them is here already and says something else by now."""
        for memory in memories:
            known = self._memories.get(name_of(memory.id))
            if known is not None and known[0] != memory:
                return False
            if known is None:
                self._memories[name_of(memory.id)] = memory, as_fragment(memory, self._count(memory.text.strip("\n")))
        return True

    @property
    def tokenizer(self) -> str:
        return self._source.tokenizer

    def fragment(self, fragment_id: str, /) -> Fragment | None:
        known = self._memories.get(fragment_id)
        return known[1] if known else None if memory_id_of(fragment_id) else self._source.fragment(fragment_id)

    def parts(self, ranges: Sequence[Range], /) -> Sequence[Sequence[Part]]:
        asked = [each for each in ranges if memory_id_of(each[0]) is None]
        found = iter(self._source.parts(asked) if asked else ())
        return [next(found) if memory_id_of(each[0]) is None else self._part(*each) for each in ranges]

    def sections(self, path: str, /) -> Sequence[Section]:
        known = self._memories.get(path)
        if known is None:
            return () if memory_id_of(path) else self._source.sections(path)
        return (Section(0, 0, "", (), 1, known[1].line_end, ()),)

    def note_text(self, path: str, /) -> str:
        known = self._memories.get(path)
        return known[1].text if known else self._source.note_text(path)

    def note_tokens(self, path: str, /) -> int:
        known = self._memories.get(path)
        return known[1].tokens if known else self._source.note_tokens(path)

    def note_modified(self, path: str, /) -> str:
        known = self._memories.get(path)
        return known[0].updated[:10] if known else self._source.note_modified(path)

    def moved(self, path: str, /) -> str | None:
        return None if memory_id_of(path) else self._source.moved(path)

    def _part(self, path: str, first: int, last: int | None) -> Sequence[Part]:
        known = self._memories.get(path)
        if known is None or first > 0 or (last is not None and last < 0):
            return ()
        one = known[1]
        return (Part(0, one.id, 0, 0, 0, "", 1, one.line_end, one.tokens, one.digest),)


class LookupWithMemories(SnapshotLookup):
    """The lookup in a vault's index that knows memories as well, by what packs call them."""

    def __init__(self, snapshot: Snapshot, memories: Iterable[Memory]) -> None:
        super().__init__(snapshot)
        self._memories = {name_of(memory.id): memory.text.strip("\n") for memory in memories}

    def path(self, shown: str) -> str | None:
        return shown if shown in self._memories else super().path(shown)

    def text(self, path: str) -> str:
        known = self._memories.get(path)
        return super().text(path) if known is None else known
