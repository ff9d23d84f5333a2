"""Settings for all tests: one environment whatever the shell's, the programs that some need, examples of properties."""

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

SURROUNDING = dict(os.environ)
"""The environment of the shell. Only what installs packages uses it: a proxy, an index or a cache may be set there."""

_KEPT = re.compile(
    "PATH|PATHEXT|TMPDIR|TMP|TEMP|USER|USERNAME|LOGNAME|USERPROFILE|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|CI"
    "|(LD|DYLD|PYTEST|COVERAGE|TEST)_.*"
    "|EXCERPT_(FIRST_INDEX_(RUNS|VAULT)|FUZZ|FUZZED_LINES|KILLS|PROPERTIES|REQUIRE_PROGRAMS|SOAK|WRITE_GOLDEN)"
)
"""Names of variables that tests, and the programs they start, get from the shell."""

# The processes of pytest-xdist, which run the tests, start in this environment too.
for name in list(os.environ):
    if not _KEPT.fullmatch(name):
        del os.environ[name]
# The first as in `python -m excerpt`, before numpy is loaded: spinning threads slow the other tests.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "LANG": "C.UTF-8", "TERM": "xterm-256color", "TZ": "UTC"}
os.environ["TEXTUAL_FPS"] = "15"  # frames that no test waits for are a seventh of the time of the screen tests
if hasattr(time, "tzset"):
    time.tzset()
os.umask(0o022)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background shell ignores it, also for child processes
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup ignores it
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

gc.disable()  # until all tests are collected

settings.register_profile("excerpt", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=1_000)
PROFILE = os.environ.get("EXCERPT_PROPERTIES", "excerpt")
THOROUGH = PROFILE == "thorough"
settings.load_profile(PROFILE)
if not THOROUGH:  # or examples depend on the constants in those modules that a process has imported
    assert hasattr(providers, "_get_local_constants")
    providers._get_local_constants = lambda: providers._local_constants


def scaled_examples(examples: int) -> int:
    """Return the number of examples for a slow property test: 20 times as many in a thorough run."""
    return examples * 20 if THOROUGH else examples


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return one more worker than cores: tests sometimes wait, but each worker imports and collects all of them.

    Tests of whole programs wait for them most of the time.
    """
    return (os.cpu_count() or 1) + (3 if config.option.markexpr == "programs" else 1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files without whole programs where only those run: each worker would import two hundred of them."""
    if config.option.markexpr != "programs" or not collection_path.name.startswith("test_"):
        return None
    is_ignored = collection_path.is_file() and "mark.programs" not in collection_path.read_text(encoding="utf-8")
    return is_ignored or None


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lives as long as the run: otherwise it takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set the home folder to an empty one, so that no file of the user's changes a test, nor a test one of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def tiny_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the addresses of the tests' own store, tiny://, and no others."""
    from excerpt.service import stores

    monkeypatch.setattr(stores, "find_entry_points", lambda _group: {"tiny": "tests.tiny_store:TinyStore"})


@pytest.fixture(autouse=True)
def default_hangup() -> Iterator[None]:
    """Restore SIGHUP, which a server that a test runs in this process ignores: later children would ignore it too."""
    yield
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def find_browser() -> str | None:
    """Return the path of a Chromium, which prints PDFs."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def programs_finder(*names: str) -> Callable[[str], str | None]:
    """Return a stand-in for `shutil.which` that finds only these programs."""
    return lambda name: f"/usr/bin/{name}" if name in names else None


def _has_chinese_font() -> bool:
    if shutil.which("fc-list") is None:
        return sys.platform in ("darwin", "win32")  # they come with one
    return bool(subprocess.run(["fc-list", ":lang=zh"], capture_output=True, check=True).stdout)


def _has_new_fzf() -> bool:
    """Return whether fzf can replace itself by another program, as the guide's function needs."""
    if shutil.which("fzf") is None:
        return False
    version = subprocess.run(["fzf", "--version"], capture_output=True, text=True, check=True).stdout.split(" ")[0]
    return tuple(int(part) for part in version.split(".")[:2]) >= (0, 38)


PROGRAMS = {
    "tesseract": "tesseract-ocr",
    "Chromium": "chromium",
    "Chinese font": "fontconfig fonts-wqy-microhei",
    "tmux": "tmux",
    "nvim": "neovim",
    "strace": "strace",
    "zsh": "zsh",
    "fish": "fish",
    "fzf": "fzf",
    "bash": "bash",
    "git": "git",
    "openssl": "openssl",
    "ps": "procps",
}
"""What tests need that is not Python, and Debian's packages of it."""

_FINDERS: dict[str, Callable[[], object]] = {
    "Chromium": find_browser,
    "Chinese font": _has_chinese_font,
    "fzf": _has_new_fzf,
}


@cache
def _is_installed(program: str) -> bool:
    return bool(_FINDERS.get(program, lambda: shutil.which(program))())


def _missing(program: str) -> str:
    return f"{program} is not installed (Debian: apt install {PROGRAMS[program]})"


def require_program(program: str) -> None:
    """Skip the test if a program is missing, or fail it where EXCERPT_REQUIRE_PROGRAMS is set, as by .ci/run."""
    if not _is_installed(program):
        stop = pytest.fail if os.environ.get("EXCERPT_REQUIRE_PROGRAMS") else pytest.skip
        stop(_missing(program))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that is marked by `needs` and a program that is missing."""
    for mark in item.iter_markers("needs"):
        for program in mark.args:
            require_program(program)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the tests that were skipped for each missing program."""
    skipped = Counter(str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []))
    for program in PROGRAMS:
        if count := skipped[f"Skipped: {_missing(program)}"]:
            terminalreporter.write_line(f"{count} skipped: {_missing(program)}")


def written_state(file: Path) -> tuple[int, ...]:
    """Return the parts of a file's status that a write changes; the access time is left out, as reading changes it."""
    state = file.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
