"""Tests of docs/design, README and CONTRIBUTING. They are of no module: they compare pages with each other."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
DESIGN = sorted((ROOT / "docs/design").glob("*.md"))
PAGES = [*DESIGN, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/README.md"))]
MAX_WORDS = 13_000
MAX_WORDS_OF_A_PAGE = 1_500
"""A page has the decision, the reason and the table that proves it; docstrings say how the code works."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    assert [target for target in targets if not _exists(page, target)] == []


def _exists(page: Path, target: str) -> bool:
    path, _, heading = unquote(target).partition("#")
    file = page.parent / path if path else page
    return file.exists() and (not heading or heading in _anchors(file))


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_of_the_design_names_every_page() -> None:
    named = set(re.findall(r"\]\(([a-z-]+\.md)\)", (ROOT / "docs/design/README.md").read_text(encoding="utf-8")))
    assert named == {page.name for page in DESIGN} - {"README.md"}


def test_pages_named_by_the_code_exist() -> None:
    sources = [path for folder in ("src", "tests", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    named = {name for path in sources for name in re.findall(r"docs/design/([a-z-]+\.md)", path.read_text("utf-8"))}
    assert named <= {page.name for page in DESIGN}


def test_the_design_is_short() -> None:
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in DESIGN}
    assert sum(words.values()) <= MAX_WORDS
    assert {name: count for name, count in words.items() if count > MAX_WORDS_OF_A_PAGE} == {}
