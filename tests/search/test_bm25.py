from __future__ import annotations

import numpy as np
import pytest

from excerpt.corpus.tables import TermEntries
from excerpt.search.bm25 import FIELD_WEIGHTS, K1, WordIndex, sum_scores
from tests.search.tiny_reader import TinyReader, parsed_query, rows_of


def scores(reader: TinyReader, text: str, *, open_word: bool = False) -> list[float]:
    index = WordIndex(reader)
    words = index.expand(parsed_query(text), open_word=open_word, fuzzy_threshold=0.8)
    return [float(s) for s in sum_scores([index.match(word) for word in words], reader.doc_count)]


def test_a_score_is_bm25_with_lucenes_idf() -> None:
    reader = TinyReader("apple apple pear", "pear plum plum", "plum plum plum")
    idf = np.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    # All three texts have the mean length, so that the term frequency is the count.
    assert scores(reader, "apple") == pytest.approx([idf * 2 * (K1 + 1) / (2 + K1), 0, 0])


def test_a_rare_word_has_a_higher_weight_than_a_common_one() -> None:
    reader = TinyReader("apple pear", "plum pear", "fig pear", "date pear")
    apple, pear = scores(reader, "apple")[0], scores(reader, "pear")[0]
    assert apple > pear > 0


def test_a_word_counts_less_in_a_longer_text() -> None:
    short, long = scores(TinyReader("apple", "apple pear plum fig date"), "apple")
    assert short > long


def test_frequencies_saturate_over_all_fields_together() -> None:
    reader = TinyReader({"text": "apple", "title": "apple"}, {"text": "apple", "title": "pear"}, "fig")
    both, text = scores(reader, "apple")[:2]
    weight = FIELD_WEIGHTS["title"].weight
    assert text < both < text * (1 + weight)


def test_a_word_only_in_the_title_is_found() -> None:
    assert scores(TinyReader({"text": "fig", "title": "apple"}, "fig"), "apple")[0] > 0


def test_every_form_of_a_word_is_found() -> None:
    assert min(scores(TinyReader("conflicts", "conflicting", "conflict"), "conflicted")) > 0


def test_exact_matches_score_above_partial_and_partial_above_fuzzy() -> None:
    # Each word is alone in a text of equal length, so that only the kind of match differs.
    exact, partial, _ = scores(TinyReader("encrypt", "encryptor", "fig"), "encrypt", open_word=True)
    fuzzy = scores(TinyReader("encrypt", "plum", "fig"), "encrxpt", open_word=True)[0]
    assert exact > partial > fuzzy > 0


def test_many_partial_occurrences_do_not_outweigh_an_exact_one() -> None:
    exact, partial, _ = scores(
        TinyReader("sync fig date", "synchrony synchrony synchrony", "plum pear fig"), "sync", open_word=True
    )
    assert exact > partial > 0


def test_a_word_followed_by_a_space_does_not_match_longer_words() -> None:
    assert scores(TinyReader("synchrony", "fig"), "sync", open_word=False) == [0, 0]


def test_only_the_last_word_of_a_query_matches_words_that_begin_with_it() -> None:
    reader = TinyReader("synchrony", "figment", "x")
    assert scores(reader, "sync fig", open_word=True)[0] == 0
    assert scores(reader, "sync fig", open_word=True)[1] > 0


def test_a_word_whose_ending_is_partly_typed_still_matches_its_stem() -> None:
    reader = TinyReader("synchronization", "fig")
    for length in range(2, len("synchronization") + 1):
        assert scores(reader, "synchronization"[:length], open_word=True)[0] > 0, "synchronization"[:length]


def test_fuzzy_matching_applies_only_to_unknown_words() -> None:
    known, similar = scores(TinyReader("bread", "breed"), "bread")
    assert known > 0
    assert similar == 0


@pytest.mark.parametrize("typed", ["breda", "breax", "brad", "breaad"])
def test_a_word_of_five_letters_with_one_error_is_found(typed: str) -> None:
    assert scores(TinyReader("bread", "fig"), typed)[0] > 0


def test_a_stricter_fuzzy_threshold_finds_fewer_fragments() -> None:
    index = WordIndex(TinyReader("encryption"))
    found = [index.expand(parsed_query("encripsion"), open_word=False, fuzzy_threshold=t)[0].terms for t in (0.6, 0.99)]
    assert len(found[0]) > len(found[1])


def test_short_words_are_not_matched_fuzzily() -> None:
    assert scores(TinyReader("cat", "car"), "cas") == [0, 0]


def test_words_of_one_and_two_letters_are_found() -> None:
    reader = TinyReader("AI and Go", "R too", "fig")
    assert scores(reader, "ai")[0] > 0
    assert scores(reader, "go")[0] > 0
    assert scores(reader, "r")[1] > 0


def test_the_presence_of_a_word_distinguishes_whole_matches_from_partial_matches() -> None:
    index = WordIndex(TinyReader("sync", "synchrony", "fig"))
    words = index.expand(parsed_query("sync"), open_word=True, fuzzy_threshold=0.8)
    exact, partial, none = index.presence(words, rows_of(0, 1, 2), None)[0]
    assert exact == 1
    assert 0 < partial < 1
    assert none == 0


def test_the_presence_of_a_word_is_given_for_each_field() -> None:
    index = WordIndex(TinyReader({"title": "fig", "text": "plum"}, {"text": "fig"}, "plum"))
    words = index.expand(parsed_query("fig"), open_word=False, fuzzy_threshold=0.8)
    found = index.presence_by_field(words, rows_of(0, 1, 2), ("title", "text", None))
    assert found[:, 0].tolist() == [[1, 0, 0], [0, 1, 0], [1, 1, 0]]


def test_a_word_of_any_length_takes_a_limited_number_of_lookups() -> None:
    looked: list[str] = []

    class Counting(TinyReader):
        def entries(self, term: str) -> TermEntries:
            looked.append(term)
            return super().entries(term)

    reader = Counting("apple pear")
    WordIndex(reader).expand(parsed_query("ab" * 50_000), open_word=True, fuzzy_threshold=0.8)
    assert len(looked) < 50
