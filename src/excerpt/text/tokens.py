"""Count the tokens of a text as a named LLM tokenizer does, offline."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from excerpt.base.errors import ExcerptError, SettingsError
from excerpt.base.patterns import lazy_pattern
from excerpt.base.settings import user_paths
from excerpt.text.token_table import TableCounter

if TYPE_CHECKING:
    from splintr import AnyTokenizer

# Names of tokenizers -> names of their vocabularies in the library splintr.
_VOCABULARIES = {
    "o200k": "o200k_base",
    "cl100k": "cl100k_base",
    "llama3": "llama3",
    "llama2": "llama2",
    "deepseek": "deepseek_v3",
    "mistral": "mistral_v3",
    "phi4": "phi4",
    "qwen3": "qwen3",
    "gemma3": "gemma3",
    "glm4": "glm4",
    "kimi": "kimi_k2",
}
_ESTIMATE = "chars/4"
_WITH_TABLE = "o200k"
# Other names of tokenizers: the library's names, and names of the estimate without a "/".
_ALIASES = {vocabulary: name for name, vocabulary in _VOCABULARIES.items()} | {
    "chars4": _ESTIMATE,
    "characters/4": _ESTIMATE,
}

TOKENIZERS: tuple[str, ...] = (*_VOCABULARIES, _ESTIMATE)
"""The names of tokenizers that are included."""


class Tokenizer(Struct, frozen=True):
    """A tokenizer of an LLM, by name.

    `count` returns the number of tokens of a text. It neither adds nor recognises special tokens.
    """

    name: str
    count: Callable[[str], int]


@cache
def open_tokenizer(name: str, *, for_many_texts: bool = False) -> Tokenizer:
    """Open the tokenizer called `name`, or the one in a file.

    `name` is one of TOKENIZERS, the path of a tokenizer.json, or the path of a folder that has this file. With
    `for_many_texts` the default tokenizer is loaded at once, which takes .1 s of CPU and counts three times as fast as
    its table does. Raises SettingsError if there is no such tokenizer.
    """
    name = _ALIASES.get(name, name)
    if name == _ESTIMATE:
        return Tokenizer(name, lambda text: (len(text) + 3) // 4)
    if name == _WITH_TABLE and not for_many_texts:
        with suppress(ExcerptError):  # without a home folder there is no table
            file = user_paths().tokens_file(name)
            return Tokenizer(name, _without_surrogates(TableCounter(file, lambda: _load_vocabulary(name)).count))
    if name in _VOCABULARIES:
        encode = _load_vocabulary(name).encode_ordinary
        return Tokenizer(name, _without_surrogates(lambda text: len(encode(text))))
    return _open_tokenizer_file(name)


def _load_vocabulary(name: str) -> AnyTokenizer:
    from splintr import Tokenizer as Vocabulary

    return Vocabulary.from_pretrained(_VOCABULARIES[name])


def _open_tokenizer_file(name: str) -> Tokenizer:
    file = _tokenizer_file(name)
    if file is None:
        import difflib

        near = difflib.get_close_matches(name, TOKENIZERS, n=1)
        guess = f"Did you mean {near[0]}? " if near else ""
        names = ", ".join(TOKENIZERS)
        raise SettingsError(
            f"There is no tokenizer {name!r}.", f"{guess}Use one of {names}, or the path of a tokenizer.json."
        )
    from splintr import from_json

    try:
        encode = from_json(str(file)).encode_ordinary
        return Tokenizer(name, _without_surrogates(lambda text: len(encode(text))))
    except (OSError, ValueError) as error:
        raise SettingsError(f"The tokenizer {file} cannot be read: {error}.") from error


def _tokenizer_file(name: str) -> Path | None:
    try:
        path = Path(name).expanduser()
        return next((file for file in (path, path / "tokenizer.json") if file.is_file()), None)
    except (OSError, RuntimeError, ValueError):  # too long a name, the ~ of an unknown user, a NUL
        return None


def _without_surrogates(count: Callable[[str], int]) -> Callable[[str], int]:
    """Return `count` for any text: a lone surrogate, as in a file name that is not UTF-8, counts as "?"."""

    def count_any(text: str) -> int:
        try:
            return count(text)
        except UnicodeEncodeError:
            return count(text.encode("utf-8", "replace").decode("utf-8"))

    return count_any


# --- counts that a person types ---------------------------------------------------------------------------------------

_TYPED_COUNT = lazy_pattern(r"(?P<whole>[0-9]{1,9})(?:(?:\.(?P<part>[0-9]{1,3}))?(?P<thousands>k))?")


def parse_token_count(text: str) -> int | None:
    """Return the number of tokens that `text` gives, such as `4000`, `4,000`, `4k` or `1.5k`; None if it gives none."""
    match = _TYPED_COUNT.fullmatch(re.sub("[,_ ]", "", text.strip().lower()))
    if match is None:
        return None
    return int(match["whole"]) * (1_000 if match["thousands"] else 1) + int((match["part"] or "").ljust(3, "0"))
