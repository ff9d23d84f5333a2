"""A hand-made overview of the notes used in pictures."""

from __future__ import annotations

from excerpt.insight.overview_parts import (
    KeyPassage,
    KeySection,
    LabelKind,
    LinkedName,
    LinkedNote,
    MainNote,
    Month,
    Overview,
    Place,
    Standout,
    Theme,
    Timeline,
)
from excerpt.kinds import Confidence

CONFLICTS = Place("Sync/Conflicts.md", "Conflicts", 6, 11, ("Conflicts",))
RESOLVE = Place("Sync/Conflicts.md", "Conflicts", 13, 26, ("Conflicts", "Resolve a conflict"))
MERGING = Place("Merging.md", "Merging", 1, 3, ("Merging",))
FAILS = Place("Merging.md", "Merging", 5, 7, ("Merging", "When merging fails"))
CHINESE = Place("同步/冲突.md", "同步冲突", 1, 3, ("同步冲突",))
HOSTILE = Place("Hostile [bold]x.md", "[/red] conflict", 1, 3, ("[/red] conflict",))
KITCHEN = Place("Kitchen.md", "Kitchen", 1, 3, ("Kitchen",))

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
        Standout(LabelKind.TAG, "", "sync", 9, 12, 14, 171, 41.2, "tag:sync", CONFLICTS),
        Standout(LabelKind.FOLDER, "", "Sync", 6, 12, 7, 171, 30.1, "path:/Sync/", CONFLICTS),
        Standout(LabelKind.PROPERTY, "status", "to do", 3, 12, 5, 171, 12.0, 'status:"=to do"', MERGING),
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
