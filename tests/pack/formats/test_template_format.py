"""Tests of user templates: their variables, their cost, and what is forbidden."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from excerpt.base.errors import SettingsError
from excerpt.base.kinds import Format, Strategy
from excerpt.base.model import Hit
from excerpt.base.settings import PackSettings
from excerpt.pack.build import build_pack
from excerpt.pack.formats import template_format
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.plain_format import PlainRenderer
from excerpt.pack.formats.registry import renderer_for
from excerpt.pack.formats.source_label import PackLinks
from excerpt.pack.formats.template_format import (
    RemainingTime,
    TemplateRenderer,
    TemplateSource,
    TemplateStoppedError,
    read_template,
)
from excerpt.pack.formats.xml_format import XmlRenderer
from excerpt.text.tokens import Tokenizer, open_tokenizer
from excerpt.vault.known_vaults import DEMO, VaultFolders
from tests.conftest import scaled_examples
from tests.pack.formats.test_pack_format import CUT, LINKS, PACK
from tests.pack.vaults import Vault, sentence

BUDGET = 4_000
TOO_LONG = "it renders more than 132,400 characters for a budget of 4,000 tokens"
LISTED = "{% for s in sources %}- [{{ s.number }}] {{ s.path }}\n{% endfor %}"

NOTICE = "No passage has “rainbow”; these are nearest."


def render_template(template: str, *questions: str) -> str:
    return TemplateRenderer("own.j2", template, LINKS, BUDGET, questions).render([PACK, CUT])


# --- variables --------------------------------------------------------------------------------------------------------


def test_a_template_gets_sources_and_the_question() -> None:
    template = (
        "Answer {{ question }} from these notes.\n"
        "{% for s in sources %}\n"
        "[{{ s.number }}] {{ s.heading }} ({{ s.path }}, {{ s.lines }}, {{ s.modified }}, {{ s.digest }})\n"
        "{% if s.cut_above %}(...)\n{% endif %}"
        "{{ s.text }}\n"
        "{% endfor %}"
    )
    assert render_template(template, "why?") == (
        "Answer why? from these notes.\n"
        "[1] Sync › Conflicts › By hand (Guides/Sync.md, 12-14, 2025-03-01, 0c5d9a)\n"
        "One.\n\nTwo.\n"
        "[2] Sync › Conflicts › By hand (Guides/Sync.md, 12, 2025-03-01, 0c5d9a)\n"
        "(...)\n"
        "a < b && c\n"
    )


def test_a_template_can_make_links_to_the_sources() -> None:
    template = "{% for s in sources[:1] %}{{ s.link }} {{ s.place }} {{ s.file }}{% endfor %}"
    assert render_template(template) == (
        "obsidian://open?vault=My%20notes&file=Guides%2FSync.md Guides/Sync.md:12 /home/me/My notes/Guides/Sync.md:12"
    )


def test_the_filters_for_templates_keep_a_text_inside_its_block() -> None:
    fenced = (
        "{% for s in sources[1:] %}{{ s.text | fence }} {{ s.text | xml }} {{ s | attr('path') | tojson }}{% endfor %}"
    )
    assert render_template(fenced) == '```\na < b && c\n``` a &lt; b &amp;&amp; c "Guides/Sync.md"'


def test_the_text_of_a_note_is_neither_a_template_nor_escaped() -> None:
    hostile = replace(PACK, text="{{ question }} {% for %} <b> &", path="{{ 7 * 7 }}.md")
    template = TemplateRenderer("own.j2", "{{ sources[0].path }} {{ sources[0].text }}", LINKS, BUDGET, ("q",))
    assert template.render([hostile]) == "{{ 7 * 7 }}.md {{ question }} {% for %} <b> &"


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("{{ notice }} {{ sources[0].title }}", f"{NOTICE} {PACK.title}"),
        ("{% if notice %}{{ notice }}{% endif %}", NOTICE),
        ("{{ sources[0].title }}", f"{NOTICE}\n\n{PACK.title}"),
        ("Take notice: {# notice #}{{ sources[0].title }}", f"{NOTICE}\n\nTake notice: {PACK.title}"),
        ("{% set notice = 1 %}{{ notice }}", f"{NOTICE}\n\n1"),
    ],
)
def test_the_notice_is_above_the_text_of_a_template_that_does_not_use_it(template: str, rendered: str) -> None:
    assert TemplateRenderer("own.j2", template, LINKS, BUDGET, notice=NOTICE).render([PACK]) == rendered


def test_an_empty_pack_is_an_empty_text() -> None:
    assert TemplateRenderer("own.j2", "Always.", LINKS, BUDGET).render([]) == ""


def test_the_guide_lists_what_a_source_has_and_its_example_renders() -> None:
    guide = (DEMO / "Packs.md").read_text(encoding="utf-8")
    own = guide[guide.index("## Your own format") : guide.index("## From the command line")]
    names = re.findall(r"`(\w+)`", " ".join(re.findall(r"^- ((?:`\w+`(?:, )?)+):", own, re.M)))
    assert sorted(names) == sorted(field.name for field in fields(TemplateSource))
    (example,) = re.findall(r"^```jinja\n(.*?)^```", own, re.M | re.S)
    assert render_template(example, "why?").startswith(
        "Answer from these notes, and name the number of each one you use: why?\n"
        "\n"
        "[1] [Sync › Conflicts › By hand](obsidian://open?vault=My%20notes&file=Guides%2FSync.md), 2025-03-01\n"
        "```\n"
    )


# --- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "template",
    [
        "For {{ question }}:\n{% for s in sources %}\n## {{ s.path }}\n{{ s.text | fence }}\n{% endfor %}\nAnswer.\n",
        "{% for s in sources %}\n[{{ s.number }}]\n    {{ s.text | indent(4) }}\n{% endfor %}\n",
        "{% for s in sources %}<d n={{ s.number }}>{{ s.text | xml }}</d>{% endfor %}\n",
        "Only where:\n{% for s in sources %}{{ s.place }}\n{% endfor %}",
    ],
)
def test_tokens_of_frames_and_texts_nearly_sum_to_the_whole(template: str) -> None:
    renderer = TemplateRenderer("own.j2", template, LINKS, BUDGET, ("why?",))
    count = open_tokenizer("o200k").count
    packs = [PACK, CUT, replace(PACK, text="if a < b && c:\n\n    return d\n" * 20)]
    summed = sum(
        count(renderer.escape(pack.text)) + sum(map(count, renderer.render_frame(number, pack)))
        for number, pack in enumerate(packs, start=1)
    )
    assert abs(summed - count(renderer.render(packs))) <= 3 * len(packs)


@pytest.mark.parametrize("times", [90_000, 10_000_000])
def test_a_long_text_around_the_passages_is_counted_up_to_a_limit(times: int) -> None:
    vault = Vault({f"{name}.md": sentence(name, 120) for name in "abcd"}, tokenizer="o200k")
    hits = [Hit(fragment, 1 / rank) for rank, fragment in enumerate(vault.fragments, start=1)]
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text) // 4

    template = f'{{{{ "\\n" * {times} }}}}{{% for s in sources %}}{{{{ s.text }}}}{{% endfor %}}'
    with suppress(SettingsError):
        build_pack(
            vault,
            hits,
            query="q",
            strategy=Strategy.AUTO,
            settings=PackSettings(budget=BUDGET),
            tokenizer=Tokenizer("counted", count),
            renderer=TemplateRenderer("own.j2", template, LINKS, BUDGET),
        )
    assert max(counted, default=0) <= 250_000
    assert sum(counted) <= 1_000_000


@settings(max_examples=scaled_examples(8))
@given(st.integers(0, 1500), st.sampled_from([LISTED, "{% for s in sources %}{{ s.text | upper }}{% endfor %}\nEnd."]))
def test_the_budget_is_kept_for_any_template(budget: int, template: str) -> None:
    vault = Vault({f"{name}.md": f"# {name}\n\n{sentence(name, 120)}\n" for name in "abcd"})
    hits = [Hit(fragment, 1 / rank) for rank, fragment in enumerate(vault.fragments, start=1)]
    tokenizer = open_tokenizer("o200k")
    result = build_pack(
        vault,
        hits,
        query="q",
        strategy=Strategy.AUTO,
        settings=PackSettings(budget=budget),
        tokenizer=tokenizer,
        renderer=TemplateRenderer("own.j2", template, LINKS, budget),
    )
    assert result.tokens == tokenizer.count(result.text) <= budget


# --- forbidden --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{% for s in sources %}", "own.j2, line 1: "),
        ("one\n{{ s.text }}", "own.j2, line 2: 's' is undefined."),
        ("{{ sources[0].txt }}", "own.j2, line 1: "),
        ("\n\n{{ 1 / 0 }}", "own.j2, line 3: division by zero."),
        ("{{ nothing | filtered }}", "No filter named 'filtered'"),
        ("{% include 'other.j2' %}", "own.j2, line 1: "),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ sources.append(1) }}", "access to attribute 'append'"),
        (
            "{{ 'x' * 100000000 }}",
            f"own.j2, line 1: {TOO_LONG}.",
        ),
        (
            "{{ [0] * 100000000 }}",
            f"own.j2, line 1: {TOO_LONG}.",
        ),
        ("{{ 9 ** 999999999 }}", "too large"),
        ("{% for a in range(99999999) %}{% endfor %}", "Range too big"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
        ("{{ lipsum() }}", "'lipsum' is undefined"),
        ("{{ [1, 2] | random }}", "No filter named 'random'"),
    ],
)
def test_a_template_error_is_reported_with_its_line(template: str, said: str) -> None:
    with pytest.raises(SettingsError) as error:
        render_template(template)
    assert said in error.value.message


@pytest.mark.programs
@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}", "takes"),
        ("{{ [1]|batch(999999999, 0)|list|length }}", ""),  # exceeds time or memory, whichever is first
        ('{{ ("a"|center(9000000))|wordwrap(1) }}', ""),
        pytest.param(
            '{{ "x"|center(3000000000)|length }}',
            "needs more than 1 GB of memory",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="there is no limit of memory"),
        ),
        (
            "{% for a in range(99999) %}{{ 'x' * 9999 }}{% endfor %}",
            TOO_LONG,
        ),
    ],
)
def test_an_endless_or_oversized_template_is_stopped(template: str, said: str) -> None:
    with pytest.raises(TemplateStoppedError) as error:
        render_template(template)
    assert error.value.message.startswith("The template own.j2 was stopped: it ")
    assert said in error.value.message
    assert render_template("{{ sources|length }}") == "2"


def test_a_silent_template_process_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_format, "start_arguments", lambda _: ["-c", "import time; time.sleep(60)"])
    process = template_format._SandboxProcess()
    with pytest.raises(TemplateStoppedError, match=r"own\.j2 was stopped: it takes longer than"):
        process.send_request("own.j2", {}, RemainingTime(clock_seconds=0.3))
    assert process._running is None


@pytest.mark.programs
@pytest.mark.skipif(sys.platform == "win32", reason="the time by the clock is the only limit")
def test_all_renderings_of_a_pack_share_one_time_limit_and_the_next_pack_has_its_own() -> None:
    slow = "{% for _ in range(99999) %}{{ sources|length }}{% endfor %}"
    renderer = TemplateRenderer("own.j2", slow, LINKS, BUDGET)
    renderer._remaining_time.cpu_seconds = 0.2
    with pytest.raises(TemplateStoppedError, match="more than 2 s of CPU time for one pack"):
        for _ in range(1_000):
            renderer.escape("text")
    assert "2" in render_template(slow)


def test_rendering_a_pack_by_a_template_may_take_ten_seconds_in_all() -> None:
    renderer = TemplateRenderer("own.j2", "{{ sources|length }}", LINKS, BUDGET)
    renderer._remaining_time.clock_seconds = 0.1
    with pytest.raises(TemplateStoppedError, match="takes longer than 10 s for one pack"):
        for _ in range(1_000_000):
            renderer.escape("text")
    assert template_format._SANDBOX_PROCESS._running is None


def test_a_killed_template_process_is_started_again() -> None:
    assert render_template("{{ sources|length }}") == "2"
    running = template_format._SANDBOX_PROCESS._running
    assert running is not None
    running.kill()
    running.wait()
    assert render_template("{{ sources|length }}") == "2"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_template_process_inherits_only_the_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "private")
    template_format._SANDBOX_PROCESS.stop()
    assert render_template("{{ sources|length }}") == "2"
    running = template_format._SANDBOX_PROCESS._running
    assert running is not None
    own = Path(f"/proc/{running.pid}")
    assert (own / "environ").read_bytes() == b""
    assert (own / "cwd").readlink() == Path("/")
    assert len(list((own / "fd").iterdir())) == 3


def test_an_unreadable_template_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no template at .*missing\.j2"):
        read_template(tmp_path / "missing.j2")
    (tmp_path / "latin.j2").write_bytes(b"\xff\xfe\xe9")
    with pytest.raises(SettingsError, match=r"latin\.j2 cannot be read"):
        read_template(tmp_path / "latin.j2")


# --- choice of renderer -----------------------------------------------------------------------------------------------


def test_a_template_in_the_settings_is_used_to_render_packs(tmp_path: Path) -> None:
    def chosen(form: Format, question: bool = False) -> object:
        settings = PackSettings(format=form, question=question, template="own.j2")
        return renderer_for(settings, ["why?", " "], LINKS, tmp_path)

    (tmp_path / "own.j2").write_text(LISTED)
    assert chosen(Format.MARKDOWN) == chosen(Format.JSON) == MarkdownRenderer()
    assert chosen(Format.XML, question=True) == XmlRenderer(("why?",))
    assert chosen(Format.PLAIN) == PlainRenderer()
    assert chosen(Format.TEMPLATE) == TemplateRenderer(
        str(tmp_path / "own.j2"), LISTED, LINKS, PackSettings().budget, ("why?",)
    )


def test_the_template_format_requires_a_template() -> None:
    with pytest.raises(SettingsError, match="needs a file"):
        renderer_for(PackSettings(format=Format.TEMPLATE), [], PackLinks(VaultFolders.of([Path("/v")])), Path("/"))
