"""The dialog that chooses a vault: from the known ones, or by its path with completion of folders."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar, TypeVar

from rich.cells import set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from excerpt.errors import ExcerptError
from excerpt.known_vaults import (
    DEMO,
    RecentVault,
    describe_broad_folder,
    detect_move,
    obsidian_vaults,
    recent_vaults,
    remove_recent_vault,
    unique_names,
)
from excerpt.settings import Paths, Settings, load_vault_settings, open_vault, refuse_folders_in_vault
from excerpt.store.address import StoreAddress, is_address, parse_address
from excerpt.text.display import format_age, visible, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.dialog import ConfirmDialog, Dialog, DialogBox
from excerpt.tui.common.field import Field
from excerpt.tui.common.strips import fit
from excerpt.tui.keymap import key_sign
from excerpt.tui.session import Session, session_of

_MAX_FOLDERS = 50
"""Maximum number of folders listed; more are reached by typing on."""

_MAX_ENTRIES = 20_000
"""Maximum number of entries of a folder that are examined."""


class VaultKind(StrEnum):
    """Why a vault is in the list, as shown in its row."""

    RECENT = "lately"
    OBSIDIAN = "Obsidian"
    GUIDE = "guide"
    TYPED = "this one"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class VaultRow:
    """A row of the list of vaults.

    `name` is the folder's name, with parent folders if others have the same name. `detail` is shown at the right: when
    it was opened, or what it is.
    """

    kind: VaultKind
    path: Path
    name: str
    detail: str = ""

    def above(self, home: Path) -> str:
        """Return a short form of its location, without what its name shows."""
        if self.kind is VaultKind.GUIDE:
            return "to look around"
        if is_address(str(self.path)):
            return parse_address(str(self.path)).display_text
        parent = self.path
        for _ in Path(self.name).parts:
            parent = parent.parent
        return short_path(parent, home)


def known_rows(
    recent: Sequence[RecentVault], obsidian: Sequence[Path], now: float, current: Path | None
) -> tuple[VaultRow, ...]:
    """Return each vault once: recent ones, the last one first, then Obsidian's, then the demo.

    `now` is in seconds since the epoch, `current` the vault that is open.
    """
    opened = [Path(entry.path) for entry in recent]
    names = unique_names([*opened, *obsidian, *([] if current is None else [current])])
    names.update((path, parse_address(str(path)).folder.name) for path in names if is_address(str(path)))
    rows = [
        VaultRow(VaultKind.RECENT, path, names[path], format_age(entry.opened, now))
        for path, entry in zip(opened, recent, strict=True)
    ]
    rows += [VaultRow(VaultKind.OBSIDIAN, path, names[path]) for path in obsidian]
    rows += [VaultRow(VaultKind.GUIDE, DEMO, "The guide")]
    if current is not None and current not in (row.path for row in rows):
        rows.insert(0, VaultRow(VaultKind.RECENT, current, names[current]))
    unique: dict[Path, VaultRow] = {}
    for row in rows:
        unique.setdefault(row.path, replace(row, detail="open now") if row.path == current else row)
    return tuple(unique.values())


def matching(rows: Iterable[VaultRow], typed: str) -> tuple[VaultRow, ...]:
    """Return the rows whose path or name contains every typed word."""
    words = typed.casefold().split()
    return tuple(row for row in rows if all(word in f"{row.path} {row.name}".casefold() for word in words))


def is_path(typed: str) -> bool:
    """Return whether a path is typed, and neither words to search for nor the address of a store."""
    return not is_address(typed) and (
        typed.startswith(("~", ".")) or any(sep in typed for sep in (os.sep, os.altsep or os.sep))
    )


def expanded(typed: str, home: Path) -> Path:
    """Return the path with ~ expanded to the home folder. Raises RuntimeError for the ~ of an unknown user."""
    if typed == "~" or typed.startswith(("~/", f"~{os.sep}")):
        return home / typed[2:]
    return Path(typed).expanduser()


def folder_rows(typed: str, base: Path, home: Path) -> tuple[VaultRow, ...]:
    """Return the typed folder, if it exists, and the completions of the path. Reads the disk: call it in a thread.

    Completions are the folders whose names begin with the last part, then those that contain it. Relative paths are
    resolved against `base`.
    """
    try:
        whole = base / expanded(typed, home)
        is_complete = typed.endswith((os.sep, "/")) or typed in ("~", ".", "..")
        typed_row = [VaultRow(VaultKind.TYPED, whole, _name(whole), _folder_kind(whole))] if whole.is_dir() else []
        folder, start = (whole, "") if is_complete else (whole.parent, whole.name)
        folders = list(_folders(folder, start))
    except (OSError, ValueError, RuntimeError):  # ValueError: a NUL; RuntimeError: the ~ of an unknown user
        return ()
    matching_start = [path for path in folders if path.name.casefold().startswith(start.casefold())]
    merge_memories = [path for path in folders if path not in set(matching_start)]
    ordered = [*sorted(matching_start, key=_name_key), *sorted(merge_memories, key=_name_key)]
    completions = [path for path in ordered if path != whole][:_MAX_FOLDERS]
    return (*typed_row, *(VaultRow(VaultKind.FOLDER, path, _name(path), _folder_kind(path)) for path in completions))


def _folders(folder: Path, text: str) -> Iterator[Path]:
    """Yield the folders in `folder` whose names contain `text`; hidden ones only if it begins with a dot."""
    needle = text.casefold()
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MAX_ENTRIES):
            hidden = entry.name.startswith(".") and not text.startswith(".")
            if not hidden and needle in entry.name.casefold() and _is_folder(entry):
                yield Path(folder, entry.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def missing(rows: Iterable[VaultRow]) -> frozenset[Path]:
    """Return the vaults whose folders do not exist or cannot be read. Reads the disk: call it in a thread."""
    folders = (row.path for row in rows if not is_address(str(row.path)))
    return frozenset(path for path in folders if not os.path.isdir(path))  # noqa: PTH112 - accepts paths that `Path.is_dir` raises for


def short_path(path: Path, home: Path) -> str:
    """Return the path with ~ for the home folder."""
    try:
        inside = path.relative_to(home)
    except ValueError:
        return str(path)
    return str(Path("~") / inside)


def _name(path: Path) -> str:
    return path.name or str(path)


def _name_key(path: Path) -> str:
    return path.name.casefold()


def _folder_kind(path: Path) -> str:
    return "Obsidian vault" if (path / ".obsidian").is_dir() else ""


Result = TypeVar("Result")

_WELCOME = "Finds the few passages in your notes that answer a question, and packs them for a prompt."
_CHOOSE_HINT = "Choose the folder they are in. It is only read, nothing is written there."

_BROAD_WARNING = (
    "excerpt would read and index every note below it, also those of programs and downloads. That may take long, "
    "and search finds them all.\n\nUsually you want a folder in it."
)
_NO_FOLDER = "No folder there begins like that."
_NO_VAULT = "No vault has that name. To open any folder, type a path such as ~/notes."

_KIND, _NAME = 9, 24
"""Cells of a row for the kind of a vault and for its name."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A vault to open, with what is needed before it can be shown.

    `session` is the state saved the last time. `message` has messages about data moved from the vault's former path.
    `store` is its address if it is in no folder.
    """

    vault: Path
    settings: Settings
    session: Session
    message: str = ""
    store: StoreAddress | None = None


class VaultChooser(Dialog[Opening], inherit_bindings=False):
    """The dialog that chooses a vault, dismissed with the vault to open or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Opening a vault")

    DEFAULT_CSS = """
    VaultChooser {
        & > .box { height: 90%; max-height: 24; }
        #welcome { color: $foreground; margin-bottom: 1; }
        #welcome, #message, #trouble { height: auto; }
        #message { color: $warning; margin-bottom: 1; }
        #field { height: 1; margin-bottom: 1; background: $background; }
        #field Static { width: 3; padding: 0 0 0 1; color: $accent; text-style: bold; }
        #path { width: 1fr; background: $background; &:focus { background-tint: $background 0%; } }
        #vaults {
            height: 1fr;
            padding: 0;
            border: none;
            background: $surface;
            text-wrap: nowrap;
            text-overflow: ellipsis;
        }
        #none { height: auto; padding: 0 1; color: $text-soft; display: none; }
        #trouble { color: $error; margin-bottom: 1; display: none; }
        &.-short > .box { height: 100%; max-height: 100%; padding: 0 1; }
        &.-short #welcome { display: none; }
        &.-short #field, &.-short #message { margin-bottom: 0; }
    }
    """

    def __init__(
        self, user_paths: Paths, environment: Mapping[str, str], *, current: Path | None = None, message: str = ""
    ) -> None:
        """Prepare it. `environment` is the user's, `current` the open vault, `message` why another is needed."""
        super().__init__()
        self.rows: tuple[VaultRow, ...] = ()
        self.missing: frozenset[Path] = frozenset()
        """Known vaults whose folders do not exist."""
        self._user_paths = user_paths
        self._environment = dict(environment)
        self._home = Path(self._environment.get("HOME") or Path.home())
        self._current = current
        self._message = message
        self._known: tuple[VaultRow, ...] = ()
        self._path_to_open: Path | None = None
        self._listed_text = ""
        self._pending_action: tuple[str, Callable[[], None]] | None = None

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            box.border_title = "excerpt: where are your notes?" if self._current is None else "Open another vault"
            box.set_hints(
                f"{key_sign('vault-open')} open",
                f"{key_sign('vault-complete')} complete",
                f"{key_sign('vault-up', 'vault-down')} choose",
                f"{key_sign('vault-pane')} to the list, where {key_sign('vault-forget')} removes",
                f"{key_sign('vault-leave')} {'close' if self._current is not None else 'quit'}",
            )
            if self._message:
                yield Static(Content(visible(self._message)), id="message")
            elif self._current is None:
                yield Static(Content(f"{_WELCOME} {_CHOOSE_HINT}"), id="welcome")
            with Horizontal(id="field"):
                yield Static("❯")
                hint = "A name, or a path such as ~/notes"
                yield Field(placeholder=hint, compact=True, select_on_focus=False, id="path")
            yield Static(id="none")
            yield Static(id="trouble")
            yield OptionList(id="vaults", markup=False)

    def on_mount(self) -> None:
        self.query_one(Field).focus()
        self._run_in_thread(self._read_known, self._set_known)

    # --- in threads ---------------------------------------------------------------------------------------------------

    def _run_in_thread(self, work: Callable[[], Result], on_result: Callable[[Result], None]) -> None:
        """Run `work` in a thread, then `on_result` with its result on the event loop."""
        threading.Thread(target=lambda: self.call_later(on_result, work()), name="vaults", daemon=True).start()

    def _read_known(self) -> tuple[VaultRow, ...]:
        recent, obsidian = recent_vaults(self._user_paths), obsidian_vaults(self._environment)
        return known_rows(recent, obsidian, time.time(), self._current)

    def _find(self, typed: str) -> tuple[VaultRow, ...]:
        try:
            base = Path.cwd()
        except OSError:  # the folder that excerpt was started in is gone
            base = self._home
        return folder_rows(typed, base, self._home)

    def _open(self, path: Path) -> tuple[Opening, str] | str:
        """Return what is needed to open a vault, or the reason why it cannot be opened.

        The second value names a folder that is too broad, which needs a confirmation; else it is "".
        """
        try:
            if is_address(str(path)):
                store = parse_address(str(path))
                settings = load_vault_settings(store.folder, self._user_paths)
                session = session_of(store.folder, settings, self._user_paths)
                return Opening(store.folder, settings, session, store=store), ""
            vault = open_vault(expanded(str(path), self._home))
            refuse_folders_in_vault(vault, self._user_paths, self._home)
            message = " ".join(detect_move(self._user_paths, vault))
            settings = load_vault_settings(vault, self._user_paths)
            opening = Opening(vault, settings, session_of(vault, settings, self._user_paths), message)
        except ExcerptError as error:
            unknown = f"No vault is called {path}, and the current folder has no folder {path}."
            return str(error) if is_path(str(path)) or is_address(str(path)) else unknown
        return opening, describe_broad_folder(self._user_paths, vault, self._home.resolve())

    @property
    def is_opening(self) -> bool:
        """Whether the chosen vault is still being examined."""
        return self._path_to_open is not None or self._pending_action is not None

    # --- what they found ----------------------------------------------------------------------------------------------

    def _set_known(self, rows: tuple[VaultRow, ...]) -> None:
        self._known = rows
        self._show_known()
        self._run_in_thread(partial(missing, rows), self._show_missing)

    def _show_missing(self, gone: frozenset[Path]) -> None:
        self.missing = gone
        self._list(self.rows, self.query_one(OptionList).highlighted or 0)

    def _show_folders(self, typed: str, rows: tuple[VaultRow, ...]) -> None:
        if typed == self._typed:
            self._listed_text = typed
            self._list(rows, 0)
            if self._pending_action is not None:
                self._when_listed(self._pending_action[1])

    def _handle_opened(self, path: Path, result: tuple[Opening, str] | str) -> None:
        if path != self._path_to_open:
            return
        if isinstance(result, str):
            self._path_to_open = None
            self._show_error(result)
            return
        opening, broad_name = result
        if not broad_name:
            self.dismiss(opening)
            return

        def on_answer(yes: bool | None) -> None:
            if yes:
                self.dismiss(opening)
            else:
                self._path_to_open = None
                self._show_error(
                    f"Nothing was opened. Type on to find a folder in it: {key_sign('vault-complete')} completes."
                )

        question = f"{short_path(opening.vault, self._home)} is {broad_name}. {_BROAD_WARNING}"
        self.app.push_screen(ConfirmDialog("Index all of it?", visible(question), "Index all of it"), on_answer)

    def _list(self, rows: Sequence[VaultRow], cursor: int) -> None:
        self.rows = tuple(rows)
        options = self.query_one(OptionList)
        details = ["not found" if row.path in self.missing else row.detail for row in rows]
        width = max(map(len, details), default=0)
        options.set_options(self._line(row, f"{detail:<{width}}") for row, detail in zip(rows, details, strict=True))
        options.highlighted = min(cursor, len(rows) - 1) if rows else None
        self._show_if_none()

    def _line(self, row: VaultRow, detail: str) -> Content:
        gone = row.path in self.missing
        return Content.assemble(
            (f" {row.kind:<{_KIND}}", "$text-soft"),
            (set_cell_size(fit(visible_line(row.name), _NAME), _NAME), "$text-faint" if gone else "bold"),
            (f"  {detail}  " if detail else "  ", "$warning" if gone else "$text-soft"),
            (visible_line(row.above(self._home)), "$text-soft"),
        )

    def _show_error(self, message: str) -> None:
        failure = self.query_one("#trouble", Static)
        failure.update(Content(visible(message)))
        failure.display = bool(message)
        self._show_if_none()

    def _show_if_none(self) -> None:
        """Show the explanation of an empty list, unless an error is shown."""
        none = self.query_one("#none", Static)
        none.display = bool(self._typed) and not self.rows and not self.query_one("#trouble").display
        none.update(_NO_FOLDER if is_path(self._typed) else _NO_VAULT)

    # --- the field ----------------------------------------------------------------------------------------------------

    @property
    def _typed(self) -> str:
        return self.query_one(Field).value.strip()

    @property
    def selected(self) -> VaultRow | None:
        at = self.query_one(OptionList).highlighted
        return self.rows[at] if at is not None else None

    @on(Input.Changed)
    def _changed(self) -> None:
        self._path_to_open = None
        if self._pending_action is not None and self._pending_action[0] != self._typed:
            self._pending_action = None
        self._show_error("")
        if is_path(self._typed):
            typed = self._typed
            self._run_in_thread(partial(self._find, typed), partial(self._show_folders, typed))
        else:
            self._show_known()

    def _show_known(self) -> None:
        if not is_path(self._typed):
            self._listed_text = self._typed
            rows = matching(self._known, self._typed)
            # Select the vault before the current one, to which users mostly switch back.
            self._list(rows, 1 if rows and not self._typed and rows[0].path == self._current else 0)

    # --- the keys -----------------------------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        options = self.query_one(OptionList)
        if self.rows:
            options.highlighted = max(0, min((options.highlighted or 0) + rows, len(self.rows) - 1))

    def action_pane(self) -> None:
        """Move the focus from the field to the list, or back."""
        field = self.query_one(Field)
        self.set_focus(self.query_one(OptionList) if field.has_focus else field)

    def action_complete(self) -> None:
        """Put the selected folder into the field, to continue typing from there."""
        self._when_listed(self._complete_selected)

    def _complete_selected(self) -> None:
        row = self.selected
        if row is None:
            return
        path = short_path(row.path, self._home)
        field = self.query_one(Field)
        field.focus()
        field.value = path if path.endswith("/") else f"{path}/"
        field.cursor_position = len(field.value)

    @on(OptionList.OptionSelected)
    def action_open(self) -> None:
        self._when_listed(self._open_selected)

    def _when_listed(self, act: Callable[[], None]) -> None:
        """Run `act` on the list for the text typed last; if the list is older, as soon as the new one is there."""
        if not self.query(Field):  # repeated keys may arrive after the dialog is closed
            return
        self._pending_action = (self._typed, act) if self._listed_text != self._typed else None
        if self._pending_action is None:
            act()

    def _open_selected(self) -> None:
        row = self.selected
        if row is not None and row.path == self._current:
            self.dismiss(None)
        elif row is not None or self._typed:
            path = row.path if row is not None else Path(self._typed)
            if path == self._path_to_open:  # it is being opened already
                return
            self._show_error("")
            self._path_to_open = path
            self._run_in_thread(partial(self._open, path), partial(self._handle_opened, path))

    def action_forget(self) -> None:
        """Remove the selected vault from the list of recent vaults."""
        row = self.selected
        if row is None or row.kind is not VaultKind.RECENT or row.path == self._current:
            self.notify("Only recently opened vaults can be removed from the list.")
            return
        remove_recent_vault(self._user_paths, row.path)
        self._known = tuple(each for each in self._known if each is not row)
        at = self.rows.index(row)
        self._list([each for each in self.rows if each is not row], at)

    def action_leave(self) -> None:
        """Close the dialog; if no vault is open, move from typed text to the list, then leave excerpt."""
        if self._current is not None:
            self.dismiss(None)
        elif self._typed and self.query_one(Field).has_focus:
            self.action_pane()
        else:
            self.app.exit()
