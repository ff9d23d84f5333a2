"""Every command in the guide's shell examples is run as written.

Named after what it runs: the guide is `demo/`, which has no module.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from excerpt.vault.known_vaults import DEMO
from tests.conftest import require_program
from tests.e2e.conftest import EXCERPT, environment

ELSEWHERE = (
    r"(EXCERPT_HOME=\S+ )?excerpt demo$|excerpt( ~/\S+)*( [|>] .*)?$|.*excerpt pick",  # test_app.py, test_picking.py
    r"xf\(\) ",  # test_picking.py
    r"excerpt (mcp ~/notes --http|serve ~/notes --socket &)$",  # tests/servers
    r"excerpt push |sudo |echo |mkdir ",  # tests/store, which has a server
    r"excerpt embedding --try|excerpt index --ocr",  # tests/cli/test_embedding.py, tests/vault/readers
    r"excerpt agents install |llm ",  # asks at a terminal, and the plugin of llm: tests/servers/agents
    r"excerpt pack --from-marks",  # tests/cli/test_pack.py
    r"pip|hf |claude |set ",  # of other programs
)
"""What needs a terminal, a server, a network or another program, with the tests that run it."""
MEMORY_ID = "m3f09a1c27e"
"""The id of a memory in the guide's examples."""
NOTES = {
    "Sync.md": "# Sync\n\n## Conflicts\n\nSync conflicts end when you choose a version by hand.\n",
    "Retry policy.md": "# Retry policy\n\nThe retry policy is three attempts, each a second later.\n",
    "Memory leak.md": "# Memory leak\n\nThe memory leak was in the cache of images.\n",
    "journal/Energy.md": "# Energy\n\nMuch energy today.\n",
    "Delay.md": "# Launch delay\n\nThe reasons for the launch delay were two bugs.\n",
}


def statements() -> Iterator[str]:
    """Yield every statement of the guide's shell examples."""
    for page in sorted(DEMO.rglob("*.md")):
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            joined = (
                re.sub(r"(\||\\)\n\s*", r"\1 ", block) if not block.startswith("xf()") else block.replace("\n", " ")
            )
            yield from (re.sub(r"\s+# .*", "", line).strip() for line in joined.splitlines() if line.strip())


RUN = sorted({each for each in statements() if not any(re.match(pattern, each) for pattern in ELSEWHERE)})


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the environment of a user whose vaults and files are those of the examples."""
    root = tmp_path_factory.mktemp("user")
    shutil.copytree(DEMO, root / "notes")
    for name, text in NOTES.items():
        for vault in ("notes", "work", "old-place"):
            (root / vault / name).parent.mkdir(parents=True, exist_ok=True)
            (root / vault / name).write_text(text, encoding="utf-8")
    for name, line in {
        "excerpt": f'exec {sys.executable} -m excerpt "$@"',
        "your-llm-program": "cat > /dev/null",
    }.items():
        (root / "bin").mkdir(exist_ok=True)
        (root / "bin" / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (root / "bin" / name).chmod(0o755)
    (root / "answer.md").write_text("See [1].\n", encoding="utf-8")
    (root / "questions.jsonl").write_text('{"id": "a", "query": "retry policy"}\n', encoding="utf-8")
    shell = environment(root / "excerpt")
    shell |= {
        "HOME": str(root),
        "PATH": f"{root / 'bin'}:{shell['PATH']}",
        "EXCERPT_VAULT": str(root / "notes"),
        "EDITOR": "true",
        "SHELL": "/bin/bash",
    }
    for words in (
        ("remember", "Kept.", "--vault", root / "old-place"),
        ("gold", "add", "conflicts", "Sync"),
        ("pack", "overlapping hits", "-o", root / "pack.md"),
    ):
        subprocess.run([*EXCERPT, *map(str, words)], env=shell, cwd=root, check=True, capture_output=True)
    (root / "old-place").rename(root / "new-place")
    saving = [*EXCERPT, "remember", "The launch is on the 12th", "--json"]
    saved = subprocess.run(saving, env=shell, cwd=root, check=True, capture_output=True, text=True)
    memory_id = json.loads(saved.stdout)["id"]
    for file in (root / "excerpt").rglob("*.md"):
        file.write_text(file.read_text(encoding="utf-8").replace(memory_id, MEMORY_ID), encoding="utf-8")
    return shell


@pytest.mark.programs
@pytest.mark.parametrize("statement", RUN)
def test_a_command_of_the_guide_runs_as_written(statement: str, user: Mapping[str, str]) -> None:
    if "jq " in statement:
        require_program("jq")
    answer = subprocess.run(
        ["bash", "-o", "pipefail", "-c", statement],
        env=dict(user),
        cwd=user["HOME"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=360,
        check=False,
    )
    assert answer.returncode == (1 if statement.startswith("excerpt news") else 0), answer.stderr  # there is none
