"""Numbers of things, and shares, in words."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """`1 note`, `2,000 notes`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def percent(share: float, between: str = " ") -> str:
    """`36 %`. Nothing and all are said only of what is exactly that."""
    rounded = f"{min(share, 0.99) if share < 1 else share:.0%}"
    return ("<1%" if rounded == "0%" and share else rounded).replace("%", f"{between}%")
