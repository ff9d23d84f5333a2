"""Measure overviews of real vaults: their cost beside a search, and whether they name the right main notes.

The right notes come from the known-item sets (notes that are relevant to a query with all words of the topic) and from
the vault's own index, which is read here without the engine. That index is index pages, notes of which a third of the
lines contain links: a link counts if its line, or a title or heading above it, has all words of the topic. Index
entries in the frontmatter of notes (the keywords of a help viewer) count too if they have all words.

For the queries of the known-item sets it measures how often the printed overview contains the answer, and the first
hits of a search: in the lines of a key passage or section or, if a whole note answers, by its path.
"""

from __future__ import annotations

import json
import posixpath
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean
from urllib.parse import unquote

import frontmatter
import yaml

from benchmarks.indexing import index_folder
from benchmarks.judgements import Place, QuerySet, overlaps
from benchmarks.measure import Data, index, percentile, table
from benchmarks.targets import verdict

TOPICS = (
    ("obsidian-help/en", "obsidian-help-en.dev", ("sync", "publish", "plugins")),
    ("cpp-docs", "cpp-docs.dev", ("coroutines", "memory leak")),
)
BROAD = {"obsidian-help/en": ("note", "link"), "cpp-docs": ("function", "string", "exception handling")}
"""Topics that much of a vault is about: only their cost is measured."""
ASKED = (
    ("obsidian-help/en", "obsidian-help-en.dev"),
    ("dendron-site", "dendron-site.dev"),
    ("powershell-docs-one", "powershell-docs-one.dev"),
)
"""Vaults and query sets whose queries are used as topics of overviews."""
MAX_MS = 150.0
MIN_NAMED = 4
INDEX_SHARE = 0.3
RUNS = 9

_LINK = re.compile(r"\[\[([^\[\]|#\n]+)[^\[\]\n]*\]\]|\]\(([^()\s#]+)[^()\n]*\)")
_WORD = re.compile(r"\w+")


def measure(data: Data) -> None:
    print("\n## Overviews\n")
    rows: list[Sequence[str]] = []
    said: list[str] = []
    for name, queries, topics in TOPICS:
        vault = data.vault(name)
        if vault is None:
            continue
        index(vault)
        for topic, ms, search_ms, tokens, main in _overviews(vault, (*topics, *BROAD[name])):
            judged = topic in topics
            named = {*_in_queries(data, queries, topic), *_in_index(vault, topic)} if judged else set()
            right = sum(path in named for path in main)
            shown = f"{right} of {len(main)}" if judged else ""
            rows.append((f"{name}: {topic}", f"{ms:.0f}", f"{ms / search_ms:.0f}", str(tokens), shown))
            said.append(verdict(ms <= MAX_MS, f"{topic}: {ms:.0f} ms of CPU, at most {MAX_MS:.0f}"))
            if judged:
                others = ", ".join(path for path in main if path not in named)
                least = f"at least {MIN_NAMED}" + (f"; named nowhere: {others}" if others else "")
                said.append(verdict(right >= MIN_NAMED, f"{topic}: {shown} main notes are named, {least}"))
    if rows:
        table(("", "CPU ms", "times a search", "tokens", "main notes named"), rows)
        print("\n" + "\n".join(said) + "\n")
    if held := [_held(vault, data, queries) for name, queries in ASKED if (vault := data.vault(name)) is not None]:
        table(("", "queries", "answer in the overview", "among the first hits", "first hits in the overview"), held)


def _overviews(vault: Path, topics: Sequence[str]) -> Iterator[tuple[str, float, float, int, list[str]]]:
    """Yield for each topic the cost of its overview and of a search for it, the overview's tokens and main notes.

    Costs are CPU milliseconds, warm, the median of several; that of the overview includes rendering.
    """
    from excerpt.base.settings import Settings
    from excerpt.index.snapshot import Snapshot
    from excerpt.insight.overview import build_overview
    from excerpt.search.engine import Engine
    from excerpt.text.tokens import open_tokenizer

    with closing(Snapshot.open(index_folder(vault), Settings())) as snapshot:
        engine = Engine(snapshot, Settings())
        engine.warm()
        for topic in topics:
            found = build_overview(engine, topic)
            tokens = open_tokenizer(found.tokenizer).count(found.text)
            spent, searched = [], []
            for _ in range(RUNS):
                began = time.process_time()
                _ = build_overview(engine, topic).text
                between = time.process_time()
                engine.search(topic)
                spent.append((between - began) * 1e3)
                searched.append((time.process_time() - between) * 1e3)
            main = [note.place.path for note in found.main_notes]
            yield topic, percentile(spent, 0.5), percentile(searched, 0.5), tokens, main


# --- what is held -----------------------------------------------------------------------------------------------------

_PLACE = re.compile(r"`([^`\n]+?)(?::(\d+)(?:-(\d+))?)?`$", re.MULTILINE)
_LATER = re.compile(r"^## (?:Themes|Stands|Related|When|Also)", re.MULTILINE)


def _held(vault: Path, data: Data, queries: str) -> Sequence[str]:
    """Return a table row: the shares of queries whose answer the overview and the first hits contain.

    The last column is the share of the first hits that the overview contains.
    """
    from excerpt.base.settings import Settings
    from excerpt.index.snapshot import Snapshot
    from excerpt.insight.overview import build_overview
    from excerpt.insight.topic import INCLUDED_HITS
    from excerpt.search.engine import Engine

    index(vault)
    questions = QuerySet(queries, vault, data.root / "data" / "queries" / f"{queries}.jsonl", None).questions()
    told, found, first = [], [], []
    with closing(Snapshot.open(index_folder(vault), Settings())) as snapshot:
        engine = Engine(snapshot, Settings())
        for question in questions:
            text = _LATER.split(build_overview(engine, question.text).text)[0]
            lines = [Place(path, int(a), int(b or a)) for path, a, b in _PLACE.findall(text) if a]
            fragments = [hit.fragment for hit in engine.search(question.text, limit=INCLUDED_HITS).hits]
            hits = [Place(one.path, one.line_start, one.line_end) for one in fragments]
            first += [overlaps([hit], lines) for hit in hits]
            if question.targets:
                told.append(overlaps(question.targets, lines))
                found.append(overlaps(question.targets, hits))
            else:
                told.append(any(f"`{path}" in text for path in question.grades))
                found.append(any(hit.path in question.grades for hit in hits))
    return queries, str(len(questions)), *(f"{fmean(shares):.3f}" for shares in (told, found, first))


# --- which notes are named --------------------------------------------------------------------------------------------


def _in_queries(data: Data, queries: str, topic: str) -> Iterator[str]:
    """Yield the notes that are relevant to a query with all words of the topic."""
    file = data.root / "data" / "queries" / f"{queries}.jsonl"
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if _says(row["query"], topic):
            yield from (place["path"] for place in row["relevant"])


def _in_index(vault: Path, topic: str) -> Iterator[str]:
    """Yield the notes that the vault's own index lists for the topic, and index pages whose name contains it."""
    notes = {path.relative_to(vault).as_posix(): path for path in vault.rglob("*.md")}
    by_stem: dict[str, str] = {}
    for path in sorted(notes, key=lambda path: (path.count("/"), path), reverse=True):
        by_stem[posixpath.basename(path).removesuffix(".md").lower()] = path
    for path, file in notes.items():
        lines = [line for line in file.read_text(encoding="utf-8", errors="replace").split("\n") if line.strip()]
        if sum(_LINK.search(line) is not None for line in lines) >= INDEX_SHARE * len(lines):
            yield from _named_by(path, lines, topic, set(notes), by_stem)
        if any(_says(entry, topic) for entry in _entries(file)):
            yield path


def _entries(file: Path) -> list[str]:
    """Return the index entries in a note's frontmatter."""
    try:
        properties = frontmatter.load(str(file)).metadata
    except (yaml.YAMLError, UnicodeDecodeError):
        return []
    found = [values for name, values in properties.items() if name.endswith("keywords")]
    return [str(value) for values in found for value in (values if isinstance(values, list) else [values])]


def _named_by(path: str, lines: list[str], topic: str, notes: set[str], by_stem: dict[str, str]) -> Iterator[str]:
    title = next((line for line in lines if re.match(r"title:|# ", line)), "") + posixpath.basename(path)
    all_of_it = _says(title, topic)
    if all_of_it:
        yield path
    heading = ""
    for line in lines:
        heading = line if line.startswith("#") else heading
        if all_of_it or _says(f"{heading} {line}", topic):
            for wiki, address in _LINK.findall(line):
                beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(address)))
                target = by_stem.get(posixpath.basename(wiki).removesuffix(".md").lower()) if wiki else beside
                if target in notes:
                    yield target


def _says(text: str, topic: str) -> bool:
    """Return whether a text has all words of a topic, in singular or plural, also as parts of other words."""
    lowered = " ".join(_WORD.findall(text.lower()))
    return all(word.removesuffix("s") in lowered for word in topic.split())
