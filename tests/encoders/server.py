"""A small server of embeddings and rerank scores, which can be told to misbehave."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz"

Reply = Callable[["Handler", Any], None]
"""What the server does with a request: it gets the handler and the parsed body."""


def count_letters(text: str) -> list[float]:
    """Return the vector of a text: how often each letter is in it."""
    return [1.0 + text.lower().count(letter) for letter in LETTERS]


@dataclass
class Received:
    """A request as it came: its path, its headers, and its body."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class ModelTestServer:
    """A running server: its address, what it was asked, and what it does with the next requests.

    `replies` are used up one by one, then `reply` answers.
    """

    url: str
    reply: Reply
    replies: list[Reply] = field(default_factory=list)
    requests: list[Received] = field(default_factory=list)
    is_closed: threading.Event = field(default_factory=threading.Event)
    has_stopped_answering: bool = False
    """Whether a slow answer has ended by itself, after half a minute."""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    state: ModelTestServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.state.requests.append(Received(self.path, dict(self.headers), body))
        reply = self.state.replies.pop(0) if self.state.replies else self.state.reply
        reply(self, body)

    def send_json(self, value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def running_server(reply: Reply, certificate: Path | None = None) -> Iterator[ModelTestServer]:
    """Run a server on this machine while the block lasts; `certificate`: a file with one and its key, for https."""
    bound = type("BoundHandler", (Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients hang up here on purpose
    if certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "https" if certificate else "http"
    state = ModelTestServer(f"{scheme}://127.0.0.1:{server.server_address[1]}", reply)
    bound.state = state  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.is_closed.set()
        server.shutdown()
        server.server_close()
        thread.join()


# --- what it answers --------------------------------------------------------------------------------------------------


def embeddings(handler: Handler, body: Any) -> None:
    """Answer as OpenAI's API does, with the last text first: its index tells which it is."""
    rows = [{"index": index, "embedding": count_letters(text)} for index, text in enumerate(body["input"])]
    handler.send_json({"object": "list", "data": rows[::-1]})


def answer_vectors(vectors: Callable[[Sequence[str]], object]) -> Reply:
    """Answer with the vectors that a function makes of the texts."""

    def reply(handler: Handler, body: Any) -> None:
        made: Any = vectors(body["input"])
        handler.send_json({"data": [{"index": index, "embedding": row} for index, row in enumerate(made)]})

    return reply


def status_answer(code: int, value: object = None, headers: Mapping[str, str] | None = None) -> Reply:
    """Answer with a status."""
    return lambda handler, body: handler.send_json(value if value is not None else {}, code, headers)


def raw_answer(data: bytes) -> Reply:
    """Answer with these bytes, whatever they are."""

    def reply(handler: Handler, body: Any) -> None:
        handler.wfile.write(data)
        handler.close_connection = True

    return reply


def never_answer(handler: Handler, body: Any) -> None:
    """Answer nothing until the server is closed."""
    handler.state.has_stopped_answering = not handler.state.is_closed.wait(30)
    handler.close_connection = True


def close_connection(handler: Handler, body: Any) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True


def answer_slowly(handler: Handler, body: Any) -> None:
    """Send a byte of a header now and then."""
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(600):
            handler.wfile.write(b"a")
            handler.wfile.flush()
            if handler.state.is_closed.wait(0.05):
                break
        else:
            handler.state.has_stopped_answering = True
    except OSError:
        pass
    handler.close_connection = True


def endless_answer(head: bytes, piece: bytes) -> Reply:
    """Send a beginning of an answer, and then 100 MB in pieces."""

    def reply(handler: Handler, body: Any) -> None:
        try:
            handler.wfile.write(head)
            for _ in range(100_000_000 // len(piece)):
                handler.wfile.write(piece)
        except OSError:
            pass
        handler.close_connection = True

    return reply


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
too_large = endless_answer(CHUNKED, b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def delayed(seconds: float, reply: Reply) -> Reply:
    """Answer after some seconds."""

    def late(handler: Handler, body: Any) -> None:
        time.sleep(seconds)
        reply(handler, body)

    return late
