"""Meaning: how far above the vault's ordinary a fragment's similarity to the query is, and how far to trust that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def above_mean(similarities: Floats, rows: npt.NDArray[np.int32], mean: float, highest: float) -> Floats:
    """The cosines of `rows`, minus the vault's mean and as a share of the highest's: 1 for the nearest fragment, 0 for
    an ordinary one or less. Cosines of a static model all lie high; only what stands out says something."""
    spread = highest - mean
    if spread <= 1e-6:
        return np.zeros(len(rows), np.float32)
    above: Floats = (similarities[rows] - np.float32(mean)) / np.float32(spread)
    return np.clip(above, 0.0, 1.0)


def trust(text: str, languages: Sequence[str]) -> float:
    """How much of `text` is in a script the English model reads, 0 to 1, and less in a vault of another language."""
    letters = [c for c in text if c.isalpha()]
    latin = sum(c < "\u0250" for c in letters)
    share = latin / len(letters) if letters else 1.0
    return share if not languages or languages[0] == "en" else 0.5 * share
