"""The doctor's checks of a store: whether it answers, its indexes, its counts and its model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from excerpt.doctor.checks import Finding, ok, problem
from excerpt.errors import ExcerptError, ModelError
from excerpt.settings import Settings
from excerpt.store.address import parse_address
from excerpt.text.display import format_count


def check_store(address: str, settings: Settings) -> Iterator[Finding]:
    """Check the vault at a store's address, as a reader sees it."""
    from excerpt.store.snapshot import DAMAGED_INDEX_MESSAGE, StoreSnapshot

    try:
        store = StoreSnapshot.open(parse_address(address), settings)
    except ExcerptError as error:
        yield problem(error.message, error.hint)
        return
    with closing(store):
        status, health = store.status(), store.health()
        extensions = ", ".join(f"{name} {version}" for name, version in health.extensions)
        yield ok(f"{'A replica' if health.is_replica else 'A primary'} of PostgreSQL {health.server}, {extensions}")
        size_text = f"{format_count(status.notes, 'note')}, {format_count(status.fragments, 'fragment')}"
        yield ok(f"The vault {status.vault}, generation {status.generation}: {size_text}")
        for name in health.damaged:
            yield problem(f"The index by {name}: {DAMAGED_INDEX_MESSAGE}")
        if not health.damaged:
            yield ok("The indexes of words, terms and vectors work")
        if health.counted == health.fragments:
            yield ok("The number of fragments is right")
        else:
            yield problem(
                f"It has {format_count(health.fragments, 'fragment')}, and {health.counted:,} were expected.",
                "Push the vault under another name, and please report it.",
            )
        try:
            _ = store.embedder
            yield ok(f"Its vectors are from the model in use here: {status.model}")
        except ModelError as error:
            yield problem(error.message, error.hint)
