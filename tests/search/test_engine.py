"""Property tests of searches: filters only remove hits, boosts only reorder, text quoted from a note is found."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from datetime import date
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from excerpt.base.kinds import Strategy
from excerpt.base.model import Hit, Result
from excerpt.base.settings import BoostSettings, EmbeddingSettings, Fusion, SearchSettings, Settings
from excerpt.index.build import build
from excerpt.index.lexical import LexicalReader
from excerpt.index.snapshot import Snapshot
from excerpt.index.vectors import multiply_in_numpy
from excerpt.search.engine import Engine, search_by_strategy
from excerpt.search.evidence import count_words
from excerpt.search.ranking import SIGNALS
from excerpt.text.words import analyze
from tests.conftest import scaled_examples
from tests.search.conftest import NOTES
from tests.search.tiny_reader import parsed_query

FORCED = (Strategy.ADAPTIVE, Strategy.PROXIMITY, Strategy.SEMANTIC, Strategy.HYBRID)
TWO_PARTS = "salt, and what does a zebra cost at the airport of Ouagadougou?"
QUERIES = (
    "conflict",
    "sync conflict",
    "flour water salt",
    "what happens when two devices change one note at once",
    "tomatos",
    "encr",
    "Häuser und Bäume",
    "新しい保管庫",
    "state-of-the-art",
    "!s keep others from reading",
)


def paths(result: Result) -> list[str]:
    return [hit.fragment.path for hit in result.hits]


def without_time(result: Result) -> Result:
    return dataclasses.replace(result, elapsed_ms=0.0)


def highlighted_texts(hit: Hit) -> list[str]:
    return [hit.fragment.text[span.start : span.end] for span in hit.spans]


# --- marking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES)
def test_hits_highlighted_later_equal_those_highlighted_at_once(engine: Engine, query: str) -> None:
    at_once = without_time(engine.search(query))
    some = engine.search(query, highlight_count=2)
    assert [hit.spans for hit in some.hits[2:]] == [() for _ in some.hits[2:]]
    assert without_time(engine.highlight_all(some)) == at_once


# --- ranking ----------------------------------------------------------------------------------------------------------


def test_an_engine_at_rest_keeps_no_postings_and_answers_the_same(engine: Engine) -> None:
    before = engine.search("bees water")
    lexical = engine.snapshot.lexical
    assert isinstance(lexical, LexicalReader)
    assert lexical._cache
    engine.release_caches()
    assert not lexical._cache
    assert engine.search("bees water").hits == before.hits


def test_the_fragment_that_answers_comes_first(engine: Engine) -> None:
    first = engine.search("when does a sync conflict arise").hits[0].fragment
    assert first.heading_path == ("Conflicts", "What a sync conflict is")
    assert "A sync conflict arises" in first.text


@pytest.mark.parametrize("name", ["Bread", "bread", "  BREAD ", "Conflicts", "merge trouble", "streit", "日本語"])
def test_a_note_whose_title_or_alias_is_the_query_comes_first(engine: Engine, name: str) -> None:
    expected = {"bread": "Cooking/Bread.md", "日本語": "日本語.md"}.get(name.strip().lower(), "Sync/Conflicts.md")
    assert paths(engine.search(name))[0] == expected


def test_words_of_a_heading_find_the_text_below_it(engine: Engine) -> None:
    assert engine.search("settling one").hits[0].fragment.heading_path[-1] == "Settling one"


def test_a_tag_is_searchable(engine: Engine) -> None:
    assert "Sync/Conflicts.md" in paths(engine.search("!a help"))


def test_another_language_is_stemmed_by_its_rules(engine: Engine) -> None:
    assert paths(engine.search("Haus Garten"))[0] == "Garden/Vergleich.md"


def test_words_in_a_script_without_spaces_are_found(engine: Engine) -> None:
    assert paths(engine.search("暗号化"))[0] == "日本語.md"


@pytest.mark.parametrize("word", ["1.0.21", "C++", "state-of-the-art", "R&D", "open_file"])
def test_a_query_of_a_compound_word_finds_that_compound(engine: Engine, word: str) -> None:
    assert paths(engine.search(word))[0] == "Code.md"


def test_similar_meaning_is_found_without_shared_words(engine: Engine) -> None:
    found = engine.search("!s vegetable gardening")
    assert found.strategy is Strategy.SEMANTIC
    assert "Garden/Tomatoes.md" in paths(found)[:3]


# --- building the list of hits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES)
def test_the_same_query_gives_the_same_list(snapshot: Snapshot, engine: Engine, query: str) -> None:
    again = Engine(snapshot, Settings())
    assert without_time(engine.search(query)) == without_time(again.search(query))
    assert without_time(engine.search(query)) == without_time(engine.search(query))


@pytest.mark.parametrize("query", QUERIES)
def test_the_list_is_the_same_without_the_multiplication_library(
    engine: Engine, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = without_time(engine.search(query))
    monkeypatch.setattr("excerpt.index.vectors.multiply", multiply_in_numpy)
    assert without_time(engine.search(query)) == found


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("strategy", [Strategy.AUTO, *FORCED])
def test_hits_are_sorted_and_have_positive_scores(engine: Engine, query: str, strategy: Strategy) -> None:
    hits = engine.search(query, strategy).hits
    scores = [hit.score for hit in hits if not hit.more_of_note]
    assert scores == sorted(scores, reverse=True)
    assert all(hit.score > 0 for hit in hits)


@pytest.mark.parametrize("query", QUERIES)
def test_a_score_is_the_sum_of_its_signal_parts(engine: Engine, query: str) -> None:
    for hit in engine.search(query).hits:
        assert sum(signal.part for signal in hit.signals) == pytest.approx(hit.score, abs=1e-5)
        signals = [signal for signal in hit.signals if signal.name != "place"]
        assert [signal.name for signal in signals] == [*SIGNALS, "links", "name"]
        assert all(0 <= signal.value <= 1 + 1e-6 for signal in signals)


def test_a_hit_demoted_because_its_note_has_other_hits_has_the_score_of_the_hit_above(engine: Engine) -> None:
    hits = engine.search("lighthouse keeper entry").hits[:10]
    held_back = [hit for hit in hits if any(signal.name == "place" for signal in hit.signals)]
    assert {hit.path for hit in held_back} == {"Long.md"}
    assert hits[hits.index(held_back[0]) - 1].score == held_back[0].score


def test_equal_scores_are_ordered_by_path_and_line(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    for name in ("c", "a", "b"):
        text = "The same words.\n\n## One\n\nThe same words.\n\n## One\n\nThe same words.\n"
        (tmp_path / "vault" / f"{name}.md").write_text(f"---\ntitle: T\n---\n{text}", encoding="utf-8")
    build(tmp_path / "vault", tmp_path / "index", Settings())
    snapshot = Snapshot.open(tmp_path / "index", Settings())
    hits = Engine(snapshot, Settings()).search("same").hits
    snapshot.close()
    by_score: dict[float, list[tuple[str, int]]] = {}
    for hit in hits:
        by_score.setdefault(hit.score, []).append((hit.fragment.path, hit.fragment.line_start))
    assert len(hits) == 9
    assert max(len(group) for group in by_score.values()) >= 3
    assert all(group == sorted(group) for group in by_score.values())


def test_the_first_hits_have_at_most_a_few_fragments_of_one_note(engine: Engine) -> None:
    found = paths(engine.search("lighthouse"))
    most = SearchSettings().per_note
    assert found.count("Long.md") > most
    assert "Other.md" in found[: most + 1]


def test_if_only_one_note_matches_its_fragments_fill_the_list(engine: Engine) -> None:
    assert paths(engine.search('"lighthouse keeper"')) == ["Long.md"] * 8


def test_the_limit_shortens_the_list(engine: Engine) -> None:
    every = engine.search("water", limit=50)
    assert engine.search("water", limit=2).hits == every.hits[:2]
    assert engine.search("water", limit=2).matched == every.matched >= len(every.hits)
    assert engine.search("water", limit=0).hits == ()


def test_the_default_strategy_and_limit_are_taken_from_the_settings(snapshot: Snapshot) -> None:
    chosen = Settings(search=SearchSettings(strategy=Strategy.SEMANTIC, limit=3))
    found = Engine(snapshot, chosen).search("water for plants")
    assert found.strategy is Strategy.SEMANTIC
    assert len(found.hits) == 3


def test_a_result_has_the_generation_and_the_time(snapshot: Snapshot, engine: Engine) -> None:
    found = engine.search("water")
    assert found.generation == snapshot.generation
    assert found.elapsed_ms > 0


# --- strategies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ["conflict", "sync conflict", "water tomatoes morning", "how do I keep both versions of a note"]
)
def test_auto_is_hybrid_if_candidates_match_by_words_and_meaning(engine: Engine, query: str) -> None:
    assert engine.search(query).strategy is Strategy.HYBRID


@pytest.mark.parametrize("query", ["automobile", "automobile zzqqxx zzqqyy"])
def test_auto_is_semantic_if_no_candidate_matches_by_words(engine: Engine, query: str) -> None:
    assert engine.search(query).strategy is Strategy.SEMANTIC


@pytest.mark.parametrize(
    ("query", "strategy"), [("新しい", Strategy.ADAPTIVE), ("新しいリモート保管庫を作成", Strategy.PROXIMITY)]
)
def test_auto_uses_words_if_no_candidate_has_meaning(engine: Engine, query: str, strategy: Strategy) -> None:
    assert engine.search(query).strategy is strategy


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 0), ("one two", 2), ("state-of-the-art", 1), ("R&D", 1), ("新しいリモート保管庫を作成", 7), ("鱼", 1)],
)
def test_auto_counts_words_as_a_reader_would(query: str, count: int) -> None:
    assert count_words(parsed_query(query)) == count


@pytest.mark.parametrize(("mark", "strategy"), zip(("!a", "!p", "!s", "!h"), FORCED, strict=True), ids=str)
def test_each_strategy_can_be_forced_in_the_query(engine: Engine, mark: str, strategy: Strategy) -> None:
    assert engine.search(f"{mark} sync conflict").strategy is strategy
    assert engine.search(f"{mark} sync conflict", Strategy.AUTO).hits == engine.search("sync conflict", strategy).hits


@pytest.mark.parametrize("query", [q for q in QUERIES if not q.startswith("!")])
def test_if_one_strategy_finds_something_every_strategy_returns_hits(engine: Engine, query: str) -> None:
    found = {strategy: bool(engine.search(query, strategy).hits) for strategy in (Strategy.AUTO, *FORCED)}
    assert all(found.values()), found


def test_semantic_search_takes_over_for_unknown_words_and_is_reported(engine: Engine) -> None:
    found = engine.search("!a automobile")
    assert found.strategy is Strategy.SEMANTIC
    assert found.hits


def test_words_take_over_if_meaning_finds_nothing_and_are_reported(engine: Engine) -> None:
    found = engine.search("!s 暗号化")
    assert found.strategy is not Strategy.SEMANTIC
    assert paths(found) == ["日本語.md"]


def test_search_by_words_alone_finds_only_fragments_with_a_word_of_the_query(engine: Engine) -> None:
    for hit in engine.search("!a flour").hits:
        assert "flour" in hit.fragment.text


# --- incomplete words -------------------------------------------------------------------------------------------------


def test_a_sentence_typed_letter_by_letter_always_has_hits(engine: Engine) -> None:
    sentence = "end-to-end encryption of notes"
    for length in range(1, len(sentence) + 1):
        assert engine.search(sentence[:length]).hits, sentence[:length]


def test_a_misspelt_word_finds_the_intended_one(engine: Engine) -> None:
    assert paths(engine.search("!a tomatos"))[0] == "Garden/Tomatoes.md"
    assert paths(engine.search("!a encrpytion"))[0] == "Sync/Encryption.md"


def test_the_fuzzy_threshold_of_the_settings_is_used(snapshot: Snapshot) -> None:
    def answered_by(threshold: float) -> Strategy:
        engine = Engine(snapshot, Settings(search=SearchSettings(fuzzy_threshold=threshold)))
        return engine.search("!a encrpytion").strategy

    assert answered_by(0.5) is Strategy.ADAPTIVE
    assert answered_by(1.0) is Strategy.SEMANTIC


# --- phrases ----------------------------------------------------------------------------------------------------------


def test_a_quoted_phrase_is_required(engine: Engine) -> None:
    assert {hit.fragment.heading_path[-1] for hit in engine.search('"sync conflict"').hits} == {
        "What a sync conflict is"
    }
    assert len(engine.search("sync conflict").hits) > 1


@pytest.mark.parametrize("strategy", [Strategy.AUTO, *FORCED])
def test_a_phrase_is_required_by_every_strategy(engine: Engine, strategy: Strategy) -> None:
    assert set(paths(engine.search('water "flour and water"', strategy))) == {"Cooking/Bread.md"}


def test_a_phrase_that_does_not_occur_finds_nothing(engine: Engine) -> None:
    found = engine.search('"conflict sync"')
    assert found.hits == ()
    assert found.matched == 0


def test_every_phrase_is_required(engine: Engine) -> None:
    assert paths(engine.search('"flour" "starter"')) == ["Cooking/Bread.md"]
    assert engine.search('"flour" "broth"').hits == ()


@given(st.integers(0, 11), st.integers(1, 4))
def test_a_quoted_phrase_finds_every_fragment_that_contains_the_phrase(engine: Engine, first: int, length: int) -> None:
    text = "Choose which version of the note to keep, or keep both: the other one is saved"
    words = text.split()[first : first + length]
    found = engine.search(f'"{" ".join(words)}"')
    assert "Sync/Conflicts.md" in paths(found)


# --- spans ------------------------------------------------------------------------------------------------------------


def test_matched_words_are_highlighted_in_all_their_forms(engine: Engine) -> None:
    hit = next(h for h in engine.search("syncing conflicts").hits if h.fragment.path == "Sync/Conflicts.md")
    assert set(highlighted_texts(hit)) == {"sync", "conflict"}


def test_stop_words_of_a_question_are_not_highlighted_beside_rarer_words(engine: Engine) -> None:
    hit = engine.search("how does the flour and the water ferment in a starter").hits[0]
    assert "starter" in highlighted_texts(hit)
    assert not {"the", "and", "a", "A", "in"} & set(highlighted_texts(hit))


def test_stop_words_are_highlighted_if_there_are_no_rarer_words(engine: Engine) -> None:
    hits = engine.search("the and of a in to").hits
    assert any(highlighted_texts(hit) for hit in hits)


def test_compound_words_are_highlighted_whole(engine: Engine) -> None:
    assert "state-of-the-art" in highlighted_texts(engine.search("state-of-the-art").hits[0])


def test_adjacent_matched_characters_are_highlighted_as_one_span(engine: Engine) -> None:
    assert "保管庫" in highlighted_texts(engine.search("保管庫").hits[0])


def test_matched_words_are_highlighted_in_the_title_and_each_heading(engine: Engine) -> None:
    hit = engine.search("what sync conflict").hits[0]
    names = (hit.fragment.title, *hit.fragment.heading_path)
    found = [[name[span.start : span.end] for span in spans] for name, spans in zip(names, hit.named, strict=True)]
    assert found == [["Conflicts"], ["Conflicts"], ["What", "sync", "conflict"]]


def test_a_hit_has_the_date_of_its_note_never_of_the_file(tmp_path: Path) -> None:
    notes = {
        "Property": "---\ncreated: 2017-07-14\n---\nAn anchor is heavy.\n",
        "2020-02-29 Name": "An anchor.\n",
        "None": "An anchor.\n",
    }
    (tmp_path / "vault").mkdir()
    for name, text in notes.items():
        (tmp_path / "vault" / f"{name}.md").write_text(text, encoding="utf-8")
    build(tmp_path / "vault", tmp_path / "index", Settings())
    snapshot = Snapshot.open(tmp_path / "index", Settings())
    hits = Engine(snapshot, Settings()).search("anchor").hits
    assert {hit.fragment.path: hit.created for hit in hits} == {
        "Property.md": date(2017, 7, 14),
        "2020-02-29 Name.md": date(2020, 2, 29),
        "None.md": None,
    }
    snapshot.close()


def test_hits_by_meaning_alone_have_no_highlights(engine: Engine) -> None:
    assert all(hit.spans == () for hit in engine.search("automobile").hits)


@pytest.mark.parametrize("query", QUERIES)
def test_spans_are_in_the_text_ascending_and_disjoint(engine: Engine, query: str) -> None:
    for hit in engine.search(query).hits:
        end = 0
        for span in hit.spans:
            assert end <= span.start < span.end <= len(hit.fragment.text)
            end = span.end


@pytest.mark.parametrize("query", ["sync conflict", "flour water", "Häuser", "end-to-end"])
def test_every_matched_word_of_the_text_is_highlighted(engine: Engine, query: str) -> None:
    for hit in engine.search(query).hits:
        language = "de" if hit.fragment.path == "Garden/Vergleich.md" else "en"
        terms = set(analyze(query, language).terms)
        found = analyze(hit.fragment.text, language)
        for term, start, end in zip(found.terms, found.starts, found.ends, strict=True):
            if term in terms:
                assert any(span.start <= start and end <= span.end for span in hit.spans), term


# --- any query --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "   ", "!a", "...", '""', "\n", "!"])
def test_a_query_without_a_word_finds_nothing(engine: Engine, query: str) -> None:
    found = engine.search(query)
    assert found.hits == ()
    assert found.matched == 0


def test_gibberish_matches_no_word(engine: Engine) -> None:
    for hit in engine.search("xqzzvkk wqqpf").hits:
        assert hit.spans == ()


@example("1:Ά", Strategy.AUTO)  # the model reads no Greek
@given(st.text(max_size=60), st.sampled_from([Strategy.AUTO, *FORCED]))
def test_every_string_is_a_valid_query(engine: Engine, query: str, strategy: Strategy) -> None:
    found = engine.search(query, strategy)
    assert found.query == query
    assert len(found.hits) <= found.matched


@pytest.mark.parametrize(
    "query",
    [
        "a" * 10_000,
        "word " * 2_000,
        "\x00\x1b[31m\x07",
        "\ud800 x",
        '"' * 99,
        "👩‍👩‍👧 é ﷺ",
        "\u202eabc",
        "' OR 1=1; --",
    ],
    ids=["one word", "many words", "controls", "surrogate", "quotes", "emoji", "bidi", "sql"],
)
def test_unusual_queries_are_valid(engine: Engine, query: str) -> None:
    assert engine.search(query).query == query


def test_an_empty_vault_answers_every_query(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    build(tmp_path / "vault", tmp_path / "index", Settings())
    snapshot = Snapshot.open(tmp_path / "index", Settings())
    engine = Engine(snapshot, Settings())
    engine.warm()
    assert engine.search("sync conflict").hits == ()
    assert engine.search('"sync conflict"').hits == ()
    snapshot.close()


def test_the_meaning_of_a_multilingual_model_counts_in_every_script(snapshot: Snapshot) -> None:
    def meaning(*languages: str) -> float:
        chosen = Settings(embedding=EmbeddingSettings(languages=languages))
        hit = Engine(snapshot, chosen).search("!h 日本語 sync conflict").hits[0]
        return next(signal.value for signal in hit.signals if signal.name == "meaning")

    assert 0 < meaning() < meaning("*")


ALL = 10_000
QUESTIONS = (
    "water",
    "sync conflict",
    "how is bread made",
    "Häuser Bäume",
    "保管庫",
    "qqxx vvbb",
    "salt | sync",
)
FILTERS = (
    "path:cooking", "-path:cooking", "tag:sync", "#sync/help", "-#sync/help", "file:bread", "title:conflicts",
    "heading:sourdough", "modified:>2001-01-01", "modified:<2001-01-01", "link:bread", "from:bread", "-salt",
    '-"sync conflict"',
)  # fmt: skip


def fragment_ids(result: Result) -> set[str]:
    return {hit.fragment.id for hit in result.hits}


@pytest.mark.parametrize("question", [q for q in QUESTIONS if "|" not in q])
@given(first=st.sampled_from(FILTERS), second=st.sampled_from(FILTERS))
@settings(deadline=None, max_examples=scaled_examples(20))
def test_adding_a_filter_never_adds_a_hit(engine: Engine, question: str, first: str, second: str) -> None:
    without = fragment_ids(engine.search(question, limit=ALL))
    one = fragment_ids(engine.search(f"{question} {first}", limit=ALL))
    both = fragment_ids(engine.search(f"{question} {first} {second}", limit=ALL))
    assert both <= one <= without


VOCABULARY = (
    "water", "notes", "sync", "phone", "bread", "soup", "the", "how", "two", "devices", "salt", "plants", "rather",
    "see", "own", "logo", "qqxx",
)  # fmt: skip
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8)


@given(WORDS)
@settings(deadline=None, max_examples=scaled_examples(40))
def test_scores_fall_down_the_list(engine: Engine, words: list[str]) -> None:
    scores = [hit.score for hit in engine.search(" ".join(words), limit=ALL).hits if not hit.more_of_note]
    assert scores == sorted(scores, reverse=True)


@given(WORDS, st.integers(1, 12))
@settings(deadline=None, max_examples=scaled_examples(40))
def test_the_confidence_is_the_same_at_every_limit(engine: Engine, words: list[str], limit: int) -> None:
    query = " ".join(words)
    assert engine.search(query, limit=limit).confidence is engine.search(query, limit=ALL).confidence


@given(st.data())
def test_quoting_any_text_of_a_fragment_finds_a_hit(engine: Engine, snapshot: Snapshot, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([path for path in NOTES if path.endswith(".md")]))
    fragment = data.draw(st.sampled_from(snapshot.note_fragments(path)))
    line = data.draw(st.sampled_from([line for line in fragment.text.split("\n") if line.strip()]))
    start = data.draw(st.integers(0, len(line) - 1))
    end = data.draw(st.integers(start + 1, min(len(line), start + 40)))
    quoted = line[start:end].strip()
    if quoted:
        assert engine.search(f'"{quoted}"').hits


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_boost_never_changes_which_fragments_match(snapshot: Snapshot, question: str) -> None:
    found = set()
    for links, recency in product((True, False), repeat=2):
        chosen = SearchSettings(boosts=BoostSettings(links=links, recency=recency))
        found.add(frozenset(fragment_ids(Engine(snapshot, Settings(search=chosen)).search(question, limit=ALL))))
    assert len(found) == 1


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("per_note", [0, 1, 5])
def test_the_limit_of_hits_per_note_changes_only_the_order(
    snapshot: Snapshot, engine: Engine, question: str, per_note: int
) -> None:
    chosen = Settings(search=SearchSettings(per_note=per_note))
    assert fragment_ids(Engine(snapshot, chosen).search(question, limit=ALL)) == fragment_ids(
        engine.search(question, limit=ALL)
    )


def test_the_signals_of_reciprocal_rank_fusion_add_up_to_the_score(snapshot: Snapshot) -> None:
    found = Engine(snapshot, Settings(search=SearchSettings(fusion=Fusion.RRF))).search("sync conflict")
    assert found.hits[0].fragment.path == "Sync/Conflicts.md"
    for hit in found.hits:
        assert [signal.name for signal in hit.signals] == ["words", "meaning", "name"]
        assert sum(signal.part for signal in hit.signals) == pytest.approx(hit.score, abs=1e-6)


def test_a_fragment_has_its_best_score_over_the_alternatives(engine: Engine) -> None:
    fused = {hit.fragment.id: hit.score for hit in engine.search("salt | sync conflict", limit=ALL).hits}
    alone = [
        {hit.fragment.id: hit.score for hit in engine.search(question, limit=ALL).hits}
        for question in ("salt", "sync conflict")
    ]
    assert fused == {id_: max(one.get(id_, 0.0) for one in alone) for id_ in alone[0] | alone[1]}


def test_several_queries_find_what_alternatives_find(engine: Engine) -> None:
    several, one = engine.search(["salt", "sync conflict"], limit=ALL), engine.search("salt | sync conflict", limit=ALL)
    assert without_time(several) == without_time(one)


def test_each_of_several_queries_is_parsed_on_its_own(engine: Engine) -> None:
    found = engine.search(['"sync conflict', "!a salt", "a | tomatoes"], Strategy.PROXIMITY, ALL)
    for query in ("sync conflict", "salt", "tomatoes"):
        assert engine.search(query, limit=1).hits[0].fragment.id in {hit.fragment.id for hit in found.hits}
    assert found.requested_strategy is Strategy.PROXIMITY


def test_a_query_that_finds_nothing_changes_no_score_of_another(engine: Engine) -> None:
    alone = engine.search("salt", limit=ALL)
    for queries in (["salt"], ["salt", "", '"zzqqxx"']):
        found = engine.search(queries, limit=ALL)
        assert [(hit.fragment.id, hit.score) for hit in found.hits] == [
            (hit.fragment.id, hit.score) for hit in alone.hits
        ]


@pytest.mark.parametrize(
    "query", ["sync conflict", "water flour | tomatoes", "tag:sync", "how is a note kept safe", "zzz", TWO_PARTS]
)
def test_a_search_under_all_strategies_equals_one_search_with_each_strategy(engine: Engine, query: str) -> None:
    for found in search_by_strategy(engine, query, 10):
        searched = engine.search(query, found.requested_strategy, 10, highlight_count=0)
        assert [hit.fragment.id for hit in found.hits] == [hit.fragment.id for hit in searched.hits]
        assert (found.strategy, found.matched) == (searched.strategy, searched.matched)
        assert (found.confidence, found.lack, found.notice, found.not_found) == (
            *(searched.confidence, searched.lack, searched.notice, searched.not_found),
        )


def test_a_strategy_forced_in_the_query_is_ignored_when_all_are_searched(engine: Engine) -> None:
    assert [found.requested_strategy for found in search_by_strategy(engine, "!s sync", 5)] == list(Strategy)


def imported_by(statement: str) -> set[str]:
    """Return the names of the modules that are imported once a statement has run."""
    run = [sys.executable, "-c", f"import sys\n{statement}\nprint(*sys.modules)"]
    return set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())


ANSWERING = ("search.engine", "insight.related", "insight.suggest", "pack.build", "pack.check.checker")


@pytest.mark.programs
def test_the_engine_imports_neither_an_index_nor_a_store() -> None:
    modules = [f"excerpt.{name}" for name in ANSWERING]
    names = imported_by(f"import {', '.join(modules)}")
    assert names.issuperset(modules)
    packages = {".".join(name.split(".")[:2]) for name in names if name.startswith("excerpt.")}
    assert not packages & {"excerpt.index", "excerpt.service"}
    assert not names & {"whoosh", "sqlite3"}
