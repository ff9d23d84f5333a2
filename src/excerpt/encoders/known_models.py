"""What model cards say about well-known models, for servers, which tell nothing but the name of a model.

A folder says the same in its own files.
"""

from __future__ import annotations

import re

from excerpt.base.patterns import lazy_pattern
from excerpt.encoders.model_folder import ENGLISH, EVERY_LANGUAGE, Prompts

_ENGLISH_QUERY = "Represent this sentence for searching relevant passages: "
_PROMPTS = (
    (r"nomic-embed", Prompts("search_query: ", "search_document: ")),
    (r"e5-.*instruct|qwen3-embedding", Prompts("Instruct: Retrieve passages that answer the query\nQuery: ")),
    (r"(^|[/-])e5-", Prompts("query: ", "passage: ")),
    (r"arctic-embed2|arctic-embed-.*v2", Prompts("query: ")),
    (r"mxbai-embed-large|arctic-embed|bge-(small|base|large)-en|bge-(small|base|large)$", Prompts(_ENGLISH_QUERY)),
    (r"embedding-?gemma", Prompts("task: search result | query: ", "title: none | text: ")),
)
"""Patterns of names, the first that matches counts, and the prompts of the models' cards."""

_MULTILINGUAL = lazy_pattern(
    r"multilingual|bge-m3|qwen3-embedding|embedding-?gemma|arctic-embed2|arctic-embed-.*v2|nomic-embed-text-v2"
    r"|jina-embeddings-v[3-9]|text-embedding-3",
    re.IGNORECASE,
)


def prompts_of(model: str) -> Prompts:
    """Return the texts that a model of this name needs in front of queries and passages; empty for an unknown model."""
    return next((prompts for pattern, prompts in _PROMPTS if re.search(pattern, model, re.IGNORECASE)), Prompts())


def languages_of(model: str) -> tuple[str, ...]:
    """Return the languages of a model of this name: all languages for a multilingual model, else English."""
    return EVERY_LANGUAGE if _MULTILINGUAL.search(model) else ENGLISH
