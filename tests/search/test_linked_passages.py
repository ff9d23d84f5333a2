"""Tests of `search/linked_passages.py`: the passage one link further, for what a question's first hit leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from excerpt.base.kinds import Strategy
from excerpt.base.model import Hit, LinkSource, Result
from excerpt.base.settings import Settings
from excerpt.corpus.union import UnionCorpus
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.explain_note import explain_fragment

FILLING: Mapping[str, str] = {
    f"Town {number}.md": f"# Town {number}\n\n{text}\n"
    for number, text in enumerate(
        (
            "A market is held on the square every Friday, and farmers sell cheese.",
            "The bakery opens at six. Bread with seeds is sold out by noon.",
            "Trams run to the harbour. A ticket is valid for two hours.",
            "The library lends games as well as books, and closes on Sundays.",
            "In spring the river rises, and the lower road is closed.",
            "Students rent rooms near the old mill, which is a theatre now.",
            "The hospital was enlarged, and has a garden on its roof.",
            "Bees are kept on the roof of the school, and honey is sold in June.",
        )
    )
}
NOTES: Mapping[str, str] = {
    **FILLING,
    "Shringarpur.md": "# Shringarpur\n\nShringarpur is a village of Maharashtra, and lies in the Konkan.\n",
    "Maharashtra.md": "# Maharashtra\n\nIts parliament elects a premier, who is head of the cabinet.\n",
    "Church.md": "# Church\n\nThe minister reads on Sundays, and there is tea.\n",
    "Konkan.md": "# Konkan\n\nRain, mangoes and a coast of red rock.\n",
}
QUESTION = "which minister leads the government of the region with the village Shringarpur"

OpenEngine = Callable[[Mapping[str, str]], Engine]


@pytest.fixture
def open_engine(tmp_path: Path) -> Iterator[OpenEngine]:
    """Return a function that writes notes, indexes them and opens an engine."""
    opened: list[Snapshot] = []

    def open_notes(notes: Mapping[str, str]) -> Engine:
        opened.append(index_notes(tmp_path / str(len(opened)), notes))
        return Engine(opened[-1], Settings())

    yield open_notes
    for snapshot in opened:
        snapshot.close()


def index_notes(root: Path, notes: Mapping[str, str]) -> Snapshot:
    (root / "vault").mkdir(parents=True)
    for path, text in notes.items():
        (root / "vault" / path).write_text(text, encoding="utf-8")
    build(root / "vault", root / "index", Settings())
    return Snapshot.open(root / "index", Settings())


def find_linked(result: Result) -> Hit | None:
    """Return the hit that is listed because of a link, at whatever place."""
    return next((hit for hit in result.hits if hit.linked_from is not None), None)


def test_a_note_that_the_first_hit_names_is_second_if_it_is_near_what_the_hit_leaves_open(
    open_engine: OpenEngine,
) -> None:
    result = open_engine(NOTES).search(QUESTION)
    assert [hit.path for hit in result.hits[:2]] == ["Shringarpur.md", "Maharashtra.md"]
    assert result.hits[1].linked_from == LinkSource("Shringarpur.md", "Shringarpur", is_named=True)
    assert [hit.path for hit in result.hits if hit.linked_from] == ["Maharashtra.md"]


def test_a_note_that_the_first_hit_links_to_by_other_words_is_second(open_engine: OpenEngine) -> None:
    text = "# Shringarpur\n\nShringarpur is a village of [[Maharashtra|this state]].\n"
    linked = find_linked(open_engine({**NOTES, "Shringarpur.md": text}).search(QUESTION))
    assert linked is not None
    assert linked.path == "Maharashtra.md"
    assert linked.to_dict()["linked_from"] == {"path": "Shringarpur.md", "title": "Shringarpur", "is_named": False}


def test_scores_fall_and_parts_add_up_with_a_linked_passage(open_engine: OpenEngine) -> None:
    hits = open_engine(NOTES).search(QUESTION).hits
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        assert sum(signal.part for signal in hit.signals) == pytest.approx(hit.score, abs=1e-4)


def test_a_linked_passage_does_not_change_the_confidence(open_engine: OpenEngine) -> None:
    unlinked = {**NOTES, "Shringarpur.md": NOTES["Shringarpur.md"].replace("Maharashtra", "that state")}
    with_link, without = open_engine(NOTES).search(QUESTION), open_engine(unlinked).search(QUESTION)
    assert find_linked(without) is None
    assert with_link.confidence is without.confidence


def test_why_says_from_where_a_link_leads_to_the_passage(open_engine: OpenEngine) -> None:
    engine = open_engine(NOTES)
    linked = find_linked(engine.search(QUESTION))
    assert linked is not None
    reason = explain_fragment(engine, QUESTION, linked.fragment, Strategy.AUTO).reason
    assert reason.startswith("2nd: named in the first hit, “Shringarpur”, and near what that leaves open; ")


@pytest.mark.parametrize(
    "query",
    [
        "Shringarpur",
        "village Shringarpur Konkan",
        "is Shringarpur a village that lies in the Konkan of Maharashtra",
        f"!h {QUESTION}",
        'minister leads government "village of"',
        f"{QUESTION} -path:Maharashtra",
    ],
)
def test_no_passage_is_linked_for_a_few_words_a_whole_answer_or_what_the_user_excludes(
    open_engine: OpenEngine, query: str
) -> None:
    result = open_engine(NOTES).search(query)
    assert "Maharashtra.md" not in [hit.path for hit in result.hits if hit.linked_from]


def test_no_passage_is_linked_if_the_second_hit_rivals_the_first(open_engine: OpenEngine) -> None:
    rival = "# Shringarpur, the other\n\nA village of that region is Shringarpur too.\n"
    assert find_linked(open_engine({**NOTES, "Shringarpur 2.md": rival}).search(QUESTION)) is None


def test_a_name_that_is_an_ordinary_word_in_the_text_leads_nowhere(open_engine: OpenEngine) -> None:
    text = "# Shringarpur\n\nShringarpur is a village with a government of its own.\n"
    notes = {**NOTES, "Shringarpur.md": text, "Government.md": "# Government\n\nA minister leads each region.\n"}
    assert find_linked(open_engine(notes).search(QUESTION)) is None


def test_the_linked_passage_is_found_across_vaults_opened_together(tmp_path: Path) -> None:
    own = {path: text for path, text in NOTES.items() if path not in FILLING}
    corpora = {"one": index_notes(tmp_path / "1", FILLING), "two": index_notes(tmp_path / "2", own)}
    linked = find_linked(Engine(UnionCorpus(corpora.items()), Settings()).search(QUESTION))
    for corpus in corpora.values():
        corpus.close()
    assert linked is not None
    assert linked.path == "two/Maharashtra.md"
    assert linked.linked_from == LinkSource("two/Shringarpur.md", "Shringarpur", is_named=True)
