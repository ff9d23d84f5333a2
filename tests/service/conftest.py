"""Fixtures of other folders: a small real vault with its index."""

from tests.tui.conftest import indexed

__all__ = ["indexed"]
