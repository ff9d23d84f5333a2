"""The memories of the open vaults: their files, and the search among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from excerpt.base.model import Source
    from excerpt.base.settings import Paths, Settings
    from excerpt.memory.joined_store import JoinedMemoryStore
    from excerpt.memory.recall import Recaller
    from excerpt.memory.results import RecalledMemory, SimilarMemory
    from excerpt.service.stores import StoreAddress


class MemoryFolders(Struct, frozen=True):
    """The folder of a vault's memory files, the folder of their search index, and the settings for the search.

    A vault in a store has its `address`; `shared_folder` is for the memories that the store shares: a copy, and its
    index.
    """

    memory_folder: Path
    index_folder: Path
    shared_folder: Path
    settings: Settings
    address: StoreAddress | None = None

    @classmethod
    def of(cls, vault: Path, paths: Paths, settings: Settings, address: StoreAddress | None = None) -> MemoryFolders:
        """Return the folders of the memories of a vault, which a store has if there is an `address`."""
        return cls(
            paths.memory_folder(vault),
            paths.memory_index_folder(vault),
            paths.shared_memory_folder(vault),
            settings,
            address,
        )


class OpenMemories:
    """The memories of `vaults`, given by name; of several vaults, the path of a source begins with the vault's name.

    A single vault has the name "". Files are read and indexed on first use. Use it from one thread at a time.
    """

    def __init__(self, vaults: Mapping[str, MemoryFolders], *, for_author: bool = False) -> None:
        """Read nothing yet. With `for_author`, comments are found and shown, because the author of the notes asks."""
        self._vaults = vaults
        self._for_author = for_author
        self._store: JoinedMemoryStore | None = None
        self._recallers: dict[tuple[str, bool], Recaller] = {}

    def close(self) -> None:
        """Close the search indexes and the connections. The next search opens them again."""
        while self._recallers:
            self._recallers.popitem()[1].close()
        if self._store is not None:
            self._store.close()

    @property
    def store(self) -> JoinedMemoryStore:
        """The memories of all vaults."""
        if self._store is None:
            from excerpt.memory.joined_store import JoinedMemoryStore
            from excerpt.memory.store import FolderMemoryStore

            own, shared = {}, {}
            for name, vault in self._vaults.items():
                shows_comments = vault.settings.text.shows_comments(for_author=self._for_author)
                own[name] = FolderMemoryStore(vault.memory_folder, shows_comments=shows_comments)
                if vault.address is not None and (
                    store := vault.address.open_memories(
                        vault.shared_folder / "copy",
                        shows_comments=vault.settings.text.shows_comments(for_author=False),
                    )
                ):
                    shared[name] = store
            self._store = JoinedMemoryStore(own, shared)
        return self._store

    @property
    def has_files(self) -> bool:
        """Whether a vault has a folder of memories, or shared ones."""
        if any(vault.memory_folder.is_dir() for vault in self._vaults.values()):
            return True
        return any(vault.address is not None for vault in self._vaults.values()) and bool(self.store.all().memories)

    @property
    def is_searchable(self) -> bool:
        """Whether a search index is open."""
        return bool(self._recallers)

    @property
    def unranked(self) -> str:
        """A sentence that says why the last search found memories by words alone; "" if it did not."""
        return next((recaller.unranked for recaller in self._recallers.values() if recaller.unranked), "")

    @property
    def hints(self) -> tuple[str, ...]:
        """Sentences on parts of the last query that look like a filter but are none."""
        return tuple(dict.fromkeys(hint.message for each in self._recallers.values() for hint in each.hints))

    @property
    def is_query_cut(self) -> bool:
        """Whether only the first words of the last query were searched for."""
        return any(recaller.is_query_cut for recaller in self._recallers.values())

    def recall(
        self,
        query: str,
        tags: Sequence[str] = (),
        source: str = "",
        since: str = "",
        limit: int | None = None,
        *,
        replaced: bool = False,
    ) -> tuple[RecalledMemory, ...]:
        """Return the memories of all vaults that answer `query`, best first; all memories if it is "".

        The other arguments are as for `Recaller.recall`; `source` may begin with the name of a vault. Of several
        vaults, `limit` None means the limit in the settings for each.
        """
        from excerpt.memory.joined_store import add_vault
        from excerpt.memory.recall import merge_recalled

        name, _, own_path = source.partition("/")
        sources = {name: own_path} if name and name in self._vaults else dict.fromkeys(self._vaults, source)
        recalled = {
            name: [
                each
                for shared in ((False, True) if name in self.store.shared else (False,))
                for each in self._open_recaller(name, shared=shared).recall(
                    query, tags, path, since, limit, replaced=replaced
                )
            ]
            for name, path in sources.items()
        }
        if "" in self._vaults:
            return tuple(recalled[""]) if len(self._recallers) == 1 else merge_recalled(recalled, limit)
        with_vault = {
            name: [replace(each, memory=add_vault(name, each.memory)) for each in found]
            for name, found in recalled.items()
        }
        return merge_recalled(with_vault, limit)

    def recall_answers(self, query: str) -> tuple[RecalledMemory, ...]:
        """Return the memories that are shown with the hits of `query`."""
        from excerpt.memory.recall import MAX_SHOWN_ANSWERS, select_answers

        return tuple(select_answers(self.recall(query, limit=MAX_SHOWN_ANSWERS))) if query.strip() else ()

    def find_similar(
        self, text: str, source: Source | None, tags: Sequence[str] = (), why: str = "", *, shared: bool = False
    ) -> tuple[SimilarMemory, ...]:
        """Return the memories of the vault of `source` that a new memory may replace, or be merged with.

        They are the `shared` ones, or the user's own.
        """
        from excerpt.memory.joined_store import add_vault, strip_vault_name
        from excerpt.memory.recall import find_similar_memories

        name = self.store.vault_of(source)
        recaller = self._open_recaller(name, shared=shared and name in self.store.shared)
        similar = find_similar_memories(text, strip_vault_name(name, source), recaller, tags=tags, why=why)
        return tuple(replace(each, memory=add_vault(name, each.memory)) for each in similar)

    def _open_recaller(self, name: str, *, shared: bool) -> Recaller:
        """Return the search among the user's own memories of a vault, or the shared ones, which first use opens."""
        from excerpt.memory.recall import Recaller

        if (name, shared) not in self._recallers:
            vault = self._vaults[name]
            store, index_folder = self.store.own[name], vault.index_folder
            if shared:
                store, index_folder = self.store.shared[name], vault.shared_folder / "index"
            self._recallers[name, shared] = Recaller(store, index_folder, vault.settings)
        return self._recallers[name, shared]
