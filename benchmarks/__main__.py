"""Measure excerpt's speed beside peers in the same run: `make bench`, or `python -m benchmarks`.

Absolute figures of a busy machine mean little: compare the ratios.
"""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path

from benchmarks import edits, first_paint, indexing, insight, keys, memory, one_command, search_speed, store
from benchmarks.measure import Data, result, write_option

PIECES = {
    "indexing": indexing,
    "search": search_speed,
    "command": one_command,
    "keys": keys,
    "paint": first_paint,
    "edits": edits,
    "memory": memory,
    "insight": insight,
    "store": store,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--only", nargs="*", choices=list(PIECES), default=list(PIECES), help="only these pieces")
    write_option(parser, "bench")
    args = parser.parse_args()
    if args.write and set(args.only) != set(PIECES):
        parser.error("--write is for all pieces")
    data = Data(args.data.resolve())
    with result("bench", "Benchmarks", write=args.write and data.there):
        print(f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores")
        for name, piece in PIECES.items():
            if name in args.only:
                piece.measure(data)


if __name__ == "__main__":
    main()
