"""Check on real notes the properties of every pack; `python -m benchmarks.packs` prints the violations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from excerpt.base.kinds import Fill, Scope, Strategy
from excerpt.base.model import Fragment, Hit, PackResult
from excerpt.base.settings import PackSettings, Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.pack.build import MARKDOWN_RENDERER, build_pack
from excerpt.pack.formats.json_format import render_json
from excerpt.pack.formats.pack_format import Renderer
from excerpt.pack.formats.plain_format import PlainRenderer
from excerpt.pack.formats.xml_format import XmlRenderer
from excerpt.text.tokens import open_tokenizer

BUDGETS = (0, 1, 60, 150, 250, 300, 500, 501, 1000, 1500, 3000, 8000, 1_000_000)
TOKENIZERS = ("o200k", "cl100k", "llama3", "deepseek", "mistral", "chars/4")
RENDERERS: tuple[Renderer, ...] = (MARKDOWN_RENDERER, XmlRenderer(("What?",)), PlainRenderer())

Asked = tuple[str, tuple[Hit, ...]]
"""A query and its hits."""


def broken_promises(snapshot: Snapshot, asked: Sequence[Asked]) -> Iterator[str]:
    """Yield one sentence for each property that a pack violates.

    Each query is tried with another tokenizer and format than the one before, in all scopes and with many budgets.
    """
    for number, (query, hits) in enumerate(asked):
        tokenizer = TOKENIZERS[number % len(TOKENIZERS)]
        renderer = RENDERERS[number % len(RENDERERS)]
        for scope in Scope:
            settings = PackSettings(scope=scope, fill=Fill.BUDGET)

            considered = hits[: 8 if scope is Scope.NOTE else 20]
            packed = partial(_packed, snapshot, (query, considered), tokenizer, renderer)
            results = [packed(replace(settings, budget=budget)) for budget in BUDGETS]
            for broken in (
                *_of_budgets(results),
                *_of_first_hit(results, hits),
                *_of_text(snapshot, results[-1]),
                *_of_fewer_hits(snapshot, (query, considered), tokenizer, renderer),
            ):
                yield f"{query!r}, {scope}, {tokenizer}, {type(renderer).__name__}: {broken}"
            if render_json(results[7]) != render_json(packed(replace(settings, budget=BUDGETS[7]))):
                yield f"{query!r}, {scope}: other bytes the second time"


def _packed(snapshot: Snapshot, asked: Asked, tokenizer: str, renderer: Renderer, settings: PackSettings) -> PackResult:
    query, hits = asked
    return build_pack(
        snapshot,
        hits,
        query=query,
        strategy=Strategy.AUTO,
        settings=settings,
        tokenizer=open_tokenizer(tokenizer),
        renderer=renderer,
    )


def _of_budgets(results: Sequence[PackResult]) -> Iterator[str]:
    for result in results:
        if result.tokens != open_tokenizer(result.tokenizer).count(result.text) or result.tokens > result.budget:
            yield f"{result.tokens} tokens for a budget of {result.budget}"
    for less, more in pairwise(results):
        if more.value < less.value:
            yield f"worth less for {more.budget} tokens than for {less.budget}"


def _of_first_hit(results: Sequence[PackResult], hits: Sequence[Hit]) -> Iterator[str]:
    if not hits:
        return
    for less, more in pairwise(results):
        if size_of_fragment(more, hits[0].fragment) < size_of_fragment(less, hits[0].fragment):
            yield f"less of the first hit for {more.budget} tokens than for {less.budget}"


def size_of_fragment(result: PackResult, fragment: Fragment) -> int:
    """Return how many characters of a fragment a pack has."""
    passages = [pack for pack in result.passages if fragment.id in pack.fragment_ids]
    return max((len(fragment.text) if fragment.text in each.text else len(each.text) for each in passages), default=0)


def _of_text(snapshot: Snapshot, result: PackResult) -> Iterator[str]:
    lines: set[tuple[str, int]] = set()
    for pack in result.passages:
        own = [(pack.path, line) for line in range(pack.line_start, pack.line_end + 1)]
        if lines.intersection(own):
            yield f"lines of {pack.path} twice"
        lines.update(own)
        note = snapshot.note_text(pack.path).split("\n")
        whole = "\n".join(note[pack.line_start - 1 : pack.line_end])
        above, there, below = whole.partition(pack.text)
        if not there or (above and not pack.cut_above) or (below and not pack.cut_below):
            yield f"not the lines {pack.line_start}-{pack.line_end} of {pack.path}"


def _of_fewer_hits(snapshot: Snapshot, asked: Asked, tokenizer: str, renderer: Renderer) -> Iterator[str]:
    settings = PackSettings(budget=1_000_000, scope=Scope.NONE, fill=Fill.BUDGET)
    query, hits = asked
    for count in (1, 4, 9):
        fewer, more = (
            _packed(snapshot, (query, hits[:number]), tokenizer, renderer, settings) for number in (count, count + 1)
        )
        ids = [{one for pack in result.passages for one in pack.fragment_ids} for result in (fewer, more)]
        if not ids[0] <= ids[1]:
            yield f"a pack of {count} hits has what one of {count + 1} has not"


def changed_by_rebuilding(vault: Path, snapshot: Snapshot, asked: Sequence[Asked]) -> Iterator[str]:
    """Yield the queries whose pack has other bytes after the index is rebuilt.

    The hits are the same fragments, with new keys.
    """
    with TemporaryDirectory() as folder:
        build(vault, Path(folder), Settings())
        again = Snapshot.open(Path(folder), Settings())
        for query, hits in asked:
            here = [found for hit in hits if (found := again.fragment(hit.fragment.id))]
            same = [replace(hit, fragment=fragment) for hit, fragment in zip(hits, here, strict=True)]
            settings = PackSettings(fill=Fill.BUDGET)
            results = [
                _packed(source, (query, found[:20]), "o200k", MARKDOWN_RENDERER, settings)
                for source, found in ((snapshot, hits), (again, tuple(same)))
            ]
            if render_json(results[0]) != render_json(results[1]) or results[0].text != results[1].text:
                yield f"{query!r}: other bytes from a rebuilt index"
        again.close()
