"""Search the files of a vault for a question's rarest words, as `rg` does, and rank the files for reading.

How many words are searched for, whether as whole words, and what decides between files is up to the agent. `WAYS` are
such choices; none is best on every vault.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

from benchmarks.judgements import Question
from benchmarks.packs import TOKENIZER
from excerpt.index.snapshot import Snapshot
from excerpt.text.languages import select_stop_words

_WORD = re.compile(r"\w+")

Matches = Mapping[str, int]
"""The number of occurrences of a word, by the files that contain it."""


@dataclass(frozen=True, slots=True)
class Grep:
    """A search for the rarest words, as whole words (`rg -iw`) or as substrings (`rg -i`).

    Files with the most of the words come first, then, if `by_matches`, those with the most matches, then the shortest.
    """

    words: int
    whole: bool
    by_matches: bool


WAYS = tuple(Grep(*each) for each in product((1, 2, 3, 5), (True, False), (True, False)))
USUAL = Grep(3, whole=True, by_matches=True)


@dataclass
class Files:
    """The texts of a vault's notes, with cached search results and token counts."""

    texts: Mapping[str, str]
    _lower: dict[str, str] = field(init=False)
    _whole: dict[str, dict[str, int]] = field(init=False, default_factory=dict)
    _anywhere: dict[str, Matches] = field(init=False, default_factory=dict)
    _tokens: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._lower = {path: text.lower() for path, text in self.texts.items()}
        for path, text in self._lower.items():
            for word, count in Counter(_WORD.findall(text)).items():
                self._whole.setdefault(word, {})[path] = count

    def having(self, word: str, *, whole: bool) -> Matches:
        if whole:
            return self._whole.get(word, {})
        if word not in self._anywhere:
            counts = ((path, text.count(word)) for path, text in self._lower.items())
            self._anywhere[word] = {path: count for path, count in counts if count}
        return self._anywhere[word]

    def tokens(self, path: str) -> int:
        """Return the tokens of a file that is read whole, with its path on a line above it."""
        if path not in self._tokens:
            self._tokens[path] = TOKENIZER.count(f"{path}\n{self.texts[path]}")
        return self._tokens[path]


def files_of(snapshot: Snapshot) -> Files:
    return Files({path: snapshot.note_text(path) for path in snapshot.table.paths})


def found_by(grep: Grep, files: Files, question: Question) -> list[str]:
    """Return the files with any of the question's rarest words, best first.

    Without the files that the question's words were taken from.
    """
    found = {word: files.having(word, whole=grep.whole) for word in set(_WORD.findall(question.text.lower()))}
    asked = {word for word, matches in found.items() if matches}
    telling = asked - select_stop_words(asked, ["en"])
    rarest = sorted(telling, key=lambda word: (len(found[word]), word))[: grep.words]

    def order(path: str) -> tuple[int, int, int, str]:
        counts = [found[word].get(path, 0) for word in rarest]
        return -sum(map(bool, counts)), -sum(counts) * grep.by_matches, len(files.texts[path]), path

    return sorted({path for word in rarest for path in found[word]} - question.struck, key=order)
