"""Tests of counts in messages, with singular and plural: one note, two notes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import excerpt
from excerpt.text.display import format_count

PLURAL = re.compile(
    r"^ (?:more |matching |marked |different |other |scanned )*(?:attachments|bytes|characters|files|fragments|groups"
    r"|hits|lines|memories|notes|packs|pages|passages|places|queries|rows|sources|tokens|values|vaults|words)\b(?!/)"
)
NEVER_ONE = ("vault/readers/", "doctor/checks.py", "index/embed.py", "state_files.py", "search/verdict.py")
"""Files whose numbers are never 1: large limits, terminal sizes, and counts of at least two."""


def test_one_of_a_thing_is_told_in_the_singular() -> None:
    assert [format_count(number, "note") for number in (0, 1, 2_000)] == ["0 notes", "1 note", "2,000 notes"]
    assert format_count(1, "memory", "memories") == "1 memory"


def uncounted(file: Path) -> Iterator[str]:
    """Yield the values in f-strings before a plural, except constants and results of `format_count`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        for value, after in zip(node.values, node.values[1:], strict=False) if isinstance(node, ast.JoinedStr) else ():
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                shown, text = ast.unparse(value.value), str(after.value)
                if PLURAL.match(text) and not shown.strip("_").isupper() and "format_count" not in shown:
                    yield f"{file}:{value.lineno}: {{{shown}}}{text}"


@pytest.mark.programs
def test_no_text_has_a_number_before_a_plural_that_may_be_one() -> None:
    source = Path(excerpt.__file__).parent
    files = [file for file in source.rglob("*.py") if not file.relative_to(source).as_posix().startswith(NEVER_ONE)]
    assert files
    assert [found for file in files for found in uncounted(file)] == []
