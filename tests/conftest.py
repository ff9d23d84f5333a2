"""For all tests: a property is about what holds, not how fast; a busy machine must not fail it."""

import gc
import os
import shutil
import signal

# As `python -m excerpt` does, and before numpy is loaded: waiting by spinning takes the time of other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import pytest
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell, for all that tests start too
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.set_threshold(5_000, 10, 10)  # a tenth of the time of tests of the screen goes into collecting

settings.register_profile("excerpt", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=1_000)
PROFILE = os.environ.get("EXCERPT_PROPERTIES", "excerpt")
THOROUGH = PROFILE == "thorough"
settings.load_profile(PROFILE)


def few(examples: int) -> int:
    """How many examples a property has each of which takes long: twenty times as many when all are to be thorough."""
    return examples * 20 if THOROUGH else examples


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: tests of the screen and of the program wait now and then."""
    return (os.cpu_count() or 1) + 2


@pytest.fixture(scope="session")
def tesseract() -> None:
    """For tests that read images by the real program."""
    if shutil.which("tesseract") is None:
        pytest.fail("tesseract is not installed: apt install tesseract-ocr, brew install tesseract", pytrace=False)


def written_state(file: Path) -> tuple[int, ...]:
    """Return what a write to a file changes. The time of the last access is left out, because reading changes it."""
    state = file.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
