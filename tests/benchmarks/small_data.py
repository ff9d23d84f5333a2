"""A small `--data` folder on which every benchmark script runs within seconds.

It holds copies of one vault under the names of all, a dozen queries, one judged collection, and stand-ins for the
external scorer and baseline.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

VAULTS = ("obsidian-help/en", "obsidian-help/de", "dendron-site", "powershell-docs-one", "cpp-docs")
SUBJECTS = ("sync", "publish", "plugins", "coroutines", "memory leak", "note", "link", "function", "string", "theme")
COLLECTION = {"rain": "Rain falls from dark clouds over the sea.", "snow": "Snow lies on the high mountains in May."}
MESSY = {
    "Plain.md": "a plain note",
    "Plainer.md": "a plain note",
    b"bad-\xff.md".decode("utf-8", "surrogateescape"): "name is not UTF-8",
}
"""The case that each file stands for."""
ATTACHMENTS = {
    "page.html": "<html><body><p>Words of a page.</p></body></html>",
    "table.csv": "name,count\nsync,3\n",
    "broken.pdf": "no such file",
}


def write_small_data(root: Path) -> None:
    """Write the whole data folder under `root`."""
    vault = root / "vault"
    vault.mkdir(parents=True)
    for number, subject in enumerate(SUBJECTS):
        (vault / f"{subject.title()}.md").write_text(_note(number, subject), encoding="utf-8")
    for name in VAULTS:
        link = root / "data" / "vaults" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(vault)
    for name in ("obsidian-help-en.dev", "dendron-site.dev", "powershell-docs-one.dev", "cpp-docs.dev"):
        _write_lines(root / "data" / "queries" / f"{name}.jsonl", map(_query, range(len(SUBJECTS))))
    for part, wordings in (("", ("own", "stranger", "absent")), (".plain", ("plain",))):
        rows = (_asked_question(number, wording) for number in range(len(SUBJECTS)) for wording in wordings)
        _write_lines(root / "data" / "queries" / "asked" / f"obsidian-help-en{part}.jsonl", rows)
    _write_collection(root / "data" / "collections" / "weather")
    talks = root / "data" / "memory" / "talks"
    (talks / "vaults").mkdir(parents=True)
    (talks / "vaults" / "one").symlink_to(vault)
    _write_lines(talks / "questions.jsonl", map(_memory_question, range(len(SUBJECTS))))
    _write_messy(root / "data" / "packed" / "messy.tar.xz")
    _write_programs(root / "eval")
    (root / "attachments").mkdir()
    for name, content in ATTACHMENTS.items():
        (root / "attachments" / name).write_text(content, encoding="utf-8")


def _note(number: int, subject: str) -> str:
    other = SUBJECTS[(number + 1) % len(SUBJECTS)]
    paragraphs = (
        f"The {subject} of this vault is explained here in some words that no other note has, number {number}.",
        f"Whoever asks about the {subject} reads the settings first. See [[{other.title()}]] for the {other} as well.",
        f"A {subject} that fails is started again, and nothing of what was written before it is lost by that.",
    )
    return f"# {subject.title()}\n\n{paragraphs[0]}\n\n## Settings\n\n{paragraphs[1]}\n\n{paragraphs[2]}\n"


def _query(number: int) -> Mapping[str, object]:
    subject = SUBJECTS[number]
    target = {"path": f"{subject.title()}.md", "heading": "Settings", "line_start": 5, "line_end": 9}
    return {
        "id": f"q{number}",
        "query": f"what to read about the {subject} settings",
        "relevant": [target],
        "exclude": [],
        "kind": "link-text" if number % 2 else "title",
        "difficulty": "gap" if number % 3 else "",
    }


def _asked_question(number: int, wording: str) -> Mapping[str, object]:
    asked = _query(number)
    places = [] if wording == "absent" else asked["relevant"]
    return {
        "id": f"a{number}-{wording}",
        "query": asked["query"],
        "topic": number,
        "wording": wording,
        "relevant": places,
    }


def _memory_question(number: int) -> Mapping[str, object]:
    span = {"path": f"{SUBJECTS[number].title()}.md", "line_start": 7, "line_end": 7}
    asked = {"id": f"m{number}", "vault": "one", "query": f"who reads the {SUBJECTS[number]} settings?"}
    return {**asked, "category": "facts", "answerable": True, "evidence": [span]}


def _write_collection(folder: Path) -> None:
    _write_lines(folder / "corpus.jsonl", ({"_id": name, "text": text} for name, text in COLLECTION.items()))
    _write_lines(folder / "queries.jsonl", ({"_id": name, "text": f"{name} in May"} for name in COLLECTION))
    judged = "".join(f"{name}\t{name}\t1\n" for name in COLLECTION)
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", encoding="utf-8")


def _write_messy(archive: Path) -> None:
    archive.parent.mkdir(parents=True)
    manifest = [[os.fsencode(name).decode("utf-8", "backslashreplace"), kind, "CC0"] for name, kind in MESSY.items()]
    contents = {**dict.fromkeys(MESSY, "# Plain\n\nThis retrieves processes.\n"), "MANIFEST.json": json.dumps(manifest)}
    with tarfile.open(archive, "w:xz", errors="surrogateescape") as packed:
        for name, content in contents.items():
            entry = tarfile.TarInfo(f"messy/{name}")
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content.encode()))


def _write_lines(file: Path, rows: Iterable[Mapping[str, object]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _write_programs(folder: Path) -> None:
    folder.mkdir()
    (folder / "score.py").write_text(_SCORE, encoding="utf-8")
    (folder / "baseline_fts5.py").write_text(_BASELINE, encoding="utf-8")
    (folder / "memory.py").write_text(_MEMORY, encoding="utf-8")
    (folder / "asked.py").write_text(_ASKED, encoding="utf-8")


_SCORE = f"""\
import json, shlex, subprocess, sys
from pathlib import Path

sys.path.insert(0, {os.fspath(REPOSITORY)!r})
from benchmarks.judgements import Place, QuerySet, mean_of, summary, worth


def rows(file):
    return [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]


def reached(query_set, answers):
    hits = [[Place(h["path"], h["line_start"], h["line_end"]) for h in row["hits"]] for row in rows(answers)]
    judged = query_set.collection is not None
    return summary([worth(q, h, judged=judged) for q, h in zip(query_set.questions(), hits, strict=True)])


verb, *given = sys.argv[1:]
if verb == "vault":
    Path(given[1]).mkdir(parents=True)
    for row in rows(f"{{given[0]}}/corpus.jsonl"):
        (Path(given[1]) / f"{{row['_id']}}.md").write_text(row["text"], "utf-8")
elif verb == "run":
    program, vault, queries, out = given
    asked = [{{"id": r.get("id", r.get("_id")), "query": r.get("query", r.get("text"))}} for r in rows(queries)]
    batch = Path(out).with_suffix(".batch")
    batch.write_text("".join(json.dumps(one) + "\\n" for one in asked), "utf-8")
    command = [*shlex.split(program), "search", "--vault", vault, "--batch", str(batch), "--limit", "50", "--json"]
    Path(out).write_bytes(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
elif verb == "judged":
    found = reached(QuerySet("set", Path(), Path(), Path(given[0])), given[1])
    print(f"set: n 2  nDCG@10 {{found.value:.3f}}  recall@10 {{found.recall:.3f}}  MRR@10 1.000")
elif verb == "known":
    found = reached(QuerySet("set", Path(), Path(given[0]), None), given[1])
    print("set n MRR@10 rec@10 sect@10")
    print(f"all {{len(rows(given[0]))}} {{found.value:.3f}} {{found.recall:.3f}} {{found.section:.3f}}")
    print(f"difficulty:gap 3 {{found.gap:.3f}} {{found.recall:.3f}} -")
else:
    print("n 2  p50 1.00 ms  p95 2.00 ms  max 2.00 ms")
"""

_BASELINE = """\
import json, sys
from pathlib import Path


def passages(text):
    yield 1, text.count("\\n") + 1, "", text


if __name__ == "__main__":
    options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    first = next(Path(options["--vault"]).glob("*.md")).name
    hit = {"path": first, "line_start": 1, "line_end": 2, "score": 1.0}
    for line in Path(options["--batch"]).read_text("utf-8").splitlines():
        print(json.dumps({**json.loads(line), "elapsed_ms": 1.0, "hits": [hit]}))
"""

_MEMORY = """\
import sys

if sys.argv[1] == "score":
    print("## talks")
    print("| notes and hits | excerpt |")
    print("|---|---:|")
    print("| R@10 | 1.000 |")
"""

_ASKED = """\
import json, sys
from pathlib import Path

import excerpt

vault, questions, *options = sys.argv[1:]
options = dict(zip(options[::2], options[1::2]))
rows = []
with excerpt.open(vault, index=options.get("--index")) as notes:
    for line in Path(questions).read_text("utf-8").splitlines():
        asked = json.loads(line)
        wanted = {place["path"] for place in asked["relevant"]}
        hits, packed = notes.search(asked["query"]).hits, notes.pack(asked["query"]).passages
        rank = next((number for number, hit in enumerate(hits, 1) if hit.path in wanted), 0)
        inside = float(any(each.path in wanted for each in packed))
        judged = {"rank": rank, "inside": inside, "passages": len(packed), "confidence": str(hits[0].confidence)}
        rows.append({"wording": asked["wording"], **judged})
Path(options["--json"]).write_text(json.dumps({"questions": rows}), "utf-8")
"""
