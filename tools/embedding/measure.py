"""Measure the ranking quality of static models on judged English collections: nDCG@10 alone, and fused with BM25.

    measure.py --collections ../shared/data/collections MODEL_FOLDER...

Whole documents are the unit. The figures are for comparing models with each other, not the app's own ranking. BM25:
Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), k1 1.2, b 0.75, Lucene's idf.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import Stemmer
from model2vec import StaticModel
from numpy.typing import NDArray

SETS = ("scifact", "cranfield", "cacm", "npl")
K1, B = 1.2, 0.75
LEXICAL_SHARE = 0.6
DEPTH = 200
STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their "
        "then there these they this to was will with",
    )
)


@dataclass(frozen=True)
class Collection:
    """Documents, queries and graded judgements (query id -> document number -> grade)."""

    name: str
    documents: list[str]
    queries: dict[str, str]
    judged: dict[str, dict[int, int]]


def load_collection(folder: Path) -> Collection:
    """Read a collection in the BEIR layout."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    with (folder / "queries.jsonl").open(encoding="utf-8") as file:
        queries = {row["_id"]: row["text"] for row in map(json.loads, file)}
    number = {row["_id"]: i for i, row in enumerate(rows)}
    judged: dict[str, dict[int, int]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            grade = int(float(row["score"]))
            if grade > 0 and row["corpus-id"] in number:
                judged.setdefault(row["query-id"], {})[number[row["corpus-id"]]] = grade
    documents = [f"{row.get('title') or ''}\n\n{row['text']}".strip() for row in rows]
    return Collection(folder.name, documents, queries, judged)


def bm25_scores(collection: Collection, query_ids: list[str]) -> NDArray[np.float32]:
    """Return the BM25 score of every document for every query, over stemmed words without stop words."""
    stem = Stemmer.Stemmer("english").stemWords

    def terms(text: str) -> Counter[str]:
        return Counter(stem([w for w in re.findall(r"\w+", text.lower()) if w not in STOP]))

    counted = [terms(text) for text in collection.documents]
    lengths = np.array([sum(c.values()) for c in counted], dtype=np.float32)
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    postings: dict[str, list[tuple[int, int]]] = {}
    for i, counts in enumerate(counted):
        for term, count in counts.items():
            postings.setdefault(term, []).append((i, count))
    scores = np.zeros((len(query_ids), len(counted)), dtype=np.float32)
    for row, query_id in enumerate(query_ids):
        for term, times in terms(collection.queries[query_id]).items():
            found = np.array(postings.get(term, []), dtype=np.int64).reshape(-1, 2)
            idf = np.log(1 + (len(counted) - len(found) + 0.5) / (len(found) + 0.5))
            documents, tf = found[:, 0], found[:, 1]
            scores[row, documents] += times * idf * tf * (K1 + 1) / (tf + norm[documents])
    return scores


def ndcg(ranked: NDArray[np.int64], grades: dict[int, int]) -> float:
    """Return nDCG@10 with gain 2^grade - 1 (Burges et al., 2005)."""
    discount = 1 / np.log2(np.arange(2, 12))
    gains = np.array([2.0 ** grades.get(int(d), 0) - 1 for d in ranked[:10]])
    ideal = np.sort([2.0**g - 1 for g in grades.values()])[::-1][:10]
    return float((gains * discount[: len(gains)]).sum() / (ideal * discount[: len(ideal)]).sum())


def fuse(lexical: NDArray[np.float32], cosine: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the weighted sum of both scores over the union of their top DEPTH, -inf elsewhere.

    The weights are those of section 5 of the design.
    """
    union = np.union1d(np.argsort(-lexical)[:DEPTH], np.argsort(-cosine)[:DEPTH])
    mean, top = cosine.mean(), cosine.max()
    fused = np.full(len(lexical), -np.inf, dtype=np.float32)
    words = lexical[union] / max(float(lexical.max()), 1e-9)
    fused[union] = LEXICAL_SHARE * words + (1 - LEXICAL_SHARE) * (cosine[union] - mean) / (top - mean)
    return fused


def measure(model: StaticModel | None, collection: Collection, lexical: NDArray[np.float32]) -> tuple[float, float]:
    """Return the mean nDCG@10 of the model alone and fused; without a model, that of BM25 twice."""
    query_ids = list(collection.judged)
    if model is None:
        cosines = lexical
    else:
        documents = _unit(model.encode(collection.documents))
        cosines = _unit(model.encode([collection.queries[q] for q in query_ids])) @ documents.T
    alone, fused = [], []
    for row, query_id in enumerate(query_ids):
        grades = collection.judged[query_id]
        alone.append(ndcg(np.argsort(-cosines[row], kind="stable"), grades))
        both = lexical[row] if model is None else fuse(lexical[row], cosines[row])
        fused.append(ndcg(np.argsort(-both, kind="stable"), grades))
    return float(np.mean(alone)), float(np.mean(fused))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    rows = np.asarray(rows, dtype=np.float32)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def main() -> None:
    """Print one line for each model: alone and fused on each set, and their means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collections", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("models", nargs="*", type=Path)
    arguments = parser.parse_args()
    collections = [load_collection(arguments.collections / name) for name in arguments.sets]
    lexical = [bm25_scores(c, list(c.judged)) for c in collections]
    print(f"{'alone / fused':24}" + "".join(f"{c.name:>14}" for c in collections) + f"{'mean':>14}")
    for folder in [None, *arguments.models]:
        model = None if folder is None else StaticModel.from_pretrained(folder)
        pairs = [measure(model, c, words) for c, words in zip(collections, lexical, strict=True)]
        pairs.append((float(np.mean([p[0] for p in pairs])), float(np.mean([p[1] for p in pairs]))))
        cells = "".join(f"{f'{alone:.3f} / {fused:.3f}':>14}" for alone, fused in pairs)
        print(f"{'BM25' if folder is None else folder.name:24}{cells}", flush=True)


if __name__ == "__main__":
    main()
