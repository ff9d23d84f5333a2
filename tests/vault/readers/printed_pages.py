"""Documents of known text: each location has one unique sentence, and all share some words."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from excerpt.base.model import Note
from tests.conftest import find_browser, require_program

ANIMALS = (
    "walrus heron badger lynx otter raven marten beetle salmon tortoise gannet weasel plover cricket falcon adder "
    "dolphin squirrel curlew hedgehog"
)
SENTENCES = tuple(
    f"The {animal} keeps its {number} winter stores below the old bridge."
    for number, animal in enumerate(ANIMALS.split(), 2)
)
FILLER = (
    "Whoever walks along the river in the morning sees more than at noon, for then the water is quiet and the light "
    "comes from the side, so that every movement among the reeds can be told from the wind."
)


def printed(folder: Path, html: str) -> bytes:
    """Return a page as a PDF printed by Chromium."""
    require_program("Chromium")
    source, target = folder / "page.html", folder / "page.pdf"
    source.write_text(html, encoding="utf-8")
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-pdf-header-footer",
        f"--user-data-dir={folder / 'profile'}",
    )
    command = [str(find_browser()), *flags, f"--print-to-pdf={target}", source.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=360)
    return target.read_bytes()


def words_found(text: str, note: Note) -> float:
    """Return the share of a text's words that a note has, counted with repetitions."""
    wanted, found = text.split(), list(note.text.split())
    missing = 0
    for word in wanted:
        if word in found:
            found.remove(word)
        else:
            missing += 1
    return 1 - missing / len(wanted)


def at_their_places(sentences: Sequence[str], note: Note, place: str) -> float:
    """Return the share of sentences found in their own section, whose location is `place` with its number."""
    sections = {
        section.place: "\n".join(note.lines[section.line_start - 1 : section.line_end]) for section in note.sections
    }
    there = [sentence in sections.get(place.format(number), "") for number, sentence in enumerate(sentences, 1)]
    return sum(there) / len(there)
