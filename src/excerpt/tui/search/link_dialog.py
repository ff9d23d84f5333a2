"""The dialog that copies links to passages: it lists the forms of the link, each with the link itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList

from excerpt.base.kinds import LinkForm, next_in_cycle
from excerpt.text.display import format_count, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.dialog import Dialog, DialogBox
from excerpt.tui.keymap import key_sign

_LABELS: Mapping[LinkForm, str] = {
    LinkForm.WIKILINK: "wikilink",
    LinkForm.MARKDOWN: "Markdown",
    LinkForm.OBSIDIAN: "Obsidian",
    LinkForm.LINES: "path:line",
    LinkForm.PATH: "path",
}
_LABEL_CELLS = max(map(len, _LABELS.values()))


class LinkDialog(Dialog[LinkForm]):
    """A dialog that lists the forms in which the passages can be linked; its result is the chosen one.

    `links` has the links of each form; of several, the first is shown.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("The link")

    DEFAULT_CSS = """
    LinkDialog {
        OptionList { height: auto; background: $surface; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """

    def __init__(self, links: Mapping[LinkForm, Sequence[str]], form: LinkForm) -> None:
        super().__init__()
        self._links = links
        self._forms = [each for each in LinkForm if each in links]
        self._form = form

    def compose(self) -> ComposeResult:
        count = max(map(len, self._links.values()))
        with DialogBox() as box:
            links_text = "Link to the passage" if count == 1 else f"Links to {format_count(count, 'passage')}"
            box.border_title = Content(links_text)
            box.set_hints(
                f"{key_sign('links-copy')} copy",
                f"{key_sign('links-next')} next",
                f"{key_sign('dialog-leave')} close",
            )
            yield OptionList(*map(self._draw_form, self._forms), markup=False, compact=True)

    def _draw_form(self, form: LinkForm) -> Content:
        return Content(f"{_LABELS[form]:<{_LABEL_CELLS}}  {visible_line(self._links[form][0])}")

    def on_mount(self) -> None:
        at = self._forms.index(self._form) if self._form in self._forms else 0
        self.query_one(OptionList).highlighted = at

    def action_move(self, steps: int) -> None:
        options = self.query_one(OptionList)
        options.highlighted = max(0, min((options.highlighted or 0) + steps, len(self._forms) - 1))

    def action_next_form(self) -> None:
        options = self.query_one(OptionList)
        options.highlighted = next_in_cycle(range(len(self._forms)), options.highlighted or 0)

    @on(OptionList.OptionSelected)
    def action_choose(self) -> None:
        self.dismiss(self._forms[self.query_one(OptionList).highlighted or 0])
