"""Times as a person reads them, in the time zone of the terminal."""

from __future__ import annotations

from datetime import datetime


def local_time(stamp: str) -> str:
    """An ISO 8601 time as `2026-03-01 14:05`; what cannot be read as one is left as it is."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return stamp


def local_day(stamp: str) -> str:
    """The day of an ISO 8601 time."""
    return local_time(stamp)[:10]
