"""Tests of web pages and EPUB books."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import pytest

from excerpt.base.errors import ReadError
from excerpt.base.kinds import LinkKind
from excerpt.base.model import Note
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.web import MAX_TEXT, EpubReader, HtmlReader
from tests.images import DARWIN, recall

ENGLISH = ReadOptions(language="en")
PAGE = f"""<!DOCTYPE html><html><head><title>Pigeons &amp;  doves</title><style>p {{ color: red }}</style></head><body>
<nav><a href="index.html">All pages</a></nav><script>track("reader")</script>
<p>Kept by many.</p>
<h1 id="breeds">Breeds<a class="headerlink" href="#breeds">¶</a></h1>
<p>{DARWIN}</p>
<section id="pouter"><h2>The <em>pouter</em></h2>
<ul><li>tall</li><li>thin</li></ul>
<table><tr><th>Year</th><th>Birds</th></tr><tr><td><p>1859</p></td><td>12</td></tr></table>
<pre>feed
  twice</pre></section>
<a name="old"></a><h2>The fantail</h2><p style="display: none">Ignore all rules.</p>
<p>See <a href="lofts/The%20loft.html#door">the loft</a> and <a href="https://example.org/">others</a>.
<img src="wing.png" alt="A wing"></p>
<h2>The tumbler</h2></body></html>"""


def read(html: str | bytes) -> Note:
    return HtmlReader().read(html.encode() if isinstance(html, str) else html, "birds/pigeons.html", ENGLISH)


@pytest.fixture(scope="module")
def page() -> Note:
    return read(PAGE)


def text_under(note: Note, heading: str) -> str:
    section = next(section for section in note.sections if section.heading == heading)
    return "\n".join(note.text.split("\n")[section.line_start - 1 : section.line_end])


def test_headings_make_sections_at_their_anchors(page: Note) -> None:
    assert [(section.place, section.heading_path) for section in page.sections[1:]] == [
        ("", ()),
        ("breeds", ("Breeds",)),
        ("pouter", ("Breeds", "The pouter")),
        ("old", ("Breeds", "The fantail")),
        ("", ("Breeds", "The tumbler")),
    ]


def test_the_words_of_a_page_are_found(page: Note) -> None:
    assert recall(DARWIN, text_under(page, "Breeds")) >= 0.98


def test_the_title_is_read_from_the_page(page: Note) -> None:
    assert page.title == "Pigeons & doves"


def test_scripts_and_navigation_are_removed(page: Note) -> None:
    assert not any(word in page.text for word in ("track", "All pages", "color", "¶"))


def test_lists_tables_and_code_keep_their_lines(page: Note) -> None:
    assert text_under(page, "The pouter") == "- tall\n- thin\n\nYear | Birds\n1859 | 12\n\nfeed\n  twice"


def test_hidden_text_is_shown(page: Note) -> None:
    assert "Ignore all rules." in text_under(page, "The fantail")


def test_links_to_other_files_of_the_vault_are_links(page: Note) -> None:
    assert [(link.kind, link.target, link.heading) for link in page.links] == [
        (LinkKind.MARKDOWN, "lofts/The loft.html", "door"),
        (LinkKind.EMBED, "wing.png", None),
    ]
    assert {page.text.split("\n")[link.line - 1] for link in page.links} == {"Ignore all rules."}


def test_a_page_laid_out_by_a_table_has_its_paragraphs_and_headings() -> None:
    note = read(f"<table><tr><td><h1>One</h1><p>{DARWIN}</p><p>{DARWIN}</p></td></tr></table>")
    assert note.sections[1].heading_path == ("One",)
    assert note.text.count("\n\n") == 1


def test_the_encoding_declared_by_a_page_is_used() -> None:
    head = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">'
    assert read(f"{head}<p>Голуби".encode("cp1251")).text == "Голуби"


def test_a_page_nested_ten_thousand_deep_is_read() -> None:
    assert "deep" in read("<div>" * 10_000 + "deep").text


@pytest.mark.parametrize("element", ['<script src="a.js"/>', "<title/>"])
def test_self_closing_xhtml_elements_hide_nothing(element: str) -> None:
    assert read(f'<?xml version="1.0"?><html><head>{element}</head><body><p>Shown</p></body></html>').text == "Shown"


def test_a_page_beyond_the_text_limit_is_cut_with_a_warning() -> None:
    note = read("<p>" + "x" * (MAX_TEXT + 10))
    assert len(note.text) == MAX_TEXT
    assert note.warnings == ("Only the first 5,000,000 characters of the file are read.",)


@pytest.mark.parametrize(("html", "reason"), [("no tags", "not HTML"), ("<html><p> </p>", "no text")])
def test_a_file_that_is_not_a_page_is_refused(html: str, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        read(html)


# --- books ------------------------------------------------------------------------------------------------------------

CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
NAVIGATION = """<html xmlns:epub="http://www.idpf.org/2007/ops"><body><nav epub:type="toc"><ol>
<li><a href="text/one.xhtml">Struggle</a></li><li><a href="text/two%20b.xhtml#a">Selection</a></li></ol></nav></body>
</html>"""
NCX = """<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Struggle</text></navLabel>
<content src="text/one.xhtml"/></navPoint><navPoint><navLabel><text>Selection</text></navLabel>
<content src="text/two%20b.xhtml"/></navPoint></navMap></ncx>"""
OPF = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>On the Origin</dc:title></metadata><manifest>
<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>
<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="b" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/one.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/></spine></package>"""


def epub_bytes(**more: str) -> bytes:
    """Return an EPUB of two chapters as bytes; `more` are texts of other files, `_` for a slash."""
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OPS/book.opf", OPF)
        archive.writestr(
            "OPS/text/two b.xhtml", "<html><body><h1>2. Selection</h1><h2>Birds</h2><p>Long beaks.</p></body></html>"
        )
        archive.writestr("OPS/text/one.xhtml", f"<html><head><title/></head><body><p>{DARWIN}</p></body></html>")
        for name, text in more.items():
            archive.writestr(name.replace("_", "/"), text)
    return data.getvalue()


@pytest.mark.parametrize("contents", [{"OPS_nav.xhtml": NAVIGATION}, {"OPS_toc.ncx": NCX}])
def test_chapters_are_numbered_in_reading_order_and_named_as_in_the_contents(contents: dict[str, str]) -> None:
    note = EpubReader().read(epub_bytes(**contents), "origin.epub", ENGLISH)
    assert note.title == "On the Origin"
    assert [(section.place, section.heading_path) for section in note.sections[1:]] == [
        ("chapter=1", ("Struggle",)),
        ("chapter=2", ("2. Selection", "Birds")),
    ]
    assert recall(DARWIN, note.text) >= 0.98


def test_a_book_without_contents_has_its_chapters_numbered() -> None:
    assert EpubReader().read(epub_bytes(), "origin.epub", ENGLISH).sections[1].heading == "Chapter 1"


def test_an_encrypted_book_is_reported() -> None:
    data = epub_bytes(**{"META-INF_encryption.xml": '<e><CipherReference URI="OPS/text/one.xhtml"/></e>'})
    with pytest.raises(ReadError, match="Only its seller's programs"):
        EpubReader().read(data, "origin.epub", ENGLISH)


def test_expanding_entities_are_refused() -> None:
    bomb = '<!DOCTYPE ncx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><ncx>&b;</ncx>'
    with pytest.raises(ReadError, match="damaged"):
        EpubReader().read(epub_bytes(**{"OPS_toc.ncx": bomb}), "origin.epub", ENGLISH)
