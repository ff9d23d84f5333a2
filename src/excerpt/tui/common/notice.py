"""The notice of a pane that has nothing to list: a title, a sentence and a hint, never read as markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from excerpt.text.display import visible

if TYPE_CHECKING:
    from excerpt.service.event_loop import Failure


class EmptyState(Struct, frozen=True):
    """The text of a notice: why a list is empty, and what to do. `is_error` draws the title as an error."""

    title: str
    sentence: str = ""
    hint: str = ""
    is_error: bool = False

    @staticmethod
    def of_failure(failure: Failure) -> EmptyState:
        """Return the text of a notice that reports a failed request."""
        return EmptyState(failure.title, failure.message, failure.hint, is_error=True)


class Notice(Widget):
    """A widget that shows an `EmptyState` in place of a list."""

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
        title = "notice--error" if state.is_error else "notice--title"
        text = Text().append(visible(state.title), self.get_component_rich_style(title, partial=True))
        if state.sentence:
            text.append(f"\n\n{visible(state.sentence)}")
        if state.hint:
            text.append(f"\n\n{visible(state.hint)}", self.get_component_rich_style("notice--hint", partial=True))
        return text
