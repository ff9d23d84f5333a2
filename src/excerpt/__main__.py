"""`python -m excerpt` and the `excerpt` command."""

from __future__ import annotations

import os

# Before numpy is loaded. A query is one product of a matrix and a vector, bound by memory: threads gain a millisecond
# or two where nothing else runs, and lose ten where something does, as they wait for each other by spinning. And the
# last bits of a sum do not depend on how it was shared out.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from excerpt.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
