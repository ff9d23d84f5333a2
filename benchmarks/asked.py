"""Measure questions in other people's words: `python -m benchmarks.asked`, a part of `make quality`.

Each topic of the set is asked in four wordings (docs/design/quality.md says what each is). The questions and their
scorer are not part of this repository: `eval/asked.py` under --data asks excerpt through its Python API and judges the
hits and the pack of each question. MiniLM is measured too where its extra is installed, on the vaults of MINILM_VAULTS.
Questions, judgements and indexes are kept under build/quality/asked.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import excerpt
from benchmarks.judgements import Outside, QualityError, mean_of, overlaps, run_program, vault_of
from benchmarks.measure import table
from benchmarks.memory_sets import to_place
from benchmarks.targets import asked_verdicts
from excerpt.encoders.minilm import MINILM, is_minilm_installed

WORDINGS = ("own", "plain", "stranger", "absent")
SHIPPED = "shipped"
"""How the tables name the model that ships."""
TOGETHER = (("own", "plain", "stranger"), ("plain", "stranger"))
"""Wordings of a topic that are asked in one call."""
MINILM_VAULTS = ("obsidian-help-en", "dendron-site")
"""The vaults that MiniLM embeds within minutes; the others take half an hour each."""
FIRST = 5
"""How many hits a reader is expected to read."""
PACKED = 0.8
"""The share of an answer's lines from which a pack holds it."""
FIGURES = ("in five", "in the pack", "empty", "false-empty", "strong or likely", "unsure")


@dataclass(frozen=True, slots=True)
class Judged:
    """How excerpt answered one question.

    `rank` is that of the first hit with a line of an answering place, 0 if there is none; `is_packed` and `is_empty`
    say whether the pack holds an answer, and whether it has no passage. `confidence` is that of an unsure result, else
    of its first hit.
    """

    wording: str
    rank: int
    is_packed: bool
    is_empty: bool
    confidence: str

    @property
    def is_in_five(self) -> bool:
        """Whether an answer is among the first FIRST hits."""
        return 0 < self.rank <= FIRST


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.asked")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    args = parser.parse_args(argv)
    outside = Outside(args.data.resolve())
    try:
        outside.check()
        os.environ.setdefault("EXCERPT_HOME", str((outside.work / "home").resolve()))
        report(outside)
    except QualityError as error:
        print(f"asked: {error}", file=sys.stderr)
        return 3
    return 0


def report(outside: Outside) -> None:
    """Ask every question and print the figures by model, vault and wording, and whether they reach their targets."""
    report_together(outside)
    for model, vaults in _models(list_vaults(outside)):
        answers = {vault: measure(outside, vault, model) for vault in vaults}
        every = [one for judged in answers.values() for one in judged]
        rows = [row for vault, judged in answers.items() for row in table_rows(vault, judged)]
        print(f"Model: {model}\n")
        table(("vault", "wording", "n", *FIGURES), [*rows, *table_rows("all", every)])
        print()
        print("\n".join(asked_verdicts(model, {wording: figures(these) for wording, these in by_wording(every)})))
        print(flush=True)


def _models(vaults: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    yield SHIPPED, vaults
    if is_minilm_installed():
        yield MINILM, [vault for vault in vaults if vault in MINILM_VAULTS]


def list_vaults(outside: Outside) -> list[str]:
    return sorted(file.name.partition(".")[0] for file in outside.questions.glob("*.plain.jsonl"))


# --- asking -----------------------------------------------------------------------------------------------------------


def measure(outside: Outside, vault: str, model: str) -> list[Judged]:
    """Ask the questions of one vault with one model, and return how they were answered."""
    print(f"asked: {vault}, {model}", file=sys.stderr, flush=True)
    work = outside.work / "asked"
    work.mkdir(parents=True, exist_ok=True)
    questions, out = work / f"{vault}.jsonl", work / f"{vault}.{model}.json"
    parts = (outside.questions / f"{vault}{part}.jsonl" for part in ("", ".plain"))
    questions.write_text("".join(part.read_text(encoding="utf-8") for part in parts), encoding="utf-8")
    folder = outside.data / "data" / "vaults" / vault_of(vault)
    # A transformer embeds in the background: the scorer waits for it, with an index of its own.
    options = ("--index", str(work / vault)) if model == SHIPPED else ("--embedder", model)
    command = [sys.executable, str(outside.asked), str(folder), str(questions), *options, "--json", str(out)]
    # The scorer gives excerpt folders of its own, which EXCERPT_HOME would replace.
    run_program(command, {name: value for name, value in os.environ.items() if name != "EXCERPT_HOME"})
    return [read_judged(row) for row in json.loads(out.read_text(encoding="utf-8"))["questions"]]


def read_judged(row: Mapping[str, Any]) -> Judged:
    """Convert a question as the scorer writes it."""
    return Judged(row["wording"], row["rank"], row["inside"] >= PACKED, row["passages"] == 0, row["confidence"])


# --- several wordings in one call -------------------------------------------------------------------------------------


def report_together(outside: Outside) -> None:
    """Print how often an answer is among the first hits of several wordings of a topic, asked in one call."""
    found: dict[Sequence[str], list[float]] = {wordings: [] for wordings in TOGETHER}
    for name in list_vaults(outside):
        with excerpt.open(outside.data / "data" / "vaults" / vault_of(name), settings=excerpt.Settings()) as vault:
            for topic in read_topics(outside, name):
                for wordings in TOGETHER:
                    hits = vault.search(*(topic[each]["query"] for each in wordings), limit=FIRST, spans=False)
                    places = [to_place(row) for row in topic[wordings[0]]["relevant"]]
                    found[wordings].append(float(overlaps([to_place(hit.to_dict()) for hit in hits], places)))
    table(
        ("asked in one call", "n", "in five"),
        [(" + ".join(w), str(len(x)), f"{mean_of(x):.3f}") for w, x in found.items()],
    )
    print(flush=True)


def read_topics(outside: Outside, vault: str) -> list[dict[str, Any]]:
    """Return for each topic of a vault its rows by wording."""
    topics: dict[int, dict[str, Any]] = {}
    for part in ("", ".plain"):
        for line in (outside.questions / f"{vault}{part}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            topics.setdefault(row["topic"], {})[row["wording"]] = row
    return list(topics.values())


# --- figures ----------------------------------------------------------------------------------------------------------


def by_wording(judged: Sequence[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    """Yield each wording that was asked, with its answers."""
    for wording in WORDINGS:
        if these := [one for one in judged if one.wording == wording]:
            yield wording, these


def figures(judged: Sequence[Judged]) -> dict[str, float | None]:
    """Return the share of questions for each of FIGURES, None where it has no meaning.

    *False-empty* are packs without a passage, of the questions whose answer is among the first hits.
    """
    is_absent = judged[0].wording == "absent"
    return {
        "in five": None if is_absent else mean_of(float(one.is_in_five) for one in judged),
        "in the pack": None if is_absent else mean_of(float(one.is_packed) for one in judged),
        "empty": mean_of(float(one.is_empty) for one in judged),
        "false-empty": mean_of(float(one.is_empty) for one in judged if one.is_in_five),
        "strong or likely": mean_of(float(one.confidence in ("strong", "likely")) for one in judged),
        "unsure": mean_of(float(one.confidence == "unsure") for one in judged),
    }


def table_rows(vault: str, judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Return the cells of a vault's rows, one for each wording."""
    return [
        (
            vault,
            wording,
            str(len(these)),
            *("" if share is None else f"{share:.3f}" for share in figures(these).values()),
        )
        for wording, these in by_wording(judged)
    ]


if __name__ == "__main__":
    sys.exit(main())
