"""Tests of `excerpt pack`: the text for a prompt, and the same as JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from excerpt.base.kinds import Format, Scope, Strategy
from excerpt.base.settings import PackSettings, Settings, user_paths
from excerpt.index.snapshot import Snapshot
from excerpt.pack.build import build_pack
from excerpt.pack.formats.registry import render_output, renderer_for
from excerpt.pack.formats.source_label import PackLinks
from excerpt.pack.selection import MarkedFragment, PackOverrides, SavedMarks, write_marks
from excerpt.text.tokens import open_tokenizer
from excerpt.vault.known_vaults import DEMO, VaultFolders, add_recent_vault
from tests.cli.conftest import Answer, Excerpt
from tests.golden import read_golden


def test_the_pack_goes_to_stdout_and_a_summary_to_stderr(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "sync conflict", "--vault", vault)
    assert answer.code == 0
    assert "A sync conflict arises when two devices change one note before they meet." in answer.out
    assert "From Sync.md:" in answer.out
    assert re.match(r"excerpt: strong · \d+ passages? .* of 4,000 tokens \(o200k\)", answer.err)


def test_the_same_question_gives_the_same_bytes(excerpt: Excerpt, vault: Path) -> None:
    one = excerpt("pack", "devices", "--vault", vault)
    excerpt("index", "--vault", vault, "--rebuild")
    assert excerpt("pack", "devices", "--vault", vault).out == one.out


@pytest.mark.parametrize("budget", [0, 1, 60, 100, 4000])
@pytest.mark.parametrize("tokenizer", ["o200k", "chars/4"])
def test_the_text_is_never_above_the_budget(excerpt: Excerpt, vault: Path, budget: int, tokenizer: str) -> None:
    answer = excerpt("pack", "sync conflict", "--vault", vault, "--budget", str(budget), "--tokenizer", tokenizer)
    assert open_tokenizer(tokenizer).count(answer.out) <= budget
    assert answer.code == (0 if answer.out else 1)


@pytest.mark.parametrize(("typed", "budget"), [("2k", 2_000), ("1.5k", 1_500), ("2,000", 2_000), ("300", 300)])
def test_a_budget_may_be_written_as_people_do(excerpt: Excerpt, vault: Path, typed: str, budget: int) -> None:
    assert excerpt("pack", "sync", "--vault", vault, "--budget", typed, "--json").json["budget"] == budget


@pytest.mark.parametrize("typed", ["-1", "many", "1.5", "k", "9000000k"])
def test_an_invalid_or_excessive_budget_is_refused(excerpt: Excerpt, vault: Path, typed: str) -> None:
    assert excerpt("pack", "sync", "--vault", vault, "--budget", typed).code == 2


def test_the_json_has_the_documented_keys(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "sync conflict", "--vault", vault, "--format", "json")
    data = answer.json
    assert list(data)[:8] == [
        "query",
        "strategy",
        "confidence",
        "budget",
        "tokenizer",
        "tokens",
        "value",
        "passages",
    ]
    assert list(data["passages"][0])[:10] == [
        "id",
        "path",
        "heading_path",
        "line_start",
        "line_end",
        "scope",
        "entry",
        "fragment_ids",
        "tokens",
        "text",
    ]
    assert data["tokens"] == open_tokenizer("o200k").count(excerpt("pack", "sync conflict", "--vault", vault).out)


def test_the_scope_of_a_pack_can_be_chosen_by_an_option(excerpt: Excerpt, vault: Path) -> None:
    found = found_fragment_ids(excerpt, vault, "sync conflict")[0]

    def texts(*options: str) -> list[str]:
        asked = ("pack", "--id", found, "--vault", str(vault), "--format", "json", *options)
        return [pack["text"] for pack in excerpt(*asked).json["passages"]]

    hit = "A sync conflict arises when two devices change one note before they meet."
    assert texts("--expand", "none") == [hit]
    assert texts("--expand", "section") == [f"## Conflicts\n\n{hit}"] or texts("--expand", "section") == [hit]
    assert "keeps its own history" in texts("--expand", "neighbors")[0]
    assert texts("--neighbors", "0") == [hit]
    assert "Notes are synchronised" in texts("--expand", "note")[0]


def test_an_unknown_tokenizer_is_wrong_usage_that_names_the_known_ones(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "sync", "--vault", vault, "--tokenizer", "o100k")
    assert answer.code == 2
    assert "o200k" in answer.err
    assert answer.out == ""


def test_the_summary_of_a_pack_of_one_passage_uses_the_singular(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "lentils", "--vault", vault)
    assert answer.err.startswith("excerpt: strong · 1 passage · ")


def test_nothing_found_exits_with_1(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", '"zzqqxx"', "--vault", vault)
    assert answer.code == 1
    assert answer.out == ""


# --- queries, ids, marks ----------------------------------------------------------------------------------------------


def paths(answer: Answer) -> list[str]:
    return [pack["path"] for pack in answer.json["passages"]]


def found_fragment_ids(excerpt: Excerpt, vault: Path, query: str) -> list[str]:
    return [hit["fragment_id"] for hit in excerpt("search", query, "--vault", vault, "--json").json["hits"]]


def test_an_empty_pack_has_a_reason(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "lentils", "--budget", "20", "--expand", "none", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")
    assert all(fact in answer.err for fact in ("20 tokens", "Cooking/Lentil soup.md:3", "12 tokens"))
    assert "was found" in excerpt("pack", '"qxyz"', "--vault", vault).err


def test_a_paragraph_above_the_budget_is_cut_and_its_part_can_be_checked(
    excerpt: Excerpt, vault: Path, tmp_path: Path
) -> None:
    long = " ".join(f"Sentence {number} tells of thing{number} alone." for number in range(200))
    (vault / "Long.md").write_text(f"{long}\n", encoding="utf-8")
    answer = excerpt("pack", '"thing150"', "--budget", "300", "--vault", vault)
    assert answer.code == 0
    assert "thing150" in answer.out
    pack, reply = tmp_path / "p.md", tmp_path / "a.md"
    pack.write_text(answer.out, encoding="utf-8")
    reply.write_text('"Sentence 150 tells of thing150 alone." [1]\n', encoding="utf-8")
    checked = excerpt("check", reply, "--pack", pack, "--vault", vault, "--json")
    assert checked.code == 0
    assert checked.json["sources"][0]["state"] == "stands"
    (vault / "Long.md").write_text(f"{long.replace('thing150', 'thing999')}\n", encoding="utf-8")
    assert excerpt("check", reply, "--pack", pack, "--vault", vault).code == 1


def test_several_queries_make_one_pack(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "red lentils", "ripe banana", "--vault", vault, "--json")
    assert set(paths(answer)) == {"Cooking/Lentil soup.md", "Colour.md"}
    assert answer.json["query"] == "red lentils | ripe banana"


def test_with_the_order_of_the_vault_passages_are_sorted_by_path_and_have_no_scores(
    excerpt: Excerpt, vault: Path
) -> None:
    asked = ("pack", "red lentils", "ripe banana", "sync conflict", "--vault", vault, "--json")
    ranked, unranked = excerpt(*asked), excerpt(*asked, "--rank", "none")
    assert paths(unranked) == sorted(paths(ranked)) != paths(ranked)
    assert {pack["entry"]["score"] for pack in unranked.json["passages"]} == {0}


def test_fragment_ids_are_packed_in_their_order(excerpt: Excerpt, vault: Path) -> None:
    banana, lentils = found_fragment_ids(excerpt, vault, "banana")[0], found_fragment_ids(excerpt, vault, "lentils")[0]
    answer = excerpt("pack", "--id", banana, "--id", lentils, "--vault", vault, "--json")
    assert [pack["entry"]["fragment_id"] for pack in answer.json["passages"]] == [banana, lentils]
    assert answer.code == 0


def test_packing_an_unknown_fragment_id_is_reported(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "--id", "000000000000", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")
    assert "000000000000" in answer.err


def test_marks_of_the_app_are_packed_with_their_query(excerpt: Excerpt, vault: Path) -> None:
    (lentils, *_), (banana, *_) = (
        found_fragment_ids(excerpt, vault, "lentils"),
        found_fragment_ids(excerpt, vault, "banana"),
    )
    kept = SavedMarks(
        "how ripe?",
        (MarkedFragment(banana, "Colour.md"), MarkedFragment(lentils, "")),
        PackOverrides(dropped_ids=frozenset({lentils})),
    )
    write_marks(user_paths().marks_file(vault), kept)
    answer = excerpt("pack", "--from-marks", "--vault", vault, "--question")
    assert "banana" in answer.out
    assert "lentils" not in answer.out
    assert answer.out.endswith("\nQuestion: how ripe?\n")
    assert "excerpt: 1 passage, 1 left out" in answer.err
    asked = excerpt("pack", "and why?", "--from-marks", "--vault", vault, "--question")
    assert asked.out == answer.out.replace("how ripe?", "and why?")


def test_a_pack_of_marks_names_those_that_the_budget_left_out(excerpt: Excerpt, vault: Path) -> None:
    ids = [found_fragment_ids(excerpt, vault, word)[0] for word in ("lentils", "banana")]
    write_marks(user_paths().marks_file(vault), SavedMarks("ripe", tuple(MarkedFragment(each, "") for each in ids)))
    needed = json.loads(excerpt("pack", "--id", ids[0], "--vault", vault, "--json").out)["tokens"]
    options = ("--vault", vault, "--budget", needed, "--expand", "none")
    for answer in (
        excerpt("pack", "--from-marks", *options),
        excerpt("pack", "--id", ids[0], "--id", ids[1], *options),
    ):
        assert "banana" not in answer.out
        assert "over the budget: Colour.md:" in answer.err


def test_marks_are_found_in_a_note_whose_folder_was_moved(excerpt: Excerpt, vault: Path) -> None:
    (vault / "first").mkdir()
    (vault / "Colour.md").rename(vault / "first" / "Colour.md")
    (banana, *_) = found_fragment_ids(excerpt, vault, "banana")
    write_marks(user_paths().marks_file(vault), SavedMarks("ripe", (MarkedFragment(banana, "first/Colour.md"),)))
    before = excerpt("pack", "--from-marks", "--vault", vault)
    assert "banana" in before.out
    (vault / "first").rename(vault / "second")
    after = excerpt("pack", "--from-marks", "--vault", vault)
    assert after.out == before.out.replace("first/", "second/")


def test_a_marked_memory_that_is_replaced_stays_in_the_pack_and_says_what_replaced_it(
    excerpt: Excerpt, vault: Path
) -> None:
    old = json.loads(excerpt("remember", "Lentils cost 2 euros", "--json", "--vault", vault).out)["id"]
    name = f"memory:{old}"
    write_marks(user_paths().marks_file(vault), SavedMarks("price", (MarkedFragment(name, name),)))
    saved = excerpt("remember", "Lentils cost 3 euros", "--replace", old, "--json", "--vault", vault)
    packed = excerpt("pack", "--from-marks", "--vault", vault).out
    assert "Lentils cost 2 euros" in packed
    assert f"by memory:{json.loads(saved.out)['id']}" in packed


def test_without_marks_the_command_says_how_to_mark(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "--from-marks", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")
    assert "marked" in answer.err


def test_pack_requires_a_query_or_fragment_ids_or_marks(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "--vault", vault)
    assert answer.code == 2
    assert all(word in answer.err for word in ("QUERY", "--id", "--from-marks"))


# --- formats ----------------------------------------------------------------------------------------------------------


@pytest.mark.programs
@pytest.mark.parametrize("form", ["markdown", "xml", "plain", "template"])
@pytest.mark.parametrize("budget", [0, 1, 60, 100, 200])
@pytest.mark.parametrize("tokenizer", ["o200k", "llama3", "chars4"])
def test_the_budget_is_kept_in_every_format(  # noqa: PLR0917 (fixtures)
    excerpt: Excerpt, vault: Path, tmp_path: Path, form: str, budget: int, tokenizer: str
) -> None:
    template = tmp_path / "own.j2"
    template.write_text(
        "{{ question }}\n{% for s in sources %}{{ s.number }}\n{{ s.text | upper }}\n{% endfor %}\nEnd."
    )
    how = ("--template", template) if form == "template" else ("--format", form)
    asked = ("pack", "sync conflict", "--vault", vault, "--budget", str(budget), "--tokenizer", tokenizer, "--question")
    answer = excerpt(*asked, *how)
    assert open_tokenizer(tokenizer).count(answer.out) <= budget
    assert answer.code == (0 if answer.out else 1)


def test_the_format_of_the_settings_is_the_default(excerpt: Excerpt, vault: Path) -> None:
    file = user_paths().settings_file
    file.parent.mkdir(parents=True)
    file.write_text('[pack]\nformat = "template"\ntemplate = "own.j2"\nquestion = true\n')
    (file.parent / "own.j2").write_text("{% for s in sources %}{{ s.path }}\n{% endfor %}")
    assert excerpt("pack", "lentils", "--vault", vault).out == "Cooking/Lentil soup.md\n"
    assert excerpt("pack", "lentils", "--vault", vault, "--format", "plain", "--no-question").out.startswith("[1] ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--format", "xml", "--json"), "--format xml and --json"),
        (("--format", "xml", "--template", "x.j2"), "--format xml and --template"),
        (("--format", "template"), "format `template`"),
        (("--template", "missing.j2"), "missing.j2"),
        (("--format", "docx"), "docx"),
    ],
)
def test_an_unknown_format_is_wrong_usage(excerpt: Excerpt, vault: Path, options: tuple[str, ...], said: str) -> None:
    answer = excerpt("pack", "sync", "--vault", vault, *options)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_failing_template_is_reported_with_its_line(excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "own.j2").write_text("one\n{{ sorces }}\n")
    answer = excerpt("pack", "sync", "--vault", vault, "--template", tmp_path / "own.j2")
    assert (answer.code, answer.out) == (2, "")
    assert "own.j2, line 2: 'sorces'" in answer.err


# --- destinations -----------------------------------------------------------------------------------------------------


def test_an_output_file_has_the_bytes_of_stdout(excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
    printed = excerpt("pack", "sync conflict", "--vault", vault).out
    answer = excerpt("pack", "sync conflict", "--vault", vault, "-o", tmp_path / "prompt.md")
    assert answer.out == ""
    assert (tmp_path / "prompt.md").read_bytes() == printed.encode()
    assert str(tmp_path / "prompt.md") in answer.err
    assert f"{len(printed.encode()):,} bytes" in answer.err
    assert excerpt("pack", "sync conflict", "--vault", vault, "-o", "-").out == printed


def test_an_output_file_is_unchanged_if_nothing_was_found(excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("before")
    assert excerpt("pack", '"zzqqxx"', "--vault", vault, "-o", tmp_path / "prompt.md").code == 1
    assert (tmp_path / "prompt.md").read_text() == "before"


def test_an_output_file_in_any_known_vault_is_refused(excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    add_recent_vault(user_paths(), other)
    for file in (other / "prompt.md", DEMO / "prompt.md"):
        answer = excerpt("pack", "sync", "--vault", vault, "-o", file)
        assert (answer.code, answer.out) == (2, "")
        assert f"the vault {file.parent}" in answer.err
        assert not file.exists()


@pytest.mark.parametrize("place", ["prompt.md", "deep/prompt.md"])
@pytest.mark.parametrize("holds", ["Note.md", "Only a picture.png"])
def test_an_output_file_in_any_indexed_vault_is_refused(
    excerpt: Excerpt, vault: Path, tmp_path: Path, place: str, holds: str
) -> None:
    other = tmp_path / "other"
    (other / "deep").mkdir(parents=True)
    (other / holds).write_text("# Note\n")
    assert excerpt("index", "--vault", other).code == 0
    (tmp_path / "way in").symlink_to(other)
    for file in (other / place, tmp_path / "way in" / place):
        answer = excerpt("pack", "sync", "--vault", vault, "-o", file)
        assert (answer.code, answer.out) == (2, "")
        assert f"the vault {other}" in answer.err
    assert list(other.rglob("prompt.md")) == []


@pytest.mark.parametrize("place", ["prompt.md", "Cooking/../deep/prompt.md"])
def test_an_output_file_in_the_vault_is_refused(excerpt: Excerpt, vault: Path, tmp_path: Path, place: str) -> None:
    (tmp_path / "way in").symlink_to(vault)
    before = sorted(vault.rglob("*"))
    for file in (vault / place, tmp_path / "way in" / place):
        answer = excerpt("pack", "sync", "--vault", vault, "-o", file)
        assert (answer.code, answer.out) == (2, "")
        assert f"the vault {vault}" in answer.err
    assert sorted(vault.rglob("*")) == before


def test_an_unwritable_output_file_is_reported(excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
    answer = excerpt("pack", "sync", "--vault", vault, "-o", tmp_path / "missing" / "prompt.md")
    assert answer.code == 3
    assert str(tmp_path / "missing" / "prompt.md") in answer.err
    assert excerpt("pack", "sync", "--vault", vault, "-o", tmp_path).code == 2


@pytest.mark.programs
def test_a_closed_pipe_is_not_an_error(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    command = [sys.executable, "-m", "excerpt", "pack", "sync conflict", "--vault", str(vault)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        err = child.stderr.read()
    assert (child.returncode, err) == (141, b"")


# --- savings ----------------------------------------------------------------------------------------------------------


def test_status_sums_the_tokens_that_packs_saved(excerpt: Excerpt, vault: Path) -> None:
    assert excerpt("status", "--vault", vault, "--json").json["savings"] is None
    one = excerpt("pack", "devices", "--vault", vault, "--expand", "none")
    excerpt("pack", "devices", "--vault", vault, "--json")  # JSON is for a program and counts as no paste
    status = excerpt("status", "--vault", vault, "--json").json
    savings = status["savings"]
    assert savings["packs"] == 1
    assert savings["tokens"] == open_tokenizer("o200k").count(one.out)
    assert savings["source_tokens"] == open_tokenizer("o200k").count((vault / "Sync.md").read_text())
    assert f"1 pack with {savings['tokens']} tokens" in excerpt("status", "--vault", vault).out
    assert re.search("^saved +nothing", excerpt("status", "--vault", vault, "--clear-savings").out, re.M)


def test_savings_are_counted_in_the_tokens_of_the_pack(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("pack", "lentils", "--vault", vault, "--tokenizer", "chars/4", "--json")
    assert answer.json["source_tokens"] == open_tokenizer("chars/4").count(
        (vault / "Cooking/Lentil soup.md").read_text()
    )


def test_a_pack_without_an_answer_is_empty_unless_the_budget_is_to_be_filled(excerpt: Excerpt, vault: Path) -> None:
    query = "quantum chromodynamics lattice"
    empty = excerpt("pack", query, "--vault", vault)
    assert (empty.code, empty.out) == (1, "")
    assert "nothing answers the query. Nearest: " in empty.err
    filled = excerpt("pack", query, "--vault", vault, "--fill", "budget")
    assert (filled.code, "From " in filled.out) == (0, True)


def test_an_unsure_pack_names_the_missing_words_in_its_text_and_on_stderr(excerpt: Excerpt, vault: Path) -> None:
    notice = "No passage has “lattice”; these are nearest."
    unsure = excerpt("pack", "lattice devices and cumin", "--vault", vault)
    assert (unsure.code, unsure.out.split("\n")[0]) == (0, notice)
    assert f"excerpt: {notice}" in unsure.err.split("\n")
    form = excerpt("pack", "lattice devices and cumin", "--vault", vault, "--json").json
    assert (form["confidence"], form["stopped"], form["notice"]) == ("unsure", "unsure", notice)


def test_a_part_of_the_question_that_was_not_found_is_named_in_the_text_and_on_stderr(
    excerpt: Excerpt, vault: Path
) -> None:
    query = "sync conflict on two devices, and a lattice of quarks"
    packed = excerpt("pack", query, "--vault", vault)
    assert packed.out.startswith("Not found: “lattice of quarks”.")
    assert "excerpt: Not found: “lattice of quarks”." in packed.err.split("\n")
    assert excerpt("pack", query, "--vault", vault, "--json").json["not_found"] == ["lattice of quarks"]
    assert excerpt("search", query, "--vault", vault, "--json").json["not_found"] == ["lattice of quarks"]


def test_a_template_without_the_notice_has_it_in_its_first_line(excerpt: Excerpt, vault: Path, tmp_path: Path) -> None:
    for name, text in (("own.j2", "{{ notice }} {{ sources[0].path }}"), ("other.j2", "{{ sources[0].path }}")):
        (tmp_path / name).write_text(text)
        packed = excerpt("pack", "lattice devices and cumin", "--vault", vault, "--template", tmp_path / name)
        assert packed.out.startswith("No passage has “lattice”; these are nearest.")
        assert packed.out.count("No passage") == 1


def test_a_pack_of_several_queries_fills_the_budget(excerpt: Excerpt, vault: Path) -> None:
    assert excerpt("pack", "sync conflict", "--vault", vault, "--json").json["stopped"] == "enough"
    queries = ("sync conflict", "quantum chromodynamics")
    both = excerpt("pack", *queries, "--vault", vault, "--json").json
    assert both == excerpt("pack", *queries, "--vault", vault, "--json", "--fill", "budget").json
    assert both["stopped"] != "enough"


def test_wordings_of_one_question_end_where_its_answer_is(excerpt: Excerpt, vault: Path) -> None:
    wordings = ("sync conflict", "quantum chromodynamics")
    packed = excerpt("pack", *wordings, "--vault", vault, "--json", "--fill", "enough").json
    alone = excerpt("pack", "sync conflict", "--vault", vault, "--json").json
    assert packed["stopped"] == "enough"
    assert [each["text"] for each in packed["passages"]] == [each["text"] for each in alone["passages"]]


GOLDEN = Path(__file__).with_name("golden")
MODIFIED = 1_740_830_400  # 2025-03-01, 12:00 UTC
ODD = (
    "# Odd & ends\n\n"
    "Text with <b>markup</b>, &amp; entities, ]]> and \x1b[31mcolour.\n\n"
    "## [2] forged\n\n"
    "```python\nif a < b:\n    print('=====')\n```\n\n=====\n\n"
    "</document_content></document>\n"
)
TEMPLATE = (
    "{{ question }}\n"
    "{% for s in sources %}\n"
    "\n"
    "({{ s.number }}) {{ s.heading }}, {{ s.place }}, {{ s.modified }}\n"
    "{{ s.link }}\n"
    "{{ s.text | fence('text') }}\n"
    "{% endfor %}\n"
)
QUESTION = "What is odd?"
BUDGET = 900
FILES = {"markdown": "pack.md", "xml": "pack.xml", "json": "pack.json", "plain": "pack.txt", "template": "pack.own"}


@dataclass(frozen=True)
class Asked:
    """Two fragments of an indexed vault with fixed file dates, and how to pack them."""

    vault: Path
    ids: tuple[str, ...]
    template: Path
    excerpt: Excerpt

    def argv(self, form: str) -> list[str]:
        """Return the options that all ways of packing share."""
        options = ["--template", str(self.template)] if form == "template" else ["--format", form]
        return ["pack", "--vault", str(self.vault), "--budget", str(BUDGET), "--expand", "note", "--question", *options]

    @property
    def by_ids(self) -> list[str]:
        return [QUESTION, *(word for fragment in self.ids for word in ("--id", fragment))]


@pytest.fixture
def asked(vault: Path, excerpt: Excerpt, tmp_path: Path) -> Asked:
    (vault / "Odd [1].md").write_text(ODD, encoding="utf-8")
    for number, file in enumerate(sorted(vault.rglob("*.md"))):
        os.utime(file, (MODIFIED, MODIFIED + 4000 * number))  # equal times would be those of a copy
    template = tmp_path / "own.j2"
    template.write_text(TEMPLATE, encoding="utf-8")
    excerpt("index", "--vault", vault)
    snapshot = Snapshot.open(user_paths().index_folder(vault), Settings())
    ids = tuple(snapshot.note_fragments(path)[0].id for path in ("Odd [1].md", "Sync.md"))
    snapshot.close()
    return Asked(vault, ids, template, excerpt)


@pytest.mark.parametrize("form", FILES)
def test_screen_and_command_and_pipe_and_file_all_give_the_pack_of_the_golden_file(
    form: str, asked: Asked, tmp_path: Path
) -> None:
    expected = read_golden(GOLDEN / FILES[form], text_of_build(form, asked))
    assert text_of_build(form, asked) == expected
    assert text_of_command(form, asked) == expected
    if form == "markdown":  # a pipe gets the same output in every format
        assert text_through_pipe(form, asked) == expected
    assert text_of_marks(form, asked) == expected
    assert write_and_read_pack(form, asked, tmp_path / "out") == expected
    if form != "json":
        assert 0 < open_tokenizer("o200k").count(expected) <= BUDGET


def text_of_build(form: str, asked: Asked) -> str:
    """Build the pack as the app does."""
    settings = PackSettings(
        budget=BUDGET, scope=Scope.NOTE, format=Format(form), question=True, template=str(asked.template)
    )
    links = PackLinks(VaultFolders.of([asked.vault]))
    snapshot = Snapshot.open(user_paths().index_folder(asked.vault), Settings())
    result = build_pack(
        snapshot,
        [],
        query=QUESTION,
        strategy=Strategy.HYBRID,
        settings=settings,
        tokenizer=open_tokenizer(settings.tokenizer),
        renderer=renderer_for(settings, [QUESTION], links, asked.vault),
        marked=asked.ids,
    )
    snapshot.close()
    return render_output(result, links)


def text_of_command(form: str, asked: Asked) -> str:
    return asked.excerpt(*asked.argv(form), *asked.by_ids).out


def text_through_pipe(form: str, asked: Asked) -> str:
    command = [sys.executable, "-m", "excerpt", *asked.argv(form), *asked.by_ids]
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode()


def text_of_marks(form: str, asked: Asked) -> str:
    marks = tuple(MarkedFragment(fragment, "") for fragment in asked.ids)
    write_marks(user_paths().marks_file(asked.vault), SavedMarks(QUESTION, marks))
    return asked.excerpt(*asked.argv(form), "--from-marks", "--strategy", "hybrid").out


def write_and_read_pack(form: str, asked: Asked, file: Path) -> str:
    assert asked.excerpt(*asked.argv(form), *asked.by_ids, "-o", file).out == ""
    return file.read_bytes().decode()
