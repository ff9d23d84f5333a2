"""Packs rendered by the user's Jinja2 template, which runs in a separate process (template_sandbox.py).

A template gets only `question`, `questions`, `notice` and `sources`: no files, environment, clock or random numbers, so
the same packs give the same bytes. The text of a note is data, never a template. A filter with a very large number is a
loop that no check inside Python can stop, so the limits apply to the process, which is killed.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from excerpt.base.errors import ExcerptError, SettingsError
from excerpt.base.kinds import Scope
from excerpt.base.model import EntryHit, Pack
from excerpt.base.processes import start_arguments
from excerpt.base.state_files import read_text
from excerpt.pack.formats.source_label import (
    PackLinks,
    format_headings,
    format_mark,
    format_pack_lines,
    join_lines,
    shorten_digest,
)
from excerpt.text.display import format_count, line_range, visible_line

MAX_CPU_SECONDS = 2.0
"""CPU seconds for all renderings of one pack; CPU time, so that a good template does not fail on a busy machine."""
MAX_WAIT_SECONDS = 10.0
"""Elapsed seconds for all renderings of one pack."""
MAX_MEMORY_BYTES = 1 << 30
"""Limit of the sandbox process's memory in bytes, on systems that can limit it."""
_MAX_TEMPLATE_BYTES = 1_000_000  # of a template file
_MAX_OWN_CHARACTERS = 100_000  # of a rendered text, besides those for its passages and for the budget
_CHARACTERS_PER_TOKEN = 8  # of the budget: twice as many as a token of prose has
_MAX_COUNTED_BUDGET = 1_000_000  # tokens: no prompt has more, and counting this many takes seconds
_CHARACTERS_PER_CHARACTER = 20  # of the passages: more than the filters `xml` and `urlencode` make of one


class TemplateStoppedError(ExcerptError):
    """Raised if a template exceeds a limit of time, memory or output; `name` is its file."""

    title = "The template was stopped"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"The template {name} was stopped: {reason}.",
            "Check it for an endless loop or a filter with a very large number.",
        )


class TemplateSource(Struct, frozen=True):
    """The fields of a source that a template can use; all except `text` are kept to one line.

    `lines` is a range such as `8-12`; `place` is `path:line`, or `path#place` for an attachment. `file` is the absolute
    path with the line, `link` the address in Obsidian. If the passage begins below the header of a table, `text` begins
    with the header, and `header_lines` are the header's lines. `replaced` is the mark of a replaced note, else "".
    """

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
    header_lines: str
    replaced: str


def make_template_source(number: int, pack: Pack, links: PackLinks) -> TemplateSource:
    """Return a pack as the source with this number, for a template."""
    path = visible_line(pack.path)
    header = pack.table_header
    return TemplateSource(
        number=number,
        path=path,
        title=visible_line(pack.title),
        heading=format_headings(pack),
        heading_path=tuple(map(visible_line, pack.heading_path)),
        line_start=pack.line_start,
        line_end=pack.line_end,
        lines=format_pack_lines(pack),
        modified=pack.modified,
        digest=shorten_digest(pack),
        score=pack.entry.score,
        text=pack.rendered_text,
        cut_above=pack.cut_above,
        cut_below=pack.cut_below,
        place=f"{path}#{visible_line(pack.place)}" if pack.place else f"{path}:{pack.line_start}",
        file=visible_line(links.format_file_location(pack)),
        link=links.format_obsidian_link(pack),
        header_lines=line_range(header.line_start, header.line_end) if header is not None else "",
        replaced=format_mark(pack),
    )


class RemainingTime(Struct):
    """The CPU seconds and elapsed seconds that the renderings of one pack may still take."""

    cpu_seconds: float = MAX_CPU_SECONDS
    clock_seconds: float = MAX_WAIT_SECONDS


@dataclass(frozen=True)
class TemplateRenderer:
    """Renders packs with the user's template; `template` is its text, `name` its file for error messages.

    `notice` is the sentence for the first line of an unsure pack; it is put in front if the template does not use it. A
    rendered text may be a little longer than `budget` tokens and its passages need; more text is not counted, because
    that takes seconds. Use a renderer for one result only, because all its renderings share one time limit. Raises
    SettingsError with file and line if the template has an error, and TemplateStoppedError if it exceeds a limit.
    """

    name: str
    template: str
    links: PackLinks
    budget: int
    questions: tuple[str, ...] = ()
    notice: str = ""
    _remaining_time: RemainingTime = field(default_factory=RemainingTime, init=False, repr=False, compare=False)

    def render(self, packs: Sequence[Pack]) -> str:
        sources = [make_template_source(number, pack, self.links) for number, pack in enumerate(packs, start=1)]
        return self._render_sources(sources) if sources else ""

    def render_frame(self, number: int, pack: Pack) -> Sequence[str]:
        """Return the text that a source without its passage adds to a rendering of one other source.

        For source 1, return the rendering of this source alone, with everything around the sources. The header of a
        table belongs to what is added.
        """
        source = replace(make_template_source(number, pack, self.links), text=pack.rendered_header)
        return (
            self._render_sources([source])
            if number == 1
            else _find_insertion(self._rendered_probe, self._render_sources([self._probe_source, source])),
        )

    def escape(self, text: str) -> str:
        """Return the text as the template renders it in a source, for example escaped."""
        return _find_insertion(self._rendered_probe, self._render_sources([replace(self._probe_source, text=text)]))

    @cached_property
    def _probe_source(self) -> TemplateSource:
        """A source without text, rendered to measure what the template adds."""
        return make_template_source(1, _PROBE_PACK, self.links)

    @cached_property
    def _rendered_probe(self) -> str:
        """The rendering of `_probe_source` alone."""
        return self._render_sources([self._probe_source])

    def _render_sources(self, sources: Sequence[TemplateSource]) -> str:
        questions = [join_lines(question) for question in self.questions]
        texts = [*questions, *(source.text for source in sources)]
        max_characters = (
            _MAX_OWN_CHARACTERS
            + _CHARACTERS_PER_TOKEN * min(self.budget, _MAX_COUNTED_BUDGET)
            + _CHARACTERS_PER_CHARACTER * sum(map(len, texts))
        )
        request = {
            "template": self.template,
            "sources": [*map(asdict, sources)],
            "questions": questions,
            "notice": self.notice,
            "max_characters": max_characters,
            "too_long": f"it renders more than {format_count(max_characters, 'character')} for a budget of "
            f"{format_count(self.budget, 'token')}",
        }
        answer = _SANDBOX_PROCESS.send_request(self.name, request, self._remaining_time)
        if "mistake" in answer:
            line = f", line {answer['line']}" if answer["line"] else ""
            raise SettingsError(f"{self.name}{line}: {answer['mistake']}.", _TEMPLATE_HINT)
        text: str = answer["text"]
        return text


_PROBE_PACK = Pack(
    id="", path="probe.md", title="Probe", heading_path=(), line_start=1, line_end=1, scope=Scope.NONE,
    entry=EntryHit("", 0, 0.0, ()), fragment_ids=(), text="", tokens=0, digest="0" * 16, modified="2000-01-01",
)  # fmt: skip
_TEMPLATE_HINT = "The note on packs in the guide (`excerpt demo`) lists what a template can use."


def read_template(file: Path) -> str:
    """Return the text of a template file. Raises SettingsError if it cannot be read."""
    try:
        return read_text(file, _MAX_TEMPLATE_BYTES)
    except FileNotFoundError:
        raise SettingsError(f"There is no template at {file}.") from None
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"The template {file} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error


# --- the process ------------------------------------------------------------------------------------------------------


class _SandboxProcess:
    """The sandbox process that templates run in, with only this program's import path and limits.

    It starts with the first template and keeps running for the next, because a screen renders on each key press. It is
    killed if a template exceeds a limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: subprocess.Popen[bytes] | None = None

    def send_request(self, name: str, request: dict[str, Any], left: RemainingTime) -> dict[str, Any]:
        """Send a request to the sandbox, subtract the time it took from `left`, and return the answer.

        Raises TemplateStoppedError, with `name` as the template's file, if a limit is exceeded.
        """
        with self._lock:
            process = self._start_if_needed()
            assert process.stdin is not None
            assert process.stdout is not None
            started = time.monotonic()
            overdue = Timer(left.clock_seconds, process.kill)
            overdue.daemon = True
            overdue.start()
            reply = b""
            try:
                with suppress(OSError):  # the process was killed during the request
                    process.stdin.write(json.dumps({**request, "seconds": left.cpu_seconds}).encode() + b"\n")
                    process.stdin.flush()
                    # In JSON a character has at most twelve bytes.
                    reply = process.stdout.readline(12 * request.get("max_characters", 0) + 1000)
            finally:
                overdue.cancel()
            left.clock_seconds -= time.monotonic() - started
            if not reply.endswith(b"\n"):
                code = self._stop()
                raise TemplateStoppedError(name, request["too_long"] if reply else _explain_exit(code, left))
            answer: dict[str, Any] = json.loads(reply)
            left.cpu_seconds -= answer["seconds"]
            if "limit" in answer:
                self._stop()
                raise TemplateStoppedError(name, answer["limit"])
            if left.cpu_seconds <= 0 or left.clock_seconds <= 0:
                self._stop()  # the timer may have fired meanwhile, and would kill the rendering of the next pack
                raise TemplateStoppedError(name, _CPU_LIMIT_REASON if left.cpu_seconds <= 0 else _TIMEOUT_REASON)
            return answer

    def stop(self) -> None:
        """Kill the process, if it runs; the next request starts another."""
        with self._lock:
            self._stop()

    def _start_if_needed(self) -> subprocess.Popen[bytes]:
        if self._running is None or self._running.poll() is not None:
            self._stop()
            self._running = subprocess.Popen(
                [sys.executable, "-I", *start_arguments("excerpt.pack.formats.template_sandbox")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=Path(__file__).anchor,
                env={name: value for name, value in os.environ.items() if name.upper() == "SYSTEMROOT"},
                start_new_session=True,  # so that Ctrl+C in the terminal does not end the process
            )
        return self._running

    def _stop(self) -> int:
        """Kill the process and return its exit code; 0 if none runs."""
        process, self._running = self._running, None
        if process is None:
            return 0
        process.kill()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # unwritten data is lost
                assert pipe is not None
                pipe.close()
        return code


_SANDBOX_PROCESS = _SandboxProcess()
atexit.register(_SANDBOX_PROCESS.stop)


_TIMEOUT_REASON = f"it takes longer than {MAX_WAIT_SECONDS:.0f} s for one pack"
_CPU_LIMIT_REASON = f"it takes more than {MAX_CPU_SECONDS:.0f} s of CPU time for one pack"


def _explain_exit(code: int, left: RemainingTime) -> str:
    """Return why the sandbox, which ended with exit code `code`, gave no answer."""
    if left.clock_seconds <= 0:
        return _TIMEOUT_REASON
    if code == -getattr(signal, "SIGPROF", 0):
        return _CPU_LIMIT_REASON
    return f"its process ended with code {code}"


def _find_insertion(before: str, after: str) -> str:
    """Return the text that was inserted into `before`, at one position, to give `after`."""
    # Not os.path.commonprefix: comparing slices is a hundred times faster than comparing characters.
    same = bisect_left(range(min(len(before), len(after))), True, key=lambda at: before[: at + 1] != after[: at + 1])
    end = len(before) - same
    return after[same : len(after) - end] if after.endswith(before[same:]) else after[same:]
