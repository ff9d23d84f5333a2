"""Measure which similarity separates an altered quotation from an invented one: `python -m benchmarks.citations`.

Sentences of a vault's own notes are altered as models alter them, and each is compared with the passage that it is
from. Unaltered sentences are compared with the most similar text in the rest of the vault: these stand for inventions,
as they are on the vault's own subjects in its own words. A threshold is good if most of the former are above it and
most of the latter below.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from excerpt.base.model import Fragment
from excerpt.base.settings import Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.pack.check.lookup import SnapshotLookup
from excerpt.pack.check.quotations import find_most_similar, find_quotation

SAMPLE = 600
SEED = 4
THRESHOLDS = (70, 75, 80, 85, 90)
LENGTHS = ((3, 5), (6, 10), (11, 20), (21, 60))
_SENTENCE = re.compile(r"(?:^|(?<=[.!?]\s))[A-Z][^.!?|\n`*\[\]<>]{10,400}[.!?](?=\s|$)", re.MULTILINE)

Words = list[str]


def replaced(words: Words, others: Words, rng: random.Random) -> Words:
    at = rng.randrange(len(words))
    return [*words[:at], rng.choice(others), *words[at + 1 :]]


def dropped(words: Words, _others: Words, rng: random.Random) -> Words:
    at = rng.randrange(len(words))
    return [*words[:at], *words[at + 1 :]]


def inserted(words: Words, others: Words, rng: random.Random) -> Words:
    at = rng.randrange(len(words) + 1)
    return [*words[:at], rng.choice(others), *words[at:]]


def reworded(words: Words, others: Words, rng: random.Random) -> Words:
    """Return the words with a quarter of them, in one run, replaced by random ones of `others`."""
    many = max(len(words) // 4, 1)
    at = rng.randrange(len(words) - many + 1)
    return [*words[:at], *(rng.choice(others) for _ in range(many)), *words[at + many :]]


ALTERATIONS: Sequence[Callable[[Words, Words, random.Random], Words]] = (replaced, dropped, inserted, reworded)


def sentences(snapshot: Snapshot) -> list[tuple[str, Fragment]]:
    """Return at most SAMPLE random sentences of a vault's notes, each with its fragment."""
    rng = random.Random(SEED)
    keys = snapshot.table.keys.tolist()
    rng.shuffle(keys)
    found: list[tuple[str, Fragment]] = []
    for fragment in snapshot.fragments(keys[: 10 * SAMPLE]):
        every = _SENTENCE.findall(fragment.text)
        if every:
            found.append((rng.choice(every), fragment))
    return found[:SAMPLE]


def similarity(quotation: str, texts: Sequence[str]) -> float:
    return max((like.similarity for text in texts if (like := find_most_similar(quotation, text))), default=0.0)


def inventions(sampled: Sequence[tuple[str, Fragment]], lookup: SnapshotLookup) -> Iterator[tuple[int, float]]:
    """Yield the word count of each sentence and its similarity to the most similar text that does not contain it."""
    for sentence, _ in sampled:
        others = [each.text for each in lookup.find_similar_lines(sentence) if not find_quotation(sentence, each.text)]
        yield len(sentence.split()), similarity(sentence, others)


def altered(sampled: Sequence[tuple[str, Fragment]]) -> Iterator[tuple[str, int, float]]:
    """Yield for each altered sentence the alteration, its word count, and its similarity to its passage."""
    rng = random.Random(SEED)
    others = [word for sentence, _ in sampled for word in sentence.split()]
    for sentence, fragment in sampled:
        words = sentence.split()
        for alter in ALTERATIONS:
            quotation = " ".join(alter(words, others, rng))
            yield alter.__name__, len(words), similarity(quotation, [fragment.text])


def table(rows: Sequence[tuple[str, int, float]]) -> Iterator[str]:
    yield f"| {'':<10} | words | n | " + " | ".join(f">= .{at}" for at in THRESHOLDS) + " |"
    yield "|---" * (3 + len(THRESHOLDS)) + "|"
    for name in dict.fromkeys(name for name, _, _ in rows):
        for least, most in LENGTHS:
            here = [like for other, words, like in rows if other == name and least <= words <= most]
            if here:
                shares = " | ".join(f"{sum(like >= at for like in here) / len(here):.2f}" for at in THRESHOLDS)
                yield f"| {name:<10} | {least}-{most} | {len(here)} | {shares} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vaults", nargs="+", type=Path)
    rows: list[tuple[str, int, float]] = []
    for vault in parser.parse_args().vaults:
        with tempfile.TemporaryDirectory() as folder:
            build(vault, Path(folder), Settings())
            snapshot = Snapshot.open(Path(folder), Settings())
            sampled = sentences(snapshot)
            rows += altered(sampled)
            rows += (("invented", *each) for each in inventions(sampled, SnapshotLookup(snapshot)))
            snapshot.close()
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
