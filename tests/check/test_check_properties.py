"""Property tests of checks, over any answer and any pack."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.check.answer import parse_answer
from excerpt.check.checker import check_answer
from excerpt.check.verdicts import AnswerCheck, Verdict
from excerpt.kinds import Strategy
from excerpt.model import Hit
from excerpt.pack.build import build_pack
from excerpt.pack.formats.pack_format import PackFile
from excerpt.pack.formats.registry import read_pack
from excerpt.settings import PackSettings
from excerpt.text.tokens import open_tokenizer
from tests.check.lookups import Notes
from tests.pack.vaults import Vault

_WORD = st.sampled_from(
    ["sync", "Note", "naïve", "Straße", "**bold**", "`code`", "[[a|b]]", "1.5", "x", "(so)", "it's"]
)
_SENTENCE = st.lists(_WORD, min_size=3, max_size=12).map(" ".join).map("{}.".format)
_PARAGRAPHS = st.lists(_SENTENCE, min_size=1, max_size=5)
_NOTES = st.fixed_dictionaries({path: _PARAGRAPHS.map("\n\n".join) for path in ("a.md", "b/c.md", "d.md")})


def packed(notes: dict[str, str]) -> PackFile:
    vault = Vault(notes)
    hits = [Hit(fragment, 1.0) for fragment in vault.fragments]
    result = build_pack(
        vault,
        hits,
        query="q",
        strategy=Strategy.AUTO,
        settings=PackSettings(),
        tokenizer=open_tokenizer("chars/4"),
    )
    return read_pack(result.text)


def check(answer: str, pack: PackFile, notes: dict[str, str]) -> AnswerCheck:
    return check_answer(parse_answer(answer), pack, Notes(notes))


@st.composite
def cuts(draw: st.DrawFn) -> tuple[dict[str, str], PackFile, int, list[str]]:
    """Draw a vault, its pack, a source number and three or more consecutive words of a line of that source."""
    notes = draw(_NOTES)
    notes = {path: f"{text}\n\nOnly in {path}." for path, text in notes.items()}  # no two notes alike
    pack = packed(notes)
    source = draw(st.sampled_from(pack.sources))
    words = draw(st.sampled_from([line for line in source.text.split("\n") if len(line.split()) > 2])).split()
    first = draw(st.integers(0, len(words) - 3))
    return notes, pack, source.number, words[first : draw(st.integers(first + 3, len(words)))]


_QUOTED = st.sampled_from(['It says "{}" [{}].', "It says “{}” [{}].", "« {} » [{}]", "> {}\n\n[{}]", "[{1}]: „{0}“"])


@given(cuts(), _QUOTED)
def test_what_is_cut_from_a_pack_is_true(cut: tuple[dict[str, str], PackFile, int, list[str]], quoted: str) -> None:
    notes, pack, number, words = cut
    found = check(quoted.format(" ".join(words), number), pack, notes)
    assert [each.verdict for each in found.quotations] == [Verdict.TRUE]
    assert found.holds


@given(cuts(), _QUOTED, st.data(), st.sampled_from(["zebra", "ZEBRA,", "syncs", "2.5", "斑马"]))
def test_with_a_word_that_the_vault_does_not_have_it_is_not_true(
    cut: tuple[dict[str, str], PackFile, int, list[str]], quoted: str, data: st.DataObject, other: str
) -> None:
    notes, pack, number, words = cut
    words[data.draw(st.integers(0, len(words) - 1))] = other
    found = check(quoted.format(" ".join(words), number), pack, notes)
    assert all(each.verdict in (Verdict.ALTERED, Verdict.INVENTED) for each in found.quotations)
    assert len(found.quotations) == 1
    assert not found.holds


@pytest.mark.programs
@given(cuts(), st.data())
def test_an_edit_is_seen_by_whoever_cites_it(
    cut: tuple[dict[str, str], PackFile, int, list[str]], data: st.DataObject
) -> None:
    notes, pack, number, _ = cut
    source = pack.find_source(number)
    assert source is not None
    assert check(f"So it is [{number}].", pack, notes).holds
    lines = notes[source.path].split("\n")
    lines[data.draw(st.integers(source.line_start, source.line_end)) - 1] += " zebra"
    assert not check(f"So it is [{number}].", pack, {**notes, source.path: "\n".join(lines)}).holds


_PIECES = st.lists(
    st.sampled_from(["[1] ", "[9]", '"', "“", "”", "> ", "\n", "…", "sync ", "Note ", "`", "[^1]", "1.5 ", "zebra. "]),
    max_size=30,
).map("".join)


@given(_NOTES, st.one_of(_PIECES, st.text()))
def test_every_answer_is_checked_and_twice_the_same(notes: dict[str, str], answer: str) -> None:
    pack = packed(notes)
    found = check(answer, pack, notes)
    assert found == check(answer, pack, notes)
    for each in found.quotations:
        assert 0 <= each.similarity <= 1
        if each.verdict is Verdict.TRUE and each.place:
            assert re.sub(r"\W", "", each.place.passage)


def test_only_the_paths_of_the_pack_are_asked_for() -> None:
    notes = {"a.md": "One two three four."}
    lookup = Notes(notes)
    check_answer(parse_answer("See /etc/passwd and [x](../../y) [1]."), packed(notes), lookup)
    assert set(lookup.asked) == {"a.md"}
