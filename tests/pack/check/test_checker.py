"""Tests of checking an answer: citations, quotations, uncited sentences, and properties of any answer and pack."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.kinds import Strategy
from excerpt.base.model import Hit, TableHeader
from excerpt.base.settings import PackSettings
from excerpt.pack.build import build_pack
from excerpt.pack.check.answer import parse_answer
from excerpt.pack.check.checker import check_answer
from excerpt.pack.check.source_state import SourceState
from excerpt.pack.check.verdicts import AnswerCheck, CheckedCitation, CheckedQuotation, Verdict
from excerpt.pack.formats.pack_format import PackFile, PackSource
from excerpt.pack.formats.registry import read_pack
from excerpt.text.fragments import digest_of_text
from excerpt.text.tokens import open_tokenizer
from tests.pack.check.lookups import Notes
from tests.pack.vaults import Vault

SYNC = "# Sync\n\nA sync conflict arises when two devices change one note.\n\nEach device keeps its own history.\n"
SOUP = "# Soup\n\nSimmer red lentils with cumin until they are soft.\n"
OTHER = "# Other\n\nBananas tell by their colour how ripe they are.\n"
NOTES = {"Sync.md": SYNC, "Soup.md": SOUP, "Other.md": OTHER}


def source(number: int, path: str, line: int, text: str) -> PackSource:
    return PackSource(number, path, path.removesuffix(".md"), line, line + text.count("\n"), text, digest_of_text(text))


PACK = PackFile(
    (
        source(1, "Sync.md", 3, "\n".join(SYNC.split("\n")[2:5])),
        source(2, "Soup.md", 3, "Simmer red lentils with cumin until they are soft."),
    ),
    "how do conflicts arise at all?",
)


def check(answer: str, notes: Mapping[str, str] = NOTES, pack: PackFile = PACK) -> AnswerCheck:
    return check_answer(parse_answer(answer), pack, Notes(notes))


def citation(answer: str, notes: Mapping[str, str] = NOTES) -> CheckedCitation:
    (found,) = check(answer, notes).citations
    return found


def quotation(answer: str, notes: Mapping[str, str] = NOTES) -> CheckedQuotation:
    (found,) = check(answer, notes).quotations
    return found


# --- citations --------------------------------------------------------------------------------------------------------


def test_a_source_with_unchanged_lines_is_fresh() -> None:
    found = citation("So it is [1].")
    assert found.state is SourceState.STANDS
    assert found.comparison is not None
    assert (found.comparison.path, found.comparison.line_start, found.comparison.line_end) == ("Sync.md", 3, 5)


def test_a_citation_of_a_number_that_the_pack_lacks_is_unknown() -> None:
    assert citation("So it is [3].").state is SourceState.UNKNOWN
    assert not check("So it is [3].").holds


def test_an_invalid_number_is_listed_once_with_its_count() -> None:
    found = check("So [1]. So [1-3].\n\nSo [3][1].")
    assert [(each.number, each.citation.line, each.times) for each in found.citations] == [
        (1, 1, 1),
        (1, 1, 1),
        (2, 1, 1),
        (3, 1, 2),
        (1, 3, 1),
    ]
    assert found.cited == {1: 3, 2: 1, 3: 2}


def test_a_text_on_other_lines_of_its_note_has_moved() -> None:
    found = citation("So it is [1].", {**NOTES, "Sync.md": f"New.\n\nMore.\n\n{SYNC}"})
    assert found.state is SourceState.MOVED
    assert found.comparison is not None
    assert (found.comparison.path, found.comparison.line_start) == ("Sync.md", 7)
    assert found.holds


def test_a_text_in_another_note_has_moved_there() -> None:
    notes = {"Archive/Old.md": f"# Old\n\n{SYNC}", "Soup.md": SOUP}
    found = citation("So it is [1].", notes)
    assert found.state is SourceState.MOVED
    assert found.comparison is not None
    assert (found.comparison.path, found.comparison.line_start) == ("Archive/Old.md", 5)


def test_a_source_cut_within_a_line_is_fresh_only_if_the_cut_is_where_the_pack_made_it() -> None:
    cut = PackSource(1, "Sync.md", "Sync", 3, 3, "arises when two devices", "", cut_above=True, cut_below=True)
    for part, state in (
        (cut, SourceState.STANDS),
        (replace(cut, line_start=9), SourceState.MOVED),
        (replace(cut, path="Gone.md"), SourceState.MOVED),
        (replace(cut, text="arises when ten devices"), SourceState.CHANGED),
        (replace(cut, cut_above=False, cut_below=False), SourceState.CHANGED),
    ):
        (found,) = check("So it is [1].", pack=PackFile((part,))).citations
        assert found.state is state


def test_a_changed_source_is_given_with_its_present_text() -> None:
    edited = "New.\n\n" + SYNC.replace("two devices", "three devices")
    found = citation("So it is [1].", {**NOTES, "Sync.md": edited})
    assert found.state is SourceState.CHANGED
    assert not found.holds
    assert found.comparison is not None
    assert (found.comparison.line_start, found.comparison.line_end) == (5, 7)
    assert found.comparison.text.startswith("A sync conflict arises when three devices")


def test_a_source_with_no_remaining_text_is_shown_by_its_line_numbers() -> None:
    found = citation("So it is [1].", {**NOTES, "Sync.md": "All\nnew\nhere\nand\nnow\nlonger"})
    assert found.comparison is not None
    assert (found.comparison.state, found.comparison.text) == (SourceState.CHANGED, "here\nand\nnow")


def test_a_source_into_which_text_was_inserted_is_shown_whole() -> None:
    grown = SYNC.replace("note.\n\nEach", "note.\n\nOr three.\n\nOr four.\n\nEach")
    found = citation("So it is [1].", {**NOTES, "Sync.md": grown})
    assert found.comparison is not None
    assert found.comparison.text.split("\n\n")[1:3] == ["Or three.", "Or four."]
    assert found.comparison.text.endswith("own history.")


def test_a_deleted_note_is_gone() -> None:
    assert citation("So it is [1].", {"Soup.md": SOUP}).state is SourceState.GONE


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.md", "C:\\secret.md", "Sync.md/../../x", "\x00", ""])
def test_a_source_whose_path_leads_out_of_the_vault_is_ignored(path: str) -> None:
    pack = PackFile((source(1, path, 1, "Nothing of the kind."),))
    (found,) = check("So it is [1].", pack=pack).citations
    assert found.state is SourceState.GONE


# --- quotations -------------------------------------------------------------------------------------------------------


def test_a_quotation_found_in_the_cited_source_is_true_and_has_its_line() -> None:
    found = quotation('It says "Each device keeps its own history" [1].')
    assert (found.verdict, found.differences, found.similarity) == (Verdict.TRUE, (), 1.0)
    assert found.place is not None
    assert (found.place.source, found.place.path, found.place.line_start) == (1, "Sync.md", 5)
    assert found.now is not None
    assert (found.now.path, found.now.line_start) == ("Sync.md", 5)


def test_a_quotation_without_a_citation_is_true_wherever_it_is_found() -> None:
    assert quotation('It says "red lentils with cumin".').verdict is Verdict.TRUE
    in_vault = quotation('It says "tell by their colour".')
    assert in_vault.verdict is Verdict.TRUE
    assert in_vault.place is not None
    assert (in_vault.place.source, in_vault.place.path, in_vault.place.line_start) == (None, "Other.md", 3)


def test_a_quotation_found_in_another_source_or_note_is_misattributed() -> None:
    other_source = quotation('It says "red lentils with cumin" [1].')
    other_note = quotation('It says "tell by their colour" [1].')
    no_source = quotation('It says "red lentils with cumin" [7].')
    assert {found.verdict for found in (other_source, other_note, no_source)} == {Verdict.MISATTRIBUTED}
    assert [found.place and found.place.source for found in (other_source, other_note, no_source)] == [2, None, 2]


def test_a_quotation_missing_from_its_changed_source_is_changed() -> None:
    notes = {**NOTES, "Sync.md": SYNC.replace("two devices", "three devices")}
    assert quotation('"two devices change one note" [1]', notes).verdict is Verdict.CHANGED
    still = quotation('"Each device keeps its own history" [1]', {**notes, "Sync.md": f"New.\n{notes['Sync.md']}"})
    assert still.verdict is Verdict.TRUE
    assert still.now is not None
    assert still.now.line_start == 6


def test_a_quotation_that_moved_with_its_source_is_true_at_its_new_lines() -> None:
    found = quotation('"Each device keeps its own history" [1]', {"New.md": f"\n\n{SYNC}"})
    assert found.verdict is Verdict.TRUE
    assert found.now is not None
    assert (found.now.path, found.now.line_start) == ("New.md", 7)


def test_a_similar_quotation_is_altered_and_has_the_true_text() -> None:
    found = quotation('"A sync conflict arises when three devices change one note" [1]')
    assert found.verdict is Verdict.ALTERED
    assert found.place is not None
    assert found.place.passage == "A sync conflict arises when two devices change one note"
    assert 0.9 < found.similarity < 1


def test_a_quotation_found_nowhere_is_invented() -> None:
    found = quotation('"Conflicts are settled by the moon on Tuesdays" [1]')
    assert found.verdict is Verdict.INVENTED
    assert not check('"Conflicts are settled by the moon on Tuesdays" [1]').holds


def test_quoted_text_of_one_or_two_words_is_checked_only_if_it_is_introduced_as_a_quotation() -> None:
    assert quotation('This "moon" is meant [1].').verdict is Verdict.SHORT
    assert quotation('This "blue moon" is meant.').verdict is Verdict.SHORT
    assert quotation('It says "blue moon" [1].').verdict is Verdict.INVENTED
    assert quotation('It says "blue moon rising".').verdict is Verdict.INVENTED
    assert check('This "moon" is meant [1].').holds


def test_an_ellipsis_that_reverses_the_meaning_is_altered_and_names_the_omitted_words() -> None:
    notes = {"Sync.md": "You must not delete the key."}
    pack = PackFile((source(1, "Sync.md", 1, notes["Sync.md"]),))
    (found,) = check("“You must […] delete the key.” [1]", notes, pack).quotations
    assert (found.verdict, found.turned_by, found.holds) == (Verdict.ALTERED, ("not",), False)
    assert found.place is not None
    assert found.place.passage == "You must not delete the key."


def test_an_ellipsis_is_true_if_another_note_has_the_text_without_the_negation() -> None:
    notes = {"Sync.md": "You must not delete the key.", "Other.md": "You must now delete the key."}
    pack = PackFile((source(1, "Sync.md", 1, notes["Sync.md"]),))
    assert check("“You must […] delete the key.”", notes, pack).quotations[0].verdict is Verdict.TRUE
    cited = check("“You must […] delete the key.” [1]", notes, pack).quotations[0]
    assert cited.verdict is Verdict.MISATTRIBUTED


def test_a_question_that_the_answer_repeats_is_not_checked_as_a_quotation() -> None:
    assert quotation('You asked "how do conflicts arise at all".').verdict is Verdict.TRUE
    assert quotation('It says "how do conflicts arise at all" [1].').verdict is not Verdict.TRUE


def test_titles_and_paths_of_a_source_may_be_quoted() -> None:
    assert quotation('See "Soup.md" [2].').verdict is Verdict.TRUE


def test_the_header_above_rows_of_a_table_may_be_quoted() -> None:
    table = "| Article | Price in whole euro |\n|---|---|\n| nails | 4 |\n| screws | 7 |"
    header = TableHeader(1, 2, "| Article | Price in whole euro |\n|---|---|")
    rows = replace(source(1, "Stock.md", 4, "| screws | 7 |"), table_header=header)
    answer = 'The "Price in whole euro" is 7 [1].'
    (found,) = check(answer, {"Stock.md": table}, PackFile((rows,))).quotations
    assert (found.verdict, found.place and found.place.line_start) == (Verdict.TRUE, 1)
    (changed,) = check(answer, {"Stock.md": table.replace("whole", "old")}, PackFile((rows,))).quotations
    assert changed.verdict is Verdict.CHANGED
    (sentence,) = check("The Article screws is 7 euro [1].", {"Stock.md": table}, PackFile((rows,))).sentences
    assert sentence.holds


def test_bracketed_numbers_of_the_note_itself_are_not_citations() -> None:
    text = "It was shown [7] that they meet."
    pack = PackFile((source(1, "Sync.md", 1, text),))
    found = check(f'It says "{text}" [1].', {"Sync.md": text}, pack)
    assert [each.number for each in found.citations] == [1]
    assert found.holds


# --- sentences --------------------------------------------------------------------------------------------------------


def test_words_of_a_sentence_that_its_source_lacks_are_named() -> None:
    (found,) = check("Devices change notes on Mondays, says Sync.md [1].").sentences
    assert found.words == ("Devices", "change", "notes", "Mondays", "says", "Sync", "md")
    assert found.missing == ("Mondays", "says")
    assert found.found == 5


def test_a_sentence_that_shares_no_word_with_its_source_is_not_found() -> None:
    found = check(
        "The backend is Django and MongoDB [1].\n\nTwo devices change a note [1]. Quantum unicorns prevail [1]."
    )
    assert [each.holds for each in found.sentences] == [False, True, False]
    assert [each.sentence.text for each in found.not_found] == [
        "The backend is Django and MongoDB.",
        "Quantum unicorns prevail.",
    ]
    first = found.not_found[0]
    assert (first.missing, first.found) == (("Django", "MongoDB", "backend"), 0)
    assert not found.holds
    assert found.describe_not_found() == "2 of 3 sentences: words not found in the sources they cite"
    assert found.to_dict()["not_found"] == 2


def test_a_missing_word_inside_a_longer_name_is_named() -> None:
    (found,) = check("Unicorns prevail, say Quantum and the QuantumComputer [1].").sentences
    assert {"QuantumComputer", "Quantum"} <= set(found.missing)


def test_a_sentence_with_all_its_words_or_few_content_words_passes() -> None:
    found = check("A sync conflict arises when devices change one note [1]. So it is [1].")
    assert (found.not_found, found.holds, found.describe_not_found()) == ((), True, "")


SERVER = "The server Atlas in Berlin keeps 1,500 notes and 12 VS Code windows for two years; run `Get-ChildItem` there."


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("For 2 years the server in Berlin keeps 1500 notes", ()),
        ("For two years the server keeps 1.500 notes and twelve VSCode windows", ()),
        ("Atlas's notes are kept by the server in Berlin", ()),
        ("The server in Berlin runs get-childitem", ()),
        ("The server in Madrid keeps 1,500 notes and 12 windows for two years", ("Madrid",)),
        ("The server in Berlin keeps 1,600 notes and 12 windows for two years", ("1,600",)),
        ("The server in Berlin keeps 1.5 notes and 120 windows for two years", ("120",)),
        ("For two years run `Get-Item` on the server Atlas in Berlin", ("Get-Item",)),
    ],
)
def test_a_single_missing_name_or_number_is_not_found(sentence: str, missing: tuple[str, ...]) -> None:
    pack = PackFile((source(1, "Server.md", 1, SERVER),))
    (found,) = check(f"{sentence} [1].", {"Server.md": SERVER}, pack).sentences
    assert (found.holds, found.missing[: len(missing)]) == (not missing, missing)


def test_a_name_may_be_in_any_source_that_the_sentence_cites() -> None:
    assert check("Devices change a note, and so does Cumin with Lentils [1, 2].").holds
    assert not check("Devices change a note, and so does Cumin with Lentils [1].").holds


def test_a_sentence_in_another_language_is_compared_by_names_only() -> None:
    notes = {"Sync.md": "A sync conflict arises when two devices of Acme change the same note before they can meet."}
    pack = PackFile((source(1, "Sync.md", 1, notes["Sync.md"]),))
    assert check("Ein Konflikt entsteht, wenn die Geräte von Acme sich nicht treffen [1].", notes, pack).holds
    assert not check("Ein Konflikt entsteht, wenn die Geräte von AcmeCloud sich nicht treffen [1].", notes, pack).holds


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ('The "backend" is Django', ("Django",)),
        ('By "devices" Kafka and Oracle are meant', ("Kafka", "Oracle", "meant")),
        ('A conflict arises "when two devices change one note", in 2019', ("2019",)),
        (
            'A "conflict" means bananas, lentils, cumin, unicorns and rainbows',
            ("means", "bananas", "lentils", "cumin", "unicorns", "rainbows"),
        ),
    ],
)
def test_the_words_beside_a_quotation_are_compared_with_the_source(sentence: str, missing: tuple[str, ...]) -> None:
    (found,) = check(f"{sentence} [1].").not_found
    assert found.missing == missing


@pytest.mark.parametrize(
    "sentence",
    ['By "Django" devices are meant', 'The documentation recommends it with the words "two devices change one note"'],
)
def test_quoted_words_and_their_introduction_are_not_missing(sentence: str) -> None:
    assert check(f"{sentence} [1].").holds


def test_a_sentence_with_only_invalid_citations_is_not_compared() -> None:
    assert check('It says "red lentils with cumin" [2]. So it is [9].').sentences == ()


def test_sentences_without_a_citation_are_counted() -> None:
    found = check("# A title of four\n\nThis cites nothing at all. This does [1]. Yes.")
    assert [each.text for each in found.uncited] == ["This cites nothing at all."]


def test_an_answer_without_claims_passes() -> None:
    assert check("").holds


_WORD = st.sampled_from(
    ["sync", "Note", "naïve", "Straße", "**bold**", "`code`", "[[a|b]]", "1.5", "x", "(so)", "it's"]
)
_SENTENCE = st.lists(_WORD, min_size=3, max_size=12).map(" ".join).map("{}.".format)
_PARAGRAPHS = st.lists(_SENTENCE, min_size=1, max_size=5)
_NOTES = st.fixed_dictionaries({path: _PARAGRAPHS.map("\n\n".join) for path in ("a.md", "b/c.md", "d.md")})


def pack_of(notes: dict[str, str]) -> PackFile:
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


@st.composite
def draw_cut_quotation(draw: st.DrawFn) -> tuple[dict[str, str], PackFile, int, list[str]]:
    """Draw a vault, its pack, a source number and three or more consecutive words of a line of that source."""
    notes = draw(_NOTES)
    notes = {path: f"{text}\n\nOnly in {path}." for path, text in notes.items()}  # no two notes alike
    pack = pack_of(notes)
    source = draw(st.sampled_from(pack.sources))
    words = draw(st.sampled_from([line for line in source.text.split("\n") if len(line.split()) > 2])).split()
    first = draw(st.integers(0, len(words) - 3))
    return notes, pack, source.number, words[first : draw(st.integers(first + 3, len(words)))]


_QUOTED = st.sampled_from(['It says "{}" [{}].', "It says “{}” [{}].", "« {} » [{}]", "> {}\n\n[{}]", "[{1}]: „{0}“"])


@given(draw_cut_quotation(), _QUOTED)
def test_quoted_words_at_a_cut_of_the_pack_are_true(
    cut: tuple[dict[str, str], PackFile, int, list[str]], quoted: str
) -> None:
    notes, pack, number, words = cut
    found = check(quoted.format(" ".join(words), number), notes, pack)
    assert [each.verdict for each in found.quotations] == [Verdict.TRUE]
    assert found.holds


@given(draw_cut_quotation(), _QUOTED, st.data(), st.sampled_from(["zebra", "ZEBRA,", "syncs", "2.5", "斑马"]))
def test_a_quotation_with_a_word_that_the_vault_lacks_is_not_true(
    cut: tuple[dict[str, str], PackFile, int, list[str]], quoted: str, data: st.DataObject, other: str
) -> None:
    notes, pack, number, words = cut
    words[data.draw(st.integers(0, len(words) - 1))] = other
    found = check(quoted.format(" ".join(words), number), notes, pack)
    assert all(each.verdict in (Verdict.ALTERED, Verdict.INVENTED) for each in found.quotations)
    assert len(found.quotations) == 1
    assert not found.holds


@pytest.mark.programs
@given(draw_cut_quotation(), st.data())
def test_an_edited_source_is_reported_for_each_of_its_citations(
    cut: tuple[dict[str, str], PackFile, int, list[str]], data: st.DataObject
) -> None:
    notes, pack, number, _ = cut
    source = pack.find_source(number)
    assert source is not None
    assert check(f"So it is [{number}].", notes, pack).holds
    lines = notes[source.path].split("\n")
    lines[data.draw(st.integers(source.line_start, source.line_end)) - 1] += " zebra"
    assert not check(f"So it is [{number}].", {**notes, source.path: "\n".join(lines)}, pack).holds


_PIECES = st.lists(
    st.sampled_from(["[1] ", "[9]", '"', "“", "”", "> ", "\n", "…", "sync ", "Note ", "`", "[^1]", "1.5 ", "zebra. "]),
    max_size=30,
).map("".join)


@given(_NOTES, st.one_of(_PIECES, st.text()))
def test_every_answer_can_be_checked_and_gives_the_same_result_twice(notes: dict[str, str], answer: str) -> None:
    pack = pack_of(notes)
    found = check(answer, notes, pack)
    assert found == check(answer, notes, pack)
    for each in found.quotations:
        assert 0 <= each.similarity <= 1
        if each.verdict is Verdict.TRUE and each.place:
            assert re.sub(r"\W", "", each.place.passage)


def test_only_paths_in_the_pack_are_read() -> None:
    notes = {"a.md": "One two three four."}
    lookup = Notes(notes)
    check_answer(parse_answer("See /etc/passwd and [x](../../y) [1]."), pack_of(notes), lookup)
    assert set(lookup.asked) == {"a.md"}
