"""For all tests: a property is about what holds, not how fast; a busy machine must not fail it."""

import os

from hypothesis import settings

settings.register_profile("excerpt", deadline=None)
settings.load_profile("excerpt")


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: half of the time of a test of the screen goes by in waiting for it."""
    return (os.cpu_count() or 1) + 2
