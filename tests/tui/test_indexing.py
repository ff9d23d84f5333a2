"""The indexing process: what it says becomes messages, its end is told, it does not outlive the app."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from textual.message import Message

from excerpt.model import BuildReport, Progress, Skipped
from excerpt.tui import indexing
from excerpt.tui.indexing import Indexing, index_command, message_of
from excerpt.tui.messages import IndexBuilt, IndexProgressed, Trouble

PROGRESS = Progress("reading", 1, 2, 10, 20, "Ä note.md", 3, 0, 0.5)
REPORT = BuildReport(4, 1, 0, 0, 1, 9, 9, (Skipped("a.md", "zeros"),), (), 0.5)


def saying(monkeypatch: pytest.MonkeyPatch, script: str) -> list[Message]:
    """Let the process be a Python script; what is posted of it."""
    monkeypatch.setattr(indexing, "index_command", lambda vault, rebuild: [sys.executable, "-c", script])
    return []


def line(event: str, **values: object) -> bytes:
    return json.dumps({"event": event, **values}).encode()


def test_the_process_is_this_python_on_this_vault() -> None:
    vault = Path("/a vault")
    assert index_command(vault, rebuild=True) == [
        sys.executable,
        *("-m", "excerpt", "index", "--vault", "/a vault", "--progress", "--rebuild"),
    ]


def test_its_lines_are_messages() -> None:
    assert message_of(line("progress", **asdict(PROGRESS))) == IndexProgressed(PROGRESS)
    assert message_of(line("done", **asdict(REPORT))) == IndexBuilt(REPORT)
    trouble = Trouble("index", "Title", "Sentence.", "Hint.")
    assert message_of(line("error", title="Title", message="Sentence.", hint="Hint.")) == trouble


@pytest.mark.parametrize("noise", [b"", b"warning: something\n", b"{}", b'{"event": "news"}', b'{"event": "progress"}'])
def test_what_is_not_of_its_form_is_left_out(noise: bytes) -> None:
    assert message_of(noise) is None


async def test_an_early_end_is_told_with_what_it_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = saying(monkeypatch, "import sys; print('no json'); sys.stderr.write('out of memory'); sys.exit(9)")
    await Indexing(tmp_path, said.append).run()
    (trouble,) = said
    assert isinstance(trouble, Trouble)
    assert trouble.message == "out of memory"


async def test_it_is_ended_with_the_app_and_says_nothing_then(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = saying(monkeypatch, "import time; print('started', flush=True); time.sleep(600)")
    run = Indexing(tmp_path, said.append)
    task = asyncio.create_task(run.run())
    while not run.running:
        await asyncio.sleep(0.01)
    await run.end()
    await asyncio.wait_for(task, 60)
    assert said == []
    assert not run.running


async def test_a_cancelled_run_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    marker = tmp_path / "alive"
    saying(monkeypatch, f"import time, pathlib; pathlib.Path({str(marker)!r}).touch(); time.sleep(600)")
    run = Indexing(tmp_path, lambda message: None)
    task = asyncio.create_task(run.run())
    while not marker.exists():
        await asyncio.sleep(0.01)
    process = run._process
    assert process is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.wait_for(process.wait(), 60) != 0


async def test_a_second_run_at_once_does_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = saying(monkeypatch, "import time; time.sleep(600)")
    run = Indexing(tmp_path, said.append)
    task = asyncio.create_task(run.run())
    while not run.running:
        await asyncio.sleep(0.01)
    await asyncio.wait_for(run.run(), 60)
    await run.end()
    await task
    assert said == []
