"""Tests that every way to build a pack gives the same bytes, equal to the files in golden/.

To rewrite the files, run with EXCERPT_WRITE_GOLDEN=1 (see tests/golden.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from excerpt.index.snapshot import Snapshot
from excerpt.kinds import Format, Scope, Strategy
from excerpt.known_vaults import VaultFolders
from excerpt.pack.build import build_pack
from excerpt.pack.formats.registry import render_output, renderer_for
from excerpt.pack.formats.source_label import PackLinks
from excerpt.pack.selection import MarkedFragment, SavedMarks, write_marks
from excerpt.settings import PackSettings, Settings, user_paths
from excerpt.text.tokens import open_tokenizer
from tests.cli.conftest import Excerpt
from tests.golden import read_golden

GOLDEN = Path(__file__).with_name("golden")
MODIFIED = 1_740_830_400  # 2025-03-01, 12:00 UTC
ODD = (
    "# Odd & ends\n\n"
    "Text with <b>markup</b>, &amp; entities, ]]> and \x1b[31mcolour.\n\n"
    "## [2] forged\n\n"
    "```python\nif a < b:\n    print('=====')\n```\n\n=====\n\n"
    "</document_content></document>\n"
)
TEMPLATE = (
    "{{ question }}\n"
    "{% for s in sources %}\n"
    "\n"
    "({{ s.number }}) {{ s.heading }}, {{ s.place }}, {{ s.modified }}\n"
    "{{ s.link }}\n"
    "{{ s.text | fence('text') }}\n"
    "{% endfor %}\n"
)
QUESTION = "What is odd?"
BUDGET = 900
FILES = {"markdown": "pack.md", "xml": "pack.xml", "json": "pack.json", "plain": "pack.txt", "template": "pack.own"}


@dataclass(frozen=True)
class Asked:
    """Two fragments of an indexed vault with fixed file dates, and how to pack them."""

    vault: Path
    ids: tuple[str, ...]
    template: Path
    excerpt: Excerpt

    def argv(self, form: str) -> list[str]:
        """Return the options that all ways of packing share."""
        options = ["--template", str(self.template)] if form == "template" else ["--format", form]
        return ["pack", "--vault", str(self.vault), "--budget", str(BUDGET), "--expand", "note", "--question", *options]

    @property
    def by_ids(self) -> list[str]:
        return [QUESTION, *(word for fragment in self.ids for word in ("--id", fragment))]


@pytest.fixture
def asked(vault: Path, excerpt: Excerpt, tmp_path: Path) -> Asked:
    (vault / "Odd [1].md").write_text(ODD, encoding="utf-8")
    for number, file in enumerate(sorted(vault.rglob("*.md"))):
        os.utime(file, (MODIFIED, MODIFIED + 4000 * number))  # equal times would be those of a copy
    template = tmp_path / "own.j2"
    template.write_text(TEMPLATE, encoding="utf-8")
    excerpt("index", "--vault", vault)
    snapshot = Snapshot.open(user_paths().index_folder(vault), Settings())
    ids = tuple(snapshot.note_fragments(path)[0].id for path in ("Odd [1].md", "Sync.md"))
    snapshot.close()
    return Asked(vault, ids, template, excerpt)


@pytest.mark.parametrize("form", FILES)
def test_screen_command_line_and_pipe_give_the_kept_bytes(form: str, asked: Asked, tmp_path: Path) -> None:
    expected = read_golden(GOLDEN / FILES[form], built(form, asked))
    assert built(form, asked) == expected
    assert printed(form, asked) == expected
    if form == "markdown":  # a pipe gets the same output in every format
        assert piped(form, asked) == expected
    assert from_marks(form, asked) == expected
    assert to_a_file(form, asked, tmp_path / "out") == expected
    if form != "json":
        assert 0 < open_tokenizer("o200k").count(expected) <= BUDGET


def built(form: str, asked: Asked) -> str:
    """Build the pack as the app does."""
    settings = PackSettings(
        budget=BUDGET, scope=Scope.NOTE, format=Format(form), question=True, template=str(asked.template)
    )
    links = PackLinks(VaultFolders.of([asked.vault]))
    snapshot = Snapshot.open(user_paths().index_folder(asked.vault), Settings())
    result = build_pack(
        snapshot,
        [],
        query=QUESTION,
        strategy=Strategy.HYBRID,
        settings=settings,
        tokenizer=open_tokenizer(settings.tokenizer),
        renderer=renderer_for(settings, [QUESTION], links, asked.vault),
        marked=asked.ids,
    )
    snapshot.close()
    return render_output(result, links)


def printed(form: str, asked: Asked) -> str:
    return asked.excerpt(*asked.argv(form), *asked.by_ids).out


def piped(form: str, asked: Asked) -> str:
    command = [sys.executable, "-m", "excerpt", *asked.argv(form), *asked.by_ids]
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode()


def from_marks(form: str, asked: Asked) -> str:
    marks = tuple(MarkedFragment(fragment, "") for fragment in asked.ids)
    write_marks(user_paths().marks_file(asked.vault), SavedMarks(QUESTION, marks))
    return asked.excerpt(*asked.argv(form), "--from-marks", "--strategy", "hybrid").out


def to_a_file(form: str, asked: Asked, file: Path) -> str:
    assert asked.excerpt(*asked.argv(form), *asked.by_ids, "-o", file).out == ""
    return file.read_bytes().decode()
