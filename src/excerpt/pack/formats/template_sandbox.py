"""The process that a user's template runs in: Jinja2's sandbox, with limits of time and memory for the process.

Requests are lines of JSON on stdin, answers are lines of JSON on stdout, until stdin ends. The sandbox keeps an
untrusted template from reaching into Python; the limits stop an endless one.
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
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from excerpt.pack.formats.markdown_format import fence_of
from excerpt.pack.formats.template_format import MAX_CHARACTERS, MAX_MEMORY, TemplateSource
from excerpt.pack.formats.xml_format import xml_text
from excerpt.text.display import visible_line

_MAX_EXPONENT = 64
_NAMES = ("range", "dict", "namespace", "cycler", "joiner")  # of Jinja's own; not lipsum, which is random


def main() -> None:
    """Answer requests until stdin ends."""
    _limit_memory()
    for request in sys.stdin.buffer:
        started = time.process_time()
        answer = _answer(json.loads(request))
        answer["seconds"] = time.process_time() - started
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


def _limit_memory() -> None:
    """Limit the memory of this process if the system can: Windows has no such limit, and macOS refuses it."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


def _limit_seconds(seconds: float) -> None:
    """Make the system kill this process after `seconds` of CPU time; 0 is no limit. Windows cannot."""
    if sys.platform != "win32":
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the rendered text, the error in the template with its line, or the limit that was reached."""
    sources = [TemplateSource(**{**each, "heading_path": tuple(each["heading_path"])}) for each in request["sources"]]
    questions = request["questions"]
    parts: list[str] = []
    size = 0
    _limit_seconds(request["seconds"])
    try:
        template = _compile(request["template"])
        for part in template.generate(sources=sources, questions=questions, question=" | ".join(questions)):
            parts.append(part)
            size += len(part)
            if size > MAX_CHARACTERS:
                return {"limit": f"it renders more than {MAX_CHARACTERS:,} characters"}
        return {"text": "".join(parts)}
    except MemoryError:
        return {"limit": f"it needs more than {MAX_MEMORY >> 30} GB of memory"}
    except Exception as error:  # whatever a template raises, the user gets a sentence
        return {"mistake": _reason(error), "line": _line_of(error)}
    finally:
        _limit_seconds(0)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox without sources of randomness, and with limits for `*` and `**`.

    Where the system does not limit memory, these are the only limits.
    """

    intercepted_binops = frozenset(["*", "**"])

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, cache_size=0
        )
        self.globals = {name: self.globals[name] for name in _NAMES}
        del self.filters["random"]
        self.filters |= {"fence": _fence, "xml": xml_text, "line": visible_line}
        self.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": True}

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and abs(right) > _MAX_EXPONENT:
            raise SecurityError(f"{left} ** {right} is too large")
        if operator == "*":
            for value, times in ((left, right), (right, left)):
                if isinstance(value, str | list | tuple) and len(value) * times > MAX_CHARACTERS:
                    raise SecurityError(f"it renders more than {MAX_CHARACTERS:,} characters")
        return super().call_binop(context, operator, left, right)


def _fence(text: str, language: str = "") -> str:
    fence = fence_of(text)
    return f"{fence}{language}\n{text}\n{fence}"


_ENVIRONMENT = _Sandbox()


@lru_cache(maxsize=8)
def _compile(template: str) -> Template:
    return _ENVIRONMENT.from_string(template)


def _line_of(error: Exception) -> int:
    """Return the line of the template that failed, from the traceback; 0 if unknown."""
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
    return (lines[-1] or 0) if lines else 0


def _reason(error: Exception) -> str:
    message = (error.message if isinstance(error, TemplateError) else str(error)) or type(error).__name__
    return message.strip().rstrip(".").replace("\n", " ")
