"""Tests of related notes: their order, and that the stated reasons are true."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from excerpt.base.settings import Settings
from excerpt.index.snapshot import Snapshot
from excerpt.insight.related import find_related_notes
from excerpt.insight.results import LinkDirection, RelatedNote, RelatedNotes
from excerpt.insight.similarity import WEIGHTS, find_similar_notes
from excerpt.search.engine import Engine
from tests.insight.garden_notes import NOTES
from tests.search.library import open_vault


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    opened = open_vault(tmp_path_factory.mktemp("gardens"), NOTES)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def engine(snapshot: Snapshot) -> Engine:
    return Engine(snapshot, Settings())


def related_note(found: RelatedNotes, path: str) -> RelatedNote:
    return next(note for note in found.notes if note.path == path)


def paths(found: RelatedNotes) -> list[str]:
    return [note.path for note in found.notes]


def lines(path: str, first: int, last: int) -> str:
    return "\n".join(NOTES[path].split("\n")[first - 1 : last])


def test_the_note_with_the_same_content_comes_first(engine: Engine) -> None:
    assert paths(find_related_notes(engine, "Garden/Tomatoes.md"))[0] == "Garden/Potatoes.md"
    assert paths(find_related_notes(engine, "Boat/Rigging.md"))[0] == "Boat/Sails.md"


def test_a_note_is_not_listed_as_related_to_itself_and_no_note_is_listed_twice(engine: Engine) -> None:
    for path in NOTES:
        found = paths(find_related_notes(engine, path, limit=50))
        assert path not in found
        assert len(set(found)) == len(found)


def test_a_passage_has_other_related_notes_than_its_note(engine: Engine) -> None:
    water = find_related_notes(engine, "Garden/Tomatoes.md", line=15)
    assert water.fragment is not None
    assert water.fragment.line_start <= 15 <= water.fragment.line_end
    assert "apple" in water.fragment.text
    blight = find_related_notes(engine, "Garden/Tomatoes.md", line=10)
    assert blight.notes[0].path == "Garden/Potatoes.md"
    assert blight.notes[0].score > related_note(water, "Garden/Potatoes.md").score


def test_a_heading_selects_its_passage_and_a_line_beyond_the_end_the_last(engine: Engine) -> None:
    heading, text = (
        find_related_notes(engine, "Garden/Tomatoes.md", 8),
        find_related_notes(engine, "Garden/Tomatoes.md", 10),
    )
    assert heading.fragment == text.fragment
    assert (
        find_related_notes(engine, "Garden/Tomatoes.md", 999).fragment
        == find_related_notes(engine, "Garden/Tomatoes.md", 15).fragment
    )


def test_the_parts_of_the_signals_add_up_to_the_score(engine: Engine) -> None:
    for path in NOTES:
        for note in find_related_notes(engine, path).notes:
            assert sum(signal.part for signal in note.signals) == pytest.approx(note.score)
            assert [signal.name for signal in note.signals] == list(WEIGHTS)
            assert all(0 <= signal.value <= 1 for signal in note.signals)
            assert all(signal.part == signal.value * signal.weight for signal in note.signals)


def test_no_score_can_be_above_one() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def test_the_most_related_notes_come_first_and_at_most_limit_notes_are_listed(engine: Engine) -> None:
    found = find_related_notes(engine, "Garden/Tomatoes.md", limit=50)
    scores = [note.score for note in found.notes]
    assert scores == sorted(scores, reverse=True)
    assert paths(find_related_notes(engine, "Garden/Tomatoes.md", limit=2)) == paths(found)[:2]


def test_the_most_similar_passages_are_shown_with_their_lines(engine: Engine) -> None:
    match = related_note(find_related_notes(engine, "Garden/Tomatoes.md"), "Garden/Potatoes.md").matches[0]
    assert "Bordeaux" in match.passage.fragment.text
    assert "Bordeaux" in match.related_passage.fragment.text
    for side, path in ((match.passage, "Garden/Tomatoes.md"), (match.related_passage, "Garden/Potatoes.md")):
        assert side.fragment.path == path
        assert side.fragment.text == lines(path, side.fragment.line_start, side.fragment.line_end)
    assert 0 < match.similarity <= 1


def test_words_highlighted_on_both_sides_are_those_in_common(engine: Engine) -> None:
    match = related_note(find_related_notes(engine, "Garden/Tomatoes.md"), "Garden/Potatoes.md").matches[0]
    for side in (match.passage, match.related_passage):
        marked = {side.fragment.text[span.start : span.end].lower() for span in side.spans}
        assert {"blight", "bordeaux", "leaves"} <= marked
    assert {"blight", "Bordeaux"} <= set(match.words)


def test_rare_shared_words_have_their_note_counts_and_locations(engine: Engine) -> None:
    words = {
        word.word: word
        for word in related_note(find_related_notes(engine, "Garden/Tomatoes.md"), "Garden/Potatoes.md").words
    }
    assert words["Bordeaux"].notes == 2
    assert "Bordeaux" in lines("Garden/Potatoes.md", words["Bordeaux"].line, words["Bordeaux"].line)


def test_stop_words_are_not_listed_as_shared(engine: Engine) -> None:
    for path in NOTES:
        told = {word.word.lower() for note in find_related_notes(engine, path).notes for word in note.words}
        assert not told & {"the", "and", "are", "with", "it", "see", "in"}


def test_the_direction_of_a_link_between_two_notes_is_stated(engine: Engine) -> None:
    tomatoes = find_related_notes(engine, "Garden/Tomatoes.md", limit=50)
    assert related_note(tomatoes, "Garden/Rain barrel.md").linked is LinkDirection.TO
    assert related_note(tomatoes, "Garden/Index.md").linked is LinkDirection.FROM
    assert related_note(tomatoes, "Garden/Potatoes.md").linked is LinkDirection.NO
    assert (
        related_note(find_related_notes(engine, "Garden/Basil.md"), "Garden/Rain barrel.md").linked
        is LinkDirection.BOTH
    )


def test_unlinked_leaves_out_links_of_either_direction_and_counts_them(engine: Engine) -> None:
    every, unlinked = (find_related_notes(engine, "Garden/Tomatoes.md", limit=50, unlinked=on) for on in (False, True))
    assert unlinked.notes == tuple(note for note in every.notes if note.linked is LinkDirection.NO)
    assert {"Garden/Rain barrel.md", "Garden/Index.md"} <= {*paths(every)} - {*paths(unlinked)}
    assert (every.hidden, unlinked.hidden) == (0, len(every.notes) - len(unlinked.notes))


def test_a_hidden_note_is_replaced_by_the_next(engine: Engine) -> None:
    every = [
        note
        for note in find_related_notes(engine, "Garden/Tomatoes.md", limit=50).notes
        if note.linked is LinkDirection.NO
    ]
    two = find_related_notes(engine, "Garden/Tomatoes.md", limit=2, unlinked=True)
    assert paths(two) == [note.path for note in every[:2]]


def test_a_link_with_an_alias_is_a_link(tmp_path: Path) -> None:
    notes = {
        "Here.md": "# Here\n\nLate blight on tomatoes, see [[Potato|Erdapfel]].\n",
        "Potato.md": "---\naliases: [Erdapfel]\n---\n# Potato\n\nLate blight on potatoes and tomatoes.\n",
    }
    opened = open_vault(tmp_path, notes)
    found = find_related_notes(Engine(opened, Settings()), "Here.md", unlinked=True)
    opened.close()
    assert (paths(found), found.hidden) == ([], 1)


def test_notes_that_link_to_both_notes_or_are_linked_from_both_are_named(engine: Engine) -> None:
    common = related_note(find_related_notes(engine, "Garden/Tomatoes.md"), "Garden/Basil.md").common
    assert {(link.path, link.links_to_both) for link in common} == {
        ("Garden/Rain barrel.md", False),
        ("Garden/Index.md", True),
    }


def test_an_index_page_connects_less_than_a_note_with_few_links(engine: Engine) -> None:
    def by_links(path: str, other: str) -> float:
        note = related_note(find_related_notes(engine, path, limit=50), other)
        return next(signal.value for signal in note.signals if signal.name == "common links")

    # Tomatoes and Potatoes share only the index page; Tomatoes and Basil also both link to the barrel.
    assert by_links("Garden/Tomatoes.md", "Garden/Basil.md") > by_links("Garden/Tomatoes.md", "Garden/Potatoes.md") > 0


def test_a_note_that_names_another_without_linking_it_is_a_missing_link(engine: Engine) -> None:
    tomatoes = related_note(find_related_notes(engine, "Garden/Tomatoes.md"), "Garden/Potatoes.md")
    assert tomatoes.missing_link
    (mention,) = tomatoes.mentions
    assert (mention.path, mention.text, mention.of) == ("Garden/Potatoes.md", "Tomatoes", "Garden/Tomatoes.md")
    assert "Tomatoes" in lines(mention.path, mention.line, mention.line)


def test_a_missing_link_is_found_from_either_side(engine: Engine) -> None:
    assert related_note(find_related_notes(engine, "Garden/Potatoes.md"), "Garden/Tomatoes.md").missing_link
    assert related_note(find_related_notes(engine, "Boat/Log.md"), "Boat/Night Watch.md").missing_link
    assert related_note(find_related_notes(engine, "Boat/Night Watch.md"), "Boat/Log.md").missing_link


def test_an_alias_counts_as_a_name_like_the_title(engine: Engine) -> None:
    basil = related_note(find_related_notes(engine, "Kitchen/Pesto.md"), "Garden/Basil.md")
    assert basil.missing_link
    assert [mention.text for mention in basil.mentions] == ["sweet basil"]


def test_a_common_word_is_a_name_only_if_capitalised_within_a_sentence(tmp_path: Path) -> None:
    notes = {
        "Anchor.md": "# Anchor\n\nThe bower is forged.\n",
        "Small.md": "# Small\n\nDrop the anchor and wait.\n",
        "First.md": "# First\n\nAnchor and wait.\n",
        "Within.md": "# Within\n\nThe pub is called Anchor and it is old.\n",
    }
    opened = open_vault(tmp_path, notes)
    try:
        found = find_related_notes(Engine(opened, Settings()), "Anchor.md")
        assert {note.path for note in found.notes if note.mentions} == {"Within.md"}
    finally:
        opened.close()


def test_linked_notes_have_no_missing_link(engine: Engine) -> None:
    assert not related_note(find_related_notes(engine, "Garden/Basil.md"), "Garden/Rain barrel.md").missing_link


def test_shared_tags_and_folder_are_named(engine: Engine) -> None:
    sails = related_note(find_related_notes(engine, "Boat/Rigging.md"), "Boat/Sails.md")
    assert sails.tags == ("boat",)
    assert sails.place == "Boat/"
    assert related_note(find_related_notes(engine, "Kitchen/Pesto.md"), "Garden/Basil.md").place == ""


def test_a_note_with_nothing_in_common_is_not_listed(engine: Engine) -> None:
    assert "Boat/Night Watch.md" not in paths(find_related_notes(engine, "Kitchen/Gazpacho.md", limit=50))


def test_an_empty_note_has_no_related_notes_and_no_error(engine: Engine) -> None:
    found = find_related_notes(engine, "Empty.md")
    assert not found.notes
    assert not find_related_notes(engine, "Empty.md", line=3).notes


def test_shared_words_of_a_script_without_spaces_are_whole_words_with_note_counts(tmp_path: Path) -> None:
    notes = {
        "一.md": "# 一\n\n反向链接插件在侧边栏。点击标签页就能看。\n",
        "二.md": "# 二\n\n从侧边栏打开标签页，再看反向链接。\n",
        "三.md": "# 三\n\n向链子上了油。\n",
        **{f"{n}.md": f"# {n}\n\n今天天气很好，我们去公园散步吧，带上第{n}本书。\n" for n in range(8)},
    }
    opened = open_vault(tmp_path, notes)
    try:
        other = related_note(find_related_notes(Engine(opened, Settings()), "一.md", limit=50), "二.md")
        assert ("反向链接", 2) in {(word.word, word.notes) for word in other.words}
    finally:
        opened.close()


def test_an_unknown_note_is_a_key_error(engine: Engine) -> None:
    with pytest.raises(KeyError):
        find_related_notes(engine, "Nowhere.md")


def test_the_same_index_gives_the_same_result(snapshot: Snapshot, engine: Engine) -> None:
    again = Engine(snapshot, Settings())
    for path in NOTES:
        assert find_related_notes(engine, path).notes == find_related_notes(again, path).notes


def test_comparing_all_notes_at_once_equals_comparing_pairs(snapshot: Snapshot) -> None:
    count = len(snapshot.table.paths)
    found = find_similar_notes(snapshot, range(count), 3)
    rows = [np.flatnonzero(snapshot.table.notes == note) for note in range(count)]
    sums = [(snapshot.vectors.rows(each) - snapshot.vectors.mean).sum(axis=0) for each in rows]
    for note, similar in enumerate(found):
        if not len(rows[note]):
            assert similar == ()
            continue
        cosines = {
            snapshot.table.paths[other]: float(
                sums[note] @ sums[other] / np.linalg.norm(sums[note]) / np.linalg.norm(sums[other])
            )
            for other in range(count)
            if other != note and len(rows[other])
        }
        best = sorted((path for path in cosines if cosines[path] > 0), key=lambda path: -cosines[path])[:3]
        assert [each.path for each in similar] == best
        assert [each.similarity for each in similar] == pytest.approx([cosines[path] for path in best], abs=1e-4)


def test_the_nearest_note_of_a_copy_is_the_original(tmp_path: Path) -> None:
    text = "# Tea\n\nGreen tea is steeped at eighty degrees.\n"
    opened = open_vault(tmp_path, {"Tea.md": text, "Copy.md": text, "Hives.md": "# Hives\n\nA hive stands dry.\n"})
    (copy,) = find_similar_notes(opened, [opened.facets.numbers["Copy.md"]], 1)[0]
    assert copy.path == "Tea.md"
    opened.close()


@pytest.mark.parametrize("count", [0, 1])
def test_a_vault_of_one_note_has_no_related_notes(tmp_path: Path, count: int) -> None:
    notes = {"Only.md": "# Only\n\nNothing else is here.\n" * count}
    opened = open_vault(tmp_path, notes)
    try:
        assert not find_related_notes(Engine(opened, Settings()), "Only.md").notes
    finally:
        opened.close()


@pytest.mark.programs
def test_a_huge_single_line_is_compared_in_bounded_time(tmp_path: Path) -> None:
    words = " ".join(f"w{number % 5000}x" for number in range(400_000))
    notes = {"Big.md": f"{words} Kettle Drum", "Kettle Drum.md": f"# Kettle Drum\n\n{words[:2000]}", "Tea.md": "Tea.\n"}
    snapshot = open_vault(tmp_path, notes)
    engine = Engine(snapshot, Settings())
    find_related_notes(engine, "Tea.md")  # loads what is cached
    began = time.thread_time()
    assert paths(find_related_notes(engine, "Big.md")) == ["Kettle Drum.md"]
    assert paths(find_related_notes(engine, "Kettle Drum.md")) == ["Big.md"]
    # It takes half a second; with work of the square of the length, half a minute.
    assert time.thread_time() - began < 12
    snapshot.close()
