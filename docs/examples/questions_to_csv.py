"""Find the best passages for many questions, as CSV: `python questions_to_csv.py ~/notes < questions.txt`."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from typing import TextIO

import excerpt


def write_answers(folder: str, questions: Iterable[str], out: TextIO, limit: int = 3) -> None:
    lines = [line.strip() for line in questions if line.strip()]
    table = csv.writer(out)
    table.writerow(("question", "confidence", "path", "line", "tags", "score", "text"))
    with excerpt.open(folder) as vault:
        results = vault.search_many(lines, literal=True, limit=limit, spans=False)
    for question, result in zip(lines, results, strict=True):
        for hit in result:
            tags = " ".join(hit.tags)
            table.writerow((question, hit.confidence, hit.path, hit.line_start, tags, round(hit.score, 3), hit.text))


if __name__ == "__main__":
    write_answers(sys.argv[1], sys.stdin, sys.stdout)
