"""Make the initial table: a static table from the teacher alone, without any text, as in model2vec.

Each word piece is given to the teacher alone; the embeddings are rotated by PCA and weighted by how common a piece is.
Method: Tulkens and van Dongen, "Model2Vec" (MinishLab, 2024). The weight a / (a + p) is that of Arora, Liang and Ma, "A
simple but tough-to-beat baseline for sentence embeddings" (ICLR 2017), with p from Zipf's law over the order of the
vocabulary, which is by frequency.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from scipy.sparse import csr_matrix

from tokens import TokenLists

SIF_A = 1e-4
"""Arora et al. report that 1e-3 to 1e-4 give similar results; model2vec uses this value."""


def sif_weights(size: int) -> NDArray[np.float32]:
    """Return the weight of each piece by its rank: near zero for the commonest, near one for the rare."""
    frequency = 1.0 / np.arange(2, size + 2)
    probability = frequency / frequency.sum()
    return np.asarray(SIF_A / (SIF_A + probability), dtype=np.float32)


def initial_table(piece_embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the distilled table: PCA with all dimensions, then SIF weights. Rows 0 and 1 ([PAD], [UNK]) are zero."""
    centred = piece_embeddings - piece_embeddings.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    table = (centred @ axes[:, ::-1]) * sif_weights(len(centred))[:, None]
    table[:2] = 0
    return np.asarray(table, dtype=np.float32)


def mean_embeddings(table: NDArray[np.float32], texts: TokenLists) -> NDArray[np.float32]:
    """Return the student's embeddings: the unit mean of each text's rows. A sparse count matrix limits memory."""
    shape = (len(texts), len(table))
    counts = csr_matrix((np.ones(len(texts.flat), np.float32), texts.flat, texts.starts), shape=shape)
    sums = counts @ table
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def rotate_to_teacher(
    table: NDArray[np.float32], texts: TokenLists, teacher: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Rotate the table so that its embeddings of `texts` are nearest to the teacher's (orthogonal Procrustes).

    Training then starts from the teacher's own axes instead of having to find them first.
    """
    rotation, _ = orthogonal_procrustes(mean_embeddings(table, texts), teacher)
    return np.asarray(table @ rotation, dtype=np.float32)
