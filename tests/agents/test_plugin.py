"""The plugin folder: manifests that Claude Code and Codex read."""

import json
from pathlib import Path

import frontmatter

import excerpt
from excerpt.agents.install import SKILL_FILE

PLUGIN = Path(excerpt.__file__).parent / "agents" / "plugin"


def test_the_manifests_name_the_plugin_and_its_version() -> None:
    for name in (".claude-plugin", ".codex-plugin"):
        manifest = json.loads((PLUGIN / name / "plugin.json").read_text(encoding="utf-8"))
        assert (manifest["name"], manifest["version"]) == ("excerpt", excerpt.__version__)


def test_the_paths_in_the_manifests_exist() -> None:
    manifest = json.loads((PLUGIN / ".codex-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert (PLUGIN / manifest["skills"]).is_dir()
    assert (PLUGIN / manifest["mcpServers"]).is_file()


def test_the_server_is_started_without_a_path_of_this_machine() -> None:
    servers = json.loads((PLUGIN / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    assert servers == {"excerpt": {"command": "excerpt", "args": ["mcp"]}}


def test_the_skill_has_the_name_of_its_folder_and_says_when_to_use_it() -> None:
    skill = frontmatter.loads(SKILL_FILE.read_text(encoding="utf-8"))
    assert skill["name"] == SKILL_FILE.parent.name
    assert "Use it when" in str(skill["description"])
    assert len(str(skill["description"])) < 1_024
