"""An embedder that finds words in another spelling: it counts groups of three letters."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray


class LetterEmbedder:
    id = "letters-1"  # raised when it makes other vectors of the same text
    dimensions = 256
    languages = ("*",)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self.embed_query(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self.dimensions, np.float32)
        padded = f"  {text.lower()}  "
        for start in range(len(padded) - 2):
            vector[crc32(padded[start : start + 3].encode()) % self.dimensions] += 1
        return vector  # excerpt makes its length 1
