"""Stores: vaults in a database, each opened by its address instead of a folder.

A package that opens the addresses of a scheme names a function in the entry points of the group `excerpt.stores`, by
the scheme. The function parses an address; all else is asked of the `StoreAddress` that it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from excerpt.base.entry_points import find_entry_points
from excerpt.base.errors import StoreUnusableError
from excerpt.base.patterns import lazy_pattern

if TYPE_CHECKING:
    from excerpt.base.settings import Settings
    from excerpt.corpus.interface import Corpus
    from excerpt.index.events import CrashHandler, EventHandler, IndexingEvent
    from excerpt.memory.joined_store import ConnectedMemoryStore
    from excerpt.service.findings import Finding

ENTRY_POINT_GROUP = "excerpt.stores"
_SCHEME = lazy_pattern(r"([a-z][a-z0-9]+):/{1,3}(?=[^/])")  # a `Path` made of the address has lost a slash


class ChangePusher(Protocol):
    """An event handler that pushes a vault to a store after each update of its index, in a thread of its own."""

    def __call__(self, event: IndexingEvent, /) -> None:
        """Note whether the index has changed, and pass the event on."""
        ...

    def stop(self) -> None:
        """Stop after the current push, and wait for its end."""
        ...


class StoreAddress(Protocol):
    """The parsed address of a vault in a store."""

    @property
    def text(self) -> str:
        """The address as given."""
        ...

    @property
    def display_text(self) -> str:
        """The address for display, without options."""
        ...

    @property
    def folder(self) -> Path:
        """A path that stands for the vault in the names of the user's data files. There is no such folder."""
        ...

    def open_corpus(self, settings: Settings, /) -> Corpus:
        """Connect to the store and return the newest state of the vault. Raises StoreUnusableError."""
        ...

    def open_memories(self, folder: Path, /, *, shows_comments: bool) -> ConnectedMemoryStore | None:
        """Return the memories that the store shares, or None if it shares none; connects to nothing yet.

        `folder` is for a copy of them, from which they are searched. Without `shows_comments`, comments in them are not
        shared.
        """
        ...

    def check(self, settings: Settings, /) -> Iterator[Finding]:
        """Check the vault in the store with the rights of the user who connects, for `excerpt doctor`."""
        ...

    def push_changes(
        self, vault: Path, report: EventHandler, log_crash: CrashHandler, /, *, merge: bool
    ) -> ChangePusher:
        """Push the vault in a folder whenever its index changes, and report each push and failure to `report`.

        With `merge`, notes that were changed in the store keep their version there.
        """
        ...


def is_address(text: str) -> bool:
    """Return whether `text` is the address of a store and not the path of a folder."""
    scheme = _SCHEME.match(text)
    return scheme is not None and scheme[1] in find_entry_points(ENTRY_POINT_GROUP)


def parse_address(text: str) -> StoreAddress:
    """Parse the address of a store. Raises StoreUnusableError if it is not valid or its package cannot be loaded."""
    scheme = _SCHEME.match(text)
    targets = find_entry_points(ENTRY_POINT_GROUP)
    if scheme is None or scheme[1] not in targets:
        schemes = ", ".join(f"{name}://" for name in targets) or "none"
        raise StoreUnusableError("This is not the address of a store.", f"Addresses begin with: {schemes}.")
    module, _, name = targets[scheme[1]].partition(":")
    try:
        parse = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise StoreUnusableError(f"The package for {scheme[1]}:// addresses cannot be loaded: {error}.") from None
    return cast("Callable[[str], StoreAddress]", parse)(text)
