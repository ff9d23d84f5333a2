"""List pairs of notes that are much alike and not linked, best first: `python missing_links.py ~/notes`."""

from __future__ import annotations

import sys

import excerpt

MIN_SCORE = 0.4


def unlinked_pairs(vault: excerpt.Vault) -> list[tuple[float, str, str]]:
    """Return (score, path, path) of notes that are related without a link, the best first."""
    pairs: dict[tuple[str, str], float] = {}
    for note in vault.notes():
        for other in vault.related(note.path, limit=5).notes:
            if other.linked is excerpt.LinkDirection.NO and other.score >= MIN_SCORE:
                first, second = sorted((note.path, other.path))
                pairs[first, second] = max(other.score, pairs.get((first, second), 0))
    return sorted(((score, *paths) for paths, score in pairs.items()), reverse=True)


if __name__ == "__main__":
    with excerpt.open(sys.argv[1]) as vault:
        for score, first, second in unlinked_pairs(vault):
            print(f"{score:.2f}  {first}  {second}")
