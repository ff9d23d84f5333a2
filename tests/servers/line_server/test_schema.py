"""Tests of the schema; the messages of all other tests are checked against it too."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from excerpt.servers.line_server.methods import METHODS
from tests.commands import printed


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads(printed("serve", "--schema"))


def test_the_command_prints_a_valid_schema_with_every_method(schema: Any) -> None:
    Draft202012Validator.check_schema(schema)
    methods = {each["properties"]["method"]["const"] for each in schema["$defs"]["Request"]["anyOf"]}
    assert methods == {*METHODS, "cancel", "hello"}


def test_every_type_has_a_description(schema: Any) -> None:
    messages = {"Request", "Answer", "Error", "Event"}
    assert [name for name, each in schema["$defs"].items() if name not in messages and not each["description"]] == []


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "method": "search", "params": {"query": "a", "limit": 500}},
        {"id": 1, "method": "search", "params": {"qery": "a"}},
        {"id": 1, "method": "search"},
        {"jsonrpc": "2.0", "id": None, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "", "data": {"kind": "other", "hint": ""}}},
    ],
)
def test_invalid_requests_and_results_do_not_match_the_schema(schema: Any, message: Any) -> None:
    assert not Draft202012Validator(schema).is_valid(message)
