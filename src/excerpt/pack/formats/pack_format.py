"""The interface of a pack format: how packs are rendered, and how a pack file is parsed.

A pack file comes from outside and may be hostile. Only text and numbers are read from it. No path in it is opened: the
index decides whether the path is that of a note.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct

from excerpt.base.errors import ExcerptError
from excerpt.base.model import Pack, PackResult, TableHeader
from excerpt.pack.formats.source_label import PackLinks


class Renderer(Protocol):
    """Renders packs as the text of a prompt. Equal renderers return the same text for the same packs."""

    def __hash__(self) -> int: ...

    def render(self, packs: Sequence[Pack]) -> str:
        """Return the text of all packs, which the user pastes and the budget applies to; "" for no packs."""
        ...

    def render_frame(self, number: int, pack: Pack) -> Sequence[str]:
        """Return the strings that `render` adds around the text of a pack, to count their tokens.

        `number` is the source number of the pack. Strings that are added once for all packs, such as the question,
        belong to source 1.
        """
        ...

    def escape(self, text: str) -> str:
        """Return lines of a note as `render` writes them, for example escaped."""
        ...


class UnreadablePackError(ExcerptError):
    """Raised if a file or text cannot be parsed as a pack that excerpt wrote."""

    title = "The pack cannot be read"
    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(message, "Make a pack with `excerpt pack QUERY > PACK.md`, or with --format json.")


@dataclass(frozen=True, slots=True)
class PackSource:
    """A source as parsed from a pack file: the text of one passage, and where it was in the vault.

    `number` is cited as `[number]`. `path` has visible signs in place of control characters. `digest` is the beginning
    of the text's digest, as long as the pack shows it, or "". `cut_above` and `cut_below` say that the text was cut, so
    that it may begin or end within a line. An attachment may have a `place`, such as `page=12`, with lines of 0.
    `table_header` is above the text if that begins below the header of a table.
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
    table_header: TableHeader | None = None

    @property
    def is_intact(self) -> bool:
        """Whether the text matches its digest."""
        from excerpt.text.fragments import digest_of_text  # the process of the templates does not need it at its start

        return digest_of_text(self.text).startswith(self.digest)


@dataclass(frozen=True, slots=True)
class PackFile:
    """A parsed pack file: its sources in order, and the question that the pack answers, "" if missing."""

    sources: tuple[PackSource, ...]
    question: str = ""

    def find_source(self, number: int) -> PackSource | None:
        """Return the source with this number, None if there is none."""
        return next((source for source in self.sources if source.number == number), None)


class PackFormat(Struct, frozen=True):
    """The functions of one pack format.

    `make_renderer` returns the renderer for the questions and the notice to add. `parse` parses the text of a pack file
    with LF line ends, and raises UnreadablePackError. A file in this format begins with `file_prefix`; if that is "",
    its sources may be anywhere in the file. `render_data` is set for a format for programs: it returns the output, and
    the renderer is only used for the budget.
    """

    make_renderer: Callable[[tuple[str, ...], str], Renderer]
    parse: Callable[[str], PackFile]
    file_prefix: str = ""
    render_data: Callable[[PackResult, PackLinks], str] | None = None
