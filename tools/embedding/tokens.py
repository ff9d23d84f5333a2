"""Word pieces: many tokenized texts in one flat array, in the teacher's numbering or in the student's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

CLS, SEP = 101, 102
MAX_PIECES = 92
"""Texts are truncated to this length for teacher and student.

Most passages are shorter, and the teacher's cost grows with it.
"""


@dataclass(frozen=True)
class TokenLists:
    """Texts as word-piece ids: text i is flat[starts[i]:starts[i + 1]]."""

    flat: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return self.flat[self.starts[index] : self.starts[index + 1]]

    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def pick(self, rows: NDArray[np.int64]) -> TokenLists:
        """Return the chosen texts, in that order."""
        chosen = [self[int(i)] for i in rows]
        return TokenLists(np.concatenate(chosen), np.concatenate([[0], np.cumsum([len(c) for c in chosen])]))


def tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> TokenLists:
    """Tokenize without special tokens, each text truncated to MAX_PIECES."""
    rows: list[NDArray[np.int32]] = []
    for start in range(0, len(texts), 4096):
        batch = tokenizer.encode_batch(list(texts[start : start + 4096]), add_special_tokens=False)
        rows += [np.array(encoding.ids[:MAX_PIECES], dtype=np.int32) for encoding in batch]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return TokenLists(np.concatenate(rows) if rows else np.zeros(0, np.int32), starts)


def join(parts: Sequence[TokenLists]) -> TokenLists:
    """Return several lists of texts concatenated."""
    lengths = np.concatenate([part.lengths() for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return TokenLists(np.concatenate([part.flat for part in parts]), starts)


def kept_pieces(vocabulary: dict[str, int]) -> list[str]:
    """Return the student's vocabulary: [PAD], [UNK], then the teacher's without its markers and 994 unused pieces."""
    markers = {"[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"}
    by_id = sorted(vocabulary, key=vocabulary.__getitem__)
    return ["[PAD]", "[UNK]", *(p for p in by_id if p not in markers and not p.startswith("[unused"))]


def to_student(texts: TokenLists, vocabulary: dict[str, int]) -> TokenLists:
    """Return the texts in the student's numbering; pieces that the student lacks become [UNK]."""
    table = np.ones(max(vocabulary.values()) + 1, dtype=np.int32)
    for new, piece in enumerate(kept_pieces(vocabulary)):
        table[vocabulary[piece]] = new
    return TokenLists(table[texts.flat], texts.starts)


def write_student_tokenizer(teacher_tokenizer: Path, target: Path) -> None:
    """Write the teacher's tokenizer with the smaller vocabulary and without the step that adds [CLS] and [SEP]."""
    spec = json.loads(teacher_tokenizer.read_text(encoding="utf-8"))
    spec["model"]["vocab"] = {piece: i for i, piece in enumerate(kept_pieces(spec["model"]["vocab"]))}
    spec["added_tokens"] = [
        {**token, "id": spec["model"]["vocab"][token["content"]]}
        for token in spec["added_tokens"]
        if token["content"] in ("[PAD]", "[UNK]")
    ]
    spec["post_processor"], spec["truncation"], spec["padding"] = None, None, None
    target.write_text(json.dumps(spec, ensure_ascii=False), encoding="utf-8")
