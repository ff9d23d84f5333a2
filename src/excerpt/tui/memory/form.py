"""Keep a finding, or change one: its text, tags, and why it matters; what is like it is offered to be merged with."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Label, Static, TextArea

from excerpt.text.visible import visible, visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.keymap import key_sign, shown_key
from excerpt.tui.memory.decisions import Kept
from excerpt.tui.memory.messages import Tags
from excerpt.tui.memory.offer_list import OfferList
from excerpt.tui.memory.tag_completion import TagSuggester
from excerpt.tui.screens.dialog import Dialog
from excerpt.tui.widgets.field import Field

if TYPE_CHECKING:
    from excerpt.memory.offers import Offer

_SETTLED = 0.3
"""Seconds without typing before it is looked again for what is like the text."""
_TAGS_SHOWN = 12
_HEIGHTS: list[tuple[int, str]] | None = [(0, "-short"), (16, "-low"), (24, "-tall")]
"""Classes by the rows of the window; a low one has no room for lines between the fields when there is an offer."""


class Remember(Dialog[Kept]):
    """Dismissed with what to keep, or None.

    `source` says where the text came from, "" for a thought of the user's own. `ask` is called with the number of the
    question and the text, and answered by `hear`; without `offering`, only for the tags in use.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Remember")
    VERTICAL_BREAKPOINTS = _HEIGHTS

    DEFAULT_CSS = """
    Remember {
        Label { color: $text-soft; width: 1fr; height: 1; }
        #source { color: $text-soft; margin-bottom: 1; }
        Field { margin-bottom: 1; background: $background; }
        TextArea { height: 8; max-height: 40vh; background: $background; border: none; padding: 0 1; }
        #offered { color: $accent; margin-top: 1; }
        #offered, OfferList { display: none; }
        .-offering #offered, .-offering OfferList { display: block; }
        .-offering TextArea { height: 5; max-height: 14vh; }
        #trouble { color: $error; height: auto; }
        &.-short > .box { padding: 0 2; max-height: 100%; }
        &.-low > .box.-offering { padding: 0 2; }
        &.-short #source, &.-short Field, &.-low .-offering #source, &.-low .-offering Field { margin-bottom: 0; }
        &.-short #offered, &.-low #offered { margin-top: 0; }
    }
    """

    def __init__(
        self,
        text: str,
        source: str,
        *,
        title: str = "Remember",
        tags: tuple[str, ...] = (),
        why: str = "",
        ask: Callable[[int, str], None] | None = None,
        offering: bool = True,
    ) -> None:
        super().__init__()
        self._text = text
        self._source = source
        self._title = title
        self._tags = tags
        self._why = why
        self._ask = ask
        self._offering = offering
        self._asked = 0
        self._settling: Timer | None = None
        self._suggester = TagSuggester()

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._title
            box.border_subtitle = Content(
                f"{shown_key('enter')} or {key_sign('remember-keep')} keep · {key_sign('dialog-next')} next field · "
                f"{key_sign('dialog-leave')} leave"
            )
            if self._source:
                yield Static(Content(visible_line(self._source)), id="source")
            yield Label("Tags", id="tags-label", markup=False)
            tags = ", ".join(self._tags)
            yield Field(
                tags,
                placeholder="sync, decision",
                compact=True,
                select_on_focus=False,
                id="tags",
                suggester=self._suggester,
            )
            yield Label("Why it matters")
            yield Field(self._why, compact=True, select_on_focus=False, id="why")
            yield Label("Text")
            yield TextArea(visible(self._text), id="text", show_line_numbers=False, tab_behavior="focus")
            yield Label(
                f"Kept already? {key_sign('remember-merge')} merges, {shown_key('enter')} keeps both",
                id="offered",
                markup=False,
            )
            yield OfferList(id="offers")
            yield Static("", id="trouble", markup=False)

    def on_mount(self) -> None:
        self.query_one("#tags" if self._text else "#text").focus()
        self._look()

    @on(TextArea.Changed)
    def _text_changed(self) -> None:
        if self._settling is not None:
            self._settling.stop()
        if self._offering and self._asked:
            self._settling = self.set_timer(_SETTLED, self._look)

    def _look(self) -> None:
        self._asked += 1
        if self._ask is not None:
            self._ask(self._asked, self._kept_text() if self._offering else "")

    def hear(self, number: int, offers: tuple[Offer, ...], tags: Tags) -> None:
        """The answer to the question of that number."""
        if number != self._asked or not self.is_mounted:
            return
        self._suggester.tags = [tag for tag, _ in tags]
        used = ", ".join(self._suggester.tags[:_TAGS_SHOWN])
        self.query_one("#tags-label", Label).update(f"Tags · in use: {visible_line(used)}" if used else "Tags")
        rows = self.query_one(OfferList)
        rows.offers = offers if self._offering else ()
        self.query_one(".box").set_class(bool(rows.offers), "-offering")

    def on_input_submitted(self) -> None:
        self.action_keep()

    def _kept_text(self) -> str:
        """What was not edited is kept as it stands in the note, not as it is shown."""
        text = self.query_one("#text", TextArea).text
        return self._text if text == visible(self._text) else text

    def action_keep(self) -> None:
        self._keep("")

    @on(OfferList.Chosen)
    def action_merge(self) -> None:
        memory = self.query_one(OfferList).selected
        if memory is not None:
            self._keep(memory.id)

    def _keep(self, into: str) -> None:
        text = self._kept_text()
        if not text.strip():
            self.query_one("#trouble", Static).update("There is no text to keep.")
            self.query_one("#text").focus()
            return
        why = self.query_one("#why", Field).value.strip()
        self.dismiss(Kept(text, split_tags(self.query_one("#tags", Field).value), why, into))


def split_tags(written: str) -> tuple[str, ...]:
    """Tags as a user writes them: with commas or spaces between, with or without #."""
    return tuple(dict.fromkeys(tag for tag in re.split(r"[,\s]+", written.replace("#", " ")) if tag))
