"""Test of the names of test files. It is of no module: it compares all of them with the modules they test."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import excerpt

TESTS = Path(__file__).parent
WHOLE_PROGRAMS = {"benchmarks", "clients", "e2e", "editors", "matrix", "store"}
"""Folders whose tests run programs as users do, or everything on a store."""
OF_NO_MODULE = {
    "cli/test_guide.py",
    "cli/test_json_forms.py",
    "cli/test_sentences.py",
    "service/test_replaced.py",
    "service/test_same_answers.py",
    "test_attachments.py",
    "test_comments.py",
    "test_design_pages.py",
    "test_files_of_tests.py",
    "test_no_network.py",
    "test_platforms.py",
    "test_release.py",
    "test_site.py",
    "tui/pictures/test_dialogs.py",
    "tui/pictures/test_stories.py",
    "tui/pictures/test_tabs.py",
    "tui/test_burst_fuzz.py",
    "tui/test_bursts.py",
}
"""Test files of what several modules do together; each says so in its docstring."""


def test_a_test_file_bears_the_name_of_its_module() -> None:
    """A name may be longer than the module's: `test_build_properties.py` tests `build.py` as well."""
    source = Path(str(excerpt.__file__)).parent
    modules = {path.relative_to(source).with_suffix("") for path in source.rglob("*.py")}
    files = [path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")]
    unnamed = {
        file.as_posix()
        for file in files
        if file.parts[0] not in WHOLE_PROGRAMS
        and not any(
            file.parent / name in modules
            for name in accumulate(file.stem.removeprefix("test_").split("_"), "{}_{}".format)
        )
    }
    assert unnamed == OF_NO_MODULE
