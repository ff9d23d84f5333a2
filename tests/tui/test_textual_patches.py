"""Tests of what is changed in Textual, and of names that it looks up: each is called, and none hides a member."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import textual
from rich.color import Color, ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import constants
from textual._compositor import ChopsUpdate, InlineUpdate, LayoutUpdate
from textual._xterm_parser import XTermParser
from textual.geometry import Region
from textual.keys import Keys
from textual.message import Message
from textual.message_pump import MessagePump
from textual.strip import Strip

import excerpt.tui
from excerpt.base.settings import Settings
from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.search.query_bar import QueryInput
from excerpt.tui.textual_patches import (
    BackgroundReported,
    ChangedCellsUpdate,
    DirtyRegionCompositor,
    TerminalContent,
    expect_background_report,
    limit_colours,
    patch_parser,
)
from tests.tui.driver import ScriptedApp, until
from tests.tui.terminal import TerminalApp, differences

SIZE = (100, 30)
STEPS = [*"sync", "down", "tab", "pagedown", "f1", "escape", "unbound-related", "escape", "ctrl+u", *"xyzzy", "escape"]


@pytest.mark.programs
async def test_incremental_frames_equal_a_full_drawing(tmp_path: Path, home: Path) -> None:
    app = TerminalApp(tmp_path / "data", Settings(), SIZE)
    async with app.run_test(size=SIZE, headless=False) as pilot:
        for key in STEPS:
            await pilot.press(key)
            await pilot.pause(0.03)

            def is_drawn() -> bool:
                return not differences(app.cells(), app.expected_cells())

            await until(pilot, is_drawn, f"all that {key} changed")  # an answer may have just arrived
            compositor, whole = app.screen._compositor, app.whole()
            assert [[part for strip in line.values() if strip for part in strip] for line in whole] == [
                [part for strip in line.values() if strip for part in strip]
                for line in compositor._render_chops(Region(0, 0, *SIZE), lambda y: True)
            ], key


@pytest.mark.programs
async def test_a_line_is_drawn_only_by_the_widgets_visible_in_it(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted.run_test(size=SIZE) as pilot:
        await pilot.press(*"sync")
        await pilot.pause()
        compositor = scripted.screen._compositor
        assert isinstance(compositor, DirtyRegionCompositor)
        asked: list[tuple[str, int]] = []
        for widget in compositor.visible_widgets:
            lines = widget.render_lines

            def noted(crop: Region, widget: object = widget, lines: object = lines) -> object:
                asked.append((type(widget).__name__, crop.height))
                return lines(crop)  # type: ignore[operator]

            monkeypatch.setattr(widget, "render_lines", noted)
        field = scripted.screen.query_one("#query", QueryInput).region
        compositor._render_chops(field, lambda y: y == field.y)
    assert ("QueryInput", 1) in asked
    assert {height for _, height in asked} == {1}
    assert {"SearchPane", "MainScreen", "StillScreen", "HitList"}.isdisjoint(name for name, _ in asked)


RED, GREEN = Style(color="#ff0000", bgcolor="#000000"), Style(color="#00ff00", bgcolor="#000000")
COLOURS = Console(color_system="truecolor", force_terminal=True)


def _line(*segments: tuple[str, Style]) -> Strip:
    return Strip([Segment(text, style) for text, style in segments])


def _sent(*frames: Strip) -> list[str]:
    """Return what is written for each of those lines, drawn one after the other in the same place."""
    sent = TerminalContent()
    updates = (ChopsUpdate([{0: line}], [(0, 0, line.cell_length)], [[line.cell_length]]) for line in frames)
    return [ChangedCellsUpdate(update, sent).render_segments(COLOURS) for update in updates]


def test_only_the_difference_of_a_sent_line_is_sent_again() -> None:
    before = _line(("same ", RED), ("old", GREEN), (" same", RED))
    now = _line(("same ", RED), ("new", GREEN), (" same", RED))
    assert _sent(before, now)[1] == "\x1b[1;6H\x1b[38;2;0;255;0;48;2;0;0;0mnew\x1b[0m"


def test_an_unchanged_line_is_not_sent_again() -> None:
    assert _sent(_line(("same", RED)), _line(("same", RED)))[1] == ""


def test_only_the_changed_colour_is_sent() -> None:
    assert "red\x1b[38;2;0;255;0mgreen\x1b[0m" in _sent(_line(("red", RED), ("green", GREEN)))[0]


def test_between_two_styles_that_look_the_same_no_escape_sequence_is_sent() -> None:
    clickable = RED + Style(meta={"option": 1})
    assert "redred\x1b[0m" in _sent(_line(("red", RED), ("red", clickable)))[0]


def test_a_link_begins_and_ends_with_its_text() -> None:
    linked = RED + Style(link="file:///note.md")
    sent = _sent(_line(("a", RED), ("note", linked), ("b", RED)))[0]
    assert [re.sub(r"\x1b\[[0-9;]*m", "", part) for part in sent.split("\x1b]8;;")] == [
        "\x1b[1;1Ha",
        "file:///note.md\x1b\\note",
        "\x1b\\b",
    ]


def test_a_line_with_wide_characters_is_sent_whole() -> None:
    before, now = _line(("絵 ", RED), ("old", GREEN)), _line(("絵 ", RED), ("new", GREEN))
    assert "絵" in _sent(before, now)[1]


def test_a_full_frame_is_sent_whole() -> None:
    line, sent = _line(("same", RED)), TerminalContent()
    frames = [LayoutUpdate([[line]], Region(0, 0, 4, 1)) for _ in range(2)]
    first, second = (ChangedCellsUpdate(frame, sent).render_segments(COLOURS) for frame in frames)
    assert first == second != ""


def test_a_frame_below_the_prompt_sends_the_difference_and_returns_to_its_first_cell() -> None:
    sent, same = TerminalContent(), _line(("same", RED))
    first, second = (
        ChangedCellsUpdate(InlineUpdate([same, same, _line((text, GREEN))]), sent).render_segments(COLOURS)
        for text in ("old", "new")
    )
    assert first.count("same") == 2
    assert second == "\r\x1b[2B\x1b[38;2;0;255;0;48;2;0;0;0mnew\x1b[0m\r\x1b[2A"


def test_an_unchanged_frame_below_the_prompt_sends_nothing() -> None:
    sent, frame = TerminalContent(), InlineUpdate([_line(("same", RED))])
    assert [ChangedCellsUpdate(frame, sent).render_segments(COLOURS) for _ in range(2)][1] == ""


def test_sent_lines_are_forgotten_where_another_widget_covers_them() -> None:
    sent, line, cover = TerminalContent(), _line(("abcd", RED)), _line(("xy", RED))
    sent.record_part(0, 0, line)
    sent.record_part(0, 1, cover)
    assert sent.record_part(0, 0, line) is None


@pytest.mark.parametrize(("colour", "number"), [("#252b38", 235), ("#13151a", 233), ("#f1efe9", 255)])
def test_a_dark_slate_and_a_warm_white_become_greys_among_256_colours(colour: str, number: int) -> None:
    limited = limit_colours(Style(bgcolor=colour), ColorSystem.EIGHT_BIT).bgcolor
    assert limited is not None
    assert limited.number == number


def test_with_256_colours_a_colour_is_not_drawn_as_grey() -> None:
    limited = limit_colours(Style(color="#7fb4ff", bold=True), ColorSystem.EIGHT_BIT)
    assert limited == Style(color=Color.from_ansi(111), bold=True)


def test_ansi_colours_and_truecolour_terminals_are_unchanged() -> None:
    own, slate = Style(color="default", bgcolor="red"), Style(bgcolor="#252b38")
    assert limit_colours(own, ColorSystem.EIGHT_BIT) == own
    assert limit_colours(slate, ColorSystem.TRUECOLOR) == slate


# --- reports of the background colour ---------------------------------------------------------------------------------

WHITE_REPORT = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> Iterator[XTermParser]:
    """Return a patched parser whose clock stands still."""
    patch_parser()
    monkeypatch.setattr("textual._parser.get_time", lambda: 0.0)
    yield XTermParser()
    expect_background_report(is_expected=False)


def _read(parser: XTermParser, *reads: str) -> list[str]:
    """Return the keys and the background colours that the parser reads."""
    tokens = [token for text in reads for token in parser.feed(text)]
    return [token.colour.hex if isinstance(token, BackgroundReported) else token.key for token in tokens]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "report",
    [
        WHITE_REPORT,
        "\x1b]11;rgb:ffff/ffff/ffff\x07",
        "\x1b]11;rgb:ff/ff/ff\x07",
        "\x1b]11;rgba:ffff/ffff/ffff/ffff\x1b\\",
    ],
)
def test_a_background_report_among_typed_keys_types_nothing(parser: XTermParser, report: str) -> None:
    assert _read(parser, f"a{report}b\x1b[A") == ["a", "#FFFFFF", "b", "up"]


@pytest.mark.parametrize("at", range(1, len(WHITE_REPORT)))
def test_a_report_split_over_two_reads_types_nothing(parser: XTermParser, at: int) -> None:
    assert _read(parser, f"a{WHITE_REPORT[:at]}", f"{WHITE_REPORT[at:]}b") == ["a", "#FFFFFF", "b"]


@pytest.mark.parametrize("at", range(1, len(WHITE_REPORT)))
def test_a_report_split_by_a_slow_line_types_nothing(
    parser: XTermParser, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect_background_report(is_expected=True)
    first = _read(parser, f"a{WHITE_REPORT[:at]}")
    monkeypatch.setattr("textual._parser.get_time", lambda: 0.4)
    assert not list(parser.tick())
    assert [*first, *_read(parser, f"{WHITE_REPORT[at:]}b")] == ["a", "#FFFFFF", "b"]


def test_an_invalid_report_of_the_terminal_types_nothing(parser: XTermParser) -> None:
    assert _read(parser, "a\x1b]11;rgb:ff\x1b\\b") == ["a", "b"]


def test_keys_are_read_again_after_a_truncated_report(parser: XTermParser) -> None:
    assert _read(parser, "\x1b]11;rgb:ffff/\x1b[A", "no") == ["up", "n", "o"]


def test_escape_is_read_without_delay_once_no_report_is_expected(parser: XTermParser) -> None:
    before = constants.ESCAPE_DELAY
    expect_background_report(is_expected=True)
    assert before < constants.ESCAPE_DELAY
    _read(parser, WHITE_REPORT)
    assert before == constants.ESCAPE_DELAY


EXTENSION_POINTS = frozenset(
    [
        "AUTO_FOCUS",
        "BINDINGS",
        "COMMANDS",
        "COMPONENT_CLASSES",
        "CSS",
        "DEFAULT_CSS",
        "DEFAULT_MODE",
        "HORIZONTAL_BREAKPOINTS",
        "INLINE_PADDING",
        "NOTIFICATION_TIMEOUT",
        "TITLE",
        "VERTICAL_BREAKPOINTS",
        "border_subtitle",
        "border_title",
        "can_focus",
        "can_focus_children",
        "check_action",
        "compose",
        "exit",
        "focus",
        "get_default_screen",
        "get_line_filters",
        "get_theme_variable_defaults",
        "layout",
        "link_style",
        "notify",
        "notify_style_update",
        "on_event",
        "on_mount",
        "refresh",
        "render",
        "render_line",
        "render_lines",
        "run_action",
        "theme",
    ]
)
"""Members of Textual's classes that are meant to be overridden or assigned."""

PATCHED = {
    ("App", "_check_bindings"),
    ("App", "_display"),
    ("App", "_fatal_error"),
    ("App", "_handle_exception"),
    ("App", "_shutdown"),
    ("CommandPalette", "_action_command_list"),
    ("CommandPalette", "_gather_commands"),
    ("CommandPalette", "_refresh_command_list"),
    ("Input", "_default_virtual_size"),
    ("Input", "_position_to_cell"),
    ("Input", "_value"),
    ("Input", "replace"),
    ("Input", "virtual_size"),
    ("Screen", "dismiss"),
    ("Screen", "_compose"),
    ("Screen", "_update_timer"),
    ("Widget", "vertical_scrollbar"),
}
"""Members overridden on purpose, by Textual's nearest class; docs/design/screen.md has the reasons."""

_MADE_BY_TEXTUAL = frozenset(
    [
        "_computes",
        "_css_type_name",
        "_css_type_names",
        "_decorated_handlers",
        "_inherit_bindings",
        "_inherit_component_classes",
        "_inherit_css",
        "_merged_bindings",
        "_reactives",
    ]
)


def _modules() -> list[str]:
    return [module.name for module in pkgutil.walk_packages(excerpt.tui.__path__, "excerpt.tui.")]


def _classes() -> list[type[MessagePump]]:
    loaded = (importlib.import_module(name) for name in _modules())
    ours = {
        each
        for module in loaded
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, MessagePump) and each.__module__.startswith("excerpt.")
    }
    return sorted(ours, key=lambda each: (each.__module__, each.__qualname__))


CLASSES = _classes()


def _textual_bases(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base is not object and not base.__module__.startswith("excerpt.")]


def _names(cls: type) -> set[str]:
    """Return the names that a class defines in its body or assigns to `self` in its methods."""
    names = set(vars(cls))
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(cls)))):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            names |= {node.attr} if node.value.id == "self" else set()
    return {name for name in names if not name.startswith("__")} - _MADE_BY_TEXTUAL


def _handler_names(cls: type[Message]) -> Iterator[str]:
    for below in cls.__subclasses__():
        yield below.handler_name
        yield from _handler_names(below)


def _written_in_the_screen() -> str:
    folder = Path(excerpt.tui.__file__).parent
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))


SOURCE = _written_in_the_screen()
KEY_ACTIONS = {name for keys in CONTEXTS.values() for key in keys for name in re.findall(r"[a-z_]+", key.action)}


def _is_called(action: str) -> bool:
    """Return whether the source names an action outside its definition: in a link, a click, or a call."""
    calls = re.findall(rf"(?<!def )\baction_{action}\b", SOURCE)
    links = re.findall(rf"""["'](?:\w+\.)?{action}(?:\(|["'])""", SOURCE)
    return bool(calls or links)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__qualname__)
def test_no_name_hides_a_member_of_textual_by_accident(cls: type[MessagePump]) -> None:
    hidden = {}
    for name in _names(cls) - EXTENSION_POINTS:
        owner = next((base for base in _textual_bases(cls) if name in vars(base)), None)
        overrides = name.startswith(("action_", "on_", "_on_", "watch_", "_watch_", "validate_"))
        if owner is not None and not overrides and not any((base.__name__, name) in PATCHED for base in cls.__mro__):
            hidden[name] = owner.__name__
    assert not hidden


@pytest.mark.programs
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__qualname__)
def test_each_method_that_textual_finds_by_name_is_called(cls: type[MessagePump]) -> None:
    handlers = set(_handler_names(Message))
    reactives = set(getattr(cls, "_reactives", {}))
    keys = {key.value.replace("+", "_") for key in Keys}
    overridden = {name for base in _textual_bases(cls) for name in vars(base)}
    unreached = []
    for name, method in vars(cls).items():
        kind, _, rest = name.lstrip("_").partition("_")
        if not rest or not callable(method) or name in overridden or hasattr(method, "_textual_on"):
            continue
        reached = {
            "on": f"on_{rest}" in handlers,
            "watch": rest in reactives,
            "validate": rest in reactives,
            "compute": rest in reactives,
            "key": rest in keys or len(rest) == 1,
            "action": rest in KEY_ACTIONS or _is_called(rest),
        }
        if not reached.get(kind, True):
            unreached.append(name)
    assert not unreached


# --- patches for Textual's maintainers --------------------------------------------------------------------------------

PATCHES = sorted((Path(__file__).parents[2] / "tools" / "textual").glob("*.patch"))


@pytest.mark.programs
@pytest.mark.needs("git")
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_patch_for_textual_mends_what_its_own_test_finds_in_the_pinned_version(patch: Path, tmp_path: Path) -> None:
    without_cache = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(textual.__file__).parent, tmp_path / "src" / "textual", ignore=without_cache)

    def run_test_of_patch() -> int:
        command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-o", "asyncio_mode=auto", "tests"]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False).returncode

    def apply(*options: str) -> None:
        subprocess.run(["git", "apply", *options, str(patch)], cwd=tmp_path, check=True)

    apply("--include=tests/*")
    assert run_test_of_patch() == 1
    apply("--include=src/*")
    assert run_test_of_patch() == 0
