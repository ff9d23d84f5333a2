"""Measure whether parts of questions that no passage covers are named: `python -m benchmarks.two_parts`.

The 72 questions of `two_parts.jsonl` have two parts each and are asked of three vaults; 32 of them have a part that the
vault does not answer, with the words by which it is recognised. The last twelve have courtesies, abbreviations or
"and/or". A part is *named* if one that is named has one of
these words. It is *wrongly named* if a question has an answer to the part that is named.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.judgements import open_outside
from benchmarks.measure import table
from benchmarks.memory_sets import split_words
from benchmarks.targets import verdict
from excerpt.base.settings import Settings, user_paths
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine

QUESTIONS = Path(__file__).with_name("two_parts.jsonl")
MIN_NAMED, MAX_WRONG = 0.6, 0.05


class TwoParts(NamedTuple):
    """A question of two parts; `absent` are words of the part that the vault does not answer, () if it answers both."""

    vault: str
    query: str
    absent: tuple[str, ...]

    def is_named(self, not_found: tuple[str, ...]) -> bool:
        """Return whether the part without an answer is among the parts that were not found."""
        return any(self._has_absent_word(part) for part in not_found)

    def is_wrong(self, not_found: tuple[str, ...]) -> bool:
        """Return whether a part that the vault answers is among the parts that were not found."""
        return not all(self._has_absent_word(part) for part in not_found)

    def _has_absent_word(self, part: str) -> bool:
        return not set(self.absent).isdisjoint(split_words(part))


def read_questions() -> Iterator[TwoParts]:
    """Yield the questions of the file."""
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield TwoParts(row["vault"], row["query"], tuple(row["absent"]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.two_parts")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    args = parser.parse_args()
    outside = open_outside(args.data)
    questions = list(read_questions())
    rows, named, wrong = [], 0, 0
    for name in dict.fromkeys(question.vault for question in questions):
        vault = outside.data / "data" / "vaults" / name
        folder = user_paths().index_folder(vault.resolve())
        build(vault, folder, Settings())
        engine = Engine(Snapshot.open(folder, Settings()), Settings())
        for question in (each for each in questions if each.vault == name):
            not_found = engine.search(question.query).not_found
            named += question.is_named(not_found)
            wrong += question.is_wrong(not_found)
            rows.append((question.query, ", ".join(question.absent), ", ".join(not_found)))
        engine.snapshot.close()
    table(("question", "absent", "named"), rows)
    absent = sum(bool(question.absent) for question in questions)
    print()
    print(verdict(named >= MIN_NAMED * absent, f"{named} of {absent} parts without an answer are named"))
    print(
        verdict(wrong <= MAX_WRONG * len(questions), f"{wrong} of {len(questions)} questions have a part wrongly named")
    )


if __name__ == "__main__":
    main()
