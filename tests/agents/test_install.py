"""Installing in the configuration of agents: undone byte for byte, and never in a file that is not understood."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from excerpt.agents.install import (
    AGENTS,
    HOOK_AGENTS,
    SKILL_FILE,
    agent_files,
    install,
    installed,
    plan_install,
    plan_uninstall,
    uninstall,
)
from excerpt.errors import ExcerptError
from excerpt.settings import user_paths
from excerpt.text.tokens import open_tokenizer

VAULT = "/home/ada/notes"
JSON = '{\n\t"theme": "dark",\n\t"mcpServers": {"other": {"command": "x", "args": [1,2]}},\n\t"servers": {}\n}'
TOML = 'model = "o5"  # mine\n\n[mcp_servers.other]\ncommand = "x"\n\n[features]\nhooks = true\n'
HOOKS = '{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}], "Stop": []}}\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "excerpt"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def put(agent: str, *, hook: bool = False, vault: str = VAULT, project: Path | None = None) -> None:
    install(plan_install(agent, [vault], project, hook=hook), user_paths())


def take(agent: str, project: Path | None = None) -> None:
    uninstall(plan_uninstall(agent, project, user_paths()), user_paths())


def write_existing(agent: str, project: Path | None = None) -> dict[Path, bytes]:
    files = agent_files(agent, project)
    texts = {files.tools: TOML if files.tools.suffix == ".toml" else JSON}
    if files.hooks is not None:
        texts[files.hooks] = HOOKS
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return {file: text.encode() for file, text in texts.items()}


def all_files(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("is_project", [False, True])
def test_an_empty_configuration_is_empty_again_after_uninstall(agent: str, is_project: bool, home: Path) -> None:
    project = home / "project" if is_project else None
    put(agent, hook=agent in HOOK_AGENTS, project=project)
    assert installed(agent, project).is_any
    take(agent, project)
    assert all_files(home) == {}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_existing_configuration_has_its_bytes_again_after_uninstall(agent: str, home: Path) -> None:
    before = write_existing(agent)
    put(agent, hook=agent in HOOK_AGENTS)
    assert all(file.read_bytes() != text for file, text in before.items())
    take(agent)
    assert all_files(home) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_what_others_wrote_since_is_kept(agent: str) -> None:
    write_existing(agent)
    put(agent, hook=agent in HOOK_AGENTS)
    tools = agent_files(agent, None).tools
    text = tools.read_text()
    added = text + "\n[later]\nx = 1\n" if tools.suffix == ".toml" else text.replace('"theme"', '"later": 1, "theme"')
    tools.write_text(added)
    take(agent)
    after = tools.read_text()
    assert "later" in after
    assert VAULT not in after
    assert not installed(agent, None).is_any


@pytest.mark.parametrize("agent", AGENTS)
def test_a_second_install_changes_nothing(agent: str) -> None:
    write_existing(agent)
    put(agent, hook=agent in HOOK_AGENTS)
    assert plan_install(agent, [VAULT], None, hook=agent in HOOK_AGENTS) == ()


@pytest.mark.parametrize("agent", AGENTS)
def test_another_vault_replaces_the_first(agent: str) -> None:
    write_existing(agent)
    put(agent, hook=agent in HOOK_AGENTS)
    put(agent, hook=agent in HOOK_AGENTS, vault="/home/ada/work")
    files = agent_files(agent, None)
    for file in filter(None, (files.tools, files.hooks)):
        assert VAULT not in file.read_text()
        assert file.read_text().count("/home/ada/work") == 1


@pytest.mark.parametrize("agent", AGENTS)
def test_the_rest_of_the_configuration_is_untouched(agent: str) -> None:
    write_existing(agent)
    put(agent)
    text = agent_files(agent, None).tools.read_text()
    if agent == "codex":
        assert text.startswith(TOML)
        assert tomllib.loads(text)["mcp_servers"]["excerpt"]["args"][-1] == VAULT
    else:
        assert '"other": {"command": "x", "args": [1,2]}' in text
        assert json.loads(text)["theme"] == "dark"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("text", [b"{,", b"\xff\xfe", b"[1]", b"= ="])
def test_a_damaged_configuration_is_left_alone(agent: str, text: bytes) -> None:
    file = agent_files(agent, None).tools
    if agent == "codex" and text == b"[1]":
        pytest.skip("this is TOML")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text)
    with pytest.raises(ExcerptError, match=r"config|json"):
        plan_install(agent, [VAULT], None, hook=False)
    assert file.read_bytes() == text
    assert installed(agent, None).problem


@pytest.mark.parametrize("agent", AGENTS)
def test_a_read_only_configuration_is_left_alone(agent: str) -> None:
    if os.name != "posix" or os.geteuid() == 0:
        pytest.skip("root may write everything")
    before = write_existing(agent)
    tools = agent_files(agent, None).tools
    tools.chmod(0o400)
    with pytest.raises(ExcerptError, match="read-only"):
        put(agent)
    assert tools.read_bytes() == before[tools]


def test_a_link_to_a_configuration_stays_a_link(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "claude.json").write_text(JSON)
    (home / ".claude.json").symlink_to(home / "dotfiles" / "claude.json")
    put("claude")
    assert (home / ".claude.json").is_symlink()
    assert VAULT in (home / "dotfiles" / "claude.json").read_text()


def test_a_hook_of_somebody_else_stays() -> None:
    write_existing("claude")
    put("claude", hook=True)
    hooks = agent_files("claude", None).hooks
    assert hooks is not None
    groups = json.loads(hooks.read_text())["hooks"]["UserPromptSubmit"]
    assert [group["hooks"][0]["command"] == "mine" for group in groups] == [True, False]


@pytest.mark.parametrize("agent", ["cursor", "vscode"])
def test_a_hook_that_the_agent_does_not_have_is_refused(agent: str) -> None:
    with pytest.raises(ExcerptError, match="cannot add text"):
        plan_install(agent, [VAULT], None, hook=True)


def test_servers_of_codex_in_one_line_are_changed_or_left_alone() -> None:
    file = agent_files("codex", None).tools
    file.parent.mkdir(parents=True)
    file.write_text('mcp_servers = {excerpt = {command = "mine"}}\n')
    put("codex")
    assert tomllib.loads(file.read_text())["mcp_servers"]["excerpt"]["args"][-1] == VAULT
    file.write_text('mcp_servers = {other = {command = "mine"}}\n')
    with pytest.raises(ExcerptError, match=r"config\.toml"):
        plan_install("codex", [VAULT], None, hook=False)


def test_the_skill_costs_at_most_400_tokens() -> None:
    assert open_tokenizer("o200k").count(SKILL_FILE.read_text(encoding="utf-8")) <= 400


def test_every_change_is_shown_as_a_diff() -> None:
    write_existing("claude")
    diffs = [edit.diff for edit in plan_install("claude", [VAULT], None, hook=True)]
    assert len(diffs) == 3
    assert all(any(line.startswith("+") for line in diff.split("\n")) for diff in diffs)
