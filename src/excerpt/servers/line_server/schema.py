"""The JSON schema of the protocol, made from the types that the server parses and writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from excerpt.servers.line_server.messages import ERROR_CODES, PROTOCOL, CancelParams, HelloParams
from excerpt.servers.line_server.methods import METHODS
from excerpt.servers.line_server.results import EVENTS, CancelResult, HelloResult

Schema = dict[str, Any]

_REF = "#/$defs/{name}"
_ID: Schema = {"type": ["string", "integer"]}
_VERSION: Schema = {"const": "2.0"}


def build_schema() -> Schema:
    """Return the schema of every line, JSON Schema 2020-12: a `Request`, `Answer`, `Error` or `Event` of `$defs`."""
    params: dict[str, type[Any]] = {"cancel": CancelParams, "hello": HelloParams}
    results: dict[str, type[Any]] = {"cancel": CancelResult, "hello": HelloResult}
    params |= {name: method.params for name, method in METHODS.items()}
    results |= {name: method.result for name, method in METHODS.items()}
    types = [*params.values(), *results.values(), *EVENTS.values()]
    _, definitions = msgspec.json.schema_components(types, ref_template=_REF)
    for kind in params.values():
        definitions[kind.__name__]["additionalProperties"] = False
    messages = {
        "Request": {"anyOf": [_request_schema(name, kind, definitions) for name, kind in params.items()]},
        "Answer": _object_schema(
            {"jsonrpc": _VERSION, "id": _ID, "result": {"anyOf": [_ref(kind) for kind in results.values()]}}
        ),
        "Error": _error_schema(),
        "Event": {
            "anyOf": [
                _object_schema({"jsonrpc": _VERSION, "method": {"const": name}, "params": _ref(kind)})
                for name, kind in EVENTS.items()
            ]
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"excerpt serve, protocol {PROTOCOL}",
        "description": "One JSON object a line. Requests go to the server, answers, errors and events come from it.",
        "anyOf": [{"$ref": _REF.format(name=name)} for name in messages],
        "$defs": {**messages, **definitions},
    }


def _request_schema(name: str, kind: type[Any], definitions: Mapping[str, Schema]) -> Schema:
    """Return the schema of the requests of a method; `params` may be left out if none of them is required."""
    properties = {
        "jsonrpc": _VERSION,
        "id": _ID,
        "method": {"const": name},
        "params": _ref(kind),
        "channel": {"type": "string"},
    }
    needs_params = bool(definitions[kind.__name__].get("required"))
    return _object_schema(properties, required=["method", "params"] if needs_params else ["method"])


def _error_schema() -> Schema:
    data = _object_schema({"kind": {"enum": list(ERROR_CODES)}, "hint": {"type": "string"}})
    error = _object_schema({"code": {"enum": list(ERROR_CODES.values())}, "message": {"type": "string"}, "data": data})
    return _object_schema({"jsonrpc": _VERSION, "id": {"type": ["string", "integer", "null"]}, "error": error})


def _object_schema(properties: Schema, required: Iterable[str] | None = None) -> Schema:
    """Return the schema of an object with these properties only, of which all or those in `required` must be there."""
    names = list(properties if required is None else required)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _ref(kind: type[Any]) -> Schema:
    return {"$ref": _REF.format(name=kind.__name__)}
