"""What is remembered already of the same thing, one line each, in the form that remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.model import Memory
from excerpt.text.counted import percent
from excerpt.text.times import local_day
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.snippet import snippet
from excerpt.tui.common.strips import Part, line

if TYPE_CHECKING:
    from excerpt.memory.offers import Offer


class OfferList(RowList):
    """Memories to merge with: why each is offered, when it was kept, how it begins."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Remember, with what is offered focused")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"offer--why", "offer--tags"}

    DEFAULT_CSS = """
    OfferList {
        background: $surface;
        & > .offer--why { color: $secondary; }
        & > .offer--tags { color: $text-soft; }
    }
    """

    offers: reactive[tuple[Offer, ...]] = reactive((), init=False)

    class Chosen(Message):
        """Merge with the selected one."""

    @property
    def row_count(self) -> int:
        return len(self.offers)

    @property
    def selected(self) -> Memory | None:
        return self.offers[self.cursor].memory if self.offers else None

    def watch_offers(self, new: tuple[Offer, ...]) -> None:
        self.styles.height = len(new)
        self.rows_changed(self.cursor)

    def action_choose(self) -> None:
        self.post_message(self.Chosen())

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        offer = self.offers[row]
        why = "same lines" if offer.is_same_source else f"{percent(offer.likeness)} alike"
        bar: Part = ("▌" if selected else " ", self.style_of("row--bar"))
        tags = "".join(f" #{visible_line(tag)}" for tag in offer.memory.tags)
        text, _ = snippet(offer.memory.text, (), width)
        left: list[Part] = [bar, (f"◆ {why:<11} ", self.style_of("offer--why")), (text, Style.null())]
        right: list[Part] = [(tags, self.style_of("offer--tags"))] if tags and width > 60 else []
        right.append((f" {local_day(offer.memory.created)} ", self.style_of("row--faint")))
        return (line(left, right, width, base),)
