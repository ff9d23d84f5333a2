"""Tests of hits as a reader sees them, as lines for editors, and of notes that are named as files."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.kinds import Strategy
from excerpt.base.model import Fragment, Hit, LinkSource, Result, Span
from excerpt.cli.hits import print_hits
from excerpt.text.columns import wrap
from excerpt.text.display import title_and_headings
from excerpt.vault.known_vaults import VaultFolders
from tests.cli.conftest import Excerpt


def fragment(text: str, title: str = "Note", heading_path: tuple[str, ...] = (), path: str = "Note.md") -> Fragment:
    return Fragment("id", path, title, heading_path, 0, 0, 5, 7, text, 12, "digest")


def result(hit: Fragment, *spans: Span) -> Result:
    return Result("query", Strategy.AUTO, Strategy.ADAPTIVE, (Hit(hit, 1.0, (), spans),), 1, 0.5, 1)


def test_a_first_heading_that_repeats_the_title_is_left_out() -> None:
    assert title_and_headings("Packs", ("Merging", "Rules")) == "Packs › Merging › Rules"
    assert title_and_headings("Packs", ("Packs", "Merging")) == "Packs › Merging"


def test_a_hit_shows_rank_path_lines_tokens_score_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_hits(result(fragment("Some text\nof the note.", "Packs", ("Merging",), "Guide/Packs.md")).hits)
    assert capsys.readouterr().out == (
        "  1  Packs › Merging\n     Guide/Packs.md:5-7 · 12 tokens · score 1.000\n     Some text of the note.\n"
    )


def test_a_hit_that_is_listed_for_a_link_says_from_which_note(capsys: pytest.CaptureFixture[str]) -> None:
    hit = Hit(fragment("Text."), 1.0, linked_from=LinkSource("First.md", "First\x1b[31m", is_named=True))
    print_hits([hit])
    assert capsys.readouterr().out.splitlines()[2] == "     named in “First␛[31m”"


@pytest.mark.parametrize(
    ("title", "heading_path", "path", "name"),
    [
        ("Steps", (), "Install/Steps.md", "Install › Steps"),
        ("Steps", (), "Tea.md", "Tea › Steps"),
        ("Steps", ("Steps",), "install.linux.md", "install.linux › Steps"),
        ("Steps", ("Water",), "Tea.md", "Steps › Water"),
        ("Steps", (), "Steps.md", "Steps"),
        ("First steps", (), "Install/Tea.md", "First steps"),
    ],
)
def test_a_title_of_one_word_follows_the_name_of_its_file_or_folder(
    capsys: pytest.CaptureFixture[str], title: str, heading_path: tuple[str, ...], path: str, name: str
) -> None:
    print_hits(result(fragment("Text.", title, heading_path, path)).hits)
    assert capsys.readouterr().out.startswith(f"  1  {name}\n")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_hit_takes_three_lines_whatever_its_text(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("NO_COLOR", "1")
    print_hits(result(fragment("red \x1b[31mtext", "A\n\n  2  Trusted.md:1 · strong\x1b]0;title\x07")).hits)
    title, place, text = screen.getvalue().splitlines()
    assert title == "  1  A␊␊  2  Trusted.md:1 · strong␛]0;title␇"
    assert place.startswith("     ")
    assert text == "     red ␛[31mtext"


def open_screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Make stdout a terminal with colours, and return what it shows."""

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Screen()
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return shown


def test_matches_are_highlighted_on_a_terminal_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = open_screen(monkeypatch)
    print_hits(result(fragment("one two three"), Span(4, 7)).hits)
    assert "one \x1b[33m\x1b[1mtwo\x1b[0m three" in screen.getvalue()


def test_on_a_terminal_the_path_is_a_link_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = open_screen(monkeypatch)
    hostile = "Tea; \x1b]8;;http:x\x1b\\[link=http:x].md"
    print_hits(result(fragment("Text.", path=hostile)).hits, VaultFolders.of([tmp_path]))
    addresses = re.findall(r"\x1b\]8;;(.*?)\x1b\\", screen.getvalue())
    assert addresses == [(tmp_path / hostile).as_uri(), ""]
    assert addresses[0].isprintable()
    assert not set("; []\x1b") & set(addresses[0])


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "linux")])
def test_a_terminal_that_may_not_know_links_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    screen = open_screen(monkeypatch)
    monkeypatch.setenv(name, value)
    print_hits(result(fragment("Text.")).hits, VaultFolders.of([tmp_path]))
    assert "Note.md:5-7" in screen.getvalue()
    assert "\x1b]8" not in screen.getvalue()


@pytest.mark.parametrize("command", [("search", "lentils"), ("search", "lentils", "--why", "Sync"), ("peek", "Sync")])
def test_into_a_pipe_no_command_prints_links(excerpt: Excerpt, vault: Path, command: tuple[str, ...]) -> None:
    assert "\x1b" not in excerpt(*command, "--vault", vault).out


@given(st.text(alphabet=st.sampled_from("ab 日")), st.integers(2, 20))
def test_wrapping_drops_only_the_spaces_at_line_breaks(text: str, width: int) -> None:
    lines = [text[start:end] for start, end in wrap(text, width)]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(sum(2 if c == "日" else 1 for c in line) <= width for line in lines)


def test_with_the_option_lines_a_hit_is_one_line_with_path_and_line_number_and_text(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vault.parent)
    answer = excerpt("search", "lentils", "--lines", "--vault", vault)
    path, line, text = answer.out.splitlines()[0].split(":", 2)
    assert (path, line) == (f"{vault.name}/Cooking/Lentil soup.md", "3")
    assert text.startswith("Lentil soup · Simmer red lentils")
    assert (answer.code, answer.err) == (0, "")


def test_in_a_working_directory_outside_the_vault_the_path_of_a_hit_is_absolute(
    excerpt: Excerpt, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    line = excerpt("search", "lentils", "--lines", "--vault", vault).out.splitlines()[0]
    assert line.startswith(f"{vault}/Cooking/Lentil soup.md:3:")


def test_without_a_hit_no_line_is_printed(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("search", '"no such phrase"', "--lines", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")


def test_with_the_option_lines_hits_of_several_vaults_have_the_paths_of_their_files(
    excerpt: Excerpt, vault: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "Dal.md").write_text("Lentils of another vault.\n")
    lines = excerpt("search", "lentils", "--lines", "--vault", vault, "--vault", other).out.splitlines()
    assert {line.partition(":")[0] for line in lines} >= {str(other / "Dal.md"), str(vault / "Cooking/Lentil soup.md")}


@pytest.mark.parametrize("option", ["--json", "--explain"])
def test_the_option_lines_cannot_be_combined_with_other_output_formats(
    excerpt: Excerpt, vault: Path, option: str
) -> None:
    assert excerpt("search", "lentils", "--lines", option, "--vault", vault).code == 2


@pytest.mark.parametrize("name", ["Lentil soup.md:3", "Lentil soup.md:3-3", "../Cooking/Lentil soup.md:3"])
def test_a_note_can_be_named_by_file_and_lines(
    excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(vault / "Cooking")
    for each in (name, str(vault / "Cooking" / name)):
        assert excerpt("read", each, "--vault", vault).out.startswith("Simmer red lentils")
        assert excerpt("peek", each.partition(":")[0], "--vault", vault).code == 0


def test_a_file_outside_the_vault_is_not_a_note(excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("Secret.\n")
    answer = excerpt("read", outside, "--vault", vault)
    assert (answer.code, answer.out) == (1, "")
