"""Tests of several vaults that are opened as one, by the Python API and by the commands."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import excerpt
import excerpt.aio
from excerpt.base.settings import user_paths
from excerpt.vault.known_vaults import VaultFolders
from tests.cli.conftest import Excerpt
from tests.cli.conftest import excerpt as run_excerpt
from tests.cli.conftest import home as excerpt_home
from tests.index.conftest import make_model
from tests.tiny_store import write_notes

command, home = run_excerpt, excerpt_home  # fixtures

NOTES = {
    "work": {
        "Soup.md": "# Soup\n\nThe canteen has a soup of lentils on Mondays. See [[Menu]].\n",
        "Menu.md": "# Menu\n\nLentils, rice and tea.\n",
    },
    "home": {
        "Kitchen/Soup.md": "# Soup\n\nSimmer the lentils for the soup until they are soft.\n",
        "Garden.md": "# Garden\n\nWater the tomatoes in the morning.\n",
    },
}


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    for name, notes in NOTES.items():
        for path, text in notes.items():
            file = tmp_path / "vaults" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return [tmp_path / "vaults" / name for name in NOTES]


@pytest.fixture
def union(home: Path, folders: list[Path]) -> Iterator[excerpt.VaultUnion]:
    with excerpt.open(folders) as opened:
        assert isinstance(opened, excerpt.VaultUnion)
        yield opened


@pytest.fixture
def both(folders: list[Path]) -> tuple[str | Path, ...]:
    return tuple(word for folder in folders for word in ("--vault", folder))


# --- names ------------------------------------------------------------------------------------------------------------


def test_a_path_names_its_vault(folders: list[Path]) -> None:
    named = VaultFolders.of(folders)
    assert named.by_name == {"work": folders[0], "home": folders[1]}
    assert named.locate("home/Kitchen/Soup.md") == (folders[1], "Kitchen/Soup.md")
    with pytest.raises(KeyError):
        named.locate("elsewhere/Soup.md")


def test_the_paths_of_a_single_vault_have_no_vault_name(folders: list[Path]) -> None:
    named = VaultFolders.of([folders[0], folders[0]])
    assert not named.is_joined
    assert (named.name_of("home/a.md"), named.locate("home/a.md")) == ("", (folders[0], "home/a.md"))


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/a/notes", "/b/notes", "/b/x/Notes"], ["a-notes", "b-notes", "x-Notes"]),
        (["/p/a", "/q/a", "/r/p"], ["p-a", "q-a", "p"]),
        (["/p/a", "/q/a", "/r/p-a"], ["p-a", "q-a", "p-a 2"]),
        (["/", "/notes"], ["-", "notes"]),
        (["/a/[[x]] *?", "/b/tag:x"], ["[[x]] *?", "tag:x"]),
        ([os.fsdecode(b"/a/\xff"), "/a/b"], ["\ufffd", "b"]),
    ],
)
def test_a_vault_name_is_a_single_folder_and_unique(paths: list[str], names: list[str]) -> None:
    assert list(VaultFolders.of(map(Path, paths)).by_name) == names


# --- the Python API ---------------------------------------------------------------------------------------------------


def test_hits_of_several_vaults_are_in_one_ranking(union: excerpt.VaultUnion, folders: list[Path]) -> None:
    result = union.search("lentil soup")
    assert {hit.path for hit in result.hits[:2]} == {"work/Soup.md", "home/Kitchen/Soup.md"}
    for hit in result:
        folder, path = union.folders.locate(hit.path)
        assert hit.text in (folder / path).read_text(encoding="utf-8")
    assert {hit.path for hit in union.search("soup", where={"path": "home/"})} == {"home/Kitchen/Soup.md"}


def test_every_question_can_be_asked_of_several_vaults(union: excerpt.VaultUnion) -> None:
    assert {pack.path for pack in union.pack("lentil soup", fill="budget").passages} >= {"work/Soup.md"}
    assert union.read("Kitchen/Soup").path == union.peek("home/Kitchen/Soup.md").path == "home/Kitchen/Soup.md"
    assert union.related("work/Soup").notes[0].path in {"work/Menu.md", "home/Kitchen/Soup.md"}
    assert {branch.label for branch in union.map().folders} == {"work", "home"}
    assert union.overview("soup").found
    assert union.why_not("lentils", "Garden").note
    assert union.explain(union.search("soup"))
    assert union.status().notes == 4
    assert union.fragments("Garden")[0].path == "home/Garden.md"


def test_an_ambiguous_note_name_is_an_error(union: excerpt.VaultUnion) -> None:
    with pytest.raises(excerpt.NotFoundError) as raised:
        union.read("Soup")
    assert "work/Soup.md" in raised.value.hint
    assert "home/Kitchen/Soup.md" in raised.value.hint
    assert union.read("work/Soup").path == "work/Soup.md"
    assert union.read("HOME/soup").path == "home/Kitchen/Soup.md"


def test_a_change_in_one_vault_is_found_after_a_refresh(union: excerpt.VaultUnion, folders: list[Path]) -> None:
    before = union.generation
    assert not union.search('"papaya"').matched
    (folders[1] / "Papaya.md").write_text("A papaya is ripe when it is yellow.\n", encoding="utf-8")
    report = union.refresh()
    assert (report.added, report.unchanged) == (1, 4)
    assert union.generation > before
    assert union.search("papaya").hits[0].path == "home/Papaya.md"
    assert not union.reload()


def test_reload_switches_to_indexes_that_another_process_has_committed(
    union: excerpt.VaultUnion, folders: list[Path]
) -> None:
    union.load()
    (folders[0] / "Papaya.md").write_text("A papaya is ripe when it is yellow.\n", encoding="utf-8")
    with excerpt.open(folders[0]) as other:
        other.load()
    assert union.reload()
    assert union.search("papaya").hits[0].path == "work/Papaya.md"


def test_one_of_the_vaults_can_be_refreshed_alone(union: excerpt.VaultUnion, folders: list[Path]) -> None:
    union.load()
    (folders[0] / "Papaya.md").write_text("A papaya is ripe when it is yellow.\n", encoding="utf-8")
    union.vaults["work"].refresh()
    assert union.search("papaya").hits[0].path == "work/Papaya.md"


@pytest.mark.programs
def test_threads_search_while_a_vault_is_refreshed(union: excerpt.VaultUnion, folders: list[Path]) -> None:
    expected = [hit.path for hit in union.search("lentil soup")]
    with ThreadPoolExecutor(4) as threads:
        found = [threads.submit(union.search, "lentil soup") for _ in range(40)]
        for number in range(4):
            (folders[number % 2] / "Noise.md").write_text(f"Papaya {number}.\n", encoding="utf-8")
            union.vaults["work"].refresh()
            union.refresh()
        for future in found:
            assert [hit.path for hit in future.result()][:2] == expected[:2]


def test_a_closed_vault_is_opened_again(union: excerpt.VaultUnion) -> None:
    union.load()
    union.close()
    assert union.search("soup").hits


def test_memories_of_all_vaults_are_recalled_with_their_vault(union: excerpt.VaultUnion) -> None:
    union.vaults["work"].memories.remember("The canteen is closed in August.")
    union.vaults["home"].memories.remember("Lentils need no soaking.", tags=["cooking"])
    assert {each.vault for each in union.memories.recall()} == {"work", "home"}
    assert [each.vault for each in union.memories.recall("lentils")] == ["home"]
    assert [each.vault for each in union.memories.recall(tags=["cooking"])] == ["home"]
    assert len(union.memories.recall(limit=1)) == 1
    assert len(union.memories.all().memories) == 2


def test_a_memory_is_saved_in_the_vault_of_its_source(union: excerpt.VaultUnion) -> None:
    fragment = union.fragments("Garden")[0]
    one = union.memories.remember(fragment=fragment.id).memory
    two = union.memories.remember(source="home/Kitchen/Soup.md:3-3").memory
    three = union.memories.remember("A thought without a source.").memory
    by_id = {each.memory.id: each for each in union.memories.recall(check_sources=True)}
    assert [by_id[memory.id].vault for memory in (one, two, three)] == ["home", "home", "work"]
    assert one.source is not None
    assert one.source.path == "home/Garden.md"
    assert by_id[two.id].source_check == union.memories.check_source(two.id)
    assert [each.memory.id for each in union.memories.recall(source="home/Kitchen")] == [two.id]
    assert union.memories.edit(two.id, tags=["soup"]).tags == ("soup",)
    assert union.memories.forget(one.id).id == union.memories.restore(one.id).id == one.id
    with pytest.raises(excerpt.MemoryUnusableError):
        union.memories.get("m000000000")


def test_a_pack_of_several_vaults_can_be_checked(union: excerpt.VaultUnion, folders: list[Path]) -> None:
    packed = union.pack("lentil soup", fill="budget")
    quoted = f'They are soft: "{packed.passages[0].text.splitlines()[-1]}" [1].'
    assert union.check(quoted, packed.text).holds
    for pack in packed.passages:
        folder, path = union.folders.locate(pack.path)
        assert pack.link.startswith(f"obsidian://open?vault={folder.name}&file={path.replace('/', '%2F')}")


def test_an_operation_for_a_single_vault_is_refused_with_the_names_of_the_vaults(union: excerpt.VaultUnion) -> None:
    for ask in (union.news, union.run_gold, lambda: union.gold, lambda: union.pack(marks=True)):
        with pytest.raises(excerpt.VaultError, match="work, home"):
            ask()


def test_a_folder_named_twice_is_one_vault(home: Path, folders: list[Path]) -> None:
    with excerpt.open([folders[0], folders[0] / ".." / "work"]) as opened:
        assert not opened.folders.is_joined
        assert {hit.path for hit in opened.search("soup")} == {"Soup.md"}


def test_impossible_combinations_are_refused(home: Path, folders: list[Path]) -> None:
    with pytest.raises(ValueError, match="no vault"):
        excerpt.open([])
    with pytest.raises(ValueError, match="index"):
        excerpt.open(folders, index=home / "index")
    with pytest.raises(excerpt.VaultError):
        excerpt.open([folders[0], folders[0] / "nowhere"])


@pytest.mark.usefixtures("tiny_stores")
def test_a_store_and_a_folder_give_one_list(home: Path, folders: list[Path], command: Excerpt) -> None:
    write_notes("tiny://wiki", {"Soup.md": "# Soup\n\nA soup of lentils needs cumin.\n"})
    with excerpt.open([folders[0], "tiny://wiki"]) as joined:
        assert isinstance(joined, excerpt.VaultUnion)
        assert not joined.has_files
        assert {hit.path for hit in joined.search("lentil soup").hits[:2]} == {"work/Soup.md", "wiki/Soup.md"}
        assert "From wiki/Soup.md" in joined.pack("cumin").text
        memory = joined.memories.remember("Cumin is out.", source="wiki/Soup.md").memory
        assert memory.source is not None
        assert memory.source.path == "wiki/Soup.md"
        assert [each.memory.id for each in joined.vaults["wiki"].memories.recall("cumin")] == [memory.id]
        assert joined.refresh().unchanged == 2
    answer = command("search", "cumin", "--json", "--vault", folders[0], "--vault", "tiny://wiki")
    found = json.loads(answer.out)
    assert (found["vaults"]["wiki"], found["hits"][0]["path"]) == ("tiny://wiki", "wiki/Soup.md")


@pytest.mark.usefixtures("tiny_stores")
def test_a_store_that_cannot_be_read_is_left_out_of_several_vaults(home: Path, folders: list[Path]) -> None:
    with excerpt.open([folders[0], "tiny://nowhere"]) as joined:
        assert {hit.path for hit in joined.search("soup")} == {"work/Soup.md"}
        assert list(joined.left_out) == ["nowhere"]


def test_a_vault_with_an_unreadable_index_is_omitted_and_named_once(home: Path, folders: list[Path]) -> None:
    with excerpt.open(folders) as opened:
        opened.load()
    for file in user_paths().index_folder(folders[0]).rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged")
    notices: list[str] = []
    with excerpt.open(folders, refresh=False, on_notice=notices.append) as opened:
        for _ in range(2):
            assert {hit.path for hit in opened.search("soup")} == {"home/Kitchen/Soup.md"}
        opened.reload()
        assert [notice.partition(" is left out")[0] for notice in notices] == ["The vault work"]


@pytest.fixture
def without_model(home: Path, folders: list[Path], tmp_path: Path) -> Path:
    """Index both vaults, the second one by a model of its own, which is gone afterwards; return the model's folder."""
    model = make_model(tmp_path / "model", 24, 1)
    settings = user_paths().vault_settings_file(folders[1])
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'[embedding]\nmodel = "{model.as_posix()}"\n', encoding="utf-8")
    with excerpt.open(folders) as opened:
        opened.load()
    return model.rename(tmp_path / "moved")


@pytest.mark.usefixtures("without_model")
def test_a_vault_whose_embedding_model_cannot_be_loaded_is_left_out_and_named_once(folders: list[Path]) -> None:
    notices: list[str] = []
    with excerpt.open(folders, refresh=False, on_notice=notices.append) as opened:
        for _ in range(2):
            assert {hit.path for hit in opened.search("soup")} == {"work/Soup.md"}
        opened.reload()
        assert list(opened.left_out) == ["home"]
    assert [notice.partition(" is left out")[0] for notice in notices] == ["The vault home"]
    assert "embedding model" in notices[0]


def test_a_vault_left_out_for_its_model_answers_again_when_the_model_is_back(
    folders: list[Path], without_model: Path, tmp_path: Path
) -> None:
    with excerpt.open(folders, refresh=False) as opened:
        assert opened.left_out
        without_model.rename(tmp_path / "model")
        assert opened.reload()
        assert not opened.left_out
        assert "home/Kitchen/Soup.md" in {hit.path for hit in opened.search("soup")}


def test_a_model_that_another_vault_can_load_leaves_no_vault_out(home: Path, folders: list[Path]) -> None:
    with excerpt.open(folders) as opened:
        opened.load()
    settings = user_paths().vault_settings_file(folders[0])
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[embedding]\nmodel = "/nowhere"\n', encoding="utf-8")
    with excerpt.open(folders, refresh=False) as opened:
        assert {hit.path for hit in opened.search("soup")} >= {"work/Soup.md", "home/Kitchen/Soup.md"}
        assert not opened.left_out


def test_vaults_none_of_whose_models_can_be_loaded_are_an_error(home: Path, folders: list[Path]) -> None:
    with excerpt.open(folders) as opened:
        opened.load()
    with (
        excerpt.open(folders, refresh=False, settings={"embedding.model": "/nowhere"}) as opened,
        pytest.raises(excerpt.ModelError),
    ):
        opened.search("soup")


def test_vaults_without_a_readable_index_are_an_error(home: Path, folders: list[Path]) -> None:
    with excerpt.open(folders, refresh=False) as opened, pytest.raises(excerpt.IndexUnusableError):
        opened.search("soup")


async def test_several_vaults_can_be_awaited(home: Path, folders: list[Path]) -> None:
    async with excerpt.aio.open(folders) as opened:
        assert {hit.path for hit in (await opened.search("soup")).hits} >= {"work/Soup.md", "home/Kitchen/Soup.md"}


# --- commands ---------------------------------------------------------------------------------------------------------


def test_search_ranks_all_vaults_together(command: Excerpt, folders: list[Path], both: tuple[str | Path, ...]) -> None:
    answer = command("search", "lentil soup", *both, "--json", "--explain").json
    assert answer["vaults"] == {"work": str(folders[0]), "home": str(folders[1])}
    assert {hit["path"] for hit in answer["hits"][:2]} == {"work/Soup.md", "home/Kitchen/Soup.md"}
    assert all(hit["explanation"] for hit in answer["hits"])
    printed = command("search", "lentil soup", *both).out
    assert "work/Soup.md:3" in printed
    assert "home/Kitchen/Soup.md:3" in printed
    assert command("search", "lentils", *both, "--why", "Garden").out


def test_a_batch_searches_several_vaults(command: Excerpt, both: tuple[str | Path, ...], tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_text('{"id": 1, "query": "tomatoes"}\n', encoding="utf-8")
    answer = command("search", *both, "--batch", tmp_path / "batch.jsonl", "--json").json
    assert answer["hits"][0]["path"] == "home/Garden.md"


@pytest.mark.parametrize("name", ["markdown", "xml", "json", "plain"])
def test_a_pack_of_several_vaults_names_the_vault_of_each_source(
    command: Excerpt, folders: list[Path], both: tuple[str | Path, ...], tmp_path: Path, name: str
) -> None:
    asked = ("pack", "lentil soup", *both, "--fill", "budget", "--format", name)
    text = command(*asked).out
    assert "work/Soup.md" in text
    assert "home/Kitchen/Soup.md" in text
    if name == "json":
        assert json.loads(text)["vaults"]["home"] == str(folders[1])
    (tmp_path / "pack").write_text(text, encoding="utf-8")
    (tmp_path / "answer").write_text("Lentils are softened by simmering [1] [2].\n", encoding="utf-8")
    checked = command("check", tmp_path / "answer", "--pack", tmp_path / "pack", *both)
    assert checked.code == 0
    ids = [hit["fragment_id"] for hit in command("search", "soup", *both, "--json").json["hits"]]
    assert len(command("pack", *both, "--id", ids[0], "--id", ids[1], "--json").json["passages"]) == 2


@pytest.mark.programs
def test_control_characters_in_a_vault_name_are_shown_as_text(command: Excerpt, tmp_path: Path) -> None:
    both: list[str | Path] = []
    for name in ("a\x1b[31m\nFrom b.md", "## [9] [[x]]", "-"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Soup.md").write_text("# Soup\n\nSimmer the lentils.\n", encoding="utf-8")
        both += ["--vault", tmp_path / name]
    for asked in (("search", "lentils"), ("pack", "lentils", "--fill", "budget"), ("overview", "lentils"), ("map",)):
        answer = command(*asked, *both)
        assert answer.code == 0
        assert "\x1b" not in answer.out
        assert "\nFrom b.md" not in answer.out
    paths = {hit["path"] for hit in command("search", "lentils", *both, "--json").json["hits"]}
    assert paths == {"a\x1b[31m\nFrom b.md/Soup.md", "## [9] [[x]]/Soup.md", "-/Soup.md"}


def test_a_pack_is_not_written_into_any_of_the_vaults(
    command: Excerpt, folders: list[Path], both: tuple[str | Path]
) -> None:
    for folder in folders:
        answer = command("pack", "soup", *both, "--output", folder / "pack.md")
        assert (answer.code, list(folder.glob("pack*"))) == (2, [])


def test_overviews_related_notes_and_maps_cover_all_vaults(command: Excerpt, both: tuple[str | Path, ...]) -> None:
    assert "home/Kitchen/Soup.md" in command("overview", "soup", *both).out
    assert {note["path"] for note in command("overview", "soup", *both, "--json").json["main_notes"]} >= {
        "work/Soup.md"
    }
    assert command("related", "work/Soup.md", *both, "--json").json["vaults"]
    assert command("read", "home/Garden.md", *both).out.endswith("Water the tomatoes in the morning.\n")
    assert command("peek", "Garden", *both, "--json").json["path"] == "home/Garden.md"
    assert "path:/home/" in command("map", *both).out


def test_recalled_memories_name_their_vault(
    command: Excerpt, folders: list[Path], both: tuple[str | Path, ...]
) -> None:
    command("remember", "Lentils need no soaking.", "--vault", folders[1])
    command("remember", "The canteen is closed in August.", "--vault", folders[0])
    assert [each["vault"] for each in command("recall", *both, "--json").json["memories"]] == ["work", "home"]
    assert command("recall", "lentils", *both).out.startswith("home · ")
    assert "vault" not in command("recall", "--vault", folders[0], "--json").json["memories"][0]
