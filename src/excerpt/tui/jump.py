"""Labels to jump by: as short as they can be, none the beginning of another, the easiest letters first."""

from __future__ import annotations

LETTERS = "asdfghjklqwertyuiopzxcvbnm"
"""Those under the fingers first."""


def labels(count: int, letters: str = LETTERS) -> list[str]:
    """As many labels, of one letter or two; fewer, where `letters` do not suffice."""
    leaders = 0
    while leaders < len(letters) and (len(letters) - leaders) + leaders * len(letters) < count:
        leaders += 1
    single = list(letters[: len(letters) - leaders])
    double = [first + second for first in letters[len(letters) - leaders :] for second in letters]
    return [*single, *double][:count]
