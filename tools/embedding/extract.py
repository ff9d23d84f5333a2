"""Extract plain passages with their headings from the formats of documentation.

Each reader takes one file and yields blocks: a heading and a paragraph of running text. `passages` then joins and cuts
blocks to the length that the teacher sees.
"""

from __future__ import annotations

import bz2
import gzip
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml import etree, html

TARGET_WORDS = 65
"""About 90 word pieces, the part of a text that teacher and student see."""

LEFT_OUT = {"pre", "script", "style", "nav", "table", "programlisting", "screen", "footer", "header", "svg", "math"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6", "title"}
PARAGRAPHS = {"p", "para", "simpara", "dd", "li", "item", "listitem"}
COMMON = frozenset(
    re.findall(r"\w+", "the of and to a in is that it for are be this with as on by or an from can which not you")
)


@dataclass(frozen=True)
class Block:
    """One paragraph and the heading above it."""

    heading: str
    text: str


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, decompressed if its suffix is that of a compressed file."""
    if path.suffix in {".gz", ".dz"}:
        return gzip.decompress(path.read_bytes())
    return bz2.decompress(path.read_bytes()) if path.suffix == ".bz2" else path.read_bytes()


def read_text(path: Path) -> str:
    return read_bytes(path).decode("utf-8", errors="replace")


def squeeze(text: str) -> str:
    return " ".join(text.replace("¶", " ").split())


def markup(path: Path) -> Iterator[Block]:
    """Yield the blocks of HTML, DocBook or Mallard: headings and paragraphs are found by the names of their tags."""
    data = read_bytes(path)
    if path.name.removesuffix(".gz").endswith((".html", ".htm", ".utf8")):
        root = html.document_fromstring(data, parser=html.HTMLParser(encoding="utf-8"))
    else:
        root = etree.fromstring(data, etree.XMLParser(recover=True, resolve_entities=False, no_network=True))
    if root is None:
        return
    heading = ""
    dropped: list[etree._Element] = []
    for element in root.iter(etree.Element):
        name = _name(element)
        if name in LEFT_OUT:
            dropped.append(element)
        elif name in HEADINGS and not _within(element, dropped):
            heading = squeeze("".join(element.itertext()))
        elif name in PARAGRAPHS and not _within(element, dropped) and not _holds_paragraph(element):
            yield Block(heading, squeeze("".join(element.itertext())))


def _name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2].lower()


def _within(element: etree._Element, dropped: list[etree._Element]) -> bool:
    return bool(dropped) and dropped[-1] in element.iterancestors()


def _holds_paragraph(element: etree._Element) -> bool:
    return any(_name(e) in PARAGRAPHS for e in element.iterdescendants(etree.Element))


def roff(path: Path) -> Iterator[Block]:
    """Yield the blocks of a manual page: paragraphs between macros, under the page's name and its section."""
    name, section, literal = path.name.split(".")[0], "", False
    lines: list[str] = []
    for raw in [*read_text(path).splitlines(), ".PP"]:
        line = re.sub(r"\\f[\[(]?\w\]?|\\&|\\c|\\/", "", raw).replace("\\-", "-").replace("\\(aq", "'")
        macro = re.match(r"[.']\s*([A-Za-z]+)\s*(.*)", line)
        if macro is None:
            if not literal and not line.startswith((".", "'")):
                lines.append(line)
            continue
        if macro[1] in {"nf", "EX"}:
            literal = True
        elif macro[1] in {"fi", "EE"}:
            literal = False
        elif macro[1] in {"B", "I", "BR", "IR", "RB", "RI", "BI", "IB"}:
            lines.append(macro[2].replace('"', ""))
        elif macro[1] in {"SH", "SS", "PP", "P", "LP", "TP", "IP", "HP", "TQ"}:
            yield Block(f"{name} {section}".strip(), squeeze(" ".join(lines)))
            lines = []
            section = macro[2].strip('"').lower() if macro[1] in {"SH", "SS"} else section


def plain(path: Path) -> Iterator[Block]:
    """Yield the blocks of plain text, reStructuredText or Perl's pod: paragraphs between empty lines.

    A short paragraph is the heading of those after it.
    """
    heading = path.name.split(".")[0].replace("-", " ").replace("_", " ")
    for part in re.split(r"\n\s*\n", read_text(path)):
        if re.match(r"( {4}|\t|\.\. )", part):
            continue
        text = squeeze(re.sub(r"[-=~^*\"'#]{3,}|``|[CBIFLE]<+|(?<=\w)>+", " ", part))
        if part.startswith("=head") or (0 < len(text.split()) < 8 and text[:1].isupper() and text[-1] not in ".:;,"):
            heading = re.sub(r"^=head\d", "", text).strip()
        else:
            yield Block(heading, text)


def fortune(path: Path) -> Iterator[Block]:
    """Yield the quotations of a fortune file, separated by lines with a percent sign."""
    for part in re.split(r"\n%\n", read_text(path)):
        yield Block("", squeeze(part.replace("\b", "")))


def dictd(path: Path) -> Iterator[Block]:
    """Yield the entries of a dictd dictionary: an entry starts in the first column, its meaning is indented."""
    headword = ""
    lines: list[str] = []
    for line in [*read_text(path).splitlines(), "end"]:
        if line[:1].strip():
            meaning = squeeze(re.sub(r"\[(\d{4} \w+|PJC|WordNet[^]]*)[^]]*\]|[{}]|\\[^\\]*\\|_", " ", " ".join(lines)))
            if meaning:
                yield Block(headword, f"{headword}: {meaning}")
            headword, lines = re.split(r"\s*[\\<({]|, [a-z]+\.", line)[0].strip(" ,"), []
        else:
            lines.append(line)


def wordnet(path: Path) -> Iterator[Block]:
    """Yield the entries of a WordNet data file (wndb(5)): the words of a synset, then its gloss with examples."""
    for line in read_text(path).splitlines():
        if line.startswith("  "):
            continue
        fields, _, gloss = line.partition(" | ")
        parts = fields.split()
        words = [re.sub(r"\(\w+\)$", "", w).replace("_", " ") for w in parts[4 : 4 + 2 * int(parts[3], 16) : 2]]
        yield Block(", ".join(words), f"{', '.join(words)}: {gloss.strip()}")


def gene_ontology(path: Path) -> Iterator[Block]:
    """Yield the Gene Ontology's terms with their definitions, from the SQLite file of the R package."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        for term, definition in database.execute("SELECT term, definition FROM go_term ORDER BY go_id"):
            yield Block(squeeze(term), f"{squeeze(term)}: {squeeze(definition or '')}")


READERS: dict[str, Callable[[Path], Iterator[Block]]] = {
    "markup": markup,
    "roff": roff,
    "plain": plain,
    "fortune": fortune,
    "dictd": dictd,
    "wordnet": wordnet,
    "gene_ontology": gene_ontology,
}


def is_prose(text: str) -> bool:
    """Return whether a text is running English.

    It needs enough words, mostly letters, and, if it is longer, some of the commonest words.
    """
    words = text.split()
    if len(words) < 5 or sum(c.isalpha() or c == " " for c in text) < 0.8 * len(text):
        return False
    if sum(c > "\x7f" for c in text) > 0.05 * len(text):
        return False
    return len(words) < 16 or sum(w.lower() in COMMON for w in words) >= 0.1 * len(words)


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?;])\s+(?=[A-Z\"'(a-z])", text)


def passages(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield passages: paragraphs under one heading joined up to TARGET_WORDS, longer ones cut between sentences."""
    heading, words = "", list[str]()
    for block in blocks:
        if not is_prose(block.text):
            continue
        for sentence in sentences(block.text):
            new = sentence.split()
            if words and (block.heading != heading or len(words) + len(new) > TARGET_WORDS):
                yield Block(heading, " ".join(words))
                words = []
            heading = block.heading
            words += new[: 2 * TARGET_WORDS]
    if words:
        yield Block(heading, " ".join(words))
