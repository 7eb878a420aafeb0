"""Many different shifts in fewer classes, each represented by its largest shift."""

from __future__ import annotations

import math
from collections.abc import Iterable

NEGLIGIBLE = 1e-4
"""Shifts below this share of the largest are one class."""


def representatives(shifts: Iterable[float], most: int) -> dict[float, float]:
    """Return for every shift the one that represents it, which is never smaller."""
    ordered = sorted(set(shifts), reverse=True)
    if len(ordered) <= most:
        return {shift: shift for shift in ordered}
    largest, smallest = ordered[0], max(ordered[-1], NEGLIGIBLE * ordered[0])
    width = math.log(largest / smallest) / (most - 1)
    leaders: dict[int, float] = {}
    leader_of = {}
    for shift in ordered:  # from the largest on, so that the first of a class is its largest
        place = math.floor(math.log(largest / max(shift, smallest)) / width)
        leader_of[shift] = leaders.setdefault(place, shift)
    return leader_of
