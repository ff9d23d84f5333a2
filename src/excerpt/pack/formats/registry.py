"""The formats of packs, by name, and detection of the format of a pack file.

The same packs give the same bytes. A note's text cannot end its source or imitate another source: a fence or a line of
`=` is longer than any in the text, and XML is escaped. To add a format, add its name to `kinds.Format` and write a
module NAME_format.py with a `FORMAT`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from excerpt.base.errors import SettingsError
from excerpt.base.kinds import Format
from excerpt.base.model import PackResult
from excerpt.base.settings import PackSettings
from excerpt.pack.formats.pack_format import PackFile, PackFormat, Renderer, UnreadablePackError
from excerpt.pack.formats.source_label import PackLinks

FORMATS: Sequence[Format] = tuple(name for name in Format if name is not Format.TEMPLATE)
"""The names of all formats except templates, whose output cannot be parsed."""


def load_format(name: Format) -> PackFormat:
    """Import the module of the format with this name, one of FORMATS, and return the format."""
    pack_format = import_module(f"excerpt.pack.formats.{name}_format").FORMAT
    assert isinstance(pack_format, PackFormat)
    return pack_format


def renderer_for(
    settings: PackSettings, questions: Sequence[str], links: PackLinks, folder: Path, notice: str = ""
) -> Renderer:
    """Return the renderer of the format in `settings`, with the `questions` if the settings ask for them.

    `notice` is a sentence for the first line, "" for none. A template always gets the questions and `links`; its path
    may be relative to `folder`. Raises SettingsError if the template cannot be read.
    """
    texts = tuple(question for question in questions if question.strip())
    if settings.format is Format.TEMPLATE:
        from excerpt.pack.formats.template_format import TemplateRenderer, read_template

        if not settings.template:
            raise SettingsError(
                "The format `template` needs a file.",
                "Name the file with --template FILE, or in the setting pack.template.",
            )
        file = folder / Path(settings.template).expanduser()
        return TemplateRenderer(str(file), read_template(file), links, settings.budget, texts, notice)
    return load_format(settings.format).make_renderer(texts if settings.question else (), notice)


def render_output(result: PackResult, links: PackLinks) -> str:
    """Return the packs as they are copied, printed or saved: as text, or as JSON data in that format."""
    pack_format = load_format(result.format) if result.format in FORMATS else None
    return (
        result.text
        if pack_format is None or pack_format.render_data is None
        else pack_format.render_data(result, links)
    )


def locate_passages(result: PackResult, text: str) -> Sequence[int | None]:
    """Return where in `text`, the output of a pack, the text of each passage begins.

    None for a passage that a template leaves out or writes in another way than the note.
    """
    starts: list[int | None] = []
    end = 0
    for passage in result.passages:
        written = passage.text
        if result.format is Format.JSON:
            written = f'"text": {json.dumps(passage.text, ensure_ascii=False)}'
        elif result.format in FORMATS:
            written = load_format(result.format).make_renderer((), "").escape(passage.text)
        start = text.find(written, end)
        starts.append(start if start >= 0 else None)
        end = start + len(written) if start >= 0 else end
    return starts


def read_pack(text: str) -> PackFile:
    """Parse a pack in any format except templates. Raises UnreadablePackError."""
    from excerpt.text.markdown import normalise_newlines

    text = normalise_newlines(text.removeprefix("\ufeff"))
    matching = (
        each for each in map(load_format, FORMATS) if each.file_prefix and text.lstrip().startswith(each.file_prefix)
    )
    pack = next(matching, load_format(Format.MARKDOWN)).parse(text)
    if not pack.sources:
        raise UnreadablePackError("The pack has no source, so nothing can be checked.")
    twice = [number for number, count in Counter(source.number for source in pack.sources).items() if count > 1]
    if twice:
        raise UnreadablePackError(f"Two sources of the pack have the same number [{twice[0]}].")
    return pack
