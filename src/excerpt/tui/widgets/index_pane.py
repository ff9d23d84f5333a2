"""The Index tab: what is indexed, how far, what was skipped and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import reactive, var
from textual.strip import Strip
from textual.widget import Widget

from excerpt.model import Progress, Skipped, Status
from excerpt.text.counted import percent
from excerpt.text.times import local_time
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import Part, fit, line
from excerpt.tui.index.controller import IndexState, Watch
from excerpt.tui.keymap import key_sign
from excerpt.tui.messages import EditRequested, IndexAsked, PaneLeft
from excerpt.tui.pace import rate_words, share_done
from excerpt.tui.reasons import IndexScene, in_index

_SHORT = 16
"""Rows of the tab below which what hardly changes makes room for what goes on."""
_HARDLY_CHANGES = frozenset({"index", "model", "tokenizer"})
_LONG = 1.0
"""Seconds after which it is said how long a file has been in work."""


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
    """What is wrong, how far a build is while there is one, and the figures, one a line."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"facts--name", "facts--full", "facts--empty", "facts--error"}

    DEFAULT_CSS = """
    IndexFacts {
        height: auto;
        padding: 1 2;
        &.-short { padding: 0 2; }
        & > .facts--name { color: $text-soft; }
        & > .facts--full { color: $secondary; }
        & > .facts--empty { color: $text-faint; }
        & > .facts--error { color: $error; text-style: bold; }
    }
    """

    index: reactive[IndexState] = reactive(IndexState(), init=False, repaint=False)
    short: reactive[bool] = reactive(False, layout=True)

    def __init__(self, vault: str, folder: str) -> None:
        super().__init__()
        self.places = (("vault", vault), ("index", folder))

    def watch_short(self) -> None:
        self.set_class(self.short, "-short")

    def watch_index(self, old: IndexState, new: IndexState) -> None:
        """The screen is laid out anew only for another number of lines, not for each figure."""
        self.refresh(layout=_height(old) != _height(new) or new.trouble != old.trouble)

    def render(self) -> Text:
        text = Text()
        self._add_trouble(text)
        if self.index.progress is not None:
            self._add_gauge(text, self.index, self.index.progress)
            self._add(text, build_facts(self.index, self.index.progress))
            text.append("\n")
        facts = (*self.places, *status_facts(self.index))
        going_on = self.index.progress is not None or self.index.trouble is not None
        self._add(text, (fact for fact in facts if not (self.short and going_on and fact[0] in _HARDLY_CHANGES)))
        text.rstrip()
        return text

    def _add_trouble(self, text: Text) -> None:
        """At the top, as the window may be too low for what stands at the end."""
        trouble = self.index.trouble
        if trouble is None:
            return
        text.append(f"{visible_line(trouble.title)}\n", self.get_component_rich_style("facts--error", partial=True))
        text.append(f"{visible_line(trouble.sentence)}\n")
        hint = self.get_component_rich_style("facts--name", partial=True)
        text.append(f"{visible_line(trouble.hint)}\n" if trouble.hint else "", hint).append("\n")

    def _add(self, text: Text, facts: Iterable[tuple[str, str]]) -> None:
        name = self.get_component_rich_style("facts--name", partial=True)
        for label, value in facts:
            text.append(f"{label:<11}", name)
            text.append(fit(visible_line(value), max(20, self.scrollable_content_region.width - 11)) + "\n")

    def _add_gauge(self, text: Text, index: IndexState, progress: Progress) -> None:
        width = max(10, min(50, self.scrollable_content_region.width - 30))
        share = share_done(progress)
        full = round(share * width)
        what = "paused" if index.paused else progress.phase
        text.append(f"{what:<11}", self.get_component_rich_style("facts--name", partial=True))
        text.append("█" * full, self.get_component_rich_style("facts--full", partial=True))
        text.append("░" * (width - full), self.get_component_rich_style("facts--empty", partial=True))
        text.append(f" {percent(share)}\n")


_CHANGES = {
    Watch.NOT_YET: "the whole vault is being looked at first",
    Watch.EVENTS: "watching: seen as they happen",
    Watch.POLLING: "polling: looked for every few seconds, as nothing tells of them",
}


def status_facts(index: IndexState) -> list[tuple[str, str]]:
    """What is indexed, and how it hears of changes."""
    changes = _CHANGES.get(index.watch) or f"not watching; {key_sign('update')} starts it again"
    if index.paused:
        changes = f"paused: kept for when it goes on ({key_sign('index-resume')})"
    now = [("changes", changes)]
    if index.unfinished:
        now.append(("unfinished", f"a build was cancelled; {key_sign('index-update')} reads the rest"))
    status = index.status
    if status is None:
        return now
    return [
        ("notes", f"{status.notes:,} in {status.fragments:,} fragments"),
        ("generation", f"{status.generation:,}, updated {local_time(status.updated)}"),
        *now,
        ("model", status.model),
        ("tokenizer", status.tokenizer),
    ]


def build_facts(index: IndexState, progress: Progress) -> list[tuple[str, str]]:
    """How far a build is; a line of its own for the file that takes long."""
    left = progress.notes_total - progress.notes_done
    facts = [("notes", f"{progress.notes_done:,} of {progress.notes_total:,} done · {left:,} left")]
    if progress.bytes_total:
        done, total = progress.bytes_done / 1e6, progress.bytes_total / 1e6
        facts.append(("MB", f"{done:,.1f} of {total:,.1f} done · {total - done:,.1f} left"))
    if not index.paused:
        facts.append(("pace", rate_words(index.pace, progress) or "…"))
    long = progress.current_seconds >= _LONG and progress.current and not index.paused
    facts.append(("in work", f"for {progress.current_seconds:.0f} s: {progress.current}" if long else progress.current))
    return facts


def _height(index: IndexState) -> int:
    """How many facts there are, one a line."""
    return len(status_facts(index)) + (len(build_facts(index, index.progress)) if index.progress is not None else -1)


class IndexPane(Vertical):
    """Facts above, files with a reason below."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Index")

    DEFAULT_CSS = """
    IndexPane {
        #files-box { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #files-box:focus-within { border-top: solid $accent; border-title-color: $accent; }
    }
    """

    index: var[IndexState] = var(IndexState(), init=False)

    def __init__(self, vault: Path, folder: Path, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._vault = vault
        self._folder = folder

    def compose(self) -> ComposeResult:
        yield IndexFacts(str(self._vault), str(self._folder))
        with Vertical(id="files-box"):
            yield FileList(id="files")

    def on_mount(self) -> None:
        self._show_files(None)

    def on_resize(self) -> None:
        self.query_one(IndexFacts).short = self.size.height < _SHORT

    def watch_index(self, old: IndexState, new: IndexState) -> None:
        self.query_one(IndexFacts).index = new
        if old.status != new.status:
            self._show_files(new.status)
        if self.scene(old) != self.scene(new):
            self.refresh_bindings()

    def _show_files(self, status: Status | None) -> None:
        skipped = [(True, file) for file in status.skipped] if status else []
        warned = [(False, file) for file in status.warnings] if status else []
        self.query_one(FileList).files = (*skipped, *warned)
        title = (
            f"{len(skipped):,} skipped · {len(warned):,} with a warning" if skipped or warned else "no file was skipped"
        )
        self.query_one("#files-box").border_title = title

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's name
        """Pausing and going on are in turn, as one key may do both."""
        return action != ("pause" if self.index.paused else "resume")

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `Reasoned`'s name
        return in_index(action, self.scene(self.index, bool(self.query_one(FileList).files)))

    @staticmethod
    def scene(index: IndexState, files: bool = False) -> IndexScene:
        """What the keys act on."""
        return IndexScene(index.watch is Watch.ENDED, index.paused, index.progress is not None, files)

    def action_update(self) -> None:
        self.post_message(IndexAsked("update"))

    def action_rebuild(self) -> None:
        self.post_message(IndexAsked("rebuild"))

    def action_pause(self) -> None:
        self.post_message(IndexAsked("pause"))

    def action_resume(self) -> None:
        self.post_message(IndexAsked("resume"))

    def action_cancel(self) -> None:
        self.post_message(IndexAsked("cancel"))

    def action_edit(self) -> None:
        files = self.query_one(FileList)
        if files.files:
            self.post_message(EditRequested(files.files[files.cursor][1].path, 1, telling=False))

    def action_back(self) -> None:
        self.post_message(PaneLeft())
