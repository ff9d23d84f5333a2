"""Measure whether related notes are those that the vault's author linked: `python -m benchmarks.related`.

Each vault is copied without its links and their texts and then indexed: `[[Sync|the sync]]` leaves nothing, in the text
and in properties, so that neither the graph nor the name of the target in the passage is known. For each pair of notes
that the vault links, the second is looked for among the ten nearest to the first. (Links are read as Obsidian reads
them, and where that gives no note, as Dendron does, with the target behind the bar.)

Measured the same way: words alone (excerpt's own measure, and the cosine of whole notes' textbook TF-IDF), vectors
alone (of whole notes' mean vectors, and excerpt's own measure, passage by passage), and all signals. The last row shows
what links in common add: only the links of the pair are hidden, one pair after the other; the notes that the first is
linked with otherwise are left out of the list.

The weights were chosen on the first two vaults; the others test whether they generalise.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.indexing import index_folder
from benchmarks.measure import WORK, Data, index, table
from excerpt.base.settings import Settings
from excerpt.index.snapshot import Snapshot
from excerpt.insight.similarity import SIGNALS, WEIGHTS, load_reference_note, score_related_notes
from excerpt.text.words import terms_of

CHOSEN_ON = ("obsidian-help/en", "dendron-site")
CHECKED_ON = ("powershell-docs-one", "obsidian-help/de")
AT = 10
MAX_PAIRS = 1000
"""Pairs that are hidden one by one, taken at even distances."""

Pairs = Sequence[tuple[int, int]]
Scores = npt.NDArray[np.float32]

_LINKS = (
    re.compile(r"!?\[\[[^\[\]\n]+\]\]"),
    re.compile(
        r"!?\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]\((?![A-Za-z][A-Za-z0-9+.-]*:|//)[^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
    ),
    re.compile(r"!?\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]\[[^\[\]\n]*\]"),
    re.compile(r"^\[[^\[\]\n]+\]:.*$", re.MULTILINE),
)


def measure(data: Data) -> None:
    print(f"\n## Related notes: recall@{AT} of linked notes, links hidden\n")
    for name in (*CHOSEN_ON, *CHECKED_ON):
        vault = data.vault(name)
        if vault is not None:
            _measure(vault, name)


def _measure(vault: Path, name: str) -> None:
    bare = _without_links(vault, WORK / "without-links" / name)
    index(vault)
    index(bare)
    with (
        closing(Snapshot.open(index_folder(vault), Settings())) as linked,
        closing(Snapshot.open(index_folder(bare), Settings())) as hidden,
    ):
        pairs = _pairs(linked, hidden)
        left = len(hidden.facets.links[0])
        print(f"{name}: {len(hidden.table.paths):,} notes, {len(pairs):,} pairs, {left} links left\n")
        signals = _signals(hidden)
        ways: dict[str, Scores] = {
            "words alone (ours)": signals[:, :, SIGNALS.index("words")],
            "words alone (TF-IDF cosine)": _tf_idf(hidden),
            "vectors alone (passages, ours)": signals[:, :, SIGNALS.index("meaning")],
            "vectors alone (mean of a note)": _mean_vectors(hidden),
            "related": signals @ np.array([*WEIGHTS.values()], np.float32),
        }
        rows = [(way, *_figures(scores, pairs)) for way, scores in ways.items()]
        rows.append(_one_by_one(hidden, pairs))
        table(("", "of pairs", "of notes"), rows)
        print()


def _without_links(vault: Path, target: Path) -> Path:
    """Copy the vault's notes without any link and return the folder."""
    shutil.rmtree(target, ignore_errors=True)
    for file in sorted(vault.rglob("*.md")):
        if file.is_file() and not file.is_symlink():
            text = file.read_text(encoding="utf-8", errors="replace")
            for link in _LINKS:
                text = link.sub("", text)
            copy = target / file.relative_to(vault)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")
    return target.resolve()


def _pairs(linked: Snapshot, hidden: Snapshot) -> Pairs:
    """Return the pairs of a linking note and its target, by their numbers in `hidden`."""
    numbers, targets = hidden.facets.numbers, linked.facets.targets
    found: set[tuple[int, int]] = set()
    for path, target, text in linked._rows("SELECT path, target, text FROM links JOIN notes ON notes.id = note"):
        behind_bar = (text or "").split("#")[0].strip()
        to = next((to for one in (target, behind_bar) if one and (to := targets.resolve(one, path))), None)
        if to is not None and to in numbers and path in numbers and to != path:
            found.add((numbers[path], numbers[to]))
    return sorted(found)


def _signals(snapshot: Snapshot) -> Scores:
    """Return an array of notes x notes x SIGNALS, zero for pairs that were not candidates."""
    paths = snapshot.table.paths
    found = np.zeros((len(paths), len(paths), len(SIGNALS)), np.float32)
    for note, path in enumerate(paths):
        near = score_related_notes(snapshot, load_reference_note(snapshot, path, None))
        found[note, near.notes] = near.signals
    return found


def _tf_idf(snapshot: Snapshot) -> Scores:
    """Return the cosine similarity of the notes' TF-IDF vectors: logarithmic term frequency times idf."""
    table = snapshot.table
    counts: list[Counter[str]] = [Counter() for _ in table.paths]
    for fragment, note in zip(snapshot.fragments(table.keys.tolist()), table.notes.tolist(), strict=True):
        counts[note].update(terms_of(fragment.text, table.languages[note])[0])
    for note, path in enumerate(table.paths):
        counts[note].update(terms_of(snapshot.note_info(path).title, table.languages[note])[0])
    places = {term: place for place, term in enumerate(sorted(set().union(*counts)))}
    weights = np.zeros((len(counts), len(places)), np.float32)
    for note, terms in enumerate(counts):
        weights[note, [places[term] for term in terms]] = np.log1p(np.array([*terms.values()], np.float32))
    having = np.count_nonzero(weights, axis=0)
    weights *= np.log1p((len(counts) - having + 0.5) / (having + 0.5)).astype(np.float32)
    return _cosines(weights)


def _mean_vectors(snapshot: Snapshot) -> Scores:
    notes = snapshot.table.notes
    means = np.zeros((len(snapshot.table.paths), len(snapshot.vectors.mean)), np.float32)
    np.add.at(means, notes, snapshot.vectors.rows(np.arange(len(notes))))
    return _cosines(means)


def _cosines(rows: Scores) -> Scores:
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    found: Scores = rows @ rows.T
    return found


def _figures(scores: Scores, pairs: Pairs) -> tuple[str, str]:
    """Return the share of the pairs that are found, and the mean of the share per note, of at most AT each."""
    wanted: defaultdict[int, set[int]] = defaultdict(set)
    for note, other in pairs:
        wanted[note].add(other)
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    first = np.argsort(-scores, axis=1, kind="stable")[:, :AT]
    found = {note: len(others & set(first[note].tolist())) for note, others in wanted.items()}
    of_notes = np.mean([found[note] / min(AT, len(others)) for note, others in wanted.items()])
    return f"{sum(found.values()) / len(pairs):.3f}", f"{of_notes:.3f}"


def _one_by_one(snapshot: Snapshot, pairs: Pairs) -> tuple[str, str, str]:
    """Return the figures with all links known except those of the pair looked for."""
    sources, targets = np.array(pairs, np.int32).T
    asked = [pairs[at] for at in np.linspace(0, len(pairs) - 1, min(MAX_PAIRS, len(pairs))).astype(int)]
    found: defaultdict[int, list[bool]] = defaultdict(list)
    for note, other in asked:
        theirs = ((sources == note) & (targets == other)) | ((sources == other) & (targets == note))
        snapshot.facets.__dict__["links"] = (sources[~theirs], targets[~theirs])
        near = score_related_notes(snapshot, load_reference_note(snapshot, snapshot.table.paths[note], None))
        known = near.signals[:, SIGNALS.index("links")] > 0
        order = np.lexsort((near.notes, -near.scores))
        first = near.notes[order[~known[order]][:AT]]
        found[note].append(other in first)
    of_pairs = np.mean([one for hits in found.values() for one in hits])
    of_notes = np.mean([np.mean(hits) for hits in found.values()])
    return "related, the other links known", f"{of_pairs:.3f}", f"{of_notes:.3f}"


if __name__ == "__main__":
    measure(Data(Path("../shared").resolve()))
