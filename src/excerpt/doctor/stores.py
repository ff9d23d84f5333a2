"""The checks of `excerpt doctor` for a vault in a store: connection, indexes, counts and model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from excerpt.doctor.checks import Finding, ok, problem
from excerpt.errors import ExcerptError, ModelError
from excerpt.settings import Settings
from excerpt.store.address import parse_address
from excerpt.text.display import format_count


def check_store(address: str, settings: Settings) -> Iterator[Finding]:
    """Check the vault at the address of a store, with the rights of the user who connects."""
    from excerpt.store.snapshot import DAMAGED_INDEX_MESSAGE, StoreSnapshot

    try:
        store = StoreSnapshot.open(parse_address(address), settings)
    except ExcerptError as error:
        yield problem(error.message, error.hint)
        return
    with closing(store):
        status, health = store.status(), store.health()
        extensions = ", ".join(f"{name} {version}" for name, version in health.extensions)
        role = "a replica" if health.is_replica else "a primary"
        yield ok(f"The server is {role} with PostgreSQL {health.server}, {extensions}")
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
