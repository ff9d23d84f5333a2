"""Tests of a check against a real index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from excerpt.base.settings import Settings
from excerpt.corpus.interface import Floats
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.pack.check import checker
from excerpt.pack.check.answer import parse_answer
from excerpt.pack.check.checker import AnswerChecker, check_answer
from excerpt.pack.check.lookup import MAX_PHRASE_WORDS, SnapshotLookup
from excerpt.pack.check.verdicts import CheckedQuotation, Verdict
from excerpt.pack.formats.pack_format import PackFile, PackSource
from excerpt.text.words import QueryWord
from tests.pack.vaults import sentence

NOTES = {
    "long.md": f"# Long\n\n{sentence('alpha', 200)}\n\n{sentence('beta', 200)}\n\nThe end comes late.\n",
    "sync.md": "# Sync\n\nA sync conflict arises when two devices change one note before they meet.\n",
    "b/c\x1b.md": "Signals of a strange kind are here.\n",
    **{f"filler/{number}.md": f"The filler number {number} fills and fills.\n" for number in range(20)},
}


@pytest.fixture(scope="module")
def lookup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnapshotLookup]:
    root = tmp_path_factory.mktemp("check")
    for path, text in NOTES.items():
        file = root / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (root / "secret.md").write_text("A secret that is no note.", encoding="utf-8")
    build(root / "vault", root / "index", Settings())
    snapshot = Snapshot.open(root / "index", Settings())
    yield SnapshotLookup(snapshot)
    snapshot.close()


def quotation(text: str, lookup: SnapshotLookup) -> CheckedQuotation:
    pack = PackFile((PackSource(1, "gone.md", "Gone", 1, 1, "Nothing of it."),))
    (found,) = check_answer(parse_answer(f"It says “{text}”."), pack, lookup).quotations
    return found


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a sync conflict arises when two devices", "sync.md", 3),
        ("A sync conflict arises […] before they meet", "sync.md", 3),
        ("alpha198 alpha199. beta0 beta1", "long.md", 3),
        ("alpha193 alpha194 … alpha198 alpha199. beta0 beta1 beta2", "long.md", 3),
        ("Signals of a strange", "b/c\x1b.md", 1),
    ],
)
def test_a_quotation_is_found_wherever_it_stands(lookup: SnapshotLookup, text: str, path: str, line: int) -> None:
    found = quotation(text, lookup)
    assert found.verdict is Verdict.TRUE
    assert found.place is not None
    assert (found.place.path, found.place.line_start) == (path, line)


def test_an_altered_quotation_is_found_by_its_rare_words(lookup: SnapshotLookup) -> None:
    found = quotation("A sync conflict arises when four gadgets change one note", lookup)
    assert found.verdict is Verdict.ALTERED
    assert found.place is not None
    assert found.place.passage.startswith("A sync conflict arises when two devices")


@pytest.mark.parametrize("text", ["quantum unicorns of the moon", "…", "\x00 a b c", "%_% _ %", "「」『』 x y"])
def test_an_invented_quotation_is_not_found(lookup: SnapshotLookup, text: str) -> None:
    pack = PackFile((PackSource(1, "gone.md", "Gone", 1, 1, "Nothing of it."),))
    found = check_answer(parse_answer(f"It says “{text}” [1]."), pack, lookup).quotations
    assert all(each.verdict is not Verdict.TRUE for each in found)


@pytest.mark.parametrize("path", ["../secret.md", "secret.md", "/etc/passwd", "sync.md/", "SYNC.md", "\ud800", ""])
def test_only_paths_of_notes_are_paths(lookup: SnapshotLookup, path: str) -> None:
    assert lookup.find_path(path) is None


def test_a_path_is_recognised_as_it_is_displayed(lookup: SnapshotLookup) -> None:
    assert lookup.find_path("b/c␛.md") == lookup.find_path("b/c\x1b.md") == "b/c\x1b.md"


def test_the_lookup_names_the_notes_that_contain_a_line(lookup: SnapshotLookup) -> None:
    assert list(lookup.find_notes_with_line("The end comes late.")) == ["long.md"]


def test_words_that_are_in_all_notes_are_not_searched(lookup: SnapshotLookup) -> None:
    words = lookup.select_important_words("The filler fills the devices with wiki-links, and unicorns.")
    assert [word.surface for word in words] == ["devices", "wiki", "links", "unicorns"]


class CountedLookup(SnapshotLookup):
    """A lookup that counts the characters that it analyzes and embeds; its words are counted in any case."""

    def __init__(self, lookup: SnapshotLookup) -> None:
        super().__init__(lookup._snapshot)
        self.analyzed = self.embedded = 0

    def _analyze_words(self, text: str) -> Sequence[QueryWord]:
        self.analyzed += len(text)
        return super()._analyze_words(text)

    def _embed(self, texts: Sequence[str]) -> Floats:
        self.embedded += sum(map(len, texts))
        return super()._embed(texts)


def work_of_check(answer: str, lookup: SnapshotLookup) -> tuple[int, int, int, int]:
    """Return the work of a check: words counted, characters analyzed, embedded and compared."""
    counted = CountedLookup(lookup)
    pack = PackFile((PackSource(1, "sync.md", "Sync", 3, 3, NOTES["sync.md"].split("\n")[2]),))
    checking = AnswerChecker(pack, counted)
    parsed = parse_answer(answer)
    for quotation in parsed.quotations:
        checking.check_quotation(quotation)
    for each in parsed.sentences:
        checking.check_sentence(each)
    return len(counted._counts), counted.analyzed, counted.embedded, checking.compared


@pytest.mark.parametrize(
    "part",
    ["> a\n", "(a) ", "gadgets and Unicorns [1]. ", "a-b c_d ", '"two gadgets change" [1] ', "“", "`a` ", "[1] 1,500 "],
)
def test_the_work_of_a_check_grows_no_faster_than_the_answer(lookup: SnapshotLookup, part: str) -> None:
    once, thrice = (work_of_check(part * count, lookup) for count in (200, 600))
    assert all(after <= 3 * before + 1_000 for before, after in zip(once, thrice, strict=True))
    assert once[0] == thrice[0]


def test_only_the_first_words_of_a_long_quotation_are_searched(lookup: SnapshotLookup) -> None:
    counted = CountedLookup(lookup)
    assert list(counted.find_lines_with(NOTES["long.md"][8:]))
    looked_up = counted.analyzed - len(NOTES["long.md"][8:])
    assert looked_up < 20 * MAX_PHRASE_WORDS * len("alpha100 ")


def test_quotations_beyond_a_limit_of_compared_characters_are_unchecked(
    lookup: SnapshotLookup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checker, "MAX_COMPARED", 600_000)
    answer = " ".join(f'It says "unicorn number {number} of the moon".' for number in range(9))
    found = check_answer(parse_answer(answer), PackFile((PackSource(1, "sync.md", "", 1, 1, "Nothing."),)), lookup)
    assert [each.verdict for each in found.quotations] == [Verdict.INVENTED] * 2
    assert [each.reason for each in found.unchecked] == ["the answer has too many quotations; check a part of it"] * 7
