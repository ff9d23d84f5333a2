"""The messages of the protocol: requests with their parameters, answers, errors and events, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import fields

from excerpt.base.kinds import Fill, Scope, Strategy
from excerpt.base.patterns import lazy_pattern
from excerpt.base.settings import MAX_HITS, MAX_TOKENS
from excerpt.service.inputs import (
    MAX_ITEMS,
    MAX_MEMORY_LENGTH,
    MAX_PROMPT_LENGTH,
    MAX_QUERY_LENGTH,
    MAX_SOURCE_LENGTH,
    MAX_WORDINGS,
    InputLine,
    describe_name,
    find_leading_id,
    parse_json,
)
from excerpt.text.display import format_count, visible_json

PROTOCOL = 1
"""Version of the protocol. A change that breaks clients raises it."""

MAX_LINE_BYTES = 1 << 20
"""The longest line that is read; a longer one is answered with an error."""

RequestId = str | int
Params = TypeVar("Params", bound=Struct)

ERROR_CODES = {
    "parse_error": -32700,
    "invalid_request": -32600,
    "unknown_method": -32601,
    "invalid_params": -32602,
    "internal": -32603,
    "not_found": -32000,
    "not_indexed_yet": -32001,
    "unusable": -32002,
    "busy": -32003,
    "cancelled": -32800,
    "superseded": -32801,
}
"""The code of each kind of error: those of JSON-RPC and of the language server protocol, and four of excerpt."""

# --- requests ---------------------------------------------------------------------------------------------------------

QueryText = Annotated[str, Meta(max_length=MAX_QUERY_LENGTH)]
Wordings = Annotated[list[QueryText], Meta(max_length=MAX_WORDINGS)]
"""Other wordings of a query."""
Source = Annotated[str, Meta(min_length=1, max_length=MAX_SOURCE_LENGTH)]
Where = dict[str, str | list[str]]


class VaultParams(Struct, frozen=True):
    """The parameters of every method: the name or folder of a vault, by default the first one.

    With `vaults`, names or folders of several, these are asked as one.
    """

    vault: str = ""
    vaults: Annotated[list[str], Meta(max_length=MAX_ITEMS)] = field(default_factory=list)


class SearchParams(VaultParams, frozen=True, kw_only=True):
    """Parameters of `search`. `wordings` ask the same as `query` in other words: a hit has its best score.

    `where` has filters as data, `{"tag": "work", "-path": "Archive/"}`; with `literal`, nothing in `query` is a filter.
    Without `text`, hits have no texts. `snippet` is the length of the snippets in terminal cells, 0 for none.
    """

    query: QueryText
    wordings: Wordings = field(default_factory=list)
    limit: Annotated[int, Meta(ge=1, le=200)] = 20
    strategy: Strategy | None = None
    where: Where | None = None
    literal: bool = False
    text: bool = True
    snippet: Annotated[int, Meta(ge=0, le=1_000)] = 200


class PackParams(VaultParams, frozen=True, kw_only=True):
    """Parameters of `pack`. `fragments` are ids: exactly these are packed, in this order, and not what `query` finds.

    `wordings`, `where` and `literal` are as for `search`. The result's `rendered` is the text for a prompt.
    """

    query: QueryText = ""
    wordings: Wordings = field(default_factory=list)
    fragments: Annotated[list[str], Meta(max_length=MAX_ITEMS)] = field(default_factory=list)
    budget: Annotated[int, Meta(ge=0, le=MAX_TOKENS)] | None = None
    scope: Scope | None = None
    strategy: Strategy | None = None
    format: Literal["markdown", "xml", "plain"] = "markdown"
    fill: Fill | None = None
    where: Where | None = None
    literal: bool = False


class ReadParams(VaultParams, frozen=True, kw_only=True):
    """Parameters of `read`. `source` is a path, `path:10-40`, `path#Heading`, a title, a wikilink or a fragment id.

    `context` is the number of lines to add above and below: a preview. Without it, a hit counts as opened.
    """

    source: Source
    context: Annotated[int, Meta(ge=0, le=MAX_HITS)] = 0


class WhyParams(VaultParams, frozen=True, kw_only=True):
    """Parameters of `why`: the explanation of a hit; `strategy`, `where` and `literal` are those of its search."""

    query: QueryText
    fragment_id: str
    strategy: Strategy | None = None
    where: Where | None = None
    literal: bool = False


class CompleteParams(VaultParams, frozen=True, kw_only=True):
    """Parameters of `complete`: a query and the position of the cursor in it, in characters."""

    text: QueryText
    cursor: Annotated[int, Meta(ge=0)]


class RememberParams(VaultParams, frozen=True, kw_only=True):
    """Parameters of `remember`. Without `text`, the text of `source` is kept.

    `replaces` are ids of memories that this one replaces. `shared` saves it in the vault's store, for all who may read
    its source; null means the setting `memory.location`.
    """

    text: Annotated[str, Meta(max_length=MAX_MEMORY_LENGTH)] = ""
    tags: list[str] = field(default_factory=list)
    why: str = ""
    source: str = ""
    replaces: list[str] = field(default_factory=list)
    shared: bool | None = None


class RecallParams(VaultParams, frozen=True, kw_only=True):
    """Parameters of `recall`: memories that answer `query`, the newest without one."""

    query: QueryText = ""
    tags: list[str] = field(default_factory=list)
    limit: Annotated[int, Meta(ge=1, le=200)] = 20


class PassagesParams(VaultParams, frozen=True, kw_only=True):
    """Parameters of `passages`: a prompt to an agent, and the ids of fragments that the agent's session got before."""

    prompt: Annotated[str, Meta(max_length=MAX_PROMPT_LENGTH)]
    shown_before: list[str] = field(default_factory=list)


class StatusParams(VaultParams, frozen=True, kw_only=True):
    """Parameters of `status`: the state of the index."""


class CancelParams(Struct, frozen=True, kw_only=True):
    """Parameters of `cancel`: the id of the request to cancel."""

    id: RequestId


class HelloParams(Struct, frozen=True, kw_only=True):
    """Parameters of `hello`: for whom the client reads comments in notes, the author of the notes or everybody."""

    comments: Literal["author", "everybody"] = "everybody"


class ClientRequest(Struct, frozen=True):
    """A request of a client, not checked for its method; without an `id`, it gets no answer.

    A newer request of the same `channel` supersedes the older ones that are not answered. `for_author` says that the
    client has asked for the comments in notes.
    """

    method: str
    params: Mapping[str, Any]
    id: RequestId | None = None
    channel: str | None = None
    for_author: bool = False


class InvalidMessageError(Exception):
    """A line that is no valid request; `kind` is the kind of error, `id` is the request's id, None if it has no id."""

    def __init__(self, kind: str, message: str, request_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.id = request_id


def parse_request(line: InputLine) -> ClientRequest:
    """Return the request in a line. Raises InvalidMessageError."""
    if line.is_cut:
        raise InvalidMessageError("parse_error", "The line is longer than 1 MiB.", find_leading_id(line.data))
    try:
        message = parse_json(line.data)
    except ValueError:
        raise InvalidMessageError("parse_error", "The line is not JSON.", find_leading_id(line.data)) from None
    if not isinstance(message, dict):
        raise InvalidMessageError("invalid_request", "The line is not a JSON object.")
    request_id = message.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int | None):
        raise InvalidMessageError("invalid_request", "id must be a string or an integer.")
    problem = _find_message_problem(message)
    if problem:
        raise InvalidMessageError("invalid_request", problem, request_id)
    return ClientRequest(message["method"], message.get("params") or {}, request_id, message.get("channel"))


def _find_message_problem(message: Mapping[str, Any]) -> str:
    """Return a sentence that says what is wrong with a request; "" if it is valid."""
    if message.get("jsonrpc", "2.0") != "2.0":
        return 'jsonrpc must be "2.0", or left out.'
    if not isinstance(message.get("method"), str):
        return "method must be a string."
    if not isinstance(message.get("params"), dict | None):
        return "params must be an object."
    if not isinstance(message.get("channel"), str | None):
        return "channel must be a string."
    unknown = next((name for name in message if name not in ("jsonrpc", "id", "method", "params", "channel")), None)
    return f"A request has no member {describe_name(unknown)}." if unknown is not None else ""


def parse_params(params: Mapping[str, Any], kind: type[Params], method: str) -> Params:
    """Return the parameters of a method as a value of type `kind`. Raises ValueError with a sentence."""
    names = [each.name for each in fields(kind)]
    unknown = next((name for name in params if name not in names), None)
    if unknown is not None:
        near = get_close_matches(describe_name(unknown), names, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"The method takes {', '.join(names)}."
        raise ValueError(f"{method} has no parameter {describe_name(unknown)}. {hint}")
    try:
        return msgspec.convert(params, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_format_error(str(error), kind, method)) from None


_MISSING = lazy_pattern(r"Object missing required field `(\w+)`")
_FIELD = lazy_pattern(r"`\$\.(\w+)")


def _format_error(text: str, kind: type[Any], method: str) -> str:
    """Return a sentence for an error of msgspec: which parameter is wrong, and what it must be."""
    if missing := _MISSING.match(text):
        return f"{method} needs the parameter {missing[1]}."
    name = _FIELD.findall(text)[-1]
    definitions = msgspec.json.schema(kind)["$defs"]
    return f"{name} must be {_describe_type(definitions[kind.__name__]['properties'][name], definitions)}."


def _describe_type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return in words what a JSON schema allows, without null: "from 1 to 200"."""
    options = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    if len(options) > 1:
        return " or ".join(_describe_type(each, definitions) for each in options)
    (only,) = options
    if "$ref" in only:
        only = definitions[only["$ref"].rpartition("/")[2]]
    if "enum" in only:
        return f"one of {', '.join(only['enum'])}"
    parts = {"array": "items", "object": "additionalProperties"}
    if only["type"] in parts:
        inner = _describe_type(only[parts[only["type"]]], definitions)
        return f"a list, each {inner}" if only["type"] == "array" else f"an object, each value {inner}"
    return _describe_scalar(only)


def _describe_scalar(schema: Mapping[str, Any]) -> str:
    match schema["type"]:
        case "integer":
            least, most = schema.get("minimum"), schema.get("maximum")
            if least is None:
                return "a whole number"
            return f"at least {least}" if most is None else f"from {least} to {most:,}"
        case "string":
            if "maxLength" in schema:
                return f"a text of at most {format_count(schema['maxLength'], 'character')}"
            return "a text"
        case _:
            return "true or false"


# --- answers and events -----------------------------------------------------------------------------------------------


def make_answer(request_id: RequestId, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def make_error(request_id: RequestId | None, kind: str, message: str, hint: str = "") -> dict[str, Any]:
    """Return the error that answers a request."""
    error = {"code": ERROR_CODES[kind], "message": message, "data": {"kind": kind, "hint": hint}}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def make_event(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event."""
    return {"jsonrpc": "2.0", "method": name, "params": params}


def encode_line(message: dict[str, Any]) -> bytes:
    """Return a message as a line. Control characters and unpaired surrogates, as of file names, are escaped."""
    text = visible_json(json.dumps(message, ensure_ascii=False, separators=(",", ":")))
    return f"{text}\n".encode("utf-8", "backslashreplace")
