"""Tests of the order of hits: the limit for each note, and every second place by meaning where words fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.kinds import Strategy
from excerpt.base.model import Hit, HitOrders, Result
from excerpt.base.settings import EmbeddingSettings, Fusion, SearchSettings, Settings
from excerpt.search.engine import Engine, search_by_strategy
from excerpt.search.explain_note import explain_fragment, explain_note
from excerpt.search.list_order import LISTED_HITS, join_orders, limit_hits_per_note, score_places
from excerpt.search.results import TOP_HITS, flag_more_of_note
from tests.search.library import open_vault

# --- the limit for each note ------------------------------------------------------------------------------------------


def test_the_whole_list_has_at_most_a_few_more_fragments_of_one_note() -> None:
    notes = np.array([0] * 30 + list(range(1, 61)), np.int32)
    order = limit_hits_per_note(np.arange(len(notes)), notes, 3, 6)
    assert np.count_nonzero(notes[order[:TOP_HITS]] == 0) == 3
    assert np.count_nonzero(notes[order[:LISTED_HITS]] == 0) == 6
    assert order[LISTED_HITS : LISTED_HITS + 24].tolist() == list(range(6, 30))
    assert sorted(order.tolist()) == list(range(len(notes)))


def test_hits_held_back_for_others_of_their_note_follow_if_few_other_notes_match() -> None:
    notes = np.array([0] * 8 + [1, 2], np.int32)
    assert limit_hits_per_note(np.arange(10), notes, 3, 6).tolist() == [0, 1, 2, 8, 9, 3, 4, 5, 6, 7]


def test_a_hit_beyond_the_limit_of_its_note_is_flagged_after_the_first_ten() -> None:
    notes = ["a"] * 4 + list("bcdefgh") + ["a", "b", "a"]
    assert flag_more_of_note(notes, 3) == [False] * 11 + [True, False, True]


def test_without_a_limit_no_hit_is_flagged() -> None:
    assert not any(flag_more_of_note(["a"] * 30, 0))


# --- two orders as one ------------------------------------------------------------------------------------------------


def test_a_joined_list_takes_hits_alternately_from_the_order_by_score_and_the_order_by_meaning() -> None:
    order, is_raised = join_orders(np.arange(6), np.array([5, 4, 3]))
    assert order.tolist() == [0, 5, 1, 4, 2, 3]
    assert np.flatnonzero(is_raised).tolist() == [3, 4, 5]


def test_a_hit_in_both_orders_is_listed_at_the_better_of_its_two_ranks() -> None:
    order, is_raised = join_orders(np.arange(5), np.array([0, 3, 1]))
    assert order.tolist() == [0, 1, 3, 2, 4]
    assert np.flatnonzero(is_raised).tolist() == [3]


@given(st.permutations(range(60)), st.integers(0, 60))
def test_a_joined_order_has_each_hit_once_and_keeps_the_order_by_words(by_meaning: list[int], near: int) -> None:
    order, is_raised = join_orders(np.arange(60), np.array(by_meaning[:near], np.intp))
    assert sorted(order.tolist()) == list(range(60))
    kept = [at for at in order.tolist() if not is_raised[at]]
    assert kept == sorted(kept)
    near_places = {at: place for place, at in enumerate(by_meaning[:near], 1)}
    assert [HitOrders(at + 1, near_places.get(at, 0)).is_raised for at in range(60)] == is_raised.tolist()


@given(
    st.lists(st.tuples(st.floats(0, 3, width=32), st.booleans(), st.booleans()), min_size=1, max_size=40).map(
        lambda hits: [
            (score, is_raised and place > 0, is_more and place > 0)
            for place, (score, is_raised, is_more) in enumerate(hits)
        ]
    )
)
def test_scores_by_rank_fall_except_for_more_hits_of_a_note(hits: list[tuple[float, bool, bool]]) -> None:
    own, is_raised, is_more = (np.array(column) for column in zip(*hits, strict=True))
    scores = score_places(own.astype(np.float32), is_raised, is_more)
    assert (np.diff(scores[~is_more]) <= 0).all()
    assert (scores[is_more] == own[is_more]).all()


def test_a_raised_hit_has_the_score_of_the_next_hit_that_was_not_raised() -> None:
    own, none = np.array([3, 0.5, 2, 1], np.float32), np.zeros(4, np.bool_)
    assert score_places(own, np.array([False, True, False, False]), none).tolist() == [3, 2, 2, 1]


# --- where words fail -------------------------------------------------------------------------------------------------

_STRANGE = {
    "Gloves.md": "Keep your hands warm while you type in a cold office: wear thin woollen gloves.",
    "Icebox.md": "Stop the icebox from freezing over: at night, scrape it out.",
    "Piano.md": "Fingers at the keys: five of them, and at first slowly. Stop at each bar.",
    "Desk.md": "The desk is at the window. At the desk stands a lamp.",
    "Bees.md": "At the hive, stop and listen. Bees do not like wool.",
    "Trains.md": "Trains stop at the station.",
    "Hands.md": "\n\n".join(
        f"## Winter {year}\n\nCold hands again, and no heating at the office." for year in range(9)
    ),
    "Tax.md": "Pay what is due by the end of May.",
    "Boat.md": "Keel, mast and rudder. Mind the boom.",
    "Bread.md": "Flour, water, salt and yeast.",
    "Lamp.md": "The lamp takes two bulbs.",
    "Roof.md": "Two slates are loose.",
}
STRANGE = "what do I do against numb fingers?"
OWN = "keep your hands warm while you type"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with closing(open_vault(tmp_path_factory.mktemp("strange"), _STRANGE)) as snapshot:
        yield Engine(snapshot, Settings())


def paths(found: Result) -> list[str]:
    return [hit.path for hit in found.hits]


def paths_above(hits: Sequence[Hit], number: int) -> list[str]:
    return [hit.path for hit in hits[:number]]


def list_ids(engine: Engine, query: str, strategy: Strategy | None = None) -> list[str]:
    return [hit.fragment.id for hit in engine.search(query, strategy, limit=50).hits]


def test_if_the_words_of_the_query_fail_the_hits_nearest_in_meaning_move_up(engine: Engine) -> None:
    found = engine.search(STRANGE)
    assert found.is_joined
    place = paths(found).index("Gloves.md")
    assert found.hits[place].orders == HitOrders(words=4, meaning=1)
    assert place == 1


def test_each_hit_of_a_joined_list_has_its_rank_in_both_orders(engine: Engine) -> None:
    found = engine.search(STRANGE, limit=50)
    by_meaning = list_ids(engine, STRANGE, Strategy.SEMANTIC)
    places = [hit.orders for hit in found.hits if hit.orders is not None]
    assert [one.meaning for one in places] == [
        by_meaning.index(id_) + 1 if id_ in by_meaning else 0 for id_ in list_ids(engine, STRANGE)
    ]
    assert sorted(one.words for one in places) == list(range(1, len(found.hits) + 1))


@pytest.mark.parametrize("query", [STRANGE, OWN, "hands", "stop my fingers freezing at the desk", "cold office | lamp"])
def test_scores_fall_down_the_list_and_are_the_sum_of_their_parts(engine: Engine, query: str) -> None:
    hits = engine.search(query, limit=50).hits
    scores = [hit.score for hit in hits if not hit.more_of_note]
    assert scores == sorted(scores, reverse=True)
    assert all(sum(signal.part for signal in hit.signals) == pytest.approx(hit.score, abs=1e-4) for hit in hits)


@pytest.mark.parametrize("query", [STRANGE, "cold hands office"])
def test_a_hit_has_the_score_of_another_place_if_it_is_raised_or_held_back(engine: Engine, query: str) -> None:
    hits = engine.search(query).hits
    parts = {number: signal.part for number, hit in enumerate(hits) for signal in hit.signals if signal.name == "place"}
    assert parts
    for number, part in parts.items():
        orders = hits[number].orders
        is_raised = orders is not None and orders.is_raised
        assert (part > 0 and is_raised) or (part < 0 and paths_above(hits, number).count(hits[number].path) >= 3)


@given(st.sampled_from((STRANGE, OWN)), st.integers(1, 400))
def test_the_order_is_the_same_at_every_limit(engine: Engine, query: str, limit: int) -> None:
    assert engine.search(query, limit=limit).hits[:5] == engine.search(query).hits[: min(limit, 5)]


@pytest.mark.parametrize(
    "query",
    [
        OWN,
        "numb frostbitten fingers",
        f'{STRANGE} "fingers"',
        f'{STRANGE} -"of wool"',
        f"!h {STRANGE}",
        "与 numb 我的 手指 冻僵 怎么办",
    ],
    ids=["words found", "three words", "phrase", "phrase left out", "strategy forced", "unknown script"],
)
def test_if_the_words_of_the_query_are_found_no_hit_is_ranked_by_meaning_alone(engine: Engine, query: str) -> None:
    assert not engine.search(query).is_joined


def is_joined_by_letter(engine: Engine, query: str) -> list[bool]:
    return [engine.search(query[:end]).is_joined for end in range(1, len(query) + 1)]


def test_while_a_word_is_typed_the_order_does_not_change(engine: Engine) -> None:
    whole = "what do I do against "
    assert is_joined_by_letter(engine, whole + "numb")[len(whole) :] == [engine.search(whole).is_joined] * 4


@pytest.mark.parametrize(
    "query",
    [STRANGE, "when are my numb fingers warmer again tomorrow", "is there anything on stopping at night and what for "],
)
def test_while_a_query_is_typed_each_order_of_the_hits_stays_for_at_least_four_letters(
    engine: Engine, query: str
) -> None:
    lengths = [len(list(group)) for _, group in groupby(is_joined_by_letter(engine, query))]
    assert all(length > 3 for length in lengths[:-1])


def test_if_the_word_being_typed_finds_a_hit_the_list_keeps_one_order(engine: Engine) -> None:
    assert engine.search("or at the very least some ").is_joined
    assert not engine.search("or at the very least some icebox").is_joined


def test_the_first_letters_of_a_word_do_not_change_the_order(engine: Engine) -> None:
    whole = "or at the very least some "
    assert is_joined_by_letter(engine, whole + "ice")[len(whole) :] == [True] * 3


@pytest.mark.parametrize("word", ["numb/cold", "dog-eared", "cellar's", "snake_case", "numbFullHands"])
def test_a_mark_or_a_capital_letter_within_a_word_does_not_end_it(engine: Engine, word: str) -> None:
    whole = "what do I "
    assert is_joined_by_letter(engine, whole + word)[len(whole) :] == [False] * len(word)
    assert engine.search(f"{whole}{word} ").is_joined


def test_an_exact_name_stays_first(tmp_path: Path) -> None:
    with closing(
        open_vault(tmp_path, {**_STRANGE, "What do I do against numb fingers.md": "See elsewhere."})
    ) as snapshot:
        found = Engine(snapshot, Settings()).search(STRANGE)
    assert paths(found)[0] == "What do I do against numb fingers.md"
    assert not found.is_joined


def test_reciprocal_rank_fusion_never_joins_two_orders(engine: Engine) -> None:
    settings = Settings(search=SearchSettings(fusion=Fusion.RRF))
    assert not Engine(engine.snapshot, settings).search(STRANGE).is_joined


_GERMAN = {
    "Garten.md": "Die Gärten der Nachbarn sind größer, und die Häuser sind nicht so alt wie die Bäume dahinter.",
    "Küche.md": "Das Brot wird mit Mehl, Wasser und Salz gebacken, und es muss über Nacht ruhen.",
    "Bahn.md": "Die Bahn hält am Bahnhof, und der Zug nach Hause fährt erst am Abend wieder ab.",
}


@pytest.mark.parametrize(("languages", "is_joined"), [((), False), (("en", "de"), True)])
def test_orders_are_joined_only_if_the_model_knows_the_language_of_the_vault(
    tmp_path: Path, languages: tuple[str, ...], is_joined: bool
) -> None:
    settings = Settings(embedding=EmbeddingSettings(languages=languages))
    with closing(open_vault(tmp_path, _GERMAN)) as snapshot:
        found = Engine(snapshot, settings).search("wie heile ich meine steifen kalten Finger")
    assert found.is_joined == is_joined


def test_words_of_a_script_without_spaces_are_counted(tmp_path: Path) -> None:
    notes = {
        "手袋.md": "寒い事務所では薄い毛糸の手袋をはめる。",
        "パン.md": "小麦粉と水と塩を混ぜる。",
        "船.md": "帆と舵。",
    }
    with closing(open_vault(tmp_path, notes)) as snapshot:
        engine = Engine(snapshot, Settings(embedding=EmbeddingSettings(languages=("ja",))))
        assert engine.search("指先凍結防止方法相談").is_joined
        assert not engine.search("指先凍").is_joined


def test_confidence_is_judged_by_words(engine: Engine) -> None:
    judged = [result.confidence for result in search_by_strategy(engine, STRANGE, 5) if result.is_joined]
    hybrid = engine.search(STRANGE, Strategy.HYBRID)
    assert judged == [hybrid.confidence]


def test_a_result_listed_by_date_flags_no_hit(engine: Engine) -> None:
    assert not any(hit.more_of_note for hit in engine.search("hands sort:date", limit=50).hits)


def test_the_json_of_a_hit_has_its_ranks_in_both_orders_only_in_a_joined_list(engine: Engine) -> None:
    raised = engine.search(STRANGE).to_dict()["hits"][1]
    assert raised["orders"] == {"words": 4, "meaning": 1}
    assert not {"orders", "more_of_note"} & engine.search("lamp").to_dict()["hits"][0].keys()


# --- why --------------------------------------------------------------------------------------------------------------


def test_why_says_the_rank_of_a_raised_hit_in_each_order(engine: Engine) -> None:
    explained = explain_note(engine, STRANGE, "Gloves.md", Strategy.AUTO)
    assert explained.reason == (
        "2nd: nearest in meaning; your words are not found together."
        " The passage is 4th by words and meaning together, and 1st by meaning alone."
    )


def test_why_says_the_ranks_of_a_hit_that_is_not_near_in_meaning(engine: Engine) -> None:
    assert explain_note(engine, STRANGE, "Tax.md", Strategy.AUTO).reason.endswith(
        " The passage is 3rd by words and meaning together, and not near in meaning."
    )


def test_why_names_the_words_of_a_raised_hit_that_has_them_all(engine: Engine) -> None:
    explained = explain_note(engine, STRANGE, "Gloves.md", Strategy.AUTO)
    assert explained.explanation is not None
    words = tuple(replace(word, terms=("found",)) for word in explained.explanation.words)
    told = replace(explained, explanation=replace(explained.explanation, words=words)).reason
    assert told.startswith("2nd: nearest in meaning; it has ")
    assert "not found together" not in told


def test_why_never_says_that_meaning_holds_a_hit_back(engine: Engine) -> None:
    hits = engine.search("cold hands office").hits
    held_back = next(hit for hit in hits if any(signal.name == "place" for signal in hit.signals))
    told = explain_fragment(engine, "cold hands office", held_back.fragment, Strategy.AUTO).reason
    assert told.endswith("; other passages of its note are among the first hits.")
