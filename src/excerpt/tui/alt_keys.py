"""Keys with alt, as a terminal sends them: escape and a character.

Textual waits a tenth of a second for more to follow the two; where another escape does, as that of an arrow, it types
them as `^c`. And a character that no binding has with alt is typed as if it were alone. This stands on a part of
Textual that is not public: it is pinned, and a test reads keys through its parser.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual._xterm_parser import XTermParser

_ESCAPE = "\x1b"
_MORE = frozenset("[O]P_^X\x1b")
"""What begins a longer sequence behind an escape."""

_READING = "_sequence_to_key_events"
_read = XTermParser._sequence_to_key_events


def _keys_of(parser: XTermParser, sequence: str, alt: bool = False) -> Iterable[events.Key]:
    found = list(_read(parser, sequence, alt))
    if not found and len(sequence) == 2 and sequence[0] == _ESCAPE and sequence[1] not in _MORE:
        alt, found = True, list(_read(parser, sequence[1], True))
    for key in found:
        if alt and key.is_printable:
            key.character = None
            key.key = key.key if key.key.startswith("alt+") else f"alt+{key.key}"
    return found


def keep_alt_keys() -> None:
    """From now on read a character with alt as that, at once."""
    setattr(XTermParser, _READING, _keys_of)
