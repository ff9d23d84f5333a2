"""Fixtures of the gold set's tests: those of the command line, which write a small vault."""

from tests.cli.conftest import excerpt, home, vault

__all__ = ["excerpt", "home", "vault"]
