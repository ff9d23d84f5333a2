"""Measurements: none is a test, all read the ratio to a peer in the same run."""

import os

# As the program does, before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
