"""Train the table: move its rows until the mean of a text's rows has the direction of the teacher's embedding."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from tokens import TokenLists


@dataclass(frozen=True)
class PrepareOptions:
    """The training settings with the best results; docs/design/embedding.md says what else was tried."""

    epochs: int = 3
    batch: int = 1024
    learning_rate: float = 4e-3
    short_weight: float = 0.5
    relation_weight: float = 0.2
    contrast_weight: float = 0.05
    temperature: float = 0.05
    seed: int = 20


@dataclass(frozen=True)
class Examples:
    """Texts in the student's numbering with the teacher's unit embeddings, row by row."""

    texts: TokenLists
    teacher: NDArray[np.float16]


def _bag(table: torch.nn.Parameter, texts: TokenLists, rows: NDArray[np.int64]) -> torch.Tensor:
    """Return the unit mean of the table's rows for each chosen text."""
    chosen = [texts[int(i)] for i in rows]
    offsets = np.concatenate([[0], np.cumsum([len(c) for c in chosen[:-1]])])
    flat = torch.from_numpy(np.concatenate(chosen).astype(np.int64))
    means = functional.embedding_bag(flat, table, torch.from_numpy(offsets.astype(np.int64)), mode="mean")
    return functional.normalize(means, dim=1)


def _loss(
    passage: torch.Tensor,
    passage_teacher: torch.Tensor,
    short: torch.Tensor,
    short_teacher: torch.Tensor,
    r: PrepareOptions,
) -> torch.Tensor:
    """Return the weighted sum of four losses.

    They are the direction of passages, the direction of short texts, the similarities of a short text to all passages,
    and the contrast between its own passage and the others.
    """
    direction = (1 - (passage * passage_teacher).sum(1)).mean()
    direction_short = (1 - (short * short_teacher).sum(1)).mean()
    ours = short @ passage.T / r.temperature
    theirs = short_teacher @ passage_teacher.T / r.temperature
    relation = functional.kl_div(
        functional.log_softmax(ours, 1), functional.log_softmax(theirs, 1), log_target=True, reduction="batchmean"
    )
    contrast = functional.cross_entropy(ours, torch.arange(len(ours)))
    return direction + r.short_weight * direction_short + r.relation_weight * relation + r.contrast_weight * contrast


def train(
    table: NDArray[np.float32], passages: Examples, shorts: Examples, recipe: PrepareOptions | None = None
) -> NDArray[np.float32]:
    """Train and return the table; rows 0 and 1 ([PAD], [UNK]) stay zero.

    shorts.texts[i] belongs to passages.texts[i].
    """
    r = recipe or PrepareOptions()
    torch.manual_seed(r.seed)
    order_of = np.random.default_rng(r.seed)
    weights = torch.nn.Parameter(torch.from_numpy(table.copy()))
    optimizer = torch.optim.Adam([weights], lr=r.learning_rate, fused=True)
    usable = np.flatnonzero((passages.texts.lengths() > 0) & (shorts.texts.lengths() > 0))
    steps = r.epochs * (len(usable) // r.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.02, 1 - step / max(1, steps)))
    started, step = time.monotonic(), 0
    for _ in range(r.epochs):
        order = order_of.permutation(usable)
        for start in range(0, len(order) - r.batch + 1, r.batch):
            rows = order[start : start + r.batch]
            loss = _loss(
                _bag(weights, passages.texts, rows),
                torch.from_numpy(passages.teacher[rows].astype(np.float32)),
                _bag(weights, shorts.texts, rows),
                torch.from_numpy(shorts.teacher[rows].astype(np.float32)),
                r,
            )
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            assert weights.grad is not None
            weights.grad[:2] = 0
            optimizer.step()
            schedule.step()
            step += 1
            if step % 100 == 0:
                seconds = time.monotonic() - started
                print(f"train: step {step}/{steps}, loss {loss.item():.4f}, {seconds:.0f} s", flush=True)
    return weights.detach().numpy()
