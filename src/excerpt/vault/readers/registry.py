"""Which reader reads a file: chosen by file name, loaded when there is such a file.

Further readers are found by the entry-point group `excerpt.readers`: an entry's name is the file suffix without its
dot, and its object is called without arguments and returns a Reader.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from excerpt.errors import ReadError
from excerpt.model import UnreadFiles
from excerpt.settings import Ocr, VaultSettings
from excerpt.text.display import format_count
from excerpt.vault.readers import EXTRA, Reader

GROUP = "excerpt.readers"
WITH_OCR = "excerpt index --ocr"
IMAGE = "image"


@dataclass(frozen=True, slots=True)
class Shipped:
    """A reader of excerpt's own: the word of its kind, where it is, and the library without which it reads nothing."""

    kind: str
    class_path: str
    library: str = ""

    @property
    def is_there(self) -> bool:
        return not self.library or find_spec(self.library) is not None


_SHIPPED: Mapping[Shipped, tuple[str, ...]] = {
    Shipped("pdf", "pdf:PdfReader", "pypdfium2"): (".pdf",),
    Shipped("slides", "office:SlidesReader", "pptx"): (".pptx", ".ppt"),
    Shipped("document", "office:DocumentReader", "docx"): (".docx", ".doc"),
    Shipped("sheet", "sheet:SheetReader", "python_calamine"): (".xlsx", ".xlsm", ".xls", ".ods"),
    Shipped("sheet", "sheet:CsvReader"): (".csv", ".tsv"),
    Shipped("html", "web:HtmlReader", "selectolax"): (".html", ".htm", ".xhtml"),
    Shipped("epub", "web:EpubReader", "selectolax"): (".epub",),
    Shipped("canvas", "obsidian:CanvasReader"): (".canvas",),
    Shipped("drawing", "obsidian:DrawingReader"): (".excalidraw.md", ".excalidraw"),
    Shipped("notebook", "obsidian:NotebookReader"): (".ipynb",),
    Shipped("text", "plain:TextReader"): (".txt", ".text", ".log", ".rst", ".org", ".adoc", ".tex"),
    Shipped(IMAGE, "image:ImageReader"): (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp"),
}
_BY_SUFFIX = {suffix: shipped for shipped, suffixes in _SHIPPED.items() for suffix in suffixes}
KINDS = tuple(dict.fromkeys(shipped.kind for shipped in _SHIPPED))
"""The words of the filter `kind:`, but for those of readers that others wrote."""


@dataclass(frozen=True, slots=True)
class Suffixes:
    """The suffixes of files, in lower case: `read` for notes and readable attachments, `unread` for the other kinds.

    The others would be read if something were installed or enabled.
    """

    notes: tuple[str, ...]
    read: tuple[str, ...]
    unread: tuple[str, ...]


def suffixes_of(settings: VaultSettings) -> Suffixes:
    """Return the suffixes that are read in a vault of these settings, on this machine."""
    notes = tuple(extension.lower() for extension in settings.extensions)
    if not settings.attachments.read:
        return Suffixes(notes, notes, ())
    candidates = {suffix: shipped for suffix, shipped in _BY_SUFFIX.items() if suffix not in notes}
    enabled = {shipped: _is_on(shipped, settings) for shipped in set(candidates.values())}
    read = [suffix for suffix, shipped in candidates.items() if enabled[shipped]]
    unread = [suffix for suffix, shipped in candidates.items() if not enabled[shipped]]
    others = [suffix for suffix in _others() if suffix not in notes]
    return Suffixes(notes, (*notes, *read, *others), tuple(suffix for suffix in unread if suffix not in others))


def _is_on(shipped: Shipped, settings: VaultSettings) -> bool:
    return settings.attachments.ocr is not Ocr.OFF if shipped.kind == IMAGE else shipped.is_there


def kind_of(path: str, settings: VaultSettings) -> str:
    """Return the kind of a file by its name; "" for a note."""
    suffix = _suffix(path, settings)
    if suffix in _others():
        return _others()[suffix].kind
    return _BY_SUFFIX[suffix].kind if suffix in _BY_SUFFIX else ""


def reader_for(path: str, settings: VaultSettings) -> Reader:
    """Return the reader for a file of this name. Raises ReadError if there is none, or it cannot be loaded."""
    suffix = _suffix(path, settings)
    if not suffix:
        from excerpt.vault.readers.markdown import MarkdownReader

        notes = MarkdownReader()
        if PurePosixPath(path).suffix.lower() in notes.extensions:
            return notes
    elif suffix in _others():
        return _others()[suffix].reader
    elif suffix in _BY_SUFFIX:
        return _shipped(_BY_SUFFIX[suffix].class_path)
    raise ReadError("No reader knows this kind of file.")


def version_of(path: str, settings: VaultSettings) -> str:
    """Return the version that an attachment is stored with; "" for a note.

    It names the reader, its version and its settings; when it changes the file is read again.
    """
    if not _suffix(path, settings):
        return ""
    bounds = settings.attachments
    try:
        reader = reader_for(path, settings)
    except ReadError as error:
        return f"+{error}"
    return f"+{reader.kind}/{reader.version}/{bounds.max_bytes}/{bounds.max_pages}"


def _suffix(path: str, settings: VaultSettings) -> str:
    """Return the longest suffix of a file's name that a reader of attachments has, "" for a note."""
    name = path[path.rfind("/") + 1 :].lower()
    notes = tuple(extension.lower() for extension in settings.extensions)
    at = name.find(".", 1)
    while at > 0:
        suffix = name[at:]
        if suffix in notes:
            return ""
        if suffix in _BY_SUFFIX or suffix in _others():
            return suffix
        at = name.find(".", at + 1)
    return ""


@cache
def _shipped(class_path: str) -> Reader:
    module, _, name = class_path.partition(":")
    reader: Reader = getattr(import_module(f"excerpt.vault.readers.{module}"), name)()
    return reader


def unread_of(suffixes: Iterable[tuple[str, int]], scanned: tuple[int, int]) -> tuple[UnreadFiles, ...]:
    """Return what is not read in a vault and what would change that.

    `suffixes` counts files by suffix; `scanned` counts files with unread images, and these images.
    """
    by_kind: Counter[str] = Counter()
    for suffix, count in suffixes:
        by_kind[_BY_SUFFIX[suffix].kind if suffix in _BY_SUFFIX else suffix] += count
    images = by_kind.pop(IMAGE, 0)
    unread = []
    if by_kind:
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(by_kind.items()))
        unread.append(UnreadFiles(by_kind.total(), listed, f"pip install '{EXTRA}'"))
    if images:
        unread.append(UnreadFiles(images, "images: OCR is off", WITH_OCR))
    if scanned[0]:
        unread.append(
            UnreadFiles(
                scanned[0],
                f"with {format_count(scanned[1], 'scanned page or image', 'scanned pages or images')}: OCR is off",
                WITH_OCR,
            )
        )
    return tuple(unread)


# --- readers that others wrote ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Other:
    """A reader of another package, by its entry point."""

    suffix: str
    target: str

    @property
    def reader(self) -> Reader:
        return _loaded(self.suffix, self.target)

    @property
    def kind(self) -> str:
        return self.suffix[1:]


@cache
def _others() -> Mapping[str, _Other]:
    """Return the entry points of the group by file suffix, without importing them."""
    if not any(map(_names_group, sys.path)):
        return {}
    from importlib.metadata import entry_points

    others = (_Other(f".{entry.name.lower().lstrip('.')}", entry.value) for entry in entry_points(group=GROUP))
    return {reader.suffix: reader for reader in others}


def _names_group(folder: str) -> bool:
    """Return whether a package installed in this folder of the path may have a reader.

    Reading the files takes 2 ms, importing the library for entry points 40.
    """
    for file in Path(folder or ".").glob("*.dist-info/entry_points.txt"):
        with suppress(OSError):
            if GROUP.encode() in file.read_bytes():
                return True
    return False


@cache
def _loaded(suffix: str, target: str) -> Reader:
    module, _, name = target.partition(":")
    try:
        reader: Reader = getattr(import_module(module), name)()
    except Exception as error:  # another's code
        raise ReadError(
            f"The reader for {suffix} files, {target}, cannot be loaded ({type(error).__name__}: {error}).",
            "Update or uninstall its package.",
        ) from error
    return reader
