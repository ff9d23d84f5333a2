"""Measure the passages that prompts get unasked: `python -m benchmarks.prompts`.

Unrelated prompts must get none; questions of the evaluation sets, put into a prompt in two ways, should get passages
that hold the answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import excerpt
from benchmarks.judgements import Place, QuerySet, Question, open_outside
from benchmarks.measure import result, table, write_option
from benchmarks.packs import inside
from benchmarks.targets import verdict
from excerpt.servers.prompts import answer_prompt
from excerpt.text.display import format_percent

UNRELATED_FILE = Path(__file__).parent.parent / "tests" / "servers" / "agents" / "unrelated_prompts.txt"
"""Prompts that are about no vault of the evaluation, separated by lines with "%"."""
DEMO = Path(excerpt.__file__).parent / "demo"

WRAPPINGS: Sequence[tuple[str, Callable[[str], str], float]] = (
    ("plain", lambda question: f"Please help me: {question}. Look at the code first and change what is needed.", 0.30),
    (
        "hard",
        lambda question: (
            "I have been at this since Monday and my colleague is away, so I have to ask you before I guess. What I am "
            f"after is {question}, because we want to show it to the others on Thursday, and the last time it took us "
            "a whole afternoon. Keep it short, and tell me if anything about it is unclear or if you need to see more "
            "of what I have tried so far."
        ),
        0.10,
    ),
)
"""Ways to put a question into a prompt: name, the prompt of a question, required share that gets passages."""
MAX_QUESTIONS = 150
MAX_UNRELATED, MIN_HELD = 0.01, 0.90


@dataclass(frozen=True, slots=True)
class Wrapped:
    """How many questions of a set, in prompts of one wrapping, got passages, and how many of these hold the answer."""

    asked: int
    got: int
    held: int


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of one vault: the unrelated prompts that got passages, and its questions by wrapping."""

    name: str
    unrelated: tuple[str, ...]
    wrapped: tuple[Wrapped, ...]


def read_unrelated() -> list[str]:
    """Return the unrelated prompts."""
    return UNRELATED_FILE.read_text(encoding="utf-8").strip("\n").split("\n%\n")


def measure_vault(name: str, folder: Path, questions: Sequence[Question], unrelated: Sequence[str]) -> Measured:
    """Ask a vault with all prompts."""
    with excerpt.open(folder) as vault:
        got = tuple(prompt for prompt in unrelated if answer_prompt(vault, prompt) is not None)
        wrapped = tuple(_ask_wrapped(vault, questions, wrap) for _, wrap, _ in WRAPPINGS) if questions else ()
    return Measured(name, got, wrapped)


def _ask_wrapped(vault: excerpt.Vault, questions: Sequence[Question], wrap: Callable[[str], str]) -> Wrapped:
    answers = [(question, answer_prompt(vault, wrap(question.text))) for question in questions]
    got = [(question, answer) for question, answer in answers if answer is not None]
    held = sum(
        any(inside(question, Place(hit.path, hit.fragment.line_start, hit.fragment.line_end)) for hit in answer.hits)
        for question, answer in got
    )
    return Wrapped(len(questions), len(got), held)


def _questions(query_set: QuerySet) -> list[Question]:
    every = query_set.questions()
    return every[:: max(1, -(-len(every) // MAX_QUESTIONS))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompts")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--sets", nargs="*", metavar="NAME", help="only these sets")
    write_option(parser, "prompts")
    args = parser.parse_args()
    outside = open_outside(args.data)
    unrelated = read_unrelated()
    with result("prompts", "Passages that prompts get unasked", write=args.write):
        sets = [each for each in outside.sets() if not each.collection and (not args.sets or each.name in args.sets)]
        measured = [measure_vault(each.name, each.vault, _questions(each), unrelated) for each in sets]
        measured.append(measure_vault("demo", DEMO, (), unrelated))
        _report(measured, len(unrelated))


def _report(measured: Sequence[Measured], unrelated: int) -> None:
    head = (
        "vault",
        f"of {unrelated} unrelated",
        *(f"{name}: {what}" for name, *_ in WRAPPINGS for what in ("got", "held")),
    )
    rows = []
    for each in measured:
        figures = [(f"{part.got / part.asked:.2f}", f"{part.held / max(part.got, 1):.2f}") for part in each.wrapped]
        rows.append((each.name, str(len(each.unrelated)), *(cell for pair in figures for cell in pair)))
    table(head, [(*row, *[""] * (len(head) - len(row))) for row in rows])
    print()
    pairs = sum(len(each.unrelated) for each in measured) / (unrelated * len(measured))
    print(verdict(pairs <= MAX_UNRELATED, f"{format_percent(pairs)} of the pairs of an unrelated prompt and a vault"))
    for index, (name, _, required) in enumerate(WRAPPINGS):
        parts = [each.wrapped[index] for each in measured if each.wrapped]
        if not parts:
            continue
        got, asked, held = (sum(getattr(part, what) for part in parts) for what in ("got", "asked", "held"))
        print(verdict(got / asked >= required, f"{name}: {got / asked:.2f} of the questions get passages"))
        print(verdict(held / max(got, 1) >= MIN_HELD, f"{name}: {held / max(got, 1):.2f} of these hold the answer"))
    for prompt in dict.fromkeys(prompt for each in measured for prompt in each.unrelated):
        print(f"- got passages: {prompt.splitlines()[0][:90]}")


if __name__ == "__main__":
    main()
