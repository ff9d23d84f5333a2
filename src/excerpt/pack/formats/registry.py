"""The formats of packs, by name, and detection of the format of a pack file.

The same packs give the same bytes. A note's text cannot end its own source or imitate another: a fence or a line of `=`
is longer than any in the text, XML is escaped. To add a format, name it in `kinds.Format` and write a module
NAME_format.py with its `FORMAT`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from excerpt.errors import SettingsError
from excerpt.kinds import Format
from excerpt.model import PackResult
from excerpt.pack.formats.pack_format import PackFile, PackFormat, PackUnreadableError, Renderer
from excerpt.pack.formats.source_label import Links
from excerpt.settings import PackSettings

FORMATS: Sequence[Format] = tuple(form for form in Format if form is not Format.TEMPLATE)
"""All formats except the user's templates, whose output cannot be parsed."""


def format_named(form: Format) -> PackFormat:
    """Return one of FORMATS; its module is imported on first use."""
    pack_format = import_module(f"excerpt.pack.formats.{form}_format").FORMAT
    assert isinstance(pack_format, PackFormat)
    return pack_format


def renderer_for(settings: PackSettings, questions: Sequence[str], links: Links, folder: Path) -> Renderer:
    """Return the renderer of the format in `settings`, with the questions if the settings ask for them.

    `folder` is the base of a relative template path. A template always gets the questions. Raises SettingsError if the
    template cannot be read.
    """
    texts = tuple(question for question in questions if question.strip())
    if settings.format is Format.TEMPLATE:
        from excerpt.pack.formats.template_format import TemplateRenderer, read_template

        if not settings.template:
            raise SettingsError(
                "The format template needs a file.", "Name it with --template FILE, or as pack.template."
            )
        file = folder / Path(settings.template).expanduser()
        return TemplateRenderer(str(file), read_template(file), links, texts)
    return format_named(settings.format).renderer(texts if settings.question else ())


def as_output(result: PackResult, links: Links) -> str:
    """Return what is copied, printed or saved: the text, or the data if the format is data."""
    form = format_named(result.format) if result.format in FORMATS else None
    return result.text if form is None or form.data is None else form.data(result, links)


def read_pack(text: str) -> PackFile:
    """Parse the pack in `text`, in any of the formats. Raises PackUnreadableError."""
    from excerpt.text.markdown import normalise_newlines

    text = normalise_newlines(text.removeprefix("\ufeff"))
    matching = (
        each for each in map(format_named, FORMATS) if each.beginning and text.lstrip().startswith(each.beginning)
    )
    pack = next(matching, format_named(Format.MARKDOWN)).read(text)
    if not pack.sources:
        raise PackUnreadableError("The pack has no source that can be checked.")
    twice = [number for number, count in Counter(source.number for source in pack.sources).items() if count > 1]
    if twice:
        raise PackUnreadableError(f"The pack has two sources [{twice[0]}].")
    return pack
