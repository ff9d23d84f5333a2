"""Tests of cached packs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from excerpt.kinds import Strategy
from excerpt.model import Hit, PackResult
from excerpt.pack.build import PackCache, build_pack
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.xml_format import XmlRenderer
from excerpt.pack.source import NoteSource
from excerpt.settings import PackSettings
from excerpt.text.tokens import open_tokenizer
from tests.pack.vaults import Vault, sentence

NOTES = {f"{name}.md": f"# {name}\n\n{sentence(name, 60)}\n" for name in ("sync", "merge")}
SETTINGS = PackSettings()
TOKENIZER = open_tokenizer("chars/4")


class Built:
    """A pack cache that counts the packs built."""

    def __init__(self, most: int = 32) -> None:
        self.count = 0
        self.cache = PackCache(self.build, most)

    def build(
        self,
        source: NoteSource,
        hits: Sequence[Hit],
        *,
        settings: PackSettings,
        renderer: MarkdownRenderer | XmlRenderer,
        marked: Sequence[str],
    ) -> PackResult:
        self.count += 1
        return build_pack(
            source,
            hits,
            query="q",
            strategy=Strategy.AUTO,
            settings=settings,
            tokenizer=TOKENIZER,
            renderer=renderer,
            marked=marked,
        )

    def pack(
        self,
        vault: Vault,
        hits: Sequence[Hit],
        settings: PackSettings = SETTINGS,
        renderer: MarkdownRenderer | XmlRenderer = MarkdownRenderer(),  # noqa: B008 (a value)
        marked: Sequence[str] = (),
    ) -> PackResult:
        return self.cache(vault, hits, settings=settings, renderer=renderer, marked=marked)


def hits_of(vault: Vault) -> list[Hit]:
    return [Hit(fragment, 1 / rank) for rank, fragment in enumerate(vault.fragments, start=1)]


def test_the_same_pack_is_built_once() -> None:
    vault, built = Vault(NOTES), Built()
    first = built.pack(vault, hits_of(vault), marked=[])
    assert built.pack(vault, hits_of(vault), marked=[]) is first
    assert built.count == 1


def test_whatever_differs_is_built() -> None:
    vault, built = Vault(NOTES), Built()
    hits = hits_of(vault)
    built.pack(vault, hits)
    built.pack(vault, hits, replace(SETTINGS, budget=50))
    built.pack(vault, hits, renderer=XmlRenderer())
    built.pack(vault, hits, renderer=XmlRenderer(("why?",)))
    built.pack(vault, hits, marked=[hits[0].fragment.id])
    built.pack(vault, hits[:1])
    built.pack(vault, [replace(hits[0], score=0.1), *hits[1:]])
    built.pack(vault, [vault.hit("sync1 "), *hits[1:]])
    assert built.count == len(built.cache) == 8


def test_another_generation_forgets_all_even_with_the_same_hits() -> None:
    before, built = Vault(NOTES), Built()
    hits = hits_of(before)
    old = built.pack(before, hits)
    after = Vault({**NOTES, "sync.md": NOTES["sync.md"].replace("sync1 ", "other ")})
    new = built.pack(after, hits)
    assert new.text != old.text
    assert len(built.cache) == 1
    assert built.pack(before, hits) == old
    assert built.count == 3


def test_the_longest_unasked_goes_first() -> None:
    vault, built = Vault(NOTES), Built(most=2)
    hits = hits_of(vault)
    for budget in (100, 200, 100, 300, 100):
        built.pack(vault, hits, replace(SETTINGS, budget=budget))
    assert built.count == 3
    built.pack(vault, hits, replace(SETTINGS, budget=200))
    assert built.count == 4
    assert len(built.cache) == 2
