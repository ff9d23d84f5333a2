"""The memories that a store shares with all who may read their sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from excerpt.base.errors import ExcerptError, MemoryUnusableError, ReadError, StoreUnusableError
from excerpt.base.model import Memory
from excerpt.base.state_files import read_limited, replace_file
from excerpt.memory.memory_file import (
    derive_id_from_name,
    format_current_time,
    normalise_memory,
    parse_memory,
    render_memory,
    without_comments,
)
from excerpt.memory.store import (
    MAX_BYTES,
    FolderContents,
    LoadedFile,
    LoadedMemories,
    UnreadableFile,
    index_by_id,
    memory_file_name,
)
from excerpt_postgres import schema
from excerpt_postgres.connection import StoreConnection, replace_unstorable
from excerpt_postgres.rights import MEMORIES

if TYPE_CHECKING:
    from excerpt_postgres.address import PostgresAddress

_READ_SECONDS = 1.0
"""For how long memories that were read are used without asking the store whether others have changed them."""
_TIMEOUT_SECONDS = 10.0

_VAULT = "(SELECT min(id) FROM excerpt_vault.vaults() WHERE name = %s OR %s = '' HAVING count(*) = 1)"
_READ = (
    "SELECT id, version, author::text, replaced_by, replaced_at,"
    " CASE WHEN (id, version) NOT IN (SELECT * FROM unnest(%s::text[], %s::integer[])) THEN content END"
    f" FROM excerpt_vault.memories({_VAULT})"
)


class SharedMemoryStore:
    """The memories of a vault in a store, with the rights of the role that connects.

    Comments in a text are its author's alone, so they are not saved, unless `shows_comments` has everybody read them.
    The store has the file of each memory and its author. `folder` has a copy of what the role may read, only for the
    search index: it may be deleted at any time.
    """

    def __init__(self, address: PostgresAddress, folder: Path, *, shows_comments: bool = False) -> None:
        """Connect to nothing yet."""
        self.folder = folder
        self.shows_comments = shows_comments
        self._contents = FolderContents({}, {}, shows_comments)
        self._address = address
        self._connection: StoreConnection | None = None
        self._versions: dict[str, int] = {}
        self._read_at = 0.0

    def close(self) -> None:
        """Close the connection. The next read opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def remember(self, memory: Memory, replaces: Sequence[str] = ()) -> Memory:
        """Save a new memory of the role, and return it with its id. It is for all who may read its source."""
        shared = self._to_share(memory)
        return self._save("", 0, shared, render_memory(shared), replaces)

    def replace_others(self, memory_id: str, replaces: Sequence[str]) -> Memory:
        """Let a memory replace others that the store shares, and return it."""
        if memory_id in replaces:
            raise MemoryUnusableError(f"Memory {memory_id} cannot replace itself.")
        memory = self.get(memory_id)
        return self._save(memory_id, self._versions[memory_id], memory, None, replaces)

    def change(self, memory_id: str, change: Callable[[Memory], Memory]) -> Memory:
        """Replace a memory by `change(memory)`, and return the new memory; the store keeps the former version.

        Raises MemoryUnusableError if the role is not its author, or somebody has changed it meanwhile.
        """
        self._read_at = 0.0
        _, entry = self.contents().find(memory_id)
        memory = entry.memory
        changed = self._to_share(
            replace(
                change(memory),
                id=memory.id,
                created=memory.created,
                updated=memory.updated,
                replaced_by=memory.replaced_by,
                replaced_at=memory.replaced_at,
            )
        )
        if changed == memory:
            return changed
        changed = replace(changed, updated=format_current_time())
        content = render_memory(_without_store_fields(changed), (_without_store_fields(memory), entry.metadata))
        return self._save(memory_id, self._versions[memory_id], changed, content, ())

    def forget(self, memory_id: str, merged_into: str = "") -> Memory:
        """Forget a memory, and return it. The store keeps it for `restore`."""
        memory = self.get(memory_id)
        self._call("forget_memory", memory_id, merged_into)
        return memory

    def restore(self, memory_id: str) -> Memory:
        """Make a forgotten or replaced memory of the role current again, and return it."""
        self._call("restore_memory", memory_id)
        return self.get(memory_id)

    def all(self) -> LoadedMemories:
        """Return all memories as shown, newest first, or why they cannot be read."""
        return self.contents().loaded

    def get(self, memory_id: str) -> Memory:
        """Return the whole memory with this id. Raises MemoryUnusableError if there is none."""
        _, entry = self.contents().find(memory_id)
        return entry.memory

    def contents(self) -> FolderContents:
        """Return the memories that the role may read; only changed ones are loaded.

        If the store cannot be read, there are none, and an unreadable file has the reason.
        """
        if self._read_at and monotonic() - self._read_at < _READ_SECONDS:
            return self._contents
        try:
            files: Mapping[str, LoadedFile | UnreadableFile] = self._read()
        except StoreUnusableError as error:
            self._versions = {}
            files = {self._address.display_text: UnreadableFile((0, 0, 0), True, str(error))}
        self._read_at = monotonic()
        before = self._contents.files
        if len(files) != len(before) or any(before.get(name) is not file for name, file in files.items()):
            self._write_copies(files)
            self._contents = FolderContents(files, index_by_id(files), self.shows_comments)
        return self._contents

    def _read(self) -> dict[str, LoadedFile | UnreadableFile]:
        """Return the memories that the role may read, by the names of their copies. Raises StoreUnusableError."""
        if self._connection is None:
            self._connection = StoreConnection(self._address, timeout=_TIMEOUT_SECONDS)
            schema.check(self._connection)
        known, vault = self._versions, self._address.vault
        rows = self._connection.rows(_READ, [*known], [*known.values()], vault, vault)
        before = self._contents.files_by_id
        files: dict[str, LoadedFile | UnreadableFile] = {}
        for memory_id, version, author, replaced_by, replaced_at, content in rows:
            if content is None:
                name, file = before[memory_id]
                if (file.memory.replaced_by, file.memory.replaced_at) != (replaced_by, replaced_at):
                    memory = replace(file.memory, replaced_by=replaced_by, replaced_at=replaced_at)
                    file = LoadedFile(file.stamp, True, memory, file.metadata)
                files[name] = file
                continue
            try:
                parsed, metadata = parse_memory(content.encode(), memory_id, 0.0)
            except ReadError as error:
                files[memory_id] = UnreadableFile((version, 0, 0), True, str(error))
                continue
            memory = replace(parsed, id=memory_id, author=author, replaced_by=replaced_by, replaced_at=replaced_at)
            # Who may push can write any id, and a copy must not leave its folder.
            name = memory_file_name(memory, derive_id_from_name(memory_id))
            files[name] = LoadedFile((version, 0, 0), True, memory, metadata)
        self._versions = {file.memory.id: file.stamp[0] for file in files.values() if isinstance(file, LoadedFile)}
        return files

    def _write_copies(self, files: Mapping[str, LoadedFile | UnreadableFile]) -> None:
        """Make the folder for the search index equal to the memories; unchanged files keep their times."""
        for name, file in files.items():
            if isinstance(file, LoadedFile):
                data, copy = render_memory(file.memory), self.folder / name
                with suppress(OSError):
                    if read_limited(copy, MAX_BYTES) == data:
                        continue
                with suppress(OSError):
                    replace_file(copy, data)
        for copy in self.folder.glob("*.md"):
            if copy.name not in files:
                with suppress(OSError):
                    copy.unlink()

    def _to_share(self, memory: Memory) -> Memory:
        """Return a memory as it is saved for all. Raises MemoryUnusableError if it has no text."""
        shared = normalise_memory(memory if self.shows_comments else without_comments(memory))
        if not shared.text.strip():
            raise MemoryUnusableError("There is no text to share.", "Comments are not shared. Type a thought.")
        return shared

    def _save(
        self, memory_id: str, version: int, memory: Memory, content: bytes | None, replaces: Sequence[str]
    ) -> Memory:
        path = memory.source.path if memory.source is not None else ""
        text = None if content is None else replace_unstorable(content.decode())
        return self.get(self._call("save_memory", memory_id, version, path, text, [*replaces]))

    def _call(self, function: str, memory_id: str, *values: object) -> str:
        """Call a function of the store that writes memories, and return the id of the memory that was written.

        Raises MemoryUnusableError for what it refuses, and StoreUnusableError.
        """
        vault = self._address.vault
        places = "".join(f", %s{_CASTS.get(type(value), '')}" for value in values)
        with closing(StoreConnection(self._address, writes=True, timeout=_TIMEOUT_SECONDS)) as connection:
            schema.check(connection)
            ((may_call, role),) = connection.rows(
                "SELECT bool_and(has_function_privilege(oid, 'EXECUTE')), quote_ident(current_user) FROM pg_proc"
                " WHERE proname = %s AND pronamespace = 'excerpt_vault'::regnamespace",
                function,
            )
            if not may_call:
                raise MemoryUnusableError(
                    f"The role {role} may read the memories of the store, and not write any.",
                    f"Ask its keeper to push with --roles, and to run `GRANT {MEMORIES} TO {role}`.",
                )
            ((refusal, about),) = connection.rows(
                f"SELECT * FROM excerpt_vault.{function}({_VAULT}, %s{places})", vault, vault, memory_id, *values
            )
        self._read_at = 0.0
        if refusal:
            raise _refusal_error(refusal, about)
        return str(about)


_CASTS = {int: "::integer", str: "::text", list: "::text[]", type(None): "::text"}


def _without_store_fields(memory: Memory) -> Memory:
    """Return a memory without what the store keeps beside its file."""
    return replace(memory, id="", author="", replaced_by="", replaced_at="")


def _refusal_error(refusal: str, about: str) -> ExcerptError:
    """Return the error for what a function of the store answers in place of writing; `about` is an id or a path."""
    hint = ""
    if refusal == "missing":
        message, hint = f"There is no memory {about or repr(about)}.", "List all memories with `excerpt recall`."
    elif refusal == "denied":
        message, hint = f"Memory {about} is another's.", "Its author, or who may push to the store, can change it."
    elif refusal == "changed":
        message, hint = f"Somebody has changed memory {about} in the meantime.", "Look at it, and try again."
    elif refusal == "source":
        message, hint = f"The store has no note {about}.", "Search again: the vault in the store may have changed."
    elif refusal == "replaced":
        message, hint = f"The memory is already replaced by {about}.", f"Replace {about} instead."
    else:
        message = f"Memory {about} was not forgotten, so it cannot be restored."
    return MemoryUnusableError(message, hint)
