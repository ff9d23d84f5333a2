"""Tests of the vault that a command uses: those opened before, and renamed, moved or copied ones."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click
import pytest

from excerpt.base.errors import VaultError
from excerpt.base.settings import Paths, refuse_folders_in_vault, user_paths, vault_slug
from excerpt.cli.main import COMMANDS, program
from excerpt.cli.vaults import find_last_vault, resolve_vault
from excerpt.vault.known_vaults import DEMO, add_recent_vault, recent_vaults
from tests.cli.conftest import Answer, Excerpt

WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("search", "pack", "overview", "map", "read", "peek", "related", "remember", "forget"), ("x",)),
    **dict.fromkeys(("recall", "learned", "index", "embedding", "watch", "status", "doctor", "news"), ()),
    "edit": ("x", "--why", "y"),
    "check": ("x", "--pack", "y"),
}
"""The further arguments that each command with a vault needs."""


@pytest.mark.usefixtures("home")
def test_the_last_opened_vault_is_the_default(vault: Path, tmp_path: Path) -> None:
    add_recent_vault(user_paths(), tmp_path)
    add_recent_vault(user_paths(), vault)
    assert find_last_vault() == vault


@pytest.mark.usefixtures("home")
def test_the_environment_takes_precedence_over_the_last_vault(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_recent_vault(user_paths(), tmp_path)
    monkeypatch.setenv("EXCERPT_VAULT", str(vault))
    assert find_last_vault() == vault


@pytest.mark.usefixtures("home")
def test_a_vault_named_on_the_command_line_takes_precedence_over_all_others(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(tmp_path / "elsewhere"))
    assert resolve_vault(vault) == vault.resolve()


@pytest.mark.usefixtures("home")
def test_a_command_without_any_known_vault_is_an_error() -> None:
    with pytest.raises(VaultError):
        resolve_vault(None)


@pytest.mark.usefixtures("home")
def test_an_unwritable_state_folder_does_not_stop_the_app(home: Path, vault: Path) -> None:
    home.write_text("a file where the folder should be")
    add_recent_vault(user_paths(), vault)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", [("search", "x"), ("pack", "x"), ("index",), ("status",), ("recall",)])
class TestEveryCommand:
    def test_reports_a_missing_vault(self, excerpt: Excerpt, tmp_path: Path, command: tuple[str, ...]) -> None:
        answer = excerpt(*command, "--vault", tmp_path / "nowhere")
        assert answer.code == 3
        assert answer.out == ""
        assert str(tmp_path / "nowhere") in answer.err

    def test_reports_a_file_in_place_of_the_vault(
        self, excerpt: Excerpt, vault: Path, command: tuple[str, ...]
    ) -> None:
        answer = excerpt(*command, "--vault", vault / "Sync.md")
        assert answer.code == 3
        assert str(vault / "Sync.md") in answer.err


@pytest.mark.usefixtures("home")
def test_the_demo_vault_ships_with_the_program(excerpt: Excerpt) -> None:
    answer = excerpt("demo", "--path")
    assert answer.out == f"{DEMO}\n"
    assert (DEMO / "Start here.md").is_file()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "command",
    [("{}",), ("index", "--vault", "{}"), ("search", "x", "--vault", "{}"), ("mcp", "{}"), ("serve", "{}")],
)
def test_a_home_folder_is_not_indexed_without_confirmation(
    excerpt: Excerpt, vault: Path, home: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HOME", str(vault))
    answer = excerpt(*(word.format(vault) for word in command))
    assert (answer.code, answer.out, home.exists()) == (3, "", False)
    assert str(vault) in answer.err
    assert "home folder" in answer.err
    assert "--accept-all" in answer.err


@pytest.mark.usefixtures("home")
def test_a_home_folder_is_indexed_once_confirmed_and_not_asked_about_again(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(vault))
    assert excerpt("index", "--vault", vault, "--accept-all").code == 0
    assert excerpt("search", "lentils", "--vault", vault).code == 0


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", [("search", "soup"), ("index",), ("remember", "hi"), ("doctor",), ("watch",)])
def test_program_folders_inside_the_vault_are_refused(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    before = sorted(vault.rglob("*"))
    monkeypatch.setenv("EXCERPT_HOME", str(vault / "of ours"))
    answer = excerpt(*command, "--vault", vault)
    assert (answer.code, answer.out) == (3, "")
    assert f"the vault {vault}" in answer.err
    assert "EXCERPT_HOME" in answer.err
    assert sorted(vault.rglob("*")) == before


@pytest.mark.usefixtures("home")
def test_the_app_does_not_open_a_vault_that_contains_program_folders(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(vault))
    answer = excerpt(vault)
    assert answer.code == 3
    assert f"the vault {vault}" in answer.err


@pytest.mark.usefixtures("home")
def test_memories_may_be_in_the_vault_if_the_user_puts_them_there(vault: Path, tmp_path: Path) -> None:
    refuse_folders_in_vault(
        vault, Paths(tmp_path / "config", tmp_path / "cache", vault / "memories", tmp_path / "state")
    )


@pytest.mark.usefixtures("home")
def test_a_home_folder_may_contain_the_program_folders(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(vault))
    monkeypatch.setenv("USERPROFILE", str(vault))
    refuse_folders_in_vault(vault, Paths(*(vault / ".local" / name for name in ("config", "cache", "data", "state"))))


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", ["", "  "])
@pytest.mark.parametrize(
    "command",
    [
        *(("{}",), ("--plain", "{}"), ("config", "--vault", "{}")),
        *((name, "--vault", "{}", *argv) for name, argv in sorted(WORDS.items())),
        *(("mcp", "{}"), ("serve", "{}")),
    ],
    ids=lambda command: command[0],
)
def test_an_empty_name_is_wrong_usage_not_the_working_directory(
    excerpt: Excerpt, home: Path, command: tuple[str, ...], name: str
) -> None:
    answer = excerpt(*(word.format(name) for word in command))
    assert (answer.code, answer.out, home.exists()) == (2, "", False)
    assert "empty" in answer.err


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", [(), ("status",), ("search", "x"), ("doctor", "--quick")])
def test_an_empty_environment_variable_is_wrong_usage(
    excerpt: Excerpt, home: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", " ")
    answer = excerpt(*command)
    assert (answer.code, answer.out, home.exists()) == (2, "", False)
    assert "$EXCERPT_VAULT" in answer.err


@pytest.mark.usefixtures("home")
def test_an_empty_environment_variable_is_ignored_if_a_vault_is_named(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", "")
    assert excerpt("status", "--vault", vault).code == 0


@pytest.mark.usefixtures("home")
def test_every_command_that_takes_a_vault_is_tested_with_an_empty_name() -> None:
    commands = {name: program.get_command(click.Context(program), name) for name in COMMANDS}
    takers = {
        name for name, command in commands.items() if command and {"vault", "vaults"} & {p.name for p in command.params}
    }
    assert takers == {*WORDS, "config", "editor", "mcp", "pick", "serve"}


@pytest.fixture
def old_vault(excerpt: Excerpt, vault: Path) -> Path:
    """Return a vault with one memory."""
    assert excerpt("remember", "Lentils keep well.", "--vault", vault).code == 0
    return vault


def memory_texts(recalled: Answer) -> list[str]:
    return [memory["text"] for memory in recalled.json["memories"]]


def test_memories_of_a_vault_that_is_gone_are_named_with_the_command_that_adopts_them(
    excerpt: Excerpt, old_vault: Path
) -> None:
    new = old_vault.rename(old_vault.with_name("renamed"))
    first = excerpt("search", "sync", "--vault", new).err.splitlines()[0]
    assert first.startswith(f"excerpt: {old_vault} is gone, and has data: 1 memory.")
    assert str(old_vault) not in excerpt("search", "sync", "--vault", new).err
    recalled = excerpt("recall", "--vault", new)
    assert (recalled.code, recalled.err.splitlines()[0]) == (1, first)
    assert excerpt(*shlex.split(first.partition(": excerpt ")[2])).code == 0
    again = excerpt("recall", "--vault", new, "--json")
    assert (memory_texts(again), again.err) == (["Lentils keep well."], "")


def test_if_several_vaults_are_gone_the_doctor_names_a_command_to_adopt_each(
    excerpt: Excerpt, old_vault: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    shutil.copytree(old_vault, second)
    excerpt("remember", "Peas too.", "--vault", second)
    new = old_vault.rename(old_vault.with_name("renamed"))
    shutil.rmtree(second)
    said = excerpt("search", "sync", "--vault", new).err.splitlines()[0]
    assert said == "excerpt: excerpt has memories of 2 vaults that are gone. `excerpt doctor` names them."


def test_memories_stay_with_a_vault_that_is_renamed_back(excerpt: Excerpt, old_vault: Path) -> None:
    new = old_vault.rename(old_vault.with_name("renamed"))
    excerpt("recall", "--vault", new)
    new.rename(old_vault)
    assert memory_texts(excerpt("recall", "--vault", old_vault, "--json")) == ["Lentils keep well."]


@pytest.mark.parametrize("is_opened_before", [False, True])
def test_adopting_a_vault_moves_its_settings_and_queries_and_state_and_index(
    excerpt: Excerpt, old_vault: Path, home: Path, is_opened_before: bool
) -> None:
    where = user_paths()
    assert excerpt("search", "sync", "--vault", old_vault).code == 0
    kept = (
        where.vault_settings_file,
        where.saved_queries_file,
        where.seen_hits_file,
        where.gold_file,
        where.gold_run_file,
        where.marks_file,
        where.session_file,
        where.use_file,
        where.history_file,
    )
    for place in kept:
        place(old_vault).parent.mkdir(parents=True, exist_ok=True)
        place(old_vault).write_text("[search]\nlimit = 1\n")
    add_recent_vault(where, old_vault)
    new = old_vault.rename(old_vault.with_name("renamed"))
    if is_opened_before:
        assert excerpt("search", "sync", "--vault", new).code == 0
    assert excerpt("doctor", "--vault", new, "--adopt", old_vault).code == 0
    searched = excerpt("search", "sync conflict", "--vault", new, "--json")
    assert len(searched.json["hits"]) == 1
    assert [place(new).exists() for place in kept] == [True] * len(kept)
    assert [vault.path for vault in recent_vaults(where)] == [str(new)]
    assert [folder.name for folder in (home / "cache" / "index").iterdir()] == [vault_slug(new)]
    assert [file.name for file in home.rglob("*") if vault_slug(old_vault) in file.name] == []


def test_a_copied_vault_adopts_a_copy_of_the_memories(excerpt: Excerpt, old_vault: Path, tmp_path: Path) -> None:
    copy = tmp_path / "a copy"
    shutil.copytree(old_vault, copy)
    assert str(old_vault) not in excerpt("search", "sync", "--vault", copy).err
    adopted = excerpt("doctor", "--vault", copy, "--adopt", old_vault)
    assert adopted.code == 0
    assert f"{old_vault}: 1 memory" in adopted.out
    for vault in (old_vault, copy):
        assert memory_texts(excerpt("recall", "--vault", vault, "--json")) == ["Lentils keep well."]


def test_adopted_data_is_merged_with_existing_data(excerpt: Excerpt, old_vault: Path, home: Path) -> None:
    new = old_vault.rename(old_vault.with_name("renamed"))
    where = user_paths()
    for vault, limit in ((old_vault, 1), (new, 2)):
        where.vault_settings_file(vault).parent.mkdir(parents=True, exist_ok=True)
        where.vault_settings_file(vault).write_text(f"[search]\nlimit = {limit}\n")
    where.memory_folder(new).mkdir(parents=True)
    (where.memory_folder(new) / "a.md").write_text("Of its own.\n")
    assert excerpt("recall", "--vault", new).err == ""
    adopted = excerpt("doctor", "--vault", new, "--adopt", old_vault)
    assert adopted.code == 0
    assert f"{old_vault}: 1 memory" in adopted.out
    assert "settings" in adopted.out
    assert sorted(memory_texts(excerpt("recall", "--vault", new, "--json"))) == ["Lentils keep well.", "Of its own."]
    assert where.vault_settings_file(new).read_text() == "[search]\nlimit = 2\n"
    assert where.vault_settings_file(old_vault).exists()


def test_adopting_a_memory_file_whose_name_exists_keeps_both_files(excerpt: Excerpt, old_vault: Path) -> None:
    where = user_paths()
    new = old_vault.rename(old_vault.with_name("renamed"))
    for vault, text in ((old_vault, "one"), (new, "other")):
        where.memory_folder(vault).mkdir(parents=True, exist_ok=True)
        (where.memory_folder(vault) / "a.md").write_text(text)
    excerpt("doctor", "--vault", new, "--adopt", old_vault)
    assert sorted(memory_texts(excerpt("recall", "--vault", new, "--json"))) == ["Lentils keep well.", "one", "other"]


def test_the_doctor_names_memories_without_a_vault_and_the_command_to_adopt_them(
    excerpt: Excerpt, old_vault: Path
) -> None:
    new = old_vault.rename(old_vault.with_name("renamed"))
    said = excerpt("doctor", "--vault", new, "--quick").out
    assert f"{old_vault}, which no longer exists: 1 memory." in said
    assert f"excerpt doctor --vault ITS-FOLDER-NOW --adopt {old_vault}" in said
    assert excerpt("doctor", "--vault", new, "--adopt", old_vault).code == 0
    assert str(old_vault) not in excerpt("doctor", "--vault", new, "--quick").out


def test_memories_of_an_unknown_path_are_adopted_by_their_folder(excerpt: Excerpt, old_vault: Path, home: Path) -> None:
    new = old_vault.rename(old_vault.with_name("renamed"))
    shutil.rmtree(home / "data" / "vaults")
    slug = vault_slug(old_vault)
    said = excerpt("doctor", "--vault", new).out.splitlines()
    assert any("1 memory" in line and slug in line for line in said)
    assert excerpt("doctor", "--vault", new, "--adopt", slug).code == 0
    assert memory_texts(excerpt("recall", "--vault", new, "--json")) == ["Lentils keep well."]


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("--adopt", "/nowhere/at/all"), 3, "/nowhere/at/all"),
        (("--adopt", "/nowhere", "--fix"), 2, "--adopt"),
    ],
)
def test_data_that_cannot_be_adopted_is_reported_in_a_sentence(
    excerpt: Excerpt, vault: Path, argv: tuple[str, ...], code: int, said: str
) -> None:
    answer = excerpt("doctor", "--vault", vault, *argv)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err


def test_the_path_of_an_unconfirmed_home_folder_is_not_kept(
    excerpt: Excerpt, vault: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(vault))
    monkeypatch.setenv("USERPROFILE", str(vault))
    assert excerpt("search", "sync", "--vault", vault).code == 3
    assert not (home / "data" / "vaults").exists()


@pytest.mark.parametrize("command", ["status", "news"])
def test_a_command_takes_the_vault_as_an_argument_or_by_its_option(
    excerpt: Excerpt, vault: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "other").mkdir()
    excerpt("index", vault)
    excerpt("index", "--vault", tmp_path / "other")
    assert excerpt(command, vault).out == excerpt(command, "--vault", vault).out


def test_a_vault_given_twice_is_refused(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("index", vault, "--vault", vault)
    assert (answer.code, "The vault is given twice." in answer.err) == (2, True)


@pytest.mark.parametrize("command", ["mcp", "serve"])
def test_a_command_takes_one_vault_as_an_argument_and_another_by_its_option(
    excerpt: Excerpt, vault: Path, tmp_path: Path, command: str
) -> None:
    answer = excerpt(command, vault, "--vault", tmp_path / "nowhere")
    assert (answer.code, f"There is no folder at {tmp_path / 'nowhere'}" in answer.err) == (3, True)


def test_pick_takes_the_vault_by_its_option(excerpt: Excerpt, vault: Path) -> None:
    assert "needs a terminal" in excerpt("pick", "--vault", vault).err


@pytest.mark.parametrize("height", ["7", "0%", "101%", "few", "-15", ""])
def test_a_height_that_the_app_cannot_have_is_wrong_usage(excerpt: Excerpt, vault: Path, height: str) -> None:
    assert excerpt("pick", "--vault", vault, f"--height={height}").code == 2


def test_a_height_is_refused_where_the_app_cannot_be_drawn_below_the_prompt(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt.cli.pick.DRAWS_BELOW_CURSOR", False)
    answer = excerpt("pick", "--vault", vault, "--height", "15")
    assert (answer.code, answer.out) == (2, "")
    assert "Windows" in answer.err
