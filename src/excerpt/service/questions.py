"""Questions to the search engine, as values. Each is answered in the engine's thread.

Those about memories are in `memory_questions.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from excerpt.base.kinds import LinkForm, Strategy
from excerpt.service.request_queue import Priority

if TYPE_CHECKING:
    from pathlib import Path

    from excerpt.base.model import Hit, PastUse, Result
    from excerpt.base.settings import Paths, Settings
    from excerpt.corpus.passage_links import LinkedPassage
    from excerpt.insight.overview_parts import Overview
    from excerpt.insight.results import Completion, DatedNote, RelatedNotes, Suggestion, VaultMap
    from excerpt.search.engine import Engine
    from excerpt.search.rank_reasons import NoteExplanation
    from excerpt.search.results import QueryInterpretation, QueryNews, RerankRequest
    from excerpt.search.saved_queries import SavedQuery
    from excerpt.vault.known_vaults import VaultFolders


class AskSearch(Struct, frozen=True):
    """Question for the hits of a query: at most `limit` of them, or as many as the settings say if that is None.

    Only the first `visible_hits` hits get highlights (spans of matched words). `is_new_list`: no shown list has to keep
    its order, so notes that the user opened just now may move up.
    """

    kind: ClassVar[str] = "search"
    priority: ClassVar[Priority] = Priority.HITS
    query: str
    strategy: Strategy
    limit: int | None
    visible_hits: int
    is_new_list: bool = False

    def answer(self, engine: Engine) -> Result:
        from excerpt.search.query import remove_unfinished_filter

        if self.is_new_list:
            engine.end_list()
        return engine.search(
            remove_unfinished_filter(self.query), self.strategy, self.limit, highlight_count=self.visible_hits
        )


class AskMoreHits(AskSearch, frozen=True):
    """Question for more hits of an answered query, to fill the list; passages and packs are answered before it."""

    kind: ClassVar[str] = "more-hits"
    priority: ClassVar[Priority] = Priority.UPKEEP


class AskHighlights(Struct, frozen=True):
    """Question for the same search result with highlights (spans of matched words) in all of its hits."""

    kind: ClassVar[str] = "marks"
    priority: ClassVar[Priority] = Priority.BADGES
    result: Result

    def answer(self, engine: Engine) -> Result:
        return engine.highlight_all(self.result)


class AskRerankRequest(Struct, frozen=True):
    """Question for the request to rerank a result; the answer is None if no hit may move."""

    kind: ClassVar[str] = "rerank"
    priority: ClassVar[Priority] = Priority.UPKEEP
    result: Result

    def answer(self, engine: Engine) -> RerankRequest | None:
        from excerpt.search.rerank import build_rerank_request

        return build_rerank_request(engine, self.result)


class AskLinks(Struct, frozen=True):
    """Question for the links to some passages in each form, without repetitions.

    A passage is the id of a fragment, or a location. Fragments that are gone have no link. `folders` are the
    vaults, None for a store.
    """

    kind: ClassVar[str] = "links"
    priority: ClassVar[Priority] = Priority.PASSAGE
    passages: tuple[str | LinkedPassage, ...]
    folders: VaultFolders | None

    def answer(self, engine: Engine) -> dict[LinkForm, tuple[str, ...]]:
        from excerpt.corpus.passage_links import link_passage

        corpus = engine.snapshot
        found = (corpus.fragment(each) if isinstance(each, str) else each for each in self.passages)
        links = [link_passage(corpus, each, self.folders) for each in found if each is not None]
        forms = [form for form in LinkForm if links and form in links[0]]
        return {form: tuple(dict.fromkeys(link[form] for link in links)) for form in forms}


class AskForgetUses(Struct, frozen=True):
    """Request to forget the past uses that raise a hit; the answer is why this failed, "" if it did not."""

    kind: ClassVar[str] = "forget"
    priority: ClassVar[Priority] = Priority.HITS
    uses: tuple[PastUse, ...]

    def answer(self, engine: Engine) -> str:
        try:
            engine.forget_uses(self.uses)
        except OSError as error:
            return error.strerror or str(error)
        return ""


class AskInterpretation(Struct, frozen=True):
    """Question for how a query is interpreted: its filters and periods, and warnings about parts without effect."""

    kind: ClassVar[str] = "reading"
    priority: ClassVar[Priority] = Priority.QUERY
    query: str

    def answer(self, engine: Engine) -> QueryInterpretation:
        from datetime import date

        from excerpt.search.interpretation import interpret_query

        return interpret_query(engine.snapshot, self.query, date.today())


class AskCompletions(Struct, frozen=True):
    """Question for completions of `value`, the beginning of a filter's value typed after `operator` and a colon.

    The operator "#" is followed by no colon. With the operator "", `value` is the beginning of a plain word.
    """

    kind: ClassVar[str] = "complete"
    priority: ClassVar[Priority] = Priority.QUERY
    operator: str
    value: str

    def answer(self, engine: Engine) -> tuple[Completion, ...]:
        from datetime import date

        from excerpt.insight.completions import complete

        return complete(engine.snapshot, self.operator, self.value, date.today())


class AskSuggestions(Struct, frozen=True):
    """Question for narrower and wider queries to suggest in place of `query`."""

    kind: ClassVar[str] = "suggest"
    priority: ClassVar[Priority] = Priority.QUERY
    query: str

    def answer(self, engine: Engine) -> tuple[Suggestion, ...]:
        from excerpt.insight.suggest import suggest_queries

        return suggest_queries(engine, self.query)


class AskNews(Struct, frozen=True):
    """Question for what is new in the answer to a saved query; `seen_hits` is the file with the hits that were seen."""

    kind: ClassVar[str] = "news"
    priority: ClassVar[Priority] = Priority.QUERY
    saved: SavedQuery
    seen_hits: Path

    def answer(self, engine: Engine) -> QueryNews:
        from excerpt.search.news import find_news

        return find_news(engine, self.saved, self.seen_hits)


class AskMarkSeen(Struct, frozen=True):
    """Request to record the hits of a saved query as seen, in the file `seen_hits`."""

    kind: ClassVar[str] = "seen"
    priority: ClassVar[Priority] = Priority.UPKEEP
    query: str
    seen_hits: Path

    def answer(self, engine: Engine) -> None:
        from excerpt.search.news import mark_seen

        mark_seen(engine, self.query, self.seen_hits)


class AskCorrection(Struct, frozen=True):
    """Question for `query` with corrected spelling; the answer is "" if no word is misspelt."""

    kind: ClassVar[str] = "correction"
    priority: ClassVar[Priority] = Priority.PACK
    query: str

    def answer(self, engine: Engine) -> str:
        from excerpt.insight.corrections import correct

        return correct(engine, self.query)


class AskRelated(Struct, frozen=True):
    """Question for notes related to the note `path`, or to its fragment at `line` if that is given.

    `unlinked` leaves out notes that a link connects with it. The answer is None if the note is gone.
    """

    kind: ClassVar[str] = "related"
    priority: ClassVar[Priority] = Priority.PANEL
    path: str
    line: int | None
    unlinked: bool = False

    def answer(self, engine: Engine) -> RelatedNotes | None:
        from excerpt.insight.related import find_related_notes

        try:
            return find_related_notes(engine, self.path, self.line, unlinked=self.unlinked)
        except KeyError:
            return None


class AskMap(Struct, frozen=True):
    """Question for the number of matches of `query` in each folder, tag, property and month.

    For an empty query all fragments of the vault are counted.
    """

    kind: ClassVar[str] = "map"
    priority: ClassVar[Priority] = Priority.PANEL
    query: str

    def answer(self, engine: Engine) -> VaultMap:
        from excerpt.insight.facet_map import MATCH_ALL_QUERY, build_vault_map

        vault_map = build_vault_map(engine, self.query if self.query.strip() else MATCH_ALL_QUERY)
        return replace(vault_map, query=self.query)


class AskNarrowedQuery(Struct, frozen=True):
    """Question for the text of `query` with `filter` added; for an empty query, the filter alone."""

    kind: ClassVar[str] = "narrow"
    priority: ClassVar[Priority] = Priority.PANEL
    query: str
    filter: str

    def answer(self, engine: Engine) -> str:
        return engine.add_condition(self.query, self.filter) if self.query.strip() else f"{self.filter} "


class AskOverview(Struct, frozen=True):
    """Question for the overview of a topic."""

    kind: ClassVar[str] = "overview"
    priority: ClassVar[Priority] = Priority.TAB
    topic: str

    def answer(self, engine: Engine) -> Overview:
        from excerpt.insight.overview import build_overview

        return build_overview(engine, self.topic)


class AskMarkdown(Struct, frozen=True):
    """Question for an overview as Markdown text and its number of tokens; "" if nothing fits into its token budget."""

    kind: ClassVar[str] = "markdown"
    priority: ClassVar[Priority] = Priority.TAB
    overview: Overview

    def answer(self, _engine: Engine) -> tuple[str, int]:
        from excerpt.text.tokens import open_tokenizer

        text = self.overview.text
        return text, open_tokenizer(self.overview.tokenizer).count(text)


class AskFilteredQuery(Struct, frozen=True):
    """Question for `query` with all `filters` added, each in the syntax in which it is typed."""

    kind: ClassVar[str] = "drill"
    priority: ClassVar[Priority] = Priority.TAB
    query: str
    filters: tuple[str, ...]

    def answer(self, engine: Engine) -> str:
        narrowed = self.query
        for condition in self.filters:
            narrowed = engine.add_condition(narrowed, condition)
        return narrowed


class AskNewestNotes(Struct, frozen=True):
    """Question for the newest notes, at most `limit`; takes 0.2 s for 10,000 notes, so searches are answered first."""

    kind: ClassVar[str] = "newest"
    priority: ClassVar[Priority] = Priority.UPKEEP
    limit: int

    def answer(self, engine: Engine) -> tuple[DatedNote, ...]:
        from datetime import date

        from excerpt.insight.notes import list_newest_notes

        return list_newest_notes(engine.snapshot, self.limit, date.today())


class AskFirstQueries(Struct, frozen=True):
    """Question for headings of the vault to search for, at most `limit`, questions if there are enough."""

    kind: ClassVar[str] = "first_queries"
    priority: ClassVar[Priority] = Priority.UPKEEP
    limit: int

    def answer(self, engine: Engine) -> tuple[str, ...]:
        from excerpt.insight.suggest import suggest_first_queries

        return suggest_first_queries(engine.snapshot, self.limit)


class AskModelOffer(Struct, frozen=True):
    """Question for the line that offers a better embedding model; "" for no offer. `paths` locate the record of it."""

    kind: ClassVar[str] = "model-offer"
    priority: ClassVar[Priority] = Priority.UPKEEP
    settings: Settings
    paths: Paths

    def answer(self, engine: Engine) -> str:
        from excerpt.service.model_offer import offer_minilm

        return offer_minilm(engine.snapshot, self.settings, self.paths)


class AskStrategies(Struct, frozen=True):
    """Question for the results of a query, one for each strategy, with at most `limit` hits each."""

    kind: ClassVar[str] = "strategies"
    priority: ClassVar[Priority] = Priority.TAB
    query: str
    limit: int

    def answer(self, engine: Engine) -> tuple[Result, ...]:
        from excerpt.search.engine import search_by_strategy

        return search_by_strategy(engine, self.query, self.limit)


class AskWhy(Struct, frozen=True):
    """Question for the explanation of the rank of a hit, or of the note with a given name, in the answer to a query.

    `reranked` are the first hits in the order of a reranker, if a reranker has scored them.
    """

    kind: ClassVar[str] = "explain"
    priority: ClassVar[Priority] = Priority.PASSAGE
    query: str
    strategy: Strategy
    hit_or_name: Hit | str
    reranked: tuple[Hit, ...] = ()

    def answer(self, engine: Engine) -> NoteExplanation:
        from excerpt.search.explain_note import explain_fragment, explain_note

        if isinstance(self.hit_or_name, str):
            return explain_note(engine, self.query, self.hit_or_name, self.strategy, self.reranked)
        return explain_fragment(engine, self.query, self.hit_or_name.fragment, self.strategy, self.reranked)
