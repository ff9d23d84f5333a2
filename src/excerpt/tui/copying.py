"""What is copied on the screen: by the routes of `clipboard`, to a file, and counted among the savings."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from shutil import which

from excerpt.kinds import Format
from excerpt.model import PackResult
from excerpt.settings import Places
from excerpt.tui import clipboard
from excerpt.tui.messages import CopyRequested


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a copy, in a sentence, and whether anything took it."""

    told: str
    taken: bool


class Copier:
    """Copies beside the event loop. `environment` is that of the user's shell, `send` writes to the terminal."""

    def __init__(
        self, vault: Path, places: Places, environment: Mapping[str, str], send: Callable[[str], None]
    ) -> None:
        self._savings_file = places.savings_file(vault)
        self._folder = places.copies_folder()
        self._environment = environment
        self._send = send

    async def copy(self, wanted: CopyRequested) -> Done:
        """To the clipboard and a file, or to a file of the user's own alone."""
        size, now = len(clipboard.bytes_of(wanted.text)), datetime.now()
        if wanted.to_file:
            file = await asyncio.to_thread(
                clipboard.write_file, wanted.text, self._folder, f"pack-{clipboard.stamp(now)}{wanted.suffix}"
            )
            done = Done(clipboard.told_file(file, size, wanted.what, wanted.tokens), file is not None)
        else:
            plan = clipboard.plan(self._environment, which, sys.platform, size)
            copied = await asyncio.to_thread(clipboard.copy, wanted.text, plan, self._folder, now, wanted.suffix)
            if plan.osc:
                self._send(clipboard.osc_sequence(wanted.text, plan.osc))
            done = Done(clipboard.told(copied, wanted.what, wanted.tokens), bool(copied.routes))
        if wanted.pack is not None and wanted.pack.format is not Format.JSON:
            await asyncio.to_thread(_count, self._savings_file, wanted.pack)
        return done


def _count(file: Path, pack: PackResult) -> None:
    """Add to the running total, as `excerpt pack` does. Where it cannot be kept, the copy is no worse for it."""
    from excerpt.pack.savings import SavingsFile

    with suppress(OSError):
        SavingsFile(file).add(pack, date.today())
