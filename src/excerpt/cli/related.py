"""`excerpt related`: the notes nearest to a note or a passage, with why."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.hits import INDENT, cut, paint, snippet
from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import narrate, print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.settings import MOST, places, settings_of
from excerpt.text.line_range import line_range
from excerpt.text.visible import visible_line

if TYPE_CHECKING:
    from excerpt.index.snapshot import Snapshot
    from excerpt.insight.related import Passage, Related, RelatedNote

_WIDEST = 120
_SHOWN_LINKS = 3
_LINKED = {"to": "this links to it", "from": "it links to this", "both": "they link to each other"}


@click.command()
@click.argument("note", metavar="NOTE[:LINE]")
@vault_option
@click.option("--limit", type=click.IntRange(1, MOST), help="The most notes.  [default: 10]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: every note with all that speaks for it.")
@refresh_option
def command(*, note: str, vault: Path | None, limit: int | None, as_json: bool, no_refresh: bool) -> int:
    """Show the notes nearest to NOTE, or to the passage of it at LINE, and why.

    NOTE is a path, the end of one, a file name, a title or an alias; NOTE#Heading is the passage under a heading. Shown
    are the passages that say alike, rare words and links in common, what the score is made of, and where one note names
    the other and no link leads there.
    """
    where = places()
    folder = chosen_vault(vault)
    settings = settings_of(folder, where)
    with snapshot_of(folder, settings, where, refresh=not no_refresh) as snapshot:
        from excerpt.insight.related import LIMIT, related
        from excerpt.search.engine import Engine

        path, line = _asked(snapshot, note)
        found = related(Engine(snapshot, settings), path, line, LIMIT if limit is None else limit)
    if as_json:
        print_json(related_as_json(found))
    else:
        _print(found)
    return 0 if found.notes else 1


def _asked(snapshot: Snapshot, note: str) -> tuple[str, int | None]:
    """The path and the line, None for the whole note. Raises NotThereError."""
    from excerpt.insight.naming import place_called, section_called

    place = place_called(snapshot, note)
    if place.heading:
        return place.path, section_called(snapshot, place.path, place.heading).line_start
    return place.path, place.first if place.last is not None or place.first > 1 else None


# --- for a reader -----------------------------------------------------------------------------------------------------


def _print(found: Related) -> None:
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    for rank, note in enumerate(found.notes, 1):
        if rank > 1:
            put("")
        missing = paint(" · no link yet", fg="yellow") if note.missing_link else ""
        put(f"{paint(f'{rank:>3}', fg='cyan')}  {paint(visible_line(note.title), bold=True)}{missing}")
        put(f"{INDENT}{paint(visible_line(f'{note.path}:{note.line}'), fg='green')} · {_sum(note)}")
        for name, said in _reasons(note):
            put(f"{INDENT}{name:<6} {cut(visible_line(said), width - len(INDENT) - 7)}")
        for match in note.matches:
            for name, passage in (("here", match.here), ("there", match.there)):
                put(f"{INDENT}{name:<6} {_passage(passage, width - len(INDENT) - 7)}")
    whose = found.title if found.fragment is None else f"{found.title}, line {found.fragment.line_start}"
    if found.notes:
        narrate(f"{len(found.notes)} notes near {whose} · {found.elapsed_ms:.0f} ms")
    else:
        narrate(f"No other note here is near {whose}.")


def _sum(note: RelatedNote) -> str:
    """What the score is made of, the largest part first."""
    parts = sorted((signal for signal in note.signals if signal.part >= 0.005), key=lambda signal: -signal.part)
    return f"{note.score:.2f} = {' + '.join(f'{signal.name} {signal.part:.2f}' for signal in parts)}"


def _reasons(note: RelatedNote) -> Iterator[tuple[str, str]]:
    # Where there is a link, a reader does not ask for more of them.
    for mention in note.mentions if note.missing_link else ():
        yield "named", f"“{mention.text}” in {mention.path}:{mention.line}"
    if note.linked in _LINKED:
        yield "links", _LINKED[note.linked]
    both = [link.title for link in note.common if not link.links_to_both]
    back = [link.title for link in note.common if link.links_to_both]
    if both:
        yield "links", f"both link to {', '.join(both[:_SHOWN_LINKS])}"
    if back:
        yield "links", f"both are linked from {', '.join(back[:_SHOWN_LINKS])}"
    if note.words:
        yield "words", ", ".join(f"{word.word} ({word.notes} notes)" for word in note.words)
    if note.tags:
        yield "tags", " ".join(f"#{tag}" for tag in note.tags)
    if note.place:
        yield "place", f"both in {note.place}"


def _passage(passage: Passage, columns: int) -> str:
    fragment = passage.fragment
    lines = f"{line_range(fragment.line_start, fragment.line_end)} "
    text, _ = snippet(fragment.text, passage.spans, columns - len(lines))
    return lines + cut(visible_line(text), columns - len(lines))


# --- for a program ----------------------------------------------------------------------------------------------------


def related_as_json(found: Related) -> dict[str, Any]:
    """Related notes in the form that the guide's note on JSON forms describes."""
    return {
        "path": found.path,
        "title": found.title,
        "line": found.line,
        "fragment_id": found.fragment.id if found.fragment else None,
        "generation": found.generation,
        "elapsed_ms": round(found.elapsed_ms, 3),
        "notes": [_note(note) for note in found.notes],
    }


def _note(note: RelatedNote) -> dict[str, Any]:
    return {
        "path": note.path,
        "title": note.title,
        "line": note.line,
        "score": note.score,
        "signals": {
            signal.name: {"value": signal.value, "weight": signal.weight, "part": signal.part}
            for signal in note.signals
        },
        "linked": note.linked.value,
        "missing_link": note.missing_link,
        "mentions": [
            {"path": mention.path, "line": mention.line, "text": mention.text, "of": mention.of}
            for mention in note.mentions
        ],
        "common": [
            {"path": link.path, "title": link.title, "links_to_both": link.links_to_both} for link in note.common
        ],
        "words": [{"word": word.word, "notes": word.notes, "line": word.line} for word in note.words],
        "tags": list(note.tags),
        "place": note.place,
        "matches": [
            {
                "here": _side(match.here),
                "there": _side(match.there),
                "similarity": match.similarity,
                "words": list(match.words),
            }
            for match in note.matches
        ],
    }


def _side(passage: Passage) -> dict[str, Any]:
    fragment = passage.fragment
    return {
        "path": fragment.path,
        "heading_path": list(fragment.heading_path),
        "line_start": fragment.line_start,
        "line_end": fragment.line_end,
        "fragment_id": fragment.id,
        "text": fragment.text,
        "spans": [[span.start, span.end] for span in passage.spans],
    }
