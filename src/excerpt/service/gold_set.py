"""Add questions to the gold set of a vault: those that a user names, and hits that the user picks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from excerpt.gold.questions import GoldQuestion, GoldTarget
    from excerpt.known_vaults import VaultFolders
    from excerpt.model import Fragment
    from excerpt.settings import Paths


def add_question(file: Path, query: str, targets: Iterable[GoldTarget]) -> GoldQuestion:
    """Add a question to the gold set in `file`, or further targets to it, and return it. Raises GoldUnusableError."""
    from excerpt.gold.questions import add_questions, find_question, make_question, read_gold

    question = make_question(query, targets)
    add_questions(file, [question])
    return find_question(read_gold(file).questions, question.query)


def add_fragment(vaults: VaultFolders, user_paths: Paths, query: str, fragment: Fragment) -> GoldTarget:
    """Add the section of a fragment as a target of `query` to the gold set of its vault, and return the target.

    Raises GoldUnusableError.
    """
    from excerpt.gold.run import target_of_fragment

    vault, path = vaults.locate(fragment.path)
    target = target_of_fragment(replace(fragment, path=path))
    add_question(user_paths.gold_file(vault), query, [target])
    return target
