"""Property tests of every pack format."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excerpt.kinds import Strategy
from excerpt.model import PackResult
from excerpt.pack.build import build_pack
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.pack_format import Renderer
from excerpt.pack.formats.plain_format import PlainRenderer
from excerpt.pack.formats.xml_format import XmlRenderer
from excerpt.settings import PackSettings
from excerpt.text.tokens import Tokenizer
from tests.pack.test_pack_properties import pack_settings
from tests.pack.test_render import LINKS, read_markdown, read_plain, read_xml
from tests.pack.vaults import Case, cases, patient_renderer, tokenizers

pytestmark = pytest.mark.programs

QUESTIONS = st.sampled_from([(), ("why?",), ("a rather long question " * 8, "& <another>")])
TEMPLATES = st.sampled_from(
    [
        "{{ question }}\n{% for s in sources %}\n[{{ s.number }}]\n{{ s.text | indent(4) }}\n{% endfor %}\n",
        "{% for s in sources %}{{ s.text | upper }}{{ s.text }}{% endfor %}{{ questions | join }}",
        "{% for s in sources %}{{ s.path }}\n{% endfor %}",
        "",
    ]
)
RENDERERS: st.SearchStrategy[Renderer] = st.one_of(
    QUESTIONS.map(MarkdownRenderer),
    QUESTIONS.map(PlainRenderer),
    QUESTIONS.map(XmlRenderer),
    st.builds(patient_renderer, TEMPLATES, st.just(LINKS), QUESTIONS),
)


def packed(case: Case, options: PackSettings, tokenizer: Tokenizer, renderer: Renderer) -> PackResult:
    return build_pack(
        case.vault,
        case.hits,
        query="q",
        strategy=Strategy.HYBRID,
        settings=options,
        tokenizer=tokenizer,
        renderer=renderer,
    )


@settings(deadline=None)
@given(cases(), pack_settings, tokenizers(), RENDERERS)
def test_the_text_is_never_above_the_budget(
    case: Case, options: PackSettings, tokenizer: Tokenizer, renderer: Renderer
) -> None:
    result = packed(case, options, tokenizer, renderer)
    assert result.text == renderer.render(result.passages)
    assert result.tokens == tokenizer.count(result.text) <= options.budget


@settings(deadline=None)
@given(cases(), pack_settings, tokenizers(), RENDERERS, st.lists(st.integers(0, 3000), min_size=2, max_size=5))
def test_a_larger_budget_never_gives_less_value(
    case: Case, options: PackSettings, tokenizer: Tokenizer, renderer: Renderer, budgets: list[int]
) -> None:
    values = [packed(case, replace(options, budget=each), tokenizer, renderer).value for each in sorted(budgets)]
    assert values == sorted(values)


@settings(deadline=None)
@given(cases(), pack_settings, tokenizers())
def test_every_format_gives_numbers_and_texts_back(case: Case, options: PackSettings, tokenizer: Tokenizer) -> None:
    for renderer, read in (
        (MarkdownRenderer(), read_markdown),
        (PlainRenderer(), read_plain),
        (XmlRenderer(), read_xml),
    ):
        result = packed(case, options, tokenizer, renderer)
        found = [(source.number, source.text) for source in read(result.text)] if result.text else []
        assert found == [(number, pack.text) for number, pack in enumerate(result.passages, start=1)]
