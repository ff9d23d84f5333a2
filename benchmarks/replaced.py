"""Measure what is shown and packed of replaced notes: `python -m benchmarks.replaced [--data ../shared]`.

`replaced.jsonl` has 40 decisions in twelve series, written in three styles (properties, first lines with a link,
headers and Status sections; one series in German, one in Chinese), and 60 questions in people's words. Twelve of these
have the name or the time of an older decision, which may then stand first. A replaced passage is *above* if it stands
before one that replaces it, among the first ten hits. With data, the notes of its vaults that are called replaced are
listed: read them, for none may be wrong.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import excerpt
from benchmarks.measure import table
from benchmarks.targets import verdict

DECISIONS = Path(__file__).with_name("replaced.jsonl")
VAULTS = ("obsidian-help/en", "dendron-site", "powershell-docs-one", "knowledge-garden-zh", "ttrpg-share")
LIMIT = 10


class Question(NamedTuple):
    """A question about a series of decisions; `names` is the path of the older one that it names, "" for none."""

    series: str
    query: str
    names: str


def read_decisions() -> tuple[dict[str, list[tuple[str, str]]], list[Question]]:
    """Return the (path, text) pairs of each series, the oldest first, and the questions."""
    series: dict[str, list[tuple[str, str]]] = {}
    questions = []
    for line in DECISIONS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "query" in row:
            questions.append(Question(row["series"], row["query"], row["names"]))
        else:
            series.setdefault(row["series"], []).append((row["path"], row["text"]))
    return series, questions


def find_pairs_in_wrong_order(paths: Sequence[str], chain: Sequence[str], named: str) -> list[tuple[str, str]]:
    """Return the (older, newer) notes of a series of which the older one stands first in `paths`, except `named`."""
    places = {path: paths.index(path) for path in chain if path in paths}
    return [
        (older, newer)
        for at, older in enumerate(chain)
        for newer in chain[at + 1 :]
        if older != named and older in places and newer in places and places[older] < places[newer]
    ]


def ask(vault: excerpt.Vault, series: dict[str, list[tuple[str, str]]], questions: Sequence[Question]) -> None:
    """Ask all questions; print each replaced passage that is shown wrongly, and the counts."""
    above, unmarked, shown, first = 0, 0, 0, 0
    for question in questions:
        chain = [path for path, _ in series[question.series]]
        hits = [hit.path for hit in vault.search(question.query, limit=LIMIT).hits]
        wrong = find_pairs_in_wrong_order(hits, chain, question.names)
        first += bool(hits) and hits[0] == (question.names or chain[-1])
        passages = [each for each in vault.pack(question.query).passages if each.path in chain[:-1]]
        bare = [each.path for each in passages if each.replaced is None]
        above, unmarked, shown = above + len(wrong), unmarked + len(bare), shown + len(passages)
        for older, newer in wrong:
            print(f"{question.query!r}: {older} is above {newer}")
        for path in bare:
            print(f"{question.query!r}: {path} is in the pack without a mark")
    marked = {hit.path for hit in vault.search("is:replaced", limit=200).hits}
    old = {path for notes in series.values() for path, _ in notes[:-1]}
    print(verdict(marked == old, f"{len(marked & old)} of {len(old)} replaced notes are recognised, and no other"))
    print(verdict(not above, f"{above} replaced passages above what replaces them, among the first {LIMIT}"))
    print(verdict(not unmarked, f"{unmarked} of {shown} replaced passages in packs without a mark"))
    print(f"- {first} of {len(questions)} questions have the note that they ask for first")


def list_marked_notes(data: Path) -> Iterator[list[str]]:
    """Yield the name of each vault of the data, its number of notes, and those that are called replaced."""
    for name in VAULTS:
        folder = data / "data" / "vaults" / name
        if folder.is_dir():
            with excerpt.open(folder) as vault:
                vault.refresh()
                marked = sorted({hit.path for hit in vault.search("is:replaced", limit=200).hits})
                yield [name, f"{vault.status().notes:,}", ", ".join(marked) or "none"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replaced")
    parser.add_argument("--data", type=Path, help="folder with data/; without it, the decisions alone")
    args = parser.parse_args()
    series, questions = read_decisions()
    with tempfile.TemporaryDirectory() as folder:
        for path, text in (note for notes in series.values() for note in notes):
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        with excerpt.open(folder) as vault:
            vault.refresh()
            ask(vault, series, questions)
    if args.data is not None:
        table(("vault", "notes", "called replaced"), list(list_marked_notes(args.data)))


if __name__ == "__main__":
    main()
