"""Run all checks of a vault, its index and the setup, without changing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from excerpt.base.errors import StoreUnusableError
from excerpt.base.settings import Paths, Settings
from excerpt.encoders.model_names import static_model_name
from excerpt.index.verify import IndexHealth, OnExamined
from excerpt.service.diagnosis.index_checks import check_index
from excerpt.service.diagnosis.setup_checks import (
    check_embedder,
    check_folders,
    check_model,
    check_settings_files,
    check_tokenizer,
    check_versions,
)
from excerpt.service.diagnosis.vault_checks import VaultCheck, check_store, check_vault, orphaned_vaults, watch_limit
from excerpt.service.findings import Finding, FindingGroup, run_checks, warning
from excerpt.service.stores import is_address, parse_address


class Diagnosis(Struct, frozen=True):
    """The results of all checks.

    `vault` is the folder of the vault, None if it cannot be read. `folder` is the folder of the index, `health` the
    result of examining it; both are None if there is no index. `settings_valid` is False if an invalid settings file
    was replaced by defaults.
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


def diagnose(
    vault: Path | None,
    paths: Paths,
    tick: OnExamined,
    check_terminal: Callable[[Settings], Iterable[FindingGroup]],
    *,
    version: str,
    quick: bool,
) -> Diagnosis:
    """Run all checks and return their results, in the order of the report; a check that fails becomes a finding.

    `vault` is a folder or the address of a store, None if no vault was ever opened. `tick` is called with the progress.
    `check_terminal` checks what only the caller knows: the terminal, and what the app does in it. `version` is that of
    excerpt. With `quick`, checks that need to read all files again are skipped.
    """
    settings = Settings()
    vault_check = VaultCheck(())
    folder: Path | None = None
    health: IndexHealth | None = None

    def load_settings() -> Iterable[Finding]:
        nonlocal settings
        settings, findings = check_settings_files(paths, _resolve_vault(vault))
        return findings

    def check_named_vault() -> Iterable[Finding]:
        nonlocal vault_check
        if vault is None:
            todo = "Name a vault: `excerpt doctor --vault ~/notes`."
            return (warning("No vault was checked: none is named, and none has been opened yet.", todo),)
        vault_check = check_vault(vault, settings, watch_limit())
        return vault_check.findings

    def check_index_of_vault() -> Iterable[Finding]:
        nonlocal folder, health
        resolved = vault_check.vault or _resolve_vault(vault)
        if resolved is None:
            return ()
        folder = paths.index_folder(resolved)
        health, findings = check_index(folder, vault_check, settings, tick, quick=quick)
        return findings

    settings_group = run_checks("settings", load_settings)
    if vault is not None and is_address(str(vault)):
        vault_group, index_group = run_checks("store", lambda: check_store(str(vault), settings)), run_checks("index")
    else:
        vault_group = run_checks(
            "vault",
            check_named_vault,
            lambda: orphaned_vaults(paths, vault_check.vault or _resolve_vault(vault)),
        )
        index_group = run_checks("index", check_index_of_vault)
    size = health.size if health is not None else 0
    index_model, index_tokenizer = (health.model, health.tokenizer) if health is not None else ("", "")
    groups = (
        vault_group,
        index_group,
        settings_group,
        run_checks(
            "model",
            lambda: check_model(static_model_name(settings.embedding.model), index_model),
            lambda: check_embedder(settings, paths, folder),
            lambda: (check_tokenizer(settings.pack.tokenizer, index_tokenizer),),
        ),
        *check_terminal(settings),
        run_checks("folders", lambda: check_folders(paths, folder, size)),
        run_checks("versions", lambda: check_versions(version)),
    )
    return Diagnosis(
        groups=tuple(each for each in groups if each.findings),
        settings=settings,
        settings_valid=not settings_group.has_problem,
        vault=vault_check.vault,
        folder=folder,
        health=health,
    )


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
