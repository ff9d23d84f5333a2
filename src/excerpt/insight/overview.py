"""What a vault holds about a topic, seen without reading it: notes, sections, themes, dates and passages."""

from __future__ import annotations

from excerpt.insight.linked import linked_names, related_notes
from excerpt.insight.main_notes import key_sections, main_notes
from excerpt.insight.overview_parts import Overview
from excerpt.insight.passages import key_passages
from excerpt.insight.standout import standouts
from excerpt.insight.themes import GROUPED, themes
from excerpt.insight.timeline import timeline
from excerpt.insight.topic import Topic, find_topic
from excerpt.kinds import Confidence
from excerpt.search.engine import Engine
from excerpt.text.tokens import open_tokenizer

BUDGET = 800
"""Tokens of an overview as Markdown, unless another budget is asked for: one screen."""


def overview(engine: Engine, topic: str, budget: int = BUDGET) -> Overview:
    """What the engine's vault holds about `topic`, which is read as a query.

    `budget` bounds the Markdown of it (`excerpt.insight.render`), in tokens of the tokenizer that the index counts by.
    The same index, settings and topic give the same overview.
    """
    found = find_topic(engine, topic)
    # What themes, sections and passages look into, in one reading.
    found.fragments(found.best[:GROUPED].tolist())
    main = main_notes(found)
    related = related_notes(found, main)
    around = [note.place for note in main] + [note.place for note in related]
    snapshot = engine.snapshot
    passages = key_passages(found, open_tokenizer(snapshot.tokenizer).count)
    return Overview(
        topic=topic,
        budget=budget,
        tokenizer=snapshot.tokenizer,
        generation=snapshot.generation,
        confidence=_surest(found),
        matched=found.matched,
        fragments=len(found.rows),
        notes=len(found.note_order),
        vault_fragments=snapshot.lexical.doc_count,
        vault_notes=len(snapshot.table.paths),
        main_notes=main,
        sections=key_sections(found, passages),
        passages=passages,
        themes=themes(found),
        standouts=standouts(found),
        related=related,
        names=linked_names(found, around),
        timeline=timeline(found),
    )


def _surest(topic: Topic) -> Confidence | None:
    """That of the surest fragment; None where nothing but filters was asked."""
    sure = [one for one in topic.confidences if one is not None]
    if not sure:
        return None if len(topic.rows) else Confidence.NOTHING
    return min(sure, key=list(Confidence).index)
