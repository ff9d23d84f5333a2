"""Which vault to open: those opened lately, Obsidian's, the demo, or the path of any folder.

Whatever looks at the disk does so in a thread that nobody waits for at the end: a folder on a network that does not
answer must not keep the app from closing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from excerpt.errors import ExcerptError
from excerpt.known_vaults import forget_vault, obsidian_vaults, recent_vaults, too_broad
from excerpt.settings import Places
from excerpt.text.visible import visible
from excerpt.tui.bindings import bindings
from excerpt.tui.keymap import key_sign
from excerpt.tui.opening import Opening, opening
from excerpt.tui.screens.confirm import Confirm
from excerpt.tui.screens.dialog import Box, Dialog
from excerpt.tui.vault_rows import (
    Kind,
    VaultRow,
    expanded,
    folder_rows,
    is_path,
    known_rows,
    matching,
    missing,
    short_path,
)
from excerpt.tui.widgets.field import Field
from excerpt.tui.widgets.vault_list import VaultList

_WELCOME = "Finds the few passages in your notes that answer a question, and packs them for a prompt."
_ASKED = "Choose the folder they are in. It is only read, nothing is written there."

_BROAD = (
    "Every note anywhere below it would be read and indexed, those of programs and downloads among them: that may take "
    "long, and search finds them all.\n\nMostly a folder in it is meant."
)
_NO_FOLDER = "No folder there begins like that."
_NONE_CALLED_SO = "No vault here is called that; a path such as ~/notes leads to any folder."


class VaultChooser(Dialog[Opening], inherit_bindings=False):
    """Dismissed with the vault to open, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Opening a vault")

    DEFAULT_CSS = """
    VaultChooser {
        & > .box { height: 90%; max-height: 24; }
        #welcome { color: $foreground; margin-bottom: 1; }
        #welcome, #said, #trouble { height: auto; }
        #said { color: $warning; margin-bottom: 1; }
        #field { height: 1; margin-bottom: 1; background: $background; }
        #field Static { width: 3; padding: 0 0 0 1; color: $accent; text-style: bold; }
        #path { width: 1fr; background: $background; &:focus { background-tint: $background 0%; } }
        #vaults { height: 1fr; }
        #none { height: auto; padding: 0 1; color: $text-soft; display: none; }
        #trouble { color: $error; margin-top: 1; display: none; }
        &.-short > .box { height: 100%; max-height: 100%; padding: 0 1; }
        &.-short #welcome { display: none; }
        &.-short #field, &.-short #said { margin-bottom: 0; }
    }
    """

    class FoldersFound(Message):
        def __init__(self, typed: str, rows: tuple[VaultRow, ...]) -> None:
            super().__init__()
            self.typed = typed
            self.rows = rows

    class KnownRead(Message):
        def __init__(self, rows: tuple[VaultRow, ...], missing: frozenset[Path] = frozenset()) -> None:
            super().__init__()
            self.rows = rows
            self.missing = missing

    class Opened(Message):
        def __init__(self, opening: Opening) -> None:
            super().__init__()
            self.opening = opening

    class Doubted(Message):
        """It could be opened, but is to be asked about first: `named` says what it is."""

        def __init__(self, opening: Opening, named: str) -> None:
            super().__init__()
            self.opening = opening
            self.named = named

    class Failed(Message):
        def __init__(self, path: Path, told: str) -> None:
            super().__init__()
            self.path = path
            self.told = told

    def __init__(
        self, places: Places, environment: Mapping[str, str], *, current: Path | None = None, said: str = ""
    ) -> None:
        """`environment` is the user's; `current` the vault that is open; `said` why another is asked for."""
        super().__init__()
        self._places = places
        self._environment = dict(environment)
        self._home = Path(self._environment.get("HOME") or Path.home())
        self._current = current
        self._said = said
        self._known: tuple[VaultRow, ...] = ()
        self._wanted: Path | None = None
        self._listed = ""
        self._waits: tuple[str, Callable[[], None]] | None = None

    def compose(self) -> ComposeResult:
        with Box() as box:
            box.border_title = "excerpt: where are your notes?" if self._current is None else "Open another vault"
            leave = "close" if self._current is not None else "quit"
            box.hint(
                f"{key_sign('vault-open')} open",
                f"{key_sign('vault-complete')} complete",
                f"{key_sign('vault-up', 'vault-down')} choose",
                f"{key_sign('vault-forget')} take out of the list",
                f"{key_sign('vault-leave')} {leave}",
            )
            if self._said:
                yield Static(Content(visible(self._said)), id="said")
            elif self._current is None:
                yield Static(Content(f"{_WELCOME} {_ASKED}"), id="welcome")
            with Horizontal(id="field"):
                yield Static("❯")
                hint = "A name, or a path such as ~/notes"
                yield Field(placeholder=hint, compact=True, select_on_focus=False, id="path")
            yield Static(id="none")
            yield VaultList(self._home, id="vaults")
            yield Static(id="trouble")

    def on_mount(self) -> None:
        self.query_one(Field).focus()
        self._aside(self._read_known)

    # --- in threads ---------------------------------------------------------------------------------------------------

    def _aside(self, work: Callable[[], Message]) -> None:
        threading.Thread(target=lambda: self.post_message(work()), name="vaults", daemon=True).start()

    def _read_known(self) -> KnownRead:
        recent, obsidian = recent_vaults(self._places), obsidian_vaults(self._environment)
        return self.KnownRead(known_rows(recent, obsidian, time.time(), self._current))

    def _look(self, rows: tuple[VaultRow, ...]) -> KnownRead:
        return self.KnownRead(rows, missing(rows))

    def _find(self, typed: str) -> FoldersFound:
        try:
            here = Path.cwd()
        except OSError:  # the folder that excerpt was started in is gone
            here = self._home
        return self.FoldersFound(typed, folder_rows(typed, here, self._home))

    def _open(self, path: Path) -> Opened | Doubted | Failed:
        try:
            found = opening(expanded(str(path), self._home), self._places, self._home)
            named = too_broad(self._places, found.vault, self._home.resolve())
            return self.Doubted(found, named) if named else self.Opened(found)
        except ExcerptError as error:
            unknown = f"No vault here is called {path}, and there is no folder {path} where excerpt was started."
            return self.Failed(path, str(error) if is_path(str(path)) else unknown)

    # --- what they say ------------------------------------------------------------------------------------------------

    @on(KnownRead)
    def _known_read(self, message: KnownRead) -> None:
        rows = self.query_one(VaultList)
        if self._known != message.rows:
            self._known = message.rows
            self._show_known()
            self._aside(partial(self._look, message.rows))
        else:
            rows.missing = message.missing

    @on(FoldersFound)
    def _folders_found(self, message: FoldersFound) -> None:
        if message.typed == self._typed:
            self.query_one(VaultList).rows = message.rows
            self._listed = message.typed
            self._say_if_none()
            if self._waits is not None:
                self._when_listed(self._waits[1])

    @on(Opened)
    def _opened(self, message: Opened) -> None:
        if self._wanted is not None:
            self.dismiss(message.opening)

    @on(Doubted)
    def _doubted(self, message: Doubted) -> None:
        if self._wanted is None:
            return
        found = message.opening

        def answered(yes: bool | None) -> None:
            if yes:
                self.dismiss(found)
            else:
                self._wanted = None
                self._tell(
                    f"Nothing was opened. A folder in it is found by typing on: {key_sign('vault-complete')} completes."
                )

        question = f"{short_path(found.vault, self._home)} is {message.named}. {_BROAD}"
        self.app.push_screen(Confirm("Index all of it?", visible(question), "Index all of it"), answered)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if message.path == self._wanted:
            self._wanted = None
            self._tell(message.told)

    def _tell(self, told: str) -> None:
        trouble = self.query_one("#trouble", Static)
        trouble.update(Content(visible(told)))
        trouble.display = bool(told)
        self._say_if_none()

    def _say_if_none(self) -> None:
        """What a list without rows means, unless something is wrong."""
        none = self.query_one("#none", Static)
        none.display = (
            bool(self._typed) and not self.query_one(VaultList).rows and not self.query_one("#trouble").display
        )
        none.update(_NO_FOLDER if is_path(self._typed) else _NONE_CALLED_SO)

    # --- the field ----------------------------------------------------------------------------------------------------

    @property
    def _typed(self) -> str:
        return self.query_one(Field).value.strip()

    @on(Input.Changed)
    def _changed(self) -> None:
        self._wanted = None
        if self._waits is not None and self._waits[0] != self._typed:
            self._waits = None
        self._tell("")
        if is_path(self._typed):
            self._aside(partial(self._find, self._typed))
        else:
            self._show_known()

    def _show_known(self) -> None:
        if not is_path(self._typed):
            self._listed = self._typed
            rows = self.query_one(VaultList)
            rows.rows = matching(self._known, self._typed)
            # Whoever switches mostly goes back to where they were before.
            first = rows.rows[0].path if rows.rows and not self._typed else None
            rows.cursor = 1 if first is not None and first == self._current else 0
            self._say_if_none()

    # --- the keys -----------------------------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        self.query_one(VaultList).move(rows)

    def action_complete(self) -> None:
        """Take the selected folder into the field, to type on from there."""
        self._when_listed(self._take_selected)

    def _take_selected(self) -> None:
        row = self.query_one(VaultList).selected
        if row is None:
            return
        path = short_path(row.path, self._home)
        field = self.query_one(Field)
        field.value = path if path.endswith("/") else f"{path}/"
        field.cursor_position = len(field.value)

    @on(VaultList.Chosen)
    def action_open(self) -> None:
        self._when_listed(self._open_selected)

    def _when_listed(self, act: Callable[[], None]) -> None:
        """Act on the list of what was typed last: where it is of something before that, as soon as it is there."""
        self._waits = (self._typed, act) if self._listed != self._typed else None
        if self._waits is None:
            act()

    def _open_selected(self) -> None:
        row = self.query_one(VaultList).selected
        if row is not None and row.path == self._current:
            self.dismiss(None)
        elif row is not None or self._typed:
            wanted = row.path if row is not None else Path(self._typed)
            if wanted == self._wanted:  # it is being opened
                return
            self._tell("")
            self._wanted = wanted
            self._aside(partial(self._open, self._wanted))

    def action_forget(self) -> None:
        """Take the selected vault out of the list of those opened lately."""
        row = self.query_one(VaultList).selected
        if row is None or row.kind is not Kind.RECENT or row.path == self._current:
            self.notify("Only what was opened lately can be taken out of the list.")
            return
        self._known = tuple(each for each in self._known if each is not row)
        forget_vault(self._places, row.path)
        at = self.query_one(VaultList).cursor
        self._show_known()
        self.query_one(VaultList).cursor = at

    def action_leave(self) -> None:
        """Clear the field; then close, or leave excerpt where no vault is open."""
        field = self.query_one(Field)
        if field.value:
            field.value = ""
        elif self._current is not None:
            self.dismiss(None)
        else:
            self.app.exit()
