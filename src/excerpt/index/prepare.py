"""Preparation of files: reads a file and computes all rows and terms that the index stores about it.

Runs in the process of the build or in its workers, and does not access the index.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from excerpt.base.errors import ExcerptError, FileOpenError
from excerpt.base.kinds import Dialect
from excerpt.base.model import FileProblem, Fragment, Note
from excerpt.base.settings import Ocr, VaultSettings
from excerpt.corpus.names import fold_name
from excerpt.corpus.queries import LABEL_SEPARATOR, REPLACED_BY, REPLACES
from excerpt.index.catalog_rows import NoteRows, compress_text, heading_path_to_row
from excerpt.index.changes import prepare_key
from excerpt.index.names import tokenize_names
from excerpt.index.postings import FieldCollector, Inverted, embedded_digest, embedded_text
from excerpt.text.fragments import find_fragments_of_comments, fragments_of
from excerpt.text.replacements import find_replacements
from excerpt.text.tokens import open_tokenizer
from excerpt.vault.readers import ReadOptions, digest_of_bytes, load_bytes
from excerpt.vault.readers.registry import reader_for

# --- without the collector --------------------------------------------------------------------------------------------
# For code that creates millions of objects without cycles.


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable Python's garbage collector for a block of code, such as the preparation of a batch.

    With hundreds of thousands of rows, collections take an eighth of a build's time. Reference cycles stay in memory
    until the end of the block.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# --- prepare ----------------------------------------------------------------------------------------------------------


class PrepareOptions(Struct, frozen=True):
    """The options on which the preparation of a file depends; small, because they are sent to every worker process."""

    vault: Path
    tokenizer: str
    settings: VaultSettings
    dialect: Dialect = Dialect.MARKDOWN


class FileTask(Struct, frozen=True):
    """A file to prepare, with its size in bytes and its times in nanoseconds since 1970.

    `digest` is the digest of the content in the index, "" if the file must be prepared in any case. `kind` is "" for a
    note and for example "pdf" for an attachment. `images` is the number of images that OCR must read.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    digest: str = ""
    kind: str = ""
    images: int = 0


class PreparedFiles(Struct, frozen=True):
    """The result of preparing some files.

    `notes` are the rows to store, and `inverted` holds the postings of each field over the fragments of `notes`, in
    the same order. `unchanged` are files whose content is already in the index, and `skipped` are files that could not
    be read. `given_up` are the skipped files that are not tried again until they change: they exceeded a limit of time
    or memory, or their reader failed.
    """

    notes: list[NoteRows] = field(default_factory=list)
    inverted: dict[str, Inverted] = field(default_factory=dict)
    unchanged: list[FileTask] = field(default_factory=list)
    skipped: list[FileProblem] = field(default_factory=list)
    given_up: list[FileTask] = field(default_factory=list)


def prepare(options: PrepareOptions, tasks: Iterable[FileTask]) -> PreparedFiles:
    """Read and prepare the files of `tasks` one by one. A file that cannot be read is skipped.

    Raises only MemoryError: after that, the other files might fail for lack of memory too.
    """
    with without_garbage_collection():
        return _prepare(options, tasks)


def _prepare(options: PrepareOptions, tasks: Iterable[FileTask]) -> PreparedFiles:
    collector = FieldCollector()
    done = PreparedFiles()
    for task in tasks:
        try:
            rows = _prepare_note(options, task, collector)
        except ExcerptError as error:
            done.skipped.append(FileProblem(task.path, str(error)))
            if task.kind and not isinstance(error, FileOpenError):
                done.given_up.append(task)
        except MemoryError:
            raise
        except Exception as error:
            # An error of our own code, or of a parser, on one note must not end the indexing of the others.
            done.skipped.append(
                FileProblem(task.path, f"The file could not be processed: {type(error).__name__}: {error}.")
            )
            if task.kind:
                done.given_up.append(task)
        else:
            (done.unchanged.append(task) if rows is None else done.notes.append(rows))
    done.inverted.update(collector.inverted())
    return done


def _prepare_note(options: PrepareOptions, task: FileTask, collector: FieldCollector) -> NoteRows | None:
    settings = options.settings
    bounds = settings.attachments
    if task.kind:
        data = load_bytes(options.vault, task.path, bounds.max_bytes, "vault.attachments.max_bytes")
    else:
        data = load_bytes(options.vault, task.path, settings.max_bytes)
    digest = digest_of_bytes(data)
    if task.digest == digest:
        return None
    ocr = bounds.ocr if task.images else Ocr.OFF
    read_options = ReadOptions(settings.language, bounds.max_pages, ocr, options.dialect)
    note = reader_for(task.path, settings).read(data, task.path, read_options)
    rows, fragments = note_rows(options, note, task, digest)
    # This comes last, so that a note that fails leaves no terms behind.
    collector.add_note(
        *(note.path, note.title, note.language),
        aliases=note.aliases,
        tags=note.tags,
        properties=note.properties,
        fragments=[(f.heading_path, f.text) for f in fragments],
    )
    return rows


def note_rows(
    options: PrepareOptions, note: Note, task: FileTask, digest: str
) -> tuple[NoteRows, tuple[Fragment, ...]]:
    """Return a note as rows for the catalog, and its fragments; `digest` is the digest of the file's content."""
    tokenizer = open_tokenizer(options.tokenizer, for_many_texts=True)
    fragments = fragments_of(note, tokenizer.count)
    sections = [
        (s.ordinal, s.level, s.heading, heading_path_to_row(s.heading_path), s.line_start, s.line_end, s.place)
        for s in note.sections
    ]
    links, labels = (
        [(x.line, x.kind.value, x.target, x.heading, x.block_id, x.text) for x in note.links],
        _label_rows(note),
    )
    rows = NoteRows(
        path=task.path,
        size=task.size,
        mtime_ns=task.mtime_ns,
        ctime_ns=task.ctime_ns,
        digest=digest,
        cut=prepare_key(task.path, options.settings, options.dialect, ocr=task.images > 0),
        title=note.title,
        language=note.language,
        tokens=tokenizer.count(note.text),
        text=compress_text(note.text),
        sections=sections,
        fragments=[
            (
                *(f.id, f.ordinal, f.section, f.line_start, f.line_end, f.tokens, f.digest),
                embedded_digest(embedded_text(f.title, f.heading_path, f.text)),
                f.text,
            )
            for f in fragments
        ],
        links=links,
        labels=labels,
        names=sorted({fold_name(name) for name in (note.title, PurePosixPath(task.path).stem, *note.aliases)}),
        name_terms=tokenize_names(
            *(task.path, note.title, note.language), labels=labels, sections=sections, links=links
        ),
        warnings=note.warnings,
        kind=task.kind,
        unread=note.unread,
        comments=[
            (number, comment.line, comment.column, int(comment.begins), fragment, comment.text)
            for number, (comment, fragment) in enumerate(
                zip(note.comments, find_fragments_of_comments(note, fragments), strict=True)
            )
        ],
    )
    return rows, fragments


def _label_rows(note: Note) -> list[tuple[str, str, str]]:
    return [
        *(("alias", "", alias) for alias in note.aliases),
        *(("tag", "", tag) for tag in note.tags),
        *(("property", name, value) for name, values in note.properties.items() for value in values),
        *(
            (REPLACES if one.is_newer else REPLACED_BY, one.words, f"{one.target}{LABEL_SEPARATOR}{one.day}")
            for one in find_replacements(note)
        ),
    ]
