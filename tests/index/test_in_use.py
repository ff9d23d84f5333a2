"""Tests of index files damaged while in use.

The process survives, reports the error, and works again after the next build.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from excerpt.index.build import build
from excerpt.index.catalog import CATALOG_FILE
from excerpt.settings import EmbeddingSettings, PackSettings, Settings

pytestmark = pytest.mark.programs

SEARCHER = """
import os, sys
from pathlib import Path
from excerpt.errors import IndexUnusableError
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.settings import EmbeddingSettings, PackSettings, Settings

vault, index, model, first, pattern, size = sys.argv[1:]
vault, index = Path(vault), Path(index)
settings = Settings(embedding=EmbeddingSettings(model), pack=PackSettings(tokenizer="chars/4"))
# One that is open keeps the log, so that what the next reads is in it.
holder = Snapshot.open(index, settings)
(vault / "Note 1.md").write_text("# Rose\\n\\nPrune.\\n\\n## Soil\\n\\nCompost.\\n", "utf-8")
build(vault, index, settings)
snapshot = Snapshot.open(index, settings)

def read():
    keys = snapshot.lexical.keys.tolist()
    terms = sorted({term for field in ("text", "heading") for term in snapshot.lexical.lexicon(field)})
    rows = [snapshot.lexical.entries(term).rows.tolist() for term in terms]
    return [one.text for one in snapshot.fragments(keys)], rows, len(snapshot.vectors.keys)

if first == "read":
    read()
files = list(index.glob(pattern))
assert files
for file in files:
    os.truncate(file, int(size))
try:
    read()
    print("answered")
except IndexUnusableError as error:
    print(error)
assert Snapshot.current_generation(index) >= 0
build(vault, index, settings)
snapshot = Snapshot.open(index, settings, before=snapshot)
print(len(read()[0]), build(vault, index, settings).rebuilt)
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, models: tuple[Path, Path]) -> tuple[Path, Path, Path]:
    """Build an index of several segments, to be copied; return the vault, the index and the model."""
    folder = tmp_path_factory.mktemp("grown")
    vault, index = folder / "vault", folder / "index"
    vault.mkdir()
    settings = Settings(embedding=EmbeddingSettings(str(models[0])), pack=PackSettings(tokenizer="chars/4"))
    for number in range(12):
        text = f"# Rose {number}\n\nPrune the rose {number}.\n\n## Soil\n\n{'Compost. ' * 200}\n"
        (vault / f"Note {number}.md").write_text(text, encoding="utf-8")
        if number % 4 == 3:
            build(vault, index, settings)
    return vault, index, models[0]


@pytest.mark.skipif(os.name == "nt", reason="the system cuts no file that is open")
@pytest.mark.parametrize("first", ["open", "read"])
@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("words/*", 10),
        ("words/*.pst", 0),
        ("words/*.lex", 0),
        ("vectors-*", 10),
        (CATALOG_FILE, 5000),
        (CATALOG_FILE, 0),
        (f"{CATALOG_FILE}-shm", 0),
        (f"{CATALOG_FILE}-shm", 10),
        (f"{CATALOG_FILE}-wal", 0),
    ],
)
def test_a_file_cut_short_while_it_is_read_is_an_error_and_not_the_end_of_the_process(
    grown: tuple[Path, Path, Path], tmp_path: Path, pattern: str, size: int, first: str
) -> None:
    folder, index, model = grown
    vault = shutil.copytree(folder, tmp_path / "vault")
    shutil.copytree(index, tmp_path / "index")
    arguments = [vault, tmp_path / "index", model, first, pattern, size]
    command = [sys.executable, "-c", SEARCHER, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said, after = done.stdout.splitlines()
    assert said == "answered" or "Run `excerpt index`" in said
    assert after == "24 "
