import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from excerpt.base.errors import SettingsError, VaultError
from excerpt.base.settings import AttachmentSettings, VaultSettings
from excerpt.vault.scan import MAX_FILE_TIME_SECONDS, scan

DEFAULTS = VaultSettings()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes files given as path=text or as paths alone, and returns the vault."""

    def write(*paths: str, **texts: str) -> Path:
        for path, text in [*((path, "text") for path in paths), *texts.items()]:
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    return write


def paths(vault: Path, settings: VaultSettings = DEFAULTS) -> list[str]:
    return [file.path for file in scan(vault, settings).files]


def skip_reasons(vault: Path) -> dict[str, str]:
    return {skipped.path: skipped.reason for skipped in scan(vault, DEFAULTS).skipped}


def test_notes_are_found_by_suffix_in_order_of_path(write: Callable[..., Path]) -> None:
    vault = write("b.md", "a/z.markdown", "A.MD", "c.xyz", "image.png", "md", "a.md.bak")
    assert paths(vault) == ["A.MD", "a/z.markdown", "b.md"]


def test_suffixes_are_configurable(write: Callable[..., Path]) -> None:
    assert paths(write("a.md", "b.TXT"), VaultSettings(extensions=(".txt",))) == ["b.TXT"]


def test_a_file_has_its_size_and_time(write: Callable[..., Path]) -> None:
    vault = write("a.md")
    os.utime(vault / "a.md", ns=(1, 1_234_567_890_123_456_789))
    (file,) = scan(vault, DEFAULTS).files
    assert (file.size, file.mtime_ns) == (4, 1_234_567_890_123_456_789)
    assert file.ctime_ns == (0 if sys.platform == "win32" else (vault / "a.md").stat().st_ctime_ns)


@pytest.mark.parametrize("year", [1900, 2300, 2400])
def test_a_file_time_that_does_not_fit_into_64_bits_is_replaced_by_the_nearest_that_does(
    write: Callable[..., Path], year: int
) -> None:
    vault = write("a.md")
    seconds = int((datetime(year, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    os.utime(vault / "a.md", (seconds, seconds))
    (file,) = scan(vault, DEFAULTS).files
    assert file.mtime_ns == min((vault / "a.md").stat().st_mtime_ns, MAX_FILE_TIME_SECONDS * 10**9)


def test_hidden_names_are_skipped(write: Callable[..., Path]) -> None:
    vault = write("a.md", ".hidden.md", ".obsidian/b.md", "c/.trash/d.md")
    assert paths(vault) == ["a.md"]
    assert skip_reasons(vault) == {}


def test_unusual_names_are_accepted(write: Callable[..., Path]) -> None:
    names = sorted(
        [" lead.md", "new\nline.md", "tab\t.md", "\u202egnp.md", "back\\slash.md", "日本.md", "e\u0301.md", "é.md"]
    )
    assert paths(write(*names)) == names


@pytest.mark.parametrize("name", [".gitignore", ".excerptignore"])
def test_ignore_files_exclude_notes(write: Callable[..., Path], name: str) -> None:
    vault = write("a.md", "drafts/b.md", "x/drafts/c.md", "x/d.md", "top.md", "x/top.md", "keep.tmp.md", "e.tmp.md")
    (vault / name).write_text("# comment\ndrafts/\n/top.md\n*.tmp.md\n!keep.tmp.md\n")
    assert paths(vault) == ["a.md", "keep.tmp.md", "x/d.md", "x/top.md"]


def test_a_nested_ignore_file_overrides_those_above_for_its_folder(write: Callable[..., Path]) -> None:
    vault = write("a.md", "x/a.md", "x/b.md", "x/y/a.md")
    (vault / ".gitignore").write_text("a.md\n")
    (vault / "x" / ".gitignore").write_text("!a.md\n/b.md\n")
    assert paths(vault) == ["x/a.md", "x/y/a.md"]


def test_excerptignore_overrides_gitignore(write: Callable[..., Path]) -> None:
    vault = write("a.md", "b.md")
    (vault / ".gitignore").write_text("*.md\n")
    (vault / ".excerptignore").write_text("!a.md\n")
    assert paths(vault) == ["a.md"]


def test_the_settings_override_ignore_files(write: Callable[..., Path]) -> None:
    vault = write("a.md", "x/b.md", "node_modules/c.md")
    (vault / ".gitignore").write_text("!b.md\n")
    assert paths(vault, VaultSettings(exclude=("b.md", "node_modules"))) == ["a.md"]


def test_with_an_include_setting_only_the_named_files_are_read(write: Callable[..., Path]) -> None:
    vault = write("a.md", "Projects/b.md", "Projects/old/c.md", "x/Projects/d.md", "Journal/2025.md", "Journal/e.md")
    assert paths(vault, VaultSettings(include=("/Projects/", "Journal/20*.md"))) == [
        "Journal/2025.md",
        "Projects/b.md",
        "Projects/old/c.md",
    ]
    assert paths(vault, VaultSettings(include=("Projects", "!old/"))) == ["Projects/b.md", "x/Projects/d.md"]


def test_files_of_an_include_setting_are_still_excluded_by_other_rules(write: Callable[..., Path]) -> None:
    vault = write("a/b.md", "a/c.md", "a/d.md")
    (vault / ".gitignore").write_text("b.md\n")
    assert paths(vault, VaultSettings(include=("a/",), exclude=("c.md",))) == ["a/d.md"]


def test_a_negated_exclusion_restores_ignored_files(write: Callable[..., Path]) -> None:
    vault = write("a.md", "private/b.md", "private/c.md")
    (vault / ".gitignore").write_text("private/\n")
    assert paths(vault, VaultSettings(exclude=("!/private/", "c.md"))) == ["a.md", "private/b.md"]


@pytest.mark.parametrize("settings", [VaultSettings(include=("a[z-b]",)), VaultSettings(exclude=("x", "a[z-b]"))])
def test_an_invalid_pattern_of_the_settings_is_reported(write: Callable[..., Path], settings: VaultSettings) -> None:
    with pytest.raises(
        SettingsError, match=r"vault\.(in|ex)clude is not valid: 'a\[z-b\]' is not a .gitignore pattern"
    ):
        scan(write("a.md"), settings)


def test_a_broken_pattern_is_skipped(write: Callable[..., Path]) -> None:
    vault = write("a.md", "b.md")
    (vault / ".gitignore").write_bytes(b"a[z-b]\n!\nb.md\n\xff\xfe\n")
    assert paths(vault) == ["a.md"]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 60 + "b", "a" * 200 + ".md"),
        ("**/a/" * 20 + "b", "a/" * 150 + "a.md"),
        ("x/" + "**/a/" * 20 + "b", "x/" + "a/" * 150 + "a.md"),
        ("a/*?*" * 20, "a/" * 150 + "a.md"),
    ],
)
def test_no_pattern_takes_exponential_work(write: Callable[..., Path], pattern: str, path: str) -> None:
    vault = write(path, **{".gitignore": f"{pattern}\n*.txt"})
    assert paths(vault) == [path]  # takes 20 ms; by backtracking it would not end


def test_patterns_above_the_limit_are_ignored_and_reported(write: Callable[..., Path]) -> None:
    many = "".join(f"# a note\n{number}.md\n" for number in range(50_000))
    vault = write("0.md", "999.md", "1000.md", "a/b.md", "c.md", **{".gitignore": many, "a/.excerptignore": "b.md"})
    assert paths(vault) == ["1000.md", "a/b.md", "c.md"]
    most = "1,000 for a folder and 20,000 for a vault"
    assert skip_reasons(vault) == {
        ".gitignore": f"Only the first 1,000 of the file's 50,000 patterns are used; the limits are {most}.",
        "a/.excerptignore": f"Only the first 0 of the file's 1 patterns are used; the limits are {most}.",
    }


def test_the_limit_covers_the_patterns_of_all_folders(write: Callable[..., Path]) -> None:
    lines = "\n".join(f"{number}.md" for number in range(1_000))
    vault = write(**{f"{folder}/{name}": lines for folder in range(25) for name in (".gitignore", "999.md")})
    assert len(paths(vault)) == 5
    assert len(skip_reasons(vault)) == 5


def test_an_oversized_pattern_is_ignored_and_reported(write: Callable[..., Path]) -> None:
    vault = write("a.md", "b.md", **{".gitignore": f"{'a*' * 300}\nb.md"})
    assert paths(vault) == ["a.md"]
    assert skip_reasons(vault) == {".gitignore": "Patterns of more than 500 letters are ignored: 1."}


def test_only_the_beginning_of_a_huge_ignore_file_is_read_and_reported(write: Callable[..., Path]) -> None:
    vault = write("a.md", "b.md", **{".gitignore": "a.md\n" + "# much\n" * 200_000 + "b.md"})
    assert paths(vault) == ["b.md"]
    assert skip_reasons(vault) == {".gitignore": "Only its first 1 MB is read."}


def test_a_folder_named_like_an_ignore_file_excludes_nothing(write: Callable[..., Path]) -> None:
    assert paths(write(".gitignore/x", "a.md")) == ["a.md"]


def test_symbolic_links_are_reported_and_not_followed(
    write: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.md").write_text("secret")
    vault = write("a.md", "x/b.md")
    links = {
        "out.md": outside / "secret.md",
        "out": outside,
        "in.md": vault / "a.md",
        "loop": vault,
        "self.md": Path("self.md"),
        "gone.md": Path("nowhere.md"),
        "x/up": Path(".."),
        "picture.png": outside / "secret.md",
    }
    for link, target in links.items():
        (vault / link).symlink_to(target)
    assert paths(vault) == ["a.md", "x/b.md"]
    found = skip_reasons(vault)
    assert sorted(found) == ["gone.md", "in.md", "loop", "out", "out.md", "self.md", "x/up"]
    assert "out of the vault" in found["out.md"]
    assert "out of the vault" in found["out"]


def test_a_symbolic_link_that_is_ignored_is_not_reported(write: Callable[..., Path]) -> None:
    vault = write("a.md")
    (vault / "latest").symlink_to("/")
    (vault / ".gitignore").write_text("latest/\n")
    assert skip_reasons(vault) == {}


def test_the_vault_itself_may_be_reached_by_a_link(
    write: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("links") / "vault"
    link.symlink_to(write("a.md"))
    assert paths(link) == ["a.md"]


def test_a_pipe_in_the_vault_is_reported_as_skipped(write: Callable[..., Path]) -> None:
    vault = write("a.md", "folder.md/b.md")
    os.mkfifo(vault / "pipe.md")
    assert paths(vault) == ["a.md", "folder.md/b.md"]
    assert "pipe" in skip_reasons(vault)["pipe.md"]


def test_a_file_name_that_is_not_utf8_is_reported_in_a_readable_form(write: Callable[..., Path]) -> None:
    vault = write("a.md")
    try:
        Path(os.fsdecode(os.fsencode(vault) + b"/bad\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system only takes names in UTF-8")
    assert paths(vault) == ["a.md"]
    assert list(skip_reasons(vault)) == ["bad\ufffd.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_listed_is_reported(write: Callable[..., Path]) -> None:
    vault = write("a.md", "x/b.md")
    (vault / "x").chmod(0)
    try:
        assert paths(vault) == ["a.md"]
        assert list(skip_reasons(vault)) == ["x/"]
    finally:
        (vault / "x").chmod(0o700)


def test_a_missing_vault_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VaultError):
        scan(tmp_path / "gone", DEFAULTS)


def test_deep_folders_are_scanned(write: Callable[..., Path]) -> None:
    deep = "/".join(["d"] * 200) + "/leaf.md"
    assert paths(write(deep)) == [deep]


def test_only_the_requested_paths_are_checked(write: Callable[..., Path]) -> None:
    vault = write("a/b/c.md", "a/b/d.md", "a/e.md", "f.md")
    found = scan(vault, DEFAULTS, only={"a/b/d.md", "f.md", "nowhere/g.md"})
    assert [file.path for file in found.files] == ["a/b/d.md", "f.md"]
    assert [file.path for file in scan(vault, DEFAULTS, only={"a/b"}).files] == ["a/b/c.md", "a/b/d.md"]


def test_requested_paths_follow_the_rules_of_the_whole_vault(write: Callable[..., Path]) -> None:
    vault = write("a/b/c.md", "a/.b/d.md", "e/f.md", **{".gitignore": "b/\n"})
    (vault / "link").symlink_to(vault / "e")
    found = scan(vault, DEFAULTS, only={"a/b/c.md", "a/.b/d.md", "link/f.md", "link"})
    assert found.files == ()
    assert [skipped.path for skipped in found.skipped] == ["link"]


def test_a_scan_returns_the_folders_that_it_has_listed(write: Callable[..., Path]) -> None:
    vault = write("a/b/c.md", "a/.b/d.md", "e/f.md", **{".gitignore": "e/\n"})
    assert sorted(scan(vault, DEFAULTS).folders) == ["", "a/", "a/b/"]
    assert sorted(scan(vault, DEFAULTS, only={"a"}).folders) == ["", "a/", "a/b/"]


def test_files_that_no_reader_knows_are_counted_by_suffix(tmp_path: Path) -> None:
    for name in (
        "a.md",
        "b.eml",
        "c.EML",
        "d.enex",
        "LICENSE",
        ".hidden.eml",
        "e.tar.gz",
        "f.\x1b[31m",
        "g. odd",
        "x/h.eml",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("x/\n", encoding="utf-8")
    assert scan(tmp_path, VaultSettings()).unread == ((".eml", 2), (".enex", 1), (".gz", 1))
    without = VaultSettings(attachments=AttachmentSettings(read=False))
    assert scan(tmp_path, without).unread == ()


def test_of_very_many_suffixes_only_the_first_are_counted_separately(tmp_path: Path) -> None:
    for number in range(230):
        (tmp_path / f"a.x{number}").touch()
    unread = dict(scan(tmp_path, VaultSettings()).unread)
    assert (len(unread), unread[".…"], sum(unread.values())) == (201, 30, 230)
