"""Tests of the main screen: several vaults in one list, and hostile notes on every tab."""

from __future__ import annotations

import asyncio
import shutil
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

from excerpt.base.settings import Paths, Settings
from excerpt.index.build import build
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.service.model_offer import MIN_FRAGMENTS
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.index.dialog import IndexDialog
from excerpt.tui.insight.overview_pane import OverviewPane
from excerpt.tui.memory.form import RememberDialog
from excerpt.tui.memory.pane import MemoryList
from excerpt.vault.known_vaults import VaultFolders
from tests.tui.driver import (
    AppPilot,
    ScriptedApp,
    drawn_lines,
    drawn_text,
    hit_list_of,
    notices_of,
    pane_of,
    places_under,
    press,
    preview_of,
    screen_of,
    search,
    settle,
    until,
    until_index,
    until_screen,
    until_tabs,
)

pytestmark = pytest.mark.programs

WORK = {
    "Plan.md": "---\ncreated: 2025-05-02\n---\n# Plan\n\nOn Friday the zeppelin is painted. See [[Colours]].\n",
    "Colours.md": "# Colours\n\nThe zeppelin of the office is blue.\n",
}
UNANSWERED = "who repairs the kitchen chairs of my grandmother"
HOME = {
    "Colours.md": "# Colours\n\nThe zeppelin of the family is red.\n",
    "Garden.md": "---\ncreated: 2025-05-01\n---\n# Garden\n\nThe balloon lands between the beds.\n",
}


def write_vault(folder: Path, notes: dict[str, str]) -> Path:
    folder.mkdir()
    for path, text in notes.items():
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def index(vault: Path, user_paths: Paths) -> None:
    build(vault, user_paths.index_folder(vault), Settings())


@pytest.fixture
def work_vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "work", WORK)


@pytest.fixture
def family_vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "family", HOME)


@pytest.fixture
def app_with_both(work_vault: Path, family_vault: Path, user_paths: Paths) -> ExcerptApp:
    for vault in (work_vault, family_vault):
        index(vault, user_paths)
    return ExcerptApp(work_vault, Settings(), user_paths, others=[family_vault])


def paths_of(app: ExcerptApp) -> list[str]:
    return [hit.fragment.path for hit in hit_list_of(app).hits]


async def select(pilot: AppPilot, path: str) -> None:
    """Select the hit of the note at `path`, and wait for its passage."""
    rows = hit_list_of(pilot.app)
    hit = next(hit for hit in rows.hits if hit.fragment.path == path)
    rows.select_fragment(hit.fragment.id)
    await settle(pilot)


# --- the offer of a model ---------------------------------------------------------------------------------------------


def offers_in(app: ExcerptApp) -> list[str]:
    return [text for text in notices_of(app) if "MiniLM answers questions in your own words better" in text]


async def ask_and_pause(pilot: AppPilot, query: str) -> None:
    """Search, and wait until the query counts as settled and everything is answered."""
    await search(pilot, query)
    timer = pane_of(pilot.app).query_bar.queries._settle_timer
    await until(pilot, lambda: not timer.is_pending, "the pause")
    await settle(pilot)


async def test_the_first_question_whose_words_are_not_found_gets_the_offer_of_a_model(
    work_vault: Path, user_paths: Paths
) -> None:
    (work_vault / "Long.md").write_text("# Section\n\nThe office is blue.\n\n" * MIN_FRAGMENTS, encoding="utf-8")
    index(work_vault, user_paths)
    app = ExcerptApp(work_vault, Settings(), user_paths)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask_and_pause(pilot, UNANSWERED)
        await until(pilot, lambda: len(offers_in(app)) == 1, "the offer")
        assert offers_in(app)[0].startswith(
            "A better model, F1 shows how. "
        )  # the line of notices may have no space for the command
    again = ExcerptApp(work_vault, Settings(), user_paths)
    async with again.run_test(size=(80, 24)) as pilot:
        await ask_and_pause(pilot, UNANSWERED)
        assert not offers_in(again)


# --- the list ---------------------------------------------------------------------------------------------------------


async def test_hits_of_all_vaults_are_in_one_list(app_with_both: ExcerptApp) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin")
        assert set(paths_of(app_with_both)) == {"work/Plan.md", "work/Colours.md", "family/Colours.md"}


@pytest.mark.parametrize("width", [50, 80, 140])
async def test_with_several_vaults_each_row_names_its_vault(app_with_both: ExcerptApp, width: int) -> None:
    async with app_with_both.run_test(size=(width, 24)) as pilot:
        await search(pilot, "zeppelin")
        await settle(pilot)
        drawn = drawn_lines(hit_list_of(app_with_both))
        for path, line in zip(paths_of(app_with_both), drawn, strict=False):
            vault, _, name = path.removesuffix(".md").partition("/")
            assert f"{vault}/ {name}" in line


async def test_with_several_vaults_a_path_filter_names_a_vault_as_a_folder(app_with_both: ExcerptApp) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "path:family/ zeppelin")
        assert paths_of(app_with_both) == ["family/Colours.md"]


async def test_the_tab_bar_names_all_vaults_and_counts_their_notes(app_with_both: ExcerptApp) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await until_index(pilot)
        bar = screen_of(app_with_both).query_one(TabBar)
        assert bar.vault == "work + family"
        assert bar.state.startswith("4 notes")


async def test_the_tabs_have_their_keys_where_nothing_else_needs_the_room(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        bar = screen_of(scripted).query_one(TabBar)
        bar.vault, bar.state = "notes", "171 notes · up to date"
        await pilot.pause()
        assert bar.render_line(0).text.startswith(" Search F2  Overview F3  Memory F4 ")
        bar.vault = "a name of a vault that is as long as this one"
        await pilot.pause()
        assert bar.render_line(0).text.startswith(" Search  Overview  Memory  ")


async def test_the_newest_notes_of_all_vaults_are_listed_without_a_query(app_with_both: ExcerptApp) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await until(
            pilot,
            lambda: "Garden" in drawn_text(app_with_both) and "Plan" in drawn_text(app_with_both),
            "the newest notes",
        )


# --- one vault of several ---------------------------------------------------------------------------------------------


async def test_a_vault_without_an_index_does_not_delay_the_others(
    work_vault: Path, family_vault: Path, user_paths: Paths
) -> None:
    index(work_vault, user_paths)
    app = ExcerptApp(family_vault, Settings(), user_paths, others=[work_vault])
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin")
        assert set(paths_of(app)) == {"work/Plan.md", "work/Colours.md"}
        await asyncio.to_thread(index, family_vault, user_paths)
        await until(pilot, lambda: "family/Colours.md" in paths_of(app), "the vault that was indexed later")


async def test_with_several_vaults_a_newer_generation_of_one_is_opened(
    app_with_both: ExcerptApp, family_vault: Path, user_paths: Paths
) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin")
        (family_vault / "Trip.md").write_text("# Trip\n\nThe zeppelin leaves at noon.\n", encoding="utf-8")
        await asyncio.to_thread(index, family_vault, user_paths)
        await until(pilot, lambda: "family/Trip.md" in paths_of(app_with_both), "the new note")


@pytest.mark.usefixtures("indexing_process")
async def test_with_several_vaults_the_changes_of_all_are_detected(
    app_with_both: ExcerptApp, work_vault: Path, family_vault: Path
) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin")
        bar = screen_of(app_with_both).query_one(TabBar)
        await until(pilot, lambda: bar.state.endswith("up to date"), "the watches")
        for vault in (work_vault, family_vault):
            (vault / "New.md").write_text("# New\n\nAnother zeppelin.\n", encoding="utf-8")
        await until(pilot, lambda: {"work/New.md", "family/New.md"} <= {*paths_of(app_with_both)}, "both notes")


@pytest.mark.usefixtures("indexing_process")
async def test_a_missing_vault_is_reported_in_the_index_dialog_and_the_others_are_searched(
    work_vault: Path, tmp_path: Path, user_paths: Paths
) -> None:
    app = ExcerptApp(work_vault, Settings(), user_paths, others=[tmp_path / "gone"])
    async with app.run_test(size=(140, 45)) as pilot:
        await until(pilot, lambda: screen_of(app).query_one(TabBar).state == "index error", "the error")
        await search(pilot, "zeppelin")
        assert set(paths_of(app)) == {"work/Plan.md", "work/Colours.md"}
        await press(pilot, "unbound-index")
        dialog = await until_screen(pilot, IndexDialog)
        assert dialog.state.failure is not None
        assert dialog.state.failure.sentence.startswith("gone: ")


# --- files, links and memories ----------------------------------------------------------------------------------------


async def test_enter_opens_the_file_in_its_vault(
    editor_arguments: Path, app_with_both: ExcerptApp, family_vault: Path
) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "balloon")
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert f"{family_vault / 'Garden.md'}:" in editor_arguments.read_text()


async def test_a_link_leads_to_a_note_of_its_own_vault(app_with_both: ExcerptApp) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin painted friday")
        await select(pilot, "work/Plan.md")
        await press(pilot, "escape", "l", "l", "enter")
        preview = preview_of(app_with_both)
        await until(pilot, lambda: preview.window is not None and "office" in preview.window.fragment.text, "the note")
        assert preview.window is not None
        assert preview.window.fragment.path == "work/Colours.md"


async def test_a_memory_is_saved_in_the_vault_of_its_passage(
    app_with_both: ExcerptApp, work_vault: Path, family_vault: Path, user_paths: Paths
) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "balloon")
        await settle(pilot)
        await press(pilot, "ctrl+r")
        await until_screen(pilot, RememberDialog)
        await press(pilot, "ctrl+s")
        store = FolderMemoryStore(user_paths.memory_folder(family_vault))
        await until(pilot, lambda: bool(store.all().memories), "the memory")
        (memory,) = store.all().memories
        assert memory.source is not None
        assert memory.source.path == "Garden.md"
        assert not user_paths.memory_folder(work_vault).exists()
        await press(pilot, "f4")
        rows = screen_of(app_with_both).query_one(MemoryList)
        await until(pilot, lambda: bool(rows.recalled), "the list")
        assert " family · " in rows.render_line(0).text
        assert rows.memories[0].source is not None
        assert rows.memories[0].source.path == "family/Garden.md"


async def test_a_memory_without_a_source_is_saved_in_the_first_vault(
    app_with_both: ExcerptApp, work_vault: Path, user_paths: Paths
) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await until_index(pilot)
        await until_tabs(pilot)
        await press(pilot, "f4", "escape", "m")
        await until_screen(pilot, RememberDialog)
        await press(pilot, *"rope", "ctrl+s")
        store = FolderMemoryStore(user_paths.memory_folder(work_vault))
        await until(pilot, lambda: [each.text.strip() for each in store.all().memories] == ["rope"], "the memory")


async def test_memories_of_all_vaults_are_found(
    app_with_both: ExcerptApp, work_vault: Path, family_vault: Path, user_paths: Paths
) -> None:
    for vault, text in ((work_vault, "The zeppelin needs varnish."), (family_vault, "The zeppelin needs a flag.")):
        FolderMemoryStore(user_paths.memory_folder(vault)).remember(make_memory(text))
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin needs")
        rows = hit_list_of(app_with_both)
        await until(pilot, lambda: len([hit for hit in rows.hits if "needs" in hit.fragment.text]) == 2, "the memories")


# --- what is saved ----------------------------------------------------------------------------------------------------


async def test_query_and_marks_belong_to_the_set_of_vaults_in_any_order(
    app_with_both: ExcerptApp, work_vault: Path, family_vault: Path, user_paths: Paths
) -> None:
    async with app_with_both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "balloon")
        await settle(pilot)
        await press(pilot, "tab")
        await screen_of(app_with_both).save_state()
    again = ExcerptApp(family_vault, Settings(), user_paths, others=[work_vault])
    async with again.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        assert pane_of(again).query_text == "balloon"
    alone = ExcerptApp(family_vault, Settings(), user_paths)
    async with alone.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        assert pane_of(alone).query_text == ""
        assert not notices_of(alone)


async def test_hits_of_two_copies_of_a_vault_have_different_paths(
    work_vault: Path, tmp_path: Path, user_paths: Paths
) -> None:
    copy = tmp_path / "old" / "work"
    shutil.copytree(work_vault, copy)
    for vault in (work_vault, copy):
        index(vault, user_paths)
    app = ExcerptApp(work_vault, Settings(), user_paths, others=[copy])
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "office")
        await settle(pilot)
        names = list(VaultFolders.of([work_vault, copy]).by_name)
        assert {path.partition("/")[0] for path in paths_of(app)} == set(names)
        await press(pilot, "tab")
        assert len(pane_of(app).pack.choices.marked_ids) == 1


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


def expect_intact_screen(app: App[None], source_check: dict[str, object] | None = None) -> None:
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
        expect_intact_screen(pilot.app)


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


async def visit_all_tabs(app: App[None], thought: str) -> None:
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
            expect_intact_screen(app)


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
        expect_intact_screen(pilot.app, source_check)


async def complete_filters(pilot: Pilot[None]) -> None:
    """Open the menu of each filter's values, and insert the first one."""
    for typed in FILTERS:
        await pilot.press("ctrl+w", "escape", "escape", "escape", *typed)
        await pilot.pause(0.1)
        expect_intact_screen(pilot.app)
        await press_keys(pilot, ("ctrl+@", "down", "tab"))


@pytest.mark.usefixtures("home")
@settings(
    max_examples=1,
    derandomize=True,
    phases=[Phase.generate],  # an example takes seconds, so it is not shrunk
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(texts=notes(), thought=hostile)
def test_hostile_notes_never_change_the_layout_of_the_screen(texts: dict[str, str], thought: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vault, where = Path(folder) / "vault", places_under(Path(folder) / "home")
        write(vault, texts)
        build(vault, where.index_folder(vault), Settings())
        remember(vault, where, thought)
        asyncio.run(visit_all_tabs(ExcerptApp(vault, Settings(), where), thought))


def remember(vault: Path, where: Paths, thought: str) -> None:
    clean = thought.encode("utf-8", "replace").decode()
    FolderMemoryStore(where.memory_folder(vault)).remember(make_memory(f"{WORD} {clean}", tags=[clean], why=clean))
