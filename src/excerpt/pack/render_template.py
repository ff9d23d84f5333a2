"""Packs rendered by a template of the user's, in Jinja2's sandbox.

A template sees `question`, `questions` and `sources`, and nothing else: no files, no environment, no clock, no chance,
so that the same packs are the same bytes. The text of a note is data to it, never a template. The sandbox keeps a
template that somebody copied from reaching into Python; limits of time and size end one that does not end.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from excerpt.errors import SettingsError
from excerpt.kinds import Scope
from excerpt.model import Entry, Pack
from excerpt.pack.render import Links, digest_of, fence_of, headings_of, lines_of, xml_text
from excerpt.text.visible import visible_line

MOST_SECONDS = 2.0
MOST_CHARACTERS = 16_000_000
"""What one rendering may take and give: far more than a prompt needs."""

_MOST_BYTES = 1_000_000  # of a template file
_MOST_EXPONENT = 64
_NAMES = ("range", "dict", "namespace", "cycler", "joiner")  # of Jinja's own; not lipsum, which is made by chance


@dataclass(frozen=True, slots=True)
class Source:
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


def source_of(number: int, pack: Pack, links: Links) -> Source:
    path = visible_line(pack.path)
    return Source(
        number=number,
        path=path,
        title=visible_line(pack.title),
        heading=headings_of(pack),
        heading_path=tuple(map(visible_line, pack.heading_path)),
        line_start=pack.line_start,
        line_end=pack.line_end,
        lines=lines_of(pack),
        modified=pack.modified,
        digest=digest_of(pack),
        score=pack.entry.score,
        text=pack.text,
        cut_above=pack.cut_above,
        cut_below=pack.cut_below,
        place=f"{path}:{pack.line_start}",
        file=visible_line(links.file(pack)),
        link=links.obsidian(pack),
    )


@dataclass(frozen=True)
class TemplateRenderer:
    """Renders by `template`, the text of the file `name`. Raises SettingsError, which names file and line, where the
    template cannot be read or fails."""

    name: str
    template: str
    links: Links
    questions: tuple[str, ...] = ()

    def render(self, packs: Sequence[Pack]) -> str:
        sources = [source_of(number, pack, self.links) for number, pack in enumerate(packs, start=1)]
        return self._of(sources) if sources else ""

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        """What the source adds to a text that has one before it; the first adds all that is around it."""
        source = replace(source_of(number, pack, self.links), text="")
        return (self._of([source]) if number == 1 else _added(self._first, self._of([self._probe, source])),)

    def written(self, text: str) -> str:
        return _added(self._first, self._of([replace(self._probe, text=text)]))

    @cached_property
    def _probe(self) -> Source:
        """A source without text."""
        return source_of(1, _PROBE, self.links)

    @cached_property
    def _first(self) -> str:
        """What it makes alone."""
        return self._of([self._probe])

    def _of(self, sources: Sequence[Source]) -> str:
        questions = [visible_line(" ".join(question.split())) for question in self.questions]
        template = _compiled(self.name, self.template)
        parts, size = [], 0
        _ENVIRONMENT.deadline = time.thread_time() + MOST_SECONDS
        try:
            for part in template.generate(sources=sources, questions=questions, question=" | ".join(questions)):
                parts.append(part)
                size += len(part)
                _ENVIRONMENT.check(size)
        except Exception as error:  # whatever a template does, the user gets a sentence
            raise SettingsError(f"{self.name}{_line_of(error)}: {_reason(error)}.", _HINT) from error
        return "".join(parts)


_PROBE = Pack(
    id="", path="probe.md", title="Probe", heading_path=(), line_start=1, line_end=1, scope=Scope.NONE,
    entry=Entry("", 0, 0.0, ()), fragment_ids=(), text="", tokens=0, digest="0" * 16, modified="2000-01-01",
)  # fmt: skip
_HINT = "The guide's note on packs lists what a template may use."


def read_template(file: Path) -> str:
    """The text of a template file. Raises SettingsError if it cannot be read."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"The template {file} is larger than {_MOST_BYTES:,} bytes.")
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SettingsError(f"There is no template at {file}.") from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"The template {file} cannot be read: {error}.") from error


# --- the sandbox ------------------------------------------------------------------------------------------------------


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, which looks at the clock whenever a template calls, or reaches into, anything. The clock is the
    thread's own: on a busy machine a good template does not fail."""

    intercepted_binops = frozenset(["*", "**"])

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, cache_size=0
        )
        self.deadline = 0.0
        self.globals = {name: self.globals[name] for name in _NAMES}
        del self.filters["random"]
        self.filters |= {"fence": _fence, "xml": xml_text, "line": visible_line}
        self.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": True}

    def check(self, size: int = 0) -> None:
        """Raises SecurityError where a template takes too long or gives too much."""
        if size > MOST_CHARACTERS:
            raise SecurityError(f"it gives more than {MOST_CHARACTERS:,} characters")
        if time.thread_time() > self.deadline:
            raise SecurityError(f"it takes longer than {MOST_SECONDS:.0f} s")

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        __self.check()
        return super().call(__context, __obj, *args, **kwargs)

    def getattr(self, obj: Any, attribute: str) -> Any:
        self.check()
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        self.check()
        return super().getitem(obj, argument)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and abs(right) > _MOST_EXPONENT:
            raise SecurityError(f"{left} ** {right} is too large")
        if operator == "*":
            for one, times in ((left, right), (right, left)):
                if isinstance(one, str | list | tuple) and len(one) * times > MOST_CHARACTERS:
                    raise SecurityError(f"it gives more than {MOST_CHARACTERS:,} characters")
        return super().call_binop(context, operator, left, right)


def _fence(text: str, language: str = "") -> str:
    fence = fence_of(text)
    return f"{fence}{language}\n{text}\n{fence}"


_ENVIRONMENT = _Sandbox()


@lru_cache(maxsize=8)
def _compiled(name: str, template: str) -> Template:
    try:
        return _ENVIRONMENT.from_string(template)
    except TemplateSyntaxError as error:
        raise SettingsError(f"{name}, line {error.lineno}: {_reason(error)}.", _HINT) from error
    except RecursionError as error:
        raise SettingsError(f"{name} is nested too deeply to be read.") from error


def _line_of(error: Exception) -> str:
    """The line of the template that failed: Jinja puts it into the traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
    return f", line {lines[-1]}" if lines else ""


def _reason(error: Exception) -> str:
    said = (error.message if isinstance(error, TemplateError) else str(error)) or type(error).__name__
    return said.strip().rstrip(".").replace("\n", " ")


def _added(before: str, after: str) -> str:
    """What `after` has more than `before`, which it extends at one place."""
    alike = zip(before, after, strict=False)
    same = next((at for at, (one, other) in enumerate(alike) if one != other), min(len(before), len(after)))
    end = len(before) - same
    return after[same : len(after) - end] if after.endswith(before[same:]) else after[same:]
