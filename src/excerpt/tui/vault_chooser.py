"""The dialog that chooses a vault: a known one from a list, or any folder by its path, with completion."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from excerpt.base.errors import ExcerptError
from excerpt.base.settings import Paths, Settings, load_vault_settings, open_vault, refuse_folders_in_vault
from excerpt.service.stores import StoreAddress, is_address, parse_address
from excerpt.text.display import format_age, visible, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.dialog import ConfirmDialog, Dialog, DialogBox
from excerpt.tui.common.field import Field
from excerpt.tui.common.strips import fit
from excerpt.tui.keymap import key_sign
from excerpt.tui.session import Session, load_session
from excerpt.vault.known_vaults import (
    DEMO,
    RecentVault,
    describe_broad_folder,
    obsidian_vaults,
    recent_vaults,
    remove_recent_vault,
    suggest_adoption,
    unique_names,
)

_MAX_FOLDERS = 50
"""Maximum number of folders listed as completions; a longer typed path narrows them down."""

_MAX_ENTRIES = 20_000
"""Maximum number of directory entries that are examined for completions."""


class VaultKind(StrEnum):
    """The reason why a vault is in the list; its value is shown at the left of the row."""

    RECENT = "recent"
    OBSIDIAN = "Obsidian"
    GUIDE = "guide"
    TYPED = "as typed"
    FOLDER = "folder"


class VaultRow(Struct, frozen=True):
    """A row of the list of vaults.

    `kind` says why the vault is listed. `name` is the folder's name, with parent folders if another has the same name.
    `detail` is shown after the name: how long ago the vault was opened, or that it is an Obsidian vault.
    """

    kind: VaultKind
    path: Path
    name: str
    detail: str = ""

    def shortened_location(self, home: Path) -> str:
        """Return the path above the vault's `name`, with ~ for `home`, or the address of its store."""
        if self.kind is VaultKind.GUIDE:
            return "to look around"
        if is_address(str(self.path)):
            return parse_address(str(self.path)).display_text
        parent = self.path
        for _ in Path(self.name).parts:
            parent = parent.parent
        return abbreviate_home(parent, home)


def list_known_vaults(
    recent: Sequence[RecentVault], obsidian: Sequence[Path], now: float, current: Path | None
) -> tuple[VaultRow, ...]:
    """Return a row for each known vault: recent ones, the newest first, then Obsidian's, then the guide.

    `now` is the time in seconds since the epoch, `current` the vault that is open. A vault that is both recent and
    Obsidian's has one row.
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


def filter_rows(rows: Iterable[VaultRow], typed_text: str) -> tuple[VaultRow, ...]:
    """Return the rows whose path or name contains every typed word, in any case."""
    words = typed_text.casefold().split()
    return tuple(row for row in rows if all(word in f"{row.path} {row.name}".casefold() for word in words))


def is_path(typed_text: str) -> bool:
    """Return whether the text is a path, and neither words to search for nor the address of a store."""
    return not is_address(typed_text) and (
        typed_text.startswith(("~", ".")) or any(sep in typed_text for sep in (os.sep, os.altsep or os.sep))
    )


def expand_home(typed_path: str, home: Path) -> Path:
    """Return the path with ~ expanded to the home folder. Raises RuntimeError for the ~ of an unknown user."""
    if typed_path == "~" or typed_path.startswith(("~/", f"~{os.sep}")):
        return home / typed_path[2:]
    return Path(typed_path).expanduser()


def complete_path(typed_path: str, base: Path, home: Path) -> tuple[VaultRow, ...]:
    """Return rows for the typed folder, if it exists, and for the folders that complete the typed path.

    Folders whose names begin with the last part of the path come first, then those whose names contain it. Relative
    paths are resolved against `base`. This reads the disk: call it in a thread.
    """
    try:
        whole = base / expand_home(typed_path, home)
        is_complete = typed_path.endswith((os.sep, "/")) or typed_path in ("~", ".", "..")
        typed_row = (
            [VaultRow(VaultKind.TYPED, whole, _folder_name(whole), _obsidian_label(whole))] if whole.is_dir() else []
        )
        folder, start = (whole, "") if is_complete else (whole.parent, whole.name)
        folders = list(_find_subfolders(folder, start))
    except (OSError, ValueError, RuntimeError):  # ValueError: a NUL; RuntimeError: the ~ of an unknown user
        return ()
    names_starting_with = [path for path in folders if path.name.casefold().startswith(start.casefold())]
    names_containing = [path for path in folders if path not in set(names_starting_with)]
    ordered = [*sorted(names_starting_with, key=_folder_sort_key), *sorted(names_containing, key=_folder_sort_key)]
    completions = [path for path in ordered if path != whole][:_MAX_FOLDERS]
    return (
        *typed_row,
        *(VaultRow(VaultKind.FOLDER, path, _folder_name(path), _obsidian_label(path)) for path in completions),
    )


def _find_subfolders(folder: Path, text: str) -> Iterator[Path]:
    """Yield the folders in `folder` whose names contain `text`; hidden folders only if `text` begins with a dot."""
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


def find_missing(rows: Iterable[VaultRow]) -> frozenset[Path]:
    """Return the paths of vaults whose folders do not exist. Reads the disk: call it in a thread."""
    folders = (row.path for row in rows if not is_address(str(row.path)))
    return frozenset(path for path in folders if not os.path.isdir(path))  # noqa: PTH112 - accepts paths that `Path.is_dir` raises for


def abbreviate_home(path: Path, home: Path) -> str:
    """Return the path with ~ for the home folder."""
    try:
        inside = path.relative_to(home)
    except ValueError:
        return str(path)
    return str(Path("~") / inside)


def _folder_name(path: Path) -> str:
    return path.name or str(path)


def _folder_sort_key(path: Path) -> str:
    return path.name.casefold()


def _obsidian_label(path: Path) -> str:
    is_vault = os.path.isdir(path / ".obsidian")  # noqa: PTH112 - `Path.is_dir` raises in a folder of another user
    return "Obsidian vault" if is_vault else ""


ThreadResult = TypeVar("ThreadResult")

_WELCOME = "Finds the few passages in your notes that answer a question, and packs them for a prompt."
_CHOOSE_HINT = "Choose the folder of your notes. excerpt only reads it and writes nothing there."

_BROAD_WARNING = (
    "excerpt would read and index every note below it, also those of programs and downloads. That may take long, "
    "and searches would find all these notes.\n\nUsually it is better to open a folder inside it."
)
_NO_FOLDER = "No folder matches this path. Correct it, or type a shorter path."
_NO_VAULT = "No vault has that name. To open any folder, type a path such as ~/notes."

_KIND_CELLS, _NAME_CELLS = 9, 24
"""Widths in cells of the columns for the kind of a vault and for its name."""


class PreparedVault(Struct, frozen=True):
    """A vault that can be opened at once: its settings and its saved session are loaded.

    `vault` is its folder. `message` names data of a missing vault if this vault may be it, moved; "" otherwise. `store`
    is the address of a vault in a store; its `vault` path then only names its settings and memories.
    """

    vault: Path
    settings: Settings
    session: Session
    message: str = ""
    store: StoreAddress | None = None


class VaultChooser(Dialog[PreparedVault], inherit_bindings=False):
    """The dialog that chooses a vault. Its result is the vault to open, or None if it was closed."""

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
        """Prepare the dialog.

        `environment` is that of the user's shell, `current` the open vault, and `message` the reason for asking.
        """
        super().__init__()
        self.rows: tuple[VaultRow, ...] = ()
        self.missing_paths: frozenset[Path] = frozenset()
        """Paths of known vaults whose folders do not exist."""
        self._user_paths = user_paths
        self._environment = dict(environment)
        self._home = Path(self._environment.get("HOME") or Path.home())
        self._current_vault = current
        self._chooser_message = message
        self._known_rows: tuple[VaultRow, ...] = ()
        self._path_to_open: Path | None = None
        self._listed_text = ""
        self._pending_action: tuple[str, Callable[[], None]] | None = None

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            box.border_title = "excerpt: where are your notes?" if self._current_vault is None else "Open another vault"
            box.set_hints(
                f"{key_sign('vault-open')} open",
                f"{key_sign('vault-complete')} complete",
                f"{key_sign('vault-up', 'vault-down')} choose",
                f"{key_sign('vault-pane')} to the list, where {key_sign('vault-forget')} removes",
                f"{key_sign('vault-leave')} {'close' if self._current_vault is not None else 'quit'}",
            )
            if self._chooser_message:
                yield Static(Content(visible(self._chooser_message)), id="message")
            elif self._current_vault is None:
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
        self._run_in_thread(self._read_known_rows, self._store_known_rows)

    def _run_in_thread(self, function: Callable[[], ThreadResult], on_result: Callable[[ThreadResult], None]) -> None:
        """Run `function` in a thread, then `on_result` with its result on the event loop."""
        threading.Thread(target=lambda: self.call_later(on_result, function()), name="vaults", daemon=True).start()

    def _read_known_rows(self) -> tuple[VaultRow, ...]:
        recent, obsidian = recent_vaults(self._user_paths), obsidian_vaults(self._environment)
        return list_known_vaults(recent, obsidian, time.time(), self._current_vault)

    def _complete_typed_path(self, typed_text: str) -> tuple[VaultRow, ...]:
        try:
            base = Path.cwd()
        except OSError:  # the folder that excerpt was started in is gone
            base = self._home
        return complete_path(typed_text, base, self._home)

    def _prepare_vault(self, path: Path) -> tuple[PreparedVault, str] | str:
        """Load what is needed to open the vault at `path`; return the error message if that is impossible.

        The second value of the tuple describes a folder that is too broad to be opened without a confirmation, such as
        the home folder; it is "" for other folders.
        """
        try:
            if is_address(str(path)):
                store = parse_address(str(path))
                settings = load_vault_settings(store.folder, self._user_paths)
                session = load_session(store.folder, settings, self._user_paths)
                return PreparedVault(store.folder, settings, session, store=store), ""
            vault = open_vault(expand_home(str(path), self._home))
            refuse_folders_in_vault(vault, self._user_paths, self._home)
            message = " ".join(suggest_adoption(self._user_paths, vault))
            settings = load_vault_settings(vault, self._user_paths)
            prepared_vault = PreparedVault(vault, settings, load_session(vault, settings, self._user_paths), message)
        except ExcerptError as error:
            unknown = f"No vault is called {path}, and the current folder does not contain a folder {path}."
            return str(error) if is_path(str(path)) or is_address(str(path)) else unknown
        return prepared_vault, describe_broad_folder(self._user_paths, vault, self._home.resolve())

    @property
    def is_opening(self) -> bool:
        """Whether a chosen vault is still being loaded, or an action waits for the completions of the typed path."""
        return self._path_to_open is not None or self._pending_action is not None

    def _store_known_rows(self, rows: tuple[VaultRow, ...]) -> None:
        self._known_rows = rows
        self._show_known_rows()
        self._run_in_thread(partial(find_missing, rows), self._show_missing)

    def _show_missing(self, missing_paths: frozenset[Path]) -> None:
        self.missing_paths = missing_paths
        self._show_rows(self.rows, self.query_one(OptionList).highlighted or 0)

    def _show_folders(self, typed_text: str, rows: tuple[VaultRow, ...]) -> None:
        if typed_text == self._typed_text:
            self._listed_text = typed_text
            self._show_rows(rows, 0)
            if self._pending_action is not None:
                self._run_when_listed(self._pending_action[1])

    def _handle_prepared_vault(self, path: Path, result: tuple[PreparedVault, str] | str) -> None:
        if path != self._path_to_open:
            return
        if isinstance(result, str):
            self._path_to_open = None
            self._show_error(result)
            return
        prepared_vault, broad_folder_name = result
        if not broad_folder_name:
            self.dismiss(prepared_vault)
            return

        def on_answer(yes: bool | None) -> None:
            if yes:
                self.dismiss(prepared_vault)
            else:
                self._path_to_open = None
                self._show_error(
                    "No vault was opened. Type the path of a folder inside it; "
                    f"{key_sign('vault-complete')} completes the path."
                )

        question = f"{abbreviate_home(prepared_vault.vault, self._home)} is {broad_folder_name}. {_BROAD_WARNING}"
        self.app.push_screen(ConfirmDialog("Index all of it?", visible(question), "Index all of it"), on_answer)

    def _show_rows(self, rows: Sequence[VaultRow], cursor: int) -> None:
        self.rows = tuple(rows)
        options = self.query_one(OptionList)
        details = ["not found" if row.path in self.missing_paths else row.detail for row in rows]
        width = max(map(len, details), default=0)
        options.set_options(
            self._format_row(row, f"{detail:<{width}}") for row, detail in zip(rows, details, strict=True)
        )
        options.highlighted = min(cursor, len(rows) - 1) if rows else None
        self._update_empty_message()

    def _format_row(self, row: VaultRow, detail: str) -> Content:
        is_gone = row.path in self.missing_paths
        return Content.assemble(
            (f" {row.kind:<{_KIND_CELLS}}", "$text-soft"),
            (
                set_cell_size(fit(visible_line(row.name), _NAME_CELLS), _NAME_CELLS),
                "$text-faint" if is_gone else "bold",
            ),
            (f"  {detail}  " if detail else "  ", "$warning" if is_gone else "$text-soft"),
            (visible_line(row.shortened_location(self._home)), "$text-soft"),
        )

    def _show_error(self, message: str) -> None:
        failure = self.query_one("#trouble", Static)
        failure.update(Content(visible(message)))
        failure.display = bool(message)
        self._update_empty_message()

    def _update_empty_message(self) -> None:
        """Show why the list is empty, or hide that message if the list has rows or an error is shown."""
        none = self.query_one("#none", Static)
        none.display = bool(self._typed_text) and not self.rows and not self.query_one("#trouble").display
        none.update(_NO_FOLDER if is_path(self._typed_text) else _NO_VAULT)

    @property
    def _typed_text(self) -> str:
        return self.query_one(Field).value.strip()

    @property
    def selected(self) -> VaultRow | None:
        at = self.query_one(OptionList).highlighted
        return self.rows[at] if at is not None else None

    @on(Input.Changed)
    def _handle_typed_text(self) -> None:
        self._path_to_open = None
        if self._pending_action is not None and self._pending_action[0] != self._typed_text:
            self._pending_action = None
        self._show_error("")
        if is_path(self._typed_text):
            typed_text = self._typed_text
            self._run_in_thread(partial(self._complete_typed_path, typed_text), partial(self._show_folders, typed_text))
        else:
            self._show_known_rows()

    def _show_known_rows(self) -> None:
        if not is_path(self._typed_text):
            self._listed_text = self._typed_text
            rows = filter_rows(self._known_rows, self._typed_text)
            # Select the vault before the current one, to which users mostly switch back.
            self._show_rows(rows, 1 if rows and not self._typed_text and rows[0].path == self._current_vault else 0)

    def action_move(self, rows: int) -> None:
        options = self.query_one(OptionList)
        if self.rows:
            options.highlighted = max(0, min((options.highlighted or 0) + rows, len(self.rows) - 1))

    def action_pane(self) -> None:
        """Move the focus from the field to the list, or back."""
        field = self.query_one(Field)
        self.set_focus(self.query_one(OptionList) if field.has_focus else field)

    def action_complete(self) -> None:
        """Put the path of the selected folder into the field, so that the user can type on from there."""
        self._run_when_listed(self._complete_selected)

    def _complete_selected(self) -> None:
        row = self.selected
        if row is None:
            return
        path = abbreviate_home(row.path, self._home)
        field = self.query_one(Field)
        field.focus()
        field.value = path if path.endswith("/") else f"{path}/"
        field.cursor_position = len(field.value)

    @on(OptionList.OptionSelected)
    def action_open(self) -> None:
        self._run_when_listed(self._open_selected)

    def _run_when_listed(self, act: Callable[[], None]) -> None:
        """Call `act` once the list shows the rows for the text in the field: now, or when these rows arrive."""
        if not self.query(Field):  # repeated keys may arrive after the dialog is closed
            return
        self._pending_action = (self._typed_text, act) if self._listed_text != self._typed_text else None
        if self._pending_action is None:
            act()

    def _open_selected(self) -> None:
        row = self.selected
        if row is not None and row.path == self._current_vault:
            self.dismiss(None)
        elif row is not None or self._typed_text:
            path = row.path if row is not None else Path(self._typed_text)
            if path == self._path_to_open:  # it is being opened already
                return
            self._show_error("")
            self._path_to_open = path
            self._run_in_thread(partial(self._prepare_vault, path), partial(self._handle_prepared_vault, path))

    def action_forget(self) -> None:
        """Remove the selected vault from the list of recent vaults."""
        row = self.selected
        if row is None or row.kind is not VaultKind.RECENT or row.path == self._current_vault:
            self.notify("Only recently opened vaults can be removed from the list.")
            return
        remove_recent_vault(self._user_paths, row.path)
        self._known_rows = tuple(each for each in self._known_rows if each is not row)
        at = self.rows.index(row)
        self._show_rows([each for each in self.rows if each is not row], at)

    def action_leave(self) -> None:
        """Close the dialog. If no vault is open, focus the list if text is typed in the field, else quit excerpt."""
        if self._current_vault is not None:
            self.dismiss(None)
        elif self._typed_text and self.query_one(Field).has_focus:
            self.action_pane()
        else:
            self.app.exit()
