"""What a pane shows when it has nothing to list: a title, a sentence, a hint. Text of the vault is never markup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from excerpt.text.display import visible

if TYPE_CHECKING:
    from excerpt.tui.messages import Failure


@dataclass(frozen=True, slots=True)
class EmptyState:
    """The content of a notice. `serious` draws it as an error."""

    title: str
    sentence: str = ""
    hint: str = ""
    serious: bool = False

    @staticmethod
    def of_failure(failure: Failure) -> EmptyState:
        """Return the notice for a failure."""
        return EmptyState(failure.title, failure.message, failure.hint, serious=True)


class Notice(Widget):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"notice--title", "notice--error", "notice--hint"}

    DEFAULT_CSS = """
    Notice {
        padding: 1 2 0 2;
        height: 1fr;
        color: $foreground;
        overflow-y: auto;
        & > .notice--title { text-style: bold; color: $primary; }
        & > .notice--error { text-style: bold; color: $error; }
        & > .notice--hint { color: $text-soft; }
    }
    """

    empty_state: reactive[EmptyState] = reactive(EmptyState(""), layout=True)

    def render(self) -> Text:
        state = self.empty_state
        title = "notice--error" if state.serious else "notice--title"
        text = Text().append(visible(state.title), self.get_component_rich_style(title, partial=True))
        if state.sentence:
            text.append(f"\n\n{visible(state.sentence)}")
        if state.hint:
            text.append(f"\n\n{visible(state.hint)}", self.get_component_rich_style("notice--hint", partial=True))
        return text
