"""Tests of `search/reopened.py`: the passage that answered a similar question, where the words of a query fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Hit, Result
from excerpt.base.settings import SearchSettings, Settings
from excerpt.corpus.union import UnionCorpus
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.explain_note import explain_fragment
from excerpt.search.usage import UseKind, UseLog, find_used_hit

NOTES: Mapping[str, str] = {
    "Licences.md": "# Licences\n\n## Education discount\n\nSchools have 40 % off a yearly subscription.\n",
    "Refunds.md": "# Refunds\n\nYou get the money back within a week. Write to support with the number of the order.\n",
    "Theme.md": "# Theme\n\nChoose dark or light in the appearance settings. Plugins may add colours.\n",
    "Sync.md": "# Sync\n\nA sync conflict arises when two devices change a file at once. See [[Theme]].\n",
    "Plans.md": "# Plans\n\nA cheaper plan costs less money. What pupils pay is the price of it.\n",
    "Bread.md": "# Bread\n\nFlour, water and salt. Less salt is for babies, and it can be sweet.\n",
}
ASKED, REWORDED, SIMILAR = "is it cheaper for students", "education discount", "can students get it for less money"
NOW = 1_700_000_000.0

OpenEngine = Callable[[], Engine]


@pytest.fixture
def log(tmp_path: Path) -> UseLog:
    return UseLog(tmp_path / "use.jsonl")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    vault.mkdir()
    for path, text in NOTES.items():
        (vault / path).write_text(text, encoding="utf-8")
    return vault


@pytest.fixture
def open_engine(vault: Path, log: UseLog) -> Iterator[OpenEngine]:
    """Return a function that indexes the vault as it is and opens an engine with what was learned."""
    opened: list[Snapshot] = []

    def open_newest() -> Engine:
        build(vault, vault.parent / "index", Settings())
        opened.append(Snapshot.open(vault.parent / "index", Settings()))
        return Engine(opened[-1], Settings(), log)

    yield open_newest
    for snapshot in opened:
        snapshot.close()


def keep(engine: Engine, log: UseLog, *earlier: str, reworded: str = REWORDED) -> Hit:
    """Ask a question and open its first hit, after `earlier` ones that found nothing sure; return the hit."""
    result = engine.search(reworded)
    used = find_used_hit(result.query, result.hits, result.hits[0].fragment.id, earlier)
    assert used is not None
    log.record(UseKind.OPENED, [used], NOW)
    return result.hits[0]


def second(result: Result) -> Hit | None:
    """Return the hit at place 2 if it is there because of a similar question."""
    return next((hit for hit in result.hits[1:2] if hit.asked_before), None)


def test_the_passage_that_answered_a_similar_question_is_listed_second(open_engine: OpenEngine, log: UseLog) -> None:
    engine = open_engine()
    before = engine.search(SIMILAR)
    kept = keep(engine, log, ASKED)
    again = engine.search(SIMILAR)
    assert kept.fragment.id not in [hit.fragment.id for hit in before.hits[:2]]
    offered = second(again)
    assert offered is not None
    assert offered.fragment.id == kept.fragment.id
    assert offered.asked_before == offered.to_dict()["asked_before"] == ASKED
    assert again.hits[0].fragment.id == before.hits[0].fragment.id


def test_a_listed_past_answer_keeps_the_confidence_and_falling_scores(open_engine: OpenEngine, log: UseLog) -> None:
    engine = open_engine()
    before = engine.search(SIMILAR)
    keep(engine, log, ASKED)
    again = engine.search(SIMILAR)
    assert again.confidence is before.confidence
    scores = [hit.score for hit in again.hits]
    assert scores == sorted(scores, reverse=True)
    for hit in again.hits:
        assert sum(signal.part for signal in hit.signals) == pytest.approx(hit.score, abs=1e-4)


def test_a_query_that_nothing_answers_is_unsure_with_a_past_answer_and_says_why(
    open_engine: OpenEngine, log: UseLog
) -> None:
    engine = open_engine()
    before = engine.search("where do tomatoes grow")
    keep(engine, log, reworded="where do my tomatoes grow")
    again = engine.search("where do tomatoes grow")
    assert (before.confidence, again.confidence) == (Confidence.NOTHING, Confidence.UNSURE)
    assert "you once asked this as “where do my tomatoes grow”" in again.lack
    assert again.notice.startswith(again.lack)


def test_a_result_that_is_unsure_without_a_past_answer_names_none(open_engine: OpenEngine, log: UseLog) -> None:
    engine = open_engine()
    before = engine.search(SIMILAR)
    keep(engine, log, ASKED)
    assert before.confidence is Confidence.UNSURE
    assert engine.search(SIMILAR).lack == before.lack


def test_a_question_with_nothing_near_is_no_answer_again_when_its_past_answer_is_forgotten(
    open_engine: OpenEngine, log: UseLog
) -> None:
    engine = open_engine()
    keep(engine, log, reworded="where do tomatoes grow")
    engine.end_list()
    kept = engine.search("where do tomatoes grow")
    log.forget()
    assert kept.confidence is Confidence.UNSURE
    assert "you once used one for this" in kept.lack
    assert engine.search("where do tomatoes grow").confidence is Confidence.NOTHING


def test_the_explanation_of_a_past_answer_names_the_earlier_question(open_engine: OpenEngine, log: UseLog) -> None:
    engine = open_engine()
    kept = keep(engine, log, ASKED)
    engine.search(SIMILAR)
    explained = explain_fragment(engine, SIMILAR, kept.fragment, Strategy.AUTO)
    assert explained.reason.startswith(f"2nd: you once asked this as “{ASKED}”.")
    assert f"You opened it for “{ASKED}” on 2023-11-1" in explained.reason


@pytest.mark.parametrize(
    "query", ["schools have a yearly subscription", "where do tomatoes grow", f"!h {SIMILAR}", f"{SIMILAR} path:Sync"]
)
def test_no_past_answer_is_listed_if_the_question_is_not_similar_or_has_a_sure_answer(
    open_engine: OpenEngine, log: UseLog, query: str
) -> None:
    engine = open_engine()
    before = engine.search(query)
    keep(engine, log, ASKED)
    engine.end_list()
    assert [hit.fragment.id for hit in engine.search(query).hits] == [hit.fragment.id for hit in before.hits]


def test_a_question_given_up_for_another_one_is_not_kept(open_engine: OpenEngine, log: UseLog) -> None:
    engine = open_engine()
    keep(engine, log, ASKED, reworded="sync conflict")
    assert second(engine.search(SIMILAR)) is None


def test_a_past_answer_that_was_edited_is_never_listed(open_engine: OpenEngine, log: UseLog, vault: Path) -> None:
    keep(open_engine(), log, ASKED)
    (vault / "Licences.md").write_text(NOTES["Licences.md"].replace("40 %", "50 %"), encoding="utf-8")
    assert second(open_engine().search(SIMILAR)) is None


def test_a_past_answer_that_was_deleted_is_never_listed(open_engine: OpenEngine, log: UseLog, vault: Path) -> None:
    keep(open_engine(), log, ASKED)
    (vault / "Licences.md").unlink()
    assert second(open_engine().search(SIMILAR)) is None


@pytest.mark.parametrize("name", ["Sync.md", "Prices/New.md"])
def test_a_past_answer_that_was_moved_is_listed_at_its_present_lines(
    open_engine: OpenEngine, log: UseLog, vault: Path, name: str
) -> None:
    keep(open_engine(), log, ASKED)
    text = (vault / "Licences.md").read_text(encoding="utf-8")
    (vault / "Licences.md").write_text("# Licences\n\nThey moved.\n", encoding="utf-8")
    (vault / name).parent.mkdir(exist_ok=True)
    (vault / name).write_text(f"# Prices\n\n{text.partition('## ')[2].join(('## ', ''))}", encoding="utf-8")
    offered = second(open_engine().search(SIMILAR))
    assert offered is not None
    assert offered.fragment.path == name


def test_a_renamed_note_keeps_its_answer(open_engine: OpenEngine, log: UseLog, vault: Path) -> None:
    keep(open_engine(), log, ASKED)
    (vault / "Licences.md").rename(vault / "Prices.md")
    offered = second(open_engine().search(SIMILAR))
    assert offered is not None
    assert offered.fragment.path == "Prices.md"


def test_the_answer_of_a_forgotten_question_is_no_longer_listed(open_engine: OpenEngine, log: UseLog) -> None:
    engine = open_engine()
    keep(engine, log, ASKED)
    offered = second(engine.search(SIMILAR))
    assert offered is not None
    engine.forget_uses(offered.past_uses)
    assert second(engine.search(SIMILAR)) is None


def test_if_learning_is_off_no_past_answer_is_listed(open_engine: OpenEngine, log: UseLog) -> None:
    engine = open_engine()
    keep(engine, log, ASKED)
    off = Engine(engine.snapshot, Settings(search=SearchSettings(learn=False)), log)
    assert second(off.search(SIMILAR)) is None


def test_questions_are_embedded_once(open_engine: OpenEngine, log: UseLog, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_engine()
    keep(engine, log, ASKED)
    engine.search(SIMILAR)
    texts: list[str] = []
    embedder = engine.snapshot.embedder
    embed = embedder.embed

    def count(asked: list[str]) -> object:
        texts.extend(asked)
        return embed(asked)

    monkeypatch.setattr(embedder, "embed", count)
    engine.search("where do tomatoes grow")
    assert ASKED not in texts
    assert REWORDED not in texts


def test_the_fragment_with_a_text_is_found_by_the_texts_digest(open_engine: OpenEngine) -> None:
    corpus = open_engine().snapshot
    fragment = corpus.note_fragments("Licences.md")[-1]
    assert corpus.keys_of_texts({fragment.digest, "0000000000000000"}) == {fragment.digest: fragment.key}
    union = UnionCorpus({"first": corpus, "second": corpus}.items())
    (key,) = union.keys_of_texts({fragment.digest}).values()
    assert union.fragments([key])[0].path == "first/Licences.md"
