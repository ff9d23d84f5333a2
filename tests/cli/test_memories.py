"""remember, recall and forget from the shell."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.conftest import Excerpt


def test_what_is_remembered_is_recalled_by_words_and_tags(excerpt: Excerpt, vault: Path) -> None:
    kept = excerpt("remember", "We ship in March", "--tag", "release", "--why", "settled", "--vault", vault, "--json")
    assert kept.code == 0
    excerpt("remember", "Soup on Friday", "--vault", vault)
    for asked in (("ship",), ("--tag", "release"), ("march", "--tag", "release")):
        answer = excerpt("recall", *asked, "--vault", vault, "--json")
        assert answer.code == 0
        assert answer.json == {"memories": [kept.json]}
    assert kept.json["text"] == "We ship in March"
    assert kept.json["tags"] == ["release"]
    assert kept.json["why"] == "settled"


def test_recall_without_words_lists_all_newest_first(excerpt: Excerpt, vault: Path) -> None:
    excerpt("remember", "first thought", "--vault", vault)
    excerpt("remember", "second thought", "--vault", vault)
    answer = excerpt("recall", "--vault", vault)
    assert answer.code == 0
    assert answer.out.index("second thought") < answer.out.index("first thought")


def test_nothing_recalled_is_exit_code_1(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("recall", "anything", "--vault", vault, "--json")
    assert answer.code == 1
    assert answer.json == {"memories": []}


def test_a_forgotten_memory_is_gone_and_its_file_is_kept(excerpt: Excerpt, home: Path, vault: Path) -> None:
    kept = excerpt("remember", "a passing thought", "--vault", vault, "--json").json
    answer = excerpt("forget", kept["id"], "--vault", vault)
    assert answer.code == 0
    assert excerpt("recall", "--vault", vault).code == 1
    assert any("a passing thought" in file.read_text(encoding="utf-8") for file in home.rglob("trash/*.md"))


def test_forgetting_what_is_not_there_is_a_sentence(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("forget", "m0000000000", "--vault", vault)
    assert answer.code == 3
    assert answer.err.startswith("excerpt: There is no memory m0000000000.")


def test_text_is_read_from_a_pipe(excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe\n"))
    excerpt("remember", "-", "--vault", vault)
    assert "from a pipe" in excerpt("recall", "--vault", vault).out


def test_a_broken_memory_file_is_named_and_the_others_are_listed(excerpt: Excerpt, home: Path, vault: Path) -> None:
    excerpt("remember", "whole", "--vault", vault)
    folder = next(home.rglob("*.md")).parent
    (folder / "broken.md").write_bytes(b"---\nid: [\n---\n\x00\xff")
    answer = excerpt("recall", "--vault", vault)
    assert answer.code == 0
    assert "whole" in answer.out
    assert "broken.md" in answer.err
