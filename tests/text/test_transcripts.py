"""Transcripts and where their messages begin."""

import pytest

from excerpt.base.model import Note
from excerpt.text.fragments import FragmentLimits, fragments_of
from excerpt.text.markdown import parse_note
from excerpt.text.transcripts import find_messages
from tests.growth import grows_about_linearly

BOLD = ["# Planning", "", "**User:** When is it due?", "", "**Assistant:** In May.", "", "- a plan", ""]


@pytest.mark.parametrize(
    ("lines", "messages"),
    [
        ([*BOLD, "**User:** Thanks!", "**Assistant:** Good luck."], (3, 5, 9, 10)),
        (["Ann: Hi", "Bo: Hi", "Ann: Where were you?", "In Rome?", "Bo: Yes"], (1, 2, 3, 5)),
        (["[10:32] Ann: Hi", "[10:33] Bo: Hi", "[10:33] Ann: Well?", "[10:40] Bo: Soon"], (1, 2, 3, 4)),
        (["[10:32] ann hi", "[10:33] bo hi", "[10:33] ann well?", "[10:40] bo soon"], (1, 2, 3, 4)),
        (["---", "date: 2024", "---", "Ann: Hi", "Bo: Hi", "Ann: Bye", "Bo: Bye"], (4, 5, 6, 7)),
    ],
)
def test_messages_of_two_speakers_in_turn_make_a_transcript(lines: list[str], messages: tuple[int, ...]) -> None:
    assert find_messages(lines) == messages


@pytest.mark.parametrize(
    "lines",
    [
        ["Name: Ann", "Age: 40", "Town: Rome", "Job: cook"],
        ["A text.", "Ann: Hi", "Bo: Hi", "Ann: Bye", "Bo: Bye"],
        ["Note: first", "Note: second", "Note: third", "Note: fourth"],
        ["Ann: Hi", "Bo: Hi"],
        ["", "# Only a heading"],
        [],
    ],
)
def test_a_note_of_another_shape_is_no_transcript(lines: list[str]) -> None:
    assert find_messages(lines) == ()


def test_a_word_before_a_colon_inside_an_answer_begins_no_message() -> None:
    talk = ["**User:** How?", "**Assistant:** So.", "**Note:** with care"]
    code = ["```", "**User:** no message", "```"]
    assert find_messages([*talk * 6, "**Tip:** once", *code])[:4] == (1, 2, 3, 4)
    assert find_messages([*talk[:2] * 6, "**Note:** with care", *code]) == tuple(range(1, 13))


def test_a_long_message_is_not_joined_to_a_short_one() -> None:
    answer = "\n\n".join(["A long answer of some words."] * 6)
    text = "\n\n".join([f"**User:** Question {n}?\n\n**Assistant:** {answer}" for n in range(3)])
    limits = FragmentLimits(target=20, maximum=30, min_last=5)
    fragments = fragments_of(parse_note("Chat.md", text), len, limits)
    assert [fragment.text for fragment in fragments if "User" in fragment.text] == [
        f"**User:** Question {n}?" for n in range(3)
    ]


def test_short_messages_are_joined_to_a_fragment() -> None:
    text = "\n\n".join(["Ann: How are you?", "Bo: Well."] * 3)
    assert len(fragments_of(parse_note("Chat.md", text), len)) == 1


@pytest.mark.parametrize(
    "message",
    ["{name}: hi\n", "{name}: hi\n\n", "- item\n{name}: hi\n"],
    ids=["in one block", "in a block each", "in a list"],
)
def test_a_transcript_of_many_messages_is_divided_in_linear_time(message: str) -> None:
    def note_of(size: int) -> Note:
        messages = (message.format(name=("Ann", "Bo")[n % 2]) for n in range(size))
        return parse_note("Chat.md", "Ann: hi\nBo: hi\nAnn: hi\nBo: hi\n\n" + "".join(messages))

    notes = {size: note_of(size) for size in (250, 2_000)}
    assert grows_about_linearly(lambda size: fragments_of(notes[size], len), 2_000)
