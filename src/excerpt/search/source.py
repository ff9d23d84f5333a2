"""What a search reads from: the index of a folder, or a vault in a store."""

from __future__ import annotations

from excerpt.index.snapshot import Snapshot
from excerpt.store.snapshot import StoreSnapshot

Searchable = Snapshot | StoreSnapshot
