"""A small vault with everything that filters examine, and a function to query it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date, datetime, time
from pathlib import Path

from excerpt.base.settings import Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.search.evidence import analyze_text
from excerpt.search.filters import Flags, flag_allowed_rows, sort_newest_first
from excerpt.search.query import Query, parse_alternatives

TODAY = date(2025, 3, 14)  # a Friday

NOTES: Mapping[str, str] = {
    "Projects/Alpha.md": """---
title: The Alpha project
aliases: [First plan, Résumé of Alpha]
tags: [project/active, Überblick]
status: in progress
rating: 4
done: false
due: 2025-03-20
created: 2024-06-01T09:30:00Z
budget: 12.5
people:
  lead: Ada Lovelace
  crew: [Grace Hopper, Alan Turing]
notes: |
  two lines
  of text
empty:
---
Alpha links to [[Beta]] and to [the diary](../Diary/2025-02-28.md).

## Open questions

What does the beta need? See [[Alpha]] too.
""",
    "Projects/Beta.md": """---
tags: project
status: done
rating: "10"
done: true
due: 1/15/2025
date: 5 March 2024
---
# Beta

Beta is *quite* finished, and nobody doubts it. C++ was used, and R&D paid for it.

## Settled questions

None is left. #project/closed
""",
    "Projects/Projection.md": "# Projection\n\nA map is a projection. #projection\n",
    "Diary/2025-02-28.md": "Wrote to [[First plan]] and about [[Beta|the second]]. The meeting was long.\n",
    "Diary/20240101 New year.md": "---\nstatus: not done\nrating: none\n---\nFireworks over the harbour. [[Missing]]\n",
    "日记/同步.md": "---\ntags: [笔记/同步]\n状态: 已完成\nupdated: 2025年2月3日\n---\n"
    "# 同步设置\n\n新的保管库在设备之间同步。\n",
}
"""Notes with every YAML type, common date formats, nested tags and names in several scripts."""

MODIFIED = {
    "Projects/Alpha.md": date(2025, 3, 14),
    "Projects/Beta.md": date(2025, 3, 13),
    "Projects/Projection.md": date(2025, 3, 10),
    "Diary/2025-02-28.md": date(2025, 2, 28),
    "Diary/20240101 New year.md": date(2024, 1, 1),
    "日记/同步.md": date(2025, 3, 13),
}


def open_vault(root: Path, notes: Mapping[str, str], modified: Mapping[str, date] | None = None) -> Snapshot:
    """Index a vault of these notes; `modified` are the days, at noon, of their last change."""
    for path, text in notes.items():
        file = root / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        if modified:
            noon = datetime.combine(modified[path], time(12)).timestamp()
            os.utime(file, (noon, noon))
    build(root / "vault", root / "index", Settings())
    return Snapshot.open(root / "index", Settings())


def queries(snapshot: Snapshot, typed: str) -> tuple[Query, ...]:
    return parse_alternatives(typed, snapshot.facets.properties, snapshot.facets.tags)


def rows_allowed(snapshot: Snapshot, query: Query) -> Flags | None:
    return flag_allowed_rows(query, snapshot, lambda text: analyze_text(text, snapshot), TODAY)


def notes_allowed(snapshot: Snapshot, typed: str) -> list[str]:
    """Return the stems of the notes that pass a query's first alternative, newest first."""
    flags = rows_allowed(snapshot, queries(snapshot, typed)[0])
    assert flags is not None, "nothing was filtered"
    paths = [snapshot.table.paths[note] for note in snapshot.table.notes[sort_newest_first(flags, snapshot)]]
    return list(dict.fromkeys(Path(path).stem for path in paths))
