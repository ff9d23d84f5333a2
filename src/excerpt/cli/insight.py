"""`excerpt overview`, `related`, `map`, `peek` and `read`: show what a vault and its notes contain."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.completing import complete_notes
from excerpt.cli.hits import INDENT, format_bar, style_text
from excerpt.cli.pack import TokenCountParameter
from excerpt.cli.printing import escape_for_stdout, print_json, print_line, print_message
from excerpt.cli.vaults import add_vaults, load_vault, note_in_vault, refresh_option, vaults_option
from excerpt.settings import MAX_COUNT
from excerpt.text.columns import count_columns, truncate
from excerpt.text.display import format_count, format_source_location, line_range, visible, visible_line

if TYPE_CHECKING:
    from excerpt import Branch, MatchedFragment, Overview, Peek, RelatedNote, RelatedNotes, VaultMap


@click.command()
@click.argument("topic", nargs=-1, required=True)
@vaults_option
@click.option(
    "--budget",
    type=TokenCountParameter(1, MAX_COUNT),
    help="The maximum number of tokens, counted with the tokenizer of the settings.  [default: 800]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON with everything that was found, regardless of the budget."
)
@refresh_option
def overview_command(
    *, topic: tuple[str, ...], vaults: tuple[Path, ...], budget: int | None, as_json: bool, no_refresh: bool
) -> int:
    """Show what the vault contains about TOPIC.

    Prints the main notes and sections about TOPIC, key passages, themes, prominent tags and folders, related notes,
    dates and other names, as Markdown within a token budget. TOPIC is a query as for `excerpt search`, and can have
    filters.
    """
    with load_vault(vaults, refresh=not no_refresh) as notes:
        overview = notes.overview(" ".join(topic), budget=budget)
        text = "" if as_json else overview.text
        tokens = notes.tokens(text)
    if as_json:
        print_json(add_vaults(notes, overview.to_dict()))
    elif overview.found:
        print_line(escape_for_stdout(text), end="")
        print_message(_summarize_overview(overview, tokens))
    else:
        print_message(f"No note is about {overview.topic!r}.")
    return 0 if overview.found else 1


# --- overview ---------------------------------------------------------------------------------------------------------
# `excerpt overview`: show what the vault contains about a topic, on one screen.


def _summarize_overview(overview: Overview, tokens: int) -> str:
    """Return a sentence about an overview whose printed text has `tokens` tokens."""
    if not tokens:
        budget = format_count(overview.budget, "token")
        return f"The overview does not fit into {budget}, not even its first lines. Give a larger --budget."
    used = f"{tokens:,} of {format_count(overview.budget, 'token')}"
    return f"{format_count(overview.notes, 'note')} about {overview.topic!r} · {used}"


# --- related ----------------------------------------------------------------------------------------------------------
# `excerpt related`: show the notes most similar to a note or a passage, and why.

_MAX_COLUMNS = 120
_MAX_SHOWN_LINKS = 3  # that both notes link to, or are linked from


@click.command()
@click.argument("note", metavar="NOTE[:LINE]", shell_complete=complete_notes)
@vaults_option
@click.option("--limit", type=click.IntRange(1, MAX_COUNT), help="The most notes.  [default: 10]")
@click.option("--unlinked", is_flag=True, help="Leave out notes that link to NOTE or that NOTE links to.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: every note with all reasons.")
@refresh_option
def related_command(
    *, note: str, vaults: tuple[Path, ...], limit: int | None, unlinked: bool, as_json: bool, no_refresh: bool
) -> int:
    """Show the notes most similar to NOTE, or to its passage at LINE, and why.

    NOTE is a path, the end of a path, a file name, a title or an alias; NOTE#Heading is the passage under a heading.
    For each note, shows the passages with similar text, the rare words and links that both notes have, the parts of the
    score, and where one note names the other without a link.
    """
    with load_vault(vaults, refresh=not no_refresh) as notes:
        related = notes.related(note_in_vault(notes, note), limit=limit, unlinked=unlinked)
    if as_json:
        print_json(add_vaults(notes, related.to_dict()))
    else:
        _print_related(related)
    return 0 if related.notes else 1


def _print_related(related: RelatedNotes) -> None:
    width = min(shutil.get_terminal_size((_MAX_COLUMNS, 24)).columns, _MAX_COLUMNS)
    for rank, note in enumerate(related.notes, 1):
        if rank > 1:
            print_line("")
        missing = style_text(" · no link yet", fg="yellow") if note.missing_link else ""
        print_line(f"{style_text(f'{rank:>3}', fg='cyan')}  {style_text(visible_line(note.title), bold=True)}{missing}")
        print_line(
            f"{INDENT}{style_text(visible_line(f'{note.path}:{note.line}'), fg='green')} · {_format_score_sum(note)}"
        )
        for name, value in _iterate_reasons(note):
            print_line(f"{INDENT}{name:<6} {truncate(visible_line(value), width - len(INDENT) - 7)}")
        for match in note.matches:
            for name, passage in (("here", match.passage), ("there", match.related_passage)):
                print_line(f"{INDENT}{name:<6} {_format_passage(passage, width - len(INDENT) - 7)}")
    title = related.title if related.fragment is None else f"{related.title}, line {related.fragment.line_start}"
    hidden = f"{format_count(related.hidden, 'linked note')} hidden" if related.hidden else ""
    if related.notes:
        count = f"{format_count(len(related.notes), 'note')} similar to {title}"
        print_message(" · ".join(filter(None, (count, hidden, f"{related.elapsed_ms:.0f} ms"))))
    elif hidden:
        print_message(f"No unlinked note is similar to {title}: {hidden}.")
    else:
        print_message(f"No other note is similar to {title}.")


def _format_score_sum(note: RelatedNote) -> str:
    """Return a note's score as a sum such as `0.62 = text 0.40 + words 0.22`, the largest part first."""
    parts = sorted((signal for signal in note.signals if signal.part >= 0.005), key=lambda signal: -signal.part)
    return f"{note.score:.2f} = {' + '.join(f'{signal.name} {signal.part:.2f}' for signal in parts)}"


def _iterate_reasons(note: RelatedNote) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of each reason why a note is related."""
    # Mentions are only of interest if there is no link yet.
    for mention in note.mentions if note.missing_link else ():
        yield "named", f"“{mention.text}” in {mention.path}:{mention.line}"
    if note.linked.sentence:
        yield "links", note.linked.sentence
    both = [link.title for link in note.common if not link.links_to_both]
    back = [link.title for link in note.common if link.links_to_both]
    if both:
        yield "links", f"both link to {', '.join(both[:_MAX_SHOWN_LINKS])}"
    if back:
        yield "links", f"both are linked from {', '.join(back[:_MAX_SHOWN_LINKS])}"
    if note.words:
        yield "words", ", ".join(f"{word.word} ({format_count(word.notes, 'note')})" for word in note.words)
    if note.tags:
        yield "tags", " ".join(f"#{tag}" for tag in note.tags)
    if note.place:
        yield "place", f"both in {note.place}"


def _format_passage(passage: MatchedFragment, columns: int) -> str:
    """Return the lines and a snippet of a matched passage, at most `columns` wide."""
    from excerpt.text.snippet import snippet

    fragment = passage.fragment
    lines = f"{line_range(fragment.line_start, fragment.line_end)} "
    text, _ = snippet(fragment.text, passage.spans, columns - len(lines))
    return lines + truncate(text, columns - len(lines))


# --- map --------------------------------------------------------------------------------------------------------------
# `excerpt map`: show where in the vault the matches of a query are.

_MAP_TREE_FIELDS = ("folders", "tags", "properties", "modified", "created")
_LABEL_COLUMNS, _BAR_COLUMNS = 34, 16  # two thirds of these on a terminal below _MIN_WIDE_COLUMNS
_MIN_WIDE_COLUMNS = 110
_MIN_UNIQUE_VALUES = 4  # see `_has_only_unique_values`
_MIN_LOADED_VALUES = 50  # loaded of each property, even if --top is smaller
_MIN_FILTER_COLUMNS = 8  # a filter that would get fewer columns is not shown


@click.command()
@click.argument("query", required=False)
@vaults_option
@click.option(
    "--depth",
    type=click.IntRange(1, MAX_COUNT),
    default=2,
    help="The number of levels to show of each tree (folders, tags, and so on).  [default: 2]",
)
@click.option(
    "--top",
    type=click.IntRange(1, MAX_COUNT),
    default=8,
    help="How many branches to show below each branch.  [default: 8]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the whole tree, ignoring --depth and --top.")
@refresh_option
def map_command(
    *, query: str | None, vaults: tuple[Path, ...], depth: int, top: int, as_json: bool, no_refresh: bool
) -> int:
    """Show where the matches of QUERY are: in which folders, under which tags, properties and months.

    Each line has the number of matching fragments, the number of their notes, and a filter. Put the filter in front of
    QUERY to find exactly these fragments. Without a QUERY, counts all fragments.
    """
    with load_vault(vaults, refresh=not no_refresh) as notes:
        vault_map = notes.map(query or "", limit=None if as_json else max(_MIN_LOADED_VALUES, top))
    if as_json:
        print_json(add_vaults(notes, vault_map.to_dict()))
    elif vault_map.fragments:
        for line in format_map_lines(vault_map, depth, top):
            print_line(line)
    print_message(_summarize_map(vault_map) if vault_map.fragments else f"Nothing was found for {vault_map.query!r}.")
    return 0 if vault_map.fragments else 1


def _summarize_map(vault_map: VaultMap) -> str:
    return f"{format_count(vault_map.fragments, 'matching fragment')} in {format_count(vault_map.notes, 'note')}"


def format_map_lines(vault_map: VaultMap, depth: int, top: int) -> Iterator[str]:
    """Yield the printed lines of all trees of a map: folders, tags, properties and months.

    `depth` is the number of levels and `top` the number of branches below a branch to print. Bars are relative to the
    largest branch of each tree.
    """
    width = min(shutil.get_terminal_size((_MAX_COLUMNS, 24)).columns, _MAX_COLUMNS) if sys.stdout.isatty() else None
    label, bars = (
        (_LABEL_COLUMNS, _BAR_COLUMNS)
        if width is None or width >= _MIN_WIDE_COLUMNS
        else (_LABEL_COLUMNS * 2 // 3, _BAR_COLUMNS * 2 // 3)
    )
    is_first = True
    for kind in _MAP_TREE_FIELDS:
        branches: Sequence[Branch] = getattr(vault_map, kind)
        if not branches:
            continue
        if not is_first:
            yield ""
        is_first = False
        yield style_text(f"{kind:<{label}} {'fragments':>9} {'notes':>6}", bold=True)
        is_dated = kind in ("modified", "created")
        max_fragments = max(branch.fragments for branch in branches)
        tree = _TreePrinter(
            max_fragments, depth, len(branches) if is_dated else top, width, label, bars, kind == "properties"
        )
        yield from tree.format_lines(branches)


@dataclass(frozen=True, slots=True)
class _TreePrinter:
    """Formats one tree of a map as lines, with a bar for each branch.

    A bar of `bar_columns` columns stands for `max_fragments` fragments. At most `max_depth` levels are printed, and
    `max_branches` branches below each branch. `max_columns` limits a line, None if there is no terminal.
    """

    max_fragments: int
    max_depth: int
    max_branches: int
    max_columns: int | None
    label_columns: int
    bar_columns: int
    is_property_tree: bool = False

    def format_lines(self, branches: Sequence[Branch], level: int = 0, unlisted: int = 0) -> Iterator[str]:
        """Yield the lines of `branches` and their sub-branches, and a line that counts `unlisted` branches."""
        indent = "  " * (level + 1)
        for branch in branches[: self.max_branches]:
            yield self._format_line(branch, indent)
            if self.is_property_tree and _has_only_unique_values(branch):
                count = len(branch.branches) + branch.unlisted
                yield style_text(f"{indent}  … {format_count(count, 'value')}, each of one note", dim=True)
            elif level + 1 < self.max_depth:
                yield from self.format_lines(branch.branches, level + 1, branch.unlisted)
        if hidden := len(branches[self.max_branches :]) + unlisted:
            yield style_text(f"{indent}… {hidden:,} more", dim=True)

    def _format_line(self, branch: Branch, indent: str) -> str:
        room = self.label_columns - len(indent)
        label = truncate(visible_line(branch.label), room)
        bar_text = style_text(
            f"{format_bar(branch.fragments, self.max_fragments, self.bar_columns):<{self.bar_columns}}", fg="cyan"
        )
        padding = " " * (room - count_columns(label))
        start = f"{indent}{label}{padding} {branch.fragments:>9,} {branch.notes:>6,}  {bar_text}"
        filter_text = visible_line(branch.filter)
        if self.max_columns is not None:
            left = self.max_columns - self.label_columns - self.bar_columns - 22
            filter_text = truncate(filter_text, left) if left >= _MIN_FILTER_COLUMNS else ""
        return f"{start}  {style_text(filter_text, dim=True)}".rstrip()


def _has_only_unique_values(branch: Branch) -> bool:
    """Return whether each value of a property is in one note only (as addresses are), so that it groups no notes."""
    return len(branch.branches) >= _MIN_UNIQUE_VALUES and all(value.notes == 1 for value in branch.branches)


@click.command()
@click.argument("note", shell_complete=complete_notes)
@vaults_option
@click.option(
    "--lines", type=click.IntRange(1, MAX_COUNT), default=8, help="How many first lines to show.  [default: 8]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def peek_command(*, note: str, vaults: tuple[Path, ...], lines: int, as_json: bool, no_refresh: bool) -> int:
    """Show a summary of NOTE without its text: size in tokens, tags, links, first lines and outline.

    NOTE is a path, the end of a path, a file name, a title or an alias.
    """
    with load_vault(vaults, refresh=not no_refresh) as notes:
        peek = notes.peek(note_in_vault(notes, note), first_lines=lines)
    if as_json:
        print_json(add_vaults(notes, peek.to_dict()))
    else:
        for line in _format_peek_lines(peek):
            print_line(line)
    return 0


# --- peek -------------------------------------------------------------------------------------------------------------
# `excerpt peek`: show a summary of a note.


def _format_peek_lines(peek: Peek) -> Iterator[str]:
    yield style_text(visible_line(peek.title), bold=True)
    yield style_text(visible_line(peek.path), fg="green")
    changed = f" · changed {peek.modified}" if peek.modified else " · day of change unknown"
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
        yield style_text(f"{'lines':>11} {'tokens':>7}  outline", dim=True)
    for entry in peek.outline:
        heading = visible_line(entry.heading) if entry.level else "(before the first heading)"
        lines = line_range(entry.line_start, entry.line_end)
        yield f"{lines:>11} {entry.tokens:>7,}  {'  ' * max(entry.level - 1, 0)}{heading}"


@click.command()
@click.argument("note", metavar="NOTE[:A-B]", shell_complete=complete_notes)
@vaults_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the text with its location and size.")
@refresh_option
def read_command(*, note: str, vaults: tuple[Path, ...], as_json: bool, no_refresh: bool) -> int:
    """Print a note of the vault, or a part of the note.

    A part is a range of lines (NOTE:A-B), the section under a heading (NOTE#Heading), a block with an id of Obsidian
    (NOTE#^id), or a place in an attachment (paper.pdf#page=12).

    NOTE is a path, the end of a path, a file name, a title or an alias. Lines are counted from 1. NOTE:A is one line,
    NOTE:A- are all lines from A to the end.
    """
    with load_vault(vaults, refresh=not no_refresh) as notes:
        note_lines = notes.read(note_in_vault(notes, note))
    if as_json:
        print_json(add_vaults(notes, note_lines.to_dict()))
    else:
        print_line(escape_for_stdout(note_lines.text))
        location_text = format_source_location(
            note_lines.path, note_lines.line_start, note_lines.line_end, note_lines.place
        )
        print_message(
            f"{location_text} of {format_count(note_lines.lines, 'line')} · {format_count(note_lines.tokens, 'token')}"
        )
    return 0
