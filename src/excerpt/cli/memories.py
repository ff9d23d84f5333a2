"""`excerpt remember`, `recall`, `forget` and `edit`: the findings a user keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.printing import as_data, for_stdout, narrate, picked, print_json, put, read_input
from excerpt.cli.vaults import chosen_vault, refresh_option, snapshot_of, vault_option
from excerpt.model import Memory, Source
from excerpt.settings import MOST, Places, Settings, places, settings_of
from excerpt.text.dates import period_of
from excerpt.text.display import line_range, visible_line

if TYPE_CHECKING:
    from excerpt.memory.recall import Offer, Recalled, Recaller
    from excerpt.memory.stale import MemoryStanding
    from excerpt.memory.store import MemoryStore


# --- printed ----------------------------------------------------------------------------------------------------------
# How commands print memories: for a reader, and as data.

_BEGINNING = 60


@contextmanager
def recaller_of(vault: Path, settings: Settings, where: Places) -> Iterator[Recaller]:
    """What recalls the memories of a vault; says on stderr which files cannot be read as one."""
    from excerpt.memory.recall import Recaller

    recaller = Recaller(where.memory_folder(vault), where.memory_index_folder(vault), settings)
    everything = recaller.store.all()
    for broken in everything.broken:
        narrate(f"the memory {broken.path} cannot be read: {broken.reason}")
    for copied in everything.copies:
        narrate(f"the memory {copied.path} is a copy of {copied.of}; it goes by {copied.id}.")
    try:
        yield recaller
    finally:
        recaller.close()
    if recaller.unranked:
        narrate(f"memories were looked for by words alone: {recaller.unranked}")


def offer_as_json(offer: Offer) -> dict[str, Any]:
    """Of the memory no more than it takes to know it by."""
    return {
        **picked(offer.memory, "id", "text"),
        "same_source": offer.is_same_source,
        "likeness": round(offer.likeness, 3),
    }


def standing_as_json(standing: MemoryStanding) -> dict[str, Any]:
    """The memory that it is the standing of is around it."""
    return {"kind": standing.kind, "stale": standing.is_stale, **picked(standing, "source", "now")}


def beginning_of(memory: Memory) -> str:
    """The first words of a memory, on one line."""
    line = " ".join(memory.text.split())
    return line if len(line) <= _BEGINNING else f"{line[:_BEGINNING].rstrip()}…"


def shown(memory: Memory, standing: MemoryStanding | None = None) -> str:
    """A memory for a reader, and how it stands to its source where that was looked at."""
    head = [memory.id, memory.created, *(f"#{tag}" for tag in memory.tags)]
    lines = [visible_line(" · ".join(head))]
    if memory.source:
        lines.append(visible_line(f"from {_place(memory.source)}"))
    if standing is not None:
        lines += _told(standing)
    if memory.why:
        lines.append(visible_line(f"why: {memory.why}"))
    return "\n".join((*lines, for_stdout(memory.text)))


def _told(standing: MemoryStanding) -> list[str]:
    """What became of the source, in one line, and where it has changed, the lines that differ."""
    from excerpt.memory.stale import SourceStatus, side_by_side

    source = standing.source
    if standing.kind is SourceStatus.GONE:
        return ["gone: its source is not in the vault any more"]
    if source is None or standing.kind is SourceStatus.FRESH:
        return []
    if standing.kind is SourceStatus.MOVED:
        return [visible_line(f"moved: now at {_place(source)}")]
    rows = [row for row in side_by_side(standing.memory.text, standing.now) if not row.is_same]
    before = [f"- {row.before}" for row in rows if row.before is not None]
    after = [f"+ {row.after}" for row in rows if row.after is not None]
    return [visible_line(line) for line in (f"changed: see {_place(source)}", *before, *after)]


def _place(source: Source) -> str:
    return f"{source.path}:{line_range(source.line_start, source.line_end)}" if source.line_start else source.path


@click.command()
@click.argument("text", required=False)
@vault_option
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.option("--why", default="", help="Why it matters.")
@click.option("--fragment", metavar="ID", help="The fragment it is from: `fragment_id` of a search.")
@click.option("--source", metavar="NOTE:A-B", help="The lines it is from; NOTE is a path, title or alias.")
@click.option("--query", default="", help="The query that found it.")
@click.option("--merge", "into", metavar="ID", help="Put it into this memory instead of making a new one.")
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
@refresh_option
def remember_command(
    *,
    text: str | None,
    vault: Path | None,
    tags: tuple[str, ...],
    why: str,
    fragment: str | None,
    source: str | None,
    query: str,
    into: str | None,
    as_json: bool,
    no_refresh: bool,
) -> None:
    """Keep TEXT (- reads it from stdin) as a memory of the vault.

    With --fragment or --source, TEXT may be left out: then the text is what stands there. Memories that say much the
    same already are named, to be merged: `excerpt edit ID --merge OTHER`.
    """
    if fragment is not None and source is not None:
        raise click.UsageError("Give either --fragment or --source.")
    if text is None and fragment is None and source is None:
        raise click.UsageError("Give a TEXT, or where it is to be taken from: --fragment or --source.")
    said = read_input("-", "text") if text == "-" else text
    where, chosen = places(), chosen_vault(vault)
    settings = settings_of(chosen, where)
    origin: Source | None = None
    if fragment is not None or source is not None:
        origin, there = _taken(chosen, settings, where, fragment, source, refresh=not no_refresh)
        said = there if said is None else said
    assert said is not None
    memory, similar = _kept(chosen, settings, where, Memory("", said, tags, why, "", "", origin, query), into)
    if as_json:
        print_json({**as_data(memory), "similar": [offer_as_json(offer) for offer in similar]})
        return
    put(visible_line(f"Remembered as {memory.id}."))
    for offer in similar:
        reason = "is about the same lines" if offer.is_same_source else "says much the same"
        narrate(f"{offer.memory.id} {reason}: {beginning_of(offer.memory)}")
    if similar:
        narrate(f"To make one of two: excerpt edit {similar[0].memory.id} --merge {memory.id}")


# --- remember ---------------------------------------------------------------------------------------------------------
# `excerpt remember`: keep a finding.


def _taken(
    vault: Path, settings: Settings, where: Places, fragment: str | None, source: str | None, *, refresh: bool
) -> tuple[Source, str]:
    from excerpt.memory.stale import from_fragment, from_lines

    with snapshot_of(vault, settings, where, refresh=refresh) as snapshot:
        return from_lines(snapshot, source or "") if fragment is None else from_fragment(snapshot, fragment)


def _kept(
    vault: Path, settings: Settings, where: Places, wanted: Memory, into: str | None
) -> tuple[Memory, Sequence[Offer]]:
    """The memory as it was kept, and what is much like it."""
    from excerpt.memory.recall import merged, offers

    found = wanted.text, wanted.tags, wanted.why, wanted.source
    with recaller_of(vault, settings, where) as recaller:
        if into is not None:
            return recaller.store.change(into, lambda memory: merged(memory, *found)), ()
        similar = offers(wanted.text, wanted.source, recaller)
        return recaller.store.remember(*found, query=wanted.query), similar


# --- recall -----------------------------------------------------------------------------------------------------------
# `excerpt recall`: find what was remembered.

Found = tuple["Recalled", "MemoryStanding | None"]


def _checked_since(_ctx: click.Context, _param: click.Parameter, since: str) -> str:
    if since and period_of(f">={since}", date.today()) is None:
        raise click.BadParameter(
            f"{since!r} is no date: give a day as 2025-03-01 or 2025-03, or how long ago as 7d, 2w."
        )
    return since


@click.command()
@click.argument("words", nargs=-1)
@vault_option
@click.option("--tag", "tags", multiple=True, help="Only memories with this tag; several must all be there.")
@click.option("--source", default="", metavar="PATH", help="Only those from this note or folder.")
@click.option(
    "--since",
    default="",
    metavar="DATE",
    callback=_checked_since,
    help="Only those remembered since: 2025-03-01, 2025-03, 7d, 2w.",
)
@click.option(
    "--limit", type=click.IntRange(1, MOST), help="The most memories.  [default: search.limit; without WORDS, all]"
)
@click.option("--sources", is_flag=True, help="Look in the vault whether what they are from still stands there.")
@click.option("--stale", is_flag=True, help="Only those whose source has changed or gone.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def recall_command(
    *,
    words: tuple[str, ...],
    vault: Path | None,
    tags: tuple[str, ...],
    source: str,
    since: str,
    limit: int | None,
    sources: bool,
    stale: bool,
    as_json: bool,
    no_refresh: bool,
) -> int:
    """Find memories by words, meaning, tags, source and date.

    WORDS are a query as for `excerpt search`: the memories that answer it, best first. Without WORDS, all of them,
    newest first.
    """
    where, chosen = places(), chosen_vault(vault, offer=True)
    settings = settings_of(chosen, where)
    with recaller_of(chosen, settings, where) as recaller:
        from excerpt.memory.store import standing_asked

        query, wanted = standing_asked(" ".join(words))
        wanted = True if stale else wanted
        recalled = recaller.recall(query, tags, source, since, limit if wanted is None else None)
        for hint in recaller.hints:
            narrate(hint.said)
    found: Sequence[Found] = [(each, None) for each in recalled]
    if (sources or wanted is not None) and recalled:
        from excerpt.memory.stale import standing

        with snapshot_of(chosen, settings, where, refresh=not no_refresh) as snapshot:
            found = [(each, standing(each.memory, snapshot)) for each in recalled]
    if wanted is not None:
        found = [(each, stands) for each, stands in found if (stands is not None and stands.is_stale) is wanted][:limit]
    if as_json:
        print_json({"memories": [_as_json(*each) for each in found]})
    elif found:
        if not any(each.answers for each, _ in found):
            narrate(NO_ANSWER)
        put("\n\n".join(shown(each.memory, stands) for each, stands in found))
    else:
        narrate(_nothing(asked=bool(words or tags or source or since), stale=bool(wanted)))
    return 0 if found else 1


NO_ANSWER = "no memory answers this; those that share a word with it are below."


def _as_json(recalled: Recalled, standing: MemoryStanding | None) -> dict[str, Any]:
    """The memory's fields stand beside what is said of it."""
    told = {} if standing is None else {"standing": standing_as_json(standing)}
    return {
        **as_data(recalled.memory),
        "score": round(recalled.score, 6),
        **picked(recalled, "confidence", "answers"),
        **told,
    }


def _nothing(*, asked: bool, stale: bool) -> str:
    if stale:
        return "no memory's source has changed or gone."
    return "no memory matches." if asked else "nothing has been remembered in this vault yet."


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--undo", is_flag=True, help="Take the forgotten memory ID back.")
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
def forget_command(*, memory_id: str, vault: Path | None, undo: bool, as_json: bool) -> None:
    """Forget the memory ID. Its file goes to the trash folder, from which --undo takes it back.

    Other memories of the same text are kept, and named.
    """
    from excerpt.memory.store import TRASH, MemoryStore

    store = MemoryStore(places().memory_folder(chosen_vault(vault)))
    copies = {copied.id for copied in store.all().copies if copied.of == memory_id}
    memory = store.restore(memory_id) if undo else store.forget(memory_id)
    told = f"Took back {memory.id}." if undo else f"Forgot {memory.id}; its file is in {store.folder / TRASH}."
    if as_json:
        print_json(memory)
    else:
        put(visible_line(told))
    for other in () if undo else store.all().memories:
        if other.id in copies or other.text == memory.text:
            narrate(f"{other.id}, {'a copy of it' if other.id in copies else 'of the same text'}, is kept.")


# --- edit -------------------------------------------------------------------------------------------------------------
# `excerpt edit`: change a memory.

_DECISIONS = {
    "follow": "Of a source that has moved: let the link follow.",
    "update": "Of a source that has changed: take the text that is there now.",
    "keep": "Of a source that has changed or gone: leave the memory as it is, and do not call it stale.",
}


@click.command()
@click.argument("memory_id", metavar="ID")
@vault_option
@click.option("--text", help="The new text; - reads it from stdin.")
@click.option("--tag", "tags", multiple=True, help="Add a tag; may be given several times.")
@click.option("--untag", "untags", multiple=True, help="Take a tag off; may be given several times.")
@click.option("--why", help="Why it matters.")
@click.option("--merge", "other", metavar="OTHER", help="Take in the memory OTHER, which is then forgotten.")
@click.option("--follow", "decision", flag_value="follow", help=_DECISIONS["follow"])
@click.option("--update", "decision", flag_value="update", help=_DECISIONS["update"])
@click.option("--keep", "decision", flag_value="keep", help=_DECISIONS["keep"])
@click.option("--json", "as_json", is_flag=True, help="Print the memory as JSON.")
@refresh_option
def edit_command(
    *,
    memory_id: str,
    vault: Path | None,
    text: str | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    why: str | None,
    other: str | None,
    decision: str | None,
    as_json: bool,
    no_refresh: bool,
) -> None:
    """Change the memory ID: what it says, its tags, why it matters, or what becomes of it now that its source has
    changed. What it was goes to the trash folder."""
    from excerpt.memory.store import MemoryStore

    new_text = read_input("-", "text") if text == "-" else text
    if new_text is not None and not new_text.strip():
        raise click.UsageError("There is no text; to be rid of a memory, forget it.")
    if new_text is None and why is None and not (tags or untags or other or decision):
        raise click.UsageError(
            "Say what to change: --text, --tag, --untag, --why, --merge, --follow, --update, --keep."
        )
    if other == memory_id:
        raise click.UsageError("A memory cannot be merged with itself.")
    chosen = chosen_vault(vault)
    store = MemoryStore(places().memory_folder(chosen))
    if decision is not None:
        _decide(store, chosen, memory_id, decision, refresh=not no_refresh)
    if other is not None:
        _take_in(store, memory_id, other)
    memory = store.change(memory_id, _edited(new_text, tags, untags, why))
    if as_json:
        print_json(memory)
    else:
        put(shown(memory))


def _edited(
    text: str | None, tags: tuple[str, ...], untags: tuple[str, ...], why: str | None
) -> Callable[[Memory], Memory]:
    from excerpt.memory.store import normalise_tags

    off = set(normalise_tags(untags))

    def edited(memory: Memory) -> Memory:
        return replace(
            memory,
            text=memory.text if text is None else text,
            tags=tuple(tag for tag in normalise_tags((*memory.tags, *tags)) if tag not in off),
            why=memory.why if why is None else why,
        )

    return edited


def _take_in(store: MemoryStore, memory_id: str, other: str) -> None:
    from excerpt.memory.recall import merged

    taken = store.get(other)
    store.change(memory_id, lambda memory: merged(memory, taken.text, taken.tags, taken.why, taken.source))
    store.forget(other)


def _decide(store: MemoryStore, vault: Path, memory_id: str, decision: str, *, refresh: bool) -> None:
    """Look at the source in the vault, and do what was decided of it."""
    from excerpt.memory import stale

    where = places()
    memory = store.get(memory_id)
    with snapshot_of(vault, settings_of(vault, where), where, refresh=refresh) as snapshot:
        found = stale.standing(memory, snapshot)
    decide = {"follow": stale.follow, "update": stale.update, "keep": stale.keep}
    decide[decision](store, found)
