"""The errors that a user may see: one sentence that says what is wrong, and a hint that says what to do."""

from __future__ import annotations

import errno


class ExcerptError(Exception):
    """Base of the errors that a user may see.

    `message` is one sentence that says what is wrong and where, `hint` what to do; `exit_code` is the command's exit
    code (2 for wrong usage, 3 for what cannot be done).
    """

    title = "excerpt cannot continue"
    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class VaultError(ExcerptError):
    """The vault folder cannot be read: missing, a file, or not permitted."""

    title = "The vault cannot be opened"


class VaultEmptiedError(VaultError):
    """The vault has no notes left, but its index has some: nothing was changed until the user decides.

    `notes` is how many the index holds.
    """

    title = "The vault is empty"

    def __init__(self, vault: str, notes: int) -> None:
        super().__init__(
            f"{vault} has no notes any more, but its index has {notes:,}. The index is kept.",
            "Restore its files (is its disk mounted?), or index it as empty: `excerpt index --accept-empty`.",
        )
        self.notes = notes


class SettingsError(ExcerptError):
    """The settings file, or a value given in its place, is not valid."""

    title = "The settings are not valid"
    exit_code = 2


class ReadError(ExcerptError):
    """A file cannot be read as a note; it is skipped and the build continues."""

    title = "A file was skipped"


class UnopenedError(ReadError):
    """A file cannot be opened: gone, not permitted, or reached by a link.

    Its content is unknown, so the next build tries it again.
    """


class OcrMissingError(ReadError):
    """The program that is to read images is not installed."""

    title = "There is no OCR program"


class IndexUnusableError(ExcerptError):
    """The index cannot be built or opened."""

    title = "The index cannot be used"


class IndexBusyError(IndexUnusableError):
    """Another process is writing this vault's index."""

    title = "The vault is being indexed elsewhere"


class StoreUnusableError(IndexUnusableError):
    """A store cannot be reached, or what it holds cannot be used."""

    title = "The store cannot be used"


class ModelError(ExcerptError):
    """The embedding model cannot be loaded."""

    title = "The embedding model cannot be loaded"


class MemoryUnusableError(ExcerptError):
    """A memory cannot be found, read or written."""

    title = "The memory cannot be used"


class StreamError(ExcerptError):
    """stdin cannot be read or stdout cannot be written; `failed` names the stream."""

    title = "The input or output cannot be used"

    def __init__(self, failed: str, reason: OSError) -> None:
        explanation = "it is closed" if reason.errno == errno.EBADF else reason.strerror or str(reason)
        super().__init__(f"{failed}: {explanation}.")


class NotFoundError(ExcerptError):
    """What was asked for by name (a note, a heading, lines of it) is not in the vault's index, or is not one thing."""

    title = "It does not exist"
    exit_code = 1
