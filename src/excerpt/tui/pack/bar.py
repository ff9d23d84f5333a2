"""The status bar of the pack: its passages and tokens, why it has no more passages, and the cost of one more mark."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from excerpt.kinds import Format, StopReason
from excerpt.settings import PackSettings
from excerpt.text.display import format_count

if TYPE_CHECKING:
    from excerpt.model import PackResult
    from excerpt.tui.pack.packer import MarkCost

GAUGE_CELLS = 12
"""Width of the gauge in cells. In a narrow bar it is half of that, or left out."""
_SHORTEST_BREVITY = 6
"""The highest level of brevity, at which the bar shows only passages and tokens; level 0 shows everything."""


class PackBar(Widget):
    """A bar that shows the state of the pack.

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
    """The newest pack; None if there is nothing to pack."""
    mark_count: reactive[int] = reactive(0)
    """Number of marked fragments."""
    pack_settings: reactive[PackSettings] = reactive(PackSettings())
    """The settings of packs, in which scope, budget and format have the values that the user has set by keys."""
    order_name: reactive[str] = reactive("")
    """Order of the passages: `vault order`, `own order` (set by the user), or "" for the order of the scores."""
    cost: reactive[MarkCost | None] = reactive(None)
    """Tokens that marking the selected fragment would add; None if that fragment is marked already."""

    def render(self) -> Text:
        width = self.scrollable_content_region.width
        return next(
            (text for text in map(self._render_text, range(_SHORTEST_BREVITY)) if text.cell_len <= width),
            self._render_text(_SHORTEST_BREVITY),
        )

    def _render_text(self, brevity: int) -> Text:
        """Return the text of the bar at a level of brevity, from 0 to `_SHORTEST_BREVITY`."""
        strong, full, empty, ghost = map(self._component_style, ("strong", "full", "empty", "ghost"))
        pack = self.pack
        tokens = pack.tokens if pack else 0
        passages = len(pack.packs) if pack else 0
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append("pack: " if brevity < _SHORTEST_BREVITY else "")
        text.append(f"{passages:,}", strong).append(f" passage{'' if passages == 1 else 's'} · ")
        text.append(f"{tokens:,}", strong).append(f" of {format_count(self.pack_settings.budget, 'token')}")
        text.append(
            " of its Markdown" if self.pack_settings.format is Format.JSON and brevity < _SHORTEST_BREVITY else ""
        )
        if gauge := (GAUGE_CELLS, GAUGE_CELLS, GAUGE_CELLS, GAUGE_CELLS // 2)[brevity] if brevity < 4 else 0:
            filled, added = self._count_gauge_cells(tokens, gauge)
            text.append(" ").append("▓" * filled, full).append("▒" * added, ghost)
            text.append("░" * (gauge - filled - added), empty)
        if label := self._cost_label(brevity):
            text.append(" · ").append(label, ghost)
        if label := self._source_label(brevity):
            text.append(" · ").append(label, self._component_style("over") if label.startswith("full") else "")
        text.append("".join(f" · {each}" for each in self._option_labels(brevity)))
        return text

    def _source_label(self, brevity: int) -> str:
        """Return what the pack is built from, or why it has no more passages."""
        pack = self.pack
        if pack is None or brevity == _SHORTEST_BREVITY:
            return ""
        if pack.stopped is StopReason.BUDGET:
            return f"full: the next needs {pack.needs[0]:,}" if brevity < _SHORTEST_BREVITY - 1 else "full"
        if self.mark_count:
            return f"{self.mark_count:,} marked"
        limit = self.pack_settings.limit
        best = "the best hit" if limit == 1 else f"the best {format_count(limit, 'hit')}"
        return best if pack.stopped is StopReason.LIMIT else "no other useful hits"

    def _option_labels(self, brevity: int) -> list[str]:
        """Return the format, the order and the scope; higher levels of brevity leave more of these out."""
        pack_format = self.pack_settings.format
        format_label = str(pack_format) if pack_format is not Format.MARKDOWN or brevity < 1 else ""
        labels = (
            format_label if brevity < 4 else "",
            self.order_name if brevity < 5 else "",
            str(self.pack_settings.scope) * (brevity < 2),
        )
        return [each for each in labels if each]

    def _cost_label(self, brevity: int) -> str:
        """Return what marking the selected fragment would do to the number of tokens; "" if not known or no room.

        The first mark makes a pack of only that fragment, in place of the best hits.
        """
        cost = self.cost
        if cost is None or brevity > (2 if cost.is_first_mark else 4):
            return ""
        tokens = f"{'' if cost.is_exact else '~'}{abs(cost.tokens):,}"
        if cost.reason:
            return f"marking this: {cost.reason}"
        if cost.is_first_mark:
            return f"marking this packs only it: {tokens}"
        return f"marking this {'saves' if cost.tokens < 0 else 'adds'} {tokens}"

    def _count_gauge_cells(self, tokens: int, gauge: int) -> tuple[int, int]:
        """Return how many of `gauge` cells are full, and how many more a mark of the selected fragment would fill."""

        def cells(count: int) -> int:
            part = min(gauge, round(count / self.pack_settings.budget * gauge)) if self.pack_settings.budget else 0
            return max(part, 1 if count > 0 else 0)

        filled = cells(tokens)
        cost = self.cost
        added = cost.tokens if cost is not None and not cost.is_first_mark and not cost.reason else 0
        return filled, max(cells(tokens + added) - filled, 0)

    def _component_style(self, name: str) -> Style:
        return self.get_component_rich_style(f"pack--{name}", partial=True)
