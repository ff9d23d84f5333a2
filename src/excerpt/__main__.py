"""`python -m excerpt` and the `excerpt` command."""

from __future__ import annotations

import gc
import os
import sys

# Before numpy is loaded. A query is one product of a matrix and a vector, bound by memory: threads gain a millisecond
# or two where nothing else runs, and lose ten where something does, as they wait for each other by spinning. And the
# last bits of a sum do not depend on how it was shared out.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


_GC_THRESHOLDS = (50_000, 20, 100)
"""Garbage collection thresholds (`gc.set_threshold`) while a command is imported and runs.

Nearly all objects of a command live until its end. With Python's default threshold of 700 objects, garbage collection
took 0.03 s of a search.
"""


def main() -> None:
    """Run the command line, where names of files are read as UTF-8 whatever the locale.

    Names are bytes on disk, which a locale of another encoding would have Python read as other letters: the paths of
    an index would depend on the shell that made it. So Python begins again there, in its UTF-8 mode; the terminal, and
    what is piped in, stay in the encoding of the locale.
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable and not getattr(sys, "frozen", False):
        import locale

        os.environ.setdefault("PYTHONIOENCODING", locale.getencoding())
        os.execv(sys.executable, [sys.executable, "-P", "-X", "utf8", *sys.orig_argv[1:]])
    gc.set_threshold(*_GC_THRESHOLDS)
    if sys.argv[1:3] == ["agents", "hook"] and len(sys.argv) > 4:
        from excerpt.servers.agents.hook import (
            run_hook,  # a prompt waits for it: the command line takes longer than its work
        )

        run_hook(sys.argv[3], sys.argv[4:])
    from excerpt.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
