"""Measure what kept questions are worth: `make past_answers`, or `python -m benchmarks.past_answers`.

The plain lines of the asked sets are kept questions: each was followed by an opening of the first passage that answers
it. Then the lines of strangers (without a content word of the passage), those in the notes' own words and those that
the vault does not answer are asked. An offer is the passage of a similar question at place 2. The cosine from which
questions are similar is chosen on three vaults for the fourth: the lowest with which at most one in ten questions
without an answer gets an offer.

One author wrote both lines of a topic: in life, a person's questions resemble each other less.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import excerpt
from benchmarks.measure import result, table, write_option
from excerpt.base.model import Fragment, Hit
from excerpt.base.settings import Settings
from excerpt.search import reopened
from excerpt.search.engine import Engine
from excerpt.search.usage import UsedHit, UseKind, UseLog

FOLDER_BY_SET = {
    "obsidian-help-en": "obsidian-help/en",
    "dendron-site": "dendron-site",
    "ttrpg-share": "ttrpg-share",
    "powershell-docs-one": "powershell-docs-one",
}
WORDINGS = ("own", "stranger", "absent")
COSINES = tuple(number / 100 for number in range(36, 61))
MAX_ABSENT = 0.1
FIRST = 5
_NOW = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class Answer:
    """How a question was answered without and with kept questions: the place of the answer, 0 for none in the first 10.

    `cosine` is that of the nearest kept question if it may be offered, else 0; `is_right` says that its passage answers
    the question too.
    """

    wording: str
    before: int
    after: int
    is_offered: bool
    cosine: float
    is_right: bool


def read_questions(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def ask(vault: Path, name: str, questions: Path, index: Path) -> list[Answer]:
    """Keep the plain questions of a vault, and ask the others."""
    with excerpt.open(vault, settings=Settings(), index=index) as opened:
        opened.load()
        snapshot = opened._snapshot
        log = UseLog(index / "kept.jsonl")
        log.forget()
        for number, question in enumerate(read_questions(questions / f"{name}.plain.jsonl")):
            fragments = snapshot.note_fragments(question["relevant"][0]["path"])
            inside = (each for each in fragments if is_answer(each, question["relevant"][:1]))
            if (fragment := next(inside, None)) is not None:
                used = UsedHit(question["query"], fragment.path, fragment.id, 1, (), fragment.digest)
                log.record(UseKind.OPENED, [used], _NOW + number)
        plain, learned = Engine(snapshot, Settings()), Engine(snapshot, Settings(), log)
        asked = [one for one in read_questions(questions / f"{name}.jsonl") if one["wording"] in WORDINGS]
        with patch.object(reopened, "MIN_COSINE", min(COSINES)):
            offers = [_find_offer(Engine(snapshot, Settings(), log), one) for one in asked]
        return [_answer(plain, learned, one, *offer) for one, offer in zip(asked, offers, strict=True)]


def _find_offer(engine: Engine, question: Mapping[str, Any]) -> tuple[float, bool]:
    """Return the cosine of the question whose passage is offered, 0 for none, and whether the passage answers."""
    second = engine.search(question["query"], limit=10).hits[1:2]
    uses = second[0].past_uses if second else ()
    if not uses:
        return 0.0, False
    vectors = engine.snapshot.embedder.embed([question["query"], *(use.query for use in uses)])
    return float((vectors[1:] @ vectors[0]).max()), is_answer(second[0].fragment, question["relevant"])


def _answer(plain: Engine, learned: Engine, question: Mapping[str, Any], cosine: float, is_right: bool) -> Answer:
    before, after = (engine.search(question["query"], limit=10).hits for engine in (plain, learned))
    is_offered = bool(after[1:2] and after[1].past_uses)
    places = (find_place(hits, question["relevant"]) for hits in (before, after))
    return Answer(question["wording"], next(places), next(places), is_offered, cosine, is_right)


def find_place(hits: Sequence[Hit], places: Sequence[Mapping[str, Any]]) -> int:
    """Return the place of the first hit that answers, 0 for none."""
    return next((place for place, hit in enumerate(hits, 1) if is_answer(hit.fragment, places)), 0)


def is_answer(fragment: Fragment, places: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        fragment.path == place["path"]
        and fragment.line_start <= place["line_end"]
        and fragment.line_end >= place["line_start"]
        for place in places
    )


def choose_cosine(answers: Sequence[Answer]) -> float:
    """Return the lowest cosine with which at most MAX_ABSENT of the unanswered questions get an offer."""
    absent = [answer.cosine for answer in answers if answer.wording == "absent"]
    few = (each for each in COSINES if statistics.fmean(cosine >= each for cosine in absent) <= MAX_ABSENT)
    return next(few, COSINES[-1])


def _share(answers: Sequence[Answer], flag: str) -> str:
    values = {
        "before": [0 < answer.before <= FIRST for answer in answers],
        "after": [0 < answer.after <= FIRST for answer in answers],
        "offered": [answer.is_offered for answer in answers],
    }[flag]
    return f"{statistics.fmean(values):.2f}" if values else ""


def report(every: Mapping[str, Sequence[Answer]]) -> None:
    """Print what kept questions change in each vault, and the cosines chosen without one vault each."""
    whole = {**every, "all": [answer for answers in every.values() for answer in answers]}
    rows = []
    for name, answers in whole.items():
        by_wording = {wording: [answer for answer in answers if answer.wording == wording] for wording in WORDINGS}
        own, strangers, absent = by_wording.values()
        rows.append(
            (
                name,
                *(_share(own, flag) for flag in ("before", "after")),
                *(_share(strangers, flag) for flag in ("before", "after", "offered")),
                _share(absent, "offered"),
            )
        )
    columns = ("own in 5", "with kept", "stranger in 5", "with kept", "offered", "absent offered")
    print(f"Cosine {reopened.MIN_COSINE}:\n")
    table(("vault", *columns), rows)
    print("\nThe cosine chosen on the other vaults, and what it offers in the one left out:\n")
    left_out = []
    for name in every if len(every) > 1 else ():
        cosine = choose_cosine([answer for other, answers in every.items() if other != name for answer in answers])
        strangers = [answer for answer in every[name] if answer.wording == "stranger"]
        absent = [answer for answer in every[name] if answer.wording == "absent"]
        right = statistics.fmean(answer.is_right and answer.cosine >= cosine for answer in strangers)
        wrong = statistics.fmean(answer.cosine >= cosine for answer in absent)
        left_out.append((name, f"{cosine:.2f}", f"{right:.2f}", f"{wrong:.2f}"))
    table(("left out", "cosine", "right to strangers", "absent offered"), left_out)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.past_answers", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/")
    write_option(parser, "past_answers")
    args = parser.parse_args()
    data = args.data.resolve() / "data"
    if not (data / "queries" / "asked").is_dir():
        print(f"past_answers: there are no asked sets in {data / 'queries'}; name the data by --data.", file=sys.stderr)
        return 3
    with (
        tempfile.TemporaryDirectory(prefix="past-answers-") as folder,
        result("past_answers", "Questions kept with the passage that answered them", write=args.write),
    ):
        every = {
            name: ask(data / "vaults" / path, name, data / "queries" / "asked", Path(folder) / name)
            for name, path in FOLDER_BY_SET.items()
        }
        report(every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
