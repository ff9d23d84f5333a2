"""The index dialog: progress of the build, skipped files with reasons, and commands."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Button, OptionList, ProgressBar, Static
from textual.widgets.option_list import Option

from excerpt.base.model import OCR_COMMAND, FileProblem, Progress, Status
from excerpt.base.settings import Paths
from excerpt.index.events import Command
from excerpt.service.stores import StoreAddress
from excerpt.text.display import format_count, local_time, visible_line
from excerpt.tui.common.dialog import Dialog, DialogBox
from excerpt.tui.index.controller import ChangeDetection, IndexState, done_share, format_embedding, format_rate
from excerpt.tui.keymap import format_key, key_sign
from excerpt.vault.known_vaults import VaultFolders

_MAX_FILES = 200
"""Maximum number of files listed: a list of 1,000 takes a tenth of a second to build."""
_SLOW_FILE_SECONDS = 1.0
"""Seconds after which the time spent on the current file is shown."""

_CHANGE_DETECTION_TEXTS = {
    ChangeDetection.NOT_YET: "scanning the whole vault first",
    ChangeDetection.EVENTS: "noticed at once",
    ChangeDetection.POLLING: "checked every few seconds, because the system reports none",
    ChangeDetection.ENDED: "not noticed; “Update” checks for them",
    ChangeDetection.STORE: "pushed by others; excerpt looks for them every two seconds",
}


class IndexDialog(Dialog[None]):
    """The index dialog. It shows `state`, which the main screen sets after each change."""

    AUTO_FOCUS = ""

    DEFAULT_CSS = """
    IndexDialog {
        & > .box { height: 90%; max-height: 30; }
        #trouble { height: auto; margin-bottom: 1; }
        #facts { height: auto; text-wrap: nowrap; text-overflow: ellipsis; }
        #share { width: 1fr; height: 1; padding-left: 11; & Bar { width: 1fr; } }
        #skipped { height: 1; margin-top: 1; color: $text-soft; }
        #files {
            height: 1fr;
            padding: 0;
            border: none;
            background: $surface;
            scrollbar-size-vertical: 1;
        }
        Horizontal { height: 1; margin-top: 1; }
        Button { min-width: 6; margin-right: 2; }
        #pause { min-width: 10; }
        &.-clean > .box { height: auto; }
        &.-short > .box { height: 100%; padding: 0 1; }
        &.-short #skipped, &.-short Horizontal, &.-short #trouble { margin: 0; }
    }
    """

    state: reactive[IndexState] = reactive(IndexState(), init=False)

    def __init__(
        self,
        vaults: VaultFolders,
        user_paths: Paths,
        state: IndexState,
        *,
        send_command: Callable[[Command], object],
        open_file: Callable[[str], object],
        enable_ocr: Callable[[], object],
        remote_notice: str = "",
        store: StoreAddress | None = None,
    ) -> None:
        """Prepare the dialog.

        The folders of the indexes are shown, or for a vault in a store the address `store`. `send_command` passes a
        command to the indexing process. `open_file` opens a file of a vault, by its path, in the user's editor.
        `enable_ocr` turns on the reading of images. `remote_notice` says what is sent to other machines.
        """
        super().__init__()
        self.set_reactive(IndexDialog.state, state)
        self._title = vaults.title
        self._store = store
        self.index_folders = [user_paths.index_folder(vault) for vault in vaults.by_name.values()]
        self._send_command = send_command
        self._open_in_editor = open_file
        self._request_ocr = enable_ocr
        self._remote_notice = remote_notice
        self._files: tuple[FileProblem, ...] = ()

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            name = visible_line(self._title)
            box.border_title = Content(f"The index of {name}" if self._store is None else f"{name}, in a store")
            yield Static(id="trouble")
            yield ProgressBar(total=1.0, show_eta=False, id="share")
            yield Static(id="facts")
            yield Static(id="skipped")
            yield OptionList(id="files", markup=False)
            with Horizontal() as actions:
                actions.display = self._store is None
                yield Button("Update", id="update", variant="primary", compact=True)
                yield Button("Pause", id="pause", compact=True)
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Rebuild", id="rebuild", compact=True)
                yield Button("OCR", id="images", tooltip="Read images with OCR", compact=True)

    def on_mount(self) -> None:
        self._show_state()
        self._show_files(self.state.status)
        if self._files or self._store is None:
            self.query_one("#files" if self._files else "#update").focus()

    def on_resize(self) -> None:
        self._show_state()

    def watch_state(self, old: IndexState, new: IndexState) -> None:
        if self.is_mounted:
            self._show_state()
            if old.status != new.status:
                self._show_files(new.status)

    def _show_state(self) -> None:
        state, progress = self.state, self.state.progress
        failure_state = state.failure
        widget = self.query_one("#trouble", Static)
        widget.display = failure_state is not None
        if failure_state is not None:
            title = (visible_line(failure_state.title), "bold $error")
            widget.update(
                Content.assemble(title, f"\n{visible_line(failure_state.sentence)} {visible_line(failure_state.hint)}")
            )
        # In a low window facts that hardly change make room for the progress.
        facts = list_build_facts(state, progress) if progress is not None else []
        if not (facts or failure_state) or not self.has_class("-short"):
            folders = [("folder", str(folder)) for folder in self.index_folders]
            where = folders if self._store is None else [("store", self._store.display_text)]
            sent = [("sent", self._remote_notice)] if self._remote_notice else []
            facts += [*list_status_facts(state), *sent, *where]
        lines = (Content.assemble((f"{label:<11}", "$text-soft"), visible_line(value)) for label, value in facts)
        self.query_one("#facts", Static).update(Content("\n").join(lines))
        share = self.query_one("#share", ProgressBar)
        share.display = progress is not None
        share.progress = done_share(progress) if progress is not None else 0.0
        pause, cancel = self.query_one("#pause", Button), self.query_one("#cancel", Button)
        pause.label = "Continue" if state.paused else "Pause"
        pause.disabled = state.change_detection is ChangeDetection.ENDED
        cancel.disabled = progress is None
        unread = state.status.unread if state.status is not None else ()
        self.query_one("#images", Button).display = any(one.action == OCR_COMMAND for one in unread)

    def _show_files(self, status: Status | None) -> None:
        skipped, warned = (status.skipped, status.warnings) if status is not None else ((), ())
        unread = status.unread if status is not None else ()
        self._files = (*skipped, *warned)[:_MAX_FILES]
        marks = [("skipped  ", "$error")] * len(skipped) + [("warning  ", "$warning")] * len(warned)
        summary = f"{len(skipped):,} skipped · {len(warned):,} with a warning" if marks else "no file was skipped"
        if unread:
            summary += f" · {sum(one.files for one in unread):,} not read"
        if len(marks) > _MAX_FILES:
            summary += f" · the first {_MAX_FILES} are listed; `excerpt status` has all"
        unread_rows = [
            (("not read ", "$text-soft"), f"{format_count(one.files, 'file')}, {visible_line(one.what)}", one.advice)
            for one in unread
        ]
        file_rows = [
            (mark, visible_line(file.path), visible_line(file.reason))
            for mark, file in zip(marks, self._files, strict=False)
        ]
        self.query_one("#skipped", Static).update(Content(summary))
        files = self.query_one("#files", OptionList)
        files.set_options(
            Option(Content.assemble(mark, name, "\n", (reason, "$text-soft")))
            for mark, name, reason in (*file_rows, *unread_rows)
        )
        files.display = bool(marks or unread)
        self.set_class(not marks and not unread, "-clean")
        open_hint = [f"{format_key('enter')} open the file"] if marks else []
        self.query_one(DialogBox).set_hints(
            *open_hint, f"{key_sign('dialog-next')} next", f"{key_sign('dialog-leave')} close"
        )

    @on(OptionList.OptionSelected)
    def _open_file(self, event: OptionList.OptionSelected) -> None:
        if event.option_index < len(self._files):
            self._open_in_editor(self._files[event.option_index].path)

    @on(Button.Pressed, "#images")
    def _enable_ocr(self, event: Button.Pressed) -> None:
        event.stop()
        self._request_ocr()

    @on(Button.Pressed, "#update, #pause, #cancel, #rebuild")
    def _run_command(self, event: Button.Pressed) -> None:
        commands: dict[str | None, Command] = {
            "update": "update",
            "pause": "resume" if self.state.paused else "pause",
            "cancel": "cancel",
            "rebuild": "rebuild",
        }
        self._send_command(commands[event.button.id])


def list_status_facts(index: IndexState) -> list[tuple[str, str]]:
    """Return what is indexed and how changes are detected, as pairs of label and value."""
    changes = [
        ("changes", "not read until you continue" if index.paused else _CHANGE_DETECTION_TEXTS[index.change_detection])
    ]
    if index.is_unfinished:
        changes.append(("unfinished", "a build was cancelled; “Update” reads the rest"))
    status = index.status
    if status is None:
        return changes
    attachments = f" and {format_count(sum(status.attachments.values()), 'attachment')}" if status.attachments else ""
    passages = format_count(status.fragments, "passage")
    embedding = format_embedding(index)
    return [
        ("notes", f"{status.notes:,}{attachments} in {passages}, as of {local_time(status.updated)}"),
        *changes,
        ("model", f"{status.model} · tokens: {status.tokenizer}"),
        *([("embedding", embedding)] if embedding else ()),
    ]


def list_build_facts(index: IndexState, progress: Progress) -> list[tuple[str, str]]:
    """Return the progress and speed of a build and the file being read, as pairs of label and value."""
    done = f"{progress.notes_done:,} of {format_count(progress.notes_total, 'file')}"
    if progress.bytes_total:
        done += f" · {progress.bytes_done / 1e6:,.1f} of {progress.bytes_total / 1e6:,.1f} MB"
    facts = [("paused" if index.paused else progress.phase, done)]
    if not index.paused:
        facts.append(("speed", format_rate(index.build_samples, progress) or "…"))
        slow_file = progress.current_seconds >= _SLOW_FILE_SECONDS and progress.current
        facts.append(
            ("file", f"for {progress.current_seconds:.0f} s: {progress.current}" if slow_file else progress.current)
        )
    return facts
