"""What a format of packs is: how packs are rendered in it, and how a pack file of it is read back.

A pack file comes from outside and may be hostile. What is read of it is text and numbers: whether a path is that of a
note is for the index to say, and nothing is opened by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from excerpt.errors import ExcerptError
from excerpt.model import Pack, PackResult
from excerpt.pack.formats.source_label import Links


class Renderer(Protocol):
    """How packs become text. What is rendered for the same packs is always the same, by equal renderers too."""

    def __hash__(self) -> int: ...

    def render(self, packs: Sequence[Pack]) -> str:
        """The whole text: what is pasted, and what the budget is checked on. Empty for no packs."""
        ...

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        """What stands around the text of source `number`: strings whose tokens together are its cost.

        What stands around all of them, such as the question, is the first one's.
        """
        ...

    def written(self, text: str) -> str:
        """Lines of a note as they are rendered, such as with escapes."""
        ...


class PackUnreadableError(ExcerptError):
    """What was given as a pack is none that excerpt wrote."""

    title = "The pack cannot be read"
    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(message, "Make one with `excerpt pack QUERY > PACK.md`, or with --format json.")


@dataclass(frozen=True, slots=True)
class PackSource:
    """What a pack gives under `[number]`. `path` is as it was shown: controls in it may stand as signs. `digest` is
    what the pack says of the text, in as many digits as it shows; "" where it says nothing. `cut_above` and `cut_below`
    say that it may begin or end within a line. An attachment's `place` may stand for its lines, which are then 0."""

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
        """Whether the text is the one that its digest was made of."""
        from excerpt.text.fragments import digest_of_text  # the process of the templates starts without it

        return digest_of_text(self.text).startswith(self.digest)


@dataclass(frozen=True, slots=True)
class PackFile:
    """The sources of a pack, in their order, and the question that it was made for, if it holds one."""

    sources: tuple[PackSource, ...]
    question: str = ""

    def source(self, number: int) -> PackSource | None:
        return next((source for source in self.sources if source.number == number), None)


@dataclass(frozen=True, slots=True)
class PackFormat:
    """One format. `renderer` is given the questions to put below the sources.

    `read` is given the text of a pack file whose lines end in LF, and raises PackUnreadableError. Such a file begins
    with `beginning`, or, where that is empty, its sources may stand anywhere in it. `data` is for a format that is
    data about packs, not text for a prompt: the budget is that of what its `renderer` gives.
    """

    renderer: Callable[[tuple[str, ...]], Renderer]
    read: Callable[[str], PackFile]
    beginning: str = ""
    data: Callable[[PackResult, Links], str] | None = None
