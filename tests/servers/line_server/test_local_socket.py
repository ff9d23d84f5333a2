"""Tests of the Unix socket: who may connect, where it is, and what becomes of leftovers."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import excerpt
from excerpt.base.errors import ExcerptError
from excerpt.base.settings import user_paths
from excerpt.servers.line_server import client, local_socket
from excerpt.servers.line_server.client import LineClient, LineServerError, find_problem, socket_file
from excerpt.servers.line_server.local_socket import listen

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no Unix sockets")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a private folder with a short path: that of a socket has room for a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="ex") as folder:
        yield Path(folder).resolve()


# --- the place --------------------------------------------------------------------------------------------------------


def test_each_vault_has_its_own_socket_in_a_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path))
    assert socket_file(tmp_path / "a") != socket_file(tmp_path / "b")
    assert socket_file(tmp_path / "a").parent == user_paths().state / "run"
    assert socket_file(tmp_path / "a" / ".." / "a") == socket_file(tmp_path / "a")


@pytest.mark.usefixtures("tiny_stores")
def test_the_socket_of_a_store_does_not_depend_on_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "tiny://ours"
    before = socket_file(address)
    monkeypatch.chdir(tmp_path)
    assert socket_file(address) == before


def test_the_socket_is_in_the_runtime_folder_or_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EXCERPT_HOME", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert socket_file(tmp_path).parent == tmp_path / "excerpt" / "run"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert socket_file(tmp_path).parent == user_paths().state / "run"


def test_the_socket_and_its_folder_are_accessible_only_to_the_user(folder: Path) -> None:
    file = folder / "run" / "a.sock"
    with listen(file):
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not file.exists()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_socket_folder_writable_by_other_users_is_refused(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    with pytest.raises(ExcerptError, match="can be written to by other users"), listen(folder / "a.sock"):
        pass
    assert find_problem(folder) == "can be written to by other users"


def test_a_socket_folder_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(ExcerptError, match="belongs to another user"), listen(folder / "a.sock"):
        pass


def test_a_socket_folder_that_is_a_symbolic_link_is_refused(folder: Path) -> None:
    (folder / "real").mkdir(mode=0o700)
    (folder / "link").symlink_to("real")
    with pytest.raises(ExcerptError, match="is no folder"), listen(folder / "link" / "a.sock"):
        pass


def test_a_path_impossible_for_a_socket_is_refused_with_a_hint(folder: Path) -> None:
    with pytest.raises(ExcerptError, match="too long") as error, listen(folder / ("a" * 100) / "a.sock"):
        pass
    assert "--socket-path" in error.value.hint


# --- leftovers and other servers --------------------------------------------------------------------------------------


def test_the_socket_of_a_killed_server_is_replaced(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(folder / "a.sock"))
    with listen(folder / "a.sock"):
        LineClient.connect(folder / "a.sock").close()


def test_the_error_of_a_second_server_names_the_process_of_the_first(folder: Path) -> None:
    with (
        listen(folder / "a.sock"),
        pytest.raises(ExcerptError, match=f"Process {os.getpid()} already serves"),
        listen(folder / "a.sock"),
    ):
        pass


def test_a_socket_of_another_program_is_not_changed(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "a.sock"))
        other.listen()
        with pytest.raises(ExcerptError, match="already serves"), listen(folder / "a.sock"):
            pass
    assert (folder / "a.sock").exists()


def test_a_file_that_is_not_a_socket_is_not_changed(folder: Path) -> None:
    (folder / "a.sock").write_text("mine")
    with pytest.raises(ExcerptError, match="not a socket"), listen(folder / "a.sock"):
        pass
    assert (folder / "a.sock").read_text() == "mine"


# --- who is at the other end ------------------------------------------------------------------------------------------


def test_each_end_of_a_socket_knows_the_user_and_the_process_of_the_other_end(folder: Path) -> None:
    with listen(folder / "a.sock") as listener, LineClient.connect(folder / "a.sock") as found:
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with accepted:
            uid, pid = client.read_peer_ids(accepted) or (-1, -1)
            assert (uid, pid in (os.getpid(), 0)) == (os.geteuid(), True)
            assert local_socket.is_own_process(accepted)
            assert client.read_peer_ids(found._connection) == (uid, pid)


def test_a_process_of_another_user_is_recognised(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_socket, "read_peer_ids", lambda _: (os.geteuid() + 1, 1))
    with socket.socket(socket.AF_UNIX) as connection:
        assert not local_socket.is_own_process(connection)


def test_a_client_refuses_the_server_of_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "read_peer_ids", lambda _: (os.geteuid() + 1, 1))
    with listen(folder / "a.sock"), pytest.raises(LineServerError, match="Another user listens"):
        LineClient.connect(folder / "a.sock")


def test_a_client_refuses_a_folder_writable_by_others(folder: Path) -> None:
    with listen(folder / "a.sock"):
        folder.chmod(0o777)
        with pytest.raises(LineServerError, match="can be written to by other users"):
            LineClient.connect(folder / "a.sock")


# --- the client -------------------------------------------------------------------------------------------------------


def answer_in_thread(listener: socket.socket, *lines: bytes) -> threading.Thread:
    """Accept one client in a thread, and send it these lines after its first request."""

    def answer() -> None:
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with accepted:
            accepted.recv(1 << 16)
            for line in lines:
                accepted.sendall(line)
            accepted.settimeout(60)
            accepted.recv(1)  # until the client has closed

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


def test_a_client_skips_events_and_returns_the_result(folder: Path) -> None:
    lines = b'{"method": "ready", "params": {}}\n', b'{"id": 1, "res', b'ult": {"memories": []}}\n'
    with listen(folder / "a.sock") as listener:
        thread = answer_in_thread(listener, *lines)
        with LineClient.connect(folder / "a.sock") as found:
            assert found.request("recall", {}) == {"memories": []}
        thread.join()


def test_a_client_raises_the_error_of_the_server(folder: Path) -> None:
    line = b'{"id": 1, "error": {"code": -32000, "message": "No note.", "data": {"kind": "not_found", "hint": ""}}}\n'
    with listen(folder / "a.sock") as listener:
        thread = answer_in_thread(listener, line)
        with LineClient.connect(folder / "a.sock") as found, pytest.raises(LineServerError, match="No note") as error:
            found.request("read", {"source": "a"})
        thread.join()
    assert error.value.kind == "not_found"


@pytest.mark.parametrize("line", [b"", b"no json\n", b'{"method": "changed"}\n'])
def test_a_client_waits_no_longer_than_its_timeout(folder: Path, line: bytes) -> None:
    with listen(folder / "a.sock") as listener:
        thread = answer_in_thread(listener, line)
        with (
            LineClient.connect(folder / "a.sock") as found,
            pytest.raises(LineServerError, match="did not answer") as error,
        ):
            found.request("status", {}, timeout=0.05)
        thread.join()
    assert error.value.kind == "unreachable"


def test_a_client_reports_that_nobody_listens(folder: Path) -> None:
    with pytest.raises(LineServerError, match="Nothing answers"):
        LineClient.connect(folder / "a.sock")


def test_the_client_imports_the_standard_library_only() -> None:
    source = Path(excerpt.__file__).parent.parent
    code = f"""import sys; sys.path.append({str(source)!r})
from excerpt.servers.line_server import client; print(*sys.modules)"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in done.stdout.split()}
    assert packages - {*sys.stdlib_module_names} == {"__main__", "excerpt"}
