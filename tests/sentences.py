"""Record what commands say, in the form of the golden files of sentences.

Paths, times and ids are replaced by placeholders in braces; `{vault}`, `{home}` and `{tmp}` stand for the same folders
in the words of a command.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from excerpt.base.settings import vault_slug
from excerpt.vault.known_vaults import DEMO
from tests.cli.conftest import NOTES, Answer, Excerpt

_PLACEHOLDERS = (
    (re.compile(r"generation \d+"), "generation {number}"),  # a slow build commits more than one
    (re.compile(r"\b[0-9a-fm](?=[a-f]*\d)[0-9a-f]{10}\b"), "{id}"),
    (re.compile(r"\b20\d\d-\d\d-\d\d(?:[ T][\d:.]+Z?)?"), "{date}"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b|\b[\d,.]+ m?s\b"), "{time}"),
    (re.compile(r"\bwords_\w+\.\w+"), "{file}"),
    (re.compile(r"\bvectors-\w+(?:\.\w+)*"), "{file}"),
    (re.compile(r"\bprocess \d+ \(.*\)"), "process {pid} ({command})"),
    (re.compile(r"(?<=/)[\w-]+-[0-9a-f]{10}\b"), "{slug}"),
    (re.compile(r"\bid [0-9a-f]{16}\b"), "id {model}"),
)
_OF_CLICK = ("Usage: ", "Try '")
"""Beginnings of the lines that click prints above each error."""


class Stage:
    """An own folder, home and vault for the commands of one scene, and the lines that they print."""

    def __init__(self, excerpt: Excerpt, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.tmp, self.home, self.vault = folder, folder / "home", folder / "vault"
        self.patch = patch
        self.lines: list[str] = []
        self._excerpt = excerpt
        patch.setenv("EXCERPT_HOME", str(self.home))
        for path, text in NOTES.items():
            self.write(f"vault/{path}", text)

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file below the stage's folder and return its path."""
        file = self.tmp / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def call(self, *words: str, vault: bool = True) -> Answer:
        """Run a command in this process without recording it; `vault` adds the option."""
        argv = [self._filled(word) for word in words]
        return self._excerpt(*argv, *(("--vault", self.vault) if vault else ()))

    def say(self, *words: str, vault: bool = True, out: bool = False) -> Answer:
        """Run a command and record what it says: stderr, with `out` also stdout, and the exit code unless 0."""
        answer = self.call(*words, vault=vault)
        shown = (word if re.fullmatch(r"\S+", word) else f"'{word}'" for word in words)
        self.record(" ".join(("excerpt", *shown)), (answer.out if out else "") + answer.err, answer.code)
        return answer

    def record(self, command: str, said: str, code: int = 0) -> None:
        self.lines.append(f"$ {self.masked(command)}")
        lines = [line.rstrip() for line in said.split("\n") if line.strip() and not line.startswith(_OF_CLICK)]
        self.lines += [f"    {self.masked(line)}" for line in lines]
        self.lines += [f"    exit {code}"] if code else []

    def masked(self, text: str) -> str:
        """Return `text` with placeholders for what differs between runs."""
        slug = vault_slug(self.vault)
        for name, value in (("vault", self.vault), ("home", self.home), ("tmp", self.tmp), ("demo", DEMO)):
            text = re.sub(rf"{re.escape(str(value))}(?![\w-])", f"{{{name}}}", text)
        text = text.replace(slug, "{slug}").replace(sys.executable, "{python}")
        for pattern, placeholder in _PLACEHOLDERS:
            text = pattern.sub(placeholder, text)
        return text

    def _filled(self, word: str) -> str:
        for name, value in (("vault", self.vault), ("home", self.home), ("tmp", self.tmp)):
            word = word.replace(f"{{{name}}}", str(value))
        return word


@contextmanager
def stage(excerpt: Excerpt, folder: Path) -> Iterator[Stage]:
    """Open a stage in a new folder, with an environment that has no effect on what is said."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("EXCERPT_VAULT", "VISUAL", "XDG_CONFIG_HOME", "HF_HUB_OFFLINE"):
            patch.delenv(name, raising=False)
        patch.setenv("EDITOR", "nano")
        patch.setenv("COLUMNS", "80")
        yield Stage(excerpt, folder, patch)


def as_text(scenes: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Return the text of a golden file: each scene's name, and its lines."""
    return "\n".join("".join(f"{line}\n" for line in (f"# {name}", "", *lines)) for name, lines in scenes)
