"""Test that the findings of `excerpt doctor` are those of doctor_sentences.txt, each once, where it comes first.

Named after its golden file, which is of all checks.
To rewrite it: EXCERPT_WRITE_GOLDEN=1 pytest tests/cli/test_doctor_sentences.py
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from excerpt.base.settings import ScreenSettings, user_paths
from excerpt.cli.terminal_checks import check_clipboard, check_editor, check_keys, check_terminal
from excerpt.index.catalog import CATALOG_FILE
from excerpt.index.writer import LOCK_FILE
from excerpt.service.diagnosis import diagnose, setup_checks, vault_checks
from excerpt.service.diagnosis.setup_checks import (
    check_folders,
    check_libraries,
    check_model,
    check_tokenizer,
    check_versions,
)
from excerpt.service.findings import Finding, run_checks
from tests.cli.conftest import Excerpt
from tests.cli.test_doctor import HOLD
from tests.cli.test_terminal_checks import UTF8
from tests.conftest import programs_finder
from tests.golden import read_golden
from tests.index.conftest import flip_byte
from tests.sentences import Stage, as_text, stage

GOLDEN = Path(__file__).with_name("doctor_sentences.txt")
OF_THE_MACHINE = ("terminal", "keys", "editor", "clipboard", "versions")
"""Groups of findings that differ from machine to machine; scenes of their own check them in a given environment."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the reasons of the system are those of Linux")


def look(stage: Stage, *options: str, vault: str = "{vault}") -> None:
    """Run `excerpt doctor` and record its findings, and what it repaired."""
    of_group = ""
    for line in stage.call("doctor", *(("--vault", vault) if vault else ()), *options, vault=False).out.splitlines():
        if not line.startswith("  "):
            of_group = line
        elif of_group not in OF_THE_MACHINE:
            record(stage, of_group, line.strip())


def record(stage: Stage, of_group: str, line: str) -> None:
    line = re.sub(r"\b[\d.,]+ [kM]B\b", "{size}", stage.masked(line))
    stage.lines.append(f"{of_group}: {re.sub(' +', ' ', line)}")


def record_all(stage: Stage, of_group: str, findings: Iterable[Finding]) -> None:
    for finding in findings:
        record(stage, of_group, f"{finding.level} {finding.what} {finding.todo}".strip())


def index_folder(stage: Stage) -> Path:
    return user_paths().index_folder(stage.vault)


# --- the vault and its index ------------------------------------------------------------------------------------------


def no_vault(stage: Stage) -> None:
    look(stage, vault="")
    look(stage, vault="{tmp}/nowhere")
    look(stage, "--fix", vault="{tmp}/nowhere")
    (stage.tmp / "empty").mkdir()
    look(stage, vault="{tmp}/empty")


def all_is_well(stage: Stage) -> None:
    look(stage)
    look(stage, "--fix")
    look(stage)
    look(stage, "--quick")
    look(stage, "--fix")


def notes_that_are_left_out(stage: Stage) -> None:
    (stage.vault / "out.md").symlink_to(stage.write("outside.md", "x"))
    (stage.vault / "dangling.md").symlink_to(stage.vault / "nowhere.md")
    (stage.vault / "within.md").symlink_to(stage.vault / "Sync.md")
    Path(os.fsdecode(os.fsencode(stage.vault) + b"/caf\xe9.md")).write_text("x")
    for name in ("tea.md", "Tea.md"):
        stage.write(f"vault/{name}", "Tea.\n")
    stage.write("vault/Zeros.md", bytes(10_000))
    stage.write("vault/.gitignore", "a" * 501)
    stage.call("index")
    look(stage)
    stage.write("vault/.gitignore", "*.md\n")
    look(stage)


def how_changes_are_seen(stage: Stage) -> None:
    for limit in (2, 100, None):
        stage.patch.setattr(diagnose, "watch_limit", lambda limit=limit: limit)
        look(stage, "--quick")
    for module in (setup_checks, vault_checks):
        stage.patch.setattr(module, "lacks_change_events", lambda _: True)
    look(stage, "--fix")


def an_index_behind_its_vault(stage: Stage) -> None:
    stage.call("index")
    (stage.vault / "Colour.md").rename(stage.vault / "Hue.md")
    stage.write("vault/Sync.md", "Other.\n")
    look(stage)
    look(stage, "--fix")


def an_index_that_is_damaged(stage: Stage) -> None:
    stage.call("index")
    for file in (next(index_folder(stage).glob("words/*.pst")), next(index_folder(stage).glob("vectors-*"))):
        flip_byte(file)
    look(stage)
    look(stage, "--fix")
    catalog = sqlite3.connect(index_folder(stage) / CATALOG_FILE)
    catalog.execute("UPDATE fragments SET line_start = line_start + 1")
    catalog.commit()
    catalog.close()
    look(stage)
    look(stage, "--fix")
    (index_folder(stage) / CATALOG_FILE).write_bytes(b"garbage" * 1000)
    look(stage)
    look(stage, "--fix")


def leftovers_of_a_build(stage: Stage) -> None:
    stage.call("index")
    leftover = index_folder(stage) / "words" / "words_leftover.pst"
    leftover.write_bytes(b"half")
    os.utime(leftover, ns=(leftover.stat().st_mtime_ns + 10**11,) * 2)
    look(stage)
    look(stage, "--fix")


def what_cannot_be_mended(stage: Stage) -> None:
    stage.call("index")
    stage.write("home/config/excerpt.toml", "[vault\n")
    stage.write("vault/New.md", "New.\n")
    look(stage, "--fix")
    (stage.home / "config" / "excerpt.toml").unlink()
    shutil.rmtree(stage.vault)
    look(stage, "--fix")
    stage.vault.mkdir()
    look(stage, "--fix")
    shutil.rmtree(stage.home)
    stage.write("home/cache", "")
    stage.write("vault/New.md", "New.\n")
    look(stage, "--fix")


def who_writes_the_index(stage: Stage) -> None:
    stage.call("index")
    command = [sys.executable, "-c", HOLD, str(index_folder(stage) / LOCK_FILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        look(stage, "--quick")
        holder.communicate()


def memories_without_a_vault(stage: Stage) -> None:
    stage.call("remember", "Lentils keep well.")
    stage.write("other/Soup.md", "Another soup.\n")
    stage.vault.rename(stage.tmp / "renamed")
    look(stage, "--quick", vault="{tmp}/renamed")
    look(stage, "--quick", vault="{tmp}/other")
    shutil.rmtree(stage.home / "data" / "vaults")
    look(stage, "--quick", vault="{tmp}/other")


# --- settings, folders and the machine --------------------------------------------------------------------------------


def settings_and_model(stage: Stage) -> None:
    stage.write("home/config/excerpt.toml", "[search]\nlimt = 3\n")
    look(stage, "--quick")
    stage.write("home/config/excerpt.toml", '[vault]\nexclude = ["!"]\n')
    look(stage, "--quick")
    stage.write("home/config/excerpt.toml", f'[embedding]\nmodel = "{stage.tmp}/no-model"\n')
    look(stage, "--quick")
    stage.write("model/config.json", "{}")
    record_all(stage, "model", check_model(str(stage.tmp / "model"), ""))
    record_all(stage, "model", check_model("", "another/1"))
    record_all(stage, "model", (check_tokenizer("o200", ""), check_tokenizer("chars/4", "o200k")))


def folders_of_excerpt(stage: Stage) -> None:
    stage.call("remember", "Lentils keep well.")
    stage.call("index")
    (stage.home / "data").chmod(0o755)
    look(stage, "--quick")
    look(stage, "--quick", "--fix")
    stage.patch.setattr(setup_checks, "lacks_change_events", lambda _: True)
    for free in (1_000, 2e8):
        stage.patch.setattr(shutil, "disk_usage", lambda _, free=free: type("Usage", (), {"free": int(free)}))
        record_all(stage, "folders", check_folders(user_paths(), index_folder(stage), 229_000_000))


def the_terminal(stage: Stage) -> None:
    def of(environment: dict[str, str], size: tuple[int, int] | None = (120, 40), answer: str = "") -> None:
        record_all(stage, "terminal", check_terminal(environment, "linux", size, "utf-8", lambda _: answer))

    of({**UTF8, "COLORTERM": "truecolor"})
    of({**UTF8, "TERM": "dumb", "NO_COLOR": "1"}, None)
    of({"LANG": "C"}, (40, 10))
    of({**UTF8, "SSH_CONNECTION": "a b"}, (0, 0))
    of({**UTF8, "WT_SESSION": "x", "TERM_PROGRAM": "vscode"}, (80, 24))
    of({**UTF8, "TMUX": "x"}, answer="off")
    of({**UTF8, "TMUX": "x"}, answer="on")
    record_all(stage, "terminal", check_terminal({}, "win32", (120, 40), "utf-8", lambda _: ""))


def the_clipboard(stage: Stage) -> None:
    for environment, programs in (
        ({"DISPLAY": ":0"}, ("xclip",)),
        ({"DISPLAY": ":0"}, ()),
        ({"SSH_TTY": "/dev/pts/0"}, ("xclip",)),
        ({"TMUX": "x"}, ("tmux",)),
        ({"TMUX": "x"}, ()),
    ):
        record_all(
            stage, "clipboard", check_clipboard(environment, programs_finder(*programs), "linux", Path("/state/copies"))
        )


def keys_and_editor(stage: Stage) -> None:
    record_all(stage, "keys", check_keys(ScreenSettings()))
    record_all(stage, "keys", check_keys(ScreenSettings(keys={"strategy": "f9"})))
    changed = {"strategy": "ctrl+y", "scope": "ctrl+m", "why": "ctrl+enter", "mrak": "f9"}
    record_all(stage, "keys", check_keys(ScreenSettings(keys=changed)))
    for setting, environment in (
        ("hx", {}),
        ("", {"VISUAL": "code --wait"}),
        ("", {"EDITOR": "ed"}),
        ("", {}),
        ("gone", {}),
        ("'", {}),
    ):
        record_all(stage, "editor", check_editor(setting, environment, programs_finder("hx", "code", "ed", "nano")))


def versions_of_libraries(stage: Stage) -> None:
    def fail() -> Iterator[Finding]:
        raise RuntimeError("boom")

    assert next(iter(check_versions("1.2.3"))).what.startswith("excerpt 1.2.3, ")
    required = ["click==0.1", "no-such-library>=1", "msgspec>=0.1", "nope; extra == 'x'"]
    for finding in check_libraries(required):
        record(stage, "versions", re.sub(r"click is [\d.]+", "click is {version}", f"{finding.level} {finding.what}"))
    record_all(stage, "any", run_checks("any", fail).findings)


SCENES = (
    *(no_vault, all_is_well, notes_that_are_left_out, how_changes_are_seen, memories_without_a_vault),
    *(an_index_behind_its_vault, an_index_that_is_damaged, leftovers_of_a_build, what_cannot_be_mended),
    *(who_writes_the_index, settings_and_model, folders_of_excerpt),
    *(the_terminal, the_clipboard, keys_and_editor, versions_of_libraries),
)


def test_the_doctors_sentences_equal_the_golden_file(excerpt: Excerpt, tmp_path: Path) -> None:
    found: list[tuple[str, list[str]]] = []
    known: set[str] = set()
    for scene in SCENES:
        with stage(excerpt, tmp_path / scene.__name__) as opened:
            opened.patch.setattr(diagnose, "watch_limit", lambda: 8192)
            scene(opened)
        found.append((scene.__name__.replace("_", " "), [*dict.fromkeys(opened.lines)]))
    shown = []
    for name, lines in found:
        shown.append((name, [line for line in lines if line not in known]))
        known.update(lines)
    text = as_text(shown)
    assert text == read_golden(GOLDEN, text)
