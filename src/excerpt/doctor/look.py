"""Run all checks of the doctor, in the order of the report, without changing anything."""

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
from excerpt.doctor.checks import Finding, FindingGroup, format_names, megabytes, ok, problem, versions, warning
from excerpt.doctor.stores import check_store
from excerpt.errors import StoreUnusableError
from excerpt.index.verify import Fault, Health, RepairPart, Stale
from excerpt.index.writer import LOCK
from excerpt.processes import find_program
from excerpt.settings import Paths, Settings
from excerpt.state_files import file_lock
from excerpt.store.address import is_address, parse_address
from excerpt.text.display import format_count

if TYPE_CHECKING:
    from excerpt.index.verify import Health, Tick


# --- index ------------------------------------------------------------------------------------------------------------
# Findings about the index, and which process is writing it.

_NAMED = 5
_FIX = "Run `excerpt doctor --fix`"
_HOW = {
    RepairPart.CATALOG: f"{_FIX}: it rebuilds everything from the vault.",
    RepairPart.NOTE: f"{_FIX}: it reads the note again.",
    RepairPart.WORDS: f"{_FIX}: it rebuilds the words from the catalog.",
    RepairPart.VECTORS: f"{_FIX}: it rebuilds the vectors from the catalog.",
}


def findings_of(health: Health, *, quick: bool) -> Iterator[Finding]:
    """Yield the findings about an existing index."""
    if health.generation:
        size_text = f"{format_count(health.notes, 'note')}, {format_count(health.fragments, 'fragment')}"
        yield ok(f"Generation {health.generation}: {size_text}, {megabytes(health.size)}")
    yield from _stale(health)
    for part in RepairPart:
        yield from _faults([fault for fault in health.faults if fault.part is part])
    if health.generation and not any(fault.part is RepairPart.CATALOG for fault in health.faults):
        yield from _agreements(health, quick=quick)
    for stale_part in health.outdated:
        yield warning(f"Out of date: {stale_part}.", "The next `excerpt index` updates it.")
    yield from _left(health)
    for reason, number in health.skipped.most_common():
        yield ok(f"{format_count(number, 'file')} skipped: {reason} (`excerpt status` lists them)")


def _stale(health: Health) -> Iterator[Finding]:
    for why in Stale:
        paths = [path for path, reason in health.stale if reason is why]
        if paths:
            message = f"Not indexed yet, {why}: {format_count(len(paths), 'note')} ({format_names(paths)})"
            yield warning(f"{message}.", "Run `excerpt index`, or the next search does it.")


def _faults(faults: list[Fault]) -> Iterator[Finding]:
    for fault in faults[:_NAMED]:
        yield problem(f"{fault.path}: {fault.reason}", _HOW[fault.part])
    if len(faults) > _NAMED:
        yield problem(f"And {len(faults) - _NAMED:,} more of this kind.", _HOW[faults[0].part])


def _agreements(health: Health, *, quick: bool) -> Iterator[Finding]:
    """Yield findings about the parts of the index that agree with their source."""
    faulty_parts = {fault.part for fault in health.faults}
    if RepairPart.NOTE not in faulty_parts:
        more = "" if quick else ", and splitting the text again gives the same fragments"
        yield ok(f"The line ranges of {format_count(health.fragments, 'fragment')} match their text{more}")
    if RepairPart.WORDS not in faulty_parts and health.postings:
        yield ok(f"{format_count(health.postings, 'posting')} and all lengths match the text")
    if RepairPart.VECTORS not in faulty_parts and health.vectors:
        more = "" if quick or health.outdated else ", and the model computes the same"
        yield ok(f"{format_count(health.vectors, 'vector')} are the same in the catalog and the matrix{more}")
    if quick:
        yield ok("Words, vectors and unchanged files were not checked (--quick)")


def _left(health: Health) -> Iterator[Finding]:
    before = [(name, size) for name, size, newer in health.leftovers if not newer]
    if before:
        total = megabytes(sum(size for _, size in before))
        yield ok(
            f"{format_count(len(before), 'file')} ({total}) of the previous generation; the next build removes them"
        )
    newer = [name for name, _, newer in health.leftovers if newer]
    if newer:
        yield warning(
            f"Left by an interrupted build, or not part of the index: {format_names(newer)}.",
            f"{_FIX}, if no build is running.",
        )


def lock(folder: Path) -> Finding:
    """Return whether a process writes the index, and which; the system releases the lock when its holder ends."""
    try:
        with file_lock(folder / LOCK, 0):
            return ok("No process is writing it")
    except Timeout:
        holder = _holder(folder / LOCK)
        return ok(f"It is being written by {holder or 'another process'}")
    except OSError as error:
        return problem(f"Its lock cannot be taken: {error.strerror or error}.", "Give permission in the index folder.")


def _holder(file: Path) -> str:
    """Return the process that holds a lock on `file`, from Linux's /proc/locks; "" if unknown."""
    with suppress(OSError, ValueError):
        status = file.stat()
        lock_key = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if len(fields) > 5 and fields[5] == lock_key and "->" not in fields:
                command = Path(f"/proc/{int(fields[4])}/cmdline").read_bytes().decode("utf-8", "replace")
                return f"process {fields[4]} ({' '.join(command.split(chr(0))).strip()})"
    return ""


# --- all of it --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of all checks.

    `vault` is None if it cannot be read, `health` if there is no index; `settings_valid` is False if a broken settings
    file was replaced by defaults.
    """

    groups: tuple[FindingGroup, ...]
    settings: Settings
    settings_valid: bool
    vault: Path | None
    folder: Path | None
    health: Health | None

    @property
    def problems(self) -> int:
        return sum(finding.level == "problem" for group in self.groups for finding in group.findings)

    @property
    def warnings(self) -> int:
        return sum(finding.level == "warning" for group in self.groups for finding in group.findings)


def diagnose(vault: Path | None, paths: Paths, tick: Tick, *, quick: bool) -> Diagnosis:
    """Run all checks, with the vault at `vault`, a folder or the address of a store. Never raises.

    `vault` is None if no vault was ever opened.
    """
    settings, of_settings = Settings(), FindingGroup("settings", ())
    vault_check = checks.VaultCheck(())
    folder: Path | None = None
    health: Health | None = None

    def read_settings() -> Iterable[Finding]:
        nonlocal settings
        settings, findings = checks.read_settings(paths, _resolve_vault(vault))
        return findings

    def check_named_vault() -> Iterable[Finding]:
        nonlocal vault_check
        if vault is None:
            todo = "Name one: `excerpt doctor --vault ~/notes`."
            return (warning("No vault is named, and none has been opened yet.", todo),)
        vault_check = checks.check_vault(vault, settings, checks.watch_limit())
        return vault_check.findings

    def check_index() -> Iterable[Finding]:
        nonlocal folder, health
        resolved = vault_check.vault or _resolve_vault(vault)
        if resolved is None:
            return ()
        folder = paths.index_folder(resolved)
        health, findings = _index(folder, vault_check, settings, tick, quick)
        return findings

    of_settings = group("settings", read_settings)
    if vault is not None and is_address(str(vault)):
        of_vault, of_index = group("store", lambda: check_store(str(vault), settings)), group("index")
    else:
        of_vault = group(
            "vault",
            check_named_vault,
            lambda: checks.orphaned_vaults(paths, vault_check.vault or _resolve_vault(vault)),
        )
        of_index = group("index", check_index)
    size = health.size if health is not None else 0
    of_index_model, of_index_tokenizer = (health.model, health.tokenizer) if health is not None else ("", "")
    groups = (
        of_vault,
        of_index,
        of_settings,
        group(
            "model",
            lambda: checks.model(settings.embedding.model, of_index_model),
            lambda: (checks.tokenizer(settings.pack.tokenizer, of_index_tokenizer),),
        ),
        *_surroundings(settings, paths),
        group("folders", lambda: checks.folders(paths, folder, size)),
        group("versions", versions),
    )
    return Diagnosis(
        groups=tuple(each for each in groups if each.findings),
        settings=settings,
        settings_valid=not of_settings.has_problem,
        vault=vault_check.vault,
        folder=folder,
        health=health,
    )


def group(name: str, *parts: Callable[[], Iterable[Finding]]) -> FindingGroup:
    """Run checks as one group. A check that raises becomes a finding too, and the others continue."""
    findings: list[Finding] = []
    for part in parts:
        try:
            findings += part()
        except Exception as error:  # a check that fails must not hide the others
            message = f"This check failed ({type(error).__name__}: {error})."
            findings.append(problem(message, "If no other line explains it, please report it."))
    return FindingGroup(name, tuple(dict.fromkeys(findings)))


def _surroundings(settings: Settings, paths: Paths) -> Iterator[FindingGroup]:
    environment = dict(os.environ)
    encoding = getattr(sys.__stdout__, "encoding", None) or "unknown"
    size = checks.terminal_size()
    yield group("terminal", lambda: checks.terminal(environment, sys.platform, size, encoding, checks.run_command))
    yield group("keys", lambda: checks.keys(settings.screen))
    yield group("editor", lambda: checks.editor(settings.screen.editor, environment, find_program))
    copies = paths.copies_folder()
    yield group("clipboard", lambda: checks.clipboard(environment, find_program, sys.platform, copies))


def _index(
    folder: Path, vault_check: checks.VaultCheck, settings: Settings, tick: Tick, quick: bool
) -> tuple[Health | None, list[Finding]]:
    from excerpt.index.verify import examine

    try:
        health = examine(folder, vault_check.vault, vault_check.scan, settings, tick, quick=quick)
    except FileNotFoundError:
        return None, [warning(f"There is no index yet: {folder}", "`excerpt index` or any search builds it.")]
    return health, [*findings_of(health, quick=quick), lock(folder)]


def _resolve_vault(vault: Path | None) -> Path | None:
    """Return the path of a vault that may not exist, or the path that stands for a store."""
    try:
        if is_address(str(vault)):
            return parse_address(str(vault)).folder
        return None if vault is None else vault.expanduser().resolve()
    except (OSError, RuntimeError, ValueError, StoreUnusableError):
        return None
