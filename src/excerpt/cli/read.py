"""`excerpt read`: print a note, or a part of it."""

from __future__ import annotations

from pathlib import Path

import click

from excerpt.cli.completing import complete_notes
from excerpt.cli.printing import escape_for_stdout, print_json, print_line, print_message
from excerpt.cli.vaults import add_vaults, load_vault, note_in_vault, refresh_option, vaults_option
from excerpt.text.display import format_count, format_source_location


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
