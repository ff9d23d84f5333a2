"""Tests of embedders and rerankers on a server, also on one that misbehaves."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from excerpt.base.errors import ModelError, ModelUnreachableError
from excerpt.base.settings import EmbeddingSettings, Paths, RerankSettings, Settings
from excerpt.encoders import model_server
from excerpt.encoders.choice import open_embedder, open_reranker
from excerpt.encoders.interface import PassageEmbedder, Reranker
from excerpt.encoders.model_names import is_static_model, remote_address
from tests.encoders import server as replies
from tests.encoders.server import Handler, ModelTestServer, Reply, count_letters, running_server


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "config", tmp_path / "cache", tmp_path / "data", tmp_path / "state")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelTestServer]:
    monkeypatch.setattr(model_server, "RETRY_WAITS", (0.01, 0.02))
    with running_server(replies.embeddings) as running:
        yield running


def embedder_at(server: ModelTestServer, paths: Paths, model: str = "letters", remote: bool = False) -> PassageEmbedder:
    settings = EmbeddingSettings(model=f"openai:{server.url}/v1#{model}", remote=remote)
    return open_embedder(Settings(embedding=settings), paths=paths)


def reranker_at(server: ModelTestServer, paths: Paths, model: str = "") -> Reranker:
    settings = Settings(rerank=RerankSettings(model=f"{server.url}/rerank{model}"))
    reranker = open_reranker(settings, paths=paths)
    assert reranker is not None
    return reranker


# --- embeddings -------------------------------------------------------------------------------------------------------


def test_vectors_have_length_1_and_are_in_the_order_of_the_texts(server: ModelTestServer, paths: Paths) -> None:
    embedder = embedder_at(server, paths)
    vectors = embedder.embed_passages(["storm", "sync"])
    expected = np.array([count_letters("storm"), count_letters("sync")])
    assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), rel=1e-6)
    assert embedder.embed_query("storm") == pytest.approx(vectors[0])
    assert (embedder.dimensions, embedder.languages) == (26, ("en",))


def test_a_request_has_the_model_and_the_texts(server: ModelTestServer, paths: Paths) -> None:
    embedder_at(server, paths, "org/letters:v1").embed_passages(["storm", ""])
    assert server.requests[-1].path == "/v1/embeddings"
    assert server.requests[-1].body == {"model": "org/letters:v1", "input": ["storm", " "]}


def test_many_passages_are_sent_in_several_requests(server: ModelTestServer, paths: Paths) -> None:
    embedder = embedder_at(server, paths)
    vectors = embedder.embed_passages(["a" * number for number in range(70)])
    assert [len(request.body["input"]) for request in server.requests[1:]] == [32, 32, 6]
    assert vectors.shape == (70, 26)
    assert embedder.embed_passages([]).shape == (0, 26)


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
        ("bge-m3", "", ""),
        ("all-minilm", "", ""),
    ],
)
def test_a_known_model_gets_its_prompts(
    server: ModelTestServer, paths: Paths, model: str, query: str, passage: str
) -> None:
    embedder = embedder_at(server, paths, model)
    embedder.embed_query("storm")
    embedder.embed_passages(["storm"])
    assert [request.body["input"] for request in server.requests[-2:]] == [[f"{query}storm"], [f"{passage}storm"]]


@pytest.mark.parametrize(("model", "languages"), [("bge-m3", ("*",)), ("nomic-embed-text", ("en",))])
def test_the_languages_of_a_served_model_are_derived_from_its_name(
    server: ModelTestServer, paths: Paths, model: str, languages: tuple[str, ...]
) -> None:
    assert embedder_at(server, paths, model).languages == languages


def test_invalid_unicode_is_not_sent(server: ModelTestServer, paths: Paths) -> None:
    embedder_at(server, paths).embed_passages(["storm \udcff"])
    assert server.requests[-1].body["input"] == ["storm ?"]


# --- identity ---------------------------------------------------------------------------------------------------------


def test_the_id_ignores_the_address_and_small_differences_of_vectors(paths: Paths) -> None:
    noise = np.random.default_rng(1).normal(scale=0.02, size=26)

    def noisy(texts: Any) -> object:
        return [(np.array(count_letters(text)) + noise).tolist() for text in texts]

    with running_server(replies.embeddings) as first, running_server(replies.answer_vectors(noisy)) as second:
        one, two = embedder_at(first, paths), embedder_at(second, paths)
    assert one.id == two.id
    assert one.id.startswith("letters/26/")


def test_another_model_under_the_same_name_has_another_id(server: ModelTestServer, paths: Paths) -> None:
    first = embedder_at(server, paths)
    server.reply = replies.answer_vectors(lambda texts: [count_letters(text)[::-1] for text in texts])
    second = embedder_at(server, paths)
    server.reply = replies.embeddings
    assert first.id != second.id
    assert embedder_at(server, paths).id == first.id


def test_the_id_does_not_depend_on_the_cache_folder(server: ModelTestServer, paths: Paths, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    blocked = Paths(paths.config, tmp_path / "file", paths.data, paths.state)
    assert embedder_at(server, blocked).id == embedder_at(server, paths).id


# --- a server that misbehaves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        replies.status_answer(429),
        replies.status_answer(500),
        replies.status_answer(503, {}, {"Retry-After": "0"}),
        replies.close_connection,
    ],
    ids=["429", "500", "503", "drop"],
)
def test_a_busy_server_gets_the_passages_again(server: ModelTestServer, paths: Paths, reply: Reply) -> None:
    embedder = embedder_at(server, paths)
    server.replies = [reply, reply]
    assert embedder.embed_passages(["storm"]).shape == (1, 26)
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    "reply",
    [replies.status_answer(429), replies.status_answer(500), replies.close_connection],
    ids=["429", "500", "drop"],
)
def test_a_server_that_stays_busy_is_unreachable(server: ModelTestServer, paths: Paths, reply: Reply) -> None:
    embedder = embedder_at(server, paths)
    server.reply = reply
    with pytest.raises(ModelUnreachableError) as caught:
        embedder.embed_passages(["storm"])
    assert server.url in caught.value.message
    assert len(server.requests) == 4
    with pytest.raises(ModelUnreachableError):
        embedder.embed_query("storm")  # tried once: a user waits
    assert len(server.requests) == 5


def answer_vectors_of_other_dimensions(handler: Handler, body: Any) -> None:
    handler.send_json({"data": [{"index": 0, "embedding": [1.0] * 27}]})


WRONG: dict[str, tuple[Reply, str]] = {
    "dimensions": (answer_vectors_of_other_dimensions, "27 dimensions instead of 26"),
    "nan": (replies.answer_vectors(lambda texts: [[float("nan")] * 26 for _ in texts]), "not a number"),
    "infinite": (replies.answer_vectors(lambda texts: [[1e400] * 26 for _ in texts]), "not a number"),
    "too few": (replies.answer_vectors(lambda texts: []), "0 vectors|other than vectors"),
    "ragged": (replies.answer_vectors(lambda texts: [[1.0, [2.0]]]), "other than vectors"),
    "words": (replies.answer_vectors(lambda texts: [["a"] * 26]), "other than vectors"),
    "no index": (lambda handler, body: handler.send_json({"data": [{"index": 7, "embedding": [1.0] * 26}]}), "vectors"),
    "list": (lambda handler, body: handler.send_json([1, 2]), "vectors"),
    "html": (replies.raw_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"), "other than JSON"),
    "nested": (replies.raw_answer(b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000), "other than JSON"),
    "announced 100 MB": (replies.raw_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n"), "bytes"),
    "100 MB": (replies.too_large, "bytes"),
    "chunk of -1": (replies.endless_answer(replies.CHUNKED + b"-1\r\n", b" " * 0x10000), "bytes"),
    "100 MB of trailers": (replies.endless_answer(replies.CHUNKED + b"0\r\n", b"X-Filler: a\r\n" * 4096), "bytes"),
    "100 MB of continuations": (replies.endless_answer(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 4096), "bytes"),
    "refused": (
        replies.status_answer(404, {"error": {"message": "no\nsuch\x1b model"}}), r"404.*It says: no such model\.",
    ),
    "no key": (replies.status_answer(401), "key"),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "message"), WRONG.values(), ids=WRONG)
def test_an_invalid_answer_is_reported_in_one_sentence_at_once(
    server: ModelTestServer, paths: Paths, reply: Reply, message: str
) -> None:
    embedder = embedder_at(server, paths)
    server.reply = reply
    with pytest.raises(ModelError, match=message) as caught:
        embedder.embed_passages(["storm"])
    assert not isinstance(caught.value, ModelUnreachableError)
    assert caught.value.message.isprintable()
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "data",
    [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}", b"HTTP/1.1 200 OK\r\n" * 300],
    ids=["nothing", "no HTTP", "cut off", "headers"],
)
def test_an_answer_that_is_not_http_is_unreachable(server: ModelTestServer, paths: Paths, data: bytes) -> None:
    embedder = embedder_at(server, paths)
    server.reply = replies.raw_answer(data)
    with pytest.raises(ModelUnreachableError) as caught:
        embedder.embed_query("storm")
    assert "nonsense" not in str(caught.value)


@pytest.mark.parametrize("reply", [replies.never_answer, replies.answer_slowly], ids=["hang", "drip"])
def test_a_query_waits_no_longer_than_its_time_limit_even_if_bytes_arrive_slowly(
    server: ModelTestServer, paths: Paths, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> None:
    embedder = embedder_at(server, paths)
    monkeypatch.setattr(model_server, "QUERY_SECONDS", 0.3)
    server.reply = reply
    with pytest.raises(ModelUnreachableError, match=r"within 0\.3 s"):
        embedder.embed_query("storm")
    assert not server.has_stopped_answering


def test_a_server_that_is_not_running_is_unreachable(paths: Paths) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    settings = Settings(embedding=EmbeddingSettings(model=f"openai:http://127.0.0.1:{port}/v1#letters"))
    with pytest.raises(ModelUnreachableError, match="cannot be reached"):
        open_embedder(settings, paths=paths)


def refuse_long(handler: Handler, body: Any) -> None:
    """Answer as llama.cpp does to more than 1,000 letters in a text, and as TEI does to more than four texts."""
    if any(len(text) > 1000 for text in body["input"]):
        message = "input (600 tokens) is too large to process. increase the physical batch size"
        handler.send_json({"error": {"code": 500, "message": message}}, 500)
    elif len(body["input"]) > 4:
        handler.send_json({"error": "batch size 8 > maximum allowed batch size 4"}, 422)
    else:
        replies.embeddings(handler, body)


def test_texts_refused_as_too_long_or_too_many_are_truncated_and_divided(server: ModelTestServer, paths: Paths) -> None:
    embedder = embedder_at(server, paths)
    server.reply = refuse_long
    texts = ["a" * 900, "b" * 3000, *"cdefgh"]
    vectors = embedder.embed_passages(texts)
    expected = np.array([count_letters(text) for text in ("a" * 900, "b" * 750, *"cdefgh")])
    assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), rel=1e-5)


def test_a_server_that_refuses_texts_of_any_length_is_an_error_after_few_requests(
    server: ModelTestServer, paths: Paths
) -> None:
    embedder = embedder_at(server, paths)
    server.reply = replies.status_answer(413)
    with pytest.raises(ModelError, match="too long"):
        embedder.embed_passages(["storm " * 500] * 32)
    assert len(server.requests) < 20


# --- where requests go ------------------------------------------------------------------------------------------------


def test_a_redirect_is_not_followed(server: ModelTestServer, paths: Paths) -> None:
    embedder = embedder_at(server, paths)
    with running_server(replies.embeddings) as other:
        for code in (301, 302, 307, 308):
            server.reply = replies.status_answer(code, {}, {"Location": f"{other.url}/v1/embeddings"})
            with pytest.raises(ModelError, match="another address, which is not followed"):
                embedder.embed_query("storm")
        assert other.requests == []


def test_a_proxy_is_not_used(server: ModelTestServer, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_server(replies.embeddings) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        embedder_at(server, paths).embed_query("storm")
        assert proxy.requests == []


class Names:
    """A name server that gives these addresses, one after the other, and counts how often it is asked."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked = 0

    def __call__(self, host: str, port: int, **_: object) -> list[tuple[Any, ...]]:
        address = self.addresses[min(self.asked, len(self.addresses) - 1)]
        self.asked += 1
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]


def test_another_machine_is_not_contacted_unless_the_setting_allows_it(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: object) -> None:
        pytest.fail("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", connect)
    for address in ("192.0.2.7", "10.0.0.1", "0.0.0.0", "2001:db8::1", "::ffff:192.0.2.7", "fe80::1%lo"):
        monkeypatch.setattr(socket, "getaddrinfo", Names(address))
        settings = Settings(
            embedding=EmbeddingSettings(model="openai:http://models.example/v1#m"),
            rerank=RerankSettings(model="http://models.example/rerank"),
        )
        with pytest.raises(ModelError, match="not on this machine") as caught:
            open_embedder(settings, paths=paths)
        assert "embedding.remote = true" in caught.value.hint
        reranker = open_reranker(settings, paths=paths)
        assert reranker is not None
        with pytest.raises(ModelError, match="not on this machine"):
            reranker.score("storm", ["west"], 1)


def test_a_name_is_resolved_once_per_request(
    server: ModelTestServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Names("127.0.0.1", "192.0.2.7")
    monkeypatch.setattr(socket, "getaddrinfo", names)
    model = f"openai:http://rebinding.example:{server.port}/v1#letters"
    embedder = open_embedder(Settings(embedding=EmbeddingSettings(model=model)), paths=paths)
    assert names.asked == 1
    with pytest.raises(ModelError, match="not on this machine"):
        embedder.embed_query("storm")
    assert len(server.requests) == 1
    assert server.requests[0].headers["Host"] == f"rebinding.example:{server.port}"


def test_another_machine_is_contacted_if_the_setting_allows_it(
    server: ModelTestServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[object] = []

    def connect(_: socket.socket, target: object) -> None:
        connected.append(target)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "getaddrinfo", Names("192.0.2.7"))
    monkeypatch.setattr(socket.socket, "connect", connect)
    settings = EmbeddingSettings(model="openai:http://models.example:8000/v1#m", remote=True)
    with pytest.raises(ModelUnreachableError, match="Connection refused"):
        open_embedder(Settings(embedding=settings), paths=paths)
    assert connected == [("192.0.2.7", 8000)]


def test_localhost_is_not_resolved_by_a_name_server(
    server: ModelTestServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Names("192.0.2.7")
    monkeypatch.setattr(socket, "getaddrinfo", names)
    model = f"openai:http://localhost:{server.port}/v1#letters"
    open_embedder(Settings(embedding=EmbeddingSettings(model=model)), paths=paths)
    assert (names.asked, len(server.requests)) == (0, 1)


@pytest.mark.needs("openssl")
def test_a_certificate_is_verified(paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "certificate.pem"
    options = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=models", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", *options, *names, "-keyout", str(file), "-out", str(tmp_path / "certificate")]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(file.read_text() + (tmp_path / "certificate").read_text())
    with running_server(replies.embeddings, file) as server:
        with pytest.raises(ModelError, match=r"certificate of .* cannot be verified"):
            embedder_at(server, paths)
        assert server.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
        assert embedder_at(server, paths).dimensions == 26


@pytest.mark.parametrize(
    "address",
    ["openai:", "openai:127.0.0.1:80", "openai:ftp://127.0.0.1/v1", "openai:http://127.0.0.1:99999/v1#m",
     "openai:http:///v1", "openai:http://127.0.0.1/a b", "openai:http://127.0.0.1/a\r\nX: y", "openai:http://[::1/v1"],
)  # fmt: skip
def test_an_invalid_address_is_an_error(paths: Paths, address: str) -> None:
    assert not is_static_model(address)
    with pytest.raises(ModelError, match="not valid"):
        open_embedder(Settings(embedding=EmbeddingSettings(model=address)), paths=paths)


def test_an_address_with_a_password_is_refused_without_showing_it(paths: Paths) -> None:
    settings = Settings(embedding=EmbeddingSettings(model="openai:http://me:secret@127.0.0.1/v1#m"))
    with pytest.raises(ModelError, match="password") as caught:
        open_embedder(settings, paths=paths)
    assert "secret" not in str(caught.value)


def test_an_address_on_another_machine_is_recognised_by_its_spelling() -> None:
    assert remote_address("openai:https://api.example.com/v1?version=2#m") == "https://api.example.com:443/v1"
    assert remote_address("http://10.0.0.1:8080/rerank") == "http://10.0.0.1:8080/rerank"
    for model in ("", "plugin:mine", "/models/bge", "openai:http://localhost:1/v1#m", "http://[::1]:2/rerank"):
        assert remote_address(model) == ""


# --- keys -------------------------------------------------------------------------------------------------------------


def test_a_key_in_the_environment_is_sent_only_to_the_server_in_the_settings(
    server: ModelTestServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_EMBEDDING_KEY", "sk-embedding")
    server.reply = replies.status_answer(400)
    with pytest.raises(ModelError):
        embedder_at(server, paths)
    with pytest.raises(ModelError):
        reranker_at(server, paths).score("storm", ["west"], 5)
    keys = [request.headers.get("Authorization") for request in server.requests]
    assert keys == ["Bearer sk-embedding", None, None]


def write_keys(paths: Paths, text: str, mode: int = 0o600) -> None:
    paths.config.mkdir()
    paths.keys_file.write_text(text, encoding="utf-8")
    paths.keys_file.chmod(mode)


def test_a_key_in_the_key_file_is_sent_only_to_the_host_that_it_is_for(server: ModelTestServer, paths: Paths) -> None:
    write_keys(paths, f'"127.0.0.1:{server.port}" = "sk-mine"\n"api.example.com" = "sk-other"\n')
    embedder_at(server, paths)
    assert server.requests[0].headers["Authorization"] == "Bearer sk-mine"
    with running_server(replies.embeddings) as other:
        embedder_at(other, paths)
        assert "Authorization" not in other.requests[0].headers


def test_a_key_of_a_host_is_sent_to_each_of_its_ports(server: ModelTestServer, paths: Paths) -> None:
    write_keys(paths, '"127.0.0.1" = "sk-mine"\n')
    embedder_at(server, paths)
    assert server.requests[0].headers["Authorization"] == "Bearer sk-mine"


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ('"127.0.0.1" = "sk-secret"\n', 0o640, "other users may read"),
        ('"127.0.0.1" = "sk-secret\n', 0o600, "cannot be read"),
        ('"127.0.0.1" = "sk-secret\\r\\nX-Evil: 1"\n', 0o600, "character that cannot be sent"),
        ('"127.0.0.1" = ["sk-secret"]\n', 0o600, "character that cannot be sent"),
    ],
)
def test_an_unusable_key_file_is_named_without_showing_keys(
    server: ModelTestServer, paths: Paths, text: str, mode: int, message: str
) -> None:
    write_keys(paths, text, mode)
    with pytest.raises(ModelError, match=message) as caught:
        embedder_at(server, paths)
    assert "keys.toml" in caught.value.message
    assert "secret" not in str(caught.value)
    assert server.requests == []


def test_no_error_or_representation_shows_the_key(
    server: ModelTestServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_EMBEDDING_KEY", "sk-secret")
    embedder: Any = embedder_at(server, paths)
    assert "sk-secret" not in repr(vars(embedder)) + repr(vars(embedder._server))
    server.reply = replies.status_answer(400, {"error": {"message": "wrong key sk-secret given"}})
    with pytest.raises(ModelError) as caught:
        embedder.embed_query("storm")
    assert "It says: wrong key … given." in caught.value.message
    assert not any("sk-secret" in json.dumps(request.body) for request in server.requests)


# --- rerankers --------------------------------------------------------------------------------------------------------


def answer_as_jina(handler: Handler, body: Any) -> None:
    """Answer as Jina, Cohere, llama.cpp and vLLM do: the best passage first, scored by its length."""
    rows = [{"index": index, "relevance_score": len(text) / 10} for index, text in enumerate(body["documents"])]
    handler.send_json({"results": sorted(rows, key=lambda row: -row["relevance_score"])})


def answer_as_tei(handler: Handler, body: Any) -> None:
    """Answer as TEI does: a list, and 422 for a request without `texts`."""
    if "texts" not in body:
        handler.send_json({"error": "missing field `texts`", "error_type": "Validation"}, 422)
    else:
        handler.send_json([{"index": index, "score": len(text) / 10} for index, text in enumerate(body["texts"])][::-1])


@pytest.mark.parametrize("reply", [answer_as_jina, answer_as_tei])
def test_scores_are_in_the_order_of_the_passages_in_either_format(
    server: ModelTestServer, paths: Paths, reply: Reply
) -> None:
    server.reply = reply
    reranker = reranker_at(server, paths, "#bge-reranker")
    assert reranker.score("storm", ["west", "sync conflict", "a"], 5) == pytest.approx([0.4, 1.3, 0.1])
    assert server.requests[0].path == "/rerank"
    assert server.requests[0].body == {
        "model": "bge-reranker",
        "query": "storm",
        "documents": ["west", "sync conflict", "a"],
        "top_n": 3,
    }


def test_the_format_that_a_server_understands_is_remembered(server: ModelTestServer, paths: Paths) -> None:
    server.reply = answer_as_tei
    reranker = reranker_at(server, paths)
    reranker.score("storm", ["west"], 5)
    reranker.score("storm", ["west"], 5)
    assert [sorted(request.body) for request in server.requests] == [
        ["documents", "query", "top_n"],
        ["query", "texts", "truncate"],
        ["query", "texts", "truncate"],
    ]


def test_no_request_is_sent_without_passages(server: ModelTestServer, paths: Paths) -> None:
    assert reranker_at(server, paths).score("storm", [], 5) == []
    assert server.requests == []


def scores_of(*scores: object) -> Reply:
    rows = [{"index": index, "score": score} for index, score in enumerate(scores)]
    return lambda handler, body: handler.send_json({"results": rows})


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (scores_of(1), "1 score for 2"),
        (scores_of(1, "?"), "other than scores"),
        (scores_of(1, float("nan")), "not a number"),
        (replies.status_answer(500), "status 500"),
        (replies.status_answer(404), "status 404"),
        (replies.too_large, "bytes"),
        (replies.never_answer, r"within 0\.5 s"),
    ],
    ids=["too few", "word", "nan", "500", "404", "100 MB", "hang"],
)  # fmt: skip
def test_an_invalid_answer_to_a_rerank_request_is_reported_in_one_sentence(
    server: ModelTestServer, paths: Paths, reply: Reply, message: str
) -> None:
    server.reply = reply
    with pytest.raises(ModelError, match=message):
        reranker_at(server, paths).score("storm", ["west", "sync"], 0.5)
