"""Tests of the command line as the shell sees it: exit codes, pipes, signals."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Excerpt


def start(home: Path, *argv: str | Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "EXCERPT_HOME": str(home)}
    command = [sys.executable, "-m", "excerpt", *map(str, argv)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.programs
def test_data_goes_to_stdout_and_everything_else_to_stderr(tmp_path: Path, vault: Path) -> None:
    with start(tmp_path, "search", "sync conflict", "--vault", vault, "--json") as child:
        out, err = child.communicate()
    assert child.returncode == 0
    assert json.loads(out)["hits"][0]["path"] == "Sync.md"
    assert err == b""


@pytest.mark.programs
def test_a_warning_of_a_library_is_not_for_the_user() -> None:
    lines = (
        "import atexit, warnings",
        "from excerpt.cli.main import main",
        "atexit.register(warnings.warn, 'invalid')",
        "main(['--version'])",
    )
    for option, shown in (((), False), (("-W", "default"), True)):
        child = subprocess.run([sys.executable, *option, "-c", "\n".join(lines)], capture_output=True, check=True)
        assert (b"invalid" in child.stderr) is shown


@pytest.mark.programs
@pytest.mark.parametrize(
    ("argv", "code"),
    [(("search", '"zzqqxx"'), 1), (("search",), 2), (("search", "x", "--limit", "0"), 2), (("nonsense", "x"), 3)],
)
def test_exit_codes_tell_nothing_found_from_wrong_usage_and_from_cannot(
    tmp_path: Path, vault: Path, argv: tuple[str, ...], code: int
) -> None:
    more = ("--vault", vault) if argv[0] == "search" else ()
    with start(tmp_path, *argv[: 1 if more == () else None], *more) as child:
        out, err = child.communicate()
    assert child.returncode == code
    assert out == b""
    assert err
    assert b"Traceback" not in err


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_reader_that_goes_away_ends_the_command_quietly(tmp_path: Path, vault: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": 1, "query": "sync conflict"}\n' * 500, encoding="utf-8")
    with start(tmp_path, "search", "--batch", queries, "--json", "--vault", vault) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        err = child.stderr.read()
    assert child.returncode == 141
    assert err == b""


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_an_interrupt_is_exit_code_130_without_a_traceback(tmp_path: Path, vault: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": 1, "query": "sync conflict"}\n' * 50_000, encoding="utf-8")
    with start(tmp_path, "search", "--batch", queries, "--json", "--vault", vault) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        child.stdout.read()
        err = child.stderr.read()
    assert child.returncode == 130
    assert err == b""


@pytest.mark.programs
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are UTF-8 whatever the locale")
@pytest.mark.parametrize("how", [("-m", "excerpt"), ("-c", "from excerpt.__main__ import main; main()")])
def test_names_of_files_are_read_as_utf8_whatever_the_locale(
    tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch, how: tuple[str, str]
) -> None:
    (vault / "🚀 Überblick.md").write_text("A rocket for an overview.")
    for name, value in (("LC_ALL", "C"), ("PYTHONUTF8", "0"), ("PYTHONCOERCECLOCALE", "0")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    with start(tmp_path / "home", "search", "rocket überblick", "--vault", vault, "--json") as child:
        out, err = child.communicate()
    assert err == b""
    assert [hit["path"] for hit in json.loads(out)["hits"]] == ["🚀 Überblick.md"]
    packed = subprocess.run([sys.executable, *how, "pack", "rocket", "--vault", vault], capture_output=True, check=True)
    assert "From 🚀 Überblick.md:1" in packed.stdout.decode()


STREAMS = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a shell and /dev/full")
PRINTING = (
    *(("--help",), ("--version",), ("pack", "--help"), ("demo", "--path"), ("config",), ("config", "--schema")),
    *(("search", "sync"), ("search", "sync", "--json"), ("search", "sync", "--why", "Sync"), ("pack", "sync")),
    *(
        ("overview", "sync"),
        ("related", "Sync", "--json"),
        ("map",),
        ("read", "Sync"),
        ("peek", "Sync"),
        ("remember", "text"),
    ),
    *(("index",), ("index", "--progress"), ("status",), ("doctor", "--quick")),
)


def through_a_shell(
    home: Path, vault: Path, argv: tuple[str, ...], redirection: str, before: str = ""
) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a command with redirected streams, after the shell code `before`."""
    environment = {**os.environ, "EXCERPT_HOME": str(home), "EXCERPT_VAULT": str(vault)}
    line = f"{before} {shlex.join((sys.executable, '-m', 'excerpt', *argv))} {redirection}"
    done = subprocess.run(["/bin/sh", "-c", line], env=environment, capture_output=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def environment(home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Set EXCERPT_VAULT, for commands that name no vault."""
    monkeypatch.setenv("EXCERPT_VAULT", str(vault))
    return monkeypatch


FULL = (">/dev/full", "No space left on device")
CLOSED = (">&-", "it is closed")


def unwritten_for(err: str) -> str:
    """Return the reason in the one line that says that stdout cannot be written."""
    line = re.fullmatch(r"excerpt: [^:\n]*stdout[^:\n]*: (.*)\.\n", err)
    assert line, err
    return line[1]


@pytest.mark.programs
@STREAMS
@pytest.mark.parametrize(("redirection", "reason"), [FULL, CLOSED])
@pytest.mark.parametrize("argv", [("--help",), ("search", "sync")], ids=" ".join)
def test_an_output_that_cannot_be_written_is_told(
    tmp_path: Path, vault: Path, argv: tuple[str, ...], redirection: str, reason: str
) -> None:
    code, _, err = through_a_shell(tmp_path, vault, argv, redirection)
    assert (code, unwritten_for(err)) == (3, reason)


@pytest.mark.programs
@STREAMS
@pytest.mark.parametrize("unwritable", [FULL, CLOSED], ids=["full", "closed"])
@pytest.mark.parametrize("argv", PRINTING, ids=" ".join)
def test_no_command_goes_on_where_its_output_cannot_be_written(
    excerpt: Excerpt, environment: pytest.MonkeyPatch, argv: tuple[str, ...], unwritable: tuple[str, str]
) -> None:
    """Check unwritable streams as Python represents them; a closed one is None."""
    with Path("/dev/full").open("w") as full, environment.context() as streams:
        streams.setattr(sys, "stdout", full if unwritable is FULL else None)
        answer = excerpt(*argv)
        sys.stdout.close()
    assert (answer.code, unwritten_for(answer.err)) == (3, unwritable[1])


@pytest.mark.programs
@STREAMS
def test_an_output_that_cannot_be_written_is_told_where_python_writes_through(
    tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    for argv in (("--help",), ("search", "sync", "--json")):
        code, _, err = through_a_shell(tmp_path, vault, argv, ">/dev/full")
        assert (code, unwritten_for(err)) == (3, FULL[1])


@pytest.mark.programs
@STREAMS
def test_watching_ends_where_its_events_cannot_be_written(tmp_path: Path, vault: Path) -> None:
    environment = {**os.environ, "EXCERPT_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "excerpt", "watch", "--progress", "--vault", str(vault)]
    with (
        Path("/dev/full").open("w") as full,
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=full, stderr=subprocess.PIPE) as child,
    ):
        assert child.stderr is not None
        err = child.stderr.read()
    assert child.returncode == 3
    assert unwritten_for(err.decode()) == FULL[1]


@pytest.mark.programs
@STREAMS
@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (("remember", "-"), "text"),
        (("edit", "m0", "--text", "-"), "text"),
        (("search", "--batch", "-", "--json"), "batch"),
        (("check", "-", "--pack", "pack.md"), "answer"),
    ],
)
def test_an_input_that_is_closed_is_told(tmp_path: Path, vault: Path, argv: tuple[str, ...], what: str) -> None:
    code, out, err = through_a_shell(tmp_path, vault, argv, "<&-")
    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    assert f"The {what} on stdin" in err
    assert CLOSED[1] in err


@pytest.mark.programs
@STREAMS
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&- 2>&-"])
@pytest.mark.parametrize(("argv", "code"), [(("search", "sync"), 0), (("search",), 2)])
def test_a_command_ends_as_ever_where_nothing_can_be_said(
    tmp_path: Path, vault: Path, argv: tuple[str, ...], code: int, redirection: str
) -> None:
    ended, out, err = through_a_shell(tmp_path, vault, argv, redirection)
    assert (ended, bool(out), err) == (code, code == 0, "")


@pytest.mark.programs
@STREAMS
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize(("argv", "code"), [(("search", '"zzqqxx"'), 1), (("forget", "m0"), 3)])
def test_what_fails_ends_as_ever_where_nothing_can_be_said(
    excerpt: Excerpt, environment: pytest.MonkeyPatch, argv: tuple[str, ...], code: int, closed: bool
) -> None:
    with Path("/dev/full").open("w") as full, environment.context() as streams:
        streams.setattr(sys, "stderr", None if closed else full)
        answer = excerpt(*argv)
        sys.stderr.close()
    assert (answer.code, answer.out) == (code, "")


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a folder that is somebody's working directory")
@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("search", "sync", "--vault", "."), 3, "folder"),
        ((".",), 3, "folder"),
        (("pack", "sync", "--template", "t.j2"), 2, "t.j2"),
        (("search", "sync"), 0, ""),
    ],
)
def test_a_working_directory_that_is_gone_is_told_where_it_is_asked_for(
    tmp_path: Path, vault: Path, argv: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "gone").mkdir()
    ended, _, err = through_a_shell(
        tmp_path / "home", vault, argv, "", before=f"cd {tmp_path}/gone && rmdir {tmp_path}/gone &&"
    )
    assert ended == code, err
    assert said in err
    assert "went wrong inside" not in err


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="Windows names no users by ~")
@pytest.mark.parametrize("argv", [("search", "sync"), ("doctor",), ("config",), ()])
def test_a_home_folder_that_cannot_be_named_is_told(vault: Path, argv: tuple[str, ...]) -> None:
    code, out, err = through_a_shell(Path("~nobody-of-that-name"), vault, argv, "</dev/null")
    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    assert "EXCERPT_HOME" in err
