import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.errors import ReadError
from excerpt.model import Note
from excerpt.vault.readers import digest_of, reader_for
from excerpt.vault.readers.markdown import MarkdownReader, decode

LIMIT = 1024 * 1024
GERMAN = "# Übung\n\nDie Suche findet jede Stelle, auch wenn man die Wörter vergaß: schöne Grüße über Straßen.\n"
RUSSIAN = "# Поиск\n\nПоиск находит любой отрывок заметки, даже если вы не помните точных слов.\n"
CHINESE = "# 搜索\n\n搜索可以找到笔记中的任何片段，即使你不记得确切的词语。\n"
JAPANESE = "# 検索\n\n検索は正確な言葉を覚えていなくても、ノートのどの部分でも見つけます。\n"
KOREAN = "# 검색\n\n검색은 정확한 단어를 기억하지 못해도 노트의 모든 부분을 찾습니다.\n"


def read(folder: Path, data: bytes, max_bytes: int = LIMIT) -> Note:
    file = folder / "note.md"
    file.write_bytes(data)
    return MarkdownReader().read(file, "note.md", max_bytes)[0]


def test_a_reader_is_chosen_by_extension() -> None:
    assert isinstance(reader_for("a/b.md"), MarkdownReader)
    assert isinstance(reader_for("A.MARKDOWN"), MarkdownReader)
    assert reader_for("a.pdf") is None
    assert reader_for("md") is None


def test_a_note_comes_with_the_digest_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"# One\r\n")
    note, digest = MarkdownReader().read(tmp_path / "a.md", "x/a.md", LIMIT)
    assert (note.path, note.title, note.text) == ("x/a.md", "a", "# One\n")
    assert digest == digest_of(b"# One\r\n") != digest_of(b"# One\n")


@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig"])
def test_utf8_needs_no_warning(tmp_path: Path, mark: str) -> None:
    note = read(tmp_path, GERMAN.encode(mark))
    assert (note.text, note.warnings) == (GERMAN, ())


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        (GERMAN, "utf-16", "UTF-16"),
        (GERMAN, "utf-32", "UTF-32"),
        (GERMAN, "utf-16-le", "UTF-16"),
        (GERMAN, "utf-16-be", "UTF-16"),
        (GERMAN, "latin-1", "cp125"),
        (GERMAN * 20 + "x" * 20_000, "cp1252", "Windows-1252"),
        ("It’s a “note” about cafés, and nothing more than that, really; most of it is ASCII." * 3, "cp1252", "cp125"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8-r", "koi8_r"),
        (CHINESE, "gb18030", "gb18030"),
        (JAPANESE, "shift-jis", "cp932"),
        (JAPANESE, "euc-jp", "euc_jp"),
        (KOREAN, "euc-kr", "cp949"),
    ],
)
def test_other_encodings_are_read_and_named(tmp_path: Path, text: str, encoding: str, named: str) -> None:
    data = text.encode(encoding)
    if encoding in ("utf-16", "utf-32"):
        assert data[:2] in (b"\xff\xfe", b"\xfe\xff")
    note = read(tmp_path, data)
    assert note.text == text
    assert named in note.warnings[0]


def test_a_little_damage_to_utf8_stays_little(tmp_path: Path) -> None:
    data = CHINESE.encode()
    note = read(tmp_path, data[:31] + b"\xff" + data[34:])
    assert note.text.count("\ufffd") == 1
    assert "1 broken character" in note.warnings[0]


def test_two_encodings_in_one_file_are_both_read(tmp_path: Path) -> None:
    words = "plain words " * 30
    note = read(tmp_path, words.encode() + "café ".encode() + words.encode() + "naïve façade".encode("cp1252"))
    assert note.text.endswith("naïve façade")
    assert "café" in note.text


@pytest.mark.parametrize("after", [b"", b" and", b" and more" * 20])
def test_a_zero_byte_here_and_there_is_text(tmp_path: Path, after: bytes) -> None:
    note = read(tmp_path, b"some text\x00" + after)
    assert note.text.startswith("some text")
    assert note.warnings == ()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00" * 100, "zeros"),
        (b"%PDF-1.4 and so on", "not text"),
        (b"\x89PNG\r\n\x1a\n", "not text"),
        (b"\x00\x01\x02\x00\x00\x00\x05\x00\x00\x00\x00\x00" * 50, "not text"),
        (b"x" * (LIMIT + 1), "larger than 1 MB"),
    ],
)
def test_what_is_no_note_is_refused_with_the_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        read(tmp_path, data)


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b" \t\r\n", b"x" * LIMIT])
def test_the_smallest_and_the_largest_notes_are_notes(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data).warnings == ()


def test_a_file_that_vanished_says_so(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="vanished"):
        MarkdownReader().read(tmp_path / "gone.md", "gone.md", LIMIT)


def test_a_link_put_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("secret")
    (tmp_path / "link.md").symlink_to(tmp_path / "target")
    with pytest.raises(ReadError):
        MarkdownReader().read(tmp_path / "link.md", "link.md", LIMIT)


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(ReadError, match="pipe"):
        MarkdownReader().read(tmp_path / "pipe.md", "pipe.md", LIMIT)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    file.chmod(0)
    with pytest.raises(ReadError, match="cannot be read"):
        MarkdownReader().read(file, "a.md", LIMIT)


@given(st.binary(max_size=300))
def test_any_bytes_are_text_that_can_be_stored_or_refused(data: bytes) -> None:
    try:
        text, _ = decode(data)
    except ReadError:
        return
    text.encode("utf-8")
