"""Tests of damaged index files: a reader gets an error or correct results, and the next build repairs them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from excerpt.base.errors import IndexUnusableError
from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings
from excerpt.index.build import build
from excerpt.index.catalog import CATALOG_FILE
from excerpt.index.files import SUSPECT_FILE
from excerpt.index.snapshot import Snapshot
from excerpt.index.writer import LOCK_FILE
from tests.index.conftest import WriteNote
from tests.index.content import content

NOTES = {
    "Tea.md": "# Tea\n\nBrew the leaf in a warm kettle.\n\n## Sugar\n\nOne cup, no sugar.\n",
    "garden/Roses.md": "# Roses\n\nPrune each rose in winter.\n\n```\nprune(rose)\n```\n",
    "garden/Soil.md": "# Soil\n\nCompost and water.\n",
}


@pytest.fixture
def built_index(vault: Path, index: Path, settings: Settings, write: WriteNote) -> Path:
    """Build an index of a few notes with three generations."""
    for path, text in NOTES.items():
        write(path, text)
        build(vault, index, settings)
    return index


def truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def random_bytes(data: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in data)


def damage_file(file: Path, how: Callable[[bytes], bytes]) -> None:
    file.write_bytes(how(file.read_bytes()))


HOW = pytest.mark.parametrize("how", [truncate, random_bytes, lambda data: b""], ids=["cut", "garbage", "emptied"])


@HOW
@pytest.mark.parametrize("pattern", ["words/*.toc", "words/*.lex", "words/*.pst", "words/*.npy", "vectors-*"])
def test_a_damaged_derived_file_is_rebuilt_from_the_catalog(
    built_index: Path, vault: Path, settings: Settings, pattern: str, how: Callable[[bytes], bytes]
) -> None:
    before = content(built_index, settings)
    for file in built_index.glob(pattern):
        damage_file(file, how)
    with pytest.raises(IndexUnusableError):
        content(built_index, settings)
    report = build(vault, built_index, settings)
    assert ("lexical index" if pattern.startswith("words") else "vectors") in report.rebuilt
    assert "from the catalog" in report.rebuilt
    assert (report.added, report.changed, report.embedded) == (0, 0, 0)
    assert content(built_index, settings) == before
    assert build(vault, built_index, settings).rebuilt == ""


@HOW
def test_a_damaged_catalog_is_rebuilt_from_the_vault(
    built_index: Path, vault: Path, settings: Settings, how: Callable[[bytes], bytes]
) -> None:
    before, generation = content(built_index, settings), Snapshot.current_generation(built_index)
    damage_file(built_index / CATALOG_FILE, how)
    with pytest.raises(IndexUnusableError):
        content(built_index, settings)
    report = build(vault, built_index, settings)
    assert report.added == len(NOTES)
    assert report.generation > generation
    assert content(built_index, settings) == before


def test_a_catalog_with_a_damaged_page_is_rebuilt_after_a_reader_reported_it(
    built_index: Path, vault: Path, settings: Settings
) -> None:
    before = content(built_index, settings)
    data = (built_index / CATALOG_FILE).read_bytes()
    # Damage every page but the first, which holds the schema: the file opens, its tables do not.
    (built_index / CATALOG_FILE).write_bytes(data[:4096] + random_bytes(data[4096:]))
    with pytest.raises(IndexUnusableError):
        content(built_index, settings)
    assert "from the vault" in build(vault, built_index, settings).rebuilt
    assert content(built_index, settings) == before


@pytest.fixture(scope="module")
def index_template(tmp_path_factory: pytest.TempPathFactory, models: tuple[Path, Path]) -> Path:
    """Build an index of three generations, to be copied; return the folder of vault and index."""
    folder = tmp_path_factory.mktemp("kept")
    settings = Settings(embedding=EmbeddingSettings(str(models[0])), pack=PackSettings(tokenizer="chars/4"))
    for path, text in NOTES.items():
        file = folder / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        build(folder / "vault", folder / "index", settings)
    return folder


def change_file(file: Path, how: str) -> None:
    data = file.read_bytes() if file.is_file() else b""
    if file.is_dir():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
    at = 0 if file.name == CATALOG_FILE else len(data) // 2  # SQLite has no checksum: damage the catalog's start
    match how:
        case "longer":
            file.write_bytes(data + b"more" * 100)
        case "cut":
            file.write_bytes(data[: len(data) // 2])
        case "flipped":
            file.write_bytes(data[:at] + bytes(byte ^ 0xFF for byte in data[at : at + 1]) + data[at + 1 :])
        case "emptied" | "a file":
            file.touch()
        case "a folder":
            (file / "in it").mkdir(parents=True)


@pytest.mark.programs
@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        (pattern, how)
        for pattern in (
            CATALOG_FILE,
            "vectors-*",
            "words/*.toc",
            "words/*.lex",
            "words/*.pst",
            "words/*.npy",
            LOCK_FILE,
        )
        for how in ("longer", "cut", "flipped", "emptied", "gone", "a folder")
    ]
    + [(name, "a folder") for name in (f"{CATALOG_FILE}-wal", f"{CATALOG_FILE}-shm", SUSPECT_FILE)]
    + [(name, how) for name in ("words", "anew") for how in ("a file", "gone")]
    + [("", "gone")],
)
def test_a_reader_answers_correctly_or_reports_damage_that_the_next_build_repairs(
    index_template: Path, index: Path, settings: Settings, pattern: str, how: str
) -> None:
    shutil.copytree(index_template / "index", index)
    before = content(index, settings)
    change_file(max(index.glob(pattern), default=index / pattern) if pattern else index, how)
    with suppress(IndexUnusableError):
        assert content(index, settings) == before
    build(index_template / "vault", index, settings)
    assert content(index, settings) == before
    assert build(index_template / "vault", index, settings).rebuilt == ""


@pytest.mark.parametrize("name", ["", ".."], ids=["of the index", "above it"])
def test_a_file_in_place_of_the_index_folder_is_reported_and_kept(
    vault: Path, index: Path, settings: Settings, name: str
) -> None:
    file = (index / name).resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("not of excerpt")
    with pytest.raises(IndexUnusableError, match="There is no index yet"):
        Snapshot.open(index, settings)
    with pytest.raises(IndexUnusableError, match="a file has the name of the index folder"):
        build(vault, index, settings)
    assert file.read_text() == "not of excerpt"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE note_texts SET text = x'00' WHERE note = 1",
        "UPDATE fragments SET text = CAST(x'FF' AS TEXT) WHERE key = 1",
        "UPDATE sections SET heading_path = '[' WHERE note = 1",
        "UPDATE fragments SET section = 99 WHERE key = 1",
    ],
    ids=["a text that cannot be unpacked", "no UTF-8", "no heading path", "a fragment of no section"],
)
def test_an_altered_row_that_sqlite_accepts_is_rebuilt_after_a_reader_reported_it(
    built_index: Path, vault: Path, settings: Settings, statement: str
) -> None:
    before = content(built_index, settings)
    with closing(sqlite3.connect(built_index / CATALOG_FILE)) as connection, connection:
        assert connection.execute(statement).rowcount
    with pytest.raises(IndexUnusableError, match="cannot be read: a row of the catalog is damaged"):
        content(built_index, settings)
    assert "from the vault" in build(vault, built_index, settings).rebuilt
    assert content(built_index, settings) == before


def test_a_false_report_about_a_sound_catalog_rebuilds_nothing(
    built_index: Path, vault: Path, settings: Settings
) -> None:
    (built_index / SUSPECT_FILE).touch()
    report = build(vault, built_index, settings)
    assert (report.rebuilt, report.added) == ("", 0)
    assert not (built_index / SUSPECT_FILE).exists()


def test_a_catalog_of_another_version_is_rebuilt(built_index: Path, vault: Path, settings: Settings) -> None:
    connection = sqlite3.connect(built_index / CATALOG_FILE)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(IndexUnusableError):
        Snapshot.open(built_index, settings)
    assert "schema version 999" in build(vault, built_index, settings).rebuilt
    assert Snapshot.open(built_index, settings).status().notes == len(NOTES)


def test_a_fragment_that_the_catalog_lost_is_read_from_the_vault_again(
    built_index: Path, vault: Path, settings: Settings
) -> None:
    before = content(built_index, settings)
    connection = sqlite3.connect(built_index / CATALOG_FILE)
    connection.execute("DELETE FROM fragments WHERE ordinal = 1")
    connection.commit()
    connection.close()
    assert "everything from the vault" in build(vault, built_index, settings).rebuilt
    assert content(built_index, settings) == before


def test_a_missing_index_raises_one_clear_error(index: Path, settings: Settings) -> None:
    with pytest.raises(IndexUnusableError, match="There is no index yet"):
        Snapshot.open(index, settings)
    assert Snapshot.current_generation(index) == 0


def test_files_of_a_killed_build_are_removed(
    built_index: Path, vault: Path, settings: Settings, write: WriteNote
) -> None:
    before = content(built_index, settings)
    left = [built_index / name for name in ("words/words_leftover.pst", "words/_words_99.toc", "vectors-99")]
    for file in left:
        file.write_bytes(b"half")
    assert content(built_index, settings) == before
    build(vault, built_index, settings)
    assert not any(file.exists() for file in left)
    assert content(built_index, settings) == before


def test_files_of_a_killed_repair_do_not_block_the_next(built_index: Path, vault: Path, settings: Settings) -> None:
    before = content(built_index, settings)
    damage_file(next(built_index.glob("words/*.lex")), random_bytes)
    following = Snapshot.current_generation(built_index) + 1
    (built_index / "words" / f"_words_{following}.toc").write_bytes(b"half")
    (built_index / f"vectors-{following}").write_bytes(b"half")
    assert "lexical index" in build(vault, built_index, settings).rebuilt
    assert content(built_index, settings) == before


@pytest.mark.programs
def test_old_generations_leave_no_files(built_index: Path, vault: Path, settings: Settings, write: WriteNote) -> None:
    def names() -> int:
        return sum(1 for _ in built_index.glob("**/*"))

    counts = []
    for number in range(30):
        write("Tea.md", f"# Tea\n\nBrew number {number}.\n")
        build(vault, built_index, settings)
        counts.append(names())
    # Two generations remain; segments are merged and the matrix is rewritten now and then.
    assert max(counts) < 100


KILLED = """
import os, signal, sys
from pathlib import Path
from excerpt.index.build import build
from excerpt.encoders.static_model import open_embedder
from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings

vault, index, model = sys.argv[1:]
# All that puts something on disk, from the first derived file of a commit on. (A generator's going on is a call too:
# the one of `transaction` is the COMMIT.)
STEPS = {"sync_and_record", "sync_folder", "_append", "set_files", "transaction", "remove_other_files"}
step = committing = 0

def count(frame, event, _):
    global step, committing
    code = frame.f_code
    if event == "call" and "excerpt/index/" in code.co_filename:
        committing = committing or code.co_name == "_write_generation"
        step += committing and code.co_name in STEPS
        if step and step == int(last):
            os.kill(os.getpid(), signal.SIGKILL)

settings = Settings(embedding=EmbeddingSettings(model), pack=PackSettings(tokenizer="chars/4"))
open_embedder(model)  # each build has what takes long to load
# A build interrupts itself at a file that takes a second; raised within `count`, that would end the counting.
signal.signal(signal.SIGALRM, lambda *_: None)
for last in sys.stdin:
    if not (child := os.fork()):
        sys.setprofile(count)
        build(Path(vault), Path(index), settings)
        sys.setprofile(None)
        print(step, flush=True)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        print("killed", flush=True)
"""


@pytest.mark.programs
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_commit_killed_at_any_step_keeps_the_last_generation_and_the_next_build_completes(
    built_index: Path, vault: Path, settings: Settings, write: WriteNote
) -> None:
    command = [sys.executable, "-c", KILLED, str(vault), str(built_index), settings.embedding.model]
    builder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def build_until(step: int) -> str:
        """Build in another process; return the number of steps, or that it was killed."""
        assert builder.stdin is not None
        assert builder.stdout is not None
        builder.stdin.write(f"{step}\n")
        builder.stdin.flush()
        return builder.stdout.readline().strip()

    def update(number: int) -> None:
        write("Tea.md", f"# Tea\n\nBrew number {number}.\n")
        (vault / "garden" / f"new {number - 1}.md").unlink(missing_ok=True)
        write(f"garden/new {number}.md", NOTES["Tea.md"])

    with builder:
        update(0)
        steps = int(build_until(0))
        assert steps > 8
        for step in range(1, steps + 1):
            update(step)
            before = content(built_index, settings)
            assert build_until(step) == "killed"
            left = content(built_index, settings)
            build(vault, built_index, settings)
            after = content(built_index, settings)
            assert left in (before, after)
            clean = built_index.parent / f"clean {step}"
            build(vault, clean, settings)
            assert after == content(clean, settings)


SEARCHER = """
import os, sys
from pathlib import Path
from excerpt.base.errors import IndexUnusableError
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings

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
def grown_index(tmp_path_factory: pytest.TempPathFactory, models: tuple[Path, Path]) -> tuple[Path, Path, Path]:
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


@pytest.mark.programs
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
def test_a_file_truncated_while_it_is_read_is_an_error_and_not_a_crash(
    grown_index: tuple[Path, Path, Path], tmp_path: Path, pattern: str, size: int, first: str
) -> None:
    folder, index, model = grown_index
    vault = shutil.copytree(folder, tmp_path / "vault")
    shutil.copytree(index, tmp_path / "index")
    arguments = [vault, tmp_path / "index", model, first, pattern, size]
    command = [sys.executable, "-c", SEARCHER, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said, after = done.stdout.splitlines()
    assert said == "answered" or "Run `excerpt index`" in said
    assert after == "24 "
