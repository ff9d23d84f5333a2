"""The settings files, the embedding model and the tokenizer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from excerpt.doctor.finding import Finding, ok, problem, warning
from excerpt.errors import ModelError, SettingsError
from excerpt.settings import Places, Settings, load_settings


def read_settings(where: Places, vault: Path | None) -> tuple[Settings, tuple[Finding, ...]]:
    """The settings that hold, as far as their files can be read, and how each file is."""
    files = [("for all vaults", where.settings_file)]
    if vault is not None:
        files.append(("of this vault", where.vault_settings_file(vault)))
    good: list[Path] = []
    findings: list[Finding] = []
    for whose, file in files:
        try:
            _look_at(file)
        except SettingsError as error:
            findings.append(problem(error.message, error.hint or "Correct it: `excerpt config --edit`."))
        else:
            good.append(file)
            there = "is valid" if file.exists() else "is not there: every setting is as it comes"
            findings.append(ok(f"The settings file {whose} {there}: {file}"))
    return load_settings(*good), tuple(findings)


def _look_at(file: Path) -> None:
    from excerpt.vault.scan import patterns_of

    settings = load_settings(file)
    try:
        patterns_of(settings.vault)
    except SettingsError as error:
        raise SettingsError(f"{file}: {error.message}", error.hint) from error


def tokenizer(name: str, of_index: str) -> Finding:
    from excerpt.text.tokens import open_tokenizer

    try:
        count = open_tokenizer(name).count("one two three")
    except SettingsError as error:
        return problem(error.message, error.hint)
    if of_index and of_index != name:
        return warning(
            f"The tokenizer is {name}; the index counts by {of_index}.", "The next `excerpt index` counts anew."
        )
    return ok(f"The tokenizer is {name}, and it counts" if count else f"The tokenizer is {name}")


def model(name: str, of_index: str) -> Iterator[Finding]:
    """The embedding model of the settings, loaded without the network, against that of the index."""
    # Whoever loads a model asks a hub for what is missing; the doctor looks at what is here.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from excerpt.index.embed import open_embedder
    from excerpt.index.fields import EMBEDDED_TEXT_VERSION

    said = name or "the one that ships with excerpt"
    try:
        embedder = open_embedder(name)
    except ModelError as error:
        yield problem(error.message, error.hint)
        return
    yield ok(f"The embedding model is {said}: {embedder.dimensions} dimensions, id {embedder.id}")
    if of_index and of_index != f"{embedder.id}/{EMBEDDED_TEXT_VERSION}":
        yield warning(
            "The index has the vectors of another model.", "The next `excerpt index` makes them anew, from the catalog."
        )
