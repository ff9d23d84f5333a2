"""Property tests of packs, for any vault, hits and options, and of packs from a real index."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec import structs

from excerpt.base.kinds import Confidence, Fill, Scope, Strategy
from excerpt.base.model import DROPPED_REASON, TOO_LARGE, Fragment, Hit, PackResult, QuestionWord
from excerpt.base.settings import PackSettings, Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.pack.build import EXAMINED_HITS, MARKDOWN_RENDERER, OUT_OF_BUDGET_REASON, build_pack
from excerpt.pack.check.source_state import SourceState, compare_source
from excerpt.pack.formats.json_format import render_json
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.pack_format import Renderer
from excerpt.pack.formats.plain_format import PlainRenderer
from excerpt.pack.formats.registry import read_pack
from excerpt.pack.formats.source_label import PackLinks
from excerpt.pack.formats.xml_format import XmlRenderer
from excerpt.pack.selection import NO_OVERRIDES, PackOverrides
from excerpt.pack.source import NoteSource
from excerpt.text.folding import stem
from excerpt.text.line_context import find_table_header
from excerpt.text.tokens import Tokenizer, open_tokenizer
from excerpt.vault.known_vaults import VaultFolders
from tests.pack.check.lookups import Notes
from tests.pack.vaults import SWELLING, Case, Vault, cases, long_table, patient_renderer, sentence, tokenizers

PLENTY = 1_000_000
OWN = """Notes for {{ question }}:
{% for s in sources %}
{% if s.cut_above %}(cut)
{% endif %}
<{{ s.number }} {{ s.place }} {{ s.link }} {{ loop.length }}>
{{ s.text | indent(4) | upper }}
{% endfor %}
"""
RENDERERS: st.SearchStrategy[Renderer] = st.one_of(
    st.sampled_from(
        [MARKDOWN_RENDERER, MarkdownRenderer(("What is it?",)), PlainRenderer(), XmlRenderer(("What is it?",))]
    ),
    # A renderer of its own for each example: all renderings of one share ten seconds.
    st.builds(
        patient_renderer,
        st.just(OWN),
        st.just(PackLinks(VaultFolders.of([Path("/My notes")]))),
        st.just(("What is it?",)),
    ),
)
ranked_cases = cases().map(
    lambda case: replace(case, hits=tuple(replace(hit, confidence=Confidence.LIKELY) for hit in case.hits))
)
"""Cases of which a pack holds what covers the question, and no more."""
COPIES = ("same text as ", "near copy of ")

pack_settings = st.builds(
    PackSettings,
    budget=st.integers(0, 3000),
    scope=st.sampled_from(Scope),
    neighbors=st.integers(0, 3),
    fill=st.sampled_from(Fill),
)


def packed(
    case: Case,
    options: PackSettings,
    tokenizer: Tokenizer | None = None,
    marks: int = 0,
    *,
    renderer: Renderer = MARKDOWN_RENDERER,
    overrides: PackOverrides = NO_OVERRIDES,
) -> PackResult:
    """Build a pack of the case's hits, or of the first `marks` hits as marked ones."""
    texts = {hit.fragment.text[span.start : span.end] for hit in case.hits for span in hit.spans}
    return build_pack(
        case.vault,
        case.hits,
        query="q",
        strategy=Strategy.HYBRID,
        settings=options,
        words=[QuestionWord(text, len(text), frozenset({stem(text, "")}), is_found=True) for text in sorted(texts)],
        tokenizer=tokenizer or open_tokenizer("chars/4"),
        marked=[hit.fragment.id for hit in case.hits[:marks]],
        renderer=renderer,
        overrides=overrides,
    )


def fragment_ids(result: PackResult) -> list[str]:
    return [fragment_id for pack in result.passages for fragment_id in pack.fragment_ids]


@pytest.mark.programs
@given(st.one_of(cases(), ranked_cases), pack_settings, tokenizers(), st.sampled_from([0, 0, 3]), RENDERERS)
def test_the_rendered_text_never_exceeds_the_budget(
    case: Case, options: PackSettings, tokenizer: Tokenizer, marks: int, renderer: Renderer
) -> None:
    result = packed(case, options, tokenizer, marks, renderer=renderer)
    assert result.tokens == tokenizer.count(result.text) <= options.budget
    assert [pack.tokens for pack in result.passages] == [tokenizer.count(pack.text) for pack in result.passages]


@pytest.mark.programs
@given(
    st.one_of(cases(), ranked_cases),
    pack_settings,
    tokenizers(),
    st.lists(st.integers(0, 3000), min_size=2, max_size=8),
    RENDERERS,
)
def test_a_larger_budget_never_gives_a_lower_value(
    case: Case, options: PackSettings, tokenizer: Tokenizer, budgets: list[int], renderer: Renderer
) -> None:
    results = [packed(case, replace(options, budget=each), tokenizer, renderer=renderer) for each in sorted(budgets)]
    values = [result.value for result in results]
    assert values == sorted(values)


@pytest.mark.programs
@given(
    st.one_of(cases(), ranked_cases),
    pack_settings,
    tokenizers(),
    st.lists(st.integers(0, 3000), min_size=2, max_size=8),
    st.sampled_from([0, 0, 3]),
)
def test_a_larger_budget_never_contains_less_of_the_first_hit(
    case: Case, options: PackSettings, tokenizer: Tokenizer, budgets: list[int], marks: int
) -> None:
    if case.hits:
        first = case.hits[0].fragment
        results = [packed(case, replace(options, budget=each), tokenizer, marks) for each in sorted(budgets)]
        sizes = [size_of_fragment(result, first) for result in results]
        assert sizes == sorted(sizes)
        alone = replace(options, scope=Scope.NONE)
        for result, size in zip(results, sizes, strict=True):
            fitting = packed(replace(case, hits=case.hits[:1]), replace(alone, budget=result.budget), tokenizer)
            assert size >= size_of_fragment(fitting, first)


def size_of_fragment(result: PackResult, fragment: Fragment) -> int:
    """Return how many characters of a fragment a pack has."""
    passages = [pack for pack in result.passages if fragment.id in pack.fragment_ids]
    return max((len(fragment.text) if fragment.text in each.text else len(each.text) for each in passages), default=0)


@pytest.mark.programs
@given(cases(), pack_settings, tokenizers(), st.sampled_from([0, 0, 3]), RENDERERS)
def test_every_scope_contains_at_least_as_much_of_the_first_hits_as_the_scope_none(
    case: Case, options: PackSettings, tokenizer: Tokenizer, marks: int, renderer: Renderer
) -> None:
    grown = packed(case, options, tokenizer, marks, renderer=renderer)
    alone = packed(case, replace(options, scope=Scope.NONE), tokenizer, marks, renderer=renderer)
    assert grown.value >= alone.value


def test_context_that_does_not_fit_takes_no_hit_from_a_pack() -> None:
    vault = Vault({"a.md": f"{long_table('釘', 90)}\n\n{long_table('Nägel', 90)}"})
    case = Case(vault, tuple(Hit(vault.fragments[ordinal], 1.0) for ordinal in (1, 3, 0, 2)))
    packs = [
        packed(case, PackSettings(budget=2731, scope=scope), SWELLING, renderer=XmlRenderer(("What is it?",)))
        for scope in (Scope.NEIGHBORS, Scope.NONE)
    ]
    assert packs[0].value == packs[1].value


@pytest.mark.programs
@given(st.one_of(cases(), ranked_cases), pack_settings)
def test_no_fragment_or_text_is_packed_twice(case: Case, options: PackSettings) -> None:
    for budget in (options.budget, PLENTY):
        result = packed(case, replace(options, budget=budget))
        assert len(set(fragment_ids(result))) == len(fragment_ids(result))
        lines = [(pack.path, line) for pack in result.passages for line in range(pack.line_start, pack.line_end + 1)]
        assert len(set(lines)) == len(lines)


@given(st.one_of(cases(), ranked_cases), pack_settings)
def test_the_text_of_a_pack_is_the_notes_lines_or_a_part_of_them_if_cut(case: Case, options: PackSettings) -> None:
    for pack in packed(case, options).passages:
        lines = case.vault.note_text(pack.path).split("\n")
        whole = "\n".join(lines[pack.line_start - 1 : pack.line_end])
        if not whole:  # an empty note
            assert not pack.text
            continue
        above, _, below = whole.partition(pack.text)
        assert pack.text in whole
        assert "\n" not in above + below
        assert pack.cut_above or not above
        assert pack.cut_below or not below
        assert pack.text.strip()


@given(st.one_of(cases(), ranked_cases), pack_settings)
def test_a_passage_from_the_middle_of_a_table_has_its_header(case: Case, options: PackSettings) -> None:
    for pack in packed(case, options).passages:
        lines = case.vault.note_text(pack.path).split("\n")
        expected = find_table_header(lines, pack.line_start)
        if expected is None or pack.line_end > pack.line_start:
            assert pack.table_header == expected
        else:  # a row alone, or a part of it, if there is no room for the header beside it
            assert pack.table_header in (None, expected)
        if pack.table_header is not None:
            assert pack.table_header.text == "\n".join(
                lines[pack.table_header.line_start - 1 : pack.table_header.line_end]
            )


@given(
    st.lists(st.integers(12, 400), min_size=1, max_size=5),
    st.lists(st.floats(0.01, 1), min_size=5, max_size=5),
    pack_settings.filter(lambda options: options.budget > 150),
)
def test_a_best_hit_above_the_budget_is_packed_in_part(
    sizes: list[int], scores: list[float], options: PackSettings
) -> None:
    vault = Vault({f"{number}.md": sentence(f"w{number}x", size) for number, size in enumerate(sizes)})
    ranked = sorted(scores, reverse=True)
    hits = tuple(Hit(fragment, score) for fragment, score in zip(vault.fragments, ranked, strict=False))
    result = packed(Case(vault, hits), options)
    if hits[0].fragment.tokens > options.budget:
        assert result.passages[0].entry.fragment_id == hits[0].fragment.id
        assert result.passages[0].cut_above or result.passages[0].cut_below


@pytest.mark.programs
@given(st.one_of(cases(), ranked_cases), pack_settings)
def test_the_check_finds_every_source_of_a_new_pack_in_the_vault(case: Case, options: PackSettings) -> None:
    result = packed(case, options)
    lookup = Notes({path: note.text for path, note in case.vault.notes.items()})
    for text in (result.text, render_json(result)) if result.passages else ():
        for source in read_pack(text).sources:
            assert source.is_intact
            assert compare_source(source, lookup).state is SourceState.STANDS
            assert source.table_header == result.passages[source.number - 1].table_header


@pytest.mark.programs
@given(cases(), st.sampled_from([(Scope.NONE, 1), (Scope.NEIGHBORS, 0)]))
def test_with_the_scope_none_the_passages_are_exactly_the_hits(case: Case, scope: tuple[Scope, int]) -> None:
    result = packed(case, PackSettings(budget=PLENTY, scope=scope[0], neighbors=scope[1], fill=Fill.BUDGET))
    needless = {(left.path, left.line_start) for left in result.left_out}
    hits = {hit.fragment.id: (hit.fragment.path, hit.fragment.line_start) for hit in case.hits}
    assert set(fragment_ids(result)) == {each for each, place in hits.items() if place not in needless}
    assert all(left.reason.startswith(COPIES) for left in result.left_out)


@given(cases(), pack_settings)
def test_every_hit_is_packed_or_omitted_with_a_reason(case: Case, options: PackSettings) -> None:
    result = packed(case, replace(options, fill=Fill.BUDGET))
    for hit in case.hits:
        fragment = hit.fragment
        reasons = [
            left.reason
            for left in result.left_out
            if left.path == fragment.path and left.line_start <= fragment.line_start <= left.line_end
        ]
        assert fragment.id in fragment_ids(result) or reasons
        assert all(reason in (TOO_LARGE, OUT_OF_BUDGET_REASON) or reason.startswith(COPIES) for reason in reasons)


@pytest.mark.programs
@given(cases(), pack_settings)
def test_if_everything_fits_the_ranking_is_kept_and_every_hit_is_whole(case: Case, options: PackSettings) -> None:
    """Allow for neighbours, which are units: a passage may end within the fragment beside the hit.

    A section is neighbours too in a note without headings.
    """
    result = packed(case, replace(options, budget=PLENTY, fill=Fill.BUDGET))
    scores = [pack.entry.score for pack in result.passages]
    assert scores == sorted(scores, reverse=True)
    copies = {(left.path, left.line_start) for left in result.left_out}
    for fragment in (hit.fragment for hit in case.hits):
        if (fragment.path, fragment.line_start) not in copies:
            assert any(pack.path == fragment.path and fragment.text.strip() in pack.text for pack in result.passages)
    repeated = Counter(fragment.digest for fragment in case.vault.fragments)
    for pack in result.passages:
        # A passage ends before a copy of another hit.
        has_copies = any(repeated[each.digest] > 1 for each in case.vault.fragments_by_path[pack.path])
        assert has_copies or pack.scope is Scope.NEIGHBORS or not (pack.cut_above or pack.cut_below)
    assert all(left.reason.startswith(COPIES) for left in result.left_out)


@given(cases(), pack_settings, st.integers(0, 10))
def test_the_passages_of_some_hits_are_the_first_passages_of_one_more(
    case: Case, options: PackSettings, count: int
) -> None:
    """Allow for hits that join packs: the joined pack takes the position of the first of them."""
    options = replace(options, budget=PLENTY, scope=Scope.NONE, fill=Fill.BUDGET)
    fewer, more = (packed(replace(case, hits=case.hits[:number]), options) for number in (count, count + 1))
    assert set(fragment_ids(fewer)) <= set(fragment_ids(more))
    kept = [pack.id for pack in fewer.passages if pack in more.passages]
    if len(kept) == len(fewer.passages):
        assert more.passages[: len(kept)] == fewer.passages
        assert len(more.passages) <= len(kept) + 1
    else:
        first = next(place for place, pack in enumerate(fewer.passages) if pack not in more.passages)
        assert more.passages[:first] == fewer.passages[:first]
        assert set(fewer.passages[first].fragment_ids) <= set(more.passages[first].fragment_ids)


@given(cases(), pack_settings)
def test_a_packed_section_has_the_text_and_heading_path_of_the_section_in_its_id(
    case: Case, options: PackSettings
) -> None:
    result = packed(case, replace(options, budget=PLENTY, scope=Scope.SECTION))
    for pack in result.passages:
        if pack.scope is Scope.SECTION and ":s:" in pack.id:
            section = case.vault.sections(pack.path)[int(pack.id.rpartition(":")[2])]
            lines = case.vault.note_text(pack.path).split("\n")[section.line_start - 1 : section.line_end]
            assert pack.text == "\n".join(lines).strip("\n")
            assert pack.heading_path == section.heading_path


@given(cases(), pack_settings, st.data())
def test_dropped_fragments_are_in_no_pack(case: Case, options: PackSettings, data: st.DataObject) -> None:
    ids = [fragment.id for fragment in case.vault.fragments]
    dropped = data.draw(st.sets(st.sampled_from(ids))) if ids else set()
    result = packed(case, options, overrides=NO_OVERRIDES.with_dropped(dropped))
    assert not dropped & set(fragment_ids(result))
    by_hand = {(left.path, left.line_start) for left in result.left_out if left.reason == DROPPED_REASON}
    looked_at = case.hits if options.fill is Fill.BUDGET else case.hits[:EXAMINED_HITS]
    assert by_hand >= {(h.fragment.path, h.fragment.line_start) for h in looked_at if h.fragment.id in dropped}


@given(cases(), pack_settings, st.data())
def test_a_manual_order_changes_only_the_order(case: Case, options: PackSettings, data: st.DataObject) -> None:
    options = replace(options, budget=PLENTY)
    ranked = packed(case, options)
    order = data.draw(st.permutations([pack.entry.fragment_id for pack in ranked.passages]))
    result = packed(case, options, overrides=NO_OVERRIDES.with_order(order))
    assert [pack.entry.fragment_id for pack in result.passages] == order
    assert set(result.passages) == set(ranked.passages)


@pytest.mark.programs
@given(st.one_of(cases(), ranked_cases), pack_settings, st.sampled_from([0, 3]), RENDERERS)
def test_the_same_hits_give_the_same_bytes(case: Case, options: PackSettings, marks: int, renderer: Renderer) -> None:
    results = [packed(case, options, marks=marks, renderer=renderer) for _ in range(3)]
    assert len({(result.text, render_json(result)) for result in results}) == 1


@given(cases(), pack_settings, st.data())
def test_the_order_in_which_options_were_set_does_not_matter(
    case: Case, options: PackSettings, data: st.DataObject
) -> None:
    """Use equal copies of the hits: packs must not depend on identity or hashing."""
    copies = tuple(Hit(replace(hit.fragment), hit.score, hit.signals, hit.spans) for hit in case.hits)
    assert packed(replace(case, hits=copies), options) == packed(case, options)


@given(cases(), pack_settings)
def test_nothing_in_a_note_can_close_its_fence(case: Case, options: PackSettings) -> None:
    result = packed(case, options)
    tokens = MarkdownIt().parse(result.text)
    fences = [token.content for token in tokens if token.type == "fence" and token.level == 0]
    headings = [token for token in tokens if token.type == "heading_open"]
    assert fences == [f"{pack.rendered_text}\n" for pack in result.passages]
    assert len(headings) == len(result.passages)


NOTES = {
    "guide.md": f"---\ntitle: Guide\n---\n# Sync\n\n{sentence('sync', 200)}\n\n## Merge\n\n{sentence('merge', 200)}\n",
    "b/plain.md": "\n\n".join(sentence(word, 200) for word in ("alpha", "beta", "gamma")),
    "b/copy.md": f"# Copy\n\n{sentence('beta', 200)}\n",
    "stub.md": "# One\n\n## Two\n",
}


DAY = 1740787200  # as the notes in tests.pack.vaults


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Index a vault; return its folder and the folder of its index."""
    root = tmp_path_factory.mktemp("packs")
    for hours, (path, text) in enumerate(NOTES.items()):
        file = root / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (DAY, DAY + 7200 * hours))
    build(root / "vault", root / "index", Settings())
    return root / "vault", root / "index"


def pack_of_hits(source: NoteSource, hits: list[Hit], scope: Scope, budget: int) -> PackResult:
    return build_pack(
        source,
        hits,
        query="q",
        strategy=Strategy.AUTO,
        settings=PackSettings(budget=budget, scope=scope),
        tokenizer=open_tokenizer("o200k"),
        marked=(),
    )


def packs_from_index(source: NoteSource) -> list[tuple[str, str]]:
    fragments = Vault(NOTES, "o200k").fragments
    hits = [Hit(fragment, 1 / rank) for rank, fragment in enumerate(fragments, start=1)]
    results = [pack_of_hits(source, hits, scope, budget) for scope in Scope for budget in (300, 1500, 1_000_000)]
    return [(result.text, render_json(result)) for result in results]


def test_a_pack_from_an_index_equals_one_from_its_notes(folders: tuple[Path, Path]) -> None:
    snapshot = Snapshot.open(folders[1], Settings())
    assert packs_from_index(snapshot) == packs_from_index(Vault(NOTES, "o200k"))
    assert len(set(packs_from_index(snapshot))) > 8
    snapshot.close()


def test_the_fragment_infos_of_a_note_equal_its_fragments_without_their_text(folders: tuple[Path, Path]) -> None:
    snapshot = Snapshot.open(folders[1], Settings())
    ranges = [("guide.md", 0, None), ("gone.md", 0, None), ("b/plain.md", 1, 1), ("b/plain.md", 2, 9)]
    for (path, first, last), parts in zip(ranges, snapshot.fragment_infos(ranges), strict=True):
        fragments = snapshot.note_fragments(path, first, last)
        assert [structs.replace(part, key=0) for part in parts] == list(
            Vault(NOTES, "o200k").fragment_infos([(path, first, last)])[0]
        )
        assert [part.key for part in parts] == [fragment.key for fragment in fragments]
    snapshot.close()


@pytest.mark.programs
def test_processes_with_different_hash_seeds_give_the_same_bytes() -> None:
    code = "from tests.pack.test_build_properties import *; print(packs_from_index(Vault(NOTES, 'o200k')))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {f"{packs_from_index(Vault(NOTES, 'o200k'))}\n".encode()}


def test_a_rebuilt_index_gives_the_same_bytes(folders: tuple[Path, Path], tmp_path: Path) -> None:
    before = Snapshot.open(folders[1], Settings())
    build(folders[0], tmp_path / "again", Settings())
    after = Snapshot.open(tmp_path / "again", Settings())
    assert packs_from_index(before) == packs_from_index(after)
    before.close()
    after.close()
