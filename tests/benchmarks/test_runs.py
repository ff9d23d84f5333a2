"""Run every script of `benchmarks/` on a small vault, so that a rename cannot break one unnoticed.

No module has this name, as it runs them all.
"""

from __future__ import annotations

import gc
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import benchmarks.__main__ as bench
import pytest
from benchmarks.judgements import Outside
from benchmarks.measure import Data
from textual.widgets import Input, TextArea

from benchmarks import (
    accents,
    agents,
    asked,
    citations,
    cited_sentences,
    confidence,
    cross_validation,
    demo,
    edits,
    embedders,
    fill,
    first_paint,
    indexing,
    insight,
    key_page,
    keys,
    learning,
    limits,
    line_server,
    list_promises,
    memories,
    memory,
    memory_bench,
    messy,
    million,
    minilm,
    one_command,
    packs,
    past_answers,
    prompts,
    quality,
    readers,
    reference_pages,
    related,
    replaced,
    screen,
    screenshots,
    search_speed,
    servers,
    settings_page,
    soak,
    two_parts,
)
from excerpt.memory import memory_file, recall
from excerpt.tui import clipboard
from excerpt.vault import known_vaults
from tests.benchmarks.small_bert import write_wheel
from tests.benchmarks.small_data import REPOSITORY, write_small_data

pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(
        sys.platform != "linux", reason="some scripts read /proc, and one writes names that other systems refuse"
    ),
]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("benchmarks")
    write_small_data(root)
    (root / "room").mkdir()
    for name in ("benchmarks", "tests"):  # for scripts that start another one with `python -m`
        (root / "room" / name).symlink_to(REPOSITORY / name)
    return root


@pytest.fixture(autouse=True)
def room(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in a writable folder, and undo what a script changes permanently in its process."""
    monkeypatch.chdir(data / "room")
    monkeypatch.setenv("EXCERPT_HOME", str(data / "room" / "home"))
    monkeypatch.setenv("TZ", "UTC")
    for owner, name in (
        (sys, "argv"),
        (Input, "cursor_blink"),
        (TextArea, "cursor_blink"),
        (clipboard, "_abbreviate_home"),
        (memory_file, "format_current_time"),
        (recall, "MIN_RECALL_COSINE"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    switching, collecting = sys.getswitchinterval(), gc.get_threshold()
    yield
    sys.setswitchinterval(switching)
    gc.set_threshold(*collecting)
    gc.enable()


SMALL: Mapping[object, Mapping[str, object]] = {
    indexing: {"VAULTS": ("cpp-docs",)},
    search_speed: {"SETS": search_speed.SETS[:1], "COLD": 1},
    one_command: {"ROUNDS": 1, "WARM_UPS": 0},
    keys: {"SETS": keys.SETS[:1], "QUERIES": 1, "MAX_QUERY_CHARS": 3, "BURST": 4, "WALKED": 1},
    first_paint: {"REPEATS": 1, "WARM_UPS": 0, "SIZES": ((80, 24),)},
    edits: {"STARTS": 1, "WARM_UPS": 0, "EDITS": 2, "MAX_QUERY_CHARS": 3, "BURSTS": 1, "BURST": 2},
    memory: {"REST": 0.1},
    memory_bench: {"RESAMPLES": 20},
    prompts: {"read_unrelated": lambda: ["Fix the failing test of the parser", "Write a poem about rain"]},
    limits: {
        "SIZES": (1_000,),
        "KINDS": {name: limits.KINDS[name] for name in ("words", "half characters")},
        "MEMORIES": 1,
        "MAX_SECONDS": 600.0,
        "MAX_WAIT_SECONDS": 600.0,
        "MAX_MEGABYTES": 10_000,
    },
    line_server: {
        "REQUESTS": 40,
        "SAMPLES": 2,
        "CLIENTS": 2,
        "WARM_UPS": 1,
        "TIMED": 3,
        "MAX_EXTRA_MS": 10_000.0,
        "MAX_GROWTH": 10.0,
    },
    insight: {"ASKED": insight.ASKED[:1], "RUNS": 1},
    servers: {"SETS": servers.SETS[:1], "CLIENTS": (1, 2), "PACKS": 1},
    soak: {"SEARCHES": 8, "EDITS": 2, "REOPENINGS": 1, "SAMPLES": 2, "MAX_GROWTH": 10.0},
    confidence: {"OWN": 5, "FOREIGN": 2, "SAMPLES": 20},
    list_promises: {"TYPED": 1, "LIMITS": (1, 3)},
    cross_validation: {"SAMPLE": 2},
    embedders: {"FACTORS": (0.7, 1.6), "RERANKED": 5, "RESAMPLES": 100},
    learning: {"SEEDS": 1, "EVENTS": 20, "RANKERS": learning.RANKERS[:2]},
    past_answers: {"FOLDER_BY_SET": {"obsidian-help-en": "obsidian-help/en"}},
    messy: {"_QUERIES": messy._QUERIES[:1], "_COMMANDS": messy._COMMANDS[:1], "_ANSWERS": messy._ANSWERS[:1]},
    citations: {"SAMPLE": 10},
    cited_sentences: {"SAMPLE": 10, "CHOSEN_ON": ("obsidian-help/en",), "CHECKED_ON": ()},
    memories: {"ASKED": 5, "HELD": 5},
    accents: {"TEXTS": {"fr": accents.TEXTS["fr"]}},
    related: {"CHOSEN_ON": related.CHOSEN_ON[:1], "CHECKED_ON": ()},
    screen: {"SETS": screen.SETS[:1], "SIZES": screen.SIZES[:1], "QUERIES": 1, "DEMO_QUERIES": ("sync",)},
    screenshots: {"SHOTS": [shot for shot in screenshots.SHOTS if shot.name == "found"]},
    demo: {"STORY": (demo.STORY[0], demo.STORY[1], demo.STORY[-1])},
}
"""Sizes of the runs below, by module."""


@pytest.fixture(autouse=True)
def small(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, sizes in SMALL.items():
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)
    for owner in (known_vaults, demo, screen):
        monkeypatch.setattr(owner, "DEMO", data / "vault")
    monkeypatch.setattr(screenshots, "GUIDE", data / "room" / "guide")
    for script in (key_page, settings_page):
        monkeypatch.setattr(script, "PAGE", Path(shutil.copy(script.PAGE, data / "room")))
    pages = data / "room" / "pages"
    if not pages.exists():
        shutil.copytree(reference_pages.GUIDE, pages)
    monkeypatch.setattr(reference_pages, "GUIDE", pages)


def _main(main: Callable[[], object], *options: str) -> None:
    """Call the entry point of a script as from the command line."""
    sys.argv = ["script", *options]
    assert not main()


def _confidence(outside: Outside) -> None:
    for one in outside.sets():
        if one.collection:  # its vault is written by `make quality`
            quality.prepare(outside, one)
    _main(confidence.main, "--data", str(outside.data), "--fit")


def _minilm(*options: str) -> None:
    write_wheel(minilm.WORK)  # so that none is downloaded
    assert not minilm.main(options)


def _run_embedders(*options: str) -> None:
    write_wheel(minilm.WORK)
    assert not embedders.main(options)


def _quality(*options: str) -> None:
    assert quality.main(options) in (0, 1)  # 1: excerpt is below the baseline on a set


SET = "obsidian-help-en.dev"

RUNS: Mapping[str, Callable[[str], object]] = {
    "agents": lambda data: _main(agents.main, "--data", data, "--sets", SET),
    "asked": lambda data: _main(asked.main, "--data", data),
    "citations": lambda data: _main(citations.main, f"{data}/vault"),
    "cited_sentences": lambda data: _main(cited_sentences.main, "--data", data),
    "confidence": lambda data: _confidence(Outside(Path(data))),
    "demo": lambda _data: _main(demo.main),
    "edits": lambda data: _main(edits.main, "--data", data),
    "embedders": lambda data: _run_embedders("--data", data, "--sets", "weather", SET),
    "key_page": lambda _data: _main(key_page.main),
    "learning": lambda data: _main(learning.main, "--data", data, "--sets", SET),
    "limits": lambda data: _main(limits.main, "--data", data),
    "line_server": lambda data: _main(line_server.main, "--data", data),
    "memories": lambda data: _main(memories.main, "--data", f"{data}/data", "--count", "5"),
    "memory_bench": lambda data: _main(memory_bench.main, "--data", data, "--sets", "talks", "--check"),
    "messy": lambda data: _main(messy.main, "--data", data),
    "million": lambda data: _main(million.main, "--data", data, "--copies", "2"),
    "minilm": lambda _data: _minilm("exported"),
    "fill": lambda data: _main(fill.main, "--data", data, "--sets", SET),
    "prompts": lambda data: _main(prompts.main, "--data", data, "--sets", SET),
    "packs": lambda data: _main(packs.main, "--data", data, "--sets", SET, "--checked", "1"),
    "past_answers": lambda data: _main(past_answers.main, "--data", data),
    "quality": lambda data: _quality("--data", data, "--sets", SET, "weather"),
    "readers": lambda data: readers.main(Path(data) / "attachments"),
    "accents": lambda _: _main(accents.main),
    "reference_pages": lambda _data: _main(reference_pages.main),
    "related": lambda data: related.measure(Data(Path(data))),
    "replaced": lambda data: _main(replaced.main, "--data", data),
    "screen": lambda data: _main(screen.main, "--data", data),
    "screenshots": lambda _data: _main(screenshots.main),
    "servers": lambda data: _main(servers.main, "--data", data),
    "two_parts": lambda data: _main(two_parts.main, "--data", data),
    "settings_page": lambda _data: _main(settings_page.main),
    "soak": lambda data: _main(soak.main, "--data", data),
}
"""How to run each script that is started by `python -m`."""

STARTED = {"bare_app": "paint", "build_parts": "indexing", "memory": "memory", "peers": "indexing"}
"""Scripts that are started by a piece of `make bench`, with the name of that piece."""


@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_script_runs_to_its_end(name: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    RUNS[name](str(data))
    printed = capsys.readouterr().out
    assert printed.strip()
    assert ": left out" not in printed


@pytest.mark.parametrize("piece", [name for name in bench.PIECES if name not in {"edits", "store"}])
def test_a_part_of_make_bench_runs_to_its_end(piece: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _main(bench.main, "--data", str(data), "--only", piece)
    printed = capsys.readouterr().out
    assert "|" in printed
    assert ": left out" not in printed


# --- completeness -----------------------------------------------------------------------------------------------------

TEXTS = {file.stem: file.read_text(encoding="utf-8") for file in sorted((REPOSITORY / "benchmarks").glob("*.py"))}
PIECES = {module.__name__.rpartition(".")[2] for module in bench.PIECES.values()}


def test_every_script_is_run_by_these_tests() -> None:
    started = {name for name, text in TEXTS.items() if 'if __name__ == "__main__":' in text}
    assert started - PIECES == {*RUNS, *STARTED, "__main__"} - PIECES


def test_every_other_module_is_used_by_a_script() -> None:
    others = set(TEXTS) - set(RUNS) - set(STARTED) - PIECES - {"__init__", "__main__"}
    unused = {name for name in others if not any(f"from benchmarks.{name} import" in text for text in TEXTS.values())}
    assert not unused
