"""Tests that words are found without the accents that their stemmer reads, and that typed accents count on a tie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from excerpt.base.model import Hit
from excerpt.base.settings import Settings
from excerpt.insight.corrections import correct
from excerpt.search.engine import Engine
from excerpt.text.folding import fold
from tests.search.library import open_vault

PASSAGES: Mapping[str, str] = {
    "pl": "Księgowa wysłała klientów do działu reklamacji, ponieważ nie było już nikogo w biurze.",
    "fr": "Les données de cette étude sont dans un classeur qui est sur la table.",
    "cs": "Účetní se ptá zákazníků, protože jejich účtenky nejsou v pořádku a chybí.",
    "es": "La recolección de los árboles es para el día de mañana, según dice el técnico.",
    "tr": "Müşterilere gecikmiş faturalar için bir mektup daha yazdık ve sonra bekledik.",
    "vi": "Kế toán gửi thư cho khách hàng và không được trả lời trong một tháng.",
    "hu": "Az ügyfeleknek küldött számlák még nem érkeztek meg, és ez így van már egy hete.",
    "en": "Le Châtelier wrote that a disturbed balance shifts to counter the change.",
}
WORDS = {
    **{"pl": "klientów", "fr": "données", "cs": "zákazníků", "es": "recolección", "tr": "müşterilere"},
    **{"vi": "khách", "hu": "ügyfeleknek", "en": "Châtelier"},
}
PHRASES = {
    **{"pl": "wysłała klientów", "fr": "les données de", "cs": "ptá zákazníků", "es": "de los árboles"},
    **{"tr": "müşterilere gecikmiş", "vi": "khách hàng", "hu": "ügyfeleknek küldött", "en": "Le Châtelier wrote"},
}
LANGUAGES = tuple(PASSAGES)


@pytest.fixture(scope="module", params=[False, True], ids=["accented notes", "plain notes"])
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Engine]]:
    """One vault a language, with its passage as written or without accents."""
    opened = {}
    for language, text in PASSAGES.items():
        notes = {"Note.md": fold(text) if request.param else text, "Other.md": "Gardening, walking, tea and letters.\n"}
        opened[language] = Engine(open_vault(tmp_path_factory.mktemp(language), notes), Settings())
    yield opened
    for engine in opened.values():
        engine.snapshot.close()


def first_hit(engine: Engine, query: str) -> Hit:
    hits = engine.search(query, limit=5).hits
    assert hits, query
    return hits[0]


def marked(hit: Hit) -> set[str]:
    return {fold(hit.fragment.text[span.start : span.end]) for span in hit.spans}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_word_is_found_and_highlighted_with_and_without_its_accents(
    engines: dict[str, Engine], language: str
) -> None:
    for typed in (WORDS[language], fold(WORDS[language]), fold(WORDS[language]).upper()):
        hit = first_hit(engines[language], f"{typed} ")
        assert (hit.path, marked(hit)) == ("Note.md", {fold(WORDS[language])})
        assert {signal.name: signal.value for signal in hit.signals}["words"] > 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_phrase_is_found_with_and_without_its_accents(engines: dict[str, Engine], language: str) -> None:
    for typed in (PHRASES[language], fold(PHRASES[language])):
        assert [hit.path for hit in engines[language].search(f'"{typed}"', limit=5).hits] == ["Note.md"]


@pytest.mark.parametrize("language", ["pl", "fr", "tr", "hu", "en"])
def test_a_misspelt_word_without_accents_is_found_and_corrected(engines: dict[str, Engine], language: str) -> None:
    word = fold(WORDS[language])
    misspelt = f"{word[:3]}{word[4:]}"
    assert first_hit(engines[language], f"{misspelt} ").path == "Note.md"
    assert fold(correct(engines[language], misspelt)) == word


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_note_is_named_with_and_without_its_accents(language: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    phrase = PHRASES[language]
    notes = {
        f"{phrase}.md": PASSAGES[language],
        "Long.md": f"---\ntitle: {phrase} plus more words\n---\n{PASSAGES[language]}",
    }
    engine = Engine(open_vault(tmp_path_factory.mktemp("names"), notes), Settings())
    scores = [
        {hit.path: {signal.name: signal.value for signal in hit.signals}["title"] for hit in hits}
        for hits in (engine.search(f"{typed} ", limit=5).hits for typed in (phrase, fold(phrase)))
    ]
    assert scores[0] == pytest.approx(scores[1])
    assert scores[0][f"{phrase}.md"] == pytest.approx(1)
    engine.snapshot.close()


@pytest.mark.parametrize(
    ("typed", "other", "text"),
    [
        ("péché", "pêche", "Le {} est un mot de la langue, et il est dans un livre sur la table."),
        ("pêche", "péché", "Le {} est un mot de la langue, et il est dans un livre sur la table."),
        ("schön", "schon", "Das ist {} und auch nicht die Frage, wenn man mit der Bahn fährt."),
        ("sí", "si", "Que {} es una palabra de la lengua, y no por eso se dice más."),
        ("práce", "prače", "To je {} a není to nic, co by se na jaře nedalo."),
    ],
)
def test_typed_accents_order_passages_that_are_equal_otherwise(
    tmp_path_factory: pytest.TempPathFactory, typed: str, other: str, text: str
) -> None:
    notes = {"A.md": text.format(other), "B.md": text.format(typed), "C.md": text.format(fold(typed))}
    engine = Engine(open_vault(tmp_path_factory.mktemp("ties"), notes), Settings())
    assert first_hit(engine, typed).path == "B.md"
    assert {hit.path for hit in engine.search(fold(typed), limit=5).hits} == {"A.md", "B.md", "C.md"}
    engine.snapshot.close()
