"""Tests that no vault content breaks the screen's layout: real indexed notes, shown on every tab."""

from __future__ import annotations

import asyncio
import tempfile
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widget import Widget

from excerpt.index.build import build
from excerpt.memory.store import MemoryStore
from excerpt.settings import Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.insight.overview_pane import OverviewPane
from excerpt.tui.memory.pane import MemoryList
from tests.tui.driver import pane_of, places_under, screen_of, until, until_index

pytestmark = pytest.mark.programs

WORD = "zebra"
"""A word in every note, so that one query finds them all."""

PIECES = (
    "[bold]", "[/]", "[/red]", "[@click=app.quit]leave[/]", "[link=https://example.org]x[/link]", "\\[", "$accent",
    "\x1b[31m", "\x1b[2J", "\x1b[10;10H", "\x1b]8;;https://example.org\x07", "\x1b]52;c;aGk=\x07", "\x1b]0;title\x1b\\",
    "\x9b31m", "\x9d52;c;aGk=\x9c", "\x07", "\x08\x08", "\r", "\x00", "\x7f", "\t", "\u2028", "\u2029", "\x85",
    "\u202e", "\u202d", "\u202c", "\u2066", "\u2069", "\u200e", "\u200b", "\u200d", "\ufeff", "\u00ad",
    "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "e\u0301\u0302\u0303", "\u0301", "ﷺ", "한글", "笔记", "नमस्ते", "ｗｉｄｅ",
    "☑\ufe0f",
    "`", "```", "|", "> [!tip]", "- [ ] ", "==", "%%", "![[x]]", "[[zebra|y]]", "#tag/[b]", "<script>", "$$", "---",
)  # fmt: skip

hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), min_size=1, max_size=8).map("".join)


@st.composite
def notes(draw: st.DrawFn) -> dict[str, str]:
    """Draw notes with hostile names, properties, headings and lines; one line has over 10,000 columns."""
    made: dict[str, str] = {}
    for number in range(draw(st.integers(2, 4))):
        name = "".join(c for c in draw(hostile) if c not in "/\0" and not "\ud800" <= c <= "\udfff")[:40]
        properties = {"tags": [draw(hostile)], "aliases": [draw(hostile)], "state": draw(hostile)}
        head = yaml.safe_dump(properties, allow_unicode=True)
        text = f"---\n{head}---\n# {WORD} {draw(hostile)}\n\n{WORD} {draw(hostile)}\n\n## {draw(hostile)}\n\n"
        made[f"{number} {name}.md"] = text + f"{WORD} {draw(hostile)}\n{draw(hostile)} {WORD}\n"
    made["long.md"] = f"# {WORD}\n\n{WORD} " + draw(hostile) * 50 + "x" * 10_000 + "\n"
    return made


def write(vault: Path, texts: dict[str, str]) -> None:
    vault.mkdir()
    for name, text in texts.items():
        # As on a disk: lone surrogates become bytes that are not UTF-8.
        (vault / name).write_bytes(text.encode("utf-8", "surrogatepass"))


def landmarks(app: App[None]) -> dict[str, object]:
    """Return the region of every widget on the screen."""
    return {f"{type(widget).__name__}#{widget.id}": widget.region for widget in app.screen.walk_children(Widget)}


def assert_sound(app: App[None], source_check: dict[str, object] | None = None) -> None:
    """Check that every line has the screen's width and no control or bidirectional characters."""
    strips = app.screen._compositor.render_strips()
    assert len(strips) == app.size.height
    for strip in strips:
        assert sum(cell_len(segment.text) for segment in strip) == strip.cell_length == app.size.width
        assert not [c for c in strip.text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or bidi(c)]
        for segment in strip:
            assert segment.style is None or (segment.style.link is None and "leave" not in str(segment.style.meta))
    if source_check is not None:
        assert landmarks(app) == source_check


def bidi(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


async def press_keys(pilot: Pilot[None], keys: Iterable[str]) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause(0.05)
        assert_sound(pilot.app)


PANELS = ("ctrl+o", "down", "ctrl+o", "unbound-related", "down", "unbound-map", "G", "l", "escape", "escape")
CONTEXT = (
    "unbound-whole-note",
    "unbound-whole-note",
)
DIALOGS = ("ctrl+t", "pagedown", "escape", "unbound-compare", "right", "escape", "ctrl+r", "escape", "escape")
QUERY = (
    "unbound-suggest",
    "down",
    "escape",
    "unbound-saved",
    "escape",
    "unbound-history",
    "escape",
    "unbound-switch-vault",
    "escape",
)
FILTERS = ("tag:", "path:", "file:", "title:", "heading:", "state:", "aliases:")


async def walk_through(app: App[None], thought: str) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until_index(pilot)
        await look_through_hits(pilot)
        for keys in (PANELS, CONTEXT, DIALOGS, QUERY):
            await press_keys(pilot, keys)
        await complete_filters(pilot)
        app.screen.post_message(events.Paste(thought))
        await press_keys(pilot, ("space", "f3"))
        overview = screen_of(app).query_one(OverviewPane)
        await until(pilot, lambda: overview.overview is not None, "the overview")
        await press_keys(pilot, ("down", "down", "unbound-show-index", "f4"))
        await until(pilot, lambda: bool(screen_of(app).query_one(MemoryList).memories), "the memory")
        await press_keys(pilot, ("down", "unbound-scope", "escape", "f2"))
        for size in ((140, 45), (60, 15)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert_sound(app)


async def look_through_hits(pilot: Pilot[None]) -> None:
    await pilot.press(*WORD)
    pane = pane_of(pilot.app)
    await until(pilot, lambda: pane.is_up_to_date and pane.result is not None, "the hits")
    await pilot.pause()
    assert pane.result is not None and pane.result.hits
    source_check = landmarks(pilot.app)
    for _ in pane.result.hits[:8]:
        await pilot.press("down")
        await pilot.pause(0.02)
        assert_sound(pilot.app, source_check)


async def complete_filters(pilot: Pilot[None]) -> None:
    """Open the menu of each filter's values, and insert the first one."""
    for typed in FILTERS:
        await pilot.press("ctrl+w", "escape", "escape", "escape", *typed)
        await pilot.pause(0.1)
        assert_sound(pilot.app)
        await press_keys(pilot, ("ctrl+@", "down", "tab"))


@pytest.mark.usefixtures("home")
@settings(
    max_examples=1,
    derandomize=True,
    phases=[Phase.generate],  # an example takes seconds, so it is not shrunk
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(texts=notes(), thought=hostile)
def test_hostile_notes_never_change_the_structure_of_the_screen(texts: dict[str, str], thought: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vault, where = Path(folder) / "vault", places_under(Path(folder) / "home")
        write(vault, texts)
        build(vault, where.index_folder(vault), Settings())
        remember(vault, where, thought)
        asyncio.run(walk_through(ExcerptApp(vault, Settings(), where), thought))


def remember(vault: Path, where: Paths, thought: str) -> None:
    clean = thought.encode("utf-8", "replace").decode()
    MemoryStore(where.memory_folder(vault)).remember(f"{WORD} {clean}", tags=[clean], why=clean)
