"""An overview as Markdown within its budget, ready to be pasted: every line of it names a note.

What does not fit falls away from the end of this order: names, timeline, related notes, what stands out, themes,
sections, passages, main notes. First each part is given a little, in that order from its beginning, then each what is
left. The tokens are those of the whole text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from excerpt.insight.overview_parts import (
    KeyPassage,
    KeySection,
    LabelKind,
    LinkedName,
    MainNote,
    Month,
    Overview,
    Place,
    RelatedNote,
    Standout,
    Theme,
)
from excerpt.text.tokens import open_tokenizer
from excerpt.text.visible import visible_line

_MOST_MONTHS = 6
_JOINED = " › "


@dataclass(frozen=True, slots=True)
class _Part:
    """A heading and lines under it, best first; `least` of them go in before any other part gets more."""

    heading: str
    lines: tuple[str, ...]
    least: int


def as_markdown(overview: Overview) -> str:
    """The overview within its budget of its tokenizer's tokens; "" where not even the first line fits, or nothing was
    found."""
    count = open_tokenizer(overview.tokenizer).count
    parts = _parts(overview)
    taken = [0] * len(parts)
    text = ""
    if not overview.found:
        return text
    for most in ([part.least for part in parts], [len(part.lines) for part in parts]):
        for number, part in enumerate(parts):
            while taken[number] < min(most[number], len(part.lines)):
                taken[number] += 1
                longer = _text(overview, parts, taken)
                if count(longer) > overview.budget:
                    taken[number] -= 1
                    break
                text = longer
    return text


def _text(overview: Overview, parts: Sequence[_Part], taken: Sequence[int]) -> str:
    blocks = [_title(overview)]
    for part, lines in zip(parts, taken, strict=True):
        if lines:
            blocks.append("\n".join((f"## {part.heading}", "", *part.lines[:lines])))
    return "\n\n".join(blocks) + "\n"


def _title(overview: Overview) -> str:
    topic = visible_line(" ".join(overview.topic.split()))
    return (
        f"# Overview: {topic}\n\n{overview.fragments:,} of {overview.vault_fragments:,} passages, in"
        f" {overview.notes:,} of {overview.vault_notes:,} notes"
    )


def _parts(overview: Overview) -> list[_Part]:
    dates = overview.timeline
    return [
        _Part("Main notes", tuple(map(_main_note, overview.main_notes)), 3),
        _Part("Key passages", tuple(map(_passage, overview.passages)), 3),
        _Part("Sections that matter", tuple(map(_section, overview.sections)), 3),
        _Part("Themes", tuple(map(_theme, overview.themes)), 3),
        _Part("Stands out here", tuple(map(_standout, overview.standouts)), 2),
        _Part("Related notes", tuple(map(_related, overview.related)), 2),
        _Part(f"When ({visible_line(dates.date)})", _timeline(dates.months), 2),
        _Part("Also named", tuple(map(_name, overview.names)), 2),
    ]


# --- lines ------------------------------------------------------------------------------------------------------------


def _main_note(note: MainNote) -> str:
    share = f"{note.share * 100:.0f} % ({note.fragments} of its {note.of} passages)"
    return f"- {_named(note.place)}: {share} `{_path(note.place)}`"


def _passage(passage: KeyPassage) -> str:
    before, after = "… " if passage.cut_before else "", " …" if passage.cut_after else ""
    return f"> {before}{visible_line(passage.text)}{after}\n> — `{_lines(passage.place)}`\n"


def _section(section: KeySection) -> str:
    below = _below(section.place)
    return f"- {below} `{_lines(section.place)}`"


def _theme(theme: Theme) -> str:
    words = ", ".join(map(visible_line, theme.words))
    return f"- **{words}**: {_counted(theme.fragments, 'passage')}, as `{_lines(theme.place)}`"


def _standout(one: Standout) -> str:
    shown = {LabelKind.TAG: f"#{one.value}", LabelKind.FOLDER: f"{one.value}/"}
    label = visible_line(shown.get(one.kind, f"{one.name}: {one.value}"))
    return f"- {label}: {one.here} of {one.here_of} notes here, {one.overall} in all, as `{_path(one.place)}`"


def _related(note: RelatedNote) -> str:
    to, by = len(note.links_to), len(note.linked_from)
    said = [f"links to {to}"] * bool(to) + [f"linked from {by}"] * bool(by)
    return f"- {_named(note.place)}: {', '.join(said)} of them `{_path(note.place)}`"


def _name(name: LinkedName) -> str:
    return f"- {visible_line(name.name)}: {_counted(name.notes, 'note')}, first `{_lines(name.place)}`"


def _timeline(months: Sequence[Month]) -> tuple[str, ...]:
    """A line a month, or a year where there are many, the newest first."""
    if len(months) <= _MOST_MONTHS:
        return tuple(_dated(month.month, month.notes, month.place) for month in reversed(months))
    years: Counter[str] = Counter()
    best: dict[str, Month] = {}
    for month in months:
        year = month.month[:4]
        years[year] += month.notes
        if year not in best or month.notes >= best[year].notes:
            best[year] = month
    return tuple(
        _dated(f"{year} (most in {best[year].month})", years[year], best[year].place) for year in reversed(list(best))
    )


def _dated(when: str, notes: int, place: Place) -> str:
    return f"- {when}: {_counted(notes, 'note')}, as `{_path(place)}`"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _named(place: Place) -> str:
    return f"**{visible_line(place.title)}**"


def _below(place: Place) -> str:
    path = place.heading_path
    return visible_line(_JOINED.join(path[1:] if path[:1] == (place.title,) else path))


def _path(place: Place) -> str:
    return visible_line(place.path)


def _lines(place: Place) -> str:
    lines = f"{place.line_start}" if place.line_start == place.line_end else f"{place.line_start}-{place.line_end}"
    return f"{_path(place)}:{lines}"
