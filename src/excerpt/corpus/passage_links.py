"""Links to passages, to be pasted elsewhere: wikilinks, Markdown links, Obsidian's addresses, and `path:line`.

A wikilink leads where Obsidian and `LinkResolver` find it from any note.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from excerpt.base.kinds import LinkForm
from excerpt.base.locations import first_location
from excerpt.base.patterns import lazy_pattern
from excerpt.text.display import visible_line
from excerpt.vault.obsidian import clean_heading, find_obsidian_vault, make_obsidian_link, percent_encode

if TYPE_CHECKING:
    from excerpt.corpus.interface import Corpus
    from excerpt.vault.known_vaults import VaultFolders

_NOT_IN_WIKILINK = lazy_pattern(r"[#^|\[\]\\\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that the target of a wikilink cannot have."""
_MARKDOWN_LABEL_SIGNS = lazy_pattern(r"[\\\[\]]")


class LinkedPassage(Protocol):
    """A passage that can be linked to, such as a fragment or the source of a memory."""

    @property
    def path(self) -> str: ...
    @property
    def line_start(self) -> int: ...
    @property
    def heading_path(self) -> tuple[str, ...]: ...
    @property
    def place(self) -> str: ...


def link_passage(corpus: Corpus, passage: LinkedPassage, folders: VaultFolders | None) -> dict[LinkForm, str]:
    """Return a link to `passage` in each form.

    Paths are relative to the vault of the passage; with several vaults, the path in `path:line` begins with the vault's
    name. `folders` is None for a store. There is no obsidian:// link if Obsidian has no vault around the folder. If a
    note's name cannot be written in a wikilink, the link is a Markdown link instead.
    """
    path, place = passage.path, first_location(passage.place)
    headings = (place,) if place else _anchor_headings(corpus, passage)
    folder, inside = folders.locate(path) if folders is not None else (None, path)
    prefix = path.removesuffix(inside)
    target = corpus.facets.targets.shortest_target(path).removeprefix(prefix)
    anchor = "".join(f"#{heading}" for heading in headings)
    label = " › ".join((_find_title(corpus, path), *headings[-1:]))
    escaped = _MARKDOWN_LABEL_SIGNS.sub(r"\\\g<0>", visible_line(label))
    fragment = f"#{percent_encode(anchor[1:], safe='#=')}" if anchor else ""
    markdown = f"[{escaped}]({percent_encode(inside, safe='/')}{fragment})"
    can_be_wikilink = not _NOT_IN_WIKILINK.search(target) and not _NOT_IN_WIKILINK.search("".join(headings))
    links = {
        LinkForm.WIKILINK: f"[[{target}{anchor}]]" if can_be_wikilink else markdown,
        LinkForm.MARKDOWN: markdown,
        LinkForm.LINES: visible_line(f"{path}#{place}" if place else f"{path}:{passage.line_start}"),
        LinkForm.PATH: visible_line(path),
    }
    root = find_obsidian_vault(folder) if folder is not None else None
    if folder is not None and root is not None:
        links[LinkForm.OBSIDIAN] = make_obsidian_link(root, folder / inside, headings)
    return links


def _anchor_headings(corpus: Corpus, passage: LinkedPassage) -> Sequence[str]:
    """Return the headings that lead to a passage of a note: the last heading, or all if the note has the last twice.

    Directly under the note's title, no headings are needed.
    """
    sections = [section for section in corpus.sections(passage.path) if section.level]
    path = passage.heading_path
    if not path or (sections and sections[0].heading_path == path == (_find_title(corpus, passage.path),)):
        return ()
    is_unique = sum(section.heading == path[-1] for section in sections) <= 1
    return [heading for heading in map(clean_heading, path[-1:] if is_unique else path) if heading]


def _find_title(corpus: Corpus, path: str) -> str:
    """Return the title of a note, or its file name if the note is not in the index any more."""
    try:
        return corpus.note_info(path).title
    except KeyError:
        return path.rpartition("/")[2].removesuffix(".md")
