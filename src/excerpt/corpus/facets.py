"""The data that notes are filtered by: tags, properties, times, names and links, as arrays of note numbers.

A note's number is its position in the paths of the fragment table. Each part is read on first use and cached; for
10,000 notes that takes well under 0.2 s.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from excerpt.base.kinds import Dialect
from excerpt.corpus.links import ID_SCHEME, LinkResolver
from excerpt.corpus.queries import LABEL_SEPARATOR, REPLACES, TARGET_SEPARATOR, FacetQueries
from excerpt.corpus.replaced import ReplacedNote, ReplacementRow, find_numbered_note, resolve_replacements
from excerpt.corpus.tables import sorted_unique
from excerpt.text.dates import Period, parse_date, parse_date_name, parse_date_span, parse_formatted_date
from excerpt.text.folding import fold

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_PropertyValues = Mapping[str, list[tuple[str, Ints]]]
"""(Folded value, note numbers) by names of properties without hyphens."""

NO_NOTES: Ints = np.zeros(0, np.int32)
UNKNOWN_DAY = np.iinfo(np.int64).min
"""Value of `Facets.created` for a note whose creation date is unknown."""

EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
"""The proleptic Gregorian ordinal of the day 0."""

_SECOND_NS = 1_000_000_000
BULK_SHARE = 0.9
BULK_SPAN_NS = 3600 * _SECOND_NS
"""More than BULK_SHARE of the notes, if they were modified within BULK_SPAN_NS, may be a copy (`is_copied`)."""
MAX_COPY_GAP_NS = 5 * _SECOND_NS
"""Maximum mean time between two files of a copy: nobody writes ten notes faster."""
MIN_COPIED_NOTES = 10
"""Number of notes from which their pace alone tells a copy; fewer need a date of their own that is before it."""
# Names of properties that hold a date of a note, the most trusted first, without hyphens and underscores.
_DATE_PROPERTIES = ("date", "datum", "fecha", "日期")
_CREATION_PROPERTIES = (
    *("created", "createdat", "createdon", "datecreated", "createddate", "creationdate", "createtime", "creationtime"),
    *("ctime", "birthtime", *_DATE_PROPERTIES, "创建时间", "创建日期", "作成日"),
)


# Properties that hold the day of a note's last change, the most trusted first.
_CHANGE_PROPERTIES = (
    *("modified", "updated", "lastmodified", "lastupdated", "lastmod", "lastchanged", "datemodified", "dateupdated"),
    *(
        "modifiedat",
        "updatedat",
        "modifiedon",
        "updatedon",
        "modifieddate",
        "updateddate",
        "updatetime",
        "modifiedtime",
    ),
    *("updatedtime", "mtime", "changed", "edited", "ms.date", "geandert", "aktualisiert", "modifie", "actualizado"),
    *("更新时间", "修改时间", "更新日期", "更新日", "修改日期"),
)
_DAY_PROPERTIES = frozenset((*_CREATION_PROPERTIES, *_CHANGE_PROPERTIES))
_FIRST_CHANGE_DAY = 0
"""The first day, since 1970, that a date in a name, a heading or the property `date` can be of a change."""


def flag_bulk(modified_ns: Times) -> Flags:
    """Return a flag per time: whether it lies in a span of BULK_SPAN_NS that has more than BULK_SHARE of all times."""
    times = np.sort(modified_ns)
    counts = np.searchsorted(times, times + BULK_SPAN_NS, side="right") - np.arange(len(times))
    if counts.max(initial=0) <= BULK_SHARE * len(times):
        return np.zeros(len(times), np.bool_)
    first = int(times[counts.argmax()])
    flags: Flags = (modified_ns >= first) & (modified_ns <= first + BULK_SPAN_NS)
    return flags


def property_name(name: str) -> str:
    """Return a property's name as filters compare it: without case and accents, hyphens in place of spaces."""
    return "-".join(fold(name).split())


def _name_without_hyphens(name: str) -> str:
    """Return a property's name as `_CREATION_PROPERTIES` has it, without hyphens and underscores."""
    return name.replace("-", "").replace("_", "")


class NumberedNotes(Struct, frozen=True):
    """All notes of one generation (a committed state of the index), in the order of their note numbers.

    Item i of each field belongs to note i. `paths` are sorted, `catalog_numbers` are the notes' row ids in the
    catalog, and `first_fragment_keys` are the keys of their first fragments, -1 for a note without fragments. A note
    for which all three values are the same in two generations is unchanged.
    """

    paths: tuple[str, ...]
    catalog_numbers: npt.NDArray[np.int64]
    first_fragment_keys: npt.NDArray[np.int64]

    def changed_since(self, before: NumberedNotes) -> Ints | None:
        """Return the numbers of the notes that may have changed since `before`, the notes of an older generation.

        Returns None if notes were added, removed or renamed: then the numbers of the two do not match.
        """
        if before is self:
            return NO_NOTES
        if self.paths != before.paths:
            return None
        is_same = (
            (self.catalog_numbers == before.catalog_numbers)
            & (self.first_fragment_keys == before.first_fragment_keys)
            & (self.first_fragment_keys >= 0)
        )
        return np.flatnonzero(~is_same).astype(np.int32)


class CachedLinks(Struct, frozen=True):
    """The links between the notes of a generation, as arrays of source and of target note numbers.

    `depends_on_contents`: a link leads to an id or the name of a page, so that a changed note may change the target of
    another note's link.
    """

    notes: NumberedNotes
    links: tuple[Ints, Ints]
    depends_on_contents: bool = False


class StoredLinks(Protocol):
    """Where an index keeps its links for the next process."""

    def load(self, notes: NumberedNotes) -> CachedLinks | None:
        """Return the stored links: those of `notes`, or of an older generation; None if there are none."""
        ...

    def save(self, links: CachedLinks) -> None:
        """Replace the stored links."""
        ...


class HeadingDates(Struct, frozen=True):
    """The sections with a date in their heading, outer before inner ones.

    Item i of each field belongs to section i: its note number, its first and last line, and its day since 1970.
    """

    notes: Ints
    first_lines: npt.NDArray[np.int64]
    last_lines: npt.NDArray[np.int64]
    days: Times


class NoteLink(NamedTuple):
    """A link as it is written in the note number `note`: its line, its target without `#anchor`, and its shown text.

    A tuple, because thousands of links are created at once.
    """

    note: int
    line: int
    target: str
    text: str


class Label(NamedTuple):
    """A tag of the note number `note`, or a value of its property `name`; a tag has the name ""."""

    note: int
    is_tag: bool
    name: str
    value: str


class Facets:
    """Data by which notes of a snapshot are filtered. Folded names are without case, accents and full-width forms."""

    def __init__(
        self,
        queries: FacetQueries,
        notes: NumberedNotes,
        before: CachedLinks | None = None,
        daily_notes: str = "",
        dialect: Dialect = Dialect.MARKDOWN,
        *,
        stored_links: StoredLinks | None = None,
    ) -> None:
        """Create facets that are read on first use; with `before`, only the links of changed notes are read.

        `before` has the links of an older generation; else those of `stored_links` are used. `daily_notes` is the date
        format of the paths of daily notes, without suffix; "" if the vault defines no format. `dialect` is the Markdown
        dialect of the vault.
        """
        self._daily_notes = daily_notes
        self._dialect = dialect
        self.queries = queries
        self._notes = notes
        self._paths = notes.paths
        self._older_links = before
        self._stored_links = stored_links
        self._link_targets_depend_on_contents = dialect is Dialect.LOGSEQ
        self._targets_by_source: dict[int, Ints] = {}
        self._change_day_by_note: dict[int, int] = {}

    @cached_property
    def modified(self) -> Times:
        """Modification time of each note's file, in nanoseconds since 1970, by note number."""
        times = np.zeros(len(self._paths), np.int64)
        for note, changed in self.queries.modified():
            times[self._note_numbers[note]] = changed
        return times

    @cached_property
    def is_copied(self) -> Flags:
        """Whether the time of each note's file was set by a copy (`cp`, `git clone`), and so does not date the note.

        After a copy, nearly all files have times that follow each other faster than anybody writes notes. If the notes
        are few, a program may have written them: then a note must also have a date of its own before that time.
        """
        is_bulk = flag_bulk(self.modified)
        times = self.modified[is_bulk]
        if len(times) < 2 or np.ptp(times) > MAX_COPY_GAP_NS * (len(times) - 1):
            return np.zeros(len(is_bulk), np.bool_)
        if len(times) < MIN_COPIED_NOTES:
            own_days = self.created.copy()
            self._set_days_from_properties(own_days, _CHANGE_PROPERTIES)
            first_day = int(times.min()) // (86_400 * _SECOND_NS)
            # With a day for time zones.
            if not ((own_days >= _FIRST_CHANGE_DAY) & (own_days < first_day - 1))[is_bulk].any():
                return np.zeros(len(is_bulk), np.bool_)
        return is_bulk

    @cached_property
    def change_days(self) -> Times:
        """Day of each note's last change as written in the note, in days since 1970, or UNKNOWN_DAY.

        The day is read from a property (`updated` and the like, or `date`), else from the path, else from the headings
        that are a day, as in a log. In `date`, the path and the headings, a day after the file's own time is a plan,
        not a change. If the file has been copied, a property of creation counts too.
        """
        return self._read_change_days(None)

    def change_day(self, note: int) -> int:
        """Return the day of one note's last change, as in `change_days`, without reading the other notes."""
        if "change_days" in self.__dict__:
            return int(self.change_days[note])
        if note not in self._change_day_by_note:
            self._change_day_by_note[note] = int(self._read_change_days(np.array([note], np.int32))[note])
        return self._change_day_by_note[note]

    def _read_change_days(self, notes: Ints | None) -> Times:
        """Return `change_days`; with `notes`, only theirs are read, and those of others are without meaning."""
        latest = self._latest_change_days
        days = np.full(len(self._paths), UNKNOWN_DAY, np.int64)
        values = None if notes is None else self._property_values_of(notes)
        if self.is_copied.any():
            self._set_days_from_properties(days, _CREATION_PROPERTIES, values)
            days[(days < _FIRST_CHANGE_DAY) | (days > latest) | ~self.is_copied] = UNKNOWN_DAY
        for note, heading, _, _ in self.queries.year_headings(None if notes is None else self._catalog_numbers(notes)):
            number = self._note_numbers[note]
            self._set_possible_day(days, number, _to_epoch_day(parse_date_name(heading)), latest, is_later=True)
        for number in range(len(days)) if notes is None else notes.tolist():
            span = _parse_days_in_path(self._paths[number], self._daily_notes)
            self._set_possible_day(days, number, _to_epoch_day(span[1] if span else None), latest)
        dated = np.full(len(days), UNKNOWN_DAY, np.int64)
        self._set_days_from_properties(dated, _DATE_PROPERTIES, values)
        is_possible = (dated >= _FIRST_CHANGE_DAY) & (dated <= latest)
        days[is_possible] = dated[is_possible]
        self._set_days_from_properties(days, _CHANGE_PROPERTIES, values)
        return days

    @cached_property
    def _latest_change_days(self) -> Times:
        """Latest possible day of each note's last change: the day of its file's time, plus one for time zones."""
        times = np.where(self.is_copied, self.modified.max(initial=0), self.modified)
        return times // (86_400 * _SECOND_NS) + 1

    @staticmethod
    def _set_possible_day(days: Times, number: int, day: int, latest: Times, *, is_later: bool = False) -> None:
        """Set the day of a note in `days` if the note can have changed on it; with `is_later`, only to a later day."""
        if _FIRST_CHANGE_DAY <= day <= latest[number] and not (is_later and days[number] > day):
            days[number] = day

    @cached_property
    def created(self) -> Times:
        """Day when each note was created, in days since 1970, or UNKNOWN_DAY, by note number.

        The day is read from a property (`created`, `date` and the like), or else from a date in the file name.
        """
        return self._read_created(None)

    def _read_created(self, notes: Ints | None) -> Times:
        """Return `created`; with `notes`, only theirs are read, and those of others are UNKNOWN_DAY."""
        days = np.full(len(self._paths), UNKNOWN_DAY, np.int64)
        for number in range(len(days)) if notes is None else notes.tolist():
            days[number] = _parse_day(posixpath.basename(self._paths[number]))
        values = None if notes is None else self._property_values_of(notes)
        self._set_days_from_properties(days, _CREATION_PROPERTIES, values)
        return days

    @cached_property
    def dates(self) -> Times:
        """Day that each note is about, in days since 1970, or UNKNOWN_DAY, by note number.

        The day is read from the property `date`, from the path, from a title or alias, or else from a property such as
        `created`. The times of files are never used. For a note about a week, month or quarter, it is the first day.
        """
        return self._date_spans[0]

    @cached_property
    def last_day_by_note(self) -> Times:
        """Last day that each note is about: the Sunday for `2024-W18.md`; as in `dates` for a note about one day."""
        return self._date_spans[1]

    @cached_property
    def _date_spans(self) -> tuple[Times, Times]:
        days = np.full(len(self._paths), UNKNOWN_DAY, np.int64)
        self._set_days_from_properties(days, _CREATION_PROPERTIES)
        last = days.copy()
        spans = [(note, parse_date_span(title)) for title, note in reversed(self.titles_as_written())]
        spans += [(note, _parse_days_in_path(path, self._daily_notes)) for note, path in enumerate(self._paths)]
        for note, span in spans:
            if span is not None:
                days[note], last[note] = map(_to_epoch_day, span)
        dated = np.full(len(days), UNKNOWN_DAY, np.int64)
        self._set_days_from_properties(dated, _DATE_PROPERTIES)
        is_dated = dated != UNKNOWN_DAY
        return np.where(is_dated, dated, days), np.where(is_dated, dated, last)

    @cached_property
    def heading_dates(self) -> HeadingDates:
        """The sections whose heading has a date, as in a log of many days; read on first use."""
        sections = [
            (self._note_numbers[note], first, last, day)
            for note, heading, first, last in self.queries.year_headings()
            if (day := _parse_day(heading)) != UNKNOWN_DAY
        ]
        columns = np.array(sections, np.int64).reshape(-1, 4).T
        return HeadingDates(columns[0].astype(np.int32), columns[1], columns[2], columns[3])

    def _set_days_from_properties(
        self, days: Times, names: Sequence[str], values: _PropertyValues | None = None
    ) -> None:
        """Set the day of each note that has one in a property; the first of `names` takes precedence.

        Of several values of a property, the latest day counts. With `values`, only these are looked at.
        """
        values = self._property_values(names) if values is None else values
        for name in filter(values.__contains__, reversed(names)):
            latest = np.full(len(days), UNKNOWN_DAY, np.int64)
            for value, numbers in values[name]:
                latest[numbers] = np.maximum(latest[numbers], _parse_day(value))
            is_known = latest != UNKNOWN_DAY
            days[is_known] = latest[is_known]

    def _property_values(self, names: Sequence[str]) -> _PropertyValues:
        """Return (folded value, note numbers) of each of the properties `names`, which have no hyphens."""
        values: dict[str, list[tuple[str, Ints]]] = {}
        for name in self.properties:
            if (joined := _name_without_hyphens(name)) in names:
                values.setdefault(joined, []).extend(self.properties[name].items())
        return values

    def _property_values_of(self, notes: Ints) -> _PropertyValues:
        """Return the values that `_property_values` would return of all properties with days, of some notes."""
        values: dict[str, list[tuple[str, Ints]]] = {}
        for label in self.tags_and_properties(notes):
            if not label.is_tag and (joined := _name_without_hyphens(property_name(label.name))) in _DAY_PROPERTIES:
                value = _fold_value(label.value), np.array([label.note], np.int32)
                values.setdefault(joined, []).append(value)
        return values

    def creation_dates(self, notes: Sequence[int]) -> list[date | None]:
        """Return the day when each of the notes with these numbers was created, as in `created`; None if unknown.

        The properties of the other notes are not read.
        """
        numbers = np.array(notes, np.int32)
        created = self.created if "created" in self.__dict__ else self._read_created(numbers)
        days = created[numbers].tolist()
        return [None if day == UNKNOWN_DAY else date.fromordinal(day + EPOCH_ORDINAL) for day in days]

    @cached_property
    def tags(self) -> Mapping[str, Ints]:
        """Note numbers of each folded tag; the notes of tag `a/b` are also listed under `a`. Read on first use."""
        # Not a method of this object: a reference cycle would keep it until the next garbage collection.
        return LazyMapping(partial(_read_tags, self.queries, self._note_numbers))

    @cached_property
    def properties(self) -> Mapping[str, Mapping[str, Ints]]:
        """Note numbers by property name (`property_name`) and folded value; values are read on first use."""
        return Properties(self.queries, self._note_numbers)

    @cached_property
    def kinds(self) -> Mapping[str, Ints]:
        """Note numbers of each kind: "note", or the kind of an attachment such as "pdf"."""
        return _group_by_name([(kind or "note", self._note_numbers[note]) for note, kind in self.queries.kinds()])

    def fragment_places(self) -> list[tuple[int, str]]:
        """Return the key and the location ("Page 3") of every fragment of an attachment that has a location."""
        return self.queries.fragment_places()

    @cached_property
    def names(self) -> Mapping[str, Ints]:
        """Note numbers of each folded title, file name and alias."""
        return _read_names(self.queries, self._note_numbers)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Folded path of every note with a slash before it, by note number."""
        return tuple(fold(f"/{path}") for path in self._paths)

    @cached_property
    def targets(self) -> LinkResolver:
        """Finds the note that the target of a link means."""
        names = self._page_names() if self._dialect is Dialect.LOGSEQ else ()
        # Not a method of this object: a reference cycle would keep it until the next garbage collection.
        return LinkResolver(
            self._paths, names, partial(_read_identifiers, self.queries, self._note_numbers, self._paths)
        )

    def _page_names(self) -> Iterator[tuple[str, str]]:
        """Yield (name, path) of the pages and blocks of a Logseq graph; if a name occurs twice, the first pair counts.

        Pages are named by title, alias, file name and, in the journal, by their day.
        """
        for number, path in enumerate(self._paths):
            stem = posixpath.splitext(posixpath.basename(path))[0]
            yield stem.replace("___", "/"), path
            if (day := parse_date(stem)) is not None and posixpath.dirname(path) in ("journals", ""):
                yield day.isoformat(), self._paths[number]
        for name, number in self.titles_as_written():
            yield name, self._paths[number]
        yield from _read_identifiers(self.queries, self._note_numbers, self._paths)

    @cached_property
    def replaced(self) -> Mapping[int, ReplacedNote]:
        """The notes that are replaced, by number: what replaces them, and the words that say so."""
        rows = [
            ReplacementRow(self._note_numbers[note], target, words, day, kind == REPLACES)
            for kind, words, value, note in self.queries.replacements()
            for target, _, day in [value.partition(LABEL_SEPARATOR)]
        ]
        # The names of all notes would take half a second to read in a vault of 100,000, and a first query waits.
        targets = frozenset(_fold_value(row.target) for row in rows)
        names = LazyMapping(partial(_read_names, self.queries, self._note_numbers, targets))
        return resolve_replacements(rows, partial(self._find_named_note, names)) if rows else {}

    def _find_named_note(self, names: Mapping[str, Ints], target: str, note: int) -> int:
        """Return the number of the note that a target means in a note, by link, name or number; -1 if none does."""
        number = self.resolve_target(target, note)
        if number < 0:
            number = find_numbered_note(target, self._paths[note], self._paths)
        if number < 0 and len(named := names.get(_fold_value(target), NO_NOTES)) == 1:
            number = int(named[0])
        return number

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Note number of each path."""
        return {path: number for number, path in enumerate(self._paths)}

    @cached_property
    def links(self) -> tuple[Ints, Ints]:
        """Links between notes, as two arrays of note numbers: sources and targets.

        Each pair occurs once, in ascending order. Links of a note to itself are left out.
        """
        is_current, before, self._older_links = self._are_links_stored, self._older_links, None
        if before is not None and is_current:
            self._link_targets_depend_on_contents |= before.depends_on_contents
            return before.links
        changed = self._notes.changed_since(before.notes) if before is not None else None
        if before is None or changed is None or len(changed) > len(self._paths) // 2 or before.depends_on_contents:
            links = self._resolve_link_rows(self.queries.link_targets())
        else:
            links = self._update_links(before.links, changed)
        if self._stored_links is not None:
            self._stored_links.save(CachedLinks(self._notes, links, self._link_targets_depend_on_contents))
        return links

    @cached_property
    def _are_links_stored(self) -> bool:
        """Whether the links of these notes are known from before, so that none has to be resolved."""
        if self._older_links is None and self._stored_links is not None:
            self._older_links = self._stored_links.load(self._notes)
        if self._older_links is None:
            return False
        changed = self._notes.changed_since(self._older_links.notes)
        return changed is not None and not len(changed)

    def _update_links(self, before: tuple[Ints, Ints], changed: Ints) -> tuple[Ints, Ints]:
        """Return `links`, given those of an older generation with the same notes, of which some have changed."""
        # No note was added or removed, so every other link still has the same target.
        sources, targets = before
        is_kept = ~np.isin(sources, changed)
        new_sources, new_targets = self._resolve_link_rows(self._link_targets(changed))
        sources, targets = np.append(sources[is_kept], new_sources), np.append(targets[is_kept], new_targets)
        order = np.lexsort((targets, sources))
        return sources[order], targets[order]

    @property
    def cached_links(self) -> CachedLinks | None:
        """The links to reuse in the next generation; None if no links have been read yet."""
        if "links" not in self.__dict__:
            return self._older_links
        return CachedLinks(self._notes, self.links, self._link_targets_depend_on_contents)

    def links_from(self, notes: Ints) -> tuple[Ints, Ints]:
        """Return the links out of some notes, as arrays of source and of target note numbers.

        Only the links of these notes are read. If all links of the vault have been read already, all are returned.
        """
        if "links" in self.__dict__ or self._are_links_stored:
            return self.links
        unique_notes = sorted_unique(notes)
        missing = np.array([note for note in unique_notes.tolist() if note not in self._targets_by_source], np.int32)
        if len(missing):
            sources, targets = self._resolve_link_rows(self._link_targets(missing))
            ends = np.searchsorted(sources, missing, side="right").tolist()
            for note, begin, end in zip(missing.tolist(), [0, *ends], ends, strict=False):
                self._targets_by_source[note] = targets[begin:end]
        known = [self._targets_by_source[note] for note in unique_notes.tolist()]
        return np.repeat(unique_notes, [len(note_targets) for note_targets in known]), np.concatenate(
            [np.zeros(0, np.int32), *known]
        )

    def _link_targets(self, notes: Ints) -> list[tuple[int, str]]:
        return self.queries.link_targets(self._notes.catalog_numbers[notes].tolist())

    def _resolve_link_rows(self, rows: Iterable[tuple[int, str]]) -> tuple[Ints, Ints]:
        """Return link rows (catalog number of a note, its joined targets) as arrays of source and target numbers.

        The targets of a note are one string, joined by TARGET_SEPARATOR.
        """
        known: dict[tuple[str, str], int] = {}
        pairs: set[int] = set()
        for note, targets in rows:
            source = self._note_numbers[note]
            base = source * len(self._paths)
            pairs.update(
                base + target
                for target in self._resolve_targets(source, targets.split(TARGET_SEPARATOR), known)
                if target not in (-1, source)
            )
        pair_keys = np.array(sorted(pairs), np.int64)
        return (pair_keys // max(len(self._paths), 1)).astype(np.int32), (pair_keys % max(len(self._paths), 1)).astype(
            np.int32
        )

    def _resolve_targets(self, source: int, targets: Iterable[str], known: dict[tuple[str, str], int]) -> set[int]:
        """Return the numbers of the notes that `targets` in the note `source` lead to, -1 for targets without a note.

        `known` caches the number by (folder, target): the folder of the source alone decides, and most targets are
        written many times.
        """
        path = self._paths[source]
        folder = posixpath.dirname(path)
        numbers: set[int] = set()
        for target in set(targets):
            number = known.get((folder, target))
            if number is None:
                bare, _, label = target.partition(LABEL_SEPARATOR)
                self._link_targets_depend_on_contents |= bare.startswith(ID_SCHEME)
                number = known[folder, target] = self._resolve_in_folder(bare, path, folder, label)
            numbers.add(number)
        return numbers

    def _resolve_in_folder(self, target: str, path: str, folder: str, label: str = "") -> int:
        """Return the number of the note that `target` means in the note at `path`, in `folder`; -1 if no note matches.

        If no note matches, `label` is looked up instead, if it can be a target.
        """
        # Most links are relative paths, spelled like the file: no other note can be nearer.
        number = self.numbers.get(posixpath.normpath(f"{folder}/{target}" if folder else target))
        if number is None or target.startswith("/"):
            resolved_path = self.targets.resolve(target, path, label)
            number = -1 if resolved_path is None else self.numbers[resolved_path]
        return number

    def written_links(self, notes: Ints) -> list[NoteLink]:
        """Return every link out of some notes as it is written, ordered by note and line."""
        link_rows = self.queries.links(self._catalog_numbers(notes))
        links = [NoteLink(self._note_numbers[note], line, target, text or "") for note, line, target, text in link_rows]
        return sorted(links, key=lambda link: (link.note, link.line))

    def find_targets(self, target: str) -> Ints:
        """Return the number of the note that `target` means, looked up from the root of the vault, as an array."""
        path = self.targets.resolve(target, "") if target else None
        return np.array([] if path is None else [self.numbers[path]], np.int32)

    def resolve_target(self, target: str, note: int) -> int:
        """Return the number of the note that `target` means in the note number `note`; -1 if no note matches."""
        path = self._paths[note]
        return self._resolve_in_folder(target, path, posixpath.dirname(path))

    def resolve_link(self, link: NoteLink) -> int | None:
        """Return the number of the note that a link leads to; None if there is no such note."""
        path = self.targets.resolve(link.target, self._paths[link.note], link.text)
        return None if path is None else self.numbers[path]

    def tags_and_properties(self, notes: Ints) -> list[Label]:
        """Return the tags and property values of some notes as they are written."""
        label_rows = self.queries.labels(self._catalog_numbers(notes))
        return [
            Label(self._note_numbers[note], kind == "tag", name, value)
            for note, kind, name, value in label_rows
            if kind in ("tag", "property")
        ]

    def tags_as_written(self) -> list[tuple[str, int]]:
        """Return (tag, note number) for every tag of every note."""
        return [(value, self._note_numbers[note]) for value, note in self.queries.tags()]

    def properties_as_written(self) -> list[tuple[str, str, int]]:
        """Return (name, value, note number) for every property value of every note."""
        return [(name, value, self._note_numbers[note]) for name, value, note in self.queries.properties()]

    def values_as_written(self, name: str) -> list[tuple[str, int]]:
        """Return (value, note number) for every value of a property, `name` being a result of `property_name`."""
        return [(value, self._note_numbers[note]) for value, note in _read_values(self.queries, name)]

    def property_names_as_written(self) -> list[tuple[str, int]]:
        """Return every spelling of every property's name, each with the number of notes that use this spelling."""
        return self.queries.property_counts()

    def titles_as_written(self) -> list[tuple[str, int]]:
        """Return (name, note number) for every title and alias of every note."""
        return [(title, self._note_numbers[note]) for title, note in self.queries.titles()]

    def headings_as_written(self) -> list[tuple[str, int]]:
        """Return every heading text, each with the number of sections that have it."""
        return self.queries.heading_counts()

    def _catalog_numbers(self, notes: Ints) -> list[int]:
        """Return the catalog's row ids of the notes with these numbers, each once."""
        numbers: list[int] = self._notes.catalog_numbers[sorted_unique(notes)].tolist()
        return numbers

    def find_texts_ignoring_case(
        self, parts: Sequence[str], keys: Sequence[int] | None = None
    ) -> list[tuple[int, str]]:
        return self.queries.find_texts_ignoring_case(parts, keys)

    def find_texts_with(self, part: str, keys: Sequence[int] | None = None) -> list[tuple[int, str]]:
        return self.queries.find_texts_with(part, keys)

    @cached_property
    def _note_numbers(self) -> Mapping[int, int]:
        """Note number by the note's row id in the catalog."""
        return {note: number for number, note in enumerate(self._notes.catalog_numbers.tolist())}


class LazyMapping(Mapping[str, Ints]):
    """A mapping from names to note numbers that is loaded on first use: most queries never look anything up in it."""

    def __init__(self, read: Callable[[], Mapping[str, Ints]]) -> None:
        self._read = read

    def __getitem__(self, name: str) -> Ints:
        return self._mapping[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)

    def __len__(self) -> int:
        return len(self._mapping)

    @cached_property
    def _mapping(self) -> Mapping[str, Ints]:
        return self._read()


class Properties(Mapping[str, Mapping[str, Ints]]):
    """Mapping from property name to its values and their note numbers; names and values are loaded on first use."""

    def __init__(self, queries: FacetQueries, numbers: Mapping[int, int]) -> None:
        self._queries = queries
        self._note_numbers = numbers
        self._values: dict[str, Mapping[str, Ints]] = {}

    def __getitem__(self, name: str) -> Mapping[str, Ints]:
        if name not in self._values:
            value_rows = [
                row for spelling in self._spellings_by_name[name] for row in self._queries.property_values(spelling)
            ]
            self._values[name] = _group_by_name(
                [(_fold_value(value), self._note_numbers[note]) for value, note in value_rows]
            )
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._spellings_by_name)

    def __len__(self) -> int:
        return len(self._spellings_by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._spellings_by_name

    @cached_property
    def _spellings_by_name(self) -> Mapping[str, list[str]]:
        spellings: dict[str, list[str]] = {}
        for name in sorted(self._queries.property_names()):
            spellings.setdefault(property_name(name), []).append(name)
        return spellings


def _read_values(queries: FacetQueries, name: str) -> list[tuple[str, int]]:
    """Return (value, catalog row of the note) of a property, `name` being a result of `property_name`."""
    spellings = [spelling for spelling in queries.property_names() if property_name(spelling) == name]
    return [row for spelling in spellings for row in queries.property_values(spelling)]


def _read_identifiers(
    queries: FacetQueries, numbers: Mapping[int, int], paths: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield (id, path) of the notes that have an id as a property, or headings or blocks with one."""
    for identifier, note in _read_values(queries, "id"):
        yield identifier, paths[numbers[note]]


def _read_names(
    queries: FacetQueries, numbers: Mapping[int, int], folded: Collection[str] | None = None
) -> Mapping[str, Ints]:
    """Return the note numbers of each folded name, or of the names `folded`; `numbers` maps catalog rows to them."""
    return _group_by_name([(fold(name), numbers[note]) for name, note in queries.names(folded)])


def _read_tags(queries: FacetQueries, numbers: Mapping[int, int]) -> Mapping[str, Ints]:
    """Return the note numbers of each folded tag and of its parents; `numbers` maps catalog rows to note numbers."""
    tag_pairs: list[tuple[str, int]] = []
    for value, note in queries.tags():
        tag, number = fold(value).strip("/"), numbers[note]
        tag_pairs += [(tag[:end], number) for end, sign in enumerate(tag) if sign == "/"]
        tag_pairs.append((tag, number))
    return _group_by_name(tag_pairs)


def _group_by_name(pairs: Iterable[tuple[str, int]]) -> Mapping[str, Ints]:
    """Return the note numbers of each name, each once, ascending; `pairs` are (name, note number)."""
    numbers_by_name: dict[str, list[int]] = {}
    for name, number in pairs:
        numbers_by_name.setdefault(name, []).append(number)
    for name, numbers in numbers_by_name.items():
        if len(numbers) > 1:
            numbers_by_name[name] = sorted(set(numbers))
    # One array and views of it: half of the names of a large vault have one note.
    every = np.array([number for numbers in numbers_by_name.values() for number in numbers], np.int32)
    ends = np.cumsum([len(numbers) for numbers in numbers_by_name.values()]).tolist()
    return {
        name: every[end - len(numbers) : end]
        for (name, numbers), end in zip(numbers_by_name.items(), ends, strict=True)
    }


def _fold_value(value: str) -> str:
    return " ".join(fold(value).split())


def _parse_day(text: str) -> int:
    return _to_epoch_day(parse_date(text))


def _parse_days_in_path(path: str, daily_notes: str) -> Period | None:
    """Return the days in the path of a note, which may be in the names of its folders too: `2024/03/05.md`."""
    stem = posixpath.splitext(path)[0]
    formatted = parse_formatted_date(stem, daily_notes) if daily_notes else None
    if formatted is not None:
        return formatted, formatted
    return parse_date_span(posixpath.basename(stem)) or parse_date_span(stem)


def _to_epoch_day(day: date | None) -> int:
    return int(UNKNOWN_DAY) if day is None else day.toordinal() - EPOCH_ORDINAL
