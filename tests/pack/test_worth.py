"""Tests of the value of a hit relative to others."""

from __future__ import annotations

from excerpt.model import Hit, Span
from excerpt.pack.budget import compute_hit_values
from tests.pack.vaults import Vault, sentence

VAULT = Vault({"a.md": "\n\n".join(sentence(word, 200) for word in ("alpha", "beta", "gamma")), "b.md": "delta0 here"})


def hits(*words: str, score: float = 1.0) -> list[Hit]:
    return [VAULT.hit(word, score) for word in words]


def matching(hit: Hit, *words: str) -> Hit:
    text = hit.fragment.text
    return Hit(hit.fragment, hit.score, spans=tuple(Span(text.index(w), text.index(w) + len(w)) for w in words))


def test_a_hit_is_worth_less_than_the_better_ones() -> None:
    first, second = compute_hit_values([VAULT.hit("alpha0", 0.9), VAULT.hit("delta0", 0.8)])
    assert first > second


def test_another_hit_of_the_same_note_is_worth_less_than_one_of_another_note() -> None:
    same, other = (compute_hit_values([VAULT.hit("alpha0"), VAULT.hit(word)])[1] for word in ("beta0", "delta0"))
    assert same < other


def test_a_hit_with_words_of_the_query_that_no_better_one_has_is_worth_more() -> None:
    alpha, beta = hits("alpha0", "beta0")
    first = matching(alpha, "alpha1", "alpha2")
    again, new = (compute_hit_values([first, matching(beta, word)])[1] for word in ("beta1", "beta2"))
    assert again == new
    told = compute_hit_values([matching(alpha, "alpha1"), matching(beta, "beta1")])[1]
    untold = compute_hit_values([matching(alpha, "alpha1"), Hit(beta.fragment, 1.0)])[1]
    assert told > untold


def test_a_hit_without_a_score_is_worth_a_little() -> None:
    for found in (hits("alpha0", "delta0", score=0.0), hits("alpha0", "delta0", score=-1.0)):
        assert all(0 < value < 0.001 for value in compute_hit_values(found))
    assert compute_hit_values([]) == []
