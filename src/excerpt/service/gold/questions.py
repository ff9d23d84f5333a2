"""The gold set of a vault: questions of the user, each with the places that answer it.

One file per vault, which the user may edit: one JSON object per line, as in sets of known items for search engines.

    {"id": "g5c1d09ab", "query": "how do conflicts end?", "relevant": [{"path": "Sync.md", "heading": "Conflicts"}]}

A file is replaced as a whole or not at all. Lines that cannot be read, unknown keys and unchanged lines stay as they
are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from excerpt.base.errors import GoldUnusableError, NotFoundError
from excerpt.base.state_files import encode_line, exclusive_lock, read_limited, replace_file

_MAX_BYTES = 64_000_000  # of a gold set


@dataclass(frozen=True, slots=True)
class GoldTarget:
    """A note, or the section of a note under `heading`, that answers a question.

    `heading` has the headings above the section too, joined by "#" (`Sync#Conflicts`); "" stands for the whole note. In
    an attachment, `heading` is the section's page, slide or cells (`page=12`).
    """

    path: str
    heading: str = ""

    def __str__(self) -> str:
        return f"{self.path}#{self.heading}" if self.heading else self.path


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question with its targets; a search should find one of them.

    `exclude` are paths of notes whose hits are not counted, such as the note that the question was copied from.
    """

    id: str
    query: str
    targets: tuple[GoldTarget, ...]
    exclude: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of a line of the file."""
        return {
            "id": self.id,
            "query": self.query,
            "relevant": [{"path": target.path, "heading": target.heading or None} for target in self.targets],
            **({"exclude": list(self.exclude)} if self.exclude else {}),
        }


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line of the file that is no question; `number` counts from 1."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class GoldSet:
    """The questions of a gold set in the order of the file, and the lines that cannot be read."""

    questions: tuple[GoldQuestion, ...] = ()
    unreadable: tuple[UnreadableLine, ...] = ()


class RelevantPlace(Struct, frozen=True):
    """A target as a file states it. `line_start` tells sections with the same heading apart; 0 if not stated."""

    path: str
    heading: str | None = None
    line_start: int = 0


class QuestionLine(Struct, frozen=True):
    """The keys of a line that excerpt reads."""

    query: str
    relevant: list[RelevantPlace]
    id: str | int = ""
    exclude: list[str] = msgspec.field(default_factory=list)


class _Line(Struct, frozen=True):
    """A line of the file: its bytes, its JSON object, and the question in it or the reason why there is none."""

    data: bytes
    keys: dict[str, Any]
    question: GoldQuestion | None
    reason: str = ""


def parse_question_line(data: bytes) -> tuple[QuestionLine, dict[str, Any]]:
    """Parse a line of a gold set; return it with all its keys. Raises ValueError with the reason if it is invalid."""
    try:
        keys = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    line = msgspec.convert(keys, QuestionLine)
    if not line.query.strip():
        raise ValueError("the query is empty")
    if not line.relevant or not all(place.path.strip() for place in line.relevant):
        raise ValueError("no path says what answers the query")
    return line, keys


def make_question(
    query: str, targets: Iterable[GoldTarget], id_: str = "", exclude: Iterable[str] = ()
) -> GoldQuestion:
    """Return a question with each target once. Without `id_`, the question's id is derived from the query."""
    query = " ".join(query.split())
    digest = blake2b(query.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return GoldQuestion(id_ or f"g{digest}", query, tuple(dict.fromkeys(targets)), tuple(dict.fromkeys(exclude)))


def read_gold(file: Path) -> GoldSet:
    """Return the gold set in `file`; no questions if there is no file. Raises GoldUnusableError."""
    lines = _read_lines(file)
    unreadable = (UnreadableLine(number, line.reason) for number, line in enumerate(lines, 1) if line.reason)
    return GoldSet(_merge(line.question for line in lines if line.question is not None), tuple(unreadable))


def add_questions(file: Path, questions: Iterable[GoldQuestion]) -> None:
    """Add questions to the file; a question that it already has gets the new targets. Raises GoldUnusableError."""
    _change_file(file, lambda present: _merge((*present, *questions)))


def remove_question(file: Path, name: str, target: str = "") -> GoldQuestion:
    """Remove the question whose id or query is `name`, or only its `target`; return the question as it was.

    The question is removed with its last target. Raises NotFoundError if there is no such question or target, and
    GoldUnusableError.
    """
    removed: list[GoldQuestion] = []

    def remove(present: Sequence[GoldQuestion]) -> tuple[GoldQuestion, ...]:
        removed[:] = [find_question(present, name)]
        targets = tuple(each for each in removed[0].targets if str(each) != target)
        if target and targets == removed[0].targets:
            known = ", ".join(map(str, targets))
            raise NotFoundError(
                f"{target} is no target of the question {removed[0].query!r}.", f"Its targets: {known}."
            )
        if not target or not targets:
            return tuple(each for each in present if each is not removed[0])
        return tuple(replace(each, targets=targets) if each is removed[0] else each for each in present)

    _change_file(file, remove)
    return removed[0]


def find_question(questions: Iterable[GoldQuestion], name: str) -> GoldQuestion:
    """Return the question whose id or query is `name`. Raises NotFoundError if no question matches."""
    query = " ".join(name.split())
    for question in questions:
        if query in (question.id, question.query):
            return question
    raise NotFoundError(f"The gold set has no question {query!r}.", "List the questions with `excerpt gold list`.")


def _merge(questions: Iterable[GoldQuestion]) -> tuple[GoldQuestion, ...]:
    """Merge questions with equal queries: the merged question has the id of the first, and the targets of all."""
    by_query: dict[str, GoldQuestion] = {}
    for question in questions:
        first = by_query.get(question.query)
        by_query[question.query] = (
            question
            if first is None
            else make_question(
                first.query, (*first.targets, *question.targets), first.id, (*first.exclude, *question.exclude)
            )
        )
    return tuple(by_query.values())


def _change_file(file: Path, change: Callable[[Sequence[GoldQuestion]], Sequence[GoldQuestion]]) -> None:
    try:
        with exclusive_lock(file):
            lines = _read_lines(file)
            questions = change(_merge(line.question for line in lines if line.question is not None))
            replace_file(file, b"".join(_render_lines(lines, questions)), lasting=True)
    except OSError as error:
        raise GoldUnusableError(
            f"{file} cannot be written: {error.strerror or error}.", "The questions in the file are unchanged."
        ) from error


def _render_lines(lines: Sequence[_Line], questions: Sequence[GoldQuestion]) -> Iterator[bytes]:
    """Yield the new lines of the file for `questions`; `lines` are the file's present lines."""
    remaining = {question.query: question for question in questions}
    for line in lines:
        if line.question is None:
            yield line.data + b"\n"
        elif (question := remaining.pop(line.question.query, None)) is not None:
            is_changed = question != line.question
            yield encode_line({**line.keys, **question.to_dict()}) if is_changed else line.data + b"\n"
    yield from (encode_line(question.to_dict()) for question in remaining.values())


def _read_lines(file: Path) -> list[_Line]:
    try:
        data = read_limited(file, _MAX_BYTES)
    except FileNotFoundError:
        return []
    except OSError as error:
        hint = (
            "Check its permissions." if isinstance(error, PermissionError) else "Move the file away: it is no gold set."
        )
        raise GoldUnusableError(f"{file} cannot be read: {error.strerror or error}.", hint) from error
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    return [_parse_line(line) for line in lines]


def _parse_line(data: bytes) -> _Line:
    if not data.strip():
        return _Line(data, {}, None)
    try:
        line, keys = parse_question_line(data)
    except ValueError as error:
        return _Line(data, {}, None, str(error))
    targets = (GoldTarget(place.path, place.heading or "") for place in line.relevant)
    return _Line(data, keys, make_question(line.query, targets, str(line.id), line.exclude))
