"""The definition of a pack format: how packs are rendered, and how a pack file is parsed.

A pack file comes from outside and may be hostile. Only text and numbers are read from it: whether a path is that of a
note is decided by the index, and no path is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from excerpt.errors import ExcerptError
from excerpt.model import Pack, PackResult
from excerpt.pack.formats.source_label import Links


class Renderer(Protocol):
    """A renderer of packs. It is deterministic: equal renderers return the same text for the same packs."""

    def __hash__(self) -> int: ...

    def render(self, packs: Sequence[Pack]) -> str:
        """Return the whole text that is pasted and that the budget applies to; "" for no packs."""
        ...

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        """Return the strings around the text of source `number`; their tokens together are its cost.

        Strings around all sources, such as the question, belong to the first.
        """
        ...

    def escape(self, text: str) -> str:
        """Return lines of a note as they are rendered, for example escaped."""
        ...


class PackUnreadableError(ExcerptError):
    """Raised if a text is not a pack that excerpt wrote."""

    title = "The pack cannot be read"
    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(message, "Make one with `excerpt pack QUERY > PACK.md`, or with --format json.")


@dataclass(frozen=True, slots=True)
class PackSource:
    """A source of a pack, numbered `[number]`.

    `path` is as shown, with signs for control characters. `digest` is that of the text, with as many digits as the pack
    shows; "" if it has none. `cut_above` and `cut_below` say that it may begin or end within a line. An attachment's
    `place` may replace its lines, which are then 0.
    """

    number: int
    path: str
    heading: str
    line_start: int
    line_end: int
    text: str
    digest: str = ""
    cut_above: bool = False
    cut_below: bool = False
    place: str = ""

    @property
    def intact(self) -> bool:
        """Whether the text matches its digest."""
        from excerpt.text.fragments import digest_of_text  # the process of the templates does not need it at its start

        return digest_of_text(self.text).startswith(self.digest)


@dataclass(frozen=True, slots=True)
class PackFile:
    """The sources of a pack, in their order, and the question that the pack was built for, if it is in the file."""

    sources: tuple[PackSource, ...]
    question: str = ""

    def source(self, number: int) -> PackSource | None:
        return next((source for source in self.sources if source.number == number), None)


@dataclass(frozen=True, slots=True)
class PackFormat:
    """One format. `renderer` gets the questions to put below the sources.

    `read` parses the text of a pack file with LF line ends, and raises PackUnreadableError. Such a file begins with
    `beginning`, or, if that is empty, its sources may be anywhere in it. `data` is for a format of data about packs,
    not text for a prompt: then the budget applies to what `renderer` returns.
    """

    renderer: Callable[[tuple[str, ...]], Renderer]
    read: Callable[[str], PackFile]
    beginning: str = ""
    data: Callable[[PackResult, Links], str] | None = None
