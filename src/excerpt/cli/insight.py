"""`excerpt overview`, `related`, `map`, `peek` and `read`: show what a vault and its notes hold."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.hits import INDENT, bar, paint
from excerpt.cli.printing import for_stdout, narrate, print_json, print_line
from excerpt.cli.vaults import load_vault, refresh_option, vault_option
from excerpt.settings import MAX
from excerpt.text.columns import columns_of, truncate
from excerpt.text.display import format_count, line_range, location, visible, visible_line

if TYPE_CHECKING:
    from excerpt import Branch, MatchedFragment, Overview, Peek, RelatedNote, RelatedNotes, VaultMap


@click.command()
@click.argument("topic", nargs=-1, required=True)
@vault_option
@click.option(
    "--budget", type=click.IntRange(1, MAX), help="The most tokens, of the tokenizer in the settings.  [default: 800]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON with everything found, beyond the budget too.")
@refresh_option
def overview_command(
    *, topic: tuple[str, ...], vault: Path | None, budget: int | None, as_json: bool, no_refresh: bool
) -> int:
    """Show what the vault holds about TOPIC.

    Prints its main notes and sections, key passages, themes, prominent tags and folders, related notes, dates and other
    names, as Markdown within a budget of tokens. TOPIC is a query as for `excerpt search`, and can have filters.
    """
    with load_vault(vault, refresh=not no_refresh) as notes:
        overview = notes.overview(" ".join(topic), budget=budget)
        text = "" if as_json else notes.as_markdown(overview)
        tokens = notes.tokens(text)
    if as_json:
        print_json(overview.to_dict())
    elif overview.found:
        print_line(for_stdout(text), end="")
        narrate(_summary(overview, tokens))
    else:
        narrate(f"No note is about {overview.topic!r}.")
    return 0 if overview.found else 1


# --- overview ---------------------------------------------------------------------------------------------------------
# `excerpt overview`: show what the vault holds about a topic, on one screen.


def _summary(overview: Overview, tokens: int) -> str:
    if not tokens:
        return f"Not even its first lines fit into {format_count(overview.budget, 'token')}."
    used = f"{tokens:,} of {format_count(overview.budget, 'token')}"
    return f"{format_count(overview.notes, 'note')} about {overview.topic!r} · {used}"


# --- related ----------------------------------------------------------------------------------------------------------
# `excerpt related`: show the notes nearest to a note or a passage, and why.

_WIDEST = 120
_SHOWN_LINKS = 3


@click.command()
@click.argument("note", metavar="NOTE[:LINE]")
@vault_option
@click.option("--limit", type=click.IntRange(1, MAX), help="The most notes.  [default: 10]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: every note with all reasons.")
@refresh_option
def related_command(*, note: str, vault: Path | None, limit: int | None, as_json: bool, no_refresh: bool) -> int:
    """Show the notes nearest to NOTE, or to the passage of it at LINE, and why.

    NOTE is a path, the end of one, a file name, a title or an alias; NOTE#Heading is the passage under a heading. Shows
    the passages with similar text, rare words and links in common, the parts of the score, and where one note names the
    other without a link.
    """
    with load_vault(vault, refresh=not no_refresh) as notes:
        related = notes.related(note, limit=limit)
    if as_json:
        print_json(related.to_dict())
    else:
        _print(related)
    return 0 if related.notes else 1


# --- for a reader -----------------------------------------------------------------------------------------------------


def _print(related: RelatedNotes) -> None:
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    for rank, note in enumerate(related.notes, 1):
        if rank > 1:
            print_line("")
        missing = paint(" · no link yet", fg="yellow") if note.missing_link else ""
        print_line(f"{paint(f'{rank:>3}', fg='cyan')}  {paint(visible_line(note.title), bold=True)}{missing}")
        print_line(f"{INDENT}{paint(visible_line(f'{note.path}:{note.line}'), fg='green')} · {_sum(note)}")
        for name, value in _reasons(note):
            print_line(f"{INDENT}{name:<6} {truncate(visible_line(value), width - len(INDENT) - 7)}")
        for match in note.matches:
            for name, passage in (("here", match.here), ("there", match.there)):
                print_line(f"{INDENT}{name:<6} {_passage(passage, width - len(INDENT) - 7)}")
    title = related.title if related.fragment is None else f"{related.title}, line {related.fragment.line_start}"
    if related.notes:
        narrate(f"{format_count(len(related.notes), 'note')} near {title} · {related.elapsed_ms:.0f} ms")
    else:
        narrate(f"No other note is near {title}.")


def _sum(note: RelatedNote) -> str:
    """Return the score as a sum of its parts, the largest first."""
    parts = sorted((signal for signal in note.signals if signal.part >= 0.005), key=lambda signal: -signal.part)
    return f"{note.score:.2f} = {' + '.join(f'{signal.name} {signal.part:.2f}' for signal in parts)}"


def _reasons(note: RelatedNote) -> Iterator[tuple[str, str]]:
    # Mentions are only of interest if there is no link yet.
    for mention in note.mentions if note.missing_link else ():
        yield "named", f"“{mention.text}” in {mention.path}:{mention.line}"
    if note.linked.sentence:
        yield "links", note.linked.sentence
    both = [link.title for link in note.common if not link.links_to_both]
    back = [link.title for link in note.common if link.links_to_both]
    if both:
        yield "links", f"both link to {', '.join(both[:_SHOWN_LINKS])}"
    if back:
        yield "links", f"both are linked from {', '.join(back[:_SHOWN_LINKS])}"
    if note.words:
        yield "words", ", ".join(f"{word.word} ({format_count(word.notes, 'note')})" for word in note.words)
    if note.tags:
        yield "tags", " ".join(f"#{tag}" for tag in note.tags)
    if note.place:
        yield "place", f"both in {note.place}"


def _passage(passage: MatchedFragment, columns: int) -> str:
    from excerpt.text.snippet import snippet

    fragment = passage.fragment
    lines = f"{line_range(fragment.line_start, fragment.line_end)} "
    text, _ = snippet(fragment.text, passage.spans, columns - len(lines))
    return lines + truncate(text, columns - len(lines))


# --- map --------------------------------------------------------------------------------------------------------------
# `excerpt map`: show where in the vault a query's matches are.

_KINDS = ("folders", "tags", "properties", "modified", "created")
_LABEL, _BAR = 34, 16  # columns; two thirds of that on a narrow terminal
_NARROW = 110
_MIN_NAMES = 4
_VALUES = 50  # values shown of a property, whatever --top is
_MIN = 8  # columns for a filter; of less none is of use


@click.command()
@click.argument("query", required=False)
@vault_option
@click.option(
    "--depth", type=click.IntRange(1, MAX), default=2, help="How many levels of each tree to show.  [default: 2]"
)
@click.option(
    "--top", type=click.IntRange(1, MAX), default=8, help="How many branches to show below each one.  [default: 8]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the whole tree, ignoring --depth and --top.")
@refresh_option
def map_command(*, query: str | None, vault: Path | None, depth: int, top: int, as_json: bool, no_refresh: bool) -> int:
    """Show where the matches of QUERY are: in which folders, under which tags, properties and months.

    Each line has the number of fragments, the number of notes, and a filter: put it in front of QUERY to find exactly
    these. Without a QUERY, counts everything.
    """
    with load_vault(vault, refresh=not no_refresh) as notes:
        vault_map = notes.map(query or "", limit=None if as_json else max(_VALUES, top))
    if as_json:
        print_json(vault_map.to_dict())
    elif vault_map.fragments:
        for line in map_lines(vault_map, depth, top):
            print_line(line)
    narrate(_summary_of_map(vault_map) if vault_map.fragments else f"Nothing was found for {vault_map.query!r}.")
    return 0 if vault_map.fragments else 1


def _summary_of_map(vault_map: VaultMap) -> str:
    return f"{format_count(vault_map.fragments, 'matching fragment')} in {format_count(vault_map.notes, 'note')}"


def map_lines(vault_map: VaultMap, depth: int, top: int) -> Iterator[str]:
    """Yield the lines of all trees, one tree below the other, with bars relative to the largest of each tree."""
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST) if sys.stdout.isatty() else None
    label, bars = (_LABEL, _BAR) if width is None or width >= _NARROW else (_LABEL * 2 // 3, _BAR * 2 // 3)
    is_first = True
    for kind in _KINDS:
        branches: Sequence[Branch] = getattr(vault_map, kind)
        if not branches:
            continue
        if not is_first:
            yield ""
        is_first = False
        yield paint(f"{kind:<{label}} {'fragments':>9} {'notes':>6}", bold=True)
        is_dated = kind in ("modified", "created")
        max_fragments = max(branch.fragments for branch in branches)
        tree = _ShownTree(
            max_fragments, depth, len(branches) if is_dated else top, width, label, bars, kind == "properties"
        )
        yield from tree.lines(branches)


@dataclass(frozen=True, slots=True)
class _ShownTree:
    """Prints one tree as lines, its bars relative to `max_fragments` fragments.

    `label` and `bars` are widths in columns; `width` is the limit of a line, None for a file.
    """

    max_fragments: int
    depth: int
    top: int
    width: int | None
    label: int
    bars: int
    is_of_values: bool = False

    def lines(self, branches: Sequence[Branch], level: int = 0, unlisted: int = 0) -> Iterator[str]:
        indent = "  " * (level + 1)
        for branch in branches[: self.top]:
            yield self._line(branch, indent)
            if self.is_of_values and _tells_nothing(branch):
                count = len(branch.branches) + branch.unlisted
                yield paint(f"{indent}  … {format_count(count, 'value')}, each of one note", dim=True)
            elif level + 1 < self.depth:
                yield from self.lines(branch.branches, level + 1, branch.unlisted)
        if hidden := len(branches[self.top :]) + unlisted:
            yield paint(f"{indent}… {hidden:,} more", dim=True)

    def _line(self, branch: Branch, indent: str) -> str:
        room = self.label - len(indent)
        label = truncate(visible_line(branch.label), room)
        bar_text = paint(f"{bar(branch.fragments, self.max_fragments, self.bars):<{self.bars}}", fg="cyan")
        start = (
            f"{indent}{label}{' ' * (room - columns_of(label))} {branch.fragments:>9,} {branch.notes:>6,}  {bar_text}"
        )
        filter_text = visible_line(branch.filter)
        if self.width is not None:
            left = self.width - self.label - self.bars - 22
            filter_text = truncate(filter_text, left) if left >= _MIN else ""
        return f"{start}  {paint(filter_text, dim=True)}".rstrip()


def _tells_nothing(branch: Branch) -> bool:
    """Return whether each value of a property belongs to one note only (addresses, descriptions): it groups nothing."""
    return len(branch.branches) >= _MIN_NAMES and all(value.notes == 1 for value in branch.branches)


@click.command()
@click.argument("note")
@vault_option
@click.option("--lines", type=click.IntRange(1, MAX), default=8, help="How many first lines to show.  [default: 8]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def peek_command(*, note: str, vault: Path | None, lines: int, as_json: bool, no_refresh: bool) -> int:
    """Show a summary of NOTE without its text: size in tokens, tags, links, first lines and outline.

    NOTE is a path, the end of one, a file name, a title or an alias.
    """
    with load_vault(vault, refresh=not no_refresh) as notes:
        peek = notes.peek(note, first_lines=lines)
    if as_json:
        print_json(peek.to_dict())
    else:
        for line in _lines(peek):
            print_line(line)
    return 0


# --- peek -------------------------------------------------------------------------------------------------------------
# `excerpt peek`: show what a note holds, in brief.


def _lines(peek: Peek) -> Iterator[str]:
    yield paint(visible_line(peek.title), bold=True)
    yield paint(visible_line(peek.path), fg="green")
    changed = f" · changed {peek.modified}" if peek.modified else ""
    lines, size = format_count(peek.lines, "line"), format_count(peek.size, "byte")
    yield f"{format_count(peek.tokens, 'token')} · {lines} · {size}{changed}"
    nowhere = f" · {peek.links_nowhere:,} lead nowhere" if peek.links_nowhere else ""
    linked_from = format_count(peek.linked_from, "note")
    yield f"links to {format_count(peek.links_to, 'note')} · linked from {linked_from}{nowhere}"
    for name, values in (("also", peek.aliases), ("tags", peek.tags)):
        if values:
            yield f"{name}: {visible_line(', '.join(values))}"
    for name, value in peek.properties:
        yield visible_line(f"{name}: {value}")
    if peek.beginning:
        yield ""
        yield from (f"  {visible(line)}" for line in peek.beginning.split("\n"))
    if peek.outline:
        yield ""
        yield paint(f"{'lines':>11} {'tokens':>7}  outline", dim=True)
    for entry in peek.outline:
        heading = visible_line(entry.heading) if entry.level else "(before the first heading)"
        lines = line_range(entry.line_start, entry.line_end)
        yield f"{lines:>11} {entry.tokens:>7,}  {'  ' * max(entry.level - 1, 0)}{heading}"


@click.command()
@click.argument("note", metavar="NOTE[:A-B]")
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the text with its place and size.")
@refresh_option
def read_command(*, note: str, vault: Path | None, as_json: bool, no_refresh: bool) -> int:
    """Print a note of the vault, or a part of it.

    The part is lines A to B, the section under a heading (NOTE#Heading), or a place in an attachment
    (paper.pdf#page=12).

    NOTE is a path, the end of one, a file name, a title or an alias. Lines are counted from 1; NOTE:A is one line,
    NOTE:A- goes to the end.
    """
    with load_vault(vault, refresh=not no_refresh) as notes:
        note_lines = notes.read(note)
    if as_json:
        print_json(note_lines.to_dict())
    else:
        print_line(for_stdout(note_lines.text))
        location_text = location(note_lines.path, note_lines.line_start, note_lines.line_end, note_lines.place)
        narrate(
            f"{location_text} of {format_count(note_lines.lines, 'line')} · {format_count(note_lines.tokens, 'token')}"
        )
    return 0
