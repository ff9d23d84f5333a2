"""How much less was pasted than the whole notes: a running total for each vault.

One small file in the state folder, replaced with each pack under a lock. Deleting it restarts the count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec

from excerpt.model import PackResult
from excerpt.state_files import exclusive_lock, read_value, write_value
from excerpt.text.fragments import digest_of_text

_Count = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class TokenSavings:
    """The total since a day (ISO 8601): `packs` of `tokens` instead of `source_tokens`, those of the whole notes.

    Tokens are those of each pack's own tokenizer. `last` is the digest of the last pack: the same one twice in a row
    counts once.
    """

    since: str
    packs: _Count = 0
    tokens: _Count = 0
    source_tokens: _Count = 0
    last: str = ""

    @property
    def saved(self) -> float:
        """Share of the notes' tokens that were not pasted, 0 to 1."""
        return 1 - self.tokens / self.source_tokens if self.source_tokens > self.tokens else 0.0


class SavingsFile:
    """The total of one vault, in `file`, which is made with the first pack. Several processes may add to it.

    Writing raises OSError where it cannot be done; reading never does: a file that makes no sense is none.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self) -> TokenSavings | None:
        """Return the total, or None before the first pack."""
        return read_value(self.file, TokenSavings, None)

    def add(self, result: PackResult, today: date) -> None:
        """Count a pack that was copied, printed or written to a file. An empty one is none."""
        if not result.packs:
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
        """Begin the count again; returns the total until now."""
        with exclusive_lock(self.file):
            before = self.read()
            self.file.unlink(missing_ok=True)
        return before
