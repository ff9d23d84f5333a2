"""The Index tab: what is indexed, how far, what was skipped and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip
from textual.widget import Widget

from excerpt.model import Progress, Skipped, Status
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.messages import EditRequested
from excerpt.tui.strips import Part, fit, line
from excerpt.tui.when import local_time
from excerpt.tui.widgets.notice import Said
from excerpt.tui.widgets.row_list import RowList


class FileList(RowList):
    """Files with a reason: skipped ones first, then those indexed with a warning."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"file--skipped", "file--warned", "file--reason"}

    DEFAULT_CSS = """
    FileList {
        height: 1fr;
        & > .file--skipped { color: $error; }
        & > .file--warned { color: $warning; }
        & > .file--reason { color: $text-soft; }
    }
    """

    files: reactive[tuple[tuple[bool, Skipped], ...]] = reactive((), init=False)
    """(skipped, file): False for one that is indexed with a warning."""

    @property
    def row_count(self) -> int:
        return len(self.files)

    def watch_files(self) -> None:
        self.rows_changed(self.cursor)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        skipped, file = self.files[row]
        bar: Part = ("▌ " if selected else "  ", self.style_of("row--bar"))
        kind: Part = (
            ("skipped  ", self.style_of("file--skipped")) if skipped else ("warning  ", self.style_of("file--warned"))
        )
        reason = visible_line(file.reason)
        return (
            line([bar, kind, (visible_line(file.path), Style.null())], (), width, base),
            line([bar, (" " * len(kind[0]), Style.null()), (reason, self.style_of("file--reason"))], (), width, base),
        )


class IndexFacts(Widget):
    """The figures, one a line, and a gauge while the index is being built."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"facts--name", "facts--full", "facts--empty", "facts--error"}

    DEFAULT_CSS = """
    IndexFacts {
        height: auto;
        padding: 1 2;
        & > .facts--name { color: $text-soft; }
        & > .facts--full { color: $secondary; }
        & > .facts--empty { color: $text-faint; }
        & > .facts--error { color: $error; text-style: bold; }
    }
    """

    vault: reactive[str] = reactive("", layout=True)
    folder: reactive[str] = reactive("", layout=True)
    status: reactive[Status | None] = reactive(None, layout=True)
    progress: reactive[Progress | None] = reactive(None, layout=True)
    """None while nothing is being indexed."""
    trouble: reactive[Said | None] = reactive(None, layout=True)

    def render(self) -> Text:
        name = self.get_component_rich_style("facts--name", partial=True)
        text = Text()
        for label, value in self._facts():
            text.append(f"{label:<11}", name)
            text.append(fit(visible_line(value), max(20, self.scrollable_content_region.width - 11)) + "\n")
        if self.progress is not None:
            self._add_gauge(text, self.progress)
        if self.trouble is not None:
            text.append(
                f"\n{visible_line(self.trouble.title)}\n", self.get_component_rich_style("facts--error", partial=True)
            )
            text.append(f"{visible_line(self.trouble.sentence)}\n")
            text.append(f"{visible_line(self.trouble.hint)}\n" if self.trouble.hint else "", name)
        text.rstrip()
        return text

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("vault", self.vault), ("index", self.folder)]
        status = self.status
        if status is not None:
            facts += [
                ("notes", f"{status.notes:,} in {status.fragments:,} fragments"),
                ("generation", f"{status.generation:,}, updated {local_time(status.updated)}"),
                ("model", status.model),
                ("tokenizer", status.tokenizer),
            ]
        return facts

    def _add_gauge(self, text: Text, progress: Progress) -> None:
        width = max(10, min(50, self.scrollable_content_region.width - 30))
        share = share_done(progress)
        full = round(share * width)
        text.append(f"\n{progress.phase:<11}", self.get_component_rich_style("facts--name", partial=True))
        text.append("█" * full, self.get_component_rich_style("facts--full", partial=True))
        text.append("░" * (width - full), self.get_component_rich_style("facts--empty", partial=True))
        text.append(f" {share:.0%}\n".replace("%", " %"))
        text.append(" " * 11 + rate_line(progress) + "\n")
        if progress.current:
            text.append(
                " " * 11 + fit(visible_line(progress.current), self.scrollable_content_region.width - 11) + "\n"
            )


def share_done(progress: Progress) -> float:
    """How much is done, 0 to 1, by bytes where they are known."""
    if progress.bytes_total:
        return min(1.0, progress.bytes_done / progress.bytes_total)
    return min(1.0, progress.notes_done / progress.notes_total) if progress.notes_total else 0.0


def rate_line(progress: Progress) -> str:
    """`812 of 9,750 notes · 3.1 of 40.2 MB · 410 notes/s`; the rate once there is something to measure."""
    parts = [f"{progress.notes_done:,} of {progress.notes_total:,} notes"]
    if progress.bytes_total:
        parts.append(f"{progress.bytes_done / 1e6:.1f} of {progress.bytes_total / 1e6:.1f} MB")
    if progress.seconds >= 1 and progress.notes_done:
        parts.append(f"{progress.notes_done / progress.seconds:,.0f} notes/s")
    return " · ".join(parts)


class IndexPane(Vertical):
    """Facts above, files with a reason below."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Index")

    DEFAULT_CSS = """
    IndexPane {
        #files-box { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #files-box:focus-within { border-top: solid $accent; border-title-color: $accent; }
    }
    """

    status: var[Status | None] = var(None, init=False)
    progress: var[Progress | None] = var(None, init=False)
    trouble: var[Said | None] = var(None, init=False)

    class UpdateAsked(Message):
        """Bring the index up to date; `rebuild` makes it anew."""

        def __init__(self, rebuild: bool) -> None:
            super().__init__()
            self.rebuild = rebuild

    class Left(Message):
        """The user wants to go back to the search."""

    def __init__(self, vault: Path, folder: Path, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._vault = vault
        self._folder = folder

    def compose(self) -> ComposeResult:
        yield IndexFacts()
        with Vertical(id="files-box"):
            yield FileList(id="files")

    def on_mount(self) -> None:
        facts = self.query_one(IndexFacts)
        facts.vault, facts.folder = str(self._vault), str(self._folder)
        self.watch_status(None)

    def watch_status(self, status: Status | None) -> None:
        self.query_one(IndexFacts).status = status
        skipped = [(True, file) for file in status.skipped] if status else []
        warned = [(False, file) for file in status.warnings] if status else []
        self.query_one(FileList).files = (*skipped, *warned)
        title = (
            f"{len(skipped):,} skipped · {len(warned):,} with a warning" if skipped or warned else "no file was skipped"
        )
        self.query_one("#files-box").border_title = title

    def watch_progress(self, progress: Progress | None) -> None:
        self.query_one(IndexFacts).progress = progress

    def watch_trouble(self, trouble: Said | None) -> None:
        self.query_one(IndexFacts).trouble = trouble

    def action_update(self) -> None:
        self.post_message(self.UpdateAsked(rebuild=False))

    def action_rebuild(self) -> None:
        self.post_message(self.UpdateAsked(rebuild=True))

    def action_edit(self) -> None:
        files = self.query_one(FileList)
        if files.files:
            self.post_message(EditRequested(files.files[files.cursor][1].path, 1, telling=False))

    def action_back(self) -> None:
        self.post_message(self.Left())
