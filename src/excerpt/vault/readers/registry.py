"""Selection of the reader for a file by the file's name; a reader is loaded when it is first needed.

Other packages can provide readers by the entry-point group `excerpt.readers`: the name of an entry point is the file
suffix without its dot, and its object is called without arguments and returns a Reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePosixPath

from msgspec import Struct

from excerpt.base.entry_points import find_entry_points, load_entry_point
from excerpt.base.errors import ReadError
from excerpt.base.installation import extra_command
from excerpt.base.model import OCR_COMMAND, UnreadFiles
from excerpt.base.settings import Ocr, VaultSettings
from excerpt.text.display import format_count
from excerpt.vault.readers import ATTACHMENTS_EXTRA, Reader

ENTRY_POINT_GROUP = "excerpt.readers"
IMAGE = "image"


class BuiltinReader(Struct, frozen=True):
    """A reader that is part of excerpt.

    `kind` is the kind of file ("pdf"), `class_path` the reader as `module:class`, and `library` the module that must be
    installed, "" if none.
    """

    kind: str
    class_path: str
    require_library: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether the library that the reader needs is installed."""
        return not self.require_library or find_spec(self.require_library) is not None


_BUILTIN_READERS: Mapping[BuiltinReader, tuple[str, ...]] = {
    BuiltinReader("pdf", "pdf:PdfReader", "pypdfium2"): (".pdf",),
    BuiltinReader("slides", "office:SlidesReader", "pptx"): (".pptx", ".ppt"),
    BuiltinReader("document", "office:DocumentReader", "docx"): (".docx", ".doc"),
    BuiltinReader("sheet", "sheet:SheetReader", "python_calamine"): (".xlsx", ".xlsm", ".xls", ".ods"),
    BuiltinReader("sheet", "sheet:CsvReader"): (".csv", ".tsv"),
    BuiltinReader("html", "web:HtmlReader", "selectolax"): (".html", ".htm", ".xhtml"),
    BuiltinReader("epub", "web:EpubReader", "selectolax"): (".epub",),
    BuiltinReader("canvas", "obsidian:CanvasReader"): (".canvas",),
    BuiltinReader("drawing", "obsidian:DrawingReader"): (".excalidraw.md", ".excalidraw"),
    BuiltinReader("notebook", "obsidian:NotebookReader"): (".ipynb",),
    BuiltinReader("text", "plain:TextReader"): (".txt", ".text", ".log", ".tex"),
    BuiltinReader("text", "markup:OrgReader"): (".org",),
    BuiltinReader("text", "markup:RstReader"): (".rst",),
    BuiltinReader("text", "markup:AsciiDocReader"): (".adoc", ".asciidoc"),
    BuiltinReader("subtitles", "subtitles:SubtitleReader"): (".vtt", ".srt"),
    BuiltinReader(IMAGE, "image:ImageReader"): (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp"),
}
_BUILTIN_BY_SUFFIX = {suffix: builtin for builtin, suffixes in _BUILTIN_READERS.items() for suffix in suffixes}
KINDS = tuple(dict.fromkeys(builtin.kind for builtin in _BUILTIN_READERS))
"""The words for the filter `kind:`, without the kinds of readers in other packages."""


def read_suffixes(settings: VaultSettings) -> tuple[str, ...]:
    """Return the suffixes of files that are read with these settings and the installed libraries, in lower case.

    Those of notes come first.
    """
    notes = tuple(extension.lower() for extension in settings.extensions)
    if not settings.attachments.read:
        return notes
    enabled = {builtin: _is_enabled(builtin, settings) for builtin in _BUILTIN_READERS}
    read = (suffix for suffix, builtin in _BUILTIN_BY_SUFFIX.items() if enabled[builtin])
    return tuple(dict.fromkeys((*notes, *read, *_plugin_readers())))


def _is_enabled(builtin: BuiltinReader, settings: VaultSettings) -> bool:
    return settings.attachments.ocr is not Ocr.OFF if builtin.kind == IMAGE else builtin.is_installed


def kind_of_file(path: str, settings: VaultSettings) -> str:
    """Return the kind of a file ("pdf") by its name; "" for a note."""
    suffix = _reader_suffix(path, settings)
    if suffix in _plugin_readers():
        return _plugin_readers()[suffix].kind
    return _BUILTIN_BY_SUFFIX[suffix].kind if suffix in _BUILTIN_BY_SUFFIX else ""


def reader_for(path: str, settings: VaultSettings) -> Reader:
    """Return the reader for a file of this name. Raises ReadError if no reader is known, or it cannot be loaded."""
    suffix = _reader_suffix(path, settings)
    if not suffix:
        from excerpt.vault.readers.markdown import MarkdownReader

        notes = MarkdownReader()
        if PurePosixPath(path).suffix.lower() in notes.extensions:
            return notes
    elif suffix in _plugin_readers():
        return _plugin_readers()[suffix].reader
    elif suffix in _BUILTIN_BY_SUFFIX:
        return _load_builtin(_BUILTIN_BY_SUFFIX[suffix].class_path)
    raise ReadError("This kind of file cannot be read: it has no reader.")


def reader_version(path: str, settings: VaultSettings) -> str:
    """Return the version of an attachment's reader and settings, as stored in the index; "" for a note.

    When it changes, the file is read again.
    """
    if not _reader_suffix(path, settings):
        return ""
    bounds = settings.attachments
    try:
        reader = reader_for(path, settings)
    except ReadError as error:
        return f"+{error}"
    return f"+{reader.kind}/{reader.version}/{bounds.max_bytes}/{bounds.max_pages}"


def _reader_suffix(path: str, settings: VaultSettings) -> str:
    """Return the longest suffix of a file's name that has a reader of attachments; "" for a note."""
    name = path[path.rfind("/") + 1 :].lower()
    notes = tuple(extension.lower() for extension in settings.extensions)
    at = name.find(".", 1)
    while at > 0:
        suffix = name[at:]
        if suffix in notes:
            return ""
        if suffix in _BUILTIN_BY_SUFFIX or suffix in _plugin_readers():
            return suffix
        at = name.find(".", at + 1)
    return ""


@cache
def _load_builtin(class_path: str) -> Reader:
    module, _, name = class_path.partition(":")
    reader: Reader = getattr(import_module(f"excerpt.vault.readers.{module}"), name)()
    return reader


def describe_unread_files(suffixes: Iterable[tuple[str, int]], scanned: tuple[int, int]) -> tuple[UnreadFiles, ...]:
    """Return descriptions of the files in a vault that are not read, with the commands that make them readable, if any.

    `suffixes` are pairs of a suffix and the number of unread files with it; `scanned` is the number of files with
    unread images, and the number of these images.
    """
    by_kind: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for suffix, count in suffixes:
        if suffix in _BUILTIN_BY_SUFFIX:
            by_kind[_BUILTIN_BY_SUFFIX[suffix].kind] += count
        else:
            others[suffix] += count
    images = by_kind.pop(IMAGE, 0)
    unread = []
    if by_kind:
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(by_kind.items()))
        unread.append(UnreadFiles(by_kind.total(), listed, extra_command(ATTACHMENTS_EXTRA)))
    if images:
        unread.append(UnreadFiles(images, "images: OCR is off", OCR_COMMAND))
    if scanned[0]:
        unread.append(
            UnreadFiles(
                scanned[0],
                f"with {format_count(scanned[1], 'scanned page or image', 'scanned pages or images')}: OCR is off",
                OCR_COMMAND,
            )
        )
    if others:
        unread.append(UnreadFiles(others.total(), _list_most_common(others), ""))
    return tuple(unread)


_MAX_LISTED_SUFFIXES = 5


def _list_most_common(suffixes: Counter[str]) -> str:
    """Return the commonest suffixes with their counts, such as "9 .eml, 3 .enex and 4 of other kinds"."""
    ranked = sorted(suffixes.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{count:,} {suffix}" for suffix, count in ranked[:_MAX_LISTED_SUFFIXES])
    rest = sum(count for _, count in ranked[_MAX_LISTED_SUFFIXES:])
    return f"{listed} and {rest:,} of other kinds" if rest else listed


# --- readers in other packages ----------------------------------------------------------------------------------------


class _PluginReader(Struct, frozen=True):
    """A reader in another package: its file suffix, and its entry point's object as `module:name`."""

    suffix: str
    target: str

    @property
    def reader(self) -> Reader:
        return _load_plugin(self.suffix, self.target)

    @property
    def kind(self) -> str:
        return self.suffix[1:]


@cache
def _plugin_readers() -> Mapping[str, _PluginReader]:
    """Return the readers in other packages by file suffix, without importing these packages."""
    others = (
        _PluginReader(f".{name.lower().lstrip('.')}", target)
        for name, target in find_entry_points(ENTRY_POINT_GROUP).items()
    )
    return {reader.suffix: reader for reader in others}


@cache
def _load_plugin(suffix: str, target: str) -> Reader:
    try:
        reader: Reader = load_entry_point(target)
    except Exception as error:  # another's code
        raise ReadError(
            f"The reader for {suffix} files, {target}, cannot be loaded ({type(error).__name__}: {error}).",
            "Update or uninstall the plugin's package.",
        ) from error
    return reader
