"""A sentence typed into the program in a terminal: once there are hits, there are hits after every letter."""

from __future__ import annotations

from collections.abc import Mapping

from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import Terminal

SENTENCE = "how do I keep a finding for next week"
SAID_INSTEAD_OF_HITS = ("Nothing found for", "Type a few words, a phrase")


def test_no_letter_empties_the_list(shell: Mapping[str, str]) -> None:
    with Terminal([*EXCERPT, "demo"], shell) as app:
        app.wait_for("Search", "Memory", " notes")
        app.type(SENTENCE[:3])
        app.wait_for(f"❯ {SENTENCE[:3]}", "▌ 1 ", " hits")
        before = len(app.output)
        for end in range(4, len(SENTENCE) + 1):
            app.type(SENTENCE[end - 1])
            # The field shows the end of what is typed where it has no room for all.
            app.wait_for(SENTENCE[:end].rstrip()[-20:], "▌ 1 ")
        app.wait_for(" hits", "pack: ")
        printed = app.output[before:].decode("utf-8", "replace")
        assert [said for said in SAID_INSTEAD_OF_HITS if said in printed] == []
        app.press("ctrl+q")
        assert app.wait_exit() == 0


def test_all_of_the_screen_is_there_again_after_a_suspension_and_when_asked_for(shell: Mapping[str, str]) -> None:
    with Terminal([*EXCERPT, "demo"], shell) as app:
        app.wait_for("Search", " notes")
        app.type("token budget")
        app.wait_for("▌ 1 ", " hits", "pack: ")
        shown = ("Search", "❯ token budget", "▌ 1 ", "Token budget.md", "pack: ", "quit")
        for kill in (app.suspend, lambda: app.press("ctrl+z")):
            kill()
            app.wait_stopped()
            app.go_on()
            app.wait_for(*shown)
        app.clear()
        app.press("ctrl+l")
        app.wait_for(*shown)
        app.press("ctrl+q")
        assert app.wait_exit() == 0


def test_why_answers_for_a_note_that_is_not_in_sight(shell: Mapping[str, str]) -> None:
    with Terminal([*EXCERPT, "demo"], shell, 140, 45) as app:
        app.wait_for("Search", " notes")
        app.type("token budget")
        app.wait_for("▌ 1 ", " hits")
        app.press("ctrl+t")
        app.wait_for("its note is called just what you typed", "rarity", "Rank by strategy")
        app.press("ctrl+g")
        app.type("why not this")
        app.wait_for("Why not this note: ask of one")
        app.press("enter")
        app.wait_gone("Why not this note: ask of one")
        app.type("clipboard")
        app.press("enter")
        app.wait_for("Why not higher", "Copying.md")
        app.press("esc")
        app.wait_gone("Why not higher")
        app.press("ctrl+q")
        assert app.wait_exit() == 0
