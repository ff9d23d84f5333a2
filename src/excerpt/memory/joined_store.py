"""The memories of several vaults, or the user's own and the shared ones of a vault in a store, as one store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from excerpt.base.errors import MemoryUnusableError
from excerpt.base.model import Memory, Source
from excerpt.memory.store import FolderContents, LoadedMemories, MemoryStore


class JoinedMemoryStore(MemoryStore):
    """The memories of several vaults. The path of a source begins with its vault's name here, but not in the files.

    `stores` has the store of each vault by its name. A new memory goes to the vault of its source, or to the first
    vault if it has no source. Use it from one thread at a time.
    """

    def __init__(self, stores: Mapping[str, MemoryStore]) -> None:
        self.stores = stores
        folder = next(iter(stores.values())).folder
        super().__init__(folder, shows_comments=all(store.shows_comments for store in stores.values()))

    def close(self) -> None:
        """Close what reading has opened. The next read opens it again."""
        for store in self.stores.values():
            store.close()

    def can_share(self, source: Source | None) -> bool:
        """Return whether a new memory about `source` can be saved in the store of its vault."""
        return self.stores[self.vault_of(source)].can_share(source)

    def remember(
        self,
        text: str,
        tags: Sequence[str] = (),
        why: str = "",
        source: Source | None = None,
        query: str = "",
        *,
        replaces: Sequence[str] = (),
        shared: bool = False,
    ) -> Memory:
        """Save `text` as a new memory in the vault of its source, and return the memory.

        Without a source, it goes to the vault of the memories that it replaces. Raises MemoryUnusableError if these are
        in another vault.
        """
        name = self._find_vault(replaces[0]) if replaces and source is None else self.vault_of(source)
        origin = strip_vault_name(name, source)
        store = self.stores[name]
        return add_vault(name, store.remember(text, tags, why, origin, query, replaces=replaces, shared=shared))

    def replace_others(self, memory_id: str, replaces: Sequence[str]) -> Memory:
        """Let a memory replace others of its vault, and return it."""
        name = self._find_vault(memory_id)
        return add_vault(name, self.stores[name].replace_others(memory_id, replaces))

    def all(self) -> LoadedMemories:
        """Return the memories of all vaults, newest first, with the unreadable files and the reasons."""
        each = {name: store.all() for name, store in self.stores.items()}

        def join(own: Callable[[LoadedMemories], Sequence[Memory]]) -> tuple[Memory, ...]:
            memories = [add_vault(name, memory) for name, loaded in each.items() for memory in own(loaded)]
            return tuple(sorted(memories, key=lambda memory: memory.created, reverse=True))

        return LoadedMemories(
            join(lambda loaded: loaded.memories),
            tuple(
                replace(file, path=f"{name}/{file.path}") for name, loaded in each.items() for file in loaded.unreadable
            ),
            tuple(copied for loaded in each.values() for copied in loaded.copies),
            join(lambda loaded: loaded.replaced),
        )

    def as_shown(self, memory: Memory) -> Memory:
        """Return `memory` with the text that its vault shows: without comments if the vault hides them."""
        return self.stores[self._find_vault(memory.id)].as_shown(memory)

    def replace_text(self, memory: Memory, text: str) -> Memory:
        """Return the whole `memory` with another text, and with the comments that its vault does not show."""
        return self.stores[self._find_vault(memory.id)].replace_text(memory, text)

    def get(self, memory_id: str) -> Memory:
        """Return the memory with this id. Raises MemoryUnusableError if there is none."""
        name = self._find_vault(memory_id)
        return add_vault(name, self.stores[name].get(memory_id))

    def change(self, memory_id: str, change: Callable[[Memory], Memory]) -> Memory:
        """Replace a memory by `change(memory)`, and return the new memory.

        Raises MemoryUnusableError if its new source is in another vault.
        """
        name = self._find_vault(memory_id)

        def change_own(memory: Memory) -> Memory:
            changed = change(add_vault(name, memory))
            if changed.source is not None and (other := self.vault_of(changed.source)) != name:
                raise MemoryUnusableError(
                    f"The source is now in the vault {other}, and the memory belongs to {name}.",
                    "Keep the memory as it is, or forget it and remember the passage there.",
                )
            return replace(changed, source=strip_vault_name(name, changed.source))

        return add_vault(name, self.stores[name].change(memory_id, change_own))

    def forget(self, memory_id: str, merged_into: str = "") -> Memory:
        """Move a memory to the trash folder of its vault, and return the memory."""
        name = self._find_vault(memory_id)
        return add_vault(name, self.stores[name].forget(memory_id, merged_into))

    def restore(self, memory_id: str) -> Memory:
        """Move a forgotten memory back out of the trash folder of its vault, and return it."""
        for name, store in self.stores.items():
            with suppress(MemoryUnusableError):
                return add_vault(name, store.restore(memory_id))
        raise MemoryUnusableError(f"There is no memory {memory_id} in the trash of any vault.")

    def vault_of(self, source: Source | None) -> str:
        """Return the name of the vault that has a source; the first vault for no source."""
        name = source.path.partition("/")[0] if source is not None else ""
        return name if name in self.stores else next(iter(self.stores))

    def _find_vault(self, memory_id: str) -> str:
        """Return the name of the vault that has the memory; the first vault if none has."""
        names = (name for name, store in self.stores.items() if memory_id in store.contents().files_by_id)
        return next(names, next(iter(self.stores)))


class TeamMemoryStore(MemoryStore):
    """The user's `own` memories of a vault in a store, and those that the store shares; use it from one thread.

    No memory becomes the other kind, and none replaces one of the other kind.
    """

    def __init__(self, own: MemoryStore, shared: MemoryStore) -> None:
        self.own = own
        self.shared = shared
        super().__init__(own.folder, shows_comments=own.shows_comments)
        self._parts: tuple[FolderContents, FolderContents] | None = None

    def close(self) -> None:
        """Close what reading has opened. The next read opens it again."""
        self.shared.close()

    def can_share(self, source: Source | None) -> bool:  # noqa: ARG002 - as of several vaults
        """Return True: the vault is in a store."""
        return True

    def remember(
        self,
        text: str,
        tags: Sequence[str] = (),
        why: str = "",
        source: Source | None = None,
        query: str = "",
        *,
        replaces: Sequence[str] = (),
        shared: bool = False,
    ) -> Memory:
        """Save `text` as a new memory, for the user alone or `shared`, and return the memory."""
        store = self.shared if shared else self.own
        self._check_kind(store, replaces)
        return store.remember(text, tags, why, source, query, replaces=replaces, shared=shared)

    def replace_others(self, memory_id: str, replaces: Sequence[str]) -> Memory:
        """Let a memory replace others of its kind, and return it."""
        store = self._store_of(memory_id)
        self._check_kind(store, replaces)
        return store.replace_others(memory_id, replaces)

    def change(self, memory_id: str, change: Callable[[Memory], Memory]) -> Memory:
        """Replace a memory by `change(memory)`, and return the new memory."""
        return self._store_of(memory_id).change(memory_id, change)

    def forget(self, memory_id: str, merged_into: str = "") -> Memory:
        """Forget a memory, and return it. `restore` undoes this."""
        return self._store_of(memory_id).forget(memory_id, merged_into)

    def restore(self, memory_id: str) -> Memory:
        """Restore a memory that was forgotten or replaced, and return it."""
        if memory_id not in self.shared.contents().files_by_id:
            with suppress(MemoryUnusableError):
                return self.own.restore(memory_id)
        return self.shared.restore(memory_id)

    def contents(self) -> FolderContents:
        """Return the memories of both kinds; the same object as long as none changes."""
        parts = self.own.contents(), self.shared.contents()
        if self._parts is None or any(part is not before for part, before in zip(parts, self._parts, strict=True)):
            own, shared = parts
            by_id = {**shared.files_by_id, **own.files_by_id}
            newest = sorted(by_id.items(), key=lambda item: item[1][1].memory.created, reverse=True)
            self._contents = FolderContents({**shared.files, **own.files}, dict(newest), self.shows_comments)
            self._parts = parts
        return self._contents

    def _store_of(self, memory_id: str) -> MemoryStore:
        return self.shared if memory_id in self.shared.contents().files_by_id else self.own

    def _check_kind(self, store: MemoryStore, replaces: Sequence[str]) -> None:
        """Raise MemoryUnusableError if a memory of another kind than the ones of `store` is to be replaced."""
        for memory_id in replaces:
            if self._store_of(memory_id) is not store and memory_id in self.contents().files_by_id:
                kinds = ("your own", "shared") if store is self.shared else ("shared", "your own")
                raise MemoryUnusableError(
                    f"Memory {memory_id} is {kinds[0]}, and the one that would replace it is {kinds[1]}.",
                    f"Forget {memory_id} instead.",
                )


def add_vault(name: str, memory: Memory) -> Memory:
    """Return a memory of the vault `name` with the vault's name in front of its source's path."""
    source = memory.source
    return memory if source is None else replace(memory, source=replace(source, path=f"{name}/{source.path}"))


def strip_vault_name(name: str, source: Source | None) -> Source | None:
    """Return `source` without the prefix `name/` of its path; None if there is no source."""
    return None if source is None else replace(source, path=source.path.removeprefix(f"{name}/"))
