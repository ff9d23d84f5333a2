"""Golden files: what a test expects to be written, in a file beside it.

To rewrite one, run its test with EXCERPT_WRITE_GOLDEN=1 (or delete the file), and look at what changed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def read_golden(file: Path, text: str) -> str:
    """Return the golden text of `file`; write `text` into it first if that is asked for.

    Fails if the file is missing, after writing it, so that no run passes by making its own expectation.
    """
    is_missing = not file.exists()
    if is_missing or os.environ.get("EXCERPT_WRITE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode())
    if is_missing:
        pytest.fail(f"{file} was missing and has been written: look at it")
    return file.read_bytes().decode()
