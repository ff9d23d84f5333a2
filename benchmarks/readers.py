"""Measure how much text of real files the readers extract, and how fast: `python -m benchmarks.readers FOLDER`.

Words of a PDF are compared with the output of `pdftotext`, those of a web page or book with the text that the standard
library's HTML parser leaves, those of slides, documents and sheets with the XML in them. Words are runs of letters; a
word hyphenated at the end of a line counts as found only if it was joined.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.base.settings import VaultSettings
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.registry import reader_for

_WORD = re.compile(r"[^\W\d_]{3,}")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xAD: ""}
_XML_TEXT = re.compile(
    rb"<(?:w|a):t(?:\s[^>]*)?>([^<]*)</|</(?:w|a):p>|<(?:w|a):(?:br|tab)\b|<t(?:\s[^>]*)?>([^<]*)</t>"
)
_MAX_FILES = 200  # of a kind


def main(folder: Path) -> None:
    """Print a table of the results for the files of a folder."""
    files: dict[str, list[Path]] = defaultdict(list)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink() and file.suffix.lower() in _TRUTH:
            files[file.suffix.lower()].append(file)
    print("| kind | files | words found | worst | places a CPU second | MB a CPU second | refused |")
    print("|---|---|---|---|---|---|---|")
    for suffix, found in files.items():
        _measure(suffix, found[:: max(1, len(found) // _MAX_FILES)][:_MAX_FILES])


def _measure(suffix: str, files: list[Path]) -> None:
    wanted = there = places = size = 0
    seconds = 0.0
    worst: list[tuple[float, Path]] = []
    refused: Counter[str] = Counter()
    for file in files:
        data = file.read_bytes()
        started = time.process_time()
        try:
            note = reader_for(file.name, VaultSettings()).read(data, file.name, ReadOptions(language="en"))
        except ReadError as error:
            refused[error.message] += 1
            continue
        finally:
            seconds += time.process_time() - started
        size += len(data)
        places += len({section.place for section in note.sections})
        truth = _words(_TRUTH[suffix](file))
        if truth:
            common = (truth & _words(_said(note))).total()
            wanted, there = wanted + truth.total(), there + common
            worst.append((common / truth.total(), file))
    lowest = f"{min(worst)[0]:.3f} {min(worst)[1].name}" if worst else "-"
    share = f"{there / wanted:.4f}" if wanted else "-"
    reasons = "; ".join(f"{count} {reason}" for reason, count in refused.items()) or "-"
    pace, speed = places / max(seconds, 1e-9), size / 1e6 / max(seconds, 1e-9)
    print(f"| {suffix} | {len(files)} | {share} | {lowest} | {pace:.0f} | {speed:.1f} | {reasons} |", flush=True)


def _said(note: Note) -> str:
    headings = {heading for section in note.sections for heading in section.heading_path}
    return "\n".join([note.title, *headings, note.text])


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.translate(_LIGATURES).casefold()))


# --- what is in them, by other means ----------------------------------------------------------------------------------


def _pdf(file: Path) -> str:
    program = shutil.which("pdftotext")
    if program is None:
        return ""
    told = subprocess.run([program, "-enc", "UTF-8", str(file), "-"], capture_output=True, text=True, check=False)
    return re.sub(r"(\w)[-\u2010]\n(?=[a-z])", r"\1", told.stdout)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the library's arguments
        self._hidden += tag in ("script", "style", "nav")
        self.said.append("" if tag in ("b", "i", "em", "span", "code", "strong", "a", "tt", "var", "u", "wbr") else " ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style", "nav") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.said.append(data)


def _html(file: Path) -> str:
    return _without_tags(file.read_bytes())


def _without_tags(data: bytes) -> str:
    parser = _Tags()
    with suppress(UnicodeDecodeError):
        parser.feed(data.decode("utf-8"))
        return "".join(parser.said)
    parser.feed(data.decode("latin-1"))
    return "".join(parser.said)


def _epub(file: Path) -> str:
    with ZipFile(file) as archive:
        pages = [name for name in archive.namelist() if name.endswith((".xhtml", ".html")) and "nav" not in name]
        return "\n".join(_without_tags(archive.read(name)) for name in pages)


def _office(*folders: str) -> Callable[[Path], str]:
    def told(file: Path) -> str:
        with suppress(OSError, ValueError, KeyError), ZipFile(BytesIO(file.read_bytes())) as archive:
            names = [name for name in archive.namelist() if name.startswith(folders) and name.endswith(".xml")]
            return "\n".join("".join(_xml(archive.read(name))) for name in names)
        return ""

    return told


def _xml(data: bytes) -> Iterator[str]:
    for found in _XML_TEXT.finditer(data):
        yield (found[1] or b"").decode("utf-8", "replace") if found[1] is not None else " "
        yield f" {found[2].decode('utf-8', 'replace')} " if found[2] is not None else ""


_TRUTH: dict[str, Callable[[Path], str]] = {
    ".pdf": _pdf,
    ".html": _html,
    ".epub": _epub,
    ".docx": _office("word/document", "word/footnotes", "word/endnotes"),
    ".pptx": _office("ppt/slides/", "ppt/notesSlides/"),
    ".xlsx": _office("xl/sharedStrings"),
    ".xls": lambda _: "",
    ".ods": lambda _: "",
    ".csv": lambda file: file.read_text("utf-8", "replace"),
}

if __name__ == "__main__":
    main(Path(sys.argv[1]))
