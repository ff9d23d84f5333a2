"""Tests of preparing files in worker processes: a bad file blocks no other, and the order is kept."""

from __future__ import annotations

import importlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from excerpt.base.errors import IndexUnusableError
from excerpt.base.model import FileProblem
from excerpt.base.settings import Settings, VaultSettings
from excerpt.index import build as build_module
from excerpt.index import pool as workers_module
from excerpt.index.build import Updater, build
from excerpt.index.in_process import TooLongError, in_process_bytes, prepare_in_process
from excerpt.index.pool import Tick, Workers
from excerpt.index.prepare import FileTask, PreparedFiles, PrepareOptions, prepare
from excerpt.index.worker import Limits
from excerpt.text.numbers import thread_term_encoder

pytestmark = pytest.mark.programs

HASTY = Limits(seconds=1)
"""Limits for files that would never finish."""
NARROW = Limits(memory=600)
LARGE = 300_000
"""The size that a task states for its file, too large to prepare it in the build's own process."""


def prepare_oddly(options: PrepareOptions, tasks: Iterable[FileTask]) -> PreparedFiles:
    """Prepare files as `prepare` does, but misbehave for some file names; runs in workers."""
    return prepare(options, (_be_odd(task) for task in tasks))


def _be_odd(task: FileTask) -> FileTask:
    if task.path.startswith("hang"):
        re.match(r"(a|a)*b", "a" * 60)  # never ends, and blocks all other threads
    if task.path.startswith("sleep"):
        time.sleep(60)
    if task.path.startswith("grow"):
        grown = [b"x" * 10_000_000 for _ in range(100)]
        assert grown
    if task.path.startswith("abort"):
        os.abort()
    if task.path.startswith("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def die_at_once(options: PrepareOptions, tasks: Iterable[FileTask]) -> PreparedFiles:
    os._exit(3)


def name_the_process(options: PrepareOptions, tasks: Iterable[FileTask]) -> PreparedFiles:
    return PreparedFiles(skipped=[FileProblem(task.path, str(os.getpid())) for task in tasks])


@pytest.fixture
def options(tmp_path: Path) -> PrepareOptions:
    return PrepareOptions(tmp_path, "chars/4", VaultSettings())


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., list[FileTask]]:
    """Return a function that writes notes of these names and returns their tasks, each with the stated `size`."""

    def write_notes(*names: str, size: int = LARGE) -> list[FileTask]:
        for name in names:
            (tmp_path / name).write_text(f"# {name}\n\nSome text.\n", encoding="utf-8")
        return [FileTask(name, size, 1, 1) for name in names]

    return write_notes


@pytest.fixture
def odd_workers() -> Iterator[Workers]:
    with Workers(1, HASTY, prepare_oddly) as workers:
        yield workers


def outcomes(prepared: Iterable[PreparedFiles]) -> list[tuple[str, str]]:
    """Return path and reason ("" for a note) of all files, in order of arrival."""
    return [
        found
        for each in prepared
        for found in [(note.path, "") for note in each.notes] + [(one.path, one.reason) for one in each.skipped]
    ]


def ignore_tick(_path: str) -> None:
    pass


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a folder that is somebody's working directory")
def test_workers_start_after_the_working_directory_was_deleted(
    options: PrepareOptions, write: Callable[..., list[FileTask]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = write("a.md")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with Workers(1) as workers:
        assert outcomes(workers.prepare(options, tasks, ignore_tick)) == [("a.md", "")]


def numbered_paths(*bad: str) -> list[str]:
    """Return the names of 40 good notes with the bad ones in between."""
    names = [f"{number:02}.md" for number in range(40)]
    for number, name in enumerate(bad):
        names.insert(7 + 9 * number, name)
    return names


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("hang.md", "Processing the file took longer than 1 s."),
        ("sleep.md", "Processing the file took longer than 1 s."),
        pytest.param(
            "grow.md",
            "Processing the file needs more than 600 MB of memory.",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to the limit"),
        ),
        pytest.param(
            "abort.md",
            "Processing the file needs more than 600 MB of memory.",
            marks=pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to tell deaths by"),
        ),
        pytest.param(
            "kill.md",
            "The process that read the file ended; the file may need more memory than is available.",
            marks=pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL"),
        ),
    ],
)
def test_only_a_file_over_its_limits_is_skipped(
    write: Callable[..., list[FileTask]], options: PrepareOptions, bad: str, reason: str
) -> None:
    names = numbered_paths(bad)
    with Workers(2, HASTY if "took longer" in reason else NARROW, prepare_oddly) as workers:
        done = list(workers.prepare(options, write(*names), ignore_tick))
    assert outcomes(done) == [(name, reason if name == bad else "") for name in names]
    assert [task.path for each in done for task in each.given_up] == [bad]


def test_several_bad_files_do_not_stop_the_others_from_being_read(
    write: Callable[..., list[FileTask]], options: PrepareOptions, odd_workers: Workers
) -> None:
    names = numbered_paths("hang.md", "sleep.md")
    found = outcomes(odd_workers.prepare(options, write(*names), ignore_tick))
    assert [name for name, _ in found] == names
    assert [name for name, reason in found if reason] == ["hang.md", "sleep.md"]


def test_a_larger_file_has_a_longer_time_limit() -> None:
    limits = Limits(seconds=20, seconds_per_mb=5)
    tasks = [FileTask("a.md", size, 1, 1) for size in (0, 999_999, 1_000_000, 16_000_000)]
    assert [limits.seconds_for(task) for task in tasks] == [20, 20, 25, 100]


def test_a_file_with_images_for_ocr_has_a_longer_time_limit() -> None:
    limits = Limits(seconds=20, seconds_per_image=10)
    assert limits.seconds_for(FileTask("scan.pdf", 0, 1, 1, kind="pdf", images=3)) == 50


def test_a_hanging_file_is_named_while_it_is_waited_for(
    write: Callable[..., list[FileTask]], options: PrepareOptions, odd_workers: Workers
) -> None:
    named: list[str] = []
    list(odd_workers.prepare(options, write("a.md", "sleep.md", "b.md"), named.append))
    assert named.count("sleep.md") >= 3


def test_small_files_are_prepared_in_the_builds_own_process(
    write: Callable[..., list[FileTask]], options: PrepareOptions
) -> None:
    with Workers(2, prepare=name_the_process) as workers:
        found = outcomes(workers.prepare(options, write(*numbered_paths(), size=1000), ignore_tick))
        assert workers.processes == []
    assert {reason for _, reason in found} == {str(os.getpid())}


def test_a_large_file_among_small_ones_is_prepared_by_a_worker_in_order(
    write: Callable[..., list[FileTask]], options: PrepareOptions
) -> None:
    tasks = [*write("a.md", size=10), *write("b.md"), *write("c.md", size=10)]
    with Workers(2, prepare=name_the_process) as workers:
        found = outcomes(workers.prepare(options, tasks, ignore_tick))
        (other,) = workers.processes
    assert found == [("a.md", str(os.getpid())), ("b.md", str(other)), ("c.md", str(os.getpid()))]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms")
def test_a_small_file_that_takes_too_long_is_handed_to_a_worker_and_then_given_up(
    write: Callable[..., list[FileTask]], options: PrepareOptions, odd_workers: Workers
) -> None:
    names = ["a.md", "hang.md", "b.md"]
    found = outcomes(odd_workers.prepare(options, write(*names, size=10), ignore_tick))
    assert found == [("a.md", ""), ("hang.md", "Processing the file took longer than 1 s."), ("b.md", "")]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms")
def test_a_file_that_was_slow_once_is_handed_to_a_worker_at_once(
    write: Callable[..., list[FileTask]], options: PrepareOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def interrupted(prepare: object, options: PrepareOptions, tasks: Sequence[FileTask]) -> PreparedFiles:
        tried.extend(task.path for task in tasks)
        raise TooLongError(0)

    monkeypatch.setattr(workers_module, "prepare_in_process", interrupted)
    tasks = write("slow.md", size=10)
    with Workers(1) as workers:
        for _ in range(2):
            assert outcomes(workers.prepare(options, tasks, ignore_tick)) == [("slow.md", "")]
    assert tried == ["slow.md"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms")
def test_a_python_import_that_the_time_limit_interrupts_is_completed(
    options: PrepareOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import signal\nsignal.raise_signal(signal.SIGALRM)\nWHOLE = True\n"
    (tmp_path / "slow_library.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def import_and_wait(_options: PrepareOptions, tasks: Iterable[FileTask]) -> PreparedFiles:
        for _ in tasks:
            importlib.import_module("slow_library")
            time.sleep(60)
        return PreparedFiles()

    with pytest.raises(TooLongError):
        prepare_in_process(import_and_wait, options, [FileTask("a.md", 1, 1, 1)])
    assert sys.modules["slow_library"].WHOLE


class _CutShort(array):  # type: ignore[type-arg] # not at run time before Python 3.12
    """A number array that raises SIGALRM on `append`."""

    def append(self, _number: int) -> None:
        signal.raise_signal(signal.SIGALRM)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms")
def test_an_interrupted_file_does_not_corrupt_the_words_of_the_next(
    write: Callable[..., list[FileTask]], options: PrepareOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = write("first.md", "second.md", size=10)
    numbers = thread_term_encoder()
    monkeypatch.setattr(numbers, "_counts", _CutShort("i", numbers._counts))
    with pytest.raises(TooLongError):
        prepare_in_process(prepare, options, [first])
    monkeypatch.undo()
    found = prepare_in_process(prepare, options, [second]).inverted
    assert (found["text"].terms, found["heading"].terms) == ([b"some", b"text"], [b"md", b"second", b"second.md"])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms")
def test_the_alarm_handler_of_the_program_is_restored_after_preparing_files(
    write: Callable[..., list[FileTask]], options: PrepareOptions
) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with Workers(1) as workers:
        list(workers.prepare(options, write("a.md", size=10), ignore_tick))
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_outside_the_main_thread_only_smaller_files_are_prepared_in_the_builds_own_process() -> None:
    sizes = [in_process_bytes()]
    thread = threading.Thread(target=lambda: sizes.append(in_process_bytes()))
    thread.start()
    thread.join()
    assert sizes[1] < sizes[0] or not hasattr(signal, "setitimer")


def test_workers_are_reused_for_the_next_files(write: Callable[..., list[FileTask]], options: PrepareOptions) -> None:
    with Workers(1) as workers:
        list(workers.prepare(options, write("a.md"), ignore_tick))
        first = workers.processes
        list(workers.prepare(options, write("b.md"), ignore_tick))
        assert workers.processes == first != []


def test_workers_start_again_after_being_closed(write: Callable[..., list[FileTask]], options: PrepareOptions) -> None:
    with Workers(1) as workers:
        list(workers.prepare(options, write("a.md"), ignore_tick))
        workers.close()
        assert workers.processes == []
        assert outcomes(workers.prepare(options, write("b.md"), ignore_tick)) == [("b.md", "")]


def test_unread_results_of_one_run_do_not_appear_in_the_next(
    write: Callable[..., list[FileTask]], options: PrepareOptions
) -> None:
    with Workers(2) as workers:
        left = workers.prepare(options, write(*numbered_paths()), ignore_tick)
        next(left)
        left.close()
        names = [f"new {number}.md" for number in range(20)]
        assert outcomes(workers.prepare(options, write(*names), ignore_tick)) == [(name, "") for name in names]


def test_workers_that_cannot_be_started_are_a_clear_error(
    write: Callable[..., list[FileTask]], options: PrepareOptions
) -> None:
    with (
        Workers(1, prepare=die_at_once) as workers,
        pytest.raises(IndexUnusableError, match="cannot be started: they end with code 3"),
    ):
        list(workers.prepare(options, write("a.md"), ignore_tick))


def test_closing_ends_busy_workers(
    write: Callable[..., list[FileTask]], options: PrepareOptions, odd_workers: Workers
) -> None:
    run = odd_workers.prepare(options, write("a.md", "b.md", "sleep.md"), ignore_tick)
    next(run)
    processes = odd_workers.processes
    run.close()
    odd_workers.close()
    assert processes
    assert not any(is_running(process) for process in processes)


def test_paused_workers_begin_no_further_file(write: Callable[..., list[FileTask]], options: PrepareOptions) -> None:
    let_go, done = threading.Event(), threading.Event()
    found: list[PreparedFiles] = []

    def run() -> None:
        with Workers(1, is_paused=lambda: not let_go.is_set()) as workers:
            found.extend(workers.prepare(options, write("a.md"), ignore_tick))
        done.set()

    threading.Thread(target=run).start()
    assert not done.wait(0.5)
    let_go.set()
    assert done.wait(60)
    assert outcomes(found) == [("a.md", "")]


def test_workers_do_not_poll_while_enough_results_wait(
    write: Callable[..., list[FileTask]], options: PrepareOptions
) -> None:
    looks: list[float] = []

    def held() -> bool:
        looks.append(time.monotonic())
        return False

    with Workers(2, is_paused=held) as workers:
        run = workers.prepare(options, write(*[f"{number}.md" for number in range(60)]), ignore_tick)
        next(run)
        time.sleep(3)
        since = time.monotonic() - 1
        assert len([look for look in looks if look > since]) < 50
        assert len(list(run)) == 59


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("name", ["a.md", "hang.md"])
def test_workers_end_with_their_killed_build(write: Callable[..., list[FileTask]], tmp_path: Path, name: str) -> None:
    write("first.md", name)
    script = f"""
import os, signal, time
from pathlib import Path
from excerpt.index.prepare import PrepareOptions, FileTask
from excerpt.base.settings import VaultSettings
from excerpt.index.worker import Limits
from excerpt.index.pool import Tick, Workers
from tests.index.test_pool import prepare_oddly
if __name__ == "__main__":
    workers = Workers(1, Limits(seconds=1), prepare_oddly)
    for path in ("first.md", {name!r}):
        options = PrepareOptions(Path({str(tmp_path)!r}), "chars/4", VaultSettings())
        run = workers.prepare(options, [FileTask(path, {LARGE}, 1, 1)], ticked)
        next(run)
"""
    ticked = """
def ticked(path):
    if path != "first.md":
        print(workers.processes[0], flush=True)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
"""
    (tmp_path / "parent.py").write_text(ticked + script, encoding="utf-8")
    root = Path(__file__).parents[2]
    parent = subprocess.run(
        [sys.executable, str(tmp_path / "parent.py")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    worker = int(parent.stdout)
    until = time.monotonic() + 60
    while is_running(worker) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_running(worker)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A zombie process counts as ended: in a container it may never be collected.
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


# --- in a build -------------------------------------------------------------------------------------------------------


@pytest.fixture
def odd_build_tasks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects every path that such workers are asked to prepare."""
    asked: list[str] = []

    class Asked(Workers):
        def prepare(
            self, options: PrepareOptions, tasks: Sequence[FileTask], tick: Tick
        ) -> Generator[PreparedFiles, None, None]:
            asked.extend(task.path for task in tasks)
            return super().prepare(options, tasks, tick)

    monkeypatch.setattr(build_module, "Workers", lambda **_: Asked(1, HASTY, prepare_oddly))
    return asked


def test_a_file_that_was_given_up_is_retried_only_after_a_change(
    vault: Path, index: Path, settings: Settings, odd_build_tasks: list[str]
) -> None:
    reason = "Processing the file took longer than 1 s."
    bad = vault / "sleep.md"
    (vault / "a.md").write_text("# A\n", encoding="utf-8")
    bad.write_text("x" * LARGE, encoding="utf-8")
    assert build(vault, index, settings).skipped == (FileProblem("sleep.md", reason),)
    assert odd_build_tasks.count("sleep.md") == 1

    (vault / "a.md").write_text("# Another\n", encoding="utf-8")
    again = build(vault, index, settings)
    assert (again.changed, again.skipped) == (1, (FileProblem("sleep.md", reason),))
    assert odd_build_tasks.count("sleep.md") == 1

    with closing(Updater(vault, index, settings)) as updater:
        assert updater.update(["a.md"]).skipped == (FileProblem("sleep.md", reason),)
    build(vault, index, settings)
    assert odd_build_tasks.count("sleep.md") == 1

    bad.write_text("y" * LARGE + "!", encoding="utf-8")
    build(vault, index, settings)
    assert odd_build_tasks.count("sleep.md") == 2

    bad.rename(vault / "good.md")
    done = build(vault, index, settings)
    assert (done.added, done.skipped) == (1, ())


def test_a_note_that_grew_over_the_limit_is_no_longer_found(
    vault: Path, index: Path, settings: Settings, odd_build_tasks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = vault / "sleep.md"
    with monkeypatch.context() as before:
        before.setattr(build_module, "Workers", Workers)
        note.write_text("# Good\n", encoding="utf-8")
        assert build(vault, index, settings).added == 1
    note.write_text("x" * LARGE, encoding="utf-8")
    assert build(vault, index, settings).removed == 1
    build(vault, index, settings)
    assert odd_build_tasks == ["sleep.md"]
