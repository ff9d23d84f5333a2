"""Fixtures: a small real vault with its index, and the app on it or on a fictitious vault."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet

from excerpt.base.settings import PackSettings, Paths, Settings
from excerpt.index.build import build
from excerpt.tui.app import ExcerptApp
from excerpt.tui.index.controller import IndexController
from tests.tui.driver import ScriptedApp, places_under
from tests.tui.examples import write_notes


class SharedRules(LRUCache[Any, Any]):
    """Parsed CSS of all apps with the same variables. One app that drops its own does not drop those of others."""

    def clear(self) -> None:
        """Keep everything."""


@pytest.fixture(scope="session", autouse=True)
def css_parsed_once() -> Iterator[None]:
    """Parse each stylesheet once for all apps of a run: a sixth of the time until an app is on the screen."""
    shared: dict[frozenset[tuple[str, str]], SharedRules] = {}

    def rules_of(stylesheet: Stylesheet) -> SharedRules:
        return shared.setdefault(frozenset(stylesheet._variables.items()), SharedRules(1_000))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_cache", property(rules_of, lambda _stylesheet, _own: None), raising=False)
        yield


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Paths]:
    """Build the vault and its index once; tests get copies."""
    root = tmp_path_factory.mktemp("indexed")
    vault = root / "vault"
    write_notes(vault)
    user_paths = places_under(root / "home")
    build(vault, user_paths.index_folder(vault), Settings())
    return vault, user_paths


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("EXCERPT_HOME", str(folder))
    return folder


@pytest.fixture
def user_paths(home: Path) -> Paths:
    return places_under(home)


@pytest.fixture
def vault(tmp_path: Path, indexed: tuple[Path, Paths], user_paths: Paths) -> Path:
    """Copy the vault, and its index to where the app looks for it."""
    original, kept = indexed
    folder = tmp_path / "vault"
    shutil.copytree(original, folder)
    shutil.copytree(kept.index_folder(original), user_paths.index_folder(folder))
    return folder


@pytest.fixture
def indexing_process() -> None:
    """Mark a test of the indexing process, which then scans and watches the vault as for a user."""


@pytest.fixture(autouse=True)
def no_indexing_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no indexing process, except in tests with `living`.

    It would repeat every query at an unpredictable time, and replace what a test has put on the screen.
    """
    if "indexing_process" not in request.fixturenames:
        monkeypatch.setattr(IndexController, "start", lambda _index: None)


@pytest.fixture
def app(vault: Path, user_paths: Paths) -> ExcerptApp:
    return ExcerptApp(vault, Settings(pack=PackSettings(budget=2000)), user_paths)


@pytest.fixture
def scripted(tmp_path: Path, home: Path) -> ScriptedApp:
    """Return the app on the fictitious vault; its memories and settings are files under `tmp_path`."""
    return ScriptedApp(tmp_path)


@pytest.fixture
def editor_arguments(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an editor with its own window, and return the file that will hold its arguments."""
    arguments = tmp_path / "arguments"
    editor = tmp_path / "code"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{arguments}.part" && mv "{arguments}.part" "{arguments}"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    return arguments


@pytest.fixture
def quiet_clipboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide all clipboard tools, so that a test never changes the user's clipboard."""
    monkeypatch.setattr("excerpt.tui.clipboard.find_program", lambda name: None)
    yield
