"""User stories from the first key to the last, in a small and in a large terminal.

A story concerns no one module. They press only keys that the screen offers or the help lists. Where possible they
check results outside the screen: the clipboard, files in the home, the editor's arguments.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.e2e.conftest import EXCERPT, environment
from tests.e2e.terminal import Terminal

WORMS = "Red worms turn kitchen waste into compost. See [[Wormery#Feeding]] for what they eat."
PEEL = "Give them peel and coffee grounds, never citrus or onions."
GARDEN = {
    "Compost.md": "---\ntags: [soil, guide]\n---\n# Compost\n\nA compost heap needs green and brown waste in equal "
    f"parts. Turn the heap every two weeks.\n\n## Worms\n\n{WORMS}\n\n## Heat\n\nA hot compost heap of a cubic metre "
    "reaches sixty degrees and kills the seeds of weeds.\n",
    "Wormery.md": "---\ntags: [soil]\n---\n# Wormery\n\nA wormery is a box with holes in which worms live.\n\n"
    f"## Feeding\n\n{PEEL}\n",
    "Diary/May.md": "---\ntags: [diary]\n---\n# May\n\nTurned the compost heap. It smelled of ammonia, so more straw "
    "went into it.\n\nSowed carrots and beetroot.\n",
    "Diary/June.md": "---\ntags: [diary]\n---\n# June\n\nSpread two barrows of compost below the tomatoes.\n\n"
    "## Harvest\n\nThe first peas and too many radishes.\n",
    "Tomatoes.md": "---\ntags: [vegetables, guide]\n---\n# Tomatoes\n\nTomatoes want sun, warmth and dry leaves.\n\n"
    "## Blight\n\nBlight spreads in wet weather. Never put leaves with blight on the compost heap.\n",
}
ALMANAC = {
    f"Month {month}.md": f"# Month {month}\n\n"
    + "\n\n".join(
        f"## Week {week}\n\nSow {crop} in week {week} of month {month}, water the {crop} at dawn, weed around it once, "
        "and write down what came up and what the slugs have left of it by the end of the week."
        for week, crop in enumerate(("carrots", "peas", "spinach", "lettuce"), 1)
    )
    + "\n"
    for month in range(1, 13)
}
"""A vault far larger than a pack of 1,000 tokens."""
KITCHEN = {"Soup.md": "# Soup\n\nSimmer red lentils with cumin.\n"}

SIZES = ((80, 24), (140, 45))
SIZE = SIZES[0]
"""Columns and rows of the terminal; the fixture `size` sets them."""

_SIGNS = {"⇥": "tab", "⏎": "enter", "space": " ", "⌫": "backspace"}
"""Keys that the screen shows as a symbol."""

_SOURCE = re.compile(r"^From (?P<path>.+\.md):(?P<first>\d+)(?:-(?P<last>\d+))?, modified", re.MULTILINE)
_FENCED = re.compile(r"^(?P<fence>`{3,})\n(?P<text>.*?)\n(?P=fence)$", re.MULTILINE | re.DOTALL)


def written(folder: Path, notes: Mapping[str, str]) -> Path:
    for path, text in notes.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def read(folder: Path) -> dict[str, str]:
    """Return the text of all files of a folder, by path."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in files}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every second story in the large terminal, the others in the small; with EXCERPT_SIZES=both, all in both."""
    stories = [name for name in vars(metafunc.module) if name.startswith("test_")]
    turn = stories.index(metafunc.definition.originalname) % len(SIZES)
    sizes = SIZES if os.environ.get("EXCERPT_SIZES") == "both" else SIZES[turn : turn + 1]
    metafunc.parametrize("size", sizes, indirect=True, ids="{0[0]}x{0[1]}".format)


@pytest.fixture(autouse=True)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.e2e.test_stories.SIZE", request.param)


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    return written(tmp_path / "Garden", GARDEN)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """Write a fake editor that replaces text in the file it opens and writes its arguments to `arguments`.

    What to replace by what is read from the file `edit` beside it.
    """
    program = tmp_path / "bin" / "vim"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, pathlib, sys\n"
        "here, file = pathlib.Path(__file__).parent, pathlib.Path(sys.argv[-1])\n"
        "old, new = json.loads((here / 'edit').read_text())\n"
        "file.write_text(file.read_text().replace(old, new) if old else file.read_text() + new)\n"
        "(here / 'arguments').write_text(json.dumps(sys.argv[1:]))\n"
    )
    program.chmod(0o755)
    return program


@pytest.fixture
def shell(home: Path, editor: Path) -> Mapping[str, str]:
    return {**environment(home), "EDITOR": shlex.quote(str(editor))}


@contextmanager
def opened(shell: Mapping[str, str], *arguments: str) -> Iterator[Terminal]:
    """Run the program, quit it with ctrl+q, and check that it restores the terminal."""
    with Terminal([*EXCERPT, *arguments], shell, *SIZE) as app:
        yield app
        app.press("ctrl+q")
        assert app.wait_exit() == 0
        for on, off in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h")):
            assert app.output.rindex(off) > app.output.rindex(on)


@contextmanager
def reading(shell: Mapping[str, str], vault: Path) -> Iterator[Terminal]:
    """Run the program on an indexed vault, and check that it does not change the vault."""
    before = read(vault)
    with opened(shell, str(vault)) as app:
        wait_indexed(app, len(before))
        yield app
    assert read(vault) == before


def wait_indexed(app: Terminal, notes: int) -> None:
    """Wait until the whole vault is indexed; a machine without free inotify watches shows "polled"."""
    states = (f"{notes} note{'' if notes == 1 else 's'} · {state}" for state in ("up to date", "polled"))
    told = tuple(states)
    app.wait_until(lambda: any(each in app.text for each in told), f"to show {told}")


def search(app: Terminal, query: str, first: str) -> None:
    """Type a query and wait until `first` is the first hit and the pack is built."""
    app.type(query)
    app.wait_for(f"❯ {query}", " hit", " tokens ")
    app.wait_until(lambda: first_hit(app) == first, f"to have {first} first")
    app.wait_until(lambda: " 0 passages" not in app.text, "to build the pack")


def first_hit(app: Terminal) -> str:
    """Return note and heading of the first hit in the list, below the tabs, the query and its status."""
    return re.split(r" \+\d|\s{2,}", app.lines[3][3:])[0]


def wait_selected(app: Terminal, row: int) -> None:
    """Wait until that row of the list is selected; the first is 1. The rule where the pack ends is no row."""

    def is_selected() -> bool:
        rows = [line for line in app.lines[3:] if not line.startswith("╌╌")]
        return rows[row - 1].startswith("▌")

    app.wait_until(is_selected, f"to select row {row}")


def press(app: Terminal, *offers: str) -> None:
    """Press the keys of offers on the screen such as `^y copy`, each once it is shown."""
    for offer in offers:
        app.wait_for(f" {offer}")
        sign = offer.partition(" ")[0].replace("^", "ctrl+")
        app.press(_SIGNS.get(sign) or (sign.lower() if len(sign) > 1 else sign))


def key_by_help(app: Terminal, what: str) -> str:
    """Return the key that the help lists for `what`."""
    press(app, "F1 more")
    app.wait_for("A key or an action")
    app.type(what)
    app.wait_gone("A key or an action")
    app.wait_until(lambda: bool(rows_of_help(app, what)), f"to say the key for {what!r}")
    app.wait_drawn()
    row = rows_of_help(app, what)[0]
    app.press("esc")
    app.wait_for("A key or an action")
    app.press("esc")
    app.wait_gone("─ Keys ─")
    return row.split()[0]


def rows_of_help(app: Terminal, what: str) -> list[str]:
    """Return the rows of the help that list a key for `what`, each from the key on."""
    rows = (line.partition("│ ")[2].replace("▌", "", 1) for line in app.lines)
    return [row for row in rows if what in row and not row.startswith((" ", what))]


def run_by_name(app: Terminal, name: str) -> None:
    """Run a command from the palette, opened with the key that the help lists."""
    app.press(key_by_help(app, "Find any command by name").replace("^", "ctrl+"))
    app.wait_for("Search for commands")
    app.type(name)
    app.wait_until(lambda: any(name in line for line in app.lines[6:]), f"to find {name!r}")
    app.press("enter")
    app.wait_gone("🔎")


def next_copy(app: Terminal, offer: str) -> str:
    """Press the key of an offer that copies, and return the text sent to the clipboard."""
    return copied_by(app, lambda: press(app, offer))


def copied_by(app: Terminal, act: Callable[[], object]) -> str:
    before = len(app.copied())
    act()
    app.wait_until(lambda: len(app.copied()) > before, "to copy by OSC 52")
    return app.copied()[-1]


def passages(copied: str) -> list[tuple[str, str]]:
    """Return the passages of a pack, each as its source (path and lines) and its text."""
    sources = [match.groupdict() for match in _SOURCE.finditer(copied)]
    texts = [match["text"] for match in _FENCED.finditer(copied)]
    return [
        (f"{source['path']}:{source['first']}-{source['last'] or source['first']}", text)
        for source, text in zip(sources, texts, strict=True)
    ]


def sources(copied: str) -> list[str]:
    """Return the source notes of a pack's passages, in order."""
    return [match["path"] for match in _SOURCE.finditer(copied)]


def read_source_lines(place: str) -> str:
    """Return the lines of a `GARDEN` note that a source names."""
    path, _, lines = place.rpartition(":")
    first, last = map(int, lines.split("-"))
    return "\n".join(GARDEN[path].split("\n")[first - 1 : last])


def printed(shell: Mapping[str, str], *words: str) -> str:
    return commands.printed(*words, environment=shell)


def arguments_of(editor: Path) -> Any:
    return json.loads((editor.parent / "arguments").read_text())


@pytest.mark.programs
def test_someone_finds_passages_and_copies_them_for_a_prompt(
    shell: Mapping[str, str], garden: Path, home: Path
) -> None:
    with reading(shell, garden) as app:
        search(app, "compost", "Compost")
        app.press("down")
        wait_selected(app, 2)
        app.type(" worms")
        app.wait_for("❯ compost worms", "▌  Compost › Worms", "Compost.md · line 10")
        for marked in (1, 2):
            press(app, "⇥ mark")
            app.wait_for(f"{marked} marked")
            wait_selected(app, marked + 1)
        copied = next_copy(app, "^y copy")
        app.wait_for("2 passages: ", "copied (if your terminal allows it).")
    assert WORMS in copied
    assert [text for _, text in passages(copied)] == [read_source_lines(place) for place, _ in passages(copied)]
    (file,) = (home / "state" / "copies").iterdir()
    assert file.read_text(encoding="utf-8") == copied


@pytest.mark.programs
def test_someone_copies_a_thousand_tokens_with_five_keys_after_the_query(
    shell: Mapping[str, str], tmp_path: Path
) -> None:
    almanac = written(tmp_path / "Almanac", ALMANAC)
    with reading(shell, almanac) as app:
        assert key_by_help(app, "then go to the list") == "esc"
        assert key_by_help(app, "Type the token budget") == "b"
        app.type("sow peas in week 2")
        app.wait_for("❯ sow peas in week 2", " hit", "/4,000")
        app.press("shift+tab", "b")
        app.wait_for("^y set and copy the pack", "such as 4000 or 4k")
        app.press("1", "k")
        app.wait_for(" 1k ")
        copied = copied_by(app, lambda: app.press("ctrl+y"))
        app.wait_for("/1,000 tokens")
        command = ("pack", "sow peas in week 2", "--vault", str(almanac), "--budget", "1000")
        assert copied == printed(shell, *command)
        assert 800 < json.loads(printed(shell, *command, "--json"))["tokens"] <= 1000


@pytest.mark.programs
def test_someone_refines_a_search_with_filters_and_removes_one(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "compost heap", "Compost")
        app.type(" path:")
        app.wait_for("path: ─", "▌Diary/", "2 notes")
        press(app, "⇥ take")
        app.wait_for("❯ compost heap path:/Diary/✕", " 2 hits")
        assert set(sources(next_copy(app, "^y copy"))) == {"Diary/May.md", "Diary/June.md"}
        app.press("ctrl+w")
        app.wait_for(" 6 hits")
        app.wait_gone("path:")
        app.type("tag:")
        app.wait_for("tag: ─", "▌diary", "guide", "2 notes")
        app.press("down")
        app.wait_for("▌guide")
        press(app, "⇥ take")
        app.wait_for("❯ compost heap tag:guide✕", " 4 hits", "Tomatoes › Blight")
        copied = next_copy(app, "^y copy")
    assert set(sources(copied)) == {"Compost.md"}


@pytest.mark.programs
def test_someone_packs_to_a_budget_and_sees_what_is_omitted(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "compost heap", "Compost")
        run_by_name(app, "Type the token budget")
        app.wait_for("such as 4000 or 4k")
        app.type("80")
        press(app, "⏎ take")
        app.wait_for("/80 tokens", "full: the next needs")
        app.press(key_by_help(app, "what is in the pack").replace("^", "ctrl+"))
        app.wait_for("pack · ", "left out", "out of budget")
        copied = copied_by(app, lambda: app.press("ctrl+y"))
        command = ("pack", "compost heap", "--vault", str(garden), "--budget", "80")
        assert copied == printed(shell, *command)
        assert json.loads(printed(shell, *command, "--json"))["tokens"] <= 80
        press(app, "x drop")
        app.wait_for("dropped")
        after = copied_by(app, lambda: app.press("ctrl+y"))
        assert not set(passages(copied)) & set(passages(after))


@pytest.mark.programs
def test_someone_changes_the_scope_of_the_pack_around_a_hit(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "red worms", "Compost › Worms")
        press(app, "⇥ mark")
        app.wait_for("1 marked")
        app.press("shift+tab")
        grown = {}
        for scope in ("section", "note", "none", "neighbors"):
            app.press("s")
            app.wait_for("Scope of all passages")
            app.press("s", "enter")
            app.wait_gone("Scope of all passages")
            (grown[scope],) = passages(copied_by(app, lambda: app.press("ctrl+y")))
    assert grown["none"] == ("Compost.md:10-10", WORMS)
    assert grown["section"] == ("Compost.md:8-10", f"## Worms\n\n{WORMS}")
    assert grown["note"] == ("Compost.md:4-14", read_source_lines("Compost.md:4-14"))
    assert grown["neighbors"] == ("Compost.md:6-14", read_source_lines("Compost.md:6-14"))


@pytest.mark.programs
def test_someone_remembers_a_passage_and_recalls_it(shell: Mapping[str, str], garden: Path, home: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "red worms", "Compost › Worms")
        press(app, "^r remember")
        app.wait_for("Compost.md, line 10", "Why it matters")
        app.type("soil")
        app.wait_for("  soil")
        press(app, "⇥ next field")
        app.type("for the talk")
        app.wait_for("  for the talk")
        press(app, "⏎ or ^s keep")
        app.wait_for("The memory is kept under #soil.")
        app.wait_for("◆", "Memory › Compost.md, line 10 · for the")
        (kept,) = (home / "data").rglob("*.md")
        assert all(part in kept.read_text(encoding="utf-8") for part in (WORMS, "for the talk", "soil"))
        app.press(key_by_help(app, "Go to the Memory tab").lower())
        app.wait_for("memories · 1")
        app.type("#soil worms")
        app.wait_for(" #soil worms", f"▌ {WORMS[:40]}", "for the talk")
        assert next_copy(app, "^y copy").strip() == WORMS
        app.press("shift+tab")
        press(app, "x forget")
        app.wait_gone("memories · 1")
        (trashed,) = (home / "data").rglob("*.md")
        assert trashed.parent.name == "trash"


@pytest.mark.programs
def test_someone_follows_a_link_of_the_passage_and_returns(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "red worms kitchen", "Compost › Worms")
        app.wait_for("Compost.md · line 10")
        app.press("shift+tab")
        app.press(key_by_help(app, "nto the panel"))
        app.wait_for("l link")
        assert key_by_help(app, "enter follows it") == "l"
        app.press("enter")
        app.wait_for("Wormery.md · line 10", PEEL)
        assert copied_by(app, lambda: app.press("y")) == PEEL
        press(app, "⌫ back")
        app.wait_for("Compost.md · line 10")
        assert copied_by(app, lambda: app.press("y")) == WORMS


@pytest.mark.programs
def test_someone_asks_why_a_hit_has_its_rank(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "compost heap", "Compost")
        app.press(key_by_help(app, "why the passage").replace("^", "ctrl+"))
        app.wait_for("[why]", "1st: it has both words, one of them in its title.", "words", "proximity")
        app.press("down")
        wait_selected(app, 2)
        app.wait_for("it has ", "Why it ranks below")


@pytest.mark.programs
def test_someone_browses_related_notes_and_narrows_by_the_map(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "compost heap", "Compost")
        app.press("shift+tab")
        app.press("v")
        app.wait_for("[why]")
        app.press("v")
        app.wait_for("[related]", "related to Compost", "▌ 1   May")
        app.press("v")
        app.wait_for("[map]", "▾ folders", "▸ tags")
        app.press(key_by_help(app, "nto the panel"))
        app.wait_for("→ unfold")
        app.press("j")
        press(app, "space filter")
        app.wait_for(" path:/Diary/✕compost heap", " 2 hits")
        press(app, "⌫ unfilter")
        app.wait_for(" compost heap", " 6 hits")


@pytest.mark.programs
def test_someone_edits_a_note_and_finds_its_new_text(shell: Mapping[str, str], garden: Path, editor: Path) -> None:
    (editor.parent / "edit").write_text(json.dumps(["citrus", "quinces"]))
    with opened(shell, str(garden)) as app:
        wait_indexed(app, 5)
        search(app, "peel citrus", "Wormery › Feeding")
        press(app, "⏎ open")
        app.wait_for("never quinces or onions")
        assert arguments_of(editor) == ["+10", str(garden / "Wormery.md")]
        # Type at once: no key may be lost while the list is still being drawn.
        app.press("ctrl+u")
        search(app, "quinces", "Wormery › Feeding")
        app.press("shift+tab")
        assert PEEL.replace("citrus", "quinces") in copied_by(app, lambda: app.press("y"))
    assert read(garden) == {**GARDEN, "Wormery.md": GARDEN["Wormery.md"].replace("citrus", "quinces")}


@pytest.mark.programs
def test_someone_copies_the_overview_of_a_topic(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "compost heap", "Compost")
        app.press(key_by_help(app, "Go to the Overview tab").lower())
        app.wait_for("◎ compost heap", "main notes Compost", "passages")
        assert next_copy(app, "^y copy") == printed(shell, "overview", "compost heap", "--vault", str(garden))


@pytest.mark.programs
def test_someone_switches_vaults_and_back_with_a_query_in_each(
    shell: Mapping[str, str], garden: Path, tmp_path: Path
) -> None:
    kitchen = written(tmp_path / "Kitchen", KITCHEN)
    with reading(shell, garden) as app:
        search(app, "worms", "Compost › Worms")
        run_by_name(app, "Open another vault")
        app.wait_for("A name, or a path", "open now")
        app.type(str(kitchen)[:-2])
        app.wait_for("folder   Kitchen")
        press(app, "⇥ complete")
        app.wait_for("Kitchen/")
        press(app, "⏎ open")
        app.wait_for("Kitchen · ", "Search 1 note")
        wait_indexed(app, 1)
        search(app, "lentils", "Soup")
        copied = next_copy(app, "^y copy")
        assert passages(copied) == [("Soup.md:3-3", KITCHEN["Soup.md"].split("\n")[2])]
        run_by_name(app, "Open another vault")
        app.wait_for("recent   Garden")
        press(app, "⏎ open")
        app.wait_for("Garden · 5 notes", "❯ worms", "Compost › Worms")
        run_by_name(app, "Open another vault")
        app.wait_for("recent   Kitchen")
        press(app, "⏎ open")
        app.wait_for("Kitchen · 1 note", "❯ lentils", "Soup")
    assert read(kitchen) == KITCHEN


@pytest.mark.programs
def test_someone_changes_the_theme_and_a_key(shell: Mapping[str, str], garden: Path, home: Path, editor: Path) -> None:
    (editor.parent / "edit").write_text(json.dumps(["[screen.keys]\n", '[screen.keys]\ncopy-pack = "ctrl+x"\n']))
    with reading(shell, garden) as app:
        search(app, "worms", "Compost › Worms")
        app.wait_for("^y copy")
        dark = app.backgrounds(1)
        run_by_name(app, "Change the theme")
        app.wait_for("▌ excerpt-dark")
        app.press("down")
        app.wait_for("▌ excerpt-light")
        press(app, "⏎ keep")
        app.wait_for("The theme is now excerpt-light")
        run_by_name(app, "Settings (model, theme, budget …)")
        app.wait_until((editor.parent / "arguments").exists, "to run the editor")
        app.wait_back()
        settings = home / "config" / "excerpt.toml"
        assert arguments_of(editor)[-1] == str(settings)
        app.wait_for("^x copy")
        assert app.backgrounds(1) != dark
        assert key_by_help(app, "Copy the pack") == "^x"
        assert WORMS in next_copy(app, "^x copy")
    assert settings.read_text(encoding="utf-8").count('theme = "excerpt-light"') == 1


@pytest.mark.programs
def test_someone_opens_the_app_for_the_first_time(shell: Mapping[str, str], garden: Path, home: Path) -> None:
    with opened(shell) as app:
        app.wait_for("where are your notes?", "The guide")
        app.type(str(garden.parent / "Gar"))
        app.wait_for("folder   Garden")
        press(app, "⇥ complete")
        app.wait_for("Garden/")
        press(app, "⏎ open")
        wait_indexed(app, 5)
        search(app, "worms", "Compost › Worms")
        assert WORMS in next_copy(app, "^y copy")
        run_by_name(app, "Open another vault")
        app.wait_for("guide    The guide")
        app.press("down")
        press(app, "⏎ open")
        app.wait_for("Search your notes")
    assert read(garden) == GARDEN
    assert (home / "state" / "begun").exists()
