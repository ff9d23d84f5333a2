"""The vectors of an index: each fragment's in the catalog, its row in the matrix, and what the model makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excerpt.errors import ModelError
from excerpt.index.catalog import Catalog
from excerpt.index.embed import Embedder, open_embedder
from excerpt.index.fields import EMBEDDED_TEXT_VERSION, embedded_digest, embedded_text
from excerpt.index.files import DamagedFileError
from excerpt.index.health import Fault, Health, Part, Tick
from excerpt.index.rows import heading_path_from_row
from excerpt.index.vectors import MatrixSource, Quantised, quantise
from excerpt.settings import Settings

_AT_ONCE = 2048
_FRAGMENTS = (
    "SELECT f.key, f.embedded, v.vector, n.path, f.line_start, n.title, s.heading_path, f.text FROM fragments f"
    " JOIN notes n ON n.id = f.note LEFT JOIN sections s ON s.note = f.note AND s.ordinal = f.section"
    " LEFT JOIN vectors v ON v.model = ? AND v.digest = f.embedded WHERE f.key > ? ORDER BY f.key LIMIT ?"
)
# Another processor adds floats up in another order: a component may fall on the other side of a rounding.
_ROUNDING = 1.01

_Rows = dict[int, bytes]


def check_vectors(
    catalog: Catalog, source: MatrixSource, settings: Settings, health: Health, tick: Tick, *, quick: bool
) -> None:
    """Compare all of them; `quick` does not ask the model. What is wrong goes to the faults of `health`."""
    dimensions = int(catalog.meta("dimensions") or 0)
    try:
        matrix = _matrix(source, dimensions)
    except DamagedFileError as error:
        health.faults.append(Fault("vectors", error.message, Part.VECTORS))
        return
    embedder = None if quick else _model_of_index(settings, health)
    known: set[bytes] = set()
    above, done = -1, 0
    while rows := catalog.rows(_FRAGMENTS, health.model, above, _AT_ONCE):
        above, done = rows[-1][0], done + len(rows)
        tick("vectors", done, health.fragments, rows[-1][3])
        health.faults += [fault for row in rows if (fault := _fault(row, matrix, dimensions))]
        health.vectors += len(rows)
        if embedder is not None:
            new = {row[1]: row for row in rows if row[2] is not None and row[1] not in known}
            known.update(new)
            health.faults += _not_of_model(list(new.values()), embedder, dimensions)


def _matrix(source: MatrixSource, dimensions: int) -> _Rows:
    """Each key's vector, as the catalog keeps vectors."""
    found: _Rows = {}
    for keys, quantised in source.blocks(dimensions):
        found.update(zip(keys.tolist(), quantised.to_bytes(), strict=True))
    return found


def _model_of_index(settings: Settings, health: Health) -> Embedder | None:
    """The model that the index was made with, None if the settings name another; what is wrong with it is said by
    whoever looks at the model."""
    try:
        embedder = open_embedder(settings.embedding.model)
    except ModelError:
        return None
    if f"{embedder.id}/{EMBEDDED_TEXT_VERSION}" == health.model:
        return embedder
    health.behind.append("the vectors, which are of another model or another text")
    return None


def _fault(row: Sequence[Any], matrix: _Rows, dimensions: int) -> Fault | None:
    key, digest, vector, path, line, *_ = row
    at = f"The fragment at line {line}"
    if vector is None:
        return Fault(path, f"{at} has no vector in the catalog.", Part.VECTORS)
    if len(vector) != 4 + dimensions:
        return Fault(path, f"{at} has a vector of another length in the catalog.", Part.VECTORS, digest)
    if key not in matrix:
        return Fault(path, f"{at} has no row in the matrix.", Part.VECTORS)
    if matrix[key] != vector:
        return Fault(path, f"{at} has another vector in the matrix than in the catalog.", Part.VECTORS, digest)
    return None


def _not_of_model(rows: Sequence[Sequence[Any]], embedder: Embedder, dimensions: int) -> list[Fault]:
    """Those whose vector in the catalog is not the one that the model makes."""
    asked = [(row, embedded_text(row[5], heading_path_from_row(row[6] or "[]"), row[7])) for row in rows]
    # Where the text is not the one that the vector is kept under, it is the note's rows that are wrong.
    asked = [(row, text) for row, text in asked if len(row[2]) == 4 + dimensions and embedded_digest(text) == row[1]]
    rows, texts = [row for row, _ in asked], [text for _, text in asked]
    made = quantise(embedder.embed(texts)) if texts else Quantised.from_bytes([], dimensions)
    kept = Quantised.from_bytes([row[2] for row in rows], dimensions)
    far = np.abs(_unfolded(made) - _unfolded(kept)).max(axis=1, initial=0) > _ROUNDING * made.scales
    return [
        Fault(path, f"The fragment at line {line} has a vector that is not of its text.", Part.VECTORS, digest)
        for wrong, (_, digest, _, path, line, *_) in zip(far.tolist(), rows, strict=True)
        if wrong
    ]


def _unfolded(quantised: Quantised) -> NDArray[np.float32]:
    return quantised.rows.astype(np.float32) * quantised.scales[:, None]
