"""Recognition of what a note says about replacement: that another note replaces it, or that it replaces another.

Only words that people write for this purpose count: properties (`superseded_by`), the headers of RFCs, PEPs and ADRs,
and a first line that names the other note with a link. A note that merely has the word "deprecated" says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from excerpt.base.model import Note
from excerpt.base.patterns import lazy_pattern
from excerpt.text.dates import parse_date
from excerpt.text.folding import fold
from excerpt.text.links import parse_links_and_tags

MAX_WORDS = 160
"""Maximum number of characters of the words that are kept of a statement."""
_MAX_OPENING_LINES = 30
_OPENING_BLOCKS = 3
_MAX_TARGET = 120


class Replacement(Struct, frozen=True):
    """A statement in a note: `target` replaces the note, or, if `is_newer`, the note replaces `target`.

    `target` is the target of a link, a name or a number such as "RFC 2616"; "" if the note only says that it is out of
    date. `words` are the words that say so. `day` is the day that they name, ISO 8601, "" if none.
    """

    target: str
    words: str
    day: str = ""
    is_newer: bool = False


# --- properties -------------------------------------------------------------------------------------------------------

_OLDER_KEYS = frozenset(("supersededby", "supercededby", "replacedby", "obsoletedby", "deprecatedby"))
_NEWER_KEYS = frozenset(("supersedes", "supercedes", "replaces", "obsoletes"))
_DAY_KEYS = frozenset(
    f"{word}{end}"
    for word in ("superseded", "superceded", "replaced", "obsoleted", "deprecated", "archived", "retracted", "resolved")
    for end in ("", "on", "at", "date")
)
_NO_TARGETS = frozenset(("", "-", "–", "—", "none", "no", "null", "nil", "n/a", "na", "false", "tbd", "?"))


def find_replacements(note: Note) -> tuple[Replacement, ...]:
    """Return what a note says about replacement, in the order of properties, headers and first lines."""
    found = [*_read_properties(note.properties), *_read_opening(note)]
    return tuple({(one.target, one.is_newer): one for one in reversed(found)}.values())[::-1]


def _read_properties(properties: Mapping[str, Sequence[str]]) -> Iterator[Replacement]:
    keys = {name: re.sub(r"[-_ ]", "", fold(name)) for name in properties}
    days = [day for name, key in keys.items() if key in _DAY_KEYS for value in properties[name] if (day := _day(value))]
    day = days[0] if days else ""
    for name, key in keys.items():
        for value in properties[name]:
            if key in _OLDER_KEYS or key in _NEWER_KEYS:
                words = _shorten(f"{name}: {value}")
                for target in _find_targets(value):
                    is_newer = key in _NEWER_KEYS
                    yield Replacement(target, words, "" if is_newer else day, is_newer)
            elif key == "status":
                # A resolved question is out of date only if the note says since when: an issue is not.
                if fold(value).strip() == "resolved" and day:
                    yield Replacement("", _shorten(f"{name}: {value}"), day)
                yield from _read_status(value, f"{name}: {value}", day)


def _day(text: str) -> str:
    day = parse_date(text)
    return day.isoformat() if day else ""


# --- links and names --------------------------------------------------------------------------------------------------

_LINK = lazy_pattern(r"!?\[\[[^\[\]\n]+\]\]|!?\[[^\[\]\n]*\]\((?:<[^<>\n]+>|[^()\s]+)(?:\s\"[^\"\n]*\")?\)")
_SERIES = lazy_pattern(r"(?:[A-Za-z]{2,8}[ -]?)?\d{1,6}")
_DAY = lazy_pattern(r"\b\d{4}-\d\d-\d\d\b")


def _find_targets(text: str) -> Iterator[str]:
    """Yield the targets in the value of a header or property: of its links, else its numbers, else the whole value."""
    text = re.split(r"\s{3,}|\t", text.strip(), maxsplit=1)[0].strip("\"'")
    if "{{" in text or "<%" in text:  # a template
        return
    if links := [target for link in _LINK.findall(text) if (target := _target_of(link))]:
        yield from links
        return
    parts = [part.strip() for part in re.split(r"[,;&]|\band\b", text)]
    if all(_SERIES.fullmatch(part) for part in parts):
        yield from parts
        return
    text = text.rstrip(".")
    if fold(text) not in _NO_TARGETS and len(text) <= _MAX_TARGET:
        yield text


def _target_of(link: str) -> str:
    found = parse_links_and_tags(link, 1, {}).links
    return found[0].target if found else ""


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_WORDS else f"{words[: MAX_WORDS - 1]}…"


# --- words ------------------------------------------------------------------------------------------------------------
# In the nine languages of `periods`, and in Chinese. {} is the link.

_REPLACED_BY = (
    r"(?:replaced|super[sc]eded|obsoleted|deprecated) (?:by|in favou?r of)",
    r"(?:ersetzt|abgelöst|überholt) (?:durch|von)",
    r"remplacée? par",
    r"(?:reemplazad|sustituid)[oa] por",
    r"sostituit[oa] da(?:l|lla|llo)?",
    r"substituíd[oa] (?:por|pel[oa])",
    r"vervangen door",
    r"ersatt (?:av|med)",
    r"erstattet (?:af|med)",
)
_OUTDATED = (
    (
        r"outdated|out of date|obsolete|deprecated|super[sc]eded|no longer (?:current|valid|maintained|up to date)",
        r"(?:please )?(?:see|use|read|refer to|go to|prefer)",
    ),
    (r"veraltet|überholt|obsolet|nicht mehr (?:aktuell|gültig)", r"(?:bitte )?(?:siehe|nutze|verwende|lies)"),
    (r"obsolète|périmée?|dépassée?", r"(?:voir|voyez|utilisez|consultez|lire)"),
    (r"obsolet[oa]|desactualizad[oa]|anticuad[oa]", r"(?:ver|véase|vea|usar|use|consulte)"),
    (r"obsolet[oa]|superat[oa]|non più (?:valid|aggiornat)[oa]", r"(?:vedi|vedere|usa|usare)"),
    (r"obsolet[oa]|desatualizad[oa]|ultrapassad[oa]", r"(?:ver|veja|use|consulte)"),
    (r"verouderd|achterhaald", r"(?:zie|gebruik)"),
    (r"föråldrad|inaktuell|utdaterad", r"(?:se|använd)"),
    (r"forældet|udgået", r"(?:se|brug)"),
    (r"已?(?:过时|過時|废弃|廢棄|作废)", r"请?請?(?:参见|參見|参阅|看|见|使用)"),
)
_REPLACES = (
    *("super[sc]edes", "replaces", "obsoletes", "ersetzt", "remplace", "(?:reemplaza|sustituye)(?: a)?", "sostituisce"),
    *("substitui", "vervangt", "ersätter", "erstatter", "取代", "替代"),
)
_THINGS = (
    r"note|page|document|article|decision|adr|proposal|spec|specification|version|file|record|entry|memo|policy|guide|"
    r"notiz|seite|dokument|entscheidung|fassung|datei|version|nota|página|pagina|documento|decisión|decisão|decisione|"
    r"document|page|décision|notitie|beslissing|anteckning|sida|dokument|beslut|side|beslutning"
)
_THIS = (
    r"(?:this|dies(?:e|er|es)?|cett?e|ce|est[ea]|quest[oa]|deze|dit|denna|detta|den här|denne|dette|此|本)"
    rf"(?: ?(?:{_THINGS}|笔记|文档|文))?"
)
_IS = (
    r"(?:is now|has been|has now been|is|was|wurde|ist|wird|a été|est|ha sido|está|es|è stat[oa]|è|foi|é|werd|is|är|er)"
)
_FILL = r"[\s,.;:!–—，。：；-]*"
_LINK_MARK = r"(?:the |die |den |das |le |la |el |il |o |a )?\x00(?P<link>\d+)\x00"
_LABEL = (
    r"(?:(?:note|warning|caution|important|update|hinweis|achtung|attention|nota|aviso|avviso|let op|obs)\b[:!. -]+)?"
)
_SUBJECT = rf"{_LABEL}(?:{_THIS}\s*(?:{_IS} )?)?(?:{_IS} )?"


def _any(patterns: Sequence[str]) -> str:
    return "|".join(patterns)


_FIRST_LINES = (
    *(
        (lazy_pattern(rf"{_SUBJECT}(?:{pattern}){_FILL}{_LINK_MARK}", re.IGNORECASE), False)
        for pattern in (
            _any(_REPLACED_BY),
            rf"(?:{_any(_REPLACED_BY)}) (?:the )?(?:{_THINGS})",
            *(
                rf"(?:{words}){_FILL}(?:\(?\d{{4}}-\d\d-\d\d\)?{_FILL})?(?:{see})(?: instead)?"
                for words, see in _OUTDATED
            ),
        )
    ),
    (lazy_pattern(rf"{_LABEL}(?:{_THIS}\s*)?(?:{_any(_REPLACES)}){_FILL}{_LINK_MARK}", re.IGNORECASE), True),
    (
        lazy_pattern(
            rf"{_LABEL}(?:{_THIS}\s*)?已?(?:被|由)\s*\x00(?P<link>\d+)\x00\s*(?:所)?(?:取代|替代|替换|代替)",
            re.IGNORECASE,
        ),
        False,
    ),
)
# Searched in lower case: a pattern that ignores case takes five times as long, a fiftieth of a build.
_MAY_SAY = lazy_pattern(
    r"super[sc]ede|replace|obsolete|deprecat|outdated|out of date|no longer|status|état|estado|stato|ersetzt|abgelöst|"
    r"überholt|veraltet|obsol[eè]t|nicht mehr|remplac|périm|dépass|reemplaz|sustitu|desactual|anticuad|sostitu|superat|"
    r"non più|substitu|desatual|ultrapass|vervang|verouder|achterhaald|ersatt|ersätt|föråldrad|inaktuell|utdaterad|"
    r"erstatte|forældet|udgået|取代|替|过时|過時|废弃|廢棄|作废"
)
_MARKS = lazy_pattern(r"^[\s>*_~|+#⚠❗🚫❌‼🛑📌️-]*(?:\[!\w+\][+-]?)?[\s*_~:|]*")


class _MarkedText(Struct, frozen=True):
    """A piece of text with its links: `text` has a mark in place of each link, and no marks of emphasis."""

    text: str
    links: tuple[str, ...]

    def render(self, end: int) -> str:
        """Return the first `end` characters as they are written."""
        return re.sub(r"\x00(\d+)\x00", lambda match: self.links[int(match[1])], self.text[:end])


def _read_passage(lines: Sequence[str]) -> _MarkedText:
    links: list[str] = []

    def mark(match: re.Match[str]) -> str:
        links.append(match[0])
        return f"\x00{len(links) - 1}\x00"

    marked = (_MARKS.sub("", _LINK.sub(mark, line.replace("\x00", " ")), count=1) for line in lines)
    return _MarkedText(re.sub(r"[*_~`]{1,3}", "", " ".join(marked)).strip(" |"), tuple(links))


def _read_first_line(passage: _MarkedText) -> Iterator[Replacement]:
    """Yield what the beginning of a passage says with a link."""
    for pattern, is_newer in _FIRST_LINES:
        match = pattern.match(passage.text)
        if match is None:
            continue
        link = passage.links[int(match["link"])]
        if not link.startswith("!") and (target := _target_of(link)):
            day = "" if is_newer else _find_day(passage.text)
            yield Replacement(target, _shorten(passage.render(match.end())), day, is_newer)
            return


def _find_day(text: str) -> str:
    match = _DAY.search(text[:200])
    return _day(match[0]) if match else ""


# --- headers ----------------------------------------------------------------------------------------------------------

_HEADER = lazy_pattern(
    r"(?P<key>super[sc]eded[- ]by|obsoleted[- ]by|replaced[- ]by|deprecated[- ]by|super[sc]edes|obsoletes|replaces)"
    r"\s*[:|]\s*(?P<value>\S.*)",
    re.IGNORECASE,
)
_STATUS_HEADER = lazy_pattern(r"(?:status|état|estado|stato)\s*[:|]\s*(?P<value>\S.*)", re.IGNORECASE)
_STATUS_HEADINGS = frozenset(("status", "etat", "estado", "stato"))
_STATUS = lazy_pattern(
    r"(?:super[sc]eded|replaced|deprecated|obsoleted?|archived|retracted|ersetzt|abgelöst|überholt|veraltet|remplacée?|"
    r"obsolète|reemplazad[oa]|obsolet[oa]|sostituit[oa]|superat[oa]|substituíd[oa]|vervangen|verouderd|ersatt|"
    r"föråldrad|erstattet|forældet|已?(?:取代|过时|废弃))(?=$|[\s,.;:(–—-])"
    r"(?:\s*(?:on|am|le|el|il|em|op|den)?\s*\(?(?P<day>\d{4}-\d\d-\d\d)\)?)?"
    r"(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_BY = lazy_pattern(r"[\s,;:(–—-]*(?:by|durch|von|par|por|da|pelo|pela|door|av|med|af)\s+(?P<target>\S.*)", re.DOTALL)
_NEEDS_BY = lazy_pattern(r"replaced|ersetzt|remplac|reemplaz|sostitu|substitu|vervang|ersatt|erstatt", re.IGNORECASE)
_LINE_LINK = lazy_pattern(r"\x00(\d+)\x00")


def _read_status(status: str, words: str, day: str = "") -> Iterator[Replacement]:
    """Yield what the value of a status says: `superseded`, `Superseded by ADR-0012`."""
    passage = _read_passage([status])
    match = _STATUS.fullmatch(passage.text)
    if match is None:
        return
    day = (match["day"] and _day(match["day"])) or _find_day(passage.text) or day
    by = _BY.fullmatch(match["rest"])
    if by is not None:
        named = _MarkedText(re.sub(r"\s*\(?(?:on )?\d{4}-\d\d-\d\d\)?", "", by["target"]).strip(" .)"), passage.links)
        for target in _find_targets(named.render(len(named.text))):
            yield Replacement(target, _shorten(words), day)
    elif links := _LINE_LINK.findall(match["rest"]):
        yield Replacement(_target_of(passage.links[int(links[0])]), _shorten(words), day)
    elif (not match["rest"].strip(" .)") or match["rest"][0] in ",;:(–—-") and not _NEEDS_BY.match(passage.text):
        yield Replacement("", _shorten(words), day)


def _read_opening(note: Note) -> Iterator[Replacement]:
    """Yield what the first blocks of a note and its section "Status" say."""
    if not note.sections:
        return
    lines = note.lines
    first = note.sections[0]
    blocks = list(first.blocks)
    if len(note.sections) > 1 and (note.sections[1].level == 1 or not blocks):
        blocks += note.sections[1].blocks
    for block in blocks[:_OPENING_BLOCKS]:
        part = lines[block.line_start - 1 : min(block.line_end, block.line_start + _MAX_OPENING_LINES - 1)]
        if not _MAY_SAY.search("\n".join(part).lower()):
            continue
        yield from _read_first_line(_read_passage(part))
        for line in part:
            yield from _read_header(line)
    for section in note.sections:
        if fold(section.heading).strip(" :") in _STATUS_HEADINGS and section.blocks:
            for line in lines[section.blocks[0].line_start - 1 : section.blocks[-1].line_end][:_MAX_OPENING_LINES]:
                passage = _read_passage([line])
                yield from _read_first_line(passage)
                yield from _read_status(passage.render(len(passage.text)), f"Status: {line.strip(' *-_>')}")
            return


def _read_header(line: str) -> Iterator[Replacement]:
    """Yield what a line such as `Obsoletes: 2145, 2616` or `Status: Superseded` says."""
    passage = _read_passage([line])
    written = passage.render(len(passage.text))
    if match := _HEADER.match(written):
        key = re.sub(r"[- ]", "", match["key"].lower())
        is_newer = key in _NEWER_KEYS
        for target in _find_targets(match["value"].strip(" |")):
            yield Replacement(target, _shorten(re.split(r"\s{3,}", written)[0]), "", is_newer)
    elif match := _STATUS_HEADER.match(written):
        yield from _read_status(match["value"].strip(" |"), re.split(r"\s{3,}", written)[0])
