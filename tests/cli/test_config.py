"""Tests of `excerpt config`: the settings in effect, and errors in the file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from excerpt.base.settings import PackSettings, ScreenSettings, Settings, load_settings
from tests.cli.conftest import Excerpt


@pytest.fixture
def settings_file(home: Path) -> Path:
    file = home / "config" / "excerpt.toml"
    file.parent.mkdir(parents=True)
    return file


def test_config_path_prints_the_path_of_the_settings_file_even_if_it_is_missing(excerpt: Excerpt, home: Path) -> None:
    assert excerpt("config", "--path").out == f"{home / 'config' / 'excerpt.toml'}\n"


def test_the_printed_settings_are_a_file_with_the_same_values(excerpt: Excerpt, settings_file: Path) -> None:
    settings_file.write_text(
        '[pack]\nbudget = 123\n[screen]\neditor = "code \\"x\\" --goto {file}"\nkeys = {"pack.copy" = "f5"}\n',
        encoding="utf-8",
    )
    printed = excerpt("config").out
    settings_file.write_text(printed, encoding="utf-8")
    assert load_settings(settings_file) == Settings(
        pack=PackSettings(budget=123),
        screen=ScreenSettings(editor='code "x" --goto {file}', keys={"pack.copy": "f5"}),
    )


def test_a_key_in_an_address_is_not_printed(excerpt: Excerpt, settings_file: Path) -> None:
    settings_file.write_text(
        '[embedding]\nmodel = "openai:http://127.0.0.1:1/v1?key=secret#letters"\n'
        '[rerank]\nmodel = "http://ada:secret@127.0.0.1:1/rerank"\n',
        encoding="utf-8",
    )
    answer = excerpt("config")
    assert 'model = "openai:http://127.0.0.1:1/v1?…#letters"' in answer.out
    assert 'model = "http://…@127.0.0.1:1/rerank"' in answer.out
    assert "secret" not in answer.out + answer.err


def test_config_check_says_that_a_settings_file_is_valid(excerpt: Excerpt, settings_file: Path) -> None:
    settings_file.write_text("[pack]\nbudget = 123\n", encoding="utf-8")
    answer = excerpt("config", "--check")
    assert answer.code == 0
    assert str(settings_file) in answer.out
    assert "is valid" in answer.out


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('copy-pack = "ctrl+s"', "ctrl+s is used for both"),
        ('copy-pak = "f9"', "copy-pack?"),
        ('quit = "ctrl+i"', "ctrl+i"),
    ],
)
def test_config_check_names_key_bindings_that_the_app_cannot_use(
    excerpt: Excerpt, settings_file: Path, keys: str, said: str
) -> None:
    settings_file.write_text(f"[screen.keys]\n{keys}\n", encoding="utf-8")
    done = excerpt("config", "--check")
    assert done.code == 2
    assert said in done.err


def test_the_schema_is_printed_even_if_the_file_is_invalid(excerpt: Excerpt, settings_file: Path) -> None:
    settings_file.write_text("[pack\n", encoding="utf-8")
    answer = excerpt("config", "--schema")
    assert answer.code == 0
    assert "budget" in json.loads(answer.out)["$defs"]["PackSettings"]["properties"]


def test_config_check_reports_a_missing_settings_file(excerpt: Excerpt, home: Path) -> None:
    answer = excerpt("config", "--check")
    assert answer.code == 0
    assert "does not exist" in answer.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[pack]\nbugdet = 5\n", "pack.budget?"),
        ("[pack]\nbudget = -5\n", "pack.budget"),
        ('[search]\nstrategy = "fast"\n', "search.strategy"),
        ("[pack\n", "TOML"),
    ],
)
def test_an_invalid_file_is_reported_by_its_key_and_exits_with_2(
    excerpt: Excerpt, settings_file: Path, vault: Path, text: str, said: str
) -> None:
    settings_file.write_text(text, encoding="utf-8")
    for command in (("config", "--check"), ("search", "x", "--vault", str(vault)), (str(vault),)):
        answer = excerpt(*command)
        assert answer.code == 2
        assert said in answer.err
        assert str(settings_file) in answer.err
        assert answer.err.count("\n") == 1


# --- settings of one vault --------------------------------------------------------------------------------------------


@pytest.fixture
def vault_file(excerpt: Excerpt, vault: Path) -> Path:
    """Return the path of the vault's own settings file, in an existing folder."""
    file = Path(excerpt("config", "--vault", vault, "--path").out.rstrip("\n"))
    file.parent.mkdir(parents=True)
    return file


def test_settings_of_a_vault_are_beside_those_for_all_vaults(vault_file: Path, home: Path, vault: Path) -> None:
    assert vault_file.parent == home / "config" / "vaults"
    assert vault not in vault_file.parents


def test_the_effective_settings_of_a_vault_are_printed(
    excerpt: Excerpt, settings_file: Path, vault_file: Path, vault: Path
) -> None:
    settings_file.write_text("[pack]\nbudget = 123\nneighbors = 4\n", encoding="utf-8")
    vault_file.write_text("[pack]\nbudget = 456\n", encoding="utf-8")
    assert "budget = 456\n" in excerpt("config", "--vault", vault).out
    assert "neighbors = 4\n" in excerpt("config", "--vault", vault).out
    assert "budget = 123\n" in excerpt("config").out


def test_config_check_reads_the_settings_of_the_vault_too(excerpt: Excerpt, vault_file: Path, vault: Path) -> None:
    missing = excerpt("config", "--vault", vault, "--check")
    assert missing.code == 0
    assert str(vault_file) in missing.out
    assert "is valid" not in missing.out
    vault_file.write_text("[pack]\nbudget = 456\n", encoding="utf-8")
    valid = excerpt("config", "--vault", vault, "--check")
    assert str(vault_file) in valid.out
    assert "is valid" in valid.out


@pytest.mark.parametrize(
    ("text", "said"),
    [("[pack]\nbugdet = 5\n", "pack.budget?"), ('[vault]\ninclude = ["a[z-b]"]\n', "a[z-b]")],
)
def test_a_mistake_in_the_settings_of_a_vault_names_their_file(
    excerpt: Excerpt, vault_file: Path, vault: Path, text: str, said: str
) -> None:
    vault_file.write_text(text, encoding="utf-8")
    answer = excerpt("config", "--vault", vault, "--check")
    assert answer.code == 2
    assert said in answer.err
    assert str(vault_file) in answer.err
    assert excerpt("config", "--check").code == 0


def test_an_invalid_pattern_for_all_vaults_names_the_file_that_has_it(
    excerpt: Excerpt, settings_file: Path, vault_file: Path, vault: Path
) -> None:
    settings_file.write_text('[vault]\ninclude = ["a[z-b]"]\n', encoding="utf-8")
    answer = excerpt("config", "--vault", vault, "--check")
    assert answer.code == 2
    assert str(settings_file) in answer.err
    assert str(vault_file) not in answer.err


@pytest.mark.parametrize(
    "command", [("search", "lentils"), ("pack", "lentils"), ("status",), ("index",), ("index", "--progress")]
)
def test_every_command_uses_the_settings_of_the_vault(
    excerpt: Excerpt, vault_file: Path, vault: Path, command: tuple[str, ...]
) -> None:
    vault_file.write_text("[vault]\nnonsense = 1\n", encoding="utf-8")
    answer = excerpt(*command, "--vault", vault)
    assert answer.code == 2
    assert str(vault_file) in answer.out + answer.err


def test_a_changed_include_setting_applies_from_the_next_build(excerpt: Excerpt, vault_file: Path, vault: Path) -> None:
    def found() -> set[str]:
        hits = excerpt("search", "colour lentils conflict", "--vault", vault, "--json").json["hits"]
        return {hit["path"] for hit in hits}

    assert found() == {"Colour.md", "Cooking/Lentil soup.md", "Sync.md"}
    vault_file.write_text('[vault]\ninclude = ["Cooking/", "Sync.md"]\n', encoding="utf-8")
    assert found() == {"Cooking/Lentil soup.md", "Sync.md"}
    vault_file.write_text('[vault]\nexclude = ["Cooking/"]\n', encoding="utf-8")
    assert found() == {"Colour.md", "Sync.md"}


def test_config_edit_creates_the_settings_file_and_opens_it_in_the_editor_and_checks_it(
    excerpt: Excerpt, vault: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys\nwith open(sys.argv[1], 'a') as file:\n    file.write('[pack]\\nbugdet = 5\\n')\n", encoding="utf-8"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {editor}")
    answer = excerpt("config", "--vault", vault, "--edit")
    (file,) = (home / "config" / "vaults").iterdir()
    assert file.read_text(encoding="utf-8").startswith("#:schema ../excerpt.schema.json\n#")
    assert answer.code == 2
    assert "pack.budget?" in answer.err
    assert str(file) in answer.err


def test_an_editor_that_fails_is_reported(excerpt: Excerpt, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", f"{sys.executable} -c 'raise SystemExit(4)'")
    answer = excerpt("config", "--edit")
    assert answer.code == 3
    assert "code 4" in answer.err
