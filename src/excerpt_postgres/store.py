"""What excerpt asks of a vault in PostgreSQL: the entry point of the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from excerpt.base.errors import ExcerptError, ModelError
from excerpt.service.findings import Finding, ok, problem
from excerpt.text.display import format_count
from excerpt_postgres.address import PostgresAddress, parse_address

if TYPE_CHECKING:
    from excerpt.base.settings import Settings
    from excerpt.index.events import CrashHandler, EventHandler
    from excerpt_postgres.memories import SharedMemoryStore
    from excerpt_postgres.push_vault import PushThread
    from excerpt_postgres.snapshot import StoreSnapshot


class PostgresStore(Struct, frozen=True):
    """A vault in PostgreSQL: implements `StoreAddress` of `excerpt.service.stores`."""

    address: PostgresAddress

    @property
    def text(self) -> str:
        """The address as given."""
        return self.address.text

    @property
    def display_text(self) -> str:
        """The address for display, without options."""
        return self.address.display_text

    @property
    def folder(self) -> Path:
        """A path that stands for the vault in the names of the user's data files. There is no such folder."""
        return self.address.folder

    def open_corpus(self, settings: Settings) -> StoreSnapshot:
        """Connect to the store and return the newest state of the vault. Raises StoreUnusableError."""
        from excerpt_postgres.snapshot import StoreSnapshot

        return StoreSnapshot.open(self.address, settings)

    def open_memories(self, folder: Path, *, shows_comments: bool) -> SharedMemoryStore:
        """Return the memories that the store shares with the user who connects; connects to nothing yet."""
        from excerpt_postgres.memories import SharedMemoryStore

        return SharedMemoryStore(self.address, folder, shows_comments=shows_comments)

    def push_changes(self, vault: Path, report: EventHandler, log_crash: CrashHandler, *, merge: bool) -> PushThread:
        """Push the vault in a folder whenever its index changes, and report each push and failure to `report`."""
        from excerpt_postgres.compare import PushRules
        from excerpt_postgres.push_vault import PushThread

        return PushThread(vault, self.address, report, log_crash, PushRules(merge=merge))

    def check(self, settings: Settings) -> Iterator[Finding]:
        """Check connection, indexes, counts and model with the rights of the user who connects."""
        from excerpt_postgres.snapshot import DAMAGED_INDEX_MESSAGE, StoreSnapshot

        try:
            store = StoreSnapshot.open(self.address, settings)
        except ExcerptError as error:
            yield problem(error.message, error.hint)
            return
        with closing(store):
            status, health = store.status(), store.health()
            extension = (
                f"pgvector {health.extension}"
                if health.extension
                else "without pgvector: each reader loads all vectors, 260 bytes a fragment"
            )
            role = "a replica" if health.is_replica else "a primary"
            yield ok(f"The server is {role} with PostgreSQL {health.server}, {extension}")
            size_text = f"{format_count(status.notes, 'note')}, {format_count(status.fragments, 'fragment')}"
            yield ok(f"The vault {status.vault} has generation {status.generation}: {size_text}")
            for name in health.damaged:
                yield problem(f"The index by {name}: {DAMAGED_INDEX_MESSAGE}")
            if not health.damaged:
                yield ok("The indexes of words, terms and vectors work")
            if health.counted == health.fragments:
                yield ok("The number of fragments is correct")
            else:
                yield problem(
                    f"The vault has {format_count(health.fragments, 'fragment')}, but its statistics count"
                    f" {health.counted:,}.",
                    "Push the vault under another name, and please report this error.",
                )
            try:
                _ = store.embedder
                yield ok(f"The vectors of the vault are from the model of your settings: {status.model}")
            except ModelError as error:
                yield problem(error.message, error.hint)


def parse_store(text: str) -> PostgresStore:
    """Return the vault at an address, without connecting. Raises StoreUnusableError if the address is not valid."""
    return PostgresStore(parse_address(text))
