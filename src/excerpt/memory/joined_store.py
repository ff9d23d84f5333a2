"""The memories of all open vaults as one store: the user's own, and those that stores share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from excerpt.base.errors import MemoryUnusableError
from excerpt.base.model import Memory, Source
from excerpt.memory.store import LoadedMemories, MemoryStore


class ConnectedMemoryStore(MemoryStore, Protocol):
    """The memories that a store shares."""

    def close(self) -> None:
        """Close the connection. The next read opens it again."""


class JoinedMemoryStore:
    """The memories of one or several vaults: the user's `own`, and the `shared` ones of vaults in a store, by vault.

    A single vault has the name "". Of several, the path of a source begins with its vault's name here, but not in the
    files. A new memory goes to the vault of its source, or to the first vault if it has no source. No own memory
    becomes a shared one, and none replaces one of the other kind. Use it from one thread at a time.
    """

    def __init__(
        self, own: Mapping[str, MemoryStore], shared: Mapping[str, ConnectedMemoryStore] | None = None
    ) -> None:
        self.own = own
        self.shared = shared or {}

    def close(self) -> None:
        """Close what reading has opened. The next read opens it again."""
        for store in self.shared.values():
            store.close()

    @property
    def folder(self) -> Path:
        """The folder of the user's own memories of the first vault."""
        return next(iter(self.own.values())).folder

    def can_share(self, source: Source | None) -> bool:
        """Return whether a new memory about `source` can be saved in the store of its vault."""
        return self.vault_of(source) in self.shared

    def remember(self, memory: Memory, replaces: Sequence[str] = (), *, shared: bool = False) -> Memory:
        """Save a new memory in the vault of its source, for the user alone or `shared`, and return it with its id.

        Without a source, it goes to the vault of the memories that it replaces. Raises MemoryUnusableError if these are
        in another vault or of the other kind.
        """
        is_placed = not replaces or memory.source is not None
        name = self.vault_of(memory.source) if is_placed else self._find(replaces[0])[0]
        if shared and name not in self.shared:
            raise MemoryUnusableError(
                "The vault is in a folder, so its memories are your own.",
                "A memory can be shared in a vault that is opened by the address of a store.",
            )
        store = self.shared[name] if shared else self.own[name]
        self._check_kind(name, store, replaces)
        own = replace(memory, source=strip_vault_name(name, memory.source))
        return add_vault(name, store.remember(own, replaces))

    def replace_others(self, memory_id: str, replaces: Sequence[str]) -> Memory:
        """Let a memory replace others of its vault and kind, and return it."""
        name, store = self._find(memory_id)
        self._check_kind(name, store, replaces)
        return add_vault(name, store.replace_others(memory_id, replaces))

    def all(self) -> LoadedMemories:
        """Return all memories, newest first, with the unreadable files and the reasons."""
        each = [(name, store.all()) for name, store in self._stores()]
        if len(each) == 1 and not each[0][0]:
            return each[0][1]

        def join(own: Callable[[LoadedMemories], Sequence[Memory]]) -> tuple[Memory, ...]:
            memories = [add_vault(name, memory) for name, loaded in each for memory in own(loaded)]
            return tuple(sorted(memories, key=lambda memory: memory.created, reverse=True))

        return LoadedMemories(
            join(lambda loaded: loaded.memories),
            tuple(
                replace(file, path=f"{name}/{file.path}" if name else file.path)
                for name, loaded in each
                for file in loaded.unreadable
            ),
            tuple(copied for _, loaded in each for copied in loaded.copies),
            join(lambda loaded: loaded.replaced),
        )

    def tags(self) -> tuple[tuple[str, int], ...]:
        """Return the tags in use with the number of memories that have each, most used first."""
        counted = Counter(tag for memory in self.all().memories for tag in memory.tags)
        return tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    def as_shown(self, memory: Memory) -> Memory:
        """Return `memory` as its vault shows it: maybe without comments, and without a forgotten replacement."""
        return self._find(memory.id)[1].contents().as_shown(memory)

    def replace_text(self, memory: Memory, text: str) -> Memory:
        """Return the whole `memory` with another text, and with the comments that its vault does not show."""
        return self._find(memory.id)[1].contents().replace_text(memory, text)

    def get(self, memory_id: str) -> Memory:
        """Return the whole memory with this id. Raises MemoryUnusableError if there is none."""
        name, store = self._find(memory_id)
        return add_vault(name, store.get(memory_id))

    def change(self, memory_id: str, change: Callable[[Memory], Memory]) -> Memory:
        """Replace a memory by `change(memory)`, and return the new memory.

        Raises MemoryUnusableError if its new source is in another vault.
        """
        name, store = self._find(memory_id)

        def change_own(memory: Memory) -> Memory:
            changed = change(add_vault(name, memory))
            if changed.source is not None and (other := self.vault_of(changed.source)) != name:
                raise MemoryUnusableError(
                    f"The source is now in the vault {other}, and the memory belongs to {name}.",
                    "Keep the memory as it is, or forget it and remember the passage there.",
                )
            return replace(changed, source=strip_vault_name(name, changed.source))

        return add_vault(name, store.change(memory_id, change_own))

    def forget(self, memory_id: str, merged_into: str = "") -> Memory:
        """Forget a memory, and return it. `restore` undoes this.

        Memories that it replaced are replaced by the one that it was merged into only if both are in the same store.
        """
        name, store = self._find(memory_id)
        is_known = merged_into in store.contents().files_by_id
        return add_vault(name, store.forget(memory_id, merged_into if is_known else ""))

    def restore(self, memory_id: str) -> Memory:
        """Make a forgotten or replaced memory current again, and return it."""
        *others, (last, last_store) = sorted(self._stores(), key=lambda each: memory_id in each[1].contents().shown)
        for name, store in others:
            with suppress(MemoryUnusableError):
                return add_vault(name, store.restore(memory_id))
        try:
            return add_vault(last, last_store.restore(memory_id))
        except MemoryUnusableError:
            if len(self.own) == 1 or memory_id in last_store.contents().shown:
                raise
            raise MemoryUnusableError(f"There is no memory {memory_id} in the trash of any vault.") from None

    def vault_of(self, source: Source | None) -> str:
        """Return the name of the vault that has a source; the first vault for no source."""
        name = source.path.partition("/")[0] if source is not None else ""
        return name if name in self.own else next(iter(self.own))

    def _stores(self) -> Iterator[tuple[str, MemoryStore]]:
        """Yield the stores of all vaults, each with its vault's name."""
        for name, own in self.own.items():
            yield name, own
            if name in self.shared:
                yield name, self.shared[name]

    def _find(self, memory_id: str) -> tuple[str, MemoryStore]:
        """Return the store that has a memory, with its vault's name; the first store if none has."""
        found = (each for each in self._stores() if memory_id in each[1].contents().files_by_id)
        return next(found, next(self._stores()))

    def _check_kind(self, name: str, store: MemoryStore, replaces: Sequence[str]) -> None:
        """Raise MemoryUnusableError if a memory of the other kind than those of `store` is to be replaced."""
        for memory_id in replaces:
            vault, other = self._find(memory_id)
            if vault == name and other is not store and memory_id in other.contents().files_by_id:
                kinds = ("your own", "shared") if other is self.own[name] else ("shared", "your own")
                raise MemoryUnusableError(
                    f"Memory {memory_id} is {kinds[0]}, and the one that would replace it is {kinds[1]}.",
                    f"Forget {memory_id} instead.",
                )


def add_vault(name: str, memory: Memory) -> Memory:
    """Return a memory of the vault `name` with the vault's name in front of its source's path; "" adds nothing."""
    source = memory.source if name else None
    return memory if source is None else replace(memory, source=replace(source, path=f"{name}/{source.path}"))


def strip_vault_name(name: str, source: Source | None) -> Source | None:
    """Return `source` without the prefix `name/` of its path; None if there is no source."""
    return source and replace(source, path=source.path.removeprefix(f"{name}/" if name else ""))
