"""Tests of `excerpt search`: one query as text or JSON, and a file of queries."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Result, Signal
from excerpt.base.settings import user_paths
from excerpt.cli.explained import print_explanation
from excerpt.index.writer import LOCK_FILE
from excerpt.search import rerank
from excerpt.search.engine import Engine
from excerpt.search.results import Explanation
from excerpt.text.columns import count_columns
from tests.cli.conftest import Excerpt, Piped
from tests.search.scripted_models import ScriptedReranker
from tests.tui.examples import make_hit

HIT_KEYS = [
    "path",
    "title",
    "heading_path",
    "line_start",
    "line_end",
    "score",
    "confidence",
    "signals",
    "tokens",
    "fragment_id",
    "text",
]


def test_the_text_shows_rank_path_lines_and_text_with_a_summary_on_stderr(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", "sync conflict", "--vault", vault)
    assert answer.code == 0
    first, second, third, *_ = answer.out.split("\n")
    assert first == "  1  Sync › Conflicts"
    assert second.startswith("     Sync.md:9 · ")
    assert third == "     A sync conflict arises when two devices change one note before they meet."
    assert answer.err.startswith("excerpt: ")
    assert "strategy: hybrid" in answer.err


def test_the_summary_says_that_words_and_meaning_take_turns(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", "what do I do against numb fingers?", "--vault", vault)
    assert "by words and meaning" in answer.err


def test_the_json_of_a_search_is_one_object(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", "sync conflict", "--vault", vault, "--json")
    assert answer.code == 0
    assert list(answer.json) == [
        "query",
        "strategy",
        "confidence",
        "elapsed_ms",
        "matched",
        "generation",
        "periods",
        "notice",
        "not_found",
        "hits",
    ]
    hit = answer.json["hits"][0]
    assert list(hit) == HIT_KEYS
    assert (hit["path"], hit["heading_path"], hit["line_start"], hit["line_end"]) == ("Sync.md", ["Conflicts"], 9, 9)
    assert hit["text"] == "A sync conflict arises when two devices change one note before they meet."
    assert sum(signal["part"] for signal in hit["signals"].values()) == pytest.approx(hit["score"], abs=1e-5)


def test_a_misspelt_filter_is_reported_beside_the_hits(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", "sync tga:x", "--vault", vault)
    assert "`tga:`" in answer.err
    assert "`tag:`" in answer.err
    assert answer.out.startswith("  1  Sync")
    asked = excerpt("search", "sync tga:x", "--vault", vault, "--json")
    assert "`tag:`" in asked.err
    assert list(asked.json) == [
        "query",
        "strategy",
        "confidence",
        "elapsed_ms",
        "matched",
        "generation",
        "periods",
        "notice",
        "not_found",
        "hits",
    ]
    assert "`" not in excerpt("search", "sync 12:30", "--vault", vault).err


def test_a_date_recognised_in_the_query_and_the_order_by_date_are_named_below_the_hits(
    excerpt: Excerpt, vault: Path
) -> None:
    assert " · time: in May 2024 (date:2024-05) · " in excerpt("search", "sync in May 2024", "--vault", vault).err
    assert " · newest first · " in excerpt("search", "sync sort:-date", "--vault", vault).err


def test_a_limit_gives_the_first_hits_of_the_longer_list(excerpt: Excerpt, vault: Path) -> None:
    many = excerpt("search", "devices", "--vault", vault, "--json").json["hits"]
    one = excerpt("search", "devices", "--vault", vault, "--json", "--limit", "1").json["hits"]
    assert len(many) > 1
    assert one == many[:1]


def test_the_limit_of_the_settings_is_the_default_for_json(excerpt: Excerpt, home: Path, vault: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "excerpt.toml").write_text("[search]\nlimit = 1\n", encoding="utf-8")
    assert len(excerpt("search", "devices", "--vault", vault, "--json").json["hits"]) == 1


@pytest.mark.parametrize("strategy", ["adaptive", "proximity", "semantic", "hybrid"])
def test_a_strategy_can_be_chosen(excerpt: Excerpt, vault: Path, strategy: str) -> None:
    answer = excerpt("search", "sync conflict", "--vault", vault, "--json", "--strategy", strategy)
    assert answer.json["strategy"] == strategy


def test_nothing_found_exits_with_1_and_an_empty_list(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", '"zzqqxx"', "--vault", vault, "--json")
    assert answer.code == 1
    assert answer.json["hits"] == []


def test_an_empty_vault_is_searched_without_hits(excerpt: Excerpt, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = excerpt("search", "anything", "--vault", tmp_path / "empty")
    assert answer.code == 1
    assert answer.out == ""
    assert answer.err.count("\n") == 1


def test_notes_changed_since_the_index_are_found_as_they_are_now(excerpt: Excerpt, vault: Path) -> None:
    excerpt("search", "x", "--vault", vault)
    (vault / "Colour.md").unlink()
    (vault / "New.md").write_text("Marmalade is made of oranges.\n", encoding="utf-8")
    found = excerpt("search", "marmalade", "--vault", vault, "--json").json["hits"]
    assert found[0]["path"] == "New.md"
    assert excerpt("search", '"banana"', "--vault", vault).code == 1


def test_no_refresh_searches_the_index_as_it_is(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    (vault / "New.md").write_text("Marmalade is made of oranges.\n", encoding="utf-8")
    assert excerpt("search", '"marmalade"', "--vault", vault, "--no-refresh").code == 1


def test_no_refresh_without_an_index_is_an_error_with_a_hint(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", "x", "--vault", vault, "--no-refresh")
    assert answer.code == 3
    assert "excerpt index" in answer.err


def test_the_vault_can_be_set_by_the_environment(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(vault))
    assert excerpt("search", "sync conflict").code == 0


def test_while_another_process_writes_the_index_its_last_state_is_searched(
    excerpt: Excerpt, home: Path, vault: Path
) -> None:
    from filelock import FileLock

    excerpt("index", "--vault", vault)
    folder = next((home / "cache" / "index").iterdir())
    with FileLock(folder / LOCK_FILE):
        answer = excerpt("search", "sync conflict", "--vault", vault)
    assert answer.code == 0
    assert "Sync › Conflicts" in answer.out
    assert "indexing" in answer.err


class Confident(Engine):
    """An engine that gives every hit the confidence that a test sets."""

    given: ClassVar[Confidence | None] = None

    def search(
        self,
        query: str | Sequence[str],
        strategy: Strategy | None = None,
        limit: int | None = None,
        *,
        highlight_count: int | None = None,
    ) -> Result:
        result = super().search(query, strategy, limit, highlight_count=highlight_count)
        hits = tuple(replace(hit, confidence=self.given) for hit in result.hits)
        return replace(result, hits=hits, confidence=self.given)


@pytest.fixture
def set_confidence(monkeypatch: pytest.MonkeyPatch) -> Callable[[Confidence | None], None]:
    """Return a function that sets the confidence of every hit."""
    monkeypatch.setattr("excerpt.search.engine.Engine", Confident)

    def be(confidence: Confidence | None) -> None:
        monkeypatch.setattr(Confident, "given", confidence)

    return be


class TestConfidence:
    @pytest.mark.parametrize("confidence", [Confidence.STRONG, Confidence.LIKELY, Confidence.WEAK])
    def test_is_shown_with_every_hit_and_in_the_summary(
        self, excerpt: Excerpt, vault: Path, set_confidence: Callable[[Confidence], None], confidence: Confidence
    ) -> None:
        set_confidence(confidence)
        answer = excerpt("search", "sync conflict", "--vault", vault)
        assert answer.out.split("\n")[1].endswith(f" · {confidence}")
        assert f"confidence: {confidence}" in answer.err
        assert "No note answers" not in answer.err

    def test_an_answer_of_nothing_is_stated_in_words(
        self, excerpt: Excerpt, vault: Path, set_confidence: Callable[[Confidence], None]
    ) -> None:
        set_confidence(Confidence.NOTHING)
        answer = excerpt("search", "sync conflict", "--vault", vault)
        assert "No note answers" in answer.err.split("\n")[0]
        assert "no answer" not in answer.out

    def test_json_has_it_for_hits_and_result(
        self, excerpt: Excerpt, vault: Path, set_confidence: Callable[[Confidence | None], None]
    ) -> None:
        set_confidence(Confidence.LIKELY)
        answer = excerpt("search", "sync conflict", "--vault", vault, "--json").json
        assert (answer["confidence"], answer["hits"][0]["confidence"]) == ("likely", "likely")
        set_confidence(None)
        answer = excerpt("search", "sync conflict", "--vault", vault, "--json").json
        assert (answer["confidence"], answer["hits"][0]["confidence"]) == (None, None)

    def test_no_hit_has_the_confidence_nothing(self, excerpt: Excerpt, vault: Path) -> None:
        assert excerpt("search", '"zzqqxx"', "--vault", vault, "--json").json["confidence"] == "nothing"


def test_if_the_chosen_strategy_finds_nothing_the_output_names_it_and_the_one_used_instead(
    excerpt: Excerpt, vault: Path
) -> None:
    answer = excerpt("search", "zzqqxx", "--vault", vault, "--strategy", "adaptive")
    assert re.search("semantic, .*adaptive", answer.err)


def test_a_query_of_filters_is_listed_newest_first(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", "tag:howto", "--vault", vault)
    assert "3 matching" in answer.err
    assert "newest first" in answer.err
    assert "leads" not in answer.err
    assert "confidence" not in answer.err


class TestExplain:
    def test_each_hit_is_followed_by_its_score_and_words(self, excerpt: Excerpt, vault: Path) -> None:
        plain = excerpt("search", "sync conflct ", "--vault", vault).out.split("\n")
        lines = excerpt("search", "sync conflct ", "--vault", vault, "--explain").out.split("\n")
        assert [line for line in plain if line[:3].strip().isdigit()] == [
            line for line in lines if line[:3].strip().isdigit()
        ]
        words = next(line.split() for line in lines if line.split()[:1] == ["words"])
        assert (words[1], words[2], words[4]) == ("1.000", "×", "=")
        assert any(line.split()[:1] == ["score"] and "  100 % of the first hit" in line for line in lines)
        assert any(line.split()[:1] == ["sync"] and "text 1, title 1" in line for line in lines)
        assert any("conflict: " in line and "×0." in line for line in lines)

    def test_the_explanation_fits_80_columns_without_colours(self, excerpt: Excerpt, vault: Path) -> None:
        query = "sync conflct zzqqxxzzqqxxzzqqxxzzqqxxzz 同期 synchronised devices their change history"
        answer = excerpt("search", query, "--vault", vault, "--explain")
        table = [line for line in answer.out.split("\n") if line.startswith("     ")]
        assert max(map(count_columns, table)) <= 80
        assert not any(line != line.rstrip() for line in table)
        assert "\x1b" not in answer.out

    def test_the_parts_sum_to_the_score(self, excerpt: Excerpt, vault: Path) -> None:
        lines = excerpt("search", "sync conflict", "--vault", vault, "--explain", "--limit", "1").out.split("\n")
        begin = next(at for at, line in enumerate(lines) if line.split()[:1] == ["signal"])
        end = next(at for at, line in enumerate(lines) if line.split()[:1] == ["score"])
        parts = [float(line.split("=")[1].split()[0]) for line in lines[begin + 1 : end] if "=" in line]
        assert sum(parts) == pytest.approx(float(lines[end].split()[1]), abs=0.006)
        assert f"score {lines[end].split()[1]}" in lines[1]

    def test_json_has_rank_share_and_words_of_each_hit(self, excerpt: Excerpt, vault: Path) -> None:
        hits = excerpt("search", "sync conflict", "--vault", vault, "--explain", "--json").json["hits"]
        assert list(hits[0]) == [*HIT_KEYS, "explanation"]
        told = hits[1]["explanation"]
        assert (told["rank"], told["share"]) == (2, hits[1]["score"] / hits[0]["score"])
        assert [word["word"] for word in told["words"]] == ["sync", "conflict"]
        assert list(told["words"][0]) == [
            *("word", "stands_for", "fragments", "idf", "term_weight", "terms", "places", "part"),
        ]
        assert hits[0]["explanation"]["words"][0]["stands_for"][0]["likeness"] == "exact"

    def test_a_negative_signal_has_its_sign_and_its_own_bar(self, capsys: pytest.CaptureFixture[str]) -> None:
        signals = (Signal("words", 1.0, 0.6, 0.6), Signal("attachment", 1.0, -0.3, -0.3))
        print_explanation(Explanation(replace(make_hit("Sync"), signals=signals), 1, 1.0, ()))
        gain, loss = (line for line in capsys.readouterr().out.splitlines() if line.endswith(("█", "░")))
        assert gain.endswith("0.600  " + "█" * 24)
        assert loss.endswith("-0.300  " + "░" * 12)

    def test_no_hits_are_reported_as_without_explain(self, excerpt: Excerpt, vault: Path) -> None:
        assert excerpt("search", '"zzqqxx"', "--vault", vault, "--explain").code == 1

    def test_explain_takes_one_query(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        assert excerpt("search", "--batch", tmp_path, "--json", "--explain", "--vault", vault).code == 2
        assert excerpt("search", "--batch", tmp_path, "--json", "--why", "Sync", "--vault", vault).code == 2


class TestWhy:
    def test_a_note_is_shown_with_its_rank_under_every_strategy(self, excerpt: Excerpt, vault: Path) -> None:
        answer = excerpt("search", "sync conflict", "--vault", vault, "--why", "synchronising")
        assert answer.code == 0
        lines = answer.out.split("\n")
        assert lines[0] == "  1  Sync › Conflicts"
        begin = next(at for at, line in enumerate(lines) if line.split()[:2] == ["strategy", "rank"])
        ranked = [line.split()[:2] for line in lines[begin + 1 : begin + 7]]
        assert ranked == [[name, "1"] for name in ("auto", "adaptive", "proximity", "semantic", "hybrid", "rrf")]

    def test_it_compares_the_note_with_the_hits_above_it(self, excerpt: Excerpt, vault: Path) -> None:
        answer = excerpt("search", "sync conflict devices banana", "--vault", vault, "--why", "Colour")
        assert "Why it ranks below" in answer.out
        assert "The note lacks " in answer.out
        assert max(len(line) for line in answer.out.split("\n")) <= 80

    def test_a_note_that_does_not_match_has_a_reason_and_exits_with_1(self, excerpt: Excerpt, vault: Path) -> None:
        answer = excerpt("search", '"sync conflict"', "--vault", vault, "--why", "Colour")
        assert answer.code == 1
        assert all(name in answer.out.split("\n")[0] for name in ("Colour.md", '"sync conflict"'))
        answer = excerpt("search", "sync", "--vault", vault, "--why", "Color")
        assert answer.code == 1
        assert answer.out.count("\n") == 1
        assert all(name in answer.out for name in ("Color.", "Colour.md"))

    def test_a_note_without_any_signal_is_explained_in_a_sentence(self, excerpt: Excerpt, vault: Path) -> None:
        answer = excerpt("search", "sync conflict devices change", "--vault", vault, "--why", "Lentil soup")
        assert answer.code == 1
        assert answer.out.count("\n") == 1
        assert "“sync”, “conflict”, “devices”, “change”" in answer.out
        assert "Cooking/Lentil soup.md" in answer.out

    def test_the_json_of_a_search_is_one_object(self, excerpt: Excerpt, vault: Path) -> None:
        told = excerpt("search", "sync conflict", "--vault", vault, "--why", "Colour", "--json").json
        assert list(told) == [
            *("query", "strategy", "note", "path", "absence", "from_limit"),
            *("ranks", "compared", "signal_gaps", "missing", "hit"),
        ]
        assert [list(one) for one in told["ranks"]] == [["strategy", "ranked_by", "rank", "score", "line"]] * 6
        assert told["path"] == "Colour.md"
        gone = excerpt("search", "sync", "--vault", vault, "--why", "Color", "--json").json
        assert (gone["hit"], gone["path"], gone["absence"]["kind"]) == (None, None, "unknown")


class TestBatch:
    def write(self, tmp_path: Path, *lines: str) -> Path:
        file = tmp_path / "batch.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return file

    def test_each_line_is_answered_in_order(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        file = self.write(
            tmp_path,
            '{"id": "b", "query": "lentil soup"}',
            '{"_id": 7, "text": "sync conflict"}',
            '{"id": "a", "query": ""}',
            '{"id": "c", "query": "\\u0000 \\ud800 ☃ \\"unclosed"}',
        )
        answer = excerpt("search", "--batch", file, "--json", "--vault", vault, "--limit", "2")
        lines = [json.loads(line) for line in answer.out.splitlines()]
        assert answer.code == 0
        assert [line["id"] for line in lines] == ["b", "7", "a", "c"]
        keys = ["id", "query", "strategy", "confidence", "elapsed_ms", "periods", "notice", "not_found", "hits"]
        assert [list(line) for line in lines] == [keys] * 4
        assert lines[0]["hits"][0]["path"] == "Cooking/Lentil soup.md"
        assert lines[1]["hits"][0]["path"] == "Sync.md"
        assert lines[2]["hits"] == []
        assert all(line["elapsed_ms"] >= 0 and len(line["hits"]) <= 2 for line in lines)
        assert all(list(hit) == HIT_KEYS for line in lines for hit in line["hits"])

    def test_answers_equal_those_of_single_searches(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        file = self.write(tmp_path, '{"id": 1, "query": "devices"}')
        batch = json.loads(excerpt("search", "--batch", file, "--json", "--vault", vault).out)
        single = excerpt("search", "devices", "--json", "--vault", vault).json
        assert batch["hits"] == single["hits"]
        assert batch["strategy"] == single["strategy"]

    @pytest.mark.parametrize(
        "line",
        [
            *("nonsense", '["id", "query"]', '{"id": 1}', '{"query": "x"}', '{"id": 1, "query": 2}', "{", "null"),
            *("[" * 200_000, '{"a":' * 200_000, f'{{"id": {"1" * 10_000}, "query": "x"}}'),
        ],
        ids=lambda line: line[:20],
    )
    def test_an_invalid_line_is_reported_by_number_before_any_answer(
        self, excerpt: Excerpt, vault: Path, tmp_path: Path, line: str
    ) -> None:
        file = self.write(tmp_path, '{"id": 1, "query": "sync"}', "", line)
        answer = excerpt("search", "--batch", file, "--json", "--vault", vault)
        assert answer.code == 2
        assert answer.out == ""
        assert "batch.jsonl, line 3" in answer.err

    def test_a_missing_file_is_reported(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        answer = excerpt("search", "--batch", tmp_path / "none.jsonl", "--json", "--vault", vault)
        assert answer.code == 2
        assert "none.jsonl" in answer.err

    def test_the_batch_can_be_read_from_a_pipe(self, excerpt: Excerpt, vault: Path, piped: Piped) -> None:
        piped(b'{"id": "p", "query": "lentil"}\r\n')
        answer = excerpt("search", "--batch", "-", "--json", "--vault", vault)
        assert json.loads(answer.out)["id"] == "p"

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
    def test_the_file_may_have_a_byte_order_mark(
        self, excerpt: Excerpt, vault: Path, tmp_path: Path, piped: Piped, encoding: str
    ) -> None:
        data = '{"id": "ü", "query": "lentil"}\n'.encode(encoding)
        (tmp_path / "batch.jsonl").write_bytes(data)
        piped(data)
        for file in (tmp_path / "batch.jsonl", "-"):
            answer = excerpt("search", "--batch", file, "--json", "--vault", vault)
            assert answer.json["id"] == "ü"
            assert answer.json["hits"][0]["path"] == "Cooking/Lentil soup.md"

    def test_a_file_that_is_not_text_is_reported(self, excerpt: Excerpt, vault: Path, piped: Piped) -> None:
        piped(b'{"id": 1, "query": "caf\xe9"}\n')
        answer = excerpt("search", "--batch", "-", "--json", "--vault", vault)
        assert answer.code == 2
        assert all(fact in answer.err for fact in ("stdin", "UTF-8", "byte 23"))

    def test_it_exits_with_1_if_no_query_found_anything(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        file = self.write(tmp_path, '{"id": 1, "query": "\\"zzqqxx\\""}', '{"id": 2, "query": ""}')
        answer = excerpt("search", "--batch", file, "--json", "--vault", vault)
        assert answer.code == 1
        assert len(answer.out.splitlines()) == 2

    def test_batch_requires_json_and_no_query(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        file = self.write(tmp_path, '{"id": 1, "query": "sync"}')
        assert excerpt("search", "--batch", file, "--vault", vault).code == 2
        assert excerpt("search", "words", "--batch", file, "--json", "--vault", vault).code == 2
        assert excerpt("search", "--vault", vault).code == 2


# --- with a reranker --------------------------------------------------------------------------------------------------


@pytest.fixture
def reranker(monkeypatch: pytest.MonkeyPatch) -> ScriptedReranker:
    """Set a reranker that prefers passages about devices, and return it."""
    model = ScriptedReranker(lambda _query, passage: float("Each device" in passage))
    monkeypatch.setattr(rerank, "open_reranker", lambda _settings: model)
    settings = user_paths().settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[rerank]\nmodel = "plugin:scripted"\nweight = 1.0\n', encoding="utf-8")
    return model


def test_the_first_hits_are_reranked_unless_disabled_by_the_option(
    excerpt: Excerpt, vault: Path, reranker: ScriptedReranker
) -> None:
    query = "how do devices keep the notes"
    answers = {
        option: excerpt("search", query, "--vault", vault, "--json", *option.split())
        for option in ("", "--rerank", "--no-rerank")
    }
    headings = {option: answer.json["hits"][0]["heading_path"] for option, answer in answers.items()}
    assert headings[""] == headings["--rerank"] == ["Devices"]
    assert "rerank" not in answers["--no-rerank"].json["hits"][0]
    assert len(reranker.calls) == 2
    moved = answers[""].json["hits"][0]["rerank"]
    assert (moved["score"], moved["moved_from"] > 0) == (1.0, True)
    explained = excerpt("search", query, "--vault", vault, "--explain")
    assert "reranked: " in explained.out
    why = excerpt("search", query, "--vault", vault, "--why", "Sync", "--json")
    assert why.json["hit"]["heading_path"] == ["Devices"]
    packed = excerpt("pack", query, "--vault", vault, "--expand", "none", "--json")
    assert packed.json["passages"][0]["heading_path"] == ["Devices"]


def test_the_order_of_a_reranker_does_not_depend_on_the_number_of_hits_requested(
    excerpt: Excerpt, vault: Path, reranker: ScriptedReranker
) -> None:
    del reranker
    query = "which version wins"
    options = ("--limit 1", "--limit 50", "--limit 1 --no-rerank")
    answers = [excerpt("search", query, "--vault", vault, "--json", *option.split()) for option in options]
    few, many, first_order = ([hit["heading_path"] for hit in answer.json["hits"]] for answer in answers)
    assert few == many[:1] == [["Devices"]]
    assert first_order != few


def test_a_failing_reranker_is_reported_and_the_first_order_kept(
    excerpt: Excerpt, vault: Path, reranker: ScriptedReranker
) -> None:
    reranker.failure = "The server hangs up."
    for command in ("search", "pack"):
        answer = excerpt(command, "how do devices keep the notes", "--vault", vault)
        assert answer.code == 0
        assert "excerpt: Not reranked. The server hangs up." in answer.err


@pytest.mark.parametrize("command", ["search", "pack"])
def test_reranking_without_a_reranker_is_wrong_usage(excerpt: Excerpt, vault: Path, command: str) -> None:
    answer = excerpt(command, "notes", "--vault", vault, "--rerank")
    assert answer.code == 2
    assert "rerank.model" in answer.err


NOTES = {
    "Projects/Alpha.md": "---\ntags: [project/active]\nstatus: open\n---\nSync of alpha, 5 → 7. See [[Beta]].\n",
    "Projects/Beta.md": "---\ntags: [project]\nstatus: done\n---\nSync of beta is state-of-the-art.\n",
    "Diary/2024-05-06.md": "Sync was hard today. We used C++ and `#include`.\n",
}
DAY = 86_400


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Write three notes, changed today, a week ago and a year ago."""
    for age, (path, text) in zip((0, 7, 365), NOTES.items(), strict=True):
        file = tmp_path / "library" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        changed = time.time() - age * DAY
        os.utime(file, (changed, changed))
    return tmp_path / "library"


ALPHA, BETA, DIARY = NOTES


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        # Filters alone: the newest note first.
        ("path:/", [ALPHA, BETA, DIARY]),
        ("-tag:draft", [ALPHA, BETA, DIARY]),
        ("tag:project", [ALPHA, BETA]),
        ("#project/active ", [ALPHA]),
        ("status:done", [BETA]),
        ("modified:2d", [ALPHA]),
        ("modified:<30d", [DIARY]),
        ("created:2024-05", [DIARY]),
        ("link:beta", [ALPHA]),
        ("from:alpha", [BETA]),
        ("-sync", []),
        ("tag:nowhere ", []),
        # Words with filters: only hits that pass the filters.
        ("sync tag:project -status:done", [ALPHA]),
        ("sync path:diary", [DIARY]),
        ("sync -state-of-the-art -hard", [ALPHA]),
        ('sync -"hard today" -title:alpha', [BETA]),
        # Phrases, and # signs that start no tag.
        ('"sync of beta"', [BETA]),
        ('"nc of be"', [BETA]),
        ('"5 → 7"', [ALPHA]),
        ('"→"', [ALPHA]),
        ('"." -tag:project', [DIARY]),
        ("#include", [DIARY]),
    ],
)
def test_only_notes_that_pass_the_filters_are_searched(
    excerpt: Excerpt, library: Path, query: str, paths: list[str]
) -> None:
    answer = excerpt("search", "--vault", library, "--json", "--", query)
    assert [hit["path"] for hit in answer.json["hits"]] == paths
    assert answer.code == (0 if paths else 1)


def test_each_alternative_has_its_own_filters(excerpt: Excerpt, library: Path) -> None:
    answer = excerpt("search", "--vault", library, "--json", "hard path:diary | tag:project/active ")
    assert sorted(hit["path"] for hit in answer.json["hits"]) == [DIARY, ALPHA]
