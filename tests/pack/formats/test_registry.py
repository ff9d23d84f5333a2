"""Tests of parsing a written pack in every format, and of rejecting anything else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.kinds import Format, Scope, Strategy
from excerpt.base.model import EntryHit, Pack, PackResult, TableHeader
from excerpt.pack.formats.pack_format import PackFile, UnreadablePackError
from excerpt.pack.formats.registry import FORMATS, load_format, locate_passages, read_pack
from excerpt.pack.formats.source_label import PackLinks
from excerpt.text.display import visible_line
from excerpt.text.fragments import digest_of_text
from excerpt.vault.known_vaults import VaultFolders

LINKS = PackLinks(VaultFolders.of([Path("/vault")]))


def pack(text: str, path: str = "Guides/Sync.md", first: int = 12, table_header: TableHeader | None = None) -> Pack:
    return Pack(
        id="0123456789:o:2-3",
        path=path,
        title="Sync",
        heading_path=("Conflicts", "By hand"),
        line_start=first,
        line_end=first + text.count("\n"),
        scope=Scope.NEIGHBORS,
        entry=EntryHit("abcdef012345", 2, 0.75, ("Conflicts", "By hand")),
        fragment_ids=("abcdef012345",),
        text=text,
        tokens=9,
        digest=digest_of_text(text),
        cut_above=first % 2 == 0,
        cut_below=first % 3 == 0,
        modified="2026-11-21" if first % 2 else "",
        table_header=table_header,
    )


def written(packs: list[Pack], question: str = "") -> dict[str, str]:
    asked = (question,) if question else ()
    result = PackResult(
        query=question,
        strategy=Strategy.AUTO,
        budget=4000,
        tokenizer="o200k",
        passages=tuple(packs),
        left_out=(),
        text="",
        tokens=1,
        value=1.0,
        source_tokens=2,
    )
    return {
        name.value: form.make_renderer(asked, "").render(packs)
        if form.render_data is None
        else form.render_data(result, LINKS)
        for name, form in zip(FORMATS, map(load_format, FORMATS), strict=True)
    }


def result_of(passages: list[Pack], form: Format) -> PackResult:
    return PackResult("q", Strategy.AUTO, 4_000, "o200k", tuple(passages), (), "", 1, 1.0, 2, format=form)


@pytest.mark.parametrize("form", FORMATS)
def test_passages_are_located_in_the_text_of_every_format_however_it_escapes_them(form: Format) -> None:
    passages = [pack('Tom & "Jerry"\n<b>'), pack("Tom"), pack("]]> \x1b"), pack("the end")]
    text = written(passages)[form.value]
    starts = locate_passages(result_of(passages, form), text)
    assert None not in starts
    first, second, third, last = (text[start or 0 :] for start in starts)
    assert first.startswith(("Tom &", '"text": "Tom &'))
    assert second.startswith(("Tom\n", "Tom</document_content>", '"text": "Tom"'))
    assert third.startswith(("]]", '"text": "]]'))
    assert last.startswith(("the end", '"text": "the end"'))


def test_a_passage_that_a_template_changes_is_not_located_but_the_next_is() -> None:
    passages = [pack("one & two"), pack("three")]
    assert locate_passages(result_of(passages, Format.TEMPLATE), "one and two\nthree") == [None, 12]


FORMS = [form.value for form in FORMATS]
_LINE = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=12),
    st.sampled_from(["```", "````", "=====", "=" * 9, "", "[…]", "\x1b[2J", "\x00", "Question: x"]),
    st.sampled_from(["## [2] forged", "From a.md:1, digest 000000", "</document_content>", "<char/>", "]]>", "&amp;"]),
)
_TEXT = st.lists(_LINE, min_size=1, max_size=6).map("\n".join)
_PATH = st.one_of(
    st.sampled_from(["a.md", "b/c d.md", "e:3.md", "h\ni.md", "ü\x1b.md", "<k>&.md"]),
    st.sampled_from(["f:1-2, digest 0123ab", "g:1, modified 2026-11-21", "i:1, table header 3-4"]),
)
_HEADER = st.one_of(st.none(), _LINE.map(lambda line: TableHeader(8, 9, f"{line}|\n|---|")))


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(st.builds(pack, _TEXT, _PATH, st.integers(11, 2000), _HEADER), min_size=1, max_size=4))
def test_a_written_pack_can_be_read(form: str, packs: list[Pack]) -> None:
    sources = read_pack(written(packs)[form]).sources
    assert [source.number for source in sources] == list(range(1, len(packs) + 1))
    for source, one in zip(sources, packs, strict=True):
        assert (source.text, source.line_start, source.line_end) == (one.text, one.line_start, one.line_end)
        assert visible_line(source.path) == visible_line(one.path)
        assert source.heading == "Sync › Conflicts › By hand"
        assert one.digest.startswith(source.digest)
        assert len(source.digest) >= 6
        assert (source.cut_above, source.cut_below) == (one.cut_above, one.cut_below)
        assert source.is_intact
        assert source.table_header == one.table_header


@pytest.mark.parametrize("form", FORMS)
def test_the_question_of_a_pack_can_be_read(form: str) -> None:
    assert read_pack(written([pack("One.")], "how do devices <meet>?")[form]).question == "how do devices <meet>?"


@pytest.mark.parametrize("form", ["markdown", "plain"])
def test_crlf_line_ends_and_a_surrounding_prompt_are_accepted(form: str) -> None:
    prompt = written([pack("One.\n\nTwo.")])[form]
    text = f"\ufeffDear model,\n\n{prompt}\nThank you.\n"
    assert read_pack(text.replace("\n", "\r\n")).sources[0].text == "One.\n\nTwo."


@pytest.mark.parametrize("form", FORMS)
def test_a_source_text_edited_in_a_pack_is_flagged_as_not_intact(form: str) -> None:
    edited = written([pack("Two devices meet.")])[form].replace("Two devices", "Ten devices")
    assert not read_pack(edited).sources[0].is_intact


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no source"),
        ("Some notes.\n\n## [1] A title\n\nand text\n", "no source"),
        ("{", "JSON"),
        ("{}", "JSON"),
        ('{"passages": []}', "no source"),
        ('{"passages": [{"path": "a.md"}]}', "JSON"),
        ('{"passages": [{"path": 1, "line_start": 1, "line_end": 1, "text": "x"}]}', "JSON"),
        ('{"passages": [{"path": "a.md", "line_start": -1, "line_end": 1, "text": "x"}]}', "JSON"),
        ("{" * 100_000, "JSON"),
        ('{"passages":' + "[" * 100_000, "JSON"),
        ("<", "XML"),
        ("<documents/>", "no source"),
        ("<documents><document/></documents>", "XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><documents>&b;</documents>', "declarations"),
        ("## [1] A\nFrom a.md:1, digest 000000\n\n```\nx\n", "cut off"),
        ("## [1] A\nFrom a.md:1, digest 000000\n\nx\n", "missing"),
    ],
)
def test_a_file_that_is_not_a_pack_is_refused(text: str, said: str) -> None:
    with pytest.raises(UnreadablePackError, match=said):
        read_pack(text)


def test_two_packs_in_one_file_are_refused() -> None:
    """Refuse two packs in one file, as the source meant by [1] is ambiguous."""
    one = written([pack("One.")])["markdown"]
    with pytest.raises(UnreadablePackError, match=r"the same number \[1\]"):
        read_pack(f"{one}\n{one}")


@given(st.one_of(st.text(), st.lists(_LINE, max_size=12).map("\n".join), st.text().map("{".__add__)))
def test_reading_any_text_gives_a_pack_or_one_error(text: str) -> None:
    try:
        assert isinstance(read_pack(text), PackFile)
    except UnreadablePackError as error:
        assert error.exit_code == 2


def test_a_json_pack_without_digests_can_be_read() -> None:
    data = json.loads(written([replace(pack("One."), title="Conflicts")])["json"])
    for key in ("digest", "title", "modified"):
        data["passages"][0].pop(key)
    (source,) = read_pack(json.dumps(data)).sources
    assert (source.heading, source.digest, source.is_intact) == ("Conflicts › By hand", "", True)
