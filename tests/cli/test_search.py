"""search: one query for a reader or a program, and a file of them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from excerpt.index.writer import LOCK
from tests.cli.conftest import Excerpt

HIT_KEYS = [
    "path",
    "title",
    "heading_path",
    "line_start",
    "line_end",
    "score",
    "signals",
    "tokens",
    "fragment_id",
    "text",
]


def test_a_reader_sees_rank_place_lines_and_text_and_the_summary_beside(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", "sync conflict", "--vault", vault)
    assert answer.code == 0
    first, second, third, *_ = answer.out.split("\n")
    assert first == "  1  Sync › Conflicts"
    assert second.startswith("     Sync.md:9-9 · ")
    assert third == "     A sync conflict arises when two devices change one note before they meet."
    assert answer.err.startswith("excerpt: ")
    assert "proximity leads" in answer.err or "adaptive leads" in answer.err


def test_a_program_gets_one_object(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", "sync conflict", "--vault", vault, "--json")
    assert answer.code == 0
    assert list(answer.json) == ["query", "strategy", "elapsed_ms", "matched", "generation", "hits"]
    hit = answer.json["hits"][0]
    assert list(hit) == HIT_KEYS
    assert (hit["path"], hit["heading_path"], hit["line_start"], hit["line_end"]) == ("Sync.md", ["Conflicts"], 9, 9)
    assert hit["text"] == "A sync conflict arises when two devices change one note before they meet."
    assert sum(signal["part"] for signal in hit["signals"].values()) <= hit["score"] + 1e-6


def test_the_limit_is_the_first_hits_of_the_longer_list(excerpt: Excerpt, vault: Path) -> None:
    many = excerpt("search", "devices", "--vault", vault, "--json").json["hits"]
    one = excerpt("search", "devices", "--vault", vault, "--json", "--limit", "1").json["hits"]
    assert len(many) > 1
    assert one == many[:1]


def test_the_limit_of_the_settings_is_the_default_of_programs(excerpt: Excerpt, home: Path, vault: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "excerpt.toml").write_text("[search]\nlimit = 1\n", encoding="utf-8")
    assert len(excerpt("search", "devices", "--vault", vault, "--json").json["hits"]) == 1


@pytest.mark.parametrize("strategy", ["adaptive", "proximity", "semantic", "hybrid"])
def test_a_strategy_can_be_named(excerpt: Excerpt, vault: Path, strategy: str) -> None:
    answer = excerpt("search", "sync conflict", "--vault", vault, "--json", "--strategy", strategy)
    assert answer.json["strategy"] == strategy


def test_nothing_found_is_exit_code_1_and_an_empty_list(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", '"zzqqxx"', "--vault", vault, "--json")
    assert answer.code == 1
    assert answer.json["hits"] == []


def test_an_empty_vault_is_searched_and_nothing_is_found(excerpt: Excerpt, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = excerpt("search", "anything", "--vault", tmp_path / "empty")
    assert answer.code == 1
    assert answer.out == ""
    assert answer.err.count("\n") == 1


def test_notes_changed_since_are_found_as_they_are_now(excerpt: Excerpt, vault: Path) -> None:
    excerpt("search", "x", "--vault", vault)
    (vault / "Colour.md").unlink()
    (vault / "New.md").write_text("Marmalade is made of oranges.\n", encoding="utf-8")
    found = excerpt("search", "marmalade", "--vault", vault, "--json").json["hits"]
    assert found[0]["path"] == "New.md"
    assert excerpt("search", '"banana"', "--vault", vault).code == 1


def test_no_refresh_answers_from_the_index_as_it_is(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    (vault / "New.md").write_text("Marmalade is made of oranges.\n", encoding="utf-8")
    assert excerpt("search", '"marmalade"', "--vault", vault, "--no-refresh").code == 1


def test_no_refresh_without_an_index_says_what_to_do(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", "x", "--vault", vault, "--no-refresh")
    assert answer.code == 3
    assert "excerpt index" in answer.err


def test_the_vault_may_come_from_the_environment(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(vault))
    assert excerpt("search", "sync conflict").code == 0


def test_a_vault_being_indexed_elsewhere_is_searched_as_far_as_it_is(excerpt: Excerpt, home: Path, vault: Path) -> None:
    from filelock import FileLock

    excerpt("index", "--vault", vault)
    folder = next((home / "cache" / "index").iterdir())
    with FileLock(folder / LOCK):
        answer = excerpt("search", "sync conflict", "--vault", vault)
    assert answer.code == 0
    assert "Sync › Conflicts" in answer.out
    assert "indexing" in answer.err


class TestBatch:
    def write(self, tmp_path: Path, *lines: str) -> Path:
        file = tmp_path / "batch.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return file

    def test_one_line_is_answered_for_each_in_order(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
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
        assert [list(line) for line in lines] == [["id", "query", "strategy", "elapsed_ms", "hits"]] * 4
        assert lines[0]["hits"][0]["path"] == "Cooking/Lentil soup.md"
        assert lines[1]["hits"][0]["path"] == "Sync.md"
        assert lines[2]["hits"] == []
        assert all(line["elapsed_ms"] >= 0 and len(line["hits"]) <= 2 for line in lines)
        assert all(list(hit) == HIT_KEYS for line in lines for hit in line["hits"])

    def test_it_answers_as_single_searches_do(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        file = self.write(tmp_path, '{"id": 1, "query": "devices"}')
        batch = json.loads(excerpt("search", "--batch", file, "--json", "--vault", vault).out)
        single = excerpt("search", "devices", "--json", "--vault", vault).json
        assert batch["hits"] == single["hits"]
        assert batch["strategy"] == single["strategy"]

    @pytest.mark.parametrize(
        "line", ["nonsense", '["id", "query"]', '{"id": 1}', '{"query": "x"}', '{"id": 1, "query": 2}', "{", "null"]
    )
    def test_a_broken_line_is_named_by_its_number_before_anything_is_answered(
        self, excerpt: Excerpt, vault: Path, tmp_path: Path, line: str
    ) -> None:
        file = self.write(tmp_path, '{"id": 1, "query": "sync"}', "", line)
        answer = excerpt("search", "--batch", file, "--json", "--vault", vault)
        assert answer.code == 2
        assert answer.out == ""
        assert "batch.jsonl, line 3" in answer.err

    def test_a_missing_file_is_told(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        answer = excerpt("search", "--batch", tmp_path / "none.jsonl", "--json", "--vault", vault)
        assert answer.code == 2
        assert "none.jsonl cannot be read" in answer.err

    def test_it_reads_a_pipe(self, excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO('{"id": "p", "query": "lentil"}\n'))
        answer = excerpt("search", "--batch", "-", "--json", "--vault", vault)
        assert json.loads(answer.out)["id"] == "p"

    def test_it_found_nothing_where_no_query_did(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        file = self.write(tmp_path, '{"id": 1, "query": "\\"zzqqxx\\""}', '{"id": 2, "query": ""}')
        answer = excerpt("search", "--batch", file, "--json", "--vault", vault)
        assert answer.code == 1
        assert len(answer.out.splitlines()) == 2

    def test_it_is_asked_for_with_json_and_without_a_query(self, excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
        file = self.write(tmp_path, '{"id": 1, "query": "sync"}')
        assert excerpt("search", "--batch", file, "--vault", vault).code == 2
        assert excerpt("search", "words", "--batch", file, "--json", "--vault", vault).code == 2
        assert excerpt("search", "--vault", vault).code == 2
