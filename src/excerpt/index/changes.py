"""Detection of changes since the last build, by the files' sizes and times, without reading any and without a lock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from excerpt.base.kinds import Dialect
from excerpt.base.model import FileProblem
from excerpt.base.settings import Settings, VaultSettings
from excerpt.encoders.model_names import static_model_name
from excerpt.encoders.static_model import model_source
from excerpt.index import renames
from excerpt.index.catalog import Catalog
from excerpt.index.catalog_rows import KnownNote
from excerpt.index.files import SUSPECT_FILE, check_file
from excerpt.index.names import NAMES_VERSION
from excerpt.index.postings import EMBEDDED_TEXT_VERSION, FIELDS_VERSION
from excerpt.text.dialects import CHANGED_DIALECTS
from excerpt.text.fragments import fragments_version
from excerpt.text.words import ANALYZER_VERSION
from excerpt.vault.daily_notes import read_daily_notes_format
from excerpt.vault.dialect import detect_dialect
from excerpt.vault.readers.registry import reader_version
from excerpt.vault.scan import FileState, Scan, scan

REBUILD_FOLDER = "anew"
"""Name of the subfolder of the index folder in which a rebuild writes the new index."""

# Two writes of the same size within a tick of the file system's clock leave the same time: 4 ms on Linux's own, 1 s on
# some shares, 2 s on memory cards (FAT). As in git, a file that was this new when it was looked at is compared by
# content.
_CLOCK_TICK_NS = 2_000_000_000

OCR_KEY_SUFFIX = "/ocr"
"""Suffix of a file's prepare key (column `cut`) if images in the file were read by OCR."""


def prepare_key(path: str, settings: VaultSettings, dialect: Dialect, *, ocr: bool = False) -> str:
    """Return a string that identifies how a file is prepared: versions of the code, settings, and the vault's dialect.

    A file that was stored with another key is prepared again. `ocr`: images in the file are read by OCR.
    """
    versions = fragments_version(settings.language, dialect) + reader_version(path, settings)
    return versions + (OCR_KEY_SUFFIX if ocr else "")


def is_current_key(cut: str, current: str) -> bool:
    """Return whether the stored prepare key `cut` equals the `current` key, apart from the suffix for OCR.

    If so, the file need not be prepared again.
    """
    return cut.removesuffix(OCR_KEY_SUFFIX) == current


def needs_ocr(note: KnownNote, settings: VaultSettings) -> bool:
    """Return whether a stored file has images that OCR has not read yet, and OCR is available."""
    if not note.unread or note.cut.endswith(OCR_KEY_SUFFIX):
        return False
    from excerpt.vault.readers.ocr import is_ocr_installed  # few vaults need it

    return is_ocr_installed(settings.attachments.ocr)


def last_change_ns(file: FileState) -> int:
    """Return the later of a file's two times (mtime and ctime), in nanoseconds since 1970."""
    return max(file.mtime_ns, file.ctime_ns)


def unchanged_before_ns(catalog: Catalog) -> int:
    """Return the limit, in nanoseconds since 1970, below which a known file time proves that a file is unchanged.

    A file with a later time may have been changed again after it was read, within the same tick of the clock.
    """
    return catalog.number("looked") - _CLOCK_TICK_NS


def is_unchanged(file: FileState, note: KnownNote, limit_ns: int) -> bool:
    """Return whether size and times prove that a file still has the content that was indexed.

    `limit_ns` is the result of `unchanged_before_ns`.
    """
    known = (note.size, note.mtime_ns, note.ctime_ns) == (file.size, file.mtime_ns, file.ctime_ns)
    return known and last_change_ns(file) < limit_ns


def build_parameters(settings: Settings) -> dict[str, str]:
    """Return the versions and settings on which an index depends, by their names in the catalog's table `meta`."""
    model = static_model_name(settings.embedding.model)
    return {
        "tokenizer": settings.pack.tokenizer,
        "model": model,
        "model_source": f"{model_source(model)}/{EMBEDDED_TEXT_VERSION}",
        "analyzer": f"{ANALYZER_VERSION}/{FIELDS_VERSION}",
        "names": f"{ANALYZER_VERSION}/{NAMES_VERSION}",
    }


def vault_parameters(vault: Path) -> dict[str, str]:
    """Return the data about the vault itself for the table `meta`: path, format of daily notes, and dialect.

    A dialect that does not change how notes are read is left out.

    Bytes of the path that are not valid text are escaped.
    """
    dialect = detect_dialect(vault)
    return {
        "vault": str(vault).encode("utf-8", "backslashreplace").decode(),
        "daily_notes": read_daily_notes_format(vault),
        "dialect": dialect if dialect in CHANGED_DIALECTS else "",
    }


def is_index_current(catalog: Catalog, keys: NDArray[np.int64], folder: Path, vault: Path, settings: Settings) -> bool:
    """Return whether a build of the vault's index in `folder` would change nothing.

    `keys` are the keys of the fragments in the lexical index. Returns False too if only a build can decide, as for
    files that are very new or were skipped for their content. Raises VaultError, SettingsError, DamagedFileError,
    OSError and sqlite3's errors.
    """
    if (folder / SUSPECT_FILE).exists() or (folder / REBUILD_FOLDER).exists():
        return False
    if catalog.meta("doubted") or catalog.is_unfinished:
        return False
    parameters = {**vault_parameters(vault), **build_parameters(settings)}
    if any(catalog.meta(name) != value for name, value in parameters.items()):
        return False
    if not renames.has_no_pending_moves(catalog) or not _matches_vault(catalog, scan(vault, settings.vault), settings):
        return False
    for kind in ("words", "vectors"):
        for file in catalog.files(kind):
            check_file(folder, file, may_grow=kind == "vectors")
    return np.array_equal(keys, catalog.fragment_keys())


def _matches_vault(catalog: Catalog, scan_result: Scan, settings: Settings) -> bool:
    """Return whether the catalog has exactly the notes and the skipped files that the scan found, all unchanged."""
    known, limit_ns, vault = catalog.known_notes(), unchanged_before_ns(catalog), settings.vault
    dialect = catalog.dialect
    given_up = _read_given_up_files(catalog, scan_result, vault)
    # A file for which only OCR failed is known by its other text.
    notes = [file for file in scan_result.files if file.path not in given_up or file.path in known]
    return (
        len(notes) == len(known)
        and all(
            (note := known.get(file.path)) is not None
            and is_current_key(note.cut, prepare_key(file.path, vault, dialect))
            and is_unchanged(file, note, limit_ns)
            and (file.path in given_up or not needs_ocr(note, vault))
            for file in notes
        )
        and set(catalog.remarks(skipped=True)) == {*scan_result.skipped, *given_up.values()}
    )


def _read_given_up_files(catalog: Catalog, scan_result: Scan, settings: VaultSettings) -> Mapping[str, FileProblem]:
    """Return the files that exceeded a limit of time or memory and have not changed since then, by path."""
    before, dialect = catalog.given_up(), catalog.dialect
    return {
        file.path: FileProblem(file.path, earlier.reason)
        for file in scan_result.files
        if (earlier := before.get(file.path)) is not None
        and (earlier.size, earlier.mtime_ns, earlier.ctime_ns) == (file.size, file.mtime_ns, file.ctime_ns)
        and is_current_key(earlier.cut, prepare_key(file.path, settings, dialect))
    }
