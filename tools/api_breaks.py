"""List what in the Python API breaks programs written for the last release: `make breaks`.

`griffe check` would list every change in the engine, which is internal: only the names in `excerpt.service.public` and
their members are compared here.
"""

from __future__ import annotations

import subprocess
import sys

import griffe


def main() -> int:
    asked = ["git", "describe", "--tags", "--abbrev=0"]
    tag = sys.argv[1] if sys.argv[1:] else subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    if not tag.strip():
        print("There is no release yet.")
        return 0
    old = griffe.load_git("excerpt", ref=tag.strip(), search_paths=["src"])
    new = griffe.load("excerpt", search_paths=["src"])
    public = tuple(each.target_path for each in old["service.public"].members.values())
    broken = [
        change
        for change in griffe.find_breaking_changes(old, new)
        if any(f"{change.obj.canonical_path}.".startswith(f"{path}.") for path in public)
    ]
    for change in broken:
        print(change.explain(style=griffe.ExplanationStyle.ONE_LINE))
    print(f"{len(broken)} breaks since {tag.strip()}.")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
