"""Count the tokens of a text as a named LLM tokenizer does, offline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from excerpt.errors import SettingsError

# Short names, and the names of the vocabularies in splintr.
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
# Other names: those of their makers, and names without a "/".
_ALIASES = {vocabulary: name for name, vocabulary in _VOCABULARIES.items()} | {
    "chars4": _ESTIMATE,
    "characters/4": _ESTIMATE,
}

TOKENIZERS: tuple[str, ...] = (*_VOCABULARIES, _ESTIMATE)
"""The names of tokenizers that need no file."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A tokenizer. `count` returns the tokens of a text, without adding or recognising special tokens."""

    name: str
    count: Callable[[str], int]


@cache
def open_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer called `name`: one of TOKENIZERS, or the path of a tokenizer.json or of a folder with one.

    Loading takes some 60 ms once per process, and the first count of a word beyond ASCII 160 ms. Raises SettingsError
    if there is no such tokenizer.
    """
    name = _ALIASES.get(name, name)
    if name == _ESTIMATE:
        return Tokenizer(name, lambda text: (len(text) + 3) // 4)
    if name in _VOCABULARIES:
        from splintr import Tokenizer as Vocabulary

        return Tokenizer(name, _counter(Vocabulary.from_pretrained(_VOCABULARIES[name]).encode_ordinary))
    return _open_file(name)


def _open_file(name: str) -> Tokenizer:
    file = _file_of(name)
    if file is None:
        import difflib

        near = difflib.get_close_matches(name, TOKENIZERS, n=1)
        guess = f"Did you mean {near[0]}? " if near else ""
        names = ", ".join(TOKENIZERS)
        raise SettingsError(
            f"There is no tokenizer {name!r}.", f"{guess}Known: {names}, or a path to a tokenizer.json."
        )
    from splintr import from_json

    try:
        return Tokenizer(name, _counter(from_json(str(file)).encode_ordinary))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} is not a tokenizer that can be read: {error}.") from error


def _file_of(name: str) -> Path | None:
    try:
        path = Path(name).expanduser()
        return next((file for file in (path, path / "tokenizer.json") if file.is_file()), None)
    except (OSError, RuntimeError, ValueError):  # too long a name, the ~ of an unknown user, a NUL
        return None


def _counter(encode: Callable[[str], list[int]]) -> Callable[[str], int]:
    def count(text: str) -> int:
        try:
            return len(encode(text))
        except UnicodeEncodeError:  # a lone surrogate, as in a file name or an argument that is not UTF-8
            return len(encode(text.encode("utf-8", "replace").decode("utf-8")))

    return count
