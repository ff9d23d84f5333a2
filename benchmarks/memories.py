"""Measure the speed of recall, and where two similarity thresholds belong: `python -m benchmarks.memories`.

Speed: 10,000 memories made of a vault's fragments, CPU time of this process. Offers: fragments altered as people
remember a thing twice, beside the most similar ones among a hundred and a thousand memories of other notes. Meaning:
memories made of the fragments that queries are about, queried with words they do not have, and with queries that none
of them answers.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from excerpt.base.model import Fragment, Memory, Source
from excerpt.base.settings import Settings
from excerpt.encoders.static_model import Embedder
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.memory import recall
from excerpt.memory.memory_file import format_current_time, render_memory
from excerpt.memory.recall import Recaller
from excerpt.memory.results import RecalledMemory
from excerpt.memory.store import FolderMemoryStore

SEED = 6
ASKED, HELD = 400, 1_000
"""Fragments that are altered, and fragments of other notes that they are compared with."""
REPLACED = 100
"""Memories that another one replaces."""
QUERIES = ("sync", "memory leak in a coroutine", "how are templates instantiated", "#tag7", "std::vec", "exception saf")


def cpu_ms(work: Callable[[], object], times: int = 30) -> list[float]:
    took = []
    for _ in range(times):
        begun = time.process_time()
        work()
        took.append((time.process_time() - begun) * 1e3)
    return sorted(took)


def told(name: str, took: Sequence[float]) -> None:
    print(f"| {name} | {statistics.median(took):.1f} | {took[int(len(took) * 0.95)]:.1f} |")


def opened(vault: Path, cache: Path) -> Snapshot:
    build(vault, cache, Settings())
    return Snapshot.open(cache, Settings())


def sample(snapshot: Snapshot, many: int, rng: random.Random, least: int = 15) -> list[Fragment]:
    """Return random fragments of at least `least` words."""
    keys = [int(key) for key in snapshot.table.keys]
    rng.shuffle(keys)
    found = snapshot.fragments(keys[: many * 3])
    return [fragment for fragment in found if len(fragment.text.split()) >= least][:many]


def remember_all(folder: Path, fragments: Sequence[Fragment]) -> None:
    """Write memories as the store does, but without fsync, which is not to be measured."""
    folder.mkdir(parents=True)
    for number, fragment in enumerate(fragments):
        source = Source(fragment.path, fragment.line_start, fragment.line_end, fragment.digest, fragment.heading_path)
        memory = Memory(
            f"m{number:010x}",
            fragment.text,
            (f"tag{number % 40}",),
            "",
            format_current_time(),
            format_current_time(),
            source,
        )
        slug = "-".join(fragment.text.lower().split()[:6])
        name = "".join(letter if letter.isalnum() else "-" for letter in slug)[:40]
        (folder / f"2025-03-{number % 28 + 1:02}-{name}-{memory.id}.md").write_bytes(render_memory(memory))


def speed(vault: Path, scratch: Path, count: int) -> None:
    snapshot = opened(vault, scratch / "vault-index")
    folder = scratch / "memories"
    remember_all(folder, sample(snapshot, count, random.Random(SEED), least=1))
    snapshot.close()
    print(f"\n## Recall of {len(list(folder.iterdir())):,} memories\n")
    begun = time.process_time(), time.perf_counter()
    recaller = Recaller(FolderMemoryStore(folder), scratch / "memory-index", Settings())
    recaller.recall("a")
    print(f"first, index made: {time.process_time() - begun[0]:.1f} s CPU, {time.perf_counter() - begun[1]:.1f} s\n")
    recaller.close()
    begun = time.process_time(), time.perf_counter()
    recaller = Recaller(FolderMemoryStore(folder), scratch / "memory-index", Settings())
    recaller.recall("a")
    print(f"first of a process: {time.process_time() - begun[0]:.1f} s CPU, {time.perf_counter() - begun[1]:.1f} s\n")
    print("| | ms p50 | p95 |\n|---|---|---|")
    for query in QUERIES:
        recaller.recall(query)
        told(f"`{query}`", cpu_ms(lambda query=query: recaller.recall(query)))  # type: ignore[misc]
    told("without words", cpu_ms(recaller.recall))
    told("`sync`, of one tag", cpu_ms(lambda: recaller.recall("sync", ["tag7"])))
    told("`sync`, since a week", cpu_ms(lambda: recaller.recall("sync", since="7d")))
    file = next(iter(sorted(folder.iterdir())))

    def edited() -> None:
        file.write_bytes(file.read_bytes() + b"more\n")
        recaller.recall("sync")

    told("`sync`, a file changed", cpu_ms(edited))
    told("the folder looked through, nothing changed", cpu_ms(recaller.store.contents))
    newest, *older = (memory.id for memory in recaller.store.all().memories[: REPLACED + 1])
    recaller.store.replace_others(newest, older)
    told(f"`sync`, {REPLACED} memories replaced", cpu_ms(lambda: recaller.recall("sync")))
    told(f"`sync`, only the {REPLACED} replaced ones", cpu_ms(lambda: recaller.recall("sync", replaced=True)))
    recaller.close()


def active_strategy(recaller: Recaller, query: str) -> list[RecalledMemory]:
    """Return the memories that answer; those that only share a word with the query are not counted."""
    return [one for one in recaller.recall(query) if one.answers]


def altered(text: str, others: Sequence[str], rng: random.Random) -> dict[str, str]:
    words = text.split()
    return {
        "a quarter of the words left out": " ".join(word for word in words if rng.random() > 0.25),
        "a quarter put for others": " ".join(word if rng.random() > 0.25 else rng.choice(others) for word in words),
        "the first half": " ".join(words[: len(words) // 2]),
        "the second half": " ".join(words[len(words) // 2 :]),
    }


def offers(vault: Path, scratch: Path) -> None:
    rng = random.Random(SEED)
    snapshot = opened(vault, scratch / vault.name)
    embedder = snapshot.embedder
    fragments = sample(snapshot, ASKED + HELD, rng)
    asked, held = fragments[:ASKED], fragments[ASKED:]
    words = [word for fragment in fragments for word in fragment.text.split()]
    print(f"\n## Offers, {vault.name}: share above the cosine\n")
    levels = (0.7, 0.75, 0.8, 0.85, 0.9)
    print(f"| | {' | '.join(map(str, levels))} |\n|---|{'---|' * len(levels)}")
    vectors = embedder.embed([fragment.text for fragment in asked])
    kinds = [altered(fragment.text, words, rng) for fragment in asked]
    for kind in kinds[0]:
        cosines = (embedder.embed([each[kind] for each in kinds]) * vectors).sum(axis=1)
        print(f"| {kind} | {' | '.join(f'{(cosines >= level).mean():.2f}' for level in levels)} |")
    for many in (100, len(held)):
        nearest = _nearest(embedder, asked, held[:many])
        shares = " | ".join(f"{(nearest >= level).mean():.2f}" for level in levels)
        print(f"| nearest of {many} from other notes | {shares} |")
    snapshot.close()


def _nearest(
    embedder: Embedder, asked: Sequence[Fragment], held: Sequence[Fragment]
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    cosines = embedder.embed([one.text for one in asked]) @ embedder.embed([one.text for one in held]).T
    for row, one in enumerate(asked):
        for column, other in enumerate(held):
            if one.path == other.path or one.digest == other.digest:
                cosines[row, column] = -1
    return np.asarray(cosines.max(axis=1))


def meaning(vault: Path, queries: Path, strange: Path, scratch: Path) -> None:
    rng = random.Random(SEED)
    snapshot = opened(vault, scratch / vault.name)
    asked: list[tuple[str, set[str]]] = []
    fragments: dict[str, Fragment] = {}
    for line in queries.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        if one["difficulty"] != "gap":
            continue
        there = [
            each
            for target in one["relevant"]
            for each in snapshot.note_fragments(target["path"])
            if each.line_start <= target["line_end"] and target["line_start"] <= each.line_end
        ]
        asked.append((one["query"], {each.digest for each in there}))
        fragments.update({each.digest: each for each in there})
    fragments.update({each.digest: each for each in sample(snapshot, 300, rng)})
    snapshot.close()
    others = [json.loads(line)["query"] for line in strange.read_text(encoding="utf-8").splitlines()]
    folder = scratch / f"{vault.name}-memories"
    remember_all(folder, list(fragments.values()))
    recaller = Recaller(FolderMemoryStore(folder), scratch / f"{vault.name}-memory-index", Settings())
    print(f"\n## Meaning, {vault.name}: {len(fragments):,} memories, {len(asked)} queries of other words\n")
    print("| cosine from | found among ten | memories, median | other vault's queries: none | memories, median |")
    print("|---|---|---|---|---|")
    for least in (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 2.0):
        recall.MIN_RECALL_COSINE = least
        answers = [(active_strategy(recaller, query), right) for query, right in asked]
        right = [any(e.memory.source and e.memory.source.digest in r for e in found[:10]) for found, r in answers]
        strangers = [len(active_strategy(recaller, query)) for query in others]
        print(
            f"| {least} | {statistics.mean(right):.3f} | {statistics.median(len(found) for found, _ in answers):.0f} |"
            f" {statistics.mean(count == 0 for count in strangers):.2f} | {statistics.median(strangers):.0f} |"
        )
    recaller.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memories", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with vaults/ and queries/")
    parser.add_argument("--only", nargs="*", default=["speed", "offers", "meaning"])
    parser.add_argument("--count", type=int, default=10_000)
    args = parser.parse_args()
    vaults, queries = args.data.resolve() / "vaults", args.data.resolve() / "queries"
    english, dendron = vaults / "obsidian-help" / "en", vaults / "dendron-site"
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["EXCERPT_HOME"] = scratch
        if "offers" in args.only:
            for vault in (english, dendron):
                offers(vault, Path(scratch))
        if "meaning" in args.only:
            of_english, of_dendron = queries / "obsidian-help-en.dev.jsonl", queries / "dendron-site.dev.jsonl"
            meaning(english, of_english, of_dendron, Path(scratch))
            meaning(dendron, of_dendron, of_english, Path(scratch))
        if "speed" in args.only:
            speed(vaults / "cpp-docs", Path(scratch), args.count)


if __name__ == "__main__":
    main()
