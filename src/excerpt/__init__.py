"""excerpt finds the few passages in a Markdown vault that answer a question and packs them for an LLM prompt.

    import excerpt

    with excerpt.open("~/notes") as vault:
        print(vault.pack("how do sync conflicts end?", budget=1000).text)

`import excerpt` loads no other module of the package: each public name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from excerpt.api import Gold, Memories, Vault, fuse_results, open  # noqa: A004 - read as `excerpt.open`
    from excerpt.check.source_state import SourceComparison, SourceState
    from excerpt.check.verdicts import (
        AnswerCheck,
        CheckedCitation,
        CheckedQuotation,
        CheckedSentence,
        SourceLines,
        Verdict,
    )
    from excerpt.errors import (
        ExcerptError,
        GoldUnusableError,
        IndexBusyError,
        IndexUnusableError,
        MemoryUnusableError,
        ModelError,
        NotFoundError,
        SavedQueriesError,
        SettingsError,
        StoreUnusableError,
        VaultEmptiedError,
        VaultError,
    )
    from excerpt.gold.questions import GoldQuestion, GoldSet, GoldTarget, UnreadableLine
    from excerpt.gold.run import GoldChange, GoldComparison, GoldRank, GoldReport, GoldRun
    from excerpt.insight.facet_map import Branch, VaultMap
    from excerpt.insight.notes import NoteLines, Peek
    from excerpt.insight.overview_parts import Overview
    from excerpt.insight.related import MatchedFragment, RelatedNote, RelatedNotes
    from excerpt.insight.suggest import Completion, Completions
    from excerpt.kinds import Confidence, Fill, Format, Scope, StopReason, Strategy
    from excerpt.memory.recall import RecalledMemory, SavedMemory, SimilarMemory
    from excerpt.memory.stale import SourceCheck, SourceStatus
    from excerpt.memory.store import LoadedMemories
    from excerpt.model import (
        BuildReport,
        Fragment,
        Hit,
        Memory,
        Pack,
        PackResult,
        Progress,
        Result,
        Signal,
        Source,
        Span,
        Status,
        VaultHit,
    )
    from excerpt.pack.formats.pack_format import PackSource, UnreadablePackError
    from excerpt.search.explain import Explanation, WordContribution
    from excerpt.search.explain_note import NoteExplanation, StrategyRank
    from excerpt.search.news import QueryNews
    from excerpt.settings import (
        EmbeddingSettings,
        MemorySettings,
        PackSettings,
        ScreenSettings,
        SearchSettings,
        Settings,
        VaultSettings,
    )

__version__ = "0.1.0"

_NAMES_BY_MODULE = {
    "api": "Gold Memories Vault fuse_results open",
    "check.source_state": "SourceComparison SourceState",
    "check.verdicts": "AnswerCheck CheckedCitation CheckedQuotation CheckedSentence SourceLines Verdict",
    "errors": "ExcerptError GoldUnusableError IndexBusyError IndexUnusableError MemoryUnusableError ModelError "
    "NotFoundError SavedQueriesError SettingsError StoreUnusableError VaultEmptiedError VaultError",
    "gold.questions": "GoldQuestion GoldSet GoldTarget UnreadableLine",
    "gold.run": "GoldChange GoldComparison GoldRank GoldReport GoldRun",
    "insight.facet_map": "Branch VaultMap",
    "insight.notes": "NoteLines Peek",
    "insight.overview_parts": "Overview",
    "insight.related": "MatchedFragment RelatedNote RelatedNotes",
    "insight.suggest": "Completion Completions",
    "kinds": "Confidence Fill Format Scope StopReason Strategy",
    "memory.recall": "RecalledMemory SavedMemory SimilarMemory",
    "memory.stale": "SourceCheck SourceStatus",
    "memory.store": "LoadedMemories",
    "model": "BuildReport Fragment Hit Memory Pack PackResult Progress Result Signal Source Span Status VaultHit",
    "pack.formats.pack_format": "PackSource UnreadablePackError",
    "search.explain": "Explanation WordContribution",
    "search.explain_note": "NoteExplanation StrategyRank",
    "search.news": "QueryNews",
    "settings": "EmbeddingSettings MemorySettings PackSettings ScreenSettings SearchSettings Settings VaultSettings",
}
"""The public names by the module that defines them, separated by spaces; the same as the imports above."""
_MODULE_BY_NAME = {name: home for home, names in _NAMES_BY_MODULE.items() for name in names.split()}

__all__ = [
    "AnswerCheck",
    "Branch",
    "BuildReport",
    "CheckedCitation",
    "CheckedQuotation",
    "CheckedSentence",
    "Completion",
    "Completions",
    "Confidence",
    "EmbeddingSettings",
    "ExcerptError",
    "Explanation",
    "Fill",
    "Format",
    "Fragment",
    "Gold",
    "GoldChange",
    "GoldComparison",
    "GoldQuestion",
    "GoldRank",
    "GoldReport",
    "GoldRun",
    "GoldSet",
    "GoldTarget",
    "GoldUnusableError",
    "Hit",
    "IndexBusyError",
    "IndexUnusableError",
    "LoadedMemories",
    "MatchedFragment",
    "Memories",
    "Memory",
    "MemorySettings",
    "MemoryUnusableError",
    "ModelError",
    "NotFoundError",
    "NoteExplanation",
    "NoteLines",
    "Overview",
    "Pack",
    "PackResult",
    "PackSettings",
    "PackSource",
    "Peek",
    "Progress",
    "QueryNews",
    "RecalledMemory",
    "RelatedNote",
    "RelatedNotes",
    "Result",
    "SavedMemory",
    "SavedQueriesError",
    "Scope",
    "ScreenSettings",
    "SearchSettings",
    "Settings",
    "SettingsError",
    "Signal",
    "SimilarMemory",
    "Source",
    "SourceCheck",
    "SourceComparison",
    "SourceLines",
    "SourceState",
    "SourceStatus",
    "Span",
    "Status",
    "StopReason",
    "StoreUnusableError",
    "Strategy",
    "StrategyRank",
    "UnreadableLine",
    "UnreadablePackError",
    "Vault",
    "VaultEmptiedError",
    "VaultError",
    "VaultHit",
    "VaultMap",
    "VaultSettings",
    "Verdict",
    "WordContribution",
    "fuse_results",
    "open",
]


def __getattr__(name: str) -> Any:
    home = _MODULE_BY_NAME.get(name)
    if home is None:
        raise AttributeError(f"module 'excerpt' has no attribute {name!r}")
    return getattr(import_module(f"excerpt.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
