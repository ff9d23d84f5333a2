"""Draw names, docstrings, sentences and tests at random, for a reader who does not know the project.

    python tools/language_sample.py --seed 1 > sample.md

The reader says for each what it means and whether it was clear; somebody who has the code open judges the answers. The
same seed on the same code draws the same sample.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "excerpt"
GUIDE = SOURCE / "demo"
TESTS = ROOT / "tests"
DRAWN = 40
"""How many are drawn of docstrings, names, sentences, tests and helpers of tests."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[])")
_FRONTMATTER_END = 10
"""Line before which `---` delimits the frontmatter of a guide page."""
_NO_SENTENCE = re.compile(r"\n|[{;] *}|\(\?")  # SQL, style sheets, regular expressions
_NO_PROSE = re.compile(r"^(#|\||```|---|!\[|>\s*\[|\s{4,})")


@dataclass(frozen=True)
class Item:
    """One thing to explain: its location and what the reader sees."""

    place: str
    text: str


def docstrings(path: Path, tree: ast.AST, lines: list[str]) -> Iterator[Item]:
    """Yield each function and class with its docstring, its signature first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(node):
            signature = " ".join(line.strip() for line in lines[node.lineno - 1 : node.body[0].lineno - 1])
            yield Item(_place(path, node.lineno), f"{signature}\n    {ast.get_docstring(node)}")


def names(path: Path, tree: ast.AST, lines: list[str]) -> Iterator[Item]:
    """Yield each function, class, field and constant with what defines it, and the class that it is in."""
    for owner in ast.walk(tree):
        if not isinstance(owner, ast.Module | ast.ClassDef):
            continue
        within = f"class {owner.name}: " if isinstance(owner, ast.ClassDef) else ""
        for node in owner.body:
            definition = lines[node.lineno - 1].strip()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = node.name
                definition = " ".join(line.strip() for line in lines[node.lineno - 1 : node.body[0].lineno - 1])
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            else:
                continue
            if not name.startswith("__"):
                yield Item(_place(path, node.lineno), f"`{name}` in: {within}{definition or lines[node.lineno - 1]}")


def shown_sentences(path: Path, tree: ast.AST) -> Iterator[Item]:
    """Yield the sentences that the program prints or draws, errors included, with the function that they are in.

    Leaves out docstrings, annotations, the pieces of a sentence that has values in it, style sheets and patterns.
    """
    no_sentences = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            no_sentences.update(id(part) for part in node.values)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "cast":
            no_sentences.add(id(node.args[0]))
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias" and node.value:
            no_sentences.add(id(node.value))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in ast.walk(tree):
        if id(node) in no_sentences:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = "".join(
                f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else ast.literal_eval(part)
                for part in node.values
            )
        else:
            continue
        if len(text.split()) > 3 and text[0].isupper() and text[1].islower() and not _NO_SENTENCE.search(text):
            within = [f.name for f in functions if f.lineno <= node.lineno <= (f.end_lineno or 0)]
            yield Item(f"{_place(path, node.lineno)}{f', {within[-1]}' if within else ''}", text)


def guide_sentences(path: Path) -> Iterator[Item]:
    """Yield the sentences of a guide page under their headings, each with the one before it in brackets.

    Leaves out frontmatter, tables, code and headings.
    """
    in_code, heading = False, path.stem
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        in_code ^= line.startswith("```") or (line == "---" and number < _FRONTMATTER_END)
        if not in_code and line.startswith("#"):
            heading = line.lstrip("# ")
        if in_code or _NO_PROSE.match(line):
            continue
        before = ""
        for sentence in _SENTENCE_END.split(line.strip()):
            if len(sentence.split()) > 3:
                yield Item(f"{path.name}:{number}, {heading}", f"{f'[{before}] ' if before else ''}{sentence}")
            before = sentence


def test_functions(path: Path, tree: ast.Module, lines: list[str]) -> Iterator[tuple[bool, Item]]:
    """Yield the functions of a test file: tests by their name alone, helpers and fixtures with their signature."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_test = node.name.startswith("test_")
            signature = " ".join(line.strip() for line in lines[node.lineno - 1 : node.body[0].lineno - 1])
            yield is_test, Item(_place(path, node.lineno, TESTS), node.name if is_test else signature)


def _place(path: Path, line: int, folder: Path = SOURCE) -> str:
    return f"{path.relative_to(folder)}:{line}"


def main() -> None:
    """Print the sample."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, required=True)
    seed = parser.parse_args().seed
    documented: list[Item] = []
    named: list[Item] = []
    screen: list[Item] = []
    other: list[Item] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree, lines = ast.parse(text), text.splitlines()
        documented += docstrings(path, tree, lines)
        named += names(path, tree, lines)
        (screen if path.is_relative_to(SOURCE / "tui") else other).extend(shown_sentences(path, tree))
    tests: dict[bool, list[Item]] = {True: [], False: []}
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for is_test, item in test_functions(path, ast.parse(text), text.splitlines()):
            tests[is_test].append(item)
    guide = [item for path in sorted(GUIDE.rglob("*.md")) for item in guide_sentences(path)]
    draw = random.Random(seed)
    shares = ((screen, 14), (other, 13), (guide, DRAWN - 27))
    parts = {
        "Docstrings": draw.sample(documented, DRAWN),
        "Names": draw.sample(named, DRAWN),
        "Sentences": [item for group, count in shares for item in draw.sample(group, count)],
        "Tests": draw.sample(tests[True], DRAWN),
        "Helpers of tests": draw.sample(tests[False], DRAWN),
    }
    print(f"# Sample, seed {seed}")
    for title, items in parts.items():
        print(f"\n## {title}\n")
        for number, item in enumerate(items, 1):
            print(f"{number}. ({item.place}) {item.text}")


if __name__ == "__main__":
    main()
