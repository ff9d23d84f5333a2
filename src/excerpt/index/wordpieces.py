"""Text -> the numbers of a model's tokens, where the tokenizer treats every word by itself: each word is asked once.

A library's tokenizer takes 1 s for 3 MB, nine tenths of the time that embedding took. Tokenizers of the BERT family
cut at white space and around punctuation before they look at anything else, so a stretch between ASCII ones of both
comes to the same tokens wherever it stands, and nearly all stretches of a vault have been seen before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Tokenize = Callable[[Sequence[str]], list[list[int]]]

_ASCII_PUNCTUATION = r"!-/:-@\[-`{-~"
_STRETCH = re.compile(rf"[^ \t\n\r{_ASCII_PUNCTUATION}]+|[{_ASCII_PUNCTUATION}]")
# Bounds of memory: some 40 MB. Longer stretches (scripts without spaces, encoded data) hardly come again.
_MOST_KNOWN = 200_000
_LONGEST_KNOWN = 40


class WordPieces:
    """Tokenizes as `tokenize` does, from memory where it can. For any one thread at a time."""

    def __init__(self, tokenize: Tokenize, tokenizer: str) -> None:
        """`tokenizer` is the JSON that describes the one behind `tokenize`: if it cannot be taken stretch by stretch,
        every text goes through `tokenize` whole."""
        self._tokenize = tokenize
        self._known: dict[str, bytes] = {}
        found = json.loads(tokenizer)
        added = found.get("added_tokens") or []
        self._by_stretch = (
            _type(found, "normalizer") == "BertNormalizer"
            and _type(found, "pre_tokenizer") == "BertPreTokenizer"
            and not found.get("truncation")
            and not any(token["normalized"] for token in added)
        )
        # Names such as [PAD] are looked for before anything is cut.
        names = "|".join(re.escape(token["content"]) for token in added)
        self._named = re.compile(names or r"(?!)")

    def ids(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """The tokens' numbers, an array a text."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        stretches = [self._stretches(text) for text in texts]
        new = list(set(chain.from_iterable(stretches)).difference(self._known))
        if new:
            self._known.update(zip(new, map(_packed, self._tokenize(new)), strict=True))
        found = [np.frombuffer(b"".join(map(self._known.__getitem__, parts)), np.int32) for parts in stretches]
        for stretch in new:
            if len(stretch) > _LONGEST_KNOWN:
                del self._known[stretch]
        return found

    def _stretches(self, text: str) -> list[str]:
        return _STRETCH.findall(text) if self._by_stretch and not self._named.search(text) else [text]


def _type(tokenizer: dict[str, dict[str, str] | None], part: str) -> str:
    return (tokenizer.get(part) or {}).get("type", "")


def _packed(ids: list[int]) -> bytes:
    return np.array(ids, np.int32).tobytes()
