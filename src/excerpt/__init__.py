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
    from excerpt.api import Gold, Memories, Vault, VaultUnion, Where, fuse_packs, fuse_results, open  # noqa: A004 - read as `excerpt.open`
    from excerpt.check.answer import Citation, Quotation, QuoteKind, Sentence, UnpairedQuotationMark
    from excerpt.check.places import MissingPlace
    from excerpt.check.quotations import QuotationDifference
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
        InputError,
        MemoryUnusableError,
        ModelError,
        ModelUnreachableError,
        NotFoundError,
        SavedQueriesError,
        SettingsError,
        StoreUnusableError,
        VaultEmptiedError,
        VaultError,
    )
    from excerpt.gold.questions import GoldQuestion, GoldSet, GoldTarget, UnreadableLine
    from excerpt.gold.run import GoldChange, GoldComparison, GoldRank, GoldReport, GoldRun
    from excerpt.insight.notes import NoteLines, OutlineEntry, Peek
    from excerpt.insight.overview_parts import (
        DistinctiveLabel,
        KeyPassage,
        KeySection,
        LabelKind,
        LinkedName,
        LinkedNote,
        MainNote,
        Month,
        Overview,
        SourceLocation,
        Theme,
        Timeline,
    )
    from excerpt.insight.results import (
        Branch,
        CommonLink,
        Completion,
        Completions,
        LinkDirection,
        MatchedFragment,
        Mention,
        PassageMatch,
        RelatedNote,
        RelatedNotes,
        SharedWord,
        SimilarNote,
        VaultMap,
    )
    from excerpt.kinds import Confidence, Dialect, Fill, Format, LinkForm, Scope, StopReason, Strategy
    from excerpt.known_vaults import VaultFolders
    from excerpt.memory.results import DiffRow, RecalledMemory, SavedMemory, SimilarMemory, SourceCheck, SourceStatus
    from excerpt.memory.store import CopiedMemory, LoadedMemories
    from excerpt.model import (
        BuildReport,
        EntryHit,
        FileProblem,
        Fragment,
        Hit,
        HitRerank,
        Memory,
        NoteInfo,
        OmittedHit,
        Pack,
        PackResult,
        PastUse,
        Progress,
        QueryHint,
        QueryPeriod,
        Result,
        Signal,
        Source,
        Span,
        Status,
        TableHeader,
        UnreadFiles,
        VaultHit,
    )
    from excerpt.pack.formats.pack_format import PackFile, PackSource, UnreadablePackError
    from excerpt.pack.formats.template_format import TemplateStoppedError
    from excerpt.search.results import (
        Explanation,
        FieldCount,
        QueryNews,
        SignalGap,
        TermLikeness,
        TermVariant,
        WordContribution,
    )
    from excerpt.search.verdict import Absence, AbsenceKind, NoteExplanation, StrategyRank
    from excerpt.settings import (
        AttachmentSettings,
        BoostSettings,
        EmbeddingSettings,
        Fusion,
        MemorySettings,
        Ocr,
        PackSettings,
        RerankSettings,
        ScreenSettings,
        SearchSettings,
        Settings,
        VaultSettings,
    )

__version__ = "0.1.0"

_NAMES_BY_MODULE = {
    "api": "Gold Memories Vault VaultUnion Where fuse_packs fuse_results open",
    "check.answer": "Citation Quotation QuoteKind Sentence UnpairedQuotationMark",
    "check.places": "MissingPlace",
    "check.quotations": "QuotationDifference",
    "check.source_state": "SourceComparison SourceState",
    "check.verdicts": "AnswerCheck CheckedCitation CheckedQuotation CheckedSentence SourceLines Verdict",
    "errors": "ExcerptError GoldUnusableError IndexBusyError IndexUnusableError InputError MemoryUnusableError "
    "ModelError ModelUnreachableError NotFoundError SavedQueriesError SettingsError StoreUnusableError "
    "VaultEmptiedError VaultError",
    "gold.questions": "GoldQuestion GoldSet GoldTarget UnreadableLine",
    "gold.run": "GoldChange GoldComparison GoldRank GoldReport GoldRun",
    "insight.notes": "NoteLines OutlineEntry Peek",
    "insight.overview_parts": "DistinctiveLabel KeyPassage KeySection LabelKind LinkedName LinkedNote MainNote Month "
    "Overview SourceLocation Theme Timeline",
    "insight.results": "Branch CommonLink Completion Completions LinkDirection MatchedFragment Mention PassageMatch "
    "RelatedNote RelatedNotes SharedWord SimilarNote VaultMap",
    "kinds": "Confidence Dialect Fill Format LinkForm Scope StopReason Strategy",
    "known_vaults": "VaultFolders",
    "memory.results": "DiffRow RecalledMemory SavedMemory SimilarMemory SourceCheck SourceStatus",
    "memory.store": "CopiedMemory LoadedMemories",
    "model": "BuildReport EntryHit FileProblem Fragment Hit HitRerank Memory NoteInfo OmittedHit Pack PackResult "
    "PastUse Progress QueryHint QueryPeriod Result Signal Source Span Status TableHeader UnreadFiles VaultHit",
    "pack.formats.pack_format": "PackFile PackSource UnreadablePackError",
    "pack.formats.template_format": "TemplateStoppedError",
    "search.results": "Explanation FieldCount QueryNews SignalGap TermLikeness TermVariant WordContribution",
    "search.verdict": "Absence AbsenceKind NoteExplanation StrategyRank",
    "settings": "AttachmentSettings BoostSettings EmbeddingSettings Fusion MemorySettings Ocr PackSettings "
    "RerankSettings ScreenSettings SearchSettings Settings VaultSettings",
}
"""The public names by the module that defines them, separated by spaces; the same as the imports above."""
_MODULE_BY_NAME = {name: home for home, names in _NAMES_BY_MODULE.items() for name in names.split()}

__all__ = [
    "Absence",
    "AbsenceKind",
    "AnswerCheck",
    "AttachmentSettings",
    "BoostSettings",
    "Branch",
    "BuildReport",
    "CheckedCitation",
    "CheckedQuotation",
    "CheckedSentence",
    "Citation",
    "CommonLink",
    "Completion",
    "Completions",
    "Confidence",
    "CopiedMemory",
    "Dialect",
    "DiffRow",
    "DistinctiveLabel",
    "EmbeddingSettings",
    "EntryHit",
    "ExcerptError",
    "Explanation",
    "FieldCount",
    "FileProblem",
    "Fill",
    "Format",
    "Fragment",
    "Fusion",
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
    "HitRerank",
    "IndexBusyError",
    "IndexUnusableError",
    "InputError",
    "KeyPassage",
    "KeySection",
    "LabelKind",
    "LinkDirection",
    "LinkForm",
    "LinkedName",
    "LinkedNote",
    "LoadedMemories",
    "MainNote",
    "MatchedFragment",
    "Memories",
    "Memory",
    "MemorySettings",
    "MemoryUnusableError",
    "Mention",
    "MissingPlace",
    "ModelError",
    "ModelUnreachableError",
    "Month",
    "NotFoundError",
    "NoteExplanation",
    "NoteInfo",
    "NoteLines",
    "Ocr",
    "OmittedHit",
    "OutlineEntry",
    "Overview",
    "Pack",
    "PackFile",
    "PackResult",
    "PackSettings",
    "PackSource",
    "PassageMatch",
    "PastUse",
    "Peek",
    "Progress",
    "QueryHint",
    "QueryNews",
    "QueryPeriod",
    "Quotation",
    "QuotationDifference",
    "QuoteKind",
    "RecalledMemory",
    "RelatedNote",
    "RelatedNotes",
    "RerankSettings",
    "Result",
    "SavedMemory",
    "SavedQueriesError",
    "Scope",
    "ScreenSettings",
    "SearchSettings",
    "Sentence",
    "Settings",
    "SettingsError",
    "SharedWord",
    "Signal",
    "SignalGap",
    "SimilarMemory",
    "SimilarNote",
    "Source",
    "SourceCheck",
    "SourceComparison",
    "SourceLines",
    "SourceLocation",
    "SourceState",
    "SourceStatus",
    "Span",
    "Status",
    "StopReason",
    "StoreUnusableError",
    "Strategy",
    "StrategyRank",
    "TableHeader",
    "TemplateStoppedError",
    "TermLikeness",
    "TermVariant",
    "Theme",
    "Timeline",
    "UnpairedQuotationMark",
    "UnreadFiles",
    "UnreadableLine",
    "UnreadablePackError",
    "Vault",
    "VaultEmptiedError",
    "VaultError",
    "VaultFolders",
    "VaultHit",
    "VaultMap",
    "VaultSettings",
    "VaultUnion",
    "Verdict",
    "Where",
    "WordContribution",
    "fuse_packs",
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
