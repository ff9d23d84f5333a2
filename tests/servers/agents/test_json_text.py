"""Editing JSON in place: what is not touched keeps its bytes."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.servers.agents.json_text import append_element, parse_value, remove_elements, remove_member, set_member

COMPACT = '{"a": [1,2,  3], "mcpServers": {"other": {"command": "x", "args": ["é"]}}, "z": null}\n'
SPACED = '{\n    "mcpServers": {\n        "other": {"command": "x"}\n    }\n}'

keys = st.text(max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(keys, values, max_size=4)
layouts = st.sampled_from((None, 0, 1, 2, 4, "\t"))


def test_a_member_is_added_without_changing_the_rest() -> None:
    changed = set_member(COMPACT, ("mcpServers", "excerpt"), {"command": "excerpt"})
    assert changed.startswith(COMPACT[: COMPACT.index("]}") + 2])
    assert json.loads(changed)["mcpServers"]["excerpt"] == {"command": "excerpt"}


def test_the_indentation_of_the_file_is_kept() -> None:
    changed = set_member(SPACED, ("mcpServers", "excerpt"), {"command": "excerpt"})
    assert '        "excerpt": {\n            "command": "excerpt"\n        }\n' in changed


def test_missing_objects_are_added() -> None:
    assert json.loads(set_member("", ("a", "b", "c"), 1)) == {"a": {"b": {"c": 1}}}
    assert json.loads(append_element('{"a": {}}', ("a", "b"), 1)) == {"a": {"b": [1]}}


def test_removing_a_member_restores_the_file() -> None:
    for text in (COMPACT, SPACED):
        changed = set_member(text, ("mcpServers", "excerpt"), {"command": "excerpt"})
        assert remove_member(changed, ("mcpServers", "excerpt")) == text


def test_elements_are_removed_by_index() -> None:
    assert json.loads(remove_elements('{"a": [1, 2, 3]}', ("a",), (0, 2))) == {"a": [2]}


@pytest.mark.parametrize("text", ["{", "[1]", "// comment\n{}", '{"a": 1,}', "\x00"])
def test_anything_but_a_json_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        set_member(text, ("a",), 1)


def test_a_value_on_the_path_that_is_not_an_object_is_refused() -> None:
    with pytest.raises(ValueError, match="not an object"):
        set_member('{"a": 3}', ("a", "b"), 1)
    with pytest.raises(ValueError, match="not a list"):
        append_element('{"a": {}}', ("a",), 1)


@pytest.mark.parametrize("edit", [set_member, append_element])
def test_a_duplicate_key_is_refused(edit: Callable[[str, Sequence[str], object], str]) -> None:
    with pytest.raises(ValueError, match="it has a twice"):
        edit('{"a": {}, "a": {"o": 1}}', ("a", "b"), 1)


def test_a_path_to_a_json_value_may_have_indexes_of_arrays() -> None:
    text = '{"a": [{"b": [1, 2]},  {"b": []}]}'
    assert parse_value(text, ("a", 0, "b", 1)) == 2
    assert set_member(text, ("a", 0, "b", 1), 5) == text.replace("2", "5")
    assert remove_elements(text, ("a", 0, "b"), [0]) == text.replace("1, 2", "2")


@pytest.mark.parametrize("path", [("z",), ("a", 9), ("a", 0, "b", 5), ("a", "b"), (0,), ("a", 1, "b", "c")])
def test_reading_a_missing_value_returns_none(path: Sequence[str | int]) -> None:
    assert parse_value('{"a": [{"b": [1, 2]}, {"b": 3}]}', path) is None


@given(objects, layouts, keys, values)
def test_setting_a_member_equals_setting_it_in_the_parsed_object(
    data: dict[str, Any], indent: int | str | None, key: str, value: object
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    assert json.loads(set_member(text, (key,), value)) == {**data, key: value}


@given(objects, layouts, keys)
def test_adding_and_removing_a_member_restores_the_bytes(
    data: dict[str, Any], indent: int | str | None, key: str
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    if key not in data and data:
        assert remove_member(set_member(text, (key,), 1), (key,)) == text
