"""markdown-it's block parser, set up for notes: CommonMark with tables, footnotes, and blocks of maths and comments.

What a block is stays the library's decision. Here is only who is asked: of its rules, those that the first character
of a line can begin, instead of all for every line; which halves the time of a parse and changes no answer.
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
    """The block tokens of a note's body; the text of inlines is left as it is. `env` gets the link definitions.

    Raises TangledError.
    """
    env["looks"] = _LOOKS + _LOOKS_PER_LINE * (source.count("\n") + 1)
    return _parser().parse(source, env)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    interrupting: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    rules = parser.block.ruler
    rules.before("fence", "maths", _delimited_rule("$$"), interrupting)
    rules.before("fence", "comment", _delimited_rule("%%"), interrupting)
    rules.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    rules.at("lheading", _underlined_heading)
    parser.block = _Blocks(rules)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


# --- which rules are asked --------------------------------------------------------------------------------------------

_BEGIN_WITH = {
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
"""What lines begin with, after spaces, that these rules take; each returns at once for any other."""
_UNDER_TABLE_HEAD = "-:|"


class _ByFirstCharacter(Ruler[RuleFuncBlockType]):
    """The rules of another ruler, as one a chain."""

    def __init__(self, ruler: Ruler[RuleFuncBlockType]) -> None:
        super().__init__()
        self.__rules__ = ruler.__rules__
        enabled = [rule for rule in self.__rules__ if rule.enabled]
        chains = {chain for rule in enabled for chain in rule.alt}
        self._chains = {chain: [_asked_in_turn([r for r in enabled if chain in r.alt])] for chain in chains}
        self._chains[""] = [_asked_in_turn(enabled)]

    def getRules(self, chainName: str = "") -> list[RuleFuncBlockType]:  # noqa: N802, N803 - the library's names
        return self._chains[chainName]


def _asked_in_turn(rules: Sequence[Rule[RuleFuncBlockType]]) -> RuleFuncBlockType:
    """One rule in place of some, in their order."""
    by_name = {rule.name: rule.fn for rule in rules}
    table, code = by_name.pop("table", _never), by_name.pop("code", _never)
    others = tuple(fn for name, fn in by_name.items() if name not in _BEGIN_WITH)
    by_character = {
        character: tuple(fn for name, fn in by_name.items() if character in _BEGIN_WITH.get(name, character))
        for character in "".join(_BEGIN_WITH.values())
    }

    def rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        _count_look(state.env)
        if state.sCount[start] - state.blkIndent >= 4:
            return code(state, start, end, silent)
        source = state.src
        below = state.bMarks[start + 1] + state.tShift[start + 1]
        if source[below : below + 1] in _UNDER_TABLE_HEAD and table(state, start, end, silent):
            return True
        at = state.bMarks[start] + state.tShift[start]
        for one in by_character.get(source[at : at + 1], others):  # noqa: SIM110 - a generator would cost more than it
            if one(state, start, end, silent):
                return True
        return False

    return rule


def _never(_state: StateBlock, _start: int, _end: int, _silent: bool) -> bool:
    return False


_UNDERLINES = "-="
_NEAR = 50


def _underlined_heading(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The library's rule, which takes a paragraph apart like the one for paragraphs; not for those without an
    underline."""
    line = start + 1
    while line < end and not state.isEmpty(line):
        # So far only: other blocks may end the paragraph, and every one after it would look at the same lines again.
        if line - start > _NEAR or state.src[state.bMarks[line] + state.tShift[line]] in _UNDERLINES:
            return lheading(state, start, end, silent)
        line += 1
    state.parentType = "paragraph"  # as the library's rule leaves it
    return False


# --- a parse that goes on for too long --------------------------------------------------------------------------------


class TangledError(Exception):
    """A note nests blocks in a way that takes the square of its length to parse."""


# Each look at a line counts. Of 14,000 real notes none took more than 4 a line, and twenty quotes in each other take
# some 40; unclosed fences in quotes with lazy lines grow with the square of the note.
_LOOKS_PER_LINE = 60
_LOOKS = 10_000


def _count_look(env: EnvType) -> None:
    env["looks"] -= 1
    if env["looks"] < 0:
        raise TangledError


# --- rules of our own -------------------------------------------------------------------------------------------------


def _delimited_rule(marker: str) -> RuleFuncBlockType:
    """A block from a line that begins with `marker` to the nearest that ends with it; none if there is none."""

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
            state.push("delimited", "", 0).map = [start, last + 1]
            state.line = last + 1
        return True

    return rule


def _closing_line(state: StateBlock, marker: str, start: int, end: int) -> int:
    """The first line after `start` that ends with `marker`, -1 if there is none before `end` or the container's."""
    for line in range(start + 1, end):
        state.env["looks"] -= 1
        if state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            break
        if state.src[state.bMarks[line] : state.eMarks[line]].rstrip().endswith(marker):
            return line
    return -1


# --- tokens -----------------------------------------------------------------------------------------------------------


class _BlockToken:
    """What rules and readers use of markdown-it's Token, which takes three times as long to make."""

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


class _State(StateBlock):
    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        if nesting < 0:
            self.level -= 1
        token = cast("Token", _BlockToken(ttype, tag, nesting, self.level))
        if nesting > 0:
            self.level += 1
        self.tokens.append(token)
        return token


class _Blocks(ParserBlock):
    def __init__(self, ruler: Ruler[RuleFuncBlockType]) -> None:
        super().__init__()
        self.ruler = _ByFirstCharacter(ruler)

    def parse(
        self,
        src: str,
        md: MarkdownIt,
        env: EnvType,
        outTokens: list[Token],  # noqa: N803 - the library's name
    ) -> list[Token] | None:
        if not src:
            return None
        state = _State(src, md, env, outTokens)
        self.tokenize(state, state.line, state.lineMax)
        return state.tokens
