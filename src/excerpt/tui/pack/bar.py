"""The pack as it stands: passages, tokens of the budget, what stopped it, and what one more would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from excerpt.kinds import Format, Stopped
from excerpt.settings import PackSettings

if TYPE_CHECKING:
    from excerpt.model import PackResult
    from excerpt.tui.pack.packer import Cost

GAUGE = 12
"""Cells of the gauge; half of them, or none, where the bar is too narrow."""


class PackBar(Widget):
    """`pack: 5 passages · 1,840 +212 of 4,000 tokens ▓▓▓▒░░ · full: the next needs 310 · neighbors`."""

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
        """The bar at a brevity: 0 says everything, 6 only passages and tokens."""
        strong, full, empty = map(self._ink, ("strong", "full", "empty"))
        pack = self.pack
        tokens = pack.tokens if pack else 0
        passages = len(pack.packs) if pack else 0
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append("pack: " if brevity < 6 else "")
        text.append(f"{passages:,}", strong).append(f" passage{'' if passages == 1 else 's'} · ")
        text.append(f"{tokens:,}", strong)
        if brevity < 5:
            text.append(self._told_cost(brevity), self._ink("ghost"))
        text.append(f" of {self.wanted.budget:,} tokens")
        text.append(" of its Markdown" if self.wanted.format is Format.JSON and brevity < 6 else "")
        gauge = 0 if brevity > 3 else GAUGE if brevity < 3 else GAUGE // 2
        if gauge:
            filled, ghost = self._cells(tokens, gauge)
            text.append(" ").append("▓" * filled, full).append("▒" * ghost, self._ink("ghost"))
            text.append("░" * (gauge - filled - ghost), empty)
        if brevity < 5 and (told := self._told_stop()):
            text.append(" · ").append(told, self._ink("over") if told.startswith("full") else "")
        text.append("".join(f" · {each}" for each in self._wanted(brevity)))
        return text

    def _told_stop(self) -> str:
        """What the pack is of, and what stopped it."""
        pack = self.pack
        if pack is None:
            return ""
        if pack.stopped is Stopped.BUDGET:
            return f"full: the next needs {pack.needs:,}"
        if self.marked:
            return f"all {self.marked:,} marked"
        return f"the best {self.wanted.limit:,} hits" if pack.stopped is Stopped.LIMIT else "all hits"

    def _wanted(self, brevity: int) -> list[str]:
        """How the pack is wanted: what is as usual is said where there is room."""
        form = str(self.wanted.format) if self.wanted.format is not Format.MARKDOWN or brevity < 1 else ""
        parts = (form if brevity < 4 else "", self.order if brevity < 5 else "", str(self.wanted.scope) * (brevity < 2))
        return [each for each in parts if each]

    def _told_cost(self, brevity: int) -> str:
        cost = self.cost
        if cost is None or (cost.alone and brevity > 2):
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
