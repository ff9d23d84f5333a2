"""The whole program runs in a pseudo-terminal, which only POSIX has."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.name == "posix" else ["test_*.py", "terminal.py"]
