"""Packs rendered by a template of the user's, which runs in a process of its own (template_sandbox.py).

A template sees `question`, `questions` and `sources`, and nothing else: no files, no environment, no clock, no chance,
so that the same packs are the same bytes. The text of a note is data to it, never a template. One filter with a large
number is a loop that no check inside Python gets to end, so the process is what has the limits, and what is killed.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from excerpt.errors import ExcerptError, SettingsError
from excerpt.kinds import Scope
from excerpt.model import EntryHit, Pack
from excerpt.pack.formats.source_label import Links, digest_of_bytes, headings_of, lines_of, on_one_line
from excerpt.processes import start_arguments
from excerpt.state_files import read_text
from excerpt.text.display import visible_line

MAX_SECONDS = 2.0
"""Processor time of all renderings of one pack: on a busy machine a good template does not fail."""
MAX_WAIT = 10.0
"""Seconds by the clock for all renderings of one pack."""
MAX_MEMORY = 1 << 30
"""Bytes, where the system can limit memory."""
MAX_CHARACTERS = 16_000_000
"""What one rendering may give: far more than a prompt needs."""

_MAX_BYTES = 1_000_000  # of a template file
_LONGEST_ANSWER = 12 * MAX_CHARACTERS + 1000  # in JSON a character has at most twelve bytes


class TemplateStoppedError(ExcerptError):
    """A template took more than a pack may take."""

    title = "The template was stopped"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"The template {name} was stopped: {reason}.",
            "Check it for an endless loop or a filter with a very large number.",
        )


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A pack as a template sees it. `heading` and `path` are kept to one line; `text` is the note's, as it is."""

    number: int
    path: str
    title: str
    heading: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    lines: str
    modified: str
    digest: str
    score: float
    text: str
    cut_above: bool
    cut_below: bool
    place: str
    file: str
    link: str


def source_of(number: int, pack: Pack, links: Links) -> TemplateSource:
    path = visible_line(pack.path)
    return TemplateSource(
        number=number,
        path=path,
        title=visible_line(pack.title),
        heading=headings_of(pack),
        heading_path=tuple(map(visible_line, pack.heading_path)),
        line_start=pack.line_start,
        line_end=pack.line_end,
        lines=lines_of(pack),
        modified=pack.modified,
        digest=digest_of_bytes(pack),
        score=pack.entry.score,
        text=pack.text,
        cut_above=pack.cut_above,
        cut_below=pack.cut_below,
        place=f"{path}#{visible_line(pack.place)}" if pack.place else f"{path}:{pack.line_start}",
        file=visible_line(links.file(pack)),
        link=links.obsidian(pack),
    )


@dataclass(slots=True)
class Allowance:
    """The time that is left for the renderings of one pack, in seconds of processor time and by the clock."""

    work: float = MAX_SECONDS
    clock: float = MAX_WAIT


@dataclass(frozen=True)
class TemplateRenderer:
    """Renders one pack with `template`, the text of the file `name`.

    Raises SettingsError, which names file and line, if the template cannot be read or fails, TemplateStoppedError if it
    does not end or takes too much.
    """

    name: str
    template: str
    links: Links
    questions: tuple[str, ...] = ()
    _allowance: Allowance = field(default_factory=Allowance, init=False, repr=False, compare=False)

    def render(self, packs: Sequence[Pack]) -> str:
        sources = [source_of(number, pack, self.links) for number, pack in enumerate(packs, start=1)]
        return self._render_sources(sources) if sources else ""

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        """Return what the source adds to a text that has one before it; the first adds everything around it."""
        source = replace(source_of(number, pack, self.links), text="")
        return (
            self._render_sources([source])
            if number == 1
            else _insertion(self._first, self._render_sources([self._probe, source])),
        )

    def escape(self, text: str) -> str:
        return _insertion(self._first, self._render_sources([replace(self._probe, text=text)]))

    @cached_property
    def _probe(self) -> TemplateSource:
        """A source without text."""
        return source_of(1, _PROBE, self.links)

    @cached_property
    def _first(self) -> str:
        """What it makes alone."""
        return self._render_sources([self._probe])

    def _render_sources(self, sources: Sequence[TemplateSource]) -> str:
        questions = [on_one_line(question) for question in self.questions]
        request = {"template": self.template, "sources": [*map(asdict, sources)], "questions": questions}
        answer = _PROCESS.answer(self.name, request, self._allowance)
        if "mistake" in answer:
            line = f", line {answer['line']}" if answer["line"] else ""
            raise SettingsError(f"{self.name}{line}: {answer['mistake']}.", _HINT)
        return str(answer["text"])


_PROBE = Pack(
    id="", path="probe.md", title="Probe", heading_path=(), line_start=1, line_end=1, scope=Scope.NONE,
    entry=EntryHit("", 0, 0.0, ()), fragment_ids=(), text="", tokens=0, digest="0" * 16, modified="2000-01-01",
)  # fmt: skip
_HINT = "The guide's note on packs lists what a template may use."


def read_template(file: Path) -> str:
    """Return the text of a template file. Raises SettingsError if it cannot be read."""
    try:
        return read_text(file, _MAX_BYTES)
    except FileNotFoundError:
        raise SettingsError(f"There is no template at {file}.") from None
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"The template {file} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error


# --- the process ------------------------------------------------------------------------------------------------------


class _Process:
    """The process that templates run in.

    It starts with the first template, stays for the next, because a screen renders on each key, and is killed if one
    does not end. Of this program it has the import path and the limits, nothing else.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: subprocess.Popen[bytes] | None = None

    def answer(self, name: str, request: dict[str, Any], left: Allowance) -> dict[str, Any]:
        """Return what the sandbox answers, and take the time from `left`.

        Raises TemplateStoppedError, which calls the template `name`.
        """
        with self._lock:
            process = self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            started = time.monotonic()
            overdue = Timer(left.clock, process.kill)
            overdue.daemon = True
            overdue.start()
            reply = b""
            try:
                with suppress(OSError):  # it was killed while it was asked
                    process.stdin.write(json.dumps({**request, "seconds": left.work}).encode() + b"\n")
                    process.stdin.flush()
                    reply = process.stdout.readline(_LONGEST_ANSWER)
            finally:
                overdue.cancel()
            left.clock -= time.monotonic() - started
            if not reply.endswith(b"\n"):
                code = self._end()
                raise TemplateStoppedError(name, _exit_reason(reply, code, left))
            answer: dict[str, Any] = json.loads(reply)
            left.work -= answer["seconds"]
            if "limit" in answer:
                self._end()
                raise TemplateStoppedError(name, answer["limit"])
            if left.work <= 0 or left.clock <= 0:
                self._end()  # the timer may have fired meanwhile, and would kill it while it renders the next pack
                raise TemplateStoppedError(name, _TOO_MUCH_WORK if left.work <= 0 else _TOO_LONG)
            return answer

    def end(self) -> None:
        with self._lock:
            self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._running is None or self._running.poll() is not None:
            self._end()
            self._running = subprocess.Popen(
                [sys.executable, "-I", *start_arguments("excerpt.pack.formats.template_sandbox")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=Path(__file__).anchor,
                env={name: value for name, value in os.environ.items() if name.upper() == "SYSTEMROOT"},
                start_new_session=True,  # Ctrl+C in the terminal is not for it
            )
        return self._running

    def _end(self) -> int:
        """Kill it and return its exit code."""
        process, self._running = self._running, None
        if process is None:
            return 0
        process.kill()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not written to it is lost
                assert pipe is not None
                pipe.close()
        return code


_PROCESS = _Process()
atexit.register(_PROCESS.end)


_TOO_LONG = f"it takes longer than {MAX_WAIT:.0f} s for one pack"
_TOO_MUCH_WORK = f"it takes more than {MAX_SECONDS:.0f} s of processor time for one pack"


def _exit_reason(output: bytes, code: int, left: Allowance) -> str:
    if output:
        return f"it renders more than {MAX_CHARACTERS:,} characters"
    if left.clock <= 0:
        return _TOO_LONG
    if code == -getattr(signal, "SIGPROF", 0):
        return _TOO_MUCH_WORK
    return f"its process ended with code {code}"


def _insertion(before: str, after: str) -> str:
    """Return what `after` adds to `before`, which it extends at one position."""
    alike = zip(before, after, strict=False)
    same = next((at for at, (old, new) in enumerate(alike) if old != new), min(len(before), len(after)))
    end = len(before) - same
    return after[same : len(after) - end] if after.endswith(before[same:]) else after[same:]
