"""Settings for all tests; property tests have no deadline, so that a busy machine does not fail them."""

import gc
import os
import shutil
import signal

# Same as in `python -m excerpt`, set before numpy is loaded: spinning threads slow the other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import pytest
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background shell ignores it, also for child processes
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup ignores it
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

gc.set_threshold(5_000, 10, 10)  # otherwise a tenth of the time of the screen tests is garbage collection

settings.register_profile("excerpt", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=1_000)
PROFILE = os.environ.get("EXCERPT_PROPERTIES", "excerpt")
THOROUGH = PROFILE == "thorough"
settings.load_profile(PROFILE)


def few(examples: int) -> int:
    """Return the number of examples for a slow property test: 20 times as many in a thorough run."""
    return examples * 20 if THOROUGH else examples


def pytest_xdist_auto_num_workers() -> int:
    """Return two more workers than cores: tests of the screen and of processes sometimes wait."""
    return (os.cpu_count() or 1) + 2


@pytest.fixture(scope="session")
def tesseract() -> None:
    """Fail if tesseract is not installed, for tests that run the real program."""
    if shutil.which("tesseract") is None:
        pytest.fail("tesseract is not installed: apt install tesseract-ocr, brew install tesseract", pytrace=False)


def written_state(file: Path) -> tuple[int, ...]:
    """Return the parts of a file's status that a write changes; the access time is left out, as reading changes it."""
    state = file.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
