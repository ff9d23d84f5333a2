"""What the app works with: the ways to the clipboard, the user's keys, the editor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from excerpt.doctor.finding import Finding, ok, problem, warning
from excerpt.errors import ExcerptError
from excerpt.settings import ScreenSettings
from excerpt.tui.clipboard import OSC_LIMIT, plan
from excerpt.tui.keymap import doubtful, usable
from excerpt.tui.programs import editor_command

Which = Callable[[str], str | None]

_TOOLS = "Install a tool that fills the clipboard (wl-clipboard, xclip or xsel)"


def clipboard(environment: Mapping[str, str], which: Which, platform: str, copies: Path) -> Iterator[Finding]:
    """Which way a copy would go, what it takes, and where it is kept in any case."""
    chosen = plan(environment, which, platform, 0)
    remote = "SSH_CONNECTION" in environment or "SSH_TTY" in environment
    for tool in chosen.tools:
        if tool.name == "tmux":
            yield ok("Copies go to tmux, of any length, and on to the terminal where tmux and it allow that")
        else:
            yield ok(f"Copies go to the clipboard by {tool.name}, of any length")
    if chosen.osc:
        how = "the terminal by OSC 52" + (" through tmux" if chosen.osc == "tmux" else "")
        limit = f"up to {OSC_LIMIT:,} bytes, and it does not say if it took them"
        if remote:
            yield ok(f"Copies go to {how}: {limit}")
        else:
            yield warning(f"Copies go to {how}: {limit}.", f"{_TOOLS}, if `ctrl+y` seems to do nothing.")
    yield ok(f"Every copy is kept as a file too: {copies}")


def keys(screen: ScreenSettings) -> Iterator[Finding]:
    """The keymap of the settings."""
    keymap, problems = usable(screen.keys)
    todo = "Change it under [screen.keys] in the settings; `excerpt config --path` says where they are."
    for sentence in problems:
        yield problem(sentence, todo)
    for sentence in doubtful(keymap):
        yield warning(sentence, todo)
    if not problems:
        changed = f"{len(keymap)} changed by the settings" if keymap else "all as they come"
        yield ok(f"Keys: {changed}, none taken twice")


def editor(setting: str, environment: Mapping[str, str], which: Which) -> Iterator[Finding]:
    """Which command opens a note, and whether it is told the line."""
    try:
        first, second = (editor_command(setting, environment, which, Path("note.md"), line) for line in (1, 2))
    except ExcerptError as error:
        yield problem(error.message, error.hint)
        return
    from_where = "screen.editor" if setting else "$VISUAL" if environment.get("VISUAL") else "$EDITOR"
    if not (setting or environment.get("VISUAL") or environment.get("EDITOR")):
        from_where = "none is set, this one is installed"
    program = which(first.argv[0]) or first.argv[0]
    if first.argv == second.argv:
        todo = "Nothing, if that is fine; the guide's page Troubleshooting names the editors that can."
        yield warning(f"The editor is {program} ({from_where}); how to give it a line is not known.", todo)
    else:
        yield ok(f"The editor is {program} ({from_where}), opened at the line")
