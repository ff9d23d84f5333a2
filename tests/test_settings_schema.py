"""Tests that the schema of excerpt.toml accepts and rejects the same values as excerpt."""

from __future__ import annotations

from typing import Any

from excerpt.settings_file import all_settings, settings_schema
from excerpt.tui.keymap import bindable_actions


def property_of(key: str) -> dict[str, Any]:
    """Return the schema of a dotted key."""
    made = settings_schema(bindable_actions())
    shape: dict[str, Any] = made
    for part in key.split("."):
        while "$ref" in shape or "allOf" in shape:
            shape = made["$defs"][(shape.get("$ref") or shape["allOf"][0]["$ref"]).rpartition("/")[2]]
        shape = shape["properties"][part]
    return shape


def test_each_setting_has_its_meaning_and_its_default() -> None:
    for one in all_settings():
        assert one.meaning, one.key
        assert property_of(one.key)["description"] == one.meaning
        assert property_of(one.key).get("default", {}) == one.default, one.key


def test_a_key_that_it_does_not_name_is_an_error() -> None:
    made = settings_schema(bindable_actions())
    tables = [shape for shape in made["$defs"].values() if "properties" in shape]
    assert len(tables) == 10
    assert all(table["additionalProperties"] is False for table in tables)


def test_ranges_and_choices_are_those_that_are_held_to() -> None:
    assert property_of("search.fuzzy_threshold")["maximum"] == 1
    assert property_of("pack.budget")["minimum"] == 0
    assert "de" in property_of("vault.language")["enum"]
    scope = property_of("pack.scope")["allOf"][0]["$ref"].rpartition("/")[2]
    assert set(settings_schema(bindable_actions())["$defs"][scope]["enum"]) == {"none", "neighbors", "section", "note"}


def test_the_actions_that_keys_can_be_given_to_are_named_and_no_other_is_allowed() -> None:
    taken = property_of("screen.keys")
    assert taken["properties"]["copy-pack"] == {"type": "string", "description": "Copy the pack", "default": "ctrl+y"}
    assert taken["additionalProperties"] is False
