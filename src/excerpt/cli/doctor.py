"""`excerpt doctor`: check a vault, its index and the setup, report problems, and repair what is safe to repair."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt import __version__
from excerpt.base.errors import ExcerptError, VaultError
from excerpt.base.json_forms import attributes_to_json
from excerpt.base.model import Progress
from excerpt.base.patterns import lazy_pattern
from excerpt.base.settings import Paths, open_vault, refuse_folders_in_vault, user_paths
from excerpt.cli.printing import ProgressLine, output_columns, print_json, print_line
from excerpt.cli.vaults import check_is_folder, find_last_vault, vault_parameter
from excerpt.service.stores import is_address
from excerpt.text.display import format_count, visible_line
from excerpt.vault import known_vaults

if TYPE_CHECKING:
    from excerpt.service.diagnosis.diagnose import Diagnosis
    from excerpt.service.diagnosis.repairs import Repairs

_LEVEL_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}
_UPDATE_SECONDS = 0.1  # between two updates of the progress line
_INDENT = " " * 11  # of a sentence, after its level
_COMMAND = lazy_pattern("`[^`]*`|excerpt doctor .*")


@click.command()
@vault_parameter
@click.option("--fix", is_flag=True, help="Update and repair the index, and make excerpt's files private to you.")
@click.option(
    "--adopt",
    metavar="FORMER",
    help="Only transfer the data of another vault: memories, settings and more. FORMER is its present or former path.",
)
@click.option("--quick", is_flag=True, help="Do not read files whose size and time are unchanged.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor_command(vault: Path | None, fix: bool, adopt: str | None, quick: bool, as_json: bool) -> int:
    """Check for problems and say how to fix them.

    Checks the vault and its index (every line range, vector and posting), or the store that --vault names, and the
    settings, model, terminal, keys, editor, clipboard, folders and versions. Prints each result and what to do about
    it. Exits with 3 if there is a problem.
    """
    if adopt is not None:
        if fix or quick or as_json:
            raise click.UsageError(
                "--adopt cannot be combined with --fix, --quick or --json. Use it alone or with --vault."
            )
        chosen = find_last_vault() if vault is None else vault
        check_is_folder(chosen)
        print_line(visible_line(known_vaults.adopt_vault_data(user_paths(), open_vault(chosen), adopt)))
        return 0
    started = time.monotonic()
    folder, paths = _vault_and_paths(vault)
    line = ProgressLine(sys.stderr)
    try:
        diagnosis, repairs = _diagnose_and_repair(folder, paths, _CheckProgress(line), line, fix=fix, quick=quick)
    finally:
        line.clear()
    seconds = time.monotonic() - started
    if as_json:
        print_json(_diagnosis_to_json(diagnosis, repairs, seconds))
    else:
        _print_diagnosis(diagnosis, repairs, seconds)
    return ExcerptError.exit_code if diagnosis.problems else 0


def _vault_and_paths(vault: Path | None) -> tuple[Path | None, Paths]:
    """Return the vault to check, None if no vault was given or opened before, and the paths of excerpt's folders.

    Raises ExcerptError if one of excerpt's folders is unusable.
    """
    paths = user_paths()
    if vault is not None and is_address(str(vault)):
        return vault, paths
    if vault is not None:
        refuse_folders_in_vault(vault.expanduser().resolve(), paths)
        return vault, paths
    try:
        return find_last_vault(), paths
    except VaultError:
        return None, paths


def _diagnose_and_repair(
    folder: Path | None, paths: Paths, check_progress: _CheckProgress, line: ProgressLine, *, fix: bool, quick: bool
) -> tuple[Diagnosis, Repairs | None]:
    """Return the findings of all checks, and with `fix` the repairs, after which the checks are repeated."""
    from excerpt.cli.terminal_checks import check_terminal_and_tools
    from excerpt.service.diagnosis.diagnose import diagnose

    def check_all() -> Diagnosis:
        check_terminal = partial(check_terminal_and_tools, copies=paths.copies_folder())
        return diagnose(folder, paths, check_progress, check_terminal, version=__version__, quick=quick)

    diagnosis = check_all()
    if not fix:
        return diagnosis, None
    from excerpt.service.diagnosis.repairs import repair

    repairs = repair(diagnosis, paths, line)
    return (check_all() if repairs.done else diagnosis), repairs


class _CheckProgress:
    """Shows the progress of the checks on a line of the terminal, at most every _UPDATE_SECONDS."""

    def __init__(self, line: ProgressLine) -> None:
        self._line = line
        self._started = self._last_update = time.monotonic()

    def __call__(self, item: str, done: int, total: int, path: str) -> None:
        now = time.monotonic()
        if now - self._last_update < _UPDATE_SECONDS:
            return
        self._last_update = now
        self._line(
            Progress(
                phase=f"checking {item}",
                notes_done=done,
                notes_total=total,
                bytes_done=0,
                bytes_total=0,
                current=path,
                generation=0,
                skipped=0,
                seconds=now - self._started,
            )
        )


def _diagnosis_to_json(diagnosis: Diagnosis, repairs: Repairs | None, seconds: float) -> dict[str, object]:
    """Return the findings and the repairs as JSON data; `seconds` is the time that the checks took."""
    return {
        **attributes_to_json(diagnosis, "vault", "problems", "warnings", "groups"),
        "done": () if repairs is None else repairs.done,
        "left": () if repairs is None else repairs.left,
        "seconds": round(seconds, 1),
    }


def _print_diagnosis(diagnosis: Diagnosis, repairs: Repairs | None, seconds: float) -> None:
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for group in diagnosis.groups:
        print_line(group.name)
        for finding in group.findings:
            level = f"{finding.level:<8}"
            label = click.style(level, fg=_LEVEL_COLOURS[finding.level]) if coloured else level
            print_line(f"  {label} {_wrap_sentence(visible_line(f'{finding.what} {finding.todo}'.strip()))}")
    if repairs is not None:
        print_line("repairs")
        nothing = () if repairs.done or repairs.left else ("There was nothing to repair.",)
        for title, sentences in (("done", repairs.done), ("left", repairs.left), ("ok", nothing)):
            for sentence in sentences:
                print_line(f"  {title:<8} {_wrap_sentence(visible_line(sentence))}")
    problems, warnings = format_count(diagnosis.problems, "problem"), format_count(diagnosis.warnings, "warning")
    print_line(f"{problems}, {warnings} · {seconds:.1f} s")


def _wrap_sentence(text: str) -> str:
    """Wrap a sentence to the width of the terminal, if stdout is one; a command stays whole, for copying."""
    if not sys.stdout.isatty():
        return text
    width = output_columns() - len(_INDENT)
    joined = _COMMAND.sub(lambda command: command[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(joined, max(width, 1), break_long_words=False, break_on_hyphens=False)
    return f"\n{_INDENT}".join(lines).replace("\0", " ")
