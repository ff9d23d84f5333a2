"""Overviews of a vault's content on a topic: notes, sections, themes, dates and links."""

from __future__ import annotations

from excerpt.insight.linked_notes import find_linked_names, find_linked_notes
from excerpt.insight.main_notes import choose_key_sections, rank_main_notes
from excerpt.insight.overview_parts import (
    Overview,
)
from excerpt.insight.passages import choose_key_passages
from excerpt.insight.significant import find_distinctive_labels
from excerpt.insight.themes import GROUPED_FRAGMENTS, find_themes
from excerpt.insight.timeline import build_timeline
from excerpt.insight.topic import find_topic
from excerpt.search.engine import Engine
from excerpt.text.tokens import open_tokenizer

DEFAULT_BUDGET_TOKENS = 800
"""The default limit of an overview's Markdown, in tokens: about one screen."""


def build_overview(engine: Engine, topic: str, budget: int = DEFAULT_BUDGET_TOKENS) -> Overview:
    """Return an overview of the engine's vault on `topic`, which is parsed as a query.

    `budget` limits the overview's Markdown (`excerpt.insight.render`), in tokens of the index's tokenizer. The same
    index, settings and topic give the same overview.
    """
    found_topic = find_topic(engine, topic)
    # Load all fragments that themes, sections and passages use, in one query.
    found_topic.fragments(found_topic.best[:GROUPED_FRAGMENTS].tolist())
    main = rank_main_notes(found_topic)
    related = find_linked_notes(found_topic, main)
    locations = [note.place for note in main] + [note.place for note in related]
    snapshot = engine.snapshot
    passages = choose_key_passages(found_topic, open_tokenizer(snapshot.tokenizer).count)
    return Overview(
        topic=topic,
        budget=budget,
        tokenizer=snapshot.tokenizer,
        generation=snapshot.generation,
        confidence=found_topic.confidence,
        matched=found_topic.matched,
        fragments=len(found_topic.rows),
        notes=len(found_topic.ranked_notes),
        vault_fragments=snapshot.lexical.corpus_size,
        vault_notes=len(snapshot.table.paths),
        main_notes=main,
        sections=choose_key_sections(found_topic, passages),
        passages=passages,
        themes=find_themes(found_topic),
        standouts=find_distinctive_labels(found_topic),
        related=related,
        names=find_linked_names(found_topic, locations),
        timeline=build_timeline(found_topic),
    )
