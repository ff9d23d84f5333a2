"""Installing excerpt in the configuration of agents: tools (MCP), a skill, and on request the prompt hook.

A change is computed first and shown as a diff; it is written only after that. Text that is not understood is never
changed, and nothing that excerpt cannot prove to be its own: a server or a hook by its command, a skill by its text. A
file as it was before is kept, so that removing the installation restores its bytes.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import ParamSpec, TypeVar

import tomlkit
from msgspec import Struct
from tomlkit.exceptions import TOMLKitError

from excerpt.base.errors import ExcerptError
from excerpt.base.processes import excerpt_command, find_program
from excerpt.base.settings import Paths
from excerpt.base.state_files import read_limited, read_value, replace_file, write_value
from excerpt.servers.agents import json_text

AGENTS = ("claude", "codex", "cursor", "vscode")
HOOK_AGENTS = ("claude", "codex")
"""Agents whose prompt hook may add text to a prompt; that of Cursor may only refuse one."""
SKILL_FILE = Path(__file__).parent / "plugin" / "skills" / "excerpt" / "SKILL.md"
NAME = "excerpt"
_HOOK_SECONDS = 5  # after which an agent gives up on the hook, which itself ends after 2 s
_MAX_BYTES = 10_000_000
_HOOK_PATH = ("hooks", "UserPromptSubmit")
_NO_MEMORY = "--no-memory"
_PYTHON_OPTIONS = ("-P", "-E", "-s", "-X", "utf8")  # what excerpt_command writes before "-m excerpt"

Found = TypeVar("Found")
Arguments = ParamSpec("Arguments")


class AgentFiles(Struct, frozen=True):
    """The files of an agent's configuration that excerpt changes, for one user or one project.

    `hooks` is None for an agent without a prompt hook that may add text.
    """

    tools: Path
    skill: Path
    hooks: Path | None


class FileEdit(Struct, frozen=True):
    """A change of one file: its text before (None: there is no file) and after (None: the file is removed).

    `file` is the path without links, so that what is shown is what is written.
    """

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


class KeptFile(Struct, frozen=True):
    """The original of a file that excerpt changed: its copy ("" if there was no file), and a digest of the new text.

    `copy` is None if somebody else changed the file between two installations, because restoring the copy would undo
    that change too.
    """

    copy: str | None
    digest: str


class KeptFiles(Struct, frozen=True):
    """The files that excerpt has changed, by path."""

    files: dict[str, KeptFile]


class Installation(Struct, frozen=True):
    """What is installed for an agent, for the user or in a project.

    `vaults` are those that the tools ask, `hook_vaults` those of the hook. `problem` says which file cannot be read, or
    has an entry of somebody else under excerpt's name.
    """

    agent: str
    scope: str
    tools: bool
    skill: bool
    hook: bool
    vaults: Sequence[str] = ()
    hook_vaults: Sequence[str] = ()
    problem: str = ""

    @property
    def has_any_part(self) -> bool:
        """Whether anything is installed."""
        return self.tools or self.skill or self.hook

    def describe(self) -> str:
        """Return in words what is installed: "the tools and the skill for /home/ada/notes"."""
        parts = []
        if self.tools:
            parts.append(f"the tools for {', '.join(self.vaults) or 'the vault last opened'}")
        if self.skill:
            parts.append("the skill")
        if self.hook:
            parts.append(f"the prompt hook for {', '.join(self.hook_vaults)}")
        return ", ".join(parts)


class OwnHook(Struct, frozen=True):
    """A prompt hook of excerpt: its group's index in the list, its index in the group, its command and its vaults."""

    group: int
    index: int
    command: str
    vaults: Sequence[str]


def agent_files(agent: str, project: Path | None) -> AgentFiles:
    """Return the files of an agent's configuration for the user, or of the folder `project`."""
    home = project or Path.home()
    match agent:
        case "claude":
            tools = home / ".mcp.json" if project else home / ".claude.json"
            return AgentFiles(tools, _skill_file(home / ".claude"), home / ".claude" / "settings.json")
        case "codex":
            folder = home / ".codex"
            return AgentFiles(folder / "config.toml", _skill_file(home / ".agents"), folder / "hooks.json")
        case "cursor":
            return AgentFiles(home / ".cursor" / "mcp.json", _skill_file(home / ".cursor"), None)
        case _:
            tools = home / ".vscode" / "mcp.json" if project else _vscode_user_folder() / "mcp.json"
            return AgentFiles(tools, _skill_file(home / (".github" if project else ".copilot")), None)


def _resolve_settings_file(file: Path, project: Path | None) -> Path:
    """Return a file's path without links, which come with a cloned project. Raises ExcerptError if it is outside it."""
    try:
        resolved = file.resolve()
    except (OSError, RuntimeError):
        raise ExcerptError(f"Cannot read {file}: its links lead in a circle.", "Nothing was changed.") from None
    if project is not None and not resolved.is_relative_to(project.resolve()):
        raise ExcerptError(
            f"{file} leads out of the project, to {resolved}.", "Remove the link, or install without --project."
        )
    return resolved


def _skill_file(folder: Path) -> Path:
    return folder / "skills" / NAME / "SKILL.md"


def _vscode_user_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Code" / "User"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming")) / "Code" / "User"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "Code" / "User"


def server_command(vaults: Sequence[str], *, no_memory: bool = False) -> list[str]:
    """Return the command that starts the MCP server for these vaults, with the full path of the program."""
    return [*_program_command(), "mcp", *([_NO_MEMORY] if no_memory else []), *vaults]


def server_entry(agent: str, command: Sequence[str]) -> dict[str, object]:
    """Return the entry of the MCP server in the JSON configuration of an agent."""
    launch: dict[str, object] = {"command": command[0], "args": list(command[1:])}
    return {"type": "stdio", **launch} if agent == "vscode" else launch


def server_table(command: Sequence[str]) -> str:
    """Return the table of the MCP server in the TOML configuration of Codex."""
    lines = (f"[mcp_servers.{NAME}]", f"command = {json.dumps(command[0])}", f"args = {json.dumps(list(command[1:]))}")
    return "\n".join(lines) + "\n"  # a string of JSON is one of TOML too


def _program_command() -> list[str]:
    program = find_program("excerpt")
    return [program] if program else excerpt_command()


def _hook_command(agent: str, vaults: Sequence[str]) -> str:
    return shlex.join([*_program_command(), "agents", "hook", agent, *vaults])


def _merge_vaults(installed: Sequence[str], added: Sequence[str]) -> list[str]:
    """Return the vaults of an installation and the added vaults; folders that are missing are left out.

    With a missing folder, the MCP server would not start.
    """
    kept = [vault for vault in installed if "://" in vault or Path(vault).expanduser().is_dir()]
    return list(dict.fromkeys((*kept, *added)))


def _parse_own_arguments(words: Sequence[object], *verb: str) -> list[str] | None:
    """Return the words after `verb` in a command of excerpt, None if it runs another program or another command."""
    names = [word for word in words if isinstance(word, str)]
    if not names or len(names) < len(words):
        return None
    program = Path(names[0]).name
    start = 1
    if program.startswith("python"):
        start += next((index for index, word in enumerate(names[1:]) if word not in _PYTHON_OPTIONS), 0) + 2
        program = NAME if names[start - 2 : start] == ["-m", NAME] else ""
    arguments = names[start:]
    if program not in (NAME, f"{NAME}.exe"):
        return None
    return arguments[len(verb) :] if tuple(arguments[: len(verb)]) == verb else None


def _parse_own_server(server: object) -> list[str] | None:
    """Return the arguments of `excerpt mcp` in the entry of a server, None if excerpt has not written it."""
    if not isinstance(server, Mapping) or not isinstance(server.get("args"), list):
        return None
    arguments = _parse_own_arguments([server.get("command"), *server["args"]], "mcp")
    is_known = arguments is not None and not any(word.startswith("-") and word != _NO_MEMORY for word in arguments)
    return arguments if is_known else None


def _find_own_hooks(file: Path, text: str) -> list[OwnHook]:
    """Return the prompt hooks that excerpt has written; a hook with another command belongs to somebody else."""
    found = []
    for group_index, group in enumerate(_list_elements(_parse_json(file, text, _HOOK_PATH))):
        hooks = _list_elements(group.get("hooks")) if isinstance(group, Mapping) else []
        for index, hook in enumerate(hooks):
            command = hook.get("command") if isinstance(hook, Mapping) else None
            arguments = (
                _parse_own_arguments(_split_command(command), "agents", "hook") if isinstance(command, str) else None
            )
            if arguments and arguments[0] in AGENTS:
                found.append(OwnHook(group_index, index, str(command), arguments[1:]))
    return found


def _split_command(command: str) -> list[str]:
    """Return the words of a shell command without operators or variables, as excerpt writes it; [] for any other."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return words if shlex.join(words) == command else []


def _list_elements(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _is_own_skill(text: str, former: KeptFile | None) -> bool:
    """Return whether excerpt has written the text of a skill, now or in an earlier version."""
    return _normalise_line_ends(text) == _skill_text() or (former is not None and former.digest == _digest(text))


def _skill_text() -> str:
    return SKILL_FILE.read_text(encoding="utf-8")


def _normalise_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n")  # git may have written the files of a project with other line ends


def _make_foreign_error(file: Path, what: str) -> ExcerptError:
    return ExcerptError(f"{file} {what}.", "Rename or remove the file, then install again.")


def plan_install(
    agent: str, vaults: Sequence[str], project: Path | None, paths: Paths, *, hook: bool
) -> tuple[FileEdit, ...]:
    """Return the changes that install excerpt for an agent; () if nothing has to change.

    `vaults` are added to the installed ones. Raises ExcerptError for a file that cannot be read or understood, for an
    entry that somebody else wrote under excerpt's name, for a file outside the project, and for a hook that the agent
    does not have.
    """
    files = agent_files(agent, project)
    if hook and files.hooks is None:
        raise ExcerptError(
            f"Nothing was installed: {agent} has no prompt hook that can add text to a prompt.",
            f"Install without --hook. Hooks are for {' and '.join(HOOK_AGENTS)}.",
        )
    edits = [
        _plan_tools(agent, _resolve_settings_file(files.tools, project), vaults),
        _plan_skill(_resolve_settings_file(files.skill, project), paths),
    ]
    if hook and files.hooks is not None:
        edits.append(_plan_hook(agent, _resolve_settings_file(files.hooks, project), vaults))
    return tuple(edit for edit in edits if edit.before != edit.after)


def _plan_tools(agent: str, file: Path, vaults: Sequence[str]) -> FileEdit:
    before = _read_settings_file(file)
    text = before or ""
    arguments = _find_installed_server(agent, file, text) or []
    named = [word for word in arguments if word != _NO_MEMORY]
    command = server_command(_merge_vaults(named, vaults), no_memory=_NO_MEMORY in arguments)
    entry = server_entry(agent, command)
    after = _add_server_table(file, text, entry) if agent == "codex" else _add_server_members(agent, file, text, entry)
    if _parse_own_server(_read_server_entry(agent, file, after)) != _parse_own_server(
        entry
    ):  # as in a table that TOML cannot extend
        raise _make_parse_error(file, ValueError("the server that excerpt adds would not be in effect"))
    return FileEdit(file, before, before if after == text else after)


def _add_server_members(agent: str, file: Path, text: str, entry: Mapping[str, object]) -> str:
    """Return JSON text with the server of excerpt; other members of the server's entry are kept."""
    path = _tools_path(agent)
    present = _parse_json(file, text, path)
    if not isinstance(present, Mapping):
        return _edit_json(file, json_text.set_member, text, path, entry)
    for key, value in entry.items():
        if present.get(key) != value:
            text = _edit_json(file, json_text.set_member, text, (*path, key), value)
    return text


def _plan_skill(file: Path, paths: Paths) -> FileEdit:
    before = _read_settings_file(file)
    if before is not None and not _is_own_skill(before, _read_kept_files(paths).get(str(file))):
        raise _make_foreign_error(file, "is a skill that excerpt has not written, or that was changed since")
    is_current = before is not None and _normalise_line_ends(before) == _skill_text()
    return FileEdit(file, before, before if is_current else _skill_text())


def _plan_hook(agent: str, file: Path, vaults: Sequence[str]) -> FileEdit:
    before = _read_settings_file(file)
    text = before or ""
    own = _find_own_hooks(file, text)
    command = _hook_command(agent, _merge_vaults([vault for hook in own for vault in hook.vaults], vaults))
    if not own:
        entry = {"hooks": [{"type": "command", "command": command, "timeout": _HOOK_SECONDS}]}
        return FileEdit(file, before, _edit_json(file, json_text.append_element, text, _HOOK_PATH, entry))
    first, *others = own
    after = _remove_hooks(file, text, others)
    if first.command != command:
        place = (*_HOOK_PATH, first.group, "hooks", first.index, "command")
        after = _edit_json(file, json_text.set_member, after, place, command)
    return FileEdit(file, before, after)


def _remove_hooks(file: Path, text: str, hooks: Sequence[OwnHook]) -> str:
    """Return JSON text without these hooks, and without groups that become empty."""
    for hook in reversed(hooks):
        group = _parse_json(file, text, (*_HOOK_PATH, hook.group))
        is_alone = isinstance(group, Mapping) and list(group) == ["hooks"] and len(_list_elements(group["hooks"])) == 1
        path, index = (_HOOK_PATH, hook.group) if is_alone else ((*_HOOK_PATH, hook.group, "hooks"), hook.index)
        text = _edit_json(file, json_text.remove_elements, text, path, [index])
    return text


def plan_uninstall(agent: str, project: Path | None, paths: Paths) -> tuple[FileEdit, ...]:
    """Return the changes that remove excerpt from an agent's configuration; () if it is not installed.

    A file that was not changed since excerpt wrote it gets its former bytes. Raises ExcerptError for a file that cannot
    be read or understood, or that is outside the project.
    """
    files, kept = agent_files(agent, project), _read_kept_files(paths)
    edits = []
    for part in (files.tools, files.skill, files.hooks):
        file = None if part is None else _resolve_settings_file(part, project)
        before = None if file is None else _read_settings_file(file)
        if file is None or before is None:
            continue
        former = kept.get(str(file))
        is_unchanged = former is not None and former.digest == _digest(before)
        if former is not None and is_unchanged and former.copy == "":
            edits.append(FileEdit(file, before, None))
        elif (
            former is not None
            and is_unchanged
            and former.copy
            and (copy := _read_settings_file(Path(former.copy))) is not None
        ):
            edits.append(FileEdit(file, before, copy))
        elif part == files.skill:
            edits.append(FileEdit(file, before, None if _is_own_skill(before, former) else before))
        else:
            edits.append(FileEdit(file, before, _remove_own_entries(agent, file, before, is_hooks=part == files.hooks)))
    return tuple(edit for edit in edits if edit.before != edit.after)


def _remove_own_entries(agent: str, file: Path, text: str, *, is_hooks: bool) -> str:
    if is_hooks:
        return _remove_hooks(file, text, _find_own_hooks(file, text))
    if _parse_own_server(_read_server_entry(agent, file, text)) is None:
        return text
    if agent == "codex":
        return _add_server_table(file, text, None)
    return _edit_json(file, json_text.remove_member, text, _tools_path(agent))


def install(edits: Sequence[FileEdit], paths: Paths) -> None:
    """Write the changes of an installation, and save a copy of each file as it was before excerpt's first change.

    Raises ExcerptError for a file that cannot be written; files that were written before stay changed.
    """
    kept = dict(_read_kept_files(paths))
    for edit in edits:
        former = kept.get(str(edit.file))
        if edit.before is None:
            copy: str | None = ""
        elif former is None:
            copy = _keep_copy(edit.file, edit.before, paths)
        else:
            copy = former.copy if former.digest == _digest(edit.before) else None
        _write_edit(edit)
        kept[str(edit.file)] = KeptFile(copy, _digest(edit.after or ""))
        write_value(_kept_files_path(paths), KeptFiles(kept), lasting=True)


def uninstall(edits: Sequence[FileEdit], paths: Paths) -> None:
    """Write the changes that remove an installation. Raises ExcerptError for a file that cannot be written."""
    kept = dict(_read_kept_files(paths))
    for edit in edits:
        _write_edit(edit)
        if kept.pop(str(edit.file), None) is not None:
            write_value(_kept_files_path(paths), KeptFiles(kept), lasting=True)


def _write_edit(edit: FileEdit) -> None:
    """Write or remove a file. Raises ExcerptError if it has changed since the change was shown."""
    file = edit.file
    if file.resolve() != file or _read_settings_file(file) != edit.before:
        raise ExcerptError(f"{file} was changed meanwhile.", "Run the command again.")
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
        raise ExcerptError(f"Cannot change {file}: {error.strerror}.", "Make the change shown above by hand.") from None


def _refuse_read_only(file: Path) -> None:
    """Raise PermissionError for a file without write permission, because replacing the file would succeed anyway."""
    if file.exists() and not os.access(file, os.W_OK):
        raise PermissionError(13, "it is read-only")


def _keep_copy(file: Path, text: str, paths: Paths) -> str:
    """Write the text of a file before a change to excerpt's own folder, and return the path of this copy."""
    copy = paths.agents_folder / f"{datetime.now():%Y%m%d-%H%M%S}-{_digest(str(file))[:8]}-{file.name}"
    replace_file(copy, text.encode(), lasting=True)
    return str(copy)


def read_installation(agent: str, project: Path | None, paths: Paths) -> Installation:
    """Return which parts of excerpt are installed for an agent."""
    files, problems = agent_files(agent, project), []

    def look(file: Path | None, find: Callable[[Path, str], Found]) -> Found | None:
        try:
            file = None if file is None else _resolve_settings_file(file, project)
            text = None if file is None else _read_settings_file(file)
            return None if file is None or text is None else find(file, text)
        except ExcerptError as error:
            problems.append(error.message)
            return None

    tools = look(files.tools, lambda file, text: _find_installed_server(agent, file, text))
    skill = look(files.skill, lambda file, text: _is_own_skill(text, _read_kept_files(paths).get(str(file))))
    if skill is False:
        problems.append(f"{files.skill} is not the skill that excerpt writes.")
    hooks = look(files.hooks, _find_own_hooks) or []
    return Installation(
        agent,
        "user" if project is None else "project",
        tools is not None,
        bool(skill),
        bool(hooks),
        tuple(word for word in tools or () if word != _NO_MEMORY),
        tuple(dict.fromkeys(vault for hook in hooks for vault in hook.vaults)),
        " ".join(problems),
    )


def _find_installed_server(agent: str, file: Path, text: str) -> list[str] | None:
    """Return the arguments of the installed server; None if there is none. Raises ExcerptError if it is another's."""
    server = _read_server_entry(agent, file, text)
    arguments = _parse_own_server(server)
    if server is not None and arguments is None:
        raise _make_foreign_error(file, f"has a server called {NAME} that excerpt has not written")
    return arguments


def _read_server_entry(agent: str, file: Path, text: str) -> object:
    """Return the entry of the server called excerpt in a configuration; None if there is no such entry."""
    if agent != "codex":
        return _parse_json(file, text, _tools_path(agent))
    try:
        servers = tomllib.loads(text).get("mcp_servers")
    except (ValueError, RecursionError) as error:
        raise _make_parse_error(file, error) from None
    return servers.get(NAME) if isinstance(servers, dict) else None


def _read_settings_file(file: Path) -> str | None:
    """Return the text of a configuration file with its line ends, None if there is no such file."""
    try:
        if file.exists() and not file.is_file():
            raise ExcerptError(f"Cannot read {file}: it is not a file.", "Nothing was changed.")
        return read_limited(file, _MAX_BYTES).decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ExcerptError(f"Cannot read {file}: {error.strerror}.", "Nothing was changed.") from None
    except UnicodeDecodeError:
        raise ExcerptError(f"Cannot read {file}: it is not UTF-8.", "Nothing was changed.") from None


def _edit_json(file: Path, edit: Callable[Arguments, str], *args: Arguments.args, **kwargs: Arguments.kwargs) -> str:
    """Return the JSON text that `edit` returns, called with `args`. Raises ExcerptError if the file is invalid JSON."""
    try:
        changed = edit(*args, **kwargs)
        json.loads(changed)
    except (ValueError, RecursionError) as error:
        raise _make_parse_error(file, error) from None
    return changed


def _parse_json(file: Path, text: str, path: Sequence[json_text.Key]) -> object:
    """Return the value at `path` in the JSON of a file; None if there is none. Raises ExcerptError for invalid JSON."""
    try:
        return json_text.parse_value(text, path)
    except (ValueError, RecursionError) as error:
        raise _make_parse_error(file, error) from None


def _make_parse_error(file: Path, error: Exception) -> ExcerptError:
    return ExcerptError(
        f"Cannot understand {file}: {error}.",
        "The file was not changed. Repair the file, or add by hand what `excerpt mcp --print-config` prints.",
    )


def _tools_path(agent: str) -> tuple[str, ...]:
    return ("servers" if agent == "vscode" else "mcpServers", NAME)


def _add_server_table(file: Path, text: str, entry: Mapping[str, object] | None) -> str:
    """Return TOML text with `entry` as the table of excerpt's server, or without this table for None."""
    try:
        document = tomlkit.parse(text)
        servers = document.get("mcp_servers", {})
        if not isinstance(servers, dict):
            raise _make_parse_error(file, ValueError("mcp_servers is not a table"))
        if entry is None:
            del servers[NAME]
            return tomlkit.dumps(document)
        if NAME in servers:
            for key, value in entry.items():
                if servers[NAME].get(key) != value:
                    servers[NAME][key] = value
            return tomlkit.dumps(document)
    except TOMLKitError as error:
        raise _make_parse_error(file, error) from None
    table = server_table([str(entry["command"]), *map(str, _list_elements(entry["args"]))])
    return f"{text.rstrip()}\n\n{table}" if text.strip() else table


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read_kept_files(paths: Paths) -> Mapping[str, KeptFile]:
    return read_value(_kept_files_path(paths), KeptFiles, KeptFiles({})).files


def _kept_files_path(paths: Paths) -> Path:
    return paths.agents_folder / "files.json"
