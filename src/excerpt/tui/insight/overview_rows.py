"""An overview as lines: what each shows, where it leads, what a search for it asks; and which of them fit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

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
    Timeline,
)
from excerpt.text.counted import counted

Item = MainNote | KeySection | KeyPassage | Theme | Standout | RelatedNote | LinkedName | Timeline | Month


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the part it belongs to, what it shows, and where that stands. `of_highest` is its share beside the
    highest of its part, 0 to 1, where it has one. `hidden` is how many more its part has that are not shown."""

    part: str
    item: Item
    place: Place
    of_highest: float = 0.0
    hidden: int = 0
    opens: bool = False
    """Whether it is the first of its part."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines of one kind, of which `least` are shown before any other part has more than that."""

    name: str
    items: tuple[tuple[Item, Place], ...]
    least: int
    in_time: bool = False


def rows_of(overview: Overview, room: int | None = None, unfolded: Collection[str] = ()) -> tuple[Row, ...]:
    """The lines of an overview, all of them or as many as fit into `room` lines: one of each part, then a few of each,
    then in turn one more while there is room. Of the parts `unfolded` all, beside that."""
    parts = [part for part in _parts(overview) if part.items]
    if room is None:
        taken = [len(part.items) for part in parts]
    else:
        taken = [1] * len(parts)
        for most in ([part.least for part in parts], [len(part.items) for part in parts]):
            _fill(taken, [min(one, len(part.items)) for one, part in zip(most, parts, strict=True)], room)
    counts = [len(part.items) if part.name in unfolded else count for part, count in zip(parts, taken, strict=True)]
    return tuple(row for part, count in zip(parts, counts, strict=True) for row in _rows(part, count))


def _fill(taken: list[int], most: Sequence[int], room: int) -> None:
    """Give each in turn one more, up to `most` of each and `room` of all."""
    while sum(taken) < room and any(one < other for one, other in zip(taken, most, strict=True)):
        for number, limit in enumerate(most):
            if taken[number] < limit and sum(taken) < room:
                taken[number] += 1


def _rows(part: _Part, count: int) -> Iterator[Row]:
    highest = max((_size(item) for item, _ in part.items), default=0.0) or 1.0
    shown = part.items[:count]
    if not part.in_time:  # those of most worth, longest bar first
        shown = tuple(sorted(shown, key=lambda one: -_size(one[0])))
    for number, (item, place) in enumerate(shown):
        hidden = len(part.items) - count if number == count - 1 else 0
        yield Row(part.name, item, place, _size(item) / highest, hidden, opens=number == 0)


def _size(item: Item) -> float:
    """What an item's bar is as long as."""
    if isinstance(item, MainNote | Theme):
        return item.share
    return float(item.notes) if isinstance(item, Month) else 0.0


def _parts(overview: Overview) -> tuple[_Part, ...]:
    dates = overview.timeline
    # The newest month stands for the whole line.
    months: list[tuple[Item, Place]] = [(month, month.place) for month in reversed(dates.months)]
    when: list[tuple[Item, Place]] = [(dates, dates.months[-1].place), *months] if months else []
    return (
        _Part("main notes", tuple((one, one.place) for one in overview.main_notes), 5),
        _Part("sections", tuple((one, one.place) for one in overview.sections), 3),
        _Part("passages", tuple((one, one.place) for one in overview.passages), 3),
        _Part("themes", tuple((one, one.place) for one in overview.themes), 3),
        _Part("stands out", tuple((one, one.place) for one in overview.standouts), 2),
        _Part("related", tuple((one, one.place) for one in overview.related), 2),
        _Part("names", tuple((one, one.place) for one in overview.names), 1),
        _Part("when", tuple(when), 1, in_time=True),
    )


# --- words ------------------------------------------------------------------------------------------------------------


def headline(overview: Overview) -> str:
    """How much of the vault is about the topic."""
    return f"{counted(overview.fragments, 'fragment')} in {overview.notes:,} of {overview.vault_notes:,} notes"


def below_title(place: Place) -> str:
    """The headings a place stands under, without the note's own title before them."""
    path = place.heading_path
    return " › ".join(path[1:] if path[:1] == (place.title,) else path)


def label(one: Standout) -> str:
    """A tag, folder or property's value as it is written."""
    shown = {LabelKind.TAG: f"#{one.value}", LabelKind.FOLDER: f"{one.value}/"}
    return shown.get(one.kind, f"{one.name}: {one.value}")


def span_of(dates: Timeline) -> str:
    """From which month to which, and by which date."""
    first, last = dates.months[0].month, dates.months[-1].month
    return f"{first} – {last}" if first != last else first


def counts_by_time(dates: Timeline, most: int) -> list[int]:
    """The notes of each month from the first to the last, those without any too; of so many together that there are at
    most `most` counts, the last of which ends with the last month."""
    notes = {_month_number(month.month): month.notes for month in dates.months}
    first, last = min(notes), max(notes)
    step = -(-(last - first + 1) // max(most, 1))
    begin = last - (-(-(last - first + 1) // step)) * step + 1
    return [sum(notes.get(at, 0) for at in range(start, start + step)) for start in range(begin, last + 1, step)]


def _month_number(month: str) -> int:
    year, number = month.split("-")
    return int(year) * 12 + int(number) - 1


# --- searches ---------------------------------------------------------------------------------------------------------


def search_for(row: Row, overview: Overview) -> tuple[str, tuple[str, ...]]:
    """The query, and the filters to be put into it, that find what a line shows."""
    item, topic, date = row.item, overview.topic, overview.timeline.date
    filters: tuple[str, ...]
    match item:
        case Theme():
            return f"{topic} {' '.join(item.words)}", ()
        case LinkedName(path=None):
            # A quotation mark would end the phrase.
            words = item.name if '"' in item.name else _quoted(item.name)
            return f"{topic} {words}", ()
        case LinkedName():
            filters = (f"link:{_quoted((item.path or item.name).removesuffix('.md'))}",)
        case Standout():
            filters = (item.filter,) if item.filter else ()
        case Timeline():
            filters = (_in_time(date, item.months[0].month, item.months[-1].month),)
        case Month():
            filters = (_in_time(date, item.month, item.month),)
        case _:
            filters = (f"path:{_quoted('/' + row.place.path)}",)
    if isinstance(item, KeySection) and row.place.heading_path:
        filters = (*filters, f"heading:{_quoted(row.place.heading_path[-1])}")
    return topic, filters


def _in_time(date: str, first: str, last: str) -> str:
    name = _quoted(date) if any(sign.isspace() or sign in '":' for sign in date) else date
    return f"{name}:{first}..{last}"


def _quoted(value: str) -> str:
    """In quotation marks, of which one within is written twice."""
    return '"' + value.replace('"', '""') + '"'


def first_rows(rows: Sequence[Row]) -> list[int]:
    """Where the parts begin."""
    return [next(numbers)[0] for _, numbers in groupby(enumerate(rows), key=lambda pair: pair[1].part)]
