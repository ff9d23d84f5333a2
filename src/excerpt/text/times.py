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


def age(then: float, now: float) -> str:
    """How long ago, in at most four cells: `now` within an hour, then `7h`, `9d`, `6w`, `14mo`, `3y`. Both in seconds
    since 1970."""
    hours = max(0, int(now - then)) // 3600
    days = hours // 24
    if hours < 1:
        return "now"
    if days < 2:
        return f"{hours}h"
    if days < 14:
        return f"{days}d"
    if days < 63:
        return f"{days // 7}w"
    if days < 730:
        return f"{days // 30}mo"
    return f"{min(days // 365, 999)}y"
