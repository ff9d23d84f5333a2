"""Property tests: after any events in a vault and any reads, its index equals one from a clean build."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings
from excerpt.index import build as building
from excerpt.index import lexical_writer, pool, vectors
from excerpt.index.build import Updater, build
from excerpt.index.snapshot import Snapshot
from tests.conftest import THOROUGH
from tests.index.conftest import MEMORY, WORDS
from tests.index.content import content

pytestmark = pytest.mark.programs

_STEPS = 25
_EXAMPLES = 100 if THOROUGH else 10
_MIN, _MAX = 2, 12
"""The smallest and largest number of notes in a vault."""

_FOLDERS = ("", "a/", "b/", "a/deep/")
_NAMES = ("One.md", "Two.md", "drei.md", "Ünï cödé.md", "VIER.MD")
_PATHS = st.sampled_from([folder + name for folder in _FOLDERS for name in _NAMES])
_WORD = st.sampled_from(WORDS)
_PARAGRAPHS = st.lists(st.lists(_WORD, min_size=1, max_size=40).map(" ".join), max_size=8).map("\n\n".join)
_HEADS = st.sampled_from(["", "# Title\n\n", "---\ntags: [x, y]\naliases: Other\n---\n", "## Part\n\nSee [[One]].\n\n"])
_TEXTS = st.builds(str.__add__, _HEADS, _PARAGRAPHS)
_RULES = st.sampled_from(["", "a/\n", "b/*\n!b/One.md\n", "*.MD\n", "Two.md\ndeep/\n"])


class Vault(RuleBasedStateMachine):
    """A small vault with its index, and one process that keeps the index open throughout."""

    model: Path

    def __init__(self) -> None:
        super().__init__()
        self._folder = TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
        self.root, self.index = Path(self._folder.name, "vault"), Path(self._folder.name, "index")
        self.root.mkdir()
        self.settings = Settings(embedding=EmbeddingSettings(str(self.model)), pack=PackSettings(tokenizer="chars/4"))
        self.updater = Updater(self.root, self.index, self.settings)
        self.changed: set[str] = set()
        self.seen: set[str] = set()

    def teardown(self) -> None:
        self.updater.close()
        self._folder.cleanup()

    # --- events in the vault ------------------------------------------------------------------------------------------

    @initialize(texts=st.lists(_TEXTS, min_size=_MIN, max_size=4))
    def begin(self, texts: list[str]) -> None:
        for number, text in enumerate(texts):
            self._put(_NAMES[number], text)

    @rule(path=_PATHS, text=_TEXTS)
    def write(self, path: str, text: str) -> None:
        if len(self._notes()) < _MAX or (self.root / path).exists():
            self._put(path, text)

    @rule(data=st.data(), words=_PARAGRAPHS)
    def append(self, data: st.DataObject, words: str) -> None:
        path = self._one(data)
        self._put(path, (self.root / path).read_bytes().decode("utf-8", "replace") + "\n\n" + words)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if len(self._notes()) > _MIN:
            path = self._one(data)
            (self.root / path).unlink()
            self.changed.add(path)

    @rule(data=st.data(), to=_PATHS)
    def rename(self, data: st.DataObject, to: str) -> None:
        path = self._one(data)
        if path != to and not (self.root / to).is_dir():
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).replace(self.root / to)
            self.changed |= {path, to}

    @rule(data=st.data(), to=_PATHS)
    def copy(self, data: st.DataObject, to: str) -> None:
        path = self._one(data)
        if path != to and len(self._notes()) < _MAX:
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.root / path, self.root / to)
            self.changed.add(to)

    @rule(folder=st.sampled_from(["a", "b", "a/deep"]), to=st.sampled_from(["a", "b", "c", "b/deep", "c/in"]))
    def move_folder(self, folder: str, to: str) -> None:
        nested = PurePosixPath(to).is_relative_to(folder)
        if (self.root / folder).is_dir() and not (self.root / to).exists() and not nested:
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / folder).rename(self.root / to)
            self.changed |= {folder, to}

    @rule(data=st.data(), seconds=st.sampled_from([-1e6, 0, 1e6]))
    def update_file_times(self, data: st.DataObject, seconds: float) -> None:
        path = self._one(data)
        then = (self.root / path).stat().st_mtime + seconds
        os.utime(self.root / path, (then, then))
        self.changed.add(path)

    @rule(path=_PATHS)
    def write_what_is_no_note(self, path: str) -> None:
        if len(self._notes()) > _MIN or not (self.root / path).exists():
            self._put(path, "\0\1\2" * 2000)

    @rule(folder=st.sampled_from(["", "a", "b"]), rules=_RULES)
    def write_ignore_file(self, folder: str, rules: str) -> None:
        """Write rules into an existing folder; the possible rules never ignore the whole vault."""
        file = self.root / folder / ".excerptignore"
        if file.parent.is_dir():
            file.write_text(rules)
            self.changed.add(folder)

    # --- notifications to the index -----------------------------------------------------------------------------------

    @rule()
    def build_in_another_process(self) -> None:
        self._same_as_clean(lambda: build(self.root, self.index, self.settings, accept_empty=True))

    @rule()
    def update(self) -> None:
        self._same_as_clean(lambda: self.updater.update(accept_empty=True))

    @precondition(lambda self: self.changed)
    @rule()
    def update_what_changed(self) -> None:
        only = None if "" in self.changed else sorted(self.changed)
        self._same_as_clean(lambda: self.updater.update(only, accept_empty=True))

    @precondition(lambda self: self.changed)
    @rule()
    def update_path_by_path(self) -> None:
        def each() -> None:
            for path in sorted(self.changed):
                self.updater.update([path] if path else None, accept_empty=True)

        self._same_as_clean(each)

    @rule()
    def rebuild(self) -> None:
        self._same_as_clean(lambda: build(self.root, self.index, self.settings, rebuild=True, accept_empty=True))

    # --- invariants ---------------------------------------------------------------------------------------------------

    def _same_as_clean(self, bring_up_to_date: Callable[[], object]) -> None:
        bring_up_to_date()
        self.changed.clear()
        clean = Path(self._folder.name, "clean")
        shutil.rmtree(clean, ignore_errors=True)
        build(self.root, clean, self.settings, accept_empty=True)
        assert content(self.index, self.settings) == content(clean, self.settings)
        with closing(Snapshot.open(self.index, self.settings)) as snapshot:
            there = set(snapshot.note_paths())
            self.seen |= there
            for path in self.seen:
                moved = snapshot.current_path(path)
                assert moved is None or (path not in there and moved in there)

    @invariant()
    def each_step_is_counted(self) -> None:
        STEPS[0] += 1

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _notes(self) -> list[str]:
        return sorted(
            file.relative_to(self.root).as_posix() for file in self.root.rglob("*") if file.suffix.lower() == ".md"
        )

    def _one(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self._notes()))

    def _put(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")
        self.changed.add(path)


STEPS = [0]


@pytest.mark.hypothesis
def test_after_any_changes_of_the_vault_an_updated_index_equals_a_newly_built_one(
    models: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_FIRST_BATCH_NOTES", 2)
    monkeypatch.setattr(building, "_FIRST_BATCH_BYTES", 500)
    monkeypatch.setattr(building, "_BATCH_GROWTH_FACTOR", 1)
    monkeypatch.setattr(pool, "_IN_PROCESS_FILES", 2)
    monkeypatch.setattr(lexical_writer, "_SEGMENTS_PER_MERGE", 3)
    monkeypatch.setattr(vectors, "_MAX_BLOCKS", 4)
    Vault.model = models[0]
    STEPS[0] = 0
    run_state_machine_as_test(
        Vault,
        settings=settings(
            max_examples=_EXAMPLES,
            stateful_step_count=_STEPS,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert STEPS[0] >= _EXAMPLES * _STEPS * 0.8
