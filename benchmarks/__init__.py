"""Measurements, not tests: judge each by its ratio to a peer measured in the same run."""

import os

# As in the program, before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
