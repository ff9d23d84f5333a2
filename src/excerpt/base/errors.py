"""The errors that a user may see: a sentence that says what is wrong, and a hint that says what to do."""

from __future__ import annotations

import errno


class ExcerptError(Exception):
    """Base class of the errors that a user may see.

    `message` is one sentence that says what is wrong and where, `hint` says what to do. `title` is the heading of the
    message, `exit_code` the exit code of the command (1: not found, 2: wrong usage, 3: any other failure).
    """

    title = "excerpt cannot continue"
    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


def first_line(error: Exception) -> str:
    """Return the type and the first line of a library's error, to be part of a sentence."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200].rstrip('.')}" if lines else type(error).__name__


class VaultError(ExcerptError):
    """The vault folder is missing, is a file, or must not be read."""

    title = "The vault cannot be opened"


class VaultEmptiedError(VaultError):
    """The vault has no notes left, but its index has some; the index is unchanged until the user decides.

    `notes` is the number of notes in the index.
    """

    title = "The vault is empty"

    def __init__(self, vault: str, notes: int) -> None:
        super().__init__(
            f"{vault} has no notes any more, but its index has {notes:,}. The index is kept.",
            "Restore the notes (is their disk mounted?), or empty the index with `excerpt index --accept-empty`.",
        )
        self.notes = notes


class SettingsError(ExcerptError):
    """The settings file, or the value of a command-line option or of a parameter, is not valid."""

    title = "The settings are not valid"
    exit_code = 2


class ReadError(ExcerptError):
    """A file of the vault cannot be read; an index build skips the file and continues."""

    title = "A file was skipped"


class FileOpenError(ReadError):
    """A file cannot be opened: it was removed, must not be read, or is behind a symbolic link.

    The content of the file is unknown, so the next build tries to open the file again.
    """


class OcrMissingError(ReadError):
    """No program that reads text in images (OCR) is installed."""

    title = "No OCR program is installed"


class InputError(ExcerptError, ValueError):
    """An argument is too long, or is not a text."""

    title = "The input cannot be used"
    exit_code = 2


class IndexUnusableError(ExcerptError):
    """The index cannot be built or opened."""

    title = "The index cannot be used"


class IndexBusyError(IndexUnusableError):
    """Another process is writing the index of this vault."""

    title = "The vault is being indexed elsewhere"


class StoreUnusableError(IndexUnusableError):
    """A store (a shared database) cannot be reached, or its content cannot be used."""

    title = "The store cannot be used"


class ModelError(ExcerptError):
    """An embedding model or reranker cannot be loaded, or its results cannot be used."""

    title = "The model cannot be used"


class ModelUnreachableError(ModelError):
    """The server of a model does not answer, or has too much to do; the same request may succeed later."""

    title = "The model's server does not answer"


class MemoryUnusableError(ExcerptError):
    """A memory cannot be found, read or written."""

    title = "The memory cannot be used"


class GoldUnusableError(ExcerptError):
    """The gold set of a vault cannot be read or written."""

    title = "The gold set cannot be used"


class SavedQueriesError(ExcerptError):
    """The file of saved queries, or of the passages that they found, cannot be read or written."""

    title = "Saved queries"


class StreamError(ExcerptError):
    """stdin cannot be read or stdout cannot be written.

    `failure` says which ("stdin cannot be read"); the message adds the cause from `error`.
    """

    title = "The input or output cannot be used"

    def __init__(self, failure: str, error: OSError) -> None:
        explanation = "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
        super().__init__(f"{failure}: {explanation}.")


class NotFoundError(ExcerptError):
    """A note, heading or line that was asked for is not in the vault's index, or its name is ambiguous."""

    title = "The note or passage was not found"
    exit_code = 1
