"""Patterns are compiled at their first use."""

import re

import pytest

from excerpt.base.patterns import lazy_pattern


def test_a_lazy_pattern_finds_what_the_compiled_one_finds() -> None:
    pattern = lazy_pattern(r"(?P<word>[a-z]+)-(\d)", re.IGNORECASE)
    compiled = re.compile(r"(?P<word>[a-z]+)-(\d)", re.IGNORECASE)

    assert pattern.search("a Note-7").groupdict() == {"word": "Note"}  # type: ignore[union-attr]
    assert pattern.sub(r"\2", "x-1 y-2") == compiled.sub(r"\2", "x-1 y-2") == "1 2"
    assert (pattern.pattern, pattern.flags, pattern.groups) == (compiled.pattern, compiled.flags, compiled.groups)


def test_a_lazy_pattern_is_compiled_by_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_pattern = re.compile

    def record(pattern: str, flags: int) -> re.Pattern[str]:
        compiled.append(pattern)
        return compile_pattern(pattern, flags)

    monkeypatch.setattr(re, "compile", record)

    pattern = lazy_pattern("bee+")
    assert compiled == []
    assert [bool(pattern.match(text)) for text in ("bees", "wasp")] == [True, False]
    assert compiled == ["bee+"]


def test_a_lazy_pattern_of_bytes_searches_bytes() -> None:
    assert lazy_pattern(rb"\d+").findall(b"1 and 22") == [b"1", b"22"]
