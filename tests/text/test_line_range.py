from excerpt.text.display import format_lines, line_range


def test_one_line_is_one_number_and_several_are_the_first_and_the_last() -> None:
    assert (line_range(8, 8), line_range(8, 12)) == ("8", "8-12")
    assert (format_lines(8, 8), format_lines(8, 12, "–")) == ("line 8", "lines 8–12")
