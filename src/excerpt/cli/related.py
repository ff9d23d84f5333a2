"""`excerpt related`: show the notes most similar to a note or a passage, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.settings import MAX_HITS
from excerpt.cli.completing import complete_notes
from excerpt.cli.hits import INDENT, style_path, style_text
from excerpt.cli.printing import output_columns, print_json, print_line, print_message
from excerpt.cli.vaults import (
    add_vaults,
    folders_of_files,
    load_vault,
    note_in_vault,
    refresh_option,
    vaults_option,
)
from excerpt.text.columns import truncate
from excerpt.text.display import format_count, line_range, visible_line

if TYPE_CHECKING:
    from excerpt import MatchedFragment, RelatedNote, RelatedNotes
    from excerpt.vault.known_vaults import VaultFolders

_MAX_SHOWN_LINKS = 3  # that both notes link to, or are linked from


@click.command()
@click.argument("note", metavar="NOTE[:LINE]", shell_complete=complete_notes)
@vaults_option
@click.option("--limit", type=click.IntRange(1, MAX_HITS), help="The maximum number of notes.  [default: 10]")
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
        _print_related(related, folders_of_files(notes))
    return 0 if related.notes else 1


def _print_related(related: RelatedNotes, folders: VaultFolders | None) -> None:
    width = output_columns()
    for rank, note in enumerate(related.notes, 1):
        if rank > 1:
            print_line("")
        missing = style_text(" · no link yet", fg="yellow") if note.missing_link else ""
        print_line(f"{style_text(f'{rank:>3}', fg='cyan')}  {style_text(visible_line(note.title), bold=True)}{missing}")
        print_line(
            f"{INDENT}{style_path(visible_line(f'{note.path}:{note.line}'), note.path, folders)}"
            f" · {_format_score_sum(note)}"
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
