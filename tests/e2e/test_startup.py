"""Tests of what the app imports before its first frame."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from tests.e2e.terminal import Terminal

HEAVY = {"whoosh", "model2vec", "numpy", "sqlite3", "splintr", "Stemmer", "rapidfuzz", "watchfiles", "tokenizers"}
_IMPORTED = re.compile(rb"^import time: +\d+ \| +\d+ \| +([\w.]+)", re.MULTILINE)


def test_nothing_of_the_engine_is_imported_before_the_first_frame(shell: Mapping[str, str]) -> None:
    """Compare the order on stderr, where Python logs imports and Textual draws."""
    with Terminal([sys.executable, "-X", "importtime", "-m", "excerpt", "demo"], shell, 140, 45) as app:
        app.wait_until(lambda: b"Search" in app.output, "to paint")
        before = app.output[: app.output.index(b"Search")]
    names = {name.decode().partition(".")[0] for name in _IMPORTED.findall(before)}
    assert "textual" in names
    assert not names & HEAVY
