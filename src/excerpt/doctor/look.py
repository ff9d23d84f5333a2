"""Run all checks of `excerpt doctor`, in the order of its report, without changing anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import Timeout

from excerpt.doctor import checks
from excerpt.doctor.checks import Finding, FindingGroup, check_versions, format_names, megabytes, ok, problem, warning
from excerpt.doctor.stores import check_store
from excerpt.encoders.model_names import static_model
from excerpt.errors import StoreUnusableError
from excerpt.index.verify import Fault, IndexHealth, RepairPart, StaleReason
from excerpt.index.writer import LOCK_FILE
from excerpt.processes import find_program
from excerpt.settings import Paths, Settings
from excerpt.state_files import file_lock
from excerpt.store.address import is_address, parse_address
from excerpt.text.display import format_count

if TYPE_CHECKING:
    from excerpt.index.verify import IndexHealth, OnExamined


# --- index ------------------------------------------------------------------------------------------------------------
# Findings about the index, and which process is writing it.

_MAX_LISTED_FAULTS = 5
_FIX_COMMAND = "Run `excerpt doctor --fix`"
_REPAIR_HINTS = {
    RepairPart.CATALOG: f"{_FIX_COMMAND}: it rebuilds everything from the vault.",
    RepairPart.NOTE: f"{_FIX_COMMAND}: it reads the note again.",
    RepairPart.WORDS: f"{_FIX_COMMAND}: it rebuilds the words from the catalog.",
    RepairPart.VECTORS: f"{_FIX_COMMAND}: it rebuilds the vectors from the catalog.",
}


def check_health(health: IndexHealth, *, quick: bool) -> Iterator[Finding]:
    """Yield findings about an examined index; with `quick`, words, vectors and unchanged files were not examined."""
    if health.generation:
        size_text = f"{format_count(health.notes, 'note')}, {format_count(health.fragments, 'fragment')}"
        yield ok(f"The index has generation {health.generation}: {size_text}, {megabytes(health.size)}")
    yield from _stale_findings(health)
    for part in RepairPart:
        yield from _fault_findings([fault for fault in health.faults if fault.part is part])
    if health.generation and not any(fault.part is RepairPart.CATALOG for fault in health.faults):
        yield from _intact_findings(health, quick=quick)
    for stale_part in health.outdated:
        yield warning(f"A part of the index is out of date: {stale_part}.", "Update it with `excerpt index`.")
    yield from _leftover_findings(health)
    for reason, number in health.skipped.most_common():
        skipped = format_count(number, "file was", "files were")
        yield ok(f"{skipped} skipped: {reason} (`excerpt status` lists the files)")


def _stale_findings(health: IndexHealth) -> Iterator[Finding]:
    for why in StaleReason:
        paths = [path for path, reason in health.stale if reason is why]
        if paths:
            notes = format_count(len(paths), "note is", "notes are")
            yield warning(
                f"The index is not up to date: {notes} {why} ({format_names(paths)}).",
                "Run `excerpt index`. The next search also updates the index.",
            )


def _fault_findings(faults: list[Fault]) -> Iterator[Finding]:
    for fault in faults[:_MAX_LISTED_FAULTS]:
        yield problem(f"{fault.path}: {fault.reason}", _REPAIR_HINTS[fault.part])
    if len(faults) > _MAX_LISTED_FAULTS:
        more = format_count(len(faults) - _MAX_LISTED_FAULTS, "more fault")
        yield problem(f"The index has {more} of this kind.", _REPAIR_HINTS[faults[0].part])


def _intact_findings(health: IndexHealth, *, quick: bool) -> Iterator[Finding]:
    """Yield findings about the parts of the index that agree with their source."""
    faulty_parts = {fault.part for fault in health.faults}
    if RepairPart.NOTE not in faulty_parts:
        more = "" if quick else ", and splitting the text again gives the same fragments"
        yield ok(f"The line ranges of {format_count(health.fragments, 'fragment')} match their text{more}")
    if RepairPart.WORDS not in faulty_parts and health.postings:
        yield ok(f"{format_count(health.postings, 'posting')} and the lengths of all fragments match their text")
    if RepairPart.VECTORS not in faulty_parts and health.vectors:
        more = "" if quick or health.outdated else ", and the model computes the same"
        verb = "is" if health.vectors == 1 else "are"
        vectors = format_count(health.vectors, "vector")
        yield ok(f"{vectors} {verb} the same in the catalog and the matrix file{more}")
    if quick:
        yield ok("Words, vectors and unchanged files were not checked (--quick)")


def _leftover_findings(health: IndexHealth) -> Iterator[Finding]:
    before = [(name, size) for name, size, newer in health.leftovers if not newer]
    if before:
        total = megabytes(sum(size for _, size in before))
        files = format_count(len(before), "file is", "files are")
        yield ok(f"{files} of the previous generation of the index ({total}), which the next build removes")
    newer = [name for name, _, newer in health.leftovers if newer]
    if newer:
        yield warning(
            f"The index folder has files that are not part of the index: {format_names(newer)}."
            " An interrupted build may have left them.",
            f"{_FIX_COMMAND} when no build is running: it removes them.",
        )


def check_lock(folder: Path) -> Finding:
    """Return a finding that says whether a process is writing the index, and which, by the lock of the index."""
    try:
        with file_lock(folder / LOCK_FILE, 0):
            return ok("No process is writing it")
    except Timeout:
        holder = _lock_holder(folder / LOCK_FILE)
        return ok(f"It is being written by {holder or 'another process'}")
    except OSError as error:
        return problem(
            f"The lock file of the index cannot be opened: {error.strerror or error}.",
            f"Permit reading and writing in {folder}.",
        )


def _lock_holder(file: Path) -> str:
    """Return the process that holds the lock on `file`, such as "process 17 (excerpt)"; "" if unknown.

    It is found in Linux's /proc/locks.
    """
    with suppress(OSError, ValueError):
        status = file.stat()
        lock_key = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if len(fields) > 5 and fields[5] == lock_key and "->" not in fields:
                command = Path(f"/proc/{int(fields[4])}/cmdline").read_bytes().decode("utf-8", "replace")
                return f"process {fields[4]} ({' '.join(command.split(chr(0))).strip()})"
    return ""


# --- all checks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The results of all checks.

    `vault` is the folder of the vault, None if it cannot be read. `folder` is the folder of the index, `health` the
    result of examining it; both are None if there is none. `settings_valid` is False if an invalid settings file was
    replaced by defaults.
    """

    groups: tuple[FindingGroup, ...]
    settings: Settings
    settings_valid: bool
    vault: Path | None
    folder: Path | None
    health: IndexHealth | None

    @property
    def problems(self) -> int:
        return sum(finding.level == "problem" for group in self.groups for finding in group.findings)

    @property
    def warnings(self) -> int:
        return sum(finding.level == "warning" for group in self.groups for finding in group.findings)


def diagnose(vault: Path | None, paths: Paths, tick: OnExamined, *, quick: bool) -> Diagnosis:
    """Run all checks and return their results; a check that fails becomes a finding.

    `vault` is a folder or the address of a store, None if no vault was ever opened. `tick` is called with the progress.
    With `quick`, checks that need to read all files again are skipped.
    """
    settings, settings_group = Settings(), FindingGroup("settings", ())
    vault_check = checks.VaultCheck(())
    folder: Path | None = None
    health: IndexHealth | None = None

    def check_settings_files() -> Iterable[Finding]:
        nonlocal settings
        settings, findings = checks.check_settings_files(paths, _resolve_vault(vault))
        return findings

    def check_named_vault() -> Iterable[Finding]:
        nonlocal vault_check
        if vault is None:
            todo = "Name a vault: `excerpt doctor --vault ~/notes`."
            return (warning("No vault was checked: none is named, and none has been opened yet.", todo),)
        vault_check = checks.check_vault(vault, settings, checks.watch_limit())
        return vault_check.findings

    def check_index() -> Iterable[Finding]:
        nonlocal folder, health
        resolved = vault_check.vault or _resolve_vault(vault)
        if resolved is None:
            return ()
        folder = paths.index_folder(resolved)
        health, findings = _check_index_folder(folder, vault_check, settings, tick, quick)
        return findings

    settings_group = run_checks("settings", check_settings_files)
    if vault is not None and is_address(str(vault)):
        vault_group, index_group = run_checks("store", lambda: check_store(str(vault), settings)), run_checks("index")
    else:
        vault_group = run_checks(
            "vault",
            check_named_vault,
            lambda: checks.orphaned_vaults(paths, vault_check.vault or _resolve_vault(vault)),
        )
        index_group = run_checks("index", check_index)
    size = health.size if health is not None else 0
    index_model, index_tokenizer = (health.model, health.tokenizer) if health is not None else ("", "")
    groups = (
        vault_group,
        index_group,
        settings_group,
        run_checks(
            "model",
            lambda: checks.check_model(static_model(settings.embedding.model), index_model),
            lambda: checks.check_embedder(settings, paths, folder),
            lambda: (checks.check_tokenizer(settings.pack.tokenizer, index_tokenizer),),
        ),
        *_check_surroundings(settings, paths),
        run_checks("folders", lambda: checks.check_folders(paths, folder, size)),
        run_checks("versions", check_versions),
    )
    return Diagnosis(
        groups=tuple(each for each in groups if each.findings),
        settings=settings,
        settings_valid=not settings_group.has_problem,
        vault=vault_check.vault,
        folder=folder,
        health=health,
    )


def run_checks(name: str, *parts: Callable[[], Iterable[Finding]]) -> FindingGroup:
    """Run `parts`, the checks of one subject, and return their findings; a check that raises becomes a finding too."""
    findings: list[Finding] = []
    for part in parts:
        try:
            findings += part()
        except Exception as error:  # a check that fails must not hide the others
            message = f"A check of the {name} failed ({type(error).__name__}: {error})."
            findings.append(problem(message, "If no other line explains this error, please report it."))
    return FindingGroup(name, tuple(dict.fromkeys(findings)))


def _check_surroundings(settings: Settings, paths: Paths) -> Iterator[FindingGroup]:
    environment = dict(os.environ)
    encoding = getattr(sys.__stdout__, "encoding", None) or "unknown"
    size = checks.terminal_size()
    yield run_checks(
        "terminal",
        lambda: checks.check_terminal(environment, sys.platform, size, encoding, checks.run_program_for_output),
    )
    yield run_checks("keys", lambda: checks.check_keys(settings.screen))
    yield run_checks("editor", lambda: checks.check_editor(settings.screen.editor, environment, find_program))
    copies = paths.copies_folder()
    yield run_checks("clipboard", lambda: checks.check_clipboard(environment, find_program, sys.platform, copies))


def _check_index_folder(
    folder: Path, vault_check: checks.VaultCheck, settings: Settings, tick: OnExamined, quick: bool
) -> tuple[IndexHealth | None, list[Finding]]:
    from excerpt.index.verify import examine

    try:
        health = examine(folder, vault_check.vault, vault_check.scan, settings, tick, quick=quick)
    except FileNotFoundError:
        return None, [warning(f"There is no index in {folder} yet.", "Build it with `excerpt index` or any search.")]
    return health, [*check_health(health, quick=quick), check_lock(folder)]


def _resolve_vault(vault: Path | None) -> Path | None:
    """Return the resolved path of a vault that may not exist; for a store, the path that stands for its address.

    Returns None if there is no vault, or its path cannot be resolved.
    """
    try:
        if is_address(str(vault)):
            return parse_address(str(vault)).folder
        return None if vault is None else vault.expanduser().resolve()
    except (OSError, RuntimeError, ValueError, StoreUnusableError):
        return None
