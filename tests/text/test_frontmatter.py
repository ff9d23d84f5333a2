import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.text.frontmatter import MAX_CHARACTERS, read_frontmatter


def test_title_aliases_tags_and_other_properties_are_separated() -> None:
    front = read_frontmatter("---\ntitle: A note\naliases: [One, Two]\ntags: [a, '#b/c']\nstatus: done\n---\nbody\n")
    assert (front.title, front.aliases, front.tags) == ("A note", ("One", "Two"), ("a", "b/c"))
    assert front.properties == {"status": ("done",)}
    assert front.lines == 6
    assert front.warnings == ()


@pytest.mark.parametrize(
    ("yaml", "tags"),
    [
        ("tags: a b, c", ("a", "b", "c")),
        ("tag: '#solo'", ("solo",)),
        ("Tags:\n- x\n- y\n- x", ("x", "y")),
        ("tags:", ()),
        ("tags: 2024", ("2024",)),
        ("tags: {a: b}", ()),
    ],
)
def test_tags_may_be_a_list_or_a_line(yaml: str, tags: tuple[str, ...]) -> None:
    assert read_frontmatter(f"---\n{yaml}\n---\n").tags == tags


def test_aliases_on_one_line_are_separated_by_commas() -> None:
    assert read_frontmatter("---\nalias: Foo Bar, Baz\n---\n").aliases == ("Foo Bar", "Baz")


@pytest.mark.parametrize("value", ["2024-01-02", "2024-01-02T10:00:00Z", "0123", "no", "1e3", "12:30", "0x1F", "1_000"])
def test_values_keep_their_spelling(value: str) -> None:
    assert read_frontmatter(f"---\nk: {value}\n---\n").properties == {"k": (value,)}


def test_empty_values_are_dropped() -> None:
    assert read_frontmatter("---\na: ~\nb: null\nc:\nd: ''\ne: 'null'\n---\n").properties == {"e": ("null",)}


def test_nested_values_have_dotted_keys() -> None:
    front = read_frontmatter("---\na:\n  b: 1\n  c: [2, {d: 3}]\n---\n")
    assert front.properties == {"a.b": ("1",), "a.c": ("2",), "a.c.d": ("3",)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---",
        "---\n",
        "---\na: 1\n",
        "text\n---\na: 1\n---\n",
        "\n---\na: 1\n---\n",
        "----\na: 1\n----\n",
        " ---\n---\n",
    ],
)
def test_text_without_delimiters_from_the_first_line_is_not_frontmatter(text: str) -> None:
    assert read_frontmatter(text).lines == 0


def test_prose_between_two_rules_is_not_frontmatter() -> None:
    assert read_frontmatter("---\nA thought between rules.\n---\nmore\n").lines == 0


@pytest.mark.parametrize(("text", "lines"), [("---\n---\nx", 2), ("---\n\n---\n\n\n  x", 3), ("---\n# only\n---", 3)])
def test_empty_frontmatter_is_frontmatter(text: str, lines: int) -> None:
    front = read_frontmatter(text)
    assert (front.lines, front.warnings) == (lines, ())


@pytest.mark.parametrize(
    "yaml",
    [
        "a: [b",
        "a: b: c",
        "a:\n\t- b",
        "- a\n- b",
        "a: \x00",
        "a: \x07",
        "{{title}}: [",
        "a: 'x",
    ],
)
def test_unreadable_frontmatter_is_a_warning_and_not_text(yaml: str) -> None:
    front = read_frontmatter(f"---\n{yaml}\n---\nbody")
    assert front.lines == yaml.count("\n") + 3
    assert front.warnings


@pytest.mark.parametrize(
    ("line", "properties"),
    [
        ("summary: Deep: rules of the barn", {"summary": ("Deep: rules of the barn",)}),
        ("zusammenfassung: Teil 1: Ämter", {"zusammenfassung": ("Teil 1: Ämter",)}),
        ("摘要: 第一: 引言", {"摘要": ("第一: 引言",)}),
        ("author: @ada", {"author": ("@ada",)}),
        ("rate: of all: 5% # about", {"rate": ("of all: 5%",)}),
        ("quote: 'it's'", {"quote": ("it's",)}),
        ("list: [a, b: c: d, #e]", {"list": ("a", "b: c: d", "#e")}),
        ("list:\n  - a: b: c\n  - d", {"list": ("a: b: c", "d")}),
        ("list:\n\t- a\n\t- d", {"list": ("a", "d")}),
        ("created: {{date}}, {{time}}", {"created": ("{{date}}, {{time}}",)}),
        ('a: "unclosed', {"a": ('"unclosed',)}),
        ("stray words", {}),
    ],
)
def test_beside_an_invalid_line_all_other_keys_are_read(line: str, properties: dict[str, tuple[str, ...]]) -> None:
    front = read_frontmatter(f"---\ntitle: One\n{line}\ntags: [b, c]\nstatus: open\n---\nbody")
    assert (front.title, front.tags) == ("One", ("b", "c"))
    assert front.properties == {**properties, "status": ("open",)}
    assert len(front.warnings) == 1


def test_lines_of_invalid_frontmatter_without_a_key_are_text() -> None:
    front = read_frontmatter("---\n<%*\ntitle: A: B\n# comment\n  stray words\nlist:\n  - a: [\n  stray: [\n---\nbody")
    assert (front.title, front.properties) == ("A: B", {"list": ("a: [",)})
    assert front.unread_lines == (2, 5, 8)


def test_of_a_key_that_occurs_twice_the_last_value_counts_with_a_warning() -> None:
    front = read_frontmatter("---\nstatus: draft\ntags: [a]\nstatus: final\n---\n")
    assert (front.properties, front.tags) == ({"status": ("final",)}, ("a",))
    assert front.warnings == ("The frontmatter has the key status twice, again in line 4; the last value counts.",)


@pytest.mark.parametrize(
    "yaml", ["tags: #bees", "tag: #bees", "tags:\n  - #bees", "tags:\n- #bees", "Tags: #bees, #bees"]
)
def test_tags_that_yaml_reads_as_comments_are_tags_with_a_warning(yaml: str) -> None:
    front = read_frontmatter(f"---\n{yaml}\nstatus: open # not #closed\n---\n")
    assert (front.tags, front.properties) == (("bees",), {"status": ("open",)})
    assert "#bees" in front.warnings[0]


@pytest.mark.parametrize("yaml", ["tags: # which", "# tags: #bees", "x: #bees", "note: |\n  tags: #bees"])
def test_yaml_comments_after_other_keys_are_not_tags(yaml: str) -> None:
    front = read_frontmatter(f"---\n{yaml}\nstatus: open\n---\n")
    assert (front.tags, front.warnings) == ((), ())


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=5, unique=True), st.integers(0, 5))
def test_keys_are_read_as_from_valid_frontmatter_wherever_the_invalid_line_is(keys: list[str], position: int) -> None:
    lines = [f"k{key}: {key} value" for key in keys]
    valid = read_frontmatter("\n".join(["---", *lines, "---", ""]))
    lines.insert(position, "bad: a: b")
    front = read_frontmatter("\n".join(["---", *lines, "---", ""]))
    assert front.properties == {**valid.properties, "bad": ("a: b",)}


def test_the_warning_names_the_line_of_the_note() -> None:
    (warning,) = read_frontmatter("---\na: 1\nb: c: d\n---\n").warnings
    assert "line 3" in warning


def test_a_yaml_alias_that_multiplies_its_content_is_limited() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n"
        for before, after in zip("abcdefghi", "bcdefghij", strict=True)
    )
    front = read_frontmatter(f"---\n{bomb}---\n")
    assert any("more than" in warning for warning in front.warnings)


def test_a_yaml_alias_that_multiplies_empty_content_is_limited() -> None:
    bomb = "a: &a ['', '', '', '', '', '', '', '', '', '']\n" + "".join(
        f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n"
        for before, after in zip("abcdefghi", "bcdefghij", strict=True)
    )
    assert read_frontmatter(f"---\n{bomb}---\n").warnings


def test_a_yaml_alias_without_an_anchor_is_read_as_text() -> None:
    assert read_frontmatter("---\ntitle: *Draft\n---\n").title == "*Draft"


def test_a_yaml_alias_that_contains_itself_is_read_in_finite_time() -> None:
    assert read_frontmatter("---\nb: 1\na: &a [*a, *a]\n---\n").properties == {"b": ("1",)}


@pytest.mark.parametrize(
    "yaml", ["a: " + "[" * 30_000 + "]" * 30_000, "- " * 30_000 + "x", "? " * 30_000, "{a: " * 20_000]
)
def test_deep_nesting_is_a_warning(yaml: str) -> None:
    assert read_frontmatter(f"---\n{yaml}\n---\n").warnings


def test_an_oversized_block_is_not_frontmatter() -> None:
    front = read_frontmatter("---\na: " + "x" * MAX_CHARACTERS + "\n---\n")
    assert front.lines == 0
    assert front.warnings


def test_unknown_yaml_tags_are_read_as_plain_values() -> None:
    front = read_frontmatter("---\na: !!python/object/apply:os.system [echo]\nb: !x y\n---\n")
    assert front.properties == {"a": ("echo",), "b": ("y",)}


@given(st.text(st.sampled_from("ab: -[]{},&*!|>'\"%@`#?\n\t0~<=.\\\x00\x85\u2028é"), max_size=60))
def test_no_yaml_raises_an_error(yaml: str) -> None:
    front = read_frontmatter(f"---\n{yaml}\n---\nbody")
    assert 0 <= front.lines <= yaml.count("\n") + 3


@pytest.mark.parametrize(
    ("line", "count", "first"),
    [("- [", 60_000, "key:"), ("- #a", 50_000, "tags:"), ("tag: #a", 30_000, "tag: #a")],
)
def test_long_frontmatter_is_read_in_linear_time(line: str, count: int, first: str) -> None:
    front = read_frontmatter(f"---\n{first}\n" + f"{line}\n" * count + "---\n")
    assert (front.lines, bool(front.warnings)) == (count + 3, True)


def test_tags_in_a_yaml_comment_are_not_added_to_a_list_with_the_same_anchor() -> None:
    front = read_frontmatter("---\ntags: &a [x]\nother: *a\ntags: #y\n---\n")
    assert front.properties == {"other": ("x",)}
