"""Tests of what behaves otherwise on Windows and macOS, as far as its logic runs here, and of the page that lists it.

No module has this name: docs/design/platforms.md names each place, and the test of it.
"""

from __future__ import annotations

import ast
import os
import re
import socket
import sys
from pathlib import Path, PureWindowsPath

import pytest

from excerpt.base import state_files, vault_files
from excerpt.base.installation import quote_command
from excerpt.cli.main import run
from excerpt.servers.agents import install
from excerpt.servers.line_server import client
from excerpt.servers.mcp import connections
from excerpt.vault import ignore, mounts

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "design" / "platforms.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "excerpt"
ASKS_THE_SYSTEM = re.compile(r"sys\.platform|os\.name\b|hasattr\((?:signal|socket|os|time)\b|\bplatform: str")


def test_every_module_that_asks_for_the_system_is_on_the_page() -> None:
    asking = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if ASKS_THE_SYSTEM.search(file.read_text(encoding="utf-8"))
    }
    assert asking == {file for file in re.findall(r"`([a-z_/]+\.py)`", PAGE) if not file.startswith("tests/")}


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", PAGE)
    assert len(named) > 20
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert name in functions, f"{file} has no test {name}"


def test_no_process_is_forked() -> None:
    forking = re.compile(
        r"os\.fork|forkpty|multiprocessing\.(?:Process|Pool|get_context)|ProcessPoolExecutor|preexec_fn"
    )
    assert [file for file in SOURCE.rglob("*.py") if forking.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("opened", "vault", "is_inside"),
    [
        (r"\\?\C:\Notes\a.md", r"c:\notes", True),
        (r"\\?\C:\Notes 2\a.md", r"C:\Notes", False),
        (r"D:\Notes\a.md", r"C:\Notes", False),
        (r"\\?\UNC\nas\share\a.md", r"\\nas\share", True),
        (r"\\?\UNC\other\share\a.md", r"\\nas\share", False),
    ],
)
def test_an_opened_file_of_windows_is_inside_its_vault_by_drive_and_in_any_case(
    opened: str, vault: str, is_inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vault_files, "Path", PureWindowsPath)
    monkeypatch.setattr(vault_files, "_final_path", lambda _descriptor: opened)
    monkeypatch.setattr(os.path, "realpath", lambda path: path)
    assert vault_files._is_inside(0, PureWindowsPath(), vault) is is_inside  # type: ignore[arg-type]


@pytest.mark.parametrize(("folder", "is_silent"), [(r"\\nas\notes", True), (r"C:\notes", False)])
def test_a_shared_folder_of_windows_gives_no_change_events(
    folder: str, is_silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert mounts.lacks_change_events(PureWindowsPath(folder)) is is_silent  # type: ignore[arg-type]


def test_a_pattern_matches_a_name_whose_accents_macos_stores_as_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert ignore._encode_path("Cafe\u0301.md") == "Café.md".encode()


def test_a_command_to_be_pasted_is_quoted_for_the_shell_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("excerpt", "doctor", "--vault", "My notes")
    assert quote_command(words) == "excerpt doctor --vault 'My notes'"
    monkeypatch.setattr(os, "name", "nt")
    assert quote_command(words) == 'excerpt doctor --vault "My notes"'


def test_without_unix_sockets_a_server_at_a_socket_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    assert run(["serve", "--socket", "notes"]) == 2
    assert "Windows has no Unix sockets for Python programs." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("darwin", "Library/Application Support/Code/User"), ("win32", "AppData/Roaming/Code/User")],
)
def test_the_settings_of_an_editor_are_in_the_folder_of_the_system(
    platform: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("APPDATA", raising=False)
    assert install._vscode_user_folder() == tmp_path / folder


def test_the_socket_is_looked_for_where_macos_has_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delenv("EXCERPT_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert client.state_folder() == tmp_path / "Library" / "Application Support" / "excerpt"


def test_windows_has_no_limit_of_open_files_to_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert connections.max_connections.__wrapped__() == connections._MAX_CONNECTIONS


def test_windows_has_no_folders_to_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "name", "nt")
    state_files.sync_folder(tmp_path / "missing")
