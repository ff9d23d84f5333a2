"""`excerpt pack`: the passages that answer a query, ready for a prompt."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.printing import checked_output, for_stdout, narrate, put, save
from excerpt.cli.vaults import chosen_vault, refresh_option, snapshot_of, vault_option
from excerpt.kinds import Format, Scope, Strategy
from excerpt.known_vaults import known_vaults
from excerpt.model import Hit, PackResult
from excerpt.settings import MOST, PackSettings, Places, Settings, places, settings_of
from excerpt.text.display import line_range, percent

if TYPE_CHECKING:
    from excerpt.index.snapshot import Snapshot
    from excerpt.pack.memories import Moving
    from excerpt.pack.selection import KeptMarks


@click.command()
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@vault_option
@click.option("--budget", type=click.IntRange(0, MOST), help="The most tokens, headers and separators included.")
@click.option("--limit", type=click.IntRange(1, MOST), help="From how many of the best hits.")
@click.option("--expand", type=click.Choice([s.value for s in Scope]), help="What each hit is grown to.")
@click.option("--neighbors", type=click.IntRange(0, MOST), help="How many fragments on each side, for neighbors.")
@click.option(
    "--rank",
    type=click.Choice(["score", "none"]),
    default="score",
    show_default=True,
    help="Order: the best first, or as in the vault, without scores.",
)
@click.option("--strategy", type=click.Choice([s.value for s in Strategy]), help="How to score.")
@click.option("--format", "form", type=click.Choice([f.value for f in Format]), help="How the passages are written.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: the packs as data.")
@click.option(
    "--template",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The Jinja2 file that the format template renders by; it chooses that format.",
)
@click.option("--tokenizer", metavar="NAME|FILE", help="Whose tokens: o200k, llama3 ..., chars/4, or a tokenizer.json.")
@click.option("--question/--no-question", default=None, help="Put the query below the passages.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead of stdout."
)
@click.option("--from-marks", is_flag=True, help="Pack what is marked in the app.")
@click.option(
    "--id", "ids", multiple=True, metavar="FRAGMENT_ID", help="Pack this fragment; may be given more than once."
)
@refresh_option
def pack_command(
    *,
    queries: tuple[str, ...],
    vault: Path | None,
    rank: str,
    strategy: str | None,
    output: Path | None,
    from_marks: bool,
    ids: tuple[str, ...],
    no_refresh: bool,
    **given: Any,
) -> int:
    """Pack the passages that answer QUERY for an LLM prompt. What is not given is as in the settings.

    Of several queries, each passage counts by the one that it answers best. With --id or --from-marks those fragments
    are packed, in that order, whatever the queries find.
    """
    if not (queries or ids or from_marks):
        raise click.UsageError("Give a QUERY, an --id, or --from-marks.")
    where = places()
    folder = chosen_vault(vault)
    settings = settings_of(folder, where)
    to_stdout = output is None or str(output) == "-"
    target = None if to_stdout or output is None else checked_output(output, (folder, *known_vaults(where, os.environ)))
    asked = _Asked(
        queries=queries,
        ids=ids,
        from_marks=from_marks,
        strategy=Strategy(strategy) if strategy else settings.search.strategy,
        ranked=rank == "score",
        wanted=_wanted(settings.pack, **given),
    )
    with snapshot_of(folder, settings, where, refresh=not no_refresh) as snapshot:
        packed, text = _packed(asked, snapshot, settings, where, folder)
    if packed is None:
        narrate("nothing is marked in this vault: mark fragments in the app with the tab key.")
        return 1
    if target is None:
        put(for_stdout(text), end="")
    elif text:
        size = save(target, text)
        narrate(f"{target} has the pack, {size:,} bytes.")
    for unknown in _unknown(ids, packed):
        narrate(f"no fragment has the id {unknown}; ids are those of `excerpt search --json`.")
    narrate(_summary(packed))
    if not packed.packs:
        narrate(_why_empty(packed))
    if packed.format is not Format.JSON:
        _count(where.savings_file(folder), packed)
    return 0 if packed.packs else 1


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a pack is asked of, and how it is wanted."""

    queries: tuple[str, ...]
    ids: tuple[str, ...]
    from_marks: bool
    strategy: Strategy
    ranked: bool
    wanted: PackSettings


def _wanted(
    settings: PackSettings,
    *,
    budget: int | None,
    limit: int | None,
    expand: str | None,
    neighbors: int | None,
    form: str | None,
    as_json: bool,
    template: Path | None,
    tokenizer: str | None,
    question: bool | None,
) -> PackSettings:
    """The settings with what was given in their place."""
    named = {"--json": Format.JSON if as_json else None, "--template": Format.TEMPLATE if template else None}
    forms = {f"--format {form}": form, **named} if form else named
    meant = {wish: name for name, wish in forms.items() if wish is not None}
    if len(meant) > 1:
        raise click.UsageError(f"{' and '.join(meant.values())} are different formats: give one of them.")
    form = next(iter(meant), None)
    given = {
        "budget": budget,
        "limit": limit,
        "scope": None if expand is None else Scope(expand),
        "neighbors": neighbors,
        "format": None if form is None else Format(form),
        "template": None if template is None else _absolute(template),
        "tokenizer": tokenizer,
        "question": question,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(settings, **changes)


def _absolute(template: Path) -> str:
    """The path of a template, which in the settings would count from their folder. Raises a usage error."""
    try:
        return str(template.expanduser().absolute())
    except (OSError, RuntimeError) as error:  # the working directory is gone, the ~ of a user there is not
        reason = getattr(error, "strerror", None) or error
        raise click.UsageError(f"The template {template} cannot be found: {reason}.") from error


def _packed(
    asked: _Asked, snapshot: Snapshot, settings: Settings, where: Places, folder: Path
) -> tuple[PackResult | None, str]:
    """The pack and what is to be printed of it; None if it is to be of marks and there are none."""
    from excerpt.pack.build import build_pack
    from excerpt.pack.formats.registry import as_output, renderer_for
    from excerpt.pack.formats.source_label import Links
    from excerpt.pack.selection import NOTHING_KEPT, read_marks
    from excerpt.text.tokens import open_tokenizer

    kept = NOTHING_KEPT
    if asked.from_marks:
        from excerpt.pack.memories import followed

        kept = followed(read_marks(where.marks_file(folder)), snapshot)
    source = _with_memories(snapshot, kept, where.memory_folder(folder))
    if asked.from_marks and not kept.marks:
        return None, ""
    marked = [*(mark.fragment for mark in kept.marks), *asked.ids]
    queries = asked.queries or ((kept.query,) if kept.query else ())
    links = Links(folder)
    renderer = renderer_for(asked.wanted, queries, links, where.config)
    tokenizer = open_tokenizer(asked.wanted.tokenizer)
    led: Strategy = asked.strategy
    hits: Sequence[Hit] = _hits_of(kept, source)
    if queries and not kept.marks:
        led, hits = _found(asked, queries, snapshot, settings, where.use_file(folder))
    packed = build_pack(
        source,
        hits,
        query=" | ".join(queries),
        strategy=led,
        settings=asked.wanted,
        tokenizer=tokenizer,
        renderer=renderer,
        marked=marked,
        overrides=kept.overrides,
        ranked=asked.ranked,
    )
    return packed, as_output(packed, links)


def _with_memories(snapshot: Snapshot, kept: KeptMarks, folder: Path) -> Moving:
    """The vault, with the memories that are marked beside it."""
    from excerpt.pack.memory_fragment import memory_id_of

    ids = [memory_id for mark in kept.marks if (memory_id := memory_id_of(mark.fragment)) is not None]
    if not ids:
        return snapshot
    from excerpt.memory.store import MemoryStore
    from excerpt.pack.memories import WithMemories
    from excerpt.text.tokens import open_tokenizer

    known = {memory.id: memory for memory in MemoryStore(folder).all().memories}
    source = WithMemories(snapshot, open_tokenizer(snapshot.tokenizer).count)
    source.add(known[each] for each in ids if each in known)
    return source


def _hits_of(kept: KeptMarks, source: Moving) -> list[Hit]:
    """The marks as hits, with what matched when they were made."""
    fragments = ((source.fragment(mark.fragment), mark.spans) for mark in kept.marks)
    return [Hit(fragment, 1.0, spans=spans) for fragment, spans in fragments if fragment is not None]


def _found(
    asked: _Asked, queries: Sequence[str], snapshot: Snapshot, settings: Settings, use_file: Path
) -> tuple[Strategy, Sequence[Hit]]:
    """What the queries find, and the strategy that led."""
    from excerpt.pack.build import search_all
    from excerpt.search.engine import Engine
    from excerpt.search.usage import UseLog

    engine = Engine(snapshot, settings, UseLog(use_file))
    result = search_all(engine, queries, asked.strategy, max(asked.wanted.limit, settings.search.limit))
    return result.strategy, result.hits


def _unknown(ids: Sequence[str], packed: PackResult) -> list[str]:
    """Those of `ids` that the index does not have."""
    gone = {left.path for left in packed.left_out if not left.line_start}
    return [each for each in ids if each in gone]


def _why_empty(packed: PackResult) -> str:
    """Why nothing is in the pack, by the best of what was left out."""
    from excerpt.pack.build import TOO_LARGE

    if not packed.left_out:
        return "the pack is empty: nothing was found."
    best = next((left for left in packed.left_out if left.reason == TOO_LARGE), packed.left_out[0])
    where = f"{best.path}:{line_range(best.line_start, best.line_end)}" if best.line_start else best.path
    if best.reason != TOO_LARGE:
        return f"the pack is empty: {where} is {best.reason}."
    needs = f"{where} has {best.tokens:,} tokens, and its source line needs room too"
    return f"the pack is empty: nothing fits into {packed.budget:,} tokens ({needs}). Give a larger --budget."


def _count(file: Path, packed: PackResult) -> None:
    """Add to the running total. Where it cannot be kept, the pack is no worse for it."""
    from excerpt.pack.savings import SavingsFile

    with suppress(OSError):
        SavingsFile(file).add(packed, date.today())


def _summary(packed: PackResult) -> str:
    count = len(packed.packs)
    out = f", {len(packed.left_out)} left out" if packed.left_out else ""
    about = ", as Markdown" if packed.format is Format.JSON else ""
    return (
        f"{count} {'pack' if count == 1 else 'packs'}{out} · {packed.tokens:,} of {packed.budget:,} tokens "
        f"({packed.tokenizer}{about}) · saves {percent(packed.saved, '')} of {packed.source_tokens:,}"
    )
