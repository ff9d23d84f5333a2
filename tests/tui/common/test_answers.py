"""Who is told the answer of a thread, and who is not."""

from __future__ import annotations

from excerpt.tui.messages import Answers, Failure


def test_only_the_newest_question_of_a_kind_is_answered() -> None:
    answers, said = Answers(), list[object]()
    older = answers.expect("window", said.append)
    newer = answers.expect("window", said.append)
    answers.hand_over("window", older, "old")
    assert answers.waits("window")
    answers.hand_over("window", newer, "new")
    assert (said, answers.waits("window")) == (["new"], False)


def test_questions_of_other_kinds_are_answered_each() -> None:
    answers, said = Answers(), list[object]()
    window, badges = answers.expect("window", said.append), answers.expect("badges", said.append)
    answers.hand_over("badges", badges, "badges")
    answers.hand_over("window", window, "window")
    assert said == ["badges", "window"]


def test_what_was_taken_back_is_not_answered() -> None:
    answers, said = Answers(), list[object]()
    number = answers.expect("window", said.append)
    answers.forget("window")
    answers.hand_over("window", number, "late")
    assert (said, answers.waits("window")) == ([], False)


def test_who_asked_is_told_that_it_failed_and_may_yet_be_answered() -> None:
    answers, said, failed = Answers(), list[object](), list[Failure]()
    failure = Failure("window", "Cannot", "It cannot be read.")
    number = answers.expect("window", said.append, failed.append)
    answers.fail(failure)
    assert (failed, answers.waits("window")) == ([failure], False)
    answers.hand_over("window", number, "of what was asked meanwhile")
    assert said == ["of what was asked meanwhile"]


def test_a_failure_that_nobody_asked_about_is_nobodys() -> None:
    Answers().fail(Failure("open", "Cannot", "It cannot be read."))
