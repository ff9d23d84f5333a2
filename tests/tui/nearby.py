"""Related notes and a map with hand-made figures, for pictures and for tests of drawing them."""

from __future__ import annotations

from collections.abc import Iterable

from excerpt.insight.facet_map import Branch, VaultMap
from excerpt.insight.related import (
    CommonLink,
    Linked,
    MatchedFragment,
    Mention,
    PassageMatch,
    Related,
    RelatedNote,
    SharedWord,
)
from excerpt.model import Fragment, Signal, Span

_WORDS = ("conflict", "sync")


def passage(fragment: Fragment, words: Iterable[str] = _WORDS) -> MatchedFragment:
    text = fragment.text.casefold()
    found = [Span(at, at + len(word)) for word in words for at in range(len(text)) if text.startswith(word, at)]
    return MatchedFragment(fragment, tuple(sorted(found, key=lambda span: span.start)))


def related_note(here: Fragment, there: Fragment, score: float, linked: Linked = Linked.NO) -> RelatedNote:
    """Return a note with every kind of reason; with `linked` NO it lacks a link."""
    parts = (("words", 0.5), ("meaning", 0.3), ("common links", 0.19), ("tags", 0.01))
    return RelatedNote(
        path=there.path,
        title=there.title,
        score=score,
        signals=tuple(Signal(name, share, score, score * share) for name, share in parts),
        matches=(PassageMatch(passage(here), passage(there), 0.83, _WORDS),),
        words=(SharedWord("conflict", 3, there.line_start), SharedWord("[/red]", 5, there.line_start)),
        linked=linked,
        common=(CommonLink("Kitchen.md", "Kitchen", False), CommonLink("Index [x].md", "Index [x]", True)),
        tags=("sync", "howto"),
        mentions=(Mention(here.path, here.line_end, "merging", there.path),) if linked is Linked.NO else (),
    )


def related_of(fragments: Iterable[Fragment], path: str, line: int | None) -> Related:
    """Return related notes: the first fragment of each other note, the first notes most related."""
    every = list(fragments)
    of_note = [each for each in every if each.path == path] or every[:1]
    here = next((each for each in of_note if line is not None and each.line_start <= line <= each.line_end), of_note[0])
    first = {each.path: each for each in reversed(every) if each.path != path}
    links = (Linked.NO, Linked.BOTH, Linked.FROM, Linked.TO)
    notes = tuple(
        related_note(here, there, 0.72 / (rank + 1), links[rank % 4])
        for rank, there in enumerate(reversed(first.values()))
    )
    return Related(path, here.title, line, here if line is not None else None, notes, 12.0, 7)


def months(kind: str, year: int, counts: Iterable[int]) -> Branch:
    below = tuple(
        Branch(f"{year}-{month:02}", f"{kind}:{year}-{month:02}", count, max(1, count // 4))
        for month, count in enumerate(counts, start=1)
        if count
    )
    return Branch(str(year), f"{kind}:{year}", sum(b.fragments for b in below), sum(b.notes for b in below), below)


def map_of(query: str) -> VaultMap:
    recipes = Branch("Recipes [x]", 'path:"/Kitchen/Recipes [x]/"', 4, 2)
    return VaultMap(
        query=query,
        fragments=1_204,
        notes=171,
        folders=(
            Branch("Sync", "path:/Sync/", 812, 96),
            Branch("Kitchen", "path:/Kitchen/", 61, 20, (recipes, Branch("Soup", "path:/Kitchen/Soup/", 3, 1))),
            Branch("同步", "path:/同步/", 1, 1),
        ),
        tags=(Branch("sync", "tag:sync", 512, 60), Branch("howto", "tag:howto", 30, 9)),
        properties=(Branch("status", "status:*", 40, 12, (Branch("done", "status:=done", 40, 12),), unlisted=7),),
        modified=(months("modified", 2024, (0, 3, 8, 0, 21, 4)), months("modified", 2026, (90, 412))),
        created=(),
        generation=7,
    )
