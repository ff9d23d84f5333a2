"""A vault, with what is to be known before it can be shown: read beside the event loop."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from excerpt.moved_vaults import recognise
from excerpt.settings import Places, Settings, check_apart, open_vault, settings_of
from excerpt.tui.session import NEW, Session, read_session


@dataclass(frozen=True, slots=True)
class Opening:
    """`session` is where the user was in it the last time; `said` is what came along from where it was before."""

    vault: Path
    settings: Settings
    session: Session
    said: str = ""


def opening(path: Path, places: Places, home: Path) -> Opening:
    """What is needed to open the vault at `path`; `home` is the user's. Raises VaultError, SettingsError."""
    vault = open_vault(path)
    check_apart(vault, places, home)
    said = " ".join(recognise(places, vault))
    settings = settings_of(vault, places)
    return Opening(vault, settings, session_of(vault, settings, places), said)


def session_of(vault: Path, settings: Settings, places: Places) -> Session:
    return read_session(places.session_file(vault)) if settings.screen.restore else NEW
