"""Links, tags and folders that two notes share, and how much each of them says."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import Corpus
from excerpt.text.folding import fold

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

HALF_SIGNAL_LINKS = 1.5
"""The rarity-weighted number of shared links at which the shared-links score is 0.5.

It takes about three shared notes that have few links, or ten that have many.
"""
_FOLDER_SEPARATOR = lazy_pattern(r"[/.]")
_LAST_CHARACTER = "\U0010ffff"


class NoteLinks(Struct, frozen=True):
    """The links of one note: it links to `linked_notes`, and `linking_notes` link to it (note numbers, ascending).

    `shared_links` holds, for every note of the vault, a score of 0 to 1 for the links that it shares with this note.
    """

    linked_notes: Ints
    linking_notes: Ints
    shared_links: Floats

    @property
    def direct_links(self) -> Floats:
        """For every note of the vault: 1 if the two notes link to each other, 0.5 if only one links, else 0."""
        strengths = np.zeros(len(self.shared_links), np.float32)
        strengths[self.linked_notes] += 0.5
        strengths[self.linking_notes] += 0.5
        return strengths


def load_note_links(snapshot: Corpus, note: int) -> NoteLinks:
    """Return the links of the note with number `note`, with a shared-links score for every other note.

    Two notes share a link if both link to a third note, or if a third note links to both. The third note counts less
    the more links it has (Adamic and Adar, 2003): two notes on the same index page have little in common.
    """
    count = len(snapshot.table.paths)
    sources, targets = snapshot.facets.links
    to, back = targets[sources == note], sources[targets == note]
    linked_from, links_to = np.bincount(targets, minlength=count), np.bincount(sources, minlength=count)
    alike, beside = np.isin(targets, to), np.isin(sources, back)
    common = np.zeros(count)
    common += np.bincount(sources[alike], 1 / np.log(2 + linked_from[targets[alike]]), count)
    common += np.bincount(targets[beside], 1 / np.log(2 + links_to[sources[beside]]), count)
    common[note] = 0
    return NoteLinks(np.sort(to), np.sort(back), (common / (common + HALF_SIGNAL_LINKS)).astype(np.float32))


def find_connecting_notes(snapshot: Corpus, links: NoteLinks, other: int) -> tuple[list[int], list[int]]:
    """Return the notes that two notes both link to, and the notes that link to both of them.

    `links` are those of the first note; `other` is the number of the second. Notes with the fewest links come first.
    """
    sources, targets = snapshot.facets.links
    both = np.intersect1d(links.linked_notes, targets[sources == other])
    back = np.intersect1d(links.linking_notes, sources[targets == other])
    return (
        sorted(both.tolist(), key=lambda note: (int(np.count_nonzero(targets == note)), note)),
        sorted(back.tolist(), key=lambda note: (int(np.count_nonzero(sources == note)), note)),
    )


def score_shared_tags(snapshot: Corpus, tags: Iterable[str]) -> Floats:
    """Return, for each note of the vault, which share of `tags` it has, 0 to 1, each tag weighted by its rarity."""
    count = len(snapshot.table.paths)
    value = np.zeros(count, np.float32)
    every = 0.0
    for tag in sorted({fold(tag).strip("/") for tag in tags}):
        notes = snapshot.facets.tags.get(tag)
        if notes is not None and len(notes) > 1:
            value[notes] += rarity_score(len(notes), count)
            every += rarity_score(len(notes), count)
    return value / np.float32(max(every, 1e-9))


def find_shared_folder(paths: Sequence[str], path: str, other: str) -> str:
    """Return the smallest folder that the notes `path` and `other` share; "" if that is the whole vault.

    Dots in names count as folders too: in some vaults, `project.alpha.plan` is below `project.alpha`. `paths` are all
    paths of the vault, sorted.
    """
    shared = ""
    for folder in _list_enclosing_folders(path):
        if not other.startswith(folder):
            break
        shared = folder
    return shared if shared and _count_notes_below(paths, shared) < len(paths) else ""


def score_shared_folders(paths: Sequence[str], path: str, notes: Ints) -> Floats:
    """Return, for each of `notes`, a score of 0 to 1 for the smallest folder that it shares with the note `path`.

    The score is 0 if that folder holds the whole vault, and higher the fewer notes the folder holds (`rarity_score`).
    `paths` are all paths of the vault, sorted.
    """
    note_sizes = {
        folder: rarity_score(_count_notes_below(paths, folder), len(paths)) for folder in _list_enclosing_folders(path)
    }
    shared = (find_shared_folder(paths, path, paths[note]) for note in notes.tolist())
    return np.array([note_sizes.get(folder, 0.0) for folder in shared], np.float32)


def _list_enclosing_folders(path: str) -> list[str]:
    """Return the folders above the note `path`, and the prefixes of its name up to each dot, the outermost first."""
    name = path.rpartition(".")[0]
    return [path[: match.end()] for match in _FOLDER_SEPARATOR.finditer(name)]


def _count_notes_below(paths: Sequence[str], folder: str) -> int:
    return bisect_left(paths, folder + _LAST_CHARACTER) - bisect_left(paths, folder)


def rarity_score(count: int, total: int) -> float:
    """Return how rare a feature is that `count` of `total` items have: 1 for one item, 0 for all, logarithmic."""
    return float(1 - np.log(max(count, 1)) / np.log(total)) if total > 1 else 0.0
