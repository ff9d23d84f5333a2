"""Tests of installation in agents: settings files, the skill, and the plugin folder that Claude Code and Codex read."""

import json
import os
import shlex
import tomllib
from pathlib import Path

import frontmatter
import pytest
import tomlkit

import excerpt
from excerpt.base.errors import ExcerptError
from excerpt.base.settings import user_paths
from excerpt.servers.agents import install as installing
from excerpt.servers.agents.install import (
    AGENTS,
    HOOK_AGENTS,
    SKILL_FILE,
    FileEdit,
    Installation,
    agent_files,
    install,
    plan_install,
    plan_uninstall,
    read_installation,
    uninstall,
)
from excerpt.text.tokens import open_tokenizer

VAULT = "tiny://ours"  # an address, which need not exist as a folder must
JSON = '{\n\t"theme": "dark",\n\t"mcpServers": {"other": {"command": "x", "args": [1,2]}},\n\t"servers": {}\n}'
TOML = 'model = "o5"  # mine\n\n[mcp_servers.other]\ncommand = "x"\n\n[features]\nhooks = true\n'
HOOKS = '{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}], "Stop": []}}\n'


pytestmark = pytest.mark.usefixtures("tiny_stores")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "excerpt"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def planned_edits(agent: str, *vaults: str, hook: bool = False, project: Path | None = None) -> tuple[FileEdit, ...]:
    return plan_install(agent, vaults or [VAULT], project, user_paths(), hook=hook)


def install_into(agent: str, *vaults: str, hook: bool = False, project: Path | None = None) -> None:
    install(planned_edits(agent, *vaults, hook=hook, project=project), user_paths())


def installation_of(agent: str, project: Path | None = None) -> Installation:
    return read_installation(agent, project, user_paths())


def write(file: Path | None, text: str) -> Path:
    assert file is not None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def uninstall_from(agent: str, project: Path | None = None) -> None:
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
def test_uninstall_leaves_an_empty_configuration_empty(agent: str, is_project: bool, home: Path) -> None:
    project = home / "project" if is_project else None
    install_into(agent, hook=agent in HOOK_AGENTS, project=project)
    assert installation_of(agent, project).has_any_part
    uninstall_from(agent, project)
    assert all_files(home) == {}


@pytest.mark.parametrize("agent", AGENTS)
def test_uninstall_restores_the_bytes_of_an_existing_configuration(agent: str, home: Path) -> None:
    before = write_existing(agent)
    install_into(agent, hook=agent in HOOK_AGENTS)
    assert all(file.read_bytes() != text for file, text in before.items())
    uninstall_from(agent)
    assert all_files(home) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_uninstalling_keeps_changes_that_other_programs_made_after_the_installation(agent: str) -> None:
    write_existing(agent)
    install_into(agent, hook=agent in HOOK_AGENTS)
    tools = agent_files(agent, None).tools
    text = tools.read_text()
    added = text + "\n[later]\nx = 1\n" if tools.suffix == ".toml" else text.replace('"theme"', '"later": 1, "theme"')
    tools.write_text(added)
    uninstall_from(agent)
    after = tools.read_text()
    assert "later" in after
    assert VAULT not in after
    assert not installation_of(agent).has_any_part


@pytest.mark.parametrize("agent", AGENTS)
def test_a_second_install_changes_nothing(agent: str) -> None:
    write_existing(agent)
    install_into(agent, hook=agent in HOOK_AGENTS)
    assert planned_edits(agent, hook=agent in HOOK_AGENTS) == ()


@pytest.mark.parametrize("agent", AGENTS)
def test_installing_a_second_vault_keeps_the_first(agent: str, tmp_path: Path) -> None:
    write_existing(agent)
    has_hook = agent in HOOK_AGENTS
    install_into(agent, VAULT, str(tmp_path), hook=has_hook)
    install_into(agent, str(tmp_path / "home"), hook=has_hook)
    expected = (VAULT, str(tmp_path), str(tmp_path / "home"))
    assert installation_of(agent).vaults == expected
    assert installation_of(agent).hook_vaults == (expected if has_hook else ())
    assert planned_edits(agent, str(tmp_path), hook=has_hook) == ()


def test_a_missing_folder_is_replaced_by_the_folder_it_was_moved_to(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    install_into("claude", str(tmp_path / "old"))
    (tmp_path / "old").rename(tmp_path / "new")
    install_into("claude", str(tmp_path / "new"))
    assert installation_of("claude").vaults == (str(tmp_path / "new"),)


def test_the_hook_does_not_search_a_vault_that_was_added_for_the_tools_only(tmp_path: Path) -> None:
    install_into("claude", hook=True)
    install_into("claude", str(tmp_path))
    assert installation_of("claude").hook_vaults == (VAULT,)
    assert (
        installation_of("claude").describe()
        == f"the tools for {VAULT}, {tmp_path}, the skill, the prompt hook for {VAULT}"
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_installing_again_keeps_options_and_other_members_of_the_server_entry(agent: str) -> None:
    tools = agent_files(agent, None).tools
    if agent == "codex":
        write(
            tools,
            '[mcp_servers.excerpt]\ncommand = "excerpt"\nargs = ["mcp", "--no-memory"]\nenv = {EXCERPT_HOME = "/x"}\n',
        )
    else:
        key = "servers" if agent == "vscode" else "mcpServers"
        server = {"command": "excerpt", "args": ["mcp", "--no-memory"], "env": {"EXCERPT_HOME": "/x"}}
        write(tools, json.dumps({key: {"excerpt": server}}))
    install_into(agent)
    assert "/x" in tools.read_text()
    assert "--no-memory" in tools.read_text()
    assert installation_of(agent).vaults == (VAULT,)


@pytest.mark.parametrize("agent", AGENTS)
def test_installing_leaves_the_rest_of_the_configuration_unchanged(agent: str) -> None:
    write_existing(agent)
    install_into(agent)
    text = agent_files(agent, None).tools.read_text()
    if agent == "codex":
        assert text.startswith(TOML)
        assert tomllib.loads(text)["mcp_servers"]["excerpt"]["args"][-1] == VAULT
    else:
        assert '"other": {"command": "x", "args": [1,2]}' in text
        assert json.loads(text)["theme"] == "dark"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("text", [b"{,", b"\xff\xfe", b"[1]", b"= ="])
def test_a_damaged_configuration_is_not_changed(agent: str, text: bytes) -> None:
    file = agent_files(agent, None).tools
    if agent == "codex" and text == b"[1]":
        pytest.skip("this is TOML")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text)
    with pytest.raises(ExcerptError, match=r"config|json"):
        planned_edits(agent)
    assert file.read_bytes() == text
    assert installation_of(agent).problem


@pytest.mark.parametrize("agent", AGENTS)
def test_a_read_only_configuration_is_not_changed(agent: str) -> None:
    if os.name != "posix" or os.geteuid() == 0:
        pytest.skip("root may write everything")
    before = write_existing(agent)
    tools = agent_files(agent, None).tools
    tools.chmod(0o400)
    with pytest.raises(ExcerptError, match="read-only"):
        install_into(agent)
    assert tools.read_bytes() == before[tools]


def test_a_link_to_a_configuration_stays_a_link(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "claude.json").write_text(JSON)
    (home / ".claude.json").symlink_to(home / "dotfiles" / "claude.json")
    install_into("claude")
    assert (home / ".claude.json").is_symlink()
    assert VAULT in (home / "dotfiles" / "claude.json").read_text()


# --- what others wrote ------------------------------------------------------------------------------------------------

MINE = "/opt/mine agents hook x"
OTHERS_HOOKS = (
    "mine.sh",
    MINE,
    "cd /x && excerpt agents hook claude /notes",
    "excerpt agents hook claude /notes; mine.sh",
    "excerpt agents hook",
    "python -m excerpt",
    "python -m mine agents hook claude /notes",
    "python -c excerpt agents hook claude /notes",
    "python",
    "excerpt agents log",
    'echo "unbalanced',
)


def commands(file: Path) -> list[str]:
    """Return the commands of the prompt hooks in a file that does not name the installed program."""
    groups = json.loads(file.read_text())["hooks"]["UserPromptSubmit"]
    return [hook["command"] for group in groups for hook in group["hooks"]]


@pytest.mark.parametrize(
    "program",
    [
        "excerpt",
        "/opt/bin/excerpt",
        "'C:\\Program Files\\Python 3.12/excerpt.exe'",
        "/opt/bin/python3 -P -m excerpt",
        "/opt/bin/python -P -E -s -X utf8 -m excerpt",
    ],
)
def test_a_hook_of_excerpt_is_replaced_even_if_its_program_was_in_another_folder(program: str) -> None:
    group = {"hooks": [{"type": "command", "command": f"{program} agents hook claude {shlex.quote(VAULT)}"}]}
    hooks = write(agent_files("claude", None).hooks, json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
    assert installation_of("claude").hook_vaults == (VAULT,)
    install_into("claude", "tiny://more", hook=True)
    assert len(commands(hooks)) == 1


@pytest.mark.parametrize("agent", HOOK_AGENTS)
@pytest.mark.parametrize("command", OTHERS_HOOKS)
def test_a_hook_of_another_program_is_kept(agent: str, command: str) -> None:
    group = {"hooks": [{"type": "command", "command": command}]}
    hooks = write(agent_files(agent, None).hooks, json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
    install_into(agent, hook=True)
    install_into(agent, "tiny://more", hook=True)
    assert commands(hooks)[0] == command
    assert len(commands(hooks)) == 2
    hooks.write_text(hooks.read_text() + "\n")  # so that its former bytes are not restored
    uninstall_from(agent)
    assert commands(hooks) == [command]
    assert not installation_of(agent).hook


def test_a_hook_of_the_user_beside_excerpts_hook_keeps_its_position() -> None:
    install_into("claude", hook=True)
    hooks = agent_files("claude", None).hooks
    assert hooks is not None
    text = hooks.read_text()
    mine = '{"type": "command", "command": "mine.sh"}'
    hooks.write_text(text.replace('"hooks": [\n          {', f'"hooks": [\n          {mine}, {{'))
    install_into("claude", "tiny://more", hook=True)
    assert commands(hooks)[0] == "mine.sh"
    assert installation_of("claude").hook_vaults == (VAULT, "tiny://more")
    uninstall_from("claude")
    assert commands(hooks) == ["mine.sh"]


def test_several_hooks_of_excerpt_become_one() -> None:
    install_into("claude", hook=True)
    hooks = agent_files("claude", None).hooks
    assert hooks is not None
    groups = json.loads(hooks.read_text())["hooks"]["UserPromptSubmit"]
    write(hooks, json.dumps({"hooks": {"UserPromptSubmit": [*groups, {"hooks": []}, *groups, 5, {"hooks": 5}]}}))
    install_into("claude", hook=True)
    assert json.loads(hooks.read_text())["hooks"]["UserPromptSubmit"] == [*groups, {"hooks": []}, 5, {"hooks": 5}]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "server", ["x", 5, [], {"command": "/opt/excerpt-server", "args": ["mcp"]}, {"command": "excerpt", "args": ["run"]}]
)
def test_a_server_entry_named_excerpt_that_starts_another_program_is_not_changed(agent: str, server: object) -> None:
    tools = agent_files(agent, None).tools
    key = {"codex": "mcp_servers", "vscode": "servers"}.get(agent, "mcpServers")
    write(
        tools, tomlkit.dumps({key: {"excerpt": server}}) if agent == "codex" else json.dumps({key: {"excerpt": server}})
    )
    before = tools.read_bytes()
    with pytest.raises(ExcerptError, match="a server called excerpt that excerpt has not written"):
        planned_edits(agent)
    assert "has not written" in installation_of(agent).problem
    assert not installation_of(agent).tools
    uninstall_from(agent)
    assert tools.read_bytes() == before


@pytest.mark.parametrize("text", ["5", "true", "2025-05-01", '"excerpt"', "[]", "[{}]"])
def test_codex_servers_of_another_type_are_not_changed(text: str) -> None:
    tools = write(agent_files("codex", None).tools, f"mcp_servers = {text}\n")
    with pytest.raises(ExcerptError, match=r"config\.toml: mcp_servers is not a table"):
        planned_edits("codex")
    assert not installation_of("codex").has_any_part
    uninstall_from("codex")
    assert tools.read_text() == f"mcp_servers = {text}\n"


@pytest.mark.parametrize(
    "text", ['{"mcpServers": 5}', '{"mcpServers": []}', '{"mcpServers": {}, "mcpServers": {"o": 1}}']
)
def test_malformed_or_duplicate_servers_are_not_changed(text: str) -> None:
    tools = write(agent_files("claude", None).tools, text)
    with pytest.raises(ExcerptError, match="Cannot understand"):
        planned_edits("claude")
    assert not installation_of("claude").tools
    assert tools.read_text() == text


@pytest.mark.parametrize("text", ['{"hooks": 5}', '{"hooks": {"UserPromptSubmit": {}}}', '{"hooks": {}, "hooks": {}}'])
def test_malformed_or_duplicate_hooks_are_not_changed(text: str) -> None:
    hooks = write(agent_files("claude", None).hooks, text)
    with pytest.raises(ExcerptError, match="Cannot understand"):
        planned_edits("claude", hook=True)
    assert hooks.read_text() == text


@pytest.mark.parametrize("text", ["---\nname: excerpt\n---\nMine.\n", "", "Mine.\n"])
def test_a_skill_of_another_program_is_not_changed(text: str) -> None:
    skill = write(agent_files("claude", None).skill, text)
    with pytest.raises(ExcerptError, match="is a skill that excerpt has not written"):
        planned_edits("claude")
    uninstall_from("claude")
    assert skill.read_text() == text
    assert "is not the skill that excerpt writes" in installation_of("claude").problem


def test_a_skill_that_an_earlier_version_wrote_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(installing, "SKILL_FILE", write(tmp_path / "SKILL.md", "---\nname: excerpt\n---\nOld.\n"))
        install_into("claude")
    install_into("claude")
    assert agent_files("claude", None).skill.read_text() == SKILL_FILE.read_text(encoding="utf-8")


def test_a_skill_with_other_line_ends_is_recognised() -> None:
    install_into("claude")
    skill = agent_files("claude", None).skill
    skill.write_bytes(skill.read_bytes().replace(b"\n", b"\r\n"))
    assert planned_edits("claude") == ()
    uninstall_from("claude")
    assert not skill.exists()


def test_uninstalling_keeps_changes_made_between_two_installations(tmp_path: Path) -> None:
    write_existing("claude")
    install_into("claude")
    tools = agent_files("claude", None).tools
    tools.write_text(tools.read_text().replace('"theme"', '"later": 1, "theme"'))
    install_into("claude", str(tmp_path))
    uninstall_from("claude")
    assert "later" in tools.read_text()
    assert not installation_of("claude").has_any_part


def test_a_file_whose_backup_is_missing_is_not_removed() -> None:
    write_existing("claude")
    install_into("claude")
    for copy in user_paths().agents_folder.glob("*.claude.json"):
        copy.unlink()
    uninstall_from("claude")
    assert json.loads(agent_files("claude", None).tools.read_text())["theme"] == "dark"


def test_a_file_that_changed_after_the_diff_was_shown_is_not_written() -> None:
    write_existing("claude")
    edits = planned_edits("claude")
    tools = agent_files("claude", None).tools
    tools.write_text("{}")
    with pytest.raises(ExcerptError, match="was changed meanwhile"):
        install(edits, user_paths())
    assert tools.read_text() == "{}"


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder like a cloned project, beside a folder that is not its business."""
    (tmp_path / "ssh").mkdir()
    (tmp_path / "ssh" / "config").write_text("Host x\n")
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        (".claude", "../ssh"),
        (".claude/skills/excerpt/SKILL.md", "../ssh/config"),
        (".claude/settings.json", "../ssh/new"),
        (".mcp.json", "../ssh/config"),
    ],
)
def test_a_link_out_of_the_project_is_refused(project: Path, link: str, target: str) -> None:
    (project / link).parent.mkdir(parents=True, exist_ok=True)
    (project / link).symlink_to((project / target).resolve())
    before = all_files(project.parent / "ssh")
    with pytest.raises(ExcerptError, match=r"leads out of the project, to .*ssh"):
        install_into("claude", hook=True, project=project)
    with pytest.raises(ExcerptError, match="leads out of the project"):
        uninstall_from("claude", project)
    assert "leads out of the project" in installation_of("claude", project).problem
    assert all_files(project.parent / "ssh") == before


def test_a_link_within_the_project_is_followed(project: Path) -> None:
    (project / "agents").mkdir()
    (project / ".claude").symlink_to("agents")
    install_into("claude", project=project)
    assert (project / "agents" / "skills" / "excerpt" / "SKILL.md").exists()
    uninstall_from("claude", project)
    assert all_files(project) == {}


def test_the_diff_names_the_file_that_a_link_leads_to(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / ".claude.json").symlink_to(home / "dotfiles" / "claude")
    (tools, *_) = planned_edits("claude")
    assert str((home / "dotfiles" / "claude").resolve()) in tools.diff


@pytest.mark.parametrize("agent", ["cursor", "vscode"])
def test_a_hook_is_refused_for_an_agent_without_hooks(agent: str) -> None:
    with pytest.raises(ExcerptError, match="Nothing was installed"):
        planned_edits(agent, hook=True)


def test_inline_tables_of_codex_are_changed_or_left_unchanged() -> None:
    file = agent_files("codex", None).tools
    write(file, 'mcp_servers = {excerpt = {command = "excerpt", args = ["mcp"]}}\n')
    install_into("codex")
    assert tomllib.loads(file.read_text())["mcp_servers"]["excerpt"]["args"][-1] == VAULT
    file.write_text('mcp_servers = {other = {command = "mine"}}\n')
    with pytest.raises(ExcerptError, match=r"config\.toml"):
        planned_edits("codex")


def test_the_skill_costs_at_most_400_tokens() -> None:
    assert open_tokenizer("o200k").count(SKILL_FILE.read_text(encoding="utf-8")) <= 400


def test_every_change_is_shown_as_a_diff() -> None:
    write_existing("claude")
    diffs = [edit.diff for edit in planned_edits("claude", hook=True)]
    assert len(diffs) == 3
    assert all(any(line.startswith("+") for line in diff.split("\n")) for diff in diffs)


PLUGIN = Path(excerpt.__file__).parent / "servers" / "agents" / "plugin"


def test_the_manifests_name_the_plugin_and_its_version() -> None:
    for name in (".claude-plugin", ".codex-plugin"):
        manifest = json.loads((PLUGIN / name / "plugin.json").read_text(encoding="utf-8"))
        assert (manifest["name"], manifest["version"]) == ("excerpt", excerpt.__version__)


def test_the_paths_in_the_manifests_exist() -> None:
    manifest = json.loads((PLUGIN / ".codex-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert (PLUGIN / manifest["skills"]).is_dir()
    assert (PLUGIN / manifest["mcpServers"]).is_file()


def test_the_server_command_in_the_plugin_has_no_path_of_this_machine() -> None:
    servers = json.loads((PLUGIN / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    assert servers == {"excerpt": {"command": "excerpt", "args": ["mcp"]}}


def test_the_skill_has_the_name_of_its_folder_and_says_when_to_use_it() -> None:
    skill = frontmatter.loads(SKILL_FILE.read_text(encoding="utf-8"))
    assert skill["name"] == SKILL_FILE.parent.name
    assert "Use it when" in str(skill["description"])
    assert len(str(skill["description"])) < 1_024
