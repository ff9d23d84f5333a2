"""Tests of the guide's example package: it is installed as its pyproject.toml says, and used by the real command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from excerpt.vault.known_vaults import DEMO

pytestmark = pytest.mark.programs

PARTS = Path(__file__).parents[2] / "docs/examples/parts"
QUERY = "what came from the west with the light of the keeper on the stairs"
CAPTIONS = """1
00:00:05,000 --> 00:00:08,000
The lighthouse keeper climbs the stairs.

2
00:01:20,000 --> 00:01:24,000
A storm is coming from the west.
"""


def install(parts: Path, packages: Path, *further_readers: str) -> None:
    """Put a package into a folder as pip does, with the entry points of its pyproject.toml."""
    project = tomllib.loads((parts / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in points.items()))
    ]
    lines[1:1] = further_readers  # the first group is that of readers
    shutil.copytree(parts / "example_parts", packages / "example_parts")
    information = packages / f"example_parts-{project['version']}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    (information / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed package, one more reader that cannot be loaded, and a vault.

    The first command indexes the vault for all tests.
    """
    folder = tmp_path_factory.mktemp("parts")
    install(PARTS, folder / "packages", "odd = not_there:Reader")
    vault = folder / "vault"
    vault.mkdir()
    (vault / "film.srt").write_text(CAPTIONS)
    (vault / "empty.srt").write_text("")
    (vault / "some.odd").write_text("odd")
    (vault / "note.md").write_text("# Note\n\nThe film is ![[film.srt#t=00:01:20]].\n")
    return folder


def run(root: Path, *command: str) -> str:
    import_path = os.pathsep.join(filter(None, (str(root / "packages"), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": import_path, "EXCERPT_HOME": str(root / "home")}
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=True, timeout=360
    ).stdout


def excerpt(root: Path, *words: str) -> str:
    return run(root, "-m", "excerpt", *words, "--vault", str(root / "vault"))


def test_the_guide_shows_each_file_of_the_example_package() -> None:
    page = (DEMO / "Parts of your own.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", page, re.M | re.S))
    names = {str(file.relative_to(PARTS)) for file in PARTS.rglob("*.*") if "__pycache__" not in file.parts}
    assert set(shown) == names - {"example_parts/__init__.py"}
    for name, text in shown.items():
        assert text == (PARTS / name).read_text(encoding="utf-8")


def test_a_reader_is_found_by_its_entry_point_and_its_locations_are_in_hits(installed: Path) -> None:
    assert "film.srt#t=00:01:20 · srt" in excerpt(installed, "search", "a storm from the west kind:srt")


def test_the_error_names_a_plugin_reader_that_fails_or_is_missing(installed: Path) -> None:
    status = excerpt(installed, "status")
    assert "empty.srt: There are no captions in it." in status
    assert "some.odd: The reader for .odd files, not_there:Reader, cannot be loaded" in status
    assert "attached   1 srt" in status


def test_an_embed_of_a_file_with_a_plugin_reader_is_a_link(installed: Path) -> None:
    assert "film.srt" in excerpt(installed, "search", "from:note kind:srt")


def test_a_plugin_package_can_add_a_pack_format_by_a_template(installed: Path) -> None:
    template = str(installed / "packages" / "example_parts" / "quotes.j2")
    pack = excerpt(installed, "pack", "a storm from the west kind:srt", "--template", template)
    quoted = "> The lighthouse keeper climbs the stairs.\n> \n> A storm is coming from the west.\n> -- film.srt"
    assert quoted in pack


def test_a_reranker_of_a_plugin_package_scores_hits(tmp_path: Path) -> None:
    install(PARTS, tmp_path / "packages")
    notes = {
        "apart.md": "west "
        + "the keeper of a lighthouse writes down what he sees on the sea " * 3
        + "storm storm west",
        "close.md": "the keeper writes down what he sees. A storm came from the west over the sea, and the light went.",
    }
    (tmp_path / "vault").mkdir()
    for name, text in notes.items():
        (tmp_path / "vault" / name).write_text(f"{text}\n")
    settings = tmp_path / "home" / "config" / "excerpt.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[rerank]\nmodel = "plugin:together"\nweight = 1.0\n')

    def hits(option: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(excerpt(tmp_path, "search", QUERY, option, "--json"))["hits"]
        return found

    assert any("rerank" in hit["signals"] for hit in hits("--rerank"))
    assert not any("rerank" in hit["signals"] for hit in hits("--no-rerank"))


OPEN = """
from excerpt.encoders.choice import open_embedder, open_reranker
from excerpt.base.settings import EmbeddingSettings, RerankSettings, Settings

settings = Settings(embedding=EmbeddingSettings("plugin:letters"), rerank=RerankSettings("plugin:together"))
embedder, reranker = open_embedder(settings), open_reranker(settings)
passages = ["the archaeology of harbours", "a storm is coming from the west"]
print((embedder.embed_passages(passages) @ embedder.embed_query("archeology")).argmax())
print(reranker.score("west storm", passages, 1))
"""


@pytest.mark.programs
def test_a_plugin_embedder_and_a_plugin_reranker_are_opened_by_name(installed: Path) -> None:
    assert run(installed, "-c", OPEN) == "0\n[0.0, 2.0]\n"
