"""Tests of an internal error while the app is open."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.programs

_WITH_A_DEFECT = """
from excerpt.cli.main import main
from excerpt.tui.app import ExcerptApp

def action_help(self):
    raise RuntimeError("no help today")

ExcerptApp.action_help = action_help
main(["demo"])
"""


def test_an_internal_error_ends_the_app_with_a_sentence_and_saves_the_traceback(
    shell: Mapping[str, str], home: Path
) -> None:
    with Terminal([sys.executable, "-c", _WITH_A_DEFECT], shell, 200, 24) as app:
        app.wait_for("Search your notes", " notes")
        app.press("f1")
        assert app.wait_exit() == 3
        assert "went wrong inside excerpt (RuntimeError: no help today)" in app.text
        assert "Traceback" not in app.text
        assert "in action_help" in (home / "state" / "errors.log").read_text(encoding="utf-8")
