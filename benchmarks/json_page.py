"""The forms on the guide's page on JSON, generated from the types of what is printed, and their docstrings.

Where a command prints other fields than a type has, FORMS and NESTED name them.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from enum import StrEnum
from functools import cache
from itertools import groupby
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, is_typeddict

from msgspec import Struct

from excerpt.base.kinds import Strategy
from excerpt.base.model import BuildReport, Progress, PushReport, Status
from excerpt.insight.notes import OutlineEntry, Peek
from excerpt.insight.overview_parts import (
    DistinctiveLabel,
    KeyPassage,
    KeySection,
    LinkedName,
    LinkedNote,
    MainNote,
    Month,
    Overview,
    Theme,
    Timeline,
)
from excerpt.insight.results import MatchedFragment, RelatedNote, RelatedNotes, VaultMap
from excerpt.pack.check.answer import Citation, Quotation, Sentence, UnpairedQuotationMark
from excerpt.pack.check.source_state import SourceComparison
from excerpt.pack.check.verdicts import AnswerCheck, CheckedCitation, CheckedQuotation, CheckedSentence, SourceLines
from excerpt.pack.formats.pack_format import PackSource
from excerpt.pack.savings import TokenSavings
from excerpt.search.rank_reasons import NoteExplanation
from excerpt.search.results import QueryNews
from excerpt.search.usage import LearnedNote
from excerpt.servers.agents.hook import HookRecord, HookState
from excerpt.servers.agents.install import Installation
from excerpt.servers.line_server.results import (
    HitForm,
    MemoryForm,
    PackAnswer,
    ReadResult,
    RecalledForm,
    RememberResult,
    SearchResult,
    SignalForm,
    WhyResult,
)
from excerpt.service.diagnosis.diagnose import Diagnosis
from excerpt.service.diagnosis.repairs import Repairs
from excerpt.service.embedding_models import ModelFigures, ModelStatus
from excerpt.service.gold.questions import GoldQuestion, GoldTarget
from excerpt.service.gold.run import GoldComparison, GoldRank, GoldReport, GoldRun
from excerpt.service.gold.trial import QueryChange

GENERATED = re.compile(r"^## A hit\n.*\Z", re.M | re.S)

_PLACE = ("path", "title", "heading_path", "line_start", "line_end")
_ATTACHMENT = ("kind", "place")  # of lines in an attachment; the page explains them once
_TYPES: Mapping[Any, str] = {int: " int", float: " num", bool: " bool"}


Shape = tuple[str, "Form"]
"""A field that is an object: `?`, `[]` or nothing, and its form."""


@dataclass(frozen=True, eq=False)
class Form:
    """An object that is printed: the types that its fields and texts are from, and the fields in order.

    `names` are fields or properties of `sources`, by default all fields of the first. `types` has the types of fields
    that are printed as another type, or are in no source. The text is the docstring of the first source, without
    sentences about fields that are not printed, or (`omit`) not as there.
    """

    sources: tuple[type, ...]
    names: str = ""
    omit: str = ""
    types: Mapping[str, Any] = field(default_factory=dict)


def form(*sources: type, names: str = "", omit: str = "", **types: Any) -> Form:
    return Form(sources, names, omit, types)


_PLACED = "path title heading_path line_start line_end fragment_id "
_LINES: Mapping[str, Any] = {"path": str, "title": str, "heading_path": list[str], "line_start": int, "line_end": int}

NESTED: Mapping[type, Form] = {
    MainNote: form(MainNote, names=_PLACED + "fragments of share value"),
    KeySection: form(KeySection, names=_PLACED + "fragments tokens value"),
    KeyPassage: form(KeyPassage, names=_PLACED + "text cut_before cut_after score confidence", confidence=str | None),
    Theme: form(Theme, names=_PLACED + "words fragments notes share"),
    DistinctiveLabel: form(
        DistinctiveLabel, names=_PLACED + "kind name value in_topic topic_size overall overall_of g2 filter"
    ),
    LinkedNote: form(LinkedNote, names=_PLACED + "links_to linked_from fragments"),
    LinkedName: form(LinkedName, names="name note notes overall " + _PLACED, omit="path", note=str | None),
    Month: form(Month, names=_PLACED + "month notes"),
    Timeline: form(Timeline, names="date undated months"),
    MatchedFragment: form(
        MatchedFragment,
        names="path heading_path line_start line_end fragment_id text spans",
        spans=list[list[int]],
        text=str,
    ),
    RelatedNote: form(
        RelatedNote,
        names="path title line score signals linked missing_link mentions common words tags place matches",
        signals=dict[str, SignalForm],
    ),
    OutlineEntry: form(OutlineEntry, names="level heading heading_path line_start line_end tokens"),
    SourceLines: form(SourceLines, names="path line_start line_end passage source"),
    GoldTarget: form(GoldTarget, names="path heading", omit="heading", heading=str | None),
    GoldQuestion: form(
        GoldQuestion, names="id query relevant exclude", relevant=list[GoldTarget], exclude=NotRequired[list[str]]
    ),
    GoldRank: form(GoldRank, names="id query rank"),
    GoldComparison: form(
        GoldComparison,
        names="time questions mrr mrr_now hit_at_5 hit_at_5_now p_value better worse needed_majority min_changed fell "
        "changes",
        fell=bool,
    ),
}
"""Objects inside others whose fields are printed in another way than their types have them."""

_SOURCE = form(
    PackSource,
    SourceComparison,
    names="number path line_start line_end cited state intact now",
    cited=int,
    intact=bool,
    now=("?", form(SourceComparison, names="path line_start line_end text")),
)
_SENTENCE = form(
    CheckedSentence,
    Sentence,
    names="line text cited not_found words found missing",
    not_found=bool,
    words=int,
)
_MISSING_TARGET = form(names="id query target", id=str, query=str, target=str)
_GOLD_RUN = form(
    GoldReport,
    GoldRun,
    names="questions strategy settings mrr hit_at_5 ranks missing compared_with comparison",
    questions=int,
    settings=list[str],
    missing=("[]", _MISSING_TARGET),
    compared_with=Literal["last run", "your settings"],
)
_FIGURES = "model id languages dimensions passages_per_second query_ms "
_FINDINGS = "citations quotations sentences uncited unchecked"
_SEARCH = "query strategy confidence elapsed_ms matched generation periods notice not_found warnings hits"

FORMS: Mapping[str, Form] = {
    "A hit": form(
        HitForm,
        WhyResult,
        names="path title heading_path line_start line_end date score confidence signals rerank orders more_of_note "
        "replaced linked_from asked_before tokens fragment_id text explanation",
        confidence=Literal["strong", "likely", "weak", "nothing"] | None,
        explanation=NotRequired[typing.get_type_hints(WhyResult)["explanation"]],
    ),
    "search": form(SearchResult, names=_SEARCH),
    "search --why": form(
        NoteExplanation,
        names="query strategy note path absence from_limit ranks compared signal_gaps missing hit",
        strategy=str,
        missing=list[str],
        hit=HitForm | None,
    ),
    "A batch": form(
        SearchResult, names="id " + _SEARCH.replace("matched generation ", ""), id=str, confidence=str | None
    ),
    "pack": form(
        PackAnswer,
        names="query strategy confidence budget tokenizer tokens value passages left_out source_tokens stopped "
        "left_out_comments notice not_found",
        confidence=str | None,
    ),
    "check": form(
        AnswerCheck,
        names=f"true not_found sources {_FINDINGS} more",
        true=bool,
        not_found=int,
        sources=("[]", _SOURCE),
        citations=("[]", form(CheckedCitation, Citation, names="line text number state times")),
        quotations=(
            "[]",
            form(
                CheckedQuotation,
                Quotation,
                names="line kind text cited verdict differences similarity place now turned_by",
            ),
        ),
        sentences=("[]", _SENTENCE),
        uncited=("[]", form(Sentence, names="line text")),
        unchecked=list[UnpairedQuotationMark],
        more=("", form(names=_FINDINGS, citations=int, quotations=int, sentences=int, uncited=int, unchecked=int)),
    ),
    "overview": form(
        Overview,
        names="topic generation confidence matched fragments notes vault_fragments vault_notes main_notes sections "
        "passages themes standouts related names timeline",
        confidence=str | None,
    ),
    "related": form(
        RelatedNotes, names="path title line fragment_id generation elapsed_ms notes", fragment_id=str | None
    ),
    "map": form(VaultMap),
    "read": form(ReadResult, names="path title heading_path line_start line_end lines tokens note_tokens text"),
    "peek": form(
        Peek,
        names="path title aliases tags properties language modified size lines tokens line_start line_end beginning "
        "outline links_to linked_from links_nowhere",
        properties=dict[str, list[str]],
    ),
    "Memories": form(MemoryForm),
    "remember": form(RememberResult, names="similar replaces"),
    "recall": form(
        names="memories",
        memories=("[]", form(RecalledForm, names="score confidence answers source_check", confidence=str | None)),
    ),
    "A gold question": NESTED[GoldQuestion],
    "gold list": form(names="questions", questions=list[GoldQuestion]),
    "gold run": _GOLD_RUN,
    "news": form(names="queries", queries=("[]", form(QueryNews, new=list[HitForm], changed=list[HitForm]))),
    "agents status": form(names="agents hook", agents=list[Installation], hook=HookState),
    "agents log": form(names="prompts", prompts=list[HookRecord]),
    "index": form(BuildReport),
    "index --progress": form(
        Progress,
        names="event phase notes_done notes_total bytes_done bytes_total current "
        "generation skipped seconds current_seconds",
        event=str,
    ),
    "embedding": form(
        ModelFigures, ModelStatus, names=_FIGURES + "embedded passages seconds_left in_use", seconds_left=float
    ),
    "embedding --try": form(
        ModelFigures,
        ModelStatus,
        names=_FIGURES + "passages seconds_left gold queries",
        gold=("?", _GOLD_RUN),
        queries=list[QueryChange],
    ),
    "status": form(
        Status,
        watched=bool,
        savings=("?", form(TokenSavings, names="packs tokens source_tokens since")),
    ),
    "push": form(PushReport),
    "doctor": form(Diagnosis, Repairs, names="vault problems warnings groups done left seconds", seconds=float),
    "learned": form(
        names="vault file events learned",
        vault=str,
        file=str,
        events=int,
        learned=("[]", form(LearnedNote, omit="last", last=str)),
    ),
}
"""What is printed, by the heading on the page."""


def forms() -> str:
    """Return the sections of all forms."""
    return "\n\n".join(_section(*each) for each in FORMS.items()) + "\n"


def _section(heading: str, shown: Form) -> str:
    text = _describe(shown)
    return f"## {heading}\n\n{text}{chr(10) * 2 * bool(text)}" + "\n".join(_items(shown, (), heading))


def _items(shown: Form, above: tuple[Form, ...], heading: str = "") -> Iterator[str]:
    """Yield the list items of an object's fields; those of objects inside it are indented.

    Fields with the same kind of object are one item.
    """
    types = {name: _read_type(kind) for name, kind in _types_of(shown).items()}
    run: list[tuple[str, str]] = []  # plain fields of one item, each with its type
    if set(_PLACE) <= {*types}:
        run.append(("[[#Place]]", ""))
    done: set[str] = {*_PLACE} if run else set()
    for name, (shape, kind, inner, text) in types.items():
        if name in done:
            continue
        if inner is None and not text:
            run.append((f"`{name}{shape}`", kind))
            continue
        if run:
            yield _item(run)
            run = []
        is_merged = inner is not None and not shape.startswith("?")
        alike = [other for other, read in types.items() if other == name or (is_merged and read[2] is inner)]
        is_repeated = not is_merged and any(types[other][2] is inner for other in done & {*types} if inner)
        done |= {*alike}
        names = ", ".join(f"`{other}{types[other][0]}`" for other in alike)
        if inner is None:
            yield f"- {names}{kind}: {text}"
        elif is_repeated or inner in (*above, shown):
            yield f"- {names}: same fields"
        elif link := next((each for each, one in FORMS.items() if one is inner and each != heading), ""):
            yield f"- {names}: {text}same fields as [[#{link}]]"
        else:
            said = text + _describe(inner)
            yield f"- {names}{': ' * bool(said)}{said}"
            yield from (f"    {line}" for line in _items(inner, (*above, shown)))
    if run:
        yield _item(run)


def _item(run: Sequence[tuple[str, str]]) -> str:
    """Return an item that lists plain fields, neighbours of one type together. A link to another form has no type."""
    groups = groupby(run, key=lambda each: (each[1], each[0].startswith("[[")))
    return "- " + "; ".join(", ".join(name for name, _ in group) + kind for (kind, _), group in groups)


def _types_of(shown: Form) -> dict[str, Any]:
    """Return the type of each field of an object, in the order in which they are printed."""
    known: dict[str, Any] = {**_LINES, "fragment_id": str}
    for source in reversed(shown.sources):
        for name, got in inspect.getmembers_static(source, lambda each: isinstance(each, property)):
            known[name] = typing.get_type_hints(got.fget).get("return")
        known |= _fields_of(source)
    known |= shown.types
    own = _fields_of(shown.sources[0]) if shown.sources else {}
    is_place = {*_ATTACHMENT, "line_start"} <= {*own}
    names = shown.names.split() or [name for name in {**own, **shown.types} if not (is_place and name in _ATTACHMENT)]
    return {name: known[name] for name in names}


def _fields_of(source: type) -> dict[str, Any]:
    return typing.get_type_hints(source, include_extras=True)


def _read_type(kind: Any) -> tuple[str, str, Form | None, str]:
    """Return how a type is shown: its shape, the name of a plain type, the form of an object, and a text."""
    if isinstance(kind, tuple):
        return kind[0], "", kind[1], ""
    origin, parts = get_origin(kind), [part for part in get_args(kind) if part not in (Ellipsis, NoneType)]
    if origin is None:
        return "", _TYPES.get(kind, ""), _form_of(kind), _choices(kind)
    if origin is Literal:
        return "", "", None, _join(parts)
    shape, name, inner, text = _read_type(parts[0 if origin is Annotated else -1])
    if origin is NotRequired:
        text = f"only with a value{'. ' * (inner is not None)}{': ' * bool(text)}{text}"
    elif origin in (Union, UnionType):
        shape = f"?{shape}"
    elif origin is not Annotated:
        shape = f"{'{}' if issubclass(origin, Mapping) else '[]'}{shape}"
    return shape, name, inner, text


@cache
def _form_of(kind: type) -> Form | None:
    """Return the form of an object; None for a plain value."""
    if kind is HitForm:
        return FORMS["A hit"]
    is_object = is_typeddict(kind) or is_dataclass(kind) or issubclass(kind, Struct)
    return NESTED.get(kind) or (form(kind) if is_object else None)


def _choices(kind: type) -> str:
    """Return the values of an enumeration; nothing for strategies, which many forms have."""
    if not issubclass(kind, StrEnum) or kind is Strategy:
        return ""
    return _join([each.value for each in kind])


def _join(values: Sequence[str]) -> str:
    *others, last = (f"`{value}`" for value in values)
    return f"{', '.join(others)} or {last}"


def _describe(shown: Form) -> str:
    """Return the text of an object."""
    if not shown.sources:
        return ""
    left_out = {*dir(shown.sources[0]), *_fields_of(shown.sources[0])} - {*_types_of(shown)} | {*shown.omit.split()}
    text = " ".join(inspect.cleandoc(shown.sources[0].__doc__ or "").split())
    sentences = re.split(r"(?<=\.) (?=[A-Z`])", text)
    kept = [each for each in sentences if left_out.isdisjoint(re.findall(r"`(\w+)`", each))]
    return re.sub(r"\bNone\b", "`null`", " ".join(kept))
