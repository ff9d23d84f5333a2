"""Update the index of a vault when a user asks for it, and what an update has to know or leaves to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.base.errors import SettingsError
from excerpt.base.settings import Ocr, Paths, Settings, load_settings, load_vault_settings
from excerpt.encoders.model_names import is_static_model
from excerpt.vault.known_vaults import refuse_broad_folder

if TYPE_CHECKING:
    from excerpt.base.model import BuildReport, Progress
    from excerpt.search.usage import UseEvent


def update_index(
    vault: Path,
    settings: Settings,
    paths: Paths,
    on_progress: Callable[[Progress], None] | None,
    *,
    rebuild: bool = False,
    accept_empty: bool = False,
    accept_all: bool = False,
) -> BuildReport:
    """Update the vault's index from its files, and return a report of the changes.

    With `rebuild`, the index is built from scratch. Raises VaultError for a vault that lost all its notes, unless
    `accept_empty`, and for a new vault that is a home folder or a whole disk, unless `accept_all`.
    """
    from excerpt.index.build import build

    if not accept_all:
        refuse_broad_folder(vault, paths)
    index = paths.index_folder(vault)
    return build(vault, index, settings, on_progress, rebuild=rebuild, accept_empty=accept_empty)


def has_vectors_pending(index: Path, settings: Settings) -> bool:
    """Return whether searches do not use the embedder of the settings yet. Raises sqlite3's errors."""
    from excerpt.index.catalog import Catalog
    from excerpt.index.encoder_vectors import RECORD_KEY, SearchVectorsRecord

    model = settings.embedding.model
    if is_static_model(model):
        return False
    with closing(Catalog.open_to_read(index)) as catalog:
        record = SearchVectorsRecord.from_json(catalog.meta(RECORD_KEY))
    return record is None or not record.is_for_model(model)


def check_settings_file(file: Path) -> None:
    """Raise SettingsError, which names `file`, for settings that cannot be loaded or that an update would refuse."""
    from excerpt.vault.scan import parse_settings_patterns

    settings = load_settings(file)
    try:
        parse_settings_patterns(settings.vault)
    except SettingsError as error:
        raise SettingsError(f"{file}: {error.message}") from error


def enable_ocr(vault: Path, paths: Paths, keys: Mapping[str, tuple[str, str]]) -> Path | None:
    """Enable OCR in a vault's own settings file; return its path, or None if OCR was enabled already.

    If the file is new, the key bindings `keys` are listed in it as comments. Raises ExcerptError, with nothing changed,
    if no OCR program is installed or the settings turn off the reading of attachments.
    """
    from excerpt.base.settings_file import change_setting, new_settings_text
    from excerpt.vault.readers.ocr import select_engine

    attachments = load_vault_settings(vault, paths).vault.attachments
    if not attachments.read:
        raise SettingsError(
            "Images are not read: vault.attachments.read is false.",
            "Change this setting: `excerpt config --vault V --edit`.",
        )
    if attachments.ocr is not Ocr.OFF:
        select_engine(attachments.ocr)
        return None
    select_engine(Ocr.AUTO)
    file = paths.vault_settings_file(vault)
    change_setting(file, "vault.attachments.ocr", Ocr.AUTO.value, new_settings_text(paths, vault, keys))
    return file


def update_use_paths(events: Sequence[UseEvent], index: Path) -> Sequence[UseEvent]:
    """Return the events of the usage log with the current paths of renamed notes.

    If the index in the folder `index` cannot be read, the events are returned unchanged.
    """
    import sqlite3

    from excerpt.index import renames
    from excerpt.index.catalog import Catalog
    from excerpt.search.usage import update_paths

    try:
        with closing(Catalog.open_to_read(index)) as catalog:
            return update_paths(events, (), lambda path: renames.current_path(catalog.rows, path))
    except (sqlite3.DatabaseError, OSError):
        return events
