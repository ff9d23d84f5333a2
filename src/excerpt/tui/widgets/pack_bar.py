"""The pack as it stands: fragments, tokens of the budget, what it saves, and what one more would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from excerpt.kinds import Format
from excerpt.settings import PackSettings
from excerpt.text.counted import percent

if TYPE_CHECKING:
    from excerpt.model import PackResult
    from excerpt.tui.pack.packer import Cost

GAUGE = 12
"""Cells of the gauge; half of them, or none, where the bar is too narrow."""


class PackBar(Widget):
    """`pack ▸ xml, neighbors, 3 marked  6 fragments · 1,840 +212 / 4,000 tokens ▓▓▓▒░░ · saves 93 % of 27,310`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"pack--strong", "pack--full", "pack--empty", "pack--over", "pack--ghost"}

    DEFAULT_CSS = """
    PackBar {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $text-soft;
        & > .pack--strong { color: $foreground; text-style: bold; }
        & > .pack--full { color: $secondary; }
        & > .pack--ghost { color: $accent; }
        & > .pack--empty { color: $text-faint; }
        & > .pack--over { color: $warning; }
    }
    """

    pack: reactive[PackResult | None] = reactive(None)
    marked: reactive[int] = reactive(0)
    wanted: reactive[PackSettings] = reactive(PackSettings())
    """Scope, budget and format as the keys have them."""
    order: reactive[str] = reactive("")
    """Where it is not that of the scores: `vault order` or `own order`."""
    cost: reactive[Cost | None] = reactive(None)
    """Of the selected fragment; None where it is marked already."""

    def render(self) -> Text:
        width = self.scrollable_content_region.width
        return next((text for text in map(self._text, range(6)) if text.cell_len <= width), self._text(6))

    def _text(self, brevity: int) -> Text:
        """The bar at a brevity: 0 says everything, 6 only fragments and tokens. What one more would cost, and what is
        saved, goes after the number of fragments, which the panel tells too."""
        strong, full, empty, over = map(self._ink, ("strong", "full", "empty", "over"))
        pack = self.pack
        tokens = pack.tokens if pack else 0
        fragments = sum(len(one.fragment_ids) for one in pack.packs) if pack else 0
        text = Text(no_wrap=True, overflow="ellipsis")
        if brevity < 6:
            text.append("pack ▸ " if brevity < 2 else "").append(", ".join(self._wanted(brevity)))
            text.append(f"{self.marked} marked" if self.marked else "top hits", full if self.marked else "")
            text.append("  ")
        if brevity < 4 or brevity == 6:
            text.append(f"{fragments:,}", strong).append(f" fragment{'' if fragments == 1 else 's'} · ")
        text.append(f"{tokens:,}", strong)
        if brevity < 6:
            text.append(self._told_cost(brevity), self._ink("ghost"))
        text.append(f" / {self.wanted.budget:,} tokens")
        data = self.wanted.format is Format.JSON
        text.append(" of its Markdown" if data and brevity < 6 else "")
        gauge = 0 if brevity == 6 else GAUGE if brevity < 3 else GAUGE // 2
        if gauge:
            filled, ghost = self._cells(tokens, gauge)
            text.append(" ").append("▓" * filled, full).append("▒" * ghost, self._ink("ghost"))
            text.append("░" * (gauge - filled - ghost), empty)
        # What is copied as JSON is data about the packs, not what would have been pasted.
        if pack is not None and pack.saved > 0 and brevity < 5 and not data:
            saved = f" · saves {percent(pack.saved)}"
            text.append(saved + (f" of {pack.source_tokens:,}" if brevity < 3 else ""))
        if pack is not None and pack.left_out and brevity < 2:
            text.append(f" · {len(pack.left_out)} left out", over)
        return text

    def _wanted(self, brevity: int) -> list[str]:
        """How the pack is wanted, each with a place after it for what comes next. What is as usual is said where there
        is room."""
        form = str(self.wanted.format) if self.wanted.format is not Format.MARKDOWN or brevity < 1 else ""
        order = self.order if brevity < 5 else ""
        return [*filter(None, (form, order, str(self.wanted.scope))), ""]

    def _told_cost(self, brevity: int) -> str:
        cost = self.cost
        if cost is None or (cost.alone and brevity == 5):
            return ""
        if cost.reason:
            return f" ({cost.reason})"
        tokens = f"{'' if cost.exact else '~'}{abs(cost.tokens):,}"
        return f" ({tokens} if marked)" if cost.alone else f" {'-' if cost.tokens < 0 else '+'}{tokens}"

    def _cells(self, tokens: int, gauge: int) -> tuple[int, int]:
        """How many cells are full, and how many more would be."""

        def cells(count: int) -> int:
            part = min(gauge, round(count / self.wanted.budget * gauge)) if self.wanted.budget else 0
            return max(part, 1 if count > 0 else 0)

        filled = cells(tokens)
        cost = self.cost
        more = cost.tokens if cost is not None and not cost.alone and not cost.reason else 0
        return filled, max(cells(tokens + more) - filled, 0)

    def _ink(self, name: str) -> Style:
        return self.get_component_rich_style(f"pack--{name}", partial=True)
