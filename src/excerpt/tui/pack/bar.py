"""The status bar of the pack: passages, tokens, why it has no more, and the cost of one more."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from excerpt.kinds import Format, Stopped
from excerpt.settings import PackSettings
from excerpt.text.display import format_count

if TYPE_CHECKING:
    from excerpt.model import PackResult
    from excerpt.tui.pack.packer import Cost

GAUGE = 12
"""Width of the gauge in cells. In a narrow bar it is half of that, or left out."""
_BRIEFEST = 6
"""The brevity at which the bar shows only passages and tokens."""


class PackBar(Widget):
    """Bar with the state of the pack.

    Example: `pack: 2 passages · 518 of 4,000 tokens ▓▓▒░░░ · marking this adds 211 · 2 marked · neighbors`.
    """

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
    """The settings, with scope, budget and format as set by keys."""
    order: reactive[str] = reactive("")
    """Order of the pack: `vault order`, `own order`, or "" for that of the scores."""
    cost: reactive[Cost | None] = reactive(None)
    """Cost of the selected fragment; None if it is marked already."""

    def render(self) -> Text:
        width = self.scrollable_content_region.width
        return next(
            (text for text in map(self._text, range(_BRIEFEST)) if text.cell_len <= width), self._text(_BRIEFEST)
        )

    def _text(self, brevity: int) -> Text:
        """Return the bar at a brevity from 0, everything, to `_BRIEFEST`, only passages and tokens."""
        strong, full, empty, ghost = map(self._style, ("strong", "full", "empty", "ghost"))
        pack = self.pack
        tokens = pack.tokens if pack else 0
        passages = len(pack.packs) if pack else 0
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append("pack: " if brevity < _BRIEFEST else "")
        text.append(f"{passages:,}", strong).append(f" passage{'' if passages == 1 else 's'} · ")
        text.append(f"{tokens:,}", strong).append(f" of {format_count(self.wanted.budget, 'token')}")
        text.append(" of its Markdown" if self.wanted.format is Format.JSON and brevity < _BRIEFEST else "")
        if gauge := (GAUGE, GAUGE, GAUGE, GAUGE // 2)[brevity] if brevity < 4 else 0:
            filled, more = self._cells(tokens, gauge)
            text.append(" ").append("▓" * filled, full).append("▒" * more, ghost)
            text.append("░" * (gauge - filled - more), empty)
        if told := self._cost_label(brevity):
            text.append(" · ").append(told, ghost)
        if told := self._source_label(brevity):
            text.append(" · ").append(told, self._style("over") if told.startswith("full") else "")
        text.append("".join(f" · {each}" for each in self._wanted(brevity)))
        return text

    def _source_label(self, brevity: int) -> str:
        """Return what the pack is built from, or why it has no more passages."""
        pack = self.pack
        if pack is None or brevity == _BRIEFEST:
            return ""
        if pack.stopped is Stopped.BUDGET:
            return f"full: the next needs {pack.needs[0]:,}" if brevity < _BRIEFEST - 1 else "full"
        if self.marked:
            return f"{self.marked:,} marked"
        best = "the best hit" if self.wanted.limit == 1 else f"the best {format_count(self.wanted.limit, 'hit')}"
        return best if pack.stopped is Stopped.LIMIT else "no other useful hits"

    def _wanted(self, brevity: int) -> list[str]:
        """Return format, order and scope. The default format and the scope are left out where there is little room."""
        form = str(self.wanted.format) if self.wanted.format is not Format.MARKDOWN or brevity < 1 else ""
        parts = (form if brevity < 4 else "", self.order if brevity < 5 else "", str(self.wanted.scope) * (brevity < 2))
        return [each for each in parts if each]

    def _cost_label(self, brevity: int) -> str:
        """Return what marking the selected fragment does to the tokens. The first mark replaces the best hits."""
        cost = self.cost
        if cost is None or brevity > (2 if cost.alone else 4):
            return ""
        tokens = f"{'' if cost.exact else '~'}{abs(cost.tokens):,}"
        if cost.reason:
            return f"marking this: {cost.reason}"
        if cost.alone:
            return f"marking this packs it alone: {tokens}"
        return f"marking this {'saves' if cost.tokens < 0 else 'adds'} {tokens}"

    def _cells(self, tokens: int, gauge: int) -> tuple[int, int]:
        """Return how many cells are full, and how many more marking the selected fragment would fill."""

        def cells(count: int) -> int:
            part = min(gauge, round(count / self.wanted.budget * gauge)) if self.wanted.budget else 0
            return max(part, 1 if count > 0 else 0)

        filled = cells(tokens)
        cost = self.cost
        more = cost.tokens if cost is not None and not cost.alone and not cost.reason else 0
        return filled, max(cells(tokens + more) - filled, 0)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"pack--{name}", partial=True)
