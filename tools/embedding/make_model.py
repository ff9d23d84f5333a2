"""Make the embedding model that ships with excerpt, from its sources to the model folder.

    make_model.py --out src/excerpt/embedding --work build/embedding [--only PACKAGE...]

Every step keeps its result in the work folder and is skipped if the result exists: delete a file to repeat its step and
those after it. README.md describes the steps.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

import distil
import quantise
import teacher
import texts
from extract import Block, sentences
from sources import SOURCES
from tokens import TokenLists, join, kept_pieces, to_student, tokenize
from train import Examples, train

THREADS = 2
ALIGNED = 40_000
"""Passages used to rotate the distilled table into the teacher's space: ample for 384 axes."""


@dataclass(frozen=True)
class Paths:
    """The folders of the steps' results (`work`) and of the model (`out`)."""

    work: Path
    out: Path


def short_texts(passages: Sequence[Block], seed: int = 7) -> list[str]:
    """Return for each passage a text that a user might type to find it: its heading or one of its sentences.

    Each is chosen for half of the passages.
    """
    chance = random.Random(seed)
    shorts = []
    for passage in passages:
        sentence = chance.choice(sentences(passage.text)[:4])
        shorts.append(passage.heading if passage.heading and chance.random() < 0.5 else sentence)
    return shorts


def taught(pool: Executor, texts: TokenLists, name: str, folder: Path) -> Callable[[], Examples]:
    """Start to compute the teacher's embeddings of texts; calling the result waits for them.

    They are cached in a file named after the texts, so that an interrupted run continues where it stopped.
    """
    digest = hashlib.sha256(texts.flat.tobytes() + texts.starts.tobytes()).hexdigest()[:12]
    path = folder / f"{name}-{digest}.npy"
    if path.exists():
        return lambda: Examples(texts, np.load(path))
    parts = teacher.ask(pool, texts)

    def answer() -> Examples:
        embeddings = np.concatenate([part.result() for part in parts])
        partial = path.with_suffix(".partial.npy")
        np.save(partial, embeddings)
        partial.rename(path)
        print(f"{name}: {len(texts)} texts, {len(texts.flat)} word pieces", flush=True)
        return Examples(texts, embeddings)

    return answer


def joined(parts: Sequence[Examples], vocabulary: dict[str, int]) -> Examples:
    """Return all examples concatenated, in the student's numbering."""
    return Examples(to_student(join([p.texts for p in parts]), vocabulary), np.concatenate([p.teacher for p in parts]))


def single_pieces(vocabulary: dict[str, int]) -> TokenLists:
    """Return every piece of the student's vocabulary as a text of its own, in the teacher's numbering."""
    ids = np.array([vocabulary[piece] for piece in kept_pieces(vocabulary)], dtype=np.int32)
    return TokenLists(ids, np.arange(len(ids) + 1, dtype=np.int64))


def examples(corpus: dict[str, list[Block]], folder: Path) -> tuple[Examples, Examples, Examples]:
    """Return the teacher's embeddings of single pieces, of passages, and of the short text of each passage."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = teacher.load_tokenizer()
    vocabulary = tokenizer.get_vocab()
    with ProcessPoolExecutor(THREADS, mp_context=get_context("spawn")) as pool:
        pieces = taught(pool, single_pieces(vocabulary), "pieces", folder)
        asked = [
            (
                taught(pool, tokenize(tokenizer, [b.text for b in blocks]), package, folder),
                taught(pool, tokenize(tokenizer, short_texts(blocks)), f"{package}-short", folder),
            )
            for package, blocks in corpus.items()
            if blocks
        ]
        answers = [(passages(), shorts()) for passages, shorts in asked]
        passages, shorts = (joined(side, vocabulary) for side in zip(*answers, strict=True))
        return pieces(), passages, shorts


def make(user_paths: Paths, only: frozenset[str]) -> None:
    """Run all steps, in order."""
    chosen = [s for s in SOURCES if not only or s.package in only]
    corpus = texts.collect(chosen, user_paths.work)
    pieces, passages, shorts = examples(corpus, user_paths.work / "taught")
    print(f"{len(passages.texts)} passages, {len(passages.texts.flat)} word pieces", flush=True)
    torch.set_num_threads(THREADS)
    sample = np.random.default_rng(3).permutation(len(passages.texts))[:ALIGNED]
    table = distil.rotate_to_teacher(
        distil.initial_table(pieces.teacher.astype(np.float32)),
        passages.texts.pick(sample),
        passages.teacher[sample].astype(np.float32),
    )
    table = train(table, passages, shorts)
    np.save(user_paths.work / "table.npy", table)
    small = quantise.reduce_dimensions(table, passages.texts)
    quantise.write_model(quantise.to_int8(small), teacher.tokenizer_file(), user_paths.out)


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Read the command line, make the model, and write its summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="use these packages alone, to try something")
    arguments = parser.parse_args()
    user_paths = Paths(arguments.work, arguments.out)
    user_paths.work.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    make(user_paths, frozenset(arguments.only))
    model_file = user_paths.out / "model.safetensors"
    summary = {"seconds": round(time.monotonic() - started), "sha256": checksum(model_file)}
    (user_paths.work / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    print(summary)


if __name__ == "__main__":
    main()
