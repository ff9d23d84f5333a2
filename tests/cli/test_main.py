"""Tests of the command line as the shell sees it: exit codes, pipes, signals, and what a command imports."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from excerpt import __version__
from excerpt.base.settings import user_paths
from excerpt.cli import app
from excerpt.cli.main import COMMANDS, program
from excerpt.vault.known_vaults import add_recent_vault
from tests.cli.conftest import Excerpt


@pytest.fixture
def opened_vaults(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return a list that collects the vaults that the app is started with."""
    vaults: list[Path] = []

    def note(*paths: Path, keep_as_last: bool = True, plain: bool = False, accept_all: bool = False) -> None:
        vaults.extend(paths)

    monkeypatch.setattr(app, "start_app", note)
    return vaults


def test_version_is_printed(excerpt: Excerpt) -> None:
    answer = excerpt("--version")
    assert (answer.code, answer.out) == (0, f"excerpt {__version__}\n")


def test_help_names_every_command(excerpt: Excerpt) -> None:
    answer = excerpt("--help")
    assert answer.code == 0
    assert all(f"\n  {name} " in answer.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_for_itself_and_its_options(excerpt: Excerpt, name: str) -> None:
    answer = excerpt(name, "--help")
    assert answer.code == 0
    assert f"Usage: excerpt {name}" in answer.out
    command = program.get_command(click.Context(program), name)
    assert command is not None
    assert all(not isinstance(option, click.Option) or option.help for option in command.params)


NUMBERS = [
    (name, option.opts[0], getattr(option.type, "max", None))
    for name in COMMANDS
    if (command := program.get_command(click.Context(program), name)) is not None
    for option in command.params
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType) and name != "mcp"  # no end
]


@pytest.mark.parametrize(("name", "option", "most"), NUMBERS)
def test_a_number_beyond_its_range_is_wrong_usage(
    excerpt: Excerpt, vault: Path, name: str, option: str, most: int
) -> None:
    answer = excerpt(name, "Sync.md", option, most + 1, "--vault", vault)
    assert answer.code == 2
    assert f"'{option}'" in answer.err


@pytest.mark.parametrize(("name", "option", "most"), NUMBERS)
def test_the_largest_number_is_accepted(excerpt: Excerpt, vault: Path, name: str, option: str, most: int) -> None:
    answer = excerpt(name, "Sync.md", option, most, "--vault", vault)
    assert answer.code in (0, 1), answer.err


def test_a_first_word_that_is_not_a_command_is_the_vault(
    excerpt: Excerpt, opened_vaults: list[Path], vault: Path
) -> None:
    assert excerpt(vault).code == 0
    assert opened_vaults == [vault]


@pytest.mark.parametrize("argv", [("--plain", "VAULT"), ("VAULT", "--plain"), ("--plain", "demo")])
def test_the_plain_option_may_precede_or_follow_the_vault(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, str]
) -> None:
    opened: list[bool] = []
    monkeypatch.setattr("excerpt.tui.app.run_app", lambda _, settings, *__, **___: opened.append(settings.screen.plain))
    assert excerpt(*(str(vault) if word == "VAULT" else word for word in argv)).code == 0
    assert opened == [True]


def test_a_vault_named_like_a_command_opens_as_a_path(
    excerpt: Excerpt, opened_vaults: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index").mkdir()
    monkeypatch.chdir(tmp_path)
    assert excerpt("./index").code == 0
    assert opened_vaults == [Path("./index")]


def test_a_misspelt_command_is_suggested(excerpt: Excerpt) -> None:
    answer = excerpt("serach", "words")
    assert answer.code == 2
    assert "search?" in answer.err


def test_an_existing_folder_named_nearly_like_a_command_is_opened(
    excerpt: Excerpt, opened_vaults: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "indexes").mkdir()
    monkeypatch.chdir(tmp_path)
    assert excerpt("indexes").code == 0
    assert opened_vaults == [Path("indexes")]


def test_two_vaults_are_opened_together(
    excerpt: Excerpt, opened_vaults: list[Path], vault: Path, tmp_path: Path
) -> None:
    assert excerpt(vault, tmp_path).code == 0
    assert opened_vaults == [vault, tmp_path]


def test_a_missing_vault_among_several_is_reported(
    excerpt: Excerpt, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Path, str, list[Path]]] = []
    monkeypatch.setattr(
        "excerpt.tui.app.run_app",
        lambda first, _, __, message, *, others, **___: calls.append((first, message, others)),
    )
    missing = tmp_path / "gone"
    assert excerpt(missing, vault).code == 0
    assert calls == [(missing, f"There is no folder at {missing}. Name a folder of Markdown notes.", [vault])]
    assert excerpt(missing, tmp_path / "away").code == 3


@pytest.mark.usefixtures("tiny_stores")
def test_a_store_cannot_be_opened_with_other_vaults(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt(vault, "tiny://wiki")
    assert answer.code == 3
    assert "cannot be opened with other vaults" in answer.err


def test_without_arguments_the_vault_of_the_environment_is_opened(
    excerpt: Excerpt, opened_vaults: list[Path], vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(vault))
    assert excerpt().code == 0
    assert opened_vaults == [vault]


def test_without_any_known_vault_the_first_steps_are_shown(excerpt: Excerpt) -> None:
    answer = excerpt()
    assert answer.code == 3
    assert answer.err.count("\n") == 1
    assert "excerpt demo" in answer.err


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects the reasons given to the vault chooser, on a fake terminal."""
    reasons: list[str] = []

    def note(said: str, plain: bool = False) -> None:
        reasons.append(said)

    monkeypatch.setattr(app, "open_app_without_vault", note)
    monkeypatch.setattr(app, "has_terminal", lambda: True)
    return reasons


def test_at_a_terminal_a_new_user_is_asked_for_a_vault(excerpt: Excerpt, asked: list[str]) -> None:
    assert excerpt().code == 0
    assert asked == [""]


def test_at_a_terminal_a_missing_last_vault_is_reported_and_the_user_is_asked_for_another(
    excerpt: Excerpt, asked: list[str], tmp_path: Path
) -> None:
    add_recent_vault(user_paths(), tmp_path / "gone")
    assert excerpt().code == 0
    (said,) = asked
    assert str(tmp_path / "gone") in said


def test_a_missing_vault_of_the_environment_is_an_error(
    excerpt: Excerpt, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(tmp_path / "gone"))
    answer = excerpt()
    assert (answer.code, asked) == (3, [])
    assert str(tmp_path / "gone") in answer.err


def test_the_app_without_a_terminal_names_the_alternatives(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt(vault)
    assert answer.code == 3
    assert "terminal" in answer.err
    assert "excerpt search" in answer.err


def test_an_internal_error_is_a_sentence_and_a_log(
    excerpt: Excerpt, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(app, "start_app", fail)
    answer = excerpt(vault)
    log = home / "state" / "errors.log"
    assert answer.code == 3
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err
    assert str(log) in answer.err
    assert "Traceback" in log.read_text(encoding="utf-8")
    assert "RuntimeError: boom" in log.read_text(encoding="utf-8")


def test_a_log_that_cannot_be_written_is_reported_too(
    excerpt: Excerpt, home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(app, "start_app", fail)
    home.write_text("a file where the folder should be")
    answer = excerpt(vault)
    assert answer.code == 3
    assert str(home / "state") in answer.err


def test_an_interrupt_prints_nothing(excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "start_app", interrupt)
    answer = excerpt(vault)
    assert (answer.code, answer.out, answer.err) == (130, "", "")


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (("search", "-rust and go"), "excerpt search -- '-rust and go'"),
        (("pack", "sync", "-phone"), "excerpt pack -- -phone"),
        (("peek", "--zeppelin"), "excerpt peek -- --zeppelin"),
    ],
)
def test_a_word_that_begins_with_a_dash_gets_a_hint(excerpt: Excerpt, argv: tuple[str, ...], hint: str) -> None:
    answer = excerpt(*argv)
    assert answer.code == 2
    assert answer.err.endswith(f": {hint}\n")


@pytest.mark.parametrize("argv", [("search", "x", "--limt", "3"), ("status", "-x"), ("-x",), ("./notes", "-x")])
def test_a_misspelt_option_gets_no_hint_about_dashes(excerpt: Excerpt, argv: tuple[str, ...]) -> None:
    answer = excerpt(*argv)
    assert answer.code == 2
    assert "No such option" in answer.err
    assert " -- " not in answer.err


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
def test_a_warning_of_a_library_is_not_shown() -> None:
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
def test_exit_codes_distinguish_nothing_found_wrong_usage_and_failure(
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
def test_a_closed_pipe_ends_the_command_silently(tmp_path: Path, vault: Path) -> None:
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
def test_an_interrupt_exits_with_130_without_a_traceback(tmp_path: Path, vault: Path) -> None:
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
def test_file_names_are_read_as_utf8_in_any_locale(
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


def run_in_shell(
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
def test_an_unwritable_output_is_reported(
    tmp_path: Path, vault: Path, argv: tuple[str, ...], redirection: str, reason: str
) -> None:
    code, _, err = run_in_shell(tmp_path, vault, argv, redirection)
    assert (code, unwritten_for(err)) == (3, reason)


@pytest.mark.programs
@STREAMS
@pytest.mark.parametrize("unwritable", [FULL, CLOSED], ids=["full", "closed"])
@pytest.mark.parametrize("argv", PRINTING, ids=" ".join)
def test_every_command_ends_if_its_output_cannot_be_written(
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
def test_an_unwritable_output_is_reported_with_unbuffered_python(
    tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    for argv in (("--help",), ("search", "sync", "--json")):
        code, _, err = run_in_shell(tmp_path, vault, argv, ">/dev/full")
        assert (code, unwritten_for(err)) == (3, FULL[1])


@pytest.mark.programs
@STREAMS
def test_watching_ends_if_its_events_cannot_be_written(tmp_path: Path, vault: Path) -> None:
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
def test_a_closed_input_is_reported(tmp_path: Path, vault: Path, argv: tuple[str, ...], what: str) -> None:
    code, out, err = run_in_shell(tmp_path, vault, argv, "<&-")
    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    assert f"The {what} on stdin" in err
    assert CLOSED[1] in err


@pytest.mark.programs
@STREAMS
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&- 2>&-"])
@pytest.mark.parametrize(("argv", "code"), [(("search", "sync"), 0), (("search",), 2)])
def test_a_command_keeps_its_exit_code_without_stderr(
    tmp_path: Path, vault: Path, argv: tuple[str, ...], code: int, redirection: str
) -> None:
    ended, out, err = run_in_shell(tmp_path, vault, argv, redirection)
    assert (ended, bool(out), err) == (code, code == 0, "")


@pytest.mark.programs
@STREAMS
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize(("argv", "code"), [(("search", '"zzqqxx"'), 1), (("forget", "m0"), 3)])
def test_a_failing_command_keeps_its_exit_code_without_stderr(
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
def test_a_deleted_working_directory_is_reported_if_it_is_needed(
    tmp_path: Path, vault: Path, argv: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "gone").mkdir()
    ended, _, err = run_in_shell(
        tmp_path / "home", vault, argv, "", before=f"cd {tmp_path}/gone && rmdir {tmp_path}/gone &&"
    )
    assert ended == code, err
    assert said in err
    assert "went wrong inside" not in err


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="Windows names no users by ~")
@pytest.mark.parametrize("argv", [("search", "sync"), ("doctor",), ("config",), ()])
def test_an_unknown_home_folder_is_reported(vault: Path, argv: tuple[str, ...]) -> None:
    code, out, err = run_in_shell(Path("~nobody-of-that-name"), vault, argv, "</dev/null")
    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    assert "EXCERPT_HOME" in err


ENGINE = {"whoosh", "model2vec", "numpy", "sqlite3", "splintr", "Stemmer", "markdown_it", "rapidfuzz", "watchfiles"}
SCREEN = {"textual", "rich"}

_RUN = """
import sys, types
from pathlib import Path
if sys.argv[1:2] == ["--app"]:
    opened = types.ModuleType("excerpt.tui.app")
    opened.run_app = lambda *_, **__: None
    sys.modules["excerpt.tui.app"] = opened
    from excerpt.cli import app
    app.start_app(Path(sys.argv[2]))
else:
    from excerpt.cli.main import run
    words = []
    for word in (*sys.argv[1:], "--then"):
        if word != "--then":
            words.append(word)
        elif words:
            run(words)
            words = []
sys.stderr.write("\\n".join({name.partition(".")[0] for name in sys.modules}))
"""


def imported_modules(home: Path, *argv: str | Path) -> set[str]:
    """Return the packages imported after the command, or after the last of several separated by "--then"."""
    environment = {**os.environ, "EXCERPT_HOME": str(home)}
    command = [sys.executable, "-c", _RUN, *map(str, argv)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=True)
    return set(done.stderr.split("\n"))


@pytest.mark.parametrize("argv", [("--version",), ("--help",), ("config",), ("config", "--check"), ("demo", "--path")])
def test_commands_that_do_not_search_import_neither_engine_nor_screen(tmp_path: Path, argv: tuple[str, ...]) -> None:
    assert not imported_modules(tmp_path, *argv) & (ENGINE | SCREEN)


def test_opening_the_app_imports_no_module_of_the_engine(tmp_path: Path, vault: Path) -> None:
    assert not imported_modules(tmp_path, "--app", vault) & ENGINE


@pytest.mark.programs
def test_the_doctor_checks_keys_and_clipboard_without_importing_the_screen(tmp_path: Path, vault: Path) -> None:
    names = imported_modules(tmp_path, "doctor", "--vault", vault, "--fix")
    assert "numpy" in names
    assert "textual" not in names


@pytest.mark.programs
def test_searching_imports_the_engine_and_no_command_on_notes_imports_the_screen(tmp_path: Path, vault: Path) -> None:
    answer, pack = tmp_path / "answer.md", tmp_path / "pack.md"
    answer.write_text("Notes sync [1].\n", encoding="utf-8")
    asked = [(command, "sync conflict") for command in ("search", "pack", "overview", "recall")]
    of_a_pack = ("pack", "sync conflict", "-o", pack), ("check", answer, "--pack", pack)
    names = imported_modules(
        tmp_path, *(word for one in (*asked, *of_a_pack) for word in (*one, "--vault", vault, "--then"))
    )
    assert pack.exists()
    assert "numpy" in names
    assert "textual" not in names


_AGAIN = """
import sys
from excerpt.cli.main import run
from excerpt.index import changes
changes._CLOCK_TICK_NS = 0  # the vault was written just now
assert run(sys.argv[1:]) == 0
sys.stderr.write("\\n" + "\\n".join(sys.modules))
"""


def modules(*argv: str | Path) -> set[str]:
    """Return the modules imported after the command, with the clock's tick set to 0."""
    done = subprocess.run(
        [sys.executable, "-c", _AGAIN, *map(str, argv)], capture_output=True, text=True, encoding="utf-8", check=True
    )
    return set(done.stderr.split("\n"))


@pytest.mark.programs
@pytest.mark.parametrize("command", ["search", "pack", "status"])
def test_an_unchanged_vault_does_not_import_the_builder(vault: Path, command: str) -> None:
    asked = (command, *(() if command == "status" else ("sync conflict",)), "--vault", vault)
    assert "excerpt.index.build" in modules(*asked)
    assert not {"excerpt.index.build", "excerpt.index.pool"} & modules(*asked)
    (vault / "New.md").write_text("A sync conflict.\n", encoding="utf-8")
    assert "excerpt.index.build" in modules(*asked)


@pytest.mark.programs
def test_a_search_imports_neither_the_models_library_nor_explanations(vault: Path) -> None:
    asked = ("search", "sync conflict", "--vault", vault)
    modules(*asked)
    assert not {"model2vec", "joblib", "tqdm", "splintr", "excerpt.search.explain"} & modules(*asked)


@pytest.mark.programs
@pytest.mark.parametrize("command", ["search", "pack"])
def test_a_vault_without_memories_needs_no_reader_of_memories(vault: Path, command: str) -> None:
    asked = (command, "sync conflict", "--vault", vault)
    modules(*asked)
    assert not {"excerpt.memory.store", "yaml"} & modules(*asked)


@pytest.mark.programs
def test_a_search_with_json_does_not_import_the_markdown_parser(vault: Path) -> None:
    """Its text for a reader does: the rows show what Markdown shows, for 25 ms of CPU."""
    asked = ("search", "sync conflict", "--json", "--vault", vault)
    modules(*asked)
    assert "markdown_it" not in modules(*asked)
