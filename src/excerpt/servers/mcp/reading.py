"""Find a source in the served vaults, and read notes, lines and sections of them within a limit of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

import excerpt
from excerpt.base.errors import ExcerptError, NotFoundError
from excerpt.base.patterns import lazy_pattern
from excerpt.servers.mcp import answers
from excerpt.servers.mcp.answers import ToolAnswer, count_tokens, fit_answer
from excerpt.servers.served_vaults import ServedSnapshot, ServedVault, ServedVaults
from excerpt.text.display import format_count, visible_line

_MAIN_PASSAGES = 3  # shown of a long note
_SEARCH_LIMIT = 50  # hits of a search in one note
_TOKEN_MARGIN = 8  # tokens that joining two texts may add
_QUESTION_WORDS = 5  # from so many on, what no note is called is a question
_LINES_SUFFIX = lazy_pattern(r":\d+(-\d*)?$")
_WIKILINK = lazy_pattern(r"!?\[\[([^\]|]+)(?:\|[^\]]*)?\]\]")

# --- the vault of a source --------------------------------------------------------------------------------------------


class LocatedSource(Struct, frozen=True):
    """A vault in which to look for a source, and the `name` of the source in that vault.

    `prefix` is put in front of paths in the answer, so that the tools find them again: the vault's name and "/", or ""
    if the call names the vault otherwise.
    """

    vault: ServedVault
    name: str
    prefix: str = ""


def locate_source(vaults: ServedVaults, source: str, vault: str) -> tuple[LocatedSource, ...]:
    """Return where to look for the parameter `source` of a tool, in this order; `vault` is the parameter of that name.

    A source is named as in its vault, or by an absolute path. With several vaults, the vault's name may be in front:
    `work/Projects/Plan.md`. Raises ExcerptError for an empty source, VaultError for an unknown vault.
    """
    source = source.strip()
    if not source:
        raise ExcerptError("The source is empty.", "Name a note: path, path:10-40, title or [[wikilink]].")
    if link := _WIKILINK.fullmatch(source):
        source = link[1]
    asked = vaults.find_vaults(vault)
    is_vault_open = vault in ("", "*")
    if Path(source).is_absolute():
        folders = {each: name for each in vaults.all if (name := _path_inside(each.vault.folder, source))}
        if folders:
            inside = max(folders, key=lambda each: len(str(each.vault.folder)))
            if not is_vault_open and inside not in asked:
                raise NotFoundError(f"{source} is in the vault {inside.name}.", "Call the tool again with that vault.")
            return (LocatedSource(inside, folders[inside], _make_prefix(vaults, inside, vault)),)
    if len(vaults.all) == 1 or not is_vault_open:
        return (LocatedSource(asked[0], source),)
    named = tuple(
        LocatedSource(each, source.removeprefix(f"{each.name}/"), f"{each.name}/")
        for each in vaults.all
        if source.startswith(f"{each.name}/")
    )
    if vault:
        return named or tuple(LocatedSource(each, source, f"{each.name}/") for each in asked)
    return (LocatedSource(asked[0], source), *named)


def explain_missing(vaults: ServedVaults, source: str) -> NotFoundError | None:
    """Return the error for a source that is an absolute path in no vault, or a question; None for any other source."""
    if len(source.split()) >= _QUESTION_WORDS or source.rstrip().endswith("?"):
        return NotFoundError(
            f"No note is called {source}.", "To find what answers a question, call `pack` with the question as query."
        )
    if not Path(source.strip()).is_absolute():
        return None
    names = ", ".join(f"{each.name} ({each.vault.folder})" for each in vaults.all)
    return NotFoundError(f"{source} is no note of a vault.", f"Paths are relative to the vault: {names}.")


def _path_inside(folder: Path, source: str) -> str:
    """Return an absolute path (and what follows it, such as lines) relative to `folder`; "" if it is outside."""
    try:
        return Path(source).relative_to(folder).as_posix()
    except ValueError:
        return ""


def _make_prefix(vaults: ServedVaults, found: ServedVault, vault: str) -> str:
    is_default = len(vaults.all) == 1 or (not vault and found is vaults.all[0])
    return "" if is_default or vault not in ("", "*") else f"{found.name}/"


def resolve_source(vault: excerpt.Vault, source: str) -> str:
    """Return a name for the methods of `excerpt.Vault`: the lines of a fragment if `source` is its id."""
    fragment = vault.fragment(source)
    return source if fragment is None else f"{fragment.path}:{fragment.line_start}-{fragment.line_end}"


# --- reading ----------------------------------------------------------------------------------------------------------


class SourceReading(Struct, frozen=True):
    """What an answer shows of one source: the `head` says which lines these are, `text` has them in a code fence."""

    head: str
    text: str

    @property
    def block(self) -> str:
        """The head above the text, for an answer with several sources."""
        return f"From {self.head}\n{self.text}"


def divide_tokens(sizes: Sequence[int], room: int) -> list[int]:
    """Divide `room` tokens among texts of these sizes: small ones get what they need, large ones equal shares."""
    shares = [0] * len(sizes)
    for done, number in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[number] = min(sizes[number], max(room, 0) // (len(sizes) - done))
        room -= shares[number]
    return shares


def measure_source(snapshot: ServedSnapshot, source: str) -> int:
    """Return the number of tokens that an answer needs to show a whole source. Raises NotFoundError."""
    note = snapshot.vault.read(resolve_source(snapshot.vault, source))
    place = answers.source_reference(note.path, note.line_start, note.line_end, note.place)
    return count_tokens(note.text) + 2 * count_tokens(place) + 40  # with the head and the fence


def answer_source(snapshot: ServedSnapshot, source: str, limit: int, *, full: bool, prefix: str = "") -> str:
    """Return the answer about one source, in at most `limit` tokens."""

    def answer(reading: SourceReading) -> ToolAnswer:
        return ToolAnswer(
            facts=(reading.head,),
            parts=(reading.text,),
            vault=snapshot.name,
            freshness=snapshot.freshness,
            more="ask with a larger budget",
            hint="`related` shows notes near it.",
        )

    frame = count_tokens(fit_answer(replace(answer(SourceReading("", "")), parts=()), limit))
    room = limit - frame - _TOKEN_MARGIN
    return fit_answer(answer(read_source(snapshot, source, room, full=full, prefix=prefix)), limit)


def read_source(snapshot: ServedSnapshot, source: str, room: int, *, full: bool, prefix: str = "") -> SourceReading:
    """Read lines, a section or a note in at most `room` tokens, if names are not very long.

    For a note that does not fit, return the outline and the main passages; with `full`, the first lines.
    """
    requested = resolve_source(snapshot.vault, source)
    note = snapshot.vault.read(requested)
    if snapshot.questions is not None:
        snapshot.questions.open(note.path, note.line_start, note.line_end)
    place = answers.source_reference(f"{prefix}{note.path}", note.line_start, note.line_end, note.place)
    is_whole = not (note.heading_path or _LINES_SUFFIX.search(requested))
    shown, lines = note.line_end - note.line_start + 1, format_count(note.lines, "line")
    whole = SourceReading(
        f"{place} · {f'{shown:,} of {lines}' if shown < note.lines else f'the whole note, {lines}'}", ""
    )
    room -= count_tokens(whole.block) + _TOKEN_MARGIN
    if note.tokens <= 2 * room and count_tokens(text := answers.enclose_in_fence(note.text)) <= room:
        return replace(whole, text=text)
    if is_whole and not full:
        return _summarize_note(snapshot, note, room, prefix)
    return _read_first_lines(snapshot, note, room - count_tokens(place), prefix)


def _read_first_lines(snapshot: ServedSnapshot, note: excerpt.NoteLines, room: int, prefix: str) -> SourceReading:
    """Read as many first lines of `note` as fit, up to the end of a fragment if possible."""
    parts = answers.split_note(note, snapshot.vault.fragments(note.path), max(room - 2 * _TOKEN_MARGIN, 1))
    lines, path = note.text.split("\n"), f"{prefix}{note.path}"

    def shown(count: int) -> str:
        if count == 1:
            return parts[0].text
        return "\n".join(lines[parts[0].first - note.line_start : parts[count - 1].last - note.line_start + 1])

    count = 1
    while count < len(parts) and count_tokens(answers.enclose_in_fence(shown(count + 1))) <= room:
        count += 1
    last = parts[count - 1]
    place = answers.source_reference(path, parts[0].first, last.last)
    if last.is_cut:
        rest = f"line {last.first} continues: `read` it with a query"
    else:
        rest = (
            f"left out: `read` {answers.source_reference(path, parts[min(count, len(parts) - 1)].first, note.line_end)}"
        )
    return SourceReading(
        f"{place} of {format_count(note.lines, 'line')} · {rest}", answers.enclose_in_fence(shown(count))
    )


def _summarize_note(snapshot: ServedSnapshot, note: excerpt.NoteLines, room: int, prefix: str) -> SourceReading:
    """Return the outline of a long note, and the passages that best match its title, in the order of the note."""
    vault = snapshot.vault
    outline = answers.format_outline(vault.peek(note.path, first_lines=1))
    while count_tokens("\n".join(outline)) > room // 2 and len(outline) > 1:
        outline = [*outline[: len(outline) * 3 // 4 - 1], "- …"]
    result = vault.search(restrict_to_note(note.path, note.title), limit=_SEARCH_LIMIT, spans=False)
    found = [hit.fragment for hit in result.hits if hit.fragment.path == note.path] or vault.fragments(note.path)
    main = sorted(found[:_MAIN_PASSAGES], key=lambda fragment: fragment.line_start)
    sizes = [count_tokens(answers.format_fragment(fragment, room, prefix)) for fragment in main]
    shares = divide_tokens(sizes, room - count_tokens("\n".join(outline)) - _TOKEN_MARGIN)
    passages = [
        answers.format_fragment(fragment, share if share >= size else max(share - 60, 20), prefix)
        for fragment, size, share in zip(main, sizes, shares, strict=True)
    ]
    while passages and count_tokens("\n\n".join(("\n".join(outline), *passages))) > room:
        passages.pop()
    size = f"{format_count(note.note_tokens, 'token')} in {format_count(note.lines, 'line')}"
    head = f"{visible_line(prefix + note.path)} in brief, {size} · `read` path:A-B, give a query, or full=true"
    return SourceReading(head, "\n\n".join(("\n".join(outline), *passages)))


# --- a question to one note -------------------------------------------------------------------------------------------


def find_in_note(snapshot: ServedSnapshot, source: str, query: str) -> tuple[excerpt.Result, str, Sequence[str], str]:
    """Search in a note or lines of it: return the result, its query, the ids to pack and the path of the note.

    Raises NotFoundError if nothing answers.
    """
    note = snapshot.vault.read(resolve_source(snapshot.vault, source))
    within = restrict_to_note(note.path, query)
    result = snapshot.vault.search(within, limit=_SEARCH_LIMIT)
    inside = [
        hit.fragment.id
        for hit in result.hits
        if hit.fragment.path == note.path
        and note.line_start <= hit.fragment.line_end
        and hit.fragment.line_start <= note.line_end
    ]
    if not inside:
        raise NotFoundError(f"No part of {note.path} answers {query}.", "Read the note without a query.")
    ids = inside if len(inside) < len(result.hits) else ()  # without ids, the pack leaves out hits that do not fit
    return result, within, ids, note.path


def restrict_to_note(path: str, query: str) -> str:
    """Return a query with each of its alternatives restricted to one note."""
    quoted = path.replace('"', '""')
    return " | ".join(f'path:"=/{quoted}" {part}' for part in query.split(" | "))
