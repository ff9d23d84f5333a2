"""How far a build is, how fast it goes and how long it will take, from what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from excerpt.model import Progress


# Between files a build commits, for a second or two; over less than this the rate would leap.
_WINDOW = 10.0  # seconds of work
_FIRST = 1.0  # seconds of work before there is a rate to tell
_STEADY = 4.0  # seconds of work before a time left is told
_SWING = 2.0  # where a time left is told, the two halves of the window differ by at most this factor


@dataclass(frozen=True, slots=True)
class Sample:
    """How much was done after so many seconds of work."""

    seconds: float
    notes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Rate:
    """What is done in a second of work."""

    notes: float
    bytes: float


@dataclass(frozen=True, slots=True)
class Pace:
    """What was done in the last seconds of work, which pauses are no part of: the oldest sample first."""

    samples: tuple[Sample, ...] = ()

    def after(self, progress: Progress) -> Pace:
        """With what is said now; of another build it begins anew."""
        if not progress.notes_total:
            return Pace()
        now = Sample(progress.seconds, progress.notes_done, progress.bytes_done)
        if self.samples and (now.seconds < self.samples[-1].seconds or now.notes < self.samples[-1].notes):
            return Pace((now,))
        return Pace((*(one for one in self.samples if one.seconds > now.seconds - _WINDOW), now))

    @property
    def rate(self) -> Rate | None:
        """That of the last seconds; None until there is something to tell."""
        if not self.samples or self._span < _FIRST or self.samples[0].notes == self.samples[-1].notes:
            return None
        return _between(self.samples[0], self.samples[-1])

    def seconds_left(self, progress: Progress) -> float | None:
        """None until the rate is steady enough to tell."""
        rate = self.rate
        if rate is None or self._span < _STEADY or not rate.bytes:
            return None
        first, last = self.samples[0], self.samples[-1]
        middle = min(self.samples[1:-1], key=lambda one: abs(one.seconds - (first.seconds + last.seconds) / 2))
        slower, faster = sorted((_between(first, middle).bytes, _between(middle, last).bytes))
        return (progress.bytes_total - progress.bytes_done) / rate.bytes if faster <= _SWING * slower else None

    @property
    def _span(self) -> float:
        return self.samples[-1].seconds - self.samples[0].seconds


def share_done(progress: Progress) -> float:
    """How much is done, 0 to 1, by bytes where they are known."""
    if progress.bytes_total:
        return min(1.0, progress.bytes_done / progress.bytes_total)
    return min(1.0, progress.notes_done / progress.notes_total) if progress.notes_total else 0.0


def rate_words(pace: Pace, progress: Progress) -> str:
    """`410 notes/s · 1.7 MB/s · about 20 s left`, as far as it is known."""
    rate = pace.rate
    if rate is None:
        return ""
    told = f"{rate.notes:,.0f} notes/s · {rate.bytes / 1e6:.1f} MB/s"
    left = pace.seconds_left(progress)
    return told if left is None else f"{told} · {time_words(left)} left"


def time_words(seconds: float) -> str:
    """About how long: as exactly as a guess may be told."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {round(seconds / 5) * 5} s"
    return f"about {max(1, round(seconds / 60)):,} min"


def _between(one: Sample, other: Sample) -> Rate:
    seconds = max(other.seconds - one.seconds, 1e-6)
    return Rate((other.notes - one.notes) / seconds, (other.bytes - one.bytes) / seconds)
