"""Tests of link resolution: a link points to the note that Obsidian would open."""

from __future__ import annotations

import pytest

from excerpt.corpus.links import LinkResolver

TARGETS = LinkResolver(
    [
        "Home.md",
        "projects/Plan.md",
        "projects/deep/Plan.md",
        "projects/v1.2 notes.md",
        "archive/Old Plan.markdown",
        "archive/deep/Only.md",
        "Café.md",
    ]
)


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        ("Home", "projects/Plan.md", "Home.md"),
        ("home", "projects/Plan.md", "Home.md"),
        ("Home.md", "projects/Plan.md", "Home.md"),
        ("Plan", "Home.md", "projects/Plan.md"),
        ("Plan", "projects/deep/Plan.md", "projects/deep/Plan.md"),
        ("deep/Plan", "Home.md", "projects/deep/Plan.md"),
        ("../Plan.md", "projects/deep/Plan.md", "projects/Plan.md"),
        ("./deep/Plan.md", "projects/Plan.md", "projects/deep/Plan.md"),
        ("/projects/Plan", "archive/deep/Only.md", "projects/Plan.md"),
        ("projects\\Plan", "Home.md", "projects/Plan.md"),
        ("Old Plan", "Home.md", "archive/Old Plan.markdown"),
        ("v1.2 notes", "Home.md", "projects/v1.2 notes.md"),
        ("Cafe\u0301", "Home.md", "Café.md"),
        ("", "Home.md", "Home.md"),
        ("lan", "Home.md", None),
        ("Missing", "Home.md", None),
        ("../../etc/passwd", "Home.md", None),
    ],
)
def test_a_target_resolves_to_the_note_obsidian_would_open(target: str, source: str, path: str | None) -> None:
    assert TARGETS.resolve(target, source) == path


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        ("Note", "a/x.md", "Note.md"),
        ("Note", "x.md", "Note.md"),
        ("Note.md", "a/x.md", "a/Note.md"),
        ("./Note", "a/x.md", "a/Note.md"),
        ("b/Note", "a/x.md", "b/Note.md"),
        ("Other", "a/x.md", "a/Other.md"),
        ("Other", "x.md", "a/Other.md"),
        ("Other", "longer name/c/x.md", "longer name/c/Other.md"),
        ("Deep", "x.md", "a/b/c/Deep.md"),
    ],
)
def test_of_notes_with_equal_names_a_link_means_the_exact_path_then_its_own_folder_then_the_shortest_path(
    target: str, source: str, path: str
) -> None:
    notes = ["Note.md", "a/Note.md", "b/Note.md", "a/b/Note.md", "a/Other.md", "longer name/c/Other.md"]
    targets = LinkResolver([*notes, "long folder/Deep.md", "a/b/c/Deep.md"])
    assert targets.resolve(target, source) == path


def test_a_link_to_an_id_means_the_file_whose_name_begins_with_the_id() -> None:
    notes = ["202012091130 On ants.md", "z/202012091130.md", "20240501 walk.md", "20240501a.md", "1234567 short.md"]
    targets = LinkResolver(notes)
    assert targets.resolve("202012091130", "x.md") == "z/202012091130.md"
    assert LinkResolver(notes[:1]).resolve("202012091130", "x.md") == notes[0]
    assert targets.resolve("20240501", "x.md") == "20240501 walk.md"
    assert [targets.resolve(target, "x.md") for target in ("2024050", "1234567", "20201209", "20240501 w")] == [
        None
    ] * 4


@pytest.mark.parametrize(
    ("target", "label", "path"),
    [
        ("the label", "dendron.topic.vaults", "dendron.topic.vaults.md"),
        ("the label", "dendron.topic.vaults#one", "dendron.topic.vaults.md"),
        ("dendron", "dendron.topic.vaults", "dendron.md"),
        ("the label", "no.such.note", None),
        ("the label", "dendron topic", None),
        ("the label", "", None),
    ],
)
def test_the_label_of_a_link_is_used_as_target_if_only_the_label_names_a_note(
    target: str, label: str, path: str | None
) -> None:
    assert LinkResolver(["dendron.md", "dendron.topic.vaults.md"]).resolve(target, "x.md", label) == path


def test_an_alias_is_not_a_link_target() -> None:
    assert LinkResolver(["Home.md"]).resolve("Start page", "Home.md") is None


def test_a_link_to_an_id_of_org_leads_to_the_first_note_with_it() -> None:
    ids = [("3F2A-ü", "Beta.org"), ("3f2a-ü", "Copy.org"), ("a", "Alpha.org")]
    targets = LinkResolver(["Alpha.org", "Beta.org", "id:a.md"], identifiers=lambda: ids)
    assert targets.resolve("id:3f2a-Ü", "Alpha.org") == "Beta.org"
    assert targets.resolve("id:a", "Beta.org") == "Alpha.org"
    assert targets.resolve("id:gone", "Beta.org") is None


def test_ids_of_notes_are_read_only_if_a_link_is_to_an_id() -> None:
    def read_ids() -> list[tuple[str, str]]:
        raise AssertionError

    assert LinkResolver(["Home.md"], identifiers=read_ids).resolve("Home", "x.md") == "Home.md"
