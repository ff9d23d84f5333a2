"""MkDocs hooks that build a site from the guide, a vault: wikilinks, callouts and block ids are converted.

The notes are not changed, since they are also read as a vault. A broken link fails the build (`--strict`).
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

HOME = "Start here.md"
REFERENCE = "Python reference.md"
"""The page of the Python API, generated from docstrings; it is not a note of the vault."""

_KINDS = {"info": "info", "note": "note", "tip": "tip", "warning": "warning", "example": "example", "quote": "quote"}
_WIKILINK = re.compile(r"(?<!!)\[\[(?P<target>[^\]|#\\]*)(?:#(?P<heading>[^\]|\\]*))?(?:\\?\|(?P<text>[^\]]*))?\]\]")
_CALLOUT = re.compile(r"> \[!(?P<kind>\w+)\](?P<fold>[-+]?) ?(?P<title>.*)")
_BLOCK_ID = re.compile(r" \^(?P<id>[A-Za-z0-9-]+)$")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Give pages addresses without spaces and capitals, and add the page of the Python API.

    The first note becomes the index page.
    """
    from mkdocs.structure.files import File

    files.append(File.generated(config, REFERENCE, content=reference()))
    for file in files:
        if file.src_uri.endswith(".md"):
            address = "index" if file.src_uri == HOME else "/".join(map(slug, file.src_uri[:-3].split("/")))
            file.dest_uri = f"{address}.html"
            for known in ("url", "abs_dest_path"):  # cached values of the former address
                file.__dict__.pop(known, None)
    return files


def reference() -> str:
    """Return an mkdocstrings directive for each public name: the entry points first, then their result types."""
    source = (Path(__file__).parents[2] / "src" / "excerpt" / "service" / "public.py").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
    public = {alias.name for node in imports for alias in node.names}
    first = ("open", "Vault", "Memories")
    names = (*first, *sorted(public - set(first)))
    return "\n\n".join(("# Python reference", *(f"::: excerpt.{name}" for name in names)))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Return a note's text converted to the syntax of MkDocs."""
    names = [file.src_uri for file in files if file.src_uri.endswith(".md")]
    return "\n".join(converted(markdown.split("\n"), page.file.src_uri, names))


def converted(lines: Iterable[str], path: str, notes: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the note `path`, among `notes`, without vault-only syntax. Code is not changed."""
    by_name = {name: note for note in notes for name in (note[:-3], posixpath.basename(note)[:-3])}

    def linked(found: re.Match[str]) -> str:
        return _link(found, path, by_name)

    fenced, inside = False, False
    for line in lines:
        if line.lstrip("> ").startswith("```"):
            fenced = not fenced
        callout = None if fenced else _CALLOUT.match(line)
        if callout:
            inside = True
            kind = _KINDS.get(callout["kind"].lower(), "note")
            mark = "???" if callout["fold"] == "-" else "!!!"
            title = _outside_code(callout["title"] or kind.capitalize(), linked).replace('"', "&quot;")
            yield f'{mark} {kind} "{title}"'
            yield ""
            continue
        inside = inside and line.startswith(">")
        if inside:
            line = f"    {line[1:].removeprefix(' ')}"  # noqa: PLW2901 - the line goes on as another
        yield line if fenced else _BLOCK_ID.sub(r"\n{: #\g<id> }", _outside_code(line, linked))


def _outside_code(line: str, linked: Callable[[re.Match[str]], str]) -> str:
    """Return a line with its links replaced, except those in code spans, which show how a link is written."""
    parts, at = [], 0
    for code in _CODE.finditer(line):
        parts += [_WIKILINK.sub(linked, line[at : code.start()]), code[0]]
        at = code.end()
    return "".join((*parts, _WIKILINK.sub(linked, line[at:])))


def _link(found: re.Match[str], path: str, by_name: dict[str, str]) -> str:
    target, heading = found["target"].strip(), found["heading"]
    note = by_name.get(target, f"{target}.md") if target else path
    place = f"#{heading[1:] if heading.startswith('^') else slug(heading)}" if heading else ""
    text = found["text"] or (f"{target}: {heading}" if target and heading else target or heading)
    way = quote(posixpath.relpath(note, posixpath.dirname(path) or ".")) if note != path else ""
    return f"[{text}]({way}{place})"


def slug(name: str) -> str:
    """Return a name as part of an address, as Python-Markdown makes the ids of headings."""
    plain = re.sub(r"[^\w\s-]", "", name.encode("ascii", "ignore").decode()).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)
