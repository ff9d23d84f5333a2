"""Which renderer the settings ask for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from excerpt.errors import SettingsError
from excerpt.kinds import Format
from excerpt.pack.render import Links, MarkdownRenderer, PlainRenderer, Renderer, XmlRenderer
from excerpt.settings import PackSettings


def renderer_for(settings: PackSettings, questions: Sequence[str], links: Links, folder: Path) -> Renderer:
    """The renderer of the format that `settings` name, with the questions if they are wanted.

    `folder` is where a relative template path counts from. JSON is data about packs, whose budget is that of their
    Markdown. A template is given the questions in any case, and puts them where it likes. Raises SettingsError if the
    template cannot be read.
    """
    asked = tuple(question for question in questions if question.strip())
    if settings.format is Format.TEMPLATE:
        from excerpt.pack.template import TemplateRenderer, read_template

        if not settings.template:
            raise SettingsError(
                "The format template needs a file.", "Name it with --template FILE, or as pack.template."
            )
        file = folder / Path(settings.template).expanduser()
        return TemplateRenderer(str(file), read_template(file), links, asked)
    shown = asked if settings.question else ()
    if settings.format is Format.XML:
        return XmlRenderer(shown)
    if settings.format is Format.PLAIN:
        return PlainRenderer(shown)
    return MarkdownRenderer(shown)
