"""The text of a check of an answer: a line for each quotation and citation.

Sentences whose words are not found come first, then what does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import excerpt
from excerpt.servers.mcp.answers import ToolAnswer, fit_answer, source_reference
from excerpt.servers.served_vaults import ServedSnapshot
from excerpt.text.columns import truncate
from excerpt.text.display import format_count, format_percent, visible_line

_QUOTED_COLUMNS = 100  # of a quotation, or of the text of a note beside it
_MAX_MISSING_WORDS = 8


def answer_check(snapshot: ServedSnapshot, text: str, sources: Sequence[str], limit: int) -> str:
    """Return the check of an answer's text, in at most `limit` tokens; the answer cites `sources` as [1], [2] …."""
    check, missing = snapshot.vault.check_places(text, sources, prefix=f"{snapshot.name}/")
    places = {
        each.number: source_reference(each.path, each.line_start, each.line_end, each.place)
        for each in check.pack.sources
    }
    wrong = [
        *(_format_line(each.line, "unknown", each.text, each.reason) for each in missing),
        *_format_unknown_numbers(check, len(sources)),
        *(_format_quotation(each, places) for each in check.quotations if not each.holds),
    ]
    right = [_format_quotation(each, places) for each in check.quotations if each.holds]
    not_found = [_format_sentence(each, places) for each in check.not_found]
    doubtful = [*(_format_sentence(each, places) for each in check.sentences if each.missing and each.holds)]
    doubtful += [_format_line(each.line, "unchecked", _quote_text(each.text), each.reason) for each in check.unchecked]
    verdicts = Counter(each.verdict.value for each in check.quotations)
    listed = ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
    quotations = format_count(len(check.quotations), "quotation")
    parts = (*not_found, *wrong, *doubtful, *right)
    answer = ToolAnswer(
        facts=(
            *([check.describe_not_found()] if not_found else []),
            *([format_count(len(wrong), "problem")] if wrong else []),
            *([] if wrong or not_found else ["quotations and citations hold"]),
            f"{quotations} ({listed})" if listed else quotations,
            format_count(check.cited.total(), "citation"),
            f"{format_count(len(check.uncited), 'sentence')} without either",
        ),
        parts=parts,
        vault=snapshot.name,
        freshness=snapshot.freshness,
        more="check a part of the answer",
        hint="Correct these sentences, then call `check` again."
        if wrong or not_found
        else "Judge yourself whether each sentence follows from its source.",
    )
    return fit_answer(answer, limit)


def _format_line(line: int, verdict: str, *details: str) -> str:
    where = f"line {line:,}" if line else "sources"
    return " · ".join(
        (where, verdict, *(truncate(visible_line(each), 2 * _QUOTED_COLUMNS) for each in details if each))
    )


def _quote_text(text: str) -> str:
    return f'"{truncate(visible_line(" ".join(text.split())), _QUOTED_COLUMNS)}"'


def _format_unknown_numbers(check: excerpt.AnswerCheck, given: int) -> Iterator[str]:
    for each in check.citations:
        if each.comparison is None:
            known = f"`sources` has {given:,}" if given else "pass the places of the pack as `sources`"
            if each.number <= given:
                known = "its source is not in the vault"
            yield _format_line(each.citation.line, "unknown", f"[{each.number}]", known)


def _format_quotation(checked: excerpt.CheckedQuotation, places: dict[int, str]) -> str:
    line, verdict, lines = checked.quotation.line, checked.verdict, checked.place
    quoted = _quote_text(checked.quotation.text)
    cited = ", ".join(places[number] for number in checked.quotation.cited if number in places)
    if lines is None:
        detail = {
            excerpt.Verdict.SHORT: "too short to tell",
            excerpt.Verdict.TRUE: "in the question",
        }.get(verdict, "nothing similar in the vault")
        return _format_line(line, verdict, quoted, detail)
    place = source_reference(lines.path, lines.line_start, lines.line_end, lines.place)
    if verdict is excerpt.Verdict.MISATTRIBUTED:
        return _format_line(line, verdict, quoted, f"in {place}, not in {cited}")
    if verdict is excerpt.Verdict.ALTERED:
        reason = f"leaves out {', '.join(checked.turned_by)}; " if checked.turned_by else ""
        return _format_line(line, verdict, quoted, f"{reason}{place} has {_quote_text(lines.passage)}")
    if verdict is excerpt.Verdict.INVENTED:
        share = format_percent(checked.similarity)
        return _format_line(line, verdict, quoted, f"most similar ({share}): {place} {_quote_text(lines.passage)}")
    differences = ", ".join(each.value for each in checked.differences)
    return _format_line(line, verdict, quoted, place, f"differs in {differences}" if differences else "")


def _format_sentence(checked: excerpt.CheckedSentence, places: dict[int, str]) -> str:
    cited = ", ".join(places[number] for number in checked.cited)
    missing = ", ".join(checked.missing[:_MAX_MISSING_WORDS])
    words = f"{checked.found:,} of {format_count(len(checked.words), 'word')} found"
    verdict = words if checked.holds else f"not found · {words}"
    return _format_line(
        checked.sentence.line, verdict, _quote_text(checked.sentence.text), f"not in {cited}: {missing}"
    )
