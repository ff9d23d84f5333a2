"""The process that renders users' templates: Jinja2's sandbox, with limits of CPU time and memory.

Requests are lines of JSON on stdin, answers are lines of JSON on stdout, until stdin ends. The sandbox keeps an
untrusted template away from Python's objects; the limits stop a template that does not end.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import traceback
from contextlib import suppress
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.exceptions import SecurityError
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from excerpt.pack.formats.markdown_format import build_fence
from excerpt.pack.formats.template_format import MAX_MEMORY_BYTES, TemplateSource
from excerpt.pack.formats.xml_format import escape_xml
from excerpt.text.display import visible_line

_MAX_EXPONENT = 64  # of the operator `**` in a template
_ALLOWED_GLOBALS = ("range", "dict", "namespace", "cycler", "joiner")  # Jinja's globals without lipsum, which is random


def main() -> None:
    """Read requests from stdin and write answers to stdout until stdin ends."""
    _limit_memory()
    for request in sys.stdin.buffer:
        started = time.process_time()
        answer = _answer_request(json.loads(request))
        answer["seconds"] = time.process_time() - started
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


def _limit_memory() -> None:
    """Limit the memory of this process where the system can: Windows and macOS cannot."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


def _limit_cpu_seconds(seconds: float) -> None:
    """Make the system kill this process after `seconds` of CPU time; 0 means no limit. Windows has no such limit."""
    if sys.platform != "win32":
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _answer_request(request: dict[str, Any]) -> dict[str, Any]:
    """Render the template of a request and return the answer.

    The answer has either `text`, or `mistake` (an error message) with `line`, or `limit` (the limit that was exceeded).
    """
    sources = [TemplateSource(**{**each, "heading_path": tuple(each["heading_path"])}) for each in request["sources"]]
    questions, notice = request["questions"], request["notice"]
    parts: list[str] = []
    size = 0
    _limit_cpu_seconds(request["seconds"])
    try:
        _ENVIRONMENT.max_characters, _ENVIRONMENT.too_long = request["max_characters"], request["too_long"]
        template = _compile(request["template"])
        if notice and not _uses_notice(request["template"]):
            parts.append(f"{notice}\n\n")
        for part in template.generate(
            sources=sources, questions=questions, question=" | ".join(questions), notice=notice
        ):
            parts.append(part)
            size += len(part)
            if size > request["max_characters"]:
                return {"limit": request["too_long"]}
        return {"text": "".join(parts)}
    except MemoryError:
        return {"limit": f"it needs more than {MAX_MEMORY_BYTES >> 30} GB of memory"}
    except Exception as error:  # whatever a template raises, the user gets a sentence
        return {"mistake": _format_reason(error), "line": _find_failed_line(error)}
    finally:
        _limit_cpu_seconds(0)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox without random numbers, and with limits for the operators `*` and `**`.

    These operators could fill the memory on systems that do not limit it. `max_characters` is the limit of the request
    that is answered, `too_long` what is said of a longer text.
    """

    intercepted_binops = frozenset(["*", "**"])
    max_characters = 0
    too_long = ""

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, cache_size=0
        )
        self.globals = {name: self.globals[name] for name in _ALLOWED_GLOBALS}
        del self.filters["random"]
        self.filters |= {"fence": _enclose_in_fence, "xml": escape_xml, "line": visible_line}
        self.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": True}

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute `left operator right`; raises SecurityError if the result would be too large."""
        if operator == "**" and abs(right) > _MAX_EXPONENT:
            raise SecurityError(f"{left} ** {right} is too large")
        if operator == "*":
            for value, times in ((left, right), (right, left)):
                if isinstance(value, str | list | tuple) and len(value) * times > self.max_characters:
                    raise SecurityError(self.too_long)
        return super().call_binop(context, operator, left, right)


def _enclose_in_fence(text: str, language: str = "") -> str:
    fence = build_fence(text)
    return f"{fence}{language}\n{text}\n{fence}"


_ENVIRONMENT = _Sandbox()


@lru_cache(maxsize=8)
def _compile(template: str) -> Template:
    return _ENVIRONMENT.from_string(template)


@lru_cache(maxsize=8)
def _uses_notice(template: str) -> bool:
    return "notice" in find_undeclared_variables(_ENVIRONMENT.parse(template))


def _find_failed_line(error: Exception) -> int:
    """Return the line of the template in which an error occurred; 0 if unknown."""
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
    return (lines[-1] or 0) if lines else 0


def _format_reason(error: Exception) -> str:
    message = (error.message if isinstance(error, TemplateError) else str(error)) or type(error).__name__
    return message.strip().rstrip(".").replace("\n", " ")
