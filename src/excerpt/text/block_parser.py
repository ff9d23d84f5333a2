"""markdown-it's block parser, set up for notes: CommonMark with tables, footnotes, and blocks of maths and comments.

The library decides what a block is. Only the choice of rules is different: for each line only those that its first
character can begin, instead of all. This halves the time of a parse and does not change the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, cast

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock, RuleFuncBlockType
from markdown_it.ruler import Rule, RuleOptionsType, Ruler
from markdown_it.rules_block import StateBlock, lheading
from markdown_it.token import Token
from markdown_it.utils import EnvType
from mdit_py_plugins.footnote.index import footnote_def


def parse_blocks(source: str, env: EnvType) -> list[Token]:
    """Parse the blocks of a note's body and return markdown-it's tokens, with inline text unparsed.

    `source` is the note's text after its frontmatter. The link reference definitions are added to `env`. Raises
    TooComplexError if parsing would take too long.
    """
    env["visits"] = _BASE_VISITS + _VISITS_PER_LINE * (source.count("\n") + 1)
    return _parser().parse(source, env)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    interrupting: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    rules = parser.block.ruler
    rules.before("fence", "maths", _delimited_rule("$$"), interrupting)
    rules.before("fence", "comment", _delimited_rule("%%"), interrupting)
    rules.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    rules.at("lheading", _underlined_heading_rule)
    parser.block = _BlockParser(rules)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


_FIRST_CHARACTERS = {
    "fence": "`~",
    "blockquote": ">",
    "hr": "*-_",
    "list": "*+-0123456789",
    "footnote_def": "[",
    "reference": "[",
    "html_block": "<",
    "heading": "#",
    "maths": "$",
    "comment": "%",
}
"""The first characters, after spaces, of the lines that each rule accepts, by the rule's name."""
_UNDER_TABLE_HEAD = "-:|"


class _BlockRuler(Ruler[RuleFuncBlockType]):
    """A ruler that combines the rules of each chain (a named set of rules in markdown-it) to one rule."""

    def __init__(self, ruler: Ruler[RuleFuncBlockType]) -> None:
        super().__init__()
        self.__rules__ = ruler.__rules__
        enabled = [rule for rule in self.__rules__ if rule.enabled]
        chains = {chain for rule in enabled for chain in rule.alt}
        self._chains = {chain: [_first_matching_rule([r for r in enabled if chain in r.alt])] for chain in chains}
        self._chains[""] = [_first_matching_rule(enabled)]

    def getRules(self, chainName: str = "") -> list[RuleFuncBlockType]:  # noqa: N802, N803 - the library's names
        return self._chains[chainName]


def _first_matching_rule(rules: Sequence[Rule[RuleFuncBlockType]]) -> RuleFuncBlockType:
    """Return a rule that tries those of `rules`, in their order, that accept a line's first character."""
    by_name = {rule.name: rule.fn for rule in rules}
    table, code = by_name.pop("table", _match_nothing), by_name.pop("code", _match_nothing)
    others = tuple(fn for name, fn in by_name.items() if name not in _FIRST_CHARACTERS)
    by_character = {
        character: tuple(fn for name, fn in by_name.items() if character in _FIRST_CHARACTERS.get(name, character))
        for character in "".join(_FIRST_CHARACTERS.values())
    }

    def rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        _count_visit(state.env)
        if state.sCount[start] - state.blkIndent >= 4:
            return code(state, start, end, silent)
        source = state.src
        below = state.bMarks[start + 1] + state.tShift[start + 1]
        if source[below : below + 1] in _UNDER_TABLE_HEAD and table(state, start, end, silent):
            return True
        at = state.bMarks[start] + state.tShift[start]
        for candidate in by_character.get(source[at : at + 1], others):  # noqa: SIM110 - a generator costs more
            if candidate(state, start, end, silent):
                return True
        return False

    return rule


def _match_nothing(_state: StateBlock, _start: int, _end: int, _silent: bool) -> bool:
    return False


_UNDERLINES = "-="


_MAX_HEADING_LINES = 50


def _underlined_heading_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Apply markdown-it's rule for underlined headings only to paragraphs that have an underline.

    This saves time: without a heading, the rule for paragraphs would parse the same lines again.
    """
    line = start + 1
    while line < end and not state.isEmpty(line):
        # Not further: other blocks may end the paragraph, and each one after it would scan the same lines again.
        if line - start > _MAX_HEADING_LINES or state.src[state.bMarks[line] + state.tShift[line]] in _UNDERLINES:
            return lheading(state, start, end, silent)
        line += 1
    state.parentType = "paragraph"  # as the library's rule does
    return False


class TooComplexError(Exception):
    """Raised for nested blocks whose parsing would take time quadratic in the length of the note."""


# Maximum number of visits of lines by rules: per line of the note, and for a note of any length. Of 14,000 real
# notes none took more than 4 visits per line; twenty nested quotes take some 40. Unclosed fences in quotes with lazy
# lines take a number quadratic in the length of the note.
_VISITS_PER_LINE = 60
_BASE_VISITS = 10_000


def _count_visit(env: EnvType) -> None:
    env["visits"] -= 1
    if env["visits"] < 0:
        raise TooComplexError


def _delimited_rule(marker: str) -> RuleFuncBlockType:
    """Return a rule for blocks that begin with a `marker` at a line's start and end with one at a line's end.

    A comment ends with the line that has the second marker, at any position in that line.
    """

    def rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        at, stop = state.bMarks[start] + state.tShift[start], state.eMarks[start]
        if not state.src.startswith(marker, at, stop) or state.is_code_block(start):
            return False
        rest = state.src[at + len(marker) : stop].rstrip()
        last = start
        if marker not in rest:
            last = _closing_line(state, marker, start, end)
        elif not rest.endswith(marker):
            return False
        if last < 0:
            return False
        if not silent:
            token = state.push("delimited", "", 0)
            token.map, token.markup = [start, last + 1], marker
            state.line = last + 1
        return True

    return rule


def _closing_line(state: StateBlock, marker: str, start: int, end: int) -> int:
    """Return the first line between `start` and `end` that ends with `marker` or, for a comment, contains it.

    Returns -1 if no such line is in the quote or list around the block.
    """
    for line in range(start + 1, end):
        state.env["visits"] -= 1
        if state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            break
        text = state.src[state.bMarks[line] : state.eMarks[line]]
        if (marker in text) if marker == "%%" else text.rstrip().endswith(marker):
            return line
    return -1


class _BlockToken:
    """A replacement for markdown-it's Token, which takes three times as long to create.

    It has only the attributes that rules and this module use.
    """

    attrs: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed
    meta: dict[str, Any] = {}  # noqa: RUF012
    map: list[int] | None = None
    children: list[Token] | None = None
    content = markup = info = ""
    block = True
    hidden = False

    def __init__(self, kind: str, tag: str, nesting: Literal[-1, 0, 1], level: int) -> None:
        self.type = kind
        self.tag = tag
        self.nesting = nesting
        self.level = level


class _BlockState(StateBlock):
    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        if nesting < 0:
            self.level -= 1
        token = cast("Token", _BlockToken(ttype, tag, nesting, self.level))
        if nesting > 0:
            self.level += 1
        self.tokens.append(token)
        return token


class _BlockParser(ParserBlock):
    def __init__(self, ruler: Ruler[RuleFuncBlockType]) -> None:
        super().__init__()
        self.ruler = _BlockRuler(ruler)

    def parse(
        self,
        src: str,
        md: MarkdownIt,
        env: EnvType,
        outTokens: list[Token],  # noqa: N803 - the library's name
    ) -> list[Token] | None:
        if not src:
            return None
        state = _BlockState(src, md, env, outTokens)
        self.tokenize(state, state.line, state.lineMax)
        return state.tokens
