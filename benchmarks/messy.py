"""Index two hundred hostile and damaged files and compare each outcome: `python -m benchmarks.messy`.

Indexes them with the real program, prints how each kind of case ended, and checks that the output of the program, in a
pipe, on a terminal and on the screen of the app, contains no control characters from the vault. Exits with 1 if
anything differs.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.terminal import Terminal

from benchmarks.measure import environment, result, run, table, write_option

EXCERPT = (sys.executable, "-m", "excerpt")

INDEXED, WARNED, SKIPPED, NO_NOTE = "indexed", "with a warning", "skipped", "not a note"

# The outcome of kinds that are not listed in `_ENDS`: ordinary notes.
_PLAIN = (INDEXED,)
_ENDS: Mapping[str, Sequence[str]] = {
    # Text that is not UTF-8 is read in the most likely encoding, with a warning.
    **dict.fromkeys(
        (
            *("UTF-16 LE with BOM", "UTF-16 BE with BOM", "UTF-16 LE, no BOM", "Latin-1", "CP1252", "GBK", "Big5"),
            *("Shift-JIS", "EUC-KR", "CP1251", "KOI8-R", "UTF-8 cut inside a character", "nonutf8"),
            *("two encodings in one file", "CESU surrogate bytes"),
        ),
        (WARNED,),
    ),
    # Frontmatter that is not read, or only in part.
    **dict.fromkeys(
        (
            *("tabs in YAML", "frontmatter is a list", "wrong types, unsafe tag, recursive anchor"),
            *("YAML alias expansion", "common Obsidian YAML mistakes"),
        ),
        (WARNED,),
    ),
    # Found in the wild: strict YAML cannot read it; only the note itself must be indexed.
    "fm-badyaml": (WARNED, INDEXED),
    "4 MB note": (WARNED,),
    **dict.fromkeys(("huge", "huge+longline", "longline"), (INDEXED, WARNED)),
    # Links are not followed, but reported if a note might be expected there.
    **dict.fromkeys(
        (
            *("symlink", "symlink -> dir/target.md", "symlink -> dir", "symlink -> nowhere.md", "symlink -> ."),
            *("symlink -> ../..", "symlink -> self.md"),
        ),
        (SKIPPED,),
    ),
    **dict.fromkeys(("name is not UTF-8", "PDF bytes named .md", "PNG bytes named .md"), (SKIPPED,)),
    **dict.fromkeys(
        (
            *("name: hidden", "name: no extension", "PDF cut at a third", "whole PDF", "Markdown named .png"),
            *("empty PDF", "broken PPTX", "broken canvas", "empty canvas", "canvas of wrong shape", "broken base"),
        ),
        (NO_NOTE,),
    ),
}

# What a terminal would execute or be misled by: control characters, direction marks, lone surrogates.
_OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]")
# What excerpt writes itself: colours, overwritten lines, and on the screen Textual's control sequences.
_LINKS = r"\x1b\]8;(?:id=[0-9-]+)?;(?:file://[!-~]*)?\x1b\\"
"""Links to files, percent-encoded, and their ends."""
_COLOURS = re.compile(rf"\x1b\[[0-9;]*m|\r\x1b\[K|{_LINKS}")
_SCREEN = re.compile(
    r"\x1b\[[<=>?]?[0-9;]*[A-Za-z~]|\x1b\[\?[0-9;]*\$p|\x1b[=>78HM]|\x1b[()][A-Z0-9]|\x1b\]22;[a-z-]*\x07"
    rf"|\x1b\]11;\?\x1b\\|{_LINKS}"
)


@dataclass(frozen=True)
class Case:
    """One entry of the manifest, and its outcome."""

    path: str
    kind: str
    end: str
    reason: str

    @property
    def expected(self) -> Sequence[str]:
        return _ENDS.get(self.kind, _PLAIN)

    @property
    def as_expected(self) -> bool:
        return self.end in self.expected


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.messy", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/packed/messy.tar.xz")
    write_option(parser, "messy")
    args = parser.parse_args()
    archive = args.data / "data" / "packed" / "messy.tar.xz"
    if not archive.is_file():
        print(f"messy is not at {archive}: nothing is measured")
        return 0
    with result("messy", "Hostile and damaged files", write=args.write):
        return 1 if differs(archive) else 0


def differs(archive: Path) -> bool:
    """Print how each kind of case ended, and what a terminal would obey; return whether anything is unexpected."""
    with tempfile.TemporaryDirectory(prefix="excerpt-messy-") as folder:
        # Outside the checkout: it has link loops and a name that is not UTF-8.
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="tar")
        vault = Path(folder) / "messy"
        home = {**environment(), "EXCERPT_HOME": str(Path(folder) / "home")}
        cases = _indexed(vault, home)
        wrong = [case for case in cases if not case.as_expected]
        _print_cases(cases)
        obeyed = dict(_what_is_obeyed(vault, home))
    print("\n## What a terminal would obey\n")
    for where, found in obeyed.items():
        print(f"- {where}: {', '.join(map(ascii, found)) or 'nothing'}")
    for case in wrong:
        print(f"\nDIFFERS {case.path!a} ({case.kind}): {case.end}, expected {' or '.join(case.expected)}")
    return bool(wrong) or any(obeyed.values())


def _indexed(vault: Path, home: Mapping[str, str]) -> list[Case]:
    built = run([*EXCERPT, "index", "--vault", str(vault), "--json"], home)
    report = json.loads(built.output)
    status = json.loads(run([*EXCERPT, "status", "--vault", str(vault), "--json", "--no-refresh"], home).output)
    notes = set(_note_paths(vault, home))
    print(f"- indexed in {built.seconds:.1f} s, peak memory of one process {built.peak / 1e6:.0f} MB")
    print(f"- {status['notes']} notes, {status['fragments']:,} fragments, {len(status['skipped'])} skipped")
    skipped = {one["path"]: one["reason"] for one in report["skipped"]}
    warned = {one["path"]: one["reason"] for one in report["warnings"]}
    cases = []
    for written, kind, _licence in json.loads((vault / "MANIFEST.json").read_text(encoding="utf-8")):
        path = _as_shown(written)
        end = SKIPPED if path in skipped else WARNED if path in warned else INDEXED if path in notes else NO_NOTE
        cases.append(Case(path, kind, end, skipped.get(path) or warned.get(path, "")))
    return cases


def _as_shown(written: str) -> str:
    r"""Return a path of the manifest, with bytes that are not text written as \xff, in the form excerpt shows."""
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), written.encode())
    return raw.decode("utf-8", "replace")


def _note_paths(vault: Path, home: Mapping[str, str]) -> Iterator[str]:
    """Yield the path of every note in the index."""
    from excerpt.base.settings import Settings, vault_slug
    from excerpt.index.snapshot import Snapshot

    snapshot = Snapshot.open(Path(home["EXCERPT_HOME"]) / "cache" / "index" / vault_slug(vault), Settings())
    try:
        yield from snapshot.note_paths()
    finally:
        snapshot.close()


def _print_cases(cases: Sequence[Case]) -> None:
    print()
    kinds = {case.kind: None for case in cases}
    rows = []
    for kind in kinds:
        of_kind = [case for case in cases if case.kind == kind]
        ends = Counter(case.end for case in of_kind)
        told = ", ".join(f"{count} {end}" if len(of_kind) > 1 else end for end, count in ends.items())
        reason = next((case.reason for case in of_kind if case.reason), "")
        fine = "yes" if all(case.as_expected for case in of_kind) else "NO"
        rows.append((kind, told, reason, fine))
    table(("kind", "ended", "reason", "as expected"), rows)


# --- output -----------------------------------------------------------------------------------------------------------

_QUERIES = ("retrieves processes", "zero width", "path:names", "file:line", "nested")
_COMMANDS = ("status --no-refresh", "status --json --no-refresh", "index --json")
_ANSWERS = ("search", "search --json", "search --explain", "pack", "pack --format json")
"""The commands that are run with every query."""


def _what_is_obeyed(vault: Path, home: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield where output was inspected, and the control sequences in it that excerpt does not write itself."""
    of = ("--vault", str(vault))
    for command in _COMMANDS:
        words, name = (*command.split(), *of), command.removesuffix(" --no-refresh")
        done = subprocess.run([*EXCERPT, *words], env=dict(home), capture_output=True, check=True)
        yield f"{name}, pipe", _found(done.stdout + done.stderr, _COLOURS)
        yield f"{name}, terminal", _found(_on_terminal(words, home), _COLOURS)
    for command in _ANSWERS:
        shown = b"".join(_on_terminal((*command.split(), query, *of, "--no-refresh"), home) for query in _QUERIES)
        yield f"{command}, terminal", _found(shown, _COLOURS)
    notes = sum(1 for _ in _note_paths(vault, home))
    yield "the app, with notes and skipped files", _found(_in_the_app(vault, home, notes), _SCREEN)


def _found(output: bytes, ours: re.Pattern[str]) -> list[str]:
    text = ours.sub("", output.decode("utf-8", "surrogateescape")).replace("\r", "")
    return sorted(set(_OBEYED.findall(text)))


def _on_terminal(command: Sequence[str], home: Mapping[str, str]) -> bytes:
    with Terminal([*EXCERPT, *command], home, 120, 40) as terminal:
        terminal.wait_exit()
        return terminal.output


def _in_the_app(vault: Path, home: Mapping[str, str], notes: int) -> bytes:
    """Return the app's output while it finds notes with the strangest names and texts, and lists skipped files."""
    with Terminal([*EXCERPT, str(vault)], home, 140, 45) as app:
        app.wait_for(f"{notes} notes")
        for query in _QUERIES:
            app.type(query)
            app.wait_for(f"❯ {query}", " 1 ")
            app.press("ctrl+u")
            app.wait_gone(f"❯ {query}")
        app.press("ctrl+g")
        app.type("The index:")
        app.wait_for("why files were skipped")
        app.press("enter")
        app.wait_for("not valid UTF-8")
        app.press("ctrl+q")
        app.wait_exit()
        return app.output


if __name__ == "__main__":
    sys.exit(main())
