"""Example data of the tests of the screen: notes, an index's status, hits, and hand-made answers to questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import FileProblem, Fragment, Hit, Memory, Progress, Result, Signal, Span, Status
from excerpt.index.events import IndexingFailed, VaultEmptied, VaultWatched
from excerpt.insight.overview_parts import (
    DistinctiveLabel,
    KeyPassage,
    KeySection,
    LabelKind,
    LinkedName,
    LinkedNote,
    MainNote,
    Month,
    Overview,
    SourceLocation,
    Theme,
    Timeline,
)
from excerpt.insight.results import (
    Branch,
    CommonLink,
    DatedNote,
    LinkDirection,
    MatchedFragment,
    Mention,
    PassageMatch,
    RelatedNote,
    RelatedNotes,
    SharedWord,
    VaultMap,
)
from excerpt.memory.recall import find_memories_at
from excerpt.memory.results import SourceCheck, SourceStatus
from excerpt.search.rank_reasons import NoteExplanation, StrategyRank
from excerpt.search.results import Explanation, FieldCount, SignalGap, TermLikeness, TermVariant, WordContribution
from tests.pack.vaults import Vault

# --- the small real vault ---------------------------------------------------------------------------------------------

NOTES = {
    "Sync.md": (
        "---\naliases: [Synchronising]\ntags: [howto]\n---\n"
        "Notes are synchronised between devices.\n\n"
        "## Conflicts\n\nA sync conflict arises when two devices change one note before they meet. "
        "Keep the **newer** one, or see [[Merging|how to merge]].\n\n"
        "## Devices\n\n- [x] Phone\n- [ ] Laptop\n\nEach device keeps its own history of changes.\n"
    ),
    "Merging.md": (
        "# Merging\n\nTwo versions of one note are merged line by line.\n\n"
        "> [!tip] Keep both\n> A conflict that cannot be merged leaves ==both versions== side by side.\n\n"
        "```python\nmerge(ours, theirs)  # a sync conflict, resolved\n```\n"
    ),
    "Cooking/Lentil soup.md": "# Lentil soup\n\nSimmer red lentils with cumin until they are soft.\n",
    "Hostile [bold]x.md": (
        "# [/red] not markup\n\nEscape \x1b[31m and \u202ebidi\u202c stay visible: hostile text, [/foo] and [x].\n"
    ),
}
"""The notes of the small real vault."""


def write_notes(vault: Path) -> None:
    for path, text in NOTES.items():
        file = vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


# --- the index of the fictitious vault --------------------------------------------------------------------------------

VAULT = Path("/home/ada/notes")
STATUS = Status(
    vault=str(VAULT),
    generation=7,
    notes=171,
    fragments=1_204,
    skipped=(FileProblem("Attachments/scan.md", "It holds zero bytes, so it is not text."),),
    warnings=(FileProblem("Journal/2024-02-30.md", "The frontmatter is not valid YAML: line 3."),),
    model="the one that ships with excerpt",
    tokenizer="o200k",
    updated="2026-03-01T12:00:00+00:00",
)
PROGRESS = Progress("reading", 812, 9_750, 3_100_000, 40_200_000, "Journal/2024-05-17.md", 0, 1, 2.0)
BROKEN = IndexingFailed(
    "The index cannot be used",
    "The index in /home/ada/.cache/excerpt cannot be written: No space left on device.",
    "Make room or give permission there, or set EXCERPT_HOME to another folder. The last generation is kept.",
)
EMPTIED = VaultEmptied(171, "/home/ada/notes has no notes any more, but its index has 171. The index is kept.", "")
WATCHED = VaultWatched(polling=False)
BUILDING = tuple(
    replace(PROGRESS, notes_done=done, bytes_done=done * 3_818, seconds=seconds, current_seconds=in_work)
    for done, seconds, in_work in ((12, 0.5, 0.0), (412, 4.0, 0.1), (812, 8.0, 2.6))
)
"""A build that progresses steadily, and then stays at one file for a while."""

# --- its notes --------------------------------------------------------------------------------------------------------

SYNC_NOTES = {
    "Sync/Conflicts.md": """---
aliases:
  - Sync conflict
tags: [sync, howto]
---
# Conflicts

A **sync conflict** arises when two devices change one note before they meet. The newer one is kept, and the older one \
stands beside it as a file of its own.

> [!tip] Keep both
> Nothing is lost: see [[Merging|how versions are merged]] and ==compare them== first.

## Resolve a conflict

- [x] Open both versions
- [ ] Copy what you want to keep
- [ ] Delete the file with `(conflict)` in its name

| Version | Kept as |
| --- | --- |
| newer | the note |
| older | `Note (conflict).md` |

```bash
ls *conflict*   # what is left to do
```
""",
    "Merging.md": """# Merging

Two versions of one note are merged line by line. Where both changed the same line, that is a conflict, and both lines \
are kept. #sync

## When merging fails

Binary files cannot be merged: the sync keeps the newest.
""",
    "同步/冲突.md": """# 同步冲突

两台设备在同步之前修改了同一篇笔记,就会出现 sync 冲突 (conflict)。旧版本会另存为一个文件。
""",
    "Hostile [bold]x.md": (
        "# [/red] conflict\n\nNot markup: [bold]sync[/bold], [/foo], \x1b[31mred\x1b[0m, \u202ebidi\u202c.\n"
    ),
    "Kitchen.md": "# Kitchen\n\nSimmer red lentils with cumin until they are soft.\n",
}
"""Notes found by `sync` and `conflict`."""
TAGS = {"sync": 12, "howto": 3, "[bold]同步": 1}
"""Tags offered for completion, with the number of notes of each."""

_WEEKS = "\n\n".join(
    f"## Week {week}\n\nRow {week} gets {week + 2} litres of water. The seedlings stand {week} cm apart, and what "
    f"bolts goes on the compost. See [[Compost#Layers]]."
    for week in range(1, 31)
)

GARDEN = {
    "Garden/Beds.md": """---
title: Raised beds
aliases:
  - Beds
tags: [garden, howto]
created: 2026-02-14
area: 3.6
---
# Raised beds

A raised bed warms up **two weeks** earlier, drains well and saves the back. ==Plan the trellis first==, since it \
shades what stands behind it. ~~Treated wood~~ is not for vegetables. #garden

> [!warning]- Before you dig
> Ask where the `water main` is. See [[Compost#Layers|what goes into the compost]] and \
[the planner](https://example.org/plan/raised-beds?year=2026).
> > A neighbour's cable was cut once.

## Trellis

1. Two posts of 40 mm, set 60 cm deep
2. A wire each 25 cm
   - [x] galvanised wire
   - [ ] tensioners
   - [>] screws, from last year

| Plant | Distance | Height of the trellis |
| --- | ---: | --- |
| Peas | 5 cm | 1.2 m |
| Climbing beans | 20 cm | 2.4 m, as they go on growing until September |
| 黄瓜 | 40 cm | 1.8 m |

![[Attachments/trellis plan.png|300]]
![[Compost#Layers]]
![The finished trellis](https://example.org/images/2026/02/finished-trellis-with-peas.jpg)

```python
def wires(height: float, gap: float = 0.25) -> int:
    \"\"\"How many wires a trellis needs.\"\"\"
    return int(height / gap)  # the lowest is a gap above the ground
```

$$n = \\lfloor h / g \\rfloor$$

Peas climb by tendrils[^1], beans by twining. %%ask Grandma%% ^tendrils

[^1]: Which hold wires thinner than a pencil.
""",
    "Garden/Calendar.md": (
        f"# Calendar\n\nWhat to do in the garden, week by week. The trellis comes first.\n\n{_WEEKS}\n"
    ),
    "Garden/Compost.md": "# Compost\n\n## Layers\n\nBrown and green in turns, each as thick as a hand.\n",
    "日记/二月.md": """---
tags: [日记, 花园]
---
# 二月 🌱

## 菜园

今天在菜园里搭了豆角架,**先立柱子**再拉铁丝。参见 [[Garden/Beds|高架菜床]]。👩‍🌾 帮了忙,下周播种豌豆。

- [ ] 买种子
- [x] 翻土

## 备忘

菜园的水管冬天要关。
""",
    "日记/三月.md": """# 三月

豆角发芽了。菜园需要每天浇水,豆角架旁边再种黄瓜。

ﾊﾝｶｸ と 全角,é と é 的宽度都要对。菜园
""",
    "יומן/סנכרון.md": """# סנכרון בין מכשירים

כאשר שני מכשירים משנים אותה רשימה (note) לפני סנכרון, הגרסה החדשה נשמרת. ראו [[Merging|איחוד]] ו־`backup.log`.
""",
    "يوميات/مزامنة.md": "# مزامنة\n\nتُحفظ النسخة الأحدث بعد סנכרון (backup)، والأقدم بجانبها.\n",
}
"""Notes found by `trellis`, `garden`, `菜园` and `סנכרון`, and by no query of other pictures."""

# --- hits -------------------------------------------------------------------------------------------------------------

_PARTS = (
    (0.42, 0.12, 0.20, 0.15, 0.05, 0.06),
    (0.30, 0.10, 0.22, 0.00, 0.08, 0.06),
    (0.28, 0.02, 0.15, 0.00, 0.00, 0.06),
    (0.12, 0.00, 0.18, 0.00, 0.03, 0.03),
)
_SURE = (Confidence.STRONG, Confidence.LIKELY, Confidence.WEAK)
_NAMES = ("words", "proximity", "meaning", "title", "heading", "coverage")


def make_hit(name: str, line: int = 1, path: str = "") -> Hit:
    """Return a hit whose fragment has the id `name`."""
    return Hit(Fragment(name, path or f"{name}.md", name, (), 0, 0, line, line, name, 10, name), 1.0)


def make_result(query: str, *hits: Hit) -> Result:
    return Result(query, Strategy.AUTO, Strategy.HYBRID, hits, len(hits), 1.0, 1)


def find_spans(text: str, words: Iterable[str]) -> tuple[Span, ...]:
    """Return where `words` occur in `text`, in order."""
    spans = [Span(at, at + len(word)) for word in words for at in range(len(text)) if text.startswith(word, at)]
    return tuple(sorted(spans, key=lambda span: span.start))


def ranked_hit(fragment: Fragment, spans: tuple[Span, ...], rank: int, has_all: bool) -> Hit:
    """Return a hit with the figures of that rank; `has_all` says whether a fragment has all the words."""
    parts = _PARTS[min(rank, len(_PARTS) - 1)]
    signals = tuple(Signal(name, part * 2, 0.5, part) for name, part in zip(_NAMES, parts, strict=True))
    sure = _SURE[min(rank, len(_SURE) - 1)] if has_all else Confidence.NOTHING
    wanted = [fragment.text[span.start : span.end].casefold() for span in spans]
    named = tuple(find_spans(name.casefold(), wanted) for name in (fragment.title, *fragment.heading_path))
    created = date.today() - timedelta(days=3 + 40 * rank)
    return Hit(fragment, sum(parts), signals, spans, sure, named, created)


def make_explanation(query: str, asked: Strategy, hit: Hit) -> NoteExplanation:
    exact, spelled = (
        TermVariant(TermLikeness.EXACT, ("sync",), 1.0),
        TermVariant(TermLikeness.SPELLED, ("conflict",), 0.28),
    )
    places = (FieldCount("text", 2), FieldCount("heading", 1), FieldCount("properties", 1))
    words = (
        WordContribution("sync", (exact,), 2, 1.61, 1.0, ("sync",), places, 0.25),
        WordContribution("conflikt", (spelled,), 14, 0.92, 1.0, ("conflict",), places[:1], 0.05),
        WordContribution("when", (), 40, 0.61, 0.35, (), (), 0.0),
        WordContribution("[/red]同步", (), 0, 0.0, 1.0, (), (), 0.0),
    )
    gaps = (
        SignalGap("words", 0.6, 0.84, 0.12),
        SignalGap("title", 0.0, 0.3, 0.15),
        SignalGap("meaning", 0.44, 0.4, -0.02),
    )
    ranks = (StrategyRank("auto", "hybrid", 2, 0.76, 8), StrategyRank("adaptive", "adaptive", 1_041, 0.5, 8))
    return NoteExplanation(
        query=query,
        requested_strategy=asked,
        note=hit.fragment.path,
        path=hit.fragment.path,
        ranks=(*ranks, StrategyRank("semantic", "semantic")),
        explanation=Explanation(hit, 2, hit.score, words),
        signal_gaps=tuple(sorted(gaps, key=lambda gap: -gap.cost)),
        compared=1,
        from_limit=2,
    )


# --- related notes and the map ----------------------------------------------------------------------------------------

_WORDS = ("conflict", "sync")


def matched_fragment(fragment: Fragment, words: Iterable[str] = _WORDS) -> MatchedFragment:
    return MatchedFragment(fragment, find_spans(fragment.text.casefold(), words))


def make_related_note(
    here: Fragment, there: Fragment, score: float, linked: LinkDirection = LinkDirection.NO
) -> RelatedNote:
    """Return a note with every kind of reason; with `linked` NO it lacks a link."""
    parts = (("words", 0.5), ("meaning", 0.3), ("common links", 0.19), ("tags", 0.01))
    return RelatedNote(
        path=there.path,
        title=there.title,
        score=score,
        signals=tuple(Signal(name, share, score, score * share) for name, share in parts),
        matches=(PassageMatch(matched_fragment(here), matched_fragment(there), 0.83, _WORDS),),
        words=(SharedWord("conflict", 3, there.line_start), SharedWord("[/red]", 5, there.line_start)),
        linked=linked,
        common=(CommonLink("Kitchen.md", "Kitchen", False), CommonLink("Index [x].md", "Index [x]", True)),
        tags=("sync", "howto"),
        mentions=(Mention(here.path, here.line_end, "merging", there.path),) if linked is LinkDirection.NO else (),
    )


def make_related(fragments: Iterable[Fragment], path: str, line: int | None, unlinked: bool) -> RelatedNotes:
    """Return related notes: the first fragment of each other note, the first notes most related."""
    every = list(fragments)
    of_note = [each for each in every if each.path == path] or every[:1]
    here = next((each for each in of_note if line is not None and each.line_start <= line <= each.line_end), of_note[0])
    first = {each.path: each for each in reversed(every) if each.path != path}
    links = (LinkDirection.NO, LinkDirection.BOTH, LinkDirection.FROM, LinkDirection.TO)
    notes = tuple(
        make_related_note(here, there, 0.72 / (rank + 1), links[rank % 4])
        for rank, there in enumerate(reversed(first.values()))
    )
    listed = tuple(note for note in notes if not (unlinked and note.linked is not LinkDirection.NO))
    fragment = here if line is not None else None
    return RelatedNotes(path, here.title, line, fragment, listed, 12.0, 7, len(notes) - len(listed))


def month_branches(kind: str, year: int, counts: Iterable[int]) -> Branch:
    below = tuple(
        Branch(f"{year}-{month:02}", f"{kind}:{year}-{month:02}", count, max(1, count // 4))
        for month, count in enumerate(counts, start=1)
        if count
    )
    return Branch(str(year), f"{kind}:{year}", sum(b.fragments for b in below), sum(b.notes for b in below), below)


def make_map(query: str) -> VaultMap:
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
        modified=(month_branches("modified", 2024, (0, 3, 8, 0, 21, 4)), month_branches("modified", 2026, (90, 412))),
        created=(),
        generation=7,
    )


# --- an overview ------------------------------------------------------------------------------------------------------

CONFLICTS = SourceLocation("Sync/Conflicts.md", "Conflicts", 6, 11, ("Conflicts",))
RESOLVE = SourceLocation("Sync/Conflicts.md", "Conflicts", 13, 26, ("Conflicts", "Resolve a conflict"))
MERGING = SourceLocation("Merging.md", "Merging", 1, 3, ("Merging",))
FAILS = SourceLocation("Merging.md", "Merging", 5, 7, ("Merging", "When merging fails"))
CHINESE = SourceLocation("同步/冲突.md", "同步冲突", 1, 3, ("同步冲突",))
HOSTILE = SourceLocation("Hostile [bold]x.md", "[/red] conflict", 1, 3, ("[/red] conflict",))
KITCHEN = SourceLocation("Kitchen.md", "Kitchen", 1, 3, ("Kitchen",))

MONTHS = (
    Month("2024-03", 2, MERGING),
    Month("2024-04", 5, CONFLICTS),
    Month("2024-08", 1, HOSTILE),
    Month("2025-02", 8, CHINESE),
    Month("2025-03", 3, CONFLICTS),
)

OVERVIEW = Overview(
    topic="sync conflict",
    budget=800,
    tokenizer="o200k",
    generation=7,
    confidence=Confidence.STRONG,
    matched=41,
    fragments=34,
    notes=12,
    vault_fragments=1_204,
    vault_notes=171,
    main_notes=(
        MainNote(CONFLICTS, 9, 12, 0.265, 1.0),
        MainNote(MERGING, 6, 40, 0.176, 0.9),
        MainNote(CHINESE, 3, 3, 0.088, 0.6),
        MainNote(HOSTILE, 1, 7, 0.029, 0.4),
        MainNote(KITCHEN, 1, 318, 0.002, 0.1),
    ),
    sections=(
        KeySection(RESOLVE, 4, 212, 1.0),
        KeySection(FAILS, 2, 1_080, 0.7),
        KeySection(CHINESE, 1, 64, 0.4),
        KeySection(HOSTILE, 1, 58, 0.3),
    ),
    passages=(
        KeyPassage(
            CONFLICTS,
            "A sync conflict arises when two devices change one note before they meet. The newer one is kept, and the "
            "older one stands beside it as a file of its own.",
            cut_before=False,
            cut_after=True,
            score=1.0,
            confidence=Confidence.STRONG,
        ),
        KeyPassage(
            MERGING,
            "Where both changed the same line, that is a conflict, and both lines are kept.",
            cut_before=True,
            cut_after=False,
            score=0.8,
            confidence=Confidence.LIKELY,
        ),
        KeyPassage(
            CHINESE, "两台设备在同步之前修改了同一篇笔记,就会出现 sync 冲突。", False, True, 0.6, Confidence.LIKELY
        ),
        KeyPassage(HOSTILE, "Not markup: sync, [/foo], \x1b[31mred\x1b[0m.", False, False, 0.4, Confidence.WEAK),
    ),
    themes=(
        Theme(("devices", "newer", "older", "keep both"), 14, 5, 0.41, CONFLICTS),
        Theme(("merge", "line by line", "binary"), 9, 3, 0.26, MERGING),
        Theme(("冲突", "设备", "[x]"), 4, 1, 0.12, CHINESE),
    ),
    standouts=(
        DistinctiveLabel(LabelKind.TAG, "", "sync", 9, 12, 14, 171, 41.2, "tag:sync", CONFLICTS),
        DistinctiveLabel(LabelKind.FOLDER, "", "Sync", 6, 12, 7, 171, 30.1, "path:/Sync/", CONFLICTS),
        DistinctiveLabel(LabelKind.PROPERTY, "status", "to do", 3, 12, 5, 171, 12.0, 'status:"=to do"', MERGING),
    ),
    related=(
        LinkedNote(FAILS, ("Sync/Conflicts.md",), ("Sync/Conflicts.md", "同步/冲突.md"), 0),
        LinkedNote(KITCHEN, (), ("Merging.md",), 1),
        LinkedNote(HOSTILE, ("Merging.md",), (), 1),
    ),
    names=(
        LinkedName("Ada Lovelace", "People/Ada Lovelace.md", 4, 31, CONFLICTS),
        LinkedName('The "new" [/red] server', None, 1, 1, HOSTILE),
    ),
    timeline=Timeline("created", MONTHS, 2),
)
"""An overview with every kind of line, markup and escape codes in names, and a share too small to show."""


# --- the start list ---------------------------------------------------------------------------------------------------

NEWEST_NOTES = (
    DatedNote("Hostile [bold]x.md", "[/red] conflict", date(2026, 3, 2)),
    DatedNote("Kitchen.md", "Kitchen", date(2026, 3, 1)),
    DatedNote("同步/冲突.md", "同步冲突", date(2026, 2, 27)),
    DatedNote("Merging.md", "Merging", date(2025, 12, 31)),
    DatedNote("Sync/Conflicts.md", "Conflicts", date(2024, 4, 5)),
)

# --- the status of memories -------------------------------------------------------------------------------------------


def check_sources(memories: Sequence[Memory], notes: Vault) -> dict[str, SourceCheck]:
    return {memory.id: _check_source(memory, notes) for memory in memories}


def badges_of(memories: Sequence[Memory], fragments: Sequence[Fragment]) -> dict[str, tuple[Memory, ...]]:
    found = ((one.id, find_memories_at(memories, one.path, one.line_start, one.line_end)) for one in fragments)
    return {fragment_id: about for fragment_id, about in found if about}


def _check_source(memory: Memory, notes: Vault) -> SourceCheck:
    """Return the status of a memory's source; moved lines are not searched for."""
    source = memory.source
    if source is None:
        return SourceCheck(SourceStatus.NONE, memory)
    if not any(each.path == source.path for each in notes.fragments):
        return SourceCheck(SourceStatus.GONE, memory)
    lines = notes.note_text(source.path).split("\n")
    now = "\n".join(lines[source.line_start - 1 : source.line_end])
    kind = SourceStatus.FRESH if now == memory.text else SourceStatus.CHANGED
    return SourceCheck(kind, memory, replace(source, digest="0" * 16), now)
