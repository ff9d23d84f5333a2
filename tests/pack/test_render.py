"""The two forms of a pack."""

from __future__ import annotations

import json

from excerpt.model import Entry, LeftOut, Pack, PackResult, Scope, Strategy
from excerpt.pack.render import as_json, as_markdown


def pack(text: str, title: str = "Sync", path: str = "Guides/Sync.md", cut: bool = False) -> Pack:
    return Pack(
        id="0123456789:o:2-3",
        path=path,
        title=title,
        heading_path=("Conflicts", "By hand"),
        line_start=12,
        line_end=14,
        scope=Scope.NEIGHBORS,
        entry=Entry("abcdef012345", 2, 0.75, ("Conflicts", "By hand")),
        fragment_ids=("abcdef012345", "abcdef012346"),
        text=text,
        tokens=9,
        digest="0c5d9a44e7f1b2a3",
        cut_above=cut,
        cut_below=cut,
    )


def test_sources_are_numbered_and_say_where_they_are_from() -> None:
    assert as_markdown([pack("One.\n\nTwo."), pack("Three.", cut=True)]) == (
        "## [1] Sync › Conflicts › By hand\n"
        "Guides/Sync.md, lines 12-14, digest 0c5d9a44\n"
        "\n"
        "```markdown\n"
        "One.\n"
        "\n"
        "Two.\n"
        "```\n"
        "\n"
        "## [2] Sync › Conflicts › By hand\n"
        "Guides/Sync.md, lines 12-14, digest 0c5d9a44\n"
        "\n"
        "[…]\n"
        "\n"
        "```markdown\n"
        "Three.\n"
        "```\n"
        "\n"
        "[…]\n"
    )


def test_no_packs_are_no_text() -> None:
    assert as_markdown([]) == ""


def test_a_title_that_the_first_heading_repeats_is_said_once() -> None:
    assert as_markdown([pack("x", title="Conflicts")]).startswith("## [1] Conflicts › By hand\n")


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    text = "````\n```\n````"
    assert f"`````markdown\n{text}\n`````\n" in as_markdown([pack(text)])


def test_a_title_and_a_path_cannot_leave_their_lines() -> None:
    text = as_markdown([pack("x", title="a\n## [2] forged", path="b\n```\x1b[2J.md")])
    assert [line for line in text.split("\n") if line.startswith("##")] == [
        "## [1] a␊## [2] forged › Conflicts › By hand"
    ]
    assert text.split("\n")[1] == "b␊```␛[2J.md, lines 12-14, digest 0c5d9a44"


def test_json_has_the_documented_fields_and_the_text_as_it_is() -> None:
    result = PackResult(
        query="sync “conflict”",
        strategy=Strategy.PROXIMITY,
        budget=4000,
        tokenizer="o200k",
        packs=(pack("Straße\n"),),
        left_out=(LeftOut("b.md", 1, 2, 30, "too large"),),
        text="…",
        tokens=41,
        value=0.75,
        source_tokens=900,
    )
    assert json.loads(as_json(result)) == {
        "query": "sync “conflict”",
        "strategy": "proximity",
        "budget": 4000,
        "tokenizer": "o200k",
        "tokens": 41,
        "value": 0.75,
        "packs": [
            {
                "id": "0123456789:o:2-3",
                "path": "Guides/Sync.md",
                "heading_path": ["Conflicts", "By hand"],
                "line_start": 12,
                "line_end": 14,
                "scope": "neighbors",
                "entry": {
                    "fragment_id": "abcdef012345",
                    "order": 2,
                    "score": 0.75,
                    "heading_path": ["Conflicts", "By hand"],
                },
                "fragment_ids": ["abcdef012345", "abcdef012346"],
                "tokens": 9,
                "text": "Straße\n",
            }
        ],
        "left_out": [{"path": "b.md", "line_start": 1, "line_end": 2, "tokens": 30, "reason": "too large"}],
    }
    assert "Straße" in as_json(result)
