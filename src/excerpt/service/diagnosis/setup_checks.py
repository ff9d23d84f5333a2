"""The checks of what excerpt needs: settings files, embedding model, tokenizer, its folders, and versions."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.base.errors import ExcerptError, ModelError, SettingsError
from excerpt.base.patterns import lazy_pattern
from excerpt.base.settings import Paths, Settings, load_settings
from excerpt.base.state_files import find_shared_paths
from excerpt.index.catalog import CATALOG_FILE
from excerpt.service.findings import Finding, megabytes, ok, problem, warning
from excerpt.service.index_update import check_settings_file
from excerpt.text.display import format_count, format_names
from excerpt.vault.mounts import lacks_change_events

if TYPE_CHECKING:
    from excerpt.encoders.interface import PassageEmbedder

# --- settings, model and tokenizer ------------------------------------------------------------------------------------
# The settings files, the embedding model and the tokenizer.


def check_settings_files(paths: Paths, vault: Path | None) -> tuple[Settings, tuple[Finding, ...]]:
    """Load the settings files, leaving out invalid ones; return the settings, and a finding about each file."""
    files = [("for all vaults", paths.settings_file)]
    if vault is not None:
        files.append(("of this vault", paths.vault_settings_file(vault)))
    valid_files: list[Path] = []
    findings: list[Finding] = []
    for owner, file in files:
        try:
            check_settings_file(file)
        except SettingsError as error:
            findings.append(problem(error.message, error.hint or "Correct the settings: `excerpt config --edit`."))
        else:
            valid_files.append(file)
            state = "is valid" if file.exists() else "does not exist: every setting has its default"
            findings.append(ok(f"The settings file {owner} {state}: {file}"))
    return load_settings(*valid_files), tuple(findings)


def check_tokenizer(name: str, index_tokenizer: str) -> Finding:
    """Check the tokenizer `name` of the settings, and whether the index (with `index_tokenizer`) uses it too."""
    from excerpt.text.tokens import open_tokenizer

    try:
        count = open_tokenizer(name).count("one two three")
    except SettingsError as error:
        return problem(error.message, error.hint)
    if index_tokenizer and index_tokenizer != name:
        return warning(
            f"The tokenizer is {name}, but the index counts tokens by {index_tokenizer}.",
            "The next `excerpt index` counts the tokens again.",
        )
    return ok(f"The tokenizer is {name}, and it works" if count else f"The tokenizer is {name}")


def check_embedder(settings: Settings, paths: Paths, index: Path | None) -> Iterator[Finding]:
    """Open the embedder and the reranker of the settings, if there are any, and count what is embedded.

    If the embedder is a server, one vector is requested from it. `index` is the folder of the vault's index, None if no
    vault is known.
    """
    from excerpt.encoders.choice import open_embedder, open_reranker
    from excerpt.encoders.model_names import is_static_model, model_label

    try:
        if not is_static_model(settings.embedding.model):
            embedder = open_embedder(settings, paths=paths)
            label = model_label(settings.embedding.model)
            yield ok(f"The embedding model is {label}: {embedder.dimensions:,} dimensions, id {embedder.id}")
            if index is not None and (index / CATALOG_FILE).exists():
                yield _check_embedded(index, embedder)
        if open_reranker(settings, paths=paths) is not None:
            yield ok(f"The reranker is {model_label(settings.rerank.model)}")
    except ExcerptError as error:
        yield problem(error.message, error.hint)


def _check_embedded(index: Path, embedder: PassageEmbedder) -> Finding:
    from excerpt.index.embedding_run import count_embedded

    done, total = count_embedded(index, embedder)
    text = f"The embedding model has embedded {done:,} of {format_count(total, 'passage')}"
    if done == total:
        return ok(text)
    return warning(f"{text}; the others are found by their words.", "Open the app, or run `excerpt embedding --run`.")


def check_model(name: str, index_model: str) -> Iterator[Finding]:
    """Load the static embedding model `name` without network access, and compare it with the index's.

    `index_model` identifies the model that made the vectors of the index, "" if there is no index.
    """
    # Loading a model would download missing files; the doctor only checks local ones.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from excerpt.encoders.static_model import open_embedder
    from excerpt.index.postings import EMBEDDED_TEXT_VERSION

    label = name or "the one that ships with excerpt"
    try:
        embedder = open_embedder(name)
    except ModelError as error:
        yield problem(error.message, error.hint)
        return
    yield ok(f"The embedding model is {label}: {embedder.dimensions} dimensions, id {embedder.id}")
    if index_model and index_model != f"{embedder.id}/{EMBEDDED_TEXT_VERSION}":
        yield warning(
            "The index has the vectors of another model.", "The next `excerpt index` rebuilds them from the catalog."
        )


# --- folders and room -------------------------------------------------------------------------------------------------
# Whether excerpt's folders are writable and have enough space.

_FOLDER_HINT = "Permit writing in this folder, or set EXCERPT_HOME to a folder of yours."
_MIN_FREE_BYTES = 16_000_000
_ENOUGH_FREE_BYTES = 100_000_000


def check_folders(paths: Paths, index: Path | None, index_size: int) -> Iterator[Finding]:
    """Check the folders that excerpt writes to: permissions, free space, and whether they are on a local disk.

    `index` is the folder of the vault's index, None if no vault is known; `index_size` is in bytes.
    """
    for name, folder in (
        ("Settings", paths.config),
        ("Indexes", paths.cache),
        ("Memories", paths.data),
        ("History and copies", paths.state),
    ):
        yield _check_writable(name, folder)
    yield from _check_private(paths)
    yield from _check_free_space(paths.cache, index_size)
    if index is not None and _is_on_network(index):
        yield warning(
            f"The index is on a network drive or a file system in user space ({index}): locks of its files may fail"
            " there, and a power cut may damage it.",
            "Set EXCERPT_HOME (or XDG_CACHE_HOME) to a folder of a local disk.",
        )


def _check_writable(name: str, folder: Path) -> Finding:
    """Check that `folder`, or the parent in which it will be created, can be written; `name` says what it is for."""
    if not folder.is_absolute():
        relative_hint = f"{name}: the path {folder} is relative to the current folder, as no home folder is known."
        return warning(relative_hint, "Set HOME, or set EXCERPT_HOME to an absolute path.")
    existing = _nearest_existing(folder)
    try:
        if not stat.S_ISDIR(existing.stat().st_mode):
            return problem(
                f"{name}: {existing} is a file, not a folder.",
                "Move the file, or set EXCERPT_HOME to a folder of yours.",
            )
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return problem(f"{name}: {existing} cannot be written: {error.strerror or error}.", _FOLDER_HINT)
    return ok(f"{name}: {folder}" + ("" if existing == folder else " (does not exist yet; excerpt can create it)"))


def _check_private(paths: Paths) -> Iterator[Finding]:
    """Check whether other users may read excerpt's folders; does nothing on Windows."""
    readable_paths = [str(path) for folder in paths.folders for path in find_shared_paths(folder)]
    if readable_paths:
        files = format_count(len(readable_paths), "file or folder", "files and folders")
        yield warning(
            f"Other users may read {files}: {format_names(readable_paths)}.",
            "Run `excerpt doctor --fix`: it takes this right from other users, if possible.",
        )
    elif os.name == "posix" and any(folder.exists() for folder in paths.folders):
        yield ok("No other user can read these folders")


def _nearest_existing(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    return next((path for path in (folder, *folder.parents) if os.path.lexists(path)), Path())


def _check_free_space(cache: Path, index_size: int) -> Iterator[Finding]:
    """Check that the disk of the index has enough free space to rebuild it; `index_size` is in bytes."""
    try:
        free = shutil.disk_usage(_nearest_existing(cache)).free
    except OSError:
        return
    message = f"{megabytes(free)} are free on the disk of the indexes"
    if index_size:
        message = f"The index has {megabytes(index_size)}, and {megabytes(free)} are free on its disk"
    todo = "Free some space on that disk, or set EXCERPT_HOME to a folder of another disk."
    if free < _MIN_FREE_BYTES:
        yield problem(f"{message}: this is too little to write anything.", todo)
    elif free < max(_ENOUGH_FREE_BYTES, index_size):
        yield warning(f"{message}: this is too little to rebuild the index beside the old one.", todo)
    else:
        yield ok(message)


def _is_on_network(folder: Path) -> bool:
    try:
        return lacks_change_events(_nearest_existing(folder).resolve())
    except (OSError, RuntimeError):
        return False


# --- versions ---------------------------------------------------------------------------------------------------------
# The versions of the program and of its libraries, pinned and installed.

_REQUIREMENT = lazy_pattern(r"(?P<name>[\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?(?P<range>[^;)]*)\)?\s*(?P<marker>;.*)?")
_REINSTALL_HINT = "Install excerpt again to get the libraries that it needs."


def check_versions(version: str) -> Iterator[Finding]:
    """Check the versions of Python and the libraries, and name those of excerpt (`version`), SQLite and the system."""
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    python = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    yield ok(f"excerpt {version}, {python}, {system}")
    if not (3, 11) <= sys.version_info[:2] < (3, 15):
        yield problem("excerpt needs Python 3.11 to 3.14.", "Install excerpt with one of these versions of Python.")
    try:
        required = metadata.requires("excerpt") or []
    except metadata.PackageNotFoundError:
        required = []
    yield from check_libraries(required)


def check_libraries(required: Iterable[str]) -> Iterator[Finding]:
    """Check that the `required` packages are installed, each given as in metadata: `textual==8.2.8`, `numpy>=2.0`."""
    satisfied = 0
    pinned: list[str] = []
    for line in required:
        match = _REQUIREMENT.fullmatch(line.strip())
        if match is None or match["marker"]:
            continue
        name, required_range = match["name"], match["range"].strip()
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield problem(f"The library {name} is not installed.", _REINSTALL_HINT)
            continue
        if required_range.startswith("==") and version != required_range[2:].strip():
            yield problem(
                f"The library {name} is {version}; excerpt needs {required_range[2:].strip()}.", _REINSTALL_HINT
            )
            continue
        satisfied += 1
        pinned += [f"{name} {version}"] if required_range.startswith("==") else []
    if satisfied:
        yield ok(
            f"{format_count(satisfied, 'library is', 'libraries are')} installed; pinned versions:"
            f" {', '.join(pinned) or 'none'}"
        )
