"""Tests that a generation opened with data shared from the previous one equals a freshly opened one."""

from __future__ import annotations

import gc
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from excerpt.base.errors import IndexUnusableError
from excerpt.base.kinds import Strategy
from excerpt.base.model import Result
from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings
from excerpt.corpus.tables import FIELDS
from excerpt.index import catalog, lexical_writer, terms, vectors
from excerpt.index.build import build
from excerpt.index.link_file import LINKS_FILE
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from tests.conftest import scaled_examples
from tests.index.conftest import WORDS, make_model

NAMES = ("Tea.md", "Garden.md", "deep/Tea.md", "deep/Roses.md", "Brew.md")
QUERIES = (
    "kettle tea",
    "gard",
    "how to prune a rose in winter",
    "wintre",
    '"sugar tea"',
    "links:Tea",
    "Brew",
    "#green",
)

TEXTS = st.lists(st.sampled_from((*WORDS, "[[Tea]]", "[[Roses]]", "#green", "\n\n## Part\n\n")), max_size=12).map(
    " ".join
)
EDITS = st.tuples(st.sampled_from(NAMES), st.none() | TEXTS)
BUILDS = st.lists(st.lists(EDITS, min_size=1, max_size=3), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("models")
    return make_model(folder / "one", 16, 1), make_model(folder / "two", 16, 2)


@pytest.fixture
def small_settings(models: tuple[Path, Path]) -> Settings:
    return Settings(embedding=EmbeddingSettings(str(models[0])), pack=PackSettings(tokenizer="chars/4"))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set sizes at which a few notes fill chunks, merge segments and cause a new matrix."""
    monkeypatch.setattr(vectors, "CHUNK_ROWS", 4)
    monkeypatch.setattr(lexical_writer, "_SEGMENTS_PER_MERGE", 2)
    monkeypatch.setattr(vectors, "_MAX_BLOCKS", 3)
    monkeypatch.setattr(terms, "_RESORT_DIVISOR", 0)


@contextmanager
def folders() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as root:
        vault = Path(root) / "vault"
        vault.mkdir()
        yield vault, Path(root) / "index"


def edit(vault: Path, edits: list[tuple[str, str | None]]) -> None:
    for name, text in edits:
        file = vault / name
        file.parent.mkdir(exist_ok=True)
        if text is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(text)


def warm_engine(snapshot: Snapshot, small_settings: Settings) -> Engine:
    engine = Engine(snapshot, small_settings)
    engine.warm()
    return engine


def answers(engine: Engine) -> list[Result]:
    return [
        replace(engine.search(query, strategy), elapsed_ms=0.0)
        for query in QUERIES
        for strategy in (None, Strategy.SEMANTIC, Strategy.PROXIMITY)
    ]


def assert_same(one: Snapshot, other: Snapshot, small_settings: Settings) -> None:
    """Check that two snapshots hold the same data and give the same hits, bit for bit."""
    assert one.generation == other.generation
    for name in ("keys", "notes", "lines"):
        assert np.array_equal(getattr(one.lexical, name), getattr(other.lexical, name)), name
    for field in FIELDS:
        assert np.array_equal(one.lexical.lengths(field), other.lexical.lengths(field))
        assert one.lexical.lexicon(field) == other.lexical.lexicon(field)
        for term in other.lexical.lexicon(field):
            assert one.lexical.postings(field, term).rows.tolist() == other.lexical.postings(field, term).rows.tolist()
            mine, theirs = one.lexical.positions(field, term), other.lexical.positions(field, term)
            assert mine.values.tolist() == theirs.values.tolist()
    assert one.lexical.completions("", 99) == other.lexical.completions("", 99)
    assert np.array_equal(one.vectors.vectors, other.vectors.vectors)
    assert np.array_equal(one.vectors.mean, other.vectors.mean)
    assert (one.table.paths, one.table.languages) == (other.table.paths, other.table.languages)
    assert np.array_equal(one.table.notes, other.table.notes)
    mine_of_links = one.facets.links
    (one._folder / LINKS_FILE).unlink(missing_ok=True)  # the other resolves them all
    for mine_of, theirs_of in zip(mine_of_links, other.facets.links, strict=True):
        assert np.array_equal(mine_of, theirs_of)
    assert answers(Engine(one, small_settings)) == answers(Engine(other, small_settings))


@pytest.mark.programs
@settings(
    max_examples=scaled_examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(builds=BUILDS, warm=st.lists(st.booleans(), min_size=8, max_size=8))
def test_after_any_edits_a_snapshot_with_shared_data_equals_a_fresh_one(
    small_settings: Settings, builds: list[list[tuple[str, str | None]]], warm: list[bool]
) -> None:
    with folders() as (vault, index):
        edit(vault, [(name, f"{name} tea {' '.join(WORDS)}") for name in NAMES])
        build(vault, index, small_settings)
        before = Snapshot.open(index, small_settings)
        for edits, is_warm in zip(builds, warm, strict=False):
            if is_warm:
                warm_engine(before, small_settings)
            old = answers(Engine(before, small_settings)) if is_warm else []
            edit(vault, edits)
            build(vault, index, small_settings, accept_empty=True)
            after = Snapshot.open(index, small_settings, before=before)
            with closing(Snapshot.open(index, small_settings)) as fresh:
                assert_same(after, fresh, small_settings)
            if is_warm:
                assert answers(Engine(before, small_settings)) == old
            before.close()
            before = after
        before.close()


def rows_read(before: Snapshot, index: Path, small_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the number of vectors read from the file when the next generation is opened."""
    read: list[int] = []
    blocks = vectors.MatrixSource.blocks

    def counted(
        self: vectors.MatrixSource, dimensions: int, start: int = 0
    ) -> Iterator[tuple[vectors.Keys, vectors.QuantisedVectors]]:
        found = list(blocks(self, dimensions, start))
        read.append(sum(len(keys) for keys, _ in found))
        return iter(found)

    monkeypatch.setattr(vectors.MatrixSource, "blocks", counted)
    with closing(Snapshot.open(index, small_settings, before=before)) as after:
        warm_engine(after, small_settings)
    return sum(read)


@contextmanager
def opened(small_settings: Settings) -> Iterator[tuple[Path, Path, Snapshot]]:
    """Yield a vault, its index, and a snapshot with everything loaded."""
    with folders() as (vault, index):
        edit(vault, [(f"{word}.md", f"{word} {' '.join(WORDS)} [[tea]]") for word in WORDS])
        build(vault, index, small_settings)
        with closing(Snapshot.open(index, small_settings)) as before:
            warm_engine(before, small_settings)
            yield vault, index, before


def test_only_appended_rows_of_the_matrix_are_read(small_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(small_settings) as (vault, index, before):
        edit(vault, [("tea.md", "# Tea\n\nbrew sugar")])
        build(vault, index, small_settings)
        assert rows_read(before, index, small_settings, monkeypatch) == 1


def links(snapshot: Snapshot) -> set[tuple[str, str]]:
    paths = snapshot.table.paths
    return {(paths[source], paths[target]) for source, target in zip(*snapshot.facets.links, strict=True)}


def test_links_of_a_note_that_changed_twice_are_current(small_settings: Settings) -> None:
    with opened(small_settings) as (vault, index, before):
        for target in ("water", "soil", "seed"):
            # Each build gives the note the same catalog id as before, the highest one.
            edit(vault, [("tea.md", f"# Tea\n\n[[{target}]]")])
            build(vault, index, small_settings)
            after = Snapshot.open(index, small_settings, before=before)
            warm_engine(after, small_settings)
            assert {link for link in links(after) if link[0] == "tea.md"} == {("tea.md", f"{target}.md")}
            before.close()
            before = after  # noqa: PLW2901 - the next in a row of generations
        before.close()


def test_a_link_resolves_to_another_note_when_its_target_is_renamed(small_settings: Settings) -> None:
    with opened(small_settings) as (vault, index, before):
        (vault / "deep").mkdir()
        (vault / "tea.md").rename(vault / "deep" / "tea.md")
        build(vault, index, small_settings)
        with closing(Snapshot.open(index, small_settings, before=before)) as after:
            assert ("water.md", "deep/tea.md") in links(after)


@pytest.mark.programs
def test_a_rebuilt_index_is_read_completely(small_settings: Settings) -> None:
    with opened(small_settings) as (vault, index, before):
        edit(vault, [("tea.md", "# Tea\n\nbrew sugar"), ("water.md", None)])
        build(vault, index, small_settings, rebuild=True)
        with (
            closing(Snapshot.open(index, small_settings, before=before)) as after,
            closing(Snapshot.open(index, small_settings)) as fresh,
        ):
            assert_same(after, fresh, small_settings)


@pytest.mark.parametrize(
    "alter",
    [
        "UPDATE notes SET title = 'x' WHERE path = ?",
        "UPDATE names SET name = 'x' WHERE note = (SELECT id FROM notes WHERE path = ?)",
    ],
)
def test_a_check_compares_the_rows_of_notes_that_changed_since_the_previous_generation(
    small_settings: Settings, monkeypatch: pytest.MonkeyPatch, alter: str
) -> None:
    monkeypatch.setattr(lexical_writer, "_SEGMENTS_PER_MERGE", 8)
    with opened(small_settings) as (vault, index, before):
        before.check()
        edit(vault, [("tea.md", "# Tea\n\nbrew sugar")])
        build(vault, index, small_settings)
        for path in ("water.md", "tea.md"):
            with closing(sqlite3.connect(index / "catalog.sqlite", isolation_level=None)) as connection:
                assert connection.execute(alter, (path,)).rowcount == 1
            is_compared = path == "tea.md"
            with (
                closing(Snapshot.open(index, small_settings, before=before)) as after,
                pytest.raises(IndexUnusableError) if is_compared else nullcontext(),
            ):
                after.check()
            with closing(Snapshot.open(index, small_settings)) as fresh, pytest.raises(IndexUnusableError):
                fresh.check()


def test_vectors_of_another_model_are_not_reused(small_settings: Settings, models: tuple[Path, Path]) -> None:
    other = replace(small_settings, embedding=EmbeddingSettings(str(models[1])))
    with opened(small_settings) as (vault, index, before):
        build(vault, index, other)
        with (
            closing(Snapshot.open(index, other, before=before)) as after,
            closing(Snapshot.open(index, other)) as fresh,
        ):
            assert not np.array_equal(after.vectors.vectors, before.vectors.vectors)
            assert_same(after, fresh, other)


@pytest.mark.programs
def test_two_snapshots_of_the_same_generation_have_equal_editions(small_settings: Settings) -> None:
    with opened(small_settings) as (vault, index, before):
        edit(vault, [("tea.md", "# Tea\n\nbrew sugar"), ("New.md", "compost")])
        build(vault, index, small_settings)
        with (
            closing(Snapshot.open(index, small_settings, before=before)) as one,
            closing(Snapshot.open(index, small_settings, before=before)) as two,
        ):
            warm_engine(one, small_settings)
            warm_engine(two, small_settings)
            assert one.edition == two.edition
            assert one.edition != before.edition
            assert_same(one, two, small_settings)


def test_a_closed_snapshot_is_freed_with_the_data_that_no_other_shares(small_settings: Settings) -> None:
    """Check this without the cyclic garbage collector, which skips the app's long-lived objects."""
    with opened(small_settings) as (_vault, index, before):
        after = Snapshot.open(index, small_settings, before=before)
        gc.disable()
        try:
            engine = warm_engine(after, small_settings)
            answers(engine)
            parts = [weakref.ref(part) for part in (after, engine, after.facets, after.lexical, after.vectors)]
            after.close()
            del after, engine
            assert [part() for part in parts] == [None] * len(parts)
        finally:
            gc.enable()
        assert answers(Engine(before, small_settings))


@pytest.mark.programs
def test_the_catalog_log_is_truncated_although_there_is_always_a_reader(
    small_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_LONG_LOG_BYTES", 1)
    sizes: list[int] = []
    with opened(small_settings) as (vault, index, before):
        reader = Snapshot.open(index, small_settings, before=before)
        before.close()
        for number in range(12):
            edit(vault, [("tea.md", f"# Tea\n\nbrew {number}")])
            build(vault, index, small_settings)
            after = Snapshot.open(index, small_settings, before=reader)
            reader.close()
            reader = after
            reader.shorten_wal()
            assert reader.note_text("tea.md") == f"# Tea\n\nbrew {number}"
            sizes.append((index / f"{catalog.CATALOG_FILE}-wal").stat().st_size)
        reader.close()
    assert max(sizes[6:]) <= max(sizes[:6])


def test_a_repeated_read_of_a_snapshot_does_not_see_a_newer_generation(
    small_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_LONG_LOG_BYTES", 1)
    with opened(small_settings) as (vault, index, before):
        text = before.note_text("tea.md")
        edit(vault, [("tea.md", "# Tea\n\nnewer")])
        build(vault, index, small_settings)
        before.shorten_wal()
        assert before.note_text("tea.md") == text
