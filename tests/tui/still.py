"""The app with a scripted engine, for pictures: same notes, hits and figures at every run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from textual.message import Message

from excerpt.insight.overview_parts import Overview
from excerpt.insight.overview_parts import Place as Stands
from excerpt.insight.render import as_markdown
from excerpt.insight.suggest import Completion, Direction, Suggestion
from excerpt.kinds import Confidence, Strategy
from excerpt.model import Fragment, Hit, Progress, Result, Signal, Skipped, Span, Status
from excerpt.search.engine import Engine
from excerpt.search.explain import Explanation, FieldCount, Gap, TermLikeness, TermVariant, WordPart
from excerpt.search.explain_note import Absence, AbsenceKind, NoteExplanation, StrategyRank
from excerpt.search.interpretation import QueryReading, QueryWarning
from excerpt.search.query import conditions, unpaired_quotation_mark
from excerpt.settings import Places, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.memory.controller import AskBadges
from excerpt.tui.memory.pane import AskStandings
from excerpt.tui.memory.worker import MemoryWorker
from excerpt.tui.messages import Failure, IndexEmptied, Location
from excerpt.tui.note.requests import AskLink, AskWindow, LinkFound
from excerpt.tui.note.window import NoteWindow, window_around
from excerpt.tui.pack.packer import AskCost, AskPack
from excerpt.tui.questions import (
    AskCompletions,
    AskCorrection,
    AskDrill,
    AskMap,
    AskMarkdown,
    AskNarrowed,
    AskOverview,
    AskPassage,
    AskReading,
    AskRelated,
    AskSearch,
    AskSpans,
    AskSuggestions,
)
from excerpt.tui.request_thread import Answer, EventLoop, Numbered, Question, Request, RequestThread
from excerpt.tui.search.strategies import AskStrategies
from excerpt.tui.search.why_view import AskWhy
from excerpt.tui.session import Session
from tests.pack.vaults import Vault
from tests.tui.garden import GARDEN
from tests.tui.nearby import map_of, related_of
from tests.tui.overviews import OVERVIEW
from tests.tui.remembered import badges_of, source_checks_of

VAULT = Path("/home/ada/notes")
STATUS = Status(
    vault=str(VAULT),
    generation=7,
    notes=171,
    fragments=1_204,
    skipped=(Skipped("Attachments/scan.md", "It holds zero bytes, so it is not text."),),
    warnings=(Skipped("Journal/2024-02-30.md", "The frontmatter is not valid YAML: line 3."),),
    model="the one that ships with excerpt",
    tokenizer="o200k",
    updated="2026-03-01T12:00:00+00:00",
)
PROGRESS = Progress("reading", 812, 9_750, 3_100_000, 40_200_000, "Journal/2024-05-17.md", 0, 1, 2.0)
BUSY = Failure(
    "index",
    "The vault is being indexed elsewhere",
    "Another excerpt is indexing notes and has not finished within 10 s.",
    "Wait for it or close it, then try again; what it has committed can be searched meanwhile.",
)
BROKEN = Failure(
    "index",
    "The index cannot be used",
    "The index in /home/ada/.cache/excerpt cannot be written: No space left on device.",
    "Make room or give permission there, or set EXCERPT_HOME to another place; the last generation stands.",
)
EMPTIED = IndexEmptied(171, "No note is left in /home/ada/notes, but its index holds 171: the index was left as it is.")
ENDED = Failure(
    "index",
    "The indexing process ended early",
    "It ended with code -9 and said nothing.",
    "Searches use what it had committed; Update starts it again.",
)

_NOTES = {
    "Sync/Conflicts.md": """---
aliases:
  - Sync conflict
tags: [sync, howto]
---
# Conflicts

A **sync conflict** arises when two devices change one note before they meet. The newer one is kept, and the older one \
stands beside it as a file of its own.

> [!tip] Keep both
> Nothing is lost: see [[Merging|how versions are merged]] and ==compare them== first.

## Resolve a conflict

- [x] Open both versions
- [ ] Copy what you want to keep
- [ ] Delete the file with `(conflict)` in its name

| Version | Kept as |
| --- | --- |
| newer | the note |
| older | `Note (conflict).md` |

```bash
ls *conflict*   # what is left to do
```
""",
    "Merging.md": """# Merging

Two versions of one note are merged line by line. Where both changed the same line, that is a conflict, and both lines \
are kept. #sync

## When merging fails

Binary files cannot be merged: the sync keeps the newest.
""",
    "同步/冲突.md": """# 同步冲突

两台设备在同步之前修改了同一篇笔记,就会出现 sync 冲突 (conflict)。旧版本会另存为一个文件。
""",
    "Hostile [bold]x.md": (
        "# [/red] conflict\n\nNot markup: [bold]sync[/bold], [/foo], \x1b[31mred\x1b[0m, \u202ebidi\u202c.\n"
    ),
    "Kitchen.md": "# Kitchen\n\nSimmer red lentils with cumin until they are soft.\n",
}
TAGS = {"sync": 12, "howto": 3, "[bold]同步": 1}
"""Tags offered for completion, with the number of notes of each."""

_PARTS = (
    (0.42, 0.12, 0.20, 0.15, 0.05, 0.06),
    (0.30, 0.10, 0.22, 0.00, 0.08, 0.06),
    (0.28, 0.02, 0.15, 0.00, 0.00, 0.06),
    (0.12, 0.00, 0.18, 0.00, 0.03, 0.03),
)
_DAY = 24 * 3600
"""A day in seconds."""
_SURE = (Confidence.STRONG, Confidence.LIKELY, Confidence.WEAK)
_NAMES = ("words", "proximity", "meaning", "title", "heading", "coverage")


class AnsweredAtOnce(RequestThread):
    """A request thread that answers each request at once, without a thread."""

    def _put(self, asked: Numbered) -> None:
        self._do(asked)

    def _let_draw(self, asked: Numbered) -> None:
        """Do nothing: no request waits."""


class ScriptedEngine(EngineWorker):
    """An engine without an index: it finds the fragments with words of the query, those with most matches first."""

    def __init__(self, vault: Path, places: Places, loop: EventLoop) -> None:
        super().__init__(vault, places, Settings(), loop)
        self._requests = AnsweredAtOnce("engine", loop)
        self.notes = Vault({**_NOTES, **GARDEN}, "o200k")
        self.topic = ""

    def start(self) -> None:
        """Do nothing, as there is no thread."""

    @property
    def is_open(self) -> bool:
        return True

    def open(self, is_repeat: bool = False) -> None:
        """Do nothing; the picture's messages state what is known of the index."""

    def found(self, query: str, strategy: Strategy) -> Result:
        words = [word for word in query.casefold().split() if ":" not in word]
        found = [(fragment, _spans(fragment.text.casefold(), words)) for fragment in self.notes.fragments]
        held = sorted((one for one in found if one[1]), key=lambda one: -len(one[1]))
        known = any(all(word in fragment.text.casefold() for word in words) for fragment, _ in held)
        hits = [_hit(fragment, spans, rank, known) for rank, (fragment, spans) in enumerate(held)]
        primary = Strategy.PROXIMITY if strategy is Strategy.AUTO else strategy
        return Result(query, strategy, primary, tuple(hits), len(hits), 6.2, STATUS.generation)

    def ask(
        self,
        question: Question[Engine, Answer],
        on_answer: Callable[[Answer], object],
        on_failure: Callable[[Failure], object] | None = None,
        *,
        is_interim: bool = False,
    ) -> None:
        run = partial(self._answer_to, question)
        self._requests.ask(Request(question.kind, question.priority, run, on_answer, on_failure, is_interim))

    def _answer_to(self, question: Question[Engine, object]) -> Any:  # what the questions below are answered with  # noqa: PLR0911, PLR0912 - one for each question
        """Return the scripted answer: a hit is explained as the second one, and a note by name is never found."""
        match question:
            case AskSearch(query=query, strategy=strategy):
                return self.found(query, strategy)
            case AskSpans(result=result):
                return result
            case AskPack(packer=packer, request=request):
                return packer.pack(self.notes, request)
            case AskCost():
                return question.packer.cost(self.notes, question.request, question.mark)
            case AskWindow():
                return _window_of(question, self.notes)
            case AskRelated(path=path, line=line):
                near = [each for each in self.notes.fragments if each.path in _NOTES]
                return related_of(near, path, line)
            case AskMap(query=query):
                return map_of(query)
            case AskNarrowed(query=query, filter=condition):
                return f"{condition} {query}"
            case AskBadges(memories=memories, fragments=fragments):
                return badges_of(memories, fragments)
            case AskStandings(memories=memories):
                return source_checks_of(memories, self.notes)
            case AskOverview(topic=topic):
                self.topic = topic
                made = OVERVIEW if "sync" in topic else Overview("", 800, "o200k", 7, None, 0, 0, 0, 1_204, 171)
                return replace(made, topic=topic), None
            case AskMarkdown(overview=overview):
                return as_markdown(overview), 420
            case AskDrill(query=query, filters=filters):
                return " ".join((*filters, query))
            case AskLink(to=to):
                return self._link_to(to.address)
            case AskPassage(place=place):
                return self._passage_at(place)
            case AskReading(query=query, thoroughly=thoroughly):
                at = unpaired_quotation_mark(query) if thoroughly else -1
                doubts = (QueryWarning(at, at + 1, 'a " is still open'),) if at >= 0 else ()
                return QueryReading(conditions(query), doubts)
            case AskCompletions(operator=operator, value=value):
                tags = [tag for tag in TAGS if operator in ("#", "tag") and tag.startswith(value)]
                mark = "#" if operator == "#" else "tag:"
                return tuple(Completion(f"{mark}{tag}", tag, TAGS[tag]) for tag in tags)
            case AskSuggestions(query=query):
                narrower = Suggestion(Direction.NARROWER, "tag:sync", f"tag:sync {query}", 2)
                wider = Suggestion(Direction.WIDER, "or [bold]同步", f"{query} | [bold]同步", 14)
                return narrower, wider
            case AskCorrection(query=query):
                return query.replace("konflict", "conflict") if "konflict" in query else ""
            case AskStrategies(query=query):
                found = [self.found(query, strategy) for strategy in Strategy]
                # Rotate the hits of each, so that all move.
                return tuple(replace(one, hits=one.hits[at:] + one.hits[:at]) for at, one in enumerate(found))
            case AskWhy(query=query, asked=asked, about=str(about)):
                reason = f"“{query}” is in no passage of {about}.md, and none is near it in meaning."
                absent = Absence(AbsenceKind.UNMATCHED, reason)
                return NoteExplanation(query, asked, about, f"{about}.md", absent)
            case AskWhy(query=query, asked=asked, about=Hit() as hit):
                return _told(query, asked, hit)
        raise AssertionError(question)

    def _link_to(self, address: str) -> LinkFound:
        there = next((each for each in self.notes.fragments if each.path == f"{address}.md"), None)
        if there is None:
            return LinkFound(told=f"There is no note {address} in the vault yet.")
        return LinkFound(Location(there.id, there.path, there.line_start))

    def _passage_at(self, place: Stands) -> NoteWindow:
        text = self.notes.note_text(place.path)
        there = next(each for each in self.notes.fragments if each.path == place.path)
        lines = "\n".join(text.split("\n")[place.line_start - 1 : place.line_end])
        fragment = replace(there, line_start=place.line_start, line_end=place.line_end, text=lines)
        return window_around(text, fragment, _spans(lines.casefold(), self.topic.casefold().split()))


def _spans(text: str, words: list[str]) -> tuple[Span, ...]:
    found = [Span(at, at + len(word)) for word in words for at in range(len(text)) if text.startswith(word, at)]
    return tuple(sorted(found, key=lambda span: span.start))


def _hit(fragment: Fragment, spans: tuple[Span, ...], rank: int, known: bool) -> Hit:
    parts = _PARTS[min(rank, len(_PARTS) - 1)]
    signals = tuple(Signal(name, part * 2, 0.5, part) for name, part in zip(_NAMES, parts, strict=True))
    sure = _SURE[min(rank, len(_SURE) - 1)] if known else Confidence.NOTHING
    wanted = [fragment.text[span.start : span.end].casefold() for span in spans]
    named = tuple(_spans(name.casefold(), wanted) for name in (fragment.title, *fragment.heading_path))
    # The same during a day, so that two views of one hit are equal.
    modified = (int(time.time()) // _DAY - (3 + 40 * rank)) * _DAY
    return Hit(fragment, sum(parts), signals, spans, sure, named, modified)


def _window_of(question: AskWindow, notes: Vault) -> NoteWindow | None:
    """Return the note with the query's words marked, and the first sentence as the nearest."""
    fragment = notes.fragment(question.location.fragment_id)
    if fragment is None:
        return None
    text, sentence = notes.note_text(fragment.path), fragment.text.find(". ", 20) + 1
    near = (Span(0, sentence),) if question.location.by_meaning and sentence else ()
    words = [word for word in question.query.casefold().split() if ":" not in word]
    elsewhere = [
        (number, (span.start, span.end))
        for number, line in enumerate(text.split("\n"), 1)
        for span in _spans(line.casefold(), words)
    ]
    view, headings = replace(question.view, near=near), notes.sections(fragment.path)
    return window_around(text, fragment, question.location.spans, view, headings=headings, elsewhere=elsewhere)


def _told(query: str, asked: Strategy, hit: Hit) -> NoteExplanation:
    exact, spelled = (
        TermVariant(TermLikeness.EXACT, ("sync",), 1.0),
        TermVariant(TermLikeness.SPELLED, ("conflict",), 0.28),
    )
    places = (FieldCount("text", 2), FieldCount("heading", 1), FieldCount("properties", 1))
    words = (
        WordPart("sync", (exact,), 2, 1.61, 1.0, ("sync",), places, 0.25),
        WordPart("conflikt", (spelled,), 14, 0.92, 1.0, ("conflict",), places[:1], 0.05),
        WordPart("when", (), 40, 0.61, 0.35, (), (), 0.0),
        WordPart("[/red]同步", (), 0, 0.0, 1.0, (), (), 0.0),
    )
    gaps = (Gap("words", 0.6, 0.84, 0.12), Gap("title", 0.0, 0.3, 0.15), Gap("meaning", 0.44, 0.4, -0.02))
    ranks = (StrategyRank("auto", "proximity", 2, 0.76, 8), StrategyRank("adaptive", "adaptive", 1_041, 0.5, 8))
    return NoteExplanation(
        query=query,
        asked=asked,
        note=hit.fragment.path,
        path=hit.fragment.path,
        ranks=(*ranks, StrategyRank("semantic", "semantic")),
        explanation=Explanation(hit, 2, hit.score, words),
        gaps=tuple(sorted(gaps, key=lambda gap: -gap.cost)),
        compared=1,
        from_limit=2,
    )


class StillScreen(MainScreen):
    """A main screen that indexes nothing; `say` posts messages of a thread or process."""

    def __init__(
        self,
        vault: Path,
        settings: Settings,
        places: Places,
        session: Session,
        *,
        use_settings: Callable[[Settings], object],
    ) -> None:
        super().__init__(vault, settings, places, {}, session, use_settings=use_settings)
        self.index.engine = ScriptedEngine(vault, places, self)
        self.memories.worker = MemoryWorker(vault, replace(places, cache=places.data / "cache"), settings, self)

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.post_from_thread(message)


class StillApp(ExcerptApp):
    """The app on a fictitious vault; memories are real files under `data`."""

    def __init__(self, data: Path, settings: Settings) -> None:
        places = Places(data / "config", VAULT.parent / ".cache/excerpt", data, data / "state")
        self._still = (VAULT, settings, places)
        super().__init__(*self._still, {})

    def get_default_screen(self) -> StillScreen:
        return StillScreen(*self._still, self._session, use_settings=self.use_settings)

    @property
    def still(self) -> StillScreen:
        """The main screen, even below a dialog."""
        screen = self.screen_stack[0]
        assert isinstance(screen, StillScreen)
        return screen
