"""Tests that app and command line give the same bytes for the same marks or query, and the same options."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from excerpt.kinds import Format, Scope
from excerpt.memory.store import MemoryStore
from excerpt.pack.savings import SavingsFile
from excerpt.settings import PackSettings, Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.memory.controller import is_memory
from excerpt.tui.search.hit_list import HitList
from tests import commands
from tests.tui.driver import AppPilot, notices_of, pane_of, search, until, until_answered

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in for a clipboard is a shell script")

TEMPLATE = "{{ question }}\n{% for s in sources %}({{ s.number }}) {{ s.place }}\n{{ s.text }}\n{% endfor %}"


@pytest.fixture
def clipboard(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a fake clipboard tool, and return the file that it writes."""
    taken, tools = tmp_path / "clipboard", tmp_path / "tools"
    tools.mkdir()
    tool = tools / "wl-copy"
    tool.write_text(f'#!/bin/sh\ncat > "{taken}.part" && mv "{taken}.part" "{taken}"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    return taken


@pytest.fixture
def template(tmp_path: Path) -> Path:
    file = tmp_path / "own.j2"
    file.write_text(TEMPLATE)
    return file


def app_with(form: Format, vault: Path, user_paths: Paths, template: Path) -> ExcerptApp:
    pack = PackSettings(budget=900, scope=Scope.SECTION, format=form, question=True, template=str(template))
    return ExcerptApp(vault, Settings(pack=pack), user_paths)


def printed(form: Format, vault: Path, template: Path, *words: str) -> bytes:
    """Return what `excerpt pack` prints to a pipe."""
    given = ["--template", str(template)] if form is Format.TEMPLATE else ["--format", form]
    options = ["--vault", str(vault), "--budget", "900", "--expand", "section", "--question", *given]
    return commands.printed("pack", *options, *words).encode()


async def copy_pack(pilot: AppPilot, clipboard: Path) -> bytes:
    await until_answered(pilot)
    await pilot.press("ctrl+y")
    await until(pilot, clipboard.exists, "the copy")
    return clipboard.read_bytes()


@pytest.mark.programs
@pytest.mark.parametrize("form", list(Format))
async def test_marks_shaped_by_hand(
    form: Format, vault: Path, user_paths: Paths, template: Path, clipboard: Path
) -> None:
    app = app_with(form, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await pilot.press("tab", "ctrl+u")
        await search(pilot, "sync conflict")
        await pilot.press("tab", "tab", "tab", "ctrl+o")
        for key in ("shift+down", "s", "s", "enter", "G", "x"):
            await until_answered(pilot)
            await pilot.press(key)
        text = await copy_pack(pilot, clipboard)
    assert text
    assert text == printed(form, vault, template, "--from-marks")


@pytest.mark.programs
@pytest.mark.parametrize("form", [Format.MARKDOWN, Format.JSON, Format.TEMPLATE])
async def test_marked_memories(form: Format, vault: Path, user_paths: Paths, template: Path, clipboard: Path) -> None:
    MemoryStore(user_paths.memory_folder(vault)).remember("A sync conflict: keep both versions.", why="nothing is lost")
    app = app_with(form, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        rows = pane_of(app).query_one(HitList)
        await until(pilot, lambda: pane_of(app).memories.is_answered and any(map(is_memory, rows.hits)), "the memory")
        rows.select_fragment(next(hit.fragment.id for hit in rows.hits if is_memory(hit)))
        await pilot.press("up", "tab", "tab")
        text = await copy_pack(pilot, clipboard)
    assert b"memory:m" in text or form is Format.TEMPLATE
    assert b"keep both versions" in text
    assert text == printed(form, vault, template, "--from-marks")


@pytest.mark.programs
@pytest.mark.parametrize("form", [Format.MARKDOWN, Format.TEMPLATE])
async def test_top_hits(form: Format, vault: Path, user_paths: Paths, template: Path, clipboard: Path) -> None:
    before = printed(form, vault, template, "sync conflict")  # before a copied pack raises its notes in the ranking
    app = app_with(form, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        text = await copy_pack(pilot, clipboard)
    assert text == before


@pytest.mark.programs
async def test_the_order_of_the_vault(vault: Path, user_paths: Paths, template: Path, clipboard: Path) -> None:
    app = app_with(Format.JSON, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        await pilot.press("tab", "tab", "tab", "unbound-order")
        text = await copy_pack(pilot, clipboard)
    assert text == printed(Format.JSON, vault, template, "--from-marks", "--rank", "none")


@pytest.mark.programs
@pytest.mark.parametrize(("form", "suffix"), [(Format.MARKDOWN, ".md"), (Format.XML, ".xml"), (Format.JSON, ".json")])
async def test_a_file_has_the_bytes_of_a_copy(  # noqa: PLR0917 - fixtures
    form: Format, suffix: str, vault: Path, user_paths: Paths, template: Path, clipboard: Path
) -> None:
    app = app_with(form, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        text = await copy_pack(pilot, clipboard)
        await pilot.press("unbound-save-pack")
        await until(pilot, lambda: any("written to" in notice for notice in notices_of(app)), "the notice")
    (file,) = user_paths.copies_folder().glob("pack-*")
    assert file.suffix == suffix
    assert file.read_bytes() == text


async def test_a_copied_pack_counts_among_the_savings(
    vault: Path, user_paths: Paths, template: Path, clipboard: Path
) -> None:
    app = app_with(Format.MARKDOWN, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        await copy_pack(pilot, clipboard)
        await until(pilot, lambda: SavingsFile(user_paths.token_savings_file(vault)).read() is not None, "the count")
        packed = pane_of(app).pack.newest_pack
    saved = SavingsFile(user_paths.token_savings_file(vault)).read()
    assert saved is not None
    assert packed is not None
    assert (saved.packs, saved.tokens) == (1, packed.result.tokens)
