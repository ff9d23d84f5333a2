"""The form that keeps or changes a memory: text, tags, and why it matters. It offers memories to merge or replace."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.suggester import Suggester
from textual.widgets import Label, Static, TextArea

from excerpt.base.model import Memory
from excerpt.base.patterns import lazy_pattern
from excerpt.service.memory_decisions import MemoryDraft
from excerpt.text.display import format_percent, local_day, visible, visible_line
from excerpt.text.snippet import snippet
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.debouncer import Debouncer
from excerpt.tui.common.dialog import ConfirmDialog, Dialog
from excerpt.tui.common.field import Field
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import StyledPart, line
from excerpt.tui.keymap import format_key, key_sign

if TYPE_CHECKING:
    from excerpt.memory.results import SimilarMemory
    from excerpt.service.memory_worker import MergeOffers

_SETTLE_SECONDS = 0.3
"""Seconds without typing before similar memories are requested."""
_RELATION_NAMES = {"lines": "same lines", "heading": "same heading", "why": "same why"}
"""What a row says about memories that have lines, a heading or the why and tags in common."""
_MAX_TAGS_SHOWN = 12
"""Maximum number of tags in use that are listed above the field."""
_HEIGHT_CLASSES: list[tuple[int, str]] | None = [(0, "-short"), (16, "-low"), (24, "-tall")]
"""CSS classes by minimum window height in lines. A low window has no blank lines between fields beside offers."""


_LAST_TAG = lazy_pattern(r"(?:^|[\s,#])([^\s,#]+)$")
_LAST_HASH_TAG = lazy_pattern(r"(?:^|\s)#([^\s,#]+)$")


def split_tags(text: str) -> tuple[str, ...]:
    """Return the tags that the user typed, each once. Commas or spaces separate tags; a # before them is optional."""
    return tuple(dict.fromkeys(tag for tag in re.split(r"[,\s]+", text.replace("#", " ")) if tag))


def complete_tag(text: str, tags: Sequence[str], *, with_hash: bool = False) -> str | None:
    """Return `text` with its last tag completed; None if none of `tags` completes it.

    The first of `tags` that begins with the typed letters and is not in `text` is used. With `with_hash`, only a word
    after # is taken for a tag, as in a filter of words and tags.
    """
    match = (_LAST_HASH_TAG if with_hash else _LAST_TAG).search(text)
    if match is None:
        return None
    present = set(re.split(r"[\s,#]+", text[: match.start(1)].casefold()))
    start = match[1].casefold()
    completion = next((tag for tag in tags if tag.startswith(start) and tag != start and tag not in present), None)
    return None if completion is None else text + completion[len(start) :]


class TagSuggester(Suggester):
    """Suggester that completes a tag in an `Input`. `tags` are all tags in use, the most used first."""

    def __init__(self, *, with_hash: bool = False) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.tags: Sequence[str] = ()
        self._with_hash = with_hash

    async def get_suggestion(self, value: str) -> str | None:
        return complete_tag(value, self.tags, with_hash=self._with_hash)


class OfferList(RowList):
    """List of memories to merge or replace. A row has what they have in common, the text, the tags and the date."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Remember, focus on the similar memories")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"offer--why", "offer--tags"}

    DEFAULT_CSS = """
    OfferList {
        background: $surface;
        & > .offer--why { color: $secondary; }
        & > .offer--tags { color: $text-soft; }
    }
    """

    offers: reactive[tuple[SimilarMemory, ...]] = reactive((), init=False)

    class MergeChosen(Message):
        """Posted when the user chooses to merge with the selected memory."""

    class ReplaceChosen(Message):
        """Posted when the user chooses to replace the selected memory."""

    @property
    def row_count(self) -> int:
        return len(self.offers)

    @property
    def selected(self) -> Memory | None:
        return self.offers[self.cursor].memory if self.offers else None

    def watch_offers(self, new: tuple[SimilarMemory, ...]) -> None:
        self.styles.height = len(new)
        self.redraw_rows(self.cursor)

    def action_choose(self) -> None:
        self.post_message(self.MergeChosen())

    def action_replace(self) -> None:
        self.post_message(self.ReplaceChosen())

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        offer = self.offers[row]
        why = _RELATION_NAMES.get(offer.relation) or f"{format_percent(offer.likeness)} alike"
        bar = self.cursor_bar(selected)
        tags = "".join(f" #{visible_line(tag)}" for tag in offer.memory.tags)
        text, _ = snippet(offer.memory.text, (), width)
        left: list[StyledPart] = [bar, (f"◆ {why:<12} ", self.style_of("offer--why")), (text, Style.null())]
        right: list[StyledPart] = [(tags, self.style_of("offer--tags"))] if tags and width > 60 else []
        right.append((f" {local_day(offer.memory.created)} ", self.style_of("row--faint")))
        return (line(left, right, width, base),)


class MemoryText(TextArea):
    """Text area for the memory's text. Its undo keys undo edits of the text, not decisions about memories."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("The text of a memory")


class RememberDialog(Dialog[MemoryDraft]):
    """Dialog to keep or change a memory. Its result is what the user wrote, or None if it was cancelled.

    `text`, `tags` and `why` are the first values of the fields. `source_text` says where the text came from, "" for the
    user's own thought. `request_offers` is called with what was written so far and a callback for similar memories and
    tags in use. `offers_merge`: similar memories are shown; without it only the tags are used. `shares`: whether a new
    memory is first to be shared in the vault's store, None if it cannot be.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Remember")
    VERTICAL_BREAKPOINTS = _HEIGHT_CLASSES

    DEFAULT_CSS = """
    RememberDialog {
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
        source_text: str,
        *,
        title: str = "Remember",
        tags: tuple[str, ...] = (),
        why: str = "",
        request_offers: Callable[[MemoryDraft, Callable[[MergeOffers], object]], object] | None = None,
        offers_merge: bool = True,
        shares: bool | None = None,
    ) -> None:
        super().__init__()
        self._text = text
        self._source_text = source_text
        self._title = title
        self._tags = tags
        self._why = why
        self._on_offer_request = request_offers
        self._offers_merge = offers_merge
        self._shares = shares
        self._debouncer = Debouncer(self.set_timer)
        self._suggester = TagSuggester()
        self._first_draft: MemoryDraft | None = None
        """What the fields held first; None while the form is being opened."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._title
            box.border_subtitle = self._format_hints()
            if self._source_text:
                yield Static(Content(visible_line(self._source_text)), id="source")
            yield Label("Tags", id="tags-label", markup=False)
            tags = ", ".join(self._tags)
            yield Field(
                tags,
                placeholder="such as: sync, decision",
                compact=True,
                select_on_focus=False,
                id="tags",
                suggester=self._suggester,
            )
            yield Label("Why it matters")
            yield Field(self._why, compact=True, select_on_focus=False, id="why")
            yield Label("Text")
            yield MemoryText(visible(self._text), id="text", show_line_numbers=False, tab_behavior="focus")
            yield Label(
                f"Similar: {key_sign('dialog-next')} selects one, {format_key('enter')} merges, "
                f"{key_sign('offers-replace')} replaces; {key_sign('remember-keep')} keeps both",
                id="offered",
                markup=False,
            )
            yield OfferList(id="offers")
            yield Static("", id="trouble", markup=False)

    def _format_hints(self) -> Content:
        keep = "share with its readers" if self._shares else "keep"
        toggle = "keep for you alone" if self._shares else "share"
        hints = [
            f"{format_key('enter')} or {key_sign('remember-keep')} {keep}",
            *([] if self._shares is None else [f"{key_sign('remember-share')} {toggle}"]),
            f"{key_sign('dialog-next')} next field",
            f"{key_sign('dialog-leave')} leave",
        ]
        return Content(" · ".join(hints))

    def action_share(self) -> None:
        if self._shares is not None:
            self._shares = not self._shares
            self.query_one(".box").border_subtitle = self._format_hints()
            self._request_offers()

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `HasDisabledReason`'s name
        return (
            "only a new memory of a vault in a store can be shared"
            if action == "share" and self._shares is None
            else ""
        )

    def on_mount(self) -> None:
        self.query_one("#tags" if self._text else "#text").focus()
        self._first_draft = self._read_draft()
        self._request_offers()

    def confirm_leaving(self, leave: Callable[[], object]) -> None:
        """Call `leave`; if something was typed that would be lost, ask before."""
        is_typed_in = self._first_draft is not None and self in self.app.screen_stack
        if not is_typed_in or self._read_draft() == self._first_draft:
            leave()
            return

        def on_answer(yes: bool | None) -> None:
            if yes:
                leave()

        question = "It is not kept as a memory yet."
        dialog = ConfirmDialog("Discard what you typed?", question, "Discard", accepts_letters=False)
        self.app.push_screen(dialog, on_answer)

    @on(TextArea.Changed)
    @on(Field.Changed)
    def _handle_change(self) -> None:
        if self._offers_merge:
            self._debouncer.schedule(_SETTLE_SECONDS, self._request_offers)

    def _request_offers(self) -> None:
        if self._on_offer_request is not None:
            draft = self._read_draft() if self._offers_merge else MemoryDraft("", (), "")
            self._on_offer_request(draft, self.show_offers)

    def show_offers(self, offers: MergeOffers) -> None:
        """Show the memories to merge with, and use the tags in use for completion."""
        if not self.query(OfferList):
            return  # the answer arrived while the form is being removed, its fields first
        self._suggester.tags = offers.tags
        used = ", ".join(offers.tags[:_MAX_TAGS_SHOWN])
        self.query_one("#tags-label", Label).update(f"Tags · in use: {visible_line(used)}" if used else "Tags")
        rows = self.query_one(OfferList)
        rows.offers = offers.offers if self._offers_merge else ()
        self.query_one(".box").set_class(bool(rows.offers), "-offering")

    def on_input_submitted(self) -> None:
        self.action_keep()

    def _text_to_keep(self) -> str:
        """Return the text to save. If the user has not edited it, this is the original text, not the displayed one."""
        text = self.query_one("#text", TextArea).text
        return self._text if text == visible(self._text) else text

    def _read_draft(self) -> MemoryDraft:
        """Return what the fields hold now."""
        why = self.query_one("#why", Field).value.strip()
        tags = split_tags(self.query_one("#tags", Field).value)
        return MemoryDraft(self._text_to_keep(), tags, why, shared=bool(self._shares))

    def action_keep(self) -> None:
        self._submit(self._read_draft())

    @on(OfferList.MergeChosen)
    def action_merge(self) -> None:
        memory = self.query_one(OfferList).selected
        if memory is not None:
            self._submit(replace(self._read_draft(), merge_id=memory.id))

    @on(OfferList.ReplaceChosen)
    def _replace_selected(self) -> None:
        memory = self.query_one(OfferList).selected
        if memory is not None:
            self._submit(replace(self._read_draft(), replaces=(memory.id,)))

    def _submit(self, draft: MemoryDraft) -> None:
        if not draft.text.strip():
            self.query_one("#trouble", Static).update("There is no text to remember. Type a text first.")
            self.query_one("#text").focus()
            return
        self.dismiss(draft)
