"""The command with which a user adds packages to the environment of excerpt, which never runs it itself."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PIPX_FILE = "pipx_metadata.json"
_UV_FILE = "uv-receipt.toml"
"""Files by which pipx and `uv tool` recognise their environments."""
_FOLDER_KEYS = ("editable", "directory", "path")


def install_command(requirements: Sequence[str]) -> str:
    """Return the command that installs packages beside excerpt, for its pipx, uv or pip, to be pasted into a shell."""
    environment = Path(sys.prefix)
    if (environment / _PIPX_FILE).is_file():
        words = ["pipx", "inject", environment.name, *requirements]
    elif (environment / _UV_FILE).is_file():
        try:
            words = _uv_tool_command(environment / _UV_FILE, requirements)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):  # a receipt of another version of uv
            words = _uv_pip_command(requirements)
    elif find_spec("pip") is None:  # an environment made by uv has none
        words = _uv_pip_command(requirements)
    else:
        words = [sys.executable, "-m", "pip", "install", *requirements]
    return quote_command(words)


def quote_command(words: Sequence[str]) -> str:
    """Return a command as text that the shell of the system reads as these words."""
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def extra_command(extra: str) -> str:
    """Return the command that installs the packages of an extra such as "mcp"."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        requirements = requires("excerpt") or ()
    except PackageNotFoundError:  # run from its source alone
        return install_command([f"excerpt[{extra}]"])
    listed = (text.partition(";") for text in requirements)
    marker = f'extra=="{extra}"'
    packages = [text.strip() for text, _, condition in listed if condition.replace("'", '"').replace(" ", "") == marker]
    return install_command(packages)


def extra_hint(extra: str) -> str:
    """Return the hint of an error that an extra such as "mcp" would prevent."""
    return f"Run: {extra_command(extra)}"


def _uv_pip_command(requirements: Sequence[str]) -> list[str]:
    return ["uv", "pip", "install", "--python", sys.executable, *requirements]


def _uv_tool_command(receipt: Path, requirements: Sequence[str]) -> list[str]:
    """Return the command that installs the tool again, as it is and with more packages.

    `uv pip install` would be undone by the next `uv tool upgrade`.
    """
    import tomllib

    entries: list[Mapping[str, Any]] = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"]
    installed = {entry["name"]: entry for entry in entries}
    itself = installed.pop("excerpt", {"name": "excerpt"})
    packages = [*map(_to_requirement, installed.values()), *requirements]
    added = [word for package in packages for word in ("--with", package)]
    return ["uv", "tool", "install", *added, *(["--editable"] if "editable" in itself else []), _to_requirement(itself)]


def _to_requirement(entry: Mapping[str, Any]) -> str:
    """Return an entry of uv's receipt (its list of installed packages) as an argument for uv's commands."""
    extras = f"[{','.join(entry['extras'])}]" if entry.get("extras") else ""
    if folder := next((entry[key] for key in _FOLDER_KEYS if key in entry), ""):
        return f"{folder}{extras}"
    repository, _, revision = entry.get("git", "").partition("?")  # such as "rev=v1"
    address = f"git+{repository}@{revision.partition('=')[2]}".rstrip("@") if repository else entry.get("url", "")
    return f"{entry['name']}{extras}{f' @ {address}' if address else entry.get('specifier', '')}"
