"""How a test drives the app: start it, wait, press keys, and ask for what is on the screen.

`app` (see conftest) is the app on a small real vault. `ScriptedApp` has a fictitious vault and an engine with scripted
answers, the same at every run. Run either with `app.run_test()`; the functions below take its pilot or the app. For
tests without a screen, `ManualEngine`, `ManualClock` and `tests.service.manual_loop` act only when the test says so.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs
from textual import events
from textual.app import App
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, OptionList

from excerpt.base.errors import ExcerptError
from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Hit, Result, Span, Status
from excerpt.base.settings import Paths, Settings
from excerpt.insight.overview_parts import Overview, SourceLocation
from excerpt.insight.results import Completion, DatedNote, Direction, Suggestion
from excerpt.search.engine import Engine
from excerpt.search.query import blank_conditions, find_conditions, find_unpaired_quotation_mark
from excerpt.search.rank_reasons import Absence, AbsenceKind, NoteExplanation
from excerpt.search.results import QueryInterpretation, QueryNews, QueryWarning
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.event_loop import EventLoop, Failure, IndexOpened, ServiceEvent
from excerpt.service.memory_questions import AskBadges, AskSourceChecks, AskStaleMemories
from excerpt.service.memory_worker import MemoryWorker
from excerpt.service.note_questions import AskLink, AskPassage, AskWindow, Location, ResolvedLink
from excerpt.service.packer import AskCost, AskPack, AskPackResults, PackUpdate
from excerpt.service.questions import (
    AskCompletions,
    AskCorrection,
    AskFilteredQuery,
    AskFirstQueries,
    AskHighlights,
    AskInterpretation,
    AskMap,
    AskMarkdown,
    AskMarkSeen,
    AskModelOffer,
    AskNarrowedQuery,
    AskNewestNotes,
    AskNews,
    AskOverview,
    AskRelated,
    AskSearch,
    AskStrategies,
    AskSuggestions,
    AskWhy,
)
from excerpt.service.request_queue import Answer, Question, QueuedRequest, Request, RequestQueue
from excerpt.text.periods import find_periods
from excerpt.tui.app import ExcerptApp
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.memory.pane import MemoryPane
from excerpt.tui.note.window import NoteWindow, draw_window
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.preview import Preview
from excerpt.tui.search.query_bar import QueryStatus
from excerpt.tui.search.side_panel import PanelView, SidePanel
from excerpt.tui.search.start_list import StartList
from excerpt.tui.session import Session
from excerpt.vault.known_vaults import VaultFolders
from tests.pack.vaults import Vault
from tests.service.manual_loop import TIMEOUT_SECONDS
from tests.tui.examples import (
    GARDEN,
    NEWEST_NOTES,
    OVERVIEW,
    STATUS,
    SYNC_NOTES,
    TAGS,
    VAULT,
    WATCHED,
    badges_of,
    check_sources,
    find_spans,
    make_explanation,
    make_map,
    make_related,
    ranked_hit,
)

AppPilot = Pilot[None]

# --- wait -------------------------------------------------------------------------------------------------------------


async def until(pilot: AppPilot, reached: Callable[[], bool], what: str) -> None:
    """Let the app run until `reached()` is true, or fail."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out waiting for {what}")
        await pilot.pause()
        await asyncio.sleep(0.01)


async def until_index(pilot: AppPilot) -> None:
    """Wait until the index is open."""
    await until(pilot, lambda: status_of(pilot.app) is not None, "the index")


async def until_tabs(pilot: AppPilot) -> None:
    """Wait until the main screen has all its tabs."""
    await until(pilot, lambda: bool(screen_of(pilot.app).query(MemoryPane)), "the tabs")


async def until_result(pilot: AppPilot, query: str) -> None:
    """Wait until the Search tab has the result of `query`."""
    pane = pane_of(pilot.app)
    await until(pilot, lambda: pane.result is not None and pane.result.query == query, f"the answer to {query}")


async def until_answered(pilot: AppPilot) -> None:
    """Wait until the list, the pack, the memories and the side panel of the Search tab are up to date, and drawn."""
    await until(pilot, lambda: _is_answered(pane_of(pilot.app)), "the answers")
    await pilot.pause()


def _is_answered(pane: SearchPane) -> bool:
    if not (pane.is_up_to_date and pane.side.is_answered and pane.memories.is_answered):
        return False
    shown = pane.side.map.vault_map if pane.side.view is PanelView.MAP else None
    query = pane.result.query if pane.result is not None else pane.query_one("#query", Input).value
    return shown is None or shown.query == query


AnyScreen = TypeVar("AnyScreen", bound=Screen[Any])


async def until_screen(pilot: AppPilot, kind: type[AnyScreen]) -> AnyScreen:
    """Wait until a screen of that class, such as a dialog, is in front, and return it."""
    app = pilot.app
    await until(pilot, lambda: isinstance(app.screen, kind) and app.screen.is_mounted, kind.__name__)
    await pilot.pause()
    assert isinstance(app.screen, kind)
    return app.screen


async def settle(pilot: AppPilot) -> None:
    """Wait until everything is answered and drawn, the selected hit's passage and cost included."""
    pane, hits, preview = pane_of(pilot.app), hit_list_of(pilot.app), preview_of(pilot.app)

    def is_settled() -> bool:
        hit, window = hits.selected, preview.window
        is_current = (hit and hit.fragment.id) == (window and window.fragment.id)
        return is_current and pane.pack.is_cost_exact and _is_answered(pane)

    await until(pilot, is_settled, "the answers and the passage")
    await pilot.pause()


# --- press keys -------------------------------------------------------------------------------------------------------


def post_keys(app: App[Any], *keys: str) -> None:
    """Post all keys before the app handles the first."""
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
        app.post_message(events.Key(name, key if len(key) == 1 else None))


async def press(pilot: AppPilot, *keys: str) -> None:
    """Press keys, and wait for the answers after each."""
    for key in keys:
        await pilot.press(key)
        await until_answered(pilot)


async def type_text(pilot: AppPilot, text: str) -> None:
    """Type a text in one burst, as a terminal delivers pasted or fast text."""
    post_keys(pilot.app, *text)
    await pilot.pause()


async def search(pilot: AppPilot, query: str, *keys: str) -> None:
    """Type a query once the index is open, wait for its hits, then `press` keys."""
    await until_index(pilot)
    await type_text(pilot, query)  # an earlier answer to the same query may still be there
    await until_result(pilot, query)
    if keys:
        await until_answered(pilot)
        await press(pilot, *keys)


async def search_and_wait(pilot: AppPilot, query: str) -> HitList:
    """Search, wait for the pack and the memories as well, and return the hit list."""
    await search(pilot, query)
    await until_answered(pilot)
    return hit_list_of(pilot.app)


async def type_query(pilot: AppPilot, query: str) -> None:
    """Type a query, and wait until everything is answered and drawn."""
    await until(pilot, lambda: bool(screen_of(pilot.app).query(Preview)), "the Search tab")
    await type_text(pilot, query)
    await settle(pilot)


# --- ask what is on the screen ----------------------------------------------------------------------------------------


async def select_hit(pilot: AppPilot, is_wanted: Callable[[Hit], bool], what: str) -> None:
    """Move the cursor of the hit list, which may change meanwhile, to the first hit that is wanted, or fail."""
    rows = hit_list_of(pilot.app)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while rows.selected is None or not is_wanted(rows.selected):
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out selecting {what}")
        wanted = next((hit for hit in rows.hits if is_wanted(hit)), None)
        listed = [row.hit for row in rows.rows]
        if wanted is None:
            await pilot.pause()
        elif wanted not in listed:
            rows.select_fragment(wanted.fragment.id)
        else:
            await pilot.press("down" if rows.cursor < listed.index(wanted) else "up")


def screen_of(app: App[Any]) -> MainScreen:
    """Return the main screen, even below a dialog."""
    screen = app.screen_stack[0]
    assert isinstance(screen, MainScreen)
    return screen


def top_screen(app: App[Any]) -> Screen[object]:
    """Return the screen in front: the main screen or a dialog."""
    return app.screen


def pane_of(app: App[Any]) -> SearchPane:
    return screen_of(app).query_one(SearchPane)


def hit_list_of(app: App[Any]) -> HitList:
    return screen_of(app).query_one(HitList)


def preview_of(app: App[Any]) -> Preview:
    return screen_of(app).query_one("#preview", Preview)


def side_of(app: App[Any]) -> SidePanel:
    return screen_of(app).query_one(SidePanel)


def status_of(app: App[Any]) -> Status | None:
    return screen_of(app).index.state.status


def listed_titles(app: App[Any]) -> list[str]:
    """Return the titles of the hits listed."""
    return [hit.fragment.title for hit in hit_list_of(app).hits]


def notices_of(app: App[Any]) -> list[str]:
    """Return the messages of the notices shown."""
    return [notice.message for notice in app._notifications]


def options_of(dialog: Screen[Any]) -> list[str]:
    """Return the rows of a dialog's list."""
    options = dialog.query_one(OptionList)
    return [str(options.get_option_at_index(index).prompt) for index in range(options.option_count)]


def drawn_lines(widget: Widget) -> list[str]:
    """Return the text of a widget's lines."""
    return [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]


def status_text(app: App[Any], *, ends: bool = False) -> str:
    """Return the text of the query's status without the order at its right end, or with `ends` that order alone."""
    parts = re.split(r" {3,}", str(screen_of(app).query_one(QueryStatus).render()))
    return parts[-1] if ends else parts[0]


def drawn_text(app: App[Any]) -> str:
    """Return the text of the whole screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


# --- the app with scripted answers ------------------------------------------------------------------------------------


def places_under(home: Path) -> Paths:
    return Paths(home / "config", home / "cache", home / "data", home / "state")


class SynchronousRequests(RequestQueue):
    """A request thread that answers each request at once, without a thread."""

    def _enqueue(self, asked: QueuedRequest) -> None:
        self._run_request(asked)

    def _wait_until_drawn(self, asked: QueuedRequest) -> None:
        """Do nothing: no request waits."""


class ScriptedEngine(EngineWorker):
    """An engine without an index: it finds the fragments with words of the query, those with most matches first."""

    def __init__(self, vault: Path, user_paths: Paths, loop: EventLoop) -> None:
        super().__init__(VaultFolders.of([vault]), user_paths, Settings(), loop)
        self._requests = SynchronousRequests("engine", loop)
        self.notes = Vault({**SYNC_NOTES, **GARDEN}, "o200k")
        self.newest_notes: tuple[DatedNote, ...] = ()
        self.first_queries: tuple[str, ...] = ()
        self.topic = ""
        self.marked_seen: list[str] = []

    def start(self) -> None:
        """Do nothing, as there is no thread."""

    @property
    def is_open(self) -> bool:
        return True

    def open(self, is_repeat: bool = False) -> None:
        """Do nothing: the test posts the messages of the index."""

    def search(self, query: str, strategy: Strategy) -> Result:
        words = [word for word in query.casefold().split() if ":" not in word]
        matches = [(fragment, find_spans(fragment.text.casefold(), words)) for fragment in self.notes.fragments]
        ranked = sorted((match for match in matches if match[1]), key=lambda match: -len(match[1]))
        has_all = any(all(word in fragment.text.casefold() for word in words) for fragment, _ in ranked)
        hits = [ranked_hit(fragment, spans, rank, has_all) for rank, (fragment, spans) in enumerate(ranked)]
        used = Strategy.HYBRID if strategy is Strategy.AUTO else strategy
        labels = [hit.confidence for hit in hits[:5] if hit.confidence is not None]
        confidence = min(labels, key=list(Confidence).index, default=Confidence.NOTHING)
        result = Result(query, strategy, used, tuple(hits), len(hits), 6.2, STATUS.generation)
        return replace(result, confidence=confidence)

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
                return self.search(query, strategy)
            case AskHighlights(result=result):
                return result
            case AskPack(packer=packer, request=request, cost_question=cost, result=result):
                pack = packer.build_pack(self.notes, request)
                return PackUpdate(pack, None if cost is None else self._answer_to(cost), result)
            case AskPackResults(packer=packer, requests=requests):
                return tuple(packer.build_pasted_result(self.notes, each) for each in requests)
            case AskCost():
                return question.packer.cost_of_mark(self.notes, question.request, question.mark)
            case AskWindow():
                return _window_of(question, self.notes)
            case AskRelated(path=path, line=line, unlinked=unlinked):
                near = [each for each in self.notes.fragments if each.path in SYNC_NOTES]
                return make_related(near, path, line, unlinked)
            case AskMap(query=query):
                return make_map(query)
            case AskNarrowedQuery(query=query, filter=condition):
                return f"{condition} {query}"
            case AskBadges(memories=memories, fragments=fragments):
                return badges_of(memories, fragments)
            case AskSourceChecks(memories=memories):
                return check_sources(memories, self.notes)
            case AskOverview(topic=topic):
                self.topic = topic
                made = OVERVIEW if "sync" in topic else Overview("", 800, "o200k", 7, None, 0, 0, 0, 1_204, 171)
                return replace(made, topic=topic)
            case AskMarkdown(overview=overview):
                return overview.text, 420
            case AskFilteredQuery(query=query, filters=filters):
                return " ".join((*filters, query))
            case AskLink(address=address):
                return self._link_to(address)
            case AskPassage(place=place):
                return self._passage_at(place)
            case AskInterpretation(query=query):
                at = find_unpaired_quotation_mark(query)
                warnings = (QueryWarning(at, at + 1, "a quotation mark is not closed"),) if at >= 0 else ()
                periods = find_periods(blank_conditions(query), date.today())
                return QueryInterpretation(find_conditions(query), warnings, periods)
            case AskCompletions(operator=operator, value=value):
                tags = [tag for tag in TAGS if operator in ("#", "tag") and tag.startswith(value)]
                mark = "#" if operator == "#" else "tag:"
                return tuple(Completion(f"{mark}{tag}", tag, TAGS[tag]) for tag in tags)
            case AskSuggestions(query=query):
                narrower = Suggestion(Direction.NARROWER, "tag:sync", f"tag:sync {query}", 2)
                wider = Suggestion(Direction.WIDER, "or [bold]同步", f"{query} | [bold]同步", 14)
                return narrower, wider
            case AskNewestNotes():
                return self.newest_notes
            case AskFirstQueries():
                return self.first_queries
            case AskStaleMemories(memories=memories):
                return tuple(check for check in check_sources(memories, self.notes).values() if check.is_stale)
            case AskNews(saved=saved):
                changed = self.search("conflict", Strategy.AUTO).hits[:1]
                return QueryNews(saved.name, saved.query, "2026-03-01T09:30:00Z", (), changed)
            case AskModelOffer():
                return ""
            case AskMarkSeen(query=query):
                self.marked_seen.append(query)
                return None
            case AskCorrection(query=query):
                return query.replace("konflict", "conflict") if "konflict" in query else ""
            case AskStrategies(query=query):
                found = [self.search(query, strategy) for strategy in Strategy]
                # Rotate the hits of each, so that all move.
                return tuple(replace(one, hits=one.hits[at:] + one.hits[:at]) for at, one in enumerate(found))
            case AskWhy(query=query, strategy=asked, hit_or_name=str(hit_or_name)):
                reason = f"“{query}” is in no passage of {hit_or_name}.md, and none of its passages is near in meaning."
                absent = Absence(AbsenceKind.UNMATCHED, reason)
                return NoteExplanation(query, asked, hit_or_name, f"{hit_or_name}.md", absent)
            case AskWhy(query=query, strategy=asked, hit_or_name=Hit() as hit):
                return make_explanation(query, asked, hit)
        raise AssertionError(question)

    def _link_to(self, address: str) -> ResolvedLink:
        there = next((each for each in self.notes.fragments if each.path == f"{address}.md"), None)
        if there is None:
            return ResolvedLink(message=f"There is no note {address} in the vault yet.")
        return ResolvedLink(Location(there.id, there.path, there.line_start))

    def _passage_at(self, place: SourceLocation) -> NoteWindow:
        text = self.notes.note_text(place.path)
        there = next(each for each in self.notes.fragments if each.path == place.path)
        lines = "\n".join(text.split("\n")[place.line_start - 1 : place.line_end])
        fragment = replace(there, line_start=place.line_start, line_end=place.line_end, text=lines)
        return draw_window(text, fragment, find_spans(lines.casefold(), self.topic.casefold().split()))


def _window_of(question: AskWindow[NoteWindow], notes: Vault) -> NoteWindow | None:
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
        for span in find_spans(line.casefold(), words)
    ]
    view, headings = structs.replace(question.view, near=near), notes.sections(fragment.path)
    return draw_window(text, fragment, question.location.spans, view, headings=headings, outside_matches=elsewhere)


class ScriptedScreen(MainScreen):
    """A main screen that indexes nothing; `report_events` plays its threads and processes."""

    def __init__(
        self,
        vault: Path,
        settings: Settings,
        user_paths: Paths,
        session: Session,
        *,
        use_settings: Callable[[Settings], object],
    ) -> None:
        vaults = VaultFolders.of([vault])
        super().__init__(vaults, settings, user_paths, {}, session, use_settings=use_settings)
        self.index.engine = ScriptedEngine(vault, user_paths, self)
        memory_paths = structs.replace(user_paths, cache=user_paths.data / "cache")
        self.memories.worker = MemoryWorker(vaults, memory_paths, settings, self)


class ScriptedApp(ExcerptApp):
    """The app on a fictitious vault; memories are real files under `data`."""

    def __init__(self, data: Path, settings: Settings | None = None) -> None:
        self.scripted_places = Paths(data / "config", VAULT.parent / ".cache/excerpt", data, data / "state")
        self._opened_with = (VAULT, settings or Settings(), self.scripted_places)
        super().__init__(*self._opened_with, {})

    def get_default_screen(self) -> ScriptedScreen:
        return ScriptedScreen(*self._opened_with, self._session, use_settings=self.use_settings)


async def report_events(pilot: AppPilot, *events: ServiceEvent) -> None:
    """Report events to the main screen as its threads and processes do, once its tabs exist."""
    await until_tabs(pilot)
    for event in events:
        screen_of(pilot.app).report_from_thread(event)
    await pilot.pause()


async def open_index(pilot: AppPilot) -> None:
    """Report to the main screen that the index is open and its vault is being watched."""
    await report_events(pilot, IndexOpened(STATUS), WATCHED)
    await until_index(pilot)


async def show_results(pilot: AppPilot) -> None:
    """Search the fictitious vault for `sync conflict`."""
    await open_index(pilot)
    await type_query(pilot, "sync conflict")


async def show_start_list(pilot: AppPilot) -> StartList:
    """Show the start list of the fictitious vault, with the newest notes, and return it."""
    await open_index(pilot)
    engine, rows = screen_of(pilot.app).index.engine, screen_of(pilot.app).query_one(StartList)
    assert isinstance(engine, ScriptedEngine)
    engine.newest_notes = NEWEST_NOTES
    pane_of(pilot.app).repeat_requests()
    await until_answered(pilot)
    await until(pilot, lambda: any(row.path for row in rows.rows) and rows.size.height > 1, "the start list")
    await pilot.pause()
    return rows


# --- without a screen -------------------------------------------------------------------------------------------------


class ManualEngine:
    """An engine that keeps the newest question of each kind in `questions` until `answer` is called."""

    is_open = True

    def __init__(self) -> None:
        self.questions: dict[str, Any] = {}
        self._on_answer: dict[str, Callable[[Any], object]] = {}
        self._on_failure: dict[str, Callable[[Failure], object] | None] = {}

    def ask(
        self,
        question: Question[Engine, Answer],
        on_answer: Callable[[Answer], object],
        on_failure: Callable[[Failure], object] | None = None,
    ) -> None:
        self.questions[question.kind] = question
        self._on_answer[question.kind] = on_answer
        self._on_failure[question.kind] = on_failure

    def cancel(self, kind: str) -> None:
        self.questions.pop(kind, None)
        self._on_answer.pop(kind, None)

    def is_waiting(self, kind: str) -> bool:
        return kind in self._on_answer

    def answer(self, kind: str, answer: object) -> None:
        del self.questions[kind]
        self._on_answer.pop(kind)(answer)

    def fail(self, kind: str, failure: Failure) -> None:
        del self.questions[kind], self._on_answer[kind]
        if (on_failure := self._on_failure.pop(kind)) is not None:
            on_failure(failure)


def failing_answer(message: str) -> Callable[..., object]:
    """Return a stand-in for a question's `answer` that raises an error."""

    def fail(*_: object) -> object:
        raise ExcerptError(message, "Wait.")

    return fail


@dataclass(eq=False)
class ScheduledCall:
    """A scheduled call."""

    clock: ManualClock
    seconds: float
    call: Callable[[], object]

    def stop(self) -> None:
        if self in self.clock.waiting:
            self.clock.waiting.remove(self)


class ManualClock:
    """A clock that makes a scheduled call once `pass_time` reaches its time."""

    def __init__(self) -> None:
        self.waiting: list[ScheduledCall] = []

    def after(self, seconds: float, call: Callable[[], object]) -> ScheduledCall:
        waiting = ScheduledCall(self, seconds, call)
        self.waiting.append(waiting)
        return waiting

    def pass_time(self, seconds: float) -> None:
        due = [each for each in self.waiting if each.seconds <= seconds]
        for each in due:
            each.stop()
            each.call()
