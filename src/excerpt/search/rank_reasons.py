"""The verdict on a note in an answer: its ranks, or why it is not listed, and one sentence on why it has its rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from excerpt.base.json_forms import attributes_to_json
from excerpt.base.kinds import Strategy
from excerpt.base.model import Hit, PastUse
from excerpt.search.results import Explanation, SignalGap, WordContribution
from excerpt.text.columns import truncate

MIN_TERM_WEIGHT = 0.5
"""The weight (`WordContribution.term_weight`, 0 to 1) from which a word is named: "how" has .35, "undo" .94."""
_MIN_DIFFERENCE = 0.0005
"""A difference in score below which two scores count as equal."""
MAX_QUESTION_CELLS = 40
"""Maximum width of an earlier question in the row of a hit."""
_MAX_NAMED_QUERIES = 3
"""Maximum number of past queries that are named."""
_MAX_NAMED_WORDS = 3
"""Maximum number of present, or missing, words that are named; of more words, the number is given."""
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_FIELD_NAMES = {"its title": ("title", "alias"), "its heading": ("heading",), "the headings above it": ("above",)}

_GAP_REASONS: Mapping[str, str] = {
    "words": "{who} {has} your words more often",
    "coverage": "{who} {has} more of your words",
    "title": "{who} {has} a title nearer to your words",
    "anchor": "the texts of links to {who} are nearer to your words",
    "heading": "{who} {has} a heading nearer to your words",
    "outline": "{who} {has} headings above {it} nearer to your words",
    "note": "{who} {has} more of your words in the rest of {its} note",
    "intro_words": "the note of {who} has more of your words at its start",
    "proximity": "{who} {has} your words closer together",
    "meaning": "{who} {is_} nearer in meaning",
    "intro_meaning": "the note of {who} is nearer in meaning at its start",
    "attachment": "{who} is a note, or an attachment with a higher weight",
    "accents": "{who} {has} your words with the accents that you typed",
    "coherence": "the text next to {who} is nearer in meaning",
    "links": "more of the matching notes link to {who}",
    "recency": "{who} {was} changed later",
    "time": "{who} {is_} dated nearer to the time that you named",
    "listed": "{who} {was} changed later",
    "reopened": "you opened, marked or copied {who} for similar words",
    "name": "{who} {has} the name that you typed",
    "rerank": "the reranker prefers {who}",
    "place": "meaning, a link or a note that it replaces puts {who} higher",
}
"""The reason to give for each signal in which the hits above are ahead.

The placeholders stand for these hits.
"""
_FIRST_HIT = {"who": "the first hit", "has": "has", "is_": "is", "was": "was", "it": "it", "its": "its"}
_HITS_ABOVE = {"who": "the hits above", "has": "have", "is_": "are", "was": "were", "it": "them", "its": "their"}


@dataclass(frozen=True, slots=True)
class StrategyRank:
    """The rank of a note under one strategy: the rank of its best fragment, which begins at `line`.

    `ranked_by` is the strategy that ranked the hits: it differs from `strategy` under `auto`, or if `strategy` finds
    nothing. `rank` counts from 1. `rank`, `score` and `line` are None if no fragment of the note is listed.
    """

    strategy: str
    ranked_by: str
    rank: int | None = None
    score: float | None = None
    line: int | None = None


class AbsenceKind(StrEnum):
    """Why a note is not listed.

    UNKNOWN: the index has no such note. SKIPPED: its file could not be indexed. EMPTY: it has no text. EXCLUDED: a
    filter or exclusion of the query excludes it. UNMATCHED: no passage matches the query.
    """

    UNKNOWN = "unknown"
    SKIPPED = "skipped"
    EMPTY = "empty"
    EXCLUDED = "excluded"
    UNMATCHED = "unmatched"


@dataclass(frozen=True, slots=True)
class Absence:
    """The reason why a note is not listed.

    `reason` is a sentence, which may contain text from the vault. If no note has the given name, `near` has the paths
    of up to three notes with similar names, most similar first.
    """

    kind: AbsenceKind
    reason: str
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteExplanation:
    """The explanation why a note has its rank under the requested strategy, or is not listed.

    `note` is the name that was given, `path` the path of the note found. `explanation` explains the best fragment of
    the note. `signal_gaps` are its differences from the first `compared` hits above, largest first; their costs add up
    to the difference in score. `from_limit` is the least limit with which a search lists the note.
    """

    query: str
    requested_strategy: Strategy
    note: str
    path: str | None = None
    absence: Absence | None = None
    ranks: tuple[StrategyRank, ...] = ()
    explanation: Explanation | None = None
    signal_gaps: tuple[SignalGap, ...] = ()
    compared: int = 0
    from_limit: int | None = None

    @property
    def reason(self) -> str:
        """A sentence that says why the note has its rank or is not listed; empty if neither is known."""
        return self.describe()

    def describe(self, note_rank: int = 0) -> str:
        """Return the sentence `reason`, with the rank of the note in a list of one row a note; 0 for no such list."""
        if self.explanation is None:
            return self.absence.reason if self.absence is not None else ""
        return describe_rank(self.explanation, self.signal_gaps, self.compared, note_rank)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, which `excerpt search --why --json` prints."""
        explanation = self.explanation
        return {
            "query": self.query,
            "strategy": self.requested_strategy,
            **attributes_to_json(self, "note", "path", "absence", "from_limit", "ranks", "compared", "signal_gaps"),
            "missing": [] if explanation is None else [word.word for word in explanation.missing_words],
            "hit": None if explanation is None else {**explanation.hit.to_dict(), "explanation": explanation.to_dict()},
        }


def format_ordinal(number: int) -> str:
    """Return a number as an ordinal: `1st`, `12th`, `1,023rd`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def format_rank(rank: int, note_rank: int = 0) -> str:
    """Return the rank of a hit, such as `7th`, with the rank of its note if that is known and differs."""
    if note_rank in (0, rank):
        return format_ordinal(rank)
    return f"{format_ordinal(rank)} hit, in the {format_ordinal(note_rank)} note"


def describe_rank(explanation: Explanation, gaps: Sequence[SignalGap], compared: int, note_rank: int = 0) -> str:
    """Return a sentence on why a fragment has its rank: its query words, and why other hits are above.

    `gaps` are the differences from the `compared` first hits above the fragment, largest first. `note_rank` is the rank
    of its note among those of the hits; 0 if not known.
    """
    is_answer, source = is_past_answer(explanation.hit), explanation.hit.linked_from
    clause = f"you once asked this as “{explanation.hit.asked_before}”" if is_answer else _describe_match(explanation)
    if source is not None:
        clause = f"{source.phrase} the first hit, “{source.title}”, and near what that leaves open; {clause}"
    statement = f"{format_rank(explanation.rank, note_rank)}: {clause}"
    orders = explanation.hit.orders
    is_raised = is_answer or source is not None or (orders is not None and orders.is_raised)
    gap_reason = "" if is_raised else _describe_gap(explanation, gaps, compared)
    sentences = (
        f"{statement}; {gap_reason}." if gap_reason else f"{statement}.",
        _describe_orders(explanation.hit),
        f"R{explanation.rerank_note[1:]}." if explanation.rerank_note else "",
        describe_past_uses(explanation.hit),
        _describe_replaced(explanation.hit),
    )
    return " ".join(filter(None, sentences))


def _describe_replaced(hit: Hit) -> str:
    """Return a sentence on what replaces the note of a hit, with the words that say so; "" if nothing does."""
    return f"Its note is {hit.replaced.mark}: “{hit.replaced.words}”." if hit.replaced is not None else ""


def describe_past_uses(hit: Hit) -> str:
    """Return a sentence on what the user did with the hit for similar words, with queries and days; "" if not used.

    The last query comes first; at most _MAX_NAMED_QUERIES are named.
    """
    groups: dict[tuple[str, str], list[PastUse]] = {}
    for use in hit.past_uses:
        groups.setdefault((use.kind, use.query), []).append(use)
    clauses: list[str] = []
    for (kind, query), uses in list(groups.items())[:_MAX_NAMED_QUERIES]:
        days = list(dict.fromkeys(datetime.fromtimestamp(use.time).date().isoformat() for use in uses))
        named = " and ".join([", ".join(days[:-1]), days[-1]] if len(days) > 1 else days)
        clauses.append(f"{kind} it for “{query}” on {named}")
    return f"You {', '.join(clauses)}." if clauses else ""


def count_past_uses(hit: Hit) -> str:
    """Return a phrase on how often the user used the hit for similar words: "opened for this twice"; "" for never.

    For a passage that answered a similar question, the phrase names that question.
    """
    if not hit.past_uses:
        return ""
    if is_past_answer(hit):
        return f"you once asked this as “{truncate(hit.asked_before, MAX_QUESTION_CELLS)}”"
    kinds = {use.kind for use in hit.past_uses}
    count = len(hit.past_uses)
    times = {1: "once", 2: "twice"}.get(count, f"{count} times")
    return f"{kinds.pop() if len(kinds) == 1 else 'used'} for this {times}"


def is_past_answer(hit: Hit) -> bool:
    """Return whether a hit is listed because it answered a similar question, and not raised for similar words."""
    return bool(hit.past_uses) and not any(signal.name == "reopened" and signal.part for signal in hit.signals)


def _describe_orders(hit: Hit) -> str:
    """Return a sentence on the ranks of a hit by score and by meaning; "" unless the list has both orders."""
    if (orders := hit.orders) is None:
        return ""
    by_meaning = f"{format_ordinal(orders.meaning)} by meaning alone" if orders.meaning else "not near in meaning"
    return f"The passage is {format_ordinal(orders.words)} by words and meaning together, and {by_meaning}."


def _describe_match(explanation: Explanation) -> str:
    """Return a clause on what gives the fragment its rank: its rank by meaning if that raised it, and its words."""
    if (orders := explanation.hit.orders) is None or not orders.is_raised:
        return _describe_words(explanation)
    number = "" if orders.meaning == 1 else f"{format_ordinal(orders.meaning)} "
    lacks_words = any(word.is_missing for word in _select_important_words(explanation.words))
    words = "your words are not found together" if lacks_words else _describe_words(explanation)
    return f"{number}nearest in meaning; {words}"


def _describe_words(explanation: Explanation) -> str:
    """Return a clause on which words of the query the fragment has and lacks."""
    parts = {signal.name: signal.part for signal in explanation.hit.signals}
    if parts.get("name"):
        return "its note has exactly the name that you typed"
    words = _select_important_words(explanation.words)
    present = [word for word in words if not word.is_missing]
    missing = [word for word in words if word.is_missing]
    is_near = parts.get("meaning", 0) > 0
    if not words:
        return "it matches the filters, and the query has no words" if "listed" in parts else "it is near in meaning"
    if not present:
        lacks = f"{_list_words(missing, 'or')} is not in it" if len(missing) == 1 else "none of your words is in it"
        return f"{lacks}, but it is near in meaning" if is_near else lacks
    field_phrase = _describe_field(present, all_present=not missing)
    if not missing:
        count = "both" if len(present) == 2 else f"all {_spell_number(len(present))}"
        return f"it has {_list_words(present) if len(present) == 1 else f'{count} words'}{field_phrase}"
    if len(present) > _MAX_NAMED_WORDS or len(missing) > _MAX_NAMED_WORDS:
        has = f"{_spell_number(len(present))} of your {_spell_number(len(words))} words"
    else:
        has = _list_words(present)
    return f"it has {has}{field_phrase}, but not {_list_words(missing, 'or')}"


def _select_important_words(words: Sequence[WordContribution]) -> list[WordContribution]:
    """Return the words with a weight of at least MIN_TERM_WEIGHT; all words if no word has it.

    Of a compound such as `snake_case`, return only the compound if it is present, else only its parts.
    """
    weighty = [word for word in words if word.term_weight >= MIN_TERM_WEIGHT] or list(words)
    compounds = [word for word in weighty if not word.word.isalnum() or word.word[1:].lower() != word.word[1:]]
    present_compounds = [word.word for word in compounds if not word.is_missing]
    weighty = [
        word for word in weighty if not any(word.word in other and word.word != other for other in present_compounds)
    ]
    missing_compounds = [word for word in weighty if word.is_missing and word in compounds]
    return [
        word
        for word in weighty
        if word not in missing_compounds or not any(o.word in word.word for o in weighty if o is not word)
    ]


def _describe_field(words: Sequence[WordContribution], *, all_present: bool) -> str:
    """Return a phrase on how many of `words` are in the title or a heading, such as " in its title".

    Return "" if none is. `all_present` is whether `words` are all words of the query.
    """
    counts = {
        label: sum(any(entry.field in fields for entry in word.places) for word in words)
        for label, fields in _FIELD_NAMES.items()
    }
    label = max(counts, key=lambda name: counts[name])
    if not counts[label]:
        return ""
    if len(words) == 1:
        return f" in {label}"
    if counts[label] < len(words):
        return f", {_spell_number(counts[label])} of them in {label}"
    return f", all in {label}" if all_present and len(words) > 2 else f" in {label}"


def _list_words(words: Sequence[WordContribution], conjunction: str = "and") -> str:
    """Return the words in quotation marks, as a list with `conjunction` before the last word."""
    names = [f"“{word.word}”" for word in words]
    if len(names) > _MAX_NAMED_WORDS:
        more = _spell_number(len(names) - _MAX_NAMED_WORDS + 1)
        return f"{', '.join(names[: _MAX_NAMED_WORDS - 1])} {conjunction} {more} more"
    return f" {conjunction} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _spell_number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _describe_gap(explanation: Explanation, gaps: Sequence[SignalGap], compared: int) -> str:
    """Return a clause on the signal in which the hits above lead most; "" if no hit is above."""
    if not compared:
        return ""
    subject = _FIRST_HIT if compared == 1 else _HITS_ABOVE
    difference = sum(gap.cost for gap in gaps)
    is_held_back = any(signal.name == "place" and signal.part < 0 for signal in explanation.hit.signals)
    if is_held_back and explanation.hit.replaced is not None:
        return "what replaces its note is above"
    if is_held_back:
        return "other passages of its note are among the first hits"
    if abs(difference) < _MIN_DIFFERENCE:
        return f"{subject['who']} {subject['has']} the same score and an earlier path or line"
    if difference < 0:
        return "other passages of its note are among the first hits"
    signal = gaps[0].signal
    if signal == "words" and any(word.is_missing for word in _select_important_words(explanation.words)):
        signal = "coverage"
    return _GAP_REASONS.get(signal, "").format_map(subject)
