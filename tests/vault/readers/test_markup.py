"""Tests of the readers of org, reStructuredText and AsciiDoc."""

from __future__ import annotations

import pytest

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
from excerpt.base.settings import VaultSettings
from excerpt.vault.readers import ReadOptions
from excerpt.vault.readers.registry import reader_for

ORG = """#+TITLE: The garden
#+FILETAGS: :home:green:
#+DATE: <2024-05-01 Wed>

Before any heading.

* TODO [#A] Greenhouse :work:glass:
:PROPERTIES:
:ID: 64f1b2c3
:CUSTOM_ID: green
:END:
Glass from [[file:shop.org::*Glass][the shop]], see [[./notes.md]] and [[https://example.org]].

** Base [[file:base.org][of stone]]
Gravel.
#+BEGIN_SRC sh
* not a heading
#+END_SRC

* Beds
"""
RST = """==========
The garden
==========

:Author: Ada
:tags: home, green

Before any heading.

Greenhouse
----------

Glass from :doc:`the shop <shop>` and `a note <notes.md>`_, `out <https://example.org>`_.

.. image:: plan.png

Base
~~~~

====  ====
a     b
====  ====

Beds
----

Peas.
"""
ADOC = """= The garden
Ada Berg <ada@example.org>
:keywords: home, green
:revdate: 2024-05-01

Before any heading.

== Greenhouse

Glass from xref:shop.adoc#glass[the shop], link:notes.md[], <<base.adoc#top,the base>>, <<beds>>.

----
== not a heading
----

=== Base

include::gravel.adoc[]

== Beds ==

Peas.
"""


def read(text: str | bytes, name: str) -> Note:
    data = text if isinstance(text, bytes) else text.encode()
    return reader_for(name, VaultSettings()).read(data, name, ReadOptions())


@pytest.mark.parametrize(("text", "name"), [(ORG, "a.org"), (RST, "a.rst"), (ADOC, "a.adoc")])
def test_a_document_has_its_title_headings_and_tags(text: str, name: str) -> None:
    note = read(text, name)
    assert note.title == "The garden"
    assert [tag for tag in note.tags if tag in ("home", "green")] == ["home", "green"]
    paths = [section.heading_path[-2:] for section in note.sections if section.heading != "The garden"]
    above = () if name.endswith("org") else ("The garden",)
    assert [path for path in paths if path] == [
        (*above, "Greenhouse"),
        ("Greenhouse", "Base of stone" if name.endswith("org") else "Base"),
        (*above, "Beds"),
    ]


@pytest.mark.parametrize(("text", "name"), [(ORG, "a.org"), (RST, "a.rst"), (ADOC, "a.adoc")])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_file(text: str, name: str, newline: str) -> None:
    note = read(text.replace("\n", newline), name)
    lines = text.split("\n")
    assert len(note.lines) == len(lines)
    for section in note.sections:
        assert not section.heading or section.heading.split()[0] in "".join(
            lines[section.line_start - 1 : section.line_start + 1]
        )
        assert all(block.line_start > section.line_start for block in section.blocks if section.level)


@pytest.mark.parametrize(
    ("text", "name", "targets"),
    [
        (ORG, "a.org", ["shop.org", "./notes.md", "base.org"]),
        (RST, "a.rst", ["shop", "notes.md", "plan.png"]),
        (ADOC, "a.adoc", ["shop.adoc", "notes.md", "base.adoc", "gravel.adoc"]),
    ],
)
def test_links_within_the_vault_are_read(text: str, name: str, targets: list[str]) -> None:
    note = read(text, name)
    assert [link.target for link in note.links] == targets
    assert all(link.target.rpartition("/")[2] in note.lines[link.line - 1] for link in note.links)


def test_org_drawers_are_data_and_not_text() -> None:
    note = read(ORG, "a.org")
    assert note.lines[7:11] == [""] * 4
    assert note.properties == {"date": ("2024-05-01 Wed",), "id": ("64f1b2c3",), "custom_id": ("green",)}
    assert note.tags == ("home", "green", "work", "glass")


def test_a_drawer_of_org_without_an_end_ends_before_the_next_heading() -> None:
    note = read("* A\n:PROPERTIES:\n:X: 1\n\n** B\nfound\n", "a.org")
    assert [section.heading for section in note.sections if section.level] == ["A", "B"]
    assert note.text.split("\n")[5] == "found"


def test_links_to_ids_are_read_in_org_files() -> None:
    note = read("See [[id:64F1-b2][die Größe]], [[id:ab::*Head]] and [[https://example.org][web]].\n", "a.org")
    assert [(link.target, link.text) for link in note.links] == [("id:64F1-b2", "die Größe"), ("id:ab", None)]


def test_a_document_without_headings_is_paragraphs() -> None:
    note = read("One.\n\nTwo\nlines.\n", "notes/plain.rst")
    assert (note.title, [block.line_start for block in note.sections[0].blocks]) == ("plain", [1, 3])


def test_another_encoding_is_a_warning() -> None:
    note = read("= Überschrift\n\nGrüße aus Köln, schöne Größe.\n".encode("latin-1"), "a.adoc")
    assert (note.title, bool(note.warnings)) == ("Überschrift", True)


def test_a_file_that_is_not_text_is_refused() -> None:
    with pytest.raises(ReadError, match="not text"):
        read(b"%PDF-1.4 \x00\x00\x00\x00\x00\x00", "a.org")


@pytest.mark.parametrize("name", ["a.org", "a.rst", "a.adoc"])
@pytest.mark.parametrize(
    "piece",
    [
        "* " * 50,
        "* a\n",
        "= a\n",
        "a\n===\n",
        "#+begin_src\n",
        ":PROPERTIES:\n",
        "[[",
        "`a <",
        "<<a.",
        "xref:a.b[",
        ":a:",
        "----\n",
    ],
)
def test_hostile_text_is_read_in_linear_time(name: str, piece: str) -> None:
    note = read(piece * (60_000 // len(piece)), name)
    assert note.sections[-1].line_end <= len(note.lines)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("`" + " " * 4_900, "a.rst"),
        (":doc:`" + " " * 4_900, "a.rst"),
        ("== a" + " " * 4_900 + "x", "a.adoc"),
        ("-" * 4_900 + "!", "a.adoc"),
    ],
)
def test_long_hostile_lines_are_read_in_linear_time(line: str, name: str) -> None:
    note = read(f"{line}\n" * 500, name)
    assert len(note.lines) == 501


@pytest.mark.parametrize(
    ("line", "heading"),
    [("== Glass == ", "Glass"), ("== Glass =", "Glass ="), ("== a==", "a=="), ("# C # D #", "C # D"), ("== ==", "==")],
)
def test_a_heading_of_asciidoc_may_end_with_its_signs(line: str, heading: str) -> None:
    assert [section.heading for section in read(f"{line}\n\nText.\n", "a.adoc").sections[1:]] == [heading]
