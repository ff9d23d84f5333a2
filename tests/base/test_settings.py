"""Tests of the settings file and of the folders that excerpt uses."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from excerpt.base.errors import SettingsError, VaultError
from excerpt.base.kinds import Scope, Strategy
from excerpt.base.settings import (
    LANGUAGES,
    BoostSettings,
    Fusion,
    PackSettings,
    Paths,
    Settings,
    VaultSettings,
    find_retired_settings,
    load_settings,
    load_vault_settings,
    open_vault,
    user_paths,
    vault_slug,
)
from excerpt.text import folding, languages

_NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "excerpt.toml"


@pytest.fixture
def where(tmp_path: Path) -> Paths:
    """Return program folders with existing folders for settings."""
    (tmp_path / "config" / "vaults").mkdir(parents=True)
    return Paths(tmp_path / "config", tmp_path / "cache", tmp_path / "data", tmp_path / "state")


def test_missing_settings_have_their_defaults(file: Path) -> None:
    assert load_settings(file) == Settings()
    file.write_text("[pack]\nbudget = 10\n", encoding="utf-8")
    settings = load_settings(file)
    assert settings.pack.budget == 10
    assert settings.pack.neighbors == 1
    assert settings.search == Settings().search


def test_every_kind_of_value_is_read(file: Path) -> None:
    file.write_text(
        '[vault]\nexclude = ["Archive/"]\nlanguage = "de"\n[search]\nstrategy = "semantic"\nfuzzy_threshold = 0.5\n'
        'fusion = "rrf"\nper_note = 0\nboosts.links = false\n'
        '[pack]\nscope = "section"\n[screen.keys]\nquit = "ctrl+x"\n',
        encoding="utf-8",
    )
    settings = load_settings(file)
    assert settings.vault.exclude == ("Archive/",)
    assert settings.search.strategy is Strategy.SEMANTIC
    assert settings.search.fuzzy_threshold == 0.5
    assert settings.vault.language == "de"
    assert settings.search.fusion is Fusion.RRF
    assert settings.search.per_note == 0
    assert settings.search.boosts == BoostSettings(links=False)
    assert settings.pack.scope is Scope.SECTION
    assert settings.screen.keys == {"quit": "ctrl+x"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[pakc]\nbudget = 1\n", "unknown key pakc. Did you mean pack?"),
        ("[pack]\nbugdet = 1\n", "unknown key pack.bugdet. Did you mean pack.budget?"),
        ("[pack]\nxyz = 1\n", "unknown key pack.xyz. Known: budget, tokenizer, scope, neighbors, fill, "),
        ('[pack]\nbudget = "many"\n', "pack.budget is not valid"),
        ("[pack]\nneighbors = -1\n", "pack.neighbors is not valid"),
        ("[pack]\nneighbors = 99999999999999999999\n", "pack.neighbors is not valid"),
        ("[search]\nfuzzy_threshold = 1.5\n", "search.fuzzy_threshold is not valid"),
        ('[pack]\nscope = "chapter"\n', "pack.scope is not valid"),
        ('[pack]\nscope = "neighbours"\n', 'Did you mean "neighbors"?'),
        ('[search]\nfusion = "rff"\n', "search.fusion is not valid: invalid enum value 'rff'. Did you mean \"rrf\"?"),
        ("[search]\nper_note = -1\n", "search.per_note is not valid"),
        ("[search.boosts]\nlink = true\n", "unknown key search.boosts.link. Did you mean search.boosts.links?"),
        ('[search]\nlearn = "yes"\n', "search.learn is not valid"),
        ('[vault]\nlanguage = "german"\n', "vault.language is not valid: 'german' is not a supported language. Did"),
        ('[vault]\nlanguage = "Germn"\n', 'Did you mean "de"?'),
        ('[vault]\nlanguage = "en-GB"\n', 'Did you mean "en"?'),
        ('[vault]\nlanguage = "klingon"\n', "Known: ar, bg, ca,"),
        ("[vault]\nlanguage = 3\n", "vault.language is not valid"),
        ('[vault]\nextensions = ["md"]\n', "vault.extensions"),
        ('[vault]\nextensions = [""]\n', "vault.extensions"),
        ('[vault]\ninclude = "Projects/"\n', "vault.include is not valid"),
        ("pack = 3\n", "pack is not valid"),
        ("[pack", "is not valid TOML"),
        (f"pack = {'[' * 100_000}", "is not valid TOML"),
    ],
)
def test_an_error_names_the_file_and_the_wrong_key_and_the_most_similar_valid_key(
    file: Path, text: str, said: str
) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        load_settings(file)
    assert said in str(error.value)
    assert str(file) in str(error.value)


def test_a_setting_of_an_older_version_is_named_with_what_took_its_place(tmp_path: Path, where: Paths) -> None:
    files = where.settings_file, where.vault_settings_file(tmp_path)
    files[0].write_text("[pack]\nlimit = 3\nbudget = 90\n[screen]\ndensity = 1\n", encoding="utf-8")
    assert load_vault_settings(tmp_path, where).pack == PackSettings(budget=90)
    assert list(find_retired_settings(*files)) == [
        f"{files[0]}: pack.limit has no effect any more: packs end by pack.fill and pack.budget."
    ]


def test_settings_of_a_vault_override_those_for_all(tmp_path: Path, where: Paths) -> None:
    vault = tmp_path / "notes"
    where.settings_file.write_text(
        '[vault]\nexclude = ["a/", "b/"]\nmax_bytes = 5\n[search.boosts]\nlinks = false\n[screen.keys]\nquit = "f8"\n',
        encoding="utf-8",
    )
    where.vault_settings_file(vault).write_text(
        '[vault]\nexclude = ["c/"]\n[search.boosts]\nrecency = true\n[screen.keys]\nhelp = "f9"\n', encoding="utf-8"
    )
    settings = load_vault_settings(vault, where)
    assert settings.vault == VaultSettings(exclude=("c/",), max_bytes=5)
    assert settings.search.boosts == BoostSettings(links=False, recency=True)
    assert settings.screen.keys == {"quit": "f8", "help": "f9"}
    assert load_vault_settings(tmp_path / "other", where).vault == VaultSettings(exclude=("a/", "b/"), max_bytes=5)


def test_settings_of_a_vault_are_in_the_settings_folder_not_in_the_vault(tmp_path: Path, where: Paths) -> None:
    vault = tmp_path / "notes"
    file = where.vault_settings_file(vault)
    assert file.parent == where.config / "vaults"
    assert file.name.startswith("notes-")
    assert file.suffix == ".toml"


@pytest.mark.parametrize("fault", ["[pack]\nbugdet = 1\n", "[pack]\nbudget = -1\n", "[pack", "pack = 3\n"])
@pytest.mark.parametrize("of_vault", [True, False])
def test_a_mistake_in_either_file_names_that_file(tmp_path: Path, where: Paths, fault: str, of_vault: bool) -> None:
    files = where.settings_file, where.vault_settings_file(tmp_path)
    files[of_vault].write_text(fault, encoding="utf-8")
    files[not of_vault].write_text("[pack]\nneighbors = 3\n", encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        load_vault_settings(tmp_path, where)
    assert str(files[of_vault]) in str(error.value)
    assert str(files[not of_vault]) not in str(error.value)


def test_a_language_must_be_known_to_the_analyzer() -> None:
    by_script = {*languages._NARROW_RUNS, *languages._WIDE} - {"kana", "han"} | {"ja", "zh"}
    assert set(LANGUAGES) == {*folding._ALGORITHMS, *folding._SCRIPT_BY_LANGUAGE, *languages._STOP_WORDS, *by_script}


def test_a_byte_order_mark_is_ignored(file: Path) -> None:
    file.write_text("[pack]\nbudget = 1234\n", encoding="utf-8-sig")
    assert load_settings(file).pack.budget == 1234


def test_a_file_that_is_not_text_is_reported(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(file)


def test_the_variable_excerpt_home_moves_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path))
    where = user_paths()
    assert {where.config.parent, where.cache.parent, where.data.parent, where.state.parent} == {tmp_path}


def test_two_vaults_of_the_same_name_have_different_folders(tmp_path: Path) -> None:
    one, other = vault_slug(tmp_path / "a" / "notes"), vault_slug(tmp_path / "b" / "notes")
    assert one != other
    assert one.startswith("notes-")


def test_a_vault_is_the_same_for_any_spelling_of_its_path(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    assert (
        vault_slug(tmp_path / "notes") == vault_slug(tmp_path / "x" / ".." / "notes") == vault_slug(tmp_path / "link")
    )


def test_an_unusual_folder_name_gives_a_plain_slug(tmp_path: Path) -> None:
    slug = vault_slug(tmp_path / "a b\n/\x1b[1m")
    assert all(c.isalnum() or c in "-_." for c in slug)


def test_the_path_of_a_vault_is_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_vault(".") == tmp_path.resolve()


@pytest.mark.parametrize("path", ["nowhere", "note.md/below", "~no-such-user-at-all/notes"])
def test_a_missing_vault_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.md").touch()
    with pytest.raises(VaultError, match="There is no folder at"):
        open_vault(path)


def test_an_impossible_path_is_reported() -> None:
    with pytest.raises(VaultError, match="cannot be read"):
        open_vault("a\0b")


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """Yield a folder of an unprivileged user; as root, switch to nobody, since root may read everything."""
    if os.name != "posix":
        pytest.skip("permissions of this kind are POSIX's")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = os.geteuid() == 0
        if root:
            os.chown(folder, _NOBODY, _NOBODY)
            os.seteuid(_NOBODY)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)


def test_a_vault_without_list_permission_is_reported(unprivileged: Path) -> None:
    vault = unprivileged / "vault"
    vault.mkdir(mode=0)
    with pytest.raises(VaultError, match="cannot be read: Permission denied"):
        open_vault(vault)


def test_a_vault_in_a_folder_without_permission_is_reported(unprivileged: Path) -> None:
    vault = unprivileged / "closed" / "vault"
    vault.mkdir(parents=True)
    vault.parent.chmod(0)
    with pytest.raises(VaultError, match="cannot be read: Permission denied"):
        open_vault(vault)
