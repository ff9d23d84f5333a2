"""Hypothesis strategies for notes: Markdown constructs that once split, hid or shifted lines, in any order."""

from __future__ import annotations

from hypothesis import strategies as st

_PIECES = (
    "plain words here",
    "# Heading",
    "## Sub *heading* ^hid",
    "#no heading",
    "####### seven",
    "#",
    "Setext",
    "===",
    "---",
    "Setext\nof two lines\n---",
    "***",
    "- item\n  - nested\n    - deeper",
    "1. one\n2. two",
    "- [ ] task ^task-1",
    "- # heading in a list",
    "> quote\nlazy line",
    "> [!note] callout\n> # not a section\n> text",
    "> > deep\n> back",
    "```",
    "````",
    "~~~",
    "```py\n# comment\n```",
    "> ```\nlazy",
    "    indented code",
    "\tcode by tab",
    "   \t mixed indent",
    "| a | b |\n|---|---|\n| [[x\\|y]] | 2 |",
    "|only|",
    "<div>",
    "</div>",
    "<!-- comment",
    "-->",
    "<!-- # one line -->",
    "<script>\n# not a heading",
    "%%",
    "%%\n# hidden\n%%",
    "%% inline %%",
    "$$",
    "$$\nx\n=\ny\n$$",
    "$$ one $$",
    "$",
    "[ref]: http://example.com 'title'",
    "[ref]:\n/next-line",
    "[^1]: foot\n    more\n\n    still",
    "[^1]:",
    "^block-id",
    "[[wiki#head|text]] and ![[embed]]",
    "[text](a%20b.md#c) ![img](p.png)",
    "`#code` #tag/sub",
    "[[",
    "]]",
    "![[",
    "",
    "",
    "",
    "   ",
    "\t",
    "\x0c",
    "a\x0cb",
    "a\u2028b",
    "\u2028",
    "a\x00b",
    "\x00",
    "\u00a0",
    "\ufeff",
    "a\x85b",
    "---\ntitle: x\n---",
    "---\ntags: [a",
    "...",
    "\\",
    "*",
    "_",
    "<",
    "&amp;",
    "數據同步",
    "ภาษาไทย",
    "e\u0301",
    "🎉",
)
_PREFIXES = ("", "", "", "", "> ", "- ", "  ", "    ", "1. ", "> - ", "\t")
_ENDS = ("\n", "\n", "\n", "\n\n", "\r\n", "\r", "")


@st.composite
def _piece(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(_PIECES) | st.text(max_size=8))
    prefix = draw(st.sampled_from(_PREFIXES))
    return "\n".join(prefix + line for line in text.split("\n")) + draw(st.sampled_from(_ENDS))


NOTES = st.one_of(st.lists(_piece(), max_size=25).map("".join), st.text(max_size=200))
"""Texts of notes: mostly tricky Markdown, sometimes arbitrary text."""
