"""Measure whether the check names sentences whose words are not found in the source they cite.

`python -m benchmarks.cited_sentences --data ../shared` measures four sets, of which the first three are made from the
notes themselves: sentences with their source, sentences with the source of another note, sentences with one name or
number exchanged for another of the vault, and paraphrases written by hand (`paraphrases.jsonl`). The threshold was
chosen on CHOSEN_ON, CHECKED_ON shows whether it holds elsewhere.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Data, result, table, write_option
from excerpt.base.model import Fragment
from excerpt.base.settings import Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.pack.check.answer import parse_answer
from excerpt.pack.check.checker import check_answer
from excerpt.pack.check.lookup import SnapshotLookup
from excerpt.pack.formats.pack_format import PackFile, PackSource
from excerpt.text.languages import WIDE_CHARACTERS

CHOSEN_ON = ("obsidian-help/en", "obsidian-help/de", "dendron-site", "cpp-docs")
CHECKED_ON = (
    "powershell-docs-one",
    "ttrpg-share",
    "knowledge-garden-zh",
    "obsidian-help/zh",
    "obsidian-help/ja",
    "obsidian-help/ru",
    "obsidian-help/ko",
    "obsidian-help/ar",
)
PARAPHRASES = Path(__file__).with_name("paraphrases.jsonl")
WORK = Path("build/cited_sentences")
SAMPLE = 200
SEED = 11
_SENTENCE = re.compile(
    r"(?:^|(?<=[.!?]\s)|(?<=[。！？]))[^\W\d_](?:[^.!?。！？|\n*\[\]<>\"“”„«»「」『』（）]|\.(?=\w)){18,300}(?:[.!?](?=\s|$)|[。！？])",
    re.MULTILINE,
)
_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")
_CODE_NAME = r"(?<=`)[A-Za-z][\w.-]*(?=`)"
_NUMBER = r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w-])"
_LATIN_NAME = rf"{_CODE_NAME}|(?<=[a-z,] )[A-Z][\w.-]*\w"  # a capital after a word in small letters
_FOREIGN_NAME = r"(?<![\w.-])[A-Za-z][\w.-]*\w"  # Latin letters in another script


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence with the passage that it cites."""

    sentence: str
    source: PackSource


def sampled(snapshot: Snapshot) -> list[Claim]:
    """Return SAMPLE random sentences of a vault's notes, each with its fragment, one of a note at most."""
    rng = random.Random(SEED)
    keys = snapshot.table.keys.tolist()
    rng.shuffle(keys)
    claims: dict[str, Claim] = {}
    for start in range(0, len(keys), SAMPLE):
        for fragment in snapshot.fragments(keys[start : start + SAMPLE]):
            sentences = [each for each in _SENTENCE.findall(fragment.text) if _word_count(each) >= 6]
            if sentences and fragment.path not in claims and len(claims) < SAMPLE:
                claims[fragment.path] = Claim(rng.choice(sentences), _source(fragment))
    return list(claims.values())


def _word_count(text: str) -> int:
    return len(text.split()) + len(_WIDE.findall(text)) // 2


def _source(fragment: Fragment) -> PackSource:
    heading = " › ".join(fragment.heading_path)
    return PackSource(1, fragment.path, heading, fragment.line_start, fragment.line_end, fragment.text)


def exchanged(claims: Sequence[Claim]) -> Iterator[Claim]:
    """Yield each claim with its source exchanged for that of another note that does not have the sentence."""
    for number, claim in enumerate(claims):
        others = (claims[(number + step) % len(claims)].source for step in range(1, len(claims)))
        other = next((each for each in others if claim.sentence not in each.text), None)
        if other:
            yield Claim(claim.sentence, other)


def changed(claims: Sequence[Claim], language: str) -> Iterator[Claim]:
    """Yield the claims that have a name or number, with one of them exchanged for one of another sentence."""
    rng = random.Random(SEED)
    candidates = [(claim, _names(claim.sentence, language)) for claim in claims]
    pools = [list(dict.fromkeys(each for _, parts in candidates for each in parts[kind])) for kind in (0, 1)]
    for claim, parts in candidates:
        if not any(parts):
            continue
        kind = rng.choice([kind for kind, found in enumerate(parts) if found])
        old = rng.choice(parts[kind])
        others = [each for each in pools[kind] if each.casefold() not in claim.sentence.casefold()]
        if others:
            yield Claim(claim.sentence.replace(old, rng.choice(others)), claim.source)


def _names(sentence: str, language: str) -> tuple[list[str], list[str]]:
    """Return the names and the numbers of a sentence in a language.

    German capitals do not make a name. These expressions are not those of the check, which would only find its own.
    """
    if len(_WIDE.findall(sentence)) > 4 or re.search(r"[\u0400-\u06ff]", sentence):
        pattern = _FOREIGN_NAME
    else:
        pattern = _CODE_NAME if language == "de" else _LATIN_NAME
    return re.findall(pattern, sentence), re.findall(_NUMBER, sentence)


def paraphrases(vault: str, snapshot: Snapshot) -> Iterator[Claim]:
    """Yield the paraphrases of passages of a vault."""
    for line in PARAPHRASES.read_text(encoding="utf-8").splitlines():
        each = json.loads(line)
        if each["vault"] != vault or each["path"] not in snapshot.facets.numbers:
            continue
        text = "\n".join(snapshot.note_text(each["path"]).split("\n")[each["line_start"] - 1 : each["line_end"]])
        title = Path(each["path"]).stem
        yield Claim(each["sentence"], PackSource(1, each["path"], title, each["line_start"], each["line_end"], text))


def is_named(claim: Claim, lookup: SnapshotLookup) -> bool | None:
    """Return whether the check names the sentence as not found in its source; None if it does not compare it."""
    body = claim.sentence.rstrip(".!?。！？")
    checked = check_answer(parse_answer(f"{body} [1]."), PackFile((claim.source,)), lookup).sentences
    return not all(each.holds for each in checked) if checked else None


SETS = ("true", "other note", "changed", "paraphrase")


def measure(vault: str, folder: Path) -> dict[str, list[bool]]:
    """Return for each set of a vault whether its sentences are named; those that are not compared are left out."""
    index = WORK / vault
    index.mkdir(parents=True, exist_ok=True)
    build(folder, index, Settings())
    snapshot = Snapshot.open(index, Settings())
    lookup = SnapshotLookup(snapshot)
    claims = sampled(snapshot)
    sets = (claims, exchanged(claims), changed(claims, vault.rpartition("/")[2]), paraphrases(vault, snapshot))
    named = {
        name: [each for claim in made if (each := is_named(claim, lookup)) is not None]
        for name, made in zip(SETS, sets, strict=True)
    }
    snapshot.close()
    return named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/")
    write_option(parser, "sentences")
    args = parser.parse_args()
    data = Data(args.data)
    with result("sentences", "Sentences whose words are not found in the source they cite", write=args.write):
        rows = []
        for title, vaults in (("chosen on", CHOSEN_ON), ("checked on", CHECKED_ON)):
            measured = [(vault, measure(vault, folder)) for vault in vaults if (folder := data.vault(vault))]
            total = {name: [named for _, sets in measured for named in sets[name]] for name in SETS}
            rows += [(vault, *map(_share, sets.values())) for vault, sets in measured]
            rows.append((f"**{title}**", *map(_share, total.values())))
        table(("sentences named", *SETS), rows)


def _share(named: Sequence[bool]) -> str:
    return f"{sum(named)}/{len(named)} {sum(named) / len(named):.2f}" if named else ""


if __name__ == "__main__":
    main()
