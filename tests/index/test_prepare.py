"""Tests of preparing a note: what is read of it, and every known kind of damaged note."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from excerpt.base.model import BuildReport
from excerpt.base.settings import PackSettings, Settings, VaultSettings
from excerpt.index.build import build
from excerpt.index.prepare import FileTask, PrepareOptions, prepare
from excerpt.index.snapshot import Snapshot
from excerpt.vault.readers import digest_of_bytes


@pytest.mark.skipif(os.name != "posix", reason="needs O_NOFOLLOW")
def test_an_indexed_note_that_was_replaced_by_a_link_is_skipped(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("the very words the note had", encoding="utf-8")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "note.md").symlink_to(outside)
    known = digest_of_bytes(outside.read_bytes())

    done = prepare(PrepareOptions(vault, "o200k", VaultSettings()), [FileTask("note.md", 1, 1, 1, known)])

    assert not done.unchanged
    assert [skipped.path for skipped in done.skipped] == ["note.md"]


def test_an_indexed_note_that_grew_over_the_size_limit_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("words " * 100, encoding="utf-8")
    known = digest_of_bytes((tmp_path / "note.md").read_bytes())

    done = prepare(
        PrepareOptions(tmp_path, "o200k", VaultSettings(max_bytes=50)), [FileTask("note.md", 600, 1, 1, known)]
    )

    assert not done.unchanged
    assert "larger than" in done.skipped[0].reason


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{f'*{a}, ' * 9}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@dataclass(frozen=True)
class Case:
    """The content of a file, a part of its warning ("" for none), and the line with "zeppelin" (0 for none)."""

    content: str | bytes
    warning: str
    line: int


CASES = {
    # --- line ends
    "cr only": Case("# One\r\rtwo\r\ra zeppelin\r", "", 5),
    "cr and frontmatter": Case("---\ra: b\r---\r\ra zeppelin\r", "", 5),
    "mixed line ends": Case("one\r\ntwo\rthree\n\na zeppelin", "", 5),
    "separators that are no line ends": Case("one\u2028two\x0cthree\x0bfour\x85five\n\na zeppelin\n", "", 3),
    "utf-16 with cr": Case("one\r\ra zeppelin".encode("utf-16"), "UTF-16", 3),
    # --- encodings
    "utf-16 without a mark": Case("one\n\na zeppelin\n".encode("utf-16-le"), "UTF-16 without a byte order mark", 3),
    "big5": Case(("繁體中文的筆記，用來測試編碼。" * 20 + "\n\na zeppelin\n").encode("big5"), "big5", 3),
    "cut in a character": Case("日本語のノート\n\na zeppelin 日本".encode()[:-1], "1 broken character", 3),
    "surrogates as bytes": Case(
        b"one two " * 40 + b"\xed\xa0\xbd\xed\xb8\x80\n\na zeppelin\n", "Parts of the file are not UTF-8", 3
    ),
    "two encodings": Case("Größe ".encode() * 30 + "Größe ".encode("latin-1") * 30 + b"\n\na zeppelin", "1252", 3),
    "a zero here and there": Case("one\0two three four five six seven eight nine ten\n" * 3 + "\na zeppelin\n", "", 5),
    "escapes": Case("\x1b]0;owned\x07 \x9b31m \u202e\n\na zeppelin\n", "", 3),
    "zero-width spaces": Case("a\u200bb\u200bc\n\na zeppelin\n", "", 3),
    # --- frontmatter
    "frontmatter without end": Case("---\na: b\n\na zeppelin\n", "", 4),
    "frontmatter closed by dots": Case("---\na: b\n...\n\na zeppelin\n", "", 5),
    "frontmatter with tabs": Case("---\n\ta: b\n---\n\na zeppelin\n", "not valid YAML", 5),
    "frontmatter that is a list": Case("---\n- a\n---\n\na zeppelin\n", "is a list", 5),
    "frontmatter that multiplies": Case(f"---\n{LAUGHS}---\n\na zeppelin\n", "more than 20000 values", 13),
    "frontmatter within itself": Case("---\na: &a [*a]\n---\n\na zeppelin\n", "more than 20000 values", 5),
    "frontmatter with an object": Case("---\na: !!python/object/apply:os.system [echo]\n---\n\na zeppelin\n", "", 5),
    "frontmatter after a blank line": Case("\n---\na: b\n---\n\na zeppelin\n", "", 6),
    "a colon in a value": Case("---\ntitle: one: two\n---\n\na zeppelin\n", "not valid YAML", 5),
    # --- syntax
    "a fence without end": Case("```\ncode\n\na zeppelin\n", "", 4),
    "a comment without end": Case("%% comment\n\na zeppelin\n", "", 3),
    "brackets without end": Case("[[[[" * 500 + "\n\na zeppelin\n", "", 3),
    "quotes in each other": Case(">" * 300 + " x\n\na zeppelin\n", "", 3),
    "lists in each other": Case("".join("  " * n + "- x\n" for n in range(400)) + "\n\na zeppelin\n", "", 403),
    "a table of 200 columns": Case("|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n\na zeppelin\n", "", 4),
    "ten equal headings": Case("# One\n\n" * 10 + "a zeppelin\n", "", 21),
    # --- size
    "one line of a megabyte": Case("word " * 200_000 + "\n\na zeppelin\n", "", 3),
    "no space at all": Case("x" * 300_000 + "\n\na zeppelin\n", "", 3),
    "an image in the text": Case(f"![](data:image/png;base64,{'iVBOR' * 60_000})\n\na zeppelin\n", "", 3),
    "5000 headings": Case("".join(f"# {n}\n" for n in range(5000)) + "\na zeppelin\n", "", 5002),
    # --- nothing
    "zero bytes": Case(b"", "", 0),
    "white space": Case(" \n\t\n", "", 0),
    "a mark alone": Case(b"\xef\xbb\xbf", "", 0),
    "frontmatter alone": Case("---\na: b\n---\n", "", 0),
    "rules alone": Case("---\n---\n***\n", "", 0),
}
SKIPPED = {
    "a pdf": (b"%PDF-1.4\nx", "not text"),
    "a picture": (b"\x89PNG\r\n\x1a\nx", "not text"),
    "zeros": (bytes(1000), "only zero bytes"),
}
DEEP = "/".join(f"d{number}" for number in range(40))


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BuildReport, Snapshot]]:
    """Build the index of a vault with all cases, links that loop and a note 40 folders deep."""
    vault = tmp_path_factory.mktemp("damaged")
    for name, content in [(name, case.content) for name, case in CASES.items()] + [
        (name, content) for name, (content, _) in SKIPPED.items()
    ]:
        (vault / f"{name}.md").write_bytes(
            content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        )
    (vault / DEEP).mkdir(parents=True)
    (vault / DEEP / "deep.md").write_text("a zeppelin\n", encoding="utf-8")
    if os.name == "posix":
        (vault / "loop").symlink_to(".")
        (vault / "d0" / "up").symlink_to("../..")
        (vault / "self.md").symlink_to("self.md")
    index = vault.parent / "index of damaged"
    settings = Settings(pack=PackSettings(tokenizer="chars/4"))
    report = build(vault, index, settings)
    with closing(Snapshot.open(index, settings)) as snapshot:
        yield report, snapshot


@pytest.mark.parametrize("name", CASES)
def test_a_damaged_note_is_indexed_with_a_warning(damaged: tuple[BuildReport, Snapshot], name: str) -> None:
    report, snapshot = damaged
    path, case = f"{name}.md", CASES[name]
    assert path in snapshot.note_paths()
    said = [one.reason for one in report.warnings if one.path == path]
    assert (case.warning in said[0]) if case.warning else (said == [])
    found = [one for one in snapshot.note_fragments(path) if "zeppelin" in one.text]
    assert len(found) == (1 if case.line else 0)
    if found:
        lines = found[0].text.split("\n")
        assert found[0].line_start + next(n for n, line in enumerate(lines) if "zeppelin" in line) == case.line


@pytest.mark.parametrize("name", SKIPPED)
def test_a_file_that_is_not_text_is_skipped_with_the_reason(damaged: tuple[BuildReport, Snapshot], name: str) -> None:
    report, _ = damaged
    assert [SKIPPED[name][1] in one.reason for one in report.skipped if one.path == f"{name}.md"] == [True]


def test_a_note_below_forty_folders_is_found_once(damaged: tuple[BuildReport, Snapshot]) -> None:
    _, snapshot = damaged
    assert [path for path in snapshot.note_paths() if path.endswith("deep.md")] == [f"{DEEP}/deep.md"]


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_link_loops_are_named_and_nothing_else_is_skipped(damaged: tuple[BuildReport, Snapshot]) -> None:
    report, _ = damaged
    skipped = {one.path for one in report.skipped} - {f"{name}.md" for name in SKIPPED}
    assert skipped == {"loop", "d0/up", "self.md"}
