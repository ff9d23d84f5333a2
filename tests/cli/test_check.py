"""Tests of `excerpt check`: an LLM's answer against its pack and the vault."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from excerpt.base.settings import user_paths
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.pack.memory_fragment import memory_name
from excerpt.pack.selection import MarkedFragment, SavedMarks, write_marks
from tests.cli.conftest import Excerpt, Piped

CONFLICT = "A sync conflict arises when two devices change one note before they meet."


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    return tmp_path / "answer.md"


@pytest.fixture(params=["markdown", "json", "xml", "plain"])
def pack_format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write_pack(
    excerpt: Excerpt, vault: Path, folder: Path, pack_format: str = "markdown", query: str = "sync conflict"
) -> Path:
    """Write a pack of the one passage about conflicts to a file and return its path."""
    found = excerpt("search", query, "--json", "--vault", vault).json["hits"][0]["fragment_id"]
    options = ("--id", found, "--expand", "none", "--format", pack_format, "--vault", vault)
    file = folder / "pack"
    file.write_text(excerpt("pack", query, *options).out, encoding="utf-8")
    return file


def test_a_true_answer_is_reported_as_true(
    excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path, pack_format: str
) -> None:
    answer.write_text(f'# Conflicts\n\nThe note says "{CONFLICT}" [1].\n', encoding="utf-8")
    told = excerpt("check", answer, "--pack", write_pack(excerpt, vault, tmp_path, pack_format), "--vault", vault)
    assert told.code == 0
    assert told.out.split("\n")[0] == "    3  stands        [1] Sync.md:9"
    assert told.out.split("\n")[1].startswith("    3  true          “A sync conflict arises")
    assert re.findall(r"\d+", told.err) == ["1", "1", "1", "1", "0"]


def test_an_untrue_answer_exits_with_1(excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    answer.write_text(
        'It says "a sync conflict arises when three devices change one note" [1].\n'
        'It says "simmer red lentils with cumin" [1].\n'
        'It says "the moon settles all of it" [2].\n',
        encoding="utf-8",
    )
    told = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert told.code == 1
    verdicts = [line.split()[1] for line in told.out.split("\n") if line[:5].strip()]
    assert verdicts == ["stands", "altered", "stands", "misattributed", "unknown", "invented"]
    assert "“three” for “two”" in told.out
    assert "Cooking/Lentil soup.md:3" in told.out
    assert any("[2]" in line and "[1]" in line for line in told.out.split("\n"))


def test_a_changed_source_is_shown_as_a_difference(excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    note = vault / "Sync.md"
    note.write_text(note.read_text().replace("two devices", "three devices"), encoding="utf-8")
    answer.write_text(f"> {CONFLICT} [1]\n", encoding="utf-8")
    told = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert told.code == 1
    assert [line.split()[1] for line in told.out.split("\n") if line[:5].strip()] == ["changed", "changed"]
    assert "+A sync conflict arises when three devices" in told.out


def test_a_citation_of_a_renamed_note_passes_and_names_its_new_path(
    excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path
) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    (vault / "Sync.md").rename(vault / "Old sync.md")
    answer.write_text(f"> {CONFLICT} [1]\n", encoding="utf-8")
    told = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert told.code == 0
    assert told.out.count("now Old sync.md:9") == 2


def test_the_answer_is_read_from_stdin(excerpt: Excerpt, vault: Path, tmp_path: Path, piped: Piped) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    piped(b"So it is [1].\r\n")
    assert excerpt("check", "-", "--pack", pack, "--vault", vault).code == 0


def test_a_pack_written_by_a_shell_as_utf_16_is_read(
    excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path
) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    pack.write_bytes(pack.read_text(encoding="utf-8").replace("\n", "\r\n").encode("utf-16"))
    answer.write_text(f"> {CONFLICT} [1]\n", encoding="utf-8")
    assert excerpt("check", answer, "--pack", pack, "--vault", vault).code == 0


def test_sentences_are_counted_and_uncited_ones_listed_with_an_option(
    excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path
) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    answer.write_text("Some devices never meet [1]. Nothing backs this up.\n", encoding="utf-8")
    told = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert told.code == 0
    assert re.search(r"^ +1  words 2/4 +Some devices never meet\.\n +missing: Some, never$", told.out, re.M)
    assert "Nothing backs" not in told.out
    assert "1 sentence without either" in told.err
    listed = excerpt("check", answer, "--pack", pack, "--vault", vault, "--uncited")
    assert re.search(r"^ +1  uncited +Nothing backs this up\.$", listed.out, re.M)


def test_sentences_whose_words_are_not_found_are_counted_first_and_the_exit_code_is_1(
    excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path
) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    answer.write_text("The backend is Django and MongoDB [1]. Two devices change one note [1].\n", encoding="utf-8")
    told = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert told.code == 1
    assert told.err.startswith("excerpt: 1 of 2 sentences: words not found in the source it cites · 2 citations")
    assert re.search(
        r"^ +1  not found +The backend is Django and MongoDB\.\n +missing: Django, MongoDB", told.out, re.M
    )
    data = excerpt("check", answer, "--pack", pack, "--vault", vault, "--json").json
    assert (data["true"], data["not_found"]) == (False, 1)
    assert [each["not_found"] for each in data["sentences"]] == [True, False]


def test_the_json_has_the_documented_keys(excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    answer.write_text(f'It says "{CONFLICT}" [1, 2]. Devices meet [1]. So they do it.\n', encoding="utf-8")
    told = excerpt("check", answer, "--pack", pack, "--vault", vault, "--json")
    assert told.code == 1
    data = told.json
    lists = ["sources", "citations", "quotations", "sentences", "uncited", "unchecked", "more"]
    assert list(data) == ["true", "not_found", *lists]
    assert data["true"] is False
    assert data["sources"] == [
        {
            "number": 1,
            "path": "Sync.md",
            "line_start": 9,
            "line_end": 9,
            "cited": 2,
            "state": "stands",
            "intact": True,
            "now": {"path": "Sync.md", "line_start": 9, "line_end": 9, "text": CONFLICT},
        }
    ]
    assert data["citations"][1] == {"line": 1, "text": "[1, 2]", "number": 2, "state": "unknown", "times": 1}
    place = {"path": "Sync.md", "line_start": 9, "line_end": 9, "passage": CONFLICT}
    assert data["quotations"] == [
        {
            "line": 1,
            "kind": "marks",
            "text": CONFLICT,
            "cited": [1, 2],
            "verdict": "true",
            "differences": [],
            "similarity": 1.0,
            "place": {**place, "source": 1},
            "now": {**place, "source": None},
            "turned_by": [],
        }
    ]
    assert data["sentences"] == [
        {"line": 1, "text": "Devices meet.", "cited": [1], "not_found": False, "words": 2, "found": 2, "missing": []}
    ]
    assert data["uncited"] == [{"line": 1, "text": "So they do it."}]
    assert data["unchecked"] == []
    assert data["more"] == dict.fromkeys(("citations", "quotations", "sentences", "uncited", "unchecked"), 0)


def test_parts_that_could_not_be_checked_are_named_and_with_strict_the_exit_code_is_3(
    excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path
) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    answer.write_text('It says "two devices change it [1].\n', encoding="utf-8")
    told = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert told.code == 0
    assert re.search(r'^ +1  unchecked +"two devices change it \[1\]\.$', told.out, re.M)
    assert "quotation mark" in told.out
    assert told.err.endswith(" · 1 unchecked\n")
    assert excerpt("check", answer, "--pack", pack, "--vault", vault, "--strict").code == 3
    data = excerpt("check", answer, "--pack", pack, "--vault", vault, "--json").json
    assert [each["line"] for each in data["unchecked"]] == [1]
    answer.write_text('It says "two devices change it [2].\n', encoding="utf-8")
    assert excerpt("check", answer, "--pack", pack, "--vault", vault, "--strict").code == 1


def test_an_ellipsis_that_omits_a_not_is_reported(excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path) -> None:
    (vault / "Keys.md").write_text("You must not delete the key.\n", encoding="utf-8")
    pack = write_pack(excerpt, vault, tmp_path, query="delete key")
    answer.write_text("It says “You must […] delete the key.” [1]\n", encoding="utf-8")
    told = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert told.code == 1
    assert "“not”" in told.out
    assert "[1] Keys.md:1" in told.out


@pytest.mark.programs
@pytest.mark.parametrize("apart", [" ", "\n\n"])
def test_the_report_of_an_answer_is_limited(
    excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path, apart: str
) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    answer.write_text(apart.join(["[1-999]"] * 500), encoding="utf-8")
    told = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert told.code == 1
    assert re.search(r"\[2-999\] .*\[1\]\n +500 times", told.out)
    assert told.out.count("unknown") == 1
    assert len(told.out) < 100_000
    data = excerpt("check", answer, "--pack", pack, "--vault", vault, "--json")
    assert len(data.out) < 200_000
    cited = sum(each["times"] for each in data.json["citations"]) + data.json["more"]["citations"]
    assert cited == 500 * 999
    assert {each["number"] for each in data.json["citations"]} == set(range(1, 1000))


@pytest.mark.programs
def test_of_thousands_of_quotations_the_untrue_ones_are_reported_first(
    excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path
) -> None:
    pack = write_pack(excerpt, vault, tmp_path)
    lines = ['"A sync conflict arises" [1].'] * 3000
    lines[2500] = lines[2600] = '"the moon settles all of it" [1].'
    answer.write_text("\n".join(lines), encoding="utf-8")
    told = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert told.code == 1
    assert re.search(r"^ 2501  invented +“the moon settles all of it”\n +2 times", told.out, re.M)
    assert told.out.count("\n") < 5000
    assert told.out.endswith(" more\n")
    data = excerpt("check", answer, "--pack", pack, "--vault", vault, "--json").json
    assert len(data["quotations"]) == 1000
    assert [each["line"] for each in data["quotations"] if each["verdict"] == "invented"] == [2501, 2601]
    assert data["more"]["quotations"] == 2000


@pytest.mark.parametrize(
    ("said", "pack"),
    [(None, "x"), (b"\xff\xfe\x00", "x"), (b"So [1].", None), (b"So [1].", b"no pack"), (b"So [1].", b"{")],
)
def test_unreadable_input_is_wrong_usage(
    excerpt: Excerpt, vault: Path, tmp_path: Path, said: bytes | None, pack: bytes | str | None
) -> None:
    answer = tmp_path / "answer.md"
    if said is not None:
        answer.write_bytes(said)
    file = tmp_path / "no pack"
    if isinstance(pack, bytes):
        file.write_bytes(pack)
    elif pack:
        file = write_pack(excerpt, vault, tmp_path)
    told = excerpt("check", answer, "--pack", file, "--vault", vault)
    assert told.code == 2
    assert told.out == ""
    assert "Traceback" not in told.err


def test_check_without_a_pack_or_with_both_inputs_from_stdin_is_wrong_usage(excerpt: Excerpt, vault: Path) -> None:
    assert excerpt("check", "-", "--vault", vault).code == 2
    assert excerpt("check", "-", "--pack", "-", "--vault", vault).code == 2


def test_a_check_without_a_vault_is_an_error(excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path) -> None:
    answer.write_text("So it is [1].", encoding="utf-8")
    pack = write_pack(excerpt, vault, tmp_path)
    assert excerpt("check", answer, "--pack", pack, "--vault", tmp_path / "none").code == 3


def test_control_characters_are_shown_and_no_file_outside_the_vault_is_read(
    excerpt: Excerpt, vault: Path, tmp_path: Path, answer: Path
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("the password is swordfish", encoding="utf-8")
    (vault / "Bad.md").write_text("A bell\x07 and an \x1b[31mescape that rings.\n", encoding="utf-8")
    pack = tmp_path / "pack.json"
    pack.write_text(
        '{"passages": [{"path": "../secret.md", "line_start": 1, "line_end": 1, "text": "the password is"},'
        f' {{"path": "{secret}\\u001b[2J", "line_start": 1, "line_end": 1, "text": "the password is"}}]}}'
    )
    answer.write_text('So [1][2].\x1b[2J It says "the password is swordfish".\n\n"bell\x07 and an \x1b[31mescape"\n')
    told = excerpt("check", answer, "--pack", pack, "--vault", vault, "--uncited")
    assert told.code == 1
    verdicts = [line.split()[1] for line in told.out.split("\n") if line[:5].strip()]
    assert verdicts == ["gone", "gone", "invented", "true"]
    assert not {"\x1b", "\x07"} & set(told.out + told.err)
    data = excerpt("check", answer, "--pack", pack, "--vault", vault, "--json").json
    assert "swordfish" not in str([source["now"] for source in data["sources"]] + [data["quotations"][0]["place"]])


@pytest.mark.parametrize(
    ("change", "told"), [("leave", (0, "stands")), ("edit", (1, "changed")), ("forget", (1, "gone"))]
)
def test_a_cited_memory_is_compared_with_the_saved_memory(
    excerpt: Excerpt, vault: Path, tmp_path: Path, change: str, told: tuple[int, str]
) -> None:
    store = FolderMemoryStore(user_paths().memory_folder(vault))
    memory = store.remember(make_memory("Soup keeps for three days in the fridge.", why="plan the shopping"))
    write_marks(user_paths().marks_file(vault), SavedMarks("soup", (MarkedFragment(memory_name(memory.id), ""),)))
    pack, answer = tmp_path / "pack", tmp_path / "answer.md"
    pack.write_text(excerpt("pack", "--from-marks", "--vault", vault).out, encoding="utf-8")
    answer.write_text("It keeps for three days [1].\n", encoding="utf-8")
    if change == "edit":
        excerpt("edit", memory.id, "--text", "Soup keeps for two days in the fridge.", "--vault", vault)
    if change == "forget":
        excerpt("forget", memory.id, "--vault", vault)
    check = excerpt("check", answer, "--pack", pack, "--vault", vault)
    assert (check.code, check.out.split()[1]) == told
