"""The file of one memory: Markdown with frontmatter that people may write and change by hand.

    ---
    id: m1f0c93ab7d
    created: '2025-03-01T09:30:00.000Z'
    updated: '2025-03-01T09:30:00.000Z'
    tags:
    - sync
    why: for the talk
    query: sync conflict
    source:
      path: Guides/Sync.md
      lines: 12-18
      digest: 0c5d9a44e7f1b2a3
      heading_path:
      - Conflicts
    replaced_by: m77ab01c3d9
    replaced_at: '2026-03-01T10:00:00.000Z'
    ---

    The text, exactly as it was remembered.

Every key may be missing. Keys that excerpt does not know, and values it does not understand, are kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import Any

import yaml
from frontmatter.default_handlers import SafeDumper, YAMLHandler

from excerpt.base.errors import MemoryUnusableError, ReadError
from excerpt.base.model import Memory, Source
from excerpt.base.patterns import lazy_pattern
from excerpt.text.comments import may_have_comments
from excerpt.text.frontmatter import describe_yaml_error
from excerpt.vault.scan import MAX_FILE_TIME_SECONDS

# python-frontmatter's own pattern includes the blank lines after the boundary, which belong to the text.
_FRONTMATTER = YAMLHandler(fm_boundary=lazy_pattern(r"^-{3,}[ \t\r]*$", re.MULTILINE))
_SURROGATES = lazy_pattern("[\ud800-\udfff]")
_LINE_RANGE = lazy_pattern(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TAG_GAP = lazy_pattern(r"[\s\x00-\x1f\x7f-\x9f]+")


def replace_surrogates(text: str) -> str:
    """Return `text` with lone surrogates, which UTF-8 cannot encode, replaced by U+FFFD."""
    return _SURROGATES.sub("\ufffd", text)


def normalise_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags as they are stored: lower case, without "#", white space as "-", each once, in order.

    A tag with commas becomes several tags, because people type all tags in one field.
    """
    parts = (part for tag in tags for part in replace_surrogates(tag).split(","))
    tag_names = (
        _TAG_GAP.sub("-", unicodedata.normalize("NFC", part).lower().strip(" \t\r\n#")).strip("-#") for part in parts
    )
    return tuple(dict.fromkeys(unicodedata.normalize("NFC", tag) for tag in tag_names if tag))


def derive_id_from_name(name: str) -> str:
    """Return an id for a file that has no id in it, derived from the file's name: stable until the file is renamed."""
    return "f" + blake2b(name.encode("utf-8", "surrogateescape"), digest_size=5).hexdigest()


def parse_memory(data: bytes, name: str, modified: float) -> tuple[Memory, dict[str, Any]]:
    """Return the memory in a file's bytes, and its whole frontmatter.

    `name` is the file's path in the memory folder, from which a missing id is derived. `modified` is its modification
    time in seconds since 1970, used for a missing `created`. A missing `updated` is `created`. Raises ReadError with
    the reason, one sentence, if the file cannot be read.
    """
    metadata, text = _split_frontmatter(_decode(data))
    default_time = _format_utc(
        _EPOCH + timedelta(seconds=max(-MAX_FILE_TIME_SECONDS, min(modified, MAX_FILE_TIME_SECONDS)))
    )
    created = _parse_time(metadata.get("created")) or default_time
    memory = Memory(
        id=_to_line(metadata.get("id")) or derive_id_from_name(name),
        text=text,
        tags=normalise_tags(_to_strings(metadata.get("tags"))),
        why=_to_line(metadata.get("why")),
        created=created,
        updated=_parse_time(metadata.get("updated")) or created,
        source=_parse_source(metadata.get("source")),
        query=_to_line(metadata.get("query")),
        replaced_by=_to_line(metadata.get("replaced_by")),
        replaced_at=_parse_time(metadata.get("replaced_at")),
    )
    return memory, metadata


def render_memory(memory: Memory, before: tuple[Memory, Mapping[str, Any]] | None = None) -> bytes:
    """Return the content of the file of `memory`.

    `before` is the file's present memory and frontmatter, as `parse_memory` returned them. Keys whose values do not
    change stay as they were written, and so do unknown keys.
    """
    new = _build_frontmatter(memory)
    if before is None:
        metadata = {key: value for key, value in new.items() if value}
    else:
        old, written = _build_frontmatter(before[0]), before[1]
        metadata = dict(written)
        for key, value in new.items():
            if value == old[key] and (key in written or key not in ("id", "created", "updated")):
                continue
            if value:
                metadata[key] = value
            else:
                metadata.pop(key, None)
    # Not by the handler's own export, which strips spaces of any script from the end of the last value.
    exported = yaml.dump(metadata, Dumper=SafeDumper, allow_unicode=True, sort_keys=False, width=1 << 16)
    return f"---\n{exported}---\n\n{memory.text}\n".encode()


def make_memory(
    text: str, tags: Sequence[str] = (), why: str = "", source: Source | None = None, query: str = ""
) -> Memory:
    """Return a memory of now without an id, which it gets when it is saved.

    `why` is the user's reason, `query` the search that found the text.
    """
    now = format_current_time()
    return Memory("", text, tuple(tags), why, now, now, source, query)


def normalise_memory(memory: Memory) -> Memory:
    """Return `memory` as it is read back from its file: with normalised tags and text that UTF-8 can encode."""
    source = memory.source
    if source is not None:
        path, headings = (
            replace_surrogates(source.path),
            tuple(replace_surrogates(heading) for heading in source.heading_path),
        )
        digest, location = replace_surrogates(source.digest), replace_surrogates(source.place)
        source = replace(source, path=path, digest=digest, heading_path=headings, place=location)
    return replace(
        memory,
        text=replace_surrogates(memory.text),
        tags=normalise_tags(memory.tags),
        why=replace_surrogates(memory.why),
        source=source,
        query=replace_surrogates(memory.query),
        replaced_by=replace_surrogates(memory.replaced_by),
    )


def without_comments(memory: Memory) -> Memory:
    """Return `memory` as readers other than its author see it: without the comments in its text."""
    if not may_have_comments(memory.text):
        return memory
    from excerpt.text.markdown import split_comments  # needs markdown-it, which few memories do

    return replace(memory, text=split_comments(memory.text)[0].strip("\n"))


def replace_shown_text(memory: Memory, text: str) -> Memory:
    """Return `memory` with `text` as its text; comments of the old text that `text` does not have are added below.

    Raises MemoryUnusableError if a comment would become visible text there.
    """
    if text == without_comments(memory).text:
        return memory
    changed = replace(memory, text=text)
    if not may_have_comments(memory.text):
        return changed
    from excerpt.text.markdown import split_comments

    lines = [each.text.strip() if each.begins else each.text for each in split_comments(memory.text)[1]]
    if not lines:
        return changed
    with_comments = replace(memory, text="\n".join((text.rstrip("\n"), "", *lines)))
    if without_comments(with_comments).text.strip("\n") != without_comments(changed).text.strip("\n"):
        raise MemoryUnusableError(
            f"The comments of memory {memory.id} cannot be kept below this text.", "Edit the memory's file instead."
        )
    return with_comments


def _build_frontmatter(memory: Memory) -> dict[str, Any]:
    source = memory.source
    return {
        "id": memory.id,
        "created": memory.created,
        "updated": memory.updated,
        "tags": list(memory.tags),
        "why": memory.why,
        "query": memory.query,
        "source": source
        and {
            "path": source.path,
            **({"place": source.place} if source.place else {}),
            "lines": f"{source.line_start}-{source.line_end}",
            "digest": source.digest,
            "heading_path": list(source.heading_path),
        },
        "replaced_by": memory.replaced_by,
        "replaced_at": memory.replaced_at,
    }


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReadError(f"The file is not UTF-8: byte {error.start + 1} cannot be read.") from error
    # Only a file written elsewhere has CRLF in its first line; in one of ours a CR belongs to the text.
    return text.replace("\r\n", "\n") if text.partition("\n")[0].endswith("\r") else text


def _split_frontmatter(text: str) -> tuple[dict[str, Any], str]:
    """Return a file's frontmatter and the memory's text, without the line feeds that `render_memory` adds."""
    if not _FRONTMATTER.detect(text):
        return {}, text.removesuffix("\n")
    try:
        raw, body = _FRONTMATTER.split(text)
    except ValueError as error:
        raise ReadError("The frontmatter is not closed by a line of three dashes.") from error
    try:
        metadata = _FRONTMATTER.load(raw)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: an invalid date
        raise ReadError(f"The frontmatter is not valid YAML: {describe_yaml_error(error)}.") from error
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        raise ReadError("The frontmatter is not a list of keys and values.")
    return metadata, body.removeprefix("\n").removeprefix("\n").removesuffix("\n")


def _to_line(value: object) -> str:
    return "" if value is None or isinstance(value, (list, dict)) else str(value)


def _to_strings(value: object) -> list[str]:
    return [_to_line(part) for part in value] if isinstance(value, list) else [_to_line(value)]


def _parse_source(value: object) -> Source | None:
    if not isinstance(value, dict) or not _to_line(value.get("path")):
        return None
    lines = _LINE_RANGE.fullmatch(_to_line(value.get("lines")))
    start, end = (int(lines[1]), int(lines[2] or lines[1])) if lines else (0, 0)
    headings = value.get("heading_path")
    path = tuple(_to_strings(headings)) if headings else ()
    return Source(
        _to_line(value["path"]), start, end, _to_line(value.get("digest")), path, _to_line(value.get("place"))
    )


def _parse_time(value: object) -> str:
    """Return a frontmatter value that is a date or time as ISO 8601 in UTC; "" for other values."""
    try:
        if isinstance(value, datetime):
            return _format_utc(value)
        if isinstance(value, date):
            return _format_utc(datetime(value.year, value.month, value.day, tzinfo=UTC))
        return _format_utc(datetime.fromisoformat(value.strip())) if isinstance(value, str) else ""
    except (ValueError, OverflowError):
        return ""


def _format_utc(moment: datetime) -> str:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def format_current_time() -> str:
    """Return the current time as memories store it: ISO 8601, UTC, with milliseconds."""
    return _format_utc(datetime.now(UTC))
