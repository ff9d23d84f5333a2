"""Tests that ignore files match as in git, byte for byte, since ignored files must not be read."""

from __future__ import annotations

import os
import random
import subprocess
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from excerpt.base.settings import VaultSettings
from excerpt.vault import ignore
from excerpt.vault.ignore import IgnorePatterns, parse_pattern, pattern_lines
from excerpt.vault.scan import scan
from tests.index.conftest import MEMORY

DEFAULTS = VaultSettings()

NEEDS_GIT = pytest.mark.needs("git")  # the table holds what it says


def is_ignored(lines: bytes, path: str) -> bool:
    """Return whether an ignore file excludes a file or a folder above it."""
    patterns = IgnorePatterns.read(pattern_lines(lines))
    above = [path[:at] for at, letter in enumerate(path) if letter == "/"]
    return any(patterns.verdict(folder, True) for folder in above) or patterns.verdict(path, False) is True


# Whether git 2.39 ignores a file by these lines.
TABLE = [
    (b"secret[[:digit:]]/", "secret1/a.md", True),
    (b"secret[[:digit:]]/", "secretx/a.md", False),
    (b"[![:alpha:]_]*", "1.md", True),
    (b"[a[:digit:]b]x", "7x", True),
    (b"[[:nope:]]*", "a.md", False),
    (b"ab/**/", "ab/x.md", False),
    (b"ab/**/", "ab/c/x.md", True),
    (b"ab/**", "ab/x.md", True),
    (b"**/ab", "c/d/ab", True),
    (b"a/**/b", "a/b", True),
    (b"a/**/b", "a/c/d/b", True),
    (b"a**/b", "ac/d/b", True),
    (b"*a**/b", "ac/d/b", False),
    (b"a/**\\/b", "a/b", False),
    (b"a/**\\/b", "a/c/b", True),
    (b"?.md", "\u00e9.md", False),
    (b"??.md", "\u00e9.md", True),
    (b"[!a]*", "/".join(["a", "b.md"]), True),
    (b"a b \\ ", "a b  ", True),
    (b"a.md   ", "a.md", True),
    (b"a.md\t", "a.md", False),
    (b"a.md\r\nb.md", "a.md", True),
    (b"a.md\r", "a.md", True),
    (b"a.md\0b", "a.md", True),
    (b"a.md\x0bb.md", "b.md", False),
    (b"a.md\xe2\x80\xa8b.md", "b.md", False),
    (b"\xef\xbb\xbfa.md", "a.md", True),
    (b"\\#a", "#a", True),
    (b"#a", "#a", False),
    (b"\\!a", "!a", True),
    (b"*\n!a.md", "a.md", False),
    (b"x/\n!x/a.md", "x/a.md", True),
    (b"a\\", "a", False),
    (b"[a", "[a", False),
    (b"[z-a]", "z", True),
    (b"[z-a]", "a", False),
    (b"[z-aq]", "q", True),
    (b"[]-a]", "]", True),
    (b"[a-]", "-", True),
    (b"[\\]]", "]", True),
    (b"x[/]y", "x/y", False),
    (b"/", "a", False),
    (b"{a,b}", "a", False),
    (b"\xe4.md", os.fsdecode(b"\xe4.md"), True),
]


@pytest.mark.parametrize(("lines", "path", "ruled_out"), TABLE)
def test_an_ignore_file_excludes_the_same_files_as_in_git(lines: bytes, path: str, ruled_out: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_ignored(lines, path) == ruled_out


@NEEDS_GIT
@pytest.mark.skipif(os.name != "posix", reason="Windows allows few of these names")
def test_the_expected_results_of_these_tests_equal_the_output_of_git(tmp_path: Path) -> None:
    lists = {f"t{number}": lines for number, (lines, _, _) in enumerate(TABLE)}
    paths = [f"t{number}/{path}" for number, (_, path, _) in enumerate(TABLE)]
    ruled_out = ignored_by_git(tmp_path, lists, paths)
    assert [path in ruled_out for path in paths] == [ruled_out for _, _, ruled_out in TABLE]


# --- random trees -----------------------------------------------------------------------------------------------------

COMMON = ("a", "b", "ab", "*", "?", "**", "[ab]", "[!a]", "[^a]", "[[:digit:]]", "[a-c]", "\\*", "\\a", "1", "A", "é")
RARE = (
    *(
        "{a,b}",
        " ",
        "[]a]",
        "[!]a]",
        "-",
        "[a-]",
        "+",
        ".",
        "(",
        "|",
        "^",
        "$",
        "[[:nope:]]",
        "[a",
        "]",
        "[\\]]",
        "[z-a]",
    ),
    *(
        "#",
        "!",
        "[/]",
        "[[:punct:]]",
        "[[:space:]]",
        "[a[:digit:]b]",
        "[[:upper:]]",
        "[A]",
        "[!A-B]",
        "\\/",
        "\x0b",
        "\xa0",
    ),
)
BEGINS = ("", "", "", "/", "**/", "!", "!/", "!**/", "\\!", "\\#", "#")
BETWEEN = ("/", "/", "/**/", "/*/", "**/", "/**\\/")
ENDS = ("", "", "", "/", "/**", "/**/", "/*", " ", "\\ ", ".md", ".md", "*.md", "\t", "\\")
NAMES = ("a", "b", "ab", "ba", "aa", "1", "A", "é", "aB")
ODD_NAMES = (
    "a1",
    " ",
    "*",
    "a b",
    "]",
    "a]",
    "-",
    "{a,b}",
    "^",
    "[a",
    "!a",
    "#a",
    "\\a",
    "a ",
    "a\t",
    "+",
    "(",
    "|",
    "$",
)
TREES = 300


def some_pattern(chance: random.Random, tree: Sequence[str]) -> str:
    """Return a random pattern of special characters, or a part of a path with some inserted."""
    if chance.random() < 0.5:
        names = chance.choice(tree).split("/")[1:]
        part = "/".join(names[: chance.randint(1, len(names))] if chance.random() < 0.5 else names[-1:])
        return "".join(chance.choice(COMMON) if chance.random() < 0.15 else letter for letter in part)

    def name() -> str:
        signs = COMMON if chance.random() < 0.7 else (*COMMON, *RARE)
        return "".join(chance.choice(signs) for _ in range(chance.choice((1, 1, 2, 2, 3))))

    path = name()
    for _ in range(chance.choice((0, 0, 1, 2))):
        path += chance.choice(BETWEEN) + name()
    return chance.choice(BEGINS) + path + chance.choice(ENDS)


def some_path(chance: random.Random) -> str:
    def name() -> str:
        return chance.choice(NAMES if chance.random() < 0.7 else ODD_NAMES)

    return "/".join([name() for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4)))] + [name() + ".md"])


def some_trees(chance: random.Random) -> tuple[dict[str, bytes], list[str]]:
    """Return ignore files by folder, and paths; each tree is in its own folder with its own rules."""
    lists: dict[str, bytes] = {}
    paths: list[str] = []
    for number in range(TREES):
        tree = sorted({f"t{number}/{some_path(chance)}" for _ in range(chance.randint(6, 12))})
        paths += tree
        below = chance.choice(tree).rpartition("/")[0]
        for folder in {f"t{number}", below} if chance.random() < 0.3 else {f"t{number}"}:
            patterns = [some_pattern(chance, tree) for _ in range(chance.randint(1, 4))]
            lists[folder] = chance.choice(("\n", "\n", "\r\n")).join(patterns).encode()
    return lists, paths


def ignored_by_git(folder: Path, lists: dict[str, bytes], paths: Sequence[str], *, any_case: bool = False) -> set[str]:
    """Return the files that git ignores, after creating them and the ignore files in `folder`."""
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")
    for place, lines in lists.items():
        (folder / place / ".gitignore").write_bytes(lines)
    alone = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "init", "-q", folder], env=alone, check=True)
    told = subprocess.run(
        ["git", "-C", folder, "-c", f"core.ignoreCase={any_case}", "check-ignore", "--no-index", "--stdin", "-z"],
        input=b"\0".join(map(os.fsencode, paths)),
        capture_output=True,
        env=alone,
        check=True,
    )
    return set(map(os.fsdecode, told.stdout.split(b"\0")))


@pytest.mark.programs
@NEEDS_GIT
@pytest.mark.skipif(os.name != "posix", reason="Windows allows few of these names")
@pytest.mark.parametrize("any_case", [False, True], ids=["as on Linux", "as on macOS"])
def test_a_vault_holds_the_notes_that_git_does_not_ignore(monkeypatch: pytest.MonkeyPatch, any_case: bool) -> None:
    monkeypatch.setattr(ignore, "_IGNORES_CASE", any_case)
    lists, paths = some_trees(random.Random(7 + any_case))
    with TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as name, warnings.catch_warnings():
        warnings.simplefilter("error")
        folder = Path(name)
        ignored = ignored_by_git(folder, lists, paths, any_case=any_case)
        found = {file.path for file in scan(folder, DEFAULTS).files}
    differing = {path.partition("/")[0] for path in found ^ (set(paths) - ignored)}
    assert {place: lines for place, lines in lists.items() if place.partition("/")[0] in differing} == {}
    assert 0.1 < len(ignored) / len(paths) < 0.9  # otherwise the test covers too little


# --- lines that are no patterns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern", [b"", b" ", b"#x", b"!", b"/", b"//", b"!/", b"a\\", b"[", b"[a", b"[[:nope:]]", b"x[/]y"]
)
def test_a_pattern_that_matches_nothing_is_dropped(pattern: bytes) -> None:
    assert not [line for line in pattern_lines(pattern) if parse_pattern(line) is not None]
