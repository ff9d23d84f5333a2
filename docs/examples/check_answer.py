"""Check an LLM's answer against its pack and the vault: `python check_answer.py ~/notes answer.md pack.md`.

Prints every citation and quotation that does not hold; exits with 1 if there is one, for a pipeline.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import excerpt


def findings(check: excerpt.AnswerCheck) -> Iterator[str]:
    """Yield a sentence for each citation and quotation that does not hold, and each source that has changed."""
    for citation in check.citations:
        if not citation.holds:
            yield f"[{citation.number}], line {citation.citation.line}: {citation.state}"
    for quotation in check.quotations:
        if not quotation.holds:
            yield f"line {quotation.quotation.line}: no source says {quotation.quotation.text!r}"
    for source, comparison in zip(check.pack.sources, check.comparisons, strict=True):
        if comparison.state is not excerpt.SourceState.STANDS:
            yield f"source [{source.number}] {source.path}: {comparison.state}"


def main(folder: str, answer: str, pack: str) -> int:
    with excerpt.open(folder) as vault:
        check = vault.check(Path(answer).read_text(encoding="utf-8"), Path(pack).read_text(encoding="utf-8"))
    for finding in findings(check):
        print(finding)
    return 0 if check.holds else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
