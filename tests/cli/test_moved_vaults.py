"""Tests that a renamed or moved vault keeps its user's data, and that a copy of a vault needs confirmation."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from excerpt.known_vaults import add_recent_vault, recent_vaults
from excerpt.settings import user_paths, vault_slug
from tests.cli.conftest import Answer, Excerpt


@pytest.fixture
def old(excerpt: Excerpt, vault: Path) -> Path:
    """Return a vault with one memory."""
    assert excerpt("remember", "Lentils keep well.", "--vault", vault).code == 0
    return vault


def texts(recalled: Answer) -> list[str]:
    return [memory["text"] for memory in recalled.json["memories"]]


def test_memories_follow_a_vault_that_is_renamed_and_it_is_told_once(excerpt: Excerpt, old: Path) -> None:
    new = old.rename(old.with_name("renamed"))
    first = excerpt("recall", "--vault", new, "--json")
    assert texts(first) == ["Lentils keep well."]
    assert first.err.count("\n") == 1
    assert str(old) in first.err
    assert "1 memory" in first.err
    again = excerpt("recall", "--vault", new, "--json")
    assert (texts(again), again.err) == (["Lentils keep well."], "")


def test_they_follow_it_back(excerpt: Excerpt, old: Path) -> None:
    new = old.rename(old.with_name("renamed"))
    excerpt("recall", "--vault", new)
    new.rename(old)
    assert texts(excerpt("recall", "--vault", old, "--json")) == ["Lentils keep well."]


def test_settings_queries_and_state_follow_too_and_the_index_is_not_made_anew(
    excerpt: Excerpt, old: Path, home: Path
) -> None:
    where = user_paths()
    assert excerpt("search", "sync", "--vault", old).code == 0
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
        place(old).parent.mkdir(parents=True, exist_ok=True)
        place(old).write_text("[search]\nlimit = 1\n")
    add_recent_vault(where, old)
    new = old.rename(old.with_name("renamed"))
    searched = excerpt("search", "sync conflict", "--vault", new, "--json")
    assert len(searched.json["hits"]) == 1
    assert [place(new).exists() for place in kept] == [True] * len(kept)
    assert [vault.path for vault in recent_vaults(where)] == [str(new)]
    assert [folder.name for folder in (home / "cache" / "index").iterdir()] == [vault_slug(new)]
    assert [file.name for file in home.rglob("*") if vault_slug(old) in file.name] == []


def test_notes_that_were_edited_between_do_not_matter(excerpt: Excerpt, old: Path) -> None:
    new = old.rename(old.with_name("renamed"))
    (new / "Sync.md").write_text("All new.\n")
    (new / "Another.md").write_text("And one more.\n")
    assert texts(excerpt("recall", "--vault", new, "--json")) == ["Lentils keep well."]


def test_a_vault_of_other_notes_takes_nothing_over(excerpt: Excerpt, old: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.rmtree(old)
    other.mkdir()
    (other / "Soup.md").write_text("Another soup.\n")
    recalled = excerpt("recall", "--vault", other)
    assert (recalled.code, recalled.err.count("\n")) == (1, 1)
    assert str(old) not in recalled.err


def test_where_names_are_the_same_and_all_is_edited_it_is_asked(excerpt: Excerpt, old: Path) -> None:
    new = old.rename(old.with_name("renamed"))
    for note in new.rglob("*.md"):
        note.write_text(note.read_text() + "More.\n")
    recalled = excerpt("recall", "--vault", new)
    assert recalled.code == 1
    assert str(old) in recalled.err
    assert "1 memory" in recalled.err


def test_of_a_copy_the_command_is_told_and_leaves_both_with_their_memories(
    excerpt: Excerpt, old: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "a copy"
    shutil.copytree(old, copy)
    told = excerpt("search", "sync", "--vault", copy).err.splitlines()[0]
    assert str(old) in told
    assert "1 memory" in told
    assert str(old) not in excerpt("search", "sync", "--vault", copy).err
    recalled = excerpt("recall", "--vault", copy)
    assert (recalled.code, recalled.err.splitlines()[0]) == (1, told)
    adopted = excerpt(*shlex.split(told.partition(": excerpt ")[2]))
    assert adopted.code == 0
    assert f"{old}: 1 memory" in adopted.out
    for vault in (old, copy):
        assert texts(excerpt("recall", "--vault", vault, "--json")) == ["Lentils keep well."]


def test_what_is_taken_over_joins_what_is_there(excerpt: Excerpt, old: Path, home: Path) -> None:
    new = old.rename(old.with_name("renamed"))
    where = user_paths()
    for vault, limit in ((old, 1), (new, 2)):
        where.vault_settings_file(vault).parent.mkdir(parents=True, exist_ok=True)
        where.vault_settings_file(vault).write_text(f"[search]\nlimit = {limit}\n")
    where.memory_folder(new).mkdir(parents=True)
    (where.memory_folder(new) / "a.md").write_text("Of its own.\n")
    assert excerpt("recall", "--vault", new).err == ""
    adopted = excerpt("doctor", "--vault", new, "--adopt", old)
    assert adopted.code == 0
    assert f"{old}: 1 memory" in adopted.out
    assert "settings" in adopted.out
    assert sorted(texts(excerpt("recall", "--vault", new, "--json"))) == ["Lentils keep well.", "Of its own."]
    assert where.vault_settings_file(new).read_text() == "[search]\nlimit = 2\n"
    assert where.vault_settings_file(old).exists()


def test_files_of_one_name_are_both_kept(excerpt: Excerpt, old: Path) -> None:
    where = user_paths()
    new = old.rename(old.with_name("renamed"))
    for vault, text in ((old, "one"), (new, "other")):
        where.memory_folder(vault).mkdir(parents=True, exist_ok=True)
        (where.memory_folder(vault) / "a.md").write_text(text)
    excerpt("doctor", "--vault", new, "--adopt", old)
    assert sorted(texts(excerpt("recall", "--vault", new, "--json"))) == ["Lentils keep well.", "one", "other"]


def test_the_doctor_names_memories_whose_vault_is_gone_with_the_command(excerpt: Excerpt, old: Path) -> None:
    new = old.rename(old.with_name("renamed"))
    said = excerpt("doctor", "--vault", new, "--quick").out
    command = f"excerpt doctor --vault {new} --adopt {old}"
    assert f"{old}, which is probably this vault before it moved: 1 memory." in said
    assert command in said
    assert excerpt(*shlex.split(command)[1:]).code == 0
    assert str(old) not in excerpt("doctor", "--vault", new, "--quick").out


def test_memories_of_a_vault_that_no_path_is_known_of_are_taken_over_by_their_folder(
    excerpt: Excerpt, old: Path, home: Path
) -> None:
    new = old.rename(old.with_name("renamed"))
    shutil.rmtree(home / "data" / "vaults")
    slug = vault_slug(old)
    said = excerpt("doctor", "--vault", new).out.splitlines()
    assert any("1 memory" in line and slug in line for line in said)
    assert excerpt("doctor", "--vault", new, "--adopt", slug).code == 0
    assert texts(excerpt("recall", "--vault", new, "--json")) == ["Lentils keep well."]


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("--adopt", "/nowhere/at/all"), 3, "/nowhere/at/all"),
        (("--adopt", "/nowhere", "--fix"), 2, "--adopt"),
    ],
)
def test_what_cannot_be_taken_over_is_a_sentence(
    excerpt: Excerpt, vault: Path, argv: tuple[str, ...], code: int, said: str
) -> None:
    answer = excerpt("doctor", "--vault", vault, *argv)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err


def test_what_a_vault_is_known_by_is_never_in_it_nor_read_through_a_link(
    excerpt: Excerpt, old: Path, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (old / "link").symlink_to(outside)
    before = sorted(old.rglob("*"))
    excerpt("recall", "--vault", old)
    assert sorted(old.rglob("*")) == before
    (known,) = (home / "data" / "vaults").iterdir()
    assert "secret" not in known.read_text()


def test_a_home_folder_that_nobody_agreed_to_is_not_looked_into(
    excerpt: Excerpt, vault: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(vault))
    monkeypatch.setenv("USERPROFILE", str(vault))
    assert excerpt("search", "sync", "--vault", vault).code == 3
    assert not (home / "data" / "vaults").exists()
