"""Builds that are killed or run out of disk space, one after the other; test_killed.py runs this script.

The script forks each build, so that all modules are loaded, as in a long-running process. The parent has no threads
that a fork could break.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from excerpt.base.errors import IndexUnusableError
from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings
from excerpt.index import build as building
from excerpt.index import lexical_writer, pool, vectors
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from tests.index.content import content

_WORDS = ("garden", "soil", "water", "rose", "prune", "winter", "seed", "compost", "tea", "kettle", "leaf", "brew")
_FIRST_BATCH_NOTES = 12
# Seconds until a build is killed, at most, per kind: starts with _GIVEN, grows a little after each killed build, and
# shrinks after each that completed before. So about a quarter complete, and the others are killed at moments spread
# over their whole course, on a busy machine too.
_GIVEN = 0.05
_MORE, _LESS = 1.05, 0.87
_REFUSED = 3
_SEED = 1


def use_small_steps() -> None:
    """Shrink batch sizes so that a dozen small notes cause several commits, merges and new matrices."""
    building._FIRST_BATCH_NOTES = 3
    building._FIRST_BATCH_BYTES = 2_000
    building._BATCH_GROWTH_FACTOR = 1
    pool._IN_PROCESS_FILES = 3
    lexical_writer._SEGMENTS_PER_MERGE = 3
    vectors._MAX_BLOCKS = 4


class Vault:
    """A vault with random edits."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.root, self._rng, self._count = root, rng, 0
        root.mkdir()
        for _ in range(_FIRST_BATCH_NOTES):
            self._write(self._new_path())

    def edit(self) -> None:
        """Make one to four edits."""
        for _ in range(self._rng.randint(1, 4)):
            kinds = (self._create, self._change, self._change, self._remove, self._rename, self._move_folder)
            self._rng.choice(kinds)()

    def _notes(self) -> list[Path]:
        return sorted(self.root.rglob("*.md"))

    def _new_path(self) -> Path:
        self._count += 1
        folder = self._rng.choice(("", "a/", "b/", "a/deep/"))
        return self.root / f"{folder}note {self._count}.md"

    def _write(self, file: Path) -> None:
        paragraphs = (" ".join(self._rng.choices(_WORDS, k=30)) for _ in range(self._rng.randint(1, 30)))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\ntags: [{self._rng.choice(_WORDS)}]\n---\n# Note\n\n" + "\n\n".join(paragraphs) + "\n")

    def _create(self) -> None:
        self._write(self._new_path())

    def _change(self) -> None:
        self._write(self._rng.choice(self._notes()))

    def _remove(self) -> None:
        notes = self._notes()
        if len(notes) > _FIRST_BATCH_NOTES // 2:
            self._rng.choice(notes).unlink()

    def _rename(self) -> None:
        to = self._new_path()
        to.parent.mkdir(parents=True, exist_ok=True)
        self._rng.choice(self._notes()).rename(to)

    def _move_folder(self) -> None:
        folders = sorted(folder for folder in self.root.iterdir() if folder.is_dir())
        if folders:
            self._count += 1
            self._rng.choice(folders).rename(self.root / f"folder {self._count}")


class Killer:
    """A test driver that interrupts builds and compares what remains with a clean build."""

    def __init__(self, folder: Path, models: tuple[str, str], seed: int) -> None:
        self._rng = random.Random(seed)
        self._folder, self._index = folder, folder / "index"
        self._settings = [
            Settings(embedding=EmbeddingSettings(model), pack=PackSettings(tokenizer="chars/4")) for model in models
        ]
        self._now = self._settings[0]
        self._vault = Vault(folder / "vault", self._rng)
        self._given: dict[str, float] = {}
        self.seen: Counter[str] = Counter()

    def end_badly(self, how: str, times: int) -> None:
        """Interrupt builds by `how` ("killed", "full"), `times` times; raise AssertionError on a fault."""
        end = {"killed": self._kill, "full": self._fill}[how]
        while self.seen[how] < times:
            kind = self._prepare()
            before = self._left()
            ended = end(kind)
            left = self._left()
            build(self._vault.root, self._index, self._now)
            after = content(self._index, self._now)
            assert after == self._clean(), f"after a {kind} that was {how} the next build is not what a clean one is"
            if ended:
                self.seen[how] += 1
                self._count(kind, before, left, after)

    def _prepare(self) -> str:
        self._vault.edit()
        kind = self._rng.choices(("update", "first", "rebuild", "model"), (12, 4, 2, 1))[0]
        if kind == "first":
            shutil.rmtree(self._index, ignore_errors=True)
        elif kind == "model":
            self._now = self._settings[self._now is self._settings[0]]
        return kind

    def _left(self) -> dict[str, object] | None:
        """Return the content of the last generation, which must be readable; None if there is none yet."""
        if not Snapshot.current_generation(self._index):
            return None
        return content(self._index, self._now)

    def _kill(self, kind: str) -> bool:
        """Kill a build at a random moment; return False if it had ended before."""
        child = self._begin(kind)
        given = self._given.get(kind, _GIVEN)
        time.sleep(self._rng.random() * given)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        assert killed or not os.WEXITSTATUS(status), f"a build ({kind}) failed by itself"
        self._given[kind] = given * (_MORE if killed else _LESS)
        return killed

    def _fill(self, kind: str) -> bool:
        """Limit the file size of a build, SQLite's files too; return False if it succeeded."""
        _, status = os.waitpid(self._begin(kind, int(self._largest() * self._rng.random())), 0)
        assert os.WIFEXITED(status), f"a build ({kind}) died of a full disk"
        assert os.WEXITSTATUS(status) in (0, _REFUSED), f"a build ({kind}) did not tell plainly that the disk is full"
        return bool(os.WEXITSTATUS(status))

    def _largest(self) -> int:
        """Return the size of the largest catalog, which is the largest file or as large as its log."""
        return max(file.stat().st_size for file in self._folder.glob("*/catalog.sqlite"))

    def _begin(self, kind: str, most_bytes: int = 0) -> int:
        """Fork a build whose files may have `most_bytes` (0: any size), and return its process id."""
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            if most_bytes:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
            build(self._vault.root, self._index, self._now, rebuild=kind == "rebuild")
            code = 0
        except IndexUnusableError as error:
            code = _REFUSED if "cannot be written" in error.message else 1
        finally:
            os._exit(code)

    def _clean(self) -> dict[str, object]:
        clean = self._folder / "clean"
        shutil.rmtree(clean, ignore_errors=True)
        build(self._vault.root, clean, self._now)
        return content(clean, self._now)

    def _count(self, kind: str, before: object, left: object, after: object) -> None:
        self.seen[kind] += 1
        self.seen["none" if left is None else "old" if left == before else "new" if left == after else "between"] += 1


def main(folder: str, one: str, two: str, *ends: str) -> None:
    """Run the interruptions given as `ends`, such as killed=200."""
    use_small_steps()
    killer = Killer(Path(folder), (one, two), _SEED)
    for how, times in (end.split("=") for end in ends):
        killer.end_badly(how, int(times))
    sys.stdout.write(json.dumps(killer.seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
