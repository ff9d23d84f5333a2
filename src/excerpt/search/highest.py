"""The rows of the highest values: what a list of candidates is cut to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_STRIPE = 64


def highest(values: npt.NDArray[np.float32], size: int, above: float) -> npt.NDArray[np.int32]:
    """Rows, ascending, of the `size` highest values, of those above a floor; of equals the first."""
    lowest = np.nextafter(np.float32(above), np.float32(np.inf))
    stripes = len(values) // _STRIPE
    if stripes > size:
        # As many stripes have a value of at least this, so none below it is among the highest.
        most = values[: stripes * _STRIPE].reshape(_STRIPE, stripes).max(axis=0)
        lowest = max(lowest, np.partition(most, stripes - size)[stripes - size])
    rows = np.flatnonzero(values >= lowest).astype(np.int32)
    if len(rows) > size:
        found = values[rows]
        least = np.partition(found, len(rows) - size)[len(rows) - size]
        kept = found > least
        kept[np.flatnonzero(found == least)[: size - np.count_nonzero(kept)]] = True
        rows = rows[kept]
    return rows
