"""Tests of what a process opens while it uses a model: no socket for a folder, and for a server the configured one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.encoders import server as replies
from tests.encoders.models import write_cross_encoder, write_embedder
from tests.encoders.server import Handler, running_server

pytestmark = [pytest.mark.programs, pytest.mark.needs("strace")]

USE = """
import sys
from excerpt.encoders.choice import open_embedder, open_reranker
from excerpt.base.settings import EmbeddingSettings, RerankSettings, Settings

settings = Settings(embedding=EmbeddingSettings(sys.argv[1]), rerank=RerankSettings(sys.argv[2]))
embedder = open_embedder(settings)
embedder.embed_passages(["a storm from the west"] * 40)
embedder.embed_query("storm")
open_reranker(settings).score("storm", ["sync", "storm"], 5)
"""


def connections(tmp_path: Path, *arguments: str, **environment: str) -> set[str]:
    """Return what Python does with the network while it runs with these arguments: `connect(…)`, without data."""
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-qq", "-e", "trace=socket,connect,bind,sendto,sendmsg", "-o", str(trace)]
    subprocess.run(
        [*command, sys.executable, *arguments],
        env={**os.environ, "EXCERPT_HOME": str(tmp_path / "home"), **environment},
        check=True,
        timeout=360,
    )
    calls = re.findall(r"(?:connect|bind|sendto|sendmsg)\(\d+, \{sa_family=AF_INET.*?\}", trace.read_text())
    opened = re.findall(r"socket\((AF_(?!UNIX)\w+), (\w+)", trace.read_text())
    return {re.sub(r"\(\d+, ", "(", call) for call in calls} | {f"{family} {kind}" for family, kind in opened}


def test_models_in_folders_open_no_socket(tmp_path: Path) -> None:
    embedder, reranker = write_embedder(tmp_path / "embedder"), write_cross_encoder(tmp_path / "reranker")
    assert connections(tmp_path, "-c", USE, str(embedder), str(reranker)) == set()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_only_the_configured_servers_are_contacted(tmp_path: Path, host: str) -> None:
    def reply(handler: Handler, body: dict[str, list[str]]) -> None:
        if "documents" in body:
            handler.send_json({"results": [{"index": index, "relevance_score": 1} for index in (0, 1)]})
        else:
            replies.embeddings(handler, body)

    with running_server(reply) as server:
        url = f"http://{host}:{server.port}"
        models = f"openai:{url}/v1#letters", f"{url}/rerank"
        seen = connections(tmp_path, "-c", USE, *models, http_proxy="http://192.0.2.7:3128")
        assert seen == {
            "AF_INET SOCK_STREAM",
            f'connect({{sa_family=AF_INET, sin_port=htons({server.port}), sin_addr=inet_addr("127.0.0.1")}}',
        }
        assert len(server.requests) == 5  # the sample, twice passages, a query, a reranking


def test_commands_that_embed_and_search_contact_the_server_only(tmp_path: Path) -> None:
    vault, settings = tmp_path / "vault", tmp_path / "home/config/excerpt.toml"
    vault.mkdir()
    (vault / "Storm.md").write_text("A storm is coming from the west.\n")
    settings.parent.mkdir(parents=True)
    with running_server(replies.embeddings) as server:
        settings.write_text(f'[embedding]\nmodel = "openai:{server.url}/v1#letters"\n')
        for command in (["embedding", "--run"], ["search", "storm"]):
            assert connections(tmp_path, "-m", "excerpt", *command, "--vault", str(vault)) == {
                "AF_INET SOCK_STREAM",
                f'connect({{sa_family=AF_INET, sin_port=htons({server.port}), sin_addr=inet_addr("127.0.0.1")}}',
            }
