"""Tests of packs, of cached packs, and of a search for several queries at once."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import unescape

import pytest

from excerpt.base.kinds import Confidence, Fill, Format, Scope, StopReason, Strategy
from excerpt.base.model import TOO_LARGE, Hit, HitRerank, PackResult, QuestionWord, Span, TableHeader
from excerpt.base.settings import PackSettings
from excerpt.pack.build import MARK_SCORE, UNSCORED_HITS, UNSURE_REASON, UNSURE_SHARE, PackCache, build_pack
from excerpt.pack.coverage import RIVAL_SHARE, SECOND_SHARE
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.pack_format import Renderer
from excerpt.pack.formats.plain_format import PlainRenderer
from excerpt.pack.formats.registry import read_pack
from excerpt.pack.formats.xml_format import XmlRenderer
from excerpt.pack.selection import NO_OVERRIDES, PackOverrides
from excerpt.pack.source import NoteSource
from excerpt.text.fragments import note_id
from excerpt.text.tokens import open_tokenizer
from tests.pack.vaults import Vault, long_table, sentence

PLENTY = 1_000_000

GUIDE = f"""---
title: Guide
---
{sentence("open", 200)}

# Sync

{sentence("sync", 200)}

## Conflicts

{sentence("conflict", 200)}

{sentence("merge", 200)}

# Export

{sentence("export", 200)}
"""
PLAIN = "\n\n".join(sentence(word, 200) for word in ("alpha", "beta", "gamma", "delta"))


@pytest.fixture
def vault() -> Vault:
    return Vault({"guide.md": GUIDE, "plain.md": PLAIN})


def packed(
    vault: Vault,
    *hits: Hit,
    marked: tuple[str, ...] = (),
    overrides: PackOverrides = NO_OVERRIDES,
    ranked: bool = True,
    confidence: Confidence | None = None,
    asked: Sequence[QuestionWord] = (),
    **options: object,
) -> PackResult:
    settings = replace(PackSettings(budget=PLENTY), **options)  # type: ignore[arg-type]  # fields by name
    return build_pack(
        vault,
        hits,
        query="q",
        strategy=Strategy.AUTO,
        settings=settings,
        tokenizer=open_tokenizer("o200k"),
        marked=marked,
        overrides=overrides,
        ranked=ranked,
        confidence=confidence,
        words=asked,
    )


def words(result: PackResult) -> list[list[str]]:
    """Return the kinds of words in each pack."""
    kinds = ("open", "sync", "conflict", "merge", "export", "alpha", "beta", "gamma", "delta")
    return [[kind for kind in kinds if f"{kind}0 " in pack.text] for pack in result.passages]


# --- scope ------------------------------------------------------------------------------------------------------------


def test_one_neighbour_on_each_side_is_added_across_section_boundaries(vault: Vault) -> None:
    result = packed(vault, vault.hit("conflict0"), scope=Scope.NEIGHBORS, neighbors=1)
    assert words(result) == [["sync", "conflict", "merge"]]
    (pack,) = result.passages
    assert pack.id == f"{note_id('guide.md')}:o:1-3"
    assert "\n## Conflicts\n" in pack.text
    assert pack.entry.fragment_id == vault.holding("conflict0").id
    assert pack.entry.order == 2
    assert pack.heading_path == ("Sync", "Conflicts")


def test_with_the_scope_section_a_hit_gets_its_section_with_heading_and_subsections(vault: Vault) -> None:
    (pack,) = packed(vault, vault.hit("sync0"), scope=Scope.SECTION).passages
    assert pack.text.startswith("# Sync\n")
    assert pack.text.endswith("merge199.")
    assert pack.id == f"{note_id('guide.md')}:s:1"
    assert pack.scope is Scope.SECTION


def test_with_the_scope_section_a_hit_gets_its_innermost_section(vault: Vault) -> None:
    (pack,) = packed(vault, vault.hit("merge0"), scope=Scope.SECTION).passages
    assert pack.text.startswith("## Conflicts\n")
    assert pack.id == f"{note_id('guide.md')}:s:2"
    assert pack.heading_path == ("Sync", "Conflicts")


def test_the_opening_section_ends_before_the_first_heading(vault: Vault) -> None:
    result = packed(vault, vault.hit("open0"), scope=Scope.SECTION)
    assert words(result) == [["open"]]
    assert result.passages[0].id == f"{note_id('guide.md')}:s:0"


def test_a_section_of_one_table_in_several_fragments_is_packed_whole() -> None:
    vault = Vault({"prices.md": "# Prices\n\n" + long_table("nail", 90)})
    (pack,) = packed(vault, vault.hit("nail0"), scope=Scope.SECTION).passages
    assert len(vault.fragments) > 1
    assert (pack.line_start, pack.line_end, pack.cut_below) == (1, 94, False)


def test_with_the_scope_section_a_hit_in_a_note_without_headings_gets_its_neighbours(vault: Vault) -> None:
    result = packed(vault, vault.hit("beta0"), scope=Scope.SECTION, neighbors=1)
    assert words(result) == [["alpha", "beta", "gamma"]]
    assert result.passages[0].scope is Scope.NEIGHBORS


def test_a_note_of_headings_only_has_no_section_and_is_added_unchanged() -> None:
    vault = Vault({"a.md": "# One\n\n# Two"})
    (pack,) = packed(vault, vault.hit("Two"), scope=Scope.SECTION).passages
    assert (pack.text, pack.scope) == ("# One\n\n# Two", Scope.NEIGHBORS)


def test_with_the_scope_note_a_hit_gets_its_whole_note(vault: Vault) -> None:
    (pack,) = packed(vault, vault.hit("merge0"), scope=Scope.NOTE).passages
    assert words(packed(vault, vault.hit("merge0"), scope=Scope.NOTE)) == [
        ["open", "sync", "conflict", "merge", "export"]
    ]
    assert pack.id == f"{note_id('guide.md')}:o:0-4"
    assert pack.heading_path == ()


def test_empty_notes_are_packed_by_their_names_and_are_no_copies_of_each_other() -> None:
    vault = Vault({"Ada.md": "", "山田.md": "\n\n", "Straße.md": "---\n---\n"}, "o200k")
    for scope in Scope:
        result = packed(vault, *(Hit(fragment, 1.0) for fragment in vault.fragments), scope=scope)
        assert [(pack.title, pack.text.strip("-\n")) for pack in result.passages] == [
            ("Ada", ""),
            ("Straße", ""),
            ("山田", ""),
        ]
        assert [source.path for source in read_pack(result.text).sources] == ["Ada.md", "Straße.md", "山田.md"]
        assert not result.left_out


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def stock() -> Vault:
    return Vault({"stock.md": f"# Stock\n\nIntro.\n\n{long_table('nail', 300)}\n"}, "o200k")


@pytest.mark.parametrize("scope", [Scope.NONE, Scope.NEIGHBORS])
def test_rows_from_the_middle_of_a_table_have_its_header_with_its_lines(stock: Vault, scope: Scope) -> None:
    result = packed(stock, stock.hit("| nail150 |"), scope=scope)
    (pack,) = result.passages
    assert pack.table_header == TableHeader(5, 6, "| Article | Price |\n|---|---|")
    assert pack.line_start > 7
    assert "| Article | Price |\n|---|---|\n[…]\n| nail" in result.text
    assert result.costs == (result.tokens,)


@pytest.mark.parametrize("scope", [Scope.SECTION, Scope.NOTE])
def test_a_part_of_a_section_or_note_has_the_header_of_its_table(stock: Vault, scope: Scope) -> None:
    (whole,) = packed(stock, stock.hit("| nail150 |"), scope=scope).passages
    assert whole.table_header is None
    part = packed(stock, stock.hit("| nail150 |"), scope=scope, budget=1500)
    assert part.tokens <= 1500
    assert "| Article | Price |\n|---|---|\n[…]\n| nail" in part.text


def test_table_rows_directly_below_the_header_have_no_mark_of_omitted_rows(stock: Vault) -> None:
    header = "| Article | Price |\n|---|---|\n"
    marked = next(each for each in stock.fragments if "| nail0 |" in each.text)
    first_row = replace(marked, line_start=7, text=marked.text.partition(header)[2])
    assert TableHeader(5, 6, header[:-1]).render_above(first_row.line_start) == header


def test_a_table_row_is_packed_without_the_header_if_the_budget_has_no_space_for_it(stock: Vault) -> None:
    texts = [packed(stock, stock.hit("| nail150 |"), scope=Scope.NONE, budget=budget).text for budget in range(40, 400)]
    rows = [text for text in texts if "| nail150 | 1050 euro |" in text]
    alone = [text for text in rows if "| Article |" not in text]
    assert rows
    assert rows[: len(alone)] == alone
    assert all(text.count("| nail") == 1 for text in alone)


def test_the_rule_of_a_table_is_never_packed_without_its_header() -> None:
    vault = Vault({"stock.md": long_table("nail", 60, f"| {'wide ' * 40}| Price |")}, "o200k")
    hit = vault.hit("| nail2 |")
    texts = [packed(vault, hit, scope=Scope.NONE, budget=budget).text for budget in range(20, 400, 5)]
    assert any("|---|---|" in text for text in texts)
    assert [text for text in texts if "|---|---|" in text and "| wide wide" not in text] == []


def test_a_header_that_is_longer_than_most_passages_is_not_packed() -> None:
    vault = Vault({"wide.md": long_table("nail", 200, f"| {'very wide ' * 300}| Price |")}, "o200k")
    (pack,) = packed(vault, vault.hit("| nail150 |"), scope=Scope.NONE).passages
    assert pack.table_header is None


# --- merging ----------------------------------------------------------------------------------------------------------


def test_merged_hits_have_the_heading_of_the_first_in_the_note(vault: Vault) -> None:
    best, earlier = vault.hit("merge0", 2.0), vault.hit("sync0", 1.0)
    (pack,) = packed(vault, best, earlier, scope=Scope.NEIGHBORS, neighbors=1).passages
    assert pack.heading_path == ("Sync",)
    assert pack.entry.heading_path == ("Sync", "Conflicts")


def test_overlapping_hits_become_one_passage_with_the_best_score(vault: Vault) -> None:
    result = packed(vault, vault.hit("merge0", 0.9), vault.hit("sync0", 0.5), scope=Scope.NEIGHBORS, neighbors=1)
    assert words(result) == [["open", "sync", "conflict", "merge", "export"]]
    assert result.passages[0].entry.score == 0.9


def test_adjacent_hits_become_one_pack(vault: Vault) -> None:
    result = packed(vault, vault.hit("gamma0", 0.9), vault.hit("beta0", 0.5), scope=Scope.NONE)
    assert words(result) == [["beta", "gamma"]]
    assert result.passages[0].id == f"{note_id('plain.md')}:o:1-2"


def test_a_packed_section_includes_a_hit_of_its_subsection_and_keeps_its_id(vault: Vault) -> None:
    result = packed(vault, vault.hit("merge0", 0.9), vault.hit("sync0", 0.5), scope=Scope.SECTION)
    assert [pack.id for pack in result.passages] == [f"{note_id('guide.md')}:s:1"]


def test_two_adjacent_sections_become_one_range_of_fragments(vault: Vault) -> None:
    result = packed(vault, vault.hit("sync0", 0.9), vault.hit("export0", 0.5), scope=Scope.SECTION)
    assert [pack.id for pack in result.passages] == [f"{note_id('guide.md')}:o:1-4"]


def test_a_copy_is_omitted_and_replaced_by_the_next_hit() -> None:
    text = sentence("same", 100)
    vault = Vault({"a.md": text, "b.md": f"# Copy\n\n{text}", "c.md": sentence("other", 100)})
    first, copy = (vault.fragments_by_path[path][0] for path in ("a.md", "b.md"))
    result = packed(vault, Hit(first, 0.9), Hit(copy, 0.8), vault.hit("other0", 0.7), scope=Scope.NONE)
    assert [pack.path for pack in result.passages] == ["a.md", "c.md"]
    assert [(left.path, left.reason) for left in result.left_out] == [("b.md", "same text as a.md:1")]


def test_a_hit_is_kept_and_a_neighbour_with_the_same_text_is_not_added() -> None:
    shared = sentence("same", 200)
    vault = Vault({"a.md": f"{sentence('first', 200)}\n\n{shared}", "b.md": f"{shared}\n\n{sentence('last', 200)}"})
    hits = vault.hit("first0", 0.9), Hit(vault.fragments_by_path["b.md"][0], 0.8)
    result = packed(vault, *hits, scope=Scope.NEIGHBORS, neighbors=1)
    assert [pack.text for pack in result.passages] == [sentence("first", 200), vault.note_text("b.md")]


# --- marks ------------------------------------------------------------------------------------------------------------


def test_only_marked_fragments_are_packed_in_their_order(vault: Vault) -> None:
    marks = tuple(vault.holding(word).id for word in ("delta0", "open0", "alpha0"))
    result = packed(vault, vault.hit("merge0", 0.9), vault.hit("alpha0", 0.3), scope=Scope.NONE, marked=marks)
    assert words(result) == [["delta"], ["open"], ["alpha"]]
    assert [pack.entry.score for pack in result.passages] == [MARK_SCORE] * 3


def test_all_marks_are_packed() -> None:
    vault, hits = make_unscored(UNSCORED_HITS + 2)
    marks = tuple(hit.fragment.id for hit in hits)
    assert len(packed(vault, scope=Scope.NONE, marked=marks).passages) == len(hits)


def test_a_mark_missing_from_the_index_is_reported(vault: Vault) -> None:
    result = packed(vault, marked=("gone", vault.holding("open0").id), scope=Scope.NONE)
    assert words(result) == [["open"]]
    assert [(left.path, left.reason) for left in result.left_out] == [("gone", "no longer in the index")]


def test_a_fragment_marked_or_found_twice_is_packed_once(vault: Vault) -> None:
    hit = vault.hit("open0")
    for result in (
        packed(vault, hit, hit, scope=Scope.NONE),
        packed(vault, marked=(hit.fragment.id,) * 2, scope=Scope.NONE),
    ):
        assert words(result) == [["open"]]
        assert result.left_out == ()


def make_unscored(count: int) -> tuple[Vault, list[Hit]]:
    """Return a vault of `count` notes with one fragment each, and these as hits of a filter."""
    vault = Vault({f"{number}.md": sentence(f"w{number}x", 40) for number in range(count)})
    return vault, [Hit(vault.fragments_by_path[f"{number}.md"][0], 1.0) for number in range(count)]


def test_of_hits_without_a_score_the_first_are_packed_unless_the_budget_is_to_be_filled() -> None:
    vault, hits = make_unscored(UNSCORED_HITS + 2)
    first, filled = (packed(vault, *hits, scope=Scope.NONE, fill=fill) for fill in (Fill.ENOUGH, Fill.BUDGET))
    assert [pack.path for pack in first.passages] == [hit.fragment.path for hit in hits[:UNSCORED_HITS]]
    assert first.stopped is StopReason.LIMIT
    assert [pack.path for pack in filled.passages] == [hit.fragment.path for hit in hits]
    assert filled.stopped is StopReason.END


def test_a_pack_has_the_hits_of_a_long_note_that_the_list_holds_back() -> None:
    names = [f"name{letter}" for letter in "abcdef"]
    notes = {"long.md": "".join(f"# Part {name}\n\n{sentence(name, 120)}\n\n" for name in names)}
    vault = Vault({**notes, **{f"{number}.md": sentence(f"w{number}x", 40) for number in range(12)}})
    of_note = [with_confidence(vault.hit(f"{name}0"), Confidence.LIKELY) for name in names]
    others = [replace(vault.hit(f"w{number}x0", 0.1), confidence=Confidence.NOTHING) for number in range(12)]
    held_back = [replace(hit, more_of_note=True) for hit in of_note[3:]]
    asked = [QuestionWord(f"{name}0", 1.0, frozenset({f"{name}0"}), is_found=True) for name in names]
    result = packed(vault, *of_note[:3], *others, *held_back, asked=asked, scope=Scope.NONE)
    assert [pack.path for pack in result.passages] == ["long.md"]
    assert all(f"{name}0" in result.text for name in names)


def test_no_other_hit_is_packed_in_place_of_a_dropped_one() -> None:
    vault, hits = make_unscored(UNSCORED_HITS + 1)
    dropped = NO_OVERRIDES.with_dropped([hits[1].fragment.id])
    result = packed(vault, *hits, scope=Scope.NONE, overrides=dropped)
    assert [pack.path for pack in result.passages] == [hit.fragment.path for hit in (hits[0], *hits[2:UNSCORED_HITS])]
    assert [(left.path, left.reason) for left in result.left_out] == [("1.md", "dropped by hand")]


def test_a_pack_whose_only_passage_is_dropped_is_empty(vault: Vault) -> None:
    scores = {"alpha0": 1.0, "gamma0": SECOND_SHARE - 0.01, "open0": SECOND_SHARE - 0.02}
    hits = [with_confidence(vault.hit(word, score), Confidence.LIKELY) for word, score in scores.items()]
    assert words(packed(vault, *hits, scope=Scope.NONE)) == [["alpha"]]
    result = packed(vault, *hits, scope=Scope.NONE, overrides=NO_OVERRIDES.with_dropped([hits[0].fragment.id]))
    assert result.passages == ()
    assert result.stopped is StopReason.ENOUGH


def test_a_pack_that_fills_the_budget_has_other_hits_in_the_room_of_a_dropped_one() -> None:
    vault, hits = make_unscored(3)
    budget = packed(vault, *hits[:2], scope=Scope.NONE).tokens
    dropped = NO_OVERRIDES.with_dropped([hits[0].fragment.id])
    result = packed(vault, *hits, scope=Scope.NONE, budget=budget, fill=Fill.BUDGET, overrides=dropped)
    assert [pack.path for pack in result.passages] == [hit.fragment.path for hit in hits[1:]]


def test_no_neighbour_beyond_a_dropped_fragment_is_added(vault: Vault) -> None:
    dropped = NO_OVERRIDES.with_dropped([vault.holding("beta0").id])
    result = packed(vault, vault.hit("gamma0"), scope=Scope.NEIGHBORS, neighbors=2, overrides=dropped)
    assert words(result) == [["gamma", "delta"]]


def test_one_passage_of_a_pack_can_have_its_own_scope(vault: Vault) -> None:
    hits = vault.hit("merge0", 0.9), vault.hit("beta0", 0.8)
    alone = packed(vault, *hits, scope=Scope.NONE)
    grown = NO_OVERRIDES.with_scope(alone.passages[0].fragment_ids, Scope.SECTION)
    result = packed(vault, *hits, scope=Scope.NONE, overrides=grown)
    assert words(result) == [["conflict", "merge"], ["beta"]]
    assert [pack.scope for pack in result.passages] == [Scope.SECTION, Scope.NONE]


def test_a_manual_order_takes_precedence_over_the_ranking(vault: Vault) -> None:
    hits = vault.hit("open0", 0.9), vault.hit("alpha0", 0.8), vault.hit("gamma0", 0.7)
    order = NO_OVERRIDES.with_order([vault.holding("gamma0").id, vault.holding("alpha0").id])
    assert words(packed(vault, *hits, scope=Scope.NONE, overrides=order)) == [["gamma"], ["alpha"], ["open"]]


def test_changed_overrides_are_new_values_so_that_undo_restores_the_previous_ones() -> None:
    before = NO_OVERRIDES.with_dropped(["a"])
    after = before.with_dropped(["b"]).with_scope(["c"], Scope.NOTE).with_scope(["c"], Scope.NONE)
    assert before == PackOverrides(frozenset({"a"}))
    assert after == PackOverrides(frozenset({"a", "b"}), (("c", Scope.NONE),))


def test_without_ranking_the_same_passages_are_in_the_order_of_the_vault(vault: Vault) -> None:
    hits = vault.hit("delta0", 0.9), vault.hit("export0", 0.8), vault.hit("open0", 0.7)
    ranked = packed(vault, *hits, scope=Scope.NONE)
    result = packed(vault, *hits, scope=Scope.NONE, ranked=False)
    assert words(result) == [["open"], ["export"], ["delta"]]
    assert [pack.entry.score for pack in result.passages] == [0.0] * 3
    assert {pack.id for pack in result.passages} == {pack.id for pack in ranked.passages}


# --- a note changed since the search ----------------------------------------------------------------------------------


def test_a_hit_with_moved_lines_is_read_from_its_present_lines(vault: Vault) -> None:
    hit = vault.hit("export0")
    longer = Vault({"guide.md": GUIDE.replace("# Sync", f"# New\n\n{sentence('new', 200)}\n\n# Sync")})
    result = packed(longer, hit, scope=Scope.NONE)
    assert words(result) == [["export"]]
    assert result.passages[0].line_start > hit.fragment.line_start


@pytest.mark.parametrize("notes", [{"plain.md": PLAIN}, {"guide.md": "# Sync\n\nAll new."}, {"guide.md": ""}])
def test_a_hit_whose_text_was_deleted_is_omitted(vault: Vault, notes: dict[str, str]) -> None:
    result = packed(Vault(notes), vault.hit("export0"))
    assert result.passages == ()
    assert [(left.path, left.reason) for left in result.left_out] == [("guide.md", "no longer in the index")]


# --- budget -----------------------------------------------------------------------------------------------------------


def test_without_hits_the_pack_is_empty(vault: Vault) -> None:
    result = packed(vault)
    assert (result.passages, result.left_out, result.text, result.tokens, result.value) == ((), (), "", 0, 0)
    assert result.source_tokens == 0


@pytest.mark.parametrize("budget", [0, 1])
def test_a_budget_too_small_for_anything_gives_an_empty_pack_with_the_reason(vault: Vault, budget: int) -> None:
    result = packed(vault, vault.hit("open0"), vault.hit("alpha0", 0.5), budget=budget, scope=Scope.NONE)
    assert (result.passages, result.text, result.tokens) == ((), "", 0)
    assert [left.reason for left in result.left_out] == ["too large", "too large"]


def test_a_smaller_hit_after_one_that_does_not_fit_is_packed() -> None:
    vault = Vault({"a.md": sentence("large", 240), "b.md": sentence("vast", 240), "c.md": "small0 thing"})
    hits = vault.hit("large0", 0.9), vault.hit("vast0", 0.8), vault.hit("small0", 0.1)
    alone = packed(vault, hits[0], scope=Scope.NONE).tokens
    result = packed(vault, *hits, budget=alone + 60, scope=Scope.NONE)
    assert [pack.path for pack in result.passages] == ["a.md", "c.md"]
    assert [(left.path, left.reason) for left in result.left_out] == [("b.md", "out of budget")]


def test_an_oversized_top_hit_is_cut_to_the_blocks_around_its_match() -> None:
    vault = Vault({"a.md": "\n\n".join(sentence(word, 22) for word in ("one", "two", "three", "four", "five"))})
    (fragment,) = vault.fragments
    result = packed(vault, vault.hit("three7"), budget=150, scope=Scope.NONE)
    (pack,) = result.passages
    assert pack.line_start > fragment.line_start
    assert "three7" in pack.text
    assert pack.text.startswith(("one0", "two0", "three0"))
    assert pack.cut_above
    assert pack.cut_below
    assert result.text.count("[…]") == 2


@pytest.mark.parametrize("scope", Scope)
def test_the_first_hit_that_fits_alone_is_never_cut_for_another(scope: Scope) -> None:
    vault = Vault({"a.md": f"{sentence('one', 30)}\n\n{sentence('two', 30)}", "b.md": sentence("other", 30)})
    hits = vault.hit("one0", 0.9), vault.hit("other0", 0.8)
    alone = packed(vault, hits[0], scope=Scope.NONE).tokens
    for budget in range(alone, alone + 80, 10):
        result = packed(vault, *hits, budget=budget, scope=scope)
        assert "two29" in result.passages[0].text
        assert not result.passages[0].cut_below


def test_the_first_marked_fragment_that_fits_alone_is_never_cut_for_another() -> None:
    vault = Vault({"a.md": f"{sentence('one', 30)}\n\n{sentence('two', 30)}", "b.md": sentence("other", 30)})
    marked = (vault.holding("one0").id, vault.holding("other0").id)
    alone = packed(vault, scope=Scope.NONE, marked=marked[:1]).tokens
    result = packed(vault, budget=alone + 20, scope=Scope.NONE, marked=marked)
    assert [pack.text for pack in result.passages] == [vault.note_text("a.md")]


def test_a_weaker_hit_above_the_budget_is_packed_in_part_if_there_is_space() -> None:
    vault = Vault({"a.md": "A thing30 stands here.", "b.md": LONG, "c.md": LONG.replace("thing", "that")})
    hits = vault.hit("thing30 stands", 0.9), vault.hit("thing30 and", 0.8), vault.hit("that30", 0.7)
    result = packed(vault, *hits, budget=300, scope=Scope.NONE)
    assert [pack.path for pack in result.passages] == ["a.md", "b.md"]
    assert "thing30" in result.passages[1].text
    assert [(left.path, left.reason) for left in result.left_out] == [("c.md", "too large")]


LONG = " ".join(f"Sentence {number} tells of thing{number} and of nothing else." for number in range(60))
CODE = "```python\n" + "\n".join(f"call{number}(argument{number})  # one" for number in range(60)) + "\n```"
CHINESE = "".join(f"第{number}句话说的是东西{number}，没有别的。" for number in range(60))
WITHOUT_END = " ".join(f"word{number}" for number in range(300))


@pytest.mark.parametrize("scope", Scope)
def test_a_best_hit_of_one_long_paragraph_is_cut_to_the_sentences_around_its_match(scope: Scope) -> None:
    vault = Vault({"a.md": f"# Long\n\n{LONG}\n", "b.md": "A weaker thing30 stands here.\n"})
    hits = vault.hit("thing30 and", 0.9), vault.hit("thing30 stands", 0.8)
    result = packed(vault, *hits, budget=300, scope=scope)
    long = result.passages[0]
    assert (long.path, long.line_start, long.line_end) == ("a.md", 3, 3)
    assert long.text in LONG
    assert "Sentence 30 tells" in long.text
    assert long.text.startswith("Sentence ")
    assert long.text.endswith("else.")
    assert (long.cut_above, long.cut_below) == (True, True)
    assert result.text.count("[…]") == 2
    assert 200 < result.tokens <= 300


@pytest.mark.parametrize(
    ("text", "match", "begins", "ends"),
    [
        (LONG, "thing0", ("Sentence 0",), ("else.",)),
        (CHINESE, "东西30", ("第",), ("。",)),
        (CODE, "call30", ("call",), ("# one",)),
        (WITHOUT_END, "word150", ("word",), ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")),
        (CHINESE.replace("。", "，"), "东西30", ("",), ("",)),
        ("\n".join(f"- item{number} is one of many" for number in range(40)), "item20", ("- item",), ("many",)),
    ],
)
def test_a_block_is_cut_at_sentences_and_items_then_lines_then_words(
    text: str, match: str, begins: tuple[str, ...], ends: tuple[str, ...]
) -> None:
    vault = Vault({"a.md": text})
    (pack,) = packed(vault, vault.hit(match), budget=160, scope=Scope.NONE).passages
    assert match in pack.text
    assert len(pack.text) < len(text)
    assert pack.text.startswith(begins)
    assert pack.text.endswith(ends)


def test_a_cut_never_separates_a_character_from_its_combining_marks() -> None:
    thai = "ที่นี่" * 200
    vault = Vault({"a.md": thai})
    (pack,) = packed(
        vault, Hit(vault.fragments[0], 1.0, spans=(Span(600, 603),)), budget=120, scope=Scope.NONE
    ).passages
    assert not unicodedata.category(pack.text[0]).startswith("M")
    after = thai[thai.index(pack.text) + len(pack.text) :]
    assert not unicodedata.category(after[0]).startswith("M")


def test_a_larger_budget_has_more_of_a_long_paragraph_until_all_of_it() -> None:
    vault = Vault({"a.md": LONG})
    sizes = [len(packed(vault, vault.hit("thing30"), budget=each).passages[0].text) for each in range(100, 1300, 100)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[3] < sizes[6]
    assert sizes[-1] == len(LONG)


def test_neighbours_are_dropped_before_hits() -> None:
    vault = Vault({"a.md": PLAIN, "b.md": PLAIN.replace("a", "o")})
    hits = vault.hit("beta0", 0.9), vault.hit("beto0", 0.8)
    both = packed(vault, *hits, scope=Scope.NONE).tokens
    result = packed(vault, *hits, scope=Scope.NEIGHBORS, neighbors=1, budget=both + 20)
    assert {pack.entry.fragment_id for pack in result.passages} == {hit.fragment.id for hit in hits}
    assert result.left_out == ()


def test_a_weak_hit_has_a_higher_value_than_the_neighbours_of_a_strong_one() -> None:
    vault = Vault({"a.md": PLAIN, "b.md": PLAIN.replace("a", "o")})
    hits = vault.hit("alpha0", 0.9), vault.hit("olpho0", 0.25)
    both = packed(vault, *hits, scope=Scope.NONE).tokens
    result = packed(vault, *hits, scope=Scope.NEIGHBORS, neighbors=1, budget=both + 20)
    assert {pack.entry.fragment_id for pack in result.passages} == {hit.fragment.id for hit in hits}


@pytest.mark.parametrize("scope", [Scope.NEIGHBORS, Scope.SECTION, Scope.NOTE])
def test_context_never_replaces_one_of_the_first_hits(scope: Scope) -> None:
    notes = {f"{number}.md": f"{sentence(f'hit{number}x', 120)}\n\n{sentence('beside', 200)}" for number in range(6)}
    vault = Vault({**notes, "last.md": sentence("last", 60)})
    hits = [Hit(vault.fragments_by_path[f"{number}.md"][0], 1 - number / 10) for number in range(6)]
    hits.append(vault.hit("last0", 0.05))
    alone = packed(vault, *hits, scope=Scope.NONE)
    result = packed(vault, *hits, scope=scope, budget=alone.tokens + 150)
    found = {hit.fragment.id for hit in hits}
    assert found <= {fragment_id for pack in result.passages for fragment_id in pack.fragment_ids}


def test_the_top_hit_is_not_cut_for_the_neighbours_of_another() -> None:
    top = f"{sentence('one', 90)}\n\n{sentence('two', 12)}"
    vault = Vault({"a.md": top, "b.md": f"{sentence('left', 130)}\n\n{sentence('right', 130)}"})
    hits = vault.hit("one0", 0.9), vault.hit("left0", 0.8)
    everything = packed(vault, *hits, scope=Scope.NEIGHBORS, neighbors=1).tokens
    result = packed(vault, *hits, scope=Scope.NEIGHBORS, neighbors=1, budget=everything - 15)
    assert [pack.text for pack in result.passages] == [top, sentence("left", 130)]


def test_hits_without_a_score_are_packed_if_there_is_space(vault: Vault) -> None:
    hits = vault.hit("open0", 0.0), vault.hit("alpha0", -1.0)
    assert words(packed(vault, *hits, scope=Scope.NONE)) == [["open"], ["alpha"]]
    alone = packed(vault, hits[0], scope=Scope.NONE).tokens
    assert words(packed(vault, *hits, scope=Scope.NONE, budget=alone + 20)) == [["open"]]


def test_an_oversized_section_is_cut_at_fragments_around_the_hit(vault: Vault) -> None:
    alone = packed(vault, vault.hit("conflict0"), scope=Scope.NONE).tokens
    result = packed(vault, vault.hit("conflict0"), scope=Scope.SECTION, budget=alone + 20)
    (pack,) = result.passages
    assert words(result) == [["conflict"]]
    assert pack.scope is Scope.NONE
    assert pack.id == f"{note_id('guide.md')}:o:2-2"
    assert (pack.cut_above, pack.cut_below) == (False, True)


def test_omitted_neighbours_do_not_count_as_a_cut(vault: Vault) -> None:
    alone = packed(vault, vault.hit("conflict0"), scope=Scope.NONE).tokens
    result = packed(vault, vault.hit("conflict0"), scope=Scope.NEIGHBORS, budget=alone + 20)
    assert words(result) == [["conflict"]]
    assert "[…]" not in result.text


def test_a_hit_dropped_from_its_pack_is_listed_as_omitted_with_its_lines(vault: Vault) -> None:
    hits = vault.hit("alpha0", 0.9), vault.hit("beta0", 0.5)
    alone = packed(vault, hits[0], scope=Scope.NONE).tokens
    result = packed(vault, *hits, scope=Scope.NONE, budget=alone + 20)
    assert words(result) == [["alpha"]]
    beta = vault.holding("beta0")
    assert [(left.line_start, left.reason) for left in result.left_out] == [(beta.line_start, "out of budget")]


def test_the_stop_reason_and_the_needs_of_the_next_hit_are_stated(vault: Vault) -> None:
    hits = vault.hit("alpha0", 0.9), vault.hit("gamma0", 0.5)
    alone = packed(vault, hits[0], scope=Scope.NONE)
    both = packed(vault, *hits, scope=Scope.NONE)
    full = packed(vault, *hits, scope=Scope.NONE, budget=alone.tokens + 20)
    assert full.stopped is StopReason.BUDGET
    (needs,) = full.needs
    assert needs == pytest.approx(both.tokens - alone.tokens, abs=2)
    assert (both.stopped, both.needs) == (StopReason.END, ())


def with_confidence(hit: Hit, confidence: Confidence) -> Hit:
    return replace(hit, confidence=confidence)


def test_a_pack_ends_before_a_hit_that_scores_far_below_the_first(vault: Vault) -> None:
    scores = {"alpha0": 1.0, "gamma0": SECOND_SHARE, "open0": RIVAL_SHARE, "export0": RIVAL_SHARE - 0.01}
    hits = [with_confidence(vault.hit(word, score), Confidence.LIKELY) for word, score in scores.items()]
    result = packed(vault, *hits, scope=Scope.NONE)
    assert sorted(words(result)) == [["alpha"], ["gamma"], ["open"]]
    assert (result.stopped, result.left_out) == (StopReason.ENOUGH, ())
    filled = packed(vault, *hits, scope=Scope.NONE, fill=Fill.BUDGET)
    assert len(filled.passages) == 4
    assert filled.stopped is StopReason.END


ASKED = [QuestionWord(word, 1.0, frozenset({word}), is_found=True) for word in ("alpha0", "gamma0")]


def test_a_second_hit_far_below_the_first_is_packed_if_it_adds_a_word(vault: Vault) -> None:
    found = (("alpha0", 1.0), ("gamma0", 0.2))
    hits = [with_confidence(vault.hit(word, score), Confidence.STRONG) for word, score in found]
    assert words(packed(vault, *hits, scope=Scope.NONE, asked=ASKED[:1])) == [["alpha"]]
    assert words(packed(vault, *hits, scope=Scope.NONE, asked=ASKED)) == [["alpha"], ["gamma"]]


def test_of_a_later_hit_only_the_unit_with_a_new_word_is_packed() -> None:
    two = f"{sentence('other', 30)}\n\n{sentence('gamma', 30)}"
    vault = Vault({"a.md": sentence("alpha", 30), "b.md": two})
    hits = [
        with_confidence(vault.hit("alpha0", 1.0), Confidence.STRONG),
        with_confidence(vault.hit("gamma0", 0.5), Confidence.WEAK),
    ]
    _, second = packed(vault, *hits, scope=Scope.NONE, asked=ASKED).passages
    assert second.text == sentence("gamma", 30)
    assert (second.line_start, second.line_end, second.cut_above, second.cut_below) == (3, 3, True, False)


@pytest.mark.parametrize("confidence", [Confidence.STRONG, Confidence.LIKELY])
def test_the_second_hit_is_whole_if_it_probably_answers_and_fits(confidence: Confidence) -> None:
    two = f"{sentence('other', 30)}\n\n{sentence('gamma', 30)}"
    vault = Vault({"a.md": sentence("alpha", 30), "b.md": two})
    hits = [with_confidence(vault.hit(word, score), confidence) for word, score in (("alpha0", 1.0), ("gamma0", 0.5))]
    whole = packed(vault, *hits, scope=Scope.NONE, asked=ASKED)
    assert whole.passages[1].text == two
    part = packed(vault, *hits, scope=Scope.NONE, asked=ASKED, budget=whole.tokens - 20)
    assert part.passages[1].text == sentence("gamma", 30)


@pytest.mark.parametrize(("score", "first_line"), [(RIVAL_SHARE, 1), (RIVAL_SHARE - 0.01, 5)])
def test_a_hit_that_may_answer_instead_of_the_first_becomes_whole_while_there_is_room(
    score: float, first_line: int
) -> None:
    paragraphs = [sentence(word, 30) for word in ("one", "two", "three", "gamma")]
    vault = Vault({"a.md": sentence("alpha", 30), "b.md": "\n\n".join(paragraphs)})
    scores = {"alpha0": 1.0, "gamma0": score}
    hits = [with_confidence(vault.hit(word, each), Confidence.WEAK) for word, each in scores.items()]
    _, second = packed(vault, *hits, asked=ASKED).passages
    assert (second.line_start, second.line_end) == (first_line, 7)


@pytest.mark.parametrize(("count", "last_line"), [(30, 7), (70, 5)])
def test_a_short_rest_of_the_section_of_a_first_hit_that_probably_answers_is_packed(count: int, last_line: int) -> None:
    paragraphs = (sentence("alpha", 200), sentence("one", count), sentence("two", count))
    vault = Vault({"a.md": "\n\n".join(("# A", *paragraphs))})
    assert len(vault.fragments) == 2
    (passage,) = packed(vault, with_confidence(vault.hit("alpha0"), Confidence.STRONG)).passages
    assert passage.line_end == last_line


def test_if_another_unit_of_a_packed_hit_does_not_fit_the_budget_is_the_reason() -> None:
    three = "\n\n".join(sentence(word, 30) for word in ("gamma", "other", "delta"))
    vault = Vault({"a.md": sentence("alpha", 30), "b.md": three})
    spans = tuple(Span(three.index(word), three.index(word) + len(word)) for word in ("gamma0", "delta0"))
    hits = [with_confidence(vault.hit("alpha0", 1.0), Confidence.STRONG)]
    hits.append(with_confidence(replace(vault.hit("gamma0", 0.9), spans=spans), Confidence.STRONG))
    asked = [*ASKED, QuestionWord("delta0", 1.0, frozenset({"delta0"}), is_found=True)]
    whole = packed(vault, *hits, scope=Scope.NONE, asked=asked)
    assert (whole.passages[-1].line_end, whole.stopped) == (5, StopReason.END)
    part = packed(vault, *hits, scope=Scope.NONE, asked=asked, budget=whole.tokens - 20)
    assert (part.passages[-1].line_end, part.stopped) == (1, StopReason.BUDGET)


def test_without_an_answer_the_pack_is_empty_and_names_three_locations(vault: Vault) -> None:
    hits = [
        with_confidence(vault.hit(word, 0.2), Confidence.NOTHING)
        for word in ("alpha0", "gamma0", "open0", "conflict0", "export0")
    ]
    result = packed(vault, *hits)
    assert (result.passages, result.text, result.stopped) == ((), "", StopReason.NO_ANSWER)
    assert [(left.line_start, left.reason) for left in result.left_out] == [
        (hit.fragment.line_start, "unlikely to answer") for hit in hits[:3]
    ]
    assert packed(vault, *hits, fill=Fill.BUDGET).passages
    assert packed(vault, with_confidence(hits[0], Confidence.WEAK), *hits[1:]).passages


def test_the_confidence_before_reranking_decides_whether_the_pack_is_empty(
    vault: Vault,
) -> None:
    words_of_hits = ("alpha0", "gamma0", "open0", "conflict0", "export0", "sync0")
    nothing = [with_confidence(vault.hit(word, 0.2), Confidence.NOTHING) for word in words_of_hits]

    def moved(ranks: Sequence[int], weak: int) -> list[Hit]:
        """Return the hits in the order of their former ranks; that of rank `weak` may answer."""
        hits = [replace(nothing[rank - 1], rerank=HitRerank(1.0, moved_from=rank)) for rank in ranks]
        return [
            with_confidence(hit, Confidence.WEAK) if rank == weak else hit
            for rank, hit in zip(ranks, hits, strict=True)
        ]

    assert packed(vault, *moved([6, 1, 2, 3, 4, 5], weak=6)).stopped is StopReason.NO_ANSWER
    assert packed(vault, *moved([2, 3, 4, 5, 6, 1], weak=1)).passages


UNSURE_HITS = ("alpha0", "gamma0", "open0", "conflict0", "export0", "sync0")


def list_unsure_hits(vault: Vault, words: Sequence[str]) -> list[Hit]:
    """Return the hits of an unsure result: their scores are close to each other."""
    return [with_confidence(vault.hit(word, 1 - n / 20), Confidence.NOTHING) for n, word in enumerate(words)]


def test_an_unsure_pack_has_the_first_four_hits() -> None:
    short = Vault({f"{word}.md": sentence(word, 20) for word in ("a", "b", "c", "d", "e", "f")})
    hits = list_unsure_hits(short, [f"{word}0" for word in "abcdef"])
    result = packed(short, *hits, scope=Scope.NONE, confidence=Confidence.UNSURE)
    assert [pack.entry.fragment_id for pack in result.passages] == [hit.fragment.id for hit in hits[:4]]
    assert (result.stopped, result.budget, result.left_out) == (StopReason.UNSURE, PLENTY, ())


def test_an_unsure_pack_ends_before_a_hit_that_scores_far_below_the_first() -> None:
    short = Vault({f"{word}.md": sentence(word, 20) for word in ("a", "b", "c")})
    scores = {"a0": 1.0, "b0": UNSURE_SHARE, "c0": UNSURE_SHARE - 0.01}
    hits = [with_confidence(short.hit(word, score), Confidence.WEAK) for word, score in scores.items()]
    assert [pack.path for pack in packed(short, *hits, confidence=Confidence.UNSURE).passages] == ["a.md", "b.md"]


def test_an_unsure_pack_has_as_many_whole_hits_as_fit_and_the_best_block_of_a_longer_one() -> None:
    long = f"{sentence('block', 12)}\n\n{sentence('other', 90)}"
    notes = {"long": long, "second": sentence("second", 60), "third": sentence("third", 20)}
    unsure = Vault({"first.md": sentence("first", 30), **{f"{name}.md": text for name, text in notes.items()}})
    hits = list_unsure_hits(unsure, ("first0", "block0", "second0", "third0"))
    result = packed(unsure, *hits, scope=Scope.NONE, confidence=Confidence.UNSURE)
    assert [pack.path for pack in result.passages] == ["first.md", "long.md", "second.md", "third.md"]
    assert result.passages[1].text == sentence("block", 12)


def test_the_hits_of_an_unsure_pack_are_extended_only_if_the_user_changes_their_scope() -> None:
    source = Vault({"a.md": "# One\n\nalpha0 one\n\n# Two\n\ntwo"})
    hit = with_confidence(source.hit("alpha0"), Confidence.WEAK)
    by_hand = PackOverrides(scopes=((hit.fragment.id, Scope.NOTE),))
    assert [pack.text for pack in packed(source, hit, confidence=Confidence.UNSURE).passages] == [hit.fragment.text]
    (pack,) = packed(source, hit, confidence=Confidence.UNSURE, overrides=by_hand).passages
    assert pack.text.endswith("two")


def test_a_hit_left_out_of_an_unsure_pack_is_not_reported_as_over_the_budget(vault: Vault) -> None:
    hits = list_unsure_hits(vault, UNSURE_HITS[:3])

    def pack_unsure(budget: int) -> tuple[set[str], int]:
        result = packed(vault, *hits, scope=Scope.NONE, budget=budget, confidence=Confidence.UNSURE)
        return {left.reason for left in result.left_out}, len(result.needs)

    assert pack_unsure(PLENTY) == ({UNSURE_REASON}, 0)
    assert pack_unsure(60) == ({TOO_LARGE}, 2)


def test_the_hits_of_an_unsure_result_fill_the_budget_on_request(vault: Vault) -> None:
    hits = list_unsure_hits(vault, UNSURE_HITS)
    filled = packed(vault, *hits, scope=Scope.NONE, fill=Fill.BUDGET, confidence=Confidence.UNSURE)
    assert {fragment for pack in filled.passages for fragment in pack.fragment_ids} == {hit.fragment.id for hit in hits}


def test_a_pack_without_room_for_a_passage_has_the_notice_of_parts_that_are_not_found(vault: Vault) -> None:
    result = build_pack(
        vault,
        [with_confidence(vault.hit(UNSURE_HITS[0], 1), Confidence.STRONG)],
        query="q",
        strategy=Strategy.AUTO,
        settings=PackSettings(budget=5),
        tokenizer=open_tokenizer("o200k"),
        renderer=MarkdownRenderer((), "Not found: “zebra”."),
        confidence=Confidence.STRONG,
        notice="Not found: “zebra”.",
    )
    assert (result.passages, result.text, result.notice) == ((), "", "Not found: “zebra”.")


@pytest.mark.parametrize("budget", [60, 200, 499, 500, 501, PLENTY])
@pytest.mark.parametrize("renderer", [MarkdownRenderer, PlainRenderer, XmlRenderer])
def test_an_unsure_pack_names_missing_words_first_and_has_at_most_500_tokens(
    vault: Vault, renderer: Callable[[tuple[str, ...], str], Renderer], budget: int
) -> None:
    notice = "No passage has “<rainbow>”; these are nearest in meaning."
    hits = list_unsure_hits(vault, UNSURE_HITS)
    result = build_pack(
        vault,
        hits,
        query="q",
        strategy=Strategy.AUTO,
        settings=PackSettings(budget=budget),
        tokenizer=open_tokenizer("o200k"),
        renderer=renderer((), notice),
        confidence=Confidence.UNSURE,
        notice=notice,
    )
    assert result.tokens == open_tokenizer("o200k").count(result.text) <= min(budget, 500)
    assert sum(result.costs) == result.tokens
    assert result.notice == (notice if result.passages else "")
    if result.passages:
        first = next(line for line in result.text.split("\n") if line != "<documents>")
        assert unescape(first.removeprefix("<notice>").removesuffix("</notice>")) == notice
        assert [source.path for source in read_pack(result.text).sources] == [pack.path for pack in result.passages]


def test_marks_are_packed_even_without_an_answer(vault: Vault) -> None:
    hit = with_confidence(vault.hit("alpha0", 0.2), Confidence.NOTHING)
    assert packed(vault, hit, marked=(hit.fragment.id,)).passages


def test_hits_of_filters_alone_are_all_packed(vault: Vault) -> None:
    hits = [vault.hit(word, score) for word, score in (("alpha0", 1.0), ("gamma0", 0.5), ("open0", 0.3))]
    assert len(packed(vault, *hits, scope=Scope.NONE).passages) == 3


@pytest.mark.parametrize("form", [Format.MARKDOWN, Format.XML, Format.PLAIN])
def test_the_token_costs_of_packs_and_sources_sum_to_the_whole(vault: Vault, form: Format) -> None:
    hits = vault.hit("alpha0", 0.9), vault.hit("open0", 0.5), vault.hit("export0", 0.4)
    for most in range(len(hits) + 1):
        result = packed(vault, *hits[:most], scope=Scope.NONE, format=form)
        assert sum(result.costs) == result.tokens
        assert all(cost > pack.tokens for cost, pack in zip(result.costs, result.passages, strict=True))


def test_savings_count_each_whole_note_once(vault: Vault) -> None:
    result = packed(vault, vault.hit("open0"), vault.hit("export0", 0.5), scope=Scope.NONE)
    assert result.source_tokens == vault.note_tokens("guide.md")
    assert result.saved == 1 - result.tokens / result.source_tokens


def test_a_pack_has_the_confidence_of_the_search_unless_fragments_are_marked(vault: Vault) -> None:
    hit = vault.hit("conflict0")

    def confidence(marked: tuple[str, ...]) -> Confidence | None:
        return build_pack(
            vault,
            [hit],
            query="q",
            strategy=Strategy.AUTO,
            settings=PackSettings(),
            tokenizer=open_tokenizer("o200k"),
            marked=marked,
            confidence=Confidence.LIKELY,
        ).confidence

    assert confidence(()) is Confidence.LIKELY
    assert confidence((hit.fragment.id,)) is None


NOTES = {f"{name}.md": f"# {name}\n\n{sentence(name, 60)}\n" for name in ("sync", "merge")}
SETTINGS = PackSettings()
TOKENIZER = open_tokenizer("chars/4")


class Built:
    """A pack cache that counts the packs built."""

    def __init__(self, most: int = 32) -> None:
        self.count = 0
        self.cache = PackCache(self.build, most)

    def build(
        self,
        source: NoteSource,
        hits: Sequence[Hit],
        *,
        settings: PackSettings,
        renderer: MarkdownRenderer | XmlRenderer,
        marked: Sequence[str],
    ) -> PackResult:
        self.count += 1
        return build_pack(
            source,
            hits,
            query="q",
            strategy=Strategy.AUTO,
            settings=settings,
            tokenizer=TOKENIZER,
            renderer=renderer,
            marked=marked,
        )

    def pack(
        self,
        vault: Vault,
        hits: Sequence[Hit],
        settings: PackSettings = SETTINGS,
        renderer: MarkdownRenderer | XmlRenderer = MarkdownRenderer(),  # noqa: B008 (a value)
        marked: Sequence[str] = (),
    ) -> PackResult:
        return self.cache(vault, hits, settings=settings, renderer=renderer, marked=marked)


def hits_of(vault: Vault) -> list[Hit]:
    return [Hit(fragment, 1 / rank) for rank, fragment in enumerate(vault.fragments, start=1)]


def test_the_same_request_for_a_pack_builds_it_only_once() -> None:
    vault, built = Vault(NOTES), Built()
    first = built.pack(vault, hits_of(vault), marked=[])
    assert built.pack(vault, hits_of(vault), marked=[]) is first
    assert built.count == 1


def test_a_request_with_any_other_argument_builds_another_pack() -> None:
    vault, built = Vault(NOTES), Built()
    hits = hits_of(vault)
    built.pack(vault, hits)
    built.pack(vault, hits, replace(SETTINGS, budget=50))
    built.pack(vault, hits, renderer=XmlRenderer())
    built.pack(vault, hits, renderer=XmlRenderer(("why?",)))
    built.pack(vault, hits, marked=[hits[0].fragment.id])
    built.pack(vault, hits[:1])
    built.pack(vault, [replace(hits[0], score=0.1), *hits[1:]])
    built.pack(vault, [vault.hit("sync1 "), *hits[1:]])
    assert built.count == len(built.cache) == 8


def test_another_generation_clears_the_cache_even_for_equal_hits() -> None:
    before, built = Vault(NOTES), Built()
    hits = hits_of(before)
    old = built.pack(before, hits)
    after = Vault({**NOTES, "sync.md": NOTES["sync.md"].replace("sync1 ", "other ")})
    new = built.pack(after, hits)
    assert new.text != old.text
    assert len(built.cache) == 1
    assert built.pack(before, hits) == old
    assert built.count == 3


def test_the_least_recently_used_pack_is_dropped_first() -> None:
    vault, built = Vault(NOTES), Built(most=2)
    hits = hits_of(vault)
    for budget in (100, 200, 100, 300, 100):
        built.pack(vault, hits, replace(SETTINGS, budget=budget))
    assert built.count == 3
    built.pack(vault, hits, replace(SETTINGS, budget=200))
    assert built.count == 4
    assert len(built.cache) == 2


@pytest.mark.parametrize("text", ["", "\n\n", "  \n\n \n"])
def test_a_whole_note_of_blank_lines_is_not_cut(text: str) -> None:
    vault = Vault({"Ada.md": text})
    (fragment,) = vault.fragments
    result = packed(vault, Hit(fragment, 1.0), scope=Scope.NOTE)
    assert [(pack.cut_above, pack.cut_below, pack.text.strip()) for pack in result.passages] == [(False, False, "")]
