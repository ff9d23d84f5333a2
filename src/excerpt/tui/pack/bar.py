"""The status bar of the pack: its passages and tokens, why it has no more passages, and the cost of one more mark."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from excerpt.kinds import Format, StopReason
from excerpt.settings import PackSettings
from excerpt.text.display import format_count
from excerpt.tui.common.strips import click_style
from excerpt.tui.messages import PartClicked
from excerpt.tui.pack.labels import needs_label, scope_label, stop_label

if TYPE_CHECKING:
    from excerpt.model import PackResult
    from excerpt.service.packer import MarkCost

GAUGE_CELLS = 12
"""Width of the gauge in cells."""
_PARTS = ("stop", "unit", "order", "needs", "cost", "format", "scope", "gauge")
"""Parts of the bar besides passages and tokens, the most important first. The first that does not fit ends the bar."""


class PackBar(Widget):
    """A bar that shows the state of the pack, and at its right end what marking the selected fragment would do.

    A click on the budget, the format or the scope changes it. Example:
    `2 passages · 518/4,000 tokens ▓▓▒░░░ · 2 marked · markdown · section     mark: +211 tokens`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"pack--strong", "pack--full", "pack--empty", "pack--over", "pack--ghost"}

    DEFAULT_CSS = """
    PackBar {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $text-soft;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        & > .pack--strong { color: $foreground; text-style: bold; }
        & > .pack--full { color: $secondary; }
        & > .pack--ghost { color: $accent; }
        & > .pack--empty { color: $text-faint; }
        & > .pack--over { color: $warning; }
    }
    """

    pack: reactive[PackResult | None] = reactive(None)
    """The newest pack; None if there is nothing to pack."""
    mark_count: reactive[int] = reactive(0)
    """Number of marked fragments."""
    pack_settings: reactive[PackSettings] = reactive(PackSettings())
    """The settings of packs; scope, budget, format and fill have the values that the user has set on the screen."""
    order_name: reactive[str] = reactive("")
    """Order of the passages: `vault order`, `own order` (set by the user), or "" for the order of the scores."""
    cost: reactive[MarkCost | None] = reactive(None)
    """Tokens that marking the selected fragment would add; None if that fragment is marked already."""

    @property
    def link_style(self) -> Style:
        """No style: options have the colour of the bar, which Textual's colour of links would replace."""
        return Style.null()

    def action_click(self, action: str) -> None:
        self.post_message(PartClicked(action))

    def render(self) -> Text:
        width = self.scrollable_content_region.width
        is_default_format = self.pack_settings.format is Format.MARKDOWN
        shown: set[str] = set()
        for part in _PARTS if is_default_format else ("format", *_PARTS):
            left, right = self._render_parts({*shown, part})
            if left.cell_len + right.cell_len + 2 * bool(right) > width:
                break  # a shorter part in its place would make the bar change with each row
            shown.add(part)
        left, right = self._render_parts(shown)
        gap = " " * max(width - left.cell_len - right.cell_len, 0) if right else ""
        return Text.assemble(left, gap, right)

    def _render_parts(self, shown: Collection[str]) -> tuple[Text, Text]:
        """Return the left and the right text of the bar with the parts named in `shown`."""
        settings, text = self.pack_settings, Text()
        self._append_size(text, shown)
        if "stop" in shown and self.pack is not None:
            stop = stop_label(self.pack, settings, self.mark_count)
            style = self._component_style("over") if self.pack.stopped is StopReason.BUDGET else ""
            text.append(" · ").append(stop + (needs_label(self.pack) if "needs" in shown else ""), style)
        if "format" in shown:
            text.append(" · ").append(str(settings.format), click_style("click('format')"))
        if "order" in shown and self.order_name:
            text.append(f" · {self.order_name}")
        if "scope" in shown:
            text.append(" · ").append(scope_label(settings.scope), click_style("click('scope')"))
        return text, Text(self._cost_label() if "cost" in shown else "", self._component_style("ghost"))

    def _append_size(self, text: Text, shown: Collection[str]) -> None:
        """Append passages and tokens to `text`; without an answer, only the passages."""
        pack, settings, strong = self.pack, self.pack_settings, self._component_style("strong")
        passages = len(pack.passages) if pack else 0
        text.append(f"{passages:,}", strong).append(f" passage{'' if passages == 1 else 's'}")
        if pack is not None and pack.stopped is StopReason.NO_ANSWER:
            return
        tokens = pack.tokens if pack else 0
        text.append(" · ").append(f"{tokens:,}", strong).append("/")
        text.append(format_count(settings.budget, "token"), click_style("click('type_budget')"))
        text.append(" of its Markdown" if "unit" in shown and settings.format is Format.JSON else "")
        if "gauge" in shown:
            filled, added = self._count_gauge_cells(tokens)
            text.append(" ").append("▓" * filled, self._component_style("full"))
            text.append("▒" * added, self._component_style("ghost"))
            text.append("░" * (GAUGE_CELLS - filled - added), self._component_style("empty"))

    def _cost_label(self) -> str:
        """Return what marking the selected fragment would do to the pack; "" if not known.

        The first mark makes a pack of only that fragment, in place of the best hits.
        """
        cost = self.cost
        if cost is None:
            return ""
        if cost.reason:
            return f"mark: {cost.reason}"
        about = "" if cost.is_exact else "~"
        if cost.is_first_mark:
            return f"mark: only this, {about}{format_count(cost.tokens, 'token')}"
        if not cost.tokens:
            return "mark: in the pack already"
        return f"mark: {'-' if cost.tokens < 0 else '+'}{about}{format_count(abs(cost.tokens), 'token')}"

    def _count_gauge_cells(self, tokens: int) -> tuple[int, int]:
        """Return how many cells of the gauge are full, and how many more a mark of the selected fragment would fill."""

        def cells(count: int) -> int:
            budget = self.pack_settings.budget
            part = min(GAUGE_CELLS, round(count / budget * GAUGE_CELLS)) if budget else 0
            return max(part, 1 if count > 0 else 0)

        filled = cells(tokens)
        cost = self.cost
        added = cost.tokens if cost is not None and not cost.is_first_mark and not cost.reason else 0
        return filled, max(cells(tokens + added) - filled, 0)

    def _component_style(self, name: str) -> Style:
        return self.get_component_rich_style(f"pack--{name}", partial=True)
