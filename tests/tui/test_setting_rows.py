"""What the settings screen shows of the two files, and what becomes of a value."""

from __future__ import annotations

from dataclasses import replace

import pytest
from excerpt.tui.setting_rows import (
    Kind,
    Origin,
    Row,
    Setting,
    carried,
    fields_of,
    rows_of,
    shown_value,
    stepped,
    typed,
)

from excerpt.errors import SettingsError
from excerpt.settings import PackSettings, ScreenSettings, Settings
from excerpt.settings_schema import MEANINGS

FIELDS = {field.key: field for field in fields_of(("dark", "light"), ("o200k", "cl100k"))}


def row(key: str, value: object, **more: object) -> Row:
    return replace(Row(FIELDS[key], 0, Origin.DEFAULT), value=value, **more)  # type: ignore[arg-type]


def test_each_field_is_a_setting_that_has_a_meaning_and_a_way_to_be_changed() -> None:
    assert set(FIELDS) <= set(MEANINGS)
    assert FIELDS["pack.scope"] == Setting("pack.scope", "Scope", Kind.CHOICE, ("none", "neighbors", "section", "note"))
    kinds = {key: FIELDS[key].kind for key in ("screen.plain", "screen.editor", "pack.budget", "pack.tokenizer")}
    assert list(kinds.values()) == [Kind.SWITCH, Kind.TEXT, Kind.NUMBER, Kind.NAME]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (True, [("o200k", Origin.DEFAULT, False), (8000, Origin.ALL, False), ("note", Origin.ONE, False)]),
        (False, [("o200k", Origin.DEFAULT, False), (8000, Origin.ALL, False), ("section", Origin.ALL, True)]),
    ],
)
def test_a_row_says_where_its_value_stands(one: bool, expected: list[tuple[object, Origin, bool]]) -> None:
    shown = [FIELDS[key] for key in ("pack.tokenizer", "pack.budget", "pack.scope")]
    rows = rows_of(shown, {"pack": {"budget": 8000, "scope": "section"}}, {"pack": {"scope": "note"}}, one=one)
    assert [(each.value, each.origin, each.overruled) for each in rows] == expected


@pytest.mark.parametrize(
    ("key", "value", "steps", "then"),
    [
        ("pack.scope", "note", 1, "none"),
        ("pack.scope", "none", -1, "note"),
        ("pack.budget", 4000, 1, 6000),
        ("pack.budget", 4100, -1, 4000),
        ("screen.plain", False, 1, True),
        ("screen.plain", True, -1, False),
        ("pack.tokenizer", "/models/own.json", 1, "o200k"),
        ("pack.tokenizer", "/models/own.json", -1, "cl100k"),
        ("screen.editor", "vim", 1, None),
    ],
)
def test_left_and_right_go_from_value_to_value(key: str, value: object, steps: int, then: object) -> None:
    assert stepped(row(key, value), steps) == then


def test_what_is_typed_is_taken_as_meant_or_refused() -> None:
    assert typed(FIELDS["pack.budget"], " 12,000 ") == 12_000
    assert typed(FIELDS["screen.editor"], " code -w ") == "code -w"
    with pytest.raises(SettingsError, match="whole number of tokens"):
        typed(FIELDS["pack.budget"], "many")
    with pytest.raises(SettingsError, match="one of dark, light"):
        typed(FIELDS["screen.theme"], "pink")


def test_values_are_shown_as_words() -> None:
    assert shown_value(row("screen.plain", False)) == "off"
    assert shown_value(row("pack.budget", 12_000)) == "12,000"
    assert shown_value(row("screen.editor", "")) == "$VISUAL or $EDITOR"


def test_what_was_chosen_for_this_time_stays_where_the_files_did_not_change() -> None:
    now = Settings(screen=ScreenSettings(plain=True))
    after = Settings(screen=ScreenSettings(theme="light"), pack=PackSettings(budget=250))
    assert carried(now, Settings(), after) == replace(after, screen=ScreenSettings(theme="light", plain=True))
