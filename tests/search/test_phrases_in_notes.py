"""Tests of quoted phrases in a real index: matched by words or literally."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.index.snapshot import Snapshot
from excerpt.search.evidence import analyze_text
from excerpt.search.proximity import find_phrase_rows
from tests.search.library import open_vault, queries, rows_allowed

NOTES = {
    "Forms.md": "# Forms\n\nA settled conflict.\n\n## Other\n\nSettling conflicts takes time.\n",
    "Marks.md": "# Marks\n\nIt is a **very _long_** word;\nbroken here -> and `std::vector<int>` there (a, b).\n",
    "Names.md": "---\naliases: [Third name]\n---\n"
    "# Release notes\n\n## Known problems\n\nNone, says the release note.\n",
    "Signs.md": "# Signs\n\nFrom a → b, 50 % of the time … and a\u00a0hard space. Straße, CAFÉ, ﬁne, naïve.\n\n"
    "> quoted | barred\n",
    "Table.md": "# Table\n\n| one | two |\n|---|---|\n| 1.0.21 | C++ & R&D |\n\n"
    "```sh\ngit commit -m 'x' --amend\n```\n",
    "言語.md": "# 言語\n\n新しい保管庫を作成して、ノートを同期します。ファイルはすべて暗号化されます。\n",
    "Разное.md": "# Разное\n\nСинхронизация заметок между устройствами — дело непростое.\n",
    "مزامنة.md": "# مزامنة\n\nتتم مزامنة الملاحظات بين الأجهزة، والملفات مشفرة.\n",
    "ไทย.md": "# ไทย\n\nซิงค์โน้ตระหว่างอุปกรณ์ทั้งหมดของคุณ\n",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    snapshot = open_vault(tmp_path_factory.mktemp("phrases"), NOTES)
    yield snapshot
    snapshot.close()


def found(notes: Snapshot, phrase: str) -> list[str]:
    rows = find_phrase_rows(notes, phrase, lambda text: analyze_text(text, notes))
    return [" › ".join(f.heading_path) for f in notes.fragments(notes.table.keys[rows].tolist())]


@pytest.mark.parametrize(
    ("phrase", "where"),
    [
        # Literal matches first, else by word forms.
        ("settled conflict", ["Forms"]),
        ("SETTLED  conflict", ["Forms"]),
        ("settling conflicts", ["Forms › Other"]),
        ("settles conflict", ["Forms", "Forms › Other"]),
        # Markup and line ends are ignored.
        ("very long word", ["Marks"]),
        ("word; broken", ["Marks"]),
        ("word broken", ["Marks"]),
        ("cafe, fine", ["Signs"]),
        # Partial words, symbols.
        ("ery lon", ["Marks"]),
        ("ettled confl", ["Forms"]),
        ("->", ["Marks"]),
        ("→", ["Signs"]),
        ("… and a", ["Signs"]),
        ("% of", ["Signs"]),
        (">(", []),
        # In names.
        ("release notes", ["Release notes › Known problems"]),
        ("known problems", ["Release notes › Known problems"]),
        ("third name", ["Release notes › Known problems"]),
        # Other scripts.
        ("保管庫を作", ["言語"]),
        ("заметок между", ["Разное"]),
        ("инхронизац", ["Разное"]),
        ("nowhere at all", []),
    ],
)
def test_where_a_phrase_is_found(notes: Snapshot, phrase: str, where: list[str]) -> None:
    assert found(notes, phrase) == where


def test_a_phrase_with_more_words_finds_no_more(notes: Snapshot) -> None:
    assert set(found(notes, "settled conflict")) <= set(found(notes, "settled"))


@given(st.data())
def test_what_is_copied_from_a_note_and_quoted_is_found(notes: Snapshot, data: st.DataObject) -> None:
    every = notes.fragments(notes.table.keys.tolist())
    text = data.draw(st.sampled_from([fragment.text for fragment in every]))
    line = data.draw(st.sampled_from([line for line in text.split("\n") if line.strip()]))
    start = data.draw(st.integers(0, len(line) - 1))
    phrase = line[start : data.draw(st.integers(start + 1, len(line)))]
    if not phrase.strip() or '"' in phrase:
        return
    (query,) = queries(notes, f'"{phrase}"')
    flags = rows_allowed(notes, query)
    assert flags is not None
    assert flags.any()
