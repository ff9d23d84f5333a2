"""Tests of the settings file: editing changes one place only, and the schema accepts what excerpt accepts."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.errors import SettingsError
from excerpt.base.settings import PackSettings, Paths, Settings, load_settings
from excerpt.base.settings_file import (
    SettingValue,
    all_settings,
    change_setting,
    edit_settings_text,
    new_settings_text,
    settings_schema,
)
from excerpt.tui.keymap import bindable_actions

FILE = Path("/config/excerpt.toml")
TEXT = """\
#:schema ./excerpt.schema.json
# mine

[screen]   # how it looks
theme = 'excerpt-light'  # for the day
keys.copy-pack = "ctrl+g"

# what goes into a prompt
[pack]
budget   = 8_000   # the model takes more

# the end
"""


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("pack.budget", 6000, "budget   = 8_000   # the model takes more", "budget   = 6000   # the model takes more"),
        ("screen.theme", "x", "theme = 'excerpt-light'  # for the day", 'theme = "x"  # for the day'),
        ("pack.budget", None, "budget   = 8_000   # the model takes more\n", ""),
        ("screen.keys.copy-pack", None, 'keys.copy-pack = "ctrl+g"\n', ""),
    ],
)
def test_changing_a_setting_leaves_the_rest_of_the_file_unchanged(
    key: str, value: SettingValue | None, old: str, new: str
) -> None:
    assert edit_settings_text(TEXT, key, value, FILE) == TEXT.replace(old, new)


@pytest.mark.parametrize("key", ["pack.scope", "search.boosts.links", "memory.in_search", "screen.editor"])
def test_a_new_setting_keeps_every_line(key: str) -> None:
    value: SettingValue = {"pack.scope": "note", "screen.editor": "vim"}.get(key, False)
    changed = edit_settings_text(TEXT, key, value, FILE)
    lines = changed.splitlines()
    assert [line for line in TEXT.splitlines() if line not in lines] == []
    assert tomllib.loads(changed)["pack"]["budget"] == 8000
    found: object = tomllib.loads(changed)
    for part in key.split("."):
        assert isinstance(found, dict)
        found = found[part]
    assert found == value


def test_a_new_setting_is_inserted_above_the_comment_of_the_next_table() -> None:
    first = 'keys.copy-pack = "ctrl+g"\n'
    assert edit_settings_text(TEXT, "screen.editor", "vim", FILE) == TEXT.replace(first, f'{first}editor = "vim"\n')


def test_an_invalid_value_is_refused_with_a_suggestion() -> None:
    with pytest.raises(SettingsError, match='Did you mean "section"'):
        edit_settings_text(TEXT, "pack.scope", "sectoin", FILE)


def test_an_invalid_file_is_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "excerpt.toml"
    for broken in ("[pack\n", "[pack]\nbudgett = 3\n"):
        file.write_text(broken)
        with pytest.raises(SettingsError):
            change_setting(file, "pack.neighbors", 3)
        assert file.read_text() == broken


@pytest.mark.parametrize(("of_one", "up"), [(False, "."), (True, "..")])
def test_a_missing_settings_file_is_created_and_names_its_schema(tmp_path: Path, of_one: bool, up: str) -> None:
    user_paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path)
    vault = tmp_path / "notes\n[vault]" if of_one else None
    file = user_paths.settings_file if vault is None else user_paths.vault_settings_file(vault)
    change_setting(file, "pack.budget", 250, new_settings_text(user_paths, vault, {}))
    assert file.read_text().startswith(f"#:schema {up}/excerpt.schema.json\n# Settings ")
    assert json.loads((file.parent / up / "excerpt.schema.json").read_text())["title"] == "excerpt.toml"
    assert "\n\n[pack]\nbudget = 250\n" in file.read_text()
    assert load_settings(file) == Settings(pack=PackSettings(budget=250))


def test_removing_a_setting_creates_no_file(tmp_path: Path) -> None:
    change_setting(tmp_path / "excerpt.toml", "pack.budget", None)
    assert not (tmp_path / "excerpt.toml").exists()


@pytest.mark.skipif(os.name != "posix", reason="links and modes are POSIX's")
def test_a_linked_file_stays_a_link_with_its_mode(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "excerpt.toml"
    kept.parent.mkdir()
    kept.write_text("# mine\n")
    kept.chmod(0o640)
    link = tmp_path / "excerpt.toml"
    link.symlink_to(kept)
    change_setting(link, "pack.budget", 250)
    assert link.is_symlink()
    assert "budget = 250" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in kept.parent.iterdir()] == ["excerpt.toml"]


def test_crlf_line_ends_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "excerpt.toml"
    file.write_bytes(b"# mine\r\n[pack]\r\nbudget = 250\r\n")
    change_setting(file, "pack.budget", 500)
    assert file.read_bytes() == b"# mine\r\n[pack]\r\nbudget = 500\r\n"


@given(st.text(max_size=30).filter(lambda text: text.isprintable() or "\n" in text))
def test_any_text_is_written_so_that_it_is_read_back(text: str) -> None:
    try:
        changed = edit_settings_text(TEXT, "screen.editor", text, FILE)
    except SettingsError:
        assert any("\ud800" <= character <= "\udfff" for character in text)
    else:
        assert tomllib.loads(changed)["screen"]["editor"] == text


def test_a_file_with_a_byte_order_mark_can_be_changed(tmp_path: Path) -> None:
    file = tmp_path / "excerpt.toml"
    file.write_text(TEXT, encoding="utf-8-sig")
    change_setting(file, "pack.budget", 6000)
    assert load_settings(file).pack.budget == 6000


def test_a_file_nested_too_deeply_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "excerpt.toml"
    file.write_text(f"x = {'[' * 100_000}", encoding="utf-8")
    with pytest.raises(SettingsError, match="is not valid TOML"):
        change_setting(file, "pack.budget", 6000)


def property_of(key: str) -> dict[str, Any]:
    """Return the schema of a dotted key."""
    made = settings_schema(bindable_actions())
    shape: dict[str, Any] = made
    for part in key.split("."):
        while "$ref" in shape or "allOf" in shape:
            shape = made["$defs"][(shape.get("$ref") or shape["allOf"][0]["$ref"]).rpartition("/")[2]]
        shape = shape["properties"][part]
    return shape


def test_each_setting_has_a_description_and_its_default() -> None:
    for one in all_settings():
        assert one.meaning, one.key
        assert property_of(one.key)["description"] == one.meaning
        assert property_of(one.key).get("default", {}) == one.default, one.key


def test_an_unknown_key_is_an_error_in_the_schema() -> None:
    made = settings_schema(bindable_actions())
    tables = [shape for shape in made["$defs"].values() if "properties" in shape]
    assert len(tables) == 11
    assert all(table["additionalProperties"] is False for table in tables)


def test_the_ranges_and_choices_in_the_schema_equal_the_ones_that_are_enforced() -> None:
    assert property_of("search.fuzzy_threshold")["maximum"] == 1
    assert property_of("pack.budget")["minimum"] == 0
    assert "de" in property_of("vault.language")["enum"]
    scope = property_of("pack.scope")["allOf"][0]["$ref"].rpartition("/")[2]
    assert set(settings_schema(bindable_actions())["$defs"][scope]["enum"]) == {"none", "neighbors", "section", "note"}


def test_the_schema_names_exactly_the_actions_that_can_be_bound() -> None:
    taken = property_of("screen.keys")
    assert taken["properties"]["copy-pack"] == {"type": "string", "description": "Copy the pack", "default": "ctrl+y"}
    assert taken["additionalProperties"] is False
