"""`python -m excerpt` and the `excerpt` command."""

from __future__ import annotations

from excerpt.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
