"""Checks of what a model is given and of what it computed, whichever model it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from excerpt.base.errors import ModelError
from excerpt.encoders.interface import MAX_DIMENSIONS, Floats
from excerpt.text.display import format_count


def clean_text(text: str, max_characters: int) -> str:
    """Return the beginning of a text without lone surrogates, which models reject and UTF-16 notes may hold."""
    bounded = text[:max_characters]
    return bounded if bounded.isascii() else bounded.encode("utf-8", "replace").decode()


def checked_vectors(values: object, count: int, dimensions: int, source: str) -> Floats:
    """Return vectors in float32, scaled to length 1 (a vector of zeros stays), shape (count, dimensions).

    `dimensions` is 0 if any number of dimensions is accepted. Raises ModelError, whose sentence begins with `source`
    ("The model in X").
    """
    vectors = _as_floats(values, f"{source} returned something other than vectors.")
    if vectors.ndim != 2 or len(vectors) != count:
        found = f"{len(vectors):,} vectors" if vectors.ndim == 2 else "something other than vectors"
        raise ModelError(f"{source} returned {found} for {count:,} texts.")
    if not 1 <= vectors.shape[1] <= MAX_DIMENSIONS:
        raise ModelError(f"{source} has {vectors.shape[1]:,} dimensions; the most are {MAX_DIMENSIONS:,}.")
    if dimensions and vectors.shape[1] != dimensions:
        raise ModelError(f"{source} returned vectors of {vectors.shape[1]:,} dimensions instead of {dimensions:,}.")
    if not np.isfinite(vectors).all():
        raise ModelError(f"{source} returned a vector that is not a number.")
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def checked_scores(values: object, count: int, source: str) -> Sequence[float]:
    """Return scores as floats. Raises ModelError, whose sentence begins with `source`, unless each is a number."""
    scores = _as_floats(values, f"{source} returned something other than scores.")
    if scores.shape != (count,):
        raise ModelError(
            f"{source} returned {format_count(scores.size, 'score')} for {format_count(count, 'passage')}."
        )
    if not np.isfinite(scores).all():
        raise ModelError(f"{source} returned a score that is not a number.")
    return [float(score) for score in scores]


def _as_floats(values: object, message: str) -> Floats:
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(message) from error
