"""Tests of names that Textual looks up: each of ours is called, and none hides a Textual member by accident."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.keys import Keys
from textual.message import Message
from textual.message_pump import MessagePump

import excerpt.tui
from excerpt.tui.key_table import CONTEXTS

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
def test_each_method_that_textual_finds_by_name_is_reached(cls: type[MessagePump]) -> None:
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
