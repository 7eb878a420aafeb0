"""Searches over integers where every answer is valid and a better one is tighter."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise


def least_over_integers(f: Callable[[int], float], low: int, high: int) -> float:
    """Return the smallest `f` seen on [low, high]: all integers if few, else by search.

    The search looks at a geometric grid from `low` and walks downhill from its best point; it finds
    the minimum of a unimodal function, and some value of any other.
    """
    seen: dict[int, float] = {}

    def at(n: int) -> float:
        if n not in seen:
            seen[n] = f(n)
        return seen[n]

    if high - low < 64:
        return min(at(n) for n in range(low, high + 1))
    grid = sorted({low + round(math.expm1(i * math.log1p(high - low) / 47)) for i in range(48)})
    best = min(grid, key=at)
    stride = max(b - a for a, b in pairwise(grid) if best in (a, b))
    while stride:
        near = [n for n in (best, best - stride, best + stride) if low <= n <= high]
        moved = min(near, key=at)
        if moved == best:
            stride //= 2
        best = moved
    return at(best)
