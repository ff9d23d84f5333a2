"""Installing excerpt in the configuration of agents: tools (MCP), a skill, and on request the prompt hook.

A change is computed first and shown as a diff; it is written only after that. Text that is not understood is never
changed. A file as it was before is kept, so that removing the installation restores its bytes.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError

from excerpt.agents import json_text
from excerpt.errors import ExcerptError
from excerpt.processes import excerpt_command, find_program
from excerpt.settings import Paths
from excerpt.state_files import read_limited, read_value, replace_file, write_value

AGENTS = ("claude", "codex", "cursor", "vscode")
HOOK_AGENTS = ("claude", "codex")
"""Agents whose prompt hook may add text to a prompt; that of Cursor may only refuse one."""
SKILL_FILE = Path(__file__).parent / "plugin" / "skills" / "excerpt" / "SKILL.md"
NAME = "excerpt"
_HOOK_SECONDS = 5  # after which an agent gives up on the hook, which itself ends after .5 s
_MAX_BYTES = 10_000_000
_HOOK_PATH = ("hooks", "UserPromptSubmit")


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """The files of an agent's configuration that excerpt changes, for one user or one project.

    `hooks` is None for an agent without a prompt hook that may add text.
    """

    tools: Path
    skill: Path
    hooks: Path | None


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one file: its text before (None: no such file) and after (None: the file is removed)."""

    file: Path
    before: str | None
    after: str | None

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            str(self.file) if self.before is not None else "/dev/null",
            str(self.file) if self.after is not None else "/dev/null",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file as it was before excerpt changed it: the copy ("" if there was no file), and a digest of what we wrote."""

    copy: str
    digest: str


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files that excerpt has changed, by path."""

    files: dict[str, KeptFile]


@dataclass(frozen=True, slots=True)
class Installed:
    """What is installed for an agent, for the user or in a project; `problem` says why a file cannot be read."""

    agent: str
    scope: str
    tools: bool
    skill: bool
    hook: bool
    problem: str = ""

    @property
    def is_any(self) -> bool:
        """Whether anything is installed."""
        return self.tools or self.skill or self.hook


# --- where ------------------------------------------------------------------------------------------------------------


def agent_files(agent: str, project: Path | None) -> AgentFiles:
    """Return the files of an agent's configuration for the user, or of the folder `project`."""
    home = project or Path.home()
    match agent:
        case "claude":
            tools = home / ".mcp.json" if project else home / ".claude.json"
            return AgentFiles(tools, _skill(home / ".claude"), home / ".claude" / "settings.json")
        case "codex":
            folder = home / ".codex"
            return AgentFiles(folder / "config.toml", _skill(home / ".agents"), folder / "hooks.json")
        case "cursor":
            return AgentFiles(home / ".cursor" / "mcp.json", _skill(home / ".cursor"), None)
        case _:
            tools = home / ".vscode" / "mcp.json" if project else _vscode_user_folder() / "mcp.json"
            return AgentFiles(tools, _skill(home / (".github" if project else ".copilot")), None)


def _skill(folder: Path) -> Path:
    return folder / "skills" / NAME / "SKILL.md"


def _vscode_user_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Code" / "User"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming")) / "Code" / "User"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "Code" / "User"


# --- what -------------------------------------------------------------------------------------------------------------


def server_command(vaults: Sequence[str], *, no_memory: bool = False) -> list[str]:
    """Return the command that starts the MCP server for these vaults, with the full path of the program."""
    return [*_program(), "mcp", *(["--no-memory"] if no_memory else []), *vaults]


def server_entry(agent: str, command: Sequence[str]) -> dict[str, object]:
    """Return the entry of the MCP server in the JSON configuration of an agent."""
    launch: dict[str, object] = {"command": command[0], "args": list(command[1:])}
    return {"type": "stdio", **launch} if agent == "vscode" else launch


def server_table(command: Sequence[str]) -> str:
    """Return the table of the MCP server in the TOML configuration of Codex."""
    lines = (f"[mcp_servers.{NAME}]", f"command = {json.dumps(command[0])}", f"args = {json.dumps(list(command[1:]))}")
    return "\n".join(lines) + "\n"  # a string of JSON is one of TOML too


def _program() -> list[str]:
    program = find_program("excerpt")
    return [program] if program else excerpt_command()


def _hook_entry(agent: str, vaults: Sequence[str]) -> dict[str, object]:
    command = shlex.join([*_program(), "agents", "hook", agent, *vaults])
    return {"hooks": [{"type": "command", "command": command, "timeout": _HOOK_SECONDS}]}


# --- changes ----------------------------------------------------------------------------------------------------------


def plan_install(agent: str, vaults: Sequence[str], project: Path | None, *, hook: bool) -> tuple[Edit, ...]:
    """Return the changes that install excerpt for an agent; none if it is installed so already.

    Raises ExcerptError for a file that cannot be read or understood, and for a hook that the agent does not have.
    """
    files = agent_files(agent, project)
    if hook and files.hooks is None:
        raise ExcerptError(
            f"The prompt hook of {agent} cannot add text to a prompt.", f"Hooks are for {' and '.join(HOOK_AGENTS)}."
        )
    edits = [_plan_tools(agent, files.tools, server_command(vaults)), _plan_skill(files.skill)]
    if hook and files.hooks is not None:
        edits.append(_plan_hook(files.hooks, _hook_entry(agent, vaults)))
    return tuple(edit for edit in edits if edit.before != edit.after)


def _plan_tools(agent: str, file: Path, command: Sequence[str]) -> Edit:
    before = _read(file)
    if file.suffix == ".toml":
        return Edit(file, before, _with_table(file, before or "", command))
    entry = server_entry(agent, command)
    path = _tools_path(agent)
    if before is not None and _value_at(file, before, path) == entry:
        return Edit(file, before, before)
    return Edit(file, before, _edit_json(file, lambda: json_text.set_member(before or "", path, entry)))


def _plan_skill(file: Path) -> Edit:
    return Edit(file, _read(file), SKILL_FILE.read_text(encoding="utf-8"))


def _plan_hook(file: Path, entry: dict[str, object]) -> Edit:
    before = _read(file)
    text = before or ""
    if entry in _hook_groups(file, text):
        return Edit(file, before, before)
    own = _own_hooks(file, text)

    def edit() -> str:
        cleaned = json_text.remove_elements(text, _HOOK_PATH, own) if own else text
        return json_text.append_element(cleaned, _HOOK_PATH, entry)

    return Edit(file, before, _edit_json(file, edit))


def plan_uninstall(agent: str, project: Path | None, paths: Paths) -> tuple[Edit, ...]:
    """Return the changes that remove excerpt from an agent's configuration; none if it is not installed.

    A file that was not changed since excerpt wrote it gets its former bytes. Raises ExcerptError for a file that cannot
    be read or understood.
    """
    files, kept = agent_files(agent, project), read_value(_kept_file(paths), KeptFiles, KeptFiles({}))
    edits = []
    for file in (files.tools, files.skill, files.hooks):
        before = None if file is None else _read(file)
        if file is None or before is None:
            continue
        former = kept.files.get(str(file))
        if former is not None and former.digest == _digest(before):
            edits.append(Edit(file, before, _read(Path(former.copy)) if former.copy else None))
        elif file == files.skill:
            edits.append(Edit(file, before, None if _is_own_skill(before) else before))
        else:
            edits.append(Edit(file, before, _without_own(agent, file, before, is_hooks=file == files.hooks)))
    return tuple(edit for edit in edits if edit.before != edit.after)


def _without_own(agent: str, file: Path, text: str, *, is_hooks: bool) -> str:
    if file.suffix == ".toml":
        return _with_table(file, text, None)
    if is_hooks:
        own = _own_hooks(file, text)
        return _edit_json(file, lambda: json_text.remove_elements(text, _HOOK_PATH, own)) if own else text
    return _edit_json(file, lambda: json_text.remove_member(text, _tools_path(agent)))


def install(edits: Sequence[Edit], paths: Paths) -> None:
    """Write the changes of an installation, and keep each file as it was before the first one.

    Raises ExcerptError for a file that cannot be written; files before it stay written.
    """
    kept = dict(read_value(_kept_file(paths), KeptFiles, KeptFiles({})).files)
    for edit in edits:
        former = kept.get(str(edit.file))
        copy = former.copy if former is not None else _keep(edit, paths)
        _write(edit)
        kept[str(edit.file)] = KeptFile(copy, _digest(edit.after or ""))
        write_value(_kept_file(paths), KeptFiles(kept), lasting=True)


def uninstall(edits: Sequence[Edit], paths: Paths) -> None:
    """Write the changes that remove an installation. Raises ExcerptError for a file that cannot be written."""
    kept = dict(read_value(_kept_file(paths), KeptFiles, KeptFiles({})).files)
    for edit in edits:
        _write(edit)
        if kept.pop(str(edit.file), None) is not None:
            write_value(_kept_file(paths), KeptFiles(kept), lasting=True)


def _write(edit: Edit) -> None:
    """Write or remove a file. A link to a file is followed, so that the link stays."""
    file = edit.file.resolve()
    try:
        _refuse_read_only(file)
        if edit.after is not None:
            mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
            replace_file(file, edit.after.encode(), lasting=True, mode=mode)
            return
        file.unlink(missing_ok=True)
        if file.parent.name == NAME:
            with suppress(OSError):
                file.parent.rmdir()
    except OSError as error:
        raise ExcerptError(
            f"Cannot change {edit.file}: {error.strerror}.", "Make the change shown above by hand."
        ) from None


def _refuse_read_only(file: Path) -> None:
    """Raise PermissionError for a file without write permission: replacing it would succeed all the same."""
    if file.exists() and not os.access(file, os.W_OK):
        raise PermissionError(13, "it is read-only")


def _keep(edit: Edit, paths: Paths) -> str:
    """Copy the file before a change to excerpt's own folder, and return the path of the copy; "" for a new file."""
    if edit.before is None:
        return ""
    name = f"{datetime.now():%Y%m%d-%H%M%S}-{_digest(str(edit.file))[:8]}-{edit.file.name}"
    copy = paths.agents_folder / name
    replace_file(copy, edit.before.encode(), lasting=True)
    return str(copy)


# --- status -----------------------------------------------------------------------------------------------------------


def installed(agent: str, project: Path | None) -> Installed:
    """Return what of excerpt is installed for an agent."""
    files, scope = agent_files(agent, project), "user" if project is None else "project"
    try:
        tools = _read(files.tools)
        has_tools = tools is not None and _has_tools(agent, files.tools, tools)
        skill = _read(files.skill)
        hooks = None if files.hooks is None else _read(files.hooks)
        has_hook = files.hooks is not None and hooks is not None and bool(_own_hooks(files.hooks, hooks))
    except ExcerptError as error:
        return Installed(agent, scope, tools=False, skill=False, hook=False, problem=error.message)
    return Installed(agent, scope, has_tools, skill is not None and _is_own_skill(skill), has_hook)


def _has_tools(agent: str, file: Path, text: str) -> bool:
    if file.suffix == ".toml":
        return NAME in _parse_toml(file, text).get("mcp_servers", {})
    return _value_at(file, text, _tools_path(agent)) is not None


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(file: Path) -> str | None:
    """Return the text of a configuration file with its line ends, None if there is no such file."""
    try:
        return read_limited(file, _MAX_BYTES).decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ExcerptError(f"Cannot read {file}: {error.strerror}.", "Nothing was changed.") from None
    except UnicodeDecodeError:
        raise ExcerptError(f"Cannot read {file}: it is not UTF-8.", "Nothing was changed.") from None


def _edit_json(file: Path, edit: Callable[[], str]) -> str:
    """Return the text that `edit` makes of a JSON file. Raises ExcerptError if the file is not understood."""
    try:
        changed = edit()
        json.loads(changed)
    except (ValueError, RecursionError) as error:
        raise _not_understood(file, error) from None
    return changed


def _parse_json(file: Path, text: str) -> dict[str, object]:
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise _not_understood(file, error) from None
    if not isinstance(value, dict):
        raise _not_understood(file, ValueError("it is not an object"))
    return value


def _not_understood(file: Path, error: Exception) -> ExcerptError:
    return ExcerptError(
        f"Cannot understand {file}: {error}.",
        "It was left alone. Repair it, or add by hand what `excerpt mcp --print-config` prints.",
    )


def _value_at(file: Path, text: str, path: Sequence[str]) -> object:
    value: object = _parse_json(file, text)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _tools_path(agent: str) -> tuple[str, ...]:
    return ("servers" if agent == "vscode" else "mcpServers", NAME)


def _hook_groups(file: Path, text: str) -> list[object]:
    groups = _value_at(file, text, _HOOK_PATH)
    return groups if isinstance(groups, list) else []


def _own_hooks(file: Path, text: str) -> list[int]:
    """Return the indexes of the prompt hooks that are excerpt's."""
    return [index for index, group in enumerate(_hook_groups(file, text)) if " agents hook " in json.dumps(group)]


def _is_own_skill(text: str) -> bool:
    return text.startswith("---\nname: excerpt\n")


def _parse_toml(file: Path, text: str) -> TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise _not_understood(file, error) from None


def _with_table(file: Path, text: str, command: Sequence[str] | None) -> str:
    """Return TOML text with the table of excerpt's server for `command`, or without it for None."""
    document = _parse_toml(file, text)
    servers = document.get("mcp_servers", {})
    if command is None:
        if NAME in servers:
            del servers[NAME]
        return tomlkit.dumps(document)
    if NAME in servers:
        for key, value in (("command", command[0]), ("args", list(command[1:]))):
            if servers[NAME].get(key) != value:
                servers[NAME][key] = value
        return tomlkit.dumps(document)
    separator = "\n" if text.strip() else ""
    added = f"{text.rstrip()}\n{separator}{server_table(command)}" if text.strip() else server_table(command)
    _parse_toml(file, added)  # refuses servers in one line, which cannot be extended by a table
    return added


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _kept_file(paths: Paths) -> Path:
    return paths.agents_folder / "files.json"
