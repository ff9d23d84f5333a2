"""Ten things that people come for, each from the first key to the last, in a terminal of 80 columns and 24 rows.

They use no keys but those that the footer and F1 name, and end by what is outside of the screen wherever there is such
a thing: the clipboard, the files in the home, what the editor was started with.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

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
KITCHEN = {"Soup.md": "# Soup\n\nSimmer red lentils with cumin.\n"}

_SOURCE = re.compile(r"^From (?P<path>.+\.md):(?P<first>\d+)(?:-(?P<last>\d+))?, modified", re.MULTILINE)
_FENCED = re.compile(r"^(?P<fence>`{3,})\n(?P<text>.*?)\n(?P=fence)$", re.MULTILINE | re.DOTALL)


def written(folder: Path, notes: Mapping[str, str]) -> Path:
    for path, text in notes.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def read(folder: Path) -> dict[str, str]:
    """All files of a folder, by path."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in files}


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    return written(tmp_path / "Garden", GARDEN)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """An editor that is told by the file `edit`, beside it, what to replace by what in the file that it opens, and
    writes its arguments to `arguments`."""
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
    """The program, which is left by ctrl+q and gives the terminal back as it was."""
    with Terminal([*EXCERPT, *arguments], shell, 80, 24) as app:
        yield app
        app.press("ctrl+q")
        assert app.wait_exit() == 0
        for on, off in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h")):
            assert app.output.rindex(off) > app.output.rindex(on)


@contextmanager
def reading(shell: Mapping[str, str], vault: Path) -> Iterator[Terminal]:
    """The program on a vault, once all of it is indexed; it leaves the vault as it was."""
    before = read(vault)
    with opened(shell, str(vault)) as app:
        app.wait_for(f"{len(before)} note", "· up to date")
        yield app
    assert read(vault) == before


def search(app: Terminal, query: str, first: str) -> None:
    """Type a query and wait until what is to be first is, with the pack."""
    app.type(query)
    app.wait_for(f"❯ {query}", f"▌ 1   {first}", " hit", " tokens ")


def next_copy(app: Terminal, key: str) -> str:
    """Press a key that copies; what it sent to the clipboard."""
    before = len(app.copied())
    app.press(key)
    app.wait_until(lambda: len(app.copied()) > before, "to copy by OSC 52")
    return app.copied()[-1]


def passages(copied: str) -> list[tuple[str, str]]:
    """The passages of a pack: where each is from, as path and lines, and its text."""
    sources = [match.groupdict() for match in _SOURCE.finditer(copied)]
    texts = [match["text"] for match in _FENCED.finditer(copied)]
    return [
        (f"{source['path']}:{source['first']}-{source['last'] or source['first']}", text)
        for source, text in zip(sources, texts, strict=True)
    ]


def sources(copied: str) -> list[str]:
    """The notes that the passages of a pack are from, in order."""
    return [match["path"] for match in _SOURCE.finditer(copied)]


def in_note(place: str) -> str:
    """The lines of a note of the garden that a source names."""
    path, _, lines = place.rpartition(":")
    first, last = map(int, lines.split("-"))
    return "\n".join(GARDEN[path].split("\n")[first - 1 : last])


def printed(shell: Mapping[str, str], *words: str) -> str:
    return subprocess.run([*EXCERPT, *words], env=dict(shell), check=True, capture_output=True, text=True).stdout


def arguments_of(editor: Path) -> Any:
    return json.loads((editor.parent / "arguments").read_text())


def test_someone_finds_passages_and_copies_them_for_a_prompt(
    shell: Mapping[str, str], garden: Path, home: Path
) -> None:
    with reading(shell, garden) as app:
        search(app, "compost", "Compost")
        app.press("down")
        app.wait_for("▌ 2 ")
        app.type(" worms")
        app.wait_for("❯ compost worms", "▌ 1   Compost › Worms", "─Compost.md · 10")
        app.press("tab")
        app.wait_for("1 marked", "▌ 2 ")
        app.press("tab")
        app.wait_for("2 marked", "▌ 3 ")
        copied = next_copy(app, "ctrl+y")
        app.wait_for("Pack of", "sent to")
    assert WORMS in copied
    assert [text for _, text in passages(copied)] == [in_note(place) for place, _ in passages(copied)]
    (file,) = (home / "state" / "copies").iterdir()
    assert file.read_text(encoding="utf-8") == copied


def test_someone_refines_a_search_with_filters_and_takes_one_off(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "compost heap", "Compost")
        app.type(" path:")
        app.wait_for("path: ─", "▌Diary/", "2 notes")
        app.press("tab")
        app.wait_for("❯ compost heap path:/Diary/✕", "▌ 1   May", " 2 hits")
        assert set(sources(next_copy(app, "ctrl+y"))) == {"Diary/May.md", "Diary/June.md"}
        app.press("ctrl+w")
        app.wait_for("▌ 1   Compost", " 6 hits")
        app.wait_gone("path:")
        app.type("tag:")
        app.wait_for("tag: ─", "▌diary", "guide", "2 notes")
        app.press("down")
        app.wait_for("▌guide")
        app.press("tab")
        app.wait_for("❯ compost heap tag:guide✕", " 4 hits", "Tomatoes › Blight")
        copied = next_copy(app, "ctrl+y")
    assert set(sources(copied)) == {"Compost.md", "Tomatoes.md"}


def test_someone_packs_to_a_budget_and_sees_what_is_left_out(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "compost heap", "Compost")
        app.wait_for(" / 4,000 tokens")
        for budget in ("3,000", "2,000", "1,500", "1,000", "500", "250"):
            app.press("f7")
            app.wait_for(f" / {budget} tokens")
        app.press("f9")
        app.wait_for("─pack · ", "left out", "out of budget")
        copied = next_copy(app, "ctrl+y")
        command = ("pack", "compost heap", "--vault", str(garden), "--budget", "250")
        assert copied == printed(shell, *command)
        assert json.loads(printed(shell, *command, "--json"))["tokens"] <= 250
        app.wait_for("▌ 1 Compost")
        app.press("d")
        app.wait_for("dropped")
        assert "Compost.md" not in sources(next_copy(app, "ctrl+y"))


def test_someone_changes_how_far_the_pack_grows_around_a_hit(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "red worms", "Compost › Worms")
        app.press("tab")
        app.wait_for("1 marked", "neighbors")
        grown = {}
        for scope in ("section", "note", "none", "neighbors"):
            app.press("ctrl+e")
            app.wait_for(f" {scope}, 1 marked")
            (grown[scope],) = passages(next_copy(app, "ctrl+y"))
    assert grown["none"] == ("Compost.md:10-10", WORMS)
    assert grown["section"] == ("Compost.md:8-10", f"## Worms\n\n{WORMS}")
    assert grown["note"] == ("Compost.md:4-14", in_note("Compost.md:4-14"))
    assert grown["neighbors"] == ("Compost.md:6-14", in_note("Compost.md:6-14"))


def test_someone_remembers_a_passage_and_recalls_it(shell: Mapping[str, str], garden: Path, home: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "red worms", "Compost › Worms")
        app.press("ctrl+r")
        app.wait_for("Compost.md, line 10", "Why it matters")
        app.type("soil")
        app.wait_for("  soil")
        app.press("tab")
        app.type("for the talk")
        app.wait_for("  for the talk")
        app.press("enter")
        app.wait_for("Remembered under #soil.", "◆ Memory › Compost.md, line 10 · for the talk")
        (kept,) = (home / "data").rglob("*.md")
        assert all(part in kept.read_text(encoding="utf-8") for part in (WORMS, "for the talk", "soil"))
        app.press("f4")
        app.wait_for("memories · 1")
        app.type("#soil worms")
        app.wait_for(" #soil worms", f"▌ {WORMS[:40]}", "for the talk")
        assert next_copy(app, "ctrl+y").strip() == WORMS
        app.press("esc")
        app.wait_for("x forget")
        app.type("x")
        app.wait_gone("memories · 1")
        (trashed,) = (home / "data").rglob("*.md")
        assert trashed.parent.name == "trash"


def test_someone_follows_a_link_of_the_context_and_comes_back(shell: Mapping[str, str], garden: Path) -> None:
    with reading(shell, garden) as app:
        search(app, "red worms kitchen", "Compost › Worms")
        app.wait_for("─Compost.md · 10")
        app.press("alt+g")
        app.wait_for("Type the letters on a link")
        label = app.line_with("10≈").partition("See ")[2][0]
        app.press(label)
        app.wait_for("─Wormery.md · 10", PEEL)
        app.press("shift+tab")
        app.wait_for("space mark")
        app.press("shift+tab")
        app.wait_gone("space mark")
        assert next_copy(app, "y") == PEEL
        app.press("alt+left")
        app.wait_for("─Compost.md · 10")
        assert next_copy(app, "y") == WORMS
        app.press("alt+right")
        app.wait_for("─Wormery.md · 10", "▌ 1   Compost › Worms")


def test_someone_edits_a_note_and_finds_what_it_says_now(shell: Mapping[str, str], garden: Path, editor: Path) -> None:
    (editor.parent / "edit").write_text(json.dumps(["citrus", "quinces"]))
    with opened(shell, str(garden)) as app:
        app.wait_for("5 notes · up to date")
        search(app, "peel citrus", "Wormery › Feeding")
        app.press("enter")
        app.wait_for("never quinces or onions")
        assert arguments_of(editor) == ["+10", str(garden / "Wormery.md")]
        # At once, as one types: none of it may be lost while the list is still drawn.
        app.press("ctrl+u")
        search(app, "quinces", "Wormery › Feeding")
        assert PEEL.replace("citrus", "quinces") in next_copy(app, "ctrl+f")
    assert read(garden) == {**GARDEN, "Wormery.md": GARDEN["Wormery.md"].replace("citrus", "quinces")}


def test_someone_goes_to_another_vault_and_back_each_with_its_own_query(
    shell: Mapping[str, str], garden: Path, tmp_path: Path
) -> None:
    kitchen = written(tmp_path / "Kitchen", KITCHEN)
    with reading(shell, garden) as app:
        search(app, "worms", "Compost › Worms")
        app.press("alt+v")
        app.wait_for("Open another vault", "open now")
        app.type(str(kitchen)[:-2])
        app.wait_for("▌folder   Kitchen")
        app.press("tab")
        app.wait_for("Kitchen/")
        app.press("enter")
        app.wait_for("Kitchen · 1 note · up to date", "Search 1 note")
        search(app, "lentils", "Soup")
        copied = next_copy(app, "ctrl+y")
        assert passages(copied) == [("Soup.md:3-3", KITCHEN["Soup.md"].split("\n")[2])]
        app.press("alt+v")
        app.wait_for("▌lately   Garden")
        app.press("enter")
        app.wait_for("Garden · 5 notes · up to date", "❯ worms", "▌ 1   Compost › Worms")
        app.press("alt+v")
        app.wait_for("▌lately   Kitchen")
        app.press("enter")
        app.wait_for("Kitchen · 1 note", "❯ lentils", "▌ 1   Soup")
    assert read(kitchen) == KITCHEN


def test_someone_changes_the_theme_and_a_key(shell: Mapping[str, str], garden: Path, home: Path, editor: Path) -> None:
    (editor.parent / "edit").write_text(json.dumps(["", '\n[screen.keys]\ncopy-pack = "ctrl+g"\n']))
    with reading(shell, garden) as app:
        search(app, "worms", "Compost › Worms")
        app.wait_for("^y copy pack")
        dark = app.backgrounds(1)
        app.press("alt+p")
        app.wait_for("▌Theme ", "‹ excerpt-dark ›")
        app.press("right")
        app.wait_for("‹ excerpt-light ›", "all vaults")
        app.press("o")
        app.wait_until((editor.parent / "arguments").exists, "to run the editor")
        app.wait_back()
        settings = home / "config" / "excerpt.toml"
        assert arguments_of(editor)[-1] == str(settings)
        app.press("esc")
        app.wait_for("^g copy pack")
        assert app.backgrounds(1) != dark
        app.press("f1")
        app.wait_for("Keys")
        app.type("copy the pack")
        app.wait_for("^g", "Copy the pack")
        app.press("esc", "esc")
        app.wait_gone("esc close")
        assert WORMS in next_copy(app, "ctrl+g")
    assert settings.read_text(encoding="utf-8").count('theme = "excerpt-light"') == 1


def test_someone_opens_it_for_the_first_time(shell: Mapping[str, str], garden: Path, home: Path) -> None:
    with opened(shell) as app:
        app.wait_for("where are your notes?", "The guide")
        app.type(str(garden.parent / "Gar"))
        app.wait_for("folder   Garden")
        app.press("tab")
        app.wait_for("Garden/")
        app.press("enter")
        app.wait_for("5 notes · up to date")
        search(app, "worms", "Compost › Worms")
        assert WORMS in next_copy(app, "ctrl+y")
        app.press("ctrl+g")
        app.wait_for("Search for commands")
        app.type("Open another vault")
        app.wait_for("Open another vault", "here ·")
        app.press("enter")
        app.wait_for("guide    The guide")
        app.press("enter")
        app.wait_for("marks one for the pack")
    assert read(garden) == GARDEN
    assert (home / "state" / "begun").exists()
