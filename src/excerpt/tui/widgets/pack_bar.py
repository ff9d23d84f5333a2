"""The pack as it stands: fragments, tokens of the budget, what it saves."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from excerpt.model import PackResult, Scope

GAUGE = 12
"""Cells of the gauge; half of them, or none, where the bar is too narrow."""


class PackBar(Widget):
    """`pack ▸ neighbors │ 3 marked │ 6 fragments · 1,840 / 4,000 tokens ▓▓▓░ · saves 93 % of 27,310`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"pack--strong", "pack--full", "pack--empty", "pack--over"}

    DEFAULT_CSS = """
    PackBar {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $text-soft;
        & > .pack--strong { color: $foreground; text-style: bold; }
        & > .pack--full { color: $secondary; }
        & > .pack--empty { color: $text-faint; }
        & > .pack--over { color: $warning; }
    }
    """

    pack: reactive[PackResult | None] = reactive(None)
    marked: reactive[int] = reactive(0)
    scope: reactive[Scope] = reactive(Scope.NEIGHBORS)
    budget: reactive[int] = reactive(4000)

    def render(self) -> Text:
        width = self.scrollable_content_region.width
        return next((text for text in map(self._text, range(4)) if text.cell_len <= width), self._text(4))

    def _text(self, brevity: int) -> Text:
        """The bar at a brevity: 0 says everything, 4 only fragments and tokens."""
        gauge = 0 if brevity == 4 else GAUGE if brevity < 2 else GAUGE // 2
        strong, full, empty, over = map(self._ink, ("strong", "full", "empty", "over"))
        pack = self.pack
        tokens = pack.tokens if pack else 0
        fragments = sum(len(one.fragment_ids) for one in pack.packs) if pack else 0
        text = Text(no_wrap=True, overflow="ellipsis")
        if brevity < 4:
            chosen = f"{self.marked} marked" if self.marked else "top hits"
            text.append(f"{'pack ▸ ' if brevity < 1 else ''}{self.scope}, ").append(chosen, full if self.marked else "")
            text.append("  ")
        text.append(f"{fragments:,}", strong).append(f" fragment{'' if fragments == 1 else 's'} · ")
        text.append(f"{tokens:,}", strong).append(f" / {self.budget:,} tokens")
        if gauge:
            filled = min(gauge, round(tokens / self.budget * gauge)) if self.budget else 0
            filled = max(filled, 1 if tokens else 0)
            text.append(" ").append("▓" * filled, full).append("░" * (gauge - filled), empty)
        if pack is not None and pack.saved > 0 and brevity < 3:
            saved = f" · saves {pack.saved:.0%}".replace("%", " %")
            text.append(saved + (f" of {pack.source_tokens:,}" if brevity < 2 else ""))
        if pack is not None and pack.left_out and brevity < 1:
            text.append(f" · {len(pack.left_out)} left out", over)
        return text

    def _ink(self, name: str) -> Style:
        return self.get_component_rich_style(f"pack--{name}", partial=True)
