"""Everything that the doctor looks at, in the order in which it is told; nothing of it is changed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.doctor import room, setup, terminal, tools
from excerpt.doctor import vault as vaults
from excerpt.doctor.finding import Finding, Group, problem, warning
from excerpt.doctor.versions import versions
from excerpt.settings import Places, Settings

if TYPE_CHECKING:
    from excerpt.index.health import Health, Tick


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found. `vault` is None where it cannot be read, `health` where there is no index; `settings_valid` says
    that the settings are those of the user, not the defaults in place of a broken file."""

    groups: tuple[Group, ...]
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


def look(given: Path | None, where: Places, tick: Tick, *, quick: bool) -> Diagnosis:
    """Look at all there is, with the vault at `given` (None: none was ever opened). Never raises."""
    settings, of_settings = Settings(), Group("settings", ())
    seen = vaults.Seen(())
    folder: Path | None = None
    health: Health | None = None

    def read_settings() -> Iterable[Finding]:
        nonlocal settings
        settings, findings = setup.read_settings(where, _resolved(given))
        return findings

    def look_at_vault() -> Iterable[Finding]:
        nonlocal seen
        if given is None:
            todo = "Name one: `excerpt doctor --vault ~/notes`."
            return (warning("No vault is named, and none has been opened yet.", todo),)
        seen = vaults.look(given, settings, vaults.watch_limit())
        return seen.findings

    def look_at_index() -> Iterable[Finding]:
        nonlocal folder, health
        resolved = seen.vault or _resolved(given)
        if resolved is None:
            return ()
        folder = where.index_folder(resolved)
        health, findings = _index(folder, seen, settings, tick, quick)
        return findings

    of_settings = group("settings", read_settings)
    of_vault = group("vault", look_at_vault, lambda: vaults.left_behind(where, seen.vault or _resolved(given)))
    of_index = group("index", look_at_index)
    size = health.size if health is not None else 0
    of_index_model, of_index_tokenizer = (health.model, health.tokenizer) if health is not None else ("", "")
    groups = (
        of_vault,
        of_index,
        of_settings,
        group(
            "model",
            lambda: setup.model(settings.embedding.model, of_index_model),
            lambda: (setup.tokenizer(settings.pack.tokenizer, of_index_tokenizer),),
        ),
        *_surroundings(settings, where),
        group("folders", lambda: room.folders(where, folder, size)),
        group("versions", versions),
    )
    return Diagnosis(
        groups=tuple(one for one in groups if one.findings),
        settings=settings,
        settings_valid=not of_settings.has_problem,
        vault=seen.vault,
        folder=folder,
        health=health,
    )


def group(name: str, *parts: Callable[[], Iterable[Finding]]) -> Group:
    """What the parts find. One that fails is a finding too, and the others go on."""
    findings: list[Finding] = []
    for part in parts:
        try:
            findings += part()
        except Exception as error:  # whatever a broken machine makes of a look at it, the rest is still told
            said = f"This could not be looked at ({type(error).__name__}: {error})."
            findings.append(problem(said, "If nothing else here explains it, please report it."))
    return Group(name, tuple(dict.fromkeys(findings)))


def _surroundings(settings: Settings, where: Places) -> Iterator[Group]:
    environment = dict(os.environ)
    encoding = getattr(sys.__stdout__, "encoding", None) or "unknown"
    size = terminal.terminal_size()
    yield group("terminal", lambda: terminal.terminal(environment, sys.platform, size, encoding, terminal.ask))
    yield group("keys", lambda: tools.keys(settings.screen))
    yield group("editor", lambda: tools.editor(settings.screen.editor, environment, shutil.which))
    copies = where.copies_folder()
    yield group("clipboard", lambda: tools.clipboard(environment, shutil.which, sys.platform, copies))


def _index(
    folder: Path, seen: vaults.Seen, settings: Settings, tick: Tick, quick: bool
) -> tuple[Health | None, list[Finding]]:
    from excerpt.doctor.index import findings_of, lock
    from excerpt.index.examine import examine

    try:
        health = examine(folder, seen.vault, seen.scan, settings, tick, quick=quick)
    except FileNotFoundError:
        return None, [warning(f"There is no index yet: {folder}", "`excerpt index` makes it, and so does any search.")]
    return health, [*findings_of(health, quick=quick), lock(folder)]


def _resolved(given: Path | None) -> Path | None:
    """The path of a vault that may not be there."""
    try:
        return None if given is None else given.expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        return None
