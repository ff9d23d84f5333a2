"""Tests of the keys: one table, changed by a keymap, listed by the help."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.binding import Binding
from textual.constants import ESCAPE_DELAY
from textual.dom import DOMNode
from textual.events import Key
from textual.keys import _character_to_key
from textual.widgets import Input

from excerpt import tui
from excerpt.base.settings import Paths, ScreenSettings, Settings
from excerpt.tui.active_keys import build_help_groups, filter_help_groups, row_id
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.footer import KeyBar
from excerpt.tui.common.help import HelpDialog
from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.key_table import KeyBinding as Row
from excerpt.tui.keymap import (
    AMBIGUOUS_KEYS,
    binding_keys,
    find_clashes,
    find_unreliable_keys,
    format_key,
    is_typed,
    key_sign,
    parent_contexts,
    use_keymap,
    use_spelled_keys,
    validate_keymap,
)
from tests.tui.driver import (
    ScriptedApp,
    hit_list_of,
    notices_of,
    pane_of,
    screen_of,
    search,
    top_screen,
    until,
)

SEQUENCES = {
    str(keys[0].value): sequence
    for sequence, keys in [*ANSI_SEQUENCES_KEYS.items()][::-1]
    if isinstance(keys, tuple) and len(keys) == 1
}
ARROWS = {"up": "A", "down": "B", "right": "C", "left": "D"}
MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4}
CHARACTERS = {_character_to_key(chr(code)): chr(code) for code in range(32, 127)}
SCREEN = Path(tui.__file__).parent
A_KEY = re.compile(r"(?:^|[\s(])(?:\^[a-z]|F\d{1,2}\b|alt\+\w[ ,.)]|esc |[Ee]nter [a-z]|tab (?!is|has|to)[a-z]|[⏎⇥⌫])")
EVERY = [binding for place in CONTEXTS.values() for binding in place]


def test_every_binding_has_a_unique_id_and_a_description() -> None:
    ids = [binding.id for binding in EVERY]
    assert len(set(ids)) == len(ids)
    assert all(binding.id and binding.label and binding.what for binding in EVERY)


def test_no_binding_uses_a_key_that_terminals_send_as_another() -> None:
    assert not [binding.id for binding in EVERY if AMBIGUOUS_KEYS.intersection(binding_keys(binding, {}))]


def test_no_binding_has_an_alt_key() -> None:
    assert not [binding.id for binding in EVERY if "alt+" in binding.keys]


TYPING = ("Always", "Everywhere", "Search")
TABS = ("Search", "Overview", "Memory")


def test_at_most_twenty_actions_have_keys_that_work_while_typing() -> None:
    typing = [
        row
        for place in TYPING
        for row in CONTEXTS[place]
        if row.has_priority and set(binding_keys(row, {})) - characters(row)
    ]
    assert len({row.action.partition("(")[0] for row in typing}) <= 20


def characters(row: Row) -> set[str]:
    """Return the keys of a row that a field would take as characters."""
    return {key for key in binding_keys(row, {}) if is_typed(key)}


def test_at_most_thirty_more_keys_act_in_lists() -> None:
    typing = {
        key for place in TYPING for row in CONTEXTS[place] for key in set(binding_keys(row, {})) - characters(row)
    }
    lists = [rows for place, rows in CONTEXTS.items() if ", focus on " in place]
    panes = [rows for place, rows in CONTEXTS.items() if place in TABS]
    letters = {key for rows in panes for row in rows for key in characters(row)}
    letters |= {key for rows in lists for row in rows for key in binding_keys(row, {})} - typing
    assert len(letters - {"home", "end"}) <= 30, sorted(letters)


SAID_OTHERWISE: dict[str, set[str]] = {
    "j": {"next", "down"},
    "k": {"previous", "up"},
    "slash": {"query", "topic", "filter"},
    "l": {"link", "follow"},
    "backspace": {"back", "return", "unfilter"},
    "right": {"unfold", "reason"},
    "left": {"fold", "previous reason"},
    "space": {"mark", "filter"},
    "v": {"view", "passage"},
    "y": {"copy one", "copy"},
    "m": {"remember", "new"},
    "s": {"scope", "its scope"},
    "x": {"clear marks", "forget this", "not linked", "drop", "forget"},
    "shift+down": {"later", "pick"},
    "shift+up": {"earlier", "pick"},
}
"""Keys with one meaning but several labels, as the label names what they act on."""


def test_a_key_has_one_meaning_in_every_list() -> None:
    labels: dict[str, set[str]] = {}
    for place, rows in CONTEXTS.items():
        if place.partition(",")[0].removesuffix(" tab") in TABS:
            for row in rows:
                for key in characters(row) if place in TABS else binding_keys(row, {}):
                    labels.setdefault(key, set()).add(row.label)
    assert {key: said for key, said in labels.items() if len(said) > 1} == SAID_OTHERWISE


def test_the_default_keys_do_not_clash() -> None:
    assert find_clashes({}) == []


OVERRIDDEN = {
    ("l", "link", "context-link"),
    ("l", "link", "related-follow"),
    ("s", "scope", "pack-scope"),
    ("x", "drop-earlier", "pack-drop"),
    ("x", "drop-earlier", "related-unlinked"),
    ("x", "drop-earlier", "why-forget"),
    ("space", "mark", "map-filter"),
}
"""Keys that an inner place overrides: key, row of the outer place, row of the inner place."""


def test_keys_of_an_outer_context_are_bound_again_only_for_another_action() -> None:
    found = set()
    for place, rows in CONTEXTS.items():
        for around in (row for each in parent_contexts(place) for row in CONTEXTS[each]):
            for row in rows:
                shared = set(binding_keys(row, {})) & set(binding_keys(around, {}))
                found |= {(key, around.id, row.id) for key in shared}
    assert found == OVERRIDDEN


HELP_TWICE = {"app.help"}
"""Actions that the help lists twice: F1 works while typing and in dialogs, ? only in the tabs."""


def test_the_table_has_one_row_per_action_in_contexts_that_work_together() -> None:
    for place in CONTEXTS:
        actions = [
            row.action for each in (place, *parent_contexts(place)) for row in CONTEXTS[each] if not row.is_movement
        ]
        assert {action for action in actions if actions.count(action) > 1} <= HELP_TWICE, place


def test_a_key_of_two_bindings_that_work_together_is_reported_with_both() -> None:
    assert find_clashes({"strategy": "ctrl+y"}) == ["ctrl+y is used for both copy-pack and strategy."]
    assert find_clashes({"strategy": "f1"}) == ["f1 is used for both help and strategy."]


def test_a_key_may_mean_one_thing_in_the_search_and_another_among_memories() -> None:
    assert find_clashes({"memory-forget": "ctrl+s"}) == []


def test_an_unknown_id_is_reported_with_the_nearest_known_one() -> None:
    keymap, problems = validate_keymap({"copy-pakc": "ctrl+g"})
    assert keymap == {}
    assert problems == ["There is no key called copy-pakc. Did you mean copy-pack?"]


def test_a_key_that_terminals_cannot_distinguish_is_refused() -> None:
    keymap, problems = validate_keymap({"copy-pack": "ctrl+m"})
    assert keymap == {}
    assert problems == ["ctrl+m cannot be used for copy-pack: terminals send another key for it."]


def test_a_key_that_a_field_would_type_is_refused_where_it_takes_precedence_over_the_field() -> None:
    assert validate_keymap({"strategy": "s", "field-word": "w", "scope": "?"}) == (
        {"scope": "question_mark"},
        [
            "s cannot be used for strategy: you could not type it any more.",
            "w cannot be used for field-word: you could not type it any more.",
            "question_mark is used for both help-sign and scope.",
        ],
    )


def test_symbols_in_a_keymap_have_the_names_of_textual() -> None:
    signs = [chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum() and chr(code) != ","]
    keymaps = [validate_keymap({"scope": sign})[0]["scope"] for sign in signs]
    assert keymaps == [_character_to_key(sign) for sign in signs]


def test_exactly_the_keys_in_the_key_table_are_bound() -> None:
    for module in pkgutil.walk_packages(tui.__path__, "excerpt.tui."):
        importlib.import_module(module.name)
    ours = [each for each in _classes_below(DOMNode) if each.__module__.startswith("excerpt.")]
    made: list[Binding] = [binding for each in ours for binding in vars(each).get("BINDINGS", ())]
    assert {row_id(binding) for binding in made} - {""} == {binding.id for binding in EVERY}
    assert [binding.key for binding in made if binding.id is None] == ["ctrl+c"]


def _classes_below(cls: type[DOMNode]) -> set[type[DOMNode]]:
    found = {cls}
    for each in cls.__subclasses__():
        found |= _classes_below(each)
    return found


@pytest.mark.programs
async def test_a_keymap_applies_to_dialogs_and_may_swap_two_keys(tmp_path: Path, home: Path) -> None:
    keys = {"dialog-leave": "f6", "strategy": "f9", "scope": "ctrl+s"}
    app = ScriptedApp(tmp_path, replace(Settings(), screen=ScreenSettings(keys=keys)))
    async with app.run_test() as pilot:
        pane = pane_of(app)
        before = pane.strategy, pane.scope
        await pilot.press("f9")
        assert (pane.strategy != before[0], pane.scope) == (True, before[1])
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(top_screen(app), HelpDialog), "the help")
        assert str(top_screen(app).query_one(".box").border_subtitle).endswith("F6 close")
        await pilot.press("escape")
        assert isinstance(top_screen(app), HelpDialog)
        await pilot.press("f6")
        await until(pilot, lambda: top_screen(app) is screen_of(app), "the end of it")
        assert all(notice.severity == "information" for notice in app._notifications)


def test_keys_that_few_terminals_send_are_named_and_no_others() -> None:
    few = ["ctrl+enter", "ctrl+1", "ctrl+shift+k", "super+c", "shift+enter", "ctrl+comma", "alt+1", "alt+comma"]
    all_send = ["ctrl+k", "alt+k", "alt+shift+up", "ctrl+left", "shift+f3", "f12", "shift+tab", "ctrl+space", "K"]
    assert find_unreliable_keys({"why": ",".join(few)}) == [
        f"{key} (for why) is not sent by most terminals." for key in few
    ]
    assert find_unreliable_keys({"why": ", ".join(all_send)}) == []


def test_all_terminals_send_the_default_keys() -> None:
    assert find_unreliable_keys({binding.id: binding.keys for binding in EVERY}) == []


def test_keys_are_written_as_people_do() -> None:
    assert [format_key(key) for key in ("ctrl+y", "tab", "f1", "ctrl+backslash", "alt+y", "ctrl+up", "G")] == [
        "^y",
        "⇥",
        "F1",
        "^\\",
        "alt+y",
        "^↑",
        "G",
    ]


def test_messages_name_the_current_key_of_an_action() -> None:
    try:
        use_keymap({"copy-pack": "ctrl+e,f6"})
        assert [key_sign(id_) for id_ in ("copy-pack", "mark", "up")] == ["^e", "⇥", "↑"]
        assert (key_sign("up", "down"), key_sign("update", "help")) == ("↑↓", "^g “update” F1")
        use_spelled_keys(is_spelled=True)
        assert (key_sign("mark"), key_sign("up", "down")) == ("tab", "up down")
    finally:
        use_spelled_keys(is_spelled=False)
        use_keymap({})


@pytest.mark.programs
def test_no_text_on_the_screen_contains_a_fixed_key() -> None:
    tables = {"key_table.py", "keymap.py", "line_filters.py"}
    said = [
        (file.name, node) for file in SCREEN.rglob("*.py") if file.name not in tables for node in keys_named_in(file)
    ]
    assert [(name, text) for name, text in said if A_KEY.search(text)] == []


@pytest.mark.programs
def test_every_key_named_anywhere_is_in_the_table() -> None:
    called = [node for file in SCREEN.rglob("*.py") for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    named = {
        each.value
        for node in called
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "key_sign"
        for each in node.args
        if isinstance(each, ast.Constant)
    }
    assert "dialog-leave" in named
    assert named <= {binding.id for binding in EVERY}


def keys_named_in(file: Path) -> list[str]:
    """Return the strings of a module, except docstrings."""
    tree = ast.parse(file.read_text("utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    every = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)
    return [node.value for node in every if isinstance(node.value, str)]


def test_the_help_lists_every_binding_with_the_users_keys_and_those_that_work_here_first() -> None:
    use_keymap({"copy-pack": "ctrl+g"})
    try:
        listed = build_help_groups(["Memory", "Always"], {"memory-edit": "No memory is selected."})
    finally:
        use_keymap({})
    assert {row.id for group in listed for row in group.rows} == {binding.id for binding in EVERY}
    assert (
        [group.title for group in listed if group.is_active]
        == ["Memory", "Always"]
        == [one.title for one in listed[:2]]
    )
    assert [row.disabled_reason for row in listed[0].rows if row.disabled_reason] == ["No memory is selected."]
    assert "^g" in {row.keys for group in listed for row in group.rows if row.what == "Copy the pack"}


@pytest.mark.programs
async def test_the_help_lists_the_keys_of_a_field_and_no_tab_uses_its_deleting_keys(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test() as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(top_screen(scripted), HelpDialog), "the help")
        assert find_field_key_reasons(scripted) == {"field-word": "", "field-clear": "", "field-rest": ""}
        await pilot.press("escape", "f4")
        await until(pilot, lambda: scripted.focused is not None and scripted.focused.id == "filter", "the filter")
        assert not [
            offer.id for offer in screen_of(scripted).query_one(KeyBar).footer_keys if offer.id.startswith("field")
        ]
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(top_screen(scripted), HelpDialog), "the help")
        assert find_field_key_reasons(scripted) == {"field-word": "", "field-clear": "", "field-rest": ""}


def find_field_key_reasons(app: ScriptedApp) -> dict[str, str]:
    """Return the deleting keys of a field that the help lists, each with its disabled reason."""
    help_shown = top_screen(app)
    assert isinstance(help_shown, HelpDialog)
    (group,) = [each for each in help_shown._groups if each.title == "Any field" and each.is_active]
    return {row.id: row.disabled_reason for row in group.rows if row.id in ("field-word", "field-clear", "field-rest")}


def test_typing_in_the_help_filters_by_all_words() -> None:
    left = filter_help_groups(build_help_groups([], {}), "pack undo")
    assert {row.id for group in left for row in group.rows} == {"undo"}
    assert filter_help_groups(build_help_groups([], {}), "no such thing") == ()


@pytest.mark.programs
async def test_a_keymap_of_the_settings_changes_a_key(vault: Path, user_paths: Paths) -> None:
    settings = replace(Settings(), screen=ScreenSettings(keys={"down": "f6", "nonsense": "x"}))
    app = ExcerptApp(vault, settings, user_paths)
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("f6")
        assert hit_list_of(app).cursor == 1
        await pilot.press("down")
        assert hit_list_of(app).cursor == 1
        toasts = notices_of(app)
        assert any("There is no key called nonsense." in toast for toast in toasts)


@pytest.mark.programs
async def test_f1_opens_the_help_and_escape_first_clears_its_filter(scripted: ScriptedApp) -> None:
    async with scripted.run_test() as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(top_screen(scripted), HelpDialog), "the help")
        await pilot.press(*"undo")
        await pilot.pause()
        assert "memory-undo" in scripted.export_screenshot(), "what it is called in the settings"
        await pilot.press("escape")
        assert isinstance(top_screen(scripted), HelpDialog)
        await pilot.press("escape")
        await until(pilot, lambda: top_screen(scripted) is screen_of(scripted), "the end of it")
        await pilot.press("f1", "f1")
        await until(pilot, lambda: top_screen(scripted) is screen_of(scripted), "f1 closes it too")


@pytest.mark.programs
async def test_the_help_explains_a_symbol(scripted: ScriptedApp) -> None:
    async with scripted.run_test() as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(top_screen(scripted), HelpDialog), "the help")
        top_screen(scripted).query_one("#keys-filter", Input).value = "◆"
        await pilot.pause()
        shown = scripted.export_screenshot().replace("&#160;", " ")
        assert "A memory, or a passage with a memory" in shown
        assert "undo" not in shown


@pytest.mark.programs
async def test_a_question_mark_is_typed_into_the_query_and_opens_the_help_in_the_list(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict?")
        await pilot.press("shift+tab", "question_mark")
        assert isinstance(top_screen(app), HelpDialog)


def bytes_of_key(key: str) -> str:
    """Return what a terminal without a keyboard protocol sends for a key."""
    *modifiers, last = key.split("+")
    if last in ARROWS and modifiers:
        return f"\x1b[1;{1 + sum(MODIFIERS[each] for each in modifiers)}{ARROWS[last]}"
    if modifiers == ["alt"]:
        return "\x1b" + bytes_of_key(last)
    if key in SEQUENCES:
        return SEQUENCES[key]
    if modifiers == ["ctrl"] and len(last) == 1:
        return chr(ord(last.upper()) & 0x1F)
    return last if len(last) == 1 else CHARACTERS[last]


def test_the_bytes_that_terminals_send_for_default_keys_are_parsed_as_these_keys() -> None:
    # For ctrl+space most terminals send ctrl+@, which is bound too.
    keys = sorted({key for binding in EVERY for key in binding_keys(binding, {})} - {"ctrl+space"})
    parsers = [XTermParser() for _ in keys]
    read = [list(parser.feed(bytes_of_key(key))) for key, parser in zip(keys, parsers, strict=True)]
    time.sleep(2 * ESCAPE_DELAY)
    for parser, events in zip(parsers, read, strict=True):
        events.extend(parser.tick())
    assert [[event.key for event in events if isinstance(event, Key)] for events in read] == [[key] for key in keys]
