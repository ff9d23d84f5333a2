"""Count of the tokens that packs save against pasting whole notes: a running total for each vault.

The total is a small file in the state folder, replaced under a lock when a pack is made. Deleting it restarts the
count.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.model import PackResult
from excerpt.base.state_files import exclusive_lock, read_value, write_value
from excerpt.text.fragments import digest_of_text

_NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]


class TokenSavings(Struct, frozen=True):
    """The total tokens of all packs since the day `since` (ISO 8601), beside the tokens of the whole notes.

    `packs` is the number of packs, `tokens` their size, `source_tokens` the size of the whole notes of their passages.
    Tokens are those of each pack's own tokenizer. `last` is the digest of the last pack's text, so that the same pack
    made twice in a row counts once.
    """

    since: str
    packs: _NonNegativeInt = 0
    tokens: _NonNegativeInt = 0
    source_tokens: _NonNegativeInt = 0
    last: str = ""

    @property
    def saved_share(self) -> float:
        """Share of the whole notes' tokens that packs left out, 0 to 1."""
        return 1 - self.tokens / self.source_tokens if self.source_tokens > self.tokens else 0.0


class SavingsFile:
    """The file with one vault's total of saved tokens, created with the first pack; processes may share it.

    Methods that write raise OSError. Reading never does: an unreadable or invalid file counts as missing.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self) -> TokenSavings | None:
        """Return the total, or None before the first pack."""
        return read_value(self.file, TokenSavings, None)

    def add(self, result: PackResult, today: date) -> None:
        """Add the tokens of packs that were copied, printed or saved; an empty result is ignored."""
        if not result.passages:
            return
        digest = digest_of_text(result.text)
        with exclusive_lock(self.file):
            before = self.read() or TokenSavings(today.isoformat())
            if before.last == digest:
                return
            now = replace(
                before,
                packs=before.packs + 1,
                tokens=before.tokens + result.tokens,
                source_tokens=before.source_tokens + result.source_tokens,
                last=digest,
            )
            write_value(self.file, now)

    def clear(self) -> TokenSavings | None:
        """Remove the file, which restarts the count, and return the former total."""
        with exclusive_lock(self.file):
            before = self.read()
            self.file.unlink(missing_ok=True)
        return before
